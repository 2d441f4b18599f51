"""Tadpole tricycle: a leaning vehicle of eight subsystems, whose linkage fits to first order only.

R. Orsino (2016), §5.2. Axes: x forward, y right, z down. Frame with rider, handlebar and two
transverse rods make up the assembly; wheels, tie bars and knuckles are joined to it by 44 rows, of
which 38 are independent in the reference pose and 40 outside of it: the real linkage needs
clearances, and the linear model is a compromise of least squares. Data: Table 5.1, whose geometry
does not close; it is closed as the specification's variant "R", and inertias about y that the table
does not list are ours (they do not matter); its inertias of a knuckle are those of no body. So the
numbers to compare with are those of that variant, recomputed; the source prints none.

The plain twin is of joints. Rigid, it can be compared in the reference pose, the only one that it
has; with one side only, a bicycle whose front wheel runs beside the middle, everywhere. By default
it has bushings where knuckles meet lower rods and tie bars. (Then wheels that cannot slip drift
apart as they toe out: it is for short runs.)

The check: matrices, eigenvalues, range of stable speeds and steer to lean of the variant; the plain
twin, of one side at random states and of both sides in the reference pose, with random torques; and
both ways to the linear model of one side. The figures are those of §5.2.5:
eigenvalues and steer to lean over the speed, of the reference and of eight random variants.
"""

import warnings

import numpy as np

import mechgraph as mg
from mechgraph.gallery import present, verified

about, vector = mg.leaves.about, mg.leaves.vector
G, DOWN = 9.81, (0, 0, 9.81)
REAR = {"mass": 2.50, "radius": 0.253, "axial": 0.180, "radial": 0.094}
FRONT = {"mass": 2.00, "radius": 0.255, "axial": 0.140, "radial": 0.075}
SIDES = {"R": 1.0, "L": -1.0}
GEOMETRY = {
    "wheelbase": 1.075, "trail": 0.08, "tilt": np.radians(15.25), "rod tilt": np.radians(-2.5),
    "P": (1.056, 0, -0.292), "Q": (1.081, 0, -0.191),  # pivots of the rods in the frame
    "P end": (0, 0.198, -0.023), "Q end": (0, 0.223, -0.023),  # right side
    "handle": (-0.147, 0.010, -0.206), "knuckle": (1.044, 0.226, -0.238),
    "steered": (-0.043, -0.010, 0.045),  # where the tie bar meets the knuckle
    "track": 0.286,
    "lifts": False,  # the point of the frame above the rear contact stays on the ground
}  # fmt: skip
BODIES = {  # mass, inertia (xx yy zz xy xz yz), mass centre
    "B": (85.0, (9.70, 11.0, 3.10, 0, 2.70, 0), (0.375, 0, -0.950)),
    "H": (3.0, (0.097, 0.1, 0.015, 0, -0.009, 0), (0.020, 0, -0.820)),
    "P": (0.75, (0.010, 0.01, 0.009, 0, 0, 0), (0, 0, -0.015)),
    "Q": (0.75, (0.012, 0.01, 0.011, 0, 0, 0), (0, 0, -0.015)),
}
KNUCKLE = (0.002, 0.001, 0.003, 0.0003, -0.0005, 0)  # right side
INPUTS = ["uW", "uFR", "uFL", "udelta", "uphi"]
COORDINATES = ["A.x", "A.y", "A.delta", "A.phi", "A.psi", "W.theta", "FR.theta", "FL.theta"]
SPEEDS = ["A.x'", "A.delta'", "A.phi'"]
VALUES = np.linspace(0, 10, 401)  # of the speed
START = {"A.x'": 1.0, "A.phi": 0.05}
DURATION = 1.0


# --- where things are -----------------------------------------------------------------------------


def mirrored(point, side):
    """A point of the right side, or its image."""
    return np.array(point) * [1, SIDES[side], 1]


def turned(angle):
    """The matrix of a turn about y."""
    c, s = np.cos(angle), np.sin(angle)
    return np.array([[c, 0, s], [0, 1, 0], [-s, 0, c]])


