"""Commands that show a model: ``check``, ``describe``, ``equations``, ``figures``, ``gallery``."""

from __future__ import annotations

import time as clock
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from .. import door, gallery
from ..errors import AssemblyError
from ..interrupts import remembered_interrupts
from ..model.system import System
from ..show.describe import describe as describe_system
from ..show.describe import kind_of, mobility
from ..studies.agreement import agreement
from . import models
from .options import (
    FIGURES,
    file_option,
    folder_option,
    formalism_option,
    is_for_programs,
    json_option,
    model_argument,
    report_file,
    show,
)


@click.command()
@model_argument
@click.option(
    "--states",
    type=click.IntRange(min=1),
    default=5,
    show_default=True,
    help="Random states to compare at.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Of the random states.")
@json_option
def check(model: str, states: int, seed: int) -> None:
    """Compare all formalisms and closures on MODEL.

    At random consistent states: mass matrix, forces, accelerations and the reactions of every
    joint, relative to newton-euler with multipliers. Exit code 1 if any two disagree.

    \b
    Example: mechgraph check double_pendulum --states 2
    """
    example = models.load(model)
    found = agreement(example.system(), states, seed, guess=models.guess_of(example))
    rows = [{**asdict(row), "ok": row.ok} for row in found.rows]
    data = {"name": found.name, "states": found.states, "ok": found.ok, "rows": rows}
    show(data, str(found))
    if not found.ok:
        raise SystemExit(1)


@click.command()
@model_argument
@file_option("--graph", "Draw its graph (.png, .svg, .pdf).", *FIGURES)
@json_option
def describe(model: str, graph: Path | None) -> None:
    """Print what was understood of MODEL.

    Bodies, tree, loops, incidence matrix, variables, mobility by count and by rank, redundant
    constraints.

    \b
    Example: mechgraph describe slider_crank_3d --graph graph.svg
    """
    example = models.load(model)
    system, guess = example.system(), models.guess_of(example)
    if is_for_programs():
        show({"title": example.title, **_data(system, guess)}, "")
    else:
        click.echo(describe_system(system, guess))
    if graph is not None:
        system.draw_graph(graph)
        report_file(graph)


def _data(system: System, guess: dict[str, Any]) -> dict[str, Any]:
    """A description for programs."""
    equations, said = system.equations(), system.snapshot()
    joints = {
        joint.name: {
            "type": kind_of(joint),
            "parent": joint.parent.body.name,
            "child": joint.child.body.name,
        }
        for joint in said.joints.values()
    }
    try:
        freedoms: dict[str, Any] = asdict(mobility(equations, guess))
    except AssemblyError as error:
        freedoms = {"problem": str(error)}
    return {
        "name": said.name,
        "bodies": list(said.bodies),
        "joints": joints,
        "cut": [joint.name for joint in said.topology().cut],
        "forces": list(said.forces),
        "coordinates": equations.coordinates,
        "speeds": equations.speeds,
        "inputs": equations.inputs,
        "outputs": list(said.outputs),
        "parameters": said.defaults,
        "constraints": equations.constraints,
        "mobility": freedoms,
    }


@click.command()
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
@json_option
def equations(
    model: str, formalism: str, style: str, no_simplify: bool, options: tuple[str, ...], own: bool
) -> None:
    """Print the equations of motion of MODEL.

    What is small is written in its shortest normal form, what is large with names for shared
    subexpressions.

    \b
    Example: mechgraph equations double_pendulum --formalism lagrange --format latex
    """
    derived = models.load(model).system().equations(formalism, **_read_options(options))
    if own and not derived.terms.coefficients:
        raise click.UsageError(f"{formalism} has no quantities of its own; leave out --own")
    # SymPy takes its time to load, and no other command needs it
    equations = {"text": "readable", "latex": "latex"}[style]
    room = door.show.coefficients if own else getattr(door.show, equations)
    words = "coefficients" if own else "equations"
    text = getattr(room, f"{words}_{style}")(derived, simplify=not no_simplify)
    names = {kind: getattr(derived, kind) for kind in ("coordinates", "speeds", "constraints")}
    data = {"name": derived.terms.name, "formalism": formalism, **names, "format": style}
    show({**data, "equations": text}, text)


def _read_options(options: Sequence[str]) -> dict[str, Any]:
    """Options of a formalism by name; what takes several names has commas between them."""
    found: dict[str, Any] = {}
    for option in options:
        name, equals, value = option.partition("=")
        if not (name and equals):
            raise click.UsageError(f"--option {option}: expected NAME=VALUE")
        found[name] = value.split(",") if name == "independent" else value
    return found


@click.command()
@model_argument
@folder_option("figures", "Directory for the figures.")
@click.option(
    "--format", "ending", type=click.Choice(["png", "svg", "pdf"]), default="png", show_default=True
)
def figures(model: str, out: Path, ending: str) -> None:
    """Draw the figures of MODEL.

    These are what the function figures() of its file returns: curves of its source, eigenvalues
    against a parameter, motions and forces.

    \b
    Example: mechgraph figures delta_robot --format svg
    """
    example = models.load(model)
    if example.figures is None:
        raise click.UsageError(f"{model} has no figures of its own: its file defines no figures()")
    with remembered_interrupts(insist=True):
        made = example.figures()
    out.mkdir(parents=True, exist_ok=True)
    for name, figure in made.items():
        path = out / f"{example.name}-{name.replace(' ', '-').replace('/', '-')}.{ending}"
        door.show.plot.save(figure, path)
        report_file(path)


@click.command(name="gallery")
@click.argument("name", required=False)
@json_option
def gallery_command(name: str | None) -> None:
    """List the gallery, or check one example.

    The check of the example NAME compares it with what is known from elsewhere. Exit code 1 if it
    fails.

    \b
    Example: mechgraph gallery double_pendulum
    """
    if name is None:
        titles = {each: gallery.load(each).title for each in gallery.names()}
        width = max(map(len, titles), default=0)
        lines = [f"{each:<{width}}  {title}" for each, title in titles.items()]
        return show(titles, "\n".join(lines))
    example = models.load(name)
    click.echo(example.title, err=is_for_programs())
    if example.check is None:
        raise click.UsageError(f"{name} has no check of its own")
    began = clock.perf_counter()
    try:
        with remembered_interrupts(insist=True):  # a run that was broken off proves nothing
            errors = example.check()
    except AssertionError as error:
        raise click.ClickException(f"FAILED: {str(error) or _assertion_text(error)}") from None
    lines = [f"  {what:<52} {value:.2g}" for what, value in errors.items()]
    spent = clock.perf_counter() - began
    lines.append(f"  all within their bounds ({spent:.1f} s)")
    return show({"name": name, "errors": errors, "seconds": spent}, "\n".join(lines))


def _assertion_text(error: AssertionError) -> str:
    """Where a check says no without a word."""
    frame = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(frame.filename).name}, line {frame.lineno}: {frame.line}"
