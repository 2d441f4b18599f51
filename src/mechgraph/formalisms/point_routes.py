"""Attia's own way from points to u̇: momenta of everything outboard of a joint, along its motions.

Let the columns of S be the velocities of the points as each joint of the tree moves alone, and
everything outboard with it. Distances and joints of the tree hold along them, A_t S = 0, so that

    Sᵀ (M u̇ − f − A_rᵀ λ) = 0,      A_t u̇ + b_t = 0,      A_r u̇ + b_r = 0

has no forces of these joints: moments of all outboard bodies about a ball joint (Attia 2005,
eq. 20), projected on the axis of a hinge, forces along a slide (22, 25). λ belongs to the rest: cut
joints and the user's constraints. The matrix is square and not symmetric. Each row sees all bodies
outboard; ``route="forces"`` takes force and moment of each body alone instead, with the forces w
through shared joints as further unknowns, so that a row sees its neighbours only and the cost is in
proportion to the number of bodies:

    Bᵀ (M u̇ − f − A_rᵀ λ) + W w = 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..closures.expressions import Solver, check_size, multipliers_of
from ..errors import UnsupportedError
from ..model.constraints import Constraint
from ..model.joints import Joint
from ..model.planar import pivot_rows
from ..model.transitions import Ball, Transition, Translation
from ..motion.constraint_rows import ConstraintRows
from ..motion.points import PointChart, Rigid
from ..motion.topology import Arc
from ..numerics.tolerances import PROXIMAL, TINY
from ..vectors import normals

ROUTES = ("momenta", "forces", "closure")
FEW = 12  # bodies up to which momenta of all that is outboard cost less than forces in joints
ITERATIONS = 3  # of the proximal method, where rows of the rest may be dependent

Move = tuple[SX, SX, SX]  # (ω, v, c): angular velocity, and velocity of what is at the place c


def solver(chart: PointChart, rows: ConstraintRows, M: SX, route: str) -> Solver:
    """(u̇, λ) as a function of f and b, by momenta or with joint forces."""
    own: list[Constraint] = [c for c in rows.constraints if isinstance(c, Rigid)]
    if route == "momenta":
        kept = {arc.joint.name for arc in chart.layout.tree.arcs}
        own += [c for c in rows.closings if c.name in kept]
        P, W = motions(chart).T, None
    else:
        P, W = body_motions(chart).T, joint_forces(chart)
    tree = sorted(k for c in own for k in rows.rows_of(c.name))
    return _solver(M, rows.levels.A, P, W, _independent(chart, rows.levels.A, tree))


def _independent(chart: PointChart, A: SX, rows: list[int]) -> list[int]:
    """Those of some rows that are independent in the reference configuration; in a plane some
    follow from others."""
    s = chart.symbols
    at = list(chart.reference), np.zeros(s.u.numel()), 0.0, list(s.defaults)
    value = np.array(ca.Function("A", [s.q, s.u, s.t, s.p], [ca.densify(A[rows, :])])(*at))
    return [rows[k] for k in pivot_rows(value)]


def _solver(M: SX, A: SX, P: SX, W: SX | None, tree: list[int]) -> Solver:
    n, rest = M.shape[0], [k for k in range(A.shape[0]) if k not in set(tree)]
    W = SX(P.shape[0], 0) if W is None else W
    scale = n / (ca.trace(M) + TINY)  # momenta in the units of accelerations
    sizes = 1 / ca.sqrt(ca.sum2(A * A) + TINY)
    A_t, A_r = (ca.diag(sizes[k, :]) @ A[k, :] for k in (tree, rest))
    K = ca.blockcat(
        [
            [scale * (P @ M), W, -(P @ A_r.T)],
            [A_t, SX(len(tree), W.shape[1]), SX(len(tree), len(rest))],
            [A_r, SX(len(rest), W.shape[1]), PROXIMAL * SX.eye(len(rest))],
        ]
    )
    if K.shape[0] != K.shape[1]:
        raise UnsupportedError(
            f"points: {K.shape[0]} momenta, distances and joint conditions do not make up "
            f"{K.shape[1]} accelerations and forces here; use route='closure'"
        )
    factor = _Orthogonal(ca.sparsify(K), K.shape[0] - len(rest))

    def solution(f: SX, b: SX) -> tuple[SX, SX]:
        right, lam = -sizes * b, SX.zeros(len(rest))
        for _ in range(ITERATIONS if rest else 1):
            x = factor.solve(
                ca.vertcat(scale * (P @ f), right[tree, :], right[rest, :] + PROXIMAL * lam)
            )
            lam = x[x.numel() - len(rest) :, :]
        return x[:n], multipliers_of(M, A, f, x[:n])

    return Solver(solution, factor.condition)


class _Orthogonal:
    """QR of a sparse matrix without pivoting; orthogonal columns need none. Its condition is that
    of the first ``n`` columns."""

    def __init__(self, K: SX, n: int) -> None:
        pattern = K.sparsity()
        V, R = pattern.qr_sparse()[:2]
        check_size(int((np.diff(V.colind()).astype(float) * np.diff(R.T.colind())).sum()))
        *self.factor, order = ca.qr_sparse(K)
        self.factor.append(order)
        ratios = ca.sum1(K * K).T[order] / ca.diag(self.factor[1]) ** 2
        self.condition = ca.sum1(ratios[[k for k, column in enumerate(order) if column < n]])

    def solve(self, right: SX) -> SX:
        return ca.qr_solve(ca.densify(right), *self.factor)


# --- S: joints that move alone --------------------------------------------------------------------


def motions(chart: PointChart) -> SX:
    """S: speeds as each joint of the tree moves alone; then those that belong to no joint of the
    tree (cut chains, points of contact)."""
    arcs = chart.layout.tree.arcs
    columns = [
        _column(chart, arc, move, k) for arc in arcs for k, move in enumerate(_moves(chart, arc))
    ]
    carried = {name for arc in arcs for name in [arc.joint.name] if name in chart.chain_end}
    count = chart.symbols.u.numel()
    others = (
        k for name in chart.chain_end if name not in carried for k in chart.joint_speeds[name]
    )
    return ca.horzcat(SX(count, 0), *columns, *(SX.eye(count)[:, k] for k in others))


def _column(chart: PointChart, arc: Arc, move: Move, k: int) -> SX:
    """Velocities of all points outboard of a joint as it moves, and the speed itself if it is
    among u."""
    omega, v, c = move
    out, sign = SX(chart.symbols.u.numel(), 1), -1 if arc.reversed else 1
    for body in _outboard(chart, arc):
        for indices, r in _own_points(chart, body):
            out[indices] = sign * (v + ca.cross(omega, r - c))[chart.axes]
    if arc.joint.name in chart.chain_end:
        out[chart.joint_speeds[arc.joint.name][k]] = 1
    return out


def _outboard(chart: PointChart, arc: Arc) -> list[str]:
    found = [arc.outboard]
    for other in chart.layout.tree.arcs:
        if other.inboard in found:
            found.append(other.outboard)
    return found


def _own_points(chart: PointChart, body: str) -> Iterator[tuple[list[int], SX]]:
    """Indices in u of the points that are a body's own, and their positions."""
    for k, name in chart.layout.bodies[body].names.items():
        yield list(chart.joint_speeds[name]), chart.points[body][k]


