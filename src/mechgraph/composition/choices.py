"""How complements are made: chosen at typical states, once for all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import casadi as ca
import numpy as np
from casadi import SX

from ..closures.complement import METHODS, Choice, free_columns, independent_rows
from ..errors import ArgumentError, ModelError, unknown
from ..motion.samples import Samples
from ..numerics.rank import typical_rank
from ..numerics.scales import even_factors


def choose(
    B: SX,
    samples: Samples,
    columns: Sequence[str],
    kept: int,
    independent: Sequence[str] | None = None,
    method: str = "automatic",
    terms: SX | None = None,
) -> Choice:
    """How to make the complement of B, seen at some states; the first ``kept`` columns stay free
    rather than others. A row is measured by the ``terms`` that its entries are made of."""
    if method not in METHODS:
        raise ArgumentError(unknown("complement", method, METHODS))
    usual = samples.lengths(B if terms is None else terms)
    factors = tuple(even_factors(usual).tolist())
    if independent is None and method != "partition":
        choice = Choice(method, kept=kept, factors=factors)
        found = choice.eliminate(B, SX(B.shape[0], 0))
        core = found.rest[:, : B.shape[1]]
        costs = [_operations(core[k, :]) for k in range(core.shape[0])]
        held, left = _typical(samples.of(B), samples.of(core), usual)
        wanted = held - len(found.steps)  # of the core alone all may be rounding
        return replace(choice, rows=independent_rows(left, wanted, costs))
    held, values = _typical(samples.of(B), samples.of(B), usual)
    values = values / usual[:, None]
    if independent is None:
        free = free_columns(values, kept, held)
    else:
        free = _named(values, columns, independent, held)
    return Choice("partition", free, factors=factors)


def pivoting(A: SX, samples: Samples) -> Choice:
    """To pivot among all rows of A at every state, once they are of one size."""
    return Choice("pivoted", factors=tuple(even_factors(samples.lengths(A)).tolist()))


def _operations(row: SX) -> int:
    return int(ca.Function("row", [ca.vertcat(SX(0, 1), *ca.symvar(row))], [row]).n_instructions())


def _typical(
    values: Sequence[np.ndarray], others: Sequence[np.ndarray], usual: np.ndarray
) -> tuple[int, np.ndarray]:
    """The highest rank of the values, and others at the same state."""
    if not all(np.isfinite(value).all() for value in (*values, *others)):
        raise ModelError(
            "the constraints have no value at a typical state; give a reference where they do"
        )
    ranks = [typical_rank(value, usual) for value in values]
    return max(ranks), others[int(np.argmax(ranks))]


def _named(
    B: np.ndarray, columns: Sequence[str], independent: Sequence[str], bound: int
) -> tuple[int, ...]:
    """The columns that were asked for, if they do determine the others, of which there are so
    many."""
    for label in independent:
        if label not in columns:
            raise ModelError(f"independent: {unknown('free speed', label, columns)}")
    wanted, held = len(columns) - bound, list(dict.fromkeys(independent))
    if len(held) != wanted:
        raise ModelError(
            f"{wanted} speeds are independent here, but independent= names {len(held)}"
        )
    free = tuple(columns.index(label) for label in held)
    others = np.delete(B, free, axis=1)
    if typical_rank(others, np.ones(len(B))) < bound:
        raise ModelError(
            f"{', '.join(held)} do not determine the other speeds, so that no complement "
            "with these as independent ones exists; choose others, or leave the choice open"
        )
    return free
