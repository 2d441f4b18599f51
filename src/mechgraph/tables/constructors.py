"""``table`` and ``spline``: points made a function."""

from __future__ import annotations

from typing import Any, overload

from ..arguments import flag
from ..errors import ModelError
from .grid import Grid
from .table import Table

Outside = str | tuple[str, str]


@overload
def table(
    x: Any, y: Any, z: None = None, *, kind: str = ..., outside: str = ..., name: str = ...
) -> Table: ...
@overload
def table(
    x: Any, y: Any, z: Any, *, kind: str = ..., outside: Outside = ..., name: str = ...
) -> Grid: ...
def table(
    x: Any,
    y: Any,
    z: Any = None,
    *,
    kind: str = "linear",
    outside: Any = "hold",
    name: str = "table",
) -> Table | Grid:
    """The points (x, y) as a function of x, to be called with a number or an expression; with a
    matrix ``z``, a row for each x and a column for each y, a function of x and y.

    ``kind`` is what is between the points: "linear" (straight lines), "hold" (the value of the
    point before), "monotone" (cubics without overshoot, PCHIP; the slope is continuous; not over x
    and y) or "smooth" (cubic spline, not-a-knot; the curvature is continuous). ``outside`` is what
    is beyond the ends: "hold" (the last value), "extend" (straight on along the end's slope),
    "repeat" (periodic) or "refuse" (not a number, so that a run ends there with an error that says
    so); over x and y one word, or a pair of them. ``name`` is what it is called in printed
    equations.
    """
    return Table(x, y, kind, outside, name) if z is None else Grid(x, y, z, kind, outside, name)


@overload
def spline(
    x: Any, y: Any, z: None = None, *, monotone: bool = ..., outside: str = ..., name: str = ...
) -> Table: ...
@overload
def spline(
    x: Any, y: Any, z: Any, *, monotone: bool = ..., outside: Outside = ..., name: str = ...
) -> Grid: ...
def spline(
    x: Any,
    y: Any,
    z: Any = None,
    *,
    monotone: bool = False,
    outside: Any = "hold",
    name: str = "spline",
) -> Table | Grid:
    """The points joined by cubics: a smooth spline, or one that has no overshoot; see ``table``."""
    kind = "monotone" if flag("monotone", monotone, ModelError) else "smooth"
    return table(x, y, z, kind=kind, outside=outside, name=name)
