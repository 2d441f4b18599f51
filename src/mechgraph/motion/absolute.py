"""Absolute coordinates: every body owns its mass centre and a quaternion (in a plane an angle), and
every joint is closed."""

from __future__ import annotations

import numpy as np
from scipy.spatial.transform import Rotation

from ..model.bodies import Body, Marker
from ..model.description import Description, derived_once
from ..model.joints import Free, Joint, Planar
from ..model.planar import NORMALS, normal
from .chart import Chart
from .topology import Arc, Topology
from .tree import TreeChart, tree_chart
from .turns import count_turns
from .world import World


@derived_once
def absolute_chart(description: Description) -> Chart:
    """The place of the mass centre and the attitude of every body, seven coordinates each; six
    speeds, velocity in world axes and angular velocity in the body's.

    In a plane three coordinates and three speeds.
    """
    kind = AbsoluteChart if description.plane is None else PlanarBodies
    return count_turns(tree_chart(description, free_bodies(description), kind))


def free_bodies(description: Description) -> Topology:
    """Every body joined to ground by a free joint at its mass centre, and all joints cut."""
    origin = Marker("ground", description.ground)
    kind = Free() if description.plane is None else Planar(normal(description))
    arcs = tuple(
        Arc(
            Joint(own_name(description, body), origin, Marker(body.name, body, body.com), kind),
            "ground",
            body.name,
            reversed=False,
        )
        for body in description.bodies.values()
    )
    return Topology(tuple(description.bodies), arcs, tuple(description.joints.values()), ())


def own_name(description: Description, body: Body) -> str:
    """Name that the variables of a body begin with: its own, unless a joint has it, too."""
    return f"body {body.name}" if body.name in description.joints else body.name


class AbsoluteChart(TreeChart):
    """Free bodies; the way back is in closed form."""

    def from_world(
        self, world: World, t: np.ndarray, parameters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        centres = [body.com for body in self.description.bodies.values()]
        arm = (world.rotation @ self.places_at(centres, parameters)[..., None])[..., 0]
        velocity = world.velocity + np.cross(world.angular_velocity, arm)
        own = self._body_coordinates(
            world.position + arm, world.rotation, velocity, world.angular_velocity
        )
        names = [own_name(self.description, body) for body in self.description.bodies.values()]
        sizes = self.symbols.q.numel(), self.symbols.u.numel()
        indices = self.joint_coordinates, self.joint_speeds
        q, u = (np.zeros((*arm.shape[:-2], size)) for size in sizes)
        for out, index, values in zip((q, u), indices, own, strict=True):
            out[..., [index[name] for name in names]] = values
        return q, u

    def _body_coordinates(
        self, place: np.ndarray, R: np.ndarray, velocity: np.ndarray, omega: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and speeds of bodies, along the last axis."""
        turned = Rotation.from_matrix(R.reshape(-1, 3, 3)).as_quat(scalar_first=True)
        spin = (np.swapaxes(R, -1, -2) @ omega[..., None])[..., 0]
        q = np.concatenate([place, turned.reshape(*place.shape[:-1], 4)], axis=-1)
        return q, np.concatenate([velocity, spin], axis=-1)


class PlanarBodies(AbsoluteChart):
    """Free bodies in a plane: two coordinates of the mass centre, and the angle."""

    def _body_coordinates(
        self, place: np.ndarray, R: np.ndarray, velocity: np.ndarray, omega: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        k = "xyz".index(NORMALS[self.description.plane or ""])
        a, b = (k + 1) % 3, (k + 2) % 3
        angle = np.arctan2(R[..., b, a], R[..., a, a])
        q = np.stack([place[..., a], place[..., b], angle], axis=-1)
        return q, np.stack([velocity[..., a], velocity[..., b], omega[..., k]], axis=-1)
