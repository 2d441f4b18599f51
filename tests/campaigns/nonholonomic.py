"""Random systems that are not holonomic: blades, wheels, and rows on velocities of one's own, on
trees, loops, free bodies and in a plane.

``python tests/campaigns/nonholonomic.py 17`` prints system 17.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from models import Model, bladed, loop, loose, tree
from random_systems import Source


def system(seed: int) -> Model:
    """The system of a seed; skeletons come in turn."""
    model = SKELETONS[seed % len(SKELETONS)](seed)
    for _ in range(model.pick([1, 1, 2])):
        model.pick(FLAT_ROWS if model.system.plane else ROWS)(model)
    return model


def formalisms(model: Model) -> list[str]:
    """Those that are compared: joint coordinates, and points, and nodes in a plane."""
    return ["newton-euler", "points", *(["nodes"] if model.system.plane else [])]


# --- skeletons ------------------------------------------------------------------------------------


def rolling(seed: int) -> Model:
    """A body that rolls on a plane, with another one on a joint."""
    model = Model(seed)
    model.begin(gravity=model.pick([(0, 0, -9.81), (1.0, 0, -9.0)]))
    model.body("b0")
    model("free", "j0", "ground", "b0")
    shape = model.pick(["Sphere({}, 0.3)", "Disc({}, 0.4)", "Torus({}, 0.3, 0.1)"])
    surface = Source("mg." + shape.format("s.bodies['b0']"))
    model("roll", "wheel", surface, Source("mg.Plane(s.ground)"))
    model.body("b1")
    model.joint("j1", model.pick(["revolute", "prismatic", "spherical", "universal"]), "b0", "b1")
    model.forces()
    equations = model.system.equations()
    q, _ = equations.assemble(guess={"j0.z": 0.4, "j0.q1": 0.6, "j0.q2": 0.2})
    model.configuration = dict(zip(equations.coordinates, q.tolist(), strict=True))
    return model


def flat(seed: int) -> Model:
    """Bodies in a plane, one on another or on ground, now and then closed by a rod."""
    model = Model(seed)
    model.begin(gravity=model.pick([(0, -9.81, 0), (0, 0, 0)]), plane="xy")
    names = ["ground"]
    for k in range(model.pick([1, 2, 3, 4])):
        name = f"b{k}"
        com = (model.number(-0.4, 0.4), model.number(-0.4, 0.4), 0)
        model("body", name, mass=model.number(0.5, 3), com=com, inertia=model.number(0.05, 1))
        kind = "planar" if k == 0 else model.pick(["revolute", "prismatic", "planar", "revolute"])
        options = {"axis": _flat(model)} if kind == "prismatic" else {}
        at = {"at": (*model.vector()[:2], 0)}
        model(kind, f"j{k}", model.pick(names[-2:]) if k else "ground", name, **at, **options)
        names.append(name)
    model("spring_damper", "spring", names[-1], "ground", model.number(1, 20), 0.3, 0.1)
    model.settle()
    return model


def _flat(model: Model) -> tuple[float, ...]:
    return model.pick([(1.0, 0.0, 0.0), (0.6, 0.8, 0.0), (0.0, 1.0, 0.0)])


SKELETONS: tuple[Callable[[int], Model], ...] = (tree, loop, loose, rolling, flat)


# --- rows -----------------------------------------------------------------------------------------


def slanted(model: Model) -> None:
    """A point moves in a direction that turns with place and time."""
    at, c = model.place(), model.number()
    v, x = f"m.velocity({at!r})", f"m.position({at!r})"
    row = f"{v}[0] - {c} * ({x}[1] + mg.sin(m.time)) * {v}[1]"
    model("constrain", model.name("row"), velocity=Source(f"lambda m: {row}"))


def swift(model: Model) -> None:
    """A point whose speed is given: not linear in speeds."""
    at, c = model.place(), model.number(0.3, 2)
    v = f"m.velocity({at!r})"
    row = f"lambda m: mg.dot({v}, {v}) - {c}"
    model("constrain", model.name("swift"), velocity=Source(row))


def flat_blade(model: Model) -> None:
    at = (*model.vector()[:2], 0)
    model("marker", model.name("place"), model.pick(list(model.system.bodies)), at)
    model("knife_edge", model.name("blade"), list(model.system.markers)[-1], across=_flat(model))


ROWS = (bladed, bladed, slanted, swift)
FLAT_ROWS = (flat_blade,)


if __name__ == "__main__":
    print(system(int(sys.argv[1])).program)
