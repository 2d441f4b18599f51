"""How constraints are closed: from M u̇ = f + Aᵀλ and A u̇ + b = 0 to u̇ and λ.

Three ways, each in two guises. ``solve`` works on numbers (batches by leading axes): it reveals the
rank, so redundant rows and singular positions are nothing special, and of all multipliers it gives
those of least norm. ``expression`` works on symbols, for integrators and kernels: no branches;
dependent rows are met by proximal iterations, which converge to the same u̇.

- ``multipliers``: the bordered system in (u̇, λ) at once;
- ``null-space``: the equations projected on the motions that the constraints leave, then λ from
  what remains;
- ``udwadia-kalaba``: Gauss' principle, u̇ = a + M^(−½) (A M^(−½))⁺ (−b − A a) with a = M⁻¹ f (a
  Cholesky factor serves for the root).

M may be singular where A makes up for it: ``completion`` tells the s of the void term s Aᵀ (A u̇ +
b) on the left side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

RANK_TOLERANCE = 1e-9  # singular values of A below this fraction of the largest count as zero
# regularization of the symbolic solve, relative; its error falls by this factor at each iteration
PROXIMAL = 1e-10
ITERATIONS = 3
# beside anything; where all rows are switched off (contacts that are open) it keeps 0/0 away
NOTHING = 1e-200

Solution = tuple[np.ndarray, np.ndarray]
Solver = Callable[[SX, SX], tuple[SX, SX]]  # of f and b


@dataclass(frozen=True)
class Closure:
    """One way of closing, to (u̇, λ): on numbers from M, f, A, b; on expressions from M and A to a
    function of f and b.

    So one factorization serves for several right-hand sides.
    """

    solve: Callable[[np.ndarray, np.ndarray, np.ndarray, np.ndarray], Solution]
    expression: Callable[[SX, SX, int], Solver]


# --- numbers --------------------------------------------------------------------------------------


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
    free = ~kept[..., None] * np.eye(
        kept.shape[-1]
    )  # what stands in for rows that are dropped: ν = 0
    K = np.concatenate(
        [_beside(M / scale, -np.swapaxes(forces, -1, -2)), _beside(rows, free)], axis=-2
    )
    right = np.concatenate([f / scale[..., 0], -inverse * _apply(Ut, b)], axis=-1)
    x = _solve(K, right)
    x = x + _solve(K, right - _apply(K, x))
    return x[..., :n], _apply(U, inverse * x[..., n:]) * scale[..., 0]


def _beside(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    return np.concatenate([left, right], axis=-1)


def _null_space(M: np.ndarray, f: np.ndarray, A: np.ndarray, b: np.ndarray) -> Solution:
    U, inverse, Vt = _svd(A)
    V = np.swapaxes(Vt, -1, -2)
    particular = -_apply(V, inverse * _apply(np.swapaxes(U, -1, -2), b))
    blocked = (V * (inverse > 0)[..., None, :]) @ Vt
    free = np.eye(M.shape[-1]) - blocked  # the projector on the motions that the constraints leave
    projected = free @ M @ free + _size(M) * blocked
    udot = particular + _apply(free, _solve(projected, _apply(free, f - _apply(M, particular))))
    return udot, _apply(U, inverse * _apply(Vt, _apply(M, udot) - f))


def _udwadia_kalaba(M: np.ndarray, f: np.ndarray, A: np.ndarray, b: np.ndarray) -> Solution:
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


# --- expressions ----------------------------------------------------------------------------------


def _multipliers_expression(M: SX, A: SX, iterations: int = ITERATIONS) -> Solver:
    n, m = M.shape[0], A.shape[0]
    bordered = _Factor(ca.blockcat([[M, A.T], [A, -PROXIMAL * SX.eye(m)]]), n)

    def solution(f: SX, b: SX) -> tuple[SX, SX]:
        x = SX.zeros(n + m)
        for _ in range(iterations):
            x = bordered.solve(ca.vertcat(f, -b - PROXIMAL * x[n:]))
        return x[:n], -x[n:]

    return solution


def _null_space_expression(M: SX, A: SX, iterations: int = ITERATIONS) -> Solver:
    gram = _Proximal(A @ A.T, iterations)
    blocked = A.T @ gram.solve(A)
    free = SX.eye(M.shape[0]) - blocked
    projected = _Factor(free.T @ M @ free + (ca.trace(M) / M.shape[0]) * blocked)

    def solution(f: SX, b: SX) -> tuple[SX, SX]:
        particular = -A.T @ gram.solve(b)
        udot = particular + free @ projected.solve(free.T @ (f - M @ particular))
        return udot, gram.solve(A @ (M @ udot - f))

    return solution


def _udwadia_kalaba_expression(M: SX, A: SX, iterations: int = ITERATIONS) -> Solver:
    factor = _Factor(M)
    columns = factor.solve(A.T)
    gram = _Proximal(A @ columns, iterations)

    def solution(f: SX, b: SX) -> tuple[SX, SX]:
        unconstrained = factor.solve(f)
        lam = gram.solve(-b - A @ unconstrained)
        return unconstrained + columns @ lam, lam

    return solution


def balance(M: SX, A: SX) -> SX:
    """What to multiply every row of A (and b) with such that A M⁻¹ Aᵀ has a diagonal near one,
    whatever units and masses are.

    The motion is the same, and what the proximal iterations take for zero no longer depends on the
    size of a row.
    """
    size = (A * A) @ (1 / ca.diag(M))
    return 1 / ca.sqrt(
        size + 1e-10 * ca.sum1(size) / A.shape[0] + 1e-300
    )  # rows of mere rounding stay small


def drag(M: SX, A: SX, G: SX) -> Solver:
    """(u̇, λ) where the constraint forces are not normal to the constraints: M u̇ = f + Gᵀλ, A u̇ +
    b = 0 (sliding friction).

    No closure can leave λ out here, so this serves for all: A M⁻¹Gᵀ λ = −b − A M⁻¹f, which is not
    symmetric.
    """
    factor, m = _Factor(M), A.shape[0]
    columns = factor.solve(G.T)
    gram = A @ columns
    lower, upper = _lu(gram + PROXIMAL * SX.eye(m))

    def solution(f: SX, b: SX) -> tuple[SX, SX]:
        alone, lam = factor.solve(f), SX.zeros(m)
        right = -b - A @ alone
        for _ in range(ITERATIONS):
            lam = lam + ca.solve(upper, ca.solve(lower, right - gram @ lam))
        return alone + columns @ lam, lam

    return solution


def _lu(K: SX) -> tuple[SX, SX]:
    """Triangular factors, without pivoting: the matrix is near a positive definite one."""
    n = K.shape[0]
    lower, upper = SX.eye(n), SX(K)
    for k in range(n):
        for i in range(k + 1, n):
            if not upper[i, k].is_zero():
                lower[i, k] = upper[i, k] / upper[k, k]
                upper[i, k + 1 :] -= lower[i, k] * upper[k, k + 1 :]
    return lower, ca.triu(upper)


def completion(M: SX, A: SX) -> SX:
    """s of M + s AᵀA and f − s Aᵀb: the same motion, and no longer singular where the constraints
    make up for M."""
    return ca.trace(M) / M.shape[0] / (ca.sumsqr(A) / A.shape[0] + NOTHING)


def solve_tree(M: SX, right: SX) -> SX:
    """M⁻¹ right, for a positive definite M."""
    return _Factor(M).solve(right)


class _Proximal:
    """gram⁺ right for a positive semidefinite matrix: λ ← λ + (gram + ε)⁻¹ (right − gram λ)."""

    def __init__(self, gram: SX, iterations: int) -> None:
        m = gram.shape[0]
        self.gram, self.iterations = gram, iterations
        self.factor = _Factor(gram + (PROXIMAL * ca.trace(gram) / m + NOTHING) * SX.eye(m), 0)

    def solve(self, right: SX) -> SX:
        out = self.factor.solve(right)
        for _ in range(self.iterations - 1):
            out = out + self.factor.solve(right - self.gram @ out)
        return out


class _Factor:
    """LDLᵀ of a symmetric matrix, without pivoting: the first ``n`` rows (speeds) from the last to
    the first, then the others.

    Speeds are numbered from the root of the tree outward; eliminated from the leaves inward they
    leave no fill (Featherstone, *Rigid Body Dynamics Algorithms*, §6.5).
    """

    def __init__(self, K: SX, n: int | None = None) -> None:
        n = K.shape[0] if n is None else n
        self.order = [*range(n - 1, -1, -1), *range(n, K.shape[0])]
        K = ca.project(
            K, K.sparsity().unite(K.sparsity().T)
        )  # what is zero in one triangle only is not left out
        self.factor = ca.ldl(K[self.order, self.order], False)
        self.back = [int(k) for k in np.argsort(self.order)]

    def solve(self, right: SX) -> SX:
        return ca.ldl_solve(ca.densify(right)[self.order, :], *self.factor)[self.back, :]


CLOSURES: dict[str, Closure] = {
    "multipliers": Closure(bordered, _multipliers_expression),
    "null-space": Closure(_null_space, _null_space_expression),
    "udwadia-kalaba": Closure(_udwadia_kalaba, _udwadia_kalaba_expression),
}
