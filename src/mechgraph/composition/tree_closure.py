"""A composition as a closure: u̇ and λ along the tree of subsystems, and the way back to the
constraints."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from casadi import SX

from ..closures.complement import Choice
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
class TreeWay(Way):
    """u̇ = S z + e by the complement S of a tree and a motion e with A e + b = 0:
    M̄ z = Sᵀ (f − M e), level by level; λ of what remains."""

    A: SX
    M: SX
    factors: np.ndarray  # that bring the rows of A to one size
    node: TreeNode

    def accelerations(self, f: SX, b: SX) -> SX:
        particular = Particular(self.node, b)
        if not self.node.free:
            return ca.densify(particular.e)
        z = self._factor.solve(ca.densify(particular.pull(f)))
        return ca.densify(particular.add(z))

    def multipliers(self, f: SX, b: SX) -> SX:
        return multipliers_of(self.M, self.A, f, self.accelerations(f, b), self.factors)

    def response(self, f: SX, b: SX) -> SX:
        return self.accelerations(f, b)

    @cached_property
    def _factor(self) -> Factor:
        return Factor(self.node.reduced)

    @property
    def unsure(self) -> Sequence[int]:
        return self.node.unsure

    @property
    def condition(self) -> SX:
        return self._factor.condition if self.node.free else SX(0)


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
    """What a composition knows: its tree, its own way along it (or along one node of all rows) and
    back to the constraints, and the tree of the user's own variables, where the equations have
    more."""

    tree: TreeNode
    own: TreeWay
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
