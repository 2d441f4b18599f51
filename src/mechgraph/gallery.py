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
  by name; it raises ``AssertionError`` if one is too large (see ``verified``);
- ``figures() -> dict[str, Figure]``: pictures worth showing by name, such as those of its source,
  as Matplotlib figures: of ``run.plot()``, ``sweep.plot()``, or of any curves (see ``curves``).

Run as a script, a file of the gallery presents itself: description, then check.
"""

from __future__ import annotations

import importlib.util
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from types import ModuleType
from typing import Any

from . import door
from .arguments import file_path, named, number, one_of
from .errors import ArgumentError, MechgraphError, ModelError, error_text, shown
from .formats.mjcf import read_mjcf
from .formats.model_files import model_file
from .formats.model_files.sections import SUFFIXES, ModelFile
from .formats.sdf import from_sdf
from .formats.urdf import from_urdf
from .model.system import System
from .studies.simulation.simulate import simulate

DURATION = 5.0


@wraps(from_urdf)
def _read_urdf(path: Path, **reading: Any) -> ModelFile:
    """URDF does not tell where a robot begins."""
    return ModelFile(from_urdf(path, **reading))


@wraps(from_sdf)
def _read_sdf(path: Path, **reading: Any) -> ModelFile:
    """A robot begins where SDF shows it, which is the reference."""
    return ModelFile(from_sdf(path, **reading))


# other programs' files
IMPORTED: dict[str, Callable[..., ModelFile]] = {
    ".urdf": _read_urdf,
    ".xacro": _read_urdf,
    ".sdf": _read_sdf,
    ".xml": read_mjcf,
    ".mjcf": read_mjcf,
}


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
    figures: Callable[[], dict[str, Any]] | None
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
    one_of("gallery system", name, names())
    return load_file(folder() / f"{name}.py")


def load_file(path: str | Path, **reading: Any) -> Example:
    """The example in a Python file that defines ``system()`` or one ``System`` object, in a model
    file, or in a URDF, SDF or MJCF file, for which ``reading`` are options of ``from_urdf``,
    ``from_sdf`` or ``from_mjcf``.

    Runs a Python file, which may import files beside it. What is wrong with it is a ``ModelError``
    that tells the line; the original error is its cause.
    """
    path = file_path(path)
    readers = {**dict.fromkeys(SUFFIXES, model_file.read), **IMPORTED}
    read = readers.get(path.suffix.lower())
    known = [*inspect.signature(read).parameters][1:] if read is not None else []
    for option in reading:
        one_of(f"option of reading {path.suffix} files", option, known)
    if read is not None:
        return _of_data(path, partial(read, **reading))
    own = _Own(path)
    with own.running():
        module = _execute(path)
    title = " ".join((module.__doc__ or "").strip().partition("\n\n")[0].split())
    title = title.encode(errors="replace").decode()  # so that it can be printed
    with _placed(path):
        return Example(
            name=path.stem,
            title=title or path.stem,
            system=own.system(_builder(module)),
            start=named("START", getattr(module, "START", None)),
            guess=named("GUESS", getattr(module, "GUESS", None)),
            duration=number("DURATION", getattr(module, "DURATION", DURATION), positive=True),
            options=_options(getattr(module, "OPTIONS", None)),
            check=own.function("check", getattr(module, "check", None), _errors, AssertionError),
            figures=own.function("figures", getattr(module, "figures", None), _figures),
            path=path,
        )


def _of_data(path: Path, read: Callable[[Path], ModelFile]) -> Example:
    """The example in a model file or another program's; nothing in it is run."""
    said = read(path)
    with _placed(path):
        return Example(
            name=path.stem,
            title=said.title or path.stem,
            system=lambda: said.system,
            start=said.start,
            guess=said.guess,
            duration=DURATION if said.duration is None else number("duration", said.duration, True),
            options=_options(said.options),
            check=None,
            figures=None,
            path=path,
        )


