"""A run in motion: an interactive page (one file, nothing from the network) or a moving picture."""

from __future__ import annotations

import base64
import html
import json
import re
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import file_path, is_name, number, write_text
from ..errors import ArgumentError, shown
from ..results.trajectory import Trajectory
from .rasteriser import animation
from .scene import AZIMUTH, ELEVATION, Scene, scene_of

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
        TEMPLATE,
        TITLE=html.escape(title),
        DATA=script_json(_data(scene, title, note, speed)),
    )


def fill(template: Path, **values: str) -> str:
    """The template with every ``__NAME__`` replaced, in one pass, so that what is put in is not
    searched again."""
    text = template.read_text(encoding="utf-8")
    return re.sub(r"__([A-Z]+)__", lambda match: values[match.group(1)], text)


def script_json(value: Any) -> str:
    """JSON that is safe inside a script element."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _data(scene: Scene, title: str, note: str, speed: float) -> dict[str, Any]:
    """The scene as the script of the page reads it: with one array for all poses."""
    poses = np.concatenate([scene.positions, scene.quaternions], axis=-1)
    names = (field.name for field in fields(scene) if field.name not in ("positions", "rotations"))
    return {
        **{name: _plain(getattr(scene, name)) for name in names},
        "title": title,
        "subtitle": note,
        "speed": speed,
        "poses": _packed(poses),
        "azimuth": AZIMUTH,
        "elevation": ELEVATION,
    }


def _plain(value: Any) -> Any:
    """What JSON has: objects by their fields, vectors as numbers, larger arrays packed."""
    if isinstance(value, tuple):
        return [_plain(each) for each in value]
    if isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind == "f":
        return [float(f"{x:.9g}") for x in value]
    if isinstance(value, np.ndarray):
        return _packed(value)
    if is_dataclass(value):
        return {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
    return value


def _packed(values: np.ndarray) -> str:
    """Single-precision numbers, or whole ones of two bytes, as base64."""
    kind = "<f4" if values.dtype.kind == "f" else "<u2"
    return base64.b64encode(np.ascontiguousarray(values, dtype=kind).tobytes()).decode("ascii")
