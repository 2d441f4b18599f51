"""Speeds that satisfy ψ = 0 and the start, as near as can be to the guess, and then to rest."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ..least_squares import in_order, known, scattered
from .contact_points import contact_variables
from .contradiction import CLOSER, FEWER, contradiction
from .requested import Level

if TYPE_CHECKING:
    from ...equations import Equations

ATTEMPTS, STEPS = 40, 50
WISHES = 40  # steps that also come nearer to the guess and to rest; then what must be alone
ROUNDING = 1e-13  # of the largest speed
MET = 1e-9  # what may be left of a row, relative to it


def velocities(
    equations: Equations, start: Level, guess: Level, q: np.ndarray, context: dict[str, Any]
) -> np.ndarray:
    """The speeds. Rows that are not linear in them may have no slope at rest, so there are several
    attempts."""
    rows = Speeding(equations, start, guess, q, context)
    first, random = np.zeros(len(equations.speeds)), np.random.default_rng(0)
    for level in (guess, start):
        first[list(level.variables)] = list(level.variables.values())
    u = _settled(rows, first)
    for _ in range(ATTEMPTS):
        if _met(rows, u):
            return u
        u = _settled(rows, first + scattered(random, equations.speeds))
    residuals = dict(zip(rows.names, -rows.levels(u)[0][1], strict=True))
    what = "the start contradicts the constraints at velocity level"
    raise contradiction(residuals, MET * _largest(u), what, FEWER if start else CLOSER)


def _settled(rows: Speeding, u: np.ndarray) -> np.ndarray:
    """Gauss–Newton steps; one suffices where all rows are linear. Where they are curved, wishes
    along them take a step off them again, and do so slowly less."""
    for k in range(STEPS):
        levels = rows.levels(u)[: 1 if k >= WISHES else None]
        if not np.isfinite(levels[0][1]).all():
            break
        step = in_order(levels, len(u))
        u = u + step
        if np.abs(step).max(initial=0.0) < ROUNDING * _largest(u):
            break
    return u


def _met(rows: Speeding, u: np.ndarray) -> bool:
    return bool(np.abs(rows.levels(u)[0][1]).max(initial=0.0) <= MET * _largest(u))


def _largest(u: np.ndarray) -> float:
    return max(1.0, float(np.abs(u).max(initial=0.0)))


class Speeding:
    """What speeds have to meet, what the guess wishes, and rest, each as slopes and what is
    lacking."""

    def __init__(
        self,
        equations: Equations,
        start: Level,
        guess: Level,
        q: np.ndarray,
        context: dict[str, Any],
    ) -> None:
        self.equations, self.start, self.guess = equations, start, guess
        self.q, self.context, terms = q, context, equations.terms
        self.count = terms.psi.numel()
        rates = (f"rate of {name}" for name in equations.constraints[: self.count])
        self.names = [*rates, *start.names(equations.speeds)]
        apart = contact_variables(equations, terms.chart.joint_speeds)
        self.bodies = [k for k in range(len(equations.speeds)) if k not in apart]
        columns = [start.rows.column, guess.rows.column, terms.chart.joint_rates]

        def build() -> list[SX]:
            return [*columns, *(ca.jacobian(column, terms.symbols.u) for column in columns)]

        keys = tuple(start.rows.names), tuple(guess.rows.names)
        self._kernel = equations.numeric.kernel(("velocity rows", *keys), build, [1, 1, 1, 2, 2, 2])

    def levels(self, u: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """What a step should do: meet ψ and the start; then the guess; then come nearer to rest."""
        eqs, q, t, p = self.equations, self.q, self.context["t"], self.context["parameters"]
        asked, guessed, rates, slopes, guess_slopes, of_rates = self._kernel(
            *eqs.numeric.arguments(q, u, t, None, p)
        )
        identity = np.eye(len(u))
        A = eqs.constraint_jacobian(q, u, t, p)[: self.count]
        psi = eqs.velocity_violation(q, u, t, p)
        residual = np.concatenate([psi, self.start.gap(u, asked)])
        must = known(residual, np.vstack([A, self.start.slopes(identity, slopes)]))
        wished = known(
            self.guess.gap(u, guessed), self.guess.slopes(identity, guess_slopes), unknown=0.0
        )
        rest = rates[self.bodies], of_rates[self.bodies]
        return [(slopes, -lacking) for lacking, slopes in (must, wished, rest)]
