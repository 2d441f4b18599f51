"""``describe``: a system as text, the way it was understood.

The Grübler count is 6·bodies − Σ (6 − freedoms of each joint) − further constraint rows; the
numerical mobility is the number of speeds minus the rank of A at an assembled configuration. Where
the two differ, rows are redundant, and they are named.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..equations import Equations, derive
from ..errors import AssemblyError
from ..model.description import Description
from ..model.joints import Joint
from ..model.kinds import JOINTS
from ..model.system import System
from ..model.transitions import Ball, Transition
from ..motion.constraint_rows import constraint_rows
from ..motion.topology import Topology
from ..studies.agreement import states_near

WIDTH = 118
MATRIX_LIMIT = 12  # bodies; incidence matrices of larger systems are not printed
NAMES_LIMIT = 24  # names of one kind that are written out
GENERIC_STATES = 3
INCIDENCE = (
    "Incidence S (bodies × joints of the tree) and S⁻¹ (joints × bodies: the paths from ground)"
)


def describe(system: System | Description, guess: Mapping[str, Any] | None = None) -> str:
    """Bodies, tree, cut joints, loops, incidence, coordinates, what acts on them, and mobility.

    ``guess`` is where assembly begins, as in ``assemble``.
    """
    system = system.snapshot() if isinstance(system, System) else system
    equations = derive(system)
    tree = system.topology()
    parts = [
        _heading(system),
        _section("Bodies", _bodies(system)),
        _section("Units", _units(system)),
        _section("Tree", _tree(tree)),
        _section("Loops", _loops(tree)),
        _section(INCIDENCE, _incidence(tree)),
        _section("Variables", _variables(equations)),
        _section("Forces", _forces(system)),
        _section("Constraints", _constraints(equations)),
        _section("Mobility", _mobility(equations, guess)),
    ]
    return "\n\n".join(part for part in parts if part)


def _section(title: str, lines: Iterable[str]) -> str:
    listed = [_wrapped(f"  {line}".rstrip()) for line in lines]
    return "\n".join([title, *listed]) if listed else ""


def _wrapped(line: str) -> str:
    if len(line) <= WIDTH:
        return line
    parts = textwrap.wrap(
        line, WIDTH, subsequent_indent=" " * 15, break_on_hyphens=False, drop_whitespace=False
    )
    return "\n".join(part.rstrip() for part in parts)


def _heading(system: Description) -> str:
    bodies = _counted(len(system.bodies), "body", "bodies")
    plane = f", in the plane {system.plane}" if system.plane else ""
    return f"{system.name}: {bodies}, {_counted(len(system.joints), 'joint', 'joints')}{plane}"


# --- the graph ------------------------------------------------------------------------------------


def _bodies(system: Description) -> Iterator[str]:
    width = max((len(name) for name in system.bodies), default=0)
    for name, body in system.bodies.items():
        mass = "a frame, no mass" if body.weightless else f"{_value(system, body.mass)} kg"
        carried = [marker.name for marker in system.markers.values() if marker.body is body]
        yield f"{name:<{width}}  {mass}{_listed('  markers: ', carried)}"


def _units(system: Description) -> Iterator[str]:
    width = max((len(name) for name in system.units), default=0)
    for name, unit in system.units.items():
        yield f"{name:<{width}}  {unit.inside.name!r} placed on {unit.ground.body.name!r}"


def _tree(tree: Topology) -> Iterator[str]:
    yield "ground"
    yield from _branches(tree, "ground", "")


def _branches(tree: Topology, inboard: str, indent: str) -> Iterator[str]:
    arcs = [arc for arc in tree.arcs if arc.inboard == inboard]
    for k, arc in enumerate(arcs):
        last = k == len(arcs) - 1
        branch = "└─" if last else "├─"
        how = kind_of(arc.joint) + (", against its direction" if arc.reversed else "")
        yield f"{indent}{branch} {arc.outboard}   by {arc.joint.name!r} ({how})"
        yield from _branches(tree, arc.outboard, indent + ("   " if last else "│  "))


def kind_of(joint: Joint) -> str:
    """The short name of a joint's kind; a chain by its transitions."""
    short = {kind: name for name, kind in JOINTS.items()}.get(type(joint.kind))
    return short or " · ".join(_step(step) for step in joint.transitions) or "nothing"


def _step(step: Transition) -> str:
    word = type(step).__name__.lower()
    if isinstance(step, Ball):
        return word
    if isinstance(step.amount, str):
        return f"{word} {step.amount}"
    return f"{word} by {_short(step.amount)}"


def _loops(tree: Topology) -> Iterator[str]:
    for joint, loop in zip(tree.cut, tree.loops, strict=True):
        parent, child = joint.parent.body.name, joint.child.body.name
        yield f"{joint.name!r} ({kind_of(joint)}) is cut; it joins {parent!r} to {child!r}"
        yield f"   around: {' → '.join(loop)}"


def _incidence(tree: Topology) -> Iterator[str]:
    n = len(tree.bodies)
    if n > MATRIX_LIMIT:
        yield f"{n} by {n}; see system.topology().incidence and .paths"
    elif n > 1:
        width = max(len(body) for body in tree.bodies)
        for body, row, inverse in zip(tree.bodies, tree.incidence, tree.paths, strict=True):
            yield f"{body:<{width}}  {_signs(row)}    {_signs(inverse)}"


