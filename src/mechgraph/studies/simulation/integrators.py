"""Integrators, by name. Each is built for one right-hand side and advances a state over a grid of
times.

``cvodes`` (variable-order Adams, for most mechanisms) and ``cvodes-bdf`` (stiff ones) run the whole
expression in SUNDIALS through CasADi; ``rk8`` runs in machine code; the others are SciPy's. Without
a C compiler ``dop853``, which is the same method, takes the place of ``rk8``.
"""

from __future__ import annotations

import re
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import casadi as ca
import numpy as np
from casadi import SX
from scipy.integrate import BDF, DOP853, LSODA, RK45, OdeSolver, Radau

from ...errors import SimulationError
from ...kernels.compiler import CompilationFailure, report
from ...kernels.flow import Flow


class IntegrationFailure(SimulationError):
    """The integrator gave up."""

    hint = "Try method='cvodes-bdf' (stiff), a smaller rtol, or another start"


@dataclass(frozen=True)
class Problem:
    """ẏ = f(t, y), y = (q, u, work), for a motion whose inputs are expressions of time, or a Python
    function (``signal``)."""

    motion: Flow
    inputs: SX
    constants: np.ndarray
    signal: Callable[[float, np.ndarray], np.ndarray] | None = None

    @property
    def rhs(self) -> SX:
        """ẏ at the state brought back to its constraints, with the inputs put in unless a Python
        function gives them."""
        slope, known = self.motion.slope, self.signal is None and self.motion.w.numel()
        return ca.substitute(slope, self.motion.w, self.inputs) if known else slope


class Integrator(ABC):
    """Advances a state; counts what it did."""

    projects = False  # True if it keeps the constraints itself, at every step
    tier = "interpreter"  # what evaluates the right-hand side

    def __init__(self, problem: Problem, rtol: float, atol: float) -> None:
        self.problem, self.rtol, self.atol = problem, rtol, atol
        self.steps = self.evaluations = 0

    def restart(self, constants: np.ndarray) -> None:
        """Go on with other parameters, from another state."""
        self.problem = replace(self.problem, constants=constants)

    def own_steps(self, t: float, y: np.ndarray, end: float) -> np.ndarray | None:
        """The moments in (t, end] that the method itself steps on; None if it does not tell."""
        return None

    @abstractmethod
    def advance(self, t: float, y: np.ndarray, times: np.ndarray) -> np.ndarray:
        """States at ``times`` (equidistant, ascending, after t), a row each."""


class WithoutMotion(Integrator):
    """For systems without coordinates: time alone moves them."""

    projects = True

    def advance(self, t: float, y: np.ndarray, times: np.ndarray) -> np.ndarray:
        return np.zeros((len(times), 0))


