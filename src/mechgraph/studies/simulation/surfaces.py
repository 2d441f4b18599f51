"""What no step of a run goes over without a word: functions whose changes of sign end it, or are
noted (``runtime/steps/events.h``)."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca
import numpy as np
from casadi import SX

from ...graph.kinks import pieces


@dataclass(frozen=True)
class Surfaces:
    """All expressions that are watched: margins, kinks, events, and pieces of tables.

    Margins are positive where a run begins and matter where they fall, kinks either way; events
    have their ``directions`` (0: either) and may be the ``last``. Pieces never change their sign,
    and tell how many stops of a table are passed.
    """

    margins: SX = field(default_factory=lambda: SX(0, 1))
    kinks: SX = field(default_factory=lambda: SX(0, 1))
    events: SX = field(default_factory=lambda: SX(0, 1))
    directions: tuple[int, ...] = ()
    last: tuple[bool, ...] = ()

    @cached_property
    def pieces(self) -> SX:
        return pieces(self.kinks)

    @cached_property
    def all(self) -> SX:
        return ca.vertcat(self.margins, self.kinks, self.events, self.pieces)

    @property
    def sizes(self) -> dict[str, int]:
        """How many there are of each kind but events."""
        kinds = {"margins": self.margins, "kinks": self.kinks, "pieces": self.pieces}
        return {name: int(values.numel()) for name, values in kinds.items()}

    @property
    def direction(self) -> np.ndarray:
        """Of each, which way a change of sign matters."""
        margins, kinks, pieces = self.sizes.values()
        return np.concatenate(
            [-np.ones(margins), np.zeros(kinks), self.directions, np.zeros(pieces)]
        )

    @property
    def ending(self) -> np.ndarray:
        """Of each, whether that ends the step."""
        margins, kinks, pieces = self.sizes.values()
        return np.concatenate([np.ones(margins + kinks), self.last, np.zeros(pieces)])
