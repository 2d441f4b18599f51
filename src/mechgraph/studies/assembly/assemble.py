"""Initial assembly: from what the user named to a state that satisfies every constraint.

Positions first, then velocities: what the start names is met, what the guess names as nearly as the
constraints allow, and the rest stays near the reference configuration, and near rest. What cannot
be satisfied is named.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ...arguments import named, number, one_state
from ...contract.valueless import searching
from ...errors import ArgumentError, AssemblyError
from ...interrupts import remembered_interrupts
from ...numerics.tolerances import EPSILON, GIVEN, KNOWN, MET
from ..projection import project, violations
from .change_of_coordinates import convert, in_joint_coordinates, with_turns
from .contact_points import with_contact_points
from .named_values import GivenValues, StartValues, check_quaternions, read_start
from .nearest import PositionRows, VelocityRows, contradiction, solve, weakest

if TYPE_CHECKING:
    from ...equations import Equations

BY_NAME = "assemble(guess=dict(zip(eqs.coordinates, q))) finds the nearest that does not"


@remembered_interrupts()
@searching()
def assemble(
    equations: Equations,
    start: Any = None,
    *,
    guess: Any = None,
    t: float = 0.0,
    parameters: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """A consistent (q, u), nearest to the guess, and then to the reference configuration at rest.

    start: a mapping of names to values (see ``names``), which are met, or a pair (q, u).
    guess: the same with values that are met as nearly as the constraints allow, for mechanisms that
        can be assembled in several ways, and for values that are rounded.
    """
    context = {"t": (t := number("t", t)), "parameters": parameters}
    one_state(equations.numeric.arguments(None, None, t, None, parameters))
    if isinstance(start, tuple):
        return _given(equations, start, t, parameters)
    start, guess = named("start (or the pair (q, u))", start), named("guess", guess)
    joint = in_joint_coordinates(equations, {*start, *guess})
    if joint is not None:
        found = assemble(joint, start, guess=guess, **context)
        return convert(joint, equations, *found, **context)
    try:
        return _assembled(equations, start, guess, context)
    except AssemblyError as error:
        if not start:
            raise
        raise AssemblyError(
            f"{error}{_nearby(equations, start, guess, context)}", error.residuals
        ) from None


def _assembled(
    equations: Equations, start: Any, guess: Any, context: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray]:
    asked, guessed = read_start(equations, start), read_start(equations, guess, "guess")
    q = _positions(equations, asked, guessed, {*start, *guess}, context)
    q = with_turns(equations, equations, q, q, **context)
    levels = guessed.velocities, asked.velocities
    first = _with_values(np.zeros(len(equations.speeds)), *levels)
    # rest is u = 0 unless the user chose other speeds
    if _independent(equations, *levels) and not equations.terms.chart.replaced:
        return q, first
    rows = VelocityRows(equations, q, first, context, asked.velocities, guessed.velocities)
    u = solve(rows, first)
    if u.any():
        _warn_near_singular_positions(equations, q, context)
    return q, u


def _warn_near_singular_positions(
    equations: Equations, q: np.ndarray, context: dict[str, Any]
) -> None:
    """Say so where rounding decides about speeds: of the coordinates it leaves ε/σ unknown, where σ
    is the slope of the weakest combination of rows, and of the speeds ε/σ²."""
    sigma, row = weakest(equations, q, context)
    error = min(1.0, EPSILON / sigma**2)
    if error > KNOWN:
        warnings.warn(
            f"the start is so near a singular position, where {row!r} depends on others, that its "
            f"speeds are known to about {error:.0e} only (relative), and accelerations less well; "
            "begin at that position, or farther away",
            stacklevel=5,
        )


def _nearby(equations: Equations, start: Any, guess: Any, context: dict[str, Any]) -> str:
    """The values of what was named that do fit, if there are any."""
    with suppress(AssemblyError):
        state = _assembled(equations, {}, {**guess, **start}, context)
        values = {name: equations.observe(name, *state, **context) for name in start}
        told = (f"{name} = {', '.join(f'{x:.6g}' for x in values[name])}" for name in start)
        return f". The nearest that fit: {'; '.join(told)}"
    return ""


def _positions(
    equations: Equations,
    asked: StartValues,
    guessed: StartValues,
    names: set[str],
    context: dict[str, Any],
) -> np.ndarray:
    """Coordinates with what is named as it is named."""
    start, guess = asked.positions, guessed.positions
    chart = equations.terms.chart
    first = _with_values(np.array(chart.reference), guess, start)
    first = with_contact_points(equations, first, names, context)
    unit = chart.normalized(first)
    if _independent(equations, start, guess) and np.abs(unit - first).max(initial=0.0) < GIVEN:
        return unit
    return solve(PositionRows(equations, first, context, start, guess), unit)


def _with_values(x: np.ndarray, *levels: GivenValues) -> np.ndarray:
    """x with the values of variables that are given, later ones first."""
    for level in levels:
        x[list(level.variables)] = list(level.variables.values())
    return x


def _independent(equations: Equations, *levels: GivenValues) -> bool:
    """True if nothing couples the variables: what is named stands, and the rest stays as it is."""
    return not equations.constraints and not any(level.rows.names for level in levels)


def _given(
    equations: Equations, start: tuple[Any, ...], t: float, parameters: Any
) -> tuple[np.ndarray, np.ndarray]:
    if len(start) != 2:
        raise ArgumentError(
            "start must be a mapping of names to values or the pair (q, u), got "
            f"{len(start)} values"
        )
    q, u = equations.numeric.arguments(*start, t, None, parameters)[:2]
    if q.ndim > 1 or u.ndim > 1:
        raise ArgumentError(
            "start: the pair (q, u) must be one state; for many at once use rollout"
        )
    check_quaternions(equations, dict(enumerate(q)))
    q = with_turns(equations, equations, q, q.copy(), t, parameters)
    rows = np.concatenate(violations(equations, q, u, np.array(t), parameters))
    if not np.abs(rows).max(initial=0.0) <= MET:  # then it is worth a look in scale
        _refuse_contradiction(equations, q, u, {"t": t, "parameters": parameters})
    q, u = project(equations, q[None], u[None], np.array([t]), parameters)
    return q[0], u[0]


def _refuse_contradiction(
    equations: Equations, q: np.ndarray, u: np.ndarray, context: dict[str, Any]
) -> None:
    places, speeds = PositionRows(equations, q, context), VelocityRows(equations, q, u, context)
    left = places.left(places(q[None])[0][0], KNOWN)
    left |= speeds.left(speeds(u[None])[0][0], KNOWN * max(1.0, 1 / speeds.pace))
    if left:
        raise contradiction(left, "the given start (q, u) contradicts the constraints", BY_NAME)
