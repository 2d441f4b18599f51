"""A ``System`` with others placed inside, as a composition: each placed system is a part that is
derived once, however often it is placed; the bodies that are none of theirs are one more part.

A part whose ground stays on the world's ground has its place there as parameters. One that rides on
a body has a frame ``mount`` with six freedoms and no inertia, which six rows tie to its place.
Joints between parts are rows, too. They and all that acts between parts are written with the motion
of the whole system, on a chart whose coordinates are those of the parts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..errors import ArgumentError, ModelError, UnsupportedError, blamed
from ..model.bodies import Marker
from ..model.constraints import LEVELS, Constraint
from ..model.described import Record
from ..model.description import Description
from ..model.element import Element
from ..model.joints import Joint
from ..model.motion import Motion
from ..model.subsystem import Unit, is_relocatable, refuse_unknown
from ..model.system import Carried, System, carried, free_unreached, unlike
from ..model.validation import problems
from ..motion.chart import Chart, Frame, Pair, Pose
from ..motion.loads import generalized
from ..motion.motion import ChartMotion, column
from ..motion.rotors import spins
from ..motion.variables import Variables
from ..vectors import quaternion_of, vee
from .naming import read_parts
from .part import Part, PlacedPart
from .parts_view import PartsView
from .rows import WithRate


def read_composition(system: System | Description, more: bool = False) -> dict[str, Any]:
    """What ``compose`` takes for a system: its parts, and what is between them."""
    description = system.snapshot() if isinstance(system, System) else system
    if more:
        raise ArgumentError(
            f"{description.name!r} is composed as it was described; what is to be added is said to "
            "the System"
        )
    if not description.units:
        raise ArgumentError(
            f"{description.name!r} has no systems placed inside, so it has no parts; use place(), "
            "or mg.compose(name, parts)"
        )
    refuse_unknown(description)
    found = list(problems(description))
    if found:
        raise ModelError(found)
    return Whole(description).statement()


class Whole:
    """A description and its parts."""

    def __init__(self, description: Description) -> None:
        self.description, self.units = description, description.units
        self.itself = unlike("itself", {*self.units})  # the part of all bodies that are in no unit
        self.unit_of = {
            body.name: unit for unit in self.units.values() for body in unit.bodies.values()
        }
        self.carried = {
            name: carried(unit.inside, unit.ground.body is not description.ground)
            for name, unit in self.units.items()
        }
        joined = self._within("joints")
        outer = [j for name, j in description.joints.items() if name not in joined]
        self.between = tuple(j for j in outer if self._across(j.parent, j.child))
        self.inside = tuple(j for j in outer if not self._across(j.parent, j.child))
        within = self._within("forces") | self._within("constraints")
        own = [e for e in description.elements if e.name not in within]
        self.own_elements = [e for e in own if self._stays(e)]
        self.acting = [e for e in own if not self._stays(e)]
        known = description.constraints
        self.holding = [known[e.name] for e in self.acting if e.name in known]
        self._refuse()

    def _across(self, *places: Marker) -> bool:
        """True if one of them is on a body of a unit."""
        return any(place.body.name in self.unit_of for place in places)

    def home(self, body: str) -> tuple[str, str]:
        """The part that a body is in, and its name there."""
        unit = self.unit_of.get(body)
        return (self.itself, body) if unit is None else (unit.name, body.removeprefix(unit.prefix))

    def _within(self, kind: str) -> set[str]:
        """What the units' own of a kind are called here."""
        return {u.outer_name(name) for u in self.units.values() for name in getattr(u.inside, kind)}

    def _stays(self, element: Element) -> bool:
        """True if an element concerns the bodies alone that are in no unit."""
        joints = {joint.name for joint in self.inside}
        named = {self.description.joint_names.get(name) for name in element.joints()}
        alone = is_relocatable(element) and not self._across(*element.places()) and named <= joints
        return alone and not _uses(element, self.description.inputs)

    def _refuse(self) -> None:
        """Name what cannot be composed; the flat equations can."""
        for joint in self.between:
            if not joint.kind.closes:
                raise UnsupportedError(
                    f"composition: joint {joint.name!r} joins parts, but it is a chain; put it "
                    "inside of a unit, or use equations()"
                )
        for unit in self.units.values():
            for name in unit.inside.parameters:
                if self._moves(unit.symbols[name]):
                    raise UnsupportedError(
                        f"composition: parameter {name!r} of {unit.name!r} changes in time, and "
                        "parts have constants; use equations()"
                    )
        wandering = {constraint.name for constraint in self.holding if constraint.chains()}
        for element in self.acting:
            if element.switched or element.name in wandering:
                raise UnsupportedError(
                    f"composition: {element.called} acts between parts, and what switches or "
                    "wanders cannot; use equations()"
                )

    def _moves(self, *numbers: SX) -> bool:
        return any(ca.depends_on(each, self.description.time) for each in numbers)

    # --- what compose takes -----------------------------------------------------------------------

    def statement(self) -> dict[str, Any]:
        """Parts, and what is between them."""
        d, connected = self.description, self._within("inputs")
        return {
            "name": d.name,
            "parts": self.parts,
            "coordinates": {
                f"{name} turns": self._quantity(partial(ChartMotion.speed, name=name))
                for name in self.turning
            },
            "constraints": dict(self._rows()),
            "forces": self._forces(),
            "inputs": [name for name in d.inputs if name not in connected],
            "parameters": dict(d.defaults),
            "outputs": dict(self._outputs()),
            "reference": dict(self._reference()),
        }

    @cached_property
    def parts(self) -> dict[str, Part]:
        """The units, and the rest."""
        made = {name: self._part(name, unit) for name, unit in self.units.items()}
        if self.rest.bodies:
            made[self.itself] = Part(self.rest.equations(), prefix="")
        return made

    def _part(self, name: str, unit: Unit) -> Part:
        own = self.carried[name]
        numbers: dict[str, Any] = {
            key: self._number(unit.outer_name(key), value) for key, value in unit.symbols.items()
        }
        given = [self.description.gravity]
        given += [] if own.mount else [unit.ground.at, ca.vec(unit.ground.rotation)]
        values = ca.vertsplit(ca.densify(ca.vertcat(*given)))
        world = zip((*own.gravity, *own.place), values, strict=True)
        numbers |= {key: self._of_whole(value) for key, value in world}
        inputs = {key: numbers.pop(key) for key in unit.inside.inputs}
        return Part(
            own.description.equations(),
            parameters=numbers,
            inputs={key: value for key, value in inputs.items() if value is not None},
        )

    def _number(self, name: str, value: SX) -> Any:
        """What stands for a parameter: its value, if it is one here; for an input: None, if so."""
        if name in self.description.defaults:
            return self.description.defaults[name]
        return None if name in self.description.inputs else self._of_whole(value)

    def _of_whole(self, value: SX) -> Callable[[Variables], SX]:
        return lambda v: self.translate(value, v)

    def translate(self, value: SX, v: Any) -> SX:
        """An expression of the description in the variables of the whole."""
        d = self.description
        names = ("t", *d.parameters, *d.inputs)
        symbols = ca.vertcat(d.time, *d.parameters.values(), *d.inputs.values())
        return ca.substitute(value, symbols, ca.vertcat(*(v[name] for name in names)))

    @cached_property
    def rest(self) -> Description:
        """What is in no unit; bodies that only units hold are free."""
        d = self.description
        bodies = {name: b for name, b in d.bodies.items() if name not in self.unit_of}
        elements = {e.name: e for e in self.own_elements}
        rest = replace(
            d,
            bodies=Record(bodies),
            markers=Record({n: m for n, m in d.markers.items() if not self._across(m)}),
            joints=Record({joint.name: joint for joint in self.inside}),
            forces=Record({n: e for n, e in d.forces.items() if n in elements}),
            constraints=Record({n: e for n, e in d.constraints.items() if n in elements}),
            inputs=Record({}),
            outputs=Record({}),
            units=Record({}),
        )
        return free_unreached(rest)

    # --- what is between the parts ----------------------------------------------------------------

    @property
    def turning(self) -> list[str]:
        """Angles of joints between parts whose turns are counted: something may ask for them."""
        return [name for joint in self.between for name in joint.angles] if self.acting else []

    def _quantity(self, quantity: Callable[[Motion], Any]) -> Callable[[PartsView], SX]:
        """A quantity of the motion of the whole, as compose takes it."""
        return lambda v: self.translate(column(quantity(self.chart(v).motion)), v)

    def _rows_in_whole(self, rows: Callable[[Motion], Any]) -> Callable[[PartsView], SX]:
        """The same of what holds, which takes angles with all their turns."""
        return lambda v: self.translate(column(rows(self.chart(v).asked)), v)

    def chart(self, v: PartsView) -> PartsChart:
        """The chart of the whole; one for all who ask."""
        if self._chart is None or self._chart[0] is not v:
            self._chart = v, PartsChart(self, v)
        return self._chart[1]

    _chart: tuple[PartsView, PartsChart] | None = None

    def _rows(self) -> Iterator[tuple[str, Any]]:
        for name, own in self.carried.items():
            if own.mount is not None:
                yield f"{name}.ground", self._mount_rows(name, own)
        for joint in self.between:
            yield joint.name, partial(self._closing_rows, joint)
        for element in self.holding:
            yield element.name, self._rows_in_whole(partial(_rows_of, element))

    def _closing_rows(self, joint: Joint, v: PartsView) -> dict[str, SX]:
        """The rows of a joint, by the labels that they have elsewhere."""
        rows = joint.kind.closing(*self.chart(v).motion.across(joint))
        return {label: self.translate(row, v) for label, row in rows}

    def _mount_rows(self, name: str, own: Carried) -> WithRate:
        """A unit's frame stays in its place: p = p_G and G = R, with the rates v = v_G and
        ω = Rᵀω_G, which are solved for the speeds of the frame."""
        ground, joint = self.units[name].ground, own.description.joints[str(own.mount)]
        at, speeds = ([f"{name}.{x}" for x in names] for names in (joint.coordinates, joint.speeds))

        def place(v: PartsView) -> dict[str, SX]:
            R, m = self.chart(v).pose(_mount(name))[0], self.chart(v).motion
            shift = ca.vertcat(*(v[x] for x in at[:3])) - self.translate(m.position(ground), v)
            turn = self.translate(vee(m.rotation(ground).T @ R), v)
            return _by_axis("position", shift) | _by_axis("rotation", turn)

        def motion(v: PartsView) -> dict[str, SX]:
            R, m = self.chart(v).pose(_mount(name))[0], self.chart(v).motion
            omega = self.translate(R.T @ m.angular_velocity(ground), v)
            return _by_axis("rotation", ca.vertcat(*(v[x] for x in speeds[3:])) - omega)

        return WithRate(place, motion)

    def _forces(self) -> dict[str, Callable[[PartsView], SX]]:
        """By virtual power, along every speed of the whole."""
        if not self.acting:
            return {}
        return {
            f"{prefix}{speed}": self._effort(f"{prefix}{speed}")
            for _, prefix, part in read_parts(self.parts)
            for speed in part.terms.symbols.speeds
        }

    def _effort(self, name: str) -> Callable[[PartsView], SX]:
        return lambda v: self.chart(v).efforts[v.symbols.speeds.index(name)]

    def _outputs(self) -> Iterator[tuple[str, Callable[[PartsView], SX]]]:
        """Joints between parts, markers that no part has, and the system's own."""
        d = self.description
        for joint in self.between:
            for name in joint.coordinates:
                yield name, self._quantity(partial(ChartMotion.coordinate, name=name))
        inside, within = self._within("markers"), self._within("outputs")
        for name in d.markers:
            if name not in inside and (name not in self.rest.markers or not self.rest.bodies):
                yield name, self._quantity(partial(ChartMotion.position, place=name))
        for name, value in d.outputs.items():
            if name not in within:
                yield name, self._quantity(value)

    # --- where it begins --------------------------------------------------------------------------

    def _reference(self) -> Iterator[tuple[str, float]]:
        """Frames that ride on bodies begin where these are."""
        for name, own in self.carried.items():
            if own.mount is not None:
                R, p = self._reference_pose(self.units[name].ground)
                values = [*p, *np.array(ca.evalf(quaternion_of(SX(ca.DM(R))))).ravel()]
                joint = own.description.joints[own.mount]
                yield from (
                    (f"{name}.{each}", float(value))
                    for each, value in zip(joint.coordinates, values, strict=True)
                )

    def _reference_pose(self, place: Marker) -> tuple[np.ndarray, np.ndarray]:
        """Where a place is with all parts in their references."""
        d, body = self.description, place.body.name
        at, turned = (d.default_value(x) for x in (place.at, place.rotation))
        if place.body is d.ground:
            return turned, at.ravel()
        key, name = self.home(body)
        R, p = _reference_of(self.parts[key], name)
        if key != self.itself:
            G, origin = self._reference_pose(self.units[key].ground)
            R, p = G @ R, origin + G @ p
        return R @ turned, p + (R @ at).ravel()


