"""What is nothing but rounding: entries that are small beside the terms that they are made of.

Two hinges about one slanted axis close a loop by rows that hold for every angle. Their Jacobian is
zero, but for the rounding of the terms that cancel in it, and must not count as a constraint.

How large these terms are is tried out: every operation is made a little wrong, at random, and what
comes of that in the end, beside how wrong each was, is the size. (Bounds, which add up whatever the
signs are, grow with the length of a chain of rotations until everything in it is small.)
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import cycle

import casadi as ca
import numpy as np
import scipy.special
from casadi import SX

from ..tables.graph import calls, settled
from ..tables.searches import data_of

ROUNDING = 1e-13  # of the terms that an entry is made of
# smaller constants are what is left of rotations that cancelled when they were composed; slopes
# smaller than that, beside the terms of their row, are what is left of its lengths
RESIDUE = 1e-14
LARGEST = 300_000  # operations; larger expressions are taken as they are
WRONG = 1e-10  # of its result that each operation is wrong by
TRIALS = 6  # at each state
DRAWN = 997  # errors that are drawn, and used in turn

Values = np.ndarray  # at every state: as it is, and as it is in each trial

FUNCTIONS: dict[int, Callable[[np.ndarray], np.ndarray]] = {
    ca.OP_SIN: np.sin, ca.OP_COS: np.cos, ca.OP_TAN: np.tan, ca.OP_EXP: np.exp, ca.OP_LOG: np.log,
    ca.OP_SQRT: np.sqrt, ca.OP_ASIN: np.arcsin, ca.OP_ACOS: np.arccos, ca.OP_ATAN: np.arctan,
    ca.OP_SINH: np.sinh, ca.OP_COSH: np.cosh, ca.OP_TANH: np.tanh, ca.OP_FABS: np.abs,
    ca.OP_FLOOR: np.floor, ca.OP_CEIL: np.ceil, ca.OP_SIGN: np.sign, ca.OP_NOT: np.logical_not,
    ca.OP_NEG: np.negative, ca.OP_ASSIGN: np.positive, ca.OP_SQ: np.square,
    ca.OP_TWICE: lambda a: a + a, ca.OP_INV: np.reciprocal, ca.OP_ERF: scipy.special.erf,
    ca.OP_ASINH: np.arcsinh, ca.OP_ACOSH: np.arccosh, ca.OP_ATANH: np.arctanh,
    ca.OP_EXPM1: np.expm1, ca.OP_LOG1P: np.log1p,
}  # fmt: skip


def _power(a: Values, b: Values) -> Values:
    """aᵇ; what is negative has powers of exact exponents only."""
    return np.asarray(np.power(a, b[..., :1]))


BINARY: dict[int, Callable[[Values, Values], np.ndarray]] = {
    ca.OP_ADD: np.add, ca.OP_SUB: np.subtract, ca.OP_MUL: np.multiply, ca.OP_DIV: np.divide,
    ca.OP_POW: _power, ca.OP_CONSTPOW: _power, ca.OP_ATAN2: np.arctan2, ca.OP_FMIN: np.fmin,
    ca.OP_FMAX: np.fmax, ca.OP_LT: np.less, ca.OP_LE: np.less_equal, ca.OP_EQ: np.equal,
    ca.OP_NE: np.not_equal, ca.OP_AND: np.logical_and, ca.OP_OR: np.logical_or,
    ca.OP_IF_ELSE_ZERO: lambda a, b: np.where(a != 0, b, 0.0), ca.OP_HYPOT: np.hypot,
    ca.OP_FMOD: np.fmod, ca.OP_COPYSIGN: np.copysign,
    ca.OP_REMAINDER: lambda a, b: a - b * np.round(a / b),
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
    sizes = _sizes(found)
    values, least = found[:count, :, 0], ROUNDING * sizes[:count]
    if sources is not None:
        least = np.maximum(least, RESIDUE * sizes[count:])
    # what is zero for sure is so because a parameter is: another value makes a constraint of it
    small = (np.abs(values) <= least) & (sizes[:count] > 0)
    return np.asarray((small & np.isfinite(least)).all(axis=1))


def sizes_of_terms(expressions: SX, arguments: SX, states: np.ndarray) -> np.ndarray | None:
    """How large the terms are that the entries of a dense column are made of, at each of the states
    (rows); None if that is too much to ask, or not known."""
    function = settled(ca.Function("f", [arguments], [expressions]))
    if function.n_instructions() > LARGEST:
        return None
    with np.errstate(all="ignore"):
        found = _evaluated(function, states.T)
    return None if found is None else _sizes(found).T


def _sizes(found: Values) -> np.ndarray:
    """What trials differ by, beside how wrong each operation was."""
    return np.asarray(np.sqrt(np.mean((found[..., 1:] - found[..., :1]) ** 2, axis=-1)) / WRONG)


def _evaluated(function: ca.Function, inputs: np.ndarray, residue: float = 0.0) -> Values | None:
    """The outputs; None if an operation is not known here. Constants below the residue are what is
    left of terms as large as one."""
    shape = inputs.shape[1], 1 + TRIALS
    drawn = WRONG * np.random.default_rng(0).standard_normal((DRAWN, *shape))
    drawn[..., 0] = 0
    errors = cycle(drawn)
    work: dict[int, Values] = {}
    outputs: dict[int, Values] = {}
    called = calls(function)
    for k in range(function.n_instructions()):
        code, target = function.instruction_id(k), function.instruction_output(k)
        source = function.instruction_input(k)
        if code == ca.OP_INPUT:
            work[target[0]] = inputs[source[1]][:, None] * (1 + next(errors))
        elif code == ca.OP_CONST:
            constant = function.instruction_constant(k)
            size = abs(constant) if abs(constant) >= residue else 1.0
            work[target[0]] = constant + size * next(errors)
        elif code == ca.OP_OUTPUT:
            outputs[target[1]] = work[source[0]]
        elif code == ca.OP_CALL:
            if data_of(called[k]) is None:
                return None
            rows = np.array(called[k](*(work[slot].reshape(1, -1) for slot in source)))
            work |= {slot: row.reshape(shape) for slot, row in zip(target, rows, strict=True)}
        else:
            found = _operation(code, work[source[0]], work[source[-1]])
            if found is None:
                return None
            work[target[0]] = found * (1 + next(errors))
    return np.array([outputs[k] for k in range(len(outputs))])


def _operation(code: int, a: Values, b: Values) -> Values | None:
    if code in FUNCTIONS:
        return np.asarray(FUNCTIONS[code](a), dtype=float)
    return np.asarray(BINARY[code](a, b), dtype=float) if code in BINARY else None
