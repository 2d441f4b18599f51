"""Joints: an edge of the graph, a frame on its parent, a frame on its child, and a kind that says
how it moves.

A kind answers three questions, and nothing outside this file asks which kind it is:

- ``transitions()``: the chain of elementary transitions;
- ``closing(R, r)``: if the joint closes a loop, the equations it imposes on the relative pose (R
  turns components of the child's joint frame into the parent's, r is the child's joint origin in
  the parent's joint axes), row by row with a name;
- ``measure(R, r)``: its coordinates from that pose.

Where the closing equations also hold the wrong way round, ``orientation_sign(R, r)`` tells which is
the right one.

To add a kind, write such a class in a new file and list it in ``JOINTS``: it gets a short name on
``System``.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property, partial
from typing import Annotated, Any, ClassVar, TypeAlias

import casadi as ca
from casadi import SX

from ..arguments import choice
from ..errors import ModelError
from ..vectors import angle_about, axis, normals, quaternion_of, vee
from .bodies import ORIGIN, Body, Marker, marker_on
from .declarations import direction, number
from .described import Described
from .fields import Field, Orientation, Vector
from .parameter_checks import Limit, NotZero, Perpendicular
from .transitions import Ball, Rotation, Screw, Transition, Translation

Rows = list[tuple[str, SX]]


class JointKind(Described):
    """A kind of joint; its questions are at the top of this file."""

    # False: no closing equations of its own, so a cut joint of this kind carries its coordinates
    closes = True
    limits: Sequence[Limit] = ()  # of its numbers

    @abstractmethod
    def transitions(self) -> list[Transition]: ...

    @abstractmethod
    def closing(self, R: SX, r: SX) -> Rows: ...

    @abstractmethod
    def measure(self, R: SX, r: SX) -> SX: ...

    def common_points(self) -> list[SX]:
        """Points that are in one place of both joint frames, wherever it moves: the corners of all
        that are; none by default."""
        return []

    def closing_of_shared(self, R: SX, r: SX) -> Rows:
        """Its closing equations beyond those that hold where its common points are one."""
        return []

    def closing_rows(self, R: SX, r: SX, shared: bool) -> Rows:
        """All closing equations, or what is left of them."""
        return self.closing_of_shared(R, r) if shared else self.closing(R, r)

    def speeds(self, omega: SX, v: SX) -> SX | None:
        """Its speeds, if they are quasi-velocities: from the child's relative angular velocity (in
        its joint axes) and ṙ.

        None if they are the rates of what ``measure`` gives.
        """
        return None

    def orientation_sign(self, R: SX, r: SX) -> SX:
        """Positive if the closing equations hold the right way round: they also hold with the axis
        turned over."""
        return SX(1)


def _along(e: SX, r: SX) -> Rows:
    n1, n2 = normals(e)
    return [("across 1", ca.dot(n1, r)), ("across 2", ca.dot(n2, r))]


def _meet(r: SX) -> Rows:
    return [(f"position {letter}", r[i]) for i, letter in enumerate("xyz")]


def _parallel(e: SX, R: SX) -> Rows:
    n1, n2 = normals(e)
    return [("tilt 1", ca.dot(n1, R @ e)), ("tilt 2", ca.dot(n2, R @ e))]


def _same_axes(R: SX) -> Rows:
    return [(f"rotation {letter}", vee(R)[i]) for i, letter in enumerate("xyz")]


class _Axial(JointKind):
    """A kind with one ``axis`` that stays parallel to itself, in the frames of both sides."""

    axis: SX = direction("z")

    def orientation_sign(self, R: SX, r: SX) -> SX:
        return ca.dot(self.axis, R @ self.axis)


class Revolute(_Axial):
    """One rotation about ``axis``, given in the joint's frame; its coordinate is ``name``."""

    def transitions(self) -> list[Transition]:
        return [Rotation("angle", self.axis)]

    def closing(self, R: SX, r: SX) -> Rows:
        return [*_meet(r), *_parallel(self.axis, R)]

    def common_points(self) -> list[SX]:
        return [SX.zeros(3), self.axis]

    def measure(self, R: SX, r: SX) -> SX:
        return angle_about(self.axis, R)


