"""URDF: links are bodies, joints are joints of the same names.

A link without inertia is a frame. Mimic joints are couplings. URDF knows no ground, and nothing of
how it touches: that is asked for by ``ground=``. Visual shapes and meshes are how links look.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree
from xml.etree.ElementTree import Element

import networkx as nx
import numpy as np
from scipy.spatial.transform import Rotation

from .. import door
from ..arguments import file_path, flag, named, number, one_of
from ..errors import ModelError, blamed, error_text, shown
from ..model.contact.surfaces import Plane, Surface
from ..model.system import System
from .imported import Pose, hex_color, xml_of
from .xml_robots import INERTIA, MOVING, XmlRobot, direction, numbers, text_at

GRAVITY = (0.0, 0.0, -9.81)
JOINTS = {**MOVING, "fixed": "fixed", "planar": "planar", "floating": "free"}
BUILT = {"damping": "dynamics/@damping", "friction": "dynamics/@friction"}
LIMITS = ("limit/@lower", "limit/@upper")
USUAL = {
    **{f"inertia/@{key}": 0.0 for key in INERTIA},
    **dict.fromkeys((*BUILT.values(), *LIMITS, "mass/@value", "@offset", "@reference"), 0.0),
    "@multiplier": 1.0,
}


def from_urdf(
    path: str | Path,
    floating: bool = False,
    gravity: Any = GRAVITY,
    limits: bool = False,
    friction: bool = False,
    ground: Mapping[str, Any] | None = None,
) -> System:
    """The system in a URDF file, or in a .xacro file, if the package xacro is there.

    floating: True joins the root link to the ground by a free joint, else it is fixed there.
    gravity: acceleration of gravity, which URDF does not tell.
    limits, friction: True makes stops of the joints' limits, and friction that sticks of their
        friction; a simulation switches them.
    ground: how spheres, boxes and cylinders for collisions touch the plane z = ``height`` (0 if
        it is not given): arguments of ``rigid_contact``, {"friction": 0.8}, or with a
        ``stiffness`` of ``compliant_contact``; ``links`` are those that touch it, all if they are
        not given. Without ``ground`` they touch nothing.

    What could not be taken over is warned of, and kept as ``system.left_out``.
    """
    law = None if ground is None else named("ground", ground)
    path, free = file_path(path), flag("floating", floating)
    robot = _UrdfRobot(_root_of(path), gravity, path, limits=limits, friction=friction)
    with blamed(path.name):
        return robot.read(free, law)


def _root_of(path: Path) -> Element:
    root = xml_of(path, "a URDF file")
    if path.suffix.lower() == ".xacro":
        root = ElementTree.fromstring(_expanded(path).encode())
    if root.tag != "robot":
        raise ModelError(f"{path.name}: not a URDF file: its root is <{root.tag}>, not <robot>")
    return root


def _expanded(path: Path) -> str:
    """What the macros of a xacro file stand for; their expressions are Python's."""
    xacro = door.library("xacro")
    try:
        return str(xacro.process_file(str(path)).toxml())
    except Exception as error:  # whatever a file that others wrote makes of it
        raise ModelError(f"{path.name}: not a file of xacro's: {error_text(error)}") from None


