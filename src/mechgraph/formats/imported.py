"""What the readers of other programs' files have in common."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

import numpy as np

from ..arguments import flag
from ..errors import ArgumentError, ModelError, blamed, error_text, warn
from ..model.bodies import Body, Marker
from ..model.system import System
from ..model.visuals import Visual
from .model_files.meshes import KINDS, MESHES
from .model_files.sections import text_of


class Pose(NamedTuple):
    """A frame in another one: R turns components, ``at`` is its origin."""

    R: np.ndarray = np.eye(3)
    at: np.ndarray = np.zeros(3)

    def __matmul__(self, inner: Pose) -> Pose:
        return Pose(self.R @ inner.R, self.at + self.R @ inner.at)

    @property
    def inverse(self) -> Pose:
        """The other frame in this one."""
        return Pose(self.R.T, -self.R.T @ self.at)


def xml_of(path: Path, what: str) -> ElementTree.Element:
    """The root of a file that must be sound XML: parsers that guess what was meant are not asked,
    nor are entities expanded."""
    if not os.path.isfile(path):  # pathlib raises where a name is too long
        raise ArgumentError(f"{path}: no such file")
    with blamed(path.name):
        text = text_of(path)
        if "<!ENTITY" in text:
            raise ModelError("it defines entities, which are not read; write out what they are for")
        try:
            return ElementTree.fromstring(text.encode())
        except (ElementTree.ParseError, ValueError) as error:
            raise ModelError(f"not {what}: {error_text(error)}") from None


class Imported:
    """A system that is being read from another program's file; ``left_out`` is what it says that
    could not be taken over, ``taken`` the options of joints that a simulation switches."""

    def __init__(self, name: str, gravity: Any, folder: Path, **taken: bool) -> None:
        self.system = System(name or "robot", gravity=gravity)
        self.folder = folder
        self.taken = {option: flag(option, value) for option, value in taken.items()}
        self.left_out: list[str] = []
        self.unphysical: list[str] = []
        self.unseen: list[str] = []  # meshes that cannot be drawn
        self.passed_over: dict[str, list[str]] = {"limits": [], "friction": []}  # joints

    def marker(self, body: str, pose: Pose, name: str | None = None) -> Marker:
        """A place on a body."""
        return Marker(name or body, self.system._known(body), pose.at, pose.R)

    def draw(self, body: str, visual: Visual) -> None:
        """Add to how a body is drawn."""
        visuals = self.system._stores["visuals"]
        visuals[body] = (*visuals.get(body, ()), visual)
        self.system._snapshot = None

    def body(self, name: str, mass: float, inertia: Any, centre: Pose) -> Body:
        """A rigid body, its inertia in the axes at its ``centre``, or a frame if it weighs nothing;
        data that no body has are taken as they are, and told."""
        turned = centre.R @ inertia @ centre.R.T
        inertia = (turned + turned.T) / 2  # without the rounding that makes it unsymmetric
        if not mass and not np.any(inertia):
            return self.system.frame(name)
        strange = not _is_physical(mass, inertia)
        if strange:
            self.unphysical.append(name)
        return self.system.body(name, mass, centre.at, inertia, allow_unphysical=strange)

    def lift(self, body: str, centre: Pose, force: Any) -> None:
        """What takes the weight of a body off it."""
        self.system.force(f"{body} held against gravity", self.marker(body, centre), force)

    def switched(self, option: str, joint: str, value: Any) -> dict[str, Any]:
        """An option of a joint that a simulation switches, if it was asked for."""
        if self.taken[option]:
            return {option: value}
        self.passed_over[option].append(joint)
        return {}

    def result(self) -> System:
        """The system, with a warning of what is missing in it or strange."""
        names = sorted({*self.unseen})
        unseen = ", ".join(names[:3]) + (f" … ({len(names)} in all)" if names[3:] else "")
        several = {
            f"{option} of joints (the option {option} takes them)": ", ".join(joints)
            for option, joints in self.passed_over.items()
        }
        several |= {
            "taken as given, though no body has such an inertia": ", ".join(self.unphysical),
            f"meshes that are not found, or none of {KINDS}": unseen,
        }
        self.left_out += [f"{what}: {listed}" for what, listed in several.items() if listed]
        self.system.left_out = tuple(self.left_out)
        if self.left_out:
            lines = "".join(f"\n  - {each}" for each in self.left_out)
            warn(f"{self.system.name}: not all could be taken over:{lines}")
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
