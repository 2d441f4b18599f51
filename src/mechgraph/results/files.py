"""Trajectories in files: arrays and one JSON text; nothing in them is code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import file_path, is_name, named, number, replacing
from ..errors import ArgumentError, shown
from .table import WORK, WORKS, unit_of

if TYPE_CHECKING:
    from .trajectory import Trajectory

FORMAT = 1
ENDINGS = (".npz", ".csv", ".parquet", ".xlsx", ".mat", ".h5")
KINDS = ("coordinates", "speeds", "inputs", "constraints")
# the columns of every array: none, one, or a kind of names
STATES = {"time": "", "q": "coordinates", "u": "speeds", "w": "inputs"}
STORED = {
    **dict.fromkeys(("kinetic", "potential", "power", "violation"), ""),
    "udot": "speeds",
    "multipliers": "constraints",
}


def saved_path(path: Any) -> Path:
    """Where a trajectory is saved: a name without an ending gets that of the format that keeps it
    whole; «v1.5» has none."""
    path = file_path(path)
    if path.name.lower() in ENDINGS:
        raise ArgumentError(f"{path} is an ending without a name; write run{path.name}")
    ending = path.suffix.lower()
    if ending in ENDINGS:
        return path.with_suffix(ending)
    if ending[1:2].isalpha():
        raise ArgumentError(f"{path}: a run is saved as {', '.join(ENDINGS)}, not {ending}")
    return path.with_name(f"{path.name}.npz")


def write(run: Trajectory, path: Path) -> None:
    """Write a run whole: what it has and what it can compute of itself."""
    meta = {
        "format": FORMAT,
        "name": run.name,
        "columns": {key: list(value) for key, value in run.columns.items()},
        "units": {name: unit_of(run, name) for names in run.columns.values() for name in names},
        "parameters": dict(run.parameters),
        "outcome": run.outcome,
        "statistics": dict(run.statistics),
        "events": {key: list(map(float, value)) for key, value in run.events.items()},
    }
    arrays = {name: getattr(run, name) for name in (*STATES, *STORED)}
    arrays |= run._works if run._accounted else {}
    arrays |= {key: values for key, values in run.stored.items() if key.startswith(WORK)}
    arrays |= {f"mode {name}": values for name, values in run.modes.items()}
    arrays |= {f"state {name}": values for name, values in run.further.items()}
    with replacing(path) as file:
        np.savez_compressed(file, meta=np.array(json.dumps(meta)), **arrays)


def read(path: Path) -> dict[str, Any]:
    """What a trajectory is made of."""
    with np.load(path, allow_pickle=False) as file:
        meta = json.loads(str(file["meta"]))
        arrays = {key: file[key] for key in file.files if key != "meta"}
    if meta["format"] != FORMAT:
        raise ValueError(
            f"format {meta['format']!r} is not known to this version, which reads {FORMAT}"
        )
    if not (is_name(meta["name"]) and is_name(meta["outcome"])):
        raise ValueError("name and outcome must be texts")
    columns = {kind: _names(meta["columns"][kind]) for kind in KINDS}
    modes, further = (
        {key.removeprefix(kind): arrays[key] for key in arrays if key.startswith(kind)}
        for kind in ("mode ", "state ")
    )
    works = [*(WORKS if WORKS[0] in arrays else ()), *(k for k in arrays if k.startswith(WORK))]
    stored = {key: arrays[key] for key in (*STORED, *works)}
    states = {key: arrays[key] for key in STATES}
    for key, array in {**states, **stored, **modes, **further}.items():
        kind = {**STATES, **STORED}.get(key, "")
        wanted = (states["time"].size, *([len(columns[kind])] if kind else []))
        if array.shape != wanted or array.dtype.kind != "f":
            raise ValueError(f"{key} is no array of {wanted} numbers")
    if not (np.isfinite(states["time"]).all() and (np.diff(states["time"]) >= 0).all()):
        raise ValueError("its times do not go on")
    return {
        "name": meta["name"],
        **states,
        "parameters": _numbers(meta["parameters"]),
        "columns": columns,
        "outcome": meta["outcome"],
        "statistics": named("statistics", meta["statistics"]),
        "events": {
            key: np.array([number(key, moment) for moment in moments])
            for key, moments in named("events", meta["events"]).items()
        },
        "stored": stored,
        "modes": modes,
        "further": further,
        "units": _texts(meta.get("units", {})),
    }


def _names(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(map(is_name, values)):
        raise ValueError(f"{shown(values)} is no list of names")
    return tuple(values)


def _texts(values: Any) -> Mapping[str, str]:
    if not all(isinstance(value, str) for value in named("units", values).values()):
        raise ValueError("units must be texts")
    return dict(values)


def _numbers(values: Any) -> Mapping[str, float]:
    return {key: number(key, value) for key, value in named("parameters", values).items()}
