"""Friction in joints: dry, with true sticking; or smooth, by a law of contacts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
from casadi import SX

from ..vectors import axis, scalar, symbol
from .constraints import Level
from .contact.friction import Friction
from .contact.switched import PointRows, PointState, Switched
from .described import Described
from .element import Action, Effort
from .fields import Number
from .forces import Force
from .joints import Rows
from .parameter_checks import Limit

if TYPE_CHECKING:
    from .motion import Motion


class DryFriction(Described):
    """Friction of a joint that sticks: efforts, in N or N m.

    Sliding with the speed v it is F(v) against v, sticking it holds what is not more than
    ``static_friction``:

        F(v) = coulomb + (static_friction − coulomb) exp(−(v/stribeck)²) + viscous |v|,

    without ``stribeck`` it falls from ``static_friction`` to ``coulomb`` at once. With the
    ``radius`` r of a pin, ``coulomb`` and ``static_friction`` are coefficients: what they are
    multiplied by is r |R|, with the part R of the joint's reaction that is across its axis. Outside
    of ``simulate``, where nothing is said of sticking, its sign is v/√(v² + regularization²).
    """

    def __init__(
        self,
        coulomb: Number,
        static_friction: Number | None = None,
        stribeck: Number | None = None,
        viscous: Number = 0.0,
        regularization: Number = 1e-6,
        radius: Number | None = None,
    ) -> None:
        self.coulomb = scalar(coulomb, "coulomb friction")
        self.static_friction = (
            self.coulomb if static_friction is None else scalar(static_friction, "static_friction")
        )
        self.stribeck = None if stribeck is None else scalar(stribeck, "stribeck")
        self.viscous = scalar(viscous, "viscous friction")
        self.regularization = scalar(regularization, "regularization")
        self.radius = None if radius is None else scalar(radius, "radius")
        self.limits = [
            Limit("coulomb friction", self.coulomb, positive=False),
            Limit(
                "static minus coulomb friction", self.static_friction - self.coulomb, positive=False
            ),
            Limit("viscous friction", self.viscous, positive=False),
            Limit("regularization of friction", self.regularization),
        ]
        if self.radius is not None:
            self.limits.append(Limit("radius of a pin", self.radius))
        if self.stribeck is not None:
            self.limits += [
                Limit("stribeck", self.stribeck),
                Limit(
                    "static_friction",
                    self.static_friction,
                    hint="; leave stribeck= out without any",
                ),
            ]

    @property
    def breaking(self) -> SX:
        """What resists a slip that begins."""
        return self.coulomb if self.stribeck is None else self.static_friction

    def falling(self, v: SX) -> SX:
        """The dry part of F(v), for a unit of ``breaking``."""
        if self.stribeck is None:
            return SX(1)
        return 1 + (1 - self.coulomb / self.static_friction) * (
            ca.exp(-((v / self.stribeck) ** 2)) - 1
        )


class JointFriction(Switched):
    """Dry friction along a coordinate x: stuck, a row ẋ = 0 whose multiplier is bounded; sliding,
    an effort against the direction h of the slip.

    ``simulate`` sets the parameters ``name.sticking`` (0 or 1) and ``name.heading`` h (±1). Events
    are the multiplier at its bound, and h ẋ at zero.
    """

    word = "friction"
    joint_option = "friction"
    idle = "free until it sticks"
    sticks = True
    passive = True

    def __init__(self, name: str, coordinate: str, law: DryFriction, axis: Any = None) -> None:
        self.name, self.coordinate, self.law, self.limits = name, coordinate, law, law.limits
        self.axis = axis
        self.friction, self.static_friction = law.breaking, law.static_friction
        self.sticking, self.heading = (symbol(f"{name}.{what}") for what in ("sticking", "heading"))

    def joints(self) -> Sequence[str]:
        return (self.coordinate,)

    def parameters(self) -> dict[str, SX]:
        return {f"{self.name}.sticking": self.sticking, f"{self.name}.heading": self.heading}

    def velocity(self, m: Motion) -> Rows:
        return [("", self.sticking * m.speed(self.coordinate))]

    def loaded_by(self) -> Sequence[str]:
        return () if self.law.radius is None else (self.coordinate,)

    def load(self, m: Motion, multipliers: SX) -> SX | None:
        """What ``breaking`` is multiplied by: one, or r |R|; less at a speed."""
        return self.law.falling(m.speed(self.coordinate)) * self._pressed(multipliers)

    def _pressed(self, multipliers: SX) -> SX:
        """r |R|, of the reaction's rows along x, y, z of the joint's frame; in a plane there are
        none but the two across the axis."""
        if self.law.radius is None:
            return SX(1)
        if multipliers.numel() == 2:
            return self.law.radius * ca.norm_2(multipliers)
        R = multipliers[:3]
        return self.law.radius * ca.norm_2(R - self.axis * ca.dot(self.axis, R))

    def nonconservative(self, m: Motion) -> list[Action]:
        viscous = -self.law.viscous * m.speed(self.coordinate)
        dry = SX(0) if self.loaded_by() else self._dry(m, SX(0, 1))
        return [Effort(self.coordinate, viscous + dry)]

    def friction_actions(self, m: Motion, multipliers: SX) -> list[Action]:
        if not self.loaded_by():
            return []
        return [Effort(self.coordinate, self._dry(m, multipliers[1:]))]

    def _dry(self, m: Motion, multipliers: SX) -> SX:
        v, h, load = m.speed(self.coordinate), self.heading, self.load(m, multipliers)
        towards = h + (1 - h**2) * v / ca.sqrt(v**2 + self.law.regularization**2)
        return -(1 - self.sticking) * self.law.breaking * load * towards

    def joint_properties(self) -> tuple[str, Mapping[str, Any]] | None:
        return self.coordinate, {"friction": self.law.coulomb}

    def moving(self, m: Motion) -> SX:
        """At least one where |ẋ| is well above the ``regularization``, or its parameters tell."""
        speed = m.speed(self.coordinate) / (10 * self.law.regularization)
        return ca.fabs(speed) + self.sticking + ca.fabs(self.heading)

    def point_switches(self) -> list[tuple[str, dict[str, str], list[str]]]:
        return [(self.name, {"sticking": f"{self.name}.sticking"}, [f"{self.name}.heading"])]

    def point_rows(self, m: Motion, rows: dict[Level, list[int]]) -> list[PointRows]:
        return [PointRows(None, slip=tuple(rows["velocity"]))]

    def point_states(self, m: Motion) -> list[PointState]:
        return [PointState(SX(1), self.heading * m.speed(self.coordinate), (axis("x"),))]


class SmoothFriction(Force):
    """A law ``mg.Friction`` along a coordinate, whose coefficients are efforts: the normal force is
    one. It creeps where it should stick."""

    word = "friction"
    joint_option = "friction"
    passive = True

    def __init__(self, name: str, coordinate: str, law: Friction) -> None:
        self.name, self.coordinate, self.law, self.limits = name, coordinate, law, law.limits

    def joints(self) -> Sequence[str]:
        return (self.coordinate,)

    def nonconservative(self, m: Motion) -> list[Action]:
        v = m.speed(self.coordinate)
        return [Effort(self.coordinate, self.law.loaded(v) + self.law.unloaded(v))]
