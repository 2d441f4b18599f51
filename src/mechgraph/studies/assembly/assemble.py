"""Initial assembly: from what the user named to a state that satisfies every constraint.

Positions first: Gauss–Newton steps of least norm on φ = 0 and the named values, starting at the
reference configuration; then, where freedom is left, towards the point nearest to the reference.
Velocities then solve ψ = 0 and the named speeds with the least norm. What could not be satisfied is
named.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from scipy.spatial.transform import Rotation as Rotation3

from ...arguments import named, number, one_state
from ...equations.equations import Equations
from ...errors import ArgumentError, AssemblyError
from ...model.bodies import Marker
from ...motion.motion import Motion
from ...motion.turns import angles_asked_for
from ..projection import moved, normalized, project, violations
from .requested import Wishes, check_quaternions, read_start

TOLERANCE = 1e-11
ATTEMPTS = 40
GIVEN = 1e-6  # violation of a state given in numbers that is taken for rounding


def assemble(
    equations: Equations,
    start: Any = None,
    t: float = 0.0,
    parameters: Any = None,
    guess: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """A consistent (q, u).

    ``start`` is a mapping of names to values (coordinates, speeds, whole joints), or a pair (q, u);
    ``guess`` is a mapping of values to begin at, for mechanisms that can be assembled in several
    ways.
    """
    t = number("t", t)
    one_state(equations.arguments(None, None, t, None, parameters))
    if isinstance(start, tuple):
        return _given(equations, start, t, parameters)
    start = named("start (or the pair (q, u))", start)
    joint = in_joint_coordinates(equations, [*start, *named("guess", guess)])
    if joint is not None:
        return to_absolute(
            equations, joint, *assemble(joint, start, t, parameters, guess), t, parameters
        )
    wishes = read_start(equations, start)
    context = {"t": t, "parameters": parameters}
    reference = _sought(
        equations, wishes, _guess(equations, guess), {*start, *named("guess", guess)}, context
    )
    q = _positions(equations, wishes, reference, context)
    q = _turned(equations, equations, q, q, t, parameters)
    return q, _velocities(equations, wishes, q, context)


def _given(
    equations: Equations, start: tuple, t: float, parameters: Any
) -> tuple[np.ndarray, np.ndarray]:
    if len(start) != 2:
        raise ArgumentError(
            f"start must be a mapping of names to values or the pair (q, u), got {len(start)} "
            "values"
        )
    q, u = equations.arguments(*start, t, None, parameters)[:2]
    if q.ndim > 1 or u.ndim > 1:
        raise ArgumentError(
            "start: the pair (q, u) must be one state; for many at once use rollout"
        )
    check_quaternions(equations, q)
    q = _turned(equations, equations, q, q.copy(), t, parameters)
    rows = np.concatenate(violations(equations, q, u, np.array(t), parameters))
    if np.abs(rows).max(initial=0.0) > GIVEN:
        names = [
            *equations.constraints[: equations.phi.numel()],
            *(f"rate of {n}" for n in equations.constraints),
        ]
        _report(
            dict(zip(names, rows, strict=False)),
            GIVEN,
            "the given start (q, u) contradicts the constraints",
        )
    q, u = project(equations, q[None], u[None], np.array([t]), parameters)
    return q[0], u[0]


def in_joint_coordinates(equations: Equations, names: Any) -> Equations | None:
    """Equations in joint coordinates to find a state with, if these are in others and no name is
    one of a body's variables."""
    if equations.kinematics is equations.tree or not _own(equations).isdisjoint(names):
        return None
    return equations.jointed


def _own(equations: Equations) -> set[str]:
    """Names of bodies, of their speeds as a whole, and of their variables."""
    k, bodies = equations.kinematics, list(equations.system.bodies)
    coordinates = (equations.coordinates[i] for name in bodies for i in k.joint_coordinates[name])
    speeds = (equations.speeds[i] for name in bodies for i in k.joint_speeds[name])
    return {*bodies, *(f"{name}'" for name in bodies), *coordinates, *speeds}


