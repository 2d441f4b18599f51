"""What each formalism costs: operations of u̇, and its time in machine code, side by side.

    python benchmarks/formalisms.py            rewrites the tables of docs/formalisms/README.md
    python benchmarks/formalisms.py --counts   compares the operations of the page with a new count

Operations are counted after sharing, closed with the default closure (or in the formalism's own
way); they are the same on every machine. Times are ratios to newton-euler in one run: of kernels on
a batch of states, whose calls take turns, in time of the processor. Before anything is measured all
must agree.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from time import process_time

import casadi as ca
import numpy as np

import mechgraph as mg
from derivation import table, versions
from mechgraph import gallery
from mechgraph.studies.agreement import random_states
from mechgraph.studies.assembly.change_of_coordinates import convert

PAGE = Path(__file__).parents[1] / "docs" / "formalisms" / "README.md"
MARKS = {name: (f"<!-- begin {name} -->", f"<!-- end {name} -->") for name in ("counts", "times")}
BATCH, REPEATED = 1024, 4
COMPILED = 40_000  # operations; longer code is not worth the wait
WAYS: dict[str, tuple[str, dict[str, str]]] = {
    **{name: (name, {}) for name in ("newton-euler", "kane", "noc", "gauss", "appell", "lagrange")},
    "lagrange, explicit": ("lagrange", {"form": "explicit"}),
    "boltzmann-hamel": ("boltzmann-hamel", {}),
    "maggi": ("maggi", {}),
    "maggi, of Kane": ("maggi", {"form": "kane"}),
    **{name: (name, {}) for name in ("hamilton", "absolute", "points")},
    "points, by closure": ("points", {"route": "closure"}),
    "points, unreduced": ("points", {"form": "unreduced", "route": "closure"}),
    "points, planar": ("points", {"form": "planar", "route": "closure"}),
    "nodes": ("nodes", {}),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--counts", action="store_true", help="compare the page's operations")
    counted = count_table()
    if parser.parse_args().counts:
        sys.exit(None if counted in PAGE.read_text() else f"the page is out of date:\n{counted}")
    for name, (build, guess) in SYSTEMS.items():
        report = mg.agreement(build(), guess=guess)
        assert report.ok, f"{name}\n{report}"
    write("counts", counted)
    write("times", f"Measured {versions()}\n\n{time_table()}")


def write(name: str, text: str) -> None:
    """Put a table between its two marks."""
    first, last = MARKS[name]
    before, rest = PAGE.read_text().split(first)
    PAGE.write_text(f"{before}{first}\n\n{text}\n\n{last}{rest.split(last)[1]}")


# --- systems --------------------------------------------------------------------------------------


def chain(count: int, kind: str, plane: str | None = None) -> mg.System:
    """Bodies on ball joints, on hinges whose axes cross, or on hinges in a plane."""
    system = mg.System(f"{kind} chain", gravity=(0, -9.81, 0), plane=plane)
    parent, com = system.ground, (0.1, -0.4, 0) if plane else (0.1, -0.4, 0.2)
    for k in range(count):
        body = system.body(f"b{k}", mass=1.0, com=com, inertia=(0.1, 0.2, 0.15))
        axis = {} if kind == "spherical" else {"axis": "z" if plane or k % 2 else "x"}
        getattr(system, kind)(f"j{k}", parent, body, at=(0, -1 if k else 0, 0), **axis)
        parent = body
    return system


def four_bar() -> mg.System:
    s = mg.System("four-bar", gravity=(0, -9.81, 0), plane="xy")
    A, B, C = (s.body(name, mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1)) for name in "ABC")
    s.revolute("crank", s.ground, A)
    s.revolute("knee", A, B, at=(1, 0, 0))
    s.revolute("rocker", s.ground, C, at=(1.5, 0, 0))
    s.revolute("pin", B, C, at=(1.2, 0, 0), child_at=(1, 0, 0))
    return s


def disc() -> mg.System:
    """Rolling, with its angular velocity and its slip as speeds."""
    return gallery.load("disc_three_ways").system()


Builds = tuple[Callable[[], mg.System], dict[str, float]]  # and a guess
SYSTEMS: dict[str, Builds] = {
    "3 hinges": (lambda: chain(3, "revolute"), {}),
    "10 hinges": (lambda: chain(10, "revolute"), {}),
    "3 balls": (lambda: chain(3, "spherical"), {}),
    "10 in a plane": (lambda: chain(10, "revolute", "xy"), {}),
    "four-bar": (four_bar, {"knee": -1.0, "rocker": 1.5}),
    "disc": (disc, {}),
}


def derived(build: Callable[[], mg.System]) -> dict[str, mg.Equations]:
    """The equations by every formalism that takes the system."""
    out: dict[str, mg.Equations] = {}
    for way, (formalism, options) in WAYS.items():
        try:
            out[way] = build().equations(formalism, **options)
        except mg.UnsupportedError:
            continue
    return out


# --- counts and times -----------------------------------------------------------------------------


def count_table() -> str:
    columns = {
        name: {way: f"{operations(eqs):,}" for way, eqs in derived(build).items()}
        for name, (build, _) in SYSTEMS.items()
    }
    return rows_of(columns)


def operations(equations: mg.Equations) -> int:
    """Of u̇, after sharing, without those that move numbers."""
    s = equations.terms.symbols
    udot = ca.cse(ca.densify(equations.numeric.closed.udot))
    function = ca.Function("f", [s.q, s.u, s.t, s.w, s.p], [udot])
    moved = ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST
    ids = (function.instruction_id(k) for k in range(function.n_instructions()))
    return sum(each not in moved for each in ids)


def time_table() -> str:
    return rows_of({name: ratios(*each) for name, each in SYSTEMS.items()})


def ratios(build: Callable[[], mg.System], guess: dict[str, float]) -> dict[str, str]:
    """Times of the formalisms' kernels over that of newton-euler; its own in nanoseconds."""
    first = build().equations()
    at = random_states(first, 8, guess=guess)
    calls = {}
    for way, equations in derived(build).items():
        if operations(equations) < COMPILED:
            q, u = convert(first, equations, at.q, at.u, at.t)
            calls[way] = kernel_call(equations, *(np.tile(x, (BATCH // 8, 1)) for x in (q, u)))
    times = least(calls)
    base = times["newton-euler"]
    out = {way: f"{seconds / base:.1f}" for way, seconds in times.items()}
    return {**out, "newton-euler": f"{base / BATCH * 1e9:.0f} ns"}


def least(calls: dict[str, Callable[[], object]], rounds: int = 15) -> dict[str, float]:
    """Processor time of each call, the least of rounds in which they take turns: on a busy machine,
    too."""
    times = dict.fromkeys(calls, np.inf)
    for _ in range(rounds):
        for name, call in calls.items():
            call()  # what others left in the caches is gone
            began = process_time()
            for _ in range(REPEATED):
                call()
            times[name] = min(times[name], (process_time() - began) / REPEATED)
    return times


def kernel_call(eqs: mg.Equations, q: np.ndarray, u: np.ndarray) -> Callable[[], object]:
    """The kernel of the accelerations alone, into memory that is there."""
    eqs.accelerations(q[0], u[0])
    eqs.compile()
    kernel = eqs.numeric.kernels["closed" if eqs.constraints else "known udot"]
    arguments = eqs.numeric.arguments(q, u, 0.0, None, None)
    out = kernel(*arguments)
    return lambda: kernel(*arguments, out=out)


def rows_of(columns: dict[str, dict[str, str]]) -> str:
    rows = [[way, *(column.get(way, "") for column in columns.values())] for way in WAYS]
    return table(["", *columns], rows)


if __name__ == "__main__":
    main()
