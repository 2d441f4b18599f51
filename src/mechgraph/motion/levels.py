"""Constraints at three levels, and what follows from their rows: φ, ψ, A and b.

Rows of A come in this order: derivatives of the position constraints, velocity constraints,
acceleration constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import casadi as ca
from casadi import SX

from ..model.constraints import LEVELS, Level
from ..model.joints import Rows
from .variables import Variables


class Levels:
    """Rows that stay zero, each (name, expression), by level; ``rate`` differentiates along q̇."""

    def __init__(
        self, symbols: Variables, rate: Callable[[SX], SX], rows: Mapping[Level, Rows]
    ) -> None:
        self._symbols, self._rate, self._rows = symbols, rate, rows

    def _values(self, level: Level) -> SX:
        return ca.vertcat(SX(0, 1), *(value for _, value in self._rows.get(level, ())))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the rows of A, and so of λ."""
        return tuple(name for level in LEVELS for name, _ in self._rows.get(level, ()))

    @cached_property
    def phi(self) -> SX:
        """Position constraints φ(q, t)."""
        return self._values("position")

    @cached_property
    def psi(self) -> SX:
        """Velocity constraints ψ(q, u, t): the rates of φ, then those given at this level."""
        return ca.vertcat(self._rate(self.phi), self._values("velocity"))

    @cached_property
    def A(self) -> SX:
        """∂ψ/∂u, then the rows given at acceleration level."""
        s = self._symbols
        given = ca.jacobian(self._values("acceleration"), s.udot)
        return ca.vertcat(ca.jacobian(self.psi, s.u), given)

    @cached_property
    def b(self) -> SX:
        """The rest of the acceleration level A u̇ + b = 0."""
        s = self._symbols
        given = ca.substitute(self._values("acceleration"), s.udot, SX.zeros(s.u.numel()))
        return ca.densify(ca.vertcat(self._rate(self.psi), given))
