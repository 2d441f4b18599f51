"""Closures on expressions, for integrators and kernels: no branches; dependent rows are met by
proximal iterations, which converge to the same u̇."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import NamedTuple

import casadi as ca
import numpy as np
from casadi import SX

from ..errors import UnsupportedError
from ..numerics.scales import multiply_rows
from ..numerics.tolerances import (
    EPSILON,
    FADING,
    KNOWN,
    MET,
    NOTHING,
    PROXIMAL,
    TINY,
    UNKNOWN,
)

PROXIMAL_SINGLE = 8 * float(np.finfo(np.float32).eps)  # the same in single precision
ITERATIONS = 3
REFINEMENTS = 3
# inertia for what may have none, relative to what the constraints offer it; its effect falls by
# this factor at each refinement, after which it is rounding
LITTLE = EPSILON ** (1 / REFINEMENTS)
STIFF = 1e6  # of penalties, beside the usual inertia; the error falls by it at each iteration
UNBOUND = 1e4  # accelerations that a force in proportion to inertia causes only where there is none
# the same where friction goes with the multipliers: what dependent rows contradict each other by
# (rounding, over this) is seen in the motion there, and so is what is added itself
DRAGGED = EPSILON**0.5
# ratios of a pivot to what it is made of: u̇ is off by the rounding of one operation over them
BADLY_CONDITIONED = EPSILON / KNOWN
SINGULAR = EPSILON / UNKNOWN
LARGEST = 20_000_000  # operations of an expression; more take minutes and gigabytes


class Solver(NamedTuple):
    """(u̇, λ) as a function of f and b, and ``condition``: the squared ratios of what the pivots of
    the factor of M are made of to what is left of them, added up.

    Its root times the rounding of one operation is about the relative error of u̇. ``raw`` is what
    a solver does that looks at what it has found.
    """

    solve: Callable[[SX, SX], tuple[SX, SX]]
    condition: SX
    raw: Callable[[SX, SX], tuple[SX, SX]] | None = None

    def unchecked(self, f: SX, b: SX) -> tuple[SX, SX]:
        """(u̇, λ) for f and b that need not be met."""
        return (self.raw or self.solve)(f, b)


def multipliers(M: SX, A: SX, iterations: int = ITERATIONS, proximal: float = PROXIMAL) -> Solver:
    """The bordered system [M, Aᵀ; A, −ε] (u̇, −λ) = (f, −b − ε λ) at once."""
    n, m = M.shape[0], A.shape[0]
    bordered = Factor(ca.blockcat([[M, A.T], [A, -proximal * SX.eye(m)]]), n)

    def solution(f: SX, b: SX) -> tuple[SX, SX]:
        x = SX.zeros(n + m)
        for _ in range(iterations):
            x = bordered.solve(ca.vertcat(f, -b - proximal * x[n:]))
        return x[:n], -x[n:]

    return Solver(solution, bordered.condition)


def null_space(M: SX, A: SX, iterations: int = ITERATIONS, proximal: float = PROXIMAL) -> Solver:
    """u̇ = u̇₀ + P (P M P + m Q)⁻¹ P (f − M u̇₀), with u̇₀ = −Aᵀ (A Aᵀ)⁺ b a motion that meets the
    constraints, Q = Aᵀ (A Aᵀ)⁺ A the projector on what they block, and P = 1 − Q."""
    check_size(3 * M.shape[0] ** 3)  # projectors have no pattern
    gram = Proximal(A @ A.T, iterations, proximal)
    blocked = A.T @ gram.solve(A)
    free = SX.eye(M.shape[0]) - blocked
    projected = Factor(free.T @ M @ free + (ca.trace(M) / M.shape[0]) * blocked)

    def solution(f: SX, b: SX) -> tuple[SX, SX]:
        particular = -A.T @ gram.solve(b)
        udot = particular + free @ projected.solve(free.T @ (f - M @ particular))
        return udot, gram.solve(A @ (M @ udot - f))

    return Solver(solution, projected.condition)


def udwadia_kalaba(
    M: SX, A: SX, iterations: int = ITERATIONS, proximal: float = PROXIMAL
) -> Solver:
    """u̇ = a + M⁻¹ Aᵀ λ, λ = (A M⁻¹ Aᵀ)⁺ (−b − A a), with a = M⁻¹ f."""
    factor = Factor(M)
    columns = factor.solve(A.T)
    gram = Proximal(A @ columns, iterations, proximal)

    def solution(f: SX, b: SX) -> tuple[SX, SX]:
        unconstrained = factor.solve(f)
        lam = gram.solve(-b - A @ unconstrained)
        return unconstrained + columns @ lam, lam

    return Solver(solution, factor.condition)


def penalty(M: SX, A: SX, iterations: int = ITERATIONS, proximal: float = PROXIMAL) -> Solver:
    """(M + AᵀαA) u̇ = f − Aᵀ(α b − λ), with λ ← λ − α (A u̇ + b) taken up again and again; residuals
    of both equations are fed to the factor, so that what α costs in digits comes back."""
    alpha = STIFF * _per_row(M, A)
    factor = Factor(M + A.T @ ca.diag(alpha) @ A)

    def solution(f: SX, b: SX) -> tuple[SX, SX]:
        udot, lam = SX.zeros(M.shape[0]), SX.zeros(A.shape[0])
        for _ in range(iterations + 1):
            left = b + A @ udot
            step = factor.solve(f + A.T @ (lam - alpha * left) - M @ udot)
            udot, lam = udot + step, lam - alpha * (left + A @ step)
        return udot, lam

    return Solver(solution, factor.condition)


def complement(M: SX, A: SX, S: SX, factors: np.ndarray, usual: np.ndarray) -> Solver:
    """u̇ = S z + e with e = −Aᵀ (A Aᵀ)⁺ b, Sᵀ M S z = Sᵀ (f − M e): a complement that is known,
    A S = 0, leaves λ out; λ = (A Aᵀ)⁺ A (M u̇ − f).

    u̇ is no number where S is no complement: A S ≠ 0, or more is free than S has columns
    (``checked``).
    """
    scale = _evened(A, factors)
    rows = ca.diag(scale) @ A
    gram, reduced = Proximal(rows @ rows.T, ITERATIONS), Factor(S.T @ M @ S)

    def solution(f: SX, b: SX) -> tuple[SX, SX]:
        e = -rows.T @ gram.solve(scale * b)
        udot = S @ reduced.solve(S.T @ (f - M @ e)) + e
        return udot, scale * gram.solve(rows @ (M @ udot - f))

    return checked(Solver(solution, reduced.condition), M, A, factors, usual)


def checked(solver: Solver, M: SX, A: SX, factors: np.ndarray, usual: np.ndarray) -> Solver:
    """A solver whose u̇ is no number where A u̇ + b, its rows multiplied by these factors, or
    M u̇ − f − Aᵀλ is left over, beside its terms and the rounding of the ``usual`` forces, which may
    have cancelled in f."""
    masses = ca.diag(M)
    masses, cancelled = masses + LITTLE * ca.sum1(masses) / M.shape[0], SX(ca.DM(MET * usual))

    def solution(f: SX, b: SX) -> tuple[SX, SX]:
        udot, lam = solver.solve(f, b)
        inertia, held, size = M @ udot, A.T @ lam, ca.fabs(A)
        met = _vanishes(inertia - f - held, (inertia, f, held), cancelled)
        # of u̇ that is zero nothing is left but rounding of what the forces would do
        alone = size @ ((ca.fabs(f) + ca.fabs(held)) / masses)
        rows = A @ udot + b, size @ ca.fabs(udot), alone, b, size @ (cancelled / masses)
        left, *terms, rounding = (multiply_rows(factors, x) for x in rows)
        met = ca.logic_and(met, _vanishes(left, terms, rounding))
        udot = SX(udot)
        udot[0] = ca.if_else(met, udot[0], np.nan)
        return udot, lam

    return Solver(solution, solver.condition, solver.solve)


def _vanishes(rest: SX, terms: Iterable[SX], rounding: SX) -> SX:
    """True if what is left of a sum is small beside its terms, or no more than rounding."""
    least = KNOWN**2 * sum((ca.sumsqr(x) for x in terms), SX(TINY))
    return ca.sumsqr(rest) <= least + ca.sumsqr(rounding)


def multipliers_of(M: SX, A: SX, f: SX, udot: SX, factors: np.ndarray | None = None) -> SX:
    """λ in M u̇ = f + Aᵀλ, for accelerations that are known; of dependent rows those of least norm,
    each beside the size of its row."""
    scale = _evened(A, factors)
    rows = ca.diag(scale) @ A
    return scale * Proximal(rows @ rows.T, ITERATIONS).solve(rows @ (M @ udot - f))


def _evened(A: SX, factors: np.ndarray | None) -> SX:
    """Factors of the rows of A that make them of length one, whatever their units are; rows of mere
    rounding, beside what is usual once they are multiplied by the given factors, stay small."""
    even = SX.ones(A.shape[0]) if factors is None else SX(ca.DM(factors))
    return even / ca.sqrt(_not_fading(even**2 * ca.sum2(A * A)))


def _not_fading(squares: SX) -> SX:
    """Squared lengths of rows to divide by: rows of mere rounding stay small beside the others."""
    usual = ca.sum1(squares) / max(squares.numel(), 1)
    return squares + FADING**2 * usual + NOTHING


def balance(M: SX, A: SX) -> SX:
    """Factors of the rows of A (and b) that give A M⁻¹ Aᵀ a diagonal near one, whatever units and
    masses are.

    The motion is the same, and what the proximal iterations take for zero no longer depends on the
    size of a row.
    """
    return 1 / ca.sqrt(_not_fading((A * A) @ (1 / ca.diag(M))))


def drag(M: SX, A: SX, G: SX) -> Solver:
    """(u̇, λ) where the constraint forces are not normal to the constraints: M u̇ = f + Gᵀλ, A u̇ +
    b = 0 (sliding friction).

    No closure can leave λ out here, so this serves for all: A M⁻¹Gᵀ λ = −b − A M⁻¹f, which is not
    symmetric.
    """
    factor, m = Factor(M), A.shape[0]
    columns = factor.solve(G.T)
    gram = A @ columns
    lower, upper = _lu(gram + DRAGGED * SX.eye(m))

    def solution(f: SX, b: SX) -> tuple[SX, SX]:
        alone, lam = factor.solve(f), SX.zeros(m)
        right = -b - A @ alone
        for _ in range(ITERATIONS + 1):
            lam = lam + ca.solve(upper, ca.solve(lower, right - gram @ lam))
        return alone + columns @ lam, lam

    return Solver(solution, factor.condition)


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


def refine_solver(solver: Solver, M: SX, A: SX, G: SX) -> Solver:
    """A closure of other equations near M u̇ = f + Gᵀλ, A u̇ + b = 0 as one of these: their
    residuals are fed to it until all of the difference is gone."""

    def solution(f: SX, b: SX) -> tuple[SX, SX]:
        udot, lam = solver.solve(f, b)
        for _ in range(REFINEMENTS):
            step, more = solver.solve(f + G.T @ lam - M @ udot, b + A @ udot)
            udot, lam = udot + step, lam + more
        return udot, lam

    # a force where there is no inertia, and no constraint to take it, is answered without bound
    signs = np.random.default_rng(0).uniform(-1, 1, M.shape[0])
    answer = solver.solve(SX(ca.DM(signs)) * _offered(M, A), SX.zeros(A.shape[0]))[0]
    return Solver(solution, solver.condition + ca.sumsqr(answer / (UNBOUND * BADLY_CONDITIONED)))


def least_norm(G: SX, lam: SX) -> SX:
    """The least of all multipliers with the same Gᵀλ: G (GᵀG)⁺ Gᵀλ.

    Columns of G may have any units (small bodies turn by short arms), so they are made alike.
    """
    G = G @ ca.diag(1 / ca.sqrt(ca.sum1(G * G).T + NOTHING))
    return G @ Proximal(G.T @ G, ITERATIONS).solve(G.T @ lam)


def complete_inertia(M: SX, A: SX) -> SX:
    """M with a little inertia for everything: ``refine_solver`` takes its effect away again.

    M may be singular where the constraints make up for it, and keeps its pattern, so that sparse
    elimination stays sparse.
    """
    return M + LITTLE * ca.diag(_offered(M, A))


def holding(M: SX, A: SX) -> SX:
    """Weights w of rows in (M + Aᵀ w A) u̇ = f − Aᵀ w b + Aᵀλ, which is the same as without them.

    They give inertia to what the constraints hold, whichever way it moves. The diagonal of M alone
    does not tell that something light is held by other rows: where an inertia passes through zero
    on the way, as those of points do, ``complete_inertia`` would leave all that is tied to it as
    light.
    """
    return LITTLE * _per_row(M, A)


def _per_row(M: SX, A: SX) -> SX:
    """Factors of the rows of A that give the usual inertia along each of them."""
    return ca.trace(M) / M.shape[0] / _not_fading(ca.sum2(A * A))


def _offered(M: SX, A: SX) -> SX:
    """Inertia by speed; what has none is given what resists it through the constraints: a row a, of
    which the others take g = Σ a²/M, offers a²/g, and never more than is usual.

    What offers next to nothing offers as much as what offers nothing: an a of mere rounding, zero
    where two products cancel and not zero where one of them is contracted with the difference,
    would else leave a motion so light that it, and not the others, met the constraint.
    """
    inertia, usual = ca.fmax(ca.diag(M), 0), ca.trace(M) / M.shape[0] + NOTHING
    none = EPSILON * usual**2
    others = (A * A) @ (inertia / (inertia * inertia + none))
    own, rounding = ca.sum1(A * A).T, MET * usual * (SX.ones(A.sparsity()).T @ others)
    offered = 1 / ((A * A).T @ others / (own * own + rounding * rounding + NOTHING) + 1 / usual)
    return inertia + offered * none / (inertia * inertia + none)


def mask_unknown(udot: SX, condition: SX, ratio: float) -> SX:
    """u̇ that is no number where the ratio of a pivot to what it is made of is less."""
    udot = SX(udot)
    if udot.numel():
        udot[0] += ca.if_else(ca.logic_not(condition < 1 / ratio**2), np.nan, 0)
    return udot


def check_size(operations: int) -> None:
    """Refuse expressions that would take minutes and gigabytes to write down."""
    if operations > LARGEST:
        raise UnsupportedError(
            f"closing the constraints takes about {operations:.0e} operations, more than the "
            f"{LARGEST:.0e} that an expression may have: take away redundant constraints "
            '(redundant() names them), or use the formalism "absolute" with the closure '
            '"multipliers", whose cost follows the graph'
        )


def _operations(pattern: ca.Sparsity) -> int:
    """Multiplications of LDLᵀ without pivoting."""
    columns = pattern.ldl(False)[0].T.colind()
    return int((np.diff(columns).astype(float) ** 2).sum())


class Proximal:
    """gram⁺ right for a positive semidefinite matrix: λ ← λ + (gram + ε)⁻¹ (right − gram λ)."""

    def __init__(self, gram: SX, iterations: int, proximal: float = PROXIMAL) -> None:
        m = gram.shape[0]
        self.gram, self.iterations = gram, iterations
        self.factor = Factor(gram + (proximal * ca.trace(gram) / m + NOTHING) * SX.eye(m), 0)

    def solve(self, right: SX) -> SX:
        out = self.factor.solve(right)
        for _ in range(self.iterations - 1):
            out = out + self.factor.solve(right - self.gram @ out)
        return out


class Factor:
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
        K = K[self.order, self.order]
        check_size(_operations(K.sparsity()))
        self.factor = ca.ldl(K, False)
        # 0/0 of what has no inertia at all is no number, and must not be left out as a zero
        made, left = (ca.densify(part) for part in (ca.diag(K)[:n], self.factor[0][:n]))
        self.condition = ca.sumsqr(made / left)
        self.back = [int(k) for k in np.argsort(self.order)]

    def solve(self, right: SX) -> SX:
        return ca.ldl_solve(ca.densify(right)[self.order, :], *self.factor)[self.back, :]
