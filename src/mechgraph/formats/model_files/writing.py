"""A system on its way to a document: what it was made with, as plain data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import scipy.spatial.transform
from casadi import SX

from ...errors import ModelError, shown
from ...model import kinds
from ...model.bodies import Body, Marker
from ...model.contact.friction import Friction
from ...model.described import Described, canonical
from ...model.description import Description
from ...model.fields import ANYTHING, Field, fields_of
from ...model.joint_friction import DryFriction
from ...model.joint_limits import Limits
from ...model.joint_options import options_of
from ...model.joints import Chain, Joint
from ...model.subsystem import Unit
from ...model.transitions import Ball, Directed, Rotation, Screw, Transition, Translation
from ...model.visuals import Mesh
from ...tables.grid import Grid
from ...tables.table import Table
from . import document, meshes
from .arguments import type_word, value_types
from .expressions import Formula
from .sections import ORDERED, VERSION, Reading
from .spelling import Tables, function_text, name_text, note_table, spell


class Writing:
    """A description on its way to plain data; problems are gathered."""

    def __init__(self, said: Description, folder: Path | None = None) -> None:
        self.said, self.folder, self.problems = said, folder, list[str]()
        self.tables: Tables = {}
        symbols = {"time": said.time, **said.parameters, **said.inputs}
        self.names = {
            symbol.__hash__(): "time" if key == "time" else name_text(key)
            for key, symbol in symbols.items()
        }
        self.inner = _inner(said)
        springs = [e for e in said.forces.values() if e.joint_option == "stiffness"]
        self.springs = {e._given["joint"]: e for e in springs}
        self.own = {name for e in said.elements for name in e.parameters()}
        parts = {part.name for e in said.elements for part in e.parts()}
        options = (e.name for e in said.elements if e.joint_option)
        self.come_along = {*parts, *options}

    def data(self) -> dict[str, Any]:
        said, inner = self.said, self.inner
        kept = [n for n in said.parameters if n not in self.own and n not in inner["parameters"]]
        sections = {
            "plane": said.plane,
            "gravity": None if said.gravity.is_zero() else self._value(said.gravity),
            "parameters": {name: said.defaults[name] for name in kept},
            "inputs": [name for name in said.inputs if name not in inner["inputs"]],
            "bodies": self._section("bodies", "body", self._body),
            "markers": self._section("markers", "marker", self._marker),
            "placed": self._section("units", "placed", self._unit),
            "joints": self._section("joints", "joint", self._joint),
            "forces": self._section("forces", "force", partial(self._element, kinds.FORCES)),
            "constraints": self._section(
                "constraints", "constraint", partial(self._element, kinds.CONSTRAINTS)
            ),
            "speeds": self._section("speeds", "speed", self._arguments),
            "outputs": self._section("outputs", "output", self._value),
            "visual": self._visuals(),
        }
        if self.problems:
            raise ModelError(self.problems)
        head = {"mechgraph": VERSION, "name": said.name}
        tables = {name: _points(table) for name, table in self.tables.items()}
        written = {"tables": tables, **sections}
        return self._with_order(head | {key: value for key, value in written.items() if value})

    def _visuals(self) -> dict[str, list[Any]]:
        """How bodies are drawn; meshes that come from no file are told, and left out."""
        own = {k: v for k, v in self.said.visuals.items() if k not in self.inner["bodies"]}
        data = {
            body: [
                meshes.as_data(x, self.folder) if isinstance(x, Mesh) else self._value(x)
                for x in each
            ]
            for body, each in own.items()
        }
        lost = ", ".join(body for body, each in data.items() if None in each)
        if lost:
            warnings.warn(f"meshes that are of no file are not written: {lost}", stacklevel=6)
        kept = {body: [x for x in each if x is not None] for body, each in data.items()}
        return {body: each for body, each in kept.items() if each}

    def _section(self, name: str, word: str, write: Callable[[Any], Any]) -> dict[str, Any]:
        """Elements of the description's own, as they are written; problems are kept."""
        written = {}
        for key, element in getattr(self.said, name).items():
            if key not in self.inner[name] and key not in self.come_along:
                try:
                    written[key] = write(element)
                except ModelError as error:
                    self.problems += [f"{word} {key!r}: {problem}" for problem in error.problems]
        return written

    def _with_order(self, data: dict[str, Any]) -> dict[str, Any]:
        """With the order of elements, where reading would make another one."""
        read = _read(data)
        order = {
            section: list(wanted)
            for section in ORDERED
            if list(wanted := getattr(self.said, section)) != list(getattr(read, section))
        }
        return {**data, "order": order} if order else data

    # --- elements ---------------------------------------------------------------------------------

    def _arguments(
        self, element: Described, without: tuple[str, ...] = ("name",)
    ) -> dict[str, Any]:
        """The arguments that it was made with, where they are not its defaults."""
        known, fields = type(element).__signature__.parameters, fields_of(type(element))
        return {
            key: self._value(value, fields[key])
            for key, value in element._given.items()
            if key not in without and canonical(value) != canonical(known[key].default)
        }

    def _body(self, body: Body) -> dict[str, Any]:
        """With mass and inertia, also where they are zero; a frame has nothing."""
        said = self._arguments(body)
        always = {key: self._value(body._given[key]) for key in ("mass", "inertia")}
        return {**always, **said} if said else {}

    def _marker(self, marker: Marker) -> dict[str, Any]:
        said = self._arguments(marker)
        return {"body": said.pop("on"), **said}

    def _joint(self, joint: Joint) -> dict[str, Any]:
        words = {kind: word for word, kind in kinds.JOINTS.items()}
        said = self._arguments(joint, ("name", "kind"))
        places = {key: said.pop(key) for key in ("parent", "child")}
        if isinstance(joint.kind, Chain):
            own = {"transitions": [self._step(step) for step in joint.kind.chain]}
            word = "joint"
        elif type(joint.kind) in words:
            own, word = self._arguments(joint.kind), words[type(joint.kind)]
        else:
            raise ModelError(
                f"its kind {type(joint.kind).__name__} is a class of your own, which no file has"
            )
        spring = self.springs.get(joint.name)
        sprung = {} if spring is None else self._arguments(spring, ("name", "joint", "count"))
        return {"type": word, **places, **own, **said, **sprung, **self._joint_options(joint)}

    def _joint_options(self, joint: Joint) -> dict[str, Any]:
        """Options of a joint as it is built; by coordinate, if there are several."""
        out: dict[str, Any] = {}
        for option, values in options_of(joint, self.said.elements).items():
            written = {key: self._option(value) for key, value in values.items()}
            single = len(joint.coordinates) == 1
            out[option] = written[joint.coordinates[0]] if single else written
        return out

    def _option(self, value: Any) -> Any:
        written = self._value(value)
        return {"smooth": True, **written} if isinstance(value, Friction) else written

    def _element(self, known: Mapping[str, type], element: Any) -> dict[str, Any]:
        word = next((word for word, kind in known.items() if kind is type(element)), None)
        if word is None:
            raise ModelError(
                f"{type(element).__name__} is a class of your own, which no file has; "
                "keep this system in Python"
            )
        return {"type": word, **self._arguments(element)}

    def _step(self, step: Transition) -> dict[str, Any]:
        word = {Rotation: "rot", Translation: "move", Screw: "screw", Ball: "ball"}[type(step)]
        amount = step.amount
        if not isinstance(step, Directed):
            return {word: amount}
        by = {"coordinate": amount} if isinstance(amount, str) else {"by": self._value(amount)}
        pitch = {"pitch": self._value(step.pitch)} if isinstance(step, Screw) else {}
        return {word: self._value(step.direction), **pitch, **by}

    def _unit(self, unit: Unit) -> dict[str, Any]:
        where = self._arguments(unit.ground)
        if unit.ground._given["on"] is self.said.ground:
            del where["on"]
        inside = Writing(unit.inside, self.folder).data()
        own = {name for e in unit.inside.elements for name in e.parameters()}
        given = {
            kind: {
                name: self._value(unit.symbols[name])
                for name in getattr(unit.inside, kind)
                if name not in own and not self._same(unit.outer_name(name), unit.symbols[name])
            }
            for kind in ("parameters", "inputs")
        }
        return {"system": inside, **where, **{key: said for key, said in given.items() if said}}

    def _same(self, name: str, symbol: SX) -> bool:
        own = {**self.said.parameters, **self.said.inputs}.get(name)
        return own is not None and bool(ca.is_equal(own, symbol))

    # --- values -----------------------------------------------------------------------------------

    def _value(self, value: Any, field: Field = ANYTHING) -> Any:
        for kind, write in _WRITERS.items():
            if isinstance(value, kind):
                return write(self, value)
        if callable(value):
            return function_text(value, self.names, self.said.time, field.arguments, self.tables)
        raise ModelError(f"{shown(value)} cannot be written")

    def _expression(self, value: Any) -> Any:
        x = ca.densify(SX(value))
        if x.is_scalar():
            return _plain(float(x)) if x.is_constant() else spell(x, self.names, self.tables)
        if x.is_column():
            return [self._expression(entry) for entry in x.elements()]
        return [
            [self._expression(entry) for entry in ca.vec(x[row, :]).elements()]
            for row in range(x.shape[0])
        ]

    def _formula(self, value: Formula) -> str | list[str]:
        for known in value.names.values():
            if isinstance(known, (Table, Grid)):
                note_table(known, self.tables)
        return value.text if isinstance(value.text, str) else list(value.text)

    def _place(self, place: Body | Marker) -> Any:
        known = self.said.places.get(place.name)
        is_frame = isinstance(known, Body) and place == Marker(known.name, known)
        if isinstance(place, Body) or known is place or is_frame:
            return place.name
        return {"name": place.name, **self._marker(place)}

    def _write_value_type(self, value: Described) -> dict[str, Any]:
        if isinstance(value, (Friction, Limits, DryFriction)):
            return self._arguments(value)
        word = type_word(type(value))
        if value_types().get(word) is not type(value):
            raise ModelError(f"{type(value).__name__} is a class of your own, which no file has")
        return {"type": word, **self._arguments(value)}


