"""Looking into an expression: operations of a kind, searches of tables, NaN."""

from __future__ import annotations

import math
from collections.abc import Collection
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from .algebra import Expressions
from .operations import CODES
from .program import trace
from .searches import lookup


def operands(expression: SX, names: Collection[str] = ()) -> list[tuple[Any, list[SX]]]:
    """Each of the operations with these names (by its name), and each search of a table (by its
    function), with what it is applied to."""
    function = _function(expression)
    codes = {function.instruction_id(k) for k in range(function.n_instructions())}
    if codes.isdisjoint({ca.OP_CALL, *(CODES[name] for name in names)}):
        return []
    program = trace(function)
    searches = {
        name: called
        for name, (called, place) in program.calls.items()
        if place == 0 and (table := lookup(name)) is not None and not table.is_pick
    }
    chosen = [value for value in program.values if value[0] in {*names, *searches}]
    part = program.computing([list(value[1:]) for value in chosen])
    given = part.evaluate(Expressions(function.sx_in()))
    kinds = [searches.get(value[0], value[0]) for value in chosen]
    return list(zip(kinds, given, strict=True))


def has_nan(expression: SX) -> bool:
    """True if NaN is among the constants of an expression: 0/0 leaves it, and ``math.sin(x)``,
    which knows numbers only."""
    function = _function(expression)
    values = np.array(function(np.linspace(0.3, 0.7, function.numel_in(0))))
    if not np.isnan(values).any():  # the quick answer; a state may give NaN, too
        return False
    constants = [value[1] for value in trace(function).values if value[0] == "constant"]
    return any(map(math.isnan, constants))


def _function(expression: SX) -> ca.Function:
    """An expression as a function of its symbols."""
    return ca.Function("f", [ca.vertcat(SX(0, 1), *ca.symvar(expression))], [expression])
