"""Expressions without a value at a state: 0/0, a root of what is negative, a table that refuses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from casadi import SX

from ..tables.outside import refusal

if TYPE_CHECKING:
    from .evaluator import Evaluator
    from .state import State

NO_VALUE = "has no value"
WHY_NONE = (
    "0/0: a spring of length zero, a direction between two points that coincide, a length or pitch "
    "of zero; begin a little beside it, or change the parameter"
)

_searching: ContextVar[bool] = ContextVar("searching", default=False)


@contextmanager
def searching() -> Iterator[None]:
    """For those who try states, and judge numbers that are not finite themselves."""
    before = _searching.set(True)
    try:
        yield
    finally:
        _searching.reset(before)


def is_searching() -> bool:
    """True inside of ``searching``."""
    return _searching.get()


def force_without_value(numeric: Evaluator, at: State) -> str | None:
    """The force that is not a number at a state; None if there is none."""
    m = numeric.terms.chart.motion
    for element in numeric.terms.chart.description.elements:
        acting = [*element.conservative(m), *element.nonconservative(m)]
        parts = [part for action in acting for part in vars(action).values()]
        value = ca.vertcat(SX(0, 1), *(ca.vec(part) for part in parts if isinstance(part, SX)))
        with searching():
            found = numeric.build([value], [1])(*at)[0]
        if not np.isfinite(found).all():
            return element.called
    return None


def refused_or_valueless(numeric: Evaluator, at: State) -> str | None:
    """A message about a table that refuses, or a force that has no value, at a state."""
    refused = _refused(numeric, at)
    force = force_without_value(numeric, at) if refused is None else None
    return refused if force is None else f"{force} {NO_VALUE}"


def _refused(numeric: Evaluator, at: State) -> str | None:
    terms, s = numeric.terms, numeric.terms.symbols
    value = ca.veccat(terms.M, terms.f, terms.phi, terms.psi, terms.b)
    return refusal(value, [s.q, s.u, s.t, s.w, s.p], list(at))


def without_value(numeric: Evaluator, at: State) -> str | None:
    """A message about a table, force, constraint or inertia without a value at a state; None
    if the equations are numbers."""
    with searching():
        parts = numeric.entries(*at)
        if all(np.isfinite(part).all() for part in parts):
            return None
        refused = _refused(numeric, at)
        if refused is not None:
            return refused
        found = force_without_value(numeric, at) or _row_without_value(numeric, parts)
    return f"{found} {NO_VALUE} here ({WHY_NONE})"


def _row_without_value(numeric: Evaluator, parts: list[np.ndarray]) -> str:
    """The constraint that is not a number, or else the mass matrix, from the entries of M, f, A,
    b."""
    lost = [~np.isfinite(part).reshape(-1, part.shape[-1]).all(axis=0) for part in parts[2:]]
    rows = {*np.array(numeric.terms.A.sparsity().row())[lost[0]], *np.flatnonzero(lost[1])}
    if rows:
        return f"constraint {numeric.terms.constraints[min(rows)]!r}"
    return "the mass matrix or a force"
