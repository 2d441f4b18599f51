"""Simulation: from a partial start to a trajectory on a grid, with error control, constraints kept,
events and progress."""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX
from tqdm import tqdm

from ...arguments import earlier_word, named, number, one_of
from ...contract.mobility import lost_rows
from ...errors import ArgumentError, SimulationError, UnsupportedError
from ...motion.loads import culprit
from ...motion.motion import Motion
from ...results.trajectory import Trajectory
from ..assembly.assemble import assemble
from ..contact.modes import Contacts
from ..projection import project_measured, violations
from .context import Context
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

if TYPE_CHECKING:
    from ...equations import Equations

DRIFT = ("projection", "baumgarte", "none")
# violation before projection at which the stretches between projections are made shorter
DRIFT_LIMIT = 1e-7
KEPT = 1e-6  # violation after projection that fails a run
JUMP = 1e-2  # violation before projection, in proportion to the coordinates, that does
PART = 0.618  # of a step, for a look at what the output does not show; in step with nothing
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
    times = _grid(duration, step, t)
    context = Context.make(equations, inputs, parameters)
    watch = Watch(context, named("events", events))
    rate = number("baumgarte", baumgarte, positive=True)
    settings = (rtol, atol, drift, rate, account)
    integrator = _integrator(equations, context, method, *settings)
    state = assemble(equations, start, guess=guess, t=t, parameters=parameters)
    _check_determined(context, *state, t)
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
    statistics = _statistics(integrator, recorder, rtol, spent) | (
        {"impacts": contacts.count} if contacts else {}
    )
    trajectory = recorder.trajectory(outcome, watch, statistics)
    if failure is not None:
        raise SimulationError(_diagnosis(context, trajectory, failure), trajectory)
    if account and drift == "projection" and not equations.numeric.large:
        _warn_of_lost_energy(trajectory, integrator, recorder, rtol)
    return trajectory


def _grid(duration: Any, step: Any, t: Any) -> np.ndarray:
    duration, t = number("duration", duration, positive=True), number("t", t)
    step = duration / 500 if step is None else number("step", step, positive=True)
    count = max(1, round(duration / step))
    if abs(count * step - duration) > 1e-9 * duration:
        raise ArgumentError(
            f"duration {duration:g} is not a whole number of steps {step:g}; the nearest is "
            f"{count * step:g}"
        )
    return t + duration * np.arange(count + 1) / count


def _check_determined(context: Context, q: np.ndarray, u: np.ndarray, t: float) -> None:
    """Refuse a start where something that moves has no inertia: the accelerations would be any or
    none."""
    eqs, p = context.equations, context.parameters
    if eqs.constraints:
        determined = eqs.numeric.undetermined(q, u, t, p) is None
    else:
        determined = bool(
            np.isfinite(
                eqs.numeric.evaluate("udot", lambda: eqs.numeric.closed.udot, 1, q, u, t, None, p)
            ).all()
        )
    if not determined:
        raise ArgumentError(_why_not_finite(context, q, u, t))
    if eqs.constraints and not eqs.numeric.large:
        _check_accelerations(context, q, u, t)


