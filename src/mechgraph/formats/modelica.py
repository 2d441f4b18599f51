"""Modelica: the equations as the text of one model that needs no library."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from ..arguments import file_path, write_text
from ..equations import Equations
from ..errors import ArgumentError, UnsupportedError, shown
from ..graph import Program, trace
from ..graph.algebra import Text, written
from ..graph.operations import INFIX
from ..graph.searches import Lookup
from ..numerics.tolerances import EPSILON
from .fmu_model import FmuModel, Variable, started

WORDS = """
algorithm and annotation assert block break class connect connector constant constrainedby der
discrete each else elseif elsewhen encapsulated end enumeration equation expandable extends
external false final flow for function if import impure in initial inner input loop model not
operator or outer output package parameter partial protected public pure record redeclare
replaceable return stream then true type when while within time Real Integer Boolean String abs
sign sqrt sin cos tan asin acos atan atan2 sinh cosh tanh exp log log10 min max floor ceil mod rem
div integer sample pre edge change delay smooth noEvent sum product size
"""
RESERVED = {*WORDS.split()}
INLINE = 120  # letters of an expression that is not given a name of its own
LOGIC = {
    "lt": INFIX["lt"], "le": INFIX["le"], "eq": "not ({0} < {1} or {0} > {1})",
    "ne": "{0} < {1} or {0} > {1}", "and": "{0} and {1}", "or": "{0} or {1}", "not": "not {0}",
}  # fmt: skip
# Modelica has no equality of Reals, no inverse hyperbolic functions, and no others of C's library
REAL = {
    **{name: name for name in (
        "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "log",
        "sqrt", "floor", "ceil", "sign",
    )},
    **{name: INFIX[name] for name in ("add", "sub", "mul", "div")},
    "pow": "{0} ^ {1}", "neg": "-{0}", "fabs": "abs", "fmin": "min", "fmax": "max", "fmod": "rem",
    "log1p": "log(1.0 + {0})", "expm1": "exp({0}) - 1.0", "hypot": "sqrt({0} ^ 2 + {1} ^ 2)",
    "asinh": "sign({0}) * log(abs({0}) + sqrt({0} ^ 2 + 1.0))",
    "acosh": "log({0} + sqrt({0} ^ 2 - 1.0))", "atanh": "0.5 * log((1.0 + {0}) / (1.0 - {0}))",
    "remainder": "{0} - {1} * floor({0} / {1} + 0.5)",
    "copysign": "abs({0}) * (if {1} < 0.0 then -1.0 else 1.0)",
    "if_else_zero": "if {0} then {1} else 0.0", "erf": "erf_",
}  # fmt: skip
TRUTHS = {"and": 2, "or": 2, "not": 1, "if_else_zero": 1}  # first operands that are Boolean
FUNCTIONS = {  # that Modelica has not
    "search_": """\
function search_ "how many of the knots are not above x"
  input Real knots[:];
  input Real x;
  output Real piece;
protected
  Integer low;
  Integer high;
  Integer middle;
algorithm
  low := 0;
  high := size(knots, 1);
  while low < high loop
    middle := div(low + high, 2);
    if x < knots[middle + 1] then
      high := middle;
    else
      low := middle + 1;
    end if;
  end while;
  piece := low;
end search_;""",
    "entry_": """\
function entry_ "what a table has in a piece, which are counted from zero"
  input Real column[:];
  input Real piece;
  output Real value;
algorithm
  value := column[1 + integer(piece)];
end entry_;""",
    "erf_": """\
function erf_ "the error function, by its series in which all terms have one sign"
  input Real x;
  output Real value;
protected
  Real near;
  Real term;
  Real n;
algorithm
  near := min(6.0, max(-6.0, x));
  value := near;
  term := near;
  n := 1.0;
  while abs(term) > ROUNDING * abs(value) loop
    n := n + 2.0;
    term := term * 2.0 * near ^ 2 / n;
    value := value + term;
  end while;
  value := 2.0 / sqrt(3.141592653589793) * exp(-near ^ 2) * value;
