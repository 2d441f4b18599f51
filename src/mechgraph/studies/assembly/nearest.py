"""The nearest state that meets what must be met: φ = 0 and the start for positions, ψ = 0 and the
start for velocities.

Levenberg–Marquardt steps lead from the guess to a state that meets them; from there it slides along
what is left free, nearer and nearer to the guess, and then to the reference configuration, or to
rest. Mechanisms close in several ways, so other starts follow, and of what they lead to the nearest
is taken. Steps are measured by the size of the bodies (of speeds, by the largest that is asked
for), and rows by their usual slopes, so that nothing depends on units.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ...contract.state import State
from ...errors import AssemblyError
from ...graph.rounding import sizes_of_terms
from ...numerics.search import (
    Found,
    Step,
    damped_step,
    finite,
    least_step,
    lengths,
    normal_by_name,
    search,
)
from ...numerics.tolerances import EPSILON, GIVEN, KNOWN, MET, RANK, ROUNDING, TINY
from ..projection import moved
from .change_of_coordinates import with_turns
from .contact_points import contact_variables
from .named_values import GivenValues, kind_of_row

if TYPE_CHECKING:
    from ...equations import Equations

Sloped = tuple[np.ndarray, np.ndarray]  # rows, and their slopes
SPREADS = (1.0, 0.3, 3.0, 1.0, 0.3, 3.0, 3.0, 1.0)  # of the starts about the guess, in turn
ROUNDS = (8, 32)  # of starts, until something is found
BENT, LARGE = 0.3, 1.0  # of a way that is all but straight
SLIDES, REST = 50, GIVEN  # steps towards the guess, and one that is none
STEADY = 0.9  # of a step: a shorter one after it foretells where they lead
EQUAL = EPSILON**0.5  # difference of distances that tells nothing: they are least there
UNNAMED = KNOWN**0.5  # what the reference weighs beside the guess: points of contact its square
SAMPLES = 3  # states at which slopes are looked at
SHOWN, NOTHING = 8, GivenValues()
FEWER = (
    "Name fewer values in the start, and the others in guess={…}, which is met as nearly as the "
    "constraints allow"
)
CLOSER = "Give guess={…} near a configuration that closes, or change the geometry"


def contradiction(left: Mapping[str, float], what: str, cure: str) -> AssemblyError:
    """An error with the rows that are left, the worst first."""
    left = {name: float(value) for name, value in left.items()}
    worst = sorted(left, key=lambda name: -abs(left[name]))[:SHOWN]
    listed = ", ".join(f"{name} ({left[name]:+.3g})" for name in worst)
    return AssemblyError(f"{what}; not satisfied: {listed}. {cure}", left)


def solve(rows: AssemblyRows, first: np.ndarray) -> np.ndarray:
    """The nearest state that the search finds, beginning at ``first``."""
    begin = first[None]
    if rows.guess.rows.names:
        begin = search(rows.with_guess, rows.move, begin).x
    ends = []
    for tolerance in rows.tolerances:
        ends.append(search(rows, rows.move, begin, step=rows.step(tolerance)))
        if rows.met(ends[-1]).all() and _straight(rows, begin, ends[-1].x, tolerance):
            return _nearest(rows, ends[-1].x, tolerance)[0]
    random = np.random.default_rng(0)
    for count in ROUNDS:
        ends.append(search(rows, rows.move, _beside(rows, begin[0], count, random)))
        found = np.concatenate([each.x[rows.met(each)] for each in ends])
        if len(found):
            near = _nearest(rows, found)
            return near[rows.wishes(near)[1].argmin()]
    raise rows.failure(np.concatenate([each.r for each in ends]))


def closed(equations: Equations, near: np.ndarray, t: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates with φ = 0 that least steps lead to from others, wherever that is, at times t;
    and which were found."""
    rows = PositionRows(equations, near[0], {"t": t, "parameters": None})
    end = search(rows, rows.move, near)
    return end.x, rows.met(end)


