"""States at which ranks are looked at: random ones, brought to the constraints."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from ..motion.chart import Chart
from ..motion.levels import Levels

COUNT, STEPS, SPREAD, TIME = 3, 60, 0.7, 0.37
ATTEMPTS = 12
MET = 1e-9  # violation up to which a state meets its constraints


class Samples:
    """A few random states of some equations; on their constraints, as far as these can be met."""

    def __init__(self, chart: Chart, levels: Levels) -> None:
        self._chart, s = chart, chart.symbols
        count, total = levels.phi.numel(), levels.psi.numel()
        self._arguments = ca.vertcat(s.q, s.u, s.udot, s.w, s.p, s.t)
        here = [s.q, s.u, s.p]
        now = SX(TIME)
        at = [ca.substitute(x, s.t, now) for x in (levels.phi, levels.psi, levels.A, chart.N)]
        self._rows = ca.Function(
            "rows", here, [at[0], at[1], at[2][:count, :], at[2][:total, :], at[3]]
        )
        self._parameters = np.array(s.defaults)
        random = np.random.default_rng(0)
        found = [self._state(random, attempt) for attempt in range(ATTEMPTS)]
        met = [state for state, ok in found if ok]
        self.met = bool(met)
        self._states = (met or [state for state, _ in found])[:COUNT]

    def _state(self, random: np.random.Generator, attempt: int) -> tuple[np.ndarray, bool]:
        s, chart = self._chart.symbols, self._chart
        spread = SPREAD * (1 + attempt) / 3
        q = np.array(chart.reference) + spread * random.standard_normal(len(s.coordinates))
        u, q = random.standard_normal(len(s.speeds)), chart.normalized(q)
        q, placed = self._placed(q)
        u, moving = self._moving(q, u)
        rest = [random.standard_normal(len(s.speeds)), np.zeros(len(s.inputs)), self._parameters]
        return np.concatenate([q, u, *rest, [TIME]]), placed and moving

    def _placed(self, q: np.ndarray) -> tuple[np.ndarray, bool]:
        """q with φ = 0, by Newton steps of least norm."""
        none = np.zeros(len(self._chart.symbols.speeds))
        for _ in range(STEPS):
            phi, _, A, _, N = (np.array(x) for x in self._rows(q, none, self._parameters))
            if not phi.size or np.abs(phi).max() < MET / 100:
                return q, True
            if not np.isfinite(phi).all() or not np.isfinite(A).all():
                return q, False
            step = N @ (np.linalg.pinv(A, rcond=1e-10) @ phi)[:, 0]
            q = self._chart.normalized(q - step * min(1.0, 1.0 / max(np.abs(step).max(), 1e-300)))
        return q, bool(np.abs(phi).max() < MET)

    def _moving(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, bool]:
        """u with ψ = 0."""
        for _ in range(STEPS):
            _, psi, _, A, _ = (np.array(x) for x in self._rows(q, u, self._parameters))
            if not psi.size or np.abs(psi).max() < MET / 100:
                return u, True
            if not np.isfinite(psi).all() or not np.isfinite(A).all():
                return u, False
            u = u - (np.linalg.pinv(A, rcond=1e-10) @ psi)[:, 0]
        return u, bool(np.abs(psi).max() < MET)

    def of(self, expression: SX) -> list[np.ndarray]:
        """A matrix at each of the states."""
        function = ca.Function("values", [self._arguments], [ca.densify(expression)])
        return [np.array(function(state)) for state in self._states]
