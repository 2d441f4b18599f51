"""Commands that study a model: ``linearize``, ``equilibrium``, ``inverse``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np
from casadi import SX

from .. import door
from ..contract.names import EFFORT
from ..equations import Equations
from ..formats import tables
from ..formats.comparison import motion_of
from ..formats.model_files.expressions import evaluate
from ..results.linear_model import NOT_CONSTANT, LinearModel
from . import models
from .group import of_the_command_line
from .models import Study, study_command
from .options import POSITIVE, file_option, hold_option, names_option, plot_option, show, wrote

MOST_STEPS = 10_000_000  # of a motion, as of the rows of a run
PRINTED = 12  # rows and columns of a matrix that is printed


@study_command
@click.option(
    "--at",
    "place",
    type=click.Choice(["equilibrium", "steady", "start"]),
    default="equilibrium",
    show_default=True,
    help="About the equilibrium or the steady motion near the start, or the start itself.",
)
@hold_option
@names_option("--independent", "independent", "A state to keep.  [default: well-conditioned ones]")
@names_option("--output", "outputs", "Any quantity; repeat as needed.  [default: the states]")
def linearize(
    study: Study,
    place: str,
    hold: tuple[str, ...],
    independent: tuple[str, ...],
    outputs: tuple[str, ...],
) -> None:
    """Linear model of MODEL: eigenvalues, frequencies, damping, A, B, C, D.

    On the manifold of all constraints, by exact derivatives: x' = A x + B w, y = C x + D w.

    \b
    Example: mechgraph linearize double_pendulum --set elbow=0.1
    """
    equations, example = study.equations, study.example
    models.check_names(equations, (*hold, *independent, *outputs))
    at: Any = {**example.start, **study.settings.start}
    found = equations.linearize(
        at if place == "start" else _rest(study, place, hold),
        guess=dict(example.guess),
        independent=independent or None,
        outputs=outputs or None,
        **study.constants,
    )
    about = {"q": equations.coordinates, "u": equations.speeds}
    values = {
        key: dict(zip(names, getattr(found, key), strict=True)) for key, names in about.items()
    }
    show({"at": place, **values, **_data(found)}, _text(equations, place, found))


def _rest(study: Study, place: str, hold: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    search = study.equations.equilibrium if place == "equilibrium" else study.equations.steady
    return search(study.near, hold=hold, **study.constants)


def _data(found: LinearModel) -> dict[str, Any]:
    """A linear model for programs."""
    names = ("states", "inputs", "outputs", "A", "B", "C", "D", "constant")
    modes = [] if not found.constant else [_mode(value) for value in found.eigenvalues()]
    return {name: getattr(found, name) for name in names} | {"modes": modes}


def _mode(value: complex) -> dict[str, Any]:
    return {
        "eigenvalue": complex(value),
        "frequency": abs(value.imag) / (2 * np.pi),
        "damping": -value.real / abs(value) if value else 0.0,
    }


def _text(equations: Equations, place: str, found: LinearModel) -> str:
    lines = [
        f"{equations.terms.name}, linear about its {place}:",
        *_state(equations, found.q, found.u),
    ]
    if found.constant:
        lines += ["", f"Modes ({found.stability()})", found.show()]
    else:
        lines += ["", f"Modes: {NOT_CONSTANT}"]
    seen = () if found.outputs == found.states else found.outputs  # C = 1, D = 0
    for name, rows, columns in (
        ("A", found.states, found.states),
        ("B", found.states, found.inputs),
        ("C", seen, found.states),
        ("D", seen, found.inputs),
    ):
        if rows and columns:
            lines += ["", *_matrix(name, getattr(found, name), rows, columns)]
    return "\n".join(lines)


def _matrix(
    name: str, values: np.ndarray, rows: Sequence[str], columns: Sequence[str]
) -> list[str]:
    if max(values.shape) > PRINTED:
        return [f"{name}  {values.shape[0]} by {values.shape[1]}; --json prints it"]
    left, width = max(map(len, rows)), max(14, *(len(each) + 2 for each in columns))
    head = f"{name:<{left}}  " + "".join(f"{each:>{width}}" for each in columns)
    return [
        head,
        *(
            f"{row:<{left}}  " + "".join(f"{each + 0.0:>{width}.6g}" for each in entries)
            for row, entries in zip(rows, values, strict=True)
        ),
    ]


def _state(equations: Equations, q: np.ndarray, u: np.ndarray) -> list[str]:
    """Coordinates, and speeds that are not zero, with units."""
    moving = {name: x for name, x in zip(equations.speeds, u, strict=True) if x}
    return _values(equations, {**dict(zip(equations.coordinates, q, strict=True)), **moving})


def _values(equations: Equations, values: Mapping[str, float]) -> list[str]:
    """Each value with its name and its unit."""
    width = max(map(len, values), default=0)
    units = {name: equations.names.resolve(name).units[0].removeprefix("1") for name in values}
    return [
        f"  {name:<{width}}  {value + 0.0:.9g} {units[name]}".rstrip()
        for name, value in values.items()
    ]


@study_command
@hold_option
@click.option("--steady", is_flag=True, help="A steady motion instead: constant speeds.")
def equilibrium(study: Study, hold: tuple[str, ...], steady: bool) -> None:
    """State of rest of MODEL near its start, and the forces of its constraints there.

    \b
    Example: mechgraph equilibrium double_pendulum
    """
    equations = study.equations
    models.check_names(equations, hold)
    place = "steady" if steady else "equilibrium"
    q, u = _rest(study, place, hold)
    udot, forces = equations.solve(q, u, **study.constants)
    named = {
        "coordinates": dict(zip(equations.coordinates, q, strict=True)),
        "speeds": dict(zip(equations.speeds, u, strict=True)),
        "accelerations": dict(zip(equations.speeds, udot, strict=True)),
        "multipliers": dict(zip(equations.constraints, forces, strict=True)),
    }
    lines = [f"{equations.terms.name}, {place}:", *_state(equations, q, u)]
    if len(forces):
        lines += ["Multipliers of the constraints", *_values(equations, named["multipliers"])]
    lines.append(f"Accelerations there: {np.abs(udot).max(initial=0.0):.2g} at most")
    show({"name": equations.terms.name, "kind": place, **named}, "\n".join(lines))


@study_command
@click.option(
    "--motion",
    "motions",
    metavar="NAME[=EXPRESSION]",
    multiple=True,
    help="A quantity as a function of t, as many as there are freedoms; repeat as needed. Without "
    "an expression: as the column of --table.",
)
@click.option(
    "--table",
    "measured",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A table of the motion over time, or a saved run: splines through its coordinates, or "
    "through what --motion names.",
)
@names_option(
    "--drive", "drives", "An input or speed whose effort is asked for.  [default: all speeds]"
)
@click.option("--duration", type=POSITIVE, help="Seconds.  [default: 1, or all of the table]")
@click.option(
    "--steps",
    type=click.IntRange(1, MOST_STEPS),
    help="[default: 100, or the table's times]",
)
@file_option("--out", f"Write a table ({', '.join(tables.FORMATS)}).", *tables.FORMATS)
@plot_option
def inverse(
    study: Study,
    motions: tuple[str, ...],
    measured: Path | None,
    drives: tuple[str, ...],
    duration: float | None,
    steps: int | None,
    out: Path | None,
    plot: Path | None,
) -> None:
    """Efforts that a motion of MODEL needs.

    The motion is given by functions of the time t, such as 0.3*sin(2*t), or by a table; the rest of
    it follows from the constraints. Efforts are those along all speeds, or those of drives: with
    constraints these must be named, as many as there are freedoms.

    \b
    Example: mechgraph inverse double_pendulum --motion "shoulder=sin(t)" --motion "elbow=0.5*t"
    """
    equations, constants = study.equations, study.constants
    models.check_names(equations, drives)
    known = {**equations.system.defaults, **constants["parameters"]}
    stated = [motion for motion in motions if "=" in motion or measured is None]
    times, motion = _measured(equations, measured, [m for m in motions if m not in stated], stated)
    if measured is None or duration is not None or steps is not None:
        first, last = (times[0], times[-1]) if measured is not None else (0.0, 1.0)
        times = np.linspace(first, first + duration if duration else last, (steps or 100) + 1)
    efforts = equations.inverse_dynamics(
        motion | dict(_prescribed(equations, text, known) for text in stated),
        t=times,
        drives=list(drives) or None,
        guess=study.near,
        **constants,
    )
    names = drives or equations.speeds
    units = {name: _unit(equations, name) for name in names}
    table = door.library("pandas").DataFrame(efforts, columns=list(names), index=times)
    table = table.rename_axis(index="time")
    table.attrs["units"] = units
    columns = {name: efforts[:, k] for k, name in enumerate(names)}
    data = {"name": equations.terms.name, "time": times, "units": units, "efforts": columns}
    show(data, "\n".join(_largest(times, columns, units)))
    if out is not None:
        wrote(tables.write(table, out))
    if plot is not None:
        panels = {
            f"effort ({unit})" if unit else "effort": {
                name: columns[name] for name in names if units[name] == unit
            }
            for unit in dict.fromkeys(units.values())
        }
        door.show.plot.save(door.show.plot.curves(times, panels), plot)
        wrote(plot)


def _measured(
    equations: Equations, table: Path | None, names: list[str], stated: list[str]
) -> tuple[np.ndarray, dict[str, Any]]:
    """Times and functions of time from a table, those of its columns that are asked for."""
    if table is None and not stated:
        raise click.UsageError("give --motion name=expression of t, or a --table of the motion")
    if table is None:
        return np.zeros(0), {}
    with of_the_command_line():
        return motion_of(equations, table, names or None)


def _prescribed(
    equations: Equations, motion: str, parameters: Mapping[str, float]
) -> tuple[str, Callable[[Any], Any]]:
    """A name and a function of time; the text is never run as Python."""
    name, equals, text = motion.partition("=")
    if not (name and equals and text.strip()):
        raise click.UsageError(f"--motion {motion!r}: write name=expression of t, such as x=0.1*t")
    with of_the_command_line():
        equations.names.resolve(name)
        names = {each: SX(value) for each, value in parameters.items()}
        evaluate(text, {**names, "t": equations.terms.symbols.t})
    return name, lambda t: evaluate(text, {**names, "t": t})


def _unit(equations: Equations, name: str) -> str:
    """Of an effort along a speed: what times it is a power."""
    return EFFORT.get(equations.names.resolve(name).units[0].removesuffix("/s"), "")


def _largest(times: np.ndarray, columns: dict[str, np.ndarray], units: dict[str, str]) -> list[str]:
    width = max(map(len, columns))
    lines = [f"{'effort':<{width + 2}}  {'unit':<5}{'least':>14}{'largest':>14}{'rms':>14}"]
    for name, x in columns.items():
        rms = np.sqrt(np.mean(x**2))
        lines.append(
            f"  {name:<{width}}  {units[name]:<5}{x.min():>14.6g}{x.max():>14.6g}{rms:>14.6g}"
        )
    return [*lines, f"over {times[-1] - times[0]:g} s at {len(times)} times"]
