"""Speeds that satisfy ψ = 0 and the start, as near as can be to the guess, and then to rest.

Speeds of lengths are measured by the size of the bodies, and rows by their slopes, so that nothing
depends on units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ...numerics.search import finite, least_step, lengths, normal_by_name
from ...numerics.tolerances import RANK
from .contact_points import contact_variables
from .contradiction import CLOSER, FEWER, contradiction
from .requested import Level, kind_of_row

if TYPE_CHECKING:
    from ...equations import Equations

ATTEMPTS, STEPS = 40, 50
WISHES = 40  # steps that also come nearer to the guess and to rest; then what must be alone
ROUNDING = 1e-13  # of the largest speed
MET = 1e-11  # what may be left of a row, relative to it
NEARLY_SINGULAR = 1e-12  # tolerance of the rank where what counts as zero is not met


def velocities(
    equations: Equations, start: Level, guess: Level, q: np.ndarray, context: dict[str, Any]
) -> np.ndarray:
    """The speeds. Rows that are not linear in them may have no slope at rest, so there are several
    attempts."""
    rows = Speeding(equations, start, guess, q, context)
    first, random = np.zeros(len(equations.speeds)), np.random.default_rng(0)
    for level in (guess, start):
        first[list(level.variables)] = list(level.variables.values())
    u = _search(rows, first)
    if not rows.met(u):
        u = _search(rows, first, NEARLY_SINGULAR)
    for _ in range(ATTEMPTS):
        if rows.met(u):
            return u
        u = _search(rows, first + rows.steps * normal_by_name(random, equations.speeds))
    what = "the start contradicts the constraints at velocity level"
    raise contradiction(rows.left(u), 0.0, what, FEWER if start else CLOSER)


def _search(rows: Speeding, u: np.ndarray, tolerance: float = RANK) -> np.ndarray:
    """Gauss–Newton steps; one suffices where all rows are linear. Where they are curved, wishes
    along them take a step off them again, and do so slowly less."""
    for k in range(STEPS):
        levels = rows.levels(u)[: 1 if k >= WISHES else None]
        if not np.isfinite(levels[0][0]).all():
            break
        step = least_step(levels, tolerance)
        u = u + rows.steps * step
        if np.abs(step).max(initial=0.0) < ROUNDING * rows.largest(u):
            break
    return u


def _even(r: np.ndarray, J: np.ndarray, groups: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """The same rows with slopes of length one, whatever their units are."""
    sizes = lengths(np.sum(J**2, axis=-1), groups)
    return r / sizes, J / sizes[:, None]


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
        held = equations.constraints[: self.count]
        rates = (f"rate of {name}" for name in held)
        self.names = [*rates, *start.names(equations.speeds)]
        self.groups = (
            [*map(kind_of_row, held), *start.groups(equations.speeds)],
            guess.groups(equations.speeds),
        )
        apart = contact_variables(equations, terms.chart.joint_speeds)
        self.bodies = [k for k in range(len(equations.speeds)) if k not in apart]
        self.steps = terms.chart.spans(equations.speeds)
        self.usual = terms.chart.spans(terms.chart.joint_speed_names)[self.bodies]
        columns = [start.rows.column, guess.rows.column, terms.chart.joint_rates]

        def build() -> list[SX]:
            return [*columns, *(ca.jacobian(column, terms.symbols.u) for column in columns)]

        keys = tuple(start.rows.names), tuple(guess.rows.names)
        self._kernel = equations.numeric.kernel(("velocity rows", *keys), build, [1, 1, 1, 2, 2, 2])

    def levels(self, u: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """What a step should do, in usual speeds: meet ψ and the start; then the guess; then come
        nearer to rest."""
        *given, (rates, of_rates) = self._at(u)
        must, wished = (
            _even(lacking, slopes * self.steps, groups)
            for (lacking, slopes), groups in zip(given, self.groups, strict=True)
        )
        return [must, wished, (rates / self.usual, of_rates * self.steps / self.usual[:, None])]

    def _at(self, u: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """What is lacking of what must be met, of the guess, and of rest, with its slopes."""
        eqs, q, t, p = self.equations, self.q, self.context["t"], self.context["parameters"]
        asked, guessed, rates, slopes, guess_slopes, of_rates = self._kernel(
            *eqs.numeric.arguments(q, u, t, None, p)
        )
        identity = np.eye(len(u))
        A = eqs.constraint_jacobian(q, u, t, p)[: self.count]
        psi = eqs.velocity_violation(q, u, t, p)
        residual = np.concatenate([psi, self.start.gap(u, asked)])
        must = finite(residual, np.vstack([A, self.start.slopes(identity, slopes)]))
        wished = finite(
            self.guess.gap(u, guessed), self.guess.slopes(identity, guess_slopes), unknown=0.0
        )
        return [must, wished, (rates[self.bodies], of_rates[self.bodies])]

    def left(self, u: np.ndarray) -> dict[str, float]:
        """What is left of the rows that are not met."""
        lacking, values = self.levels(u)[0][0], self._at(u)[0][0]
        rows = zip(self.names, lacking, values, strict=True)
        return {name: value for name, row, value in rows if not abs(row) <= MET * self.largest(u)}

    def met(self, u: np.ndarray) -> bool:
        """True if nothing is left."""
        return not self.left(u)

    def largest(self, u: np.ndarray) -> float:
        """The largest speed beside usual ones."""
        return max(1.0, float(np.abs(u / self.steps).max(initial=0.0)))
