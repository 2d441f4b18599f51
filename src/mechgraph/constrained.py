"""All constraints of a system on one kinematics: their rows, derivatives, and the wrenches that their multipliers exert."""

from __future__ import annotations

from functools import cached_property

import casadi as ca
from casadi import SX

from .elements.constraints import Closing, Constraint, Level
from .errors import ModelError
from .kinematics import Kinematics
from .motion import Motion, at_rest

LEVELS: tuple[Level, ...] = ("position", "velocity", "acceleration")
ForceTorque = tuple[SX, SX]


class Constrained:
    """φ(q, t), ψ(q, u, t), A and b of the closings of cut joints and of the user's constraints.

    Rows come by level: derivatives of the position constraints, velocity constraints, acceleration constraints.
    """

    def __init__(self, kinematics: Kinematics) -> None:
        self.kinematics = kinematics
        self.closings = [Closing(joint) for joint in kinematics.topology.cut]
        self.constraints: list[Constraint] = [*self.closings, *kinematics.system.constraints.values()]

    @cached_property
    def _rows(self) -> dict[str, list[tuple[str, SX]]]:
        """(name, expression) of the rows of each constraint."""
        m, out = Motion(self.kinematics), {}
        for constraint in self.constraints:
            rows = constraint.rows(m)
            for _, value in rows:
                self._check(constraint, value)
            out[constraint.name] = [
                (f"{constraint.name}: {label}" if label else constraint.name, value) for label, value in rows
            ]
        return out

    def _check(self, constraint: Constraint, value: SX) -> None:
        """Refuse rows that use what has no meaning at their level."""
        s, level = self.kinematics.symbols, constraint.level
        barred = {"position": ca.vertcat(s.u, s.udot), "velocity": s.udot}.get(level, SX(0, 1))
        if ca.depends_on(value, barred):
            what = "velocities or accelerations" if level == "position" else "accelerations"
            raise ModelError(f"constraint {constraint.name!r}: a {level} constraint must not use {what}; give it at that level")
        if level != "acceleration" and ca.depends_on(value, s.w):
            raise ModelError(f"constraint {constraint.name!r}: uses an input, which has no known rate; use a function of time")
        if level == "acceleration" and ca.depends_on(ca.jacobian(value, s.udot), s.udot):
            raise ModelError(f"constraint {constraint.name!r}: an acceleration constraint must be linear in the accelerations")
        for symbol in s.strangers(value):
            raise ModelError(f"constraint {constraint.name!r}: uses {symbol!r}, which is not a symbol of this system")

    def _at(self, level: Level) -> list[tuple[str, SX]]:
        return [row for c in self.constraints if c.level == level for row in self._rows[c.name]]

    def _values(self, level: Level) -> SX:
        return ca.vertcat(SX(0, 1), *(value for _, value in self._at(level)))

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the rows of A, and so of λ."""
        return tuple(name for level in LEVELS for name, _ in self._at(level))

    @cached_property
    def phi(self) -> SX:
        """Position constraints φ(q, t)."""
        return self._values("position")

    @cached_property
    def psi(self) -> SX:
        """Velocity constraints ψ(q, u, t): the rates of φ, then those given at this level."""
        return ca.vertcat(self.kinematics.rate(self.phi), self._values("velocity"))

    @cached_property
    def A(self) -> SX:
        """∂ψ/∂u, then the rows given at acceleration level."""
        s = self.kinematics.symbols
        return ca.vertcat(ca.jacobian(self.psi, s.u), ca.jacobian(self._values("acceleration"), s.udot))

    @cached_property
    def b(self) -> SX:
        """The rest of the acceleration level A u̇ + b = 0."""
        s = self.kinematics.symbols
        given = ca.substitute(self._values("acceleration"), s.udot, SX.zeros(s.u.numel()))
        return ca.densify(ca.vertcat(self.kinematics.rate(self.psi), given))

    # --- what the multipliers do ---------------------------------------------------------------------------------

    @cached_property
    def multipliers(self) -> SX:
        """λ, as symbols."""
        return SX.sym("lambda", len(self.names))

    @cached_property
    def _slices(self) -> dict[str, slice]:
        """Where the rows of each constraint are among the rows of A."""
        out, start = {}, 0
        for constraint in (c for level in LEVELS for c in self.constraints if c.level == level):
            count = len(self._rows[constraint.name])
            out[constraint.name] = slice(start, start + count)
            start += count
        return out

    def wrenches_of(self, constraint: Constraint, through: str | None = None) -> dict[str, ForceTorque]:
        """Force and torque (about the body's origin, world axes) of one constraint on each body.

        Virtual work: the derivatives of the rows with respect to the variations of each body, times λ. With ``through``,
        only the part that acts along the coordinates of that cut joint (a servo, a coupling).
        """
        m = Motion(self.kinematics, varied=constraint.level, through=through)
        value = ca.vertcat(SX(0, 1), *(row for _, row in constraint.rows(m)))
        own, out = self.multipliers[self._slices[constraint.name]], {}
        for body, variation in m.variations.items():
            wrench = ca.substitute(ca.jacobian(value, variation), *at_rest(m)).T @ own
            out[body] = (wrench[:3], wrench[3:])
        return out

    @cached_property
    def wrenches(self) -> dict[str, ForceTorque]:
        """Force and torque (about the body's origin, world axes) of all constraints on each body."""
        out: dict[str, ForceTorque] = {}
        for constraint in self.constraints:
            for body, (force, torque) in self.wrenches_of(constraint).items():
                old = out.get(body, (SX.zeros(3), SX.zeros(3)))
                out[body] = (old[0] + force, old[1] + torque)
        return out

    @cached_property
    def efforts(self) -> SX:
        """Efforts of constraints that act along coordinates (couplings, servos): what is left of Aᵀλ beside the wrenches."""
        m, u = Motion(self.kinematics), self.kinematics.symbols.u
        out = self.A.T @ self.multipliers
        for body, (force, torque) in self.wrenches.items():
            out -= ca.jtimes(m.velocity(body), u, force, True) + ca.jtimes(m.angular_velocity(body), u, torque, True)
        return out
