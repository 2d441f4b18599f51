"""A normal form for the expressions of mechanics: sums of products, in which equal things cancel.

Expressions of mechanisms are polynomials of symbols and of sines and cosines. Written as sums of
products with sin² = 1 − cos² they have one form only, so that simplification is arithmetic and
takes no search. Anything else (roots, quotients of sums, …) enters as one more generator. From the
normal form three ways of writing are tried, with cosines, with sines, and with sines and cosines of
sums of angles, and the shortest one is taken.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from fractions import Fraction
from functools import lru_cache, reduce
from math import gcd, isfinite, lcm
from typing import Any

import sympy as sp

from ..graph.searches import Lookup
from ..numerics.tolerances import ROUNDING
from .expressions import OPERATIONS, Plain, meant, rational

# (generator, exponent), by generator; exponents may be negative
Monomial = tuple[tuple[int, int], ...]
Terms = dict[Monomial, Fraction]
# (monomial without sines and cosines, product of those) → coefficient
Form = dict[tuple[Monomial, sp.Expr], Fraction]
Symbols = frozenset[sp.Symbol]
NONE: Symbols = frozenset()
Waves = dict[tuple[sp.Expr, int], Fraction]  # (angle a, k) → amount of cos(a − kπ/2), k = 0 or 1
ONE: Monomial = ()
CANCELLED = Fraction(ROUNDING)  # a smaller sum, beside its parts, is nothing but rounding
MOST_ANGLES = 5  # up to which sums without one of them are tried
CACHED = 10_000  # expressions whose factors and lengths are remembered: many come again
LARGEST_COMMON_FACTOR = 60  # numbers are factored out if what is left are integers up to this
# in which parameters (0), speeds (1), waves (2) and the rest (3) are taken out of brackets
ORDERS = (
    (0, 2, 1, 3),
    (0, 1, 2, 3),
    (0, 1, 3, 2),
    (0, 3, 2, 1),
    (1, 0, 2, 3),
    (2, 0, 1, 3),
    (3, 0, 2, 1),
)


class TooLarge(Exception):
    """The expression has too many terms to be read."""


class NormalForm(Plain):
    """The algebra of sums of products; ``budget`` bounds the work, ``limit`` the number of
    terms."""

    def __init__(
        self, symbols: Sequence[sp.Symbol], budget: int = 100_000, limit: int = 400
    ) -> None:
        super().__init__(symbols)
        self.budget, self.limit = budget, limit
        self.generators: list[sp.Expr] = []
        self._index: dict[sp.Expr, int] = {}
        self._cosine_of: dict[int, int] = {}  # generator of a sine → generator of its cosine
        self._sine_of: dict[int, int] = {}

    # --- the algebra ------------------------------------------------------------------------------

    def constant(self, value: float) -> Terms:
        if not isfinite(value):
            return self.symbol(super().constant(value))
        return {ONE: meant(value)} if value else {}

    def input(self, argument: int, place: int) -> Terms:
        return self.symbol(self.symbols[place])

    def operation(self, name: str, operands: list[Terms]) -> Terms:
        if name in _RULES:
            return _RULES[name](self, *operands)
        return self.symbol(OPERATIONS[name](*map(self.expression, operands)))

    def coefficient(self, table: Lookup, place: int, at: list[Any]) -> Terms:
        value = super().coefficient(table, place, [self.expression(x) for x in at])
        factor, function = value.as_coeff_Mul()
        return {m: x * Fraction(str(factor)) for m, x in self.symbol(function).items()}

    def symbol(self, symbol: sp.Expr) -> Terms:
        """A generator."""
        if symbol not in self._index:
            self._index[symbol] = len(self.generators)
            self.generators.append(symbol)
        return {((self._index[symbol], 1),): Fraction(1)}

    def add(self, a: Terms, b: Terms, sign: int = 1) -> Terms:
        out = dict(a)
        for monomial, coefficient in b.items():
            _accumulate(out, monomial, sign * coefficient)
        return self._checked(out)

    def multiply(self, a: Terms, b: Terms) -> Terms:
        self.budget -= len(a) * len(b)
        if self.budget < 0:
            raise TooLarge
        out: Terms = {}
        for first, x in a.items():
            for second, y in b.items():
                _reduce_into(out, _product(first, second), x * y, self._cosine_of)
        return self._checked(out)

    def divide(self, a: Terms, b: Terms) -> Terms:
        if len(b) == 1:
            ((monomial, coefficient),) = b.items()
            return self.multiply(a, {tuple((g, -e) for g, e in monomial): 1 / coefficient})
        number = _common_number(list(b.values()))  # so that it cancels with those of a
        inverse = self.symbol(1 / self.expression({m: x / number for m, x in b.items()}))
        return self.multiply({m: x / number for m, x in a.items()}, inverse)

    def power(self, a: Terms, exponent: Terms) -> Terms:
        n = exponent.get(ONE, Fraction(0))
        if set(exponent) <= {ONE} and n.denominator == 1 and 0 <= n <= 8:
            return reduce(self.multiply, [a] * int(n), {ONE: Fraction(1)})
        return self.symbol(self.expression(a) ** self.expression(exponent))

    def cos_sin(self, angle: Terms) -> tuple[Terms, Terms]:
        """Cosine and sine of an angle; of a sum of whole multiples of symbols, by those of its
        parts."""
        if not angle:
            return {ONE: Fraction(1)}, {}
        if ONE in angle or any(n.denominator != 1 or abs(n) > 4 for n in angle.values()):
            return self._whole_angle(angle)
        c: Terms = {ONE: Fraction(1)}
        s: Terms = {}
        for monomial, n in angle.items():
            c_part, s_part = self._pair(self._product_of(monomial))
            if n < 0:
                s_part = {m: -x for m, x in s_part.items()}
            for _ in range(abs(int(n))):
                c, s = (
                    self.add(self.multiply(c, c_part), self.multiply(s, s_part), -1),
                    self.add(self.multiply(s, c_part), self.multiply(c, s_part)),
                )
        return c, s

    def _whole_angle(self, angle: Terms) -> tuple[Terms, Terms]:
        """Cosine and sine of an angle as two generators; an angle and its opposite share them: of
        the two that one whose sine SymPy writes without a minus."""
        whole = self.expression(angle)
        sign = 1 if isinstance(sp.sin(whole), sp.sin) else -1
        c, s = self._pair(sign * whole)
        return c, {m: sign * x for m, x in s.items()}

    def _pair(self, angle: sp.Expr) -> tuple[Terms, Terms]:
        """Cosine and sine as two generators that know each other, unless SymPy has another name for
        one of them (of an arc sine, say)."""
        c, s = sp.cos(angle), sp.sin(angle)
        terms = self.symbol(c), self.symbol(s)
        if isinstance(c, sp.cos) and isinstance(s, sp.sin):
            cosine, sine = self._index[c], self._index[s]
            self._cosine_of[sine], self._sine_of[cosine] = cosine, sine
        return terms

    def _checked(self, terms: Terms) -> Terms:
        if len(terms) > self.limit:
            raise TooLarge
        return terms

    # --- ways of writing it -----------------------------------------------------------------------

    def expression(
        self, terms: Terms, parameters: Symbols = NONE, speeds: Symbols = NONE
    ) -> sp.Expr:
        """The shortest of the ways of writing; parameters and speeds stay together where brackets
        are set."""
        if len(terms) < 2:
            return self._sum(terms)
        forms = {frozenset(form.items()): form for form in self._forms(terms)}
        ways = (
            self._bracketed(form, order, (parameters, speeds))
            for form in forms.values()
            for order in ORDERS
        )
        return min(ways, key=_length)

    def _forms(self, terms: Terms) -> Iterator[Form]:
        """The terms in several forms: by cosines, by sines, by sums of angles.

        The sums are of all angles or of all but one, because a product with the others may be
        shorter.
        """
        yield self._split(terms)
        yield self._split(self._by_sines(terms))
        circular = [pair for monomial in terms for pair in self._circular(monomial)]
        if any(abs(exponent) > 4 for _, exponent in circular):
            return
        yield self._by_sums(terms, -1)
        cosines = {self._cosine_of.get(generator, generator) for generator, _ in circular}
        if 1 < len(cosines) <= MOST_ANGLES:
            yield from (self._by_sums(terms, cosine) for cosine in sorted(cosines))

    def _split(self, terms: Terms) -> Form:
        return {(self._rest(m), self._product_of(self._circular(m))): x for m, x in terms.items()}

    def _by_sines(self, terms: Terms) -> Terms:
        """The terms with cos² = 1 − sin²."""
        out: Terms = {}
        for monomial, coefficient in terms.items():
            _reduce_into(out, monomial, coefficient, self._sine_of)
        return out

    def _by_sums(self, terms: Terms, but: int) -> Form:
        """The terms with products of sines and cosines, but for those of one angle (given by its
        cosine), as sines and cosines of sums."""
        out: Form = {}
        for monomial, coefficient in terms.items():
            circular = self._circular(monomial)
            own = tuple((g, e) for g, e in circular if self._cosine_of.get(g, g) == but)
            others = tuple((g, e) for g, e in circular if self._cosine_of.get(g, g) != but)
            factor = self._product_of(own)
            for wave, amount in self._waves(others).items():
                _accumulate(out, (self._rest(monomial), factor * wave), coefficient * amount)
        return out

    def _waves(self, circular: Monomial) -> dict[sp.Expr, Fraction]:
        """A product of waves as a sum: cos a cos b = ½ cos(a + b) + ½ cos(a − b), and so on."""
        waves: Waves = {(sp.S.Zero, 0): Fraction(1)}
        for generator, exponent in circular:
            if exponent < 0:
                return {self._product_of(circular): Fraction(1)}
            angle, quarter = self.generators[generator].args[0], int(generator in self._cosine_of)
            for _ in range(exponent):
                waves = _times_wave(waves, angle, quarter)
        return _as_functions(waves)

    def _bracketed(
        self, form: Form, order: tuple[int, ...], classes: tuple[Symbols, Symbols]
    ) -> sp.Expr:
        """The form with common factors taken out of brackets, in the given order."""
        rows = []
        for (monomial, wave), x in form.items():
            parts: list[list[tuple[int, int]]] = [[], [], []]
            for generator, exponent in monomial:
                known = [self.generators[generator] in names for names in classes]
                parts[known.index(True) if any(known) else 2].append((generator, exponent))
            parameters, speeds, rest = (self._product_of(tuple(part)) for part in parts)
            factors = (parameters, speeds, wave, rest)
            rows.append((x, tuple(factors[k] for k in order)))
        return sp.Mul(*_brackets(rows))

    def _sum(self, terms: Terms) -> sp.Expr:
        return sp.Add(*(rational(x) * self._product_of(m) for m, x in terms.items()))

    def _product_of(self, monomial: Monomial) -> sp.Expr:
        return sp.Mul(*(self.generators[g] ** e for g, e in monomial))

    def _circular(self, monomial: Monomial) -> Monomial:
        return tuple((g, e) for g, e in monomial if g in self._cosine_of or g in self._sine_of)

    def _rest(self, monomial: Monomial) -> Monomial:
        return tuple(
            (g, e) for g, e in monomial if g not in self._cosine_of and g not in self._sine_of
        )


def _reduce_into(
    out: Terms, monomial: Monomial, coefficient: Fraction, partner: dict[int, int]
) -> None:
    """Add a term with a² = 1 − b² for each generator a that has a partner b."""
    for generator, exponent in monomial:
        if exponent >= 2 and generator in partner:
            rest = _product(monomial, ((generator, -2),))
            _reduce_into(out, rest, coefficient, partner)
            other = _product(rest, ((partner[generator], 2),))
            _reduce_into(out, other, -coefficient, partner)
            return
    _accumulate(out, monomial, coefficient)


def _accumulate(out: dict[Any, Any], key: object, amount: Fraction) -> None:
    """Add to an entry, and drop it if only rounding is left of a sum that cancels."""
    old = out.get(key, Fraction(0))
    new = old + amount
    if abs(new) <= CANCELLED * max(abs(old), abs(amount)):
        out.pop(key, None)
    else:
        out[key] = new


def _product(a: Monomial, b: Monomial) -> Monomial:
    exponents = dict(a)
    for generator, exponent in b:
        exponents[generator] = exponents.get(generator, 0) + exponent
    return tuple(sorted((g, e) for g, e in exponents.items() if e))


# --- waves ----------------------------------------------------------------------------------------


def _times_wave(waves: Waves, b: sp.Expr, m: int) -> Waves:
    """A sum of waves cos(a − kπ/2) times cos(b − mπ/2), which is ½ cos(a + b − (k + m)π/2) +
    ½ cos(a − b − (k − m)π/2)."""
    out: Waves = {}
    for (a, k), x in waves.items():
        for angle, quarters in ((a + b, k + m), (a - b, k - m)):
            turned, quarter = divmod(quarters, 2)  # half a turn changes the sign
            _accumulate(out, (angle, quarter), (-x if turned else x) / 2)
    return out


def _as_functions(waves: Waves) -> dict[sp.Expr, Fraction]:
    out: dict[sp.Expr, Fraction] = {}
    for (angle, quarter), x in waves.items():
        value = (sp.cos, sp.sin)[quarter](angle)  # SymPy takes the sign of the angle out
        sign, function = value.as_coeff_Mul()
        if value != 0:
            key = sp.S.One if value.is_number else function
            _accumulate(out, key, x * Fraction(int(sign)))
    return out


# --- brackets -------------------------------------------------------------------------------------

# coefficient, and factors to be taken out one after the other
Rows = list[tuple[Fraction, tuple[sp.Expr, ...]]]


def _brackets(rows: Rows) -> tuple[sp.Expr, sp.Expr]:
    """Σ x·a·b·c as common·Σ a·(Σ b·(Σ x·c)): the number to go in front, and the rest."""
    if len(rows) == 1:
        ((x, factors),) = rows
        return rational(x), sp.Mul(*factors)
    number, common = _common_number([x for x, _ in rows]), _common_factor(rows)
    rows = [(x / number, (factors[0] / common, *factors[1:])) for x, factors in rows]
    if len(rows[0][1]) == 1:
        inner = _factored(sp.Add(*(rational(x) * factors[0] for x, factors in rows)))
    else:
        inner = sp.Add(*(sp.Mul(key, *_brackets(group)) for key, group in _grouped(rows)))
    return rational(number), sp.Mul(common, inner)


@lru_cache(CACHED)
def _factored(total: sp.Expr) -> sp.Expr:
    """A short sum as a product if that is shorter: (a + b)² rather than a² + 2 a b + b²."""
    if not 2 < len(total.args) <= 6 or not total.is_polynomial(*total.free_symbols):
        return total
    return min(total, sp.factor(total), key=_length)


def _grouped(rows: Rows) -> Iterable[tuple[sp.Expr, Rows]]:
    """The rows by their first factors, without them."""
    groups: dict[sp.Expr, Rows] = {}
    for x, (first, *others) in rows:
        groups.setdefault(first, []).append((x, tuple(others)))
    return groups.items()


def _common_factor(rows: Rows) -> sp.Expr:
    """The product of powers that all first factors share."""
    powers = [factors[0].as_powers_dict() for _, factors in rows]
    shared = set(powers[0]).intersection(*powers[1:])
    exponents = {
        base: min((p[base] for p in powers), key=lambda e: (abs(e), e))
        for base in shared
        if not base.is_number
    }
    same_sign = {b: e for b, e in exponents.items() if all(p[b] * e > 0 for p in powers)}
    return sp.Mul(*(base**exponent for base, exponent in same_sign.items()))


def _common_number(numbers: list[Fraction]) -> Fraction:
    """A number to take out: it leaves small integers; minus, if all are negative."""
    common = Fraction(gcd(*(x.numerator for x in numbers)), lcm(*(x.denominator for x in numbers)))
    if max(abs(x / common) for x in numbers) > LARGEST_COMMON_FACTOR:
        common = Fraction(1)
    return -common if all(x < 0 for x in numbers) else common


@lru_cache(CACHED)
def _length(expression: sp.Expr) -> int:
    return int(expression.count_ops())


_RULES: dict[str, Callable[..., Terms]] = {
    "add": NormalForm.add,
    "sub": lambda self, a, b: self.add(a, b, -1),
    "neg": lambda self, a: {m: -x for m, x in a.items()},
    "mul": NormalForm.multiply,
    "div": NormalForm.divide,
    "pow": NormalForm.power,
    "cos": lambda self, a: self.cos_sin(a)[0],
    "sin": lambda self, a: self.cos_sin(a)[1],
}