def _read(data: dict[str, Any]) -> Description:
    root = document.read(document.json_text(data), is_json=True)
    return Reading(root, Path()).model_file().system.snapshot()


def _points(table: Table | Grid) -> dict[str, Any]:
    words: dict[str, Any] = {"kind": table.kind, "outside": table.outside}
    points = {"x": table.x.tolist(), "y": table.y.tolist()}
    if isinstance(table, Grid):
        points["z"], along = table.z.tolist(), table.outside
        words["outside"] = along[0] if along[0] == along[1] else list(along)
    usual = {"kind": "linear", "outside": "hold"}
    return {**points, **{key: word for key, word in words.items() if word != usual[key]}}


def _inner(said: Description) -> dict[str, set[str]]:
    """Names, by section, of what comes with placed systems."""
    inner: dict[str, set[str]] = {section: set() for section in (*ORDERED, "speeds", "units")}
    for unit in said.units.values():
        for section in ("bodies", "markers", "joints", "outputs"):
            inner[section] |= {unit.outer_name(name) for name in getattr(unit, section)}
        inner["markers"].add(unit.ground.name)
        elements = {element.name for element in unit.elements.values()}
        inner["forces"] |= elements
        inner["constraints"] |= elements
        for section in ("parameters", "inputs"):
            inner[section] |= {unit.outer_name(name) for name in getattr(unit.inside, section)}
    return inner


def _plain(value: float) -> float:
    return int(value) if value == int(value) and abs(value) < 1e15 else value


_WRITERS: dict[Any, Callable[[Writing, Any], Any]] = {
    scipy.spatial.transform.Rotation: lambda self, value: self._value(value.as_matrix()),
    (bool, str, type(None)): lambda writing, value: value,
    (int, float, np.generic): lambda writing, value: _plain(float(value)),
    (Table, Grid): lambda writing, value: note_table(value, writing.tables),
    Formula: Writing._formula,
    (SX, ca.DM): Writing._expression,
    (Body, Marker): Writing._place,
    Joint: lambda writing, value: value.name,
    Described: Writing._write_value_type,
    Mapping: lambda writing, value: {key: writing._value(item) for key, item in value.items()},
    (list, tuple): lambda writing, value: [writing._value(item) for item in value],
    np.ndarray: lambda writing, value: [writing._value(item) for item in value],
}
