"""The JSON Schema of model files, made from the same signatures that reading asks."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from typing import Any

from ...model import kinds
from ...model.contact.friction import Friction
from ...model.fields import Field, fields_of
from ...model.system import System
from ...tables.table import KINDS, OUTSIDE
from .arguments import FORMS, ref, typed_values
from .sections import VERSION


def _object(
    properties: Mapping[str, Any], required: Iterable[str] = (), description: str = ""
) -> dict[str, Any]:
    """A mapping with these keys and no others."""
    about = {"description": description} if description else {}
    schema = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    return {**about, **schema, **({"required": [*required]} if required else {})}


def _list(item: Any, **sizes: int) -> dict[str, Any]:
    return {"type": "array", "items": item, **sizes}


def _any_of(*schemas: Any, description: str = "") -> dict[str, Any]:
    return {**({"description": description} if description else {}), "anyOf": [*schemas]}


def _section(item: Any) -> dict[str, Any]:
    return {"type": ["object", "null"], "additionalProperties": item}


def _one_of(words: Mapping[str, Any]) -> dict[str, Any]:
    return {"oneOf": [_arguments(say, word) for word, say in words.items()]}


TEXT, NULL, NUMBER, NUMBERS = {"type": "string"}, {"type": "null"}, ref("number"), ref("numbers")
AXIS, ORIENTATION, POINTS, ENDS = (
    ref("axis"),
    ref("orientation"),
    _list(NUMBER),
    {"enum": [*OUTSIDE]},
)
TABLE = _object(
    {
        "x": POINTS,
        "y": POINTS,
        "z": _list(POINTS),
        "file": TEXT,
        "units": {"type": "object", "additionalProperties": TEXT},
        "kind": {"enum": [*KINDS]},
        "outside": _any_of(ENDS, _list(ENDS, minItems=2, maxItems=2)),
    },
    description="Points, or a file of them: called in expressions as name(x) or name(x, y).",
)
WHERE = {"at": NUMBERS, "orientation": ORIENTATION}
COLOR = {"type": "string", "pattern": "^#[0-9a-f]{6}$"}
MESH = _object(
    {"mesh": TEXT, "scale": NUMBERS, **WHERE, "color": COLOR},
    ["mesh"],
    "A file of triangles that a body is drawn with.",
)
DEFS: dict[str, Any] = {
    "number": {
        "description": "A number, or an expression of parameters, inputs and time in a text.",
        "type": ["number", "string"],
    },
    "numbers": _any_of(
        NUMBER, _list(NUMBERS), description="A number, an expression, or lists of them."
    ),
    "axis": _any_of({"enum": ["x", "y", "z", "-x", "-y", "-z"]}, NUMBERS),
    "formula": _any_of(
        NUMBER,
        POINTS,
        description="An expression, also of the motion: position(tip)[2], speed(hinge) …",
    ),
    "place": _any_of(
        TEXT,
        _object({"name": TEXT, "body": TEXT, **WHERE}, ["body"]),
        description="The name of a body or marker, or a frame on one.",
    ),
    "orientation": _any_of(
        NULL,
        NUMBERS,
        {"type": "object", "additionalProperties": AXIS},
        description="A matrix, a quaternion (scalar first), turns [[z, 0.3], …], Euler angles "
        "[ZYX, [0.3, 0.2, 0.1]], or two axes {x: [1, 1, 0], z: z}.",
    ),
    "step": _object(
        {
            **dict.fromkeys(("rot", "move", "screw"), AXIS),
            **dict.fromkeys(("ball", "coordinate"), TEXT),
            **dict.fromkeys(("pitch", "by"), NUMBER),
        },
        description="A step of a joint's chain: moved by a coordinate, or by a number.",
    ),
}


def model_schema() -> dict[str, Any]:
    """The schema of version ``VERSION``."""
    joints = {"joint": System.joint, **_words(kinds.JOINTS)}
    about = {"type": "object"}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "A model of mechgraph",
        "type": "object",
        "required": ["mechgraph"],
        "additionalProperties": False,
        "properties": {
            "mechgraph": {"const": VERSION},
            "title": TEXT,
            "name": TEXT,
            "gravity": NUMBERS,
            "plane": {"enum": ["xy", "yz", "zx"]},
            "tables": _section(TABLE),
            "parameters": _section(NUMBER),
            "inputs": _list(TEXT),
            "bodies": _section(_arguments(System.body, required=())),
            "markers": _section(_arguments(System.marker)),
            "placed": _section(_placed()),
            "joints": _section(_one_of(joints)),
            "forces": _section(_one_of(_words(kinds.FORCES))),
            "constraints": _section(_one_of(_words(kinds.CONSTRAINTS))),
            "speeds": _section(_arguments(System.speed)),
            "outputs": _section(ref("formula")),
            "visual": _section(_list(_any_of(MESH, ref("typed")))),
            "order": _section(_list(TEXT)),
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


def _arguments(
    say: Any, word: str | None = None, required: Iterable[str] | None = None
) -> dict[str, Any]:
    """A mapping of the arguments of a call."""
    given = inspect.signature(say).parameters
    fields = {key: x for key, x in fields_of(say).items() if key not in ("self", "name")}
    needed = [key for key in fields if given[key].default is inspect.Parameter.empty]
    typed = {} if word is None else {"type": {"const": word}}
    arguments = {key: _schema(field) for key, field in fields.items()}
    wanted = [*typed, *(needed if required is None else required)]
    return {"required": [], **_object({**typed, **arguments}, wanted)}


def _schema(field: Field) -> dict[str, Any]:
    """That of an argument."""
    form = FORMS[field.kind].schema if field.item is None else _list(_schema(field.item))
    return _any_of(form, NULL) if field.optional else form


def _placed() -> dict[str, Any]:
    placed = _arguments(System.place, required=())
    placed["properties"] |= {"file": TEXT, "system": {"$ref": "#"}}
    placed["properties"] |= {key: _section(NUMBER) for key in ("parameters", "inputs")}
    return placed
