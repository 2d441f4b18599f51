"""Guides: a point that stays on a curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca
from casadi import SX

from ...errors import ModelError, shown
from ..bodies import Marker, Place, marker_on
from ..constraints import Constraint
from ..contact.friction import Friction, FrictionLaw
from ..element import Action, Wrench
from ..joints import Chain, Joint, Rows
from ..transitions import move
from .curves import Curve

if TYPE_CHECKING:
    from ...motion.motion import Motion


class Guide(Constraint):
    """The place ``at`` stays on a ``curve`` r(s) of the place ``on``: p − r(s) = 0, in the axes of
    on.

    s is a coordinate of its own without inertia, ``name.s``; the three multipliers are the force on
    the point, which therefore is across the curve: λ·r′(s) = 0. Friction along it
    goes with |λ|.

    curve: one of ``mg.curves``; its parameter is the coordinate ``name.s``.
    friction: along it, a coefficient or a law ``mg.Friction``.
    """

    passive = True
    drawn_as = "nothing"

    def __init__(
        self, name: str, at: Place, on: Place, curve: Curve, friction: FrictionLaw = 0
    ) -> None:
        self.name, self.at, self.on = name, marker_on(at), marker_on(on)
        if not isinstance(curve, Curve):
            raise ModelError(f"curve must be one of mg.curves, got {shown(curve)}")
        if self.at.body is self.on.body:
            raise ModelError(f"point and curve are both on body {self.on.body.name!r}")
        self.curve, self.friction = curve, Friction.of(friction)
        self.limits = [*curve.limits, *self.friction.limits]

    def places(self) -> Sequence[Marker]:
        return (self.on, self.at)

    def chains(self) -> Sequence[Joint]:
        return (Joint(f"{self.name}.s", self.on, self.on, Chain([move("x", "s")])),)

    def initial_points(self, m: Motion) -> Sequence[SX | None]:
        return (self.curve.nearest(m.position(self.at, in_frame=self.on)),)

    def parameter(self, m: Motion) -> SX:
        """s."""
        end = m.chain_end(self.chains()[0]) - m.position(self.on)
        return ca.dot(m.axis(self.on, "x"), end)

    def position(self, m: Motion) -> Rows:
        apart = m.position(self.at, in_frame=self.on) - self.curve.at(self.parameter(m))
        return [(axis, apart[k]) for k, axis in enumerate("xyz")]

    def friction_actions(self, m: Motion, multipliers: SX) -> list[Action]:
        law = self.friction.loaded(self._slip(m))
        return [] if law.is_zero() else self._pair(m, ca.norm_2(multipliers) * law)

    def nonconservative(self, m: Motion) -> list[Action]:
        if self.friction.viscous.is_zero():
            return []
        return self._pair(m, self.friction.unloaded(self._slip(m)))

    def _slip(self, m: Motion) -> SX:
        """Velocity of the point as seen from the curve."""
        arm = m.position(self.at) - m.position(self.on)
        carried = m.velocity(self.on) + ca.cross(m.angular_velocity(self.on), arm)
        return m.velocity(self.at) - carried

    def _pair(self, m: Motion, force: SX) -> list[Action]:
        arm = m.position(self.at) - m.position(self.on)
        back = Wrench(self.on, -force, -ca.cross(arm, force))
        return [back, Wrench(self.at, force, SX.zeros(3))]
