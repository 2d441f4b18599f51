"""Where an expression jumps or has a kink: what it compares, read from its graph."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from ..tables.searches import PIECE, polynomial
from ..tables.stops import is_wave, wave

COMPARING = {ca.OP_LT, ca.OP_LE, ca.OP_EQ, ca.OP_NE, ca.OP_FMIN, ca.OP_FMAX}
FOLDING = {ca.OP_FABS, ca.OP_SIGN}
ROUNDING = {ca.OP_FLOOR, ca.OP_CEIL}
DIVIDING = {ca.OP_FMOD, ca.OP_REMAINDER}
WAVE_DEPTH = 8  # levels of the graph of a polynomial
APART = 1e6  # what keeps pieces away from zero
KINKED = COMPARING | FOLDING | ROUNDING | DIVIDING | {ca.OP_COPYSIGN}


def kinks(expression: SX) -> SX:
    """A column of all that is zero where the expression changes from one piece to another.

    >>> x = SX.sym("x", 2)
    >>> kinks(ca.if_else(x[0] < 1, x[1], ca.fmax(x[1], 3)))
    SX([(x_0-1), (x_1-3)])
    """
    symbols = ca.symvar(expression)
    function = ca.Function("f", symbols, [expression])
    codes = {function.instruction_id(k) for k in range(function.n_instructions())}
    if not codes & (KINKED | {ca.OP_CALL}):
        return SX(0, 1)
    values = [value for value in _walk(expression) if not value.is_constant()]
    shared = ca.vertsplit(ca.cse(ca.vertcat(SX(0, 1), *values)))
    return ca.vertcat(SX(0, 1), *{each.element_hash(): each for each in shared}.values())


def pieces(kinks: SX) -> SX:
    """Of those kinks that are waves through the stops of tables, the pieces in between in which
    numbers are: they tell how many stops are passed, and are too large to change their sign."""
    found = (_piece(kink) for kink in kinks.elements())
    return ca.vertcat(SX(0, 1), *(APART + each for each in found if each is not None))


def _piece(kink: SX) -> SX | None:
    """The piece of one kink; None if it is no such wave."""
    level = [kink]
    for _ in range(WAVE_DEPTH):
        calls = [node for node in level if node.n_dep() and node.op() == ca.OP_CALL]
        waves = [node for node in calls if is_wave(node.which_function())]
        if waves:
            return waves[0].which_function()(waves[0].dep(0))[PIECE]
        parts = [node.dep(k) for node in level for k in range(node.n_dep())]
        level = list({part.element_hash(): part for part in parts}.values())
    return None


def _walk(expression: SX) -> list[SX]:
    """The zeros of each comparison, in the order in which they are met."""
    seen: set[int] = set()
    ahead = list(reversed(expression.nonzeros()))
    found: dict[tuple[int, ...], SX] = {}
    while ahead:
        node = ahead.pop()
        key = node.element_hash()
        if key in seen:
            continue
        seen.add(key)
        parts = [node.dep(k) for k in range(node.n_dep())]
        code = node.op() if parts else -1
        if code in KINKED:
            compared = sorted(part.element_hash() for part in parts)
            found[code in COMPARING, *compared] = _zero(code, parts)
        stops = wave(node.which_function()) if code == ca.OP_CALL else None
        if stops is not None:
            found[-1, hash(stops.name()), parts[0].element_hash()] = polynomial(stops, parts[0])
        ahead += reversed(parts)
    return list(found.values())


def _zero(code: int, parts: list[SX]) -> SX:
    """What is zero where an operation has its kink."""
    if code in COMPARING:
        return parts[0] - parts[1]
    if code in ROUNDING:
        return ca.sin(np.pi * parts[0])
    if code in DIVIDING:
        return ca.sin(np.pi * parts[0] / parts[1])
    return parts[-1]
