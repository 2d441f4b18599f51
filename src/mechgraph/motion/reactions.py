"""Reactions of joints, and the power that is supplied and dissipated, as expressions of (q, u, t,
w), u̇ and λ.

What passes through a joint is found in one of three ways, which share nothing but the motion:

- a joint that is closed by constraints, from its multipliers; if its points are shared, what
  passes through them is added, by balance;
- a joint of a tree by the recursion of the formalism, if it has one (Newton–Euler);
- else from Newton's and Euler's equations of all bodies outboard of it, summed in the world.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import Any

import casadi as ca
from casadi import SX

from ..errors import ModelError, UnsupportedError
from ..model.bodies import marker_on
from ..model.constraints import Constraint
from ..model.element import Action, Effort, Wrench
from ..model.joints import Joint
from .chart import Chart, Pair
from .constraint_rows import ConstraintRows, ForceTorque
from .energy import Energies, kinetic, potential
from .loads import actions, needed_wrench, on_frames, split
from .rotors import rotor_efforts

Loads = dict[Any, Pair]  # by frame: (torque about its origin, force), in its own axes
Recursion = Callable[[Loads], Sequence[Pair]]  # (moment, force) that each frame receives


class Reactions:
    """Wrenches that pass through joints and constraints, and their power."""

    def __init__(
        self, chart: Chart, rows: ConstraintRows, recursion: Recursion | None = None
    ) -> None:
        self.chart, self.rows, self._recursion = chart, rows, recursion

    def of(self, joint: str) -> SX:
        """(force, moment) of a joint's parent on its child: world components, at the child's joint
        frame."""
        described = self.chart.description.joints[joint]
        closed = any(closing.name == joint for closing in self.rows.closings)
        ways = [self._by_multipliers] if closed else []
        ways += [self._through_tree] if not closed or joint in self.chart.shared else []
        wrench, child = SX.zeros(6), self.chart.motion.position(described.child)
        for force, torque, at in (way(described) for way in ways):
            wrench += ca.vertcat(force, torque + ca.cross(at - child, force))
        return wrench

    def of_element(self, name: str) -> SX:
        """(force, moment) of a constraint or force on the body that it acts on, all its actions
        included, at its point of action."""
        m, description = self.chart.motion, self.chart.description
        element = {**description.forces, **description.constraints}[name]
        receiver = element.acts_on(m)
        if receiver is None:
            raise ModelError(
                f"{name!r} acts on no place of its own; see the multipliers for its efforts"
            )
        body, point, sign = receiver[0].body, receiver[1], 1
        if body is description.ground:  # then by reaction, on the other one
            body, sign = element.places()[0].body, -1
        force, torque = _zero_wrench()
        if isinstance(element, Constraint):
            force, torque = self.rows.wrenches_of(element).get(body.name, _zero_wrench())
        torque = torque + ca.cross(m.position(body) - point, force)
        acting = [*element.conservative(m), *element.nonconservative(m)]
        for wrench in split(self.chart, acting)[0]:
            if wrench.marker.body is body:
                arm = m.position(wrench.marker) - point
                force = force + wrench.force
                torque = torque + wrench.torque + ca.cross(arm, wrench.force)
        return sign * ca.vertcat(force, torque)

    @cached_property
    def _actions(self) -> list[Action]:
        """Actions of forces, and what rotors need."""
        return [*actions(self.chart), *rotor_efforts(self.chart)]

    # --- through closed joints --------------------------------------------------------------------

    def _by_multipliers(self, joint: Joint) -> ForceTorqueAt:
        """Force, moment and point of action: of multipliers and efforts (by reaction, if the child
        is ground)."""
        closing = next(c for c in self.rows.closings if c.name == joint.name)
        grounded = joint.child.body is self.chart.description.ground
        body, sign = (joint.parent.body, -1) if grounded else (joint.child.body, 1)
        parts = [self.rows.wrenches_of(closing), *self._efforts_in(joint)]
        own = [part[body.name] for part in parts if body.name in part]
        force = sum((part[0] for part in own), SX.zeros(3))
        torque = sum((part[1] for part in own), SX.zeros(3))
        return sign * force, sign * torque, self.chart.motion.position(body)

    def _efforts_in(self, joint: Joint) -> Iterator[dict[str, ForceTorque]]:
        """Wrenches on the two bodies of springs, motors and servos in a closed joint (in a tree
        joint they are transmitted)."""
        own = {joint.name, *joint.coordinates, *joint.speeds}
        efforts: list[Action] = [
            action for action in self._actions if isinstance(action, Effort) and action.joint in own
        ]
        for constraint in self.rows.constraints:
            rubbing = self.rows.friction_of(constraint)
            efforts += [a for a in rubbing if isinstance(a, Effort) and a.joint in own]
        for wrench in split(self.chart, efforts)[0]:
            yield {wrench.marker.body.name: (wrench.force, wrench.torque)}
        for constraint in self.chart.description.constraints.values():
            yield self.rows.wrenches_of(constraint, through=joint.name)

    # --- through the tree -------------------------------------------------------------------------

    def _through_tree(self, joint: Joint) -> ForceTorqueAt:
        """Force, moment and point of action: what its first frame receives from inboard."""
        frame, sign = self.chart.outboard(joint)
        (R, p), (moment, force) = self.chart.pose(frame), self._inboard_wrench(frame)
        return sign * (R @ force), sign * (R @ moment), p

    def _inboard_wrench(self, frame: Any) -> Pair:
        """(moment, force) that a frame receives from its parent, in its own axes."""
        return self._balance(frame) if self._recursion is None else self._tree_wrenches[frame]

    @cached_property
    def _tree_wrenches(self) -> Sequence[Pair]:
        assert self._recursion is not None
        return self._recursion(self._loads)

    @cached_property
    def _loads(self) -> Loads:
        """Wrenches of forces and constraints on each frame."""
        bodies = self.chart.description.bodies
        applied, _ = split(self.chart, self._actions)
        constraining = [
            Wrench(marker_on(bodies[name]), *wrench) for name, wrench in self.rows.wrenches.items()
        ]
        return on_frames(self.chart, [*applied, *constraining])

    def _balance(self, frame: Any) -> Pair:
        """Wrench that all bodies outboard of a frame need together, beyond what is applied to them:

        force Σ m (a_C − g) − F, moment Σ I ε + ω × I ω + r × (…) − M about the frame's origin.
        """
        chart, g = self.chart, self.chart.description.gravity
        R, p = chart.pose(frame)
        force, moment = SX.zeros(3), SX.zeros(3)
        masses = dict(chart.carried)
        for j in chart.outboard_frames(frame):
            R_j, p_j = chart.pose(j)
            if j in masses:
                needed, spin = needed_wrench(chart, j, masses[j])
                needed -= masses[j].mass * g
                force += needed
                moment += spin + ca.cross(p_j + R_j @ masses[j].com - p, needed)
            if j in self._loads:
                torque, push = (R_j @ part for part in self._loads[j])
                force -= push
                moment -= torque + ca.cross(p_j - p, push)
        return R.T @ moment, R.T @ force

    # --- power ------------------------------------------------------------------------------------

    @property
    def power(self) -> SX:
        """d(T + V)/dt."""
        return self.supplied - self.dissipated

    @cached_property
    def dissipated(self) -> SX:
        """Power that dampers and friction take."""
        m, elements = self.chart.motion, self.chart.description.elements
        acting = [a for element in elements if element.passive for a in element.nonconservative(m)]
        for constraint in self.rows.constraints:
            acting += self.rows.friction_of(constraint)
        return -self._power_of(acting)

    @cached_property
    def supplied(self) -> SX:
        """Power of all other non-conservative forces, of driven joints, of constraints that time
        moves, and ∂V/∂t."""
        m, elements = self.chart.motion, self.chart.description.elements
        acting = [
            a for element in elements if not element.passive for a in element.nonconservative(m)
        ]
        total = self._power_of(acting)
        for constraint in self.rows.constraints:
            if self.rows.works(constraint):
                total += self.rows.power_of(constraint)
        for frame, _ in self.chart.driven:
            total += self._power_through(frame)
        in_time = ca.depends_on(potential(self.chart), self.chart.symbols.t)
        return total + (self._potential_rate() if in_time else 0)

    def power_of(self, name: str) -> SX:
        """Power that a force, a constraint or a joint that time drives gives to the motion,
        stored, lost or fresh; with that of gravity they all add up to dT/dt."""
        m, description = self.chart.motion, self.chart.description
        acting: list[Action] = []
        for element in description.elements:
            if element.name == name:
                acting += [*element.conservative(m), *element.nonconservative(m)]
        total = SX(0)
        for constraint in self.rows.constraints:
            if constraint.name == name:
                acting += self.rows.friction_of(constraint)
                total += self.rows.power_of(constraint) if self.rows.works(constraint) else 0
        for frame, _ in self.chart.driven:
            total += self._power_through(frame) if self.chart.driven_by(frame) == name else 0
        return total + self._power_of(acting)

    @cached_property
    def working(self) -> tuple[str, ...]:
        """Names of all that has power."""
        own = [element.name for element in self.chart.description.elements]
        own += [constraint.name for constraint in self.rows.constraints]
        own += [self.chart.driven_by(frame) for frame, _ in self.chart.driven]
        return tuple(name for name in dict.fromkeys(own) if not self.power_of(name).is_zero())

    @property
    def powers(self) -> list[SX]:
        """The power of each of them."""
        return [self.power_of(name) for name in self.working]

    def _power_through(self, frame: Any) -> SX:
        """Power of what drives a frame relative to its parent."""
        omega, v = dict(self.chart.driven)[frame]
        moment, force = self._inboard_wrench(frame)
        return ca.dot(moment, omega) + ca.dot(force, v)

    def axes(self, name: str) -> SX:
        """Axes of a joint's child frame, or of the place that a constraint or force acts on: its
        components to world components."""
        m, description = self.chart.motion, self.chart.description
        if name in description.joints:
            return m.rotation(description.joints[name].child)
        receiver = {**description.forces, **description.constraints}[name].acts_on(m)
        return SX.eye(3) if receiver is None else m.rotation(receiver[0])

    def _power_of(self, acting: list[Action]) -> SX:
        m = self.chart.motion
        wrenches, efforts = split(self.chart, acting)
        total = ca.dot(efforts, self.chart.joint_rates)
        for wrench in wrenches:
            total += ca.dot(wrench.force, m.velocity(wrench.marker))
            total += ca.dot(wrench.torque, m.angular_velocity(wrench.marker))
        return total

    def _potential_rate(self) -> SX:
        """Rate of V by time alone (a spring whose length is driven): V̇ plus the power of all
        conservative forces."""
        chart, g = self.chart, self.chart.description.gravity
        springs = [a for e in chart.description.elements for a in e.conservative(chart.motion)]
        rate = chart.rate(potential(chart)) + self._power_of(springs)
        for frame, body in chart.carried:
            R, (omega, v) = chart.pose(frame)[0], chart.twist(frame)
            rate += body.mass * ca.dot(g, R @ (v + ca.cross(omega, body.com)))
        return rate


class NoReactions(Reactions):
    """Reactions of equations that were written down without a ``System``: nothing is known of
    joints, and nothing has power."""

    working = ()

    def __init__(self, chart: Chart) -> None:
        self.chart = chart

    @property
    def powers(self) -> list[SX]:
        raise UnsupportedError(
            f"{self.chart.description.name!r}: the work of elements is known of a System only; "
            "give track_work=True"
        )


def energies_of(reactions: Reactions) -> Energies:
    """T and V of what moves, and the powers of what acts."""
    chart = reactions.chart
    return Energies(
        lambda: kinetic(chart),
        lambda: potential(chart),
        lambda: reactions.supplied,
        lambda: reactions.dissipated,
    )


ForceTorqueAt = tuple[SX, SX, SX]


def _zero_wrench() -> ForceTorque:
    return SX.zeros(3), SX.zeros(3)
