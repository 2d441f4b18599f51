"""Velocities and momenta of everything with each speed: matrices over u, in world axes.

A column belongs to a speed: (v, ω) of the motion that one unit of it causes, v of a point that is
said with it. With those of a place, J, and of all mass centres and bodies,

    (v, ω) = J u + (v, ω)|u=0,      h = A u + h|u=0,      C = Σ Jᵀ(I J̇ + B J),

where h is the momentum (linear, and angular about the mass centre of all) and C the Coriolis
matrix: Ṁ = C + Cᵀ, and with q̇ = u it has the Christoffel symbols of M. B comes of seeing a body as
particles: of Σ m V_a·V̇_b, the product of the velocity field V_a of one column with the rate of
another along the motion, it is the part with the velocities ẋ of the particles,

    B (s, z) = (z × p, tr(P) z − P z),      p = Σ m ẋ,    P = Σ m ẋ (x − o)ᵀ.

Along a tree a column is the same for all bodies outboard of its joint, so that these sums are made
once, inward (``TreeColumns``); other coordinates are differentiated body by body (``Columns``).
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import casadi as ca
from casadi import SX

from ..model.description import derived_once
from ..vectors import traced
from .chart import Chart, Frame, Pair
from .loads import needed_wrench
from .speeds import SpeedChart
from .tree import TreeChart


@derived_once
def columns(chart: Chart) -> Columns:
    """The columns of a chart's speeds; one for all who ask."""
    return TreeColumns(chart) if isinstance(chart, TreeChart) else Columns(chart)


class Columns:
    """Matrices over the speeds of any chart, by differentiation."""

    def __init__(self, chart: Chart) -> None:
        self.chart = chart

    # --- a place ----------------------------------------------------------------------------------

    def jacobian(self, frame: Frame, at: SX) -> SX:
        """J of a point of a frame: (v, ω) for each speed."""
        return _slopes(self.chart, ca.vertcat(*_point_velocity(self.chart, frame, at)))

    def jacobian_rate(self, frame: Frame, at: SX) -> SX:
        """J̇ along the motion."""
        return rate(self.chart, self.jacobian(frame, at))

    # --- everything -------------------------------------------------------------------------------

    @cached_property
    def momentum_matrix(self) -> SX:
        """A: linear momentum, and angular momentum about the mass centre of all."""
        return _slopes(self.chart, momentum(self.chart))

    @cached_property
    def coriolis(self) -> SX:
        """C = Σ m Jᵀ_v J̇_v + Jᵀ_ω (I J̇_ω − ω̃ E J_ω) with E = ½ tr(I) − I."""
        count = self.chart.symbols.u.numel()
        C = SX(count, count)
        for frame, body in self.chart.carried:
            J, Jdot = (part(frame, body.com) for part in (self.jacobian, self.jacobian_rate))
            omega = _point_velocity(self.chart, frame, body.com)[1]
            inertia = _world_inertia(self.chart, frame, body)
            E = ca.trace(inertia) / 2 * SX.eye(3) - inertia
            turning = inertia @ Jdot[3:, :] - ca.skew(omega) @ E @ J[3:, :]
            C += body.mass * (J[:3, :].T @ Jdot[:3, :]) + J[3:, :].T @ turning
        return C

    @cached_property
    def bias(self) -> SX:
        """Generalized forces that the accelerations at u̇ = 0 need, without gravity:
        Σ Jᵀ_v m a + Jᵀ_ω (I ε + ω × I ω)."""
        return self._along(
            [needed_wrench(self.chart, frame, body, False) for frame, body in self.chart.carried]
        )

    @cached_property
    def gravity(self) -> SX:
        """Generalized forces that hold everything against gravity: −Σ Jᵀ_v m g."""
        g, none = self.chart.description.gravity, SX.zeros(3)
        return self._along([(-body.mass * g, none) for _, body in self.chart.carried])

    def _along(self, wrenches: list[Pair]) -> SX:
        """Forces on the mass centres, and moments, along the speeds."""
        found = [ca.vertcat(*_point_velocity(self.chart, f, b.com)) for f, b in self.chart.carried]
        velocities = ca.vertcat(SX(0, 1), *found)
        forces = ca.vertcat(SX(0, 1), *(ca.vertcat(*wrench) for wrench in wrenches))
        return ca.jtimes(velocities, self.chart.symbols.u, forces, True)


