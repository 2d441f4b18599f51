"""From C source to a shared library, by the system's compiler or that of the ``ziglang`` package,
cached on disk.

The cache is keyed by everything that decides the result: source, compiler, flags and processor. It
is private to the user; a library is loaded only from a folder that nobody else can write to, and
only if its content is what was built.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import importlib.util
import logging
import os
import platform
import shlex
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FLAGS = (
    "-O2",
    "-march=native",
    "-fPIC",
    "-shared",
    "-ffp-contract=fast",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-fvisibility=hidden",
    "-std=gnu11",
    "-w",
)

log = logging.getLogger("mechgraph")


class CompilationFailure(Exception):
    """There is no machine code: no compiler, or it refused the source, or its result cannot be
    loaded."""


@dataclass(frozen=True)
class Compiler:
    """A command that compiles C, and its version."""

    command: tuple[str, ...]
    version: str


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
    if wanted:
        candidates = [shlex.split(wanted, posix=os.name == "posix")]
    else:
        candidates = [["gcc"], ["cc"], ["clang"], _zig()]
    for command in candidates:
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
    """What the command says of itself, nothing if it does not work."""
    try:
        out = subprocess.run(
            [*command, "--version"], capture_output=True, text=True, timeout=20, check=True
        )
    except (OSError, IndexError, subprocess.SubprocessError):
        return ""
    return out.stdout.splitlines()[0] if out.stdout else ""


@functools.cache
def processor() -> str:
    """The features of the processor that -march=native depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    features = (line for line in lines if line.startswith(("flags", "Features")))
    return next(features, platform.machine())


@functools.cache
def lanes() -> int:
    """How many doubles a vector register of this machine holds."""
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
        if _is_private(folder):
            return folder
        reason = "it belongs to somebody else or others can write to it"
    except (OSError, RuntimeError) as error:
        reason = str(error)
    log.warning(
        "the cache folder %s is not used (%s); compiling into a temporary one", wanted, reason
    )
    return Path(_temporary_folder().name)


@functools.cache
def _temporary_folder() -> tempfile.TemporaryDirectory[str]:
    """A folder that is removed when Python ends."""
    return tempfile.TemporaryDirectory(prefix="mechgraph-", ignore_cleanup_errors=True)


def _is_private(path: Path) -> bool:
    if not hasattr(os, "getuid"):
        return True
    info = path.stat()
    return info.st_uid == os.getuid() and not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def key_of(*parts: str | bytes) -> str:
    """The name under which a library is cached."""
    digest = hashlib.sha256()
    for part in (*parts, str(find_compiler()), " ".join(FLAGS), processor()):
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def load(key: str, source: Callable[[], str]) -> ctypes.CDLL:
    """The library of that key, from the cache or built from its source."""
    try:
        return ctypes.CDLL(str(cached(key) or build(key, source())))
    except OSError as error:
        raise CompilationFailure(
            f"the compiled library cannot be made or loaded: {error}"
        ) from None


def cached(key: str) -> Path | None:
    """The library of that key, if it is there, private, and what was built."""
    library, record = _paths(key)
    try:
        safe = _is_private(library) and _is_private(library.parent)
        whole = safe and _digest(library) == record.read_text().strip()
    except (OSError, UnicodeDecodeError):
        return None
    return library if whole else None


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def build(key: str, source: str) -> Path:
    """Compile and cache; a process that comes at the same time gets a complete library or builds
    its own."""
    compiler = find_compiler()
    if compiler is None:
        raise CompilationFailure("no C compiler")
    library, record = _paths(key)
    with tempfile.TemporaryDirectory(dir=library.parent) as work:
        text, made, note = (Path(work) / f"kernel.{kind}" for kind in ("c", "so", "sha256"))
        text.write_text(source, encoding="utf-8")
        _run([*compiler.command, *FLAGS, "-o", str(made), str(text), "-lm"])
        made.chmod(0o700)
        note.write_text(_digest(made))
        os.replace(note, record)
        os.replace(made, library)
    return library


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace")
    if done.returncode:
        lines = done.stderr.strip().splitlines() or [f"exit status {done.returncode}"]
        log.debug("%s\n%s", shlex.join(command), done.stderr)
        reason = next((line for line in lines if "error" in line), lines[0])
        raise CompilationFailure(f"{command[0]} failed: {reason}")


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
