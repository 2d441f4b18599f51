"""Nodes: bodies in a plane by two nodes each and their angular velocities (Orsino 2016, §5.3:
Mo2DPack).

The mass centre r = p₁ + γ e + ρ n × e is linear in the nodes, ṙ = V u with a constant V, so that

    M = Σ m Vᵀ V  and  I  along ω,        f = Σ m Vᵀ g + generalized forces

(with −m Vᵀ V̇ u where time moves the base): M is constant and no inertia force is left in f.
"""

from __future__ import annotations

import casadi as ca
from casadi import SX

from ..motion.loads import actions, generalized
from ..motion.nodes import NodeChart
from .dynamics import Coefficient, Dynamics, with_rotors


def derive(chart: NodeChart) -> Dynamics:
    """Dynamics of the nodes; lengths, turning and closed joints follow as constraints."""
    alone = Dynamics(
        M=lambda: _mass_matrix(chart),
        f=lambda: _weight(chart) + generalized(chart, actions(chart)),
        coefficients={"centres": Coefficient(2, lambda: _centres(chart))},
    )
    return with_rotors(chart, alone)


def _mass_matrix(chart: NodeChart) -> SX:
    u = chart.symbols.u
    M = SX(u.numel(), u.numel())
    for name, body in chart.description.bodies.items():
        V, W = (ca.jacobian(x, u) for x in (chart.rate(_centre(chart, name)), chart.omega(name)))
        inertia = ca.bilin(body.inertia, chart.n_axis, chart.n_axis)
        M += body.mass * (V.T @ V) + inertia * (W.T @ W)
    return ca.sparsify(M)


def _weight(chart: NodeChart) -> SX:
    """m Vᵀ (g − V̇ u) of each body."""
    f, g = SX.zeros(chart.symbols.u.numel()), chart.description.gravity
    for name, body in chart.description.bodies.items():
        velocity = chart.rate(_centre(chart, name))
        f += ca.jtimes(velocity, chart.symbols.u, body.mass * (g - chart.rate(velocity)), True)
    return f


def _centre(chart: NodeChart, name: str) -> SX:
    R, p = chart.pose(name)
    return p + R @ chart.description.bodies[name].com


def _centres(chart: NodeChart) -> SX:
    """(γ, ρ) of each body's mass centre, r = p₁ + γ e + ρ n × e, a row each."""
    rows = [SX(0, 2)]
    for name, laid in chart.layout.bodies.items():
        d = laid.places[1] - laid.places[0]
        c = chart.description.bodies[name].com - laid.places[0]
        pair = ca.horzcat(ca.dot(d, c), ca.dot(chart.n_axis, ca.cross(d, c))) / ca.dot(d, d)
        rows.append(pair)
    return ca.vertcat(*rows)
