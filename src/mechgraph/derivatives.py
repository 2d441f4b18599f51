"""Exact derivatives of the functions of ``Equations``, as expressions."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import casadi as ca
from casadi import SX

from .errors import ArgumentError, unknown

if TYPE_CHECKING:
    from .equations import Equations

FUNCTIONS: dict[str, Callable[[Equations], SX]] = {
    "accelerations": lambda e: e.udot,
    "efforts": lambda e: e.tau,
    "forces": lambda e: e.f,
    "mass_matrix": lambda e: ca.vec(ca.densify(e.M)),
    "coordinate_rates": lambda e: e.N @ e.symbols.u,
    "position_violation": lambda e: e.phi,
    "velocity_violation": lambda e: e.psi,
    "kinetic_energy": lambda e: e.kinetic,
    "potential_energy": lambda e: e.potential,
}
VARIABLES = {"q": "q", "u": "u", "inputs": "w", "parameters": "p", "t": "t"}


def derivative(equations: Equations, of: str, wrt: str) -> SX:
    """∂(of)/∂(wrt) as a matrix."""
    if of not in FUNCTIONS:
        raise ArgumentError(unknown("function", of, FUNCTIONS))
    if wrt not in VARIABLES:
        raise ArgumentError(unknown("variable", wrt, VARIABLES))
    variable = getattr(equations.symbols, VARIABLES[wrt])
    if of == "accelerations" and not equations.constraints:
        return _of_accelerations(equations, variable)
    return ca.jacobian(FUNCTIONS[of](equations), variable)


def _of_accelerations(equations: Equations, variable: SX) -> SX:
    """∂u̇/∂x = −M⁻¹ ∂τ/∂x at τ(u̇) = 0: inverse dynamics is the shorter thing to differentiate."""
    udot = equations.symbols.udot
    slope = ca.substitute(ca.jacobian(equations.tau, variable), udot, equations.udot)
    return -ca.ldl_solve(ca.densify(slope), *ca.ldl(equations.M))
