"""What a run may begin with: accelerations that are determined, and that the constraints allow."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import numpy as np

from ...contract.accelerations import contradiction, undetermined_message, undetermined_speeds
from ...contract.valueless import force_without_value, searching
from ...errors import ArgumentError
from .context import Context

if TYPE_CHECKING:
    from ...equations import Equations


@searching()
def check_determined(context: Context, q: np.ndarray, u: np.ndarray, t: float) -> None:
    """Refuse a start where something that moves has no inertia: the accelerations would be any or
    none."""
    eqs, p = context.equations, context.parameters or None
    if eqs.constraints:
        determined = (
            undetermined_speeds(eqs.numeric, eqs.numeric.arguments(q, u, t, None, p)) is None
        )
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
        row = contradiction(eqs.terms, A, b, udot)
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
    refused = context.refusal(q, u, t)
    if refused is not None:
        return refused
    at = eqs.numeric.arguments(q, u, t, None, p)
    force = force_without_value(eqs.numeric, at)
    if force is not None:
        return (
            f"{force} has no value at the start (0/0): a spring of length zero, a direction "
            "between two points that coincide; begin a little beside it"
        )
    return undetermined_message(eqs.numeric, at)
