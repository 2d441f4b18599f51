"""Positions at which the constraints leave more motions to first order than there are.

A small step is made along each motion v that they leave there, ∂φ/∂q T v = 0, and from its end back
to the constraints; lengths are measured by the size of the bodies. Where the mechanism is locked
the steps lead back, all of them or what they have in common; at a branch point they lead to where
the constraints are of higher rank.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca
import numpy as np
from casadi import SX

from ...numerics.rank import Independent, null_space, rank, weighed_inverse
from ...numerics.search import search
from ...numerics.tolerances import KNOWN
from ..projection import moved
from .variational import OperatingPoint

if TYPE_CHECKING:
    from ...equations import Equations

STEP = KNOWN**0.5  # of a move that shows whether a freedom is one
GONE = 0.3  # of the step that is gone where it is one
HELD = 0.01  # of how a step is held before it is led back
RISEN = KNOWN  # STEP²: fraction of the largest singular value that shows a row that was none before

Slopes = Callable[[np.ndarray], list[np.ndarray]]  # φ, ∂φ/∂q T and T at a position


class End(NamedTuple):
    """How far a step has led along the variations, in units of it, the slopes there, and what they
    were before it was led back."""

    gone: np.ndarray
    slopes: np.ndarray
    before: np.ndarray

    def holds(self, free: np.ndarray) -> bool:
        """Whether what was free is held there, rather than on its way back to where it is not."""
        held, before = (np.linalg.norm(x @ free) for x in (self.slopes, self.before))
        return bool(np.linalg.norm(self.gone) > GONE and held > HELD * before)


def warn_if_singular(equations: Equations, state: OperatingPoint) -> None:
    """Say so where motions that are possible to first order are none, or not together."""
    if not equations.terms.phi.numel() or equations.numeric.large:
        return
    at = _slopes(equations, state)
    _, slopes, T = at(state.q)
    usual = equations.terms.scales.rows[: len(slopes)]
    free = null_space(slopes, usual)
    if not free.size:
        return
    ends = list(_ends(equations, state.q, free.T, T, at))
    far = [end.slopes for end in ends if end.holds(free)]
    branches = [there for there in far if _held(there, usual) > rank(slopes, usual)]
    if branches:
        _warn_of_branches(equations, free, branches[0])
    else:
        _warn_if_locked(equations, free, np.array([end.gone for end in ends]))


def _held(slopes: np.ndarray, usual: np.ndarray) -> int:
    """How many motions the rows hold for sure, a step beside a singular position."""
    sigma = Independent(slopes, usual).sigma
    return int((sigma > RISEN * sigma.max(initial=0.0)).sum())


def _slopes(equations: Equations, state: OperatingPoint) -> Slopes:
    terms = equations.terms

    def expressions() -> list[SX]:
        T = terms.chart.tangent @ ca.diag(terms.chart.spans(terms.chart.variations))
        return [terms.phi, ca.jacobian(terms.phi, terms.symbols.q) @ T, T]

    kernel = equations.numeric.kernel("position slopes", expressions, [1, 2, 2])
    given = None, state.t, None, state.parameters
    return lambda q: kernel(*equations.numeric.arguments(q, *given))


def _ends(
    equations: Equations, begin: np.ndarray, directions: np.ndarray, T: np.ndarray, at: Slopes
) -> Iterator[End]:
    """Where a small step along each of the directions leads, back on the constraints."""
    spans = equations.terms.chart.spans(equations.terms.chart.variations)

    def rows(q: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        phi, slopes, _ = at(q)
        return phi, slopes

    def move(q: np.ndarray, step: np.ndarray) -> np.ndarray:
        return moved(equations, q, spans * step)

    starts = move(np.tile(begin, (len(directions), 1)), STEP * directions)
    end, before = search(rows, move, starts), at(starts)[1]
    back = weighed_inverse(T)
    for q, here, slopes in zip(end.x, end.J, before, strict=True):
        yield End(back @ (q - begin) / STEP, here, slopes)


def _warn_of_branches(equations: Equations, free: np.ndarray, slopes: np.ndarray) -> None:
    """``slopes`` are those on one of the branches, which hold something of what is free."""
    held = np.linalg.svd(slopes @ free)[2][0]
    warnings.warn(
        "motions part here: the constraints lose rank, and what they leave free to first order is "
        f"not possible together, {_moving(equations, free @ held)!r} not with the rest; the linear "
        "model is that of no motion. Linearize a little beside this position, on the branch that "
        "is meant",
        stacklevel=4,
    )


def _warn_if_locked(equations: Equations, free: np.ndarray, gone: np.ndarray) -> None:
    """``gone`` has a row for each column of ``free``; what they have least of is locked."""
    directions, sizes, _ = np.linalg.svd(free.T @ gone.T)
    if sizes[-1] < GONE:
        name = _moving(equations, free @ directions[:, -1])
        warnings.warn(
            f"the mechanism is locked here: its constraints leave {name!r} free to first order "
            "only, so that it does not move; the linear model tells nothing of it",
            stacklevel=4,
        )


def _moving(equations: Equations, direction: np.ndarray) -> str:
    """The variation that is most part of a motion."""
    return equations.terms.chart.variations[int(np.abs(direction).argmax())]
