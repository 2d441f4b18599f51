"""Whole turns. An angle that is measured between two bodies (of a cut joint, of every joint in
absolute coordinates) is known only up to whole turns. Where a force or a constraint takes its
value, as a torsion spring or a gear does, one more coordinate θ goes along with it, θ̇ = φ̇, and
says which turn it is in:

    angle = φ + 2π round((θ − φ) / 2π).

θ decides nothing else: no speed, no inertia and no constraint is added for it. A servo needs none:
its angle is near the given one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any, TypeVar

from casadi import SX

from ..model.constraints import LEVELS, Constraint
from .chart import Chart
from .motion import ChartMotion

Counted = TypeVar("Counted", bound=Chart)


def count_turns(chart: Counted) -> Counted:
    """A chart with the coordinates that count the turns of the angles that forces and constraints
    ask for."""
    asked = angles_asked_for(chart)
    return chart.with_turns({name: rate for name, (_, rate) in asked.items()}) if asked else chart


def angles_asked_for(chart: Chart) -> dict[str, tuple[SX, SX]]:
    """Measured angles that forces and constraints take the value of, by name, and their rates."""
    description, m = chart.description, _Asked(chart)
    asking = description.constraints or any(joint.angles for joint in chart.closed)
    if not asking and not any(element.counts_turns for element in description.elements):
        return {}
    for element in description.elements:
        questions: list[Callable[..., Any]] = [
            element.potential,
            element.conservative,
            element.nonconservative,
        ]
        if isinstance(element, Constraint):
            questions += [partial(element.rows, level=level) for level in LEVELS]
        for question in questions:
            with suppress(Exception):  # what is wrong with an element is told where it is used
                question(m)
    return m.asked


class _Asked(ChartMotion):
    """A motion that remembers which angles it was asked for."""

    def __init__(self, chart: Chart) -> None:
        super().__init__(chart)
        self.asked: dict[str, tuple[SX, SX]] = {}

    def turned(self, name: str, angle: SX, rate: Callable[[], SX], near: Any = None) -> SX:
        whole = super().turned(name, angle, rate, near)
        if near is None and name not in self.asked:
            self.asked[name] = whole, rate()
        return whole
