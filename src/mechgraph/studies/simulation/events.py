"""Events of a run: zeros of quantities of the motion."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq, minimize_scalar

from ...arguments import choice, flag
from ...errors import ArgumentError
from ...motion.motion import Motion
from .context import Context
from .integrators import Integrator, make_integrator

if TYPE_CHECKING:
    from .recorder import Recorder


PARTS = 4  # of a step of the integrator, between which events are looked for


@dataclass(frozen=True)
class Event:
    """A zero of a quantity of the motion: rising (+1), falling (−1) or either (0); ``stop`` ends
    the run there."""

    quantity: str | Callable[[Motion], Any]
    direction: int = 0
    stop: bool = True


def _check_event(name: str, event: Event) -> None:
    if not callable(event.quantity) and not isinstance(event.quantity, str):
        raise ArgumentError(
            f"event {name!r} must be an mg.Event, a name, or a function of the motion, got "
            f"{event.quantity!r}"
        )
    choice(f"event {name!r}: direction", event.direction, (-1, 0, 1))
    flag(f"event {name!r}: stop", event.stop)


class Watch:
    """Events: sign changes between the integrator's own steps, located by integrating to the very
    moment, whatever the output is."""

    def __init__(
        self, context: Context, events: Mapping[str, Event | str | Callable[..., Any]]
    ) -> None:
        self.events = {name: e if isinstance(e, Event) else Event(e) for name, e in events.items()}
        for name, event in self.events.items():
            _check_event(name, event)
        self.found: dict[str, list[float]] = {name: [] for name in events}
        self.stopped = ""
        self.context = context
        self._end: tuple[float, np.ndarray] | None = None
        self._companion: Integrator | None = None

    def values(self, name: str, times: np.ndarray, states: np.ndarray) -> np.ndarray:
        eqs = self.context.equations
        q, u = np.split(states, np.cumsum([len(eqs.coordinates), len(eqs.speeds)]), axis=1)[:2]
        w = self.context.inputs_at(times, q, u)
        return eqs.observe(self.events[name].quantity, q, u, times, w, self.context.parameters)

    def begin(self, times: np.ndarray, states: np.ndarray) -> None:
        """Try every event at the start, so that a wrong one is known before the work."""
        for name in self.events:
            size = self.values(name, times, states).shape[1]
            if size != 1:
                raise ArgumentError(f"event {name!r} must be the zero of one number, got {size}")

    def sampled(
        self, integrator: Integrator, before: tuple[float, np.ndarray], times: np.ndarray
    ) -> tuple[Integrator, np.ndarray, np.ndarray]:
        """Where events are looked for: the integrator's own steps, parted, whatever the output is;
        with what integrates to the very moment.

        A method that does not tell its steps (CVODES) is watched by one that does.
        """
        t, y = before
        steps = integrator.own_steps(t, y, times[-1])
        if steps is None:
            self._companion = self._companion or companion(integrator)
            integrator = self._companion
            integrator.restart(integrator.problem.constants)
            steps = integrator.own_steps(t, y, times[-1])
        assert steps is not None
        ends = np.concatenate([[t], steps[steps > t]])
        parts = ends[:-1, None] + np.diff(ends)[:, None] * np.arange(1, PARTS + 1) / PARTS
        moments = np.unique(np.concatenate([parts.ravel(), times]))
        moments = moments[(moments > t) & (moments <= times[-1])]
        return integrator, moments, integrator.advance(t, y, moments)

    def look(
        self,
        integrator: Integrator,
        before: tuple[Any, ...],
        times: np.ndarray,
        states: np.ndarray,
        output: np.ndarray,
    ) -> int:
        """How many of the output's new points to keep: all, or those before the first event that
        stops the run."""
        all_times, all_states = np.concatenate([[before[0]], times]), np.vstack([before[1], states])
        stops = []
        for name, event in self.events.items():
            for moment, state in self._zeros(integrator, name, all_times, all_states):
                if event.stop:
                    stops.append((moment, name, state))
                    break
                self.found[name].append(moment)
        if not stops:
            return len(output)
        moment, self.stopped, state = min(stops, key=lambda stop: stop[0])
        self.found = {name: [t for t in found if t <= moment] for name, found in self.found.items()}
        for at, name, _ in stops:
            if at == moment:  # several may come at the same moment
                self.found[name].append(at)
        self._end = (moment, state)
        return int(np.searchsorted(output, moment))

    def _zeros(
        self, integrator: Integrator, name: str, times: np.ndarray, states: np.ndarray
    ) -> Iterator[tuple[float, np.ndarray]]:
        """The zeros of one event, in order: where its value changes sign, and where it dips to the
        other side and back between two moments."""
        direction = self.events[name].direction
        values = self.values(name, times, states)[:, 0]
        spans = [(int(k), float(times[k]), float(times[k + 1])) for k in range(len(times) - 1)]
        crossed = _crossings(values, direction)
        dipped = _dips(values)
        for k, first, last in spans:
            if crossed[k]:
                yield self._locate(integrator, name, times[k], states[k], first, last)
            elif k in dipped:
                yield from self._dip(integrator, name, (times[k - 1], states[k - 1]), times[k + 1])

    def _dip(
        self, integrator: Integrator, name: str, start: tuple[float, np.ndarray], last: float
    ) -> Iterator[tuple[float, np.ndarray]]:
        """Two zeros around the lowest point of a dip, if it reaches them."""
        first, state = start
        sign = np.sign(self._value(integrator, name, first, state, first))
        if sign == 0:
            return
        bottom = minimize_scalar(
            lambda t: sign * self._value(integrator, name, first, state, t),
            bounds=(first, last),
            method="bounded",
            options={"xatol": 1e-9 * max(1.0, abs(last))},
        )
        if bottom.fun < 0:
            wanted = self.events[name].direction
            for a, b, way in ((first, bottom.x, -sign), (bottom.x, last, sign)):
                if wanted in (0, way):
                    yield self._locate(integrator, name, first, state, a, b)

    def finish(self, recorder: Recorder) -> None:
        """Record the moment of the event that stopped the run."""
        if self._end is not None and self._end[0] > recorder.last[0]:
            moment, state = self._end
            states, drift = recorder.projected(np.array([moment]), state[None])
            recorder.store(np.array([moment]), states, drift, 0)

    def _value(
        self, integrator: Integrator, name: str, start: float, state: np.ndarray, t: float
    ) -> float:
        """The value at a moment, integrated to from a state before."""
        there = _state_at(integrator, start, state, t)
        return float(self.values(name, np.array([t]), there[None])[0, 0])

    def _locate(
        self,
        integrator: Integrator,
        name: str,
        start: float,
        state: np.ndarray,
        first: float,
        last: float,
    ) -> tuple[float, np.ndarray]:
        """The zero between two moments, and the state there."""

        def value(t: float) -> float:
            return self._value(integrator, name, start, state, t)

        ends = value(first), value(last)
        if ends[0] * ends[1] > 0 or ends[1] == 0:
            moment = last
        else:
            moment = brentq(value, first, last, xtol=1e-13, rtol=1e-14)
        return float(moment), _state_at(integrator, start, state, moment)


def _state_at(integrator: Integrator, start: float, state: np.ndarray, t: float) -> np.ndarray:
    return integrator.advance(start, state, np.array([t]))[0] if t > start else state


def _dips(values: np.ndarray) -> set[int]:
    """Indices where a value comes nearest to zero between two of the same sign."""
    sizes, signs = np.abs(values), np.sign(values)
    inner = np.arange(1, len(values) - 1)
    near = (sizes[inner] <= sizes[inner - 1]) & (sizes[inner] <= sizes[inner + 1])
    same = (signs[inner] == signs[inner - 1]) & (signs[inner] == signs[inner + 1])
    return set(inner[near & same & (signs[inner] != 0)].tolist())


def _crossings(values: np.ndarray, direction: int) -> np.ndarray:
    before, after = values[:-1], values[1:]
    rising, falling = (before < 0) & (after >= 0), (before > 0) & (after <= 0)
    return rising if direction > 0 else falling if direction < 0 else rising | falling


def companion(integrator: Integrator) -> Integrator:
    """A method that tells its steps, for the same problem."""
    return make_integrator("rk8", integrator.problem, integrator.rtol, integrator.atol)
