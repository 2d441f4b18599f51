"""Rigid bodies and the markers (named frames) on them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, ClassVar, TypeAlias

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import choice, flag, name_of
from ..errors import ModelError
from ..vectors import column, composed, matrix3, scalar, shifted, traced
from ..vectors import orientation as read_orientation
from .described import Described
from .fields import Field, Number, Orientation, Vector

ORIGIN = (0, 0, 0)


class Massive:
    """Mass, centre of mass and central inertia, the last two along the axes of one frame."""

    mass: SX
    com: SX
    inertia: SX

    @cached_property
    def first_moment(self) -> SX:
        """m c."""
        return self.mass * self.com

    @cached_property
    def inertia_at_origin(self) -> SX:
        """Θ = I + m (|c|² 1 − c cᵀ)."""
        return _about_origin(self.mass, self.com, self.inertia)

    @property
    def weightless(self) -> bool:
        """True if there is neither mass nor inertia."""
        return bool(self.mass.is_zero() and self.inertia.is_zero())


@dataclass(frozen=True, eq=False)
class MassProperties(Massive):
    """Mass properties of a body, seen from another frame that it is fixed in."""

    mass: SX
    com: SX
    inertia: SX


class Body(Described, Massive):
    """A rigid body: mass, centre of mass and central inertia, the last two in the body's own frame.

    A body without mass is a frame: it carries joints and markers and no inertia.
    """

    field: ClassVar[Field] = Field("place")

    def __init__(
        self,
        name: str,
        mass: Number = 0,
        com: Vector = (0, 0, 0),
        inertia: Any = 0,
        inertia_about: str = "com",
        allow_unphysical: bool = False,
    ) -> None:
        self.name = name_of("body", name)
        self.allow_unphysical = flag("allow_unphysical", allow_unphysical, ModelError)
        self.mass, self.com = scalar(mass, "mass"), column(com, 3, "com")
        self.inertia = read_inertia(inertia, inertia_about, self.mass, self.com)

    @cached_property
    def marker(self) -> Marker:
        """Its own frame."""
        return Marker(self.name, self)


class Marker(Described):
    """A named frame fixed on a body, or on another marker: origin ``at``, axes ``orientation``.

    ``body`` is the body that carries it; ``at`` and ``rotation`` are its place in that body's
    frame.
    """

    field: ClassVar[Field] = Field("place")

    def __init__(
        self, name: str, on: Body | Marker, at: Vector = (0, 0, 0), orientation: Orientation = None
    ) -> None:
        if not isinstance(on, (Body, Marker)):
            raise ModelError(f"expected a body or marker of the system, got {on!r}")
        self.name = name_of("marker", name)
        origin, rotation = column(at, 3, "at"), read_orientation(orientation)
        if isinstance(on, Body):
            self.body, self.at, self.rotation = on, origin, rotation
        else:
            self.body = on.body
            self.at = shifted(on.at, on.rotation, origin)
            self.rotation = composed(on.rotation, rotation)


Place: TypeAlias = Annotated[Body | Marker | str, Field("place")]
"""A body or a marker; in calls of a system and in files also the name of one."""


def marker_on(place: Place) -> Marker:
    """The marker itself, or the frame of a body as a marker."""
    if isinstance(place, Marker):
        return place
    if not isinstance(place, Body):
        raise ModelError(f"expected a body or marker of the system, got {place!r}")
    return place.marker


def read_inertia(value: Any, about: str, mass: SX, com: SX) -> SX:
    """The central inertia matrix from 0, three numbers (diagonal), six (xx yy zz xy xz yz) or 3x3.

    ``about`` is ``"com"`` or ``"origin"``; products are entries of the matrix.
    """
    choice("inertia_about", about, ("com", "origin"), ModelError)
    result = _inertia_matrix(value)
    return result - mass * _steiner(com) if about == "origin" else result


def _inertia_matrix(value: Any) -> SX:
    if isinstance(value, (int, float, np.number)) and value == 0:
        return SX.zeros(3, 3)
    count = (
        value.numel()
        if isinstance(value, (SX, ca.DM))
        else len(value)
        if isinstance(value, (list, tuple, np.ndarray))
        else 0
    )
    if count == 9 or (count == 3 and isinstance(value[0], (list, tuple, np.ndarray))):
        return matrix3(value, "inertia")
    if count == 3:
        return ca.densify(ca.diag(column(value, 3, "inertia")))
    if count == 6:
        xx, yy, zz, xy, xz, yz = (column(value, 6, "inertia")[i] for i in range(6))
        return ca.vertcat(ca.horzcat(xx, xy, xz), ca.horzcat(xy, yy, yz), ca.horzcat(xz, yz, zz))
    raise ModelError(
        "inertia must be 3 numbers (diagonal), 6 (xx yy zz xy xz yz), a 3x3 matrix, or 0 for a "
        f"point mass, got {value!r}"
    )


def _steiner(c: SX) -> SX:
    return ca.dot(c, c) * SX.eye(3) - c @ c.T


@traced
def _about_origin(m: SX, c: SX, inertia: SX) -> SX:
    return inertia + m * _steiner(c)
