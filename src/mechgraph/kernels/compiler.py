"""From C source to a shared library, by the system's compiler or that of the ``ziglang`` package,
cached on disk.

The cache is keyed by everything that decides the result: source, compiler, flags and processor. It
is private to the user; a library is loaded only from a folder that nobody else can write to, and
only if its content is what was built under that name.
"""

from __future__ import annotations

import _ctypes
import ctypes
import functools
import hashlib
import importlib.util
import logging
import os
import platform
import shlex
import shutil
import stat
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .process import run_to_end

FLAGS = (
    "-O2",
    "-fPIC",
    "-shared",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fvisibility=hidden",
    "-std=gnu11",
    "-w",
)

WIDTHS = {"x86-64": 2, "x86-64-v2": 2, "x86-64-v3": 4, "x86-64-v4": 8}  # doubles in a register

VERSION_SECONDS = 20.0  # for a compiler to say its version
# for a compiler to finish: about twenty times what gcc takes, and what a busy machine may add
SECONDS, SECONDS_PER_CHARACTER = 120.0, 1 / 10_000
LONG = 100_000  # characters that take a compiler more than a moment
LONGEST = 1e6  # a number of seconds that every system can wait for
FOLDERS = "mechgraph-"  # temporary folders begin with it
STALE = 86400.0  # seconds after which nobody is at work in one
SEAL = "mechgraph kernel "  # what every library holds, with its key behind it

log = logging.getLogger("mechgraph")


class CompilationFailure(Exception):
    """There is no machine code: no compiler, or it refused the source, or its result cannot be
    loaded."""


@dataclass(frozen=True)
class Compiler:
    """A command that compiles C, and its version."""

    command: tuple[str, ...]
    version: str

    def march(self) -> str:
        """The option for the target; zig writes the names of processors with underscores."""
        is_zig = Path(self.command[0]).stem == "zig"
        return f"-march={target().replace('-', '_') if is_zig else target()}"


class Library(ctypes.CDLL):
    """A library whose functions are there or said to be missing."""

    def __getitem__(self, name: Any) -> Any:
        try:
            return super().__getitem__(name)
        except AttributeError:
            raise CompilationFailure(f"the compiled library has no function {name!r}") from None


class QuickLibrary(Library, ctypes.PyDLL):
    """A library of functions so short that they keep the interpreter's lock."""


def find_compiler() -> Compiler | None:
    """The command in ``MECHGRAPH_CC`` ("none" for none), else gcc, cc, clang or ziglang; None, with
    one line, if none works.

    What was found is remembered as long as the environment stays the same.
    """
    return _find_compiler(os.environ.get("MECHGRAPH_CC", ""), os.environ.get("PATH", ""))


@functools.cache
def _find_compiler(wanted: str, path: str) -> Compiler | None:
    if wanted == "none":
        return None
    try:
        chosen = shlex.split(wanted, posix=os.name == "posix")
    except ValueError as error:
        log.warning("MECHGRAPH_CC: %r: %s; expressions are interpreted", wanted, error)
        return None
    for command in [chosen] if wanted else [["gcc"], ["cc"], ["clang"], _zig()]:
        version = _version(command)
        if version:
            return Compiler(tuple(command), version)
    if wanted:
        log.warning(
            "MECHGRAPH_CC: %r does not answer to --version; expressions are interpreted", wanted
        )
    else:
        log.warning(
            "no C compiler found: expressions are interpreted; for machine code install gcc or "
            "`pip install ziglang`"
        )
    return None


def _zig() -> list[str]:
    """The compiler inside the ``ziglang`` package, started without Python around it."""
    package = importlib.util.find_spec("ziglang")
    folders = package.submodule_search_locations if package else None
    if not folders:
        return []
    # else it first builds a run-time library, which takes 15 s
    plain = ["-nostdlib", "-lc"] if sys.platform == "linux" else []
    return [str(Path(folders[0]) / "zig"), "cc", *plain]


def _version(command: list[str]) -> str:
    """The first line of the answer to --version, nothing if the command does not work."""
    if not command:
        return ""
    try:
        done = run_to_end([*command, "--version"], VERSION_SECONDS)
    except (OSError, ValueError, subprocess.SubprocessError):
        return ""
    return done.stdout.splitlines()[0] if done.stdout and not done.returncode else ""


def target() -> str:
    """The processor that kernels are compiled for: ``MECHGRAPH_TARGET`` (x86-64-v2, …), else the
    one of this machine."""
    return os.environ.get("MECHGRAPH_TARGET") or "native"


