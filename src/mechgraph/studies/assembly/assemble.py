"""Initial assembly: from what the user named to a state that satisfies every constraint.

Positions first: Gauss–Newton steps of least norm on φ = 0 and the named values, starting at the
reference configuration; then, where freedom is left, towards the point nearest to the reference.
Velocities then solve ψ = 0 and the named speeds with the least norm. What could not be satisfied is
named.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ...arguments import named, number, one_state
from ...errors import ArgumentError, AssemblyError
from ..projection import project, violations
from .conversion import convert, in_joint_coordinates, with_turns
from .requested import Requested, check_quaternions, read_start

if TYPE_CHECKING:
    from ...equations import Equations

TOLERANCE = 1e-11
ATTEMPTS = 40
GIVEN = 1e-6  # violation of a state given in numbers that is taken for rounding


def assemble(
    equations: Equations,
    start: Any = None,
    *,
    guess: Any = None,
    t: float = 0.0,
    parameters: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """A consistent (q, u), nearest to the reference configuration.

    start: a mapping of names to values (see ``names``), or a pair (q, u).
    guess: a mapping of values to begin at, for mechanisms that can be assembled in several ways.
    """
    t = number("t", t)
    context = {"t": t, "parameters": parameters}
    one_state(equations.numeric.arguments(None, None, t, None, parameters))
    if isinstance(start, tuple):
        return _given(equations, start, t, parameters)
    start, guess = named("start (or the pair (q, u))", start), named("guess", guess)
    joint = in_joint_coordinates(equations, {*start, *guess})
    if joint is not None:
        found = assemble(joint, start, guess=guess, **context)
        return convert(joint, equations, *found, **context)
    requested = read_start(equations, start)
    reference = _initial_guess(equations, requested, guess, {*start, *guess}, context)
    q = _positions(equations, requested, reference, context)
    q = with_turns(equations, equations, q, q, t, parameters)
    return q, _velocities(equations, requested, q, context)


def _given(
    equations: Equations, start: tuple[Any, ...], t: float, parameters: Any
) -> tuple[np.ndarray, np.ndarray]:
    if len(start) != 2:
        raise ArgumentError(
            "start must be a mapping of names to values or the pair (q, u), got "
            f"{len(start)} values"
        )
    q, u = equations.numeric.arguments(*start, t, None, parameters)[:2]
    if q.ndim > 1 or u.ndim > 1:
        raise ArgumentError(
            "start: the pair (q, u) must be one state; for many at once use rollout"
        )
    check_quaternions(equations, dict(enumerate(q)))
    q = with_turns(equations, equations, q, q.copy(), t, parameters)
    rows = np.concatenate(violations(equations, q, u, np.array(t), parameters))
    if np.abs(rows).max(initial=0.0) > GIVEN:
        positions = equations.constraints[: equations.terms.phi.numel()]
        names = [*positions, *(f"rate of {name}" for name in equations.constraints)]
        residuals = dict(zip(names, rows, strict=False))
        _report(residuals, GIVEN, "the given start (q, u) contradicts the constraints")
    q, u = project(equations, q[None], u[None], np.array([t]), parameters)
    return q[0], u[0]


def _initial_guess(
    equations: Equations, requested: Requested, guess: Any, named: set[str], context: dict[str, Any]
) -> np.ndarray:
    """The reference configuration with what was guessed; and points of contact that nobody named
    where their surfaces look for them first."""
    guessed = read_start(equations, guess, "guess")
    if guessed.positions.names and not guessed.coordinates:  # beside others they go without saying
        raise ArgumentError(
            f"guess: {guessed.positions.names[0]!r} is no coordinate here; guess of "
            f"{', '.join(equations.coordinates)}"
        )
    reference = np.array(equations.terms.chart.reference)
    reference[list(guessed.coordinates)] = list(guessed.coordinates.values())
    return _with_contact_points(equations, requested, reference, named, context)


def _with_contact_points(
    equations: Equations,
    requested: Requested,
    reference: np.ndarray,
    named: set[str],
    context: dict[str, Any],
) -> np.ndarray:
    if equations.terms.rows is None:
        return reference
    chart, q = equations.terms.chart, reference.copy()
    q[list(requested.coordinates)] = list(requested.coordinates.values())
    places = {
        chain: place
        for constraint in equations.terms.rows.constraints
        for chain, place in zip(
            constraint.chains(), constraint.initial_points(chart.motion), strict=True
        )
        if place is not None and named.isdisjoint((chain.name, *chain.coordinates))
    }
    if not places:
        return reference
    rows = [index for chain in places for index in chart.joint_coordinates[chain.name]]
    kernel = equations.numeric.kernel(
        ("contact points", tuple(rows)), lambda: [ca.vertcat(*places.values())], [1]
    )
    arguments = equations.numeric.arguments(q, None, context["t"], None, context["parameters"])
    values = kernel(*arguments)[0]
    known = np.isfinite(values)  # the centre of a sphere is near to none of its points
    reference[np.array(rows, dtype=int)[known]] = values[known]
    return reference


# --- positions ------------------------------------------------------------------------------------


def _positions(
    equations: Equations, requested: Requested, reference: np.ndarray, context: dict[str, Any]
) -> np.ndarray:
    chart, first = equations.terms.chart, reference.copy()
    first[list(requested.coordinates)] = list(requested.coordinates.values())
    unit = chart.normalized(first)
    if _independent(equations, requested) and np.abs(unit - first).max(initial=0.0) < TOLERANCE:
        return unit
    rows = _PositionRows(equations, requested, context)
    if not rows.names:
        return first
    random = np.random.default_rng(0)
    best, best_residual = first, np.full(len(rows.names), np.inf)
    for attempt in range(ATTEMPTS):
        scale = 0.0 if attempt == 0 else 0.1 * 1.2**attempt
        step = scale * random.standard_normal(chart.tangent.shape[1])
        q, residual = _settle(rows, rows.moved(first, step))
        if np.abs(residual).max() < TOLERANCE * 10 and rows.right_way_round(q):
            return _nearest(equations, rows, q, reference)
        if attempt == 0 or np.abs(residual).max() < np.abs(best_residual).max():
            best, best_residual = q, residual
    asked = requested.coordinates or requested.positions.names
    what = "the start contradicts the constraints" if asked else "the mechanism cannot be assembled"
    if np.abs(best_residual).max() < TOLERANCE * 10:
        raise AssemblyError(
            f"{what}: it closes only the wrong way round (an axis turned over, a far side touched, "
            "a disc lying flat); give a start or a guess nearer to it"
        )
    _report(dict(zip(rows.names, best_residual, strict=True)), TOLERANCE * 10, what)
    return best


def _independent(equations: Equations, requested: Requested) -> bool:
    """True if nothing couples the coordinates: what is named stands, and the rest stays at the
    reference."""
    asked = requested.positions.names or requested.velocities.names
    return not equations.constraints and not asked


class _PositionRows:
    """φ, the named coordinates and the named quantities, as one residual with its Jacobian along
    the variations of the coordinates."""

    def __init__(self, equations: Equations, requested: Requested, context: dict[str, Any]) -> None:
        self.equations, self.context = equations, context
        self.fixed = list(requested.coordinates)
        self.values = np.array(list(requested.coordinates.values()))
        self.asked = requested.positions
        terms, numeric = equations.terms, equations.numeric
        names = tuple(self.asked.names)
        T = terms.chart.tangent

        def build() -> list[SX]:
            q, asked = terms.symbols.q, self.asked.column
            slopes = [ca.jacobian(column, q) @ T for column in (terms.phi, asked)]
            return [terms.phi, slopes[0], asked, slopes[1], T]

        self._kernel = numeric.kernel(("position rows", names), build, [1, 2, 1, 2, 2])
        self._sides = numeric.kernel("sides", lambda: [_sides(equations)], [1])
        positions = equations.constraints[: terms.phi.numel()]
        fixed = (equations.coordinates[index] for index in self.fixed)
        self.names = [*positions, *fixed, *names]

    def _arguments(self, q: np.ndarray) -> list[np.ndarray]:
        t, parameters = self.context["t"], self.context["parameters"]
        return self.equations.numeric.arguments(q, None, t, None, parameters)

    def __call__(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        eqs = self.equations
        q = with_turns(eqs, eqs, q, q.copy(), self.context["t"], self.context["parameters"])
        phi, phi_slope, asked, asked_slope, T = self._kernel(*self._arguments(q))
        residual = np.concatenate([phi, q[self.fixed] - self.values, self.asked.gap(asked)])
        return _with_slopes(residual, np.vstack([phi_slope, T[self.fixed], asked_slope]))

    def tangent(self, q: np.ndarray) -> np.ndarray:
        """T(q)."""
        return self._kernel(*self._arguments(q))[4]

    def moved(self, q: np.ndarray, step: np.ndarray) -> np.ndarray:
        """q displaced by a step along the variations, on its manifold."""
        return self.equations.terms.chart.normalized(q + self.tangent(q) @ step)

    def right_way_round(self, q: np.ndarray) -> bool:
        return bool((self._sides(*self._arguments(q))[0] > 0).all())


def _sides(equations: Equations) -> SX:
    """What is positive the right way round, of all constraints."""
    if equations.terms.rows is None:
        return SX(0, 1)
    m, constraints = equations.terms.chart.motion, equations.terms.rows.constraints
    return ca.vertcat(
        SX(0, 1), *(side for each in constraints for side in each.orientation_sign(m))
    )


def _with_slopes(residual: np.ndarray, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same; rows without a value or a slope there (0/0, a root at zero) are infinitely wrong,
    and named so in the end."""
    known = np.isfinite(residual) & np.isfinite(J).all(axis=1)
    return np.where(known, residual, np.inf), np.where(known[:, None], J, 0.0)


