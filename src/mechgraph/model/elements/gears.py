"""Involute spur gears.

The base radii are r = (m z / 2) cos α₀ for the module m, z teeth and the pressure angle α₀ of the
cutter. At the centre distance a the flanks touch on a common tangent of the base circles, inclined
by α, cos α = (r₁ + r₂)/a, and along it they are

    gap = ½ j ∓ (r₁ φ₁ + r₂ φ₂)        (− for the driving flanks, + for the coasting ones)

apart. So the ratio is −r₁/r₂ = −z₁/z₂ at any centre distance, and j = 2 (r₁ + r₂)(inv α − inv α₀),
inv x = tan x − x, is the backlash of teeth that are as thick as their gaps on the pitch circles.
Pairs of teeth follow each other at the base pitch p = 2πr/z; a pair touches at s = ±r₁ φ₁ + r₁
(π/2z₁ + inv α₀ + α) from the tangent point of the pinion, as long as that is inside of both tip
circles. At φ = 0 a tooth of the pinion points to a gap of the wheel.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ...errors import ModelError, shown
from ...numerics.tolerances import GIVEN
from ...vectors import NOT_AN_EXPRESSION
from ..bodies import Marker
from ..constraints import Constraint
from ..contact.pairs import velocity_at
from ..declarations import argument, not_negative, positive
from ..element import Action, Drawn, Element, Wrench
from ..forces import Force
from ..joints import Joint, JointOrName, Revolute, Rows
from ..motion import Motion

PRESSURE_ANGLE = math.radians(20)  # of the usual cutters


class GearPair:
    """The geometry of two involute gears with ``teeth`` of a ``module`` at a ``distance``."""

    def __init__(self, teeth: Any, module: Any, distance: float, pressure_angle: Any) -> None:
        self.teeth = np.array(_numbers("teeth", teeth, 2))
        (m,), (cutter,) = _numbers("module", [module], 1), _numbers("angle", [pressure_angle], 1)
        if not (self.teeth > 3).all() or (self.teeth % 1).any() or m <= 0 or not 0 < cutter < 0.7:
            raise ModelError(
                "teeth must be two whole numbers above 3, module a length, pressure_angle radians "
                f"up to 0.7; got {shown(teeth)}, {m:g}, {cutter:g}"
            )
        pitch_radii = m * self.teeth / 2
        self.distance, self.base = distance, pitch_radii * np.cos(cutter)
        self.tips = pitch_radii + m
        self.pitch = float(np.pi * m * np.cos(cutter))  # of the base circles
        if distance < pitch_radii.sum() * (1 - GIVEN):
            raise ModelError(
                f"the axes are {distance:g} apart, less than the sum {pitch_radii.sum():g} of the "
                "pitch radii: the teeth would overlap"
            )
        self.alpha = float(np.arccos(min(1.0, self.base.sum() / self.distance)))
        self.backlash = 2 * self.base.sum() * (involute(self.alpha) - involute(cutter))
        self.start = self.base[0] * (np.pi / 2 / self.teeth[0] + involute(cutter) + self.alpha)
        reach = np.sqrt(self.tips**2 - self.base**2)
        self.first, self.last = self.distance * np.sin(self.alpha) - reach[1], reach[0]
        self.contact_ratio = (self.last - self.first) / self.pitch
        if self.contact_ratio < 1:
            raise ModelError(
                f"the axes are {distance:g} apart: {self.contact_ratio:.3g} pairs of teeth touch "
                f"on average; that must be at least one: the pitch radii add up to "
                f"{pitch_radii.sum():g}"
            )


def involute(x: float) -> float:
    """inv x."""
    return float(np.tan(x) - x)


def _revolute(joint: JointOrName, _: str) -> Joint:
    if not isinstance(joint, Joint) or not isinstance(joint.kind, Revolute):
        raise ModelError(f"gears sit on revolute joints, got {shown(joint)}")
    return joint


class Gears(Element):
    """Two gears on revolute joints with parallel axes, of the same sense, on one carrier."""

    drawn_as: Drawn = "nothing"

    pinion: Joint = argument("JointOrName", "joint", _revolute)
    wheel: Joint = argument("JointOrName", "joint", _revolute)
    teeth: Any = argument("Vector", "numbers")
    module: float = argument("float", "number")
    pressure_angle: float = argument("float", "number", default=PRESSURE_ANGLE)

    def __post_init__(self) -> None:
        self.turning = self.pinion, self.wheel
        self.pair = GearPair(self.teeth, self.module, _distance(*self.turning), self.pressure_angle)
        self.axles = [joint.child for joint in self.turning]

    def places(self) -> Sequence[Marker]:
        return self.axles

    def axis(self, m: Motion) -> SX:
        """The direction of both axes."""
        return m.axis(self.axles[0], _axis(self.turning[0]))

    def across(self, m: Motion, side: int, cosine: SX | float) -> SX:
        """The direction in which the pinion pushes the wheel, for the cosine of its inclination:
        side 1 drives, −1 coasts."""
        along = (m.position(self.axles[1]) - m.position(self.axles[0])) / self.pair.distance
        # beside pairs of teeth that are far from touching there is no such line
        sine = ca.sqrt(ca.fmax(0, 1 - cosine**2))
        return sine * along + side * cosine * ca.cross(self.axis(m), along)


class RigidGears(Gears, Constraint):
    """Rigid involute teeth without play: n·(v₁ − v₂) = 0 at the pitch point, with n along the base
    tangent. The ratio is −z₁/z₂.

    pinion, wheel, teeth, module, pressure_angle: as for ``involute_gears``.
    """

    def velocity(self, m: Motion) -> Rows:
        (a, b), (r1, r2) = (m.position(axle) for axle in self.axles), self.pair.base
        point = (r2 * a + r1 * b) / (r1 + r2)
        v1, v2 = (velocity_at(m, axle, point) for axle in self.axles)
        return [("", ca.dot(self.across(m, 1, np.cos(self.pair.alpha)), v1 - v2))]


class InvoluteGears(Gears, Force):
    """Compliant involute teeth with backlash: every pair of flanks that overlaps by δ presses with
    stiffness δ (1 + damping δ̇), never less than zero, along the base tangent.

    Beyond the tips the gap is wider by x²/2ρ, x being the distance from the last regular point and
    ρ the ``rounding``: so the load passes smoothly from tooth to tooth, and the energy is kept. By
    virtual work the lever arms of the force are −∂gap/∂φ, and so its line is the common tangent of
    the circles with these radii, which regularly are the base circles.

    pinion, wheel: revolute joints with parallel axes on one carrier; how far these are apart
        decides the backlash, which is none at module (z₁ + z₂)/2.
    teeth: their numbers z₁ and z₂. At zero angles a tooth of the pinion points to a gap of the
        wheel.
    module: pitch diameter for each tooth, a length.
    stiffness, damping: of a pair of teeth that overlaps by δ: stiffness δ (1 + damping δ̇).
    pressure_angle: of the cutter, in radians; 20° if not given.
    rounding: of the tips, a radius; 2.5 modules if not given.
    """

    passive = True

    stiffness: SX = positive(hint="; for rigid teeth use rigid_gears")
    damping: SX = not_negative(0)
    pressure_angle: float = argument("float", "number", default=PRESSURE_ANGLE)
    rounding: SX = positive(None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.rounding is None:
            self.rounding = SX(2.5 * self.module)

    def lead(self, m: Motion) -> SX:
        """r₁ φ₁ + r₂ φ₂: by how much the pinion is ahead, along the line of action."""
        return ca.dot(SX(self.pair.base), self._angles(m))

    def flanks(self, m: Motion) -> Iterator[tuple[int, SX, SX]]:
        """Side, gap, and the lever arms −∂gap/∂φ of every pair of flanks."""
        phi, pair, (r1, r2) = self._angles(m), self.pair, self.pair.base
        lead = self._wrap(self.lead(m), -pair.pitch / 2)
        for side in (1, -1):
            enters = self._wrap(pair.start + side * r1 * phi[0], pair.first)
            for k in range(-1, int(np.ceil(pair.contact_ratio)) + 1):
                s = enters + k * pair.pitch
                beyond = ca.fmax(0, s - pair.last) - ca.fmax(0, pair.first - s)
                gap = pair.backlash / 2 - side * lead + beyond**2 / (2 * self.rounding)
                yield side, gap, side * ca.vertcat(r1 * (1 - beyond / self.rounding), r2)

    def potential(self, m: Motion) -> SX:
        overlaps = (ca.fmax(0, -gap) for _, gap, _ in self.flanks(m))
        return sum((self.stiffness / 2 * overlap**2 for overlap in overlaps), SX(0))

    def conservative(self, m: Motion) -> list[Action]:
        return [
            wrench
            for side, gap, arms in self.flanks(m)
            for wrench in self._press(m, side, arms, self.stiffness * ca.fmax(0, -gap))
        ]

    def nonconservative(self, m: Motion) -> list[Action]:
        if self.damping.is_zero():
            return []
        rates = ca.vertcat(*(m.speed(joint) for joint in self.joints()))
        wrenches: list[Action] = []
        for side, gap, arms in self.flanks(m):
            damped = ca.fmax(-1, self.damping * ca.dot(arms, rates))  # teeth do not pull
            wrenches += self._press(m, side, arms, self.stiffness * ca.fmax(0, -gap) * damped)
        return wrenches

    def _angles(self, m: Motion) -> SX:
        return ca.vertcat(*(m.coordinate(joint) for joint in self.joints()))

    def _wrap(self, x: SX, least: float) -> SX:
        """x by whole pitches, from ``least`` on."""
        return x - self.pair.pitch * ca.floor((x - least) / self.pair.pitch)

    def _press(self, m: Motion, side: int, arms: SX, size: SX) -> list[Action]:
        """A force on the wheel with these lever arms, and its reaction on the pinion."""
        force = size * self.across(m, side, side * ca.sum1(arms) / self.pair.distance)
        axis = self.axis(m)
        return [
            Wrench(axle, sign * force, -size * arms[k] * axis)
            for k, (axle, sign) in enumerate(zip(self.axles, (-1, 1), strict=True))
        ]


def _axis(joint: Joint) -> SX:
    axis: SX = joint.kind.axis  # type: ignore[attr-defined]
    return axis


def _distance(pinion: Joint, wheel: Joint) -> float:
    """The distance between the axes of two joints on one body."""
    axes = [joint.parent.rotation @ _axis(joint) for joint in (pinion, wheel)]
    if pinion.parent.body is not wheel.parent.body:
        raise ModelError(
            f"joints {pinion.name!r} and {wheel.name!r} must have one parent, the carrier of both "
            f"gears, not {pinion.parent.body.name!r} and {wheel.parent.body.name!r}"
        )
    places = ca.horzcat(*axes, wheel.parent.at - pinion.parent.at)
    if not places.is_constant():
        raise ModelError("the places and axes of its joints must be plain numbers")
    n, other, apart = np.array(ca.evalf(ca.densify(places))).T
    if np.linalg.norm(n - other) > GIVEN:
        raise ModelError("the axes of both joints must be parallel, and of one sense")
    return float(np.linalg.norm(apart - n * (n @ apart)))


def _numbers(what: str, values: Any, count: int) -> list[float]:
    """Numbers that decide how many teeth there are, and so must not be expressions."""
    try:
        found = [float(value) for value in values]
    except (ValueError, OverflowError, *NOT_AN_EXPRESSION):
        found = []
    if len(found) != count or not np.isfinite(found).all():
        raise ModelError(f"{what} must be {count} plain numbers, got {shown(values)}")
    return found
