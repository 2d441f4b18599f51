"""Bicycle: Whipple's benchmark composed on three levels, and its linear equations from linearized
parts.

J. P. Meijaard, J. M. Papadopoulos, A. Ruina, A. L. Schwab, Proc. R. Soc. A 463 (2007) 1955–1982;
the tree is that of R. Orsino (2016), Fig. 2.6: the bicycle consists of an assembly and two wheels,
the assembly of frame (with rider) and handlebar (with fork). Axes: x forward, y right, z down.
Leaves are rigid bodies and knife-edge wheels; the assembly has the hub's place, heading, lean,
pitch and steer as extra coordinates; wheels are joined to it by a common hub and parallel axles (12
rows, of which 10 are independent).

The check compares the published M, C₁, K₀, K₂, eigenvalues and the range of stable speeds, to all
digits, with those from linearized parts and, the ordinary way, with those of a plain system of
joints; and the non-linear accelerations of both. The figures are the eigenvalues, and the steer to
lean ratio of the modes, over the speed.
"""

import numpy as np

import mechgraph as mg
from mechgraph.gallery import present, verified

about, vector = mg.leaves.about, mg.leaves.vector
W, TRAIL, TILT, G = 1.02, 0.08, np.pi / 10, 9.81
REAR = {"mass": 2.0, "radius": 0.3, "radial": 0.0603, "axial": 0.12}
FRONT = {"mass": 3.0, "radius": 0.35, "radial": 0.1405, "axial": 0.28}
FRAME = {"mass": 85.0, "at": (0.3, 0, -0.9), "inertia": (9.2, 11.0, 2.8, 0, 2.4, 0)}
FORK = {"mass": 4.0, "at": (0.9, 0, -0.7), "inertia": (0.05892, 0.06, 0.00708, 0, -0.00756, 0)}
START = {"steer": 0.0, "rear wheel'": -4.6 / 0.3, "b.roll'": 0.3}
GUESS: dict[str, float] = {}
DURATION = 3.0
OPTIONS: dict[str, float] = {}

HUB = np.array([0, 0, -REAR["radius"]])
AXLE = np.array([W, 0, -FRONT["radius"]])
HEAD = np.array(
    [[np.cos(TILT), 0, np.sin(TILT)], [0, 1, 0], [-np.sin(TILT), 0, np.cos(TILT)]]
)  # axes of the fork, whose z is the steering axis
PIVOT = np.array([W + TRAIL, 0, 0]) - 0.9 * HEAD[:, 2]  # a point of the steering axis

# published: order (lean, steer)
M = [[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]]
C1 = [[0, 33.86641391492494], [-0.85035641456978, 1.6854039739756]]
K0 = [[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]]
K2 = [[0, 76.59734589573222], [0, 2.65431523794604]]
EIGENVALUES = [  # at 0, 1, … 10 m/s; of a pair one
    [-5.53094371765393, -3.13164324790656, 3.13164324790656, 5.53094371765393],
    [-7.11008014637442, -3.13423125066578, 3.5269617099007 + 0.8077402751993j],
    [-8.67387984831735, -3.07158645641514, 2.68234517512745 + 1.68066296590675j],
    [-10.3510146724592, -2.63366137253667, 1.70675605663975 + 2.31582447384325j],
    [-12.15861426576447, -1.42944427361326, 0.41325331521125 + 3.07910818603206j],
    [-14.07838969279822, -0.32286642900409, -0.77534188219585 + 4.46486771378823j],
    [-16.0853712309803, -0.0040669007697, -1.52644486584142 + 5.87673060598709j],
    [-18.1578846612526, 0.10268170574766, -2.13875644258362 + 7.19525913329805j],
    [-20.2794089439457, 0.14327879765713, -2.69348683581097 + 8.46037971396931j],
    [-22.4378855904086, 0.15790184030917, -3.21675402252485 + 9.69377351531791j],
    [-24.62459635017404, 0.16105338653172, -3.72016840437287 + 10.90681139476287j],
]
SPEED_RANGE = [4.29238253634111, 6.02426201538837]  # weave and capsize speed, in between stable


def symmetric(inertia: tuple[float, ...]) -> np.ndarray:
    """The matrix of (xx, yy, zz, xy, xz, yz)."""
    xx, yy, zz, xy, xz, yz = inertia
    return np.array([[xx, xy, xz], [xy, yy, yz], [xz, yz, zz]])


