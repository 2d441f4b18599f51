"""What is written down without a ``System``: matrices as lists of rows, q̇ = N u + n, and rows of
constraints by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import name_of
from ..errors import ModelError
from ..model.constraints import Constraint, Level
from ..model.joints import Rows
from ..motion.chart import Chart
from ..motion.levels import Levels
from ..motion.variables import Variables
from ..vectors import NOT_AN_EXPRESSION

# --- expressions ----------------------------------------------------------------------------------


def later(given: Any) -> Callable[[], Any]:
    """An expression, or a function that derives it when it is asked for, as such a function."""
    return given if callable(given) else lambda: given


def expression(value: Any) -> SX:
    """Numbers and expressions, a list of rows, as a matrix."""
    if isinstance(value, (SX, ca.DM)):
        return SX(value)
    if isinstance(value, (list, tuple, np.ndarray)):
        rows = [list(row) if isinstance(row, (list, tuple, np.ndarray)) else [row] for row in value]
        return ca.vertcat(*(ca.horzcat(*map(SX, row)) for row in rows)) if rows else SX(0, 1)
    return SX(value)


def matrix(value: Any, shape: tuple[int, int], what: str) -> SX:
    """The same of this shape."""
    try:
        made = expression(value)
    except NOT_AN_EXPRESSION:
        raise ModelError(f"{what} must be numbers and expressions, got {value!r}") from None
    if made.shape != shape:
        wanted, got = (f"{rows}x{columns}" for rows, columns in (shape, made.shape))
        raise ModelError(f"{what} must be {wanted}, got {got}")
    return made


def column_of(value: Any, what: str) -> SX:
    """The same as one column."""
    try:
        return ca.densify(ca.vec(expression(value)))
    except NOT_AN_EXPRESSION:
        raise ModelError(f"{what!r} must be an expression, got {value!r}") from None


def rates(symbols: Variables, N: Any, n: Any) -> tuple[SX, SX | None]:
    """N and n in q̇ = N u + n; the identity and nothing, if they are not given."""
    sizes = len(symbols.coordinates), len(symbols.speeds)
    same = SX.eye(sizes[0]) if sizes[0] else SX(*sizes)  # speeds alone need no N
    offset = None if n is None else matrix(n, (sizes[0], 1), "n")
    return matrix(same if N is None else N, sizes, "N"), offset


# --- constraints ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class WrittenRows:
    """Constraints that no elements of a ``System`` stand behind: their rows at all levels, λ as
    symbols, the directions G of the constraint forces (A, if they are None), and ``drag``, forces
    along the speeds that grow with λ, but are not linear in it."""

    levels: Levels
    multipliers: SX
    G: Callable[[], SX] | None
    drag: SX

    @classmethod
    def read(cls, chart: Chart, given: Mapping[Any, Any], G: Any) -> WrittenRows:
        """Of rows by name at each level."""
        rows: dict[Level, Rows] = {
            level: [
                (name if row.numel() == 1 else f"{name}: {k + 1}", entry)
                for name, value in (named or {}).items()
                if name_of(f"a row at the level of {level}", name)
                for row in [column_of(value, name)]
                for k, entry in enumerate(ca.vertsplit(row))
            ]
            for level, named in given.items()
        }
        levels = Levels(chart.symbols, chart.rate, rows, chart.scattered)
        lam, none = SX.sym("lambda", len(levels.names)), SX(len(chart.symbols.speeds), 1)
        return cls(levels, lam, None if G is None else later(G), none)

    @property
    def has_friction(self) -> bool:
        """True if constraint forces drag others along, so that G ≠ A."""
        return self.G is not None or bool(self.drag.nnz())

    @cached_property
    def directions(self) -> SX:
        """Directions of the constraint forces with what goes with them linearly."""
        A = self.levels.A
        return A if self.G is None else matrix(self.G(), A.shape, "G")

    @property
    def constraints(self) -> list[Constraint]:
        """The elements that the rows are of: none."""
        return []

    @property
    def rubbing(self) -> list[str]:
        """Those of them whose forces drag others along."""
        return []

    def rows_of(self, constraint: str) -> list[int]:
        """Indices of the rows whose names begin so."""
        names = enumerate(self.levels.names)
        return [k for k, row in names if row.startswith(f"{constraint}: ")]
