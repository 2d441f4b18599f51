"""What a run is made with besides its start: inputs and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ...arguments import named, one_of
from ...control.controller import Controller, controller
from ...errors import ArgumentError, ModelError
from ...tables.outside import refusal
from ...tables.series import in_time
from ...tables.table import Table
from ...vectors import scalar
from .loop import Loop, close

if TYPE_CHECKING:
    from ...equations import Equations

SOON = 1e-9  # of the time: just after


@dataclass(frozen=True)
class Context:
    """Equations with their inputs (closed with the equations) and parameters fixed."""

    equations: Equations
    loop: Loop
    parameters: dict[str, float]

    @staticmethod
    def make(
        equations: Equations,
        inputs: Any,
        parameters: Mapping[str, float] | None,
    ) -> Context:
        constants = equations.numeric.arguments.parameters(named("parameters", parameters) or None)
        if constants.ndim > 1:
            raise ArgumentError(
                "parameters: a run takes one number for each; for many runs at once use rollout"
            )
        return Context(
            equations,
            close(equations, given_inputs(equations, inputs)),
            dict(zip(equations.parameters, map(float, constants), strict=True)),
        )

    def refusal(self, q: np.ndarray, u: np.ndarray, t: float, slack: float = 0.0) -> str | None:
        """What is to be said of a table that refuses to answer here, or nearly here."""
        terms, s, loop = self.equations.terms, self.equations.terms.symbols, self.loop
        value = ca.vertcat(ca.vec(terms.M), terms.f, terms.phi, terms.psi, terms.b, loop.inputs)
        p, told = np.array(list(self.parameters.values())), loop.numbers.copy()
        told[: s.w.numel()] = self.inputs_at(np.array([t]), q[None], u[None])[0]
        symbols = [s.q, s.u, s.t, s.p, loop.own, loop.told]
        return refusal(value, symbols, [q, u, t, p, loop.own_start, told], slack)

    def inputs_at(
        self,
        t: np.ndarray,
        q: np.ndarray,
        u: np.ndarray,
        own: np.ndarray | None = None,
        told: np.ndarray | None = None,
    ) -> np.ndarray:
        """w at a batch of times and states; see ``Loop.values``."""
        return self.loop.values(t, q, u, np.array(list(self.parameters.values())), own, told)

    def unknown_input(self, t: float, q: np.ndarray, u: np.ndarray, own: np.ndarray) -> str | None:
        """The input that is no number at a state, or just after it."""
        later = SOON * max(1.0, abs(t))
        rates = self.equations.coordinate_rates(q, u, t, self.parameters)
        for h in (0.0, later):
            w = self.inputs_at(np.array([t + h]), q + h * rates, u, own)[0]
            for name, value in zip(self.equations.inputs, w, strict=True):
                if not np.isfinite(value):
                    return f"input {name!r} is {value:g}"
        return None


def is_law(value: Any) -> bool:
    """True for controllers, and for functions that become some."""
    return isinstance(value, Controller) or (callable(value) and not isinstance(value, Table))


def given_inputs(equations: Equations, inputs: Any) -> dict[str, SX | Controller] | Controller:
    """One controller for all inputs, or by name expressions and controllers."""
    if is_law(inputs):
        return controller("inputs", inputs)
    given = named("inputs", inputs)
    for name in given:
        one_of("input", name, equations.inputs)
    given = in_time(given, equations.terms.symbols.t)
    return {
        name: controller(f"input {name!r}", value)
        if is_law(value)
        else _input(equations, name, value)
        for name, value in given.items()
    }


def _input(equations: Equations, name: str, value: Any) -> SX:
    """A number, or an expression of time and parameters."""
    try:
        expression = scalar(value, f"input {name!r}")
    except ModelError as error:
        raise ArgumentError(
            f"{error}, points (times, values), or a function of t, of (t, q, u) or of the motion m"
        ) from None
    s = equations.terms.symbols
    if ca.depends_on(expression, ca.vertcat(s.q, s.u, s.w)) or s.strangers(expression):
        raise ArgumentError(
            f"input {name!r}: an expression may use the system's time and parameters only, got "
            f"{value!r}"
        )
    return expression
