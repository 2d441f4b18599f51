"""Tables in the graph of operations: the two functions that may be called there.

A *search* finds the piece of a table in which a number is: x → piece, origin, coefficients. A
*pick* reads the coefficients of a table over two numbers: (piece of x, piece of y) → place,
coefficients. CasADi interprets a search in log n; other languages have it as data and a search.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from functools import cache

import casadi as ca
import numpy as np
from casadi import MX, SX

PIECE, ORIGIN, COEFFICIENTS = 0, 1, 2  # of the results of a search; the rest are coefficients
PICK = re.compile(r"pick_(\d+)_(\d+)_(\d+)_[0-9a-f]+_(\w+)")  # rows, row length, powers of y, name
SEARCH = re.compile(r"search_(\d+)_(\d+)_[0-9a-f]+_(\w+)")  # knots, order + PLAIN, table's name
PLAIN = 9  # in the name of a search: that of the table itself, neither derivative nor integral
SLOPE = re.compile(r"((fwd|adj)\d+_)+(wrap_)?(search|pick)_\d")  # what CasADi derives of them


@dataclass(frozen=True)
class Lookup:
    """The function of a table: the search of a derivative (or integral: −1) of the
    ``table``, or the pick of one over two numbers, with so many pieces of y in a ``row`` and so
    many ``powers`` of y."""

    table: str
    count: int  # knots of a search, rows of a pick
    order: int = 0
    row: int = 0
    powers: int = 0

    @property
    def is_pick(self) -> bool:
        return self.row > 0

    def orders(self, place: int) -> tuple[int, ...]:
        """How often the table is differentiated, by each of its arguments, in the result number
        ``place``: the coefficients are its value and slopes at the origin, y, y', y''/2, …."""
        if self.is_pick:
            return divmod(place - 1, self.powers)
        return (self.order + place - COEFFICIENTS,)


def lookup(name: str) -> Lookup | None:
    """The lookup that a function of this name does in a graph; None if it is of no table."""
    searched, picked = (kind.fullmatch(name) for kind in (SEARCH, PICK))
    if searched is not None:
        return Lookup(searched[3], int(searched[1]), int(searched[2]) - PLAIN)
    if picked is not None:
        return Lookup(picked[4], int(picked[1]), row=int(picked[2]), powers=int(picked[3]))
    return None


def horner(rows: np.ndarray, h: np.ndarray) -> np.ndarray:
    """Σ rows[…, k] hᵏ."""
    y = rows[..., -1]
    for k in range(rows.shape[-1] - 2, -1, -1):
        y = y * h + rows[..., k]
    return np.asarray(y)


def polynomial(search: ca.Function, x: SX) -> SX:
    """The polynomial of the piece in which x is."""
    found = search(x)
    h, y = x - found[ORIGIN], found[-1]
    for k in range(found.numel() - 2, COEFFICIENTS - 1, -1):
        y = y * h + found[k]
    return y


@cache
def search_of(name: str, order: int, knots: bytes, pieces: bytes) -> ca.Function:
    """The search of a table as a function that CasADi interprets in log n."""
    x = np.frombuffer(knots)
    rows = np.frombuffer(pieces).reshape(len(x) + 1, -1)
    digest = hashlib.sha256(knots + pieces).hexdigest()[:16]
    return _search(f"search_{len(x)}_{order + PLAIN}_{digest}_{name}", x, rows)


def _search(name: str, x: np.ndarray, rows: np.ndarray) -> ca.Function:
    at, n = MX.sym("x"), len(x)
    place = _lookup("place", x, np.arange(float(n))[:, None], "binary")
    knot = _lookup("knot", np.arange(float(n)), x[:, None], "exact")
    # What is looked up at a whole number is 1 times that row and 0 times the next. So rows of NaN
    # come first, where they are nobody's next, and the last row stands there twice.
    row = _lookup("row", np.arange(n + 2.0), rows[[n, *range(n), n - 1]], "exact")
    k = ca.fmax(0, ca.fmin(n, 1 + ca.floor(place(at))))  # but for rounding near a knot
    below, above = knot(ca.fmax(0, k - 1)), knot(ca.fmin(n - 1, k))
    k = k - (k > 0) * (at < below) + (k < n) * (at >= above)
    origin = knot(ca.fmax(0, k - 1))
    found = ca.vertcat(k, origin, row(ca.if_else(k >= n, 0, k + 1)))
    return _constant_in_pieces(name, [at], found)


@cache
def pick_of(name: str, shape: tuple[int, ...], pieces: bytes) -> ca.Function:
    """(piece of x, piece of y) → flat place, coefficients of a ``Grid``."""
    n, m, _, b = shape
    digest = hashlib.sha256(pieces).hexdigest()[:16]
    row = _lookup("row", np.arange(n * m + 1.0), _padded(pieces, n * m), "exact")
    i, j = MX.sym("i"), MX.sym("j")
    place = (i - 1) * m + (j - 1)
    found = ca.vertcat(place, row(place))
    return _constant_in_pieces(f"pick_{n * m}_{m}_{b}_{digest}_{name}", [i, j], found)


def _padded(pieces: bytes, count: int) -> np.ndarray:
    """Rows of coefficients, the last one twice: there are at least two, and each has a next one."""
    rows = np.frombuffer(pieces).reshape(count, -1)
    return np.vstack([rows, rows[-1:]])


def _lookup(name: str, grid: np.ndarray, values: np.ndarray, mode: str) -> ca.Function:
    options = {"lookup_mode": [mode]}
    return ca.interpolant(name, "linear", [grid.tolist()], values.ravel().tolist(), options)


def _constant_in_pieces(name: str, arguments: list[MX], found: MX) -> ca.Function:
    """A function whose derivatives are zero, and which stays a call in a graph."""
    m, labels = found.numel(), [f"x{k}" for k in range(len(arguments))]
    symbols = [*(SX.sym(label) for label in labels), SX.sym("out_y", m)]
    zeros = [SX.zeros(m) for _ in arguments]
    slopes = [f"jac_y_{label}" for label in labels]
    jacobian = ca.Function(f"jac_{name}", symbols, zeros, [*labels, "out_y"], slopes)
    options = {
        "never_inline": True,
        "custom_jacobian": jacobian,
        "enable_forward": False,
        "enable_reverse": False,
    }
    return ca.Function(name, arguments, [found], labels, ["y"], options)


_data: dict[str, tuple[np.ndarray, np.ndarray]] = {}


def data_of(function: ca.Function) -> tuple[np.ndarray, np.ndarray]:
    """Knots of a search (none of a pick), and the columns that it reads (origin, coefficients) for
    each piece. They come from the function itself, which may be another process's."""
    name = function.name()
    found = lookup(name)
    assert found is not None
    if name not in _data:
        inner, n = {each.name(): each for each in function.find_functions()}, found.count
        if found.is_pick:
            _data[name] = np.zeros(0), np.array(inner["row"](np.arange(n)[None])).T
            return _data[name]
        knots = np.array(inner["knot"](np.arange(n)[None])).ravel()
        rows = np.array(inner["row"](np.arange(n + 1)[None])).T
        origins = np.concatenate((knots[:1], knots))
        _data[name] = knots, np.column_stack([origins, np.roll(rows, -1, axis=0)])
    return _data[name]
