"""Joints as constraints: one partial joint, completed by two equations (Kosenko; corrected).

Bodies A and B share a line: the axis n of A through R_A carries the point R_B of B, and their axes
stay parallel. That is four equations. B may still shift by ν along n and turn by φ about it. Each
of the two is completed by one equation: either the motion is *held* (ν = 0, or a given function, or
an acceleration), or an effort *acts* along it. F and M act on A, and the opposite on B, both
reduced to the point R_B: a restoring law is F = +c ν, and a motor that drives B with the torque τ
is M = −τ. The power that they give to the bodies is −F ν̇ − M φ̇.

A new joint is a class with the two methods ``axial`` and ``rotary``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, cast

import casadi as ca
from casadi import SX

from ..errors import ModelError
from ..vectors import angle_about, scalar
from .bodies import Marker, Place
from .constraints import Constraint, Level
from .contact.pairs import velocity_at
from .declarations import argument, direction, number, place
from .element import Action, wrench_pair
from .fields import AngleLaw, Axis, Number
from .joints import Cylindrical, Rows
from .motion import Motion
from .parameter_checks import UnitLength


@dataclass(frozen=True, eq=False)
class Held:
    """The completing equation ``row`` = 0, at a level."""

    row: SX
    level: Level = "position"


@dataclass(frozen=True, eq=False)
class Acts:
    """The completing equation: an effort, in parts. ``elastic`` has the energy ``potential``."""

    elastic: SX
    potential: SX
    other: SX

    @staticmethod
    def nothing() -> Acts:
        """No effort: the motion is free."""
        return Acts(SX(0), SX(0), SX(0))


def _read_law(value: Any, _: str) -> AngleLaw:
    if not callable(value):
        raise ModelError(f"law must be a function of (t, angle, rate), got {value!r}")
    return cast(AngleLaw, value)


class AxialJoint(Constraint):
    """The partial joint between the frames ``a`` and ``b``, with ``axis`` in both."""

    drawn_as = "nothing"
    measures = MappingProxyType({"shift": "m", "angle": "rad"})

    a: Marker = place()
    b: Marker = place()
    axis: SX = direction("z", UnitLength)

    @abstractmethod
    def axial(self, m: Motion) -> Held | Acts:
        """The equation that completes the shift along the axis."""

    @abstractmethod
    def rotary(self, m: Motion) -> Held | Acts:
        """The equation that completes the rotation about the axis."""

    # --- what the two equations are made of -------------------------------------------------------

    def shift(self, m: Motion) -> SX:
        """ν = n·(R_B − R_A)."""
        return ca.dot(self._line(m), m.position(self.b) - m.position(self.a))

    def shift_rate(self, m: Motion) -> SX:
        """ν̇."""
        return ca.dot(self._line(m), self._relative_velocity(m))

    def shift_acceleration(self, m: Motion) -> SX:
        """ν̈ = μ of the source's (3)."""
        omega, arm = m.angular_velocity(self.a), m.position(self.b) - m.position(self.a)
        carried = m.acceleration(self.a) + ca.cross(m.angular_acceleration(self.a), arm)
        carried += ca.cross(omega, ca.cross(omega, arm))
        carried += 2 * ca.cross(omega, self._relative_velocity(m))
        return ca.dot(self._line(m), m.acceleration(self.b) - carried)

    def angle(self, m: Motion, near: Any = None) -> SX:
        """φ of B relative to A, with all its turns, or within half a turn of a value."""
        within = angle_about(self.axis, m.rotation(self.b, in_frame=self.a))
        return m.turned(f"{self.name} angle", within, partial(self.angle_rate, m), near)

    def angle_rate(self, m: Motion) -> SX:
        """φ̇."""
        return ca.dot(self._line(m), m.angular_velocity(self.b) - m.angular_velocity(self.a))

    def angle_acceleration(self, m: Motion) -> SX:
        """φ̈ = λ of the source's (4)."""
        turning = m.angular_velocity(self.b) - m.angular_velocity(self.a)
        carried = m.angular_acceleration(self.a) + ca.cross(m.angular_velocity(self.a), turning)
        return ca.dot(self._line(m), m.angular_acceleration(self.b) - carried)

    def _line(self, m: Motion) -> SX:
        """n in the world."""
        return m.axis(self.a, self.axis)

    def _relative_velocity(self, m: Motion) -> SX:
        return m.velocity(self.b) - velocity_at(m, self.a, m.position(self.b))

    def _evaluate(self, law: AngleLaw, m: Motion) -> SX:
        """A law at the angle and its rate."""
        return scalar(law(m.time, self.angle(m), self.angle_rate(m)), f"{self.name!r}: law")

    # --- the constraint ---------------------------------------------------------------------------

    def pins(self) -> Sequence[tuple[Marker, SX]]:
        return ((self.a, self.axis),)

    def force_axis(self, m: Motion) -> SX | None:
        """The axis of F and M, on the first place."""
        return self._line(m)

    def position(self, m: Motion) -> Rows:
        joined = Cylindrical(self.axis).closing(*m.relative(self.a, self.b))
        return [*joined, *self._held_rows(m, "position")]

    def orientation_sign(self, m: Motion) -> Sequence[SX]:
        return (Cylindrical(self.axis).orientation_sign(*m.relative(self.a, self.b)),)

    def velocity(self, m: Motion) -> Rows:
        return self._held_rows(m, "velocity")

    def acceleration(self, m: Motion) -> Rows:
        return self._held_rows(m, "acceleration")

    def _held_rows(self, m: Motion, level: Level) -> Rows:
        completed = (("axial", self.axial(m)), ("rotary", self.rotary(m)))
        return [
            (label, by.row) for label, by in completed if isinstance(by, Held) and by.level == level
        ]

    def _efforts(self, m: Motion) -> list[Acts]:
        """The efforts F and M."""
        return [
            by if isinstance(by, Acts) else Acts.nothing() for by in (self.axial(m), self.rotary(m))
        ]

    def potential(self, m: Motion) -> SX:
        return sum((acts.potential for acts in self._efforts(m)), SX(0))

    def conservative(self, m: Motion) -> list[Action]:
        return self._pair(m, *(acts.elastic for acts in self._efforts(m)))

    def nonconservative(self, m: Motion) -> list[Action]:
        return self._pair(m, *(acts.other for acts in self._efforts(m)))

    def _pair(self, m: Motion, F: SX, M: SX) -> list[Action]:
        """F n and M n at R_B on A, and the opposite on B."""
        if F.is_zero() and M.is_zero():
            return []
        n = self._line(m)
        return wrench_pair(m, self.a, self.b, -F * n, -M * n)


