"""Equilibria and steady motions: states whose speeds stay as they are.

With the accelerations a and multipliers λ among the unknowns, a state (q, u) is sought where

    M a − f − Gᵀλ = 0,    A a + b = 0,    φ = 0,    ψ = 0,

and where the first two stay so along the motion: their rates are zero, too (else a pendulum that swings through its lowest
point would be steady). All accelerations are zero but those of speeds that the others determine by ψ. The steps are those of
least norm in q and u, so what nothing depends on stays as it was guessed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import named
from ..closure import RANK_TOLERANCE, rank
from ..equations import Equations
from ..errors import ArgumentError, AssemblyError, UnsupportedError, unknown
from .initial import in_joint_coordinates, to_absolute
from .projection import normalized

TOLERANCE = 1e-12  # what may be left of a row, in proportion to its slopes and to the constraint forces in it
LASTING = 1e-8  # the same after a while
ROUNDING = 2e-14  # what counts as nothing beside the largest slope
STEPS = 200
REACH = 0.5  # the longest step, in units of coordinates


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
    return _found(equations, named("guess", guess), _names("hold", hold), None, inputs, parameters)


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

    The coordinates and speeds (or whole joints) named in ``hold`` stay as they are in the guess; as many as the family of
    steady motions has parameters make the answer definite. ``constant`` names the speeds that must not change; by default
    all but those of coordinates that nothing depends on, where the other speeds determine them: the velocity of a disc that
    rolls in a circle turns. Where coordinates are not those of joints, it is found in joint coordinates, unless a name is one
    of a body's coordinates or speeds.
    """
    names = None if constant is None else _names("constant", constant)
    return _found(equations, named("guess", guess), _names("hold", hold), names or (), inputs, parameters)


def _names(what: str, names: Any) -> list[str]:
    if isinstance(names, str) or not isinstance(names, Collection) or not all(isinstance(name, str) for name in names):
        raise ArgumentError(f"{what} must be a list of names such as ['name'], got {names!r}")
    return list(names)


def _found(
    equations: Equations, guess: dict, hold: list[str], constant: Sequence[str] | None, inputs: Any, parameters: Any
) -> tuple[np.ndarray, np.ndarray]:
    """The state; ``constant`` is None if it is one of rest, empty if it is open."""
    joint = in_joint_coordinates(equations, [*guess, *hold, *(constant or ())])
    if joint is not None:
        return to_absolute(equations, joint, *_found(joint, guess, hold, constant, inputs, parameters), 0.0, parameters)
    moves, rates = _free(equations, hold)
    q, u = _beginning(equations, guess, hold, parameters)
    if constant is None:
        u, rates = np.zeros_like(u), []
    balance = _Balance(equations, moves, rates, constant is not None, (inputs, parameters))
    balance.release(_others(equations, constant) if constant else balance.turning(q, u))
    q, u = balance.settled(q, u)
    balance.check_lasting(q, u)
    return q, u


# --- what is asked ---------------------------------------------------------------------------------------------------


def _free(equations: Equations, hold: list[str]) -> tuple[list[int], list[int]]:
    """Indices of the speeds along which q may move, and of those that may change: all that ``hold`` does not name."""
    k, count = equations.kinematics, len(equations.speeds)
    still: set[int] = set()
    kept: set[int] = set()
    for name in hold:
        if name in equations.speeds:
            kept.add(equations.speeds.index(name))
        elif name in k.joint_speeds:
            still.update(k.joint_speeds[name])
        elif name.removesuffix("'") in k.joint_speeds:
            kept.update(k.joint_speeds[name.removesuffix("'")])
        elif f"{name}'" in equations.speeds:
            still.add(equations.speeds.index(f"{name}'"))
        elif name in equations.coordinates:
            raise ArgumentError(f"hold: {name!r} is a part of a quaternion; hold the whole joint {name.rpartition('.')[0]!r}")
        else:
            raise ArgumentError(
                f"hold: {unknown('coordinate, speed or joint', name, [*equations.coordinates, *equations.speeds, *k.joint_speeds])}"
            )
    return [i for i in range(count) if i not in still], [i for i in range(count) if i not in kept]


def _beginning(equations: Equations, guess: dict, hold: list[str], parameters: Any) -> tuple[np.ndarray, np.ndarray]:
    """An assembled state with what is held as given, and with as much of the rest of the guess as the constraints allow."""
    met = {name: value for name, value in guess.items() if _is_held(equations, name, hold)}
    rest = {name: value for name, value in guess.items() if name not in met}
    for names in (list(rest), *([name] for name in rest)):
        try:
            state = equations.assemble({**met, **{name: guess[name] for name in names}}, guess=rest, parameters=parameters)
        except AssemblyError:
            continue
        met.update({name: guess[name] for name in names})
        if len(names) == len(rest):
            return state
    return equations.assemble(met, guess=rest, parameters=parameters)


