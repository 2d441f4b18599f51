"""Trajectories in files: arrays and one JSON text; nothing in them is code."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import ArgumentError
from .trajectory import FORMAT, Trajectory


def load(path: str | Path, system: Any = None) -> Trajectory:
    """Read a saved trajectory; with its ``system`` it can compute everything that a fresh one
    can."""
    try:
        run = _read(Path(path))
    except (
        AttributeError,
        KeyError,
        TypeError,
        ValueError,
        OSError,
        EOFError,
        zipfile.BadZipFile,
    ) as error:
        raise ArgumentError(
            f"{path}: not a trajectory saved by mechgraph ({type(error).__name__}: {error})"
        ) from None
    if system is None:
        return run
    equations = system.equations(run.statistics.get("formalism"))
    for kind, names in (
        ("coordinates", equations.coordinates),
        ("speeds", equations.speeds),
        ("inputs", equations.inputs),
    ):
        if run.columns[kind] != names:
            raise ArgumentError(
                f"{path}: its {kind} {run.columns[kind]} are not those of system {system.name!r}"
            )
    return replace(run, equations=equations)


def _read(path: Path) -> Trajectory:
    with np.load(path, allow_pickle=False) as file:
        meta = json.loads(str(file["meta"]))
        arrays = {key: file[key] for key in file.files if key != "meta"}
    if meta["format"] != FORMAT:
        raise ValueError(
            f"format {meta['format']!r} is not known to this version, which reads {FORMAT}"
        )
    columns = {key: tuple(value) for key, value in meta["columns"].items()}
    states = {key: arrays.pop(key) for key in ("time", "q", "u", "w")}
    modes = {
        key.removeprefix("mode "): arrays.pop(key)
        for key in list(arrays)
        if key.startswith("mode ")
    }
    shapes = {
        "time": (),
        "q": columns["coordinates"],
        "u": columns["speeds"],
        "w": columns["inputs"],
    }
    for key, names in shapes.items():
        wanted = (len(states["time"]), *([len(names)] if key != "time" else []))
        if states[key].shape != wanted:
            raise ValueError(f"{key} has the shape {states[key].shape}, not {wanted}")
    return Trajectory(
        name=meta["name"],
        **states,
        parameters=meta["parameters"],
        columns=columns,
        outcome=meta["outcome"],
        statistics=meta["statistics"],
        events={key: np.array(value) for key, value in meta["events"].items()},
        stored=arrays,
        modes=modes,
    )
