"""``System``: the user's graph of bodies and joints, with what hangs on it. It describes; it computes nothing."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from .elements import CONSTRAINTS, FORCES, JOINTS
from .elements.bodies import Body, Marker, marker_on, read_inertia
from .elements.constraints import Constraint
from .elements.element import Element
from .elements.forces import Force, JointSpring
from .elements.joints import Chain, Joint, JointKind
from .elements.transitions import Ball, Transition
from .errors import ModelError, unknown
from .vectors import column, orientation, scalar, symbol

if TYPE_CHECKING:
    from .equations import Equations
    from .motion import Motion
    from .topology import Topology


class System:
    """A mechanism: bodies are vertices, joints are edges; forces, constraints, inputs and parameters hang on them.

    Every number may be a float, a parameter, or an expression of parameters and time. Problems of the description
    are collected and raised together, as one ``ModelError``, when the system is first used.

    >>> import mechgraph as mg
    >>> arm = mg.System("pendulum", gravity=(0, 0, -9.81))
    >>> rod = arm.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.08, 0.08, 0.001))
    >>> hinge = arm.revolute("hinge", arm.ground, rod, axis="y")
    >>> arm.equations().mass_matrix([0.0])
    array([[0.33]])
    """

    def __init__(self, name: str = "system", gravity: Any = (0, 0, 0)) -> None:
        self.name = name
        self.time: SX = SX.sym("t")
        self.ground = Body("ground")
        self.bodies: dict[str, Body] = {}
        self.markers: dict[str, Marker] = {}
        self.joints: dict[str, Joint] = {}
        self.forces: dict[str, Force] = {}
        self.constraints: dict[str, Constraint] = {}
        self.parameters: dict[str, SX] = {}
        self.defaults: dict[str, float] = {}
        self.inputs: dict[str, SX] = {}
        self.outputs: dict[str, Callable[[Motion], Any]] = {}
        self._problems: list[str] = []
        self._names: set[str] = {"ground"}
        self._broken: set[str] = set()
        self._unphysical: set[str] = set()
        self.gravity = gravity

    @property
    def gravity(self) -> SX:
        """Acceleration of gravity, world components; set it anew to use parameters in it."""
        return self._gravity

    @gravity.setter
    def gravity(self, value: Any) -> None:
        self._gravity: SX = self._try("system", self.name, lambda: column(value, 3, "gravity"), SX.zeros(3))

    # --- numbers with a name -------------------------------------------------------------------------------------

    def parameter(self, name: str, value: float) -> SX:
        """A named number that can be changed after derivation; usable in any number of the model."""
        name = self._claim(name, "parameter")
        number = self._try("parameter", name, lambda: _constant(value), 0.0)
        self.parameters[name], self.defaults[name] = symbol(name), number
        return self.parameters[name]

    def input(self, name: str) -> SX:
        """A named signal from outside, zero unless a study is told otherwise."""
        name = self._claim(name, "input")
        self.inputs[name] = symbol(name)
        return self.inputs[name]

    def output(self, name: str, value: Callable[[Motion], Any]) -> None:
        """A quantity of the user's own, a function of the motion; results carry it under ``name``."""
        name = self._claim(name, "output")
        if not callable(value):
            self._problems.append(f"output {name!r}: it must be a function of the motion, such as lambda m: m.position(tip)[2]")
        self.outputs[name] = value

    # --- vertices ------------------------------------------------------------------------------------------------

    def body(
        self,
        name: str,
        mass: Any = None,
        com: Any = (0, 0, 0),
        inertia: Any = None,
        inertia_about: str = "com",
        allow_unphysical: bool = False,
    ) -> Body:
        """A rigid body. ``com`` and ``inertia`` are in the body's frame, inertia about the centre of mass.

        ``allow_unphysical`` accepts published data that no mass distribution has (zero mass with inertia, or
        principal inertias that break the triangle inequality).
        """
        name = self._claim(name, "body")
        if allow_unphysical:
            self._unphysical.add(name)
        body = self._try("body", name, lambda: _make_body(name, mass, com, inertia, inertia_about), Body(name))
        self.bodies[name] = body
        return body

    def frame(self, name: str) -> Body:
        """A body without mass: an intermediate frame between joints."""
        name = self._claim(name, "body")
        self.bodies[name] = Body(name)
        return self.bodies[name]

    def marker(self, name: str, body: Body | Marker | str, at: Any = (0, 0, 0), orientation: Any = None) -> Marker:
        """A named frame fixed on a body."""
        name = self._claim(name, "marker")
        fallback = Marker(name, self.ground, SX.zeros(3), SX.eye(3))
        self.markers[name] = self._try("marker", name, lambda: self._frame_on(name, body, at, orientation), fallback)
        return self.markers[name]

    # --- edges ---------------------------------------------------------------------------------------------------

    def joint(
        self,
        name: str,
        parent: Body | Marker | str,
        child: Body | Marker | str,
        transitions: Sequence[Transition] | JointKind,
        *,
        at: Any = (0, 0, 0),
        orientation: Any = None,
        child_at: Any = (0, 0, 0),
        child_orientation: Any = None,
        stiffness: Any = 0,
        damping: Any = 0,
        rest: Any = 0,
        cut: bool | None = None,
    ) -> Joint | None:
        """The general joint: a chain of ``mg.rot``, ``mg.move``, ``mg.screw`` and ``mg.ball`` from parent to child.

        ``at``/``orientation`` place its frame on the parent, ``child_at``/``child_orientation`` on the child.
        ``stiffness``, ``damping``, ``rest`` are a spring and damper along its coordinates.
        """
        name = self._claim(name, "joint")

        def build() -> Joint:
            kind = transitions if isinstance(transitions, JointKind) else Chain(transitions)
            start = self._frame_on(f"{name}:parent", parent, at, orientation)
            end = self._frame_on(f"{name}:child", child, child_at, child_orientation)
            if start.body is end.body:
                raise ModelError(f"joins body {start.body.name!r} to itself")
            if cut not in (True, False, None):
                raise ModelError(f"cut must be True, False or None, got {cut!r}")
            return Joint(name, start, end, kind, cut)

        joint: Joint | None = self._try("joint", name, build, None)
        if joint is not None:
            self.joints[name] = joint
            self._add_joint_spring(joint, stiffness, damping, rest)
        return joint

    def _add_joint_spring(self, joint: Joint, stiffness: Any, damping: Any, rest: Any) -> None:
        def build() -> JointSpring:
            if any(isinstance(step, Ball) for step in joint.transitions):
                raise ModelError("stiffness and damping in a joint need scalar coordinates; use spring_damper or body_torque")
            if any(step.moves for step in joint.transitions) is False:
                raise ModelError("stiffness and damping need a coordinate, and this joint has none")
            return JointSpring(f"{joint.name} spring", joint.name, len(joint.speeds), stiffness, damping, rest)

        if not (_is_zero(stiffness) and _is_zero(damping)):
            spring: JointSpring | None = self._try("joint", joint.name, build, None)
            if spring is not None:
                self.add(spring)

    # --- everything else -----------------------------------------------------------------------------------------

    def add(self, element: Force | Constraint) -> Any:
        """Hang a force or constraint (of one's own class, too) on the graph."""
        if not isinstance(element, (Force, Constraint)):
            raise ModelError(f"add() takes a Force or a Constraint, got {element!r}")
        store: dict[str, Any] = self.constraints if isinstance(element, Constraint) else self.forces
        name = self._claim(getattr(element, "name", None), type(element).__name__)
        if not self.is_broken(name):
            store[name] = element
        for name, own in element.parameters().items():
            self.parameters[self._claim(name, "parameter")], self.defaults[name] = own, 0.0
        return element

    @property
    def elements(self) -> list[Element]:
        """All forces and constraints."""
        return [*self.forces.values(), *self.constraints.values()]

    if TYPE_CHECKING:

        def __getattr__(self, short_name: str) -> Callable[..., Any]: ...  # the short names set at the end of this file

    # --- the way on ----------------------------------------------------------------------------------------------

    def topology(self) -> Topology:
        """Spanning tree, cut joints, loops and incidence matrices."""
        from .topology import topology

        return topology(self)

    def equations(self, formalism: str | None = None, closure: str = "multipliers", **options: Any) -> Equations:
        """The exact equations of motion by a formalism; the default is the fastest that supports the system."""
        from .equations import derive

        return derive(self, formalism, closure, **options)

    def describe(self) -> str:
        """What was understood: bodies, tree, cut joints, loops, coordinates, mobility, redundant constraints."""
        from .show.describe import describe

        return describe(self)

    def draw_graph(self, path: Any = None) -> Any:
        """The graph of bodies and of what joins and loads them, as a figure; saved to ``path`` if that is given."""
        from .show.graph import draw_graph

        return draw_graph(self, path)

    # --- checking ------------------------------------------------------------------------------------------------

    def check(self) -> None:
        """Raise one ``ModelError`` with every problem of the description, if there is any."""
        from .validation import problems

        found = [*self._problems, *problems(self)]
        if found:
            raise ModelError(found)

    def default_value(self, expression: SX) -> np.ndarray:
        """An expression of parameters (at t = 0) as numbers, with the parameters at their defaults."""
        symbols = [self.time, *self.parameters.values(), *self.inputs.values()]
        values = [0.0, *self.defaults.values(), *(0.0 for _ in self.inputs)]
        return np.array(ca.Function("f", [ca.vertcat(*symbols)], [ca.densify(expression)])(ca.DM(values)))

    def is_broken(self, name: str) -> bool:
        """True if an element of that name could not be read, so that its absence is no further news."""
        return name in self._broken

    def is_unphysical(self, name: str) -> bool:
        """True if the body was declared with ``allow_unphysical``."""
        return name in self._unphysical

    def _claim(self, name: Any, kind: str) -> str:
        """The name, if it is one and free; else something to go on with, and a problem."""
        if not isinstance(name, str) or not name.strip():
            self._problems.append(f"{kind} needs a name, got {name!r}")
            name = f"{kind} {len(self._problems)} without a name"
            self._broken.add(name)
        elif name in self._names:
            self._problems.append(f"{kind} {name!r}: the name is taken; every element needs its own")
        self._names.add(name)
        return name

    def _try(self, kind: str, name: str, build: Callable[[], Any], fallback: Any) -> Any:
        try:
            return build()
        except ModelError as error:
            self._problems.extend(f"{kind} {name!r}: {problem}" for problem in error.problems)
            self._broken.add(str(name))
            return fallback

    def _place(self, place: Body | Marker | str) -> Marker:
        if isinstance(place, (Body, Marker)):
            found = marker_on(place)
            if found.body is not self.ground and self.bodies.get(found.body.name) is not found.body:
                raise ModelError(f"body {found.body.name!r} belongs to another system")
            return found
        known: Mapping[str, Body | Marker] = {"ground": self.ground, **self.bodies, **self.markers}
        if not isinstance(place, str) or place not in known:
            raise ModelError(unknown("body or marker", place, known))
        return marker_on(known[place])

    def _frame_on(self, name: str, place: Body | Marker | str, at: Any, turned: Any) -> Marker:
        base = self._place(place)
        at, R = column(at, 3, "at"), orientation(turned)
        if base.at.is_zero() and base.rotation.is_eye():
            return Marker(name, base.body, at, R)
        return Marker(name, base.body, base.at + base.rotation @ at, base.rotation @ R)


