"""Hamilton: coordinates and momenta.

With p = ∂T/∂u, the Hamiltonian is H(q, p, t) = p·u − T + V = ½ (p − p₀)ᵀ M⁻¹ (p − p₀) − T₀ + V, and

    q̇ = N ∂H/∂p + n,        ṗ_k = −X_k H + Σ γ^i_jk u_j p_i + Σ γ^i_0k p_i + Q_k,    u = ∂H/∂p,

with X_k and γ of ``boltzmann_hamel.py``: the canonical equations where speeds are rates of
coordinates, those of Poincaré and Chetaev for others, of which Euler's of a body that turns are one
(ṗ = p × ω + Q). Q are the forces without a potential.

In the contract the momenta are speeds: M ṗ = f there reads M⁻¹ ṗ = M⁻¹ (…), and constraint forces
are along the same rows.
"""

from __future__ import annotations

from functools import cache

import casadi as ca
from casadi import SX

from ..model.description import Description
from ..motion.energy import potential
from ..motion.momenta import MomentumChart, momentum_chart
from ..motion.speeds import joint_chart
from .boltzmann_hamel import gammas, gyroscopic_forces
from .dynamics import Coefficient, Dynamics, check_size
from .lagrange import applied_forces

OPERATIONS = 40  # for every pair of speeds that move a body: M is eliminated, and differentiated


def chart(description: Description) -> MomentumChart:
    """Momenta, of a system whose M can be eliminated."""
    check_size(joint_chart(description), "hamilton", OPERATIONS)
    return momentum_chart(description)


def derive(chart: MomentumChart) -> Dynamics:
    """Dynamics from the Hamiltonian."""
    H = cache(lambda: hamiltonian(chart))
    rates = cache(lambda: _rates(chart, H()))
    inverse = cache(lambda: ca.jacobian(chart.base_rates, chart.symbols.u))  # M⁻¹
    return Dynamics(
        M=inverse,
        f=lambda: inverse() @ rates(),
        solve=lambda tau: rates() + chart.M @ tau,
        inverse=lambda pdot: inverse() @ (pdot - rates()),
        condition=lambda: chart.condition,
        coefficients={
            "H": Coefficient(0, H),
            "u": Coefficient(1, lambda: chart.base_rates),
            "pdot": Coefficient(1, rates),
        },
    )


def hamiltonian(chart: MomentumChart) -> SX:
    """H = ½ (p − p₀)ᵀ M⁻¹ (p − p₀) − T₀ + V."""
    p = chart.symbols.u - chart.p_0
    return ca.dot(p, chart.base_rates) / 2 - chart.T_0 + potential(chart)


def _rates(chart: MomentumChart, H: SX) -> SX:
    """ṗ without constraint forces."""
    base, u, p = chart.base, chart.base_rates, chart.symbols.u
    Q = ca.substitute(applied_forces(base), base.symbols.u, u)
    return Q - base.N.T @ ca.gradient(H, chart.symbols.q) + gyroscopic_forces(*gammas(base), u, p)
