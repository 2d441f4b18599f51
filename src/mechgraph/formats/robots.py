"""Hinges, slides, balls and free bodies written as URDF and MJCF, for other programs.

Parameters have the values of the model. Couplings of two joints are mimic joints in URDF, and MJCF
has a word for all of them, and for loops that a hinge, a ball or a fixed joint closes. What the
format has no word for (forces other than springs and dampers in joints, outputs …) is warned of by
name.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import casadi as ca
import numpy as np
from casadi import SX
from scipy.spatial.transform import Rotation

from ..arguments import file_path, replacing
from ..errors import ModelError, UnsupportedError
from ..model.bodies import Body, Marker
from ..model.description import Description
from ..model.joints import Fixed, Free, Joint, Prismatic, Revolute, Spherical
from ..motion.topology import Arc, topology

Pose = tuple[np.ndarray, np.ndarray]  # R, p
THIN = 1e-10  # of inertia or mass, which MuJoCo takes for more than nothing


class _Tree:
    """A system as numbers: for each body the pose of its joint, and what is in the joint."""

    def __init__(
        self, said: Description, kinds: tuple[type, ...], closing: tuple[type, ...] = ()
    ) -> None:
        self.said, self.topology = said, topology(said)
        self._refuse(kinds, closing)
        self.simple = {  # joints of one coordinate
            arc.joint.name for arc in self.topology.arcs if len(arc.joint.coordinates) == 1
        }
        self.left_out = self._left_out()

    def _refuse(self, kinds: tuple[type, ...], closing: tuple[type, ...]) -> None:
        cut = [joint for joint in self.topology.cut if type(joint.kind) not in closing]
        if cut and not closing:
            listed = ", ".join(joint.name for joint in cut)
            raise UnsupportedError(
                f"the joints {listed} close loops, and only trees can be written"
            )
        tree = [arc.joint for arc in self.topology.arcs if type(arc.joint.kind) not in kinds]
        for joint, able, what in ((tree, kinds, "has"), (cut, closing, "closes loops by")):
            for each in joint:
                known = ", ".join(kind.__name__.lower() for kind in able)
                raise UnsupportedError(
                    f"joint {each.name!r} is {type(each.kind).__name__.lower()}; the format {what} "
                    f"{known}"
                )

    def _left_out(self) -> list[str]:
        elements = [e.called for e in self.said.elements if not self._is_written(e)]
        outputs = [f"output {name!r}" for name in self.said.outputs]
        return [*elements, *outputs, *(f"speed {name!r}" for name in self.said.speeds)]

    def _is_written(self, element: Any) -> bool:
        """Whether it is built into a joint of one coordinate, or couples such joints."""
        coupled, built = element.coupled(), element.joint_properties()
        if coupled is not None:
            return {*coupled[0]} <= self.simple
        return built is not None and built[0] in self.simple

    @property
    def couplings(self) -> Iterator[tuple[str, dict[str, float], float]]:
        """Σ c q = constant of joints with one coordinate each."""
        for e in self.said.elements:
            coupled = e.coupled()
            if coupled is not None and self._is_written(e):
                values = {key: self.number(c, e.called).item() for key, c in coupled[0].items()}
                terms = {key: c for key, c in values.items() if c}
                if not terms:
                    raise UnsupportedError(f"{e.called}: all of its coefficients are zero")
                yield e.name, terms, self.number(coupled[1], e.called).item()

    def number(self, expression: Any, what: str) -> np.ndarray:
        """An expression of parameters as numbers."""
        x = SX(expression)
        if any(each.name() in ("t", *self.said.inputs) for each in ca.symvar(x)):
            raise UnsupportedError(
                f"{what} depends on time or an input, which the format cannot say"
            )
        return self.said.default_value(x)

    def pose(self, marker: Marker) -> Pose:
        what = f"the frame {marker.name!r}"
        return self.number(marker.rotation, what), self.number(marker.at, what).ravel()

    def ends(self, arc: Arc) -> tuple[Marker, Marker, float]:
        """The joint's frames inboard and outboard, and the sign of its axis walked that way."""
        joint = arc.joint
        return (
            (joint.child, joint.parent, -1.0) if arc.reversed else (joint.parent, joint.child, 1.0)
        )

    def axis(self, arc: Arc) -> np.ndarray:
        kind: Any = arc.joint.kind
        return self.ends(arc)[2] * self.number(kind.axis, f"axis of {arc.joint.name!r}").ravel()

    def inertia(self, body: Body) -> tuple[float, np.ndarray, np.ndarray]:
        what = f"inertia of {body.name!r}"
        values = (self.number(x, what) for x in (body.mass, body.com, body.inertia))
        mass, com, inertia = values
        return float(mass.item()), com.ravel(), inertia

    def built(self, joint: str) -> dict[str, Any]:
        """Stiffness, damping, rest, armature, limits, friction of a joint with one coordinate."""
        out: dict[str, Any] = {}
        for e in self.said.elements:
            coordinate, own = e.joint_properties() or ("", {})
            if coordinate == joint:
                out |= {key: self._plain(value, e.called) for key, value in own.items()}
        return {key: value for key, value in out.items() if value}

    def _plain(self, value: Any, what: str) -> Any:
        """A number, or a list of numbers and None."""
        if isinstance(value, list):
            return [None if each is None else self._plain(each, what) for each in value]
        return self.number(value, what).item()

    def warn(self, path: Path) -> None:
        if self.left_out:
            listed = ", ".join(self.left_out)
            warnings.warn(f"{path.name}: the format has no word for {listed}", stacklevel=4)


