"""Programs printed as C: straight-line code on V (a double, or a vector with one state in each lane), in blocks.

A compiler's time grows faster than the length of a function, so long code is split into blocks of limited size, each a
function of its own; values that pass from block to block wait in a small workspace whose places are reused.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator
from importlib.resources import files

from .program import Program, Value

BLOCK = 800  # operations in a block
STACK = 200_000  # bytes of workspace that may lie on the stack

INFIX = {"add": "+", "sub": "-", "mul": "*", "div": "/"}

DRIVER = """
/* States first … last - 1: argument k of state i begins at in[k] + i * stride[k] (stride 0: one for all states),
   result k at out[k] + i * its size. Returns 0, or 1 if a result is not finite, or 2 if there is no memory. */
EXPORT int NAME(long first, long last, const double *const *in, const long *stride, double *const *out) {
    static const long size[] = {SIZES}, count[] = {COUNTS};
    MEMORY
    V check = S(0.0);
    for (long g = first; g < last; g += LANES) {
        long o = 0;
        for (int k = 0; k < ARGUMENTS; o += size[k], k++) {
            if (stride[k] == 0 && g > first) continue;
            for (int lane = 0; lane < LANES; lane++) {
                const double *from = in[k] + (g + lane < last ? g + lane : last - 1) * stride[k];
                for (long i = 0; i < size[k]; i++) LANE(x[o + i], lane) = from[i];
            }
        }
        NAME_run(x, w, y);
        o = 0;
        for (int k = 0; k < RESULTS; o += count[k], k++) {
            for (long i = 0; i < count[k]; i++) check += y[o + i] * 0.0;
            for (int lane = 0; lane < LANES && g + lane < last; lane++) {
                double *to = out[k] + (g + lane) * count[k];
                for (long i = 0; i < count[k]; i++) to[i] = LANE(y[o + i], lane);
            }
        }
    }
    FREE
    return !all_within(check, 1.0);
}
"""

SINGLE = """
/* One state: all arguments one after the other in x, all results in y. Returns 0, or 1 if a number is not finite, or 2 if
   there is no memory. */
EXPORT int NAME_one(const double *x, double *y) {
    WORKSPACE
    double check = 0.0;
    NAME_run(x, w, y);
    for (long i = 0; i < ARGUMENTS; i++) check += x[i] * 0.0;
    for (long i = 0; i < RESULTS; i++) check += y[i] * 0.0;
    FREE
    return check != 0.0;
}
"""


def text_of(name: str) -> str:
    """The text of a file beside this one."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


@functools.cache
def emitter_text() -> str:
    """Everything that decides how a program is printed; part of the cache's key."""
    return "".join(map(text_of, ("lanes.h", "integrate.h", "rollout.h", "program.py", "emit.py")))


def emit(program: Program, name: str, lanes: int, shapes: list[tuple[int, int]]) -> str:
    """A C file with ``NAME_run`` (one evaluation on V) and the driver ``NAME`` over a batch; results row by row."""
    body, workspace = functions({name: (program, shapes)})
    places = max(1, sum(program.sizes)), max(1, workspace), max(1, sum(len(output) for output in program.outputs))
    drivers = [_driver(program, name, places, lanes), _single(name, places) if lanes == 1 else ""]
    return "\n".join([prelude(lanes), *body, *drivers])


def emit_with(
    driver: str, programs: dict[str, tuple[Program, list[tuple[int, int]]]], lanes: int, sizes: dict[str, int]
) -> str:
    """A C file with ``NAME_run`` for each program and a driver that calls them; ``sizes`` are defined for it, and WORK."""
    body, workspace = functions(programs)
    defined = {**sizes, "WORK": max(1, workspace)}
    definitions = "\n".join(f"#define {key} {value}" for key, value in defined.items())
    return "\n".join([prelude(lanes), *body, definitions, text_of(driver)])


