"""Linearization about a state, on the manifold of all constraints, by exact derivatives.

A varied motion is (δs, δu): δq = N δs are the variations along the speeds (for a quaternion the small rotation δθ in the
turned axes), so no condition on norms is left over. It obeys

    d(δs)/dt = δu + P δs,        d(δu)/dt = ∂u̇/∂q N δs + ∂u̇/∂u δu + ∂u̇/∂w δw,

with P = 0 but for quaternions, where d(δθ)/dt = δω − ω × δθ, and the constraints A_φ δs = 0, ∂ψ/∂q N δs + ∂ψ/∂u δu = 0.
δθ and δω of quaternions are then turned into the axes of the joint's parent, where a spinning body of revolution has
constant coefficients. Independent variations x are picked out of them, the rest follows, (δs, δu) = Z x, and the rows of
the independent ones are the linear model. This holds along any motion; where the matrices are constant (at an equilibrium,
in a steady motion) the eigenvalues tell the stability. Whether they are is seen by comparing them with those a moment later.

In a steady turn they may be constant only for axes that turn along: with the rate Ω of the turn and Ξ v = Ω × v for all
vectors among the variations that have their components along fixed axes, the flow F of the variations becomes F − Ξ. Ω is
the one for which the matrices a moment later are those of now.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import casadi as ca
import numpy as np
import scipy.linalg
from casadi import SX
from scipy.integrate import solve_ivp
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

from ..arguments import one_state, some_of
from ..closure import RANK_TOLERANCE
from ..equations import Equations, column
from ..errors import ArgumentError, blamed
from ..motion import Motion
from ..results import LinearModel, Trajectory, balanced
from .initial import to_absolute

WELL_HELD = 1e-3  # a sliding speed is left to the constraints before a turning one, if they hold it at least this well
CHANGE = 1e-6  # relative change of the coefficients up to which they count as constant
LONGEST = 100.0  # seconds after which the coefficients are looked at again, if nothing tells of a shorter time


class State(NamedTuple):
    """Where to linearize; as ``Equations.arguments`` takes it."""

    q: np.ndarray
    u: np.ndarray
    t: float
    inputs: Any
    parameters: Any


class Vector(NamedTuple):
    """Variations that are the components of one vector along axes fixed in the world."""

    indices: list[int]
    axes: np.ndarray  # as columns
    inverse: np.ndarray


class Varied(NamedTuple):
    """(δs, δu)' = flow (δs, δu) + by_input δw, rows (δs, δu) = 0, δy = watched (δs, δu) + watched_input δw."""

    flow: np.ndarray
    by_input: np.ndarray
    rows: np.ndarray
    watched: np.ndarray
    watched_input: np.ndarray

    def reduced(self, kept: list[int]) -> np.ndarray:
        """A: the flow of the independent variations."""
        return (self.flow @ _expansion(self.rows, kept))[kept]

    def turned(self, vectors: list[Vector], Omega: np.ndarray, h: float = 0.0) -> Varied:
        """The same for axes that turn with Ω and were those of now a time h ago: T⁻¹ flow T − Ξ, rows T with T = exp(h Ξ)."""
        T, back = (_turned_by(way * h * Omega, vectors, len(self.flow)) for way in (1, -1))
        Xi = _blocks(np.zeros_like(self.flow), vectors, _tilde(Omega))
        return self._replace(flow=back @ self.flow @ T - Xi, rows=self.rows @ T)


