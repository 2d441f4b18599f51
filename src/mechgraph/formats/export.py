"""The equations for other programs: the ending of a file tells which."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from ..arguments import file_path
from ..equations import Equations
from ..errors import ArgumentError
from .arrays import export_casadi, export_numpy
from .c import export_c
from .fmu import export_fmu

FORMATS: dict[str, Callable[[Equations, Path], Path | list[Path]]] = {
    ".c": export_c,
    ".casadi": export_casadi,
    ".py": export_numpy,
    ".fmu": export_fmu,
}


def export(equations: Equations, path: str | Path) -> list[Path]:
    """Write equations by the ending of ``path``; the files that were written."""
    path = file_path(path)
    if path.suffix.lower() not in FORMATS:
        raise ArgumentError(
            f"{path.name}: equations are written to files that end in {', '.join(FORMATS)}"
        )
    written = FORMATS[path.suffix.lower()](equations, path)
    return written if isinstance(written, list) else [written]
