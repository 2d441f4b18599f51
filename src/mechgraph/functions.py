"""Functions of expressions: CasADi's, those that it has not, and what NumPy's do on them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from .errors import ArgumentError, ModelError, shown
from .vectors import NOT_AN_EXPRESSION, scalar

pi = math.pi


def on_rows(function: ca.Function, *rows: np.ndarray) -> list[np.ndarray]:
    """The matrices of a function at each row of its arguments; the first axis is the rows'."""
    count = len(rows[0])
    values = (np.array(value) for value in function.call([ca.DM(each.T) for each in rows]))
    parts = (value.reshape(len(value), count, value.shape[1] // count) for value in values)
    return [part.transpose(1, 0, 2) for part in parts]


def _own(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of CasADi that says what is wrong in our words."""

    @wraps(function)
    def called(*arguments: Any) -> Any:
        try:
            return function(*arguments)
        except NOT_AN_EXPRESSION:
            given = ", ".join(map(shown, arguments))
            raise ArgumentError(
                f"mg.{function.__name__} takes numbers and expressions of sizes that fit each "
                f"other, got ({given})"
            ) from None

    called.__module__ = __name__  # where pickles look for it
    called.__doc__ = f"CasADi's ``{function.__name__}``, of numbers and expressions."
    return called


sin, cos, tan, asin, acos, atan, atan2 = map(
    _own, (ca.sin, ca.cos, ca.tan, ca.asin, ca.acos, ca.atan, ca.atan2)
)
sinh, cosh, tanh, asinh, acosh, atanh = map(
    _own, (ca.sinh, ca.cosh, ca.tanh, ca.asinh, ca.acosh, ca.atanh)
)
exp, log, sqrt, erf, hypot, norm_2, dot, cross = map(
    _own, (ca.exp, ca.log, ca.sqrt, ca.erf, ca.hypot, ca.norm_2, ca.dot, ca.cross)
)
fabs, sign, copysign, floor, ceil, fmod, fmin, fmax, if_else = map(
    _own,
    (ca.fabs, ca.sign, ca.copysign, ca.floor, ca.ceil, ca.fmod, ca.fmin, ca.fmax, ca.if_else),
)


def clip(x: Any, low: Any, high: Any) -> SX:
    """x, but not below ``low`` and not above ``high``."""
    low, high = _rising(low, high, "clip")
    return ca.fmin(ca.fmax(scalar(x, "x"), low), high)


def smooth_step(x: Any, start: Any, stop: Any) -> SX:
    """From 0 up to ``start`` to 1 from ``stop`` on, by s³ (6 s² − 15 s + 10) with s = (x − start) /
    (stop − start) between them: slope and curvature are continuous."""
    start, stop = _rising(start, stop, "smooth_step")
    s = clip((scalar(x, "x") - start) / (stop - start), 0, 1)
    return s**3 * (s * (6 * s - 15) + 10)


def _rising(low: Any, high: Any, what: str) -> tuple[SX, SX]:
    first, second = (
        scalar(low, f"{what}: the lower bound"),
        scalar(high, f"{what}: the upper bound"),
    )
    if first.is_constant() and second.is_constant() and float(first) >= float(second):
        raise ModelError(
            f"{what}: the lower bound {float(first):g} is not below the upper bound "
            f"{float(second):g}"
        )
    return first, second


# --- NumPy on expressions -------------------------------------------------------------------------

# what CasADi would write out point by point, or cannot do
INSTEAD: Mapping[Any, str] = {
    np.interp: "mg.table(x, y)(…), which searches in log n",
    np.piecewise: "mg.if_else(condition, …, …), or mg.table",
    np.polyval: "a sum of powers",
}
_casadi = SX.__array_function__


def _array_function(self: SX, function: Any, types: Any, given: Any, options: Any) -> Any:
    if function in INSTEAD:
        raise ModelError(
            f"np.{function.__name__} takes numbers, not expressions; use {INSTEAD[function]}"
        )
    return _casadi(self, function, types, given, options)


SX.__array_function__ = _array_function
ca.GlobalOptions.setNumpyMode(-1)  # np.sin(x) is an expression, without a warning
