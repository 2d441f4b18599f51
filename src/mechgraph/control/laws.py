"""Laws in common use: PID, computed torque, state feedback. All are expressions of the equations,
so they become part of the machine code."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import is_name, number, numbers, one_of
from ..errors import ArgumentError, UnsupportedError, blamed, shown
from ..vectors import scalar
from .controller import Controller, written

if TYPE_CHECKING:
    from ..equations import Equations


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
    low, high = _limits(limits)
    back = 0.0 if limits is None or not ki else 1 / _tracking(tracking, kp, ki)
    label = name if name is not None else of if isinstance(of, str) else "pid"
    if not is_name(label):
        raise ArgumentError(f"pid: expected a name, got {shown(label)}")
    integral, derivative, before, begun = (
        f"{label}: {word}" for word in ("integral", "derivative", "error before", "begun")
    )

    def error(eqs: Equations) -> SX:
        return _quantity(eqs, "reference", reference) - _quantity(eqs, f"pid of {label!r}", of)

    def held(raw: SX) -> SX:
        return raw if limits is None else ca.fmin(ca.fmax(raw, low), high)

    def at_every_moment(eqs: Equations, x: Mapping[str, SX] | None = None) -> Any:
        x, e = x or {}, error(eqs)
        slope = _rate(eqs, e) if kd else SX(0)
        raw = kp * e + x.get(integral, 0) + kd * x.get(derivative, slope)
        w = held(raw)
        rates = {integral: ki * e + back * (w - raw)} if ki else {}
        if derivative in x:
            rates[derivative] = (slope - x[derivative]) / filter
        return (w, rates) if rates else w

    def at_samples(eqs: Equations, x: Mapping[str, SX]) -> Any:
        assert rate is not None
        e, T = error(eqs), 1 / rate
        change = ca.if_else(x[begun] > 0, e - x[before], 0)
        D = (filter * x[derivative] + kd * change) / (filter + T)
        raw = kp * e + x[integral] + D
        w = held(raw)
        following = x[integral] + T * (ki * e + back * (w - raw))
        return w, {integral: following, derivative: D, before: e, begun: 1}

    if rate is not None:
        states = dict.fromkeys((integral, derivative, before, begun), 0.0)
        return Controller(at_samples, "equations", number("pid: rate", rate, True), states)
    own = [key for key, there in ((integral, ki), (derivative, kd and filter)) if there]
    return Controller(at_every_moment, "equations", None, dict.fromkeys(own, 0.0))


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
    names = tuple(reference)
    gains = [_gains(key, names, value) for key, value in (("kp", kp), ("kd", kd))]

    def law(eqs: Equations) -> SX:
        s, terms, rows = eqs.terms.symbols, eqs.terms, _led(eqs, names)
        r = ca.vertcat(*(_reference(eqs, name, reference[name]) for name in names))
        v, q, qdot = ca.jtimes(r, s.t, SX(1)), s.q[rows], terms.qdot[rows]
        wanted = ca.jtimes(v, s.t, SX(1)) + gains[1] * (v - qdot) + gains[0] * (r - q)
        E, bias, still = ca.jacobian(qdot, s.u), terms.chart.rate(qdot), SX.zeros(s.w.numel())
        if not terms.constraints and len(rows) == s.u.numel():
            udot = _solved(E, wanted - bias)
            tau = ca.substitute(terms.tau, ca.vertcat(s.udot, s.w), ca.vertcat(udot, still))
            return _solved(ca.jacobian(terms.f, s.w), tau)
        udot = eqs.numeric.closed.udot
        return _solved(
            E @ ca.jacobian(udot, s.w), wanted - bias - E @ ca.substitute(udot, s.w, still)
        )

    return Controller(law, "equations", _sampling(rate))


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


def _gains(key: str, names: tuple[str, ...], value: Any) -> ca.DM:
    if not isinstance(value, Mapping) and np.ndim(value) == 0:
        value = np.full(len(names), number(f"computed_torque: {key}", value))
    if isinstance(value, Mapping) and set(value) != set(names):
        raise ArgumentError(f"computed_torque: {key} is wanted for {', '.join(names)}")
    return ca.DM(numbers(f"computed_torque: {key}", names, value))


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

    K: a row for each input, a column for each coordinate and speed.
    q0, u0, inputs: x₀ and w₀, arrays or by name; speeds and inputs are zero if not given.
    rate: samples in a second; None: at every moment.

    ``eqs.linearize(…).lqr(Q, R)`` makes one, ``.feedback(K)`` one of a gain found elsewhere.
    """

    def law(eqs: Equations) -> SX:
        s = eqs.terms.symbols
        x0 = [numbers("q0", s.coordinates, q0), numbers("u0", s.speeds, u0)]
        gain = gain_of(K, len(s.inputs), s.q.numel() + s.u.numel())
        w0 = numbers("inputs", s.inputs, inputs)
        return ca.DM(w0) - ca.DM(gain) @ (ca.vertcat(s.q, s.u) - ca.DM(np.concatenate(x0)))

    return Controller(law, "equations", _sampling(rate))


def deviation_feedback(
    K: np.ndarray,
    states: tuple[str, ...],
    q0: np.ndarray,
    u0: np.ndarray,
    w0: np.ndarray,
    rate: float | None,
) -> Controller:
    """w = w₀ − K (x − x₀) for some of the coordinates and speeds, by name."""

    def law(eqs: Equations) -> SX:
        s = eqs.terms.symbols
        if eqs.terms.chart.quaternions:
            raise UnsupportedError(
                "state feedback from a linear model needs coordinates that can be subtracted; "
                "describe balls by chains of rotations, or write the law with m"
            )
        names, x0 = [*s.coordinates, *s.speeds], np.concatenate([q0, u0])
        rows = [names.index(one_of("coordinate or speed", name, names)) for name in states]
        return ca.DM(w0) - ca.DM(K) @ (ca.vertcat(s.q, s.u)[rows] - ca.DM(x0[rows]))

    return Controller(law, "equations", _sampling(rate))


def gain_of(K: Any, rows: int, columns: int) -> np.ndarray:
    """A gain as a matrix of finite numbers with these sizes."""
    try:
        gain = np.atleast_2d(np.asarray(K, dtype=float))
    except (TypeError, ValueError):
        raise ArgumentError(f"K must be a matrix of numbers, got {shown(K)}") from None
    if gain.shape != (rows, columns) or not np.isfinite(gain).all():
        raise ArgumentError(
            f"K must be finite, with {rows} rows (inputs) and {columns} columns (states), got "
            f"shape {gain.shape}"
        )
    return gain


def _sampling(rate: Any) -> float | None:
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
