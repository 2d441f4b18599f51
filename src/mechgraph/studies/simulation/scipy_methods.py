"""SciPy's ``DOP853``, ``RK45`` and ``Radau``, the same methods as our own, for where there is no C
compiler."""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np
from casadi import SX
from scipy.integrate import DOP853, RK45, OdeSolution, OdeSolver, Radau

from ...kernels import stepping
from ...kernels.routine import Routine
from ...kernels.stepping import CROSSING, END, GO_ON, TOO_SMALL, Sampling
from .integrator import Integrator, Problem
from .own_methods import JUMP
from .search import LEAST_SEARCHED, doubt, sign_changes

DRIFT = 1e-6  # by keeping the constraints, in proportion: what is more than drift where rings tip
STALLED = 2000  # steps without progress after which a method has failed
HARDLY = 1e-10  # of the time: what is no progress
PART, ROUNDED = 0.1, 1e-12  # of the tolerance, and of the state: what surfaces are not known to
DOUBT = 50  # steps for which that is taken as known
STABLE = 4.5  # as in steps.c
LARGEST_FACTOR = 7.9  # from a step to the next, almost
UNSEEN = 1e-14  # relative error that may be rounding
ORDERS = {DOP853: 8, RK45: 5, Radau: 4}  # of the estimates of errors
EXPLICIT = (DOP853, RK45)


def _apart(a: np.ndarray, b: np.ndarray) -> float:
    """How far two states are apart, in proportion."""
    return float((np.abs(a - b) / (1 + np.abs(a))).max())


class _NoSlopes(Exception):
    """Slopes that are not finite."""