def linearize(
    equations: Equations,
    at: Any = None,
    *,
    t: float = 0.0,
    inputs: Any = None,
    parameters: Any = None,
    independent: Sequence[str] | None = None,
    outputs: Sequence[str] | None = None,
    guess: Mapping[str, float] | None = None,
) -> LinearModel:
    """The linear model x' = A x + B δw, δy = C x + D δw about the state ``at``.

    ``at`` is a start as for ``simulate`` (names, or a pair (q, u)), or a ``Trajectory``, whose last state is taken, with its
    inputs and parameters. ``independent`` are the names of coordinates and speeds to keep as states; well-conditioned ones are
    chosen if it is not given. ``outputs`` are names as a ``Trajectory`` takes them; by default the states.
    """
    wanted = some_of("coordinate or speed", () if independent is None else independent, _keepable(equations))
    seen = some_of("output", () if outputs is None else outputs, _watchable(equations))
    if isinstance(at, Trajectory):
        state = _end(equations, at, inputs, parameters)
    else:
        state = State(*equations.assemble(at, t=t, parameters=parameters, guess=guess), t, inputs, parameters)
    own = [*_variation_names(equations), *equations.speeds]
    measured = tuple(name for name in wanted if name not in own)
    now = _varied(equations, seen, measured, state)
    names = [*own, *measured]
    kept = _named(names, now.rows, wanted) if wanted else _chosen(equations, now.rows)
    now, turning, constant = _steady(equations, state, now, lambda later: _varied(equations, seen, measured, later), kept)
    Z, states = _expansion(now.rows, kept), tuple(names[k] for k in kept)
    plain = np.eye(len(kept)), np.zeros((len(kept), len(equations.inputs)))
    A, B, (C, D) = now.reduced(kept), now.by_input[kept], (now.watched @ Z, now.watched_input) if seen else plain
    labels = tuple(label for name in seen for label in _seen(equations, name)[0]) or states
    return LinearModel(A, B, C, D, states, equations.inputs, labels, Z, tuple(names), *state[:3], constant, turning)


def _end(equations: Equations, run: Trajectory, inputs: Any, parameters: Any) -> State:
    """The last state of a run, with its inputs, parameters and contacts unless others are given."""
    constants = {name: np.ravel(value)[-1] for name, value in run.constants.items()}
    q, u, t = run.q[-1], run.u[-1], float(run.time[-1])
    own = [(e.coordinates, e.speeds, e.inputs) for e in (equations, equations.jointed)]
    columns = tuple(run.columns[kind] for kind in ("coordinates", "speeds", "inputs"))
    if run.name != equations.system.name or columns not in own or set(constants) != set(equations.parameters):
        raise ArgumentError(f"this is a run of {run.name!r} with {columns[0]}, not of these equations with {own[0][0]}")
    if columns != own[0]:
        q, u = to_absolute(equations, equations.jointed, q, u, t, constants)
    if parameters is None or isinstance(parameters, Mapping):
        parameters = {**constants, **(parameters or {})}
    return State(q, u, t, run.w[-1] if inputs is None else inputs, parameters)


# --- the varied motion -----------------------------------------------------------------------------------------------


def _variation_names(equations: Equations) -> list[str]:
    """δs are named as the coordinates, rotations of quaternions as ``joint.rx``, ``.ry``, ``.rz``."""
    k = equations.kinematics
    names = [name.removesuffix("'") for name in equations.speeds]
    turning = {index for q, u in k.quaternion_speeds for index in u}
    return [name[: -len("wx")] + f"r{name[-1]}" if index in turning else name for index, name in enumerate(names)]


def _keepable(equations: Equations) -> list[str]:
    """Names of variations, and of cut joints' variables, which can be measured."""
    cut = (name for joint in equations.kinematics.topology.cut for name in (*joint.coordinates, *joint.speeds))
    return list(dict.fromkeys([*_variation_names(equations), *equations.speeds, *cut]))


def _watchable(equations: Equations) -> list[str]:
    """Names that a ``Trajectory`` takes."""
    k, system = equations.kinematics, equations.system
    wholes = [name for joint in (*k.joint_coordinates, *system.joints) for name in (joint, f"{joint}'")]
    own = [*equations.coordinates, *equations.speeds, *equations.inputs, *_keepable(equations)[2 * len(equations.speeds) :]]
    return list(dict.fromkeys([*own, *system.bodies, *system.markers, *wholes, *system.outputs]))