def _execute(path: Path) -> ModuleType:
    if not os.path.isfile(path):  # which minds no name, however long
        raise ArgumentError(
            f"{path}: no such file; give a Python file or one of the gallery: {', '.join(names())}"
        )
    spec = importlib.util.spec_from_file_location(f"mechgraph_example_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise ArgumentError(f"{path}: not a Python file; give one that ends in .py")
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[spec.name]
        raise
    return module


def _builder(module: ModuleType) -> Callable[..., System]:
    """The file's ``system`` function, or one that returns the only ``System`` at its top level."""
    made = getattr(module, "system", None)
    if callable(made):
        return made
    found = {id(value): value for value in vars(module).values() if isinstance(value, System)}
    if len(found) != 1:
        what = "no System" if not found else f"{len(found)} Systems"
        raise ModelError(f"defines {what}; define a function system() that returns the one to use")
    (only,) = found.values()
    return lambda: only


def _options(given: Any) -> dict[str, Any]:
    """Keyword arguments of ``simulate``."""
    elsewhere = {"equations", "duration", "start"}
    known = [name for name in inspect.signature(simulate).parameters if name not in elsewhere]
    return {
        one_of("option in OPTIONS", name, known): v for name, v in named("OPTIONS", given).items()
    }


def _errors(found: dict[str, Any]) -> dict[str, float]:
    if not found:
        raise ModelError("check() must return errors by name, see mg.gallery.verified")
    return {name: number(f"check(): {name!r}", x) for name, x in found.items()}


def _figures(found: dict[str, Any]) -> dict[str, Any]:
    wrong = [figure for figure in found.values() if not hasattr(figure, "savefig")]
    if wrong or not found:
        got = shown(wrong[0] if wrong else found)
        raise ModelError(f"figures() must return Matplotlib figures by name, got {got}")
    return found


class _Own:
    """A user's file while it runs: files beside it can be imported then, and only then, because
    another model may have others of the same names."""

    def __init__(self, path: Path) -> None:
        self.path, self.folder = path, path.resolve().parent
        self.modules: dict[str, ModuleType] = {}  # those beside it that it has imported

    def system(self, build: Callable[..., Any]) -> Callable[..., System]:
        """Its function ``system``, which must return one."""

        @wraps(build)
        def built(*arguments: Any, **options: Any) -> System:
            with self.running():
                made = build(*arguments, **options)
            if not isinstance(made, System):
                raise ModelError(f"{self.path}: system() must return a System, got {shown(made)}")
            return made

        return built

    def function(
        self,
        word: str,
        function: Any,
        read: Callable[[dict[str, Any]], dict[str, Any]],
        passing: type[Exception] = MechgraphError,
    ) -> Callable[[], dict[str, Any]] | None:
        """Its function of that name, if there is one, and what is read of its results by name."""
        if function is None:
            return None
        if not callable(function):
            raise ModelError(f"{word} must be a function, got {shown(function)}")

        @wraps(function)
        def called() -> dict[str, Any]:
            with self.running(passing):
                made = function()
            with _placed(self.path):
                return read(named(f"what {word}() returns", made))

        return called

    @contextmanager
    def running(self, passing: type[Exception] = MechgraphError) -> Iterator[None]:
        """Let it run; what it raises, unless it is ``passing``, is told with the line that
        failed."""
        before = set(sys.modules)
        sys.path.insert(0, str(self.folder))
        sys.modules.update(self.modules)
        try:
            yield
        except (MechgraphError, passing):
            raise
        except (Exception, SystemExit) as error:
            raise ModelError(self._told(error)) from error
        finally:
            with suppress(ValueError):  # it may have tidied up itself
                sys.path.remove(str(self.folder))
            for name in self._beside(set(sys.modules) - before):
                self.modules[name] = sys.modules.pop(name)

    def _beside(self, imported: set[str]) -> list[str]:
        """Those of the modules that were found in the folder of the file."""
        here = {name for name in imported if "." not in name and self._is_here(name)}
        return [name for name in imported if name.partition(".")[0] in here]

    def _is_here(self, name: str) -> bool:
        spec = getattr(sys.modules[name], "__spec__", None)
        places = [] if spec is None else [*(spec.submodule_search_locations or ()), spec.origin]
        found = Path(str(places[0])).resolve() if places else self.path.resolve()
        return found.parent == self.folder and found != self.path.resolve()

    def _told(self, error: BaseException) -> str:
        if isinstance(error, SyntaxError):
            where = f"{error.filename or self.path}, line {error.lineno or 1}"
            return f"{where}: not valid Python: {error.msg}"
        frames = traceback.extract_tb(error.__traceback__)
        own = [f.lineno for f in frames if Path(f.filename).resolve() == self.path.resolve()]
        where = f"{self.path}, line {own[-1]}" if own else str(self.path)
        return f"{where}: {error_text(error)}"


@contextmanager
def _placed(path: Path) -> Iterator[None]:
    """What is wrong with a file is told with its name."""
    try:
        yield
    except MechgraphError as error:
        raise ModelError(f"{path}: {error}") from None


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


def curves(
    x: Any,
    panels: Mapping[str, Mapping[str, Any]],
    across: str = "time (s)",
    title: str = "",
    dashed: Collection[str] = (),
    logarithmic: Collection[str] = (),
) -> Any:
    """A figure of any curves over x, by the title of a panel and by label.

    dashed: labels of the curves that are; logarithmic: titles of the panels that are.

    >>> figure = curves([0, 1, 2], {"torque (N m)": {"left": [0, 1, 4], "right": [1, 1, 1]}})
    """
    return door.show.plot.curves(x, panels, across, title, dashed, logarithmic)


def present(system: System, check: Callable[[], dict[str, float]]) -> None:
    """Print a system's description and the errors of its check."""
    print(system.describe())
    print("\nCheck")
    for name, error in check().items():
        print(f"  {name:<44} {error:.2g}")