def _numbers(values: Any) -> str:
    return " ".join(repr(float(x) + 0.0) for x in np.ravel(values))


def _times(a: Pose, b: Pose) -> Pose:
    return a[0] @ b[0], a[1] + a[0] @ b[1]


def _inverse(a: Pose) -> Pose:
    return a[0].T, -a[0].T @ a[1]


def _write(root: ET.Element, path: Path) -> Path:
    ET.indent(root)
    with replacing(path) as file:
        ET.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)
    return path


# --- URDF -----------------------------------------------------------------------------------------


def save_urdf(said: Description, path: str | Path) -> Path:
    """Write a tree as URDF: a link has the frame of the joint that leads to it."""
    path = file_path(path)
    tree = _Tree(said, (Revolute, Prismatic, Fixed, Free))
    root = ET.Element("robot", name=said.name)
    frames: dict[str, Pose] = {"ground": (np.eye(3), np.zeros(3))}
    ET.SubElement(root, "link", name="ground")
    for arc in tree.topology.arcs:
        inboard, outboard, _ = tree.ends(arc)
        frames[outboard.body.name] = tree.pose(outboard)
        _urdf_link(root, tree, said.bodies[outboard.body.name], frames[outboard.body.name])
        origin = _times(_inverse(frames[inboard.body.name]), tree.pose(inboard))
        _urdf_joint(root, tree, arc, inboard.body.name, outboard.body.name, origin)
    for name, terms, constant in tree.couplings:
        _mimic(root, tree, name, terms, constant)
    for name, marker in said.markers.items():
        origin = _times(_inverse(frames[marker.body.name]), tree.pose(marker))
        ET.SubElement(root, "link", name=name)
        _fixed(root, f"{name} on {marker.body.name}", marker.body.name, name, origin)
    tree.warn(path)
    return _write(root, path)


def _origin(parent: ET.Element, pose: Pose) -> None:
    rpy = Rotation.from_matrix(pose[0]).as_euler("xyz")
    ET.SubElement(parent, "origin", xyz=_numbers(pose[1]), rpy=_numbers(rpy))


def _urdf_link(root: ET.Element, tree: _Tree, body: Body, frame: Pose) -> None:
    link = ET.SubElement(root, "link", name=body.name)
    if body.weightless:
        return
    mass, com, inertia = tree.inertia(body)
    inertial = ET.SubElement(link, "inertial")
    _origin(inertial, _times(_inverse(frame), (np.eye(3), com)))
    ET.SubElement(inertial, "mass", value=repr(mass))
    entries = {
        f"i{a}{b}": repr(float(inertia["xyz".index(a), "xyz".index(b)]))
        for a, b in ("xx", "xy", "xz", "yy", "yz", "zz")
    }
    ET.SubElement(inertial, "inertia", entries)


