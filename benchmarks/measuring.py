"""Times of calls that take turns."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter

import numpy as np

Call = Callable[[], object]


def medians(calls: dict[str, Call], repeats: int = 15) -> dict[str, float]:
    """Seconds of each call: medians over rounds in which the calls take turns, each long enough to
    be measured."""
    times = _rounds(calls, repeats, 0.01)
    return {name: float(np.median(values)) for name, values in times.items()}


def fastest(calls: dict[str, Call], repeats: int = 300) -> dict[str, float]:
    """The same by the least of many short rounds: what else the machine does counts little."""
    times = _rounds(calls, repeats, 0.001)
    return {name: min(values) for name, values in times.items()}


def _rounds(calls: dict[str, Call], repeats: int, least: float) -> dict[str, list[float]]:
    counts = {name: _count(call, least) for name, call in calls.items()}
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(repeats):
        for name, call in calls.items():
            began = perf_counter()
            for _ in range(counts[name]):
                call()
            times[name].append((perf_counter() - began) / counts[name])
    return times


def _count(call: Call, least: float) -> int:
    call()
    began = perf_counter()
    call()
    return max(1, int(least / max(perf_counter() - began, 1e-7)))


def microseconds(value: float | None) -> str:
    return "–" if value is None else f"{value * 1e6:.3g}"
