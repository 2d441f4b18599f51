"""The terms closed: u̇ and λ as expressions of (q, u, t, w), the way back to the constraints, and
what an integrator needs of both."""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np
from casadi import SX
from scipy.sparse import csc_matrix

from ..closures import sparse
from ..closures.closure import CLOSURES
from ..closures.expressions import (
    ITERATIONS,
    SINGULAR,
    Solver,
    balance,
    complement,
    completed,
    drag,
    known,
    multipliers_of,
    refined,
    solve_tree,
)
from ..errors import UnsupportedError
from ..kernels import flow
from ..kernels.kinks import kinks
from .composed import Composed
from .terms import Terms


class Closed:
    """Terms with a closure; each expression is derived when it is first asked for."""

    def __init__(self, terms: Terms, closure: str) -> None:
        self.terms, self.closure = terms, closure
        self._flows: dict[tuple[bool, bool], flow.Flow] = {}

    # --- accelerations ----------------------------------------------------------------------------

    @cached_property
    def udot(self) -> SX:
        """u̇(q, u, t, w) with all constraints, as one expression: the formalism's own route, or the
        closure.

        Without constraints it is no number where M is singular.
        """
        terms = self.terms
        if terms.composed is not None and not terms.has_friction:
            return terms.composed.close(terms.f, terms.b)
        if terms.constraints:
            return self._solution[0]
        if terms.solve is None:
            udot = self._by_factor[0]
        else:
            udot = terms.solve(SX.zeros(terms.symbols.u.numel()))
        return known(udot, self.condition, SINGULAR)

    @cached_property
    def _by_factor(self) -> tuple[SX, SX]:
        return solve_tree(self.terms.M, self.terms.f)

    @property
    def condition(self) -> SX:
        """How badly u̇ is known, as one expression (see ``Solver``); zero if a composition or
        a route of the user's own does not tell."""
        terms = self.terms
        if terms.composed is not None and not terms.has_friction:
            return SX(0)
        if terms.S is not None and not terms.has_friction:
            return self._by_complement.condition
        if terms.constraints:
            return self._whole.condition
        if terms.solve is None:
            return self._by_factor[1]
        return SX(0) if terms.condition is None else terms.condition()

    @cached_property
    def is_expression(self) -> bool:
        """False if u̇ would be too large an expression."""
        try:
            return self.udot is not None
        except UnsupportedError:
            return False

    @property
    def lam(self) -> SX:
        """λ(q, u, t, w), as one expression; of redundant constraints not the least-norm ones to the
        last digit."""
        return self._solution[1] if self.terms.constraints else SX(0, 1)

    @cached_property
    def _solution(self) -> tuple[SX, SX]:
        return self.solution(self.terms.f, self.terms.b)

    @cached_property
    def _whole(self) -> Solver:
        return self._solver(self.terms.A, self.terms.G if self.terms.has_friction else None)

    @cached_property
    def _by_complement(self) -> Solver:
        return complement(self.terms.M, self.terms.A, self.terms.S)

    def solution(self, f: SX, b: SX) -> tuple[SX, SX]:
        """(u̇, λ) from M u̇ = f + Gᵀλ, A u̇ + b = 0, for any f and b: by the complement S where one is
        known, else by the closure."""
        terms = self.terms
        if terms.composed is not None and not terms.has_friction:
            udot = terms.composed.close(f, b)
            return udot, multipliers_of(terms.M, terms.A, f, udot)
        if terms.S is not None and not terms.has_friction:
            return self._by_complement.solve(f, b)
        return self._whole.solve(f, b)

    def _solver(self, A: SX, G: SX | None = None, iterations: int = ITERATIONS) -> Solver:
        """(u̇, λ) as a function of f and b; factors are those of all its calls."""
        refine = self._massless and iterations > 1
        M = completed(self.terms.M, A) if self._massless else self.terms.M
        scale = balance(M, A)
        scaled = ca.diag(scale) @ A
        if G is None:
            made = CLOSURES[self.closure].expression(M, scaled, 1 if refine else iterations)
        else:
            made = drag(M, scaled, ca.diag(scale) @ G)

        def solution(f: SX, b: SX) -> tuple[SX, SX]:
            udot, lam = made.solve(f, scale * b)
            return udot, scale * lam

        solver = Solver(solution, made.condition)
        return refined(solver, self.terms.M, A, A if G is None else G) if refine else solver

    @cached_property
    def _massless(self) -> bool:
        """True if some motion has no inertia, so that only constraints determine it: M is singular.

        Seen at a random configuration and beside it, where an inertia that is mere rounding is
        another one.
        """
        s, chart, random = self.terms.symbols, self.terms.chart, np.random.default_rng(0)
        if chart.chain_end:
            return True
        q = np.array(chart.reference) + random.uniform(-1, 1, len(s.coordinates))
        around = chart.normalized(q + 1e-13 * random.uniform(-1, 1, (5, len(q))))
        function = ca.Function("M", [s.q, s.t, s.p], [self.terms.M])
        values = [function(x, 0.0, list(s.defaults)).nonzeros() for x in around]
        found = [sparse_matrix(self.terms.M, np.array(value)) for value in values]
        inertia = np.array([M.diagonal() for M in found])
        unknown = np.ptp(inertia, axis=0) > 1e-3 * np.abs(inertia).max(axis=0)
        return bool(unknown.any()) or sparse.is_singular(found[0])

    # --- power ------------------------------------------------------------------------------------

    @cached_property
    def work_rates(self) -> SX:
        """Power supplied and power dissipated, as expressions of (q, u, t, w); empty if nothing
        does either."""
        powers = ca.vertcat(self.terms.supplied, self.terms.dissipated)
        if powers.is_zero() and not self.terms.chart.description.switched:
            return SX(0, 1)
        solution = ca.vertcat(self.udot, self.lam)
        return ca.densify(ca.substitute(powers, self.force_symbols, solution))

    @property
    def force_symbols(self) -> SX:
        """(u̇, λ): what reactions and power depend on beside q, u, t, w, p."""
        return ca.vertcat(self.terms.symbols.udot, self.terms.multipliers)

    # --- for integrators --------------------------------------------------------------------------

    @cached_property
    def projected(self) -> SX | None:
        """(q, u) brought back to the constraints by one Newton step, of least kinetic energy; None
        if there is nothing to keep."""
        terms, chart = self.terms, self.terms.chart
        if not terms.psi.numel() and not chart.quaternions:
            return None
        q, u, none = SX(terms.symbols.q), terms.symbols.u, SX.zeros(terms.symbols.u.numel())
        count, total = terms.phi.numel(), terms.psi.numel()
        if not total:
            return ca.vertcat(chart.normalized_expression(q), u)
        if terms.composed is not None:
            return self._projected_along_tree(terms.composed)
        # one iteration is enough: the next step meets what this one leaves
        solver = self._solver(terms.A[:total, :], iterations=1)
        if count:
            places = solver if count == total else self._solver(terms.A[:count, :], iterations=1)
            q = q + terms.N @ places.solve(none, terms.phi)[0]
        q = chart.normalized_expression(q)
        u = u + solver.solve(none, ca.substitute(terms.psi, terms.symbols.q, q))[0]
        return ca.vertcat(q, u)

    @cached_property
    def kinks(self) -> SX:
        """All that is zero where the forces or the constraints change from one piece to another."""
        terms = self.terms
        return kinks(ca.vertcat(terms.f, terms.psi, terms.b, ca.vec(terms.G)))

    def _projected_along_tree(self, composed: Composed) -> SX:
        """The same with the complements of a composition, which cost little."""
        terms, none = self.terms, SX.zeros(self.terms.symbols.u.numel())
        q = SX(terms.symbols.q)
        if terms.phi.numel():
            q = q + terms.N @ composed.place(terms.phi)
        q = terms.chart.normalized_expression(q)
        psi = ca.substitute(terms.psi, terms.symbols.q, q)
        rest = SX.zeros(len(terms.constraints) - psi.numel())
        return ca.vertcat(q, terms.symbols.u + composed.close(none, ca.vertcat(psi, rest)))

    def flow(
        self, udot: SX | None = None, project: bool = True, account: bool = False
    ) -> flow.Flow:
        """q̇, u̇ (or another one) and the way back to the constraints, for integrators.

        With ``account``, the work that is supplied and dissipated is integrated along.
        """
        s, key = self.terms.symbols, (project, account)
        if udot is None and key in self._flows:
            return self._flows[key]
        keep = self.projected if project else None
        rates = self.work_rates if account else SX(0, 1)
        accelerations = self.udot if udot is None else udot
        made = flow.Flow(
            s.q, s.u, s.t, s.w, s.p, self.terms.qdot, accelerations, keep, work_rates=rates
        )
        if udot is None:
            self._flows[key] = made
        return made


def sparse_matrix(pattern: SX, entries: np.ndarray) -> csc_matrix:
    """The matrix of that pattern with these entries."""
    sparsity = pattern.sparsity()
    return csc_matrix((entries, sparsity.row(), sparsity.colind()), pattern.shape)


def entries(matrix: SX) -> SX:
    """The entries of a sparse matrix that are there, column by column."""
    return ca.vertcat(SX(0, 1), *matrix.nonzeros())
