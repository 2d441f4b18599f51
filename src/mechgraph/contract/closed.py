"""The terms closed: u̇ and λ as expressions of (q, u, t, w), the way back to the constraints, and
what an integrator needs of both."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

import casadi as ca
from casadi import SX

from ..closures.closure import DEFAULT_CLOSURE
from ..closures.expressions import (
    ITERATIONS,
    PROXIMAL,
    SINGULAR,
    Solver,
    checked,
    complement,
    known,
    multipliers_of,
    solve_tree,
)
from ..errors import UnsupportedError
from ..kernels import flow
from ..kernels.kinks import kinks
from ..kernels.routine import Routine
from .composed import Composed
from .solver import is_massless, solver
from .terms import Terms

Account = bool | Literal["elements"]


class Closed:
    """Terms with a closure; each expression is derived when it is first asked for."""

    def __init__(self, terms: Terms, closure: str, proximal: float = PROXIMAL) -> None:
        self.terms, self.closure, self.proximal = terms, closure, proximal
        self._flows: dict[tuple[bool, Account], flow.Flow] = {}

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
        """How badly u̇ is known, as one expression (see ``Solver``); zero if a route of the user's
        own does not tell."""
        terms = self.terms
        if terms.composed is not None and not terms.has_friction:
            return SX(terms.composed.close.condition)
        if terms.S is not None and not terms.has_friction:
            return self._by_complement.condition
        if terms.constraints:
            return self._way.condition
        if terms.solve is None:
            return self._by_factor[1]
        return SX(0) if terms.condition is None else terms.condition()

    @property
    def unsure(self) -> list[int]:
        """Rows that u̇ may fail to meet; of a composition those that constants do not decide."""
        terms = self.terms
        if terms.composed is not None and not terms.has_friction:
            return list(terms.composed.close.unsure)
        return list(range(len(terms.constraints)))

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
        return complement(self.terms.M, self.terms.A, self.terms.S, self.terms.scales.factors)

    @property
    def has_own_way(self) -> bool:
        """True if constraints are closed in the formalism's own way: no other closure is asked for,
        and every motion has inertia."""
        asked = self.closure != DEFAULT_CLOSURE
        return not (self.terms.close is None or asked or self.terms.has_friction or self._massless)

    @cached_property
    def _way(self) -> Solver:
        """The formalism's own way with constraints, or the closure."""
        if self.terms.close is None or not self.has_own_way:
            return self._whole
        return checked(self.terms.close(), self.terms.M, self.terms.A, self.terms.scales.factors)

    def solution(self, f: SX, b: SX) -> tuple[SX, SX]:
        """(u̇, λ) from M u̇ = f + Gᵀλ, A u̇ + b = 0, for any f and b: by the complement S where one is
        known, else by the closure."""
        terms = self.terms
        if terms.composed is not None and not terms.has_friction:
            udot = terms.composed.close(f, b)
            return udot, multipliers_of(terms.M, terms.A, f, udot, terms.scales.factors)
        if terms.S is not None and not terms.has_friction:
            return self._by_complement.solve(f, b)
        return self._way.solve(f, b)

    def response(self, f: SX, b: SX) -> SX:
        """What f and b add to u̇: the same, but a number even if the rows contradict each other."""
        terms = self.terms
        if not terms.constraints and terms.composed is None:
            return solve_tree(terms.M, f)[0]
        if terms.composed is not None and not terms.has_friction:
            return terms.composed.close(f, b)
        own = terms.S is not None and not terms.has_friction
        return (self._by_complement if own else self._way).unchecked(f, b)[0]

    def _solver(self, A: SX, G: SX | None = None, iterations: int = ITERATIONS) -> Solver:
        return solver(self.terms, self.closure, self._massless, A, G, iterations, self.proximal)

    @cached_property
    def _massless(self) -> bool:
        return is_massless(self.terms)

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
        """The same, whether it is zero or not, and the power of each element in
        ``terms.working``."""
        terms = self.terms
        if terms.reactions is None:
            raise UnsupportedError(
                f"{terms.name!r}: the work of elements is known of a System only; give account=True"
            )
        powers = [terms.reactions.power_of(name) for name in terms.working]
        rates = ca.vertcat(terms.supplied, terms.dissipated, *powers)
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
        q, u, none = SX(terms.symbols.q), terms.symbols.u, SX.zeros(terms.symbols.u.numel())
        count, total = terms.phi.numel(), terms.psi.numel()
        if not total:
            return ca.vertcat(chart.normalized_expression(q), u)
        if terms.composed is not None:
            return self._placed(terms.composed)
        # one iteration is enough: the next step meets what this one leaves, if that is little
        times = 1 if self.proximal <= PROXIMAL else ITERATIONS
        solver = self._solver(terms.A[:total, :], iterations=times)
        if count:
            places = (
                solver if count == total else self._solver(terms.A[:count, :], iterations=times)
            )
            q = q + terms.N @ places.solve(none, terms.phi)[0]
        q = chart.normalized_expression(q)
        u = u + solver.solve(none, ca.substitute(terms.psi, terms.symbols.q, q))[0]
        return ca.vertcat(q, u)

    @cached_property
    def kinks(self) -> SX:
        """All that is zero where the forces or the constraints change from one piece to another."""
        terms = self.terms
        return kinks(ca.vertcat(terms.f, terms.psi, terms.b, ca.vec(terms.G)))

    def _placed(self, composed: Composed) -> SX:
        """The same by a composition's own way, which costs little."""
        terms, q = self.terms, SX(self.terms.symbols.q)
        if terms.phi.numel():
            q = q + terms.N @ composed.place(terms.phi)
        q = terms.chart.normalized_expression(q)
        psi = ca.substitute(terms.psi, terms.symbols.q, q)
        return ca.vertcat(q, terms.symbols.u + composed.place(psi))

    def flow(
        self, udot: SX | None = None, project: bool = True, account: Account = False
    ) -> flow.Flow:
        """q̇, u̇ (or another one) and the way back to the constraints, for integrators.

        With ``account``, the work that is supplied and dissipated is integrated along, with
        "elements" that of each element, too.
        """
        s, key = self.terms.symbols, (project, account)
        if udot is None and key in self._flows:
            return self._flows[key]
        keep = self.projected if project else None
        rates = SX(0, 1)
        if account:
            rates = self.element_rates if account == "elements" else self.work_rates
        accelerations = self.udot if udot is None else udot
        made = flow.Flow(
            s.q, s.u, s.t, s.w, s.p, self.terms.qdot, accelerations, keep, work_rates=rates
        )
        if udot is None:
            self._flows[key] = made
        return made

    @property
    def routines(self) -> list[Routine]:
        """What runs have called."""
        return [routine for made in self._flows.values() for routine in made.routines.values()]


def entries(matrix: SX) -> SX:
    """The entries of a sparse matrix that are there, column by column."""
    return ca.vertcat(SX(0, 1), *matrix.nonzeros())
