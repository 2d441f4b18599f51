"""Portable C: a header with the names, a source, and a test program that reproduces reference
values."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from ..arguments import choice, file_path, listed, write_text
from ..contract.derivatives import ColumnFunction
from ..equations import Equations
from ..errors import ArgumentError, UnsupportedError, shown
from ..graph import trace
from ..graph.operations import OPERATIONS
from ..numerics.tolerances import GIVEN, KNOWN
from .arrays import on_arrays
from .exported import Exported, casadi_function, exported, frames, symbols
from .plain_c import Programs, in_precision, plain_functions, round_to_single

DTYPES: dict[str, Any] = {"double": np.float64, "float": np.float32}
PRECISIONS = tuple(DTYPES)
DOUBTFUL = KNOWN**0.5  # relative error that is told in single precision: half as many digits
TOLERANCE = {"double": GIVEN / 10, "float": DOUBTFUL / 10}  # of the reference values, relative
STEPPING = ("accelerations", "coordinate_rates", "projected")  # what a step is made of
# a Newton step so small that the next is rounding
SETTLED = {name: float(np.finfo(kind).eps) ** 0.5 for name, kind in DTYPES.items()}
NEWTON = 6
Functions = Mapping[str, Callable[..., Any]]
STEP_LENGTH, RUNAWAY = 0.001, 1e3  # of the step in the test; a state that is of no use


def export_c(
    equations: Equations,
    path: str | Path,
    precision: str = "double",
    functions: Sequence[str] | None = None,
) -> list[Path]:
    """Write ``NAME.h``, ``NAME.c`` and ``NAME_test.c`` beside each other; see
    ``Equations.export_c``."""
    target = file_path(path).with_suffix("")
    name = target.name
    if not re.fullmatch(r"[A-Za-z_]\w*", name, re.ASCII):
        raise ArgumentError(f"{shown(name)} is no name for C functions; use letters, digits and _")
    model = _CModel(equations, name, choice("precision", precision, PRECISIONS), functions)
    texts = {
        f"{name}.h": _header(model),
        f"{name}.c": _source(model),
        f"{name}_test.c": _test(model),
    }
    return [write_text(target.parent / file, text) for file, text in texts.items()]


@dataclass(frozen=True)
class _CModel:
    """The functions to be written, under which name, in which precision."""

    equations: Equations
    name: str
    precision: str
    asked: Sequence[str] | None

    @cached_property
    def has_step(self) -> bool:
        """True if there is a step; rigid contacts have impacts, which a step of fixed length does
        not know."""
        switched = self.equations.terms.chart.description.switched
        if self.asked is None or "step" not in listed("functions", self.asked):
            return self.asked is None and not switched
        if switched:
            raise UnsupportedError(
                f"export_c: a step knows no impacts, and {self.equations.system.switching} opens, "
                "closes or sticks; use a compliant contact, a stop with stiffness, or regularized "
                "friction, or leave out step"
            )
        return True

    @cached_property
    def exported(self) -> dict[str, Exported]:
        """The functions by name, with all that a step needs."""
        return self._exported(single=False)

    def _exported(self, single: bool) -> dict[str, Exported]:
        if self.asked is None:
            return exported(self.equations, single=single)
        asked = listed("functions", self.asked)
        keeps = self.equations.terms.psi.numel() or self.equations.terms.chart.quaternions
        needed = STEPPING[: 3 if keeps else 2] if self.has_step else ()
        names = [*asked, *(name for name in needed if name not in asked)]
        return exported(self.equations, names, beside=("step",), single=single)

    @cached_property
    def printed(self) -> dict[str, Exported]:
        """The functions as they are computed in this precision."""
        return self._exported(single=True) if self.precision == "float" else self.exported

    @cached_property
    def made(self) -> dict[str, ca.Function]:
        """The functions of CasADi."""
        return {
            key: casadi_function(self.equations, key, each) for key, each in self.exported.items()
        }

    @cached_property
    def programs(self) -> Programs:
        """As lists of operations; what has columns has a program for these, too."""
        made = {}
        for key, each in self.printed.items():
            x = symbols(self.equations, each)
            made[key] = ca.Function(key, x, [each.prepared], {"cse": True})
            if isinstance(each.value, ColumnFunction):
                made[f"{key}_column"] = each.value.column
        return trace_functions("export_c", made)

    @cached_property
    def reference(self) -> dict[str, Any]:
        """A state at which every function is finite, on the constraints if there is one nearby."""
        return _reference(
            self.equations,
            self.made,
            np.dtype(DTYPES[self.precision]),
        )

    def in_precision(self, text: str) -> str:
        """C in double precision as it is asked for."""
        return in_precision(text, self.precision)

    @cached_property
    def errors(self) -> dict[str, float]:
        """Relative error by rounding of each function, at the reference state."""
        return {} if self.precision == "double" else _single_precision_errors(self)

    @property
    def sizes(self) -> dict[str, int]:
        """How many coordinates and so on there are."""
        eqs = self.equations
        counted = {"Q": eqs.coordinates, "U": eqs.speeds, "W": eqs.inputs, "P": eqs.parameters}
        return {key: len(names) for key, names in counted.items()}


# --- the header -----------------------------------------------------------------------------------


def _prototype(model: _CModel, key: str) -> str:
    declared = [
        "double t" if name == "t" else f"const double *{name}"
        for name in model.exported[key].arguments
    ]
    return f"void {model.name}_{key}({', '.join(declared)}, double *out)"


def _header(model: _CModel) -> str:
    eqs, name = model.equations, model.name
    lists = {
        "q, coordinates": eqs.coordinates,
        "u, speeds": eqs.speeds,
        "w, inputs": eqs.inputs,
        "p, parameters": eqs.parameters,
        "rows of the constraints": eqs.constraints,
        "frames": frames(eqs),
    }
    stated = [
        f"   {kind}: {', '.join(map(_comment, names)) or 'none'}" for kind, names in lists.items()
    ]
    values = {
        "TITLE": _comment(eqs.terms.name),
        "FORMALISM": eqs.formalism,
        "LISTED": "\n".join(stated),
        "GUARD": f"{name.upper()}_H",
        "SIZES": "\n".join(f"#define {name.upper()}_{k} {n}" for k, n in model.sizes.items()),
        "PROTOTYPES": "\n\n".join(_declarations(model)),
    }
    return _fill(HEADER, values)


def _declarations(model: _CModel) -> list[str]:
    """The values of the parameters, and every function with what it gives."""
    values = _values(model, "extern ", "")
    texts = [f"/* of the parameters in the model */\n{values}"] if values else []
    for key, each in model.exported.items():
        rows, columns = each.value.shape
        size = f"{rows} x {columns}" if columns > 1 else f"{rows}"
        error = f"; rounding {model.errors[key]:.0e}" if key in model.errors else ""
        told = f"{size}: {_comment(each.meaning)}{error}"
        texts.append(f"/* {told} */\n{model.in_precision(_prototype(model, key))};")
    if model.has_step:
        texts.append(f"{STEP_COMMENT}\n{model.in_precision(_step_prototype(model.name))};")
    return texts


def _values(model: _CModel, word: str, given: str) -> str:
    """The declaration or definition of the parameters' values, if there are any."""
    count = model.sizes["P"]
    text = f"{word}const double {model.name}_values[{count}]{given};"
    return model.in_precision(text) if count else ""


