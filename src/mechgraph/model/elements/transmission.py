"""Belts, chains, racks, gear trains: what ties the coordinates of joints to each other."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import casadi as ca
from casadi import SX

from ...arguments import flag
from ...errors import ModelError
from ...vectors import column, scalar
from ..constraints import Coupling
from ..declarations import (
    argument,
    coefficients,
    coordinate,
    coordinate_name,
    not_negative,
    number,
    numbers,
    positive,
)
from ..fields import Number, Vector
from ..joints import Coordinate
from ..motion import Motion
from ..parameter_checks import Limit
from .measure import ForceAlong, Measure, combination

TIED = "; coordinates that are tied without spring are a coupling"


def _read_crossed(value: Any, what: str = "crossed") -> bool:
    return flag(what, value, ModelError)


class Belt(Coupling):
    """A belt or chain that neither slips nor stretches, on two pulleys of ``radii`` r₁, r₂: r₁ φ₁ −
    r₂ φ₂ = 0, or, ``crossed``, r₁ φ₁ + r₂ φ₂ = 0.

    radii: r₁ and r₂ of the pulleys on the joints ``first`` and ``second``.
    crossed: True turns the second one the other way.
    """

    def __init__(
        self,
        name: str,
        first: Coordinate,
        second: Coordinate,
        radii: Vector,
        crossed: bool = False,
    ) -> None:
        sizes, crossed = column(radii, 2, "radii"), _read_crossed(crossed)
        super().__init__(name, _belt_coefficients(*_two(first, second), sizes, crossed))
        self.limits = [Limit("radii", r) for r in ca.vertsplit(sizes)]


class RackAndPinion(Coupling):
    """The joint ``rack`` moves by x = radius φ + offset as the joint ``pinion`` turns by φ.

    radius: of the pinion's pitch circle; negative for a rack on its other side.
    """

    def __init__(
        self, name: str, pinion: Coordinate, rack: Coordinate, radius: Number, offset: Number = 0
    ) -> None:
        turn, shift = _two(pinion, rack)
        super().__init__(name, {shift: 1, turn: -scalar(radius, "radius")}, offset)
        if self.coefficients[turn].is_zero():
            raise ModelError("radius must not be zero; give that of the pitch circle")


class ElasticCoupling(ForceAlong):
    """Coordinates of joints tied by a spring: x = Σ c q − ``constant``, with ``coefficients`` c, is
    pushed back by stiffness x + damping ẋ. A shaft, a gear train, a chain; with play it is
    ``backlash``.

    coefficients: by the names of the coordinates, {"motor": 1.0, "arm": -50.0}.
    stiffness, damping: along Σ c q.
    """

    coefficients: Mapping[str, SX] = coefficients()
    stiffness: SX = positive(hint=TIED)
    damping: SX = not_negative(0)
    constant: SX = number(0)

    def along(self, m: Motion) -> list[Measure]:
        return [combination(m, self.coefficients, self.constant)]

    def energy(self, x: Measure) -> SX:
        return self.stiffness * x.value**2 / 2

    def pull(self, x: Measure) -> SX:
        return self.stiffness * x.value


class ElasticBelt(ForceAlong):
    """A belt that stretches, on two pulleys of ``radii`` r₁, r₂: with e = r₁ φ₁ − r₂ φ₂ (+,
    ``crossed``) its spans pull with pretension ± stiffness e, as long as that is positive.

    A span that would push is slack. Both are damped by ``damping`` ė together.

    first, second, radii, crossed: as for ``belt``.
    damping: of both spans together, along the belt.
    pretension: tension of both spans where nothing turns them.
    """

    first: str = coordinate()
    second: str = coordinate()
    radii: SX = numbers(2, limit=Limit)
    stiffness: SX = positive(hint=TIED)
    damping: SX = not_negative(0)
    pretension: SX = not_negative(0)
    crossed: bool = argument("bool", "flag", _read_crossed, False)

    def __post_init__(self) -> None:
        self.around = _belt_coefficients(self.first, self.second, self.radii, self.crossed)

    def along(self, m: Motion) -> list[Measure]:
        return [combination(m, self.around, SX(0))]

    def tensions(self, m: Motion) -> tuple[SX, SX]:
        """Tension of the span that the first pulley pulls as it turns forward, and of the other."""
        return self._tensions(*self.along(m))

    def _tensions(self, x: Measure) -> tuple[SX, SX]:
        pull = self.stiffness * x.value
        return ca.fmax(0, self.pretension + pull), ca.fmax(0, self.pretension - pull)

    def energy(self, x: Measure) -> SX:
        tight, slack = self._tensions(x)
        return (tight**2 + slack**2) / (2 * self.stiffness)

    def pull(self, x: Measure) -> SX:
        tight, slack = self._tensions(x)
        return tight - slack


def _two(first: Any, second: Any) -> tuple[str, str]:
    """The names of two different coordinates."""
    names = coordinate_name(first), coordinate_name(second)
    if names[0] == names[1]:
        raise ModelError(f"it needs two joints, got {names[0]!r} twice")
    return names


def _belt_coefficients(first: str, second: str, radii: SX, crossed: bool) -> dict[str, SX]:
    """The coefficients of r₁ φ₁ ∓ r₂ φ₂."""
    _two(first, second)
    return {first: radii[0], second: radii[1] if crossed else -radii[1]}
