"""The terms closed: u̇ and λ as expressions of (q, u, t, w), the way back to the constraints, and
what an integrator needs of both."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import casadi as ca
from casadi import SX

from ..closures.closure import DEFAULT_CLOSURE
from ..closures.expressions import ITERATIONS, Solver
from ..errors import UnsupportedError
from ..graph.kinks import kinks
from ..kernels import flow
from ..kernels.routine import Routine
from ..numerics.tolerances import PROXIMAL
from .closing import SolverWay, Way, free, is_massless, solver
from .terms import Terms

TrackWork = bool | Literal["elements"]


class Closed:
    """Terms with a closure; each expression is derived when it is first asked for."""

    def __init__(self, terms: Terms, closure: str, proximal: float = PROXIMAL) -> None:
        self.terms, self.closure, self.proximal = terms, closure, proximal
        self._flows: dict[tuple[bool, TrackWork], flow.Flow] = {}
        self._by_count: dict[int, Solver] = {}

    # --- accelerations ----------------------------------------------------------------------------

    @cached_property
    def way(self) -> Way:
        """From f and b to u̇ and λ: the terms' own way, or else the closure, which is the only one
        where friction goes with the constraint forces."""
        return self.by_closure if self.terms.has_friction else self.terms.closure.way(self)

    @cached_property
    def by_closure(self) -> Way:
        """By the closure that was asked for."""
        terms = self.terms
        if not terms.constraints:
            return SolverWay(free(terms), 0)
        G = terms.G if terms.has_friction else None
        return SolverWay(self._solver(terms.A, G), len(terms.constraints))

    @property
    def has_own_way(self) -> bool:
        """True if the terms are closed in their own way."""
        return self.way is not self.by_closure

    @property
    def is_default(self) -> bool:
        """True if no other closure than the usual one is asked for."""
        return self.closure == DEFAULT_CLOSURE

    @cached_property
    def massless(self) -> bool:
        """True if some motion has no inertia."""
        return is_massless(self.terms)

    @cached_property
    def udot(self) -> SX:
        """u̇(q, u, t, w) with all constraints, as one expression.

        Without constraints it is no number where M is singular.
        """
        return self.way.accelerations(self.terms.f, self.terms.b)

    @cached_property
    def lam(self) -> SX:
        """λ(q, u, t, w), as one expression; of redundant constraints not the least-norm ones to the
        last digit."""
        terms = self.terms
        return self.way.multipliers(terms.f, terms.b) if terms.constraints else SX(0, 1)

    @cached_property
    def is_expression(self) -> bool:
        """False if u̇ would be too large an expression."""
        try:
            return self.udot is not None
        except UnsupportedError:
            return False

    def _solver(self, A: SX, G: SX | None = None, iterations: int = ITERATIONS) -> Solver:
        return solver(self.terms, self.closure, self.massless, A, G, iterations, self.proximal)

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

    @cached_property
    def element_rates(self) -> SX:
        """``work_rates``, whether it is zero or not, and the power of each element in
        ``terms.working``."""
        terms = self.terms
        rates = ca.vertcat(terms.supplied, terms.dissipated, *terms.reactions.powers)
        solution = ca.vertcat(self.udot, self.lam)
        return ca.densify(ca.substitute(rates, self.force_symbols, solution))

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
        q, u, step = SX(terms.symbols.q), terms.symbols.u, terms.closure.projection(self)
        if terms.phi.numel():
            q = q + terms.N @ step(terms.phi)
        q = chart.normalized_expression(q)
        if terms.psi.numel():
            u = u + step(ca.substitute(terms.psi, terms.symbols.q, q))
        return ca.vertcat(q, u)

    def least_step(self, left: SX) -> SX:
        """The step along the speeds that takes φ, or ψ, away, of least kinetic energy."""
        count = left.numel()
        if count not in self._by_count:
            # one iteration is enough: the next step meets what this one leaves, if that is little
            times = 1 if self.proximal <= PROXIMAL else ITERATIONS
            self._by_count[count] = self._solver(self.terms.A[:count, :], iterations=times)
        return self._by_count[count].solve(SX.zeros(self.terms.symbols.u.numel()), left)[0]

    @cached_property
    def kinks(self) -> SX:
        """All that is zero where the forces or the constraints change from one piece to another."""
        terms = self.terms
        return kinks(ca.vertcat(terms.f, terms.psi, terms.b, ca.vec(terms.G)))

    def flow(
        self, udot: SX | None = None, project: bool = True, track_work: TrackWork = False
    ) -> flow.Flow:
        """q̇, u̇ (or another one) and the way back to the constraints, for integrators.

        With ``track_work``, the work that is supplied and dissipated is integrated along, with
        "elements" that of each element, too.
        """
        s, key = self.terms.symbols, (project, track_work)
        if udot is None and key in self._flows:
            return self._flows[key]
        keep = self.projected if project else None
        rates = SX(0, 1)
        if track_work:
            rates = self.element_rates if track_work == "elements" else self.work_rates
        accelerations = self.udot if udot is None else udot
        made = flow.Flow(
            s.q, s.u, s.t, s.w, s.p, self.terms.qdot, accelerations, keep, work_rates=rates
        )
        if udot is None:
            self._flows[key] = made
        return made

    @property
    def routines(self) -> list[Routine]:
        """Functions that runs have called."""
        return [routine for made in self._flows.values() for routine in made.routines.values()]


def entries(matrix: SX) -> SX:
    """The entries of a sparse matrix that are there, column by column."""
    return ca.vertcat(SX(0, 1), *matrix.nonzeros())
