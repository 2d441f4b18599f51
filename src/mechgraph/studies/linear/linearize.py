"""Linearization about a state, on the manifold of all constraints, by exact derivatives.

A varied motion is (δs, δu): δq = N δs are the variations along the speeds (for a quaternion the
small rotation δθ in the turned axes), so no condition on norms is left over. It obeys

    d(δs)/dt = δu + P δs,        d(δu)/dt = ∂u̇/∂q N δs + ∂u̇/∂u δu + ∂u̇/∂w δw,

with P = 0 but for quaternions, where d(δθ)/dt = δω − ω × δθ, and the constraints A_φ δs = 0, ∂ψ/∂q
N δs + ∂ψ/∂u δu = 0. δθ and δω of quaternions are then turned into the axes of the joint's parent,
where a spinning body of revolution has constant coefficients. Independent variations x are picked
out of them, the rest follows, (δs, δu) = Z x, and the rows of the independent ones are the linear
model. This holds along any motion; where the matrices are constant (at an equilibrium, in a steady
motion) the eigenvalues tell the stability. Whether they are is seen by comparing them with those a
moment later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
import scipy.linalg
from casadi import SX
from scipy.spatial.transform import Rotation

from ...arguments import one_state, some_of
from ...closures.closure import RANK_TOLERANCE
from ...equations.equations import Equations, column
from ...errors import ArgumentError, blamed
from ...motion.motion import Motion
from ...results.trajectory import LinearModel, Trajectory
from ..assembly.assemble import to_absolute
from .variational import State, Varied, expansion, steadied, tilde, turning_speeds

# a sliding speed is left to the constraints before a turning one, if they hold it at least this
# well
WELL_HELD = 1e-3


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

    ``at`` is a start as for ``simulate`` (names, or a pair (q, u)), or a ``Trajectory``, whose last
    state is taken, with its inputs and parameters. ``independent`` are the names of coordinates and
    speeds to keep as states; well-conditioned ones are chosen if it is not given. ``outputs`` are
    names as a ``Trajectory`` takes them; by default the states.
    """
    wanted = some_of(
        "coordinate or speed", () if independent is None else independent, _keepable(equations)
    )
    seen = some_of("output", () if outputs is None else outputs, _watchable(equations))
    if isinstance(at, Trajectory):
        state = _end(equations, at, inputs, parameters)
    else:
        state = State(
            *equations.assemble(at, t=t, parameters=parameters, guess=guess), t, inputs, parameters
        )
    own = [*_variation_names(equations), *equations.speeds]
    measured = tuple(name for name in wanted if name not in own)
    now = _varied(equations, seen, measured, state)
    names = [*own, *measured]
    kept = _named(names, now.rows, wanted) if wanted else _chosen(equations, now.rows)
    now, turning, constant = steadied(
        equations, state, now, lambda later: _varied(equations, seen, measured, later), kept
    )
    Z, states = expansion(now.rows, kept), tuple(names[k] for k in kept)
    plain = np.eye(len(kept)), np.zeros((len(kept), len(equations.inputs)))
    A, B, (C, D) = (
        now.reduced(kept),
        now.by_input[kept],
        (now.watched @ Z, now.watched_input) if seen else plain,
    )
    labels = tuple(label for name in seen for label in _seen(equations, name)[0]) or states
    return LinearModel(
        A, B, C, D, states, equations.inputs, labels, Z, tuple(names), *state[:3], constant, turning
    )


def _end(equations: Equations, run: Trajectory, inputs: Any, parameters: Any) -> State:
    """The last state of a run, with its inputs, parameters and contacts unless others are given."""
    constants = {name: np.ravel(value)[-1] for name, value in run.constants.items()}
    q, u, t = run.q[-1], run.u[-1], float(run.time[-1])
    own = [(e.coordinates, e.speeds, e.inputs) for e in (equations, equations.jointed)]
    columns = tuple(run.columns[kind] for kind in ("coordinates", "speeds", "inputs"))
    if (
        run.name != equations.system.name
        or columns not in own
        or set(constants) != set(equations.parameters)
    ):
        raise ArgumentError(
            f"this is a run of {run.name!r} with {columns[0]}, not of these equations with "
            f"{own[0][0]}"
        )
    if columns != own[0]:
        q, u = to_absolute(equations, equations.jointed, q, u, t, constants)
    if parameters is None or isinstance(parameters, Mapping):
        parameters = {**constants, **(parameters or {})}
    return State(q, u, t, run.w[-1] if inputs is None else inputs, parameters)


# --- the varied motion ----------------------------------------------------------------------------


def _variation_names(equations: Equations) -> list[str]:
    """δs are named as the coordinates, rotations of quaternions as ``joint.rx``, ``.ry``,
    ``.rz``."""
    k = equations.kinematics
    names = [name.removesuffix("'") for name in equations.speeds]
    turning = {index for q, u in k.quaternion_speeds for index in u}
    return [
        name[: -len("wx")] + f"r{name[-1]}" if index in turning else name
        for index, name in enumerate(names)
    ]


