"""Expressions and functions of the motion written down in the words of ``expressions.py``.

An expression is spelled operation by operation, so that reading it makes the same operations again;
what is used more than once gets a name, ``a = …;``. A Python function of the motion is called once,
with a motion that notes what it is asked for.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ...errors import ModelError, blamed, shown
from ...graph import trace
from ...graph.algebra import Algebra, written
from ...graph.operations import OPERATIONS
from ...graph.searches import ORIGIN, Lookup
from ...model.bodies import Body, Marker, marker_on
from ...model.joints import Joint
from ...tables.grid import Grid, grid_of
from ...tables.table import Table, table_of
from .expressions import (
    ATOM,
    FUNCTIONS,
    INFIX,
    LOOSE,
    MOTION,
    NOT,
    POWER,
    PRODUCT,
    SIGNED,
    WORD,
)

Spelled = tuple[str, int]  # a text, and how tightly it holds together

NOTHING: Spelled = ("", ATOM)
HERE: Spelled = ("here", LOOSE)  # the origin of a table's polynomial
Tables = dict[str, Table | Grid]  # by name

SIGNS = {each.name: each.sign for each in OPERATIONS.values() if each.sign}
SIGNS |= {"pow": "^", "and": "and", "or": "or"}
PREFIX: dict[str, tuple[str, int]] = {"neg": ("-", SIGNED), "not": ("not ", NOT)}
CALLED: dict[str, str] = {
    **{name: name for name in FUNCTIONS if name in OPERATIONS},
    "fabs": "abs",
    "fmin": "min",
    "fmax": "max",
    "fmod": "mod",
    "if_else_zero": "if",
}
# of a table over two numbers, by how often it is differentiated
PARTS: dict[tuple[int, ...], str] = {(0, 0): "inside", (0, 1): "slope_y", (1, 0): "slope_x"}
# of what a motion answers, where that is no vector
SHAPES = {"rotation": (3, 3), "coordinate": (1, 1), "speed": (1, 1)}
RESERVED = {*FUNCTIONS, *MOTION, "pi", "and", "or", "not"}


def name_text(name: str) -> str:
    """A name as it stands in an expression: in quotes, unless it is a plain word."""
    if re.fullmatch(WORD, name) and name not in RESERVED:
        return name
    quote = next((q for q in "'\"" if q not in name), None)
    if quote is None:
        raise ModelError(f"the name {name!r} has both quotes in it, and cannot be written")
    return f"{quote}{name}{quote}"


def number_text(value: float) -> str:
    """A number that reads as the same number."""
    if not math.isfinite(value):
        raise ModelError(f"{value} cannot be written")
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def spelled(expression: SX, names: Mapping[int, str], tables: Tables | None = None) -> str:
    """One expression as a text; ``names`` are the texts of its symbols, by their hashes. What
    tables it uses is added to ``tables``."""
    symbols = ca.symvar(expression)
    foreign = [symbol.name() for symbol in symbols if symbol.__hash__() not in names]
    if foreign:
        raise ModelError(f"it uses {', '.join(map(repr, foreign))}, no symbol of the system")
    texts = [names[symbol.__hash__()] for symbol in symbols]
    program = trace(ca.Function("f", [ca.vertcat(SX(0, 1), *symbols)], [expression]))
    spelling = _Spelling(texts, {} if tables is None else tables)
    ((text, _),) = program.evaluate(spelling)[0]
    return "".join(f"{each}; " for each in spelling.named) + text


def noted(table: Table | Grid, tables: Tables) -> str:
    """The name of a table, which no other one may have."""
    if isinstance(table, Table) and table.order:
        raise ModelError(f"a derivative or integral of table {table.name!r} cannot be written")
    if tables.setdefault(table.name, table) != table:
        raise ModelError(f"two tables are called {table.name!r}; give one another name=")
    return table.name


class _Spelling(Algebra):
    """Operations as the grammar reads them: with as few brackets as it takes."""

    language = "a model file"
    operations = SIGNS | PREFIX | CALLED

    def __init__(self, names: Sequence[str], tables: Tables) -> None:
        self.names, self.tables = names, tables
        self.named: list[str] = []  # definitions
        used = set(re.findall(r"\w+", " ".join(names)))
        self.letter = next(
            c for c in "abcdefghijk" if not any(re.match(rf"{c}\d+$", w) for w in used)
        )

    def refusal(self, missing: str) -> Exception:
        return ModelError(f"{missing} cannot be written: {self.language} has no such function")

    def constant(self, value: float) -> Spelled:
        return number_text(value), ATOM if value >= 0 else SIGNED

    def input(self, argument: int, place: int) -> Spelled:
        return self.names[place], ATOM

    def operation(self, name: str, operands: list[Spelled]) -> Spelled:
        """The origin of a table's polynomial is x itself, so that x less it is nothing, and so is
        what is multiplied with that."""
        if HERE in operands:
            return NOTHING
        if NOTHING in operands and name != "add":
            return NOTHING
        if NOTHING in operands:
            return operands[1 - operands.index(NOTHING)]
        if name in SIGNS:
            return _infix(name, *operands)
        if name in PREFIX:
            sign, tight = PREFIX[name]
            return sign + _in_brackets(operands[0], tight), tight
        texts = [text for text, _ in operands] + ["0"] * (name == "if_else_zero")
        return written(CALLED[name], texts), ATOM

    def piece(self, name: str, table: Lookup, at: list[Spelled]) -> Spelled:
        return ", ".join(text for text, _ in at), LOOSE

    def entry(self, name: str, table: Lookup, place: int, piece: Spelled) -> Spelled:
        """A table at x, or at x and y: written about that place itself, the coefficients are the
        value, the slopes, and others that are multiplied with nothing."""
        if not table.is_pick and place == ORIGIN:
            return HERE
        orders, known = table.orders(place), table_of(name) or grid_of(name)
        if known is None:
            raise ModelError("a table of elsewhere is no text")
        word = noted(known, self.tables)
        if isinstance(known, Grid):
            part = PARTS.get(orders)
            return NOTHING if part is None else (f"{word}.{part}({piece[0]})", ATOM)
        word += ".inside" if known.outside == "repeat" else ""
        return (f"{word}({piece[0]})", ATOM) if orders == (known.order,) else NOTHING

    def shared(self, value: Spelled, name: str, uses: int) -> Spelled:
        if uses < 2 or len(value[0]) < 4 or value[1] == LOOSE:  # which are places
            return value
        word = f"{self.letter}{len(self.named) + 1}"
        self.named.append(f"{word} = {value[0]}")
        return word, ATOM


def _infix(name: str, a: Spelled, b: Spelled) -> Spelled:
    """Two operands and a sign; CasADi has x² and 2x as operations of their own, and so has the
    text."""
    sign = SIGNS[name]
    tight = INFIX[sign][0]
    if name == "mul" and a == b:
        return _infix("pow", a, ("2", ATOM))
    if name == "add" and a == b:
        return _infix("mul", ("2", ATOM), a)
    left, right = (tight + 1, SIGNED) if tight == POWER else (tight, tight + 1)
    between = sign if tight in (PRODUCT, POWER) else f" {sign} "
    return _in_brackets(a, left) + between + _in_brackets(b, right), tight


def _in_brackets(value: Spelled, tight: int) -> str:
    return value[0] if value[1] >= tight else f"({value[0]})"


# --- functions ------------------------------------------------------------------------------------


class RecordedMotion:
    """A motion that answers the questions of ``grammar.MOTION`` with symbols, and records the text
    of the question that each stands for."""

    def __init__(self, time: SX) -> None:
        self.time = time
        self._asked: dict[str, SX] = {}
        self.texts: dict[int, str] = {}

    def __getattr__(self, word: str) -> Callable[..., SX]:
        if word not in MOTION:
            raise AttributeError(f"a motion in a file has no {word!r}", name=word, obj=self)

        def answer(place: Any, in_frame: Any = None) -> SX:
            return self._answer(word, SHAPES.get(word, (3, 1)), place, in_frame)

        return answer

    def axis(self, place: Any, direction: Any, in_frame: Any = None) -> SX:
        if not isinstance(direction, str):
            return self.rotation(place, in_frame) @ SX(ca.DM(list(map(float, direction))))
        return self._answer("axis", (3, 1), place, in_frame, f", {direction}")

    def _answer(
        self, word: str, shape: tuple[int, int], place: Any, frame: Any = None, more: str = ""
    ) -> SX:
        behind = "" if frame is None else f", {name_text(_place_name(frame))}"
        text = f"{word}({name_text(_place_name(place))}{more}{behind})"
        if text not in self._asked:
            answer = self._asked[text] = SX.sym("x", *shape)
            for k, entry in enumerate(answer.elements()):
                index = {1: "", 3: f"[{k}]", 9: f"[{k % 3}, {k // 3}]"}[answer.numel()]
                self.texts[entry.__hash__()] = text + index
        return self._asked[text]


def _place_name(place: Any) -> str:
    if isinstance(place, str):
        return place
    if isinstance(place, Joint):
        return place.name
    if not isinstance(place, (Body, Marker)):
        raise ModelError(f"expected a place or joint, got {shown(place)}")
    return marker_on(place).name


def function_text(
    function: Callable[..., Any],
    names: Mapping[int, str],
    time: SX,
    arguments: Sequence[str] = (),
    tables: Tables | None = None,
) -> str | list[str]:
    """A function of the motion, or of ``arguments``, as text; one for each entry of its value."""
    known = dict(names)
    with blamed("its Python function cannot be written"):
        if arguments:
            symbols = [SX.sym(name) for name in arguments]
            value = function(*symbols)
            known |= {s.__hash__(): n for s, n in zip(symbols, arguments, strict=True)}
        else:
            m = RecordedMotion(time)
            value = function(m)
            known |= m.texts
        return _entries(value, known, tables)


def _entries(value: Any, names: Mapping[int, str], tables: Tables | None) -> str | list[str]:
    if isinstance(value, (list, tuple, np.ndarray)):
        value = ca.vertcat(*(SX(each) for each in value))
    value = ca.densify(SX(value))
    if value.numel() == 1:
        return spelled(value, names, tables)
    return [spelled(entry, names, tables) for entry in ca.vec(value.T).elements()]
