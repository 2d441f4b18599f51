"""C source → shared library, by the system's compiler or the one in the ``ziglang`` package, cached on disk.

The cache is keyed by everything that decides the result: source, compiler, flags and processor. It is private to the
user; a library is loaded only from a folder that nobody else can write to, and only if its content is what was built.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.util
import logging
import os
import platform
import shutil
import stat
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

FLAGS = (
    "-O2", "-march=native", "-fPIC", "-shared", "-ffp-contract=fast", "-fno-math-errno", "-fno-trapping-math",
    "-fvisibility=hidden", "-std=gnu11", "-w",
)  # fmt: skip

log = logging.getLogger("mechgraph")


class CompilationFailure(Exception):
    """The compiler is missing or refused the source."""


@dataclass(frozen=True)
class Compiler:
    """A command that compiles C, and its version."""

    command: tuple[str, ...]
    version: str


@functools.cache
def find_compiler() -> Compiler | None:
    """``MECHGRAPH_CC`` if set ("none" for none), else gcc, cc, clang or ziglang; None, with one line, if there is none."""
    wanted = os.environ.get("MECHGRAPH_CC", "")
    if wanted == "none":
        return None
    for command in [(wanted,)] if wanted else [("gcc",), ("cc",), ("clang",), _zig()]:
        if command and (shutil.which(command[0]) or Path(command[0]).exists()):
            version = _version(command)
            if version:
                return Compiler(command, version)
    log.warning("no C compiler found: expressions are interpreted; for machine code install gcc or `pip install ziglang`")
    return None


def _zig() -> tuple[str, ...]:
    return (sys.executable, "-m", "ziglang", "cc") if importlib.util.find_spec("ziglang") else ()


def _version(command: tuple[str, ...]) -> str:
    try:
        out = subprocess.run([*command, "--version"], capture_output=True, text=True, timeout=20, check=True)
    except (OSError, subprocess.SubprocessError):
        return ""
    return out.stdout.splitlines()[0] if out.stdout else ""


@functools.cache
def processor() -> str:
    """What -march=native depends on."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return f"{platform.machine()} {platform.processor()}"
    return next((line for line in lines if line.startswith(("flags", "Features"))), platform.machine())


@functools.cache
def lanes() -> int:
    """Doubles in a vector register of this machine."""
    features = set(processor().split())
    if "avx512f" in features:
        return 8
    if "avx2" in features:
        return 4
    return 2


# --- the cache -------------------------------------------------------------------------------------------------------


@functools.cache
def cache_folder() -> Path:
    """``MECHGRAPH_CACHE``, or mechgraph in the user's cache folder; a temporary one if that is not safe."""
    base = os.environ.get("MECHGRAPH_CACHE") or os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    folder = Path(base) if base else Path.home() / ".cache"
    folder = folder if os.environ.get("MECHGRAPH_CACHE") else folder / "mechgraph"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if _is_private(folder):
            return folder
        reason = "others can write to it"
    except OSError as error:
        reason = str(error)
    log.warning("the cache folder %s is not used (%s); compiling into a temporary one", folder, reason)
    return Path(tempfile.mkdtemp(prefix="mechgraph-"))


def _is_private(path: Path) -> bool:
    if not hasattr(os, "getuid"):
        return True
    info = path.stat()
    return info.st_uid == os.getuid() and not info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


def key_of(*parts: str | bytes) -> str:
    """The name under which a library is cached."""
    digest = hashlib.sha256()
    compiler = find_compiler()
    for part in (*parts, str(compiler), " ".join(FLAGS), processor()):
        data = part.encode() if isinstance(part, str) else part
        digest.update(len(data).to_bytes(8, "little") + data)
    return digest.hexdigest()


def cached(key: str) -> Path | None:
    """The library of that key, if it is there, private, and what was built."""
    library, record = _paths(key)
    try:
        expected = record.read_text().strip()
        content = library.read_bytes()
    except OSError:
        return None
    safe = _is_private(library) and _is_private(library.parent)
    return library if safe and hashlib.sha256(content).hexdigest() == expected else None


def build(key: str, source: str) -> Path:
    """Compile and cache; whoever comes at the same time gets a complete library or builds its own."""
    compiler = find_compiler()
    if compiler is None:
        raise CompilationFailure("no C compiler")
    library, record = _paths(key)
    with tempfile.TemporaryDirectory(dir=cache_folder()) as work:
        text, made, note = (Path(work) / name for name in ("kernel.c", "kernel.so", "kernel.sha256"))
        text.write_text(source, encoding="utf-8")
        done = subprocess.run([*compiler.command, *FLAGS, "-o", str(made), str(text), "-lm"], capture_output=True, text=True)
        if done.returncode:
            raise CompilationFailure(f"{' '.join(compiler.command)} failed: {done.stderr.strip()[:2000]}")
        made.chmod(0o700)
        note.write_text(hashlib.sha256(made.read_bytes()).hexdigest())
        os.replace(note, record)
        os.replace(made, library)
    return library


def _paths(key: str) -> tuple[Path, Path]:
    return cache_folder() / f"{key}.so", cache_folder() / f"{key}.sha256"
