"""The points of all rigid contacts of a system, and what is to be known of them, as expressions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from casadi import SX

from ...model.contact.contacts import RigidContact
from ...model.contact.rolling import tangential
from ...model.contact.touching import Contact, RingOnPlane, Touching

if TYPE_CHECKING:
    from ...equations import Equations


@dataclass(frozen=True)
class Point:
    """One point of contact: its law, the names of its switches, and its rows of A."""

    law: RigidContact
    switches: list[str]
    gap_row: int
    slip_rows: list[int]
    level_rows: list[int]


def points_of(equations: Equations) -> Iterator[Point]:
    """The points of all rigid contacts, with their rows."""
    names = {name: k for k, name in enumerate(equations.constraints)}
    for law in equations.system.constraints.values():
        if isinstance(law, RigidContact):
            for pair in law.pairs:
                prefix = f"{law.name}: " if len(law.pairs) == 1 else f"{law.name}: {pair.name}, "
                slip = [names[f"{prefix}slip {k}"] for k in (1, 2)] if law.static else []
                level = (
                    [names[f"{prefix}level {k}"] for k in (1, 2)]
                    if isinstance(pair, RingOnPlane)
                    else []
                )
                yield Point(law, law.switch_names(pair), names[f"{prefix}gap"], slip, level)


def weight(equations: Equations) -> float:
    """Of all bodies together (in an acceleration of one, without gravity)."""
    system = equations.system
    masses = system.default_value(ca.vertcat(*(body.mass for body in system.bodies.values())))
    return float(masses.sum()) * (
        float(np.linalg.norm(system.default_value(system.gravity))) or 1.0
    )


def _pairs(equations: Equations) -> list[tuple[Touching, Contact]]:
    m, laws = equations.terms.chart.motion, equations.system.constraints.values()
    return [found for law in laws if isinstance(law, RigidContact) for found in law.touching(m)]


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
    normal = ca.vertcat(*(lam[point.gap_row] for point in points))
    stuck = ca.vertcat(
        *(ca.norm_2(lam[point.slip_rows]) if point.slip_rows else SX(0) for point in points)
    )
    return [gaps, rates, normal, stuck, slips]


def ring_quantities(equations: Equations, points: list[Point]) -> list[SX]:
    """Of all points: radius of the ring, moment of its pressure, its rise with two derivatives;
    ones if it is none."""
    m, out = equations.terms.chart.motion, []
    for (pair, _), point in zip(_pairs(equations), points, strict=True):
        if isinstance(pair, RingOnPlane):
            rise, moment = pair.rise(m), ca.norm_2(equations.numeric.closed.lam[point.level_rows])
            rate = equations.terms.chart.rate(rise)
            change = equations.terms.chart.rate(rate) + ca.jtimes(
                rate, equations.terms.symbols.u, equations.numeric.closed.udot
            )
            out.append(ca.vertcat(pair.radius, moment, rise, rate, change))
        else:
            out.append(SX.ones(5))
    return ca.horzsplit(ca.horzcat(*out).T)


def impulse_terms(equations: Equations, points: list[Point]) -> list[SX]:
    """M, the rows of A that are not of contacts, the twists (velocity, rotation) of all points as
    rows, their values."""
    own = {row for point in points for row in (point.gap_row, *point.slip_rows, *point.level_rows)}
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
