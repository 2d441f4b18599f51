"""Keeping states on their constraints: quaternions of norm one, and the nearest states with φ = 0
and ψ = 0."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..closures import sparse
from ..closures.closure import CLOSURES
from ..equations.equations import Equations

PROJECTED = 1e-13  # violation that needs no further projection
FEW = 1  # states whose singular values are found sooner than an expression is derived


def normalized(equations: Equations, q: np.ndarray) -> np.ndarray:
    """Quaternions divided by their norms (batches by leading axes)."""
    q, fours = q.copy(), list(equations.kinematics.quaternions)
    if fours:
        q[..., fours] /= np.linalg.norm(q[..., fours], axis=-1, keepdims=True)
    return q


def moved(equations: Equations, q: np.ndarray, step: np.ndarray) -> np.ndarray:
    """q displaced by a step along the speeds, N step, quaternions kept on the unit sphere."""
    return normalized(
        equations,
        q + equations.evaluate("N u", lambda: equations.N @ equations.symbols.u, 1, q, step),
    )


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
    q = normalized(equations, q)
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
    kernel = equations.kernel("phi, psi", lambda: [equations.phi, equations.psi], [1, 1])
    return kernel(*equations.arguments(q, u, t, None, parameters))


def _largest(violation: np.ndarray) -> float:
    return float(np.abs(violation).max(initial=0.0))


def _projected(
    equations: Equations, q: np.ndarray, u: np.ndarray, t: np.ndarray, parameters: Any
) -> tuple[np.ndarray, np.ndarray]:
    if equations.large or len(q) > FEW:
        q, u = _kept(equations, q, u, t, parameters)
    for _ in range(8):
        violation = equations.position_violation(q, t, parameters)
        if _largest(violation) < PROJECTED:
            break
        step = _least_step(
            equations, q, u, t, parameters, violation, slice(0, equations.phi.numel())
        )
        q = moved(equations, q, step)
    for _ in range(3):
        violation = equations.velocity_violation(q, u, t, parameters)
        if _largest(violation) < PROJECTED:
            break
        u = u + _least_step(
            equations, q, u, t, parameters, violation, slice(0, equations.psi.numel())
        )
    return q, u


def _kept(
    equations: Equations, q: np.ndarray, u: np.ndarray, t: np.ndarray, parameters: Any
) -> tuple[np.ndarray, np.ndarray]:
    """States brought back by the expression that integrators keep them with, which knows the
    pattern; enough but for a few."""
    kernel = equations.kernel("kept", lambda: [equations.kept], [1])
    for _ in range(2):
        states = kernel(*equations.arguments(q, u, t, None, parameters))[0]
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
    """The step x with A x = −rows that has the least kinetic energy: the closure, without
    forces."""
    if equations.large:
        states = equations.sparse_terms(q, u, t, None, parameters)[1]
        none = np.zeros(u.shape[-1])
        return np.array(
            [
                sparse.solve(M, none, A[which], row)[0]
                for (M, _, A, _), row in zip(states, rows, strict=True)
            ]
        )
    M = equations.mass_matrix(q, t, parameters)
    A = equations.constraint_jacobian(q, u, t, parameters)[..., which, :]
    return CLOSURES["udwadia-kalaba"].solve(M, np.zeros_like(u), A, rows)[0]
