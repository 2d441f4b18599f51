"""Printed programs as plain C99: no macros, no attributes, nothing of a compiler's own, in double
or single precision.

The emitter of machine code prints on V, a vector of states. Here V is one number, and its functions
are those of the C library, or a line each.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from ..errors import UnsupportedError
from ..graph import Program
from ..graph.operations import OPERATIONS
from ..graph.program import Data
from ..kernels.blocks import INFIX
from ..kernels.emit import functions

Programs = dict[str, tuple[Program, list[tuple[int, int]]]]

HELPERS = """\
static double v_lt(double a, double b) { return a < b ? 1.0 : 0.0; }
static double v_le(double a, double b) { return a <= b ? 1.0 : 0.0; }
static double v_eq(double a, double b) { return a == b ? 1.0 : 0.0; }
static double v_ne(double a, double b) { return a != b ? 1.0 : 0.0; }
static double v_and(double a, double b) { return a != 0.0 && b != 0.0 ? 1.0 : 0.0; }
static double v_or(double a, double b) { return a != 0.0 || b != 0.0 ? 1.0 : 0.0; }
static double v_not(double a) { return a == 0.0 ? 1.0 : 0.0; }
static double v_if_else_zero(double a, double b) { return a != 0.0 ? b : 0.0; }
static double v_sign(double a) { return a > 0.0 ? 1.0 : a < 0.0 ? -1.0 : a; }
static void v_sincos(double a, double *s, double *c) { *s = sin(a); *c = cos(a); }
static double search(const double *knots, long n, double x) { \
long low = 0, high = n; \
while (low < high) { \
const long middle = (low + high) / 2; \
if (x < knots[middle]) { high = middle; } else { low = middle + 1; } } \
return (double)low; }"""
# the other operations are functions of the C library
LIBRARY = [
    name for name in OPERATIONS if name not in (*INFIX, "neg") and f" v_{name}(" not in HELPERS
]
DEFINED = re.compile(r"static \w+ (\w+)\(")
PLAIN = (
    (r"\bEACH\((\w+), (.*)\)$", r"static double \1(double x) { return \2; }"),
    (r"\bEACH2\((\w+), (.*)\)$", r"static double \1(double x, double y) { return \2; }"),
    (rf"\bv_({'|'.join(LIBRARY)})\(", r"\1("),
    (r"\bS\(((?:[^()]|\([^()]*\))*)\)", r"\1"),
    (r"\bV\b", "double"),
    (r"\b(NAN|INFINITY)\b", r"(double)\1"),
    (r"\bNOINLINE ", ""),
    (r" ?\brestrict\b ?", ""),
)
NUMBER = re.compile(r"(?<![\w.])(?:\d+\.\d*(?:e[+-]?\d+)?|\d+e[+-]?\d+)(?![\w.])")


def plain_functions(programs: Programs, precision: str) -> tuple[str, dict[str, int]]:
    """``NAME_run`` of each program with all that it calls, and the sizes of their workspaces."""
    texts: list[str] = []
    places = {}
    for key, (program, shapes) in programs.items():
        own = round_to_single(program) if precision == "float" else program
        body, places[key] = functions({key: (own, shapes)})
        texts += body
    lines = "\n".join(_drop_repeated(texts)).splitlines()
    for pattern, plain in PLAIN:
        lines = [re.sub(pattern, plain, line) for line in lines]
    return in_precision("\n".join(_drop_unused([*HELPERS.splitlines(), *lines])), precision), places


def in_precision(text: str, precision: str) -> str:
    """C in double precision, or in single: types, functions of the library and numbers."""
    if precision == "double":
        return text
    text = re.sub(r"\bdouble\b", "float", text)
    text = re.sub(rf"\b({'|'.join(LIBRARY)})\(", r"\1f(", text)
    return NUMBER.sub(lambda found: _single_text(float(found[0])), text)


def _single_text(value: float) -> str:
    """A number in single precision, as C."""
    text = str(np.float32(to_single(value)))
    return f"{text if '.' in text or 'e' in text else text + '.0'}f"


def to_single(value: float) -> float:
    """A number in single precision; what is only there to be no zero stays none."""
    least = float(np.finfo(np.float32).tiny)
    if 0 < abs(value) < least:
        return math.copysign(least, value)
    if math.isfinite(value) and abs(value) > float(np.finfo(np.float32).max):
        raise UnsupportedError(
            f'export_c: {value:.3g} is too large a number for precision="float"; use "double"'
        )
    return float(np.float32(value))


def round_to_single(program: Program) -> Program:
    """A program with its constants and tables in single precision; the last knot of a table stays
    beyond its last point."""

    def round_data(knots: np.ndarray, columns: np.ndarray) -> Data:
        own = knots.astype(np.float32)
        own[-1:] = np.nextafter(own[-1:], np.float32(np.inf))
        return own.astype(float), columns

    tables = {name: round_data(*data) for name, data in program.tables.items()}
    values = [("constant", to_single(v[1])) if v[0] == "constant" else v for v in program.values]
    return replace(program, values=values, tables=tables)


def _drop_repeated(texts: Iterable[str]) -> list[str]:
    """Texts without repetition, and tables without the guards against it."""
    guard = re.compile(r"^#(ifndef|define) HAVE_\w+\n|^#endif$", re.MULTILINE)
    return list(dict.fromkeys(guard.sub("", text) for text in texts))


def _drop_unused(lines: list[str]) -> list[str]:
    """The lines without those that define a function of one line that nobody calls."""
    counts: dict[str, int] = {}
    for word in re.findall(r"\b\w+(?=\()", "\n".join(lines)):
        counts[word] = counts.get(word, 0) + 1

    def is_used(line: str) -> bool:
        found = DEFINED.match(line)
        return found is None or not line.endswith("}") or counts[found[1]] > 1

    kept = [line for line in lines if is_used(line)]
    return kept if len(kept) == len(lines) else _drop_unused(kept)
