"""From CasADi expressions to SymPy, for people: operation by operation, with shared subexpressions.

Two algebras of the graph: SymPy expressions (``Plain``), and those in which what is used more than
once gets a name (``WithDefinitions``). A third is that of sums of products
(``normal_form.NormalForm``).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from fractions import Fraction
from math import factorial, prod, ulp
from typing import Any

import sympy as sp

from ..errors import UnsupportedError
from ..graph.algebra import Algebra
from ..graph.searches import ORIGIN, Lookup


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


class Plain(Algebra):
    """SymPy expressions, as they are.

    A table is the same function about whatever origin its polynomial is written. So for people the
    origin is x itself, and the coefficients there are y, y', y''/2, …. A piece is known by its x.
    """

    language = "SymPy"

    def __init__(self, symbols: Sequence[sp.Symbol]) -> None:
        self.symbols, self.operations = symbols, OPERATIONS

    def refusal(self, missing: str) -> Exception:
        return UnsupportedError(
            f"{missing}: no SymPy counterpart here; use the CasADi expression itself"
        )

    def constant(self, value: float) -> Any:
        return rational(meant(value))

    def input(self, argument: int, place: int) -> Any:
        return self.symbols[place]

    def piece(self, name: str, table: Lookup, at: list[Any]) -> Any:
        return at if table.is_pick else at[0]

    def entry(self, name: str, table: Lookup, place: int, piece: Any) -> Any:
        if not table.is_pick and place == ORIGIN:
            return piece
        return self.coefficient(table, place, piece if table.is_pick else [piece])

    def coefficient(self, table: Lookup, place: int, at: list[Any]) -> Any:
        """What a table says at a place, or a derivative of it over so many factorial: soft'(x) for
        one number, map_xy(x, y) for two, integral_soft(x) for an integral."""
        orders = table.orders(place)
        if table.is_pick:
            by = "".join(letter * order for letter, order in zip("xy", orders, strict=True))
            name, powers = f"{table.table}_{by}" if by else table.table, orders
        else:
            name = "integral_" * -orders[0] + table.table + "'" * orders[0]
            powers = (orders[0] - table.order,)
        return sp.Function(name)(*at) / prod(map(factorial, powers))


class WithDefinitions(Plain):
    """SymPy expressions in which every shared or long subexpression is given a name t1, t2, …;
    ``definitions`` are in order."""

    LONG = 16  # operations

    def __init__(self, symbols: Sequence[sp.Symbol]) -> None:
        super().__init__(symbols)
        self.definitions: list[tuple[sp.Symbol, sp.Expr]] = []
        numbered = {str(s)[0] for s in symbols if re.fullmatch(r"\w\d+", str(s))}
        self.letter = next(letter for letter in "tsxyzk" if letter not in numbered)

    def shared(self, value: sp.Expr, name: str, uses: int) -> sp.Expr:
        size = value.count_ops() if isinstance(value, sp.Expr) else 0
        if size < 2 or (uses < 2 and size < self.LONG):
            return value
        symbol = sp.Symbol(f"{self.letter}{len(self.definitions) + 1}", real=True)
        self.definitions.append((symbol, value))
        return symbol


def _truth(condition: Any) -> sp.Expr:
    return sp.Piecewise((1, condition), (0, True))


def _copysign(a: sp.Expr, b: sp.Expr) -> sp.Expr:
    return sp.Piecewise((sp.Abs(a), b >= 0), (-sp.Abs(a), True))


def _fmod(a: sp.Expr, b: sp.Expr) -> sp.Expr:
    return a - b * sp.sign(a / b) * sp.floor(sp.Abs(a / b))


def _remainder(a: sp.Expr, b: sp.Expr) -> sp.Expr:
    """a − n b with the nearest whole n, of two the even one: where n would be odd there, it is the
    one below."""
    n = sp.floor(a / b + sp.Rational(1, 2))
    tie = sp.And(sp.Eq(n - a / b, sp.Rational(1, 2)), sp.Ne(sp.Mod(n, 2), 0))
    return a - b * sp.Piecewise((n - 1, tie), (n, True))


NAMED = (
    "sqrt exp log sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh erf sign floor"
)
OPERATIONS: dict[str, Callable[..., sp.Expr]] = {
    **{name: getattr(sp, name) for name in NAMED.split()},
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "pow": operator.pow,
    "hypot": lambda a, b: sp.sqrt(a**2 + b**2),
    "expm1": lambda a: sp.exp(a) - 1,
    "log1p": lambda a: sp.log(1 + a),
    "fabs": sp.Abs,
    "copysign": _copysign,
    "ceil": sp.ceiling,
    "fmod": _fmod,
    "remainder": _remainder,
    "fmin": sp.Min,
    "fmax": sp.Max,
    "lt": lambda a, b: _truth(sp.Lt(a, b)),
    "le": lambda a, b: _truth(sp.Le(a, b)),
    "eq": lambda a, b: _truth(sp.Eq(a, b)),
    "ne": lambda a, b: _truth(sp.Ne(a, b)),
    "not": lambda a: _truth(sp.Eq(a, 0)),
    "and": lambda a, b: _truth(sp.And(sp.Ne(a, 0), sp.Ne(b, 0))),
    "or": lambda a, b: _truth(sp.Or(sp.Ne(a, 0), sp.Ne(b, 0))),
    "if_else_zero": lambda a, b: sp.Piecewise((b, sp.Ne(a, 0)), (0, True)),
}
