"""Boltzmann–Hamel: Lagrange's equations in quasi-velocities.

The speeds u move the coordinates along the fields X_k = Σ N_ak ∂/∂q_a, and time along
X_0 = ∂/∂t + Σ n_a ∂/∂q_a. The fields do not commute, [X_j, X_k] = Σ γ^i_jk X_i, and with
p = ∂T/∂u of the kinetic energy T(q, u, t) the equations are (G. Hamel, Theoretische Mechanik, 1949;
J. I. Neimark, N. A. Fufaev, Dynamics of Nonholonomic Systems, 1972, chapter III)

    ṗ_k − X_k T − Σ γ^i_jk u_j p_i − Σ γ^i_0k p_i = Q_k − X_k V.

For speeds that are rates of coordinates γ is zero, and they are Lagrange's; for the angular
velocity of a body they are Euler's.
"""

from __future__ import annotations

from functools import cache

import casadi as ca
import numpy as np
from casadi import SX

from ..motion.chart import slope
from ..motion.energy import kinetic, potential
from ..motion.speeds import SpeedChart
from ..motion.tree import TreeChart
from .dynamics import Coefficient, Dynamics, check_size
from .lagrange import applied_forces

OPERATIONS = 60  # for each pair of speeds that move a body, about


def derive(chart: TreeChart) -> Dynamics:
    """Dynamics from the kinetic energy in the speeds, and the fields that they move along."""
    check_size(chart, "boltzmann-hamel", OPERATIONS)
    s, N = chart.symbols, chart.N
    T = cache(lambda: kinetic(chart))
    p = cache(lambda: ca.densify(ca.gradient(T(), s.u)))
    gamma = cache(lambda: gammas(chart))
    Q = cache(lambda: applied_forces(chart) - N.T @ ca.gradient(potential(chart), s.q))

    def f() -> SX:
        return (
            Q()
            + N.T @ ca.gradient(T(), s.q)
            + gyroscopic_forces(*gamma(), s.u, p())
            - chart.rate(p())
        )

    return Dynamics(
        M=lambda: ca.jacobian(p(), s.u),
        f=f,
        coefficients={
            "gamma": Coefficient(3, lambda: gamma()[0]),
            "gamma_0": Coefficient(2, lambda: gamma()[1]),
            "T": Coefficient(0, T),
            "p": Coefficient(1, p),
            "Q": Coefficient(1, Q),
        },
    )


def gyroscopic_forces(gamma: list[SX], gamma_0: SX, u: SX, p: SX) -> SX:
    """Σ γ^i_jk u_j p_i + Σ γ^i_0k p_i, for each k."""
    return ca.vertcat(SX(0, 1), *(p.T @ table @ u for table in gamma)) + gamma_0.T @ p


# --- the coefficients -----------------------------------------------------------------------------


def gammas(chart: TreeChart) -> tuple[list[SX], SX]:
    """γ^i_jk as a matrix over (i, j) for each k, and γ^i_0k as a matrix over (i, k).

    Those of the joints' speeds are constants g: zero, and ±1 for the angular velocity of a
    quaternion. For others, u_J = W u + w and u = V u_J + v,

        γ^i_jk = Σ V_il (X_j W_lk − X_k W_lj + Σ g^l_mn W_mj W_nk),

    and the same with w in the place of column j for γ^i_0k.
    """
    count, g = chart.symbols.u.numel(), _of_quaternions(chart)
    if not isinstance(chart, SpeedChart):
        return [SX(ca.DM(g[:, :, k])) for k in range(count)], SX(count, count)
    V, W, w = chart.V, chart.W, chart.w
    along = [_derivative(W, chart.symbols.q, chart.N[:, k]) for k in range(count)]  # X_k W
    tables = [
        ca.horzcat(SX(count, 0), *(along[j][:, k] - along[k][:, j] for j in range(count)))
        + _products(g, W, W[:, k])
        for k in range(count)
    ]
    columns = (_derivative(w, chart.symbols.q, chart.N[:, k]) for k in range(count))
    of_time = _in_time(chart, W) - ca.horzcat(SX(count, 0), *columns) - _products(g, W, w)
    return [ca.sparsify(V @ table) for table in tables], ca.sparsify(V @ of_time)


def _products(g: np.ndarray, W: SX, column: SX) -> SX:
    """Σ g^l_mn W_mj column_n, a matrix over (l, j)."""
    rows = [W.T @ (SX(ca.DM(g[i])) @ column) for i in range(len(g))]
    return ca.horzcat(SX(W.shape[1], 0), *rows).T


def _derivative(matrix: SX, q: SX, direction: SX) -> SX:
    return ca.sparsify(slope(matrix, q, direction))


def _in_time(chart: SpeedChart, matrix: SX) -> SX:
    """X_0 of a matrix: along n and along time."""
    s, along = chart.symbols, slope(matrix, chart.symbols.t)
    return along if chart.n is None else along + slope(matrix, s.q, chart.n)


def _of_quaternions(chart: TreeChart) -> np.ndarray:
    """g^l_mn of the joints' speeds, with the axes (l, m, n): read off q̇ = N u at the quaternion
    one, where NᵀN = ¼."""
    joints = chart.joints
    count, q = len(joints.symbols.speeds), joints.symbols.q
    g = np.zeros((count, count, count))
    for four, three in joints.quaternion_speeds:
        N, own = joints.N[list(four), list(three)], q[list(four)]
        slopes = [np.array(ca.DM(ca.jacobian(N[:, k], own))) for k in range(3)]
        one = np.array(ca.DM(ca.substitute(N, own, SX([1, 0, 0, 0]))))
        for j in range(3):
            for k in range(3):
                bracket = slopes[k] @ one[:, j] - slopes[j] @ one[:, k]
                g[list(three), three[j], three[k]] = np.round(4 * one.T @ bracket)
    return g
