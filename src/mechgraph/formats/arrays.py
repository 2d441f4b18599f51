"""The equations for other array libraries: JAX, PyTorch and NumPy, from the same list of operations
that is compiled.

Every function takes (q, u, t, w, p): coordinates, speeds, time, inputs, parameters, as arrays with
any leading axes; what is left out is zero, and for parameters their values in the model. It can be
differentiated, batched and compiled by the library that it is made for.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from .. import door
from ..arguments import file_path, writing
from ..equations import Equations
from ..errors import ArgumentError, UnsupportedError
from ..kernels.program import Program, Untranslatable, Value, trace
from .exported import ARGUMENTS, exported

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
LOGIC = ("lt", "le", "eq", "ne", "and", "or", "not")


def casadi_functions(equations: Equations) -> dict[str, ca.Function]:
    """CasADi functions of (q, u, t, w, p) by name."""
    s = equations.terms.symbols
    return {
        key: ca.Function(
            key, [s.q, s.u, s.t, s.w, s.p], [value], [*ARGUMENTS], [key], {"cse": True}
        )
        for key, value in exported(equations).items()
    }


def to_jax(equations: Equations) -> dict[str, Callable[..., Any]]:
    """Functions of JAX arrays by name; ``jax.jit``, ``jax.vmap`` and ``jax.jacobian`` take them."""
    return _functions(equations, door.library("jax.numpy"), {})


def to_torch(equations: Equations) -> dict[str, Callable[..., Any]]:
    """Functions of PyTorch tensors by name."""
    torch = door.library("torch")
    names = {"maximum": torch.maximum, "minimum": torch.minimum}

    class Tensors:
        """PyTorch by NumPy's names."""

        def __getattr__(self, name: str) -> Any:
            return names.get(name) or getattr(torch, name)

        def stack(self, values: list[Any], axis: int) -> Any:
            return torch.stack(values, dim=axis)

        def asarray(self, value: Any) -> Any:
            return torch.as_tensor(value, dtype=torch.float64)

        def broadcast_arrays(self, *values: Any) -> Any:
            return torch.broadcast_tensors(*values)

    return _functions(equations, Tensors(), {})


def _functions(
    equations: Equations, xp: Any, more: dict[str, Any]
) -> dict[str, Callable[..., Any]]:
    defaults = np.array(equations.terms.symbols.defaults)
    made = {}
    for name, function in casadi_functions(equations).items():
        program = _program(function)
        made[name] = _bound(name, program, function.size_out(0), xp, defaults)
    return made


def _program(function: ca.Function) -> Program:
    x, out = function.sx_in(), function.call(function.sx_in())
    dense = ca.Function("dense", x, [ca.densify(ca.vec(out[0].T))])  # row by row
    try:
        program = trace(dense)
        if program.tables:
            raise Untranslatable("a table has no form in JAX, PyTorch and Python files yet")
    except Untranslatable as error:
        raise UnsupportedError(f"{function.name()}: {error}") from None
    return program


def _bound(
    name: str, program: Program, shape: tuple[int, int], xp: Any, defaults: np.ndarray
) -> Callable[..., Any]:
    def evaluated(q: Any, u: Any = None, t: Any = 0.0, w: Any = None, p: Any = None) -> Any:
        given = (q, u, t, w, defaults if p is None else p)
        arrays = [None if value is None else xp.asarray(value) for value in given]
        _fits(name, program, arrays)
        flat = _run(program, arrays, xp)
        return flat if shape[1] == 1 else flat.reshape((*flat.shape[:-1], *shape))

    evaluated.__name__ = name
    return evaluated


def _fits(name: str, program: Program, arrays: list[Any]) -> None:
    for argument, size, array in zip(ARGUMENTS, program.sizes, arrays, strict=True):
        if argument != "t" and array is not None and tuple(array.shape[-1:]) != (size,):
            raise ArgumentError(
                f"{name}: {argument} must have {size} numbers along its last axis, got an array of "
                f"shape {tuple(array.shape)}"
            )


def _run(program: Program, arrays: list[Any], xp: Any) -> Any:
    """The program, operation by operation."""
    zero = (
        sum(
            a[..., :1].sum(-1) * 0
            for a, n in zip(arrays, ARGUMENTS, strict=True)
            if a is not None and n != "t" and a.shape[-1]
        )
        + xp.asarray(arrays[2]) * 0
    )
    values: list[Any] = []
    for value in program.values:
        values.append(_value(value, values, arrays, zero, xp))
    outputs = [values[k] + zero for k in program.outputs[0]]
    return xp.stack(outputs, axis=-1)


