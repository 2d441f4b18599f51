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
from ..graph.algebra import Algebra, Text, written
from ..graph.operations import OPERATIONS, Operation
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
    return {name: _bound(function, xp, defaults) for name, function in made.items()}


def _program(function: ca.Function) -> Program:
    """A function as a program of arrays, with its result row by row."""
    program = row_by_row(function)
    try:
        NumPy([]).check(program)
    except UnsupportedError as error:
        raise UnsupportedError(f"{function.name()}: {error}") from None
    return program


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
    (outputs,) = program.evaluate(Arrays(program, arguments, arrays, zero, xp))
    return xp.stack([value + zero for value in outputs], axis=-1)


def _function(operation: Operation) -> Callable[..., Any]:
    """What an operation is in NumPy, as a function of the library and the operands."""
    letters = "ab"[: operation.arity]
    return eval(f"lambda np, erf, {', '.join(letters)}: {written(operation.numpy, [*letters])}")


FUNCTIONS = {name: _function(each) for name, each in OPERATIONS.items()}


class Arrays(Algebra[Any]):
    """Arrays of a library with NumPy's names, with a zero of their common shape."""

    language, operations = "arrays", FUNCTIONS

    def __init__(
        self, program: Program, arguments: Sequence[str], arrays: list[Any], zero: Any, xp: Any
    ) -> None:
        self.tables, self.arguments, self.arrays = program.tables, arguments, arrays
        self.zero, self.xp = zero, xp

    def constant(self, value: float) -> Any:
        return self.zero + value

    def input(self, argument: int, place: int) -> Any:
        array = self.arrays[argument]
        if array is None:
            return self.zero
        own = array if self.arguments[argument] == "t" else array[..., place]
        return own + self.zero

    def operation(self, name: str, operands: list[Any]) -> Any:
        return FUNCTIONS[name](self.xp, self._erf, *operands)

    def _erf(self, x: Any) -> Any:
        """The error function, which is not among the plain functions of most libraries."""
        if hasattr(self.xp, "erf"):
            return self.xp.erf(x)
        return (scipy.special if self.xp is np else door.library("jax.scipy.special")).erf(x)

    def piece(self, name: str, table: Lookup, at: list[Any]) -> Any:
        if table.is_pick:
            return (at[0] - 1.0) * table.row + (at[1] - 1.0)
        knots = self.xp.asarray(self.tables[name][0])
        return self.zero + self.xp.searchsorted(knots, at[0], side="right")

    def entry(self, name: str, table: Lookup, place: int, piece: Any) -> Any:
        column = self.xp.asarray(np.ascontiguousarray(self.tables[name][1][:, place - 1]))
        return self.xp.take(column, self.xp.asarray(piece, dtype=int), mode="clip")


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
erf = np.vectorize(math.erf, otypes=[float])
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


NUMPY = {name: each.numpy for name, each in OPERATIONS.items()}


class NumPy(Text):
    """Lines of Python with NumPy's functions."""

    language = "NumPy"
    operations = NUMPY
    line = "    {name} = {text}"

    def __init__(self, arguments: Sequence[str]) -> None:
        super().__init__()
        self.arguments = arguments

    def constant(self, value: float) -> str:
        return super().constant(value) if math.isfinite(value) else f"float({str(value)!r})"

    def input(self, argument: int, place: int) -> str:
        name = self.arguments[argument]
        return "t" if name == "t" else f"{name}[..., {place}]"

    def piece(self, name: str, table: Lookup, at: list[str]) -> str:
        if table.is_pick:
            return f"(({at[0]} - 1.0) * {table.row}.0 + ({at[1]} - 1.0))"
        return f'(1.0 * np.searchsorted({name}_knots, {at[0]}, side="right"))'

    def entry(self, name: str, table: Lookup, place: int, piece: str) -> str:
        return f'np.take({name}_column_{place}, np.asarray({piece}, int), mode="clip")'


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
    numpy = NumPy(arguments)
    outputs = ", ".join(f"{text} + zero" for text in program.evaluate(numpy)[0])
    matrix = "" if shape[1] == 1 else f".reshape(*zero.shape, {shape[0]}, {shape[1]})"
    lines = [
        f"def {function.name()}({', '.join(given)}):",
        f"    t, {vectors}, zero = _given(t, {vectors})",
        *numpy.lines,
        f"    return np.stack([{outputs}], axis=-1){matrix}",
    ]
    return "\n".join(lines) + "\n"
