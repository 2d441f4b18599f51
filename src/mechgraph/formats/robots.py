"""Hinges, slides, balls and free bodies written as URDF and MJCF, for other programs.

Parameters have the values of the model. Couplings of two joints are mimic joints in URDF, and MJCF
has a word for all of them, and for loops that a hinge, a ball or a fixed joint closes. What the
format has no word for (forces other than springs and dampers in joints, outputs …) is warned of by
name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, ClassVar
from xml.etree import ElementTree as ET

import casadi as ca
import numpy as np
from casadi import SX
from scipy.spatial.transform import Rotation

from ..arguments import file_path, replacing
from ..errors import ModelError, UnsupportedError, warn
from ..model.bodies import Body, Marker
from ..model.description import Description
from ..model.joints import Fixed, Free, Joint, Prismatic, Revolute, Spherical
from ..motion.topology import Arc, topology
from ..numerics.tolerances import GIVEN
from .imported import Pose

THIN = GIVEN / 10  # of inertia or mass: the last of the ten digits that files give
FAR = 1e9  # limits that are none
Kinds = Mapping[type, str]
URDF_JOINTS: Kinds = {
    Revolute: "revolute",
    Prismatic: "prismatic",
    Fixed: "fixed",
    Free: "floating",
}
URDF_OPTIONS = {"damping": "damping", "friction": "friction"}
MJCF_JOINTS: Kinds = {
    Revolute: "hinge",
    Prismatic: "slide",
    Spherical: "ball",
    Free: "free",
    Fixed: "",
}
MJCF_EQUALITIES: Kinds = {Revolute: "connect", Spherical: "connect", Fixed: "weld"}
MJCF_OPTIONS = {
    "stiffness": "stiffness",
    "damping": "damping",
    "armature": "armature",
    "rest": "springref",
    "friction": "frictionloss",
}


class _RobotFile:
    """A system as numbers, on its way to a file: a body has there the frame of the joint that leads
    to it.

    ``words`` are those of the kinds of joints in the tree, ``closing`` of those that close loops,
    ``built`` of what is in a joint of one coordinate.
    """

    words: ClassVar[Kinds]
    closing: ClassVar[Kinds]
    built: ClassVar[Mapping[str, str]]

    def __init__(self, said: Description) -> None:
        self.said, self.topology = said, topology(said)
        self._refuse()
        arcs = self.topology.arcs
        self.simple = {arc.joint.name for arc in arcs if len(arc.joint.coordinates) == 1}
        self.left_out = [
            *(e.called for e in said.elements if not self._is_written(e)),
            *(f"output {name!r}" for name in said.outputs),
            *(f"speed {name!r}" for name in said.speeds),
        ]
        self.frames = {"ground": Pose()}
        for arc in arcs:
            self.frames[self.ends(arc)[1].body.name] = self._pose(self.ends(arc)[1])

    def save(self, root: ET.Element, path: str | Path) -> Path:
        """Write it, and warn of what could not be written."""
        path = file_path(path)
        if self.left_out:
            warn(f"{path.name}: the format has no word for {', '.join(self.left_out)}")
        ET.indent(root)
        with replacing(path) as file:
            ET.ElementTree(root).write(file, encoding="utf-8", xml_declaration=True)
        return path

    @property
    def branches(self) -> Iterator[tuple[Arc, str, Body, Pose]]:
        """Each joint of the tree, from where to which body, and where it is there."""
        for arc in self.topology.arcs:
            inboard, outboard = self.ends(arc)
            yield arc, inboard.body.name, self.said.bodies[outboard.body.name], self.at(inboard)

    def _refuse(self) -> None:
        cut = [joint for joint in self.topology.cut if type(joint.kind) not in self.closing]
        if cut and not self.closing:
            listed = ", ".join(joint.name for joint in cut)
            raise UnsupportedError(
                f"the joints {listed} close loops, and only trees can be written"
            )
        tree = [arc.joint for arc in self.topology.arcs if type(arc.joint.kind) not in self.words]
        for joints, able, what in (
            (tree, self.words, "has"),
            (cut, self.closing, "closes loops by"),
        ):
            for each in joints:
                known = ", ".join(kind.__name__.lower() for kind in able)
                raise UnsupportedError(
                    f"joint {each.name!r} is {type(each.kind).__name__.lower()}; the format {what} "
                    f"{known}"
                )

    def _is_written(self, element: Any) -> bool:
        """True if it is built into a joint of one coordinate, or couples such joints."""
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

    # --- numbers ----------------------------------------------------------------------------------

    def number(self, expression: Any, what: str) -> np.ndarray:
        """An expression of parameters as numbers."""
        x = SX(expression)
        if any(each.name() in ("t", *self.said.inputs) for each in ca.symvar(x)):
            raise UnsupportedError(
                f"{what} depends on time or an input, which the format cannot say"
            )
        return self.said.default_value(x)

    def _pose(self, marker: Marker) -> Pose:
        what = f"the frame {marker.name!r}"
        return Pose(self.number(marker.rotation, what), self.number(marker.at, what).ravel())

    def at(self, marker: Marker) -> Pose:
        """A marker in the frame that its body has in the file."""
        return self.frames[marker.body.name].inverse @ self._pose(marker)

    def ends(self, arc: Arc) -> tuple[Marker, Marker]:
        """The joint's frames, inboard and outboard."""
        joint = arc.joint
        return (joint.child, joint.parent) if arc.reversed else (joint.parent, joint.child)

    def axis(self, arc: Arc) -> str:
        """The joint's axis, from inboard to outboard."""
        kind: Any = arc.joint.kind
        e = self.number(kind.axis, f"axis of {arc.joint.name!r}").ravel()
        return _text(-e if arc.reversed else e)

    def inertia(self, body: Body) -> tuple[float, Pose, np.ndarray]:
        """Mass, mass centre and inertia about it, in the axes of the body."""
        what = f"inertia of {body.name!r}"
        mass, com, inertia = (self.number(x, what) for x in (body.mass, body.com, body.inertia))
        centre = self.frames[body.name].inverse @ Pose(at=com.ravel())
        return mass.item(), centre, inertia

    def options(self, joint: str) -> tuple[dict[str, str], tuple[str, str] | None]:
        """What is in a joint of one coordinate, in the format's words, and its limits; what it has
        no word for is left out."""
        found: dict[str, Any] = {}
        for e in self.said.elements:
            coordinate, own = e.joint_properties() or ("", {})
            if coordinate == joint:
                found |= {key: self._plain(value, e.called) for key, value in own.items()}
        found = {key: value for key, value in found.items() if value}
        limits = found.pop("limits", None)
        missing = (key for key in found if key not in self.built and key != "rest")
        self.left_out += [f"{key} of {joint!r}" for key in missing]
        words = {self.built[key]: repr(float(x)) for key, x in found.items() if key in self.built}
        ends = limits and tuple(
            repr(far if end is None else end) for end, far in zip(limits, (-FAR, FAR), strict=True)
        )
        return words, ends

    def _plain(self, value: Any, what: str) -> Any:
        """A number, or a list of numbers and None."""
        if isinstance(value, list):
            return [None if each is None else self._plain(each, what) for each in value]
        return self.number(value, what).item()


