"""Joints, forces and constraints by the short names of ``System``: ``system.revolute(…)``,
``system.distance(…)``.

A new kind is a new file and an entry here.
"""

from .axial import (
    FixedControlledJoint,
    FixedIdealJoint,
    FixedServoJoint,
    FreeIdealJoint,
    FreeSlideJoint,
    SpringIdealJoint,
)
from .constraints import Constraint, Coupling, Distance, Expression, Servo
from .contact.compliant import CompliantContact
from .contact.rigid import RigidContact
from .contact.rolling import KnifeEdge, Rolling, Sliding
from .drives import Drive
from .elements import kinds as machine
from .forces import BodyTorque, Force, JointTorque, PointForce, SpringDamper
from .joint_limits import Backlash
from .joints import (
    Cylindrical,
    Fixed,
    Free,
    JointKind,
    PinInSlot,
    Planar,
    Prismatic,
    Revolute,
    ScrewJoint,
    Spherical,
    Universal,
)

JOINTS: dict[str, type[JointKind]] = {
    "revolute": Revolute,
    "prismatic": Prismatic,
    "cylindrical": Cylindrical,
    "screw": ScrewJoint,
    "universal": Universal,
    "planar": Planar,
    "pin_in_slot": PinInSlot,
    "spherical": Spherical,
    "free": Free,
    "fixed": Fixed,
}

FORCES: dict[str, type[Force]] = {
    "spring_damper": SpringDamper,
    "torque": JointTorque,
    "force": PointForce,
    "body_torque": BodyTorque,
    "compliant_contact": CompliantContact,
    "drive": Drive,
    "backlash": Backlash,
    **machine.FORCES,
}

CONSTRAINTS: dict[str, type[Constraint]] = {
    "distance": Distance,
    "coupling": Coupling,
    "servo": Servo,
    "constrain": Expression,
    "roll": Rolling,
    "slide": Sliding,
    "knife_edge": KnifeEdge,
    "rigid_contact": RigidContact,
    "fixed_ideal_joint": FixedIdealJoint,
    "free_ideal_joint": FreeIdealJoint,
    "spring_ideal_joint": SpringIdealJoint,
    "fixed_controlled_joint": FixedControlledJoint,
    "free_slide_joint": FreeSlideJoint,
    "fixed_servo_joint": FixedServoJoint,
    **machine.CONSTRAINTS,
}
