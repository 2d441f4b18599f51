"""Rollouts with controllers: all trajectories go on together from sample to sample.

Laws that are expressions are part of the machine code, at every stage of a step; sampled ones are
evaluated for all trajectories at once. Python functions get the states of all trajectories, a row
for each, at each sample, or at each step, over which what they return is held.
"""

from __future__ import annotations

from collections.abc import Callable
from math import gcd
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ..errors import ArgumentError
from ..kernels.compiler import CompilationFailure, report
from ..kernels.flow import Rollout
from .simulation.context import given_inputs, is_law
from .simulation.loop import Ask, Call, close

if TYPE_CHECKING:
    from ..equations import Equations

# (start, told, t, steps) -> states after each step
Advance = Callable[[np.ndarray, np.ndarray, float, int], np.ndarray]


def has_laws(inputs: Any) -> bool:
    """Whether inputs of a rollout are, or have among them, controllers or expressions of time."""
    given = inputs.values() if isinstance(inputs, dict) else [inputs]
    return any(is_law(each) or isinstance(each, SX) for each in given)


class Controlled:
    """Many trajectories with controllers."""

    def __init__(self, equations: Equations, inputs: Any, p: np.ndarray, step: float) -> None:
        self.equations, self.p, self.step = equations, p, step
        self.loop = close(equations, given_inputs(equations, inputs))
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
            return call.batch
        inputs = len(self.equations.inputs)
        kernel = numeric.build([ask], [1], self.loop.told[inputs:, :], self.loop.own)

        def asked(t: float, y: np.ndarray, told: np.ndarray) -> np.ndarray:
            q, u, own = self._split(y)
            known = numeric.arguments(q, u, t, told[:, :inputs], p)
            return kernel(*known, told[:, inputs:], own)[0]

        return asked

    def _split(self, y: np.ndarray) -> list[np.ndarray]:
        """q, u, and further states."""
        nq, nu = len(self.equations.coordinates), len(self.equations.speeds)
        return np.split(y, [nq, nq + nu], axis=-1)

    def run(
        self,
        start: np.ndarray,
        t: float,
        steps: int,
        every: int,
        method: str,
        threads: int,
        interpreted: Callable[..., np.ndarray],
    ) -> tuple[np.ndarray, dict[str, np.ndarray], str]:
        """States at each ``every`` of the steps, further states by name, and what computed them."""
        try:
            if (law := self._sampled()) is not None:
                return *self._sampling(law, start, t, steps, every, method, threads), "machine code"
            advance, tier = self._compiled(method, threads), "machine code"
        except CompilationFailure as failure:
            report(failure, "rollouts in the interpreter")
            advance, tier = self._interpreted(method, interpreted), "interpreter"
        loop = self.loop
        told = np.tile(loop.numbers, (len(start), 1))
        start = np.hstack([start, np.tile(loop.own_start, (len(start), 1))])
        records, stride = [start[:, None]], self.stride or steps
        kept: list[np.ndarray] = []  # what is kept from each stride on
        for first in range(0, steps, stride):
            self._ask(told, start, t + first * self.step, first)
            kept.append(told[:, list(loop.kept.values())])
            count = min(stride, steps - first)
            states = advance(start, told, t + first * self.step, count)
            start = states[:, -1]
            records.append(states[:, [k for k in range(count) if (first + k + 1) % every == 0]])
        if loop.kept:  # the samples at the end
            self._ask(told, start, t + steps * self.step, steps)
            kept.append(told[:, list(loop.kept.values())])
        q, u, own = self._split(np.concatenate(records, axis=1))
        shown = np.stack(kept, axis=1)[
            :, np.arange(0, steps + 1, every) // stride if loop.kept else 0
        ]
        further = dict(zip(loop.own_names, np.moveaxis(own, -1, 0), strict=True))
        further |= dict(zip(loop.kept, np.moveaxis(shown, -1, 0), strict=False))
        return np.concatenate([q, u], axis=-1), further, tier

    def _ask(self, told: np.ndarray, state: np.ndarray, t: float, first: int) -> None:
        """Write what the controllers say whose moment has come."""
        for ask, place, steps in self.calls:
            if first % steps == 0:
                told[:, place] = ask(t, state, told)

    def _interpreted(self, method: str, interpreted: Callable[..., np.ndarray]) -> Advance:
        p = self.p.T if len(self.p) > 1 else self.p[0]

        def law(t: float, y: np.ndarray, told: np.ndarray) -> list[np.ndarray]:
            q, u, own = self._split(y)
            return self.loop.followed(np.full(len(q), t), q, u, p, own, told)

        def advance(start: np.ndarray, told: np.ndarray, t: float, steps: int) -> np.ndarray:
            w = np.repeat(told[:, None], steps, axis=1)
            grid = t, self.step, steps, 1
            return interpreted(self.equations, start, w, self.p, *grid, method, law)[:, 1:]

        return advance

    def _sampled(self) -> SX | None:
        """What is told at each sample, if all of it is one expression of what was told before; then
        no step needs Python."""
        laws = [*self.loop.calls, *self.loop.samplers]
        if len({steps for *_, steps in self.calls}) != 1 or not all(
            isinstance(call.ask, SX) for call in laws
        ):
            return None
        told = SX(self.loop.told)
        for call in laws:  # each sees what those before it have said
            told[call.place.tolist()] = ca.substitute(call.ask, self.loop.told, told)
        return told

    def _sampling(
        self,
        law: SX,
        start: np.ndarray,
        t: float,
        steps: int,
        every: int,
        method: str,
        threads: int,
    ) -> tuple[np.ndarray, dict[str, np.ndarray]]:
        """All steps in machine code: what is told is a state that changes at samples alone."""
        loop, count = self.loop, len(start)
        flow = self.equations.numeric.closed.flow()
        own, rates = ca.vertcat(loop.own, loop.told), SX.zeros(loop.told.numel())
        closed = flow.closed(SX(0, 1), loop.known_inputs, own, ca.vertcat(loop.own_rates, rates))
        further = np.tile(np.concatenate([loop.own_start, loop.numbers]), (count, 1))
        grid = self.p, t, self.step, steps, every, method, threads, self.stride
        rollout = Rollout(closed, law, width=1 if count == 1 else None)
        states = rollout(np.hstack([start, further]), np.zeros((steps, 0)), *grid)
        q, u, more = self._split(states)
        kept = [len(loop.own_names) + place for place in loop.kept.values()]
        names = [*loop.own_names, *loop.kept]
        columns = np.moveaxis(more[..., [*range(len(loop.own_names)), *kept]], -1, 0)
        return np.concatenate([q, u], axis=-1), dict(zip(names, columns, strict=True))

    def _compiled(self, method: str, threads: int) -> Advance:
        loop = self.loop
        flow = self.equations.numeric.closed.flow()
        rollout = Rollout(flow.closed(loop.told, loop.known_inputs, loop.own, loop.own_rates))

        def advance(start: np.ndarray, told: np.ndarray, t: float, steps: int) -> np.ndarray:
            w = np.repeat(told[:, None], steps, axis=1)
            return rollout(start, w, self.p, t, self.step, steps, 1, method, threads)[:, 1:]

        return advance
