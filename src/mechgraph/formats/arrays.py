"""The equations for other array libraries: JAX, PyTorch and NumPy, from the same list of operations
that is compiled.

Every function takes (q, u, t, w, p): coordinates, speeds, time, inputs, parameters, as arrays with
any leading axes; inverse dynamics takes (q, u, udot, t, w, p). What is left out is zero, and for
parameters their values in the model. They can be differentiated, batched and compiled by the
library that they are made for.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import scipy.special

from .. import door
from ..arguments import file_path, write_text
from ..equations import Equations
from ..errors import ArgumentError, UnsupportedError
from ..kernels.program import Program, Untranslatable, Value, trace
from ..tables.searches import PICK
from .exported import ARGUMENTS, casadi_functions, frames

# operations by what NumPy calls them, where the names differ
CALLED = {
    "neg": "negative", "fabs": "abs", "asin": "arcsin", "acos": "arccos", "atan": "arctan",
    "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh", "atan2": "arctan2",
    "fmin": "minimum", "fmax": "maximum",
}  # fmt: skip
INFIX = {
    "add": "+", "sub": "-", "mul": "*", "div": "/", "pow": "**", "lt": "<", "le": "<=",
    "eq": "==", "ne": "!=",
}  # fmt: skip
ARITHMETIC = {
    "add": operator.add, "sub": operator.sub, "mul": operator.mul, "div": operator.truediv,
    "pow": operator.pow,
}  # fmt: skip
LOGIC = ("lt", "le", "eq", "ne", "and", "or", "not")


def to_jax(
    equations: Equations, functions: Sequence[str] | None = None
) -> dict[str, Callable[..., Any]]:
    """Functions of JAX arrays by name; ``jax.jit``, ``jax.vmap`` and ``jax.jacobian`` take them."""
    return _functions(equations, functions, door.library("jax.numpy"))


def to_torch(
    equations: Equations, functions: Sequence[str] | None = None
) -> dict[str, Callable[..., Any]]:
    """Functions of PyTorch tensors by name."""
    torch = door.library("torch")

    class Tensors:
        """PyTorch by NumPy's names."""

        def __getattr__(self, name: str) -> Any:
            return getattr(torch, name)

        def stack(self, values: list[Any], axis: int) -> Any:
            return torch.stack(values, dim=axis)

        def asarray(self, value: Any, dtype: Any = float) -> Any:
            return torch.as_tensor(value, dtype=torch.float64 if dtype is float else torch.int64)

        def searchsorted(self, knots: Any, x: Any, side: str) -> Any:
            return torch.searchsorted(knots, x.detach().contiguous(), side=side)

        def take(self, column: Any, index: Any, mode: str) -> Any:
            return column[index.clamp(0, len(column) - 1)]

    return _functions(equations, functions, Tensors())


def _functions(
    equations: Equations, functions: Sequence[str] | None, xp: Any
) -> dict[str, Callable[..., Any]]:
    defaults = np.array(equations.terms.symbols.defaults)
    made = casadi_functions(equations, functions)
    return {name: _bound(function, xp, defaults) for name, function in made.items()}


def _program(function: ca.Function) -> Program:
    x = function.sx_in()
    dense = ca.Function("dense", x, [ca.densify(ca.vec(function.call(x)[0].T))])  # row by row
    try:
        return trace(dense)
    except Untranslatable as error:
        raise UnsupportedError(
            f"{function.name()}: {error}; write it with mg.table, mg.if_else, mg.sin, … instead"
        ) from None


def _bound(function: ca.Function, xp: Any, defaults: np.ndarray) -> Callable[..., Any]:
    name, shape, arguments = function.name(), function.size_out(0), tuple(function.name_in())
    program = _program(function)

    def called(*given: Any, **by_name: Any) -> Any:
        values = _given(name, arguments, given, by_name)
        values = {"t": 0.0, "p": defaults} | values
        arrays = [xp.asarray(values[key]) if key in values else None for key in arguments]
        _fits(name, program, arguments, arrays)
        flat = evaluated(program, arguments, arrays, xp)
        return flat if shape[1] == 1 else flat.reshape((*flat.shape[:-1], *shape))

    called.__name__, called.__doc__ = name, f"{name}({', '.join(arguments)})"
    return called


def _given(
    name: str, arguments: tuple[str, ...], given: tuple[Any, ...], by_name: dict[str, Any]
) -> dict[str, Any]:
    """What was given of the arguments, by name."""
    wrong = [key for key in by_name if key not in arguments[len(given) :]]
    values = dict(zip(arguments, given, strict=False)) | by_name
    if len(given) > len(arguments) or wrong or values.get("q") is None:
        raise ArgumentError(f"{name} takes ({', '.join(arguments)}), of which q must be given")
    return {key: value for key, value in values.items() if value is not None}


def _fits(name: str, program: Program, arguments: tuple[str, ...], arrays: list[Any]) -> None:
    for argument, size, array in zip(arguments, program.sizes, arrays, strict=True):
        if argument != "t" and array is not None and tuple(array.shape[-1:]) != (size,):
            raise ArgumentError(
                f"{name}: {argument} must have {size} numbers along its last axis, got an array of "
                f"shape {tuple(array.shape)}"
            )


