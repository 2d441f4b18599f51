"""Inverse kinematics: the whole motion of a system of which some quantities are given functions of
time.

The functions become constraints of a composition with the system as its only part; with as many as
there are freedoms nothing is left to forces, and q, u, u̇ follow at every time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import times as read_times
from ..composition.compose import compose
from ..composition.seen import Seen
from ..errors import ArgumentError
from .assembly.assemble import assemble

if TYPE_CHECKING:
    from ..equations import Equations


def prescribed_motion(
    equations: Equations,
    motion: Mapping[str, Any],
    t: Any,
    parameters: Any = None,
    guess: Mapping[str, float] | None = None,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """q, u, u̇ at the times t, with ``motion`` prescribed: functions of time or numbers by name."""
    times = np.atleast_1d(np.asarray(read_times(t), dtype=float)[..., 0])
    rows = {
        f"{name} prescribed": _row(name, value, any(equations.names.resolve(name).angular))
        for name, value in motion.items()
    }
    driven = compose(equations.terms.name, [equations], constraints=rows)
    q, _ = assemble(equations, {}, guess=guess, t=times[0], parameters=parameters)
    found, before = [], dict(zip(driven.coordinates, q, strict=True))
    for moment in times:
        q, u = assemble(driven, {}, guess=before, t=moment, parameters=parameters)
        left = driven.mobility(q, u, moment, parameters)
        if left:
            raise ArgumentError(
                f"{left} freedom{'s' * (left != 1)} more than prescribed motions: prescribe as "
                f"many quantities as there are freedoms, not {len(motion)}"
            )
        found.append((q, u, driven.accelerations(q, u, moment, None, parameters)))
        before = dict(zip(driven.coordinates, q, strict=True))
    q, u, udot = (np.array(part) for part in zip(*found, strict=True))
    return (q, u, udot) if np.ndim(t) else (q[0], u[0], udot[0])


def _row(name: str, value: Any, angular: bool) -> Callable[[Seen], Any]:
    """The gap between a quantity and its value; of a measured angle up to whole turns."""

    def gap(v: Seen) -> SX:
        left = v[name] - (value(v["t"]) if callable(value) else value)
        return left - 2 * ca.pi * ca.floor(left / (2 * ca.pi) + 0.5) if angular else left

    return gap
