"""Joints as they are built: what their options ``limits``, ``friction``, ``armature`` hang on them.

Each option is one value for a joint with one coordinate, a mapping by coordinate ({"angle": …}), or
a list with one for each coordinate (None for nothing).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias

from ..errors import ModelError, unknown
from ..tables.table import Table
from .bodies import ORIGIN
from .constraints import Constraint
from .contact.friction import Friction
from .fields import Field, Number, Numbers, Orientation, PerCoordinate, Vector
from .forces import Force, JointSpring, Rotor
from .joint_friction import DryFriction, JointFriction, SmoothFriction
from .joint_limits import Backlash, CompliantStop, Limits, RigidStop
from .joints import Joint, Revolute
from .transitions import Ball

JointLimits: TypeAlias = Annotated[
    Limits | Sequence[Number | None] | Mapping[str, Any], Field("limits")
]
"""A pair (low, high), or ``mg.Limits``; or several by the names of coordinates."""

JointFrictionLaw: TypeAlias = Annotated[
    Number | DryFriction | Friction | Mapping[str, Any], Field("joint friction")
]
"""A force or torque, or a law of friction; or several by the names of coordinates."""


@dataclass(frozen=True, eq=False)
class JointOptions:
    """Options of every joint.

    at, orientation: where its frame is on the parent; (0, 0, 0) and the parent's axes if not given.
        An orientation is a 3x3 matrix, a scalar-first quaternion, or a list of turns such as
        [("z", 0.3), ("x", 1.2)].
    child_at, child_orientation: the same on the child.
    stiffness, damping, rest: a spring and damper along its coordinates, one number for all or one
        for each.
    backlash: play of that spring: it does not act within backlash/2 of rest.
    limits: stops of a coordinate, (low, high), or ``mg.Limits`` for restitution or stiffness; by
        coordinate, {"angle": (-1, 1)}, if there are several.
    friction: dry friction that sticks, a force or torque, or ``mg.DryFriction``; with
        ``mg.Friction`` it is smooth, and creeps.
    armature: inertia that turns with a coordinate and nothing else, such as that of a motor's rotor
        times the square of its gear's ratio.
    cut: True cuts this joint of a loop, False keeps it in the tree, None leaves the choice.
    """

    at: Vector = ORIGIN
    orientation: Orientation = None
    child_at: Vector = ORIGIN
    child_orientation: Orientation = None
    stiffness: Numbers | Table | Sequence[Number | Table] = 0
    damping: Numbers = 0
    rest: Numbers = 0
    backlash: Number | None = None
    limits: JointLimits | None = None
    friction: JointFrictionLaw | None = None
    armature: PerCoordinate | None = None
    cut: bool | None = None


def option_elements(joint: Joint, options: JointOptions) -> Iterator[Force | Constraint]:
    """The elements that a joint's options say: its spring, then the others coordinate by
    coordinate."""
    yield from _spring(joint, options)
    for option, make in MAKERS.items():
        for coordinate, value in _each(joint, option, getattr(options, option)):
            try:
                yield make(joint, coordinate, value)
            except ModelError as error:
                many = len(joint.coordinates) > 1
                where = f"{coordinate!r}: " if many else ""
                raise ModelError(f"{where}{problem}" for problem in error.problems) from error


def options_of(joint: Joint, elements: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """The way back: the options that these elements of a joint come from, by coordinate."""
    out: dict[str, dict[str, Any]] = {}
    for element in elements:
        option = element.joint_option
        if option in MAKERS and element.coordinate in joint.coordinates:
            value = element._given["inertia" if option == "armature" else "law"]
            out.setdefault(option, {})[_short(joint, element.coordinate)] = value
    return out


def _each(joint: Joint, option: str, value: Any) -> Iterator[tuple[str, Any]]:
    """An option by the full names of the coordinates."""
    names = _scalar_coordinates(joint)
    full = {**{name: name for name in names}, **{_short(joint, name): name for name in names}}
    if value is None:
        return
    if not names:
        raise ModelError(
            f"{option}= needs a coordinate that is one number (an angle or a shift), and this "
            "joint has none; use a universal joint or a chain of mg.rot in place of a ball"
        )
    if isinstance(value, Mapping):
        for key, own in value.items():
            if key not in full:
                raise ModelError(f"{option}=: {unknown('coordinate', key, full)}")
            yield full[key], own
    elif len(joint.coordinates) == 1:
        yield names[0], value
    elif isinstance(value, list) and len(value) == len(joint.coordinates) == len(names):
        yield from ((name, own) for name, own in zip(names, value, strict=True) if own is not None)
    else:
        example = _short(joint, names[0])
        raise ModelError(
            f"{option}= must say which coordinate it is of, {{{example!r}: …}}: this joint has "
            f"{', '.join(joint.coordinates)}"
        )


def _short(joint: Joint, name: str) -> str:
    return name.removeprefix(f"{joint.name}.")


def _scalar_coordinates(joint: Joint) -> list[str]:
    """Names of the coordinates that are no part of a quaternion."""
    return [name for name, step in joint.steps.items() if not isinstance(step, Ball)]


def _spring(joint: Joint, options: JointOptions) -> Iterator[Force]:
    laws = options.stiffness, options.damping, options.rest
    if _is_zero(options.stiffness) and _is_zero(options.damping) and options.backlash is None:
        return
    if any(isinstance(step, Ball) for step in joint.transitions):
        raise ModelError(
            "stiffness and damping in a joint need scalar coordinates; use spring_damper or "
            "body_torque"
        )
    if not any(step.moves for step in joint.transitions):
        raise ModelError("stiffness and damping need a coordinate, and this joint has none")
    name = f"{joint.name} spring"
    if options.backlash is None:
        yield JointSpring(name, joint.name, len(joint.speeds), *laws)
    elif len(joint.coordinates) != 1:
        raise ModelError("backlash= is of a joint with one coordinate; use backlash() for one")
    else:
        yield Backlash(name, {joint.coordinates[0]: 1}, options.backlash, *laws)


def _is_zero(value: Any) -> bool:
    return isinstance(value, (int, float)) and value == 0


def _stop(joint: Joint, coordinate: str, value: Any) -> Force | Constraint:
    law, name = Limits.of(value), f"{coordinate} limits"
    kind = RigidStop if law.stiffness is None else CompliantStop
    return kind(name, coordinate, law)


def _rotor(joint: Joint, coordinate: str, value: Any) -> Force:
    return Rotor(f"{coordinate} rotor", coordinate, value)


def _friction(joint: Joint, coordinate: str, value: Any) -> Force | Constraint:
    name = f"{coordinate} friction"
    if isinstance(value, Friction):
        return SmoothFriction(name, coordinate, value)
    law = value if isinstance(value, DryFriction) else DryFriction(value)
    if law.radius is None:
        return JointFriction(name, coordinate, law)
    if not isinstance(joint.kind, Revolute):
        raise ModelError("radius= of friction is that of a pin: of a revolute joint")
    return JointFriction(name, coordinate, law, joint.kind.axis)


def is_pin(friction: Any) -> bool:
    """True if friction grows with the joint's reaction, which has to be a multiplier then."""
    return isinstance(friction, DryFriction) and friction.radius is not None


MAKERS: dict[str, Callable[[Joint, str, Any], Force | Constraint]] = {
    "limits": _stop,
    "friction": _friction,
    "armature": _rotor,
}
