"""Looks of bodies, as another program's file tells them: nothing but pictures knows of them, and no
two descriptions differ by them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from .contact.surfaces import Surface


@dataclass(frozen=True, eq=False)
class Mesh:
    """Triangles at a place on a body: of a file, which is read when they are drawn, or as they
    are."""

    at: np.ndarray
    rotation: np.ndarray
    color: str | None = None  # "#rrggbb"
    scale: np.ndarray | None = None  # of a file, along its axes
    file: Path | None = None
    vertices: np.ndarray | None = None  # (n, 3)
    faces: np.ndarray | None = None  # (m, 3), numbers of vertices
    source: Mesh | None = None  # the same by its file, if triangles are known already


Visual = Surface | Mesh
