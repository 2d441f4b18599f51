"""Joints as they are built: what their options ``limits``, ``friction``, ``armature`` hang on them.

Each option is one value for a joint with one coordinate, a mapping by coordinate ({"angle": …}), or
a list with one for each coordinate (None for nothing).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from ..errors import ModelError, unknown
from .constraints import Constraint
from .contact.friction import Friction
from .forces import Force, Rotor
from .joints import Joint, Revolute
from .rubbing import DryFriction, JointFriction, SmoothFriction
from .stops import CompliantStop, Limits, RigidStop
from .transitions import Ball


def fittings(joint: Joint, options: Mapping[str, Any]) -> Iterator[Force | Constraint]:
    """The elements that a joint's options say, coordinate by coordinate."""
    for option, make in FITTINGS.items():
        for coordinate, value in _each(joint, option, options.get(option)):
            try:
                yield make(joint, coordinate, value)
            except ModelError as error:
                many = len(joint.coordinates) > 1
                where = f"{coordinate!r}: " if many else ""
                raise ModelError(f"{where}{problem}" for problem in error.problems) from error


def fitted(joint: Joint, elements: Iterable[Any]) -> dict[str, dict[str, Any]]:
    """The way back: the options that these elements of a joint come from, by coordinate."""
    out: dict[str, dict[str, Any]] = {}
    for element in elements:
        option = OPTIONS.get(type(element))
        if option is not None and element.coordinate in joint.coordinates:
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
    moving = [step for step in joint.transitions if step.moves]
    steps = [step for step in moving for _ in step.coordinates]
    named = zip(joint.coordinates, steps, strict=True)
    return [name for name, step in named if not isinstance(step, Ball)]


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
    return JointFriction(name, coordinate, law, joint.kind.e)


def is_pin(options: Mapping[str, Any]) -> bool:
    """True if friction grows with the joint's reaction, which has to be a multiplier then."""
    law = options.get("friction")
    return isinstance(law, DryFriction) and law.radius is not None


FITTINGS: dict[str, Callable[[Joint, str, Any], Force | Constraint]] = {
    "limits": _stop,
    "friction": _friction,
    "armature": _rotor,
}

OPTIONS: dict[type, str] = {
    RigidStop: "limits",
    CompliantStop: "limits",
    JointFriction: "friction",
    SmoothFriction: "friction",
    Rotor: "armature",
}
