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
from ..motion.points import PointChart
from ..motion.rotors import rotor_terms
from .dynamics import Coefficient, Dynamics
from .kane import body_rows
from .point_routes import FEW, ROUTES, motions, solver


def derive(chart: PointChart, route: str | None = None) -> Dynamics:
    """Dynamics of the particles; distances and closed joints follow as constraints.

    ``route`` says how u̇ is found: by Attia's "momenta" (for few bodies, if not given), with the
    joints' "forces" as unknowns (for many), or by the "closure".
    """
    if route is None:
        route = "momenta" if len(chart.points) <= FEW else "forces"
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
            "particles": Coefficient(
                3, lambda: [_particle_places(chart, name) for name in chart.points]
            ),
        },
        close=None if route == "closure" else partial(_close, chart, inertia, route),
    )


def _close(
    chart: PointChart, inertia: Callable[[], tuple[SX, SX]], route: str, rows: ConstraintRows
) -> Solver:
    return solver(chart, rows, inertia()[0], route)


def _inertia(chart: PointChart) -> tuple[SX, SX]:
    """M, and weight minus inertia forces at u̇ = 0."""
    u = chart.symbols.u
    M, f = rotor_terms(chart)
    for name, laid in chart.layout.bodies.items():
        body = laid.primary.body
        if not body.weightless:
            # an inertia that no particles have would make M indefinite
            rows = body_rows(chart, name, body) if body.allow_unphysical else _rows(chart, name)
            velocity, masses, forces = rows
            V = ca.jacobian(velocity, u)
            M += V.T @ masses @ V
            f += V.T @ forces
    return M, f


def _rows(chart: PointChart, name: str) -> tuple[SX, SX, SX]:
    """Velocities of a body's primary points, M_k ⊗ 1, and their weights and inertia forces."""
    masses, g = chart.layout.bodies[name].primary.mass_matrix, chart.description.gravity
    velocity, own = chart.rate(ca.vertcat(*chart.points[name])), ca.kron(masses, SX.eye(3))
    return velocity, own, ca.kron(ca.sum2(masses), g) - own @ chart.rate(velocity)


def _particle_places(chart: PointChart, body: str) -> SX:
    """Places of a body's particles in the world, a row each."""
    return ca.horzcat(*chart.layout.bodies[body].primary.with_midpoints(chart.points[body])).T
