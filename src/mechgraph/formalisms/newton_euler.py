"""Newton–Euler: Newton's and Euler's equations of each body, passed along the tree; everything is
O(n) but the full M.

Three recursions on the frames of ``chart.py``, in each frame's own axes, moments about its
origin. With mass m, first moment h = m c and inertia Θ about the origin, a body under accelerations
(ε, w) of its frame needs

    moment  Θ ε + h × w + ω × Θ ω,        force  m w + ε × h + ω × (ω × h).

- ``recursive``: accelerations outward, wrenches inward; projected on the joints this is inverse
  dynamics;
- ``composite``: inertias of everything outboard, added inward; their columns are the mass matrix;
- ``articulated``: inertias of everything outboard that is free to give way, which yield u̇ without
  a mass matrix.

Gravity enters as the acceleration −g of ground. Featherstone, *Rigid Body Dynamics Algorithms*,
chapters 5–7; written with accelerations of points rather than spatial accelerations.
"""

from __future__ import annotations

from functools import cache

import casadi as ca
from casadi import SX

from ..motion.chart import Pair
from ..motion.loads import actions, on_frames, split
from ..motion.rotors import rotor_inertias
from ..motion.tree import TreeChart, TreeFrame, outward
from ..vectors import traced
from .dynamics import Dynamics, in_speeds, with_rotors

Inertia = tuple[SX, SX, SX]  # J (3x3), H (3x3), M (3x3): moment = J ε + H w, force = Hᵀ ε + M w


def derive(chart: TreeChart) -> Dynamics:
    """Dynamics by the three recursions."""
    loads, efforts = applied_loads(chart)
    elsewhere, rotors = split(chart, rotor_inertias(chart))  # in closed joints, and in the tree
    released = cache(lambda: articulated(chart, loads, efforts, rotors))

    def solve(tau: SX) -> SX:
        if tau.is_zero():
            return released()[0]
        return articulated(chart, loads, efforts + tau, rotors)[0]

    def inverse(udot: SX) -> SX:
        return joint_forces(chart, transmitted(chart, loads, udot)) - efforts

    along_joints = Dynamics(
        M=lambda: composite(chart),
        f=lambda: efforts - joint_forces(chart, transmitted(chart, loads, None)),
        solve=solve,
        inverse=inverse,
        condition=lambda: released()[1],
        recursion=lambda loads: transmitted(chart, loads, chart.joint_accelerations),
    )
    alone = in_speeds(chart, along_joints)
    return with_rotors(chart, alone, None if elsewhere else alone.solve)


def applied_loads(chart: TreeChart) -> tuple[dict[int, Pair], SX]:
    """Applied wrenches on frames and efforts along the speeds of the joints."""
    wrenches, efforts = split(chart, actions(chart))
    return on_frames(chart, wrenches), efforts


# --- recursive Newton–Euler -----------------------------------------------------------------------


def transmitted(chart: TreeChart, loads: dict[int, Pair], udot: SX | None) -> list[Pair]:
    """(moment, force) that each frame receives from its parent, for given u̇ (zero if None) and
    applied wrenches."""
    accelerations = chart.accelerations(udot, base=-chart.description.gravity)
    wrenches = [
        _body_wrench(chart, j, accelerations[j], loads.get(j)) for j in range(len(chart.frames))
    ]
    for j in range(len(chart.frames) - 1, 0, -1):
        frame = chart.frames[j]
        wrenches[frame.parent] = _gather(*wrenches[frame.parent], frame.R, frame.d, *wrenches[j])
    return wrenches


def _body_wrench(chart: TreeChart, j: int, acceleration: Pair, load: Pair | None) -> Pair:
    """The wrench that the body on frame j needs beyond what is applied to it."""
    moment, force = SX.zeros(3), SX.zeros(3)
    body = chart.riders[j]
    if body is not None and not body.weightless:
        inertia = (body.mass, body.first_moment, body.inertia_at_origin)
        moment, force = _newton_euler(*inertia, *acceleration, chart.twists[j][0])
    return (moment, force) if load is None else (moment - load[0], force - load[1])


