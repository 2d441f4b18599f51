"""Meshes as they are drawn: with so few triangles that a page stays small.

A mesh with too many is laid on a grid, and the vertices in a cell become one (J. Rossignac,
P. Borrel, 1993): it keeps its shape, its holes included, and loses what is finer than the grid.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np

from .. import door
from ..errors import MechgraphError, ModelError, error_text
from ..model.visuals import Mesh

FINEST = 96  # cells of the grid along the longest side of a mesh, halved until triangles are few


@dataclass(frozen=True)
class Triangles:
    """Vertices (n, 3) in the frame of a body, and faces (m, 3) between them."""

    points: np.ndarray
    faces: np.ndarray
    color: str

    @property
    def corners(self) -> list[np.ndarray]:
        """The corners of a box around it."""
        low, high = self.points.min(axis=0), self.points.max(axis=0)
        return [np.array(corner) for corner in product(*zip(low, high, strict=True))]


def triangles_of(mesh: Mesh, tint: str, most: int) -> Triangles | None:
    """At most ``most`` triangles of a mesh; None, with a warning, if it cannot be read."""
    try:
        points, faces = _coarse(mesh, most)
    except MechgraphError as error:
        warnings.warn(str(error), stacklevel=2)
        return None
    if not len(faces):
        return None
    return Triangles(points @ mesh.rotation.T + mesh.at, faces, mesh.color or tint)


def _coarse(mesh: Mesh, most: int) -> tuple[np.ndarray, np.ndarray]:
    if mesh.vertices is not None and mesh.faces is not None:
        return coarsened(mesh.vertices, mesh.faces, most)
    assert mesh.file is not None
    points, faces = _read(mesh.file, most)
    return points if mesh.scale is None else points * mesh.scale, faces


@lru_cache(maxsize=256)
def _read(file: Path, most: int) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces of a file, in metres."""
    trimesh = door.library("trimesh")
    try:
        found = trimesh.load(str(file), force="mesh", process=False)
        unit = str(found.metadata.get("units", "")).partition(" * meters")
        factor = float(unit[0]) if unit[1] else 1.0
        points, faces = np.array(found.vertices, dtype=float), np.array(found.faces, dtype=int)
    except MechgraphError:
        raise
    except Exception as error:  # whatever a file that others wrote makes of it
        raise ModelError(f"{file.name}: no mesh that can be drawn: {error_text(error)}") from None
    return coarsened(factor * points, faces, most)


def coarsened(points: np.ndarray, faces: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
    """The mesh on the finest grid that leaves it no more than so many triangles."""
    kept, few, cells = points.astype(float), faces.reshape(-1, 3).astype(int), FINEST
    while len(few) > most and cells:
        kept, number = _cells(points, cells)
        few = _distinct(number[faces])
        cells //= 2
    used, few = np.unique(few, return_inverse=True)
    return kept[used], few.reshape(-1, 3)


def _distinct(faces: np.ndarray) -> np.ndarray:
    """Faces with three corners, each once."""
    a, b, c = faces.T
    whole = faces[(a != b) & (b != c) & (a != c)]
    return whole[np.unique(np.sort(whole, axis=1), axis=0, return_index=True)[1]]


def _cells(points: np.ndarray, cells: int) -> tuple[np.ndarray, np.ndarray]:
    """The mean of the points in each cell of a grid, and the cell of each point."""
    size = float(np.ptp(points, axis=0).max()) or 1.0
    keys = np.floor((points - points.min(axis=0)) / size * cells).astype(int)
    _, number, count = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    number = number.ravel()
    sums = np.zeros((len(count), 3))
    np.add.at(sums, number, points)
    return sums / count[:, None], number
