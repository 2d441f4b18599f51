"""Rotors: inertia that turns with a joint's coordinate, and with nothing else.

The rotor of a motor behind a gear of ratio n turns n times as fast as its joint; what matters of it
is J = n² J_rotor along the joint's speed s (its own inertia as a body belongs to what carries it):

    T = ½ J s²,    so that M gains J DᵀD and f loses J Dᵀ c, with ṡ = D u̇ + c.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import casadi as ca
from casadi import SX

from ..model.element import Action, Effort, Element
from .chart import Chart

Spin = tuple[SX, SX, SX, SX]  # J, s, D, c


def spins(chart: Chart, elements: Sequence[Element] | None = None) -> Iterator[Spin]:
    """J, s, D and c of each rotor, or of those of some elements."""
    for element in chart.description.elements if elements is None else elements:
        for coordinate, inertia in element.rotors():
            s = chart.motion.speed(coordinate)
            yield inertia, s, ca.jacobian(s, chart.symbols.u), chart.rate(s)


def rotor_energy(chart: Chart, elements: Sequence[Element] | None = None) -> SX:
    """Σ ½ J s²."""
    return sum((J * s**2 / 2 for J, s, _, _ in spins(chart, elements)), SX(0))


def rotor_terms(chart: Chart) -> tuple[SX, SX]:
    """Σ J DᵀD and −Σ J Dᵀ c: what M and f gain."""
    count = chart.symbols.u.numel()
    M, f = SX(count, count), SX.zeros(count)
    for J, _, D, c in spins(chart):
        M, f = M + J * D.T @ D, f - J * D.T * c
    return M, f


def rotor_coriolis(chart: Chart) -> SX:
    """Σ J Dᵀ Ḋ: what the Coriolis matrix gains."""
    count = chart.symbols.u.numel()
    slopes = ((J, D) for J, _, D, _ in spins(chart))
    return sum((J * D.T @ chart.rate(D.T).T for J, D in slopes), SX(count, count))


def rotor_efforts(chart: Chart) -> list[Action]:
    """−J ṡ along each coordinate, on the joint; an expression of u̇."""
    named = (c for element in chart.description.elements for c in element.rotors())
    return [
        Effort(coordinate, -J * (D @ chart.symbols.udot + c))
        for (coordinate, _), (J, _, D, c) in zip(named, spins(chart), strict=True)
    ]


def rotor_inertias(chart: Chart) -> list[Action]:
    """J along each coordinate."""
    elements = chart.description.elements
    return [Effort(name, inertia) for element in elements for name, inertia in element.rotors()]
