"""Tables that refuse what is beyond their points, and are asked for it."""

from __future__ import annotations

from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..graph.expressions import operands
from ..graph.searches import data_of, lookup


def refusal(expression: SX, symbols: list[SX], values: list[Any], slack: float = 0.0) -> str | None:
    """A message about a table in an expression that is asked beyond its points, but for a
    part of its length, and refuses; None if there is none."""
    for search, (argument,) in operands(expression):
        (knots, columns), table = data_of(search), lookup(search.name())
        if table is None or not np.isnan(columns[0, 1]):
            continue
        x = float(ca.Function("x", symbols, [argument])(*values))
        reach = slack * (knots[-1] - knots[0])
        if not knots[0] + reach <= x < knots[-1] - reach:
            return (
                f"table {table.table!r} has points from {knots[0]:.6g} to {knots[-1]:.6g}, refuses "
                f"what is beyond them, and is at {x:.6g}; give it more of them, or outside='hold', "
                "'extend' or 'repeat'"
            )
    return None
