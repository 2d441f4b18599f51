"""The equations for other programs: the ending of a file tells which."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from ..arguments import file_path
from ..equations import Equations
from ..errors import ArgumentError
from .arrays import export_casadi, export_numpy
from .c import export_c
from .fmu import export_fmu
from .modelica import export_modelica

FORMATS: dict[str, Callable[..., Path | list[Path]]] = {
    ".c": export_c,
    ".casadi": export_casadi,
    ".py": export_numpy,
    ".fmu": export_fmu,
    ".mo": export_modelica,
}
WHOLE = {
    ".fmu": export_fmu,
    ".mo": export_modelica,
}  # which say where a motion begins, and how long it takes


def export(
    equations: Equations, path: str | Path, functions: Sequence[str] | None, about: dict[str, Any]
) -> list[Path]:
    """Write equations by the ending of ``path``, ``about`` a model what is given of its start and
    so on; the files that were written."""
    path = file_path(path)
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise ArgumentError(
            f"{path.name}: equations are written to files that end in {', '.join(FORMATS)}"
        )
    if ending in WHOLE and functions is not None:
        raise ArgumentError(f"{path.name}: {ending} files hold a whole model; leave out functions")
    if ending not in WHOLE and about:
        raise ArgumentError(
            f"{path.name}: {ending} files hold functions, which begin nowhere; leave out "
            f"{', '.join(about)}"
        )
    chosen = about if functions is None else {"functions": functions}
    written = FORMATS[ending](equations, path, **chosen)
    return written if isinstance(written, list) else [written]
