"""All constraints of a system on one chart: their rows, derivatives, and the wrenches that
their multipliers exert."""

from __future__ import annotations

import reprlib
from functools import cached_property, partial
from typing import Any

import casadi as ca
from casadi import SX

from ..arguments import is_name
from ..closures.friction import is_homogeneous
from ..errors import ModelError, UnsupportedError, blamed
from ..model.constraints import LEVELS, Closing, Constraint, Level
from ..model.description import derived_once
from ..model.element import Action
from ..model.joints import Joint, Rows
from ..model.motion import Motion
from ..model.planar import in_plane, independent_rows
from ..vectors import scalar
from .chart import Chart
from .levels import Levels
from .loads import (
    components,
    fault,
    generalized,
    read_actions,
    refuse_faults,
    split,
    symbol_fault,
)
from .motion import ChartMotion, at_rest

ForceTorque = tuple[SX, SX]


@derived_once
def constraint_rows(chart: Chart) -> ConstraintRows:
    """All constraints on a chart; whatever the formalism, they are the same."""
    return ConstraintRows(chart)


class ConstraintRows:
    """φ(q, t), ψ(q, u, t), A and b of the closings of cut joints and of the user's constraints.

    Rows come by level: derivatives of the position constraints, velocity constraints, acceleration
    constraints.
    """

    def __init__(self, chart: Chart) -> None:
        self.chart = chart
        self.closings = [self._closing(joint) for joint in chart.closed]
        self.constraints: list[Constraint] = [
            *self.closings,
            *chart.own_constraints,
            *chart.description.constraints.values(),
        ]
        self._friction: dict[str, list[Action]] = {}

    def _closing(self, joint: Joint) -> Closing:
        shared = joint.name in self.chart.shared
        flat = self.chart.flat
        rows = independent_rows(self.chart.description, joint, shared) if flat else None
        return Closing(joint, shared, rows)

    @cached_property
    def _rows(self) -> dict[Level, list[tuple[Constraint, Rows]]]:
        """At each level, (name, expression) of the rows of each constraint that has any."""
        m, out = self.chart.motion, {}
        for level in LEVELS:
            stated = (
                (constraint, _read_rows(constraint, m, level)) for constraint in self.constraints
            )
            given = [(constraint, rows) for constraint, rows in stated if rows]
            columns = [(each, ca.vertcat(*(value for _, value in rows))) for each, rows in given]
            refuse_faults(partial(self._fault, level), columns)
            out[level] = [
                (each, [(f"{each.name}: {label}" if label else each.name, x) for label, x in rows])
                for each, rows in given
            ]
        return out

    def _fault(self, level: Level, rows: SX) -> str | None:
        """Fault of rows that use what has no meaning at their level."""
        s = self.chart.symbols
        barred = {"position": ca.vertcat(s.u, s.udot), "velocity": s.udot}.get(level, SX(0, 1))
        if ca.depends_on(rows, barred):
            what = "velocities or accelerations" if level == "position" else "accelerations"
            return f"a {level} constraint must not use {what}; give it at that level"
        if level != "acceleration" and ca.depends_on(rows, s.w):
            return "uses an input, which has no known rate; use a function of time"
        if level == "acceleration" and ca.depends_on(ca.jacobian(rows, s.udot), s.udot):
            return "an acceleration constraint must be linear in the accelerations"
        return symbol_fault(self.chart, rows)

    @cached_property
    def levels(self) -> Levels:
        """φ, ψ, A, b of all rows."""
        rows = {
            level: [row for _, own in given for row in own] for level, given in self._rows.items()
        }
        chart = self.chart
        tangent = chart.tangent if chart.replaced else None
        return Levels(chart.symbols, chart.rate, rows, chart.scattered, tangent)

    # --- what the multipliers do ------------------------------------------------------------------

    @cached_property
    def multipliers(self) -> SX:
        """λ, as symbols."""
        return SX.sym("lambda", len(self.levels.names))

    @cached_property
    def indices(self) -> dict[str, dict[Level, list[int]]]:
        """Indices of the rows of each constraint among the rows of A, by level."""
        out: dict[str, dict[Level, list[int]]] = {
            constraint.name: {} for constraint in self.constraints
        }
        start = 0
        for level in LEVELS:
            for constraint, rows in self._rows[level]:
                out[constraint.name][level] = list(range(start, start + len(rows)))
                start += len(rows)
        return out

    def rows_of(self, constraint: str) -> list[int]:
        """Indices of the rows of a constraint, by name: position rows, then velocity rows, then
        acceleration rows."""
        own = self.indices.get(constraint, {})
        return [index for indices in own.values() for index in indices]

    def rows_loading(self, constraint: Constraint) -> list[int]:
        """Indices of the rows of the joints that its friction grows with."""
        out: list[int] = []
        for joint in constraint.loaded_by():
            if joint not in self.indices or joint in self.chart.shared:
                raise UnsupportedError(
                    f"{constraint.called} grows with the reaction of joint {joint!r}, which is no "
                    "multiplier in these coordinates; say cut=True of it"
                )
            out += self.rows_of(joint)
        return out

    def wrenches_of(
        self, constraint: Constraint, through: str | None = None
    ) -> dict[str, ForceTorque]:
        """Force and torque (about the body's origin, world axes) of one constraint on each body,
        friction included.

        With ``through``, only the part that acts along the coordinates of that cut joint (a servo,
        a coupling).
        """
        out = self._normal_wrenches(constraint, through)
        for action in split(self.chart, self.friction_of(constraint))[0] if through is None else ():
            if action.marker.body is not self.chart.description.ground:
                m, body = self.chart.motion, action.marker.body.name
                arm = m.position(action.marker) - m.position(body)
                _add_wrench(out, body, action.force, action.torque + ca.cross(arm, action.force))
        return out

    def _normal_wrenches(
        self, constraint: Constraint, through: str | None = None
    ) -> dict[str, ForceTorque]:
        """Virtual work: the derivatives of the rows with respect to the variations of each body,
        times λ."""
        out: dict[str, ForceTorque] = {}
        for level, indices in self.indices[constraint.name].items():
            m = ChartMotion(self.chart, vary=level, through=through)
            value = ca.vertcat(*(row for _, row in _read_rows(constraint, m, level)))
            for body, variation in m.variations.items():
                slopes = ca.substitute(ca.jacobian(value, variation), *at_rest(m))
                wrench = slopes.T @ self.multipliers[indices]
                _add_wrench(out, body, *in_plane(self.chart.description, wrench[:3], wrench[3:]))
        return out

    # --- what is dragged along with them: friction ------------------------------------------------

    def friction_of(self, constraint: Constraint) -> list[Action]:
        """Actions of one constraint in proportion to its multipliers."""
        if constraint.name not in self._friction:
            with blamed(constraint.called):
                self._friction[constraint.name] = self._read_friction(constraint)
        return self._friction[constraint.name]

    def _read_friction(self, constraint: Constraint) -> list[Action]:
        m, lam = self.chart.motion, self.multipliers
        rows = [*self.rows_of(constraint.name), *self.rows_loading(constraint)]
        acting = read_actions("friction_actions", constraint.friction_actions(m, lam[rows]))
        if acting:
            self._check_friction(ca.vertcat(*(components(action, m) for action in acting)))
        return acting

    def _check_friction(self, value: SX) -> None:
        """Refuse what friction must not use, and what is not in proportion."""
        lam, t = self.multipliers, self.chart.symbols.t
        known = ca.substitute(value, lam, SX.ones(lam.numel()) * t)  # λ is no stranger
        found = fault(self.chart, known)
        if found is not None:
            raise ModelError(found)
        if value.numel() and not is_homogeneous(value, lam):
            raise ModelError(
                "its friction_actions must be in proportion to its multipliers: double with them, "
                "and nothing besides; other actions belong in nonconservative"
            )

    @cached_property
    def has_friction(self) -> bool:
        """True if constraint forces drag others along, so that M u̇ = f + Gᵀλ with G ≠ A."""
        return bool(self.rubbing)

    @cached_property
    def rubbing(self) -> list[str]:
        """The constraints whose forces do, as messages call them."""
        return [each.called for each in self.constraints if self.friction_of(each)]

    @cached_property
    def _friction_forces(self) -> SX:
        """Generalized forces of what the multipliers drag along."""
        acting = [
            action for constraint in self.constraints for action in self.friction_of(constraint)
        ]
        return generalized(self.chart, acting)

    @cached_property
    def drag(self) -> SX:
        """These forces, where they are not linear in the multipliers; else nothing."""
        nothing = SX(len(self.chart.symbols.speeds), 1)
        if not self.has_friction:
            return nothing
        slopes = ca.jacobian(self._friction_forces, self.multipliers)
        return self._friction_forces if ca.depends_on(slopes, self.multipliers) else nothing

    @cached_property
    def directions(self) -> SX:
        """Directions of the constraint forces: A, and the generalized forces of what each
        multiplier drags along in proportion."""
        if not self.has_friction or self.drag.nnz():
            return self.levels.A
        return self.levels.A + ca.jacobian(self._friction_forces, self.multipliers).T

    @cached_property
    def wrenches(self) -> dict[str, ForceTorque]:
        """Force and torque (about the body's origin, world axes) of all constraints on each
        body."""
        out: dict[str, ForceTorque] = {}
        for constraint in self.constraints:
            for body, (force, torque) in self.wrenches_of(constraint).items():
                _add_wrench(out, body, force, torque)
        return out

    # --- power ------------------------------------------------------------------------------------

    def works(self, constraint: Constraint) -> bool:
        """False if its multipliers do no work: it holds rows that time does not move, homogeneous
        in the speeds."""
        s, rows = self.chart.symbols, {level: SX(0, 1) for level in LEVELS}
        for level, stated in self._rows.items():
            own = (value for c, each in stated if c is constraint for _, value in each)
            rows[level] = ca.vertcat(rows[level], *own)
        if ca.depends_on(rows["position"], s.t) or rows["acceleration"].numel():
            return True
        # zeros fold on the way
        at_rest = ca.substitute(rows["velocity"], s.u, SX.zeros(s.u.numel()))
        return bool(ca.depends_on(ca.jacobian(rows["velocity"], s.u), s.u)) or not at_rest.is_zero()

    def power_of(self, constraint: Constraint) -> SX:
        """Power of its multipliers: of its wrenches on the bodies, and of its efforts along
        coordinates (couplings, servos)."""
        m, u, rows = self.chart.motion, self.chart.symbols.u, self.rows_of(constraint.name)
        total, efforts = SX(0), self.levels.A[rows, :].T @ self.multipliers[rows]
        for body, (force, torque) in self._normal_wrenches(constraint).items():
            v, omega = m.velocity(body), m.angular_velocity(body)
            total += ca.dot(force, v) + ca.dot(torque, omega)
            efforts -= ca.jtimes(v, u, force, True) + ca.jtimes(omega, u, torque, True)
        return total + ca.dot(efforts, self.chart.working_speeds)


def _read_rows(constraint: Constraint, m: Motion, level: Level) -> Rows:
    """The rows of a constraint at a level, read with care: it may be the user's own."""
    with blamed(constraint.called):
        rows = constraint.rows(m, level)
        if not isinstance(rows, (list, tuple)) or not all(_is_row(row) for row in rows):
            raise ModelError(
                f"{level} must be a list of rows (label, expression), with labels that can be "
                f"printed, got {reprlib.repr(rows)}"
            )
        return [
            (label, scalar(value, f"row {label!r}" if label else "its row"))
            for label, value in rows
        ]


def _is_row(row: Any) -> bool:
    return isinstance(row, (list, tuple)) and len(row) == 2 and (row[0] == "" or is_name(row[0]))


def _add_wrench(wrenches: dict[str, ForceTorque], body: str, force: SX, torque: SX) -> None:
    old = wrenches.get(body, (SX.zeros(3), SX.zeros(3)))
    wrenches[body] = (old[0] + force, old[1] + torque)
