"""Surfaces that roll, slide and touch. Each sits on a marker and is described in its axes; what is
round is round about z.

A surface says what it knows of itself, in closed form where there is one:

- ``support(ν)``: the point of a convex surface that lies farthest along the unit vector ν;
- ``nearest(c)``: the point of it next to c, and its outward normal there;
- ``level(p)``: a function g that is negative inside, zero on the surface and positive outside.

``touching.py`` finds the point of contact of two surfaces from these. A surface with corners or
edges touches others in several points: ``parts`` are the simple surfaces that it stands for there.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ...arguments import flag
from ...errors import ModelError, blamed, shown
from ...graph.expressions import has_nan
from ...vectors import NO_NUMBER, column, scalar
from ..bodies import Body, Marker, Place, marker_on
from ..described import Described
from ..fields import Number, PointFunction, Vector
from ..parameter_checks import Limit

NOWHERE = 1e-20  # a length beside which all others are long, where a direction has to be made up


class Surface(Described):
    """A surface on a body, at a marker; one that is given by name is looked up where the surface is
    used."""

    def __init__(self, at: Place) -> None:
        if not isinstance(at, (Body, Marker, str)):
            raise ModelError(f"{type(self).__name__} sits on a body or a marker, got {shown(at)}")
        self._at = at
        self.limits: list[Limit] = []

    @property
    def marker(self) -> Marker:
        """Where it sits."""
        if isinstance(self._at, str):
            raise ModelError(
                f"{type(self).__name__} on {self._at!r}: a name is known in the words of a system "
                "only; give the body or marker itself"
            )
        return marker_on(self._at)

    inside: bool = False  # True if what touches it is inside of it
    ring: bool = False  # True if it has no one lowest point where its z axis is upright

    def _length(self, value: Any, what: str) -> SX:
        """A number that must be positive."""
        self.limits.append(Limit(what, scalar(value, what)))
        return self.limits[-1].value

    def parts(self) -> Sequence[Surface]:
        """The simple surfaces that touch another one by one."""
        return (self,)

    def faces(self) -> Sequence[Surface]:
        """The simple surfaces that others touch: its parts, unless it can do better."""
        return self.parts()

    def support(self, nu: SX) -> SX | None:
        """Farthest point along the unit vector ν; None if the surface does not know it."""
        return None

    def nearest(self, c: SX) -> tuple[SX, SX] | None:
        """Nearest point to c and outward normal there; None if there is no closed form."""
        return None

    def level(self, p: SX) -> SX | None:
        """g(p), positive outside; None if the surface has no such form."""
        return None

    def beside(self, c: SX) -> SX | None:
        """A point of it near c, where a search for points of contact may begin; None if it knows
        none."""
        found = self.nearest(c)
        return None if found is None else found[0]


class Point(Surface):
    """The marker's origin itself: a tip, a corner. A sphere of radius zero."""

    radius = SX(0)

    def support(self, nu: SX) -> SX:
        return SX.zeros(3)


class Plane(Surface):
    """The plane z = 0; outside is where z > 0."""

    def nearest(self, c: SX) -> tuple[SX, SX]:
        return ca.vertcat(c[0], c[1], 0), SX([0, 0, 1])

    def level(self, p: SX) -> SX:
        return p[2]


class _Round(Surface):
    """Surfaces with a radius; with ``inside``, what touches them is inside of them."""

    def __init__(self, at: Place, radius: Number, inside: bool = False) -> None:
        super().__init__(at)
        self.radius = self._length(radius, "radius")
        self.inside = flag("inside", inside, ModelError)

    def _around(self, centre: SX, c: SX, radius: SX) -> tuple[SX, SX]:
        """Nearest point and normal of a ball (or the wall of a hollow one) about ``centre``."""
        # in the very middle all normals are equal, but there has to be one
        apart = c - centre + SX([NOWHERE, 0, 0])
        normal = apart / ca.norm_2(apart)
        return centre + radius * normal, -normal if self.inside else normal


class Sphere(_Round):
    """A sphere about the marker's origin."""

    def support(self, nu: SX) -> SX:
        return self.radius * nu

    def nearest(self, c: SX) -> tuple[SX, SX]:
        return self._around(SX.zeros(3), c, self.radius)

    def level(self, p: SX) -> SX:
        return _outward(self, (ca.dot(p, p) - self.radius**2) / (2 * self.radius))


class Ellipsoid(Surface):
    """x²/a² + y²/b² + z²/c² = 1."""

    def __init__(self, at: Place, semiaxes: Vector) -> None:
        super().__init__(at)
        self.semiaxes = ca.vertcat(
            *(
                self._length(length, "semiaxes")
                for length in ca.vertsplit(column(semiaxes, 3, "semiaxes"))
            )
        )

    def support(self, nu: SX) -> SX:
        squares = self.semiaxes**2
        return squares * nu / ca.sqrt(ca.dot(squares, nu**2))

    def level(self, p: SX) -> SX:
        return (ca.sumsqr(p / self.semiaxes) - 1) / 2

    def beside(self, c: SX) -> SX:
        return c / ca.norm_2(c / self.semiaxes)


class Disc(_Round):
    """The edge of a thin disc: a circle about z. Lying flat it has no one lowest point; its centre
    stands for all of them."""

    ring = True
    tube = SX(0)

    def support(self, nu: SX) -> SX:
        return self.radius * radial(nu)


