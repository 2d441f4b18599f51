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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import casadi as ca
from casadi import SX

from ..model.bodies import Marker, Massive, MassProperties
from ..model.description import Description
from ..model.joints import Joint
from ..model.transitions import Transition
from ..vectors import angular_velocity, composed, rotated, shifted, traced
from .chart import Chart, Pair, Pose, carried_chains, chart_variables, number_variables, slope
from .topology import Arc, Topology


@dataclass(frozen=True, eq=False)
class TreeFrame:
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


class TreeChart(Chart):
    """Coordinates along a tree: frames parents first (0 is ground), and which carry the bodies.

    n is zero but for the coordinates that count turns (see ``turns.py``): time drives no other.
    """

    topology: Topology
    frames: tuple[TreeFrame, ...]
    body_frame: dict[str, int]
    # constant rotation and origin of each body's frame in the frame that it rides on
    body_pose: dict[str, tuple[SX, SX]]

    @property
    def joints(self) -> TreeChart:
        return self

    @cached_property
    def riders(self) -> tuple[MassProperties | None, ...]:
        """Mass properties of all that rides on each frame, in the axes of that frame."""
        riders: list[MassProperties | None] = [None] * len(self.frames)
        for body in self.description.bodies.values():
            R, d = self.body_pose[body.name]
            inertia = body.inertia if R.is_eye() else R @ body.inertia @ R.T
            riders[self.body_frame[body.name]] = MassProperties(
                body.mass, shifted(d, R, body.com), inertia
            )
        return tuple(riders)

    @property
    def carried(self) -> Sequence[tuple[int, Massive]]:
        return [(j, rider) for j, rider in enumerate(self.riders) if rider is not None]

    def place(self, marker: Marker) -> tuple[int, SX, SX]:
        if id(marker) not in self._places:
            R, d = self.body_pose[marker.body.name]
            frame = self.body_frame[marker.body.name]
            found = frame, shifted(d, R, marker.at), rotated(R, marker.rotation)
            self._places[id(marker)] = marker, found
        return self._places[id(marker)][1]

    @cached_property
    def _places(self) -> dict[int, tuple[Marker, tuple[int, SX, SX]]]:
        """Places by the identity of markers, which are kept so that it stays theirs."""
        return {}

    def pose(self, frame: Any) -> Pose:
        return self.poses[frame]

    def twist(self, frame: Any) -> Pair:
        return self.twists[frame]

    def acceleration(self, frame: Any, moving: bool = True) -> Pair:
        return (self._moving_accelerations if moving else self._biased_accelerations)[frame]

    @cached_property
    def _moving_accelerations(self) -> list[Pair]:
        return self.accelerations(self.joint_accelerations)

    @cached_property
    def _biased_accelerations(self) -> list[Pair]:
        return self.accelerations(self._biased_joint_accelerations)

    @property
    def _biased_joint_accelerations(self) -> SX | None:
        """Accelerations of the joints at u̇ = 0."""
        return None

    @property
    def driven(self) -> Sequence[tuple[int, Pair]]:
        return [
            (j, frame.relative)
            for j, frame in enumerate(self.frames)
            if not frame.speeds and not all(part.is_zero() for part in frame.relative)
        ]

    def driven_by(self, frame: Any) -> str:
        joint = self.frames[frame].joint
        assert joint is not None
        return joint.name

    def outboard_frames(self, frame: Any) -> list[int]:
        """A frame and all that hangs on it."""
        found = {frame}
        for j in range(frame + 1, len(self.frames)):
            if self.frames[j].parent in found:
                found.add(j)
        return sorted(found)

    def outboard(self, joint: Joint) -> tuple[int, int]:
        arc = next(arc for arc in self.topology.arcs if arc.joint is joint)
        first = next(j for j, frame in enumerate(self.frames) if frame.joint is joint)
        return first, -1 if arc.reversed else 1

    @property
    def own_joints(self) -> Sequence[Joint]:
        mine = self.description.joints
        return [
            arc.joint for arc in self.topology.arcs if mine.get(arc.joint.name) is not arc.joint
        ]

    @property
    def turning(self) -> list[int]:
        return [i for frame in self.frames if not frame.S[0].is_zero() for i in frame.speeds]

    @property
    def fixed_axes(self) -> Sequence[tuple[Any, tuple[int, ...], SX]]:
        """Axes of frames that slide along axes fixed in the world, or turn freely on them."""
        s, found = self.symbols, []
        balls = {three: four for four, three in self.quaternion_speeds}
        for frame, (R, _) in zip(self.frames, self.poses, strict=True):
            ball = frame.speeds in balls
            if ball:
                four = s.q[list(balls[frame.speeds])]
                unturned = ca.substitute(frame.R, four, SX([1, 0, 0, 0]))
                axes = self.poses[frame.parent][0] @ unturned
            else:
                axes = R @ frame.S[1]
            fixed = not ca.depends_on(axes, ca.vertcat(s.q, s.t))
            if frame.speeds and (ball or frame.S[0].is_zero()) and fixed:
                found.append(((frame.joint, ball), frame.speeds, axes))
        return found

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
        """(ε_j, w_j) of every frame for given u̇ of the joints (zero if None); ``base`` is that of
        ground (−g for gravity)."""
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
def relative(S_w: SX, S_v: SX, own: SX) -> Pair:
    """(ω_r, v_r) of a frame from its own speeds."""
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


