"""Curves r(s) to guide points along: ``mg.curves``. Plane ones are in the plane z = 0."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from scipy.interpolate import CubicSpline

from ...arguments import flag
from ...errors import ModelError, shown
from ...vectors import NOT_AN_EXPRESSION, column, scalar
from ..described import Described
from ..fields import CurveFunction, Number, Vector
from ..parameter_checks import Limit

SAMPLES = 96  # of a curve, among which a point on it is looked for first


class Curve(Described):
    """The curve r(s) of a ``function`` of s that returns x, y and z, written with ``mg.sin`` and so
    on; ``span`` is the range of s that points are looked for in (they may leave it)."""

    limits: Sequence[Limit] = ()

    def __init__(self, function: CurveFunction, span: Vector = (-np.pi, np.pi)) -> None:
        if not callable(function):
            raise ModelError(
                "function must be one of the curve's parameter, such as lambda s: (s, s**2, 0), "
                f"got {shown(function)}"
            )
        self.function, self.span = function, _span(span)

    def at(self, s: SX) -> SX:
        """r(s)."""
        return column(self.function(s), 3, "curve")

    def nearest(self, point: SX) -> SX:
        """The parameter of that of some points of the curve which is next to a place."""
        samples = [float(x) for x in np.linspace(*self.span, SAMPLES)]
        best, least = SX(samples[0]), ca.sumsqr(point - self.at(SX(samples[0])))
        for s in samples[1:]:
            apart = ca.sumsqr(point - self.at(SX(s)))
            best, least = ca.if_else(apart < least, s, best), ca.fmin(apart, least)
        return best


class Circle(Curve):
    """radius (cos s, sin s, 0)."""

    def __init__(self, radius: Number) -> None:
        self.radius, self.span = scalar(radius, "radius"), (-np.pi, np.pi)
        self.limits = [Limit("radius", self.radius)]

    def at(self, s: SX) -> SX:
        return self.radius * ca.vertcat(ca.cos(s), ca.sin(s), 0)


class Astroid(Circle):
    """radius (cos³ s, sin³ s, 0), with cusps at whole quarters of s, where a guided point has no
    direction to go."""

    def at(self, s: SX) -> SX:
        return self.radius * ca.vertcat(ca.cos(s) ** 3, ca.sin(s) ** 3, 0)


class Cycloid(Circle):
    """radius (s + sin s, 1 − cos s, 0): its lowest point at s = 0, cusps at s = ±π."""

    def at(self, s: SX) -> SX:
        return self.radius * ca.vertcat(s + ca.sin(s), 1 - ca.cos(s), 0)


class Rose(Circle):
    """radius cos(petals s) (cos s, sin s, 0)."""

    def __init__(self, radius: Number, petals: Number) -> None:
        super().__init__(radius)
        self.petals = scalar(petals, "petals")
        self.limits = [*self.limits, Limit("petals", self.petals)]

    def at(self, s: SX) -> SX:
        return self.radius * ca.cos(self.petals * s) * ca.vertcat(ca.cos(s), ca.sin(s), 0)


class Helix(Circle):
    """(radius cos s, radius sin s, pitch s), with ``pitch`` in metres for each radian."""

    def __init__(self, radius: Number, pitch: Number) -> None:
        super().__init__(radius)
        self.pitch, self.span = scalar(pitch, "pitch"), (-6 * np.pi, 6 * np.pi)

    def at(self, s: SX) -> SX:
        return ca.vertcat(self.radius * ca.cos(s), self.radius * ca.sin(s), self.pitch * s)


class Through(Curve):
    """The smooth curve through a table of ``points`` (x, y) or (x, y, z), four or more: r(k) is
    number k of them, from 0 on, with cubics between; ``closed`` if it goes on from the last to the
    first one. Beyond its ends an open one goes on with the last cubics."""

    def __init__(self, points: Any, closed: bool = False) -> None:
        try:
            table = np.array(points, dtype=float)
        except (TypeError, ValueError, RuntimeError):
            table = np.zeros(0)
        if table.ndim != 2 or table.shape[1] not in (2, 3) or not np.isfinite(table).all():
            raise ModelError(f"points must be rows of two or three numbers, got {shown(points)}")
        if len(table) < 4 or not np.diff(table, axis=0).any(axis=1).all():
            raise ModelError("points must be four or more, each another than the one before it")
        self.closed = flag("closed", closed, ModelError)
        table = np.column_stack([table, np.zeros((len(table), 3 - table.shape[1]))])
        if self.closed:
            table = np.vstack([table, table[0]])
        ends = "periodic" if self.closed else "natural"
        self.cubics = CubicSpline(np.arange(len(table)), table, bc_type=ends).c
        self.span = (0.0, float(len(table) - 1))

    def at(self, s: SX) -> SX:
        count = self.cubics.shape[1]
        if self.closed:
            s = s - count * ca.floor(s / count)
        piece = ca.fmin(ca.fmax(ca.floor(s), 0), count - 1)
        chosen = [piece == k for k in range(count)]
        x, out = s - piece, SX.zeros(3)
        for cubic in self.cubics:  # from the highest power on
            out = out * x + sum((c * SX(row) for c, row in zip(chosen, cubic, strict=True)), SX(0))
        return out


def _span(value: Any) -> tuple[float, float]:
    try:
        low, high = (float(x) for x in value)
    except (ValueError, OverflowError, *NOT_AN_EXPRESSION):
        raise ModelError(f"span must be two numbers, got {shown(value)}") from None
    if not low < high:
        raise ModelError(f"span must be from the smaller to the larger, got {low:g} to {high:g}")
    return low, high
