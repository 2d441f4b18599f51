"""How a linear model moves: in time, and with inputs that swing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.integrate
import scipy.linalg

from .. import door
from ..arguments import array_of, named, number, one_of
from ..errors import ArgumentError, error_text, shown

ACCURACY = {"rtol": 1e-10, "atol": 1e-13, "method": "LSODA"}
Input = float | Callable[[float], float]


@dataclass(frozen=True, eq=False)
class LinearSystem:
    """x' = A x + B w, y = C x + D w, with names: what responses are computed from."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    names: tuple[str, ...]

    def in_time(
        self, times: Any, start: Mapping[str, float] | None, inputs: Mapping[str, Input] | None
    ) -> TimeResponse:
        """x(t) = e^(At) x₀ + ∫ e^(A(t−τ)) B w(τ) dτ, and y."""
        t, x0, given = _times(times), np.zeros(len(self.states)), named("inputs", inputs)
        for name, value in named("start", start).items():
            x0[self.states.index(one_of("state", name, self.states))] = number(name, value)
        w = [_function(given.pop(name, 0.0), name) for name in self.inputs]
        for name in given:
            one_of("input", name, self.inputs)
        forced = self._driven(t, x0, w) if any(map(callable, w)) else self._stepped(t, x0, w)
        by_input = np.array([_values(w, s) for s in t]).reshape(len(t), -1)
        return TimeResponse(t, forced @ self.C.T + by_input @ self.D.T, self.names)

    def _stepped(self, t: np.ndarray, x0: np.ndarray, w: Sequence[Any]) -> np.ndarray:
        """With constant inputs: exactly, by one exponential of (A, B w; 0, 0)."""
        n = len(x0)
        both = np.zeros((n + 1, n + 1))
        both[:n, :n], both[:n, n] = self.A, self.B @ np.array(w, dtype=float)
        return np.array([scipy.linalg.expm(both * (s - t[0]))[:n] @ [*x0, 1.0] for s in t])

    def _driven(self, t: np.ndarray, x0: np.ndarray, w: Sequence[Any]) -> np.ndarray:
        """With functions of time: integrated."""

        def rate(s: float, x: np.ndarray) -> np.ndarray:
            return self.A @ x + self.B @ np.array(_values(w, s))

        # No step tells what a function does in between: they are as fine as the times on average.
        step = (t[-1] - t[0]) / (len(t) - 1)
        span = (t[0], t[-1])
        done = scipy.integrate.solve_ivp(rate, span, x0, t_eval=t, max_step=step, **ACCURACY)
        if not done.success:
            raise ArgumentError(f"the response cannot be computed: {done.message}")
        return np.asarray(done.y.T)

    def in_frequency(self, omega: Any) -> FrequencyResponse:
        """G(iω) = C (iω − A)⁻¹ B + D."""
        w = _numbers("frequencies", omega)
        s = 1j * w[:, None, None] * np.eye(len(self.A)) - self.A
        B = np.broadcast_to(self.B, (len(w), *self.B.shape))
        try:
            x = np.linalg.solve(s, B)
        except np.linalg.LinAlgError:
            raise ArgumentError(_unbounded(self.A, w)) from None
        return FrequencyResponse(w, self.C @ x + self.D, self.names, self.inputs)


def _unbounded(A: np.ndarray, omega: np.ndarray) -> str:
    """The frequency that an eigenvalue of A comes nearest to."""
    apart = np.abs(1j * omega[:, None] - np.linalg.eigvals(A)).min(axis=1)
    return (
        f"frequencies: at {omega[apart.argmin()]:g} rad/s this model swings without damping (or "
        "drifts, at zero), so that its response has no bound; leave that frequency out"
    )


def _times(times: Any) -> np.ndarray:
    t = _numbers("times", times)
    if len(t) < 2 or not (np.diff(t) > 0).all():
        raise ArgumentError(f"times must be two or more growing numbers, got {shown(times)}")
    return t


def _numbers(what: str, given: Any) -> np.ndarray:
    out = array_of(given)
    if out is None or out.ndim != 1:
        raise ArgumentError(f"{what} must be a list of numbers, got {shown(given)}")
    return out


def _function(given: Any, name: str) -> Any:
    """A number, or a function of time that says of which input and moment it has none."""
    if not callable(given):
        return number(name, given)

    def value(t: float) -> float:
        try:
            return number("its value", given(t))
        except Exception as error:  # whatever a function of the user's makes of a moment
            raise ArgumentError(
                f"input {name!r} failed at t = {t:g}: {error_text(error)}"
            ) from error

    return value


def _values(w: Sequence[Any], t: float) -> list[float]:
    return [f(t) if callable(f) else f for f in w]


@dataclass(frozen=True, eq=False)
class TimeResponse:
    """Deviations by name, ``response["lean"]``, at the times ``time``; ``values`` has a row for
    each time."""

    time: np.ndarray
    values: np.ndarray
    names: tuple[str, ...]

    def __getitem__(self, name: str) -> np.ndarray:
        return self.values[:, self.names.index(one_of("name", name, self.names))]

    def plot(self, *names: str, path: str | Path | None = None) -> Any:
        """The named deviations against time, all by default; saved to ``path`` if given."""
        return door.show.linear.time_response(self, names, path)

    def __repr__(self) -> str:
        return f"<TimeResponse: {len(self.time)} times, {', '.join(self.names[:6])}>"


@dataclass(frozen=True, eq=False)
class FrequencyResponse:
    """What a unit input e^(iωt) makes of each deviation: ``response["lean", "torque"]`` are complex
    numbers, with modulus and phase, for each of ``omega`` (rad/s)."""

    omega: np.ndarray
    values: np.ndarray
    names: tuple[str, ...]
    inputs: tuple[str, ...]

    def __getitem__(self, pair: tuple[str, str]) -> np.ndarray:
        if not isinstance(pair, tuple) or len(pair) != 2:
            raise ArgumentError(
                f"expected a name and an input, ['lean', 'torque'], got {shown(pair)}"
            )
        name, by = pair
        row = self.names.index(one_of("name", name, self.names))
        return self.values[:, row, self.inputs.index(one_of("input", by, self.inputs))]

    def plot(self, *names: str, by: str | None = None, path: str | Path | None = None) -> Any:
        """Modulus and phase of the named deviations (all by default) to the input ``by`` (the first
        by default) against the frequency; saved to ``path`` if given."""
        return door.show.linear.frequency_response(self, names, by, path)

    def __repr__(self) -> str:
        counts = f"{len(self.omega)} frequencies, {len(self.names)} names"
        return f"<FrequencyResponse: {counts}, {len(self.inputs)} inputs>"
