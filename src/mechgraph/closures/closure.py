"""How constraints are closed: from M u̇ = f + Aᵀλ and A u̇ + b = 0 to u̇ and λ.

Four ways, each in two guises. ``solve`` works on numbers (batches by leading axes): it reveals the
rank, so redundant rows and singular positions are nothing special, and of all multipliers it gives
those of least norm. ``expression`` works on symbols, for integrators and kernels: no branches;
dependent rows are met by proximal iterations, which converge to the same u̇.

- ``multipliers``: the bordered system in (u̇, λ) at once;
- ``null-space``: the equations projected on the motions that the constraints leave, then λ from
  what remains;
- ``udwadia-kalaba``: Gauss' principle, u̇ = a + M^(−½) (A M^(−½))⁺ (−b − A a) with a = M⁻¹ f (a
  Cholesky factor serves for the root);
- ``penalty``: constraints push back against what is left of them, λ = −α (A u̇ + b), which is taken
  up again until nothing is left (the augmented Lagrangian form of Bayo).

M may be singular where A makes up for it: ``expressions.complete_inertia``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from casadi import SX

from . import expressions, numbers
from .expressions import Solver
from .numbers import Solution


@dataclass(frozen=True)
class Closure:
    """One way of closing, to (u̇, λ): on numbers from M, f, A, b; on expressions from M and A to a
    function of f and b.

    So one factorization serves for several right-hand sides.
    """

    factor: numbers.Factor
    expression: Callable[[SX, SX, int, float], Solver]

    def solution(self, M: np.ndarray, f: np.ndarray, A: np.ndarray, b: np.ndarray) -> Solution:
        """u̇ and λ, and how well they are known."""
        return numbers.solve_constrained(self.factor, M, f, A, b)

    def solve(
        self, M: np.ndarray, f: np.ndarray, A: np.ndarray, b: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """(u̇, λ)."""
        return self.solution(M, f, A, b)[:2]


CLOSURES: dict[str, Closure] = {
    "multipliers": Closure(numbers.bordered, expressions.multipliers),
    "null-space": Closure(numbers.null_space, expressions.null_space),
    "udwadia-kalaba": Closure(numbers.udwadia_kalaba, expressions.udwadia_kalaba),
    "penalty": Closure(numbers.augmented, expressions.penalty),
}

DEFAULT_CLOSURE = "multipliers"
