"""Belts, chains, racks, gear trains: what ties the coordinates of joints to each other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
from casadi import SX

from ...arguments import flag
from ...errors import ModelError
from ...vectors import column, scalar
from ..constraints import Coupling
from ..element import Action, Effort
from ..fields import ByName, Number, Vector
from ..forces import Force
from ..joints import Coordinate, coordinate_name
from ..parameter_checks import Limit

if TYPE_CHECKING:
    from ...motion.motion import Motion


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
        super().__init__(name, _around(first, second, radii, crossed))
        self.limits = _radii_limits(radii)


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


class ElasticCoupling(Force):
    """Coordinates of joints tied by a spring: x = Σ c q − ``constant``, with ``coefficients`` c, is
    pushed back by stiffness x + damping ẋ. A shaft, a gear train, a chain; with play it is
    ``backlash``.

    coefficients: by the names of the coordinates, {"motor": 1.0, "arm": -50.0}.
    stiffness, damping: along Σ c q.
    """

    passive = True

    def __init__(
        self,
        name: str,
        coefficients: ByName,
        stiffness: Number,
        damping: Number = 0,
        constant: Number = 0,
    ) -> None:
        stated = Coupling(name, coefficients, constant)
        self.name, self.coefficients, self.constant = name, stated.coefficients, stated.constant
        self.stiffness, self.damping = scalar(stiffness, "stiffness"), scalar(damping, "damping")
        hint = "; coordinates that are tied without spring are a coupling"
        self.limits = [
            Limit("stiffness", self.stiffness, hint=hint),
            Limit("damping", self.damping, positive=False),
        ]

    def joints(self) -> Sequence[str]:
        return tuple(self.coefficients)

    def twist(self, m: Motion) -> SX:
        """x = Σ c q − constant."""
        terms = (c * m.coordinate(joint) for joint, c in self.coefficients.items())
        return sum(terms, -self.constant)

    def potential(self, m: Motion) -> SX:
        return self.stiffness * self.twist(m) ** 2 / 2

    def conservative(self, m: Motion) -> list[Action]:
        return self.pushed(-self.stiffness * self.twist(m))

    def nonconservative(self, m: Motion) -> list[Action]:
        if self.damping.is_zero():
            return []
        rate = sum((c * m.speed(joint) for joint, c in self.coefficients.items()), SX(0))
        return self.pushed(-self.damping * rate)

    def pushed(self, effort: SX) -> list[Action]:
        """The actions of an effort along x."""
        return [Effort(joint, c * effort) for joint, c in self.coefficients.items()]


class ElasticBelt(Force):
    """A belt that stretches, on two pulleys of ``radii`` r₁, r₂: with e = r₁ φ₁ − r₂ φ₂ (+,
    ``crossed``) its spans pull with pretension ± stiffness e, as long as that is positive.

    A span that would push is slack. Both are damped by ``damping`` ė together.

    first, second, radii, crossed: as for ``belt``.
    damping: of both spans together, along the belt.
    pretension: tension of both spans where nothing turns them.
    """

    passive = True

    def __init__(
        self,
        name: str,
        first: Coordinate,
        second: Coordinate,
        radii: Vector,
        stiffness: Number,
        damping: Number = 0,
        pretension: Number = 0,
        crossed: bool = False,
    ) -> None:
        self.name, around = name, _around(first, second, radii, crossed)
        self.spring = ElasticCoupling(name, around, stiffness, damping)
        self.pretension = scalar(pretension, "pretension")
        self.limits = [
            *_radii_limits(radii),
            *self.spring.limits,
            Limit("pretension", self.pretension, positive=False),
        ]

    def joints(self) -> Sequence[str]:
        return self.spring.joints()

    def tensions(self, m: Motion) -> tuple[SX, SX]:
        """Of the span that the first pulley pulls as it turns forward, and of the other one."""
        pull = self.spring.stiffness * self.spring.twist(m)
        return ca.fmax(0, self.pretension + pull), ca.fmax(0, self.pretension - pull)

    def potential(self, m: Motion) -> SX:
        tight, slack = self.tensions(m)
        return (tight**2 + slack**2) / (2 * self.spring.stiffness)

    def conservative(self, m: Motion) -> list[Action]:
        tight, slack = self.tensions(m)
        return self.spring.pushed(slack - tight)

    def nonconservative(self, m: Motion) -> list[Action]:
        return self.spring.nonconservative(m)


def _two(first: Any, second: Any) -> tuple[str, str]:
    """The names of two different coordinates."""
    names = coordinate_name(first), coordinate_name(second)
    if names[0] == names[1]:
        raise ModelError(f"it needs two joints, got {names[0]!r} twice")
    return names


def _around(first: Any, second: Any, radii: Any, crossed: bool) -> dict[str, SX]:
    """The coefficients of r₁ φ₁ ∓ r₂ φ₂."""
    names, (r1, r2) = _two(first, second), ca.vertsplit(column(radii, 2, "radii"))
    return {names[0]: r1, names[1]: r2 if flag("crossed", crossed, ModelError) else -r2}


def _radii_limits(radii: Any) -> list[Limit]:
    return [Limit("radii", r) for r in ca.vertsplit(column(radii, 2, "radii"))]
