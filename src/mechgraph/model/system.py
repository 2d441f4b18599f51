"""``System``: the user's graph of bodies and joints, with what hangs on it. It builds a description
and computes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

import casadi as ca
import numpy as np
from casadi import SX

from .. import door
from ..arguments import name_of
from ..errors import ModelError, unknown
from ..pickling import Picklable
from ..vectors import column, scalar, symbol
from .bodies import Body, Marker, Place, marker_on
from .builder_calls import builder_call, check_answers
from .constraints import Constraint
from .described import Described, Record
from .description import Description, derived_once
from .element import Element
from .element_methods import ElementMethods
from .elements.rope import Pulley
from .fields import ByName, Field, MotionFunction, Number, Orientation, Vector
from .forces import Force
from .joint_options import JointOptions, is_pin, option_elements
from .joints import Free, Joint, JointKind, Planar, Prismatic
from .planar import NORMALS, read_plane
from .speeds import Speed
from .subsystem import Unit, outer_numbers, warn_of_gravity
from .validation import find_unreached, problems

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from ..equations import Equations
    from ..motion.particles import Particle
    from ..motion.topology import Topology

Added = TypeVar("Added", bound=Force | Constraint)
Kept = TypeVar("Kept")

SHARED = {"body", "joint"}  # kinds whose names the context tells apart
STORES = (
    "bodies", "markers", "joints", "forces", "constraints", "parameters", "defaults", "inputs",
    "outputs", "units", "speeds", "visuals",
)  # fmt: skip


class Contents(Generic[Kept]):
    """Everything of one kind that has been said so far, by name."""

    def __init__(self, meaning: str) -> None:
        self.__doc__ = meaning

    def __set_name__(self, system: type, kind: str) -> None:
        self._kind = kind

    def __get__(self, system: System | None, _: type) -> Mapping[str, Kept]:
        return cast(Any, self) if system is None else MappingProxyType(system._stores[self._kind])


class System(ElementMethods, Picklable):
    """A mechanism: bodies are vertices, joints are edges; forces, constraints, inputs and
    parameters hang on them.

    Every number may be a float, a parameter, or an expression of parameters and time. What is wrong
    with a call is told at once; what is wrong with the description as a whole is collected and
    raised as one ``ModelError`` when it is first used. What is derived from it stays as it is,
    whatever is said afterwards.

    >>> import mechgraph as mg
    >>> arm = mg.System("pendulum", gravity=(0, 0, -9.81))
    >>> rod = arm.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.08, 0.08, 0.001))
    >>> hinge = arm.revolute("hinge", arm.ground, rod, axis="y")
    >>> arm.equations().mass_matrix([0.0])
    array([[0.33]])
    """

    def __init__(
        self, name: str = "system", gravity: Vector = (0, 0, 0), plane: str | None = None
    ) -> None:
        """A system with nothing in it yet.

        name: what results and reports call it.
        gravity: acceleration of gravity, world components.
        plane: "xy", "yz" or "zx" if all moves in that plane; then no row says so again, and
            ``inertia`` of a body may be one number, about the normal.
        """
        self._plane = read_plane(plane)
        self.time: SX = SX.sym("t")
        self.ground = Body("ground")
        self._stores: dict[str, dict[str, Any]] = {kind: {} for kind in STORES}
        self._names: dict[str, set[str]] = {"ground": {"body"}}  # kinds that have the name
        self._snapshot: Description | None = None
        self.left_out: tuple[str, ...] = ()  # of another program's file that it was read from
        self.name = name
        self.gravity = gravity

    @property
    def name(self) -> str:
        """Its name in results and reports."""
        return self._name

    @name.setter
    def name(self, value: str) -> None:
        name_of("system", value)
        self._name, self._snapshot = value, None

    @property
    def gravity(self) -> SX:
        """Acceleration of gravity, world components; set it anew to use parameters in it."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: Vector) -> None:
        self._gravity: SX = column(value, 3, "gravity")
        self._snapshot = None

    @property
    def plane(self) -> str | None:
        """The plane that everything moves in; None in space."""
        return self._plane

    # --- numbers with a name ----------------------------------------------------------------------

    @builder_call("parameter")
    def parameter(self, name: str, value: float) -> SX:
        """A named number that can be changed after derivation; usable in any number of the model.

        value: what it is unless a study is told otherwise.
        """
        number = scalar(value, "value")
        if not number.is_constant():
            raise ModelError(
                f"value must be a number, got the expression {value!r}; use the expression itself "
                "where it is needed"
            )
        self._claim(name, "parameter")
        return self._keep_parameter(name, symbol(name), float(number))

    def _keep_parameter(self, name: str, value: SX, default: float) -> SX:
        self._stores["parameters"][name], self._stores["defaults"][name] = value, default
        return value

    @builder_call("input")
    def input(self, name: str) -> SX:
        """A named signal from outside, zero unless a study is told otherwise."""
        return self._keep("input", name, symbol(name))

    @builder_call("output")
    def output(self, name: str, value: MotionFunction) -> None:
        """A quantity of the user's own, a function of the motion; results carry it under
        ``name``."""
        if not callable(value):
            raise ModelError(
                "it must be a function of the motion, such as lambda m: m.position(tip)[2]"
            )
        self._keep("output", name, value)

    @builder_call("speed")
    def speed(self, name: str, value: MotionFunction, replaces: str | None = None) -> Speed:
        """A speed of the user's own choice (a quasi-velocity), in the place of a joint's speed.

        value: a function of the motion, linear in the joints' speeds, such as
            ``lambda m: mg.dot(m.velocity(tip), m.axis(blade, "x"))``.
        replaces: the name of the joint's speed that it takes the place of; well-determined ones are
            chosen if it is not given.
        """
        return self._keep("speed", name, Speed(name, value, replaces))

    # --- vertices ---------------------------------------------------------------------------------

    @builder_call("body")
    def body(
        self,
        name: str,
        mass: Number | None = None,
        com: Vector = (0, 0, 0),
        inertia: Any = None,
        inertia_about: str = "com",
        allow_unphysical: bool = False,
    ) -> Body:
        """A rigid body; ``mass`` and ``inertia`` must be given.

        com: centre of mass, in the body's frame.
        inertia: along the body's axes: three numbers (the diagonal), six (xx yy zz xy xz yz;
            products as entries of the matrix), a 3x3 matrix, or 0 for a point mass; in a system
            with ``plane`` also one number, about the normal.
        inertia_about: "com" or "origin", the point that it is about.
        allow_unphysical: accept published data that no mass distribution has (zero mass with
            inertia, or principal inertias that break the triangle inequality).
        """
        if mass is None or inertia is None:
            missing = "mass" if mass is None else "inertia (0 for a point mass)"
            raise ModelError(
                f"{missing} is missing; every body needs it, a massless one is made by frame()"
            )
        if self.plane is not None and isinstance(inertia, (float, int, np.number)):
            inertia = (inertia,) * 3
        return self._add_body(Body(name, mass, com, inertia, inertia_about, allow_unphysical))

    @builder_call("body")
    def frame(self, name: str) -> Body:
        """A body without mass: an intermediate frame between joints."""
        return self._add_body(Body(name))

    def _add_body(self, body: Body) -> Body:
        return self._keep("body", body.name, body)

    @builder_call("marker")
    def marker(
        self, name: str, body: Place, at: Vector = (0, 0, 0), orientation: Orientation = None
    ) -> Marker:
        """A named frame fixed on a body, or on another marker.

        at: its origin, in the frame of what it is fixed on.
        orientation: a 3x3 matrix, a scalar-first quaternion, or turns [("z", 0.3), ("x", 1.2)].
        """
        return self._keep("marker", name, Marker(name, self._known(body), at, orientation))

    # --- edges, and everything else ---------------------------------------------------------------

    def _join(
        self, name: str, parent: Place, child: Place, kind: JointKind, options: JointOptions
    ) -> Joint:
        """The joint, and what its options hang on it: a spring, stops, …"""
        floats, cut = is_pin(options.friction), options.cut
        if floats and cut is False:
            raise ModelError(
                "friction with radius= needs the reaction as a multiplier; leave cut=False out"
            )
        joint = Joint(
            name,
            self._known(parent),
            self._known(child),
            kind,
            True if floats else cut,
            at=options.at,
            orientation=options.orientation,
            child_at=options.child_at,
            child_orientation=options.child_orientation,
        )
        if joint.parent.body is joint.child.body:
            raise ModelError(f"joins body {joint.child.body.name!r} to itself")
        further = [*option_elements(joint, options)]
        self._keep("joint", name, joint)
        if floats:
            self._join(f"{name} loose", parent, child, self._loose, JointOptions())
        for element in further:
            self.add(element)
        return joint

    @property
    def _loose(self) -> JointKind:
        """All freedoms that there are."""
        return Free() if self.plane is None else Planar(NORMALS[self.plane])

    def add(self, element: Added) -> Added:
        """Hang a force or constraint (of one's own class, too) on the graph."""
        if not isinstance(element, (Force, Constraint)):
            raise ModelError(f"add() takes a Force or a Constraint, got {element!r}")
        if element.parts() or element.own_coordinates():  # all of them, or nothing
            trial = copy(self)
            trial._hang(element)
            self._adopt(trial)
        else:
            self._hang(element)
        return element

    def _hang(self, element: Force | Constraint) -> None:
        silent = isinstance(element, Force)  # it answers to no name without a colon
        self._claim(getattr(element, "name", None), element.kind(), silent)
        for name, own in element.parameters().items():
            self._claim(name, "parameter")
            self._keep_parameter(name, own, 0.0)
        self._stores["forces" if silent else "constraints"][element.name] = element
        for part in element.parts():
            self._hang(part)
        for coordinate, frame in element.own_coordinates().items():
            if coordinate not in self.joints:  # a file says them first
                along = Prismatic((self.plane or "x")[0])
                self._join(coordinate, self.ground, self.frame(frame), along, JointOptions())

    # --- systems inside of this one ---------------------------------------------------------------

    @builder_call("place")
    def place(
        self,
        name: str,
        system: System | Description,
        at: Vector = (0, 0, 0),
        orientation: Orientation = None,
        on: Place | None = None,
        parameters: ByName | None = None,
        inputs: ByName | None = None,
    ) -> Unit:
        """A system as a part of this one, as it is now: its ``arm`` is ``name.arm`` here.

        at, orientation, on: the frame that its ground becomes, on a body or marker (ground if not
            given). What it says of the world (positions, velocities, forces) it says of that frame;
            gravity is that of this system.
        parameters: by inner names: a number is the value of the parameter ``name.k`` here, an
            expression of this system takes its place.
        inputs: by inner names, numbers or expressions of this system; others are ``name.w`` here.

        >>> import mechgraph as mg
        >>> leg, car = mg.System("leg"), mg.System("car")
        >>> hinge = leg.revolute("knee", leg.ground, leg.body("shin", mass=1.0, inertia=(1, 1, 1)))
        >>> left = car.place("left", leg, at=(0, 1, 0))
        >>> car.place("right", leg, at=(0, -1, 0))["shin"].name
        'right.shin'
        >>> car.equations().coordinates
        ('left.knee', 'right.knee')
        """
        trial = self.__deepcopy__({})
        frame = trial.marker(f"{name}.ground", self.ground if on is None else on, at, orientation)
        unit = trial._place_inside(f"{name}.", system, frame, parameters, inputs)
        trial._stores["units"][name] = unit
        warn_of_gravity(trial.snapshot(), unit)
        self._adopt(trial)
        return unit

    def _adopt(self, trial: System) -> None:
        """Take over all that was said to a copy of this system, where nothing went wrong."""
        self._names.update(trial._names)
        for kind, store in trial._stores.items():
            self._stores[kind].update(store)
        self._snapshot = None

    def _place_inside(
        self, prefix: str, system: Any, ground: Marker, parameters: Any = None, inputs: Any = None
    ) -> Unit:
        inside = system.snapshot() if isinstance(system, System) else system
        numbers = outer_numbers(self.snapshot(), inside, parameters, inputs)
        symbols = {
            key: self._number_inside(f"{prefix}{key}", value) for key, value in numbers.items()
        }
        unit = Unit(prefix, inside, ground, symbols, self.time)
        for body in unit.bodies.values():
            self._add_body(body)
        for marker in unit.markers.values():
            self._keep("marker", marker.name, marker)
        for joint in unit.joints.values():
            self._keep("joint", joint.name, joint)
        for element in unit.elements.values():
            self.add(element)
        for key, value in unit.outputs.items():
            self.output(unit.outer_name(key), value)
        self._stores["visuals"] |= {
            unit.outer_name(x): look for x, look in inside.visuals.items() if x in inside.bodies
        }
        return unit

    def _number_inside(self, name: str, value: SX | float | None) -> SX:
        """The symbol or expression for a parameter or an input of a placed system."""
        if isinstance(value, SX):
            return value
        return self.input(name) if value is None else self.parameter(name, value)

    # --- what has been said so far ----------------------------------------------------------------

    bodies = Contents[Body]("All bodies and frames by name, without ground.")
    markers = Contents[Marker]("All markers by name.")
    joints = Contents[Joint]("All joints by name.")
    forces = Contents[Force]("All forces by name.")
    constraints = Contents[Constraint]("All constraints by name.")
    parameters = Contents[SX]("The symbols of all parameters by name.")
    defaults = Contents[float]("The values of all parameters by name.")
    inputs = Contents[SX]("The symbols of all inputs by name.")
    outputs = Contents[Callable[[Any], Any]]("All outputs by name.")
    units = Contents[Unit]("All systems that are placed inside of this one, by name.")
    speeds = Contents[Speed]("All speeds of the user's own by name.")

    @property
    def elements(self) -> list[Element]:
        """All forces and constraints."""
        return [*self.forces.values(), *self.constraints.values()]

    def snapshot(self) -> Description:
        """The description so far, frozen; the same object as long as nothing is added."""
        if self._snapshot is None:
            said: dict[str, Any] = {kind: Record(store) for kind, store in self._stores.items()}
            self._snapshot = Description(
                name=self.name,
                gravity=self.gravity,
                time=self.time,
                ground=self.ground,
                plane=self.plane,
                **said,
            )
        return self._snapshot

    def check(self) -> None:
        """Raise one ``ModelError`` with every problem of the description, if there is any."""
        found = list(problems(self.snapshot()))
        if found:
            raise ModelError(found)

    def __repr__(self) -> str:
        kinds = ("bodies", "joints", "forces", "constraints")
        counts = ((kind, len(self._stores[kind])) for kind in kinds)
        listed = ", ".join(f"{count} {kind}" for kind, count in counts if count)
        return f"<System {self.name!r}: {listed or 'nothing yet'}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> System:
        """Another builder that goes on from here; what was said so far is shared."""
        other = object.__new__(type(self))
        vars(other).update(vars(self))
        other._names = {name: set(taken) for name, taken in self._names.items()}
        other._stores = {kind: dict(store) for kind, store in self._stores.items()}
        return other

    __copy__ = lambda self: self.__deepcopy__({})  # noqa: E731

    # --- the way on -------------------------------------------------------------------------------

    def topology(self) -> Topology:
        """Spanning tree, cut joints, loops and incidence matrices."""
        return self.snapshot().topology()

    def equations(
        self, formalism: str | None = None, closure: str = "multipliers", **options: Any
    ) -> Equations:
        """The exact equations of motion of what has been said so far.

        formalism: a name in ``mg.FORMALISMS``; the default is the fastest that supports the system.
        closure: a name in ``mg.CLOSURES``.
        options: those of the formalism, such as ``form="explicit"`` of Lagrange's.
        """
        return self.snapshot().equations(formalism, closure, **options)

    def describe(self) -> str:
        """The system as it is understood: bodies, tree, loops, coordinates, mobility, redundant
        constraints."""
        return door.show.describe.describe(self)

    def particles(self, places: Mapping[str, Any] | None = None) -> list[Particle]:
        """Mass points with the same mass, centre and inertia as the bodies, ten for each: what the
        formalism "points" works with.

        places: by body, four points in its frame (not in one plane); chosen if not given. The other
            six are between them.
        """
        return list(door.motion.points.particles(self.snapshot(), places))

    def save(self, path: str | Path) -> Path:
        """Write it to a file, by the ending: a model file, which ``mg.load`` reads (.yaml, .json),
        or, as far as they go, URDF (.urdf) or MJCF (.xml).

        What cannot be written, such as classes of one's own, is named.
        """
        return door.formats.model_files.model_file.save(self, path)

    def draw_graph(self, path: str | Path | None = None) -> Figure:
        """The graph of bodies and of what joins and loads them, as a figure.

        path: where to save it (.png, .svg, .pdf), if it is given.
        """
        return door.show.graph.draw_graph(self, path)

    # --- names and places -------------------------------------------------------------------------

    def _keep(self, kind: str, name: str, value: Kept) -> Kept:
        """Take a name for what is said under it."""
        self._claim(name, kind)
        self._stores["bodies" if kind == "body" else f"{kind}s"][name] = value
        return value

    def _claim(self, name: Any, kind: str, silent: bool = False) -> None:
        """Take a name; refuse it if it is none, or if something else has it or would answer."""
        name_of(kind, name)
        if not silent:
            check_answers(kind, name)
        taken = self._names.get(name, set())
        if taken and (kind in taken or not {kind, *taken} <= SHARED):
            raise ModelError(f"{kind} {name!r}: the name is taken; every element needs its own")
        self._names[name] = {kind, *taken}
        self._snapshot = None

    def _known(self, place: Place) -> Body | Marker:
        """A body or marker of this system, itself or by name."""
        if isinstance(place, (Body, Marker)):
            body = marker_on(place).body
            if body is not self.ground and self.bodies.get(body.name) is not body:
                raise ModelError(f"body {body.name!r} belongs to another system")
            return place
        known: dict[str, Body | Marker] = {"ground": self.ground, **self.bodies, **self.markers}
        if not isinstance(place, str) or place not in known:
            raise ModelError(unknown("body or marker", place, known))
        return known[place]

    def _argument(self, field: Field, value: Any) -> Any:
        """An argument of an element, with what is meant where names are given."""
        if field.kind == "place":
            return marker_on(self._known(value))
        if field.kind == "joint":
            return self._joint(value)
        if field.item is not None and isinstance(value, (list, tuple)):
            return [self._argument(field.item, each) for each in value]
        if field.kind == "node" and not isinstance(value, Pulley):
            return marker_on(self._known(value))
        return value.with_places(self._known) if isinstance(value, Described) else value

    def _joint(self, joint: str | Joint) -> Joint:
        """A joint of this system, itself or by name."""
        name = getattr(joint, "name", joint)
        if not isinstance(name, str) or name not in self.joints:
            raise ModelError(unknown("joint", name, self.joints))
        return self.joints[name]


