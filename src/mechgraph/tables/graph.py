"""Tables in an expression graph: which are there, which refuse, and their slopes left out."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from .searches import SEARCH, data_of

SLOPE = re.compile(r"((fwd|adj)\d+_)+(wrap_)?(search|pick)_\d")


def calls(function: ca.Function) -> dict[int, ca.Function]:
    """The functions that an ``SX`` function calls, by the numbers of its instructions."""
    if not function.find_functions(0):
        return {}
    nodes, count = function.instructions_sx(), range(function.n_instructions())
    found = [k for k in count if function.instruction_id(k) == ca.OP_CALL]
    return {k: nodes[k].which_function() for k in found}


def searches(expression: SX) -> list[tuple[ca.Function, SX]]:
    """The searches in an expression, each with what it is asked for."""
    seen: set[int] = set()
    ahead = expression.nonzeros()
    found: dict[tuple[str, int], tuple[ca.Function, SX]] = {}
    while ahead:
        node = ahead.pop()
        if node.element_hash() in seen:
            continue
        seen.add(node.element_hash())
        parts = [node.dep(k) for k in range(node.n_dep())]
        if parts and node.op() == ca.OP_CALL and SEARCH.fullmatch(node.which_function().name()):
            function = node.which_function()
            found[function.name(), parts[0].element_hash()] = function, parts[0]
        ahead += parts
    return list(found.values())


def refusal(expression: SX, symbols: list[SX], values: list[Any], slack: float = 0.0) -> str | None:
    """What is to be said of a table in an expression that is asked beyond its points, but for a
    part of its length, and refuses; None if there is none."""
    if not ca.Function("f", ca.symvar(expression), [expression]).find_functions(0):
        return None
    for function, argument in searches(expression):
        knots, columns = data_of(function) or (np.zeros(0), np.zeros((1, 2)))
        if not np.isnan(columns[0, 1]):
            continue
        x = float(ca.Function("x", symbols, [argument])(*values))
        reach = slack * (knots[-1] - knots[0])
        if not knots[0] + reach <= x < knots[-1] - reach:
            name = SEARCH.fullmatch(function.name())[3]  # type: ignore[index]
            return (
                f"table {name!r} has points from {knots[0]:.6g} to {knots[-1]:.6g}, refuses what "
                f"is beyond them, and is at {x:.6g}; give it more of them, or outside='hold', "
                "'extend' or 'repeat'"
            )
    return None


def settled(function: ca.Function) -> ca.Function:
    """The same function without the derivatives of searches, which are zero: CasADi calls them
    whatever they are multiplied with."""
    if not any(SLOPE.match(each.name()) for each in function.find_functions(0)):
        return function
    return ca.Function(function.name(), function.sx_in(), rebuilt(function))


def rebuilt(
    function: ca.Function, change: Callable[[int, SX], SX] = lambda code, value: value
) -> list[SX]:
    """The results of a function, made again operation by operation, without derivatives of
    searches; each value may be changed, by the code of what it comes from."""
    called = calls(function)
    results = [SX(function.sparsity_out(k)) for k in range(function.n_out())]
    entries = [list(argument.nonzeros()) for argument in function.sx_in()]
    outputs: list[list[SX]] = [[SX(0)] * result.nnz() for result in results]
    work: dict[int, SX] = {}
    searched: dict[tuple[Any, ...], list[SX]] = {}
    for k in range(function.n_instructions()):
        code, source = function.instruction_id(k), function.instruction_input(k)
        target = function.instruction_output(k)
        if code == ca.OP_OUTPUT:
            outputs[target[0]][target[1]] = work[source[0]]
            continue
        if code == ca.OP_CALL:
            values = _called(called[k], [work[slot] for slot in source], searched)
            named = zip(target, values, strict=True)
            work |= {slot: change(code, value) for slot, value in named if slot >= 0}
            continue
        if code == ca.OP_INPUT:
            value = entries[source[0]][source[1]]
        elif code == ca.OP_CONST:
            value = SX(function.instruction_constant(k))
        elif len(source) == 1:
            value = SX.unary(code, work[source[0]])
        else:
            value = SX.binary(code, work[source[0]], work[source[1]])
        work[target[0]] = change(code, value)
    return [
        SX(result.sparsity(), ca.vertcat(SX(0, 1), *values))
        for result, values in zip(results, outputs, strict=True)
    ]


def _called(
    function: ca.Function, arguments: list[SX], known: dict[tuple[Any, ...], list[SX]]
) -> list[SX]:
    """The entries of the results of a call; the same one is made only once."""
    if SLOPE.match(function.name()):
        return [SX(0)] * sum(function.nnz_out(k) for k in range(function.n_out()))
    key = function.name(), *(argument.element_hash() for argument in arguments)
    if key not in known:
        ends = np.cumsum([function.nnz_in(k) for k in range(function.n_in())]).tolist()
        parts = [
            SX(
                function.sparsity_in(k),
                ca.vertcat(SX(0, 1), *arguments[ends[k - 1] if k else 0 : end]),
            )
            for k, end in enumerate(ends)
        ]
        known[key] = [entry for result in function.call(parts) for entry in result.nonzeros()]
    return known[key]
