"""Methods of the builder, and how they read their calls: real signatures, and complaints where
they stand.

The methods that make joints, forces and constraints are made here from their classes, whose
constructors say the arguments and whose docstrings say what these mean.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

from ..arguments import name_of, reserved
from ..errors import ModelError, blamed, unknown
from . import kinds
from .element import Element
from .fields import Field, fields_of
from .joint_options import JointOptions
from .joints import JointKind, chain_or_kind

if TYPE_CHECKING:
    from .system import System

P = ParamSpec("P")
R = TypeVar("R")
Parameter = inspect.Parameter
NAMED = [
    Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation)
    for name, annotation in {"self": Parameter.empty, "name": "str"}.items()
]
ENDS = [
    Parameter(name, Parameter.POSITIONAL_OR_KEYWORD, annotation="Place")
    for name in ("parent", "child")
]


def builder_call(kind: str) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """A method of the builder that makes a ``kind`` of element, its name first.

    A call with too few, too many or unknown arguments, and everything that can be seen to be wrong
    from the call alone, is a ``ModelError`` at once, which names the element.
    """

    def decorate(method: Callable[P, R]) -> Callable[P, R]:
        signature = inspect.signature(method)

        @wraps(method)
        def called(*arguments: P.args, **options: P.kwargs) -> R:
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

        called.__signature__ = signature  # type: ignore[attr-defined]
        return called

    return decorate


def method_of(word: str) -> Callable[..., Any]:
    """The method that makes what is listed under a word."""
    if word == "joint":
        return joint_method(word, chain_or_kind)
    if word in kinds.JOINTS:
        return joint_method(word, kinds.JOINTS[word])
    return element_method(word, {**kinds.FORCES, **kinds.CONSTRAINTS}[word])


def words() -> list[str]:
    """All words that are listed."""
    return ["joint", *kinds.JOINTS, *kinds.FORCES, *kinds.CONSTRAINTS]


def element_method(word: str, kind: type[Element]) -> Callable[..., Any]:
    """The method ``word`` that makes forces or constraints of a class: with the arguments of its
    constructor, where names may stand for places and joints."""
    own, fields = inspect.signature(kind), fields_of(kind)
    if "word" not in vars(kind):
        kind.word = word

    def method(system: System, *arguments: Any, **options: Any) -> Element:
        bound = own.bind(*arguments, **options)
        bound.apply_defaults()
        for key, value in bound.arguments.items():
            bound.arguments[key] = system._argument(fields[key], value)
        with blamed(f"{word} {bound.arguments['name']!r}"):
            element = kind(*bound.args, **bound.kwargs)
        return system.add(element)  # type: ignore[type-var]

    parameters = [NAMED[0], *own.parameters.values()]
    return _method(word, word, method, parameters, kind, fields)


def joint_method(word: str, make: Callable[..., JointKind]) -> Callable[..., Any]:
    """The method ``word`` that joins two places by a kind of joint: with the arguments of ``make``,
    and those of every joint."""
    own, common = (inspect.signature(each).parameters for each in (make, JointOptions))

    def method(system: System, *arguments: Any, **options: Any) -> Any:
        given = signature.bind(system, *arguments, **options).arguments
        name, parent, child = (given[key] for key in ("name", "parent", "child"))
        with blamed(f"joint {name!r}"):
            kind = make(**{key: given[key] for key in own if key in given})
        said = JointOptions(**{key: given[key] for key in common if key in given})
        return system._join(name, parent, child, kind, said)

    needed = [p for p in own.values() if p.default is p.empty]
    others = (p for p in (*own.values(), *common.values()) if p not in needed)
    optional = [p.replace(kind=Parameter.KEYWORD_ONLY) for p in others]
    signature = inspect.Signature([*NAMED, *ENDS, *needed, *optional])
    places = {"parent": Field("place"), "child": Field("place")}
    fields = {"name": Field("text"), **places, **fields_of(make), **fields_of(JointOptions)}
    said = _method(word, "joint", method, [*signature.parameters.values()], make, fields)
    meaning = inspect.cleandoc(JointOptions.__doc__ or "").partition("\n\n")[2]
    said.__doc__ = f"{inspect.getdoc(make)}\n\n{meaning}"
    return said


def _method(
    word: str, kind: str, method: Any, parameters: list[Parameter], make: Any, fields: Any
) -> Callable[..., Any]:
    """A function as a method of the builder, with what it says of itself."""
    method.__name__, method.__qualname__ = word, f"System.{word}"
    method.__module__, method.__doc__ = make.__module__, inspect.getdoc(make)
    method.fields = fields
    returned = "Joint" if kind == "joint" else make.__name__
    method.__signature__ = inspect.Signature(parameters, return_annotation=returned)
    return builder_call(kind)(method)


def check_answers(kind: str, name: str) -> None:
    """Refuse a name to which something else would answer."""
    reason = reserved(name)
    if reason is not None:
        raise ModelError(f"{kind} {name!r}: {reason}; rename it")


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
