"""Rows of constraints in a composition: the new ones with their orders, and all in order."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..errors import ModelError
from ..model.constraints import LEVELS, Level
from ..model.joints import Rows
from ..motion.levels import Levels
from ..motion.variables import Variables

Higher = Mapping[tuple[str, int], SX]  # u⁽ᵏ⁾ of a speed, k > 1, as symbols


@dataclass(frozen=True, eq=False)
class HigherRow:
    """A row of high order: the derivatives u⁽ᵏ⁾ that it is of, k, and whether it is affine in
    them."""

    name: str
    value: SX
    highest: SX
    k: int
    affine: bool

    @property
    def raised(self) -> int:
        """The k of its first derivative that is affine."""
        return self.k if self.affine else self.k + 1


def _read(symbols: Variables, higher: Higher, name: str, value: SX) -> HigherRow:
    """A row by what it depends on."""
    k = max((k for (_, k), x in higher.items() if ca.depends_on(value, x)), default=1)
    highest = derivatives(symbols, higher, k)
    slopes = ca.jacobian(value, highest)
    return HigherRow(name, value, highest, k, not ca.depends_on(slopes, highest))


def derivatives(s: Variables, higher: Higher, k: int) -> SX:
    """u⁽ᵏ⁾ of all speeds; of those that nobody named symbols that nothing depends on."""
    if k == 1:
        return s.udot
    return ca.vertcat(*(higher.get((name, k), SX.sym("none")) for name in s.speeds))


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
    for row, value in stated:
        if ca.depends_on(value, symbols.w):
            raise ModelError(f"constraint {row!r} must not depend on inputs")
        found = _read(symbols, higher, row, value)
        if found.k > 1 or not found.affine:
            high.append(found)
        else:
            rows[_level(symbols, row, value)].append((row, value))
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
    """Position rows, and the rates where they hold of those of them whose rates are simpler said
    than derived; both are functions of what is seen that return rows by their labels."""

    value: Any
    rate: Any


def rated_rows(
    s: Variables, rate: Callable[[SX], SX], rows: Sequence[tuple[str, SX, SX]]
) -> Levels:
    """Position rows φ whose rates ψ are given: (name, φ, ψ) of each."""
    names, *values = zip(*rows, strict=True)
    phi, psi = (ca.vertcat(*each) for each in values)
    return Levels.known(names, phi, psi, ca.jacobian(psi, s.u), rate(psi))


def raw_order(levels: Levels) -> int:
    """The highest order at which a row was given."""
    return max(_orders_of(levels), default=0)


def _orders_of(levels: Levels) -> list[int]:
    first, second, third = levels.phi.numel(), levels.psi.numel(), len(levels.names)
    return [0] * first + [1] * (second - first) + [2] * (third - second)


@dataclass(frozen=True, eq=False)
class Stack:
    """All rows: by level, and in each in the order of their owners. ``order`` tells of each row
    which it was, one owner after the other; ``where`` of each owner's rows where they are now."""

    levels: Levels
    order: list[int]
    where: list[tuple[int, ...]]


def stack(owners: Sequence[Levels]) -> Stack:
    """The rows of all owners, each over all speeds, as one."""
    orders = [order for levels in owners for order in _orders_of(levels)]
    order = sorted(range(len(orders)), key=lambda k: orders[k])
    names = [name for levels in owners for name in levels.names]
    taken = sorted({name for name in names if names.count(name) > 1})
    if taken:
        raise ModelError(f"two constraints have the name {taken[0]!r}; give parts a prefix")
    moving = [k for k in order if orders[k] < 2]
    every = [ca.vertcat(x.psi, SX(len(x.names) - x.psi.numel(), 1)) for x in owners]
    levels = Levels.known(
        tuple(names[k] for k in order),
        ca.densify(ca.vertcat(*(each.phi for each in owners))),
        ca.densify(ca.vertcat(*every)[moving, :]),
        ca.vertcat(*(each.A for each in owners))[order, :],
        ca.densify(ca.vertcat(*(each.b for each in owners))[order, :]),
    )
    place, ends = np.argsort(order), np.cumsum([len(each.names) for each in owners])
    where = [tuple(map(int, own)) for own in np.split(place, ends[:-1])]
    return Stack(levels, order, where)


# --- norms ----------------------------------------------------------------------------------------

MONITORS = ("‖q̄0‖", "‖q̄1‖", "‖q̄2‖", "‖f̄‖", "‖q̄2, f̄‖")


def monitors(levels: Levels, udot: SX, forces: Callable[[], SX]) -> dict[str, Callable[[], SX]]:
    """Norms of what every motion should leave zero, as outputs of a run: of the rows at each order,
    of the projected ``forces``, and of the last two."""

    def rows() -> SX:
        return levels.A @ udot + levels.b

    found: tuple[Callable[[], SX], ...] = (
        lambda: levels.phi,
        lambda: levels.psi,
        rows,
        forces,
        lambda: ca.vertcat(rows(), forces()),
    )
    return {name: _norm(value) for name, value in zip(MONITORS, found, strict=True)}


def _norm(value: Callable[[], SX]) -> Callable[[], SX]:
    return lambda: ca.sqrt(ca.sumsqr(value())) if value().numel() else SX(0)
