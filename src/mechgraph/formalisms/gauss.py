"""Gauss: the principle of least constraint.

Of all accelerations that the constraints allow, the real ones make the constraint (the *Zwang*)
least,

    Z(u̇) = Σ ½ m |a_C − g|² + ½ ε·Iε + ε·(ω × Iω) − F·u̇,

up to what does not depend on u̇; F are the generalized forces of all but gravity. Its Hessian is M,
and minus its gradient at u̇ = 0 is f (C. F. Gauss, Über ein neues allgemeines Grundgesetz der
Mechanik, 1829).
"""

from __future__ import annotations

from functools import cache

import casadi as ca
from casadi import SX

from ..motion.chart import Chart
from ..motion.loads import actions, generalized
from ..motion.rotors import spins
from ..vectors import traced
from .dynamics import Coefficient, Dynamics, check_size

OPERATIONS = 20  # for each pair of speeds that move a body, about


def derive(chart: Chart) -> Dynamics:
    """Dynamics from the Hessian and the gradient of the constraint."""
    check_size(chart, "gauss", OPERATIONS)
    udot = chart.symbols.udot
    Q = cache(lambda: generalized(chart, actions(chart)))
    inertial = cache(lambda: _of_bodies(chart))
    slope = cache(lambda: ca.densify(ca.gradient(inertial(), udot)))
    return Dynamics(
        M=lambda: ca.jacobian(slope(), udot),
        f=lambda: Q() - ca.substitute(slope(), udot, SX.zeros(udot.numel())),
        coefficients={"Z": Coefficient(0, lambda: inertial() - ca.dot(Q(), udot))},
    )


def _of_bodies(chart: Chart) -> SX:
    """Its part of inertia and gravity, quadratic in u̇; that of applied forces is linear."""
    total = SX(0)
    for j, body in chart.carried:
        if not body.weightless:
            g = chart.pose(j)[0].T @ chart.description.gravity
            motion = chart.twist(j)[0], *chart.acceleration(j)
            total += _of_body(*motion, body.mass, body.com, body.inertia, g)
    for J, _, D, c in spins(chart):
        total += J * (D @ chart.symbols.udot + c) ** 2 / 2
    return total


@traced
def _of_body(omega: SX, epsilon: SX, w: SX, mass: SX, c: SX, inertia: SX, g: SX) -> SX:
    """½ m |a_C − g|² + ½ ε·Iε + ε·(ω × Iω), in the axes of the frame that carries the body."""
    off = w + ca.cross(epsilon, c) + ca.cross(omega, ca.cross(omega, c)) - g
    turning = ca.dot(epsilon, inertia @ epsilon / 2 + ca.cross(omega, inertia @ omega))
    return mass * ca.dot(off, off) / 2 + turning
