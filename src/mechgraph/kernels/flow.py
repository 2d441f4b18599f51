"""Integration in machine code: one trajectory with error control, many with a fixed step."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca
import numpy as np
from casadi import SX

from .compiler import key_of, lanes, load
from .emit import emit_with, emitter_text
from .native import OUT_OF_MEMORY, share
from .program import trace

METHODS = ("rk4", "symplectic")
STEPS_PER_CALL = 2000
GO_ON = 3  # what the integrator returns after that many steps


@dataclass(frozen=True, eq=False)
class Flow:
    """A state in two parts and how it changes, as expressions.

    ``q`` is the first part (coordinates) and ``u`` the second (speeds); ``qdot`` and ``udot`` are
    their rates. They depend on time ``t``, on inputs ``w`` and on parameters ``p``. ``projected``
    is the way back: (q, u) brought back to where the state has to stay, None if it may be anywhere.
    The rates ``work_rates`` are integrated along and nothing depends on what they add up to.
    """

    q: SX
    u: SX
    t: SX
    w: SX
    p: SX
    qdot: SX
    udot: SX
    projected: SX | None
    compiled: dict[str, Integrate] = field(default_factory=dict)
    work_rates: SX = field(default_factory=lambda: SX(0, 1))

    @cached_property
    def work(self) -> SX:
        """What ``work_rates`` add up to, as symbols."""
        return SX.sym("work", self.work_rates.numel())

    @cached_property
    def y(self) -> SX:
        """The whole state: q, u and work."""
        return ca.vertcat(self.q, self.u, self.work)

    @cached_property
    def projected_state(self) -> SX:
        """The whole state after the way back."""
        return self.y if self.projected is None else ca.vertcat(self.projected, self.work)

    @cached_property
    def slope(self) -> SX:
        """ẏ, taken at the state after the way back, so that what a step's stages leave across the
        constraints does no harm.

        Near a singular position it would else grow without bound: an error φ = σ x across a
        constraint whose singular value σ falls to zero grows as 1/σ if it feeds back on the motion.
        """
        slope = ca.vertcat(self.qdot, self.udot, self.work_rates)
        if self.projected is None:
            return slope
        return ca.substitute(slope, ca.vertcat(self.q, self.u), self.projected)

    def integrate(self, inputs: SX) -> Integrate:
        """The compiled integrator for these inputs (expressions of time, parameters and ``w``),
        built once."""
        key = ca.Function("inputs", [self.t, self.w, self.p], [inputs]).serialize({})
        if key not in self.compiled:
            self.compiled[key] = Integrate(self, inputs)
        return self.compiled[key]


class Integrate:
    """``kernel_integrate`` of integrate.h for one right-hand side.

    Inputs are expressions of time and parameters, or ``w`` itself where they are numbers, which are
    then given at each call.
    """

    def __init__(self, flow: Flow, inputs: SX) -> None:
        slope = ca.substitute(flow.slope, flow.w, inputs) if flow.w.numel() else flow.slope
        constants = ca.vertcat(flow.p, flow.w)
        functions = _functions([flow.y, flow.t, constants], flow=slope, keep=flow.projected_state)
        self.size = flow.y.numel()
        sizes = {"N": self.size, "P": constants.numel(), "KEEPING": int(flow.projected is not None)}
        self.function = _library("integrate.h", functions, 1, sizes).kernel_integrate
        self.function.restype = ctypes.c_int

    def __call__(
        self,
        t: float,
        y: np.ndarray,
        times: np.ndarray,
        constants: np.ndarray,
        rtol: float,
        atol: float,
        step: float,
    ) -> tuple[np.ndarray, bool, np.ndarray]:
        """States at ``times``, whether it failed, and (step to go on with, steps, evaluations, time
        reached).

        ``constants`` are the parameters, then the inputs. It returns to Python now and then, which
        may want to interrupt it.
        """
        y = np.array(y, dtype=float)
        times, constants = _contiguous(times, constants)
        out, memory = np.empty((len(times), self.size)), np.array([step, 0.0, 0.0, t, 0.0])
        code = GO_ON
        while code == GO_ON:
            code = self._call(y, times, out, constants, rtol, atol, STEPS_PER_CALL, memory)
        if code == OUT_OF_MEMORY:
            raise MemoryError("no memory for the integrator")
        return out, bool(code), memory[:4]

    def own_steps(
        self,
        t: float,
        y: np.ndarray,
        end: float,
        constants: np.ndarray,
        rtol: float,
        atol: float,
        step: float,
    ) -> Iterator[float]:
        """The moments that the integrator itself steps on, up to ``end`` or to where it fails."""
        y = np.array(y, dtype=float)
        times, constants = _contiguous(np.array([end]), constants)
        out, memory = np.empty((1, self.size)), np.array([step, 0.0, 0.0, t, 0.0])
        code = GO_ON
        while code == GO_ON:
            code = self._call(y, times, out, constants, rtol, atol, 1, memory)
            yield float(memory[3])

    def _call(
        self,
        y: np.ndarray,
        times: np.ndarray,
        out: np.ndarray,
        constants: np.ndarray,
        rtol: float,
        atol: float,
        limit: int,
        memory: np.ndarray,
    ) -> int:
        return self.function(
            _at(y),
            ctypes.c_long(len(times)),
            _at(times),
            _at(out),
            _at(constants),
            ctypes.c_double(rtol),
            ctypes.c_double(atol),
            ctypes.c_long(limit),
            _at(memory),
        )


class Rollout:
    """``kernel_rollout`` of rollout.h: many trajectories with a fixed step."""

    def __init__(self, flow: Flow) -> None:
        arguments = [flow.q, flow.u, flow.t, flow.w, flow.p]
        functions = _functions(
            arguments, accelerate=flow.udot, rate=flow.qdot, keep=flow.projected_state
        )
        symbols = {"NQ": flow.q, "NU": flow.u, "NW": flow.w, "NP": flow.p}
        sizes = {name: symbol.numel() for name, symbol in symbols.items()}
        sizes["KEEPING"] = int(flow.projected is not None)
        self.function = _library("rollout.h", functions, lanes(), sizes).kernel_rollout
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
    ) -> np.ndarray:
        """States of each trajectory (first axis) at each record (second axis).

        ``inputs`` has axes (steps, inputs) or (trajectories, steps, inputs), ``parameters`` one row
        or one for each.
        """
        start, inputs, parameters = _contiguous(start, inputs, parameters)
        out = np.empty((len(start), steps // every + 1, self.size))
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
                _at(out),
            )

        share(run, len(start), threads)
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
