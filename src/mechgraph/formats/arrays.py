"""The equations for other array libraries: JAX, PyTorch and NumPy, from the same list of operations
that is compiled.

Every function takes (q, u, t, w, p): coordinates, speeds, time, inputs, parameters, as arrays with
any leading axes; inverse dynamics takes (q, u, udot, t, w, p). What is left out is zero, and for
parameters their values in the model. They can be differentiated, batched and compiled by the
library that they are made for.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import scipy.special

from .. import door
from ..arguments import file_path, write_text
from ..equations import Equations
from ..errors import ArgumentError, UnsupportedError
from ..graph import Program
from ..graph.algebra import Text
from ..graph.operations import OPERATIONS
from ..graph.searches import Lookup
from .exported import ARGUMENTS, casadi_functions, frames, row_by_row


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
    return {name: _bind(function, xp, defaults) for name, function in made.items()}


def _program(function: ca.Function) -> Program:
    """A function as a program of arrays, with its result row by row."""
    program = row_by_row(function)
    try:
        NumPy([]).check(program)
    except UnsupportedError as error:
        raise UnsupportedError(f"{function.name()}: {error}") from None
    return program


def _bind(function: ca.Function, xp: Any, defaults: np.ndarray) -> Callable[..., Any]:
    name, shape, arguments = function.name(), function.size_out(0), tuple(function.name_in())
    program = _program(function)
    run = on_arrays(program, arguments, xp)

    def called(*given: Any, **by_name: Any) -> Any:
        values = _arguments_by_name(name, arguments, given, by_name)
        values = {"t": 0.0, "p": defaults} | values
        arrays = [xp.asarray(values[key]) if key in values else None for key in arguments]
        _check_sizes(name, program, arguments, arrays)
        flat = run(arrays)
        return flat if shape[1] == 1 else flat.reshape((*flat.shape[:-1], *shape))

    called.__name__, called.__doc__ = name, f"{name}({', '.join(arguments)})"
    return called


def _arguments_by_name(
    name: str, arguments: tuple[str, ...], given: tuple[Any, ...], by_name: dict[str, Any]
) -> dict[str, Any]:
    """The arguments that were given, by name."""
    wrong = [key for key in by_name if key not in arguments[len(given) :]]
    values = dict(zip(arguments, given, strict=False)) | by_name
    if len(given) > len(arguments) or wrong or values.get("q") is None:
        raise ArgumentError(f"{name} takes ({', '.join(arguments)}), of which q must be given")
    return {key: value for key, value in values.items() if value is not None}


def _check_sizes(
    name: str, program: Program, arguments: tuple[str, ...], arrays: list[Any]
) -> None:
    for argument, size, array in zip(arguments, program.sizes, arrays, strict=True):
        if argument != "t" and array is not None and tuple(array.shape[-1:]) != (size,):
            raise ArgumentError(
                f"{name}: {argument} must have {size} numbers along its last axis, got an array of "
                f"shape {tuple(array.shape)}"
            )


def on_arrays(program: Program, arguments: Sequence[str], xp: Any) -> Callable[..., Any]:
    """The program as a function of arrays with any leading axes, of a library with NumPy's names;
    an argument that is None is zero."""
    text = Arrays(arguments)
    source = [f"def run({', '.join(arguments)}, zero):", *text.body(program)]
    known: dict[str, Any] = {"np": xp, "nan": math.nan, "inf": math.inf, "erf": _erf(xp)}
    known |= {name: xp.asarray(values) for name, values in _tables(program).items()}
    exec("\n".join(source), known)

    def called(arrays: list[Any]) -> Any:
        zero = 0
        for array, name in zip(arrays, arguments, strict=True):
            if name == "t":
                zero = zero + array * 0
            elif array is not None and array.shape[-1]:
                zero = zero + array[..., :1].sum(-1) * 0
        none = [xp.asarray(np.zeros(size)) for size in program.sizes]
        given = [own if x is None else x for x, own in zip(arrays, none, strict=True)]
        return known["run"](*given, zero)

    return called


def _erf(xp: Any) -> Callable[[Any], Any]:
    """The error function, which is not among the plain functions of most libraries."""
    if xp is np or hasattr(xp, "erf"):
        return scipy.special.erf if xp is np else xp.erf
    return lambda x: door.library("jax.scipy.special").erf(x)


def _tables(program: Program) -> dict[str, np.ndarray]:
    """The knots and columns of tables, by names."""
    found = {f"{name}_knots": knots for name, (knots, _) in program.tables.items()}
    for name, (_, columns) in program.tables.items():
        found |= {f"{name}_column_{k + 1}": c.copy() for k, c in enumerate(columns.T)}
    return found


NUMPY = {name: each.numpy for name, each in OPERATIONS.items()}


class NumPy(Text):
    """Lines of Python with NumPy's functions; ``zero`` is a zero of the shape of all leading
    axes."""

    language, operations, line = "NumPy", NUMPY, "    {name} = {text}"

    def __init__(self, arguments: Sequence[str]) -> None:
        super().__init__()
        self.arguments = arguments

    def constant(self, value: float) -> str:
        return super().constant(value) if math.isfinite(value) else f"({value!r})"

    def input(self, argument: int, place: int) -> str:
        name = self.arguments[argument]
        return "t" if name == "t" else f"{name}[..., {place}]"

    def piece(self, name: str, table: Lookup, at: list[str]) -> str:
        if table.is_pick:
            return f"(({at[0]} - 1.0) * {table.row}.0 + ({at[1]} - 1.0))"
        return f'(zero + np.searchsorted({name}_knots, {at[0]}, side="right"))'

    def entry(self, name: str, table: Lookup, place: int, piece: str) -> str:
        return f'np.take({name}_column_{place}, np.asarray({piece}, int), mode="clip")'

    def body(self, program: Program) -> list[str]:
        """The lines of a function that returns the results along one axis."""
        (outputs,) = program.evaluate(self)
        results = ", ".join(f"{text} + zero" for text in outputs)
        return [*self.lines, f"    return np.stack([{results}], axis=-1)"]


class Arrays(NumPy):
    """Lines with arrays wherever numbers stand, which some libraries ask for."""

    def constant(self, value: float) -> str:
        return f"(zero + {super().constant(value)})"

    def input(self, argument: int, place: int) -> str:
        return f"({super().input(argument, place)} + zero)"


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
    tables = {name: values for p in programs.values() for name, values in _tables(p).items()}
    parts = [
        MODULE_HEAD.format(
            title=_escape(equations.terms.name),
            lists="\n".join(f"{key} = {list(names)!r}" for key, names in lists.items()),
            defaults=[float(x) for x in equations.terms.symbols.defaults],
        ),
        *(f"{name} = np.array({values.tolist()!r})" for name, values in tables.items()),
    ]
    for name, function in made.items():
        parts.append(_print_function(programs[name], function))
    return write_text(target, "\n\n".join(parts))


MODULE_HEAD = '''\
"""Equations of motion of {title}: functions of (q, u, t, w, p), coordinates, speeds, time, inputs
and parameters, with any leading axes; efforts takes accelerations udot after u."""

import math

import numpy as np

nan, inf = np.nan, np.inf
erf = np.vectorize(math.erf, otypes=[float])
{lists}
VALUES = {defaults!r}


def _given(t, *vectors):
    arrays = [np.asarray(x, dtype=float) for x in (t, *vectors)]
    shapes = [arrays[0].shape, *(x.shape[:-1] for x in arrays[1:])]
    return *arrays, np.zeros(np.broadcast_shapes(*shapes))
'''


def _escape(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"""', "'''")


def _print_function(program: Program, function: ca.Function) -> str:
    arguments, shape = function.name_in(), function.size_out(0)
    start = {"t": "0.0", "p": "VALUES"}
    start |= {
        n: f"(0.0,) * {k}"
        for n, k in zip(arguments, program.sizes, strict=True)
        if n in ("u", "w", "udot")
    }
    given = [f"{name}={start[name]}" if name in start else name for name in arguments]
    vectors = ", ".join(name for name in arguments if name != "t")
    matrix = "" if shape[1] == 1 else f".reshape(*zero.shape, {shape[0]}, {shape[1]})"
    lines = [
        f"def {function.name()}({', '.join(given)}):",
        f"    t, {vectors}, zero = _given(t, {vectors})",
        *NumPy(arguments).body(program),
    ]
    return "\n".join(lines) + matrix + "\n"
