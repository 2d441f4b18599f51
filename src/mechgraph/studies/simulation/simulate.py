"""Simulation: from a partial start to a trajectory on a grid, with error control, constraints kept,
events and progress."""

from __future__ import annotations

import time as clock
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Literal, TypeGuard

import casadi as ca
import numpy as np
from casadi import SX
from tqdm import tqdm

from ...arguments import choice, flag, named, number, one_of
from ...contract.closed import TrackWork
from ...contract.valueless import searching
from ...errors import ArgumentError, SimulationError, UnsupportedError
from ...graph.kinks import kinks
from ...interrupts import Interrupts, acknowledge, ending_interrupts, remembered_interrupts
from ...model.motion import Motion
from ...results.trajectory import Trajectory
from ...runtime.stepper import CONTACTS, EVENT, METHODS, TOO_SMALL
from ...tables.series import check_covered
from ..assembly.assemble import assemble
from ..contact.modes import Contacts
from ..contact.resolution import Resolution
from .context import Context
from .diagnosis import (
    diagnosis,
    looked_at,
    statistics_of,
    warn_of_depth,
    warn_of_lost_energy,
    warn_of_rounding,
)
from .events import Event, Watch
from .integrator import (
    ImplicitFailure,
    IntegrationFailure,
    Integrator,
    JumpingConstraint,
    Problem,
)
from .loop import InputFailure
from .recorder import Recorder
from .stabilized import Stabilized
from .start import check_determined
from .surfaces import Surfaces
from .unmet import warn_of_unmet

if TYPE_CHECKING:
    from ...equations import Equations
    from ...kernels.flow import Flow
    from .loop import Loop

STABILIZED = "gear-gupta-leimkuhler"
STABILIZATIONS = ("projection", "baumgarte", STABILIZED, "none")
FINEST = 1e-15  # relative tolerance that floating-point numbers can still tell
MOST_ROWS = 10_000_000  # of output that are stored
LEAST_STEPS = 150  # where they could be too long; stages are nearer than 1/300 of a run then
NOT_FINITE = "the accelerations are not finite"
PATIENCE = 0.1  # seconds after which an integrator looks up from its work


