"""Equations for people: SymPy matrices and plain text.

What is small is written in its normal form (``normal_form.py``); what is large keeps the shared
subexpressions that it was born with, each with a name t1, t2, … SymPy is never on the way to a
number.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
import sympy as sp
from sympy.physics.vector import dynamicsymbols
from sympy.printing.str import StrPrinter

from ..arguments import named, one_of
from ..equations import Equations
from ..graph import trace
from .expressions import UNDEFINED, Plain, WithDefinitions
from .names import text_name
from .normal_form import NormalForm, TooLarge

QUANTITIES = ("N", "M", "f", "phi", "psi", "A", "b")
DIGITS = 6  # of numbers in text and LaTeX
LONGEST_ENTRY = 60  # terms of an entry that is still read in its normal form
LONGEST_MATRIX = 500  # terms of all entries that differ
TEXT_WIDTH = 118
PLAIN_LIMIT = 400  # operations up to which nothing gets a name, if no simplification is asked for


@dataclass(frozen=True)
class Readable:
    """Equations in SymPy: ``readable["M"]`` and so on, as expressions of ``symbols`` (by the user's
    names).

    Where expressions are large, entries refer to ``definitions``: names of subexpressions, in order
    of dependence.
    """

    matrices: Mapping[str, sp.Matrix]
    symbols: Mapping[str, sp.Symbol]
    definitions: tuple[tuple[sp.Symbol, sp.Expr], ...] = ()

    def __getitem__(self, name: str) -> sp.Matrix:
        return self.matrices[name]

    def with_symbols(self, given: Mapping[str, Any]) -> Readable:
        """The same with other symbols for some names."""
        symbols = {**self.symbols, **{name: sp.sympify(x) for name, x in given.items()}}
        for name in self.symbols:  # after that which it is the rate of
            of = symbols.get(name.removesuffix("'"))
            if name not in given and name.endswith("'") and of is not None and of.args:
                symbols[name] = sp.diff(of, dynamicsymbols._t)
        other = {self.symbols[name]: x for name, x in symbols.items()}
        return Readable(
            {name: matrix.xreplace(other) for name, matrix in self.matrices.items()},
            symbols,
            tuple((name, value.xreplace(other)) for name, value in self.definitions),
        )

    def function(self, *names: str) -> Callable[..., list[Any]]:
        """A NumPy function of the values of ``symbols``, in their order, that returns the named
        matrices."""
        arguments = list(self.symbols.values())
        wanted = [self.matrices[name] for name in names]

        def shared(entries: Any) -> tuple[list[Any], list[Any]]:
            return list(self.definitions), list(entries)

        return sp.lambdify(arguments, wanted, [{UNDEFINED.name: np.nan}, "numpy"], cse=shared)


def to_sympy(
    equations: Equations,
    simplify: bool = True,
    quantities: Sequence[str] = QUANTITIES,
    symbols: Mapping[str, Any] | str | None = None,
) -> Readable:
    """N, M, f, φ, ψ, A, b as SymPy matrices; ``simplify`` writes what is small in its shortest
    normal form.

    The symbols are plain ones, ``sympy.Symbol("theta")``, without assumptions. ``symbols`` may have
    others by name; ``"dynamic"`` makes coordinates and inputs functions of time, as
    ``dynamicsymbols`` does. The rate of a function of time is its derivative.

    >>> import mechgraph as mg
    >>> arm = mg.System("pendulum", gravity=(0, 0, -10))
    >>> m, l = arm.parameter("m", 1.0), arm.parameter("l", 1.0)
    >>> rod = arm.body("rod", mass=m, com=(0, 0, -l), inertia=0)
    >>> hinge = arm.revolute("theta", arm.ground, rod, axis="y")
    >>> readable = to_sympy(arm.equations("lagrange"))
    >>> readable["M"][0], readable["f"][0]
    (l**2*m, -10*l*m*sin(theta))
    """
    values = {name: getattr(equations.terms, name) for name in quantities}
    found = written(equations, values, simplify)
    return found.with_symbols(_given(equations, symbols))


def written(
    equations: Equations, values: Mapping[str, ca.SX], simplify: bool, accelerations: bool = False
) -> Readable:
    """Any expressions of these equations in SymPy, by name; with ``accelerations``, of u̇, too."""
    symbols = _symbols(equations, accelerations)
    matrices: dict[str, sp.Matrix] = {}
    large: dict[str, ca.SX] = {}
    for name, value in values.items():
        short = _normal_form(equations, value, symbols) if simplify else None
        if short is None:
            large[name] = value
        else:
            matrices[name] = short
    shared, definitions = _shared(equations, large, symbols, simplify)
    matrices |= shared
    return Readable({name: matrices[name] for name in values}, symbols, definitions)


def _symbols(equations: Equations, accelerations: bool = False) -> dict[str, sp.Symbol]:
    """A symbol for each variable, under its own name; time is t."""
    names = [*equations.coordinates, *equations.speeds, *equations.inputs, *equations.parameters]
    time = "t" if "t" not in names else "time"
    rates = [f"{name}'" for name in equations.speeds] if accelerations else []
    return {name: sp.Symbol(name) for name in [*names, time, *rates]}


def _given(equations: Equations, given: Mapping[str, Any] | str | None) -> Mapping[str, Any]:
    """Symbols by name, as they are asked for."""
    if isinstance(given, str):
        one_of("symbols", given, ["dynamic"])
        rates = {f"{name}'" for name in equations.coordinates}
        names = (*equations.coordinates, *equations.speeds, *equations.inputs)
        return {name: sp.Function(name)(dynamicsymbols._t) for name in names if name not in rates}
    given = named("symbols", given)
    for name in given:
        one_of("symbol", name, _symbols(equations, True))
    return given


def _function(equations: Equations, values: Iterable[ca.SX], count: int) -> ca.Function:
    """Of so many symbols: without u̇, if that makes them all."""
    s = equations.terms.symbols
    arguments = ca.vertcat(s.q, s.u, s.w, s.p, s.t, s.udot)[:count]
    results = [ca.densify(value) for value in values]
    return ca.Function("readable", [arguments], results)


def _matrix(value: ca.SX, entries: Sequence[sp.Expr]) -> sp.Matrix:
    rows, columns = value.shape
    return sp.Matrix(rows, columns, lambda i, j: entries[j * rows + i])


def _normal_form(
    equations: Equations, value: ca.SX, symbols: Mapping[str, sp.Symbol]
) -> sp.Matrix | None:
    """The matrix in its shortest normal form; None if that would be too long to read."""
    algebra = NormalForm(list(symbols.values()))
    try:
        (entries,) = trace(_function(equations, [value], len(symbols))).evaluate(algebra)
    except TooLarge:
        return None
    keys = [frozenset(entry.items()) for entry in entries]
    lengths = [len(key) for key in {*keys}]
    if max(lengths, default=0) > LONGEST_ENTRY or sum(lengths) > LONGEST_MATRIX:
        return None
    parameters = frozenset(symbols[p] for p in equations.parameters)
    speeds = frozenset(symbols[u] for u in equations.speeds)
    known: dict[frozenset[Any], sp.Expr] = {}  # half of a symmetric matrix is written once
    for key, entry in zip(keys, entries, strict=True):
        if key not in known:
            known[key] = algebra.expression(entry, parameters, speeds)
    return _matrix(value, [known[key] for key in keys])


def _shared(
    equations: Equations,
    values: Mapping[str, ca.SX],
    symbols: Mapping[str, sp.Symbol],
    simplify: bool,
) -> tuple[dict[str, sp.Matrix], tuple[tuple[sp.Symbol, sp.Expr], ...]]:
    """Matrices that are written as they were derived, with names for shared subexpressions unless
    they are small."""
    if not values:
        return {}, ()
    program, known = trace(_function(equations, values.values(), len(symbols))), [*symbols.values()]
    small = not simplify and program.operations < PLAIN_LIMIT
    algebra = Plain(known) if small else WithDefinitions(known)
    pairs = zip(values.items(), program.evaluate(algebra), strict=True)
    matrices = {name: _matrix(value, entries) for (name, value), entries in pairs}
    definitions = tuple(algebra.definitions) if isinstance(algebra, WithDefinitions) else ()
    return matrices, definitions


# --- plain text -----------------------------------------------------------------------------------


def equations_text(equations: Equations, simplify: bool = True) -> str:
    """The equations as text, entry by entry; entries that are zero and the lower half of M are left
    out."""
    readable = to_sympy(equations, simplify, shown_quantities(equations))
    printer = text_printer(readable.symbols)
    parts = [
        f"{equations.terms.name}, by {equations.formalism}:  {_shape(equations)}",
        text_definitions(readable, printer),
    ]
    for name, matrix in readable.matrices.items():
        named = entries(LETTERS[name], matrix, *_labels(equations, name), symmetric=name == "M")
        lines = [line(label, printer.doprint(entry)) for label, entry in named]
        parts.append("\n".join([TITLES[name], *(lines or ["  nothing but zeros"])]))
    return "\n\n".join(part for part in parts if part)


def shown_quantities(equations: Equations) -> list[str]:
    """The quantities that say something about these equations."""
    N = equations.terms.N
    identity = N.is_square() and (N - ca.SX.eye(N.shape[0])).is_zero()
    shown = ["M", "f"] if identity else ["N", "M", "f"]
    if equations.terms.phi.numel():
        shown.append("phi")
    if equations.terms.psi.numel() > equations.terms.phi.numel():
        shown.append("psi")
    return [*shown, "A", "b"] if equations.constraints else shown


def _shape(equations: Equations) -> str:
    reaction = " + Aᵀ λ" if equations.constraints else ""
    closing = ",  A u̇ + b = 0" if equations.constraints else ""
    return f"M u̇ = f{reaction}{closing}"


def text_definitions(readable: Readable, printer: StrPrinter) -> str:
    """A line for each subexpression that has a name."""
    lines = [line(str(name), printer.doprint(value)) for name, value in readable.definitions]
    return "\n".join(["with", *lines]) if lines else ""


def entries(
    letter: str,
    matrix: sp.Matrix,
    rows: Sequence[str],
    columns: Sequence[str],
    symmetric: bool = False,
) -> Iterator[tuple[str, sp.Expr]]:
    """The entries that are not zero, by their names: M[θ1, θ2]; f[θ1] of what has no columns."""
    for i in range(matrix.rows):
        for j in range(i if symmetric else 0, matrix.cols):
            if matrix[i, j] != 0:
                index = [rows[i], columns[j]] if columns else [rows[i]]
                yield f"{letter}[{', '.join(index)}]", matrix[i, j]


def line(left: str, right: str) -> str:
    """``left = right``, on as many lines as it takes."""
    return textwrap.fill(
        f"  {left} = {right}",
        TEXT_WIDTH,
        subsequent_indent=" " * 6,
        break_long_words=False,
        break_on_hyphens=False,
    )


TITLES = {
    "N": "Kinematics q̇ = N u",
    "M": "Mass matrix M (symmetric)",
    "f": "Forces f",
    "phi": "Position constraints φ = 0",
    "psi": "Velocity constraints ψ = 0",
    "A": "Constraint Jacobian A",
    "b": "Rest of the accelerations b",
}
LETTERS = {"N": "N", "M": "M", "f": "f", "phi": "φ", "psi": "ψ", "A": "A", "b": "b"}


def _labels(equations: Equations, name: str) -> tuple[list[str], list[str]]:
    """Names of the rows and of the columns of a quantity."""
    speeds = [text_name(speed) for speed in equations.speeds]
    coordinates = [text_name(q) for q in equations.coordinates]
    rows = {"N": coordinates, "M": speeds, "f": speeds}.get(name, [*equations.constraints])
    return rows, speeds if name in ("N", "M", "A") else []


def shortened(expression: sp.Expr) -> sp.Expr:
    """The expression with decimals for fractions that nobody writes as such."""
    decimals = {
        number: sp.Float(number, DIGITS)
        for number in expression.atoms(sp.Rational)
        if number.q > 16 or number.q % 5 == 0 or abs(number.p) > 10**6
    }
    return expression.xreplace(decimals)


def text_printer(symbols: Mapping[str, sp.Symbol]) -> StrPrinter:
    """What prints expressions of these symbols as people write formulas."""
    return _TextPrinter(symbols)


class _TextPrinter(StrPrinter):  # type: ignore[misc]
    """SymPy's plain text with the names, powers and products of printed formulas: l²·m·cos(θ1)."""

    def __init__(self, symbols: Mapping[str, sp.Symbol]) -> None:
        super().__init__({"full_prec": False})
        self._names = {symbol: text_name(name) for name, symbol in symbols.items()}

    def _print_Symbol(self, symbol: sp.Symbol) -> str:
        return self._names.get(symbol, symbol.name)

    def doprint(self, expression: sp.Expr) -> str:
        text = super().doprint(shortened(expression))
        text = re.sub(r"\*\*(\d+)", lambda power: power.group(1).translate(_RAISED), text)
        return text.replace("**", "^").replace("*", "·")


_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