# --- composed -------------------------------------------------------------------------------------


def assembly() -> mg.Equations:
    """Frame and fork: seven freedoms."""
    fork_inertia = HEAD.T @ symmetric(FORK["inertia"]) @ HEAD
    gravity = (0, 0, G)
    parts = {
        "frame": mg.leaves.rigid_body(
            mass=FRAME["mass"], inertia=FRAME["inertia"], gravity=gravity, orientation="none"
        ),
        "fork": mg.leaves.rigid_body(
            mass=FORK["mass"], inertia=fork_inertia, gravity=gravity, orientation="none"
        ),
    }
    coordinates = ["x", "y", "z", "psi", "phi", "theta", "delta"]
    return mg.compose(
        "assembly",
        parts,
        coordinates=coordinates,
        speeds=[f"{name}'" for name in coordinates],
        constraints={
            "frame place": lambda v: v["frame.place"] - at_frame(v, FRAME["at"]),
            "frame turn": lambda v: angular(v, "frame") - v.angular_velocity(frame_axes(v)),
            "fork place": lambda v: v["fork.place"] - at_fork(v, FORK["at"]),
            "fork turn": lambda v: angular(v, "fork") - v.angular_velocity(fork_axes(v)),
        },
        outputs={
            "hub": lambda v: at_frame(v, HUB),
            "axle": lambda v: at_fork(v, AXLE),
            "hub axis": lambda v: frame_axes(v)[:, 1],
            "axle axis": lambda v: fork_axes(v)[:, 1],
        },
        reference={"z": HUB[2]},
    )


def frame_axes(v):
    """Heading about z, lean about x, pitch about y."""
    return about("z", v["psi"]) @ about("x", v["phi"]) @ about("y", v["theta"])


def fork_axes(v):
    """Those of the frame, tilted, and turned about the steering axis."""
    return frame_axes(v) @ about("y", TILT) @ about("z", v["delta"])


def at_frame(v, at):
    """A point of the frame, given in the upright position."""
    return vector([v["x"], v["y"], v["z"]]) + frame_axes(v) @ vector(np.array(at) - HUB)


def at_fork(v, at):
    """A point of the fork, given in the upright position."""
    return at_frame(v, PIVOT) + fork_axes(v) @ vector(HEAD.T @ (np.array(at) - PIVOT))


def angular(v, body):
    """ω of a leaf."""
    return vector([v[f"{body}.w{axis}"] for axis in "xyz"])


def composed(**options) -> mg.Equations:
    """The bicycle: assembly, rear wheel, front wheel."""
    gravity = (0, 0, G)
    return mg.compose(
        "bicycle",
        {
            "A": assembly(),
            "rear": mg.leaves.rolling_disc(gravity=gravity, down=True, **REAR),
            "front": mg.leaves.rolling_disc(gravity=gravity, down=True, **FRONT),
        },
        constraints={
            "rear hub": lambda v: v["A.hub"] - v["rear.place"],
            "rear axis": lambda v: v["A.hub axis"] - v.axis("rear", "y"),
            "front hub": lambda v: v["A.axle"] - v["front.place"],
            "front axis": lambda v: v["A.axle axis"] - v.axis("front", "y"),
        },
        reference={"front.x": W, "front.z": AXLE[2], "A.frame.z": FRAME["at"][2]},
        **options,
    )


COORDINATES = ["A.x", "A.y", "A.psi", "A.phi", "A.delta", "rear.theta", "front.theta"]
SPEEDS = ["A.x'", "A.phi'", "A.delta'"]


def linear(equations: mg.Equations, v: float) -> mg.SecondOrderModel:
    """Upright and straight ahead at the speed v, from linearized parts, in lean and steer."""
    at = equations.assemble(
        {"A.x": 0, "A.y": 0, "A.psi": 0, "A.phi": 0, "A.delta": 0, "A.theta": 0,
         "rear.theta": 0, "front.theta": 0, "A.x'": v, "A.phi'": 0, "A.delta'": 0}
    )  # fmt: skip
    whole = equations.composition.linearize(at, coordinates=COORDINATES, speeds=SPEEDS)
    return whole.of(["A.phi", "A.delta"], ["A.phi'", "A.delta'"])


