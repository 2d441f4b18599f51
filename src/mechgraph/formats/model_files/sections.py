"""One document on its way to a system: section by section, with all problems and their lines."""

from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from casadi import SX

from ...arguments import one_of
from ...errors import ModelError, shown, unknown
from ...model import kinds
from ...model.bodies import Marker
from ...model.contact.surfaces import Surface
from ...model.fields import ANYTHING, fields_of
from ...model.joints import Chain
from ...model.system import System
from ...model.visuals import Visual
from ...motion.speeds import joint_chart
from ...studies.simulation.simulate import simulate
from ...tables.grid import Grid
from ...tables.table import Table
from . import document, meshes
from .arguments import Values
from .document import Node
from .expressions import Formula, evaluate

VERSION = 1
LARGEST = 50_000_000  # bytes of a file
SUFFIXES = (".yaml", ".yml", ".json")
OPTIONS = [*inspect.signature(simulate).parameters][3:]  # but for what is said elsewhere
SECTIONS = (
    "mechgraph", "title", "name", "gravity", "plane", "tables", "parameters", "inputs",
    "bodies", "markers", "placed", "joints", "forces", "constraints", "speeds", "outputs", "visual",
    "order", "start", "guess", "duration", "options",
)  # fmt: skip
ORDERED = (
    "parameters", "inputs", "bodies", "markers", "joints", "forces", "constraints", "outputs",
)  # fmt: skip


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
        self.failed: set[str | None] = set()  # names of elements that could not be made
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
            "bodies": self._body,
            "markers": partial(self._make, self.system.marker),
            "placed": self._placed,
            "joints": partial(self._element, {"joint": Chain, **kinds.JOINTS}),
            "forces": partial(self._element, kinds.FORCES),
            "constraints": partial(self._element, kinds.CONSTRAINTS),
            "speeds": partial(self._make, self.system.speed),
            "outputs": self._output,
            "visual": self._visuals,
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
            self.system = System(sections["name"].value if "name" in sections else "system")
        if "plane" in sections:
            with self._blamed(sections["plane"], "plane"):
                self.system = System(self.system.name, plane=sections["plane"].value)
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
        """Points x and y, with a matrix z over both, or a file beside the model that has them."""
        nodes = self._given(node)
        given = {key: self._points(item) for key, item in nodes.items() if key in "xyz"}
        words = {key: item.plain() for key, item in nodes.items() if key not in given}
        units = words.pop("units", {})
        if "file" in words:
            given |= self._columns(words.pop("file"))
        wrong = [key for key in words if key not in ("kind", "outside")]
        if wrong or not {"x", "y"} <= {*given}:
            raise ModelError(
                "a table has x and y (and z, a row for each x), or file, and kind, outside and "
                f"units, got {', '.join(nodes)}"
            )
        if not isinstance(units, dict) or not {*units} <= {*given}:
            listed = ", ".join(f"{key}: mm" for key in given)
            raise ModelError(f"units must be such as {{{listed}}}, got {shown(units)}")
        factors = {key: self._unit(key, unit) for key, unit in units.items()}
        points = {key: _scaled(values, factors.get(key, 1.0)) for key, values in given.items()}
        if isinstance(words.get("outside"), list):
            words["outside"] = tuple(words["outside"])
        self.names[name] = (Grid if "z" in given else Table)(**points, **words, name=name)

    def _points(self, node: Node) -> Any:
        """Numbers, each of which may have a unit of its own, or lists of them."""
        if isinstance(node.value, list):
            return [self._points(item) for item in node.value]
        return self._constant(node)

    def _unit(self, key: str, unit: Any) -> float:
        try:
            return float(evaluate(f"1 {unit}", {}))
        except ModelError:
            raise ModelError(f"units: {key}: {shown(unit)} is no unit") from None

    def _columns(self, file: Any) -> dict[str, Any]:
        """Two columns x, y; or, with more, x down the first one, y along the first row, z inside.
        Two may have a line above that is no numbers."""
        if not isinstance(file, str) or Path(file).suffix.lower() != ".csv":
            raise ModelError(f"file must be the name of a .csv file, got {shown(file)}")
        rows = text_of(self.folder / file).splitlines()
        cells = [row.replace(";", ",").split(",") for row in rows if row.strip()]
        try:
            if cells and len(cells[0]) > 2:
                first, *others = cells
                inside = [[float(cell) for cell in row] for row in others]
                x, z = [row[0] for row in inside], [row[1:] for row in inside]
                return {"x": x, "y": [float(cell) for cell in first[1:]], "z": z}
            points = [(float(a), float(b)) for a, b in cells[not _is_number(cells[0][0]) :]]
        except (ValueError, IndexError):
            raise ModelError(
                f"{file} must have two columns of numbers, with commas, or a grid: x down the "
                "first column, y along the first row"
            ) from None
        return {"x": [x for x, _ in points], "y": [y for _, y in points]}

    def _body(self, name: str, node: Node) -> None:
        given = self._given(node)
        self._make(self.system.body if given else self.system.frame, name, node, given)

    def _element(self, known: Mapping[str, type], name: str, node: Node) -> None:
        given = self._given(node)
        word = self._type(given, known)
        self._make(getattr(self.system, word), name, node, given)

    def _output(self, name: str, node: Node) -> None:
        self.system.output(name, self._formula(node))

    def _visuals(self, name: str, node: Node) -> None:
        """How a body is drawn: shapes, and meshes of files."""
        one_of("body", name, ["ground", *self.system.bodies], ModelError)
        if not isinstance(node.value, list):
            raise node.refusal("a list of shapes and meshes")
        visuals = tuple(self._visual(name, item) for item in node.value)
        self.system._stores["visuals"][name] = visuals
        self.system._snapshot = None

    def _visual(self, body: str, node: Node) -> Visual:
        given = self._given(node)
        if "mesh" not in given:
            found = self._typed(node)
            if not isinstance(found, Surface):
                raise node.refusal("a shape or a mesh")
            return found
        fields, plain = fields_of(Marker), node.plain()
        there = (key for key in ("at", "orientation") if key in given)
        where = {key: self._value(fields[key], given[key]) for key in there}
        return meshes.mesh_of(plain, Marker(body, self.system._known(body), **where), self.folder)

    def _placed(self, name: str, node: Node) -> None:
        given = self._given(node)
        inside = given.pop("system", None), given.pop("file", None)
        if (inside[0] is None) == (inside[1] is None):
            raise ModelError("give either file: (the name of a model file) or system: (a model)")
        system = self._inline(inside[0]) if inside[0] is not None else self._beside(inside[1])
        fields = fields_of(System.place)
        arguments = {
            key: self._value(fields.get(key, ANYTHING), item) for key, item in given.items()
        }
        self.system.place(name, system, **arguments)

    def _inline(self, node: Node) -> System:
        inner = Reading(node, self.folder, self.within)
        with suppress(ModelError):
            return inner.model_file().system
        raise _Located(inner.problems, whole=True)

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
                one_of("section", section, ORDERED, ModelError)
                store = self.system._stores[section]
                wanted = names.plain()
                if not isinstance(wanted, list) or sorted(map(str, wanted)) != sorted(store):
                    raise ModelError(f"must list all of them: {', '.join(store)}")
                defaults = [self.system._stores["defaults"]] if section == "parameters" else []
                for each in (store, *defaults):
                    entries = {name: each[name] for name in wanted}
                    each.clear()
                    each.update(entries)
        self.system._snapshot = None

    def _about(self, sections: dict[str, Node]) -> dict[str, Any]:
        out: dict[str, Any] = {}
        for key in ("start", "guess", "options"):
            if key in sections:
                entries = self._mapping(sections[key], key) or {}
                out[key] = {name: self._setting(key, name, node) for name, node in entries.items()}
                for name, node in entries.items():
                    self._known_there(key, name, node)
        if "title" in sections:
            out["title"] = str(sections["title"].value)
        if "duration" in sections:
            with self._blamed(sections["duration"], "duration"):
                out["duration"] = float(self._constant(sections["duration"]))
                if not 0 < out["duration"] < math.inf:
                    raise ModelError(
                        f"must be a positive number of seconds, got {out['duration']:g}"
                    )
        return out

    def _known_there(self, section: str, name: str, node: Node) -> None:
        """Options are those of ``simulate``; what a start or guess names has to be there, unless it
        could not be made. What cannot be told here, the study will tell."""
        known: list[str] = [*OPTIONS]
        if section != "options":
            s = self.system
            places = [*s.joints, *(c for joint in s.joints.values() for c in joint.coordinates)]
            rates = [u for joint in s.joints.values() for u in joint.speeds]
            others = (s.bodies, s.markers, s.outputs, s.speeds, s.forces, s.constraints, s.units)
            known = [*dict.fromkeys((*places, *rates, *(each for own in others for each in own)))]
        base = name.rstrip("'")
        parts = (base, name, base.partition(".")[0], base.partition(":")[0])
        if not self.failed and not {*parts} & {*known}:
            self._problem(node, f"{section}: {unknown('name', name, known)}")

    def _setting(self, section: str, name: str, node: Node) -> Any:
        """A plain value of a run; texts that are numbers with units are read, those of inputs may
        be expressions, and those of a start have to be numbers."""
        with self._blamed(node, f"{section}: {name}"):
            if isinstance(node.value, dict):
                return {key: self._setting(name, key, item) for key, item in node.value.items()}
            if section in ("start", "guess"):
                several = isinstance(node.value, list)
                return [*map(self._constant, node.value)] if several else self._constant(node)
            if not isinstance(node.value, str):
                return node.plain()
            with suppress(ModelError):
                return self._constant(node)
            return self._number(node) if section == "inputs" else node.value

    def _constant(self, node: Node) -> float:
        value = self._number(node)
        if not isinstance(value, SX):
            value = SX(value) if isinstance(value, (int, float)) else SX()
        if not value.is_constant() or not value.is_scalar():
            raise node.refusal("a number")
        return float(value)

    # --- elements ---------------------------------------------------------------------------------

    def _make(
        self,
        say: Callable[..., Any],
        name: str,
        node: Node,
        given: dict[str, Node] | None = None,
    ) -> None:
        """Say it to the system, with each argument read as its field asks."""
        if given is None:
            given = self._given(node)
        fields = fields_of(say)
        if "name" in given:
            raise ModelError("the name stands before the colon; leave out name:")
        arguments = dict[str, Any]()
        for key, item in given.items():
            try:
                one_of("argument", key, [k for k in fields if k != "name"], ModelError)
                arguments[key] = self._value(fields[key], item)
            except ModelError as error:
                told = "" if key not in fields else f"{key}: "
                problems = [(item.line, f"{told}{problem}") for problem in error.problems]
                raise _Located(problems) from None
        say(name, **arguments)

    # --- problems ---------------------------------------------------------------------------------

    def _problem(self, node: Node, problem: str) -> None:
        self.problems.append((node.line, problem))

    @contextmanager
    def _blamed(self, node: Node, what: str, name: str | None = None) -> Iterator[None]:
        try:
            yield
        except _Located as error:
            own = [each for each in error.located if not self._follows(each[1])]
            before = "" if error.whole else f"{what}: "
            self.problems += [(line, f"{before}{problem}") for line, problem in own]
        except ModelError as error:
            for problem in (each for each in error.problems if not self._follows(each)):
                plain = re.sub(rf"^\w+ {re.escape(repr(name))}: ", "", _in_words_of_files(problem))
                self._problem(_blamed_key(node, plain), f"{what}: {plain}")
        else:
            return
        self.failed |= {name} - {None}

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
                self.problems.append((line, _in_words_of_files(problem)))
            return
        for line, formula in self.formulas:
            try:  # with all names, so that those are told which it could have used
                Formula(formula.text, self.names, formula.arguments)(m)
            except ModelError as error:
                self.problems += [(line, problem) for problem in error.problems]


class _Located(ModelError):
    """Problems with lines of their own; ``whole`` ones tell where they stand in their section."""

    def __init__(self, located: Iterable[tuple[int, str]], whole: bool = False) -> None:
        self.located, self.whole = [*located], whole
        super().__init__(problem for _, problem in self.located)


def _scaled(values: Any, factor: float) -> Any:
    if isinstance(values, list):
        return [_scaled(value, factor) for value in values]
    return values if factor == 1.0 else values * factor


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _in_words_of_files(problem: str) -> str:
    return problem.replace("made by frame()", "written as {}")


def _blamed_key(node: Node, problem: str) -> Node:
    """The argument that a problem is about, if it names one; else the element."""
    if isinstance(node.value, dict):
        for key, item in node.value.items():
            if re.match(rf"{re.escape(key)}\b", problem):
                return item
    return node
