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
from ...numerics.scales import sizes_by_inertia, usual_lengths
from ...numerics.tolerances import GIVEN, MET, PROXIMAL

if TYPE_CHECKING:
    from ...equations import Equations
    from ...kernels import Kernel


WEDGED = 100.0  # times as much pressure as friction, where one may be there for the other


@dataclass(frozen=True)
class ContactPoint:
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


def points_of(equations: Equations) -> Iterator[ContactPoint]:
    """The points of all of it, with their rows."""
    rows, m = constraint_rows(equations.terms.chart), equations.terms.chart.motion
    for law in laws_of(equations):
        own = law.point_rows(m, rows.indices[law.name])
        for (name, switches, headings), each in zip(law.point_switches(), own, strict=True):
            yield ContactPoint(law, name, switches, headings, each)


def spans(equations: Equations, points: list[ContactPoint]) -> np.ndarray:
    """How far each point usually goes: along its coordinate; of surfaces, as far as bodies are
    large."""
    chart = equations.terms.chart
    along = [chart.spans(point.law.joints()) for point in points]
    return np.array([each[0] if len(each) else chart.description.size for each in along])


def pace(equations: Equations) -> float:
    """How fast that is, in 1/s: as a pendulum of the size of the bodies swings, √(g/L); without
    gravity, once in a second."""
    system = equations.system
    gravity = float(np.linalg.norm(system.default_value(system.gravity)))
    return float(np.sqrt(gravity / system.size)) or 1.0


def sizes(equations: Equations) -> tuple[np.ndarray, ...]:
    """What is usual: φ where all has gone as far as it usually does; speeds of the same kinetic
    energy, beside each other; rows of A over these."""
    terms = equations.terms
    arguments, states = terms.usual_states
    far = terms.scales.speeds
    units = ca.diag(SX(ca.DM(far)))
    speeds = far * sizes_by_inertia(units @ terms.M @ units, arguments, states)
    rows = usual_lengths(terms.A, arguments, states, speeds)
    return terms.scales.rows[: terms.phi.numel()], speeds, rows


def law_numbers(equations: Equations, points: list[ContactPoint]) -> dict[str, SX]:
    """Those of ``NUMBERS``, a column each for all points, and their spans.

    Slips of joints that are none are 1e-10 of the usual; and what would not rise by more than
    no gap, √(2 g gap), does not rebound.
    """
    found = {
        what: ca.vertcat(*(SX(getattr(point.law, what)) for point in points)) for what in NUMBERS
    }
    span = spans(equations, points)
    speed = span * pace(equations)
    opens = np.array([point.rows.gap is not None for point in points])
    found["regularization"] += np.where(opens, 0.0, PROXIMAL * speed)
    least = np.where(opens, np.sqrt(2 * MET) * speed, 0.0)
    found["rebound_threshold"] = ca.fmax(found["rebound_threshold"], least)
    return found | {"span": SX(ca.DM(span))}


def values(
    equations: Equations, points: list[ContactPoint], parameters: Mapping[str, float]
) -> dict[str, np.ndarray]:
    """The same as numbers."""
    p = equations.terms.symbols.p
    own = {symbol.__hash__() for symbol in ca.vertsplit(p)}
    for law in laws_of(equations):
        symbols = ca.symvar(ca.vertcat(*(SX(getattr(law, what)) for what in NUMBERS)))
        if not own.issuperset(symbol.__hash__() for symbol in symbols):
            raise ModelError(f"{law.called}: {', '.join(NUMBERS)} may depend on parameters only")
    found = law_numbers(equations, points)
    numbers = ca.Function("law", [p], list(found.values()))(list(parameters.values()))
    return {what: np.array(x).ravel() for what, x in zip(found, numbers, strict=True)}


def _states(equations: Equations) -> list[PointState]:
    m = equations.terms.chart.motion
    return [state for law in laws_of(equations) for state in law.point_states(m)]


