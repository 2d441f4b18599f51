"""Rows of constraints in a composition: the new ones with their orders, and all in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
from casadi import SX

from ..errors import ModelError
from ..model.constraints import LEVELS, Level
from ..model.joints import Rows
from ..motion.levels import Levels
from ..motion.variables import Variables
from .higher_order import Higher, HigherRow, read


def new_rows(
    symbols: Variables,
    rate: Callable[[SX], SX],
    stated: Iterable[tuple[str, SX]],
    higher: Higher,
) -> tuple[Levels, list[HigherRow]]:
    """The constraints that are new, at all levels, and those of higher orders; each is told by what
    it depends on."""
    rows: dict[Level, Rows] = {level: [] for level in LEVELS}
    high: list[HigherRow] = []
    for name, value in stated:
        count = value.numel()
        names = [name] if count == 1 else [f"{name}: {k + 1}" for k in range(count)]
        for row, each in zip(names, ca.vertsplit(value), strict=True):
            if ca.depends_on(each, symbols.w):
                raise ModelError(f"constraint {row!r} must not depend on inputs")
            found = read(symbols, higher, row, each)
            if found.k > 1 or not found.affine:
                high.append(found)
            else:
                rows[_level(symbols, row, each)].append((row, each))
    levels = Levels(symbols, rate, rows)
    for k, row in enumerate(levels.names):
        if not ca.sparsify(levels.A[k, :]).nnz():
            raise ModelError(
                f"constraint {row!r} holds no speed: nothing of it changes with the motion"
            )
    return levels, high


def _level(s: Variables, row: str, value: SX) -> Level:
    if ca.depends_on(value, s.udot):
        return "acceleration"
    if ca.depends_on(value, s.u):
        return "velocity"
    if ca.depends_on(value, s.q):
        return "position"
    raise ModelError(
        f"constraint {row!r} has no order: it depends on no coordinate, speed or acceleration"
    )


@dataclass(frozen=True, eq=False)
class WithRate:
    """A position row, and its rate where it holds, if that is simpler said than derived; both are
    functions of what is seen."""

    value: Any
    rate: Any


def rated_rows(s: Variables, rate: Callable[[SX], SX], rows: Mapping[str, tuple[SX, SX]]) -> Levels:
    """Position rows φ whose rates ψ are given, by name."""
    phi, psi = (ca.vertcat(*values) for values in zip(*rows.values(), strict=True))
    return Levels.known(tuple(rows), phi, psi, ca.jacobian(psi, s.u), rate(psi))


def raw_order(levels: Levels) -> int:
    """The highest order at which a row was given."""
    first, second, third = levels.phi.numel(), levels.psi.numel(), len(levels.names)
    return 2 if third > second else 1 if second > first else 0


@dataclass(frozen=True, eq=False)
class Stack:
    """All rows: by level, and in each in the order of their owners. ``order`` tells of each row
    which it was, one owner after the other; ``where`` of each owner's rows where they are now."""

    levels: Levels
    order: list[int]
    where: list[tuple[int, ...]]


def stacked(owners: Sequence[Levels]) -> Stack:
    """The rows of all owners, each over all speeds, as one."""
    flat = [
        (level, owner, k)
        for owner, levels in enumerate(owners)
        for k, level in enumerate(_levels_of(levels))
    ]
    order = sorted(range(len(flat)), key=lambda k: (flat[k][0], k))
    place = {flat[k][1:]: position for position, k in enumerate(order)}
    names = [name for levels in owners for name in levels.names]
    taken = sorted({name for name in names if names.count(name) > 1})
    if taken:
        raise ModelError(f"two constraints have the name {taken[0]!r}; give parts a prefix")

    def column(values: Sequence[SX], highest: int) -> SX:
        chosen = (flat[k] for k in order if flat[k][0] <= highest)
        return ca.densify(ca.vertcat(SX(0, 1), *(values[owner][k] for _, owner, k in chosen)))

    levels = Levels.known(
        tuple(names[k] for k in order),
        column([each.phi for each in owners], 0),
        column([each.psi for each in owners], 1),
        ca.vertcat(*(each.A for each in owners))[order, :],
        column([each.b for each in owners], 2),
    )
    where = [tuple(place[k, j] for j in range(len(own.names))) for k, own in enumerate(owners)]
    return Stack(levels, order, where)


def _levels_of(levels: Levels) -> list[int]:
    first, second, third = levels.phi.numel(), levels.psi.numel(), len(levels.names)
    return [0] * first + [1] * (second - first) + [2] * (third - second)
