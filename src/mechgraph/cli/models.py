"""From what is typed to a model, and to a run of it."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import Any

import click

from .. import gallery
from ..arguments import named, number
from ..control.controller import Controller
from ..equations import Equations
from ..errors import SimulationError, unknown
from ..formalisms import DEFAULT
from ..formats.model_files.sections import SUFFIXES
from ..gallery import Example
from ..results.table import is_column
from ..results.trajectory import Trajectory
from ..studies.simulation.context import is_law
from .group import of_the_command_line
from .options import formalism_option, json_option, model_argument, set_option


def load(model: str, **reading: Any) -> Example:
    """A gallery system by name, or a user's file, with options of how it is read."""
    if model in gallery.names():
        if reading:
            options = ", ".join(f"--{name}" for name in reading)
            raise click.UsageError(f"{model} is no robot's file; leave out {options}")
        return gallery.load(model)
    if not model.lower().endswith((".py", *SUFFIXES, *gallery.IMPORTED)):
        raise click.UsageError(
            f"{unknown('model', model, gallery.names())}; or give a model file (.yaml, .json), a "
            "URDF, SDF or MJCF file (.urdf, .xacro, .sdf, .xml), or a Python file that defines a "
            "System"
        )
    if not os.path.isfile(model):
        raise click.UsageError(f"{model}: no such file")
    with of_the_command_line() if reading else nullcontext():
        return gallery.load_file(model, **reading)


def guess_of(example: Example) -> dict[str, Any]:
    """Where assembly begins: the example's guess, and what its start says of coordinates."""
    return {**example.start, **example.guess}


def check_names(equations: Equations, names: Iterable[str]) -> None:
    """Refuse what nothing in the model is called, before anything is computed."""
    with of_the_command_line():
        for name in names:
            equations.names.resolve(name)


@dataclass
class Settings:
    """What ``--set`` says."""

    parameters: dict[str, float] = field(default_factory=dict)
    inputs: dict[str, float] = field(default_factory=dict)
    start: dict[str, Any] = field(default_factory=dict)


def read_settings(settings: Sequence[str], equations: Equations) -> Settings:
    """``name=value`` pairs of parameters, inputs and starting values; several values of a joint are
    separated by commas."""
    read = Settings()
    for setting in settings:
        name, equals, text = setting.rpartition("=")
        values: list[float] = []
        with suppress(ValueError):
            values = [number(name, float(part)) for part in text.split(",")]
        single = name in (*equations.parameters, *equations.inputs)
        if not (equals and name and values) or (single and len(values) > 1):
            raise click.UsageError(
                f"--set {setting!r}: write name=number (several numbers of one joint: name=1,2,3)"
            )
        if name in equations.parameters:
            read.parameters[name] = values[0]
        elif name in equations.inputs:
            read.inputs[name] = values[0]
        else:
            check_names(equations, [name])
            read.start[name] = values[0] if len(values) == 1 else values
    return read


def constants_of(example: Example, settings: Settings) -> dict[str, dict[str, float]]:
    """Inputs and parameters as numbers, for studies that know no time; inputs that are functions
    are taken as zero, and that is told."""
    own, inputs = example.options, dict[str, float]()
    laws = own.get("inputs")
    if is_law(laws):
        laws = dict.fromkeys(example.system().inputs, laws)
    for name, value in {**named("inputs", laws), **settings.inputs}.items():
        try:
            inputs[name] = number(name, value)
        except ValueError:
            click.echo(
                f"the input {name!r} is a function; here it is zero (--set {name}=…)", err=True
            )
    parameters = {**named("parameters", own.get("parameters")), **settings.parameters}
    return {"inputs": inputs, "parameters": parameters}


@dataclass(frozen=True)
class Study:
    """A model with its equations, and what ``--set`` changes of it."""

    example: Example
    equations: Equations
    changes: Sequence[str] = ()

    @cached_property
    def settings(self) -> Settings:
        """What ``--set`` says."""
        return read_settings(self.changes, self.equations)

    @property
    def near(self) -> dict[str, Any]:
        """Where a search begins."""
        return {**guess_of(self.example), **self.settings.start}

    @cached_property
    def constants(self) -> dict[str, Any]:
        """Inputs and parameters as numbers."""
        return constants_of(self.example, self.settings)


def study_of(
    model: str,
    formalism: str = DEFAULT,
    settings: Sequence[str] = (),
    closure: str = "multipliers",
) -> Study:
    """A model that is typed, with its equations."""
    example = load(model)
    return Study(example, example.system().equations(formalism, closure), settings)


def study_command(command: Callable[..., None]) -> click.Command:
    """A command whose first argument is a ``Study`` of the model that is typed."""

    @wraps(command)
    def studied(**asked: Any) -> None:
        keys = inspect.signature(study_of).parameters
        typed = {key: asked.pop(key) for key in keys if key in asked}
        command(study_of(**typed), **asked)

    for option in (json_option, set_option, formalism_option, model_argument):
        studied = option(studied)
    return click.command()(studied)


def check_columns(study: Study, columns: Iterable[str]) -> None:
    """Refuse what is no column of a table, which may be a group, or a state of the model's
    controllers, too."""
    names, inputs = study.equations.names, study.example.options.get("inputs")
    laws = inputs.values() if isinstance(inputs, Mapping) else [inputs]
    states = {name for law in laws if isinstance(law, Controller) for name in law.states}
    others = (each for each in columns if not (is_column(names, each) or each in states))
    check_names(study.equations, others)


def options_of(study: Study, asked: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Keyword arguments of ``simulate``: the example's own, and what the command line says."""
    example, settings = study.example, study.settings
    given = {key: value for key, value in (asked or {}).items() if value is not None}
    own = dict(example.options)
    if "duration" in given and "step" not in given:
        own.pop("step", None)  # the example's step need not divide another duration
    own["parameters"] = {**named("parameters", own.get("parameters")), **settings.parameters}
    if not is_law(own.get("inputs")):
        own["inputs"] = {**named("inputs", own.get("inputs")), **settings.inputs}
    elif settings.inputs:
        names = ", ".join(settings.inputs)
        raise click.UsageError(f"--set {names}: the model's own controller gives all inputs")
    return {"duration": example.duration, "guess": example.guess, **own, **given}


def simulate(study: Study, asked: Mapping[str, Any] | None = None) -> Trajectory:
    """Run an example with what the command line changes of it."""
    options, start = options_of(study, asked), {**study.example.start, **study.settings.start}
    return study.equations.simulate(options.pop("duration"), start, **options)


def simulate_as_far_as_possible(
    study: Study, asked: Mapping[str, Any]
) -> tuple[Trajectory, list[str]]:
    """The run, or what there is of one that failed, with the reason."""
    try:
        return simulate(study, asked), []
    except SimulationError as error:
        if not isinstance(error.trajectory, Trajectory):
            raise
        return error.trajectory, [str(error)]
