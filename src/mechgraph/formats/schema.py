"""The JSON Schema of model files, made from the same signatures that reading asks."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from ..model import kinds
from ..model.contact.friction import Friction
from ..model.fields import Field, fields_of
from ..model.system import System
from ..tables.table import KINDS, OUTSIDE
from .reading import VERSION
from .values import FORMS, typed_values

NUMBER = {"$ref": "#/$defs/number"}
POINTS = {"type": "array", "items": NUMBER}
TABLE: dict[str, Any] = {
    "description": "Points, or a file of them: called in expressions as name(x) or name(x, y).",
    "type": "object",
    "properties": {
        "x": POINTS,
        "y": POINTS,
        "z": {"type": "array", "items": POINTS},
        "file": {"type": "string"},
        "units": {"type": "object", "additionalProperties": {"type": "string"}},
        "kind": {"enum": [*KINDS]},
        "outside": {
            "anyOf": [
                {"enum": [*OUTSIDE]},
                {"type": "array", "items": {"enum": [*OUTSIDE]}, "minItems": 2, "maxItems": 2},
            ]
        },
    },
    "additionalProperties": False,
}
MESH: dict[str, Any] = {
    "description": "A file of triangles that a body is drawn with.",
    "type": "object",
    "properties": {
        "mesh": {"type": "string"},
        "scale": {"$ref": "#/$defs/numbers"},
        "at": {"$ref": "#/$defs/numbers"},
        "orientation": {"$ref": "#/$defs/orientation"},
        "color": {"type": "string", "pattern": "^#[0-9a-f]{6}$"},
    },
    "required": ["mesh"],
    "additionalProperties": False,
}
DEFS: dict[str, Any] = {
    "number": {
        "description": "A number, or an expression of parameters, inputs and time in a text.",
        "type": ["number", "string"],
    },
    "numbers": {
        "description": "A number, an expression, or lists of them.",
        "anyOf": [NUMBER, {"type": "array", "items": {"$ref": "#/$defs/numbers"}}],
    },
    "axis": {"anyOf": [{"enum": ["x", "y", "z", "-x", "-y", "-z"]}, {"$ref": "#/$defs/numbers"}]},
    "formula": {
        "description": "An expression, also of the motion: position(tip)[2], speed(hinge) …",
        "anyOf": [NUMBER, {"type": "array", "items": NUMBER}],
    },
    "place": {
        "description": "The name of a body or marker, or a frame on one.",
        "anyOf": [
            {"type": "string"},
            {
                "type": "object",
                "properties": {
                    "name": {"type": "string"},
                    "body": {"type": "string"},
                    "at": {"$ref": "#/$defs/numbers"},
                    "orientation": {"$ref": "#/$defs/orientation"},
                },
                "required": ["body"],
                "additionalProperties": False,
            },
        ],
    },
    "orientation": {
        "description": "A matrix, a quaternion (scalar first), turns [[z, 0.3], …], Euler angles "
        "[ZYX, [0.3, 0.2, 0.1]], or two axes {x: [1, 1, 0], z: z}.",
        "anyOf": [
            {"type": "null"},
            {"$ref": "#/$defs/numbers"},
            {"type": "object", "additionalProperties": {"$ref": "#/$defs/axis"}},
        ],
    },
    "step": {
        "description": "A step of a joint's chain: moved by a coordinate, or by a number.",
        "type": "object",
        "properties": {
            "rot": {"$ref": "#/$defs/axis"},
            "move": {"$ref": "#/$defs/axis"},
            "screw": {"$ref": "#/$defs/axis"},
            "ball": {"type": "string"},
            "pitch": NUMBER,
            "coordinate": {"type": "string"},
            "by": NUMBER,
        },
        "additionalProperties": False,
    },
}


def model_schema() -> dict[str, Any]:
    """The schema of version ``VERSION``."""
    joints = {"joint": System.joint, **{word: getattr(System, word) for word in kinds.JOINTS}}
    about = {"type": "object"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A model of mechgraph",
        "type": "object",
        "required": ["mechgraph"],
        "additionalProperties": False,
        "properties": {
            "mechgraph": {"const": VERSION},
            "title": {"type": "string"},
            "name": {"type": "string"},
            "gravity": {"$ref": "#/$defs/numbers"},
            "plane": {"enum": ["xy", "yz", "zx"]},
            "tables": _section(TABLE),
            "parameters": _section(NUMBER),
            "inputs": {"type": "array", "items": {"type": "string"}},
            "bodies": _section(_arguments(System.body, required=())),
            "markers": _section(_arguments(System.marker)),
            "placed": _section(_placed()),
            "joints": _section(_one_of(joints)),
            "forces": _section(_one_of(_words(kinds.FORCES))),
            "constraints": _section(_one_of(_words(kinds.CONSTRAINTS))),
            "speeds": _section(_arguments(System.speed)),
            "outputs": _section({"$ref": "#/$defs/formula"}),
            "visual": _section(
                {"type": "array", "items": {"anyOf": [MESH, {"$ref": "#/$defs/typed"}]}}
            ),
            "order": _section({"type": "array", "items": {"type": "string"}}),
            "start": about,
            "guess": about,
            "duration": NUMBER,
            "options": about,
        },
        "$defs": {
            **DEFS,
            "friction": _arguments(Friction),
            "typed": _one_of(typed_values()),
        },
    }


def _words(known: Mapping[str, Any]) -> dict[str, Any]:
    return {word: getattr(System, word, kind) for word, kind in known.items()}


def _section(item: Any) -> dict[str, Any]:
    return {"type": ["object", "null"], "additionalProperties": item}


def _one_of(words: Mapping[str, Any]) -> dict[str, Any]:
    return {"oneOf": [_arguments(say, word) for word, say in words.items()]}


def _arguments(
    say: Any, word: str | None = None, required: Iterable[str] | None = None
) -> dict[str, Any]:
    """A mapping of the arguments of a call."""
    given = inspect.signature(say).parameters
    fields = {key: x for key, x in fields_of(say).items() if key not in ("self", "name")}
    needed = [key for key in fields if given[key].default is inspect.Parameter.empty]
    typed = {} if word is None else {"type": {"const": word}}
    return {
        "type": "object",
        "properties": {**typed, **{key: _schema(field) for key, field in fields.items()}},
        "required": [*typed, *(needed if required is None else required)],
        "additionalProperties": False,
    }


def _schema(field: Field) -> dict[str, Any]:
    """That of an argument."""
    form = FORMS[field.kind].schema if field.item is None else _list(field.item)
    return {"anyOf": [form, {"type": "null"}]} if field.optional else form


def _list(item: Field) -> dict[str, Any]:
    return {"type": "array", "items": _schema(item)}


def _placed() -> dict[str, Any]:
    placed = _arguments(System.place, required=())
    placed["properties"] |= {"file": {"type": "string"}, "system": {"$ref": "#"}}
    placed["properties"] |= {key: _section(NUMBER) for key in ("parameters", "inputs")}
    return placed
