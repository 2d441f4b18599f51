"""What a run meets on its way: surfaces that change their sign within a step of the integrator.

There are three kinds. *Margins* of rigid contacts fall through zero when a point closes, opens,
sticks or slides: the step ends there, and the contacts settle. *Kinks* are where forces change from
one piece to another: the step ends there, so that no step reaches over a jump, and nothing that is
there for a short while is stepped over. *Events* are the user's: they are noted, and some end the
run.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cache

import casadi as ca
import numpy as np
from casadi import SX
from scipy.optimize import brentq

from .events import Watch
from .integrators import IntegrationFailure, Integrator

STANDSTILL = 100  # kinks in one moment after which a run has failed


class EndlessSwitching(IntegrationFailure):
    """Forces that drive each other over a jump, back and forth."""

    hint = (
        "Make the law smooth about its jump (mg.Friction has a regularization), or use an element "
        "that sticks"
    )


@dataclass(frozen=True)
class Surfaces:
    """All expressions that are watched: margins, then kinks, then events."""

    margins: SX
    kinks: SX
    events: SX

    @property
    def all(self) -> SX:
        return ca.vertcat(self.margins, self.kinks, self.events)

    def event(self, surface: int) -> int | None:
        """Which event a surface is; None, if it is none."""
        index = surface - self.margins.numel() - self.kinks.numel()
        return index if index >= 0 else None


@dataclass(frozen=True)
class Crossing:
    """A surface changes its sign at a moment, rising (+1) or falling (−1)."""

    surface: int
    moment: float
    direction: int


class Met(Enum):
    """What ended a step."""

    NOTHING = 0
    KINK = 1
    CONTACTS = 2


class Crossings:
    """Finds what was met in a step, and takes as much of the step as that allows."""

    def __init__(self, integrator: Integrator, surfaces: Surfaces, watch: Watch) -> None:
        self.integrator, self.surfaces, self.watch = integrator, surfaces, watch
        self._latest, self._standing = -np.inf, 0

    def meet(self) -> Met:
        """Take the step up to the first surface that ends it."""
        met, cut = self._met()
        for each in met:
            event = self.surfaces.event(each.surface)
            if event is not None:
                self.watch.note(event, each.moment)
        if cut is None:
            self.integrator.take()
            return Met.NOTHING
        self.integrator.take_until(cut)
        for each in met:
            self.integrator.sides[each.surface] = each.direction
        self._count_standstill(cut)
        at_contacts = any(each.surface < self.surfaces.margins.numel() for each in met)
        return Met.CONTACTS if at_contacts else Met.KINK

    def _met(self) -> tuple[list[Crossing], float | None]:
        """What was met up to the first surface that ends the step, and when that is."""
        met: list[Crossing] = []
        cut: float | None = None
        for surface, first, last, direction in self._candidates():
            if cut is not None and first > cut:
                break
            moment = self._locate(
                surface, first, last if cut is None else min(last, cut), direction
            )
            if moment is None:
                continue
            met.append(Crossing(surface, moment, direction))
            if self._ends(surface):
                cut = moment if cut is None else min(cut, moment)
        return [each for each in met if cut is None or each.moment <= cut], cut

    def _candidates(self) -> Iterator[tuple[int, float, float, int]]:
        """Changes of sign that matter, with their direction."""
        sides = self.integrator.sides.copy()
        for surface, first, last in self.integrator.crossings():
            sides[surface] = direction = -int(sides[surface])
            event = self.surfaces.event(surface)
            margin = surface < self.surfaces.margins.numel()
            if (event is None or self.watch.meets(event, direction)) and not (
                margin and direction > 0
            ):
                yield surface, first, last, direction

    def _ends(self, surface: int) -> bool:
        event = self.surfaces.event(surface)
        return event is None or self.watch.stops(event)

    def _locate(self, surface: int, first: float, last: float, direction: int) -> float | None:
        """The moment of a change of sign, just beyond it; None, if there is none up to ``last``."""
        beyond: list[float] = []

        @cache  # a second attempt at the same moment may differ by rounding
        def value(moment: float) -> float:
            g = direction * float(self.integrator.attempt(moment)[surface])
            if g >= 0:
                beyond.append(moment)
            return g

        if not value(last) >= 0:
            return None
        begin = next((t for t in _towards(last, first) if value(t) < 0), None)
        if begin is None:
            return first
        brentq(value, begin, last, xtol=1e-300, rtol=8.9e-16)
        return min(moment for moment in beyond if moment > begin)

    def _count_standstill(self, moment: float) -> None:
        """Give up where jumps follow each other without time going on."""
        near = moment - self._latest < 1e-13 * max(1.0, abs(moment))
        self._standing = self._standing + 1 if near else 0
        self._latest = moment
        if self._standing > STANDSTILL:
            raise EndlessSwitching(f"forces jump back and forth without end at t = {moment:.6g}")


def _towards(last: float, first: float) -> Iterator[float]:
    """``first``, and moments beyond it, ever nearer: a surface may begin at zero."""
    yield first
    for k in range(1, 40):
        yield first + (last - first) * 2.0**-k
