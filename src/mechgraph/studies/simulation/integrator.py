"""What an integrator is given, what it does, and how it may fail."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from casadi import SX

from ...errors import SimulationError
from ...kernels.flow import Flow
from ...kernels.routine import Routine
from ...kernels.stepping import Sampling

if TYPE_CHECKING:
    from .loop import Call, Loop

DEFAULT = "rk8, radau where it is stiff"


class IntegrationFailure(SimulationError):
    """The integrator gave up."""

    hint = "Try method='radau' (stiff), a larger rtol, or another start"


class ImplicitFailure(IntegrationFailure):
    """The method for stiff motions gave up, too."""

    hint = "Try a larger rtol or another start, or end the run before it by an event"


class JumpingConstraint(IntegrationFailure):
    """What is held goes on in another direction, all at once."""

    hint = (
        "Give what is held a smooth form (mg.spline in place of mg.table), end the run there by an "
        "event, or use a stiff spring in place of the constraint"
    )


@dataclass(frozen=True)
class Problem:
    """ẏ = f(t, y), y = (q, u, further states, work), for a motion closed with its inputs, from
    ``begin`` on.

    ``surfaces`` are expressions whose changes of sign no step goes over without a word; the first
    ``margins`` of them are positive where a run begins; the last ``pieces`` are numbers of pieces,
    which tell how often others change their sign.
    """

    motion: Flow
    loop: Loop
    constants: np.ndarray
    begin: float
    rtol: float
    atol: float
    longest: float  # step
    blind: float  # the longest one where errors tell nothing
    surfaces: SX = field(default_factory=lambda: SX(0, 1))
    margins: int = 0
    pieces: int = 0

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


class Integrator(ABC):
    """Goes on step by step; fills in the output; counts what it did.

    Its times count from the start of the run: a motion is known as well whenever it begins.
    """

    tier = "interpreter"  # what evaluates the right-hand side
    finite = True  # whether the slopes at the present state are
    jumped = False  # whether what keeps the constraints moves things however short a step is
    changes: tuple[tuple[float, str], ...] = ()  # when it went on by which other method
    rough: tuple[float, float] = (0.0, 0.0)  # the largest error that was rounding, and when
    t: float  # the present moment
    y: np.ndarray  # the present state
    times: np.ndarray  # of the output
    sides: np.ndarray  # the sign of each surface, as it was last; zero if it never had one

    def __init__(self, method: str, problem: Problem) -> None:
        self.method, self.problem = method, problem
        self.steps = self.evaluations = 0
        self.log: list[np.ndarray] = []  # of samples: the moment, and what is told from then on

    @property
    def now(self) -> float:
        """The present moment, as the model is told it."""
        return self.problem.begin + self.t

    @property
    def shown_method(self) -> str:
        """Its name, as the statistics tell it."""
        return "rk8" if self.method == DEFAULT else self.method

    def _note(self, samples: np.ndarray) -> None:
        """Keep of some samples those that the output shows, and the last."""
        if len(samples):
            shown = self.problem.loop.rows(self.times, samples)
            kept = samples[np.unique([*shown[shown >= 0], len(samples) - 1])]
            self.log.append(np.hstack([self.problem.begin + kept[:, :1], kept[:, 1:]]))

    @abstractmethod
    def begin(self, t: float, y: np.ndarray, constants: np.ndarray) -> None:
        """Go on from this state with these parameters."""

    @abstractmethod
    def output(self, times: np.ndarray) -> None:
        """From now on fill in states at these times."""

    @abstractmethod
    def filled(self) -> np.ndarray:
        """The states at those of these times that have been passed."""

    @abstractmethod
    def run(self, end: float, seconds: float) -> int:
        """Steps up to ``end``, for some seconds: END, GO_ON, TOO_SMALL, or CROSSING; then the last
        step is not taken yet."""

    @abstractmethod
    def crossings(self) -> list[tuple[int, float, float]]:
        """Of that step: which surface changes its sign between which moments."""

    @property
    @abstractmethod
    def after(self) -> np.ndarray:
        """The sides after that step."""

    @property
    @abstractmethod
    def until(self) -> float:
        """Where that step ends."""

    @abstractmethod
    def glimpse(self, moment: float) -> np.ndarray:
        """The surfaces at a moment within that step, by interpolation; before any attempt."""

    @abstractmethod
    def attempt(self, moment: float) -> np.ndarray:
        """The surfaces at a moment within that step, by a step that ends there."""

    @abstractmethod
    def take(self) -> None:
        """Take that step as it is."""

    @abstractmethod
    def take_until(self, moment: float, earliest: float) -> bool:
        """Take that step only up to a moment; False if that is not good enough, and it was taken
        only half of the way to the earliest moment of interest."""

    @abstractmethod
    def trace(self) -> tuple[np.ndarray, np.ndarray]:
        """Times, as the model is told them, and states along the way, whatever the output is."""
