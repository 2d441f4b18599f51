"""Newton–Euler: Newton's and Euler's equations of each body, passed along the tree; everything is O(n) but the full M.

Three recursions on the frames of ``kinematics.py``, in each frame's own axes, moments about its origin. With mass m,
first moment h = m c and inertia Θ about the origin, a body under accelerations (ε, w) of its frame needs

    moment  Θ ε + h × w + ω × Θ ω,        force  m w + ε × h + ω × (ω × h).

- ``recursive``: accelerations outward, wrenches inward; projected on the joints this is inverse dynamics;
- ``composite``: inertias of everything outboard, added inward; their columns are the mass matrix;
- ``articulated``: inertias of everything outboard that is free to give way, which yield u̇ without a mass matrix.

Gravity enters as the acceleration −g of ground. Featherstone, *Rigid Body Dynamics Algorithms*, chapters 5–7; written
with accelerations of points rather than spatial accelerations.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
from casadi import SX

from ..kinematics import Frame, Kinematics, Pair
from ..loads import actions, on_frames, split
from .dynamics import Dynamics

Inertia = tuple[SX, SX, SX]  # J (3x3), H (3x3), M (3x3): moment = J ε + H w, force = Hᵀ ε + M w


def derive(kinematics: Kinematics) -> Dynamics:
    """Dynamics by the three recursions."""
    loads, efforts = loading(kinematics)

    def inverse(udot: SX) -> SX:
        return joint_forces(kinematics, transmitted(kinematics, loads, udot)) - efforts

    return Dynamics(
        M=lambda: composite(kinematics),
        f=lambda: efforts - joint_forces(kinematics, transmitted(kinematics, loads, None)),
        solve=lambda tau: articulated(kinematics, loads, efforts + tau),
        inverse=inverse,
    )


def loading(kinematics: Kinematics) -> tuple[dict[int, Pair], SX]:
    """Applied wrenches on frames and efforts along the speeds."""
    wrenches, efforts = split(kinematics, actions(kinematics))
    return on_frames(kinematics, wrenches), efforts


# --- recursive Newton–Euler ------------------------------------------------------------------------------------------


def transmitted(kinematics: Kinematics, loads: dict[int, Pair], udot: SX | None) -> list[Pair]:
    """(moment, force) that each frame receives from its parent, for given u̇ (zero if None) and applied wrenches."""
    accelerations = kinematics.accelerations(udot, base=-kinematics.system.gravity)
    wrenches = [_needed(kinematics, j, accelerations[j], loads.get(j)) for j in range(len(kinematics.frames))]
    for j in range(len(kinematics.frames) - 1, 0, -1):
        frame = kinematics.frames[j]
        wrenches[frame.parent] = _added(wrenches[frame.parent], _inward(frame, wrenches[j]))
    return wrenches


def _needed(kinematics: Kinematics, j: int, acceleration: Pair, load: Pair | None) -> Pair:
    """The wrench that the body on frame j needs beyond what is applied to it."""
    moment, force = SX.zeros(3), SX.zeros(3)
    body, (epsilon, w), omega = kinematics.carried[j], acceleration, kinematics.twists[j][0]
    if body is not None and not body.weightless:
        h, Theta = body.first_moment, body.inertia_at_origin
        moment = Theta @ epsilon + ca.cross(h, w) + ca.cross(omega, Theta @ omega)
        force = body.mass * w + ca.cross(epsilon, h) + ca.cross(omega, ca.cross(omega, h))
    return (moment, force) if load is None else (moment - load[0], force - load[1])


def _inward(frame: Frame, wrench: Pair) -> Pair:
    """A wrench on a frame seen by its parent: in the parent's axes, about the parent's origin."""
    force = frame.R @ wrench[1]
    return frame.R @ wrench[0] + ca.cross(frame.d, force), force


def _added(a: Pair, b: Pair) -> Pair:
    return a[0] + b[0], a[1] + b[1]


def joint_forces(kinematics: Kinematics, wrenches: list[Pair]) -> SX:
    """Projections of the transmitted wrenches on the joints' motions: Sωᵀ moment + Svᵀ force."""
    tau = SX.zeros(kinematics.symbols.u.numel())
    for frame, wrench in zip(kinematics.frames, wrenches, strict=True):
        if frame.speeds:
            tau[list(frame.speeds)] = _projected(frame, wrench)
    return tau


