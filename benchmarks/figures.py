"""What is asked of mechgraph, and what was measured: the section "aims" of RESULTS.md.

The benchmarks record what they measure in figures.json; every record writes the section anew.

    python benchmarks/figures.py    writes the section from what was recorded before
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from derivation import RESULTS, table, write_section

FIGURES = Path(__file__).with_name("figures.json")
# Pinocchio's C through CasADi: µs, seconds of compiling; measured elsewhere
GENERATED = {
    "arm": (0.40, 12),
    "tree": (3.7, 118),
}


@dataclass(frozen=True)
class Figure:
    """One number with its limit: ``least`` it has to reach, or ``most`` it may be."""

    what: str
    value: float
    least: float | None = None
    most: float | None = None
    unit: str = "×"

    @property
    def met(self) -> bool:
        return (self.least is None or self.value >= self.least) and (
            self.most is None or self.value <= self.most
        )

    @property
    def asked(self) -> str:
        return (
            f"≥ {self.least:g}{self.unit}"
            if self.least is not None
            else f"≤ {self.most:g}{self.unit}"
        )

    @property
    def measured(self) -> str:
        return f"{self.value:.3g}{self.unit}"


def record(part: str, figures: dict[str, Any]) -> None:
    """Keep what one benchmark measured, and write the section anew."""
    FIGURES.write_text(
        json.dumps({**_recorded(), part: figures}, indent=1, ensure_ascii=False) + "\n"
    )
    write_section("aims", section(_recorded()))


def _recorded() -> dict[str, Any]:
    return json.loads(FIGURES.read_text()) if FIGURES.exists() else {}


def section(recorded: dict[str, Any]) -> str:
    head = ["aim", "figure", "asked", "measured", "met"]
    rows = [
        [str(number), figure.what, figure.asked, figure.measured, "yes" if figure.met else "**no**"]
        for number, figures in enumerate(AIMS, start=1)
        for figure in figures(recorded)
    ]
    unmet = sorted({int(row[0]) for row in rows if row[-1] != "yes"})
    notes = "\n".join(f"- Aim {number}: {WHY[number]}" for number in unmet if number in WHY)
    return (
        f"## Aims\n\nWritten by the benchmarks from what they measured.\n\n{table(head, rows)}"
        + (notes and f"\n\n{notes}")
    )


def _faster(what: str, times: dict[str, float] | None, peer: str, least: float) -> Iterator[Figure]:
    """How many times longer a peer takes."""
    if times is not None and peer in times:
        yield Figure(f"{what}, {peer} / mechgraph", times[peer] / times["mechgraph"], least)


def _batches(recorded: dict[str, Any]) -> Iterator[Figure]:
    for tree, least in (("arm", 15), ("tree", 10)):
        times = recorded.get(tree, {}).get("forward dynamics, batch, 1 thread")
        yield from _faster(f"{tree}: forward dynamics, batch, one core", times, "Pinocchio", least)


def _single_evaluations(recorded: dict[str, Any]) -> Iterator[Figure]:
    for tree, (reference, compiling) in GENERATED.items():
        found = recorded.get(tree, {})
        inside = found.get("forward dynamics, one state at a time in C")
        if inside is not None:
            peer = "no slower than Pinocchio's through CasADi"
            yield Figure(
                f"{tree}: forward dynamics in C, {peer}",
                1e6 * inside["mechgraph"],
                most=reference,
                unit=" µs",
            )
            peer = "a fifth of the time for Pinocchio's through CasADi"
            yield Figure(
                f"{tree}: compiling it, {peer}", found["compiling"], most=compiling / 5, unit=" s"
            )
        for call in (
            f"{what}, one call from Python"
            for what in ("forward dynamics", "inverse dynamics", "mass matrix")
        ):
            yield from _faster(f"{tree}: {call}", found.get(call), "Pinocchio", 1)


def _derivatives(recorded: dict[str, Any]) -> Iterator[Figure]:
    for tree in ("arm", "tree"):
        for of in ("forward", "inverse"):
            what = f"derivatives of {of} dynamics, batch"
            yield from _faster(f"{tree}: {what}", recorded.get(tree, {}).get(what), "Pinocchio", 3)


def _rollouts(recorded: dict[str, Any]) -> Iterator[Figure]:
    for what, times in recorded.get("rollouts", {}).items():
        yield from _faster(f"arm: {what} of a rollout, one core", times, "MuJoCo", 20)


def _loops(recorded: dict[str, Any]) -> Iterator[Figure]:
    for what, found in recorded.get("loops", {}).items():
        for peer in ("Exudyn", "MuJoCo"):
            yield from _faster(what, found, peer, 20)
        yield Figure(f"{what}, violation", found["violation"], most=1e-10, unit="")


def _derivation(recorded: dict[str, Any]) -> Iterator[Figure]:
    times = recorded.get("derivation", {}).get("pendulum of 10 links", {})
    for formalism in ("kane", "newton-euler"):
        for peer in ("KanesMethod", "KanesMethod, joint angles"):
            if formalism in times and peer in times:
                yield Figure(
                    f"10-link pendulum, SymPy {peer} / `{formalism}`",
                    times[peer] / times[formalism],
                    50,
                )


def _starting(recorded: dict[str, Any]) -> Iterator[Figure]:
    found = recorded.get("derivation", {})
    if "chain of 50" in found:
        yield Figure(
            "chain of 50 bodies: first number without a compiler",
            found["chain of 50"],
            most=2,
            unit=" s",
        )
    for name in ("arm", "tree"):
        if "compiling" in recorded.get(name, {}):
            yield Figure(
                f"{name}: compiling forward dynamics",
                recorded[name]["compiling"],
                most=10,
                unit=" s",
            )
    if "cached start" in found:
        yield Figure(
            "chain of 7: description to number, code in the cache",
            1e3 * found["cached start"],
            most=50,
            unit=" ms",
        )
    costs = {int(n): cost for n, cost in recorded.get("chains", {}).items() if int(n) >= 10}
    if costs:
        spread = max(costs.values()) / min(costs.values())
        yield Figure(
            f"chains of {min(costs)} to {max(costs)} bodies: dearest / cheapest body",
            spread,
            most=1.2 / 0.8,
        )


AIMS = (_batches, _single_evaluations, _derivatives, _rollouts, _loops, _derivation, _starting)
WHY = {  # printed where an aim is not met
    2: "a call from Python costs about 2 µs whatever it computes: two frames of Python, checks of "
    "the arguments, a copy of each vector into the kernel's own memory, ctypes, and a copy of the "
    "result. Pinocchio's binding is compiled and returns its own memory instead of a copy, so that "
    "functions which take less than a microsecond are quicker there.",
    3: "the results of one state of the tree are 23 kB; writing them takes about as long as "
    "computing them.",
    5: "a run to an accuracy of 1e-3 takes so few steps that the millisecond around them in Python "
    "counts.",
    6: "angles to the vertical make SymPy's expressions of this pendulum the shortest that they "
    "can be; what is left here is CasADi's own time for a function (common subexpressions, "
    "ordering) and 10 to 30 µs for each call of its Python layer.",
    7: "what leaves the processor's caches costs more.",
}


if __name__ == "__main__":
    write_section("aims", section(_recorded()))
    print(RESULTS)
