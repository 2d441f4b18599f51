"""``Unit``: a system placed inside of another, with a prefix to its names, its ground on a frame of
the outer system, and numbers of the outer system for its parameters, inputs and time.

Every element remembers what it was made with, so it can be said again with other places and
numbers. What also depends on where the inner world is, or asks the motion by name, sees it from
inside: ``subsystem_view.py``.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Set
from dataclasses import fields
from inspect import BoundArguments
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import named
from ..errors import ArgumentError, ModelError, blamed, shown, unknown
from ..numerics.tolerances import GIVEN
from ..tables.table import Table
from ..vectors import rotated, scalar, symbol
from .bodies import Body, Marker
from .constraints import Constraint, Expression
from .contact.compliant import ContactPoints
from .contact.rolling import KnifeEdge
from .described import Described, Record
from .description import Description
from .element import Element
from .forces import BodyTorque, Force, JointSpring, PointForce, Rotor
from .joint_friction import JointFriction, SmoothFriction
from .joint_limits import CompliantStop, RigidStop
from .joints import Joint
from .kinds import CONSTRAINTS, FORCES
from .subsystem_view import PlacedConstraint, PlacedForce, PlacedFunction, PlacedOutput

if TYPE_CHECKING:
    from .motion import Motion

# elements that speak of places, joints and numbers alone, and say the same wherever ground is
RELOCATABLE = {
    *FORCES.values(), *CONSTRAINTS.values(), ContactPoints, JointSpring, Rotor,
    RigidStop, CompliantStop, JointFriction, SmoothFriction,
} - {PointForce, BodyTorque, Expression, KnifeEdge}  # fmt: skip


class Unit(Described):
    """A system that is part of another: ``unit["arm"]`` is what it calls ``arm``, out there.

    ``bodies``, ``markers``, ``joints``, ``elements`` (forces and constraints) and ``outputs`` go by
    inner names and are those of the outer system; ``symbols`` are the outer expressions for inner
    parameters and inputs; ``ground`` is the frame that the inner ground has become.
    """

    def __init__(
        self, prefix: str, inside: Description, ground: Marker, symbols: Mapping[str, SX], time: SX
    ) -> None:
        self.prefix, self.inside, self.ground = prefix, inside, ground
        known = {**inside.parameters, **inside.inputs}  # switches of elements have no outer number
        switches = {name: symbol(self.outer_name(name)) for name in known if name not in symbols}
        self.symbols: Mapping[str, SX] = Record({**symbols, **switches})
        self._inner = ca.vertcat(inside.time, *(known[name] for name in self.symbols))
        self._outer = ca.vertcat(time, *self.symbols.values())
        self._own = {each.__hash__() for each in ca.symvar(self._inner)}
        self.bodies: Mapping[str, Body] = self._each(inside.bodies, "body", self._relocate)
        self.markers: Mapping[str, Marker] = {}
        self.markers = self._each(inside.markers, "marker", self.marker)
        self.joints: Mapping[str, Joint] = {}
        self.joints = self._each(inside.joints, "joint", self.joint)
        come_along = {
            part.name
            for element in inside.elements
            if is_relocatable(element)
            for part in element.parts()
        }
        own = {e.name: e for e in inside.elements if e.name not in come_along}
        self.elements: Mapping[str, Force | Constraint] = self._each(own, "", self._element)
        self.outputs: Mapping[str, Callable[[Motion], Any]] = Record(
            {name: PlacedOutput(value, self) for name, value in inside.outputs.items()}
        )

    def _each(self, elements: Mapping[str, Any], kind: str, make: Callable[[Any], Any]) -> Any:
        """Elements as they read outside; what stands in the way is told with the inner name."""
        made = {}
        for name, element in elements.items():
            called = f"{kind} {name!r}" if kind else element.called
            with blamed(f"{called} of {self.inside.name!r}"):
                made[name] = make(element)
        return Record(made)

    # --- names ------------------------------------------------------------------------------------

    @property
    def name(self) -> str:
        """What it is called in the outer system."""
        return self.prefix.removesuffix(".")

    def outer_name(self, name: str) -> str:
        """What the outer system calls something of an inner name."""
        return f"{self.prefix}{name}"

    @property
    def _known(self) -> dict[str, Any]:
        """Elements by inner name; a body before a joint of the same name."""
        ground = {"ground": self.ground}
        places, edges = {**ground, **self.bodies, **self.markers}, self.joints
        return {**self.elements, **edges, **places}

    def __getitem__(self, name: str) -> Any:
        known = self._known
        if name not in known:
            raise ModelError(f"place {self.name!r}: {unknown('element', name, known)}")
        return known[name]

    # --- places -----------------------------------------------------------------------------------

    def place(self, place: Body | Marker | str) -> Body | Marker:
        """An inner body or marker, itself or by name, as one of the outer system."""
        if isinstance(place, str):
            known = self.inside.places
            if place not in known:
                raise ModelError(unknown("body or marker", place, known))
            place = known[place]
        if isinstance(place, Marker):
            return self.marker(place)
        if place is self.inside.ground:
            return self.ground
        if not isinstance(place, Body) or self.inside.bodies.get(place.name) is not place:
            name = getattr(place, "name", place)
            raise ModelError(
                f"body {name!r} is not one of {self.inside.name!r}; what joins it to others is "
                "said to the outer system, after it is placed"
            )
        return self.bodies[place.name]

    def marker(self, marker: Marker) -> Marker:
        """An inner marker as one of the outer system."""
        known = self.inside.markers.get(marker.name) is marker
        if known and marker.name in self.markers:
            return self.markers[marker.name]
        if marker._given["on"] is self.inside.ground and marker.name == "ground":
            return self.ground
        given = marker._given
        at, orientation = self.translate(given["at"]), self.translate(given["orientation"])
        return Marker(self.outer_name(marker.name), self.place(given["on"]), at, orientation)

    def joint(self, joint: Joint) -> Joint:
        """An inner joint (or the chain of a constraint) as one of the outer system."""
        if self.inside.joints.get(joint.name) is joint and joint.name in self.joints:
            return self.joints[joint.name]
        made: Joint = self._relocate(joint)
        return made

    # --- elements ---------------------------------------------------------------------------------

    def _element(self, element: Element) -> Element:
        if is_relocatable(element):
            for marker in element.places():
                self.place(marker)  # or refuse
            made: Element = self._relocate(element, set(element.joints()))
            return made
        kind = PlacedConstraint if isinstance(element, Constraint) else PlacedForce
        placed: Element = kind(self.outer_name(element.name), element, self)
        return placed

    def _relocate(self, element: Any, names: Set[str] = frozenset()) -> Any:
        """An element that says the same with outer places and numbers, under its outer name."""
        given = {key: self.translate(value, names) for key, value in element._given.items()}
        return _make(type(element), given | {"name": self.outer_name(element.name)})

    def translate(self, value: Any, names: Set[str] = frozenset()) -> Any:
        """An argument of an element as it reads outside; ``names`` are those of joints."""
        if isinstance(value, str):
            return self.outer_name(value) if value in names else value
        if isinstance(value, SX):
            return self.number(value)
        if isinstance(value, (Body, Marker)):
            return self.place(value)
        if isinstance(value, Joint):
            return self.joint(value)
        if isinstance(value, Described):
            return self._translate_part(value, names)
        if isinstance(value, Mapping):
            return {
                self.translate(key, names): self.translate(item, names)
                for key, item in value.items()
            }
        if isinstance(value, (list, tuple)) or _holds_objects(value):
            return _rebuild(value, [self.translate(item, names) for item in value])
        return PlacedFunction(value, self) if _is_function(value) else value

    def _translate_part(self, value: Described, names: Set[str]) -> Any:
        """What elements are made of: kinds of joints, transitions, surfaces, laws."""
        given = {key: self.translate(item, names) for key, item in value._given.items()}
        same = all(given[key] is item for key, item in value._given.items())
        return value if same else _make(type(value), given)

    # --- numbers ----------------------------------------------------------------------------------

    def number(self, value: SX) -> SX:
        """An expression of inner symbols in those of the outer system."""
        if value.is_constant():
            return value
        strange = [x.name() for x in ca.symvar(value) if x.__hash__() not in self._own]
        if strange:
            raise ModelError(
                f"uses {strange[0]!r}, which is not a symbol of {self.inside.name!r}; make it a "
                f"parameter there, and give it with parameters={{{strange[0]!r}: …}}"
            )
        return self._substitute(value)

    def result(self, value: Any) -> Any:
        """What a function of the inner system returned, with the outer numbers; it may hold symbols
        of the motion."""
        if isinstance(value, SX):
            return value if value.is_constant() else self._substitute(value)
        if isinstance(value, (list, tuple)) or _holds_objects(value):
            return _rebuild(value, [self.result(item) for item in value])
        return value

    def _substitute(self, value: SX) -> SX:
        return ca.substitute(value, self._inner, self._outer)

    def __repr__(self) -> str:
        return f"<Unit {self.name!r}: {self.inside.name!r} on {self.ground.body.name!r}>"


def is_relocatable(element: Element) -> bool:
    """True if an element speaks of places, joints and numbers alone."""
    return type(element) in RELOCATABLE and not callable(getattr(element, "value", None))


def _make(kind: type, given: Mapping[str, Any]) -> Any:
    """Another object of a class, made with these arguments."""
    bound = BoundArguments(kind.__signature__, dict(given))  # type: ignore[attr-defined]
    return kind(*bound.args, **bound.kwargs)


def _rebuild(value: Any, items: list[Any]) -> Any:
    """A list, tuple or array of other items; itself, if they are the same."""
    if all(new is old for new, old in zip(items, value, strict=True)):
        return value
    return tuple(items) if isinstance(value, tuple) else items


def _holds_objects(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.dtype == object


def _is_function(value: Any) -> bool:
    return callable(value) and not isinstance(value, (type, Table))


# --- what the outer system gives ------------------------------------------------------------------


def outer_numbers(
    outer: Description, inside: Any, parameters: Any, inputs: Any
) -> dict[str, SX | float | None]:
    """For each parameter and input of a system that is placed: an expression of the outer system,
    or the value of a parameter there; None for an input there."""
    if not isinstance(inside, Description):
        raise ModelError(f"expected a System to be placed, got {shown(inside)}")
    refuse_unknown(inside)
    if _shares_symbols(outer, inside):
        raise ModelError(
            f"{inside.name!r} cannot be placed inside of itself, or of a copy of itself; describe "
            "it anew, by a function that returns the System"
        )
    own = {name for element in inside.elements for name in element.parameters()}
    known = [name for name in inside.parameters if name not in own]
    given = _given("parameter", parameters, known), _given("input", inputs, inside.inputs)
    values: dict[str, Any] = {name: inside.defaults[name] for name in known}
    for name, value in given[0].items():
        number = _expression(outer, f"parameter {name!r}", value)
        values[name] = float(number) if number.is_constant() else number
    for name in inside.inputs:
        values[name] = None
    for name, value in given[1].items():
        values[name] = _expression(outer, f"input {name!r}", value)
    return values


# what a description consists of that can be said again; its name and ground are the outer ones
KNOWN = (
    "name", "gravity", "time", "ground", "bodies", "markers", "joints", "forces", "constraints",
    "parameters", "defaults", "inputs", "outputs", "units", "plane", "derived", "visuals",
)  # fmt: skip


def refuse_unknown(inside: Description) -> None:
    """Nothing that was said may get lost on the way."""
    for said in fields(inside):
        if said.name not in KNOWN and getattr(inside, said.name):
            raise ModelError(
                f"{inside.name!r} has {said.name}, which a unit cannot have yet; say it to the "
                "outer system"
            )


def _given(kind: str, values: Any, known: Iterable[str]) -> dict[str, Any]:
    try:
        given = named(f"{kind}s", values)
    except ArgumentError as error:
        raise ModelError(str(error)) from None
    wrong = [name for name in given if name not in known]
    if wrong:
        raise ModelError(unknown(kind, name, known) for name in wrong)
    return given


def _expression(outer: Description, what: str, value: Any) -> SX:
    if callable(value):
        raise ModelError(
            f"{what} must be a number or an expression of {outer.name!r}, got a function; a force "
            "that depends on the motion is said to the outer system, by the names that it has there"
        )
    number = scalar(value, what)
    symbols = outer.time, *outer.parameters.values(), *outer.inputs.values()
    own = {each.__hash__() for each in symbols}
    for used in ca.symvar(number):
        if used.__hash__() not in own:
            raise ModelError(f"{what} uses {used.name()!r}, which is no symbol of {outer.name!r}")
    return number


def _shares_symbols(outer: Description, inside: Description) -> bool:
    """True if a system is the other one, or has it inside, however deep."""
    if ca.is_equal(outer.time, inside.time):
        return True
    return any(_shares_symbols(outer, unit.inside) for unit in inside.units.values())


def warn_of_gravity(outer: Description, unit: Unit) -> None:
    """Warn of a gravity that does not count: that of the outer system does."""
    wanted = unit.number(unit.inside.gravity)
    if wanted.is_zero() or ca.is_equal(wanted, outer.gravity, 100):
        return
    turned = rotated(unit.ground.rotation, wanted)
    own, *numbers = (outer.default_value(each) for each in (outer.gravity, wanted, turned))
    near = GIVEN * np.linalg.norm(own)
    same = any(np.linalg.norm(own - each) <= near for each in numbers)
    if not wanted.is_constant() or not same:
        said = ", ".join(f"{x:g}" for x in numbers[0].ravel())
        told = ", ".join(f"{x:g}" for x in own.ravel())
        warnings.warn(
            f"place {unit.name!r}: gravity of {unit.inside.name!r}, ({said}), does not count; it "
            f"is that of {outer.name!r}, ({told}), everywhere",
            stacklevel=4,
        )
