"""Constraints at three levels, and what follows from their rows: φ, ψ, A and b.

Rows of A come in this order: derivatives of the position constraints, velocity constraints,
acceleration constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cached_property

import casadi as ca
import numpy as np
from casadi import SX

from ..graph.rounding import is_rounding
from ..model.constraints import LEVELS, Level
from ..model.joints import Rows
from .variables import Variables

STATES = 3  # random configurations at which rows are looked at


class Levels:
    """Rows that stay zero, each (name, expression), by level; ``rate`` differentiates along q̇,
    ``scattered`` gives random configurations, and the ``tangent`` space of the coordinates is along
    the speeds unless it is given."""

    def __init__(
        self,
        symbols: Variables,
        rate: Callable[[SX], SX],
        rows: Mapping[Level, Rows],
        scattered: Callable[[np.random.Generator, int], np.ndarray] | None = None,
        tangent: SX | None = None,
    ) -> None:
        self._symbols, self._rate, self._rows = symbols, rate, rows
        self._scattered, self._tangent = scattered, tangent

    @classmethod
    def known(cls, names: tuple[str, ...], phi: SX, psi: SX, A: SX, b: SX) -> Levels:
        """Levels that were derived before; nothing is differentiated again."""
        made = object.__new__(cls)
        vars(made).update(names=names, phi=phi, psi=psi, A=A, b=b)
        return made

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
        """∂ψ/∂u, then the rows given at acceleration level; rows of mere rounding are zero."""
        s = self._symbols
        given = ca.jacobian(self._values("acceleration"), s.udot)
        A = ca.vertcat(ca.jacobian(self.psi, s.u), given)
        if self._void:
            A = ca.sparsify(ca.diag(self._counting) @ A)
        return A

    @cached_property
    def b(self) -> SX:
        """The rest of the acceleration level A u̇ + b = 0."""
        s = self._symbols
        given = ca.substitute(self._values("acceleration"), s.udot, SX.zeros(s.u.numel()))
        b = ca.densify(ca.vertcat(self._rate(self.psi), given))
        return self._counting * b if self._void else b

    # --- rows that hold by themselves -------------------------------------------------------------

    @property
    def _counting(self) -> SX:
        """One for each row that is a constraint, zero for those that hold by themselves."""
        return SX(ca.DM([float(k not in self._void) for k in range(len(self.names))]))

    @cached_property
    def _void(self) -> frozenset[int]:
        """Rows that hold whatever the motion is: their slopes along the speeds (accelerations, for
        rows at that level) are mere rounding."""
        s, slopes = self._symbols, self._slopes
        suspects = [k for k in range(slopes.shape[0]) if slopes[k, :].nnz()]
        if not suspects:
            return frozenset()
        random = np.random.default_rng(0)
        arguments = ca.vertcat(s.q, s.t, s.p, s.u, s.w, s.udot)
        states = random.uniform(-1, 1, (STATES, arguments.numel()))
        count = len(s.coordinates)
        if self._scattered is not None:
            states[:, :count] = self._scattered(random, STATES)
        states[:, count + 1 : count + 1 + len(s.defaults)] = s.defaults
        entries, rows = ca.vertcat(*slopes.nonzeros()), np.array(slopes.sparsity().row())
        stated = ca.vertcat(*(self._values(level) for level in LEVELS))
        void = is_rounding(entries, arguments, states, stated[rows.tolist(), 0])
        return frozenset(k for k in suspects if void[rows == k].all())

    @property
    def _slopes(self) -> SX:
        """Slopes of every row; of position rows along speeds on which quaternions keep their norm.
        Speeds of the user's own, or momenta, bring rounding of their own, and tell of position rows
        alone."""
        s = self._symbols
        if self._tangent is not None:
            return ca.jacobian(self.phi, s.q) @ self._tangent
        given = ca.jacobian(self._values("acceleration"), s.udot)
        return ca.vertcat(ca.jacobian(self.psi, s.u), given)
