"""What a run is made with besides its start: inputs and parameters."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ...arguments import named, number, one_of
from ...errors import ArgumentError, ModelError, told
from ...tables import in_time, refusal
from ...vectors import scalar
from .integrators import IntegrationFailure

if TYPE_CHECKING:
    from ...equations import Equations


class InputFailure(IntegrationFailure):
    """A Python function that is an input went wrong."""

    hint = "Mend the function"


@dataclass(frozen=True)
class Context:
    """Equations with their inputs (expressions of time, or a Python signal) and parameters
    fixed."""

    equations: Equations
    expressions: SX
    signal: Callable[[float, np.ndarray], np.ndarray] | None
    parameters: dict[str, float]

    @staticmethod
    def make(
        equations: Equations,
        inputs: Mapping[str, Any] | None,
        parameters: Mapping[str, float] | None,
    ) -> Context:
        constants = equations.numeric.constants(named("parameters", parameters) or None)
        if constants.ndim > 1:
            raise ArgumentError(
                "parameters: a run takes one number for each; for many runs at once use rollout"
            )
        given = named("inputs", inputs)
        for name in given:
            one_of("input", name, equations.inputs)
        given = in_time(given, equations.terms.symbols.t)
        functions = {name: value for name, value in given.items() if callable(value)}
        expressions = ca.vertcat(
            SX(0, 1),
            *(
                equations.terms.symbols.w[i]
                if name in functions
                else _input(equations, name, given.get(name, 0.0))
                for i, name in enumerate(equations.inputs)
            ),
        )
        signal = _signal(equations, functions, expressions, constants) if functions else None
        return Context(
            equations,
            expressions,
            signal,
            dict(zip(equations.parameters, map(float, constants), strict=True)),
        )

    def refusal(self, q: np.ndarray, u: np.ndarray, t: float, slack: float = 0.0) -> str | None:
        """What is to be said of a table that refuses to answer here, or nearly here."""
        terms, s = self.equations.terms, self.equations.terms.symbols
        value = ca.vertcat(ca.vec(terms.M), terms.f, terms.phi, terms.psi, terms.b)
        if s.w.numel() and self.signal is None:
            value = ca.substitute(value, s.w, self.expressions)
        w = self.inputs_at(np.array([t]), q[None], u[None])[0]
        return refusal(
            value, [s.q, s.u, s.t, s.w, s.p], [q, u, t, w, list(self.parameters.values())], slack
        )

    def inputs_at(self, t: np.ndarray, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """w at a batch of times and states."""
        if not self.equations.inputs:
            return np.zeros((len(t), 0))
        if self.signal is not None:
            return np.array(
                [self.signal(*state) for state in zip(t, np.hstack([q, u]), strict=True)]
            )
        s = self.equations.terms.symbols
        f = ca.Function("w", [s.t, s.p], [self.expressions])
        return (
            np.array(f(t[None], list(self.parameters.values())))
            .reshape(len(self.equations.inputs), len(t))
            .T
        )


def _input(equations: Equations, name: str, value: Any) -> SX:
    """A number, or an expression of time and parameters."""
    try:
        expression = scalar(value, f"input {name!r}")
    except ModelError as error:
        raise ArgumentError(
            f"{error}, or points (times, values), or a Python function of t or of (t, q, u)"
        ) from None
    s = equations.terms.symbols
    if ca.depends_on(expression, ca.vertcat(s.q, s.u, s.w)) or s.strangers(expression):
        raise ArgumentError(
            f"input {name!r}: an expression may use the system's time and parameters only, got "
            f"{value!r}"
        )
    return expression


def _signal(
    equations: Equations,
    functions: dict[str, Callable[..., Any]],
    expressions: SX,
    constants: np.ndarray,
) -> Callable[[float, np.ndarray], np.ndarray]:
    """All inputs at (t, y), where some of them are Python functions of t or of (t, q, u)."""
    s, nq, nu = equations.terms.symbols, len(equations.coordinates), len(equations.speeds)
    known = ca.Function("w", [s.t, s.w, s.p], [expressions])
    by_state = {name: _takes_state(name, f) for name, f in functions.items()}

    def value(name: str, t: float, y: np.ndarray) -> float:
        state = (y[:nq], y[nq : nq + nu]) if by_state[name] else ()
        try:
            return number("its value", functions[name](t, *state))
        except Exception as error:  # the user's own: the motion so far must not be lost
            raise InputFailure(f"input {name!r} failed at t = {t:.6g}: {told(error)}") from error

    def signal(t: float, y: np.ndarray) -> np.ndarray:
        w = np.zeros(len(equations.inputs))
        for name in functions:
            w[equations.inputs.index(name)] = value(name, t, y)
        return np.array(known(t, w, constants)).ravel()

    return signal


def _takes_state(name: str, function: Callable[..., Any]) -> bool:
    """True for functions of (t, q, u), False for functions of t (also of those without a readable
    signature)."""
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return False
    needed = [p for p in signature.parameters.values() if p.default is p.empty]
    by_state = sum(p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD) for p in needed) > 1
    try:
        signature.bind(*range(3 if by_state else 1))
    except TypeError:
        raise ArgumentError(
            f"input {name!r} must be a function of t or of (t, q, u), got one of {signature}"
        ) from None
    return by_state
