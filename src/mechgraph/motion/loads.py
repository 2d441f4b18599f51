"""Actions of the forces of a system on the motion, as wrenches on frames or as generalized
forces."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..errors import ModelError, blamed, shown
from ..graph.expressions import has_nan
from ..model.bodies import Massive, marker_on
from ..model.description import derived_once
from ..model.element import Action, Effort, Element, Wrench
from ..model.motion import Motion
from ..model.planar import out_of_plane
from ..numerics.tolerances import GIVEN
from ..vectors import NO_NUMBER, NOT_AN_EXPRESSION
from .chart import Chart, Frame, Pair
from .motion import ChartMotion, at_rest


def actions(chart: Chart, conservative: bool = True) -> list[Action]:
    """The actions of all forces and constraints (not of gravity, nor of multipliers), with or
    without conservative parts."""
    return list(_collect_actions(chart, conservative))


@derived_once
def _collect_actions(chart: Chart, conservative: bool) -> list[Action]:
    m, out = chart.motion, []
    stated: list[tuple[Element, SX]] = []
    for element in chart.description.elements:
        with blamed(element.called):
            acting = [
                *read_actions("conservative", element.conservative(m) if conservative else ()),
                *read_actions("nonconservative", element.nonconservative(m)),
            ]
            _check_plane(chart, acting)
            stated.append(
                (element, ca.vertcat(SX(0, 1), *(components(action, m) for action in acting)))
            )
        out += acting
    refuse_faults(partial(fault, chart), stated)
    return out


def read_actions(what: str, acting: Any) -> list[Action]:
    """The actions that an element states, which may be of the user's own class, as a list."""
    if not isinstance(acting, Iterable):
        raise ModelError(f"{what} must be a list of mg.Wrench and mg.Effort, got {shown(acting)}")
    return list(acting)


def components(action: Action, m: Motion) -> SX:
    """Components of an action, if it is one."""
    if isinstance(action, Wrench):
        m.spot(action.marker)  # refuses other systems' bodies
        return ca.vertcat(
            _check_size(action.force, 3, "force"), _check_size(action.torque, 3, "torque")
        )
    if isinstance(action, Effort):
        return _check_size(action.values, m.speed(action.joint).numel(), "effort")
    raise ModelError(f"its actions must be mg.Wrench or mg.Effort, got {action!r}")


def _check_size(value: Any, size: int, what: str) -> SX:
    try:
        column = SX(value)
    except NOT_AN_EXPRESSION:
        raise ModelError(f"{what} must have {size} numbers, got {shown(value)}") from None
    if column.shape != (size, 1):
        raise ModelError(
            f"{what} must have {size} numbers, got {column.shape[0]}x{column.shape[1]}"
        )
    return column


def _check_plane(chart: Chart, acting: list[Action]) -> None:
    """Refuse what pushes out of the plane of a planar system, at a few random states."""
    if not chart.flat:
        return
    wrenches = [each for each in acting if isinstance(each, Wrench)]
    (out, every), s = out_of_plane(chart.description, wrenches), chart.symbols
    symbols = ca.vertcat(s.q, s.u, s.udot, s.w, s.p, s.t)
    if out.is_zero() or s.strangers(every):
        return
    at = np.random.default_rng(0).uniform(-1, 1, (symbols.numel(), 3))
    values = ca.Function("out", [symbols], [out, every]).map(3)(at)
    largest, size = (np.nanmax(np.abs(np.array(value))) for value in values)
    if largest > GIVEN * size:
        raise ModelError(
            f"pushes out of the plane {chart.description.plane!r} of this system; leave that "
            "component (and torques about axes in the plane) away"
        )


def refuse_faults(find: Callable[[SX], str | None], stated: Sequence[tuple[Element, SX]]) -> None:
    """Refuse expressions of elements with a fault; all at one look, and one by one only to name the
    culprit."""
    if find(ca.vertcat(SX(0, 1), *(value for _, value in stated))) is None:
        return
    for element, value in stated:
        found = find(value)
        if found is not None:
            raise ModelError(f"{element.called}: {found}")


