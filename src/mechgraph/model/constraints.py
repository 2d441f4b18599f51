"""Constraints beyond joints, and the closing of cut joints.

A constraint is a small class that, given the motion ``m``, states its rows, each of which is to
stay zero: ``position`` φ(q, t), ``velocity`` ψ(q, u, t) (linear in the speeds or not),
``acceleration``. Derivatives, action and reaction follow from the rows; see ``constrained.py``.

To add a constraint, write such a class in a new file and list it in ``model/kinds.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal

import casadi as ca
import numpy as np
from casadi import SX

from ..errors import ModelError
from .bodies import Marker
from .declarations import coefficients, coordinate, number, place, positive
from .element import Action, Element
from .fields import MotionFunction
from .joints import Joint, Rows
from .motion import Motion

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
        """Expressions, positive the right way round, where the rows also hold another way."""
        return ()

    def rows(self, m: Motion, level: Level) -> Rows:
        """The rows of one level."""
        rows: Rows = getattr(self, level)(m)
        return rows


class Distance(Constraint):
    """Two points stay at a distance l: (|r|² − l²) / 2l = 0.

    length: l, a number or a function of time.
    """

    a: Marker = place()
    b: Marker = place()
    length: SX = positive(hint="; to join two points use a spherical joint")

    def row_unit(self, unit: Callable[[str], str]) -> str:
        return "m"

    def position(self, m: Motion) -> Rows:
        gap = m.position(self.b) - m.position(self.a)
        return [("", (ca.dot(gap, gap) - self.length**2) / (2 * self.length))]


class Coupling(Constraint):
    """Σ c q = constant, for coordinates of joints: gears, belts, differentials.

    coefficients: by the names of the coordinates, {"j1": 1.0, "j2": -2.5}.
    """

    coefficients: Mapping[str, SX] = coefficients()
    constant: SX = number(0)

    def coupled(self) -> tuple[Mapping[str, SX], SX] | None:
        return self.coefficients, self.constant

    def position(self, m: Motion) -> Rows:
        terms = (c * m.coordinate(key) for key, c in self.coefficients.items())
        return [("", sum(terms, -self.constant))]


class Servo(Constraint):
    """A ``coordinate`` has a ``value``, a number or a function of time; its multiplier is the
    effort that the drive supplies.
    """

    is_servo = True

    coordinate: str = coordinate()
    value: SX = number()

    def row_unit(self, unit: Callable[[str], str]) -> str:
        return unit(self.coordinate)

    def position(self, m: Motion) -> Rows:
        return [("", m.coordinate(self.coordinate, near=self.value) - self.value)]


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
        functions: tuple[Any, ...] = (position, velocity, acceleration)
        levels = dict(zip(LEVELS, functions, strict=True))
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
