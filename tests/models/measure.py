"""How far two results are apart, in numbers without units.

With D = diag(√M_kk) every speed, force and acceleration is measured in the metric of the kinetic
energy, so that metres and radians, light and heavy bodies count alike.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np

import mechgraph as mg
from mechgraph.formalisms import formalism_of
from mechgraph.studies.assembly.change_of_coordinates import convert
from random_systems import State

# the same M and f; Maggi's are those of the form that he is given, and his own is the closing
IN_SPACE = [name for name in mg.FORMALISMS if name != "nodes"]  # which need a plane
IN_JOINT_COORDINATES = [
    name for name in mg.FORMALISMS if formalism_of(name).coordinates == "joint" and name != "maggi"
]


def scales(M: np.ndarray) -> np.ndarray:
    """√M_kk; one where a speed moves nothing (a chain that carries its coordinates in a loop)."""
    diagonal = np.diagonal(M, axis1=-2, axis2=-1)
    return np.sqrt(np.where(diagonal > 0, diagonal, 1.0))


def mass_gap(M: np.ndarray, other: np.ndarray) -> float:
    """Largest |ΔM_jk| / √(M_jj M_kk)."""
    d = scales(M)
    return float(np.abs((M - other) / np.outer(d, d)).max(initial=0))


def force_gap(M: np.ndarray, f: np.ndarray, other: np.ndarray, u: np.ndarray) -> float:
    """|D⁻¹ Δf| / (|D⁻¹ f| + |D u| per second)."""
    d = scales(M)
    return _ratio((f - other) / d, f / d, d * u)


def acceleration_gap(M: np.ndarray, udot: np.ndarray, other: np.ndarray, u: np.ndarray) -> float:
    """|D Δu̇| / (|D u̇| + |D u| per second)."""
    d = scales(M)
    return _ratio((udot - other) * d, udot * d, d * u)


def gap(a: np.ndarray, b: np.ndarray, floor: float = 0.0) -> float:
    """|a − b| / (|a| + floor)."""
    return float(np.linalg.norm(a - b) / (np.linalg.norm(a) + floor or 1.0))


def _ratio(difference: np.ndarray, *sizes: np.ndarray) -> float:
    size = sum(float(np.linalg.norm(s)) for s in sizes)
    return float(np.linalg.norm(difference)) / (size or 1.0)


# --- formalisms in coordinates of their own -------------------------------------------------------


def placed(
    equations: mg.Equations, q: Any, u: Any, t: float = 0.0, parameters: Any = None
) -> tuple[np.ndarray, np.ndarray]:
    """A state (q, u) in joint coordinates as the equations have it in theirs."""
    if formalism_of(equations.formalism).coordinates == "joint":
        return np.asarray(q, dtype=float), np.asarray(u, dtype=float)
    joint = equations.system.equations("newton-euler")
    state = joint.numeric.arguments(q, u, t, None, parameters)[:2]
    return convert(joint, equations, *state, t, parameters)


def accelerations_of(body: str) -> Callable[[mg.Motion], ca.SX]:
    """Acceleration of a body's origin and its angular acceleration."""
    return lambda m: ca.vertcat(m.acceleration(body), m.angular_acceleration(body))


def absolute_gaps(
    equations: mg.Equations, state: State, formalism: str = "absolute", **options: Any
) -> dict[str, float]:
    """How far coordinates of another kind are from joint coordinates, by body (accelerations) and
    by joint (reactions)."""
    system = equations.system
    free = system.equations(formalism, **options)
    q, u = placed(free, state.q, state.u, state.t, state.parameters)
    assert np.abs(free.position_violation(q, **state.place)).max(initial=0.0) < 1e-11
    gaps = {}
    for body in system.bodies:
        seen = accelerations_of(body)
        expected = equations.observe(seen, state.q, state.u, **state.at)
        gaps[body] = gap(expected, free.observe(seen, q, u, **state.at), floor=1.0)
    for joint in (
        system.joints
        if not (equations.constraints and equations.redundant(state.q, t=state.t))
        else ()
    ):
        gaps[joint] = gap(
            equations.reaction(joint, state.q, state.u, **state.at),
            free.reaction(joint, q, u, **state.at),
            1.0,
        )
    return gaps
