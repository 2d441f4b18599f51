"""Model files: a ``System`` as YAML or JSON, and back. Nothing in them is ever executed.

    mechgraph: 1
    name: crane
    gravity: [0, 0, -9.81]
    parameters: {rope: 3 m}
    bodies:
      load: {mass: 50, com: [0, 0, "-rope"], inertia: 0}
    joints:
      swing: {type: revolute, parent: ground, child: load, axis: y}

Sections hold elements by name; an element has the words and arguments that ``System`` has for it.
Where a number stands, a text is an expression (see ``expressions.py``).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
from casadi import SX

from ...arguments import file_path, write_text
from ...errors import ArgumentError, ModelError
from ...model.description import Description
from ...model.system import System
from ...tables.table import Table
from ..robots import save_mjcf, save_urdf
from . import document
from .sections import SUFFIXES, ModelFile, Reading, text_of
from .writing import Writing


def load(path: str | Path) -> System:
    """The system in a model file (``.yaml``, ``.yml`` or ``.json``)."""
    return read(path).system


def read(path: str | Path) -> ModelFile:
    """All that a model file says. What is wrong is told with lines, all of it at once."""
    path = file_path(path)
    if path.suffix.lower() not in SUFFIXES:
        hint = "; mg.load_run reads a saved run" if path.suffix == ".npz" else ""
        raise ArgumentError(f"{path.name}: a model file ends in {', '.join(SUFFIXES)}{hint}")
    try:
        return parse(text_of(path), path.suffix.lower() == ".json", path.parent)
    except ModelError as error:
        raise ModelError(
            f"{path.name}, {problem}" if problem.startswith("line ") else f"{path.name}: {problem}"
            for problem in error.problems
        ) from None


def parse(text: str, is_json: bool = False, folder: Path | None = None) -> ModelFile:
    """All that a text in the format of model files says; ``folder`` is where files that it names
    are."""
    root = document.read(text, is_json)
    return Reading(root, folder or Path()).model_file()


ROBOTS = {".urdf": save_urdf, ".xml": save_mjcf}


def save(system: System | Description, path: str | Path, **about: Any) -> Path:
    """Write a system to a file, by its ending: YAML or JSON, URDF or MJCF (.xml).

    about: title, start, guess, duration and options, for model files.
    """
    path = file_path(path)
    said = system.snapshot() if isinstance(system, System) else system
    if path.suffix.lower() in ROBOTS:
        return ROBOTS[path.suffix.lower()](said, path)
    if path.suffix.lower() not in SUFFIXES:
        known = ", ".join((*SUFFIXES, *ROBOTS))
        raise ArgumentError(f"{path.name}: a model file ends in one of {known}")
    text = write(system, path.suffix.lower() == ".json", path.parent, **about)
    return write_text(path, text)


def write(
    system: System | Description, as_json: bool = False, folder: Path | None = None, **about: Any
) -> str:
    """A system in the format of model files; meshes in the ``folder`` are named from there."""
    data = as_data(system, folder, **about)
    return document.json_text(data) if as_json else document.yaml_text(data)


def as_data(
    system: System | Description, folder: Path | None = None, **about: Any
) -> dict[str, Any]:
    """A system as plain mappings, lists, texts and numbers. What cannot be written is named."""
    said = system.snapshot() if isinstance(system, System) else system
    left: list[str] = []
    writing = Writing(said, folder)
    told = {key: kept for key, each in about.items() if (kept := _plain(key, each, writing, left))}
    data = writing.data()
    if left:
        names = ", ".join(dict.fromkeys(left))
        warnings.warn(f"what is no plain data is not written: {names}", stacklevel=4)
    first = {key: told.pop(key) for key in ("title",) if key in told}
    return {"mechgraph": data["mechgraph"], **first, **data, **told}


def _plain(name: str, value: Any, writing: Writing, left: list[str]) -> Any:
    """A setting of a run as mappings, lists, texts (also of expressions) and finite numbers; what
    is none of them is left out, and its name is noted."""
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, Mapping):
        kept = {key: _plain(f"{name}: {key}", each, writing, left) for key, each in value.items()}
        return {key: each for key, each in kept.items() if each is not None}
    if isinstance(value, (list, tuple)):
        items = [_plain(name, each, writing, left) for each in value]
        return None if None in items else items
    if isinstance(value, (str, bool, int)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, (SX, Table)):
        with suppress(ModelError):
            return writing._value(value)
    if value is not None:
        left.append(name)
    return None
