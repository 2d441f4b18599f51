"""How an argument in a model file is read: as its annotation in Python says what it is."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from casadi import SX

from ...arguments import one_of
from ...errors import ModelError, shown, unknown
from ...model import kinds
from ...model.bodies import Body, Marker
from ...model.contact.friction import Friction
from ...model.described import Described
from ...model.element import Element
from ...model.fields import Field, Kind, fields_of
from ...model.joint_friction import DryFriction
from ...model.joint_limits import Limits
from ...model.joints import Joint, JointKind
from ...model.speeds import Speed
from ...model.subsystem import Unit
from ...model.subsystem_view import PlacedFunction
from ...model.system import System
from ...model.transitions import Transition, ball, move, rot, screw
from ...tables.table import Table
from .document import Node
from .expressions import Formula, asks_motion, evaluate, words

SECTIONS: dict[str, Mapping[str, Any]] = {
    "joints": kinds.JOINTS,
    "forces": kinds.FORCES,
    "constraints": kinds.CONSTRAINTS,
}
AXIS = re.compile(r"[-+]?[xyz]")
_STEPS: dict[str, Any] = {"rot": rot, "move": move, "screw": screw, "ball": ball}


OTHERS = (Element, Body, Marker, Joint, JointKind, Transition, Unit, Speed, PlacedFunction, Formula)


@cache
def typed_values() -> dict[str, type]:
    """Classes of mechgraph's own that stand inside of elements, by the words of files."""
    found, todo = dict[str, type](), [Described]
    while todo:
        for kind in todo.pop().__subclasses__():
            todo.append(kind)
            own = kind.__module__.startswith("mechgraph.model") and kind.__name__[0] != "_"
            if own and not issubclass(kind, OTHERS) and not inspect.isabstract(kind):
                found[type_word(kind)] = kind
    return found


