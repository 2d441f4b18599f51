"""Robots in XML, links and joints: what URDF and SDF share.

URDF has values in attributes, SDF has them in elements; where each of them stands, and what it is
if it does not, is in tables.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar
from xml.etree.ElementTree import Element

import numpy as np

from ..errors import ModelError, shown
from ..model.bodies import Marker
from ..model.contact.surfaces import Box, Cylinder, Sphere, Surface
from ..model.visuals import Mesh
from .imported import Imported, Pose, found_beside

MOVING = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic"}
FAR = 1e15  # limits beyond it are none
INERTIA = {"ixx": 1.0, "iyy": 1.0, "izz": 1.0, "ixy": 0.0, "ixz": 0.0, "iyz": 0.0}
SHAPES: dict[str, tuple[Any, dict[str, int]]] = {  # with what they have, and in how many numbers
    "sphere": (Sphere, {"radius": 1}),
    "box": (Box, {"size": 3}),
    "cylinder": (Cylinder, {"radius": 1, "length": 1}),
}


class XmlRobot(Imported):
    """A robot that is being read from XML.

    ``mark`` stands before the name of a value: "@" of an attribute. ``mass``, ``file`` (of a mesh)
    and ``mimic`` are paths; ``built`` are those of the options of a joint, ``limits`` those of its
    lower and upper limit. ``usual`` are the values that may be missing, by their paths.
    """

    mark: ClassVar[str]
    mass: ClassVar[str]
    file: ClassVar[str]
    mimic: ClassVar[str]
    built: ClassVar[Mapping[str, str]]
    limits: ClassVar[tuple[str, str]]
    usual: ClassVar[Mapping[str, float]]
    kinds: dict[str, str]  # types of joints, by name

    @abstractmethod
    def pose(self, element: Element) -> Pose:
        """Where an element is, in what it is placed in."""

    @abstractmethod
    def color(self, visual: Element) -> str | None:
        """The colour that a visual says."""

    def values(self, element: Element, path: str, count: int = 1) -> list[float]:
        """The numbers at a path."""
        text = text_at(element, path)
        if text is not None and text.strip():
            return numbers(text, count)
        if path not in self.usual:
            raise ModelError(f"<{element.tag}> has no {path}")
        return [self.usual[path]] * count

    def number(self, element: Element, path: str) -> float:
        """The number at a path."""
        return self.values(element, path)[0]

    def rigid(self, name: str, inertial: Element | None) -> None:
        """The body of a link."""
        if inertial is None:
            self.system.frame(name)
            return
        i = {key: self.number(inertial, f"inertia/{self.mark}{key}") for key in INERTIA}
        full = np.array([[i["i" + min(a + b, b + a)] for a in "xyz"] for b in "xyz"])
        self.body(name, self.number(inertial, self.mass), full, self.pose(inertial))

    def visual(self, body: str, visual: Element) -> None:
        """How a link is drawn: a shape, or the triangles of a file."""
        pose, mesh = self.pose(visual), visual.find("geometry/mesh")
        surface = self.surface(visual, self.marker(body, pose))
        if surface is not None:
            self.draw(body, surface)
        elif mesh is not None:
            name = (text_at(mesh, self.file) or "").strip()
            file = found_beside(name, self.folder)
            if file is None:
                self.unseen.append(name)
                return
            scale = numbers((text_at(mesh, f"{self.mark}scale") or "1").replace(",", " "))
            self.draw(
                body, Mesh(pose.at, pose.R, self.color(visual), np.broadcast_to(scale, 3), file)
            )

    def surface(self, element: Element, at: Marker) -> Surface | None:
        """The shape of a visual or collision; None if it is of another kind."""
        for word, (kind, sizes) in SHAPES.items():
            shape = element.find(f"geometry/{word}")
            if shape is not None:
                given = (self.values(shape, self.mark + size, n) for size, n in sizes.items())
                return kind(at, *(each if len(each) > 1 else each[0] for each in given))
        return None

    def options(self, name: str, joint: Element) -> dict[str, Any]:
        """Damper, spring, friction and limits of a joint."""
        found = {key: self.number(joint, path) for key, path in self.built.items()}
        out: dict[str, Any] = {key: value for key, value in found.items() if value}
        if "friction" in out:
            out |= self.switched("friction", name, out.pop("friction"))
        low, high = (self.number(joint, path) for path in self.limits)
        ends = (low if low > -FAR else None, high if high < FAR else None)
        if self.kinds[name] != "continuous" and low < high and ends != (None, None):
            out |= self.switched("limits", name, ends)
        return out

    def couple(self, name: str, joint: Element) -> None:
        """q = multiplier · (q of the other − reference) + offset; a joint that is fixed stays at
        zero."""
        mimic = joint.find(self.mimic)
        if mimic is None:
            return
        other = mimic.get("joint", "")
        kind, kind_of_other = (self.kinds.get(each, "not there") for each in (name, other))
        if not {kind, kind_of_other} <= {*MOVING, "fixed"} or other == name:
            which = f"{name} ({kind}) mimics {other} ({kind_of_other})"
            self.left_out.append(f"a mimic joint that cannot be one: {which}")
        elif kind != "fixed":
            factor, offset, reference = (
                self.number(mimic, self.mark + key) for key in ("multiplier", "offset", "reference")
            )
            terms = {name: 1.0} | ({other: -factor} if kind_of_other != "fixed" else {})
            self.system.coupling(f"{name} mimics {other}", terms, offset - factor * reference)


def text_at(element: Element, path: str) -> str | None:
    """What stands at a path such as limit/@lower."""
    way, is_attribute, name = path.partition("@")
    if not is_attribute:
        return element.findtext(path)
    found = element.find(way.rstrip("/")) if way else element
    return None if found is None else found.get(name)


def numbers(text: str | None, count: int | None = None) -> list[float]:
    """The numbers in a text."""
    try:
        found = [float(word) for word in (text or "").split()]
    except ValueError:
        found = []
    if not found or (count is not None and len(found) != count) or np.isnan(found).any():
        wanted = "numbers" if count is None else f"{count} numbers" if count > 1 else "a number"
        raise ModelError(f"expected {wanted}, got {shown(text)}")
    return found


def direction(vector: Any) -> np.ndarray:
    """A vector made of length one."""
    given = np.asarray(vector, dtype=float)
    length = np.linalg.norm(given)
    if not np.isfinite(length) or length == 0:
        raise ModelError(f"its axis {given.tolist()} is no direction")
    return np.asarray(given / length)
