"""Default settings on the gallery beside methods chosen by hand, all at rtol 1e-8.

    python benchmarks/defaults.py                 rewrites the section "defaults" of RESULTS.md
    python benchmarks/defaults.py --quick         three systems, prints only
    python benchmarks/defaults.py snakeboard …    these systems, prints only

Of each run: seconds of its thread on the processor (least of three runs that take turns, machine
code from the cache where there is some), evaluations, which no other work on the machine disturbs,
and the error: that of the places of all bodies and of the tips of their axes against a run at rtol
1e-12, relative to how far they move. The energy balance would flatter methods that keep it by
themselves. The last column is the time of the default over that of the best method whose error is
at most twice as large.
"""

from __future__ import annotations

import argparse
import signal
import warnings
from dataclasses import dataclass
from time import thread_time
from typing import Any

import casadi as ca
import numpy as np

import mechgraph as mg
from derivation import table, versions, write_section
from mechgraph import gallery

METHODS = (None, "rk8", "radau", "rk45")
QUICK = ("double_pendulum", "fourbar", "heavy_top")
TURNS = 3
# seconds of the processor that a run may take; the timer that tells makes the clock of the process
# stand still, that of the thread goes on
LIMIT = 20.0
FINE = 1e-12
EXPLAINED = (
    "Time, evaluations and error of the gallery at rtol 1e-8; the ratio is the time of the default "
    "over that of the best method whose error is at most twice as large. A dash: failed, or over "
    "20 s."
)


@dataclass
class Measured:
    """Of a method: the least time, evaluations, and the error of positions."""

    seconds: float = np.inf
    evaluations: int = 0
    error: float = np.nan
    late: bool = False  # or failed: not tried again

    def __str__(self) -> str:
        if not np.isfinite(self.seconds):
            return "–"
        return f"{1e3 * self.seconds:.3g} ms, {self.evaluations:,}, {self.error:.0e}"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("names", nargs="*")
    asked = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in the background
    signal.signal(signal.SIGPROF, lambda *_: signal.raise_signal(signal.SIGINT))
    rows = []
    for name in asked.names or (QUICK if asked.quick else gallery.names()):
        found = compared(gallery.load(name))
        rows.append([name, *map(str, found.values()), f"{ratio(found):.2g}"])
        print(*rows[-1], sep=" | ", flush=True)
    text = table(["system", *(method or "default" for method in METHODS), "ratio"], rows)
    if not (asked.quick or asked.names):
        write_section("defaults", f"## Defaults\n\n{versions()} {EXPLAINED}\n\n{text}")


def compared(example: gallery.Example) -> dict[str | None, Measured]:
    """All methods on one system, taking turns."""
    equations = example.system().equations()
    fine = run_of(example, equations, None, rtol=FINE)
    found = {method: Measured() for method in METHODS}
    for _ in range(TURNS):
        for method, measured in found.items():
            began = thread_time()
            run = None if measured.late else run_of(example, equations, method)
            measured.late = run is None
            if run is not None:
                measured.seconds = min(measured.seconds, thread_time() - began)
                measured.evaluations = run.statistics["evaluations"]
                measured.error = apart(run, fine)
    return found


def run_of(
    example: gallery.Example, equations: mg.Equations, method: str | None, **more: Any
) -> mg.Trajectory | None:
    """The example's run; None if it fails or takes too long."""
    options = {k: v for k, v in example.options.items() if k not in ("rtol", "atol", "method")}
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            run = equations.simulate(
                example.duration,
                example.start,
                guess=example.guess,
                method=method,
                **{**options, **more},
            )
    except (mg.SimulationError, KeyboardInterrupt):
        return None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return None if run.outcome == "interrupted" else run


def apart(run: mg.Trajectory, fine: mg.Trajectory | None) -> float:
    """The largest distance of a body from where the finer run has it, relative to how far bodies
    move; after impacts times may be there twice, the latter counts."""
    if fine is None:
        return np.nan
    (t, x), (_, exact) = places(run), places(fine)
    here = np.isin(t, places(fine)[0])
    exact = exact[np.isin(places(fine)[0], t[here])]
    return float(np.abs(x[here] - exact).max() / np.ptp(exact, axis=0).max())


def places(run: mg.Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Times, and positions and two axes of all bodies."""
    last = np.append(np.diff(run.time) > 0, True)
    bodies = list(run.equations.system.bodies) if run.equations else []
    if not bodies:
        return run.time[last], run.q[last]
    x = run.observe(
        lambda m: ca.vertcat(
            *(part for b in bodies for part in (m.position(b), m.axis(b, "x"), m.axis(b, "z")))
        )
    )
    return run.time[last], np.reshape(x, (len(run.time), -1))[last]


def ratio(found: dict[str | None, Measured]) -> float:
    """The time of the default over that of the best whose error is at most twice as large."""
    own = found[None]
    equals = (m.seconds for m in found.values() if not m.error > 2 * own.error)
    return own.seconds / min(equals)


if __name__ == "__main__":
    main()
