"""Simulation: from a partial start to a trajectory on a grid, with error control, constraints kept,
events and progress."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX
from tqdm import tqdm

from ...arguments import choice, earlier_word, flag, named, number, one_of
from ...errors import ArgumentError, SimulationError, UnsupportedError
from ...motion.motion import Motion
from ...results.trajectory import Trajectory
from ..assembly.assemble import assemble
from ..contact.modes import Contacts
from .context import Context
from .diagnosis import diagnosis, statistics_of, warn_of_lost_energy
from .events import Event, Watch
from .integrators import (
    METHODS,
    IntegrationFailure,
    Integrator,
    Problem,
    SciPy,
    WithoutMotion,
    make_integrator,
)
from .recorder import DRIFT_LIMIT, Recorder
from .start import check_determined

if TYPE_CHECKING:
    from ...equations import Equations

DRIFT = ("projection", "baumgarte", "none")
FINEST = 1e-15  # relative tolerance that floating-point numbers can still tell
MOST_ROWS = 10_000_000  # of output that are stored
LIGHT = 10_000  # evaluations of a stretch that nobody minds to wait for


def simulate(
    equations: Equations,
    duration: float,
    start: Any = None,
    *,
    guess: Mapping[str, float] | None = None,
    t: float = 0.0,
    inputs: Mapping[str, Any] | None = None,
    parameters: Mapping[str, float] | None = None,
    events: Mapping[str, Event | str | Callable[[Motion], Any]] | None = None,
    step: float | None = None,
    rtol: float = 1e-8,
    atol: float | None = None,
    method: str | None = None,
    drift: str = "projection",
    baumgarte: float = 10.0,
    account: bool = True,
    progress: bool | None = None,
    t0: float | None = None,
) -> Trajectory:
    """Motion over ``duration`` seconds from ``start``.

    start, guess: names with values, and where assembly begins; see ``assemble``.
    t: time at the start.
    inputs: by name, numbers, expressions of the system's time, or Python functions of t or of
        (t, q, u).
    parameters: by name, numbers.
    events: by name, zeros of quantities of the motion: ``mg.Event``, a function of the motion, or
        another name.
    step: spacing of the output, duration/500 if not given; the integrator chooses its own.
    rtol, atol: tolerances of the integrator; atol is rtol/100 if not given.
    method: a name in ``METHODS``; if not given, cvodes, rk8 with rigid contacts, dop853 for
        large systems and for inputs in Python.
    drift: how constraints are kept: "projection" on all of them, "baumgarte" (terms with the rate
        ``baumgarte``), or "none".
    account: integrate the work that drives supply and friction takes along, so that the energy
        balance can be seen.
    progress: True shows a bar, False none; None if it takes long.
    t0: an earlier name of t.

    A run that fails raises ``SimulationError``, which keeps the motion up to there; one that is
    interrupted returns it.
    """
    t = earlier_word("simulate", "t0", t0, "t", t)
    account, progress = flag("account", account), choice("progress", progress, (True, False, None))
    times = _grid(duration, step, t)
    context = Context.make(equations, inputs, parameters)
    watch = Watch(context, named("events", events))
    rate = number("baumgarte", baumgarte, positive=True)
    settings = (rtol, atol, drift, rate, account)
    integrator = _integrator(equations, context, method, *settings)
    state = assemble(equations, start, guess=guess, t=t, parameters=parameters)
    check_determined(context, *state, t)
    watch.begin(times[:1], np.concatenate(state)[None])
    work = np.zeros(integrator.problem.motion.work.numel())
    recorder = Recorder(context, times, *state, work, drift == "projection")
    contacts = Contacts(equations, context) if equations.terms.chart.description.switched else None
    if contacts is not None:
        contacts.check_start(t, *state)
    began = clock.perf_counter()
    outcome, failure = "finished", None
    try:
        _run(integrator, recorder, watch, contacts, progress)
        if watch.stopped:
            outcome = f"stopped by event {watch.stopped!r}"
    except KeyboardInterrupt:
        outcome = "interrupted"
    except IntegrationFailure as met:
        outcome, failure = "failed", met
    spent = clock.perf_counter() - began
    statistics = statistics_of(integrator, recorder, rtol, spent) | (
        {"impacts": contacts.count} if contacts else {}
    )
    trajectory = recorder.trajectory(outcome, watch, statistics)
    if failure is not None:
        raise SimulationError(diagnosis(context, trajectory, failure), trajectory)
    if account and drift == "projection" and not equations.numeric.large:
        warn_of_lost_energy(trajectory, integrator, recorder, rtol)
    return trajectory


def _grid(duration: Any, step: Any, t: Any) -> np.ndarray:
    duration, t = number("duration", duration, positive=True), number("t", t)
    step = duration / 500 if step is None else number("step", step, positive=True)
    if duration / step > MOST_ROWS:
        raise ArgumentError(
            f"duration {duration:g} with step {step:g} would store more than {MOST_ROWS:,} states; "
            "give a larger step"
        )
    count = max(1, round(duration / step))
    if abs(count * step - duration) > 1e-9 * duration:
        raise ArgumentError(
            f"duration {duration:g} is not a whole number of steps {step:g}; the nearest is "
            f"{count * step:g}"
        )
    return t + duration * np.arange(count + 1) / count


def _integrator(
    equations: Equations,
    context: Context,
    method: str | None,
    rtol: float,
    atol: float | None,
    drift: str,
    rate: float,
    account: bool,
) -> Integrator:
    one_of("way to keep constraints (drift)", drift, DRIFT, UnsupportedError)
    if method is None:
        method = _default_method(equations, context)
    one_of("method", method, METHODS, UnsupportedError)
    if context.signal is not None and not issubclass(METHODS[method], SciPy):
        scipy = ", ".join(name for name, kind in METHODS.items() if issubclass(kind, SciPy))
        raise UnsupportedError(
            f"{method} runs no Python functions as inputs; use an expression of system.time, or "
            f"one of {scipy}"
        )
    rtol = number("rtol", rtol, positive=True)
    atol = rtol / 100 if atol is None else number("atol", atol, positive=True)
    if not FINEST <= rtol < 1:
        raise ArgumentError(
            f"rtol must be below one and at least {FINEST:g}, which is all that rounding leaves, "
            f"got {rtol!r}"
        )
    udot = _stabilized(equations, rate) if drift == "baumgarte" and equations.constraints else None
    motion = equations.numeric.closed.flow(udot, drift == "projection", account)
    problem = Problem(
        motion, context.expressions, np.array(list(context.parameters.values())), context.signal
    )
    if not motion.y.numel():
        return WithoutMotion(problem, rtol, atol)
    return make_integrator(method, problem, rtol, atol)


def _default_method(equations: Equations, context: Context) -> str:
    """Many short ways between events are no work for a method of many steps, which begins each with
    small ones."""
    if context.signal is not None or equations.numeric.large:
        return "dop853"
    return "rk8" if equations.terms.chart.description.switched else "cvodes"


def _stabilized(equations: Equations, rate: float) -> SX:
    """u̇ with Baumgarte's terms: φ̈ + 2 a φ̇ + a² φ = 0 and ψ̇ + a ψ = 0."""
    count, total = equations.terms.phi.numel(), len(equations.constraints)
    psi = equations.terms.psi
    held = 2 * rate * psi[:count, :] + rate**2 * equations.terms.phi
    terms = ca.vertcat(held, rate * psi[count:, :], SX.zeros(total - psi.numel()))
    return equations.numeric.closed.solution(equations.terms.f, equations.terms.b + terms)[0]