def _projected(frame: Frame, wrench: Pair) -> SX:
    return frame.S[0].T @ wrench[0] + frame.S[1].T @ wrench[1]


# --- composite bodies ------------------------------------------------------------------------------------------------


def composite(kinematics: Kinematics) -> SX:
    """M, column by column: the wrench that moves everything outboard of a joint, carried inward to every joint it crosses."""
    frames, u = kinematics.frames, kinematics.symbols.u
    inertias = [_composite_inertia(kinematics, j) for j in range(len(frames))]
    M = SX(u.numel(), u.numel())
    for j in range(len(frames) - 1, 0, -1):
        frame, (mass, h, Theta) = frames[j], inertias[j]
        inertias[frame.parent] = _composite_added(inertias[frame.parent], _composite_inward(frame, mass, h, Theta))
        for column, index in enumerate(frame.speeds):
            s_w, s_v = frame.S[0][:, column], frame.S[1][:, column]
            wrench = (Theta @ s_w + ca.cross(h, s_v), mass * s_v + ca.cross(s_w, h))
            _fill_column(M, frames, j, index, wrench)
    return M


def _fill_column(M: SX, frames: tuple[Frame, ...], j: int, index: int, wrench: Pair) -> None:
    while j > 0:
        frame = frames[j]
        for row, value in zip(frame.speeds, ca.vertsplit(_projected(frame, wrench)) if frame.speeds else (), strict=True):
            M[row, index] = M[index, row] = value
        j, wrench = frame.parent, _inward(frame, wrench)


def _composite_inertia(kinematics: Kinematics, j: int) -> tuple[SX, SX, SX]:
    body = kinematics.carried[j]
    if body is None:
        return SX(0), SX.zeros(3), SX.zeros(3, 3)
    return body.mass, body.first_moment, body.inertia_at_origin


def _composite_added(a: tuple[SX, SX, SX], b: tuple[SX, SX, SX]) -> tuple[SX, SX, SX]:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _composite_inward(frame: Frame, mass: SX, h: SX, Theta: SX) -> tuple[SX, SX, SX]:
    """(m, h, Θ) of everything on a frame, about the parent's origin in the parent's axes."""
    Rh, d = frame.R @ h, frame.d
    shift = _symmetric_outer(d, Rh) + mass * (ca.dot(d, d) * SX.eye(3) - d @ d.T)
    return mass, Rh + mass * d, _sandwich(frame.R, Theta) + shift


def _symmetric_outer(a: SX, b: SX) -> SX:
    """−ã b̃ − b̃ ã = 2 (a·b) 1 − a bᵀ − b aᵀ."""
    return 2 * ca.dot(a, b) * SX.eye(3) - a @ b.T - b @ a.T


def _sandwich(R: SX, A: SX) -> SX:
    """R A Rᵀ of a symmetric A, the lower triangle copied from the upper."""
    half = R @ A
    return _symmetric(lambda i, k: half[i, :] @ R[k, :].T)


def _symmetric(entry: Callable[[int, int], SX]) -> SX:
    """A symmetric 3x3 matrix from the entries of its upper triangle."""
    xx, xy, xz, yy, yz, zz = (entry(i, k) for i in range(3) for k in range(i, 3))
    return ca.vertcat(ca.horzcat(xx, xy, xz), ca.horzcat(xy, yy, yz), ca.horzcat(xz, yz, zz))


# --- articulated bodies ----------------------------------------------------------------------------------------------


def articulated(kinematics: Kinematics, loads: dict[int, Pair], tau: SX) -> SX:
    """u̇ under efforts τ: articulated inertias and bias wrenches inward, accelerations outward."""
    frames = kinematics.frames
    inertias = [_body_inertia(kinematics, j) for j in range(len(frames))]
    zero: Pair = (SX.zeros(3), SX.zeros(3))
    wrenches = [_needed(kinematics, j, zero, loads.get(j)) for j in range(len(frames))]
    gains: list[tuple[SX, SX, SX]] = [(SX(0), SX(0), SX(0))] * len(frames)
    for j in range(len(frames) - 1, 0, -1):
        frame = frames[j]
        inertia, wrench = inertias[j], wrenches[j]
        wrench = _added(wrench, _times(inertia, kinematics.biases[j]))
        if frame.speeds:
            inertia, wrench, gains[j] = _released(frame, inertia, wrench, tau[list(frame.speeds)])
        if frame.parent > 0:
            inertias[frame.parent] = _inertia_added(inertias[frame.parent], _inertia_inward(frame, inertia))
            wrenches[frame.parent] = _added(wrenches[frame.parent], _inward(frame, wrench))
    return _accelerations_outward(kinematics, gains)


