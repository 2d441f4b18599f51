"""Nodes: positions of two points of each body in a plane, and its angular velocity as a speed of
its own (Orsino, Mo2DPack).

Nodes on hinges of the tree belong to both bodies, which are *shared* so. With e the edge between
the nodes of a body in the world and d in its frame, the rotation by (c, s) and the mass centre are
linear in the nodes,

    c = d·e / d²,    s = d × e / d²,    r = p₁ + γ e + ρ n × e,

wherever the length |e| = |d| is right, which is one constraint of each body; c ṡ − s ċ = ω is the
other. All other joints are closed, by the rows that they have in the plane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import casadi as ca
import numpy as np
from casadi import SX

from ..errors import UnsupportedError
from ..model.bodies import Body
from ..model.constraints import Constraint
from ..model.description import Description, derived_once
from ..model.joints import Planar, Rows
from ..model.motion import Motion
from ..model.parameter_checks import Check
from ..model.planar import normal
from ..numerics.tolerances import KNOWN
from ..vectors import shifted
from .absolute import own_name
from .chart import Chart, Frame, Pair
from .shared_points import SharedPoints, TreeLayout
from .topology import Arc
from .turns import count_turns
from .world import World


@derived_once
def node_chart(description: Description) -> Chart:
    """Two nodes of every body, and its angular velocity."""
    if description.plane is None:
        raise UnsupportedError(
            "nodes are for systems in a plane: say so by mg.System(…, plane='xy'), or use 'points'"
        )
    return count_turns(NodeChart(description))


@dataclass(frozen=True, eq=False)
class Nodes:
    """The two nodes of a body: places in its frame; those taken over from its inboard body, by
    index with their places there; names of its own."""

    places: tuple[SX, SX]
    taken: Mapping[int, SX]
    names: Mapping[int, str]


class NodeLayout(TreeLayout[Nodes]):
    """The nodes of all bodies along the tree."""

    def __init__(self, description: Description) -> None:
        super().__init__(description)
        self.e1, self.e2 = in_plane_axes(description)
        self._common = {arc.outboard: self._in_common(arc) for arc in self.tree.arcs}
        self.shared = {arc.joint.name for arc in self.tree.arcs if self._common[arc.outboard]}
        self.bodies = {arc.outboard: self._choose_nodes(arc) for arc in self.tree.arcs}

    def _in_common(self, arc: Arc) -> list[tuple[SX, SX]]:
        """Places (inboard, outboard) that a joint's bodies have in common, two at the most."""
        near, far = self.ends(arc)
        if self.is_driven(near) or self.is_driven(far):
            return []
        found: list[SX] = []
        for point in arc.joint.kind.common_points():
            flat = self._flat(far.rotation @ point)
            if all(np.abs(self.value(flat - other)).max() > KNOWN for other in found):
                found.append(flat)
        return [
            (shifted(near.at, near.rotation, far.rotation.T @ x), far.at + x) for x in found[:2]
        ]

    def _flat(self, x: SX) -> SX:
        return self.e1 * ca.dot(self.e1, x) + self.e2 * ca.dot(self.e2, x)

    def _choose_nodes(self, arc: Arc) -> Nodes:
        name, common = arc.outboard, self._common[arc.outboard]
        body = self.description.bodies[name]
        places = [place for _, place in common]
        wanted = [place for _, place in self._outboard(name)] or self._ends(body)
        places = places or wanted[:1]
        size = max(self._far(body.com, place) for place in [*places, *wanted]) or 1.0
        if len(places) < 2:
            best = max([*wanted, body.com], key=lambda place: self._far(places[0], place))
            apart = self._far(places[0], best) > KNOWN * size
            places.append(best if apart else places[0] + size * self.e1)
        taken = {k: place for k, (place, _) in enumerate(common)}
        own = {k: self._name_node(name, k, places[k]) for k in range(2) if k not in taken}
        return Nodes((places[0], places[1]), taken, own)

    def _ends(self, body: Body) -> list[SX]:
        """Places of a body's joints that do not move on it."""
        joints = self.description.joints.values()
        ends = (end for joint in joints for end in (joint.parent, joint.child))
        still = [end.at for end in ends if end.body is body and not self.is_driven(end)]
        return still or [body.com]

    def _far(self, a: SX, b: SX) -> float:
        return float(np.linalg.norm(self.value(b - a)))

    def _outboard(self, name: str) -> list[tuple[str, SX]]:
        """Joints further outboard that share nodes of a body, and their places on it."""
        return [
            (arc.joint.name + (f".{number + 1}" if number else ""), place)
            for arc in self.tree.arcs
            if arc.inboard == name
            for number, (place, _) in enumerate(self._common[arc.outboard])
        ]

    def _name_node(self, name: str, k: int, place: SX) -> str:
        """After the joint that a node is on, or after the body."""
        on = [joint for joint, at in self._outboard(name) if at is place]
        own = own_name(self.description, self.description.bodies[name])
        return f"node {on[0]}" if on else f"node {own}.{k + 1}"


