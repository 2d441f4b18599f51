"""Where an expression jumps or has a kink: what it compares, read from its graph."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from .expressions import operands
from .operations import OPERATIONS
from .searches import PIECE, polynomial
from .table_kinks import is_wave, wave

APART = 1e6  # what keeps pieces away from zero
KINKED = [each.name for each in OPERATIONS.values() if each.kink is not None]


def kinks(expression: SX) -> SX:
    """A column of all that is zero where the expression changes from one piece to another.

    >>> x = SX.sym("x", 2)
    >>> kinks(ca.if_else(x[0] < 1, x[1], ca.fmax(x[1], 3)))
    SX([(x_0-1), (x_1-3)])
    """
    found: dict[tuple[object, ...], SX] = {}
    for operation, given in operands(expression, KINKED):
        compared = sorted(part.element_hash() for part in given)
        if isinstance(operation, str):
            kink = OPERATIONS[operation].kink
            assert kink is not None
            found[kink, *compared] = kink(*given)
        else:
            stops = wave(operation)
            found[stops.name(), *compared] = polynomial(stops, *given)
    values = [value for value in found.values() if not value.is_constant()]
    shared = ca.vertsplit(ca.cse(ca.vertcat(SX(0, 1), *values)))
    return ca.vertcat(SX(0, 1), *{each.element_hash(): each for each in shared}.values())


def pieces(kinks: SX) -> SX:
    """Of those kinks that are waves through the stops of tables, the pieces in between in which
    numbers are: they tell how many stops are passed, and are too large to change their sign."""
    waves = [(called, at) for called, at in operands(kinks) if is_wave(called)]
    return ca.vertcat(SX(0, 1), *(APART + called(*at)[PIECE] for called, at in waves))
