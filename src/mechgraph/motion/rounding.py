"""What is nothing but rounding: entries of expressions that are small beside the terms they are
made of.

Two hinges about one slanted axis close a loop by rows that hold for every angle. Their Jacobian is
zero, but for the rounding of the terms that cancel in it, and must not count as a constraint.

How large these terms are is tried out: every operation is made a little wrong, at random, and what
comes of that in the end, beside how wrong each was, is the size. (Bounds, which add up whatever the
signs are, grow with the length of a chain of rotations until everything in it is small.)
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from ..graph.algebra import Expressions
from ..graph.program import read, rebuilt

ROUNDING = 1e-13  # of the terms that an entry is made of
# smaller constants are what is left of rotations that cancelled when they were composed; slopes
# smaller than that, beside the terms of their row, are what is left of its lengths
RESIDUE = 1e-14
LARGEST = 300_000  # operations; larger expressions are taken as they are
WRONG = 1e-10  # of its result that each operation is wrong by
TRIALS = 3


def is_rounding(
    expressions: SX, arguments: SX, states: np.ndarray, sources: SX | None = None
) -> np.ndarray:
    """For each entry of a dense column, True if at none of the states (rows) it is more than the
    rounding of its terms, or of those of what it is the slope of, its entry of ``sources``."""
    count = expressions.numel()
    both = expressions if sources is None else ca.vertcat(expressions, sources)
    terms = sizes_of_terms(both, arguments, RESIDUE) if count else None
    if terms is None:
        return np.zeros(count, dtype=bool)
    function = ca.Function("f", [arguments], [expressions, terms])
    values, sizes = (np.array(found) for found in function(states.T))
    least = ROUNDING * sizes[:count]
    if sources is not None:
        least = np.maximum(least, RESIDUE * sizes[count:])
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
    # equal operations are wrong on their own: what they leave when they cancel is rounding
    program, random = read(function, merged=False), np.random.default_rng(0)
    factors = SX.sym("factor", len(program.values))
    wrong = rebuilt(function, program, _Wrong([arguments], factors, residue))
    perturbed = ca.Function("f", [arguments, factors], wrong)
    trials = 1 + WRONG * random.standard_normal((TRIALS, factors.numel()))
    plain, *others = (perturbed(arguments, each) for each in (1.0, *trials))
    return ca.densify(ca.sqrt(sum((other - plain) ** 2 for other in others) / TRIALS) / WRONG)


class _Wrong(Expressions):
    """Expressions in which the result of every operation, argument and constant is multiplied by a
    factor of its own, but for whole numbers, which are what they are."""

    def __init__(self, arguments: list[SX], factors: SX, residue: float) -> None:
        super().__init__(arguments)
        self.factors, self.residue = iter(ca.vertsplit(factors)), residue

    def input(self, argument: int, place: int) -> SX:
        return self.shared(super().input(argument, place))

    def constant(self, value: float) -> SX:
        number = abs(value)
        size = 1.0 if number < self.residue else 0.0 if number.is_integer() else number
        return value + size * (next(self.factors) - 1)

    def shared(self, value: SX, name: str = "", uses: int = 1) -> SX:
        wrong = SX.binary(ca.OP_MUL, value, next(self.factors))
        if self.results and value.element_hash() in self.results:  # the first one of a call
            self.results[wrong.element_hash()] = self.results[value.element_hash()]
        return wrong
