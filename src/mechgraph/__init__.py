"""mechgraph: one graph in; exact equations of motion, machine code and motion out."""

from . import gallery
from .closures.closure import CLOSURES
from .composition import leaves
from .composition.compose import compose
from .composition.part import Part
from .composition.subsystem import Labelled, Subsystem
from .contract.names import Quantity
from .contract.terms import Terms
from .control.controller import Controller, feedback, sampled
from .control.laws import computed_torque, pid, state_feedback
from .equations import Equations
from .errors import (
    ArgumentError,
    AssemblyError,
    MechgraphError,
    ModelError,
    SimulationError,
    UnsupportedError,
)
from .formalisms import FORMALISMS, Formalism
from .formats.mjcf import from_mjcf
from .formats.model_files.model_file import load
from .formats.sdf import from_sdf
from .formats.urdf import from_urdf
from .functions import (
    acos,
    acosh,
    asin,
    asinh,
    atan,
    atan2,
    atanh,
    ceil,
    clip,
    copysign,
    cos,
    cosh,
    cross,
    dot,
    erf,
    exp,
    fabs,
    floor,
    fmax,
    fmin,
    fmod,
    hypot,
    if_else,
    log,
    norm_2,
    pi,
    sign,
    sin,
    sinh,
    smooth_step,
    sqrt,
    tan,
    tanh,
)
from .model.axial import (
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
from .model.bodies import Body, Marker
from .model.constraints import Constraint
from .model.contact.friction import Friction
from .model.contact.surfaces import (
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
from .model.description import Description
from .model.element import Effort, Wrench
from .model.elements import curves
from .model.elements.rope import Pulley
from .model.elements.wheels import LinearTyre, MagicFormula
from .model.forces import Force
from .model.joint_friction import DryFriction
from .model.joint_limits import Limits
from .model.joints import Joint, JointKind
from .model.kinds import CONSTRAINTS, FORCES, JOINTS
from .model.motion import Motion
from .model.system import System
from .model.transitions import Transition, ball, move, rot, screw
from .motion.chart import Chart
from .motion.topology import Topology
from .motion.variables import Variables, variables
from .results.linear_model import LinearModel
from .results.rollouts import Rollouts
from .results.second_order import SecondOrderModel, SecondOrderSweep
from .results.trajectory import Trajectory, load_run
from .studies.agreement import Agreement, agreement
from .studies.simulation.events import Event
from .tables.constructors import spline, table
from .tables.table import Table

__version__ = "0.1.0"

__all__ = [
    "CLOSURES",
    "CONSTRAINTS",
    "FORCES",
    "FORMALISMS",
    "JOINTS",
    "Acts",
    "Agreement",
    "ArgumentError",
    "AssemblyError",
    "AxialJoint",
    "Body",
    "Box",
    "Capsule",
    "Chart",
    "Constraint",
    "Controller",
    "Cylinder",
    "Description",
    "Disc",
    "DryFriction",
    "Effort",
    "Ellipsoid",
    "Equations",
    "Event",
    "FixedControlledJoint",
    "FixedIdealJoint",
    "FixedServoJoint",
    "Force",
    "Formalism",
    "FreeIdealJoint",
    "FreeSlideJoint",
    "Friction",
    "Held",
    "Implicit",
    "Joint",
    "JointKind",
    "Labelled",
    "Limits",
    "LinearModel",
    "LinearTyre",
    "MagicFormula",
    "Marker",
    "MechgraphError",
    "ModelError",
    "Motion",
    "Part",
    "Plane",
    "Point",
    "Pulley",
    "Quantity",
    "Roller",
    "Rollouts",
    "SecondOrderModel",
    "SecondOrderSweep",
    "SimulationError",
    "Sphere",
    "SpringIdealJoint",
    "Subsystem",
    "Surface",
    "System",
    "Table",
    "Terms",
    "Topology",
    "Torus",
    "Trajectory",
    "Transition",
    "UnsupportedError",
    "Variables",
    "Wrench",
    "acos",
    "acosh",
    "agreement",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ball",
    "ceil",
    "clip",
    "compose",
    "computed_torque",
    "copysign",
    "cos",
    "cosh",
    "cross",
    "curves",
    "dot",
    "erf",
    "exp",
    "fabs",
    "feedback",
    "floor",
    "fmax",
    "fmin",
    "fmod",
    "from_mjcf",
    "from_sdf",
    "from_urdf",
    "gallery",
    "hypot",
    "if_else",
    "leaves",
    "load",
    "load_run",
    "log",
    "move",
    "norm_2",
    "pi",
    "pid",
    "rot",
    "sampled",
    "screw",
    "sign",
    "sin",
    "sinh",
    "smooth_step",
    "spline",
    "sqrt",
    "state_feedback",
    "table",
    "tan",
    "tanh",
    "variables",
]