def _signs(row: np.ndarray) -> str:
    return " ".join(f"{entry:2d}" if entry else " ·" for entry in row)


# --- variables, forces and constraints ------------------------------------------------------------


def _variables(equations: Equations) -> Iterator[str]:
    system = equations.system
    gravity = [_value(system, g) for g in ca.vertsplit(ca.densify(system.gravity))]
    yield f"gravity      ({', '.join(gravity)}) m/s²"
    yield f"coordinates  {_names(equations.coordinates)}"
    yield f"speeds       {_names(equations.speeds)}"
    for label, names in (("inputs", system.inputs), ("outputs", system.outputs)):
        if names:
            yield f"{label:<11}  {_names(list(names))}"
    if system.parameters:
        values = [f"{name} = {value:g}" for name, value in system.defaults.items()]
        yield f"parameters   {_names(values)}"


def _forces(system: Description) -> Iterator[str]:
    for name, force in system.forces.items():
        places = [*force.joints(), *(marker.name for marker in force.places())]
        yield f"{name} ({force.said_by}){_listed(' on ', places)}"


def _constraints(equations: Equations) -> Iterator[str]:
    """The rows of A, by the constraint that they come from."""
    switched = _switched(equations.system)
    for name, rows in _row_names(equations).items():
        own = [row.removeprefix(f"{name}: ") for row in rows]
        detail = "" if rows == [name] else f": {', '.join(own)}"
        state = f", {switched[name]}" if name in switched else ""
        yield f"{name} ({_counted(len(rows), 'row', 'rows')}{state}){detail}"


def _switched(system: Description) -> dict[str, str]:
    """What is switched by name, and why it holds nothing at first: contacts that are open, joints
    that do not stick."""
    return {name: law.idle for name, law in system.constraints.items() if law.switched}


def _row_names(equations: Equations) -> dict[str, list[str]]:
    """The names of the rows of each cut joint and constraint."""
    rows = constraint_rows(equations.terms.chart)
    names = {
        owner: [equations.constraints[k] for k in rows.rows_of(owner)] for owner in rows.indices
    }
    return {owner: own for owner, own in names.items() if own}


# --- mobility -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Mobility:
    """Freedoms by count and by rank: at the assembled reference configuration and at generic ones
    near to it."""

    gruebler: int
    formula: str
    reference: int
    generic: int
    redundant: tuple[str, ...]  # rows that depend on others at a generic configuration


def mobility(equations: Equations, guess: Mapping[str, Any] | None = None) -> Mobility:
    """Count and rank; raises ``AssemblyError`` if no configuration satisfies the constraints."""
    q, u = equations.assemble(guess=guess)
    found = [(equations.mobility(q, u), equations.redundant(q, u))]
    if equations.constraints:
        near = states_near(equations, q, GENERIC_STATES, np.random.default_rng(0), spread=0.2)
        states = zip(near.q, near.u, near.t, strict=True)
        found += [(equations.mobility(q, u, t), equations.redundant(q, u, t)) for q, u, t in states]
    generic, redundant = min(found, key=lambda pair: pair[0])
    count, formula = gruebler(equations)
    return Mobility(count, formula, found[0][0], generic, tuple(redundant))


def gruebler(equations: Equations) -> tuple[int, str]:
    """The count 6·bodies − Σ (6 − f) − further rows (3 in a plane), and how it was made up."""
    system = equations.system
    bodies, own = len(system.bodies), 6 if system.plane is None else 3
    lost = sum(own - len(joint.speeds) for joint in system.joints.values())
    uncounted = {joint.name for joint in equations.terms.chart.closed} | {*_switched(system)}
    owners = _row_names(equations).items()
    rows = sum(len(names) for owner, names in owners if owner not in uncounted)
    further = f" − {rows} (constraints)" if rows else ""
    return own * bodies - lost - rows, f"{own}·{bodies} − {lost} (joints){further}"


def _mobility(equations: Equations, guess: Mapping[str, Any] | None) -> Iterator[str]:
    count, formula = gruebler(equations)
    yield f"Grübler      {formula} = {count}"
    try:
        found = mobility(equations, guess)
    except AssemblyError as error:
        yield f"numerical    unknown, because assembly failed: {error}"
        return
    special = ""
    if found.reference != found.generic:
        special = f"; {found.reference} at the reference configuration, which is singular"
    yield f"numerical    {found.generic}{special}"
    if found.redundant:
        count, names = len(found.redundant), ", ".join(found.redundant)
        yield f"redundant    {count} of {len(equations.constraints)} rows: {names}"


# --- words and numbers ----------------------------------------------------------------------------


def _value(system: Description, expression: SX) -> str:
    """A number, or an expression of parameters with its default value."""
    number = f"{float(system.default_value(expression).item()):.6g}"
    return number if expression.is_constant() else f"{_short(expression)} = {number}"


def _short(expression: SX, limit: int = 28) -> str:
    text = str(expression)
    if text.startswith("("):  # CasADi prints every sum and product in brackets
        text = text[1:-1]
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def _names(names: Sequence[str]) -> str:
    more = f", … ({len(names)} in all)" if len(names) > NAMES_LIMIT else ""
    return (", ".join(names[:NAMES_LIMIT]) or "none") + more


def _counted(count: int, one: str, many: str) -> str:
    return f"{count} {one if count == 1 else many}"


def _listed(before: str, names: Sequence[str]) -> str:
    return before + ", ".join(names) if names else ""
