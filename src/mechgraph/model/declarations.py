"""Declared arguments of elements: in the body of a class ``length: SX = positive()`` is an
argument, a positive number, parameter or expression, that is stored as an expression."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from inspect import Parameter
from typing import Any

import casadi as ca
from casadi import SX

from ..errors import ModelError
from ..vectors import axis, column, scalar
from .bodies import marker_on
from .described import Argument
from .fields import Field, Kind
from .parameter_checks import Fraction, Limit

REQUIRED: Any = Parameter.empty
LimitOf = Callable[[str, SX], Limit]


def argument(
    annotation: str,
    kind: Kind,
    read: Callable[[Any, str], Any] = lambda value, _: value,
    default: Any = REQUIRED,
    limit: Callable[[str, Any], Iterable[Limit]] = lambda *_: (),
    item: Field | None = None,
) -> Any:
    """An argument as its element declares it, see ``described.Argument``."""
    return Argument(annotation, Field(kind, item=item), read, default, limit)


def place(default: Any = REQUIRED) -> Any:
    """A body or marker, stored as a marker."""
    return argument("Place", "place", lambda value, _: marker_on(value), default)


def coordinate() -> Any:
    """The name of a coordinate, or a joint, whose name stands for all that it has."""
    return argument("Coordinate", "coordinate", lambda value, _: coordinate_name(value))


def coordinate_name(coordinate: Any) -> str:
    """The name of a coordinate; of a joint, its own, which stands for all that it has."""
    return str(getattr(coordinate, "name", coordinate))


def number(default: Any = REQUIRED, limit: LimitOf | None = None, what: str = "") -> Any:
    """A number, a parameter or an expression, within a limit; ``what`` it is called in messages, if
    not by its own name."""

    def read(value: Any, name: str) -> SX:
        return scalar(value, what or name)

    def limits(name: str, value: SX) -> Iterable[Limit]:
        return () if limit is None else (limit(what or name, value),)

    return argument("Number", "number", read, default, limits)


def law(default: Any = REQUIRED, read: Callable[[Any, str], Any] = scalar) -> Any:
    """A function of the motion, or what is ``read``: a number, an expression, an input."""
    return argument("Law", "law", lambda x, name: x if callable(x) else read(x, name), default)


def coefficients() -> Any:
    """Numbers by the names of coordinates."""
    return argument("ByName", "by name", _coefficients)


def _coefficients(values: Any, name: str) -> Mapping[str, SX]:
    if not isinstance(values, Mapping):
        raise ModelError(
            f"{name} must be a mapping such as {{'j1': 1.0, 'j2': -2.5}}, got {values!r}"
        )
    if not values:
        raise ModelError("a coupling needs at least one coordinate")
    return {key: scalar(value, f"coefficient of {key!r}") for key, value in values.items()}


def positive(default: Any = REQUIRED, hint: str = "") -> Any:
    """A number above zero; ``hint`` is what to do with another one."""
    return number(default, partial(Limit, hint=hint))


def not_negative(default: Any = REQUIRED, what: str = "") -> Any:
    """A number from zero on."""
    return number(default, partial(Limit, positive=False), what)


def fraction(default: Any = REQUIRED) -> Any:
    """A number from 0 to 1."""
    return number(default, Fraction)


def numbers(
    size: int,
    default: Any = REQUIRED,
    limit: LimitOf | None = None,
    alone: Callable[[Any], Sequence[Any]] | None = None,
) -> Any:
    """A column of numbers, each within a limit; ``alone`` makes all of them of a single one."""

    def read(value: Any, name: str) -> SX:
        single = isinstance(value, (int, float)) or (isinstance(value, SX) and value.is_scalar())
        return column(alone(value) if alone is not None and single else value, size, name)

    def limits(name: str, value: SX) -> Iterable[Limit]:
        return () if limit is None else [limit(name, each) for each in ca.vertsplit(value)]

    annotation = "Vector" if alone is None else "Numbers"
    return argument(annotation, "numbers", read, default, limits)


def direction(default: Any = REQUIRED, limit: LimitOf | None = None) -> Any:
    """A unit vector, with a limit of its length."""

    def limits(name: str, value: SX) -> Iterable[Limit]:
        return () if limit is None else (limit(name, ca.norm_2(value)),)

    return argument("Axis", "axis", axis, default, limits)