@traced
def _newton_euler(mass: SX, h: SX, Theta: SX, epsilon: SX, w: SX, omega: SX) -> Pair:
    moment = Theta @ epsilon + ca.cross(h, w) + ca.cross(omega, Theta @ omega)
    return moment, mass * w + ca.cross(epsilon, h) + ca.cross(omega, ca.cross(omega, h))


@traced
def _inward(R: SX, d: SX, moment: SX, force: SX) -> Pair:
    """A wrench on a frame seen by its parent: in the parent's axes, about the parent's origin."""
    turned = R @ force
    return R @ moment + ca.cross(d, turned), turned


@traced
def _gather(moment: SX, force: SX, R: SX, d: SX, outer_moment: SX, outer_force: SX) -> Pair:
    """A frame's wrench with that of a frame outboard of it."""
    more = _inward(R, d, outer_moment, outer_force)
    return moment + more[0], force + more[1]


def joint_forces(chart: TreeChart, wrenches: list[Pair]) -> SX:
    """Projections of the transmitted wrenches on the joints' motions: Sωᵀ moment + Svᵀ force."""
    tau = SX.zeros(chart.symbols.u.numel())
    for frame, wrench in zip(chart.frames, wrenches, strict=True):
        if frame.speeds:
            tau[list(frame.speeds)] = _project(*frame.S, *wrench)
    return tau


@traced
def _project(S_w: SX, S_v: SX, moment: SX, force: SX) -> SX:
    return S_w.T @ moment + S_v.T @ force


# --- composite bodies -----------------------------------------------------------------------------


def composite(chart: TreeChart) -> SX:
    """M, column by column: the wrench that moves everything outboard of a joint, carried inward to
    every joint it crosses."""
    frames, u = chart.frames, chart.symbols.u
    inertias = [_composite_inertia(chart, j) for j in range(len(frames))]
    M = SX(u.numel(), u.numel())
    for j in range(len(frames) - 1, 0, -1):
        frame = frames[j]
        inertias[frame.parent] = _gather_composite(
            *inertias[frame.parent], frame.R, frame.d, *inertias[j]
        )
        for column, index in enumerate(frame.speeds):
            wrench = _composite_wrench(*inertias[j], frame.S[0][:, column], frame.S[1][:, column])
            _fill_column(M, frames, j, index, wrench)
    return M


def _fill_column(M: SX, frames: tuple[TreeFrame, ...], j: int, index: int, wrench: Pair) -> None:
    while j > 0:
        frame = frames[j]
        for row, value in zip(
            frame.speeds,
            _project(*frame.S, *wrench).elements() if frame.speeds else (),
            strict=True,
        ):
            M[row, index] = M[index, row] = value
        j, wrench = frame.parent, _inward(frame.R, frame.d, *wrench)


def _composite_inertia(chart: TreeChart, j: int) -> tuple[SX, SX, SX]:
    body = chart.riders[j]
    if body is None:
        return SX(0), SX.zeros(3), SX.zeros(3, 3)
    return body.mass, body.first_moment, body.inertia_at_origin


@traced
def _composite_wrench(mass: SX, h: SX, Theta: SX, s_w: SX, s_v: SX) -> Pair:
    """Wrench that a unit acceleration along a joint needs."""
    return Theta @ s_w + ca.cross(h, s_v), mass * s_v + ca.cross(s_w, h)


@traced
def _gather_composite(
    mass: SX, h: SX, Theta: SX, R: SX, d: SX, outer_mass: SX, outer_h: SX, outer_Theta: SX
) -> tuple[SX, SX, SX]:
    """(m, h, Θ) of a frame with those of everything on a frame outboard of it, about its own origin
    in its own axes."""
    Rh = R @ outer_h
    shift = _symmetric_outer(d, Rh) + outer_mass * (ca.dot(d, d) * SX.eye(3) - d @ d.T)
    return mass + outer_mass, h + (Rh + outer_mass * d), Theta + (_sandwich(R, outer_Theta) + shift)