def simulate(
    equations: Equations,
    duration: float,
    start: Any = None,
    *,
    guess: Mapping[str, float] | None = None,
    t: float = 0.0,
    inputs: Any = None,
    parameters: Mapping[str, float] | None = None,
    events: Mapping[str, Event | str | Callable[[Motion], Any]] | None = None,
    step: float | None = None,
    max_step: float | None = None,
    rtol: float = 1e-8,
    atol: float | None = None,
    method: str | None = None,
    stabilization: str = "projection",
    baumgarte: float = 10.0,
    track_work: TrackWork = True,
    progress: bool | None = None,
) -> Trajectory:
    """Motion over ``duration`` seconds from ``start``.

    start, guess: names with values, and where assembly begins; see ``assemble``.
    t: time at the start.
    inputs: by name, numbers, expressions of the system's time, points (times, values) with straight
        lines between them (steps: (times, values, "hold")), tables of time, or controllers; or one
        controller for all. That is a function of the motion m (which becomes machine code), a
        Python function of t or of (t, q, u), or what ``mg.sampled``, ``mg.feedback``, ``mg.pid``,
        ``mg.computed_torque`` or ``mg.state_feedback`` make.
    parameters: by name, numbers.
    events: by name, zeros of quantities of the motion: ``mg.Event``, a function of the motion, or
        another name.
    step: spacing of the output, duration/500 if not given; the integrator chooses its own, and
        nothing depends on this one.
    max_step: the longest step that the integrator may take. If not given, that is duration/150
        where anything depends on time, at rest, and in free flight, so that no push that lasts for
        a three-hundredth of the run is stepped over; jumps in expressions, points and tables are
        met however short they are.
    rtol, atol: tolerances of the integrator; atol is rtol/100 if not given. With friction of rigid
        contacts they are at most a tenth of its ``regularization``.
    method: a name in ``METHODS``; if not given, rk8, and radau where the motion turns out to be
        stiff.
    stabilization: how constraints are kept: "projection" on all of them, "baumgarte" (terms with
        the rate ``baumgarte``), "gear-gupta-leimkuhler" (solved along, in implicit steps), or
        "none".
    track_work: integrate the work that drives supply and friction takes along, so that the energy
        balance can be seen; "elements": that of each force and constraint, too, for ``run.work``.
    progress: True shows a bar, False none; None if it takes long.

    A run that fails raises ``SimulationError``, which keeps the motion up to there; one that is
    interrupted returns it.
    """
    track_work = (
        track_work if _is_elements(track_work) else flag('track_work (or "elements")', track_work)
    )
    progress = choice("progress", progress, (True, False, None))
    elapsed = _grid(duration, step, t)
    with remembered_interrupts():
        context = Context.make(equations, inputs, parameters)
        check_covered(inputs, t + elapsed[[0, -1]])
        watch = Watch(context, named("events", events))
        one_of("stabilization", stabilization, STABILIZATIONS, UnsupportedError)
        rate = number("baumgarte", baumgarte, positive=True)
        udot = (
            _stabilized(equations, rate)
            if stabilization == "baumgarte" and equations.constraints
            else None
        )
        motion = equations.numeric.closed.flow(udot, stabilization == "projection", track_work)
        loop = context.loop
        _check_samples(loop, elapsed[-1])
        if not loop.is_open:
            motion = motion.closed(loop.told, loop.known_inputs, loop.own, loop.own_rates)
        state = assemble(equations, start, guess=guess, t=t, parameters=parameters)
        check_determined(context, *state, t)
        contacts = (
            Contacts(equations, context) if equations.terms.chart.description.switched else None
        )
        problem = Problem(
            motion,
            loop,
            np.array(list(context.parameters.values())),
            t,
            *_tolerances(rtol, atol, np.inf if contacts is None else contacts.tolerance),
            *_longest(max_step, motion, context, elapsed[-1]),
            _surfaces(context, watch, contacts),
        )
        integrator = _integrator(equations, _method(method), problem, stabilization)
        kept = stabilization in ("projection", STABILIZED)
        further = loop.own_start, np.zeros(motion.work.numel())
        recorder = Recorder(context, t, elapsed, *state, *further, kept)
        resolution = None
        if contacts is not None:
            contacts.check_start(t, *state)
            resolution = Resolution(contacts, problem)
    began = clock.perf_counter()
    outcome, failure = "finished", None
    try:
        with remembered_interrupts() as interrupts:
            _run(integrator, recorder, watch, resolution, progress, interrupts)
        if watch.stopped:
            outcome = f"stopped by event {watch.stopped!r}"
    except KeyboardInterrupt:
        acknowledge()
        outcome = "interrupted"
        _keep_last(integrator, recorder)
    except IntegrationFailure as met:
        outcome, failure = "failed", met
        _keep_last(integrator, recorder)
    spent = clock.perf_counter() - began
    recorder.log = integrator.log
    statistics = statistics_of(integrator, recorder, rtol, spent) | (
        {"impacts": contacts.count} if contacts else {}
    )
    trajectory = recorder.trajectory(outcome, watch, statistics)
    if failure is not None:
        raise SimulationError(diagnosis(context, trajectory, failure), trajectory)
    with ending_interrupts():  # the motion is there
        warn_of_rounding(integrator, rtol)
        warn_of_depth(trajectory, integrator, recorder)
        if equations.constraints:
            seen = looked_at(trajectory, integrator, recorder)
            if warn_of_unmet(seen, kept, problem.rtol, problem.atol):
                return trajectory
        if track_work and stabilization == "projection" and not equations.numeric.large:
            warn_of_lost_energy(trajectory, integrator, recorder, rtol)
    return trajectory