class Prismatic(JointKind):
    """One translation along ``axis``, given in the joint's frame; its coordinate is ``name``."""

    axis: SX = direction("z")

    def transitions(self) -> list[Transition]:
        return [Translation("shift", self.axis)]

    def closing(self, R: SX, r: SX) -> Rows:
        return [*_along(self.axis, r), *_same_axes(R)]

    def measure(self, R: SX, r: SX) -> SX:
        return ca.dot(self.axis, r)

    def orientation_sign(self, R: SX, r: SX) -> SX:
        return ca.trace(R)


class Cylindrical(_Axial):
    """Rotation (``name.angle``) about and translation (``name.shift``) along one ``axis``."""

    def transitions(self) -> list[Transition]:
        return [Rotation("angle", self.axis), Translation("shift", self.axis)]

    def closing(self, R: SX, r: SX) -> Rows:
        return [*_along(self.axis, r), *_parallel(self.axis, R)]

    def measure(self, R: SX, r: SX) -> SX:
        return ca.vertcat(angle_about(self.axis, R), ca.dot(self.axis, r))


class ScrewJoint(Cylindrical):
    """Rotation about ``axis`` with ``pitch`` metres of advance for each radian."""

    pitch: SX = number(limit=partial(NotZero, hint="; use a revolute joint"))

    def transitions(self) -> list[Transition]:
        return [Screw("angle", self.axis, self.pitch)]

    def closing(self, R: SX, r: SX) -> Rows:
        off = self._off_thread(R, r)
        return [*super().closing(R, r), ("advance", self.pitch * ca.sin(off))]

    def _off_thread(self, R: SX, r: SX) -> SX:
        """The advance as an angle, less the angle; known up to whole turns, so compared by sine
        and cosine."""
        return self.measure(R, r) - angle_about(self.axis, R)

    def measure(self, R: SX, r: SX) -> SX:
        return ca.dot(self.axis, r) / self.pitch

    def orientation_sign(self, R: SX, r: SX) -> SX:
        return ca.fmin(super().orientation_sign(R, r), ca.cos(self._off_thread(R, r)))


class Universal(JointKind):
    """Rotation (``name.first``) about ``axis`` of the parent, then (``name.second``) about
    ``second_axis`` of the child, which is perpendicular to it.
    """

    axis: SX = direction("x")
    second_axis: SX = direction("y")

    def __post_init__(self) -> None:
        what = "axis and second_axis of a universal joint"
        self.limits = [Perpendicular(what, ca.dot(self.axis, self.second_axis))]

    def transitions(self) -> list[Transition]:
        return [Rotation("first", self.axis), Rotation("second", self.second_axis)]

    def closing(self, R: SX, r: SX) -> Rows:
        return [*_meet(r), ("cross", ca.dot(self.axis, R @ self.second_axis))]

    def common_points(self) -> list[SX]:
        return [SX.zeros(3)]

    def closing_of_shared(self, R: SX, r: SX) -> Rows:
        return self.closing(R, r)[3:]

    def measure(self, R: SX, r: SX) -> SX:
        e1, e2 = self.axis, self.second_axis
        e3 = ca.cross(e1, e2)
        y, x = R @ e2, R.T @ e1  # e2 turned by the first angle; e1 turned back by the second
        return ca.vertcat(
            ca.atan2(ca.dot(e3, y), ca.dot(e2, y)), ca.atan2(ca.dot(e3, x), ca.dot(e1, x))
        )


