"""Arguments and options that commands share, and how results are printed."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping
from glob import escape, glob
from pathlib import Path
from typing import Any

import click
import numpy as np
from click.shell_completion import CompletionItem

from .. import gallery
from ..closures.closure import CLOSURES
from ..formalisms import DEFAULT, FORMALISMS
from ..formats.model_files.sections import SUFFIXES
from ..results.files import ENDINGS

FIGURES = (".png", ".svg", ".pdf", ".jpg", ".jpeg", ".webp", ".eps", ".ps", ".tif", ".tiff")
PAGES = (".html", ".htm")

JSON = "mechgraph.json"  # of a click context: True for programs

Command = Callable[..., Any]


class Finite(click.FloatRange):
    """A number in a range; infinity and what is no number are in none."""

    def convert(self, value: Any, *place: Any) -> float:
        number = super().convert(value, *place)
        if not math.isfinite(number):
            self.fail(f"{value} is not a finite number.", *place)
        return number


POSITIVE = Finite(min=0, min_open=True)


def _models(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """What a shell offers: names of the gallery and files of models; else files as it likes."""
    endings = (".py", *SUFFIXES, *gallery.IMPORTED)
    files = sorted(f for f in glob(f"{escape(begun)}*") if f.lower().endswith(endings))
    found = [*(name for name in gallery.names() if name.startswith(begun)), *files]
    return [CompletionItem(each) for each in found] or [CompletionItem(begun, type="file")]


def names_option(option: str, target: str, help: str) -> Callable[[Command], Command]:
    """An option that takes a name and may be repeated."""
    return click.option(option, target, metavar="NAME", multiple=True, help=help)


model_argument = click.argument("model", shell_complete=_models)
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
set_option = click.option(
    "--set",
    "settings",
    metavar="NAME=VALUE",
    multiple=True,
    help="A parameter, an input or a starting value; repeat as needed.",
)
json_option = click.option(
    "--json",
    is_flag=True,
    expose_value=False,
    callback=lambda context, parameter, value: context.meta.update({JSON: value}),
    help="Print JSON, for programs.",
)
duration_option = click.option(
    "--duration", type=POSITIVE, help="Seconds.  [default: the model's own]"
)
hold_option = names_option(
    "--hold", "hold", "A quantity that stays as it is at the start; repeat as needed."
)


def file_option(option: str, help: str, *endings: str) -> Callable[[Command], Command]:
    """An option for a file to write, whose ending and folder are checked before anything is
    computed."""
    return click.option(option, type=WRITTEN, callback=_checked(endings), help=help)


def file_argument(name: str, *endings: str) -> Callable[[Command], Command]:
    """The same as an argument."""
    return click.argument(name, type=WRITTEN, callback=_checked(endings))


def folder_option(usual: str, help: str) -> Callable[[Command], Command]:
    """An option for a folder to write to."""
    kind = click.Path(file_okay=False, path_type=Path)
    return click.option("--out", type=kind, default=Path(usual), show_default=True, help=help)


WRITTEN = click.Path(dir_okay=False, path_type=Path)


def _checked(endings: tuple[str, ...]) -> Callable[..., Path | None]:
    def checked(
        context: click.Context, parameter: click.Parameter, path: Path | None
    ) -> Path | None:
        if path is None:
            return None
        if not path.name:
            raise click.BadParameter("it is the name of a file, and that is empty")
        if path.name.lower() in endings:
            raise click.BadParameter(f"{path} is an ending without a name; write NAME{path.name}")
        if path.suffix.lower() not in endings:
            listed = ", ".join(ending for ending in endings if ending)
            raise click.BadParameter(f"{path} must end in one of {listed}")
        if not path.parent.is_dir():
            raise click.BadParameter(f"there is no folder {path.parent}")
        return path

    return checked


out_option = file_option(
    "--out", f"Write the run: {', '.join(ENDINGS)}; .npz keeps it whole.", *ENDINGS, ""
)
plot_option = file_option("--plot", "Write plots (.png, .svg, .pdf).", *FIGURES)


# --- printing -------------------------------------------------------------------------------------


def is_for_programs() -> bool:
    """True if JSON is asked for."""
    return bool(click.get_current_context().meta.get(JSON))


def show(data: Mapping[str, Any], text: str) -> None:
    """Print a result, for people or for programs."""
    for_programs = is_for_programs()
    click.echo(json.dumps(plain(data), indent=2, allow_nan=False) if for_programs else text)


def plain(value: Any) -> Any:
    """The same as JSON has it: what is no finite number is null."""
    if isinstance(value, Mapping):
        return {str(key): plain(each) for key, each in value.items()}
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (list, tuple, set)):
        return [plain(each) for each in value]
    if isinstance(value, (np.generic, complex, float)):
        return _number(value)
    return value if value is None or isinstance(value, (bool, int)) else str(value)


def _number(value: Any) -> Any:
    number = value.item() if isinstance(value, np.generic) else value
    if isinstance(number, complex):
        return {"real": _number(number.real), "imag": _number(number.imag)}
    return None if isinstance(number, float) and not np.isfinite(number) else number


def wrote(path: Path) -> None:
    """Tell of a file; where results are read by programs, too, so not among them."""
    size = path.stat().st_size
    told = f"{size / 1024:.0f} kB" if size >= 1024 else f"{size} bytes"
    click.echo(f"  wrote {path}  ({told})", err=is_for_programs())
