"""What a simulation switches on and off: points of contact, stops, joints that stick."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from casadi import SX

from ..constraints import Constraint, Level

if TYPE_CHECKING:
    from ..motion import Motion


@dataclass(frozen=True)
class PointRows:
    """Indices of the rows of one point among all rows of a system; no gap, if it never opens."""

    gap: int | None
    slip: tuple[int, ...] = ()
    level: tuple[int, ...] = ()

    @property
    def rising(self) -> list[int]:
        """Gap and levels."""
        return [*(() if self.gap is None else (self.gap,)), *self.level]

    @property
    def all(self) -> list[int]:
        """Gap, levels, slips."""
        return [*self.rising, *self.slip]


@dataclass(frozen=True, eq=False)
class PointState:
    """One point as expressions of the motion.

    gap: what must not be negative. slip: the size of its slip with its heading (see
    ``RigidContact``); tangents: directions of its tangential forces. rise, radius: of a ring, how
    high its middle is over its lowest point.
    """

    gap: SX
    slip: SX
    tangents: Sequence[SX]
    rise: SX | None = None
    radius: SX | None = None


class Switched(Constraint):
    """Rows that a simulation switches by parameters, point by point.

    Each point is open, or closed and (if it is rough) sticking or sliding; the numbers of the law
    may depend on parameters only.
    """

    switched = True
    idle = "open until it touches"
    # what is said of points that are beyond each other at the start
    overlap = "surfaces overlap at the start: {} m; change the start, or use compliant_contact"
    restitution: SX = SX(0)
    tangential_restitution: SX = SX(0)
    friction: SX = SX(0)
    static_friction: SX = SX(0)
    regularization: SX = SX(0)
    rebound_threshold: SX = SX(0)

    @abstractmethod
    def point_switches(self) -> list[tuple[str, dict[str, str], list[str]]]:
        """For each point: its name, its switches (touching, sticking, flat) with the names of their
        parameters, and the names of the parameters of its heading."""

    @abstractmethod
    def point_rows(self, m: Motion, rows: dict[Level, list[int]]) -> list[PointRows]:
        """Which of its rows belong to which point, from the indices of all its rows by level."""

    @abstractmethod
    def point_states(self, m: Motion) -> list[PointState]:
        """All points, open ones, too."""

    def load(self, m: Motion, multipliers: SX) -> SX | None:
        """The normal force of points that have no gap, of the multipliers of what loads them."""
        return None


NUMBERS = (
    "restitution", "tangential_restitution", "friction", "static_friction", "regularization",
    "rebound_threshold",
)  # fmt: skip
