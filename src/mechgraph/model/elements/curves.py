"""Curves r(s) to guide points along: ``mg.curves``. Plane ones are in the plane z = 0."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ...errors import ModelError, shown
from ...vectors import column, scalar
from ..described import Described
from ..limits import Limit

SAMPLES = 96  # of a curve, among which a point on it is looked for first


class Curve(Described):
    """The curve r(s) of a ``function`` of s that returns x, y and z, written with ``mg.sin`` and so
    on; ``span`` is the range of s that points are looked for in (they may leave it)."""

    limits: Sequence[Limit] = ()

    def __init__(
        self, function: Callable[[SX], Any], span: tuple[float, float] = (-np.pi, np.pi)
    ) -> None:
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

    def __init__(self, radius: Any) -> None:
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

    def __init__(self, radius: Any, petals: Any) -> None:
        super().__init__(radius)
        self.petals = scalar(petals, "petals")
        self.limits = [*self.limits, Limit("petals", self.petals)]

    def at(self, s: SX) -> SX:
        return self.radius * ca.cos(self.petals * s) * ca.vertcat(ca.cos(s), ca.sin(s), 0)


class Helix(Circle):
    """(radius cos s, radius sin s, pitch s), with ``pitch`` in metres for each radian."""

    def __init__(self, radius: Any, pitch: Any) -> None:
        super().__init__(radius)
        self.pitch, self.span = scalar(pitch, "pitch"), (-6 * np.pi, 6 * np.pi)

    def at(self, s: SX) -> SX:
        return ca.vertcat(self.radius * ca.cos(s), self.radius * ca.sin(s), self.pitch * s)


def _span(value: Any) -> tuple[float, float]:
    try:
        low, high = (float(x) for x in value)
    except (TypeError, ValueError):
        raise ModelError(f"span must be two numbers, got {shown(value)}") from None
    if not low < high:
        raise ModelError(f"span must be from the smaller to the larger, got {low:g} to {high:g}")
    return low, high
