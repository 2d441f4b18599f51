"""Linearization about a state, on the manifold of all constraints, by exact derivatives.

A varied motion is (δs, δu): δq = N δs are the variations along the speeds (for a quaternion the small rotation δθ in the
turned axes), so no condition on norms is left over. It obeys

    d(δs)/dt = δu + P δs,        d(δu)/dt = ∂u̇/∂q N δs + ∂u̇/∂u δu + ∂u̇/∂w δw,

with P = 0 but for quaternions, where d(δθ)/dt = δω − ω × δθ, and the constraints A_φ δs = 0, ∂ψ/∂q N δs + ∂ψ/∂u δu = 0.
δθ and δω of quaternions are then turned into the axes of the joint's parent, where a spinning body of revolution has
constant coefficients. (In a steady turn they are constant in angles: describe the body by a chain of rotations then.)
Independent variations x are picked out of them, the rest follows, (δs, δu) = Z x, and the rows of the independent ones are
the linear model. This holds along any motion; where the matrices are constant (at an equilibrium, in a steady motion) the
eigenvalues tell the stability.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
import scipy.linalg
from casadi import SX
from scipy.spatial.transform import Rotation

from ..arguments import one_state, some_of
from ..closure import RANK_TOLERANCE
from ..equations import Equations
from ..errors import ArgumentError, blamed
from ..motion import Motion
from ..results import LinearModel, Trajectory


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

    ``at`` is a start as for ``simulate`` (names, or a pair (q, u)), or a ``Trajectory``, whose last state is taken.
    ``independent`` are the names of coordinates and speeds to keep as states; the best-conditioned ones are chosen if it is
    not given. ``outputs`` are names of coordinates, speeds or the system's own outputs; by default the states.
    """
    if isinstance(at, Trajectory):
        q, u, t, inputs = at.q[-1], at.u[-1], float(at.time[-1]), at.w[-1] if inputs is None else inputs
    else:
        q, u = equations.assemble(at, t=t, parameters=parameters, guess=guess)
    watchable = [*equations.coordinates, *equations.speeds, *equations.system.outputs]
    chosen = some_of("output", () if outputs is None else outputs, watchable)
    matrices = _matrices(equations, chosen, q, u, t, inputs, parameters)
    flow, by_input, rows, watched, watched_input = _seen_by_parent(equations, q, u, *matrices)
    names = [*_variation_names(equations), *equations.speeds]
    kept = _independent(names, rows, independent)
    Z = _expansion(rows, kept)
    A, B = (flow @ Z)[kept], by_input[kept]
    states = tuple(names[k] for k in kept)
    C, D = (watched @ Z, watched_input) if chosen else (np.eye(len(kept)), np.zeros((len(kept), len(equations.inputs))))
    return LinearModel(A, B, C, D, states, equations.inputs, chosen or states, Z, tuple(names), q, u, t)


def _variation_names(equations: Equations) -> list[str]:
    """δs are named as the coordinates, rotations of quaternions as ``joint.rx``, ``.ry``, ``.rz``."""
    k = equations.kinematics
    names = [name.removesuffix("'") for name in equations.speeds]
    turning = {index for q, u in k.quaternion_speeds for index in u}
    return [name[: -len("wx")] + f"r{name[-1]}" if index in turning else name for index, name in enumerate(names)]


def _matrices(equations: Equations, outputs: tuple[str, ...], *state: Any) -> list[np.ndarray]:
    """Derivatives of (δs, δu)' with respect to (δs, δu) and w, of the constraints, and of the outputs."""

    def build() -> list[SX]:
        s, N = equations.symbols, equations.N
        udot, watched = equations.udot, _watched(equations, outputs)
        top = ca.horzcat(_turning(equations), SX.eye(s.u.numel()))
        bottom = ca.horzcat(ca.jacobian(udot, s.q) @ N, ca.jacobian(udot, s.u))
        constraints = ca.vertcat(equations.phi, equations.psi)
        rows = ca.horzcat(ca.jacobian(constraints, s.q) @ N, ca.jacobian(constraints, s.u))
        seen = ca.horzcat(ca.jacobian(watched, s.q) @ N, ca.jacobian(watched, s.u))
        by_input = ca.vertcat(SX.zeros(s.u.numel(), s.w.numel()), ca.jacobian(udot, s.w))
        return [ca.vertcat(top, bottom), by_input, rows, seen, ca.jacobian(watched, s.w)]

    kernel = equations.kernel(("linearize", outputs), build, [2] * 5)
    return kernel(*one_state(equations.arguments(*state)))


def _seen_by_parent(
    equations: Equations, q: np.ndarray, u: np.ndarray, flow: np.ndarray, by_input: np.ndarray, *maps: np.ndarray
) -> list[np.ndarray]:
    """The matrices for δθ and δω of quaternions in the axes of the joint's parent: T flow T⁻¹ + Ṫ T⁻¹, T by_input, map T⁻¹."""
    n = len(equations.speeds)
    T, spin = np.eye(2 * n), np.zeros((2 * n, 2 * n))
    for four, three in equations.kinematics.quaternion_speeds:
        R = Rotation.from_quat(q[list(four)], scalar_first=True).as_matrix()
        tilde = np.cross(R @ u[list(three)], np.eye(3)).T  # Ṙ = ω̃ R
        for block in (list(three), [n + k for k in three]):
            T[np.ix_(block, block)], spin[np.ix_(block, block)] = R, tilde
    rows, watched, watched_input = maps
    return [T @ flow @ T.T + spin, T @ by_input, rows @ T.T, watched @ T.T, watched_input]


def _turning(equations: Equations) -> SX:
    """P: −ω̃ for quaternions, else zero."""
    s, k = equations.symbols, equations.kinematics
    P = SX(s.u.numel(), s.u.numel())
    for _, three in k.quaternion_speeds:
        P[list(three), list(three)] = -ca.skew(s.u[list(three)])  # d(δθ)/dt = δω − ω × δθ
    return ca.densify(P)


def _watched(equations: Equations, outputs: tuple[str, ...]) -> SX:
    m, system = Motion(equations.kinematics), equations.system
    values = []
    for name in outputs:
        if name in equations.speeds:
            values.append(equations.symbols.u[equations.speeds.index(name)])
        elif name in equations.coordinates:
            values.append(equations.symbols.q[equations.coordinates.index(name)])
        else:
            with blamed(f"output {name!r}"):
                values.append(SX(system.outputs[name](m)))
    return ca.vertcat(SX(0, 1), *values)


# --- the manifold ----------------------------------------------------------------------------------------------------


def _independent(names: list[str], rows: np.ndarray, wanted: Sequence[str] | None) -> list[int]:
    """Indices of independent variations: those named, or those that the constraints fix least well (pivoted QR)."""
    free = len(names) - _rank(rows)
    if wanted is None:
        if not rows.size:
            return list(range(len(names)))
        _, _, order = scipy.linalg.qr(rows, mode="economic", pivoting=True)
        return sorted(int(k) for k in order[_rank(rows) :])
    wanted = some_of("coordinate or speed", wanted, names)
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
