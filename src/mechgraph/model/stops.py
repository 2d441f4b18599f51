"""Limits of joints: stops at the ends of a coordinate, rigid or compliant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
from casadi import SX

from ..errors import ModelError
from ..vectors import scalar, symbol
from .constraints import Level
from .contact.switched import PointRows, PointState, Switched
from .described import Described
from .element import Action, Effort
from .forces import Force
from .joints import Rows
from .limits import Fraction, Limit

if TYPE_CHECKING:
    from ..motion.motion import Motion

ENDS = {"low": 1, "high": -1}  # and the direction in which a stop pushes


class Limits(Described):
    """Stops of a joint's coordinate x at ``low`` and ``high``; None for no stop on that side.

    They are rigid, with Newton's ``restitution`` from 0 to 1 (below the speed ``resting`` nothing
    rebounds); or, with ``stiffness`` k and ``damping`` c, a spring and damper that never pulls,

        N = max(0, k δ + c δ̇) where the overlap δ > 0,    δ = low − x or x − high.
    """

    def __init__(
        self,
        low: Any = None,
        high: Any = None,
        restitution: Any = 0.0,
        stiffness: Any = None,
        damping: Any = 0.0,
        resting: Any = 1e-5,
    ) -> None:
        ends = {"low": low, "high": high}
        self.ends = {end: scalar(x, end) for end, x in ends.items() if x is not None}
        if not self.ends:
            raise ModelError("limits have no stop: give low=, high= or both")
        self.restitution, self.resting = (
            scalar(restitution, "restitution"),
            scalar(resting, "resting"),
        )
        self.stiffness = None if stiffness is None else scalar(stiffness, "stiffness")
        self.damping = scalar(damping, "damping")
        if self.stiffness is None and not self.damping.is_zero():
            raise ModelError("damping belongs to compliant limits: give stiffness=, too")
        if self.stiffness is not None and not self.restitution.is_zero():
            raise ModelError(
                "restitution belongs to rigid limits: leave stiffness= out, or give damping= "
                "instead of restitution"
            )
        self.limits: list[Limit] = [
            Fraction("restitution of limits", self.restitution),
            Limit("resting of limits", self.resting, positive=False),
            Limit("damping of limits", self.damping, positive=False),
        ]
        if self.stiffness is not None:
            hint = "; leave it out for rigid ones"
            self.limits.append(Limit("stiffness of limits", self.stiffness, hint=hint))
        if len(self.ends) == 2:
            self.limits.append(_Ordered("limits", self.ends["high"] - self.ends["low"]))

    @staticmethod
    def of(value: Any) -> Limits:
        """Limits as they are; a pair (low, high) is two rigid stops."""
        if isinstance(value, Limits):
            return value
        if isinstance(value, (list, tuple)) and len(value) == 2:
            return Limits(*value)
        raise ModelError(
            f"limits are a pair (low, high), or mg.Limits(low, high, …), got {value!r}"
        )


class _Ordered(Limit):
    """The upper end is above the lower one."""

    def problem(self, value: float) -> str:
        return f"{self.what} are upside down: high − low is {value:g}; give (low, high)"


class RigidStop(Switched):
    """Rigid limits of a coordinate: contacts without friction, whose gaps are x − low, high − x.

    Each end has a parameter ``name low.touching``, ``name high.touching`` (0 or 1), which
    ``simulate`` sets as the motion goes; its multiplier is the effort of the stop.
    """

    word = "limits"
    overlap = (
        "beyond their limits at the start: {}; change the start, or let them give way: "
        "mg.Limits(low, high, stiffness=…)"
    )

    def __init__(self, name: str, coordinate: str, law: Limits) -> None:
        self.name, self.coordinate, self.law, self.limits = name, coordinate, law, law.limits
        self.restitution, self.resting = law.restitution, law.resting
        self.switches = {end: symbol(self._switch(end)) for end in law.ends}

    def _switch(self, end: str) -> str:
        return f"{self.name} {end}.touching"

    def joints(self) -> Sequence[str]:
        return (self.coordinate,)

    def parameters(self) -> dict[str, SX]:
        return {self._switch(end): switch for end, switch in self.switches.items()}

    def _gap(self, m: Motion, end: str) -> SX:
        return ENDS[end] * (m.coordinate(self.coordinate) - self.law.ends[end])

    def position(self, m: Motion) -> Rows:
        return [(end, switch * self._gap(m, end)) for end, switch in self.switches.items()]

    def point_switches(self) -> list[tuple[str, dict[str, str], list[str]]]:
        return [
            (f"{self.name} {end}", {"touching": self._switch(end)}, []) for end in self.law.ends
        ]

    def point_rows(self, m: Motion, rows: dict[Level, list[int]]) -> list[PointRows]:
        return [PointRows(row) for row in rows["position"]]

    def point_states(self, m: Motion) -> list[PointState]:
        return [PointState(self._gap(m, end), SX(1), ()) for end in self.law.ends]


class CompliantStop(Force):
    """Compliant limits of a coordinate: N = max(0, k δ + c δ̇) where the overlap δ > 0."""

    word = "limits"
    passive = True

    def __init__(self, name: str, coordinate: str, law: Limits) -> None:
        self.name, self.coordinate, self.law, self.limits = name, coordinate, law, law.limits

    def joints(self) -> Sequence[str]:
        return (self.coordinate,)

    @property
    def _stiffness(self) -> SX:
        assert self.law.stiffness is not None
        return self.law.stiffness

    def _overlap(self, m: Motion, end: str) -> SX:
        return ca.fmax(0, -ENDS[end] * (m.coordinate(self.coordinate) - self.law.ends[end]))

    def potential(self, m: Motion) -> SX:
        return sum((self._stiffness * self._overlap(m, e) ** 2 / 2 for e in self.law.ends), SX(0))

    def conservative(self, m: Motion) -> list[Action]:
        push = sum((ENDS[e] * self._stiffness * self._overlap(m, e) for e in self.law.ends), SX(0))
        return [Effort(self.coordinate, push)]

    def nonconservative(self, m: Motion) -> list[Action]:
        if self.law.damping.is_zero():
            return []
        return [Effort(self.coordinate, sum((self._damped(m, e) for e in self.law.ends), SX(0)))]

    def _damped(self, m: Motion, end: str) -> SX:
        """What damping adds to the spring: c δ̇, but never so much that the stop would pull."""
        overlap, rate = self._overlap(m, end), -ENDS[end] * m.speed(self.coordinate)
        added = ca.fmax(self.law.damping * rate, -self._stiffness * overlap)
        return ENDS[end] * ca.if_else(overlap > 0, added, 0)
