"""mechgraph: one graph in; exact equations of motion, machine code and motion out."""

from casadi import atan2, cos, cosh, cross, dot, exp, fabs, if_else, log, norm_2, sin, sinh, sqrt, tan, tanh

from .closure import CLOSURES
from .elements import CONSTRAINTS, FORCES, JOINTS
from .elements.axial import (
    Acts,
    AxialJoint,
    FixedControlledJoint,
    FixedIdealJoint,
    FixedServoJoint,
    FreeIdealJoint,
    FreeSlideJoint,
    Held,
    SpringIdealJoint,
)
from .elements.bodies import Body, Marker
from .elements.constraints import Constraint
from .elements.element import Effort, Wrench
from .elements.forces import Force
from .elements.friction import Friction
from .elements.joints import Joint, JointKind
from .elements.surfaces import (
    Box,
    Capsule,
    Cylinder,
    Disc,
    Ellipsoid,
    Implicit,
    Plane,
    Point,
    Roller,
    Sphere,
    Surface,
    Torus,
)
from .elements.transitions import Transition, ball, move, rot, screw
from .equations import Equations
from .errors import (
    ArgumentError,
    AssemblyError,
    MechgraphError,
    ModelError,
    SimulationError,
    UnsupportedError,
)
from .formalisms import FORMALISMS
from .motion import Motion
from .results import Trajectory, load
from .studies.agreement import Agreement, agreement
from .studies.events import Event
from .system import System
from .topology import Topology

__version__ = "0.1.0"
