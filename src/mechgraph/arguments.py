"""Reading the numbers of a call: arrays or names, checked, with what is not given filled in."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .errors import ArgumentError, unknown

Numbers = Sequence[float] | np.ndarray | Mapping[str, float]


def number(what: str, value: Any, positive: bool = False) -> float:
    """One finite number, above zero if it has to be."""
    try:
        result = float("nan") if isinstance(value, (str, bytes)) else float(value)
    except (TypeError, ValueError):
        result = float("nan")
    if not np.isfinite(result) or (positive and result <= 0):
        raise ArgumentError(
            f"{what} must be a {'positive ' if positive else ''}number, got {value!r}"
        )
    return result


def whole(least: int = 1, **values: Any) -> list[int]:
    """Whole numbers, positive unless zero is allowed as the ``least``."""
    try:
        out = [operator.index(value) for value in values.values()]
    except TypeError:
        out = [-1]
    if min(out) < least:
        raise ArgumentError(
            f"expected {'positive ' if least else ''}whole numbers, got "
            f"{', '.join(f'{k}={v!r}' for k, v in values.items())}"
        )
    return out


def named(what: str, values: Any) -> dict[str, Any]:
    """A mapping of names to values, empty if there is none."""
    if values is None:
        return {}
    if not isinstance(values, Mapping):
        raise ArgumentError(
            f"{what} must be a mapping of names to values such as {{'name': 1.0}}, got {values!r}"
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
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise error(f"{kind}: expected a list of names, got {names!r}")
    out = tuple(one_of(kind, name, known, error) for name in names)
    if len(set(out)) < len(out):
        raise error(f"{kind}: a name stands twice in {', '.join(out)}")
    return out


def earlier_word(call: str, old: str, value: Any, new: str, default: Any) -> Any:
    """The value of an argument that may still be given by an earlier word, with a warning."""
    if value is None:
        return default
    warnings.warn(f"{call}: {old} is now called {new}", DeprecationWarning, stacklevel=3)
    return value


def one_state(arguments: list[np.ndarray]) -> list[np.ndarray]:
    """The arguments of a call that takes no batch."""
    if any(array.ndim > 1 for array in arguments):
        raise ArgumentError(
            "expected one state, so one number for each input and parameter; for many at once use "
            "rollout"
        )
    return arguments


def numbers(
    kind: str, names: Sequence[str], values: Any, default: np.ndarray | None = None
) -> np.ndarray:
    """Values for ``names`` as an array with them as last axis: from an array, or from a mapping of
    some of the names."""
    base = np.zeros(len(names)) if default is None else default
    if values is None:
        return base
    try:
        array = (
            _from_mapping(kind, names, values, base)
            if isinstance(values, Mapping)
            else _real(values)
        )
    except (TypeError, ValueError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(
            f"{kind}: expected {len(names)} numbers ({', '.join(names)}), got {values!r}"
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


def times(values: Any) -> np.ndarray:
    """Times, one or a batch, with one more axis at the end."""
    try:
        return numbers("time", ("t",), np.asarray(values)[..., None])
    except ValueError as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"time must be a number or an array of them, got {values!r}") from None


def _real(values: Any) -> np.ndarray:
    array = np.asarray(values)
    if np.iscomplexobj(array):
        raise TypeError("complex numbers")
    return array.astype(float)


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
