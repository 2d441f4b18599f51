"""Events of a run: zeros of quantities of the motion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import casadi as ca
from casadi import SX

from ...arguments import choice, flag
from ...errors import ArgumentError
from ...motion.motion import Motion
from .context import Context


@dataclass(frozen=True)
class Event:
    """A zero of a quantity of the motion: rising (+1), falling (−1) or either (0); ``stop`` ends
    the run there.

    The quantity is a function of the motion, or a name: states of controllers have names, too.

    A zero is where the sign changes: what touches zero and goes back (x² at x = 0) is none; its
    derivative tells of it. Two zeros nearer to each other than a millionth of a step may be taken
    for none, and so may a smooth quantity of time that is other than it was for less than a
    hundredth of a step: ``max_step`` brings them within reach.
    """

    quantity: str | Callable[[Motion], Any]
    direction: int = 0
    stop: bool = True


class Watch:
    """The events of a run: what they are zeros of, and when they were met."""

    def __init__(
        self, context: Context, events: Mapping[str, Event | str | Callable[..., Any]]
    ) -> None:
        self.events = {name: e if isinstance(e, Event) else Event(e) for name, e in events.items()}
        values = [_value(context, name, event) for name, event in self.events.items()]
        self.values: SX = ca.vertcat(SX(0, 1), *values)
        self.found: dict[str, list[float]] = {name: [] for name in events}
        self.stopped = ""

    @property
    def answers(self) -> tuple[tuple[int, ...], tuple[bool, ...]]:
        """In which direction each is met, and which end the run."""
        every = self.events.values()
        return tuple(e.direction for e in every), tuple(e.stop for e in every)

    def note(self, index: int, moment: float) -> None:
        """An event was met."""
        name, event = list(self.events.items())[index]
        self.found[name].append(moment)
        if event.stop and not self.stopped:
            self.stopped = name


def _value(context: Context, name: str, event: Event) -> SX:
    if not callable(event.quantity) and not isinstance(event.quantity, str):
        raise ArgumentError(
            f"event {name!r} must be an mg.Event, a name, or a function of the motion, got "
            f"{event.quantity!r}"
        )
    choice(f"event {name!r}: direction", event.direction, (-1, 0, 1))
    flag(f"event {name!r}: stop", event.stop)
    states = context.loop.states
    if isinstance(event.quantity, str) and event.quantity in states:
        return states[event.quantity]
    value = context.equations.expression(event.quantity)
    if value.numel() != 1:
        raise ArgumentError(f"event {name!r} must be the zero of one number, got {value.numel()}")
    return value