def _varied(equations: Equations, outputs: tuple[str, ...], measured: tuple[str, ...], state: State) -> Varied:
    """The matrices at a state. Measured quantities join the variations, each with a row that ties it to the others."""

    def build() -> list[SX]:
        s, n, m = equations.symbols, len(equations.speeds), len(measured)
        y, watched = _expressions(equations, measured), _expressions(equations, outputs)
        rate = equations.kinematics.rate(y) + ca.jtimes(y, s.u, equations.udot)

        def varied(values: SX) -> SX:
            return ca.horzcat(ca.jacobian(values, s.q) @ equations.N, ca.jacobian(values, s.u), SX(values.numel(), m))

        top = ca.horzcat(_turning(equations), SX.eye(n), SX(n, m))
        flow = ca.vertcat(top, varied(equations.udot), varied(rate))
        by_input = ca.vertcat(SX(n, s.w.numel()), ca.jacobian(ca.vertcat(equations.udot, rate), s.w))
        ties = varied(y) - ca.horzcat(SX(m, 2 * n), SX.eye(m))
        rows = ca.vertcat(varied(ca.vertcat(equations.phi, equations.psi)), ties)
        return [ca.densify(x) for x in (flow, by_input, rows, varied(watched), ca.jacobian(watched, s.w))]

    kernel = equations.kernel(("linearize", outputs, measured), build, [2] * 5)
    return _seen_by_parent(equations, state, Varied(*kernel(*one_state(equations.arguments(*state)))))


def _seen_by_parent(equations: Equations, state: State, v: Varied) -> Varied:
    """The matrices for δθ and δω of quaternions in the axes of the joint's parent: T flow T⁻¹ + Ṫ T⁻¹, T by_input, map T⁻¹."""
    n = len(equations.speeds)
    T, spin = np.eye(len(v.flow)), np.zeros_like(v.flow)
    for four, three in equations.kinematics.quaternion_speeds:
        R = Rotation.from_quat(state.q[list(four)], scalar_first=True).as_matrix()
        tilde = _tilde(R @ state.u[list(three)])  # Ṙ = ω̃ R
        for block in (list(three), [n + k for k in three]):
            T[np.ix_(block, block)], spin[np.ix_(block, block)] = R, tilde
    return Varied(T @ v.flow @ T.T + spin, T @ v.by_input, v.rows @ T.T, v.watched @ T.T, v.watched_input)


def _turning(equations: Equations) -> SX:
    """P: −ω̃ for quaternions, else zero."""
    s, k = equations.symbols, equations.kinematics
    P = SX(s.u.numel(), s.u.numel())
    for _, three in k.quaternion_speeds:
        P[list(three), list(three)] = -ca.skew(s.u[list(three)])  # d(δθ)/dt = δω − ω × δθ
    return P


def _expressions(equations: Equations, names: tuple[str, ...]) -> SX:
    """What the names stand for, one below the other; accelerations are those of the motion."""
    values = ca.vertcat(SX(0, 1), *(_seen(equations, name)[1] for name in names))
    if not ca.depends_on(values, equations.symbols.udot):
        return values
    return ca.substitute(values, equations.symbols.udot, equations.udot)


def _seen(equations: Equations, name: str) -> tuple[list[str], SX]:
    """What a name stands for (the same as for a ``Trajectory``), and a name for each row."""
    m, system = Motion(equations.kinematics), equations.system
    if name in (*equations.coordinates, *equations.speeds):
        value = _of_joint(equations, m, name)
    elif name in equations.inputs:
        value = equations.symbols.w[equations.inputs.index(name)]
    elif name in system.bodies or name in system.markers:
        value = m.position(name)
    elif name in system.outputs:
        with blamed(f"output {name!r}"):
            value = column(system.outputs[name](m))
    else:
        value = _of_joint(equations, m, name)
    return [name] if value.numel() == 1 else [f"{name} {i + 1}" for i in range(value.numel())], value


def _of_joint(equations: Equations, m: Motion, name: str) -> SX:
    """Coordinates or speeds by the names of joints and of the variables."""
    k = equations.kinematics
    places = {*k.joint_coordinates, *(n for joint in k.topology.cut for n in (joint.name, *joint.coordinates))}
    return m.coordinate(name) if name in places else m.speed(name.removesuffix("'"))


# --- the manifold ----------------------------------------------------------------------------------------------------


def _chosen(equations: Equations, rows: np.ndarray) -> list[int]:
    """Independent variations. The constraints determine speeds first, then coordinates; sliding before turning ones, as far as
    they hold them well, because turns are the same in all directions that a motion takes; of equals what they hold best."""
    n, turning, dependent, left = len(equations.speeds), set(_turns(equations)), [], rows
    for first in (n, 0):
        level = [first + k for k in range(n)]
        sliding = [k for k in level if k - first not in turning]
        for columns, tolerance in ((sliding, WELL_HELD), (level, RANK_TOLERANCE)):
            found, left = _held(left, columns, tolerance * np.abs(rows).max(initial=0.0))
            dependent += found
    return [k for k in range(2 * n) if k not in set(dependent)]


