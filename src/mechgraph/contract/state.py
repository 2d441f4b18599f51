"""``State``: where a system is, how it moves, and what acts on it, as arrays."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import numpy as np

from ..arguments import numbers, times
from ..errors import ArgumentError
from ..model.parameter_checks import ParameterChecks
from ..tables.series import at_times
from .terms import Terms

Given = tuple[Any, Any, Any, Any, Any]  # q, u, t, inputs, parameters as they were given; a State


class State(NamedTuple):
    """Coordinates q, speeds u, time t, inputs w and parameters p: arrays of finite numbers with a
    last axis of as many as there are names; leading axes are a batch."""

    q: np.ndarray
    u: np.ndarray
    t: np.ndarray
    w: np.ndarray
    p: np.ndarray

    @property
    def batch(self) -> tuple[int, ...]:
        """The leading axes of all together."""
        return np.broadcast_shapes(*(values.shape[:-1] for values in self))


class StateReader:
    """Reads the arguments of a call: arrays, or mappings of some of the names to numbers."""

    def __init__(self, terms: Terms) -> None:
        self._chart, self._symbols = terms.chart, terms.symbols
        self._limits = ParameterChecks(terms.chart.description, terms.chart.checks)

    def __call__(
        self, q: Any, u: Any, t: Any, inputs: Any, parameters: Any, copy: bool = True
    ) -> State:
        """The state; what is not given is zero (coordinates: their reference, parameters: their
        defaults). Without ``copy`` for reading only."""
        s, reference = self._symbols, np.array(self._chart.reference)
        return State(
            numbers("coordinates", s.coordinates, self._with_turns(q), reference, copy),
            numbers("speeds", s.speeds, u, copy=copy),
            times(t),
            numbers("inputs", s.inputs, at_times(inputs, t)),
            self.parameters(parameters),
        )

    def accelerations(self, udot: Any) -> np.ndarray:
        """u̇ as an array with a last axis; zeros, if not given."""
        return numbers("accelerations", self._symbols.speeds, udot)

    def parameters(self, given: Any) -> np.ndarray:
        """p, within the limits that elements set."""
        s = self._symbols
        p = numbers("parameters", s.parameters, given, np.array(s.defaults))
        problems = [] if given is None else list(self._limits.problems(p))
        if problems:
            raise ArgumentError(f"parameters: {'; '.join(problems)}")
        return p

    def _with_turns(self, q: Any) -> Any:
        """Coordinates, with zeros for those that count turns if these are left out: angles are
        within half a turn of zero."""
        counted, count = len(self._chart.counted), len(self._symbols.coordinates)
        if counted and not isinstance(q, Mapping):
            with suppress(TypeError, ValueError):  # the reader of numbers says what is wrong
                array = np.asarray(q, dtype=float)
                if array.shape[-1:] == (count - counted,):
                    zeros = np.zeros((*array.shape[:-1], counted))
                    return np.concatenate([array, zeros], axis=-1)
        return q
