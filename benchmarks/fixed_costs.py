"""What is paid whatever is computed: import, first numbers, short runs, descriptions and reports.

    python benchmarks/fixed_costs.py            rewrites the section "fixed costs" of RESULTS.md
    python benchmarks/fixed_costs.py --quick    prints only

Times are processor time. What happens first is measured in a process of its own (least of five),
the rest as the least of many calls of one process, machine code included where there is a compiler.
"""

from __future__ import annotations

import argparse
import io
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path

import mechgraph as mg
from derivation import table, versions, write_section
from mechgraph import gallery

FIRST = {
    "import mechgraph": "import mechgraph",
    "import, and first accelerations of a double pendulum": (
        "from mechgraph import gallery\n"
        "gallery.load('double_pendulum').system().equations().accelerations([0.1, 0.2], [0, 0])"
    ),
    "import, and a first run of a double pendulum, 1 s": (
        "from mechgraph import gallery\n"
        "e = gallery.load('double_pendulum')\n"
        "e.system().equations().simulate(1.0, e.start)"
    ),
}
RUNS = {"double_pendulum": 1.0, "fourbar": 1.0, "bouncing_ball": 1.0}
LEAST = 1.0  # second of processor time that a call is repeated for


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    quick = parser.parse_args().quick
    least = 0.1 if quick else LEAST
    measured = {what: first(code, 1 if quick else 5) for what, code in FIRST.items()}
    for name, duration in RUNS.items():
        measured[f"a run of `{name}`, {duration:g} s, not the first"] = run_again(
            name, duration, least
        )
    measured |= looks("fourbar", least)
    rows = [[what, f"{1e3 * seconds:.3g} ms"] for what, seconds in measured.items()]
    text = table(["what", "processor time"], rows)
    print(text)
    if not quick:
        write_section("fixed costs", f"## Fixed costs\n\n{versions()}\n\n{text}")


def first(code: str, repeats: int) -> float:
    """Processor time of a process that does this alone, less that of one that does nothing."""
    return least_of(code, repeats) - least_of("pass", repeats)


def least_of(code: str, repeats: int) -> float:
    script = f"{code}\nimport time; print(time.process_time())"
    command = [sys.executable, "-c", script]
    said = (
        subprocess.run(command, capture_output=True, text=True, check=True) for _ in range(repeats)
    )
    return min(float(done.stdout.split()[-1]) for done in said)


def again(call: Callable[[], object], least: float) -> float:
    """The least processor time of a call that has been made before."""
    call()
    times, began = [], time.process_time()
    while not times or time.process_time() - began < least:
        start = time.process_time()
        call()
        times.append(time.process_time() - start)
    return min(times)


def run_again(name: str, duration: float, least: float) -> float:
    example = gallery.load(name)
    equations = example.system().equations()
    equations.compile()
    return again(
        lambda: equations.simulate(duration, example.start, guess=example.guess, progress=False),
        least,
    )


def looks(name: str, least: float) -> dict[str, float]:
    """What it takes to look at a system: each time it is described anew."""
    example = gallery.load(name)

    def describe() -> None:
        with redirect_stdout(io.StringIO()):
            print(example.system().describe())

    def report() -> None:
        run = (
            example.system()
            .equations()
            .simulate(example.duration, example.start, guess=example.guess, progress=False)
        )
        with tempfile.TemporaryDirectory() as folder:
            run.report(Path(folder) / "report.html")

    return {
        f"`describe` of `{name}`": again(describe, least),
        f"a run of `{name}` with its report": again(report, least),
        f"`agreement` of `{name}`": again(
            lambda: mg.agreement(example.system(), guess=example.guess), least
        ),
    }


if __name__ == "__main__":
    main()
