"""The one search: least squares on manifolds, from many starts at once.

Sought is x with r(x) = 0. The rows r may be redundant, or fewer than the directions in which x can
move; a step δ lies in the tangent space, and ``move`` takes x along it, x ← x ⊕ δ. With the slopes
J of the rows along δ, a Levenberg–Marquardt step is the least of

    |J δ + r|² + μ |δ|²,        J = U Σ Vᵀ,        δ = −V Σ (Σ² + μ)⁻¹ Uᵀ r.

It is of least norm where μ vanishes, so what nothing depends on stays as it was, and x goes to what
is near (libraries that step in a flat space move along directions that change nothing). The damping
is μ = min(d, |r|) |r|: near the end it falls with |r|², and convergence is quadratic. Where a step
comes nearer, d becomes a fifth; where it does not, ten times as much, and it is tried again.

Rows and steps are in scale: slopes are about one, and so is a step that leads far. Then one rule
ends a search, whatever it is for. It has arrived where |r| is rounding (``EXACT``). It is as near
as it gets where a step below √ε does not come nearer: what the slopes leave out is δ², which is
rounding then, so that no other step will; or where no damping lets it come nearer.

Every start is a lane with a damping and an end of its own, as if it were alone; the rows of all
lanes that are still on the way are asked for at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np

from .rank import apply, transposed
from .tolerances import EPSILON, MET, RANK, WELL_HELD

Array = np.ndarray
Rows = Callable[[Array, Array], tuple[Array, Array]]  # r (n, m), J (n, m, k) at x (n, …) of lanes
Move = Callable[[Array, Array], Array]  # x ⊕ δ, of n lanes
Step = Callable[[Array, Array, Array, Array], Array]  # δ from x, r, J and μ, of n lanes

EXACT = 4 * EPSILON  # of |r| for each row, in scale: some operations of size one have gone into it
SHORT = EPSILON**0.5  # step whose square is rounding
STEPS = 200
# damping: of a step that may be taken whole; of what counts as zero; and where steps are short
FIRST, LEAST, HOPELESS = WELL_HELD, RANK**2, 1 / SHORT


class Found(NamedTuple):
    """Where the lanes ended, and the rows there with their slopes."""

    x: Array
    r: Array
    J: Array


def damped_step(x: Array, r: Array, J: Array, mu: Array) -> Array:
    """δ of least |J δ + r|² + μ |δ|², lane by lane, wherever x is."""
    U, sigma, Vt = np.linalg.svd(J, full_matrices=False)
    return -apply(transposed(Vt), sigma / (sigma**2 + mu[..., None]) * apply(transposed(U), r))


def search(
    rows: Rows,
    move: Move,
    starts: Array,
    enough: float | None = None,
    *,
    step: Step = damped_step,
    slow: float = 0.0,
    rivals: tuple[Array, float] | None = None,
    steps: int = STEPS,
) -> Found:
    """x with r(x) = 0, or of least |r|, from each of the starts (n, …).

    rows: r and J at the x of some lanes, in scale.
    move: x ⊕ δ.
    enough: |r| that needs no further step; rounding, if it is not given.
    step: δ from x, r, J and μ, where something limits it.
    slow: relative change of |r|² that leads nowhere.
    rivals: a number for each lane, and an |r|: where one lane comes below it, the others of the
        same number end.
    """
    x, active = np.array(starts, dtype=float), np.arange(len(starts))
    r, J = rows(x, active)
    size, damping = np.linalg.norm(r, axis=-1), np.full(len(x), FIRST)
    enough = EXACT * np.sqrt(r.shape[-1]) if enough is None else enough
    for _ in range(steps):
        here = size[active]
        active = active[(enough < here) & (here < np.inf) & (damping[active] <= HOPELESS)]
        if not active.size:
            break
        here = size[active]
        mu = np.maximum(np.minimum(damping[active], here) * here, LEAST)
        delta = step(x[active], r[active], J[active], mu)
        trial = move(x[active], delta)
        left, slopes = rows(trial, active)
        new = np.linalg.norm(left, axis=-1)
        better = new < here
        won = active[better]
        x[won], r[won], J[won], size[won] = trial[better], left[better], slopes[better], new[better]
        damping[active] *= np.where(better, 0.2, 10.0)
        on = np.where(better, new**2 <= (1 - slow) * here**2, _long(delta))
        active = active[on]
        if rivals is not None:
            lost = np.isin(rivals[0], rivals[0][size < rivals[1]]) & (size >= rivals[1])
            active = active[~lost[active]]
    return Found(x, r, J)


def _long(delta: Array) -> Array:
    return np.asarray(np.linalg.norm(delta, axis=-1) > SHORT)


def least_step(levels: Iterable[tuple[Array, Array]], tolerance: float = RANK) -> Array:
    """δ of least norm with J δ = −r, level by level (r, J): each as well as those before it allow;
    singular values below the tolerance, beside J, count as zero."""
    step, free = np.zeros(()), np.zeros(())
    for k, (r, J) in enumerate(levels):
        if k == 0:  # all is free: δ = free · y, with columns that are orthonormal or zero
            free = np.broadcast_to(np.eye(J.shape[-1]), (*J.shape[:-2], J.shape[-1], J.shape[-1]))
            step = np.zeros((*J.shape[:-2], J.shape[-1]))
        U, sigma, Vt = np.linalg.svd(J @ free, full_matrices=J.shape[-2] < J.shape[-1])
        held = sigma > tolerance * np.linalg.norm(J, axis=(-1, -2))[..., None]
        part = np.where(held, apply(transposed(U), r + apply(J, step)), 0) / np.where(
            held, sigma, 1
        )
        count = sigma.shape[-1]
        step = step - apply(free, apply(transposed(Vt[..., :count, :]), part))
        directions = transposed(Vt).copy()
        directions[..., :count] *= ~held[..., None, :]
        free = free @ directions
    return step


# --- rows in scale --------------------------------------------------------------------------------


def finite(r: Array, J: Array, unknown: float = np.inf) -> tuple[Array, Array]:
    """r and J; rows without a value or a slope (0/0, a root at zero) are infinitely wrong, and
    named so in the end."""
    finite = np.isfinite(r) & np.isfinite(J).all(axis=-1)
    return np.where(finite, r, unknown), np.where(finite[..., None], J, 0.0)


def lengths(squares: Array, groups: Sequence[str]) -> Array:
    """Lengths of slopes, from their squares, on the average of each group, so that components of a
    vector weigh the same; one for what is nothing (rounding) beside the others."""
    if not squares.size:
        return np.ones(0)
    _, which, count = np.unique(list(groups), return_inverse=True, return_counts=True)
    means = (np.bincount(which, squares) / count)[which]
    return np.where(means > MET**2 * squares.mean(), np.sqrt(means), 1.0)


def normal_by_name(random: np.random.Generator, names: Sequence[str]) -> Array:
    """A random number for each name, the same in whatever order they come."""
    numbers = np.empty(len(names))
    numbers[np.argsort(names)] = random.standard_normal(len(names))
    return numbers
