"""Quantities of where some places are, such as the length of a rope: their value, their rate, and
what an effort along them does.

With p and R the positions and rotations of the places, a quantity x(p, R) changes at the rate

    ẋ = Σ (∂x/∂p)·v + (Σⱼ rⱼ × ∂x/∂rⱼ)·ω,        rⱼ the columns of R,

so by virtual power an effort F along it is the force F ∂x/∂p and the torque F Σ rⱼ × ∂x/∂rⱼ on
each place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
from casadi import SX

from ..bodies import Marker
from ..element import Action, Wrench

if TYPE_CHECKING:
    from ..motion import Motion

Quantity = Callable[[Sequence[SX], Sequence[SX]], SX]  # of positions and rotations


@dataclass(frozen=True, eq=False)
class Measure:
    """A quantity x: ``value``, ``rate`` ẋ, and the wrenches of a ``unit`` effort along it."""

    value: SX
    rate: SX
    unit: Sequence[Wrench]

    def pushed(self, effort: SX) -> list[Action]:
        """The actions of an effort along it: positive, if x is to grow."""
        return [Wrench(w.marker, effort * w.force, effort * w.torque) for w in self.unit]


def measured(m: Motion, places: Sequence[Marker], quantity: Quantity) -> list[Measure]:
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
