"""The ``mechgraph`` command: one subcommand for each thing that a model can be asked."""

from __future__ import annotations

import time as clock
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import click

from . import __version__, door, gallery
from .closures.closure import CLOSURES
from .equations import Equations
from .errors import ArgumentError, MechgraphError, SimulationError, unknown
from .formalisms import DEFAULT, FORMALISMS
from .gallery import Example
from .model.system import System
from .results.trajectory import Trajectory
from .show.describe import describe as describe_system
from .studies.agreement import agreement
from .studies.simulation.integrators import METHODS

DEMO = "slider_crank_3d"
FIGURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp", ".eps", ".ps", ".tif", ".tiff")


class Failure(click.ClickException):
    """What the user can mend: one message, no traceback."""

    exit_code = 2


class Commands(click.Group):
    """Subcommands in the order of this file, whose errors of the family ``MechgraphError`` become
    one clear message."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except MechgraphError as error:
            raise Failure(str(error)) from None
        except OSError as error:
            raise Failure(
                f"{error.filename}: {error.strerror}" if error.filename else str(error)
            ) from None


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(__version__, "-V", "--version", prog_name="mechgraph")
def main() -> None:
    """Exact equations of motion of rigid-body mechanisms, by every classical formalism, and what
    follows from them.

    MODEL is a name of the gallery (see `mechgraph gallery`) or a Python file that defines a System,
    as an object or as a function system(). A file is a program of your own: it is executed.
    """


# --- models ---------------------------------------------------------------------------------------


def load(model: str) -> Example:
    """A gallery system by name, or a user's file."""
    if model in gallery.names():
        return gallery.load(model)
    if not model.endswith(".py"):
        raise ArgumentError(
            f"{unknown('model', model, gallery.names())}; or give a Python file that defines a "
            "System"
        )
    return _mine(model, lambda: gallery.load_file(model))


def build(example: Example) -> System:
    """The example's system."""
    return _mine(str(example.path), example.system)


def _mine(model: str, call: Callable[[], Any]) -> Any:
    """What a user's file returns; what it raises becomes one message with the line that failed."""
    try:
        return call()
    except MechgraphError:
        raise
    except Exception as error:
        frames = traceback.extract_tb(error.__traceback__)
        lines = [
            frame.lineno
            for frame in frames
            if Path(frame.filename).resolve() == Path(model).resolve()
        ]
        where = f"{model}, line {lines[-1]}" if lines else model
        raise Failure(f"{where}: {type(error).__name__}: {error}") from None


def guess_of(example: Example) -> dict[str, Any]:
    """Where assembly begins: the example's guess, and what its start says of coordinates."""
    return {**example.start, **example.guess}


def read_settings(
    settings: Sequence[str], parameters: Mapping[str, Any]
) -> tuple[dict[str, float], dict[str, Any]]:
    """``name=value`` pairs as (parameters, start); several values are separated by commas."""
    chosen, start = {}, {}  # type: dict[str, float], dict[str, Any]
    for setting in settings:
        name, equals, text = setting.rpartition("=")
        values: list[float] = []
        with suppress(ValueError):
            values = [float(part) for part in text.split(",")]
        if not (equals and name and values) or (name in parameters and len(values) > 1):
            raise ArgumentError(
                f"--set {setting!r}: write name=number (several numbers of one joint: name=1,2,3)"
            )
        if name in parameters:
            chosen[name] = values[0]
        else:
            start[name] = values[0] if len(values) == 1 else values
    return chosen, start


def simulate(
    example: Example, equations: Equations, settings: Sequence[str], asked: Mapping[str, Any]
) -> Trajectory:
    """Run an example with what the command line changes of it."""
    parameters, start = read_settings(settings, equations.system.parameters)
    options = {
        **example.options,
        **{key: value for key, value in asked.items() if value is not None},
    }
    duration = options.pop("duration", example.duration)
    if asked.get("duration") is not None and asked.get("step") is None:
        options.pop("step", None)  # the example's step need not divide another duration
    options["parameters"] = {**options.get("parameters", {}), **parameters}
    options.setdefault("guess", example.guess)
    return equations.simulate(duration, {**example.start, **start}, **options)


def _wrote(path: Path) -> None:
    size = path.stat().st_size
    click.echo(
        f"  wrote {path}  ({size / 1024:.0f} kB)"
        if size >= 1024
        else f"  wrote {path}  ({size} bytes)"
    )


# --- commands -------------------------------------------------------------------------------------

model_argument = click.argument("model")
formalism_option = click.option(
    "--formalism",
    type=click.Choice(list(FORMALISMS)),
    default=DEFAULT,
    show_default=True,
    help="How the equations are derived.",
)
closure_option = click.option(
    "--closure",
    type=click.Choice(list(CLOSURES)),
    default="multipliers",
    show_default=True,
    help="How constraints are closed.",
)


