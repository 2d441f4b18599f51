"""Rounding: entries of expressions that are small beside the terms they are
made of.

Two hinges about one slanted axis close a loop by rows that hold for every angle. Their Jacobian is
zero, but for the rounding of the terms that cancel in it, and must not count as a constraint.

How large these terms are is tried out: every operation is made a little wrong, at random, and what
comes of that in the end, beside how wrong each was, is the size. (Bounds, which add up whatever the
signs are, grow with the length of a chain of rotations until everything in it is small.)
"""

from __future__ import annotations

from collections.abc import Iterator

import casadi as ca
import numpy as np
from casadi import SX

from ..numerics.tolerances import EPSILON, ROUNDING
from .algebra import Expressions
from .program import read, rebuild

LARGEST = 300_000  # operations; larger expressions are taken as they are
WRONG = EPSILON**0.5  # of its result that each operation is wrong by: neither rounding nor bent
TRIALS = 3


def is_rounding(
    expressions: SX, arguments: SX, states: np.ndarray, sources: SX | None = None
) -> np.ndarray:
    """For each entry of a dense column, True if at none of the states (rows) it is more than the
    rounding of its terms, or of those of what it is the slope of, its entry of ``sources``.

    Smaller constants are what is left of rotations that cancelled when they were composed.
    """
    count = expressions.numel()
    both = expressions if sources is None else ca.vertcat(expressions, sources)
    terms = sizes_of_terms(both, arguments, ROUNDING) if count else None
    if terms is None:
        return np.zeros(count, dtype=bool)
    function = ca.Function("f", [arguments], [expressions, terms])
    values, sizes = (np.array(found) for found in function(states.T))
    least = ROUNDING * sizes[:count]
    if sources is not None:
        least = np.maximum(least, ROUNDING * sizes[count:])
    # what is zero for sure is so because a parameter is: another value makes a constraint of it
    small = (np.abs(values) <= least) & (sizes[:count] > 0)
    return np.asarray((small & np.isfinite(least)).all(axis=1))


def sizes_of_terms(expressions: SX, arguments: SX, residue: float = 0.0) -> SX | None:
    """How large the terms are that the entries of a dense column are made of, as expressions; None
    if that is too much to ask. Constants below the residue are what is left of others, of size
    one."""
    function = ca.Function("f", [arguments], [expressions])
    if function.n_instructions() > LARGEST:
        return None
    wrong, count = _wrong(function, residue)
    plain, *trials = (wrong(arguments, each) for each in (1.0, *_factors(count)))
    return ca.densify(ca.sqrt(sum((trial - plain) ** 2 for trial in trials) / TRIALS) / WRONG)


class Tried:
    """A function of numbers that can be evaluated with every operation a little wrong."""

    def __init__(self, function: ca.Function) -> None:
        self._wrong, self._count = _wrong(function, ROUNDING, exact=True)

    def trials(self, *arguments: np.ndarray) -> Iterator[list[np.ndarray]]:
        """All results, as they are, and then a few times with wrong operations: their differences
        over ``WRONG`` are the sizes of the terms that they are made of."""
        for factors in (np.ones(self._count), *_factors(self._count)):
            yield [np.array(found) for found in self._wrong.call([*arguments, factors])]


def _factors(count: int) -> np.ndarray:
    random = np.random.default_rng(0)
    return np.asarray(1 + WRONG * random.standard_normal((TRIALS, count)))


def _wrong(function: ca.Function, residue: float, exact: bool = False) -> tuple[ca.Function, int]:
    """A function of the same arguments and of a factor for each operation, and how many these are.
    Equal operations are wrong on their own: what they leave when they cancel is rounding."""
    program = read(function, merged=False)
    factors = SX.sym("factor", len(program.values))
    arguments = function.sx_in()
    wrong = rebuild(function, program, _Wrong(arguments, factors, residue, exact))
    results = wrong if isinstance(wrong, list) else [wrong]
    return ca.Function("f", [*arguments, factors], results), factors.numel()


class _Wrong(Expressions):
    """Expressions in which the result of every operation, argument and constant is multiplied by a
    factor of its own, but for whole numbers, which are what they are. Constants below the residue
    are what is left of others, of size one; zeros, too, unless they are ``exact``."""

    def __init__(
        self, arguments: list[SX], factors: SX, residue: float, exact: bool = False
    ) -> None:
        super().__init__(arguments)
        self.factors, self.residue = iter(ca.vertsplit(factors)), residue
        self.exact = exact

    def input(self, argument: int, place: int) -> SX:
        return self.shared(super().input(argument, place))

    def constant(self, value: float) -> SX:
        number, factor = abs(value), next(self.factors)
        if number < self.residue and (number or not self.exact):
            return value + (factor - 1)
        return SX(value) if number.is_integer() else value + number * (factor - 1)

    def shared(self, value: SX, name: str = "", uses: int = 1) -> SX:
        wrong = SX.binary(ca.OP_MUL, value, next(self.factors))
        if self.results and value.element_hash() in self.results:  # the first one of a call
            self.results[wrong.element_hash()] = self.results[value.element_hash()]
        return wrong