def _judge(layout: TreeLayout[Nodes], laid: Nodes) -> Callable[[np.ndarray], Iterator[str]]:
    """Judge of the edge between the nodes of a body, as numbers."""
    edge = layout.value(laid.places[1] - laid.places[0])
    return partial(_too_near, KNOWN * float(np.linalg.norm(edge)))


def _too_near(least: float, edge: np.ndarray) -> Iterator[str]:
    if np.linalg.norm(edge) <= least:
        yield (
            "its two nodes coincide with these values of the parameters; give others, or use "
            "another formalism"
        )


class Stiff(Constraint):
    """The nodes of a body keep their distance, (|e|² − l²) / 2l = 0, and turn with it,
    c ṡ − s ċ − ω = 0."""

    def __init__(self, name: str, length: Rows, turning: Rows) -> None:
        self.name, self.length, self.turning = name, length, turning

    def position(self, m: Motion) -> Rows:
        return self.length

    def velocity(self, m: Motion) -> Rows:
        return self.turning


class NodeChart(SharedPoints[Nodes]):
    """Positions of nodes in the plane with their rates as speeds, and what chains carry; then the
    angular velocities of the bodies."""

    flat = True

    def __init__(self, description: Description) -> None:
        layout, self.n_axis = NodeLayout(description), normal(description)
        self.own_constraints: list[Constraint] = []
        own = (own_name(description, description.bodies[body]) for body in layout.bodies)
        axes = [k for k in range(3) if "xyz"[k] in (description.plane or "")]
        super().__init__(layout, axes, [f"{name}.omega" for name in own])

    @property
    def tangent(self) -> SX:
        return SX.eye(len(self.symbols.coordinates))

    @property
    def variations(self) -> tuple[str, ...]:
        return self.symbols.coordinates

    # --- where everything is ----------------------------------------------------------------------

    def _place_body(self, name: str, inboard: str) -> None:
        laid = self.layout.bodies[name]
        R_in, p_in = self._poses[inboard]
        found = {k: p_in + R_in @ place for k, place in laid.taken.items()}
        found |= {k: self._coordinates(own) for k, own in laid.names.items()}
        e, d, n = found[1] - found[0], laid.places[1] - laid.places[0], self.n_axis
        size = ca.dot(d, d)
        c, s = ca.dot(d, e) / size, ca.dot(n, ca.cross(d, e)) / size
        R = c * (SX.eye(3) - n @ n.T) + s * ca.skew(n) + n @ n.T
        self._poses[name] = R, found[0] - R @ laid.places[0]
        length = ca.sqrt(size)
        distance = [("length", (ca.dot(e, e) - size) / (2 * length))] if laid.names else []
        turning = [("turning", c * self.rate(s) - s * self.rate(c) - self.omega(name))]
        stiff = Stiff(f"nodes of {name}", distance, turning)
        self.own_constraints = [*self.own_constraints, stiff]

    @property
    def checks(self) -> Sequence[Check]:
        return [
            Check(f"body {name!r}", laid.places[1] - laid.places[0], _judge(self.layout, laid))
            for name, laid in self.layout.bodies.items()
        ]

    # --- the chart --------------------------------------------------------------------------------

    def omega(self, body: str) -> SX:
        """The angular velocity of a body about the normal, a speed."""
        name = own_name(self.description, self.description.bodies[body])
        return self.symbols.u[list(self.joint_speeds[f"{name}.omega"])]

    def twist(self, frame: Frame) -> Pair:
        if frame not in self.layout.bodies:
            return super().twist(frame)
        R, p = self.pose(frame)
        return self.n_axis * self.omega(str(frame)), R.T @ self.rate(p)

    def from_world(
        self, world: World, t: np.ndarray, parameters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        q, u = super().from_world(world, t, parameters)
        order = [list(self.description.bodies).index(body) for body in self.layout.bodies]
        normal = np.array(ca.DM(self.n_axis)).ravel()
        u[..., u.shape[-1] - len(order) :] = world.angular_velocity[..., order, :] @ normal
        return q, u


def in_plane_axes(description: Description) -> tuple[SX, SX]:
    """Two axes of the plane, as the planar joint has them."""
    kind = Planar(normal(description))
    return ca.densify(kind.n1), ca.densify(kind.n2)
