"""Chaplygin's sleigh: a body on a knife edge, by Appell, Boltzmann–Hamel and Maggi side by side.

S. A. Chaplygin (1911); J. I. Neimark, N. A. Fufaev, *Dynamics of Nonholonomic Systems*. A rigid
body slides on a smooth plane on two feet and a knife edge, which does not move sideways; its mass
centre is a distance a ahead of the edge. Ours: m = 2 kg, I = 0.4 kg m², a = 0.3 m. In the speeds of
the body, v along the edge, s across it and ω, with s = 0,

    m v̇ = m a ω²,        (I + m a²) ω̇ = −m a v ω,        λ = m (a ω̇ + v ω),

so that a sleigh that only turns at the start, with Ω, speeds up until it goes straight ahead:

    v = c tanh(k t),    ω = Ω / cosh(k t),    c = Ω √((I + m a²)/m),    k = c m a/(I + m a²).

Run as a script, it prints the equations as each of the three finds them.
"""

import numpy as np

import mechgraph as mg
from mechgraph.gallery import present, verified

MASS, INERTIA, AHEAD, OMEGA = 2.0, 0.4, 0.3, 3.0
START = {"omega": OMEGA, "v": 0.0}
DURATION = 4.0
OPTIONS = {"rtol": 1e-11}


def system() -> mg.System:
    """The sleigh in the plane, with its own speeds in the place of x', y' and heading'."""
    s = mg.System("Chaplygin sleigh", gravity=(0, 0, -9.81))
    m, inertia = s.parameter("m", MASS), s.parameter("I", INERTIA)
    a = s.parameter("a", AHEAD)
    body = s.body("sleigh", mass=m, com=(a, 0, 0), inertia=(inertia, inertia, inertia))
    place = [mg.move("x", "x"), mg.move("y", "y"), mg.rot("z", "theta")]
    s.joint("place", s.ground, body, place)
    s.knife_edge("edge", body, across="y")
    s.speed("v", lambda m: mg.dot(m.velocity(body), m.axis(body, "x")))
    s.speed("s", lambda m: mg.dot(m.velocity(body), m.axis(body, "y")))
    s.speed("omega", lambda m: m.speed("place.theta"))
    return s


def side_by_side() -> str:
    """What each of three formalisms makes of it."""
    appell = system().equations("appell").appell
    hamel = system().equations("boltzmann-hamel").boltzmann_hamel
    maggi = system().equations("maggi", independent=["v", "omega"]).maggi
    parts = {
        "Appell: ∂S/∂u̇ = Q + Aᵀλ, with the energy of accelerations": appell.S.show(),
        "Boltzmann–Hamel: ṗ_k − X_k T − Σ γ^i_jk u_j p_i = Q_k + …, with": "\n".join(
            quantity.show() for quantity in (hamel.T, hamel.p, hamel.gamma)
        ),
        "Maggi: Sᵀ M S ż = Sᵀ (f − M e) in z = (v, ω), with S, SᵀMS and Sᵀf": "\n".join(
            quantity.show() for quantity in (maggi.S, maggi.M, maggi.f)
        ),
    }
    return "\n\n".join(f"{title}\n{text}" for title, text in parts.items())


def closed_form(t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """v and ω."""
    J = INERTIA + MASS * AHEAD**2
    c = OMEGA * np.sqrt(J / MASS)
    k = c * MASS * AHEAD / J
    return c * np.tanh(k * t), OMEGA / np.cosh(k * t)


def check() -> dict[str, float]:
    """The closed form, the force on the edge, and the minimal equations of Maggi."""
    s = system()
    runs = {
        name: s.equations(name).simulate(DURATION, START, **OPTIONS)
        for name in ("appell", "boltzmann-hamel", "maggi")
    }
    errors = {}
    for name, run in runs.items():
        v, omega = closed_form(run.time)
        found = np.abs(run["v"] - v).max() + np.abs(run["omega"] - omega).max()
        errors[f"v and ω, {name}"] = (found, 1e-8)
    run = runs["maggi"]
    force = MASS * (AHEAD * run["omega'"] + run["v"] * run["omega"])
    errors["force on the edge"] = (np.abs(run["edge"] - force).max(), 1e-9)
    maggi = s.equations("maggi", independent=["v", "omega"]).maggi
    J, w = INERTIA + MASS * AHEAD**2, run["omega"][-1]
    expected = [MASS * AHEAD * w**2, -MASS * AHEAD * run["v"][-1] * w]
    minimal = np.abs(maggi.M(run.q[-1]) - np.diag([MASS, J])).max()
    minimal += np.abs(maggi.f(run.q[-1], run.u[-1]) - expected).max()
    errors["Maggi's two equations"] = (minimal, 1e-10)
    return verified(errors)


if __name__ == "__main__":
    print(side_by_side(), end="\n\n")
    present(system(), check)
