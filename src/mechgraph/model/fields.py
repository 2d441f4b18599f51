"""Fields of the arguments of elements: the one place that their annotations are read.

Each argument has a *field*, which its annotation says: a number, a place, an axis, a law … The
builder asks it where a name may stand for a place or a joint; model files ask it how a value is
read, written and described in their schema. What else is to be known of an argument, such as its
dimension, would be one more entry of its field.
"""

from __future__ import annotations

import builtins
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from types import NoneType, UnionType
from typing import TYPE_CHECKING, Annotated, Any, Literal, TypeAlias, Union, get_args, get_origin

import numpy as np
from casadi import SX

if TYPE_CHECKING:
    from .motion import Motion
else:
    Motion = Any  # a room above, which type checkers alone ask for

Kind = Literal[
    "number", "numbers", "by name", "per coordinate", "law", "function", "axis", "orientation",
    "place", "joint", "coordinate", "object", "node", "step", "list", "text", "flag",
    "friction", "joint friction", "limits", "anything",
]  # fmt: skip


@dataclass(frozen=True)
class Field:
    """The kind of an argument.

    arguments: of a function, if an expression in a file may stand for it; none for the motion.
    item: the field of each entry of a list.
    optional: True if it may be None.
    """

    kind: Kind
    arguments: tuple[str, ...] = ()
    item: Field | None = None
    optional: bool = False


ANYTHING = Field("anything")

Number: TypeAlias = Annotated[float | SX, Field("number")]
"""A float, a parameter, or an expression of parameters and time."""

Vector: TypeAlias = Annotated[Sequence[Number] | np.ndarray | SX, Field("numbers")]
"""Several numbers, three unless said otherwise."""

Numbers: TypeAlias = Annotated[Number | Vector, Field("numbers")]
"""One number, or several."""

ByName: TypeAlias = Annotated[Mapping[str, Number], Field("by name")]
"""Numbers by the names of coordinates."""

PerCoordinate: TypeAlias = Annotated[Numbers | ByName, Field("per coordinate")]
"""One number for all coordinates of a joint, one for each, or those of some by name."""

Axis: TypeAlias = Annotated[str | Vector, Field("axis")]
""""x", "-y", or a unit vector."""

Orientation: TypeAlias = Annotated[Any, Field("orientation")]
"""A rotation, see ``vectors.orientation``."""

MotionFunction: TypeAlias = Annotated[Callable[[Motion], Any], Field("function")]
"""A function of the motion."""

Law: TypeAlias = Annotated[Number | Vector | Callable[[Motion], Any], Field("law")]
"""A number, an expression, an input, or a function of the motion; or several numbers."""

AngleLaw: TypeAlias = Annotated[
    Callable[[SX, SX, SX], Any], Field("function", ("time", "angle", "rate"))
]
"""A function of time, an angle and its rate."""

PointFunction: TypeAlias = Annotated[Callable[[SX, SX, SX], SX], Field("function", ("x", "y", "z"))]
"""A function of the coordinates of a point."""

CurveFunction: TypeAlias = Annotated[Callable[[SX], Any], Field("function", ("s",))]
"""A function of the parameter of a curve."""

_PLAIN: dict[Any, Field] = {
    bool: Field("flag"),
    str: Field("text"),
    int: Field("number"),
    float: Field("number"),
    SX: Field("number"),
    Callable: Field("function"),
    Mapping: Field("by name"),
}


def fields_of(call: Callable[..., Any]) -> Mapping[str, Field]:
    """The field of each argument of a class, a function or a method."""
    return _fields(getattr(call, "__func__", call))


@cache
def _fields(call: Callable[..., Any]) -> Mapping[str, Field]:
    known: Mapping[str, Field] | None = getattr(call, "fields", None)
    if known is not None:
        return known
    function = call.__init__ if inspect.isclass(call) else inspect.unwrap(call)
    names = {**vars(builtins), **getattr(function, "__globals__", {})}
    given = inspect.signature(call).parameters.values()
    return {p.name: field_of(_resolve(p.annotation, names)) for p in given if p.name != "self"}


def _resolve(annotation: Any, names: dict[str, Any]) -> Any:
    """The meaning of an annotation; anything, if it uses names that only type checkers know."""
    if not isinstance(annotation, str):
        return annotation
    try:
        return eval(annotation, names)
    except Exception:  # whatever a user's text raises
        return Any


def field_of(annotation: Any) -> Field:
    """The field that an annotation says."""
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        said = (each for each in annotation.__metadata__ if isinstance(each, Field))
        return next(said, None) or field_of(inner[0])
    if origin in (Union, UnionType):
        said = (field_of(each) for each in inner if each is not NoneType)
        first = next((each for each in said if each is not ANYTHING), ANYTHING)
        return replace(first, optional=True) if NoneType in inner else first
    if origin is Sequence:
        item = field_of(inner[0])
        return Field("numbers") if item.kind == "number" else Field("list", item=item)
    if inspect.isclass(annotation) and hasattr(annotation, "field"):
        own: Field = annotation.field
        return own
    return _PLAIN.get(origin or annotation, ANYTHING)
