"""Rollouts with controllers: all trajectories go on together from sample to sample.

Laws that are expressions are part of the machine code, at every stage of a step; sampled ones are
evaluated for all trajectories at once. Python functions get the states of all trajectories, a row
for each, at each sample, or at each step, over which what they return is held.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import TYPE_CHECKING, Any

import numpy as np
from casadi import SX

from ..errors import ArgumentError, UnsupportedError
from ..kernels.compiler import CompilationFailure, report
from ..kernels.flow import Rollout
from .simulation.context import given_inputs, is_law
from .simulation.loop import Call, close

if TYPE_CHECKING:
    from ..equations import Equations

# (t, q, u, told) -> values
Ask = Callable[[float, np.ndarray, np.ndarray, np.ndarray], np.ndarray]
# (start, told, t, steps) -> states after each step
Advance = Callable[[np.ndarray, np.ndarray, float, int], np.ndarray]


def has_laws(inputs: Any) -> bool:
    """Whether inputs of a rollout are, or have among them, controllers."""
    return is_law(inputs) or (isinstance(inputs, dict) and any(map(is_law, inputs.values())))


class Controlled:
    """Many trajectories with controllers."""

    def __init__(self, equations: Equations, inputs: Any, p: np.ndarray, step: float) -> None:
        self.equations, self.p, self.step = equations, p, step
        self.loop = close(equations, given_inputs(equations, inputs))
        if self.loop.own.numel() or self.loop.kept:
            raise UnsupportedError(
                "rollouts know no controllers with states of their own; use simulate, or keep the "
                "state in a Python function of all trajectories"
            )
        calls = [*self.loop.calls, *self.loop.samplers]
        self.calls = [(self._asked(call), call.place, self._steps(call)) for call in calls]
        self.stride = gcd(*(steps for *_, steps in self.calls)) if self.calls else 0

    def _steps(self, call: Call) -> int:
        """The number of steps that values are held."""
        if call.rate is None:
            return 1
        steps = 1 / (call.rate * self.step)
        if round(steps) < 1 or abs(steps - round(steps)) > 1e-9 * steps:
            fitting = 1 / call.rate / max(1, round(steps))
            raise ArgumentError(
                f"a rollout samples at the ends of its steps: with {call.rate:g} samples in a "
                f"second, step must be a whole part of {1 / call.rate:g} s, such as "
                f"{fitting:.9g}, got {self.step:g}"
            )
        return round(steps)

    def _asked(self, call: Call) -> Ask:
        """A law as a function of all states."""
        ask, numeric, p = call.ask, self.equations.numeric, self.p
        if not isinstance(ask, SX):
            return lambda t, q, u, told: call.batch(t, q, u)
        kernel = numeric.built([ask], [1])
        return lambda t, q, u, told: kernel(*numeric.arguments(q, u, t, told, p))[0]

    def run(
        self,
        start: np.ndarray,
        t: float,
        steps: int,
        every: int,
        method: str,
        threads: int,
        interpreted: Callable[..., np.ndarray],
    ) -> tuple[np.ndarray, str]:
        """States at each ``every`` of the steps, and what computed them."""
        try:
            advance, tier = self._compiled(method, threads), "machine code"
        except CompilationFailure as failure:
            report(failure, "rollouts in the interpreter")
            advance, tier = self._interpreted(method, interpreted), "interpreter"
        told = np.tile(self.loop.numbers, (len(start), 1))
        records, stride = [start[:, None]], self.stride or steps
        for first in range(0, steps, stride):
            self._ask(told, start, t + first * self.step, first)
            count = min(stride, steps - first)
            states = advance(start, told, t + first * self.step, count)
            start = states[:, -1]
            records.append(states[:, [k for k in range(count) if (first + k + 1) % every == 0]])
        return np.concatenate(records, axis=1), tier

    def _ask(self, told: np.ndarray, state: np.ndarray, t: float, first: int) -> None:
        """Write what the controllers say whose moment has come."""
        q, u = np.split(state, [len(self.equations.coordinates)], axis=1)
        for ask, place, steps in self.calls:
            if first % steps == 0:
                told[:, place] = ask(t, q, u, told)

    def _interpreted(self, method: str, interpreted: Callable[..., np.ndarray]) -> Advance:
        p = self.p.T if len(self.p) > 1 else self.p[0]

        def inputs(t: float, q: np.ndarray, u: np.ndarray, told: np.ndarray) -> np.ndarray:
            return self.loop.expressed(np.full(len(q), t), q, u, p, np.zeros((len(q), 0)), told)

        def advance(start: np.ndarray, told: np.ndarray, t: float, steps: int) -> np.ndarray:
            w = np.repeat(told[:, None], steps, axis=1)
            grid = t, self.step, steps, 1
            return interpreted(self.equations, start, w, self.p, *grid, method, inputs)[:, 1:]

        return advance

    def _compiled(self, method: str, threads: int) -> Advance:
        loop = self.loop
        flow = self.equations.numeric.closed.flow()
        rollout = Rollout(flow.closed(loop.told, loop.known_inputs, loop.own, loop.own_rates))

        def advance(start: np.ndarray, told: np.ndarray, t: float, steps: int) -> np.ndarray:
            w = np.repeat(told[:, None], steps, axis=1)
            return rollout(start, w, self.p, t, self.step, steps, 1, method, threads)[:, 1:]

        return advance
