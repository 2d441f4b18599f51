"""URDF: links are bodies, joints are joints of the same names; read by ``yourdfpy``.

A link without inertia is a frame. Mimic joints are couplings. URDF knows no ground, and nothing of
how it touches: that is asked for by ``ground=``. Visual shapes and meshes are how links look.
"""

from __future__ import annotations

import inspect
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np

from .. import door
from ..arguments import file_path, flag, named, number, one_of
from ..errors import ModelError, blamed, error_text, shown
from ..model.bodies import Marker
from ..model.contact.surfaces import Box, Cylinder, Plane, Sphere, Surface
from ..model.system import System
from ..model.visuals import Mesh
from .imported import Imported, found_beside, hex_color, symmetric, xml_of

GRAVITY = (0.0, 0.0, -9.81)
MOVING = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic"}


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
    taken = {"limits": flag("limits", limits), "friction": flag("friction", friction)}
    law = None if ground is None else named("ground", ground)
    robot = _Robot(_parsed(file_path(path)), gravity, taken, law, file_path(path).parent)
    with blamed(file_path(path).name):
        return robot.read(flag("floating", floating))


def _parsed(path: Path) -> Any:
    text = xml_of(path, "a URDF file")
    if path.suffix.lower() == ".xacro":
        text = _expanded(path)
    urdf = door.library("yourdfpy")
    try:
        stream = io.BytesIO(_named(text, path.stem))
        return urdf.URDF.load(stream, build_scene_graph=False, load_meshes=False).robot
    except Exception as error:  # whatever a file that others wrote makes of it
        raise ModelError(f"{path.name}: not a URDF file: {error_text(error)}") from None


def _named(text: str, name: str) -> bytes:
    """A robot without a name has that of its file."""
    root = ElementTree.fromstring(text.encode())
    if "name" in root.attrib:
        return text.encode()
    root.set("name", name)
    return ElementTree.tostring(root, encoding="utf-8")


def _expanded(path: Path) -> str:
    """What the macros of a xacro file stand for; their expressions are Python's."""
    xacro = door.library("xacro")
    try:
        return str(xacro.process_file(str(path)).toxml())
    except Exception as error:  # whatever a file that others wrote makes of it
        raise ModelError(f"{path.name}: not a file of xacro's: {error_text(error)}") from None


