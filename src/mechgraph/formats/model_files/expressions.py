"""Expressions as text: what stands in a model file for a number, and what it is computed from.

    expression = [name "=" sum ";"]… sum        sums, products, powers, comparisons, and, or, not
    atom       = number [unit] | name | 'any name' | function(…) | [a, b, c] | (…) | atom[i, j]

Names are parameters, inputs and ``time``; ``pi`` is a constant. Functions are those of
``FUNCTIONS`` and, where the motion may be used, those of ``MOTION``, whose arguments are names of
places and joints. A text is read from left to right and computed on the way; nothing of it is ever
run by Python.

>>> float(evaluate("2 * sin(30 deg) + 5 mm / 1 m"))
1.005
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import casadi as ca
from casadi import SX

from ...errors import ModelError, shown, unknown
from ...model.described import Described
from ...tables.grid import Grid
from ...tables.table import Table
from ...vectors import NOT_AN_EXPRESSION, scalar
from ..units_of_measure import UNITS

if TYPE_CHECKING:
    from ...model.motion import Motion

DEPTH = 64  # of brackets
LENGTH = 200_000  # letters of a text
LARGEST = 36  # entries of a vector or matrix
WORD = r"[^\W\d]\w*(?:\.\w+)*'*"
TOKEN = re.compile(
    rf"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<word>{WORD})"
    r"""|(?P<quoted>'[^']*'|"[^"]*")|(?P<sign><=|>=|==|!=|\*\*|[-+*/^()\[\],;=<>])|(?P<end>$))"""
)

FUNCTIONS: dict[str, tuple[int, Callable[..., SX]]] = {
    **{
        name: (1, getattr(ca, name))
        for name in (
            "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
            "atanh", "exp", "log", "sqrt", "floor", "ceil", "sign", "erf", "expm1", "log1p",
        )
    },
    "abs": (1, ca.fabs),
    "atan2": (2, ca.atan2),
    "hypot": (2, ca.hypot),
    "min": (2, ca.fmin),
    "max": (2, ca.fmax),
    "mod": (2, ca.fmod),
    "remainder": (2, ca.remainder),
    "copysign": (2, ca.copysign),
    "clip": (3, lambda x, low, high: ca.fmin(ca.fmax(x, low), high)),
    "if": (3, ca.if_else),
    "dot": (2, ca.dot),
    "cross": (2, ca.cross),
    "norm": (1, ca.norm_2),
}  # fmt: skip


def _power(a: SX, b: SX) -> SX:
    """A square as the product that it is, so that it stays one operation."""
    return a * a if b.is_constant() and b.is_scalar() and float(b) == 2 else ca.power(a, b)


def _product(a: SX, b: SX) -> SX:
    """A matrix times a vector, or entry by entry."""
    return a @ b if not (a.is_scalar() or b.is_scalar()) and a.shape != b.shape else a * b


# how tightly operations hold their operands together
LOOSE, OR, AND, NOT, COMPARED, SUM, PRODUCT, SIGNED, POWER, ATOM = range(10)
Operators = Mapping[str, tuple[int, Callable[..., SX]]]
PREFIX: Operators = {
    "not": (NOT, ca.logic_not),
    "-": (SIGNED, operator.neg),
    "+": (SIGNED, operator.pos),
}
INFIX: Operators = {
    "or": (OR, ca.logic_or),
    "and": (AND, ca.logic_and),
    "<": (COMPARED, operator.lt),
    "<=": (COMPARED, operator.le),
    ">": (COMPARED, operator.gt),
    ">=": (COMPARED, operator.ge),
    "==": (COMPARED, operator.eq),
    "!=": (COMPARED, operator.ne),
    "+": (SUM, operator.add),
    "-": (SUM, operator.sub),
    "*": (PRODUCT, _product),
    "/": (PRODUCT, operator.truediv),
    "^": (POWER, _power),
    "**": (POWER, _power),
}