HEADER = """\
/* Equations of motion of 'TITLE' (FORMALISM). Matrices are stored row by row.
LISTED */
#ifndef GUARD
#define GUARD

#ifdef __cplusplus
extern "C" {
#endif

/* how many there are */
SIZES

PROTOTYPES

#ifdef __cplusplus
}
#endif

#endif
"""


def _fill(template: str, values: Mapping[str, str]) -> str:
    return re.sub("|".join(values), lambda found: values[found[0]], template)


def _comment(text: str) -> str:
    """A name that cannot end the comment that it stands in."""
    return text.replace("*/", "* /").replace("/*", "/ *").replace("\n", " ")


# --- the source -----------------------------------------------------------------------------------


def trace_functions(call: str, made: dict[str, ca.Function]) -> Programs:
    """The functions as programs to be printed, each of one column."""
    programs: Programs = {key: (trace(f), [f.size_out(0)]) for key, f in made.items()}
    missing = [name for program, _ in programs.values() for name in program.missing(OPERATIONS)]
    if missing:
        raise UnsupportedError(
            f"{call}: C has no form of {', '.join(dict.fromkeys(missing))} of CasADi's own; write "
            "it with mg.table, mg.if_else, mg.sin, … instead"
        )
    return programs


def _source(model: _CModel) -> str:
    body, places = plain_functions(model.programs, model.precision)
    wrappers = [_wrapper(model, key, places) for key in model.made]
    values = [_values(model, "", f" = {_array(model.reference['p'])}")]
    step = [_step(model)] if model.has_step else []
    include = (
        "#include <math.h>\n#include <stdint.h>\n" if "int32_t" in body else "#include <math.h>\n"
    )
    own = model.in_precision("\n".join([*values, *wrappers, *step]))
    return "\n".join([f'#include "{model.name}.h"', include, body, own, ""])


