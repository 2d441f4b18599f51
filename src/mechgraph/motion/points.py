"""Point coordinates: positions of points on the bodies, and nothing else (Attia; corrected).

Each body has four primary points (``particles.py``), of which three are kept; the fourth follows
from them by its invariants. Points of ball joints and on the axes of hinges belong to both bodies,
so that these joints hold by themselves: they are *shared* (``point_layout.py``). With a, b the
edges from the first kept point to the other two, r in the world and x in the body's frame,

    R = [r_a  r_b  r_a × r_b] [x_a  x_b  x_a × x_b]⁻¹

is the rotation of a body wherever the distances between its points are right, and these distances
are the constraints of the chart. All other joints are closed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import choice
from ..errors import UnsupportedError
from ..model.bodies import Marker
from ..model.constraints import Constraint
from ..model.description import Description
from ..model.joints import Chain, Joint, Rows
from ..model.transitions import move
from .chart import Chart, Frame, Pose, chart_variables
from .motion import Motion
from .particles import Particle, reciprocal, spanned
from .point_layout import Laid, Layout
from .tree import joint_chart
from .turns import counting
from .world import World

FORMS = ("reduced", "unreduced", "planar")


def point_chart(
    description: Description,
    form: str = "reduced",
    places: Mapping[str, Any] | None = None,
    eliminated: Mapping[str, int] | None = None,
) -> Chart:
    """The kept points of every body.

    form: "reduced" keeps three points of each body, "unreduced" all four; "planar" two of three, in
        the plane that everything moves in.
    places: by body, four primary points in its frame; chosen if not given.
    eliminated: by body, the number (1 to 4) of the one that is not kept; 3 if not given.
    """
    choice("points: form", form, FORMS, UnsupportedError)
    if places or eliminated:
        return counting(PointChart(description, form, places or {}, eliminated or {}))
    if ("points", form) not in description.derived:
        description.derived["points", form] = counting(PointChart(description, form, {}, {}))
    return description.derived["points", form]


def particles(description: Description, places: Mapping[str, Any] | None = None) -> list[Particle]:
    """The ten particles of every body that has mass, parameters at their defaults; ``places`` as in
    ``point_chart``."""
    found, value = [], description.default_value
    for name, laid in Layout(description, "reduced", places or {}, {}).bodies.items():
        primary = laid.primary
        if not primary.body.weightless:
            at = [value(place).ravel() for place in primary.with_midpoints(primary.places)]
            found += [
                Particle(name, label, float(mass), tuple(map(float, place)))
                for label, mass, place in zip(
                    primary.labels, value(primary.masses).ravel(), at, strict=True
                )
            ]
    return found


class Rigid(Constraint):
    """The points of a body keep their distances: (|r|² − l²) / 2l = 0 for each pair."""

    def __init__(self, name: str, distances: Rows) -> None:
        self.name, self.distances = name, distances

    def position(self, m: Motion) -> Rows:
        return self.distances


class PointChart(Chart):
    """Positions of the kept points in the world, with their velocities as speeds; then what chains
    carry."""

    def __init__(
        self,
        description: Description,
        form: str,
        places: Mapping[str, Any],
        eliminated: Mapping[str, int],
    ) -> None:
        self.description = description
        self.layout = Layout(description, form, places, eliminated)
        plane = self.layout.plane
        self.axes = [0, 1, 2] if plane is None else plane.axes  # that points move along
        self.turns = [0, 1, 2] if plane is None else [plane.axis]  # and bodies turn about
        self.closed = tuple(description.joints.values())
        self.shared = frozenset(self.layout.shared)
        self._chains = self._carried_chains()
        self._name_variables()
        self.points: dict[str, list[SX]] = {}  # by body: its four primary points in the world
        self._poses: dict[Frame, Pose] = {"ground": (SX.eye(3), SX.zeros(3))}
        for arc in self.layout.tree.arcs:
            self._place_body(arc.outboard, arc.inboard)
        for chain in self._chains:
            self._place_chain(chain)
        self.own_constraints = [
            Rigid(f"points of {name}", rows)
            for name, laid in self.layout.bodies.items()
            if (rows := self._distances(name, laid))
        ]
        self.reference = self._reference()

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
        names = (name for laid in self.layout.bodies.values() for name in laid.names.values())
        steps = [move("xyz"[k], "xyz"[k]) for k in self.axes]
        return [Joint(name, origin, origin, Chain(steps)) for name in names]

    def _name_variables(self) -> None:
        joints = [*self.own_joints, *self._chains]
        coordinates = [name for joint in joints for name in joint.coordinates]
        speeds = [name for joint in joints for name in joint.speeds]
        self.symbols = chart_variables(self.description, coordinates, speeds)
        self.joint_coordinates = _indices(joints, "coordinates")
        self.joint_speeds = _indices(joints, "speeds")
        blocks = [SX.eye(len(self.axes) * len(self.own_joints))]
        turns = []
        for chain in self._chains:
            for step, q, u in self._steps(chain):
                blocks.append(step.rates(self.symbols.q[list(q)]))
                turns += [(q, u)] if len(q) > len(u) else []
        self.N, self.quaternion_speeds = ca.diagcat(*blocks), tuple(turns)

    def _steps(self, chain: Joint) -> list[tuple[Any, tuple[int, ...], tuple[int, ...]]]:
        """The moving transitions of a chain with the indices of their coordinates and speeds."""
        qs, us = iter(self.joint_coordinates[chain.name]), iter(self.joint_speeds[chain.name])
        return [
            (step, tuple(next(qs) for _ in step.coordinates), tuple(next(us) for _ in step.speeds))
            for step in chain.transitions
            if step.moves
        ]

    # --- where everything is ----------------------------------------------------------------------

    def _place_body(self, name: str, inboard: str) -> None:
        """Its points: taken over, coordinates, or by invariants; and its pose from the kept
        ones."""
        laid = self.layout.bodies[name]
        primary, places = laid.primary, laid.primary.places
        found = {k: self._position(inboard, place) for k, place in laid.taken.items()}
        found |= {k: self._coordinates(own) for k, own in laid.names.items()}
        kept, first = [found[k] for k in primary.kept], primary.kept[0]
        normal = None if self.layout.plane is None else SX.eye(3)[:, self.turns[0]]
        edges, inverse = spanned(kept, normal), reciprocal(primary.base)
        if primary.eliminated is not None:
            step = places[primary.eliminated] - places[first]
            found[primary.eliminated] = kept[0] + edges @ (inverse @ step)
        R = edges @ inverse
        self._poses[name] = R, kept[0] - R @ places[first]
        self.points[name] = [found[k] for k in range(len(places))]

    def _coordinates(self, point: str) -> SX:
        """A point among the coordinates, at the height of the plane if there is one."""
        plane = self.layout.plane
        r = SX.zeros(3) + (0 if plane is None else plane.height)
        r[self.axes] = self.symbols.q[list(self.joint_coordinates[point])]
        return r

    def _position(self, body: str, place: SX) -> SX:
        """A place of a body in the world: one of its primary points, if it is there."""
        if body in self.points:
            for known, point in zip(
                self.layout.bodies[body].primary.places, self.points[body], strict=True
            ):
                if (known - place).is_zero():
                    return point
        R, p = self._poses[body]
        return p + R @ place

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

    def _distances(self, name: str, laid: Laid) -> Rows:
        """Rows for the pairs of kept points that the inboard body does not hold already."""
        rows = []
        for i, j in combinations(laid.primary.kept, 2):
            if not {i, j} <= set(laid.taken):
                r = self.points[name][i] - self.points[name][j]
                length = ca.norm_2(laid.primary.places[i] - laid.primary.places[j])
                rows.append((f"{i + 1}-{j + 1}", (ca.dot(r, r) - length**2) / (2 * length)))
        return rows

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

    def _own_places(self) -> list[tuple[str, SX]]:
        """Body and place of each point among the coordinates, in their order."""
        return [
            (body, laid.primary.places[k])
            for body, laid in self.layout.bodies.items()
            for k in laid.names
        ]

    # --- the chart --------------------------------------------------------------------------------

    def pose(self, frame: Frame) -> Pose:
        return self._poses[frame]

    def particles(self, body: str) -> Sequence[tuple[SX, SX]]:
        primary = self.layout.bodies[body].primary
        if primary.body.weightless:
            return ()
        places = primary.with_midpoints(primary.places)
        return list(zip(ca.vertsplit(primary.masses), places, strict=True))

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


def _indices(joints: Sequence[Joint], variables: str) -> dict[str, tuple[int, ...]]:
    """By the names of joints and of their variables, where these are in the arrays."""
    out: dict[str, tuple[int, ...]] = {}
    first = 0
    for joint in joints:
        names = getattr(joint, variables)
        out |= {name: (first + k,) for k, name in enumerate(names)}
        out[joint.name] = tuple(range(first, first + len(names)))
        first += len(names)
    return out
