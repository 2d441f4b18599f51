"""Positions that satisfy φ = 0 and the start, as near as they can be to the guess, and then to the
reference configuration.

Levenberg–Marquardt steps from the guess lead to a configuration that closes; from there it slides
along what is left free, nearer and nearer. Mechanisms close in several ways, so other starts
follow, and of what they lead to the nearest is taken. Lengths are measured by the size of the
bodies, and rows by their usual slopes, so that nothing depends on units.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ...contract.state import State
from ...errors import AssemblyError
from ...numerics.search import Found, finite, least_step, lengths, normal_by_name, search
from ..projection import moved
from .contact_points import contact_variables
from .contradiction import CLOSER, FEWER, contradiction
from .conversion import with_turns
from .requested import Level, kind_of_row

if TYPE_CHECKING:
    from ...equations import Equations

Sloped = tuple[np.ndarray, np.ndarray]  # rows, and their slopes
ENOUGH, MET = 1e-13, 1e-10  # what needs no further step on the way, and what may be left of a row
SPREADS = (1.0, 0.3, 3.0, 1.0, 0.3, 3.0, 3.0, 1.0)  # of the starts about the guess, in turn
ROUNDS = (8, 32)  # of starts, until something is found
BENT, LARGE = 0.3, 1.0  # of a way that is all but straight
SLIDES, REST = 50, 1e-10  # steps towards the guess, and one that is none
STEADY = 0.9  # of a step: a shorter one after it foretells where they lead
EQUAL = 1e-8  # difference of distances, relative, that tells nothing
UNNAMED = 1e-3  # what the reference configuration weighs beside the guess
REDUNDANT = 1e-11  # singular values that rounding leaves of redundant rows
SAMPLES = 3  # configurations at which slopes are looked at


def positions(
    equations: Equations, start: Level, guess: Level, first: np.ndarray, context: dict[str, Any]
) -> np.ndarray:
    """The coordinates; ``first`` is where the search begins."""
    rows = Placing(equations, start, guess, first, context)
    begin = equations.terms.chart.normalized(first)[None]
    if guess.rows.names:
        begin = search(rows.with_guess, rows.move, begin).x
    end = search(rows, rows.move, begin)
    if rows.met(end).all() and _straight(rows, begin, end.x):
        return _nearest(rows, end.x)[0]
    ends, random = [end], np.random.default_rng(0)
    for count in ROUNDS:
        ends.append(search(rows, rows.move, _beside(rows, begin[0], count, random)))
        found = np.concatenate([each.x[rows.met(each)] for each in ends])
        if len(found):
            near = _nearest(rows, found)
            return near[rows.wishes(near)[1].argmin()]
    raise _failure(rows, start, np.concatenate([each.r for each in ends]))


def closed(equations: Equations, near: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates with φ = 0 that least steps lead to from others, wherever that is, at times t;
    and which were found."""
    rows = Placing(equations, Level(), Level(), near[0], {"t": t, "parameters": None})
    end = search(rows, rows.move, near)
    return end.x, rows.met(end)


def weakest(equations: Equations, q: np.ndarray, context: dict[str, Any]) -> tuple[float, str]:
    """How near to a singular position it is: the least singular value of the slopes of φ that is
    no rounding, beside the largest, and the row that is most part of it; one if there are none."""
    rows = Placing(equations, Level(), Level(), q, context)
    U, sigma, _ = np.linalg.svd(rows(q[None])[1][0], full_matrices=False)
    kept = np.flatnonzero(sigma > REDUNDANT * sigma.max(initial=0.0))
    if not kept.size:
        return 1.0, ""
    row = int(np.abs(U[:, kept[-1]]).argmax())
    return float(sigma[kept[-1]] / sigma[0]), rows.names[row]


def _beside(
    rows: Placing, first: np.ndarray, count: int, random: np.random.Generator
) -> np.ndarray:
    """Where else to begin: at random beside the guess; what is guessed stays at every other
    start."""
    names = rows.equations.terms.chart.variations
    steps = [
        SPREADS[k % len(SPREADS)] * normal_by_name(random, names) * (rows.unnamed | (k % 2 == 1))
        for k in range(count)
    ]
    return rows.move(np.tile(first, (count, 1)), np.array(steps))


def _straight(rows: Placing, begin: np.ndarray, end: np.ndarray) -> bool:
    """True if the first Gauss–Newton step is no large turn and all but leads there, and what is
    not named can make up for what the guess lacks: then nothing else is nearer."""
    residual, J = rows(begin)
    step = least_step([(residual, J)])
    aim = rows.move(begin, step)
    bent = rows.apart(aim, end) > BENT * rows.apart(aim, begin) + MET
    small = np.abs(step).max(initial=0.0) < LARGE
    return bool(not bent and small and _within_reach(rows, residual[0], J[0]))


def _within_reach(rows: Placing, residual: np.ndarray, J: np.ndarray) -> bool:
    """True if small steps of what is not named move each row by as much as it lacks; where they do
    not, at dead centres, the guess would give way to where they happen to be."""
    if not rows.guess or not rows.unnamed.any():
        return True
    reach = np.linalg.norm(J[:, rows.unnamed], axis=1)
    return bool((np.abs(residual) <= BENT * reach + MET).all())


