"""Whole C files: the printed programs, on V (a double, or a vector with one state in each lane),
and the drivers that call them."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from pathlib import Path

from .. import graph
from ..graph import Program
from .blocks import print_blocks

STACK = 200_000  # bytes of workspace that may lie on the stack

DRIVER = """
/* States first … last - 1: argument k of state i begins at in[k] + i * stride[k] (stride 0: one for
   all states), result k at out[k] + i * its size. Returns 0, or 1 if a result is not finite, or 2
   if there is no memory. */
EXPORT int NAME(long first, long last, const double *const *in, const long *stride,
                double *const *out) {
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
            for (long b = 0; b < count[k]; b += 8) { /* so few at a time stay near */
                long end = b + 8 < count[k] ? b + 8 : count[k];
                for (long i = b; i < end; i++) check += y[o + i] * 0.0;
                for (int lane = 0; lane < LANES && g + lane < last; lane++) {
                    double *to = out[k] + (g + lane) * count[k];
                    for (long i = b; i < end; i++) to[i] = LANE(y[o + i], lane);
                }
            }
        }
    }
    FREE
    return !all_within(check, 1.0);
}
"""

SINGLE = """
/* One state: all arguments one after the other in x, all results in y. Returns 0, or 1 if a number
   is not finite, or 2 if there is no memory. */
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


INCLUDED = re.compile(r'^#include "(.+)"\n', re.MULTILINE)
# the files that decide how a program is printed
EMITTER = ("lanes.h", "rollout.h", "roll.py", "blocks.py", "emit.py")
TRACER = ("operations.py", "searches.py", "algebra.py", "program.py")


def text_of(name: str | Path) -> str:
    """The text of a file beside this one, or anywhere, with what it includes from its folder."""
    path = Path(__file__).parent / name
    text = path.read_text(encoding="utf-8")
    return INCLUDED.sub(lambda found: text_of(path.parent / found[1]), text)


@functools.cache
def emitter_text() -> str:
    """Everything that decides how a program is printed, as part of the cache's key."""
    paths: list[str | Path] = [Path(graph.__file__).parent / name for name in TRACER]
    return "".join(map(text_of, [*paths, *EMITTER]))


@dataclass(frozen=True)
class Printed:
    """``NAME_run`` of a program with all that it calls: the same text for every width, which only
    the drivers know."""

    name: str
    body: list[str]
    workspace: int
    sizes: tuple[int, ...]  # of the arguments
    counts: tuple[int, ...]  # of the results

    @property
    def places(self) -> tuple[int, int, int]:
        """How many places arguments, workspace and results need."""
        return max(1, sum(self.sizes)), max(1, self.workspace), max(1, sum(self.counts))


def printed(
    program: Program, name: str, shapes: list[tuple[int, int]], limit: int | None = None
) -> Printed:
    """The printed program; ``TooLong`` is raised if more operations than the limit would be
    printed."""
    body, workspace = print_blocks(name, program, shapes, limit)
    counts = tuple(len(output) for output in program.outputs)
    return Printed(name, body, workspace, program.sizes, counts)


def with_drivers(code: Printed, lanes: int) -> str:
    """A C file with ``NAME_run`` (one evaluation on V) and the driver ``NAME`` over a batch;
    results row by row."""
    drivers = [_driver(code, lanes), _single(code.name, code.places) if lanes == 1 else ""]
    return "\n".join([prelude(lanes), *code.body, *drivers])


def emit(
    program: Program, name: str, lanes: int, shapes: list[tuple[int, int]], limit: int | None = None
) -> str:
    """A program as a C file for one width."""
    return with_drivers(printed(program, name, shapes, limit), lanes)


def emit_with(
    driver: str,
    programs: dict[str, tuple[Program, list[tuple[int, int]]]],
    lanes: int,
    sizes: dict[str, int],
) -> str:
    """A C file with ``NAME_run`` for each program and a driver that calls them; ``sizes`` are
    defined for it, and WORK."""
    body, workspace = functions(programs)
    defined = {**sizes, "WORK": max(1, workspace)}
    definitions = "\n".join(f"#define {key} {value}" for key, value in defined.items())
    return "\n".join([prelude(lanes), *body, definitions, text_of(driver)])


ROUTINE = """
/* The same as a function that can be pointed to, and the size of its workspace. */
EXPORT int routine_call(const double *x, double *w, double *y) {
    routine_run(x, w, y);
    return 0;
}
EXPORT long routine_workspace = WORK;
"""


def routine_text(program: Program, shapes: list[tuple[int, int]]) -> str:
    """A C file with ``routine_call(x, workspace, result)`` for a program of one argument."""
    body, workspace = print_blocks("routine", program, shapes)
    return "\n".join([prelude(1), *body, ROUTINE.replace("WORK", str(max(1, workspace)))])


def functions(programs: dict[str, tuple[Program, list[tuple[int, int]]]]) -> tuple[list[str], int]:
    """The texts of ``NAME_run`` for each program, and the size of the workspace that serves them
    all."""
    texts, workspace = [], 0
    for name, (program, shapes) in programs.items():
        body, size = print_blocks(name, program, shapes)
        texts += body
        workspace = max(workspace, size)
    return texts, workspace


def prelude(lanes: int) -> str:
    """The lines that every file begins with."""
    return "\n".join([f"#define LANES {lanes}", EXPORT, text_of("lanes.h")])


EXPORT = """#ifdef _WIN32
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif
#include <stdlib.h>"""


def _driver(code: Printed, lanes: int) -> str:
    """The driver over a batch; its memory lies on the stack if it is small."""
    nx, nw, ny = code.places
    total = nx + nw + ny
    if 8 * lanes * total <= STACK:
        memory, free = f"V x[{nx}], w[{nw}], y[{ny}];", ""
    else:
        memory = (
            f"V *x = aligned_alloc(64, (sizeof(V) * {total} + 63) & ~63UL);\n"
            "    if (!x) return 2;\n"
            f"    V *w = x + {nx}, *y = w + {nw};"
        )
        free = "free(x);"
    return (
        DRIVER.replace("NAME", code.name)
        .replace("SIZES", ", ".join(map(str, code.sizes)) or "0")
        .replace("COUNTS", ", ".join(map(str, code.counts)))
        .replace("ARGUMENTS", str(len(code.sizes)))
        .replace("RESULTS", str(len(code.counts)))
        .replace("MEMORY", memory)
        .replace("FREE", free)
    )


def _single(name: str, places: tuple[int, int, int]) -> str:
    """The driver for one state."""
    nx, nw, ny = places
    if 8 * nw <= STACK:
        memory, free = f"V w[{nw}];", ""
    else:
        memory, free = f"V *w = malloc({8 * nw});\n    if (!w) return 2;", "free(w);"
    return (
        SINGLE.replace("NAME", name)
        .replace("WORKSPACE", memory)
        .replace("FREE", free)
        .replace("ARGUMENTS", str(nx))
        .replace("RESULTS", str(ny))
    )
