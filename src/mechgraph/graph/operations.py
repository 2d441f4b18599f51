"""The table of operations: what expressions are made of.

CasADi has a few more (``erfinv``, …). They have their names there, and are refused by name where an
expression goes to another language.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
import numpy as np
from casadi import SX


@dataclass(frozen=True)
class Operation:
    """One operation on one or two numbers.

    ``name`` is that of CasADi's constant (``OP_ADD``) and of the function in lanes.h (``v_add``);
    ``numpy`` is its meaning, the name of a function or a format; ``sign`` is what most languages
    write between its operands; ``kink`` is zero where the operation has a kink or jumps.
    """

    name: str
    arity: int
    numpy: str
    sign: str = ""
    kink: Callable[..., SX] | None = None
    commutes: bool = False

    @property
    def code(self) -> int:
        """CasADi's number of it."""
        return CODES[self.name]


def _difference(a: SX, b: SX) -> SX:
    return a - b


def _last(*operands: SX) -> SX:
    return operands[-1]


def _whole(a: SX) -> SX:
    """Zero at whole numbers."""
    return ca.sin(np.pi * a)


def _whole_ratio(a: SX, b: SX) -> SX:
    """Zero where a/b is a whole number."""
    return ca.sin(np.pi * a / b)


def _half_ratio(a: SX, b: SX) -> SX:
    """Zero half-way between: where a/b is rounded up instead of down."""
    return ca.cos(np.pi * a / b)


OPERATIONS = {
    each.name: each
    for each in (
        Operation("neg", 1, "-{0}"),
        Operation("exp", 1, "np.exp"),
        Operation("log", 1, "np.log"),
        Operation("sqrt", 1, "np.sqrt"),
        Operation("sin", 1, "np.sin"),
        Operation("cos", 1, "np.cos"),
        Operation("tan", 1, "np.tan"),
        Operation("asin", 1, "np.arcsin"),
        Operation("acos", 1, "np.arccos"),
        Operation("atan", 1, "np.arctan"),
        Operation("floor", 1, "np.floor", kink=_whole),
        Operation("ceil", 1, "np.ceil", kink=_whole),
        Operation("fabs", 1, "np.abs", kink=_last),
        Operation("sign", 1, "np.sign", kink=_last),
        Operation("not", 1, "1.0 * ({0} == 0)"),
        Operation("sinh", 1, "np.sinh"),
        Operation("cosh", 1, "np.cosh"),
        Operation("tanh", 1, "np.tanh"),
        Operation("asinh", 1, "np.arcsinh"),
        Operation("acosh", 1, "np.arccosh"),
        Operation("atanh", 1, "np.arctanh"),
        Operation("erf", 1, "erf"),
        Operation("log1p", 1, "np.log1p"),
        Operation("expm1", 1, "np.expm1"),
        Operation("add", 2, "{0} + {1}", "+", commutes=True),
        Operation("sub", 2, "{0} - {1}", "-"),
        Operation("mul", 2, "{0} * {1}", "*", commutes=True),
        Operation("div", 2, "{0} / {1}", "/"),
        Operation("pow", 2, "{0} ** {1}"),
        Operation("lt", 2, "1.0 * ({0} < {1})", "<", _difference),
        Operation("le", 2, "1.0 * ({0} <= {1})", "<=", _difference),
        Operation("eq", 2, "1.0 * ({0} == {1})", "==", _difference, commutes=True),
        Operation("ne", 2, "1.0 * ({0} != {1})", "!=", _difference, commutes=True),
        Operation("and", 2, "1.0 * (({0} != 0) & ({1} != 0))", commutes=True),
        Operation("or", 2, "1.0 * (({0} != 0) | ({1} != 0))", commutes=True),
        Operation("fmod", 2, "np.fmod", kink=_whole_ratio),
        Operation("remainder", 2, "{0} - {1} * np.round({0} / {1})", kink=_half_ratio),
        Operation("copysign", 2, "np.copysign", kink=_last),
        Operation("if_else_zero", 2, "np.where({0} != 0, {1}, 0.0)"),
        Operation("fmin", 2, "np.minimum", kink=_difference),
        Operation("fmax", 2, "np.maximum", kink=_difference),
        Operation("atan2", 2, "np.arctan2"),
        Operation("hypot", 2, "np.hypot", commutes=True),
    )
}
# those that most languages write with a sign between the operands
INFIX = {each.name: f"{{0}} {each.sign} {{1}}" for each in OPERATIONS.values() if each.sign}
CODES = {name[3:].lower(): getattr(ca, name) for name in dir(ca) if name.startswith("OP_")}
NAMES = {code: name for name, code in CODES.items()} | {ca.OP_CONSTPOW: "pow"}
