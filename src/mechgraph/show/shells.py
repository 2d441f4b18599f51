"""Surfaces as they are drawn: grids of points with their normals, in tones that let one see them
turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product

import numpy as np
from casadi import SX

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

AROUND, ALONG = 32, 14  # quads about the axis, and from end to end of a curved profile
SECTORS = 4  # bright and dark in turn
DARK, PALE = 0.72, 0.4  # of the dark sectors; how much white is in the lower half
THIN = 0.05  # half the thickness of what is drawn for a disc, over its radius

Profile = tuple[np.ndarray, np.ndarray]  # points (r, z) and their outward normals


@dataclass(frozen=True)
class Shell:
    """Points (rows, columns, 3) of a surface in the frame of its body, and outward normals
    there."""

    points: np.ndarray
    normals: np.ndarray
    color: str

    @property
    def tones(self) -> list[str]:
        """Colours: bright and dark of the upper half, then of the lower half."""
        bright = np.array([int(self.color[k : k + 2], 16) for k in (1, 3, 5)])
        pale = bright + PALE * (255 - bright)
        tones = (bright, DARK * bright, pale, DARK * pale)
        return ["#" + "".join(f"{round(float(channel)):02x}" for channel in tone) for tone in tones]

    def tone(self, row: int, column: int) -> int:
        """Which of the tones the quad behind a row and a column has."""
        lower = row + 1 < len(self.points) / 2
        return 2 * lower + column * SECTORS // AROUND % 2

    @property
    def radius(self) -> float:
        """Half its largest extent along an axis."""
        return float(np.ptp(self.points, axis=(0, 1)).max()) / 2

    @property
    def corners(self) -> np.ndarray:
        """The corners of a box around it."""
        low, high = self.points.min(axis=(0, 1)), self.points.max(axis=(0, 1))
        return np.array(list(product(*zip(low, high, strict=True))))


def shell_of(surface: Surface, constant: Callable[[SX], np.ndarray], color: str) -> Shell | None:
    """The shell that is drawn for a surface; None for planes, points, hollow and endless ones, and
    those known by an equation alone."""
    if getattr(surface, "inside", False):
        return None
    expressions = {key: value for key, value in vars(surface).items() if isinstance(value, SX)}
    numbers = {key: constant(value) for key, value in expressions.items()}
    sizes = {key: float(value.item()) for key, value in numbers.items() if value.size == 1}
    profile = _profile(surface, sizes)
    if profile is None:
        return None
    points, normals = _revolved(profile)
    if isinstance(surface, Ellipsoid):  # a unit sphere, stretched
        points, normals = points * numbers["semiaxes"], normals / numbers["semiaxes"]
        normals = normals / np.linalg.norm(normals, axis=-1, keepdims=True)
    R, at = constant(surface.marker.rotation), constant(surface.marker.at)
    return Shell(points @ R.T + at, normals @ R.T, color)


def edges_of(surface: Surface, constant: Callable[[SX], np.ndarray]) -> np.ndarray | None:
    """The sides of a box; None for other surfaces."""
    return constant(surface.sides) if isinstance(surface, Box) else None


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


def _revolved(profile: Profile) -> tuple[np.ndarray, np.ndarray]:
    """Points and normals of the surface about z, (rows, columns, 3)."""
    angle = np.linspace(0, 2 * np.pi, AROUND + 1)
    c, s, one = np.cos(angle), np.sin(angle), np.ones(AROUND + 1)

    def turned(p: np.ndarray) -> np.ndarray:
        r, z = p.T
        return np.stack([np.outer(r, c), np.outer(r, s), np.outer(z, one)], axis=-1)

    points, normals = profile
    return turned(points), turned(normals)
