"""A table of what works with what, found by trying it: ``python docs/support.py`` prints
the page ``docs/support.md``.

Every cell is the outcome of a small model that is built, derived and evaluated here; nothing is
written down by hand, so a new joint, force, constraint, formalism or closure appears by being
listed. A formalism that computes is also compared with the reference, by ``agreement``; one that
disagrees is an error and not a cell.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from mechgraph.closures.closure import CLOSURES
from mechgraph.equations import Equations
from mechgraph.errors import ModelError, UnsupportedError
from mechgraph.formalisms import DEFAULT, FORMALISMS, formalism_of
from mechgraph.model.kinds import CONSTRAINTS, FORCES, JOINTS
from mechgraph.model.system import System
from mechgraph.model.transitions import move, rot
from mechgraph.runtime.stepper import METHODS
from mechgraph.studies.agreement import Row, agreement
from mechgraph.studies.simulation.events import Event
from mechgraph.studies.simulation.simulate import STABILIZATIONS

YES, NO = "yes", "–"
CHAIN = "joint"  # the general chain of transitions, which has no class of its own in JOINTS
NEEDED: dict[str, dict[str, Any]] = {"screw": {"pitch": 0.1}}  # arguments without a default
PLANE = "zx"  # where formalisms that need a plane are tried
IN_PLANE = {kind: {"axis": "y"} for kind in ("revolute", "planar", "pin_in_slot")}


def page() -> str:
    """The whole page."""
    parts = [_HEAD, *_joints(), *_closures(), *_studies(), *_methods(), *_elements()]
    return "\n\n".join(parts) + "\n"


_HEAD = """# What works with what

