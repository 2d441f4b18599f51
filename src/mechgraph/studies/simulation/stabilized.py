"""Gear, Gupta and Leimkuhler's stabilized equations: coordinates and speeds stay on the constraints
within every step, and nothing is projected.

With multipliers μ that are zero but for errors of integration,

    q̇ = N (u + A_φᵀ μ) + n,      M u̇ = f + Gᵀλ,      φ(q, t) = 0,      ψ(q, u, t) = 0,

a differential-algebraic system of index 2 (Gear, Gupta, Leimkuhler, *Automatic integration of
Euler–Lagrange equations with constraints*, 1985). It is solved by Radau IIA with three stages, of
order 5, whose last stage is the next state (Hairer, Wanner, *Solving Ordinary Differential
Equations II*, IV.8 and VI.1).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX
from scipy.integrate import OdeSolver
from scipy.interpolate import BarycentricInterpolator
from scipy.sparse import bmat, diags
from scipy.sparse.linalg import splu

from ...contract.closed import entries as entries_of
from ...contract.solver import sparse_matrix
from .integrator import Problem
from .scipy_methods import SciPy

if TYPE_CHECKING:
    from ...equations import Equations

ROOT = 6**0.5
NODES = np.array([(4 - ROOT) / 10, (4 + ROOT) / 10, 1])
WEIGHTS = np.array(
    [
        [(88 - 7 * ROOT) / 360, (296 - 169 * ROOT) / 1800, (-2 + 3 * ROOT) / 225],
        [(296 + 169 * ROOT) / 1800, (88 + 7 * ROOT) / 360, (-2 - 3 * ROOT) / 225],
        [(16 - ROOT) / 36, (16 + ROOT) / 36, 1 / 9],
    ]
)
RATES = np.linalg.inv(WEIGHTS)  # h ẏ of the stages from their steps
REAL = 3 + 3 ** (2 / 3) - 3 ** (1 / 3)  # its real eigenvalue
ERROR = np.array([-13 - 7 * ROOT, -13 + 7 * ROOT, -1]) / 3
ITERATIONS = 8  # of Newton's method
SETTLED = 1e-3  # of the tolerance, left by it
ROUNDING = 1e-14  # or of the state
DENSE = 100  # unknowns up to which matrices are dense, which takes a tenth of the time
LITTLE = 1e-11  # in its matrix alone: what multipliers of dependent rows are held by


class Stabilized(SciPy):
    """Integrates the stabilized equations; all else is as with SciPy's methods."""

    shown_method = "radau, of index 2"

    def __init__(self, equations: Equations, problem: Problem) -> None:
        super().__init__("radau", problem)
        self.residual = Residual(equations, problem)
        self.normalized = equations.terms.chart.normalized
        self.power = self._function("rates", problem.motion.rates)
        self.first_multipliers = self._function("multipliers", equations.numeric.closed.lam)

    def _may_begin(self) -> bool:
        return True  # without accelerations, too

    def _new_solver(
        self, t: float, y: np.ndarray, end: float, first: float | None = None
    ) -> OdeSolver:
        solver = IndexTwo(self, t, y, end)
        solver.h_abs = solver.h_abs if first is None else first
        return solver

    def arguments(self, t: float, y: np.ndarray, Y: np.ndarray, rates: np.ndarray) -> list[Any]:
        """Of the residual at a moment; ``y`` is for inputs that are functions of the state."""
        self.evaluations += 1
        # of its own for each stage
        known = self._x[self.problem.size + 1 :].copy()
        p, told = np.split(known, [len(self.problem.constants)])
        now = self.problem.begin + t
        self.problem.loop.signal(now, y, told)
        return [Y, rates, now, told, p]