class _UrdfRobot(XmlRobot):
    mark, mass, file, mimic = "@", "mass/@value", "@filename", "mimic"
    built, limits, usual = BUILT, LIMITS, USUAL

    def __init__(self, root: Element, gravity: Any, path: Path, **taken: bool) -> None:
        super().__init__(root.get("name") or path.stem, gravity, path.parent, **taken)
        self.links, self.joints = root.findall("link"), root.findall("joint")
        self.kinds = {each.get("name", ""): each.get("type", "") for each in self.joints}
        self.colors = {
            each.get("name"): text_at(each, "color/@rgba") for each in root.iterfind("material")
        }
        named = [each.get("name", "") for each in self.links]
        self.names = {name: _body_name(name, named) for name in named}

    def read(self, floating: bool, ground: dict[str, Any] | None) -> System:
        if not self.links:
            raise ModelError(
                f"{self.system.name}: the file describes no links, so there is no robot in it "
                "(made by xacro, it is a file of macros that nobody called)"
            )
        for link in self.links:
            with blamed(f"link {link.get('name')!r}"):
                self._link(link)
        ends = []
        for joint in self.joints:
            with blamed(f"joint {joint.get('name')!r}"):
                ends.append([self._end(joint, word) for word in ("parent", "child")])
        self._hold(floating)
        for joint, (parent, child) in zip(self.joints, ends, strict=True):
            with blamed(f"joint {joint.get('name')!r}"):
                self._joint(joint, parent, child)
        for joint in self.joints:
            with blamed(f"joint {joint.get('name')!r}"):
                self.couple(joint.get("name", ""), joint)
        if ground is not None:
            self._contacts(ground, floating)
        return self.result()

    def pose(self, element: Element) -> Pose:
        """Of its origin: a place, and angles about fixed axes."""
        xyz, rpy = (text_at(element, f"origin/@{key}") or "0 0 0" for key in ("xyz", "rpy"))
        R = Rotation.from_euler("xyz", numbers(rpy, 3)).as_matrix()
        return Pose(R, np.array(numbers(xyz, 3)))

    def color(self, visual: Element) -> str | None:
        own = text_at(visual, "material/color/@rgba")
        rgba = own or self.colors.get(text_at(visual, "material/@name"))
        return hex_color(numbers(rgba)) if rgba else None

    def _link(self, link: Element) -> None:
        name = self.names[link.get("name", "")]
        self.rigid(name, link.find("inertial"))
        for visual in link.iterfind("visual"):
            self.visual(name, visual)

    def _end(self, joint: Element, word: str) -> str:
        link = text_at(joint, f"{word}/@link")
        if link not in self.names:
            raise ModelError(f"joins the link {shown(link)}, which is not there")
        return self.names[link]

    def _roots(self) -> list[str]:
        children = {text_at(joint, "child/@link") for joint in self.joints}
        return [name for link in self.links if (name := link.get("name", "")) not in children]

    def _hold(self, floating: bool) -> None:
        roots = self._roots()
        if len(roots) != 1:
            listed = ", ".join(map(repr, roots)) or "none"
            raise ModelError(f"a URDF file has one root link, this has {listed}")
        join = self.system.free if floating else self.system.fixed
        join("root joint", self.system.ground, self.names[roots[0]])

    def _joint(self, joint: Element, parent: str, child: str) -> None:
        kind, name = joint.get("type", ""), joint.get("name", "")
        pose = self.pose(joint)
        where: dict[str, Any] = {"at": pose.at, "orientation": pose.R}
        word = JOINTS[one_of("type", kind, JOINTS, ModelError)]
        if kind in MOVING or word == "planar":
            where["axis"] = direction(numbers(text_at(joint, "axis/@xyz") or "1 0 0", 3))
        if kind in MOVING:
            where |= self.options(name, joint)
        getattr(self.system, word)(name, parent, child, **where)

    def _contacts(self, ground: dict[str, Any], floating: bool) -> None:
        """Each shape on a link that moves touches the plane."""
        law = dict(ground)
        height = number("ground: height", law.pop("height", 0.0))
        chosen = [one_of("link", name, self.names) for name in law.pop("links", self.names)]
        touch = self.system.compliant_contact if "stiffness" in law else self.system.rigid_contact
        known = ["height", "links", "stiffness", *[*inspect.signature(touch).parameters][3:]]
        law = {one_of("argument of ground", key, known): law[key] for key in law}
        plane = Plane(self.marker("ground", Pose(at=np.array([0, 0, height])), "ground plane"))
        still = set() if floating else self._still()
        by_name = {link.get("name", ""): link for link in self.links}
        moving = [by_name[name] for name in chosen if name not in still]
        for link in moving:
            for name, surface in self._surfaces(link):
                with blamed(f"link {link.get('name')!r}"):
                    touch(name, surface, plane, **law)
        meshes = [
            x.get("name", "") for x in moving if x.find("collision/geometry/mesh") is not None
        ]
        if meshes:
            self.left_out.append(f"contacts of the meshes of {', '.join(meshes)}")

    def _still(self) -> set[str]:
        """Links that do not move, with the root on the ground."""
        ends = (
            (text_at(joint, "parent/@link"), text_at(joint, "child/@link"))
            for joint in self.joints
            if joint.get("type") == "fixed"
        )
        fixed, roots = nx.DiGraph(ends), self._roots()
        fixed.add_nodes_from(roots)
        return {*roots}.union(*(nx.descendants(fixed, root) for root in roots))

    def _surfaces(self, link: Element) -> Iterator[tuple[str, Surface]]:
        """The shapes of a link that collide and are no meshes, each with a name."""
        name, collisions = link.get("name", ""), link.findall("collision")
        for k, collision in enumerate(collisions, start=1):
            own = collision.get("name") or name
            place = self.marker(self.names[name], self.pose(collision), own)
            surface = self.surface(collision, place)
            if surface is not None:
                yield f"{name} on the ground" + (f" {k}" if len(collisions) > 1 else ""), surface


def _body_name(link: str, links: list[str]) -> str:
    """A link has its name; one that is called as our ground is gets another."""
    own = "ground link"
    while own in links:
        own = f"{own} too"
    return own if link == "ground" else link
