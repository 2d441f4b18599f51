"""Integration: what one trajectory with error control is made of, and many with a fixed step in
machine code."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..graph import trace
from .compiler import find_compiler, key_of, lanes, load
from .emit import emit_with, emitter_text
from .native import share
from .routine import Routine

METHODS = ("rk4", "symplectic", "midpoint")
SHORT = 10_000  # steps of all trajectories together that nobody wants to stop


@dataclass(frozen=True, eq=False)
class Flow:
    """A state in two parts and how it changes, as expressions.

    ``q`` is the first part (coordinates) and ``u`` the second (speeds); ``qdot`` and ``udot`` are
    their rates. They depend on time ``t``, on inputs ``w`` and on parameters ``p``. ``projected``
    is the way back: (q, u) brought back to where the state has to stay, None if it may be anywhere.
    ``own`` are further states with the rates ``own_rates``: those of controllers. The rates
    ``work_rates`` are integrated along and nothing depends on what they add up to.
    """

    q: SX
    u: SX
    t: SX
    w: SX
    p: SX
    qdot: SX
    udot: SX
    projected: SX | None
    routines: dict[Any, Routine] = field(default_factory=dict)
    work_rates: SX = field(default_factory=lambda: SX(0, 1))
    own: SX = field(default_factory=lambda: SX(0, 1))
    own_rates: SX = field(default_factory=lambda: SX(0, 1))
    _seen: dict[Any, tuple[Routine, SX, SX]] = field(default_factory=dict)

    @cached_property
    def rates(self) -> SX:
        """``work_rates``; a zero, if there is nothing at all that changes."""
        empty = not (self.q.numel() or self.u.numel() or self.work_rates.numel())
        return SX.zeros(1) if empty else self.work_rates

    @cached_property
    def work(self) -> SX:
        """The integrals of ``work_rates``, as symbols."""
        return SX.sym("work", self.rates.numel())

    @cached_property
    def y(self) -> SX:
        """The whole state: q, u, further states and work."""
        return ca.vertcat(self.q, self.u, self.own, self.work)

    @cached_property
    def projected_state(self) -> SX:
        """The whole state after the way back."""
        if self.projected is None:
            return self.y
        return ca.vertcat(self.projected, self.own, self.work)

    @property
    def kept_state(self) -> SX | None:
        """``projected_state``; None, if the state may be anywhere."""
        return None if self.projected is None else self.projected_state

    @cached_property
    def slope(self) -> SX:
        """ẏ, taken at the state after the way back, so that what a step's stages leave across the
        constraints does no harm.

        Near a singular position it would else grow without bound: an error φ = σ x across a
        constraint whose singular value σ falls to zero grows as 1/σ if it feeds back on the motion.
        """
        slope = ca.vertcat(self.qdot, self.udot, self.own_rates, self.rates)
        if self.projected is None:
            return slope
        return ca.substitute(slope, ca.vertcat(self.q, self.u), self.projected)

    @cached_property
    def is_timed(self) -> bool:
        """True if the slopes depend on time by themselves."""
        return bool(ca.depends_on(self.slope, self.t))

    def closed(self, told: SX, inputs: SX, own: SX, own_rates: SX) -> Flow:
        """The same with ``inputs`` that depend on the state put in for w, and further states;
        ``told`` is what w is from now on."""
        udot, rates = (ca.substitute(x, self.w, inputs) for x in (self.udot, self.work_rates))
        further = {"own": own, "own_rates": own_rates, "_seen": {}}
        return replace(self, w=told, udot=udot, work_rates=rates, **further)

    def routine(self, name: str, value: SX, inputs: SX) -> Routine:
        """An expression of this state as a function of (y, t, p, w), with ``inputs`` (expressions
        of time, parameters and ``w``) put in for w; made once, as long as it is the same."""
        key = find_compiler(), name, _identity(value), _identity(inputs)
        if key not in self._seen:  # they are kept, so that no others get their places in memory
            self._seen[key] = self._routine(name, value, inputs), value, inputs
        return self._seen[key][0]

    def _routine(self, name: str, value: SX, inputs: SX) -> Routine:
        """The same, if another expression has to be looked at from within."""
        x = ca.vertcat(self.y, self.t, self.p, self.w)
        if self.w.numel():
            value = ca.substitute(value, self.w, inputs)
        key = find_compiler(), ca.Function(name, [x], [value]).serialize({})
        if key not in self.routines:
            self.routines[key] = Routine(name, x, value)
        return self.routines[key]


def _identity(column: SX) -> tuple[int, ...]:
    """Where the entries of a column are in memory: the same ones are the same expressions."""
    return tuple(map(SX.element_hash, ca.densify(column).elements()))


class Rollout:
    """``kernel_rollout`` of rollout.h: many trajectories with a fixed step; ``sampled`` is what the
    last of the flow's own states become at each sample, ``width`` how many go on together."""

    def __init__(self, flow: Flow, sampled: SX | None = None, width: int | None = None) -> None:
        u, udot = ca.vertcat(flow.u, flow.own), ca.vertcat(flow.udot, flow.own_rates)
        arguments = [flow.q, u, flow.t, flow.w, flow.p]
        keep = flow.projected_state if flow.projected is not None else SX(0, 1)
        made = {"accelerate": udot, "rate": flow.qdot, "keep": keep}
        made |= {} if sampled is None else {"ask": sampled}
        functions = _functions(arguments, **made)
        symbols = {"NQ": flow.q, "NU": u, "NW": flow.w, "NP": flow.p}
        sizes = {name: symbol.numel() for name, symbol in symbols.items()}
        sizes["KEEPING"] = int(flow.projected is not None)
        sizes["SAMPLED"] = 0 if sampled is None else sampled.numel()
        self.function = _library("rollout.h", functions, width or lanes(), sizes).kernel_rollout
        self.size, self.inputs = sizes["NQ"] + sizes["NU"], sizes["NW"]

    def __call__(
        self,
        start: np.ndarray,
        inputs: np.ndarray,
        parameters: np.ndarray,
        t0: float,
        step: float,
        steps: int,
        every: int,
        method: str,
        threads: int,
        held: int = 1,
    ) -> np.ndarray:
        """States of each trajectory (first axis) at each record (second axis).

        ``inputs`` has axes (steps, inputs) or (trajectories, steps, inputs), ``parameters`` one row
        or one for each. Samples are taken at every ``held`` steps.
        """
        start, inputs, parameters = _contiguous(start, inputs, parameters)
        out, stop = np.empty((len(start), steps // every + 1, self.size)), np.zeros(1, np.intc)
        input_stride = steps * self.inputs if inputs.ndim == 3 else 0
        parameter_stride = parameters.shape[1] if len(parameters) > 1 else 0

        def run(first: int, last: int) -> int:
            return self.function(
                ctypes.c_long(first),
                ctypes.c_long(last),
                _at(start),
                _at(inputs),
                ctypes.c_long(input_stride),
                _at(parameters),
                ctypes.c_long(parameter_stride),
                ctypes.c_double(t0),
                ctypes.c_double(step),
                ctypes.c_long(steps),
                ctypes.c_long(every),
                ctypes.c_int(METHODS.index(method)),
                ctypes.c_long(held),
                _at(out),
                _at(stop),
            )

        share(run, len(start), threads, stop if len(start) * steps > SHORT else None)
        return out


def _functions(arguments: list[SX], **results: SX) -> dict[str, ca.Function]:
    """Functions of the arguments by name; equal values are merged when they are traced."""
    return {
        name: ca.Function(name, arguments, [ca.densify(value)]) for name, value in results.items()
    }


def _library(
    driver: str, functions: dict[str, ca.Function], width: int, sizes: dict[str, int]
) -> ctypes.CDLL:
    """The driver compiled with its functions, from the cache if it is there."""
    texts = [function.serialize({}) for function in functions.values()]
    key = key_of(driver, *texts, str(width), str(sizes), emitter_text())

    def source() -> str:
        programs = {name: (trace(f), [f.size_out(0)]) for name, f in functions.items()}
        return emit_with(driver, programs, width, sizes)

    return load(key, source)


def _contiguous(*arrays: np.ndarray) -> list[np.ndarray]:
    return [np.ascontiguousarray(array, dtype=float) for array in arrays]


def _at(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