def _check_accelerations(context: Context, q: np.ndarray, u: np.ndarray, t: float) -> None:
    """Refuse a start where the constraints want accelerations that contradict each other."""
    eqs, p = context.equations, context.parameters
    w = context.inputs_at(np.array([t]), q[None], u[None])[0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        udot = eqs.solve(q, u, t, w, p)[0]
    A = eqs.constraint_jacobian(q, u, t, p)
    b = eqs.numeric.evaluate("b", lambda: eqs.terms.b, 1, q, u, t, w, p)
    if np.isfinite(udot).all():
        row = eqs.numeric.contradicted(A, b, udot)
        if row is not None and _level(eqs, row):  # others may be at a singular position
            raise ArgumentError(
                f"no accelerations meet all constraints at the start: {row!r} is among those that "
                "contradict each other; take one of them away"
            )


def _level(equations: Equations, row: str | None) -> bool:
    """True for a row that is given at acceleration level."""
    return row in equations.constraints[equations.terms.psi.numel() :]


def _why_not_finite(context: Context, q: np.ndarray, u: np.ndarray, t: float) -> str:
    """The force or constraint that has no value at the start, if there is one; else what has no
    inertia."""
    eqs, p = context.equations, context.parameters
    terms, m = eqs.terms, eqs.terms.chart.motion
    for element in terms.chart.description.elements:
        acting = [*element.conservative(m), *element.nonconservative(m)]
        parts = [part for action in acting for part in vars(action).values()]
        value = ca.vertcat(SX(0, 1), *(ca.vec(part) for part in parts if isinstance(part, SX)))
        found = eqs.numeric.built([value], [1])(*eqs.numeric.arguments(q, u, t, None, p))[0]
        if not np.isfinite(found).all():
            return (
                f"{culprit(element)} has no value at the start (0/0): a spring of length zero, a "
                "direction between two points that coincide; begin a little beside it"
            )
    return eqs.numeric.undetermined_message(q, u, t, p)


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
    if rtol >= 1:
        raise ArgumentError(f"rtol must be below one, got {rtol!r}")
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


class Recorder:
    """The motion so far; every stretch is projected on the constraints before it is kept."""

    def __init__(
        self,
        context: Context,
        times: np.ndarray,
        q: np.ndarray,
        u: np.ndarray,
        work: np.ndarray,
        projecting: bool,
    ) -> None:
        self.context, self.times, self.projecting = context, times, projecting
        self.t, self.q, self.u, self.work = [times[:1]], [q[None]], [u[None]], [work[None]]
        self.done = 0  # index in the grid of the last recorded time
        self.drift = 0.0
        self.switches: dict[str, float] = {}  # of rigid contacts
        self.modes: list[dict[str, np.ndarray]] = []

    @property
    def last(self) -> tuple[float, np.ndarray]:
        return float(self.t[-1][-1]), np.concatenate(
            [self.q[-1][-1], self.u[-1][-1], self.work[-1][-1]]
        )

    def ahead(self, stretch: int) -> np.ndarray:
        """The next times of the grid; only one if the last one is beside the grid (an event), so
        that all are equidistant."""
        on_grid = self.last[0] == self.times[self.done]
        return self.times[self.done + 1 : self.done + 1 + (stretch if on_grid else 1)]

    def switch(self, switches: dict[str, float]) -> np.ndarray:
        """From now on with these switches: the parameters, as an array."""
        self.switches = switches
        self.context = replace(self.context, parameters={**self.context.parameters, **switches})
        return np.array(list(self.context.parameters.values()))

    def projected(self, times: np.ndarray, states: np.ndarray) -> tuple[np.ndarray, float]:
        """States with their positions and speeds on the constraints, and how far they had
        drifted."""
        eqs, p = self.context.equations, self.context.parameters
        q, u, work = self.split(states)
        if not self.projecting:
            return np.hstack([eqs.terms.chart.normalized(q), u, work]), 0.0
        before = q
        q, u, drift = project_measured(eqs, q, u, times, p)
        if drift > DRIFT_LIMIT:
            self._check_kept(before, q, u, times, drift)
        if eqs.constraints:
            self._check_speeds(q[-1:], u[-1:], times[-1:])
        return np.hstack([q, u, work]), drift

    def _check_speeds(self, q: np.ndarray, u: np.ndarray, times: np.ndarray) -> None:
        """Refuse speeds that no projection brings to the constraints."""
        eqs = self.context.equations
        left = np.abs(violations(eqs, q, u, times, self.context.parameters)[1][0])
        if left.max(initial=0.0) > KEPT * max(1.0, np.abs(u).max(initial=0.0)):
            row = int(left.argmax())
            raise IntegrationFailure(
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
        raise IntegrationFailure(
            f"{eqs.constraints[row]!r} is off by {abs(left[state, row]):.2g} at t = "
            f"{times[state]:.6g}: constraints contradict "
            "each other there, or one of them jumps"
        )

    def energy(self, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """T + V."""
        eqs, p = self.context.equations, self.context.parameters
        return eqs.kinetic_energy(q, u, t, p) + eqs.potential_energy(q, t, p)

    def split(self, states: np.ndarray) -> list[np.ndarray]:
        """q, u, work."""
        eqs = self.context.equations
        return np.split(states, np.cumsum([len(eqs.coordinates), len(eqs.speeds)]), axis=1)

    def store(self, times: np.ndarray, states: np.ndarray, drift: float, on_grid: int) -> None:
        if not len(times):
            return
        self.t.append(times)
        for store, part in zip((self.q, self.u, self.work), self.split(states), strict=True):
            store.append(part)
        self.modes.append(
            {name: np.full(len(times), value) for name, value in self.switches.items()}
        )
        self.done += on_grid
        self.drift = max(self.drift, drift)

    def trajectory(self, outcome: str, watch: Watch, statistics: dict[str, Any]) -> Trajectory:
        eqs = self.context.equations
        t, q, u, work = (np.concatenate(parts) for parts in (self.t, self.q, self.u, self.work))
        columns = {
            "coordinates": eqs.coordinates,
            "speeds": eqs.speeds,
            "inputs": eqs.inputs,
            "constraints": eqs.constraints,
        }
        w = self.context.inputs_at(t, q, u)
        found = {name: np.array(times) for name, times in watch.found.items()}
        stored = {} if not work.size else {"supplied": work[:, 0], "dissipated": work[:, 1]}
        modes = {
            name: np.concatenate([part[name] for part in (self.modes[0], *self.modes)])
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
        )


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


# --- what to say about it -------------------------------------------------------------------------


def _statistics(
    integrator: Integrator, recorder: Recorder, rtol: float, spent: float
) -> dict[str, Any]:
    name = next((name for name, kind in METHODS.items() if type(integrator) is kind), "none needed")
    eqs = recorder.context.equations
    return {
        "formalism": eqs.formalism,
        "closure": eqs.closure if eqs.constraints else "none needed",
        "method": name,
        "tier": integrator.tier,
        "rtol": rtol,
        "steps": int(integrator.steps),
        "evaluations": int(integrator.evaluations),
        "drift": recorder.drift,
        "seconds": round(spent, 4),
    }


def _warn_of_lost_energy(
    trajectory: Trajectory, integrator: Integrator, recorder: Recorder, rtol: float
) -> None:
    """Say so if the balance is off by more than the root of the tolerance: such a motion is not to
    be trusted."""
    rows = np.unique(np.linspace(0, len(trajectory) - 1, 16).astype(int))
    some = trajectory.at(rows)
    terms = [some.kinetic, *(x - x[0] for x in (some.potential, some.supplied, some.dissipated))]
    lost, scale = np.abs(some.imbalance).max(), max(float(np.abs(term).max()) for term in terms)
    if lost <= np.sqrt(rtol) * scale + 1e-9 * np.abs(some.energy).max():
        return
    scale = max(scale, _energy_between(trajectory, integrator, recorder, rows))
    if lost > np.sqrt(rtol) * scale:
        warnings.warn(
            f"the energy balance of this run is off by {lost:.2g} J of {scale:.2g} J: do not trust "
            "it. Where it went shows in .imbalance; a smaller rtol, method='rk8' or another "
            "formalism may help",
            stacklevel=4,
        )


def _energy_between(
    trajectory: Trajectory, integrator: Integrator, recorder: Recorder, rows: np.ndarray
) -> float:
    """The largest kinetic energy a part of a step beyond some rows: an output may fall on the
    moments where everything stands still."""
    found = [0.0]
    eqs, p = recorder.context.equations, recorder.context.parameters
    work = np.zeros(integrator.problem.motion.work.numel())
    for row in rows[:-1]:
        t, q, u = trajectory.time[row], trajectory.q[row], trajectory.u[row]
        span = trajectory.time[row + 1] - t
        if span > 0:
            moments = t + span * PART * np.arange(1, 4) / 3
            with suppress(IntegrationFailure):
                states = integrator.advance(t, np.concatenate([q, u, work]), moments)
                there, moving, _ = recorder.split(states)
                found.append(float(eqs.kinetic_energy(there, moving, moments, p).max()))
    return max(found)


def _diagnosis(context: Context, trajectory: Trajectory, failure: IntegrationFailure) -> str:
    """What failed, where, when, and what to try."""
    eqs, t = context.equations, float(trajectory.time[-1])
    lines = [f"the run stopped after t = {t:.6g} s: {failure}."]
    ends = trajectory.time[[0, -1]]
    lost = lost_rows(eqs, trajectory.q[0], trajectory.q[-1], ends, context.parameters)
    if lost:
        lines.append(
            f"It is near a singular configuration: {', '.join(lost)} lost their hold there."
        )
    fastest = int(np.abs(trajectory.u[-1]).argmax()) if trajectory.u.size else 0
    if trajectory.u.size:
        lines.append(
            f"The fastest speed there is {eqs.speeds[fastest]!r} = {trajectory.u[-1][fastest]:.4g}."
        )
    lines.append(f"{failure.hint}; .trajectory of this error keeps the motion so far.")
    return " ".join(lines)
