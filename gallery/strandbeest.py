"""Strandbeest: one leg of Theo Jansen's walking machines, seven bars and plates on one crank.

The lengths are the thirteen numbers that T. Jansen published (*The Great Pretender*, 2007; also on
strandbeest.com), in centimetres: a = 38 … m = 15. The crank turns about the origin, and all else
hangs on a pivot at (−a, −l). Masses are ours: half a kilogram for each metre of bar.

The check: the foot and every joint against the intersections of circles, over a whole turn, and the
crank found again from the foot by inverse kinematics through the loops. The foot's path has a flat
part: on it the foot stays within a fiftieth of the stride's length of its lowest place for a large
part of a turn, and moves the way opposite to the beast's.
"""

import numpy as np

import mechgraph as mg
from mechgraph.gallery import present, verified

LENGTHS = {"a": 38.0, "b": 41.5, "c": 39.3, "d": 40.1, "e": 55.8, "f": 39.4, "g": 36.7, "h": 65.7,
           "i": 49.0, "j": 50.0, "k": 61.9, "l": 7.8, "m": 15.0}  # fmt: skip
a, b, c, d, e, f, g, h, i, j, k, drop, m = (0.01 * length for length in LENGTHS.values())
PIVOT = np.array([-a, -drop])
DENSITY, SPEED = 0.5, 2 * np.pi
START = {"crank": 0.0, "crank'": SPEED}
DURATION = 2.0
OPTIONS = {"rtol": 1e-10}


def third(p: np.ndarray, q: np.ndarray, to_p: float, to_q: float) -> np.ndarray:
    """The corner of a triangle on p and q, left of the way from p to q."""
    way = q - p
    size = np.linalg.norm(way, axis=-1, keepdims=True)
    along = (to_p**2 - to_q**2 + size**2) / (2 * size)
    across = np.sqrt(to_p**2 - along**2)
    normal = np.stack([-way[..., 1], way[..., 0]], axis=-1)
    return p + (along * way + across * normal) / size


def places(angle: np.ndarray) -> dict[str, np.ndarray]:
    """Where the joints are, by circles: pin of the crank, top, side, low, knee and foot."""
    pin = m * np.stack([np.cos(angle), np.sin(angle)], axis=-1)
    pivot = np.broadcast_to(PIVOT, pin.shape)
    top, low = third(pivot, pin, b, j), third(pin, pivot, k, c)
    side = third(pivot, top, d, e)
    knee = third(low, side, g, f)
    return {"pin": pin, "top": top, "side": side, "low": low, "knee": knee,
            "foot": third(low, knee, i, h)}  # fmt: skip


def plate(base: float, left: float, right: float) -> tuple[float, float, float]:
    """The third corner of a triangle on a base along x, ``left`` from its beginning."""
    x, y = third(np.zeros(2), np.array([base, 0.0]), left, right)
    return float(x), float(y), 0.0


def bar(s: mg.System, name: str, length: float) -> mg.Body:
    """A bar along x of its frame."""
    mass = DENSITY * length
    return s.body(name, mass=mass, com=(length / 2, 0, 0), inertia=mass * length**2 / 12)


def triangle(s: mg.System, name: str, base: float, corner: tuple) -> mg.Body:
    """Three bars between the origin, the end of the base and a corner."""
    ends = np.array([(0.0, 0.0), (base, 0.0), corner[:2]])
    sides = [(ends[n], ends[n - 1]) for n in range(3)]
    masses = [DENSITY * np.linalg.norm(p - q) for p, q in sides]
    centre = sum(w * (p + q) / 2 for w, (p, q) in zip(masses, sides, strict=True)) / sum(masses)
    inertia = sum(
        w * (np.sum((p - q) ** 2) / 12 + np.sum(((p + q) / 2 - centre) ** 2))
        for w, (p, q) in zip(masses, sides, strict=True)
    )
    return s.body(name, mass=sum(masses), com=(*centre, 0), inertia=inertia)


def system() -> mg.System:
    """Seven bodies in a plane, ten pins, three loops; a motor on the crank."""
    s = mg.System("Strandbeest", gravity=(0, -9.81, 0), plane="xy")
    side, foot = plate(b, d, e), plate(g, i, h)
    crank, upper, lower, strut = (bar(s, *x) for x in (("wheel", m), ("j", j), ("k", k), ("f", f)))
    thigh, shin = triangle(s, "thigh", b, side), triangle(s, "shin", g, foot)
    rocker = bar(s, "c", c)
    s.revolute("crank", s.ground, crank)
    s.revolute("upper", crank, upper, at=(m, 0, 0))
    s.revolute("lower", crank, lower, at=(m, 0, 0))
    s.revolute("hip", s.ground, thigh, at=(*PIVOT, 0))
    s.revolute("rocker", s.ground, rocker, at=(*PIVOT, 0))
    s.revolute("ankle", rocker, shin, at=(c, 0, 0))
    s.revolute("strut", thigh, strut, at=side)
    s.revolute("top", upper, thigh, at=(j, 0, 0), child_at=(b, 0, 0))
    s.revolute("low", lower, rocker, at=(k, 0, 0), child_at=(c, 0, 0))
    s.revolute("knee", strut, shin, at=(f, 0, 0), child_at=(g, 0, 0))
    s.torque("motor", "crank", s.input("torque"))
    s.marker("foot", shin, foot)
    return s


