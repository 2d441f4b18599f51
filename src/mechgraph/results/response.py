"""How linear models move: their modes, whether they are stable, and what they answer to inputs."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy.integrate
import scipy.linalg

from .. import door
from ..arguments import array_of, named, number, one_of
from ..errors import ArgumentError, error_text, shown
from ..numerics.tolerances import MET, ROUNDING
from .stability import Stability, stability_of

ACCURACY = {"rtol": 10 * MET, "atol": 10 * ROUNDING, "method": "LSODA"}
Input = float | Callable[[float], float]


class LinearSystem(NamedTuple):
    """x' = A x + B w, y = C x + D w, with names of x, w and y; how much of each entry of A may be
    rounding; and the motion of all variations, Z x."""

    A: np.ndarray
    B: np.ndarray
    C: np.ndarray
    D: np.ndarray
    states: tuple[str, ...]
    inputs: tuple[str, ...]
    names: tuple[str, ...]
    rounding: np.ndarray
    Z: np.ndarray


class LinearDynamics(ABC):
    """Modes, stability and responses of x' = A x + B w: what linear models have in common."""

    @property
    @abstractmethod
    def _system(self) -> LinearSystem:
        """The matrices, if they are those of more than a moment."""

    def eigenvalues(self) -> np.ndarray:
        """Eigenvalues of A, the most unstable first."""
        return self.modes()[0]

    def modes(self) -> tuple[np.ndarray, np.ndarray]:
        """Eigenvalues, the most unstable first, and for each a column with the motion of all
        ``variations``."""
        values, vectors = np.linalg.eig(self._system.A)
        order = np.argsort(-values.real, kind="stable")
        return values[order], self._system.Z @ vectors[:, order]

    def stability(self) -> Stability:
        """Whether deviations grow: the verdict, the largest rate of growth, how well it is known,
        and what neither grows nor fades."""
        system = self._system
        return stability_of(system.A, system.rounding, system.states)

    def is_stable(self, tolerance: float | None = None) -> bool:
        """True if it is known that no deviation grows: the verdict of ``stability`` is
        "asymptotically stable" or "stable", so that what is neutral is named there; False if it is
        "unstable" or "undecided".

        tolerance: real parts up to this (relative to the largest eigenvalue) count as none; by
            default what rounding can make of them.
        """
        if tolerance is None:
            return self.stability().is_stable
        tolerance, values = number("tolerance", tolerance), self.eigenvalues()
        return bool((values.real <= tolerance * np.abs(values).max(initial=0.0)).all())

    def response(
        self,
        times: np.ndarray | Sequence[float],
        start: Mapping[str, float] | None = None,
        inputs: Mapping[str, Input] | None = None,
    ) -> TimeResponse:
        """States and outputs at these times, from deviations of states by name and with inputs by
        name, numbers or functions of time: x(t) = e^(At) x₀ + ∫ e^(A(t−τ)) B w(τ) dτ. What a
        function does for a shorter time than between these times may be missed."""
        s, t, given = self._system, _times(times), named("inputs", inputs)
        x0 = np.zeros(len(s.states))
        for name, value in named("start", start).items():
            x0[s.states.index(one_of("state", name, s.states))] = number(name, value)
        w = [_function(given.pop(name, 0.0), name) for name in s.inputs]
        for name in given:
            one_of("input", name, s.inputs)
        x = _driven(s, t, x0, w) if any(map(callable, w)) else _exponential(s, t, x0, w)
        by_input = np.array([_values(w, moment) for moment in t]).reshape(len(t), -1)
        return TimeResponse(t, x @ s.C.T + by_input @ s.D.T, s.names)

    def frequency_response(self, omega: np.ndarray | Sequence[float]) -> FrequencyResponse:
        """States and outputs for unit inputs e^(iωt), y = C (iω − A)⁻¹ B + D, for each ω
        (rad/s)."""
        w, system = _numbers("frequencies", omega), self._system
        s = 1j * w[:, None, None] * np.eye(len(system.A)) - system.A
        B = np.broadcast_to(system.B, (len(w), *system.B.shape))
        try:
            x = np.linalg.solve(s, B)
        except np.linalg.LinAlgError:
            raise ArgumentError(_unbounded(system.A, w)) from None
        return FrequencyResponse(w, system.C @ x + system.D, system.names, system.inputs)


def _exponential(s: LinearSystem, t: np.ndarray, x0: np.ndarray, w: Sequence[Any]) -> np.ndarray:
    """x with constant inputs: exactly, by one exponential of (A, B w; 0, 0)."""
    n = len(x0)
    both = np.zeros((n + 1, n + 1))
    both[:n, :n], both[:n, n] = s.A, s.B @ np.array(w, dtype=float)
    return np.array([scipy.linalg.expm(both * (end - t[0]))[:n] @ [*x0, 1.0] for end in t])


def _driven(s: LinearSystem, t: np.ndarray, x0: np.ndarray, w: Sequence[Any]) -> np.ndarray:
    """x with functions of time: integrated."""

    def rate(moment: float, x: np.ndarray) -> np.ndarray:
        return s.A @ x + s.B @ np.array(_values(w, moment))

    # No step tells what a function does in between: they are as fine as the times on average.
    step = (t[-1] - t[0]) / (len(t) - 1)
    span = (t[0], t[-1])
    done = scipy.integrate.solve_ivp(rate, span, x0, t_eval=t, max_step=step, **ACCURACY)
    if not done.success:
        raise ArgumentError(f"the response cannot be computed: {done.message}")
    return np.asarray(done.y.T)


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
