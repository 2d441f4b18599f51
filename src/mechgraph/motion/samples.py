"""States at which ranks are looked at: random ones, brought to the constraints."""

from __future__ import annotations

from collections.abc import Sequence

import casadi as ca
import numpy as np
from casadi import SX

from ..functions import on_rows
from ..numerics.scales import even_factors, multiply_rows, usual_lengths
from ..numerics.search import Move, Rows, finite, lengths, search
from ..numerics.tolerances import GIVEN
from .chart import Chart
from .levels import Levels

COUNT, SPREAD, TIME = 3, 0.7, 0.37
ATTEMPTS, MORE = 6, 24  # states that are tried, and where they have to have signs and none has
NEAR = GIVEN**0.5  # of a singular reference: rows that have no slope there grow with the square


class Samples:
    """A few random states of some equations; on their constraints, as far as these can be met, with
    ``signs`` that are positive (of closing equations that hold the wrong way round, too)."""

    def __init__(self, chart: Chart, levels: Levels, signs: SX | None = None) -> None:
        self._chart, s = chart, chart.symbols
        count, total = levels.phi.numel(), levels.psi.numel()
        self._arguments = ca.vertcat(s.q, s.u, s.udot, s.w, s.p, s.t)
        rows = levels.phi, levels.psi, levels.A[:count, :], levels.A[:total, :], chart.N
        now = [ca.densify(ca.substitute(x, s.t, SX(TIME))) for x in rows]
        self._parameters, self._names = np.array(s.defaults), levels.names
        factors = even_factors(self._usual_lengths(levels.A))
        each = factors[:count], factors[:total], factors[:count], factors[:total]
        now[:4] = map(multiply_rows, each, now[:4])
        self._rows = ca.Function("rows", [s.q, s.u, s.p], now)
        self._signs = ca.Function(
            "signs", [self._arguments], [SX(0, 1) if signs is None else signs]
        )
        random = np.random.default_rng(0)
        states, met = self._try(random, [1 + k for k in range(ATTEMPTS)])
        rounds: list[list[float]] = (
            [] if signs is None else [[1 + k % ATTEMPTS for k in range(MORE)]]
        )
        # the reference may meet rows that cannot be met elsewhere; so near it they are met as
        # well, and their rank is that of a position that is not singular
        for spreads in (*rounds, [NEAR] * COUNT, [0]):
            if not met.any():
                more = self._try(random, spreads)
                states, met = np.concatenate([states, more[0]]), np.concatenate([met, more[1]])
        self.met = bool(met.any())
        self._states = list((states[met] if self.met else states)[:COUNT])

    def _usual_lengths(self, A: SX) -> np.ndarray:
        """Usual lengths of the rows, at states that need not meet them."""
        s, random = self._chart.symbols, np.random.default_rng(0)
        states = np.zeros((COUNT, self._arguments.numel()))
        states[:, -1], states[:, -1 - len(s.parameters) : -1] = TIME, self._parameters
        n, m = len(s.coordinates), len(s.speeds)
        states[:, :n] = self._chart.scattered(random, COUNT)
        states[:, n : n + m] = random.standard_normal((COUNT, m))
        return usual_lengths(A, self._arguments, states)

    def lengths(self, expression: SX) -> np.ndarray:
        """The longest that each row of a matrix is at the states; one for rows of zeros."""
        return usual_lengths(expression, self._arguments, np.array(self._states))

    def unmet(self) -> list[str]:
        """Names of the rows that are not met at the state that came nearest."""
        n, m = len(self._chart.symbols.coordinates), len(self._chart.symbols.speeds)
        states = np.array(self._states)
        phi, psi, *_ = self._values(states[:, :n], states[:, n : n + m])
        sizes = np.zeros((len(states), len(self._names)))
        sizes[:, : phi.shape[1]] = np.abs(phi)
        moving = sizes[:, : psi.shape[1]]
        np.maximum(moving, np.abs(psi), out=moving)
        least = sizes[sizes.max(axis=1, initial=0.0).argmin()]
        return [name for name, size in zip(self._names, least, strict=True) if size > GIVEN]

    def of(self, expression: SX) -> list[np.ndarray]:
        """A matrix at each of the states."""
        function = ca.Function("values", [self._arguments], [ca.densify(expression)])
        return [np.array(function(state)) for state in self._states]

    def _try(
        self, random: np.random.Generator, spreads: Sequence[float]
    ) -> tuple[np.ndarray, np.ndarray]:
        """Random states, as near to their constraints as they come, and which of them meet them."""
        s, chart = self._chart.symbols, self._chart
        kinds = len(s.coordinates), len(s.speeds), len(s.speeds)
        drawn = [[random.standard_normal(kind) for kind in kinds] for _ in spreads]
        steps, u, udot = (np.array(part) for part in zip(*drawn, strict=True))
        q = np.array(chart.reference) + SPREAD / 3 * np.array(spreads)[:, None] * steps
        q, placed = self._place(chart.normalized(q))
        u, moving = self._set_in_motion(q, u)
        given = [*np.zeros(len(s.inputs)), *self._parameters, TIME]
        states = np.hstack([q, u, udot, np.tile(given, (len(q), 1))])
        signs = np.array([np.array(self._signs(state)).ravel() for state in states])
        return states, placed & moving & (signs > 0).all(axis=1)

    def _place(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """q with φ = 0, and where it was found."""
        chart, none = self._chart, np.zeros((len(q), len(self._chart.symbols.speeds)))

        def rows(q: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            phi, _, A, _, _ = self._values(q, none[: len(q)])
            return finite(phi, A)

        def move(q: np.ndarray, step: np.ndarray) -> np.ndarray:
            N = self._values(q, none[: len(q)])[4]
            return chart.normalized(q + (N @ step[..., None])[..., 0])

        return _search(rows, move, q)

    def _set_in_motion(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """u with ψ = 0, and where it was found."""

        def rows(u: np.ndarray, lanes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            _, psi, _, A, _ = self._values(q[lanes], u)
            return finite(psi, A)

        return _search(rows, np.add, u)

    def _values(self, q: np.ndarray, u: np.ndarray) -> list[np.ndarray]:
        """φ, ψ, their slopes along the speeds, and N, at each of some states."""
        constants = np.tile(self._parameters, (len(q), 1))
        phi, psi, *matrices = on_rows(self._rows, q, u, constants)
        return [phi[..., 0], psi[..., 0], *matrices]


def _search(rows: Rows, move: Move, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """States that the search comes to, with rows in scale of their slopes at the starts; and where
    they are met."""
    squares = np.mean(np.sum(rows(starts, np.arange(len(starts)))[1] ** 2, axis=-1), axis=0)
    sizes = lengths(squares, [str(k) for k in range(len(squares))])

    def scaled(x: np.ndarray, lanes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r, J = rows(x, lanes)
        return r / sizes, J / sizes[:, None]

    end = search(scaled, move, starts)
    return end.x, np.abs(end.r * sizes).max(axis=-1, initial=0.0) < GIVEN
