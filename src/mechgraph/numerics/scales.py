"""Scales: how large the speeds usually are, and the rows of constraints in them.

A row of constraints may be written in any units, times any factor. What it usually comes to, at a
few random states, is its scale: beside it, a row that is small at a state has lost its hold there,
and one that is written small has not.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX

COARSE = 10  # powers of two between the factors that rows are multiplied with


@dataclass(frozen=True)
class Scales:
    """The usual sizes of speeds beside each other, and the usual lengths of the rows of A over
    them."""

    speeds: np.ndarray
    rows: np.ndarray

    @property
    def factors(self) -> np.ndarray:
        """Factors of the rows of A with which they are usually of length one, within a
        factor of 32; powers of two, which change no digit, and one for most rows."""
        return even_factors(self.rows)


def even_factors(lengths: np.ndarray) -> np.ndarray:
    """Powers of two that bring lengths near one."""
    return np.asarray(np.exp2(COARSE * np.round(-np.log2(lengths) / COARSE)))


def multiply_rows(factors: np.ndarray | Sequence[float], matrix: SX) -> SX:
    """The rows of a matrix times these factors."""
    if all(factor == 1 for factor in factors):
        return matrix
    return ca.diag(SX(ca.DM(list(factors)))) @ matrix


def usual_lengths(
    A: SX, arguments: SX, states: np.ndarray, columns: np.ndarray | None = None
) -> np.ndarray:
    """The longest that each row of A is at these states (one in each row), its columns multiplied
    by their sizes; one for rows of nothing but zeros."""
    pattern = A.sparsity()
    rows, column = np.array(pattern.row(), dtype=int), np.array(pattern.get_col(), dtype=int)
    entries = ca.vertcat(SX(0, 1), *A.nonzeros())
    values = np.array(ca.Function("A", [arguments], [entries])(states.T))
    if columns is not None:
        values = values * columns[column][:, None]
    squares = np.where(np.isfinite(values), values, 0.0) ** 2
    sums = np.zeros((A.shape[0], len(states)))
    np.add.at(sums, rows, squares)
    longest = np.sqrt(sums.max(axis=1, initial=0.0))
    return np.where(longest > 0, longest, 1.0)


def sizes_by_inertia(M: SX, arguments: SX, states: np.ndarray) -> np.ndarray:
    """The speeds at which each motion by itself has the same kinetic energy, beside what is usual;
    one for what has no inertia."""
    function = ca.Function("M", [arguments], [ca.densify(ca.diag(M))])
    values = np.array(function(states.T))
    inertia = np.where(np.isfinite(values), values, 0.0).max(axis=1, initial=0.0)
    sizes = 1 / np.sqrt(np.where(inertia > 0, inertia, 1.0))
    known = sizes[inertia > 0]
    usual = float(np.exp(np.log(known).mean())) if known.size else 1.0
    return np.where(inertia > 0, sizes / usual, 1.0)