def _wrapper(model: _CModel, key: str, places: Mapping[str, int]) -> str:
    """A function with its arguments apart: puts them one after the other, and runs the program."""
    function, lines, offset = model.made[key], [], 0
    workspace = max(1, places[key], places.get(f"{key}_column", 0))
    for k, argument in enumerate(model.exported[key].arguments):
        size = function.nnz_in(k)
        if argument == "t":
            lines.append(f"x[{offset}] = t;")
        elif size:
            lines.append(f"for (int i = 0; i < {size}; i++) {{ x[{offset} + i] = {argument}[i]; }}")
        else:
            lines.append(f"(void){argument};")
        offset += size
    lines = [f"double x[{max(1, offset)}], work[{workspace}];", *lines, *_run_lines(model, key)]
    body = "\n    ".join(lines)
    return f"{_prototype(model, key)} {{\n    {body}\n}}"


def _run_lines(model: _CModel, key: str) -> list[str]:
    """The program, or what columns share and then each of them."""
    value = model.printed[key].value
    if not isinstance(value, ColumnFunction):
        return [f"{key}_run(x, work, out);"]
    shared, (size, count), (rows, columns) = value.shared.numel(), value.own.shape, value.shape
    return [
        f"double made[{shared + size * count}], y[{shared + size}], column[{rows}];",
        f"{key}_run(x, work, made);",
        f"for (int i = 0; i < {shared}; i++) {{ y[i] = made[i]; }}",
        f"for (int k = 0; k < {count}; k++) {{",
        f"    for (int i = 0; i < {size}; i++) "
        f"{{ y[{shared} + i] = made[{shared} + {size} * k + i]; }}",
        f"    {key}_column_run(y, work, column);",
        f"    for (int i = 0; i < {rows}; i++) {{ out[{columns} * i + k] = column[i]; }}",
        "}",
    ]


STEP_COMMENT = """\
/* q and u a time h later, in place: one step of Runge and Kutta's method of order 4 with the inputs
   held over it, and back to the constraints if there are any */"""
STEP = """\
static void slopes(const double *y, double t, const double *w, const double *p, double *out) {
    NAME_coordinate_rates(y, y + NQ, t, w, p, out);
    NAME_accelerations(y, y + NQ, t, w, p, out + NQ);
}
KEEP
PROTOTYPE {
    static const double node[3] = {0.5, 0.5, 1.0}, weight[3] = {2.0, 2.0, 1.0};
    double y[NY], x[NY], k[NY], sum[NY];
    for (int i = 0; i < NQ; i++) { y[i] = q[i]; }
    for (int i = 0; i < NU; i++) { y[NQ + i] = u[i]; }
    slopes(y, t, w, p, k);
    for (int i = 0; i < NY; i++) { sum[i] = k[i]; }
    for (int s = 0; s < 3; s++) {
        for (int i = 0; i < NY; i++) { x[i] = y[i] + h * node[s] * k[i]; }
        slopes(x, t + h * node[s], w, p, k);
        for (int i = 0; i < NY; i++) { sum[i] += weight[s] * k[i]; }
    }
    for (int i = 0; i < NY; i++) { y[i] += h / 6.0 * sum[i]; }
    KEPT
    for (int i = 0; i < NQ; i++) { q[i] = y[i]; }
    for (int i = 0; i < NU; i++) { u[i] = y[NQ + i]; }
}"""
KEEP = """\
/* Newton steps back to the constraints, until one was so small that the next is rounding */
static void keep(double *y, double t, const double *w, const double *p) {
    double kept[NY], change = 1.0;
    for (int k = 0; k < NEWTON && !(change < SETTLED); k++) {
        change = 0.0;
        NAME_projected(y, y + NQ, t, w, p, kept);
        for (int i = 0; i < NY; i++) {
            change = fmax(change, fabs(kept[i] - y[i]) / (1.0 + fabs(kept[i])));
            y[i] = kept[i];
        }
    }
}
"""


def _step_prototype(name: str) -> str:
    arguments = "double *q, double *u, double t, const double *w, const double *p, double h"
    return f"void {name}_step({arguments})"


