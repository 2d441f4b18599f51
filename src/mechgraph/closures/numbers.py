"""Closures on numbers, batches by leading axes: they reveal the rank, so redundant rows and
singular positions are nothing special, and of all multipliers they give those of least norm.

What counts as independent is decided once, for all of them: ``Independent``. What a closure then
solves is M u̇ = f + Rᵀν, R u̇ = r with orthonormal rows R; residuals are fed to it again, and what
that still changes tells how well u̇ is known.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from ..numerics.rank import Independent, apply, pseudoinverse, transposed
from ..numerics.scales import Scales
from ..numerics.tolerances import EPSILON, TINY

REFINEMENTS = 2
STIFF = 1e3  # α of penalties

Numbers = np.ndarray
Solve = Callable[[Numbers, Numbers], tuple[Numbers, Numbers]]  # (u̇, ν) of f and r
Factor = Callable[[Numbers, Numbers, Numbers], Solve]  # of M, R, and the directions of the forces


class Solution(NamedTuple):
    """u̇ and λ; how well u̇ is known, relative to its size or, where forces cancel, to what they
    cause one by one (``usual``); and the row that is most part of a combination of which it cannot
    be told whether it is a constraint (−1 if there is none)."""

    udot: Numbers
    lam: Numbers
    error: Numbers
    usual: Numbers
    doubtful: Numbers


def solve_constrained(
    factor: Factor,
    M: Numbers,
    f: Numbers,
    A: Numbers,
    b: Numbers,
    G: Numbers | None = None,
    scales: Scales | None = None,
) -> Solution:
    """(u̇, λ) of M u̇ = f + Gᵀλ, A u̇ + b = 0 by a closure, in the scale of the speeds; G is A,
    unless friction goes with the constraint forces."""
    if scales is None:
        return _solve_scaled(factor, M, f, A, b, G, None)
    C = scales.speeds
    G = None if G is None else G * C
    found = _solve_scaled(factor, M * C * C[:, None], f * C, A * C, b, G, scales.rows)
    return found._replace(udot=found.udot * C)


def _solve_scaled(
    factor: Factor,
    M: Numbers,
    f: Numbers,
    A: Numbers,
    b: Numbers,
    G: Numbers | None,
    usual: Numbers | None,
) -> Solution:
    chosen, size = Independent(A, usual), _size(M)
    M, f, R, r = M / size, f / size[..., 0], chosen.rows, -chosen.combined(b)
    forces = R
    if G is not None:
        forces = chosen.inverse[..., None] * (transposed(chosen.U) @ (chosen.scale[..., None] * G))
    solve, least = factor(M, R, forces), _usual(M, f, r)
    udot, nu = solve(f, r)
    for _ in range(REFINEMENTS):
        left = f + apply(transposed(forces), nu) - apply(M, udot)
        step, more = solve(left, r - apply(R, udot))
        udot, nu = udot + step, nu + more
    known = np.maximum(_largest(udot), least)
    error = np.maximum(_largest(step) / known, EPSILON * _answer(solve, M, r))
    lam = chosen.scale * apply(chosen.U, chosen.inverse * nu)
    lam = lam if G is not None else chosen.least_norm(nu)
    doubtful = chosen.doubtful(apply(A, udot) + b, known)
    return Solution(udot, lam * size[..., 0], error, known, doubtful)


def _answer(solve: Solve, M: Numbers, r: Numbers) -> Numbers:
    """The largest acceleration under forces in proportion to inertia, all free of units: it tells
    how near to singular the equations are."""
    inertia = np.diagonal(M, axis1=-2, axis2=-1)
    roots = np.sqrt(np.where(inertia > 0, inertia, 1))  # M has entries up to one
    forces = np.random.default_rng(0).uniform(-1, 1, M.shape[-1]) * roots
    return _largest(roots * solve(forces, np.zeros_like(r))[0])


def _usual(M: Numbers, f: Numbers, r: Numbers) -> Numbers:
    """Accelerations beside which errors are small: those of each force by itself, and those that
    the constraints want."""
    inertia = np.diagonal(M, axis1=-2, axis2=-1)
    alone = np.where(inertia > 0, np.abs(f) / np.where(inertia > 0, inertia, 1), 0)
    return np.maximum(_largest(alone), _largest(r)) + TINY


def bordered(M: Numbers, R: Numbers, forces: Numbers) -> Solve:
    """(u̇, ν) at once."""
    n = M.shape[-1]
    # what stands in for rows that are dropped: ν = 0
    dropped = (R == 0).all(axis=-1, keepdims=True) * np.eye(R.shape[-2])
    K = np.concatenate([_beside(M, -transposed(forces)), _beside(R, dropped)], axis=-2)
    inverse = np.linalg.inv(K)

    def solve(f: Numbers, r: Numbers) -> tuple[Numbers, Numbers]:
        x = apply(inverse, _beside(f, r))
        return x[..., :n], x[..., n:]

    return solve


def null_space(M: Numbers, R: Numbers, forces: Numbers) -> Solve:
    """u̇ = u̇₀ + P (P M P + Q)⁻¹ P (f − M u̇₀), with u̇₀ = Rᵀr a motion that meets the constraints, Q
    = RᵀR the projector on what they block, and P = 1 − Q; then Rᵀν = M u̇ − f."""
    Rt = transposed(R)
    free = np.eye(M.shape[-1]) - Rt @ R  # the projector on the motions that the constraints leave
    inverse = free @ np.linalg.inv(free @ M @ free + Rt @ R) @ free

    def solve(f: Numbers, r: Numbers) -> tuple[Numbers, Numbers]:
        particular = apply(Rt, r)
        udot = particular + apply(inverse, f - apply(M, particular))
        return udot, apply(R, apply(M, udot) - f)

    return solve


def udwadia_kalaba(M: Numbers, R: Numbers, forces: Numbers) -> Solve:
    """u̇ = a + L⁻ᵀ B⁺ (r − R a), with M = L Lᵀ, B = R L⁻ᵀ, a = M⁻¹ f; M is completed by RᵀR."""
    Rt = transposed(R)
    inverse = np.linalg.inv(np.linalg.cholesky(M + Rt @ R))  # L⁻¹
    back = transposed(inverse)
    B = R @ back
    inverse_of_B = pseudoinverse(B)

    def solve(f: Numbers, r: Numbers) -> tuple[Numbers, Numbers]:
        unconstrained = apply(back, apply(inverse, f + apply(Rt, r)))
        excess = apply(inverse_of_B, r - apply(R, unconstrained))
        udot = unconstrained + apply(back, excess)
        # the completion leaves Rᵀ(r − R u̇), which is no force
        return udot, apply(transposed(inverse_of_B), excess)

    return solve


def penalty(M: Numbers, R: Numbers, alpha: float, times: int = 1) -> Solve:
    """(M + α RᵀR) u̇ = f + Rᵀν + α Rᵀr, with ν ← ν + α (r − R u̇) taken up so many times; one time is
    the penalty form alone, which leaves an error in proportion to 1/α. E. Bayo, J. García de Jalón,
    M. A. Serna, Computer Methods in Applied Mechanics and Engineering 71 (1988) 183–195."""
    Rt = transposed(R)
    inverse = np.linalg.inv(M + alpha * Rt @ R)

    def solve(f: Numbers, r: Numbers) -> tuple[Numbers, Numbers]:
        nu = np.zeros_like(r)
        for _ in range(times):
            udot = apply(inverse, f + apply(Rt, nu + alpha * r))
            nu = nu + alpha * (r - apply(R, udot))
        return udot, nu

    return solve


def augmented(M: Numbers, R: Numbers, forces: Numbers) -> Solve:
    """Penalties that leave nothing: rows are orthonormal and entries of M at most one, so that each
    time takes up all but 1/α of what is left; ``solve_constrained`` does it three times."""
    return penalty(M, R, STIFF, times=2)


def constraint_forces(
    M: Numbers, f: Numbers, A: Numbers, b: Numbers, nonideal: Numbers
) -> tuple[Numbers, Numbers, Numbers]:
    """u̇, and the ideal and the non-ideal part of the constraint forces along the speeds, where the
    constraints exert C besides: with M = L Lᵀ, B = A L⁻ᵀ, a = M⁻¹ f,

        ideal = −L B⁺ (A a + b),    non-ideal = L (1 − B⁺B) L⁻¹ C,    M u̇ = f + ideal + non-ideal.

    Of C only what does work on motions that the constraints leave is left; the rest cannot be told
    from what is ideal. F. E. Udwadia, R. E. Kalaba, J. Appl. Mech. 69 (2002) 335–340.
    """
    L = np.linalg.cholesky(M)
    inverse = np.linalg.inv(L)
    scale = Independent(A).scale[..., None]
    B = (scale * A) @ transposed(inverse)
    inverse_of_B = pseudoinverse(B)
    unconstrained = apply(transposed(inverse), apply(inverse, f))
    lacking = scale[..., 0] * (apply(A, unconstrained) + b)
    ideal = -apply(L, apply(inverse_of_B, lacking))
    own = apply(inverse, nonideal)
    rest = apply(L, own - apply(inverse_of_B, apply(B, own)))
    udot = apply(transposed(inverse), apply(inverse, f + ideal + rest))
    return udot, ideal, rest


def _beside(left: Numbers, right: Numbers) -> Numbers:
    return np.concatenate([left, right], axis=-1)


def _size(A: Numbers) -> Numbers:
    """Largest entry, with two axes kept for broadcasting; one for an empty or zero matrix."""
    size = np.abs(A).max(axis=(-1, -2), keepdims=True, initial=0)
    return np.where(size > 0, size, 1.0)


def _largest(x: Numbers) -> Numbers:
    return np.abs(x).max(axis=-1, initial=0)
