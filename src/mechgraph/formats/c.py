"""Portable C: a header with the names, a source, and a test program that reproduces reference
values."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from ..arguments import file_path, writing
from ..equations import Equations
from ..errors import ArgumentError, UnsupportedError, shown
from ..kernels.emit import functions, prelude
from ..kernels.program import Program, Untranslatable, trace
from .exported import ARGUMENTS, exported

Programs = dict[str, tuple[Program, list[tuple[int, int]]]]
TOLERANCE = 1e-10


def export_c(equations: Equations, path: str | Path) -> list[Path]:
    """Write ``NAME.h``, ``NAME.c`` and ``NAME_test.c`` beside each other; ``path`` is the name with
    or without a suffix.

    Build the test with ``cc -O2 NAME.c NAME_test.c -lm``; it ends with 0 if all reference values
    are reproduced.
    """
    target = file_path(path).with_suffix("")
    name = target.name
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise ArgumentError(f"{shown(name)} is no name for C functions; use letters, digits and _")
    made = _functions(equations)
    texts = {
        f"{name}.h": _header(equations, name, made),
        f"{name}.c": _source(name, made),
        f"{name}_test.c": _test(equations, name, made),
    }
    written = {target.parent / file: text for file, text in texts.items()}
    for file, text in written.items():
        with writing(file):
            file.write_text(text, encoding="utf-8")
    return list(written)


def _functions(equations: Equations) -> dict[str, ca.Function]:
    """The exported functions; matrices are transposed because C stores them row by row."""
    s = equations.terms.symbols
    arguments = [s.q, s.u, s.t, s.w, s.p]
    return {
        key: ca.Function(key, arguments, [ca.densify(ca.vec(value.T))], {"cse": True})
        for key, value in exported(equations).items()
    }


def _prototype(name: str, function: ca.Function) -> str:
    arguments = "const double *q, const double *u, double t, const double *w, const double *p"
    return f"void {name}_{function.name()}({arguments}, double *out /* {function.nnz_out(0)} */)"


def _header(equations: Equations, name: str, made: dict[str, ca.Function]) -> str:
    lists = {
        "q, coordinates": equations.coordinates,
        "u, speeds": equations.speeds,
        "w, inputs": equations.inputs,
        "p, parameters": equations.parameters,
        "rows of the constraints": equations.constraints,
    }
    listed = [
        f"   {kind}: {', '.join(map(_comment, names)) or 'none'}" for kind, names in lists.items()
    ]
    prototypes = [f"{_prototype(name, function)};" for function in made.values()]
    values = {
        "TITLE": _comment(equations.terms.name),
        "FORMALISM": equations.formalism,
        "LISTED": "\n".join(listed),
        "GUARD": f"{name.upper()}_H",
        "PROTOTYPES": "\n".join(prototypes),
    }
    return re.sub("|".join(values), lambda found: values[found[0]], HEADER)


HEADER = """\
/* Equations of motion of 'TITLE' (FORMALISM). Matrices are stored row by row.
LISTED */
#ifndef GUARD
#define GUARD

#ifdef __cplusplus
extern "C" {
#endif

PROTOTYPES

#ifdef __cplusplus
}
#endif

