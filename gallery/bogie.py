"""Bogie: a frame on two wheelsets, each placed as the gallery has it, that steers round a circle.

The wheelset with hinges is placed twice under a frame. Each rod turns about a vertical pivot; the
rear one can roll against the frame, too, which the floor would hold twice otherwise. Drives keep
the steering angles +δ and −δ. Numbers are ours: a frame of 3 m and 20 kg, δ = 0.2, v = 1.5 m/s.

Wheels roll at right angles to their rod, so that the axles through the rods meet in one point: the
middle of the frame, half a wheelbase a from the pivots, goes round a circle of radius a/tan δ at a
speed that nothing changes, and the floor pushes all of it inwards with m v²/r. The checks: circle,
speed and force; the same bogie composed of its parts, of which the wheelset is derived once and
rides on nothing but the floor, in accelerations and in motion; the wheelset by itself, which moves
under its prefix as it does alone.
"""

import numpy as np

import mechgraph as mg
from mechgraph.gallery import load, present, verified

A, MASS, G = 1.5, 20.0, 9.81
DELTA, V = 0.2, 1.5
SIDES = {"front": 1, "rear": -1}
START = {"front.rod.x'": V * np.cos(DELTA), "front.rod.y'": V * np.sin(DELTA)}
GUESS = {
    "front.rod.x": A,
    "rear.rod.x": -A,
    **{f"{end}.rod.q3": sign * np.sin(DELTA / 2) for end, sign in SIDES.items()},
}
DURATION = 10.0
OPTIONS = {"rtol": 1e-10, "step": 0.1}


def system() -> mg.System:
    """Two wheelsets under a frame."""
    s = mg.System("bogie", gravity=(0, 0, -G))
    wheelset = load("wheelset").system("hinges")
    frame = s.body("frame", mass=MASS, inertia=MASS * A**2 * np.array([0.1, 0.33, 0.4]))
    for end in SIDES:
        s.place(end, wheelset)
    s.revolute("front pivot", frame, "front.rod body", axis="z", at=(A, 0, 0))
    s.universal("rear pivot", frame, "rear.rod body", axis="z", second_axis="x", at=(-A, 0, 0))
    s.servo("front drive", "front pivot", DELTA)
    s.servo("rear drive", "rear pivot.first", -DELTA)
    return s


def force_inwards(run: mg.Trajectory) -> np.ndarray:
    """What the floor pushes the wheels with, towards the middle of the circle."""
    names = [f"{end}.{side} floor: force" for end in SIDES for side in ("left", "right")]
    total = sum(run[name] for name in names)
    inwards = np.array([0, A / np.tan(DELTA), 0]) - run["frame"]
    return np.sum(total[:, :2] * inwards[:, :2], axis=1) / np.linalg.norm(inwards[:, :2], axis=1)


def composed(equations: mg.Equations, run: mg.Trajectory) -> tuple[float, float]:
    """Differences of a composition of the wheelsets and the frame from the flat equations, in
    accelerations and in the motion."""
    parts = mg.compose(system())
    known = {name: run[name][0] for name in parts.coordinates if name in equations.names}
    moving = {name: run[name][0] for name in parts.speeds if name in equations.names}
    frame = {f"frame free.{x}": value for x, value in zip("xyz", run["frame"][0], strict=True)}
    q, u = parts.assemble({**known, **moving, **frame})
    bodies = list(equations.system.bodies)
    flat = np.concatenate([run[f"{body}''"][0] for body in bodies])
    found = np.concatenate([parts.observe(f"{body}''", q, u) for body in bodies])
    other = parts.simulate(DURATION, (q, u), **OPTIONS)
    return np.abs(found - flat).max(), np.abs(other["frame"] - run["frame"]).max()


def alone() -> float:
    """How far a wheelset under a prefix moves from the same one alone."""
    wheelset, whole = load("wheelset").system("hinges"), mg.System("floor", gravity=(0, 0, -G))
    whole.place("one", wheelset)
    start = {"rod.x'": V, "rod.y'": 0.0, "rod.wy": 0.0, "rod.wz": 0.7}
    single = wheelset.equations().simulate(1.0, start, **OPTIONS)
    prefixed = {f"one.{name}": value for name, value in start.items()}
    placed = whole.equations().simulate(1.0, prefixed, **OPTIONS)
    return np.abs(single.q - placed.q).max()


def check() -> dict[str, float]:
    """Circle, speed and force; the same composed; the wheelset alone."""
    equations = system().equations()
    run = equations.simulate(DURATION, START, guess=GUESS, **OPTIONS)
    radius, speed = A / np.tan(DELTA), V * np.cos(DELTA)
    off = np.linalg.norm(run["frame"][:, :2] - [0, radius], axis=1) - radius
    mass = float(sum(body.mass for body in system().bodies.values()))
    accelerations, motion = composed(equations, run)
    return verified(
        {
            "distance from the circle": (np.abs(off).max(), 1e-7),
            "speed": (np.abs(np.linalg.norm(run["frame'"], axis=1) - speed).max(), 1e-7),
            "force of the floor, relative": (
                np.abs(force_inwards(run) / (mass * speed**2 / radius) - 1).max(),
                1e-6,
            ),
            "energy, relative": (np.ptp(run.energy) / run.energy[0], 1e-9),
            "composed: accelerations": (accelerations, 1e-9),
            "composed: motion": (motion, 1e-6),
            "a wheelset under a prefix": (alone(), 1e-12),
        }
    )


if __name__ == "__main__":
    present(system(), check)
