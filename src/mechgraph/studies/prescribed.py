"""Inverse kinematics: the whole motion of a system of which some quantities are given functions of
time.

The functions become constraints of a composition with the system as its only part; with as many as
there are freedoms nothing is left to forces, and q, u, u̇ follow at every time.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import times as read_times
from ..composition.compose import compose
from ..composition.parts_view import PartsView
from ..errors import ArgumentError, AssemblyError, UnsupportedError
from ..numerics.tolerances import GIVEN
from .assembly.assemble import assemble

if TYPE_CHECKING:
    from ..equations import Equations

NEAR = 0.1  # of a step: how far from what was foretold it may end
FINEST, STEPS = 1000, 300  # parts of the time between two moments, and steps to get over it


class Instant(NamedTuple):
    """A state of the motion."""

    t: float
    q: np.ndarray
    u: np.ndarray
    udot: np.ndarray


def prescribed_motion(
    equations: Equations,
    motion: Mapping[str, Any],
    t: Any,
    parameters: Any = None,
    guess: Mapping[str, float] | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, u, u̇ at the times t, with ``motion`` prescribed: functions of time or numbers by name."""
    description = equations.terms.chart.description
    if description.switched:
        raise UnsupportedError(
            f"a prescribed motion does not tell when {description.switching} opens, closes or "
            "sticks; give a run, or the motion as numbers (q, u, u̇) with the parameters that say so"
        )
    times = np.atleast_1d(np.asarray(read_times(t), dtype=float)[..., 0])
    rows = {
        f"{name} prescribed": _row(name, value, any(equations.names.resolve(name).angular))
        for name, value in motion.items()
    }
    with warnings.catch_warnings():  # freedoms are counted again, at every moment
        warnings.filterwarnings("ignore", message=".*freedoms were counted")
        driven = compose(equations.terms.name, [equations], constraints=rows)
    q, _ = assemble(equations, {}, guess=guess, t=times[0], parameters=parameters)
    found = [_at(driven, times[0], q, parameters)]
    for moment in times[1:]:
        _refuse_freedoms(driven, found[-1], len(motion), parameters)
        found.append(_followed(driven, found[-1], moment, parameters))
    _refuse_freedoms(driven, found[-1], len(motion), parameters)
    _, q, u, udot = (np.array(part) for part in zip(*found, strict=True))
    return (q, u, udot) if np.ndim(t) else (q[0], u[0], udot[0])


def _refuse_freedoms(driven: Equations, here: Instant, prescribed: int, parameters: Any) -> None:
    left = driven.mobility(here.q, here.u, here.t, parameters)
    if left:
        raise ArgumentError(
            f"{left} freedom{'s' * (left != 1)} more than prescribed motions: prescribe as "
            f"many quantities as there are freedoms, not {prescribed}"
        )


def _at(driven: Equations, t: float, near: np.ndarray, parameters: Any) -> Instant:
    """The state at a moment that is nearest to these coordinates."""
    guess = dict(zip(driven.coordinates, near, strict=True))
    q, u = assemble(driven, {}, guess=guess, t=t, parameters=parameters)
    return Instant(t, q, u, driven.accelerations(q, u, t, None, parameters))


def _followed(driven: Equations, start: Instant, t: float, parameters: Any) -> Instant:
    """The state at a later moment, by steps that are nearly what speeds and accelerations at both
    ends foretell: a longer one may lead to another way in which a loop can be assembled."""
    here, h = start, t - start.t
    for _ in range(STEPS):
        if here.t == t:
            return here
        end = t if abs(t - here.t) <= abs(h) * (1 + GIVEN) else here.t + h
        last = abs(h) < abs(t - start.t) / FINEST
        there, near = _step(driven, here, end, parameters, last)
        if there is not None and (near or last):
            here, h = there, h * (2 if near else 1)
        else:
            h /= 2
    warnings.warn(
        f"from t = {start.t:g} to {t:g} s it goes a long way, which was not followed: if the "
        "system can be assembled in several ways, what is found need not be the one that it comes "
        "to; ask for more times in between",
        stacklevel=4,
    )
    return _at(driven, t, start.q, parameters)


def _step(
    driven: Equations, here: Instant, t: float, parameters: Any, last: bool
) -> tuple[Instant | None, bool]:
    """The state at the end of a step, if there is one, and whether it was foretold."""
    ahead = _foretold(driven, here, t, parameters)
    try:
        there = _at(driven, t, ahead, parameters)
    except AssemblyError:
        if last:
            raise
        return None, False
    back = _foretold(driven, there, here.t, parameters)
    *off, way = map(np.linalg.norm, (there.q - ahead, here.q - back, there.q - here.q))
    return there, bool(max(off) <= NEAR * way + GIVEN * np.abs(here.q).max(initial=1.0))


def _foretold(driven: Equations, here: Instant, t: float, parameters: Any) -> np.ndarray:
    h = t - here.t
    rates = driven.coordinate_rates(here.q, here.u + h / 2 * here.udot, here.t, parameters)
    return driven.terms.chart.normalized(here.q + h * rates)


def _row(name: str, value: Any, angular: bool) -> Callable[[PartsView], Any]:
    """The gap between a quantity and its value; of a measured angle up to whole turns."""

    def gap(v: PartsView) -> SX:
        left = v[name] - (value(v["t"]) if callable(value) else value)
        return left - 2 * ca.pi * ca.floor(left / (2 * ca.pi) + 0.5) if angular else left

    return gap