class FixedIdealJoint(AxialJoint):
    """A revolute joint as a constraint, about ``axis`` of both places: ν = 0, M = 0."""

    def axial(self, m: Motion) -> Held | Acts:
        return Held(self.shift(m))

    def rotary(self, m: Motion) -> Held | Acts:
        return Acts.nothing()


class FreeIdealJoint(AxialJoint):
    """A cylindrical joint as a constraint, along ``axis`` of both places: F = 0, M = 0."""

    def axial(self, m: Motion) -> Held | Acts:
        return Acts.nothing()

    def rotary(self, m: Motion) -> Held | Acts:
        return Acts.nothing()


class SpringIdealJoint(FreeIdealJoint):
    """A revolute joint as a constraint, elastic along its ``axis``: F = c ν + d ν̇, M = 0.

    stiffness, damping: c and d.
    """

    passive = True
    stiffness: SX = number(0)
    damping: SX = number(0)

    def axial(self, m: Motion) -> Held | Acts:
        pull = self.stiffness * self.shift(m)
        return Acts(pull, pull * self.shift(m) / 2, self.damping * self.shift_rate(m))


class FixedControlledJoint(FixedIdealJoint):
    """A driven revolute joint as a constraint, about ``axis`` of both places: ν = 0, and M =
    f(t, φ, φ̇) acts on A.

    law: the torque on ``a``, a function of (time, angle, its rate).
    """

    law: Any = argument("AngleLaw", "function", _read_law)
    axis: SX = direction("z", UnitLength)

    def rotary(self, m: Motion) -> Held | Acts:
        return Acts(SX(0), SX(0), self._evaluate(self.law, m))


class FreeSlideJoint(FreeIdealJoint):
    """A prismatic joint as a constraint, along ``axis`` of both places: F = 0, φ = 0."""

    def rotary(self, m: Motion) -> Held | Acts:
        return Held(self.angle(m, near=0.0))


class FixedServoJoint(FixedIdealJoint):
    """A servo as a constraint, about ``axis`` of both places: ν = 0 and φ̈ = f(t, φ, φ̇), or φ(t).

    law: the angular acceleration f, a function of (time, angle, its rate); or else
    angle: φ, a number or a function of time, at position level.
    """

    def __init__(
        self,
        name: str,
        a: Place,
        b: Place,
        law: AngleLaw | None = None,
        axis: Axis = "z",
        angle: Number | None = None,
    ) -> None:
        super().__init__(name, a, b, axis)
        if (law is None) == (angle is None):
            raise ModelError(
                "give either law=, the angular acceleration as a function of (t, φ, φ̇), or "
                "angle=, of time"
            )
        self.law = None if law is None else _read_law(law, "law")
        self.given = None if angle is None else scalar(angle, "angle")

    def rotary(self, m: Motion) -> Held | Acts:
        if self.given is not None:
            return Held(self.angle(m, near=self.given) - self.given)
        assert self.law is not None
        wanted = self._evaluate(self.law, m)
        return Held(self.angle_acceleration(m) - wanted, "acceleration")
