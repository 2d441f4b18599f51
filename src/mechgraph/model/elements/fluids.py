"""Forces of air, water and oil: drag, propellers, hydraulic cylinders."""

from __future__ import annotations

from functools import partial

import casadi as ca
from casadi import SX

from ...numerics.tolerances import SMOOTH
from ..bodies import Marker
from ..contact.pairs import velocity_at
from ..declarations import not_negative, numbers, place, positive
from ..element import Action, Wrench
from ..forces import Force
from ..motion import Motion
from ..parameter_checks import Limit
from .measure import ForceAlong, Measure, distance

NOT_NEGATIVE = partial(Limit, positive=False)


class Drag(Force):
    """Drag at a place that moves with v through the ``air``, which moves with its place and with
    ``wind`` in the axes of that: −½ density area |v| v − linear v.

    area: c_d A, one number, or one for each axis of the place.
    density: of the air, or of water.
    wind: velocity of the air relative to the place ``air``, in the axes of that.
    """

    passive = False  # wind gives energy
    drawn_as = "nothing"

    at: Marker = place()
    area: SX = numbers(3, limit=NOT_NEGATIVE, alone=lambda area: [area] * 3)
    density: SX = not_negative(1.225)
    linear: SX = not_negative(0)
    wind: SX = numbers(3, (0, 0, 0))
    air: Marker = place("ground")

    def nonconservative(self, m: Motion) -> list[Action]:
        v = m.rotation(self.at).T @ _through(m, self.at, self.air, self.wind)
        # with a slope at rest; the drag at speeds that this changes is ε² of that at one
        speed = ca.sqrt(ca.sumsqr(v) + SMOOTH)
        force = -(self.density / 2 * speed * self.area + self.linear) * v
        return [Wrench(self.at, m.rotation(self.at) @ force, SX.zeros(3))]


class Propeller(Force):
    """A propeller about the z axis of its place: with n turns a second through the ``air`` and the
    speed v along z, the thrust ρD⁴n|n| (c₀ + c₁J) along z and the torque −ρD⁵n|n| (c₀ + c₁J) about
    it, J = v / |n|D.

    diameter: D.
    thrust, torque: c₀, or (c₀, c₁); a left-handed propeller has a negative thrust.
    density: ρ, of the air; ``air`` is what this moves with.
    """

    drawn_as = "nothing"

    at: Marker = place()
    diameter: SX = positive()
    thrust: SX = numbers(2, alone=lambda c: [c, 0])
    torque: SX = numbers(2, 0, alone=lambda c: [c, 0])
    density: SX = not_negative(1.225)
    air: Marker = place("ground")

    def nonconservative(self, m: Motion) -> list[Action]:
        z, D = m.axis(self.at, "z"), self.diameter
        turning = m.angular_velocity(self.at) - m.angular_velocity(self.air)
        n = ca.dot(z, turning) / (2 * ca.pi)
        v = ca.dot(z, _through(m, self.at, self.air, SX.zeros(3)))
        thrust, torque = (
            self.density * D**4 * (c[0] * n * ca.fabs(n) + c[1] * n * v / D)
            for c in (self.thrust, self.torque)
        )
        return [Wrench(self.at, thrust * z, -torque * D * z)]


class HydraulicCylinder(ForceAlong):
    """A double-acting cylinder on the line between two places, with oil that gives way: it pushes
    them apart with p₁A₁ − p₂A₂.

    Where they are ``length`` apart the chambers hold ``volumes`` V₁, V₂ of oil under ``pressure``.
    Moved by x, and with the volumes ``oil`` pumped in (functions of time), the pressures are

        p₁ = p₀ + β ln((V₁ + oil₁)/(V₁ + A₁x)),    p₂ = p₀ + β ln((V₂ + oil₂)/(V₂ − A₂x)),

    but never less than zero (the oil cavitates).

    length: their distance where the chambers hold ``volumes`` of oil under ``pressure``.
    areas: A₁ of the piston, A₂ of the ring on the side of the rod; 0 if it acts one way only.
    bulk_modulus: β of the oil, about 1.4e9 Pa.
    oil: volumes that are pumped in, numbers or functions of time.
    damping: c of the force c l̇ along the cylinder.
    """

    a: Marker = place()
    b: Marker = place()
    length: SX = positive()
    areas: SX = numbers(2, limit=NOT_NEGATIVE)
    volumes: SX = numbers(2, limit=Limit)
    bulk_modulus: SX = positive()
    pressure: SX = not_negative(0)
    oil: SX = numbers(2, (0, 0))
    damping: SX = not_negative(0)

    def along(self, m: Motion) -> list[Measure]:
        return [distance(m, self.a, self.b)]

    def _oil(self, x: Measure) -> tuple[SX, SX]:
        """Volumes of the chambers, and of the oil in them without more pressure."""
        stroke = x.value - self.length
        return self.volumes + ca.vertcat(1, -1) * self.areas * stroke, self.volumes + self.oil

    def pressures(self, m: Motion) -> SX:
        """p₁ and p₂."""
        return self._pressures(*self.along(m))

    def _pressures(self, x: Measure) -> SX:
        room, oil = self._oil(x)
        return ca.fmax(0, self.pressure + self.bulk_modulus * ca.log(oil / room))

    def energy(self, x: Measure) -> SX:
        """−∫ p dV, up to where the oil cavitates."""
        room, oil = self._oil(x)
        full = ca.fmin(room, oil * ca.exp(self.pressure / self.bulk_modulus))
        stored = self.bulk_modulus * (full * ca.log(full / oil) - full)
        return ca.sum1(stored - self.pressure * full)

    def pull(self, x: Measure) -> SX:
        first, second = ca.vertsplit(self._pressures(x) * self.areas)
        return second - first


def _through(m: Motion, at: Marker, air: Marker, wind: SX) -> SX:
    """Velocity of a place through the air, which moves with its own place."""
    moving = velocity_at(m, air, m.position(at)) + m.rotation(air) @ wind
    return m.velocity(at) - moving
