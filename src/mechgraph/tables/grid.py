"""``Grid``: one number over two."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import choice
from ..errors import ModelError
from ..graph.program import without_table_slopes
from ..graph.searches import ORIGIN, PIECE, pick_of, search_of
from .points import Tabulated, inner, label, matrix, points
from .table import OUTSIDE, Table

GRIDS = ("linear", "hold", "smooth")


class Grid(Tabulated):
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
        outside: str | tuple[str, str] = "hold",
        name: str = "table",
    ) -> None:
        self.name = label(name)
        self.kind = choice("kind of a table over x and y", kind, GRIDS, ModelError)
        pair = outside if isinstance(outside, tuple) and len(outside) == 2 else (outside, outside)
        self.outside = tuple(choice("outside", each, OUTSIDE, ModelError) for each in pair)
        self.x, self.y = (points(v, f"table {name!r}: {w}") for v, w in ((x, "x"), (y, "y")))
        self.z = matrix(z, (len(self.x), len(self.y)), f"table {name!r}: z")
        self._check_periods()
        along_x = inner(self.x, self.z, self.kind, self.outside[0])
        # cubics are linear in their values, so those of the coefficients make the surface
        pieces = inner(self.y, np.moveaxis(along_x, 1, 0), self.kind, self.outside[1])
        self.pieces = np.ascontiguousarray(np.moveaxis(pieces, 1, 0))

    def _check_periods(self) -> None:
        ends = zip("xy", self.outside, (self.z, self.z.T), strict=True)
        for letter, outside, z in ends:
            if outside == "repeat" and self.kind != "hold" and (z[0] != z[-1]).any():
                raise ModelError(
                    f"table {self.name!r} repeats itself along {letter}, but does not end as it "
                    "begins; make the last values those of the first a period later"
                )

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
        axes = list(zip("xy", (x, y), (self.x, self.y), self.outside, strict=True))
        inside = [_within(at, own, outside) for _, at, own, outside in axes]
        z, *slopes = self.parts(*inside)
        for (letter, at, own, outside), near, slope in zip(axes, inside, slopes, strict=True):
            if outside == "extend":
                z += slope * (at - near)
            elif outside == "refuse":
                ends = Table(own[[0, -1]], [0, 0], outside="refuse", name=f"{self.name}_{letter}")
                z += ends(at)
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
        return without_table_slopes(
            ca.Function("z", [x, y], [z, ca.gradient(z, x), ca.gradient(z, y)])
        )

    def _search(self, letter: str) -> ca.Function:
        """Where x or y is. The coefficients are not used, but say where an integrator stops."""
        own = self.x if letter == "x" else self.y
        knots = np.append(own[:-1], np.nextafter(own[-1], np.inf))
        jumps = np.zeros(len(own) + 1) if self.kind == "smooth" else np.arange(len(own) + 1.0)
        name = f"{self.name}_{letter}"
        return self._noted(search_of(name, 0, knots.tobytes(), jumps.tobytes()))

    @property
    def _pick(self) -> ca.Function:
        return self._noted(pick_of(self.name, self.pieces.shape, self.pieces.tobytes()))

    def parts(self, x: SX, y: SX) -> list[SX]:
        """z and its slopes along x and y at a place within the grid."""
        return [SX(part) for part in self._inside.call([x, y])]

    def __getstate__(self) -> dict[str, Any]:
        return {key: value for key, value in vars(self).items() if key != "_inside"}

    def _key(self) -> tuple[Any, ...]:
        numbers = self.x.tobytes(), self.y.tobytes(), self.z.tobytes()
        return self.kind, self.outside, self.name, *numbers

    def __repr__(self) -> str:
        return f"<{self.kind} table {self.name!r}: {len(self.x)} by {len(self.y)} points>"


def _within(at: SX, own: np.ndarray, outside: str) -> SX:
    """Where in the grid a table is read."""
    first, last = float(own[0]), float(own[-1])
    if outside == "repeat":
        return at - (last - first) * ca.floor((at - first) / (last - first))
    return ca.fmin(ca.fmax(at, first), last)
