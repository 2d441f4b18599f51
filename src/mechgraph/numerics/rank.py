"""Rank: which combinations of rows are independent, decided once for all that ask.

Columns are put in the scale of their variables and rows are made of length one, so that neither
units nor factors of rows decide: D A C = U Σ Vᵀ, and what is below RANK of the largest singular
value counts as zero. A row that is nothing beside its own usual length (``Scales``), or beside the
terms that cancel in it, stays small. It is never compared with its neighbours, unless nothing else
is known. Of sparse matrices, which are large, the pivots of the Gram matrix of these rows tell the
same: they are squares of distances, and below PROXIMAL they count as zero.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from scipy.sparse import csc_matrix, diags, eye, issparse
from scipy.sparse.linalg import splu

from .tolerances import FADING, KNOWN, MET, PROXIMAL, RANK, ROUNDING, TINY

Numbers = np.ndarray
Matrix = Any  # dense or sparse


class Independent:
    """The independent combinations of the rows of A: D A C = U Σ Vᵀ, without what counts as zero.

    rows: the usual lengths of the rows of A C; if they are not given, what all rows have on the
        average.
    columns: C, the sizes of the variables along the columns.
    fading: length of a row beside its usual one below which it is no longer made of length one.
    """

    def __init__(
        self,
        A: Numbers,
        rows: Numbers | None = None,
        columns: Numbers | float = 1.0,
        fading: float = FADING,
    ) -> None:
        A = A * columns
        squares = np.einsum("...ij,...ij->...i", A, A)
        usual = _usual(squares, rows)
        self.scale = 1 / np.sqrt(squares + fading**2 * usual + TINY)
        self.columns = columns
        self.U, self.sigma, self.Vt = np.linalg.svd(self.scale[..., None] * A, full_matrices=False)
        self.kept = self.sigma > RANK * self.sigma.max(axis=-1, keepdims=True, initial=0)
        self._sizes = np.sqrt(np.maximum(squares, usual))

    @property
    def rank(self) -> Numbers:
        """How many there are."""
        return self.kept.sum(axis=-1)

    @cached_property
    def inverse(self) -> Numbers:
        """Inverses of the singular values, zero for those that count as zero."""
        return np.where(self.kept, 1 / np.where(self.kept, self.sigma, 1), 0)

    @property
    def rows(self) -> Numbers:
        """R: orthonormal rows, over C⁻¹ times the variables, that say the same as A, and rows of
        zeros for those that are dropped."""
        return self.Vt * self.kept[..., None]

    @property
    def pseudoinverse(self) -> Numbers:
        """X with A X r = r for all r that the rows can meet: of least norm beside C."""
        V = np.asarray(self.columns)[..., None] * transposed(self.Vt)
        return V @ (self.inverse[..., None] * (transposed(self.U) * self.scale[..., None, :]))

    def combined(self, b: Numbers) -> Numbers:
        """Σ⁻¹ Uᵀ D b: the combinations of the entries (or rows) of b that belong to R."""
        return self.inverse * apply(transposed(self.U), self.scale * b)

    def least_norm(self, nu: Numbers) -> Numbers:
        """The least λ with C Aᵀλ = Rᵀν."""
        if self.kept.all() and self.U.shape[-1] == self.U.shape[-2]:
            return self.scale * apply(self.U, self.inverse * nu)
        left = (self.U / self.scale[..., None]) * self.kept[..., None, :]
        return apply(np.linalg.pinv(transposed(left), rcond=RANK), self.inverse * nu)

    def multipliers(self, forces: Numbers) -> Numbers:
        """The least λ with Aᵀλ = forces."""
        return self.least_norm(apply(self.rows, self.columns * forces))

    def doubtful(self, left: Numbers, size: Numbers) -> Numbers:
        """The row most part of a combination that is dropped, though it is more than rounding and
        would change the variables, of that size beside C: A u̇ + b leaves so much of it; −1 if
        there is none."""
        lengths = np.linalg.norm(self.U * (self.scale * self._sizes)[..., None], axis=-2)
        dropped = ~self.kept & (self.sigma > ROUNDING * lengths)
        change = np.abs(apply(transposed(self.U), self.scale * left))
        doubt = dropped & (change > KNOWN * self.sigma * size[..., None])
        if not doubt.any():
            return np.full(doubt.shape[:-1], -1)
        share = (np.abs(self.U) * doubt[..., None, :]).max(axis=-1)
        return np.where(doubt.any(axis=-1), share.argmax(axis=-1), -1)


def _usual(squares: Numbers, rows: Numbers | None) -> Numbers:
    """Squares of the usual lengths of rows."""
    if rows is not None:
        return np.asarray(rows, dtype=float) ** 2
    return squares.mean(axis=-1, keepdims=True) if squares.size else squares


def rank(A: Matrix, rows: Numbers | None = None, columns: Numbers | float = 1.0) -> int:
    """How many rows of one matrix are independent."""
    if issparse(A):
        return int((~dependent(A, rows, columns)).sum())
    return int(Independent(A, rows, columns).rank) if A.size else 0


def typical_rank(A: Numbers, rows: Numbers) -> int:
    """How many rows are independent at a state that meets the constraints nearly, beside the usual
    lengths of each: what is left there of a row that holds by itself is no constraint, however
    small it is written."""
    return int(Independent(A, rows, fading=1.0).rank) if A.size else 0


def null_space(A: Numbers, rows: Numbers | None = None, columns: Numbers | float = 1.0) -> Numbers:
    """Columns that span the motions which the rows leave, orthonormal beside C."""
    found = Independent(A, rows, columns)
    whole = np.linalg.svd(found.scale[:, None] * A * columns)[2]
    return np.asarray(np.reshape(columns, (-1, 1)) * whole[int(found.rank) :].T)


def pseudoinverse(
    A: Numbers,
    rows: Numbers | None = None,
    columns: Numbers | float = 1.0,
    fading: float = FADING,
) -> Numbers:
    """X with A X r = r for all r that the rows can meet, in the sense of least squares of rows of
    length one for others; of least norm beside C."""
    return Independent(A, rows, columns, fading).pseudoinverse


def weighed_inverse(A: Numbers) -> Numbers:
    """The pseudoinverse of a matrix whose rows and columns are weighed as they are meant."""
    return np.asarray(np.linalg.pinv(A, rcond=RANK))


def dependent(A: Matrix, rows: Numbers | None = None, columns: Numbers | float = 1.0) -> Numbers:
    """True for every row of one matrix that depends on those before it."""
    if issparse(A):
        return _pivots(csc_matrix(A.multiply(columns)), rows) < PROXIMAL
    usual = [None if rows is None else rows[:k] for k in range(len(A) + 1)]
    ranks = [rank(A[:k], usual[k], columns) for k in range(len(A) + 1)]
    return np.diff(np.array(ranks)) == 0


def _pivots(A: csc_matrix, rows: Numbers | None) -> Numbers:
    """Squared distances of the rows of a sparse matrix, made of length one, from those before
    them."""
    squares = np.asarray(A.multiply(A).sum(axis=1)).ravel()
    even = diags(1 / np.sqrt(squares + FADING**2 * _usual(squares, rows) + TINY)) @ A
    gram = csc_matrix(even @ even.T + MET * eye(A.shape[0]))
    options = {"SymmetricMode": True}
    factor = splu(gram, permc_spec="NATURAL", diag_pivot_thresh=0.0, options=options)
    return np.asarray(factor.U.diagonal())


def transposed(A: Numbers) -> Numbers:
    """Aᵀ of each matrix of a batch."""
    return np.swapaxes(A, -1, -2)


def apply(A: Numbers, x: Numbers) -> Numbers:
    """A x for each of a batch."""
    return np.asarray((A @ x[..., None])[..., 0])
