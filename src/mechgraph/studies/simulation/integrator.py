"""What an integrator is given, what it does, and how it may fail.

``rk8`` (explicit, of order 8, also under its name ``dop853``), ``rk45`` (explicit, of order 5) and
``radau`` (implicit, of order 5, for stiff systems) are in C, in ``runtime``; by default a run
begins with the first and changes over to the last where it turns out to be stiff, and back.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ...errors import SimulationError
from ...kernels.flow import Flow
from ...kernels.routine import Routine
from ...runtime.stepper import (
    ENDLESS,
    GO_ON,
    NOT_A_NUMBER,
    NOT_STIFF,
    STIFF,
    TOO_SMALL,
    Sampling,
    Stepper,
)
from .surfaces import Surfaces

if TYPE_CHECKING:
    from .loop import Call, Loop

SMALL = 300  # states beyond which no run changes over to the implicit method by itself
JUMP = 1e-2  # by keeping the constraints, in proportion: what no drift explains
WAITING = ("rk8", "radau")  # asked for, they wait for a compiler that takes seconds


class IntegrationFailure(SimulationError):
    """The integrator gave up."""

    hint = "Try method='radau' (stiff), a larger rtol, or another start"


class ImplicitFailure(IntegrationFailure):
    """The method for stiff motions gave up, too."""

    hint = "Try a larger rtol or another start, or end the run before it by an event"


class EndlessSwitching(IntegrationFailure):
    """Forces that drive each other over a jump, back and forth."""

    hint = (
        "Make the law smooth about its jump (mg.Friction has a regularization), or use an element "
        "that sticks"
    )


class JumpingConstraint(IntegrationFailure):
    """What is held goes on in another direction, all at once."""

    hint = (
        "Give what is held a smooth form (mg.spline in place of mg.table), end the run there by an "
        "event, or use a stiff spring in place of the constraint"
    )


@dataclass(frozen=True)
class Problem:
    """ẏ = f(t, y), y = (q, u, further states, work), for a motion closed with its inputs, from
    ``begin`` on, without a step over its ``surfaces``."""

    motion: Flow
    loop: Loop
    constants: np.ndarray
    begin: float
    rtol: float
    atol: float
    longest: float  # step
    max_step_unobserved: float  # the longest where errors tell nothing
    surfaces: Surfaces = field(default_factory=Surfaces)

    @cached_property
    def size(self) -> int:
        """Of y."""
        return int(self.motion.y.numel())

    @cached_property
    def moving(self) -> int:
        """How many of y the slopes depend on."""
        return int(sum(x.numel() for x in (self.motion.q, self.motion.u, self.motion.own)))

    def measured(self, change: np.ndarray, y: np.ndarray) -> float:
        """The root of the mean square of a change of y, in units of the tolerance."""
        return float(np.sqrt(((change / (self.atol + self.rtol * np.abs(y))) ** 2).mean()))

    def routine(self, name: str, value: SX) -> Routine:
        """A function of (y, t, p, what is told), with the inputs put in that are expressions."""
        return self.motion.routine(name, value, self.loop.known)

    def write_signal(self, x: np.ndarray) -> None:
        """Put what Python functions give for the inputs into (y, t, p, what is told)."""
        y, t, told = self._parts(x)
        self.loop.signal(t, y, told)

    def samplings(self) -> list[Sampling]:
        """What is asked at samples."""
        return [self._sampling(k, call) for k, call in enumerate(self.loop.samplers)]

    def _sampling(self, k: int, call: Call) -> Sampling:
        ask, first = call.ask, len(self.constants)
        assert call.rate is not None
        if isinstance(ask, SX):
            asked: Any = self.routine(f"sample{k}", ask)
        else:

            def asked(x: np.ndarray) -> np.ndarray:
                y, t, told = self._parts(x)
                return ask(t, y, told)

        return Sampling(asked, 0.0, call.rate, first + call.place)

    def _parts(self, x: np.ndarray) -> tuple[np.ndarray, float, np.ndarray]:
        """y, t, what is told."""
        n = self.size
        return x[:n], float(x[n]), x[n + 1 + len(self.constants) :]

    def look(self, x: np.ndarray, y: np.ndarray) -> None:
        """Tell the loop what it is at a state."""
        moving = self.moving
        self.loop.now["told"][:] = self._parts(x)[2]
        self.loop.now["own"][:] = y[moving - self.motion.own.numel() : moving]


class Integrator:
    """Goes on step by step, on the functions of a problem; fills in the output; counts what it did.

    Its times count from the start of the run: a motion is known as well whenever it begins.
    At every step the state is brought back to its constraints, to ``projected``.
    """

    method: str  # its name; the one it begins with, if it changes over by itself
    shown_method: str  # as the statistics tell it
    tier: str  # what evaluates the right-hand side
    finite: bool  # whether the slopes at the present state are
    jumped = False  # whether what keeps the constraints moves things however short a step is
    changes: tuple[tuple[float, str], ...] = ()  # when it went on by which other method
    rough: tuple[float, float]  # the largest error that was rounding, and when
    t: float  # the present moment
    y: np.ndarray  # the present state
    times: np.ndarray  # of the output
    sides: np.ndarray  # the sign of each surface, as it was last; zero if it never had one

    def __init__(self, method: str | None, problem: Problem, projected: SX | None = None) -> None:
        self.problem, self.method = problem, method or "rk8"
        self.shown_method = self.method
        self.log: list[np.ndarray] = []  # of samples: the moment, and what is told from then on
        self._began: tuple[float, float] | None = None
        motion, surfaces, samplings = problem.motion, problem.surfaces.all, problem.samplings()
        flow = problem.routine("flow", motion.slope)
        project = None if projected is None else problem.routine("project", projected)
        surface = problem.routine("surfaces", surfaces) if surfaces.numel() else None
        for routine in (flow, project, surface, *(each.ask for each in samplings)):
            if isinstance(routine, Routine) and method in WAITING and routine.is_quick_to_compile:
                routine.compile()
        self._stepper = Stepper(
            self.method,
            flow,
            project,
            surface,
            moving=max(1, problem.moving),
            constants=np.concatenate([problem.constants, problem.loop.numbers]),
            rtol=problem.rtol,
            atol=problem.atol,
            longest=problem.longest,
            max_step_unobserved=problem.max_step_unobserved,
            origin=problem.begin,
            signal=problem.write_signal if problem.loop.calls else None,
            signalled=bool(ca.depends_on(surfaces, motion.w)) if surfaces.numel() else False,
            samplings=samplings,
            held=len(problem.loop.numbers),
            watching=method is None and problem.size <= SMALL,
            **problem.surfaces.sizes,
            direction=problem.surfaces.direction,
            ending=problem.surfaces.ending,
        )
        self.sides = self._stepper.arrays["side"]

    @property
    def now(self) -> float:
        """The present moment, as the model is told it."""
        return self.problem.begin + self.t

    def _note(self, samples: np.ndarray) -> None:
        """Keep of some samples those that the output shows, and the last."""
        if len(samples):
            shown = self.problem.loop.rows(self.times, samples)
            kept = samples[np.unique([*shown[shown >= 0], len(samples) - 1])]
            self.log.append(np.hstack([self.problem.begin + kept[:, :1], kept[:, 1:]]))

    def begin(self, t: float, y: np.ndarray, constants: np.ndarray) -> None:
        """Go on from this state with these parameters."""
        try:
            self._stepper.begin(t, y, constants)
        finally:
            self._look()

    def output(self, times: np.ndarray) -> None:
        """From now on fill in states at these times."""
        self.times, self._out = times, self._stepper.output(times)

    def filled(self) -> np.ndarray:
        """The states at those of these times that have been passed."""
        return self._out[: self._stepper.run.done]

    def run(self, end: float, seconds: float) -> int:
        """Steps up to ``end``, for some seconds: END, GO_ON, TOO_SMALL; CONTACTS where these are to
        be resolved, EVENT where one ends the run."""
        try:
            why = self._stepper.integrate(end, seconds)
        except IntegrationFailure:  # of an input in Python: go on up to where that is
            if self.problem.loop.samplers or not self._stepper.shorten():
                raise
            return GO_ON
        finally:
            self._look()
        if why in (STIFF, NOT_STIFF):
            method = "radau" if why == STIFF else "rk8"
            self.changes = (*self.changes, (self.now, method))
            self._stepper.change_over(method)
            return GO_ON
        if why == ENDLESS:
            raise EndlessSwitching(f"forces jump back and forth without end at t = {self.now:.6g}")
        if why == NOT_A_NUMBER:
            now = self.problem.begin + self._stepper.run.lost_at
            raise IntegrationFailure(f"the motion is not a number at t = {now:.6g}")
        self.jumped = why == TOO_SMALL and self._stepper.jump > JUMP
        self._consider_machine_code(end)
        return why

    def _consider_machine_code(self, end: float) -> None:
        """Start a compiler in the background, if the rest of the way is expected to take longer, or
        as much has been spent already, in this run and others."""
        if self._began is None:
            self._began = self.t, self._stepper.spent
        start, before = self._began
        spent = self._stepper.spent - before
        rest = spent * (end - self.t) / (self.t - start) if self.t > start else 0.0
        self._stepper.hasten(rest + self._stepper.spent)

    def _look(self) -> None:
        run = self._stepper.run
        self.t, self.y = run.t, self._stepper.state.copy()
        self.steps, self.evaluations, self.tier = run.steps, run.evaluations, self._stepper.tier
        self.rough = run.rough, self.problem.begin + run.rough_at
        self.finite = bool(np.isfinite(self._stepper.arrays["ydot"]).all())
        if self.problem.loop.samplers:
            self._note(self._stepper.samples())
        self.problem.look(self._stepper.arrays["x"], self.y)

    def events(self) -> list[tuple[int, float]]:
        """What was met since the last call: which event, and when, as the model is told it."""
        return [(event, self.problem.begin + t) for event, t in self._stepper.events()]

    def trace(self) -> tuple[np.ndarray, np.ndarray]:
        """Times, as the model is told them, and states along the way, whatever the output is."""
        times, states = self._stepper.trace()
        return self.problem.begin + times, states