def is_automatic() -> bool:
    """True if functions are compiled, and looked for in the cache, as soon as that pays;
    ``MECHGRAPH_COMPILE=asked`` leaves all to the interpreter but what is told to ``compile``, so
    that results do not depend on when a compiler is done."""
    return os.environ.get("MECHGRAPH_COMPILE") != "asked"


@functools.cache
def processor() -> str:
    """The features of the processor that -march=native depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    features = (line for line in lines if line.startswith(("flags", "Features")))
    return next(features, platform.machine())


def lanes() -> int:
    """How many doubles a vector register of the target holds."""
    return WIDTHS.get(target()) or _native_lanes()


@functools.cache
def _native_lanes() -> int:
    features = set(processor().split())
    if "avx512f" in features:
        return 8
    if "avx2" in features:
        return 4
    return 2


# --- the cache ------------------------------------------------------------------------------------


def cache_folder() -> Path:
    """``MECHGRAPH_CACHE``, else mechgraph in the user's cache folder; a temporary one, with one
    line, if that is not safe."""
    given = os.environ.get("MECHGRAPH_CACHE")
    base = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA") or "~/.cache"
    return _safe_folder(Path(given) if given else Path(base) / "mechgraph")


@functools.cache
def _safe_folder(wanted: Path) -> Path:
    try:
        folder = wanted.expanduser().absolute()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        reason = _danger(folder)
        if not reason:
            return folder
    except (OSError, RuntimeError) as error:
        reason = str(error)
    log.warning(
        "the cache folder %s is not used (%s); compiling into a temporary one", wanted, reason
    )
    return Path(_temporary_folder().name)


@functools.cache
def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder that is removed when Python ends."""
    return tempfile.TemporaryDirectory(prefix=FOLDERS, ignore_cleanup_errors=True)


def _danger(folder: Path) -> str:
    """Why a folder is not safe, nothing if it is."""
    if not _is_private(folder):
        return "it belongs to somebody else or others can write to it"
    above = (*folder.parents, *folder.resolve().parents)
    return next((f"others can write to {each}" for each in above if _is_open(each)), "")


def _is_private(path: Path) -> bool:
    if not hasattr(os, "getuid"):
        return True
    info = path.stat()
    return info.st_uid == os.getuid() and not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def _is_open(folder: Path) -> bool:
    """True if others can put something else in the place of what is in a folder; the user's own
    group, which has the same number, is nobody else."""
    if not hasattr(os, "getuid"):
        return False
    info = folder.stat()
    own_group = info.st_gid == os.getgid() == os.getuid()
    others = stat.S_IWOTH if own_group else stat.S_IWOTH | stat.S_IWGRP
    return bool(info.st_mode & others) and not info.st_mode & stat.S_ISVTX


def key_of(*parts: str | bytes) -> str:
    """The name under which a library is cached."""
    digest = hashlib.sha256()
    for part in (*parts, str(find_compiler()), " ".join(FLAGS), target(), processor()):
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def load(key: str, source: Callable[[], str]) -> Library:
    """The library of that key, from the cache or built from its source."""
    found = find_cached(key)
    if found is not None:
        with suppress(OSError):  # as of another system that shares the folder: built anew
            return Library(str(found))
    try:
        return Library(str(build(key, source())))
    except OSError as error:
        raise CompilationFailure(
            f"the compiled library cannot be made or loaded: {error}"
        ) from None


def find_cached(key: str) -> Path | None:
    """The library of that key, if it is there, private, and what was built."""
    library, record = _paths(key)
    try:
        safe = _is_private(library) and _is_private(library.parent)
        whole = safe and _record(key, library) == record.read_text().strip()
    except (OSError, UnicodeDecodeError, CompilationFailure):
        return None
    return library if whole else None


def _record(key: str, library: Path) -> str:
    """The note of a library that is built; it belongs to one key only."""
    content = library.read_bytes()
    if f"{SEAL}{key}".encode() not in content:
        raise CompilationFailure("the compiled library cannot be that of its source")
    return hashlib.sha256(key.encode() + content).hexdigest()


