"""Kane: partial velocities and partial angular velocities of all bodies, in world axes.

With v_C = V u + …, ω = W u + … and a, α their derivatives at u̇ = 0 (Kane and Levinson, *Dynamics:
Theory and Applications*):

    M = Σ m Vᵀ V + Wᵀ I W,        f = Σ Vᵀ (m g − m a) − Wᵀ (I α + ω × I ω) + generalized active
    forces.

The rows of all bodies stand one below the other, so that each sum is one product.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import casadi as ca
from casadi import SX

from ..model.bodies import Massive
from ..motion.chart import Chart
from ..motion.loads import actions, generalized
from ..motion.rotors import spins
from ..vectors import traced
from .dynamics import Coefficient, Dynamics, check_size

Rows = tuple[SX, SX, SX]


OPERATIONS = 15  # for each pair of speeds that move a body, about


def derive(chart: Chart) -> Dynamics:
    """Dynamics from partial velocities."""
    check_size(chart, "kane", OPERATIONS)
    terms = cache(lambda: partial_velocities(chart))

    def M() -> SX:
        partial, inertia, _ = terms()
        return partial.T @ (inertia @ partial)

    def f() -> SX:
        partial, _, forces = terms()
        return partial.T @ forces + active_forces(chart)

    def rows(*kinds: int) -> SX:
        partial = terms()[0]
        return partial[[k for k in range(partial.shape[0]) if k % 6 in kinds], :]

    return Dynamics(
        M,
        f,
        coefficients={
            "V": Coefficient(2, lambda: rows(0, 1, 2)),
            "W": Coefficient(2, lambda: rows(3, 4, 5)),
            "F": Coefficient(1, lambda: active_forces(chart)),
        },
    )


def active_forces(chart: Chart) -> SX:
    """Generalized active forces of all but gravity."""
    return generalized(chart, actions(chart))


def partial_velocities(chart: Chart) -> Rows:
    """Partial velocities (V, W of each body), inertias (m, I of each), gravity and inertia forces
    and moments."""
    rows = list(_rows_of_bodies(chart))
    velocities, inertias, forces = zip(*rows, strict=True) if rows else ((), (), ())
    none = SX(0, 1)
    partial = ca.jacobian(ca.vertcat(none, *velocities), chart.symbols.u)
    return partial, ca.diagcat(SX(0, 0), *inertias), ca.vertcat(none, *forces)


def _rows_of_bodies(chart: Chart) -> Iterator[Rows]:
    for j, body in chart.carried:
        if not body.weightless:
            yield body_rows(chart, j, body)
    for J, s, _, c in spins(chart):
        yield s, J, -J * c


def body_rows(chart: Chart, frame: Any, body: Massive) -> Rows:
    """(v_C, ω) of a body, diag(m, I), and gravity minus inertia forces and moments, in world
    axes."""
    motion = (*chart.twist(frame), *chart.acceleration(frame, moving=False))
    inertia = body.mass, body.com, body.inertia
    return _body_rows(chart.pose(frame)[0], *motion, *inertia, chart.description.gravity)


@traced
def _body_rows(
    R: SX, omega: SX, v: SX, alpha: SX, a: SX, mass: SX, c: SX, inertia: SX, gravity: SX
) -> Rows:
    """(v_C, ω), diag(m, I) and gravity minus inertia, from what is given in the axes of the frame
    that carries the body."""
    velocity = ca.vertcat(R @ (v + ca.cross(omega, c)), R @ omega)
    acceleration = R @ (a + ca.cross(alpha, c) + ca.cross(omega, ca.cross(omega, c)))
    moment = R @ (inertia @ alpha + ca.cross(omega, inertia @ omega))
    return (
        velocity,
        ca.diagcat(mass * SX.eye(3), R @ inertia @ R.T),
        ca.vertcat(mass * (gravity - acceleration), -moment),
    )