def _others(equations: Equations, constant: Sequence[str]) -> list[int]:
    """Speeds that are not among those that must be constant."""
    for name in constant:
        if name not in equations.speeds:
            raise ArgumentError(f"constant: {unknown('speed', name, equations.speeds)}")
    return [i for i, name in enumerate(equations.speeds) if name not in constant]


def _is_held(equations: Equations, name: str, hold: list[str]) -> bool:
    """True if a name of the guess is held, by itself or with its whole joint."""
    k, prime = equations.kinematics, "'" if name.endswith("'") or name in equations.speeds else ""
    if name in hold:
        return True
    whole = [joint.removesuffix("'") for joint in hold if joint.endswith("'") == bool(prime)]
    names, indices = (equations.speeds, k.joint_speeds) if prime else (equations.coordinates, k.joint_coordinates)
    return any(name in (names[i] for i in indices.get(joint, ())) for joint in whole)


# --- the rows --------------------------------------------------------------------------------------------------------


def _expressions(equations: Equations, y: SX, moving: bool) -> list[SX]:
    """The rows (forces and constraints, in motion each with its rate; then φ and ψ) and their slopes along (δs, u, y)."""
    s, c = equations.symbols, equations.constrained
    now = ca.vertcat(s.udot, c.multipliers)
    forces, holding = equations.tau - c.G.T @ c.multipliers, equations.A @ s.udot + equations.b
    rows = [forces, holding]
    if moving:
        x, flow = ca.vertcat(s.q, s.u, now), ca.vertcat(equations.kinematics.qdot, s.udot, y[now.numel() :])
        rows = [forces, ca.jtimes(forces, x, flow), holding, ca.jtimes(holding, x, flow)]
    column = ca.substitute(ca.vertcat(*rows, equations.phi, equations.psi), now, y[: now.numel()])
    if ca.depends_on(column, s.t):
        raise UnsupportedError(
            "something here depends on time, so that no state stays as it is: simulate it, or put a parameter in the place of time"
        )
    return [column, ca.horzcat(ca.jacobian(column, s.q) @ equations.N, ca.jacobian(column, s.u), ca.jacobian(column, y))]


