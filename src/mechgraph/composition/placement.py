"""The way back to the constraints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
from casadi import SX

from ..closures.complement import Choice
from ..motion.chart import Chart
from ..motion.levels import Levels
from ..motion.samples import Samples
from .part import chosen, pivoting


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
        return chosen(A, samples, self.chart.symbols.speeds, 0)
