"""Equilibria and steady motions: states whose speeds do not change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from scipy.optimize import least_squares

from ..arguments import named, one_state, some_of
from ..equations import Equations
from ..errors import AssemblyError
from .initial import in_joint_coordinates, to_absolute
from .projection import moved

TOLERANCE = 1e-9


def equilibrium(equations: Equations, guess: Mapping[str, Any] | None = None, **options: Any) -> tuple[np.ndarray, np.ndarray]:
    """A state of rest, u = 0 and u̇ = 0, on the constraints, near the guess (names as in a start)."""
    joint = _in_joint_coordinates(equations, guess, ())
    return steady(equations, guess, hold=(joint or equations).speeds, **options)


def _in_joint_coordinates(equations: Equations, guess: Any, hold: Sequence[str]) -> Equations | None:
    """As ``in_joint_coordinates``; a guess may also be the pair (q, u), which is in the equations' own."""
    held = _held(hold, equations, equations.jointed)
    return None if isinstance(guess, tuple) else in_joint_coordinates(equations, [*named("guess", guess), *held])


def _held(hold: Any, *equations: Equations) -> tuple[str, ...]:
    """Names of speeds, and of the coordinates whose rates they are."""
    known = [name for each in equations for speed in each.speeds for name in (speed.removesuffix("'"), speed)]
    return some_of("coordinate or speed to hold", hold, dict.fromkeys(known))


def steady(
    equations: Equations,
    guess: Mapping[str, Any] | None = None,
    *,
    hold: Sequence[str] = (),
    t: float = 0.0,
    inputs: Any = None,
    parameters: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """A state with constant speeds, u̇ = 0, on the constraints, near the guess.

    The coordinates and speeds named in ``hold`` stay as they are in the guess; as many as the family of steady motions has
    parameters make the answer definite. Where coordinates are not those of joints, it is found in joint coordinates, unless
    the guess or ``hold`` names coordinates or speeds of bodies.
    """
    joint = _in_joint_coordinates(equations, guess, hold)
    if joint is not None:
        found = steady(joint, guess, hold=hold, t=t, inputs=inputs, parameters=parameters)
        return to_absolute(equations, joint, *found, t, parameters)
    one_state(equations.arguments(None, None, t, inputs, parameters))
    q, u = equations.assemble(guess, t=t, parameters=parameters)
    n, held = len(equations.speeds), set(_held(hold, equations))
    moving = [
        k for k, name in enumerate(equations.speeds) if name.removesuffix("'") not in held or name == name.removesuffix("'")
    ]
    faster = [k for k, name in enumerate(equations.speeds) if name not in held]

    def state(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        step, rate = np.zeros(n), u.copy()
        step[moving], rate[faster] = x[: len(moving)], u[faster] + x[len(moving) :]
        return moved(equations, q, step), rate

    def residual(x: np.ndarray) -> np.ndarray:
        here, rate = state(x)
        udot = equations.accelerations(here, rate, t, inputs, parameters)
        gaps = equations.position_violation(here, t, parameters), equations.velocity_violation(here, rate, t, parameters)
        return np.concatenate([udot, *gaps])

    found = least_squares(residual, np.zeros(len(moving) + len(faster)), xtol=1e-15, ftol=1e-15, gtol=1e-15)
    left = np.abs(found.fun).max(initial=0.0)
    if left > TOLERANCE:
        worst = equations.speeds[int(np.abs(found.fun[:n]).argmax())]
        raise AssemblyError(
            f"no steady state found near the guess: {worst!r} still changes (residual {left:.3g}); "
            "give a guess nearer to it, or hold fewer names"
        )
    return state(found.x)