def _make_body(name: str, mass: Any, com: Any, inertia: Any, about: str) -> Body:
    if mass is None or inertia is None:
        missing = "mass" if mass is None else "inertia (0 for a point mass)"
        raise ModelError(f"{missing} is missing; every body needs it, a massless one is made by frame()")
    m, c = scalar(mass, "mass"), column(com, 3, "com")
    return Body(name, m, c, read_inertia(inertia, about, m, c))


def _constant(value: Any) -> float:
    number = scalar(value, "value")
    if not number.is_constant():
        raise ModelError(f"value must be a number, got the expression {value!r}; use the expression itself where it is needed")
    return float(number)


def _is_zero(value: Any) -> bool:
    return isinstance(value, (int, float)) and value == 0


def _joint_method(kind: type[JointKind]) -> Callable[..., Any]:
    """``system.revolute(name, parent, child, axis=…, at=…)``: keywords of the kind go there, the others to ``joint``."""
    own = set(inspect.signature(kind).parameters)
    common = {key for key, p in inspect.signature(System.joint).parameters.items() if p.kind is p.KEYWORD_ONLY}

    def method(self: System, name: str, parent: Any, child: Any, **options: Any) -> Joint | None:
        mine = {key: options.pop(key) for key in own & set(options)}

        def build() -> JointKind:
            wrong = [unknown("option", key, sorted(own | common)) for key in options if key not in common]
            if wrong:
                raise ModelError(wrong)
            bound = _bound(kind, (), mine)
            return kind(*bound.args, **bound.kwargs)

        built = self._try("joint", name, build, None)
        if built is None:
            return None
        return self.joint(name, parent, child, built, **options)

    method.__doc__ = kind.__doc__
    return method


