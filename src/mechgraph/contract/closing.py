"""Closing: u̇ and λ of any f and b as expressions, by a ``Way``.

Terms may have a way of their own (``OwnClosure``): none, by a complement, or a formalism's. A
composition knows its tree (``composition/tree_closure.py``). Else it is the closure that is asked
for (``solver``).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from casadi import SX

from ..closures import sparse
from ..closures.closure import CLOSURES
from ..closures.expressions import (
    ITERATIONS,
    SINGULAR,
    Factor,
    Solver,
    balance,
    checked,
    complement,
    complete_inertia,
    drag,
    holding,
    mask_unknown,
    refine_solver,
)
from ..numerics.scales import multiply_rows
from ..numerics.tolerances import MET, PROXIMAL, WELL_HELD

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
        """The part of u̇ by f and b, a number even if the rows contradict each other."""


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
        return mask_unknown(udot, condition, SINGULAR), none

    return Solver(solution, condition, lambda f, b: (Factor(terms.M).solve(f), none))


def solver(
    terms: Terms,
    closure: str,
    massless: bool,
    A: SX,
    G: SX | None = None,
    iterations: int = ITERATIONS,
    proximal: float = PROXIMAL,
) -> Solver:
    """(u̇, λ) as a function of f and b; factors are those of all its calls."""
    factors = terms.scales.factors[: A.shape[0]]
    A, G = multiply_rows(factors, A), None if G is None else multiply_rows(factors, G)
    refine = massless and iterations > 1
    M = complete_inertia(terms.M, A) if massless else terms.M
    weights = SX(A.shape[0], 1)
    if massless and G is None and ca.depends_on(ca.diag(terms.M), terms.symbols.q):
        weights = holding(terms.M, A)
        M += A.T @ ca.diag(weights) @ A
    scale = balance(M, A)
    scaled = ca.diag(scale) @ A
    if G is None:
        made = CLOSURES[closure].expression(M, scaled, 1 if refine else iterations, proximal)
    else:
        made = drag(M, scaled, ca.diag(scale) @ G)

    def solution(f: SX, b: SX) -> tuple[SX, SX]:
        udot, lam = made.solve(f - A.T @ (weights * b), scale * b)
        return udot, scale * lam

    found = Solver(solution, made.condition)
    found = refine_solver(found, terms.M, A, A if G is None else G) if refine else found
    even = SX(ca.DM(factors))

    def evened(f: SX, b: SX) -> tuple[SX, SX]:
        udot, lam = found.solve(f, even * b)
        return udot, even * lam

    return Solver(evened, found.condition)


def is_massless(terms: Terms) -> bool:
    """True if some motion has no inertia, so that only constraints determine it: M is singular.

    Seen at a random configuration and beside it, where an inertia that is mere rounding is another
    one.
    """
    s, chart, random = terms.symbols, terms.chart, np.random.default_rng(0)
    if chart.chain_end:
        return True
    (q,) = chart.scattered(random, 1)
    around = chart.normalized(q + MET * random.uniform(-1, 1, (5, len(q))))
    function = ca.Function("M", [s.q, s.t, s.p], [terms.M])
    values = [function(x, 0.0, list(s.defaults)).nonzeros() for x in around]
    found = [sparse.with_entries(terms.M, np.array(value)) for value in values]
    inertia = np.array([M.diagonal() for M in found])
    unknown = np.ptp(inertia, axis=0) > WELL_HELD * np.abs(inertia).max(axis=0)
    return bool(unknown.any()) or sparse.is_singular(found[0])


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
        given = terms.M, terms.A, terms.S, terms.scales.factors, terms.usual_forces
        return SolverWay(complement(*given), len(terms.constraints))


@dataclass(frozen=True, eq=False)
class FormalismWay(OwnClosure):
    """A way of its own that a formalism has from the constraints to (u̇, λ): taken if no other
    closure is asked for, and every motion has inertia."""

    derive: Callable[[], Solver]

    def way(self, closed: Closed) -> Way:
        terms = closed.terms
        if not (terms.constraints and closed.is_default) or closed.massless:
            return closed.by_closure
        given = terms.M, terms.A, terms.scales.factors, terms.usual_forces
        return SolverWay(checked(self.derive(), *given), len(terms.constraints))
