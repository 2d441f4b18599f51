"""``Loop``: what the inputs of a run are, closed with the equations.

With further states x of controllers, the inputs are expressions w(q, u, t, p, x) and numbers that
the run is *told*: by Python functions at every moment, or by samplers, whose values are held. Of
the further states those with rates are integrated along (``own``); those that are kept from sample
to sample are told.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ...arguments import number, numbers, one_of
from ...control.controller import Controller
from ...errors import ArgumentError, ModelError, blamed, error_text, shown
from ...graph.expressions import has_nan
from ...motion.motion import column
from ...motion.variables import column_of
from ...vectors import NO_NUMBER
from .integrator import IntegrationFailure

if TYPE_CHECKING:
    from ...equations import Equations

SHOWN = 8  # of a state, in a message

# (t, y, told) -> values
Ask = Callable[[float, np.ndarray, np.ndarray], np.ndarray]


class InputFailure(IntegrationFailure):
    """A Python function that is an input went wrong."""

    hint = "Mend the function"


@dataclass(frozen=True)
class Call:
    """A Python function whose values are told at every moment, or (with a rate) at samples; an
    expression that is evaluated at samples."""

    ask: Ask | SX
    place: np.ndarray  # among what is told
    batch: Ask  # of many states, a row for each
    rate: float | None = None


@dataclass(frozen=True, eq=False)
class Loop:
    """Inputs as expressions of the motion, of further states, and of what is told."""

    equations: Equations
    inputs: SX  # w
    told: SX  # symbols: those of w, and further ones
    numbers: np.ndarray  # what is told at the start
    own: SX  # further states that are integrated
    own_names: tuple[str, ...]
    own_start: np.ndarray
    own_rates: SX
    calls: tuple[Call, ...]
    samplers: tuple[Call, ...]
    kept: Mapping[str, int]  # further states that are told: their places
    now: dict[str, np.ndarray]  # of a run: what is told, and further states, as they are

    @cached_property
    def known_inputs(self) -> SX:
        """w, with numbers still to be told, so that others need no new code."""
        pairs = [(self.inputs[k], self.told[k]) for k in range(self.inputs.numel())]
        known = [own if given.is_constant() else given for given, own in pairs]
        return ca.vertcat(SX(0, 1), *known)

    @cached_property
    def known(self) -> SX:
        """What stands for ``told`` in expressions."""
        return ca.vertcat(self.known_inputs, self.told[self.inputs.numel() :, :])

    @property
    def is_open(self) -> bool:
        """Whether no input but those that are told depends on the state, and there are no further
        states."""
        s = self.equations.terms.symbols
        by_state = ca.depends_on(self.inputs, ca.vertcat(s.q, s.u)) if s.w.numel() else False
        return not by_state and not self.own.numel() and self.told.numel() == s.w.numel()

    @cached_property
    def states(self) -> dict[str, SX]:
        """Symbols of the states of controllers, by name."""
        own = (
            dict(zip(self.own_names, ca.vertsplit(self.own), strict=True)) if self.own_names else {}
        )
        return own | {name: self.told[place] for name, place in self.kept.items()}

    def signal(self, t: float, y: np.ndarray, told: np.ndarray) -> None:
        """Write what Python functions of the moment say."""
        for call in self.calls:
            assert not isinstance(call.ask, SX)
            told[call.place] = call.ask(t, y, told)

    @cached_property
    def _function(self) -> ca.Function:
        s = self.equations.terms.symbols
        known = [s.t, s.q, s.u, s.p, self.own, self.told]
        return ca.Function("w", known, [self.inputs, ca.densify(self.own_rates)])

    def values(
        self,
        t: np.ndarray,
        q: np.ndarray,
        u: np.ndarray,
        parameters: np.ndarray,
        own: np.ndarray | None = None,
        told: np.ndarray | None = None,
    ) -> np.ndarray:
        """w at a batch of times and states; further states and what is told as they are, if they
        are not given."""
        own, told = (
            np.tile(self.now[name], (len(t), 1)) if given is None else np.array(given)
            for name, given in (("own", own), ("told", told))
        )
        for row in range(len(t) if self.calls else 0):
            y = np.concatenate([q[row], u[row], own[row]])
            self.signal(float(t[row]), y, told[row])
        return self.followed(t, q, u, parameters, own, told)[0]

    def followed(
        self,
        t: np.ndarray,
        q: np.ndarray,
        u: np.ndarray,
        parameters: np.ndarray,
        own: np.ndarray,
        told: np.ndarray,
    ) -> list[np.ndarray]:
        """w at a batch of states, of what is told there, and the rates of further states."""
        found = self._function(t[None], q.T, u.T, parameters, own.T, told.T)
        return [np.array(each).reshape(-1, len(t)).T for each in found]

    def held(self, t: np.ndarray, log: np.ndarray) -> np.ndarray:
        """What was told at these times, of a log with a row for each sample: its moment, and what
        is told from then on."""
        if not len(log):
            return np.tile(self.now["told"], (len(t), 1))
        return log[np.maximum(self.rows(t, log), 0), 1:]

    def rows(self, t: np.ndarray, log: np.ndarray) -> np.ndarray:
        """The last sample of a log up to each of these times, −1 if there is none; a moment counts
        as reached but for rounding."""
        near = 1e-9 / max(call.rate for call in self.samplers if call.rate is not None)
        return np.searchsorted(log[:, 0], t + near + 2 * np.spacing(np.abs(t)), side="right") - 1


def close(equations: Equations, inputs: Mapping[str, SX | Controller] | Controller) -> Loop:
    """The loop of inputs by name, expressions or controllers, or of one controller for all."""
    made = _Closing(equations)
    if isinstance(inputs, Controller):
        if not equations.inputs:
            raise ArgumentError("inputs: these equations have none that a controller could give")
        made.add(_Target(equations, inputs, equations.inputs, None))
        return made.loop
    for name, value in inputs.items():
        if isinstance(value, Controller):
            made.add(_Target(equations, value, (name,), name))
        else:
            made.inputs[name] = value
    return made.loop


@dataclass(frozen=True)
class _Target:
    """A controller and what it is for: all inputs, or the one of that name."""

    equations: Equations
    controller: Controller
    inputs: tuple[str, ...]
    name: str | None

    @property
    def culprit(self) -> str:
        return "the controller" if self.name is None else f"input {self.name!r}"

    def expressions(self, states: Mapping[str, SX]) -> tuple[SX, SX]:
        """Inputs and what its states follow, as expressions."""
        eqs, law = self.equations, self.controller.law
        seen = eqs.terms.chart.motion if self.controller.written == "motion" else eqs
        with blamed(self.culprit):
            try:
                found = law(seen, dict(states)) if states else law(seen)
                w, x = self._parts(found)
                values, following = self._column("inputs", w, self.inputs), SX(0, 1)
                if states:
                    following = self._column("states", x, tuple(states))
            except ArgumentError as error:
                raise ArgumentError(f"{self.culprit}: {error}") from error
            if has_nan(ca.vertcat(values, following)):
                raise ModelError(NO_NUMBER)
        self._check(values, following, ca.vertcat(SX(0, 1), *states.values()))
        return values, following

    def _parts(self, found: Any) -> tuple[Any, Any]:
        if not self.controller.states:
            return found, None
        if not isinstance(found, tuple) or len(found) != 2:
            raise ArgumentError(
                f"a law with states returns a pair: inputs, and states; got {shown(found)}"
            )
        return found

    def _column(self, what: str, values: Any, names: tuple[str, ...]) -> SX:
        """One expression for each name, from a mapping or a vector."""
        if isinstance(values, Mapping):
            for name in values:
                one_of(what.removesuffix("s"), name, names)
            if what == "states" and len(values) < len(names):
                raise ArgumentError(f"states: expected {', '.join(names)}, got {', '.join(values)}")
            values = [values.get(name, 0.0) for name in names]
        found = column(list(values) if isinstance(values, np.ndarray) else values)
        if found.numel() != len(names):
            raise ArgumentError(
                f"expected {len(names)} {what} ({', '.join(names)}), got {found.numel()}"
            )
        return found

    def _check(self, values: SX, following: SX, states: SX) -> None:
        """Refuse what no input can depend on."""
        eqs, rate = self.equations, self.controller.rate
        every, s = ca.vertcat(values, following), eqs.terms.symbols
        forces = eqs.numeric.closed.force_symbols
        if rate is None and ca.depends_on(every, ca.vertcat(forces, s.w)):
            raise ArgumentError(
                f"{self.culprit}: accelerations, forces and inputs depend on it, so it cannot "
                "depend on them at every moment; use mg.sampled(…), which sees those before"
            )
        known = ca.vertcat(forces, states)
        strange = s.strangers(ca.substitute(every, known, SX.zeros(known.numel())))
        if strange:
            raise ArgumentError(f"{self.culprit}: unknown symbols {', '.join(strange)}")

    def asked(self, own: slice, kept: np.ndarray) -> Ask:
        """The same by a Python function, of states that are integrated (at ``own``) or told."""
        eqs, law, names = self.equations, self.controller.law, tuple(self.controller.states)
        nq, nu = len(eqs.coordinates), len(eqs.speeds)

        def ask(t: float, y: np.ndarray, told_now: np.ndarray) -> np.ndarray:
            y = y.copy()  # whoever keeps it keeps numbers
            q, u = y[:nq], y[nq : nq + nu]
            try:
                if self.controller.written == "time":
                    return self._read(law(t))
                if not names:
                    return self._read(law(t, q, u))
                x = told_now[kept] if len(kept) else y[own]
                return self._read(law(t, q, u, dict(zip(names, x.tolist(), strict=True))))
            except Exception as error:  # the user's own: the motion so far must not be lost
                raise InputFailure(
                    f"{self.culprit} failed at t = {t:.6g}: {error_text(error)} (there "
                    f"{_state(eqs, q, u)})"
                ) from error

        return ask

    def asked_of_many(self, own: slice, kept: np.ndarray) -> Ask:
        """The same of a batch of states, a row for each; x are columns."""
        eqs, law, names = self.equations, self.controller.law, tuple(self.controller.states)
        nq, nu = len(eqs.coordinates), len(eqs.speeds)

        def ask(t: float, y: np.ndarray, told_now: np.ndarray) -> np.ndarray:
            q, u = y[:, :nq].copy(), y[:, nq : nq + nu].copy()
            x = told_now[:, kept] if len(kept) else y[:, own]
            own_x = [dict(zip(names, x.T.copy(), strict=True))] if names else []
            try:
                found = law(t) if self.controller.written == "time" else law(t, q, u, *own_x)
                w, following = self._parts(found)
                w = np.asarray(w)[..., None] if self.name is not None else w
                parts = [
                    ("inputs", self.inputs, w),
                    *([("states", names, following)] * bool(names)),
                ]
                rows = [
                    np.broadcast_to(numbers(kind, known, values), (len(y), len(known)))
                    for kind, known, values in parts
                ]
            except Exception as error:
                raise InputFailure(
                    f"{self.culprit} failed at t = {t:.6g}: {error_text(error)} (it is asked for "
                    f"{len(y)} trajectories at once, a row for each)"
                ) from error
            return np.hstack(rows)

        return ask

    def _read(self, found: Any) -> np.ndarray:
        w, x = self._parts(found)
        if self.name is not None:
            values = np.array([number("its value", w)])
        else:
            values = _plain("inputs", self.inputs, w)
        states = tuple(self.controller.states)
        return np.concatenate([values, _plain("states", states, x)]) if states else values


def _plain(kind: str, names: tuple[str, ...], values: Any) -> np.ndarray:
    """A vector of numbers for these names."""
    ready = type(values) is np.ndarray and values.dtype == float
    if ready and values.shape == (len(names),) and np.isfinite(values).all():
        return np.asarray(values)
    states = kind == "states" and isinstance(values, Mapping)
    if values is None or (states and len(values) < len(names)):
        raise ArgumentError(f"{kind}: expected {', '.join(names)}, got {shown(values)}")
    if len(names) == 1 and not isinstance(values, Mapping):
        values = np.ravel(values)
    found = numbers(kind, names, values)
    if found.ndim != 1:
        raise ArgumentError(f"{kind}: expected {len(names)} numbers, got shape {found.shape}")
    return found


def _state(equations: Equations, q: np.ndarray, u: np.ndarray) -> str:
    """A state, in words."""
    names = [*equations.coordinates, *equations.speeds]
    values = [f"{name} = {x:.6g}" for name, x in zip(names, [*q, *u], strict=True)]
    return ", ".join(values[:SHOWN]) + (", …" if len(values) > SHOWN else "")


class _Closing:
    """Collects what a loop is made of."""

    def __init__(self, equations: Equations) -> None:
        self.equations, s = equations, equations.terms.symbols
        self.inputs: dict[str, SX] = dict.fromkeys(equations.inputs, SX(0))
        self._w = dict(zip(s.inputs, ca.vertsplit(s.w), strict=True)) if s.inputs else {}
        self.further: list[tuple[SX, float]] = []  # told besides w, with what they begin with
        self.own: dict[str, tuple[SX, float, SX]] = {}  # symbol, start, rate
        self.kept: dict[str, int] = {}
        self.calls: list[Call] = []
        self.samplers: list[Call] = []

    def add(self, target: _Target) -> None:
        """One more controller."""
        self._check_names(target)
        own = target.controller
        if own.compiles and own.rate is None:
            self._add_expressions(target)
        else:
            self._add_told(target)

    def _check_names(self, target: _Target) -> None:
        eqs = self.equations
        taken = {*eqs.coordinates, *eqs.speeds, *eqs.inputs, *self.own, *self.kept}
        for name in target.controller.states:
            if name in taken:
                raise ArgumentError(
                    f"{target.culprit}: there is something called {name!r} already; give its state "
                    "another name"
                )

    def _add_expressions(self, target: _Target) -> None:
        starts = target.controller.states
        states = {name: column_of([name]) for name in starts}
        values, rates = target.expressions(states)
        self.inputs |= dict(zip(target.inputs, ca.vertsplit(values), strict=True))
        for k, (name, symbol) in enumerate(states.items()):
            self.own[name] = symbol, starts[name], rates[k]

    def _add_told(self, target: _Target) -> None:
        """Values that are told: the inputs', then the states' or their rates'."""
        own, first = target.controller, len(self.equations.inputs) + len(self.further)
        symbols = {name: column_of([name]) for name in own.states}
        place = [self.equations.inputs.index(name) for name in target.inputs]
        place += range(first, first + len(symbols))
        kept, known = np.array([], dtype=int), slice(0)
        if own.rate is None:
            begin = len(self.equations.coordinates) + len(self.equations.speeds) + len(self.own)
            known = slice(begin, begin + len(symbols))
            rates = [column_of([f"{name}'"]) for name in symbols]
            self.further += [(rate, 0.0) for rate in rates]
            for (name, symbol), rate in zip(symbols.items(), rates, strict=True):
                self.own[name] = symbol, own.states[name], rate
        else:
            self.further += [(symbol, own.states[name]) for name, symbol in symbols.items()]
            self.kept |= {name: first + k for k, name in enumerate(symbols)}
            kept = np.arange(first, first + len(symbols))
        self.inputs |= {name: self._w[name] for name in target.inputs}
        ask: Ask | SX = target.asked(known, kept)
        if own.compiles:
            ask = self._at_samples(ca.vertcat(*target.expressions(symbols)))
        batch = target.asked_of_many(known, kept)
        call = Call(ask, np.array(place, dtype=int), batch, own.rate)
        (self.calls if own.rate is None else self.samplers).append(call)

    def _at_samples(self, value: SX) -> SX:
        """With the accelerations and forces of the inputs before."""
        closed = self.equations.numeric.closed
        if not ca.depends_on(value, closed.force_symbols):
            return value
        return ca.substitute(value, closed.force_symbols, ca.vertcat(closed.udot, closed.lam))

    @property
    def loop(self) -> Loop:
        inputs = [self.inputs[name] for name in self.equations.inputs]
        constants = [float(w) if w.is_constant() else 0.0 for w in inputs]
        symbols, starts = _columns(self.further, 2)
        own, own_start, rates = _columns(list(self.own.values()), 3)
        told_at_start = np.array([*constants, *starts], dtype=float)
        own_at_start = np.array(own_start, dtype=float)
        return Loop(
            self.equations,
            ca.vertcat(SX(0, 1), *inputs),
            ca.vertcat(self.equations.terms.symbols.w, *symbols),
            told_at_start,
            ca.vertcat(SX(0, 1), *own),
            tuple(self.own),
            own_at_start,
            ca.vertcat(SX(0, 1), *rates),
            tuple(self.calls),
            tuple(self.samplers),
            self.kept,
            {"told": told_at_start.copy(), "own": own_at_start.copy()},
        )


def _columns(rows: Sequence[tuple[Any, ...]], count: int) -> list[list[Any]]:
    return [[row[k] for row in rows] for k in range(count)]
