"""Plots of a run: coordinates (or any columns), energy, violation; of any curves; and of the tables
of a model."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..arguments import file_path, replacing
from ..equations import Equations
from ..errors import ArgumentError
from ..graph.searches import COEFFICIENTS, Lookup, data_of, horner, lookup
from ..results.trajectory import Trajectory
from .palette import INK, LINES, MUTED, SERIES, color

STYLES = ("solid", "dotted", "dashdot")  # of the first ten curves, the next ten, and so on
LEGEND_LIMIT = 16  # curves of one panel that are named
MOST_LINES = 6  # curves of a table over x and y
TITLES = {
    "rad": "angle (rad)",
    "m": "displacement (m)",
    "rad/s": "angular speed (rad/s)",
    "m/s": "speed (m/s)",
    "rad/s²": "angular acceleration (rad/s²)",
    "m/s²": "acceleration (m/s²)",
    "N": "force (N)",
    "N m": "moment (N m)",
    "W": "power (W)",
    "J": "energy (J)",
    "1": "quaternion",
    "": "value",
}


@dataclass
class Panel:
    """One set of axes: curves (label, values) with a common unit; those of one label look alike."""

    title: str
    curves: list[tuple[str, np.ndarray]] = field(default_factory=list)
    logarithmic: bool = False
    dashed: Collection[str] = ()


def plot(run: Trajectory, names: Sequence[str] = (), path: str | Path | None = None) -> Figure:
    """A figure with the named columns (all coordinates by default), the energies and the violation
    of the constraints.

    It needs no window and leaves no state in pyplot. It is saved to ``path`` (.png, .svg, .pdf) if
    that is given.
    """
    if not len(run):
        raise ArgumentError("there is nothing to plot: the run is empty")
    panels = [*columns(run, names), energies(run), *violations(run)]
    figure = stacked(panels, run.time, "time (s)", _title(run))
    for axes in figure.axes:
        _mark_events(axes, run)
    return save(figure, path)


def curves(
    x: Any,
    panels: Mapping[str, Mapping[str, Any]],
    across: str = "time (s)",
    title: str = "",
    dashed: Collection[str] = (),
    logarithmic: Collection[str] = (),
) -> Figure:
    """A figure of any curves over x: by the title of a panel, such as "torque (N m)", and by label.

    dashed: labels of the curves that are; logarithmic: titles of the panels that are.
    """
    drawn = [
        Panel(
            name,
            [(label, np.asarray(y, dtype=float)) for label, y in given.items()],
            name in logarithmic,
            dashed,
        )
        for name, given in panels.items()
    ]
    return stacked(drawn, np.asarray(x, dtype=float), across, title)


def stacked(panels: Sequence[Panel], x: np.ndarray, across: str, title: str) -> Figure:
    """Panels one above the other over a common x."""
    figure = Figure(figsize=(9, 2.3 * len(panels) + 0.5), layout="constrained")
    if title:
        figure.suptitle(plain(title), color=INK, fontsize=12, x=0.01, ha="left")
    all_axes = figure.subplots(len(panels), 1, sharex=True, squeeze=False)[:, 0]
    for axes, panel in zip(all_axes, panels, strict=True):
        _draw(axes, x, panel)
    all_axes[-1].set_xlabel(plain(across), color=MUTED)
    return figure


def _title(run: Trajectory) -> str:
    how = [str(run.statistics[key]) for key in ("formalism", "method") if key in run.statistics]
    return f"{run.name}: {', '.join([run.outcome, *how])}"


def plain(text: str) -> str:
    """A name such that Matplotlib reads no formula in it."""
    return text.replace("$", r"\$")


def save(figure: Figure, path: Any) -> Figure:
    """Write a figure, if there is a path; the ending of the file name says how."""
    if path is None:
        return figure
    path = file_path(path)
    known = [f".{ending}" for ending in sorted(figure.canvas.get_supported_filetypes())]
    if path.suffix.lower() not in known:
        raise ArgumentError(f"{path}: a figure is written in the formats {', '.join(known)}")
    with replacing(path) as file:
        figure.savefig(file, dpi=140)
    return figure


# --- what is shown --------------------------------------------------------------------------------


def columns(run: Trajectory, names: Sequence[str] = ()) -> list[Panel]:
    """The named columns in panels of one unit each; without names the coordinates."""
    wanted = names or run.columns["coordinates"]
    if not wanted:
        return []
    table, panels = run.table(*wanted), dict[str, Panel]()
    for name, unit in table.attrs["units"].items():
        title = TITLES.get(unit, f"value ({unit})" if unit else "value")
        panels.setdefault(unit, Panel(title)).curves.append((name, table[name].to_numpy()))
    return list(panels.values())


def energies(run: Trajectory) -> Panel:
    """Kinetic, potential and total energy."""
    curves = [("kinetic", run.kinetic), ("potential", run.potential), ("total", run.energy)]
    return Panel("energy (J)", curves)


def violations(run: Trajectory) -> list[Panel]:
    """Largest violation of constraints and quaternions; nothing for a tree without any."""
    if not run.violation.any():
        return []
    return [Panel("largest violation of the constraints", [("", run.violation)], logarithmic=True)]


# --- how it is drawn ------------------------------------------------------------------------------


def _draw(axes: Axes, x: np.ndarray, panel: Panel) -> None:
    labels = list(dict.fromkeys(label for label, _ in panel.curves))
    for label, values in panel.curves:
        if np.isnan(values).all():  # not even its name
            continue
        k = labels.index(label)
        style = (0, (4, 2)) if label in panel.dashed else STYLES[k // len(SERIES) % len(STYLES)]
        (line,) = axes.plot(x, values, label=plain(label), color=color(k), lw=1.5, ls=style)
        line.set_solid_capstyle("round")
    axes.set_title(plain(panel.title), loc="left", fontsize=9.5, color=MUTED)
    if panel.logarithmic:
        axes.set_yscale("log")
        axes.minorticks_off()
    axes.set_xlim(x[0], x[-1] if x[-1] > x[0] else None)
    style_axes(axes)
    if labels[0]:
        _legend(axes)


def style_axes(axes: Axes) -> None:
    """A light grid, and no frame but the lower line."""
    axes.grid(color=LINES, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.tick_params(colors=MUTED, labelsize=8.5, length=0)
    for side, spine in axes.spines.items():
        spine.set_visible(side == "bottom")
        spine.set_color(LINES)


def _legend(axes: Axes) -> None:
    handles = list({str(line.get_label()): line for line in axes.get_lines()}.values())
    count, shown = len(handles), min(len(handles), LEGEND_LIMIT)
    title = f"and {count - shown} more" if count > shown else None
    axes.legend(
        handles=handles[:shown],
        title=title,
        title_fontsize=8,
        fontsize=8,
        labelcolor=INK,
        frameon=False,
        loc="upper left",
        bbox_to_anchor=(1.005, 1.03),
        ncols=1 if shown <= 8 else 2,
        handlelength=1.8,
        borderaxespad=0,
    )


def _mark_events(axes: Axes, run: Trajectory) -> None:
    for times in run.events.values():
        for moment in times:
            axes.axvline(moment, color=MUTED, linewidth=0.8, linestyle=(0, (4, 3)))


# --- tables ---------------------------------------------------------------------------------------


def tables_of(equations: Equations) -> dict[str, tuple[Lookup, ca.Function]]:
    """The tables in the equations, by their names, each with its function from place to row."""
    terms, s = equations.terms, equations.terms.symbols
    value = ca.vertcat(terms.f, terms.phi, terms.psi, terms.b, SX(terms.potential))
    function = ca.Function("tables", [s.q, s.u, s.t, s.w, s.p], [value])
    found: dict[str, tuple[Lookup, ca.Function]] = {}
    axes: set[str] = set()
    for each in function.find_functions(0):
        table = lookup(each.name())
        if table is not None and (not table.order or table.table not in found):
            found[table.table] = table, each
            axes |= {f"{table.table}_{letter}" for letter in "xy" if table.is_pick}
    return {name: each for name, each in found.items() if name not in axes}


def plot_tables(equations: Equations) -> dict[str, Figure]:
    """Each table over its own knots."""
    return {
        name: _surface(name, function, table.row) if table.is_pick else _curve(name, function)
        for name, (table, function) in tables_of(equations).items()
    }


def _curve(name: str, function: ca.Function) -> Figure:
    knots, rows = data_of(function)
    x = np.union1d(knots[:-1], np.linspace(knots[0], knots[-1], 1000, endpoint=False))
    row = rows[np.searchsorted(knots, x, side="right")]
    y = horner(row[:, COEFFICIENTS - 1 :], x - row[:, 0])
    return curves(x, {f"{name}(x), {len(knots)} points": {"": y}}, across="x")


def _surface(name: str, function: ca.Function, row: int) -> Figure:
    """Values at the knots along x, for some of the columns."""
    values = data_of(function)[1][:, 0].reshape(-1, row)
    chosen = np.unique(np.linspace(0, values.shape[1] - 1, MOST_LINES).astype(int))
    panel = {f"{name}(x, y)": {f"y no. {k}": values[:, k] for k in chosen.tolist()}}
    return curves(np.arange(len(values)), panel, across="number of the knot of x")
