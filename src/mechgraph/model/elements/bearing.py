"""Ball bearings as one force between their rings: balls without inertia, shared out by a cage.

Ball k is at the angle ψ around the axis. In the plane through it and the axis the centres of
curvature of the two grooves, of radius ρ, are l apart; a ball of radius r just touches both if that
is 2(ρ − r). Beyond, both contacts (Hertz's, stiffness K each) give way by δ/2, and it presses with

    N = K (max(0, δ)/2)^(3/2),        δ = l − 2(ρ − r),

along the line of the two centres: the contact angle follows from the load (Stribeck).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ...errors import ModelError, shown
from ..bodies import Marker
from ..declarations import argument, not_negative, number, place, positive
from ..motion import Motion
from ..parameter_checks import Limit
from .measure import ForceAlong, Measure, measure


def _count(value: Any, what: str) -> int:
    if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
        raise ModelError(f"{what} must be their number, got {shown(value)}")
    return int(value)


class BallBearing(ForceAlong):
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

    drawn_as = "nothing"

    inner: Marker = place()
    outer: Marker = place()
    balls: int = argument("int", "number", _count)
    ball_radius: SX = positive()
    pitch_radius: SX = positive()
    groove: SX = number()
    stiffness: SX = positive()
    clearance: SX = not_negative(0)
    damping: SX = not_negative(0)
    phase: SX = number(0)

    def __post_init__(self) -> None:
        deeper = Limit("groove minus ball_radius", self.groove - self.ball_radius)
        self.limits = [*self.limits, deeper]

    def places(self) -> Sequence[Marker]:
        return (self.outer, self.inner)

    def squeezed(self, m: Motion) -> SX:
        """δ of each ball, negative where it is loose."""
        return ca.vertcat(*(x.value for x in self.along(m)))

    def along(self, m: Motion) -> list[Measure]:
        return measure(m, self.places(), self._squeeze)

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

    def energy(self, x: Measure) -> SX:
        return 0.8 * self.stiffness * (ca.fmax(0, x.value) / 2) ** 2.5

    def pull(self, x: Measure) -> SX:
        return self.stiffness * (ca.fmax(0, x.value) / 2) ** 1.5

    def damped(self, x: Measure) -> SX:
        return self.pull(x) * ca.fmax(-1, self.damping * x.rate)