def _element_method(make: type) -> Callable[..., Any]:
    """``system.distance(name, …)``: builds the element and adds it; markers and bodies may be given by name."""
    places = {key for key, p in inspect.signature(make).parameters.items() if "Marker" in str(p.annotation)}

    def method(self: System, name: str, *arguments: Any, **options: Any) -> Any:
        def build() -> Any:
            bound = _bound(make, (name, *arguments), options)
            bound.arguments |= {key: self._place(bound.arguments[key]) for key in places & set(bound.arguments)}
            return make(*bound.args, **bound.kwargs)

        element = self._try(make.__name__.lower(), name, build, None)
        return self.add(element) if element is not None else None

    method.__doc__ = make.__doc__
    return method


def _bound(make: type, arguments: tuple, options: dict[str, Any]) -> inspect.BoundArguments:
    """The arguments of a call; too few, too many or unknown ones are a problem of the description."""
    signature = inspect.signature(make)
    try:
        return signature.bind(*arguments, **options)
    except TypeError as error:
        wanted = ", ".join(str(p.replace(annotation=p.empty)) for p in signature.parameters.values())
        raise ModelError(f"{error}; it takes ({wanted})") from None


for _name, _kind in JOINTS.items():
    setattr(System, _name, _joint_method(_kind))
for _name, _make in {**FORCES, **CONSTRAINTS}.items():
    setattr(System, _name, _element_method(_make))
