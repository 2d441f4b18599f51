"""One document on its way to a system: section by section, with all problems and their lines."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from casadi import SX

from ..errors import ModelError, shown, unknown
from ..model import kinds
from ..model.joints import Chain
from ..model.system import System
from ..motion.speeds import joint_chart
from ..tables.table import Table
from . import document
from .document import Node
from .values import Values

VERSION = 1
LARGEST = 50_000_000  # bytes of a file
SUFFIXES = (".yaml", ".yml", ".json")
SECTIONS = (
    "mechgraph", "title", "name", "gravity", "plane", "tables", "parameters", "inputs",
    "bodies", "markers", "placed", "joints", "forces", "constraints", "speeds", "outputs", "order",
    "start", "guess", "duration", "options",
)  # fmt: skip
ORDERED = (
    "parameters",
    "inputs",
    "bodies",
    "markers",
    "joints",
    "forces",
    "constraints",
    "outputs",
)


@dataclass(frozen=True)
class ModelFile:
    """What a model file says: the system, and what is worth doing with it."""

    system: System
    title: str = ""
    start: Mapping[str, Any] = field(default_factory=dict)
    guess: Mapping[str, Any] = field(default_factory=dict)
    duration: float | None = None
    options: Mapping[str, Any] = field(default_factory=dict)


def text_of(path: Path) -> str:
    """The text of a file."""
    try:
        if path.stat().st_size > LARGEST:
            raise ModelError(f"larger than {LARGEST:,} bytes, which no model is")
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelError(f"not a text in UTF-8 ({error.reason} at byte {error.start})") from None
    except OSError as error:
        raise ModelError(f"cannot be read: {error.strerror or error}") from None


class Reading(Values):
    """One document on its way to a system; problems are gathered."""

    def __init__(self, root: Node, folder: Path, within: tuple[Path, ...] = ()) -> None:
        self.root, self.folder, self.within = root, folder, within
        self.problems: list[tuple[int, str]] = []
        self.failed: set[str] = set()  # names of elements that could not be made
        self.lines: dict[str, int] = {}  # of elements
        self.formulas = []
        self.system = System()
        self.names: dict[str, Any] = {"time": self.system.time}

    def model_file(self) -> ModelFile:
        sections = self._mapping(self.root, "the file") or {}
        self._header(sections)
        for section, read in self._readers.items():
            if section in sections:
                self._each(section, sections[section], read)
        if "order" in sections:
            self._reorder(sections["order"])
        about = self._about(sections)
        self._whole()
        if self.problems:
            raise ModelError(f"line {line}: {problem}" for line, problem in sorted(self.problems))
        return ModelFile(self.system, **about)

    @property
    def _readers(self) -> dict[str, Callable[[str, Node], None]]:
        return {
            "parameters": self._parameter,
            "inputs": lambda name, node: None,
            "bodies": self._body,
            "markers": lambda name, node: self._said(self.system.marker, name, node),
            "placed": self._placed,
            "joints": self._joint,
            "forces": lambda name, node: self._element(name, node, kinds.FORCES),
            "constraints": lambda name, node: self._element(name, node, kinds.CONSTRAINTS),
            "speeds": lambda name, node: self._said(self.system.speed, name, node),
            "outputs": self._output,
        }

    def _header(self, sections: dict[str, Node]) -> None:
        for key, node in sections.items():
            if key not in SECTIONS:
                self._problem(node, unknown("section", key, SECTIONS))
        version = sections.get("mechgraph")
        if version is None:
            self._problem(self.root, f"the file must say its version: mechgraph: {VERSION}")
        elif version.value != VERSION:
            said = shown(version.plain())
            self._problem(version, f"mechgraph: version {said} is not known; {VERSION} is")
        with self._blamed(sections.get("name", self.root), "name"):
            name = sections["name"].value if "name" in sections else "system"
            plane = sections["plane"].value if "plane" in sections else None
            self.system = System(name, plane=plane)
            self.names = {"time": self.system.time}
        for node in self._inputs(sections.get("inputs")):
            with self._blamed(node, "inputs"):
                self.names[node.value] = self.system.input(node.value)
        if "tables" in sections:
            self._each("tables", sections.pop("tables"), self._table)
        if "parameters" in sections and isinstance(sections["parameters"].value, dict):
            self._each("parameters", sections["parameters"], self._parameter)
            sections.pop("parameters")
        if "gravity" in sections:
            with self._blamed(sections["gravity"], "gravity"):
                self.system.gravity = self._number(sections["gravity"])

    def _inputs(self, node: Node | None) -> list[Node]:
        if node is None:
            return []
        if not isinstance(node.value, list):
            self._problem(node, "inputs is a list of names, such as [torque]")
            return []
        return list(node.value)

    # --- sections ---------------------------------------------------------------------------------

    def _each(self, section: str, node: Node, read: Callable[[str, Node], None]) -> None:
        if section == "inputs":
            return
        for name, item in (self._mapping(node, section) or {}).items():
            self.lines.setdefault(name, item.line)
            with self._blamed(item, f"{section}: {name}", name):
                read(name, item)

    def _mapping(self, node: Node, what: str) -> dict[str, Node] | None:
        if node.value is None:
            return {}
        if isinstance(node.value, dict):
            return dict(node.value)
        self._problem(node, f"{what} must be a mapping of names, got {shown(node.plain())}")
        return None

    def _parameter(self, name: str, node: Node) -> None:
        value = self._number(node)
        if isinstance(value, SX):
            if not value.is_constant():
                raise ModelError(
                    "a parameter's value must be a number; put the expression where it is used"
                )
            value = float(value)
        self.names[name] = self.system.parameter(name, value)

    def _table(self, name: str, node: Node) -> None:
        """Points x and y, or a file of two columns beside the model."""
        given = {key: item.plain() for key, item in self._given(node).items()}
        if "file" in given:
            given["x"], given["y"] = self._columns(given.pop("file"))
        wrong = [key for key in given if key not in ("x", "y", "kind", "outside")]
        if wrong or not {"x", "y"} <= {*given}:
            raise ModelError(
                f"a table has x and y, or file, and kind and outside, got {', '.join(given)}"
            )
        self.names[name] = Table(**given, name=name)

    def _columns(self, file: Any) -> Any:
        if not isinstance(file, str) or Path(file).suffix.lower() != ".csv":
            raise ModelError(f"file must be the name of a .csv file, got {shown(file)}")
        rows = text_of(self.folder / file).splitlines()
        cells = [row.replace(";", ",").split(",") for row in rows if row.strip()]
        try:
            points = [(float(a), float(b)) for a, b in cells[not _is_number(cells[0][0]) :]]
        except (ValueError, IndexError):
            raise ModelError(f"{file} must have two columns of numbers, with commas") from None
        return [list(column) for column in zip(*points, strict=True)] if points else ([], [])

    def _body(self, name: str, node: Node) -> None:
        given = self._given(node)
        self._said(self.system.body if given else self.system.frame, name, node, given)

    def _joint(self, name: str, node: Node) -> None:
        given = self._given(node)
        word = self._type(given, {"joint": Chain, **kinds.JOINTS})
        self._said(getattr(self.system, word), name, node, given)

    def _element(self, name: str, node: Node, known: Mapping[str, type]) -> None:
        given = self._given(node)
        word = self._type(given, known)
        self._said(getattr(self.system, word), name, node, given, known[word])

    def _output(self, name: str, node: Node) -> None:
        self.system.output(name, self._formula(node))

    def _placed(self, name: str, node: Node) -> None:
        given = self._given(node)
        inside = given.pop("system", None), given.pop("file", None)
        if (inside[0] is None) == (inside[1] is None):
            raise ModelError("give either file: (the name of a model file) or system: (a model)")
        system = self._inline(inside[0]) if inside[0] is not None else self._beside(inside[1])
        arguments = {
            key: self._value(
                "Any" if key in ("parameters", "inputs") else _PLACE.get(key, "Any"), key, item
            )
            for key, item in given.items()
        }
        self.system.place(name, system, **arguments)

    def _inline(self, node: Node) -> System:
        inner = Reading(node, self.folder, self.within)
        try:
            return inner.model_file().system
        except ModelError as error:
            raise _Told(error.problems) from None

    def _beside(self, node: Node | None) -> System:
        if node is None or not isinstance(node.value, str):
            raise ModelError("file must be the name of a model file")
        path = (self.folder / node.value).resolve()
        if path in self.within or len(self.within) > 20:
            raise ModelError(f"{node.value} places itself")
        if path.suffix.lower() not in SUFFIXES:
            raise ModelError(f"{node.value}: a model file ends in {', '.join(SUFFIXES)}")
        root = document.read(text_of(path), path.suffix.lower() == ".json")
        inner = Reading(root, path.parent, (*self.within, path))
        try:
            return inner.model_file().system
        except ModelError as error:
            raise ModelError(f"{node.value}, {problem}" for problem in error.problems) from None

    def _reorder(self, node: Node) -> None:
        """Elements in the order in which they were said."""
        for section, names in (self._mapping(node, "order") or {}).items():
            with self._blamed(names, f"order: {section}"):
                if section not in ORDERED:
                    raise ModelError(unknown("section", section, ORDERED))
                store: dict[str, Any] = getattr(self.system, f"_{section}")
                wanted = names.plain()
                if not isinstance(wanted, list) or sorted(map(str, wanted)) != sorted(store):
                    raise ModelError(f"must list all of them: {', '.join(store)}")
                for each in (store, *([self.system._defaults] if section == "parameters" else ())):
                    entries = {name: each[name] for name in wanted}
                    each.clear()
                    each.update(entries)
        self.system._snapshot = None

    def _about(self, sections: dict[str, Node]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key in ("start", "guess", "options"):
            if key in sections:
                entries = self._mapping(sections[key], key) or {}
                out[key] = {name: self._setting(name, node) for name, node in entries.items()}
        if "title" in sections:
            out["title"] = str(sections["title"].value)
        if "duration" in sections:
            with self._blamed(sections["duration"], "duration"):
                out["duration"] = float(self._constant(sections["duration"]))
        return out

    def _setting(self, name: str, node: Node) -> Any:
        """A plain value of a run; texts that are numbers with units are read."""
        with self._blamed(node, name):
            if isinstance(node.value, str):
                try:
                    return self._constant(node)
                except ModelError:
                    return node.value
            if isinstance(node.value, dict):
                return {key: self._setting(key, item) for key, item in node.value.items()}
            return node.plain()

    def _constant(self, node: Node) -> float:
        value = SX(self._number(node))
        if not value.is_constant() or not value.is_scalar():
            raise ModelError(f"must be a number, got {shown(node.plain())}")
        return float(value)

    # --- elements ---------------------------------------------------------------------------------

    def _said(
        self,
        say: Callable[..., Any],
        name: str,
        node: Node,
        given: dict[str, Node] | None = None,
        kind: type | None = None,
    ) -> None:
        """Say it to the system, with each argument read as its annotation asks."""
        if given is None:
            given = self._given(node)
        signature = inspect.signature(say)
        hints = {key: str(p.annotation) for key, p in signature.parameters.items()}
        if kind is not None and len(hints) < 2:  # a kind without a method: its own arguments
            hints = {
                key: str(p.annotation) for key, p in inspect.signature(kind).parameters.items()
            }
        if "name" in given:
            raise ModelError("the name stands before the colon; leave out name:")
        arguments: dict[str, Any] = {}
        for key, item in given.items():
            if key not in hints:
                raise _At(item.line, unknown("argument", key, [k for k in hints if k != "name"]))
            try:
                arguments[key] = self._value(hints[key], key, item)
            except _Told:
                raise
            except ModelError as error:
                raise _At(item.line, *(f"{key}: {problem}" for problem in error.problems)) from None
        say(name, **arguments)

    # --- problems ---------------------------------------------------------------------------------

    def _problem(self, node: Node, problem: str) -> None:
        self.problems.append((node.line, problem))

    @contextmanager
    def _blamed(self, node: Node, what: str, name: str | None = None) -> Iterator[None]:
        try:
            yield
        except _Told as error:
            self._fail(name)
            self.problems += [_split(problem) for problem in error.problems]
        except _At as error:
            self._fail(name)
            self.problems += [(error.line, f"{what}: {problem}") for problem in error.problems]
        except ModelError as error:
            self._fail(name)
            for problem in error.problems:
                if not self._follows(problem):
                    plain = re.sub(rf"^\w+ {re.escape(repr(name))}: ", "", problem)
                    self._problem(_blamed_key(node, plain), f"{what}: {plain}")

    def _fail(self, name: str | None) -> None:
        if name is not None:
            self.failed.add(name)

    def _follows(self, problem: str) -> bool:
        """True if a problem is only that of an element that is told already."""
        named = re.search(r"unknown \w[\w ]* '([^']*)'", problem)
        return named is not None and named[1].partition(".")[0].rstrip("'") in self.failed

    def _whole(self) -> None:
        """What is wrong with the description as a whole."""
        if self.problems:
            return
        try:
            m = joint_chart(self.system.snapshot()).motion if self.formulas else None
            self.system.topology()
        except ModelError as error:
            for problem in error.problems:
                named = re.findall(r"'([^']*)'", problem)
                line = next((self.lines[n] for n in named if n in self.lines), self.root.line)
                self.problems.append((line, problem))
            return
        for line, formula in self.formulas:
            try:
                formula(m)
            except ModelError as error:
                self.problems += [(line, problem) for problem in error.problems]


_PLACE = {"on": "Place", "at": "Vector"}


class _At(ModelError):
    """Problems with a line of their own."""

    def __init__(self, line: int, *problems: str) -> None:
        super().__init__(problems)
        self.line = line


class _Told(ModelError):
    """Problems that tell their lines already."""


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _split(problem: str) -> tuple[int, str]:
    found = re.match(r"line (\d+): (.*)", problem, re.DOTALL)
    return (int(found[1]), found[2]) if found else (1, problem)


def _blamed_key(node: Node, problem: str) -> Node:
    """The argument that a problem is about, if it names one; else the element."""
    if isinstance(node.value, dict):
        for key, item in node.value.items():
            if re.match(rf"{re.escape(key)}\b", problem):
                return item
    return node
