"""Positions that satisfy φ = 0 and the start, as near as they can be to the guess, and then to the
reference configuration.

Levenberg–Marquardt steps from the guess lead to a configuration that closes; from there it slides
along what is left free, nearer and nearer. Mechanisms close in several ways, so other starts
follow, and of what they lead to the nearest is taken. Lengths are measured by the size of the
bodies, and rows by their usual slopes, so that nothing depends on units.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ...contract.state import State
from ...errors import AssemblyError
from ..least_squares import in_order, known, lengths, scattered, settled
from ..projection import moved
from .contact_points import contact_variables
from .contradiction import CLOSER, FEWER, contradiction
from .conversion import with_turns
from .requested import Level, kind_of_row

if TYPE_CHECKING:
    from ...equations import Equations

ENOUGH = 1e-13
MET = 1e-10  # what may be left of a row
ATTEMPTS = 40
SPREADS = (1.0, 0.3, 3.0, 1.0, 0.3, 3.0, 3.0, 1.0)  # of the starts about the guess, in turn
OTHERS = 8  # starts after which what was found will do
BENT, LARGE = 0.3, 1.0  # of a way that is all but straight
SLIDES, REST = 50, 1e-10  # steps towards the guess, and one that is none
EQUAL = 1e-8  # difference of distances, relative, that tells nothing
UNNAMED = 1e-3  # what the reference configuration weighs beside the guess
ROUNDING = 2e-15  # of rows: less cannot be told from nothing
REDUNDANT = 1e-11  # singular values that rounding leaves of redundant rows
LAST = 3  # steps to the last digit
SAMPLES = 3  # configurations at which slopes are looked at


def positions(
    equations: Equations, start: Level, guess: Level, first: np.ndarray, context: dict[str, Any]
) -> np.ndarray:
    """The coordinates; ``first`` is where the search begins."""
    rows = Placing(equations, start, guess, first, context)
    found: list[np.ndarray] = []
    ends: list[tuple[np.ndarray, np.ndarray]] = []
    for attempt, begin in enumerate(_starts(rows, equations.terms.chart.normalized(first))):
        ends.append(settled(rows, rows.moved, begin, ENOUGH))
        if rows.met(*ends[-1]):
            found.append(_nearest(rows, ends[-1][0]))
        if found and (attempt == OTHERS or (attempt == 0 and _straight(rows, begin, ends[0][0]))):
            break
    if not found:
        raise _failure(rows, start, ends)
    return _polished(rows, min(found, key=rows.distance))


def closed(equations: Equations, near: np.ndarray, t: float) -> np.ndarray:
    """Coordinates with φ = 0 that least steps lead to from others, wherever that is."""
    rows = Placing(equations, Level(), Level(), near, {"t": t, "parameters": None})
    q, left = settled(rows, rows.moved, near, ENOUGH)
    if not rows.met(q, left):
        raise AssemblyError("no least steps close the mechanism from there")
    return q


def weakest(equations: Equations, q: np.ndarray, context: dict[str, Any]) -> tuple[float, str]:
    """How near to a singular position it is: the least singular value of the slopes of φ that is
    no rounding, beside the largest, and the row that is most part of it; one if there are none."""
    rows = Placing(equations, Level(), Level(), q, context)
    U, sigma, _ = np.linalg.svd(rows(q)[1], full_matrices=False)
    kept = np.flatnonzero(sigma > REDUNDANT * sigma.max(initial=0.0))
    if not kept.size:
        return 1.0, ""
    row = int(np.abs(U[:, kept[-1]]).argmax())
    return float(sigma[kept[-1]] / sigma[0]), rows.names[row]


def _starts(rows: Placing, first: np.ndarray) -> Iterator[np.ndarray]:
    """Where to begin: at the guess, then at random beside it."""
    if rows.guess.rows.names:
        first = settled(rows.with_guess, rows.moved, first, ENOUGH)[0]
    yield first
    random, names = np.random.default_rng(0), rows.equations.terms.chart.variations
    for attempt in range(ATTEMPTS):
        spread = SPREADS[attempt % len(SPREADS)]
        moving = rows.unnamed | (attempt % 2 == 1)  # what is guessed stays at every other start
        yield rows.moved(first, spread * scattered(random, names) * moving)


def _straight(rows: Placing, begin: np.ndarray, end: np.ndarray) -> bool:
    """True if the first Gauss–Newton step is no large turn and all but leads there, and what is
    not named can make up for what the guess lacks: then nothing else is nearer."""
    residual, J = rows(begin)
    step = in_order([(J, -residual)], rows.count)
    aim = rows.moved(begin, step)
    bent = rows.apart(aim, end) > BENT * rows.apart(aim, begin) + ENOUGH
    return not bent and np.abs(step).max(initial=0.0) < LARGE and _within_reach(rows, residual, J)


def _within_reach(rows: Placing, residual: np.ndarray, J: np.ndarray) -> bool:
    """True if small steps of what is not named move each row by as much as it lacks; where they do
    not, at dead centres, the guess would give way to where they happen to be."""
    if not rows.guess or not rows.unnamed.any():
        return True
    reach = np.linalg.norm(J[:, rows.unnamed], axis=1)
    return bool((np.abs(residual) <= BENT * reach + MET).all())


def _nearest(rows: Placing, q: np.ndarray) -> np.ndarray:
    """Slide along what the constraints leave free."""
    reach = 1.0
    for _ in range(SLIDES):
        step = reach * in_order(rows.levels(q), rows.count)
        trial, left = settled(rows, rows.moved, rows.moved(q, step), ENOUGH)
        if rows.met(trial, left) and rows.distance(trial) <= (1 + EQUAL) * rows.distance(q):
            q, reach = trial, min(1.0, 2 * reach)
        else:
            reach /= 4
        if np.linalg.norm(step) < REST:
            break
    return q


def _polished(rows: Placing, q: np.ndarray) -> np.ndarray:
    """The same to the last digit: near singular positions speeds need every one."""
    residual, J = rows(q)
    for _ in range(LAST):
        trial = rows.moved(q, in_order([(J, -residual)], rows.count))
        left, slopes = rows(trial)
        if not np.linalg.norm(left) < np.linalg.norm(residual) > ROUNDING:
            break
        q, residual, J = trial, left, slopes
    return q


def _failure(
    rows: Placing, start: Level, ends: list[tuple[np.ndarray, np.ndarray]]
) -> AssemblyError:
    best = min((left for _, left in ends), key=lambda left: np.abs(left).max())
    what = "the start contradicts the constraints" if start else "the mechanism cannot be assembled"
    if np.abs(best).max() < MET:
        return AssemblyError(
            f"{what}: it closes only the wrong way round (an axis turned over, a far side touched, "
            "a disc lying flat); give a start or a guess nearer to it"
        )
    given = zip(rows.names, best, best * rows.sizes[0], strict=True)
    residuals = {name: value for name, left, value in given if not abs(left) <= MET}
    return contradiction(residuals, 0.0, what, FEWER if start else CLOSER)


class Placing:
    """What must be met, φ and the start, as a residual with its slopes along the variations of the
    coordinates; and what is wished."""

    def __init__(
        self,
        equations: Equations,
        start: Level,
        guess: Level,
        reference: np.ndarray,
        context: dict[str, Any],
    ) -> None:
        self.equations, self.context = equations, context
        terms, chart = equations.terms, equations.terms.chart
        self.points = contact_variables(equations, chart.joint_coordinates)
        self.start, self.reference = start, reference
        self.guess = guess = guess.without(self.points)
        positions = equations.constraints[: terms.phi.numel()]
        self.names = [*positions, *start.names(equations.coordinates)]
        self.groups = (
            [*map(kind_of_row, positions), *start.groups(equations.coordinates)],
            guess.groups(equations.coordinates),
        )
        self.count = chart.tangent.shape[1]
        apart = {*chart.counted.values(), *self.points, *guess.variables}
        self.others = [k for k in range(len(reference)) if k not in apart]
        columns = [terms.phi, start.rows.column, guess.rows.column]
        keys = tuple(start.rows.names), tuple(guess.rows.names)

        def build() -> list[SX]:
            q, T = terms.symbols.q, chart.tangent
            slopes = [ca.jacobian(column, q) @ T for column in columns]
            return [*columns, *slopes, T]

        self._kernel = equations.numeric.kernel(
            ("position rows", *keys), build, [1, 1, 1, 2, 2, 2, 2]
        )
        self._sides = equations.numeric.kernel("sides", lambda: [_sides(equations)], [1])
        named = np.array(ca.DM(chart.tangent.sparsity(), 1)) != 0
        self.unnamed = ~named[[*start.variables, *guess.variables]].any(axis=0)
        self.void = np.setdiff1d(np.arange(len(positions)), terms.A.sparsity().row())
        self.far = chart.spans(equations.coordinates)
        self.steps = chart.spans(chart.variations)
        self.sizes = self._usual_slopes()

    def _usual_slopes(self) -> tuple[np.ndarray, np.ndarray]:
        """Of each row that must be met, and of the guess, along usual steps; one for those without
        slopes."""
        self.sizes = np.ones(1), np.ones(1)
        terms, random = self.equations.terms, np.random.default_rng(0)
        first = terms.chart.normalized(self.reference)
        steps = (scattered(random, terms.chart.variations) for _ in range(SAMPLES))
        found = [self._at(q) for q in (first, *(self.moved(first, step) for step in steps))]
        must, guess = (
            np.mean([np.sum(at[k] ** 2, axis=1) for at in found], axis=0) for k in (1, 3)
        )
        return lengths(must, self.groups[0]), lengths(guess, self.groups[1])

    def _arguments(self, q: np.ndarray) -> State:
        t, parameters = self.context["t"], self.context["parameters"]
        return self.equations.numeric.arguments(q, None, t, None, parameters)

    def _at(self, q: np.ndarray) -> tuple[np.ndarray, ...]:
        """(residual, J) of what must be met, (gap, slopes) of the guess, and T; rows by their usual
        slopes, and slopes along usual steps."""
        eqs = self.equations
        q = with_turns(eqs, eqs, q, q.copy(), self.context["t"], self.context["parameters"])
        phi, asked, guessed, phi_slopes, asked_slopes, guess_slopes, T = self._kernel(
            *self._arguments(q)
        )
        must, wished = self.sizes
        residual = np.concatenate([phi, self.start.gap(q, asked)]) / must
        J = np.vstack([phi_slopes, self.start.slopes(T, asked_slopes)]) * self.steps
        J[self.void] = 0  # rounding: these rows hold by themselves
        gap, slopes = self.guess.gap(q, guessed), self.guess.slopes(T, guess_slopes) * self.steps
        musts = known(residual, J / must[:, None])
        return *musts, *known(gap / wished, slopes / wished[:, None], 0.0), T * self.steps

    def __call__(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        residual, J, *_ = self._at(q)
        return residual, J

    def with_guess(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The guess as if it had to be met, too."""
        residual, J, gap, slopes, _ = self._at(q)
        return np.concatenate([residual, gap]), np.vstack([J, slopes])

    def levels(self, q: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """What a step should do: meet what must be met; then the guess; then come nearer to the
        reference configuration."""
        residual, J, gap, slopes, T = self._at(q)
        back = (self.reference - q) / self.far, T / self.far[:, None]
        return [(J, -residual), (slopes, -gap), (back[1][self.others], back[0][self.others])]

    def distance(self, q: np.ndarray) -> float:
        """From the guess; much less, from the reference configuration; least, of points of
        contact, which are where bodies make them be."""
        gap, beside = self._at(q)[2], UNNAMED * (q - self.reference) / self.far
        parts = gap, beside[self.others], UNNAMED * beside[self.points]
        return float(np.linalg.norm(np.concatenate(parts)))

    def apart(self, q: np.ndarray, other: np.ndarray) -> float:
        """How far two configurations are apart."""
        return float(np.linalg.norm((q - other) / self.far))

    def met(self, q: np.ndarray, residual: np.ndarray) -> bool:
        """True if nothing is left, and the right way round."""
        small = np.abs(residual).max(initial=0.0) < MET
        return bool(small and (self._sides(*self._arguments(q))[0] > 0).all())

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """q displaced by so many usual steps along the variations, on its manifold."""
        return moved(self.equations, q, self.steps * step)


def _sides(equations: Equations) -> SX:
    """What is positive the right way round, of all constraints."""
    m, constraints = equations.terms.chart.motion, equations.terms.rows.constraints
    return ca.vertcat(
        SX(0, 1), *(side for each in constraints for side in each.orientation_sign(m))
    )
