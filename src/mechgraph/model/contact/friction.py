"""Dry and viscous friction, made smooth about zero speed by a parameter.

The force on a sliding contact with normal force N and slip velocity v is

    F = −N μ(|v|) v / √(|v|² + v₀²) − N k v − c v,        μ(s) = μ + (μ_s − μ) exp(−(s / v_S)²):

Coulomb's friction μ with Stribeck's rise to μ_s below the speed v_S, ``regularization`` v₀, a drag
k in proportion to the load, and a viscous drag c.
"""

from __future__ import annotations

from typing import Annotated, Any, TypeAlias

import casadi as ca
from casadi import SX

from ...vectors import scalar
from ..described import Described
from ..fields import Field, Number
from ..parameter_checks import Limit


class Friction(Described):
    """The law of friction of a contact: ``coulomb`` μ, ``static_friction`` μ_s with ``stribeck``
    v_S, ``drag`` k, ``viscous`` c."""

    def __init__(
        self,
        coulomb: Number = 0,
        static_friction: Number | None = None,
        stribeck: Number = 0.01,
        drag: Number = 0,
        viscous: Number = 0,
        regularization: Number = 1e-4,
    ) -> None:
        self.coulomb = scalar(coulomb, "coulomb")
        self.static_friction = (
            self.coulomb if static_friction is None else scalar(static_friction, "static_friction")
        )
        self.stribeck = scalar(stribeck, "stribeck")
        self.drag, self.viscous = scalar(drag, "drag"), scalar(viscous, "viscous")
        self.regularization = scalar(regularization, "regularization")
        self.limits = [
            *(
                Limit(what, getattr(self, what), positive=False)
                for what in ("coulomb", "drag", "viscous")
            ),
            Limit("static minus coulomb", self.static_friction - self.coulomb, positive=False),
            *(Limit(what, getattr(self, what)) for what in ("stribeck", "regularization")),
        ]

    @staticmethod
    def of(value: Any) -> Friction:
        """A law as it is; a number is Coulomb's coefficient."""
        return value if isinstance(value, Friction) else Friction(scalar(value, "friction"))

    def coefficient(self, speed: SX) -> SX:
        """μ(s)."""
        return self.coulomb + (self.static_friction - self.coulomb) * ca.exp(
            -((speed / self.stribeck) ** 2)
        )

    def loaded(self, slip: SX) -> SX:
        """The part in proportion to the normal force, for a unit of it."""
        speed = ca.sqrt(ca.dot(slip, slip) + self.regularization**2)
        return -(self.coefficient(speed) / speed + self.drag) * slip

    def unloaded(self, slip: SX) -> SX:
        """The part that does not depend on the normal force."""
        return -self.viscous * slip


FrictionLaw: TypeAlias = Annotated[Number | Friction, Field("friction")]
"""Coulomb's coefficient, or a law ``mg.Friction``."""
