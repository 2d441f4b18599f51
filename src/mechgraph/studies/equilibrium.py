"""Equilibria and steady motions: states whose speeds stay as they are.

With the accelerations a and multipliers λ among the unknowns, a state (q, u) is sought where

    M a − f − Gᵀλ = 0,    A a + b = 0,    φ = 0,    ψ = 0,

and where the first two stay so along the motion: their rates are zero, too (else a pendulum that
swings through its lowest point would be steady). All accelerations are zero but those of speeds
that the others determine by ψ. The steps are those of least norm in q and u, so what nothing
depends on stays as it was guessed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import named, one_state, some_of
from ..closures.numbers import RANK_TOLERANCE, rank
from ..errors import ArgumentError, AssemblyError, UnsupportedError
from .assembly.assemble import assemble
from .assembly.conversion import convert, in_joint_coordinates
from .projection import moved

if TYPE_CHECKING:
    from ..equations import Equations

# what may be left of a row, in proportion to its slopes and to the constraint forces in it
TOLERANCE = 1e-12
LASTING = 1e-8  # the same after a while
ROUNDING = 2e-14  # what counts as nothing beside the largest row
EXACT = 1e-16  # error that no step makes smaller
STILL = 1e-9  # speeds that lead nowhere
STEPS = 200
REACH = 0.5  # the longest step


@dataclass(frozen=True)
class Held:
    """What is to stay as it is: variations of coordinates and speeds by index, and quantities that
    are no variables, by name."""

    directions: frozenset[int] = frozenset()
    speeds: frozenset[int] = frozenset()
    names: tuple[str, ...] = ()


def equilibrium(
    equations: Equations,
    guess: Mapping[str, Any] | tuple[Any, ...] | None = None,
    *,
    hold: Sequence[str] = (),
    inputs: Any = None,
    parameters: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """A state of rest (q, u = 0) with u̇ = 0, on the constraints, near the guess.

    guess: names with values, as in a start, or a pair (q, u).
    hold: names that stay as they are in the guess.
    inputs, parameters: by name, numbers.
    """
    return _found(equations, guess, hold, None, False, inputs, parameters)


def steady(
    equations: Equations,
    guess: Mapping[str, Any] | tuple[Any, ...] | None = None,
    *,
    hold: Sequence[str] = (),
    constant: Sequence[str] | None = None,
    inputs: Any = None,
    parameters: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """A state (q, u) whose speeds stay constant, on the constraints, near the guess.

    guess: names with values, as in a start, or a pair (q, u).
    hold: names that stay as they are in the guess (speeds that it does not give at zero); as many
        as the family of steady motions has parameters make the answer definite.
    constant: names of the speeds that must not change; by default all but those of coordinates that
        nothing depends on, where the other speeds determine them: the velocity of a disc that rolls
        in a circle turns.
    inputs, parameters: by name, numbers.

    Where coordinates are not those of joints, it is found in joint coordinates, unless a name is
    one of their own.
    """
    return _found(equations, guess, hold, constant, True, inputs, parameters)


def _found(
    equations: Equations,
    guess: Any,
    hold: Any,
    constant: Any,
    moving: bool,
    inputs: Any,
    parameters: Any,
) -> tuple[np.ndarray, np.ndarray]:
    one_state(equations.numeric.arguments(None, None, 0.0, inputs, parameters))
    joint = _in_joint_coordinates(equations, guess, hold, constant)
    if joint is not None:
        found = _found(joint, guess, hold, constant, moving, inputs, parameters)
        return convert(joint, equations, *found, 0.0, parameters)
    held = _read_hold(equations, hold)
    changing = None if constant is None else _others(equations, constant)
    q, u = _initial_state(equations, guess, held, parameters)
    if not moving:
        u, held = np.zeros_like(u), replace(held, speeds=frozenset(range(len(u))))
    balance = _Balance(equations, held, moving, (inputs, parameters), (q, u))
    balance.release(balance.turning(q, u) if changing is None else changing)
    try:
        return balance.settled(q, u)
    except AssemblyError:
        with suppress(AssemblyError):  # the moment of a horizontal pendulum has no slope
            return balance.settled(*balance.nudged(q, u))
        raise


def _in_joint_coordinates(equations: Equations, guess: Any, *names: Any) -> Equations | None:
    """As ``in_joint_coordinates``; a guess may also be the pair (q, u), which is in the equations'
    own."""
    if isinstance(guess, tuple):
        return None
    lists = (each for each in names if isinstance(each, Collection))
    listed = [name for each in lists for name in each if isinstance(name, str)]
    return in_joint_coordinates(equations, [*named("guess", guess), *listed])


# --- what is asked --------------------------------------------------------------------------------


def _meaning(equations: Equations, name: str) -> Held:
    """What a name stands for: coordinates, and so directions; speeds; or another quantity."""
    quantity = equations.names.resolve(name)
    if quantity.coordinates:
        return Held(directions=_directions(equations, quantity.coordinates))
    if quantity.speeds:
        return Held(speeds=frozenset(quantity.speeds))
    return Held(names=(name,))


def _directions(equations: Equations, coordinates: Sequence[int]) -> frozenset[int]:
    """The variations that move these coordinates."""
    moved = np.array(ca.DM(equations.terms.chart.tangent.sparsity(), 1)) != 0
    return frozenset(int(k) for k in np.flatnonzero(moved[list(coordinates)].any(axis=0)))


def _read_hold(equations: Equations, hold: Any) -> Held:
    """All that the names stand for, with quaternions held as a whole or not at all."""
    if isinstance(hold, str) or not isinstance(hold, Collection):
        raise ArgumentError(f"hold: expected a list of names, got {hold!r}")
    try:
        parts = [_meaning(equations, name) for name in hold]
    except ArgumentError as error:
        raise ArgumentError(f"hold: {error}") from None
    given = {index for name in hold for index in equations.names.resolve(name).coordinates}
    for four in equations.terms.chart.quaternions:
        if given & set(four) and not set(four) <= given:
            name = equations.coordinates[four[0]]
            raise ArgumentError(
                f"hold: {name!r} is a part of a quaternion; hold its joint "
                f"{name.rpartition('.')[0]!r} as a whole"
            )
    return Held(
        frozenset().union(*(part.directions for part in parts)),
        frozenset().union(*(part.speeds for part in parts)),
        tuple(name for part in parts for name in part.names),
    )


def _initial_state(
    equations: Equations, guess: Any, held: Held, parameters: Any
) -> tuple[np.ndarray, np.ndarray]:
    """An assembled state with what is held as given, and with as much of the rest of the guess as
    the constraints allow."""
    if isinstance(guess, tuple):
        return assemble(equations, guess, parameters=parameters)
    guess = named("guess", guess)
    meanings = {name: _meaning(equations, str(name)) for name in guess}
    given = frozenset().union(*(meaning.speeds for meaning in meanings.values()))
    still = {equations.speeds[i]: 0.0 for i in held.speeds - given}
    with suppress(AssemblyError):
        return assemble(equations, {**still, **guess}, parameters=parameters)
    met = still | {name: guess[name] for name, part in meanings.items() if _within(part, held)}
    rest = {name: value for name, value in guess.items() if name not in met}
    near = {name: value for name, value in rest.items() if meanings[name].directions}
    for name, value in rest.items():
        with suppress(AssemblyError):
            assemble(equations, {**met, name: value}, guess=near, parameters=parameters)
            met[name] = value
    return assemble(equations, met, guess=near, parameters=parameters)


def _within(part: Held, held: Held) -> bool:
    """True if all that a name stands for is held."""
    return (
        part.directions <= held.directions
        and part.speeds <= held.speeds
        and set(part.names) <= set(held.names)
    )


def _others(equations: Equations, constant: Any) -> list[int]:
    """Speeds that are not among those that must be constant."""
    names = some_of("constant speed", constant, equations.speeds)
    return [i for i, name in enumerate(equations.speeds) if name not in names]


# --- the rows -------------------------------------------------------------------------------------


def _expressions(
    equations: Equations, y: SX, held: SX, names: tuple[str, ...], moving: bool
) -> list[SX]:
    """The rows (forces and constraints, in motion each with its rate; then φ, ψ and what is held)
    and their slopes along (δs, u, y)."""
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
    column = ca.substitute(column, now, y[: now.numel()])
    along = ca.jacobian(column, s.q) @ terms.chart.tangent
    slopes = ca.horzcat(along, ca.jacobian(column, s.u), ca.jacobian(column, y))
    return [column, slopes]


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


class _Balance:
    """The rows at a state (q, u), with the y (accelerations, multipliers and, in motion, their
    rates) that meets them best.

    ``size`` of a row is the largest of its slopes and of the constraint forces in it, so far.
    """

    def __init__(
        self,
        equations: Equations,
        held: Held,
        moving: bool,
        given: tuple[Any, Any],
        start: tuple[np.ndarray, np.ndarray],
    ) -> None:
        n, m, levels = len(equations.speeds), len(equations.constraints), 1 + moving
        self.equations, self.moving, self.given = equations, moving, given
        self.count = equations.terms.chart.tangent.shape[1]  # of variations of the coordinates
        self.moves = [i for i in range(self.count) if i not in held.directions]
        self.rates = [i for i in range(n) if i not in held.speeds]
        found = [equations.observe(name, *start, 0.0, *given) for name in held.names]
        self.values = np.concatenate([np.zeros(0), *found])
        y, kept = SX.sym("y", levels * (n + m)), SX.sym("held", len(self.values))
        self.kernel = equations.numeric.kernel(
            ("balance", moving, held.names),
            lambda: _expressions(equations, y, kept, held.names, moving),
            [1, 2],
            ca.vertcat(y, kept),
        )
        labels = [
            f"{name} (held)" for name, part in zip(held.names, found, strict=True) for _ in part
        ]
        self.names = [*_row_names(equations, levels), *labels]
        rows = np.arange(len(self.names))
        self.forces = rows < levels * n
        self.rate = np.isin(rows, [*range(n, levels * n), *range(levels * n + m, levels * (n + m))])
        self.y = np.zeros(y.numel())
        self.size, self.noise = np.zeros(len(rows)), np.zeros(len(rows))
        self.release([])

    def _evaluated(self, q: np.ndarray, u: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
        """Rows and slopes."""
        arguments = self.equations.numeric.arguments(q, u, 0.0, *self.given)
        return self.kernel(*arguments, np.concatenate([y, self.values]))

    def release(self, changing: list[int]) -> None:
        """Seek the accelerations of the speeds that may change, besides the multipliers."""
        n, m = len(self.equations.speeds), len(self.equations.constraints)
        self.changing = changing
        self.own = [
            start + i
            for start in range(0, len(self.y), max(1, n + m))
            for i in (*changing, *range(n, n + m))
        ]

    def turning(self, q: np.ndarray, u: np.ndarray) -> list[int]:
        """Speeds of the coordinates that nothing depends on, as far as the other speeds determine
        them by ψ."""
        A = self.equations.constraint_jacobian(q, u, 0.0, self.given[1])
        chosen: list[int] = []
        if not A.size or not self.moving or self.equations.terms.rows is None:
            return chosen
        for i in self._cyclic(q):
            if rank(A[:, [*chosen, i]]) > len(chosen):
                chosen.append(int(i))
        return chosen

    def _cyclic(self, q: np.ndarray) -> np.ndarray:
        """Directions along which no row has a slope, at a random state near q."""
        random, n = np.random.default_rng(0), len(self.equations.speeds)
        q = moved(self.equations, q, random.uniform(-0.3, 0.3, self.count))
        u, y = random.uniform(-1, 1, n), random.uniform(-1, 1, len(self.y))
        slopes = np.abs(self._evaluated(q, u, y)[1][:, : self.count])
        largest = slopes.max(axis=0, initial=0.0)
        return np.flatnonzero(largest <= TOLERANCE * slopes.max(initial=0.0))

    # --- at a state -------------------------------------------------------------------------------

    def __call__(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the best y leaves of the rows, and their slopes along the free steps of (q, u) and
        along y."""
        for _ in range(2):  # the rows may be of second degree in y
            rows, _, own = self._at(q, u)
            if not np.isfinite(rows).all():
                break
            self.y[self.own] -= _inverse(own / self._scale[:, None]) @ (rows / self._scale)
        return self._at(q, u)

    def _at(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        first, last = self.count, self.count + len(u)  # of the columns along u
        rows, slopes = self._evaluated(q, u, self.y)
        slopes = np.where(np.isfinite(slopes), slopes, 0.0)
        self._measure(u, slopes)
        void = np.maximum(self.size, np.abs(rows)) <= self.noise
        rows[void], slopes[void, :last] = 0.0, 0.0
        along = slopes[:, [*self.moves, *(first + i for i in self.rates)]]
        return rows, along, slopes[:, [last + i for i in self.own]]

    def _measure(self, u: np.ndarray, slopes: np.ndarray) -> None:
        """The sizes of the rows; noise is what counts as nothing beside the largest force, or row
        of a constraint."""
        n, m, fast = len(u), len(self.equations.constraints), max(1.0, np.abs(u).max(initial=0.0))
        kinds = np.split(np.abs(self.y), np.cumsum([n, m, n])[: 3 if self.moving else 1])
        sizes = [np.ones(self.count), np.maximum(1.0, np.abs(u))]
        sizes += [np.full(len(kind), kind.max(initial=0.0)) for kind in kinds]
        weighted = np.abs(slopes * np.concatenate(sizes))
        self.size = np.maximum(self.size, weighted.max(axis=1, initial=0.0))
        plain = ~self.rate
        force = self.size[plain & self.forces].max(initial=0.0)
        row = self.size[plain & ~self.forces].max(initial=0.0)
        self.noise = ROUNDING * np.where(self.forces, force, row) * np.where(self.rate, fast, 1.0)

    @property
    def _scale(self) -> np.ndarray:
        return np.where(self.size > self.noise, self.size, 1.0)

    # --- the search -------------------------------------------------------------------------------

    def settled(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Levenberg–Marquardt steps until nothing helps any more; what is left then must be
        nothing."""
        rows, J, own = self(q, u)
        damping = 1e-3
        for _ in range(STEPS):
            scale, size = self._scale, self.size
            error = float(np.linalg.norm(rows / scale))
            if not error > EXACT or damping > 1e8:
                break
            trial = self._moved(
                q, u, _step(rows / scale, J / scale[:, None], own / scale[:, None], damping)
            )
            new = self(*trial)
            if np.linalg.norm(new[0] / scale) < error:
                (q, u), (rows, J, own), damping = trial, new, damping / 5
            else:
                self.size, damping = size, damping * 10
        self._check(
            rows,
            TOLERANCE,
            "no steady state found near the guess: {}; give a guess nearer to one, or hold fewer "
            "names",
        )
        self._check_lasting(q, u)
        return q, u

    def nudged(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """A state beside this one."""
        return self._moved(
            q, u, np.random.default_rng(0).uniform(-0.1, 0.1, len(self.moves) + len(self.rates))
        )

    def _moved(self, q: np.ndarray, u: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The state after a step, which is cut where it would lead far away."""
        count, step, rate = len(self.moves), np.zeros(self.count), u.copy()
        far = max(
            np.abs(x[:count]).max(initial=0.0),
            np.abs(x[count:]).max(initial=0.0) / (1 + np.abs(u).max(initial=0.0)),
        )
        x = x * (REACH / max(far, REACH))
        step[self.moves], rate[self.rates] = x[:count], u[self.rates] + x[count:]
        return moved(self.equations, q, step), rate

    def _check(self, rows: np.ndarray, tolerance: float, what: str) -> None:
        if not (np.abs(rows) <= tolerance * self.size + 10 * self.noise).all():
            worst = int(np.argmax(np.abs(rows) / self._scale))
            does = "still changes" if self.forces[worst] else "is not met"
            raise AssemblyError(
                what.format(f"{self.names[worst]!r} {does} (unbalanced by {abs(rows[worst]):.3g})")
            )

    def _check_lasting(self, q: np.ndarray, u: np.ndarray) -> None:
        """Refuse what is steady at an instant only: go on (Runge–Kutta) until the fastest
        coordinate has moved by a tenth."""
        fast = float(np.abs(u).max(initial=0.0))
        if fast < STILL:
            return
        for _ in range(10):
            h = 0.01 / fast
            k1 = self._rates(q, u)
            k2 = self._rates(q + h / 2 * k1, u)
            k3 = self._rates(q + h / 2 * k2, u)
            k4 = self._rates(q + h * k3, u)
            q = q + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
            q = self.equations.terms.chart.normalized(q)
        rows = self(q, self._followed(q, u))[0]
        rows[len(rows) - len(self.values) :] = 0.0  # what is held may well move on
        self._check(
            rows, LASTING, "the motion found near the guess is steady for an instant only: then {}"
        )

    def _rates(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return self.equations.coordinate_rates(q, self._followed(q, u))

    def _followed(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The speeds, those that may change as ψ gives them."""
        own, u = self.changing, u.copy()
        psi = self.equations.velocity_violation(q, u, 0.0, self.given[1])
        A = self.equations.constraint_jacobian(q, u, 0.0, self.given[1])[: len(psi), own]
        u[own] -= np.linalg.pinv(A, rcond=RANK_TOLERANCE) @ psi
        return u


def _step(rows: np.ndarray, J: np.ndarray, own: np.ndarray, damping: float) -> np.ndarray:
    """The damped step of least norm that does away with what y cannot."""
    rest = np.eye(len(rows)) - own @ _inverse(own)
    U, sigma, Vt = np.linalg.svd(rest @ J, full_matrices=False)
    size = float(np.linalg.norm(rows))
    return -Vt.T @ (
        sigma / (sigma**2 + max(min(damping, size) * size, 1e-20)) * (U.T @ (rest @ rows))
    )


def _inverse(own: np.ndarray) -> np.ndarray:
    """The pseudoinverse, whatever the units of the columns."""
    lengths = np.linalg.norm(own, axis=0)
    lengths[lengths == 0] = 1.0
    return np.linalg.pinv(own / lengths, rcond=RANK_TOLERANCE) / lengths[:, None]
