"""The tadpole tricycle of R. Orsino (2016), §5.2, from eight subsystems, linearized.

Axes: x forward, y right, z down. Frame with rider, handlebar and two transverse rods make up the
assembly; wheels, tie bars and knuckles are joined to it by 44 rows, of which 38 are independent in
the reference pose and more outside of it: the real linkage needs clearances, and the linear model
is a compromise of least squares. Data: Table 5.1, with the geometry closed as the specification's
variant "R"; inertias about y that the table does not list do not matter.
"""

from __future__ import annotations

import numpy as np

import mechgraph as mg

about, vector = mg.leaves.about, mg.leaves.vector
G, W, TRAIL, TILT = 9.81, 1.075, 0.08, np.radians(15.25)
ROD_TILT = np.radians(-2.5)
REAR = {"mass": 2.50, "radius": 0.253, "axial": 0.180, "radial": 0.094}
FRONT = {"mass": 2.00, "radius": 0.255, "axial": 0.140, "radial": 0.075}
SIDES = {"R": 1.0, "L": -1.0}
HEAD = np.array([W + TRAIL, 0, 0])
PIVOTS = {"P": np.array([1.056, 0, -0.292]), "Q": np.array([1.081, 0, -0.191])}
ENDS = {"P": (0, 0.198, -0.023), "Q": (0, 0.223, -0.023)}  # of the rods, right side
HANDLE = (-0.147, 0.010, -0.206)
KNUCKLE = (1.044, 0.226, -0.238)
STEERED = (-0.043, -0.010, 0.045)  # where the tie bar meets the knuckle, from its mass centre
WHEEL = (1.075, 0.286, -0.255)
BODIES = {
    "B": (85.0, (9.70, 11.0, 3.10, 0, 2.70, 0), (0.375, 0, -0.950)),
    "H": (3.0, (0.097, 0.1, 0.015, 0, -0.009, 0), (0.020, 0, -0.820)),
    "P": (0.75, (0.010, 0.01, 0.009, 0, 0, 0), (0, 0, -0.015)),
    "Q": (0.75, (0.012, 0.01, 0.011, 0, 0, 0), (0, 0, -0.015)),
}


def mirrored(point, side):
    x, y, z = point
    return np.array([x, SIDES[side] * y, z])


def turned(axis, angle):
    matrix = about(axis, angle)
    return np.array([[float(matrix[i, j]) for j in range(3)] for i in range(3)])


# --- the assembly ---------------------------------------------------------------------------------


def axes(v, body):
    frame = about("z", v["psi"]) @ about("x", v["phi"]) @ about("y", v["theta"])
    own = {
        "B": lambda: frame,
        "H": lambda: frame @ about("y", TILT) @ about("z", v["delta"]),
        "P": lambda: frame @ about("y", ROD_TILT) @ about("x", v["chip"]),
        "Q": lambda: frame @ about("y", ROD_TILT) @ about("x", v["chiq"]),
    }
    return own[body]()


def point(v, body, at):
    """A point given in a body's axes, from where it is joined to the frame."""
    foot = vector([v["x"], v["y"], 0])
    if body == "B":
        return foot + axes(v, "B") @ vector(at)
    joint = HEAD if body == "H" else PIVOTS[body]
    return foot + axes(v, "B") @ vector(joint) + axes(v, body) @ vector(at)


def assembly() -> mg.Equations:
    coordinates = ["x", "y", "psi", "phi", "theta", "delta", "chip", "chiq"]
    parts, rows = {}, {}
    for name, (mass, inertia, centre) in BODIES.items():
        parts[name] = mg.leaves.rigid_body(
            mass=mass, inertia=inertia, gravity=(0, 0, G), orientation="none"
        )
        rows[f"{name} place"] = lambda v, n=name, c=centre: v[f"{n}.place"] - point(v, n, c)
        rows[f"{name} turn"] = lambda v, n=name: (
            vector([v[f"{n}.w{axis}"] for axis in "xyz"]) - v.angular_velocity(axes(v, n))
        )
    outputs = {
        "hub": lambda v: point(v, "B", (0, 0, -REAR["radius"])),
        "hub axis": lambda v: axes(v, "B")[:, 1],
    }
    for side in SIDES:
        outputs[f"h {side}"] = lambda v, s=side: point(v, "H", mirrored(HANDLE, s))
        for rod in "PQ":
            outputs[f"{rod} {side}"] = lambda v, s=side, r=rod: point(v, r, mirrored(ENDS[r], s))
    return mg.compose(
        "assembly",
        parts,
        coordinates=coordinates,
        speeds=[f"{name}'" for name in coordinates],
        constraints=rows,
        outputs=outputs,
    )


# --- the whole ------------------------------------------------------------------------------------