class TreeColumns(Columns):
    """Columns along a tree. ``W`` leads from the speeds u to those of the joints, if u are
    others."""

    chart: TreeChart

    def __init__(self, chart: TreeChart) -> None:
        self.chart, self.count = chart, chart.symbols.u.numel()
        self.W = chart.W if isinstance(chart, SpeedChart) else None
        self.frames = [j for j, frame in enumerate(chart.frames) if frame.speeds]

    # --- columns ----------------------------------------------------------------------------------

    def path(self, frame: Any) -> list[int]:
        """The frames with speeds on the way from ground to a frame."""
        out = []
        while frame > 0:
            out += [frame] if self.chart.frames[frame].speeds else []
            frame = self.chart.frames[frame].parent
        return out[::-1]

    @cached_property
    def _axes(self) -> list[tuple[SX, SX]]:
        """(a, z) of each frame: motion of its origin and turning for each of its speeds."""
        poses = zip(self.chart.frames, self.chart.poses, strict=True)
        return [(R @ frame.S[1], R @ frame.S[0]) for frame, (R, _) in poses]

    @cached_property
    def _twists(self) -> list[Pair]:
        """(v, ω) of each frame, in world axes."""
        pairs = zip(self.chart.poses, self.chart.twists, strict=True)
        return [(R @ v, R @ omega) for (R, _), (omega, v) in pairs]

    @cached_property
    def _axes_rates(self) -> list[tuple[SX, SX]]:
        """Rates of ``_axes``: they turn with their frame, and S changes in it only where a ball
        joint is walked backwards."""
        out = []
        for j, frame in enumerate(self.chart.frames):
            R, (_, omega) = self.chart.poses[j][0], self._twists[j]
            S_w, S_v = (R @ rate(self.chart, part) for part in frame.S)
            a, z = self._axes[j]
            turning = ca.skew(omega)
            out.append((turning @ a + S_v, turning @ z + S_w))
        return out

    def column(self, j: int, point: SX) -> SX:
        """(v, ω) of a point for each speed of frame j."""
        return _carried_along(*self._axes[j], point - self.chart.poses[j][1])

    def column_rate(self, j: int, point: SX, velocity: SX) -> SX:
        """Its rate, for a point that moves."""
        arm, moving = point - self.chart.poses[j][1], velocity - self._twists[j][0]
        return _carried_along_rate(self._axes[j][1], *self._axes_rates[j], arm, moving)

    # --- a place ----------------------------------------------------------------------------------

    def jacobian(self, frame: Any, at: SX) -> SX:
        R, p = self.chart.poses[frame]
        return self._of_speeds(self._joint_jacobian(frame, p + R @ at))

    def _joint_jacobian(self, frame: int, point: SX) -> SX:
        J = SX(6, self.count)
        for j in self.path(frame):
            J[:, list(self.chart.frames[j].speeds)] = self.column(j, point)
        return J

    def jacobian_rate(self, frame: Any, at: SX) -> SX:
        R, p = self.chart.poses[frame]
        velocity, _ = _point_velocity(self.chart, frame, at)
        J = SX(6, self.count)
        for j in self.path(frame):
            J[:, list(self.chart.frames[j].speeds)] = self.column_rate(j, p + R @ at, velocity)
        J = self._of_speeds(J)
        return J if self.W is None else J + self._joint_jacobian(frame, p + R @ at) @ self._W_rate

    def _of_speeds(self, J: SX) -> SX:
        return J if self.W is None else J @ self.W

    @property
    def _W_rate(self) -> SX:
        assert self.W is not None
        return rate(self.chart, self.W)

    # --- sums over what is outboard ---------------------------------------------------------------

    @cached_property
    def origin(self) -> SX:
        """A point that rests now, near everything: sums are about it."""
        return self.chart.poses[self.frames[0]][1] if self.frames else SX.zeros(3)

    @cached_property
    def _bodies(self) -> list[tuple[int, SX, SX, SX]]:
        """Frame, mass, mass centre from the origin, inertia about the mass centre."""
        out = []
        for j, body in self.chart.carried:
            R, p = self.chart.poses[j]
            centre = p + R @ body.com - self.origin
            out.append((j, SX(body.mass), centre, _world_inertia(self.chart, j, body)))
        return out

    def _gather(self, own: dict[int, list[SX]], shapes: list[tuple[int, int]]) -> list[list[SX]]:
        """Sums over everything outboard, for each frame."""
        frames = self.chart.frames
        sums = [own.get(j, [SX(*shape) for shape in shapes]) for j in range(len(frames))]
        for j in range(len(frames) - 1, 0, -1):
            parent = frames[j].parent
            sums[parent] = [a + b for a, b in zip(sums[parent], sums[j], strict=True)]
        return sums

    @cached_property
    def _composites(self) -> list[list[SX]]:
        """m, Σ m (c − o), inertia about o of everything outboard."""
        own = {j: [m, m * c, _about(m, c, inertia)] for j, m, c, inertia in self._bodies}
        return self._gather(own, [(1, 1), (3, 1), (3, 3)])

    @cached_property
    def _moving_composites(self) -> list[list[SX]]:
        """p and P of everything outboard."""
        own = {}
        for (j, m, c, inertia), (_, body) in zip(self._bodies, self.chart.carried, strict=True):
            v, omega = _point_velocity(self.chart, j, body.com)
            own[j] = list(_moments(m, c, inertia, v, omega))
        return self._gather(own, [(3, 1), (3, 3)])

    def _momenta(self, j: int) -> SX:
        """Momentum, linear and about the origin, of everything outboard for each speed of frame
        j."""
        return self._momentum_of(j, self.column(j, self.origin))

    def _momentum_of(self, j: int, S: SX) -> SX:
        m, h, inertia = self._composites[j]
        return _momentum(m, h, inertia, S)

    @cached_property
    def momentum_matrix(self) -> SX:
        A = SX(6, self.count)
        for j in self.frames:
            A[:, list(self.chart.frames[j].speeds)] = self._momenta(j)
        arm = centre_of_mass(self.chart) - self.origin
        A[3:, :] -= ca.skew(arm) @ A[:3, :]
        return self._of_speeds(A)

    @cached_property
    def coriolis(self) -> SX:
        """Column by column: of the speeds of a frame with those inboard of it, the sums outboard of
        it count, whichever of both is the column."""
        still = SX.zeros(3)
        S = {j: self.column(j, self.origin) for j in self.frames}
        rates = {j: self.column_rate(j, self.origin, still) for j in self.frames}
        C, M = SX(self.count, self.count), SX(self.count, self.count)
        for j in self.frames:
            own = list(self.chart.frames[j].speeds)
            H, (p, P) = self._momenta(j), self._moving_composites[j]
            F = self._momentum_of(j, rates[j]) + _B_times(S[j], p, P)
            back = _B_times_back(S[j], p, P)
            for i in self.path(j):
                inboard = list(self.chart.frames[i].speeds)
                C[inboard, own] = S[i].T @ F
                M[inboard, own] = S[i].T @ H
                if i != j:
                    C[own, inboard] = H.T @ rates[i] + back.T @ S[i][3:, :]
                    M[own, inboard] = M[inboard, own].T
        if self.W is None:
            return C
        return self.W.T @ (C @ self.W + M @ self._W_rate)

    def _along(self, wrenches: list[Pair]) -> SX:
        own = {
            j: [force, moment + ca.cross(c, force)]
            for (j, _, c, _), (force, moment) in zip(self._bodies, wrenches, strict=True)
        }
        sums, out = self._gather(own, [(3, 1), (3, 1)]), SX(self.count, 1)
        for j in self.frames:
            wrench = ca.vertcat(*sums[j])
            out[list(self.chart.frames[j].speeds)] = self.column(j, self.origin).T @ wrench
        return out if self.W is None else self.W.T @ out


