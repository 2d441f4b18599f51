"""Quantities of where some places are, such as the length of a rope: their value, their rate, and
what an effort along them does.

With p and R the positions and rotations of the places, a quantity x(p, R) changes at the rate

    ẋ = Σ (∂x/∂p)·v + (Σⱼ rⱼ × ∂x/∂rⱼ)·ω,        rⱼ the columns of R,

so by virtual power an effort F along it is the force F ∂x/∂p and the torque F Σ rⱼ × ∂x/∂rⱼ on
each place.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from ..bodies import Marker
from ..element import Action, Effort, Wrench
from ..forces import Force
from ..motion import Motion

Quantity = Callable[[Sequence[SX], Sequence[SX]], SX]  # of positions and rotations


@dataclass(frozen=True, eq=False)
class Measure:
    """A quantity x: ``value``, ``rate`` ẋ, and the actions of a ``unit`` effort along it."""

    value: SX
    rate: SX
    unit: Sequence[Action]

    def actions(self, effort: SX) -> list[Action]:
        """The actions of an effort along it: positive, if x is to grow."""
        return [
            Wrench(each.marker, effort * each.force, effort * each.torque)
            if isinstance(each, Wrench)
            else Effort(each.joint, effort * each.values)
            for each in self.unit
        ]


class ForceAlong(Force):
    """A force that pulls back along quantities x of the motion: by an elastic effort, which has an
    energy, and a damper."""

    passive = True
    damping: SX

    @abstractmethod
    def along(self, m: Motion) -> Sequence[Measure]:
        """The quantities."""

    @abstractmethod
    def energy(self, x: Measure) -> SX:
        """The energy of the elastic effort."""

    @abstractmethod
    def pull(self, x: Measure) -> SX:
        """The elastic effort against x: the slope of its energy."""

    def damped(self, x: Measure) -> SX:
        """The damper's effort against x."""
        return self.damping * x.rate

    def potential(self, m: Motion) -> SX:
        return sum((self.energy(x) for x in self.along(m)), SX(0))

    def conservative(self, m: Motion) -> list[Action]:
        return [action for x in self.along(m) for action in x.actions(-self.pull(x))]

    def nonconservative(self, m: Motion) -> list[Action]:
        if self.damping.is_zero():
            return []
        return [action for x in self.along(m) for action in x.actions(-self.damped(x))]


def combination(m: Motion, coefficients: Mapping[str, SX], constant: SX) -> Measure:
    """Σ c q − constant of coordinates."""
    value = sum((c * m.coordinate(key) for key, c in coefficients.items()), -constant)
    rate = sum((c * m.speed(key) for key, c in coefficients.items()), SX(0))
    return Measure(value, rate, [Effort(key, c) for key, c in coefficients.items()])


def distance(m: Motion, a: Marker, b: Marker) -> Measure:
    """The distance of two places."""
    gap = m.position(b) - m.position(a)
    length = ca.norm_2(gap)
    unit, none = gap / length, SX.zeros(3)
    rate = ca.dot(m.velocity(b) - m.velocity(a), unit)
    return Measure(length, rate, [Wrench(a, -unit, none), Wrench(b, unit, none)])


def measure(m: Motion, places: Sequence[Marker], quantity: Quantity) -> list[Measure]:
    """Each component of a quantity of the poses of places."""
    p = [SX.sym("p", 3) for _ in places]
    R = [SX.sym("R", 3, 3) for _ in places]
    x = ca.densify(ca.vec(quantity(p, R)))
    slopes = [ca.jacobian(x, each) for each in (*p, *map(ca.vec, R))]
    here = [*(m.position(place) for place in places), *(m.rotation(place) for place in places)]
    value, *found = ca.substitute([x, *slopes], [*p, *R], [ca.densify(each) for each in here])
    shifts, turns = found[: len(places)], found[len(places) :]
    rotations = here[len(places) :]
    return [
        _measure(m, value[k], places, [s[k, :].T for s in shifts], _torques(k, turns, rotations))
        for k in range(x.numel())
    ]


def _torques(k: int, slopes: list[SX], rotations: list[SX]) -> list[SX]:
    """Σⱼ rⱼ × ∂x/∂rⱼ of each place."""
    out = []
    for slope, R in zip(slopes, rotations, strict=True):
        columns = ca.horzsplit(ca.reshape(slope[k, :], 3, 3))
        parts = (ca.cross(r, g) for r, g in zip(ca.horzsplit(R), columns, strict=True))
        out.append(sum(parts, SX.zeros(3)))
    return out


def _measure(
    m: Motion, value: SX, places: Sequence[Marker], forces: list[SX], torques: list[SX]
) -> Measure:
    unit = [Wrench(*each) for each in zip(places, forces, torques, strict=True)]
    rate = SX(0)
    for w in unit:
        rate += ca.dot(w.force, m.velocity(w.marker))
        if not w.torque.is_zero():
            rate += ca.dot(w.torque, m.angular_velocity(w.marker))
    return Measure(value, rate, unit)