def _keepable(equations: Equations) -> list[str]:
    """Names of variations, and of cut joints' variables, which can be measured."""
    cut = (
        name
        for joint in equations.kinematics.topology.cut
        for name in (*joint.coordinates, *joint.speeds)
    )
    return list(dict.fromkeys([*_variation_names(equations), *equations.speeds, *cut]))


def _watchable(equations: Equations) -> list[str]:
    """Names that a ``Trajectory`` takes."""
    k, system = equations.kinematics, equations.system
    wholes = [
        name for joint in (*k.joint_coordinates, *system.joints) for name in (joint, f"{joint}'")
    ]
    own = [
        *equations.coordinates,
        *equations.speeds,
        *equations.inputs,
        *_keepable(equations)[2 * len(equations.speeds) :],
    ]
    return list(dict.fromkeys([*own, *system.bodies, *system.markers, *wholes, *system.outputs]))


def _varied(
    equations: Equations, outputs: tuple[str, ...], measured: tuple[str, ...], state: State
) -> Varied:
    """The matrices at a state. Measured quantities join the variations, each with a row that ties
    it to the others."""

    def build() -> list[SX]:
        s, n, m = equations.symbols, len(equations.speeds), len(measured)
        y, watched = _expressions(equations, measured), _expressions(equations, outputs)
        rate = equations.kinematics.rate(y) + ca.jtimes(y, s.u, equations.udot)

        def varied(values: SX) -> SX:
            return ca.horzcat(
                ca.jacobian(values, s.q) @ equations.N,
                ca.jacobian(values, s.u),
                SX(values.numel(), m),
            )

        top = ca.horzcat(_turning(equations), SX.eye(n), SX(n, m))
        flow = ca.vertcat(top, varied(equations.udot), varied(rate))
        by_input = ca.vertcat(
            SX(n, s.w.numel()), ca.jacobian(ca.vertcat(equations.udot, rate), s.w)
        )
        ties = varied(y) - ca.horzcat(SX(m, 2 * n), SX.eye(m))
        rows = ca.vertcat(varied(ca.vertcat(equations.phi, equations.psi)), ties)
        return [
            ca.densify(x)
            for x in (flow, by_input, rows, varied(watched), ca.jacobian(watched, s.w))
        ]

    kernel = equations.kernel(("linearize", outputs, measured), build, [2] * 5)
    return _seen_by_parent(
        equations, state, Varied(*kernel(*one_state(equations.arguments(*state))))
    )


def _seen_by_parent(equations: Equations, state: State, v: Varied) -> Varied:
    """The matrices for δθ and δω of quaternions in the axes of the joint's parent: T flow T⁻¹ + Ṫ
    T⁻¹, T by_input, map T⁻¹."""
    n = len(equations.speeds)
    T, spin = np.eye(len(v.flow)), np.zeros_like(v.flow)
    for four, three in equations.kinematics.quaternion_speeds:
        R = Rotation.from_quat(state.q[list(four)], scalar_first=True).as_matrix()
        cross = tilde(R @ state.u[list(three)])  # Ṙ = ω̃ R
        for block in (list(three), [n + k for k in three]):
            T[np.ix_(block, block)], spin[np.ix_(block, block)] = R, cross
    return Varied(
        T @ v.flow @ T.T + spin, T @ v.by_input, v.rows @ T.T, v.watched @ T.T, v.watched_input
    )


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
    return [name] if value.numel() == 1 else [
        f"{name} {i + 1}" for i in range(value.numel())
    ], value


def _of_joint(equations: Equations, m: Motion, name: str) -> SX:
    """Coordinates or speeds by the names of joints and of the variables."""
    k = equations.kinematics
    places = {
        *k.joint_coordinates,
        *(n for joint in k.topology.cut for n in (joint.name, *joint.coordinates)),
    }
    return m.coordinate(name) if name in places else m.speed(name.removesuffix("'"))


# --- the manifold ---------------------------------------------------------------------------------


def _chosen(equations: Equations, rows: np.ndarray) -> list[int]:
    """Independent variations. The constraints determine speeds first, then coordinates; sliding
    before turning ones, as far as they hold them well, because turns are the same in all directions
    that a motion takes; of equals what they hold best."""
    n, turning, dependent, left = len(equations.speeds), set(turning_speeds(equations)), [], rows
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


def _named(names: list[str], rows: np.ndarray, wanted: tuple[str, ...]) -> list[int]:
    """Indices of the wanted variations, which have to be independent and to determine the
    others."""
    free = len(names) - _rank(rows)
    if len(wanted) != free:
        raise ArgumentError(
            f"independent: there are {free} independent variations here, got {len(wanted)} names"
        )
    kept = [names.index(name) for name in wanted]
    if rows.size and _rank(np.delete(rows, kept, axis=1)) < _rank(rows):
        raise ArgumentError(
            f"independent: {', '.join(wanted)} do not determine the others here; leave the choice "
            "open"
        )
    return kept


def _rank(rows: np.ndarray) -> int:
    if not rows.size:
        return 0
    sigma = np.linalg.svd(rows, compute_uv=False)
    return int((sigma > RANK_TOLERANCE * sigma.max()).sum())
