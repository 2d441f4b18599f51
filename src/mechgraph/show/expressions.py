"""From CasADi expressions to SymPy, for people, operation by operation, and back.

Two algebras of the graph: SymPy expressions (``Plain``), and those in which what is used more than
once gets a name (``WithDefinitions``). A third is that of sums of products
(``normal_form.NormalForm``).
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from functools import reduce
from math import factorial, isfinite, isnan, prod, ulp
from typing import Any

import casadi as ca
import sympy as sp
from sympy.core.function import AppliedUndef
from sympy.functions.elementary.piecewise import ExprCondPair

from ..errors import UnsupportedError
from ..graph.algebra import Algebra
from ..graph.searches import ORIGIN, Lookup
from ..motion.variables import Variables


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


UNDEFINED = sp.Symbol("undefined")  # for NaN, of which SymPy has no order


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
        if isfinite(value):
            return rational(meant(value))
        return UNDEFINED if isnan(value) else sp.Float(value)

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
        symbol = sp.Symbol(f"{self.letter}{len(self.definitions) + 1}")
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


# --- and back -------------------------------------------------------------------------------------


def from_sympy(value: Any, symbols: Variables) -> Any:
    """SymPy's matrices and expressions, also in lists and by name, as those of CasADi; what is not
    of SymPy as it is. Symbols, functions of time and their derivatives are variables by name."""
    if isinstance(value, sp.MatrixBase):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [from_sympy(each, symbols) for each in value]
    if isinstance(value, Mapping):
        return {name: from_sympy(each, symbols) for name, each in value.items()}
    return _casadi(value, symbols, {}) if isinstance(value, sp.Basic) else value


def _casadi(value: sp.Basic, symbols: Variables, known: dict[sp.Basic, Any]) -> Any:
    """An expression, each part of which is read once."""
    if value not in known:
        if value.is_Number or value.is_NumberSymbol:
            known[value] = float(value)
        elif (name := _name(value)) is not None:
            known[value] = symbols[name]
        elif value.func in CASADI:
            parts = [_casadi(part, symbols, known) for part in value.args]
            known[value] = CASADI[value.func](*parts)
        else:
            raise UnsupportedError(f"{value}: {value.func.__name__} has no CasADi counterpart here")
    return known[value]


def _name(value: sp.Basic) -> str | None:
    """What a symbol, a function of time or its derivative is called; None for anything else."""
    if isinstance(value, sp.Derivative):
        inner, order = _name(value.expr), value.derivative_count
        return None if inner is None else inner + "'" * order
    return (
        getattr(value, "name", None) if value.is_Symbol or isinstance(value, AppliedUndef) else None
    )


def _pieces(*pairs: tuple[Any, Any]) -> Any:
    """The first value whose condition holds; NaN if none does."""
    return reduce(
        lambda rest, pair: ca.if_else(pair[1], pair[0], rest), reversed(pairs), ca.SX.nan()
    )


def _power(a: Any, n: Any) -> Any:
    """Roots and quotients are exact where powers are not quite."""
    if isinstance(n, float) and abs(n) == 0.5:
        a, n = ca.sqrt(a), 2 * n
    return 1 / a if isinstance(n, float) and n == -1 else a**n


SAME = "sin cos tan asin acos atan atan2 sinh cosh tanh asinh acosh atanh exp log erf sign floor"
CASADI: dict[Any, Callable[..., Any]] = {
    **{getattr(sp, name): getattr(ca, name) for name in SAME.split()},
    sp.Add: lambda *terms: reduce(operator.add, terms),
    sp.Mul: lambda *factors: reduce(operator.mul, factors),
    sp.Pow: _power,
    sp.Abs: ca.fabs,
    sp.ceiling: ca.ceil,
    sp.Min: lambda *terms: reduce(ca.fmin, terms),
    sp.Max: lambda *terms: reduce(ca.fmax, terms),
    sp.Mod: lambda a, b: a - b * ca.floor(a / b),
    sp.Piecewise: _pieces,
    ExprCondPair: lambda value, condition: (value, condition),
    sp.Lt: operator.lt,
    sp.Le: operator.le,
    sp.Gt: operator.gt,
    sp.Ge: operator.ge,
    sp.Eq: lambda a, b: ca.eq(a, b),
    sp.Ne: lambda a, b: ca.ne(a, b),
    sp.And: lambda *terms: reduce(ca.logic_and, terms),
    sp.Or: lambda *terms: reduce(ca.logic_or, terms),
    sp.Not: ca.logic_not,
    type(sp.true): lambda: True,
    type(sp.false): lambda: False,
}
