"""Laws in common use: PID, computed torque, state feedback. All are expressions of the equations,
so they become part of the machine code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import array_of, is_name, number, numbers, one_of
from ..errors import ArgumentError, blamed, shown
from ..vectors import quaternion_matrix, scalar, turned_by
from .controller import Controller, written

if TYPE_CHECKING:
    from ..equations import Equations
    from ..motion.chart import Chart


def pid(
    of: str | Callable[..., Any],
    reference: Any = 0.0,
    *,
    kp: float = 0.0,
    ki: float = 0.0,
    kd: float = 0.0,
    filter: float = 0.0,
    limits: tuple[float, float] | None = None,
    tracking: float | None = None,
    rate: float | None = None,
    name: str | None = None,
) -> Controller:
    """w = kp e + I + D of the error e = reference − quantity, for one input.

    At every moment İ = ki e + (sat(w) − w)/tracking, and D = kd ė behind a filter 1/(1 + filter s).
    With a rate, of samples T apart: I += T İ, and (filter + T) D = filter D₋ + kd (e − e₋), which
    begins with zero.

    of: what is controlled: a name, or a function of the motion.
    reference: a number, an expression of time, or a function of the motion m or of t.
    limits: the least and the largest input; beyond them it stays at the limit, and the integral is
        led back (anti-wind-up).
    tracking: the time in which it is, kp/ki if not given.
    rate: samples in a second; None: at every moment.
    name: what the states are called after, ``"{name}: integral"`` and ``"{name}: derivative"``; by
        default the quantity.
    """
    kp, ki, kd = (number(f"pid: {k}", x) for k, x in (("kp", kp), ("ki", ki), ("kd", kd)))
    filter = number("pid: filter", filter)
    if filter < 0:
        raise ArgumentError(f"pid: filter is a time, so not negative, got {filter:g}")
    label = name if name is not None else of if isinstance(of, str) else "pid"
    if not is_name(label):
        raise ArgumentError(f"pid: expected a name, got {shown(label)}")
    back = 0.0 if limits is None or not ki else 1 / _tracking(tracking, kp, ki)
    law = Pid(of, reference, kp, ki, kd, filter, _limits(limits), back, label, sampling(rate))
    return Controller(law, "equations", law.rate, dict.fromkeys(law.states, 0.0))


@dataclass(frozen=True)
class Pid:
    """The law of ``pid``; ``back`` is one over the time of tracking."""

    of: Any
    reference: Any
    kp: float
    ki: float
    kd: float
    filter: float
    limits: tuple[float, float]
    back: float
    label: str
    rate: float | None

    @property
    def states(self) -> list[str]:
        """Names of its states: I and D, and of samples the error before, if there is one."""
        known = {"integral": self.ki, "derivative": self.kd and self.filter}
        sampled = self.rate is not None
        words = [word for word, there in known.items() if there or sampled]
        words += ["error before", "begun"] if sampled else []
        return [f"{self.label}: {word}" for word in words]

    def __call__(self, eqs: Equations, x: Mapping[str, SX] | None = None) -> Any:
        reference = _quantity(eqs, "reference", self.reference)
        e = reference - _quantity(eqs, f"pid of {self.label!r}", self.of)
        own = {key.removeprefix(f"{self.label}: "): value for key, value in (x or {}).items()}
        w, following = self._sampled(e, own) if self.rate else self._continuous(eqs, e, own)
        named = {f"{self.label}: {word}": value for word, value in following.items()}
        return (w, named) if x else w

    def _held(self, raw: SX) -> SX:
        low, high = self.limits
        return raw if not np.isfinite(low) else ca.fmin(ca.fmax(raw, low), high)

    def _continuous(self, eqs: Equations, e: SX, x: Mapping[str, SX]) -> tuple[SX, dict[str, SX]]:
        slope = _rate(eqs, e) if self.kd else SX(0)
        raw = self.kp * e + x.get("integral", 0) + self.kd * x.get("derivative", slope)
        w = self._held(raw)
        rates = {"integral": self.ki * e + self.back * (w - raw)}
        if self.filter:
            rates["derivative"] = (slope - x.get("derivative", 0)) / self.filter
        return w, {word: rates[word] for word in x}

    def _sampled(self, e: SX, x: Mapping[str, SX]) -> tuple[SX, dict[str, SX]]:
        assert self.rate is not None
        T, change = 1 / self.rate, ca.if_else(x["begun"] > 0, e - x["error before"], 0)
        D = (self.filter * x["derivative"] + self.kd * change) / (self.filter + T)
        raw = self.kp * e + x["integral"] + D
        w = self._held(raw)
        integral = x["integral"] + T * (self.ki * e + self.back * (w - raw))
        return w, {"integral": integral, "derivative": D, "error before": e, "begun": SX(1)}


def _limits(limits: Any) -> tuple[float, float]:
    if limits is None:
        return -np.inf, np.inf
    try:
        low, high = (number("pid: a limit", x) for x in limits)
    except (TypeError, ValueError) as error:
        if isinstance(error, ArgumentError):
            raise
        raise ArgumentError(f"pid: limits are two numbers, got {shown(limits)}") from None
    if low >= high:
        raise ArgumentError(f"pid: limits are the least and the largest, got {low:g}, {high:g}")
    return low, high


def _tracking(tracking: Any, kp: float, ki: float) -> float:
    if tracking is not None:
        return number("pid: tracking", tracking, positive=True)
    if kp * ki <= 0:
        raise ArgumentError(
            "pid: without kp, tracking=… has to tell the time in which the integral is led back "
            "from a limit"
        )
    return kp / ki


def computed_torque(
    reference: Mapping[str, Any], kp: Any, kd: Any, rate: float | None = None
) -> Controller:
    """The inputs with which coordinates follow q̈ = r̈ + kd (ṙ − q̇) + kp (r − q), all else
    compensated.

    reference: by name of the coordinates, as many as there are inputs: r as a number, an expression
        of the system's time, or a function of t; its rates are taken of it.
    kp, kd: a number for all, or by name or a row of them.
    rate: samples in a second; None: at every moment.

    Without constraints and with an input for every speed it is inverse dynamics, M q̈ − f; else the
    accelerations are u̇₀ + J w, and w follows from those of the coordinates that are led.
    """
    if not isinstance(reference, Mapping):
        raise ArgumentError(
            "computed_torque: reference is a mapping of coordinates to their motion, got "
            f"{shown(reference)}"
        )
    gains = [_gains(key, tuple(reference), x) for key, x in (("kp", kp), ("kd", kd))]
    return Controller(ComputedTorque(dict(reference), *gains), "equations", sampling(rate))


@dataclass(frozen=True)
class ComputedTorque:
    """The law of ``computed_torque``."""

    reference: Mapping[str, Any]
    kp: np.ndarray
    kd: np.ndarray

    def __call__(self, eqs: Equations) -> SX:
        s, terms, rows = eqs.terms.symbols, eqs.terms, _led(eqs, tuple(self.reference))
        given = self.reference.items()
        r = ca.vertcat(SX(0, 1), *(_reference(eqs, name, value) for name, value in given))
        v, q, qdot = ca.jtimes(r, s.t, SX(1)), s.q[rows], terms.qdot[rows]
        wanted = ca.jtimes(v, s.t, SX(1)) + ca.DM(self.kd) * (v - qdot) + ca.DM(self.kp) * (r - q)
        E, still = ca.jacobian(qdot, s.u), SX.zeros(s.w.numel())
        needed = wanted - terms.chart.rate(qdot)  # E u̇
        if not terms.constraints and len(rows) == s.u.numel():
            udot = _solved(E, needed)
            tau = ca.substitute(terms.tau, ca.vertcat(s.udot, s.w), ca.vertcat(udot, still))
            return _solved(ca.jacobian(terms.f, s.w), tau)
        udot = eqs.numeric.closed.udot
        return _solved(E @ ca.jacobian(udot, s.w), needed - E @ ca.substitute(udot, s.w, still))


def _led(equations: Equations, names: tuple[str, ...]) -> list[int]:
    """Which coordinates are led."""
    known = equations.coordinates
    rows = [known.index(one_of("coordinate", name, known)) for name in names]
    if len(rows) != len(equations.inputs):
        raise ArgumentError(
            f"computed_torque: {len(equations.inputs)} inputs lead as many coordinates, got a "
            f"reference for {len(rows)}; the coordinates are {', '.join(known)}"
        )
    return rows


def _gains(key: str, names: tuple[str, ...], value: Any) -> np.ndarray:
    if not isinstance(value, Mapping) and np.ndim(value) == 0:
        value = np.full(len(names), number(f"computed_torque: {key}", value))
    if isinstance(value, Mapping) and set(value) != set(names):
        raise ArgumentError(f"computed_torque: {key} is wanted for {', '.join(names)}")
    return numbers(f"computed_torque: {key}", names, value)


def _solved(A: SX, b: SX) -> SX:
    """x of A x = b."""
    if A.is_constant():
        numbers_of_A = np.array(ca.DM(A))
        if np.linalg.matrix_rank(numbers_of_A) < len(numbers_of_A):
            raise ArgumentError("computed_torque: the inputs do not move all of these coordinates")
        return ca.DM(np.linalg.inv(numbers_of_A)) @ b
    return ca.solve(A, b)


def state_feedback(
    K: Any, q0: Any, u0: Any = None, inputs: Any = None, rate: float | None = None
) -> Controller:
    """w = w₀ − K (x − x₀) with x = (q, u).

    K: a row for each input, a column for each coordinate and speed; of a quaternion one for each
        component of the rotation vector from its attitude in q0, after all other coordinates.
    q0, u0, inputs: x₀ and w₀, arrays or by name; speeds and inputs are zero if not given.
    rate: samples in a second; None: at every moment.

    ``eqs.linearize(…).lqr(Q, R)`` makes one, ``.feedback(K)`` one of a gain found elsewhere.
    """
    return Controller(StateFeedback(K, q0, u0, inputs), "equations", sampling(rate))


@dataclass(frozen=True)
class StateFeedback:
    """w = w₀ − K (x − x₀), x being all coordinates and speeds, or those with these names."""

    K: Any
    q0: Any
    u0: Any
    w0: Any
    states: tuple[str, ...] | None = None

    def __call__(self, eqs: Equations) -> SX:
        s = eqs.terms.symbols
        for name in self.states or ():
            known = (*s.coordinates, *eqs.terms.chart.variations, *s.speeds)
            one_of("coordinate or speed", name, known)
        x = self._deviations(eqs)
        chosen = [x[one_of("coordinate or speed", name, x)] for name in self.states or x]
        K, w0 = gain_of(self.K, len(s.inputs), len(chosen)), numbers("inputs", s.inputs, self.w0)
        return ca.DM(w0) - ca.DM(K) @ ca.vertcat(SX(0, 1), *chosen)

    def _deviations(self, eqs: Equations) -> dict[str, SX]:
        """x − x₀ by the names of a linear model's states: of a quaternion's coordinates the
        rotation vector from its attitude in x₀, in the axes of the joint's parent, and its speeds
        ω − ω₀ in these, turned as in x₀: so what brakes in the turned axes brakes at any
        attitude."""
        s, chart = eqs.terms.symbols, eqs.terms.chart
        q0 = numbers("q0", s.coordinates, self.q0, _no_turn(chart))
        dq, du = s.q - ca.DM(q0), s.u - ca.DM(numbers("u0", s.speeds, self.u0))
        places = dict(zip(s.coordinates, ca.vertsplit(dq), strict=True)) if s.coordinates else {}
        for four, three in chart.quaternion_speeds:
            turn = ca.vertsplit(turned_by(s.q[list(four)], ca.DM(q0[list(four)])))
            names = [chart.variations[k] for k in three]
            for k in four:
                del places[s.coordinates[k]]
            places |= dict(zip(names, turn, strict=True))
            if chart.replaced.isdisjoint(three):
                du[list(three)] = quaternion_matrix(SX(q0[list(four)])) @ du[list(three)]
        return places | (dict(zip(s.speeds, ca.vertsplit(du), strict=True)) if s.speeds else {})


def _no_turn(chart: Chart) -> np.ndarray:
    """Coordinates that are not given: zero, and quaternions as they are in the reference."""
    q0, turning = np.zeros(len(chart.reference)), [k for four in chart.quaternions for k in four]
    q0[turning] = np.array(chart.reference)[turning]
    return q0


def gain_of(K: Any, rows: int, columns: int) -> np.ndarray:
    """A gain as a matrix of finite numbers with these sizes."""
    given = array_of(K)
    if given is None:
        raise ArgumentError(f"K must be a matrix of finite numbers, got {shown(K)}")
    gain = np.atleast_2d(given)
    if gain.shape != (rows, columns):
        raise ArgumentError(
            f"K must have {rows} rows (inputs) and {columns} columns (states), got shape "
            f"{gain.shape}"
        )
    return gain


def sampling(rate: Any) -> float | None:
    """Samples in a second, or None for every moment."""
    return None if rate is None else number("rate", rate, positive=True)


def _quantity(eqs: Equations, what: str, value: Any) -> SX:
    """A name, a function of the motion m or of t, a number, or an expression; as one expression."""
    if isinstance(value, str):
        return scalar(eqs.expression(value), what)
    if not callable(value):
        return scalar(value, what)
    with blamed(what):
        if written(what, value) == "motion":
            return scalar(eqs.expression(value), what)
        return scalar(value(eqs.terms.symbols.t), what)


def _reference(eqs: Equations, name: str, value: Any) -> SX:
    """A function of time."""
    s = eqs.terms.symbols
    r = _quantity(eqs, f"reference of {name!r}", value)
    if ca.depends_on(r, ca.vertcat(s.q, s.u, s.w)):
        raise ArgumentError(f"reference of {name!r}: must depend on time and parameters only")
    return r


def _rate(eqs: Equations, value: SX) -> SX:
    """d/dt of a quantity of coordinates and time."""
    s = eqs.terms.symbols
    if ca.depends_on(value, s.u):
        raise ArgumentError(
            "pid: the quantity depends on speeds, so its slope on the input; leave kd out, or give "
            "a rate"
        )
    return eqs.terms.chart.rate(value)