def tree_chart(
    description: Description, topology: Topology, kind: type[TreeChart] = TreeChart
) -> TreeChart:
    """Walk the tree once and lay out coordinates, speeds and frames."""
    return _Walk(description, topology).result(kind())


class _Walk:
    """The one place where frames are laid: joint after joint, transition after transition."""

    def __init__(self, description: Description, topology: Topology) -> None:
        self.description, self.topology = description, topology
        self.frames: list[TreeFrame] = [_fixed_frame(-1, None, SX.eye(3), SX.zeros(3))]
        self.body_frame: dict[str, int] = {"ground": 0}
        self.body_pose: dict[str, tuple[SX, SX]] = {"ground": (SX.eye(3), SX.zeros(3))}
        self.chain_end: dict[str, int] = {}
        carried = carried_chains(description, topology.cut)
        self._name_variables([*(arc.joint for arc in topology.arcs), *carried])
        for arc in topology.arcs:
            self._add_arc(arc)
        for joint in carried:
            self._add_chain(joint)

    def _name_variables(self, joints: list[Joint]) -> None:
        coordinates, self.q_index = number_variables(joints, "coordinates")
        speeds, self.u_index = number_variables(joints, "speeds")
        self.symbols = chart_variables(self.description, coordinates, speeds)
        self.rates: list[tuple[tuple[int, ...], tuple[int, ...], SX]] = []
        self.reference = [0.0] * len(coordinates)

    def _add_arc(self, arc: Arc) -> None:
        """Frames from the inboard to the outboard body of an arc."""
        joint = arc.joint
        near, far = (joint.child, joint.parent) if arc.reversed else (joint.parent, joint.child)
        steps = list(self._number_steps(joint))
        if arc.reversed:
            steps = [(step.reversed(), q, u) for step, q, u in reversed(steps)]
        start = self.body_frame[arc.inboard]
        end, pending = self._add_steps(
            start, joint, _compose(self.body_pose[arc.inboard], (near.rotation, near.at)), steps
        )
        pose = _compose(pending, _inverse(far))
        if end == start or self._is_driven(pose):
            end, pose = self._add_fixed(end, joint, *pose), (SX.eye(3), SX.zeros(3))
        self.body_frame[arc.outboard], self.body_pose[arc.outboard] = end, pose

    def _add_chain(self, joint: Joint) -> None:
        """Frames of a chain that carries its own coordinates (of a cut joint, of a constraint),
        from its parent to its end."""
        steps = list(self._number_steps(joint))
        parent, near = joint.parent.body.name, (joint.parent.rotation, joint.parent.at)
        end, pending = self._add_steps(
            self.body_frame[parent], joint, _compose(self.body_pose[parent], near), steps
        )
        self.chain_end[joint.name] = self._add_fixed(end, joint, *pending)

    def _number_steps(
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

    def _add_steps(
        self, start: int, joint: Joint, near: tuple[SX, SX], steps: list[Any]
    ) -> tuple[int, tuple[SX, SX]]:
        """Lay the frames of a chain that begins at pose ``near`` of a frame: the last one, and the
        pose that is left in it."""
        frame, pending = start, near
        for step, q, u in steps:
            if not step.moves:
                pending = _compose(pending, step.pose(step.amount))
                continue
            if self._is_driven(pending):
                frame, pending = self._add_fixed(frame, joint, *pending), (SX.eye(3), SX.zeros(3))
            C, step = step.axis_aligned()
            frame = self._add_moving(frame, joint, _compose(pending, (C, SX.zeros(3))), step, q, u)
            pending = (C.T, SX.zeros(3))
        return frame, pending

    def _is_driven(self, pose: tuple[SX, SX]) -> bool:
        return any(not x.is_constant() and ca.depends_on(x, self.description.time) for x in pose)

    def _add_moving(
        self,
        parent: int,
        joint: Joint,
        place: tuple[Any, ...],
        step: Transition,
        q: tuple[Any, ...],
        u: tuple[Any, ...],
    ) -> int:
        x, s = self.symbols.q[list(q)], self.symbols.u[list(u)]
        R, d = _compose(place, step.pose(x))
        S = step.subspace(x)
        self.rates.append((q, u, step.rates(x)))
        for index, value in zip(q, step.reference, strict=True):
            self.reference[index] = value
        zero = SX.zeros(3)
        return self._append(TreeFrame(parent, joint, R, d, S, u, relative(*S, s), (zero, zero)))

    def _add_fixed(self, parent: int, joint: Joint, R: SX, d: SX) -> int:
        """A frame at a constant place or with a motion prescribed by functions of time."""
        frame = _fixed_frame(parent, joint, R, d)
        t = self.description.time
        if self._is_driven((R, d)):
            relative = angular_velocity(R, slope(R, t)), R.T @ slope(d, t)
            known = slope(relative[0], t), slope(relative[1], t)
            frame = TreeFrame(parent, joint, R, d, frame.S, (), relative, known)
        return self._append(frame)

    def _append(self, frame: TreeFrame) -> int:
        self.frames.append(frame)
        return len(self.frames) - 1

    def result(self, chart: TreeChart) -> TreeChart:
        chart.description, chart.topology = self.description, self.topology
        chart.symbols = self.symbols
        chart.frames = tuple(self.frames)
        chart.body_frame, chart.body_pose = self.body_frame, self.body_pose
        chart.chain_end, chart.closed = self.chain_end, self.topology.cut
        chart.flat = self.description.plane is not None
        chart.joint_coordinates, chart.joint_speeds = self.q_index, self.u_index
        in_order = sorted(self.rates, key=lambda rate: rate[0])
        chart.N = ca.diagcat(SX(0, 0), *(block for _, _, block in in_order))
        chart.reference = tuple(self.reference)
        chart.quaternion_speeds = tuple((q, u) for q, u, _ in self.rates if len(q) > len(u))
        return chart


def _fixed_frame(parent: int, joint: Joint | None, R: SX, d: SX) -> TreeFrame:
    zero, none = SX.zeros(3), SX.zeros(3, 0)
    return TreeFrame(parent, joint, R, d, (none, none), (), (zero, zero), (zero, zero))


def _compose(first: tuple[SX, SX], second: tuple[SX, SX]) -> tuple[SX, SX]:
    """Pose ``second`` placed in pose ``first``."""
    return composed(first[0], second[0]), shifted(first[1], first[0], second[1])


def _inverse(place: Marker) -> tuple[SX, SX]:
    return place.rotation.T, -rotated(place.rotation.T, place.at)
