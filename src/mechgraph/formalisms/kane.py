"""Kane: partial velocities and partial angular velocities of each body, in world axes.

With v_C = V u + …, ω = W u + … and a, α their derivatives at u̇ = 0 (Kane and Levinson, *Dynamics: Theory and Applications*):

    M = Σ m Vᵀ V + Wᵀ I W,        f = Σ Vᵀ (m g − m a) − Wᵀ (I α + ω × I ω) + generalized active forces.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

import casadi as ca
from casadi import SX

from ..elements.bodies import Marker
from ..kinematics import Kinematics
from ..loads import actions, generalized
from ..motion import Motion
from .dynamics import Dynamics


def derive(kinematics: Kinematics) -> Dynamics:
    """Dynamics from partial velocities."""
    bodies = cache(lambda: list(_bodies(kinematics)))

    def M() -> SX:
        n = kinematics.symbols.u.numel()
        return sum((m * V.T @ V + W.T @ inertia @ W for m, V, W, inertia, _, _ in bodies()), SX(n, n))

    def f() -> SX:
        inertial = (V.T @ force + W.T @ moment for _, V, W, _, force, moment in bodies())
        return sum(inertial, generalized(kinematics, actions(kinematics)))

    return Dynamics(M, f)


def _bodies(kinematics: Kinematics) -> Iterator[tuple[SX, SX, SX, SX, SX, SX]]:
    """For each body: mass, partial velocities V and W, central inertia, gravity minus inertia force, minus inertia moment."""
    m, u, udot = Motion(kinematics), kinematics.symbols.u, kinematics.symbols.udot
    still = (udot, SX.zeros(udot.numel()))
    for body in kinematics.system.bodies.values():
        if body.weightless:
            continue
        centre = Marker(body.name, body, body.com, SX.eye(3))
        R, omega = m.rotation(body), m.angular_velocity(body)
        V, W = ca.jacobian(m.velocity(centre), u), ca.jacobian(omega, u)
        a, alpha = (ca.substitute(x, *still) for x in (m.acceleration(centre), m.angular_acceleration(body)))
        inertia = R @ body.inertia @ R.T
        moment = inertia @ alpha + ca.cross(omega, inertia @ omega)
        yield body.mass, V, W, inertia, body.mass * (kinematics.system.gravity - a), -moment