def _moves(chart: PointChart, arc: Arc) -> Iterator[Move]:
    """The freedoms of a joint, of its child relative to its parent."""
    joint, m = arc.joint, chart.motion
    steps = joint.transitions
    plain = joint.name not in chart.chain_end and all(step.moves for step in steps)
    parent, child = ((m.rotation(end), m.position(end)) for end in (joint.parent, joint.child))
    walked = None
    for k, step in enumerate(steps):
        if not step.moves:
            continue
        if plain and _slides(steps[:k]) and (k == 0 or isinstance(step, Translation)):
            R, p = parent
        elif plain and k == len(steps) - 1:
            R, p = child
        else:
            walked = walked or _walk(chart, joint, *parent)
            R, p = walked[k]
        if plain and isinstance(step, Ball):
            R = SX.eye(3)  # any three axes will do, and these cost nothing
        turns, shifts = step.subspace(SX.zeros(len(step.coordinates)))
        for turn, shift in zip(ca.horzsplit(turns), ca.horzsplit(shifts), strict=True):
            yield R @ turn, R @ shift, p


def _slides(steps: Iterable[Transition]) -> bool:
    return all(isinstance(step, Translation) for step in steps)


def _walk(chart: PointChart, joint: Joint, R: SX, p: SX) -> list[tuple[SX, SX]]:
    """Frames behind each transition of a joint, by its coordinates, which are measured if they are
    not among q."""
    amounts = iter(ca.vertsplit(chart.motion.coordinate(joint.name)) if joint.coordinates else ())
    out = []
    for step in joint.transitions:
        own = [next(amounts) for _ in step.coordinates]
        turn, shift = step.pose(ca.vertcat(*own) if step.moves else step.amount)
        R, p = R @ turn, p + R @ shift
        out.append((R, p))
    return out