class Cvodes(Integrator):
    """CVODES on the interval [0, 1] of s, with t = t₀ + h s, so that one compiled problem serves
    every interval."""

    options: ClassVar[dict[str, str]] = {
        "linear_multistep_method": "adams",
        "nonlinear_solver_iteration": "functional",
    }

    def __init__(self, problem: Problem, rtol: float, atol: float) -> None:
        super().__init__(problem, rtol, atol)
        self._built: dict[int, ca.Function] = {}
        s, t0, h = SX.sym("s"), SX.sym("t0"), SX.sym("h")
        rhs = h * ca.substitute(problem.rhs, problem.motion.t, t0 + h * s)
        self._dae = self._problem(problem.motion.y, s, ca.vertcat(t0, h, problem.motion.p), rhs)

    def _problem(self, x: SX, t: SX, p: SX, ode: SX) -> dict[str, Any]:
        """The right-hand side as a function without derivatives: nobody asks for them here, but
        CasADi would prepare them."""
        unneeded = {
            "enable_forward": False,
            "enable_reverse": False,
            "enable_jacobian": False,
            "enable_fd": True,
        }
        f = ca.Function("f", [x, t, p], [ode], unneeded)
        whole = [ca.MX.sym(name, symbol.numel()) for name, symbol in (("x", x), ("t", t), ("p", p))]
        return {**dict(zip("xtp", whole, strict=True)), "ode": f(*whole)}

    def advance(self, t: float, y: np.ndarray, times: np.ndarray) -> np.ndarray:
        integrator = self._integrator(len(times))
        constants = np.concatenate([[t, times[-1] - t], self.problem.constants])
        try:
            out = integrator(x0=y, p=constants)["xf"]
        except RuntimeError as error:
            raise IntegrationFailure(_reason(str(error))) from None
        finally:
            statistics = integrator.stats()
            self.steps += statistics.get("nsteps", 0)
            self.evaluations += statistics.get("nfevals", 0)
        result = np.array(out).T
        if not np.isfinite(result).all():
            raise IntegrationFailure("the state is no longer finite")
        return result

    def _integrator(self, count: int) -> ca.Function:
        if count not in self._built:
            options: dict[str, Any] = {
                "reltol": self.rtol,
                "abstol": self.atol,
                "max_num_steps": 1_000_000,
                "min_step_size": 1e-14,
                "disable_internal_warnings": True,
                "print_time": False,
                "show_eval_warnings": False,
                "expand": False,
                **self.options,
            }
            grid = np.linspace(0, 1, count + 1)[1:]
            self._built[count] = ca.integrator("run", "cvodes", self._dae, 0.0, list(grid), options)
        return self._built[count]


class CvodesBdf(Cvodes):
    """CVODES with backward differentiation and exact Jacobians, for stiff systems."""

    options: ClassVar[dict[str, str]] = {
        "linear_multistep_method": "bdf",
        "nonlinear_solver_iteration": "newton",
    }

    def _problem(self, x: SX, t: SX, p: SX, ode: SX) -> dict[str, Any]:
        return {"x": x, "t": t, "p": p, "ode": ode}


class Compiled(Integrator):
    """Dormand and Prince's method of order 8 in machine code, constraints kept at every step."""

    projects = True
    tier = "machine code"

    def __init__(self, problem: Problem, rtol: float, atol: float) -> None:
        super().__init__(problem, rtol, atol)
        w = list(zip(ca.vertsplit(problem.inputs), ca.vertsplit(problem.motion.w), strict=True))
        # told, so that others need no new code
        numbers = [float(value) if value.is_constant() else 0.0 for value, _ in w]
        self._run = problem.motion.integrate(
            ca.vertcat(SX(0, 1), *(s if value.is_constant() else value for value, s in w))
        )
        self._numbers = numbers
        self.restart(problem.constants)

    def restart(self, constants: np.ndarray) -> None:
        super().restart(constants)
        self._constants = np.concatenate([constants, self._numbers])
        self._step = 0.0

    def advance(self, t: float, y: np.ndarray, times: np.ndarray) -> np.ndarray:
        arguments = (t, y, times, self._constants, self.rtol, self.atol, self._step)
        out, failed, (step, steps, evaluations, reached) = self._run(*arguments)
        self.steps, self.evaluations = self.steps + int(steps), self.evaluations + int(evaluations)
        if failed:
            raise IntegrationFailure(f"the step became too small at t = {reached:.6g}")
        self._step = step
        return out

    def own_steps(self, t: float, y: np.ndarray, end: float) -> np.ndarray:
        options = (self._constants, self.rtol, self.atol, self._step)
        return np.unique(list(self._run.own_steps(t, y, end, *options)))


