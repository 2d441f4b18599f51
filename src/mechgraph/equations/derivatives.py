"""Exact derivatives of the functions of ``Equations``, as expressions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import one_of
from ..closures.closure import solve_tree

if TYPE_CHECKING:
    from .equations import Equations

FUNCTIONS: dict[str, Callable[[Equations], SX]] = {
    "accelerations": lambda e: e.udot,
    "efforts": lambda e: e.tau,
    "forces": lambda e: e.f,
    "mass_matrix": lambda e: ca.vec(ca.densify(e.M)),
    "coordinate_rates": lambda e: e.kinematics.qdot,
    "position_violation": lambda e: e.phi,
    "velocity_violation": lambda e: e.psi,
    "kinetic_energy": lambda e: e.kinetic,
    "potential_energy": lambda e: e.potential,
}
VARIABLES = {"q": "q", "u": "u", "inputs": "w", "parameters": "p", "t": "t"}


def named(of: str, wrt: str | Sequence[str]) -> tuple[str, ...]:
    """The name of a function and those of the variables, if all are known."""
    variables = wrt if isinstance(wrt, (list, tuple)) else (wrt,)
    return one_of("function", of, FUNCTIONS), *(one_of("variable", x, VARIABLES) for x in variables)


def derivatives(equations: Equations, of: str, *wrt: str) -> list[SX]:
    """∂(of)/∂x for each variable x named in ``wrt``, a matrix each."""
    variables = [getattr(equations.symbols, VARIABLES[x]) for x in wrt]
    if of == "accelerations" and not equations.constraints:
        return _of_accelerations(equations, variables)
    value = FUNCTIONS[of](equations)
    return [ca.jacobian(value, x) for x in variables]


def _of_accelerations(equations: Equations, variables: list[SX]) -> list[SX]:
    """∂u̇/∂x = −M⁻¹ ∂τ/∂x at τ(u̇) = 0: inverse dynamics is the shorter thing to differentiate."""
    slopes = ca.horzcat(*(ca.jacobian(equations.tau, x) for x in variables))
    slopes = ca.substitute(slopes, equations.symbols.udot, equations.udot)
    ends = np.cumsum([0, *(x.numel() for x in variables)])
    return ca.horzsplit(-solve_tree(equations.M, slopes), ends.tolist())
