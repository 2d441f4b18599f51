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

import casadi as ca
import numpy as np
from casadi import SX
from scipy.optimize import brentq

from .events import Watch
from .integrators import IntegrationFailure, Integrator

STANDSTILL = 1000  # steps with kinks in (all but) one moment after which a run has failed


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
    """A surface changes its sign just before a moment, rising (+1) or falling (−1)."""

    surface: int
    before: float
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
        """Take the step up to the first surface that ends it.

        It ends just before that, so that nothing from beyond enters it; a last one, of rounding's
        length, goes over. A step that is not good enough although it ends there is halved.
        """
        self._count_standstill(self.integrator.t)
        met = self._met()
        cut = next((each for each in met if self._ends(each.surface)), None)
        if cut is None:
            self.integrator.take()
        elif not self.integrator.take_until(cut.before, min(each.before for each in met)):
            return Met.NOTHING
        for each in met:
            event = self.surfaces.event(each.surface)
            if event is not None:
                self.watch.note(event, each.moment)
        if cut is None:
            return Met.NOTHING
        self.integrator.take_until(cut.moment, cut.moment)
        for each in met:
            self.integrator.sides[each.surface] = each.direction
        at_contacts = any(each.surface < self.surfaces.margins.numel() for each in met)
        return Met.CONTACTS if at_contacts else Met.KINK

    def _met(self) -> list[Crossing]:
        """What is met up to the first surface that ends the step, in order."""
        met: list[Crossing] = []
        cut = np.inf
        for surface, first, last, direction in self._candidates():
            if first > cut:
                break
            found = self._locate(surface, first, min(last, cut), direction)
            if found is not None:
                met.append(found)
                cut = min(cut, found.moment) if self._ends(surface) else cut
        return sorted((each for each in met if each.moment <= cut), key=lambda each: each.moment)

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

    def _locate(self, surface: int, first: float, last: float, direction: int) -> Crossing | None:
        """A change of sign between two moments; None, if there is none."""
        values: dict[float, float] = {}

        def value(moment: float) -> float:
            if moment not in values:  # a second attempt may differ by rounding
                g = float(self.integrator.attempt(moment)[surface])
                values[moment] = direction * g
            return values[moment]

        if not value(last) >= 0:
            return None
        begin = next((t for t in _towards(last, first) if value(t) < 0), None)
        if begin is None:
            return Crossing(surface, first, first, direction)
        brentq(value, begin, last, xtol=1e-300, rtol=8.9e-16)
        moment = min(t for t, g in values.items() if t > begin and g >= 0)
        # so much before that no rounding of times puts a stage beyond
        near = max(begin, moment - 4e-15 * abs(moment))
        before = max(t for t, g in values.items() if t < moment and g < 0)
        return Crossing(surface, min(near, before), moment, direction)

    def _count_standstill(self, moment: float) -> None:
        """Give up where jumps follow each other without time going on."""
        near = moment - self._latest < 1e-7 * max(1e-3, abs(moment))
        self._standing = self._standing + 1 if near else 0
        self._latest = moment
        if self._standing > STANDSTILL:
            raise EndlessSwitching(f"forces jump back and forth without end at t = {moment:.6g}")


def _towards(last: float, first: float) -> Iterator[float]:
    """``first``, and moments beyond it, ever nearer: a surface may begin at zero."""
    yield first
    for k in range(1, 40):
        yield first + (last - first) * 2.0**-k
