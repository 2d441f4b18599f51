"""Newton's cradle: five balls in a row, hung as pendulums, that pass their momentum on.

The balls touch at rest. Balls that are lifted together and let go fall for a quarter of the period
of the physical pendulum,

    T/4 = √(J / (m g l)) K(sin(θ₀/2)),

with J the inertia about the pivot and K the complete elliptic integral,

stop dead, and as many on the other side rise to the same angle θ₀: with restitution 1 and impacts
from one ball to the next, the only way out that keeps momentum and energy. With a restitution e < 1
the last ball leaves with ((1 + e)/2)⁴ of the speed of the first. All data are chosen by us.
"""

from itertools import pairwise

import numpy as np
from scipy.special import ellipk

import mechgraph as mg
from mechgraph.gallery import present, verified

BALLS, MASS, RADIUS, LENGTH, G, LIFT = 5, 0.5, 0.05, 1.0, 9.81, 0.5
J = MASS * LENGTH**2 + 0.4 * MASS * RADIUS**2
QUARTER = np.sqrt(J / (MASS * G * LENGTH)) * ellipk(np.sin(LIFT / 2) ** 2)
START = {"swing 1": LIFT}
DURATION = 4.0
OPTIONS = {"rtol": 1e-12, "step": 0.01}


def system(restitution: float = 1.0) -> mg.System:
    """The row of pendulums along x."""
    s = mg.System("Newton's cradle", gravity=(0, 0, -G))
    spheres = []
    for k in range(1, BALLS + 1):
        ball = s.body(
            f"ball {k}", mass=MASS, com=(0, 0, -LENGTH), inertia=(0.4 * MASS * RADIUS**2,) * 3
        )
        s.revolute(f"swing {k}", s.ground, ball, axis="y", at=(2 * RADIUS * k, 0, 0))
        spheres.append(mg.Sphere(s.marker(f"centre {k}", ball, at=(0, 0, -LENGTH)), RADIUS))
    for k, (left, right) in enumerate(pairwise(spheres), start=1):
        s.rigid_contact(f"contact {k}", right, left, restitution=restitution)
    return s


def passed_on(run: mg.Trajectory) -> tuple[float, np.ndarray]:
    """Time of the first impacts, and the speeds after them over the speed of the first ball
    before."""
    k = int(np.flatnonzero((np.diff(run.time) == 0) & (run.time[1:] > 0))[0])
    return run.time[k], run.u[k + 1] / run.u[k, 0]


def check() -> dict[str, float]:
    """One and two balls lifted: time of the impacts, what leaves, how high it rises; a lossy
    impact; energy."""
    equations = system().equations()
    one = equations.simulate(DURATION, START, **OPTIONS)
    two = equations.simulate(1.0, {"swing 1": LIFT, "swing 2": LIFT}, **OPTIONS)
    lossy = system(0.9).equations().simulate(1.0, START, **OPTIONS)
    (time, single), double, faded = passed_on(one), passed_on(two)[1], passed_on(lossy)[1]
    back = one.q[np.abs(one.time - 4 * QUARTER).argmin()]
    late = abs(one.time - 4 * QUARTER).min()
    return verified(
        {
            "time of the first impact (s)": (abs(time - QUARTER), 1e-10),
            "one ball passed on": (np.abs(single - np.eye(BALLS)[-1]).max(), 1e-10),
            "two balls passed on": (np.abs(double - [0, 0, 0, 1, 1]).max(), 1e-10),
            "lossy: speed of the last ball": (abs(faded[-1] - 0.95 ** (BALLS - 1)), 1e-10),
            "lossy: momentum": (abs(faded.sum() - 1), 1e-10),
            "lift after a period, on the grid": (
                np.abs(back - LIFT * np.eye(BALLS)[0]).max(),
                G / LENGTH * LIFT * late**2 / 2 + 1e-9,
            ),
            "energy drift, relative": (np.ptp(one.energy) / one.kinetic.max(), 1e-10),
            "energy balance, lossy, relative": (
                np.abs(lossy.imbalance).max() / lossy.kinetic.max(),
                1e-10,
            ),
            "violation": (max(run.violation.max() for run in (one, two, lossy)), 1e-9),
        }
    )


if __name__ == "__main__":
    present(system(), check)
