"""Everything that can be wrong with a description, found before any mechanics, all at once."""

from __future__ import annotations

from collections.abc import Iterator

import casadi as ca
import networkx as nx
import numpy as np
from casadi import SX

from ..errors import unknown
from .description import Description
from .element import Element
from .parameter_checks import ParameterChecks, mass_problems
from .planar import planar_problems


def problems(system: Description) -> Iterator[str]:
    """The problems of a system, each a sentence that names the culprit and the fix."""
    yield from _body_problems(system)
    for name, marker in system.markers.items():
        if _depends_on_time(system, marker.at, marker.rotation):
            yield (
                f"marker {name!r}: its place must not depend on time; put it on a body with a "
                "driven joint"
            )
    yield from _symbol_problems(system)
    yield from _axis_problems(system)
    yield from _name_problems(system)
    for element in system.elements:
        yield from _reference_problems(system, element)
    yield from ParameterChecks(system).problems(np.array(list(system.defaults.values())))
    yield from planar_problems(system)
    yield from _connection_problems(system)


def _body_problems(system: Description) -> Iterator[str]:
    known = []
    for body in system.bodies.values():
        if _depends_on_time(system, body.mass, body.com, body.inertia):
            yield f"body {body.name!r}: mass, com and inertia must not depend on time"
        elif not body.weightless and body.mass.is_constant() and body.inertia.is_constant():
            known.append(body)
    columns = (ca.vertcat(body.mass, ca.vec(body.inertia)) for body in known)
    for body, numbers in zip(
        known, system.default_value(ca.horzcat(SX(10, 0), *columns)).T, strict=True
    ):
        for problem in mass_problems(numbers, body.allow_unphysical):
            yield f"body {body.name!r}: {problem}"


def _depends_on_time(system: Description, *expressions: SX) -> bool:
    return any(not x.is_constant() and ca.depends_on(x, system.time) for x in expressions)


def _own_symbols(system: Description) -> set[int]:
    return {symbol.__hash__() for symbol in (system.time, *system.parameters.values())}


def _foreign(own: set[int], *expressions: SX) -> list[str]:
    """Names of the symbols of expressions that are not the system's own."""
    symbols = (symbol for x in expressions if not x.is_constant() for symbol in ca.symvar(x))
    return [symbol.name() for symbol in symbols if symbol.__hash__() not in own]


def _symbol_problems(system: Description) -> Iterator[str]:
    own = _own_symbols(system)
    for what, expressions in _numbers(system):
        for symbol in _foreign(own, *expressions):
            if symbol in system.inputs:
                yield (
                    f"{what}: uses the input {symbol!r}; an input has no known rate, so it may act "
                    "in forces only"
                )
            else:
                yield (
                    f"{what}: uses {symbol!r}, which is not a parameter or the time of this system"
                )


def _numbers(system: Description) -> Iterator[tuple[str, list[SX]]]:
    """Every number of the graph; those of forces and constraints are seen when they are derived."""
    yield "gravity", [system.gravity]
    for body in system.bodies.values():
        yield f"body {body.name!r}", [body.mass, body.com, body.inertia]
    for name, marker in system.markers.items():
        yield f"marker {name!r}", [marker.at, marker.rotation]
    for joint in system.joints.values():
        for frame in (joint.parent, joint.child):
            yield f"joint {joint.name!r}", [frame.at, frame.rotation]
        for step in joint.transitions:
            amount = [] if isinstance(step.amount, str) else [step.amount]
            yield f"joint {joint.name!r}", [*amount, step.constants]


def _axis_problems(system: Description) -> Iterator[str]:
    for name, joint in system.joints.items():
        if any(_depends_on_time(system, step.constants) for step in joint.transitions):
            yield (
                f"joint {name!r}: its axis (or pitch) must not depend on time; turn the joint's "
                "frame by orientation="
            )


def _name_problems(system: Description) -> Iterator[str]:
    """Results go by name, so names of coordinates and speeds must not be those of something
    else."""
    stores = (
        system.bodies,
        system.markers,
        system.forces,
        system.constraints,
        system.parameters,
        system.inputs,
        system.outputs,
        system.speeds,
    )
    taken = {"ground", *system.joints, *(name for store in stores for name in store)}
    for joint in system.joints.values():
        own = [name for name in (*joint.coordinates, *joint.speeds) if name != joint.name]
        for name in own:
            if name in taken:
                yield (
                    f"joint {joint.name!r}: its variable {name!r} has the name of another element; "
                    "rename one of them"
                )
        taken.update(own)
    for word, store in (("joint", system.joints), ("body", system.bodies)):
        for name in sorted(taken & {f"{word} {each}" for each in store} - {*system.forces}):
            yield f"{name!r} tells a joint from a body of that name; rename what is called so"


def _reference_problems(system: Description, element: Element) -> Iterator[str]:
    for name in element.joints():
        known = dict.fromkeys((*system.joints, *system.joint_names))
        if name not in known:
            problem = unknown("joint or coordinate", name, known)
            yield f"{element.called}: {problem}"
    for marker in element.places():
        if not system.owns(marker.body):
            yield f"{element.called}: body {marker.body.name!r} belongs to another system"


def find_unreached(system: Description) -> list[str]:
    """Bodies to which no path of joints leads from ground."""
    graph = nx.Graph()
    graph.add_nodes_from(["ground", *system.bodies])
    graph.add_edges_from((j.parent.body.name, j.child.body.name) for j in system.joints.values())
    reached = nx.node_connected_component(graph, "ground")
    return [name for name in system.bodies if name not in reached]


def _connection_problems(system: Description) -> Iterator[str]:
    loose = find_unreached(system)
    if loose:
        names = ", ".join(repr(name) for name in loose)
        yield (
            f"no path of joints from ground to {names}; join them, with free() if nothing holds "
            "them"
        )
    if not system.bodies:
        yield "the system has no bodies; add one with body()"