class Planar(_Axial):
    """Two translations across and a rotation (``name.angle``) about the normal ``axis``.

    The translations are called after the axes that they go along: ``name.x``, ``name.y`` for the
    normal z, ``name.y``, ``name.z`` for x, ``name.z``, ``name.x`` for y (in this order, the other
    way round for -z, -x, -y); ``name.first``, ``name.second`` for a slanted one.
    """

    def __post_init__(self) -> None:
        names = self._letters()
        self.names = ("first", "second") if names is None else (names[0], names[1])
        self.n1, self.n2 = normals(self.axis) if names is None else map(_unit, names)

    def _letters(self) -> str | None:
        """The axes across a coordinate axis, so that both and the normal are right-handed."""
        for i in range(3):
            if self.axis.is_constant() and abs(float(self.axis[i])) == 1:
                across = "xyz"[(i + 1) % 3] + "xyz"[(i + 2) % 3]
                return across if float(self.axis[i]) > 0 else across[::-1]
        return None

    def transitions(self) -> list[Transition]:
        moves = zip(self.names, (self.n1, self.n2), strict=True)
        return [*(Translation(name, n) for name, n in moves), Rotation("angle", self.axis)]

    def closing(self, R: SX, r: SX) -> Rows:
        return [("height", ca.dot(self.axis, r)), *_parallel(self.axis, R)]

    def measure(self, R: SX, r: SX) -> SX:
        return ca.vertcat(ca.dot(self.n1, r), ca.dot(self.n2, r), angle_about(self.axis, R))


def _unit(letter: str) -> SX:
    return ca.densify(axis(letter))


class PinInSlot(_Axial):
    """A pin that slides (``name.shift``) along a ``slot`` of the parent and turns in it
    (``name.angle``) about ``axis``, across the slot.
    """

    slot: SX = direction("x")
    axis: SX = direction("z")

    def __post_init__(self) -> None:
        what = "slot and axis of a pin in a slot"
        self.limits = [Perpendicular(what, ca.dot(self.slot, self.axis))]

    def transitions(self) -> list[Transition]:
        return [Translation("shift", self.slot), Rotation("angle", self.axis)]

    def closing(self, R: SX, r: SX) -> Rows:
        aside = ca.dot(ca.cross(self.axis, self.slot), r)
        return [("aside", aside), ("height", ca.dot(self.axis, r)), *_parallel(self.axis, R)]

    def measure(self, R: SX, r: SX) -> SX:
        return ca.vertcat(ca.dot(self.slot, r), angle_about(self.axis, R))


class Spherical(JointKind):
    """Any rotation: a quaternion ``name.q0`` … ``name.q3``, speeds ``name.wx``, ``name.wy``,
    ``name.wz`` in the child's joint axes.
    """

    def transitions(self) -> list[Transition]:
        return [Ball("")]

    def closing(self, R: SX, r: SX) -> Rows:
        return _meet(r)

    def common_points(self) -> list[SX]:
        return [SX.zeros(3)]

    def measure(self, R: SX, r: SX) -> SX:
        return quaternion_of(R)

    def speeds(self, omega: SX, v: SX) -> SX | None:
        return omega


class Free(JointKind):
    """All six freedoms: ``name.x``, ``name.y``, ``name.z`` in the parent's joint axes, then a
    rotation as in ``spherical``.
    """

    def transitions(self) -> list[Transition]:
        return [*(Translation(letter, axis(letter)) for letter in "xyz"), Ball("")]

    def closing(self, R: SX, r: SX) -> Rows:
        return []

    def measure(self, R: SX, r: SX) -> SX:
        return ca.vertcat(r, quaternion_of(R))

    def speeds(self, omega: SX, v: SX) -> SX | None:
        return ca.vertcat(v, omega)


class Fixed(JointKind):
    """No freedom: parent and child move as one."""

    def transitions(self) -> list[Transition]:
        return []

    def closing(self, R: SX, r: SX) -> Rows:
        return [*_meet(r), *_same_axes(R)]

    def common_points(self) -> list[SX]:
        return [SX.zeros(3), *(axis(letter) for letter in "xyz")]

    def measure(self, R: SX, r: SX) -> SX:
        return SX(0, 1)

    def orientation_sign(self, R: SX, r: SX) -> SX:
        return ca.trace(R)


