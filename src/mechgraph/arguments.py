"""Reading the arguments of a call: numbers, choices, names, paths; checked, with what is not given
filled in. Whatever they are by mistake, and whatever that raises, becomes one error that names
it."""

from __future__ import annotations

import operator
import os
import unicodedata
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from numbers import Real
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, TypeVar

import numpy as np

from .errors import ArgumentError, MechgraphError, ModelError, shown, unknown

State = TypeVar("State", bound=Collection[np.ndarray])
Choice = TypeVar("Choice", bool, int, str, bool | None, int | None, str | None)

Numbers = Sequence[float] | np.ndarray | Mapping[str, float]


def number(what: str, value: Any, positive: bool = False) -> float:
    """One finite number, above zero if it has to be."""
    try:
        result = float("nan") if isinstance(value, (str, bytes)) else float(value)
    except Exception:
        result = float("nan")
    if not np.isfinite(result) or (positive and result <= 0):
        raise ArgumentError(
            f"{what} must be a {'positive ' if positive else ''}number, got {shown(value)}"
        )
    return result


def choice(
    what: str,
    value: Any,
    allowed: Sequence[Choice],
    error: type[MechgraphError] = ArgumentError,
) -> Choice:
    """One of a few values: a flag, a word. Arrays and expressions are equal to none of them."""
    plain = value.item() if isinstance(value, np.generic) else value
    if plain is None or isinstance(plain, (bool, int, float, str)):
        for each in allowed:
            if plain == each:
                return each
    listed = f"{', '.join(map(repr, allowed[:-1]))} or {allowed[-1]!r}"
    raise error(f"{what} must be {listed}, got {shown(value)}")


def flag(what: str, value: Any, error: type[MechgraphError] = ArgumentError) -> bool:
    """True or False."""
    return choice(what, value, (True, False), error)


def is_name(value: object) -> bool:
    """True for a text that something may be called: it can be printed and written in one line."""
    return (
        isinstance(value, str)
        and bool(value.strip())
        and not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in value)
    )


def name_of(kind: str, name: Any) -> str:
    """A name that something can be called by."""
    if not is_name(name):
        letters = " of letters that can be printed" if isinstance(name, str) and name else ""
        raise ModelError(f"{kind} needs a name{letters}, got {shown(name)}")
    return str(name)


def reserved(name: str) -> str | None:
    """The meaning that a name has wherever results go by name, so that nothing else can be called
    by it: a rate, or the time."""
    if name.endswith("'"):
        return "a prime at the end stands for a rate"
    return f"{name!r} is the time of every result" if name in ("t", "time") else None


def file_path(value: Any) -> Path:
    """The path of a file, as text or as a path."""
    try:
        path = Path(value) if isinstance(value, (str, os.PathLike)) else Path()
        named = path.name and b"\0" not in os.fsencode(path)
    except (TypeError, ValueError):
        named = False
    if not named:
        raise ArgumentError(f"expected the name of a file, got {shown(value)}")
    return path


