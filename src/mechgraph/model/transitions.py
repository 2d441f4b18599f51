"""Elementary transitions: the steps of which every joint is a chain.

A transition leads from one frame to the next. It moves by a coordinate (then it owns speeds), by a
known function of time, or by a constant. Its questions, with x the amount:

- ``pose(x)``: R, d with R turning components of the new frame into the old one's, d the new origin
  in the old axes;
- ``subspace(x)``: Sω, Sv, the relative angular velocity and velocity per unit speed, **in the new
  frame's axes** (chosen such that its time derivative times the speeds vanishes);
- ``rates(x)``: N in ẋ = N s, the identity except for quaternions;
- ``reversed()``: the same motion walked from the new frame back to the old one, with the same
  coordinate;
- ``axis_aligned()``: a constant rotation C and a transition along a coordinate axis that, between C
  and Cᵀ, is the same motion.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import casadi as ca
from casadi import SX

from ..errors import ModelError, shown
from ..vectors import (
    axis,
    is_coordinate_axis,
    quaternion_matrix,
    quaternion_rates,
    scalar,
    shortest_turn_to_z,
    turn,
)
from .described import Described
from .fields import Field


@dataclass(frozen=True, eq=False, repr=False)
class Transition(Described):
    """One elementary step; ``amount`` is a coordinate's name or an expression."""

    field: ClassVar[Field] = Field("step")
    amount: str | SX

    @property
    def moves(self) -> bool:
        """True if a coordinate drives it."""
        return isinstance(self.amount, str)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Local names of its coordinates."""
        return (self.amount,) if isinstance(self.amount, str) else ()

    @property
    def speeds(self) -> tuple[str, ...]:
        """Local names of its speeds."""
        return tuple(f"{name}'" for name in self.coordinates)

    @property
    def reference(self) -> tuple[float, ...]:
        """Values of its coordinates in the reference configuration."""
        return tuple(0.0 for _ in self.coordinates)

    @property
    def constants(self) -> SX:
        """Its own numbers beside the amount, which must not change in time."""
        return SX(0, 1)

    def rates(self, x: SX) -> SX:
        return SX.eye(x.numel())

    @abstractmethod
    def pose(self, x: SX) -> tuple[SX, SX]: ...

    @abstractmethod
    def subspace(self, x: SX) -> tuple[SX, SX]: ...

    @abstractmethod
    def reversed(self) -> Transition: ...

    def axis_aligned(self) -> tuple[SX, Transition]:
        return SX.eye(3), self


@dataclass(frozen=True, eq=False, repr=False)
class Directed(Transition):
    """A transition about or along one ``direction``, a unit vector."""

    direction: SX

    @property
    def constants(self) -> SX:
        return self.direction

    def reversed(self) -> Transition:
        return replace(self, direction=-self.direction)

    def axis_aligned(self) -> tuple[SX, Transition]:
        if not self.direction.is_constant() or is_coordinate_axis(self.direction):
            return SX.eye(3), self
        return shortest_turn_to_z(self.direction).T, replace(self, direction=axis("z"))


@dataclass(frozen=True, eq=False, repr=False)
class Rotation(Directed):
    """Turn by ``amount`` about ``direction``."""

    def pose(self, x: SX) -> tuple[SX, SX]:
        return turn(self.direction, x), SX.zeros(3)

    def subspace(self, x: SX) -> tuple[SX, SX]:
        return self.direction, SX.zeros(3)


@dataclass(frozen=True, eq=False, repr=False)
class Translation(Directed):
    """Shift by ``amount`` along ``direction``."""

    def pose(self, x: SX) -> tuple[SX, SX]:
        return SX.eye(3), self.direction * x

    def subspace(self, x: SX) -> tuple[SX, SX]:
        return SX.zeros(3), self.direction


@dataclass(frozen=True, eq=False, repr=False)
class Screw(Directed):
    """Turn by ``amount`` about ``direction`` and shift along it by ``pitch`` (metres per radian)
    times as much."""

    pitch: SX

    @property
    def constants(self) -> SX:
        return ca.vertcat(self.direction, self.pitch)

    def pose(self, x: SX) -> tuple[SX, SX]:
        return turn(self.direction, x), self.pitch * self.direction * x

    def subspace(self, x: SX) -> tuple[SX, SX]:
        return self.direction, self.pitch * self.direction


@dataclass(frozen=True, eq=False, repr=False)
class Ball(Transition):
    """Any turn, by a unit quaternion; the speeds are the relative angular velocity in the turned
    frame's axes."""

    inverse: bool = False

    @property
    def coordinates(self) -> tuple[str, ...]:
        return tuple(f"{self._prefix}q{i}" for i in range(4))

    @property
    def speeds(self) -> tuple[str, ...]:
        return tuple(f"{self._prefix}w{i}" for i in "xyz")

    @property
    def _prefix(self) -> str:
        return f"{self.amount}." if self.amount else ""

    @property
    def reference(self) -> tuple[float, ...]:
        return (1.0, 0.0, 0.0, 0.0)

    def rates(self, x: SX) -> SX:
        return quaternion_rates(x)

    def pose(self, x: SX) -> tuple[SX, SX]:
        R = quaternion_matrix(x)
        return (R.T if self.inverse else R), SX.zeros(3)

    def subspace(self, x: SX) -> tuple[SX, SX]:
        # Walked backwards, the relative angular velocity is −ω, seen in the axes that ω is not
        # given in:
        # Sω = −R(x), and Ṡω ω = −R (ω × ω) = 0.
        return (-quaternion_matrix(x) if self.inverse else SX.eye(3)), SX.zeros(3, 3)

    def reversed(self) -> Transition:
        return replace(self, inverse=not self.inverse)


def _amount(value: Any, what: str) -> str | SX:
    if isinstance(value, str):
        if not value or not value.replace("_", "a").isalnum():
            raise ModelError(
                f"{what}: a coordinate's name needs letters, digits and _, got {shown(value)}"
            )
        return value
    return scalar(value, what)


def rot(direction: Any, by: Any) -> Rotation:
    """A turn about ``direction`` by a coordinate (its name), a constant, or a function of time.

    >>> import mechgraph as mg
    >>> arm = mg.System("s")
    >>> [mg.rot("x", "alpha"), mg.rot("y", 0.3), mg.rot("z", mg.sin(arm.time))][0].coordinates
    ('alpha',)
    """
    return Rotation(_amount(by, "rot"), axis(direction, "rot: axis"))


def move(direction: Any, by: Any) -> Translation:
    """A shift along ``direction`` by a coordinate (its name), a constant, or a function of time."""
    return Translation(_amount(by, "move"), axis(direction, "move: axis"))


def screw(direction: Any, pitch: Any, by: Any) -> Screw:
    """A turn about and a shift along ``direction``, ``pitch`` metres for each radian."""
    return Screw(
        _amount(by, "screw"), axis(direction, "screw: axis"), scalar(pitch, "screw: pitch")
    )


def ball(name: str = "") -> Ball:
    """Any turn, by a unit quaternion ``name.q0`` … ``name.q3``."""
    if not isinstance(name, str):
        raise ModelError(f"ball: its quaternion needs a name, got {name!r}")
    return Ball(_amount(name, "ball") if name else "")


def shift(offset: SX) -> list[Translation]:
    """A displacement as translations along x, y, z; components that are zero are left out."""
    steps = zip("xyz", ca.vertsplit(offset), strict=True)
    return [Translation(value, axis(letter)) for letter, value in steps if not value.is_zero()]