def _text(values: Any) -> str:
    return " ".join(repr(float(x) + 0.0) for x in np.ravel(values))


# --- URDF -----------------------------------------------------------------------------------------


class _Urdf(_RobotFile):
    words, closing, built = URDF_JOINTS, dict[type, str](), URDF_OPTIONS

    def __init__(self, said: Description) -> None:
        super().__init__(said)
        self.robot = ET.Element("robot", name=said.name)
        ET.SubElement(self.robot, "link", name="ground")
        for arc, parent, body, at in self.branches:
            self._link(body)
            self._joint(arc, parent, body.name, at)
        for coupling in self.couplings:
            self._mimic(*coupling)
        for name, marker in said.markers.items():
            on = marker.body.name
            ET.SubElement(self.robot, "link", name=name)
            self._join(f"{name} on {on}", "fixed", on, name, self.at(marker))

    def _link(self, body: Body) -> None:
        link = ET.SubElement(self.robot, "link", name=body.name)
        if not body.weightless:
            mass, centre, inertia = self.inertia(body)
            inertial = ET.SubElement(link, "inertial")
            _origin(inertial, centre)
            ET.SubElement(inertial, "mass", value=repr(mass))
            entries = {
                f"i{a}{b}": repr(float(inertia["xyz".index(a), "xyz".index(b)]))
                for a, b in ("xx", "xy", "xz", "yy", "yz", "zz")
            }
            ET.SubElement(inertial, "inertia", entries)

    def _joint(self, arc: Arc, parent: str, child: str, at: Pose) -> None:
        kind, name = type(arc.joint.kind), arc.joint.name
        joint = self._join(name, self.words[kind], parent, child, at)
        if kind not in (Revolute, Prismatic):
            return
        ET.SubElement(joint, "axis", xyz=self.axis(arc))
        words, limits = self.options(name)
        if words:
            ET.SubElement(joint, "dynamics", words)
        if kind is Revolute and limits is None:
            joint.set("type", "continuous")
            return
        low, high = limits or (repr(-FAR), repr(FAR))
        ET.SubElement(joint, "limit", effort=repr(FAR), velocity=repr(FAR), lower=low, upper=high)

    def _join(self, name: str, word: str, parent: str, child: str, at: Pose) -> ET.Element:
        joint = ET.SubElement(self.robot, "joint", name=name, type=word)
        _origin(joint, at)
        ET.SubElement(joint, "parent", link=parent)
        ET.SubElement(joint, "child", link=child)
        return joint

    def _mimic(self, name: str, terms: dict[str, float], constant: float) -> None:
        """q₁ = −c₂/c₁ q₂ + constant/c₁; a joint mimics one other."""
        joints = {each.get("name"): each for each in self.robot.findall("joint")}
        free = [key for key in terms if joints[key].find("mimic") is None]
        if len(terms) != 2 or not free:
            self.left_out.append(f"coupling {name!r}")
            return
        one = free[0]
        (other,) = (key for key in terms if key != one)
        law = {"multiplier": -terms[other] / terms[one], "offset": constant / terms[one]}
        given = {"joint": other, **{key: repr(x) for key, x in law.items()}}
        ET.SubElement(joints[one], "mimic", given)


