"""YAML and JSON as plain data that remembers its lines.

Only what JSON has is read: mappings, lists, texts, numbers, true, false, null. Anchors, tags and
keys that stand twice are refused, so that a text is never more than it seems. A text without quotes
is a number if it looks like one in JSON or Python, and a text otherwise.

>>> read("a: [1, 2.5e3, on]")["a"].plain()
[1, 2500.0, 'on']
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import yaml

from ...errors import ModelError, shown

DEPTH = 40
NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")
WORDS = {"true": True, "false": False, "null": None, "~": None, "": None}
Loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


@dataclass(frozen=True)
class Node:
    """A value with the line that it begins in: a mapping or list of nodes, or plain."""

    value: Any
    line: int

    def __getitem__(self, key: Any) -> Node:
        return self.value[key]

    def plain(self) -> Any:
        """The value without lines."""
        if isinstance(self.value, dict):
            return {key: node.plain() for key, node in self.value.items()}
        if isinstance(self.value, list):
            return [node.plain() for node in self.value]
        return self.value

    def refusal(self, wanted: str) -> ModelError:
        """That something else was wanted here."""
        return ModelError(f"must be {wanted}, got {shown(self.plain())}")


def read(text: str, is_json: bool = False) -> Node:
    """The document in a text."""
    if is_json:
        text = _checked_json(text)
    try:
        events = (e for e in yaml.parse(text, Loader) if not isinstance(e, _AROUND))
        first = next(events, None)
        if first is None:
            raise ModelError("line 1: the file is empty")
        node = _node(first, events, 1)
        if (more := next(events, None)) is not None:
            raise ModelError(f"line {_line(more)}: a second document; one file is one model")
        return node
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise ModelError(f"line {mark.line + 1 if mark else 1}: {_told(error)}") from None
    except yaml.YAMLError as error:
        raise ModelError(f"not valid YAML: {shown(str(error))}") from None
    except (RecursionError, UnicodeEncodeError) as error:
        deep = isinstance(error, RecursionError)
        what = f"more than {DEPTH} brackets in each other" if deep else "letters that are none"
        raise ModelError(f"line 1: {what}") from None


_AROUND = (
    yaml.StreamStartEvent,
    yaml.StreamEndEvent,
    yaml.DocumentStartEvent,
    yaml.DocumentEndEvent,
)


def _told(error: yaml.MarkedYAMLError) -> str:
    parts = (error.context, error.problem)
    said = " ".join(str(part) for part in parts if part)
    hint = next((hint for sign, hint in _HINTS.items() if sign in said), "")
    return f"not valid YAML: {said}{hint}"


_HINTS = {  # what it mostly is
    "cannot start any token": "; indent by spaces, not by tabs, and quote a text with @, ` or %",
    "mapping values are not allowed": "; is a colon missing before it, or a quote around a text?",
    "expected ',' or '}'": "; is a comma or a bracket missing?",
    "expected ',' or ']'": "; is a comma or a bracket missing?",
    "could not find expected ':'": "; is a colon missing?",
}


def _checked_json(text: str) -> str:
    """JSON that YAML reads as the same: no tabs, no pairs of surrogates."""
    try:
        json.loads(text, parse_int=float)
    except json.JSONDecodeError as error:
        raise ModelError(f"line {error.lineno}: not valid JSON: {error.msg}") from None
    except (RecursionError, ValueError) as error:
        raise ModelError(f"not valid JSON: {shown(str(error))}") from None
    pairs = re.compile(r"\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}")
    return pairs.sub(lambda pair: json.loads(f'"{pair[0]}"'), text.replace("\t", " "))


def _line(event: Any) -> int:
    return int(event.start_mark.line) + 1


def _node(event: Any, events: Iterator[Any], depth: int) -> Node:
    line = _line(event)
    if isinstance(event, yaml.AliasEvent) or event.anchor is not None:
        raise ModelError(f"line {line}: anchors (& and *) are not read; write it out")
    if event.tag is not None and not event.tag.startswith("tag:yaml.org,2002:str"):
        raise ModelError(f"line {line}: tags such as {event.tag!r} are not read; leave it out")
    if depth > DEPTH:
        raise ModelError(f"line {line}: more than {DEPTH} brackets in each other")
    if isinstance(event, yaml.SequenceStartEvent):
        return Node(list(_items(events, depth)), line)
    if isinstance(event, yaml.MappingStartEvent):
        return Node(dict(_pairs(events, depth)), line)
    return Node(_scalar(event), line)


def _items(events: Iterator[Any], depth: int) -> Iterator[Node]:
    while not isinstance(event := next(events), yaml.SequenceEndEvent):
        yield _node(event, events, depth + 1)


def _pairs(events: Iterator[Any], depth: int) -> Iterator[tuple[str, Node]]:
    seen = set()
    while not isinstance(event := next(events), yaml.MappingEndEvent):
        if not isinstance(event, yaml.ScalarEvent) or event.anchor or event.tag:
            raise ModelError(f"line {_line(event)}: a key must be a text")
        if event.value in seen:
            raise ModelError(f"line {_line(event)}: the key {event.value!r} stands twice")
        seen.add(event.value)
        value = _node(next(events), events, depth + 1)
        yield event.value, Node(value.value, _line(event))


def _scalar(event: Any) -> Any:
    text = event.value
    if event.style not in (None, ""):
        return text
    if text.lower() in WORDS and (text in WORDS or text.capitalize() == text or text.isupper()):
        return WORDS[text.lower()]
    if NUMBER.fullmatch(text) and text.isascii():
        return _number(text)
    return text


def _number(text: str) -> float:
    value = float(text)
    return int(value) if re.fullmatch(r"[-+]?\d{1,15}", text) else value


# --- writing --------------------------------------------------------------------------------------

PLAIN = re.compile(r"[A-Za-z_][\w.]*")


def yaml_text(data: Any) -> str:
    """A mapping of sections as YAML: one line for each element of a section."""
    lines = []
    for key, value in data.items():
        inner = value if isinstance(value, dict) else {}
        lines.append(f"{_written(key)}:" if inner else f"{_written(key)}: {_written(value)}")
        lines += [f"  {_written(name)}: {_written(item)}" for name, item in inner.items()]
    return "\n".join(lines) + "\n"


def _written(value: Any) -> str:
    """On one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_written(k)}: {_written(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_written, value)) + "]"
    if isinstance(value, str) and PLAIN.fullmatch(value) and value.lower() not in WORDS:
        return value
    return _json(value)


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def json_text(data: Any) -> str:
    """The same as JSON, in the same lines."""

    def rows(values: Any, depth: int) -> str:
        if not (depth < 2 and isinstance(values, dict) and values):
            return _json(values)
        margin = "  " * depth
        inner = (f"{margin}  {_json(k)}: {rows(v, depth + 1)}" for k, v in values.items())
        return "{\n" + ",\n".join(inner) + f"\n{margin}}}"

    return rows(data, 0) + "\n"
