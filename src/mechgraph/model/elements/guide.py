"""Guides: a point that stays on a curve."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
from casadi import SX

from ...errors import ModelError, shown
from ..bodies import Marker
from ..constraints import Constraint
from ..contact.friction import Friction
from ..contact.pairs import velocity_at
from ..declarations import argument, place
from ..element import Action, wrench_pair
from ..joints import Chain, Joint, Rows
from ..motion import Motion
from ..transitions import move
from .curves import Curve


def _curve(value: Any, what: str) -> Curve:
    if not isinstance(value, Curve):
        raise ModelError(f"{what} must be one of mg.curves, got {shown(value)}")
    return value


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

    at: Marker = place()
    on: Marker = place()
    curve: Curve = argument("Curve", "object", _curve)
    friction: Friction = argument("FrictionLaw", "friction", lambda x, _: Friction.of(x), 0)

    def __post_init__(self) -> None:
        if self.at.body is self.on.body:
            raise ModelError(f"point and curve are both on body {self.on.body.name!r}")

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
        if law.is_zero():
            return []
        return wrench_pair(m, self.on, self.at, ca.norm_2(multipliers) * law)

    def nonconservative(self, m: Motion) -> list[Action]:
        if self.friction.viscous.is_zero():
            return []
        return wrench_pair(m, self.on, self.at, self.friction.unloaded(self._slip(m)))

    def _slip(self, m: Motion) -> SX:
        """Velocity of the point as seen from the curve."""
        return m.velocity(self.at) - velocity_at(m, self.on, m.position(self.at))
