"""Closures on expressions, for integrators and kernels: no branches; dependent rows are met by
proximal iterations, which converge to the same u̇."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from casadi import SX

# regularization of the solve, relative; its error falls by this factor at each iteration
PROXIMAL = 1e-10
ITERATIONS = 3
# beside anything; where all rows are switched off (contacts that are open) it keeps 0/0 away
NOTHING = 1e-200

Solver = Callable[[SX, SX], tuple[SX, SX]]  # of f and b


def multipliers(M: SX, A: SX, iterations: int = ITERATIONS) -> Solver:
    """The bordered system [M, Aᵀ; A, −ε] (u̇, −λ) = (f, −b − ε λ) at once."""
    n, m = M.shape[0], A.shape[0]
    bordered = _Factor(ca.blockcat([[M, A.T], [A, -PROXIMAL * SX.eye(m)]]), n)

    def solution(f: SX, b: SX) -> tuple[SX, SX]:
        x = SX.zeros(n + m)
        for _ in range(iterations):
            x = bordered.solve(ca.vertcat(f, -b - PROXIMAL * x[n:]))
        return x[:n], -x[n:]

    return solution


def null_space(M: SX, A: SX, iterations: int = ITERATIONS) -> Solver:
    """u̇ = u̇₀ + P (P M P + m Q)⁻¹ P (f − M u̇₀), with u̇₀ = −Aᵀ (A Aᵀ)⁺ b a motion that meets the
    constraints, Q = Aᵀ (A Aᵀ)⁺ A the projector on what they block, and P = 1 − Q."""
    gram = _Proximal(A @ A.T, iterations)
    blocked = A.T @ gram.solve(A)
    free = SX.eye(M.shape[0]) - blocked
    projected = _Factor(free.T @ M @ free + (ca.trace(M) / M.shape[0]) * blocked)

    def solution(f: SX, b: SX) -> tuple[SX, SX]:
        particular = -A.T @ gram.solve(b)
        udot = particular + free @ projected.solve(free.T @ (f - M @ particular))
        return udot, gram.solve(A @ (M @ udot - f))

    return solution


def udwadia_kalaba(M: SX, A: SX, iterations: int = ITERATIONS) -> Solver:
    """u̇ = a + M⁻¹ Aᵀ λ, λ = (A M⁻¹ Aᵀ)⁺ (−b − A a), with a = M⁻¹ f."""
    factor = _Factor(M)
    columns = factor.solve(A.T)
    gram = _Proximal(A @ columns, iterations)

    def solution(f: SX, b: SX) -> tuple[SX, SX]:
        unconstrained = factor.solve(f)
        lam = gram.solve(-b - A @ unconstrained)
        return unconstrained + columns @ lam, lam

    return solution


def complement(M: SX, A: SX, S: SX, iterations: int = ITERATIONS) -> Solver:
    """u̇ = S z + e with e = −Aᵀ (A Aᵀ)⁺ b, Sᵀ M S z = Sᵀ (f − M e): a complement that is known,
    A S = 0, leaves λ out; λ = (A Aᵀ)⁺ A (M u̇ − f)."""
    gram, reduced = _Proximal(A @ A.T, iterations), _Factor(S.T @ M @ S)

    def solution(f: SX, b: SX) -> tuple[SX, SX]:
        e = -A.T @ gram.solve(b)
        udot = S @ reduced.solve(S.T @ (f - M @ e)) + e
        return udot, gram.solve(A @ (M @ udot - f))

    return solution


def multipliers_of(M: SX, A: SX, f: SX, udot: SX) -> SX:
    """λ of least norm in M u̇ = f + Aᵀλ, for accelerations that are known."""
    return _Proximal(A @ A.T, ITERATIONS).solve(A @ (M @ udot - f))


def balance(M: SX, A: SX) -> SX:
    """What to multiply every row of A (and b) with such that A M⁻¹ Aᵀ has a diagonal near one,
    whatever units and masses are.

    The motion is the same, and what the proximal iterations take for zero no longer depends on the
    size of a row.
    """
    size = (A * A) @ (1 / ca.diag(M))
    # rows of mere rounding stay small
    return 1 / ca.sqrt(size + 1e-10 * ca.sum1(size) / A.shape[0] + 1e-300)


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
        # what is zero in one triangle only is not left out
        K = ca.project(K, K.sparsity().unite(K.sparsity().T))
        self.factor = ca.ldl(K[self.order, self.order], False)
        self.back = [int(k) for k in np.argsort(self.order)]

    def solve(self, right: SX) -> SX:
        return ca.ldl_solve(ca.densify(right)[self.order, :], *self.factor)[self.back, :]
