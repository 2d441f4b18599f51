"""Where two surfaces touch: the point, the normal and the gap between them, as expressions of the
motion.

In closed form for convex surfaces on planes (support point), and for spheres and points on surfaces
that know their nearest point. Otherwise a point P of the base, g(P) = 0, is found by equations:
three coordinates that wander on its body, without inertia, held by three rows. With s the support
point of the other surface against the normal n at P, these are

    g(P) = 0,    t₁·(s − P) = 0,    t₂·(s − P) = 0,

and the gap is n·(s − P) + g(P)/|∇g|. The last term is zero, but with it the gap does not change
with P to first order, so that whatever acts along the gap leaves the massless point alone. A
surface that is known by its g alone touches a plane where its normal is that of the plane.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import casadi as ca
from casadi import SX

from ...errors import ModelError
from ...numerics.tolerances import WELL_HELD
from ...vectors import normals
from ..bodies import Marker
from ..joints import Chain, Joint, Rows
from ..transitions import move
from .surfaces import Disc, Implicit, Plane, Point, Sphere, Surface, Torus, across, radial

if TYPE_CHECKING:
    from ..motion import Motion


@dataclass(frozen=True, eq=False)
class Contact:
    """Point and unit normal (from the base to the other surface) in the world, and the gap,
    negative where they overlap.

    The point is one of the base, or (``on_base`` is False) the opposite one of the surface.
    ``share`` is the rate of the gap for a unit of normal velocity at the point: one, unless the gap
    stands for several points.
    """

    point: SX
    normal: SX
    gap: SX
    on_base: bool = True
    share: SX | float = 1.0

    @property
    def middle(self) -> SX:
        """The point halfway between base and surface."""
        return self.point + (0.5 if self.on_base else -0.5) * self.gap * self.normal

    @property
    def tangents(self) -> tuple[SX, SX]:
        """Two unit vectors along the common tangent plane."""
        return normals(self.normal)


class SurfacePair(ABC):
    """A pair of simple surfaces, one on (or over) the other: its base."""

    def __init__(self, name: str, surface: Surface, base: Surface) -> None:
        self.name, self.surface, self.base = name, surface, base

    @abstractmethod
    def contact(self, m: Motion) -> Contact:
        """Where they touch, or are next to each other."""

    def pressing_contacts(self, m: Motion) -> Sequence[Contact]:
        """All contacts that press where surfaces give way."""
        return (self.contact(m),)

    switches: tuple[str, ...] = ("touching", "sticking")  # that a rigid contact here has

    def switched(self, m: Motion, switches: Sequence[SX]) -> Contact:
        """The contact, as the switches of a rigid contact are."""
        return self.contact(m)

    def level_rows(self, m: Motion) -> Rows:
        """Rows that hold a ring that lies flat; none, if it is no ring."""
        return []

    @property
    def radius(self) -> SX:
        """The radius of a ring; one, if it is no ring."""
        return SX(1)

    def rise(self, m: Motion) -> SX | None:
        """Height of the middle of a ring over its lowest point; None, if it is no ring."""
        return None

    def locating_rows(self, m: Motion) -> Rows:
        """Rows that hold the point of contact to its place, if it has coordinates of its own."""
        return []

    def chains(self) -> Sequence[Joint]:
        """Its point, if it wanders."""
        return ()

    def initial_points(self, m: Motion) -> Sequence[SX | None]:
        """Coordinates of each chain where its point is looked for first."""
        return ()

    def orientation_sign(self, m: Motion) -> Sequence[SX]:
        """What is positive at the point that is meant, where ``locating_rows`` also holds at
        others."""
        return ()

    def on_edge(self, m: Motion) -> Sequence[SX]:
        """Positive if a disc or torus is not lying flat: then it would have no one point of
        contact, to three digits."""
        if not self.surface.ring:
            return ()
        return (
            1
            - ca.dot(m.axis(self.surface.marker, "z"), self.contact(m).normal) ** 2
            - WELL_HELD**2,
        )

    def slip(self, m: Motion, contact: Contact) -> SX:
        """Velocity of the surface's material at the point of contact relative to that of the
        base."""
        return velocity_at(m, self.surface.marker, contact.point) - velocity_at(
            m, self.base.marker, contact.point
        )

    def spin(self, m: Motion, contact: Contact) -> SX:
        """Relative angular velocity about the normal."""
        turning = m.angular_velocity(self.surface.marker) - m.angular_velocity(self.base.marker)
        return ca.dot(contact.normal, turning)


class _OnPlane(SurfacePair):
    """A convex surface on a plane: its support point against the normal."""

    def contact(self, m: Motion) -> Contact:
        normal, point = (
            m.axis(self.base.marker, "z"),
            _support(m, self.surface, -m.axis(self.base.marker, "z")),
        )
        return Contact(
            point, normal, ca.dot(normal, point - m.position(self.base.marker)), on_base=False
        )


class RingOnPlane(_OnPlane):
    """A disc or a torus on a plane: on its lowest point, or, lying flat, on all of its ring."""

    switches = ("touching", "sticking", "flat")

    def switched(self, m: Motion, switches: Sequence[SX]) -> Contact:
        return self.lying(m, switches[2])

    @property
    def radius(self) -> SX:
        """The radius of the ring."""
        return self._ring.radius

    @property
    def _ring(self) -> Disc | Torus:
        assert isinstance(self.surface, (Disc, Torus))
        return self.surface

    def _down(self, m: Motion) -> SX:
        """In the axes of the ring."""
        return -m.rotation(self.surface.marker).T @ m.axis(self.base.marker, "z")

    def arm(self, m: Motion) -> SX:
        """From the middle of the ring to its lowest point; zero if there is none."""
        return self.radius * m.rotation(self.surface.marker) @ radial(self._down(m))

    def rise(self, m: Motion) -> SX:
        """Height of the middle of the ring over its lowest point: not by the arm, which turns fast
        where that is small."""
        return self.radius * across(self._down(m))

    def contact(self, m: Motion) -> Contact:
        return self.lying(m, SX(0))

    def lying(self, m: Motion, flat: SX) -> Contact:
        """The contact at the lowest point (``flat`` is 0), or at the middle of the ring (1)."""
        normal = m.axis(self.base.marker, "z")
        middle = m.position(self.surface.marker) - self._ring.tube * normal
        gap = ca.dot(normal, middle - m.position(self.base.marker)) - (1 - flat) * self.rise(m)
        return Contact(middle + (1 - flat) * self.arm(m), normal, gap, on_base=False)

    def level_rows(self, m: Motion) -> Rows:
        """Rows of a ring that lies flat; their multipliers are the moment of its pressure about the
        middle."""
        axis = m.axis(self.surface.marker, "z")
        return [
            (f"level {k}", ca.dot(t, axis)) for k, t in enumerate(self.contact(m).tangents, start=1)
        ]

    def pressing_contacts(self, m: Motion) -> Sequence[Contact]:
        """The lowest point, deep by δ, and from when the middle of the ring is deep by c > 0 the
        far side, by c²/δ.

        That is as deep as the lowest point where the ring lies flat, less by twice the rise b where
        it nearly does (as the opposite point is), and it joins both without a step: no matter which
        point is the lowest of a flat ring.
        """
        lowest, rise = self.contact(m), self.rise(m)
        middle = ca.fmax(0, -lowest.gap - rise)
        part = middle / (middle + rise)
        point = lowest.point - self.arm(m) * (1 + middle / (middle + 2 * rise))
        return lowest, replace(lowest, point=point, gap=-middle * part, share=part * (2 - part))


class _Ball(SurfacePair):
    """A sphere (or a point) on a surface that knows its point next to the centre."""

    def contact(self, m: Motion) -> Contact:
        R, origin = m.rotation(self.base.marker), m.position(self.base.marker)
        centre = R.T @ (m.position(self.surface.marker) - origin)
        found = self.base.nearest(centre)
        assert found is not None
        assert isinstance(self.surface, (Sphere, Point))
        point, normal = found
        return Contact(
            origin + R @ point, R @ normal, ca.dot(normal, centre - point) - self.surface.radius
        )


class _MovingPoint(SurfacePair):
    """A point with three coordinates on the body of ``host``, kept on it by g = 0."""

    host: Surface

    def chains(self) -> Sequence[Joint]:
        steps, marker = [move(axis, axis) for axis in "xyz"], self.host.marker
        placed = Marker(
            marker.name, marker.body, marker.at + marker.rotation @ self._start, marker.rotation
        )
        return (Joint(f"{self.name}.point", placed, placed, Chain(steps)),)

    @property
    def _start(self) -> SX:
        """Where the coordinates of the point are zero, in the axes of the host."""
        return self.host.near if isinstance(self.host, Implicit) else SX.zeros(3)

    def initial_points(self, m: Motion) -> Sequence[SX | None]:
        other = self.base if self.host is self.surface else self.surface
        beside = self.host.beside(m.position(other.marker, in_frame=self.host.marker))
        return (None if beside is None else beside - self._start,)

    def _point(self, m: Motion) -> tuple[SX, SX, SX]:
        """P in the world, g(P), and the unit outward normal there."""
        point, R = m.chain_end(self.chains()[0]), m.rotation(self.host.marker)
        local = R.T @ (point - m.position(self.host.marker))
        p = SX.sym("p", 3)
        g = self.host.level(p)
        assert g is not None
        value, slope = ca.substitute([g, ca.gradient(g, p)], [p], [local])
        return point, value / ca.norm_2(slope), R @ (slope / ca.norm_2(slope))


class _OnLevel(_MovingPoint):
    """A convex surface on g = 0."""

    def __init__(self, name: str, surface: Surface, base: Surface) -> None:
        super().__init__(name, surface, base)
        self.host = base

    def contact(self, m: Motion) -> Contact:
        point, level, normal = self._point(m)
        return Contact(
            point, normal, ca.dot(normal, _support(m, self.surface, -normal) - point) + level
        )

    def locating_rows(self, m: Motion) -> Rows:
        point, level, normal = self._point(m)
        t1, t2 = normals(normal)
        apart = _support(m, self.surface, -normal) - point
        return [
            ("on the base", level),
            ("beside 1", ca.dot(t1, apart)),
            ("beside 2", ca.dot(t2, apart)),
        ]

    def orientation_sign(self, m: Motion) -> Sequence[SX]:
        """The far side of the base has its normal away from the surface's centre."""
        if isinstance(self.surface, Point):
            return ()
        point, _, normal = self._point(m)
        return (ca.dot(normal, m.position(self.surface.marker) - point),)