def _value(value: Value, values: list[Any], arrays: list[Any], zero: Any, xp: Any) -> Any:
    kind = value[0]
    if kind == "input":
        array = arrays[value[1]]
        if array is None:
            return zero
        return array + zero if ARGUMENTS[value[1]] == "t" else array[..., value[2]] + zero
    if kind == "constant":
        return zero + value[1]
    return _operation(kind, [values[k] for k in value[1:]], xp)


def _operation(kind: str, given: list[Any], xp: Any) -> Any:
    a, b = (*given, None)[:2]
    if kind == "if_else_zero":
        return xp.where(a != 0, b, a * 0)
    if kind in LOGIC:
        return _truth(kind, a, b) * 1.0
    if kind in INFIX:
        return _infix(kind, a, b)
    if kind == "remainder":
        return a - b * xp.round(a / b)
    if kind == "erf":
        raise UnsupportedError("erf has no counterpart here")
    return getattr(xp, CALLED.get(kind, kind))(*given)


def _infix(kind: str, a: Any, b: Any) -> Any:
    if kind == "add":
        return a + b
    if kind == "sub":
        return a - b
    if kind == "mul":
        return a * b
    return a / b if kind == "div" else a**b


def _truth(kind: str, a: Any, b: Any) -> Any:
    if kind == "not":
        return a == 0
    if kind in ("and", "or"):
        return (a != 0) & (b != 0) if kind == "and" else (a != 0) | (b != 0)
    compare = {
        "lt": lambda: a < b,
        "le": lambda: a <= b,
        "eq": lambda: a == b,
        "ne": lambda: a != b,
    }
    return compare[kind]()


# --- files ----------------------------------------------------------------------------------------


def export_casadi(equations: Equations, path: str | Path) -> Path:
    """CasADi functions of (q, u, t, w, p) in one file: ``casadi.Function.load`` reads the one that
    returns all results."""
    target = file_path(path)
    s = equations.terms.symbols
    results = exported(equations)
    whole = ca.Function(
        "equations", [s.q, s.u, s.t, s.w, s.p], list(results.values()), [*ARGUMENTS], [*results]
    )
    with writing(target):
        whole.save(str(target))
    return target


def export_numpy(equations: Equations, path: str | Path) -> Path:
    """A module of Python that needs NumPy only: the same functions, with any leading axes."""
    target = file_path(path)
    if target.suffix != ".py":
        raise ArgumentError(f"{target.name}: a module of Python ends in .py")
    parts = [
        MODULE_HEAD.format(
            title=_quoted(equations.terms.name),
            lists="\n".join(
                f"{key} = {list(names)!r}"
                for key, names in (
                    ("COORDINATES", equations.coordinates),
                    ("SPEEDS", equations.speeds),
                    ("INPUTS", equations.inputs),
                    ("PARAMETERS", equations.parameters),
                )
            ),
            defaults=[float(x) for x in equations.terms.symbols.defaults],
        )
    ]
    for name, function in casadi_functions(equations).items():
        parts.append(_printed(name, _program(function), function.size_out(0)))
    with writing(target):
        target.write_text("\n\n".join(parts), encoding="utf-8")
    return target


MODULE_HEAD = '''\
"""Equations of motion of {title}: functions of (q, u, t, w, p), coordinates, speeds, time, inputs
and parameters, with any leading axes."""

import numpy as np

{lists}
VALUES = {defaults!r}


def _given(q, u, t, w, p):
    arrays = [np.asarray(x, dtype=float) for x in (q, u, t, w, p)]
    leading = [x.shape[:-1] for k, x in enumerate(arrays) if k != 2]
    return arrays, np.zeros(np.broadcast_shapes(*leading, arrays[2].shape))
'''


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', "'''")


def _printed(name: str, program: Program, shape: tuple[int, int]) -> str:
    u, w = program.sizes[1], program.sizes[3]
    lines = [
        f"def {name}(q, u=(0.0,) * {u}, t=0.0, w=(0.0,) * {w}, p=VALUES):",
        "    (q, u, t, w, p), zero = _given(q, u, t, w, p)",
    ]
    for k, value in enumerate(program.values):
        lines.append(f"    v{k} = {_spelled(value)}")
    outputs = ", ".join(f"v{k} + zero" for k in program.outputs[0])
    lines.append(f"    out = np.stack([{outputs}], axis=-1)")
    lines.append(
        "    return out"
        if shape[1] == 1
        else f"    return out.reshape(*zero.shape, {shape[0]}, {shape[1]})"
    )
    return "\n".join(lines) + "\n"


def _spelled(value: Value) -> str:
    kind = value[0]
    if kind == "input":
        return "t" if ARGUMENTS[value[1]] == "t" else f"{ARGUMENTS[value[1]]}[..., {value[2]}]"
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
        raise UnsupportedError("erf has no counterpart in NumPy")
    return f"np.{CALLED.get(kind, kind)}({', '.join(names)})"
