"""Commands that run a model: ``demo``, ``run``, ``compare``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from .. import gallery
from ..errors import MechgraphError
from ..formats.comparison import table_of, times_of
from ..results.trajectory import Trajectory, load_run
from ..runtime.stepper import METHODS
from ..show.describe import describe as describe_system
from ..studies.agreement import agreement
from . import models
from .group import INTERRUPTED
from .models import Study, study_command
from .options import (
    PAGES,
    POSITIVE,
    Finite,
    closure_option,
    duration_option,
    file_option,
    folder_option,
    formalism_option,
    json_option,
    model_argument,
    names_option,
    out_option,
    plot_option,
    set_option,
    show,
    wrote,
)

DEMO = "slider_crank_3d"


@click.command()
@folder_option("mechgraph-demo", "Directory for what is written.")
def demo(out: Path) -> None:
    """A closed-loop spatial mechanism from description to motion.

    Describes a 3-D slider-crank, compares all formalisms and closures on it, simulates it, and
    writes plots, animations, a report and the trajectory.

    \b
    Example: mechgraph demo --out first
    """
    example = gallery.load(DEMO)
    system = example.system()
    out.mkdir(parents=True, exist_ok=True)
    described = describe_system(system, models.guess_of(example))
    click.echo(f"{example.title}\n\n{described}\n\nFormalisms and closures")
    found = agreement(system, guess=models.guess_of(example))
    click.echo(f"{found}\n\nMotion")
    motion = models.simulate(Study(example, system.equations()))
    click.echo(motion.summary())
    click.echo("\nResults")
    for path in _products(motion, out):
        wrote(path)
    click.echo(f"\nOpen {out / 'report.html'} in a browser.")
    _end(motion)
    if not found.ok:
        raise click.ClickException("the formalisms disagree; see the table above")


def _products(motion: Trajectory, out: Path) -> Iterator[Path]:
    """Everything that is made of a run, one after the other."""
    yield motion.save(out / "trajectory.npz")
    yield _plotted(motion, out / "plots.png")
    yield motion.view(out / "animation.html")
    yield motion.view(out / "animation.gif")
    yield motion.report(out / "report.html")


def _plotted(drawn: Any, path: Path) -> Path:
    drawn.plot(path=path)
    return path


def _end(motion: Trajectory) -> None:
    """An interrupted run ends the command as such, when what there is has been written."""
    if motion.outcome == "interrupted":
        click.get_current_context().exit(INTERRUPTED)


@study_command
@closure_option
@duration_option
@click.option(
    "--step", type=POSITIVE, help="Seconds between stored states.  [default: duration/500]"
)
@click.option("--rtol", type=POSITIVE, help="Relative tolerance of the integrator.")
@click.option("--method", type=click.Choice(list(METHODS)), help="Integrator.")
@out_option
@names_option(
    "--column",
    "columns",
    "Of the table that --out writes: coordinates, reactions, energies, a name; repeat as needed.",
)
@plot_option
@file_option("--view", "Write an animation (.html or .gif).", *PAGES, ".gif")
@file_option("--report", "Write a page with everything (.html).", *PAGES)
def run(
    study: Study,
    out: Path | None,
    columns: tuple[str, ...],
    plot: Path | None,
    view: Path | None,
    report: Path | None,
    **asked: Any,
) -> None:
    """Simulate MODEL and print how it went.

    A run that fails or is interrupted (Ctrl-C) still writes what was computed before.

    \b
    Example: mechgraph run double_pendulum --set elbow=0.3 --out run.csv
    """
    if columns and (out is None or out.suffix.lower() in ("", ".npz")):
        raise click.UsageError("--column goes with --out of a table, such as run.csv")
    models.check_columns(study, columns)
    motion, failures = models.simulate_as_far_as_possible(study, asked)
    show(_data(motion, failures), motion.summary())
    wanted = (
        (out, lambda path: motion.save(path, columns)),
        (plot, lambda path: _plotted(motion, path)),
        (view, motion.view),
        (report, motion.report),
    )
    failures += _written(wanted)
    if failures:
        raise click.ClickException("\n".join(failures))
    _end(motion)


def _written(wanted: Sequence[tuple[Path | None, Callable[[Path], Path]]]) -> list[str]:
    """Write the files that are asked for; what failed. One file that cannot be made does not cost
    the others."""
    failures = []
    for path, write in wanted:
        try:
            if path is not None:
                wrote(write(path))
        except MechgraphError as error:
            failures.append(str(error))
    return failures


def _data(motion: Trajectory, failures: list[str]) -> dict[str, Any]:
    """A run for programs."""
    names = (*motion.columns["coordinates"], *motion.columns["speeds"])
    last = zip(names, (*motion.q[-1], *motion.u[-1]), strict=True) if len(motion) else ()
    return {
        "name": motion.name,
        "outcome": motion.outcome,
        "failures": failures,
        "times": len(motion),
        "time": motion.time[[0, -1]] if len(motion) else [],
        "parameters": dict(motion.parameters),
        "end": dict(last),
        "energy": motion.energy[[0, -1]] if len(motion) else [],
        "violation": motion.violation.max(initial=0.0),
        "events": dict(motion.events),
        "statistics": dict(motion.statistics),
    }


@click.command()
@model_argument
@click.argument("table", type=click.Path(exists=True, dir_okay=False))
@names_option(
    "--column", "columns", "To compare, or ours=theirs; repeat as needed.  [default: all common]"
)
@click.option("--time", metavar="NAME", help="The table's column of times.  [default: time or t]")
@click.option("--shift", type=Finite(), default=0.0, help="Seconds to add to the table's times.")
@click.option("--rtol", "relative", type=POSITIVE, help="Exit code 1 beyond this, relative.")
@click.option("--atol", "absolute", type=POSITIVE, help="And this, in the unit of the column.")
@formalism_option
@duration_option
@set_option
@plot_option
@json_option
def compare(
    model: str,
    table: str,
    columns: tuple[str, ...],
    time: str | None,
    shift: float,
    relative: float | None,
    absolute: float | None,
    formalism: str,
    duration: float | None,
    settings: tuple[str, ...],
    plot: Path | None,
) -> None:
    """Compare a run of MODEL with a TABLE of measurements or of another program.

    MODEL may also be a saved run (.npz). TABLE is a file .csv, .parquet, .xlsx, .mat, .h5 or
    another run. Units in headers, as in «angle [deg]», are converted. The run is interpolated at
    the times of the table.

    \b
    Example: mechgraph compare double_pendulum run.csv --column elbow --plot compared.png
    """
    pairs = _pairs(columns)
    is_run = _is_run(model, bool(settings or duration))
    times_of(table_of(table, pairs)[1], time)  # what is wrong with it is told before the run
    if is_run:
        motion = load_run(model)
    else:
        study = models.study_of(model, formalism, settings)
        models.check_columns(study, pairs or ())
        motion = models.simulate(study, {"duration": duration})
    found = motion.compare(table, pairs, time=time, shift=shift)
    errors = {error.column: asdict(error) for error in found.errors}
    asked = relative is not None or absolute is not None
    beyond = found.beyond(relative or 0.0, absolute or 0.0) if asked else ()
    data = {"name": found.name, "errors": errors, "beyond": beyond, "left out": found.left_out}
    show(data, str(found))
    failures = _written([(plot, lambda path: _plotted(found, path))])
    if beyond:
        failures.append(f"beyond the tolerance: {', '.join(beyond)}")
    if failures:
        raise click.ClickException("\n".join(failures))
    _end(motion)


def _is_run(model: str, is_changed: bool) -> bool:
    if not model.lower().endswith(".npz"):
        return False
    if not Path(model).is_file():
        raise click.UsageError(f"{model}: no such file")
    if is_changed:
        raise click.UsageError(f"{model} is a run already; --set and --duration go with a model")
    return True


def _pairs(columns: tuple[str, ...]) -> dict[str, str] | list[str] | None:
    """Names of columns here, with theirs where they differ."""
    if not any("=" in each for each in columns):
        return list(columns) or None
    split = [each.partition("=") for each in columns]
    return {ours: theirs or ours for ours, _, theirs in split}
