"""Default settings on the gallery: the time and the error of a run beside those of every method
chosen by hand.

    python benchmarks/defaults.py            rewrites the section "defaults" of RESULTS.md
    python benchmarks/defaults.py --quick    three systems, prints only

The error is that of the energy balance at rtol 1e-8, relative to the largest kinetic energy. Times
are of the run alone, with machine code from the cache where there is some.
"""

from __future__ import annotations

import argparse
import warnings
from time import perf_counter

import numpy as np

import mechgraph as mg
from derivation import table, write_section
from mechgraph import gallery

METHODS = (None, "rk8", "radau", "dop853", "lsoda")
QUICK = ("double_pendulum", "fourbar", "heavy_top")
LIMIT = 60.0  # seconds that a method chosen by hand may take


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    names = QUICK if quick else tuple(sorted(path.stem for path in gallery.folder().glob("*.py")))
    rows = [[name, *(measured(gallery.load(name), method) for method in METHODS)] for name in names]
    text = table(["system", *(method or "default" for method in METHODS)], rows)
    print(text) if quick else write_section("defaults", text)


def measured(example: gallery.Example, method: str | None) -> str:
    """Seconds and error of the second of two runs."""
    options = {k: v for k, v in example.options.items() if k not in ("rtol", "method")}
    equations = example.system().equations()
    spent, error = 0.0, np.nan
    for _ in range(2):
        began = perf_counter()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                run = equations.simulate(
                    example.duration, example.start, guess=example.guess, method=method, **options
                )
        except mg.SimulationError:
            return "–"
        error = np.abs(run.imbalance).max() / np.abs(run.kinetic).max()
        spent = perf_counter() - began
        if spent > LIMIT:
            break
    return f"{spent:.3g} s, {error:.0e}"


if __name__ == "__main__":
    main()