#endif
"""


def _comment(text: str) -> str:
    """A name that cannot end the comment that it stands in."""
    return text.replace("*/", "* /").replace("/*", "/ *").replace("\n", " ")


def traced(call: str, made: dict[str, ca.Function]) -> Programs:
    """The functions as programs to be printed, each of one column."""
    try:
        return {key: (trace(f), [f.size_out(0)]) for key, f in made.items()}
    except Untranslatable as error:
        raise UnsupportedError(
            f"{call}: {error}: a table (interpolant) or another function of CasADi's own stands "
            "in the model; write it with mg.if_else, mg.sin, … instead"
        ) from None


def _source(name: str, made: dict[str, ca.Function]) -> str:
    body, workspace = functions(traced("export_c", made))
    first = next(iter(made.values()))
    sizes = [first.nnz_in(k) for k in range(len(ARGUMENTS))]
    memory = f"    double x[{max(1, sum(sizes))}], work[{max(1, workspace)}];\n"
    pack = _pack(sizes)
    wrappers = [
        f"{_prototype(name, function)} {{\n{memory}{pack}    {key}_run(x, work, out);\n}}"
        for key, function in made.items()
    ]
    return "\n".join([f'#include "{name}.h"', prelude(1), *body, *wrappers, ""])


def _pack(sizes: list[int]) -> str:
    """The lines that put all arguments into x, one after the other."""
    lines, offset = [], 0
    for argument, size in zip(ARGUMENTS, sizes, strict=True):
        if argument == "t":
            lines.append(f"    x[{offset}] = t;\n")
        elif size:
            lines.append(f"    for (int i = 0; i < {size}; i++) x[{offset} + i] = {argument}[i];\n")
        else:
            lines.append(f"    (void){argument};\n")
        offset += size
    return "".join(lines)


TEST = """\
#include "NAME.h"
#include <math.h>
#include <stdio.h>

static int check(const char *name, int size, const double *out, const double *expected) {
    double scale = 1e-6, worst = 0.0; /* smaller numbers are noise */
    int wrong = 0;
    for (int i = 0; i < size; i++) scale = fmax(scale, fabs(expected[i]));
    for (int i = 0; i < size; i++) {
        double error = fabs(out[i] - expected[i]) / scale;
        if (!(error <= TOLERANCE)) wrong = 1;
        worst = fmax(worst, error);
    }
    printf("%-20s %s, relative error %.1e\\n", name, wrong ? "WRONG" : "right", worst);
    return wrong;
}

int main(void) {
    int failures = 0;
ARRAYS
    const double t = TIME;
CALLS
    return failures;
}
"""


def _test(equations: Equations, name: str, made: dict[str, ca.Function]) -> str:
    """A main that evaluates every function at a reference state and compares."""
    state = _reference(equations, made)
    vectors = {key: value for key, value in state.items() if key != "t"}
    arrays = [f"    const double {key}[] = {_array(value)};" for key, value in vectors.items()]
    calls = [_call(name, f, np.array(f(*state.values())).ravel()) for f in made.values()]
    values = {
        "NAME": name,
        "TOLERANCE": repr(TOLERANCE),
        "ARRAYS": "\n".join(arrays),
        "TIME": repr(state["t"]),
        "CALLS": "\n".join(calls),
    }
    return re.sub("|".join(values), lambda found: values[found[0]], TEST)


def _reference(equations: Equations, made: dict[str, ca.Function]) -> dict[str, Any]:
    """A random state, near the reference configuration, at which every function is finite."""
    random = np.random.default_rng(1)
    dq = random.standard_normal(len(equations.coordinates))
    u = random.standard_normal(len(equations.speeds))
    w = random.standard_normal(len(equations.inputs))
    p = np.array(equations.terms.symbols.defaults)
    for size in (0.3, 0.1, 0.01, 0.0):
        q = equations.terms.chart.normalized(np.array(equations.terms.chart.reference) + size * dq)
        values = {"q": q, "u": u, "t": 0.3, "w": w, "p": p}
        if all(np.isfinite(np.array(f(*values.values()))).all() for f in made.values()):
            return values
    raise ArgumentError(
        "no reference values: the equations are not finite near the reference configuration"
    )


def _call(name: str, function: ca.Function, expected: np.ndarray) -> str:
    key, size = function.name(), len(expected)
    return f"""    {{
        double out[{max(1, size)}] = {{0}};
        const double expected[] = {_array(expected)};
        {name}_{key}(q, u, t, w, p, out);
        failures += check("{key}", {size}, out, expected);
    }}"""


def _array(values: np.ndarray) -> str:
    return "{" + (", ".join(repr(float(v)) for v in values) or "0") + "}"
