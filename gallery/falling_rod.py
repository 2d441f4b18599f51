"""Falling rod: it slides down a wall, leaves it at the known angle, and lies down on the floor.

A uniform rod of length L leans on a smooth wall and a smooth floor, at the angle θ from the
vertical. While it touches both,

    θ̇² = (3g/L)(cos θ₀ − cos θ),

and the force of the wall is (3/4) m g sin θ (3 cos θ − 2 cos θ₀): it ends at cos θ = (2/3) cos θ₀,
where the upper end has lost a third of its height. From then on nothing pushes sideways: the speed
(1/3) √(g L cos³ θ₀) of the mass centre along the floor is kept, also through the impact of the
upper end on the floor (without restitution), which takes the rest of the energy.

With friction on the floor alone the rod stands as long as tan θ₀ ≤ 2μ. Data are chosen by us.
"""

import numpy as np
from scipy.integrate import quad

import mechgraph as mg
from mechgraph.gallery import present, verified

MASS, L, G, LEAN = 1.0, 1.0, 9.81, 0.1
START = {"rod.x": L / 2 * np.sin(LEAN), "rod.z": L / 2 * np.cos(LEAN), "rod.lean": -LEAN}
DURATION = 1.2
OPTIONS = {"rtol": 1e-11, "step": 0.01}


def system(friction: float = 0.0) -> mg.System:
    """The rod along its z, in the plane y = 0, between the floor z = 0 and the wall x = 0."""
    s = mg.System("falling rod", gravity=(0, 0, -G))
    rod = s.body("bar", mass=MASS, inertia=(MASS * L**2 / 12, MASS * L**2 / 12, 1e-6))
    s.joint("rod", s.ground, rod, [mg.move("x", "x"), mg.move("z", "z"), mg.rot("y", "lean")])
    foot, top = (
        s.marker(name, rod, at=(0, 0, side * L / 2)) for name, side in (("foot", -1), ("top", 1))
    )
    floor, wall = (
        mg.Plane(s.ground),
        mg.Plane(s.marker("wall", s.ground, orientation=[("y", np.pi / 2)])),
    )
    s.rigid_contact("foot on floor", mg.Point(foot), floor, friction=friction)
    s.rigid_contact("top on wall", mg.Point(top), wall)
    s.rigid_contact("top on floor", mg.Point(top), floor)
    return s


def rate(theta: float) -> float:
    """θ̇ while it touches both."""
    return float(np.sqrt(3 * G / L * (np.cos(LEAN) - np.cos(theta))))


def leaving() -> tuple[float, float]:
    """Angle and time at which it leaves the wall; the integrand is ∝ (θ − θ₀)^(−1/2) at the start,
    so θ = θ₀ + s²."""
    theta = np.arccos(2 / 3 * np.cos(LEAN))
    return theta, quad(lambda s: 2 * s / rate(LEAN + s**2), 0, np.sqrt(theta - LEAN), epsabs=1e-13)[
        0
    ]


def stands(friction: float, lean: float) -> bool:
    """True if it has not moved after half a second."""
    start = {"rod.x": L / 2 * np.sin(lean), "rod.z": L / 2 * np.cos(lean), "rod.lean": -lean}
    run = system(friction).equations().simulate(0.5, start, **OPTIONS)
    return bool(np.abs(run.q - run.q[0]).max() < 1e-9)


def check() -> dict[str, float]:
    """Time, angle and rate at which it leaves the wall; the force of the wall; what comes after;
    standing with friction."""
    run = system().equations().simulate(DURATION, START, **OPTIONS)
    k = int(np.flatnonzero(run.modes["top on wall.touching"])[-1])  # the last time at the wall
    (theta, time), lean, down = leaving(), -run["rod.lean"], run["top"][:, 2]
    leant = lean[1 : k + 1]
    wall = run.multipliers[1 : k + 1, run.columns["constraints"].index("top on wall: gap")]
    force = 0.75 * MASS * G * np.sin(leant) * (3 * np.cos(leant) - 2 * np.cos(LEAN))
    speed = np.sqrt(G * L * np.cos(LEAN) ** 3) / 3
    limit = np.arctan(2 * 0.3)
    return verified(
        {
            "height of the top, leaving, over the first": (abs(down[k] / down[0] - 2 / 3), 1e-8),
            "time of leaving (s)": (abs(run.time[k] - time), 1e-8),
            "rate of leaving (1/s)": (abs(-run["rod.lean'"][k] - rate(theta)), 1e-8),
            "force of the wall (N)": (np.abs(wall - force).max(), 1e-8),
            "speed along the floor afterwards (m/s)": (
                np.abs(run["rod.x'"][k:] - speed).max(),
                1e-8,
            ),
            "lies on the floor at the end (m)": (abs(down[-1]), 1e-9),
            "dissipated by the impact (J)": (
                abs(run.dissipated[-1] - run.energy[0] + MASS * speed**2 / 2),
                1e-8,
            ),
            "energy balance, relative": (np.abs(run.imbalance).max() / run.energy[0], 1e-10),
            "violation": (run.violation.max(), 1e-9),
            "stands below, slides above the limit of friction": (
                float(not stands(0.3, limit - 0.001) or stands(0.3, limit + 0.001)),
                0.0,
            ),
        }
    )


if __name__ == "__main__":
    present(system(), check)
