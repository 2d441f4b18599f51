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
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import named, one_state, some_of
from ..closures.closure import RANK_TOLERANCE, rank
from ..equations.equations import Equations
from ..errors import ArgumentError, AssemblyError, UnsupportedError
from .assembly.assemble import in_joint_coordinates, to_absolute
from .projection import moved, normalized

# what may be left of a row, in proportion to its slopes and to the constraint forces in it
TOLERANCE = 1e-12
LASTING = 1e-8  # the same after a while
ROUNDING = 2e-14  # what counts as nothing beside the largest row
EXACT = 1e-16  # error that no step makes smaller
STILL = 1e-9  # speeds that lead nowhere
STEPS = 200
REACH = 0.5  # the longest step


Part = tuple[
    set[int], set[int]
]  # indices of speeds: along which coordinates are meant, and which are meant themselves


def equilibrium(
    equations: Equations,
    guess: Mapping[str, Any] | None = None,
    *,
    hold: Sequence[str] = (),
    inputs: Any = None,
    parameters: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """A state of rest, u = 0 and u̇ = 0, on the constraints, near the guess (names as in a start).

    The coordinates named in ``hold`` stay as they are in the guess.
    """
    return _found(equations, guess, hold, None, False, inputs, parameters)


def steady(
    equations: Equations,
    guess: Mapping[str, Any] | None = None,
    *,
    hold: Sequence[str] = (),
    constant: Sequence[str] | None = None,
    inputs: Any = None,
    parameters: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """A state whose speeds stay constant, on the constraints, near the guess.

    The coordinates and speeds (or whole joints) named in ``hold`` stay as they are in the guess
    (speeds that it does not tell at zero); as many as the family of steady motions has parameters
    make the answer definite. ``constant`` names the speeds that must not change; by default all but
    those of coordinates that nothing depends on, where the other speeds determine them: the
    velocity of a disc that rolls in a circle turns. Where coordinates are not those of joints, it
    is found in joint coordinates, unless a name is one of a body's coordinates or speeds.
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
    one_state(equations.arguments(None, None, 0.0, inputs, parameters))
    joint = _in_joint_coordinates(equations, guess, hold, constant or ())
    if joint is not None:
        return to_absolute(
            equations,
            joint,
            *_found(joint, guess, hold, constant, moving, inputs, parameters),
            0.0,
            parameters,
        )
    held, changing = (
        _held(equations, hold),
        _others(equations, constant) if constant is not None else None,
    )
    q, u = _beginning(equations, guess, held, parameters)
    if not moving:
        u, held = np.zeros_like(u), (held[0], set(range(len(u))))
    balance = _Balance(equations, held, moving, (inputs, parameters))
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
    listed = [
        name
        for each in names
        if isinstance(each, Collection)
        for name in each
        if isinstance(name, str)
    ]
    return in_joint_coordinates(equations, [*named("guess", guess), *listed])


# --- what is asked --------------------------------------------------------------------------------


def _part(equations: Equations, name: str) -> Part:
    """What a name of a coordinate, a speed, a joint or the speeds of a joint stands for; nothing if
    it is none of these."""
    k, joint = equations.kinematics, name.removesuffix("'")
    if name in equations.speeds:
        return set(), {equations.speeds.index(name)}
    if name in k.joint_speeds:
        return set(k.joint_speeds[name]), set()
    if joint in k.joint_speeds:
        return set(), set(k.joint_speeds[joint])
    if f"{name}'" in equations.speeds:
        return {equations.speeds.index(f"{name}'")}, set()
    whole = (u for q, u in k.quaternion_speeds if name in (equations.coordinates[i] for i in q))
    return set(next(whole, ())), set()


def _held(equations: Equations, hold: Any) -> Part:
    """All that the names stand for, with quaternions held as a whole or not at all."""
    joints = equations.kinematics.joint_speeds
    known = dict.fromkeys(
        [
            *equations.coordinates,
            *equations.speeds,
            *joints,
            *(f"{name}'" for name in joints if name not in equations.speeds),
        ]
    )
    names = some_of("name to hold", hold, known)
    for name in names:
        if (
            name in equations.coordinates
            and name not in joints
            and f"{name}'" not in equations.speeds
        ):
            raise ArgumentError(
                f"hold: {name!r} is a part of a quaternion; hold its joint "
                f"{name.rpartition('.')[0]!r} as a whole"
            )
    parts = [_part(equations, name) for name in names]
    return set().union(*(part[0] for part in parts)), set().union(*(part[1] for part in parts))


def _beginning(
    equations: Equations, guess: Any, held: Part, parameters: Any
) -> tuple[np.ndarray, np.ndarray]:
    """An assembled state with what is held as given, and with as much of the rest of the guess as
    the constraints allow."""
    if isinstance(guess, tuple):
        return equations.assemble(guess, parameters=parameters)
    guess = named("guess", guess)
    told = set().union(*(_part(equations, str(name))[1] for name in guess))
    guess = {**{equations.speeds[i]: 0.0 for i in held[1] - told}, **guess}
    parts = {name: _part(equations, str(name)) for name in guess}
    met = {
        name: guess[name]
        for name, part in parts.items()
        if any(part) and part[0] <= held[0] and part[1] <= held[1]
    }
    rest = {name: value for name, value in guess.items() if name not in met}
    near = {
        name: value
        for name, value in rest.items()
        if name in equations.kinematics.joint_coordinates
    }
    with suppress(AssemblyError):
        return equations.assemble(guess, parameters=parameters)
    for name, value in rest.items():
        with suppress(AssemblyError):
            equations.assemble({**met, name: value}, guess=near, parameters=parameters)
            met[name] = value
    return equations.assemble(met, guess=near, parameters=parameters)


def _others(equations: Equations, constant: Any) -> list[int]:
    """Speeds that are not among those that must be constant."""
    names = some_of("constant speed", constant, equations.speeds)
    return [i for i, name in enumerate(equations.speeds) if name not in names]


# --- the rows -------------------------------------------------------------------------------------


def _expressions(equations: Equations, y: SX, moving: bool) -> list[SX]:
    """The rows (forces and constraints, in motion each with its rate; then φ and ψ) and their
    slopes along (δs, u, y)."""
    s, c = equations.symbols, equations.constrained
    now = ca.vertcat(s.udot, c.multipliers)
    rows = [equations.tau - c.G.T @ c.multipliers, equations.A @ s.udot + equations.b]
    for name, row in zip(
        _row_names(equations),
        ca.vertsplit(ca.vertcat(*rows, equations.phi, equations.psi)),
        strict=True,
    ):
        if ca.depends_on(row, s.t):
            raise UnsupportedError(
                f"{name!r} depends on time, so that no state stays as it is; simulate, or use a "
                "parameter instead"
            )
    if moving:
        x, flow = (
            ca.vertcat(s.q, s.u, now),
            ca.vertcat(equations.kinematics.qdot, s.udot, y[now.numel() :]),
        )
        rows = [level for row in rows for level in (row, ca.jtimes(row, x, flow))]
    column = ca.substitute(ca.vertcat(*rows, equations.phi, equations.psi), now, y[: now.numel()])
    return [
        column,
        ca.horzcat(
            ca.jacobian(column, s.q) @ equations.N, ca.jacobian(column, s.u), ca.jacobian(column, y)
        ),
    ]


def _row_names(equations: Equations, levels: int = 1) -> list[str]:
    names = equations.constraints
    return [
        *equations.speeds * levels,
        *names * levels,
        *names[: equations.phi.numel()],
        *names[: equations.psi.numel()],
    ]


class _Balance:
    """The rows at a state (q, u), with the y (accelerations, multipliers and, in motion, their
    rates) that meets them best.

    ``size`` of a row is the largest of its slopes and of the constraint forces in it, so far.
    """

    def __init__(
        self, equations: Equations, held: Part, moving: bool, given: tuple[Any, Any]
    ) -> None:
        n, m, levels = len(equations.speeds), len(equations.constraints), 1 + moving
        self.equations, self.moving, self.given = equations, moving, given
        self.moves, self.rates = ([i for i in range(n) if i not in part] for part in held)
        y = SX.sym("y", levels * (n + m))
        self.kernel = equations.kernel(
            ("balance", moving), lambda: _expressions(equations, y, moving), [1, 2], y
        )
        self.names = _row_names(equations, levels)
        rows = np.arange(len(self.names))
        self.forces = rows < levels * n
        self.rate = np.isin(rows, [*range(n, levels * n), *range(levels * n + m, levels * (n + m))])
        self.y, self.size, self.noise = (
            np.zeros(y.numel()),
            np.zeros(len(rows)),
            np.zeros(len(rows)),
        )
        self.release([])

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
        for i in self._cyclic(q) if A.size and self.moving else ():
            if rank(A[:, [*chosen, i]]) > len(chosen):
                chosen.append(int(i))
        return chosen

    def _cyclic(self, q: np.ndarray) -> np.ndarray:
        """Directions along which no row has a slope, at a random state near q."""
        random, n = np.random.default_rng(0), len(self.equations.speeds)
        q = moved(self.equations, q, random.uniform(-0.3, 0.3, n))
        u, y = random.uniform(-1, 1, n), random.uniform(-1, 1, len(self.y))
        slopes = np.abs(self.kernel(*self.equations.arguments(q, u, 0.0, *self.given), y)[1][:, :n])
        return np.flatnonzero(
            slopes.max(axis=0, initial=0.0) <= TOLERANCE * slopes.max(initial=0.0)
        )

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
        n = len(u)
        rows, slopes = self.kernel(*self.equations.arguments(q, u, 0.0, *self.given), self.y)
        slopes = np.where(np.isfinite(slopes), slopes, 0.0)
        self._measure(u, slopes)
        void = np.maximum(self.size, np.abs(rows)) <= self.noise
        rows, slopes[:, : 2 * n] = (
            np.where(void, 0.0, rows),
            np.where(void[:, None], 0.0, slopes[:, : 2 * n]),
        )
        return (
            rows,
            slopes[:, [*self.moves, *(n + i for i in self.rates)]],
            slopes[:, [2 * n + i for i in self.own]],
        )

    def _measure(self, u: np.ndarray, slopes: np.ndarray) -> None:
        """The sizes of the rows; noise is what counts as nothing beside the largest force, or row
        of a constraint."""
        n, m, fast = len(u), len(self.equations.constraints), max(1.0, np.abs(u).max(initial=0.0))
        kinds = np.split(np.abs(self.y), np.cumsum([n, m, n])[: 3 if self.moving else 1])
        x = [
            np.ones(n),
            np.maximum(1.0, np.abs(u)),
            *(np.full(len(kind), kind.max(initial=0.0)) for kind in kinds),
        ]
        self.size = np.maximum(
            self.size, np.abs(slopes * np.concatenate(x)).max(axis=1, initial=0.0)
        )
        force, row = (
            self.size[~self.rate & (self.forces == kind)].max(initial=0.0) for kind in (True, False)
        )
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
        count, step, rate = len(self.moves), np.zeros(len(u)), u.copy()
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
            q = normalized(self.equations, q + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))
        rows = self(q, self._followed(q, u))[0]
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
