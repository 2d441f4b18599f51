"""Absolute coordinates: a network of bodies and constraints (Kosenko, *How one can arrange the
multibody system dynamics computer model*; corrected).

Each body owns its mass centre r and a quaternion, seven coordinates, and six speeds: v = ṙ in world
axes and ω in its own axes. Newton's and Euler's equations hold for each body alone,

    m v̇ = m g + Σ F,        I ω̇ + ω × I ω = Σ M,

and every joint is a constraint: its closing equations, with multipliers that are its reaction. M is
constant and block diagonal, A has the pattern of the graph, so that the sparse closure costs in
proportion to the number of bodies.
"""

from __future__ import annotations

import casadi as ca
from casadi import SX

from ..model.bodies import Marker
from ..model.description import Description
from ..model.joints import Free, Joint
from ..motion.kinematics import Kinematics
from ..motion.loads import actions, on_frames, split
from ..motion.topology import Arc, Topology
from ..motion.turns import counting_kinematics
from .dynamics import Dynamics


def derive(kinematics: Kinematics) -> Dynamics:
    """Dynamics of the free bodies; the joints follow as constraints."""
    own = counting_kinematics(kinematics.system, free_bodies(kinematics.system))
    return Dynamics(lambda: _mass_matrix(own), lambda: _forces(own), kinematics=own)


def free_bodies(system: Description) -> Topology:
    """Every body joined to ground by a free joint at its mass centre, and every joint of the system
    cut."""
    origin = Marker("ground", system.ground, SX.zeros(3), SX.eye(3))
    free = (
        Joint(body.name, origin, Marker(body.name, body, body.com, SX.eye(3)), Free())
        for body in system.bodies.values()
    )
    arcs = tuple(Arc(joint, "ground", joint.name, reversed=False) for joint in free)
    return Topology(tuple(system.bodies), arcs, tuple(system.joints.values()), ())


def _mass_matrix(kinematics: Kinematics) -> SX:
    """Blocks m 1, I of each body; nothing for the coordinates that cut chains carry."""
    blocks = [
        block
        for body in kinematics.system.bodies.values()
        for block in (body.mass * SX.eye(3), body.inertia)
    ]
    carried = kinematics.symbols.u.numel() - 6 * len(
        kinematics.system.bodies
    )  # by cut chains: they come last
    return ca.sparsify(ca.diagcat(*blocks, SX(carried, carried)))


def _forces(kinematics: Kinematics) -> SX:
    """m g + Σ F and Σ M − ω × I ω of each body; efforts along the coordinates that cut chains
    carry."""
    wrenches, f = split(kinematics, actions(kinematics))
    loads = on_frames(kinematics, wrenches)
    u, gravity = kinematics.symbols.u, kinematics.system.gravity
    for name, body in kinematics.system.bodies.items():
        index, first = kinematics.body_frame[name], kinematics.joint_speeds[name][0]
        R, omega = kinematics.poses[index][0], u[first + 3 : first + 6]
        torque, force = loads.get(index, (SX.zeros(3), SX.zeros(3)))
        f[first : first + 3] += body.mass * gravity + R @ force
        f[first + 3 : first + 6] += torque - ca.cross(omega, body.inertia @ omega)
    return f
