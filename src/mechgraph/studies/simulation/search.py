"""Where functions change their sign within a step, as steps.c searches; for methods that are not
there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

DEPTH, LOOKS = 40, 1000  # halvings; looks at a step
PASSING = 24  # halvings after which two pieces are next to each other, or a table repeats itself
# of the way from one place to the next, in turns: what repeats itself meets them elsewhere
PROBES = np.array([0.382, 0.236, 0.382, 0.236])
LEAST_SEARCHED = 1e-3  # of a step; where less can be searched, it may be noise
NOTHING = 1e-14  # in proportion to the largest value so far

Crossing = tuple[int, float, float]  # which function, between which parts of the step


def doubt(values: Callable[[np.ndarray], np.ndarray], y: np.ndarray, by: np.ndarray) -> np.ndarray:
    """How well functions of a state are known, of which each part is known up to ``by``. A jump on
    one side of the state is no doubt."""
    here = values(y)
    unsure = np.zeros(len(here))
    for step in np.diag(by):
        more = np.minimum(np.abs(values(y + step) - here), np.abs(values(y - step) - here))
        unsure += np.where(np.isfinite(more), more, 0.0)
    return unsure


def sign_changes(
    values: Callable[[float], np.ndarray],
    sides: np.ndarray,
    size: np.ndarray,
    undecided: int,
    unsure: np.ndarray,
    pieces: int = 0,
) -> tuple[list[Crossing], np.ndarray, float]:
    """Changes of sign of functions of the part of a step (0 … 1), their sides after it, and how far
    it was searched: there may be more waves than time for them.

    Functions from the index ``undecided`` on that begin at zero, but for rounding, are on no side
    yet. ``size`` is how large each has been, and is updated; what begins below ``unsure`` has no
    sign until it is above. The last ``pieces`` are numbers of pieces, which tell how often others
    change their sign.
    """
    known = np.array([_known(values, part, 1e-6) for part in np.arange(5) / 4])
    np.fmax(size, np.fmax.reduce(np.abs(known[:, 0])), out=size)
    low = np.maximum(NOTHING * size, np.where(np.abs(known[0, 0]) <= unsure, unsure, 0.0))
    after = sides.copy()
    after[undecided:][np.abs(known[0, 0, undecided:]) <= 1e-12 * size[undecided:]] = 0
    search = _Search(values, low, after, pieces)
    search.between(0.0, 1.0, known, 0)
    return search.found, search.after, search.searched


def _known(values: Callable[[float], np.ndarray], part: float, apart: float) -> np.ndarray:
    """Values and slopes, these by a difference."""
    before = part - apart if part >= 1 else part
    first, last = values(before), values(before + apart)
    return np.array([last if part >= 1 else first, (last - first) / apart])


@dataclass
class _Search:
    values: Callable[[float], np.ndarray]
    low: np.ndarray
    after: np.ndarray
    pieces: int
    found: list[Crossing] = field(default_factory=list)
    looks: int = 0
    searched: float = 1.0

    def between(self, a: float, b: float, known: np.ndarray, depth: int) -> None:
        """Look between parts a and b, where the functions are known at five places."""
        clear = self._clear(known, (b - a) / 4).all() and self._expected(a, b, known)
        if depth < PASSING and self.pieces:
            clear &= bool((np.abs(np.diff(known[:, 0, -self.pieces :], axis=0)) < 1.5).all())
        deeper = not clear and depth < DEPTH
        if deeper and self.looks > LOOKS:
            self.searched = min(self.searched, a)
        if not deeper or self.looks > LOOKS:
            self._note(a, b, known[:, 0])
            return
        self.looks += 4
        finer = np.empty((9, *known.shape[1:]))
        finer[::2] = known
        for k in (1, 3, 5, 7):
            finer[k] = _known(self.values, a + (b - a) * k / 8, max(1e-6 * (b - a), 1e-12))
        self.between(a, (a + b) / 2, finer[:5], depth + 1)
        self.between((a + b) / 2, b, finer[4:], depth + 1)

    def _clear(self, known: np.ndarray, span: float) -> np.ndarray:
        """Whether each surely has no zero that the five places do not show.

        It rises or falls all the way or is far from zero, in proportion to how it bends, and to how
        its slopes differ from the way it goes; and if it comes nearer first and goes away then, the
        tangents at both ends meet before it is zero (the distance over the closing speed).
        """
        g, slope = known[:, 0], known[:, 1]
        bends = np.diff(g, 2, axis=0)
        bend, twist = np.abs(bends).max(axis=0), np.abs(np.diff(bends, axis=0)).max(axis=0)
        a, b = g[:-1], g[1:]
        signs, way = self._signs(a) * self._signs(b), np.where(a + b < 0, -1, 1)
        first, last = span * slope[:-1], span * slope[1:]
        off = np.maximum(np.abs(first - (b - a)), np.abs(last - (b - a)))
        closing, leaving = -way * first, way * last
        dips = closing * np.abs(b) + leaving * np.abs(a) <= closing * leaving
        dips &= (signs > 0) & (closing > 0) & (leaving > 0)
        steady = np.abs(b - a) > np.maximum(0.75 * bend + twist, off)
        least = np.minimum(np.abs(a), np.abs(b))
        far = least > np.maximum(0.2 * bend + 0.5 * twist, 0.3 * off)
        still = (np.abs(a) <= self.low) & (np.abs(b) <= self.low) & (bend <= self.low)
        return ~dips & (steady | ((signs >= 0) & (far | still)))

    def _expected(self, a: float, b: float, known: np.ndarray) -> bool:
        """Whether every function is, between the five places, where their values and slopes let one
        expect it: if not, it has more waves than they show."""
        span, x, y = (b - a) / 4, PROBES[:, None], 1 - PROBES[:, None]
        seen = np.array([self.values(a + span * (i + part)) for i, part in enumerate(PROBES)])
        g, slope = known[:, 0], span * known[:, 1]
        cubic = y * y * ((1 + 2 * x) * g[:-1] + x * slope[:-1])
        cubic += x * x * ((1 + 2 * y) * g[1:] - y * slope[1:])
        size = np.minimum(np.abs(g[:-1]), np.abs(g[1:]))
        size = np.maximum(size, np.abs(np.diff(g, axis=0)))
        return bool((np.abs(seen - cubic) <= 0.25 * size + 4 * self.low).all())

    def _signs(self, g: np.ndarray) -> np.ndarray:
        return (g > self.low).astype(int) - (g < -self.low)

    def _note(self, a: float, b: float, known: np.ndarray) -> None:
        for k, now in enumerate(self._signs(known[1:])):
            for s in np.flatnonzero((now != 0) & (now != self.after)):
                if self.after[s]:
                    self.found.append((int(s), a + (b - a) * k / 4, a + (b - a) * (k + 1) / 4))
                self.after[s] = now[s]