def sweep(equations: mg.Equations) -> mg.SecondOrderSweep:
    """Over the speed, as published."""
    return mg.SecondOrderSweep(
        lambda v: linear(equations, v),
        range(11),
        "speed (m/s)",
        ["weave", "weave", "capsize", "castering"],
    )


# --- the plain twin -------------------------------------------------------------------------------


def system() -> mg.System:
    """The same of joints, with wheels that roll by constraints."""
    s = mg.System("Whipple bicycle", gravity=(0, 0, G))
    frame = s.body(
        "frame",
        mass=FRAME["mass"],
        com=np.array(FRAME["at"]) - HUB,
        inertia=symmetric(FRAME["inertia"]),
    )
    fork = s.body(
        "fork",
        mass=FORK["mass"],
        com=HEAD.T @ (np.array(FORK["at"]) - PIVOT),
        inertia=HEAD.T @ symmetric(FORK["inertia"]) @ HEAD,
    )
    wheels = [
        s.body(
            name,
            mass=data["mass"],
            inertia=(data["radial"], data["axial"], data["radial"]),
        )
        for name, data in (("rear", REAR), ("front", FRONT))
    ]
    chain = [mg.move(axis, axis) for axis in "xyz"]
    chain += [mg.rot("z", "yaw"), mg.rot("x", "roll"), mg.rot("y", "pitch")]
    s.joint("b", s.ground, frame, chain, at=HUB)
    s.revolute("rear wheel", frame, wheels[0], axis="y")
    s.revolute("steer", frame, fork, axis="z", at=PIVOT - HUB, orientation=[("y", TILT)])
    s.revolute("front wheel", fork, wheels[1], axis="y", at=HEAD.T @ (AXLE - PIVOT))
    for wheel, data in zip(wheels, (REAR, FRONT), strict=True):
        _rolls(s, wheel, data["radius"])
    return s


def _rolls(s: mg.System, wheel: mg.Body, radius: float) -> None:
    def arm(m):
        n, down = m.axis(wheel, "y"), m.axis("ground", "z")
        across = down - mg.dot(down, n) * n
        return radius * across / mg.norm_2(across)

    def slip(m):
        return m.velocity(wheel) + mg.cross(m.angular_velocity(wheel), arm(m))

    s.constrain(f"{wheel.name} on the floor", position=lambda m: (m.position(wheel) + arm(m))[2])
    s.constrain(f"{wheel.name} rolls", velocity=lambda m: slip(m)[:2])


NAMES = {"x": "x", "y": "y", "z": "z", "psi": "yaw", "phi": "roll", "theta": "pitch"}


def difference(states: int = 4) -> float:
    """Largest difference of accelerations between the two at random states, relative."""
    plain, whole = system().equations(), composed()
    random, worst = np.random.default_rng(0), 0.0
    for _ in range(states):
        roll, steer = random.uniform(-0.4, 0.4, 2)
        q, u = plain.assemble(
            {"b.roll": roll, "steer": steer, "b.yaw": random.uniform(-1, 1),
             "rear wheel'": random.uniform(-20, 20), "b.roll'": random.uniform(-1, 1),
             "steer'": random.uniform(-1, 1)}
        )  # fmt: skip
        given = dict(zip((*plain.coordinates, *plain.speeds), (*q, *u), strict=True))
        start = {f"A.{ours}": given[f"b.{theirs}"] for ours, theirs in NAMES.items()}
        start["A.z"] += HUB[2]
        start["A.x"] += HUB[0]
        start |= {f"A.{ours}'": given[f"b.{theirs}'"] for ours, theirs in NAMES.items()}
        start |= {"A.delta": steer, "A.delta'": given["steer'"]}
        start |= {"rear.theta": 0.0, "front.theta": 0.0}
        at = whole.assemble(start, guess=_guess(plain, q))
        udot = dict(zip(whole.speeds, whole.accelerations(*at), strict=True))
        expected = dict(zip(plain.speeds, plain.accelerations(q, u), strict=True))
        pairs = [(udot[f"A.{ours}'"], expected[f"b.{theirs}'"]) for ours, theirs in NAMES.items()]
        pairs.append((udot["A.delta'"], expected["steer'"]))
        scale = max(abs(value) for _, value in pairs)
        worst = max(worst, *(abs(a - b) / scale for a, b in pairs))
    return worst


