"""What to say of a run: statistics, energy that was lost, why it failed."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import Any

import numpy as np

from ...contract.mobility import lost_rows
from ...results.trajectory import Trajectory
from .context import Context
from .integrators import METHODS, IntegrationFailure, Integrator
from .recorder import Recorder

PART = 0.618  # of a step, for a look at what the output does not show; in step with nothing


def statistics_of(
    integrator: Integrator, recorder: Recorder, rtol: float, spent: float
) -> dict[str, Any]:
    """How the run was made, and what it took."""
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


def warn_of_lost_energy(
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


def diagnosis(context: Context, trajectory: Trajectory, failure: IntegrationFailure) -> str:
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
