"""Elements of a system that is placed inside of another: they see the motion as they always did.

What speaks of places, joints and numbers alone is said again, with others (``subsystem.py``). All
else, functions of the motion and classes of a user's own, stays as it is and sees the motion from
where it was written: inner names, and the inner ground, which may now be turned, or move, for the
world.
With G the frame that the inner ground has become,

    p' = Gᵀ(p − p_G),    v' = Gᵀ(v − v_G − ω_G × r),    ω' = Gᵀ(ω − ω_G),
    a' = Gᵀ(a − a_G − α_G × r − ω_G × (ω_G × r) − 2 ω_G × (v − v_G − ω_G × r)),
    α' = Gᵀ(α − α_G − ω_G × (ω − ω_G)),    r = p − p_G,

and forces in inner world components are turned back by G.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import casadi as ca
from casadi import SX

from ..errors import ModelError
from .bodies import Body, Marker
from .constraints import Constraint, Level
from .described import Described
from .element import Action, Effort, Element
from .element import Wrench as WrenchOn
from .forces import Force
from .joints import Joint, Rows
from .motion import Motion, Place

if TYPE_CHECKING:
    from .contact.surfaces import Surface
    from .subsystem import Unit


class Within(Motion):
    """The motion as seen from inside of a unit, by its own names; see the top of this file."""

    def __init__(self, outside: Motion, unit: Unit) -> None:
        self._m, self._unit, self._ground = outside, unit, unit.ground
        self.time = outside.time

    # --- bodies and markers -----------------------------------------------------------------------

    def position(self, place: Place, in_frame: Place | None = None) -> SX:
        return self._m.position(self._unit.place(place), self._frame(in_frame))

    def rotation(self, place: Place, in_frame: Place | None = None) -> SX:
        return self._m.rotation(self._unit.place(place), self._frame(in_frame))

    def angular_velocity(self, place: Place, in_frame: Place | None = None) -> SX:
        return self._turned(self._omega(self._unit.place(place)), in_frame)

    def velocity(self, place: Place, in_frame: Place | None = None) -> SX:
        return self._turned(self._velocity(self._unit.place(place)), in_frame)

    def acceleration(self, place: Place, in_frame: Place | None = None) -> SX:
        m, G, at = self._m, self._ground, self._unit.place(place)
        omega, arm = m.angular_velocity(G), m.position(at) - m.position(G)
        out = m.acceleration(at) - m.acceleration(G) - ca.cross(m.angular_acceleration(G), arm)
        out -= ca.cross(omega, ca.cross(omega, arm)) + 2 * ca.cross(omega, self._velocity(at))
        return self._turned(out, in_frame)

    def angular_acceleration(self, place: Place, in_frame: Place | None = None) -> SX:
        m, G, at = self._m, self._ground, self._unit.place(place)
        out = m.angular_acceleration(at) - m.angular_acceleration(G)
        out -= ca.cross(m.angular_velocity(G), self._omega(at))
        return self._turned(out, in_frame)

    # --- joints -----------------------------------------------------------------------------------

    def coordinate(self, name: str, near: Any = None) -> SX:
        return self._m.coordinate(self._unit.outer_name(name), near)

    def turned(self, name: str, angle: SX, rate: Callable[[], SX], near: Any = None) -> SX:
        return self._m.turned(self._unit.outer_name(name), angle, rate, near)

    def speed(self, name: str) -> SX:
        return self._m.speed(self._unit.outer_name(name))

    def relative(self, a: Place, b: Place) -> tuple[SX, SX]:
        return self._m.relative(self._unit.place(a), self._unit.place(b))

    def across(self, joint: Joint) -> tuple[SX, SX]:
        return self._m.across(self._unit.joint(joint))

    def chain_end(self, chain: Joint) -> SX:
        end = self._m.chain_end(self._unit.joint(chain))
        return self._m.rotation(self._ground).T @ (end - self._m.position(self._ground))

    def spot(self, place: Place) -> tuple[Any, SX]:
        return self._m.spot(self._unit.place(place))

    # --- inside -----------------------------------------------------------------------------------

    def _frame(self, frame: Place | None) -> Body | Marker:
        return self._ground if frame is None else self._unit.place(frame)

    def _turned(self, vector: SX, frame: Place | None) -> SX:
        return self._m.rotation(self._frame(frame)).T @ vector

    def _omega(self, at: Body | Marker) -> SX:
        return self._m.angular_velocity(at) - self._m.angular_velocity(self._ground)

    def _velocity(self, at: Body | Marker) -> SX:
        m, G = self._m, self._ground
        arm = m.position(at) - m.position(G)
        return m.velocity(at) - m.velocity(G) - ca.cross(m.angular_velocity(G), arm)


class PlacedFunction(Described):
    """A function of numbers that a unit was given (a law, a surface), with the outer numbers."""

    def __init__(self, function: Callable[..., Any], unit: Unit) -> None:
        self.function, self.unit = function, unit

    def __call__(self, *arguments: Any) -> Any:
        """Its value."""
        return self.unit.result(self.function(*arguments))


class PlacedOutput(PlacedFunction):
    """A function of the motion, as the unit sees it."""

    def __call__(self, m: Motion) -> Any:
        return self.unit.result(self.function(Within(m, self.unit)))


class PlacedElement(Element):
    """A force or constraint of a unit that is not said again: it acts as its author wrote it."""

    def __init__(self, name: str, element: Any, unit: Unit) -> None:
        if element.switched:
            raise ModelError(
                "a simulation switches its rows on and off, and only mg's own contacts of that "
                "kind can be placed; use rigid_contact"
            )
        self.name, self.element, self.unit = name, element, unit
        self.passive, self.drawn_as = element.passive, element.drawn_as
        self.sticks, self.is_servo = element.sticks, element.is_servo
        self.is_passable, self.measures = element.is_passable, element.measures
        self.counts_turns = element.counts_turns
        self.limits = [replace(each, value=unit.number(each.value)) for each in element.limits]

    @property
    def said_by(self) -> str:
        return str(self.element.said_by)

    def joints(self) -> Sequence[str]:
        return [self.unit.outer_name(name) for name in self.element.joints()]

    def parameters(self) -> Mapping[str, SX]:
        names = self.element.parameters()
        return {self.unit.outer_name(name): self.unit.symbols[name] for name in names}

    def places(self) -> Sequence[Marker]:
        return [self.unit.marker(marker) for marker in self.element.places()]

    def surfaces(self) -> Sequence[Surface]:
        return [self.unit.translate(surface) for surface in self.element.surfaces()]

    def pins(self) -> Sequence[tuple[Marker, SX]]:
        return [(self.unit.marker(at), self.unit.number(n)) for at, n in self.element.pins()]

    def force_axis(self, m: Motion) -> SX | None:
        axis = self.element.force_axis(Within(m, self.unit))
        return None if axis is None else m.rotation(self.unit.ground) @ self.unit.result(axis)

    def row_unit(self, unit: Callable[[str], str]) -> str:
        return str(self.element.row_unit(lambda name: unit(self.unit.outer_name(name))))

    def measured(self, what: str, m: Motion) -> SX:
        return SX(self.unit.result(self.element.measured(what, Within(m, self.unit))))

    def coordinate_ends(self) -> tuple[str, Mapping[str, SX]] | None:
        return self._named(self.element.coordinate_ends())

    def joint_properties(self) -> tuple[str, Mapping[str, Any]] | None:
        return self._named(self.element.joint_properties())

    def _named(self, found: tuple[str, Mapping[str, Any]] | None) -> Any:
        return (
            None
            if found is None
            else (self.unit.outer_name(found[0]), self.unit.translate(found[1]))
        )

    def coupled(self) -> tuple[Mapping[str, SX], SX] | None:
        found = self.element.coupled()
        if found is None:
            return None
        terms = {self.unit.outer_name(name): self.unit.number(c) for name, c in found[0].items()}
        return terms, self.unit.number(found[1])

    def own_coordinates(self) -> Mapping[str, str]:
        given = self.element.own_coordinates()
        return {
            self.unit.outer_name(name): self.unit.outer_name(frame) for name, frame in given.items()
        }

    def moving(self, m: Motion) -> SX:
        return SX(self.unit.result(self.element.moving(Within(m, self.unit))))

    def reserve(self, m: Motion) -> SX:
        return SX(self.unit.result(self.element.reserve(Within(m, self.unit))))

    def rotors(self) -> Sequence[tuple[str, SX]]:
        number = self.unit.number
        return [(self.unit.outer_name(name), number(J)) for name, J in self.element.rotors()]

    def acts_on(self, m: Motion) -> tuple[Marker, SX] | None:
        found = self.element.acts_on(Within(m, self.unit))
        if found is None:
            return None
        marker, point = found
        G = self.unit.ground
        world = m.position(G) + m.rotation(G) @ self.unit.result(point)
        return self.unit.marker(marker), world

    def potential(self, m: Motion) -> SX:
        return SX(self.unit.result(self.element.potential(Within(m, self.unit))))

    def conservative(self, m: Motion) -> list[Action]:
        return self._outside(m, self.element.conservative(Within(m, self.unit)))

    def nonconservative(self, m: Motion) -> list[Action]:
        return self._outside(m, self.element.nonconservative(Within(m, self.unit)))

    def _outside(self, m: Motion, actions: Any) -> Any:
        """Actions on the outer system; what is none is told where actions are read."""
        if not isinstance(actions, (list, tuple)):
            return actions
        return [self._action(m, action) for action in actions]

    def _action(self, m: Motion, action: Any) -> Any:
        unit = self.unit
        if isinstance(action, Effort):
            return Effort(unit.outer_name(action.joint), unit.result(action.values))
        if not isinstance(action, WrenchOn):
            return action
        R = m.rotation(unit.ground)
        force, torque = unit.result(action.force), unit.result(action.torque)
        return WrenchOn(unit.marker(action.marker), R @ force, R @ torque)


class PlacedForce(PlacedElement, Force):
    """A force of a unit, as its author wrote it."""


class PlacedConstraint(PlacedElement, Constraint):
    """A constraint of a unit, as its author wrote it."""

    def rows(self, m: Motion, level: Level) -> Rows:
        return cast(Rows, self.unit.result(self.element.rows(Within(m, self.unit), level)))

    def friction_actions(self, m: Motion, multipliers: SX) -> list[Action]:
        inside = Within(m, self.unit)
        acting: list[Action] = self._outside(m, self.element.friction_actions(inside, multipliers))
        return acting

    def loaded_by(self) -> Sequence[str]:
        return [self.unit.outer_name(name) for name in self.element.loaded_by()]

    def chains(self) -> Sequence[Joint]:
        return [self.unit.joint(chain) for chain in self.element.chains()]

    def initial_points(self, m: Motion) -> Sequence[SX | None]:
        return list(self.unit.result(self.element.initial_points(Within(m, self.unit))))

    def orientation_sign(self, m: Motion) -> Sequence[SX]:
        return list(self.unit.result(self.element.orientation_sign(Within(m, self.unit))))
