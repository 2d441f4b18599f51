"""Keeping states on their constraints: quaternions of norm one, and the nearest states with φ = 0
and ψ = 0."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from scipy.sparse import csc_matrix, diags

from ..closures import sparse
from ..closures.closure import CLOSURES

if TYPE_CHECKING:
    from ..equations import Equations

PROJECTED = 1e-13  # violation that needs no further projection
IDLE = 1e-10  # inertia, relative, of what has none
FEW = 8  # states whose singular values are found sooner than an expression is derived


def moved(equations: Equations, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """q displaced by a step along the variations of its coordinates, on its manifold."""
    chart, numeric = equations.terms.chart, equations.numeric
    if chart.tangent.is_constant():
        T = numeric.kept("tangent", lambda: np.array(ca.DM(chart.tangent)))
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
    many = equations.numeric.large or len(q) > FEW
    if many and equations.numeric.closed.is_expression:
        q, u = _by_expression(equations, q, u, t, parameters)
    for _ in range(8):
        violation = equations.position_violation(q, t, parameters)
        if _largest(violation) < PROJECTED:
            break
        step = _least_step(
            equations, q, u, t, parameters, violation, slice(0, equations.terms.phi.numel())
        )
        q = shifted(equations, q, step, t, parameters)
    for _ in range(3):
        violation = equations.velocity_violation(q, u, t, parameters)
        if _largest(violation) < PROJECTED:
            break
        u = u + _least_step(
            equations, q, u, t, parameters, violation, slice(0, equations.terms.psi.numel())
        )
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


def _least_step(
    equations: Equations,
    q: np.ndarray,
    u: np.ndarray,
    t: np.ndarray,
    parameters: Any,
    rows: np.ndarray,
    which: slice,
) -> np.ndarray:
    """The step x with A x = −rows that has the least kinetic energy: the closure, without forces;
    none where something has no value."""
    factors = equations.terms.scales.factors[which]
    rows = factors * rows
    if equations.numeric.large:
        at = equations.numeric.arguments(q, u, t, None, parameters)
        states = equations.numeric.sparse_matrices(at)
        pairs, even = zip(states, rows, strict=True), diags(factors)
        made = [_sparse_step(M, csc_matrix(even @ A[which]), row) for (M, _, A, _), row in pairs]
        return np.array(made)
    M = equations.mass_matrix(q, t, parameters)
    A = equations.constraint_jacobian(q, u, t, parameters)[..., which, :] * factors[:, None]
    known = np.isfinite(rows).all(axis=-1)
    known &= np.isfinite(np.concatenate([M, A], axis=-2)).all(axis=(-1, -2))
    step = np.zeros_like(u)
    step[known] = _dense_step(M[known], A[known], rows[known])
    return step


def _sparse_step(M: csc_matrix, A: csc_matrix, row: np.ndarray) -> np.ndarray:
    none = np.zeros(M.shape[0])
    known = all(np.isfinite(part).all() for part in (M.data, A.data, row))
    return sparse.solve(M, none, A, row)[0] if known else none


def _dense_step(M: np.ndarray, A: np.ndarray, rows: np.ndarray) -> np.ndarray:
    none, solve = np.zeros(M.shape[:-1]), CLOSURES["udwadia-kalaba"].solve
    try:
        return solve(M, none, A, rows)[0]
    except np.linalg.LinAlgError:  # what has no inertia, and nothing to hold it here, stays put
        size = np.abs(M).max(axis=(-1, -2), initial=0.0, keepdims=True) + 1e-300
        return solve(M + IDLE * size * np.eye(M.shape[-1]), none, A, rows)[0]