def fault(chart: Chart, value: SX) -> str | None:
    """Fault of the components of actions, if there is one."""
    if ca.depends_on(value, chart.symbols.udot):
        return "must not use accelerations; give the body more mass or add a constraint"
    return symbol_fault(chart, value)


def symbol_fault(chart: Chart, value: SX) -> str | None:
    """Fault of an expression that is no number, or uses symbols from elsewhere."""
    if has_nan(value):
        return NO_NUMBER
    strangers = chart.symbols.strangers(value)
    return f"uses {strangers[0]!r}, which is not a symbol of this system" if strangers else None


def split(chart: Chart, acting: list[Action]) -> tuple[list[Wrench], SX]:
    """Wrenches on bodies, and efforts along the speeds of the joints; an effort in a cut joint
    becomes a pair of wrenches."""
    wrenches: list[Wrench] = []
    efforts = SX.zeros(chart.symbols.u.numel())
    for action in acting:
        indices = _speed_indices(chart, action) if isinstance(action, Effort) else None
        if isinstance(action, Wrench):
            wrenches.append(action)
        elif indices is not None:
            efforts[list(indices)] += action.values
        else:
            wrenches += _cut_joint_effort(chart, action)
    return wrenches, efforts


def _speed_indices(chart: Chart, effort: Effort) -> tuple[int, ...] | None:
    speeds = chart.joint_speeds
    return speeds.get(effort.joint, speeds.get(f"{effort.joint}'"))


def _cut_joint_effort(chart: Chart, effort: Effort) -> list[Wrench]:
    units, bodies = _unit_wrenches(chart, effort.joint), chart.description.bodies
    wrenches = {body: unit @ effort.values for body, unit in units.items()}
    return [Wrench(marker_on(bodies[name]), w[:3], w[3:]) for name, w in wrenches.items()]


@derived_once
def _unit_wrenches(chart: Chart, joint: str) -> dict[str, SX]:
    """Wrenches by body of unit efforts along the speeds of a joint that is cut, in columns."""
    m = ChartMotion(chart, vary="velocity")
    speed = m.speed(joint)
    return {
        body: ca.substitute(ca.jacobian(speed, variation), *at_rest(m)).T
        for body, variation in m.variations.items()
    }


def on_frames(chart: Chart, wrenches: list[Wrench]) -> dict[Any, Pair]:
    """(torque about the frame's origin, force) on each frame that carries a loaded body, in the
    frame's own axes."""
    out: dict[Any, Pair] = {}
    for wrench in wrenches:
        index, at, _ = chart.place(wrench.marker)
        if wrench.marker.body is chart.description.ground:
            continue
        Rt = chart.pose(index)[0].T
        force = Rt @ wrench.force
        torque = Rt @ wrench.torque + ca.cross(at, force)
        old = out.get(index, (SX.zeros(3), SX.zeros(3)))
        out[index] = (old[0] + torque, old[1] + force)
    return out


def needed_wrench(chart: Chart, frame: Frame, body: Massive, moving: bool = True) -> Pair:
    """Force at the mass centre and moment that the acceleration of a body needs, in world axes:
    m a_C and I ε + ω × I ω; with ``moving=False`` at u̇ = 0."""
    R, omega = chart.pose(frame)[0], chart.twist(frame)[0]
    epsilon, w = chart.acceleration(frame, moving)
    bend = ca.cross(epsilon, body.com) + ca.cross(omega, ca.cross(omega, body.com))
    spin = body.inertia @ epsilon + ca.cross(omega, body.inertia @ omega)
    return R @ (body.mass * (w + bend)), R @ spin


def generalized(chart: Chart, acting: list[Action]) -> SX:
    """Generalized forces by virtual power: Σ (∂v_P/∂u)ᵀ F + (∂ω/∂u)ᵀ τ, plus the efforts."""
    m, u = chart.motion, chart.symbols.u
    wrenches, efforts = split(chart, acting)
    out = chart.along_speeds(efforts)
    for wrench in wrenches:
        out += ca.jtimes(m.velocity(wrench.marker), u, wrench.force, True)
        out += ca.jtimes(m.angular_velocity(wrench.marker), u, wrench.torque, True)
    return out
