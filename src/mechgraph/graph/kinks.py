"""Where an expression jumps or has a kink: what it compares, and the knots of its tables that no
step of an integrator may go over, read from its graph."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from ..numerics.tolerances import GIVEN, KNOWN
from .expressions import operands
from .operations import OPERATIONS
from .searches import PIECE, data_of, horner, lookup, polynomial, search_of

APART = 1e6  # what keeps pieces away from zero
WAVE = "0wave"  # no name of a table: those begin with a letter
EVERY = 8  # knots of a table that a step may always go over
FEATURE = 1e-4  # of the table's range: what is less beside a cubic over many knots may be skipped
# of the table's range: where the next cubic differs by less, a step may go on, for EVERY of them
SLIGHT = KNOWN / EVERY
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
    """For those kinks that are waves through the stops of tables, the pieces in between in which
    numbers are: they tell how many stops are passed, and are too large to change their sign."""
    waves = [(called, at) for called, at in operands(kinks) if is_wave(called)]
    return ca.vertcat(SX(0, 1), *(APART + called(*at)[PIECE] for called, at in waves))


# --- tables ---------------------------------------------------------------------------------------


def wave(search: ca.Function) -> ca.Function:
    """A search whose polynomials are a wave with the slopes ±1 at its zeros, the *stops* of the
    search of a table.

    Stops are the knots where the value, the slope or the curvature jumps, or another cubic begins
    that is not nearly the one before, the ends, and as many others as it takes for one cubic from
    stop to stop to be nearly the table, so that no step of an integrator goes over what it tells.
    """
    knots, columns = data_of(search)
    stops = _stops(knots, columns[:, 1:])
    signs = (-1.0) ** np.arange(len(stops))
    rows = np.zeros((len(stops) + 1, 3))
    rows[0, 1], rows[1:, 1] = 1.0, signs
    rows[1:-1, 2] = -signs[:-1] / np.diff(stops)
    return search_of(WAVE, 0, stops.tobytes(), rows.tobytes())


def is_wave(search: ca.Function) -> bool:
    """True for the search of a wave."""
    found = lookup(search.name())
    return found is not None and found.table == WAVE


def _features(knots: np.ndarray, rows: np.ndarray) -> list[int]:
    """Knots between which the table is nearly one cubic, or which are EVERY apart: found by
    halving."""
    rows = np.column_stack([rows, np.zeros(len(rows))])[1:]  # row k begins at knot k
    value, slope = rows[:, 0], rows[:, 1]
    last = len(knots) - 1
    value = np.append(value[:-1], horner(rows[-2], knots[-1] - knots[-2]))
    slope = np.append(slope[:-1], (value[-1] - value[-2]) / (knots[-1] - knots[-2]))
    least, found, ahead = FEATURE * np.ptp(value), [0, last], [(0, last)]
    while ahead:
        first, end = ahead.pop()
        if end - first <= EVERY:
            continue
        inner = slice(first + 1, end)
        cubic = _hermite(
            knots[[first, end]], value[[first, end]], slope[[first, end]], knots[inner]
        )
        if np.abs(cubic - value[inner]).max() > least:
            middle = (first + end) // 2
            found.append(middle)
            ahead += [(first, middle), (middle, end)]
    return found


def _hermite(ends: np.ndarray, y: np.ndarray, slope: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The cubic with these values and slopes at its ends."""
    length = ends[1] - ends[0]
    s = (x - ends[0]) / length
    begins = (1 - s) ** 2 * ((1 + 2 * s) * y[0] + s * length * slope[0])
    return np.asarray(begins + s**2 * ((3 - 2 * s) * y[1] - (1 - s) * length * slope[1]))


def _stops(knots: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """An odd number of stops, so that the wave changes its sign where a table repeats itself,
    too."""
    length = np.diff(knots)
    chosen = np.zeros(len(knots), bool)
    chosen[_features(knots, rows)] = True
    reach = np.minimum(length[:-1], length[1:]) ** 3 / 6
    least = SLIGHT * np.ptp(rows[1:-1, 0])
    for order in range(4):  # value, slope, curvature, and how it changes
        jump = np.abs(horner(rows[1:-2], length[:-1]) - rows[2:-1, 0])
        small = GIVEN * np.abs(rows[1:-1, 0]).max() if order < 3 else least / reach
        chosen[1:-1] |= jump > small
        rows = np.column_stack([rows[:, 1:], 0 * rows[:, 0]]) * np.arange(1, rows.shape[1] + 1)
    stops = knots[chosen]
    if len(stops) % 2 == 0:
        widest = int(np.diff(stops).argmax())
        stops = np.insert(stops, widest + 1, stops[widest : widest + 2].mean())
    return stops