# questions to the motion: how many names of places or joints they take, at least and at most
MOTION: dict[str, tuple[int, int]] = {
    **dict.fromkeys(("coordinate", "speed"), (1, 1)),
    **dict.fromkeys(("position", "velocity", "acceleration", "rotation"), (1, 2)),
    **dict.fromkeys(("angular_velocity", "angular_acceleration"), (1, 2)),
    "axis": (2, 3),
}

PARTS = ("inside", "slope_x", "slope_y")  # of a table over two numbers; of one over one the first


def evaluate(text: str, names: Mapping[str, Any] | None = None, m: Motion | None = None) -> SX:
    """What a text says, of ``names`` and, if it is given, of the motion ``m``."""
    return _Reader(text, names or {}, m).result()


def asks_motion(text: str) -> bool:
    """True if a text asks the motion."""
    tokens = [token[:2] for token in _tokens(text)]
    asking = [("word", word) for word in MOTION]
    return any(a in asking and b == ("sign", "(") for a, b in pairwise(tokens))


def words(text: str) -> set[str]:
    """The words and names in a text."""
    return {word.strip("'\"") if kind == "quoted" else word for kind, word, _ in _tokens(text)}


class Formula(Described):
    """A text that is computed for a motion, or for numbers: what a Python function is elsewhere.

    names: symbols of the system that it may use; arguments: names of its own arguments, none if it
    is a function of the motion.
    """

    def __init__(
        self, text: str | Sequence[str], names: Mapping[str, Any], arguments: Sequence[str] = ()
    ) -> None:
        self.text, self.names, self.arguments = text, names, tuple(arguments)
        for each in [text] if isinstance(text, str) else text:
            _tokens(each)

    def __call__(self, *given: Any) -> Any:
        """Its value for a motion, or for its arguments."""
        names, m = dict(self.names), None
        if self.arguments:
            names |= {key: SX(value) for key, value in zip(self.arguments, given, strict=True)}
        else:
            (m,) = given
        if isinstance(self.text, str):
            return evaluate(self.text, names, m)
        return [scalar(evaluate(each, names, m), "entry") for each in self.text]


Token = tuple[str, str, int]  # kind, text, place


@lru_cache(maxsize=4096)
def _tokens(text: str) -> tuple[Token, ...]:
    if len(text) > LENGTH:
        raise ModelError(f"an expression of {len(text)} letters is too long; {LENGTH} are possible")
    out: list[Token] = []
    place = 0
    while not out or out[-1][0] != "end":
        found = TOKEN.match(text, place)
        if found is None:
            letter = text[place:].lstrip()[:1]
            raise ModelError(f"{shown(text)}: {letter!r} cannot stand there{_hint(letter)}")
        kind = str(found.lastgroup)
        out.append((kind, found[kind], found.start(kind)))
        place = found.end()
    return tuple(out)


def _hint(letter: str) -> str:
    if letter in "'\"":
        return "; a name in quotes must end with the same quote"
    return "; conditions are if(a < b, then, else)" if letter in "?:&|!" else ""


