"""Gibbs–Appell: the energy of accelerations S, walked along the graph; ∂S/∂u̇ = Q.

Garifulin, *Computer simulation of the dynamics of systems of solids*; equation numbers are those of
the source, corrected. S is a polynomial of u and u̇ whose terms with u̇ are (2)

    S = ½ Σ A_jk u̇_j u̇_k + Σ K_ij,k u_i u_j u̇_k + Σ D_ik u_i u̇_k + Σ H_k u̇_k + …

so that the developed equations are A u̇ + (uᵀ K_k u)_k + Dᵀ u + H = Q (3, 34). The coefficients are
found by differentiation, or, as in the source, by probing: S is evaluated at unit velocities and
accelerations, and since the degrees are known the differences are exact. For quaternions u are
quasi-velocities, and nothing else changes.
"""

from __future__ import annotations

from functools import cache

import casadi as ca
from casadi import SX

from ..errors import UnsupportedError
from ..motion.chart import Chart
from ..motion.energy import gravity_potential
from ..motion.loads import actions, generalized
from ..motion.rotors import spins
from .dynamics import Coefficient, Dynamics, check_size

COEFFICIENTS = ("differentiation", "probing")


OPERATIONS = 10  # for each pair of speeds that move a body, about


def derive(chart: Chart, coefficients: str = "differentiation") -> Dynamics:
    """Dynamics from the energy of accelerations; ``coefficients`` says how A, K, D, H are found."""
    check_size(chart, "appell", OPERATIONS)
    if coefficients not in COEFFICIENTS:
        raise UnsupportedError(
            f"appell: coefficients must be one of {COEFFICIENTS}, got {coefficients!r}"
        )
    probing = coefficients == "probing"
    tables = cache(lambda: (_probe if probing else _differentiate)(chart))
    left = cache(lambda: _developed(chart, tables()) if probing else _left_side(chart))
    Q = cache(lambda: applied_forces(chart))
    u, udot = chart.symbols.u, chart.symbols.udot
    return Dynamics(
        M=lambda: ca.jacobian(left(), udot),
        f=lambda: Q() - ca.substitute(left(), udot, SX.zeros(u.numel())),
        coefficients={
            "A": Coefficient(2, lambda: tables()[0]),
            "K": Coefficient(3, lambda: tables()[1]),
            "D": Coefficient(2, lambda: tables()[2]),
            "H": Coefficient(1, lambda: tables()[3]),
            "Q": Coefficient(1, Q),
            "S": Coefficient(0, lambda: _with_accelerations(chart)),
        },
    )


# --- the energy of accelerations ------------------------------------------------------------------


def acceleration_energy(chart: Chart) -> SX:
    """S = Σ S_j over all bodies, up to terms without u̇."""
    total = SX(0)
    for j, body in chart.carried:
        if not body.weightless:
            (epsilon, w), omega = chart.acceleration(j), chart.twist(j)[0]
            total += _body_energy(body.mass, body.com, body.inertia_at_origin, w, epsilon, omega)
    for J, _, D, c in spins(chart):
        total += J * (D @ chart.symbols.udot + c) ** 2 / 2
    return total


def _with_accelerations(chart: Chart) -> SX:
    """The terms of S with u̇; the others have no part in the equations, and are left out."""
    S, udot = acceleration_energy(chart), chart.symbols.udot
    return S - ca.substitute(S, udot, SX.zeros(udot.numel()))


def _body_energy(m: SX, c: SX, Theta: SX, w: SX, epsilon: SX, omega: SX) -> SX:
    """S_j = ½ m w² + m (w×ε)·c + m (w×ω)·(ω×c) + ½ ε·Θε + (ε×ω)·Θω (8), in the axes of frame j."""
    return (
        m * ca.dot(w, w) / 2
        + m * ca.dot(ca.cross(w, epsilon), c)
        + m * ca.dot(ca.cross(w, omega), ca.cross(omega, c))
        + ca.dot(epsilon, Theta @ epsilon) / 2
        + ca.dot(ca.cross(epsilon, omega), Theta @ omega)
    )


def _developed(chart: Chart, tables: Tables) -> SX:
    """A u̇ + (uᵀ K_k u)_k + Dᵀ u + H (3)."""
    (A, K, D, H), u = tables, chart.symbols.u
    quadratic = ca.vertcat(SX(0, 1), *(u.T @ K_k @ u for K_k in K))
    return A @ chart.symbols.udot + quadratic + D.T @ u + H


