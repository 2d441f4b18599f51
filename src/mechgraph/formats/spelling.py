"""Expressions and functions of the motion written down in the words of ``grammar.py``.

An expression is spelled operation by operation, so that reading it makes the same operations again;
what is used more than once gets a name, ``a = …;``. A Python function of the motion is called once,
with a motion that notes what it is asked for.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..errors import ModelError, blamed, shown
from ..model.bodies import Body, Marker, marker_on
from ..model.joints import Joint
from ..tables.graph import calls, settled
from ..tables.grid import Grid, grid_of
from ..tables.searches import COEFFICIENTS, ORIGIN, PICK, PIECE
from ..tables.table import Table, table_of
from .grammar import FUNCTIONS, MOTION, WORD

Spelled = tuple[str, int]  # a text, and how tightly it holds together

# the higher, the tighter
LOOSE, OR, AND, NOT, COMPARED, SUM, PRODUCT, SIGNED, POWER, ATOM = range(10)

NOTHING: Spelled = ("", ATOM)
HERE: Spelled = ("here", LOOSE)  # the origin of a table's polynomial
Tables = dict[str, Table | Grid]  # by name

INFIX: dict[int, tuple[str, int]] = {
    ca.OP_ADD: (" + ", SUM),
    ca.OP_SUB: (" - ", SUM),
    ca.OP_MUL: ("*", PRODUCT),
    ca.OP_DIV: ("/", PRODUCT),
    ca.OP_POW: ("^", POWER),
    ca.OP_CONSTPOW: ("^", POWER),
    ca.OP_LT: (" < ", COMPARED),
    ca.OP_LE: (" <= ", COMPARED),
    ca.OP_EQ: (" == ", COMPARED),
    ca.OP_NE: (" != ", COMPARED),
    ca.OP_AND: (" and ", AND),
    ca.OP_OR: (" or ", OR),
}
PREFIX: dict[int, tuple[str, int]] = {
    ca.OP_NEG: ("-", SIGNED),
    ca.OP_NOT: ("not ", NOT),
    ca.OP_TWICE: ("2*", PRODUCT),
    ca.OP_INV: ("1/", PRODUCT),
}
CALLED: dict[int, str] = {
    **{
        getattr(ca, f"OP_{name.upper()}"): name
        for name in FUNCTIONS
        if hasattr(ca, f"OP_{name.upper()}")
    },
    ca.OP_FABS: "abs",
    ca.OP_FMIN: "min",
    ca.OP_FMAX: "max",
    ca.OP_FMOD: "mod",
}
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
    function = ca.Function("f", [ca.vertcat(SX(0, 1), *symbols)], [ca.cse(expression)])
    return _Spelling(settled(function), texts, {} if tables is None else tables).text()


def noted(table: Table | Grid, tables: Tables) -> str:
    """The name of a table, which no other one may have."""
    if isinstance(table, Table) and table.order:
        raise ModelError(f"a derivative or integral of table {table.name!r} cannot be written")
    if tables.setdefault(table.name, table) != table:
        raise ModelError(f"two tables are called {table.name!r}; give one another name=")
    return table.name


class _Spelling:
    def __init__(self, function: ca.Function, names: Sequence[str], tables: Tables) -> None:
        self.function, self.names, self.tables = function, names, tables
        self.called = calls(function)
        self.uses = _uses(function)
        self.named: list[str] = []  # definitions
        used = set(re.findall(r"\w+", " ".join(names)))
        self.letter = next(
            c for c in "abcdefghijk" if not any(re.match(rf"{c}\d+$", w) for w in used)
        )

    def text(self) -> str:
        f, values = self.function, dict[int, Spelled]()
        result = ""
        for k in range(f.n_instructions()):
            code, source, target = (
                f.instruction_id(k),
                f.instruction_input(k),
                f.instruction_output(k),
            )
            if code == ca.OP_OUTPUT:
                result = values[source[0]][0]
            elif code == ca.OP_INPUT:
                values[target[0]] = self.names[source[1]], ATOM
            elif code == ca.OP_CONST:
                number = f.instruction_constant(k)
                values[target[0]] = number_text(number), ATOM if number >= 0 else SIGNED
            elif code == ca.OP_CALL:
                given = [values[each][0] for each in source]
                values |= self._table(self.called[k], given, target)
            else:
                value = _operation(code, [values[each] for each in source])
                values[target[0]] = self._shared(k, value)
        return "".join(f"{each}; " for each in self.named) + result

    def _table(
        self, function: ca.Function, at: list[str], targets: Sequence[int]
    ) -> dict[int, Spelled]:
        """A table at x, or at x and y: written about that place itself, what is multiplied with
        the way from there is nothing, and the first coefficients are the value and the slopes."""
        table, grid = table_of(function), grid_of(function)
        terms: dict[int, Spelled] = {PIECE: (at[0], LOOSE), ORIGIN: HERE}
        if table is not None:
            name = noted(table, self.tables)
            word = f"{name}.inside" if table.outside == "repeat" else name
            terms[COEFFICIENTS] = f"{word}({at[0]})", ATOM
        elif grid is not None and PICK.fullmatch(function.name()):
            name, (rows, columns) = noted(grid, self.tables), grid.pieces.shape[2:]
            terms = {1: (f"{name}.inside({', '.join(at)})", ATOM)}
            if columns > 1:
                terms[2] = f"{name}.slope_y({', '.join(at)})", ATOM
            if rows > 1:
                terms[1 + columns] = f"{name}.slope_x({', '.join(at)})", ATOM
        elif grid is None:
            raise ModelError("a function of CasADi's own, or a table of elsewhere, is no text")
        return {
            target: terms.get(place, NOTHING) for place, target in enumerate(targets) if target >= 0
        }

    def _shared(self, k: int, value: Spelled) -> Spelled:
        if self.uses[k] < 2 or len(value[0]) < 4:
            return value
        name = f"{self.letter}{len(self.named) + 1}"
        self.named.append(f"{name} = {value[0]}")
        return name, ATOM


def _uses(function: ca.Function) -> Counter[int]:
    """How often each instruction's value is used."""
    writer, count = dict[int, int](), Counter[int]()
    for k in range(function.n_instructions()):
        code = function.instruction_id(k)
        if code not in (ca.OP_INPUT, ca.OP_CONST):
            count.update(writer[register] for register in function.instruction_input(k))
        if code != ca.OP_OUTPUT:
            outputs = function.instruction_output(k)
            writer |= dict.fromkeys(outputs if code == ca.OP_CALL else outputs[:1], k)
    return count


