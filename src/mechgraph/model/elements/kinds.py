"""Machine elements by the words that say them. They speak of places, joints and numbers alone."""

from ..constraints import Constraint
from ..forces import Force
from .bearing import BallBearing
from .bushing import Bushing
from .fluids import Drag, HydraulicCylinder, Propeller
from .gears import InvoluteGears, RigidGears
from .guide import Guide
from .motor import DCMotor
from .rope import RigidRope, Rope
from .transmission import Belt, ElasticBelt, ElasticCoupling, RackAndPinion
from .wheels import OmniWheel, Tyre

FORCES: dict[str, type[Force]] = {
    "rope": Rope,
    "elastic_belt": ElasticBelt,
    "elastic_coupling": ElasticCoupling,
    "involute_gears": InvoluteGears,
    "bushing": Bushing,
    "ball_bearing": BallBearing,
    "tyre": Tyre,
    "drag": Drag,
    "propeller": Propeller,
    "hydraulic_cylinder": HydraulicCylinder,
    "dc_motor": DCMotor,
}

CONSTRAINTS: dict[str, type[Constraint]] = {
    "rigid_rope": RigidRope,
    "belt": Belt,
    "rack_and_pinion": RackAndPinion,
    "rigid_gears": RigidGears,
    "guide": Guide,
    "omni_wheel": OmniWheel,
}
