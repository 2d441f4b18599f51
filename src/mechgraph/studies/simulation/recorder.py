"""What a run has been so far, kept on the constraints."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...interrupts import acknowledge, remembered_interrupts
from ...results.table import WORK
from ...results.trajectory import Trajectory
from ..projection import project_measured, violations
from .context import Context
from .events import Watch
from .integrator import IntegrationFailure, Integrator
from .loop import InputFailure

LOOSE = 1e-7  # violation before projection at which it is looked at more closely
KEPT = 1e-6  # violation after projection that fails a run
JUMP = 1e-2  # violation before projection, in proportion to the coordinates, that does


class Contradiction(IntegrationFailure):
    """Constraints that cannot hold together."""

    hint = "Take one of these constraints away, or let both ask for the same"


class Recorder:
    """The motion so far, on the constraints."""

    def __init__(
        self,
        context: Context,
        begin: float,
        elapsed: np.ndarray,
        q: np.ndarray,
        u: np.ndarray,
        own: np.ndarray,
        work: np.ndarray,
        projecting: bool,
    ) -> None:
        self.context, self.projecting = context, projecting
        self.elapsed, self.times = elapsed, begin + elapsed
        self.began = context.parameters
        self.t, self.q, self.u, self.work = [self.times[:1]], [q[None]], [u[None]], [work[None]]
        self.own = [own[None]]  # further states, of controllers
        self.log: list[np.ndarray] = []  # of samples
        self.done = 0  # rows of the grid after the first that are kept
        self.drift = 0.0
        self.switches: dict[str, float] = {}  # of rigid contacts
        self.modes: list[dict[str, np.ndarray]] = []

    @property
    def last(self) -> tuple[float, np.ndarray]:
        return float(self.t[-1][-1]), np.concatenate(
            [part[-1][-1] for part in (self.q, self.u, self.own, self.work)]
        )

    def take(self, integrator: Integrator) -> int:
        """Keep what the integrator has filled in of the output; how many rows that was."""
        states = integrator.filled()[self.done :]
        times = self.times[self.done + 1 : self.done + 1 + len(states)]
        if len(states):
            self.keep(times, states)
        self.done += len(states)
        return len(states)

    def keep(self, times: np.ndarray, states: np.ndarray) -> None:
        """Keep states, brought back to the constraints."""
        self.store(times, *self.projected(times, states))

    @property
    def constants(self) -> np.ndarray:
        """The parameters as they are now."""
        return np.array(list(self.context.parameters.values()))

    def switch(self, switches: dict[str, float]) -> None:
        """From now on with these switches of rigid contacts."""
        self.switches = switches
        self.context = replace(self.context, parameters={**self.context.parameters, **switches})

    def projected(self, times: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, float]:
        """States with their positions and speeds on the constraints, and how far they had
        drifted."""
        eqs, p = self.context.equations, self.context.parameters
        q, u, *rest = self.split(states)
        if not self.projecting:
            return np.hstack([eqs.terms.chart.normalized(q), u, *rest]), 0.0
        before = q
        q, u, drift = project_measured(eqs, q, u, times, p)
        if drift > LOOSE:
            self._check_kept(before, q, u, times, drift)
        if eqs.constraints:
            self._check_speeds(q[-1:], u[-1:], times[-1:])
        return np.hstack([q, u, *rest]), drift

    def _check_speeds(self, q: np.ndarray, u: np.ndarray, times: np.ndarray) -> None:
        """Refuse speeds that no projection brings to the constraints."""
        eqs = self.context.equations
        left = np.abs(violations(eqs, q, u, times, self.context.parameters)[1][0])
        if left.max(initial=0.0) > KEPT * max(1.0, np.abs(u).max(initial=0.0)):
            row = int(left.argmax())
            raise Contradiction(
                f"the rate of {eqs.constraints[row]!r} is off by {left[row]:.2g} at t = "
                f"{times[0]:.6g}: constraints contradict each other there"
            )

    def _check_kept(
        self, before: np.ndarray, q: np.ndarray, u: np.ndarray, times: np.ndarray, drift: float
    ) -> None:
        """Refuse states that no projection brings back to the constraints, or only one that moves
        things by a jump."""
        eqs, p = self.context.equations, self.context.parameters
        left = violations(eqs, q, u, times, p)[0]
        if drift > JUMP * max(1.0, np.abs(q).max()):
            left = eqs.position_violation(before, times, p)
        elif np.abs(left).max() < KEPT:
            return
        state, row = np.unravel_index(np.abs(left).argmax(), left.shape)
        raise Contradiction(
            f"{eqs.constraints[row]!r} is off by {abs(left[state, row]):.2g} at t = "
            f"{times[state]:.6g}: constraints contradict "
            "each other there, or one of them jumps"
        )

    def split(self, states: np.ndarray) -> list[np.ndarray]:
        """q, u, further states, work."""
        eqs, own = self.context.equations, self.own[0].shape[1]
        return np.split(states, np.cumsum([len(eqs.coordinates), len(eqs.speeds), own]), axis=1)

    def store(self, times: np.ndarray, states: np.ndarray, drift: float = 0.0) -> None:
        """Keep states as they are."""
        self.t.append(times)
        stores = self.q, self.u, self.own, self.work
        for store, part in zip(stores, self.split(states), strict=True):
            store.append(part)
        self.modes.append(
            {name: np.full(len(times), value) for name, value in self.switches.items()}
        )
        self.drift = max(self.drift, drift)

    def trajectory(self, outcome: str, watch: Watch, statistics: dict[str, Any]) -> Trajectory:
        eqs = self.context.equations
        every = self.t, self.q, self.u, self.own, self.work
        t, q, u, own, work = (np.concatenate(parts) for parts in every)
        columns = {
            "coordinates": eqs.coordinates,
            "speeds": eqs.speeds,
            "inputs": eqs.inputs,
            "constraints": eqs.constraints,
        }
        try:
            with remembered_interrupts():
                w = self._inputs(outcome, t, q, u, own)
        except KeyboardInterrupt:  # the motion is known, and kept
            acknowledge()
            outcome, w = "interrupted", self._unknown_inputs(t)
        found = {name: np.array(times) for name, times in watch.found.items()}
        elements = eqs.terms.working if work.shape[1] > 2 else ()
        names = ["supplied", "dissipated", *(WORK + name for name in elements)]
        stored = {} if work.shape[1] < 2 else dict(zip(names, work.T, strict=True))
        modes = {
            name: np.concatenate([part[name] for part in (self._first_modes(u), *self.modes)])
            for name in self.switches
        }
        modes = {name: values[-len(t) :] for name, values in modes.items()}
        parameters = {
            name: value for name, value in self.context.parameters.items() if name not in modes
        }
        return Trajectory(
            eqs.terms.name,
            t,
            q,
            u,
            w,
            parameters,
            columns,
            outcome,
            statistics,
            found,
            eqs,
            stored,
            modes,
            self._further(t, own),
        )

    def _first_modes(self, u: np.ndarray) -> dict[str, np.ndarray]:
        """The modes of rigid contacts at the start: open, if it begins with an impact."""
        if np.allclose(u[0], u[1], rtol=1e-9, atol=1e-9):
            return self.modes[0]
        return {name: np.array([self.began[name]]) for name in self.switches}

    def _inputs(self, outcome: str, *states: np.ndarray) -> np.ndarray:
        """w along the run; of one that has failed it may be that Python functions do not tell."""
        try:
            return self.inputs_at(*states)
        except InputFailure:
            if outcome != "failed":
                raise
            return self._unknown_inputs(states[0])

    def _unknown_inputs(self, t: np.ndarray) -> np.ndarray:
        return np.full((len(t), len(self.context.equations.inputs)), np.nan)

    def inputs_at(self, t: np.ndarray, q: np.ndarray, u: np.ndarray, own: np.ndarray) -> np.ndarray:
        """w at times and states of the run."""
        if not self.context.equations.inputs:
            return np.zeros((len(t), 0))
        return self.context.inputs_at(t, q, u, own, self._told(t))

    def _told(self, t: np.ndarray) -> np.ndarray:
        """What the inputs were told at these times."""
        loop = self.context.loop
        return loop.held(t, np.vstack(self.log) if self.log else np.empty((0, 1)))

    def _further(self, t: np.ndarray, own: np.ndarray) -> dict[str, np.ndarray]:
        """States of controllers, by name."""
        loop, told = self.context.loop, self._told(t)
        out = {name: own[:, k] for k, name in enumerate(loop.own_names)}
        return out | {name: told[:, k] for name, k in loop.kept.items()}