def _is_elements(track_work: Any) -> TypeGuard[Literal["elements"]]:
    return isinstance(track_work, str) and track_work == "elements"


def _grid(duration: Any, step: Any, t: Any) -> np.ndarray:
    """Times of the output, from the start on."""
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
            f"duration {duration:g} is not a whole number of steps {step:g}; the nearest are "
            f"duration={count * step:g} and step={duration / count:g}"
        )
    elapsed = duration * np.arange(count + 1) / count
    if not (np.diff(t + elapsed) > 0).all():
        raise ArgumentError(
            f"times {duration / count:g} s apart cannot be told from each other at t = {t:g} s; "
            "let the run begin at a smaller t, or give a larger step"
        )
    return elapsed


def _check_samples(loop: Loop, duration: float) -> None:
    """Refuse rates at which a run would hardly advance from sample to sample."""
    rate = max((call.rate for call in loop.samplers if call.rate is not None), default=0.0)
    if duration * rate > MOST_ROWS:
        raise ArgumentError(
            f"inputs: {rate:g} samples in a second for {duration:g} s are more than "
            f"{MOST_ROWS:,}; give a lower rate, or a law for every moment (rate=None, mg.feedback)"
        )


def _longest(max_step: Any, motion: Flow, context: Context, duration: float) -> tuple[float, float]:
    """The longest step, and that where errors tell nothing: at rest and in free flight, an
    integrator would else go over what begins and ends smoothly, or in Python, within one step."""
    if max_step is not None:
        return (number("max_step", max_step, positive=True),) * 2
    loop, short = context.loop, duration / LEAST_STEPS
    timed = loop.calls or motion.is_timed or ca.depends_on(loop.inputs, motion.t)
    blind = np.inf if context.equations.numeric.large else short  # their steps are dear
    return (short, short) if timed else (np.inf, blind)


def _tolerances(rtol: Any, atol: Any, most: float) -> tuple[float, float]:
    rtol = number("rtol", rtol, positive=True)
    if not FINEST <= rtol < 1:
        raise ArgumentError(
            f"rtol must be below one and at least {FINEST:g}, which is all that rounding leaves, "
            f"got {rtol!r}"
        )
    atol = rtol / 100 if atol is None else number("atol", atol, positive=True)
    return min(rtol, most), min(atol, most)


def _method(method: Any) -> str | None:
    if method is None:
        return None
    one_of("method", method, METHODS, UnsupportedError)
    return str(method)


def _integrator(
    equations: Equations, method: str | None, problem: Problem, stabilization: str
) -> Integrator:
    if stabilization != STABILIZED or not equations.constraints:
        return Integrator(method, problem, problem.motion.kept_state)
    if method not in (None, "radau"):
        raise UnsupportedError(
            f"stabilization={STABILIZED!r} is integrated by 'radau', got method={method!r}; "
            "leave it out, or use stabilization='projection'"
        )
    return Stabilized(equations, problem)


def _stabilized(equations: Equations, rate: float) -> SX:
    """u̇ with Baumgarte's terms: φ̈ + 2 a φ̇ + a² φ = 0 and ψ̇ + a ψ = 0."""
    count, total = equations.terms.phi.numel(), len(equations.constraints)
    psi = equations.terms.psi
    held = 2 * rate * psi[:count, :] + rate**2 * equations.terms.phi
    terms = ca.vertcat(held, rate * psi[count:, :], SX.zeros(total - psi.numel()))
    return equations.numeric.closed.way.accelerations(equations.terms.f, equations.terms.b + terms)


def _surfaces(context: Context, watch: Watch, contacts: Contacts | None) -> Surfaces:
    """What the run must not step over without a word."""
    loop, closed = context.loop, context.equations.numeric.closed
    margins = SX(0, 1) if contacts is None else contacts.margins
    if loop.inputs.is_constant() and not loop.own.numel() and not watch.events:
        return context.equations.numeric.keep("surfaces", lambda: Surfaces(margins, closed.kinks))
    laws = ca.vertcat(loop.inputs, loop.own_rates)
    kinked = ca.vertcat(closed.kinks, kinks(laws))
    return Surfaces(margins, kinked, watch.values, *watch.answers)