class Torus(_Round):
    """A tube of radius ``tube`` about a circle of ``radius`` about z; with ``inside``, a groove."""

    ring = True

    def __init__(self, at: Place, radius: Number, tube: Number, inside: bool = False) -> None:
        super().__init__(at, radius, inside)
        self.tube = self._length(tube, "tube")

    def support(self, nu: SX) -> SX:
        return self.radius * radial(nu) + self.tube * nu

    def nearest(self, c: SX) -> tuple[SX, SX]:
        return self._around(self.radius * radial(c), c, self.tube)

    def level(self, p: SX) -> SX:
        from_ring = p - self.radius * radial(p)
        return _outward(self, (ca.dot(from_ring, from_ring) - self.tube**2) / (2 * self.tube))


class Roller(_Round):
    """A barrel: an arc of radius ``arc`` turned about z, of ``radius`` at its waist. Its ends are
    not modelled.

    It is the outer part of a spindle torus: a ring of radius −(arc − radius) and a tube of radius
    ``arc``.
    """

    ring = True

    def __init__(self, at: Place, radius: Number, arc: Number) -> None:
        super().__init__(at, radius)
        self.arc = self._length(arc, "arc")

    def support(self, nu: SX) -> SX:
        return (self.radius - self.arc) * radial(nu) + self.arc * nu


class Cylinder(_Round):
    """A cylinder about z. Of a ``length``, it stands on the edges of its ends; without, it goes on
    for ever (as a base)."""

    def __init__(
        self, at: Place, radius: Number, length: Number | None = None, inside: bool = False
    ) -> None:
        super().__init__(at, radius, inside)
        self.length = None if length is None else self._length(length, "length")

    def parts(self) -> Sequence[Surface]:
        if self.length is None:
            return (self,)
        return [
            Disc(_shifted(self.marker, SX([0, 0, side]) * self.length / 2), self.radius)
            for side in (-1, 1)
        ]

    def nearest(self, c: SX) -> tuple[SX, SX]:
        return self._around(ca.vertcat(0, 0, c[2]), c, self.radius)

    def level(self, p: SX) -> SX:
        return _outward(self, (ca.sumsqr(p[:2]) - self.radius**2) / (2 * self.radius))


class Capsule(_Round):
    """A cylinder about z between two half spheres, whose centres are ``length`` apart. It touches
    others with its two ends."""

    def __init__(self, at: Place, radius: Number, length: Number) -> None:
        super().__init__(at, radius)
        self.length = self._length(length, "length")

    def parts(self) -> Sequence[Surface]:
        return [
            Sphere(_shifted(self.marker, SX([0, 0, side]) * self.length / 2), self.radius)
            for side in (-1, 1)
        ]

    def faces(self) -> Sequence[Surface]:
        return (self,)

    def nearest(self, c: SX) -> tuple[SX, SX]:
        return self._around(self._middle(c), c, self.radius)

    def level(self, p: SX) -> SX:
        return (ca.sumsqr(p - self._middle(p)) - self.radius**2) / (2 * self.radius)

    def _middle(self, c: SX) -> SX:
        """The point of the axis next to c."""
        return ca.vertcat(0, 0, ca.fmin(ca.fmax(c[2], -self.length / 2), self.length / 2))


class Box(Surface):
    """A box of edges ``sides``, which touches with its eight corners."""

    def __init__(self, at: Place, sides: Vector) -> None:
        super().__init__(at)
        self.sides = ca.vertcat(
            *(self._length(length, "sides") for length in ca.vertsplit(column(sides, 3, "sides")))
        )

    def parts(self) -> Sequence[Surface]:
        return [
            Point(_shifted(self.marker, SX(list(corner)) * self.sides / 2))
            for corner in product((-1, 1), repeat=3)
        ]


class Implicit(Surface):
    """The user's surface g(x, y, z) = 0, with g > 0 outside. ``near`` is a point from which its
    points of contact are sought.

    >>> from mechgraph.model.bodies import Body
    >>> saddle = Implicit(Body("ground"), lambda x, y, z: z - 0.1 * (x**2 - y**2))
    """

    def __init__(self, at: Place, g: PointFunction, near: Vector = (0, 0, 0)) -> None:
        super().__init__(at)
        self.g, self.near = g, column(near, 3, "near")
        if not callable(g):
            raise ModelError(f"g must be a function of x, y, z, got {g!r}")
        self._probe()

    def level(self, p: SX) -> SX:
        with blamed("g(x, y, z)"):
            return scalar(self.g(p[0], p[1], p[2]), "it")

    def _probe(self) -> None:
        """Refuse a g without a number or a slope where points of contact are sought."""
        p = SX.sym("p", 3)
        level = self.level(p)
        if has_nan(level):
            raise ModelError(f"g(x, y, z) {NO_NUMBER}")
        slope = ca.substitute(ca.gradient(level, p), p, self.near)
        if slope.is_constant() and not np.any(np.array(ca.DM(slope))):
            raise ModelError(
                "g(x, y, z) has no slope at near, so no normal there; give another near, or "
                "another g"
            )

    def beside(self, c: SX) -> SX:
        return self.near


SURFACES: dict[str, type[Surface]] = {
    kind.__name__: kind
    for kind in (
        Point,
        Plane,
        Sphere,
        Ellipsoid,
        Disc,
        Torus,
        Roller,
        Cylinder,
        Capsule,
        Box,
        Implicit,
    )
}


def _outward(surface: _Round, level: SX) -> SX:
    return -level if surface.inside else level


def radial(v: SX) -> SX:
    """The unit vector along the part of v that is normal to z; zero for a v along z, which has
    none."""
    return ca.vertcat(v[0], v[1], 0) / across(v)


def across(v: SX) -> SX:
    """The length of the part of v that is normal to z; never quite zero."""
    return ca.sqrt(v[0] ** 2 + v[1] ** 2 + NOWHERE**2)


def _shifted(marker: Marker, by: SX) -> Marker:
    return Marker(marker.name, marker, by)
