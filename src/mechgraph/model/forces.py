"""Forces: what acts on bodies and along joints' coordinates.

A force is a small class that, given the motion ``m``, states its actions: wrenches on markers and
efforts along coordinates. Its conservative part is stated twice, as a potential (energy methods use
it) and as actions (the others do); a test compares the two for every force in the list.

To add a force, write such a class in a new file and list it in ``model/kinds.py``: it gets a
short name on ``System``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import casadi as ca
from casadi import SX

from ..arguments import choice
from ..errors import ModelError
from ..tables.table import Table
from ..vectors import column, scalar
from .bodies import Marker
from .declarations import argument, coordinate, law, not_negative, number, place
from .element import Action, Drawn, Effort, Element, Wrench
from .fields import Numbers
from .motion import Motion


class Force(Element):
    """Base of all forces."""

    drawn_as: Drawn = "spring"


def evaluate(value: Any, m: Motion, size: int, what: str) -> SX:
    """A number, expression or function of the motion as a column."""
    result = value(m) if callable(value) else value
    return column(result, size, what) if size > 1 else scalar(result, what)


def _stiffness(value: Any, what: str) -> SX | Table:
    return value if isinstance(value, Table) else scalar(value, what)


def _torque(value: Any, _: str) -> Any:
    return value if hasattr(value, "__len__") else scalar(value, "torque")


def _frame(value: Any, what: str) -> str:
    return str(choice(what, value, ("world", "body"), ModelError))


def _spring_force(stiffness: SX | Table, x: SX) -> SX:
    """k x, or what a table of forces says at x."""
    return stiffness(x) if isinstance(stiffness, Table) else stiffness * x


def _spring_energy(stiffness: SX | Table, x: SX) -> SX:
    """The integral of the force from 0 to x: k x² / 2, or that of the table, which is exact."""
    if isinstance(stiffness, Table):
        return stiffness.integral(x) - float(stiffness.integral(0.0))
    return stiffness * x**2 / 2


class SpringDamper(Force):
    """Spring and damper on the line between two points: F = k (l − length) + c l̇, pulling them
    together.

    stiffness: k, or a table (``mg.table``) of the spring's force over l − length.
    damping, length: c, and the length of the spring without force.
    """

    passive = True

    a: Marker = place()
    b: Marker = place()
    stiffness: Any = argument("Number | Table", "number", _stiffness, 0)
    damping: SX = number(0)
    length: SX = number(0)

    def _line(self, m: Motion) -> tuple[SX, SX]:
        gap = m.position(self.b) - m.position(self.a)
        return gap, ca.norm_2(gap)

    def potential(self, m: Motion) -> SX:
        gap, distance = self._line(m)
        if self._is_plain():
            return self.stiffness * ca.dot(gap, gap) / 2
        return _spring_energy(self.stiffness, distance - self.length)

    def conservative(self, m: Motion) -> list[Action]:
        gap, distance = self._line(m)
        if self._is_plain():
            return self._pull(self.stiffness * gap)
        force = _spring_force(self.stiffness, distance - self.length)
        return self._pull(force / distance * gap)

    def _is_plain(self) -> bool:
        """Proportional to the distance: then there is no root, so no singularity at zero length."""
        return bool(self.length.is_zero()) and not isinstance(self.stiffness, Table)

    def nonconservative(self, m: Motion) -> list[Action]:
        if self.damping.is_zero():
            return []
        gap, distance = self._line(m)
        unit = gap / distance
        return self._pull(
            self.damping * ca.dot(m.velocity(self.b) - m.velocity(self.a), unit) * unit
        )

    def _pull(self, force: SX) -> list[Action]:
        return [Wrench(self.a, force, SX.zeros(3)), Wrench(self.b, -force, SX.zeros(3))]


class JointSpring(Force):
    """Spring and damper in a joint, along each of its scalar coordinates: −k (x − rest) − c ẋ. A
    table as ``stiffness`` is the effort over x − rest."""

    word = "spring and damper"
    joint_option = "stiffness"
    passive = True

    def __init__(
        self,
        name: str,
        joint: str,
        count: int,
        stiffness: Any = 0,
        damping: Numbers = 0,
        rest: Numbers = 0,
    ):
        self.name, self.joint = name, joint
        given = stiffness if isinstance(stiffness, (list, tuple)) else [stiffness]
        self.tabled = any(isinstance(each, Table) for each in given)
        self.stiffness: Any = (
            _each_table(given, count, f"{joint}: stiffness")
            if self.tabled
            else _each(stiffness, count, f"{joint}: stiffness")
        )
        self.damping = _each(damping, count, f"{joint}: damping")
        self.rest = _each(rest, count, f"{joint}: rest")

    def joints(self) -> Sequence[str]:
        return (self.joint,)

    def joint_properties(self) -> tuple[str, Mapping[str, Any]] | None:
        laws = {"stiffness": self.stiffness, "damping": self.damping, "rest": self.rest}
        return self.joint, laws

    def potential(self, m: Motion) -> SX:
        if not self.tabled and self.stiffness.is_zero():
            return SX(0)
        return ca.sum1(self._along(m, _spring_energy))

    def conservative(self, m: Motion) -> list[Action]:
        if not self.tabled and self.stiffness.is_zero():
            return []
        return [Effort(self.joint, -self._along(m, _spring_force))]

    def _along(self, m: Motion, law: Callable[[Any, SX], SX]) -> SX:
        """A law of each coordinate."""
        x = m.coordinate(self.joint) - self.rest
        if not self.tabled:
            return law(self.stiffness, x)
        return ca.vertcat(*(law(each, x[k]) for k, each in enumerate(self.stiffness)))

    def nonconservative(self, m: Motion) -> list[Action]:
        if self.damping.is_zero():
            return []
        return [Effort(self.joint, -self.damping * m.speed(self.joint))]


def _each_table(given: Sequence[Any], count: int, what: str) -> list[SX | Table]:
    """A table or a number for each of ``count`` coordinates; a single one serves all."""
    if len(given) not in (1, count):
        raise ModelError(f"{what} must have {count} entries, got {len(given)}")
    each = [_stiffness(value, what) for value in given]
    return each * count if len(each) == 1 else each


class Rotor(Force):
    """Inertia that turns with a joint's coordinate x and nothing else, T = ½ J ẋ²: that of a
    motor's rotor times the square of its gear's ratio. It exerts −J ẍ."""

    word = "armature"
    joint_option = "armature"

    coordinate: str = coordinate()
    inertia: SX = not_negative(what="armature")

    def rotors(self) -> Sequence[tuple[str, SX]]:
        return ((self.coordinate, self.inertia),)

    def joint_properties(self) -> tuple[str, Mapping[str, Any]] | None:
        return self.coordinate, {"armature": self.inertia}


def _each(value: Any, count: int, what: str) -> SX:
    """One value for each of ``count`` coordinates; a single number serves all."""
    single = not hasattr(value, "__len__") or (isinstance(value, SX) and value.numel() == 1)
    return column([value] * count if single else value, count, what)


class JointTorque(Force):
    """Effort along a joint's coordinate (a torque or a force): a number, an expression, an input,
    or a function of m.

    For a joint with several speeds, name one (``"wrist.first"``) or give one value for each speed.

    joint: the joint, or one of its coordinates ("wrist.first").
    value: a number, an expression, an input, or a function of the motion; one for each speed.
    """

    joint: str = coordinate()
    value: Any = law(read=_torque)

    def nonconservative(self, m: Motion) -> list[Action]:
        size = m.speed(self.joint).numel()
        return [Effort(self.joint, evaluate(self.value, m, size, "torque"))]


class PointForce(Force):
    """A force at a marker; components in the world (``frame="world"``) or in the marker
    (``frame="body"``).

    value: three numbers or expressions, or a function of the motion that returns them.
    frame: "world" for components in the world, "body" for those in the marker or body.
    """

    at: Marker = place()
    value: Any = law(read=lambda value, _: column(value, 3, "force"))
    frame: str = argument("str", "text", _frame, "world")

    def _vector(self, m: Motion) -> SX:
        vector = evaluate(self.value, m, 3, "value")
        return m.rotation(self.at) @ vector if self.frame == "body" else vector

    def nonconservative(self, m: Motion) -> list[Action]:
        return [Wrench(self.at, self._vector(m), SX.zeros(3))]


class BodyTorque(PointForce):
    """A free torque on a body; ``value`` and ``frame`` as for ``force``."""

    def nonconservative(self, m: Motion) -> list[Action]:
        return [Wrench(self.at, SX.zeros(3), self._vector(m))]