def _held(rows: np.ndarray, columns: list[int], least: float) -> tuple[list[int], np.ndarray]:
    """Columns that the rows determine (pivoted QR), and the rows without what that takes."""
    if not rows.size or not columns:
        return [], rows
    Q, R, order = scipy.linalg.qr(rows[:, columns], mode="economic", pivoting=True)
    count = int((np.abs(np.diag(R)) > least).sum())
    return [columns[k] for k in order[:count]], rows - Q[:, :count] @ (Q[:, :count].T @ rows)


def _turns(equations: Equations) -> list[int]:
    """Indices of the speeds that turn something."""
    return [index for frame in equations.kinematics.frames if not frame.S[0].is_zero() for index in frame.speeds]


def _named(names: list[str], rows: np.ndarray, wanted: tuple[str, ...]) -> list[int]:
    """Indices of the wanted variations, which have to be independent and to determine the others."""
    free = len(names) - _rank(rows)
    if len(wanted) != free:
        raise ArgumentError(f"independent: there are {free} independent variations here, got {len(wanted)} names")
    kept = [names.index(name) for name in wanted]
    if rows.size and _rank(np.delete(rows, kept, axis=1)) < _rank(rows):
        raise ArgumentError(f"independent: {', '.join(wanted)} do not determine the others here; leave the choice open")
    return kept


def _expansion(rows: np.ndarray, kept: list[int]) -> np.ndarray:
    """Z with (δs, δu) = Z x: ones for the independent variations, the others by the constraints."""
    count = rows.shape[1]
    others = [k for k in range(count) if k not in set(kept)]
    Z = np.zeros((count, len(kept)))
    Z[kept, range(len(kept))] = 1.0
    if others:
        Z[others] = -np.linalg.pinv(rows[:, others], rcond=RANK_TOLERANCE) @ rows[:, kept]
    return Z


def _rank(rows: np.ndarray) -> int:
    if not rows.size:
        return 0
    sigma = np.linalg.svd(rows, compute_uv=False)
    return int((sigma > RANK_TOLERANCE * sigma.max()).sum())


# --- steady motions --------------------------------------------------------------------------------------------------


def _steady(
    equations: Equations, state: State, now: Varied, varied: Callable[[State], Varied], kept: list[int]
) -> tuple[Varied, np.ndarray, bool]:
    """The varied motion for fixed axes, or for axes that turn with Ω if only that makes it constant; Ω; and whether it is."""
    h = _moment(equations, state, now.reduced(kept))
    later, still = varied(_later(equations, state, h)), np.zeros(3)
    if _same(now.reduced(kept), later.reduced(kept)):
        return now, still, True
    vectors = _vectors(equations, state)
    Omega = _turn(now, later, h, vectors, _expansion(now.rows, kept))
    turned = now.turned(vectors, Omega)
    constant = _same(turned.reduced(kept), later.turned(vectors, Omega, h).reduced(kept))
    return (turned, Omega, True) if constant else (now, still, False)


def _moment(equations: Equations, state: State, A: np.ndarray) -> float:
    """A time in which a motion turns a little, and does not run away where it is unstable."""
    turns, values = _turns(equations), np.linalg.eigvals(A)
    speed = np.abs(state.u[turns]).max(initial=0.0)
    change = np.abs(equations.accelerations(*state)[turns]).max(initial=0.0)
    rate = max(speed, np.sqrt(change), np.abs(values).max(initial=0.0) / 100)
    return min(1 / max(5 * rate, values.real.max(initial=0.0), 1e-300), LONGEST)


