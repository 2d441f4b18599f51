"""The rows that vanish where speeds stay as they are.

With the accelerations a and multipliers λ among the unknowns, a state (q, u) is sought where

    M a − f − Gᵀλ = 0,    A a + b = 0,    φ = 0,    ψ = 0,

and where the first two stay so along the motion: their rates are zero, too (else a pendulum that
swings through its lowest point would be steady). All accelerations are zero but those of speeds
that the others determine by ψ, and those that are said to be constant, whose rates are zero.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import casadi as ca
import numpy as np
from casadi import SX

from ...errors import UnsupportedError
from ...graph.rounding import sizes_of_terms
from ...numerics.rank import rank, weighed_inverse
from ...numerics.search import search
from ..projection import moved
from .held import HeldVariables

if TYPE_CHECKING:
    from ...equations import Equations

# what may be left of a row, in proportion to its slopes and to the constraint forces in it
TOLERANCE = 1e-12
ROUNDING = 2e-14  # what counts as nothing beside the largest row
REACH = 0.5  # the longest step, beside what is near
DEGREE = 2  # of the rows in y

State = tuple[np.ndarray, np.ndarray]  # (q, u)
Sloped = tuple[np.ndarray, np.ndarray]  # rows, and their slopes along the free steps


class BalanceRows(NamedTuple):
    """The rows at a state; their slopes along the free steps and along y; what they are large by,
    and what is rounding."""

    values: np.ndarray
    along: np.ndarray
    own: np.ndarray
    size: np.ndarray
    noise: np.ndarray

    def unmet(self, tolerance: float = TOLERANCE) -> np.ndarray:
        """Which rows are not zero, but for rounding."""
        return ~(np.abs(self.values) <= tolerance * self.size + 10 * self.noise)

    @property
    def scale(self) -> np.ndarray:
        return np.where(self.size > self.noise, self.size, 1.0)


class Balance:
    """The rows at states (q, u), with the y (accelerations, multipliers and, in motion, their
    rates) that meets them best.

    The order of the rows: forces and A a + b, in motion each with its rate; φ, ψ, what is held.
    """

    def __init__(
        self,
        equations: Equations,
        held: HeldVariables,
        moving: bool,
        given: tuple[Any, Any],
        start: State,
        changing: list[int] | None,
        accelerating: list[int],
    ) -> None:
        self.equations, self.moving, self.given = equations, moving, given
        self.accelerating = accelerating
        self.count = equations.terms.chart.tangent.shape[1]  # of variations of the coordinates
        self.moves = [i for i in range(self.count) if i not in held.directions]
        self._find_lengths()
        self.begin = start[0]
        self.noise: np.ndarray | None = None
        self.rates = [i for i in range(len(equations.speeds)) if i not in held.speeds]
        self._name_rows(held, start)
        self._kernel, self._terms = self._compiled(held)
        self.release([])
        self.release(self._turning(*start) if changing is None else changing)
        self.weigh(start)

    def _find_lengths(self) -> None:
        """Which variations slide, and which coordinates they move."""
        chart = self.equations.terms.chart
        self.slides = ~np.isin(np.arange(self.count), chart.turning)
        moved = np.array(ca.DM(chart.tangent.sparsity(), 1)) != 0
        self.places = moved[:, self.slides].any(axis=1)

    def weigh(self, state: State) -> None:
        """Rows are large or small by what they are at this state, from which steps begin; so is
        their rounding, for far away it would hide what falls for ever."""
        self.begin = state[0]
        self.least, self.scale = np.zeros(len(self.names)), np.ones(len(self.names))
        for _ in range(2):  # that of multipliers is known only after they are
            self.noise = None
            rows = self(state)
            self.least, self.scale, self.noise = rows.size, rows.scale, rows.noise

    def _name_rows(self, held: HeldVariables, start: State) -> None:
        equations, n, m = (
            self.equations,
            len(self.equations.speeds),
            len(self.equations.constraints),
        )
        found = [equations.observe(name, *start, 0.0, *self.given) for name in held.names]
        labels = [
            f"{name} (held)" for name, part in zip(held.names, found, strict=True) for _ in part
        ]
        self.values = np.concatenate([np.zeros(0), *found])
        self.names = [*_row_names(equations, 1 + self.moving), *labels]
        rows, levels = np.arange(len(self.names)), 1 + self.moving
        self.forces, self.constraints = rows < levels * n, rows >= levels * (n + m)
        self.rate = np.isin(rows, [*range(n, levels * n), *range(levels * n + m, levels * (n + m))])
        self.levels = levels * n + np.arange(m)  # A a + b
        self.least, self.scale = np.zeros(len(rows)), np.ones(len(rows))

    def _compiled(self, held: HeldVariables) -> tuple[Any, Any]:
        """The rows with their slopes, and the sizes of their terms."""
        equations, asked = self.equations, (self.moving, held.names)
        count = (1 + self.moving) * (len(equations.speeds) + len(equations.constraints))
        y, kept = SX.sym("y", count), SX.sym("held", len(self.values))
        also, make = ca.vertcat(y, kept), equations.numeric.kernel

        def column() -> SX:
            return _column(equations, y, kept, held.names, self.moving)

        return (
            make(("balance", *asked), lambda: _sloped(equations, column(), y), [1, 2], also),
            make(("terms", *asked), lambda: [_terms(equations, column(), also)], [1], also),
        )

    # --- speeds that may change -------------------------------------------------------------------

    def release(self, changing: list[int]) -> None:
        """Seek the accelerations of the speeds that may change, besides the multipliers, and those
        that are constant."""
        n, m = len(self.equations.speeds), len(self.equations.constraints)
        self.changing = [i for i in changing if i not in self.accelerating]
        sought = [*self.changing, *range(n, n + m)]
        self.own = [level * (n + m) + i for level in range(1 + self.moving) for i in sought]
        self.own += self.accelerating

    def _turning(self, q: np.ndarray, u: np.ndarray) -> list[int]:
        """Speeds of the coordinates that nothing depends on, as far as the other speeds determine
        them by ψ."""
        A = self.equations.constraint_jacobian(q, u, 0.0, self.given[1])
        chosen: list[int] = []
        if not A.size or not self.moving or not self.equations.terms.chart.has_bodies:
            return chosen
        for i in set(self._cyclic(q).tolist()) - self.equations.terms.chart.replaced:
            if rank(A[:, [*chosen, i]]) > len(chosen):
                chosen.append(i)
        return chosen

    def _cyclic(self, q: np.ndarray) -> np.ndarray:
        """Directions along which no row has a slope, at a random state near q."""
        random, n = np.random.default_rng(0), len(self.equations.speeds)
        q = moved(self.equations, q, random.uniform(-0.3, 0.3, self.count))
        u, y = random.uniform(-1, 1, n), random.uniform(-1, 1, self._unknowns)
        slopes = np.abs(self._evaluated(self._kernel, (q, u), y)[1][:, : self.count])
        largest = slopes.max(axis=0, initial=0.0)
        return np.flatnonzero(largest <= TOLERANCE * slopes.max(initial=0.0))

    # --- at a state -------------------------------------------------------------------------------

    def __call__(self, state: State) -> BalanceRows:
        """The rows with the best y."""
        return self._at(state, self._best(state))

    def accelerations(self, state: State) -> np.ndarray:
        """Those of the speeds whose accelerations are constant; of the others zero."""
        own, out = self.accelerating, np.zeros(len(self.equations.speeds))
        out[own] = self._best(state)[own]
        return out

    def _best(self, state: State) -> np.ndarray:
        """The y that meets the rows best."""
        y = np.zeros(self._unknowns)
        for _ in range(DEGREE if self.own else 0):
            found = self._at(state, y)
            if not np.isfinite(found.values).all():
                break
            y[self.own] -= inverse(found.own / self.scale[:, None]) @ (found.values / self.scale)
        return y

    def _at(self, state: State, y: np.ndarray) -> BalanceRows:
        values, slopes = self._evaluated(self._kernel, state, y)
        slopes = np.where(np.isfinite(slopes), slopes, 0.0)
        size = np.maximum(self.least, self._sizes(state[1], y, slopes))
        largest = self._noise(state[1], size)
        noise = self.noise
        if noise is None:
            (terms,) = self._evaluated(self._terms, state, y)
            noise = np.where(np.isfinite(terms), ROUNDING * terms, largest)
        first, last = self.count, self.count + len(state[1])  # of the columns along u
        void = (size <= largest) & (np.abs(values) <= 10 * noise)
        values[void], slopes[void, :last] = 0.0, 0.0
        along = slopes[:, [*self.moves, *(first + i for i in self.rates)]]
        return BalanceRows(values, along, slopes[:, [last + i for i in self.own]], size, noise)

    def _evaluated(self, kernel: Any, state: State, y: np.ndarray) -> list[np.ndarray]:
        arguments = self.equations.numeric.arguments(*state, 0.0, *self.given)
        return kernel(*arguments, np.concatenate([y, self.values]))

    def _sizes(self, u: np.ndarray, y: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """How large each row is: its largest slope, times the size of what it is along (one for
        angles, lengths at the start and speeds if they are larger than one, accelerations,
        multipliers)."""
        n, m = len(u), len(self.equations.constraints)
        kinds = np.split(np.abs(y), np.cumsum([n, m, n])[: 3 if self.moving else 1])
        along = [self._lengths(self.begin), np.maximum(1.0, np.abs(u))]
        along += [np.full(len(kind), kind.max(initial=0.0)) for kind in kinds]
        return np.abs(slopes * np.concatenate(along)).max(axis=1, initial=0.0)

    def _lengths(self, q: np.ndarray) -> np.ndarray:
        """One for variations that turn; for those that slide the largest length, if it is
        larger."""
        long = np.abs(q[self.places]).max(initial=1.0)
        return np.where(self.slides, long, 1.0)

    def _noise(self, u: np.ndarray, size: np.ndarray) -> np.ndarray:
        """What counts as nothing beside the largest force, or row of a constraint; beside one, too,
        since all rows may be nothing but rounding (of constraints that hold by themselves)."""
        fast = max(1.0, np.abs(u).max(initial=0.0))
        force = size[~self.rate & self.forces].max(initial=0.0)
        row = size[~self.rate & ~self.forces].max(initial=1.0)
        return ROUNDING * np.where(self.forces, force, row) * np.where(self.rate, fast, 1.0)

    @property
    def _unknowns(self) -> int:
        n, m = len(self.equations.speeds), len(self.equations.constraints)
        return (1 + self.moving) * (n + m)

    def reach(self, q: np.ndarray) -> np.ndarray:
        """Of the free steps along coordinates: one for angles; for lengths as far as they came
        since the start, if that is farther."""
        return self._lengths(q - self.begin)[self.moves]

    def moved(self, state: State, x: np.ndarray) -> State:
        """The state after a step, which is cut where it would lead far away."""
        (q, u), count, step = state, len(self.moves), np.zeros(self.count)
        far = max(
            np.abs(x[:count] / self.reach(q)).max(initial=0.0),
            np.abs(x[count:]).max(initial=0.0) / (1 + np.abs(u).max(initial=0.0)),
        )
        x, rate = x * (REACH / max(far, REACH)), u.copy()
        step[self.moves], rate[self.rates] = x[:count], u[self.rates] + x[count:]
        return moved(self.equations, q, step), rate

    def search(self, rows: Callable[[State], Sloped], start: State) -> State:
        """The state at which some rows vanish, or are least, by the one search."""
        count = len(start[0])

        def at(states: np.ndarray, _: np.ndarray) -> Sloped:
            found = [rows((y[:count], y[count:])) for y in states]
            r, J = (np.array(part) for part in zip(*found, strict=True))
            return r, J

        def move(states: np.ndarray, steps: np.ndarray) -> np.ndarray:
            pairs = zip(states, steps, strict=True)
            return np.array(
                [np.concatenate(self.moved((y[:count], y[count:]), x)) for y, x in pairs]
            )

        end = search(at, move, np.concatenate(start)[None]).x[0]
        return end[:count], end[count:]


def inverse(own: np.ndarray) -> np.ndarray:
    """The pseudoinverse, whatever the units of the columns."""
    by = lengths(own)
    return weighed_inverse(own / by) / by[:, None]


def lengths(matrix: np.ndarray) -> np.ndarray:
    """Of the columns; one for those of zeros."""
    norms = np.linalg.norm(matrix, axis=0)
    return np.where(norms > 0, norms, 1.0)


def _column(equations: Equations, y: SX, held: SX, names: tuple[str, ...], moving: bool) -> SX:
    """The rows."""
    terms, s = equations.terms, equations.terms.symbols
    now = ca.vertcat(s.udot, terms.multipliers)
    rows = [terms.tau - terms.G.T @ terms.multipliers, terms.A @ s.udot + terms.b]
    _refuse_time(equations, ca.vertcat(*rows, terms.phi, terms.psi))
    if moving:
        x, flow = ca.vertcat(s.q, s.u, now), ca.vertcat(terms.qdot, s.udot, y[now.numel() :])
        rows = [level for row in rows for level in (row, ca.jtimes(row, x, flow))]
    quantities = [equations.names.resolve(name).value for name in names]
    kept = ca.vertcat(SX(0, 1), *quantities) - held
    column = ca.vertcat(*rows, terms.phi, terms.psi, kept)
    return ca.substitute(column, now, y[: now.numel()])


def _sloped(equations: Equations, column: SX, y: SX) -> list[SX]:
    """The rows, and their slopes along (δs, u, y)."""
    s, tangent = equations.terms.symbols, equations.terms.chart.tangent
    along = ca.jacobian(column, s.q) @ tangent
    return [column, ca.horzcat(along, ca.jacobian(column, s.u), ca.jacobian(column, y))]


def _terms(equations: Equations, column: SX, also: SX) -> SX:
    """How large the terms of the rows are; no number if that is not known."""
    s = equations.terms.symbols
    arguments = ca.vertcat(s.q, s.u, s.t, s.w, s.p, also)
    sizes = sizes_of_terms(ca.densify(column), arguments)
    return SX.nan(column.shape) if sizes is None else sizes


def _refuse_time(equations: Equations, rows: SX) -> None:
    for name, row in zip(_row_names(equations), ca.vertsplit(rows), strict=True):
        if ca.depends_on(row, equations.terms.symbols.t):
            raise UnsupportedError(
                f"{name!r} depends on time, so that no state stays as it is; simulate, or use a "
                "parameter instead"
            )


def _row_names(equations: Equations, levels: int = 1) -> list[str]:
    names, terms = equations.constraints, equations.terms
    positions, velocities = names[: terms.phi.numel()], names[: terms.psi.numel()]
    return [*equations.speeds * levels, *names * levels, *positions, *velocities]
