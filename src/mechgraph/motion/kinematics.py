"""Kinematics along the tree: the frames that the joints' transitions lead through, and how each
moves.

Every moving transition ends in a frame of its own (and a joint that moves by no coordinate in one,
too); constants and functions of time before it are its placement, constants after it place the body
in it. All vectors of a frame are components in the frame's own axes (Garifulin, §3 and eq. 10 of
the source). With i the frame's parent, d its origin in i, R = R_ij, and (ω_r, v_r) its motion
relative to i:

    ω_j = Rᵀ ω_i + ω_r                    v_j = Rᵀ (v_i + ω_i × d) + v_r
    ε_j = Rᵀ ε_i + S_ω u̇ + c_ω           w_j = Rᵀ (w_i + ε_i × d) + S_v u̇ + c_v

with v, w the velocity and acceleration of its origin and c what does not depend on u̇.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca
from casadi import SX

from ..model.bodies import Marker, MassProperties
from ..model.description import Description
from ..model.joints import Joint
from ..model.transitions import Transition
from ..vectors import composed, rotated, symbol, traced
from .topology import Arc, Topology

Pair = tuple[SX, SX]  # (angular, linear)


@dataclass(frozen=True, eq=False)
class Symbols:
    """The variables of the equations and their names, in the order of the arrays."""

    q: SX
    u: SX
    udot: SX
    w: SX
    p: SX
    t: SX
    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]
    inputs: tuple[str, ...]
    parameters: tuple[str, ...]

    @cached_property
    def _hashes(self) -> frozenset[int]:
        return frozenset(
            x.__hash__()
            for x in ca.symvar(ca.vertcat(self.q, self.u, self.udot, self.w, self.p, self.t))
        )

    def strangers(self, expression: SX) -> list[str]:
        """Names of the symbols of an expression that are none of these variables."""
        return [x.name() for x in ca.symvar(expression) if x.__hash__() not in self._hashes]


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame of the tree. ``speeds`` are the indices in u of the speeds that move it; none if its
    motion is given."""

    parent: int
    joint: Joint | None
    R: SX
    d: SX
    S: Pair
    speeds: tuple[int, ...]
    relative: Pair  # ω_r, v_r
    known: Pair  # derivatives of the prescribed part of (ω_r, v_r)