def _origin(parent: ET.Element, pose: Pose) -> None:
    rpy = Rotation.from_matrix(pose.R).as_euler("xyz")
    ET.SubElement(parent, "origin", xyz=_text(pose.at), rpy=_text(rpy))


def save_urdf(said: Description, path: str | Path) -> Path:
    """Write a tree as URDF: a link has the frame of the joint that leads to it."""
    file = _Urdf(said)
    return file.save(file.robot, path)


# --- MJCF -----------------------------------------------------------------------------------------


class _Mjcf(_RobotFile):
    words, closing, built = MJCF_JOINTS, MJCF_EQUALITIES, MJCF_OPTIONS

    def __init__(self, said: Description) -> None:
        super().__init__(said)
        self.top = root = ET.Element("mujoco", model=said.name)
        ET.SubElement(root, "compiler", angle="radian", autolimits="true", balanceinertia="false")
        ET.SubElement(root, "option", gravity=_text(self.number(said.gravity, "gravity")))
        self.bodies = {"ground": ET.SubElement(root, "worldbody")}
        for arc, parent, body, at in self.branches:
            self.bodies[body.name] = _placed(self.bodies[parent], "body", body.name, at)
            self._joint(self.bodies[body.name], arc, at)
            self._inertial(self.bodies[body.name], arc, body)
        for name, marker in said.markers.items():
            _placed(self.bodies[marker.body.name], "site", name, self.at(marker))
        for joint in self.topology.cut:
            self._close(joint)
        for coupling in self.couplings:
            self._couple(*coupling)

    def _section(self, name: str) -> ET.Element:
        found = self.top.find(name)
        return ET.SubElement(self.top, name) if found is None else found

    def _inertial(self, element: ET.Element, arc: Arc, body: Body) -> None:
        if not body.weightless:
            mass, centre, inertia = self.inertia(body)
            turned = centre.R @ self._thickened(inertia, mass, body.name) @ centre.R.T
            order = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)]
            full = _text([turned[each] for each in order])
            given = {"pos": _text(centre.at), "mass": repr(mass), "fullinertia": full}
            ET.SubElement(element, "inertial", given)
        elif type(arc.joint.kind) is not Fixed:
            self.left_out.append(f"no mass of {body.name!r}, which moves: MuJoCo wants some")

    def _joint(self, body: ET.Element, arc: Arc, at: Pose) -> None:
        kind, name = type(arc.joint.kind), arc.joint.name
        if arc.reversed and kind in (Spherical, Free):
            raise ModelError(
                f"joint {name!r} leads from the outer body to the inner one; describe it the other "
                "way"
            )
        if kind is Free:
            if arc.inboard != "ground" or np.any(at.R - np.eye(3)) or np.any(at.at):
                raise UnsupportedError(
                    f"joint {name!r}: MJCF has free bodies on the ground only, at its origin"
                )
            ET.SubElement(body, "freejoint", name=name)
        elif kind is not Fixed:
            joint = ET.SubElement(body, "joint", name=name, type=self.words[kind])
            if kind is not Spherical:
                words, limits = self.options(name)
                joint.attrib |= {"axis": self.axis(arc), **words}
                joint.attrib |= {"range": " ".join(limits)} if limits else {}

    def _thickened(self, inertia: np.ndarray, mass: float, name: str) -> np.ndarray:
        """An inertia with nothing about an axis, as of a thin rod, with as little as MuJoCo
        takes."""
        values, axes = np.linalg.eigh(inertia)
        least = THIN * max(mass, values[-1])
        if values[0] < least:
            written = f"({least:.1g} kg m² is written)"
            self.left_out.append(f"no inertia about an axis of {name!r} {written}")
        return np.asarray(axes @ np.diag(np.maximum(values, least)) @ axes.T)

    def _close(self, joint: Joint) -> None:
        """A ball is one point of both bodies, a hinge two points of its axis, a fixed joint a
        frame."""
        kind: Any = joint.kind
        points = kind.common_points() if joint.coordinates else [SX.zeros(3)]
        along = [self.number(point, f"axis of {joint.name!r}").ravel() for point in points]
        for k, offset in enumerate(along, start=1):
            given = {"name": joint.name if k == 1 else f"{joint.name} {k}"}
            for end, marker in (("1", joint.parent), ("2", joint.child)):
                site = given[f"site{end}"] = f"{given['name']} end {end}"
                at = self.at(marker) @ Pose(at=offset)
                _placed(self.bodies[marker.body.name], "site", site, at)
            ET.SubElement(self._section("equality"), self.closing[type(kind)], given)

    def _couple(self, name: str, terms: dict[str, float], constant: float) -> None:
        """q₁ = a₀ + a₁ q₂; of more joints the length of a tendon, Σ c q = a₀."""
        equality = self._section("equality")
        if len(terms) <= 2:
            one, *others = terms
            slope = -sum(terms[other] for other in others) / terms[one]
            given = {f"joint{k}": joint for k, joint in enumerate(terms, start=1)}
            given |= {"name": name, "polycoef": _text([constant / terms[one], slope, 0, 0, 0])}
            ET.SubElement(equality, "joint", given)
            return
        tendon = ET.SubElement(self._section("tendon"), "fixed", name=name)
        for joint, c in terms.items():
            ET.SubElement(tendon, "joint", joint=joint, coef=repr(c))
        law = _text([constant, 0, 0, 0, 0])
        ET.SubElement(equality, "tendon", name=name, tendon1=name, polycoef=law)


def _placed(parent: ET.Element, word: str, name: str, pose: Pose) -> ET.Element:
    quaternion = Rotation.from_matrix(pose.R).as_quat(scalar_first=True)
    return ET.SubElement(parent, word, name=name, pos=_text(pose.at), quat=_text(quaternion))


def save_mjcf(said: Description, path: str | Path) -> Path:
    """Write a system as MJCF, for MuJoCo: a body has the frame of the joint that leads to it, and
    what closes loops or couples joints is an equality."""
    file = _Mjcf(said)
    return file.save(file.top, path)
