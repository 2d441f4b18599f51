"""Absolute coordinates: a network of bodies and constraints (Kosenko, *How one can arrange the
multibody system dynamics computer model*; corrected).

Each body owns its mass centre r and a quaternion, seven coordinates, and six speeds: v = ṙ in world
axes and ω in its own axes. Newton's and Euler's equations hold for each body alone,

    m v̇ = m g + Σ F,        I ω̇ + ω × I ω = Σ M,

and every joint is a constraint: its closing equations, with multipliers that are its reaction. M is
constant and block diagonal, A has the pattern of the graph, so that the sparse closure costs in
proportion to the number of bodies. In a plane a body has three coordinates and speeds.
"""

from __future__ import annotations

import casadi as ca
from casadi import SX

from ..model.description import Description
from ..model.joints import Planar
from ..model.planar import normal
from ..motion.absolute import AbsoluteChart, own_name
from ..motion.loads import actions, on_frames, split
from .dynamics import Dynamics, with_rotors


def derive(chart: AbsoluteChart) -> Dynamics:
    """Dynamics of the free bodies; the joints follow as constraints."""
    alone = Dynamics(lambda: _mass_matrix(chart), lambda: _forces(chart))
    return with_rotors(chart, alone)


def _mass_matrix(chart: AbsoluteChart) -> SX:
    """Blocks m 1, I of each body; nothing for the coordinates that cut chains carry."""
    D = directions(chart.description)
    blocks = [
        D.T @ ca.diagcat(body.mass * SX.eye(3), body.inertia) @ D
        for body in chart.description.bodies.values()
    ]
    # what cut chains carry comes last
    massless = chart.symbols.u.numel() - D.shape[1] * len(blocks)
    return ca.sparsify(ca.diagcat(*blocks, SX(massless, massless)))


def _forces(chart: AbsoluteChart) -> SX:
    """m g + Σ F and Σ M − ω × I ω of each body; efforts along the coordinates that cut chains
    carry."""
    wrenches, f = split(chart, actions(chart))
    loads, D = on_frames(chart, wrenches), directions(chart.description)
    for name, body in chart.description.bodies.items():
        index = chart.body_frame[name]
        own = list(chart.joint_speeds[own_name(chart.description, body)])
        R, omega = chart.pose(index)[0], (D @ chart.symbols.u[own])[3:]
        torque, force = loads.get(index, (SX.zeros(3), SX.zeros(3)))
        applied = body.mass * chart.description.gravity + R @ force
        f[own] += D.T @ ca.vertcat(applied, torque - ca.cross(omega, body.inertia @ omega))
    return f


def directions(description: Description) -> SX:
    """D in (v, ω) = D u of a body: the identity, in a plane two velocities and the rotation about
    the normal."""
    if description.plane is None:
        return SX.eye(6)
    kind = Planar(normal(description))
    return ca.sparsify(ca.diagcat(ca.horzcat(kind.n1, kind.n2), kind.axis))