# --- of a chart, whatever it is -------------------------------------------------------------------


def total_mass(chart: Chart) -> SX:
    """Mass of everything."""
    return sum((SX(body.mass) for _, body in chart.carried), SX(0))


def centre_of_mass(chart: Chart) -> SX:
    """Σ m r_C / Σ m."""
    total = SX.zeros(3)
    for frame, body in chart.carried:
        R, p = chart.pose(frame)
        total += body.mass * p + R @ body.first_moment
    return total / total_mass(chart)


def momentum(chart: Chart) -> SX:
    """h: Σ m v_C, and Σ I ω + m (r_C − c) × v_C about the mass centre c of all."""
    linear, angular, centre = SX.zeros(3), SX.zeros(3), centre_of_mass(chart)
    for frame, body in chart.carried:
        R, p = chart.pose(frame)
        v, omega = _point_velocity(chart, frame, body.com)
        linear += body.mass * v
        arm = p + R @ body.com - centre
        angular += _world_inertia(chart, frame, body) @ omega + ca.cross(arm, body.mass * v)
    return ca.vertcat(linear, angular)


def rate(chart: Chart, matrix: SX) -> SX:
    """Rate of a matrix along the motion."""
    if matrix.is_constant():
        return SX(*matrix.shape)
    return chart.rate(matrix)


