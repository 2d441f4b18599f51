"""How the builder's methods read their calls: real signatures, and complaints where they stand."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypedDict, TypeVar

from ..arguments import name_of, reserved
from ..errors import MechgraphError, ModelError, unknown
from .bodies import ORIGIN, Number, Vector

if TYPE_CHECKING:
    from .contact.friction import Friction
    from .rubbing import DryFriction
    from .stops import Limits

P = ParamSpec("P")
R = TypeVar("R")


class JointOptions(TypedDict, total=False):
    """What every joint takes.

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

    at: Vector
    orientation: Any
    child_at: Vector
    child_orientation: Any
    stiffness: Number
    damping: Number
    rest: Number
    backlash: Number | None
    limits: Limits | Sequence[Number | None] | Mapping[str, Any]
    friction: DryFriction | Friction | Number | Mapping[str, Any]
    armature: Number | Mapping[str, Any]
    cut: bool | None


DEFAULTS: dict[str, Any] = {
    "at": ORIGIN,
    "orientation": None,
    "child_at": (0, 0, 0),
    "child_orientation": None,
    "stiffness": 0,
    "damping": 0,
    "rest": 0,
    "backlash": None,
    "limits": None,
    "friction": None,
    "armature": None,
    "cut": None,
}


def sentence(kind: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A method of the builder that says something of a ``kind`` of element, its name first.

    A call with too few, too many or unknown arguments, and everything that can be seen to be wrong
    from the call alone, is a ``ModelError`` at once, which names the element.
    """

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        signature = _expanded(inspect.signature(method))

        @wraps(method)
        def said(*arguments: P.args, **options: P.kwargs) -> R:
            try:
                bound = signature.bind(*arguments, **options)
            except TypeError as error:
                raise _wrong_call(kind, signature, error, arguments, options) from None
            name_of(kind, bound.arguments["name"])
            try:
                return method(*arguments, **options)
            except ModelError as error:
                culprit = f"{kind} {bound.arguments['name']!r}: "
                problems = (p.removeprefix(culprit) for p in error.problems)
                raise ModelError(culprit + problem for problem in problems) from error
            except MechgraphError:
                raise

        said.__signature__ = signature  # type: ignore[attr-defined]
        if any(name in signature.parameters for name in DEFAULTS):
            said.__doc__ = f"{inspect.cleandoc(method.__doc__ or '')}\n\n{_common_options()}"
        return said

    return decorate


def check_answers(kind: str, name: str) -> None:
    """Refuse a name to which something else would answer."""
    reason = reserved(name)
    if reason is not None:
        raise ModelError(f"{kind} {name!r}: {reason}; rename it")


def _common_options() -> str:
    """What the docstring of ``JointOptions`` says of each option."""
    return inspect.cleandoc(JointOptions.__doc__ or "").partition("\n\n")[2]


def _expanded(signature: inspect.Signature) -> inspect.Signature:
    """The signature with ``**options: Unpack[JointOptions]`` written out."""
    plain = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    if len(plain) == len(signature.parameters):
        return signature
    hints = JointOptions.__annotations__  # the words that stand there, not what they stand for
    common = [
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=value,
            annotation=getattr(hints[name], "__forward_arg__", hints[name]),
        )
        for name, value in DEFAULTS.items()
    ]
    return signature.replace(parameters=[*plain, *common])


def _wrong_call(
    kind: str, signature: inspect.Signature, error: TypeError, arguments: Any, options: Any
) -> ModelError:
    taken = [p for p in signature.parameters.values() if p.name != "self"]
    own = [p.name for p in taken]
    name = options.get("name", arguments[1] if len(arguments) > 1 else None)
    wrong = [unknown("option", key, own) for key in options if key not in own]
    wanted = inspect.Signature([p.replace(annotation=p.empty) for p in taken])
    return ModelError(
        f"{kind} {name!r}: {problem}" for problem in wrong or [f"{error}; it takes {wanted}"]
    )
