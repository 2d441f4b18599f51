"""Wheels on a plane: omni-wheels, and tyres with their laws."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import casadi as ca
from casadi import SX

from ...errors import ModelError, shown
from ...numerics.tolerances import EPSILON, SMOOTH
from ...vectors import column, scalar
from ..bodies import Marker
from ..constraints import Constraint
from ..contact.pairs import velocity_at
from ..declarations import argument, direction, not_negative, number, place, positive
from ..described import Described
from ..element import Action, wrench_pair
from ..fields import Number, Vector
from ..forces import Force
from ..joints import Rows
from ..motion import Motion
from ..parameter_checks import Limit, UnitLength


class OmniWheel(Constraint):
    """A wheel of ``radius`` on the plane z = 0 of the ``floor`` grips along the axes of its rollers
    only: d·v = 0 for its lowest point.

    axis: that the wheel turns about, in its place.
    rollers: angle between their axes and the rim: 0 for an omni-wheel (d level along the rim), ±π/4
        for Mecanum's.
    """

    drawn_as = "nothing"

    wheel: Marker = place()
    radius: SX = positive()
    axis: SX = direction("y", UnitLength)
    rollers: SX = number(0)
    floor: Marker = place("ground")

    def velocity(self, m: Motion) -> Rows:
        up, axle = m.axis(self.floor, "z"), m.axis(self.wheel, self.axis)
        along = ca.cross(up, axle)
        grips = ca.cos(self.rollers) * along + ca.sin(self.rollers) * ca.cross(along, up)
        lowest = m.position(self.wheel) - self.radius * up
        slip = velocity_at(m, self.wheel, lowest) - velocity_at(m, self.floor, lowest)
        return [("", ca.dot(grips, slip))]


class TyreLaw(Described):
    """A law of the force of a tyre."""

    limits: Sequence[Limit] = ()

    @abstractmethod
    def forces(self, slip: SX, load: SX) -> SX:
        """Forces along and across for the slips (κ, tan α) and the load, in their directions."""


class LinearTyre(TyreLaw):
    """Forces ``longitudinal`` κ along and ``cornering`` tan α across, in newtons for a slip of one,
    together at most ``friction`` times the load."""

    def __init__(self, longitudinal: Number, cornering: Number, friction: Number = 1.0) -> None:
        self.longitudinal = scalar(longitudinal, "longitudinal")
        self.cornering = scalar(cornering, "cornering")
        self.friction = scalar(friction, "friction")
        self.limits = [
            Limit(what, getattr(self, what)) for what in ("longitudinal", "cornering", "friction")
        ]

    def forces(self, slip: SX, load: SX) -> SX:
        wanted = ca.vertcat(self.longitudinal * slip[0], self.cornering * slip[1])
        stiff = self.longitudinal**2 + self.cornering**2
        size = ca.sqrt(ca.sumsqr(wanted) + SMOOTH * stiff)  # with a slope where nothing slips
        return wanted * ca.fmin(1, self.friction * load / size)


SIDE = (-22.1, 1011, 1078, 1.82, 0.208, 0.000, -0.354, 0.707)
BRAKE = (-21.3, 1144, 49.6, 226, 0.069, -0.006, 0.056, 0.486)


class MagicFormula(TyreLaw):
    """Magic Formula of Bakker, Nyborg and Pacejka (SAE 870421, 1987): y = D sin(C atan(Bx − E (Bx −
    atan Bx))), of the slip angle in degrees or the slip in per cent.

    With the load F in kilonewtons and coefficients a₁ … a₈, D = a₁F² + a₂F, E = a₆F² + a₇F + a₈;
    BCD = a₃ sin(a₄ atan(a₅F)) for the side force (``lateral``, C = 1.30), and (a₃F² + a₄F) /
    exp(a₅F) along (``longitudinal``, C = 1.65). Coefficients that are not given are those of the
    paper. Where slips come together, each force is that of σ = √(κ² + tan² α), times its part of σ.
    """

    def __init__(self, lateral: Vector = SIDE, longitudinal: Vector = BRAKE) -> None:
        self.lateral = column(lateral, 8, "lateral")
        self.longitudinal = column(longitudinal, 8, "longitudinal")

    def forces(self, slip: SX, load: SX) -> SX:
        size = ca.sqrt(ca.sumsqr(slip) + SMOOTH)
        along = self.braking(100 * size, load)
        across = self.side(180 / ca.pi * ca.atan(size), load)
        return slip / size * ca.vertcat(along, across)

    def side(self, angle: Any, load: Any) -> SX:
        """The side force (N) for a slip angle in degrees and a load in newtons."""
        a, F = self.lateral, _kilonewtons(load)
        BCD = a[2] * ca.sin(a[3] * ca.atan(a[4] * F))
        return self._magic(a, 1.30, BCD, SX(angle), F) * _load_factor(F)

    def braking(self, slip: Any, load: Any) -> SX:
        """The force along (N) for a slip in per cent and a load in newtons."""
        a, F = self.longitudinal, _kilonewtons(load)
        BCD = (a[2] * F**2 + a[3] * F) / ca.exp(a[4] * F)
        return self._magic(a, 1.65, BCD, SX(slip), F) * _load_factor(F)

    @staticmethod
    def _magic(a: SX, C: float, BCD: SX, x: SX, F: SX) -> SX:
        D, E = a[0] * F**2 + a[1] * F, a[5] * F**2 + a[6] * F + a[7]
        Bx = BCD / (C * D) * x
        return D * ca.sin(C * ca.atan(Bx - E * (Bx - ca.atan(Bx))))


def _kilonewtons(load: Any) -> SX:
    """The load in kilonewtons, and never nothing, where B is 0/0."""
    return SX(load) / 1000 + EPSILON


def _load_factor(F: SX) -> SX:
    """One, but zero without load."""
    return 1 - EPSILON / F


def _tyre_law(value: Any, what: str) -> TyreLaw:
    if not isinstance(value, TyreLaw):
        raise ModelError(
            f"{what} must be that of a tyre, such as mg.LinearTyre(8e4, 6e4) or mg.MagicFormula(), "
            f"got {shown(value)}"
        )
    return value


class Tyre(Force):
    """A wheel of ``radius`` about its ``axis`` in one point on the plane z = 0 of the ``road``: the
    load is stiffness δ + damping δ̇ where it is pressed in by δ, never less than zero.

    With v_s the velocity of the tread at that point and v of the hub along the road, the slips are
    −v_s / √(v² + v₀²) along and across, v₀ the ``regularization``; ``law`` makes forces of them.

    stiffness, damping: of its load, along the road's normal.
    law: ``mg.LinearTyre(…)`` or ``mg.MagicFormula(…)``: forces for slips and load.
    axis: that the wheel turns about, in its place.
    regularization: speed in m/s along the road below which slips are taken as for it.
    """

    passive = True
    drawn_as = "nothing"

    wheel: Marker = place()
    radius: SX = positive()
    stiffness: SX = positive()
    law: TyreLaw = argument("TyreLaw", "object", _tyre_law)
    damping: SX = not_negative(0)
    axis: SX = direction("y", UnitLength)
    regularization: SX = positive(0.1)
    road: Marker = place("ground")

    def contact(self, m: Motion) -> tuple[SX, SX, SX]:
        """The lowest point of the wheel, how deep it is in the road, and the road's normal."""
        up, axle = m.axis(self.road, "z"), m.axis(self.wheel, self.axis)
        down = axle * ca.dot(axle, up) - up
        point = m.position(self.wheel) + self.radius * down / ca.norm_2(down)
        return point, ca.dot(up, m.position(self.road) - point), up

    def acts_on(self, m: Motion) -> tuple[Marker, SX] | None:
        return self.wheel, self.contact(m)[0]

    def load(self, m: Motion) -> SX:
        """The normal force."""
        point, depth, up = self.contact(m)
        rate = -ca.dot(up, self._slip(m, point))
        pressed = self.stiffness * depth + self.damping * rate
        return ca.if_else(depth > 0, ca.fmax(0, pressed), 0)

    def slips(self, m: Motion) -> tuple[SX, SX, SX]:
        """κ and tan α, and the directions along and across."""
        point, _, up = self.contact(m)
        along = ca.cross(m.axis(self.wheel, self.axis), up)
        along = along / ca.norm_2(along)
        across = ca.cross(up, along)
        hub = m.velocity(self.wheel) - velocity_at(m, self.road, m.position(self.wheel))
        speed = ca.sqrt(ca.dot(along, hub) ** 2 + self.regularization**2)
        slip, ways = self._slip(m, point), ca.horzcat(along, across)
        return -(ways.T @ slip) / speed, along, across

    def _slip(self, m: Motion, point: SX) -> SX:
        return velocity_at(m, self.wheel, point) - velocity_at(m, self.road, point)

    def potential(self, m: Motion) -> SX:
        return self.stiffness * ca.fmax(0, self.contact(m)[1]) ** 2 / 2

    def conservative(self, m: Motion) -> list[Action]:
        point, depth, up = self.contact(m)
        push = self.stiffness * ca.fmax(0, depth) * up
        return wrench_pair(m, self.road, self.wheel, push, at=point)

    def nonconservative(self, m: Motion) -> list[Action]:
        point, depth, up = self.contact(m)
        load, (slip, along, across) = self.load(m), self.slips(m)
        grip = ca.horzcat(along, across) @ self.law.forces(slip, load)
        damped = load - self.stiffness * ca.fmax(0, depth)
        return wrench_pair(m, self.road, self.wheel, grip + damped * up, at=point)
