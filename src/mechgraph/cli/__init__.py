"""The ``mechgraph`` command: one subcommand for each thing that a model can be asked."""

from __future__ import annotations

import click

from .. import __version__
from .analyze import equilibrium, inverse, linearize
from .files import convert, export, new, schema
from .group import Commands
from .inspect import check, describe, equations, figures, gallery_command
from .run import compare, demo, run


@click.group(
    cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110}
)
@click.version_option(__version__, "-V", "--version", prog_name="mechgraph")
def main() -> None:
    """Exact equations of motion of rigid-body mechanisms, by every classical formalism, and what
    follows from them.

    MODEL is a name of the gallery (see `mechgraph gallery`), a model file (.yaml, .json; see
    `mechgraph schema`), a URDF, SDF or MJCF file (.urdf, .sdf, .xml), or a Python file that defines
    a System, as an object or as a function system(). A Python file is a program of your own: it is
    executed; other files never are.

    \b
    Exit codes: 0 done, 1 a wrong model or a run that fails, 2 a wrong command line,
    130 interrupted.
    """


for command in (
    demo, run, check, describe, equations, linearize, equilibrium, inverse, compare, export,
    convert, new, schema, figures, gallery_command,
):  # fmt: skip
    main.add_command(command)
