"""Trajectories in files: arrays and one JSON text; nothing in them is code."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..arguments import file_path, is_name, named, number
from ..errors import ArgumentError, shown
from ..model.description import Description
from ..model.system import System
from .table import WORK
from .trajectory import ENDINGS, FORMAT, Trajectory

KINDS = ("coordinates", "speeds", "inputs", "constraints")
# the columns of every array: none, one, or a kind of names
ARRAYS = {"time": "", "q": "coordinates", "u": "speeds", "w": "inputs"}
STORED = {
    **dict.fromkeys(("kinetic", "potential", "power", "violation"), ""),
    "udot": "speeds",
    "multipliers": "constraints",
}
WORKS = ("supplied", "dissipated")  # there if they were recorded


def load_run(path: str | Path, system: Any = None) -> Trajectory:
    """Read a saved trajectory; with its ``system`` it can compute everything that a fresh one
    can."""
    if not (system is None or isinstance(system, (System, Description))):
        raise ArgumentError(f"load_run: system must be a System, got {shown(system)}")
    path = file_path(path)
    if path.suffix.lower() in ENDINGS[1:]:
        raise ArgumentError(f"{path}: a table, not a run; only .npz keeps a run whole")
    try:
        run = _read(path)
    except OSError as error:
        raise ArgumentError(f"cannot read {path}: {error.strerror or error}") from None
    except Exception as error:  # whatever a file that others wrote makes of it
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
    if not (is_name(meta["name"]) and is_name(meta["outcome"])):
        raise ValueError("name and outcome must be texts")
    columns = {kind: _names(meta["columns"][kind]) for kind in KINDS}
    modes, further = (
        {key.removeprefix(kind): arrays[key] for key in arrays if key.startswith(kind)}
        for kind in ("mode ", "state ")
    )
    works = [*(WORKS if WORKS[0] in arrays else ()), *(k for k in arrays if k.startswith(WORK))]
    stored = {key: arrays[key] for key in (*STORED, *works)}
    states = {key: arrays[key] for key in ARRAYS}
    for key, array in {**states, **stored, **modes, **further}.items():
        kind = {**ARRAYS, **STORED}.get(key, "")
        wanted = (states["time"].size, *([len(columns[kind])] if kind else []))
        if array.shape != wanted or array.dtype.kind != "f":
            raise ValueError(f"{key} is no array of {wanted} numbers")
    if not (np.isfinite(states["time"]).all() and (np.diff(states["time"]) >= 0).all()):
        raise ValueError("its times do not go on")
    return Trajectory(
        name=meta["name"],
        **states,
        parameters=_numbers(meta["parameters"]),
        columns=columns,
        outcome=meta["outcome"],
        statistics=named("statistics", meta["statistics"]),
        events={
            key: np.array([number(key, moment) for moment in moments])
            for key, moments in named("events", meta["events"]).items()
        },
        stored=stored,
        modes=modes,
        further=further,
        units=_texts(meta.get("units", {})),
    )


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