class Residual:
    """F(Y, (q̇, u̇, ẋ), t) of Y = (q, u, x, μ, λ), with further states x of controllers, and its
    slopes in both."""

    def __init__(self, equations: Equations, problem: Problem) -> None:
        terms, s = equations.terms, equations.terms.symbols
        places, velocities = terms.phi.numel(), terms.psi.numel()
        mu, lam = SX.sym("mu", places), SX.sym("lambda", len(terms.constraints))
        v, loop = SX.sym("v", s.q.numel()), problem.loop
        own_rates = SX.sym("x'", loop.own.numel())
        F = ca.vertcat(
            v - terms.qdot - terms.N @ (terms.A[:places, :].T @ mu),
            terms.M @ s.udot - terms.f - terms.G.T @ lam,
            own_rates - loop.own_rates,
            terms.phi,
            terms.psi,
            terms.A[velocities:, :] @ s.udot + terms.b[velocities:, :],
        )
        F = ca.substitute(F, s.w, loop.inputs) if s.w.numel() else F
        Y = ca.vertcat(s.q, s.u, loop.own, mu, lam)
        rates = ca.vertcat(v, s.udot, own_rates)
        self.size, self.moving = Y.numel(), rates.numel()
        none = SX(self.size, self.size - self.moving)
        self._slopes = ca.jacobian(F, Y), ca.horzcat(ca.jacobian(F, rates), none)
        entries = [entries_of(x) for x in self._slopes]
        arguments = [Y, rates, s.t, loop.told, s.p]
        self._value = ca.Function("F", arguments, [ca.densify(F)])
        self._entries = ca.Function("slopes", arguments, entries)

    def value(self, arguments: list[Any]) -> np.ndarray:
        return np.array(self._value(*arguments)).ravel()

    def slopes(self, arguments: list[Any]) -> list[Any]:
        """In Y, and in the rates with columns of zeros for the multipliers; sparse, if there are
        many."""
        found = zip(self._slopes, self._entries(*arguments), strict=True)
        matrices = [sparse_matrix(slope, np.array(values).ravel()) for slope, values in found]
        return matrices if self.size > DENSE else [each.toarray() for each in matrices]