@dataclass(frozen=True, eq=False)
class Kinematics:
    """Frames parents first (0 is ground), which of them carry the bodies, and q̇ = N u + n.

    n is zero but for the coordinates that count turns (see ``turns.py``): time drives no other.
    """

    system: Description
    topology: Topology
    symbols: Symbols
    frames: tuple[Frame, ...]
    body_frame: dict[str, int]
    body_pose: dict[
        str, tuple[SX, SX]
    ]  # constant rotation and origin of each body's frame in the frame that it rides on
    chain_end: dict[
        str, int
    ]  # frame at the end of each chain: cut joints that carry their coordinates, wandering points
    joint_coordinates: dict[str, tuple[int, ...]]  # by joint and by coordinate name
    joint_speeds: dict[str, tuple[int, ...]]
    N: SX
    reference: tuple[float, ...]
    quaternion_speeds: tuple[
        tuple[tuple[int, ...], tuple[int, ...]], ...
    ]  # indices in q of unit quaternions, in u of their ω
    n: SX | None = None
    counted: Mapping[str, int] = field(
        default_factory=dict
    )  # by angle: the index in q of what counts its turns

    @property
    def quaternions(self) -> tuple[tuple[int, ...], ...]:
        """Indices in q of each unit quaternion."""
        return tuple(q for q, _ in self.quaternion_speeds)

    @cached_property
    def carried(self) -> tuple[MassProperties | None, ...]:
        """The body that rides on each frame, with its mass centre and inertia in the axes of that
        frame."""
        riders: list[MassProperties | None] = [None] * len(self.frames)
        for body in self.system.bodies.values():
            R, d = self.body_pose[body.name]
            inertia = body.inertia if R.is_eye() else R @ body.inertia @ R.T
            riders[self.body_frame[body.name]] = MassProperties(
                body.mass, _shifted(d, R, body.com), inertia
            )
        return tuple(riders)

    def place(self, marker: Marker) -> tuple[int, SX, SX]:
        """The frame that a marker rides on, its origin there, and its rotation there."""
        R, d = self.body_pose[marker.body.name]
        return (
            self.body_frame[marker.body.name],
            _shifted(d, R, marker.at),
            rotated(R, marker.rotation),
        )

    @cached_property
    def qdot(self) -> SX:
        """q̇ = N u + n."""
        rates = self.N @ self.symbols.u
        return rates if self.n is None else rates + self.n

    def rate(self, expression: SX) -> SX:
        """Time derivative of a column along the motion, at u̇ = 0."""
        s = self.symbols
        return ca.jtimes(expression, s.q, self.qdot) + ca.jtimes(expression, s.t, SX(1))

    @cached_property
    def poses(self) -> list[tuple[SX, SX]]:
        """(R_0j, p_j) of every frame: turning into world axes, and position in the world."""
        out = [(SX.eye(3), SX.zeros(3))]
        for frame in self.frames[1:]:
            out.append(_pose(*out[frame.parent], frame.R, frame.d))
        return out

    @cached_property
    def twists(self) -> list[Pair]:
        """(ω_j, v_j) of every frame."""
        out: list[Pair] = [(SX.zeros(3), SX.zeros(3))]
        for frame in self.frames[1:]:
            out.append(_twist(frame.R, frame.d, *out[frame.parent], *frame.relative))
        return out

    @cached_property
    def biases(self) -> list[Pair]:
        """(c_ω, c_v) of every frame: centripetal, Coriolis and prescribed accelerations."""
        twists = self.twists
        moving = (
            _bias(f.R, f.d, twists[f.parent][0], *f.relative, *f.known) for f in self.frames[1:]
        )
        return [(SX.zeros(3), SX.zeros(3)), *moving]

    def accelerations(
        self, udot: SX | None = None, base: SX | None = None, biased: bool = True
    ) -> list[Pair]:
        """(ε_j, w_j) of every frame for given u̇ (zero if None); ``base`` is that of ground (−g for
        gravity)."""
        out: list[Pair] = [(SX.zeros(3), SX.zeros(3) if base is None else base)]
        still = (SX.zeros(3), SX.zeros(3))
        for j, frame in enumerate(self.frames[1:], start=1):
            own = SX.zeros(len(frame.speeds)) if udot is None else udot[list(frame.speeds), 0]
            bias = self.biases[j] if biased else still
            out.append(outward(frame.R, frame.d, *out[frame.parent], *bias, *frame.S, own))
        return out


# --- one step of each recursion -------------------------------------------------------------------


@traced
def _pose(R_parent: SX, p: SX, R: SX, d: SX) -> tuple[SX, SX]:
    return R_parent @ R, p + R_parent @ d


@traced
def _relative(S_w: SX, S_v: SX, own: SX) -> Pair:
    return S_w @ own, S_v @ own


@traced
def _twist(R: SX, d: SX, omega: SX, v: SX, omega_r: SX, v_r: SX) -> Pair:
    return R.T @ omega + omega_r, R.T @ (v + ca.cross(omega, d)) + v_r


@traced
def _bias(R: SX, d: SX, omega: SX, omega_r: SX, v_r: SX, known_w: SX, known_v: SX) -> Pair:
    turned = R.T @ omega
    centripetal = R.T @ ca.cross(omega, ca.cross(omega, d)) + ca.cross(2 * turned + omega_r, v_r)
    return ca.cross(turned, omega_r) + known_w, centripetal + known_v


@traced
def outward(R: SX, d: SX, epsilon: SX, w: SX, c_w: SX, c_v: SX, S_w: SX, S_v: SX, own: SX) -> Pair:
    """(ε, w) of a frame from its parent's, its bias and the u̇ of its own speeds."""
    return R.T @ epsilon + c_w + S_w @ own, R.T @ (w + ca.cross(epsilon, d)) + c_v + S_v @ own


# --- laying the frames ----------------------------------------------------------------------------


def derive_kinematics(system: Description, topology: Topology) -> Kinematics:
    """Walk the tree once and lay out coordinates, speeds and frames."""
    return _Walk(system, topology).result()


