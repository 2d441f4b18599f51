"""Points of contact that wander on surfaces: they are where the bodies make them be, so that they
begin where their surfaces look for them first, and count for nothing in what is near."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ...model.joints import Joint

if TYPE_CHECKING:
    from ...equations import Equations


def contact_variables(equations: Equations, of: Mapping[str, tuple[int, ...]]) -> list[int]:
    """Indices of their coordinates, or of their speeds."""
    constraints = equations.terms.rows.constraints
    chains = [chain for constraint in constraints for chain in constraint.chains()]
    return [index for chain in chains for index in of[chain.name]]


def with_contact_points(
    equations: Equations, q: np.ndarray, named: Collection[str], context: dict[str, Any]
) -> np.ndarray:
    """q with the points that nobody named where their surfaces look for them first."""
    places = _places(equations, named)
    if not places:
        return q
    chart = equations.terms.chart
    rows = [index for chain in places for index in chart.joint_coordinates[chain.name]]
    kernel = equations.numeric.kernel(
        ("contact points", tuple(rows)), lambda: [ca.vertcat(*places.values())], [1]
    )
    arguments = equations.numeric.arguments(q, None, context["t"], None, context["parameters"])
    values = kernel(*arguments)[0]
    known = np.isfinite(values)  # the centre of a sphere is near to none of its points
    q = q.copy()
    q[np.array(rows, dtype=int)[known]] = values[known]
    return q


def _places(equations: Equations, named: Collection[str]) -> dict[Joint, SX]:
    """By chain of a point, where to look for it."""
    motion, taken = equations.terms.chart.motion, set(named)
    return {
        chain: place
        for constraint in equations.terms.rows.constraints
        for chain, place in zip(constraint.chains(), constraint.initial_points(motion), strict=True)
        if place is not None and taken.isdisjoint((chain.name, *chain.coordinates))
    }