def weakest(equations: Equations, q: np.ndarray, context: dict[str, Any]) -> tuple[float, str]:
    """How near to a singular position it is: the least singular value of the slopes of φ that is
    no rounding, beside the largest, and the row that is most part of it; one if there are none."""
    rows = PositionRows(equations, q, context)
    U, sigma, _ = np.linalg.svd(rows(q[None])[1][0], full_matrices=False)
    kept = np.flatnonzero(sigma > RANK * sigma.max(initial=0.0))
    if not kept.size:
        return 1.0, ""
    row = int(np.abs(U[:, kept[-1]]).argmax())
    return float(sigma[kept[-1]] / sigma[0]), rows.names[row]


def _beside(
    rows: AssemblyRows, first: np.ndarray, count: int, random: np.random.Generator
) -> np.ndarray:
    """Where else to begin: at random beside the guess; what is guessed stays at every other
    start."""
    steps = [
        SPREADS[k % len(SPREADS)]
        * normal_by_name(random, rows.directions)
        * (rows.unnamed | (k % 2 == 1))
        for k in range(count)
    ]
    return rows.move(np.tile(first, (count, 1)), np.array(steps))


def _straight(rows: AssemblyRows, begin: np.ndarray, end: np.ndarray, tolerance: float) -> bool:
    """True if the first Gauss–Newton step is no large turn and all but leads there, and what is
    not named can make up for what the guess lacks: then nothing else is nearer."""
    residual, J = rows(begin)
    step = least_step([(residual, J)], tolerance)
    aim = rows.move(begin, step)
    bent = rows.apart(aim, end) > BENT * rows.apart(aim, begin) + MET
    small = np.abs(step).max(initial=0.0) < LARGE
    return bool(not bent and small and _within_reach(rows, residual[0], J[0]))


def _within_reach(rows: AssemblyRows, residual: np.ndarray, J: np.ndarray) -> bool:
    """True if small steps of what is not named move each row by as much as it lacks; where they do
    not, at dead centres, the guess would give way to where they happen to be."""
    if not rows.guess or not rows.unnamed.any():
        return True
    reach = np.linalg.norm(J[:, rows.unnamed], axis=1)
    return bool((np.abs(residual) <= BENT * reach + MET).all())


def _nearest(rows: AssemblyRows, x: np.ndarray, tolerance: float = RANK) -> np.ndarray:
    """Slide along what the constraints leave free; steps of what is curved shrink evenly, and are
    made longer by as much as the one before foretells (Anderson's acceleration)."""
    x, reach, active = x.copy(), np.ones(len(x)), np.arange(len(x))
    before, way = np.zeros((2, len(x), rows.count))
    levels, distance = rows.wishes(x, active)
    least, to_meet = least_step(levels, tolerance), rows.step(tolerance)
    for _ in range(SLIDES):
        step = reach[active, None] * _ahead(least[active], before[active], way[active])
        end = search(rows, rows.move, rows.move(x[active], step), 10 * ROUNDING, step=to_meet)
        levels, new = rows.wishes(end.x, active)
        better = rows.met(end) & (new <= (1 + EQUAL) * distance[active])
        won, lost = active[better], active[~better]
        x[won], way[won], distance[won] = end.x[better], step[better], new[better]
        before[won], before[lost] = least[won], 0.0
        least[won] = least_step(levels, tolerance)[better]
        reach[won], reach[lost] = np.minimum(1.0, 2 * reach[won]), reach[lost] / 4
        active = active[np.linalg.norm(step, axis=-1) >= REST]
        if not active.size:
            break
    return search(rows, rows.move, x, step=to_meet).x


def _ahead(step: np.ndarray, before: np.ndarray, way: np.ndarray) -> np.ndarray:
    """The step to where it would vanish if it went on changing as it did along the way since the
    one before; the step itself, unless it has become shorter."""
    size, last = (np.linalg.norm(x, axis=-1) for x in (step, before))
    change = step - before
    part = np.sum(change * step, axis=-1) / np.maximum(np.sum(change**2, axis=-1), TINY)
    return step - np.where(size < STEADY * last, part, 0.0)[:, None] * (way + change)


