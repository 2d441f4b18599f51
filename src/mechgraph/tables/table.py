"""``Table``: one number over one number."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import choice
from ..errors import ModelError, shown
from ..graph.searches import horner, polynomial, search_of
from .points import label, numbers, pieces_of, points

KINDS = ("linear", "hold", "monotone", "smooth")
OUTSIDE = ("hold", "extend", "repeat", "refuse")
_STATED = ("x", "y", "kind", "outside", "name", "knots")


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
        self.name = label(name)
        self.x, self.y = points(x, f"table {name!r}: x"), numbers(y, f"table {name!r}: y")
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
        self.pieces = pieces_of(self.x, self.y, self.kind, self.outside)

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
        """The step from one period to the next: the integral of one, for an integral."""
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


_KNOWN: dict[str, Table] = {}  # by the names of their searches, which are kept, too


def table_of(name: str) -> Table | None:
    """The table over one number that a search of this name is of, and known here."""
    return _KNOWN.get(name)
