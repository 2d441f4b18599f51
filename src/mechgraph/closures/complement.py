"""Orthogonal complements: C with B C = 0, and a right inverse P of B beside it.

What the rows B y + r = 0 leave of y is y = C z − P r with z arbitrary. Rows with constant entries
are eliminated first, each for one of y. Of what is left,

- ``partition``: the y that were named are z themselves, the others follow by QR, in the sense of
  least squares where there are more rows than needed (compatible rows: exactly);
- ``automatic``: z are coordinates along the last columns of Q in Bᵀ = Q R, found anew at every
  state, so that no choice of independent variables can go bad on the way;
- ``orthonormal``: the same without elimination, so that C has orthonormal columns;
- ``pivoted``: by QR with pivoting of the rows, found anew at every state; it heeds all rows, and
  where they lose rank what becomes free there is in C, whose other columns are zero;
- on numbers, anew at every state: by singular values (``null_space``), or by QR with pivoting
  (``by_pivots``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import casadi as ca
import numpy as np
import scipy.linalg
from casadi import SX

from ..numerics.rank import Independent, null_space, rank
from ..numerics.scales import multiply_rows
from ..numerics.tolerances import MET, NOTHING, RANK, WELL_HELD
from .expressions import Proximal

METHODS = ("automatic", "partition", "orthonormal", "pivoted")


@dataclass(frozen=True, eq=False)
class Complement:
    """C and P; for each column of C the one of y that it stands for, or None; and the rows of B
    that were left to the core, which it may fail to meet: those of constant pivots are met."""

    C: SX
    P: SX
    free: tuple[int | None, ...]
    left: tuple[int, ...]


@dataclass(frozen=True)
class Choice:
    """How a complement is made.

    free: of ``partition``, the y that stay free; kept: of ``automatic``, how many of the first y
    are not eliminated as long as others can be; rows: the rows of the core that are independent;
    factors: what the rows of B are multiplied with, so that they are of one size (all one, if not
    given).
    """

    method: str
    free: tuple[int, ...] = ()
    kept: int = 0
    rows: tuple[int, ...] = ()
    factors: tuple[float, ...] = ()

    def complement(self, B: SX) -> Complement:
        """C and P of B."""
        Y, free, left = self._solved(B, SX.eye(B.shape[0]))
        return Complement(Y[:, : len(free)], -Y[:, len(free) :], free, left)

    def particular(self, B: SX, r: SX) -> SX:
        """P r, which costs less than P."""
        Y, free, _ = self._solved(B, r)
        return -Y[:, len(free) :]

    def _solved(self, B: SX, right: SX) -> tuple[SX, tuple[int | None, ...], tuple[int, ...]]:
        """Y in y = Y (z, 1) that meets B y + right = 0, and ``free`` and ``left`` of C."""
        total, width = B.shape[1], right.shape[1]
        found = self.eliminate(B, right)
        rest = found.rest
        if self.method == "partition":
            free: list[int | None] = list(self.free)
            core = [k for k in found.columns if k not in set(free)]
            known = rest[:, [*self.free, *range(total, total + width)]]
            X = _least_squares(rest[:, core], known, len(free))
            C, P = X[:, : len(free)], -X[:, len(free) :]
        else:
            rows = self._heeded(found)
            core = found.core(total, rows)
            idle = [k for k in found.columns if k not in set(core)]
            if self.method == "pivoted":
                C, P = pivoted(rest[rows, core], rest[rows, total:])
            else:
                others = rest[[k for k in range(rest.shape[0]) if k not in rows], core]
                C, P = orthonormal(rest[rows, core], rest[rows, total:], others)
            free = [*idle, *(None for _ in range(C.shape[1]))]
            C = ca.horzcat(SX(len(core), len(idle)), C)
        Y = SX(total, len(free) + width)
        for k, index in enumerate(free):
            if index is not None:
                Y[index, k] = 1
        if core:
            Y[core, :] = ca.horzcat(C, -P)
        return ca.sparsify(found.back(Y, total)), tuple(free), found.left

    def least(self, B: SX, r: SX) -> SX:
        """Some small y with B y = r: of least norm in the core, which a singular position does not
        make large."""
        total, found = B.shape[1], self.eliminate(B, -r)
        rows = self._heeded(found)
        core = found.core(total, rows)
        K, Y = found.rest[rows, core], SX(total, 1)
        if rows:
            Y[core] = -K.T @ Proximal(K @ K.T, 1).solve(found.rest[rows, total])
        return found.back(Y, total)

    def _heeded(self, found: Elimination) -> list[int]:
        """Rows of the rest that are taken: those that are independent at typical states, or all."""
        return list(range(len(found.left)) if self.method == "pivoted" else self.rows)

    def eliminate(self, B: SX, right: SX) -> Elimination:
        """[B, right] after the elimination of rows of B with constant entries."""
        B, right = (multiply_rows(self.factors, each) for each in (B, right))
        every = range(B.shape[1])
        groups: dict[str, list[Sequence[int]]] = {
            "partition": [[k for k in every if k not in set(self.free)]],
            "automatic": [every[self.kept :], every],
            "orthonormal": [],
            "pivoted": [every],
        }
        return eliminate(B, right, groups[self.method])


# --- elimination ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Elimination:
    """Rows [B, right] solved for some columns, the rest of the rows, which they are (``left``), and
    the columns that are left."""

    steps: tuple[tuple[int, SX], ...]
    rest: SX
    left: tuple[int, ...]
    columns: tuple[int, ...]

    def core(self, total: int, rows: Sequence[int]) -> list[int]:
        """Columns that these of the rows that are left hold."""
        held = set(self.rest[list(rows), :total].sparsity().get_col())
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


def eliminate(B: SX, right: SX, groups: Sequence[Sequence[int]]) -> Elimination:
    """Constant pivots among the columns of each group, one group after the other."""
    count, total = B.shape
    whole = ca.horzcat(B, right)
    rows = {k: ca.sparsify(whole[k, :]) for k in range(count)}
    constants = {k: _constants(row, total) for k, row in rows.items()}
    steps: list[tuple[int, SX]] = []
    columns = set(range(total))
    for group in groups:
        while (pivot := _pivot(rows, constants, columns & set(group))) is not None:
            row, column = pivot
            own = rows.pop(row)
            own = ca.sparsify(own / own[column])
            for k in [k for k, each in rows.items() if each.has_nz(0, column)]:
                rows[k] = _without(rows[k], own, column)
                constants[k] = _constants(rows[k], total)
            columns.remove(column)
            steps.append((column, own))
    rest = ca.vertcat(SX(0, whole.shape[1]), *rows.values())
    return Elimination(tuple(steps), rest, tuple(rows), tuple(sorted(columns)))


def _constants(row: SX, total: int) -> list[int]:
    """Columns of B where a row of [B, right] has constant entries, other than what is left where
    they cancelled."""
    entries = zip(row.sparsity().get_col(), row.nonzeros(), strict=True)
    found = {c: abs(float(entry)) for c, entry in entries if c < total and entry.is_constant()}
    least = MET * max([1.0, *found.values()])
    return [c for c, size in found.items() if size > least]


def _pivot(
    rows: Mapping[int, SX], constants: Mapping[int, list[int]], columns: set[int]
) -> tuple[int, int] | None:
    """A row and one of the columns where it has a constant entry, of all the one that fills
    least."""
    used = {k: [c for c in row.sparsity().get_col() if c in columns] for k, row in rows.items()}
    uses = Counter(c for mine in used.values() for c in mine)
    fills = (
        ((len(used[k]) - 1) * (uses[c] - 1), k, c)
        for k in rows
        for c in constants[k]
        if c in columns
    )
    best = min(fills, key=lambda fill: fill[0], default=None)
    return None if best is None else best[1:]


def _without(row: SX, pivot: SX, column: int) -> SX:
    row = row - row[column] * pivot
    row[column] = 0
    return ca.sparsify(row)


# --- on expressions -------------------------------------------------------------------------------


def _least_squares(K: SX, known: SX, free: int) -> SX:
    """X in K X + known = 0; no number where a column of K depends on those before it, or is mere
    rounding beside them and the first of what is known, which are ``free``."""
    if not K.shape[1]:
        return SX(0, known.shape[1])
    if K.shape[0] == K.shape[1]:
        return -ca.solve(K, ca.densify(known))
    Q, R = ca.qr(ca.densify(K))
    least = RANK**2 * (ca.sumsqr(K) + ca.sumsqr(known[:, :free]))
    sure = ca.if_else(ca.mmin(ca.diag(R) ** 2) > least, 1, np.nan)
    return -sure * ca.solve(R, Q.T @ known)


def orthonormal(B: SX, right: SX, others: SX) -> tuple[SX, SX]:
    """C and P right, by Householder reflections of Bᵀ, whose columns are independent:
    Bᵀ = H (R, 0), C = H (0, 1), P = H (R⁻ᵀ, 0).

    Not a number where a row depends on those before it, or is nothing beside ``others`` that
    are left out, so that none takes rounding for a direction.
    """
    count, total = B.shape
    R, reflections = ca.densify(B.T), []
    sizes = []
    for k in range(count):
        sizes.append(ca.sumsqr(R[k:, k]))
        v, factor, R[k, k] = _reflection(R[k:, k], ca.sqrt(sizes[k]))
        R[k:, k + 1 :] = _reflected(R[k:, k + 1 :], v, factor)
        reflections.append((v, factor))
    sure = _sure(sizes, others)
    lower = ca.solve(ca.triu(R[:count, :]).T, ca.densify(right)) if count else SX(0, right.shape[1])
    Y = ca.diagcat(SX.eye(total - count), lower)
    Y = ca.vertcat(Y[total - count :, :], Y[: total - count, :])
    for k, (v, factor) in reversed(list(enumerate(reflections))):
        Y[k:, :] = _reflected(Y[k:, :], v, sure * factor)
    return Y[:, : total - count], Y[:, total - count :]


def _sure(sizes: Sequence[SX], others: SX) -> SX:
    """One, or not a number if one of the sizes is nothing beside the largest, or beside others."""
    if not sizes:
        return SX(1)
    beside = [ca.sumsqr(others)] if others.nnz() else []
    largest = reduce(ca.fmax, [*beside, *sizes])
    return ca.if_else(reduce(ca.fmin, sizes) > RANK**2 * largest, 1, np.nan)


def _reflection(x: SX, length: SX) -> tuple[SX, SX, SX]:
    """v, whose first entry is one, and the factor of the reflection 1 − factor v vᵀ that leaves of
    x, of the given length, the first entry alone; and that entry."""
    signed = ca.copysign(length, x[0])
    first = x[0] + signed
    v = x * (1 / first)
    v[0] = 1
    return v, first / signed, -signed


def _reflected(X: SX, v: SX, factor: SX) -> SX:
    return X - v @ (factor * (v.T @ X))


def pivoted(B: SX, right: SX) -> tuple[SX, SX]:
    """C and P right, by Householder reflections of Bᵀ, each of the row that is longest in what
    those before it leave: Bᵀ = H R.

    Rows of which nothing is left are not heeded. C has all columns of H; those that rows hold are
    zero. No branches: a row is picked by comparisons, and stays where it is.
    """
    R, left = ca.densify(B.T), ca.densify(right.T)
    (total, count), width = R.shape, left.shape[0]
    reflections, free, e = [], SX.ones(total), SX.zeros(total, width)
    for k in range(min(total, count)):
        longest, row = _longest(ca.vertcat(R[k:, :], left), total - k)
        if k == 0:
            least = RANK**2 * longest + NOTHING
        held = longest > least
        length = ca.sqrt(ca.if_else(held, longest, 1))
        v, factor, pivot = _reflection(row[: total - k], length)
        reflections.append((v, held * factor))
        R[k:, :] = _reflected(R[k:, :], *reflections[-1])
        free[k], e[k, :] = 1 - held, -held / pivot * row[total - k :].T
        left += e[k, :].T @ R[k, :]
    Y = ca.horzcat(ca.diag(free), e)
    for k, reflection in reversed(list(enumerate(reflections))):
        Y[k:, :] = _reflected(Y[k:, :], *reflection)
    return Y[:, :total], -Y[:, total:]


def _longest(columns: SX, rows: int) -> tuple[SX, SX]:
    """|x|² of the longest column, seen in its first rows, and the column."""
    sizes = ca.sum1(columns[:rows, :] ** 2)
    longest, found = sizes[0], columns[:, 0]
    for j in range(1, columns.shape[1]):
        found = ca.if_else(sizes[j] > longest, columns[:, j], found)
        longest = ca.fmax(longest, sizes[j])
    return longest, found


# --- on numbers -----------------------------------------------------------------------------------


def by_pivots(A: np.ndarray) -> np.ndarray:
    """A complement of numbers by QR with pivoting of the columns, A Π = Q (R₁ R₂): those that are
    left over are z, and the others are −R₁⁻¹ R₂ z, with entries that are not large."""
    rows = Independent(A).rows
    R, order = scipy.linalg.qr(rows, mode="r", pivoting=True)
    held, total = rank(A), A.shape[1]
    C = np.zeros((total, total - held))
    C[order[held:]] = np.eye(total - held)
    C[order[:held]] = -scipy.linalg.solve_triangular(R[:held, :held], R[:held, held:])
    return C


AT_A_STATE = {"svd": null_space, "qr": by_pivots}


def independent_rows(
    B: np.ndarray, wanted: int, costs: Sequence[int] | None = None
) -> tuple[int, ...]:
    """As many rows of B as its rank: the cheapest first, as long as they are well apart from each
    other; then by QR with pivoting."""
    found, left = list[int](), B.astype(float)
    least = WELL_HELD * np.linalg.norm(B, axis=1).max(initial=0.0)
    order = range(0) if costs is None else np.argsort(costs, kind="stable").tolist()
    while len(found) < wanted and left.any():
        lengths = np.linalg.norm(left, axis=1)
        apart = [k for k in order if lengths[k] > least]
        k = apart[0] if apart else int(lengths.argmax())
        own = left[k] / lengths[k]
        left = left - np.outer(left @ own, own)
        left[k] = 0.0
        found.append(int(k))
    return tuple(sorted(found))


def free_columns(B: np.ndarray, kept: int, wanted: int) -> tuple[int, ...]:
    """Columns of B, of this rank, that the rows leave free: the first ``kept`` of them, as far as
    the others are held well by the rows; by QR with pivoting."""
    if not B.size:
        return tuple(range(B.shape[1]))
    bound, left = list[int](), B
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
