"""From CasADi expressions to SymPy, for people: operation by operation, with shared subexpressions.

``evaluate`` runs a CasADi function on any algebra: on SymPy expressions (``Plain``), on SymPy
expressions in which what is used more than once gets a name (``Named``), or on sums of products
(``normal_form.NormalForm``).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import factorial, ulp
from typing import Any, Protocol

import casadi as ca
import sympy as sp

from ..errors import UnsupportedError
from ..tables.graph import SLOPE, calls
from ..tables.searches import COEFFICIENTS, PICK, PLAIN, SEARCH


class Algebra(Protocol):
    """The operations on which an expression graph can be evaluated."""

    def constant(self, value: float) -> Any: ...

    def symbol(self, symbol: sp.Symbol) -> Any: ...

    def apply(self, operation: int | Tabled, arguments: list[Any], number: int) -> Any:
        """The result of operation ``number`` of the function."""


def evaluate(
    function: ca.Function, symbols: Sequence[sp.Symbol], algebra: Algebra
) -> list[list[Any]]:
    """The entries (column after column) of every result of a function of one column of
    ``symbols``."""
    results: list[list[Any]] = [[None] * function.numel_out(i) for i in range(function.n_out())]
    registers: dict[int, Any] = {}
    called = calls(function)
    for k in range(function.n_instructions()):
        operation, inputs, outputs = _instruction(function, k)
        if operation == ca.OP_OUTPUT:
            results[outputs[0]][outputs[1]] = registers[inputs[0]]
        elif operation == ca.OP_INPUT:
            registers[outputs[0]] = algebra.symbol(symbols[inputs[1]])
        elif operation == ca.OP_CONST:
            registers[outputs[0]] = algebra.constant(function.instruction_constant(k))
        elif operation == ca.OP_CALL:
            values = _call(called[k], [registers[i] for i in inputs], algebra, k, outputs)
            registers |= values
        else:
            registers[outputs[0]] = algebra.apply(operation, [registers[i] for i in inputs], k)
    return results


@dataclass(frozen=True)
class Tabled:
    """A table, differentiated so many times by each of its arguments; −1 for its integral."""

    name: str
    orders: tuple[int, ...]

    def __call__(self, *x: sp.Expr) -> sp.Expr:
        if len(self.orders) == 1:
            (order,) = self.orders
            name = "integral_" * -order + self.name + "'" * order
        else:
            by = "".join(letter * order for letter, order in zip("xy", self.orders, strict=True))
            name = f"{self.name}_{by}" if by else self.name
        return sp.Function(name)(*x)


def _call(
    function: ca.Function, arguments: list[Any], algebra: Algebra, k: int, targets: list[int]
) -> dict[int, Any]:
    """What is used of a call, by registers.

    A table is the same function about whatever origin its polynomial is written. So for people the
    origin is x itself, and the coefficients there are y, y', y''/2, …. A piece is known by its x.
    """
    searched, picked = (kind.fullmatch(function.name()) for kind in (SEARCH, PICK))
    values: dict[int, Any] = {}
    for place, target in enumerate(targets):
        if target < 0:
            continue
        if SLOPE.match(function.name()):
            values[target] = algebra.constant(0.0)
        elif searched is not None and place < COEFFICIENTS:
            values[target] = arguments[0]
        elif searched is not None:
            power = place - COEFFICIENTS
            reading = Tabled(searched[3], (int(searched[2]) - PLAIN + power,))
            values[target] = _share(algebra, reading, arguments, k, factorial(power))
        elif picked is not None:
            powers = divmod(place - 1, int(picked[3]))
            times = factorial(powers[0]) * factorial(powers[1])
            values[target] = _share(algebra, Tabled(picked[4], powers), arguments, k, times)
        else:
            raise UnsupportedError(
                f"{function.name()}, a function of CasADi's own, cannot be shown"
            )
    return values


def _share(algebra: Algebra, reading: Tabled, arguments: list[Any], k: int, times: int) -> Any:
    """One over ``times`` of what a table says."""
    value = algebra.apply(reading, arguments, k)
    return algebra.apply(ca.OP_MUL, [value, algebra.constant(1 / times)], k)


def _instruction(function: ca.Function, k: int) -> tuple[int, list[int], list[int]]:
    return function.instruction_id(k), function.instruction_input(k), function.instruction_output(k)


def meant(value: float) -> Fraction:
    """The number that was meant: a short fraction or decimal if ``value`` is within a few roundings
    of one.

    >>> meant(0.1), meant(1 / 3), meant(0.1 + 0.2)
    (Fraction(1, 10), Fraction(1, 3), Fraction(3, 10))
    """
    decimal = f"{value:.12g}"
    for candidate in (Fraction(value).limit_denominator(1000), Fraction(decimal)):
        if abs(float(candidate) - value) <= 4 * ulp(value):
            return candidate
    return Fraction(repr(value))


def rational(value: Fraction) -> sp.Rational:
    """The same number in SymPy."""
    return sp.Rational(value.numerator, value.denominator)


# --- on SymPy -------------------------------------------------------------------------------------


class Plain:
    """SymPy expressions, as they are."""

    def constant(self, value: float) -> sp.Expr:
        return rational(meant(value))

    def symbol(self, symbol: sp.Symbol) -> sp.Expr:
        return symbol

    def apply(self, operation: int | Tabled, arguments: list[sp.Expr], number: int) -> sp.Expr:
        return operate(operation, arguments)


class Named(Plain):
    """SymPy expressions in which every shared or long subexpression is given a name t1, t2, …;
    ``definitions`` are in order."""

    LONG = 16  # operations

    def __init__(self, function: ca.Function, taken: Sequence[str] = ()) -> None:
        self.uses = uses(function)
        self.definitions: list[tuple[sp.Symbol, sp.Expr]] = []
        numbered = {name[0] for name in taken if re.fullmatch(r"\w\d+", name)}
        self.letter = next(letter for letter in "tsxyzk" if letter not in numbered)

    def apply(self, operation: int | Tabled, arguments: list[sp.Expr], number: int) -> sp.Expr:
        value = operate(operation, arguments)
        size = value.count_ops()
        if size < 2 or (self.uses[number] < 2 and size < self.LONG):
            return value
        name = sp.Symbol(f"{self.letter}{len(self.definitions) + 1}", real=True)
        self.definitions.append((name, value))
        return name


def uses(function: ca.Function) -> Counter[int]:
    """How often the result of each operation is used."""
    writer: dict[int, int] = {}
    count: Counter[int] = Counter()
    for k in range(function.n_instructions()):
        operation, inputs, outputs = _instruction(function, k)
        if operation not in (ca.OP_INPUT, ca.OP_CONST):
            count.update(writer[register] for register in inputs)
        if operation != ca.OP_OUTPUT:
            writer |= dict.fromkeys(outputs, k)
    return count


def operate(operation: int | Tabled, arguments: Sequence[sp.Expr]) -> sp.Expr:
    """One CasADi operation on SymPy expressions."""
    if isinstance(operation, Tabled):
        return operation(*arguments)
    if operation not in OPERATIONS:
        raise UnsupportedError(
            f"CasADi's operation {operation} has no SymPy counterpart here; use the CasADi "
            "expression itself"
        )
    return OPERATIONS[operation](*arguments)


def _truth(condition: Any) -> sp.Expr:
    return sp.Piecewise((1, condition), (0, True))


def _copysign(a: sp.Expr, b: sp.Expr) -> sp.Expr:
    return sp.Piecewise((sp.Abs(a), b >= 0), (-sp.Abs(a), True))


def _fmod(a: sp.Expr, b: sp.Expr) -> sp.Expr:
    return a - b * sp.sign(a / b) * sp.floor(sp.Abs(a / b))


OPERATIONS: dict[int, Callable[..., sp.Expr]] = {
    ca.OP_ASSIGN: lambda a: a,
    ca.OP_ADD: lambda a, b: a + b,
    ca.OP_SUB: lambda a, b: a - b,
    ca.OP_MUL: lambda a, b: a * b,
    ca.OP_DIV: lambda a, b: a / b,
    ca.OP_NEG: lambda a: -a,
    ca.OP_INV: lambda a: 1 / a,
    ca.OP_SQ: lambda a: a**2,
    ca.OP_TWICE: lambda a: 2 * a,
    ca.OP_POW: lambda a, b: a**b,
    ca.OP_CONSTPOW: lambda a, b: a**b,
    ca.OP_SQRT: sp.sqrt,
    ca.OP_HYPOT: lambda a, b: sp.sqrt(a**2 + b**2),
    ca.OP_EXP: sp.exp,
    ca.OP_EXPM1: lambda a: sp.exp(a) - 1,
    ca.OP_LOG: sp.log,
    ca.OP_LOG1P: lambda a: sp.log(1 + a),
    ca.OP_SIN: sp.sin,
    ca.OP_COS: sp.cos,
    ca.OP_TAN: sp.tan,
    ca.OP_ASIN: sp.asin,
    ca.OP_ACOS: sp.acos,
    ca.OP_ATAN: sp.atan,
    ca.OP_ATAN2: sp.atan2,
    ca.OP_SINH: sp.sinh,
    ca.OP_COSH: sp.cosh,
    ca.OP_TANH: sp.tanh,
    ca.OP_ASINH: sp.asinh,
    ca.OP_ACOSH: sp.acosh,
    ca.OP_ATANH: sp.atanh,
    ca.OP_ERF: sp.erf,
    ca.OP_FABS: sp.Abs,
    ca.OP_SIGN: sp.sign,
    ca.OP_COPYSIGN: _copysign,
    ca.OP_FLOOR: sp.floor,
    ca.OP_CEIL: sp.ceiling,
    ca.OP_FMOD: _fmod,
    ca.OP_FMIN: sp.Min,
    ca.OP_FMAX: sp.Max,
    ca.OP_LT: lambda a, b: _truth(sp.Lt(a, b)),
    ca.OP_LE: lambda a, b: _truth(sp.Le(a, b)),
    ca.OP_EQ: lambda a, b: _truth(sp.Eq(a, b)),
    ca.OP_NE: lambda a, b: _truth(sp.Ne(a, b)),
    ca.OP_NOT: lambda a: _truth(sp.Eq(a, 0)),
    ca.OP_AND: lambda a, b: _truth(sp.And(sp.Ne(a, 0), sp.Ne(b, 0))),
    ca.OP_OR: lambda a, b: _truth(sp.Or(sp.Ne(a, 0), sp.Ne(b, 0))),
    ca.OP_IF_ELSE_ZERO: lambda a, b: sp.Piecewise((b, sp.Ne(a, 0)), (0, True)),
}