def evaluated(program: Program, arguments: Sequence[str], arrays: list[Any], xp: Any) -> Any:
    """The program, operation by operation, on arrays with any leading axes."""
    zero = 0
    for array, name in zip(arrays, arguments, strict=True):
        if name == "t":
            zero = zero + array * 0
        elif array is not None and array.shape[-1]:
            zero = zero + array[..., :1].sum(-1) * 0
    run = _Run(arguments, arrays, zero, xp, _lookups(program, zero, xp))
    values: list[Any] = []
    for value in program.values:
        values.append(run.value(value, values))
    outputs = [values[k] + zero for k in program.outputs[0]]
    return xp.stack(outputs, axis=-1)


def _lookups(program: Program, zero: Any, xp: Any) -> dict[str, Callable[..., Any]]:
    """What finds the piece of each table, and what reads its columns there."""
    found: dict[str, Callable[..., Any]] = {}
    for name, (knots, columns) in program.tables.items():
        picked = PICK.fullmatch(name)
        width, own = float(picked[2]) if picked else 0.0, xp.asarray(knots)
        if picked:
            found[name] = lambda i, j, width=width: (i - 1.0) * width + (j - 1.0)
        else:
            found[name] = lambda x, own=own: zero + xp.searchsorted(own, x, side="right")
        for k, column in enumerate(columns.T):
            own = xp.asarray(np.ascontiguousarray(column))
            found[f"{name}_{k + 1}"] = lambda piece, own=own: xp.take(
                own, xp.asarray(piece, dtype=int), mode="clip"
            )
    return found


@dataclass(frozen=True)
class _Run:
    """One evaluation: arrays by argument, a zero of their common shape, the library, tables."""

    arguments: Sequence[str]
    arrays: list[Any]
    zero: Any
    xp: Any
    lookups: dict[str, Callable[..., Any]]

    def value(self, value: Value, values: list[Any]) -> Any:
        """One value of the program from those before it."""
        kind = value[0]
        if kind == "input":
            array = self.arrays[value[1]]
            if array is None:
                return self.zero
            own = array if self.arguments[value[1]] == "t" else array[..., value[2]]
            return own + self.zero
        if kind == "constant":
            return self.zero + value[1]
        given = [values[k] for k in value[1:]]
        return (
            self.lookups[kind](*given) if kind in self.lookups else _operation(kind, given, self.xp)
        )


def _operation(kind: str, given: list[Any], xp: Any) -> Any:
    a, b = (*given, None)[:2]
    if kind == "if_else_zero":
        return xp.where(a != 0, b, a * 0)
    if kind in LOGIC:
        return _truth(kind, a, b) * 1.0
    if kind in INFIX:
        return ARITHMETIC[kind](a, b)
    if kind == "remainder":
        return a - b * xp.round(a / b)
    name = CALLED.get(kind, kind)
    return getattr(xp if hasattr(xp, name) else _special(xp), name)(*given)


def _special(xp: Any) -> Any:
    """Where a library has what is not among its plain functions: erf."""
    return scipy.special if xp is np else door.library("jax.scipy.special")


def _truth(kind: str, a: Any, b: Any) -> Any:
    if kind == "not":
        return a == 0
    if kind in ("and", "or"):
        return (a != 0) & (b != 0) if kind == "and" else (a != 0) | (b != 0)
    compare = {"lt": operator.lt, "le": operator.le, "eq": operator.eq, "ne": operator.ne}
    return compare[kind](a, b)


# --- files ----------------------------------------------------------------------------------------


def export_casadi(
    equations: Equations, path: str | Path, functions: Sequence[str] | None = None
) -> Path:
    """One CasADi function of (q, u, t, w, p), and of udot if there are efforts among its results,
    in a file that ``casadi.Function.load`` reads."""
    target = file_path(path)
    made = casadi_functions(equations, functions)
    names = [*ARGUMENTS, *(["udot"] if any("udot" in f.name_in() for f in made.values()) else [])]
    kind = ca.SX if all(f.is_a("SXFunction") for f in made.values()) else ca.MX
    shapes = {name: getattr(equations.terms.symbols, name).shape for name in names}
    given = {name: kind.sym(name, *shape) for name, shape in shapes.items()}
    results = [f(*(given[name] for name in f.name_in())) for f in made.values()]
    whole = ca.Function("equations", [*given.values()], results, names, [*made])
    text = ca.StringSerializer()  # the same as in save, which tells of no full disk
    text.pack(whole)
    return write_text(target, text.encode())


