"""What the readers of other programs' files have in common."""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from ..errors import ArgumentError, ModelError, blamed, told
from ..model.bodies import Body
from ..model.system import System
from ..model.visuals import Visual
from .model_files.meshes import KINDS, MESHES
from .model_files.sections import text_of


def xml_of(path: Path, what: str) -> str:
    """The text of a file that must be sound XML: parsers that guess what was meant are not asked,
    nor are entities expanded."""
    if not os.path.isfile(path):  # pathlib raises where a name is too long
        raise ArgumentError(f"{path}: no such file")
    with blamed(path.name):
        text = text_of(path)
        if "<!ENTITY" in text:
            raise ModelError("it defines entities, which are not read; write out what they are for")
        try:
            ElementTree.fromstring(text.encode())
        except (ElementTree.ParseError, ValueError) as error:
            raise ModelError(f"not {what}: {told(error)}") from None
    return text


class Imported:
    """A system that is being read from another program's file; ``left_out`` is what it says that
    could not be taken over."""

    def __init__(self, name: str, gravity: Any) -> None:
        self.system = System(name or "robot", gravity=gravity)
        self.left_out: list[str] = []
        self.unphysical: list[str] = []
        self.unseen: list[str] = []  # meshes that cannot be drawn
        self.taken = {"limits": False, "friction": False}  # whether they were asked for
        self.passed_over: dict[str, list[str]] = {"limits": [], "friction": []}  # joints

    def look(self, body: str, look: Visual) -> None:
        """How a body is drawn, with what there is of it already."""
        visuals = self.system._stores["visuals"]
        visuals[body] = (*visuals.get(body, ()), look)
        self.system._snapshot = None

    def body(self, name: str, mass: float, com: Any, inertia: np.ndarray) -> Body:
        """A rigid body, or a frame if it weighs nothing; data that no body has are taken as they
        are, and told."""
        if not mass and not np.any(inertia):
            return self.system.frame(name)
        strange = not _is_physical(mass, inertia)
        if strange:
            self.unphysical.append(name)
        return self.system.body(name, mass, com, inertia, allow_unphysical=strange)

    def switched(self, option: str, joint: str, value: Any) -> dict[str, Any]:
        """An option of a joint that a simulation switches, if it was asked for."""
        if self.taken[option]:
            return {option: value}
        self.passed_over[option].append(joint)
        return {}

    def result(self) -> System:
        """The system, with a warning of what is missing in it or strange."""
        for option, names in self.passed_over.items():
            if names:
                listed = ", ".join(names)
                self.left_out.append(
                    f"{option} of joints (the option {option} takes them): {listed}"
                )
        if self.unphysical:
            listed = ", ".join(self.unphysical)
            self.left_out.append(f"taken as given, though no body has such an inertia: {listed}")
        if self.unseen:
            names = sorted({*self.unseen})
            listed = ", ".join(names[:3]) + (f" … ({len(names)} in all)" if names[3:] else "")
            self.left_out.append(f"meshes that are not found, or none of {KINDS}: {listed}")
        self.system.left_out = tuple(self.left_out)
        if self.left_out:
            lines = "".join(f"\n  - {each}" for each in self.left_out)
            warnings.warn(f"{self.system.name}: not all could be taken over:{lines}", stacklevel=5)
        return self.system


def _is_physical(mass: float, inertia: np.ndarray) -> bool:
    """True if some body has them: principal values that are sides of a triangle."""
    a, b, c = np.linalg.eigvalsh(inertia)
    return bool(mass > 0 and a >= 0 and a + b >= c)


def found_beside(name: str, folder: Path) -> Path | None:
    """A file that a robot names, "package://name/…" too, beside the robot or above it; None if it
    is not there, or no mesh."""
    plain = re.sub(r"^(file|package|model)://", "", name)
    if Path(plain).suffix.lower() not in MESHES:
        return None
    parts = [plain] if plain == name else [plain, plain.partition("/")[2]]
    places = (above / part for above in (folder, *folder.parents) for part in parts)
    return next((path for path in places if os.path.isfile(path)), None)


def hex_color(rgba: Any) -> str:
    """A colour as pages write it."""
    return "#" + "".join(f"{round(255 * float(np.clip(x, 0, 1))):02x}" for x in rgba[:3])


def symmetric(inertia: Any) -> np.ndarray:
    """An inertia matrix without the rounding that makes it unsymmetric."""
    matrix = np.asarray(inertia, dtype=float)
    return (matrix + matrix.T) / 2
