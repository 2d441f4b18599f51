"""A run against a table: of measurements, of another program, or of another run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.interpolate import CubicSpline

from .. import door
from ..arguments import file_path, listed, named, number, one_of
from ..errors import ArgumentError, shown
from ..results.table import common
from ..results.trajectory import Trajectory, load_run
from ..tables.constructors import spline
from ..tables.table import Table
from .tables import read
from .units_of_measure import measured, respelled

if TYPE_CHECKING:
    import pandas as pd

    from ..equations import Equations

TIMES = ("time", "t")
MOST_PANELS = 40  # of one figure


@dataclass(frozen=True)
class Error:
    """How far one column is off: the largest error and when, the root of the mean square, and the
    largest error relative to the largest number of the table."""

    column: str
    unit: str
    largest: float
    at: float
    rms: float
    relative: float
    rows: int


@dataclass(frozen=True, eq=False, repr=False)
class Comparison:
    """The errors of each column; ``time``, ``ours``, ``theirs`` are what was compared. Prints as a
    table.

    ``left_out`` are columns of the other that mean nothing here, ``outside`` the number of its
    times before or after the run.
    """

    name: str
    errors: tuple[Error, ...]
    time: np.ndarray
    ours: Mapping[str, np.ndarray]
    theirs: Mapping[str, np.ndarray]
    left_out: tuple[str, ...] = ()
    outside: int = 0

    def __getitem__(self, column: str) -> Error:
        names = [error.column for error in self.errors]
        return self.errors[names.index(one_of("column", column, names))]

    def beyond(self, relative: float = 0.0, absolute: float = 0.0) -> tuple[str, ...]:
        """Columns that are off by more than ``absolute`` plus ``relative`` times their largest
        number."""
        part, least = number("relative", relative), number("absolute", absolute)
        scales = {name: np.nanmax(np.abs(values)) for name, values in self.theirs.items()}
        wrong = (e for e in self.errors if not e.largest <= least + part * scales[e.column])
        return tuple(error.column for error in wrong)

    def within(self, relative: float = 0.0, absolute: float = 0.0) -> bool:
        """True if no column is ``beyond`` that."""
        return not self.beyond(relative, absolute)

    def plot(self, path: str | Path | None = None) -> Any:
        """Both curves of each column, and below them how far they differ; saved to ``path`` if
        given."""
        if 2 * len(self.errors) > MOST_PANELS:
            raise ArgumentError(
                f"{len(self.errors)} columns are too many for a figure; name up to "
                f"{MOST_PANELS // 2} columns="
            )
        panels: dict[str, dict[str, np.ndarray]] = {}
        for error in self.errors:
            ours, theirs = self.ours[error.column], self.theirs[error.column]
            title = f"{error.column} ({error.unit})" if error.unit else error.column
            panels |= {title: {"run": ours, "table": theirs}}
            panels |= {f"{title}: run − table": {"": ours - theirs}}
        figure = door.show.plot.curves(self.time, panels, title=self.name, dashed=["table"])
        if path is not None:
            door.show.plot.save(figure, path)
        return figure

    def __str__(self) -> str:
        width = max(len(error.column) for error in self.errors)
        head = f"  {'column':<{width}}  {'unit':<6}{'largest error':>14}{'at time':>10}"
        lines = [f"{self.name}, at {len(self.time)} times", f"{head}{'rms':>12}{'relative':>12}"]
        for e in self.errors:
            numbers = f"{e.largest:>14.3g}{e.at:>10.4g}{e.rms:>12.3g}{e.relative:>12.2g}"
            lines.append(f"  {e.column:<{width}}  {e.unit:<6}{numbers}")
        if self.outside:
            lines.append(f"  {self.outside} times of the table are outside of the run")
        if self.left_out:
            lines.append(f"  not compared: {', '.join(self.left_out)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        worst = max((e.relative for e in self.errors if np.isfinite(e.relative)), default=0.0)
        columns = f"{len(self.errors)} column{'s' * (len(self.errors) != 1)}"
        return f"<Comparison {self.name}: {columns}, {worst:.2g} relative at most>"


def compare(
    run: Trajectory, other: Any, columns: Any = None, time: Any = None, shift: Any = 0.0
) -> Comparison:
    """See ``Trajectory.compare``."""
    if not len(run):
        raise ArgumentError("there is nothing to compare: the run is empty")
    name, table = table_of(other, columns)
    times = times_of(table, time) + number("shift", shift)
    pairs, left_out = _pairs(run, table, columns)
    inside = (times >= run.time[0]) & (times <= run.time[-1])
    if not inside.any():
        raise ArgumentError(
            f"the times of the table, {_span(times)}, are not those of the run, {_span(run.time)}; "
            "shift= moves them"
        )
    ours, theirs, errors = {}, {}, []
    for column, (unit, own, values) in pairs.items():
        ours[column] = interpolated(run.time, own, times[inside])
        theirs[column] = values[inside]
        if unit == "rad":
            theirs[column] = _unwound(theirs[column], ours[column])
        errors.append(_error(column, unit, times[inside], ours[column], theirs[column]))
    title = f"{run.name} and {name}"
    moments, outside = times[inside], int((~inside).sum())
    return Comparison(title, tuple(errors), moments, ours, theirs, left_out, outside)


# --- the other ------------------------------------------------------------------------------------


def table_of(other: Any, columns: Any) -> tuple[str, pd.DataFrame]:
    """What it is called, and its columns, the times among them."""
    pd = door.library("pandas")
    if isinstance(other, (str, Path)):
        path = file_path(other)
        if path.suffix.lower() != ".npz":
            return path.name, read(path)
        other = load_run(path)
    if isinstance(other, Trajectory):
        wanted = columns.values() if isinstance(columns, Mapping) else columns
        return other.name, _flat(
            other.table(*(() if wanted is None else listed("columns", wanted)))
        )
    if isinstance(other, pd.DataFrame):
        return "a table", _flat(other)
    try:
        return "a table", pd.DataFrame(named("other", other))
    except (ValueError, TypeError):
        raise ArgumentError(
            f"compare: expected a run, a table or a file of one, got {shown(other)}"
        ) from None


def _flat(table: pd.DataFrame) -> pd.DataFrame:
    """Times that are the index become a column."""
    if any(str(name).lower() in TIMES for name in table.columns):
        return table
    out = table.rename_axis(index=table.index.name or "time").reset_index()
    out.attrs = table.attrs
    return out


def times_of(table: pd.DataFrame, time: Any) -> np.ndarray:
    """The times of a table in seconds; ``time`` is the name of their column, if they have
    another."""
    headers = [str(name) for name in table.columns]
    if time is None:
        time = next((name for name in headers if name.lower() in TIMES), None)
        if time is None:
            raise ArgumentError(f"no column is called time; say time=, one of {', '.join(headers)}")
    one_of("column of times", time, headers)
    times = numbers_of(table, time)
    if times is None or not times.size or not np.isfinite(times).all():
        raise ArgumentError(f"the times {time!r} are not all numbers")
    return times * factor_of(time, unit_in(table, time), "s")


def numbers_of(table: pd.DataFrame, name: str) -> np.ndarray | None:
    """A column as numbers; None if it is none."""
    column = table[name]
    if column.ndim > 1:
        raise ArgumentError(f"two columns of the table are called {name!r}")
    try:
        return column.to_numpy(dtype=float)
    except (TypeError, ValueError):
        return None


def unit_in(table: pd.DataFrame, name: str) -> str:
    """The unit that a table says of a column."""
    return str(table.attrs.get("units", {}).get(name, ""))


# --- columns --------------------------------------------------------------------------------------


def _pairs(
    run: Trajectory, table: pd.DataFrame, columns: Any
) -> tuple[dict[str, tuple[str, np.ndarray, np.ndarray]], tuple[str, ...]]:
    """By our name: its unit, our values, and theirs in that unit; and what was left out."""
    headers = [str(name) for name in table.columns if str(name).lower() not in TIMES]
    own = common(run, headers) if columns is None else run.table(*_asked(columns))
    names = _wanted(headers, own, columns)
    found = {}
    for ours, theirs in names.items():
        values, unit = numbers_of(table, theirs), own.attrs["units"][ours]
        if values is None or not np.isfinite(values).any():
            raise ArgumentError(f"the column {theirs!r} of the table has no numbers")
        factor = factor_of(theirs, unit_in(table, theirs), unit)
        found[ours] = (unit, own[ours].to_numpy(), factor * values)
    return found, tuple(name for name in headers if name not in names.values())


def _asked(columns: Any) -> list[str]:
    """Our names of the columns."""
    return list(columns) if isinstance(columns, Mapping) else listed("columns", columns)


def _wanted(headers: list[str], own: pd.DataFrame, columns: Any) -> dict[str, str]:
    """Names there by names here."""
    if isinstance(columns, Mapping):
        wanted = named("columns", columns)
        several = [name for name in wanted if name not in own.columns]
        if several:
            raise ArgumentError(f"{several[0]!r} is more than one column: {', '.join(own.columns)}")
    elif columns is not None:
        wanted = {name: name for name in own.columns}
    else:
        wanted = {name: name for name in own.columns if name in headers and name != "violation"}
    if not wanted:
        raise ArgumentError(
            f"no column of the table ({', '.join(headers)}) has the name of one of the run's "
            f"({', '.join(own.columns)}); give columns={{'ours': 'theirs'}}"
        )
    for theirs in wanted.values():
        one_of("column of the table", theirs, headers)
    return wanted


def factor_of(column: str, theirs: str, ours: str) -> float:
    """What their numbers are multiplied with."""
    a, b = respelled(theirs), respelled(ours)
    if not a or not b or a == b:
        return 1.0
    one, other = measured(a), measured(b)
    if one is None or other is None or one[1] != other[1]:
        raise ArgumentError(f"{column!r} is in {theirs} in the table, and in {ours} here")
    return one[0] / other[0]


# --- numbers --------------------------------------------------------------------------------------


def interpolated(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    """y(x) at other places: a cubic spline between places that stand twice, where y may jump; there
    the value after the jump, but before it for the first of two places that are the same."""
    cuts = [0, *(np.flatnonzero(np.diff(x) == 0) + 1), len(x)]
    pieces = [slice(a, b) for a, b in pairwise(cuts)]
    starts = np.array([x[piece][0] for piece in pieces])
    first = np.append(at[:-1] == at[1:], [False])
    which = np.where(
        first, np.searchsorted(starts, at, "left"), np.searchsorted(starts, at, "right")
    )
    out = np.empty(len(at))
    for k, piece in enumerate(pieces):
        chosen = np.clip(which - 1, 0, None) == k
        if chosen.any():
            out[chosen] = _smooth(x[piece], y[piece], at[chosen])
    return out


def unwound(angles: np.ndarray) -> np.ndarray:
    """Angles without the jumps that they make where they are measured within one turn; all others
    as they are."""
    there = np.isfinite(angles)
    known = angles[there]
    if known.size == 0 or np.ptp(known) > 2 * np.pi * (1 + 1e-9):
        return angles
    out = angles.copy()
    out[there] = np.unwrap(known)
    return out


def _unwound(theirs: np.ndarray, ours: np.ndarray) -> np.ndarray:
    """Their angles without jumps of a turn, and from the turn on that ours begin in."""
    angles = unwound(theirs)
    there = np.flatnonzero(np.isfinite(angles) & np.isfinite(ours))
    if np.array_equal(angles, theirs, equal_nan=True) or not there.size:
        return theirs
    first = there[0]
    return angles + 2 * np.pi * np.round((ours[first] - angles[first]) / (2 * np.pi))


def _smooth(x: np.ndarray, y: np.ndarray, at: np.ndarray) -> np.ndarray:
    return np.full(len(at), y[0]) if len(x) == 1 else CubicSpline(x, y)(at)


def _error(column: str, unit: str, t: np.ndarray, ours: np.ndarray, theirs: np.ndarray) -> Error:
    there = ~np.isnan(theirs)
    if np.isinf(theirs).any():
        raise ArgumentError(f"{column!r}: the table has a number that is infinite")
    if not there.any():
        raise ArgumentError(f"{column!r}: the table has no number within the time of the run")
    gaps = np.abs(ours - theirs)[there]
    worst, scale = int(gaps.argmax()), float(np.abs(theirs[there]).max())
    largest, rms = float(gaps[worst]), float(np.sqrt(np.mean(gaps**2)))
    relative = largest / scale if scale else np.inf if largest else 0.0
    return Error(column, unit, largest, float(t[there][worst]), rms, relative, int(there.sum()))


def _span(times: np.ndarray) -> str:
    return f"{times.min():g} … {times.max():g} s"


# --- a motion -------------------------------------------------------------------------------------


def motion_of(
    equations: Equations, other: Any, columns: Any = None
) -> tuple[np.ndarray, dict[str, Table]]:
    """The times of a table, and splines through its columns by the names of what they prescribe;
    all that are coordinates, if none are named."""
    _, table = table_of(other, columns)
    times = times_of(table, None)
    headers = [str(name) for name in table.columns]
    wanted = listed("columns", columns or [n for n in headers if n in equations.coordinates])
    if not wanted:
        raise ArgumentError(
            f"no column of the table ({', '.join(headers)}) is a coordinate of the model "
            f"({', '.join(equations.coordinates)}); rename one, or name what is prescribed"
        )
    found = {}
    for name in wanted:
        values = numbers_of(table, one_of("column of the table", name, headers))
        (unit,) = equations.names.resolve(name).units
        if values is None or not np.isfinite(values).all():
            raise ArgumentError(f"the column {name!r} of the table is not all numbers")
        values = values * factor_of(name, unit_in(table, name), unit)
        found[name] = spline(times, unwound(values) if unit == "rad" else values, outside="extend")
    return times, found
