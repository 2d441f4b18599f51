"""``ChartMotion``: the motion of a system on a chart, as seen from outside: the same whatever
coordinates a formalism uses.

A motion can be *varied*: then every body that is asked for carries six extra unknowns, a small
displacement (or twist, or acceleration) of its own. The derivative of a constraint's row with
respect to them is the wrench that the row's unit multiplier exerts on that body: action and
reaction come from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import casadi as ca
from casadi import SX

from ..errors import ArgumentError, ModelError, shown, unknown
from ..model.bodies import Body, Marker, marker_on
from ..model.constraints import Level
from ..model.joints import Joint
from ..model.motion import Motion, Place
from ..vectors import NOT_AN_EXPRESSION, angular_velocity

if TYPE_CHECKING:
    from .chart import Chart, Frame, Pair


@dataclass(frozen=True, eq=False)
class _Spot:
    """A place on the tree: a frame, an origin and a rotation in it; and the body that takes the
    reaction there."""

    body: Body
    frame: Frame
    at: SX
    rotation: SX


class ChartMotion(Motion):
    """The motion on a chart, which may be varied at a level."""

    def __init__(self, chart: Chart, vary: Level | None = None, through: str | None = None):
        """``through`` names a cut joint: then nothing is varied but what is measured across it."""
        self._chart, self._through, self.time = chart, through, chart.symbols.t
        self._vary: Level | None = vary if through is None else None
        self._vary_across = vary
        self._stating: list[str] = []  # speeds of the user's own that are being looked up
        # by body: displacement (3) and rotation (3) of its frame, in the world
        self.variations: dict[str, SX] = {}

    # --- bodies and markers -----------------------------------------------------------------------

    def position(self, place: Place, in_frame: Place | None = None) -> SX:
        at = self._position(self._locate(place))
        if in_frame is None:
            return at
        return self.rotation(in_frame).T @ (at - self.position(in_frame))

    def rotation(self, place: Place, in_frame: Place | None = None) -> SX:
        R = self._rotation(self._locate(place))
        return R if in_frame is None else self.rotation(in_frame).T @ R

    def angular_velocity(self, place: Place, in_frame: Place | None = None) -> SX:
        spot = self._locate(place)
        omega = self._chart.pose(spot.frame)[0] @ self._chart.twist(spot.frame)[0]
        if self._vary == "velocity":
            omega = omega + self._variation(spot.body)[3:]
        return self._turn_into(omega, in_frame)

    def velocity(self, place: Place, in_frame: Place | None = None) -> SX:
        spot = self._locate(place)
        R, (omega, v) = self._chart.pose(spot.frame)[0], self._chart.twist(spot.frame)
        out = R @ (v + ca.cross(omega, spot.at))
        if self._vary == "velocity":
            out = out + self._carry(spot)
        return self._turn_into(out, in_frame)

    def acceleration(self, place: Place, in_frame: Place | None = None) -> SX:
        spot = self._locate(place)
        R, omega = self._chart.pose(spot.frame)[0], self._chart.twist(spot.frame)[0]
        epsilon, w = self._chart.acceleration(spot.frame)
        out = R @ (w + ca.cross(epsilon, spot.at) + ca.cross(omega, ca.cross(omega, spot.at)))
        if self._vary == "acceleration":
            out = out + self._carry(spot)
        return self._turn_into(out, in_frame)

    def angular_acceleration(self, place: Place, in_frame: Place | None = None) -> SX:
        spot = self._locate(place)
        out = self._chart.pose(spot.frame)[0] @ self._chart.acceleration(spot.frame)[0]
        if self._vary == "acceleration":
            out = out + self._variation(spot.body)[3:]
        return self._turn_into(out, in_frame)

    # --- joints -----------------------------------------------------------------------------------

    def coordinate(self, name: str, near: Any = None) -> SX:
        if name in self._chart.joint_coordinates and name not in self._chart.counted:
            return self._chart.symbols.q[list(self._chart.joint_coordinates[name])]
        joint, rows = self._cut_joint(name, name, "coordinates")
        x = joint.kind.measure(*self._measuring_motion(joint).across(joint))
        for row in rows:
            own = joint.coordinates[row]
            if own in joint.angles:
                x[row] = self.turned(own, x[row], partial(self.speed, own), near)
        return x[rows]

    def turned(self, name: str, angle: SX, rate: Callable[[], SX], near: Any = None) -> SX:
        """An angle that is measured up to whole turns only, in the turn that it is in, or near a
        value; see ``turns.py``."""
        if near is None and name in self._chart.counted:
            near = self._chart.symbols.q[self._chart.counted[name]]
        if near is None:
            return angle
        return angle + 2 * ca.pi * ca.floor((near - angle) / (2 * ca.pi) + 0.5)

    def speed(self, name: str) -> SX:
        k, chosen = self._chart, self._chart.description.speeds
        if name in chosen and (self._vary or name not in k.own_speeds):
            return self._own_speed(name)
        if name in k.own_speeds:
            return k.symbols.u[k.own_speeds[name]]
        if name in k.joint_speeds:
            return k.joint_rates[list(k.joint_speeds[name])]
        if f"{name}'" in k.joint_speeds:
            return k.joint_rates[list(k.joint_speeds[f"{name}'"])]
        joint, rows = self._cut_joint(
            name.removesuffix("'"), name if name in self._cut_speeds else f"{name}'", "speeds"
        )
        return self._measuring_motion(joint)._measured_speeds(joint)[rows]

    def _own_speed(self, name: str) -> SX:
        """A speed of the user's own, as it was stated: forces along it act where it is seen."""
        if name in self._stating:
            raise ModelError(f"speed {name!r}: is stated by itself")
        self._stating.append(name)
        try:
            return self._chart.description.speeds[name].on(self)
        finally:
            self._stating.remove(name)

    def across(self, joint: Joint) -> tuple[SX, SX]:
        if joint.name not in self._chart.chain_end:
            return self.relative(joint.parent, joint.child)
        end = self._end(joint)
        R, p = self._rotation(end), self._position(end)
        return R.T @ self.rotation(joint.child), R.T @ (self.position(joint.child) - p)

    def chain_end(self, chain: Joint) -> SX:
        return self._position(self._end(chain))

    def spot(self, place: Place) -> tuple[Frame, SX]:
        spot = self._locate(place)
        return spot.frame, spot.at

    # --- inside -----------------------------------------------------------------------------------

    def _end(self, chain: Joint) -> _Spot:
        return _Spot(chain.parent.body, self._chart.chain_end[chain.name], SX.zeros(3), SX.eye(3))

    def _locate(self, place: Place) -> _Spot:
        system = self._chart.description
        if isinstance(place, str):
            known = system.places
            if place not in known:
                raise ModelError(unknown("body or marker", place, known))
            place = known[place]
        marker = marker_on(place)
        if not system.owns(marker.body):
            raise ModelError(f"body {marker.body.name!r} belongs to another system")
        return _Spot(marker.body, *self._chart.place(marker))

    def _position(self, spot: _Spot) -> SX:
        R, p = self._chart.pose(spot.frame)
        out = p + R @ spot.at
        return out + self._carry(spot) if self._vary == "position" else out

    def _rotation(self, spot: _Spot) -> SX:
        R = self._chart.pose(spot.frame)[0] @ spot.rotation
        return R + ca.skew(self._variation(spot.body)[3:]) @ R if self._vary == "position" else R

    def _variation(self, body: Body) -> SX:
        if body is self._chart.description.ground:
            return SX.zeros(6)
        return self.variations.setdefault(body.name, SX.sym(f"delta {body.name}", 6))

    def _carry(self, spot: _Spot) -> SX:
        """Displacement of a point by the variation of the body that carries it."""
        variation, chart = self._variation(spot.body), self._chart
        origin = _Spot(spot.body, *chart.place(marker_on(spot.body)))
        (R, p), (R_o, p_o) = chart.pose(spot.frame), chart.pose(origin.frame)
        return variation[:3] + ca.cross(variation[3:], p + R @ spot.at - p_o - R_o @ origin.at)

    def _turn_into(self, vector: SX, frame: Place | None) -> SX:
        return vector if frame is None else self.rotation(frame).T @ vector

    @property
    def _cut_speeds(self) -> set[str]:
        return {name for joint in self._chart.closed for name in joint.speeds}

    def _cut_joint(
        self, whole: str, name: str, variables: Literal["coordinates", "speeds"]
    ) -> tuple[Joint, list[int]]:
        """The cut joint of that name, or with a variable of that name; and which of its variables
        are meant."""
        for joint in self._chart.closed:
            names = joint.coordinates if variables == "coordinates" else joint.speeds
            if whole == joint.name:
                return joint, list(range(len(names)))
            if name in names:
                return joint, [names.index(name)]
        known = [*self._chart.joint_coordinates, *(joint.name for joint in self._chart.closed)]
        raise ModelError(unknown("joint or coordinate", whole, known))

    def _twist_across(self, joint: Joint) -> Pair:
        """Relative angular velocity in the child's joint axes, and the rate of the child's joint
        origin in the parent's."""
        a, b = joint.parent, joint.child
        (turning, moving), (own_turning, own_moving) = self._twist_of(a), self._twist_of(b)
        moving = own_moving - moving - ca.cross(turning, self.position(b) - self.position(a))
        return self.rotation(b).T @ (own_turning - turning), self.rotation(a).T @ moving

    def _twist_of(self, end: Marker) -> Pair:
        """(ω, v) of a joint's frame, which time may drive on its body."""
        spot, t = self._locate(end), self._chart.symbols.t
        R, own = self._chart.pose(spot.frame)[0], spot.rotation
        turning = own @ angular_velocity(own, ca.reshape(ca.jacobian(own, t), 3, 3))
        moving = ca.jacobian(spot.at, t)
        return self.angular_velocity(end) + R @ turning, self.velocity(end) + R @ moving

    def _measuring_motion(self, joint: Joint) -> ChartMotion:
        """The motion that the coordinates of a cut joint are measured in."""
        if self._through != joint.name:
            return self
        across = ChartMotion(self._chart, self._vary_across)
        across.variations = self.variations
        return across

    def _measured_speeds(self, joint: Joint) -> SX:
        """Speeds of a cut joint, with the variations of the twists of the two bodies that it
        joins."""
        quasi = joint.kind.speeds(*self._twist_across(joint))
        if quasi is not None:
            return quasi
        measured = joint.kind.measure(*ChartMotion(self._chart).across(joint))
        rate = self._chart.rate(measured)
        if self._vary == "velocity":
            moved = ChartMotion(self._chart, vary="position")
            measured = joint.kind.measure(*moved.across(joint))
            for body, variation in moved.variations.items():
                J = ca.substitute(ca.jacobian(measured, variation), *at_rest(moved))
                rate = rate + J @ self._variation(self._chart.description.bodies[body])
        return rate


def checked_place(place: Any) -> Place:
    """A body, a marker or a name, if it is one."""
    if not isinstance(place, (str, Body, Marker)):
        raise ArgumentError(f"expected a body, a marker or the name of one, got {shown(place)}")
    return place


def at_rest(motion: ChartMotion) -> tuple[SX, SX]:
    """All variations of a motion, and the zeros to put in their place."""
    symbols = ca.vertcat(SX(0, 1), *motion.variations.values())
    return symbols, SX.zeros(symbols.numel())


def column(value: Any) -> SX:
    """A quantity of the motion as one column; matrices row by row."""
    entries = value if isinstance(value, (list, tuple)) else [value]
    try:
        return ca.vertcat(*(ca.vec(SX(entry).T) for entry in entries))
    except NOT_AN_EXPRESSION:
        raise ArgumentError(
            "a quantity of the motion must be a number, an expression or a list of them, got "
            f"{value!r}"
        ) from None