def _later(equations: Equations, state: State, h: float) -> State:
    """The state a time h later."""
    n = len(state.q)

    def rates(t: float, y: np.ndarray) -> np.ndarray:
        q, u = y[:n], y[n:]
        return np.concatenate([equations.coordinate_rates(q, u), equations.accelerations(q, u, t, *state[3:])])

    span, start = (state.t, state.t + h), np.concatenate(state[:2])
    y = solve_ivp(rates, span, start, method="DOP853", rtol=1e-10, atol=1e-12).y[:, -1]
    return State(y[:n], y[n:], state.t + h, *state[3:])


def _same(A: np.ndarray, B: np.ndarray) -> bool:
    """True if two flows agree, but for states that nothing depends on: they do not come back to the others."""
    A, B = balanced(A, B)
    sizes, used = np.abs(A) + np.abs(B), list(range(len(A)))
    noise = 1e-3 * CHANGE * sizes.max(initial=0.0)
    while idle := [k for k in used if sizes[used, k].max() <= noise]:
        used = [k for k in used if k not in idle]
    own = (sizes.sum(axis=0) + sizes.sum(axis=1))[used]
    allowed = CHANGE * np.sqrt(np.outer(own, own)) + noise
    return bool((np.abs(A - B)[np.ix_(used, used)] <= allowed).all())


def _turn(now: Varied, later: Varied, h: float, vectors: list[Vector], Z: np.ndarray) -> np.ndarray:
    """Ω of least size for which flow and constraints a time h later are most nearly those of now."""

    def difference(Omega: np.ndarray) -> np.ndarray:
        T, back = (_turned_by(way * h * Omega, vectors, len(Z)) for way in (1, -1))
        moved = T @ Z
        return np.concatenate([(back @ (later.flow @ moved) - flow).ravel(), (later.rows @ moved).ravel()])

    flow = now.flow @ Z
    return least_squares(difference, np.zeros(3), xtol=1e-15, ftol=1e-15, gtol=1e-15, max_nfev=8).x


def _turned_by(angle: np.ndarray, vectors: list[Vector], count: int) -> np.ndarray:
    """T: all vectors turned by an angle, given as a rotation vector."""
    return _blocks(np.eye(count), vectors, Rotation.from_rotvec(angle).as_matrix())


def _blocks(matrix: np.ndarray, vectors: list[Vector], R: np.ndarray) -> np.ndarray:
    """The matrix with D⁺ R D, which is what R does to a vector of components along D, for each of the vectors."""
    for indices, D, inverse in vectors:
        matrix[np.ix_(indices, indices)] = inverse @ R @ D
    return matrix


def _vectors(equations: Equations, state: State) -> list[Vector]:
    """All vectors among the variations: of places and of speeds, joint by joint."""
    columns = [(key, k) for key, speeds, _ in _fixed_axes(equations) for k in speeds]
    kernel = equations.kernel("axes", lambda: [ca.horzcat(SX(3, 0), *(axes for *_, axes in _fixed_axes(equations)))], [2])
    axes, n, vectors = kernel(*equations.arguments(*state))[0], len(equations.speeds), []
    for key in dict.fromkeys(key for key, _ in columns):
        own = [i for i, (other, _) in enumerate(columns) if other == key]
        D, places = axes[:, own], [columns[i][1] for i in own]
        vectors += [Vector([first + k for k in places], D, np.linalg.pinv(D)) for first in (0, n)]
    return vectors


def _fixed_axes(equations: Equations) -> list[tuple[Any, tuple[int, ...], SX]]:
    """Frames that slide along axes fixed in the world, or turn freely on them: joint and kind, speeds, axes."""
    k, s, found = equations.kinematics, equations.symbols, []
    balls = {three: four for four, three in k.quaternion_speeds}
    for frame, (R, _) in zip(k.frames, k.poses, strict=True):
        if frame.speeds in balls:
            four = s.q[list(balls[frame.speeds])]
            axes = k.poses[frame.parent][0] @ ca.substitute(frame.R, four, SX([1, 0, 0, 0]))
        else:
            axes = R @ frame.S[1]
        if frame.speeds and (frame.speeds in balls or frame.S[0].is_zero()) and not ca.depends_on(axes, ca.vertcat(s.q, s.t)):
            found.append(((frame.joint, frame.speeds in balls), frame.speeds, axes))
    return found


def _tilde(x: np.ndarray) -> np.ndarray:
    """x̃ y = x × y."""
    return np.cross(x, np.eye(3)).T
