"""SDF: links are bodies, joints are joints of the same names, frames are markers.

A file tells where links and joints are when nothing has moved; a joint has there one frame on both
of its links, so that loops close by themselves. Poses may be relative to any frame; without a word,
those of links are relative to the model, those of joints to their child.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import networkx as nx
import numpy as np
from scipy.spatial.transform import Rotation

from ..arguments import file_path, flag, one_of
from ..errors import ModelError, blamed, shown, unknown
from ..model.bodies import Marker
from ..model.contact.surfaces import Box, Cylinder, Sphere
from ..model.system import System
from ..model.transitions import rot
from ..model.visuals import Mesh
from .imported import Imported, found_beside, hex_color, symmetric, xml_of

GRAVITY = (0.0, 0.0, -9.8)  # as SDF says
MOVING = {"revolute": "revolute", "continuous": "revolute", "prismatic": "prismatic"}
OTHERS = {"fixed": "fixed", "ball": "spherical", "universal": "joint", "revolute2": "joint"}
FAR = 1e15  # limits beyond it are none
INERTIA = {"ixx": 1.0, "iyy": 1.0, "izz": 1.0, "ixy": 0.0, "ixz": 0.0, "iyz": 0.0}
UNREAD = ("plugin", "sensor", "gripper", "light", "battery", "fluid_added_mass", "particle_emitter")
Pose = np.ndarray  # (4, 4)


def from_sdf(
    path: str | Path,
    model: str | None = None,
    floating: bool = True,
    gravity: Any = None,
    limits: bool = False,
    friction: bool = False,
) -> System:
    """The system in a file of SDF (Gazebo's format), of versions 1.4 and later.

    model: the name of the model, if the file has several.
    floating: what no joint joins to the world is free there, as SDF has it; False fixes it.
    gravity: acceleration of gravity, if it is not that of the file's world, or SDF's.
    limits, friction: True makes stops of the joints' limits, and friction that sticks of their
        friction; a simulation switches them.

    What could not be taken over is warned of, and kept as ``system.left_out``.
    """
    taken = {"limits": flag("limits", limits), "friction": flag("friction", friction)}
    path = file_path(path)
    root = ElementTree.fromstring(xml_of(path, "an SDF file").encode())
    with blamed(path.name):
        if root.tag != "sdf":
            raise ModelError(f"not an SDF file: its root is <{root.tag}>, not <sdf>")
        said = root.find("world/gravity")
        world = GRAVITY if said is None else _numbers(said.text, 3)
        chosen = _chosen(root, model)
        return _Model(chosen, world if gravity is None else gravity, taken, path.parent).read(
            flag("floating", floating)
        )


def _chosen(root: ElementTree.Element, name: str | None) -> ElementTree.Element:
    found = (*root.findall("model"), *root.findall("world/model"))
    models = {each.get("name", ""): each for each in found}
    if name is not None:
        return models[one_of("model", name, models)]
    if len(found) != 1:
        listed = ", ".join(map(repr, models)) or "none"
        raise ModelError(f"say by model= which one is meant: the file has {listed}")
    return found[0]


class _Model(Imported):
    def __init__(
        self, model: ElementTree.Element, gravity: Any, taken: dict[str, bool], folder: Path
    ) -> None:
        super().__init__(model.get("name", ""), gravity)
        self.model, self.taken, self.folder = model, taken, folder
        named = {kind: _named(model, kind) for kind in ("link", "joint", "frame")}
        self.links, self.joints, self.frames = named["link"], named["joint"], named["frame"]
        self.poses: dict[str, Pose] = {"__model__": np.eye(4), "world": _inverse(_pose(model))}

    def read(self, floating: bool) -> System:
        if self.model.find("include") is not None or self.model.find("model") is not None:
            raise ModelError("models inside of models are not read; gz sdf -p writes them out")
        if not self.links:
            raise ModelError(f"the model {self.system.name!r} has no links")
        for name, link in self.links.items():
            with blamed(f"link {name!r}"):
                self._link(name, link)
        self._hold(floating)
        for name, joint in self.joints.items():
            with blamed(f"joint {name!r}"):
                self._joint(name, joint)
        for name, joint in self.joints.items():
            with blamed(f"joint {name!r}"):
                self._mimic(name, joint)
        for name in self.frames:
            with blamed(f"frame {name!r}"):
                body = self._body_of(name)
                self.system.marker(name, body, *_parts(self._in(body, name)))
        self.left_out += [f"<{tag}>" for tag in UNREAD if self.model.find(f".//{tag}") is not None]
        return self.result()

    # --- frames -----------------------------------------------------------------------------------

    def _at(self, name: str, within: tuple[str, ...] = ()) -> Pose:
        """Where a link, joint or frame is in the model, when nothing has moved."""
        if name not in self.poses:
            if name in within:
                raise ModelError(f"the pose of {name!r} is relative to itself")
            element, base = self._element(name)
            base = _relative(element) or base
            self.poses[name] = self._at(base, (*within, name)) @ _pose(element)
        return self.poses[name]

    def _element(self, name: str) -> tuple[ElementTree.Element, str]:
        """What has a name, and what its pose is relative to unless it says it."""
        if name in self.links:
            return self.links[name], "__model__"
        if name in self.joints:
            return self.joints[name], self._end(self.joints[name], "child")
        if name in self.frames:
            return self.frames[name], self.frames[name].get("attached_to") or "__model__"
        raise ModelError(unknown("frame", name, [*self.links, *self.joints, *self.frames]))

    def _body_of(self, name: str, within: tuple[str, ...] = ()) -> str:
        """The body that a link, joint or frame is fixed on."""
        if name in self.links or name == "world":
            return "ground" if name == "world" else name
        if name == "__model__":
            return self.model.get("canonical_link") or next(iter(self.links))
        if name in within:
            raise ModelError(f"{name!r} is attached to itself")
        return self._body_of(self._element(name)[1], (*within, name))

    def _in(self, body: str, name: str) -> Pose:
        """A frame in that of a body."""
        return _inverse(self._at("world" if body == "ground" else body)) @ self._at(name)

    # --- links ------------------------------------------------------------------------------------

    def _link(self, name: str, link: ElementTree.Element) -> None:
        inertial = link.find("inertial")
        if inertial is None:
            self.left_out.append(f"no mass of the link {name!r}: SDF has it weigh 1 kg, 1 kg m²")
            inertial = ElementTree.Element("inertial")
        if inertial.get("auto") in ("1", "true"):
            raise ModelError("its inertia is to be found from its shapes, which is not done here")
        at, R = _parts(_pose(inertial))
        i = {key: _number(inertial, f"inertia/{key}", usual) for key, usual in INERTIA.items()}
        given = [[i["ixx"], i["ixy"], i["ixz"]], [i["ixy"], i["iyy"], i["iyz"]]]
        given.append([i["ixz"], i["iyz"], i["izz"]])
        mass = _number(inertial, "mass", 1.0)
        self.body(name, mass, at, symmetric(R @ np.array(given) @ R.T))
        if (link.findtext("gravity") or "").strip() in ("0", "false"):
            centre = Marker(name, self.system._known(name), at)
            self.system.force(f"{name} held against gravity", centre, -mass * self.system.gravity)
        for visual in link.findall("visual"):
            self._visual(name, visual)

    def _visual(self, body: str, visual: ElementTree.Element) -> None:
        at, R = _parts(_pose(visual))
        place = Marker(body, self.system._known(body), at, R)
        sphere, box, cylinder, mesh = (
            visual.find(f"geometry/{word}") for word in ("sphere", "box", "cylinder", "mesh")
        )
        if sphere is not None:
            self.look(body, Sphere(place, _number(sphere, "radius", 1.0)))
        elif box is not None:
            self.look(body, Box(place, _numbers(box.findtext("size", "1 1 1"), 3)))
        elif cylinder is not None:
            size = _number(cylinder, "radius", 1.0), _number(cylinder, "length", 1.0)
            self.look(body, Cylinder(place, *size))
        elif mesh is not None:
            self._mesh(body, visual, mesh, at, R)

    def _mesh(
        self,
        body: str,
        visual: ElementTree.Element,
        mesh: ElementTree.Element,
        at: np.ndarray,
        R: np.ndarray,
    ) -> None:
        uri = mesh.findtext("uri", "").strip()
        file = found_beside(uri, self.folder)
        if file is None:
            self.unseen.append(uri)
            return
        colors = (visual.findtext(f"material/{word}") for word in ("diffuse", "ambient"))
        said = next((text for text in colors if text), None)
        color = None if said is None else hex_color(_numbers(said))
        scale = np.array(_numbers(mesh.findtext("scale", "1 1 1"), 3))
        self.look(body, Mesh(at, R, color, scale, file))

    # --- joints -----------------------------------------------------------------------------------

    def _end(self, joint: ElementTree.Element, word: str) -> str:
        text = (joint.findtext(word) or "").strip()
        known = ["world", *self.links, *self.joints, *self.frames, "__model__"]
        return one_of(word, text, known, ModelError)

    def _hold(self, floating: bool) -> None:
        """Each set of links that no joint joins to the world is free there, or fixed."""
        static = (self.model.findtext("static") or "").strip() in ("1", "true")
        graph = nx.Graph()
        graph.add_nodes_from(("ground", *self.links))
        for name, joint in self.joints.items():
            with blamed(f"joint {name!r}"):
                ends = (self._body_of(self._end(joint, word)) for word in ("parent", "child"))
                graph.add_edge(*ends)
        first = self._body_of("__model__")
        for name in sorted(self.links, key=lambda each: each != first):
            if not nx.has_path(graph, name, "ground"):
                join = self.system.free if floating and not static else self.system.fixed
                own = "root joint" if name == first else f"root joint of {name}"
                at, R = _parts(self._in("ground", name))
                join(own, self.system.ground, name, at=at, orientation=R)
                graph.add_edge(name, "ground")

    def _joint(self, name: str, joint: ElementTree.Element) -> None:
        kind = joint.get("type", "")
        if kind in ("gearbox", "screw"):
            self.left_out.append(f"the {kind} {name!r}")
            return
        word = {**MOVING, **OTHERS}.get(kind)
        if word is None:
            raise ModelError(unknown("type", kind, [*MOVING, *OTHERS]))
        parent, child = (self._body_of(self._end(joint, end)) for end in ("parent", "child"))
        at, R = _parts(self._in(parent, name))
        child_at, child_R = _parts(self._in(child, name))
        where: dict[str, Any] = {"at": at, "orientation": R}
        where |= {"child_at": child_at, "child_orientation": child_R}
        if kind in MOVING:
            where |= {"axis": self._axis(name, joint, "axis"), **self._built(name, joint)}
        elif word == "joint":
            axes = [self._axis(name, joint, each) for each in ("axis", "axis2")]
            where["transitions"] = [rot(axis, str(k)) for k, axis in enumerate(axes, start=1)]
        elif joint.find("axis/dynamics") is not None:
            self.left_out.append(f"what is in the {kind} joint {name!r}")
        getattr(self.system, word)(name, parent, child, **where)

    def _axis(self, name: str, joint: ElementTree.Element, word: str) -> np.ndarray:
        """A direction in the joint's frame."""
        axis = joint.find(word)
        if axis is None:
            raise ModelError(f"<{word}> is missing")
        xyz = axis.find("xyz")
        given = np.array(_numbers("0 0 1" if xyz is None else xyz.text, 3))
        length = np.linalg.norm(given)
        if not np.isfinite(length) or not length:
            raise ModelError(f"its axis {given.tolist()} is no direction")
        old = (axis.findtext("use_parent_model_frame") or "").strip() in ("1", "true")
        frame = "__model__" if old else "" if xyz is None else xyz.get("expressed_in", "")
        if frame:
            given = (self._at(name)[:3, :3].T @ self._at(frame)[:3, :3]) @ given
        return np.asarray(given / length)

    def _built(self, name: str, joint: ElementTree.Element) -> dict[str, Any]:
        """Spring, damper, friction and limits of a joint."""
        words = {"damping": "damping", "stiffness": "spring_stiffness", "rest": "spring_reference"}
        found = {key: _number(joint, f"axis/dynamics/{word}") for key, word in words.items()}
        out: dict[str, Any] = {key: value for key, value in found.items() if value}
        rubbing = _number(joint, "axis/dynamics/friction")
        if rubbing:
            out |= self.switched("friction", name, rubbing)
        usual = {"lower": -np.inf, "upper": np.inf}
        low, high = (_number(joint, f"axis/limit/{key}", x) for key, x in usual.items())
        ends = (low if low > -FAR else None, high if high < FAR else None)
        if joint.get("type") != "continuous" and any(end is not None for end in ends):
            out |= self.switched("limits", name, ends) if low < high else {}
        return out

    def _mimic(self, name: str, joint: ElementTree.Element) -> None:
        """q = multiplier · (q of the other − reference) + offset."""
        mimic = joint.find("axis/mimic")
        if mimic is None:
            return
        other = one_of("joint", mimic.get("joint", ""), self.joints, ModelError)
        if {self.joints[each].get("type") for each in (name, other)} - {*MOVING} or name == other:
            self.left_out.append(f"a mimic joint that cannot be one: {name} mimics {other}")
            return
        factor = _number(mimic, "multiplier", np.nan)
        if np.isnan(factor):
            raise ModelError("its <mimic> has no <multiplier>")
        constant = _number(mimic, "offset") - factor * _number(mimic, "reference")
        self.system.coupling(f"{name} mimics {other}", {name: 1.0, other: -factor}, constant)


def _named(model: ElementTree.Element, kind: str) -> dict[str, ElementTree.Element]:
    found: dict[str, ElementTree.Element] = {}
    for element in model.findall(kind):
        name = element.get("name", "")
        if not name or name in found or name in ("world", "__model__", "ground"):
            raise ModelError(f"a {kind} needs a name of its own, got {shown(name)}")
        found[name] = element
    return found


def _relative(element: ElementTree.Element) -> str:
    pose = element.find("pose")
    return "" if pose is None else pose.get("relative_to", pose.get("frame", ""))


def _pose(element: ElementTree.Element) -> Pose:
    """x y z roll pitch yaw, or x y z and a quaternion whose scalar is last."""
    pose = element.find("pose")
    out = np.eye(4)
    if pose is None or not (pose.text or "").strip():
        return out
    if pose.get("rotation_format") == "quat_xyzw":
        *at, x, y, z, w = _numbers(pose.text, 7)
        if not any((x, y, z, w)):
            raise ModelError("a quaternion of zeros is no orientation")
        turn = Rotation.from_quat([x, y, z, w])
    else:
        *at, roll, pitch, yaw = _numbers(pose.text, 6)
        degrees = pose.get("degrees") in ("1", "true")
        turn = Rotation.from_euler("xyz", [roll, pitch, yaw], degrees=degrees)
    out[:3, :3], out[:3, 3] = turn.as_matrix(), at
    return out


def _inverse(pose: Pose) -> Pose:
    out = np.eye(4)
    out[:3, :3], out[:3, 3] = pose[:3, :3].T, -pose[:3, :3].T @ pose[:3, 3]
    return out


def _parts(pose: Pose) -> tuple[np.ndarray, np.ndarray]:
    return pose[:3, 3], pose[:3, :3]


def _number(element: ElementTree.Element, path: str, usual: float = 0.0) -> float:
    text = element.findtext(path)
    return usual if text is None or not text.strip() else float(_numbers(text, 1)[0])


def _numbers(text: str | None, count: int | None = None) -> list[float]:
    words = (text or "").split()
    try:
        found = [float(word) for word in words]
    except ValueError:
        found = []
    if not found or (count is not None and len(found) != count) or np.isnan(found).any():
        wanted = "numbers" if count is None else f"{count} numbers" if count > 1 else "a number"
        raise ModelError(f"expected {wanted}, got {shown(text)}")
    return found
