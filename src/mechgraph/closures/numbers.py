"""Closures on numbers, batches by leading axes: they reveal the rank, so redundant rows and
singular positions are nothing special, and of all multipliers they give those of least norm."""

from __future__ import annotations

import numpy as np

RANK_TOLERANCE = 1e-9  # singular values of A below this fraction of the largest count as zero

Solution = tuple[np.ndarray, np.ndarray]  # (u̇, λ)


def bordered(
    M: np.ndarray, f: np.ndarray, A: np.ndarray, b: np.ndarray, G: np.ndarray | None = None
) -> Solution:
    """(u̇, λ) of M u̇ = f + Gᵀλ, A u̇ + b = 0 at once, after the rows of A are made orthonormal: A
    = U Σ Vᵀ, λ = U Σ⁻¹ν.

    G is A, unless friction goes with the constraint forces: then no closure can leave λ out, and
    this serves for all.
    """
    U, inverse, Vt = _svd(A)
    n, Ut, scale, kept = M.shape[-1], np.swapaxes(U, -1, -2), _size(M), inverse > 0
    rows = Vt * kept[..., None]
    forces = rows if G is None else inverse[..., None] * (Ut @ G)
    # what stands in for rows that are dropped: ν = 0
    free = ~kept[..., None] * np.eye(kept.shape[-1])
    K = np.concatenate(
        [_beside(M / scale, -np.swapaxes(forces, -1, -2)), _beside(rows, free)], axis=-2
    )
    right = np.concatenate([f / scale[..., 0], -inverse * _apply(Ut, b)], axis=-1)
    x = _solve(K, right)
    x = x + _solve(K, right - _apply(K, x))
    return x[..., :n], _apply(U, inverse * x[..., n:]) * scale[..., 0]


def _beside(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.concatenate([left, right], axis=-1)


def null_space(M: np.ndarray, f: np.ndarray, A: np.ndarray, b: np.ndarray) -> Solution:
    """u̇ = u̇₀ + P (P M P + m Q)⁻¹ P (f − M u̇₀), with u̇₀ = −A⁺b a motion that meets the constraints,
    Q = A⁺A the projector on what they block, and P = 1 − Q; then Aᵀλ = M u̇ − f."""
    U, inverse, Vt = _svd(A)
    V = np.swapaxes(Vt, -1, -2)
    particular = -_apply(V, inverse * _apply(np.swapaxes(U, -1, -2), b))
    blocked = (V * (inverse > 0)[..., None, :]) @ Vt
    free = np.eye(M.shape[-1]) - blocked  # the projector on the motions that the constraints leave
    projected = free @ M @ free + _size(M) * blocked
    udot = particular + _apply(free, _solve(projected, _apply(free, f - _apply(M, particular))))
    return udot, _apply(U, inverse * _apply(Vt, _apply(M, udot) - f))


def udwadia_kalaba(M: np.ndarray, f: np.ndarray, A: np.ndarray, b: np.ndarray) -> Solution:
    """u̇ = a + L⁻ᵀ B⁺ (−b − A a), with M = L Lᵀ, B = A L⁻ᵀ, a = M⁻¹ f; M is completed by s AᵀA."""
    s = _size(M) / _size(A) ** 2
    At = np.swapaxes(A, -1, -2)
    M, f = M + s * At @ A, f - s[..., 0] * _apply(At, b)
    L = np.linalg.cholesky(M)
    Lt = np.swapaxes(L, -1, -2)
    B = np.swapaxes(np.linalg.solve(L, At), -1, -2)
    U, inverse, Vt = _svd(B)
    unconstrained = _solve(Lt, _solve(L, f))
    excess = inverse * _apply(np.swapaxes(U, -1, -2), -b - _apply(A, unconstrained))
    udot = unconstrained + _solve(Lt, _apply(np.swapaxes(Vt, -1, -2), excess))
    return udot, _apply(U, inverse * excess)


def _svd(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """U, the inverses of the singular values (zero for those that count as zero), Vᵀ."""
    U, sigma, Vt = np.linalg.svd(A, full_matrices=False)
    largest = sigma.max(axis=-1, keepdims=True, initial=0)
    kept = sigma > RANK_TOLERANCE * largest
    return U, np.where(kept, 1 / np.where(kept, sigma, 1), 0), Vt


def rank(A: np.ndarray, tolerance: float = RANK_TOLERANCE) -> int:
    """Numerical rank of one Jacobian, by default with the tolerance of the closures."""
    sigma = np.linalg.svd(A, compute_uv=False)
    return int((sigma > tolerance * sigma.max(initial=0)).sum())


def _size(A: np.ndarray) -> np.ndarray:
    """Largest entry, with two axes kept for broadcasting; one for an empty or zero matrix."""
    size = np.abs(A).max(axis=(-1, -2), keepdims=True, initial=0)
    return np.where(size > 0, size, 1.0)


def _apply(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (A @ x[..., None])[..., 0]


def _solve(A: np.ndarray, x: np.ndarray) -> np.ndarray:
    return np.linalg.solve(A, x[..., None])[..., 0]
