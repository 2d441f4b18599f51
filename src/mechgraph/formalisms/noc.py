"""The natural orthogonal complement, decoupled (DeNOC).

The twists t = (ω, v) of all frames, one below the other, are t = N u_J + …: N is a complement of
the constraints that the joints impose on free bodies. It comes as a product, N = N_l N_d: the
blocks of N_d are the joints' own motions S, and N_l passes a twist on from each frame to all that
hang on it, along the tree.
With the inertias (Θ, h, m) of all frames in M̄, their bias accelerations c, and the wrenches W that
the bodies need at u̇ = 0 beyond M̄ ṫ,

    M = N_dᵀ N_lᵀ M̄ N_l N_d,        f = Nᵀ (F − W − M̄ N_l c) + efforts.

J. Angeles, S. K. Lee, J. Appl. Mech. 55 (1988) 243–244; S. K. Saha, J. Appl. Mech. 66 (1999)
986–996.
"""

from __future__ import annotations

from functools import cache

import casadi as ca
from casadi import SX

from ..motion.tree import TreeChart
from .dynamics import Coefficient, Dynamics, check_size, in_speeds, with_rotors
from .newton_euler import applied_loads

OPERATIONS = 40  # for each pair of speeds that move a body, about


def derive(chart: TreeChart) -> Dynamics:
    """Dynamics by the complement of the joints."""
    check_size(chart, "noc", OPERATIONS)
    loads, efforts = applied_loads(chart)
    N_l, N_d = cache(lambda: _passing_on(chart)), cache(lambda: _own_motions(chart))
    N = cache(lambda: N_l() @ N_d())
    inertia = cache(lambda: _inertias(chart))

    def f() -> SX:
        known = N_l() @ _biases(chart)
        needed = _gyroscopic_wrenches(chart) - _column(chart, loads)
        return efforts - N().T @ (needed + inertia() @ known)

    alone = in_speeds(chart, Dynamics(lambda: N().T @ (inertia() @ N()), f))
    made = with_rotors(chart, alone)
    return Dynamics(
        made.M,
        made.f,
        coefficients={
            "N_l": Coefficient(2, N_l),
            "N_d": Coefficient(2, N_d, chart.joint_speed_names),
        },
    )


def _passing_on(chart: TreeChart) -> SX:
    """N_l: block (j, i) takes the twist of frame i to frame j, if j hangs on i."""
    count = len(chart.frames)
    rows = [ca.horzcat(SX.eye(6), SX(6, 6 * (count - 1)))]
    for j, frame in enumerate(chart.frames[1:], start=1):
        turned = frame.R.T
        step = ca.blockcat([[turned, SX(3, 3)], [-turned @ ca.skew(frame.d), turned]])
        row = step @ rows[frame.parent]
        row[:, 6 * j : 6 * j + 6] = SX.eye(6)
        rows.append(ca.sparsify(row))
    return ca.vertcat(*rows)


def _own_motions(chart: TreeChart) -> SX:
    """N_d: block (j, own speeds of j) is S_j."""
    blocks = SX(6 * len(chart.frames), chart.symbols.u.numel())
    for j, frame in enumerate(chart.frames):
        if frame.speeds:
            blocks[6 * j : 6 * j + 6, list(frame.speeds)] = ca.vertcat(*frame.S)
    return ca.sparsify(blocks)


def _inertias(chart: TreeChart) -> SX:
    """M̄: (Θ, h̃; −h̃, m 1) of what rides on each frame."""
    blocks = []
    for body in chart.riders:
        if body is None:
            blocks.append(SX(6, 6))
        else:
            h = ca.skew(body.first_moment)
            heavy = body.mass * SX.eye(3)
            blocks.append(ca.blockcat([[body.inertia_at_origin, h], [h.T, heavy]]))
    return ca.sparsify(ca.diagcat(*blocks))


def _biases(chart: TreeChart) -> SX:
    """c of all frames, and −g for ground."""
    ground = ca.vertcat(SX(3, 1), -chart.description.gravity)
    return ca.vertcat(ground, *(ca.vertcat(*pair) for pair in chart.biases[1:]))


def _gyroscopic_wrenches(chart: TreeChart) -> SX:
    """(ω × Θω, ω × (ω × h)) of each body."""
    parts = []
    for body, (omega, _) in zip(chart.riders, chart.twists, strict=True):
        if body is None:
            parts.append(SX(6, 1))
        else:
            moment = ca.cross(omega, body.inertia_at_origin @ omega)
            force = ca.cross(omega, ca.cross(omega, body.first_moment))
            parts.append(ca.vertcat(moment, force))
    return ca.vertcat(*parts)


def _column(chart: TreeChart, loads: dict[int, tuple[SX, SX]]) -> SX:
    """Wrenches on all frames, one below the other."""
    none = (SX(3, 1), SX(3, 1))
    return ca.vertcat(*(ca.vertcat(*loads.get(j, none)) for j in range(len(chart.frames))))
