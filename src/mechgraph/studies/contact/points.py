"""The points of all rigid contacts of a system, and what is to be known of them, as expressions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from casadi import SX

from ...closures.expressions import least_norm
from ...errors import ModelError
from ...model.contact.pairs import Contact, SurfacePair
from ...model.contact.rigid import PointRows, RigidContact

if TYPE_CHECKING:
    from ...equations import Equations


@dataclass(frozen=True)
class Point:
    """One point of contact: its law, the names of its switches and of its heading, and its rows of
    A."""

    law: RigidContact
    name: str
    switches: list[str]
    headings: list[str]
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
            headings = law.heading_names(pair) if law.headings else []
            yield Point(law, pair.name, law.switch_names(pair), headings, each)


def gravity(equations: Equations) -> float:
    """How large it is; one, without any."""
    system = equations.system
    return float(np.linalg.norm(system.default_value(system.gravity))) or 1.0


def weight(equations: Equations) -> float:
    """Of all bodies together."""
    system = equations.system
    masses = system.default_value(ca.vertcat(*(body.mass for body in system.bodies.values())))
    return float(masses.sum()) * gravity(equations)


LAW = ("restitution", "tangential", "friction", "static", "regularization", "resting")


def values(
    equations: Equations, points: list[Point], parameters: Mapping[str, float]
) -> np.ndarray:
    """The numbers of the laws (rows in the order of ``LAW``) of all points (columns)."""
    symbols, out = equations.terms.symbols, []
    for law in {point.law.name: point.law for point in points}.values():
        numbers = ca.vertcat(*(getattr(law, what) for what in LAW))
        own = {symbol.__hash__() for symbol in ca.vertsplit(symbols.p)}
        if not own.issuperset(symbol.__hash__() for symbol in ca.symvar(numbers)):
            raise ModelError(
                f"rigid contact {law.name!r}: {', '.join(LAW)} may depend on parameters only"
            )
        found = ca.Function("law", [symbols.p], [numbers])(list(parameters.values()))
        out += [np.array(found).ravel()] * len(law.pairs)
    return np.array(out).reshape(-1, len(LAW)).T


def _pairs(equations: Equations) -> list[tuple[SurfacePair, Contact]]:
    m = equations.terms.chart.motion
    return [found for law in laws_of(equations) for found in law.points(m)]


def forces(equations: Equations, points: list[Point]) -> SX:
    """λ, with those of contacts shared among their rows by least norm: by rounding they are shared
    in any other way, too, to no effect."""
    lam = SX(equations.numeric.closed.lam)
    own = [r for point in points for r in (point.rows.gap, *point.rows.slip, *point.rows.level)]
    lam[own] = least_norm(equations.terms.G[own, :], lam[own])
    return lam


def quantities(equations: Equations, points: list[Point]) -> list[SX]:
    """Of all points: gaps, their rates, normal forces, sizes of tangential forces, of slips with
    their heading, w, and of the tangential forces of all points of the same pair together."""
    lam, chart = forces(equations, points), equations.terms.chart
    gaps = ca.vertcat(*(contact.gap for _, contact in _pairs(equations)))
    rates = ca.vertcat(*(chart.rate(gap) for gap in ca.vertsplit(gaps)))
    slips = ca.vertcat(
        *(
            law.headed(chart.motion, k, contact)[1]
            for law in laws_of(equations)
            for k, (_, contact) in enumerate(law.points(chart.motion))
        )
    )
    normal = ca.vertcat(*(lam[point.rows.gap] for point in points))
    stuck = ca.vertcat(
        *(ca.norm_2(lam[list(point.rows.slip)]) if point.rows.slip else SX(0) for point in points)
    )
    return [gaps, rates, normal, stuck, slips, _together(equations, points, lam)]


def _together(equations: Equations, points: list[Point], lam: SX) -> SX:
    total: dict[str, SX] = {}
    for (_, contact), point in zip(_pairs(equations), points, strict=True):
        force = total.setdefault(point.law.name, SX.zeros(3))
        for row, tangent in zip(point.rows.slip, contact.tangents, strict=False):
            force += lam[row] * tangent
        total[point.law.name] = force
    return ca.vertcat(*(ca.norm_2(total[point.law.name]) for point in points))


def stuck_forces(equations: Equations, points: list[Point]) -> list[SX]:
    """Of all points: the forces along both tangents that hold them."""
    lam = forces(equations, points)
    rows = [point.rows.slip for point in points]
    return [ca.vertcat(*(lam[own[k]] if own else SX(0) for own in rows)) for k in range(2)]


def ring_quantities(equations: Equations, points: list[Point]) -> list[SX]:
    """Of all points: radius of the ring, moment of its pressure, its rise with two derivatives;
    ones if it is no ring."""
    lam = forces(equations, points)
    found = (
        _ring(equations, pair, point, lam)
        for (pair, _), point in zip(_pairs(equations), points, strict=True)
    )
    return ca.horzsplit(ca.horzcat(*found).T)


def _ring(equations: Equations, pair: SurfacePair, point: Point, lam: SX) -> SX:
    chart, closed = equations.terms.chart, equations.numeric.closed
    rise = pair.rise(chart.motion)
    if rise is None:
        return SX.ones(5)
    moment = ca.norm_2(lam[list(point.rows.level)])
    rate = chart.rate(rise)
    change = chart.rate(rate) + ca.jtimes(rate, chart.symbols.u, closed.udot)
    return ca.vertcat(pair.radius, moment, rise, rate, change)
