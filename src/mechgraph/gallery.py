"""The gallery: example systems, one readable Python file each, and the same reader for a user's own
file.

A file defines, at its top level:

- ``system(**options) -> System``: builds the description; every argument has a default. One plain
  ``System`` object serves as well.

It may define

- a docstring, the first paragraph of which is the title;
- ``START``: what ``simulate`` and ``assemble`` start from, a mapping of names to values;
- ``GUESS``: where assembly begins, for mechanisms that close in several ways;
- ``DURATION``: seconds worth watching;
- ``OPTIONS``: keyword arguments of ``simulate`` that make a good run;
- ``check() -> dict[str, float]``: compares with what is known from elsewhere and returns the errors
  by name; it raises ``AssertionError`` if one is too large (see ``verified``).

Run as a script, a file of the gallery presents itself: description, then check.
"""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from .errors import ArgumentError, unknown
from .model.system import System

DURATION = 5.0


@dataclass(frozen=True)
class Example:
    """A system with a start, a duration and a check of its own.

    >>> example = load("double_pendulum")
    >>> example.title
    'Double pendulum: two bars in a vertical plane.'
    >>> run = example.system().equations().simulate(0.1, example.start, guess=example.guess)
    """

    name: str
    title: str
    system: Callable[..., System]
    start: Mapping[str, Any]
    guess: Mapping[str, Any]
    duration: float
    options: Mapping[str, Any]
    check: Callable[[], dict[str, float]] | None
    path: Path


def folder() -> Path:
    """Where the gallery lies: in the installed package, or beside ``src`` in a checkout."""
    here = Path(__file__).resolve()
    packaged = here.parent / "gallery"
    return packaged if packaged.is_dir() else here.parents[2] / "gallery"


def names() -> list[str]:
    """Names of the example systems, sorted."""
    return sorted(path.stem for path in folder().glob("*.py"))


def load(name: str) -> Example:
    """The example of that name."""
    if name not in names():
        raise ArgumentError(unknown("gallery system", name, names()))
    return load_file(folder() / f"{name}.py")


def load_file(path: str | Path) -> Example:
    """The example in a Python file that defines ``system()`` or one ``System`` object. Runs the
    file."""
    path = Path(path)
    module = _execute(path)
    title = " ".join((module.__doc__ or "").strip().partition("\n\n")[0].split())
    return Example(
        name=path.stem,
        title=title or path.stem,
        system=_builder(module, path),
        start=getattr(module, "START", {}),
        guess=getattr(module, "GUESS", {}),
        duration=getattr(module, "DURATION", DURATION),
        options=getattr(module, "OPTIONS", {}),
        check=getattr(module, "check", None),
        path=path,
    )


def _execute(path: Path) -> ModuleType:
    if not path.is_file():
        raise ArgumentError(
            f"{path}: no such file; give a Python file or one of the gallery: {', '.join(names())}"
        )
    spec = importlib.util.spec_from_file_location(f"mechgraph_example_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ArgumentError(f"{path}: not a Python file; give one that ends in .py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except SyntaxError as error:
        raise ArgumentError(f"{path}: not valid Python: {error}") from None
    return module


def _builder(module: ModuleType, path: Path) -> Callable[..., System]:
    """The file's ``system`` function, or one that returns the only ``System`` at its top level."""
    made = getattr(module, "system", None)
    if callable(made):
        return made
    found = {id(value): value for value in vars(module).values() if isinstance(value, System)}
    if len(found) != 1:
        what = "no System" if not found else f"{len(found)} Systems"
        raise ArgumentError(
            f"{path}: defines {what}; define a function system() that returns the one to use"
        )
    (only,) = found.values()
    return lambda: only


# --- for the files themselves ---------------------------------------------------------------------


def verified(comparisons: Mapping[str, tuple[float, float]]) -> dict[str, float]:
    """The errors by name, from (error, bound) by name; raises ``AssertionError`` with all that are
    beyond their bounds.

    >>> verified({"energy": (3e-12, 1e-9)})
    {'energy': 3e-12}
    """
    errors = {name: float(error) for name, (error, _) in comparisons.items()}
    beyond = [
        f"{name}: {errors[name]:.3g} > {bound:g}"
        for name, (_, bound) in comparisons.items()
        if not errors[name] <= bound
    ]
    if beyond:
        raise AssertionError("; ".join(beyond))
    return errors


def present(system: System, check: Callable[[], dict[str, float]]) -> None:
    """Print a system's description and the errors of its check."""
    print(system.describe())
    print("\nCheck")
    for name, error in check().items():
        print(f"  {name:<44} {error:.2g}")
