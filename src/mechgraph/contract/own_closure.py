"""What terms know of closing themselves: nothing, a complement, or a formalism's own way. A
composition knows its tree (``composition/node.py``).

A ``Way`` is what becomes of it together with the closure that is asked for: u̇ and λ of any f and b.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from casadi import SX

from ..closures.expressions import SINGULAR, Factor, Solver, checked, complement, known
from .solver import is_massless, solver

if TYPE_CHECKING:
    from .closed import Closed
    from .terms import Terms

Forces = Callable[[SX, SX], SX]  # λ of f and b


class Way(ABC):
    """From f and b to u̇ and λ with M u̇ = f + Gᵀλ, A u̇ + b = 0.

    ``condition`` tells how badly u̇ is known (see ``Solver``), ``unsure`` which rows it may fail to
    meet.
    """

    @property
    @abstractmethod
    def condition(self) -> SX:
        """The squared ratios of what the pivots are made of to what is left of them, added up."""

    @property
    @abstractmethod
    def unsure(self) -> Sequence[int]:
        """Rows."""

    @abstractmethod
    def accelerations(self, f: SX, b: SX) -> SX:
        """u̇."""

    @abstractmethod
    def multipliers(self, f: SX, b: SX) -> SX:
        """λ."""

    @abstractmethod
    def response(self, f: SX, b: SX) -> SX:
        """What f and b add to u̇: the same, but a number even if the rows contradict each other."""


class SolverWay(Way):
    """By a solver."""

    def __init__(self, solver: Solver, rows: int) -> None:
        self.solver, self._rows = solver, rows
        self._last: tuple[SX, SX, tuple[SX, SX]] | None = None

    @property
    def condition(self) -> SX:
        return self.solver.condition

    @property
    def unsure(self) -> Sequence[int]:
        return range(self._rows)

    def _solved(self, f: SX, b: SX) -> tuple[SX, SX]:
        """(u̇, λ); those of one f and b are derived once."""
        if self._last is None or self._last[0] is not f or self._last[1] is not b:
            self._last = f, b, self.solver.solve(f, b)
        return self._last[2]

    def accelerations(self, f: SX, b: SX) -> SX:
        return self._solved(f, b)[0]

    def multipliers(self, f: SX, b: SX) -> SX:
        return self._solved(f, b)[1]

    def response(self, f: SX, b: SX) -> SX:
        return self.solver.unchecked(f, b)[0]


def free(terms: Terms) -> Solver:
    """Without constraints: u̇ = M⁻¹ f by the formalism's own route, or by a factor of M; no number
    where M is singular."""
    own, none = terms.dynamics.solve, SX(0, 1)
    if own is None:
        factor = Factor(terms.M)
        condition = factor.condition
    else:
        condition = terms.dynamics.condition()

    def solution(f: SX, b: SX) -> tuple[SX, SX]:
        udot = factor.solve(f) if own is None else own(f - terms.f)
        return known(udot, condition, SINGULAR), none

    return Solver(solution, condition, lambda f, b: (Factor(terms.M).solve(f), none))


class OwnClosure:
    """Nothing: the closure that is asked for does it all."""

    @property
    def S(self) -> SX | None:
        """A complement, A S = 0, if one is known."""
        return None

    def way(self, closed: Closed) -> Way:
        """How these terms are closed, where no friction goes with the constraint forces."""
        return closed.by_closure

    def projection(self, closed: Closed) -> Callable[[SX], SX]:
        """The step along the speeds that takes φ, or ψ, away: that of least kinetic energy."""
        return closed.least_step

    def forces(self, terms: Terms) -> Forces:
        """λ of f and b without what is not linear in it."""
        way = solver(terms, "multipliers", is_massless(terms), terms.A, terms.rows.directions)
        return lambda f, b: way.solve(f, b)[1]


@dataclass(frozen=True, eq=False)
class KnownComplement(OwnClosure):
    """A complement that its author knows."""

    derive: Callable[[], SX]

    @property
    def S(self) -> SX | None:
        return self.derive()

    def way(self, closed: Closed) -> Way:
        terms = closed.terms
        if not terms.constraints:
            return closed.by_closure
        assert terms.S is not None
        return SolverWay(
            complement(terms.M, terms.A, terms.S, terms.scales.factors), len(terms.constraints)
        )


@dataclass(frozen=True, eq=False)
class FormalismWay(OwnClosure):
    """A way of its own that a formalism has from the constraints to (u̇, λ): taken if no other
    closure is asked for, and every motion has inertia."""

    derive: Callable[[], Solver]

    def way(self, closed: Closed) -> Way:
        terms = closed.terms
        if not (terms.constraints and closed.is_default) or closed.massless:
            return closed.by_closure
        return SolverWay(
            checked(self.derive(), terms.M, terms.A, terms.scales.factors), len(terms.constraints)
        )
