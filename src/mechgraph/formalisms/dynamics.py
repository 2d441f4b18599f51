"""What a formalism delivers: the mass matrix and forces of M u̇ = f + Aᵀλ, and whatever else it
knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from casadi import SX

from ..motion.reactions import Recursion


@dataclass(frozen=True, eq=False)
class Coefficient:
    """A named quantity: a number (``axes`` 0), a vector (1), a matrix (2), or a list of matrices
    (3)."""

    axes: int
    derive: Callable[[], Any]

    @cached_property
    def expression(self) -> Any:
        """The expression; a list of matrices for a table."""
        return self.derive()


@dataclass(frozen=True, eq=False)
class Dynamics:
    """``M`` and ``f`` as functions that derive them; cheaper routes where the formalism has them.

    ``solve(τ)`` gives u̇ = M⁻¹ (f + τ) and ``inverse(u̇)`` gives τ = M u̇ − f, both in O(n).
    ``condition`` tells how many digits ``solve`` loses (see ``closures.expressions.Solver``).
    ``coefficients`` are the formalism's own named quantities (Appell's A, K, D, H, for one).
    ``recursion`` gives what passes through the joints, if the formalism knows it.
    """

    M: Callable[[], SX]
    f: Callable[[], SX]
    solve: Callable[[SX], SX] | None = None
    inverse: Callable[[SX], SX] | None = None
    condition: Callable[[], SX] | None = None
    coefficients: Mapping[str, Coefficient] = field(default_factory=dict)
    recursion: Recursion | None = None