def _written(
    option: str, help: str, *endings: str
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """An option for a file to write, whose ending (if it matters) and folder are checked before
    anything is computed."""

    def checked(
        context: click.Context, parameter: click.Parameter, path: Path | None
    ) -> Path | None:
        if path is None:
            return None
        if endings and path.suffix.lower() not in endings:
            raise click.BadParameter(f"{path} must end in one of {', '.join(endings)}")
        if not path.parent.is_dir():
            raise click.BadParameter(f"there is no folder {path.parent}")
        return path

    return click.option(
        option, type=click.Path(dir_okay=False, path_type=Path), callback=checked, help=help
    )


@main.command()
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("mechgraph-demo"),
    show_default=True,
    help="Directory for what is written.",
)
def demo(out: Path) -> None:
    """A closed-loop spatial mechanism from description to motion.

    Describes a 3-D slider-crank, compares all formalisms and closures on it, simulates it, and
    writes plots, animations, a report and the trajectory.
    """
    example = gallery.load(DEMO)
    system = build(example)
    out.mkdir(parents=True, exist_ok=True)
    click.echo(
        f"{example.title}\n\n{describe_system(system, guess_of(example))}\n\nFormalisms and "
        "closures"
    )
    found = agreement(system, guess=guess_of(example))
    click.echo(f"{found}\n\nMotion")
    run = simulate(example, system.equations(), (), {})
    click.echo(run.summary())
    click.echo("\nResults")
    for path in _products(run, out):
        _wrote(path)
    click.echo(f"\nOpen {out / 'report.html'} in a browser.")
    if not found.ok:
        raise Failure("the formalisms disagree; see the table above")


def _products(run: Trajectory, out: Path) -> Iterator[Path]:
    """Everything that is made of a run, one after the other."""
    yield run.save(out / "trajectory.npz")
    run.plot(path=out / "plots.png")
    yield out / "plots.png"
    yield run.view(out / "animation.html")
    yield run.view(out / "animation.gif")
    yield run.report(out / "report.html")


@main.command()
@model_argument
@formalism_option
@closure_option
@click.option("--duration", type=float, help="Seconds.  [default: the model's own]")
@click.option("--step", type=float, help="Seconds between stored states.  [default: duration/500]")
@click.option("--rtol", type=float, help="Relative tolerance of the integrator.")
@click.option("--method", type=click.Choice(list(METHODS)), help="Integrator.")
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="A parameter or a starting value; repeat as needed.",
)
@_written("--out", "Write the trajectory (.npz).")
@_written("--plot", "Write plots (.png, .svg, .pdf).", *FIGURES)
@_written("--view", "Write an animation (.html or .gif).", ".html", ".htm", ".gif")
@_written("--report", "Write a page with everything (.html).", ".html", ".htm")
def run(
    model: str,
    formalism: str,
    closure: str,
    settings: tuple[str, ...],
    out: Path | None,
    plot: Path | None,
    view: Path | None,
    report: Path | None,
    **asked: Any,
) -> None:
    """Simulate MODEL and print how it went.

    A run that fails still writes what was computed before.
    """
    example = load(model)
    equations = build(example).equations(formalism, closure)
    failure: SimulationError | None = None
    try:
        motion = simulate(example, equations, settings, asked)
    except SimulationError as error:
        if not isinstance(error.trajectory, Trajectory):
            raise
        motion, failure = error.trajectory, error
    click.echo(motion.summary())
    for path, write in ((out, motion.save), (view, motion.view), (report, motion.report)):
        if path is not None:
            _wrote(write(path))
    if plot is not None:
        motion.plot(path=plot)
        _wrote(plot)
    if failure is not None:
        raise failure


@main.command()
@model_argument
@click.option(
    "--states",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Random states to compare at.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random states.")
def check(model: str, states: int, seed: int) -> None:
    """Compare all formalisms and closures on MODEL.

    At random consistent states: mass matrix, forces, accelerations and the reactions of every
    joint, relative to newton-euler with multipliers. Exit code 1 if any two disagree.
    """
    example = load(model)
    found = agreement(build(example), states, seed, guess=guess_of(example))
    click.echo(str(found))
    if not found.ok:
        raise SystemExit(1)


@main.command()
@model_argument
@_written("--graph", "Draw its graph (.png, .svg, .pdf).", *FIGURES)
def describe(model: str, graph: Path | None) -> None:
    """Print what was understood of MODEL.

    Bodies, tree, loops, incidence matrix, variables, mobility by count and by rank, redundant
    constraints.
    """
    example = load(model)
    system = build(example)
    click.echo(describe_system(system, guess_of(example)))
    if graph is not None:
        system.draw_graph(graph)
        click.echo(f"wrote {graph}")


@main.command()
@model_argument
@formalism_option
@click.option(
    "--format", "style", type=click.Choice(["text", "latex"]), default="text", show_default=True
)
@click.option(
    "--no-simplify", is_flag=True, help="As derived, without the search for the shortest form."
)
def equations(model: str, formalism: str, style: str, no_simplify: bool) -> None:
    """Print the equations of motion of MODEL.

    What is small is written in its shortest normal form, what is large with names for shared
    subexpressions.
    """
    derived = build(load(model)).equations(formalism)
    readable = door.show.readable  # SymPy takes its time to load, and no other command needs it
    write = readable.equations_latex if style == "latex" else readable.equations_text
    click.echo(write(derived, simplify=not no_simplify))


@main.command(name="gallery")
@click.argument("name", required=False)
def gallery_command(name: str | None) -> None:
    """List the gallery, or check one example.

    The check of the example NAME compares it with what is known from elsewhere. Exit code 1 if it
    fails.
    """
    if name is None:
        width = max(map(len, gallery.names()), default=0)
        for each in gallery.names():
            click.echo(f"{each:<{width}}  {gallery.load(each).title}")
        return
    example = load(name)
    click.echo(example.title)
    if example.check is None:
        raise ArgumentError(f"{name} has no check of its own")
    began = clock.perf_counter()
    try:
        errors = example.check()
    except AssertionError as error:
        click.echo(f"FAILED: {error}", err=True)
        raise SystemExit(1) from None
    for what, value in errors.items():
        click.echo(f"  {what:<52} {value:.2g}")
    click.echo(f"  all within their bounds ({clock.perf_counter() - began:.1f} s)")