class _Balance:
    """The rows at a state (q, u), with the y (accelerations, multipliers and, in motion, their rates) that meets them best."""

    def __init__(
        self, equations: Equations, moves: list[int], rates: list[int], moving: bool, given: tuple
    ) -> None:
        n, m, levels = len(equations.speeds), len(equations.constraints), 1 + moving
        self.equations, self.moves, self.rates, self.moving, self.given = equations, moves, rates, moving, given
        y = SX.sym("y", levels * (n + m))
        self.kernel = equations.kernel(("balance", moving), lambda: _expressions(equations, y, moving), [1, 2], y)
        self.kinds = [n, n + m, 2 * n + m][: 2 * levels - 1]  # where y turns from a to λ to their rates
        self.steps, self.y = [*moves, *(n + i for i in rates)], np.zeros(y.numel())
        known = equations.constraints[: equations.phi.numel()], equations.constraints[: equations.psi.numel()]
        self.names = [*equations.speeds * levels, *equations.constraints * levels, *known[0], *known[1]]
        self.size = np.zeros(len(self.names))
        self.forces = np.arange(len(self.names)) < levels * n
        self.rate = np.isin(np.arange(len(self.names)), [*range(n, levels * n), *range(levels * n + m, levels * (n + m))])

    def release(self, changing: list[int]) -> None:
        """Seek all multipliers, and the accelerations of the speeds that may change."""
        n, m = len(self.equations.speeds), len(self.equations.constraints)
        self.changing = changing
        self.own = [start + i for start in range(0, len(self.y), n + m) for i in (*changing, *range(n, n + m))]

    def turning(self, q: np.ndarray, u: np.ndarray) -> list[int]:
        """Speeds of the coordinates that nothing depends on, as far as the other speeds determine them by ψ."""
        A, chosen = self.equations.constraint_jacobian(q, u, 0.0, self.given[1]), []  # type: np.ndarray, list[int]
        for i in self._cyclic(q) if A.size and self.moving else ():
            if rank(A[:, [*chosen, i]]) > len(chosen):
                chosen.append(i)
        return chosen

    def _cyclic(self, q: np.ndarray) -> np.ndarray:
        """Directions along which no row has a slope, at a random state near q."""
        random = np.random.default_rng(0)
        step, u, y = (random.uniform(-0.3, 0.3, size) for size in (len(self.equations.speeds),) * 2 + (len(self.y),))
        q = normalized(self.equations, q + self.equations.coordinate_rates(q, step))
        slopes = np.abs(self.kernel(*self.equations.arguments(q, u, 0.0, *self.given), y)[1][:, : len(u)])
        return np.flatnonzero(slopes.max(axis=0, initial=0.0) <= TOLERANCE * slopes.max(initial=0.0))

    def __call__(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """What the best y leaves of the rows, and their slopes along the steps of (q, u) and along y."""
        for _ in range(2):  # the rows may be of second degree in y
            rows, _, own = self._at(q, u)
            self.y[self.own] -= _inverse(own / self._scale[:, None]) @ (rows / self._scale)
        return self._at(q, u)

    def _at(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        rows, slopes = self.kernel(*self.equations.arguments(q, u, 0.0, *self.given), self.y)
        y = np.split(np.abs(self.y), self.kinds)
        x = np.concatenate([np.ones(len(u)), np.maximum(1.0, np.abs(u)), *(np.full(len(part), part.max(initial=0.0)) for part in y)])
        self.size = np.maximum(self.size, np.abs(slopes * x).max(axis=1, initial=0.0))
        self.noise = self._noise(u)
        void = np.maximum(self.size, np.abs(rows)) <= self.noise
        rows[void], slopes[void, : 2 * len(u)], self.size[void] = 0.0, 0.0, 0.0
        return rows, slopes[:, self.steps], slopes[:, [2 * len(u) + i for i in self.own]]

    def _noise(self, u: np.ndarray) -> np.ndarray:
        """What counts as nothing beside the largest force or row of a constraint, or beside the rate of it."""
        largest = [self.size[~self.rate & (self.forces == kind)].max(initial=0.0) for kind in (False, True)]
        return ROUNDING * np.where(self.forces, *largest[::-1]) * np.where(self.rate, max(1.0, np.abs(u).max(initial=0.0)), 1.0)

    @property
    def _scale(self) -> np.ndarray:
        """The size of each row: the largest of its slopes and of the constraint forces in it."""
        return np.where(self.size > 0, self.size, 1.0)

    def settled(self, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Levenberg–Marquardt steps until nothing helps any more; what is left then must be nothing."""
        rows, J, own = self(q, u)
        damping = 1e-3
        for _ in range(STEPS):
            scale = self._scale
            error = float(np.linalg.norm(rows / scale))
            if error < 1e-16 or damping > 1e8:
                break
            trial = self._moved(q, u, _step(rows / scale, J / scale[:, None], own / scale[:, None], damping))
            new = self(*trial)
            if np.linalg.norm(new[0] / scale) < error:
                (q, u), (rows, J, own), damping = trial, new, damping / 5
            else:
                damping *= 10
        self._check(rows, TOLERANCE, "no steady state found near the guess: {}; give a guess nearer to one, or hold fewer names")
        return q, u

    def _moved(self, q: np.ndarray, u: np.ndarray, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The state after a step, which is cut where it would lead far away."""
        count, step, rate = len(self.moves), np.zeros(len(u)), u.copy()
        far = max(np.abs(x[:count]).max(initial=0.0), np.abs(x[count:]).max(initial=0.0) / (1 + np.abs(u).max(initial=0.0)))
        x = x * min(1.0, REACH / far) if far else x
        step[self.moves], rate[self.rates] = x[:count], u[self.rates] + x[count:]
        return normalized(self.equations, q + self.equations.coordinate_rates(q, step)), rate

    def check_lasting(self, q: np.ndarray, u: np.ndarray) -> None:
        """Refuse what is steady at an instant only: in turn each speed moves its coordinate by a tenth, the others go along."""
        for speed in np.abs(u)[np.abs(u) > max(1e-6 * np.abs(u).max(initial=0.0), 1e-9)]:
            later = normalized(self.equations, q + self.equations.coordinate_rates(q, 0.1 / speed * u))
            self._check(self(later, self._followed(later, u))[0], LASTING, "near the guess the motion is steady at an instant only: {}")

    def _followed(self, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """The speeds that may change as ψ gives them."""
        own, u = self.changing, u.copy()
        psi = self.equations.velocity_violation(q, u, 0.0, self.given[1])
        A = self.equations.constraint_jacobian(q, u, 0.0, self.given[1])[: len(psi), own]
        u[own] -= np.linalg.pinv(A, rcond=RANK_TOLERANCE) @ psi
        return u

    def _check(self, rows: np.ndarray, tolerance: float, what: str) -> None:
        if (np.abs(rows) > tolerance * self.size + 10 * self.noise).any():
            worst = int(np.argmax(np.abs(rows) / self._scale))
            does = "still changes" if self.forces[worst] else "is not met"
            raise AssemblyError(what.format(f"{self.names[worst]!r} {does} (unbalanced by {abs(rows[worst]):.3g})"))


def _step(rows: np.ndarray, J: np.ndarray, own: np.ndarray, damping: float) -> np.ndarray:
    """The damped step of least norm that does away with what y cannot."""
    rest = np.eye(len(rows)) - own @ _inverse(own)
    U, sigma, Vt = np.linalg.svd(rest @ J, full_matrices=False)
    size = float(np.linalg.norm(rows))
    return -Vt.T @ (sigma / (sigma**2 + max(min(damping, size) * size, 1e-20)) * (U.T @ (rest @ rows)))


def _inverse(own: np.ndarray) -> np.ndarray:
    """The pseudoinverse, whatever the units of the columns."""
    lengths = np.linalg.norm(own, axis=0)
    lengths[lengths == 0] = 1.0
    return np.linalg.pinv(own / lengths, rcond=RANK_TOLERANCE) / lengths[:, None]