def functions(programs: dict[str, tuple[Program, list[tuple[int, int]]]]) -> tuple[list[str], int]:
    """The texts of ``NAME_run`` for each program, and the size of the workspace that serves them all."""
    printed = [_Printer(program, shapes).blocks(name) for name, (program, shapes) in programs.items()]
    return [text for texts, _ in printed for text in texts], max(size for _, size in printed)


def prelude(lanes: int) -> str:
    """What every file begins with."""
    return "\n".join([f"#define LANES {lanes}", EXPORT, text_of("lanes.h")])


SIGNATURE = "const V *restrict x, V *restrict w, V *restrict y"
EXPORT = """#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
#include <stdlib.h>"""


def _driver(program: Program, name: str, places: tuple[int, int, int], lanes: int) -> str:
    nx, nw, ny = places
    if 8 * lanes * sum(places) <= STACK:
        memory, free = f"V x[{nx}], w[{nw}], y[{ny}];", ""
    else:
        memory = f"V *x = aligned_alloc(64, (sizeof(V) * {sum(places)} + 63) & ~63UL), *w = x + {nx}, *y = w + {nw};"
        memory, free = f"{memory}\n    if (!x) return 2;", "free(x);"
    return (
        DRIVER.replace("NAME", name)
        .replace("SIZES", ", ".join(map(str, program.sizes)) or "0")
        .replace("COUNTS", ", ".join(str(len(output)) for output in program.outputs))
        .replace("ARGUMENTS", str(len(program.sizes)))
        .replace("RESULTS", str(len(program.outputs)))
        .replace("MEMORY", memory)
        .replace("FREE", free)
    )


def _single(name: str, places: tuple[int, int, int]) -> str:
    nx, nw, ny = places
    on_stack = 8 * nw <= STACK
    memory = f"V w[{nw}];" if on_stack else f"V *w = malloc({8 * nw});\n    if (!w) return 2;"
    text = SINGLE.replace("NAME", name).replace("WORKSPACE", memory).replace("FREE", "" if on_stack else "free(w);")
    return text.replace("ARGUMENTS", str(nx)).replace("RESULTS", str(ny))


