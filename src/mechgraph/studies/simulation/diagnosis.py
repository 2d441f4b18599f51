"""What to say of a run: statistics, energy that was lost, why it failed."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import replace
from typing import Any

import casadi as ca
import numpy as np
from scipy.ndimage import maximum_filter1d

from ...composition.subsystem import composition
from ...contract.mobility import lost_rows
from ...contract.valueless import searching
from ...results.trajectory import Trajectory
from .context import Context
from .integrator import IntegrationFailure, Integrator, Problem
from .loop import InputFailure
from .recorder import Recorder

ROUGH = 100  # errors by rounding, in units of the tolerance, up to which nothing is said
NOTICED = 1e-8  # and relative ones
STILL = 1e-9  # speeds that are taken for none
PARTS, NEIGHBOURS = 21, 3  # of a run; so many of them are about the same time
PROMISED = 2  # of the largest energy, in units of the tolerance: what may be lost of it


def statistics_of(
    integrator: Integrator, recorder: Recorder, rtol: float, spent: float
) -> dict[str, Any]:
    """How the run was made, and what it took."""
    eqs = recorder.context.equations
    changes = [f"{method} from t = {t:.6g}" for t, method in integrator.changes]
    return {
        "formalism": eqs.formalism,
        "closure": eqs.closure if eqs.constraints else "none needed",
        "method": ", ".join(["rk8", *changes[:20]]) if changes else integrator.shown_method,
        "tier": integrator.tier,
        "rtol": rtol,
        "steps": int(integrator.steps),
        "evaluations": int(integrator.evaluations),
        "drift": recorder.drift,
        "seconds": round(spent, 4),
    }


def warn_of_rounding(integrator: Integrator, rtol: float) -> None:
    """Say so where the equations could be known to much less than the tolerance."""
    error, moment = integrator.rough
    if error > ROUGH and error * rtol > NOTICED:
        warnings.warn(
            f"at t = {moment:.6g} the accelerations are known to less than the tolerance: by "
            f"rounding, a step there may be wrong by {error * rtol:.1g} (relative). The motion "
            "passes near a singular position; what comes after it is known to that only",
            stacklevel=4,
        )


def warn_of_depth(trajectory: Trajectory, integrator: Integrator, recorder: Recorder) -> None:
    """Say so where round things were pressed so deep into each other that they may have passed."""
    forces = recorder.context.equations.terms.chart.description.forces.values()
    pressed = [force for force in forces if force.is_passable]
    runs = [trajectory, _along_steps(trajectory, integrator, recorder)] if pressed else []
    for contact in pressed:
        deep = [run.time[run.observe(contact.reserve).min(axis=1) < 0] for run in runs]
        if any(map(len, deep)):
            warnings.warn(
                f"contact {contact.name!r} is pressed in by more than half of its size at t = "
                f"{np.concatenate(deep).min():.6g}: things may have passed through each other. A "
                "larger stiffness, or rigid_contact, holds them apart",
                stacklevel=4,
            )


def warn_of_lost_energy(
    trajectory: Trajectory, integrator: Integrator, recorder: Recorder, rtol: float
) -> None:
    """Say so if the balance is off by more than the root of the tolerance: such a motion is not to
    be trusted.

    It is looked at along the integrator's own steps, so that nothing depends on the output, and on
    all of the output; beside the energies about the same time, so that what is lost where they are
    large for a moment is seen in what comes after it.
    """
    runs = [trajectory]
    if not trajectory.modes:
        runs.append(_along_steps(trajectory, integrator, recorder))
    times, kinetic, potential, supplied, dissipated, rest = _balance(runs)
    parts = np.linspace(times.min(), times.max(), 1 if trajectory.modes else PARTS)
    part = np.searchsorted(parts, times, side="right") - 1
    lost, scale = np.zeros((2, len(parts)))
    total = kinetic + potential
    np.maximum.at(lost, part, np.abs(total - total[0] + dissipated - supplied))
    sizes = np.abs([kinetic, potential - potential[0], supplied, dissipated]).max(axis=0)
    np.maximum.at(scale, part, sizes)
    promised = min(PROMISED * rtol, np.sqrt(rtol)) * scale.max()
    scale = maximum_filter1d(scale, NEIGHBOURS)
    rounding = 1e-9 * np.abs(total[: len(trajectory)]).max() + rest
    worst = int((lost - np.sqrt(rtol) * scale).argmax())
    if lost[worst] > np.sqrt(rtol) * scale[worst] + promised + rounding:
        warnings.warn(
            f"the energy balance of this run is off by {lost[worst]:.2g} J of {scale[worst]:.2g} J "
            f"at about t = {parts[worst]:.3g}: do not trust it. Where it went shows in .imbalance; "
            f"{_advice(trajectory, integrator.problem)}",
            stacklevel=4,
        )


def _advice(trajectory: Trajectory, problem: Problem) -> str:
    """What makes a run more accurate."""
    most = max(np.abs(trajectory.q - trajectory.q[0]).max(), np.abs(trajectory.u).max())
    if most < problem.atol / problem.rtol:
        return (
            f"nothing moves by more than {most:.2g}, so give atol: it is {problem.atol:.1g}, and "
            f"{problem.rtol * most / 100:.1g} would do"
        )
    return "a smaller rtol, or another formalism may help"


@searching()
def _balance(runs: list[Trajectory]) -> list[np.ndarray]:
    """Of all rows of runs that begin at the same state: times, T, V, work supplied and dissipated
    since; and what speeds have that are taken for none: all that moves, where friction holds the
    rest."""
    eqs = runs[0].equations
    assert eqs is not None
    terms, p = eqs.terms, eqs.numeric.arguments.parameters(runs[0].constants)
    energies = eqs.numeric.kernel(
        "energies", lambda: [ca.vertcat(terms.kinetic, terms.potential)], [1]
    )
    t, q, u, supplied, dissipated = (
        np.concatenate([getattr(run, name) for run in runs])
        for name in ("time", "q", "u", "supplied", "dissipated")
    )
    rows = [np.concatenate([x, x[:1]]) for x in (q, u, t)]
    rows[1][-1] = STILL
    along = np.concatenate([p, p[:1]]) if p.ndim > 1 else p  # switches of contacts
    given = eqs.numeric.arguments(rows[0], rows[1], rows[2], None, None)
    T, V = energies(*given[:4], along)[0].T
    return [t, T[:-1], V[:-1], supplied - supplied[0], dissipated - dissipated[0], T[-1]]


def looked_at(trajectory: Trajectory, integrator: Integrator, recorder: Recorder) -> Trajectory:
    """The motion of the output and at some of the integrator's own steps, one after the other; with
    contacts, which switch, of the output alone."""
    if trajectory.modes:
        return trajectory
    runs = trajectory, _along_steps(trajectory, integrator, recorder)
    time, q, u, w = (
        np.concatenate([getattr(run, name) for run in runs]) for name in ("time", "q", "u", "w")
    )
    return replace(trajectory, time=time, q=q, u=u, w=w, stored={}, further={})


def _along_steps(trajectory: Trajectory, integrator: Integrator, recorder: Recorder) -> Trajectory:
    """The motion at some of the integrator's own steps."""
    times, states = integrator.trace()
    first = np.concatenate([trajectory.q[:1], trajectory.u[:1]], axis=1)
    own = recorder.context.loop.own_start[None]
    work = np.zeros((1, states.shape[1] - first.shape[1] - own.shape[1]))
    times = np.concatenate([trajectory.time[:1], times])
    q, u, own, works = recorder.split(np.vstack([np.hstack([first, own, work]), states]))
    names = ("supplied", "dissipated") if works.shape[1] >= 2 else ()
    stored = {name: works[:, k] for k, name in enumerate(names)}
    w = recorder.inputs_at(times, q, u, own)
    return replace(trajectory, time=times, q=q, u=u, w=w, stored=stored, modes={}, further={})


