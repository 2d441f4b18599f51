"""The search for a state at which the rows of a balance vanish.

Levenberg–Marquardt steps find the one near the guess, be it stable or not. Where a residual has
valleys (a mass on a stiff spring) they get stuck; what then helps is to let go: with a drag σ against
every variation the system creeps to rest,

    σ D δs = f + Gᵀλ,    A D δs = 0,

in implicit steps, longer and longer as long as the forces do work along them. Both begin at the
guess, and of what they find the nearer is taken; if they find nothing, they begin beside it.
"""

from __future__ import annotations

from collections.abc import Iterator
from zlib import crc32

import numpy as np

from ...errors import AssemblyError
from ..least_squares import settled
from .balance import REACH, Balance, Rows, State, inverse

SPREADS = (0.0, 0.1, 0.3, 1.0, 3.0)  # of the starts about the guess
CREEPS = 300  # steps of the damped motion
FIRST = 0.1  # length of the first one
SHORT = 1e-10  # of the last one
STIFFEST = 1e14  # growth of the drag at which nothing gives way any more
EXACT = 1e-16  # error that no step makes smaller
LASTING = 1e-8  # tolerance of the rows after a while
STILL = 1e-9  # speeds that lead nowhere


def found(balance: Balance, start: State) -> State:
    """A state at which all rows vanish, and go on doing so."""
    tried: list[State] = []
    for begin in _starts(balance, start):
        ends = [_settled(balance, begin), _settled(balance, _crept(balance, begin))]
        good = [end for end in ends if not balance(end).unmet().any()]
        lasting = [end for end in good if not _later(balance, end).unmet(LASTING).any()]
        if lasting:
            return min(lasting, key=lambda end: _distance(start, end))
        tried += ends
    raise AssemblyError(_failure(balance, tried))


def _starts(balance: Balance, start: State) -> Iterator[State]:
    """The guess and states beside it, the same whatever the order of the description."""
    names = [*balance.equations.terms.chart.variations, *balance.equations.speeds]
    seeds = [crc32(names[i].encode()) for i in balance.moves]
    seeds += [crc32(names[balance.count + i].encode()) for i in balance.rates]
    for spread in SPREADS:
        step = [np.random.default_rng(seed).uniform(-spread, spread) for seed in seeds]
        yield balance.moved(start, np.array(step)) if spread else start


def _distance(start: State, end: State) -> float:
    fast = 1 + np.abs(start[1]).max(initial=0.0)
    return float(np.hypot(*(np.linalg.norm(a - b) for a, b in zip(start, end, strict=True)))/fast)


def _settled(balance: Balance, start: State) -> State:
    """Levenberg–Marquardt steps on all rows, without what y can do."""

    def rows(state: State) -> tuple[np.ndarray, np.ndarray]:
        now, scale = balance(state), balance.scale[:, None]
        own = now.own / scale
        rest = np.eye(len(own)) - own @ inverse(own)
        return now.values / balance.scale, rest @ (now.along / scale)

    return settled(rows, balance.moved, start, EXACT)[0]


# --- the damped motion ----------------------------------------------------------------------------


def _crept(balance: Balance, state: State) -> State:
    """The state to which it creeps, or as far as it gets."""
    here = _Creep(balance, state)
    first = drag = max(here.push, 1e-300) / FIRST
    for _ in range(CREEPS):
        if not here.finite or drag > STIFFEST * first:
            break
        there = here.after(drag)
        if there is None:
            drag *= 4
        elif there.length < SHORT:
            return there.state
        else:
            here, drag = there, drag / 4
    return here.state


