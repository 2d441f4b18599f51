"""Drives: efforts along a joint's coordinate that have limits."""

from __future__ import annotations

from typing import Any

import casadi as ca
from casadi import SX

from ..errors import ModelError
from .declarations import coordinate, law, not_negative, number, positive
from .element import Action, Effort
from .forces import Force, evaluate
from .motion import Motion


class Drive(Force):
    """A motor along a coordinate x: it gives what is wanted, as far as it can.

        wanted = value + stiffness (position − x) + damping (ṗosition − ẋ)

    within ± ``effort``; with ``speed``, what it gives along the motion falls from ``effort`` at
    standstill to nothing at that speed: at most effort · min(1, max(0, 1 − ẋ/speed)), at least
    −effort · min(1, max(0, 1 + ẋ/speed)).

    value: an effort: a number, an expression, an input, or a function of the motion.
    position, stiffness, damping: a position to be held, a number or a function of time, by
        stiffness (position − x) and damping times the rate of that.
    effort: the largest, either way; without limit if it is not given.
    speed: at which nothing is left of ``effort`` along the motion; it falls to that on a line.
    """

    coordinate: str = coordinate()
    value: Any = law(0)
    position: SX | None = number(None)
    stiffness: SX = not_negative(0)
    damping: SX = not_negative(0)
    effort: SX | None = positive(None)
    speed: SX | None = positive(None)

    def __post_init__(self) -> None:
        if self.position is None and not (self.stiffness.is_zero() and self.damping.is_zero()):
            raise ModelError("stiffness and damping hold a position: give position=, too")
        if self.position is not None and self.stiffness.is_zero() and self.damping.is_zero():
            raise ModelError("nothing holds the position: give stiffness=, damping= or both")
        if self.speed is not None and self.effort is None:
            raise ModelError("speed= limits a drive with effort=: give that at standstill, too")

    def nonconservative(self, m: Motion) -> list[Action]:
        return [Effort(self.coordinate, self._limit(self._command(m), m.speed(self.coordinate)))]

    def _command(self, m: Motion) -> SX:
        wanted = evaluate(self.value, m, 1, "value")
        if self.position is None:
            return wanted
        x = m.coordinate(self.coordinate, near=self.position)
        rate = ca.jtimes(self.position, m.time, SX(1))
        error = self.stiffness * (self.position - x)
        return wanted + error + self.damping * (rate - m.speed(self.coordinate))

    def _limit(self, wanted: SX, speed: SX) -> SX:
        if self.effort is None:
            return wanted
        up, down = self._share(speed), self._share(-speed)
        return ca.fmax(-self.effort * down, ca.fmin(wanted, self.effort * up))

    def _share(self, speed: SX) -> SX:
        """The part of the effort that is left at a speed along it."""
        if self.speed is None:
            return SX(1)
        return ca.fmin(1, ca.fmax(0, 1 - speed / self.speed))