class _Reader:
    """Reads one text from left to right; each method returns the value of what it has read."""

    def __init__(self, text: str, names: Mapping[str, Any], m: Motion | None) -> None:
        self.text, self.names, self.m = text, dict(names), m
        self.tokens, self.at, self.depth = _tokens(text), 0, 0

    def result(self) -> SX:
        while self._next("word") and self._ahead(1) == ("sign", "="):
            name = self._take()
            self._take()
            self.names[name] = self._nested()
            self._expect(";")
        value = self._nested()
        if not self._next("end"):
            raise self._wrong(self._misplaced())
        return value

    # --- tokens -----------------------------------------------------------------------------------

    def _ahead(self, steps: int = 0) -> tuple[str, str]:
        return self.tokens[min(self.at + steps, len(self.tokens) - 1)][:2]

    def _next(self, kind: str, *texts: str) -> bool:
        token = self._ahead()
        return token[0] == kind and (not texts or token[1] in texts)

    def _take(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1][1]

    def _expect(self, sign: str) -> None:
        if not self._next("sign", sign):
            raise self._wrong(f"expected {sign!r}, got {self._shown()}")
        self._take()

    def _shown(self) -> str:
        kind, text = self._ahead()
        return "the end" if kind == "end" else shown(text)

    def _wrong(self, problem: str) -> ModelError:
        return ModelError(f"{shown(self.text)}: {problem}")

    # --- from loose to tight ----------------------------------------------------------------------

    def _nested(self, least: int = LOOSE) -> SX:
        """What stands in a bracket, or behind a sign."""
        self.depth += 1
        if self.depth > DEPTH:
            raise self._wrong(
                f"more than {DEPTH} brackets in each other; name parts of it: a = …; …"
            )
        value = self._expression(least)
        self.depth -= 1
        return value

    def _expression(self, least: int = LOOSE) -> SX:
        """What holds together at least so tightly."""
        tight, function = self._operator(PREFIX)
        if tight > least:
            self._take()
            value = self._apply(function, self._nested(tight - 1))
        else:
            value = self._indexed()
        while (found := self._operator(INFIX))[0] > least:
            tight, function = found
            self._take()
            right = self._nested(SIGNED - 1) if tight == POWER else self._expression(tight)
            value = self._apply(function, value, right)
        return value

    def _operator(self, operators: Operators) -> tuple[int, Callable[..., SX]]:
        """How tightly the next sign or word holds, and what it does; loosely, if it is none."""
        kind, text = self._ahead()
        return operators.get(text if kind in ("sign", "word") else "", (LOOSE, SX))

    def _indexed(self) -> SX:
        value = self._atom()
        while self._next("sign", "["):
            self._take()
            indices = [self._index()]
            while self._next("sign", ","):
                self._take()
                indices.append(self._index())
            self._expect("]")
            value = self._entry(value, indices)
        return value

    def _index(self) -> int:
        if (
            not self._next("number")
            or not self._ahead()[1].isascii()
            or not self._ahead()[1].isdigit()
        ):
            raise self._wrong(f"an index is a whole number from 0, got {self._shown()}")
        return int(self._take()[:6])

    def _entry(self, value: SX, indices: list[int]) -> SX:
        if len(indices) > 2 or any(
            k >= size for k, size in zip(indices, value.shape, strict=False)
        ):
            rows, columns = value.shape
            raise self._wrong(
                f"index {indices} is outside of its {rows} x {columns} entries, from 0"
            )
        return value[indices[0]] if len(indices) == 1 else value[indices[0], indices[1]]

    # --- atoms ------------------------------------------------------------------------------------

    def _atom(self) -> SX:
        kind, text = self._ahead()
        if kind == "number":
            self._take()
            return SX(float(text)) * self._unit()
        if kind == "quoted":
            return self._named(self._take()[1:-1])
        if kind == "word":
            self._take()
            return self._called(text) if self._next("sign", "(") else self._named(text)
        if text == "(":
            self._take()
            value = self._nested()
            self._expect(")")
            return value
        if text == "[":
            return self._vector()
        raise self._wrong(f"expected a number, got {self._shown()}")

    def _unit(self) -> float:
        """What follows a number: 5 mm, 3 N/mm, 2 m/s^2; a division goes on as long as units do."""
        if not self._is_unit(0):
            return 1.0
        factor, exponent = 1.0, 1
        while True:
            unit = UNITS[self._take()]
            power = 1
            if self._next("sign", "^") and self._ahead(1)[0] == "number":
                self._take()
                power = self._index()
            factor *= unit ** (exponent * power)
            if not (self._next("sign", "/", "*") and self._is_unit(1)):
                return factor
            exponent = -1 if self._take() == "/" else 1

    def _is_unit(self, steps: int) -> bool:
        kind, text = self._ahead(steps)
        after = self._ahead(steps + 1)
        return (
            kind == "word"
            and text in UNITS
            and after != ("sign", "(")
            and (steps == 0 or text not in self.names)
        )

    def _misplaced(self) -> str:
        """What stands behind a whole expression; a word behind a number was meant as a unit."""
        kind, text, _ = self.tokens[self.at]
        if kind == "word" and self.tokens[self.at - 1][0] == "number":
            return unknown("unit", text, UNITS)
        return f"{self._shown()} cannot stand there"

    def _named(self, name: str) -> SX:
        if isinstance(self.names.get(name), (Table, Grid)):
            raise self._wrong(f"{name} is a table: {name}(…)")
        if name in self.names:
            return self.names[name]
        if name == "pi":
            return SX(ca.pi)
        if name in FUNCTIONS or name in MOTION:
            raise self._wrong(f"{name} is a function: {name}(…)")
        raise self._wrong(
            f"{unknown('name', name, [*self.names, 'pi'])}. Units stand behind a number"
        )

    def _called(self, name: str) -> SX:
        if name in MOTION:
            return self._asked(name)
        table, _, part = name.partition(".")
        known = self.names.get(table)
        if isinstance(known, (Table, Grid)) and part in (
            "",
            *PARTS[: 3 if isinstance(known, Grid) else 1],
        ):
            return self._looked_up(known, part)
        if name not in FUNCTIONS:
            raise self._wrong(unknown("function", name, [*FUNCTIONS, *MOTION]))
        count, function = FUNCTIONS[name]
        self._take()
        given = self._list(")")
        if len(given) != count:
            raise self._wrong(f"{name} takes {count} arguments, got {len(given)}")
        return self._apply(function, *given)

    def _looked_up(self, table: Table | Grid, part: str) -> SX:
        """A table of the file at one number or two, or a part of it within its points."""
        self._take()
        given, count = self._list(")"), 2 if isinstance(table, Grid) else 1
        if len(given) != count or not all(each.is_scalar() for each in given):
            several = "two numbers" if count == 2 else "one number"
            raise self._wrong(f"the table {table.name} takes {several}")
        if not part:
            return SX(table(*given))
        if isinstance(table, Grid):
            return table.parts(*given)[PARTS.index(part)]
        return SX(table(*given)) if given[0].is_constant() else table.inside(*given)

    def _list(self, end: str) -> list[SX]:
        values = []
        while not self._next("sign", end):
            values.append(self._nested())
            if len(values) > LARGEST:
                raise self._wrong(f"more than {LARGEST} entries")
            if not self._next("sign", end):
                self._expect(",")
        self._take()
        return values

    def _vector(self) -> SX:
        self._take()
        rows = self._list("]")
        if not rows:
            raise self._wrong("an empty vector")
        if rows[0].is_column() and not rows[0].is_scalar():
            rows = [row.T for row in rows]
        return self._apply(ca.vertcat, *rows)

    def _asked(self, name: str) -> SX:
        """A question to the motion."""
        if self.m is None:
            raise self._wrong(
                f"{name}(…) asks the motion; here stand numbers, parameters and time only"
            )
        self._take()
        given: list[Any] = [self._word()]
        while self._next("sign", ","):
            self._take()
            given.append(self._direction() if (name, len(given)) == ("axis", 1) else self._word())
        self._expect(")")
        least, most = MOTION[name]
        if not least <= len(given) <= most:
            raise self._wrong(f"{name} takes {least} to {most} names, got {len(given)}")
        return SX(getattr(self.m, name)(*given))

    def _word(self) -> str:
        if self._next("quoted"):
            return self._take()[1:-1]
        if self._next("word"):
            return self._take()
        raise self._wrong(f"expected a name, got {self._shown()}")

    def _direction(self) -> Any:
        minus = "-" if self._next("sign", "-") else ""
        if self._ahead(len(minus)) in (("word", "x"), ("word", "y"), ("word", "z")):
            return "".join(self._take() for _ in range(len(minus) + 1))
        return self._nested()

    def _apply(self, function: Callable[..., SX], *given: SX) -> SX:
        try:
            return function(*given)
        except NOT_AN_EXPRESSION:
            sizes = " and ".join(f"{g.shape[0]} x {g.shape[1]}" for g in given)
            raise self._wrong(f"sizes {sizes} do not fit each other") from None
