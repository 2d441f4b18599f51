"""Points of contact at one moment: what forces and impulses at them do, with all other
constraints."""

from __future__ import annotations

import numpy as np
from casadi import SX

from mechgraph.equations import Equations
from mechgraph.numerics.tolerances import GIVEN, MET
from mechgraph.studies.contact.points import ContactPoint

AROUND = 8  # points of a ring that lies flat


def contact_terms(equations: Equations) -> list[SX]:
    """M, f, A, b, G and ψ, of which ``ContactInstant`` takes the rows it needs."""
    terms = equations.terms
    return [terms.M, terms.f, terms.A, terms.b, terms.G, terms.psi]


class ContactInstant:
    """Some points of contact, with rows of their own: along the normal, and along two tangents
    unless they are smooth. A ring that lies flat has normals at several points around its middle.

    With all other constraints, impulses x along the rows D change u by Y Dᵀ x, and forces x give
    the accelerations D u̇ + bias = W x + c of the rows. ``velocity`` is theirs.
    """

    def __init__(
        self,
        points: list[ContactPoint],
        chosen: np.ndarray,
        rings: dict[int, float],
        terms: list[np.ndarray],
        u: np.ndarray,
    ) -> None:
        """``rings``: radii of the rings that lie flat; ``terms``: as ``contact_terms``, with all
        points closed and stuck."""
        self.points, self.terms, self.u = points, terms, u
        self.chosen = [int(k) for k in chosen]
        self.M, psi = terms[0], terms[-1]
        self.normals: dict[int, list[int]] = {}
        self.tangents: dict[int, list[int]] = {}
        self.loads: dict[int, float] = {}  # normal forces of points that are known
        levels = {k: psi[list(points[k].rows.level)] for k in rings}
        self._place({k: around(radius, -levels[k]) for k, radius in rings.items()})

    def align(self, x: np.ndarray) -> None:
        """Turn the points of flat rings, one of them towards the pressure that forces x make."""
        turned = {}
        for k, arms in self.arms.items():
            pressure = x[self.normals[k]] @ arms
            far = np.hypot(*pressure) > GIVEN * np.hypot(*arms[0]) * np.abs(x).max()
            turned[k] = around(float(np.hypot(*arms[0])), pressure if far else arms[0])
        if turned:
            self._place(turned)

    def _place(self, arms: dict[int, np.ndarray]) -> None:
        """All rows, with flat rings standing on the ends of their arms."""
        M, f, A, b, G, psi = self.terms
        self.arms = arms
        every = {row for point in self.points for row in point.rows.all}
        other = [row for row in range(len(A)) if row not in every]
        rows = self._rows(np.eye(len(A)))
        self.D, self.velocity = rows @ A, rows[:, : len(psi)] @ psi
        terms = np.abs(A) @ np.abs(self.u)
        terms[: len(psi)] += np.abs(psi)
        self.size = np.abs(rows) @ terms
        inverse = _bordered(M, A[other], A[other])
        self.change = inverse[: len(M), : len(M)] @ self.D.T  # of u, for unit impulses
        self.Y = self.D @ self.change
        if not np.array_equal(G[other], A[other]):
            inverse = _bordered(M, A[other], G[other])
        found = inverse[: len(M)]
        self.W = self.D @ found[:, : len(M)] @ self.D.T
        self.c = self.D @ found @ np.concatenate([f, -b[other]]) + rows @ b

    def rows(self, k: int) -> list[int]:
        """All rows of a point."""
        return [*self.normals[k], *self.tangents[k]]

    def _rows(self, unit: np.ndarray) -> np.ndarray:
        """Each row as a combination of rows of A."""
        rows: list[np.ndarray] = []
        for k in self.chosen:
            own, first = self.points[k].rows, len(rows)
            arms = self.arms.get(k, np.zeros((1, len(own.level))))
            if own.gap is not None:
                rows += [unit[own.gap] + arm @ unit[list(own.level)] for arm in arms]
            self.normals[k] = list(range(first, len(rows)))
            self.tangents[k] = [len(rows) + i for i in range(len(own.slip))]
            rows += [unit[row] for row in own.slip]
        return np.array(rows).reshape(-1, len(unit))


def _bordered(M: np.ndarray, A: np.ndarray, G: np.ndarray) -> np.ndarray:
    """The inverse of M u̇ − Gᵀλ = f, A u̇ = −b, of least norm."""
    K = np.block([[M, -G.T], [A, np.zeros((len(A), len(A)))]])
    return np.linalg.pinv(K, rcond=MET)


def around(radius: float, towards: np.ndarray) -> np.ndarray:
    """Arms from the middle of a flat ring to points of it, the first of them towards a
    direction."""
    first = np.arctan2(towards[1], towards[0]) if towards.any() else 0.0
    angles = first + 2 * np.pi * np.arange(AROUND) / AROUND
    return radius * np.stack([np.cos(angles), np.sin(angles)], axis=1)
