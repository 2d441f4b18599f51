"""Lagrange: kinetic and potential energy, differentiated exactly.

The energies are built from *positions* alone: v = ṙ and ω from Rᵀ Ṙ by differentiating the poses,
so that this page shares nothing with the recursions of the others but the poses. With coordinates q
of any number (quaternions, too), q̇ = N u and the d'Alembert–Lagrange principle,

    Nᵀ ( d/dt ∂T/∂q̇ − ∂T/∂q + ∂Π/∂q ) = Q,

which for N = 1 is Lagrange's equation and else its projection on the admissible velocities (the
terms along the quaternion's norm drop out, so how T is continued off the unit sphere does not
matter).

``form="explicit"`` uses the coefficient formulas for revolute trees; see ``lagrange_explicit.py``.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Any

import casadi as ca
from casadi import SX

from ..arguments import choice
from ..errors import UnsupportedError
from ..motion.chart import Chart, slope
from ..motion.energy import potential
from ..motion.loads import actions, split
from ..motion.rotors import rotor_energy
from ..motion.tree import TreeChart
from ..vectors import angular_velocity
from . import lagrange_explicit
from .dynamics import Coefficient, Dynamics, check_size, with_rotors

FORMS = ("energy", "explicit")


OPERATIONS = 250  # for each pair of speeds that move a body, about


def derive(chart: Chart, form: str = "energy", angles: Mapping[str, Any] | None = None) -> Dynamics:
    """Dynamics from the energies, or by the explicit coefficients of a revolute tree, whose frames
    may be turned by free ``angles`` about the hinges."""
    choice("lagrange: form", form, FORMS, UnsupportedError)
    Q = cache(
        lambda: applied_forces(chart) - chart.N.T @ ca.gradient(potential(chart), chart.symbols.q)
    )
    if form == "explicit":
        if not isinstance(chart, TreeChart):
            raise UnsupportedError("lagrange: form='explicit' is for joint coordinates")
        return with_rotors(chart, lagrange_explicit.derive(chart, Q, angles))
    if angles is not None:
        raise UnsupportedError("lagrange: angles belong to form='explicit'")
    check_size(chart, "lagrange", OPERATIONS)
    terms = cache(lambda: _terms(chart))
    made = Dynamics(
        M=lambda: terms()[0],
        f=lambda: Q() - terms()[1],
        coefficients={
            "T": Coefficient(0, lambda: kinetic_energy(chart, chart.qdot) + rotor_energy(chart)),
            "V": Coefficient(0, lambda: potential(chart)),
        },
    )
    return with_rotors(chart, made)


def kinetic_energy(chart: Chart, qdot: SX) -> SX:
    """T = Σ ½ m v_C² + ½ ω·I ω, from the derivatives of the poses along q̇ and t."""
    total = SX(0)
    for j, body in chart.carried:
        if not body.weightless:
            R, p = chart.pose(j)
            v = _rate(chart, p + R @ body.com, qdot)
            omega = _angular_velocity(chart, R, qdot)
            total += body.mass * ca.dot(v, v) / 2 + ca.dot(omega, body.inertia @ omega) / 2
    return total


def _terms(chart: Chart) -> tuple[SX, SX]:
    """M = Nᵀ ∂²T/∂q̇² N, and the rest of the left side, Nᵀ (d/dt ∂T/∂q̇ − ∂T/∂q) at u̇ = 0."""
    symbols, N = chart.symbols, chart.N
    qdot = SX.sym("qdot", symbols.q.numel())
    T = kinetic_energy(chart, qdot)
    momentum = ca.gradient(T, qdot)
    mass = ca.jacobian(momentum, qdot)
    qddot = chart.rate(chart.qdot)  # Ṅ u + ṅ
    rest = mass @ qddot + _rate(chart, momentum, qdot) - ca.gradient(T, symbols.q)
    M, rest = (ca.substitute(x, qdot, chart.qdot) for x in (mass, rest))
    return N.T @ M @ N, N.T @ rest


def applied_forces(chart: Chart) -> SX:
    """Q of everything without a potential, by virtual work: Nᵀ Σ (∂r/∂q)ᵀ F + (∂ω/∂q̇)ᵀ τ."""
    symbols, N = chart.symbols, chart.N
    wrenches, efforts = split(chart, actions(chart, conservative=False))
    Q = chart.along_speeds(efforts)
    qdot = SX.sym("qdot", symbols.q.numel())
    for wrench in wrenches:
        index, at, _ = chart.place(wrench.marker)
        R, p = chart.pose(index)
        Q += N.T @ ca.jtimes(p + R @ at, symbols.q, wrench.force, True)
        Q += N.T @ ca.jtimes(_angular_velocity(chart, R, qdot), qdot, R.T @ wrench.torque, True)
    return Q


def _rate(chart: Chart, expression: SX, qdot: SX) -> SX:
    """Total time derivative of a function of q and t."""
    return slope(expression, chart.symbols.q, qdot) + slope(expression, chart.symbols.t)


def _angular_velocity(chart: Chart, R: SX, qdot: SX) -> SX:
    """ω in body axes, from the rates of the rotation matrix along q̇ and t."""
    return angular_velocity(R, _rate(chart, R, qdot))
