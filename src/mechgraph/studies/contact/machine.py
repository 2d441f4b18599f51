"""Rigid contacts for machine code: what contacts.c asks of a model, as expressions, and where in
its vector the switches are."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from casadi import SX

from ...kernels.settling import COLUMNS, Layout
from ...model.contact.switched import NUMBERS
from .points import Point, gravity, quantities, ring_quantities, stuck_forces, weight

if TYPE_CHECKING:
    from ...equations import Equations


def expressions(equations: Equations, points: list[Point]) -> dict[str, SX]:
    """The functions of contacts.c, each a column; matrices row by row."""
    terms, s = equations.terms, equations.terms.symbols
    gaps, rates, normal, stuck, _, together = quantities(equations, points)
    rings = SX.ones(3 * len(points))
    if any(point.rows.level for point in points):
        rings = ca.vertcat(*ring_quantities(equations, points)[:3])
    matrices = [ca.vec(ca.densify(matrix).T) for matrix in (terms.M, terms.A, terms.G)]
    M, A, G = matrices
    return {
        "gaps": ca.vertcat(gaps, rates),
        "seen": ca.vertcat(normal, stuck, together, *stuck_forces(equations, points)),
        "rings": rings,
        "terms": ca.vertcat(M, terms.f, A, terms.b, G, terms.psi),
        "law": ca.vertcat(*(SX(getattr(p.law, what)) for what in NUMBERS for p in points)),
        "places": terms.phi,
        "shifted": terms.chart.normalized_expression(s.q + terms.N @ s.u),
        "energy": ca.vertcat(terms.kinetic, terms.potential),
    }


def layout(equations: Equations, points: list[Point], places: Mapping[str, int]) -> Layout:
    """Rows of the points, the ``places`` of their parameters in x, and sizes."""
    terms = equations.terms
    laws = list(dict.fromkeys(point.law.name for point in points))
    return Layout(
        np.array([[*_row(p, places), laws.index(p.law.name)] for p in points], np.int64),
        (
            terms.symbols.q.numel(),
            terms.symbols.u.numel(),
            len(equations.constraints),
            terms.phi.numel(),
            terms.psi.numel(),
        ),
        gravity(equations),
        weight(equations),
    )


def _row(point: Point, places: Mapping[str, int]) -> list[int]:
    """In the order of ``COLUMNS``, without the pair."""
    rows, switches = point.rows, point.switches
    found = {"gap": rows.gap, **{f"level {k}": row for k, row in enumerate(rows.level, 1)}}
    found |= {f"slip {k}": row for k, row in enumerate(rows.slip, 1)}
    found |= {mode: places[name] for mode, name in switches.items()}
    found |= {f"heading {k}": places[name] for k, name in enumerate(point.headings, 1)}
    none = dict.fromkeys(COLUMNS[:-1], -1)
    return list((none | {name: at for name, at in found.items() if at is not None}).values())
