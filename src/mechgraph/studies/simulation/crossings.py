"""What a run meets on its way: surfaces that change their sign within a step of the integrator.

There are three kinds. *Margins* of rigid contacts fall through zero when a point closes, opens,
sticks or slides: the step ends there, and the contacts settle. *Kinks* are where forces change from
one piece to another: the step ends there, so that no step reaches over a jump, and nothing that is
there for a short while is stepped over. *Events* are the user's: they are noted, and some end the
run.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import cached_property
from itertools import chain

import casadi as ca
import numpy as np
from casadi import SX
from scipy.optimize import brentq

from ...graph.kinks import pieces
from .events import Watch
from .integrator import IntegrationFailure, Integrator

STANDSTILL = 100  # steps with kinks in (all but) one moment after which a run has failed, and some
# more for each kink: many may have the same moment
LITTLE = 300.0  # motion between two of them, in units of the tolerance, that is next to none
ROUNDING = 4e-15  # relative: so near that rounding of times may put a stage beyond


Candidate = tuple[int, float, float, int]  # a surface, two moments, and which way it goes


class EndlessSwitching(IntegrationFailure):
    """Forces that drive each other over a jump, back and forth."""

    hint = (
        "Make the law smooth about its jump (mg.Friction has a regularization), or use an element "
        "that sticks"
    )


@dataclass(frozen=True)
class Surfaces:
    """All expressions that are watched: margins, kinks, events, and pieces of tables. These never
    change their sign, and tell how many stops of a table are passed."""

    margins: SX
    kinks: SX
    events: SX

    @cached_property
    def pieces(self) -> SX:
        return pieces(self.kinks)

    @property
    def all(self) -> SX:
        return ca.vertcat(self.margins, self.kinks, self.events, self.pieces)

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
        self._begin = integrator.problem.begin
        self._latest, self._standing = (-np.inf, np.zeros(1)), 0
        self._seen: dict[float, np.ndarray] = {}  # surfaces at moments of attempts
        self._noise: dict[int, float] = {}  # of surfaces: what attempts and steps differ by

    def meet(self) -> Met:
        """Take the step up to the first surface that ends it.

        It ends just before that, so that nothing from beyond enters it; a last one, of rounding's
        length, goes over. A step that is not good enough although it ends there is halved.
        """
        self._count_standstill()
        candidates = list(self._candidates())
        unasked = {each[0] for each in self.integrator.crossings()} - {c[0] for c in candidates}
        met = self._met(candidates)
        cut = next((each for each in met if self._ends(each)), None)
        if cut is None:
            self.integrator.take()
        elif not self.integrator.take_until(cut.before, min(each.before for each in met)):
            self._take_sides(unasked)
            return Met.NOTHING
        over = cut is not None and self.integrator.take_until(cut.moment, cut.moment)
        passed = [each for each in met if cut is None or over or each.moment <= self.integrator.t]
        for each in passed:
            event = self.surfaces.event(each.surface)
            if event is not None and self._matters(each):
                self.watch.note(event, self._begin + each.moment)
            if cut is not None:
                self.integrator.sides[each.surface] = each.direction
        if cut is not None:
            self._take_sides(unasked)
        if cut is None or not over:
            return Met.NOTHING
        margins = self.surfaces.margins.numel()
        at_contacts = any(each.surface < margins and self._matters(each) for each in passed)
        if not at_contacts:
            self._learn(cut.moment, [each.surface for each in passed])
        return Met.CONTACTS if at_contacts else Met.KINK

    def _take_sides(self, unasked: set[int]) -> None:
        """On which side surfaces are that change their sign where nobody asks for it."""
        now = self.integrator.attempt(self.integrator.t) if unasked else ()
        for surface in unasked:
            if now[surface]:
                self.integrator.sides[surface] = np.sign(now[surface])

    def _learn(self, moment: float, surfaces: list[int]) -> None:
        """What an attempt showed of surfaces and what they are differs by rounding: less beyond
        one is not beyond it."""
        now = self.integrator.attempt(self.integrator.t)
        for surface in surfaces:
            gap = 4 * abs(float(now[surface] - self._seen[moment][surface]))
            self._noise[surface] = max(gap, self._noise.get(surface, 0.0))

    def _met(self, candidates: list[Candidate]) -> list[Crossing]:
        """What is met up to the first surface that ends the step, in order."""
        met: list[Crossing] = []
        cut = limit = np.inf
        self._seen = {}
        until = self.integrator.until
        guessed = [(*each, self._glimpsed(*each)) for each in candidates]
        for surface, first, last, direction, guess in sorted(guessed, key=lambda c: c[-1]):
            if first > limit:
                continue
            found = self._locate(surface, first, last, direction, guess, min(limit, until))
            if found is not None and self._changes(found, met):
                met.append(found)
                if self._ends(found) and found.moment < cut:
                    cut, limit = found.moment, self._last_moment(found)
        return sorted((each for each in met if each.moment <= limit), key=lambda each: each.moment)

    def _last_moment(self, cut: Crossing) -> float:
        """Up to when others are met: where the run ends, at the same moment but for rounding."""
        is_last = self.surfaces.event(cut.surface) is not None
        return cut.moment + 2 * ROUNDING * (abs(self._begin) + cut.moment) * is_last

    def _changes(self, found: Crossing, met: list[Crossing]) -> bool:
        """False if a surface is on that side already: interpolation shows waves that are none."""
        own = [each for each in met if each.surface == found.surface]
        before = [each.direction for each in own if each.moment <= found.moment]
        return [self.integrator.sides[found.surface], *before][-1] != found.direction

    def _candidates(self) -> Iterator[Candidate]:
        """Changes of sign with their direction, of surfaces that have one that matters: those in
        between tell on which side they are."""
        sides, crossings = self.integrator.sides.copy(), self.integrator.crossings()
        for surface, count in Counter(each[0] for each in crossings).items():
            if not sides[surface]:  # it was in doubt when the step began
                sides[surface] = self.integrator.after[surface] * (-1) ** count
        found = []
        for surface, first, last in crossings:
            sides[surface] = direction = -int(sides[surface])
            found.append((surface, first, last, direction))
        mattering = {each[0] for each in found if self._matters(Crossing(each[0], *each[1:]))}
        yield from (each for each in found if each[0] in mattering)

    def _matters(self, found: Crossing) -> bool:
        """True for contacts that close, for kinks, and for events in the direction asked for."""
        if found.surface < self.surfaces.margins.numel():
            return found.direction < 0
        event = self.surfaces.event(found.surface)
        return event is None or self.watch.meets(event, found.direction)

    def _ends(self, found: Crossing) -> bool:
        event = self.surfaces.event(found.surface)
        return self._matters(found) and (event is None or self.watch.stops(event))

    def _glimpsed(self, surface: int, first: float, last: float, direction: int) -> float:
        """About when a change of sign is, by interpolation, which costs little."""

        def value(moment: float) -> float:
            return direction * float(self.integrator.glimpse(moment)[surface])

        if not value(first) < 0 < value(last):
            return last
        return float(brentq(value, first, last, xtol=1e-8 * (last - first), rtol=8.9e-16))

    def _locate(
        self, surface: int, first: float, last: float, direction: int, guess: float, limit: float
    ) -> Crossing | None:
        """A change of sign about between two moments, near a guess; None, if there is none before
        the limit."""

        def value(moment: float) -> float:
            if moment not in self._seen:  # a second attempt may differ by rounding
                self._seen[moment] = self.integrator.attempt(moment)
            seen = float(self._seen[moment][surface])
            if math.isnan(seen):
                now = self._begin + moment
                raise IntegrationFailure(f"the motion is not a number at t = {now:.6g}")
            return direction * seen

        noise = self._noise.get(surface, 0.0)
        end = next((t for t in _strides(guess, last, limit) if value(t) > noise), None)
        if end is None:
            return None
        start = self.integrator.t
        begin = max((t for t in self._seen if first <= t < end and value(t) < 0), default=None)
        if begin is None:
            strides = chain(_strides(min(guess, end), first, start), _towards(end, start))
            begin = next((t for t in strides if t < end and value(t) < 0), None)
        if begin is None:
            return Crossing(surface, start, start, direction)
        if end - begin > 2 * ROUNDING * abs(end):
            least = ROUNDING / 10 * (limit - start)  # near t = 0 a moment can be told ever better
            zero = float(
                brentq(value, begin, end, xtol=max(least, 1e-300), rtol=8.9e-16, maxiter=1000)
            )
            self._leave(zero, value, begin, end)
        moment = min(t for t in self._seen if begin < t <= end and value(t) > 0)
        before = [t for t in self._seen if t < moment - ROUNDING * abs(moment) / 2 and value(t) < 0]
        return Crossing(surface, max(before, default=begin), moment, direction)

    @staticmethod
    def _leave(zero: float, value: Callable[[float], float], begin: float, end: float) -> None:
        """Try moments about a zero, ever further away, until one on each side of the surface is
        known: zero itself is on neither."""
        for way, bound, nearest in ((-1, begin, ROUNDING), (1, end, 2e-16)):
            shift = nearest * abs(zero)
            while way * (bound - zero) > shift and way * value(zero + way * shift) <= 0:
                shift = 4 * shift + 1e-18

    def _count_standstill(self) -> None:
        """Give up where jumps follow each other without time going on, or with next to no motion
        in between: steps that are as short as the error of a jump asks for."""
        moment, y = self.integrator.t, self.integrator.y
        gone = (moment - self._latest[0]) / max(1e-3, abs(moment))
        way = self.integrator.problem.measured(y - self._latest[1], y)
        near = gone < 1e-7 or (gone < 1e-5 and way < LITTLE)
        self._standing = self._standing + 1 if near else 0
        self._latest = moment, y
        if self._standing > STANDSTILL + 2 * self.surfaces.kinks.numel():
            now = self._begin + moment
            raise EndlessSwitching(f"forces jump back and forth without end at t = {now:.6g}")


def _strides(guess: float, bound: float, limit: float) -> Iterator[float]:
    """Moments from a guess to the bound of where it should be, and on to a limit, in ever longer
    strides: what interpolation shows may be a little off."""
    if (limit - guess) * (limit - bound) <= 0:
        guess = bound = limit
    yield from (guess + (bound - guess) * part for part in (1e-7, 1e-3))
    stride = np.copysign(max(abs(bound - guess), ROUNDING * abs(bound)), limit - bound)
    while (limit - bound) * stride > 0:
        yield bound
        bound, stride = bound + stride, 10 * stride
    yield limit


def _towards(last: float, first: float) -> Iterator[float]:
    """``first``, and moments beyond it, ever nearer: a surface may begin at zero."""
    yield first
    for k in range(1, 40):
        yield first + (last - first) * 2.0**-k