def _settle(rows: _PositionRows, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Levenberg–Marquardt steps until the residual vanishes or nothing helps any more."""
    residual, J = rows(q)
    damping = 1e-3
    for _ in range(200):
        size = float(np.linalg.norm(residual))
        if not np.isfinite(size) or np.abs(residual).max() < TOLERANCE:
            break
        lam = min(damping, size) * max(size, 1e-12)
        # Redundant rows leave J Jᵀ singular to rounding once the damping is small; least squares do
        # not mind.
        gram = J @ J.T + lam * np.eye(len(J))
        trial = rows.moved(q, -J.T @ np.linalg.lstsq(gram, residual, rcond=None)[0])
        new, new_J = rows(trial)
        if np.isfinite(new).all() and np.linalg.norm(new) < size:
            q, residual, J, damping = trial, new, new_J, damping / 5
        else:
            damping *= 10
            if damping > 1e8:
                break
    return q, residual


def _nearest(
    equations: Equations, rows: _PositionRows, q: np.ndarray, reference: np.ndarray
) -> np.ndarray:
    """Slide along what the constraints leave free towards the reference configuration, wherever
    points of contact get to."""
    points, chart = _contact_speeds(equations), equations.terms.chart
    uncounted = np.delete(np.arange(len(q)), list(chart.counted.values()))
    of_points = [i for name in _contact_points(equations) for i in chart.joint_coordinates[name]]
    bodies = np.setdiff1d(uncounted, of_points)
    for _ in range(50):
        residual, J = rows(q)
        T = rows.tangent(q)
        towards = np.linalg.pinv(T[uncounted]) @ (reference - q)[uncounted]
        towards[points] = 0
        free = towards - _least(J, J @ towards, points)
        if np.linalg.norm(free) < 1e-10:
            break
        trial, left = _settle(rows, rows.moved(q, free - _least(J, residual, points)))
        before, after = (np.linalg.norm((state - reference)[bodies]) for state in (q, trial))
        if (
            np.abs(left).max() > TOLERANCE * 10
            or after >= before
            or not rows.right_way_round(trial)
        ):
            break
        q = trial
    return q


def _contact_points(equations: Equations) -> list[str]:
    """Names of the points of contact that wander."""
    if equations.terms.rows is None:
        return []
    constraints = equations.terms.rows.constraints
    return [chain.name for constraint in constraints for chain in constraint.chains()]


def _contact_speeds(equations: Equations) -> list[int]:
    """Indices of their speeds."""
    speeds = equations.terms.chart.joint_speeds
    return [index for name in _contact_points(equations) for index in speeds[name]]


def _least(J: np.ndarray, right: np.ndarray, points: list[int]) -> np.ndarray:
    """x of least norm with J x = right, where the moves of points of contact count for nothing."""
    if not points:
        return np.linalg.pinv(J, rcond=1e-9) @ right
    own, others = J[:, points], np.delete(J, points, axis=1)
    inverse = np.linalg.pinv(own, rcond=1e-9)
    rest = np.eye(len(J)) - own @ inverse  # what the points cannot do
    x, rows = np.zeros(J.shape[1]), np.delete(np.arange(J.shape[1]), points)
    x[rows] = np.linalg.pinv(rest @ others, rcond=1e-9) @ (rest @ right)
    x[points] = inverse @ (right - others @ x[rows])
    return x


# --- velocities -----------------------------------------------------------------------------------


def _velocities(
    equations: Equations, requested: Requested, q: np.ndarray, context: dict[str, Any]
) -> np.ndarray:
    start = np.zeros(len(equations.speeds))
    start[list(requested.speeds)] = list(requested.speeds.values())
    if _independent(equations, requested):
        return start
    rows, points = _VelocityRows(equations, requested, q, context), _contact_speeds(equations)
    u = _settled_speeds(rows, start, points)
    random = np.random.default_rng(0)
    for _ in range(ATTEMPTS):  # rows that are not linear in the speeds may have no slope at rest
        if np.abs(rows(u)[0]).max(initial=0.0) <= _speed_limit(u):
            break
        u = _settled_speeds(rows, start + random.standard_normal(len(start)), points)
    residuals = dict(zip(rows.names, rows(u)[0], strict=True))
    what = "the start contradicts the constraints at velocity level"
    _report(residuals, _speed_limit(u), what)
    return u


class _VelocityRows:
    """ψ, the named speeds and the named velocities, as one residual with its Jacobian."""

    def __init__(
        self, equations: Equations, requested: Requested, q: np.ndarray, context: dict[str, Any]
    ) -> None:
        self.equations, self.q, self.context = equations, q, context
        self.fixed = list(requested.speeds)
        self.values = np.array(list(requested.speeds.values()))
        self.asked = requested.velocities
        names = tuple(self.asked.names)

        def build() -> list[SX]:
            column = self.asked.column
            return [column, ca.jacobian(column, equations.terms.symbols.u)]

        self._kernel = equations.numeric.kernel(("velocity rows", names), build, [1, 2])
        self.count = equations.terms.psi.numel()
        rates = (f"rate of {name}" for name in equations.constraints[: self.count])
        fixed = (equations.speeds[index] for index in self.fixed)
        self.names = [*rates, *fixed, *names]

    def __call__(self, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        eqs, t, p = self.equations, self.context["t"], self.context["parameters"]
        asked, slope = self._kernel(*eqs.numeric.arguments(self.q, u, t, None, p))
        psi = eqs.velocity_violation(self.q, u, t, p)
        residual = np.concatenate([psi, u[self.fixed] - self.values, self.asked.gap(asked)])
        A = eqs.constraint_jacobian(self.q, u, t, p)[: self.count]
        return _with_slopes(residual, np.vstack([A, np.eye(len(u))[self.fixed], slope]))


def _settled_speeds(rows: _VelocityRows, u: np.ndarray, points: list[int]) -> np.ndarray:
    """Gauss–Newton steps of least norm; one suffices where all rows are linear."""
    for _ in range(50):
        residual, J = rows(u)
        small = 1e-13 * max(1.0, np.abs(u).max(initial=0.0))
        if not np.isfinite(residual).all() or np.abs(residual).max(initial=0.0) < small:
            break
        u = u - _least(J, residual, points)
    return u


def _speed_limit(u: np.ndarray) -> float:
    return 1e-9 * max(1.0, float(np.abs(u).max(initial=0)))


def _report(residuals: dict[str, float], limit: float, what: str) -> None:
    """Raise with the rows that are left, the worst first."""
    left = {name: float(value) for name, value in residuals.items() if not abs(value) <= limit}
    if left:
        worst = sorted(left, key=lambda name: -abs(left[name]))[:8]
        listed = ", ".join(f"{name} ({left[name]:+.3g})" for name in worst)
        raise AssemblyError(
            f"{what}; not satisfied: {listed}. Change the named values, the geometry, or give "
            f"guess={{…}}",
            left,
        )
