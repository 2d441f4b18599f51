"""A composition as a closure: u̇ and λ along the tree of subsystems, or by a complement of all rows
that is found at every state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from casadi import SX

from ..closures.complement import Choice, Complement
from ..closures.expressions import Factor, multipliers_of
from ..contract.closing import Forces, OwnClosure, Way
from ..motion.chart import Chart
from ..motion.levels import Levels
from ..motion.samples import Samples
from .choices import choose, pivoting
from .node import Particular, TreeNode

if TYPE_CHECKING:
    from ..contract.closed import Closed
    from ..contract.terms import Terms


@dataclass(frozen=True, eq=False)
class ComplementWay(Way):
    """u̇ = S z + e by a complement S and a motion e with A e + b = 0; λ of what remains."""

    A: SX
    M: SX
    factors: np.ndarray  # that bring the rows of A to one size

    def multipliers(self, f: SX, b: SX) -> SX:
        return multipliers_of(self.M, self.A, f, self.accelerations(f, b), self.factors)

    def response(self, f: SX, b: SX) -> SX:
        return self.accelerations(f, b)

    @property
    def S(self) -> SX:
        """The complement."""
        raise NotImplementedError


@dataclass(frozen=True, eq=False)
class TreeWay(ComplementWay):
    """By the complement of a tree: M̄ z = Sᵀ (f − M e), level by level."""

    node: TreeNode

    def accelerations(self, f: SX, b: SX) -> SX:
        particular = Particular(self.node, b)
        if not self.node.free:
            return ca.densify(particular.e)
        z = self._factor.solve(ca.densify(particular.pulled(f)))
        return ca.densify(particular.plus(z))

    @cached_property
    def _factor(self) -> Factor:
        return Factor(self.node.reduced)

    @property
    def S(self) -> SX:
        return self.node.S

    @property
    def unsure(self) -> Sequence[int]:
        return self.node.unsure

    @property
    def condition(self) -> SX:
        return self._factor.condition if self.node.free else SX(0)


@dataclass(frozen=True, eq=False)
class PivotedWay(ComplementWay):
    """By a complement of all rows at once, found by QR with pivoting at every state: nothing that
    was chosen elsewhere is in it. Columns of S that rows hold are zero, and stand still by an
    inertia of their own."""

    choice: Choice

    def accelerations(self, f: SX, b: SX) -> SX:
        e, S = -self.choice.particular(self.A, b), self.S
        return ca.densify(S @ self._factor.solve(S.T @ (f - self.M @ e)) + e)

    @cached_property
    def _complement(self) -> Complement:
        return self.choice.complement(self.A)

    @property
    def S(self) -> SX:
        return self._complement.C

    @cached_property
    def _factor(self) -> Factor:
        still = ca.diag((ca.sum1(self.S**2) == 0).T)
        return Factor(ca.densify(self.S.T @ self.M @ self.S) + still)

    @property
    def unsure(self) -> Sequence[int]:
        """Rows that contradict each other."""
        return self._complement.left

    @property
    def condition(self) -> SX:
        return self._factor.condition


@dataclass(frozen=True, eq=False)
class Placement:
    """A step x along the speeds with A x + φ = 0 for the position rows, or A x + ψ = 0. Rows are
    taken all at once, not along the tree: what a part has to search for its own rows alone (a bar
    its length) may follow from rows of the whole by mere constants.

    every: heed all rows, not those alone that are independent at typical states.
    """

    chart: Chart
    levels: Levels
    every: bool

    def __call__(self, left: SX) -> SX:
        """left: φ or ψ."""
        count, total = self.levels.phi.numel(), left.numel()
        choice = self._positions if total == count else self._velocities
        return ca.densify(choice.least(self.levels.A[:total, :], -left))

    @cached_property
    def _positions(self) -> Choice:
        return self._choice(self.levels.phi.numel())

    @cached_property
    def _velocities(self) -> Choice:
        return self._choice(self.levels.psi.numel())

    def _choice(self, count: int) -> Choice:
        samples, A = Samples(self.chart, self.levels), self.levels.A[:count, :]
        if self.every:
            return pivoting(A, samples)
        return choose(A, samples, self.chart.symbols.speeds, 0)


@dataclass(frozen=True, eq=False)
class TreeClosure(OwnClosure):
    """What a composition knows: its tree, its own way along it and back to the constraints, and the
    tree of the user's own variables, where the equations have more."""

    tree: TreeNode
    own: TreeWay | PivotedWay
    placement: Callable[[SX], SX]
    shown: TreeNode

    @property
    def S(self) -> SX:
        return self.tree.S

    def way(self, closed: Closed) -> Way:
        return self.own

    def projection(self, closed: Closed) -> Callable[[SX], SX]:
        return self.placement

    def forces(self, terms: Terms) -> Forces:
        linear = terms.rows.directions is not terms.A
        return super().forces(terms) if linear else self.own.multipliers
