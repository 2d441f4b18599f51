"""Rollouts: many trajectories at once with a fixed step, entirely in machine code if there is a
compiler."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import number, numbers, one_of, whole
from ..contract.valueless import refused_or_valueless, searching
from ..errors import ArgumentError, UnsupportedError, shown
from ..interrupts import remembered_interrupts
from ..kernels.compiler import CompilationFailure, report
from ..kernels.flow import METHODS
from ..results.rollouts import Rollouts
from ..tables.series import at_times, check_covered
from .controlled import Controlled, has_laws
from .projection import project, violations

if TYPE_CHECKING:
    from ..equations import Equations

TOLERANCE = 1e-9  # of the constraints at the start
UNMET = 1e-6  # of the largest coordinate and speed: a constraint that is not kept
AWAY = 1e10  # a coordinate or speed that has run away
LOOKED_AT = 20_000  # records of all trajectories, about
MOST_STEPS = 100_000_000  # whose moments are stored


def rollout(
    equations: Equations,
    q: Any,
    u: Any,
    *,
    step: float,
    steps: int,
    method: str = "rk4",
    t: float = 0.0,
    inputs: Any = None,
    parameters: Any = None,
    every: int = 1,
    threads: int = 1,
) -> Rollouts:
    """Many trajectories at once with a fixed step, in machine code if there is a compiler.

    q, u: a row for each trajectory, or one for all.
    step, steps: length and number of the steps.
    method: "rk4", "symplectic" (Euler's), or "midpoint" (implicit; with ``hamilton`` in canonical
        coordinates it keeps the symplectic form, so that the energy does not drift).
    inputs: by name or as an array, with axes (inputs), (steps, inputs) or (trajectories, steps,
        inputs), or points (times, values) and tables of time, held over each step; or expressions
        of time and controllers, as ``simulate`` takes them. A Python function gets the states of
        all trajectories, a row for each.
    parameters: by name, or a row for each trajectory.
    every: which steps are recorded.
    t: time at the start.
    threads: how many share the work.

    With constraints, every step ends on them.
    """
    t = number("t", t)
    one_of("method", method, METHODS, UnsupportedError)
    if equations.terms.chart.description.switched:
        raise UnsupportedError(
            "rollouts know no events, so nothing rigid that opens, sticks or stops: "
            f"{equations.system.switching}; use what gives way (compliant_contact, mg.Limits with "
            "stiffness, mg.Friction), or simulate"
        )
    step = number("step", step, positive=True)
    steps, every, threads = whole(steps=steps, every=every, threads=threads)
    if steps > MOST_STEPS:
        raise ArgumentError(
            f"steps must be at most {MOST_STEPS:,}, got {shown(steps)}; take a larger step, or go "
            "on from where a rollout ended"
        )
    if steps % every:
        raise ArgumentError(f"every must be a divisor of steps, got steps={steps}, every={every}")
    q, u, p = _states(equations, q, u, parameters)
    with remembered_interrupts():
        q, u = _on_constraints(equations, q, u, np.full(len(q), t), p)
        start, grid = np.hstack([q, u]), (t, step, steps, every)
        found, w = _computed(equations, start, inputs, p, grid, method, threads)
    _warn_if_lost(found, w, p)
    _warn_if_unmet(found, p)
    return found


def _computed(
    equations: Equations,
    start: np.ndarray,
    inputs: Any,
    p: np.ndarray,
    grid: tuple[float, float, int, int],
    method: str,
    threads: int,
) -> tuple[Rollouts, np.ndarray]:
    """Trajectories, and the inputs at what is recorded of them, as far as they are known before."""
    t, step, steps, every = grid
    moments = t + step * np.arange(steps)
    check_covered(inputs, moments)
    if has_laws(inputs):
        controlled = Controlled(equations, inputs, p, step)
        run = controlled.run(start, t, steps, every, method, threads, _interpreted)
        states, further, tier = run
        found = replace(_rollouts(equations, states, t, step * every, tier), further=further)
        return found, np.zeros((len(found.time), len(equations.inputs)))
    w = _inputs(equations, at_times(inputs, moments), len(start), steps)
    try:
        states = equations.numeric.rollout(start, w, p, *grid, method, threads)
        tier = "machine code"
    except CompilationFailure as failure:
        report(failure, "rollouts in the interpreter")
        states, tier = _interpreted(equations, start, w, p, *grid, method), "interpreter"
    return _rollouts(equations, states, t, step * every, tier), w[..., ::every, :]


def _rollouts(
    equations: Equations, states: np.ndarray, t: float, apart: float, tier: str
) -> Rollouts:
    q, u = np.split(states, [len(equations.coordinates)], axis=2)
    return Rollouts(t + apart * np.arange(states.shape[1]), q, u, equations, tier)


def _warn_if_lost(found: Rollouts, w: np.ndarray, p: np.ndarray) -> None:
    """Say so where trajectories end in numbers that are not finite, and why the first one does."""
    known = np.isfinite(found.q).all(axis=-1) & np.isfinite(found.u).all(axis=-1)
    if known.all():
        return
    lost = np.flatnonzero(~known.all(axis=1))
    i, last = int(lost[0]), max(0, int(known[lost[0]].argmin()) - 1)
    inputs, constants = (w[i] if w.ndim == 3 else w)[last], p[min(i, len(p) - 1)]
    t, state = float(found.time[last]), (found.q[i, last], found.u[i, last])
    told = *state, t, inputs, constants
    near = all(np.abs(part).max(initial=0.0) < AWAY for part in state)
    numeric = found.equations.numeric
    unanswered = refused_or_valueless(numeric, numeric.arguments(*told)) if near else None
    why = unanswered or "it runs away; try a shorter step"
    try:
        with searching():
            found.equations.accelerations(*told)
    except ArgumentError as error:
        why = str(error)
    warnings.warn(
        f"{len(lost)} of {len(known)} trajectories are not finite in the end; number {i} is lost "
        f"after t = {t:.6g} s: {why}",
        stacklevel=3,
    )


def _warn_if_unmet(found: Rollouts, p: np.ndarray) -> None:
    """Say so where trajectories leave their constraints: at dead ends, and where these contradict
    each other. Of many records some are looked at, the last among them."""
    equations = found.equations
    known = np.isfinite(found.q).all(axis=-1) & np.isfinite(found.u).all(axis=-1)
    apart = 1 + known.size // LOOKED_AT
    known[:, ::-1][:, np.arange(len(found.time)) % apart > 0] = False
    number, moment = np.nonzero(known)
    if not (equations.constraints and len(number)):
        return
    q, u, t = found.q[known], found.u[known], found.time[moment]
    rows = np.hstack(violations(equations, q, u, t, p[number] if len(p) > 1 else p))
    excess = np.abs(rows) > UNMET * (1 + np.abs(np.hstack([q, u])).max(axis=1, keepdims=True))
    wrong = np.flatnonzero(excess.any(axis=1))
    if len(wrong):
        k = wrong[moment[wrong].argmin()]
        row = int(excess[k].argmax())
        warnings.warn(
            f"{len(set(number[wrong]))} of {len(found)} trajectories leave their constraints: "
            f"{_row_names(equations)[row]} of number {number[k]} is off by "
            f"{np.abs(rows[k, row]):.2g} at t = {t[k]:.6g} s; do not trust them from there on. Try "
            "a shorter step, or simulate",
            stacklevel=3,
        )


def _row_names(equations: Equations) -> list[str]:
    """Of φ and ψ."""
    return [
        *map(repr, equations.constraints[: equations.terms.phi.numel()]),
        *(f"the rate of {name!r}" for name in equations.constraints),
    ]


def _states(
    equations: Equations, q: Any, u: Any, parameters: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q and u with a row for each trajectory, parameters with a row for each or one for all."""
    q, u, _, _, p = equations.numeric.arguments(q, u, 0.0, None, parameters)
    shapes = f"coordinates {q.shape}, speeds {u.shape}, parameters {p.shape}"
    try:
        count = np.broadcast_shapes(q.shape[:-1], u.shape[:-1], p.shape[:-1], (1,))
    except ValueError:
        raise ArgumentError(f"the numbers of trajectories do not fit together: {shapes}") from None
    if len(count) > 1:
        raise ArgumentError(f"rollouts take one batch axis, got {shapes}")
    return (
        np.broadcast_to(q, (*count, q.shape[-1])),
        np.broadcast_to(u, (*count, u.shape[-1])),
        np.atleast_2d(p),
    )


