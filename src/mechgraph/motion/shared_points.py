"""Base of coordinates of points: points on joints that two bodies share, chains that
carry their own coordinates, and the way between points and the world."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

import casadi as ca
import numpy as np
from casadi import SX

from ..model.bodies import Marker
from ..model.description import Description
from ..model.joints import Chain, Joint
from ..model.transitions import move
from .chart import Chart, Frame, Pose, carried_chains, chart_variables, number_variables
from .speeds import joint_chart
from .topology import Arc, topology
from .world import World


class BodyPoints(Protocol):
    """The points of one body: places in its frame; those taken over from its inboard body, by index
    with their places there; names of those of its own."""

    @property
    def places(self) -> Sequence[SX]: ...
    @property
    def taken(self) -> Mapping[int, SX]: ...
    @property
    def names(self) -> Mapping[int, str]: ...


Laid = TypeVar("Laid", bound=BodyPoints)


class TreeLayout(Generic[Laid]):
    """Places of the points of all bodies, along the tree; ``shared`` are the joints that they
    hold."""

    bodies: Mapping[str, Laid]
    shared: set[str]

    def __init__(self, description: Description) -> None:
        self.description, self.tree = description, topology(description)

    def value(self, place: SX) -> np.ndarray:
        """A place as numbers, parameters at their defaults."""
        return self.description.default_value(place).ravel()

    def ends(self, arc: Arc) -> tuple[Marker, Marker]:
        """The joint's frames inboard and outboard."""
        ends = (arc.joint.parent, arc.joint.child)
        return ends[::-1] if arc.reversed else ends

    def is_driven(self, end: Marker) -> bool:
        """True if time moves a joint's frame on its body."""
        places = ca.vertcat(end.at, ca.vec(end.rotation))
        return bool(ca.depends_on(places, self.description.time))


class SharedPoints(Chart, Generic[Laid]):
    """Positions of points along some axes of the world; then what chains carry. Further ``speeds``
    come last."""

    def __init__(
        self, layout: TreeLayout[Laid], axes: Sequence[int], speeds: Sequence[str] = ()
    ) -> None:
        self.description, self.layout, self.axes = layout.description, layout, list(axes)
        self.closed = tuple(self.description.joints.values())
        self.shared = frozenset(layout.shared)
        self._chains = carried_chains(self.description, self.closed)
        self._name_variables(speeds)
        self._poses: dict[Frame, Pose] = {"ground": (SX.eye(3), SX.zeros(3))}
        for arc in layout.tree.arcs:
            self._place_body(arc.outboard, arc.inboard)
        for chain in self._chains:
            self._place_chain(chain)
        self.reference = self._reference()

    @abstractmethod
    def _place_body(self, name: str, inboard: str) -> None:
        """Its pose, from its points."""

    # --- coordinates ------------------------------------------------------------------------------

    def _name_variables(self, further: Sequence[str]) -> None:
        joints = [*self.own_joints, *self._chains]
        coordinates, self.joint_coordinates = number_variables(joints, "coordinates")
        speeds, index = number_variables(joints, "speeds")
        self.joint_speeds = index | {name: (len(speeds) + k,) for k, name in enumerate(further)}
        self.symbols = chart_variables(self.description, coordinates, [*speeds, *further])
        blocks = [SX.eye(len(self.axes) * len(self.own_joints))]
        turns = []
        for step, q, u in (each for chain in self._chains for each in self._steps(chain)):
            blocks.append(step.rates(self.symbols.q[list(q)]))
            turns += [(q, u)] if len(q) > len(u) else []
        self.N = ca.horzcat(ca.diagcat(*blocks), SX(len(coordinates), len(further)))
        self.quaternion_speeds = tuple(turns)

    @property
    def own_joints(self) -> Sequence[Joint]:
        """The points as chains of translations: so they have names and units."""
        origin = Marker("ground", self.description.ground)
        names = (name for laid in self.layout.bodies.values() for name in laid.names.values())
        steps = [move("xyz"[k], "xyz"[k]) for k in self.axes]
        return [Joint(name, origin, origin, Chain(steps)) for name in names]

    def _own_places(self) -> list[tuple[str, SX]]:
        """Body and place of each point among the coordinates, in their order."""
        bodies = self.layout.bodies.items()
        return [(body, laid.places[k]) for body, laid in bodies for k in laid.names]

    def _coordinates(self, point: str) -> SX:
        """The position of a point among the coordinates."""
        return SX.eye(3)[:, self.axes] @ self.symbols.q[list(self.joint_coordinates[point])]

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
        """Coordinates of the points in the joints' reference configuration."""
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
        arc = next(arc for arc in self.layout.tree.arcs if arc.joint is joint)
        return arc.outboard, -1 if arc.reversed else 1

    def outboard_frames(self, frame: Frame) -> Sequence[Frame]:
        """A body and those that hang on it by shared joints; other joints act by multipliers."""
        found = [frame]
        for arc in self.layout.tree.arcs:
            if arc.joint.name in self.shared and arc.inboard in found:
                found.append(arc.outboard)
        return found

    def from_world(
        self, world: World, t: np.ndarray, parameters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        bodies, batch = list(self.description.bodies), world.position.shape[:-2]
        places = self._own_places()
        own = [bodies.index(body) for body, _ in places]
        R, omega = world.rotation[..., own, :, :], world.angular_velocity[..., own, :]
        local = self.places_at([place for _, place in places], parameters)
        arm = (R @ local[..., None])[..., 0]
        q = np.zeros((*batch, self.symbols.q.numel()))
        u = np.zeros((*batch, self.symbols.u.numel()))
        count = len(self.axes) * len(own)
        place = world.position[..., own, :] + arm
        moving = world.velocity[..., own, :] + np.cross(omega, arm)
        q[..., :count] = place[..., self.axes].reshape(*batch, count)
        u[..., :count] = moving[..., self.axes].reshape(*batch, count)
        return q, u
