"""Points: every body is ten particles (Attia, *Dynamic simulation of constrained mechanical systems
using recursive projection algorithm*; corrected).

With the positions r of the four primary points of a body and its 4x4 matrix of masses M_k, the
kinetic energy is ½ Σ (M_k)_ij ṙ_i·ṙ_j. In the coordinates that are kept, ṙ = V u + …,

    M = Σ Vᵀ (M_k ⊗ 1) V,        f = Σ Vᵀ (M_k 1 ⊗ g − (M_k ⊗ 1) V̇ u) + generalized forces,

where V is the identity for points that are kept and (Attia's E, his eq. 15) for the eliminated one
the slope of r_e = r_a + λ a × b + μ b + τ a. If all four are kept, M is constant.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial

import casadi as ca
from casadi import SX

from ..arguments import choice
from ..closures.expressions import Solver
from ..errors import UnsupportedError
from ..motion.constraint_rows import ConstraintRows
from ..motion.loads import actions, generalized
from ..motion.particles import ten
from ..motion.points import PointChart
from .dynamics import Coefficient, Dynamics
from .point_routes import ROUTES, motions, solver


def derive(chart: PointChart, route: str = "closure") -> Dynamics:
    """Dynamics of the particles; distances and closed joints follow as constraints.

    ``route`` says how u̇ is found: by the closure, by Attia's momenta, or with the joints' forces as
    unknowns.
    """
    choice("points: route", route, ROUTES, UnsupportedError)
    inertia = cache(lambda: _inertia(chart))
    primary = [laid.primary for laid in chart.layout.bodies.values()]
    return Dynamics(
        M=lambda: inertia()[0],
        f=lambda: inertia()[1] + generalized(chart, actions(chart)),
        coefficients={
            "mass_matrices": Coefficient(3, lambda: [each.mass_matrix for each in primary]),
            "masses": Coefficient(2, lambda: ca.horzcat(*(each.masses for each in primary)).T),
            "invariants": Coefficient(
                2, lambda: ca.horzcat(*(each.invariants for each in primary)).T
            ),
            "S": Coefficient(2, lambda: motions(chart)),
            "particles": Coefficient(3, lambda: [_ten(chart, name) for name in chart.points]),
        },
        close=None if route == "closure" else partial(_close, chart, inertia, route),
    )


def _close(
    chart: PointChart, inertia: Callable[[], tuple[SX, SX]], route: str, rows: ConstraintRows
) -> Solver:
    return solver(chart, rows, inertia()[0], route)


def _inertia(chart: PointChart) -> tuple[SX, SX]:
    """M, and weight minus inertia forces at u̇ = 0."""
    s, g = chart.symbols, chart.description.gravity
    M, f = SX(s.u.numel(), s.u.numel()), SX.zeros(s.u.numel())
    for name, laid in chart.layout.bodies.items():
        if laid.primary.body.weightless:
            continue
        masses = laid.primary.mass_matrix
        r = ca.vertcat(*chart.points[name])
        velocity = chart.rate(r)
        V, own = ca.jacobian(velocity, s.u), ca.kron(masses, SX.eye(3))
        M += V.T @ own @ V
        f += V.T @ (ca.kron(ca.sum2(masses), g) - own @ chart.rate(velocity))
    return M, f


def _ten(chart: PointChart, body: str) -> SX:
    """Places of a body's ten particles in the world, a row each."""
    return ca.horzcat(*ten(chart.points[body])).T
