"""A CasADi function as a list of operations in which each value is computed once, to be printed in
C."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

from ..tables.graph import calls, settled
from ..tables.searches import data_of
from .compiler import CompilationFailure

# CasADi's operations by the names that lanes.h gives them
UNARY = {
    ca.OP_NEG: "neg",
    ca.OP_EXP: "exp",
    ca.OP_LOG: "log",
    ca.OP_SQRT: "sqrt",
    ca.OP_SIN: "sin",
    ca.OP_COS: "cos",
    ca.OP_TAN: "tan",
    ca.OP_ASIN: "asin",
    ca.OP_ACOS: "acos",
    ca.OP_ATAN: "atan",
    ca.OP_FLOOR: "floor",
    ca.OP_CEIL: "ceil",
    ca.OP_FABS: "fabs",
    ca.OP_SIGN: "sign",
    ca.OP_NOT: "not",
    ca.OP_SINH: "sinh",
    ca.OP_COSH: "cosh",
    ca.OP_TANH: "tanh",
    ca.OP_ASINH: "asinh",
    ca.OP_ACOSH: "acosh",
    ca.OP_ATANH: "atanh",
    ca.OP_ERF: "erf",
    ca.OP_LOG1P: "log1p",
    ca.OP_EXPM1: "expm1",
}
BINARY = {
    ca.OP_ADD: "add",
    ca.OP_SUB: "sub",
    ca.OP_MUL: "mul",
    ca.OP_DIV: "div",
    ca.OP_POW: "pow",
    ca.OP_CONSTPOW: "pow",
    ca.OP_LT: "lt",
    ca.OP_LE: "le",
    ca.OP_EQ: "eq",
    ca.OP_NE: "ne",
    ca.OP_AND: "and",
    ca.OP_OR: "or",
    ca.OP_FMOD: "fmod",
    ca.OP_REMAINDER: "remainder",
    ca.OP_COPYSIGN: "copysign",
    ca.OP_IF_ELSE_ZERO: "if_else_zero",
    ca.OP_FMIN: "fmin",
    ca.OP_FMAX: "fmax",
    ca.OP_ATAN2: "atan2",
    ca.OP_HYPOT: "hypot",
}
COMMUTATIVE = {"add", "mul", "eq", "ne", "and", "or", "hypot"}

# ("input", argument, index), ("constant", number) or (operation, value numbers …)
Value = tuple[Any, ...]
Data = tuple[np.ndarray, np.ndarray]


class Untranslatable(CompilationFailure):
    """An expression uses an operation that has no C form."""


@dataclass(frozen=True)
class Program:
    """Values in order of computation; ``outputs[k]`` are the numbers of the values of result k,
    column by column; ``tables`` are the knots and columns that searches look at."""

    values: list[Value]
    outputs: list[list[int]]
    sizes: tuple[int, ...]  # of the arguments
    tables: dict[str, Data] = field(default_factory=dict)

    @property
    def operations(self) -> int:
        """How many values are computed (neither inputs nor constants)."""
        return sum(value[0] not in ("input", "constant") for value in self.values)


def trace(function: ca.Function) -> Program:
    """The operations of an ``SX`` function, with equal ones merged and unused ones dropped."""
    function = settled(function)
    builder, called = _Builder(), calls(function)
    work: dict[int, int] = {}
    outputs: list[list[int]] = [[-1] * function.nnz_out(k) for k in range(function.n_out())]
    for k in range(function.n_instructions()):
        code = function.instruction_id(k)
        target, source = function.instruction_output(k), function.instruction_input(k)
        if code == ca.OP_INPUT:
            work[target[0]] = builder.number(("input", source[0], source[1]))
        elif code == ca.OP_OUTPUT:
            outputs[target[0]][target[1]] = work[source[0]]
        elif code == ca.OP_CONST:
            work[target[0]] = builder.number(("constant", function.instruction_constant(k)))
        elif code == ca.OP_CALL:
            found = builder.search(called[k], [work[slot] for slot in source])
            work |= {slot: n for slot, n in zip(target, found, strict=True) if slot >= 0}
        else:
            work[target[0]] = builder.operation(code, [work[slot] for slot in source])
    sizes = tuple(function.nnz_in(i) for i in range(function.n_in()))
    return _used(Program(builder.values, outputs, sizes, builder.tables))


class _Builder:
    """A list of numbered values, in which the same operation on the same values is one value."""

    def __init__(self) -> None:
        self.values: list[Value] = []
        self.known: dict[Value, int] = {}
        self.tables: dict[str, Data] = {}

    def search(self, function: ca.Function, arguments: Sequence[int]) -> list[int]:
        """The results of a search: the piece, and what stands there in each column."""
        name = function.name()
        data = data_of(function)
        if data is None:
            raise Untranslatable("a call of a function has no C form here")
        self.tables[name] = data
        piece = self.number((name, *arguments))
        columns = range(1, data[1].shape[1] + 1)
        return [piece, *(self.number((f"{name}_{k}", piece)) for k in columns)]

    def number(self, value: Value) -> int:
        found = self.known.get(value)
        if found is None:
            found = self.known[value] = len(self.values)
            self.values.append(value)
        return found

    def operation(self, code: int, arguments: Sequence[int]) -> int:
        a = arguments[0]
        if code == ca.OP_ASSIGN:
            return a
        if code == ca.OP_SQ:
            return self.number(("mul", a, a))
        if code == ca.OP_TWICE:
            return self.number(("add", a, a))
        if code == ca.OP_INV:
            return self.number(("div", self.number(("constant", 1.0)), a))
        if code in UNARY:
            return self.number((UNARY[code], a))
        if code in BINARY:
            name, b = BINARY[code], arguments[1]
            if name in COMMUTATIVE:
                a, b = sorted((a, b))
            return self.number((name, a, b))
        raise Untranslatable(f"operation {code} of CasADi has no C form here")


def _used(program: Program) -> Program:
    """The program with only the values that the outputs need, in the same order."""
    needed = [False] * len(program.values)
    for output in program.outputs:
        for number in output:
            needed[number] = True
    for number in range(len(program.values) - 1, -1, -1):
        value = program.values[number]
        if needed[number] and value[0] not in ("input", "constant"):
            for argument in value[1:]:
                needed[argument] = True
    numbers = [n for n, flag in enumerate(needed) if flag]
    new = {old: k for k, old in enumerate(numbers)}
    values = [_renumbered(program.values[old], new) for old in numbers]
    outputs = [[new[n] for n in output] for output in program.outputs]
    return Program(values, outputs, program.sizes, program.tables)


def _renumbered(value: Value, new: dict[int, int]) -> Value:
    if value[0] in ("input", "constant"):
        return value
    return value[0], *(new[argument] for argument in value[1:])