class _Walk:
    """The one place where frames are laid: joint after joint, transition after transition."""

    def __init__(self, system: Description, topology: Topology) -> None:
        self.system, self.topology = system, topology
        self.frames: list[Frame] = [_fixed_frame(-1, None, SX.eye(3), SX.zeros(3))]
        self.body_frame: dict[str, int] = {"ground": 0}
        self.body_pose: dict[str, tuple[SX, SX]] = {"ground": (SX.eye(3), SX.zeros(3))}
        self.chain_end: dict[str, int] = {}
        carried = [joint for joint in topology.cut if not joint.kind.closes]
        carried += [
            chain for constraint in system.constraints.values() for chain in constraint.chains()
        ]
        self._name_variables([*(arc.joint for arc in topology.arcs), *carried])
        for arc in topology.arcs:
            self._lay_arc(arc)
        for joint in carried:
            self._lay_chain(joint)

    def _name_variables(self, joints: list[Joint]) -> None:
        self.q_index: dict[str, tuple[int, ...]] = {}
        self.u_index: dict[str, tuple[int, ...]] = {}
        coordinates: list[str] = []
        speeds: list[str] = []
        for joint in joints:
            _number(self.q_index, joint, joint.coordinates, coordinates)
            _number(self.u_index, joint, joint.speeds, speeds)
        self.coordinates, self.speeds = coordinates, speeds
        self.q, self.u = _symbols(coordinates), _symbols(speeds)
        self.udot = _symbols([f"{name}'" for name in speeds])
        self.rates: list[tuple[tuple[int, ...], tuple[int, ...], SX]] = []
        self.reference = [0.0] * len(coordinates)

    def _lay_arc(self, arc: Arc) -> None:
        """Frames from the inboard to the outboard body of an arc."""
        joint = arc.joint
        near, far = (joint.child, joint.parent) if arc.reversed else (joint.parent, joint.child)
        steps = list(self._numbered(joint))
        if arc.reversed:
            steps = [(step.reversed(), q, u) for step, q, u in reversed(steps)]
        start = self.body_frame[arc.inboard]
        end, pending = self._lay_steps(
            start, joint, _then(self.body_pose[arc.inboard], (near.rotation, near.at)), steps
        )
        pose = _then(pending, _inverse(far))
        if end == start or self._driven(pose):
            end, pose = self._lay_fixed(end, joint, *pose), (SX.eye(3), SX.zeros(3))
        self.body_frame[arc.outboard], self.body_pose[arc.outboard] = end, pose

    def _lay_chain(self, joint: Joint) -> None:
        """Frames of a chain that carries its own coordinates (of a cut joint, of a constraint),
        from its parent to its end."""
        steps = list(self._numbered(joint))
        parent, near = joint.parent.body.name, (joint.parent.rotation, joint.parent.at)
        end, pending = self._lay_steps(
            self.body_frame[parent], joint, _then(self.body_pose[parent], near), steps
        )
        self.chain_end[joint.name] = self._lay_fixed(end, joint, *pending)

    def _numbered(
        self, joint: Joint
    ) -> Iterator[tuple[Transition, tuple[int, ...], tuple[int, ...]]]:
        """The joint's transitions with the indices of their coordinates and speeds."""
        qs, us = iter(self.q_index[joint.name]), iter(self.u_index[joint.name])
        for step in joint.transitions:
            moving = step.moves
            yield (
                step,
                tuple(next(qs) for _ in step.coordinates) if moving else (),
                tuple(next(us) for _ in step.speeds) if moving else (),
            )

    def _lay_steps(
        self, start: int, joint: Joint, near: tuple[SX, SX], steps: list
    ) -> tuple[int, tuple[SX, SX]]:
        """Lay the frames of a chain that begins at pose ``near`` of a frame: the last one, and the
        pose that is left in it."""
        frame, pending = start, near
        for step, q, u in steps:
            if not step.moves:
                pending = _then(pending, step.pose(step.amount))
                continue
            if self._driven(pending):
                frame, pending = self._lay_fixed(frame, joint, *pending), (SX.eye(3), SX.zeros(3))
            C, step = step.aligned()
            frame = self._lay_moving(frame, joint, _then(pending, (C, SX.zeros(3))), step, q, u)
            pending = (C.T, SX.zeros(3))
        return frame, pending

    def _driven(self, pose: tuple[SX, SX]) -> bool:
        return any(not x.is_constant() and ca.depends_on(x, self.system.time) for x in pose)

    def _lay_moving(
        self, parent: int, joint: Joint, place: tuple, step: Transition, q: tuple, u: tuple
    ) -> int:
        x, s = self.q[list(q)], self.u[list(u)]
        R, d = _then(place, step.pose(x))
        S = step.subspace(x)
        self.rates.append((q, u, step.rates(x)))
        for index, value in zip(q, step.reference, strict=True):
            self.reference[index] = value
        zero = SX.zeros(3)
        return self._add(Frame(parent, joint, R, d, S, u, _relative(*S, s), (zero, zero)))

    def _lay_fixed(self, parent: int, joint: Joint, R: SX, d: SX) -> int:
        """A frame at a constant place or with a motion prescribed by functions of time."""
        frame = _fixed_frame(parent, joint, R, d)
        t = self.system.time
        if self._driven((R, d)):
            turning = R.T @ _rate(R, t)
            relative = (ca.vertcat(turning[2, 1], turning[0, 2], turning[1, 0]), R.T @ _rate(d, t))
            known = (_rate(relative[0], t), _rate(relative[1], t))
            frame = Frame(parent, joint, R, d, frame.S, (), relative, known)
        return self._add(frame)

    def _add(self, frame: Frame) -> int:
        self.frames.append(frame)
        return len(self.frames) - 1

    def result(self) -> Kinematics:
        N = ca.diagcat(
            SX(0, 0), *(block for _, _, block in sorted(self.rates, key=lambda rate: rate[0]))
        )
        system = self.system
        symbols = Symbols(
            q=self.q,
            u=self.u,
            udot=self.udot,
            w=ca.vertcat(SX(0, 1), *system.inputs.values()),
            p=ca.vertcat(SX(0, 1), *system.parameters.values()),
            t=system.time,
            coordinates=tuple(self.coordinates),
            speeds=tuple(self.speeds),
            inputs=tuple(system.inputs),
            parameters=tuple(system.parameters),
        )
        return Kinematics(
            system,
            self.topology,
            symbols,
            tuple(self.frames),
            self.body_frame,
            self.body_pose,
            self.chain_end,
            self.q_index,
            self.u_index,
            N,
            tuple(self.reference),
            tuple((q, u) for q, u, _ in self.rates if len(q) > len(u)),
        )