class PartsChart(Chart):
    """Where all bodies of a system are, in the coordinates of its parts."""

    def __init__(self, whole: Whole, v: PartsView) -> None:
        self.whole, self.symbols, self.description = whole, v.symbols, whole.description
        self.closed = whole.between
        self._parts = {part.key: part for part in v.parts}
        self.reference = (0.0,) * len(self.symbols.coordinates)
        turns = {name: f"{name} turns" for name in whole.turning}
        self.counted = {name: self.symbols.coordinates.index(q) for name, q in turns.items()}
        self.joint_coordinates = {
            part.outer_names([name])[0]: tuple(part.q.start + k for k in indices)
            for part in v.parts
            for name, indices in part.terms.chart.joint_coordinates.items()
        }
        self.joint_speeds = {
            part.outer_names([name])[0]: tuple(part.u.start + k for k in indices)
            for part in v.parts
            for name, indices in part.terms.chart.joint_speeds.items()
        }
        extra = len(turns)  # coordinates that decide nothing
        self.N = ca.diagcat(SX(extra, 0), *(part.pieces.N for part in v.parts))
        self.n = ca.vertcat(SX(extra, 1), *(part.pieces.n for part in v.parts))
        self._frames: dict[Frame, list[SX]] = {}

    @cached_property
    def asked(self) -> ChartMotion:
        """The motion for what acts, which takes angles with all their turns."""
        return _Counted(self)

    @cached_property
    def efforts(self) -> SX:
        """Generalized forces of all that acts between parts; those of rotors contain u̇."""
        m, acting = self.asked, []
        for element in self.whole.acting:
            with blamed(element.called):
                acting += [*element.conservative(m), *element.nonconservative(m)]
        for element in self.whole.holding:
            count = len(_rows_of(element, m))
            if element.friction_actions(m, SX.sym("lambda", count)):
                raise UnsupportedError(
                    f"composition: {element.called} drags friction along between parts; use "
                    "equations()"
                )
        turning = spins(self, self.whole.acting)
        inertial = (J * D.T * (D @ self.symbols.udot + c) for J, _, D, c in turning)
        return self.whole.translate(generalized(self, acting) - sum(inertial, SX(0)), self.symbols)

    # --- what moves -------------------------------------------------------------------------------

    def rate(self, expression: SX) -> SX:
        """The same, also of what the description says with its own symbol of time."""
        own = ca.jtimes(expression, self.description.time, SX(1))
        return super().rate(expression) + own

    def pose(self, frame: Frame) -> Pose:
        p, R, *_ = self._frame(frame)
        return R, p

    def twist(self, frame: Frame) -> Pair:
        _, R, omega, v, *_ = self._frame(frame)
        return R.T @ omega, R.T @ v

    def acceleration(self, frame: Frame, moving: bool = True) -> Pair:
        _, R, _, _, epsilon, w = self._frame(frame)
        own = R.T @ epsilon, R.T @ w
        if moving:
            return own
        s = self.symbols
        rest = ca.substitute(list(own), [s.udot], [SX.zeros(s.udot.numel())])
        return rest[0], rest[1]

    def _frame(self, frame: Any) -> list[SX]:
        """p, R, ω, v, α, a of a body (or of the frame that a unit rides on), in the world."""
        if frame == "ground":
            return [SX.zeros(3), SX.eye(3), *(SX.zeros(3) for _ in range(4))]
        if frame not in self._frames:
            self._frames[frame] = self._find(frame)
        return self._frames[frame]

    def _find(self, frame: Any) -> list[SX]:
        if isinstance(frame, tuple):
            return _motion_of(self._parts[frame[1]], str(self.whole.carried[frame[1]].mount))
        key, name = self.whole.home(frame)
        return _motion_of(self._parts[key], name)


