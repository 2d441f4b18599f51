"""Bouncing ball: impacts with restitution and friction, without end in finite time.

A ball of radius r falls from the height h on a rigid floor (``rigid_contact``). It meets the floor
for the first time after T = √(2h/g) with the speed gT, and then after flights of 2Teⁿ; so it makes
infinitely many bounces and lies still after

    T (1 + e) / (1 − e),

when all of m g h is dissipated. Slower than ``RESTING`` (10⁻⁵ m/s) it is not thrown up any more, so
that here it lies still earlier, by no more than 2 ``RESTING`` / (g (1 − e)).

Thrown with a speed v along a rough floor, the uniform ball grips it in the impact if μ (1 + e) g T
≥ 2v/7, and goes on rolling with 5v/7; else it slides throughout the impact, and loses μ (1 + e) g
T. All data are chosen by us.
"""

import numpy as np

import mechgraph as mg
from mechgraph.gallery import present, verified

MASS, RADIUS, HEIGHT, G, RESTITUTION, RESTING = 1.0, 0.1, 1.0, 9.81, 0.8, 1e-5
FALL = np.sqrt(2 * HEIGHT / G)
START = {"ball.z": RADIUS + HEIGHT}
DURATION = 4.5
OPTIONS = {"rtol": 1e-10, "step": 0.02}


def system(friction: float = 0.0) -> mg.System:
    """The ball in a vertical plane over the floor z = 0."""
    s = mg.System("bouncing ball", gravity=(0, 0, -G))
    ball = s.body("sphere", mass=MASS, inertia=(0.4 * MASS * RADIUS**2,) * 3)
    s.joint("ball", s.ground, ball, [mg.move("x", "x"), mg.move("z", "z"), mg.rot("y", "turn")])
    floor = mg.Plane(s.ground)
    s.rigid_contact(
        "floor",
        mg.Sphere(ball, RADIUS),
        floor,
        restitution=RESTITUTION,
        friction=friction,
        rebound_threshold=RESTING,
    )
    return s


def impacts(run: mg.Trajectory) -> np.ndarray:
    """Times of the impacts: there the run has the state before and the state after."""
    return run.time[1:][(np.diff(run.time) == 0) & (run.time[1:] > 0)]


def thrown(friction: float, speed: float) -> np.ndarray:
    """Speed along the floor and rim speed after the first impact of a ball thrown along a rough
    floor."""
    run = system(friction).equations().simulate(0.5, {**START, "ball.x'": speed}, **OPTIONS)
    return np.array([run["ball.x'"][-1], RADIUS * run["ball.turn'"][-1]])


def check() -> dict[str, float]:
    """Times of all impacts, heights between them, rest and energy; gripping and sliding impacts."""
    run = system().equations().simulate(DURATION, START, **OPTIONS)
    times = impacts(run)
    flights = 2 * FALL * RESTITUTION ** np.arange(1, len(times))
    expected = FALL + np.concatenate([[0], np.cumsum(flights)])
    rest = FALL * (1 + RESTITUTION) / (1 - RESTITUTION)
    early = 2 * RESTING / (G * (1 - RESTITUTION))
    top = run["ball.z"][(run.time > times[0]) & (run.time < times[1])].max() - RADIUS
    lost = 0.05 * (1 + RESTITUTION) * G * FALL
    return verified(
        {
            "times of the impacts (s)": (np.abs(times - expected).max(), 1e-9),
            "time of rest (s)": (abs(rest - times[-1]), early),
            "height of the first bounce, on the grid (m)": (
                abs(top - HEIGHT * RESTITUTION**2),
                G * OPTIONS["step"] ** 2 / 8,
            ),
            "at rest: height (m) and speed (m/s)": (
                np.abs([run["ball.z"][-1] - RADIUS, run["ball.z'"][-1]]).max(),
                1e-12,
            ),
            "dissipated, relative": (abs(run.dissipated[-1] / (MASS * G * HEIGHT) - 1), 1e-11),
            "energy balance, relative": (np.abs(run.imbalance).max() / run.energy[0], 1e-10),
            "violation": (run.violation.max(), 1e-9),
            "gripping impact (m/s)": (np.abs(thrown(0.5, 1.0) - 5 / 7).max(), 1e-12),
            "sliding impact (m/s)": (
                np.abs(thrown(0.05, 3.0) - [3 - lost, 2.5 * lost]).max(),
                1e-9,
            ),
        }
    )


if __name__ == "__main__":
    present(system(), check)
