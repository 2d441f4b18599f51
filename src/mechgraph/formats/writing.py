"""A system on its way to a document: what it was made with, as plain data."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
import scipy.spatial.transform
from casadi import SX

from ..errors import ModelError, shown
from ..model import kinds
from ..model.bodies import Body, Marker
from ..model.contact.friction import Friction
from ..model.described import Described, canonical
from ..model.description import Description
from ..model.fields import ANYTHING, Field, fields_of
from ..model.joint_friction import DryFriction
from ..model.joint_limits import Limits
from ..model.joint_options import fitted
from ..model.joints import Chain, Joint
from ..model.subsystem import Unit
from ..model.transitions import Ball, Directed, Rotation, Screw, Transition, Translation
from ..model.visuals import Mesh
from ..tables.grid import Grid
from ..tables.table import Table
from . import document, meshes
from .grammar import Formula
from .reading import ORDERED, VERSION, Reading
from .spelling import Tables, function_text, name_text, noted, spelled
from .values import type_word, typed_values


class Writing:
    """What a description says, as plain data; problems are gathered."""

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
        fittings = (e.name for e in said.elements if e.joint_option)
        self.come_along = {*parts, *fittings}

    def data(self) -> dict[str, Any]:
        said = self.said
        data: dict[str, Any] = {"mechgraph": VERSION, "name": said.name}
        if said.plane:
            data["plane"] = said.plane
        if not said.gravity.is_zero():
            data["gravity"] = self._value(said.gravity)
        kept = [name for name in said.parameters if name not in self.own]
        sections = {
            "parameters": {n: said.defaults[n] for n in kept if n not in self.inner["parameters"]},
            "inputs": [n for n in said.inputs if n not in self.inner["inputs"]],
            "bodies": self._section("bodies", self._body),
            "markers": self._section("markers", self._marker),
            "placed": {
                name: self._try(name, self._unit, unit) for name, unit in said.units.items()
            },
            "joints": self._section("joints", self._joint),
            "forces": self._section("forces", lambda e: self._element(e, kinds.FORCES)),
            "constraints": self._section(
                "constraints", lambda e: self._element(e, kinds.CONSTRAINTS)
            ),
            "speeds": {
                n: self._try(f"speed {n!r}", self._arguments, s) for n, s in said.speeds.items()
            },
            "outputs": {
                n: self._try(f"output {n!r}", self._value, v)
                for n, v in said.outputs.items()
                if n not in self.inner["outputs"]
            },
            "visual": self._visuals(),
        }
        if self.problems:
            raise ModelError(self.problems)
        tables = {name: _points(table) for name, table in self.tables.items()}
        data |= {key: value for key, value in {"tables": tables, **sections}.items() if value}
        return self._ordered(data)

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

    def _section(self, name: str, write: Callable[[Any], Any]) -> dict[str, Any]:
        return {
            key: self._try(f"{name.removesuffix('s')} {key!r}", write, element)
            for key, element in getattr(self.said, name).items()
            if key not in self.inner[name] and key not in self.come_along
        }

    def _try(self, what: str, write: Callable[[Any], Any], element: Any) -> Any:
        try:
            return write(element)
        except ModelError as error:
            self.problems += [f"{what}: {problem}" for problem in error.problems]

    def _ordered(self, data: dict[str, Any]) -> dict[str, Any]:
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
        """What it was made with, where that is not what it would be made with anyway."""
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
        return {"type": word, **places, **own, **said, **sprung, **self._fitted(joint)}

    def _fitted(self, joint: Joint) -> dict[str, Any]:
        """Options of a joint as it is built; by coordinate, if there are several."""
        out: dict[str, Any] = {}
        for option, values in fitted(joint, self.said.elements).items():
            written = {key: self._fitting(value) for key, value in values.items()}
            single = len(joint.coordinates) == 1
            out[option] = written[joint.coordinates[0]] if single else written
        return out

    def _fitting(self, value: Any) -> Any:
        smooth = {"smooth": True} if isinstance(value, Friction) else {}
        return {**smooth, **self._value(value)} if smooth else self._value(value)

    def _element(self, element: Any, known: Mapping[str, type]) -> dict[str, Any]:
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
        ground = unit.ground._given
        inside = Writing(unit.inside, self.folder).data()
        own = {name for e in unit.inside.elements for name in e.parameters()}
        given = {
            kind: {
                name: self._value(unit.symbols[name])
                for name in getattr(unit.inside, kind)
                if name not in own and not self._same(unit.called(name), unit.symbols[name])
            }
            for kind in ("parameters", "inputs")
        }
        on = "" if ground["on"] is self.said.ground else self._value(ground["on"])
        where = {
            "at": self._value(ground["at"])
            if canonical(ground["at"]) != canonical((0, 0, 0))
            else None,
            "orientation": self._value(ground["orientation"]),
            "on": on,
        }
        return {
            "system": inside,
            **{k: v for k, v in {**where, **given}.items() if v not in (None, "", {})},
        }

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
            return _plain(float(x)) if x.is_constant() else spelled(x, self.names, self.tables)
        if x.is_column():
            return [self._expression(entry) for entry in x.elements()]
        return [
            [self._expression(entry) for entry in ca.vec(x[row, :]).elements()]
            for row in range(x.shape[0])
        ]

    def _formula(self, value: Formula) -> str | list[str]:
        for known in value.names.values():
            if isinstance(known, (Table, Grid)):
                noted(known, self.tables)
        return value.text if isinstance(value.text, str) else list(value.text)

    def _place(self, place: Body | Marker) -> Any:
        known = self.said.places.get(place.name)
        if (
            isinstance(place, Body)
            or known is place
            or (isinstance(known, Body) and place == Marker(known.name, known))
        ):
            return place.name
        return {"name": place.name, **self._marker(place)}

    def _described(self, value: Described) -> dict[str, Any]:
        if isinstance(value, (Friction, Limits, DryFriction)):
            return self._arguments(value)
        word = type_word(type(value))
        if typed_values().get(word) is not type(value):
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
    inner: dict[str, set[str]] = {section: set() for section in (*ORDERED, "speeds")}
    for unit in said.units.values():
        for section in ("bodies", "markers", "joints", "outputs"):
            inner[section] |= {unit.called(name) for name in getattr(unit, section)}
        inner["markers"].add(unit.ground.name)
        elements = {element.name for element in unit.elements.values()}
        inner["forces"] |= elements
        inner["constraints"] |= elements
        for section in ("parameters", "inputs"):
            inner[section] |= {unit.called(name) for name in getattr(unit.inside, section)}
    return inner


def _plain(value: float) -> float:
    return int(value) if value == int(value) and abs(value) < 1e15 else value


_WRITERS: dict[Any, Callable[[Writing, Any], Any]] = {
    scipy.spatial.transform.Rotation: lambda self, value: self._value(value.as_matrix()),
    (bool, str, type(None)): lambda writing, value: value,
    (int, float, np.generic): lambda writing, value: _plain(float(value)),
    (Table, Grid): lambda writing, value: noted(value, writing.tables),
    Formula: Writing._formula,
    (SX, ca.DM): Writing._expression,
    (Body, Marker): Writing._place,
    Joint: lambda writing, value: value.name,
    Described: Writing._described,
    Mapping: lambda writing, value: {key: writing._value(item) for key, item in value.items()},
    (list, tuple): lambda writing, value: [writing._value(item) for item in value],
    np.ndarray: lambda writing, value: [writing._value(item) for item in value],
}
