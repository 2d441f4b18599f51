"""The one door upstairs. A room imports those below it; what it hands on to a room above it (a
system to its equations, a run to its plots) goes through here, by the room's own name:

    door.show.plot.plot(run)

The room is entered when it is first asked for, so that nobody waits for what is not used.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .errors import ArgumentError


class _Rooms:
    """A package; its modules are found by name."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return import_module(f"{self._path}.{name}")


class _Module:
    """A module; what is in it is found by name."""

    def __init__(self, path: str) -> None:
        self._path = path

    def __getattr__(self, name: str) -> Any:
        return getattr(import_module(self._path), name)


def library(name: str) -> Any:
    """Another's library that few need, or that takes long to load."""
    try:
        return import_module(name)
    except ImportError:
        raise ArgumentError(f"this needs the package {name}: pip install {name}") from None


motion = _Rooms("mechgraph.motion")
composition = _Rooms("mechgraph.composition")
equations = _Module("mechgraph.equations")
show = _Rooms("mechgraph.show")
formats = _Rooms("mechgraph.formats")