def _symbols(names: list[str]) -> SX:
    return ca.vertcat(SX(0, 1), *map(symbol, names))


def _number(
    index: dict[str, tuple[int, ...]], joint: Joint, names: list[str], taken: list[str]
) -> None:
    first = len(taken)
    taken.extend(names)
    index.update({name: (first + k,) for k, name in enumerate(names)})
    index[joint.name] = tuple(range(first, first + len(names)))


def _fixed_frame(parent: int, joint: Joint | None, R: SX, d: SX) -> Frame:
    zero, none = SX.zeros(3), SX.zeros(3, 0)
    return Frame(parent, joint, R, d, (none, none), (), (zero, zero), (zero, zero))


def _rate(expression: SX, t: SX) -> SX:
    """Time derivative of an explicit function of time."""
    return ca.densify(
        ca.jtimes(expression, t, SX(1))
        if expression.shape[1] == 1
        else _columns_rate(expression, t)
    )


def _columns_rate(matrix: SX, t: SX) -> SX:
    return ca.horzcat(*(ca.jtimes(column, t, SX(1)) for column in ca.horzsplit(matrix)))


def _then(first: tuple[SX, SX], second: tuple[SX, SX]) -> tuple[SX, SX]:
    """Pose ``second`` placed in pose ``first``."""
    return composed(first[0], second[0]), _shifted(first[1], first[0], second[1])


def _shifted(d: SX, R: SX, x: SX) -> SX:
    """d + R x."""
    return d if x.is_zero() else rotated(R, x) if d.is_zero() else d + rotated(R, x)


def _inverse(place: Marker) -> tuple[SX, SX]:
    return place.rotation.T, -(place.rotation.T @ place.at)