class _LevelOnPlane(_MovingPoint):
    """A body whose surface is known by its g, on a plane: it touches where its normal is that of
    the plane."""

    def __init__(self, name: str, surface: Surface, base: Surface) -> None:
        super().__init__(name, surface, base)
        self.host = surface

    def contact(self, m: Motion) -> Contact:
        (point, level, _), normal = self._point(m), m.axis(self.base.marker, "z")
        return Contact(
            point,
            normal,
            ca.dot(normal, point - m.position(self.base.marker)) + level,
            on_base=False,
        )

    def locating_rows(self, m: Motion) -> Rows:
        _, level, normal = self._point(m)
        flat = [m.axis(self.base.marker, axis) for axis in "xy"]
        return [
            ("on the surface", level),
            *((f"tilt {k}", ca.dot(t, normal)) for k, t in enumerate(flat, start=1)),
        ]

    def orientation_sign(self, m: Motion) -> Sequence[SX]:
        """It touches with its lower side, not with its upper one."""
        return (-ca.dot(m.axis(self.base.marker, "z"), self._point(m)[2]),)


def surface_pairs(name: str, surface: Surface, base: Surface) -> list[SurfacePair]:
    """The pairs of simple surfaces of two surfaces, each with the way in which its point of contact
    is found."""
    for given in (surface, base):
        if not isinstance(given, Surface):
            raise ModelError(f"give a surface such as mg.Sphere(body, 0.1), got {given!r}")
    if surface.marker.body is base.marker.body:
        raise ModelError(f"both surfaces are on body {base.marker.body.name!r}")
    if surface.inside:
        raise ModelError("a hollow surface can only be the base: give what is inside of it first")
    pairs = [(a, b) for a in surface.parts() for b in base.faces()]
    names = [name] if len(pairs) == 1 else [f"{name} {k}" for k in range(1, len(pairs) + 1)]
    found = [_pair(own, a, b) for own, (a, b) in zip(names, pairs, strict=True)]
    if None in found:
        kinds = f"{type(surface).__name__} on {type(base).__name__}"
        raise ModelError(
            f"no way to find where a {kinds} touches; exchange them, or give the base as "
            "mg.Implicit"
        )
    return [pair for pair in found if pair is not None]


def _pair(name: str, surface: Surface, base: Surface) -> SurfacePair | None:
    probe, convex = SX.sym("probe", 3), surface.support(SX.sym("nu", 3)) is not None
    if isinstance(base, Plane) and convex:
        return (RingOnPlane if isinstance(surface, (Disc, Torus)) else _OnPlane)(
            name, surface, base
        )
    if isinstance(surface, (Sphere, Point)) and base.nearest(probe) is not None:
        return _Ball(name, surface, base)
    if convex and base.level(probe) is not None:
        return _OnLevel(name, surface, base)
    if isinstance(base, Plane) and isinstance(surface, Implicit):
        return _LevelOnPlane(name, surface, base)
    return None


def velocity_at(m: Motion, marker: Marker, point: SX) -> SX:
    """Velocity of the material of the marker's body at a point of the world."""
    return m.velocity(marker) + ca.cross(m.angular_velocity(marker), point - m.position(marker))


def _support(m: Motion, surface: Surface, direction: SX) -> SX:
    """Farthest point of a convex surface along a direction of the world."""
    R = m.rotation(surface.marker)
    found = surface.support(R.T @ direction)
    assert found is not None
    return m.position(surface.marker) + R @ found
