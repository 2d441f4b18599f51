"""The ``mechgraph`` command: one subcommand for each thing that a model can be asked."""

from __future__ import annotations

import json
import time as clock
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import click

from . import __version__, door, gallery
from .arguments import named, number
from .closures.closure import CLOSURES
from .equations import Equations
from .errors import MechgraphError, SimulationError, unknown
from .formalisms import DEFAULT, FORMALISMS
from .formats.model_file import save
from .formats.reading import SUFFIXES
from .formats.schema import model_schema
from .formats.starter import starter
from .gallery import Example
from .results.trajectory import Trajectory
from .show.describe import describe as describe_system
from .studies.agreement import agreement
from .studies.simulation.integrators import METHODS

DEMO = "slider_crank_3d"
FIGURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp", ".eps", ".ps", ".tif", ".tiff")


POSITIVE = click.FloatRange(min=0, min_open=True)
INTERRUPTED = 130  # what shells say of a program that Ctrl-C ended


class Commands(click.Group):
    """Subcommands in the order of this file. Their errors become one clear message: exit code 2 for
    a wrong command line, 1 for a wrong model or a run that fails, 130 for what was interrupted."""

    def list_commands(self, context: click.Context) -> list[str]:
        return list(self.commands)

    def invoke(self, context: click.Context) -> Any:
        try:
            return super().invoke(context)
        except MechgraphError as error:
            raise click.ClickException(str(error)) from None
        except BrokenPipeError:  # nobody reads on: click ends without a word
            raise
        except OSError as error:
            raise click.ClickException(
                f"{error.filename}: {error.strerror}" if error.filename else str(error)
            ) from None
        except KeyboardInterrupt:
            click.echo("interrupted", err=True)
            context.exit(INTERRUPTED)


@contextmanager
def _of_the_command_line() -> Iterator[None]:
    """What is wrong inside is wrong with what was typed."""
    try:
        yield
    except MechgraphError as error:
        raise click.UsageError(str(error)) from None


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(__version__, "-V", "--version", prog_name="mechgraph")
def main() -> None:
    """Exact equations of motion of rigid-body mechanisms, by every classical formalism, and what
    follows from them.

    MODEL is a name of the gallery (see `mechgraph gallery`), a model file (.yaml, .json; see
    `mechgraph schema`), a URDF or MJCF file (.urdf, .xml), or a Python file that defines a System,
    as an object or as a function system(). A Python file is a program of your own: it is executed;
    other files never are.
    """


# --- models ---------------------------------------------------------------------------------------


def load(model: str) -> Example:
    """A gallery system by name, or a user's file."""
    if model in gallery.names():
        return gallery.load(model)
    if not model.lower().endswith((".py", *SUFFIXES, *gallery.IMPORTED)):
        raise click.UsageError(
            f"{unknown('model', model, gallery.names())}; or give a model file (.yaml, .json), a "
            "URDF or MJCF file (.urdf, .xml), or a Python file that defines a System"
        )
    if not Path(model).is_file():
        raise click.UsageError(f"{model}: no such file")
    return gallery.load_file(model)


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
            values = [number(name, float(part)) for part in text.split(",")]
        if not (equals and name and values) or (name in parameters and len(values) > 1):
            raise click.UsageError(
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
    for name in start:
        with _of_the_command_line():
            equations.names.resolve(name)
    options = {
        **example.options,
        **{key: value for key, value in asked.items() if value is not None},
    }
    duration = options.pop("duration", example.duration)
    if asked.get("duration") is not None and asked.get("step") is None:
        options.pop("step", None)  # the example's step need not divide another duration
    options["parameters"] = {**named("parameters", options.get("parameters")), **parameters}
    options.setdefault("guess", example.guess)
    return equations.simulate(duration, {**example.start, **start}, **options)


def _plotted(run: Trajectory, path: Path) -> Path:
    run.plot(path=path)
    return path


def _end(run: Trajectory) -> None:
    """An interrupted run ends the command as such, when what there is has been written."""
    if run.outcome == "interrupted":
        click.get_current_context().exit(INTERRUPTED)


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
    """An option for a file to write, whose ending and folder are checked before anything is
    computed."""

    def checked(
        context: click.Context, parameter: click.Parameter, path: Path | None
    ) -> Path | None:
        if path is None:
            return None
        if path.suffix.lower() not in endings:
            listed = ", ".join(ending for ending in endings if ending)
            raise click.BadParameter(f"{path} must end in one of {listed}")
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
    system = example.system()
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
    _end(run)
    if not found.ok:
        raise click.ClickException("the formalisms disagree; see the table above")


def _products(run: Trajectory, out: Path) -> Iterator[Path]:
    """Everything that is made of a run, one after the other."""
    yield run.save(out / "trajectory.npz")
    yield _plotted(run, out / "plots.png")
    yield run.view(out / "animation.html")
    yield run.view(out / "animation.gif")
    yield run.report(out / "report.html")


@main.command()
@model_argument
@formalism_option
@closure_option
@click.option("--duration", type=POSITIVE, help="Seconds.  [default: the model's own]")
@click.option(
    "--step", type=POSITIVE, help="Seconds between stored states.  [default: duration/500]"
)
@click.option("--rtol", type=POSITIVE, help="Relative tolerance of the integrator.")
@click.option("--method", type=click.Choice(list(METHODS)), help="Integrator.")
@click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="A parameter or a starting value; repeat as needed.",
)
@_written("--out", "Write the trajectory (.npz).", ".npz", "")
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
    equations = example.system().equations(formalism, closure)
    failures: list[str] = []
    try:
        motion = simulate(example, equations, settings, asked)
    except SimulationError as error:
        if not isinstance(error.trajectory, Trajectory):
            raise
        motion = error.trajectory
        failures.append(str(error))
    click.echo(motion.summary())
    wanted = (
        (out, motion.save),
        (plot, lambda path: _plotted(motion, path)),
        (view, motion.view),
        (report, motion.report),
    )
    for path, write in wanted:
        try:  # one file that cannot be made does not cost the others
            if path is not None:
                _wrote(write(path))
        except MechgraphError as error:
            failures.append(str(error))
    if failures:
        raise click.ClickException("\n".join(failures))
    _end(motion)


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
    found = agreement(example.system(), states, seed, guess=guess_of(example))
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
    system = example.system()
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
@click.option(
    "--option",
    "options",
    metavar="NAME=VALUE",
    multiple=True,
    help="Of the formalism, such as form=explicit; repeat as needed.",
)
@click.option("--own", is_flag=True, help="The formalism's own quantities instead.")
def equations(
    model: str, formalism: str, style: str, no_simplify: bool, options: tuple[str, ...], own: bool
) -> None:
    """Print the equations of motion of MODEL.

    What is small is written in its shortest normal form, what is large with names for shared
    subexpressions.
    """
    derived = load(model).system().equations(formalism, **_read_options(options))
    # SymPy takes its time to load, and no other command needs it
    room = door.show.coefficients if own else door.show.readable
    words = "coefficients" if own else "equations"
    write = getattr(room, f"{words}_{style}")
    click.echo(write(derived, simplify=not no_simplify))


