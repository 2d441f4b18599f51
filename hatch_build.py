"""Builds the runtime, in C, with the package: for wheels and editable installs, by the build back
end; and in the source tree, by ``python hatch_build.py``."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

RUNTIME = runpy.run_path(str(Path(__file__).parent / "src/mechgraph/runtime/build.py"))

if __name__ == "__main__":
    print(RUNTIME["build"]())
else:
    from hatchling.builders.hooks.plugin.interface import BuildHookInterface
    from packaging.tags import sys_tags

    class RuntimeHook(BuildHookInterface):  # type: ignore[type-arg]
        """Compiles the runtime; the wheel is for this platform, and any Python 3."""

        def dependencies(self) -> list[str]:
            """A compiler, only where there is none."""
            return [] if RUNTIME["compiler"]() else ["ziglang>=0.13"]

        def initialize(self, version: str, build_data: dict[str, Any]) -> None:
            library = RUNTIME["build"]()
            build_data["artifacts"].append(library.relative_to(self.root).as_posix())
            names = (tag.platform for tag in sys_tags())  # of Linux that of this machine alone
            own = next(name for name in names if not name.startswith(("manylinux", "musllinux")))
            build_data["pure_python"], build_data["tag"] = False, f"py3-none-{own}"
