"""Whole motions in machine code: an error-controlled integrator for one trajectory, rollouts for
many."""

from __future__ import annotations

import ctypes
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
GO_ON = 3  # what the integrator returns after so many steps


@dataclass(frozen=True, eq=False)
class Motion:
    """What moves: q̇ and u̇ as expressions, and ``keep``, (q, u) brought back to its constraints
    (None if it has none).

    ``work_rates`` are integrated along with them.
    """

    q: SX
    u: SX
    t: SX
    w: SX
    p: SX
    qdot: SX
    udot: SX
    keep: SX | None
    compiled: dict[str, Integrate] = field(default_factory=dict)
    work_rates: SX = field(default_factory=lambda: SX(0, 1))

    @cached_property
    def work(self) -> SX:
        """What ``work_rates`` add up to, as symbols."""
        return SX.sym("work", self.work_rates.numel())

    @cached_property
    def y(self) -> SX:
        """The state: q, u and work."""
        return ca.vertcat(self.q, self.u, self.work)

    @cached_property
    def kept(self) -> SX:
        """The state brought back to its constraints."""
        return self.y if self.keep is None else ca.vertcat(self.keep, self.work)

    @cached_property
    def slope(self) -> SX:
        """ẏ, taken at the state brought back to its constraints: what a step's stages leave across
        them does no harm.

        Near a singular position it would else grow without bound: an error φ = σ x across a
        constraint whose singular value σ falls to zero grows as 1/σ if it feeds back on the motion.
        """
        slope = ca.vertcat(self.qdot, self.udot, self.work_rates)
        return (
            slope
            if self.keep is None
            else ca.substitute(slope, ca.vertcat(self.q, self.u), self.keep)
        )

    def integrate(self, inputs: SX) -> Integrate:
        """The compiled integrator for these inputs (expressions of time, parameters and ``w``),
        built once."""
        key = ca.Function("inputs", [self.t, self.w, self.p], [inputs]).serialize({})
        if key not in self.compiled:
            self.compiled[key] = Integrate(self, inputs)
        return self.compiled[key]

    def functions(self, arguments: list[SX], **results: SX) -> dict[str, ca.Function]:
        """Named functions of the arguments; equal values are merged when they are traced."""
        return {
            name: ca.Function(name, arguments, [ca.densify(value)])
            for name, value in results.items()
        }


class Integrate:
    """``kernel_integrate`` of integrate.h for one right-hand side.

    Inputs are expressions of time and parameters, or ``w`` itself where they are numbers, to be
    told at each call.
    """

    def __init__(self, motion: Motion, inputs: SX) -> None:
        y = motion.y
        substitute = (
            (lambda e: ca.substitute(e, motion.w, inputs)) if motion.w.numel() else (lambda e: e)
        )
        flow = substitute(motion.slope)
        constants = ca.vertcat(motion.p, motion.w)
        functions = motion.functions([y, motion.t, constants], flow=flow, keep=motion.kept)
        sizes = {"N": y.numel(), "P": constants.numel(), "KEEPING": int(motion.keep is not None)}
        self.function = _library("integrate.h", functions, 1, sizes).kernel_integrate
        self.function.restype = ctypes.c_int
        self.size = y.numel()

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
        out, memory = np.empty((len(times), self.size)), np.array([step, 0.0, 0.0, t, 0.0])
        y, times, constants = (
            np.array(y, dtype=float),
            *(np.ascontiguousarray(a, dtype=float) for a in (times, constants)),
        )
        code = GO_ON
        while code == GO_ON:
            code = self.function(
                _at(y), ctypes.c_long(len(times)), _at(times), _at(out), _at(constants), ctypes.c_double(rtol),
                ctypes.c_double(atol), ctypes.c_long(STEPS_PER_CALL), _at(memory),
            )  # fmt: skip
        if code == OUT_OF_MEMORY:
            raise MemoryError("no memory for the integrator")
        return out, bool(code), memory[:4]


class Rollout:
    """``kernel_rollout`` of rollout.h: many trajectories with a fixed step."""

    def __init__(self, motion: Motion) -> None:
        arguments = [motion.q, motion.u, motion.t, motion.w, motion.p]
        functions = motion.functions(
            arguments, accelerate=motion.udot, rate=motion.qdot, keep=motion.kept
        )
        names = {"NQ": motion.q, "NU": motion.u, "NW": motion.w, "NP": motion.p}
        sizes = {
            **{name: symbol.numel() for name, symbol in names.items()},
            "KEEPING": int(motion.keep is not None),
        }
        self.function = _library("rollout.h", functions, lanes(), sizes).kernel_rollout
        self.size, self.inputs = sizes["NQ"] + sizes["NU"], sizes["NW"]

    def __call__(
        self, start: np.ndarray, inputs: np.ndarray, parameters: np.ndarray, t0: float, step: float, steps: int, every: int,
        method: str, threads: int,
    ) -> np.ndarray:  # fmt: skip
        """States of each trajectory (first axis) at each record (second axis).

        ``inputs`` has axes (steps, inputs) or (trajectories, steps, inputs), ``parameters`` one row
        or one for each.
        """
        count = len(start)
        start, inputs, parameters = (
            np.ascontiguousarray(a, dtype=float) for a in (start, inputs, parameters)
        )
        out = np.empty((count, steps // every + 1, self.size))
        input_stride = steps * self.inputs if inputs.ndim == 3 else 0
        parameter_stride = parameters.shape[1] if len(parameters) > 1 else 0

        def run(first: int, last: int) -> int:
            return self.function(
                ctypes.c_long(first), ctypes.c_long(last), _at(start), _at(inputs), ctypes.c_long(input_stride),
                _at(parameters), ctypes.c_long(parameter_stride), ctypes.c_double(t0), ctypes.c_double(step),
                ctypes.c_long(steps), ctypes.c_long(every), ctypes.c_int(METHODS.index(method)), _at(out),
            )  # fmt: skip

        share(run, count, threads)
        return out


def _library(
    driver: str, functions: dict[str, ca.Function], width: int, sizes: dict[str, int]
) -> ctypes.CDLL:
    """The driver compiled with its functions, from the cache if it is there."""
    key = key_of(
        driver,
        *(f.serialize({}) for f in functions.values()),
        str(width),
        str(sizes),
        emitter_text(),
    )

    def source() -> str:
        programs = {name: (trace(f), [f.size_out(0)]) for name, f in functions.items()}
        return emit_with(driver, programs, width, sizes)

    return load(key, source)


def _at(array: np.ndarray) -> ctypes.c_void_p:
    return ctypes.c_void_p(array.ctypes.data)