def type_word(kind: type) -> str:
    """What files call a class: LinearTyre is ``linear_tyre``."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", kind.__name__).lower()


class Values:
    """Arguments of elements of a ``system``; ``names`` are the symbols that expressions may use."""

    system: System
    names: dict[str, Any]
    formulas: list[tuple[int, Formula]]  # of the motion, with their lines

    def _given(self, node: Node) -> dict[str, Node]:
        if not isinstance(node.value, dict):
            raise node.refusal("a mapping such as {mass: 1.0}")
        return dict(node.value)

    def _type(self, given: dict[str, Node], known: Mapping[str, Any]) -> str:
        word = given.pop("type", None)
        if word is None:
            raise ModelError(f"type is missing; it is one of {', '.join(known)}")
        if not isinstance(word.value, str) or word.value not in known:
            elsewhere = (each for each, words in SECTIONS.items() if str(word.value) in words)
            section = next(elsewhere, None)
            there = "" if section is None else f" A {word.value} stands under {section}."
            raise ModelError(f"{unknown('type', word.plain(), known)}.{there}")
        return str(word.value)

    def _value(self, field: Field, node: Node) -> Any:
        """An argument, by what it is."""
        if node.value is None and field.optional:
            return None
        if field.item is not None:
            return self._list(field.item, node)
        if field.kind == "function":
            return self._formula(node, field.arguments)
        return FORMS[field.kind].read(self, node)

    def _list(self, item: Field, node: Node) -> list[Any]:
        if not isinstance(node.value, list):
            raise node.refusal(f"a list of {FORMS[item.kind].plural}")
        return [self._value(item, entry) for entry in node.value]

    def _text(self, node: Node) -> str:
        if not isinstance(node.value, str):
            raise node.refusal("a name")
        return node.value

    def _place(self, node: Node) -> Any:
        """A name, or a frame on a body."""
        if not isinstance(node.value, dict):
            return self._text(node)
        given, fields = self._given(node), fields_of(Marker)
        on, called = given.pop("body", None), given.pop("name", None)
        if on is None or {*given} - {"at", "orientation"}:
            raise ModelError("a place is a name, or {body: arm, at: […], orientation: …}")
        arguments = {key: self._value(fields[key], item) for key, item in given.items()}
        name = str(on.value if called is None else called.value)
        return Marker(name, self.system._known(on.value), **arguments)

    def _node(self, node: Node) -> Any:
        """What a rope passes: a place, or a pulley with its type."""
        typed = isinstance(node.value, dict) and "type" in node.value
        return self._typed(node) if typed else self._place(node)

    def _flag(self, node: Node) -> Any:
        if not isinstance(node.value, bool):
            raise node.refusal("true or false")
        return node.value

    def _axis(self, node: Node) -> Any:
        if isinstance(node.value, str) and AXIS.fullmatch(node.value):
            return node.value.removeprefix("+")
        if isinstance(node.value, str) and node.value not in self.names:
            raise node.refusal("x, y, z, -x, -y, -z or three numbers")
        return self._number(node)

    def _orientation(self, node: Node) -> Any:
        items = node.value
        several = items if isinstance(items, list) else []
        if several and all(isinstance(x.value, list) and len(x.value) == 2 for x in several):
            return [(self._axis(item[0]), self._number(item[1])) for item in items]
        if len(several) == 2 and isinstance(several[0].value, str):
            return items[0].value, self._number(items[1])
        if isinstance(items, dict):
            return {key: self._axis(item) for key, item in items.items()}
        return self._number(node)

    def _number(self, node: Node) -> Any:
        """Numbers: a text is an expression of parameters, inputs and time."""
        if isinstance(node.value, list):
            return [self._number(item) for item in node.value]
        if isinstance(node.value, dict):
            return {key: self._number(item) for key, item in node.value.items()}
        if isinstance(node.value, str):
            known = self.names.get(node.value)
            return known if isinstance(known, Table) else evaluate(node.value, self.names)
        if isinstance(node.value, bool):
            raise ModelError(f"must be a number, got {str(node.value).lower()}")
        return node.value

    def _number_or_formula(self, node: Node) -> Any:
        texts = [n.value for n in (node.value if isinstance(node.value, list) else [node])]
        if any(isinstance(text, str) and asks_motion(text) for text in texts):
            return self._formula(node)
        return self._number(node)

    def _formula(self, node: Node, arguments: tuple[str, ...] = ()) -> Formula:
        text = node.plain()
        numbers = (int, float)
        texts = [
            repr(each) if isinstance(each, numbers) and not isinstance(each, bool) else each
            for each in (text if isinstance(text, list) else [text])
        ]
        if not all(isinstance(each, str) for each in texts):
            raise node.refusal("an expression, or a list of them")
        used = set[str]().union(*map(words, texts))
        names = {key: x for key, x in self.names.items() if {key, f"{key}.inside"} & used}
        formula = Formula(texts if isinstance(text, list) else texts[0], names, arguments)
        if arguments:
            formula(*(SX.sym(name) for name in arguments))
        else:
            self.formulas.append((node.line, formula))
        return formula

    def _any(self, node: Node) -> Any:
        """Numbers, a formula, or what has a type of its own: a surface, a law, a curve."""
        if isinstance(node.value, dict) and "type" in node.value:
            return self._typed(node)
        if isinstance(node.value, list) and any(isinstance(n.value, dict) for n in node.value):
            return [self._any(item) for item in node.value]
        return self._number_or_formula(node)

    def _typed(self, node: Node) -> Any:
        """A value of a class of mechgraph's that is no element: ``{type: sphere, at: ball, …}``."""
        given, known = self._given(node), typed_values()
        kind = known[self._type(given, known)]
        fields = fields_of(kind)
        for key in given:
            one_of("argument", key, fields, ModelError)
        made = _made(kind, {key: self._value(fields[key], item) for key, item in given.items()})
        return made.with_places(self.system._known)

    def _friction(self, node: Node) -> Any:
        if not isinstance(node.value, dict):
            return self._number(node)
        return _made(Friction, {key: self._number(item) for key, item in node.value.items()})

    def _limits(self, node: Node) -> Any:
        return self._law(node, Limits)

    def _joint_friction(self, node: Node) -> Any:
        """One that sticks, or with ``smooth: true`` one of contacts."""
        if isinstance(node.value, dict) and "smooth" in node.value:
            return self._friction(
                replace(node, value={k: v for k, v in node.value.items() if k != "smooth"})
            )
        return self._law(node, DryFriction)

    def _law(self, node: Node, kind: type) -> Any:
        """Numbers, a law by its arguments, or one for each coordinate."""
        if not isinstance(node.value, dict):
            return self._number(node)
        if {*node.value} <= {*inspect.signature(kind).parameters}:
            return _made(kind, {key: self._number(item) for key, item in node.value.items()})
        read = self._limits if kind is Limits else self._joint_friction
        return {key: read(item) for key, item in node.value.items()}

    def _step(self, node: Node) -> Transition:
        given = self._given(node)
        word = next((key for key in _STEPS if key in given), None)
        if word is None:
            raise ModelError(f"a step is one of {', '.join(_STEPS)}, got {shown(node.plain())}")
        about = given.pop(word)
        for key in sorted({*given} - {"coordinate", "by", *(["pitch"] * (word == "screw"))}):
            raise ModelError(unknown(f"argument of {word}", key, ["coordinate", "by", "pitch"]))
        if word == "ball":
            return ball(about.value or "")
        if ("coordinate" in given) == ("by" in given):
            raise ModelError(f"{word}: give coordinate: (its name) or by: (a number or expression)")
        coordinate = given.get("coordinate")
        by = SX(self._number(given["by"])) if coordinate is None else str(coordinate.value)
        if word == "screw":
            if "pitch" not in given:
                raise ModelError("screw: pitch is missing")
            return screw(self._axis(about), self._number(given["pitch"]), by)
        return _STEPS[word](self._axis(about), by)