class _Creep:
    """A state of the damped motion."""

    def __init__(self, balance: Balance, state: State) -> None:
        self.balance, self.state, self.length = balance, state, 0.0
        q, u = state
        self.rows: Rows = balance(state)
        self.finite = bool(np.isfinite(self.rows.values).all())
        equations = balance.equations
        T = equations.numeric.evaluate("tangent", lambda: equations.terms.chart.tangent, 2, q)
        N = equations.numeric.evaluate("N", lambda: equations.terms.N, 2, q)
        self.D = (np.linalg.pinv(N) @ T)[:, balance.moves]  # speeds of the variations
        n = len(u)
        self.forces = np.flatnonzero(self.D.any(axis=1))
        m = len(equations.constraints)
        self.levels = (1 + balance.moving) * n + np.arange(m)
        self.A = equations.constraint_jacobian(q, u, 0.0, balance.given[1])

    @property
    def push(self) -> float:
        return float(np.abs(self.rows.values[self.forces]).max(initial=0.0))

    def work(self, step: np.ndarray, other: _Creep) -> float:
        """Of the forces, negative, from here to another state."""
        mean = (self.rows.values + other.rows.values)[self.forces] / 2
        return float(mean @ (self.D[self.forces] @ step))

    def after(self, drag: float) -> _Creep | None:
        """The state after an implicit step and a second one with the same slopes, which takes back
        what the first leaves in stiff directions; none if the forces do not do work along them."""
        middle = self._stepped(self, drag)
        end = None if middle is None else middle[0]._stepped(self, drag)
        if middle is None or end is None:
            return None
        work = self.work(middle[1], middle[0]) + middle[0].work(end[1], end[0])
        if not work < 0:
            return None
        end[0].length = float(np.abs(middle[1]).max() + np.abs(end[1]).max())
        return end[0]
    
    def _stepped(self, slopes: _Creep, drag: float):
        count, scale = len(self.balance.moves), self.balance.scale
        rows, seen = [*self.forces, *self.levels], slopes.rows
        along = seen.along[:, :count].copy()
        along[self.forces] += drag * slopes.D[self.forces]
        K = np.hstack([along, seen.own])[rows] / scale[rows, None]
        K = np.vstack([K, np.hstack([slopes.A @ slopes.D, np.zeros((len(slopes.A), seen.own.shape[1]))])])
        right = np.concatenate([-self.rows.values[rows] / scale[rows], np.zeros(len(slopes.A))])
        if not (np.isfinite(K).all() and np.isfinite(right).all()):
            return None
        lengths = np.linalg.norm(K, axis=0)
        lengths[lengths == 0] = 1.0
        step = (np.linalg.lstsq(K / lengths, right, rcond=1e-14)[0] / lengths)[:count]
        if np.abs(step).max(initial=0.0) > REACH:
            return None
        return _Creep(self.balance, _restored(self.balance, self.balance.moved(self.state, np.concatenate([step, np.zeros(len(self.balance.rates))])))), step


def _restored(balance: Balance, state: State) -> State:
    """The state back on its constraints."""
    kept = balance.constraints
    if not kept.any():
        return state

    def rows(state: State) -> tuple[np.ndarray, np.ndarray]:
        now = balance(state)
        return (now.values / balance.scale)[kept], (now.along / balance.scale[:, None])[kept]

    return settled(rows, balance.moved, state, 1e-13)[0]


# --- a while later --------------------------------------------------------------------------------


def _later(balance: Balance, state: State) -> Rows:
    """The rows after the fastest coordinate has moved by a tenth (Runge–Kutta): what is steady for
    an instant only does not meet them."""
    q, u = state
    fast = float(np.abs(u).max(initial=0.0))
    if fast >= STILL:
        for _ in range(10):
            h = 0.01 / fast
            k1 = _rates(balance, q, u)
            k2 = _rates(balance, q + h / 2 * k1, u)
            k3 = _rates(balance, q + h / 2 * k2, u)
            k4 = _rates(balance, q + h * k3, u)
            q = q + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            q = balance.equations.terms.chart.normalized(q)
    rows = balance((q, _followed(balance, q, u)))
    rows.values[len(rows.values) - len(balance.values) :] = 0.0  # what is held may well move on
    return rows


def _rates(balance: Balance, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    return balance.equations.coordinate_rates(q, _followed(balance, q, u))


def _followed(balance: Balance, q: np.ndarray, u: np.ndarray) -> np.ndarray:
    """The speeds, those that may change as ψ gives them."""
    own, u, p = balance.changing, u.copy(), balance.given[1]
    psi = balance.equations.velocity_violation(q, u, 0.0, p)
    A = balance.equations.constraint_jacobian(q, u, 0.0, p)[: len(psi), own]
    u[own] -= np.linalg.pinv(A, rcond=1e-9) @ psi
    return u


# --- failure --------------------------------------------------------------------------------------


def _failure(balance: Balance, tried: list[State]) -> str:
    """What was tried, how near it came, and what is left there."""
    errors = [np.linalg.norm(np.nan_to_num(balance(end).values / balance.scale, nan=np.inf)) for end in tried]
    best = tried[int(np.argmin(errors))]
    rows = balance(best)
    if not rows.unmet().any():
        return "the motion found near the guess is steady for an instant only: then " + _left(balance, _later(balance, best))
    return f"no steady state found near the guess (Levenberg–Marquardt and damped motion from {len(SPREADS)} starts): where they come nearest, {_left(balance, rows)}; give a guess nearer to one, or hold fewer names"


def _left(balance: Balance, rows: Rows) -> str:
    worst = int(np.argmax(np.abs(rows.values) / balance.scale))
    does = "still changes" if balance.forces[worst] else "is not met"
    return f"{balance.names[worst]!r} {does} (unbalanced by {abs(rows.values[worst]):.3g})"
