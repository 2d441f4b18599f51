"""Least squares on manifolds, of rows that may be redundant or fewer than the unknowns.

Libraries step in a flat space, and where a direction changes nothing they move along it; here steps
are those of least norm, so that what nothing depends on stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

import numpy as np

from ..numerics.tolerances import RANK

State = TypeVar("State")

STEPS = 200
HOPELESS = 1e8  # damping at which no step is left
SHORTEST = 1e-14  # step: if it does not help, what is left is rounding
NOTHING = 1e-26  # squared slopes, beside usual ones, that are none
LEAST = 1e-20  # damping beside which rounding counts for nothing


def settled(
    rows: Callable[[State], tuple[np.ndarray, np.ndarray]],
    moved: Callable[[State, np.ndarray], State],
    state: State,
    enough: float,
) -> tuple[State, np.ndarray]:
    """Levenberg–Marquardt steps until the rows vanish or nothing helps any more; what is left of
    them.

    rows: the residual r at a state, and its slopes J along the steps.
    moved: the state after a step.
    enough: the norm of r that needs no further step.
    """
    residual, J = rows(state)
    damping = 1e-3
    for _ in range(STEPS):
        size = float(np.linalg.norm(residual))
        if not enough < size < np.inf or damping > HOPELESS:
            break
        step = _damped(J, residual, max(min(damping, size) * size, LEAST))
        trial = moved(state, step)
        new, slopes = rows(trial)
        if np.linalg.norm(new) < size:
            state, residual, J, damping = trial, new, slopes, damping / 5
        elif np.linalg.norm(step) < SHORTEST:
            break
        else:
            damping *= 10
    return state, residual


def _damped(J: np.ndarray, residual: np.ndarray, damping: float) -> np.ndarray:
    """x of least |J x + r|² + damping |x|²."""
    U, sigma, Vt = np.linalg.svd(J, full_matrices=False)
    return -Vt.T @ (sigma / (sigma**2 + damping) * (U.T @ residual))


def in_order(
    levels: Iterable[tuple[np.ndarray, np.ndarray]], count: int, tolerance: float = RANK
) -> np.ndarray:
    """x of least norm with J x = r, level by level (J, r): each as well as those before it allow;
    singular values below the tolerance, beside J, count as zero."""
    step, free = np.zeros(count), np.eye(count)  # what is left free: an orthonormal basis
    for J, right in levels:
        U, sigma, Vt = np.linalg.svd(J @ free)
        kept = int((sigma > tolerance * np.linalg.norm(J)).sum())
        step = step + free @ (Vt[:kept].T @ (U[:, :kept].T @ (right - J @ step) / sigma[:kept]))
        free = free @ Vt[kept:].T
    return step


def known(
    residual: np.ndarray, J: np.ndarray, unknown: float = np.inf
) -> tuple[np.ndarray, np.ndarray]:
    """The same; rows without a value or a slope (0/0, a root at zero) are infinitely wrong, and
    named so in the end."""
    finite = np.isfinite(residual) & np.isfinite(J).all(axis=1)
    return np.where(finite, residual, unknown), np.where(finite[:, None], J, 0.0)


def evened(
    residual: np.ndarray, J: np.ndarray, groups: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """The same with slopes of length one, whatever the units of the rows are, on the average of
    each group."""
    sizes = lengths(np.sum(J**2, axis=1), groups)
    return residual / sizes, J / sizes[:, None]


def lengths(squares: np.ndarray, groups: Sequence[str]) -> np.ndarray:
    """Of slopes, from their squares, on the average of each group, so that components of a vector
    weigh the same; one for what is nothing beside the others."""
    if not squares.size:
        return np.ones(0)
    _, which, count = np.unique(list(groups), return_inverse=True, return_counts=True)
    means = (np.bincount(which, squares) / count)[which]
    return np.where(means > NOTHING * squares.mean(), np.sqrt(means), 1.0)


def scattered(random: np.random.Generator, names: Sequence[str]) -> np.ndarray:
    """A random number for each name, the same in whatever order they come."""
    numbers = np.empty(len(names))
    numbers[np.argsort(names)] = random.standard_normal(len(names))
    return numbers
