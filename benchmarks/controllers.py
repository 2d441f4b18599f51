"""Real-time factors of runs with controllers: an arm with seven joints under computed torque.

    python benchmarks/controllers.py            rewrites the section "controllers" of RESULTS.md
    python benchmarks/controllers.py --quick    prints only

The same law is written in Python (on arrays, with ``efforts``) and as an expression of the
equations; it is followed at every moment, or sampled at 1 kHz. Each run is first compared with the
others. Times are seconds of the thread on the processor, the least of some runs that take turns,
with machine code that is there already: of a whole call of ``simulate``, and what a second more of
motion takes in a run that is twice as long.
"""

from __future__ import annotations

import argparse
from time import thread_time
from typing import Any

import numpy as np

import mechgraph as mg
from contacts import versions
from derivation import table, write_section
from figures import record
from models import arm, to_mechgraph

RATE, KP, KD = 1000.0, 100.0, 20.0
AMPLITUDES = np.linspace(0.3, 0.8, 7)
DURATION, TURNS = 10.0, 5
TRAJECTORIES = 1024


def robot() -> mg.Equations:
    system = to_mechgraph(arm())
    for joint in system.joints:
        system.torque(f"{joint} motor", joint, system.input(f"{joint} torque"))
    return system.equations()


def in_python(eqs: mg.Equations):
    def law(t, q, u):
        r = AMPLITUDES * np.sin(2 * t)
        v, a = 2 * AMPLITUDES * np.cos(2 * t), -4 * r
        return eqs.efforts(q, u, a + KD * (v - u) + KP * (r - q), t)

    return law


def expression(eqs: mg.Equations, rate: float | None = None) -> mg.Controller:
    wanted = {
        name: lambda t, a=float(a): a * mg.sin(2 * t)
        for name, a in zip(eqs.coordinates, AMPLITUDES, strict=True)
    }
    return mg.computed_torque(wanted, KP, KD, rate)


def laws(eqs: mg.Equations) -> dict[str, Any]:
    return {
        "Python, sampled at 1 kHz": mg.sampled(in_python(eqs), RATE),
        "Python, at every moment": in_python(eqs),
        "expression, sampled at 1 kHz": expression(eqs, RATE),
        "expression, at every moment": expression(eqs),
    }


def measure(eqs: mg.Equations, turns: int) -> dict[str, tuple[float, float, mg.Trajectory]]:
    """Of each law: seconds of a call and of going on for as long again, and the run."""
    start = dict(zip(eqs.coordinates, AMPLITUDES / 4, strict=True))
    runs: dict[str, mg.Trajectory] = {}
    best: dict[tuple[str, int], float] = {}
    for _ in range(turns):
        for name, law in laws(eqs).items():
            for times in (1, 2):
                began = thread_time()
                runs[name] = eqs.simulate(
                    times * DURATION, start, inputs=law, method="rk8", step=0.02, track_work=False
                )
                spent = thread_time() - began
                best[name, times] = min(spent, best.get((name, times), np.inf))
    return {name: (best[name, 1], best[name, 2] - best[name, 1], run) for name, run in runs.items()}


def batch(eqs: mg.Equations, turns: int) -> dict[str, float]:
    """Seconds of many trajectories of one second, one step for each sample."""
    q = np.random.default_rng(1).normal(0, 0.3, (TRAJECTORIES, 7))
    cases = {
        "Python": mg.sampled(in_python(eqs), RATE),
        "expression": expression(eqs, RATE),
    }
    best = dict.fromkeys(cases, np.inf)
    for _ in range(turns):
        for name, law in cases.items():
            began = thread_time()
            eqs.rollout(q, 0 * q, step=1 / RATE, steps=int(RATE), every=100, inputs=law)
            best[name] = min(best[name], thread_time() - began)
    return best


def alone(eqs: mg.Equations, turns: int) -> dict[str, tuple[float, float]]:
    """Seconds of one trajectory with one step of a fixed length for each sample: of a call, and of
    going on for as long again."""
    q, law, steps = AMPLITUDES / 4, expression(eqs, RATE), int(RATE * DURATION)
    best: dict[tuple[str, int], float] = {}
    for _ in range(turns):
        for method in ("rk4", "symplectic"):
            for times in (1, 2):
                began = thread_time()
                grid = {"step": 1 / RATE, "steps": times * steps, "every": 100, "method": method}
                eqs.rollout(q, 0 * q, inputs=law, **grid)
                spent = thread_time() - began
                best[method, times] = min(spent, best.get((method, times), np.inf))
    return {m: (best[m, 1], best[m, 2] - best[m, 1]) for m, times in best if times == 1}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="print only")
    quick = parser.parse_args().quick
    eqs = robot()
    eqs.compile()
    found, many = measure(eqs, 2 if quick else TURNS), batch(eqs, 1 if quick else 3)
    for kind in ("sampled at 1 kHz", "at every moment"):
        a, b = (found[f"{how}, {kind}"][2].q for how in ("Python", "expression"))
        assert np.abs(a - b).max() < 1e-6
    rows, measured = [], {}
    for name, (whole, more, run) in found.items():
        counts = [f"{run.statistics[key] // 2:,}" for key in ("steps", "evaluations")]
        rows.append([name, f"×{DURATION / whole:,.0f}", f"×{DURATION / more:,.0f}", *counts])
        measured[name] = DURATION / more
    for method, (whole, more) in alone(eqs, 2 if quick else TURNS).items():
        label = f"expression, sampled at 1 kHz, fixed steps ({method})"
        row = [
            f"×{DURATION / whole:,.0f}",
            f"×{DURATION / more:,.0f}",
            f"{RATE * DURATION:,.0f}",
            "",
        ]
        rows.append([label, *row])
        measured[label] = DURATION / more
    for name, spent in many.items():
        label = f"{name}, sampled at 1 kHz, {TRAJECTORIES} trajectories together"
        rows.append([label, f"×{TRAJECTORIES / spent:,.0f}", "", f"{int(RATE):,} each", ""])
        measured[label] = TRAJECTORIES / spent
    head = ["computed torque", "real time, whole call", "going on", "steps", "evaluations"]
    text = (
        f"## Controllers\n\n{versions()} An arm with seven joints under computed torque for "
        f"{DURATION:g} s, rtol 1e-8: seconds of motion for a second of computing.\n\n"
        f"{table(head, rows)}"
    )
    print(text)
    if not quick:
        write_section("controllers", text)
        record("controllers", measured)


if __name__ == "__main__":
    main()
