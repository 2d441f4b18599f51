"""Commands that write files of a model: ``export``, ``convert``, ``new``, ``schema``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import click

from ..formats.c import PRECISIONS
from ..formats.export import FORMATS, WHOLE
from ..formats.model_file import save
from ..formats.reading import SUFFIXES
from ..formats.schema import model_schema
from ..formats.starter import starter
from . import models
from .options import closure_option, file_argument, formalism_option, model_argument, wrote


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
        wrote(path)


@click.command()
@model_argument
@file_argument("target", *SUFFIXES)
def convert(model: str, target: Path) -> None:
    """Write MODEL as the model file TARGET (.yaml or .json).

    With its start, guess, duration and options, as far as they are plain data. What a file cannot
    say, such as classes of one's own in Python, is named.

    \b
    Example: mechgraph convert double_pendulum double_pendulum.yaml
    """
    example = models.load(model)
    about = {
        "title": example.title,
        "start": dict(example.start),
        "guess": dict(example.guess),
        "duration": example.duration,
        "options": dict(example.options),
    }
    wrote(save(example.system(), target, **about))


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
    wrote(target)


@click.command()
def schema() -> None:
    """Print the JSON Schema of model files.

    \b
    Example: mechgraph schema > mechgraph.schema.json
    """
    click.echo(json.dumps(model_schema(), indent=2, ensure_ascii=False))