def _operation(code: int, given: list[Spelled]) -> Spelled:
    if HERE in given:  # of a table's polynomial: x less x
        return NOTHING
    if NOTHING in given and code in (ca.OP_MUL, ca.OP_SQ, ca.OP_TWICE, ca.OP_NEG):
        return NOTHING
    if NOTHING in given and code == ca.OP_ADD:
        return given[1 - given.index(NOTHING)]
    if code == ca.OP_SQ:
        return f"{_held(given[0], POWER + 1)}^2", POWER
    if code == ca.OP_IF_ELSE_ZERO:
        return f"if({given[0][0]}, {given[1][0]}, 0)", ATOM
    if code in PREFIX:
        sign, tight = PREFIX[code]
        return sign + _held(given[0], tight + (tight == PRODUCT)), tight
    if code in INFIX:
        sign, tight = INFIX[code]
        left, right = (tight + 1, SIGNED) if tight == POWER else (tight, tight + 1)
        return _held(given[0], left) + sign + _held(given[1], right), tight
    if code in CALLED:
        return f"{CALLED[code]}({', '.join(text for text, _ in given)})", ATOM
    raise ModelError(f"CasADi's operation {code} cannot be written")


def _held(value: Spelled, tight: int) -> str:
    return value[0] if value[1] >= tight else f"({value[0]})"


# --- functions ------------------------------------------------------------------------------------


class NotedMotion:
    """A motion that answers with symbols, and notes the question that each stands for."""

    def __init__(self, time: SX) -> None:
        self.time = time
        self._asked: dict[str, SX] = {}
        self.texts: dict[int, str] = {}

    def position(self, place: Any, in_frame: Any = None) -> SX:
        return self._answer("position", (3, 1), place, in_frame)

    def velocity(self, place: Any, in_frame: Any = None) -> SX:
        return self._answer("velocity", (3, 1), place, in_frame)

    def acceleration(self, place: Any, in_frame: Any = None) -> SX:
        return self._answer("acceleration", (3, 1), place, in_frame)

    def angular_velocity(self, place: Any, in_frame: Any = None) -> SX:
        return self._answer("angular_velocity", (3, 1), place, in_frame)

    def angular_acceleration(self, place: Any, in_frame: Any = None) -> SX:
        return self._answer("angular_acceleration", (3, 1), place, in_frame)

    def rotation(self, place: Any, in_frame: Any = None) -> SX:
        return self._answer("rotation", (3, 3), place, in_frame)

    def axis(self, place: Any, direction: Any, in_frame: Any = None) -> SX:
        if not isinstance(direction, str):
            return self.rotation(place, in_frame) @ SX(ca.DM(list(map(float, direction))))
        return self._answer("axis", (3, 1), place, in_frame, f", {direction}")

    def coordinate(self, name: str) -> SX:
        return self._answer("coordinate", (1, 1), name)

    def speed(self, name: str) -> SX:
        return self._answer("speed", (1, 1), name)

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
            m = NotedMotion(time)
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
