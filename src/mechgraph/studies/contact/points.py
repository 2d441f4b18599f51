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
from ...model.contact.switched import NUMBERS, PointRows, PointState, Switched
from ...motion.constraint_rows import constraint_rows

if TYPE_CHECKING:
    from ...equations import Equations
    from ...kernels import Kernel


SURE = 1e-10  # relative: how well a joint's friction is known
FAINT = 1e-9  # part of a weight that is no force
WEDGED = 100.0  # times as much pressure as friction, where one may be there for the other


@dataclass(frozen=True)
class Point:
    """One point of contact: its law, the names of its switches and of its heading, and its rows of
    A."""

    law: Switched
    name: str
    switches: dict[str, str]
    headings: list[str]
    rows: PointRows


def laws_of(equations: Equations) -> list[Switched]:
    """All that is switched in a system."""
    constraints = equations.system.constraints.values()
    return [law for law in constraints if isinstance(law, Switched)]


def points_of(equations: Equations) -> Iterator[Point]:
    """The points of all of it, with their rows."""
    rows, m = constraint_rows(equations.terms.chart), equations.terms.chart.motion
    for law in laws_of(equations):
        own = law.point_rows(m, rows.indices[law.name])
        for (name, switches, headings), each in zip(law.point_switches(), own, strict=True):
            yield Point(law, name, switches, headings, each)


def gravity(equations: Equations) -> float:
    """How large it is; one, without any."""
    system = equations.system
    return float(np.linalg.norm(system.default_value(system.gravity))) or 1.0


def values(
    equations: Equations, points: list[Point], parameters: Mapping[str, float]
) -> np.ndarray:
    """The numbers of the laws (rows in the order of ``NUMBERS``) of all points (columns)."""
    symbols = equations.terms.symbols
    own = {symbol.__hash__() for symbol in ca.vertsplit(symbols.p)}
    found = {}
    for law in {point.law.name: point.law for point in points}.values():
        numbers = law.numbers()
        if not own.issuperset(symbol.__hash__() for symbol in ca.symvar(numbers)):
            raise ModelError(f"{law.called}: {', '.join(NUMBERS)} may depend on parameters only")
        value = ca.Function("law", [symbols.p], [numbers])(list(parameters.values()))
        found[law.name] = np.array(value).ravel()
    return np.array([found[point.law.name] for point in points]).reshape(-1, len(NUMBERS)).T


def _states(equations: Equations) -> list[PointState]:
    m = equations.terms.chart.motion
    return [state for law in laws_of(equations) for state in law.point_states(m)]


def forces(equations: Equations, points: list[Point]) -> SX:
    """λ, with those of contacts shared among their rows by least norm: by rounding they are shared
    in any other way, too, to no effect. Least friction comes first: where surfaces wedge each other
    their pressure can do without what it can hold."""
    lam = SX(equations.numeric.closed.lam)
    own = [row for point in points for row in point.rows.all]
    slips = {row for point in points for row in point.rows.slip}
    part = ca.DM([1.0 if row in slips else WEDGED for row in own])
    lam[own] = part * least_norm(ca.diag(part) @ equations.terms.G[own, :], lam[own] / part)
    return lam


def quantities(equations: Equations, points: list[Point]) -> list[SX]:
    """Of all points: gaps, their rates, normal forces, sizes of tangential forces, of slips with
    their heading, w, of the tangential forces of all points of the same pair together, and of
    forces that are rounding."""
    lam, chart, states = forces(equations, points), equations.terms.chart, _states(equations)
    gaps = ca.vertcat(*(state.gap for state in states))
    rates = ca.vertcat(*(chart.rate(gap) for gap in ca.vertsplit(gaps)))
    slips = ca.vertcat(*(state.slip for state in states))
    normal = ca.vertcat(*(_normal(equations, point, lam) for point in points))
    stuck = ca.vertcat(
        *(ca.norm_2(lam[list(point.rows.slip)]) if point.rows.slip else SX(0) for point in points)
    )
    together, small = _together(states, points, lam), _rounding(equations, points, normal)
    return [gaps, rates, normal, stuck, slips, together, small]


def approach(equations: Equations, points: list[Point]) -> Kernel:
    """For each point: gap and its rate."""
    return equations.numeric.kernel("gaps", lambda: quantities(equations, points)[:2], [1] * 2)


def _normal(equations: Equations, point: Point, lam: SX) -> SX:
    """The multiplier of its gap, or the load that is known."""
    rows, m = constraint_rows(equations.terms.chart), equations.terms.chart.motion
    load = point.law.load(m, lam[rows.rows_loading(point.law)])
    return lam[point.rows.gap] if load is None else load


def _rounding(equations: Equations, points: list[Point], normal: SX) -> SX:
    """Of points that open a billionth of what they may have to bear, of others a part of their
    load."""
    weights = _weights(equations)
    found = [
        SURE * point.law.static_friction * load
        if point.rows.gap is None
        else FAINT * weights[point.rows.gap]
        for point, load in zip(points, ca.vertsplit(normal), strict=True)
    ]
    return ca.vertcat(*found)


def _weights(equations: Equations) -> SX:
    """The weight of what a row a of A moves, about g/Σ a²/M, and at most that of all bodies.

    Something light is held, and let go, by small forces, whatever else there is in the system.
    """
    system, terms = equations.system, equations.terms
    gravity, mass = ca.norm_2(system.gravity), sum((b.mass for b in system.bodies.values()), SX(0))
    inertias = ca.vertsplit(ca.diag(terms.M))
    yielding = terms.A**2 @ ca.vertcat(*(ca.if_else(M > 0, 1 / M, 0) for M in inertias))
    return ca.if_else(gravity > 0, gravity, 1) * ca.fmin(mass, 1 / yielding)


def _together(states: list[PointState], points: list[Point], lam: SX) -> SX:
    total: dict[str, SX] = {}
    for state, point in zip(states, points, strict=True):
        force = total.setdefault(point.law.name, SX.zeros(3))
        for row, tangent in zip(point.rows.slip, state.tangents, strict=False):
            force += lam[row] * tangent
        total[point.law.name] = force
    return ca.vertcat(*(ca.norm_2(total[point.law.name]) for point in points))


def stuck_forces(equations: Equations, points: list[Point]) -> list[SX]:
    """Of all points: the forces along both tangents that hold them."""
    lam = forces(equations, points)
    rows = [point.rows.slip for point in points]
    return [ca.vertcat(*(lam[own[k]] if k < len(own) else SX(0) for own in rows)) for k in range(2)]


def ring_quantities(equations: Equations, points: list[Point]) -> list[SX]:
    """Of all points: radius of the ring, moment of its pressure, its rise; ones if it is no
    ring."""
    lam = forces(equations, points)
    found = (
        _ring(state, point, lam) for state, point in zip(_states(equations), points, strict=True)
    )
    return ca.horzsplit(ca.horzcat(*found).T)


def _ring(state: PointState, point: Point, lam: SX) -> SX:
    if state.rise is None:
        return SX.ones(3)
    return ca.vertcat(state.radius, ca.norm_2(lam[list(point.rows.level)]), state.rise)