end erf_;""".replace("ROUNDING", repr(EPSILON / 10)),
}


def export_modelica(equations: Equations, path: str | Path, **about: Any) -> Path:
    """Write a Modelica model, ``about`` its start and so on; see ``Equations.export``."""
    target = file_path(path)
    name = target.stem
    if target.suffix.lower() != ".mo":
        raise ArgumentError(
            f"a Modelica model is written to a file NAME.mo, got {shown(str(path))}"
        )
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII) or name in RESERVED:
        raise ArgumentError(f"{shown(name)} is no name of a Modelica model; use another word")
    model = started("export to Modelica", equations, **about)
    return write_text(target, _text(model, name))


def _text(model: FmuModel, name: str) -> str:
    names = _names(model, name)
    known = [names[v.reference] for v in _variables(model)]
    printer = _Modelica(_program(model), known, {*names.values()})
    rates, results = model.of("derivative"), model.of("output")
    values = printer.results
    states = [names[v.reference] for v in model.of("state")]
    rows = [f"der({state}) = {value};" for state, value in zip(states, values, strict=False)]
    rows += [
        f"{names[v.reference]} = {value};"
        for v, value in zip(results, values[len(rates) :], strict=True)
    ]
    begins = [
        f"{state} = {_number(v.start or 0.0)};"
        for state, v in zip(states, model.of("state"), strict=True)
    ]
    title = _quote(f"{model.equations.terms.name} ({model.equations.formalism})")
    experiment = f"StartTime={model.t!r}, StopTime={model.t + model.duration!r}"
    parts = [
        f"model {name} {title}",
        *_indent(_declare(model, names)),
        *(["protected", *_indent(printer.before)] if printer.before else []),
        "initial equation",
        *_indent(begins),
        "equation",
        *_indent([*printer.lines, *rows]),
        f"  annotation(experiment({experiment}, Tolerance={model.rtol!r}));",
        f"end {name};",
        "",
    ]
    return "\n".join(parts)


def _indent(lines: Sequence[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _variables(model: FmuModel) -> list[Variable]:
    """The variables that x = (q, u, t, p, w) is made of."""
    return [
        variable for kind in ("state", "time", "parameter", "input") for variable in model.of(kind)
    ]


def _names(model: FmuModel, title: str) -> dict[int, str]:
    """A word of Modelica for each variable, by its reference; primes are dots."""
    taken, names = {*RESERVED, title, "no_number_", *FUNCTIONS}, {}
    for variable in model.variables:
        word = re.sub(r"\W", "_", variable.name.replace("'", "_dot"), flags=re.ASCII)
        word = word if re.match(r"[A-Za-z]", word) else f"x{word}"
        free, count = word, 1
        while free in taken:
            count += 1
            free = f"{word}_{count}"
        if variable.kind != "time":
            taken.add(free)
        names[variable.reference] = "time" if variable.kind == "time" else free
    return names


def _declare(model: FmuModel, names: dict[int, str]) -> list[str]:
    words = {
        "parameter": "parameter Real",
        "input": "input Real",
        "state": "Real",
        "output": "output Real",
    }
    lines = []
    for kind, word in words.items():
        for v in model.of(kind):
            about = [f'unit="{_unit(v.unit)}"'] if v.unit else []
            about += [f"start={_number(v.start or 0.0)}"] if kind in ("state", "input") else []
            value = f" = {_number(v.start or 0.0)}" if kind == "parameter" else ""
            told = f"({', '.join(about)})" if about else ""
            lines.append(f"{word} {names[v.reference]}{told}{value} {_quote(v.name)};")
    return lines


def _unit(unit: str) -> str:
    """A unit as Modelica spells it."""
    return unit.replace("²", "2").replace("³", "3").replace("·", ".")


def _quote(text: str) -> str:
    return '"' + re.sub(r'(["\\])', r"\\\1", re.sub(r"\s", " ", text)) + '"'


def _number(value: float) -> str:
    if not math.isfinite(value):
        raise UnsupportedError(
            f"export to Modelica: Modelica has no number {value}; change the model"
        )
    return repr(float(value)) if value >= 0 else f"({float(value)!r})"


def _program(model: FmuModel) -> Program:
    value = ca.densify(ca.vertcat(model.derivatives, model.observed))
    return trace(ca.Function("model", [model.x], [value]))


class _Truth(str):
    """The text of a Boolean."""


class _Modelica(Text):
    """Equations: what is used more than once, or is long, has a name of its own."""

    language, operations = "Modelica", REAL | LOGIC

    def __init__(self, program: Program, known: list[str], taken: set[str]) -> None:
        super().__init__()
        self.tables, self.known, self.taken = program.tables, known, taken
        self.constants: dict[str, tuple[str, str]] = {}  # names and declarations
        self.declared: list[str] = []
        self.results = [_real(value) for value in program.evaluate(self)[0]]

    @property
    def before(self) -> list[str]:
        """Lines that are declared before the equations."""
        text = "\n".join(self.lines + self.results)
        used = [definition for name, definition in FUNCTIONS.items() if f"{name}(" in text]
        return [
            *"\n".join(used).splitlines(),
            *(text for _, text in self.constants.values()),
            *self.declared,
        ]

    def refusal(self, missing: str) -> Exception:
        return UnsupportedError(
            f"export to Modelica: Modelica has no {missing}; export C or an FMU, or write it with "
            "mg.table, mg.if_else, mg.sin, … instead"
        )

    def constant(self, value: float) -> str:
        return self._no_number() if math.isnan(value) else _number(value)

    def input(self, argument: int, place: int) -> str:
        return self.known[place]

    def operation(self, name: str, operands: list[str]) -> str:
        truths = TRUTHS.get(name, 0)
        given = [(_truth if k < truths else _real)(text) for k, text in enumerate(operands)]
        return (_Truth if name in LOGIC else str)(written(self.operations[name], given))

    def shared(self, value: str, name: str, uses: int) -> str:
        if uses < 2 and len(value) < INLINE:
            return value
        word = self._free(f"v{len(self.lines)}")
        self.declared.append(f"{'Boolean' if isinstance(value, _Truth) else 'Real'} {word};")
        self.lines.append(f"{word} = {value};")
        return type(value)(word)

    def piece(self, name: str, table: Lookup, at: list[str]) -> str:
        given = [_real(text) for text in at]
        if table.is_pick:
            return f"(({given[0]} - 1.0) * {table.row}.0 + ({given[1]} - 1.0))"
        return f"search_({self._constant(f'{name}_knots', self.tables[name][0])}, {given[0]})"

    def entry(self, name: str, table: Lookup, place: int, piece: str) -> str:
        column = self.tables[name][1][:, place - 1]
        entry = f"entry_({self._constant(f'{name}_{place}', np.nan_to_num(column))}, {piece})"
        there = np.flatnonzero(np.isfinite(column))
        if len(there) == len(column):
            return entry
        within = f"{piece} > {there[0] - 0.5} and {piece} < {there[-1] + 0.5}"
        return f"(if {within} then {entry} else {self._no_number()})"

    def _free(self, name: str) -> str:
        while name in self.taken:
            name += "_"
        return name

    def _constant(self, what: str, numbers: np.ndarray) -> str:
        """The name of an array of numbers."""
        if what not in self.constants:
            name = self._free(re.sub(r"^(search|pick)_[\d_]+_[0-9a-f]+_", "table_", what))
            self.taken.add(name)
            values = ", ".join(_number(float(x)) for x in numbers)
            text = f"constant Real {name}[{len(numbers)}] = {{{values}}};"
            self.constants[what] = name, text
        return self.constants[what][0]

    def _no_number(self) -> str:
        """A value that fails where it is asked for, and not before; Modelica has no NaN."""
        line = "parameter Real no_number_ = -1.0;"
        if line not in self.declared:
            self.declared.insert(0, line)
        return "sqrt(no_number_)"


def _real(text: str) -> str:
    """A value as a number."""
    return f"(if {text} then 1.0 else 0.0)" if isinstance(text, _Truth) else text


def _truth(text: str) -> str:
    """A value as a condition."""
    return text if isinstance(text, _Truth) else f"(abs({text}) > 0.0)"
