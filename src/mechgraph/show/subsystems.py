"""Composed equations for people: the tree of subsystems, and the matrices of every level."""

from __future__ import annotations

from collections.abc import Iterator

import casadi as ca
import sympy as sp
from sympy.printing.latex import LatexPrinter

from ..composition.node import TreeNode
from ..composition.subsystem import Labelled
from ..graph import Program, trace
from .expressions import Plain
from .names import latex_name, text_name
from .normal_form import NormalForm, TooLarge
from .readable import LONGEST_ENTRY, shortened, text_printer


def tree_text(node: TreeNode) -> str:
    """The tree, a line for each subsystem."""
    return "\n".join(_lines(node, "", ""))


def _lines(node: TreeNode, first: str, rest: str) -> Iterator[str]:
    rows = f", {len(node.rows)} row{'s' * (len(node.rows) != 1)}" if node.rows else ""
    if node.higher:
        rows += f", {', '.join(node.higher)} of order {node.order}"
    extra = f", extra {', '.join(node.extra)}" if node.children and node.extra else ""
    free = ", ".join(node.free) or "nothing"
    yield f"{first}{node.name}: {len(node.speeds)} speeds{extra}{rows}; free: {free}"
    for k, child in enumerate(node.children):
        last = k == len(node.children) - 1
        yield from _lines(
            child, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  ")
        )


def _symbols(matrix: Labelled) -> dict[str, sp.Symbol]:
    s = matrix.equations.terms.symbols
    rates = [f"{name}'" for name in s.speeds]
    names = [*s.coordinates, *s.speeds, *rates, *s.inputs, *s.parameters, "t"]
    return {name: sp.Symbol(name) for name in names}


def matrix_sympy(matrix: Labelled, simplify: bool = True) -> sp.Matrix:
    """A matrix in SymPy, in its normal form where that is short."""
    s, symbols = matrix.equations.terms.symbols, _symbols(matrix)
    order = ca.vertcat(s.q, s.u, s.udot, s.w, s.p, s.t)
    listed = [
        symbols[name]
        for name in (
            *s.coordinates, *s.speeds, *(f"{name}'" for name in s.speeds), *s.inputs,
            *s.parameters, "t",
        )
    ]  # fmt: skip
    value = ca.densify(matrix.expression)
    program = trace(ca.Function("matrix", [order], [value]))
    entries = _normal(program, listed, symbols, matrix) if simplify else None
    if entries is None:
        (entries,) = program.evaluate(Plain(listed))
    rows = value.shape[0]
    return sp.Matrix(*value.shape, lambda i, j: entries[j * rows + i])


def _normal(
    program: Program,
    listed: list[sp.Symbol],
    symbols: dict[str, sp.Symbol],
    matrix: Labelled,
) -> list[sp.Expr] | None:
    algebra, s = NormalForm(listed), matrix.equations.terms.symbols
    try:
        (entries,) = program.evaluate(algebra)
    except TooLarge:
        return None
    if max(map(len, entries), default=0) > LONGEST_ENTRY:
        return None
    parameters = frozenset(symbols[name] for name in s.parameters)
    speeds = frozenset(symbols[name] for name in s.speeds)
    return [algebra.expression(entry, parameters, speeds) for entry in entries]


def matrix_text(matrix: Labelled, simplify: bool = True) -> str:
    """The entries that are not zero, a line each."""
    if not matrix.expression.numel():
        return f"{matrix.name}\n  nothing"
    found, printer = matrix_sympy(matrix, simplify), text_printer(_symbols(matrix))
    lines = [f"{matrix.name}"]
    for i, row in enumerate(matrix.rows):
        for j, column in enumerate(matrix.columns or ("",)):
            if found[i, j] != 0:
                label = ", ".join(text_name(each) for each in (row, column) if each)
                lines.append(f"  [{label}] = {printer.doprint(found[i, j])}")
    return "\n".join(lines)


def matrix_latex(matrix: Labelled, simplify: bool = True) -> str:
    """The matrix, with the names of its columns above and of its rows beside it."""
    names = {symbol: latex_name(name) for name, symbol in _symbols(matrix).items()}
    printer = LatexPrinter({"symbol_names": names, "full_prec": False})
    found = matrix_sympy(matrix, simplify).applyfunc(shortened)
    columns = matrix.columns or ("",)
    head = " & ".join(["", *(latex_name(each) if each else "" for each in columns)])
    lines = [head + r" \\ \hline"]
    for i, row in enumerate(matrix.rows):
        entries = [printer.doprint(found[i, j]) for j in range(found.cols)]
        lines.append(" & ".join([latex_name(row), *entries]) + r" \\")
    align = "r|" + "c" * len(columns)
    return f"\\begin{{array}}{{{align}}}\n" + "\n".join(lines) + "\n\\end{array}"
