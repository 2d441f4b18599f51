"""The shapes that a scene is made of: rods, and faces between points. Surfaces and meshes as such.

A mesh with too many triangles is laid on a grid, and the vertices in a cell become one (J.
Rossignac, P. Borrel, 1993): it keeps its shape, its holes included, and loses what is finer than
the grid.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np
from casadi import SX

from .. import door
from ..errors import MechgraphError, ModelError, error_text
from ..model.contact.surfaces import (
    Box,
    Capsule,
    Cylinder,
    Disc,
    Ellipsoid,
    Roller,
    Sphere,
    Surface,
    Torus,
)
from ..model.visuals import Mesh
from ..numerics.tolerances import TINY

AROUND, ALONG = 32, 14  # faces about the axis, and from end to end of a curved profile
SECTORS = 4  # bright and dark in turn
DARK, PALE = 0.72, 0.4  # of the dark sectors; how much white is in the lower half
THIN = 0.05  # half the thickness of what is drawn for a disc, over its radius
FINEST = 96  # cells of the grid along the longest side of a mesh, halved until triangles are few

Profile = tuple[np.ndarray, np.ndarray]  # points (r, z) and their outward normals


@dataclass(frozen=True)
class Rod:
    """A rounded rod from a to b; a ball if it has no length."""

    a: np.ndarray
    b: np.ndarray
    radius: float
    color: str

    @property
    def corners(self) -> Iterator[np.ndarray]:
        """Points that it lies between, but for its thickness."""
        return iter((self.a, self.b))


@dataclass(frozen=True)
class Facets:
    """Faces (m, corners) between points (n, 3) in the frame of a body, each in one of the colors.

    Quadrilaterals have outward normals at the points and look smooth; triangles have none and look
    flat.
    """

    points: np.ndarray
    faces: np.ndarray
    colors: tuple[str, ...]
    tones: np.ndarray  # which of the colors each face has
    normals: np.ndarray = field(default_factory=lambda: np.zeros((0, 3)))

    @property
    def corner_normals(self) -> np.ndarray:
        """Normals at the corners of each face, (m, corners, 3)."""
        if len(self.normals):
            return self.normals[self.faces]
        a, b, c = np.moveaxis(self.points[self.faces], 1, 0)
        normals = np.cross(b - a, c - a)
        normals /= np.linalg.norm(normals, axis=1, keepdims=True) + TINY
        return np.repeat(normals[:, None], 3, axis=1)

    @property
    def radius(self) -> float:
        """Half its largest extent along an axis."""
        return float(np.ptp(self.points, axis=0).max()) / 2

    @property
    def corners(self) -> Iterator[np.ndarray]:
        """The corners of a box around it."""
        ends = zip(self.points.min(axis=0), self.points.max(axis=0), strict=True)
        return map(np.array, product(*ends))


# --- boxes and surfaces ---------------------------------------------------------------------------


def box(centre: np.ndarray, half: np.ndarray, axes: np.ndarray, color: str) -> Facets:
    """A box with half edges along the columns of ``axes``."""
    points, normals = [], []
    for k in range(3):
        u, v = (half[j] * axes[:, j] for j in ((k + 1) % 3, (k + 2) % 3))
        for normal in (-axes[:, k], axes[:, k]):
            middle = centre + half[k] * normal
            points += [middle - u - v, middle + u - v, middle + u + v, middle - u + v]
            normals += [normal] * 4
    faces = np.arange(24).reshape(6, 4)
    return Facets(np.array(points), faces, (color,), np.zeros(6, int), np.array(normals))


def facets_of(surface: Surface, constant: Callable[[SX], np.ndarray], color: str) -> Facets | None:
    """The faces that are drawn for a surface, if it is round in tones that let one see it turn;
    None for planes, points, hollow and endless ones, and those known by an equation alone."""
    if getattr(surface, "inside", False):
        return None
    R, at = constant(surface.marker.rotation), constant(surface.marker.at)
    if isinstance(surface, Box):
        return box(at, constant(surface.sides) / 2, R, color)
    expressions = {key: value for key, value in vars(surface).items() if isinstance(value, SX)}
    numbers = {key: constant(value) for key, value in expressions.items()}
    sizes = {key: float(value.item()) for key, value in numbers.items() if value.size == 1}
    profile = _profile(surface, sizes)
    if profile is None:
        return None
    points, normals = map(_revolved, profile)
    if isinstance(surface, Ellipsoid):  # a unit sphere, stretched
        points, normals = points * numbers["semiaxes"], normals / numbers["semiaxes"]
        normals = normals / np.linalg.norm(normals, axis=-1, keepdims=True)
    faces, tones = _grid(len(profile[0]))
    return Facets(points @ R.T + at, faces, _colors(color), tones, normals @ R.T)


def _profile(surface: Surface, sizes: dict[str, float]) -> Profile | None:
    """The profile that is turned about z, None if the surface has none."""
    match surface:
        case Disc():
            return _bar(sizes["radius"], THIN * sizes["radius"])
        case Cylinder() if "length" in sizes:
            return _bar(sizes["radius"], sizes["length"] / 2)
        case Sphere():
            return _rounded(sizes["radius"], 0.0)
        case Capsule():
            return _rounded(sizes["radius"], sizes["length"] / 2)
        case Ellipsoid():
            return _rounded(1.0, 0.0)
        case Torus():
            return _arc(sizes["radius"], sizes["tube"], np.linspace(-np.pi, np.pi, 2 * ALONG + 1))
        case Roller():
            radius, arc = sizes["radius"], sizes["arc"]
            reach = np.arccos(max(1 - 0.5 * radius / arc, 0.0))  # to where it is half as thick
            return _arc(radius - arc, arc, np.linspace(-reach, reach, ALONG + 1))
    return None


def _arc(middle: float, radius: float, angles: np.ndarray) -> Profile:
    """An arc of a circle about (middle, 0), with angles from the direction of r."""
    normals = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    return np.array([middle, 0.0]) + radius * normals, normals


def _rounded(radius: float, half: float) -> Profile:
    """Two half circles, moved apart by ``half`` to both sides."""
    equator = np.arange(ALONG + 2) > ALONG // 2  # is there twice
    angles = np.linspace(-np.pi / 2, np.pi / 2, ALONG + 1)[np.arange(ALONG + 2) - equator]
    points, normals = _arc(0.0, radius, angles)
    return points + np.where(equator, half, -half)[:, None] * [0.0, 1.0], normals


def _bar(radius: float, half: float) -> Profile:
    """Flat ends and a straight side: points at the edges count twice, with either normal."""
    low, high = (radius, -half), (radius, half)
    points = [(0, -half), low, low, high, high, (0, half)]
    normals = [(0, -1), (0, -1), (1, 0), (1, 0), (0, 1), (0, 1)]
    return np.array(points, dtype=float), np.array(normals, dtype=float)


def _revolved(profile: np.ndarray) -> np.ndarray:
    """Points or normals of the surface about z, row by row."""
    angle = np.linspace(0, 2 * np.pi, AROUND + 1)
    r, z = profile.T
    around = np.outer(r, np.cos(angle)), np.outer(r, np.sin(angle)), np.outer(z, angle**0)
    return np.stack(around, axis=-1).reshape(-1, 3)


def _grid(rows: int) -> tuple[np.ndarray, np.ndarray]:
    """The faces between rows of points, and their tones: bright and dark, of the upper half and of
    the lower."""
    i, j = (x.ravel() for x in np.mgrid[: rows - 1, :AROUND])
    first, below = i * (AROUND + 1) + j, (i + 1) * (AROUND + 1) + j
    faces = np.stack([first, below, below + 1, first + 1], axis=-1)
    return faces, 2 * (i + 1 < rows / 2) + j * SECTORS // AROUND % 2


def _colors(color: str) -> tuple[str, ...]:
    """Bright and dark of the upper half, then of the lower half."""
    bright = np.array([int(color[k : k + 2], 16) for k in (1, 3, 5)])
    pale = bright + PALE * (255 - bright)
    tones = (bright, DARK * bright, pale, DARK * pale)
    return tuple("#" + "".join(f"{round(float(x)):02x}" for x in tone) for tone in tones)


# --- meshes ---------------------------------------------------------------------------------------


def triangles_of(mesh: Mesh, tint: str, most: int) -> Facets | None:
    """At most ``most`` triangles of a mesh; None, with a warning, if it cannot be read."""
    try:
        points, faces = _points_and_faces(mesh, most)
    except MechgraphError as error:
        warnings.warn(str(error), stacklevel=2)
        return None
    if not len(faces):
        return None
    points = points @ mesh.rotation.T + mesh.at
    return Facets(points, faces, (mesh.color or tint,), np.zeros(len(faces), int))


def _points_and_faces(mesh: Mesh, most: int) -> tuple[np.ndarray, np.ndarray]:
    if mesh.vertices is not None and mesh.faces is not None:
        return coarsen(mesh.vertices, mesh.faces, most)
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
    return coarsen(factor * points, faces, most)


def coarsen(points: np.ndarray, faces: np.ndarray, most: int) -> tuple[np.ndarray, np.ndarray]:
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
    sums = [np.bincount(number, column) for column in points.T]
    return np.stack(sums, axis=-1) / count[:, None], number
