"""Absolute coordinates: every body owns its mass centre and a quaternion; every joint is closed."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX
from scipy.spatial.transform import Rotation

from ..model.bodies import Body, Marker
from ..model.description import Description
from ..model.joints import Free, Joint
from .chart import Chart
from .topology import Arc, Topology
from .tree import TreeChart, tree_chart
from .turns import counting
from .world import World


def absolute_chart(description: Description) -> Chart:
    """The place of the mass centre and the attitude of every body, seven coordinates each; six
    speeds, velocity in world axes and angular velocity in the body's."""
    if "absolute chart" not in description.derived:
        chart = tree_chart(description, free_bodies(description), AbsoluteChart)
        description.derived["absolute chart"] = counting(chart)
    return description.derived["absolute chart"]


def free_bodies(description: Description) -> Topology:
    """Every body joined to ground by a free joint at its mass centre, and all joints cut."""
    origin = Marker("ground", description.ground)
    arcs = tuple(
        Arc(
            Joint(own_name(description, body), origin, Marker(body.name, body, body.com), Free()),
            "ground",
            body.name,
            reversed=False,
        )
        for body in description.bodies.values()
    )
    return Topology(tuple(description.bodies), arcs, tuple(description.joints.values()), ())


def own_name(description: Description, body: Body) -> str:
    """What the variables of a body are called after: its name, unless a joint has it, too."""
    return f"body {body.name}" if body.name in description.joints else body.name


class AbsoluteChart(TreeChart):
    """Free bodies; the way back is in closed form."""

    def from_world(
        self, world: World, t: np.ndarray, parameters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        bodies = list(self.description.bodies.values())
        R, omega = world.rotation, world.angular_velocity
        arm = (R @ self._centres(parameters)[..., None])[..., 0]
        place, velocity = world.position + arm, world.velocity + np.cross(omega, arm)
        turned = Rotation.from_matrix(R.reshape(-1, 3, 3)).as_quat(scalar_first=True)
        spin = (np.swapaxes(R, -1, -2) @ omega[..., None])[..., 0]
        batch = place.shape[:-2]
        q = np.zeros((*batch, self.symbols.q.numel()))
        u = np.zeros((*batch, self.symbols.u.numel()))
        names = [own_name(self.description, body) for body in bodies]
        q_index = [self.joint_coordinates[name] for name in names]
        u_index = [self.joint_speeds[name] for name in names]
        q[..., q_index] = np.concatenate([place, turned.reshape(*place.shape[:-1], 4)], axis=-1)
        u[..., u_index] = np.concatenate([velocity, spin], axis=-1)
        return q, u

    def _centres(self, parameters: np.ndarray) -> np.ndarray:
        """Mass centres of all bodies, in their frames, with the axes (…, body, 3)."""
        coms = ca.horzcat(SX(3, 0), *(body.com for body in self.description.bodies.values()))
        values = ca.Function("centres", [self.symbols.p], [ca.densify(ca.vec(coms))])
        batch, count = parameters.shape[:-1], parameters.shape[-1]
        sets = parameters.reshape(int(np.prod(batch)), count)
        rows = [np.array(values(each)).ravel() for each in sets]
        return np.array(rows).reshape(*batch, coms.shape[1], 3)
