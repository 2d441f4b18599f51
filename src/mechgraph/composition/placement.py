"""The way back to the position constraints."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import casadi as ca
from casadi import SX

from ..motion.chart import Chart
from ..motion.levels import Levels
from .complement import Choice
from .part import chosen
from .samples import Samples


@dataclass(frozen=True, eq=False)
class Placement:
    """A step x along the speeds with A x + φ = 0 for the position rows: x = −P φ, with P a right
    inverse of these. They are taken all at once, not along the tree: what a part has to search for
    its own rows alone (a bar its length) may follow from rows of the whole by mere constants."""

    chart: Chart
    levels: Levels

    def __call__(self, phi: SX) -> SX:
        return -ca.densify(self._choice.particular(self._A, phi))

    @property
    def _A(self) -> SX:
        return self.levels.A[: self.levels.phi.numel(), :]

    @cached_property
    def _choice(self) -> Choice:
        samples = Samples(self.chart, self.levels)
        return chosen(self._A, samples, self.chart.symbols.speeds, 0)
