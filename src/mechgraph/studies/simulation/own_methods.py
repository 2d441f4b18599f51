"""``rk8``, ``rk45`` and ``radau``, our own, in C."""

from __future__ import annotations

import casadi as ca
import numpy as np

from ...kernels.routine import Routine
from ...kernels.stepping import GO_ON, NOT_STIFF, STIFF, TOO_SMALL, Steps
from .integrator import DEFAULT, IntegrationFailure, Integrator, Problem

SMALL = 300  # states beyond which no run changes over to the implicit method by itself
JUMP = 1e-2  # by keeping the constraints, in proportion: what no drift explains
WAITING = ("rk8", "radau")  # they wait for the compiler, if that takes seconds; the others go on


class Stepping(Integrator):
    """``rk8``, ``rk45`` and ``radau`` of steps.c, constraints kept at every step."""

    def __init__(self, method: str, problem: Problem) -> None:
        super().__init__(method, problem)
        motion, surfaces = problem.motion, problem.surfaces
        flow = problem.routine("flow", motion.slope)
        keep = surface = None
        if motion.projected is not None:
            keep = problem.routine("keep", motion.projected_state)
        if surfaces.numel():
            surface = problem.routine("surfaces", surfaces)
        samplings = problem.samplings()
        for routine in (flow, keep, surface, *(each.ask for each in samplings)):
            if method in WAITING and isinstance(routine, Routine) and routine.is_quick_to_compile:
                routine.compile()
        self._steps = Steps(
            flow,
            keep,
            surface,
            moving=max(1, problem.moving),
            margins=problem.margins,
            pieces=problem.pieces,
            constants=np.concatenate([problem.constants, problem.loop.numbers]),
            rtol=problem.rtol,
            atol=problem.atol,
            longest=problem.longest,
            blind=problem.blind,
            origin=problem.begin,
            signal=problem.write_signal if problem.loop.calls else None,
            signalled=bool(ca.depends_on(surfaces, motion.w)) if surfaces.numel() else False,
            samplings=samplings,
            held=len(problem.loop.numbers),
        )
        self._began: tuple[float, float] | None = None
        self.sides = self._steps.arrays["side"]
        self._steps.run.watching = int(method == DEFAULT and problem.size <= SMALL)
        self._steps.choose(self.shown_method)

    def begin(self, t: float, y: np.ndarray, constants: np.ndarray) -> None:
        try:
            self._steps.begin(t, y, constants)
        finally:
            self._look()

    def output(self, times: np.ndarray) -> None:
        self.times, self._out = times, self._steps.output(times)

    def filled(self) -> np.ndarray:
        return self._out[: self._steps.run.done]

    def run(self, end: float, seconds: float) -> int:
        try:
            why = self._steps.integrate(end, seconds)
        except IntegrationFailure:  # of an input in Python: go on up to where that is
            if self.problem.loop.samplers or not self._steps.shorten():
                raise
            return GO_ON
        finally:
            self._look()
        if why in (STIFF, NOT_STIFF):
            method = "radau" if why == STIFF else "rk8"
            self.changes = (*self.changes, (self.now, method))
            self._steps.change_over(method)
            return GO_ON
        self.jumped = why == TOO_SMALL and self._steps.jump > JUMP
        self._consider_machine_code(end)
        return why

    def _consider_machine_code(self, end: float) -> None:
        """Start a compiler in the background, if the rest of the way is expected to take longer, or
        as much has been spent already, in this run and others."""
        if self._began is None:
            self._began = self.t, self._steps.spent
        start, before = self._began
        spent = self._steps.spent - before
        rest = spent * (end - self.t) / (self.t - start) if self.t > start else 0.0
        self._steps.hasten(rest + self._steps.spent)

    def _look(self) -> None:
        run = self._steps.run
        self.t, self.y = run.t, self._steps.state.copy()
        self.steps, self.evaluations, self.tier = run.steps, run.evaluations, self._steps.tier
        self.rough = run.rough, self.problem.begin + run.rough_at
        self.finite = bool(np.isfinite(self._steps.arrays["ydot"]).all())
        if self.problem.loop.samplers:
            self._note(self._steps.samples())
        self.problem.look(self._steps.arrays["x"], self.y)

    def crossings(self) -> list[tuple[int, float, float]]:
        return self._steps.crossings()

    @property
    def after(self) -> np.ndarray:
        return self._steps.arrays["after"]

    @property
    def until(self) -> float:
        return float(self._steps.run.until)

    def glimpse(self, moment: float) -> np.ndarray:
        return self._steps.glimpse(moment)

    def attempt(self, moment: float) -> np.ndarray:
        return self._steps.attempt(moment)

    def take(self) -> None:
        self._steps.take()
        self._look()

    def take_until(self, moment: float, earliest: float) -> bool:
        taken = self._steps.take_until(moment, earliest)
        self._look()
        return taken

    def trace(self) -> tuple[np.ndarray, np.ndarray]:
        times, states = self._steps.trace()
        return self.problem.begin + times, states