def reference_points(side) -> dict[str, np.ndarray]:
    """Where things are in the reference pose."""
    rods = {rod: PIVOTS[rod] + turned("y", ROD_TILT) @ mirrored(ENDS[rod], side) for rod in "PQ"}
    centre = mirrored(KNUCKLE, side)
    return rods | {
        "K": centre,
        "h": HEAD + turned("y", TILT) @ mirrored(HANDLE, side),
        "s": centre + mirrored(STEERED, side),
        "f": mirrored(WHEEL, side),
    }


def tie_bar(side) -> tuple[float, float, float]:
    """Length, heading and pitch of a tie bar, from h to s."""
    at = reference_points(side)
    e = at["s"] - at["h"]
    return np.linalg.norm(e), np.arctan2(e[1], e[0]), -np.arcsin(e[2] / np.linalg.norm(e))


def tricycle() -> mg.Equations:
    gravity = (0, 0, G)
    parts = {
        "A": assembly(),
        "W": mg.leaves.rolling_disc(gravity=gravity, down=True, **REAR),
    }
    rows = {
        "W hub": lambda v: v["A.hub"] - v["W.place"],
        "W axis": lambda v: v["A.hub axis"] - v.axis("W", "y"),
    }
    forces = {
        "W.wy": lambda v: -v["uW"],
        "A.delta'": lambda v: v["udelta"],
        "A.phi'": lambda v: v["uphi"],
    }
    for side, sign in SIDES.items():
        parts[f"F{side}"] = mg.leaves.rolling_disc(gravity=gravity, down=True, **FRONT)
        parts[f"S{side}"] = mg.leaves.thin_rod(mass=0.30, inertia=0.001, gravity=gravity)
        parts[f"K{side}"] = mg.leaves.rigid_body(
            mass=0.50,
            inertia=(0.002, 0.001, 0.003, sign * 0.0003, -0.0005, 0),
            gravity=gravity,
            orientation="zxy",
            rates=True,
        )
        rows |= joined(side)
        forces[f"F{side}.wy"] = lambda v, s=side: -v[f"uF{s}"]
        forces[f"K{side}.wy"] = lambda v, s=side: v[f"uF{s}"]
    inputs = ["uW", "uFR", "uFL", "udelta", "uphi"]
    return mg.compose(
        "tricycle", parts, constraints=rows, forces=forces, inputs=inputs, reference=pose()
    )


def joined(side):
    at, (length, _, _) = reference_points(side), tie_bar(side)
    K, S, F = f"K{side}", f"S{side}", f"F{side}"

    def local(key):
        return at[key] - at["K"]

    return {
        f"{side} handle": lambda v: v[f"A.h {side}"] - v.point(S, (-length / 2, 0, 0)),
        f"{side} upper rod": lambda v: v[f"A.P {side}"] - v.point(K, local("P")),
        f"{side} lower rod": lambda v: v[f"A.Q {side}"] - v.point(K, local("Q")),
        f"{side} steering": lambda v: v.point(S, (length / 2, 0, 0)) - v.point(K, local("s")),
        f"{side} hub": lambda v: v.point(K, local("f")) - v[f"{F}.place"],
        f"{side} axis": lambda v: v.axis(K, "y") - v.axis(F, "y"),
        f"{side} bar spin": lambda v: v[f"{S}.theta"],
    }


def pose() -> dict[str, float]:
    """Coordinates that are not zero in the reference pose: places of bodies, and tie bars."""
    places = {"W": (0, 0, -REAR["radius"])}
    q = {}
    for name, (_, _, centre) in BODIES.items():
        R = {"B": np.eye(3), "H": turned("y", TILT)}.get(name, turned("y", ROD_TILT))
        origin = {"B": np.zeros(3), "H": HEAD}.get(name, PIVOTS.get(name))
        places[f"A.{name}"] = origin + R @ np.array(centre)
    for side in SIDES:
        at, (_, heading, pitch) = reference_points(side), tie_bar(side)
        middle = (at["h"] + at["s"]) / 2
        places |= {f"K{side}": at["K"], f"S{side}": middle, f"F{side}": at["f"]}
        q |= {f"S{side}.psi": heading, f"S{side}.phi": pitch}
    for body, place in places.items():
        q |= {f"{body}.{x}": float(value) for x, value in zip("xyz", place, strict=True)}
    return q


def reference(equations: mg.Equations, speed: float) -> tuple[np.ndarray, np.ndarray]:
    """Upright, straight ahead at a speed."""
    q, u = pose(), {"A.x'": speed}
    for wheel, data in (("W", REAR), ("FR", FRONT), ("FL", FRONT)):
        u |= {f"{wheel}.wy": -speed / data["radius"], f"{wheel}.theta'": -speed / data["radius"]}
    u |= {name: speed for name in equations.speeds if name.endswith(".vx")}
    return (
        np.array([q.get(name, 0.0) for name in equations.coordinates]),
        np.array([u.get(name, 0.0) for name in equations.speeds]),
    )


COORDINATES = ["A.x", "A.y", "A.delta", "A.phi", "A.psi", "W.theta", "FR.theta", "FL.theta"]
SPEEDS = ["A.x'", "A.delta'", "A.phi'"]
