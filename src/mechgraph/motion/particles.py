"""A rigid body as ten particles: four *primary* points that are not in one plane, and the midpoints
of their pairs (Attia, *Dynamic simulation of constrained mechanical systems using recursive
projection algorithm*; corrected).

In barycentric coordinates λ_i of the four points, M_ij = ∫ λ_i λ_j dm has all that a body's motion
asks of its mass: with the matrix D = [x₂₁ x₃₁ x₄₁] of their places, c = x_C − x₁ and
J = ∫ (x − x₁)(x − x₁)ᵀ dm = ½ tr(I) 1 − I + m c cᵀ,

    M_ij = (D⁻¹ J D⁻ᵀ)_ij for i, j > 1,    Σ_j M_ij = (D⁻¹ m c)_i,    Σ_ij M_ij = m.

The particle between i and j has the mass 4 M_ij, the one at i the mass M_ii − Σ_j≠i M_ij. Some may
be negative; M is not. A body that moves in a plane needs three primary points, six particles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations

import casadi as ca
import numpy as np
from casadi import SX

from ..errors import UnsupportedError
from ..model.bodies import Body
from ..numerics.tolerances import KNOWN

LEAST = 0.1  # of a sine: points nearer to one line or plane are not chosen; users may go to KNOWN


@dataclass(frozen=True)
class Particle:
    """A mass point of a body: ``name`` is the primary point's number, or the two that it is
    between; ``place`` is in the body's frame."""

    body: str
    name: str
    mass: float
    place: tuple[float, ...]


@dataclass(frozen=True, eq=False)
class Primary:
    """The four primary points of a body: places in its frame; ``eliminated`` is the index of the
    one that follows from the others, None if all are kept. Three points if it moves in a plane with
    a ``normal``."""

    body: Body
    places: tuple[SX, ...]
    eliminated: int | None
    normal: SX | None = None

    @property
    def kept(self) -> tuple[int, ...]:
        """Indices of the points whose positions give the body's pose."""
        return tuple(k for k in range(len(self.places)) if k != self.eliminated)

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs of points that secondary particles are between."""
        return list(combinations(range(len(self.places)), 2))

    @property
    def labels(self) -> list[str]:
        """Names of all particles."""
        own = (str(k + 1) for k in range(len(self.places)))
        return [*own, *(f"{i + 1}-{j + 1}" for i, j in self.pairs)]

    @cached_property
    def mass_matrix(self) -> SX:
        """M_ij, 4x4 (3x3 in a plane)."""
        body, first = self.body, self.places[0]
        edges = [place - first for place in self.places[1:]]
        across = [] if self.normal is None else [self.normal]
        c, inverse = body.com - first, reciprocal(ca.horzcat(*edges, *across))[: len(edges), :]
        J = ca.trace(body.inertia) / 2 * SX.eye(3) - body.inertia + body.mass * (c @ c.T)
        inner, sums = inverse @ J @ inverse.T, inverse @ (body.mass * c)
        edge = sums - ca.sum2(inner)
        corner = body.mass - 2 * ca.sum1(sums) + ca.sum1(ca.sum2(inner))
        return ca.densify(ca.blockcat([[corner, edge.T], [edge, inner]]))

    @property
    def masses(self) -> SX:
        """Masses of all particles: 1 to 4, then those between 1 and 2, 1 and 3, …, 3 and 4."""
        M = self.mass_matrix
        own = (2 * M[k, k] - ca.sum2(M[k, :]) for k in range(len(self.places)))
        return ca.vertcat(*own, *(4 * M[i, j] for i, j in self.pairs))

    def with_midpoints(self, points: Sequence[SX]) -> list[SX]:
        """Primary points and the midpoints of their pairs."""
        return [*points, *((points[i] + points[j]) / 2 for i, j in self.pairs)]

    @property
    def invariants(self) -> SX:
        """(λ, μ, τ) of the eliminated point: x_e − x_a = λ a × b + μ b + τ a, where a and b lead
        from the first kept point to the other two (Attia 2005, eq. 12); b = n × a, and no λ, in a
        plane."""
        if self.eliminated is None:
            return SX.zeros(3)
        x = self.places[self.eliminated] - self.places[self.kept[0]]
        return (reciprocal(self.base) @ x)[[2, 1, 0]]

    @property
    def base(self) -> SX:
        """``edge_columns`` by the kept points, in the body's frame."""
        return edge_columns([self.places[k] for k in self.kept], self.normal)


def edge_columns(points: Sequence[SX], normal: SX | None = None) -> SX:
    """Three columns from the edges that lead from the first point to the others: a, b, a × b of
    three points; a, b, c of four; a, n × a, n of two in a plane."""
    edges = [point - points[0] for point in points[1:]]
    if normal is not None:
        more = [ca.cross(normal, edges[0]), normal] if len(edges) == 1 else [normal]
    else:
        more = [ca.cross(*edges)] if len(edges) == 2 else []
    return ca.horzcat(*edges, *more)


def reciprocal(columns: SX) -> SX:
    """The inverse of three columns a, b, c: rows b × c, c × a, a × b over their product."""
    a, b, c = ca.horzsplit(columns)
    normal = ca.cross(a, b)
    rows = ca.horzcat(ca.cross(b, c), ca.cross(c, a), normal).T
    return ca.densify(rows / ca.dot(normal, c))


# --- placing them ---------------------------------------------------------------------------------


def spread(points: Sequence[np.ndarray]) -> float:
    """Distance of points from one place, line or plane: the volume of their edges over the product
    of the lengths; 1 for right angles, 0 if they coincide or are flat."""
    edges = np.array([point - points[0] for point in points[1:]]).reshape(-1, 3)
    lengths = np.linalg.norm(edges, axis=1)
    if not lengths.all():
        return 0.0
    unit = edges / lengths[:, None]
    return float(np.sqrt(max(np.linalg.det(unit @ unit.T), 0.0)))


def check_places(body: str, places: Sequence[np.ndarray]) -> None:
    """Refuse points that are no tetrahedron, by name."""
    for i, j in combinations(range(len(places)), 2):
        if np.allclose(places[i], places[j], rtol=0, atol=KNOWN * np.abs(places).max()):
            raise UnsupportedError(
                f"points: points {i + 1} and {j + 1} of body {body!r} coincide; place them apart"
            )
    for three in combinations(range(len(places)), 3):
        if spread([places[k] for k in three]) < KNOWN:
            numbers = ", ".join(str(k + 1) for k in three)
            raise UnsupportedError(
                f"points: points {numbers} of body {body!r} are on one line; place them on a "
                "tetrahedron"
            )
    if len(places) > 3 and spread(places) < KNOWN:
        raise UnsupportedError(
            f"points: the four points of body {body!r} are in one plane; place one of them off it"
        )
