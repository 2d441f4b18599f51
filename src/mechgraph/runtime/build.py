"""From the sources of the runtime to a shared library beside them.

It is built where the package is (``hatch_build.py`` in the repository), before anything else is
there, so that nothing but the standard library is used.
"""

from __future__ import annotations

import ctypes
import hashlib
import importlib.util
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

FOLDER = Path(__file__).parent
ENDING = {"win32": ".dll", "darwin": ".dylib"}.get(sys.platform, ".so")
LIBRARY = FOLDER / f"mechgraph_runtime{ENDING}"
# no option depends on the processor, and products are rounded before they are added: a run gives
# the same numbers on all processors of an architecture
FLAGS = (
    "-O2",
    "-std=gnu11",
    "-fPIC",
    "-shared",
    "-fvisibility=hidden",
    "-ffp-contract=off",
    "-fno-math-errno",
    "-fno-trapping-math",
    "-w",
)


def digest() -> str:
    """What tells these sources, and how they are compiled, from others."""
    found = hashlib.sha256(" ".join(FLAGS).encode())
    for path in sorted(FOLDER.glob("**/*.[ch]")):
        found.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return found.hexdigest()


def compiler() -> list[str]:
    """The command of a C compiler: CC, gcc, cc, clang, or that of the package ``ziglang``; nothing,
    if there is none."""
    given = shlex.split(os.environ.get("CC", ""), posix=os.name == "posix")
    for command in [given, ["gcc"], ["cc"], ["clang"]]:
        if command and shutil.which(command[0]):
            return command
    return _zig()


def _zig() -> list[str]:
    """Left to itself it compiles for the processor at hand; and on Linux it first builds a run-time
    library, which takes 15 s."""
    package = importlib.util.find_spec("ziglang")
    folders = package.submodule_search_locations if package else None
    plain = ["-nostdlib", "-lc"] if sys.platform == "linux" else []
    return [str(Path(folders[0]) / "zig"), "cc", "-mcpu=baseline", *plain] if folders else []


def is_built() -> bool:
    """Whether the library is there, and made of these sources."""
    return LIBRARY.exists() and digest().encode() in LIBRARY.read_bytes()


def build() -> Path:
    """Compile the library, unless it is there; who loads it meanwhile finds an old or a new one."""
    if is_built():
        return LIBRARY
    command = compiler()
    if not command:
        raise SystemExit(
            "mechgraph's runtime is written in C, and there is no C compiler: install gcc, clang "
            "or `pip install ziglang`"
        )
    export = (
        "__declspec(dllexport)" if os.name == "nt" else '__attribute__((visibility("default")))'
    )
    with tempfile.TemporaryDirectory(dir=FOLDER) as work:
        seal, made = Path(work) / "digest.c", Path(work) / LIBRARY.name
        seal.write_text(f'{export} const char runtime_digest[] = "{digest()}";\n')
        sources = str(FOLDER / "runtime.c"), str(seal)
        subprocess.run([*command, *FLAGS, "-o", str(made), *sources, "-lm"], check=True)
        os.replace(made, LIBRARY)
    ctypes.CDLL(str(LIBRARY))  # if it cannot be loaded, that is told here
    return LIBRARY
