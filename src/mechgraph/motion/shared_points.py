"""What coordinates of points have in common: points on joints that two bodies share, chains that
carry their own coordinates, and the way between points and the world."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import casadi as ca
import numpy as np
from casadi import SX

from ..model.bodies import Marker
from ..model.joints import Chain, Joint
from ..model.transitions import move
from .chart import Chart, Frame, Pose
from .speeds import joint_chart
from .topology import Topology
from .world import World


class NamedPoints(Protocol):
    """Points of a body that are its own, by index with their names."""

    @property
    def names(self) -> Mapping[int, str]: ...


class PointTree(Protocol):
    """Where the points of all bodies are, along the tree."""

    @property
    def tree(self) -> Topology: ...

    @property
    def bodies(self) -> Mapping[str, NamedPoints]: ...


class SharedPoints(Chart):
    """Positions of points along some axes of the world; then what chains carry."""

    axes: list[int]  # that points move along
    _chains: list[Joint]
    _poses: dict[Frame, Pose]

    @property
    @abstractmethod
    def laid(self) -> PointTree:
        """The layout of the points."""

    @abstractmethod
    def _own_places(self) -> list[tuple[str, SX]]:
        """Body and place of each point among the coordinates, in their order."""

    # --- coordinates ------------------------------------------------------------------------------

    def _carried_chains(self) -> list[Joint]:
        """Joints that are general chains, and the wandering points of constraints."""
        joints = [joint for joint in self.description.joints.values() if not joint.kind.closes]
        constraints = self.description.constraints.values()
        return [*joints, *(chain for each in constraints for chain in each.chains())]

    @property
    def own_joints(self) -> Sequence[Joint]:
        """The points as chains of translations: so they have names and units."""
        origin = Marker("ground", self.description.ground)
        names = (name for laid in self.laid.bodies.values() for name in laid.names.values())
        steps = [move("xyz"[k], "xyz"[k]) for k in self.axes]
        return [Joint(name, origin, origin, Chain(steps)) for name in names]

    def _steps(self, chain: Joint) -> list[tuple[Any, tuple[int, ...], tuple[int, ...]]]:
        """The moving transitions of a chain with the indices of their coordinates and speeds."""
        qs, us = iter(self.joint_coordinates[chain.name]), iter(self.joint_speeds[chain.name])
        return [
            (step, tuple(next(qs) for _ in step.coordinates), tuple(next(us) for _ in step.speeds))
            for step in chain.transitions
            if step.moves
        ]

    # --- where everything is ----------------------------------------------------------------------

    def _place_chain(self, chain: Joint) -> None:
        R, p = self._poses[chain.parent.body.name]
        R, p = R @ chain.parent.rotation, p + R @ chain.parent.at
        moving = iter(self._steps(chain))
        for step in chain.transitions:
            amount = self.symbols.q[list(next(moving)[1])] if step.moves else step.amount
            turn, shift = step.pose(amount)
            R, p = R @ turn, p + R @ shift
        self._poses["chain", chain.name] = R, p
        self.chain_end = {**self.chain_end, chain.name: ("chain", chain.name)}

    def _reference(self) -> tuple[float, ...]:
        """Where the joints' reference configuration puts the points."""
        chart = joint_chart(self.description)
        s, m = chart.symbols, chart.motion
        where = [
            (m.position(body) + m.rotation(body) @ place)[self.axes]
            for body, place in self._own_places()
        ]
        points = ca.Function("points", [s.q, s.t, s.p], [ca.vertcat(SX(0, 1), *where)])
        numbers = np.array(points(list(chart.reference), 0.0, list(s.defaults))).ravel()
        steps = (step for chain in self._chains for step in chain.transitions if step.moves)
        return (*numbers.tolist(), *(value for step in steps for value in step.reference))

    # --- the chart --------------------------------------------------------------------------------

    def pose(self, frame: Frame) -> Pose:
        return self._poses[frame]

    def outboard(self, joint: Joint) -> tuple[Frame, int]:
        arc = next(arc for arc in self.laid.tree.arcs if arc.joint is joint)
        return arc.outboard, -1 if arc.reversed else 1

    def outboard_frames(self, frame: Frame) -> Sequence[Frame]:
        """A body and those that hang on it by shared joints; other joints act by multipliers."""
        found = [frame]
        for arc in self.laid.tree.arcs:
            if arc.joint.name in self.shared and arc.inboard in found:
                found.append(arc.outboard)
        return found

    def from_world(
        self, world: World, t: np.ndarray, parameters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        bodies, batch = list(self.description.bodies), world.position.shape[:-2]
        own = [bodies.index(body) for body, _ in self._own_places()]
        R, omega = world.rotation[..., own, :, :], world.angular_velocity[..., own, :]
        arm = (R @ self._local(parameters)[..., None])[..., 0]
        q = np.zeros((*batch, self.symbols.q.numel()))
        u = np.zeros((*batch, self.symbols.u.numel()))
        count = len(self.axes) * len(own)
        place = world.position[..., own, :] + arm
        moving = world.velocity[..., own, :] + np.cross(omega, arm)
        q[..., :count] = place[..., self.axes].reshape(*batch, count)
        u[..., :count] = moving[..., self.axes].reshape(*batch, count)
        return q, u

    def _local(self, parameters: np.ndarray) -> np.ndarray:
        """Places of all points in their bodies, with the axes (…, point, 3)."""
        places = ca.horzcat(SX(3, 0), *(place for _, place in self._own_places()))
        values = ca.Function("places", [self.symbols.p], [ca.densify(ca.vec(places))])
        batch, count = parameters.shape[:-1], parameters.shape[-1]
        sets = parameters.reshape(int(np.prod(batch)), count)
        rows = [np.array(values(each)).ravel() for each in sets]
        return np.array(rows).reshape(*batch, places.shape[1], 3)


def indices(joints: Sequence[Joint], variables: str) -> dict[str, tuple[int, ...]]:
    """By the names of joints and of their variables, where these are in the arrays."""
    out: dict[str, tuple[int, ...]] = {}
    first = 0
    for joint in joints:
        names = getattr(joint, variables)
        out |= {name: (first + k,) for k, name in enumerate(names)}
        out[joint.name] = tuple(range(first, first + len(names)))
        first += len(names)
    return out
