"""LaTeX that fits on a page: symbols with the user's names, and lines broken to its width.

A formula that is too wide is laid out anew: its brackets get a fixed size, wide fractions become
quotients and wide roots powers, and it is broken before signs of sums and between factors, where
the brackets are least deep.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Any

import sympy as sp
from sympy.printing.latex import LatexPrinter

from ..equations import Equations
from .names import latex_name
from .readable import LETTERS, Readable, entries, shortened, shown_quantities, to_sympy

WIDTH = 335.0  # points of a line; the text of LaTeX's article is 345 wide
TALLEST = 30  # rows of a matrix, and lines that stay on one page
WIDEST = 10  # columns of a matrix in amsmath
COLUMN, EQUALS, QUAD = 10.0, 20.0, 10.0  # between columns; " = "; the indent of further lines
LETTERS_LATEX = LETTERS | {"phi": r"\varphi", "psi": r"\psi"}


def equations_latex(equations: Equations, simplify: bool = True) -> str:
    """The equations as LaTeX (``align*`` of amsmath): the variables, definitions, then each
    quantity.

    Rows of φ, ψ, A, b are numbered as in ``equations.constraints``.
    """
    readable = to_sympy(equations, simplify, shown_quantities(equations))
    printer, lines = latex_printer(readable), [*_heading(equations)]
    lines += latex_definitions(readable, printer)
    for name, matrix in readable.matrices.items():
        lines += latex_matrix(matrix, LETTERS_LATEX[name], printer, symmetric=name == "M")
    return aligned(lines)


def _heading(equations: Equations) -> Iterator[str]:
    def column(names: Sequence[str]) -> str:
        return rf"\left({', '.join(map(latex_name, names))}\right)^{{\mathsf T}}"

    yield from fitted("q", column(equations.coordinates))
    yield from fitted("u", column(equations.speeds))
    yield r"M \dot{u} &= f" + (r" + A^{\mathsf T} \lambda" if equations.constraints else "")
    if equations.constraints:
        yield r"A \dot{u} + b &= 0"


def aligned(lines: Iterable[str]) -> str:
    """Lines of LaTeX one below the other, no more in one environment than a page takes."""
    pages = ("\\begin{align*}\n" + " \\\\\n".join(p) + "\n\\end{align*}" for p in _pages(lines))
    return "\n".join(pages)


def _pages(lines: Iterable[str]) -> Iterator[Sequence[str]]:
    """The lines, by environment: matrices with many rows alone."""
    page: list[str] = []
    rows = 0
    for line in lines:
        height = 1 + line.count(r"\\") + line.count(r"\frac")
        if page and rows + height > TALLEST:
            yield page
            page, rows = [], 0
        page, rows = [*page, line], rows + height
    yield page


def latex_printer(readable: Readable) -> LatexPrinter:
    """What prints expressions of its symbols."""
    names = {symbol: latex_name(name) for name, symbol in readable.symbols.items()}
    for symbol, _ in readable.definitions:
        names[symbol] = f"{symbol.name[0]}_{{{symbol.name[1:]}}}"
    return LatexPrinter({"symbol_names": names, "full_prec": False, "long_frac_ratio": 4})


def latex_definitions(readable: Readable, printer: LatexPrinter) -> Iterator[str]:
    """Lines for each subexpression that has a name."""
    for symbol, value in readable.definitions:
        yield from fitted(printer.doprint(symbol), printer.doprint(shortened(value)))


def latex_matrix(
    matrix: sp.Matrix, letter: str, printer: LatexPrinter, symmetric: bool = False
) -> Iterator[str]:
    """One matrix if that fits on a page, else lines for each entry that is not zero."""
    matrix = matrix.applyfunc(shortened)
    rows = [[printer.doprint(entry) for entry in row] for row in matrix.tolist()]
    if _fits(rows, letter):
        body = r" \\ ".join(" & ".join(row) for row in rows)
        yield rf"{letter} &= \begin{{bmatrix}}{body}\end{{bmatrix}}"
        return
    numbered = ([str(k + 1) for k in range(size)] for size in matrix.shape)
    row_names, columns = numbered
    base = f"{{{letter}}}" if "_" in letter else letter
    named = entries("", matrix, row_names, columns if matrix.cols > 1 else [], symmetric)
    for name, entry in named:
        yield from fitted(f"{base}_{{{name[1:-1]}}}", printer.doprint(entry))


def _fits(rows: Sequence[Sequence[str]], letter: str) -> bool:
    """True if a matrix takes neither too much of the width nor of the height."""
    if len(rows) > TALLEST or (rows and len(rows[0]) > WIDEST):
        return False
    columns = [max(map(width, column)) + COLUMN for column in zip(*rows, strict=True)]
    return sum(columns) + width(letter) + EQUALS <= WIDTH


# --- width ----------------------------------------------------------------------------------------

CASES, END_CASES = r"\begin{cases}", r"\end{cases}"
TOKEN = re.compile(r"\\(?:begin|end)\{cases\}|\\[A-Za-z]+|\\.|.", re.DOTALL)
WORDS = {"left", "right", "mathrm", "operatorname", "begin", "end", "displaystyle"}  # no ink
NARROW, WIDE = "ijlftrI'.,:;|()[]", "mwMWGDHKNOQUXABCEFPRTVYZS"
SCRIPT = 0.72  # the size of indices and exponents
SIGNS = {"+": 12.5, "-": 12.5, "=": 13.0, "<": 13.0, ">": 13.0, r"\cdot": 8.0, r"\leq": 13.0}
SIGNS |= {r"\geq": 13.0, r"\neq": 13.0, r"\wedge": 11.0, r"\vee": 11.0, r"\quad": 10.0, " ": 0.0}


def width(text: str) -> float:
    """How wide LaTeX sets a formula, in points, or a little less than that."""
    return _width(parsed(text))


Tree = list[Any]  # tokens, and groups in braces as lists of such


def parsed(text: str) -> Tree:
    """The tokens of a formula, those in braces and in environments as lists."""
    stack: list[Tree] = [[]]
    for token in TOKEN.findall(text):
        if token in ("{", CASES):
            stack.append([token] if token == CASES else [])
        elif token in ("}", END_CASES):
            group = stack.pop()
            stack[-1].append(group)
        else:
            stack[-1].append(token)
    return stack[0]


def _width(tree: Tree) -> float:
    if tree and tree[0] == CASES:
        return 20 + max(map(_width, _rows(tree)))
    total, k = 0.0, 0
    while k < len(tree):
        token = tree[k]
        if token in ("_", "^"):
            total += SCRIPT * _width([tree[k + 1]])
            k += 1
        elif token == r"\frac":
            total += 3 + max(_width(tree[k + 1]), _width(tree[k + 2]))
            k += 2
        elif isinstance(token, list):
            total += _width(token)
        else:
            total += _token_width(token)
        k += 1
    return total


def _token_width(token: str) -> float:
    if token in SIGNS:
        return SIGNS[token]
    if token.startswith("\\") and token[1:].isalpha():
        name = token[1:]
        if name in ("sqrt", "mathsf", "dot", "ddot", "dddot", *WORDS):
            return 9.0 if name == "sqrt" else 0.0
        return 7.0 if len(name) > 4 or name in GREEK_SHORT else 5.6 * len(name) + 2
    if token in NARROW:
        return 4.2
    return 8.6 if token in WIDE else 5.8


GREEK_SHORT = ("mu", "nu", "xi", "pi", "rho", "tau", "eta", "phi", "chi", "psi", "beta", "zeta")


# --- broken lines ---------------------------------------------------------------------------------


def fitted(left: str, right: str) -> Iterator[str]:
    """``left = right``, on as many lines as it takes."""
    room = WIDTH - EQUALS - width(left)
    if width(right) <= room:
        yield f"{left} &= {right}"
        return
    if room < WIDTH / 2:  # a long name has a line of its own
        yield f"&{left} ="
        room, left = WIDTH - QUAD, ""
    first, *others = broken(right, room)
    yield f"{left} &= {first}" if left else rf"&\quad {first}"
    yield from (rf"&\quad {line}" for line in others)


def broken(text: str, room: float) -> Iterator[str]:
    """The lines of a formula that is too wide for one."""
    pieces = [*_pieces(_flat(parsed(text), room))]
    while pieces:
        count = _line(pieces, room)
        line = "".join(piece for _, piece in pieces[:count]).strip()
        yield ("{} " if line[0] in "+-" else "") + line
        pieces = pieces[count:]


def _line(pieces: Sequence[tuple[int, str]], room: float) -> int:
    """How many of the pieces the next line takes: as many as have room, fewer if the brackets are
    less deep there."""
    ends = [*accumulate(width(piece) for _, piece in pieces)]
    if ends[-1] <= room:
        return len(pieces)
    fitting = [k for k in range(1, len(pieces)) if ends[k - 1] <= room]
    return max(fitting, key=lambda k: ends[k - 1] / room - pieces[k][0] * DEPTH, default=1)


DEPTH = 0.12  # of a line that may stay empty for a break one pair of brackets higher
PRODUCT = 4  # a break between factors, in depths of brackets
OPERATORS = {*SIGNS, "/", ",", "^", "_"}


def _pieces(tree: Tree) -> Iterator[tuple[int, str]]:
    """What may stand on different lines, each with the depth in brackets of the break before it."""
    depth, before, piece = 0, 0, ""
    for k, token in enumerate(tree):
        last, gap = tree[k - 2] if k > 1 else "(", k > 0 and tree[k - 1] == " "
        factor = gap and last not in ("(", "[") and token not in (")", "]")
        factor = factor and _is_factor(last) and _is_factor(token)
        if factor or (gap and (token in ("+", "-") or last == ",")):
            yield before, piece
            piece, before = "", depth + (PRODUCT if factor else 0)
        depth += (token in ("(", "[")) - (token in (")", "]"))
        piece += _text(token)
    yield before, piece


def _is_factor(token: Any) -> bool:
    """True for what may begin or end a factor."""
    return isinstance(token, list) or token not in OPERATORS


def _flat(tree: Tree, room: float) -> Tree:
    """The tree with brackets of fixed size, and quotients, roots and powers of e that are too wide
    in a line."""
    out: Tree = []
    k = 0
    while k < len(tree):
        token = tree[k]
        k += 1
        if token in (r"\left", r"\right"):
            continue
        if token == r"\frac":
            a, b = tree[k], tree[k + 1]
            k += 2
            if max(_width(a), _width(b)) > room / 2:
                out += ["[", *_bracketed(a, room), " ", "/", " ", *_bracketed(b, room), "]"]
            else:
                out += [token, a, b]
        elif token == r"\sqrt" and _width(tree[k]) > room / 2:
            out += [*_bracketed(tree[k], room), "^", ["1", "/", "2"]]
            k += 1
        elif isinstance(token, list) and out and out[-1] == "^" and _width(token) > room / 2:
            out[-2:] = [r"\exp", *_bracketed(token, room)]
        elif isinstance(token, list) and token[:2] == [r"\left", "("] and token[-2] == r"\right":
            out += _flat(token, room)
        elif isinstance(token, list) and token[:1] == [CASES] and _width(token) > room / 2:
            rows = [_flat(row, room) for row in _rows(token)]
            out += ["[", *rows[0], *(x for row in rows[1:] for x in (",", " ", *row)), "]"]
        else:
            out.append(token)
    return out


def _bracketed(tree: Tree, room: float) -> Tree:
    return ["(", *_flat(tree, room), ")"]


def _rows(cases: Tree) -> list[Tree]:
    """The rows of ``cases``: values, and when they hold."""
    rows: list[Tree] = [[]]
    for token in cases[1:]:
        if token == r"\\":
            rows.append([])
        else:
            rows[-1].append(r"\:" if token == "&" else token)
    return rows


def _text(tree: Any) -> str:
    """A tree as LaTeX."""
    if isinstance(tree, str):
        return tree
    if tree[:1] == [CASES]:
        return "".join(map(_text, tree)) + END_CASES
    return "{" + "".join(map(_text, tree)) + "}"
