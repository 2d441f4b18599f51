"""Meshes in model files: where they are on a body, and the names of the files that they are read
from when they are drawn."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np

from ..errors import ModelError, shown, unknown
from ..model.bodies import Marker
from ..model.visuals import Mesh

MESHES = (".stl", ".obj", ".dae")
KINDS = ", ".join(MESHES)
KEYS = ("mesh", "scale", "at", "orientation", "color")


def as_data(mesh: Mesh, folder: Path | None) -> dict[str, Any] | None:
    """A mesh as plain data, its file beside the model if it is there; None if it is of no file."""
    mesh = mesh.source or mesh
    if mesh.file is None:
        return None
    file = mesh.file.resolve()
    if folder is not None and file.is_relative_to(folder.resolve()):
        file = file.relative_to(folder.resolve())
    data: dict[str, Any] = {"mesh": file.as_posix()}
    if mesh.scale is not None and np.any(mesh.scale != 1):
        data["scale"] = [float(x) for x in mesh.scale]
    if np.any(mesh.at):
        data["at"] = [float(x) for x in mesh.at]
    if np.any(mesh.rotation != np.eye(3)):
        data["orientation"] = [[float(x) for x in row] for row in mesh.rotation]
    return data if mesh.color is None else {**data, "color": mesh.color}


def mesh_of(given: dict[str, Any], place: Marker, folder: Path) -> Mesh:
    """The mesh that a file of the ``folder`` tells of, at a place on its body."""
    for key in given:
        if key not in KEYS:
            raise ModelError(unknown("argument", key, KEYS))
    file, color = given["mesh"], given.get("color")
    if not isinstance(file, str) or Path(file).suffix.lower() not in MESHES:
        raise ModelError(f"mesh must be the name of a file {KINDS}, got {shown(file)}")
    if color is not None and not re.fullmatch(r"#[0-9a-f]{6}", str(color)):
        raise ModelError(f"color must be such as '#cc0000', got {shown(color)}")
    scale = np.broadcast_to(_numbers(given.get("scale", 1.0), "scale").ravel(), 3)
    at, rotation = _numbers(place.at, "at").ravel(), _numbers(place.rotation, "orientation")
    return Mesh(at, rotation, color, scale, folder / file)


def _numbers(value: Any, what: str) -> np.ndarray:
    try:
        found = np.array(ca.DM(ca.evalf(ca.SX(value))))
    except Exception:  # whatever CasADi makes of it
        raise ModelError(f"{what} of a mesh must be numbers, got {shown(value)}") from None
    if found.size not in (1, 3, 9):
        raise ModelError(f"{what} of a mesh must be a number or three, got {shown(value)}")
    return found
