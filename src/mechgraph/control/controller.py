"""``Controller``: a law for inputs, followed at every moment or at samples, with states of its own.

A law is written in one of two ways, which its first argument tells apart:

- with the motion, ``lambda m: -k * m.coordinate("hinge")``: it becomes an expression of the state
  and part of the machine code;
- in Python on numbers, ``def law(t, q, u)`` (or of t alone): it is called.

With states x, by name, it takes them as one more argument, a dictionary, and returns a pair: the
inputs, and of the states their rates (at every moment) or what they are next (sampled).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..arguments import choice, named, number
from ..errors import ArgumentError, shown

Law = Callable[..., Any]


@dataclass(frozen=True, eq=False)
class Controller:
    """A law for inputs: of the motion (``written`` is "motion"), of t ("time") or of (t, q, u)
    ("state") in Python, or an expression of the equations ("equations")."""

    law: Law
    written: str
    rate: float | None = None  # samples in a second; None: at every moment
    states: Mapping[str, float] = field(default_factory=dict)  # by name, as they begin

    def __post_init__(self) -> None:
        if not callable(self.law):
            raise ArgumentError(f"a controller's law must be a function, got {shown(self.law)}")
        choice("written", self.written, ("motion", "time", "state", "equations"))
        if self.rate is not None:
            number("a controller's rate", self.rate, positive=True)
        for name, value in named("states", self.states).items():
            number(f"state {name!r}", value)

    @property
    def compiles(self) -> bool:
        """Whether it becomes part of the machine code."""
        return self.written in ("motion", "equations")

    def __repr__(self) -> str:
        how = "at every moment" if self.rate is None else f"sampled at {self.rate:g} Hz"
        own = f", with states {', '.join(self.states)}" if self.states else ""
        return f"<Controller {how}{own}>"


def feedback(law: Law | Controller, states: Mapping[str, float] | None = None) -> Controller:
    """A law that is followed at every moment.

    law: a function of the motion ``m``, or of (t, q, u), that returns the inputs: one number, a
        vector in the order of ``eqs.inputs``, or a mapping by name (others are zero).
    states: by name, further states with the values that they begin with. The law takes them as one
        more argument, a dictionary, and returns (inputs, rates of the states).

    >>> feedback(lambda m, x: (-x["sum"], {"sum": m.coordinate("hinge")}), states={"sum": 0.0})
    <Controller at every moment, with states sum>
    """
    return _made("feedback", law, None, states)


def sampled(
    law: Law | Controller, rate: float, states: Mapping[str, float] | None = None
) -> Controller:
    """A law that is asked ``rate`` times a second, from the start of a run on; in between its
    inputs are held (zero-order hold).

    law: as for ``feedback``; it may ask for accelerations as well, those with the inputs before.
    states: by name, what is kept from sample to sample, with the values at the start. The law takes
        them as one more argument, a dictionary, and returns (inputs, the next states).

    >>> sampled(lambda t, q, u: -2 * q - u, rate=1000)
    <Controller sampled at 1000 Hz>
    """
    return _made("sampled", law, number("sampled: rate", rate, positive=True), states)


def _made(call: str, law: Any, rate: float | None, states: Any) -> Controller:
    known = {key: number(f"state {key!r}", x) for key, x in named("states", states).items()}
    if not isinstance(law, Controller):
        return Controller(law, written(call, law, bool(known)), rate, known)
    if law.rate is not None or law.states or known:
        raise ArgumentError(
            f"{call} takes a law without states and rate, got {law!r}; a law with states is "
            "written for samples or for every moment (mg.pid has rate=…)"
        )
    return Controller(law.law, law.written, rate)


def controller(what: str, value: Any) -> Controller:
    """A controller, or a function as one that is followed at every moment."""
    return value if isinstance(value, Controller) else Controller(value, written(what, value))


def written(what: str, law: Any, states: bool = False) -> str:
    """How a law is written: "motion" if its first argument is m, "state" for functions of
    (t, q, u), "time" for those of t (also those without a readable signature)."""
    if not callable(law):
        raise ArgumentError(f"{what} takes a function of m or of (t, q, u), got {shown(law)}")
    try:
        signature = inspect.signature(law)
    except (TypeError, ValueError):
        return "time"
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    own = [p for p in signature.parameters.values() if p.kind in positional]
    needed = sum(p.default is p.empty for p in own)
    kind = "motion" if own and own[0].name == "m" else "state" if states or needed > 1 else "time"
    try:
        signature.bind(*range({"motion": 1, "state": 3, "time": 1}[kind] + states))
    except TypeError:
        x = ", and then of its states" if states else ""
        raise ArgumentError(
            f"{what} must be a function of t or of (t, q, u), or of the motion, called m{x}, got "
            f"one of {signature}"
        ) from None
    return kind