def angles(angle: float) -> dict[str, float]:
    """Coordinates of the joints, from the places by circles."""
    at = {**places(np.array(angle)), "pivot": PIVOT}

    def way(p: str, q: str) -> float:
        return float(np.arctan2(*(at[q] - at[p])[::-1]))

    found = {
        "crank": angle,
        "upper": way("pin", "top") - angle,
        "lower": way("pin", "low") - angle,
        "hip": way("pivot", "top"),
        "rocker": way("pivot", "low"),
        "ankle": way("low", "knee") - way("pivot", "low"),
        "strut": way("side", "knee") - way("pivot", "top"),
    }
    return {name: float(np.arctan2(np.sin(x), np.cos(x))) for name, x in found.items()}


GUESS = {name: value for name, value in angles(0.0).items() if name not in START}


def path(turn: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates over a turn of the crank, and where the foot is."""
    equations = system().equations()
    q, out = [], {}
    for angle in turn:
        q.append(equations.assemble({"crank": angle}, guess=out or GUESS)[0])
        out = dict(zip(equations.coordinates, q[-1], strict=True))
        out.pop("crank")
    return np.array(q), equations.position("foot", np.array(q))


def flat_part(foot: np.ndarray) -> tuple[float, float]:
    """Share of a turn that the foot is near the ground, and how often it goes backwards there."""
    stride = np.ptp(foot[:, 0])
    low = foot[:, 1] < foot[:, 1].min() + stride / 50
    forth = np.diff(foot[:, 0], append=foot[:1, 0])
    return float(low.mean()), float((forth[low] > 0).mean() * (forth[low] < 0).mean())


def check() -> dict[str, float]:
    """Closed, on the path, flat below, and found again from the foot."""
    turn = np.linspace(0, 2 * np.pi, 60, endpoint=False)
    equations, known = system().equations(), places(turn)
    q, foot = path(turn)
    ends = {"pin": ("wheel", m), "top": ("thigh", b), "low": ("c", c), "knee": ("shin", g)}
    joints = [
        equations.position(body, q)
        + np.einsum("nij,j->ni", equations.rotation(body, q), (length, 0, 0))
        - np.pad(known[name], ((0, 0), (0, 1)))
        for name, (body, length) in ends.items()
    ]
    again = equations.inverse_kinematics({"foot": foot[::6]}, q[::6] + 0.05)
    share, mixed = flat_part(places(np.linspace(0, 2 * np.pi, 1000, endpoint=False))["foot"])
    return verified(
        {
            "foot by circles": (np.abs(foot[:, :2] - known["foot"]).max(), 1e-10),
            "pins by circles": (np.abs(joints).max(), 1e-10),
            "loops closed": (np.abs(equations.position_violation(q)).max(), 1e-10),
            "crank from the foot": (np.abs(again[:, 0] - q[::6, 0]).max(), 1e-8),
            "part of a turn that is not flat": (1 - share, 0.6),
            "to and fro on the flat part": (mixed, 1e-12),
        }
    )


def figures() -> dict[str, object]:
    """The foot's path, with the leg at one moment."""
    from matplotlib.figure import Figure

    foot = places(np.linspace(0, 2 * np.pi, 400))["foot"]
    at = {**places(np.array(4.0)), "pivot": PIVOT, "origin": np.zeros(2)}
    figure = Figure(figsize=(6, 6), layout="constrained")
    axes = figure.subplots()
    axes.plot(*foot.T, lw=2, label="path of the foot")
    bars = ["origin pin", "pin top", "pin low", "pivot top side pivot", "pivot low",
            "side knee", "low knee foot low"]  # fmt: skip
    for names in bars:
        line = np.array([at[name] for name in names.split()])
        axes.plot(*line.T, color="0.3", marker="o", ms=3, lw=1)
    axes.set_aspect("equal")
    axes.set_title("a leg of a Strandbeest", loc="left")
    axes.set_xlabel("x (m)")
    axes.set_ylabel("y (m)")
    axes.legend()
    return {"path": figure}


if __name__ == "__main__":
    present(system(), check)
