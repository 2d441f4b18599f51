"""Reading the numbers of a call: arrays or names, checked, with what is not given filled in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .errors import ArgumentError, unknown

Numbers = Sequence[float] | np.ndarray | Mapping[str, float]


def numbers(kind: str, names: Sequence[str], values: Any, default: np.ndarray | None = None) -> np.ndarray:
    """Values for ``names`` as an array with them as last axis: from an array, or from a mapping of some of the names."""
    base = np.zeros(len(names)) if default is None else default
    if values is None:
        return base
    try:
        array = _from_mapping(kind, names, values, base) if isinstance(values, Mapping) else np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"{kind}: expected {len(names)} numbers ({', '.join(names)}), got {values!r}") from None
    if array.shape[-1:] != (len(names),):
        got = array.shape[-1] if array.ndim else "a single number"
        raise ArgumentError(f"{kind}: expected {len(names)} numbers ({', '.join(names) or 'none'}), got {got}")
    if not np.isfinite(array).all():
        bad = names[int(np.argwhere(~np.isfinite(array))[0][-1])]
        raise ArgumentError(f"{kind}: {bad!r} is not finite")
    return array


def _from_mapping(kind: str, names: Sequence[str], values: Mapping[str, Any], base: np.ndarray) -> np.ndarray:
    wrong = [name for name in values if name not in names]
    if wrong:
        raise ArgumentError("; ".join(unknown(kind.removesuffix("s"), name, names) for name in wrong))
    columns = [np.asarray(values.get(name, base[k]), dtype=float) for k, name in enumerate(names)]
    return np.stack(np.broadcast_arrays(*columns), axis=-1) if columns else base