class IndexTwo(OdeSolver):  # type: ignore[misc]
    """Steps of Radau IIA on F = 0, with the interface of SciPy's methods."""

    t: float
    y: np.ndarray
    _polynomial: BarycentricInterpolator | None = None

    def __init__(self, run: Stabilized, t: float, y: np.ndarray, end: float) -> None:
        super().__init__(run._count, t, y, end, vectorized=False)
        self.run, self.count = run, run.residual.moving
        multipliers = np.zeros(run.residual.size - self.count)
        lam = run.first_multipliers(t, y)
        multipliers[len(multipliers) - len(lam) :] = lam
        self._multipliers = multipliers
        self.h_abs, self.max_step = self._first_step(), run.problem.longest

    def _scale(self, y: np.ndarray) -> np.ndarray:
        problem = self.run.problem
        return problem.atol + problem.rtol * np.abs(y)

    def _norm(self, step: np.ndarray) -> float:
        """Of steps of (q, u), in units of the tolerance."""
        scaled = step / self._scale(self.y[: self.count])
        return float(np.sqrt(np.mean(scaled**2)))

    def _first_step(self) -> float:
        scale = self._scale(self.y)
        size, slope = (np.linalg.norm(x / scale) for x in (self.y, self.fun(self.t, self.y)))
        return float(0.01 * size / slope) if min(size, slope) > 1e-5 else 1e-6

    def _step_impl(self) -> tuple[bool, str | None]:
        self._before = self.t, self.y
        Y = np.concatenate([self.y[: self.count], self._multipliers])
        rates = self.fun(self.t, self.y)[: self.count]
        arguments = self.run.arguments(self.t, self.y, Y, rates)
        J, K = self.run.residual.slopes(arguments)
        self.h_abs = min(self.h_abs, self.max_step)
        while self.h_abs > 10 * np.spacing(abs(self.t) + 1e-3):
            h = min(self.h_abs, self.t_bound - self.t)
            with np.errstate(all="ignore"):
                steps = self._settled(Y, h)
                error = np.inf if steps is None else self._error(Y, J, K, h, steps)
            factor = 0.9 * max(error, 1e-10) ** -0.25 if np.isfinite(error) else 0.25
            if error <= 1:
                assert steps is not None
                self._take(Y + steps, h)
                self.h_abs = max(h, self.h_abs if h < self.h_abs else 0) * np.clip(factor, 0.2, 8)
                return True, None
            self.h_abs = h * np.clip(factor, 0.1, 0.9)
        return False, self.TOO_SMALL_STEP

    def _solved(self, matrix: Any, right: np.ndarray, h: float) -> np.ndarray:
        """The solution with a matrix whose rows of rates are times h, whose multipliers are over
        h."""
        count, size = self.count, self.run.residual.size
        stages = len(right) // size
        rows = np.tile(np.r_[np.full(count, h), np.ones(size - count)], stages)
        columns = np.tile(np.r_[np.ones(count), np.full(size - count, 1 / h)], stages)
        held = np.tile(np.r_[np.zeros(count), np.full(size - count, LITTLE)], stages)
        if isinstance(matrix, np.ndarray):
            scaled = rows[:, None] * matrix * columns + np.diag(held)
            return np.asarray(columns * np.linalg.solve(scaled, rows * right))
        factor = splu((diags(rows) @ matrix @ diags(columns) + diags(held)).tocsc())
        return np.asarray(columns * factor.solve(rows * right))

    def _settled(self, Y: np.ndarray, h: float) -> np.ndarray | None:
        """Steps to the three stages, by Newton's method; None if it does not converge."""
        size, before = self.run.residual.size, np.inf
        steps = np.zeros((3, size))
        if self._polynomial is not None:
            ahead = self._polynomial(self.t + h * NODES)[:, : self.count]
            steps[:, : self.count] = ahead - self.y[: self.count]
        for _ in range(ITERATIONS):
            try:
                change = self._change(Y, h, steps)
            except (RuntimeError, np.linalg.LinAlgError):  # a singular matrix
                return None
            steps = steps + change
            now = max(self._norm(row[: self.count]) for row in change)
            if not np.isfinite(now) or now > 2 * before:
                return None
            if now < max(SETTLED, ROUNDING / self.run.problem.rtol):
                return steps
            before = now
        return None

    def _change(self, Y: np.ndarray, h: float, steps: np.ndarray) -> np.ndarray:
        """One step of Newton's method for all stages."""
        rates = RATES @ steps[:, : self.count] / h
        stages = [self._arguments(Y + steps[k], rates[k], h * NODES[k]) for k in range(3)]
        slopes = [self.run.residual.slopes(stage) for stage in stages]
        parts = [[rate / h * K for rate in RATES[k]] for k, (_, K) in enumerate(slopes)]
        for k, (J, _) in enumerate(slopes):
            parts[k][k] = parts[k][k] + J
        matrix = np.block(parts) if isinstance(J, np.ndarray) else bmat(parts, "csc")
        left = np.concatenate([self.run.residual.value(stage) for stage in stages])
        return self._solved(matrix, -left, h).reshape(steps.shape)

    def _arguments(self, Y: np.ndarray, rates: np.ndarray, later: float) -> list[Any]:
        y = np.concatenate([Y[: self.count], self.y[self.count :]])
        return self.run.arguments(self.t + later, y, Y, rates)

    def _error(self, Y: np.ndarray, J: Any, K: Any, h: float, steps: np.ndarray) -> float:
        """(REAL/h K + J) e = −F at the beginning, with what the stages say of the rates there."""
        rates = -ERROR @ steps[:, : self.count] / h
        left = self.run.residual.value(self._arguments(Y, rates, 0.0))
        return self._norm(self._solved(REAL / h * K + J, -left, h)[: self.count])

    def _take(self, stages: np.ndarray, h: float) -> None:
        """The last stage is the next state; work is added up along the stages."""
        t, y = self._before
        count, moments = self.count, t + h * NODES
        states = np.hstack([stages[:, :count], np.tile(y[count:], (3, 1))])
        if len(y) > count:
            powers = [self.run.power(*each) for each in zip(moments, states, strict=True)]
            states[:, count:] += h * WEIGHTS @ np.array(powers)
        self._polynomial = BarycentricInterpolator([t, *moments], [y, *states])
        self.t, self.y = t + h, states[-1]
        coordinates = self.run.problem.motion.q.numel()
        self.y[:coordinates] = self.run.normalized(self.y[:coordinates])
        self._multipliers = stages[-1, count:]

    def _dense_output_impl(self) -> Any:
        polynomial = self._polynomial
        assert polynomial is not None
        return lambda moment: polynomial(moment).T
