"""Exact derivatives of the functions of ``Equations``, as expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import one_of
from .closed import Closed

FUNCTIONS: dict[str, Callable[[Closed], SX]] = {
    "accelerations": lambda e: e.udot,
    "efforts": lambda e: e.terms.tau,
    "forces": lambda e: e.terms.f,
    "mass_matrix": lambda e: ca.vec(ca.densify(e.terms.M)),
    "coordinate_rates": lambda e: e.terms.qdot,
    "position_violation": lambda e: e.terms.phi,
    "velocity_violation": lambda e: e.terms.psi,
    "kinetic_energy": lambda e: e.terms.kinetic,
    "potential_energy": lambda e: e.terms.potential,
}
VARIABLES = {"q": "q", "u": "u", "inputs": "w", "parameters": "p", "t": "t"}


def named(of: str, wrt: str | Sequence[str]) -> tuple[str, ...]:
    """The name of a function and those of the variables, if all are known."""
    variables = wrt if isinstance(wrt, (list, tuple)) and wrt else (wrt,)
    return one_of("function", of, FUNCTIONS), *(one_of("variable", x, VARIABLES) for x in variables)


@dataclass(frozen=True, eq=False)
class ColumnFunction:
    """A matrix by columns, each of which is the same function of what all share and of its own."""

    shared: SX
    own: SX  # a column for each
    column: ca.Function

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and columns of the matrix."""
        return self.column.size1_out(0), self.own.shape[1]

    @property
    def matrix(self) -> SX:
        """It as one expression."""
        columns = (self.column(self.shared, x) for x in ca.horzsplit(self.own))
        return ca.horzcat(SX(self.shape[0], 0), *columns)


def derivatives(closed: Closed, of: str, *wrt: str) -> list[SX]:
    """∂(of)/∂x for each variable x named in ``wrt``, a matrix each."""
    variables = _variables(closed, wrt)
    if of == "accelerations":
        ends = np.cumsum([0, *(x.numel() for x in variables)])
        return ca.horzsplit(of_accelerations(closed, *wrt).matrix, ends.tolist())
    value = FUNCTIONS[of](closed)
    return [ca.jacobian(value, x) for x in variables]


def of_accelerations(closed: Closed, *wrt: str) -> ColumnFunction:
    """∂u̇ from M ∂u̇ = −∂(τ − Gᵀλ) + Gᵀ∂λ and A ∂u̇ = −∂(A u̇ + b), in which u̇ and λ are held on the
    right: these are shorter to differentiate than what solves them, and one factor serves all."""
    terms, s = closed.terms, closed.terms.symbols
    right = ca.vertcat(terms.constraint_forces - terms.tau, terms.A @ s.udot + terms.b)
    slopes = ca.horzcat(*(ca.jacobian(right, x) for x in _variables(closed, wrt)))
    slopes = ca.substitute(slopes, closed.force_symbols, ca.vertcat(closed.udot, closed.lam))
    own, n = SX.sym("right", right.numel()), s.u.numel()
    response = ca.cse(closed.way.response(own[:n], own[n:]))
    state, whole = ca.vertcat(s.q, s.u, s.t, s.w, s.p), {"extract_trivial": True}
    response, symbols, shared = ca.extract_parametric(response, state, whole)
    symbols, shared = (ca.vertcat(SX(0, 1), *each) for each in (symbols, shared))
    column = ca.Function("column", [symbols, own], [ca.densify(response)], {"cse": True})
    return ColumnFunction(shared, ca.densify(slopes), column)


def _variables(closed: Closed, wrt: Sequence[str]) -> list[SX]:
    return [getattr(closed.terms.symbols, VARIABLES[x]) for x in wrt]