def _slopes(chart: Chart, value: SX) -> SX:
    return ca.jacobian(value, chart.symbols.u)


def _point_velocity(chart: Chart, frame: Frame, at: SX) -> Pair:
    """(v, ω) of a point of a frame, world axes."""
    R, (omega, v) = chart.pose(frame)[0], chart.twist(frame)
    return R @ (v + ca.cross(omega, at)), R @ omega


def _world_inertia(chart: Chart, frame: Frame, body: Any) -> SX:
    """Inertia of a body about its mass centre, world axes."""
    return _in_world(chart.pose(frame)[0], body.inertia)


# --- one column, one body -------------------------------------------------------------------------


@traced
def _carried_along(a: SX, z: SX, arm: SX) -> SX:
    return ca.vertcat(a - ca.skew(arm) @ z, z)


@traced
def _carried_along_rate(z: SX, a_rate: SX, z_rate: SX, arm: SX, moving: SX) -> SX:
    return ca.vertcat(a_rate - ca.skew(arm) @ z_rate - ca.skew(moving) @ z, z_rate)


@traced
def _in_world(R: SX, inertia: SX) -> SX:
    return ca.triu2symm(ca.triu(R @ inertia @ R.T))  # equal entries are one


@traced
def _about(m: SX, c: SX, inertia: SX) -> SX:
    return inertia + m * (ca.dot(c, c) * SX.eye(3) - c @ c.T)


@traced
def _momentum(m: SX, h: SX, inertia: SX, S: SX) -> SX:
    s, z = S[:3, :], S[3:, :]
    return ca.vertcat(m * s - ca.skew(h) @ z, inertia @ z + ca.skew(h) @ s)


@traced
def _moments(m: SX, c: SX, inertia: SX, v: SX, omega: SX) -> tuple[SX, SX]:
    E = ca.trace(inertia) / 2 * SX.eye(3) - inertia
    return m * v, m * (v @ c.T) + ca.skew(omega) @ E


@traced
def _B_times(S: SX, p: SX, P: SX) -> SX:
    """B S."""
    z = S[3:, :]
    return ca.vertcat(-ca.skew(p) @ z, ca.trace(P) * z - P @ z)


@traced
def _B_times_back(S: SX, p: SX, P: SX) -> SX:
    """The lower half of Bᵀ S; the upper one is zero."""
    s, z = S[:3, :], S[3:, :]
    return ca.skew(p) @ s + ca.trace(P) * z - P.T @ z