def _symmetric_outer(a: SX, b: SX) -> SX:
    """−ã b̃ − b̃ ã = 2 (a·b) 1 − a bᵀ − b aᵀ."""
    return 2 * ca.dot(a, b) * SX.eye(3) - a @ b.T - b @ a.T


def _sandwich(R: SX, A: SX) -> SX:
    """R A Rᵀ of a symmetric A."""
    return _symmetric(R @ A @ R.T)


def _symmetric(A: SX) -> SX:
    """A matrix that is symmetric but for rounding, its lower triangle copied from the upper."""
    return ca.triu2symm(ca.triu(A))


# --- articulated bodies ---------------------------------------------------------------------------


def articulated(chart: TreeChart, loads: dict[int, Pair], tau: SX, rotors: SX) -> tuple[SX, SX]:
    """u̇ under efforts τ with inertias of rotors along the speeds, and its condition: articulated
    inertias and bias wrenches inward, accelerations outward."""
    frames = chart.frames
    inertias = [_body_inertia(chart, j) for j in range(len(frames))]
    zero: Pair = (SX.zeros(3), SX.zeros(3))
    wrenches = [_body_wrench(chart, j, zero, loads.get(j)) for j in range(len(frames))]
    gains: list[tuple[SX, SX, SX]] = [(SX.zeros(3, 0), SX.zeros(3, 0), SX.zeros(0))] * len(frames)
    # traces of J and M before joints outboard gave way: what is left of them cancels to that
    outer: list[Pair] = [(SX(0), SX(0))] * len(frames)
    condition = SX(0)
    for j in range(len(frames) - 1, 0, -1):
        frame = frames[j]
        inertia, wrench = inertias[j], _add_bias(*wrenches[j], *inertias[j], *chart.biases[j])
        if frame.speeds:
            own, turning = tau[list(frame.speeds)], rotors[list(frame.speeds)]
            *left, K_w, K_v, r, lost = _release(
                *frame.S, *outer[j], *inertia, *wrench, own, turning
            )
            outer[j] = ca.trace(inertia[0]), ca.trace(inertia[2])
            inertia, wrench, gains[j] = (
                (left[0], left[1], left[2]),
                (left[3], left[4]),
                (K_w, K_v, r),
            )
            condition += lost
        if frame.parent > 0:
            inertias[frame.parent] = _gather_inertia(
                *inertias[frame.parent], frame.R, frame.d, *inertia
            )
            wrenches[frame.parent] = _gather(*wrenches[frame.parent], frame.R, frame.d, *wrench)
            outer[frame.parent] = _gather_traces(*outer[frame.parent], frame.d, *outer[j])
    return _accelerations_outward(chart, gains), condition


@traced
def _gather_traces(J: SX, M: SX, d: SX, outer_J: SX, outer_M: SX) -> Pair:
    """Traces of a frame with those of a frame outboard of it, about its own origin."""
    return J + outer_J + ca.dot(d, d) * outer_M, M + outer_M


def _body_inertia(chart: TreeChart, j: int) -> Inertia:
    body = chart.riders[j]
    if body is None:
        return SX.zeros(3, 3), SX.zeros(3, 3), SX.zeros(3, 3)
    return body.inertia_at_origin, ca.skew(body.first_moment), body.mass * SX.eye(3)


def _times(J: SX, H: SX, M: SX, epsilon: SX, w: SX) -> Pair:
    return J @ epsilon + H @ w, H.T @ epsilon + M @ w