class SciPy(Integrator):
    """One of SciPy's methods; inputs may be Python functions."""

    method: type[OdeSolver]

    def __init__(self, problem: Problem, rtol: float, atol: float) -> None:
        super().__init__(problem, rtol, atol)
        self._f = self._function(problem.rhs)

    def _function(self, value: SX) -> ca.Function:
        motion = self.problem.motion
        return ca.Function("f", [self.problem.motion.y, motion.t, motion.w, motion.p], [value])

    def _rhs(self, t: float, y: np.ndarray) -> np.ndarray:
        problem = self.problem
        w = (
            problem.signal(t, y)
            if problem.signal is not None
            else np.zeros(problem.motion.w.numel())
        )
        return np.array(self._f(y, t, w, problem.constants)).ravel()

    def advance(self, t: float, y: np.ndarray, times: np.ndarray) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            solver = self.method(
                self._rhs, t, y, times[-1], rtol=max(self.rtol, 3e-14), atol=self.atol
            )
            out = np.vstack([times[:0, None] * y, *self._stretches(solver, times)])
        self.evaluations += solver.nfev
        return out

    def own_steps(self, t: float, y: np.ndarray, end: float) -> np.ndarray:
        found = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            solver = self.method(self._rhs, t, y, end, rtol=max(self.rtol, 3e-14), atol=self.atol)
            while solver.status == "running" and np.isfinite(solver.y).all():
                solver.step()
                self._project(solver)
                found.append(solver.t)
        return np.unique(found)

    def _stretches(self, solver: OdeSolver, times: np.ndarray) -> Iterator[np.ndarray]:
        """States at the times that each step passes."""
        while times.size:
            message = solver.step()
            self.steps += 1
            if solver.status == "failed" or not np.isfinite(solver.y).all():
                raise IntegrationFailure(message or "the state is no longer finite")
            passed = int(np.searchsorted(times, solver.t, side="right"))
            if passed:
                yield solver.dense_output()(times[:passed]).T
            times = times[passed:]
            self._project(solver)

    def _project(self, solver: OdeSolver) -> None:
        """Nothing: a method with a memory of former steps must not have its state moved."""


class RungeKutta(SciPy):
    """One of SciPy's explicit one-step methods, constraints kept at every step."""

    def __init__(self, problem: Problem, rtol: float, atol: float) -> None:
        super().__init__(problem, rtol, atol)
        self._projected = (
            None
            if problem.motion.projected is None
            else self._function(problem.motion.projected_state)
        )

    def _project(self, solver: OdeSolver) -> None:
        if self._projected is not None:
            # the constraints do not depend on the inputs
            w = np.zeros(self.problem.motion.w.numel())
            solver.y = np.array(
                self._projected(solver.y, solver.t, w, self.problem.constants)
            ).ravel()
            solver.f = self._rhs(solver.t, solver.y)


def _scipy(base: type[SciPy], kind: type[OdeSolver]) -> type[SciPy]:
    return type(kind.__name__, (base,), {"method": kind})


METHODS: dict[str, type[Integrator]] = {
    "cvodes": Cvodes,
    "cvodes-bdf": CvodesBdf,
    "rk8": Compiled,
    "dop853": _scipy(RungeKutta, DOP853),
    "rk45": _scipy(RungeKutta, RK45),
    "radau": _scipy(SciPy, Radau),
    "bdf": _scipy(SciPy, BDF),
    "lsoda": _scipy(SciPy, LSODA),
}


def make_integrator(method: str, problem: Problem, rtol: float, atol: float) -> Integrator:
    """The method of that name, or the same one in SciPy where there is no machine code."""
    try:
        return METHODS[method](problem, rtol, atol)
    except CompilationFailure as failure:
        report(failure, "dop853 instead of rk8")
        return METHODS["dop853"](problem, rtol, atol)


def _reason(text: str) -> str:
    """What a CasADi message says, in words."""
    found = re.search(r"CV_\w+", text)
    if found is None:
        return text.splitlines()[-1].strip() if text else "unknown"
    return f"{REASONS.get(found.group(), 'the integrator gave up')} ({found.group()})"


REASONS = {
    "CV_ERR_FAILURE": "the step became too small",
    "CV_CONV_FAILURE": "the step became too small",
    "CV_TOO_MUCH_WORK": "too many steps were needed",
    "CV_TOO_MUCH_ACC": "the tolerance is below what rounding allows",
    "CV_RHSFUNC_FAIL": "the accelerations are not finite",
    "CV_FIRST_RHSFUNC_ERR": "the accelerations are not finite",
    "CV_REPTD_RHSFUNC_ERR": "the accelerations are not finite",
}