def _made(kind: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    try:
        inspect.signature(kind).bind(**arguments)
    except TypeError as error:
        wanted = ", ".join(inspect.signature(kind).parameters)
        raise ModelError(f"{error}; it takes ({wanted})") from None
    return kind(**arguments)


@dataclass(frozen=True)
class Form:
    """How a kind of argument stands in a file: how it is read, its schema, and what several of it
    are called."""

    read: Callable[[Values, Node], Any]
    schema: Any
    plural: str = "values"


def ref(name: str) -> dict[str, str]:
    """The schema of that name."""
    return {"$ref": f"#/$defs/{name}"}


BY_NAME = {"type": "object", "additionalProperties": ref("number")}
STEPS = "steps such as [{rot: z, coordinate: alpha}, {move: x, by: 0.1}]"
ANYTHING_LISTED = {"type": "array", "items": ref("typed")}
FORMS: dict[Kind, Form] = {
    "number": Form(Values._number, ref("number")),
    "numbers": Form(Values._number, ref("numbers")),
    "by name": Form(Values._number, BY_NAME),
    "per coordinate": Form(Values._number, {"anyOf": [ref("numbers"), BY_NAME]}),
    "law": Form(Values._number_or_formula, ref("formula")),
    "function": Form(Values._formula, ref("formula")),
    "axis": Form(Values._axis, ref("axis")),
    "orientation": Form(Values._orientation, ref("orientation")),
    "place": Form(Values._place, ref("place"), "places"),
    "joint": Form(Values._text, {"type": "string"}),
    "coordinate": Form(Values._text, {"type": "string"}),
    "object": Form(Values._typed, ref("typed")),
    "node": Form(Values._node, {"anyOf": [ref("place"), ref("typed")]}, "places and pulleys"),
    "step": Form(Values._step, ref("step"), STEPS),
    "text": Form(Values._text, {"type": "string"}),
    "flag": Form(Values._flag, {"type": "boolean"}),
    "friction": Form(Values._friction, {"anyOf": [ref("number"), ref("friction")]}),
    "joint friction": Form(
        Values._joint_friction, {"type": ["number", "string", "array", "object"]}
    ),
    "limits": Form(Values._limits, {"type": ["array", "object"]}),
    "anything": Form(
        Values._any, {"anyOf": [ref("numbers"), ref("typed"), {"type": "null"}, ANYTHING_LISTED]}
    ),
}
