"""Forces of air, water and oil: drag, propellers, hydraulic cylinders."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
from casadi import SX

from ...vectors import column, scalar
from ..bodies import Marker, Place, marker_on
from ..contact.pairs import velocity_at
from ..element import Action, Wrench
from ..fields import Number, Numbers, Vector
from ..forces import Force
from ..parameter_checks import Limit
from .measure import Measure, measured

if TYPE_CHECKING:
    from ...motion.motion import Motion

STILL = 1e-12  # m/s: the root in |v| has no slope at rest


class Drag(Force):
    """Drag at a place that moves with v through the ``air``, which moves with its place and with
    ``wind`` in the axes of that: −½ density area |v| v − linear v.

    area: c_d A, one number, or one for each axis of the place.
    density: of the air, or of water.
    wind: velocity of the air relative to the place ``air``, in the axes of that.
    """

    passive = False  # wind gives energy
    drawn_as = "nothing"

    def __init__(
        self,
        name: str,
        at: Place,
        area: Numbers,
        density: Number = 1.225,
        linear: Number = 0,
        wind: Vector = (0, 0, 0),
        air: Place = "ground",
    ) -> None:
        self.name, self.at, self.air = name, marker_on(at), marker_on(air)
        self.area = _some(area, [area] * 3, "area")
        self.density, self.linear = scalar(density, "density"), scalar(linear, "linear")
        self.wind = column(wind, 3, "wind")
        self.limits = [
            *(Limit("area", each, positive=False) for each in ca.vertsplit(self.area)),
            Limit("density", self.density, positive=False),
            Limit("linear", self.linear, positive=False),
        ]

    def places(self) -> Sequence[Marker]:
        return (self.air, self.at)

    def nonconservative(self, m: Motion) -> list[Action]:
        v = m.rotation(self.at).T @ _through(m, self.at, self.air, self.wind)
        speed = ca.sqrt(ca.sumsqr(v) + STILL**2)
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

    def __init__(
        self,
        name: str,
        at: Place,
        diameter: Number,
        thrust: Numbers,
        torque: Numbers = 0,
        density: Number = 1.225,
        air: Place = "ground",
    ) -> None:
        self.name, self.at, self.air = name, marker_on(at), marker_on(air)
        self.diameter, self.density = scalar(diameter, "diameter"), scalar(density, "density")
        self.thrust, self.torque = (
            _some(value, [value, 0], what)
            for what, value in (("thrust", thrust), ("torque", torque))
        )
        self.limits = [
            Limit("diameter", self.diameter),
            Limit("density", self.density, positive=False),
        ]

    def places(self) -> Sequence[Marker]:
        return (self.air, self.at)

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


class HydraulicCylinder(Force):
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

    passive = True

    def __init__(
        self,
        name: str,
        a: Place,
        b: Place,
        length: Number,
        areas: Vector,
        volumes: Vector,
        bulk_modulus: Number,
        pressure: Number = 0,
        oil: Vector = (0, 0),
        damping: Number = 0,
    ) -> None:
        self.name, self.a, self.b = name, marker_on(a), marker_on(b)
        self.length, self.areas = scalar(length, "length"), column(areas, 2, "areas")
        self.volumes, self.oil = column(volumes, 2, "volumes"), column(oil, 2, "oil")
        self.bulk_modulus = scalar(bulk_modulus, "bulk_modulus")
        self.pressure, self.damping = scalar(pressure, "pressure"), scalar(damping, "damping")
        self.limits = [
            Limit("length", self.length),
            Limit("bulk_modulus", self.bulk_modulus),
            *(Limit("areas", each, positive=False) for each in ca.vertsplit(self.areas)),
            *(Limit("volumes", each) for each in ca.vertsplit(self.volumes)),
            Limit("pressure", self.pressure, positive=False),
            Limit("damping", self.damping, positive=False),
        ]

    def places(self) -> Sequence[Marker]:
        return (self.a, self.b)

    def _line(self, m: Motion) -> Measure:
        return measured(m, self.places(), lambda p, R: ca.norm_2(p[1] - p[0]))[0]

    def _oil(self, stroke: SX) -> tuple[SX, SX]:
        """Volumes of the chambers, and of the oil in them without more pressure."""
        return self.volumes + ca.vertcat(1, -1) * self.areas * stroke, self.volumes + self.oil

    def pressures(self, m: Motion) -> SX:
        """p₁ and p₂."""
        room, oil = self._oil(self._line(m).value - self.length)
        return ca.fmax(0, self.pressure + self.bulk_modulus * ca.log(oil / room))

    def potential(self, m: Motion) -> SX:
        """−∫ p dV, up to where the oil cavitates."""
        room, oil = self._oil(self._line(m).value - self.length)
        full = ca.fmin(room, oil * ca.exp(self.pressure / self.bulk_modulus))
        stored = self.bulk_modulus * (full * ca.log(full / oil) - full)
        return ca.sum1(stored - self.pressure * full)

    def conservative(self, m: Motion) -> list[Action]:
        first, second = ca.vertsplit(self.pressures(m) * self.areas)
        return self._line(m).pushed(first - second)

    def nonconservative(self, m: Motion) -> list[Action]:
        line = self._line(m)
        return [] if self.damping.is_zero() else line.pushed(-self.damping * line.rate)


def _through(m: Motion, at: Marker, air: Marker, wind: SX) -> SX:
    """Velocity of a place through the air, which moves with its own place."""
    moving = velocity_at(m, air, m.position(at)) + m.rotation(air) @ wind
    return m.velocity(at) - moving


def _some(value: Any, alone: list[Any], what: str) -> SX:
    """Several numbers; what one alone means."""
    single = isinstance(value, (int, float)) or (isinstance(value, SX) and value.is_scalar())
    return column(alone if single else value, len(alone), what)
