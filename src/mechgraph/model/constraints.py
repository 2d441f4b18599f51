"""Constraints beyond joints, and the closing of cut joints.

A constraint is a small class that, given the motion ``m``, states its rows, each of which is to
stay zero: ``position`` φ(q, t), ``velocity`` ψ(q, u, t) (linear in the speeds or not),
``acceleration``. Derivatives, action and reaction follow from the rows; see ``constrained.py``.

To add a constraint, write such a class in a new file and list it in ``model/kinds.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca
import numpy as np
from casadi import SX

from ..errors import ModelError
from ..vectors import scalar
from .bodies import Marker, Place, marker_on
from .element import Action, Element
from .fields import ByName, MotionFunction, Number
from .joints import Coordinate, Joint, Rows, coordinate_name
from .parameter_checks import Limit

if TYPE_CHECKING:
    from ..motion.motion import Motion

Level = Literal["position", "velocity", "acceleration"]


LEVELS: tuple[Level, ...] = ("position", "velocity", "acceleration")


class Constraint(Element):
    """Rows that stay zero, each a (label, expression) of the motion, at any of three levels.

    Its multipliers are the efforts that keep them so, and come by themselves: those of the position
    rows, then those of the velocity rows, then those of the acceleration rows.
    """

    def position(self, m: Motion) -> Rows:
        """Rows φ(q, t)."""
        return []

    def velocity(self, m: Motion) -> Rows:
        """Rows ψ(q, u, t), linear in the speeds or not."""
        return []

    def acceleration(self, m: Motion) -> Rows:
        """Rows that are linear in the accelerations."""
        return []

    def friction_actions(self, m: Motion, multipliers: SX) -> list[Action]:
        """Actions in proportion to its own multipliers, beside those that keep the rows: sliding
        friction, linear in them or not, such as μ √(λ₁² + λ₂²)."""
        return []

    def loaded_by(self) -> Sequence[str]:
        """Joints whose multipliers its friction grows with; they come behind its own, and the
        joints must be closed by constraints."""
        return ()

    def chains(self) -> Sequence[Joint]:
        """Points that wander on bodies, such as points of contact: chains without inertia, held by
        the rows alone."""
        return ()

    def initial_points(self, m: Motion) -> Sequence[SX | None]:
        """For each chain, its coordinates where assembly looks for it first; None for zeros."""
        return [None] * len(self.chains())

    def orientation_sign(self, m: Motion) -> Sequence[SX]:
        """What is positive the right way round, where the rows also hold another way."""
        return ()

    def rows(self, m: Motion, level: Level) -> Rows:
        """The rows of one level."""
        return {
            "position": self.position,
            "velocity": self.velocity,
            "acceleration": self.acceleration,
        }[level](m)


class Distance(Constraint):
    """Two points stay at a distance l: (|r|² − l²) / 2l = 0.

    length: l, a number or a function of time.
    """

    def __init__(self, name: str, a: Place, b: Place, length: Number):
        self.name, self.a, self.b = name, marker_on(a), marker_on(b)
        self.length = scalar(length, "length")
        joined = "; to join two points use a spherical joint"
        self.limits = [Limit("length", self.length, hint=joined)]

    def places(self) -> Sequence[Marker]:
        return (self.a, self.b)

    def row_unit(self, unit: Callable[[str], str]) -> str:
        return "m"

    def position(self, m: Motion) -> Rows:
        gap = m.position(self.b) - m.position(self.a)
        return [("", (ca.dot(gap, gap) - self.length**2) / (2 * self.length))]


class Coupling(Constraint):
    """Σ c q = constant, for coordinates of joints: gears, belts, differentials.

    coefficients: by the names of the coordinates, {"j1": 1.0, "j2": -2.5}.
    """

    def __init__(self, name: str, coefficients: ByName, constant: Number = 0):
        self.name = name
        if not isinstance(coefficients, Mapping):
            raise ModelError(
                f"coefficients must be a mapping such as {{'j1': 1.0, 'j2': -2.5}}, got "
                f"{coefficients!r}"
            )
        self.coefficients = {
            key: scalar(value, f"coefficient of {key!r}") for key, value in coefficients.items()
        }
        self.constant = scalar(constant, "constant")
        if not self.coefficients:
            raise ModelError("a coupling needs at least one coordinate")

    def joints(self) -> Sequence[str]:
        return tuple(self.coefficients)

    def coupled(self) -> tuple[Mapping[str, SX], SX] | None:
        return self.coefficients, self.constant

    def position(self, m: Motion) -> Rows:
        return [
            (
                "",
                sum(
                    (c * m.coordinate(key) for key, c in self.coefficients.items()), -self.constant
                ),
            )
        ]


class Servo(Constraint):
    """A ``coordinate`` has a ``value``, a number or a function of time; its multiplier is the
    effort that the drive supplies.
    """

    is_servo = True

    def __init__(self, name: str, coordinate: Coordinate, value: Number):
        self.name, self.target = name, coordinate_name(coordinate)
        self.value = scalar(value, "value")

    def joints(self) -> Sequence[str]:
        return (self.target,)

    def row_unit(self, unit: Callable[[str], str]) -> str:
        return unit(self.target)

    def position(self, m: Motion) -> Rows:
        return [("", m.coordinate(self.target, near=self.value) - self.value)]


class Expression(Constraint):
    """The user's own rows: exactly one of ``position``, ``velocity``, ``acceleration``, a function
    of the motion.

    position: must not use velocities.
    velocity: linear in the speeds or not.
    acceleration: linear in the accelerations.
    """

    def __init__(
        self,
        name: str,
        position: MotionFunction | None = None,
        velocity: MotionFunction | None = None,
        acceleration: MotionFunction | None = None,
    ):
        levels: dict[Level, Any] = {
            "position": position,
            "velocity": velocity,
            "acceleration": acceleration,
        }
        given = [level for level, function in levels.items() if function is not None]
        if len(given) != 1:
            raise ModelError(
                f"give exactly one of position=, velocity=, acceleration=, got {len(given)}"
            )
        self.name, self.level, self.function = name, given[0], levels[given[0]]
        if not callable(self.function):
            raise ModelError(
                f"{self.level}= must be a function of the motion, such as lambda m: "
                "m.position(tip)[2]"
            )

    def rows(self, m: Motion, level: Level) -> Rows:
        if level != self.level:
            return []
        value = self.function(m)
        entries = list(value) if isinstance(value, (list, tuple, np.ndarray)) else [value]
        if len(entries) == 1 and isinstance(entries[0], SX):
            entries = ca.vertsplit(ca.densify(ca.vec(entries[0])))
        labels = [""] if len(entries) == 1 else [str(i + 1) for i in range(len(entries))]
        return list(zip(labels, entries, strict=True))


class Closing(Constraint):
    """A cut joint: its kind's equations on the relative pose of its two frames (of its chain's end,
    if it carries one); what is left of them, if its common points are shared."""

    word = "joint"

    def __init__(self, joint: Joint, shared: bool = False, rows: Sequence[int] | None = None):
        """``rows`` are those that are needed, all of them if it is None."""
        self.name, self.joint, self.shared, self.needed = joint.name, joint, shared, rows

    def places(self) -> Sequence[Marker]:
        return (self.joint.parent, self.joint.child)

    def position(self, m: Motion) -> Rows:
        rows = self.joint.kind.closing_rows(*m.across(self.joint), self.shared)
        return rows if self.needed is None else [rows[k] for k in self.needed]

    def orientation_sign(self, m: Motion) -> Sequence[SX]:
        return (self.joint.kind.orientation_sign(*m.across(self.joint)),)