@contextmanager
def writing(path: Path) -> Iterator[None]:
    """Errors of the machine in writing a file, told with the file's name."""
    try:
        yield
    except OSError as error:
        raise ArgumentError(f"cannot write {path}: {error.strerror or error}") from None


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Where to write a file that takes the place of ``path`` when it is complete, and not before:
    beside it, in a folder that is gone afterwards."""
    target = Path(os.path.realpath(path))  # a link stays one
    with writing(path), TemporaryDirectory(prefix=".", dir=target.parent) as folder:
        yield Path(folder) / path.name
        os.replace(Path(folder) / path.name, target)


def write_text(path: Path, text: str) -> Path:
    """Write a text to a file, whole or not at all."""
    with replacing(path) as file:
        file.write_text(text, encoding="utf-8")
    return path


def whole(least: int = 1, **values: Any) -> list[int]:
    """Whole numbers, positive unless zero is allowed as the ``least``."""
    try:
        out = [operator.index(value) for value in values.values()]
    except Exception:
        out = [-1]
    if min(out) < least:
        raise ArgumentError(
            f"expected {'positive ' if least else ''}whole numbers, got "
            f"{', '.join(f'{k}={shown(v)}' for k, v in values.items())}"
        )
    return out


def named(what: str, values: Any) -> dict[str, Any]:
    """A mapping of names to values, empty if there is none."""
    if values is None:
        return {}
    if not isinstance(values, Mapping) or not all(map(is_name, values)):
        raise ArgumentError(
            f"{what} must be a mapping of names to values such as {{'name': 1.0}}, got "
            f"{shown(values)}"
        )
    return dict(values)


def one_of(
    kind: str, name: Any, known: Collection[str], error: type[Exception] = ArgumentError
) -> str:
    """A name that is known."""
    if not isinstance(name, str) or name not in known:
        raise error(unknown(kind, name, known))
    return name


def some_of(
    kind: str, names: Any, known: Collection[str], error: type[Exception] = ArgumentError
) -> tuple[str, ...]:
    """Names that are known, none of them twice."""
    out = tuple(one_of(kind, name, known, error) for name in listed(kind, names, error))
    if len(set(out)) < len(out):
        raise error(f"{kind}: a name stands twice in {', '.join(out)}")
    return out


def listed(what: str, values: Any, error: type[Exception] = ArgumentError) -> list[Any]:
    """Several things, in a list or something like it; a text is one thing."""
    try:
        if not isinstance(values, (str, bytes)):
            return list(values)
    except Exception:
        pass
    raise error(f"{what}: expected a list of names, got {shown(values)}")


def one_state(arguments: State) -> State:
    """The arguments of a call that takes no batch."""
    if any(array.ndim > 1 for array in arguments):
        raise ArgumentError(
            "expected one state, so one number for each input and parameter; for many at once use "
            "rollout"
        )
    return arguments


def numbers(
    kind: str,
    names: Sequence[str],
    values: Any,
    default: np.ndarray | None = None,
    copy: bool = True,
) -> np.ndarray:
    """Values for ``names`` as an array with them as last axis: from an array, or from a mapping of
    some of the names. Without ``copy`` it may be the array that was given, to be read only."""
    base = np.zeros(len(names)) if default is None else default
    if values is None:
        return base
    try:
        array = (
            _from_mapping(kind, names, values, base)
            if isinstance(values, Mapping)
            else _real(values, copy)
        )
    except ArgumentError:
        raise
    except Exception:
        raise ArgumentError(
            f"{kind}: expected {len(names)} numbers ({', '.join(names)}), got {shown(values)}"
        ) from None
    if array.shape[-1:] != (len(names),):
        got = array.shape[-1] if array.ndim else "a single number"
        raise ArgumentError(
            f"{kind}: expected {len(names)} numbers ({', '.join(names) or 'none'}), got {got}"
        )
    if not np.isfinite(array).all():
        bad = names[int(np.argwhere(~np.isfinite(array))[0][-1])]
        raise ArgumentError(f"{kind}: {bad!r} is not finite")
    return array


def array_of(values: Any) -> np.ndarray | None:
    """An array of finite numbers; None, if it is none."""
    try:
        array = _real(values)
    except Exception:
        return None
    return array if np.isfinite(array).all() else None


def times(values: Any) -> np.ndarray:
    """Times, one or a batch, with one more axis at the end."""
    try:
        array = np.asarray(values)[..., None]
    except Exception:
        raise ArgumentError(
            f"time must be a number or an array of them, got {shown(values)}"
        ) from None
    return numbers("time", ("t",), array)


def _real(values: Any, copy: bool = True) -> np.ndarray:
    array = np.asarray(values)
    expressions = array.dtype == object and not all(isinstance(x, Real) for x in array.flat)
    if np.iscomplexobj(array) or expressions:  # CasADi makes NaN of a symbol
        raise TypeError("complex numbers, or none")
    return array.astype(float, copy=copy)


def _from_mapping(
    kind: str, names: Sequence[str], values: Mapping[str, Any], base: np.ndarray
) -> np.ndarray:
    wrong = [name for name in values if name not in names]
    if wrong:
        raise ArgumentError(
            "; ".join(unknown(kind.removesuffix("s"), name, names) for name in wrong)
        )
    columns = [_real(values.get(name, base[k])) for k, name in enumerate(names)]
    return np.stack(np.broadcast_arrays(*columns), axis=-1) if columns else base
