"""A run in motion: an interactive page (one file, nothing from the network) or a moving picture."""

from __future__ import annotations

import base64
import html
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import file_path, is_name, number, write_text
from ..errors import ArgumentError, shown
from ..results.trajectory import Trajectory
from .meshes import Triangles
from .picture import AZIMUTH, ELEVATION, animation
from .scene import Link, Scene, Trail, scene_of
from .shells import Shell
from .solids import BoxSolid, Rod, Solid

TEMPLATE = Path(__file__).with_name("view.html")


@dataclass(frozen=True)
class Page:
    """An interactive page; notebooks show it, ``str`` is its HTML."""

    html: str
    height: int = 520

    def __str__(self) -> str:
        return self.html

    def _repr_html_(self) -> str:
        return (
            f'<iframe srcdoc="{html.escape(self.html)}" '
            f'style="width:100%;height:{self.height}px;border:0;border-radius:10px" '
            'title="animation"></iframe>'
        )


def view(
    run: Trajectory,
    path: str | Path | None = None,
    *,
    speed: float = 1.0,
    title: str | None = None,
    **options: Any,
) -> Any:
    """Show a run: ``path`` ending in .html writes an interactive page, in .gif a moving picture;
    each returns its path.

    Without a path the page is returned; notebooks display it. ``speed`` is how fast time runs;
    ``options`` of a moving picture are ``size`` (pixels) and ``frames`` a second.
    """
    if not len(run):
        raise ArgumentError("there is nothing to see: the run is empty")
    speed, title = number("speed", speed, positive=True), run.name if title is None else title
    if not is_name(title):
        raise ArgumentError(f"title must be a text in one line, got {shown(title)}")
    target = None if path is None else file_path(path)
    if target is not None and target.suffix.lower() == ".gif":
        return animation(scene_of(run), target, speed, title, **options)
    if target is not None and target.suffix.lower() not in (".html", ".htm"):
        raise ArgumentError(f"{target}: the view is written as .html (interactive) or .gif")
    if options:
        raise ArgumentError(f"an interactive page has no option {', '.join(options)}")
    page = Page(page_of(scene_of(run), title, subtitle(run), speed))
    if target is None:
        return page
    return write_text(target, page.html)


def subtitle(run: Trajectory) -> str:
    """How the run was made, in a few words."""
    how = [str(run.statistics[key]) for key in ("formalism", "method") if key in run.statistics]
    return " · ".join([*how, f"{run.time[-1] - run.time[0]:g} s"])


def page_of(scene: Scene, title: str, note: str, speed: float) -> str:
    """The page: the template with its title and its data, which cannot end the script that they
    stand in."""
    return fill(
        TEMPLATE.read_text(encoding="utf-8"),
        TITLE=html.escape(title),
        DATA=script_json(_data(scene, title, note, speed)),
    )


def fill(template: str, **values: str) -> str:
    """The template with every ``__NAME__`` replaced, in one pass, so that what is put in is not
    searched again."""
    return re.sub(r"__([A-Z]+)__", lambda match: values[match.group(1)], template)


def script_json(value: Any) -> str:
    """JSON that is safe inside a script element."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _data(scene: Scene, title: str, note: str, speed: float) -> dict[str, Any]:
    """The data that the script of the page reads."""
    poses = np.concatenate([scene.positions, scene.quaternions], axis=-1)
    return {
        "title": title,
        "subtitle": note,
        "speed": speed,
        "time": [round(float(t), 6) for t in scene.time],
        "solids": [_solid(solid) for solid in scene.solids],
        "poses": _packed(poses),
        "trails": [_trail(trail) for trail in scene.trails],
        "links": [_link(link) for link in scene.links],
        "up": _numbers(scene.up),
        "floor": scene.floor,
        "centre": _numbers(scene.centre),
        "radius": scene.radius,
        "path": None if scene.path is None else _packed(scene.path),
        "across": _numbers(scene.across),
        "thickness": scene.thickness,
        "azimuth": AZIMUTH,
        "elevation": ELEVATION,
    }


def _solid(solid: Solid) -> dict[str, Any]:
    return {
        "name": solid.name,
        "color": solid.color,
        "rods": [_rod(rod) for rod in solid.rods],
        "boxes": [_box(box) for box in solid.boxes],
        "shells": [_shell(shell) for shell in solid.shells],
        "meshes": [_mesh(mesh) for mesh in solid.meshes],
    }


def _rod(rod: Rod) -> dict[str, Any]:
    return {
        "a": _numbers(rod.a),
        "b": _numbers(rod.b),
        "radius": float(rod.radius),
        "color": rod.color,
    }


def _box(box: BoxSolid) -> dict[str, Any]:
    return {
        "centre": _numbers(box.centre),
        "half": _numbers(box.half),
        "axes": [_numbers(axis) for axis in box.axes.T],
        "color": box.color,
    }


def _shell(shell: Shell) -> dict[str, Any]:
    rows, columns = shell.points.shape[:2]
    chosen = [[shell.tone(i, j) for j in range(columns - 1)] for i in range(rows - 1)]
    return {
        "rows": rows,
        "columns": columns,
        "points": _packed(shell.points),
        "normals": _packed(shell.normals),
        "tones": shell.tones,
        "chosen": chosen,
    }


def _mesh(mesh: Triangles) -> dict[str, Any]:
    return {
        "points": _packed(mesh.points),
        "faces": base64.b64encode(mesh.faces.astype("<u2").tobytes()).decode("ascii"),
        "color": mesh.color,
    }


def _trail(trail: Trail) -> dict[str, Any]:
    return {"name": trail.name, "color": trail.color, "points": _packed(trail.points)}


def _link(link: Link) -> dict[str, Any]:
    path = [_numbers(point) for point in link.path]
    return {"name": link.name, "path": path, "ends": _packed(link.ends)}


def _numbers(vector: np.ndarray) -> list[float]:
    return [float(f"{x:.7g}") for x in vector]


def _packed(values: np.ndarray) -> str:
    """Single-precision numbers as base64."""
    return base64.b64encode(np.ascontiguousarray(values, dtype="<f4").tobytes()).decode("ascii")
