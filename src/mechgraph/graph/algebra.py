"""Algebras: what the operations of a program are done on. A new one is a new output language."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ..errors import UnsupportedError
from .operations import CODES
from .searches import Lookup, lookup

if TYPE_CHECKING:
    from .program import Program


class Algebra(ABC):
    """The operations of a program in one language.

    ``operations`` has for each operation by name a function, or a text: the name of a function, or
    a format of the operands. One that is not there is refused by its name.
    """

    language: str
    operations: Mapping[str, Any]

    @abstractmethod
    def constant(self, value: float) -> Any:
        """A number."""

    @abstractmethod
    def input(self, argument: int, place: int) -> Any:
        """An entry of an argument."""

    def operation(self, name: str, operands: list[Any]) -> Any:
        """The result of an operation."""
        return self.operations[name](*operands)

    def call(self, function: ca.Function, place: int, operands: list[Any]) -> Any:
        """A result of a function that is called: the piece of a table at its arguments, or what
        stands there, at the piece."""
        table = lookup(function.name())
        assert table is not None  # ``check`` refuses others
        if place == 0:
            return self.piece(function.name(), table, operands)
        return self.entry(function.name(), table, place, operands[0])

    def piece(self, name: str, table: Lookup, at: list[Any]) -> Any:
        """The number of the piece at x; of a pick, the place of its row at two pieces."""
        raise self.refusal(f"table {table.table!r}")

    def entry(self, name: str, table: Lookup, place: int, piece: Any) -> Any:
        """The entry in a column of the table at a piece; columns are counted from one."""
        raise self.refusal(f"table {table.table!r}")

    def shared(self, value: Any, name: str, uses: int) -> Any:
        """A value as its users take it: it may get a name."""
        return value

    def check(self, program: Program) -> None:
        """Refuse a program with what this language has not."""
        missing = program.missing(self.operations)
        if missing:
            raise self.refusal(", ".join(missing))

    def refusal(self, missing: str) -> Exception:
        """The error for operations that this language has not."""
        return UnsupportedError(
            f"{self.language} has no form of {missing}; write it with mg.table, mg.if_else, "
            "mg.sin, … instead"
        )


class Text(Algebra):
    """Expressions as text. What is used more than once or is long stands in a ``line`` of its own,
    and has a name."""

    longest = 120  # letters of an expression without a name
    line = "{name} = {text}"

    def __init__(self) -> None:
        self.lines: list[str] = []

    def constant(self, value: float) -> str:
        if not math.isfinite(value):
            raise self.refusal(f"the number {value}")
        return repr(float(value)) if value >= 0 else f"({float(value)!r})"

    def operation(self, name: str, operands: list[str]) -> str:
        return written(self.operations[name], operands)

    def shared(self, value: str, name: str, uses: int) -> str:
        if uses < 2 and len(value) <= self.longest:
            return value
        word = f"v{len(self.lines)}"
        self.lines.append(self.line.format(name=word, text=value))
        return word


def written(form: str, operands: Sequence[str]) -> str:
    """An operation as text: a function of its operands, or a format of them, in brackets."""
    if "{" in form:
        return f"({form.format(*operands)})"
    return f"{form}({', '.join(operands)})"


class Expressions(Algebra):
    """CasADi expressions: a program put together anew, on other arguments."""

    language, operations = "CasADi", CODES

    def __init__(self, arguments: Sequence[SX]) -> None:
        self.inputs = [argument.nonzeros() for argument in arguments]
        self.results: dict[int, list[SX]] = {}  # of each call, by the first of them

    def constant(self, value: float) -> SX:
        return SX(value)

    def input(self, argument: int, place: int) -> SX:
        return self.inputs[argument][place]

    def operation(self, name: str, operands: list[SX]) -> SX:
        if len(operands) == 1:
            return SX.unary(CODES[name], operands[0])
        return SX.binary(CODES[name], operands[0], operands[1])

    def call(self, function: ca.Function, place: int, operands: list[SX]) -> SX:
        if place > 0:
            return self.results[operands[0].element_hash()][place]
        ends = np.cumsum([function.nnz_in(k) for k in range(function.n_in())]).tolist()
        arguments = [
            SX(function.sparsity_in(k), ca.vertcat(SX(0, 1), *operands[begin:end]))
            for k, (begin, end) in enumerate(pairwise([0, *ends]))
        ]
        entries = [entry for result in function.call(arguments) for entry in result.nonzeros()]
        self.results[entries[0].element_hash()] = entries
        return entries[0]

    def check(self, program: Program) -> None:
        """Whatever CasADi has is an expression."""