# --- B and W: bodies alone, and the forces between them -------------------------------------------


def body_motions(chart: PointChart) -> SX:
    """B: velocities of each body's own points as it moves alone, three translations and three turns
    about its first point; then what chains carry."""
    count, columns, moves = chart.symbols.u.numel(), [], _body_moves(chart)
    for body in chart.points:
        block = SX(count, len(moves))
        for indices, r in _own_points(chart, body):
            arm = r - chart.points[body][0]
            block[indices, :] = ca.horzcat(SX.eye(3), -ca.skew(arm))[chart.axes, moves]
        columns.append(block)
    chained = (k for name in chart.chain_end for k in chart.joint_speeds[name])
    return ca.sparsify(ca.horzcat(*columns, *(SX.eye(count)[:, k] for k in chained)))


def _body_moves(chart: PointChart) -> list[int]:
    """Those of three translations and three turns that a body may make."""
    return [*chart.axes, *(3 + k for k in chart.turns)]


def joint_forces(chart: PointChart) -> SX:
    """W: what the forces and moments through shared joints do to the motions of each body."""
    moves = _body_moves(chart)
    row = {body: len(moves) * k for k, body in enumerate(chart.points)}
    chained = sum(len(chart.joint_speeds[name]) for name in chart.chain_end)
    total, columns = len(moves) * len(row) + chained, []
    for arc in chart.layout.tree.arcs:
        for force, moment, c in _through(chart, arc):
            column = SX(total, 1)
            for body, sign in ((arc.outboard, -1), (arc.inboard, 1)):
                if body in row:
                    arm = c - chart.points[body][0]
                    wrench = ca.vertcat(force, moment + ca.cross(arm, force))[moves]
                    column[row[body] : row[body] + len(moves)] = sign * wrench
            columns.append(column)
    return ca.sparsify(ca.horzcat(SX(total, 0), *columns))


def _through(chart: PointChart, arc: Arc) -> Iterator[tuple[SX, SX, SX]]:
    """Forces and moments at a place that a joint's shared points can pass on: forces alone at one
    point, moments across the line of two, all at three."""
    taken = chart.layout.bodies[arc.outboard].taken
    if not taken:
        return
    numbers, none = list(taken), SX.zeros(3)
    c = chart.points[arc.outboard][numbers[0]]
    for k in chart.axes:
        yield SX.eye(3)[:, k], none, c
    if len(numbers) == 2 and chart.plane is None:
        edge = taken[numbers[1]] - taken[numbers[0]]
        R = chart.pose(arc.inboard)[0]
        moments: list[Any] = [R @ normal for normal in normals(edge / ca.norm_2(edge))]
    else:
        moments = [SX.eye(3)[:, k] for k in chart.turns] if len(numbers) > 1 else []
    for moment in moments:
        yield none, moment, c
