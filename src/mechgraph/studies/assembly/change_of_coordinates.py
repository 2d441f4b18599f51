"""From one set of coordinates to another, through the motion in the world."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ...contract.state import State
from ...formalisms import DEFAULT
from ...motion.speeds import joint_chart
from ...motion.turns import angles_asked_for
from ...motion.world import World

if TYPE_CHECKING:
    from ...equations import Equations


def is_jointed(equations: Equations) -> bool:
    """True if the coordinates are those of the joints, or if there are no joints."""
    if not equations.terms.chart.has_bodies:
        return True
    return equations.terms.chart is joint_chart(equations.system)


def jointed(equations: Equations) -> Equations:
    """The equations in joint coordinates: these, if that is what they are in, else the default
    formalism's."""
    if is_jointed(equations):
        return equations
    return equations.system.equations(DEFAULT, equations.closure)


def in_joint_coordinates(equations: Equations, names: Collection[str]) -> Equations | None:
    """Equations in joint coordinates to find a state with, if these are in others and no name is
    one of their own variables."""
    if is_jointed(equations) or not own_names(equations).isdisjoint(names):
        return None
    return jointed(equations)


def own_names(equations: Equations) -> set[str]:
    """Names of the variables that belong to these coordinates alone, one by one and together; not
    those that every chart has (turns that are counted, chains that carry their coordinates)."""
    chart = equations.terms.chart
    shared_q = {k for name in chart.chain_end for k in chart.joint_coordinates[name]}
    shared_u = {k for name in chart.chain_end for k in chart.joint_speeds[name]}
    shared_q |= set(chart.counted.values())
    groups = {name for name, own in chart.joint_coordinates.items() if not shared_q & set(own)}
    coordinates = {name for k, name in enumerate(equations.coordinates) if k not in shared_q}
    speeds = {name for k, name in enumerate(equations.speeds) if k not in shared_u}
    return {*groups, *(f"{name}'" for name in groups), *coordinates, *speeds}


def convert(
    source: Equations,
    target: Equations,
    q: np.ndarray,
    u: np.ndarray,
    t: Any = 0.0,
    parameters: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The state of ``target`` that is the state (q, u) of ``source`` in the world (batches,
    too)."""
    chart = target.terms.chart
    if chart.joints is source.terms.chart.joints:
        return q, _other_speeds(source, target, q, u, t, parameters)
    at = source.numeric.arguments(q, u, t, None, parameters)
    q_out, u_out = chart.from_world(_world(source, at), at.t, at.p)
    own, rates = source.terms.chart, _joint_rates(source, q, u, t, parameters)
    for name in chart.chain_end:
        q_out[..., list(chart.joint_coordinates[name])] = q[..., list(own.joint_coordinates[name])]
        u_out[..., list(chart.joint_speeds[name])] = rates[..., list(own.joint_speeds[name])]
    return with_turns(target, source, q, q_out, t, parameters), u_out


def _other_speeds(
    source: Equations, target: Equations, q: np.ndarray, u: np.ndarray, t: Any, parameters: Any
) -> np.ndarray:
    """Speeds of the same motion in the same coordinates."""
    chart, rates = target.terms.chart, _joint_rates(source, q, u, t, parameters)
    given = SX.sym("rates", rates.shape[-1])
    kernel = target.numeric.kernel("from joint rates", lambda: [chart.speeds_of(given)], [1], given)
    return kernel(*target.numeric.arguments(q, None, t, None, parameters), rates)[0]


def _joint_rates(
    equations: Equations, q: np.ndarray, u: np.ndarray, t: Any, parameters: Any
) -> np.ndarray:
    """Speeds of the joints at a state."""
    chart, given = equations.terms.chart, (q, u, t, None, parameters)
    return equations.numeric.evaluate("joint rates", lambda: chart.joint_rates, 1, *given)


def _world(equations: Equations, at: State) -> World:
    """Poses and twists of all bodies at a state."""
    kernel = equations.numeric.kernel("world", lambda: _world_expressions(equations), [1] * 4)
    place, turn, velocity, spin = kernel(*at)
    axes = (*place.shape[:-1], len(equations.system.bodies), 3)
    vectors = (array.reshape(axes) for array in (place, velocity, spin))
    position, moving, turning = vectors
    return World(position, turn.reshape(*axes, 3), moving, turning)


def _world_expressions(equations: Equations) -> list[SX]:
    m, bodies = equations.terms.chart.motion, list(equations.system.bodies)
    columns = (
        [m.position(body) for body in bodies],
        [ca.vec(m.rotation(body).T) for body in bodies],
        [m.velocity(body) for body in bodies],
        [m.angular_velocity(body) for body in bodies],
    )
    return [ca.vertcat(SX(0, 1), *column) for column in columns]


def with_turns(
    equations: Equations,
    source: Equations,
    q: np.ndarray,
    out: np.ndarray,
    t: Any,
    parameters: Any,
) -> np.ndarray:
    """``out``, with the turns of all angles as they are at the state q of ``source``."""
    counted = equations.terms.chart.counted
    if counted:
        names = list(counted)
        kernel = source.numeric.kernel(("turns", *names), lambda: [_angles(source, names)], [1])
        found = kernel(*source.numeric.arguments(q, None, t, None, parameters))[0]
        out[..., list(counted.values())] = found
    return out


def _angles(equations: Equations, names: list[str]) -> SX:
    chart = equations.terms.chart
    asked = angles_asked_for(chart)
    values = (asked[name][0] if name in asked else chart.motion.coordinate(name) for name in names)
    return ca.vertcat(*values)