def _read_options(options: Sequence[str]) -> dict[str, Any]:
    """Options of a formalism by name; what takes several names has commas between them."""
    found: dict[str, Any] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not (name and equals):
            raise click.UsageError(f"--option {option}: expected NAME=VALUE")
        found[name] = value.split(",") if name == "independent" else value
    return found


@main.command()
@model_argument
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
def convert(model: str, target: Path) -> None:
    """Write MODEL as the model file TARGET (.yaml or .json).

    With its start, guess, duration and options, as far as they are plain data. What a file cannot
    say, such as classes of one's own in Python, is named.

    \b
    Example: mechgraph convert four_bar.py four_bar.yaml
    """
    example = load(model)
    about = {
        "title": example.title,
        "start": dict(example.start),
        "guess": dict(example.guess),
        "duration": example.duration,
        "options": dict(example.options),
    }
    _wrote(save(example.system(), target, **about))


@main.command()
def schema() -> None:
    """Print the JSON Schema of model files.

    \b
    Example: mechgraph schema > mechgraph.schema.json
    """
    click.echo(json.dumps(model_schema(), indent=2, ensure_ascii=False))


@main.command()
@click.argument("target", type=click.Path(dir_okay=False, path_type=Path))
def new(target: Path) -> None:
    """Write a commented starter to TARGET (.yaml or .py).

    \b
    Example: mechgraph new crane.yaml && mechgraph run crane.yaml --plot crane.png
    """
    text = starter(target.suffix.lower(), target.stem)
    with target.open("x", encoding="utf-8") as file:
        file.write(text)
    _wrote(target)


@main.command()
@model_argument
@click.option(
    "--out",
    type=click.Path(file_okay=False, path_type=Path),
    default=Path("figures"),
    show_default=True,
    help="Directory for the figures.",
)
@click.option(
    "--format",
    "ending",
    type=click.Choice(["png", "svg", "pdf"]),
    default="png",
    show_default=True,
)
def figures(model: str, out: Path, ending: str) -> None:
    """Draw the figures of MODEL.

    These are what the function figures() of its file returns: curves of its source, eigenvalues
    against a parameter, motions and forces.
    """
    example = load(model)
    if example.figures is None:
        raise click.UsageError(f"{model} has no figures of its own: its file defines no figures()")
    made = example.figures()
    out.mkdir(parents=True, exist_ok=True)
    for name, figure in made.items():
        path = out / f"{example.name}-{name.replace(' ', '-').replace('/', '-')}.{ending}"
        door.show.plot.save(figure, path)
        _wrote(path)


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
        raise click.UsageError(f"{name} has no check of its own")
    began = clock.perf_counter()
    try:
        errors = example.check()
    except AssertionError as error:
        raise click.ClickException(f"FAILED: {error}") from None
    for what, value in errors.items():
        click.echo(f"  {what:<52} {value:.2g}")
    click.echo(f"  all within their bounds ({clock.perf_counter() - began:.1f} s)")
