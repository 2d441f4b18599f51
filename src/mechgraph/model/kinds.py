"""What can stand on the graph, by the short names of ``System``: ``system.revolute(…)``,
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
from .elements.bearing import BallBearing
from .elements.bushing import Bushing
from .elements.fluids import Drag, HydraulicCylinder, Propeller
from .elements.gears import InvoluteGears, RigidGears
from .elements.guide import Guide
from .elements.rope import RigidRope, Rope
from .elements.transmission import Belt, ElasticBelt, ElasticCoupling, RackAndPinion
from .elements.wheels import OmniWheel, Tyre
from .forces import BodyTorque, Force, JointTorque, PointForce, SpringDamper
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
    "rope": Rope,
    "elastic_belt": ElasticBelt,
    "elastic_coupling": ElasticCoupling,
    "bushing": Bushing,
    "involute_gears": InvoluteGears,
    "ball_bearing": BallBearing,
    "tyre": Tyre,
    "drag": Drag,
    "propeller": Propeller,
    "hydraulic_cylinder": HydraulicCylinder,
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
    "rigid_rope": RigidRope,
    "belt": Belt,
    "rack_and_pinion": RackAndPinion,
    "guide": Guide,
    "rigid_gears": RigidGears,
    "omni_wheel": OmniWheel,
}

for _word, _kind in (*FORCES.items(), *CONSTRAINTS.items()):
    _kind.word = _word