def _urdf_joint(
    root: ET.Element, tree: _Tree, arc: Arc, parent: str, child: str, origin: Pose
) -> None:
    kind, built = type(arc.joint.kind), tree.built(arc.joint.name)
    limits = built.get("limits")
    turning = "revolute" if limits else "continuous"
    word = {Revolute: turning, Prismatic: "prismatic", Free: "floating", Fixed: "fixed"}[kind]
    joint = _joined(root, arc.joint.name, word, parent, child, origin)
    if kind in (Revolute, Prismatic):
        ET.SubElement(joint, "axis", xyz=_numbers(tree.axis(arc)))
        wanted = {"damping": "damping", "friction": "friction"}
        given = {key: repr(float(built[key])) for key in wanted if key in built}
        if given:
            ET.SubElement(joint, "dynamics", given)
        if limits or kind is Prismatic:
            low, high = limits or (None, None)
            ends = {
                "lower": repr(-1e9 if low is None else low),
                "upper": repr(1e9 if high is None else high),
            }
            ET.SubElement(joint, "limit", {"effort": "1e9", "velocity": "1e9", **ends})
        for key in ("stiffness", "armature"):
            if key in built:
                tree.left_out.append(f"{key} of {arc.joint.name!r}")


def _mimic(
    root: ET.Element, tree: _Tree, name: str, terms: dict[str, float], constant: float
) -> None:
    """c₁ q₁ + c₂ q₂ = constant as q₁ = −c₂/c₁ q₂ + constant/c₁; a joint mimics one other."""
    joints = {each.get("name"): each for each in root.findall("joint")}
    free = [key for key in terms if joints[key].find("mimic") is None]
    if len(terms) != 2 or not free:
        tree.left_out.append(f"coupling {name!r}")
        return
    one = free[0]
    (other,) = (key for key in terms if key != one)
    law = {"multiplier": -terms[other] / terms[one], "offset": constant / terms[one]}
    given = {"joint": other, **{key: repr(x) for key, x in law.items()}}
    ET.SubElement(joints[one], "mimic", given)


def _joined(
    root: ET.Element, name: str, word: str, parent: str, child: str, origin: Pose
) -> ET.Element:
    joint = ET.SubElement(root, "joint", name=name, type=word)
    _origin(joint, origin)
    ET.SubElement(joint, "parent", link=parent)
    ET.SubElement(joint, "child", link=child)
    return joint


def _fixed(root: ET.Element, name: str, parent: str, child: str, origin: Pose) -> None:
    _joined(root, name, "fixed", parent, child, origin)


# --- MJCF -----------------------------------------------------------------------------------------


def save_mjcf(said: Description, path: str | Path) -> Path:
    """Write a system as MJCF, for MuJoCo: a body has the frame of the joint that leads to it, and
    what closes loops or couples joints is an equality."""
    path = file_path(path)
    tree = _Tree(said, (Revolute, Prismatic, Spherical, Free, Fixed), (Revolute, Spherical, Fixed))
    root = ET.Element("mujoco", model=said.name)
    ET.SubElement(root, "compiler", angle="radian", autolimits="true", balanceinertia="false")
    ET.SubElement(root, "option", gravity=_numbers(tree.number(said.gravity, "gravity")))
    bodies = {"ground": ET.SubElement(root, "worldbody")}
    frames: dict[str, Pose] = {"ground": (np.eye(3), np.zeros(3))}
    for arc in tree.topology.arcs:
        inboard, outboard, _ = tree.ends(arc)
        name = outboard.body.name
        frames[name] = tree.pose(outboard)
        at = _times(_inverse(frames[inboard.body.name]), tree.pose(inboard))
        bodies[name] = _placed(bodies[inboard.body.name], "body", name, at)
        _mjcf_joint(bodies[name], tree, arc, at)
        _mjcf_inertial(bodies[name], tree, said.bodies[name], frames[name])
    for name, marker in said.markers.items():
        at = _times(_inverse(frames[marker.body.name]), tree.pose(marker))
        _placed(bodies[marker.body.name], "site", name, at)
    for joint in tree.topology.cut:
        _mjcf_closed(root, tree, joint, bodies, frames)
    for name, terms, constant in tree.couplings:
        _mjcf_coupled(root, name, terms, constant)
    tree.warn(path)
    return _write(root, path)


def _section(root: ET.Element, name: str) -> ET.Element:
    found = root.find(name)
    return ET.SubElement(root, name) if found is None else found