def _left_side(chart: Chart) -> SX:
    """∂S/∂u̇ (1)."""
    return ca.densify(ca.gradient(acceleration_energy(chart), chart.symbols.udot))


def applied_forces(chart: Chart) -> SX:
    """Q = Q₁ + Q₂: virtual work of springs, drives and friction, and gravity as −∂Π/∂q (29)."""
    gravity = -chart.N.T @ ca.gradient(gravity_potential(chart), chart.symbols.q)
    return generalized(chart, actions(chart)) + gravity


# --- the coefficients of the developed equations --------------------------------------------------

Tables = tuple[SX, list[SX], SX, SX]  # A, K (a matrix for each k), D, H


def _differentiate(chart: Chart) -> Tables:
    """The coefficients as derivatives of ∂S/∂u̇ at u = 0, u̇ = 0."""
    u, udot = chart.symbols.u, chart.symbols.udot
    n = u.numel()
    left = _left_side(chart)
    A = ca.jacobian(left, udot)
    bias = ca.substitute(left, udot, SX.zeros(n))
    slope = ca.jacobian(bias, u)
    at_rest = (u, SX.zeros(n))
    K = [ca.substitute(ca.jacobian(slope[k, :].T, u), *at_rest) / 2 for k in range(n)]
    return A, K, ca.substitute(slope, *at_rest).T, ca.substitute(bias, *at_rest)


def _probe(chart: Chart) -> Tables:
    """The coefficients from values of S at unit velocities and accelerations (§5 of the source,
    steps 1–5).

    Units are such that accelerations of one are those of a driven base, s², and velocities of one
    are s: what the base adds to S would else drown the differences.
    """
    symbols = chart.symbols
    n = symbols.u.numel()
    size = _driven_size(chart)
    total = acceleration_energy(chart)
    energy = ca.Function("S", [symbols.u, symbols.udot], [total], {"allow_free": True})
    e = [SX.eye(n)[:, k] for k in range(n)]
    rest = SX(n, 1)

    def S(u: SX, udot: SX) -> SX:
        return energy.call([size * u, size**2 * udot], True, False)[0] / size**4

    S0 = S(rest, rest)
    A, D, H = SX.zeros(n, n), SX.zeros(n, n), SX.zeros(n)
    K = [SX.zeros(n, n) for _ in range(n)]
    for k in range(n):  # (14), (15)
        s1 = S(rest, e[k])
        A[k, k] = S(rest, 2 * e[k]) - 2 * s1 + S0
        H[k] = s1 - S0 - A[k, k] / 2
    for j in range(n):
        for k in range(j):  # (17)
            A[j, k] = A[k, j] = S(rest, e[j] + e[k]) - S0 - A[j, j] / 2 - A[k, k] / 2 - H[j] - H[k]
    for i in range(n):
        sigma_1, sigma_2 = S(e[i], rest), S(2 * e[i], rest)
        for k in range(n):
            s11, s21 = S(e[i], e[k]), S(2 * e[i], e[k])
            K[k][i, i] = (s21 - sigma_2 - 2 * s11 + 2 * sigma_1 + H[k] + A[k, k] / 2) / 2
            D[i, k] = s11 - sigma_1 - H[k] - A[k, k] / 2 - K[k][i, i]
    for i in range(n):
        for j in range(i):
            sigma = S(e[i] + e[j], rest)
            for k in range(n):  # (25)
                rest_of_it = H[k] + D[i, k] + D[j, k] + K[k][i, i] + K[k][j, j] + A[k, k] / 2
                K[k][i, j] = K[k][j, i] = (S(e[i] + e[j], e[k]) - sigma - rest_of_it) / 2
    return A, K, size * D, size**2 * H


def _driven_size(chart: Chart) -> SX:
    """s of the accelerations s² that time alone gives to the bodies; one, if it drives none."""
    s, squares = chart.symbols, SX(0)
    if not chart.driven and (chart.working_speeds - s.u).is_zero():
        return SX(1)
    for frame, _ in chart.carried:
        epsilon, w = chart.acceleration(frame, moving=False)
        squares += ca.dot(w, w) + ca.dot(epsilon, epsilon)
    at_rest = ca.substitute(squares, s.u, SX.zeros(s.u.numel()))
    return (1 + at_rest) ** 0.25
