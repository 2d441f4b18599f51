"""Orthogonal complements: C with B C = 0, and a right inverse P of B beside it.

What the rows B y + r = 0 leave of y is y = C z − P r with z arbitrary. Rows with constant entries
are eliminated first, each for one of y. Of what is left,

- ``partition``: the y that were named are z themselves, the others follow by QR, in the sense of
  least squares where there are more rows than needed (compatible rows: exactly);
- ``automatic``: z are coordinates along the last columns of Q in Bᵀ = Q R, found anew at every
  state, so that no choice of independent variables can go bad on the way;
- ``orthonormal``: the same without elimination, so that C has orthonormal columns;
- on numbers (``null_space``): by singular values.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
import scipy.linalg
from casadi import SX

from ..closures.numbers import RANK_TOLERANCE

WELL_HELD = 1e-3  # extra variables are left free unless the rows hold the others this badly
DEPENDENT = 1e-11  # what is left of a row that depends on others, relative
METHODS = ("automatic", "partition", "orthonormal")


@dataclass(frozen=True, eq=False)
class Complement:
    """C and P, and for each column of C the one of y that it stands for, or None."""

    C: SX
    P: SX
    free: tuple[int | None, ...]


@dataclass(frozen=True)
class Choice:
    """How a complement is made.

    free: of ``partition``, the y that stay free; kept: of ``automatic``, how many of the first y
    are not eliminated as long as others can be; rows: the rows of the core that are independent.
    """

    method: str
    free: tuple[int, ...] = ()
    kept: int = 0
    rows: tuple[int, ...] = ()

    def complement(self, B: SX) -> Complement:
        """C and P of B."""
        count, total = B.shape
        found = self.eliminated(B)
        rest = found.rest
        if self.method == "partition":
            free: list[int | None] = list(self.free)
            core = [k for k in found.columns if k not in set(free)]
            X = _least_squares(rest[:, core], rest[:, [*self.free, *range(total, total + count)]])
            C, P = X[:, : len(free)], -X[:, len(free) :]
        else:
            core = found.core
            idle = [k for k in found.columns if k not in set(core)]
            C, P = orthonormal(rest[:, core], self.rows)
            P = P @ rest[:, total:]
            free = [*idle, *(None for _ in range(C.shape[1]))]
            C = ca.horzcat(SX(len(core), len(idle)), C)
        Y = SX(total, len(free) + count)
        for k, index in enumerate(free):
            if index is not None:
                Y[index, k] = 1
        if core:
            Y[core, :] = ca.horzcat(C, -P)
        Y = ca.sparsify(found.back(Y, total))
        return Complement(Y[:, : len(free)], -Y[:, len(free) :], tuple(free))

    def eliminated(self, B: SX) -> Elimination:
        """B after the elimination of rows with constant entries."""
        every = range(B.shape[1])
        groups: dict[str, list[Sequence[int]]] = {
            "partition": [[k for k in every if k not in set(self.free)]],
            "automatic": [every[self.kept :], every],
            "orthonormal": [],
        }
        return eliminated(B, groups[self.method])


# --- elimination ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Elimination:
    """Rows [B, 1] solved for some columns, the rows that are left, and the columns that are."""

    steps: tuple[tuple[int, SX], ...]
    rest: SX
    columns: tuple[int, ...]

    @property
    def core(self) -> list[int]:
        """Columns that the rows that are left hold."""
        held = set(self.rest.sparsity().get_col())
        return [k for k in self.columns if k in held]

    def back(self, Y: SX, total: int) -> SX:
        """The other rows of y = Y (z, r): what was eliminated follows."""
        width = Y.shape[1]
        for column, row in reversed(self.steps):
            others = SX(row[:, :total])
            others[column] = 0
            right = ca.horzcat(SX(1, width - row.shape[1] + total), row[:, total:])
            Y[column, :] = -(right + ca.sparsify(others) @ ca.sparsify(Y))
        return Y


def eliminated(B: SX, groups: Sequence[Sequence[int]]) -> Elimination:
    """Constant pivots among the columns of each group, one group after the other."""
    count, total = B.shape
    whole = ca.horzcat(B, SX.eye(count))
    rows = [ca.sparsify(whole[k, :]) for k in range(count)]
    steps: list[tuple[int, SX]] = []
    left = set(range(total))
    for group in groups:
        while (pivot := _constant_pivot(rows, left & set(group))) is not None:
            row, column = pivot
            chosen = rows.pop(row)
            chosen = ca.sparsify(chosen / chosen[column])
            rows = [_without(each, chosen, column) for each in rows]
            left.remove(column)
            steps.append((column, chosen))
    rest = ca.vertcat(SX(0, total + count), *rows)
    return Elimination(tuple(steps), rest, tuple(sorted(left)))


def _constant_pivot(rows: Sequence[SX], columns: set[int]) -> tuple[int, int] | None:
    """A row and one of the columns where it has a constant entry, of all the one that fills
    least."""
    used = [[c for c in row.sparsity().get_col() if c in columns] for row in rows]
    uses = np.bincount([c for row in used for c in row], minlength=max(columns, default=0) + 1)
    best: tuple[float, int, int] | None = None
    for k, (row, mine) in enumerate(zip(rows, used, strict=True)):
        for c in mine:
            if best is not None and (len(mine) - 1) * (uses[c] - 1) >= best[0]:
                continue
            entry = row[c]
            if entry.is_constant() and not entry.is_zero():
                best = float((len(mine) - 1) * (uses[c] - 1)), k, c
    return None if best is None else best[1:]


def _without(row: SX, pivot: SX, column: int) -> SX:
    entry = row[column]
    if entry.is_zero():
        return row
    row = row - entry * pivot
    row[column] = 0
    return ca.sparsify(row)


# --- on expressions -------------------------------------------------------------------------------


def _least_squares(K: SX, known: SX) -> SX:
    """X in K X + known = 0."""
    if not K.shape[1]:
        return SX(0, known.shape[1])
    if K.shape[0] == K.shape[1]:
        return -ca.solve(K, ca.densify(known))
    Q, R = ca.qr(ca.densify(K))
    return -ca.solve(R, Q.T @ known)


def orthonormal(B: SX, rows: Sequence[int]) -> tuple[SX, SX]:
    """C and P by Householder reflections of (the independent rows of) Bᵀ, without pivoting; not a
    number where a row depends on those before it, so that none takes rounding for a direction."""
    count, total = len(rows), B.shape[1]
    R, Q = ca.densify(B[list(rows), :].T), SX.eye(total)
    lengths = ca.sum1(R**2)
    for k in range(count):
        v = R[k:, k]
        own = ca.sumsqr(v)
        length = ca.sqrt(ca.if_else(own > DEPENDENT**2 * lengths[k], own, np.nan))
        v[0] += ca.if_else(v[0] >= 0, length, -length)
        v = v / ca.sqrt(ca.sumsqr(v))
        R[k:, :] -= 2 * v @ (v.T @ R[k:, :])
        Q[:, k:] -= 2 * (Q[:, k:] @ v) @ v.T
    P = SX(total, B.shape[0])
    upper = ca.triu(R[:count, :])
    P[:, list(rows)] = Q[:, :count] @ ca.solve(upper.T, SX.eye(count)) if count else SX(total, 0)
    return Q[:, count:], P


# --- on numbers -----------------------------------------------------------------------------------


def null_space(A: np.ndarray) -> np.ndarray:
    """An orthonormal complement of numbers, by singular values."""
    return np.asarray(scipy.linalg.null_space(A, rcond=RANK_TOLERANCE))


def rank(B: np.ndarray) -> int:
    """How many rows are independent, beside the largest of them: what elimination has left of
    dependent ones is rounding, and stays so."""
    values = np.linalg.svd(B, compute_uv=False)
    return int((values > RANK_TOLERANCE * values.max(initial=0.0)).sum())


def independent_rows(B: np.ndarray) -> tuple[int, ...]:
    """Rows that make up the rank of B, by QR with pivoting."""
    if not B.size:
        return ()
    order = scipy.linalg.qr(B.T, mode="r", pivoting=True)[1]
    return tuple(sorted(int(k) for k in order[: rank(B)]))


def free_columns(B: np.ndarray, kept: int) -> tuple[int, ...]:
    """Columns of B that the rows leave free: the first ``kept`` of them, as far as the others are
    held well by the rows; by QR with pivoting."""
    if not B.size:
        return tuple(range(B.shape[1]))
    wanted, bound, left = rank(B), list[int](), B
    for columns, tolerance in ((range(kept, B.shape[1]), WELL_HELD), (range(B.shape[1]), 0.0)):
        candidates = [k for k in columns if k not in bound]
        if not candidates or len(bound) == wanted:
            continue
        Q, R, order = scipy.linalg.qr(left[:, candidates], mode="economic", pivoting=True)
        held = np.abs(np.diag(R)) > tolerance * np.abs(B).max()
        count = min(int(held.sum()), wanted - len(bound))
        bound += [candidates[k] for k in order[:count]]
        left = left - Q[:, :count] @ (Q[:, :count].T @ left)
    return tuple(k for k in range(B.shape[1]) if k not in set(bound))