def _step(model: _CModel) -> str:
    keeps = "projected" in model.made
    nq, nu = model.sizes["Q"], model.sizes["U"]
    text = STEP.replace("KEEP\n", KEEP if keeps else "")
    text = (
        text.replace("KEPT", "keep(y, t + h, w, p);") if keeps else text.replace("    KEPT\n", "")
    )
    sizes = {"NQ": str(nq), "NU": str(nu), "NY": str(nq + nu), "NEWTON": str(NEWTON)}
    values = sizes | {"NAME": model.name, "PROTOTYPE": _step_prototype(model.name)}
    values |= {"SETTLED": repr(SETTLED[model.precision])}
    return _fill(text, values)


# --- the test -------------------------------------------------------------------------------------

TEST = """\
#include "NAME.h"
#include <math.h>
#include <stdio.h>

static int check(const char *name, int size, const double *out, const double *expected,
                 double tolerance) {
    double scale = NOISE, worst = 0.0; /* smaller numbers are noise */
    int wrong = 0;
    for (int i = 0; i < size; i++) { scale = fmax(scale, fabs(expected[i])); }
    for (int i = 0; i < size; i++) {
        double error = fabs(out[i] - expected[i]) / scale;
        if (!(error <= tolerance)) { wrong = 1; }
        if (!(error <= worst) && !isnan(worst)) { worst = error; } /* also if it is no number */
    }
    printf("%-22s %s, relative error %.1e\\n", name, wrong ? "WRONG" : "right", WORST);
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


def _test(model: _CModel) -> str:
    """A main that evaluates every function at a reference state and compares."""
    _warn_if_doubtful(model.errors)
    vectors = {key: value for key, value in model.reference.items() if key != "t"}
    if "efforts" not in model.made:
        del vectors["udot"]
    arrays = [f"    const double {key}[] = {_array(value)};" for key, value in vectors.items()]
    calls = [_call(model, key) for key in model.made]
    values = {
        "NAME": model.name,
        "NOISE": repr(KNOWN),
        "ARRAYS": "\n".join(arrays),
        "TIME": repr(float(model.reference["t"])),
        "CALLS": "\n".join([*calls, *_step_call(model)]),
    }
    return model.in_precision(_fill(TEST, values)).replace("WORST", "(double)worst")


def _call(model: _CModel, key: str) -> str:
    given = [model.reference[name] for name in model.exported[key].arguments]
    expected = _row_by_row(model.made[key](*given))
    called = f"{model.name}_{key}({', '.join(model.exported[key].arguments)}, out);"
    memory = f"double out[{max(1, len(expected))}] = {{0}};"
    return _check_text(model, key, expected, memory, called)


def _check_text(model: _CModel, key: str, expected: np.ndarray, memory: str, called: str) -> str:
    tolerance = max(TOLERANCE[model.precision], 10 * model.errors.get(key, 0.0))
    return f"""    {{
        {memory}
        const double expected[] = {_array(expected)};
        {called}
        failures += check("{key}", {len(expected)}, out, expected, {tolerance!r});
    }}"""


def _step_call(model: _CModel) -> list[str]:
    """The call of a step, which writes where it reads; none from a state that is lost at once."""
    if not model.has_step:
        return []
    nq, s, expected = model.sizes["Q"], model.reference, _step_values(model, model.made)
    if not np.abs(expected).max(initial=0.0) < RUNAWAY:
        return []
    memory = f"double out[{max(1, len(expected))}] = {_array(np.append(s['q'], s['u']))};"
    called = f"{model.name}_step(out, out + {nq}, t, w, p, {STEP_LENGTH!r});"
    return [_check_text(model, "step", expected, memory, called)]


def _step_values(model: _CModel, made: Functions) -> np.ndarray:
    """The state after a step, by these functions."""
    s, nq, h = model.reference, model.sizes["Q"], STEP_LENGTH

    def slope(y: np.ndarray, t: float) -> np.ndarray:
        given = y[:nq], y[nq:], t, s["w"], s["p"]
        rates = [made[key](*given) for key in ("coordinate_rates", "accelerations")]
        return np.concatenate([np.array(each).ravel() for each in rates])

    y = np.concatenate([s["q"], s["u"]])
    k1 = slope(y, s["t"])
    k2 = slope(y + h / 2 * k1, s["t"] + h / 2)
    k3 = slope(y + h / 2 * k2, s["t"] + h / 2)
    y = y + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(y + h * k3, s["t"] + h))
    given = s["t"] + h, s["w"], s["p"]
    return _project(made, y, nq, given, NEWTON, SETTLED[model.precision])


def _project(
    made: Functions, y: np.ndarray, nq: int, given: tuple[Any, ...], steps: int, settled: float
) -> np.ndarray:
    """A state brought back to the constraints as C does it, in no more Newton steps than said."""
    change = 1.0
    for _ in range(steps if "projected" in made else 0):
        if change < settled:
            break
        before, y = y, np.array(made["projected"](y[:nq], y[nq:], *given)).ravel()
        change = (np.abs(y - before) / (1 + np.abs(y))).max(initial=0.0)
    return y


def _reference(
    equations: Equations, made: dict[str, ca.Function], dtype: np.dtype
) -> dict[str, Any]:
    """A random state, near the reference configuration and near the constraints if these are met
    there, at which every function is finite."""
    random = np.random.default_rng(1)
    chart, nq = equations.terms.chart, len(equations.coordinates)
    dq, u, w, udot = (
        random.standard_normal(len(names))
        for names in (equations.coordinates, equations.speeds, equations.inputs, equations.speeds)
    )
    p = np.array(equations.terms.symbols.defaults)
    for size in (0.3, 0.1, 0.01, 0.0):
        q = chart.normalized(np.array(chart.reference) + size * dq)
        y = np.concatenate([q, u])
        near = _project(made, y, nq, (0.3, w, p), 30, 0.0) + 0.01 * random.standard_normal(len(y))
        for state in (near, y):
            given = {"q": state[:nq], "u": state[nq:], "t": 0.3, "w": w, "p": p, "udot": udot}
            values = {key: np.asarray(v, dtype).astype(float) for key, v in given.items()}
            if _are_finite(made, values) and np.abs(state).max(initial=0.0) < RUNAWAY:
                return values
    raise ArgumentError(
        "no reference values: the equations are not finite near the reference configuration"
    )


def _are_finite(made: dict[str, ca.Function], values: dict[str, Any]) -> bool:
    results = (f(*(values[name] for name in f.name_in())) for f in made.values())
    return all(np.isfinite(np.array(result)).all() for result in results)


# --- single precision -----------------------------------------------------------------------------


def _single_precision_errors(model: _CModel) -> dict[str, float]:
    """Functions and step in single precision here, against the same in double."""
    made = {key: _in_single(model, key) for key in model.made}
    pairs = {}
    for key, exact in model.made.items():
        given = [model.reference[name] for name in model.exported[key].arguments]
        pairs[key] = made[key](*given), _row_by_row(exact(*given))
    if model.has_step:
        pairs["step"] = _step_values(model, made), _step_values(model, model.made)
    errors = {key: _relative(*pair) for key, pair in pairs.items()}
    lost = [key for key, error in errors.items() if not np.isfinite(error)]
    if lost:
        raise UnsupportedError(
            f"export_c: in single precision {', '.join(lost)} is no number at a reference state; "
            'use precision="double", another formalism or closure, or leave it out by functions=[…]'
        )
    return errors


def _in_single(model: _CModel, key: str) -> Callable[..., np.ndarray]:
    value, arguments = model.printed[key].value, model.printed[key].arguments

    def run(name: str, arguments: tuple[str, ...], *given: Any) -> np.ndarray:
        program, arrays = round_to_single(model.programs[name][0]), [np.float32(x) for x in given]
        with np.errstate(all="ignore"):
            return np.asarray(on_arrays(program, arguments, np)(arrays))

    def function(*given: Any) -> np.ndarray:
        made = run(key, arguments, *given)
        if not isinstance(value, ColumnFunction):
            return made
        shared, own = np.split(made, [value.shared.numel()])
        own = own.reshape(value.own.shape[::-1])
        shared = np.broadcast_to(shared, (len(own), len(shared)))
        return run(f"{key}_column", ("shared", "own"), shared, own).T.ravel()

    return function


def _relative(found: np.ndarray, exact: np.ndarray) -> float:
    """An error beside the largest number; none where there is none to compare with."""
    if not np.abs(exact).max(initial=0.0) < float(np.finfo(np.float32).max):
        return 0.0
    scale = max(KNOWN, np.abs(exact).max(initial=0.0))
    return float(np.abs(found - exact).max(initial=0.0) / scale)


def _warn_if_doubtful(errors: dict[str, float]) -> None:
    doubtful = [f"{key} ({error:.0e})" for key, error in errors.items() if error > DOUBTFUL]
    if doubtful:
        warnings.warn(
            "in single precision rounding spoils, relative to their size at a reference state: "
            f'{", ".join(doubtful)}; use precision="double", or another formalism or closure',
            stacklevel=5,
        )


def _row_by_row(matrix: ca.DM) -> np.ndarray:
    return np.array(ca.densify(matrix)).ravel()


def _array(values: np.ndarray) -> str:
    return "{" + (", ".join(repr(float(v)) for v in values) or "0") + "}"
