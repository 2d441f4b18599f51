"""The one door upstairs. A room imports those below it; what it hands on to a room above it (a
system to its equations, a run to its plots) goes through here, by the room's own name:

    door.show.plot.plot(run)

The room is entered when it is first asked for, so that nobody waits for what is not used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


class _Hall:
    """A package whose modules are found by name."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return import_module(f"{self._path}.{name}")


motion = _Hall("mechgraph.motion")
equations = _Hall("mechgraph.equations")
studies = _Hall("mechgraph.studies")
show = _Hall("mechgraph.show")
formats = _Hall("mechgraph.formats")
