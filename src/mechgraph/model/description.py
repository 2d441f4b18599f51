"""``Description``: what was said of a system, frozen. Everything else is derived from it alone."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from functools import cached_property, wraps
from typing import TYPE_CHECKING, Any, TypeVar, cast

import casadi as ca
import numpy as np
from casadi import SX

from .. import door
from ..pickling import Picklable
from .bodies import Body, Marker
from .constraints import Constraint, Distance
from .described import Record, canonical
from .element import Element
from .forces import Force
from .joints import Joint
from .speeds import Speed
from .visuals import Visual

if TYPE_CHECKING:
    from ..equations import Equations
    from ..motion.topology import Topology
    from .motion import Motion
    from .subsystem import Unit


Derive = TypeVar("Derive", bound=Callable[..., Any])


def derived_once(derive: Derive) -> Derive:
    """A function of a description, or of a chart, whose results stay with that for all who ask."""

    @wraps(derive)
    def look_up(thing: Any, *arguments: Hashable) -> Any:
        key = (derive.__module__, derive.__qualname__, *arguments)
        if key not in thing.derived:
            thing.derived[key] = derive(thing, *arguments)
        return thing.derived[key]

    return cast(Derive, look_up)


@dataclass(frozen=True, eq=False, repr=False)
class Description(Picklable):
    """A snapshot of a ``System``: elements by name with their arguments as given; nothing changes.

    Two descriptions are equal if the same was said in the same order, with the same names.

    >>> import mechgraph as mg
    >>> arm = mg.System("pendulum", gravity=(0, 0, -9.81))
    >>> rod = arm.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.08, 0.08, 0.001))
    >>> hinge = arm.revolute("hinge", arm.ground, rod, axis="y")
    >>> before = arm.snapshot()
    >>> arm.gravity = (0, 0, 0)
    >>> before == arm.snapshot()
    False
    >>> before.joints["hinge"]
    Joint(name='hinge', parent='ground', child='rod', kind=Revolute(axis='y'))
    """

    name: str
    gravity: SX
    time: SX
    ground: Body
    bodies: Mapping[str, Body]
    markers: Mapping[str, Marker]
    joints: Mapping[str, Joint]
    forces: Mapping[str, Force]
    constraints: Mapping[str, Constraint]
    parameters: Mapping[str, SX]
    defaults: Mapping[str, float]
    inputs: Mapping[str, SX]
    outputs: Mapping[str, Callable[[Motion], Any]]
    units: Mapping[str, Unit] = field(default_factory=lambda: Record({}))  # systems placed inside
    plane: str | None = None  # "xy", "yz" or "zx", if it moves in a plane
    speeds: Mapping[str, Speed] = field(default_factory=lambda: Record({}))
    # by body, where a file tells it; not part of what was said
    visuals: Mapping[str, tuple[Visual, ...]] = field(default_factory=lambda: Record({}))
    # kept for all who ask; not part of what was said
    derived: dict[Any, Any] = field(init=False, default_factory=dict)

    @property
    def elements(self) -> list[Element]:
        """All forces and constraints."""
        return [*self.forces.values(), *self.constraints.values()]

    @property
    def switched(self) -> bool:
        """True if there are elements that a simulation switches: rigid contacts, stops, joints that
        stick."""
        return any(element.switched for element in self.elements)

    @property
    def switching(self) -> str:
        """These elements, as messages call them."""
        return ", ".join(element.called for element in self.elements if element.switched)

    @property
    def places(self) -> dict[str, Body | Marker]:
        """Ground, bodies and markers by name."""
        return {"ground": self.ground, **self.bodies, **self.markers}

    @property
    def joint_names(self) -> dict[str, str]:
        """The joint that is meant by the name of a joint or of one of its coordinates."""
        coordinates = {name: j.name for j in self.joints.values() for name in j.coordinates}
        return {**coordinates, **{name: name for name in self.joints}}

    @cached_property
    def size(self) -> float:
        """How large the bodies usually are, from their mass centres to their joints, and how long
        the rods without mass; their radius of gyration where there are none of these; one metre if
        nothing tells."""
        ends = (end for joint in self.joints.values() for end in (joint.parent, joint.child))
        arms = [ca.norm_2(end.at - end.body.com) for end in ends if end.body is not self.ground]
        rods = [each.length for each in self.constraints.values() if isinstance(each, Distance)]
        turned = [ca.sqrt(ca.trace(b.inertia) / b.mass) for b in self.bodies.values()]
        for lengths in ([*arms, *rods], turned):
            found = self.default_value(ca.vertcat(SX(0, 1), *lengths)).ravel()
            known = found[np.isfinite(found) & (found > 0)]
            if known.size:
                return float(np.median(known))
        return 1.0

    def owns(self, body: Body) -> bool:
        """True if a body is one of this system."""
        return body is self.ground or self.bodies.get(body.name) is body

    def default_value(self, expression: SX) -> np.ndarray:
        """An expression of parameters (at t = 0) as numbers, with the parameters at their
        defaults."""
        symbols = [self.time, *self.parameters.values(), *self.inputs.values()]
        values = [0.0, *self.defaults.values(), *(0.0 for _ in self.inputs)]
        value = ca.Function("f", [ca.vertcat(*symbols)], [ca.densify(expression)])
        return np.array(value(ca.DM(values)))

    def topology(self) -> Topology:
        """Spanning tree, cut joints, loops and incidence matrices."""
        return door.motion.topology.topology(self)

    def equations(
        self, formalism: str | None = None, closure: str = "multipliers", **options: Any
    ) -> Equations:
        """The exact equations of motion; see ``System.equations``."""
        return door.equations.derive(self, formalism, closure, **options)

    @cached_property
    def _canonical(self) -> Hashable:
        said = (self.gravity, self.bodies, self.markers, self.joints, self.forces, self.constraints)
        numbers = self.defaults, list(self.inputs), self.outputs
        return canonical((self.name, self.plane, *said, *numbers, self.units, self.speeds))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Description):
            return NotImplemented
        return self is other or self._canonical == other._canonical

    def __hash__(self) -> int:
        return hash(self._canonical)

    def __repr__(self) -> str:
        counts = (
            f"{len(store)} {kind}"
            for kind, store in vars(self).items()
            if isinstance(store, Record) and kind not in ("defaults", "visuals") and len(store)
        )
        return f"<Description of {self.name!r}: {', '.join(counts) or 'nothing yet'}>"

    def __getstate__(self) -> dict[str, Any]:
        """Everything that was said, without what was derived from it."""
        kept = {k: value for k, value in vars(self).items() if k not in ("_canonical", "size")}
        return {**kept, "derived": {}}
