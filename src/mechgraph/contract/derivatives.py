"""Exact derivatives of the functions of ``Equations``, as expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import one_of
from ..closures.expressions import solve_tree
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


def derivatives(closed: Closed, of: str, *wrt: str) -> list[SX]:
    """∂(of)/∂x for each variable x named in ``wrt``, a matrix each."""
    variables = [getattr(closed.terms.symbols, VARIABLES[x]) for x in wrt]
    if of == "accelerations" and not closed.terms.constraints:
        return _of_accelerations(closed, variables)
    value = FUNCTIONS[of](closed)
    return [ca.jacobian(value, x) for x in variables]


def _of_accelerations(closed: Closed, variables: list[SX]) -> list[SX]:
    """∂u̇/∂x = −M⁻¹ ∂τ/∂x at τ(u̇) = 0: inverse dynamics is the shorter thing to differentiate."""
    terms = closed.terms
    slopes = ca.horzcat(*(ca.jacobian(terms.tau, x) for x in variables))
    slopes = ca.substitute(slopes, terms.symbols.udot, closed.udot)
    ends = np.cumsum([0, *(x.numel() for x in variables)])
    return ca.horzsplit(-solve_tree(terms.M, slopes)[0], ends.tolist())