# --- the run --------------------------------------------------------------------------------------


def _run(
    integrator: Integrator,
    recorder: Recorder,
    watch: Watch,
    contacts: Contacts | None,
    progress: bool | None,
) -> None:
    """Stretch after stretch: integrate, project, look for events, keep. Stretches adapt to the
    drift they allow."""
    total = len(recorder.times) - 1
    stretch = _first_stretch(total, recorder, integrator)
    if contacts is not None:
        _settle(integrator, recorder, contacts)
    with tqdm(
        total=total,
        unit="step",
        delay=1.0,
        leave=False,
        disable=None if progress is None else not progress,
    ) as bar:
        while recorder.done < total and not watch.stopped:
            (t, y), spent = recorder.last, integrator.evaluations
            # beyond an event of contacts all is in vain
            times = recorder.ahead(stretch if contacts is None else 1)
            try:
                if contacts is None:
                    reached = integrator.advance(t, y, times)
                else:
                    times, reached = contacts.advance(integrator, t, y, times[0])
                states, drift = recorder.projected(times, reached)
            except IntegrationFailure:
                if stretch == 1:
                    raise
                stretch = max(1, stretch // 4)
                continue
            met = False
            if contacts is not None:
                times, states, met = contacts.first_event(integrator, (t, y), times, states)
            count = _look(integrator, watch, contacts, (t, y), times, states)
            on_grid = int(np.isin(times[:count], recorder.times).sum())
            recorder.store(times[:count], states[:count], drift, on_grid)
            watch.finish(recorder)
            if contacts is not None and met and not watch.stopped:
                _settle(integrator, recorder, contacts)
            bar.update(on_grid)
            stretch = _next_stretch(
                stretch,
                drift,
                total,
                light=integrator.projects and integrator.evaluations - spent < LIGHT,
            )


def _look(
    integrator: Integrator,
    watch: Watch,
    contacts: Contacts | None,
    before: tuple[float, np.ndarray],
    times: np.ndarray,
    states: np.ndarray,
) -> int:
    """How many of the new points to keep, as events have it."""
    if not watch.events or not len(times):
        return len(times)
    if contacts is not None:  # which go from event to event anyway
        return watch.look(integrator, before, times, states, times)
    detector, moments, sampled = watch.sampled(integrator, before, times)
    return watch.look(detector, before, moments, sampled, times)


def _settle(integrator: Integrator, recorder: Recorder, contacts: Contacts) -> None:
    """Impacts at the last state, and the modes of the contacts after it; what impacts take of the
    energy is dissipated."""
    t, y = recorder.last
    q, u, work = (part[0] for part in recorder.split(y[None]))
    *after, given = contacts.settle(t, q, u)
    work += (
        [given, recorder.energy(t, q, u) - recorder.energy(t, *after) + given] if work.size else 0
    )
    integrator.restart(recorder.switch(contacts.switches))
    recorder.store(np.array([t]), np.concatenate([*after, work])[None], 0.0, 0)


def _first_stretch(total: int, recorder: Recorder, integrator: Integrator) -> int:
    """A power of two (few integrators are built), an eighth of the run, or less where constraints
    have to be kept."""
    part = 32 if recorder.context.equations.constraints and not integrator.projects else 8
    return int(2 ** max(0, np.floor(np.log2(max(1, total / part)))))


def _next_stretch(stretch: int, drift: float, total: int, light: bool) -> int:
    """Shorter where the drift is large; longer where it is small, up to an eighth of the run unless
    it is light work."""
    if drift > DRIFT_LIMIT:
        return max(1, stretch // 2)
    return (
        stretch * 2 if drift < DRIFT_LIMIT / 100 and (light or stretch * 16 <= total) else stretch
    )
