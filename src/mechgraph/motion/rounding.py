"""What is nothing but rounding: entries that are small beside the terms that they are made of.

Two hinges about one slanted axis close a loop by rows that hold for every angle. Their Jacobian is
zero, but for the rounding of the terms that cancel in it, and must not count as a constraint.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..tables.graph import calls, entries_of_call, settled
from ..tables.searches import data_of

ROUNDING = 1e-13  # of the terms that an entry is made of
# smaller constants are what is left of rotations that cancelled when they were composed; slopes
# smaller than that, beside the terms of their row, are what is left of its lengths
RESIDUE = 1e-14
LARGEST = 300_000  # operations; larger expressions are taken as they are

Values = tuple[np.ndarray, np.ndarray]  # values, and sizes of the terms that they are made of

UNARY: dict[int, Callable[..., np.ndarray]] = {
    ca.OP_NEG: np.negative, ca.OP_ASSIGN: np.positive, ca.OP_SQ: np.square,
    ca.OP_TWICE: lambda x: x + x, ca.OP_INV: np.reciprocal, ca.OP_SIN: np.sin, ca.OP_COS: np.cos,
    ca.OP_TAN: np.tan, ca.OP_EXP: np.exp, ca.OP_LOG: np.log, ca.OP_SQRT: np.sqrt,
    ca.OP_ASIN: np.arcsin, ca.OP_ACOS: np.arccos, ca.OP_ATAN: np.arctan, ca.OP_SINH: np.sinh,
    ca.OP_COSH: np.cosh, ca.OP_TANH: np.tanh, ca.OP_FABS: np.abs, ca.OP_FLOOR: np.floor,
    ca.OP_CEIL: np.ceil, ca.OP_SIGN: np.sign, ca.OP_NOT: np.logical_not,
}  # fmt: skip
BINARY: dict[int, Callable[..., np.ndarray]] = {
    ca.OP_ADD: np.add, ca.OP_SUB: np.subtract, ca.OP_MUL: np.multiply, ca.OP_DIV: np.divide,
    ca.OP_POW: np.power, ca.OP_CONSTPOW: np.power, ca.OP_ATAN2: np.arctan2, ca.OP_FMIN: np.fmin,
    ca.OP_FMAX: np.fmax, ca.OP_LT: np.less, ca.OP_LE: np.less_equal, ca.OP_EQ: np.equal,
    ca.OP_NE: np.not_equal, ca.OP_AND: np.logical_and, ca.OP_OR: np.logical_or,
    ca.OP_IF_ELSE_ZERO: lambda x, y: np.where(x != 0, y, 0.0), ca.OP_HYPOT: np.hypot,
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


def sizes_of_terms(expressions: SX, arguments: SX) -> SX | None:
    """How large the terms are that the entries of a dense column are made of, as expressions; None
    if that is too much to ask."""
    function = settled(ca.Function("f", [arguments], [expressions]))
    if function.n_instructions() > LARGEST:
        return None
    inputs, called = arguments.nonzeros(), calls(function)
    work: dict[int, tuple[SX, SX]] = {}
    outputs: list[SX] = [SX(0)] * expressions.numel()
    for k in range(function.n_instructions()):
        code, target = function.instruction_id(k), function.instruction_output(k)
        source = function.instruction_input(k)
        if code == ca.OP_OUTPUT:
            outputs[target[1]] = work[source[0]][1]
        elif code == ca.OP_CALL:
            entries = entries_of_call(called[k], [work[slot][0] for slot in source], {})
            work |= {slot: (x, ca.fabs(x)) for slot, x in zip(target, entries, strict=True)}
        elif code in (ca.OP_INPUT, ca.OP_CONST):
            given = code == ca.OP_INPUT
            x = inputs[source[1]] if given else SX(function.instruction_constant(k))
            work[target[0]] = x, ca.fabs(x)
        else:
            pairs = [work[slot] for slot in source]
            values = [x for x, _ in pairs]
            x = SX.unary(code, *values) if len(values) == 1 else SX.binary(code, *values)
            work[target[0]] = x, _size(code, x, pairs[0], pairs[-1], ca.fabs)
    return ca.vertcat(SX(0, 1), *outputs)


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
    known = UNARY if len(arguments) == 1 else BINARY
    if code not in known:
        return None
    value = np.asarray(known[code](*(x for x, _ in arguments)), dtype=float)
    return value, _size(code, value, arguments[0], arguments[-1], np.abs)


def _size(code: int, value: Any, a: Any, b: Any, absolute: Callable[[Any], Any]) -> Any:
    """Sums add the sizes of their terms, products multiply them; functions begin anew, but for
    those that vanish where terms cancel: sine and cosine of an angle, a length by its square."""
    (x, size_x), (y, size_y) = a, b
    if code in (ca.OP_ADD, ca.OP_SUB):
        return size_x + size_y
    if code == ca.OP_MUL:
        return size_x * size_y
    if code == ca.OP_DIV:
        return size_x / absolute(y)
    if code in (ca.OP_NEG, ca.OP_ASSIGN, ca.OP_FABS):
        return size_x
    if code == ca.OP_SQ:
        return size_x * size_x
    if code == ca.OP_TWICE:
        return size_x + size_x
    if code == ca.OP_INV:
        return 1 / absolute(x)
    if code in (ca.OP_SIN, ca.OP_COS):
        return absolute(value) + absolute(1 - value * value) ** 0.5 * size_x
    if code == ca.OP_SQRT:
        return size_x / value
    return (x != 0) * size_y if code == ca.OP_IF_ELSE_ZERO else absolute(value)
