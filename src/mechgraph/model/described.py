"""What every element of a description has in common: it is what was said, and stays so.

An element remembers the arguments that it was made with, and cannot be changed afterwards. So two
elements are equal if the same was said of them; they can be hashed, copied, pickled and printed
without a word of their own, a user's classes, too.
"""

from __future__ import annotations

import inspect
from abc import ABCMeta
from collections.abc import Callable, Hashable, Iterator, Mapping
from functools import cache
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any, ClassVar, NoReturn, Self, TypeVar

import casadi as ca
import numpy as np
from casadi import SX
from scipy.spatial.transform import Rotation

from ..pickling import Picklable
from .fields import Field, fields_of

Key = TypeVar("Key")
Value = TypeVar("Value")


class _Sealing(ABCMeta):
    """Makes an object, notes what it was made with, and seals it."""

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        try:
            bound = cls.__signature__.bind(*arguments, **options)
        except TypeError as error:
            words = [p.replace(annotation=p.empty) for p in cls.__signature__.parameters.values()]
            takes = inspect.Signature(words)
            raise TypeError(f"{cls.__name__}: {error}; it takes {takes}") from None
        made = super().__call__(*arguments, **options)
        bound.apply_defaults()
        object.__setattr__(made, "_given", Record(bound.arguments))
        return made

    @property
    def __signature__(cls) -> inspect.Signature:
        """That of its constructor, for ``help`` and for the record."""
        return _signature(cls)


@cache
def _signature(cls: type) -> inspect.Signature:
    if cls.__init__ is object.__init__:  # type: ignore[misc]
        return inspect.Signature()
    own = list(inspect.signature(cls.__init__).parameters.values())[1:]  # type: ignore[misc]
    return inspect.Signature(own)


class Described(Picklable, metaclass=_Sealing):
    """Base of bodies, markers, joints, forces, constraints, surfaces: a value, made once."""

    field: ClassVar[Field] = Field("object")  # of an argument that is one
    _given: Mapping[str, Any]  # the arguments as given, by name

    def with_places(self, place: Callable[[Any], Any]) -> Self:
        """The same with each of its places looked up, where names were given."""
        fields = fields_of(type(self))
        found = {
            key: place(value)
            for key, value in self._given.items()
            if fields[key].kind == "place" and isinstance(value, str)
        }
        return type(self)(**{**self._given, **found}) if found else self

    def __setattr__(self, name: str, value: Any) -> None:
        if "_given" in self.__dict__:
            self._refuse(name)
        object.__setattr__(self, name, value)

    def __delattr__(self, name: str) -> None:
        self._refuse(name)

    def _refuse(self, name: str) -> NoReturn:
        raise AttributeError(
            f"{type(self).__name__} {getattr(self, 'name', '')!r} cannot be changed ({name}) once "
            "it "
            "is made; use a parameter for what is to change, or describe another one"
        )

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Described):
            return NotImplemented
        return self is other or canonical(self) == canonical(other)

    def __hash__(self) -> int:
        return hash(canonical(self))

    def __repr__(self) -> str:
        parameters = _signature(type(self)).parameters
        listed = ", ".join(
            f"{name}={_printed(value)}"
            for name, value in self._given.items()
            if value is not parameters[name].default  # what was said, and nothing else
        )
        return f"{type(self).__name__}({listed})"


class Record(Mapping[Key, Value]):
    """A mapping that cannot be changed, in the order in which it was said."""

    def __init__(self, entries: Mapping[Key, Value]) -> None:
        self._entries = dict(entries)

    def __getitem__(self, key: Key) -> Value:
        return self._entries[key]

    def __iter__(self) -> Iterator[Key]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)

    def __repr__(self) -> str:
        return repr(self._entries)


def _printed(value: Any) -> str:
    """A value as it was said; another element by its name."""
    if isinstance(value, Described) and hasattr(value, "name"):
        return repr(value.name)
    if isinstance(value, FunctionType):
        return f"<function {value.__name__}>"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_printed(item) for item in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    return str(value) if isinstance(value, SX) else repr(value)


