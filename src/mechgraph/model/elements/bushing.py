"""Bushings: rubber between two frames, six springs and dampers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ...vectors import column, rotation_vector
from ..bodies import Marker
from ..contact.pairs import velocity_at
from ..declarations import argument, place
from ..element import Action, wrench_pair
from ..forces import Force
from ..motion import Motion
from ..parameter_checks import Limit
from .measure import measure


def _six(value: Any, what: str) -> SX:
    """A matrix from 0, six numbers or 6x6."""
    if isinstance(value, (int, float)) and value == 0:
        return SX.zeros(6, 6)
    return ca.densify(_matrix(value, what))


class _Symmetric(Limit):
    """``value``, the largest difference of a matrix to its transpose, must be zero."""

    def met(self, value: float) -> bool:
        return value == 0

    def problem(self, value: float) -> str:
        return f"{self.what} must be symmetric, or the bushing would make energy"


def _matrix(value: Any, what: str) -> SX:
    if isinstance(value, (SX, ca.DM)) and value.shape == (6, 6):
        return SX(value)
    listed = isinstance(value, (list, tuple, np.ndarray)) and len(value) == 6
    if listed and all(isinstance(row, (list, tuple, np.ndarray)) for row in value):
        return ca.vertcat(*(column(row, 6, what).T for row in value))
    return ca.diag(column(value, 6, what))


def _not_negative(what: str, matrix: SX) -> list[Limit]:
    """Limits of a matrix: no negative entry on the diagonal, and symmetric."""
    diagonal = [Limit(what, matrix[k, k], positive=False) for k in range(6)]
    return [*diagonal, _Symmetric(what, ca.norm_inf(ca.vec(matrix - matrix.T)))]


def _wrench(value: Any, what: str) -> SX:
    """Force and torque, or 0."""
    zero = isinstance(value, (int, float)) and value == 0
    return SX.zeros(6) if zero else column(value, 6, what)


class Bushing(Force):
    """Six springs and dampers between the frames ``a`` and ``b``: the force and torque on b, in the
    axes of a, are ``preload`` − stiffness x − damping ẋ.

    x is the place of b's origin and the rotation vector of b (angle times axis), both in a; ẋ its
    relative velocity and angular velocity there.

    stiffness, damping: six numbers (along x, y, z of a, then about them), or symmetric 6x6
        matrices.
    preload: force and torque on b, in the axes of a, where both frames coincide.
    """

    passive = True

    a: Marker = place()
    b: Marker = place()
    stiffness: SX = argument("Numbers", "numbers", _six, limit=_not_negative)
    damping: SX = argument("Numbers", "numbers", _six, 0, _not_negative)
    preload: SX = argument("Numbers", "numbers", _wrench, 0)

    def potential(self, m: Motion) -> SX:
        R, r = m.relative(self.a, self.b)
        return self._energy(R, r)

    def conservative(self, m: Motion) -> list[Action]:
        (energy,) = measure(m, self.places(), self._between)
        return energy.actions(SX(-1))

    def nonconservative(self, m: Motion) -> list[Action]:
        if self.damping.is_zero():
            return []
        A = m.rotation(self.a)
        moving = m.velocity(self.b) - velocity_at(m, self.a, m.position(self.b))
        turning = m.angular_velocity(self.b) - m.angular_velocity(self.a)
        push = -self.damping @ ca.vertcat(A.T @ moving, A.T @ turning)
        return wrench_pair(m, self.a, self.b, A @ push[:3], A @ push[3:])

    def _between(self, p: Sequence[SX], R: Sequence[SX]) -> SX:
        return self._energy(R[0].T @ R[1], R[0].T @ (p[1] - p[0]))

    def _energy(self, R: SX, r: SX) -> SX:
        x = ca.vertcat(r, rotation_vector(R))
        return ca.dot(x, self.stiffness @ x) / 2 - ca.dot(self.preload, x)
