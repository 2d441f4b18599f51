"""SDF: links are bodies, joints are joints of the same names, frames are markers.

A file tells where links and joints are when nothing has moved; a joint has there one frame on both
of its links, so that loops close by themselves. Poses may be relative to any frame; without a word,
those of links are relative to the model, those of joints to their child.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any
from xml.etree.ElementTree import Element

import networkx as nx
import numpy as np
from scipy.spatial.transform import Rotation

from ..arguments import file_path, flag, one_of
from ..errors import ModelError, blamed, shown, unknown
from ..model.system import System
from ..model.transitions import rot
from .imported import Pose, hex_color, xml_of
from .xml_robots import INERTIA, MOVING, XmlRobot, direction, numbers

GRAVITY = (0.0, 0.0, -9.8)  # as SDF says
OTHERS = {"fixed": "fixed", "ball": "spherical", "universal": "joint", "revolute2": "joint"}
BUILT = {
    "damping": "axis/dynamics/damping",
    "stiffness": "axis/dynamics/spring_stiffness",
    "rest": "axis/dynamics/spring_reference",
    "friction": "axis/dynamics/friction",
}
LIMITS = ("axis/limit/lower", "axis/limit/upper")
USUAL = {
    **{f"inertia/{key}": value for key, value in INERTIA.items()},
    **dict.fromkeys(("mass", "radius", "size", "length"), 1.0),
    **dict.fromkeys((*BUILT.values(), "offset", "reference"), 0.0),
    **dict(zip(LIMITS, (-np.inf, np.inf), strict=True)),
}
UNREAD = ("plugin", "sensor", "gripper", "light", "battery", "fluid_added_mass", "particle_emitter")


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
    path, free = file_path(path), flag("floating", floating)
    root = xml_of(path, "an SDF file")
    with blamed(path.name):
        if root.tag != "sdf":
            raise ModelError(f"not an SDF file: its root is <{root.tag}>, not <sdf>")
        said = root.find("world/gravity")
        world = GRAVITY if said is None else numbers(said.text, 3)
        own = world if gravity is None else gravity
        chosen = _model(root, model)
        robot = _SdfRobot(chosen, own, path.parent, limits=limits, friction=friction)
        return robot.read(free)


def _model(root: Element, name: str | None) -> Element:
    found = (*root.findall("model"), *root.findall("world/model"))
    models = {each.get("name", ""): each for each in found}
    if name is not None:
        return models[one_of("model", name, models)]
    if len(found) != 1:
        listed = ", ".join(map(repr, models)) or "none"
        raise ModelError(f"say by model= which one is meant: the file has {listed}")
    return found[0]


class _SdfRobot(XmlRobot):
    mark, mass, file, mimic = "", "mass", "uri", "axis/mimic"
    built, limits, usual = BUILT, LIMITS, USUAL

    def __init__(self, model: Element, gravity: Any, folder: Path, **taken: bool) -> None:
        super().__init__(model.get("name", ""), gravity, folder, **taken)
        self.model = model
        self.links, self.joints, self.frames = (
            _by_name(model, kind) for kind in ("link", "joint", "frame")
        )
        self.kinds = {name: joint.get("type", "") for name, joint in self.joints.items()}
        self.poses = {"__model__": Pose(), "world": self.pose(model).inverse}

    def read(self, floating: bool) -> System:
        if self.model.find("include") is not None or self.model.find("model") is not None:
            raise ModelError("models inside of models are not read; gz sdf -p writes them out")
        if not self.links:
            raise ModelError(f"the model {self.system.name!r} has no links")
        for name, link in self.links.items():
            with blamed(f"link {name!r}"):
                self._link(name, link)
        self._hold(floating)
        for make in (self._joint, self.couple):
            for name, joint in self.joints.items():
                with blamed(f"joint {name!r}"):
                    make(name, joint)
        for name in self.frames:
            with blamed(f"frame {name!r}"):
                body = self._body_of(name)
                R, at = self._in(body, name)
                self.system.marker(name, body, at, R)
        self.left_out += [f"<{tag}>" for tag in UNREAD if self.model.find(f".//{tag}") is not None]
        return self.result()

    # --- frames -----------------------------------------------------------------------------------

    def pose(self, element: Element) -> Pose:
        """x y z roll pitch yaw, or x y z and a quaternion whose scalar is last."""
        pose = element.find("pose")
        if pose is None or not (pose.text or "").strip():
            return Pose()
        if pose.get("rotation_format") == "quat_xyzw":
            *at, x, y, z, w = numbers(pose.text, 7)
            if not any((x, y, z, w)):
                raise ModelError("a quaternion of zeros is no orientation")
            return Pose(Rotation.from_quat([x, y, z, w]).as_matrix(), np.array(at))
        *at, roll, pitch, yaw = numbers(pose.text, 6)
        degrees = _is_true(pose.get("degrees"))
        turn = Rotation.from_euler("xyz", [roll, pitch, yaw], degrees=degrees)
        return Pose(turn.as_matrix(), np.array(at))

    def _at(self, name: str, within: tuple[str, ...] = ()) -> Pose:
        """Where a link, joint or frame is in the model, when nothing has moved."""
        if name not in self.poses:
            if name in within:
                raise ModelError(f"the pose of {name!r} is relative to itself")
            element, base = self._element(name)
            base = _relative(element) or base
            self.poses[name] = self._at(base, (*within, name)) @ self.pose(element)
        return self.poses[name]

    def _element(self, name: str) -> tuple[Element, str]:
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
        return self._at("world" if body == "ground" else body).inverse @ self._at(name)

    # --- links ------------------------------------------------------------------------------------

    def _link(self, name: str, link: Element) -> None:
        inertial = link.find("inertial")
        if inertial is None:
            self.left_out.append(f"no mass of the link {name!r}: SDF has it weigh 1 kg, 1 kg m²")
            inertial = Element("inertial")
        if _is_true(inertial.get("auto")):
            raise ModelError("its inertia is to be found from its shapes, which is not done here")
        self.rigid(name, inertial)
        if not _is_true(link.findtext("gravity") or "true"):
            weight = self.number(inertial, self.mass) * self.system.gravity
            self.lift(name, self.pose(inertial), -weight)
        for visual in link.iterfind("visual"):
            self.visual(name, visual)

    def color(self, visual: Element) -> str | None:
        said = (visual.findtext(f"material/{word}") for word in ("diffuse", "ambient"))
        rgba = next(filter(None, said), None)
        return hex_color(numbers(rgba)) if rgba else None

    # --- joints -----------------------------------------------------------------------------------

    def _end(self, joint: Element, word: str) -> str:
        text = (joint.findtext(word) or "").strip()
        known = ["world", *self.links, *self.joints, *self.frames, "__model__"]
        return one_of(word, text, known, ModelError)

    def _hold(self, floating: bool) -> None:
        """Each set of links that no joint joins to the world is free there, or fixed."""
        static = _is_true(self.model.findtext("static"))
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
                R, at = self._in("ground", name)
                join(own, self.system.ground, name, at=at, orientation=R)
                graph.add_edge(name, "ground")

    def _joint(self, name: str, joint: Element) -> None:
        kind = joint.get("type", "")
        if kind in ("gearbox", "screw"):
            self.left_out.append(f"the {kind} {name!r}")
            return
        word = {**MOVING, **OTHERS}.get(kind)
        if word is None:
            raise ModelError(unknown("type", kind, [*MOVING, *OTHERS]))
        parent, child = (self._body_of(self._end(joint, end)) for end in ("parent", "child"))
        frame, child_frame = self._in(parent, name), self._in(child, name)
        where: dict[str, Any] = {"at": frame.at, "orientation": frame.R}
        where |= {"child_at": child_frame.at, "child_orientation": child_frame.R}
        if kind in MOVING:
            where |= {"axis": self._axis(name, joint, "axis"), **self.options(name, joint)}
        elif word == "joint":
            axes = [self._axis(name, joint, each) for each in ("axis", "axis2")]
            where["transitions"] = [rot(axis, str(k)) for k, axis in enumerate(axes, start=1)]
        elif joint.find("axis/dynamics") is not None:
            self.left_out.append(f"what is in the {kind} joint {name!r}")
        getattr(self.system, word)(name, parent, child, **where)

    def _axis(self, name: str, joint: Element, word: str) -> np.ndarray:
        """A direction in the joint's frame."""
        axis = joint.find(word)
        if axis is None:
            raise ModelError(f"<{word}> is missing")
        xyz = axis.find("xyz")
        given = direction(numbers("0 0 1" if xyz is None else xyz.text, 3))
        old = _is_true(axis.findtext("use_parent_model_frame"))
        frame = "__model__" if old else "" if xyz is None else xyz.get("expressed_in", "")
        if not frame:
            return given
        return np.asarray(self._at(name).R.T @ self._at(frame).R @ given)


def _is_true(text: str | None) -> bool:
    return (text or "").strip() in ("1", "true")


def _by_name(model: Element, kind: str) -> dict[str, Element]:
    found: dict[str, Element] = {}
    for element in model.findall(kind):
        name = element.get("name", "")
        if not name or name in found or name in ("world", "__model__", "ground"):
            raise ModelError(f"a {kind} needs a name of its own, got {shown(name)}")
        found[name] = element
    return found


def _relative(element: Element) -> str:
    pose = element.find("pose")
    return "" if pose is None else pose.get("relative_to", pose.get("frame", ""))