class _Robot(Imported):
    def __init__(
        self,
        robot: Any,
        gravity: Any,
        taken: dict[str, bool],
        ground: dict[str, Any] | None,
        folder: Path,
    ) -> None:
        super().__init__(robot.name, gravity)
        self.robot, self.taken, self.ground, self.folder = robot, taken, ground, folder
        self.colors = {m.name: m.color for m in robot.materials if m.color is not None}
        links = {link.name for link in robot.links}
        self.names = {link.name: _body_name(link.name, links) for link in robot.links}

    def read(self, floating: bool) -> System:
        if not self.robot.links:
            raise ModelError(
                f"{self.robot.name}: the file describes no links, so there is no robot in it "
                "(made by xacro, it is a file of macros that nobody called)"
            )
        for link in self.robot.links:
            with blamed(f"link {link.name!r}"):
                self._link(link)
        ends = {}
        for joint in self.robot.joints:
            with blamed(f"joint {joint.name!r}"):
                ends[joint.name] = self._end(joint.parent), self._end(joint.child)
        self._root(floating)
        for joint in self.robot.joints:
            with blamed(f"joint {joint.name!r}"):
                self._joint(joint, *ends[joint.name])
        for joint in self.robot.joints:
            if joint.mimic is not None:
                self._mimic(joint)
        if self.ground is not None:
            self._contacts(self.ground, floating)
        return self.result()

    def _link(self, link: Any) -> None:
        inertial = link.inertial
        mass = float(inertial.mass or 0.0) if inertial is not None else 0.0
        given = (
            np.zeros((3, 3)) if inertial is None or inertial.inertia is None else inertial.inertia
        )
        pose = _pose(None if inertial is None else inertial.origin)
        R = pose[:3, :3]
        self.body(self.names[link.name], mass, pose[:3, 3], symmetric(R @ np.asarray(given) @ R.T))
        for visual in link.visuals:
            self._visual(self.names[link.name], visual)

    def _visual(self, body: str, visual: Any) -> None:
        pose, mesh = _pose(visual.origin), visual.geometry.mesh
        at, R = pose[:3, 3], pose[:3, :3]
        if mesh is None:
            surface = _surface(visual.geometry, Marker(body, self.system._known(body), at, R))
            if surface is not None:
                self.look(body, surface)
            return
        file = found_beside(mesh.filename, self.folder)
        if file is None:
            self.unseen.append(mesh.filename)
            return
        scale = np.broadcast_to(1.0 if mesh.scale is None else mesh.scale, 3)
        self.look(body, Mesh(at, R, self._color(visual.material), scale, file))

    def _color(self, material: Any) -> str | None:
        if material is None:
            return None
        color = material.color or self.colors.get(material.name)
        return None if color is None else hex_color(color.rgba)

    def _root(self, floating: bool) -> None:
        children = {joint.child for joint in self.robot.joints}
        roots = [link.name for link in self.robot.links if link.name not in children]
        if len(roots) != 1:
            listed = ", ".join(map(repr, roots)) or "none"
            raise ModelError(f"a URDF file has one root link, this has {listed}")
        join = self.system.free if floating else self.system.fixed
        join("root joint", self.system.ground, self.names[roots[0]])

    def _joint(self, joint: Any, parent: str, child: str) -> None:
        pose = _pose(joint.origin)
        where: dict[str, Any] = {"at": pose[:3, 3], "orientation": pose[:3, :3]}
        if joint.type in MOVING:
            word = MOVING[joint.type]
            where |= {"axis": _unit(joint.axis), **self._built(joint)}
        elif joint.type in ("fixed", "planar", "floating"):
            word = {"floating": "free"}.get(joint.type, joint.type)
            where |= {"axis": _unit(joint.axis)} if word == "planar" else {}
        else:
            raise ModelError(f"its type {joint.type!r} is none of URDF's")
        getattr(self.system, word)(joint.name, parent, child, **where)

    def _end(self, link: str) -> str:
        if link not in self.names:
            raise ModelError(f"joins the link {shown(link)}, which is not there")
        return self.names[link]

    def _built(self, joint: Any) -> dict[str, Any]:
        """Damping, friction and limits of a joint."""
        dynamics, limit = joint.dynamics, joint.limit
        out: dict[str, Any] = {}
        if dynamics is not None and dynamics.damping:
            out["damping"] = float(dynamics.damping)
        if dynamics is not None and dynamics.friction:
            out |= self.switched("friction", joint.name, float(dynamics.friction))
        ends = () if limit is None else (limit.lower, limit.upper)
        if joint.type != "continuous" and any(end is not None for end in ends):
            low, high = (0.0 if end is None else float(end) for end in ends)  # as URDF says
            out |= self.switched("limits", joint.name, (low, high)) if low < high else {}
        return out

    def _mimic(self, joint: Any) -> None:
        """q = multiplier · (q of the other) + offset; a joint that is fixed stays at zero."""
        mimic, kinds = joint.mimic, {each.name: each.type for each in self.robot.joints}
        other, kind = mimic.joint, kinds.get(mimic.joint, "not there")
        if not {joint.type, kind} <= {*MOVING, "fixed"} or other == joint.name:
            which = f"{joint.name} ({joint.type}) mimics {other} ({kind})"
            self.left_out.append(f"a mimic joint that cannot be one: {which}")
        elif joint.type != "fixed":
            factor = 1.0 if mimic.multiplier is None else float(mimic.multiplier)
            terms = {joint.name: 1.0} | ({other: -factor} if kind != "fixed" else {})
            self.system.coupling(f"{joint.name} mimics {other}", terms, float(mimic.offset or 0.0))

    def _contacts(self, ground: dict[str, Any], floating: bool) -> None:
        """Each shape on a link that moves touches the plane."""
        law = dict(ground)
        height = number("ground: height", law.pop("height", 0.0))
        chosen = [one_of("link", name, self.names) for name in law.pop("links", self.names)]
        touch = self.system.compliant_contact if "stiffness" in law else self.system.rigid_contact
        known = ["height", "links", "stiffness", *[*inspect.signature(touch).parameters][3:]]
        law = {one_of("argument of ground", key, known): law[key] for key in law}
        plane = Plane(Marker("ground plane", self.system.ground, (0, 0, height)))
        still = set() if floating else self._still()
        named = {link.name: link for link in self.robot.links}
        moving = [named[name] for name in chosen if name not in still]
        for link in moving:
            for name, surface in self._surfaces(link):
                with blamed(f"link {link.name!r}"):
                    touch(name, surface, plane, **law)
        meshes = [x.name for x in moving if any(c.geometry.mesh is not None for c in x.collisions)]
        if meshes:
            self.left_out.append(f"contacts of the meshes of {', '.join(meshes)}")

    def _still(self) -> set[str]:
        """Links that do not move, with the root on the ground."""
        held = {joint.child: joint.parent for joint in self.robot.joints if joint.type == "fixed"}
        children = {joint.child for joint in self.robot.joints}
        still = {link.name for link in self.robot.links if link.name not in children}
        for name in self.names:
            line = [name]
            while line[-1] in held and held[line[-1]] not in line:
                line.append(held[line[-1]])
            still |= set(line) if line[-1] in still else set()
        return still

    def _surfaces(self, link: Any) -> Iterator[tuple[str, Surface]]:
        """The shapes of a link that collide and are no meshes, each with a name."""
        for k, collision in enumerate(link.collisions, start=1):
            pose = _pose(collision.origin)
            body = self.system._known(self.names[link.name])
            at = Marker(collision.name or link.name, body, pose[:3, 3], pose[:3, :3])
            surface = _surface(collision.geometry, at)
            name = f"{link.name} on the ground" + (f" {k}" if len(link.collisions) > 1 else "")
            if surface is not None:
                yield name, surface


def _surface(geometry: Any, at: Marker) -> Surface | None:
    if geometry.sphere is not None:
        return Sphere(at, float(geometry.sphere.radius))
    if geometry.box is not None:
        return Box(at, [float(x) for x in geometry.box.size])
    if geometry.cylinder is not None:
        return Cylinder(at, float(geometry.cylinder.radius), float(geometry.cylinder.length))
    return None


def _body_name(link: str, links: set[str]) -> str:
    """A link has its name; one that is called as our ground is gets another."""
    own = "ground link"
    while own in links:
        own = f"{own} too"
    return own if link == "ground" else link


def _pose(origin: Any) -> np.ndarray:
    return np.eye(4) if origin is None else np.asarray(origin, dtype=float)


def _unit(axis: Any) -> np.ndarray:
    vector = np.array([1.0, 0.0, 0.0] if axis is None else axis, dtype=float)
    length = np.linalg.norm(vector)
    if not np.isfinite(length) or length == 0:
        raise ModelError(f"its axis {vector.tolist()} is no direction")
    return vector / length
