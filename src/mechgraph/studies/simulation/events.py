"""Events of a run: zeros of quantities of the motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq

from ...errors import ArgumentError
from ...motion.motion import Motion
from .context import Context
from .integrators import Integrator

if TYPE_CHECKING:
    from .simulate import Recorder


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
    if event.direction not in (-1, 0, 1):
        raise ArgumentError(
            f"event {name!r}: direction must be -1, 0 or 1, got {event.direction!r}"
        )


class Watch:
    """Events: sign changes between grid points, located by integrating to the very moment."""

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

    def look(
        self,
        integrator: Integrator,
        recorder: Recorder,
        before: tuple[Any, ...],
        times: np.ndarray,
        states: np.ndarray,
    ) -> int:
        """How many of the new points to keep: all, or those before the first event that stops the
        run."""
        all_times, all_states = np.concatenate([[before[0]], times]), np.vstack([before[1], states])
        stops = []
        for name, event in self.events.items():
            values = self.values(name, all_times, all_states)[:, 0]
            for k in np.flatnonzero(_crossings(values, event.direction)):
                moment, state = self._locate(integrator, name, all_times, all_states, int(k))
                if event.stop:
                    stops.append((moment, name, state))
                    break
                self.found[name].append(moment)
        if not stops:
            return len(times)
        moment, self.stopped, state = min(stops, key=lambda stop: stop[0])
        self.found = {name: [t for t in found if t <= moment] for name, found in self.found.items()}
        self.found[self.stopped].append(moment)
        self._end = (moment, state)
        return int(np.searchsorted(times, moment))

    def finish(self, recorder: Recorder) -> None:
        """Record the moment of the event that stopped the run."""
        if self._end is not None and self._end[0] > recorder.last[0]:
            moment, state = self._end
            states, drift = recorder.projected(np.array([moment]), state[None])
            recorder.store(np.array([moment]), states, drift, 0)

    def _locate(
        self, integrator: Integrator, name: str, times: np.ndarray, states: np.ndarray, k: int
    ) -> tuple[float, np.ndarray]:
        def state_at(t: float) -> np.ndarray:
            return (
                integrator.advance(times[k], states[k], np.array([t]))[0]
                if t > times[k]
                else states[k]
            )

        def value(t: float) -> float:
            return float(self.values(name, np.array([t]), state_at(t)[None])[0, 0])

        first, last = value(times[k]), value(times[k + 1])
        moment = (
            times[k + 1]
            if first * last > 0 or last == 0
            else brentq(value, times[k], times[k + 1], xtol=1e-13, rtol=1e-14)
        )
        return float(moment), state_at(moment)


def _crossings(values: np.ndarray, direction: int) -> np.ndarray:
    before, after = values[:-1], values[1:]
    rising, falling = (before < 0) & (after >= 0), (before > 0) & (after <= 0)
    return rising if direction > 0 else falling if direction < 0 else rising | falling