class _Printer:
    """Splits a program into blocks and prints them."""

    def __init__(self, program: Program, shapes: list[tuple[int, int]]) -> None:
        self.values = program.values
        self.offsets = [sum(program.sizes[:k]) for k in range(len(program.sizes))]
        self.results = _result_places(program, shapes)
        self.partners = _partners(program.values)
        self.block_of = self._assign_blocks()

    def _assign_blocks(self) -> dict[int, int]:
        computed = [n for n, value in enumerate(self.values) if value[0] not in ("input", "constant")]
        blocks = {n: k // BLOCK for k, n in enumerate(computed)}
        for n in computed:  # a sine and the cosine of the same angle are computed together, at the first of them
            if n in self.partners:
                blocks[n] = min(blocks[n], blocks[self.partners[n]])
        return blocks

    def blocks(self, name: str) -> tuple[list[str], int]:
        """The block functions and ``NAME_run`` that calls them, and the size of the workspace."""
        members: list[list[int]] = [[] for _ in range(max(self.block_of.values(), default=-1) + 1)]
        for n, block in self.block_of.items():
            members[block].append(n)
        slots, size = self._workspace(members)
        texts = [self._block(name, k, numbers, slots) for k, numbers in enumerate(members)]
        calls = [f"{name}_{k}(x, w, y);" for k in range(len(members))]
        direct = [f"y[{p}] = {self._operand(n)};" for n, p in self._direct_results()]
        return [*texts, f"static void {name}_run({SIGNATURE}) {_braced(calls + direct)}"], size

    def _workspace(self, members: list[list[int]]) -> tuple[dict[int, int], int]:
        """Places in the workspace for values used in later blocks; a place is free again after the last use."""
        last_use: dict[int, int] = {}
        for k, numbers in enumerate(members):
            for n in numbers:
                for a in self.values[n][1:]:
                    if a in self.block_of and self.block_of[a] != k:
                        last_use[a] = max(last_use.get(a, 0), k)
        slots: dict[int, int] = {}
        free: list[int] = []
        expiring: dict[int, list[int]] = {}
        size = 0
        for k, numbers in enumerate(members):
            free += expiring.pop(k - 1, [])
            for n in (n for n in numbers if n in last_use):
                if free:
                    slots[n] = free.pop()
                else:
                    slots[n], size = size, size + 1
                expiring.setdefault(last_use[n], []).append(slots[n])
        return slots, size

    def _block(self, name: str, k: int, numbers: list[int], slots: dict[int, int]) -> str:
        here, lines = set(numbers), []
        loaded: set[int] = set()
        for n in numbers:
            for a in self.values[n][1:]:
                if a in slots and a not in here and a not in loaded:
                    loaded.add(a)
                    lines.append(f"const V v{a} = w[{slots[a]}];")
            lines += self._statement(n)
            lines += [f"w[{slots[n]}] = v{n};"] if n in slots else []
            lines += [f"y[{p}] = v{n};" for p in self.results.get(n, ())]
        return f"static NOINLINE void {name}_{k}({SIGNATURE}) {_braced(lines)}"

    def _statement(self, n: int) -> Iterator[str]:
        value = self.values[n]
        partner = self.partners.get(n)
        if partner is None:
            yield f"const V v{n} = {self._expression(value)};"
        elif partner > n:  # the first of a pair computes both
            sine, cosine = (n, partner) if value[0] == "sin" else (partner, n)
            yield f"V v{sine}, v{cosine}; v_sincos({self._operand(value[1])}, &v{sine}, &v{cosine});"

    def _expression(self, value: Value) -> str:
        operation, *arguments = value
        if operation in INFIX:
            return self._infix(INFIX[operation], *arguments)
        if operation == "neg":
            return f"-{self._operand(arguments[0])}"
        return f"v_{operation}({', '.join(self._operand(n) for n in arguments)})"

    def _infix(self, sign: str, a: int, b: int) -> str:
        """A constant beside a variable stays scalar: the compiler spreads it."""
        left, right = self.values[a], self.values[b]
        if right[0] == "constant":
            return f"{self._operand(a)} {sign} {_number(right[1])}"
        return f"{_number(left[1]) if left[0] == 'constant' else self._operand(a)} {sign} {self._operand(b)}"

    def _operand(self, n: int) -> str:
        value = self.values[n]
        if value[0] == "constant":
            return f"S({_number(value[1])})"
        return f"x[{self.offsets[value[1]] + value[2]}]" if value[0] == "input" else f"v{n}"

    def _direct_results(self) -> Iterator[tuple[int, int]]:
        """Results that are inputs or constants as they stand."""
        for n, places in self.results.items():
            if n not in self.block_of:
                yield from ((n, place) for place in places)


def _result_places(program: Program, shapes: list[tuple[int, int]]) -> dict[int, list[int]]:
    """Where each value goes among the results, which are stored row by row while CasADi numbers them column by column."""
    places: dict[int, list[int]] = {}
    offset = 0
    for output, (rows, columns) in zip(program.outputs, shapes, strict=True):
        for k, n in enumerate(output):
            column, row = divmod(k, rows)
            places.setdefault(n, []).append(offset + row * columns + column)
        offset += len(output)
    return places


def _partners(values: list[Value]) -> dict[int, int]:
    """Sine and cosine of the same value, each by the number of the other."""
    found = {value: n for n, value in enumerate(values) if value[0] in ("sin", "cos")}
    other = {"sin": "cos", "cos": "sin"}
    return {n: found[other[op], a] for (op, a), n in found.items() if (other[op], a) in found}


def _braced(lines: list[str]) -> str:
    """The body of a block; arguments that it does not use are named, for compilers that warn of them."""
    body = "\n    ".join(lines)
    unused = "".join(f"(void){name}; " for name in "xwy" if not re.search(rf"\b{name}\b", body))
    return f"{{\n    {unused}{body}\n}}"


def _number(value: float) -> str:
    if math.isnan(value):
        return "NAN"
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(float(value)) if value >= 0 else f"({float(value)!r})"