This page is printed by `python docs/support.py`, which tries every combination; a test \
compares the two. A dash
is an `UnsupportedError` that names what is supported."""


# --- joints and formalisms ------------------------------------------------------------------------


def _joints() -> list[str]:
    compared = {kind: (*_agreeing(_tree(kind)), *_flat(kind)) for kind in (*JOINTS, CHAIN)}
    forms = list(dict.fromkeys(row.formalism for rows in compared.values() for row in rows))
    rows = [
        [f"`{kind}`", *_counts(kind), *_cells(compared[kind], forms), _cut_cell(kind)]
        for kind in compared
    ]
    counts = ["coordinates", "speeds", "rows if cut"]
    head = ["joint", *counts, *map(_code, forms), "closes a loop"]
    text = "In space; `nodes` in a plane."
    return ["## Joints and formalisms", text, _table(head, rows)]


def _flat(kind: str) -> tuple[Row, ...]:
    """The rows of what needs a plane, if the joint moves in one."""
    try:
        rows = _agreeing(_tree(kind, PLANE), formalisms=["nodes", DEFAULT])
    except ModelError:
        return ()
    return tuple(row for row in rows if row.formalism == "nodes")


def _agreeing(system: System, **asked: Any) -> tuple[Row, ...]:
    found = agreement(system, states=1, **asked)
    if not found.ok:
        raise AssertionError(found.verdict)
    return found.rows


def _cells(rows: tuple[Row, ...], forms: list[str]) -> list[str]:
    """For each formalism whether it works."""
    working = {row.formalism for row in rows if not row.note}
    return [YES if name in working else NO for name in forms]


def _counts(kind: str) -> list[str]:
    equations = _cut(kind).equations()
    joint = equations.system.joints["joint"]
    return [str(len(joint.coordinates)), str(len(joint.speeds)), str(len(equations.constraints))]


def _cut_cell(kind: str) -> str:
    equations = _cut(kind).equations()
    return _cell(lambda: np.isfinite(equations.reaction("joint", *equations.assemble())).all())


def _tree(kind: str, plane: str | None = None) -> System:
    """Two bodies: one on a revolute, the other on the joint in question."""
    across = 0 if plane else 1
    system = System("tree", gravity=(1, 2 * across, -9), plane=plane)
    first = _block(system, "first", across)
    system.revolute("hinge", system.ground, first, axis="y")
    _join(system, kind, first, _block(system, "second", across), at=(0.1, 0.2 * across, 0.3))
    return system


def _cut(kind: str) -> System:
    """A body that hangs on a free joint and on the joint in question, which is cut."""
    system = System("loop", gravity=(1, 2, -9))
    body = _block(system, "body")
    system.free("carrier", system.ground, body)
    _join(system, kind, system.ground, body, cut=True)
    return system


def _block(system: System, name: str, across: float = 1) -> Any:
    return system.body(name, mass=2.0, com=(0.1, -0.2 * across, 0.3), inertia=(0.2, 0.3, 0.4))


def _join(system: System, kind: str, parent: Any, child: Any, **options: Any) -> None:
    if kind == CHAIN:
        about, along = ("y", "x") if system.plane else ("x", "y")
        steps = [rot(about, "alpha"), move(along, 0.1), move("z", "height")]
        system.joint("joint", parent, child, steps, **options)
    else:
        needed = NEEDED.get(kind, {}) | (IN_PLANE.get(kind, {}) if system.plane else {})
        getattr(system, kind)("joint", parent, child, **needed, **options)


# --- formalisms and closures ----------------------------------------------------------------------


def _closures() -> list[str]:
    guess = {"crank": 1.0, "coupler": 1.0}
    compared = [*_agreeing(_four_bar(), guess=guess), *_agreeing(_four_bar(PLANE), guess=guess)]
    working = {(row.formalism, row.closure) for row in compared if not row.note}
    rows = []
    for name in dict.fromkeys(row.formalism for row in compared):
        cells = [YES if (name, closure) in working else NO for closure in CLOSURES]
        rows.append([_code(name), formalism_of(name.split()[0]).coordinates, *cells])
    return [
        "## Formalisms and closures",
        "On a planar four-bar of spatial revolutes, three of whose five closing rows are "
        "redundant, and on the same in a plane, where none is. Formalisms in the same coordinates "
        "agree in $M$ and $f$, all of them in the "
        "accelerations of the bodies and in reactions that are unique.",
        _table(["formalism", "coordinates", *map(_code, CLOSURES)], rows),
    ]


def _four_bar(plane: str | None = None) -> System:
    system = System("four-bar", gravity=(0, 0, -9.8), plane=plane)
    A, B, C = (system.body(name, mass=2, com=(2, 0, 0), inertia=(0.1, 1, 1)) for name in "ABC")
    system.revolute("crank", system.ground, A, axis="y")
    system.revolute("coupler", A, B, axis="y", at=(4, 0, 0))
    system.revolute("rocker", system.ground, C, axis="y", at=(2, 0, 0))
    system.revolute("close", B, C, axis="y", at=(4, 0, 0), child_at=(4, 0, 0), cut=True)
    return system


# --- studies --------------------------------------------------------------------------------------


STUDIES: dict[str, Callable[[Equations, tuple[Any, ...]], Any]] = {
    "accelerations": lambda e, s: e.accelerations(*s),
    "multipliers": lambda e, s: e.multipliers(*s),
    "reactions": lambda e, s: e.reaction("crank", *s),
    "initial assembly": lambda e, s: e.assemble({"crank": 1.0}, guess={"coupler": 1.0}),
    "simulation": lambda e, s: e.simulate(0.01, s, step=0.01).energy,
    "events": lambda e, s: e.simulate(
        0.01, s, step=0.01, events={"top": Event(lambda m: m.coordinate("crank"), stop=False)}
    ),
    "equilibria": lambda e, s: e.equilibrium({"crank": 1.5}),
    "linear models": lambda e, s: e.linearize(s),
    "inverse dynamics": lambda e, s: e.inverse_dynamics(
        s[0], s[1], e.accelerations(*s), drives=["crank'"]
    ),
    "exact derivatives": lambda e, s: e.jacobian("accelerations", "q", *s),
    "rollouts": lambda e, s: e.rollout(s[0][None], s[1][None], step=0.01, steps=1),
    "text and LaTeX": lambda e, s: (e.show(), e.latex()),
    "C export": lambda e, s: _export(e),
}


def _export(equations: Equations) -> None:
    with TemporaryDirectory() as folder:
        equations.export_c(Path(folder) / "model")


def _studies() -> list[str]:
    own = [name for name in FORMALISMS if formalism_of(name).coordinates != "joint"]
    tree = _chain().equations()
    pairs = [(tree, tree.assemble())]
    for formalism in (DEFAULT, *own):
        loop = _four_bar(PLANE if formalism == "nodes" else None).equations(formalism)
        pairs.append((loop, loop.assemble({"crank": 1.0}, guess={"coupler": 1.0})))
    rows = [
        [name, *(_cell(partial(study, e, s)) for e, s in pairs)] for name, study in STUDIES.items()
    ]
    return [
        "## Studies",
        "They use `Equations` alone, so formalism and closure do not matter. Without a C compiler "
        "rollouts are interpreted.",
        _table(["study", "trees", "with constraints", *map(_code, own)], rows),
    ]


def _chain() -> System:
    system = System("chain", gravity=(0, 0, -9.8))
    first, second = _block(system, "first"), _block(system, "second")
    system.revolute("crank", system.ground, first, axis="y")
    system.revolute("coupler", first, second, axis="y", at=(1, 0, 0))
    return system


def _methods() -> list[str]:
    rows = [
        [_code(name), _method_cell(name, 0.0), _method_cell(name, lambda t: 0.0)]
        for name in METHODS
    ]
    head = ["method", "inputs as numbers and expressions of time", "inputs as Python functions"]
    stabilizations = ", ".join(map(_code, STABILIZATIONS))
    return [
        "### Integrators",
        f"By `method=`. Constraints are kept by `stabilization=` {stabilizations}. If "
        "none is given, it is `rk8`, and `radau` where the motion is stiff. `dop853` is another "
        "name of `rk8` that does not wait for machine code.",
        _table(head, rows),
    ]


def _method_cell(method: str, signal: Any) -> str:
    system = System("driven")
    body = _block(system, "body")
    system.revolute("crank", system.ground, body, axis="y")
    system.torque("motor", "crank", system.input("w"))
    return _cell(
        lambda: system.equations().simulate(0.01, step=0.01, method=method, inputs={"w": signal})
    )


# --- forces and constraints -----------------------------------------------------------------------


def _elements() -> list[str]:
    head = ["", "what it is"]
    return [
        "## Forces",
        "Besides gravity, and `stiffness`, `damping`, `rest` of every joint with scalar "
        "coordinates.",
        _table(head, _described(FORCES)),
        "## Constraints",
        "Besides the joints that close loops.",
        _table(head, _described(CONSTRAINTS)),
    ]


def _described(kinds: dict[str, Any]) -> list[list[str]]:
    """The first paragraph of each kind's docstring."""
    rows = []
    for name, kind in kinds.items():
        paragraph = str(kind.__doc__).partition("\n\n")[0]
        rows.append([_code(name), " ".join(paragraph.split()).replace("``", "`")])
    return rows


# --- the page -------------------------------------------------------------------------------------


def _code(name: str) -> str:
    return f"`{name}`"


def _cell(attempt: Callable[[], Any]) -> str:
    """Whether an attempt is supported."""
    try:
        attempt()
    except UnsupportedError:
        return NO
    return YES


def _table(head: list[str], rows: Iterable[list[str]]) -> str:
    escaped = [[cell.replace("|", "\\|") for cell in row] for row in rows]
    lines = [head, ["---"] * len(head), *escaped]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(page(), end="")