def mounted(g, body):
    """Where a body of the assembly is joined to the frame, and its tilt about y there."""
    head = (g["wheelbase"] + g["trail"], 0, 0)
    places = {"B": ((0, 0, 0), 0.0), "H": (head, g["tilt"])}
    return places.get(body) or (g[body], g["rod tilt"])


def fittings(g, sides):
    """Points of the assembly by name: the body and the place in its axes."""
    found = {"hub": ("B", (0, 0, -REAR["radius"]))}
    for side in sides:
        found[f"h {side}"] = ("H", mirrored(g["handle"], side))
        found |= {f"{rod} {side}": (rod, mirrored(g[f"{rod} end"], side)) for rod in "PQ"}
    return found


def stands(g, name, sides=SIDES):
    """A point of the assembly in the reference pose."""
    body, at = fittings(g, sides)[name]
    foot, tilt = mounted(g, body)
    return np.array(foot) + turned(tilt) @ np.array(at)


def pinned(g, sides):
    """Pairs of points that coincide, by name: (body or "A", place or name of a fitting)."""
    pairs = {"W hub": (("A", "hub"), ("W", (0, 0, 0)))}
    for side in sides:
        K, S, F, half = f"K{side}", f"S{side}", f"F{side}", tie_bar(g, side)[0] / 2
        centre = mirrored(g["knuckle"], side)
        front = mirrored((g["wheelbase"], g["track"], -FRONT["radius"]), side)
        pairs |= {
            f"{side} handle": (("A", f"h {side}"), (S, (-half, 0, 0))),
            f"{side} upper rod": (("A", f"P {side}"), (K, stands(g, f"P {side}") - centre)),
            f"{side} lower rod": (("A", f"Q {side}"), (K, stands(g, f"Q {side}") - centre)),
            f"{side} steering": ((S, (half, 0, 0)), (K, mirrored(g["steered"], side))),
            f"{side} hub": ((K, front - centre), (F, (0, 0, 0))),
        }
    return pairs


def parallel(sides):
    """Bodies whose y axes are parallel."""
    return {"W axis": ("A", "W")} | {f"{x} axis": (f"K{x}", f"F{x}") for x in sides}


def tie_bar(g, side):
    """Length, heading and pitch of a tie bar, and its middle."""
    first = stands(g, f"h {side}")
    last = mirrored(g["knuckle"], side) + mirrored(g["steered"], side)
    e, length = last - first, np.linalg.norm(last - first)
    return length, np.arctan2(e[1], e[0]), -np.arcsin(e[2] / length), (first + last) / 2


def pose(g, sides=SIDES) -> dict[str, float]:
    """Coordinates that are not zero in the reference pose."""
    places, q = {"W": (0, 0, -REAR["radius"])}, {}
    for name, (_, _, centre) in BODIES.items():
        foot, tilt = mounted(g, name)
        places[f"A.{name}"] = np.array(foot) + turned(tilt) @ np.array(centre)
    for side in sides:
        _, heading, pitch, middle = tie_bar(g, side)
        front = mirrored((g["wheelbase"], g["track"], -FRONT["radius"]), side)
        places |= {f"K{side}": mirrored(g["knuckle"], side), f"S{side}": middle, f"F{side}": front}
        q |= {f"S{side}.psi": heading, f"S{side}.phi": pitch}
    for body, place in places.items():
        q |= {f"{body}.{x}": float(value) for x, value in zip("xyz", place, strict=True)}
    return q


# --- composed -------------------------------------------------------------------------------------


def axes(g, v, body):
    """Heading, lean, pitch of the frame; then the tilt and the turn of the body's own joint."""
    frame = about("z", v["psi"]) @ about("x", v["phi"]) @ about("y", v["theta"])
    own = {"H": ("z", "delta"), "P": ("x", "chip"), "Q": ("x", "chiq")}
    if body == "B":
        return frame
    axis, angle = own[body]
    return frame @ about("y", mounted(g, body)[1]) @ about(axis, v[angle])