# --- a system to be carried -----------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Carried:
    """A system by itself, to be a part of others: gravity is three parameters, and its ground rides
    on the free frame ``mount``, or (None) is fixed in the world where the parameters ``place`` say:
    an origin, and a rotation column by column."""

    description: Description
    gravity: tuple[str, ...]
    place: tuple[str, ...]
    mount: str | None


@derived_once
def carried(inside: Description, riding: bool) -> Carried:
    """A system as a part of others, made once for all that carry it."""
    s, taken = System(inside.name), {"ground", *inside.places, *inside.joints, *inside.defaults}
    gravity = tuple(unlike(f"gravity {x}", taken) for x in "xyz")
    s.gravity = ca.vertcat(*(s.parameter(name, 0.0) for name in gravity))
    if riding:
        mount = unlike("mount", taken)
        s.free(mount, s.ground, s.frame(mount))
        s._place_inside("", inside, Marker("ground", s.bodies[mount]))
        return Carried(free_unreached(s.snapshot()), gravity, (), mount)
    place = tuple(unlike(f"place {k}", taken) for k in range(1, 13))
    numbers = [0.0, 0.0, 0.0, *np.eye(3).ravel()]
    symbols = [s.parameter(name, value) for name, value in zip(place, numbers, strict=True)]
    R = ca.reshape(ca.vertcat(*symbols[3:]), 3, 3)
    s._place_inside("", inside, Marker("ground", s.ground, symbols[:3], R))
    return Carried(free_unreached(s.snapshot()), gravity, place, None)


def free_unreached(description: Description) -> Description:
    """A copy with bodies free that only others hold, from outside."""
    d = description
    while loose := find_unreached(d):
        name = unlike(f"{loose[0]} free", {*d.places, *d.joints, *d.defaults, *d.inputs})
        free = Joint(name, d.ground, d.bodies[loose[0]], Free())
        d = replace(d, joints=Record({**d.joints, name: free}))
    return d


def unlike(name: str, taken: set[str]) -> str:
    """A name that nothing has yet."""
    while name in taken:
        name = f"{name} of it"
    return name