# --- the run --------------------------------------------------------------------------------------


@searching()
def _run(
    integrator: Integrator,
    recorder: Recorder,
    watch: Watch,
    resolution: Resolution | None,
    progress: bool | None,
    interrupts: Interrupts,
) -> None:
    """Step by step to the end of the grid, or to the event that ends it."""
    end = float(recorder.elapsed[-1])
    integrator.output(recorder.elapsed[1:])
    integrator.begin(0.0, recorder.last[1], recorder.constants)
    if resolution is not None:
        _resolve_contacts(integrator, recorder, resolution)
    with _bar(len(recorder.times) - 1, progress) as bar:
        while integrator.t < end:
            interrupts.check()
            try:
                why = integrator.run(end, PATIENCE)
            except BaseException:
                recorder.take(integrator)
                raise
            for event, moment in integrator.events():
                watch.note(event, moment)
            bar.update(recorder.take(integrator))
            if why == TOO_SMALL:
                raise _too_small(integrator, recorder)
            if why == CONTACTS or (why == EVENT and recorder.last[0] < integrator.now):
                recorder.keep(np.array([integrator.now]), integrator.y[None])
            if why == EVENT:
                return
            if why == CONTACTS and resolution is not None:
                resolution.contacts.count_standstill(integrator.t, integrator.now)
                _resolve_contacts(integrator, recorder, resolution)


def _keep_last(integrator: Integrator, recorder: Recorder) -> None:
    """Keep where a run is that is interrupted or fails: the next row of the output may be far
    away."""
    if integrator.now > recorder.last[0]:
        with suppress(IntegrationFailure, KeyboardInterrupt):
            recorder.keep(np.array([integrator.now]), integrator.y[None])


def _too_small(integrator: Integrator, recorder: Recorder) -> IntegrationFailure:
    """Why there is no step that would be short enough."""
    state = recorder.split(integrator.y[None])[:3]
    known = bool(np.isfinite(integrator.y).all())  # else no input can be asked for
    now = integrator.now
    culprit = recorder.context.unknown_input(now, *state) if known else None
    if culprit is not None:
        return InputFailure(f"{culprit} at t = {now:.6g}, or just after it")
    if integrator.jumped:
        return JumpingConstraint(f"what a constraint asks for jumps at t = {now:.6g}")
    what = "the step became too small" if integrator.finite else NOT_FINITE
    method = integrator.changes[-1][1] if integrator.changes else integrator.method
    kind = ImplicitFailure if method == "radau" else IntegrationFailure
    return kind(f"{what} at t = {now:.6g}")


def _bar(total: int, progress: bool | None) -> Any:
    """A bar that shows itself when a run takes long."""
    shown = None if progress is None else not progress
    return tqdm(total=total, unit="step", delay=1.0, leave=False, disable=shown)


def _resolve_contacts(integrator: Integrator, recorder: Recorder, resolution: Resolution) -> None:
    """Impacts at the last state, and the modes of the contacts after it; what impacts take of the
    energy is dissipated."""
    contacts, (t, y) = resolution.contacts, recorder.last
    q, u, own, work = (part[0] for part in recorder.split(y[None]))
    *after, given = resolution.resolve(t, q, u)
    if len(work) >= 2:
        lost = contacts.energy(t, q, u).sum() - contacts.energy(t, *after).sum() + given
        work[:2] += [given, float(lost)]
    recorder.switch(contacts.switches)
    state = np.concatenate([*after, own, work])
    recorder.store(np.array([t]), state[None])
    integrator.sides[: len(contacts.sides)] = contacts.sides
    integrator.begin(integrator.t, state, recorder.constants)