class AssemblyRows(ABC):
    """What must be met by variables x, as a residual with its slopes along their variations; what
    is wished; and what is near.

    ``reference`` is what is nearest if nothing else is given, of the quantities ``near``, of which
    ``others`` count, and ``points`` least: points of contact are where bodies make them be.
    """

    names: Sequence[str]  # of the rows that must be met
    variables: Sequence[str]
    directions: Sequence[str]  # names of the variations
    own: SX  # rows of the constraints
    near: SX
    tangent: SX
    reference: np.ndarray
    others: Sequence[int]
    points: Sequence[int] = ()
    far: np.ndarray  # usual sizes of the variables
    away: np.ndarray  # and of what is near
    steps: np.ndarray  # and of the variations
    tolerances: Sequence[float] = (RANK,)  # of the rank, in turn
    accuracy = GIVEN  # what closes with the digits that lengths are given with closes
    messages = "the start contradicts the constraints", "the mechanism cannot be assembled"

    def __init__(
        self,
        equations: Equations,
        first: np.ndarray,
        context: dict[str, Any],
        start: GivenValues,
        guess: GivenValues,
    ) -> None:
        self.equations, self.start, self.guess = equations, start, guess
        given = equations.numeric.arguments(None, None, context["t"], None, context["parameters"])
        self._given = given
        held = equations.constraints[: self.own.numel()]
        self.groups = (
            [*map(kind_of_row, held), *start.groups(self.variables)],
            guess.groups(self.variables),
        )
        self.count = self.tangent.shape[1]
        columns = [self.own, start.rows.column, guess.rows.column, self.near]

        def build() -> list[SX]:
            return [*columns, *(self.slopes(column) for column in columns), self.tangent]

        keys = type(self), tuple(start.rows.names), tuple(guess.rows.names)
        self._kernel = equations.numeric.kernel(keys, build, [1] * 4 + [2] * 5)
        named = np.array(ca.DM(self.tangent.sparsity(), 1)) != 0
        self.unnamed = ~named[[*start.variables, *guess.variables]].any(axis=0)
        self.void = np.setdiff1d(np.arange(len(held)), equations.terms.A.sparsity().row())
        self.sizes = np.ones(1), np.ones(1)
        self.sizes = self._usual_slopes(first)

    def _usual_slopes(self, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Of each row that must be met, and of the guess, along usual steps; one for those without
        slopes."""
        random, start = np.random.default_rng(0), np.tile(first, (1 + SAMPLES, 1))
        steps = (normal_by_name(random, self.directions) for _ in range(SAMPLES))
        found = self._at(self.move(start, np.array([np.zeros(self.count), *steps])), 0)
        slopes = self._must(*found)[1], self._wished(*found)[1]
        means = (np.mean(np.sum(each**2, axis=-1), axis=0) for each in slopes)
        must, guess = map(lengths, means, self.groups)
        return must, guess

    # --- what positions and velocities differ in --------------------------------------------------

    @abstractmethod
    def slopes(self, column: SX) -> SX:
        """Slopes of a column along the variations."""

    @abstractmethod
    def state(self, x: np.ndarray, given: State) -> tuple[np.ndarray, State]:
        """x as it is counted, and the state with it."""

    @abstractmethod
    def move(self, x: np.ndarray, step: np.ndarray) -> np.ndarray:
        """x displaced by so many usual steps along the variations, on its manifold."""

    def step(self, tolerance: float) -> Step:
        """The step that the search takes."""
        return damped_step

    def sides(self, x: np.ndarray) -> np.ndarray:
        """What is positive the right way round, of all constraints."""
        return np.zeros((len(x), 0))

    # --- rows -------------------------------------------------------------------------------------

    def arguments(self, x: np.ndarray, lanes: Any) -> tuple[np.ndarray, State]:
        """x, and the state with it at the times of these lanes."""
        t = self._given.t
        return self.state(x, self._given._replace(t=t[lanes] if t.ndim > 1 else t))

    def _at(self, x: np.ndarray, lanes: Any) -> tuple[np.ndarray, list[np.ndarray]]:
        x, state = self.arguments(x, lanes)
        return x, self._kernel(*state)

    def _must(self, x: np.ndarray, found: list[np.ndarray]) -> Sloped:
        """What must be met: rows by their usual slopes, and slopes along usual steps."""
        own, asked, _, _, own_slopes, asked_slopes, *_, T = found
        residual = np.concatenate([own, self.start.gap(x, asked)], axis=-1) / self.sizes[0]
        J = np.concatenate([own_slopes, self.start.slopes(T, asked_slopes)], axis=-2) * self.steps
        J[:, self.void] = 0  # rounding: these rows hold by themselves
        return finite(residual, J / self.sizes[0][:, None])

    def _wished(self, x: np.ndarray, found: list[np.ndarray]) -> Sloped:
        """The guess, likewise."""
        gap, slopes = self.guess.gap(x, found[2]), self.guess.slopes(found[8], found[6])
        return finite(gap / self.sizes[1], slopes * self.steps / self.sizes[1][:, None], 0.0)

    def __call__(self, x: np.ndarray, lanes: Any = 0) -> Sloped:
        return self._must(*self._at(x, lanes))

    def with_guess(self, x: np.ndarray, lanes: Any) -> Sloped:
        """The guess as if it had to be met, too."""
        at = self._at(x, lanes)
        (residual, J), (gap, slopes) = self._must(*at), self._wished(*at)
        return np.concatenate([residual, gap], axis=-1), np.concatenate([J, slopes], axis=-2)

    def wishes(self, x: np.ndarray, lanes: Any = 0) -> tuple[list[Sloped], np.ndarray]:
        """What a step should do: meet what must be met; then the guess; then come nearer to the
        reference. And how far it is from the guess; much less, from the reference; least, of
        points of contact."""
        x, found = self._at(x, lanes)
        wished = self._wished(x, found)
        gap, along = (found[3] - self.reference) / self.away, found[7] / self.away[:, None]
        levels = [
            self._must(x, found),
            wished,
            (gap[:, self.others], along[:, self.others] * self.steps),
        ]
        parts = wished[0], UNNAMED * gap[:, self.others], UNNAMED**2 * gap[:, self.points]
        return levels, np.linalg.norm(np.concatenate(parts, axis=-1), axis=-1)

    def apart(self, x: np.ndarray, other: np.ndarray) -> float:
        """How far two states are apart."""
        return float(np.linalg.norm((x - other) / self.far))

    def met(self, found: Found) -> np.ndarray:
        """Where nothing is left but the rounding of the variables, and it is the right way
        round."""
        largest = np.abs(found.x / self.far).max(axis=-1, initial=1.0)
        small = np.abs(found.r).max(axis=-1, initial=0.0) <= self.accuracy * largest
        return np.asarray(small & (self.sides(found.x) > 0).all(axis=-1))

    def failure(self, left: np.ndarray) -> AssemblyError:
        """The error with what is left of the residuals where they are least."""
        best = left[np.abs(left).max(axis=-1).argmin()]
        what = self.messages[0 if self.start else 1]
        if np.abs(best).max() <= self.accuracy:
            return AssemblyError(
                f"{what}: it closes only the wrong way round (an axis turned over, a far side "
                "touched, a disc lying flat); give a start or a guess nearer to it"
            )
        return contradiction(self.left(best, self.accuracy), what, FEWER if self.start else CLOSER)

    def left(self, r: np.ndarray, allowed: float) -> dict[str, float]:
        """The rows of a residual that are not met, in their own units."""
        rows = zip(self.names, r, r * self.sizes[0], strict=True)
        return {name: value for name, row, value in rows if not abs(row) <= allowed}


class PositionRows(AssemblyRows):
    """φ = 0 and the start, for coordinates."""

    def __init__(
        self,
        equations: Equations,
        first: np.ndarray,
        context: dict[str, Any],
        start: GivenValues = NOTHING,
        guess: GivenValues = NOTHING,
    ) -> None:
        chart, self.own = equations.terms.chart, equations.terms.phi
        self.variables, self.directions = equations.coordinates, chart.variations
        self.near, self.tangent, self.reference = chart.symbols.q, chart.tangent, first
        self.points = contact_variables(equations, chart.joint_coordinates)
        guess = guess.without(self.points)
        apart = {*chart.counted.values(), *self.points, *guess.variables}
        self.others = [k for k in range(len(first)) if k not in apart]
        self.far = self.away = chart.spans(equations.coordinates)
        self.steps = chart.spans(chart.variations)
        self.names = [
            *equations.constraints[: self.own.numel()],
            *start.names(equations.coordinates),
        ]
        self._parameters = context["parameters"]
        self._sides = equations.numeric.kernel("sides", lambda: [_sides(equations)], [1])
        super().__init__(equations, chart.normalized(first), context, start, guess)

    def slopes(self, column: SX) -> SX:
        return ca.jacobian(column, self.equations.terms.symbols.q) @ self.tangent

    def state(self, x: np.ndarray, given: State) -> tuple[np.ndarray, State]:
        eqs, t = self.equations, given.t[..., 0]
        x = with_turns(eqs, eqs, x, x.copy(), t, self._parameters)
        return x, given._replace(q=x)

    def move(self, x: np.ndarray, step: np.ndarray) -> np.ndarray:
        return moved(self.equations, x, self.steps * step)

    def sides(self, x: np.ndarray) -> np.ndarray:
        return self._sides(*self.arguments(x, np.arange(len(x)))[1])[0]


class VelocityRows(AssemblyRows):
    """ψ = 0 and the start, for speeds at q. Rows that are not linear in them may have no slope at
    rest; where they are, one Gauss–Newton step suffices, beside a singular position with what
    counts as none elsewhere."""

    tolerances, accuracy = (RANK, MET), MET
    messages = ("the start contradicts the constraints at velocity level",) * 2

    def __init__(
        self,
        equations: Equations,
        q: np.ndarray,
        first: np.ndarray,
        context: dict[str, Any],
        start: GivenValues = NOTHING,
        guess: GivenValues = NOTHING,
    ) -> None:
        chart, self.own, self._q = equations.terms.chart, equations.terms.psi, q
        self.variables = self.directions = equations.speeds
        self.near, self.tangent = chart.joint_rates, SX.eye(len(first))
        apart = contact_variables(equations, chart.joint_speeds)
        self.others = [k for k in range(len(chart.joint_speed_names)) if k not in apart]
        self.far = self.steps = chart.spans(equations.speeds)
        self.away = chart.spans(chart.joint_speed_names)
        self.reference = np.zeros(len(self.away))
        rates = (f"rate of {name}" for name in equations.constraints[: self.own.numel()])
        self.names = [*rates, *start.names(equations.speeds)]
        super().__init__(equations, first, context, start, guess)
        lacking = np.abs(self.with_guess(first[None], 0)[0])
        fast = np.abs(first / self.far).max(initial=self._fastest_term(q))
        self.pace = pace = lacking.max(where=np.isfinite(lacking), initial=fast) or 1.0
        self.far, self.steps, self.away = pace * self.far, pace * self.steps, pace * self.away
        self.sizes = pace * self.sizes[0], pace * self.sizes[1]

    def _fastest_term(self, q: np.ndarray) -> float:
        """The largest of the terms that ψ is made of at rest, in usual speeds: of bases and places
        that move with time, and may cancel."""
        s = self.equations.terms.symbols

        def derive() -> list[SX]:
            at_rest = ca.sparsify(ca.substitute(self.own, s.u, SX.zeros(s.u.numel())))
            arguments = ca.vertcat(s.q, s.t, s.p)
            sizes = sizes_of_terms(ca.densify(at_rest), arguments) if at_rest.nnz() else None
            return [SX.zeros(self.own.numel()) if sizes is None else sizes]

        kernel = self.equations.numeric.kernel("terms of psi at rest", derive, [1])
        terms = kernel(*self._given._replace(q=q))[0] / self.sizes[0][: self.own.numel()]
        return float(terms.max(where=np.isfinite(terms), initial=0.0))

    def slopes(self, column: SX) -> SX:
        return ca.jacobian(column, self.equations.terms.symbols.u)

    def state(self, x: np.ndarray, given: State) -> tuple[np.ndarray, State]:
        return x, given._replace(q=self._q, u=x)

    def step(self, tolerance: float) -> Step:
        return lambda x, r, J, mu: least_step([(r, J)], tolerance)

    def move(self, x: np.ndarray, step: np.ndarray) -> np.ndarray:
        return np.asarray(x + self.steps * step)


def _sides(equations: Equations) -> SX:
    m, constraints = equations.terms.chart.motion, equations.terms.rows.constraints
    return ca.vertcat(
        SX(0, 1), *(side for each in constraints for side in each.orientation_sign(m))
    )