def _nearest(rows: Placing, q: np.ndarray) -> np.ndarray:
    """Slide along what the constraints leave free; steps of what is curved shrink evenly, and are
    made longer by as much as the one before foretells (Anderson's acceleration)."""
    q, reach, active = q.copy(), np.ones(len(q)), np.arange(len(q))
    before, way = np.zeros((2, len(q), rows.count))
    levels, distance = rows.wishes(q, active)
    least = least_step(levels)
    for _ in range(SLIDES):
        step = reach[active, None] * _ahead(least[active], before[active], way[active])
        end = search(rows, rows.move, rows.move(q[active], step), ENOUGH)
        levels, new = rows.wishes(end.x, active)
        better = rows.met(end) & (new <= (1 + EQUAL) * distance[active])
        won, lost = active[better], active[~better]
        q[won], way[won], distance[won] = end.x[better], step[better], new[better]
        before[won], before[lost] = least[won], 0.0
        least[won] = least_step(levels)[better]
        reach[won], reach[lost] = np.minimum(1.0, 2 * reach[won]), reach[lost] / 4
        active = active[np.linalg.norm(step, axis=-1) >= REST]
        if not active.size:
            break
    return search(rows, rows.move, q).x


def _ahead(step: np.ndarray, before: np.ndarray, way: np.ndarray) -> np.ndarray:
    """The step to where it would vanish if it went on changing as it did along the way since the
    one before; the step itself, unless it has become shorter."""
    size, last = (np.linalg.norm(x, axis=-1) for x in (step, before))
    change = step - before
    part = np.sum(change * step, axis=-1) / np.maximum(np.sum(change**2, axis=-1), 1e-300)
    return step - np.where(size < STEADY * last, part, 0.0)[:, None] * (way + change)


def _failure(rows: Placing, start: Level, left: np.ndarray) -> AssemblyError:
    best = left[np.abs(left).max(axis=-1).argmin()]
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
        self._given = equations.numeric.arguments(
            None, None, context["t"], None, context["parameters"]
        )
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
        first = np.tile(terms.chart.normalized(self.reference), (1 + SAMPLES, 1))
        names = terms.chart.variations
        steps = [np.zeros(self.count), *(normal_by_name(random, names) for _ in range(SAMPLES))]
        q, found = self._at(self.move(first, np.array(steps)), 0)
        slopes = self._must(q, found)[1], self._wished(q, found)[1]
        means = (np.mean(np.sum(each**2, axis=-1), axis=0) for each in slopes)
        must, guess = map(lengths, means, self.groups)
        return must, guess

    def _arguments(self, q: np.ndarray, lanes: Any) -> State:
        t = self._given.t
        return self._given._replace(q=q, t=t[lanes] if t.ndim > 1 else t)

    def _at(self, q: np.ndarray, lanes: Any) -> tuple[np.ndarray, list[np.ndarray]]:
        """q, with its turns counted, and the values of the kernel there."""
        eqs, (_, *given) = self.equations, self._arguments(q, lanes)
        q = with_turns(eqs, eqs, q, q.copy(), given[1][..., 0], self.context["parameters"])
        return q, self._kernel(q, *given)

    def _must(self, q: np.ndarray, found: list[np.ndarray]) -> Sloped:
        """What must be met: rows by their usual slopes, and slopes along usual steps."""
        phi, asked, _, phi_slopes, asked_slopes, _, T = found
        residual = np.concatenate([phi, self.start.gap(q, asked)], axis=-1) / self.sizes[0]
        J = np.concatenate([phi_slopes, self.start.slopes(T, asked_slopes)], axis=-2) * self.steps
        J[:, self.void] = 0  # rounding: these rows hold by themselves
        return finite(residual, J / self.sizes[0][:, None])

    def _wished(self, q: np.ndarray, found: list[np.ndarray]) -> Sloped:
        """The guess, likewise."""
        gap, slopes = self.guess.gap(q, found[2]), self.guess.slopes(found[6], found[5])
        return finite(gap / self.sizes[1], slopes * self.steps / self.sizes[1][:, None], 0.0)

    def __call__(self, q: np.ndarray, lanes: Any = 0) -> Sloped:
        return self._must(*self._at(q, lanes))

    def with_guess(self, q: np.ndarray, lanes: Any) -> Sloped:
        """The guess as if it had to be met, too."""
        at = self._at(q, lanes)
        (residual, J), (gap, slopes) = self._must(*at), self._wished(*at)
        return np.concatenate([residual, gap], axis=-1), np.concatenate([J, slopes], axis=-2)

    def wishes(self, q: np.ndarray, lanes: Any = 0) -> tuple[list[Sloped], np.ndarray]:
        """What a step should do: meet what must be met; then the guess; then come nearer to the
        reference configuration. And how far it is from the guess; much less, from the reference;
        least, of points of contact, which are where bodies make them be."""
        q, found = self._at(q, lanes)
        wished = self._wished(q, found)
        away, along = (q - self.reference) / self.far, found[6] * self.steps / self.far[:, None]
        levels = [self._must(q, found), wished, (away[:, self.others], along[:, self.others])]
        parts = wished[0], UNNAMED * away[:, self.others], UNNAMED**2 * away[:, self.points]
        return levels, np.linalg.norm(np.concatenate(parts, axis=-1), axis=-1)

    def apart(self, q: np.ndarray, other: np.ndarray) -> float:
        """How far two configurations are apart."""
        return float(np.linalg.norm((q - other) / self.far))

    def met(self, found: Found) -> np.ndarray:
        """Where nothing is left, and it is the right way round."""
        small = np.abs(found.r).max(axis=-1, initial=0.0) < MET
        sides = self._sides(*self._arguments(found.x, np.arange(len(found.x))))[0]
        return np.asarray(small & (sides > 0).all(axis=-1))

    def move(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """q displaced by so many usual steps along the variations, on its manifold."""
        return moved(self.equations, q, self.steps * step)


def _sides(equations: Equations) -> SX:
    """What is positive the right way round, of all constraints."""
    m, constraints = equations.terms.chart.motion, equations.terms.rows.constraints
    return ca.vertcat(
        SX(0, 1), *(side for each in constraints for side in each.orientation_sign(m))
    )
