"""Surfaces as they are drawn: grids of points with their normals, in tones that let one see them
turn."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
        """Bright and dark, of the upper and of the lower half."""
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
        """Of a box around it."""
        low, high = self.points.min(axis=(0, 1)), self.points.max(axis=(0, 1))
        return np.array(
            [
                [x, y, z]
                for x in (low[0], high[0])
                for y in (low[1], high[1])
                for z in (low[2], high[2])
            ]
        )


def shell_of(surface: Surface, constant: Callable[[SX], np.ndarray], color: str) -> Shell | None:
    """What is drawn of a surface; None for planes, points, hollow and endless ones, and those known
    by an equation alone."""
    if getattr(surface, "inside", False):
        return None
    numbers = {
        key: constant(value) for key, value in vars(surface).items() if isinstance(value, SX)
    }
    sizes = {key: float(value.item()) for key, value in numbers.items() if value.size == 1}
    stretch = numbers["semiaxes"] if isinstance(surface, Ellipsoid) else np.ones(3)
    profile = _profile(surface, sizes)
    return (
        None if profile is None else _placed(surface, constant, _revolved(profile), stretch, color)
    )


def edges_of(surface: Surface, constant: Callable[[SX], np.ndarray]) -> np.ndarray | None:
    """The sides of a box; None for other surfaces."""
    return constant(surface.sides) if isinstance(surface, Box) else None


def _profile(surface: Surface, sizes: dict[str, float]) -> Profile | None:
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
            reach = np.arccos(
                max(1 - 0.5 * sizes["radius"] / sizes["arc"], 0.0)
            )  # to where it is half as thick
            return _arc(
                sizes["radius"] - sizes["arc"], sizes["arc"], np.linspace(-reach, reach, ALONG + 1)
            )
    return None


def _arc(middle: float, radius: float, angles: np.ndarray) -> Profile:
    """A circle's arc about (middle, 0), the angles from the direction of r."""
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
    points = [
        (0, -half),
        (radius, -half),
        (radius, -half),
        (radius, half),
        (radius, half),
        (0, half),
    ]
    normals = [(0, -1), (0, -1), (1, 0), (1, 0), (0, 1), (0, 1)]
    return np.array(points, dtype=float), np.array(normals, dtype=float)


def _revolved(profile: Profile) -> tuple[np.ndarray, np.ndarray]:
    """Points and normals of the surface about z, (rows, columns, 3)."""
    angle = np.linspace(0, 2 * np.pi, AROUND + 1)
    c, s = np.cos(angle), np.sin(angle)
    points, normals = (
        np.stack(
            [np.outer(p[:, 0], c), np.outer(p[:, 0], s), np.repeat(p[:, 1:], AROUND + 1, axis=1)],
            axis=-1,
        )
        for p in profile
    )
    return points, normals


def _placed(
    surface: Surface,
    constant: Callable[[SX], np.ndarray],
    made: tuple[np.ndarray, np.ndarray],
    stretch: np.ndarray,
    color: str,
) -> Shell:
    """Stretched along the marker's axes and put on its body."""
    R, at = constant(surface.marker.rotation).reshape(3, 3), constant(surface.marker.at)
    points, normals = made[0] * stretch, made[1] / stretch
    return Shell(
        points @ R.T + at, normals / np.linalg.norm(normals, axis=-1, keepdims=True) @ R.T, color
    )
