"""A CasADi function as a list of operations in which each value is computed once: what everything
that reads expressions reads."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from .algebra import Algebra, Expressions
from .operations import NAMES, OPERATIONS
from .searches import SLOPE, data_of, lookup

# ("input", argument, index), ("constant", number) or (operation, value numbers …)
Value = tuple[Any, ...]
Data = tuple[np.ndarray, np.ndarray]
INPUT, OUTPUT, CONSTANT, CALL = ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST, ca.OP_CALL
SQUARE, TWICE, INVERSE, ASSIGN = ca.OP_SQ, ca.OP_TWICE, ca.OP_INV, ca.OP_ASSIGN
LEAVES = ("input", "constant")
COMMUTATIVE = {each.name for each in OPERATIONS.values() if each.commutes}


@dataclass(frozen=True)
class Program:
    """Values in order of computation; ``outputs[k]`` are the numbers of the values of result k,
    column by column.

    ``calls`` are the operations that are no operations but results of functions that are called,
    almost always those of tables: which result of which function. The first result is computed from
    the arguments (of a search: the piece), the others from the first (what stands there).
    ``tables`` are the knots and columns that they look at.
    """

    values: list[Value]
    outputs: list[list[int]]
    sizes: tuple[int, ...]  # of the arguments
    calls: dict[str, tuple[ca.Function, int]] = field(default_factory=dict)
    tables: dict[str, Data] = field(default_factory=dict)

    @property
    def operations(self) -> int:
        """How many values are computed (neither inputs nor constants)."""
        return sum(value[0] not in LEAVES for value in self.values)

    @cached_property
    def uses(self) -> list[int]:
        """How often each value is used."""
        count = [0] * len(self.values)
        for value in self.values:
            for number in value[1:] if value[0] not in LEAVES else ():
                count[number] += 1
        for number in (n for output in self.outputs for n in output):
            count[number] += 1
        return count

    def computing(self, outputs: list[list[int]]) -> Program:
        """The program with other results, and only the values that they need, in the same order."""
        needed = [False] * len(self.values)
        for number in (n for output in outputs for n in output):
            needed[number] = True
        for number in range(len(self.values) - 1, -1, -1):
            value = self.values[number]
            if needed[number] and value[0] not in LEAVES:
                for argument in value[1:]:
                    needed[argument] = True
        numbers = [n for n, flag in enumerate(needed) if flag]
        new = {old: k for k, old in enumerate(numbers)}
        values = [_renumbered(self.values[old], new) for old in numbers]
        return replace(self, values=values, outputs=[[new[n] for n in out] for out in outputs])

    def missing(self, operations: Collection[str]) -> list[str]:
        """Names of what is used here and is neither one of these operations nor a table."""
        used = dict.fromkeys(value[0] for value in self.values if value[0] not in LEAVES)
        called = dict.fromkeys(function.name() for function, _ in self.calls.values())
        foreign = [f"function {name!r}" for name in called if name not in self.tables]
        return foreign + [name for name in used if name not in {*operations, *self.calls}]

    def evaluate(self, algebra: Algebra) -> list[list[Any]]:
        """The results on an algebra, entry by entry; what it misses is refused by name."""
        algebra.check(self)
        calls, values = self.calls, list[Any]()
        for (name, *operands), uses in zip(self.values, self.uses, strict=True):
            if name == "input":
                value = algebra.input(*operands)
            elif name == "constant":
                value = algebra.constant(*operands)
            else:
                given = [values[k] for k in operands]
                if name in calls:
                    value = algebra.call(*calls[name], given)
                else:
                    value = algebra.operation(name, given)
                value = algebra.shared(value, name, uses)
            values.append(value)
        return [[values[k] for k in output] for output in self.outputs]


def trace(function: ca.Function) -> Program:
    """The operations of an ``SX`` function, with equal ones merged and unused ones dropped."""
    return read(without_table_slopes(function))


def without_table_slopes(function: ca.Function) -> ca.Function:
    """A function without the derivatives of searches, which are zero: CasADi calls them
    whatever they are multiplied with."""
    if not any(SLOPE.match(each.name()) for each in function.find_functions(0)):
        return function
    x = function.sx_in()
    return ca.Function(function.name(), x, rebuild(function, read(function), Expressions(x)))


def rebuild(function: ca.Function, program: Program, algebra: Expressions) -> list[SX]:
    """The results of a function, put together anew from its program."""
    return [
        SX(function.sparsity_out(k), ca.vertcat(SX(0, 1), *entries))
        for k, entries in enumerate(program.evaluate(algebra))
    ]


def read(function: ca.Function, merged: bool = True) -> Program:
    """CasADi's instructions one after the other, in which derivatives of tables are zero; unless
    they are ``merged``, an operation is there as often as the function has it."""
    builder, called = _Builder(merged), _calls(function)
    number, work = builder.number, dict[int, int]()
    outputs: list[list[int]] = [[-1] * function.nnz_out(k) for k in range(function.n_out())]
    codes, targets = function.instruction_id, function.instruction_output
    sources, constant = function.instruction_input, function.instruction_constant
    for k in range(function.n_instructions()):
        code, target = codes(k), targets(k)
        if code == OUTPUT:
            outputs[target[0]][target[1]] = work[sources(k)[0]]
        elif code == INPUT:
            work[target[0]] = number(("input", *sources(k)))
        elif code == CONSTANT:
            work[target[0]] = number(("constant", constant(k)))
        elif code == CALL:
            found = builder.call(called[k], [work[slot] for slot in sources(k)], len(target))
            work |= {slot: n for slot, n in zip(target, found, strict=True) if slot >= 0}
        else:
            work[target[0]] = builder.operation(code, [work[slot] for slot in sources(k)])
    sizes = tuple(function.nnz_in(i) for i in range(function.n_in()))
    program = Program(builder.values, outputs, sizes, builder.calls, builder.tables)
    return program.computing(outputs) if called else program  # all else is used by something


def _calls(function: ca.Function) -> dict[int, ca.Function]:
    """The functions that an ``SX`` function calls, by the numbers of its instructions."""
    if not function.find_functions(0):
        return {}
    nodes, count = function.instructions_sx(), range(function.n_instructions())
    found = [k for k in count if function.instruction_id(k) == ca.OP_CALL]
    return {k: nodes[k].which_function() for k in found}


class _Builder:
    """A list of numbered values, in which the same operation on the same values is one value.

    CasADi has x², 2x and 1/x as operations of their own; here they are what they mean.
    """

    def __init__(self, merged: bool) -> None:
        self.merged = merged
        self.values: list[Value] = []
        self.known: dict[Value, int] = {}
        self.calls: dict[str, tuple[ca.Function, int]] = {}
        self.tables: dict[str, Data] = {}

    def number(self, value: Value) -> int:
        following = len(self.values)
        found = self.known.setdefault(value, following) if self.merged else following
        if found == following:
            self.values.append(value)
        return found

    def call(self, function: ca.Function, arguments: list[int], count: int) -> list[int]:
        """The results of a function that is called; derivatives of tables are zero."""
        if SLOPE.match(function.name()):
            return [self.number(("constant", 0.0))] * count
        name = function.name()
        if lookup(name) is None:
            name = f"call_{name}_{function.__hash__()}"
        else:
            self.tables[name] = data_of(function)
        self.calls |= {f"{name}_{k}" if k else name: (function, k) for k in range(count)}
        first = self.number((name, *arguments))
        return [first, *(self.number((f"{name}_{k}", first)) for k in range(1, count))]

    def operation(self, code: int, arguments: list[int]) -> int:
        if len(arguments) == 2:
            name, (a, b) = NAMES[code], arguments
            if name in COMMUTATIVE and (found := self.known.get((name, b, a))) is not None:
                return found
            return self.number((name, a, b))
        a = arguments[0]
        if code == SQUARE:
            return self.number(("mul", a, a))
        if code == TWICE:
            return self.number(("add", a, a))
        if code == INVERSE:
            return self.number(("div", self.number(("constant", 1.0)), a))
        return a if code == ASSIGN else self.number((NAMES[code], a))


def _renumbered(value: Value, new: dict[int, int]) -> Value:
    if value[0] in LEAVES:
        return value
    return value[0], *(new[argument] for argument in value[1:])