def build(key: str, source: str) -> Path:
    """Compile and cache; a process that comes at the same time gets a complete library or builds
    its own."""
    compiler = find_compiler()
    if compiler is None:
        raise CompilationFailure("no C compiler")
    library, record = _paths(key)
    _remove_stale(library.parent)
    with tempfile.TemporaryDirectory(prefix=FOLDERS, dir=library.parent) as work:
        text, made, note = (Path(work) / f"kernel.{kind}" for kind in ("c", "so", "sha256"))
        text.write_text(f"{source}\n{_sealed(key)}\n", encoding="utf-8")
        arguments = [compiler.march(), "-o", str(made), str(text), "-lm"]
        _compile(compiler, arguments, len(source))
        made.chmod(0o700)
        note.write_text(_record(key, made))
        _put(note, record)
        _put(made, library)
    return library


def _sealed(key: str) -> str:
    """A line of C by which a library can be told from others."""
    visible = (
        "__declspec(dllexport)" if os.name == "nt" else '__attribute__((visibility("default")))'
    )
    return f'{visible} const char mechgraph_kernel[] = "{SEAL}{key}";'


def _put(made: Path, place: Path) -> None:
    """Move a file to its place, whatever is there."""
    if place.is_dir() and not place.is_symlink():
        shutil.rmtree(place)
    os.replace(made, place)


def _remove_stale(folder: Path) -> None:
    """Remove what processes that were killed have left behind."""
    for left in [*_temporary(folder), *_temporary(Path(tempfile.gettempdir()))]:
        with suppress(OSError):
            if _is_private(left) and time.time() - left.stat().st_mtime > STALE:
                shutil.rmtree(left, ignore_errors=True)


def _temporary(folder: Path) -> Iterator[Path]:
    return (path for path in folder.glob(f"{FOLDERS}*") if path.is_dir() and not path.is_symlink())


def build_portable(source: Path, library: Path, size: int) -> None:
    """Compile a file of so many characters, with what it includes, to a library that every machine
    of this kind can load."""
    compiler = find_compiler()
    if compiler is None:
        raise CompilationFailure("no C compiler")
    _compile(compiler, ["-o", str(library), str(source), "-lm"], size)
    try:
        handle = ctypes.CDLL(str(library))._handle
    except OSError as error:
        raise CompilationFailure(f"{compiler.command[0]} made no library: {error}") from None
    getattr(_ctypes, "FreeLibrary" if os.name == "nt" else "dlclose")(handle)


def _compile(compiler: Compiler, arguments: list[str], size: int) -> None:
    """Run the compiler; one that once did not finish in time is not waited for again."""
    command, seconds = [*compiler.command, *FLAGS, *arguments], _time_limit(size)
    late = f"{command[0]} did not finish in time; MECHGRAPH_CC_TIMEOUT=seconds gives it more"
    attempt = compiler, os.environ.get("MECHGRAPH_CC_TIMEOUT")
    if attempt in _late:
        raise CompilationFailure(late)
    if size > LONG:
        log.info("compiling %.0f kB of C …", size / 1000)
    try:
        done = run_to_end(command, seconds)
    except subprocess.TimeoutExpired:
        _late.add(attempt)
        raise CompilationFailure(late) from None
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        log.debug("%s\n%s", shlex.join(command), done.stderr)
        reason = next((line for line in lines if "error" in line), lines[0])
        raise CompilationFailure(f"{command[0]} failed: {reason}")


_late: set[tuple[Compiler, str | None]] = set()


def _time_limit(size: int) -> float:
    """Seconds that a compiler may take for a source of so many characters."""
    given = os.environ.get("MECHGRAPH_CC_TIMEOUT", "")
    if not given:
        return SECONDS + SECONDS_PER_CHARACTER * size
    with suppress(ValueError):
        if float(given) > 0:
            return min(float(given), LONGEST)
    raise CompilationFailure(f"MECHGRAPH_CC_TIMEOUT: {given!r} is no number of seconds")


def report(failure: CompilationFailure, consequence: str = "interpreted, not compiled") -> None:
    """Log one clear line for a compiler that does not work, however many kernels it is tried
    for."""
    what = type(failure), find_compiler(), consequence
    # when Python ends, folders are cleared away under a compiler that still runs
    leaving = not threading.main_thread().is_alive()
    level = logging.DEBUG if what in _reported or leaving else logging.WARNING
    log.log(level, "%s: %s", consequence, failure)
    _reported.add(what)


_reported: set[tuple[Any, ...]] = set()


def _paths(key: str) -> tuple[Path, Path]:
    return cache_folder() / f"{key}.so", cache_folder() / f"{key}.sha256"
