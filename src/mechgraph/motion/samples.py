"""States at which ranks are looked at: random ones, brought to the constraints."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import scipy.linalg
from casadi import SX

from ..numerics.scales import even_factors, multiplied, usual_lengths
from .chart import Chart
from .levels import Levels

COUNT, STEPS, SPREAD, TIME = 3, 40, 0.7, 0.37
ATTEMPTS, MOST_ATTEMPTS = 6, 30  # for all of the states, and for one at all
STUCK = 6  # steps without progress after which a state is given up
MET = 1e-9  # violation up to which a state meets its constraints


class Samples:
    """A few random states of some equations; on their constraints, as far as these can be met, with
    ``signs`` that are positive (of closing equations that hold the wrong way round, too)."""

    def __init__(self, chart: Chart, levels: Levels, signs: SX | None = None) -> None:
        self._chart, s = chart, chart.symbols
        count, total = levels.phi.numel(), levels.psi.numel()
        self._arguments = ca.vertcat(s.q, s.u, s.udot, s.w, s.p, s.t)
        here = [s.q, s.u, s.p]
        now = SX(TIME)
        at = [ca.substitute(x, s.t, now) for x in (levels.phi, levels.psi, levels.A, chart.N)]
        self._parameters = np.array(s.defaults)
        factors = even_factors(self._usual_lengths(levels.A))
        at[:3] = map(multiplied, (factors[:count], factors[:total], factors), at[:3])
        self._rows = ca.Function(
            "rows", here, [at[0], at[1], at[2][:count, :], at[2][:total, :], at[3]]
        )
        self._signs = ca.Function(
            "signs", [self._arguments], [SX(0, 1) if signs is None else signs]
        )
        random = np.random.default_rng(0)
        met: list[np.ndarray] = []
        others: list[np.ndarray] = []
        for attempt in range(1, (ATTEMPTS if signs is None else MOST_ATTEMPTS) + 1):
            state, ok = self._state(random, 1 + (attempt - 1) % ATTEMPTS)
            (met if ok else others).append(state)
            if len(met) == COUNT or (met and attempt >= ATTEMPTS):
                break
        if not met:  # where rows are more than can be met elsewhere, the reference may meet them
            state, ok = self._state(random, 0)
            (met if ok else others).append(state)
        self.met = bool(met)
        self._states = (met or others)[:COUNT]
        self._names = levels.names

    def _usual_lengths(self, A: SX) -> np.ndarray:
        """Of the rows, at states that need not meet them."""
        s, random = self._chart.symbols, np.random.default_rng(0)
        states = np.zeros((COUNT, self._arguments.numel()))
        states[:, -1], states[:, -1 - len(s.parameters) : -1] = TIME, self._parameters
        n, m = len(s.coordinates), len(s.speeds)
        states[:, :n] = self._chart.scattered(random, COUNT)
        states[:, n : n + m] = random.standard_normal((COUNT, m))
        return usual_lengths(A, self._arguments, states)

    def unmet(self) -> list[str]:
        """Names of the rows that are not met at the state that came nearest."""
        n, m = len(self._chart.symbols.coordinates), len(self._chart.symbols.speeds)
        found = []
        for state in self._states:
            phi, psi = self._rows(state[:n], state[n : n + m], self._parameters)[:2]
            sizes = np.zeros(len(self._names))
            sizes[: phi.numel()] = np.abs(np.array(phi)[:, 0])
            moving = np.abs(np.array(psi)[:, 0])
            sizes[: len(moving)] = np.maximum(sizes[: len(moving)], moving)
            found.append(sizes)
        least = min(found, key=lambda sizes: float(sizes.max(initial=0.0)))
        return [name for name, size in zip(self._names, least, strict=True) if size > MET]

    def _state(self, random: np.random.Generator, attempt: int) -> tuple[np.ndarray, bool]:
        s, chart = self._chart.symbols, self._chart
        spread = SPREAD * attempt / 3
        q = np.array(chart.reference) + spread * random.standard_normal(len(s.coordinates))
        u, q = random.standard_normal(len(s.speeds)), chart.normalized(q)
        q, placed = self._placed(q)
        u, moving = self._moving(q, u)
        rest = [random.standard_normal(len(s.speeds)), np.zeros(len(s.inputs)), self._parameters]
        state = np.concatenate([q, u, *rest, [TIME]])
        return state, placed and moving and bool((np.array(self._signs(state)) > 0).all())

    def _placed(self, q: np.ndarray) -> tuple[np.ndarray, bool]:
        """q with φ = 0, by Newton steps of least norm."""
        none = np.zeros(len(self._chart.symbols.speeds))

        def rows(q: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            phi, _, A, _, N = self._rows(q, none, self._parameters)
            return np.array(phi)[:, 0], np.array(A), np.array(N)

        return _newton(rows, q, self._chart.normalized)

    def _moving(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, bool]:
        """u with ψ = 0."""
        unit = np.eye(len(u))

        def rows(u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
            _, psi, _, A, _ = self._rows(q, u, self._parameters)
            return np.array(psi)[:, 0], np.array(A), unit

        return _newton(rows, u, lambda u: u)

    def lengths(self, expression: SX) -> np.ndarray:
        """The longest that each row of a matrix is at the states; one for rows of zeros."""
        return usual_lengths(expression, self._arguments, np.array(self._states))

    def of(self, expression: SX) -> list[np.ndarray]:
        """A matrix at each of the states."""
        function = ca.Function("values", [self._arguments], [ca.densify(expression)])
        return [np.array(function(state)) for state in self._states]


def _newton(
    rows: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]],
    x: np.ndarray,
    settled: Callable[[np.ndarray], np.ndarray],
) -> tuple[np.ndarray, bool]:
    """x with rows of zero, from their values, slopes A, and x' = N u; and whether it was found."""
    least, stuck = np.inf, 0
    for _ in range(STEPS):
        values, A, N = rows(x)
        left = np.abs(values).max(initial=0.0)
        if left < MET / 100:
            return x, True
        stuck = stuck + 1 if left > 0.9 * least else 0
        least = min(least, left)
        if stuck > STUCK or not np.isfinite(values).all() or not np.isfinite(A).all():
            break
        step = N @ scipy.linalg.lstsq(A, values, cond=1e-10, lapack_driver="gelsy")[0]
        x = settled(x - step * min(1.0, 1.0 / max(np.abs(step).max(initial=0.0), 1e-300)))
    return x, bool(least < MET)