def place(g, v, body, at):
    """A point of a body of the assembly; (x, y, z) is where the rear wheel touches the
    ground in the reference pose."""
    height = v["z"] if g["lifts"] else 0
    foot = vector([v["x"], v["y"], height]) + axes(g, v, "B") @ vector(mounted(g, body)[0])
    return foot + axes(g, v, body) @ vector(at)


def assembly(g, sides) -> mg.Equations:
    """Frame with rider, handlebar and rods: eight freedoms, or nine if it may lift."""
    coordinates = ["x", "y", "psi", "phi", "theta", "delta", "chip", "chiq"]
    coordinates += ["z"] if g["lifts"] else []
    parts, rows = {}, {}
    for name, (mass, inertia, centre) in BODIES.items():
        parts[name] = mg.leaves.rigid_body(
            mass=mass, inertia=inertia, gravity=DOWN, orientation="none"
        )
        rows[f"{name} place"] = lambda v, n=name, c=centre: v[f"{n}.place"] - place(g, v, n, c)
        rows[f"{name} turn"] = lambda v, n=name: (
            vector([v[f"{n}.w{axis}"] for axis in "xyz"]) - v.angular_velocity(axes(g, v, n))
        )
    points = {name: lambda v, on=on: place(g, v, *on) for name, on in fittings(g, sides).items()}
    return mg.compose(
        "assembly",
        parts,
        coordinates=coordinates,
        speeds=[f"{name}'" for name in coordinates],
        constraints=rows,
        outputs=points | {"hub axis": lambda v: axes(g, v, "B")[:, 1]},
    )


def composed(g=GEOMETRY, sides=SIDES) -> mg.Equations:
    """Assembly, wheels, tie bars, knuckles; torques on wheels, on the handlebar and on the rider's
    lean as inputs."""
    parts = {
        "A": assembly(g, sides),
        "W": mg.leaves.rolling_disc(gravity=DOWN, down=True, **REAR),
    }
    torques = {"W": "A.B"} | {f"F{side}": f"K{side}" for side in sides}  # wheels and what drives
    forces = {"A.delta'": lambda v: v["udelta"], "A.phi'": lambda v: v["uphi"]}
    for wheel, holder in torques.items():
        forces[f"{wheel}.wy"] = lambda v, w=wheel: -v[f"u{w}"]
        forces[f"{holder}.wy"] = lambda v, w=wheel: v[f"u{w}"]
    for side, sign in SIDES.items():
        if side in sides:
            parts[f"F{side}"] = mg.leaves.rolling_disc(gravity=DOWN, down=True, **FRONT)
            parts[f"S{side}"] = mg.leaves.thin_rod(mass=0.30, inertia=0.001, gravity=DOWN)
            parts[f"K{side}"] = mg.leaves.rigid_body(
                mass=0.50,
                inertia=np.array(KNUCKLE) * [1, 1, 1, sign, 1, sign],
                gravity=DOWN,
                orientation="zxy",
                rates=True,
            )

    def at(v, body, where):
        return v[f"A.{where}"] if body == "A" else v.point(body, where)

    rows = {
        name: lambda v, a=a, b=b: at(v, *a) - at(v, *b) for name, (a, b) in pinned(g, sides).items()
    }
    rows |= {
        name: lambda v, a=a, b=b: (v["A.hub axis"] if a == "A" else v.axis(a, "y")) - v.axis(b, "y")
        for name, (a, b) in parallel(sides).items()
    }
    rows |= {f"{side} bar spin": lambda v, side=side: v[f"S{side}.theta"] for side in sides}
    return mg.compose(
        "tricycle", parts, constraints=rows, forces=forces, reference=pose(g, sides),
        inputs=[name for name in INPUTS if name[-1] not in SIDES or name[-1] in sides],
    )  # fmt: skip