def _guess(plain: mg.Equations, q: np.ndarray) -> dict[str, float]:
    """Where the wheels are, for assembly."""
    found = {}
    for wheel in ("rear", "front"):
        axis = plain.rotation(wheel, q)[:, 1]
        found |= dict(zip([f"{wheel}.{x}" for x in "xyz"], plain.position(wheel, q), strict=True))
        found |= {
            f"{wheel}.psi": np.arctan2(-axis[0], axis[1]),
            f"{wheel}.phi": np.arcsin(axis[2]),
        }
    return found


def ordinary(equations: mg.Equations, v: float) -> list[np.ndarray]:
    """M, C, K of lean and steer from the linear model of the plain twin: its rows δu̇ = A x times
    the mass matrix of the independent speeds."""
    free = ["b.x", "b.y", "b.yaw", "b.roll", "steer", "rear wheel", "front wheel"]
    rates = ["b.roll'", "steer'", "rear wheel'"]
    start = {"b.roll": 0, "steer": 0, "b.roll'": 0, "steer'": 0, "rear wheel'": -v / REAR["radius"]}
    model = equations.linearize(start, independent=[*free, *rates])
    S = model.Z[-len(equations.speeds) :, -3:]
    M = S.T @ equations.mass_matrix(model.q) @ S
    slopes = -M @ model.A[-3:]
    return [M[:2, :2], slopes[:2, 7:9], slopes[:2, 3:5]]


def published(matrices: list[np.ndarray], v: float) -> float:
    """The largest error of M, C, K at a speed, relative to the largest entry of each."""
    expected = (np.array(M), v * np.array(C1), G * np.array(K0) + v**2 * np.array(K2))
    pairs = zip(matrices, expected, strict=True)
    return max(np.abs(a - b).max() / max(1.0, np.abs(b).max()) for a, b in pairs)


def roots(found: np.ndarray, listed: list[complex]) -> float:
    """The largest distance of a published eigenvalue from those found."""
    return max(np.abs(found - value).min() for value in listed)


def check() -> dict[str, float]:
    """Published matrices and eigenvalues, and the plain twin."""
    over, plain = sweep(composed()), system().equations()
    none = np.zeros((2, 2))
    listed = {"M": [M, none, none], "C": [none, C1, none], "K": [G * np.array(K0), none, K2]}
    powers = [np.abs(over.polynomial(name) - np.array(x)).max() for name, x in listed.items()]
    pairs = [*zip(over.values, over.models, EIGENVALUES, strict=True)]
    ways = [(v, ordinary(plain, v), values) for v, _, values in pairs]
    return verified(
        {
            "M, C, K, 0 … 10 m/s": (max(published([m.M, m.C, m.K], v) for v, m, _ in pairs), 1e-13),
            "M, C₁, K₀, K₂ as polynomials": (max(powers), 1e-11),
            "eigenvalues": (max(roots(m.eigenvalues(), x) for _, m, x in pairs), 1e-10),
            "M, C, K, the ordinary way": (max(published(x, v) for v, x, _ in ways), 1e-12),
            "eigenvalues, the ordinary way": (max(roots(_eigenvalues(*x), y) for _, x, y in ways),
                                              1e-10),
            "range of stable speeds": (np.abs(over.boundaries() - SPEED_RANGE).max(), 1e-10),
            "accelerations against the plain twin": (difference(), 1e-9),
        }
    )  # fmt: skip


def _eigenvalues(M: np.ndarray, C: np.ndarray, K: np.ndarray) -> np.ndarray:
    lower = -np.linalg.solve(M, np.hstack([K, C]))
    return np.linalg.eigvals(np.vstack([np.eye(4)[2:], lower]))


def figures() -> dict[str, object]:
    """Eigenvalues, and steer over lean, against the speed."""
    fine = mg.SecondOrderSweep(
        sweep(composed()).at, np.linspace(0, 10, 401), "speed (m/s)",
        ["weave", "weave", "capsize", "castering"],
    )  # fmt: skip
    return {"eigenvalues": fine.plot(), "steer to lean": fine.plot_ratio("A.delta", "A.phi")}


if __name__ == "__main__":
    present(system(), check)
