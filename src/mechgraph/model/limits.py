"""Numbers of elements that have a least value. Constants are checked where they are given,
parameters where they get values."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from casadi import SX

from ..errors import ModelError

if TYPE_CHECKING:
    from .description import Description


@dataclass(frozen=True, eq=False)
class Limit:
    """``value`` must be positive, or (``positive=False``) must not be negative."""

    what: str
    value: SX
    positive: bool = True
    hint: str = ""

    def __post_init__(self) -> None:
        if self.value.is_constant() and not self.met(float(self.value)):
            raise ModelError(self.problem(float(self.value)))

    def met(self, value: float) -> bool:
        """True if a value is within the limit."""
        return value > 0 if self.positive else value >= 0

    def problem(self, value: float) -> str:
        """What to say of a value that is not."""
        wanted = "be positive" if self.positive else "not be negative"
        return f"{self.what} must {wanted}, got {value:g}{self.hint}"


class Limits:
    """The limits of a system's elements that its parameters decide, and nothing else (time,
    inputs)."""

    def __init__(self, system: Description) -> None:
        self.parameters = list(system.parameters.values())
        own = {symbol.__hash__() for symbol in self.parameters}
        self.limits = [
            (f"{type(element).__name__} {element.name!r}", limit)
            for element in system.elements
            for limit in element.limits
            if not limit.value.is_constant()
            and own.issuperset(symbol.__hash__() for symbol in ca.symvar(limit.value))
        ]

    @cached_property
    def _values(self) -> ca.Function:
        return ca.Function(
            "limits",
            [ca.vertcat(*self.parameters)],
            [ca.vertcat(*(limit.value for _, limit in self.limits))],
        )

    def problems(self, parameters: np.ndarray) -> Iterator[str]:
        """What is wrong with values of the parameters, one set of them or a batch."""
        if not self.limits:
            return
        values = np.array(self._values(parameters.reshape(-1, len(self.parameters)).T)).min(
            axis=1, initial=np.inf
        )
        for (culprit, limit), value in zip(self.limits, values, strict=True):
            if not limit.met(value):
                yield f"{culprit}: {limit.problem(value)}"
