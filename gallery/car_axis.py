"""Car axis: a chassis on two springs over a bumpy road, with constraints that depend on time.

Problem *caraxis* of the test set for initial value problem solvers (Bari; S. Schneider), a stiff
system of index 3. The left wheel stands on a flat road, the right one on a bumpy one, at (x_b, y_b)
= (√(L² − y_b²), r sin ωt); chassis ends l and r hang on springs above the wheels, the axle between
the wheels stays perpendicular to the left spring, and the chassis has the length L. Nothing is
chosen by us. In the source's scaling the springs have stiffness 1, and so each end of the chassis
has the "mass" k = M ε²/2 and the weight k g.

The check is the test set's reference solution at t = 3, computed with quadruple precision,
including its multipliers: λ₁ belongs to x_b x_l + y_b y_l = 0, and λ₂ to (x_l − x_r)² + (y_l −
y_r)² − L² = 0, that is 2L times our ``distance``.
"""

import numpy as np
from scipy.integrate import cumulative_simpson

import mechgraph as mg
from mechgraph.gallery import present, verified

L, L0, EPSILON, MASS, R, OMEGA, G = 1.0, 0.5, 0.01, 10.0, 0.1, 10.0, 1.0
START = {
    "l.x": 0.0,
    "l.y": 0.5,
    "r.x": 1.0,
    "r.y": 0.5,
    "l.x'": -0.5,
    "l.y'": 0.0,
    "r.x'": -0.5,
    "r.y'": 0.0,
}
DURATION = 3.0
OPTIONS = {"rtol": 1e-12, "step": 0.001}

REFERENCE = {  # at t = 3
    "l.x": 0.04934557842754028,
    "l.y": 0.49698946023017115,
    "r.x": 1.0417425248854215,
    "r.y": 0.37391102726536124,
    "l.x'": -0.07705836840409723,
    "l.y'": 0.007446866587237785,
    "r.x'": 0.017556815753723223,
    "r.y'": 0.7703410437792519,
}
MULTIPLIERS = (-0.004736886590848933, -0.0011046803312573436)


def system() -> mg.System:
    """The plane z = 0, gravity along −y; the right wheel is a frame that moves as the road
    tells."""
    axis = mg.System("car axis", gravity=(0, -G, 0))
    bump = R * mg.sin(OMEGA * axis.time)
    wheel = axis.frame("right wheel")
    axis.joint(
        "road", axis.ground, wheel, [mg.move("x", mg.sqrt(L**2 - bump**2)), mg.move("y", bump)]
    )
    left, right = (
        axis.body(name, mass=MASS * EPSILON**2 / 2, inertia=0) for name in ("left", "right")
    )
    for name, end in (("l", left), ("r", right)):
        axis.joint(name, axis.ground, end, [mg.move("x", "x"), mg.move("y", "y")])
    axis.spring_damper("left spring", axis.ground, left, stiffness=1.0, length=L0)
    axis.spring_damper("right spring", wheel, right, stiffness=1.0, length=L0)
    axis.constrain("perpendicular", position=lambda m: mg.dot(m.position(wheel), m.position(left)))
    axis.distance("chassis", left, right, L)
    return axis


def check() -> dict[str, float]:
    """State and multipliers at t = 3; work of the road (Simpson's rule) against the change of
    energy."""
    run = system().equations().simulate(DURATION, START, **OPTIONS)
    state = max(abs(run[name][-1] - value) for name, value in REFERENCE.items())
    found = dict(zip(run.columns["constraints"], run.multipliers[-1], strict=True))
    work = cumulative_simpson(run.power, x=run.time, initial=0)
    ours = np.array([found["perpendicular"], found["chassis"] / (2 * L)])
    return verified(
        {
            "state at t = 3": (state, 1e-9),
            "multipliers at t = 3": (np.abs(ours - MULTIPLIERS).max(), 1e-9),
            "work of the road, relative": (
                np.abs(run.energy - run.energy[0] - work).max() / np.ptp(run.energy),
                1e-6,
            ),
            "constraint violation": (run.violation.max(), 1e-10),
        }
    )


if __name__ == "__main__":
    present(system(), check)
