"""Base of all elements of a description: values, made once and never changed.

An element remembers the arguments that it was made with. So two elements are equal if the same was
said of them; they can be hashed, copied, pickled and printed without a word of their own, a user's
classes, too. A class may *declare* its arguments (``Argument``, ``declarations.py``); then they are
read, checked and stored under their names without a constructor.
"""

from __future__ import annotations

import inspect
from abc import ABCMeta
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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


@dataclass(frozen=True)
class Argument:
    """An argument of an element, declared in its class.

    annotation: what it is in the signature.
    field: what it is in calls and files.
    read: makes of a value, and of what it is called in messages, what the element stores.
    default: the value if none is given; the argument is required without one.
    limit: makes of its name and of what is stored the limits that this must keep.
    """

    annotation: str
    field: Field
    read: Callable[[Any, str], Any]
    default: Any = inspect.Parameter.empty
    limit: Callable[[str, Any], Iterable[Any]] = lambda *_: ()

    def __get__(self, element: Any, owner: type) -> Any:
        raise AttributeError("not given yet")

    def parameter(self, name: str) -> inspect.Parameter:
        """The argument in a signature."""
        hint = f"{self.annotation} | None" if self.default is None else self.annotation
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        return inspect.Parameter(name, kind, default=self.default, annotation=hint)

    def read_value(self, given: Any, name: str) -> tuple[Any, list[Any]]:
        """The value that the element stores, and its limits, with those that it brings along."""
        if given is None and self.default is None:
            return None, []
        value = self.read(given, name)
        return value, [*self.limit(name, value), *getattr(value, "limits", ())]


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
        """The signature of its constructor, for ``help`` and for the record."""
        return _signature(cls)

    @property
    def fields(cls) -> Mapping[str, Field] | None:
        """The fields of arguments that are declared; None, if its constructor has them."""
        if cls.__init__ is not Described.__init__:  # type: ignore[misc]
            return None
        return {name: argument.field for name, argument in _declarations(cls).items()}


@cache
def _signature(cls: type) -> inspect.Signature:
    if cls.__init__ is Described.__init__:  # type: ignore[misc]
        return _declared_signature(cls)
    own = list(inspect.signature(cls.__init__).parameters.values())[1:]  # type: ignore[misc]
    return inspect.Signature(own)


@cache
def _declarations(cls: type) -> dict[str, Argument]:
    """The arguments that a class and its bases declare; one that is declared again moves."""
    found: dict[str, Argument] = {}
    for base in reversed(cls.__mro__):
        own = {name: x for name, x in vars(base).items() if isinstance(x, Argument)}
        found = {name: x for name, x in found.items() if name not in own} | own
    return found


@cache
def _declared_signature(cls: type) -> inspect.Signature:
    """Required arguments first, each in the order of their declaration."""
    parameters = [argument.parameter(name) for name, argument in _declarations(cls).items()]
    return inspect.Signature(sorted(parameters, key=lambda p: p.default is not p.empty))


class Described(Picklable, metaclass=_Sealing):
    """Base of bodies, markers, joints, forces, constraints, surfaces: a value, made once."""

    field: ClassVar[Field] = Field("object")  # of an argument that is one
    limits: Sequence[Any] = ()  # of its numbers
    _given: Mapping[str, Any]  # the arguments as given, by name

    def __init__(self, *arguments: Any, **options: Any) -> None:
        """Read, check and store the arguments that the class declares."""
        bound, declared = _declared_signature(type(self)).bind(*arguments, **options), []
        bound.apply_defaults()
        for name, given in bound.arguments.items():
            value, limits = _declarations(type(self))[name].read_value(given, name)
            setattr(self, name, value)
            declared += limits
        self.limits = declared
        self.__post_init__()

    def _declared_values(self, kind: str) -> list[Any]:
        """Values of the declared arguments of a kind, those that have a default first."""
        own = [(name, x) for name, x in _declarations(type(self)).items() if x.field.kind == kind]
        own.sort(key=lambda each: each[1].default is inspect.Parameter.empty)
        return [getattr(self, name) for name, _ in own]

    def __post_init__(self) -> None:
        """Derive and check further things, once the declared arguments are stored."""

    def with_places(self, place: Callable[[Any], Any]) -> Self:
        """A copy with each of its places looked up, where names were given."""
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
            f"{name}={_print(value)}"
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


def _print(value: Any) -> str:
    """A value as it was said; another element by its name."""
    if isinstance(value, Described) and hasattr(value, "name"):
        return repr(value.name)
    if isinstance(value, FunctionType):
        return f"<function {value.__name__}>"
    if isinstance(value, (list, tuple)):
        inner = ", ".join(_print(item) for item in value)
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    return str(value) if isinstance(value, SX) else repr(value)


# --- equality -------------------------------------------------------------------------------------


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
        return type(value).__qualname__, _of_mapping(_attributes(value), within)
    try:
        hash(value)
    except TypeError:
        return _Identity(value)
    return value


def _attributes(value: Any) -> dict[str, Any]:
    """The attributes of an object, but not the description that a system keeps of itself: a
    function may close over the system that it is part of."""
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
