"""Integrators, by name. Each is built for one right-hand side and advances a state over a grid of times.

``cvodes`` (variable-order Adams, for most mechanisms) and ``cvodes-bdf`` (stiff ones) run the whole expression in
SUNDIALS through CasADi; ``rk8`` runs in machine code (it needs a compiler); the others are SciPy's.
"""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import casadi as ca
import numpy as np
from casadi import SX
from scipy.integrate import solve_ivp

from ..kernels.flow import Integrate, Motion


class IntegrationFailure(Exception):
    """The integrator gave up."""


@dataclass(frozen=True)
class Problem:
    """ẏ = f(t, y), y = (q, u), for a motion whose inputs are expressions of time, or a Python function (``signal``)."""

    motion: Motion
    inputs: SX
    constants: np.ndarray
    signal: Callable[[float, np.ndarray], np.ndarray] | None = None

    @property
    def y(self) -> SX:
        """The state (q, u)."""
        return ca.vertcat(self.motion.q, self.motion.u)

    @property
    def rhs(self) -> SX:
        """ẏ at the state brought back to its constraints, with the inputs put in unless a Python function gives them.

        For methods that cannot keep the constraints at their own steps. An error φ = σ x across a constraint whose
        singular value σ falls to zero would grow as 1/σ if it fed back on the motion; this way it stays what it is.
        """
        m, state = self.motion, self.y
        rhs = ca.vertcat(m.qdot, m.udot)
        if m.keep is not None:
            rhs = ca.Function("rhs", [state, m.t, m.w, m.p], [rhs])(m.keep, m.t, m.w, m.p)
        known = self.signal is None and m.w.numel()
        return ca.cse(ca.substitute(rhs, m.w, self.inputs) if known else rhs)


class Integrator(ABC):
    """Advances a state; counts what it did."""

    def __init__(self, problem: Problem, rtol: float, atol: float) -> None:
        self.problem, self.rtol, self.atol = problem, rtol, atol
        self.steps = self.evaluations = 0

    @abstractmethod
    def advance(self, t: float, y: np.ndarray, times: np.ndarray) -> np.ndarray:
        """States at ``times`` (equidistant, ascending, after t), a row each."""


class Cvodes(Integrator):
    """CVODES on the interval [0, 1] of s, with t = t₀ + h s, so that one compiled problem serves every interval."""

    options: ClassVar[dict[str, str]] = {"linear_multistep_method": "adams", "nonlinear_solver_iteration": "functional"}

    def __init__(self, problem: Problem, rtol: float, atol: float) -> None:
        super().__init__(problem, rtol, atol)
        self._built: dict[int, ca.Function] = {}
        s, t0, h = SX.sym("s"), SX.sym("t0"), SX.sym("h")
        rhs = h * ca.substitute(problem.rhs, problem.motion.t, t0 + h * s)
        self._dae = {"x": problem.y, "t": s, "p": ca.vertcat(t0, h, problem.motion.p), "ode": rhs}

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
                "reltol": self.rtol, "abstol": self.atol, "max_num_steps": 1_000_000, "print_time": False,
                "show_eval_warnings": False, "expand": False, **self.options,
            }  # fmt: skip
            grid = np.linspace(0, 1, count + 1)[1:]
            self._built[count] = ca.integrator("run", "cvodes", self._dae, 0.0, list(grid), options)
        return self._built[count]


class CvodesBdf(Cvodes):
    """CVODES with backward differentiation and exact Jacobians, for stiff systems."""

    options: ClassVar[dict[str, str]] = {"linear_multistep_method": "bdf", "nonlinear_solver_iteration": "newton"}


class Compiled(Integrator):
    """Dormand and Prince's method of order 8 in machine code, constraints kept at every step."""

    def __init__(self, problem: Problem, rtol: float, atol: float) -> None:
        super().__init__(problem, rtol, atol)
        self._run = Integrate(problem.motion, problem.inputs)
        self._step = 0.0

    def advance(self, t: float, y: np.ndarray, times: np.ndarray) -> np.ndarray:
        arguments = (t, y, times, self.problem.constants, self.rtol, self.atol, self._step)
        out, failed, (step, steps, evaluations, reached) = self._run(*arguments)
        self.steps, self.evaluations = self.steps + int(steps), self.evaluations + int(evaluations)
        if failed:
            raise IntegrationFailure(f"the step became too small at t = {reached:.6g}")
        self._step = step
        return out


class SciPy(Integrator):
    """One of SciPy's methods; inputs may be Python functions."""

    method = "DOP853"

    def __init__(self, problem: Problem, rtol: float, atol: float) -> None:
        super().__init__(problem, rtol, atol)
        motion = problem.motion
        self._f = ca.Function("f", [problem.y, motion.t, motion.w, motion.p], [problem.rhs])

    def _rhs(self, t: float, y: np.ndarray) -> np.ndarray:
        problem = self.problem
        w = problem.signal(t, y) if problem.signal is not None else np.zeros(problem.motion.w.numel())
        return np.array(self._f(y, t, w, problem.constants)).ravel()

    def advance(self, t: float, y: np.ndarray, times: np.ndarray) -> np.ndarray:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            out = solve_ivp(self._rhs, (t, times[-1]), y, self.method, times, rtol=max(self.rtol, 3e-14), atol=self.atol)
        self.evaluations += out.nfev
        self.steps += out.nfev // 12
        if not out.success or out.y.shape[1] < len(times) or not np.isfinite(out.y).all():
            raise IntegrationFailure(out.message)
        return out.y.T


def _scipy(name: str) -> type[SciPy]:
    return type(name, (SciPy,), {"method": name})


METHODS: dict[str, type[Integrator]] = {
    "cvodes": Cvodes,
    "cvodes-bdf": CvodesBdf,
    "rk8": Compiled,
    "dop853": SciPy,
    "rk45": _scipy("RK45"),
    "radau": _scipy("Radau"),
    "bdf": _scipy("BDF"),
    "lsoda": _scipy("LSODA"),
}


def _reason(text: str) -> str:
    """The one telling line of a CasADi message."""
    for line in text.splitlines():
        if "returned" in line or "failed" in line.lower():
            return line.strip()
    return text.splitlines()[-1].strip() if text else "unknown"