def forces(equations: Equations, points: list[ContactPoint]) -> SX:
    """λ, with those of contacts shared among their rows by least norm: by rounding they are shared
    in any other way, too, to no effect. Least friction comes first: where surfaces wedge each other
    their pressure can do without what it can hold."""
    lam = SX(equations.numeric.closed.lam)
    own = [row for point in points for row in point.rows.all]
    slips = {row for point in points for row in point.rows.slip}
    part = ca.DM([1.0 if row in slips else WEDGED for row in own])
    lam[own] = part * least_norm(ca.diag(part) @ equations.terms.G[own, :], lam[own] / part)
    return lam


def quantities(equations: Equations, points: list[ContactPoint]) -> list[SX]:
    """Of all points: gaps, their rates, normal forces, sizes of tangential forces, of slips with
    their heading, w, of the tangential forces of all points of the same pair together, and of
    forces that are rounding."""
    lam, chart, states = forces(equations, points), equations.terms.chart, _states(equations)
    gaps = ca.vertcat(*(state.gap for state in states))
    rates = ca.vertcat(*(chart.rate(gap) for gap in ca.vertsplit(gaps)))
    slips = ca.vertcat(*(state.slip for state in states))
    never_open = ca.DM([float(point.rows.gap is None) for point in points])
    slips += never_open * law_numbers(equations, points)["regularization"]
    normal = ca.vertcat(*(_normal(equations, point, lam) for point in points))
    stuck = ca.vertcat(
        *(ca.norm_2(lam[list(point.rows.slip)]) if point.rows.slip else SX(0) for point in points)
    )
    together, small = _together(states, points, lam), _rounding(equations, points, normal)
    return [gaps, rates, normal, stuck, slips, together, small]


def approach(equations: Equations, points: list[ContactPoint]) -> Kernel:
    """For each point: gap and its rate."""
    return equations.numeric.kernel("gaps", lambda: quantities(equations, points)[:2], [1] * 2)


def _normal(equations: Equations, point: ContactPoint, lam: SX) -> SX:
    """The multiplier of its gap, or the load that is known."""
    rows, m = constraint_rows(equations.terms.chart), equations.terms.chart.motion
    load = point.law.load(m, lam[rows.rows_loading(point.law)])
    return lam[point.rows.gap] if load is None else load


def _rounding(equations: Equations, points: list[ContactPoint], normal: SX) -> SX:
    """Of points that open a billionth of what they may have to bear; of others what multipliers are
    known to, beside what makes them slip."""
    weights = _weights(equations)
    found = [
        PROXIMAL * point.law.static_friction * load
        if point.rows.gap is None
        else GIVEN * weights[point.rows.gap]
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
    return ca.if_else(gravity > 0, gravity, system.size) * ca.fmin(mass, 1 / yielding)


def _together(states: list[PointState], points: list[ContactPoint], lam: SX) -> SX:
    total: dict[str, SX] = {}
    for state, point in zip(states, points, strict=True):
        force = total.setdefault(point.law.name, SX.zeros(3))
        for row, tangent in zip(point.rows.slip, state.tangents, strict=False):
            force += lam[row] * tangent
        total[point.law.name] = force
    return ca.vertcat(*(ca.norm_2(total[point.law.name]) for point in points))


def stuck_forces(equations: Equations, points: list[ContactPoint]) -> list[SX]:
    """Of all points: the forces along both tangents that hold them."""
    lam = forces(equations, points)
    rows = [point.rows.slip for point in points]
    return [ca.vertcat(*(lam[own[k]] if k < len(own) else SX(0) for own in rows)) for k in range(2)]


def ring_quantities(equations: Equations, points: list[ContactPoint]) -> list[SX]:
    """Of all points: radius of the ring, moment of its pressure, its rise; ones if it is no
    ring."""
    lam = forces(equations, points)
    found = (
        _ring(state, point, lam) for state, point in zip(_states(equations), points, strict=True)
    )
    return ca.horzsplit(ca.horzcat(*found).T)


def _ring(state: PointState, point: ContactPoint, lam: SX) -> SX:
    if state.rise is None:
        return SX.ones(3)
    return ca.vertcat(state.radius, ca.norm_2(lam[list(point.rows.level)]), state.rise)
