"""``Chart``: one set of coordinates, and how everything moves with them.

A chart says where the bodies are, as a function of its coordinates q and of time. All else can be
derived from that, and is here, unless the chart knows better:

- velocities and accelerations, by differentiation;
- steps along its tangent space that stay on its manifold (unit quaternions);
- the way back: coordinates and speeds of a motion that is given in the world.

Joints whose coordinates are not among q are *closed* by constraints, and what is asked of them is
measured between the bodies that they join.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any, Self

import casadi as ca
import numpy as np
from casadi import SX

from ..errors import AssemblyError, UnsupportedError
from ..functions import on_rows
from ..model.bodies import Marker, Massive
from ..model.constraints import Constraint
from ..model.description import Description
from ..model.joints import Joint
from ..model.parameter_checks import Check
from ..numerics.rank import weighed_inverse
from ..numerics.search import search
from ..numerics.tolerances import GIVEN
from ..vectors import angular_velocity, symbol
from .motion import ChartMotion
from .variables import Variables, named_variables
from .world import World

Pair = tuple[SX, SX]  # (angular, linear)
Pose = tuple[SX, SX]  # (R, p)
Frame = Hashable  # what a chart calls the frames that bodies ride on
QuaternionSpeeds = tuple[tuple[int, ...], tuple[int, ...]]  # indices of a unit quaternion, of its ω

ATTEMPTS = 20


class Chart(ABC):
    """A set of coordinates q and speeds u of a description, with q̇ = N u + n.

    ``joint_coordinates`` and ``joint_speeds`` tell the indices of the variables that belong to a
    joint (or to a body, or to a point of contact), by its name and by their own names.
    """

    description: Description
    symbols: Variables
    reference: tuple[float, ...]
    N: SX
    n: SX | None = None
    closed: tuple[Joint, ...] = ()  # joints that are constraints in these coordinates
    shared: Collection[str] = ()  # names of those whose common points hold by themselves
    flat: bool = False  # True if nothing can leave the plane of the system
    own_constraints: Sequence[Constraint] = ()  # of the coordinates themselves
    joint_coordinates: Mapping[str, tuple[int, ...]]
    joint_speeds: Mapping[str, tuple[int, ...]]
    quaternion_speeds: tuple[QuaternionSpeeds, ...] = ()
    chain_end: Mapping[str, Frame] = {}  # frames at the ends of chains that carry their coordinates
    counted: Mapping[str, int] = {}  # by angle: the index in q of what counts its turns
    # the user's own speeds: their indices in u, which are not speeds of joints then
    own_speeds: Mapping[str, int] = {}
    replaced: frozenset[int] = frozenset()
    has_bodies: bool = True  # False if equations in these coordinates came from no System

    @property
    def system(self) -> Description:
        """The description, if it has bodies and joints."""
        if not self.has_bodies:
            raise UnsupportedError(
                f"{self.description.name!r} was written down without a System, so it has no bodies "
                "and joints"
            )
        return self.description

    # --- what moves -------------------------------------------------------------------------------

    @abstractmethod
    def pose(self, frame: Frame) -> Pose:
        """(R, p): turns components in the frame into world components; its origin in the world."""

    def twist(self, frame: Frame) -> Pair:
        """(ω, v) of a frame relative to the world, in its own axes."""
        if frame not in self._twists:
            R, p = self.pose(frame)
            self._twists[frame] = angular_velocity(R, self.rate(R)), R.T @ self.rate(p)
        return self._twists[frame]

    def acceleration(self, frame: Frame, moving: bool = True) -> Pair:
        """(ε, w) of a frame, in its own axes; with ``moving=False`` at u̇ = 0."""
        if (frame, moving) not in self._accelerations:
            omega, v = self.twist(frame)
            R = self.pose(frame)[0]
            epsilon = self._total_rate(omega, moving)
            self._accelerations[frame, moving] = epsilon, R.T @ self._total_rate(R @ v, moving)
        return self._accelerations[frame, moving]

    def place(self, marker: Marker) -> tuple[Frame, SX, SX]:
        """The frame that a marker rides on, its origin there, and its rotation there."""
        return marker.body.name, marker.at, marker.rotation

    @property
    def carried(self) -> Sequence[tuple[Frame, Massive]]:
        """The frames that carry mass, and what they carry, in their axes."""
        return [(name, body) for name, body in self.description.bodies.items()]

    @property
    def driven(self) -> Sequence[tuple[Frame, Pair]]:
        """Frames that time drives relative to what carries them, with (ω, v) of that motion."""
        return ()

    def driven_by(self, frame: Frame) -> str:
        """The joint whose functions of time drive such a frame."""
        raise UnsupportedError("nothing is driven by time in these coordinates")

    def outboard_frames(self, frame: Frame) -> Sequence[Frame]:
        """A frame and all that hangs on it."""
        return [frame]

    def outboard(self, joint: Joint) -> tuple[Frame, int]:
        """The frame that a joint's reaction acts on, and the sign of the joint's direction."""
        raise UnsupportedError(f"joint {joint.name!r} is a constraint in these coordinates")

    def particles(self, body: str) -> Sequence[tuple[SX, SX]]:
        """Mass and place in the body's frame of the particles that stand for a body, if any do."""
        return ()

    @property
    def own_joints(self) -> Sequence[Joint]:
        """Joints that are not the user's, whose coordinates are among q."""
        return ()

    @cached_property
    def motion(self) -> ChartMotion:
        """The motion as seen from outside."""
        return ChartMotion(self)

    @cached_property
    def derived(self) -> dict[Any, Any]:
        """Results that follow from the description in these coordinates, whatever the formalism:
        derived once."""
        return {}

    @cached_property
    def _twists(self) -> dict[Frame, Pair]:
        return {}

    @cached_property
    def _accelerations(self) -> dict[tuple[Frame, bool], Pair]:
        return {}

    # --- rates ------------------------------------------------------------------------------------

    @cached_property
    def qdot(self) -> SX:
        """q̇ = N u + n."""
        rates = self.N @ self.symbols.u
        return rates if self.n is None else rates + self.n

    @property
    def joint_rates(self) -> SX:
        """The speeds that ``joint_speeds`` tells the indices of: u itself, unless the user chose
        others."""
        return self.symbols.u

    @property
    def checks(self) -> Sequence[Check]:
        """Conditions that the coordinates put on values of the parameters."""
        return ()

    @property
    def joint_speed_names(self) -> tuple[str, ...]:
        """Their names."""
        return self.symbols.speeds

    @property
    def joint_accelerations(self) -> SX:
        """Their derivatives."""
        return self.symbols.udot

    @property
    def condition(self) -> SX:
        """Square of the condition of the speeds of joints as functions of u."""
        return SX(0)

    @property
    def joints(self) -> Chart:
        """The chart with the same coordinates in which u are the speeds of the joints."""
        return self

    def speeds_of(self, joint_rates: SX) -> SX:
        """u that the joints' speeds amount to."""
        return joint_rates

    def along_speeds(self, efforts: SX) -> SX:
        """Efforts along the speeds of the joints as generalized forces along u."""
        return efforts

    @property
    def working_speeds(self) -> SX:
        """Speeds along which generalized forces do work: u less what it has at rest."""
        return self.symbols.u

    def rate(self, expression: SX) -> SX:
        """Time derivative of a column or a matrix along the motion, at u̇ = 0."""
        s = self.symbols
        return slope(expression, s.q, self.qdot) + slope(expression, s.t)

    def _total_rate(self, expression: SX, moving: bool) -> SX:
        """Time derivative of a column along the motion, with u̇."""
        rate = self.rate(expression)
        if not moving:
            return rate
        return rate + ca.jtimes(expression, self.symbols.u, self.symbols.udot)

    # --- the manifold -----------------------------------------------------------------------------

    @property
    def quaternions(self) -> tuple[tuple[int, ...], ...]:
        """Indices in q of each unit quaternion."""
        return tuple(q for q, _ in self.quaternion_speeds)

    @property
    def tangent(self) -> SX:
        """T in δq = T δs: the variations δs of the coordinates, one for each name in
        ``variations``."""
        return self.N

    @property
    def variations(self) -> tuple[str, ...]:
        """Names of δs: as the coordinates, rotations of quaternions as ``joint.rx``, ``.ry``,
        ``.rz``."""
        turning = {index for _, speeds in self.quaternion_speeds for index in speeds}
        plain = [name.removesuffix("'") for name in self.symbols.speeds]
        return tuple(
            f"{name[: -len('wx')]}r{name[-1]}" if index in turning else name
            for index, name in enumerate(plain)
        )

    def spans(self, names: Sequence[str]) -> np.ndarray:
        """Usual ranges of coordinates, their variations, or speeds in a second: of lengths the size
        of the bodies, of all others (angles, quaternions) one."""
        joints = (*self.description.joints.values(), *self.own_joints)
        lengths = {name for joint in joints for name in joint.lengths}
        long = (name.removesuffix("'") in lengths for name in names)
        return np.array([self.description.size if each else 1.0 for each in long])

    def scattered(self, random: np.random.Generator, count: int) -> np.ndarray:
        """Random configurations about the reference, one in each row."""
        steps = random.uniform(-1, 1, (count, len(self.reference)))
        return self.normalized(self.reference + self.spans(self.symbols.coordinates) * steps)

    @property
    def turning(self) -> list[int]:
        """Indices of the speeds that turn something."""
        omegas = ca.vertcat(SX(0, 1), *(self.twist(frame)[0] for frame, _ in self.carried))
        return [
            k for k, found in enumerate(ca.which_depends(omegas, self.symbols.u, 1, False)) if found
        ]

    @property
    def fixed_axes(self) -> Sequence[tuple[Any, tuple[int, ...], SX]]:
        """Variations that are components of vectors along axes fixed in the world: a key for each
        vector, speeds, axes as columns."""
        return ()

    def normalized(self, q: np.ndarray) -> np.ndarray:
        """Coordinates on the manifold: quaternions divided by their norms (batches, too)."""
        q, fours = q.copy(), [list(four) for four in self.quaternions]
        if fours:
            q[..., fours] /= np.linalg.norm(q[..., fours], axis=-1, keepdims=True)
        return q

    def normalized_expression(self, q: SX) -> SX:
        """Coordinates on the manifold, as an expression."""
        q = SX(q)
        for four in map(list, self.quaternions):
            q[four] = q[four] / ca.norm_2(q[four])
        return q

    def off_manifold(self, q: np.ndarray) -> np.ndarray:
        """Distance of coordinates from the manifold: norms of quaternions less one, a column
        each."""
        norms = [np.linalg.norm(q[..., list(four)], axis=-1) - 1 for four in self.quaternions]
        return np.stack(norms, axis=-1) if norms else np.zeros((*q.shape[:-1], 0))

    # --- the way back -----------------------------------------------------------------------------

    def from_world(
        self, world: World, t: np.ndarray, parameters: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Coordinates and speeds of a motion in the world, of one moment or of a batch.

        By search on all poses at once, then speeds by least squares.
        """
        batch, bodies = world.position.shape[:-2], world.position.shape[-2]
        count, size = int(np.prod(batch)), self.description.size
        position, rotation = world.position.reshape(count, -1), world.rotation.reshape(count, -1)
        moving = np.hstack([x.reshape(count, -1) for x in (world.velocity, world.angular_velocity)])
        sizes = np.repeat([size, 1.0], [3 * bodies, 9 * bodies])
        steps, wanted = self.spans(self.variations), np.hstack([position, rotation]) / sizes
        times = np.broadcast_to(t, (*batch, 1)).reshape(count, 1)
        constants = np.broadcast_to(parameters, (*batch, self.symbols.p.numel()))
        constants = constants.reshape(count, self.symbols.p.numel())
        poses, twists, tangent = self._world_functions

        def rows(q: np.ndarray, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            lanes = left[own]
            found, J = on_rows(poses, q, times[lanes], constants[lanes])
            return found[..., 0] / sizes - wanted[lanes], J * steps / sizes[:, None]

        def move(q: np.ndarray, step: np.ndarray) -> np.ndarray:
            (T,) = on_rows(tangent, q)
            return self.normalized(q + (T @ (steps * step)[..., None])[..., 0])

        q = np.tile(np.array(self.reference), (count, 1))
        random, left = np.random.default_rng(0), np.arange(count)
        for attempt in range(ATTEMPTS):
            first = self.reference + 0.3 * attempt * random.standard_normal(len(self.reference))
            starts = np.tile(self.normalized(first), (len(left), 1))
            end = search(rows, move, starts)
            q[left] = end.x
            off = np.abs(end.r).max(axis=-1, initial=0.0)
            left = left[off >= GIVEN * (1 + np.abs(wanted[left]).max(axis=-1, initial=0.0))]
            if not left.size:
                break
        if left.size:
            raise AssemblyError(
                "these coordinates cannot take the motion that is given in the world; give a start "
                "by their own names"
            )
        offset, J = on_rows(twists, q, times, constants)
        units = np.repeat([size, 1.0], [3 * bodies, 3 * bodies])[:, None]
        rates = self.spans(self.symbols.speeds)
        u = weighed_inverse(J * rates / units) @ ((moving[..., None] - offset) / units)
        return q.reshape(*batch, -1), (u[..., 0] * rates).reshape(*batch, len(rates))

    @cached_property
    def _world_functions(self) -> tuple[ca.Function, ca.Function, ca.Function]:
        """Poses of all bodies with their slopes, velocities as offset and matrix over u, and the
        tangent."""
        s, m = self.symbols, self.motion
        bodies = list(self.description.bodies)
        places = ca.vertcat(SX(0, 1), *(m.position(b) for b in bodies))
        turns = ca.vertcat(SX(0, 1), *(ca.vec(m.rotation(b).T) for b in bodies))
        rates = ca.vertcat(
            SX(0, 1),
            *(m.velocity(b) for b in bodies),
            *(m.angular_velocity(b) for b in bodies),
        )
        where = ca.vertcat(places, turns)
        slopes = ca.jacobian(where, s.q) @ self.tangent
        poses = ca.Function("poses", [s.q, s.t, s.p], [where, ca.densify(slopes)])
        rest = ca.substitute(rates, s.u, SX.zeros(s.u.numel()))
        matrix = ca.densify(ca.jacobian(rates, s.u))
        twists = ca.Function("twists", [s.q, s.t, s.p], [ca.densify(rest), matrix])
        return poses, twists, ca.Function("tangent", [s.q], [ca.densify(self.tangent)])

    def places_at(self, places: Sequence[SX], parameters: np.ndarray) -> np.ndarray:
        """Places on bodies as numbers, for one set of parameters or a batch: axes (…, place, 3)."""
        s, batch = self.symbols, parameters.shape[:-1]
        values = ca.Function("places", [s.t, s.p], [ca.densify(ca.horzcat(SX(3, 0), *places).T)])
        sets = parameters.reshape(int(np.prod(batch)), parameters.shape[-1])
        (found,) = on_rows(values, np.zeros((len(sets), 1)), sets)
        return found.reshape(*batch, len(places), 3)

    def __repr__(self) -> str:
        s, name = self.symbols, self.description.name
        counts = f"{len(s.coordinates)} coordinates, {len(s.speeds)} speeds"
        closed = f", {len(self.closed)} joints closed" if self.closed else ""
        return f"<{type(self).__name__} of {name!r}: {counts}{closed}>"

    # --- whole turns ------------------------------------------------------------------------------

    def with_turns(self, angles: Mapping[str, SX]) -> Self:
        """This chart with a coordinate more for each angle, whose rates are given: it counts the
        angle's turns."""
        s, first = self.symbols, self.symbols.q.numel()
        counted = {name: first + k for k, name in enumerate(angles)}
        rates = ca.vertcat(*angles.values())
        offsets = ca.substitute(rates, s.u, SX.zeros(s.u.numel()))
        other = copy.copy(self)
        for derived in ("motion", "qdot", "derived", "_world_functions"):
            vars(other).pop(derived, None)
        vars(other).update(
            symbols=_extend(s, list(angles)),
            N=ca.vertcat(self.N, ca.jacobian(rates, s.u)),
            n=ca.vertcat(SX(first, 1) if self.n is None else self.n, offsets),
            joint_coordinates={
                **self.joint_coordinates,
                **{name: (index,) for name, index in counted.items()},
            },
            reference=(*self.reference, *(0.0 for _ in angles)),
            counted=counted,
        )
        return other


def _extend(s: Variables, names: list[str]) -> Variables:
    q = ca.vertcat(s.q, *map(symbol, names))
    return replace(s, q=q, coordinates=(*s.coordinates, *names))


def slope(value: SX, x: SX, direction: SX | None = None) -> SX:
    """Derivative of a column or a matrix along a direction of x; of a number x, if none is
    given."""
    along = SX(1) if direction is None else direction
    if value.is_column():
        return ca.jtimes(value, x, along)
    return ca.reshape(ca.jtimes(ca.vec(ca.densify(value)), x, along), *value.shape)


def number_variables(
    joints: Sequence[Joint], kind: str
) -> tuple[list[str], dict[str, tuple[int, ...]]]:
    """Names of the "coordinates" or "speeds" of joints, and where they are, by these names and by
    those of the joints."""
    names: list[str] = []
    index: dict[str, tuple[int, ...]] = {}
    for joint in joints:
        own, first = getattr(joint, kind), len(names)
        index |= {name: (first + k,) for k, name in enumerate(own)}
        index[joint.name] = tuple(range(first, first + len(own)))
        names += own
    return names, index


def carried_chains(description: Description, joints: Sequence[Joint]) -> list[Joint]:
    """Chains that carry their own coordinates: joints that are general chains, and the wandering
    points of constraints."""
    constraints = description.constraints.values()
    return [
        *(joint for joint in joints if not joint.kind.closes),
        *(chain for constraint in constraints for chain in constraint.chains()),
    ]


def chart_variables(
    description: Description, coordinates: Sequence[str], speeds: Sequence[str]
) -> Variables:
    """The variables of a chart: new coordinates and speeds, the description's inputs, parameters
    and time."""
    d = description
    return named_variables(
        coordinates, speeds, d.inputs, d.parameters, d.time, tuple(d.defaults.values())
    )