def _mjcf_closed(
    root: ET.Element,
    tree: _Tree,
    joint: Joint,
    bodies: dict[str, ET.Element],
    frames: dict[str, Pose],
) -> None:
    """A ball is one point of both bodies, a hinge two points of its axis, a fixed joint a frame."""
    kind: Any = joint.kind
    points = kind.common_points() if joint.coordinates else [SX.zeros(3)]
    along = [tree.number(point, f"axis of {joint.name!r}").ravel() for point in points]
    word = "connect" if joint.coordinates else "weld"
    for k, offset in enumerate(along, start=1):
        given = {"name": joint.name if k == 1 else f"{joint.name} {k}"}
        for end, marker in (("1", joint.parent), ("2", joint.child)):
            body = marker.body.name
            at = _times(_inverse(frames[body]), _times(tree.pose(marker), (np.eye(3), offset)))
            given[f"site{end}"] = f"{given['name']} end {end}"
            _placed(bodies[body], "site", given[f"site{end}"], at)
        ET.SubElement(_section(root, "equality"), word, given)


def _mjcf_coupled(root: ET.Element, name: str, terms: dict[str, float], constant: float) -> None:
    """q₁ = a₀ + a₁ q₂; of more joints the length of a tendon, Σ c q = a₀."""
    equality = _section(root, "equality")
    if len(terms) <= 2:
        one, *others = terms
        slope = -sum(terms[other] for other in others) / terms[one]
        given = {f"joint{k}": joint for k, joint in enumerate(terms, start=1)}
        given |= {"name": name, "polycoef": _numbers([constant / terms[one], slope, 0, 0, 0])}
        ET.SubElement(equality, "joint", given)
        return
    tendon = ET.SubElement(_section(root, "tendon"), "fixed", name=name)
    for joint, c in terms.items():
        ET.SubElement(tendon, "joint", joint=joint, coef=repr(c))
    law = _numbers([constant, 0, 0, 0, 0])
    ET.SubElement(equality, "tendon", name=name, tendon1=name, polycoef=law)


def _placed(parent: ET.Element, word: str, name: str, pose: Pose) -> ET.Element:
    quaternion = Rotation.from_matrix(pose[0]).as_quat(scalar_first=True)
    return ET.SubElement(parent, word, name=name, pos=_numbers(pose[1]), quat=_numbers(quaternion))


def _mjcf_joint(body: ET.Element, tree: _Tree, arc: Arc, at: Pose) -> None:
    kind, name = type(arc.joint.kind), arc.joint.name
    if kind is Fixed:
        return
    if arc.reversed and kind in (Spherical, Free):
        raise ModelError(
            f"joint {name!r} leads from the outer body to the inner one; describe it the other way"
        )
    if kind is Free:
        if arc.inboard != "ground" or np.any(at[0] != np.eye(3)) or np.any(at[1]):
            raise UnsupportedError(
                f"joint {name!r}: MJCF has free bodies on the ground only, at its origin"
            )
        ET.SubElement(body, "freejoint", name=name)
        return
    word = {Revolute: "hinge", Prismatic: "slide", Spherical: "ball"}[kind]
    joint = ET.SubElement(body, "joint", name=name, type=word)
    if kind is Spherical:
        return
    joint.set("axis", _numbers(tree.axis(arc)))
    built = tree.built(name)
    words = {
        "stiffness": "stiffness",
        "damping": "damping",
        "armature": "armature",
        "rest": "springref",
        "friction": "frictionloss",
    }
    for key, attribute in words.items():
        if key in built:
            joint.set(attribute, repr(float(built[key])))
    if "limits" in built:
        low, high = built["limits"]
        joint.set("range", f"{-1e9 if low is None else low!r} {1e9 if high is None else high!r}")


def _mjcf_inertial(element: ET.Element, tree: _Tree, body: Body, frame: Pose) -> None:
    if body.weightless:
        if element.find("joint") is not None or element.find("freejoint") is not None:
            tree.left_out.append(f"no mass of {body.name!r}, which moves: MuJoCo wants some")
        return
    mass, com, inertia = tree.inertia(body)
    R, com = _times(_inverse(frame), (np.eye(3), com))
    inertia = R @ _thickened(inertia, mass, body.name, tree) @ R.T
    order = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
    full = _numbers([inertia[each] for each in order])
    ET.SubElement(element, "inertial", pos=_numbers(com), mass=repr(mass), fullinertia=full)


def _thickened(inertia: np.ndarray, mass: float, name: str, tree: _Tree) -> np.ndarray:
    """An inertia with nothing about an axis, as of a thin rod, with as little as MuJoCo takes."""
    values, axes = np.linalg.eigh(inertia)
    least = THIN * max(mass, values[-1])
    if values[0] < least:
        tree.left_out.append(f"no inertia about an axis of {name!r} ({least:.1g} kg m² is written)")
    return np.asarray(axes @ np.diag(np.maximum(values, least)) @ axes.T)
