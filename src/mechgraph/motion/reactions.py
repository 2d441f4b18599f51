"""Reactions of joints, and the power that is supplied and dissipated, as expressions of (q, u, t,
w), u̇ and λ."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import casadi as ca
from casadi import SX

from ..errors import ModelError
from ..formalisms.newton_euler import transmitted
from ..model.bodies import marker_on
from ..model.element import Action, Effort, Wrench
from ..model.joints import Joint
from .constraint_rows import Constrained, ForceTorque
from .kinematics import Kinematics, Pair
from .loads import actions, on_frames, potential, split
from .motion import Motion


class Reactions:
    """What passes through the joints, from Newton's and Euler's equations of the bodies outboard of
    them."""

    def __init__(self, kinematics: Kinematics, constrained: Constrained) -> None:
        self.kinematics, self.constrained = kinematics, constrained

    def of(self, joint: str) -> SX:
        """(force, moment) of a joint's parent on its child: world components, at the child's joint
        frame."""
        m, child = Motion(self.kinematics), self.kinematics.system.joints[joint].child
        cut = any(c.name == joint for c in self.constrained.closings)
        force, torque, at = self._through_cut(joint) if cut else self._through_tree(joint)
        return ca.vertcat(force, torque + ca.cross(at - m.position(child), force))

    def of_constraint(self, name: str) -> SX:
        """(force, moment) of a constraint on the body that it acts on, all its actions included, at
        its point of action."""
        m, constraint = Motion(self.kinematics), self.kinematics.system.constraints[name]
        receiver = constraint.acts_on(m)
        if receiver is None:
            raise ModelError(
                f"constraint {name!r} acts on no place of its own; see the multipliers for its "
                "efforts"
            )
        body, point = receiver[0].body, receiver[1]
        sign = 1
        if body is self.kinematics.system.ground:  # then by reaction, on the other one
            body, sign = constraint.places()[0].body, -1
        force, torque = self.constrained.wrenches_of(constraint).get(
            body.name, (SX.zeros(3), SX.zeros(3))
        )
        torque = torque + ca.cross(m.position(body) - point, force)
        for wrench in split(
            self.kinematics, [*constraint.conservative(m), *constraint.nonconservative(m)]
        )[0]:
            if wrench.marker.body is body:
                force = force + wrench.force
                torque = (
                    torque
                    + wrench.torque
                    + ca.cross(m.position(wrench.marker) - point, wrench.force)
                )
        return sign * ca.vertcat(force, torque)

    def _through_tree(self, joint: str) -> tuple[SX, SX, SX]:
        """Force, moment and point of action of a tree joint: what its first frame receives from
        inboard."""
        k = self.kinematics
        arc = next(arc for arc in k.topology.arcs if arc.joint.name == joint)
        first = next(j for j, frame in enumerate(k.frames) if frame.joint is arc.joint)
        (R, p), (moment, force) = k.poses[first], self.transmitted[first]
        sign = -1 if arc.reversed else 1
        return sign * (R @ force), sign * (R @ moment), p

    def _through_cut(self, joint: str) -> tuple[SX, SX, SX]:
        """Force, moment and point of action of a cut joint: multipliers and efforts (by reaction,
        if its child is ground)."""
        m, closing = (
            Motion(self.kinematics),
            next(c for c in self.constrained.closings if c.name == joint),
        )
        parent, child = closing.joint.parent.body, closing.joint.child.body
        body, sign = (parent, -1) if child is self.kinematics.system.ground else (child, 1)
        parts = [self.constrained.wrenches_of(closing), *self._efforts_in(closing.joint)]
        force = sum((part[body.name][0] for part in parts if body.name in part), SX.zeros(3))
        torque = sum((part[body.name][1] for part in parts if body.name in part), SX.zeros(3))
        return sign * force, sign * torque, m.position(body)

    def _efforts_in(self, joint: Joint) -> Iterator[dict[str, ForceTorque]]:
        """Wrenches on the two bodies of springs, motors and servos in a cut joint (in a tree joint
        they are transmitted)."""
        own = {joint.name, *joint.coordinates, *joint.speeds}
        efforts: list[Action] = [
            a for a in actions(self.kinematics) if isinstance(a, Effort) and a.joint in own
        ]
        for wrench in split(self.kinematics, efforts)[0]:
            yield {wrench.marker.body.name: (wrench.force, wrench.torque)}
        for constraint in self.kinematics.system.constraints.values():
            yield self.constrained.wrenches_of(constraint, through=joint.name)

    @cached_property
    def transmitted(self) -> list[Pair]:
        """(moment, force) that each frame receives from its parent, with applied and constraint
        wrenches."""
        k, bodies = self.kinematics, self.kinematics.system.bodies
        applied, _ = split(k, actions(k))
        constraints = [
            Wrench(marker_on(bodies[name]), *wrench)
            for name, wrench in self.constrained.wrenches.items()
        ]
        return transmitted(k, on_frames(k, [*applied, *constraints]), k.symbols.udot)

    # --- power ------------------------------------------------------------------------------------

    @property
    def power(self) -> SX:
        """d(T + V)/dt."""
        return self.supplied - self.dissipated

    @cached_property
    def dissipated(self) -> SX:
        """Power that dampers and friction take."""
        m = Motion(self.kinematics)
        acting = [
            a for e in self.kinematics.system.elements if e.passive for a in e.nonconservative(m)
        ]
        acting += [
            action
            for c in self.constrained.constraints
            for action in self.constrained.dragged_by(c)
        ]
        return -self._power_of(acting)

    @cached_property
    def supplied(self) -> SX:
        """Power of all other non-conservative forces, of driven joints, of constraints that time
        moves, and ∂V/∂t."""
        k, m, constrained = self.kinematics, Motion(self.kinematics), self.constrained
        total = self._power_of(
            [a for e in k.system.elements if not e.passive for a in e.nonconservative(m)]
        )
        total += sum(
            (constrained.power_of(c) for c in constrained.constraints if constrained.works(c)),
            SX(0),
        )
        for j, frame in enumerate(k.frames):
            if (
                not (frame.relative[0].is_zero() and frame.relative[1].is_zero())
                and not frame.speeds
            ):
                moment, force = self.transmitted[j]
                total += ca.dot(moment, frame.relative[0]) + ca.dot(force, frame.relative[1])
        return total + (self._potential_rate() if ca.depends_on(potential(k), k.symbols.t) else 0)

    def _power_of(self, acting: list[Action]) -> SX:
        m = Motion(self.kinematics)
        wrenches, efforts = split(self.kinematics, acting)
        total = ca.dot(efforts, self.kinematics.symbols.u)
        for wrench in wrenches:
            total += ca.dot(wrench.force, m.velocity(wrench.marker)) + ca.dot(
                wrench.torque, m.angular_velocity(wrench.marker)
            )
        return total

    def _potential_rate(self) -> SX:
        """What time alone does to V (a spring whose length is driven): V̇ plus the power of all
        conservative forces."""
        k, m = self.kinematics, Motion(self.kinematics)
        springs = [action for element in k.system.elements for action in element.conservative(m)]
        rate = k.rate(potential(k)) + self._power_of(springs)
        for j, body in enumerate(k.carried):
            if body is not None:
                R, (omega, v) = k.poses[j][0], k.twists[j]
                rate += body.mass * ca.dot(k.system.gravity, R @ (v + ca.cross(omega, body.com)))
        return rate
