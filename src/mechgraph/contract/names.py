"""The one table of names: what a name means, and how it is computed.

Starts, guesses, outputs, events, linear models, plots and results all ask here. A name is

- a coordinate, a speed, an input, a parameter, an output, ``t``;
- a joint: its coordinates, measured where they are no variables of the chart;
- a body or a marker: the position of its origin in the world;
- any of these with a prime or two: its first or second derivative in time;
- a constraint, or a row of one (``close: position x``): its multipliers; ``drive: effort`` the
  same;
- ``kinetic``, ``potential``, ``energy``, ``power``, where nothing else has that name;
- ``elbow: force``, ``elbow: moment``, ``elbow: reaction``, ``elbow: force x``: what a joint or
  constraint exerts on its child, in world axes; ``elbow: joint force`` in those of the joint;
- ``rod: kinetic``, ``rod: potential``: energies of a body; ``coil: potential`` that of a spring,
  ``elbow rotor: kinetic`` that of a rotor;
- ``motor: power``: what a force, constraint or driven joint gives to the motion;
- ``hinge: shift``, ``hinge: angle``, ``hinge: F``, ``hinge: M``: ν, φ and the efforts along them
  of a joint of two equations (``AxialJoint``).

Where a joint and a body share a name, it is the joint; ``body elbow`` and ``joint elbow`` tell them
apart.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import casadi as ca
from casadi import SX

from ..errors import ArgumentError, shown, unknown
from ..model.element import Effort
from ..model.joints import Joint
from ..model.transitions import Ball, Translation
from ..motion.energy import kinetic_of, potential_of
from ..motion.rotors import rotor_energy
from ..vectors import scalar
from .terms import Terms

COMPONENTS = {
    "reaction": slice(0, 6),
    "force": slice(0, 3),
    "moment": slice(3, 6),
    **{f"force {axis}": slice(k, k + 1) for k, axis in enumerate("xyz")},
    **{f"moment {axis}": slice(k + 3, k + 4) for k, axis in enumerate("xyz")},
}
# the same in the axes of the joint
COMPONENTS |= {f"joint {what}": where for what, where in COMPONENTS.items()}
EFFORTS = {"F": slice(0, 3), "M": slice(3, 6)}  # along the axis of an element
EFFORT = {"rad": "N m", "m": "N"}  # of a multiplier, by the unit of what its constraint holds
HOLDS = {"position": "m", "gap": "m", "tilt": "rad", "rotation": "rad"}  # rows, by first word
RATE = {"rad": "rad/s", "m": "m/s", "1": "1/s", "rad/s": "rad/s²", "m/s": "m/s²"}


@dataclass(frozen=True, eq=False)
class Quantity:
    """The meaning of a name: a column ``value`` of q, u, u̇, λ, w, p, t, with a label for each row.

    ``coordinates`` or ``speeds`` are the indices of the variables that it consists of, if it does.
    ``angular`` marks rows that are angles measured up to whole turns.
    """

    name: str
    kind: str
    value: SX
    units: tuple[str, ...]
    coordinates: tuple[int, ...] = ()
    speeds: tuple[int, ...] = ()
    angular: tuple[bool, ...] = ()
    variables: tuple[str, ...] = ()  # names of its rows, if they have any of their own

    @property
    def labels(self) -> tuple[str, ...]:
        """A label for each row: the name itself, if there is only one."""
        count = self.value.numel()
        if self.variables and count > 1:
            return self.variables
        letters = "xyz" if count == 3 else [str(k + 1) for k in range(count)]
        return (self.name,) if count == 1 else tuple(f"{self.name} {each}" for each in letters)


class Names:
    """All names of some terms."""

    def __init__(self, terms: Terms) -> None:
        self._terms, self._chart = terms, terms.chart
        self._description = terms.chart.description
        self._found: dict[str, Quantity] = {}

    def resolve(self, name: str) -> Quantity:
        """The meaning of a name; an ``ArgumentError`` with the nearest known one, if it means
        nothing."""
        if not isinstance(name, str):
            raise ArgumentError(
                f"a name must be a text such as {self.known[:1]}, got {shown(name)}"
            )
        if name not in self._found:
            found = self._read(name)
            if found is None:
                raise ArgumentError(unknown("name", name, self.known))
            self._found[name] = found
        return self._found[name]

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and (name in self._found or self._read(name) is not None)

    @cached_property
    def known(self) -> list[str]:
        """The names that are there without primes and components, for messages."""
        s, description = self._terms.symbols, self._description
        speeds = [*s.speeds, *self._chart.joint_speed_names, *description.speeds]
        own = [*s.coordinates, *speeds, *s.inputs, *description.joints]
        closed = [name for joint in self._chart.closed for name in joint.coordinates]
        places = [*description.bodies, *description.markers]
        outputs = self._terms.outputs
        constraints = [*description.constraints, *self._terms.constraints]
        return list(
            dict.fromkeys([*own, *closed, *places, *outputs, *s.parameters, *constraints, "t"])
        )

    # --- reading ----------------------------------------------------------------------------------

    def _read(self, name: str) -> Quantity | None:
        plain = name.rstrip("'")
        primes = len(name) - len(plain)
        found = self._variable(name) or self._variable_of_joint(plain, primes)
        if found is not None or primes > 2:
            return found
        if primes:
            return self._derivative(name, plain, primes)
        readers = (self._at_rest, self._force, self._energy, self._energy_of)
        return next(filter(None, (read(name) for read in readers)), None)

    def _variable(self, name: str) -> Quantity | None:
        """A coordinate, speed, input, parameter, or time."""
        s = self._terms.symbols
        own = name not in self._chart.counted or self._closed_joint(name, "coordinates") is None
        if name in s.coordinates and own:
            k = s.coordinates.index(name)
            return Quantity(name, "coordinate", s.q[k], (self._unit(name),), coordinates=(k,))
        if name in s.speeds:
            k = s.speeds.index(name)
            return Quantity(name, "speed", s.u[k], (self._unit(name),), speeds=(k,))
        if name in s.inputs or name in s.parameters:
            return Quantity(name, "input" if name in s.inputs else "parameter", s[name], ("",))
        return Quantity(name, "time", s.t, ("s",)) if name == "t" else None

    def _variable_of_joint(self, plain: str, primes: int) -> Quantity | None:
        """All coordinates, speeds or accelerations of a joint (or of a speed) that is one of the
        chart."""
        chart, s = self._chart, self._terms.symbols
        plain = _unqualified("joint ", plain, self._description.joints)
        if self._is_place(plain) or plain in chart.counted:
            return None
        name = plain + "'" * primes
        if primes == 0 and plain in chart.joint_coordinates:
            where = chart.joint_coordinates[plain]
            own = tuple(s.coordinates[k] for k in where)
            value, units = s.q[list(where)], self._units_of(own)
            return Quantity(name, "coordinate", value, units, coordinates=where, variables=own)
        order = primes + (plain in chart.joint_speed_names)
        where = chart.joint_speeds.get(f"{plain}'", chart.joint_speeds.get(plain, ()))
        own = tuple(chart.joint_speed_names[k] for k in where)
        if not where or order not in (1, 2):
            return None
        if order == 1:
            return self._speed_of_joint(name, where, own)
        return self._acceleration(name, own, chart.joint_accelerations[list(where)])

    def _speed_of_joint(self, name: str, where: tuple[int, ...], own: tuple[str, ...]) -> Quantity:
        """Speeds of a joint: variables, or measured if the user chose others in their place."""
        chart, units = self._chart, self._units_of(own)
        value = chart.joint_rates[list(where)]
        if not chart.replaced.isdisjoint(where):
            return Quantity(name, "measured speed", value, units, variables=own)
        return Quantity(name, "speed", value, units, speeds=where, variables=own)

    def _acceleration(self, name: str, speeds: Sequence[str], value: SX) -> Quantity:
        """The rates of these speeds."""
        units, labels = _rates(self._units_of(speeds)), tuple(f"{each}'" for each in speeds)
        return Quantity(name, "acceleration", value, units, variables=labels)

    def _is_place(self, name: str) -> bool:
        """True for a body or marker; a joint of the same name goes before it."""
        place = _unqualified("body ", name, self._description.bodies)
        joint = name in self._description.joints and place == name
        return place in self._description.places and not joint

    def _at_rest(self, name: str) -> Quantity | None:
        """Measured coordinates, positions of bodies and markers, outputs."""
        description, m = self._description, self._chart.motion
        joint = _unqualified("joint ", name, description.joints)
        closed = self._closed_joint(joint, "coordinates")
        if closed is not None:
            own = tuple(closed.coordinates) if joint == closed.name else (joint,)
            angular = tuple(each in closed.angles for each in own)
            value, units = m.coordinate(joint), self._units_of(own)
            return Quantity(name, "measured", value, units, angular=angular, variables=own)
        if self._closed_joint(joint, "speeds") is not None:
            return Quantity(name, "measured speed", m.speed(joint), (self._unit(joint),))
        if name in description.speeds:
            return Quantity(name, "measured speed", m.speed(name), ("",))
        place = _unqualified("body ", name, description.bodies)
        if place in description.bodies or place in description.markers:
            return Quantity(name, "position", m.position(place), ("m",) * 3)
        return self._measured(name) or self._output(name)

    def _measured(self, name: str) -> Quantity | None:
        """A measure of a constraint, such as the shift and the angle of a joint of two
        equations."""
        owner, _, what = name.rpartition(": ")
        constraint = self._description.constraints.get(owner)
        if constraint is None or what not in constraint.measures:
            return None
        unit, value = constraint.measures[what], constraint.measured(what, self._chart.motion)
        angular = unit == "rad" and f"{owner} {what}" not in self._chart.counted
        return Quantity(name, "measured", value, (unit,), angular=(angular,))

    def _output(self, name: str) -> Quantity | None:
        value = self._terms.output(name)
        return None if value is None else Quantity(name, "output", value, ("",) * value.numel())

    def _derivative(self, name: str, plain: str, primes: int) -> Quantity | None:
        s, m = self._terms.symbols, self._chart.motion
        place = _unqualified("body ", plain, self._description.bodies)
        if self._is_place(plain):
            if primes == 1:
                return Quantity(name, "velocity", m.velocity(place), ("m/s",) * 3)
            return Quantity(name, "acceleration", m.acceleration(place), ("m/s²",) * 3)
        joint = _unqualified("joint ", plain, self._description.joints)
        closed = self._closed_joint(joint, "coordinates")
        if closed is not None:
            own = tuple(closed.speeds) if joint == closed.name else (f"{joint}'",)
            if primes == 2:
                return self._acceleration(name, own, self._rate(m.speed(joint)))
            units = self._units_of(own)
            return Quantity(name, "measured speed", m.speed(joint), units, variables=own)
        base = self._variable(plain) or self._at_rest(plain)
        if base is None or base.kind in ("input", "parameter", "time"):
            return None
        value, units = base.value, base.units
        for _ in range(primes):
            if ca.depends_on(value, ca.vertcat(s.udot, self._terms.multipliers)):
                raise ArgumentError(f"{name!r}: the rate of an acceleration is not known")
            value, units = self._rate(value), _rates(units)
        return Quantity(name, "rate", value, units)

    def _rate(self, value: SX) -> SX:
        s = self._terms.symbols
        return self._chart.rate(value) + ca.jtimes(value, s.u, s.udot)

    def _force(self, name: str) -> Quantity | None:
        """Multipliers of a constraint, and components of reactions."""
        terms, lam = self._terms, self._terms.multipliers
        if name in terms.constraints:
            row = lam[terms.constraints.index(name)]
            return Quantity(name, "multiplier", row, (self._unit_of_row(name),))
        owner, _, what = name.rpartition(": ")
        whole = name if what != "effort" else owner
        rows = terms.rows.rows_of(whole)
        if rows:
            units = tuple(self._unit_of_row(terms.constraints[k]) for k in rows)
            return Quantity(name, "multiplier", lam[rows], units)
        effort = self._along_axis(owner, what)
        if effort is not None:
            return Quantity(name, "effort", effort, ("N" if what == "F" else "N m",))
        if what == "effort" and owner in self._description.forces:
            return self._efforts(name, owner)
        if what not in COMPONENTS:
            return None
        owner = _unqualified("joint ", owner, self._description.joints)
        if owner in self._description.joints:
            reaction = terms.reactions.of(owner)
        elif owner in self._description.constraints or owner in self._description.forces:
            reaction = terms.reactions.of_element(owner)
        else:
            return None
        if what.startswith("joint "):
            axes = terms.reactions.axes(owner)
            reaction = ca.vertcat(axes.T @ reaction[:3], axes.T @ reaction[3:])
        units = tuple(["N"] * 3 + ["N m"] * 3)[COMPONENTS[what]]
        return Quantity(name, "reaction", reaction[COMPONENTS[what]], units)

    def _efforts(self, name: str, owner: str) -> Quantity | None:
        """Efforts of a force along the speeds of the joints that it acts on, one by one."""
        m, force = self._chart.motion, self._description.forces[owner]
        found: dict[str, SX] = {}
        for action in (*force.conservative(m), *force.nonconservative(m)):
            if isinstance(action, Effort):
                found[action.joint] = found.get(action.joint, SX(0)) + action.values
        if not found:
            return None
        sizes = [(joint, SX(values).numel()) for joint, values in found.items()]
        units = [EFFORT.get(self._unit(joint), "") for joint, count in sizes for _ in range(count)]
        return Quantity(name, "effort", ca.vertcat(*found.values()), tuple(units))

    def _along_axis(self, owner: str, what: str) -> SX | None:
        """F or M of a constraint with an axis: on its first place, reduced to the second."""
        constraint = self._description.constraints.get(owner)
        if constraint is None or what not in EFFORTS:
            return None
        axis = constraint.force_axis(self._chart.motion)
        if axis is None:
            return None
        return -ca.dot(axis, self._terms.reactions.of_element(owner)[EFFORTS[what]])

    def _energy(self, name: str) -> Quantity | None:
        terms = self._terms
        if name == "power":
            return Quantity(name, "power", terms.supplied - terms.dissipated, ("W",))
        if name == "energy":
            return Quantity(name, "energy", terms.kinetic + terms.potential, ("J",))
        if name in ("kinetic", "potential"):
            return Quantity(name, "energy", getattr(terms, name), ("J",))
        return None

    def _energy_of(self, name: str) -> Quantity | None:
        """Energies of one body or spring, and power of one element."""
        owner, _, what = name.rpartition(": ")
        description, reactions = self._description, self._terms.reactions
        body = description.bodies.get(_unqualified("body ", owner, description.bodies))
        if what == "power" and owner in reactions.working:
            return Quantity(name, "power", reactions.power_of(owner), ("W",))
        element = {**description.forces, **description.constraints}.get(owner)
        if what == "potential" and element is not None:
            value = scalar(element.potential(self._chart.motion), "potential")
            return Quantity(name, "energy", value, ("J",))
        if what == "kinetic" and element is not None and element.rotors():
            return Quantity(name, "energy", rotor_energy(self._chart, [element]), ("J",))
        if body is None or what not in ("kinetic", "potential"):
            return None
        energy = kinetic_of if what == "kinetic" else potential_of
        return Quantity(name, "energy", energy(self._chart, body), ("J",))

    def _closed_joint(self, name: str, variables: str) -> Joint | None:
        """The joint of that name, or with a variable of that name, whose coordinates are
        measured."""
        for joint in self._chart.closed:
            if (
                joint.name in self._chart.joint_coordinates
                and joint.name not in self._chart.counted
            ):
                continue
            own = [joint.name] if variables == "coordinates" and joint.coordinates else []
            if name in (*own, *getattr(joint, variables)):
                return joint
        return None

    # --- units ------------------------------------------------------------------------------------

    def _unit_of_row(self, row: str) -> str:
        """Unit of a multiplier: its row times it is an energy."""
        owner, _, label = row.rpartition(": ")
        constraint = self._description.constraints.get(row)
        if constraint is not None:
            return EFFORT.get(constraint.row_unit(self._unit), "")
        joint = owner in self._description.joints
        return EFFORT.get(HOLDS.get(label.partition(" ")[0], ""), "") if joint else ""

    def _unit(self, name: str) -> str:
        return self._units.get(name, "")

    def _units_of(self, names: Sequence[str]) -> tuple[str, ...]:
        return tuple(map(self._unit, names))

    @cached_property
    def _units(self) -> dict[str, str]:
        """Units of the coordinates and speeds of joints, by name."""
        out: dict[str, str] = {}
        for joint in (*self._description.joints.values(), *self._chart.own_joints):
            out |= dict(zip(joint.coordinates, _joint_units(joint, ""), strict=True))
            out |= dict(zip(joint.speeds, _joint_units(joint, "/s"), strict=True))
        return out


def _rates(units: Sequence[str]) -> tuple[str, ...]:
    """Units of rates."""
    return tuple(RATE.get(unit, "") for unit in units)


def _unqualified(word: str, name: str, known: Collection[str]) -> str:
    """«elbow» for «joint elbow», if there is a joint of that name; else the name itself."""
    rest = name.removeprefix(word)
    return rest if rest in known else name


def _joint_units(joint: Joint, rate: str) -> Iterator[str]:
    for step in (step for step in joint.transitions if step.moves):
        if isinstance(step, Ball):
            yield from ["rad/s"] * 3 if rate else ["1"] * 4
        else:
            yield ("m" if isinstance(step, Translation) else "rad") + rate