def _on_constraints(
    equations: Equations, q: np.ndarray, u: np.ndarray, t: np.ndarray, p: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """The states nearest to those given that satisfy all constraints."""
    q, u = project(equations, q, u, t, p)
    rows = np.hstack(
        [equations.position_violation(q, t, p), equations.velocity_violation(q, u, t, p)]
    )
    left = ~(np.abs(rows) < TOLERANCE * (1 + np.abs(u).max(axis=1, initial=0, keepdims=True)))
    if left.any():
        trajectory, row = np.argwhere(left)[0]
        raise ArgumentError(
            f"trajectory {trajectory} does not begin on the constraints, and no state nearby does: "
            f"{_row_names(equations)[row]} is left at "
            f"{rows[trajectory, row]:.3g}; use assemble() to find a start"
        )
    return q, u


def _inputs(equations: Equations, inputs: Any, count: int, steps: int) -> np.ndarray:
    """Inputs with axes (steps, inputs) or (trajectories, steps, inputs)."""
    w = numbers("inputs", equations.inputs, inputs)
    axes = (count, steps, len(equations.inputs)) if w.ndim == 3 else (steps, len(equations.inputs))
    try:
        return np.broadcast_to(w, axes)
    except ValueError:
        largest = (count, steps, len(equations.inputs))
        wanted = f"(inputs), (steps, inputs) or (trajectories, steps, inputs) = {largest}"
        raise ArgumentError(f"inputs: expected axes {wanted}, got {w.shape}") from None


def _interpreted(
    equations: Equations,
    y: np.ndarray,
    w: np.ndarray,
    p: np.ndarray,
    t0: float,
    h: float,
    steps: int,
    every: int,
    method: str,
    law: Callable[..., list[np.ndarray]] | None = None,
) -> np.ndarray:
    """The same in NumPy, one step of all trajectories at a time: where there is no compiler."""
    nq, records, ends = len(equations.coordinates), [y], len(equations.coordinates)
    ends += len(equations.speeds)
    for k in range(steps):
        t, inputs = t0 + k * h, w[..., k, :]

        def slope(y: np.ndarray, t: float, inputs: np.ndarray = inputs) -> np.ndarray:
            q, u = y[:, :nq], y[:, nq:ends]
            w, *further = [inputs] if law is None else law(t, y, inputs)
            rates = equations.coordinate_rates(q, u, t, p)
            return np.hstack([rates, equations.accelerations(q, u, t, w, p), *further])

        y = STEPS[method](slope, y, t, h, nq)
        kept = project(equations, y[:, :nq], y[:, nq:ends], np.full(len(y), t + h), p)
        y = np.hstack([*kept, y[:, ends:]])
        records += [y] if (k + 1) % every == 0 else []
    return np.stack(records, axis=1)


def _rk4(
    slope: Callable[..., np.ndarray], y: np.ndarray, t: float, h: float, nq: int
) -> np.ndarray:
    k1 = slope(y, t)
    k2 = slope(y + h / 2 * k1, t + h / 2)
    k3 = slope(y + h / 2 * k2, t + h / 2)
    return y + h / 6 * (k1 + 2 * k2 + 2 * k3 + slope(y + h * k3, t + h))


def _symplectic(
    slope: Callable[..., np.ndarray], y: np.ndarray, t: float, h: float, nq: int
) -> np.ndarray:
    speeds = np.where(np.arange(y.shape[1]) < nq, 0, 1)
    y = y + h * speeds * slope(y, t)
    return y + h * (1 - speeds) * slope(y, t)


def _midpoint(
    slope: Callable[..., np.ndarray], y: np.ndarray, t: float, h: float, nq: int
) -> np.ndarray:
    middle = y
    for _ in range(60):
        k = slope(middle, t + h / 2)
        before, middle = middle, y + h / 2 * k
        change = np.abs(middle - before) - 4e-16 * np.abs(middle)
        if change.max(initial=0.0) < 1e-16:
            break
    return y + h * np.where(change.max(axis=1, keepdims=True, initial=0.0) < 1e-9, k, np.nan)


STEPS = {"rk4": _rk4, "symplectic": _symplectic, "midpoint": _midpoint}
