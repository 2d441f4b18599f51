"""Where functions change their sign within a step, as steps.c searches; for methods that are not
there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

DEPTH, LOOKS = 24, 1000  # halvings; looks at a step
NOTHING = 1e-14  # in proportion to the largest value so far

Crossing = tuple[int, float, float]  # which function, between which parts of the step


def sign_changes(
    values: Callable[[float], np.ndarray], sides: np.ndarray, size: np.ndarray, undecided: int
) -> tuple[list[Crossing], np.ndarray]:
    """Changes of sign of functions of the part of a step (0 … 1), and their sides after it.

    Functions from the index ``undecided`` on that begin at zero, but for rounding, are on no side
    yet. ``size`` is how large each has been, and is updated.
    """
    known = np.array([values(part) for part in np.arange(5) / 4])
    np.maximum(size, np.abs(known).max(axis=0), out=size)
    after = sides.copy()
    after[undecided:][np.abs(known[0, undecided:]) <= 1e-12 * size[undecided:]] = 0
    search = _Search(values, NOTHING * size, after)
    search.between(0.0, 1.0, known, 0)
    return search.found, search.after


@dataclass
class _Search:
    values: Callable[[float], np.ndarray]
    low: np.ndarray
    after: np.ndarray
    found: list[Crossing] = field(default_factory=list)
    looks: int = 0

    def between(self, a: float, b: float, known: np.ndarray, depth: int) -> None:
        """Look between parts a and b, where the functions are known at five places."""
        if depth >= DEPTH or self.looks > LOOKS or self._clear(known).all():
            self._note(a, b, known)
            return
        self.looks += 4
        new = np.array([self.values(a + (b - a) * k / 8) for k in (1, 3, 5, 7)])
        finer = np.empty((9, known.shape[1]))
        finer[::2], finer[1::2] = known, new
        self.between(a, (a + b) / 2, finer[:5], depth + 1)
        self.between((a + b) / 2, b, finer[4:], depth + 1)

    def _clear(self, g: np.ndarray) -> np.ndarray:
        """Whether each surely has no zero that the five places do not show: it is far from zero, or
        rises or falls all the way, in proportion to how it bends."""
        bends = np.diff(g, 2, axis=0)
        bend, twist = np.abs(bends).max(axis=0), np.abs(np.diff(bends, axis=0)).max(axis=0)
        a, b = g[:-1], g[1:]
        steady = np.abs(b - a) > 0.75 * bend + twist
        opposite = self._signs(a) * self._signs(b) < 0
        far = np.minimum(np.abs(a), np.abs(b)) > 0.2 * bend + 0.5 * twist
        still = (np.abs(a) <= self.low) & (np.abs(b) <= self.low) & (bend <= self.low)
        return steady | (~opposite & (far | still))

    def _signs(self, g: np.ndarray) -> np.ndarray:
        return (g > self.low).astype(int) - (g < -self.low)

    def _note(self, a: float, b: float, known: np.ndarray) -> None:
        for k, now in enumerate(self._signs(known[1:])):
            for s in np.flatnonzero((now != 0) & (now != self.after)):
                if self.after[s]:
                    self.found.append((int(s), a + (b - a) * k / 4, a + (b - a) * (k + 1) / 4))
                self.after[s] = now[s]
