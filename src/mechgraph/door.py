"""The one door upstairs. A room imports those below it; what it hands on to a room above it (a
system to its equations, a run to its plots) goes through here, by the room's own name:

    door.show.plot.plot(run)

The room is entered when it is first asked for, so that nobody waits for what is not used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .errors import ArgumentError


class _Room:
    """A package, whose modules are found by name, or a module with what is in it."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        room = import_module(self._path)
        return (
            import_module(f"{self._path}.{name}")
            if vars(room).get("__path__")
            else getattr(room, name)
        )


def library(name: str) -> Any:
    """Another's library that few need, or that takes long to load."""
    try:
        return import_module(name)
    except ImportError:
        raise ArgumentError(f"this needs the package {name}: pip install {name}") from None


motion = _Room("mechgraph.motion")
composition = _Room("mechgraph.composition")
equations = _Room("mechgraph.equations")
show = _Room("mechgraph.show")
formats = _Room("mechgraph.formats")