def reference(equations: mg.Equations, speed: float, g=GEOMETRY, sides=SIDES):
    """Upright, straight ahead at a speed: (q, u)."""
    q, u = pose(g, sides), {"A.x'": speed}
    for wheel, data in (("W", REAR), ("FR", FRONT), ("FL", FRONT)):
        u |= {f"{wheel}.wy": -speed / data["radius"], f"{wheel}.theta'": -speed / data["radius"]}
    u |= {name: speed for name in equations.speeds if name.endswith((".vx", ".x'"))}
    return (
        np.array([q.get(name, 0.0) for name in equations.coordinates]),
        np.array([u.get(name, 0.0) for name in equations.speeds]),
    )


def linear(equations: mg.Equations, v: float, g=GEOMETRY, **options) -> mg.SecondOrderModel:
    """The linear model about that motion, of all three freedoms; that it is a compromise is
    known."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="the constraints are compatible to zeroth order")
        return equations.composition.linearize(
            reference(equations, v, g), coordinates=COORDINATES, speeds=SPEEDS, **options
        )


def lateral(equations: mg.Equations, v: float, g=GEOMETRY, **options) -> mg.SecondOrderModel:
    """Steer and lean, which are on their own."""
    whole = linear(equations, v, g, **options)
    return whole.of(["A.delta", "A.phi"], ["A.delta'", "A.phi'"])


def coarse(equations: mg.Equations, g=GEOMETRY) -> mg.SecondOrderSweep:
    """At a few speeds, enough for the polynomials of the matrices."""
    return mg.SecondOrderSweep(lambda v: lateral(equations, v, g), [0.0, 2.0, 4.0, 8.0])


def fine(few: mg.SecondOrderSweep, values=VALUES) -> mg.SecondOrderSweep:
    """Over the speed, from these polynomials."""
    return mg.SecondOrderSweep(
        few.at, values, "speed (m/s)", ["weave", "weave", "capsize", "castering"]
    )


# --- the plain twin -------------------------------------------------------------------------------


def system(stiffness: float | None = 1e6, damping: float = 2e3, sides=SIDES) -> mg.System:
    """Frame, rods, knuckles, tie bars and wheels on joints; where a knuckle meets the lower rod and
    its tie bar, bushings, or constraints if ``stiffness`` is None."""
    g, s = GEOMETRY, mg.System("tricycle", gravity=DOWN)
    on = {name: s.body(name, mass=m, com=c, inertia=J) for name, (m, J, c) in BODIES.items()}
    s.joint("A", s.ground, on["B"], [*(mg.move(axis, axis) for axis in "xyz"), *TURNS])
    for joint, body, axis in (("delta", "H", "z"), ("chip", "P", "x"), ("chiq", "Q", "x")):
        foot, tilt = mounted(g, body)
        s.revolute(joint, on["B"], on[body], axis=axis, at=foot, orientation=[("y", tilt)])
    s.torque("steering", "delta", s.input("udelta"))
    s.torque("leaning", "A.phi", s.input("uphi"))
    _wheel(s, "W", on["B"], (0, 0, -REAR["radius"]), REAR)
    for side in sides:
        _corner(s, g, on, side, stiffness, damping)
    return s


TURNS = [mg.rot("z", "psi"), mg.rot("x", "phi"), mg.rot("y", "theta")]


def _corner(s, g, on, side, stiffness, damping):
    """Knuckle, tie bar and wheel of one side."""
    pairs, sign = pinned(g, [side]), SIDES[side]
    places = {name: (a[1], b[1]) for name, (a, b) in pairs.items()}
    inertia = np.array(KNUCKLE) * [1, 1, 1, sign, 1, sign]
    knuckle = s.body(f"knuckle {side}", mass=0.50, inertia=inertia, allow_unphysical=True)
    bar = s.body(f"bar {side}", mass=0.30, inertia=(0, 0.001, 0.001))
    s.spherical(f"K{side}", on["P"], knuckle, at=mirrored(g["P end"], side),
                orientation=[("y", -g["rod tilt"])],
                child_at=places[f"{side} upper rod"][1])  # fmt: skip
    s.joint(f"S{side}", on["H"], bar, [mg.rot("z", "psi"), mg.rot("y", "phi")],
            at=mirrored(g["handle"], side), orientation=[("y", -g["tilt"])],
            child_at=places[f"{side} handle"][1])  # fmt: skip
    _wheel(s, f"F{side}", knuckle, places[f"{side} hub"][0], FRONT)
    meet = {
        "lower rod": (on["Q"], mirrored(g["Q end"], side), places[f"{side} lower rod"][1]),
        "steering": (bar, *places[f"{side} steering"]),
    }
    for name, (body, at, on_knuckle) in meet.items():
        ends = (
            s.marker(f"{side} {name} a", body, at),
            s.marker(f"{side} {name} b", knuckle, on_knuckle),
        )
        _meet(s, f"{side} {name}", *ends, stiffness, damping)


def _meet(s, name, a, b, stiffness, damping):
    if stiffness is None:
        s.constrain(name, position=lambda m: m.position(a) - m.position(b))
        return
    s.spring_damper(name, a, b, stiffness=stiffness)
    for end, c in ((a, -damping), (b, damping)):
        s.force(f"{name}, damping of {end.name[-1]}", end,
                lambda m, c=c: c * (m.velocity(a) - m.velocity(b)))  # fmt: skip


def _wheel(s, name, holder, at, data):
    """A wheel that rolls as a knife edge, and its drive."""
    J = (data["radial"], data["axial"], data["radial"])
    wheel = s.body(f"wheel {name}", mass=data["mass"], inertia=J)
    s.revolute(name, holder, wheel, axis="y", at=at)
    s.torque(f"drive {name}", name, -s.input(f"u{name}"))

    def arm(m):
        n, down = m.axis(wheel, "y"), m.axis("ground", "z")
        across = down - mg.dot(down, n) * n
        return data["radius"] * across / mg.norm_2(across)

    def slip(m):
        return m.velocity(wheel) + mg.cross(m.angular_velocity(wheel), arm(m))

    s.constrain(f"{name} stands", position=lambda m: (m.position(wheel) + arm(m))[2])
    s.constrain(f"{name} rolls", velocity=lambda m: slip(m)[:2])


def straight(equations: mg.Equations, speed: float, sides=SIDES):
    """The plain twin in the reference pose, straight ahead: (q, u)."""
    q = GUESS | {f"K{side}.q0": 1.0 for side in sides}
    u = {"A.x'": speed, "W'": -speed / REAR["radius"]}
    u |= {f"F{side}'": -speed / FRONT["radius"] for side in sides}
    return (
        np.array([q.get(name, 0.0) for name in equations.coordinates]),
        np.array([u.get(name, 0.0) for name in equations.speeds]),
    )


OWN = {f"A.{name}": f"A.{name}" for name in ("x", "y", "z", "psi", "phi", "theta")} | {
    f"A.{name}": name for name in ("delta", "chip", "chiq")
}  # coordinates of the assembly: in the composed model, in the plain twin
LIFTED = GEOMETRY | {"lifts": True}
GUESS = {
    f"S{side}.{name}": tie_bar(GEOMETRY, side)[k]
    for side in SIDES
    for k, name in ((1, "psi"), (2, "phi"))
}


# --- what is known --------------------------------------------------------------------------------

# variant "R" of the specification, order (δ, φ), five digits behind the point
M = [[1.03852, 3.93604], [3.93604, 91.64245]]
C1 = [[5.58319, -1.21395], [72.13481, 10.79849]]
K0 = [[-11.88634, -42.87203], [-44.17262, -858.77977]]  # times g
K2 = [[7.48034, 0.96546], [143.96439, 18.58096]]
E = [  # order (x, δ, φ)
    [3.952569, 3.921569, 3.921569, 0, 0],
    [0, -0.175357, 0.175357, 1, 0],
    [0, 0.003660, -0.003660, 0, 1],
]
TABLE = {  # speed: castering, capsize, weave, δ/φ of capsize, |δ/φ| of weave
    0.5: (-4.17540, -2.99249, 2.81925 + 0.54279j, -0.614, 2.469),
    1.0: (-4.85056, -3.07492, 2.43335 + 0.84416j, -0.082, 1.674),
    2.0: (-6.35000, -2.94337, 1.58791 + 1.38054j, 0.383, 1.030),
    3.0: (-8.08809, -1.80805, 0.35989 + 1.91921j, 0.516, 0.741),
    4.0: (-9.98574, -0.13470, -1.05734 + 3.49890j, 0.255, 0.796),
    5.0: (-11.97897, 0.08942, -1.70218 + 5.06772j, 0.108, 0.862),
    8.0: (-18.23472, 0.14171, -3.18862 + 9.11882j, -0.037, 0.929),
    15.0: (-33.34327, 0.09263, -6.31554 + 17.87684j, -0.103, 0.959),
}
STABLE = [3.1949, 4.3965]
PEAK, JUMPS = (7.04, 0.14510), [1.117, 6.749]  # of capsize: its largest, and where δ/φ turns over


def matrices(few: mg.SecondOrderSweep) -> float:
    """The largest error of M, C₁, K₀, K₂."""
    none = np.zeros((2, 2))
    listed = {"M": [M, none, none], "C": [none, C1, none], "K": [K0, none, K2]}
    return max(np.abs(few.polynomial(name) - np.array(x)).max() for name, x in listed.items())


def table(few: mg.SecondOrderSweep) -> tuple[float, float, float]:
    """Errors of eigenvalues, of steer to lean, and of the range of stable speeds."""
    over, roots, ratios = fine(few, sorted(TABLE)), [], []
    found = over.ratio("A.delta", "A.phi")
    for k, v in enumerate(over.values):
        *values, ratio, modulus = TABLE[v]
        _, capsize, weave = at = [np.abs(over.eigenvalues[k] - x).argmin() for x in values]
        roots += list(np.abs(over.eigenvalues[k, at] - values))
        ratios += [abs(found[k, capsize] - ratio), abs(abs(found[k, weave]) - modulus)]
    return max(roots), max(ratios), np.abs(over.boundaries() - STABLE).max()


def capsizing(few: mg.SecondOrderSweep) -> tuple[float, float, float]:
    """Errors of the largest growth of capsize, of its speed, and of the speeds where its steer to
    lean changes its sign."""
    over = fine(few, np.linspace(0.02, 10, 500))
    growth, ratio = over.eigenvalues[:, 2].real, over.ratio("A.delta", "A.phi")[:, 2].real
    turns = over.values[np.flatnonzero(np.diff(np.sign(ratio)))]
    return (
        abs(growth.max() - PEAK[1]),
        abs(over.values[growth.argmax()] - PEAK[0]),
        np.abs(turns - JUMPS).max() if len(turns) == len(JUMPS) else np.inf,
    )


def one_side(states: int = 2) -> tuple[float, float]:
    """The model of one side against its plain twin: accelerations at random states, and the linear
    model from linearized parts against the ordinary one; relative."""
    plain, whole = system(None, sides=["R"]).equations(), composed(LIFTED, ["R"])
    random, worst = np.random.default_rng(0), 0.0
    independent = ["A.x", "A.y", "A.psi", "A.phi", "A.delta", "A.chip", "W.theta", "FR.theta"]
    speeds = ["A.x'", "A.phi'", "A.delta'", "A.chip'"]
    for _ in range(states):
        start = {name: random.uniform(-0.2, 0.2) for name in ("A.phi", "delta", "A.psi")}
        start |= {name: random.standard_normal() for name in ("A.phi'", "delta'", "A.x'")}
        q, u = plain.assemble(start, guess={k: x for k, x in GUESS.items() if k[1] == "R"})
        known = dict(zip((*plain.coordinates, *plain.speeds), (*q, *u), strict=True))
        given = {ours: known[theirs] for ours, theirs in OWN.items()}
        given |= {f"{ours}'": known[f"{theirs}'"] for ours, theirs in OWN.items()}
        at, w = whole.assemble(given), random.standard_normal(4)
        w = dict(zip(whole.inputs, w, strict=True))
        found = dict(zip(whole.speeds, whole.accelerations(*at, inputs=w), strict=True))
        expected = dict(zip(plain.speeds, plain.accelerations(q, u, inputs=w), strict=True))
        off = [abs(found[f"{a}'"] - expected[f"{b}'"]) for a, b in OWN.items()]
        worst = max(worst, max(off) / max(map(abs, expected.values())))
    model = whole.composition.linearize(at, coordinates=independent, speeds=speeds, inputs=w)
    usual = whole.linearize(at, independent=[*independent, *speeds], inputs=w).A
    return worst, np.abs(model.A - usual).max() / np.abs(usual).max()


def in_pose(equations: mg.Equations, states: int = 3) -> float:
    """Accelerations against the plain twin with rigid rows, in the reference pose with random speed
    and torques, relative."""
    plain, random, worst = system(None).equations(), np.random.default_rng(1), 0.0
    for _ in range(states):
        speed, w = random.uniform(0, 8), dict(zip(INPUTS, random.standard_normal(5), strict=True))
        udot = equations.accelerations(*reference(equations, speed), inputs=w)
        expected = plain.accelerations(*straight(plain, speed), inputs=w)
        found = dict(zip(equations.speeds, udot, strict=True))
        wanted = dict(zip(plain.speeds, expected, strict=True))
        off = [abs(found[f"{a}'"] - wanted[f"{b}'"]) for a, b in OWN.items() if a != "A.z"]
        worst = max(worst, max(off) / max(map(abs, wanted.values())))
    return worst


def check() -> dict[str, float]:
    """The specification's variant, and the plain twin."""
    equations = composed()
    few = coarse(equations)
    inputs = np.abs(linear(equations, 1.0).E - E).max()
    roots, ratios, ends = table(few)
    peak, where, turns = capsizing(few)
    accelerations, slopes = one_side()
    return verified(
        {
            "M, C₁, K₀, K₂, to 5 digits": (matrices(few), 6e-6),
            "E, to 6 digits": (inputs, 6e-7),
            "eigenvalues, to 5 digits": (roots, 8e-6),
            "steer to lean, to 3 digits": (ratios, 6e-4),
            "stable speeds, to 4 digits": (ends, 6e-5),
            "largest growth of capsize, to 5 digits": (peak, 6e-6),
            "its speed, on a grid": (where, 0.03),
            "speeds where its steer turns over, on a grid": (turns, 0.03),
            "accelerations of one side, plain twin": (accelerations, 1e-9),
            "linear model of one side, both ways": (slopes, 1e-9),
            "accelerations in the pose, plain twin": (in_pose(equations), 1e-9),
        }
    )


def variant(random: np.random.Generator) -> dict[str, object]:
    """Lengths and angles within 4 %, the trail times −2 to 11."""
    changed = {
        name: np.multiply(x, random.uniform(0.96, 1.04, np.shape(x)))
        for name, x in GEOMETRY.items()
        if name not in ("lifts", "trail")
    }
    return GEOMETRY | changed | {"trail": GEOMETRY["trail"] * random.uniform(-2, 11)}


def figures() -> dict[str, object]:
    """Figs. 5.4 and 5.5 of the reference, 5.7 and 5.8 of random variants."""
    own, random = fine(coarse(composed())), np.random.default_rng(3)
    changed = [variant(random) for _ in range(8)]
    variants = [fine(coarse(composed(g), g), own.values[::4]) for g in changed]
    return {
        "eigenvalues": own.plot(),
        "steer to lean": own.plot_ratio("A.delta", "A.phi"),
        "eigenvalues of variants": own.plot(beside=variants),
        "steer to lean of variants": own.plot_ratio("A.delta", "A.phi", beside=variants),
    }


if __name__ == "__main__":
    present(system(), check)
