"""Time series as inputs."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from casadi import SX

from ..errors import ArgumentError, ModelError
from ..numerics.tolerances import GIVEN
from .points import numbers, points
from .table import Table


def series(name: str, value: Any) -> Table | None:
    """A table of time as an input: given as such, or as (times, values), with lines between them,
    or with a kind of table as a third entry; None for anything else."""
    if isinstance(value, Table):
        return value
    parts = isinstance(value, tuple) and len(value) in (2, 3) and all(map(_is_long, value[:2]))
    if not parts:
        return None
    try:
        times = points(value[0], f"input {name!r}: times")
        values = numbers(value[1], f"input {name!r}: values")
        kind = value[2] if len(value) > 2 else "linear"
        return Table(times, values, kind, name=_word(name))
    except ModelError as error:
        raise ArgumentError(
            str(error).replace(f"table {_word(name)!r}", f"input {name!r}")
        ) from None


def _is_long(value: Any) -> bool:
    return hasattr(value, "__len__") and not isinstance(value, (str, SX)) and np.ndim(value) > 0


def _word(name: str) -> str:
    """A name as a table may have it."""
    return re.sub(r"_+", "_", "input_" + re.sub(r"[^A-Za-z0-9]", "_", name)).rstrip("_")


def in_time(inputs: dict[str, Any], t: SX) -> dict[str, Any]:
    """Inputs, with expressions of time in the place of series."""
    found = {name: series(name, value) for name, value in inputs.items()}
    return {
        name: value if (own := found[name]) is None else own(t) for name, value in inputs.items()
    }


def at_times(inputs: Any, t: Any) -> Any:
    """Inputs, with numbers at times in the place of series."""
    if not isinstance(inputs, Mapping):
        return inputs
    check_covered(inputs, t)
    found = {name: series(name, value) for name, value in inputs.items()}
    return {
        name: value if (own := found[name]) is None else own(t) for name, value in inputs.items()
    }


def check_covered(inputs: Any, t: Any) -> None:
    """Series that were given as points must have data for all times."""
    for name, value in inputs.items() if isinstance(inputs, Mapping) else ():
        if not isinstance(value, tuple) or (own := series(name, value)) is None:
            continue
        first, last, slack = own.x[0], own.x[-1], GIVEN * (own.x[-1] - own.x[0])
        if np.min(t) < first - slack or np.max(t) > last + slack:
            raise ArgumentError(
                f"input {name!r} has data from t = {first:.6g} to {last:.6g}, and is asked for "
                f"from {np.min(t):.6g} to {np.max(t):.6g}; give more of them, or say what is "
                "beyond by mg.table(times, values, outside='hold')"
            )