def export_numpy(
    equations: Equations, path: str | Path, functions: Sequence[str] | None = None
) -> Path:
    """A module of Python that needs NumPy only: the same functions, with any leading axes."""
    target = file_path(path)
    if target.suffix != ".py":
        raise ArgumentError(f"{target.name}: a module of Python ends in .py")
    lists = {
        "COORDINATES": equations.coordinates,
        "SPEEDS": equations.speeds,
        "INPUTS": equations.inputs,
        "PARAMETERS": equations.parameters,
        "FRAMES": frames(equations),
    }
    made = casadi_functions(equations, functions)
    programs = {name: _program(function) for name, function in made.items()}
    parts = [
        MODULE_HEAD.format(
            title=_quoted(equations.terms.name),
            lists="\n".join(f"{key} = {list(names)!r}" for key, names in lists.items()),
            defaults=[float(x) for x in equations.terms.symbols.defaults],
        ),
        *dict.fromkeys(text for p in programs.values() for text in _tables(p)),
    ]
    for name, function in made.items():
        parts.append(_printed(programs[name], function))
    return write_text(target, "\n\n".join(parts))


MODULE_HEAD = '''\
"""Equations of motion of {title}: functions of (q, u, t, w, p), coordinates, speeds, time, inputs
and parameters, with any leading axes; efforts takes accelerations udot after u."""

import math

import numpy as np

nan, inf = np.nan, np.inf
_erf = np.vectorize(math.erf, otypes=[float])
{lists}
VALUES = {defaults!r}


def _given(t, *vectors):
    arrays = [np.asarray(x, dtype=float) for x in (t, *vectors)]
    shapes = [arrays[0].shape, *(x.shape[:-1] for x in arrays[1:])]
    return *arrays, np.zeros(np.broadcast_shapes(*shapes))
'''


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', "'''")


def _tables(program: Program) -> list[str]:
    """The data of tables, as arrays of the module."""
    texts = []
    for name, (knots, columns) in program.tables.items():
        texts.append(f"{name}_knots = np.array({knots.tolist()!r})")
        texts += [
            f"{name}_column_{k + 1} = np.array({column.tolist()!r})"
            for k, column in enumerate(columns.T)
        ]
    return texts


def _printed(program: Program, function: ca.Function) -> str:
    arguments, shape = function.name_in(), function.size_out(0)
    start = {"t": "0.0", "p": "VALUES"}
    start |= {
        n: f"(0.0,) * {k}"
        for n, k in zip(arguments, program.sizes, strict=True)
        if n in ("u", "w", "udot")
    }
    given = [f"{name}={start[name]}" if name in start else name for name in arguments]
    vectors = ", ".join(name for name in arguments if name != "t")
    lines = [
        f"def {function.name()}({', '.join(given)}):",
        f"    t, {vectors}, zero = _given(t, {vectors})",
    ]
    lookups = _spelled_lookups(program)
    for k, value in enumerate(program.values):
        names = [f"v{n}" for n in value[1:]]
        known = lookups.get(value[0])
        lines.append(f"    v{k} = {known.format(*names) if known else _spelled(value, arguments)}")
    outputs = ", ".join(f"v{k} + zero" for k in program.outputs[0])
    lines.append(f"    out = np.stack([{outputs}], axis=-1)")
    lines.append(
        "    return out"
        if shape[1] == 1
        else f"    return out.reshape(*zero.shape, {shape[0]}, {shape[1]})"
    )
    return "\n".join(lines) + "\n"


def _spelled_lookups(program: Program) -> dict[str, str]:
    """Searches in tables and what stands there, as Python."""
    found = {}
    for name, (_, columns) in program.tables.items():
        picked = PICK.fullmatch(name)
        found[name] = (
            f"({{0}} - 1.0) * {picked[2]}.0 + ({{1}} - 1.0)"
            if picked
            else f'1.0 * np.searchsorted({name}_knots, {{0}}, side="right")'
        )
        for k in range(1, columns.shape[1] + 1):
            text = f'np.take({name}_column_{k}, np.asarray({{0}}, int), mode="clip")'
            found[f"{name}_{k}"] = text
    return found


def _spelled(value: Value, arguments: Sequence[str]) -> str:
    kind = value[0]
    if kind == "input":
        name = arguments[value[1]]
        return "t" if name == "t" else f"{name}[..., {value[2]}]"
    if kind == "constant":
        return repr(value[1]) if math.isfinite(value[1]) else f"float({str(value[1])!r})"
    names = [f"v{k}" for k in value[1:]]
    if kind in INFIX and kind not in LOGIC:
        return f" {INFIX[kind]} ".join(names)
    if kind in INFIX:
        return f"1.0 * ({names[0]} {INFIX[kind]} {names[1]})"
    special = {
        "neg": "-{0}", "not": "1.0 * ({0} == 0)", "and": "1.0 * (({0} != 0) & ({1} != 0))",
        "or": "1.0 * (({0} != 0) | ({1} != 0))", "if_else_zero": "np.where({0} != 0, {1}, 0.0)",
        "remainder": "{0} - {1} * np.round({0} / {1})",
    }  # fmt: skip
    if kind in special:
        return special[kind].format(*names)
    if kind == "erf":
        return f"_erf({names[0]})"
    return f"np.{CALLED.get(kind, kind)}({', '.join(names)})"
