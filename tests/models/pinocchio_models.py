"""Pinocchio's models told to mechgraph: an independent program as judge of what robotics asks for.

``ROBOTS`` are public robot descriptions, from the package ``example-robot-data``;
``random_model`` makes trees of all kinds of joints. Both programs take speeds of the same motion,
v = B u: Pinocchio has the velocity of a free body in its own axes, mechgraph in its parent's.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import files
from pathlib import Path

import numpy as np
import pinocchio as pin

import mechgraph as mg

GRAVITY = (0.0, 0.0, -9.81)
# robot, and whether its base floats
ROBOTS = {
    "a1": True, "anymal_b_simple": True, "anymal_c_simple": True, "b1": True, "baxter": False,
    "bolt": True, "borinot": True, "finger_edu": False, "g1": True, "go2": True, "hyq": True,
    "icub": True, "iris": True, "kinova": False, "laikago": True, "panda": False,
    "simple_humanoid": True, "so_arm": False, "solo": True, "talos": True, "tiago": True,
    "ur": False, "xarm": False, "z1": False,
}  # fmt: skip


def description_of(robot: str) -> Path:
    """The first URDF of a robot in the installed package."""
    found = [
        Path(str(file.locate())).resolve()
        for file in files("example-robot-data") or ()
        if file.suffix == ".urdf" and f"/robots/{robot}_" in str(file)
    ]
    return min(found)


def robot_model(robot: str) -> pin.Model:
    """Its model, on a floating base if it has one."""
    path = str(description_of(robot))
    if ROBOTS[robot]:
        return pin.buildModelFromUrdf(path, pin.JointModelFreeFlyer())
    return pin.buildModelFromUrdf(path)


JOINTS = {
    "RX": pin.JointModelRX, "RY": pin.JointModelRY, "RZ": pin.JointModelRZ,
    "PX": pin.JointModelPX, "PY": pin.JointModelPY, "PZ": pin.JointModelPZ,
    "RU": lambda: pin.JointModelRevoluteUnaligned(np.array([0.6, 0.0, 0.8])),
    "PU": lambda: pin.JointModelPrismaticUnaligned(np.array([0.0, 0.6, -0.8])),
    "RUBZ": pin.JointModelRUBZ, "S": pin.JointModelSpherical, "F": pin.JointModelFreeFlyer,
}  # fmt: skip


def random_model(seed: int, bodies: int = 8, floating: bool = False) -> pin.Model:
    """A tree of ``bodies`` with joints of any kind, numbered branch by branch: Pinocchio's matrices
    are wrong in any other order."""
    random, model = np.random.default_rng(seed), pin.Model()
    pin.seed(seed)
    model.gravity.linear = np.array(GRAVITY)
    for k in range(bodies):
        first = k == 0 and floating
        kind = "F" if first else random.choice([key for key in JOINTS if key != "F"])
        placement = pin.SE3.Identity() if first else pin.SE3.Random()
        branch = list(model.supports[model.njoints - 1])[1:] or [0]
        parent = int(random.choice(branch))
        joint = model.addJoint(parent, JOINTS[kind](), placement, f"joint {k}")
        model.appendBodyToJoint(joint, pin.Inertia.Random(), pin.SE3.Identity())
    model.addFrame(pin.Frame("tip", model.njoints - 1, 0, pin.SE3.Random(), pin.FrameType.OP_FRAME))
    return model


@dataclass
class Twin:
    """A Pinocchio model, the same as a ``System``, and states that both understand."""

    model: pin.Model

    def __post_init__(self) -> None:
        self.data = self.model.createData()
        self.system = mg.System(self.model.name or "twin", gravity=tuple(self.model.gravity.linear))
        self.names = ["ground", *(f"body {k}" for k in range(1, self.model.njoints))]
        for k in range(1, self.model.njoints):
            self._add(k)
        self.equations = self.system.equations()

    def _add(self, k: int) -> None:
        inertia, placement = self.model.inertias[k], self.model.jointPlacements[k]
        body = self.system.body(
            self.names[k],
            mass=inertia.mass,
            com=inertia.lever,
            inertia=inertia.inertia,
            allow_unphysical=True,  # public descriptions are not always of bodies that can be
        )
        parent = self.names[self.model.parents[k]]
        kind, axis = _kind(self.model.joints[k])
        options = {} if axis is None else {"axis": axis}
        at, turn = placement.translation, placement.rotation
        join = getattr(self.system, kind)
        join(self.model.names[k], parent, body, at=at, orientation=turn, **options)

    # --- states -----------------------------------------------------------------------------------

    @cached_property
    def order(self) -> list[list[int]]:
        """Of each joint of Pinocchio's, the places of its coordinates in our q."""
        where = self.equations.terms.chart.joint_coordinates
        return [list(where[name]) for name in self.model.names[1:]]

    @cached_property
    def speed_order(self) -> list[int]:
        """The place in our u of each of Pinocchio's speeds."""
        where = self.equations.terms.chart.joint_speeds
        each = (where.get(f"{name}'", where.get(name)) for name in self.model.names[1:])
        return [k for own in each for k in own]

    def coordinates(self, q: np.ndarray) -> np.ndarray:
        """Our q of Pinocchio's: quaternions scalar-first, continuous joints as angles."""
        out = np.zeros(len(self.equations.coordinates))
        for joint, own in zip(list(self.model.joints)[1:], self.order, strict=True):
            values = q[joint.idx_q : joint.idx_q + joint.nq]
            if joint.nq == 2:
                values = [np.arctan2(values[1], values[0])]
            elif joint.nq in (4, 7):
                values = [*values[:-4], values[-1], *values[-4:-1]]
            out[own] = values
        return out

    def speeds_of(self, q: np.ndarray, v: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """B and Ḃ with v = B u, and u."""
        count = self.model.nv
        B, rate = np.zeros((count, count)), np.zeros((count, count))
        B[range(count), self.speed_order] = 1
        for joint in list(self.model.joints)[1:]:
            if joint.nq == 7:
                three = slice(joint.idx_v, joint.idx_v + 3)
                R = pin.Quaternion(q[joint.idx_q + 3 : joint.idx_q + 7]).matrix()
                omega = v[joint.idx_v + 3 : joint.idx_v + 6]
                rate[three] = -pin.skew(omega) @ R.T @ B[three]
                B[three] = R.T @ B[three]
        return B, rate, np.linalg.solve(B, v)

    def state(self, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Pinocchio's q and v at random."""
        random = np.random.default_rng(seed)
        q = pin.integrate(
            self.model, pin.neutral(self.model), random.uniform(-1.5, 1.5, self.model.nv)
        )
        return q, random.uniform(-1, 1, self.model.nv)


def _kind(joint: pin.JointModel) -> tuple[str, object]:
    name = joint.shortname().removeprefix("JointModel")
    if name == "FreeFlyer":
        return "free", None
    if name == "Spherical":
        return "spherical", None
    word = "revolute" if name.startswith("R") else "prismatic"
    if "Unaligned" in name:
        unbounded = joint.extract() if hasattr(joint, "extract") else joint
        return word, tuple(unbounded.axis)
    return word, name[-1].lower()
