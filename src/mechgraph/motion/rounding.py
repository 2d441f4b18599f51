"""What is nothing but rounding: entries that are small beside the terms that they are made of.

Two hinges about one slanted axis close a loop by rows that hold for every angle. Their Jacobian is
zero, but for the rounding of the terms that cancel in it, and must not count as a constraint.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from casadi import SX

from ..tables.graph import calls, settled
from ..tables.searches import data_of

ROUNDING = 1e-13  # of the terms that an entry is made of
# smaller constants are what is left of rotations that cancelled when they were composed; slopes
# smaller than that, beside the terms of their row, are what is left of its lengths
RESIDUE = 1e-14
LARGEST = 300_000  # operations; larger expressions are taken as they are

Values = tuple[np.ndarray, np.ndarray]  # values, and sizes of the terms that they are made of

FUNCTIONS: dict[int, Callable[[np.ndarray], np.ndarray]] = {
    ca.OP_TAN: np.tan, ca.OP_EXP: np.exp, ca.OP_LOG: np.log,
    ca.OP_SQRT: np.sqrt, ca.OP_ASIN: np.arcsin, ca.OP_ACOS: np.arccos, ca.OP_ATAN: np.arctan,
    ca.OP_SINH: np.sinh, ca.OP_COSH: np.cosh, ca.OP_TANH: np.tanh, ca.OP_FABS: np.abs,
    ca.OP_FLOOR: np.floor, ca.OP_CEIL: np.ceil, ca.OP_SIGN: np.sign, ca.OP_NOT: np.logical_not,
}  # fmt: skip


def is_rounding(
    expressions: SX, arguments: SX, states: np.ndarray, sources: SX | None = None
) -> np.ndarray:
    """For each entry of a dense column, True if at none of the states (rows) it is more than the
    rounding of its terms, or of those of what it is the slope of, its entry of ``sources``."""
    count = expressions.numel()
    both = expressions if sources is None else ca.vertcat(expressions, sources)
    function = settled(ca.Function("f", [arguments], [both]))
    if function.n_instructions() > LARGEST or not count:
        return np.zeros(count, dtype=bool)
    with np.errstate(all="ignore"):
        found = _evaluated(function, states.T, RESIDUE)
    if found is None:
        return np.zeros(count, dtype=bool)
    values, sizes = (part[:count] for part in found)
    least = ROUNDING * sizes
    if sources is not None:
        least = np.maximum(least, RESIDUE * found[1][count:])
    # what is zero for sure is so because a parameter is: another value makes a constraint of it
    small = (np.abs(values) <= least) & (sizes > 0)
    return np.asarray((small & np.isfinite(least)).all(axis=1))


def sizes_of_terms(expressions: SX, arguments: SX, states: np.ndarray) -> np.ndarray | None:
    """How large the terms are that the entries of a dense column are made of, at each of the states
    (rows); None if that is too much to ask, or not known."""
    function = settled(ca.Function("f", [arguments], [expressions]))
    if function.n_instructions() > LARGEST:
        return None
    with np.errstate(all="ignore"):
        found = _evaluated(function, states.T)
    return None if found is None else found[1].T


def _evaluated(function: ca.Function, inputs: np.ndarray, residue: float = 0.0) -> Values | None:
    """Values and sizes of the outputs; None if an operation is not known here. Constants below the
    residue are what is left of terms as large as one."""
    work: dict[int, Values] = {}
    outputs: dict[int, Values] = {}
    called = calls(function)
    for k in range(function.n_instructions()):
        code, target = function.instruction_id(k), function.instruction_output(k)
        source = function.instruction_input(k)
        if code == ca.OP_INPUT:
            work[target[0]] = inputs[source[1]], np.abs(inputs[source[1]])
        elif code == ca.OP_CONST:
            constant = np.full(inputs.shape[1], function.instruction_constant(k))
            work[target[0]] = constant, np.where(np.abs(constant) < residue, 1.0, np.abs(constant))
        elif code == ca.OP_OUTPUT:
            outputs[target[1]] = work[source[0]]
        elif code == ca.OP_CALL:
            if data_of(called[k]) is None:
                return None
            rows = np.array(called[k](*(work[slot][0][None] for slot in source)))
            work |= {slot: (row, np.abs(row)) for slot, row in zip(target, rows, strict=True)}
        else:
            found = _operation(code, [work[slot] for slot in source])
            if found is None:
                return None
            work[target[0]] = found
    pairs = [outputs[k] for k in range(len(outputs))]
    return np.array([value for value, _ in pairs]), np.array([size for _, size in pairs])


def _operation(code: int, arguments: list[Values]) -> Values | None:
    """Sums add the sizes of their terms, products multiply them; functions begin anew, but for sine
    and cosine, which vanish only up to the rounding of an angle."""
    (a, size_a), (b, size_b) = arguments[0], arguments[-1]
    if code in (ca.OP_SIN, ca.OP_COS):
        turned, slope = (np.sin(a), np.cos(a)) if code == ca.OP_SIN else (np.cos(a), np.sin(a))
        return turned, np.abs(turned) + np.abs(slope) * size_a
    if code in (ca.OP_ADD, ca.OP_SUB):
        return (a + b if code == ca.OP_ADD else a - b), size_a + size_b
    if code == ca.OP_MUL:
        return a * b, size_a * size_b
    if code == ca.OP_DIV:
        return a / b, size_a / np.abs(b)
    if code in (ca.OP_NEG, ca.OP_ASSIGN):
        return (-a if code == ca.OP_NEG else a), size_a
    if code == ca.OP_SQ:
        return a * a, size_a * size_a
    if code == ca.OP_TWICE:
        return a + a, size_a + size_a
    if code == ca.OP_INV:
        return 1 / a, 1 / np.abs(a)
    value = _function(code, a, b)
    return None if value is None else (value, np.abs(value))


def _function(code: int, a: np.ndarray, b: np.ndarray) -> np.ndarray | None:
    if code in FUNCTIONS:
        return np.asarray(FUNCTIONS[code](a), dtype=float)
    binary: dict[int, Callable[..., np.ndarray]] = {
        ca.OP_POW: np.power, ca.OP_CONSTPOW: np.power, ca.OP_ATAN2: np.arctan2, ca.OP_FMIN: np.fmin,
        ca.OP_FMAX: np.fmax, ca.OP_LT: np.less, ca.OP_LE: np.less_equal, ca.OP_EQ: np.equal,
        ca.OP_NE: np.not_equal, ca.OP_AND: np.logical_and, ca.OP_OR: np.logical_or,
        ca.OP_IF_ELSE_ZERO: lambda x, y: np.where(x != 0, y, 0.0), ca.OP_HYPOT: np.hypot,
    }  # fmt: skip
    return np.asarray(binary[code](a, b), dtype=float) if code in binary else None
