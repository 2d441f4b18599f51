"""Commands that write files of a model: ``export``, ``convert``, ``new``, ``schema``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ..formats.c import PRECISIONS
from ..formats.export import FORMATS, WHOLE
from ..formats.mjcf import CONTACTS
from ..formats.model_files.model_file import ROBOTS, save
from ..formats.model_files.schema import model_schema
from ..formats.model_files.sections import SUFFIXES
from ..formats.model_files.starter import starter
from . import models
from .options import (
    Finite,
    closure_option,
    file_argument,
    formalism_option,
    model_argument,
    names_option,
    report_file,
)

GROUND = "URDF: shapes for collisions touch z = 0, rigidly, with this friction."


@click.command()
@model_argument
@file_argument("target", *FORMATS)
@formalism_option
@closure_option
@click.option(
    "--precision", type=click.Choice(PRECISIONS), help="Of numbers in C; double, if not given."
)
@click.option(
    "--function", "functions", multiple=True, metavar="NAME",
    help="Write this one of the functions only; may be repeated. Not of an FMU.",
)  # fmt: skip
def export(
    model: str,
    target: Path,
    formalism: str,
    closure: str,
    precision: str | None,
    functions: tuple[str, ...],
) -> None:
    """Write the equations of MODEL for other programs: TARGET .c, .casadi, .py, .fmu or .mo.

    C comes as a header, a source and a test that reproduces reference values; .casadi are functions
    of CasADi; .py is a module that needs NumPy only; an FMU (FMI 3.0) and a Modelica model (.mo)
    begin where MODEL does.

    \b
    Example: mechgraph export double_pendulum pendulum.c
    """
    example = models.load(model)
    equations = example.system().equations(formalism, closure)
    ending, asked = target.suffix.lower(), functions or None
    if precision and ending != ".c":
        raise click.UsageError("--precision is for C; leave it out")
    if ending == ".c":
        written = equations.export_c(target, precision or "double", asked)
    else:
        about: dict[str, Any] = {"start": example.start, "guess": example.guess}
        about |= {"duration": example.duration}
        written = equations.export(target, asked, **(about if ending in WHOLE else {}))
    for path in written:
        report_file(path)


@click.command()
@model_argument
@file_argument("target", *SUFFIXES, *ROBOTS)
@click.option("--floating", is_flag=True, help="URDF: the root link is free, not fixed.")
@click.option("--limits", is_flag=True, help="URDF, SDF, MJCF: stops of the joints' limits.")
@click.option("--friction", is_flag=True, help="URDF, SDF, MJCF: the joints' dry friction.")
@click.option("--contacts", type=click.Choice(CONTACTS), help="MJCF: those of geoms with planes.")
@click.option("--ground", type=Finite(0), metavar="MU", help=GROUND)
@names_option("--foot", "feet", "URDF: a link that touches the ground.  [default: all]")
def convert(
    model: str, target: Path, ground: float | None, feet: tuple[str, ...], **asked: Any
) -> None:
    """Write MODEL as the model file TARGET (.yaml or .json), or as URDF or MJCF (.urdf, .xml).

    With its start, guess, duration and options, as far as they are plain data. What a file cannot
    say, such as classes of one's own in Python, is named. Options say how a robot's file is
    read; the other commands read it without, or what was written here.

    \b
    Example: mechgraph convert double_pendulum double_pendulum.yaml
             mechgraph convert robot.urdf robot.yaml --floating --ground 0.8 --foot left_foot
    """
    reading = {key: value for key, value in asked.items() if value}
    if ground is not None:
        reading["ground"] = {"friction": ground, **({"links": feet} if feet else {})}
    elif feet:
        raise click.UsageError("--foot needs --ground, the friction there")
    example = models.load(model, **reading)
    about = {
        "title": example.title,
        "start": dict(example.start),
        "guess": dict(example.guess),
        "duration": example.duration,
        "options": dict(example.options),
    }
    report_file(save(example.system(), target, **about))


@click.command()
@file_argument("target", ".yaml", ".yml", ".py")
def new(target: Path) -> None:
    """Write a commented starter to TARGET (.yaml or .py).

    \b
    Example: mechgraph new crane.yaml
    """
    text = starter(target.suffix.lower(), target.stem)
    with target.open("x", encoding="utf-8") as file:
        file.write(text)
    report_file(target)


@click.command()
def schema() -> None:
    """Print the JSON Schema of model files.

    \b
    Example: mechgraph schema > mechgraph.schema.json
    """
    click.echo(json.dumps(model_schema(), indent=2))
