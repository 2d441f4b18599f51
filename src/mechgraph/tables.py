"""Tables: functions given by points, as expressions that cost a search of log n.

Between two neighbouring knots a table is a polynomial about the lower one, y = c₀ + c₁ h + c₂ h² …
with h = x − origin. What finds the piece is one call in the expression graph, the *search*: from x
it gives the number of the piece, its origin and its coefficients. The polynomial itself is written
with ordinary operations. A search is constant between knots, so its derivatives are zero, and those
of the table are those of the polynomials: exact, to any order.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from functools import cache, cached_property
from typing import Any, overload

import casadi as ca
import numpy as np
from casadi import MX, SX
from scipy.interpolate import CubicSpline, PchipInterpolator

from .arguments import choice, flag, is_name
from .errors import ArgumentError, ModelError, shown

KINDS = ("linear", "hold", "monotone", "smooth")
GRIDS = ("linear", "hold", "smooth")
OUTSIDE = ("hold", "extend", "repeat", "refuse")
PIECE, ORIGIN, COEFFICIENTS = 0, 1, 2  # of the results of a search; the rest are coefficients
PICK = re.compile(r"pick_(\d+)_(\d+)_(\d+)_[0-9a-f]+_(\w+)")  # rows, row length, powers of y, name
SEARCH = re.compile(r"search_(\d+)_(\d+)_[0-9a-f]+_(\w+)")  # knots, order + PLAIN, table's name
PLAIN = 9  # in the name of a search: that of the table itself, neither derivative nor integral


class Table:
    """y over x, one number over one number: call it with numbers or with expressions.

    >>> gas = Table([0, 1, 3], [0, 2, 2])
    >>> gas(0.5), gas.derivative(0.5), gas.integral(3.0)
    (1.0, 2.0, 5.0)
    """

    def __init__(
        self, x: Any, y: Any, kind: str = "linear", outside: str = "hold", name: str = "table"
    ) -> None:
        self.kind = choice("kind", kind, KINDS, ModelError)
        self.outside = choice("outside", outside, OUTSIDE, ModelError)
        self.name = _label(name)
        self.x, self.y = _points(x, f"table {name!r}: x"), _numbers(y, f"table {name!r}: y")
        if len(self.y) != len(self.x):
            raise ModelError(
                f"table {name!r}: {len(self.x)} values of x and {len(self.y)} of y; give one of "
                "each for every point"
            )
        if self.outside == "repeat" and self.kind != "hold" and self.y[0] != self.y[-1]:
            raise ModelError(
                f"table {name!r} repeats itself, but ends with {self.y[-1]:.6g} and begins with "
                f"{self.y[0]:.6g}; make the last point the first one a period later"
            )
        self.order, self.knots = 0, self.x
        if self.kind != "hold" or self.outside == "refuse":  # the last point is still inside
            self.knots = np.append(self.x[:-1], np.nextafter(self.x[-1], np.inf))
        self.pieces = _pieces(self.x, self.y, self.kind, self.outside)

    @classmethod
    def _of_pieces(cls, table: Table, pieces: np.ndarray, order: int) -> Table:
        made = cls.__new__(cls)
        vars(made).update(
            {name: value for name, value in vars(table).items() if name in _STATED},
            pieces=pieces,
            order=order,
        )
        return made

    @cached_property
    def derivative(self) -> Table:
        """dy/dx, as a table on the same knots."""
        powers = np.arange(1, max(2, self.pieces.shape[1]))
        higher = self.pieces[:, 1:] if self.pieces.shape[1] > 1 else 0 * self.pieces
        return self._of_pieces(self, higher * powers, self.order + 1)

    @cached_property
    def integral(self) -> Table:
        """∫ y dx from the first knot, as a table on the same knots."""
        if self.outside == "repeat" and self.order < 0:
            raise ModelError(f"table {self.name!r}: the integral of an integral does not repeat")
        powers = np.arange(1, self.pieces.shape[1] + 1)
        rows = np.column_stack([np.zeros(len(self.pieces)), self.pieces / powers])
        inner = rows[1:-1]
        added = horner(inner, np.diff(self.x))
        rows[2:, 0] = np.cumsum(added)
        return self._of_pieces(self, rows, self.order - 1)

    def __call__(self, x: Any) -> Any:
        """y at x: numbers for numbers, an expression for an expression."""
        if not isinstance(x, SX):
            return self._at_numbers(x)
        if x.is_constant():
            return SX(ca.DM(self._at_numbers(np.array(ca.DM(x)))))
        y = SX.zeros(*x.shape)
        for k in range(x.numel()):
            y[k] = self._at(x[k])
        return y

    def _at(self, x: SX) -> SX:
        if self.outside != "repeat":
            return self.inside(x)
        period = self.x[-1] - self.x[0]
        turns = ca.floor((x - self.x[0]) / period)
        return polynomial(self.search, x - period * turns) + self._each_period * turns

    def _at_numbers(self, x: Any) -> Any:
        try:
            x = np.asarray(x, float)
        except (TypeError, ValueError):
            raise ModelError(
                f"table {self.name!r} takes a number or an expression such as "
                f"m.coordinate('joint'), got {shown(x)}"
            ) from None
        turns = np.zeros(x.shape)
        if self.outside == "repeat":
            turns = np.floor((x - self.x[0]) / (self.x[-1] - self.x[0]))
        inside = x - turns * (self.x[-1] - self.x[0])
        k = np.searchsorted(self.knots, inside, side="right")
        y = horner(self.pieces[k], inside - self._origins[k]) + self._each_period * turns
        return y if x.ndim else float(y)

    @cached_property
    def _each_period(self) -> float:
        """What is added from one period to the next: the integral of one, for an integral."""
        return float(self.pieces[-1, 0]) if self.order < 0 else 0.0

    @cached_property
    def _origins(self) -> np.ndarray:
        return np.concatenate((self.knots[:1], self.knots))

    @property
    def search(self) -> ca.Function:
        """x → piece, origin, coefficients."""
        found = search_of(self.name, self.order, self.knots.tobytes(), self.pieces.tobytes())
        _KNOWN[found.name()] = self
        return found

    def inside(self, x: SX) -> SX:
        """y at an x that is not brought into the period first."""
        return polynomial(self.search, x)

    def __getstate__(self) -> dict[str, Any]:
        return {name: vars(self)[name] for name in (*_STATED, "pieces", "order")}

    def _key(self) -> tuple[Any, ...]:
        numbers = self.x.tobytes(), self.y.tobytes()
        return self.kind, self.outside, self.name, self.order, *numbers

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Table) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        span = f"x from {self.x[0]:.6g} to {self.x[-1]:.6g}"
        return f"<{self.kind} table {self.name!r}: {len(self.x)} points, {span}>"


class Grid:
    """z over x and y, on a grid: call it with two numbers or two expressions.

    >>> map = Grid([0, 1], [0, 2], [[0, 2], [1, 5]])
    >>> map(0.5, 1.0)
    2.0
    """

    def __init__(
        self,
        x: Any,
        y: Any,
        z: Any,
        kind: str = "linear",
        outside: str = "hold",
        name: str = "table",
    ) -> None:
        self.name = _label(name)
        self.kind = choice("kind of a table over x and y", kind, GRIDS, ModelError)
        self.outside = choice(
            "outside of a table over x and y", outside, ("hold", "extend", "refuse"), ModelError
        )
        self.x, self.y = (_points(v, f"table {name!r}: {w}") for v, w in ((x, "x"), (y, "y")))
        self.z = _matrix(z, (len(self.x), len(self.y)), f"table {name!r}: z")
        along_x = _inner(self.x, self.z, self.kind, "")
        # cubics are linear in their values, so those of the coefficients make the surface
        pieces = _inner(self.y, np.moveaxis(along_x, 1, 0), self.kind, "")
        self.pieces = np.ascontiguousarray(np.moveaxis(pieces, 1, 0))

    def __call__(self, x: Any, y: Any) -> Any:
        """z at (x, y): numbers for numbers, an expression for expressions."""
        if isinstance(x, SX) or isinstance(y, SX):
            return self._at(SX(x), SX(y))
        a, b = SX.sym("a"), SX.sym("b")
        given = np.broadcast_arrays(np.asarray(x, float), np.asarray(y, float))
        f = ca.Function("f", [a, b], [self._at(a, b)])
        z = np.array(f(*(each.ravel()[None] for each in given))).reshape(given[0].shape)
        return z if z.ndim else float(z)

    def _at(self, x: SX, y: SX) -> SX:
        a, b = (
            ca.fmin(ca.fmax(at, float(own[0])), float(own[-1]))
            for at, own in ((x, self.x), (y, self.y))
        )
        z, slope_x, slope_y = self.parts(a, b)
        if self.outside == "extend":
            return z + slope_x * (x - a) + slope_y * (y - b)
        if self.outside == "refuse":
            for at, own in ((x, self.x), (y, self.y)):
                label = f"{self.name}_{'x' if own is self.x else 'y'}"
                z += Table(own[[0, -1]], [0, 0], outside="refuse", name=label)(at)
        return z

    @cached_property
    def _inside(self) -> ca.Function:
        """z and its two slopes, of x and y within the grid."""
        x, y = SX.sym("x"), SX.sym("y")
        found = [self._search(letter)(at) for letter, at in (("x", x), ("y", y))]
        h, g = x - found[0][ORIGIN], y - found[1][ORIGIN]
        c = self._pick(found[0][PIECE], found[1][PIECE])[1:]
        rows, columns = self.pieces.shape[2:]
        z = SX(0)
        for i in reversed(range(rows)):
            part = SX(0)
            for j in reversed(range(columns)):
                part = part * g + c[i * columns + j]
            z = z * h + part
        return settled(ca.Function("z", [x, y], [z, ca.gradient(z, x), ca.gradient(z, y)]))

    def _search(self, letter: str) -> ca.Function:
        """Where x or y is. The coefficients are not used, but say where an integrator stops."""
        own = self.x if letter == "x" else self.y
        knots = np.append(own[:-1], np.nextafter(own[-1], np.inf))
        jumps = np.zeros(len(own) + 1) if self.kind == "smooth" else np.arange(len(own) + 1.0)
        found = search_of(f"{self.name}_{letter}", 0, knots.tobytes(), jumps.tobytes())
        _KNOWN_GRIDS[found.name()] = self
        return found

    @property
    def _pick(self) -> ca.Function:
        found = _pick_of(self.name, self.pieces.shape, self.pieces.tobytes())
        _KNOWN_GRIDS[found.name()] = self
        return found

    def parts(self, x: SX, y: SX) -> list[SX]:
        """z and its slopes along x and y at a place within the grid."""
        return [SX(part) for part in self._inside.call([x, y])]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_inside"}

    def _key(self) -> tuple[Any, ...]:
        numbers = self.x.tobytes(), self.y.tobytes(), self.z.tobytes()
        return self.kind, self.outside, self.name, *numbers

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Grid) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        return f"<{self.kind} table {self.name!r}: {len(self.x)} by {len(self.y)} points>"


def _matrix(values: Any, shape: tuple[int, int], what: str) -> np.ndarray:
    rows = np.array(values, float) if np.ndim(values) == 2 else np.zeros((0, 0))
    if rows.shape != shape:
        raise ModelError(
            f"{what} must have a row for each x and a column for each y, {shape[0]} by {shape[1]}, "
            f"got {shown(values)}"
        )
    if not np.isfinite(rows).all():
        raise ModelError(f"{what}: a value is not finite; fill it in")
    return rows


@overload
def table(
    x: Any, y: Any, z: None = None, *, kind: str = ..., outside: str = ..., name: str = ...
) -> Table: ...
@overload
def table(
    x: Any, y: Any, z: Any, *, kind: str = ..., outside: str = ..., name: str = ...
) -> Grid: ...
def table(
    x: Any,
    y: Any,
    z: Any = None,
    *,
    kind: str = "linear",
    outside: str = "hold",
    name: str = "table",
) -> Table | Grid:
    """The points (x, y) as a function of x, to be called with a number or an expression; with a
    matrix ``z``, a row for each x and a column for each y, a function of x and y.

    ``kind`` is what is between the points: "linear" (straight lines), "hold" (the value of the
    point before), "monotone" (cubics without overshoot, PCHIP; the slope is continuous; not over x
    and y) or "smooth" (cubic spline, not-a-knot; the curvature is continuous). ``outside`` is what
    is beyond the ends: "hold" (the last value), "extend" (straight on along the end's slope),
    "repeat" (periodic; not over x and y) or "refuse" (not a number, so that a run ends there with
    an error that says so). ``name`` is what it is called in printed equations.
    """
    return Table(x, y, kind, outside, name) if z is None else Grid(x, y, z, kind, outside, name)


@overload
def spline(
    x: Any, y: Any, z: None = None, *, monotone: bool = ..., outside: str = ..., name: str = ...
) -> Table: ...
@overload
def spline(
    x: Any, y: Any, z: Any, *, monotone: bool = ..., outside: str = ..., name: str = ...
) -> Grid: ...
def spline(
    x: Any,
    y: Any,
    z: Any = None,
    *,
    monotone: bool = False,
    outside: str = "hold",
    name: str = "spline",
) -> Table | Grid:
    """The points joined by cubics: a smooth spline, or one that has no overshoot; see ``table``."""
    kind = "monotone" if flag("monotone", monotone, ModelError) else "smooth"
    return table(x, y, z, kind=kind, outside=outside, name=name)


_STATED = ("x", "y", "kind", "outside", "name", "knots")


# --- of time --------------------------------------------------------------------------------------


def series(name: str, value: Any) -> Table | None:
    """A table of time as an input: given as such, or as (times, values), with lines between them,
    or with a kind of table as a third entry; None for anything else."""
    if isinstance(value, Table):
        return value
    parts = isinstance(value, tuple) and len(value) in (2, 3) and all(map(_is_long, value[:2]))
    if not parts:
        return None
    try:
        times = _points(value[0], f"input {name!r}: times")
        values = _numbers(value[1], f"input {name!r}: values")
        kind = value[2] if len(value) > 2 else "linear"
        return Table(times, values, kind, name=_word(name))
    except ModelError as error:
        raise ArgumentError(
            str(error).replace(f"table {_word(name)!r}", f"input {name!r}")
        ) from None


def _is_long(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, SX)) and np.ndim(value) > 0


def _word(name: str) -> str:
    """A name as a table may have it."""
    return re.sub(r"_+", "_", "input_" + re.sub(r"[^A-Za-z0-9]", "_", name)).rstrip("_")


def in_time(inputs: dict[str, Any], t: SX) -> dict[str, Any]:
    """Inputs, with expressions of time in the place of series."""
    found = {name: series(name, value) for name, value in inputs.items()}
    return {
        name: value if (own := found[name]) is None else own(t) for name, value in inputs.items()
    }


def at_times(inputs: Any, t: Any) -> Any:
    """Inputs, with numbers at times in the place of series."""
    if not isinstance(inputs, Mapping):
        return inputs
    check_covered(inputs, t)
    found = {name: series(name, value) for name, value in inputs.items()}
    return {
        name: value if (own := found[name]) is None else own(t) for name, value in inputs.items()
    }


def check_covered(inputs: Any, t: Any) -> None:
    """Series that were given as points must have data for all times."""
    for name, value in inputs.items() if isinstance(inputs, Mapping) else ():
        if not isinstance(value, tuple) or (own := series(name, value)) is None:
            continue
        first, last, slack = own.x[0], own.x[-1], 1e-9 * (own.x[-1] - own.x[0])
        if np.min(t) < first - slack or np.max(t) > last + slack:
            raise ArgumentError(
                f"input {name!r} has data from t = {first:.6g} to {last:.6g}, and is asked for "
                f"from {np.min(t):.6g} to {np.max(t):.6g}; give more of them, or say what is "
                "beyond by mg.table(times, values, outside='hold')"
            )


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


# --- reading --------------------------------------------------------------------------------------


def _label(name: Any) -> str:
    if not is_name(name) or not re.fullmatch(r"[A-Za-z]\w*", name, re.ASCII) or "__" in name:
        raise ModelError(f"a table's name must be a word of letters and digits, got {shown(name)}")
    return str(name)


def _numbers(values: Any, what: str) -> np.ndarray:
    try:
        numbers = np.array(values, dtype=float)
    except Exception:
        raise ModelError(f"{what} must be numbers, got {shown(values)}") from None
    if numbers.ndim != 1:
        raise ModelError(f"{what} must be a list of numbers, got the shape {numbers.shape}")
    wrong = np.flatnonzero(~np.isfinite(numbers))
    if len(wrong):
        raise ModelError(f"{what}: value {wrong[0]} is {numbers[wrong[0]]}; leave such points out")
    return numbers


def _points(values: Any, what: str) -> np.ndarray:
    """Knots: two or more, rising."""
    x = _numbers(values, what)
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


# --- pieces ---------------------------------------------------------------------------------------


def _pieces(x: np.ndarray, y: np.ndarray, kind: str, outside: str) -> np.ndarray:
    """Rows of coefficients c₀, c₁, …: below the first knot, between the knots, above the last."""
    inner = _inner(x, y, kind, outside)
    rows = np.vstack([0 * inner[:1], inner, 0 * inner[:1]])
    rows[0, 0], rows[-1, 0] = y[0], y[-1]
    if outside == "extend" and rows.shape[1] > 1:
        powers = np.arange(1, rows.shape[1])
        rows[0, 1] = inner[0, 1]
        rows[-1, 1] = horner(inner[-1, 1:] * powers, x[-1] - x[-2])
    if outside == "refuse":
        rows[0] = rows[-1] = np.nan
    return rows


def _inner(x: np.ndarray, y: np.ndarray, kind: str, outside: str) -> np.ndarray:
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


# --- searches -------------------------------------------------------------------------------------

_KNOWN: dict[str, Table] = {}  # by the names of their searches, which are kept, too
_KNOWN_GRIDS: dict[str, Grid] = {}  # by the names of their searches and picks


def table_of(search: ca.Function) -> Table | None:
    """The table that a search is of, if it is one over one number, and known here."""
    return _KNOWN.get(search.name())


def grid_of(function: ca.Function) -> Grid | None:
    """The table over two numbers that a search or pick is of, if it is known here."""
    return _KNOWN_GRIDS.get(function.name())


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
def _pick_of(name: str, shape: tuple[int, ...], pieces: bytes) -> ca.Function:
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


def data_of(function: ca.Function) -> tuple[np.ndarray, np.ndarray] | None:
    """Knots of a search, and the columns that it reads (origin, coefficients) for each piece; None
    for another function. They come from the function itself, which may be another process's."""
    stated, picked = (kind.fullmatch(function.name()) for kind in (SEARCH, PICK))
    if stated is None and picked is None:
        return None
    if function.name() not in _data:
        n = int((stated or picked)[1])  # type: ignore[index]
        inner = {each.name(): each for each in function.find_functions()}
        if picked is not None:
            rows = np.array(inner["row"](np.arange(n)[None])).T
            _data[function.name()] = np.zeros(0), rows
            return _data[function.name()]
        knots = np.array(inner["knot"](np.arange(n)[None])).ravel()
        rows = np.array(inner["row"](np.arange(n + 1)[None])).T
        origins = np.concatenate((knots[:1], knots))
        _data[function.name()] = knots, np.column_stack([origins, np.roll(rows, -1, axis=0)])
    return _data[function.name()]


# --- where an integrator has to look --------------------------------------------------------------

EVERY = 8  # knots of a table that a step may always go over
FEATURE = 1e-4  # of the table's range: what is less beside a cubic over many knots may be skipped
SLIGHT = 1e-7  # of the table's range: where the next cubic differs by less, a step may go on
ROUGHLY = 1e-9  # relative: what is less is rounding of the coefficients


def wave(function: ca.Function) -> ca.Function | None:
    """A search whose polynomials are a wave with the slopes ±1 at its zeros, the *stops* of another
    search; None for another function.

    Stops are the knots where the value, the slope or the curvature jumps, or another cubic begins
    that is not nearly the one before, the ends, and as many others as it takes for one cubic from
    stop to stop to be nearly the table, so that no step of an integrator goes over what it tells.
    """
    data = data_of(function)
    if data is None or not len(data[0]):
        return None
    stops = _stops(data[0], data[1][:, 1:])
    signs = (-1.0) ** np.arange(len(stops))
    rows = np.zeros((len(stops) + 1, 3))
    rows[0, 1], rows[1:, 1] = 1.0, signs
    rows[1:-1, 2] = -signs[:-1] / np.diff(stops)
    return search_of("wave", 0, stops.tobytes(), rows.tobytes())


def _features(knots: np.ndarray, rows: np.ndarray) -> list[int]:
    """Knots between which the table is nearly one cubic, or which are EVERY apart: found by
    halving."""
    rows = np.column_stack([rows, np.zeros(len(rows))])[1:]  # row k begins at knot k
    value, slope = rows[:, 0], rows[:, 1]
    last = len(knots) - 1
    value = np.append(value[:-1], horner(rows[-2], knots[-1] - knots[-2]))
    slope = np.append(slope[:-1], (value[-1] - value[-2]) / (knots[-1] - knots[-2]))
    least, found, ahead = FEATURE * np.ptp(value), [0, last], [(0, last)]
    while ahead:
        first, end = ahead.pop()
        if end - first <= EVERY:
            continue
        inner = slice(first + 1, end)
        cubic = _hermite(
            knots[[first, end]], value[[first, end]], slope[[first, end]], knots[inner]
        )
        if np.abs(cubic - value[inner]).max() > least:
            middle = (first + end) // 2
            found.append(middle)
            ahead += [(first, middle), (middle, end)]
    return found


def _hermite(ends: np.ndarray, y: np.ndarray, slope: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The cubic with these values and slopes at its ends."""
    length = ends[1] - ends[0]
    s = (x - ends[0]) / length
    begins = (1 - s) ** 2 * ((1 + 2 * s) * y[0] + s * length * slope[0])
    return np.asarray(begins + s**2 * ((3 - 2 * s) * y[1] - (1 - s) * length * slope[1]))


def _stops(knots: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """An odd number of stops, so that the wave changes its sign where a table repeats itself,
    too."""
    length = np.diff(knots)
    chosen = np.zeros(len(knots), bool)
    chosen[_features(knots, rows)] = True
    reach = np.minimum(length[:-1], length[1:]) ** 3 / 6
    least = SLIGHT * np.ptp(rows[1:-1, 0])
    for order in range(4):  # value, slope, curvature, and how it changes
        jump = np.abs(horner(rows[1:-2], length[:-1]) - rows[2:-1, 0])
        small = ROUGHLY * np.abs(rows[1:-1, 0]).max() if order < 3 else least / reach
        chosen[1:-1] |= jump > small
        rows = np.column_stack([rows[:, 1:], 0 * rows[:, 0]]) * np.arange(1, rows.shape[1] + 1)
    stops = knots[chosen]
    if len(stops) % 2 == 0:
        widest = int(np.diff(stops).argmax())
        stops = np.insert(stops, widest + 1, stops[widest : widest + 2].mean())
    return stops


# --- in the graph ---------------------------------------------------------------------------------


def calls(function: ca.Function) -> dict[int, ca.Function]:
    """The functions that an ``SX`` function calls, by the numbers of its instructions."""
    if not function.find_functions(0):
        return {}
    nodes, count = function.instructions_sx(), range(function.n_instructions())
    found = [k for k in count if function.instruction_id(k) == ca.OP_CALL]
    return {k: nodes[k].which_function() for k in found}


def searches(expression: SX) -> list[tuple[ca.Function, SX]]:
    """The searches in an expression, each with what it is asked for."""
    seen: set[int] = set()
    ahead = expression.nonzeros()
    found: dict[tuple[str, int], tuple[ca.Function, SX]] = {}
    while ahead:
        node = ahead.pop()
        if node.element_hash() in seen:
            continue
        seen.add(node.element_hash())
        parts = [node.dep(k) for k in range(node.n_dep())]
        if parts and node.op() == ca.OP_CALL and SEARCH.fullmatch(node.which_function().name()):
            function = node.which_function()
            found[function.name(), parts[0].element_hash()] = function, parts[0]
        ahead += parts
    return list(found.values())


def refusal(expression: SX, symbols: list[SX], values: list[Any], slack: float = 0.0) -> str | None:
    """What is to be said of a table in an expression that is asked beyond its points, but for a
    part of its length, and refuses; None if there is none."""
    if not ca.Function("f", ca.symvar(expression), [expression]).find_functions(0):
        return None
    for function, argument in searches(expression):
        knots, columns = data_of(function) or (np.zeros(0), np.zeros((1, 2)))
        if not np.isnan(columns[0, 1]):
            continue
        x = float(ca.Function("x", symbols, [argument])(*values))
        reach = slack * (knots[-1] - knots[0])
        if not knots[0] + reach <= x < knots[-1] - reach:
            name = SEARCH.fullmatch(function.name())[3]  # type: ignore[index]
            return (
                f"table {name!r} has points from {knots[0]:.6g} to {knots[-1]:.6g}, refuses what "
                f"is beyond them, and is at {x:.6g}; give it more of them, or outside='hold', "
                "'extend' or 'repeat'"
            )
    return None


def settled(function: ca.Function) -> ca.Function:
    """The same function without the derivatives of searches, which are zero: CasADi calls them
    whatever they are multiplied with."""
    called = calls(function)
    if not any(SLOPE.match(each.name()) for each in called.values()):
        return function
    arguments = function.sx_in()
    results = [SX(function.sparsity_out(k)) for k in range(function.n_out())]
    entries = [list(argument.nonzeros()) for argument in arguments]
    outputs: list[list[SX]] = [[SX(0)] * result.nnz() for result in results]
    work: dict[int, SX] = {}
    searched: dict[tuple[Any, ...], list[SX]] = {}
    for k in range(function.n_instructions()):
        code, source = function.instruction_id(k), function.instruction_input(k)
        target = function.instruction_output(k)
        if code == ca.OP_INPUT:
            work[target[0]] = entries[source[0]][source[1]]
        elif code == ca.OP_OUTPUT:
            outputs[target[0]][target[1]] = work[source[0]]
        elif code == ca.OP_CONST:
            work[target[0]] = SX(function.instruction_constant(k))
        elif code == ca.OP_CALL:
            values = _called(called[k], [work[slot] for slot in source], searched)
            work |= {slot: value for slot, value in zip(target, values, strict=True) if slot >= 0}
        elif len(source) == 1:
            work[target[0]] = SX.unary(code, work[source[0]])
        else:
            work[target[0]] = SX.binary(code, work[source[0]], work[source[1]])
    filled = [
        SX(result.sparsity(), ca.vertcat(SX(0, 1), *values))
        for result, values in zip(results, outputs, strict=True)
    ]
    return ca.Function(function.name(), arguments, filled)


SLOPE = re.compile(r"((fwd|adj)\d+_)+(wrap_)?(search|pick)_\d")


def _called(
    function: ca.Function, arguments: list[SX], known: dict[tuple[Any, ...], list[SX]]
) -> list[SX]:
    """The entries of the results of a call; the same one is made only once."""
    if SLOPE.match(function.name()):
        return [SX(0)] * sum(function.nnz_out(k) for k in range(function.n_out()))
    key = function.name(), *(argument.element_hash() for argument in arguments)
    if key not in known:
        ends = np.cumsum([function.nnz_in(k) for k in range(function.n_in())]).tolist()
        parts = [
            SX(
                function.sparsity_in(k),
                ca.vertcat(SX(0, 1), *arguments[ends[k - 1] if k else 0 : end]),
            )
            for k, end in enumerate(ends)
        ]
        known[key] = [entry for result in function.call(parts) for entry in result.nonzeros()]
    return known[key]
