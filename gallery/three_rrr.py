"""3RRR: a platform in a plane on three legs of two bars each, moved by a motor at each foot.

Orsino 2016, §5.3.2: feet on a circle of 3 m, platform with vertices on a circle of 1 m, bars of 2
m; no gravity. The platform's centre and angle are prescribed, x = −sin(πt/2), y = sin(πt/4),
φ = (π/6) sin⁴(πt/4); what torques does that take? Known from elsewhere: torques and speeds over the
period of 8 s, computed independently of this library.
"""

import numpy as np

import mechgraph as mg
from mechgraph.gallery import curves, present, verified

DIRECTIONS = [np.array([np.cos(k), np.sin(k)]) for k in (0, 2 * np.pi / 3, 4 * np.pi / 3)]
ELBOWS = [(2, np.sqrt(3)), (-2.5, np.sqrt(3) / 2), (0.5, -1.5 * np.sqrt(3))]
FEET = [3 * e for e in DIRECTIONS]

MOTION = {
    "platform.x": lambda t: -mg.sin(np.pi / 2 * t),
    "platform.y": lambda t: mg.sin(np.pi / 4 * t),
    "platform.angle": lambda t: np.pi / 6 * mg.sin(np.pi / 4 * t) ** 4,
}
RECORD = {  # t: torques; speeds of the motors
    0: (1.256327, -0.703754, 1.228120, 0.060751, -0.906900, 0.846149),
    1: (-4.109156, 4.796595, -5.025029, -0.168435, -0.392193, -0.021362),
    2: (7.174202, 4.166600, -0.612816, -0.770072, 1.279900, -0.156597),
    3: (6.907876, -7.338609, 3.280252, 0.365199, 0.084207, -0.221304),
    4: (-0.662763, 0.941180, 1.502276, 0.846149, -0.906900, 0.060751),
    5: (-7.337624, 8.057152, -4.343695, 0.075338, 0.147491, -0.645853),
    6: (4.122355, 1.421047, 6.433396, -0.293574, 0.615208, 0.038445),
    7: (0.119512, -10.969228, 2.683876, -0.118720, 0.056081, 0.331120),
}
EXTREMES = {  # of the source's figures 5.18 to 5.21, to more digits than can be read off them
    "u1": (-7.50828, 7.76117),
    "u2": (-10.97439, 11.05952),
    "u3": (-5.18355, 9.74882),
    "foot 3'": (-1.577876, 0.891910),
}
DRIVES = [f"u{k + 1}" for k in range(3)]


def _angle(a, b) -> float:
    return float(np.arctan2(b[1] - a[1], b[0] - a[0]))


GUESS = {
    name: angle
    for k, (foot, elbow, vertex) in enumerate(zip(FEET, ELBOWS, DIRECTIONS, strict=True), 1)
    for name, angle in (
        (f"foot {k}", _angle(foot, elbow)),
        (f"elbow {k}", _angle(elbow, vertex) - _angle(foot, elbow)),
        (f"vertex {k}", -_angle(elbow, vertex)),
    )
}
START = {"platform.x": 0.0}
DURATION = 8.0
OPTIONS = {"rtol": 1e-10, "step": 0.02}


def system(driven: bool = True) -> mg.System:
    """Bars along x of their frames; motors at the feet; the platform held to its motion."""
    s = mg.System("3RRR", plane="xy")
    platform = s.body("platform", mass=1.0, inertia=0.25)
    for k, (foot, vertex) in enumerate(zip(FEET, DIRECTIONS, strict=True), 1):
        near = s.body(f"near bar {k}", mass=0.5, inertia=2 / 3)
        far = s.body(f"far bar {k}", mass=0.5, com=(1, 0, 0), inertia=1 / 6)
        s.revolute(f"foot {k}", s.ground, near, at=(*foot, 0))
        s.revolute(f"elbow {k}", near, far, at=(2, 0, 0))
        s.revolute(f"vertex {k}", far, platform, at=(2, 0, 0), child_at=(*vertex, 0))
        s.torque(f"motor {k}", f"foot {k}", s.input(f"u{k}"))
    s.marker("first vertex", platform, (*DIRECTIONS[0], 0))
    for name, place in PLACE.items():
        s.output(name, place)
        if driven:
            s.constrain(f"{name} held", position=lambda m, n=name: PLACE[n](m) - MOTION[n](m.time))
    return s


def _heading(m: mg.Motion):
    R = m.rotation("platform")
    return mg.atan2(R[1, 0], R[0, 0])


PLACE = {
    "platform.x": lambda m: m.position("platform")[0],
    "platform.y": lambda m: m.position("platform")[1],
    "platform.angle": _heading,
}


def torques(times: np.ndarray, formalism: str | None = None) -> np.ndarray:
    """Of the motors, by inverse dynamics."""
    equations = system(driven=False).equations(formalism)
    return equations.inverse_dynamics(MOTION, t=times, drives=DRIVES, guess=GUESS)


def by_nodes(duration: float = DURATION) -> tuple[mg.Trajectory, np.ndarray]:
    """The run in coordinates of the nodes, and the motors' torques at its times."""
    run = system().equations("nodes").simulate(duration, START, guess=GUESS, **OPTIONS)
    return run, torques(run.time, "nodes")


def extremes() -> float:
    """Least and largest torques and speed over a period, against those of the source."""
    run, found = by_nodes()
    seen = {**dict(zip(DRIVES, found.T, strict=True)), "foot 3'": run["foot 3'"]}
    gaps = (
        np.subtract((-_peak(-seen[name]), _peak(seen[name])), known)
        for name, known in EXTREMES.items()
    )
    return max(np.abs(gap).max() for gap in gaps)


def _peak(values: np.ndarray) -> float:
    """The largest value, of the parabola through three."""
    k = int(values.argmax())
    before, at, after = values[k - 1 : k + 2]
    return at - (before - after) ** 2 / (8 * (before - 2 * at + after))


def figures() -> dict[str, object]:
    """Figures 5.16 to 5.22 of the source: a vertex, a motor's speed, torques, and constraints."""
    run, found = by_nodes(16.0)
    vertex = run["first vertex"]
    panels = {
        "vertex (m)": {"x": vertex[:, 0], "y": vertex[:, 1]},
        "third motor (rad/s)": {"speed": run["foot 3'"]},
        "torques (N m)": dict(zip(DRIVES, found.T, strict=True)),
        "constraints": {"largest violation": np.maximum(run.violation, 1e-17)},
    }
    return {"motion": curves(run.time, panels, title="3RRR, by nodes", logarithmic=["constraints"])}


def check() -> dict[str, float]:
    """Torques and speeds of the record."""
    equations = system().equations()
    times, record = np.array(list(RECORD), dtype=float), np.array(list(RECORD.values()))
    run = equations.simulate(DURATION, START, guess=GUESS, **OPTIONS)
    at = [np.abs(run.time - t).argmin() for t in times]
    speeds = np.array([run[f"foot {k}'"][at] for k in (1, 2, 3)]).T
    redundant = equations.redundant(*equations.assemble(guess=GUESS))
    return verified(
        {
            "torques of the record": (np.abs(torques(times) - record[:, :3]).max(), 2e-6),
            "speeds of the record": (np.abs(speeds - record[:, 3:]).max(), 2e-6),
            "extremes of the source's figures, by nodes": (extremes(), 2e-4),
            "redundant rows": (len(redundant), 0),
            "constraint violation": (run.violation.max(), 1e-9),
        }
    )


if __name__ == "__main__":
    present(system(), check)
