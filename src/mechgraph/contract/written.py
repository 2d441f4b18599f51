"""Equations written down without a ``System``: matrices as lists of rows, rows of constraints by
name, and a chart of names, q̇ = N u + n and a manifold, without bodies."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import name_of
from ..errors import ModelError, UnsupportedError, unknown
from ..model.bodies import Body
from ..model.constraints import Constraint, Level
from ..model.described import Record
from ..model.description import Description
from ..model.joints import Rows
from ..motion.chart import Chart, Frame, Pose
from ..motion.levels import Levels
from ..motion.variables import Variables
from ..vectors import NOT_AN_EXPRESSION, quaternion_rates

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
    """A matrix of this shape."""
    try:
        made = expression(value)
    except NOT_AN_EXPRESSION:
        raise ModelError(f"{what} must be numbers and expressions, got {value!r}") from None
    if made.shape != shape:
        wanted, got = (f"{rows}x{columns}" for rows, columns in (shape, made.shape))
        raise ModelError(f"{what} must be {wanted}, got {got}")
    return made


def column_of(value: Any, what: str) -> SX:
    """A matrix as one column."""
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
        """From rows by name at each level."""
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


# --- chart ----------------------------------------------------------------------------------------


class PlainChart(Chart):
    """Coordinates and speeds with names of their own, and no bodies."""

    has_bodies = False

    def __init__(
        self,
        name: str,
        symbols: Variables,
        N: SX,
        n: SX | None,
        reference: Sequence[float] | None,
        quaternions: Sequence[Sequence[str]],
        sizes: Mapping[str, float] | None = None,
    ) -> None:
        """``sizes`` of coordinates, variations and speeds, by name, where they are known."""
        self.sizes = dict(sizes or {})
        self.description = _empty(name, symbols)
        self.symbols, self.N, self.n = symbols, N, n
        self._fours = tuple(_indices(symbols, four) for four in quaternions)
        self.reference = self._read_reference(reference)
        self.joint_coordinates = {name: (k,) for k, name in enumerate(symbols.coordinates)}
        self.joint_speeds = {name: (k,) for k, name in enumerate(symbols.speeds)}

    def _read_reference(self, given: Sequence[float] | None) -> tuple[float, ...]:
        count = len(self.symbols.coordinates)
        reference = np.zeros(count)
        reference[[four[0] for four in self._fours]] = 1.0
        if given is None:
            return tuple(reference)
        if len(given) != count or not np.isfinite(np.array(given, dtype=float)).all():
            raise ModelError(f"reference must be {count} finite numbers, got {given!r}")
        return tuple(float(value) for value in given)

    def spans(self, names: Sequence[str]) -> np.ndarray:
        return np.array([self.sizes.get(name, 1.0) for name in names])

    @property
    def quaternions(self) -> tuple[tuple[int, ...], ...]:
        return self._fours

    def pose(self, frame: Frame) -> Pose:
        raise UnsupportedError(
            f"{self.description.name!r} was written down without a System, so it has no bodies"
        )

    @property
    def turning(self) -> list[int]:
        return list(range(len(self.symbols.speeds)))

    @property
    def tangent(self) -> SX:
        """The identity, but for quaternions, which have three directions."""
        count = len(self.symbols.coordinates)
        T = SX.eye(count)
        left = [k for k in range(count) if not any(k in four[3:] for four in self._fours)]
        for four in map(list, self._fours):
            T[four, :] = 0
            T[four, four[:3]] = quaternion_rates(self.symbols.q[four])
        return ca.sparsify(T[:, left])

    @property
    def variations(self) -> tuple[str, ...]:
        names = list(self.symbols.coordinates)
        for four in self._fours:
            stem = names[four[0]].removesuffix("q0")
            for k, letter in zip(four[:3], "xyz", strict=True):
                names[k] = f"{stem}r{letter}"
        dropped = {four[3] for four in self._fours}
        return tuple(name for k, name in enumerate(names) if k not in dropped)


def _indices(symbols: Variables, four: Sequence[str]) -> tuple[int, ...]:
    known = symbols.coordinates
    for name in four:
        if name not in known:
            raise ModelError(f"quaternions: {unknown('coordinate', name, known)}")
    if len(four) != 4:
        raise ModelError(f"a quaternion has four coordinates, got {', '.join(four)}")
    return tuple(known.index(name) for name in four)


def _empty(name: str, symbols: Variables) -> Description:
    """A description of nothing but parameters and inputs."""
    none: Record[str, Any] = Record({})
    return Description(
        name=name,
        gravity=SX.zeros(3),
        time=symbols.t,
        ground=Body("ground"),
        bodies=none,
        markers=none,
        joints=none,
        forces=none,
        constraints=none,
        parameters=Record({name: symbols[name] for name in symbols.parameters}),
        defaults=Record(dict(zip(symbols.parameters, symbols.defaults, strict=True))),
        inputs=Record({name: symbols[name] for name in symbols.inputs}),
        outputs=none,
    )