def _body_inertia(kinematics: Kinematics, j: int) -> Inertia:
    body = kinematics.carried[j]
    if body is None:
        return SX.zeros(3, 3), SX.zeros(3, 3), SX.zeros(3, 3)
    return body.inertia_at_origin, ca.skew(body.first_moment), body.mass * SX.eye(3)


def _times(inertia: Inertia, acceleration: Pair) -> Pair:
    J, H, M = inertia
    return J @ acceleration[0] + H @ acceleration[1], H.T @ acceleration[0] + M @ acceleration[1]


def _released(frame: Frame, inertia: Inertia, wrench: Pair, tau: SX) -> tuple[Inertia, Pair, tuple[SX, SX, SX]]:
    """Let a joint give way: what is left of inertia and bias, and (Uω D⁻¹, Uv D⁻¹, D⁻¹ r) with which u̇ = D⁻¹ r − (U D⁻¹)ᵀ a.

    Here a is the frame's acceleration without the joint's own u̇, bias included, U = I S, D = Sᵀ U, r = τ − Sᵀ p.
    The wrench p comes with the bias acceleration already applied.
    """
    S_w, S_v = frame.S
    U_w, U_v = _times(inertia, frame.S)
    D = S_w.T @ U_w + S_v.T @ U_v
    residual = tau - _projected(frame, wrench)
    gain = _solve_small(D, ca.horzcat(U_w.T, U_v.T, residual))
    K_w, K_v, r = gain[:, :3].T, gain[:, 3:6].T, gain[:, 6]
    J, H, M = inertia
    left = (
        _symmetric(lambda i, k: J[i, k] - K_w[i, :] @ U_w[k, :].T),
        H - K_w @ U_v.T,
        _symmetric(lambda i, k: M[i, k] - K_v[i, :] @ U_v[k, :].T),
    )
    return left, (wrench[0] + U_w @ r, wrench[1] + U_v @ r), (K_w, K_v, r)


def _solve_small(D: SX, right: SX) -> SX:
    """D⁻¹ right for the symmetric positive definite D of one joint."""
    if D.shape == (1, 1):
        return right / D
    pivots, LT, permutation = ca.ldl(D)
    return ca.ldl_solve(right, pivots, LT, permutation)


def _inertia_added(a: Inertia, b: Inertia) -> Inertia:
    return a[0] + b[0], a[1] + b[1], a[2] + b[2]


def _inertia_inward(frame: Frame, inertia: Inertia) -> Inertia:
    """An articulated inertia about the parent's origin in the parent's axes."""
    R, d = frame.R, ca.skew(frame.d)
    J, M = _sandwich(R, inertia[0]), _sandwich(R, inertia[2])
    H = R @ inertia[1] @ R.T
    H_shifted = H + d @ M
    return _symmetric(lambda i, k: J[i, k] - H[i, :] @ d[:, k] + d[i, :] @ H_shifted[k, :].T), H_shifted, M


def _accelerations_outward(kinematics: Kinematics, gains: list[tuple[SX, SX, SX]]) -> SX:
    udot = SX.zeros(kinematics.symbols.u.numel())
    accelerations: list[Pair] = [(SX.zeros(3), -kinematics.system.gravity)]
    for j, frame in enumerate(kinematics.frames[1:], start=1):
        rigid = kinematics.outward(frame, accelerations[frame.parent], None, None)
        if frame.speeds:
            K_w, K_v, r = gains[j]
            udot[list(frame.speeds)] = r - K_w.T @ rigid[0] - K_v.T @ rigid[1]
        own = udot[list(frame.speeds)]
        bias = kinematics.biases[j]
        accelerations.append(
            (rigid[0] + bias[0] + frame.S[0] @ own, rigid[1] + bias[1] + frame.S[1] @ own)
            if frame.speeds
            else (rigid[0] + bias[0], rigid[1] + bias[1])
        )
    return udot
