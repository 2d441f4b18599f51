"""Rigid bodies and the markers (named frames) on them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..errors import ModelError
from ..vectors import column, matrix3, traced


@dataclass(frozen=True, eq=False)
class Body:
    """A rigid body: mass, centre of mass and central inertia, the last two in the body's own frame.

    A body without mass is a frame: it carries joints and markers and no inertia.
    """

    name: str
    mass: SX = field(default_factory=lambda: SX(0))
    com: SX = field(default_factory=lambda: SX.zeros(3))
    inertia: SX = field(default_factory=lambda: SX.zeros(3, 3))

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
        """True if the body has neither mass nor inertia."""
        return bool(self.mass.is_zero() and self.inertia.is_zero())


@dataclass(frozen=True, eq=False)
class Marker:
    """A named frame fixed on a body: origin ``at`` and axes ``rotation``, in the body's frame."""

    name: str
    body: Body
    at: SX
    rotation: SX


def marker_on(place: Body | Marker) -> Marker:
    """The marker itself, or the frame of a body as a marker."""
    if isinstance(place, Marker):
        return place
    if not isinstance(place, Body):
        raise ModelError(f"expected a body or marker of the system, got {place!r}")
    return Marker(place.name, place, SX.zeros(3), SX.eye(3))


def read_inertia(value: Any, about: str, mass: SX, com: SX) -> SX:
    """The central inertia matrix from 0, three numbers (diagonal), six (xx yy zz xy xz yz) or 3x3.

    ``about`` is ``"com"`` or ``"origin"``; products are entries of the matrix.
    """
    if about not in ("com", "origin"):
        raise ModelError(f"inertia_about must be 'com' or 'origin', got {about!r}")
    result = _inertia_matrix(value)
    return result - mass * _steiner(com) if about == "origin" else result


def _inertia_matrix(value: Any) -> SX:
    if isinstance(value, (int, float, np.number)) and value == 0:
        return SX.zeros(3, 3)
    count = (
        value.numel() if isinstance(value, (SX, ca.DM)) else len(value) if isinstance(value, (list, tuple, np.ndarray)) else 0
    )
    if count == 9 or (count == 3 and isinstance(value[0], (list, tuple, np.ndarray))):
        return matrix3(value, "inertia")
    if count == 3:
        return ca.densify(ca.diag(column(value, 3, "inertia")))
    if count == 6:
        xx, yy, zz, xy, xz, yz = (column(value, 6, "inertia")[i] for i in range(6))
        return ca.vertcat(ca.horzcat(xx, xy, xz), ca.horzcat(xy, yy, yz), ca.horzcat(xz, yz, zz))
    raise ModelError(
        f"inertia must be 3 numbers (diagonal), 6 (xx yy zz xy xz yz), a 3x3 matrix, or 0 for a point mass, got {value!r}"
    )


def _steiner(c: SX) -> SX:
    return ca.dot(c, c) * SX.eye(3) - c @ c.T


@traced
def _about_origin(m: SX, c: SX, inertia: SX) -> SX:
    return inertia + m * _steiner(c)
