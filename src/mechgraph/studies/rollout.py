"""Rollouts: many trajectories at once with a fixed step, entirely in machine code."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..arguments import numbers
from ..equations import Equations
from ..errors import ArgumentError, UnsupportedError, unknown
from ..kernels.compiler import CompilationFailure
from ..kernels.flow import METHODS
from .initial import project


@dataclass(frozen=True, eq=False)
class Rollouts:
    """Trajectories: ``q`` and ``u`` have axes (trajectory, time, variable); ``run["elbow"]`` is one variable of all."""

    time: np.ndarray
    q: np.ndarray
    u: np.ndarray
    equations: Equations

    def __getitem__(self, name: str) -> np.ndarray:
        for names, values in ((self.equations.coordinates, self.q), (self.equations.speeds, self.u)):
            if name in names:
                return values[..., names.index(name)]
        raise ArgumentError(unknown("coordinate or speed", name, [*self.equations.coordinates, *self.equations.speeds]))


def rollout(
    equations: Equations,
    q: Any,
    u: Any,
    *,
    step: float,
    steps: int,
    method: str = "rk4",
    inputs: Any = None,
    parameters: Any = None,
    every: int = 1,
    t0: float = 0.0,
    threads: int = 1,
) -> Rollouts:
    """Integrate a batch of states over ``steps`` steps of length ``step``.

    ``q``, ``u``: a row for each trajectory. ``inputs``: numbers by name, or an array with axes (steps, inputs) or
    (trajectories, steps, inputs), held over each step. ``parameters``: by name, or a row for each trajectory. ``every``
    says which steps are recorded. ``method`` is ``"rk4"`` or ``"symplectic"`` (Euler's). With constraints, every step ends
    on them.
    """
    if method not in METHODS:
        raise UnsupportedError(unknown("method", method, METHODS))
    if not (np.isfinite(step) and step > 0 and steps >= 1 and every >= 1 and steps % every == 0):
        raise ArgumentError(
            f"step must be positive and every a divisor of steps, got step={step}, steps={steps}, every={every}"
        )
    q, u, p = _states(equations, q, u, parameters)
    if equations.constraints:
        q, u = project(equations, q, u, np.full(len(q), t0), p if len(p) == len(q) else p[0])
    w = _inputs(equations, inputs, len(q), steps)
    try:
        kernel = equations.rollout_kernel()
    except CompilationFailure as failure:
        raise UnsupportedError(f"rollouts run in machine code and need a C compiler ({failure}); use simulate()") from None
    states = kernel(np.hstack([q, u]), w, p, t0, step, steps, every, method, max(1, threads))
    positions, speeds = np.split(states, [q.shape[1]], axis=2)
    return Rollouts(t0 + step * every * np.arange(states.shape[1]), positions, speeds, equations)


def _states(equations: Equations, q: Any, u: Any, parameters: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q, u, _, _, p = equations.arguments(q, u, 0.0, None, parameters)
    count = np.broadcast_shapes(q.shape[:-1], u.shape[:-1])
    if len(count) > 1:
        raise ArgumentError(f"rollouts take one batch axis, got states of shape {q.shape} and {u.shape}")
    rows = count[0] if count else 1
    p = np.atleast_2d(p)
    if len(p) not in (1, rows):
        raise ArgumentError(f"parameters: expected one row or {rows}, got {len(p)}")
    return np.broadcast_to(q, (rows, q.shape[-1])), np.broadcast_to(u, (rows, u.shape[-1])), p


def _inputs(equations: Equations, inputs: Any, count: int, steps: int) -> np.ndarray:
    width = len(equations.inputs)
    if inputs is None or isinstance(inputs, Mapping):
        return np.broadcast_to(numbers("inputs", equations.inputs, inputs), (steps, width))
    array = np.asarray(inputs, dtype=float)
    if array.shape not in ((steps, width), (count, steps, width)):
        shapes = f"({steps}, {width}) or ({count}, {steps}, {width})"
        raise ArgumentError(f"inputs: expected an array of shape {shapes}, got {array.shape}")
    return array
