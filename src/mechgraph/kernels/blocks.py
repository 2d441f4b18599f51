"""The blocks of a program as C functions, their tables of operands, and the workspace between them.

A compiler's time grows faster than the length of a function, so long code is split into blocks of
limited size, each a function of its own. A kind of block that occurs many times is printed once, as
a loop: what differs from one occurrence to the next stands in a row of two tables, t (places of
operands) and c (constants). Values that pass from block to block wait in a workspace whose places
are reused.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator
from itertools import groupby

import numpy as np

from ..graph.operations import OPERATIONS
from ..graph.program import Program
from ..graph.searches import lookup
from .compiler import CompilationFailure
from .repeats import CONSTANT, INPUT, VALUE, Blocks, Units, find_blocks, units

INFIX = {name: OPERATIONS[name].sign for name in ("add", "sub", "mul", "div")}
SIGNATURE = "const V *restrict x, V *restrict w, V *restrict y"
TABLES = "const int32_t *restrict t, const double *restrict c, long n"

RUN = """static void NAME_run(SIGNATURE) {
    static void (*const block[])(SIGNATURE, TABLES) = {BLOCKS};
    static const struct { int block, times; } step[] = {STEPS};
    static const int places[] = {PLACES}, constants[] = {CONSTANTS};
    const int32_t *t = NAME_places;
    const double *c = NAME_constants;
    for (long i = 0; i < COUNT; i++) {
        const int b = step[i].block, n = step[i].times;
        block[b](x, w, y, t, c, n);
        t += n * places[b], c += n * constants[b];
    }
    DIRECT
}"""


class TooLong(CompilationFailure):
    """More would be printed than a compiler is given by itself."""


class NotInC(CompilationFailure):
    """A program has operations without a form in C."""


def print_blocks(
    name: str, program: Program, shapes: list[tuple[int, int]], limit: int | None = None
) -> tuple[list[str], int]:
    """The texts of ``NAME_run`` and of the functions that it calls, and the size of the
    workspace."""
    missing = program.missing(OPERATIONS)
    if missing:
        raise NotInC(f"C has no form of {', '.join(missing)} here")
    code, results = units(program), Results(program, shapes)
    computed = results.computed(code)
    blocks = find_blocks(code, np.bincount(computed[:, 0], minlength=2 * len(code)))
    if limit is not None and blocks.printed > limit:
        raise TooLong(
            f"{blocks.printed:,} operations to be compiled, which `compile()` does if asked"
        )
    workspace = Workspace(code, blocks)
    kinds = [Kind(code, blocks, k, workspace, computed) for k in range(blocks.kinds)]
    plain = all(kind.once for kind in kinds)
    texts = [_table(key, *data) for key, data in program.tables.items()]
    texts += [kind.text(f"{name}_{number}", plain) for number, kind in enumerate(kinds)]
    direct = [f"y[{place}] = {text};" for text, place in results.direct(program)]
    if plain:
        texts.append(_calls(name, blocks, direct))
    else:
        texts += [*_tables(name, blocks, kinds), _steps(name, blocks, kinds, direct)]
    return texts, workspace.size


class Results:
    """Where each value goes among the results, which are stored row by row while CasADi numbers
    them column by column."""

    def __init__(self, program: Program, shapes: list[tuple[int, int]]) -> None:
        self.places: list[tuple[int, int]] = []  # (value, place)
        offset = 0
        for output, (rows, columns) in zip(program.outputs, shapes, strict=True):
            for k, value in enumerate(output):
                self.places.append((value, offset + k % rows * columns + k // rows))
            offset += len(output)

    def computed(self, code: Units) -> np.ndarray:
        """The results that are computed: rows (number of the value, place), in order."""
        found = [(code.place[n], place) for n, place in self.places if n in code.place]
        return np.array(sorted(found), np.int64).reshape(-1, 2)

    def direct(self, program: Program) -> Iterator[tuple[str, int]]:
        """The results that are inputs or constants: (text, place)."""
        offsets = np.concatenate(([0], np.cumsum(program.sizes))).tolist()
        for n, place in self.places:
            value = program.values[n]
            if value[0] == "input":
                yield f"x[{offsets[value[1]] + value[2]}]", place
            elif value[0] == "constant":
                yield f"S({number_text(value[1])})", place


# --- the workspace --------------------------------------------------------------------------------


class Workspace:
    """Places of the values that later blocks use.

    Values of a block that live about equally long lie side by side, so that one place in a table
    is enough for all of them.
    """

    def __init__(self, code: Units, blocks: Blocks) -> None:
        self.blocks = blocks
        self.inner = blocks.inner(code)
        self.last = self._last_uses(code)
        self.groups = [self._grouped(kind) for kind in range(blocks.kinds)]
        self.place = np.full(2 * len(code), -1)
        self.size = self._assign()

    def _last_uses(self, code: Units) -> np.ndarray:
        """The last block that takes each value from the workspace, −1 if none does."""
        block = np.repeat(np.arange(len(self.blocks.kind)), np.diff(self.blocks.start))
        last = np.full(2 * len(code), -1)
        outside = (code.kind == VALUE) & ~self.inner
        for taken, source in zip(outside.T, code.source.T, strict=True):
            np.maximum.at(last, source[taken], block[taken])
        return last

    def _grouped(self, kind: int) -> list[np.ndarray]:
        """Numbers (from the beginning of the block) of the values to be stored, those of similar
        life together."""
        which = np.flatnonzero(self.blocks.kind == kind)
        begin = self.blocks.start[which]
        span = 2 * int(self.blocks.start[which[0] + 1] - begin[0])
        values = 2 * begin[:, None] + np.arange(span)
        life = (self.last[values] - which[:, None]).max(axis=0)
        stored = np.flatnonzero(life >= 0)
        if len(which) == 1:
            return list(stored[:, None])
        scale = np.log2(life[stored] + 1).astype(int) // 2
        return [stored[scale == s] for s in np.unique(scale)]

    def _assign(self) -> int:
        """Give the values places, each free again after the last use of its group; return the size
        of the workspace."""
        free: dict[int, list[int]] = {}
        expiring: dict[int, list[tuple[int, int]]] = {}
        size = 0
        for k, kind in enumerate(self.blocks.kind.tolist()):
            for length, begin in expiring.pop(k - 1, ()):
                free.setdefault(length, []).append(begin)
            for group in self.groups[kind]:
                length, values = len(group), 2 * self.blocks.start[k] + group
                if free.get(length):
                    begin = free[length].pop()
                else:
                    begin, size = size, size + length
                self.place[values] = np.arange(begin, begin + length)
                end = max(k, int(self.last[values].max()))
                expiring.setdefault(end, []).append((length, begin))
        return size


# --- one kind of block ----------------------------------------------------------------------------


class Kind:
    """A block that is printed once, and the tables of its occurrences: a row for each, equal
    columns only once."""

    def __init__(
        self, code: Units, blocks: Blocks, kind: int, workspace: Workspace, results: np.ndarray
    ) -> None:
        self.which = np.flatnonzero(blocks.kind == kind)
        begin = blocks.start[self.which]
        units = begin[:, None] + np.arange(blocks.start[self.which[0] + 1] - begin[0])
        self.places, self.constants = UniqueColumns(np.int32), UniqueColumns(float)
        names = [code.names[k] for k in code.operation[units[0]].tolist()]
        operands = self._operands(code, units, workspace)
        stored = self._stored(2 * begin, workspace.groups[kind], workspace.place)
        stores = stored + self._results(2 * units, results)
        self.lines = list(_statements(names, operands, stores))

    @property
    def once(self) -> bool:
        """True if it occurs only once."""
        return len(self.which) == 1

    def text(self, name: str, plain: bool) -> str:
        """The function; all have the arguments of a repeated one unless all are ``plain``."""
        if plain:
            return f"static NOINLINE void {name}({SIGNATURE}) {_braced(self.lines, 'xwy')}"
        loop = f"for (; n > 0; n--, t += {len(self.places)}, c += {len(self.constants)}) {{"
        body = _braced([loop, *self.lines, "}"], "xwytcn")
        return f"static NOINLINE void {name}({SIGNATURE}, {TABLES}) {body}"

    def _operands(self, code: Units, units: np.ndarray, workspace: Workspace) -> list[str]:
        """Both operands of every operation: a value of this block (v…), x[…], w[…], a constant
        (marked #), or nothing."""
        kinds = code.kind[units[0]].ravel()
        source = code.source[units].reshape(len(units), -1)
        number = code.number[units].reshape(len(units), -1)
        local = (source[0] - 2 * units[0, 0]).tolist()
        here = workspace.inner[units[0]].ravel()
        texts = [f"v{n}" if own else "" for n, own in zip(local, here.tolist(), strict=True)]
        inputs = np.flatnonzero(kinds == INPUT)
        for k, place in zip(inputs.tolist(), self._indices(source[:, inputs]), strict=True):
            texts[k] = f"x[{place}]"
        outside = np.flatnonzero((kinds == VALUE) & ~here)
        places = self._indices(workspace.place[source[:, outside]])
        for k, place in zip(outside.tolist(), places, strict=True):
            texts[k] = f"w[{place}]"
        for k in np.flatnonzero(kinds == CONSTANT).tolist():
            texts[k] = self._constant(number[:, k])
        return texts

    def _stored(
        self, begin: np.ndarray, groups: list[np.ndarray], place: np.ndarray
    ) -> list[tuple[int, str]]:
        """Values that go to the workspace, by their numbers in the block, and where."""
        stored = np.concatenate([np.zeros(0, np.int64), *groups])
        indices = self._indices(place[begin[:, None] + stored])
        return [(n, f"w[{i}]") for n, i in zip(stored.tolist(), indices, strict=True)]

    def _results(self, values: np.ndarray, results: np.ndarray) -> list[tuple[int, str]]:
        """Values that are results, by their numbers in the block, and where."""
        first = np.searchsorted(results[:, 0], values[:, 0])
        count = np.searchsorted(results[:, 0], values[0, -1] + 2) - first[0]
        numbers = (results[first[0] : first[0] + count, 0] - values[0, 0]).tolist()
        places = results[first[:, None] + np.arange(count), 1]
        return [(n, f"y[{i}]") for n, i in zip(numbers, self._indices(places), strict=True)]

    def _indices(self, places: np.ndarray) -> list[str]:
        """An index in C for each column of places: a number if all rows agree, else from the table,
        where columns that differ by a constant share one."""
        steps = places - places[0]
        texts = list(map(str, places[0].tolist()))
        for k in np.flatnonzero(steps.any(axis=0)).tolist():
            texts[k] = f"t[{self.places.number(steps[:, k])}] + {texts[k]}"
        return texts

    def _constant(self, column: np.ndarray) -> str:
        same = column.tobytes() == column[:1].tobytes() * len(column)
        return f"#{number_text(column[0])}" if same else f"#c[{self.constants.number(column)}]"


class UniqueColumns:
    """A table by its columns, each of them only once."""

    def __init__(self, dtype: type) -> None:
        self.dtype, self.columns = dtype, dict[bytes, np.ndarray]()
        self.numbers: dict[bytes, int] = {}

    def __len__(self) -> int:
        return len(self.columns)

    def number(self, column: np.ndarray) -> int:
        """The number of a column, which is entered if it is new."""
        key = column.tobytes()
        self.columns.setdefault(key, column)
        return self.numbers.setdefault(key, len(self.numbers))

    def rows(self, count: int) -> np.ndarray:
        """The table as an array, a row for each occurrence."""
        return np.array([*self.columns.values()], self.dtype).reshape(-1, count).T


def _statements(
    names: list[str], operands: list[str], stores: list[tuple[int, str]]
) -> Iterator[str]:
    """The operations of a block; what comes from the workspace is loaded once, where it is first
    used."""
    targets: dict[int, list[str]] = {}
    for value, target in stores:
        targets.setdefault(value, []).append(target)
    loaded: dict[str, str] = {}
    for k, name in enumerate(names):
        texts = [text for text in operands[2 * k : 2 * k + 2] if text]
        for text in texts:
            if text[0] == "w" and text not in loaded:
                loaded[text] = f"e{len(loaded)}"
                yield f"const V {loaded[text]} = {text};"
        texts = [loaded.get(text, text) for text in texts]
        first, second = 2 * k, 2 * k + 1
        if name == "sincos":
            yield f"V v{first}, v{second};"
            yield f"v_sincos({_spread(texts[0])}, &v{first}, &v{second});"
        else:
            yield f"const V v{first} = {expression(name, texts)};"
        for value in (first, second):
            yield from (f"{target} = v{value};" for target in targets.get(value, ()))


def expression(name: str, operands: list[str]) -> str:
    """An operation in C; a constant (marked with #) beside a variable stays scalar, because the
    compiler spreads it over the lanes itself."""
    if name in INFIX:
        left, right = operands
        left = left[1:] if left[0] == "#" != right[0] else _spread(left)
        return f"{left} {INFIX[name]} {right.removeprefix('#')}"
    if name == "neg":
        return f"-{_spread(operands[0])}"
    return f"v_{name}({', '.join(map(_spread, operands))})"


def _spread(operand: str) -> str:
    """An operand as a V."""
    return f"S({operand[1:]})" if operand[0] == "#" else operand


# --- tables of the model --------------------------------------------------------------------------


def _table(name: str, knots: np.ndarray, columns: np.ndarray) -> str:
    """A table of the model: its data, and what searches it and reads its columns, once in a
    file."""
    lines = [f"#ifndef HAVE_{name}", f"#define HAVE_{name}"]
    table = lookup(name)
    if table is not None and table.is_pick:
        lines.append(f"EACH2(v_{name}, (x - 1.0) * {table.row}.0 + (y - 1.0))")
    else:
        lines.append(f"static const double {name}_knots[] = {{{_listed(knots)}}};")
        lines.append(f"EACH(v_{name}, search({name}_knots, {len(knots)}, x))")
    width = columns.shape[1]
    lines.append(f"static const double {name}_rows[] = {{{_listed(columns.ravel())}}};")
    lines += [f"EACH(v_{name}_{k + 1}, {name}_rows[(long)x * {width} + {k}])" for k in range(width)]
    return "\n".join([*lines, "#endif"])


# --- the whole ------------------------------------------------------------------------------------


def _calls(name: str, blocks: Blocks, direct: list[str]) -> str:
    """``NAME_run`` where no block is repeated."""
    calls = [f"{name}_{number}(x, w, y);" for number in blocks.kind]
    return f"static void {name}_run({SIGNATURE}) {_braced([*calls, *direct], 'xwy')}"


def _tables(name: str, blocks: Blocks, kinds: list[Kind]) -> list[str]:
    """The rows of all blocks one after the other in the order in which they run."""
    texts = []
    for what, dtype, c_type in (("places", np.int32, "int32_t"), ("constants", float, "double")):
        tables = [getattr(k, what).rows(len(k.which)) for k in kinds]
        width = np.array([table.shape[1] for table in tables])
        begin = np.concatenate(([0], np.cumsum(width[blocks.kind])))
        stream = np.zeros(begin[-1], dtype)
        for k, table in zip(kinds, tables, strict=True):
            stream[begin[k.which][:, None] + np.arange(table.shape[1])] = table
        texts.append(f"static const {c_type} {name}_{what}[] = {{{_listed(stream)}}};")
    return texts


def _listed(stream: np.ndarray) -> str:
    text = number_text if stream.dtype == float else str
    items = [text(value) for value in stream.tolist()] or ["0"]
    return ",\n".join(",".join(items[k : k + 20]) for k in range(0, len(items), 20))


def _steps(name: str, blocks: Blocks, kinds: list[Kind], direct: list[str]) -> str:
    """``NAME_run`` where blocks are repeated: a loop over steps, each a block and how often it
    runs."""
    steps = [(kind, len(list(run))) for kind, run in groupby(blocks.kind.tolist())]
    parts = {
        "NAME": name,
        "BLOCKS": ", ".join(f"{name}_{k}" for k in range(len(kinds))),
        "STEPS": ", ".join(f"{{{kind}, {times}}}" for kind, times in steps),
        "PLACES": ", ".join(str(len(kind.places)) for kind in kinds),
        "CONSTANTS": ", ".join(str(len(kind.constants)) for kind in kinds),
        "COUNT": str(len(steps)),
        "DIRECT": "\n    ".join(direct),
        "SIGNATURE": SIGNATURE,
        "TABLES": TABLES,
    }
    return re.sub("|".join(parts), lambda found: parts[found[0]], RUN)


def _braced(lines: Iterable[str], arguments: str) -> str:
    """The body of a function; arguments that it does not use are named, for compilers that warn of
    them."""
    body = "\n    ".join(lines)
    unused = "".join(f"(void){name}; " for name in arguments if not re.search(rf"\b{name}\b", body))
    return f"{{\n    {unused}{body}\n}}"


def number_text(value: float) -> str:
    """A number in C, exactly."""
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value)) if math.copysign(1.0, value) > 0 else f"({float(value)!r})"
