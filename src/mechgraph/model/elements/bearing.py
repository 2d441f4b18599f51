"""Ball bearings as one force between their rings: balls without inertia, shared out by a cage.

Ball k is at the angle ψ around the axis. In the plane through it and the axis the centres of
curvature of the two grooves, of radius ρ, are l apart; a ball of radius r just touches both if that
is 2(ρ − r). Beyond, both contacts (Hertz's, stiffness K each) give way by δ/2, and it presses with

    N = K (max(0, δ)/2)^(3/2),        δ = l − 2(ρ − r),

along the line of the two centres: the contact angle follows from the load (Stribeck).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from casadi import SX

from ...errors import ModelError, shown
from ...vectors import scalar
from ..bodies import Marker, Place, marker_on
from ..element import Action
from ..fields import Number
from ..forces import Force
from ..parameter_checks import Limit
from .measure import measured

if TYPE_CHECKING:
    from ...motion.motion import Motion


class BallBearing(Force):
    """Balls between the grooves of an ``inner`` and an ``outer`` ring, both about the z axes of
    their places: each presses with stiffness (δ/2)^(3/2) where the grooves squeeze it by δ.

    The balls have no inertia, do not hinder the rotation, and keep their places around the axis of
    the outer ring.

    balls: how many (n), ball k at ``phase`` + 2πk/n.
    ball_radius, pitch_radius, groove: radii of a ball, of the circle that the balls run on, and
        of the grooves across.
    stiffness: Hertz's, of one contact, in N/m^1.5.
    clearance: diametral, between a ball and both grooves.
    damping: makes the force stiffness (δ/2)^1.5 (1 + damping δ̇), never less than zero.
    """

    passive = True
    drawn_as = "nothing"

    def __init__(
        self,
        name: str,
        inner: Place,
        outer: Place,
        balls: int,
        ball_radius: Number,
        pitch_radius: Number,
        groove: Number,
        stiffness: Number,
        clearance: Number = 0,
        damping: Number = 0,
        phase: Number = 0,
    ) -> None:
        self.name, self.inner, self.outer = name, marker_on(inner), marker_on(outer)
        if not isinstance(balls, (int, np.integer)) or isinstance(balls, bool) or balls < 1:
            raise ModelError(f"balls must be their number, got {shown(balls)}")
        self.balls, self.ball_radius = int(balls), scalar(ball_radius, "ball_radius")
        self.pitch_radius, self.groove = (
            scalar(pitch_radius, "pitch_radius"),
            scalar(groove, "groove"),
        )
        self.stiffness, self.clearance = (
            scalar(stiffness, "stiffness"),
            scalar(clearance, "clearance"),
        )
        self.damping, self.phase = scalar(damping, "damping"), scalar(phase, "phase")
        positive = ("ball_radius", "pitch_radius", "stiffness")
        self.limits = [
            *(Limit(what, getattr(self, what)) for what in positive),
            *(
                Limit(what, getattr(self, what), positive=False)
                for what in ("clearance", "damping")
            ),
            Limit("groove minus ball_radius", self.groove - self.ball_radius),
        ]

    def places(self) -> Sequence[Marker]:
        return (self.outer, self.inner)

    def squeezed(self, m: Motion) -> SX:
        """δ of each ball, negative where it is loose."""
        return ca.vertcat(*(x.value for x in measured(m, self.places(), self._squeeze)))

    def _squeeze(self, p: Sequence[SX], R: Sequence[SX]) -> SX:
        """l − l₀ of each ball, in the axes of the outer ring."""
        centre, axis = R[0].T @ (p[1] - p[0]), R[0].T @ R[1][:, 2]
        free = 2 * (self.groove - self.ball_radius)
        offset = free / 2 - self.clearance / 2  # of each circle of centres from that of the balls
        out = []
        for k in range(self.balls):
            psi = self.phase + 2 * np.pi * k / self.balls
            radial = ca.vertcat(ca.cos(psi), ca.sin(psi), 0)
            level = radial - axis * ca.dot(axis, radial)
            inner = centre + (self.pitch_radius + offset) * level / ca.norm_2(level)
            apart = inner - (self.pitch_radius - offset) * radial
            across, along = ca.dot(apart, radial), apart[2]
            out.append(ca.sqrt(across**2 + along**2) - free)
        return ca.vertcat(*out)

    def _force(self, squeeze: SX) -> SX:
        return self.stiffness * (ca.fmax(0, squeeze) / 2) ** 1.5

    def potential(self, m: Motion) -> SX:
        return ca.sum1(0.8 * self.stiffness * (ca.fmax(0, self.squeezed(m)) / 2) ** 2.5)

    def conservative(self, m: Motion) -> list[Action]:
        found = measured(m, self.places(), self._squeeze)
        return [action for x in found for action in x.pushed(-self._force(x.value))]

    def nonconservative(self, m: Motion) -> list[Action]:
        if self.damping.is_zero():
            return []
        return [
            action
            for x in measured(m, self.places(), self._squeeze)
            for action in x.pushed(-self._force(x.value) * ca.fmax(-1, self.damping * x.rate))
        ]
