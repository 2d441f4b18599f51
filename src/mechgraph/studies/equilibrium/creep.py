"""Damped motion to rest.

With a drag σ against every variation of the coordinates, and without inertia, the system creeps,

    σ D δs = f + Gᵀλ,    A D δs = 0,

where D δs are the speeds of a variation. Implicit steps follow it, longer and longer (σ smaller and
smaller) as long as the forces do work along them; at σ = 0 they are Newton's. So it comes to rest
where the potential energy is least nearby, if there is one, however stiff or far.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ...numerics.rank import weighed_inverse
from ...numerics.tolerances import GIVEN, MET, ROUNDING, TINY
from .balance import REACH, Balance, BalanceRows, State, lengths

STEPS = 200
FIRST = 0.1  # length of the first step
CORRECTIONS = 8  # of Newton's method in a step
CONVERGED = 0.01  # the last of them, beside the step
LOST = 20  # steps that change no force, after which nothing is expected of more (a fall)
STIFFEST = 1 / ROUNDING  # growth of the drag at which nothing gives way any more


class Place(NamedTuple):
    """A state on the way."""

    balance: Balance
    state: State
    rows: BalanceRows
    D: np.ndarray
    A: np.ndarray

    @property
    def pushed(self) -> np.ndarray:
        """Indices of the force rows of what may move."""
        return np.flatnonzero(self.D.any(axis=1))

    @property
    def forces(self) -> np.ndarray:
        """What is left of them, with opposite sign."""
        return self.rows.values[self.pushed]


def crept(balance: Balance, state: State) -> State:
    """The state to which it creeps, or as far as it gets."""
    here = _place(balance, state)
    drag = first = max(float(np.abs(here.forces).max(initial=0.0)), TINY) / FIRST
    lost = 0
    for _ in range(STEPS):
        if drag > STIFFEST * first:
            break
        there, length = _after(here, drag)
        if there is None:
            drag *= 4
            continue
        lost = lost + 1 if np.allclose(here.forces, there.forces, rtol=GIVEN, atol=0.0) else 0
        here, drag = there, drag / 4
        if length < MET or lost == LOST:
            break
    return here.state


def _place(balance: Balance, state: State) -> Place:
    equations, (q, u) = balance.equations, state
    T = equations.numeric.evaluate("tangent", lambda: equations.terms.chart.tangent, 2, q)
    parameters = balance.given[1]
    given = q, None, 0.0, None, parameters
    N = equations.numeric.evaluate("N", lambda: equations.terms.N, 2, *given)
    A = equations.constraint_jacobian(q, u, 0.0, parameters)
    return Place(balance, state, balance(state), (weighed_inverse(N) @ T)[:, balance.moves], A)


def _after(here: Place, drag: float) -> tuple[Place | None, float]:
    """Where an implicit step leads, by Newton's method; nowhere, if that does not converge or the
    forces do no work. And how far that is."""
    place, total = here, np.zeros(here.D.shape[1])
    for _ in range(CORRECTIONS):
        step = _step(_matrix(place, drag), place, drag * (place.D @ total))
        if step is None:
            return None, 0.0
        there = _place(here.balance, _moved(place, step))
        if not np.isfinite(there.forces).all():
            return None, 0.0
        place, total = there, total + step
        if np.abs(step).max(initial=0.0) <= CONVERGED * np.abs(total).max(initial=0.0):
            work = -(here.forces + place.forces) @ (place.D[place.pushed] @ total)
            return (place if work > 0 else None), float(np.abs(total).max(initial=0.0))
    return None, 0.0


def _matrix(here: Place, drag: float) -> np.ndarray:
    """Of the step and of y: slopes of the forces, with the drag; of A a + b; and A D."""
    moves, scale = here.D.shape[1], here.balance.scale[:, None]
    slopes = np.hstack([here.rows.along[:, :moves], here.rows.own])
    slopes[here.pushed, :moves] += drag * here.D[here.pushed]
    held = np.hstack([here.A @ here.D, np.zeros((len(here.A), here.rows.own.shape[1]))])
    return np.vstack([(slopes / scale)[[*here.pushed, *here.balance.levels]], held])


def _step(K: np.ndarray, place: Place, dragged: np.ndarray) -> np.ndarray | None:
    """The step along the variations beside what was dragged so far; none if it leads too far."""
    rows = place.rows.values.copy()
    rows[: len(dragged)] += dragged
    left = (rows / place.balance.scale)[[*place.pushed, *place.balance.levels]]
    right = np.concatenate([-left, np.zeros(len(place.A))])
    if not (np.isfinite(K).all() and np.isfinite(right).all()):
        return None
    by = lengths(K)
    step = (weighed_inverse(K / by, ROUNDING) @ right / by)[: place.D.shape[1]]
    far = np.abs(step / place.balance.reach(place.state[0])).max(initial=0.0)
    return step if far <= REACH else None


def _moved(place: Place, step: np.ndarray) -> State:
    """The state after a step, back on the constraints."""
    balance, kept = place.balance, place.balance.constraints
    state = balance.moved(place.state, np.concatenate([step, np.zeros(len(balance.rates))]))

    def rows(state: State) -> tuple[np.ndarray, np.ndarray]:
        now, scale = balance(state), balance.scale
        return (now.values / scale)[kept], (now.along / scale[:, None])[kept]

    return balance.search(rows, state) if kept.any() else state