@searching()
def diagnosis(context: Context, trajectory: Trajectory, failure: IntegrationFailure) -> str:
    """What failed, where, when, and what to try."""
    eqs, t = context.equations, float(trajectory.time[-1])
    lines = [f"the run stopped after t = {t:.6g} s: {failure}."]
    with suppress(InputFailure):  # a law that failed may fail again
        refused = context.refusal(trajectory.q[-1], trajectory.u[-1], t, 0.01)
        lines += [] if refused is None else [f"{refused}.".capitalize()]
    ends = trajectory.time[[0, -1]]
    lost = lost_rows(eqs, trajectory.q[0], trajectory.q[-1], ends, context.parameters)
    if lost:
        lines.append(
            f"It is near a singular configuration: {', '.join(lost)} lost their hold there."
        )
    lines += _failing(context, trajectory.q[-1], trajectory.u[-1], t)
    fastest = int(np.abs(trajectory.u[-1]).argmax()) if trajectory.u.size else 0
    if trajectory.u.size:
        lines.append(
            f"The fastest speed there is {eqs.speeds[fastest]!r} = {trajectory.u[-1][fastest]:.4g}."
        )
    lines.append(f"{failure.hint}; .trajectory of this error keeps the motion so far.")
    return " ".join(lines)


def _failing(context: Context, q: np.ndarray, u: np.ndarray, t: float) -> list[str]:
    """Of composed equations: what was chosen for a complement, and is none."""
    whole = composition(context.equations)
    level = None if whole is None else whole.failing(q, u, t, context.parameters)
    if level is None:
        return []
    free = ", ".join(map(repr, level.independent))
    return [
        f"What {level.name!r} was composed with is no complement there: its rows lose rank, or do "
        f"not leave {free} free. mg.compose(…, complement='pivoted') finds one anew at every state."
    ]