class SciPy(Integrator):
    """One of SciPy's methods, on functions that are interpreted, where there is no compiler."""

    kinds: ClassVar[dict[str, type[OdeSolver]]] = {
        "dop853": DOP853,
        "rk45": RK45,
        "radau": Radau,
    }

    def __init__(self, method: str, problem: Problem, watching: bool = False) -> None:
        super().__init__(method, problem)
        self._kind, self._watching = self.kinds[method], watching
        self._held_back = self._calm = 0  # steps, by stability or not
        motion, told = problem.motion, problem.loop.numbers
        self._x = np.concatenate([np.zeros(problem.size + 1), problem.constants, told])
        self._samplings = problem.samplings()
        self._ticks = np.zeros(len(self._samplings))
        self._asks = [self._asked(each) for each in self._samplings]
        self._flow = self._function("flow", motion.slope)
        kept = motion.projected is not None
        self._keep = self._function("keep", motion.projected_state) if kept else None
        self._surfaces = self._function("surfaces", problem.surfaces)
        count = problem.surfaces.numel()
        self.sides, self._size = np.zeros(count, np.int64), np.zeros(count)
        self._unsure, self._doubted = np.zeros(count), -DOUBT
        self._traced: list[tuple[float, np.ndarray]] = []
        self._first: float | None = None
        # see ``is_crowded`` of steps.c
        self._searchable, self._latest_length, self._crowded, self._noisy = np.inf, 0.0, 0, 0
        self._latest = -np.inf  # when slopes were asked for
        self._stride = 1

    def _function(self, name: str, value: SX) -> Callable[[float, np.ndarray], np.ndarray]:
        routine, x, n = self.problem.routine(name, value), self._x, self.problem.size
        result = np.zeros(max(1, routine.size))
        evaluate = routine.interpreted(x, result[: routine.size])

        def function(t: float, y: np.ndarray) -> np.ndarray:
            x[:n], x[n] = y, self.problem.begin + t
            if self.problem.loop.calls:
                self.problem.write_signal(x)
            evaluate()
            return result[: routine.size].copy()

        return function

    def _asked(self, sampling: Sampling) -> Callable[[], np.ndarray]:
        """The values of a sampler at x."""
        ask, x = sampling.ask, self._x
        if not isinstance(ask, Routine):
            return lambda: ask(x)
        result = np.zeros(ask.size)
        evaluate = ask.interpreted(x, result)

        def asked() -> np.ndarray:
            evaluate()
            return result

        return asked

    def begin(self, t: float, y: np.ndarray, constants: np.ndarray) -> None:
        self._x[self.problem.size + 1 :][: len(constants)] = constants
        self.t, self.y = t, np.array(y, dtype=float)
        self._solver: Any = None
        self._sample()
        if len(self.sides):
            self._doubt()
            g = self._surfaces(t, self.y)
            now = np.where(np.abs(g) > self._unsure, np.sign(g), 0).astype(int)
            self.sides[:] = np.where(self.sides == 0, now, self.sides)

    def _doubt(self) -> None:
        """See ``doubt`` of steps.c."""
        if self.steps < self._doubted + DOUBT:
            return
        rtol, atol, size = self.problem.rtol, self.problem.atol, np.abs(self.y)
        by = PART * (atol + rtol * size) + ROUNDED * (min(1.0, atol / rtol) + size)
        self._unsure = doubt(partial(self._surfaces, self.t), self.y, by)
        self._unsure[: self.problem.margins], self._doubted = 0.0, self.steps

    @property
    def _moments(self) -> np.ndarray:
        """When each sampler is asked next."""
        start, rate = ([getattr(s, key) for s in self._samplings] for key in ("start", "rate"))
        return np.array(start) + self._ticks / np.array(rate)

    def _sample(self) -> None:
        """Ask the samplers whose moment has come, but for rounding."""
        x, n = self._x, self.problem.size
        x[:n], x[n] = self.y, self.now
        due = [
            t <= self.t + 1e-9 / s.rate for t, s in zip(self._moments, self._samplings, strict=True)
        ]
        for k in np.flatnonzero(due):
            if self.problem.loop.calls:
                self.problem.write_signal(x)
            x[n + 1 + self._samplings[k].place] = self._asks[k]()
            self._ticks[k] += 1
        if any(due):
            told = x[n + 1 + len(self.problem.constants) :]
            self._note(np.concatenate([[self.t], told])[None])
            self._solver = None
        self.problem.look(x, self.y)

    def output(self, times: np.ndarray) -> None:
        self.times, self._filled = times, [np.empty((0, self.problem.size))]

    def filled(self) -> np.ndarray:
        self._filled = [np.vstack(self._filled)]
        return self._filled[0]

    def run(self, end: float, seconds: float) -> int:
        until, stalled = clock.perf_counter() + seconds, 0
        while self.t < end:
            if clock.perf_counter() > until:
                return GO_ON
            if self._solver is None and not self._may_begin():
                return TOO_SMALL
            if not self._step(min(end, self._moments.min(initial=np.inf))):
                if not self._shorten(end):
                    return TOO_SMALL
                continue
            stalled = stalled + 1 if self._end - self.t < HARDLY * abs(self.t) else 0
            if stalled > STALLED:
                return TOO_SMALL
            if len(self.sides):
                self._found, self._after, searched = self._search()
                if self._is_crowded(searched):
                    continue
            else:
                self._found, self._after = [], self.sides
            if self._found:
                return CROSSING
            self.take()
        return END

    def _may_begin(self) -> bool:
        """Whether there are slopes; SciPy would look for a step without end."""
        with np.errstate(all="ignore"):
            self.finite = bool(np.isfinite(self._flow(self.t, self.y)).all())
        return self.finite

    def _step(self, end: float) -> bool:
        """One step that is not taken yet; False if there is none."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore", RuntimeWarning)
            try:
                if self._solver is None:
                    first = None if self._first is None else min(self._first, end - self.t)
                    self._solver = self._new_solver(self.t, self.y, end, first)
                self._solver.max_step = self._longest
                self._solver.step()
                self._limit_growth()
            except _NoSlopes:
                return False
            if self._solver.status == "failed" or not np.isfinite(self._solver.y).all():
                return False
            self._end, self._dense = self._solver.t, self._solver.dense_output()
        self._kept = self._kept_at(self._end, self._solver.y)
        return not self._is_lost()

    def _limit_growth(self) -> None:
        """As ``longer`` of steps.c, but by what a step grows to: SciPy does not tell its error."""
        step, following = self._solver.step_size, self._solver.h_abs
        unseen = 0.9 * (self.problem.rtol / UNSEEN) ** (1 / ORDERS[self._kind])
        if step and following > min(unseen, LARGEST_FACTOR) * step:
            self._solver.h_abs = min(following, max(step, self.problem.blind))

    def _is_lost(self) -> bool:
        """Whether the way back to the constraints is too long, or leads nowhere; see ``is_lost`` of
        steps.c."""
        way = _apart(self._solver.y, self._kept)
        if way <= DRIFT or not self.problem.margins:
            return not way <= JUMP
        next_one = self._kept_at(self._end, self._kept)
        return not (way <= JUMP and _apart(self._kept, next_one) < 0.9 * way)

    def _shorten(self, end: float) -> bool:
        """Begin anew with a short step, after one that a constraint's jump made useless, or slopes
        that are none; False if it cannot be much shorter."""
        reached = self._latest if self._solver is None else max(self._latest, self._solver.t)
        self._first = (reached - self.t if self._first is None else self._first) / 5
        self._solver = None
        return bool(self._first > 1e-12 * max(1e-3, abs(self.t)))

    def _kept_at(self, t: float, y: np.ndarray) -> np.ndarray:
        return y if self._keep is None else self._keep(t, y)

    @property
    def _longest(self) -> float:
        """The longest step, as told, and as can be searched."""
        return min(self.problem.longest, self._searchable)

    def _new_solver(
        self, t: float, y: np.ndarray, end: float, first: float | None = None
    ) -> OdeSolver:
        problem = self.problem
        rtol = max(problem.rtol, 3e-14)
        options: dict[str, Any] = {"rtol": rtol, "atol": problem.atol, "max_step": self._longest}
        if self._kind is Radau:
            options["jac"] = self._jacobian
        return self._kind(self._count, t, y, end, first_step=first, **options)

    def _jacobian(self, t: float, y: np.ndarray) -> np.ndarray:
        """∂ẏ/∂y by differences, as in steps.c; SciPy's own become ever longer where nothing
        changes, and meet what is far away."""
        here, slopes = self._count(t, y), np.zeros((len(y), len(y)))
        moved = y + np.sqrt(2.2e-16 * np.maximum(1e-5, np.abs(y)))
        for j in range(self.problem.moving):
            there = np.where(np.arange(len(y)) == j, moved, y)
            slopes[:, j] = (self._count(t, there) - here) / (moved[j] - y[j])
        if not np.isfinite(slopes).all():
            raise _NoSlopes
        return slopes

    def _is_stiff(self) -> bool:
        """Whether stability, not accuracy, has held steps back; see ``rk8_is_stiff`` of steps.c."""
        n, solver = self.problem.moving, self._solver
        stage = solver.y_old + solver.h_previous * (solver.A[11, :11] @ solver.K[:11])
        change = np.linalg.norm((solver.K[12] - solver.K[11])[:n])
        if solver.h_previous * change > STABLE * np.linalg.norm((solver.y - stage)[:n]):
            self._held_back, self._calm = self._held_back + 1, 0
        else:
            self._calm += 1
            self._held_back = self._held_back if self._calm < 6 else 0
        return self._held_back >= stepping.PATIENCE

    def _count(self, t: float, y: np.ndarray) -> np.ndarray:
        self.evaluations, self._latest = self.evaluations + 1, t
        slopes = self._flow(t, y)
        if self._kind not in EXPLICIT and not np.isfinite(slopes).all():
            raise _NoSlopes  # they would go on with it, or raise errors of their own
        return slopes

    def _is_crowded(self, searched: float) -> bool:
        """Whether a shorter step is to be tried, that can be searched; see ``is_crowded`` of
        steps.c."""
        if searched >= 1:
            self._searchable *= 1.5
        if searched >= 1 or self.steps < self._noisy:
            return False
        length = max(LEAST_SEARCHED, 0.9 * searched) * (self._end - self.t)
        self._crowded = 0 if length > 0.7 * self._latest_length else self._crowded + 1
        if self._crowded > 1:
            self._crowded, self._noisy = 0, self.steps + DOUBT
            self._searchable, self._latest_length = np.inf, 0.0
            return False
        self._searchable = self._latest_length = length
        self._first, self._solver = None, None
        return True

    def _search(self) -> tuple[list[tuple[int, float, float]], np.ndarray, float]:
        def values(part: float) -> np.ndarray:
            return self.glimpse(self._end if part == 1 else self.t + part * (self._end - self.t))

        first = self.problem.margins if self.steps == 0 else len(self.sides)
        is_tiny = self.problem.measured(self._kept - self.y, self.y) < 1  # then doubt matters
        unsure = 0.0 * self._unsure if is_tiny else self._unsure
        return sign_changes(values, self.sides, self._size, first, unsure, self.problem.pieces)

    def crossings(self) -> list[tuple[int, float, float]]:
        span = self._end - self.t
        return [(s, self.t + a * span, self.t + b * span) for s, a, b in self._found]

    @property
    def after(self) -> np.ndarray:
        return self._after

    @property
    def until(self) -> float:
        return float(self._end)

    def glimpse(self, moment: float) -> np.ndarray:
        return self._surfaces(moment, self._kept if moment == self._end else self._dense(moment))

    def attempt(self, moment: float) -> np.ndarray:
        return self._surfaces(moment, self._approach(moment)[0])

    def _approach(self, moment: float) -> tuple[np.ndarray, OdeSolution | None]:
        """The state at a moment within the step, by steps that end there, and the way to it."""
        if moment <= self.t:
            return self.y, None
        ends, parts = [self.t], []
        try:
            solver = self._new_solver(self.t, self.y, moment)
            while solver.status == "running":
                solver.step()
                ends.append(solver.t)
                parts.append(solver.dense_output())
        except _NoSlopes:
            return np.full(len(self.y), np.nan), None
        return self._kept_at(moment, solver.y), OdeSolution(ends, parts)

    def take(self) -> None:
        stiff = self._watching and self._is_stiff()
        self._fill(self._end, self._kept, self._dense)
        self.sides[:] = self._after
        drift = np.abs(self._kept - self._solver.y) / (1 + np.abs(self._kept))
        if self._kind in EXPLICIT:
            if self._keep is not None:
                self._solver.y = self._kept.copy()
                self._solver.f = self._count(self._end, self._kept)
        elif drift.max() > 100 * self.problem.rtol:  # with a memory of former steps it begins anew
            self._solver = None
        if stiff:
            self._kind, self._solver, self._watching = Radau, None, False
            self.changes = ((self.now, "radau"),)
        self._sample()

    def take_until(self, moment: float, earliest: float) -> bool:
        state, way = self._approach(moment)
        self._fill(moment, state, way or self._dense)
        self._solver = None
        self._sample()
        return True

    def _fill(self, end: float, state: np.ndarray, dense: Callable[[Any], np.ndarray]) -> None:
        self._first = None
        done = sum(map(len, self._filled))
        times = self.times[done : done + np.searchsorted(self.times[done:], end, side="right")]
        if len(times):
            rows = dense(times).T
            rows[times == end] = state
            kept = [self._kept_at(t, row) for t, row in zip(times, rows, strict=True)]
            self._filled.append(np.array(kept))
        self.t, self.y, self.steps = end, state.copy(), self.steps + 1
        self._remember()

    def _remember(self) -> None:
        if self.steps % self._stride == 0:
            self._traced.append((self.t, self.y))
        if len(self._traced) >= stepping.ROWS:
            self._traced, self._stride = self._traced[1::2], 2 * self._stride

    def trace(self) -> tuple[np.ndarray, np.ndarray]:
        times, states = zip(*self._traced, strict=True) if self._traced else ((), ())
        return self.problem.begin + np.array(times), np.reshape(
            states, (len(times), self.problem.size)
        )
