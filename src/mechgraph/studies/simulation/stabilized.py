"""Gear, Gupta and Leimkuhler's stabilized equations: coordinates and speeds stay on the constraints
within every step, and nothing is projected.

With multipliers μ that are zero but for errors of integration,

    q̇ = N (u + A_φᵀ μ) + n,      M u̇ = f + Gᵀλ,      φ(q, t) = 0,      ψ(q, u, t) = 0,

a differential-algebraic system of index 2 (Gear, Gupta, Leimkuhler, *Automatic integration of
Euler–Lagrange equations with constraints*, 1985). It is solved by Radau IIA with three stages, of
order 5, whose last stage is the next state (Hairer, Wanner, *Solving Ordinary Differential
Equations II*, IV.8 and VI.1). The stages are found here; all else is as with other runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX
from scipy.sparse import bmat, diags
from scipy.sparse.linalg import splu

from ...closures.sparse import with_entries
from ...contract.closed import entries as entries_of
from .integrator import Integrator, Problem

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
CONVERGED = 1e-3  # of the tolerance, left by it
ROUNDING = 1e-14  # or of the state
DENSE = 100  # unknowns up to which matrices are dense, which takes a tenth of the time
LITTLE = 1e-11  # in its matrix alone: what multipliers of dependent rows are held by


class Stabilized(Integrator):
    """Integrates the stabilized equations."""

    def __init__(self, equations: Equations, problem: Problem) -> None:
        motion, normalized = problem.motion, equations.terms.chart.normalized_expression
        rest = motion.y[motion.q.numel() :, :]
        super().__init__("radau", problem, ca.vertcat(normalized(motion.q), rest))
        self.shown_method = "radau, of index 2"
        self._residual = Residual(equations, problem)
        self._rates = problem.routine("rates", motion.rates).function
        self._lam = problem.routine("multipliers", equations.numeric.closed.lam).function
        self._count, self._size = self._residual.moving, self._residual.size
        self._t, self._next = -np.inf, np.zeros(self._size - self._count)
        self._stepper.give_stages(self._stages)

    def _beginning(self, t: float, y: np.ndarray) -> np.ndarray:
        """Multipliers μ = 0 and λ of the accelerations."""
        lam = np.array(self._lam(self._x(t, y))).ravel()
        return np.concatenate([np.zeros(self._size - self._count - len(lam)), lam])

    def _x(self, t: float, y: np.ndarray) -> np.ndarray:
        """(y, t, p, what is told) at a moment."""
        x = self._stepper.arrays["x"].copy()
        x[: self.problem.size], x[self.problem.size] = y, self.problem.begin + t
        self.problem.write_signal(x)
        return x

    def _arguments(self, t: float, Y: np.ndarray, rates: np.ndarray) -> list[Any]:
        """Of the residual at a moment."""
        self._stepper.run.evaluations += 1
        x = self._x(t, np.concatenate([Y[: self._count], self._y[self._count :]]))
        now, p, told = np.split(x[self.problem.size :], [1, 1 + len(self.problem.constants)])
        return [Y, rates, now, told, p]

    def _stages(self, h: float) -> float:
        """Three stages of a step of length h, from guesses, and its error."""
        run, arrays = self._stepper.run, self._stepper.arrays
        if run.t != self._t:  # the step that was found last has been taken
            self._multipliers = self._next
        self._t, self._y = run.t, arrays["y"].copy()
        if not run.guessed:  # it begins anew: forces may have jumped
            self._multipliers = self._beginning(self._t, self._y)
        Y = np.concatenate([self._y[: self._count], self._multipliers])
        guess = arrays["Z"].reshape(3, -1)
        with np.errstate(all="ignore"):
            steps = self._solve_stages(Y, h, guess[:, : self._count])
            if steps is None:
                return np.inf
            stages = Y + steps
            guess[:, : self._count], self._next = steps[:, : self._count], stages[-1, self._count :]
            guess[:, self._count :] = h * WEIGHTS @ self._powers(h, stages)
            return self._error(Y, h, steps)

    def _powers(self, h: float, stages: np.ndarray) -> np.ndarray:
        """What adds up to work, at the stages."""
        states = np.hstack([stages[:, : self._count], np.tile(self._y[self._count :], (3, 1))])
        moments = self._t + h * NODES
        found = [self._rates(self._x(t, y)) for t, y in zip(moments, states, strict=True)]
        return np.array(found).reshape(3, -1)

    def _norm(self, step: np.ndarray) -> float:
        """Of steps of (q, u), in units of the tolerance."""
        return self.problem.measured(step, self._y[: self._count])

    def _solved(self, matrix: Any, right: np.ndarray, h: float) -> np.ndarray:
        """The solution with a matrix whose rows of rates are times h, whose multipliers are over
        h."""
        count, size = self._count, self._size
        stages = len(right) // size
        rows = np.tile(np.r_[np.full(count, h), np.ones(size - count)], stages)
        columns = np.tile(np.r_[np.ones(count), np.full(size - count, 1 / h)], stages)
        held = np.tile(np.r_[np.zeros(count), np.full(size - count, LITTLE)], stages)
        if isinstance(matrix, np.ndarray):
            scaled = rows[:, None] * matrix * columns + np.diag(held)
            return np.asarray(columns * np.linalg.solve(scaled, rows * right))
        factor = splu((diags(rows) @ matrix @ diags(columns) + diags(held)).tocsc())
        return np.asarray(columns * factor.solve(rows * right))

    def _solve_stages(self, Y: np.ndarray, h: float, guess: np.ndarray) -> np.ndarray | None:
        """Steps to the three stages, by Newton's method; None if it does not converge."""
        before, steps = np.inf, np.zeros((3, self._size))
        steps[:, : self._count] = guess
        for _ in range(ITERATIONS):
            try:
                change = self._change(Y, h, steps)
            except (RuntimeError, np.linalg.LinAlgError):  # a singular matrix
                return None
            steps = steps + change
            now = max(self._norm(row[: self._count]) for row in change)
            if not np.isfinite(now) or now > 2 * before:
                return None
            if now < max(CONVERGED, ROUNDING / self.problem.rtol):
                return steps
            before = now
        return None

    def _change(self, Y: np.ndarray, h: float, steps: np.ndarray) -> np.ndarray:
        """One step of Newton's method for all stages."""
        rates = RATES @ steps[:, : self._count] / h
        moments = self._t + h * NODES
        stages = [self._arguments(moments[k], Y + steps[k], rates[k]) for k in range(3)]
        slopes = [self._residual.slopes(stage) for stage in stages]
        parts = [[rate / h * K for rate in RATES[k]] for k, (_, K) in enumerate(slopes)]
        for k, (J, _) in enumerate(slopes):
            parts[k][k] = parts[k][k] + J
        matrix = np.block(parts) if isinstance(J, np.ndarray) else bmat(parts, "csc")
        left = np.concatenate([self._residual.value(stage) for stage in stages])
        return self._solved(matrix, -left, h).reshape(steps.shape)

    def _error(self, Y: np.ndarray, h: float, steps: np.ndarray) -> float:
        """(REAL/h K + J) e = −F at the beginning, with what the stages say of the rates there."""
        beginning = self._arguments(self._t, Y, -ERROR @ steps[:, : self._count] / h)
        J, K = self._residual.slopes(beginning)
        left = self._residual.value(beginning)
        return self._norm(self._solved(REAL / h * K + J, -left, h)[: self._count])


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
        matrices = [with_entries(slope, np.array(values).ravel()) for slope, values in found]
        return matrices if self.size > DENSE else [each.toarray() for each in matrices]
