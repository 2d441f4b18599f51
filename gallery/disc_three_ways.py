"""Disc three ways: a rolling disc by Appell, Boltzmann–Hamel and Maggi side by side.

The disc of ``rolling_disc.py`` as textbooks set it up: coordinates are the point of contact (x, y),
yaw, the tilt θ of its plane from the vertical, and spin; speeds are the angular velocity along
axes that go with yaw and tilt (e₁ horizontal, e₂ up along the disc, e₃ its axis),

    ω₁ = θ',    ω₂ = yaw' cos θ,    ω₃ = spin' − yaw' sin θ,

and the velocities s₁, s₂ of the disc's material at the point of contact, along e₁ and across it on
the plane. Rolling is s₁ = s₂ = 0. With A = m R²/4 and C = m R²/2 the three equations that are left
are the classical ones (J. I. Neimark, N. A. Fufaev, *Dynamics of Nonholonomic Systems*),

    (A + m R²) ω̇₁ = m g R sin θ − (C + m R²) ω₂ ω₃ − A ω₂² tan θ,
    A ω̇₂ = C ω₁ ω₃ + A ω₁ ω₂ tan θ,
    (C + m R²) ω̇₃ = m R² ω₁ ω₂.

Run as a script, it prints the equations as each of the three finds them.
"""

from typing import Any

import numpy as np

import mechgraph as mg
from mechgraph import gallery
from mechgraph.gallery import present, verified

MASS, R, G = 1.0, 1.0, 1.0
A, C = MASS * R**2 / 4, MASS * R**2 / 2
START = {"place.tilt": 0.4, "omega1": 0.3, "omega2": 0.5, "omega3": 1.1}
DURATION = 10.0
OPTIONS = {"rtol": 1e-11}
SPEEDS = ["omega1", "omega2", "omega3"]


def system() -> mg.System:
    """The disc about z of its body, and a frame that goes with yaw and tilt."""
    s = mg.System("disc, three ways")
    values = {"m": MASS, "R": R, "g": G, "A": A, "C": C}
    mass, radius, g, across, along = (s.parameter(*each) for each in values.items())
    s.gravity = (0, 0, -g)
    upright = s.frame("upright")
    disc = s.body("disc", mass=mass, inertia=(across, across, along))
    chain = [*(mg.move(axis, axis) for axis in "xy"), mg.rot("z", "yaw")]
    chain += [mg.rot("x", np.pi / 2), mg.rot("x", "tilt")]  # y up along the disc, z its axis
    s.joint("place", s.ground, upright, chain)
    s.revolute("spin", upright, disc, at=(0, radius, 0))

    centre = s.marker("middle", upright, at=(0, radius, 0))

    def turning(m: mg.Motion) -> Any:
        return m.angular_velocity(upright) + m.speed("spin") * m.axis(upright, "z")

    def slip(m: mg.Motion) -> Any:
        return m.velocity(centre) - radius * mg.cross(turning(m), m.axis(upright, "y"))

    for k, axis in enumerate("xyz", start=1):
        s.speed(f"omega{k}", lambda m, axis=axis: mg.dot(turning(m), m.axis(upright, axis)))
    s.speed("s1", lambda m: mg.dot(slip(m), m.axis(upright, "x")))
    s.speed("s2", lambda m: mg.dot(mg.cross(m.axis("ground", "z"), m.axis(upright, "x")), slip(m)))
    s.constrain("rolls", velocity=lambda m: [m.speed("s1"), m.speed("s2")])
    return s


def side_by_side() -> str:
    """What each of three formalisms makes of it."""
    appell = system().equations("appell").appell
    hamel = system().equations("boltzmann-hamel").boltzmann_hamel
    maggi = system().equations("maggi", independent=SPEEDS).maggi
    parts = {
        "Appell: ∂S/∂u̇ = Q + Aᵀλ, with the energy of accelerations": appell.S.show(),
        "Boltzmann–Hamel: ṗ_k − X_k T − Σ γ^i_jk u_j p_i = Q_k + …, with": "\n".join(
            quantity.show() for quantity in (hamel.T, hamel.gamma)
        ),
        "Maggi: Sᵀ M S ż = Sᵀ (f − M e) in z = (ω₁, ω₂, ω₃), with SᵀMS and Sᵀ(f − M e)": "\n".join(
            quantity.show() for quantity in (maggi.M, maggi.f)
        ),
    }
    return "\n\n".join(f"{title}\n{text}" for title, text in parts.items())


def classical(theta: float, w: np.ndarray) -> np.ndarray:
    """ω̇ of the classical equations."""
    w1, w2, w3 = w
    first = MASS * G * R * np.sin(theta) - (C + MASS * R**2) * w2 * w3 - A * w2**2 * np.tan(theta)
    return np.array(
        [
            first / (A + MASS * R**2),
            (C * w1 * w3 + A * w1 * w2 * np.tan(theta)) / A,
            MASS * R**2 * w1 * w2 / (C + MASS * R**2),
        ]
    )


def check() -> dict[str, float]:
    """The classical equations, and the motion of the disc that rolls as a surface on a plane."""
    s = system()
    maggi = s.equations("maggi", independent=SPEEDS)
    run = maggi.simulate(DURATION, START, **OPTIONS)
    errors = {}
    for name in ("appell", "boltzmann-hamel", "maggi"):
        equations = s.equations(name)
        rows = [equations.speeds.index(speed) for speed in SPEEDS]
        found = equations.accelerations(run.q[::100], run.u[::100])[:, rows]
        theta, w = run["place.tilt"][::100], run.u[::100][:, rows]
        expected = np.array([classical(*each) for each in zip(theta, w, strict=True)])
        errors[f"classical equations, {name}"] = (np.abs(found - expected).max(), 1e-12)
    M, f = maggi.maggi.M(run.q[-1]), maggi.maggi.f(run.q[-1], run.u[-1])
    expected = classical(run["place.tilt"][-1], run.u[-1][rows])
    errors["Maggi's three equations"] = (np.abs(np.linalg.solve(M, f) - expected).max(), 1e-12)
    errors["height of the surface that rolls"] = (
        np.abs(run["disc"][:, 2] - rolled(run)).max(),
        1e-7,
    )
    errors["energy"] = (np.ptp(run.energy), 1e-9)
    return verified(errors)


def rolled(run: mg.Trajectory) -> np.ndarray:
    """The height of the centre by ``rolling_disc.py``, from the same start."""
    other = gallery.load("rolling_disc").system(angles=True).equations()
    tilt = START["place.tilt"]
    start = {"centre.yaw": 0.0, "centre.tilt": np.pi / 2 + tilt}
    tilting = {"centre.tilt'": START["omega1"]}
    turning = START["omega2"] / np.cos(tilt)
    spinning = START["omega3"] + turning * np.sin(tilt)
    start |= {**tilting, "centre.yaw'": turning, "centre.spin'": spinning}
    return other.simulate(DURATION, start, **OPTIONS)["disc"][:, 2]


if __name__ == "__main__":
    print(side_by_side(), end="\n\n")
    present(system(), check)
