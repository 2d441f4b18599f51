"""Base of forces and constraints: the places and joints that they refer to, and how they act."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import casadi as ca
from casadi import SX

from .bodies import Marker
from .declarations import argument
from .described import Described
from .parameter_checks import Limit

if TYPE_CHECKING:
    from .contact.surfaces import Surface
    from .motion import Motion


@dataclass(frozen=True, eq=False)
class Wrench:
    """A force at the origin of ``marker`` and a torque, world components, acting on the marker's
    body."""

    marker: Marker
    force: SX
    torque: SX


@dataclass(frozen=True, eq=False)
class Effort:
    """Generalized forces conjugate to the speeds of ``joint``, one for each speed."""

    joint: str
    values: SX


Action = Wrench | Effort


def wrench_pair(
    m: Motion, a: Marker, b: Marker, force: SX, torque: SX | float = 0, at: SX | None = None
) -> list[Action]:
    """A force and a torque on ``b`` at a point of the world (its origin, if not given), and the
    opposite on ``a`` there."""
    point = m.position(b) if at is None else at
    moment = SX(torque) + SX.zeros(3)
    own = moment if at is None else moment + ca.cross(at - m.position(b), force)
    back = -moment - ca.cross(point - m.position(a), force)
    return [Wrench(a, -force, back), Wrench(b, force, own)]


Drawn = Literal["line", "spring", "nothing"]


class Element(Described):
    """A force or a constraint on the graph of bodies and joints. Nothing acts unless a subclass
    says so."""

    name: str = argument("str", "text")
    word: ClassVar[str] = ""  # that says it, see ``kinds.py``
    limits: Sequence[Limit] = ()  # of its numbers
    passive: bool = False  # True if its non-conservative actions only take energy (dampers)

    joint_option: str = ""  # option of a joint that it comes from: "limits", "friction", …
    switched: bool = False  # True if a simulation switches its rows on and off
    idle: str = ""  # what is said of rows that are switched where they hold nothing
    sticks: bool = False  # True if it is dry friction: it has no slope where it stands
    is_servo: bool = False  # True if its multiplier is the effort of a drive
    is_passable: bool = False  # True if what it holds apart may come out on the other side
    measures: Mapping[str, str] = {}  # methods that measure the motion, and the units of these
    drawn_as: Drawn = "line"  # between two places
    counts_turns: bool = False  # True if it is a force that asks for angles of its own, with turns

    @classmethod
    def kind(cls) -> str:
        """The name of such elements: the word that says them, or the name of their class."""
        return cls.word or cls.__name__

    @property
    def said_by(self) -> str:
        """The word that says it."""
        return self.kind()

    @property
    def called(self) -> str:
        """Its name in messages."""
        return f"{self.said_by} {self.name!r}"

    def joints(self) -> Sequence[str]:
        """Joints that it refers to by coordinate name (checked, and kept in the tree if possible);
        by default those of its declared arguments."""
        names = [
            *self._declared_values("coordinate"),
            *(each.name for each in self._declared_values("joint")),
        ]
        return [*names, *(name for each in self._declared_values("by name") for name in each)]

    def parameters(self) -> Mapping[str, SX]:
        """Parameters of its own, zero unless told otherwise."""
        return {}

    def places(self) -> Sequence[Marker]:
        """Markers that it refers to; by default those of its declared arguments."""
        return self._declared_values("place")

    def spans(self) -> Sequence[tuple[Marker, Marker]]:
        """Pairs of places between which it is drawn; by default its two places, if it has two."""
        places = self.places()
        return [(places[0], places[1])] if self.drawn_as != "nothing" and len(places) == 2 else []

    def measured(self, what: str, m: Motion) -> SX:
        """One of the quantities that it ``measures``."""
        value: SX = getattr(self, what)(m)
        return value

    def surfaces(self) -> Sequence[Surface]:
        """Surfaces that it holds apart or together."""
        return ()

    def pins(self) -> Sequence[tuple[Marker, SX]]:
        """Places that are hinged by it, and their axes there."""
        return ()

    def force_axis(self, m: Motion) -> SX | None:
        """The direction along which it has one force F and one torque M."""
        return None

    def row_unit(self, unit: Callable[[str], str]) -> str:
        """The unit of its row, from those of coordinates; its multiplier times the row is an
        energy."""
        return ""

    def coordinate_ends(self) -> tuple[str, Mapping[str, SX]] | None:
        """The coordinate that it stops, and where: "low", "high"."""
        return None

    def coupled(self) -> tuple[Mapping[str, SX], SX] | None:
        """Coefficients c and the constant, if it states Σ c q = constant."""
        return None

    def joint_properties(self) -> tuple[str, Mapping[str, Any]] | None:
        """The coordinate of the joint that it is built into, and what formats for robots say of it
        there: stiffness, damping, rest, armature, limits, friction."""
        return None

    def moving(self, m: Motion) -> SX:
        """At least one where it is known whether it sticks or slides."""
        return SX(1)

    def reserve(self, m: Motion) -> SX:
        """Depth by which it could be pressed in further before that is half of the way through."""
        return SX(0, 1)

    def parts(self) -> Sequence[Any]:
        """Elements that come along with it."""
        return ()

    def own_coordinates(self) -> Mapping[str, str]:
        """Coordinates that come along with it, each of a frame without mass: the names of both."""
        return {}

    def rotors(self) -> Sequence[tuple[str, SX]]:
        """Coordinates of joints with an inertia J that turns with each and with nothing else: it
        has the energy ½ J ẋ²."""
        return ()

    def acts_on(self, m: Motion) -> tuple[Marker, SX] | None:
        """Place of its force: the body of a marker, and the point of the world that it is reduced
        to. By default its last place."""
        places = self.places()
        return (places[-1], m.position(places[-1])) if places else None

    def potential(self, m: Motion) -> SX:
        """Energy of the conservative part."""
        return SX(0)

    def conservative(self, m: Motion) -> list[Action]:
        """Actions of the conservative part: minus the gradient of the potential."""
        return []

    def nonconservative(self, m: Motion) -> list[Action]:
        """All other actions."""
        return []