class Chain(JointKind):
    """The general joint: any chain of transitions. It closes a loop by carrying its own
    coordinates."""

    closes = False

    def __init__(self, transitions: Sequence[Transition]) -> None:
        if not isinstance(transitions, (list, tuple)):
            raise ModelError(
                "a joint's chain is a list such as [mg.rot('x', 'alpha'), mg.move('z', 0.3)], got "
                f"{transitions!r}"
            )
        for step in transitions:
            if not isinstance(step, Transition):
                raise ModelError(
                    "a joint's chain is made of mg.rot, mg.move, mg.screw and mg.ball, got "
                    f"{step!r}"
                )
        self.chain = list(transitions)
        names = [name for step in self.chain for name in step.coordinates]
        if len(set(names)) < len(names):
            raise ModelError("two transitions of one joint have the same coordinate name")

    def transitions(self) -> list[Transition]:
        return self.chain

    def closing(self, R: SX, r: SX) -> Rows:
        return Fixed().closing(R, r)  # of the end of its chain

    def measure(self, R: SX, r: SX) -> SX:
        raise TypeError("a chain carries its coordinates; it does not measure them")

    def orientation_sign(self, R: SX, r: SX) -> SX:
        return ca.trace(R)


def chain_or_kind(transitions: Sequence[Transition] | JointKind) -> JointKind:
    """The general joint: a chain of transitions from parent to child.

    transitions: a list of ``mg.rot``, ``mg.move``, ``mg.screw`` and ``mg.ball``; or a kind of one's
        own.
    """
    return transitions if isinstance(transitions, JointKind) else Chain(transitions)


class Joint(Described):
    """An edge of the graph: the frame ``parent`` and the frame ``child`` joined by a ``kind``.

    ``at`` and ``orientation`` place its frame on the parent, ``child_at`` and ``child_orientation``
    on the child. ``cut`` tells the spanning tree: True cuts the joint, False keeps it, None leaves
    the choice.
    """

    field: ClassVar[Field] = Field("joint")

    def __init__(
        self,
        name: str,
        parent: Body | Marker,
        child: Body | Marker,
        kind: JointKind,
        cut: bool | None = None,
        *,
        at: Vector = ORIGIN,
        orientation: Orientation = None,
        child_at: Vector = ORIGIN,
        child_orientation: Orientation = None,
    ) -> None:
        self.name, self.kind = name, kind
        self.parent = _joint_frame(f"{name}:parent", parent, at, orientation)
        self.child = _joint_frame(f"{name}:child", child, child_at, child_orientation)
        self.cut = choice("cut", cut, (True, False, None), ModelError)

    @cached_property
    def transitions(self) -> list[Transition]:
        return self.kind.transitions()

    @property
    def coordinates(self) -> list[str]:
        """Names of the coordinates: the joint's own name if there is only one, else
        ``joint.transition``."""
        return self._full([name for step in self._moving_steps for name in step.coordinates], "")

    @property
    def speeds(self) -> list[str]:
        """Names of the speeds: those of the coordinates with a prime; ``.wx .wy .wz`` for
        quaternions."""
        return self._full([name for step in self._moving_steps for name in step.speeds], "'")

    @property
    def angles(self) -> list[str]:
        """Names of the coordinates that can be measured up to whole turns only."""
        return [name for name, step in self.steps.items() if isinstance(step, Rotation)]

    @property
    def lengths(self) -> list[str]:
        """Names of the coordinates that are lengths."""
        return [name for name, step in self.steps.items() if isinstance(step, Translation)]

    @property
    def steps(self) -> dict[str, Transition]:
        """The transition that each coordinate drives."""
        steps = [step for step in self._moving_steps for _ in step.coordinates]
        return dict(zip(self.coordinates, steps, strict=True))

    @property
    def _moving_steps(self) -> list[Transition]:
        return [step for step in self.transitions if step.moves]

    def _full(self, local: list[str], prime: str) -> list[str]:
        return [self.name + prime] if len(local) == 1 else [f"{self.name}.{name}" for name in local]


Coordinate: TypeAlias = Annotated[str | Joint, Field("coordinate")]
"""The name of a joint's coordinate, or a joint."""

JointOrName: TypeAlias = Annotated[Joint | str, Field("joint")]
"""A joint; in calls of a system and in files also its name."""


def _joint_frame(name: str, place: Body | Marker, at: Vector, turned: Any) -> Marker:
    """A frame on a place; the place itself, if nothing is said of it."""
    untouched = turned is None and at is ORIGIN
    return marker_on(place) if untouched else Marker(name, place, at, turned)
