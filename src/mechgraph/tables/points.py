"""Points as they are given, what is made of them, and the polynomials between them."""

from __future__ import annotations

import re
from typing import Any

import casadi as ca
import numpy as np
from scipy.interpolate import CubicSpline, PchipInterpolator

from ..arguments import is_name
from ..errors import ModelError, shown
from ..graph.searches import horner


class Tabulated:
    """A function that is given by points: equal to another one of the same, and known by the names
    of its searches."""

    def _key(self) -> tuple[Any, ...]:
        raise NotImplementedError

    def __eq__(self, other: object) -> bool:
        return isinstance(other, type(self)) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def _noted(self, search: ca.Function) -> ca.Function:
        _KNOWN[search.name()] = self
        return search


_KNOWN: dict[str, Tabulated] = {}  # by the names of their searches and picks, which are kept, too


def table_of(name: str) -> Any:
    """The table that a search or pick of this name is of, if it is known here."""
    return _KNOWN.get(name)


def label(name: Any) -> str:
    """A name that can stand in a program."""
    if not is_name(name) or not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) or "__" in name:
        raise ModelError(f"a table's name must be a word of letters and digits, got {shown(name)}")
    return str(name)


def numbers(values: Any, what: str) -> np.ndarray:
    """A list of finite numbers."""
    try:
        found = np.array(values, dtype=float)
    except Exception:
        raise ModelError(f"{what} must be numbers, got {shown(values)}") from None
    if found.ndim != 1:
        raise ModelError(f"{what} must be a list of numbers, got the shape {found.shape}")
    wrong = np.flatnonzero(~np.isfinite(found))
    if len(wrong):
        raise ModelError(f"{what}: value {wrong[0]} is {found[wrong[0]]}; leave such points out")
    return found


def points(values: Any, what: str) -> np.ndarray:
    """Knots: two or more, rising."""
    x = numbers(values, what)
    if len(x) < 2:
        raise ModelError(f"{what} has {len(x)} points; a table needs at least two")
    wrong = np.flatnonzero(np.diff(x) <= 0)
    if len(wrong):
        k = int(wrong[0])
        raise ModelError(
            f"{what} must rise from point to point, but value {k + 1} ({x[k + 1]:.6g}) follows "
            f"value {k} ({x[k]:.6g}); sort the points, and leave out those that are there twice"
        )
    return x


def matrix(values: Any, shape: tuple[int, int], what: str) -> np.ndarray:
    """Finite numbers in rows and columns."""
    try:
        rows = np.array(values, float)
    except Exception:  # rows of several lengths, texts, expressions
        rows = np.zeros(0)
    if rows.shape != shape:
        raise ModelError(
            f"{what} must have a row for each x and a column for each y, {shape[0]} by {shape[1]}, "
            f"got {shown(values)}"
        )
    if not np.isfinite(rows).all():
        raise ModelError(f"{what}: a value is not finite; fill it in")
    return rows


def pieces_of(x: np.ndarray, y: np.ndarray, kind: str, outside: str) -> np.ndarray:
    """Rows of coefficients c₀, c₁, …: below the first knot, between the knots, above the last."""
    between = inner(x, y, kind, outside)
    rows = np.vstack([0 * between[:1], between, 0 * between[:1]])
    rows[0, 0], rows[-1, 0] = y[0], y[-1]
    if outside == "extend" and rows.shape[1] > 1:
        powers = np.arange(1, rows.shape[1])
        rows[0, 1] = between[0, 1]
        rows[-1, 1] = horner(between[-1, 1:] * powers, x[-1] - x[-2])
    if outside == "refuse":
        rows[0] = rows[-1] = np.nan
    return rows


def inner(x: np.ndarray, y: np.ndarray, kind: str, outside: str) -> np.ndarray:
    """Coefficients between the knots; y may have further axes, which stand between those of pieces
    and of coefficients."""
    if kind == "hold":
        return y[:-1, ..., None].copy()
    if kind == "linear":
        lengths = np.diff(x).reshape(-1, *[1] * (y.ndim - 1))
        return np.stack([y[:-1], np.diff(y, axis=0) / lengths], axis=-1)
    if kind == "monotone":
        return np.ascontiguousarray(PchipInterpolator(x, y).c[::-1].T)
    ends = "periodic" if outside == "repeat" else "not-a-knot"
    return np.ascontiguousarray(np.moveaxis(CubicSpline(x, y, bc_type=ends).c[::-1], 0, -1))
