"""The points of all rigid contacts of a system, and what is to be known of them, as expressions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from casadi import SX

from ...model.contact.pairs import Contact, SurfacePair
from ...model.contact.rigid import PointRows, RigidContact
from ...model.contact.rolling import tangential

if TYPE_CHECKING:
    from ...equations import Equations


@dataclass(frozen=True)
class Point:
    """One point of contact: its law, the names of its switches, and its rows of A."""

    law: RigidContact
    name: str
    switches: list[str]
    rows: PointRows


def laws_of(equations: Equations) -> list[RigidContact]:
    """All rigid contacts of a system."""
    constraints = equations.system.constraints.values()
    return [law for law in constraints if isinstance(law, RigidContact)]


def points_of(equations: Equations) -> Iterator[Point]:
    """The points of all rigid contacts, with their rows."""
    rows, m = equations.terms.rows, equations.terms.chart.motion
    assert rows is not None
    for law in laws_of(equations):
        own = law.point_rows(m, rows.indices[law.name])
        for pair, each in zip(law.pairs, own, strict=True):
            yield Point(law, pair.name, law.switch_names(pair), each)


def weight(equations: Equations) -> float:
    """Of all bodies together (in an acceleration of one, without gravity)."""
    system = equations.system
    masses = system.default_value(ca.vertcat(*(body.mass for body in system.bodies.values())))
    return float(masses.sum()) * (
        float(np.linalg.norm(system.default_value(system.gravity))) or 1.0
    )


def _pairs(equations: Equations) -> list[tuple[SurfacePair, Contact]]:
    m = equations.terms.chart.motion
    return [found for law in laws_of(equations) for found in law.points(m)]


def _velocities(equations: Equations) -> list[tuple[SX, SX, SX, SX]]:
    """Of each point: gap, its rate, and the two components of the slip, as expressions."""
    m, out = equations.terms.chart.motion, []
    for pair, contact in _pairs(equations):
        slip = tangential(pair.slip(m, contact), contact)
        first, second = contact.tangents
        rate = equations.terms.chart.rate(contact.gap)
        out.append((contact.gap, rate, ca.dot(first, slip), ca.dot(second, slip)))
    return out


def quantities(equations: Equations, points: list[Point]) -> list[SX]:
    """Of all points: gaps, their rates, normal forces, sizes of tangential forces, slip speeds."""
    velocities, lam = _velocities(equations), equations.numeric.closed.lam
    gaps, rates = (ca.vertcat(*(v[k] for v in velocities)) for k in (0, 1))
    slips = ca.vertcat(*(ca.sqrt(v[2] ** 2 + v[3] ** 2) for v in velocities))
    normal = ca.vertcat(*(lam[point.rows.gap] for point in points))
    stuck = ca.vertcat(
        *(ca.norm_2(lam[list(point.rows.slip)]) if point.rows.slip else SX(0) for point in points)
    )
    return [gaps, rates, normal, stuck, slips]


def ring_quantities(equations: Equations, points: list[Point]) -> list[SX]:
    """Of all points: radius of the ring, moment of its pressure, its rise with two derivatives;
    ones if it is no ring."""
    found = (
        _ring(equations, pair, point)
        for (pair, _), point in zip(_pairs(equations), points, strict=True)
    )
    return ca.horzsplit(ca.horzcat(*found).T)


def _ring(equations: Equations, pair: SurfacePair, point: Point) -> SX:
    chart, closed = equations.terms.chart, equations.numeric.closed
    rise = pair.rise(chart.motion)
    if rise is None:
        return SX.ones(5)
    moment = ca.norm_2(closed.lam[list(point.rows.level)])
    rate = chart.rate(rise)
    change = chart.rate(rate) + ca.jtimes(rate, chart.symbols.u, closed.udot)
    return ca.vertcat(pair.radius, moment, rise, rate, change)


def impulse_terms(equations: Equations, points: list[Point]) -> list[SX]:
    """M, the rows of A that are not of contacts, the twists (velocity, rotation) of all points as
    rows, their values."""
    own = {row for point in points for row in (point.rows.gap, *point.rows.slip, *point.rows.level)}
    others = [row for row in range(len(equations.constraints)) if row not in own]
    m, twists = equations.terms.chart.motion, []
    for (pair, contact), velocity in zip(_pairs(equations), _velocities(equations), strict=True):
        axes = ca.horzcat(contact.normal, *contact.tangents)
        turning = m.angular_velocity(pair.surface.marker) - m.angular_velocity(pair.base.marker)
        twists.append(ca.vertcat(*velocity[1:], axes.T @ turning))
    twist = ca.vertcat(*twists)
    return [
        equations.terms.M,
        equations.terms.A[others, :],
        ca.jacobian(twist, equations.terms.symbols.u),
        twist,
    ]
