"""Numbers that have limits. Constants are checked where they are given, parameters where they get
values: what is refused as a number is refused as a parameter's value."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from casadi import SX

from ..errors import ModelError
from ..numerics.tolerances import GIVEN
from .transitions import Directed

if TYPE_CHECKING:
    from .description import Description


REMEMBERED = 100  # sets of values that were right: runs with contacts come back to the same ones


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

    def problems(self, numbers: np.ndarray) -> Iterator[str]:
        """Problems of the number that parameters make of it."""
        if not self.met(float(numbers[0])):
            yield self.problem(float(numbers[0]))

    def met(self, value: float) -> bool:
        """True if a value is within the limit."""
        return value > 0 if self.positive else value >= 0

    def problem(self, value: float) -> str:
        """The message on a value that is not."""
        wanted = "be positive" if self.positive else "not be negative"
        return f"{self.what} must {wanted}, got {value:g}{self.hint}"


class Fraction(Limit):
    """``value`` must be from 0 to 1."""

    def met(self, value: float) -> bool:
        return 0 <= value <= 1

    def problem(self, value: float) -> str:
        return f"{self.what} must be from 0 to 1, got {value:g}{self.hint}"


class NotZero(Limit):
    """``value`` must not be zero."""

    def met(self, value: float) -> bool:
        return value != 0

    def problem(self, value: float) -> str:
        return f"{self.what} is zero{self.hint}"


class Perpendicular(Limit):
    """``value``, the product of two unit vectors, must be zero."""

    def met(self, value: float) -> bool:
        return abs(value) <= GIVEN

    def problem(self, value: float) -> str:
        return f"{self.what} must be perpendicular{self.hint}"


class UnitLength(Limit):
    """``value``, the length of an axis, must be one."""

    def met(self, value: float) -> bool:
        return abs(value - 1) <= GIVEN

    def problem(self, value: float) -> str:
        return f"{self.what} has length {value:.12g}, not 1{self.hint}"


@dataclass(frozen=True, eq=False)
class Check:
    """A condition on numbers that parameters decide: ``judge`` says what is wrong with them, or
    nothing."""

    culprit: str
    value: SX
    judge: Callable[[np.ndarray], Iterator[str]]


class ParameterChecks:
    """Everything that is refused as a number, for values of the parameters: limits of elements,
    axes that must have length one, rotations, masses and inertias; and ``further`` checks."""

    def __init__(self, system: Description, further: Sequence[Check] = ()) -> None:
        self._fine: set[bytes] = set()  # sets of values with which nothing was wrong
        self.parameters = list(system.parameters.values())
        own = {symbol.__hash__() for symbol in self.parameters}
        known = (*_element_checks(system), *_joint_checks(system), *_body_checks(system))
        self.checks = [
            check
            for check in (*known, *further)
            if not check.value.is_constant()
            and own.issuperset(symbol.__hash__() for symbol in ca.symvar(check.value))
        ]

    @cached_property
    def _values(self) -> ca.Function:
        values = [ca.densify(ca.vec(check.value)) for check in self.checks]
        return ca.Function("checks", [ca.vertcat(*self.parameters)], values)

    def problems(self, parameters: np.ndarray) -> Iterator[str]:
        """Problems of values of the parameters, one set of them or a batch."""
        known = parameters.tobytes() if parameters.ndim == 1 else None
        if not self.checks or known in self._fine:
            return
        sets = np.unique(parameters.reshape(-1, len(self.parameters)), axis=0)
        told = set()
        for values in zip(*(np.array(x).T for x in self._values.call([sets.T])), strict=True):
            for check, numbers in zip(self.checks, values, strict=True):
                told |= {f"{check.culprit}: {problem}" for problem in check.judge(numbers)}
        if known is not None and not told:
            self._fine = {known} | (self._fine if len(self._fine) < REMEMBERED else set())
        yield from sorted(told)


def _element_checks(system: Description) -> Iterator[Check]:
    for element in system.elements:
        for limit in element.limits:
            yield Check(element.called, limit.value, limit.problems)


def _joint_checks(system: Description) -> Iterator[Check]:
    for name, joint in system.joints.items():
        for limit in joint.kind.limits:
            yield Check(f"joint {name!r}", limit.value, limit.problems)
        for step in joint.transitions:
            if isinstance(step, Directed):
                yield Check(f"joint {name!r}", step.direction, _axis_problems)
        for frame in (joint.parent, joint.child):
            yield Check(f"joint {name!r}", frame.rotation, _rotation_problems)
    for name, marker in system.markers.items():
        yield Check(f"marker {name!r}", marker.rotation, _rotation_problems)


def _axis_problems(numbers: np.ndarray) -> Iterator[str]:
    length = float(np.linalg.norm(numbers))
    if abs(length - 1) > GIVEN:
        yield f"its axis has length {length:.12g}, not 1, with these values of the parameters"


def _rotation_problems(numbers: np.ndarray) -> Iterator[str]:
    R = numbers.reshape(3, 3)
    if np.abs(R.T @ R - np.eye(3)).max() > GIVEN or np.linalg.det(R) < 0:
        yield "its orientation is not a rotation with these values of the parameters"


def _body_checks(system: Description) -> Iterator[Check]:
    for name, body in system.bodies.items():
        if not body.weightless:
            value = ca.vertcat(body.mass, ca.vec(body.inertia))
            judge = partial(mass_problems, allow_unphysical=body.allow_unphysical)
            yield Check(f"body {name!r}", value, judge)


def mass_problems(numbers: np.ndarray, allow_unphysical: bool = False) -> Iterator[str]:
    """Problems of a mass and nine numbers of a central inertia."""
    mass, inertia = numbers[0], numbers[1:].reshape(3, 3)
    if mass < 0 or (mass == 0 and not allow_unphysical):
        yield f"mass must be positive, got {mass:g}; a massless one is made by frame()"
    elif not allow_unphysical:
        yield from _inertia_problems(inertia)


def _inertia_problems(inertia: np.ndarray) -> Iterator[str]:
    scale = np.abs(inertia).max()
    if np.abs(inertia - inertia.T).max() > GIVEN * scale:
        yield "the inertia matrix is not symmetric"
        return
    a, b, c = np.linalg.eigvalsh(inertia)
    if a < -GIVEN * scale:
        yield (
            f"the central inertia has the negative principal value {a:.6g}; check inertia_about "
            "and "
            "the signs"
        )
    elif a + b < c * (1 - GIVEN):
        yield (
            f"the principal inertias {a:.6g}, {b:.6g}, {c:.6g} break the triangle inequality (no "
            "body has them); check the data or say allow_unphysical=True"
        )