class _Counted(ChartMotion):
    """A motion that refuses angles whose turns nobody counts."""

    def turned(self, name: str, angle: SX, rate: Callable[[], SX], near: Any = None) -> SX:
        if near is None and name not in self._chart.counted:
            raise UnsupportedError(
                f"composition: {name!r} is measured between parts, and its turns are not counted; "
                "use equations()"
            )
        return super().turned(name, angle, rate, near)


# --- small things ---------------------------------------------------------------------------------


def _mount(name: str) -> Frame:
    """What the chart calls the frame that a unit rides on."""
    return "mount", name


def _motion_of(placed: PlacedPart, body: str) -> list[SX]:
    """p, R, ω, v, α, a of a body of a part, in the world."""
    m = placed.terms.chart.motion
    found = ca.horzcat(
        m.position(body), m.rotation(body), m.angular_velocity(body), m.velocity(body),
        m.angular_acceleration(body), m.acceleration(body),
    )  # fmt: skip
    (value,) = placed.put_in(ca.densify(found))
    return [value[:, 0], value[:, 1:4], *(value[:, k] for k in range(4, 8))]


def _reference_of(part: Part, body: str) -> tuple[np.ndarray, np.ndarray]:
    chart = part.terms.chart
    s, (R, p) = chart.symbols, (chart.motion.rotation(body), chart.motion.position(body))
    f = ca.Function("pose", [s.q, s.p, s.t], [ca.densify(R), ca.densify(p)])
    values = f(np.array(chart.reference), np.array(s.defaults), 0.0)
    return np.array(values[0]), np.array(values[1]).ravel()


def _by_axis(what: str, values: SX) -> dict[str, SX]:
    return {f"{what} {x}": value for x, value in zip("xyz", ca.vertsplit(values), strict=True)}


def _rows_of(constraint: Constraint, m: Motion) -> list[SX]:
    return [row for level in LEVELS for _, row in constraint.rows(m, level)]


def _uses(element: Element, inputs: Mapping[str, SX]) -> bool:
    """True if an input is among what an element was given."""
    known = {symbol.__hash__() for symbol in inputs.values()}
    return any(
        symbol.__hash__() in known
        for value in element._given.values()
        for symbol in _symbols(value)
    )


def _symbols(value: Any) -> Iterator[SX]:
    if isinstance(value, SX):
        yield from ca.symvar(value)
    elif isinstance(value, (list, tuple, Mapping)):
        for item in value.values() if isinstance(value, Mapping) else value:
            yield from _symbols(item)
