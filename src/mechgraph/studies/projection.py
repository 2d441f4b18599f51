"""Keeping states on their constraints: quaternions of norm one, and the nearest states with φ = 0
and ψ = 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np

from ..contract.accelerations import least_step

if TYPE_CHECKING:
    from ..equations import Equations

PROJECTED = 1e-13  # violation that needs no further projection
FEW = 8  # states whose singular values are found sooner than an expression is derived


def moved(equations: Equations, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """q displaced by a step along the variations of its coordinates, on its manifold."""
    chart, numeric = equations.terms.chart, equations.numeric
    if chart.tangent.is_constant():
        T = numeric.keep("tangent", lambda: np.array(ca.DM(chart.tangent)))
    else:
        T = numeric.evaluate("tangent", lambda: chart.tangent, 2, q)
    return chart.normalized(q + (T @ step[..., None])[..., 0])


def shifted(
    equations: Equations, q: np.ndarray, step: np.ndarray, t: Any, parameters: Any
) -> np.ndarray:
    """q displaced by a step along the speeds, N step, on its manifold."""
    terms, given = equations.terms, (q, step, t, None, parameters)
    rates = equations.numeric.evaluate("N u", lambda: terms.N @ terms.symbols.u, 1, *given)
    return terms.chart.normalized(q + rates)


def project(
    equations: Equations, q: np.ndarray, u: np.ndarray, t: np.ndarray, parameters: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """Nearest states (in the metric of the kinetic energy) that satisfy all constraints; a batch of
    states at times t."""
    return project_measured(equations, q, u, t, parameters)[:2]


def project_measured(
    equations: Equations, q: np.ndarray, u: np.ndarray, t: np.ndarray, parameters: Any = None
) -> tuple[np.ndarray, np.ndarray, float]:
    """What ``project`` gives, and the largest violation of a position constraint before it."""
    q = equations.terms.chart.normalized(q)
    if not equations.constraints:
        return q, u, 0.0
    phi, psi = violations(equations, q, u, t, parameters)
    drift = _largest(phi)
    if drift >= PROJECTED or _largest(psi) >= PROJECTED:
        q, u = _projected(equations, q, u, t, parameters)
    return q, u, drift


def violations(
    equations: Equations, q: np.ndarray, u: np.ndarray, t: np.ndarray, parameters: Any
) -> list[np.ndarray]:
    """φ and ψ."""
    kernel = equations.numeric.kernel(
        "phi, psi", lambda: [equations.terms.phi, equations.terms.psi], [1, 1]
    )
    return kernel(*equations.numeric.arguments(q, u, t, None, parameters))


def _largest(violation: np.ndarray) -> float:
    return float(np.abs(violation).max(initial=0.0))


def _projected(
    equations: Equations, q: np.ndarray, u: np.ndarray, t: np.ndarray, parameters: Any
) -> tuple[np.ndarray, np.ndarray]:
    def step_back(q: np.ndarray, u: np.ndarray, violation: np.ndarray) -> np.ndarray:
        at = equations.numeric.arguments(q, u, t, None, parameters)
        return least_step(equations.numeric, at, violation)

    many = equations.numeric.large or len(q) > FEW
    if many and equations.numeric.closed.is_expression:
        q, u = _by_expression(equations, q, u, t, parameters)
    for _ in range(8):
        violation = equations.position_violation(q, t, parameters)
        if _largest(violation) < PROJECTED:
            break
        q = shifted(equations, q, step_back(q, u, violation), t, parameters)
    for _ in range(3):
        violation = equations.velocity_violation(q, u, t, parameters)
        if _largest(violation) < PROJECTED:
            break
        u = u + step_back(q, u, violation)
    return q, u


def _by_expression(
    equations: Equations, q: np.ndarray, u: np.ndarray, t: np.ndarray, parameters: Any
) -> tuple[np.ndarray, np.ndarray]:
    """States brought back by the expression that integrators keep them with, which knows the
    pattern; enough but for a few. Those without a value stay as they are."""
    kernel = equations.numeric.kernel(
        "projected", lambda: [equations.numeric.closed.projected], [1]
    )
    for _ in range(2):
        states = kernel(*equations.numeric.arguments(q, u, t, None, parameters))[0]
        known = np.isfinite(states).all(axis=-1, keepdims=True)
        states = np.where(known, states, np.concatenate([q, u], axis=-1))
        q, u = np.split(states, [q.shape[-1]], axis=-1)
    return q, u