@traced
def _add_bias(moment: SX, force: SX, J: SX, H: SX, M: SX, c_w: SX, c_v: SX) -> Pair:
    """A bias wrench with what the bias acceleration needs."""
    more = _times(J, H, M, c_w, c_v)
    return moment + more[0], force + more[1]


@traced
def _release(
    S_w: SX,
    S_v: SX,
    outer_J: SX,
    outer_M: SX,
    J: SX,
    H: SX,
    M: SX,
    moment: SX,
    force: SX,
    tau: SX,
    rotors: SX,
) -> tuple[SX, ...]:
    """Let a joint give way: what is left of inertia and bias, (Uω D⁻¹, Uv D⁻¹, D⁻¹ r) with which
    u̇ = D⁻¹ r − (U D⁻¹)ᵀ a, and how badly conditioned D is.

    Here a is the frame's acceleration without the joint's own u̇, bias included, U = I S,
    D = Sᵀ U + J with the inertias J of rotors, r = τ − Sᵀ p. The wrench p comes with the bias
    acceleration already applied.
    """
    U_w, U_v = _times(J, H, M, S_w, S_v)
    D = S_w.T @ U_w + S_v.T @ U_v + ca.diag(rotors)
    residual = tau - (S_w.T @ moment + S_v.T @ force)
    gain, pivots = _solve_small(D, ca.horzcat(U_w.T, U_v.T, residual))
    terms = ca.sum1(S_w * S_w).T * (ca.trace(J) + outer_J)
    terms += ca.sum1(S_v * S_v).T * (ca.trace(M) + outer_M) + rotors
    K_w, K_v, r = gain[:, :3].T, gain[:, 3:6].T, gain[:, 6]
    return (
        _symmetric(J - K_w @ U_w.T),
        H - K_w @ U_v.T,
        _symmetric(M - K_v @ U_v.T),
        moment + U_w @ r,
        force + U_v @ r,
        K_w,
        K_v,
        r,
        ca.sumsqr(terms / pivots),
    )


def _solve_small(D: SX, right: SX) -> Pair:
    """D⁻¹ right for the symmetric positive definite D of one joint, and its pivots."""
    if D.shape == (1, 1):
        return right / D, D
    pivots, LT, permutation = ca.ldl(D, False)
    return ca.ldl_solve(right, pivots, LT, permutation), pivots


@traced
def _gather_inertia(
    J: SX, H: SX, M: SX, R: SX, d: SX, outer_J: SX, outer_H: SX, outer_M: SX
) -> Inertia:
    """A frame's inertia with an articulated inertia outboard of it, about its own origin in its own
    axes."""
    cross = ca.skew(d)
    J_turned, M_turned, H_turned = _sandwich(R, outer_J), _sandwich(R, outer_M), R @ outer_H @ R.T
    H_shifted = H_turned + cross @ M_turned
    J_shifted = _symmetric(J_turned - H_turned @ cross + cross @ H_shifted.T)
    return J + J_shifted, H + H_shifted, M + M_turned


def _accelerations_outward(chart: TreeChart, gains: list[tuple[SX, SX, SX]]) -> SX:
    udot = SX.zeros(chart.symbols.u.numel())
    accelerations: list[Pair] = [(SX.zeros(3), -chart.description.gravity)]
    for j, frame in enumerate(chart.frames[1:], start=1):
        inboard = accelerations[frame.parent]
        own = _own_acceleration(frame.R, frame.d, *inboard, *gains[j])
        if frame.speeds:
            udot[list(frame.speeds)] = own
        accelerations.append(outward(frame.R, frame.d, *inboard, *chart.biases[j], *frame.S, own))
    return udot


@traced
def _own_acceleration(R: SX, d: SX, epsilon: SX, w: SX, K_w: SX, K_v: SX, r: SX) -> SX:
    """u̇ of a joint, whose frame would else have the accelerations of its parent."""
    return r - K_w.T @ (R.T @ epsilon) - K_v.T @ (R.T @ (w + ca.cross(epsilon, d)))
