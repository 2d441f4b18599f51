"""A formalism's own quantities for people: Appell's S, A, K, D, H, Hamel's γ, the Hamiltonian, …"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import casadi as ca
import sympy as sp

from ..equations import Equations
from ..errors import ArgumentError, unknown
from .latex import aligned, fitted, latex_definitions, latex_matrix, latex_printer
from .names import latex_name, text_name
from .readable import (
    Readable,
    entries,
    line,
    shortened,
    text_definitions,
    text_printer,
    written,
)


def coefficients_sympy(
    equations: Equations, names: Sequence[str] | None = None, simplify: bool = True
) -> Readable:
    """The named quantities (all, if none is) as SymPy matrices; the matrices of a table as
    ``K[1]``, ``K[2]``, …, one for each value of its last index."""
    values: dict[str, ca.SX] = {}
    for name in _known(equations, names):
        found = equations.terms.coefficients[name]
        if found.axes < 3:
            values[name] = ca.SX(found.expression)
        else:
            values |= {f"{name}[{k}]": table for k, table in enumerate(found.expression, start=1)}
    return written(equations, values, simplify, accelerations=True)


def _known(equations: Equations, names: Sequence[str] | None) -> list[str]:
    known = equations.terms.coefficients
    if not known:
        raise ArgumentError(f"{equations.formalism} has no quantities of its own")
    for name in names or ():
        if name not in known:
            raise ArgumentError(unknown(f"quantity of {equations.formalism}", name, known))
    return list(known if names is None else names)


def coefficients_text(
    equations: Equations, names: Sequence[str] | None = None, simplify: bool = True
) -> str:
    """The same as text, entry by entry without those that are zero."""
    readable = coefficients_sympy(equations, names, simplify)
    printer = text_printer(readable.symbols)
    parts = [text_definitions(readable, printer)]
    for name in _known(equations, names):
        named = _entries(equations, readable, name)
        lines = [line(label, printer.doprint(entry)) for label, entry in named]
        parts.append("\n".join(lines or [f"  {name} = 0"]))
    return "\n".join(part for part in parts if part)


def _entries(equations: Equations, readable: Readable, name: str) -> Iterator[tuple[str, sp.Expr]]:
    """Labels and entries of a quantity, those of a table with all three indices."""
    found = equations.terms.coefficients[name]
    speeds, letter = found.speeds or equations.speeds, text_name(name)
    if found.axes < 3:
        matrix = readable[name]
        rows, columns = (_labels(speeds, count) for count in matrix.shape)
        named = entries(letter, matrix, rows, columns if found.axes > 1 else [])
        yield from named if found.axes else ((letter, entry) for _, entry in named)
        return
    tables = [key for key in readable.matrices if key.startswith(f"{name}[")]
    for key, last in zip(tables, _labels(speeds, len(tables)), strict=True):
        rows, columns = (_labels(speeds, count) for count in readable[key].shape)
        yield from entries(letter, readable[key], rows, [f"{column}, {last}" for column in columns])


def _labels(speeds: Sequence[str], count: int) -> list[str]:
    """Names of the speeds, if there are as many; else numbers."""
    if count == len(speeds):
        return [text_name(name) for name in speeds]
    return [str(k + 1) for k in range(count)]


def coefficients_latex(
    equations: Equations, names: Sequence[str] | None = None, simplify: bool = True
) -> str:
    """The same as LaTeX (``align*`` of amsmath)."""
    readable = coefficients_sympy(equations, names, simplify)
    printer = latex_printer(readable)
    lines = [*latex_definitions(readable, printer)]
    for name, matrix in readable.matrices.items():
        letter, _, index = name.partition("[")
        symbol = latex_name(letter) + (rf"^{{({index[:-1]})}}" if index else "")
        if matrix.shape == (1, 1):
            lines += fitted(symbol, printer.doprint(shortened(matrix[0])))
        else:
            lines += latex_matrix(matrix, symbol, printer)
    return aligned(lines)
