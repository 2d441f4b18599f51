"""The numbers that a scene is made of: poses of bodies along a run, and the points on a body that
matter."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
import numpy as np
from casadi import SX

from ..equations import Equations
from ..model.bodies import Marker
from ..model.joints import Joint
from ..model.transitions import Rotation, Transition, Translation
from ..results.trajectory import Trajectory


@dataclass(frozen=True)
class Sample:
    """A run on fewer times, and its description with the run's parameters put in."""

    equations: Equations
    run: Trajectory
    rows: np.ndarray

    @staticmethod
    def of(run: Trajectory, most: int) -> Sample:
        """At most so many times of a run, evenly spread."""
        rows = np.unique(np.linspace(0, len(run) - 1, min(len(run), most)).round().astype(int))
        return Sample(run._need(), run, rows)

    @property
    def time(self) -> np.ndarray:
        return self.run.time[self.rows]

    @property
    def arguments(self) -> tuple[np.ndarray, np.ndarray, dict[str, float]]:
        """Coordinates, times and parameters."""
        return self.run.q[self.rows], self.time, dict(self.run.parameters)

    def positions(self, place: str | Marker) -> np.ndarray:
        """Positions of a body's or marker's origin in the world, (n, 3)."""
        q, t, p = self.arguments
        return self.equations.position(place, q, t, p)

    def rotations(self, place: str | Marker) -> np.ndarray:
        """Rotation matrices of a body or marker, (n, 3, 3)."""
        q, t, p = self.arguments
        return self.equations.rotation(place, q, t, p)

    def constant(self, expression: SX) -> np.ndarray:
        """A number of the description with the run's parameters, at the run's first time."""
        s = self.equations.terms.symbols
        values = [
            float(self.run.parameters.get(name, self.equations.system.defaults[name]))
            for name in s.parameters
        ]
        function = ca.Function("constant", [s.p, s.t, s.w], [ca.densify(expression)])
        out = np.array(function(values, float(self.run.time[0]), np.zeros(len(s.inputs))))
        return out.ravel() if out.shape[1] == 1 else out

    @cached_property
    def hinges(self) -> dict[str, DrawnJoint]:
        """Where each joint moves, by its name."""
        joints = self.equations.system.joints
        return {name: _hinge(self, joint) for name, joint in joints.items()}

    def joints_on(self, body: str) -> Iterator[Joint]:
        """The joints whose parent is this body."""
        for joint in self.equations.system.joints.values():
            if joint.parent.body.name == body:
                yield joint

    def attachments(self, body: str) -> Iterator[np.ndarray]:
        """Points that something else is attached to: joints (their frames, and where they turn or
        slide) and markers."""
        system = self.equations.system
        for joint in system.joints.values():
            hinge = self.hinges[joint.name]
            for end, at in ((joint.parent, hinge.on_parent), (joint.child, hinge.on_child)):
                if end.body.name == body:
                    yield self.constant(end.at)
                    yield at
        if body != "ground":
            for marker in system.markers.values():
                if marker.body.name == body:
                    yield self.constant(marker.at)

    def points(self, body: str) -> Iterator[np.ndarray]:
        """Points of a body that shapes lead through: its attachments, and the centre of mass of one
        that has mass."""
        yield from self.attachments(body)
        if body != "ground":
            own = self.equations.system.bodies[body]
            if not own.weightless:
                yield self.constant(own.com)


@dataclass(frozen=True)
class DrawnJoint:
    """Where a joint moves: after the constant steps that lead to its first moving one, and before
    the constant steps that end it."""

    on_parent: np.ndarray
    on_child: np.ndarray
    moving: tuple[Transition, ...]
    # of a joint with a single step that turns or slides, on the parent
    direction: np.ndarray | None


def _hinge(sample: Sample, joint: Joint) -> DrawnJoint:
    steps, t = joint.transitions, sample.equations.terms.symbols.t
    moves = [step.moves or ca.depends_on(SX(step.amount), t) for step in steps]
    first = moves.index(True) if any(moves) else 0
    last = len(steps) - (moves[::-1].index(True) if any(moves) else 0)
    R, d = _frame(sample, joint.parent, steps[:first])
    C, c = _frame(sample, joint.child, [])
    T, e = (sample.constant(x) for x in _chain(steps[last:]))
    moving = tuple(steps[first:last])
    direction = None
    if len(moving) == 1 and isinstance(moving[0], (Rotation, Translation)):
        direction = R @ sample.constant(moving[0].direction)
    return DrawnJoint(d, c - C @ T.T @ e, moving, direction)


def _frame(
    sample: Sample, frame: Marker, steps: Sequence[Transition]
) -> tuple[np.ndarray, np.ndarray]:
    """Axes and origin, on its body, of the frame that constant steps lead to."""
    R, d = _chain(steps)
    return sample.constant(frame.rotation @ R), sample.constant(frame.at + frame.rotation @ d)


def _chain(steps: Sequence[Transition]) -> tuple[SX, SX]:
    """Rotation and displacement of steps one after the other."""
    R, d = SX.eye(3), SX.zeros(3)
    for step in steps:
        turn, shift = step.pose(SX(step.amount))
        R, d = R @ turn, d + R @ shift
    return R, d
