"""Large systems on numbers: the same questions that ``closure`` answers by singular values, by
sparse elimination.

Cost and memory follow the pattern of the graph: proportional to the number of bodies for chains and
loops in a row. Where singular values would tell the rank, pivots do, and dependent rows are met by
proximal iterations.
"""

from __future__ import annotations

import numpy as np
from casadi import SX
from scipy.sparse import bmat, csc_matrix, diags, eye
from scipy.sparse.linalg import SuperLU, splu

from ..numerics.tolerances import EPSILON, MET, PROXIMAL, ROUNDING, TINY

LARGE = 200  # speeds and rows together; below, dense matrices are quicker
ITERATIONS = 20
DIRECTIONS = 4  # that are looked for at once


def with_entries(pattern: SX, entries: np.ndarray) -> csc_matrix:
    """The matrix of that pattern with these entries."""
    sparsity = pattern.sparsity()
    return csc_matrix((entries, sparsity.row(), sparsity.colind()), pattern.shape)


def solve(
    M: csc_matrix, f: np.ndarray, A: csc_matrix, b: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """(u̇, λ) of M u̇ = f + Aᵀλ, A u̇ + b = 0, with λ of least norm, and about the relative error of
    u̇.

    Residuals are fed to the factors of [M, Aᵀ; A, −ε] until they no longer fall: λ never leaves the
    range of A, and each iteration takes away all of the error but the share ε/(σ + ε) in a
    direction with the eigenvalue σ of A M⁻¹Aᵀ.
    """
    n, m = M.shape[0], A.shape[0]
    factor = splu(bmat([[M, A.T], [A, -_regularization(M, A) * eye(m)]], format="csc"))
    udot, lam, left = np.zeros(n), np.zeros(m), np.inf
    for _ in range(ITERATIONS):
        residual = np.concatenate([f + A.T @ lam - M @ udot, -b - A @ udot])
        size = float(np.abs(residual).max(initial=0.0))
        if size > left / 2:
            break
        step = factor.solve(residual)
        udot, lam, left = udot + step[:n], lam - step[n:], size
    return udot, lam, EPSILON * _answer(factor, M.diagonal(), m)


def _answer(factor: SuperLU, inertia: np.ndarray, m: int) -> float:
    """The largest acceleration under forces in proportion to inertia, all free of units: it tells
    how near to singular the equations are."""
    roots = np.sqrt(np.where(inertia > 0, inertia, inertia.max(initial=0) or 1.0))
    forces = np.random.default_rng(0).uniform(-1, 1, len(roots)) * roots
    answer = factor.solve(np.concatenate([forces, np.zeros(m)]))[: len(roots)]
    return float(np.abs(roots * answer).max(initial=0))


def _regularization(M: csc_matrix, A: csc_matrix) -> float:
    """ε times the usual size of the diagonal of A M⁻¹Aᵀ."""
    inertia = M.diagonal()
    largest = inertia.max(initial=0.0) or 1.0
    sizes = A.multiply(A) @ (1 / np.where(inertia > ROUNDING * largest, inertia, largest))
    return PROXIMAL * float(np.median(sizes[sizes > 0])) if (sizes > 0).any() else PROXIMAL


def weakest(S: csc_matrix) -> tuple[float, np.ndarray]:
    """The least eigenvalue of a positive semidefinite matrix of entries up to one, and how much
    each entry takes part in the directions that have no more: inverse iteration of a few. Of what
    is no number nothing is known: zero, and all entries alike."""
    shifted = csc_matrix(S + MET * eye(S.shape[0]))
    if not np.isfinite(shifted.data).all():
        return 0.0, np.ones(S.shape[0])
    factor = splu(
        shifted, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
    )
    x = np.random.default_rng(0).standard_normal((S.shape[0], min(S.shape[0], DIRECTIONS)))
    for _ in range(3):
        x = factor.solve(np.linalg.qr(x)[0])
    x = np.linalg.qr(x)[0]
    values, mixed = np.linalg.eigh(x.T @ (S @ x))
    found = x @ mixed[:, values <= 2 * max(values[0], MET)]
    return float(values[0]), np.linalg.norm(found, axis=1)


def is_singular(M: csc_matrix) -> bool:
    """True if a positive semidefinite matrix has no inverse, whatever the units of its rows are."""
    diagonal = M.diagonal()
    if not (diagonal > 0).all():
        return True
    scale = diags(1 / np.sqrt(diagonal))
    return bool(len(diagonal)) and weakest(csc_matrix(scale @ M @ scale))[0] < MET


def least_inertia(M: csc_matrix, A: csc_matrix) -> tuple[float, np.ndarray]:
    """The least eigenvalue of M + AᵀA, both made free of units, and the speeds of its motion:
    zero if neither inertia nor a constraint determines that motion."""
    diagonal = M.diagonal()
    largest = diagonal.max(initial=0) or 1.0
    # less than that is rounding
    scale = diags(1 / np.sqrt(np.where(diagonal > ROUNDING * largest, diagonal, largest)))
    rows = A @ scale
    lengths = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    rows = diags(1 / np.maximum(lengths, TINY)) @ rows
    if not len(diagonal):
        return 1.0, np.ones(0)
    return weakest(csc_matrix(scale @ M @ scale + rows.T @ rows))