def to_absolute(
    equations: Equations,
    joint: Equations,
    q: np.ndarray,
    u: np.ndarray,
    t: Any = 0.0,
    parameters: Any = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The state of equations in absolute coordinates that is the state (q, u) of those in joint
    coordinates (batches, too)."""
    k, bodies = equations.kinematics, list(equations.system.bodies)
    kernel = joint.kernel("bodies", lambda: _places_and_twists(joint), [1, 1, 1])
    places, turns, twists = kernel(*joint.arguments(q, u, t, None, parameters))
    batch = (*places.shape[:-1], len(bodies))
    turns = Rotation3.from_matrix(turns.reshape(*batch, 3, 3)).as_quat(scalar_first=True)
    q_out, u_out = (
        np.zeros((*batch[:-1], len(equations.coordinates))),
        np.zeros((*batch[:-1], len(equations.speeds))),
    )
    q_out[..., [k.joint_coordinates[name] for name in bodies]] = np.concatenate(
        [places.reshape(*batch, 3), turns], axis=-1
    )
    u_out[..., [k.joint_speeds[name] for name in bodies]] = twists.reshape(*batch, 6)
    for carried in k.chain_end:
        for source, target, old, new in ((joint.kinematics.joint_coordinates, k.joint_coordinates, q, q_out),
                                         (joint.kinematics.joint_speeds, k.joint_speeds, u, u_out)):  # fmt: skip
            new[..., list(target[carried])] = old[..., list(source[carried])]
    return _turned(equations, joint, q, q_out, t, parameters), u_out


def _turned(
    equations: Equations, source: Equations, q: np.ndarray, out: np.ndarray, t: Any, parameters: Any
) -> np.ndarray:
    """``out``, with the turns of all angles as they are at the state q of ``source``."""
    names = list(equations.kinematics.counted)
    if names:
        kernel = source.kernel(("turned", *names), lambda: [_angles(source, names)], [1])
        out[..., list(equations.kinematics.counted.values())] = kernel(
            *source.arguments(q, None, t, None, parameters)
        )[0]
    return out


def _angles(equations: Equations, names: list[str]) -> SX:
    m, asked = Motion(equations.kinematics), angles_asked_for(equations.kinematics)
    return ca.vertcat(*(asked[name][0] if name in asked else m.coordinate(name) for name in names))


def _places_and_twists(equations: Equations) -> list[SX]:
    """Of all bodies: mass centres, rotation matrices row by row, velocities in world axes with
    angular ones in the body's."""
    m = Motion(equations.kinematics)
    centres = [
        Marker(name, body, body.com, SX.eye(3)) for name, body in equations.system.bodies.items()
    ]
    places = (m.position(centre) for centre in centres)
    turns = (ca.vec(m.rotation(centre).T) for centre in centres)
    twists = (
        ca.vertcat(m.velocity(centre), m.angular_velocity(centre, in_frame=centre))
        for centre in centres
    )
    return [ca.vertcat(SX(0, 1), *values) for values in (places, turns, twists)]


def _guess(equations: Equations, guess: Any) -> np.ndarray:
    q, wishes = (
        np.array(equations.kinematics.reference),
        read_start(equations, named("guess", guess), "guess"),
    )
    if wishes.measured and not wishes.coordinates:  # beside others they go without saying
        raise ArgumentError(
            f"guess: {next(iter(wishes.measured))!r} is cut; guess of "
            f"{', '.join(equations.coordinates)}"
        )
    q[list(wishes.coordinates)] = list(wishes.coordinates.values())
    return q


def _sought(
    equations: Equations, wishes: Wishes, reference: np.ndarray, told: set[str], context: dict
) -> np.ndarray:
    """The reference, with points of contact that nobody told a place where their surfaces look for
    them first."""
    m, q = Motion(equations.kinematics), reference.copy()
    q[list(wishes.coordinates)] = list(wishes.coordinates.values())
    places = {
        chain: place
        for constraint in equations.constrained.constraints
        for chain, place in zip(constraint.chains(), constraint.sought(m), strict=True)
        if place is not None and told.isdisjoint((chain.name, *chain.coordinates))
    }
    rows = [i for chain in places for i in equations.kinematics.joint_coordinates[chain.name]]
    kernel = equations.kernel(
        ("sought", tuple(rows)), lambda: [ca.vertcat(ca.SX(0, 1), *places.values())], [1]
    )
    values = kernel(*equations.arguments(q, None, context["t"], None, context["parameters"]))[0]
    known = np.isfinite(values)  # the centre of a sphere is near to none of its points
    reference[np.array(rows, dtype=int)[known]] = values[known]
    return reference


# --- positions ------------------------------------------------------------------------------------


def _positions(
    equations: Equations, wishes: Wishes, reference: np.ndarray, context: dict
) -> np.ndarray:
    first = reference.copy()
    first[list(wishes.coordinates)] = list(wishes.coordinates.values())
    if (
        _independent(equations, wishes)
        and np.abs(normalized(equations, first) - first).max(initial=0.0) < TOLERANCE
    ):
        return normalized(equations, first)
    rows = _PositionRows(equations, wishes, context)
    if not rows.names:
        return first
    random = np.random.default_rng(0)
    best, best_residual = first, np.full(len(rows.names), np.inf)
    for attempt in range(ATTEMPTS):
        scale = 0.0 if attempt == 0 else 0.1 * 1.2**attempt
        q, residual = _settle(
            equations,
            rows,
            moved(equations, first, scale * random.standard_normal(len(equations.speeds))),
        )
        if np.abs(residual).max() < TOLERANCE * 10 and rows.aligned(q):
            return _nearest(equations, rows, q, reference)
        if attempt == 0 or np.abs(residual).max() < np.abs(best_residual).max():
            best, best_residual = q, residual
    what = (
        "the start contradicts the constraints"
        if wishes.coordinates or wishes.measured
        else "the mechanism cannot be assembled"
    )
    if np.abs(best_residual).max() < TOLERANCE * 10:
        raise AssemblyError(
            f"{what}: it closes only the wrong way round (an axis turned over, a far side touched, "
            "a disc lying flat); "
            "give a start or a guess nearer to it"
        )
    _report(dict(zip(rows.names, best_residual, strict=True)), TOLERANCE * 10, what)
    return best


def _independent(equations: Equations, wishes: Wishes) -> bool:
    """True if nothing couples the coordinates: what is named stands, and the rest stays at the
    reference."""
    return not equations.constraints and not wishes.measured and not wishes.measured_speeds


class _PositionRows:
    """φ, the named coordinates and the measured coordinates of cut joints, as one residual with its
    Jacobian."""

    def __init__(self, equations: Equations, wishes: Wishes, context: dict) -> None:
        self.equations, self.context = equations, context
        self.fixed, self.values = (
            list(wishes.coordinates),
            np.array(list(wishes.coordinates.values())),
        )
        self.targets = np.array(list(wishes.measured.values()))
        angles = {name for joint in equations.kinematics.topology.cut for name in joint.angles}
        self.angular = np.array([name in angles for name in wishes.measured], dtype=bool)
        m = Motion(equations.kinematics)
        measured = ca.vertcat(ca.SX(0, 1), *(m.coordinate(name) for name in wishes.measured))
        slope = ca.jacobian(measured, equations.symbols.q) @ equations.N
        self.kernel = equations.kernel(
            ("measured", tuple(wishes.measured)), lambda: [measured, slope, equations.N], [1, 2, 2]
        )
        count = equations.phi.numel()
        self.count = count
        self.names = [
            *equations.constraints[:count],
            *(equations.coordinates[i] for i in self.fixed),
            *wishes.measured,
        ]
        right_way = ca.vertcat(
            ca.SX(0, 1),
            *(value for c in equations.constrained.constraints for value in c.aligned(m)),
        )
        self.right_way = equations.kernel("aligned", lambda: [right_way], [1])

    def __call__(self, q: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        eqs, t, p = self.equations, self.context["t"], self.context["parameters"]
        q = _turned(eqs, eqs, q, q.copy(), t, p)
        measured, slope, N = self.kernel(*eqs.arguments(q, None, t, None, p))
        gap = measured - self.targets
        gap = np.where(self.angular, np.arctan2(np.sin(gap), np.cos(gap)), gap)
        residual = np.concatenate(
            [eqs.position_violation(q, t, p), q[self.fixed] - self.values, gap]
        )
        A = eqs.constraint_jacobian(q, None, t, p)[: self.count]
        return _with_slopes(residual, np.vstack([A, N[self.fixed], slope]))

    def aligned(self, q: np.ndarray) -> bool:
        values = self.right_way(
            *self.equations.arguments(q, None, self.context["t"], None, self.context["parameters"])
        )[0]
        return bool((values > 0).all())


def _with_slopes(residual: np.ndarray, J: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The same; rows without a value or a slope there (0/0, a root at zero) are infinitely wrong,
    and named so in the end."""
    known = np.isfinite(residual) & np.isfinite(J).all(axis=1)
    return np.where(known, residual, np.inf), np.where(known[:, None], J, 0.0)


def _settle(
    equations: Equations, rows: _PositionRows, q: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
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
        trial = moved(
            equations,
            q,
            -J.T @ np.linalg.lstsq(J @ J.T + lam * np.eye(len(J)), residual, rcond=None)[0],
        )
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
    points, k = _points(equations), equations.kinematics
    uncounted = np.delete(np.arange(len(q)), list(k.counted.values()))
    bodies = np.setdiff1d(
        uncounted, [i for chain in _chains(equations) for i in k.joint_coordinates[chain]]
    )
    for _ in range(50):
        residual, J = rows(q)
        N = rows.kernel(*equations.arguments(q, None, 0.0, None, None))[2]
        towards = np.linalg.pinv(N[uncounted]) @ (reference - q)[uncounted]
        towards[points] = 0
        free = towards - _least(J, J @ towards, points)
        if np.linalg.norm(free) < 1e-10:
            break
        trial, left = _settle(
            equations, rows, moved(equations, q, free - _least(J, residual, points))
        )
        closer = np.linalg.norm((trial - reference)[bodies]) < np.linalg.norm(
            (q - reference)[bodies]
        )
        if np.abs(left).max() > TOLERANCE * 10 or not closer or not rows.aligned(trial):
            break
        q = trial
    return q


def _chains(equations: Equations) -> list[str]:
    """Names of the points of contact that wander."""
    return [
        chain.name
        for constraint in equations.constrained.constraints
        for chain in constraint.chains()
    ]


def _points(equations: Equations) -> list[int]:
    """Their speeds."""
    return [i for chain in _chains(equations) for i in equations.kinematics.joint_speeds[chain]]


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


def _velocities(equations: Equations, wishes: Wishes, q: np.ndarray, context: dict) -> np.ndarray:
    fixed, values = list(wishes.speeds), np.array(list(wishes.speeds.values()))
    start = np.zeros(len(equations.speeds))
    start[fixed] = values
    if _independent(equations, wishes):
        return start
    m = Motion(equations.kinematics)
    measured = ca.vertcat(ca.SX(0, 1), *(m.speed(name) for name in wishes.measured_speeds))
    slope = ca.jacobian(measured, equations.symbols.u)
    kernel = equations.kernel(
        ("rates", tuple(wishes.measured_speeds)), lambda: [measured, slope], [1, 2]
    )
    targets = np.array(list(wishes.measured_speeds.values()))
    t, p = context["t"], context["parameters"]
    count = equations.psi.numel()

    def rows(u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rates, rates_slope = kernel(*equations.arguments(q, u, t, None, p))
        residual = np.concatenate(
            [equations.velocity_violation(q, u, t, p), u[fixed] - values, rates - targets]
        )
        A = equations.constraint_jacobian(q, u, t, p)[:count]
        return _with_slopes(residual, np.vstack([A, np.eye(len(u))[fixed], rates_slope]))

    points = _points(equations)
    u = _settled_speeds(rows, start, points)
    random = np.random.default_rng(0)
    for _ in range(ATTEMPTS):  # rows that are not linear in the speeds may have no slope at rest
        if np.abs(rows(u)[0]).max(initial=0.0) <= _speed_limit(u):
            break
        u = _settled_speeds(rows, start + random.standard_normal(len(start)), points)
    names = [
        *(f"rate of {n}" for n in equations.constraints[:count]),
        *(equations.speeds[i] for i in fixed),
        *wishes.measured_speeds,
    ]
    residuals = dict(zip(names, rows(u)[0], strict=True))
    _report(residuals, _speed_limit(u), "the start contradicts the constraints at velocity level")
    return u


def _settled_speeds(
    rows: Callable[[np.ndarray], tuple[np.ndarray, np.ndarray]], u: np.ndarray, points: list[int]
) -> np.ndarray:
    """Gauss–Newton steps of least norm; one suffices where all rows are linear."""
    for _ in range(50):
        residual, J = rows(u)
        if not np.isfinite(residual).all() or np.abs(residual).max(initial=0.0) < 1e-13 * max(
            1.0, np.abs(u).max(initial=0.0)
        ):
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
