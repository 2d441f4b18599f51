"""The same trees told to mechgraph, Pinocchio, MuJoCo and Drake, for measuring them side by
side."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

import mechgraph as mg

GRAVITY = (0.0, 0.0, -9.81)


@dataclass(frozen=True)
class Link:
    """A body on a revolute joint about ``axis`` (or a free joint, if that is None), placed on body
    ``parent`` (−1: ground)."""

    name: str
    parent: int
    axis: str | None
    at: tuple[float, float, float]
    turn: tuple[str, float]  # axis and angle of the joint frame's orientation in the parent
    mass: float
    com: tuple[float, float, float]
    inertia: tuple[float, float, float]


def _link(
    random: np.random.Generator, name: str, parent: int, axis: str | None, at: tuple, turn: tuple
) -> Link:
    mass = float(random.uniform(0.5, 3.0))
    com = tuple(float(c) for c in random.uniform(-0.1, 0.1, 3))
    inertia = tuple(float(i) for i in mass * random.uniform(0.010, 0.018, 3))
    return Link(name, parent, axis, at, turn, mass, com, inertia)  # type: ignore[arg-type]


def arm(joints: int = 7) -> list[Link]:
    """A serial arm with right-angle twists, as industrial and light-weight arms have."""
    random = np.random.default_rng(1)
    turns = [("x", 0.0), *(("x", s * np.pi / 2) for s in (1, -1, -1, 1, 1, -1, 1, -1))]
    places = [
        (0, 0, 0.34),
        (0, 0, 0),
        (0, 0.4, 0),
        (0, 0, 0),
        (0, 0.39, 0),
        (0, 0, 0),
        (0, 0.12, 0),
    ]
    return [
        _link(random, f"link{k}", k - 1, "z", places[k % 7], turns[k % 9]) for k in range(joints)
    ]


def chain(bodies: int) -> list[Link]:
    """A spatial chain with alternating axes."""
    random = np.random.default_rng(2)
    return [
        _link(random, f"b{k}", k - 1, "xyz"[k % 3], (0.0, 0.0, 0.2), ("x", 0.0))
        for k in range(bodies)
    ]


def humanoid() -> list[Link]:
    """A free pelvis with two legs of 6, a torso of 3, two arms of 7 and a neck of 3 joints: 38
    freedoms, 33 bodies."""
    random = np.random.default_rng(3)
    links = [_link(random, "pelvis", -1, None, (0, 0, 0), ("x", 0.0))]

    def limb(name: str, parent: int, at: tuple, axes: str, lengths: list[float]) -> int:
        for k, axis in enumerate(axes):
            place = at if k == 0 else (0.0, 0.0, lengths[k - 1])
            links.append(_link(random, f"{name}{k}", parent, axis, place, ("x", 0.0)))
            parent = len(links) - 1
        return parent

    for side, y in (("left leg", 0.1), ("right leg", -0.1)):
        limb(side, 0, (0.0, y, 0.0), "zxyyyx", [0.0, 0.0, -0.4, -0.4, 0.0])
    chest = limb("torso", 0, (0.0, 0.0, 0.1), "zxy", [0.1, 0.1])
    for side, y in (("left arm", 0.2), ("right arm", -0.2)):
        limb(side, chest, (0.0, y, 0.3), "yxzyzyx", [0.0, 0.0, -0.3, 0.0, -0.25, 0.0])
    limb("neck", chest, (0.0, 0.0, 0.4), "zyx", [0.0, 0.0])
    return links


def to_mechgraph(links: list[Link]) -> mg.System:
    """The tree as a ``System``."""
    system = mg.System("benchmark", gravity=GRAVITY)
    bodies = []
    for link in links:
        body = system.body(link.name, mass=link.mass, com=link.com, inertia=link.inertia)
        parent = system.ground if link.parent < 0 else bodies[link.parent]
        if link.axis is None:
            system.free(f"{link.name} joint", parent, body, at=link.at)
        else:
            system.revolute(
                f"{link.name} joint",
                parent,
                body,
                axis=link.axis,
                at=link.at,
                orientation=[link.turn],
            )
        bodies.append(body)
    return system


def to_pinocchio(links: list[Link]):
    """The tree as a Pinocchio model."""
    import pinocchio as pin

    model = pin.Model()
    model.gravity.linear = np.array(GRAVITY)
    kinds = {
        "x": pin.JointModelRX,
        "y": pin.JointModelRY,
        "z": pin.JointModelRZ,
        None: pin.JointModelFreeFlyer,
    }
    ids = []
    for link in links:
        place = pin.SE3(_rotation(*link.turn), np.array(link.at, dtype=float))
        parent = 0 if link.parent < 0 else ids[link.parent]
        ids.append(model.addJoint(parent, kinds[link.axis](), place, f"{link.name} joint"))
        inertia = pin.Inertia(link.mass, np.array(link.com), np.diag(link.inertia))
        model.appendBodyToJoint(ids[-1], inertia, pin.SE3.Identity())
    return model


def to_mujoco(links: list[Link]):
    """The tree as a MuJoCo model without contacts."""
    import mujoco

    children: dict[int, list[int]] = {}
    for k, link in enumerate(links):
        children.setdefault(link.parent, []).append(k)

    inside: dict[int, str] = {}  # the text of each body, leaves first

    def text_of(k: int) -> str:
        link = links[k]
        numbers = {
            "at": link.at,
            "quat": _quaternion(*link.turn),
            "com": link.com,
            "inertia": link.inertia,
        }
        text = {key: " ".join(repr(float(v)) for v in value) for key, value in numbers.items()}
        axis = {"x": "1 0 0", "y": "0 1 0", "z": "0 0 1"}.get(link.axis or "")
        joint = "<freejoint/>" if link.axis is None else f'<joint type="hinge" axis="{axis}"/>'
        return (
            f'<body name="{link.name}" pos="{text["at"]}" quat="{text["quat"]}">{joint}'
            f'<inertial pos="{text["com"]}" mass="{link.mass!r}" diaginertia="{text["inertia"]}"/>'
            f"{''.join(inside[child] for child in children.get(k, []))}</body>"
        )

    for k in reversed(range(len(links))):
        inside[k] = text_of(k)
    gravity = " ".join(map(str, GRAVITY))
    flags = '<flag contact="disable" constraint="disable"/>'
    world = "".join(inside[k] for k in children[-1])
    option = f'<option gravity="{gravity}" timestep="0.002" integrator="Euler">{flags}</option>'
    return mujoco.MjModel.from_xml_string(
        f"<mujoco>{option}<worldbody>{world}</worldbody></mujoco>"
    )


class Drake:
    """The tree in Drake, with one state (in Drake's coordinates) to compute at: each call sets it
    and computes anew."""

    def __init__(self, links: list[Link]) -> None:
        from pydrake.multibody.plant import MultibodyPlant

        self.plant = MultibodyPlant(0.0)
        self.plant.mutable_gravity_field().set_gravity_vector(np.array(GRAVITY))
        bodies: list = []
        for link in links:
            bodies.append(
                self._add(link, self.plant.world_body() if link.parent < 0 else bodies[link.parent])
            )
        self.plant.Finalize()
        self.context = self.plant.CreateDefaultContext()
        self.q, (self.u, self.a) = (
            np.zeros(self.plant.num_positions()),
            np.zeros((2, self.plant.num_velocities())),
        )

    def _add(self, link: Link, parent):
        from pydrake.math import RigidTransform, RotationMatrix
        from pydrake.multibody import tree

        inertia = tree.SpatialInertia.MakeFromCentralInertia(
            link.mass, np.array(link.com), tree.RotationalInertia(*link.inertia)
        )
        body = self.plant.AddRigidBody(link.name, inertia)
        place = RigidTransform(
            RotationMatrix(_rotation(*link.turn)), np.array(link.at, dtype=float)
        )
        if link.axis is not None:  # a body without a joint floats
            frame = self.plant.AddFrame(
                tree.FixedOffsetFrame(f"{link.name} place", parent.body_frame(), place)
            )
            axis = np.array([float(letter == link.axis) for letter in "xyz"])
            self.plant.AddJoint(
                tree.RevoluteJoint(f"{link.name} joint", frame, body.body_frame(), axis, 0.0)
            )
        return body

    def _set(self) -> None:
        self.plant.SetPositions(self.context, self.q)
        self.plant.SetVelocities(self.context, self.u)

    def forward(self) -> np.ndarray:
        """Accelerations."""
        self._set()
        return self.plant.get_generalized_acceleration_output_port().Eval(self.context)

    def inverse(self) -> np.ndarray:
        """Generalized forces for the accelerations ``a``."""
        from pydrake.multibody.tree import MultibodyForces

        self._set()
        forces = MultibodyForces(self.plant)
        self.plant.CalcForceElementsContribution(self.context, forces)  # gravity
        return self.plant.CalcInverseDynamics(self.context, self.a, forces)

    def mass_matrix(self) -> np.ndarray:
        """Mass matrix."""
        self.plant.SetPositions(self.context, self.q)
        return self.plant.CalcMassMatrix(self.context)


def _rotation(axis: str, angle: float) -> np.ndarray:
    from scipy.spatial.transform import Rotation

    return Rotation.from_euler(axis, angle).as_matrix()


def _quaternion(axis: str, angle: float) -> tuple[float, ...]:
    return (np.cos(angle / 2), *(np.sin(angle / 2) * (np.array(list("xyz")) == axis)))