# --- what is the same -----------------------------------------------------------------------------


def canonical(value: Any) -> Hashable:
    """A value as data that can be compared and hashed: equal for all that says the same.

    Expressions are equal if they are the same operations on symbols of the same names; functions if
    they have the same code and close over what is equal.
    """
    return _canonical(value, frozenset())


def _canonical(value: Any, outer: frozenset[int]) -> Hashable:
    if id(value) in outer:  # a function that closes over itself
        return "…"
    within = outer | {id(value)}
    for kind, read in _READERS.items():
        if isinstance(value, kind):
            return read(value, within)
    if hasattr(value, "__dict__") and _compares_by_identity(type(value)):
        return type(value).__qualname__, _of_mapping(_held(value), within)
    try:
        hash(value)
    except TypeError:
        return _Identity(value)
    return value


def _held(value: Any) -> dict[str, Any]:
    """What an object holds, but not the description that a system keeps of itself: a function may
    close over the system that it is part of."""
    return {name: item for name, item in vars(value).items() if name != "_snapshot"}


def _compares_by_identity(kind: type) -> bool:
    """True for classes that say nothing of when two of them are equal."""
    owner = next(base for base in kind.__mro__ if "__eq__" in vars(base))
    return owner is object


def _of_described(value: Described, within: frozenset[int]) -> Hashable:
    return type(value).__qualname__, _of_mapping(value._given, within)


def _of_mapping(value: Mapping[Any, Any], within: frozenset[int]) -> Hashable:
    return tuple((name, _canonical(item, within)) for name, item in value.items())


def _of_sequence(value: Any, within: frozenset[int]) -> Hashable:
    return tuple(_canonical(item, within) for item in value)


def _of_array(value: np.ndarray, within: frozenset[int]) -> Hashable:
    if value.dtype == object:
        return value.shape, _of_sequence(value.ravel(), within)
    return _of_sequence(value.tolist() if value.ndim else [value.item()], within)


def _of_expression(value: SX, within: frozenset[int]) -> Hashable:
    """Entry by entry; a column is the same as a list of its entries, a matrix as one of its
    rows."""
    if value.is_scalar():
        return _of_entry(ca.densify(value))
    rows = [ca.densify(value[k, :]) for k in range(value.shape[0])]
    if value.is_column():
        return tuple(_of_entry(row) for row in rows)
    return tuple(tuple(_of_entry(entry) for entry in row.elements()) for row in rows)


def _of_entry(value: SX) -> Hashable:
    if value.is_constant():
        return float(value)
    symbols = sorted(ca.symvar(value), key=lambda symbol: symbol.name())
    x = ca.vertcat(*symbols)
    again = ca.Function("as_said", [x], [value])(x)  # CasADi simplifies what it makes
    function = ca.Function("expression", [x], [ca.cse(again)])
    return tuple(symbol.name() for symbol in symbols), function.serialize({})


def _of_function(value: FunctionType, within: frozenset[int]) -> Hashable:
    cells = (_cell(cell) for cell in value.__closure__ or ())
    closed = tuple(_canonical(content, within) for content in cells)
    return value.__code__, _canonical(value.__defaults__, within), closed


def _cell(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


class _Identity:
    """Something that can be told from others only by being itself."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Identity) and self.value is other.value

    def __hash__(self) -> int:
        return id(self.value)


_READERS: dict[type | tuple[type, ...], Callable[[Any, frozenset[int]], Hashable]] = {
    Described: _of_described,
    Mapping: _of_mapping,
    (list, tuple): _of_sequence,
    (set, frozenset): lambda value, within: frozenset(_canonical(x, within) for x in value),
    np.ndarray: _of_array,
    np.generic: lambda value, within: value.item(),
    SX: _of_expression,
    ca.DM: lambda value, within: _of_expression(SX(value), within),
    Rotation: lambda value, within: _of_array(value.as_matrix(), within),
    FunctionType: _of_function,
    MethodType: lambda value, within: (
        _of_function(value.__func__, within),
        _canonical(value.__self__, within),
    ),
    (ModuleType, type, CodeType): lambda value, within: value,
}
