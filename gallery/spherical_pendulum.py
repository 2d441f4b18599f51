"""Spherical pendulum: a particle on a sphere, composed in three ways, one with a speed that is no
velocity.

R. Orsino, *A contribution on modeling methodologies for multibody systems* (2016), Examples 4.1 and
4.6; gravity along x, radius and mass are ours. From one leaf, a free particle, follow

- ``composed("angles")``: zenith θ from x and azimuth φ as extra coordinates, x, y, z tied to them;
- ``composed("constraint")``: x² + y² + z² = r²;
- ``composed("squared speed")``: the same with v = ẋ² + ẏ² + ż² as a fourth speed, which makes the
  constraints of second order.

The check compares their accelerations with a plain system (two turns and a rod) and with the
printed ones, and the linear models of Example 4.6 from linearized parts with its matrices.
"""

import numpy as np

import mechgraph as mg
from mechgraph.gallery import curves, present, verified

R, MASS, G = 0.7, 1.3, 9.81
START = {"arm.azimuth": 0.0, "arm.zenith": 1.0, "arm.azimuth'": 1.5, "arm.zenith'": 0.4}
DURATION = 5.0
MODELS = ("angles", "constraint", "squared speed")


def system() -> mg.System:
    """The plain twin: a turn about x, a turn about z, a rod."""
    s = mg.System("spherical pendulum", gravity=(G, 0, 0))
    bob = s.body("bob", mass=MASS, inertia=0)
    chain = [mg.rot("x", "azimuth"), mg.rot("z", "zenith"), mg.move("x", R)]
    s.joint("arm", s.ground, bob, chain)
    return s


def composed(model: str = "angles") -> mg.Equations:
    """The pendulum from a free particle."""
    bob = mg.leaves.particle("bob", mass=MASS, gravity=(G, 0, 0))
    if model == "angles":
        return mg.compose(
            "pendulum",
            [bob],
            coordinates=["theta", "phi"],
            speeds=["theta'", "phi'"],
            constraints={"place": lambda v: mg.leaves.vector([v[x] for x in "xyz"]) - place(v)},
            reference={"theta": 1.0},
        )
    squares = {"v": lambda v: v["x'"] ** 2 + v["y'"] ** 2 + v["z'"] ** 2}
    return mg.compose(
        "pendulum",
        [bob],
        speeds=squares if model == "squared speed" else (),
        constraints={"sphere": lambda v: v["x"] ** 2 + v["y"] ** 2 + v["z"] ** 2 - R**2},
    )


def place(v):
    """r (cos θ, cos φ sin θ, sin φ sin θ)."""
    across = R * mg.sin(v["theta"])
    return mg.leaves.vector(
        [R * mg.cos(v["theta"]), across * mg.cos(v["phi"]), across * mg.sin(v["phi"])]
    )


def state_of(equations: mg.Equations, plain: mg.Equations, q, u) -> tuple[np.ndarray, np.ndarray]:
    """The state of the plain twin in the variables of another model."""
    where, velocity = plain.position("bob", q), plain.observe("bob'", q, u)
    known = dict(zip("xyz", where, strict=True))
    known |= dict(zip(("x'", "y'", "z'"), velocity, strict=True))
    known |= {"phi": q[0], "theta": q[1], "phi'": u[0], "theta'": u[1], "v": velocity @ velocity}
    return (
        np.array([known[name] for name in equations.coordinates]),
        np.array([known[name] for name in equations.speeds]),
    )


def difference(model: str, states: int = 5) -> float:
    """Largest difference from the plain twin and from the printed accelerations, relative."""
    equations, plain = composed(model), system().equations()
    random, worst = np.random.default_rng(0), 0.0
    for _ in range(states):
        q, u = random.uniform(0.2, 2.5, 2), random.standard_normal(2)
        at = state_of(equations, plain, q, u)
        udot = dict(zip(equations.speeds, equations.accelerations(*at), strict=True))
        expected = plain.observe("bob''", q, u)
        where, velocity = plain.position("bob", q), plain.observe("bob'", q, u)
        printed = np.array([G, 0, 0]) - where * (velocity @ velocity + G * where[0]) / R**2
        found = np.array([udot[f"{x}'"] for x in "xyz"])
        errors = [*np.abs(found - expected), *np.abs(found - printed)]
        if model == "squared speed":
            errors.append(abs(udot["v"] - 2 * G * velocity[0]))
        worst = max(worst, *(error / np.abs(expected).max() for error in errors))
    return worst


def linear_matrices() -> float:
    """Example 4.6: about rest at the bottom, and about the state at (4/5, 3/5, 0) r at rest."""
    equations, worst = composed("squared speed"), 0.0
    model = equations.composition.linearize(
        _at_rest(equations, R, 0.0), coordinates=["y", "z"], speeds=["y'", "z'"]
    )
    worst = max(worst, np.abs(model.A[2:] - [[-G / R, 0, 0, 0], [0, -G / R, 0, 0]]).max())
    leaning = equations.composition.linearize(
        _at_rest(equations, 0.8 * R, 0.6 * R), coordinates=["y", "z"], speeds=["y'", "z'"]
    )
    # ÿ = 21 g/(125 r) x − 28 g/(125 r) y with x = −(3/4) y, v = 0 to first order; z̈ = −4 g/(5 r) z
    k = G / R
    expected = [[-21 / 125 * 0.75 * k - 28 / 125 * k, 0, 0, 0], [0, -0.8 * k, 0, 0]]
    return max(worst, np.abs(leaning.A[2:] - expected).max())


def _at_rest(equations: mg.Equations, x: float, y: float) -> tuple[np.ndarray, np.ndarray]:
    return np.array([x, y, 0.0]), np.zeros(len(equations.speeds))


def check() -> dict[str, float]:
    """All models against the plain twin and the source."""
    run = composed("squared speed").simulate(
        DURATION, state_of(composed("squared speed"), system().equations(), [0, 1], [1.5, 0.4]),
        rtol=1e-10,
    )  # fmt: skip
    energy = MASS / 2 * (run["v"] - 2 * G * run["x"])
    return verified(
        {
            **{f"accelerations, {model}": (difference(model), 1e-11) for model in MODELS},
            "linear models of Example 4.6": (linear_matrices(), 1e-10),
            "m/2 (v − 2 g x), relative": (np.ptp(energy) / np.abs(energy).max(), 1e-7),
            "‖q̄2, f̄‖": (run["‖q̄2, f̄‖"].max(), 1e-10),
        }
    )


def figures() -> dict[str, object]:
    """The three models from one start, and how well each keeps its constraints and its balance."""
    plain, panels = system().equations(), {}
    for model in MODELS:
        equations = composed(model)
        start = state_of(equations, plain, [0, 1], [1.5, 0.4])
        run = equations.simulate(DURATION, start, step=0.01, rtol=1e-10)
        height = panels.setdefault("height −x (m)", {"all three": -run["x"]})["all three"]
        gaps = {"difference to the first (m)": height + run["x"], "‖q̄2, f̄‖": run["‖q̄2, f̄‖"]}
        for title, values in gaps.items():
            panels.setdefault(title, {})[model] = np.maximum(np.abs(values), 1e-17)
    del panels["difference to the first (m)"][next(iter(MODELS))]
    return {"three models": curves(run.time, panels, logarithmic=list(panels)[1:])}


if __name__ == "__main__":
    present(system(), check)
