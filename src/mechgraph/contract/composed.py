"""What a composition knows beyond the terms of any equations."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from casadi import SX

from ..motion.levels import Levels


@dataclass(frozen=True, eq=False)
class Composed:
    """Terms that were composed: their constraints, already at all levels; λ as symbols; u̇ of f and
    b by their complement; a step along the speeds that takes φ or ψ away; the tree; and the tree of
    the user's own variables, where the equations have more."""

    levels: Levels
    multipliers: SX
    close: Any  # a function of f and b, with its condition and the rows that it may fail to meet
    place: Callable[[SX], SX]
    tree: Any
    shown: Any = None
