"""The words of a description: a method for every joint, force and constraint.

Each names its element first, makes it, and hangs it on the graph. A kind of one's own that is
listed in ``kinds.py`` gets its short name without a method here.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar, Unpack

from .axial import (
    FixedControlledJoint,
    FixedIdealJoint,
    FixedServoJoint,
    FreeIdealJoint,
    FreeSlideJoint,
    Law,
    SpringIdealJoint,
)
from .bodies import Body, Marker, Number, Vector
from .constraints import Constraint, Coupling, Distance, Expression, Servo
from .contact.compliant import CompliantContact
from .contact.friction import Friction
from .contact.rigid import RigidContact
from .contact.rolling import KnifeEdge, Rolling, Sliding
from .contact.surfaces import Surface
from .drives import Drive
from .forces import BodyTorque, Force, JointTorque, PointForce, SpringDamper
from .joints import (
    Chain,
    Cylindrical,
    Fixed,
    Free,
    Joint,
    JointKind,
    PinInSlot,
    Planar,
    Prismatic,
    Revolute,
    ScrewJoint,
    Spherical,
    Universal,
)
from .sentences import JointOptions, sentence
from .stops import Backlash
from .transitions import Transition

if TYPE_CHECKING:
    from ..motion.motion import Motion

Place: TypeAlias = Body | Marker | str  # a body, a marker, or the name of one
Axis: TypeAlias = str | Vector  # "x", "-y", or a unit vector
Added = TypeVar("Added", bound=Force | Constraint)


class Words(ABC):
    """The vocabulary of ``System``."""

    @abstractmethod
    def _join(
        self, name: str, parent: Place, child: Place, kind: JointKind, options: JointOptions
    ) -> Joint: ...

    @abstractmethod
    def _known(self, place: Place) -> Body | Marker: ...

    @abstractmethod
    def _place(self, place: Place) -> Marker: ...

    def _surface(self, surface: Surface) -> Surface:
        """The surface itself, on a place of this system, if it names one."""
        return surface.looked_up(self._known) if isinstance(surface, Surface) else surface

    @abstractmethod
    def add(self, element: Added) -> Added:
        """Hang a force or constraint (of one's own class, too) on the graph."""

    # --- joints -----------------------------------------------------------------------------------

    @sentence("joint")
    def joint(
        self,
        name: str,
        parent: Place,
        child: Place,
        transitions: Sequence[Transition] | JointKind,
        **options: Unpack[JointOptions],
    ) -> Joint:
        """The general joint: a chain of transitions from parent to child.

        transitions: a list of ``mg.rot``, ``mg.move``, ``mg.screw`` and ``mg.ball``; or a kind of
            one's own.
        """
        kind = transitions if isinstance(transitions, JointKind) else Chain(transitions)
        return self._join(name, parent, child, kind, options)

    @sentence("joint")
    def revolute(
        self,
        name: str,
        parent: Place,
        child: Place,
        *,
        axis: Axis = "z",
        **options: Unpack[JointOptions],
    ) -> Joint:
        """One rotation about ``axis``, given in the joint's frame; its coordinate is ``name``."""
        return self._join(name, parent, child, Revolute(axis), options)

    @sentence("joint")
    def prismatic(
        self,
        name: str,
        parent: Place,
        child: Place,
        *,
        axis: Axis = "z",
        **options: Unpack[JointOptions],
    ) -> Joint:
        """One translation along ``axis``, given in the joint's frame; its coordinate is
        ``name``."""
        return self._join(name, parent, child, Prismatic(axis), options)

    @sentence("joint")
    def cylindrical(
        self,
        name: str,
        parent: Place,
        child: Place,
        *,
        axis: Axis = "z",
        **options: Unpack[JointOptions],
    ) -> Joint:
        """Rotation (``name.angle``) about and translation (``name.shift``) along one ``axis``."""
        return self._join(name, parent, child, Cylindrical(axis), options)

    @sentence("joint")
    def screw(
        self,
        name: str,
        parent: Place,
        child: Place,
        *,
        pitch: Number,
        axis: Axis = "z",
        **options: Unpack[JointOptions],
    ) -> Joint:
        """Rotation about ``axis`` with ``pitch`` metres of advance for each radian."""
        return self._join(name, parent, child, ScrewJoint(pitch, axis), options)

    @sentence("joint")
    def universal(
        self,
        name: str,
        parent: Place,
        child: Place,
        *,
        axis: Axis = "x",
        second_axis: Axis = "y",
        **options: Unpack[JointOptions],
    ) -> Joint:
        """Rotation (``name.first``) about ``axis`` of the parent, then (``name.second``) about
        ``second_axis`` of the child, which is perpendicular to it."""
        return self._join(name, parent, child, Universal(axis, second_axis), options)

    @sentence("joint")
    def planar(
        self,
        name: str,
        parent: Place,
        child: Place,
        *,
        axis: Axis = "z",
        **options: Unpack[JointOptions],
    ) -> Joint:
        """Two translations across and a rotation (``name.angle``) about the normal ``axis``. The
        translations are called after the axes that they go along: ``name.x``, ``name.y`` for the
        normal z, ``name.y``, ``name.z`` for x, ``name.z``, ``name.x`` for y."""
        return self._join(name, parent, child, Planar(axis), options)

    @sentence("joint")
    def pin_in_slot(
        self,
        name: str,
        parent: Place,
        child: Place,
        *,
        slot: Axis = "x",
        axis: Axis = "z",
        **options: Unpack[JointOptions],
    ) -> Joint:
        """A pin that slides (``name.shift``) along a ``slot`` of the parent and turns in it
        (``name.angle``) about ``axis``, across the slot."""
        return self._join(name, parent, child, PinInSlot(slot, axis), options)

    @sentence("joint")
    def spherical(
        self, name: str, parent: Place, child: Place, **options: Unpack[JointOptions]
    ) -> Joint:
        """Any rotation: a quaternion ``name.q0`` … ``name.q3``, speeds ``name.wx``, ``name.wy``,
        ``name.wz`` in the child's joint axes."""
        return self._join(name, parent, child, Spherical(), options)

    @sentence("joint")
    def free(
        self, name: str, parent: Place, child: Place, **options: Unpack[JointOptions]
    ) -> Joint:
        """All six freedoms: ``name.x``, ``name.y``, ``name.z`` in the parent's joint axes, then a
        rotation as in ``spherical``."""
        return self._join(name, parent, child, Free(), options)

    @sentence("joint")
    def fixed(
        self, name: str, parent: Place, child: Place, **options: Unpack[JointOptions]
    ) -> Joint:
        """No freedom: parent and child move as one."""
        return self._join(name, parent, child, Fixed(), options)

    # --- forces -----------------------------------------------------------------------------------

    @sentence("spring_damper")
    def spring_damper(
        self,
        name: str,
        a: Place,
        b: Place,
        stiffness: Number = 0,
        damping: Number = 0,
        length: Number = 0,
    ) -> SpringDamper:
        """Spring and damper on the line between two points.

        They pull the places ``a`` and ``b`` together by stiffness (l − length) + damping l̇, with l
        their distance.
        """
        places = self._place(a), self._place(b)
        return self.add(SpringDamper(name, *places, stiffness, damping, length))

    @sentence("torque")
    def torque(self, name: str, joint: str | Joint, value: Any) -> JointTorque:
        """Effort along a joint's coordinate: a torque or a force.

        joint: the joint, or one of its coordinates ("wrist.first").
        value: a number, an expression, an input, or a function of the motion; one for each speed.
        """
        return self.add(JointTorque(name, joint, value))

    @sentence("force")
    def force(self, name: str, at: Place, value: Any, frame: str = "world") -> PointForce:
        """A force at a marker's or body's origin.

        value: three numbers or expressions, or a function of the motion that returns them.
        frame: "world" for components in the world, "body" for those in the marker or body.
        """
        return self.add(PointForce(name, self._place(at), value, frame))

    @sentence("body_torque")
    def body_torque(self, name: str, at: Place, value: Any, frame: str = "world") -> BodyTorque:
        """A free torque on a body; ``value`` and ``frame`` as for ``force``."""
        return self.add(BodyTorque(name, self._place(at), value, frame))

    @sentence("compliant_contact")
    def compliant_contact(
        self,
        name: str,
        surface: Surface,
        base: Surface,
        stiffness: Number,
        exponent: Number = 1.5,
        damping: Number = 0,
        friction: Number | Friction = 0,
    ) -> CompliantContact:
        """Surfaces that press each other where they overlap by δ (Hertz; Hunt and Crossley).

        The normal force is stiffness δ^exponent (1 + damping δ̇), never less than zero;
        ``friction``, a coefficient or a law ``mg.Friction``, is in proportion to it.
        """
        touching = self._surface(surface), self._surface(base)
        contact = CompliantContact(name, *touching, stiffness, exponent, damping, friction)
        return self.add(contact)

    @sentence("drive")
    def drive(
        self,
        name: str,
        coordinate: str | Joint,
        value: Any = 0,
        position: Number | None = None,
        stiffness: Number = 0,
        damping: Number = 0,
        effort: Number | None = None,
        speed: Number | None = None,
    ) -> Drive:
        """A motor along a ``coordinate`` x: what is wanted of it, as far as its limits allow.

        value: an effort: a number, an expression, an input, or a function of the motion.
        position, stiffness, damping: a position to be held, a number or a function of time, by
            stiffness (position − x) and damping times the rate of that.
        effort: the largest, either way; without limit if it is not given.
        speed: at which nothing is left of ``effort`` along the motion; it falls to that on a line.
        """
        laws = value, position, stiffness, damping, effort, speed
        return self.add(Drive(name, coordinate, *laws))

    @sentence("backlash")
    def backlash(
        self,
        name: str,
        coefficients: Mapping[str, Number],
        play: Number,
        stiffness: Number,
        damping: Number = 0,
        constant: Number = 0,
    ) -> Backlash:
        """A gear or coupling with play: nothing acts while x = Σ c q is within ``play``/2 of
        ``constant``; beyond, a spring (``stiffness``) and damper (``damping``) that never pulls.

        coefficients: by the names of the coordinates, {"j1": 1.0, "j2": -2.5}.
        """
        return self.add(Backlash(name, coefficients, play, stiffness, damping, constant))

    # --- constraints ------------------------------------------------------------------------------

    @sentence("distance")
    def distance(self, name: str, a: Place, b: Place, length: Number) -> Distance:
        """The places ``a`` and ``b`` stay at a distance ``length``, a number or a function of
        time."""
        return self.add(Distance(name, self._place(a), self._place(b), length))

    @sentence("coupling")
    def coupling(
        self, name: str, coefficients: Mapping[str, Number], constant: Number = 0
    ) -> Coupling:
        """Σ c q = constant, for coordinates of joints: gears, belts, differentials.

        coefficients: by the names of the coordinates, {"j1": 1.0, "j2": -2.5}.
        """
        return self.add(Coupling(name, coefficients, constant))

    @sentence("servo")
    def servo(self, name: str, coordinate: str | Joint, value: Number) -> Servo:
        """A ``coordinate`` has a ``value``, a number or a function of time; its multiplier is the
        effort of the drive."""
        return self.add(Servo(name, coordinate, value))

    @sentence("constrain")
    def constrain(
        self,
        name: str,
        position: Callable[[Motion], Any] | None = None,
        velocity: Callable[[Motion], Any] | None = None,
        acceleration: Callable[[Motion], Any] | None = None,
    ) -> Expression:
        """Rows of one's own that stay zero: exactly one function of the motion, at one level.

        position: must not use velocities; velocity: linear in the speeds or not; acceleration:
        linear in the accelerations.
        """
        return self.add(Expression(name, position, velocity, acceleration))

    @sentence("roll")
    def roll(self, name: str, surface: Surface, base: Surface, spinning: bool = True) -> Rolling:
        """A surface rolls on a base without slipping, and never leaves it.

        spinning: False if it does not spin about the common normal either.
        """
        return self.add(Rolling(name, self._surface(surface), self._surface(base), spinning))

    @sentence("slide")
    def slide(
        self, name: str, surface: Surface, base: Surface, friction: Number | Friction = 0
    ) -> Sliding:
        """A surface slides on a base and never leaves it, with ``friction``: a coefficient or a law
        ``mg.Friction``. Its multiplier is the normal force, positive if it presses."""
        return self.add(Sliding(name, self._surface(surface), self._surface(base), friction))

    @sentence("knife_edge")
    def knife_edge(self, name: str, at: Place, across: Axis = "y") -> KnifeEdge:
        """A blade at a marker moves along, not across: its velocity along ``across``, a direction
        in the marker's axes, is zero."""
        return self.add(KnifeEdge(name, self._place(at), across))

    @sentence("rigid_contact")
    def rigid_contact(
        self,
        name: str,
        surface: Surface,
        base: Surface,
        restitution: Number = 0.0,
        friction: Number = 0.0,
        static: Number | None = None,
        resting: Number = 1e-5,
        regularization: Number = 1e-5,
        tangential: Number = 0.0,
    ) -> RigidContact:
        """Surfaces that cannot enter each other: they meet, press, stick or slide, and part again.

        Numbers, or expressions of parameters:

        restitution: Newton's, from 0 to 1.
        friction, static: Coulomb's coefficients, of sliding and to break away (``friction`` if not
            given).
        resting: speed in m/s below which nothing rebounds.
        regularization: speed in m/s of slip that is taken for none.
        tangential: what part of the slip an impact turns back where friction holds it, from 0 to 1.
        """
        laws = restitution, friction, static, resting, regularization, tangential
        touching = self._surface(surface), self._surface(base)
        return self.add(RigidContact(name, *touching, *laws))

    # --- joints as constraints, completed by two equations ----------------------------------------

    @sentence("fixed_ideal_joint")
    def fixed_ideal_joint(self, name: str, a: Place, b: Place, axis: Axis = "z") -> FixedIdealJoint:
        """A revolute joint as a constraint, about ``axis`` of both places."""
        return self.add(FixedIdealJoint(name, self._place(a), self._place(b), axis))

    @sentence("free_ideal_joint")
    def free_ideal_joint(self, name: str, a: Place, b: Place, axis: Axis = "z") -> FreeIdealJoint:
        """A cylindrical joint as a constraint, along ``axis`` of both places."""
        return self.add(FreeIdealJoint(name, self._place(a), self._place(b), axis))

    @sentence("spring_ideal_joint")
    def spring_ideal_joint(
        self,
        name: str,
        a: Place,
        b: Place,
        axis: Axis = "z",
        stiffness: Number = 0,
        damping: Number = 0,
    ) -> SpringIdealJoint:
        """A revolute joint as a constraint, with a spring and damper along its ``axis``."""
        places = self._place(a), self._place(b)
        return self.add(SpringIdealJoint(name, *places, axis, stiffness, damping))

    @sentence("fixed_controlled_joint")
    def fixed_controlled_joint(
        self, name: str, a: Place, b: Place, law: Law, axis: Axis = "z"
    ) -> FixedControlledJoint:
        """A driven revolute joint as a constraint, about ``axis`` of both places.

        law: the torque on ``a``, a function of (time, angle, its rate).
        """
        return self.add(FixedControlledJoint(name, self._place(a), self._place(b), law, axis))

    @sentence("free_slide_joint")
    def free_slide_joint(self, name: str, a: Place, b: Place, axis: Axis = "z") -> FreeSlideJoint:
        """A prismatic joint as a constraint, along ``axis`` of both places."""
        return self.add(FreeSlideJoint(name, self._place(a), self._place(b), axis))

    @sentence("fixed_servo_joint")
    def fixed_servo_joint(
        self,
        name: str,
        a: Place,
        b: Place,
        law: Law | None = None,
        axis: Axis = "z",
        angle: Number | None = None,
    ) -> FixedServoJoint:
        """A servo as a constraint, about ``axis`` of both places: give ``law``, the angular
        acceleration as a function of (time, angle, its rate), or ``angle``, a function of time."""
        return self.add(FixedServoJoint(name, self._place(a), self._place(b), law, axis, angle))
