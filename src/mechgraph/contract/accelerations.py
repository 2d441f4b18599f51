"""u̇ and λ at a state on numbers, how well they are known, and what to say where they are not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from scipy.sparse import csc_matrix, diags

from ..arguments import numbers
from ..closures import sparse
from ..closures.closure import CLOSURES
from ..closures.expressions import BADLY_CONDITIONED, SINGULAR, mask_unknown
from ..closures.numbers import Solution, bordered, solve_constrained
from ..closures.numbers import constraint_forces as forces_of
from ..errors import ArgumentError, UnsupportedError, warn
from ..numerics.scales import multiply_rows
from ..numerics.tolerances import EPSILON, FADING, KNOWN, MET, PROXIMAL, TINY, UNKNOWN
from .closed import Closed
from .evaluator import Evaluator
from .state import Given, State
from .terms import Terms
from .valueless import without_value

NAMED = 6  # speeds in a message


def accelerations(numeric: Evaluator, given: Given, threads: int = 1) -> np.ndarray:
    """u̇ with all constraints.

    With constraints the closure runs inside the kernel, which also says how well they are met;
    states where that is not to rounding (singular positions) are solved again by ``solve``, which
    reveals the rank.
    """
    closed = numeric.closed
    if not numeric.terms.constraints:
        udot = numeric.at(given, "known udot", lambda: _known_udot(closed), 1, threads)
        return udot if np.isfinite(udot).all() else solve(numeric, given)[0]
    if not closed.is_expression:
        return solve(numeric, given)[0]
    out = numeric.at(given, "closed", lambda: checked(closed), 1, threads)
    udot, error = out[..., :-1], out[..., -1]
    return udot if (error < MET).all() else solve(numeric, given)[0]


def _known_udot(closed: Closed) -> SX:
    """u̇, no number where more than a warning has to be said."""
    return mask_unknown(closed.udot, closed.way.condition, BADLY_CONDITIONED)


def checked(closed: Closed) -> SX:
    """u̇ and the largest |A u̇ + b| relative to the terms that make up its row; more than MET
    where M is badly conditioned, too, and no number where u̇ is none."""
    udot, rows = closed.udot, list(closed.way.unsure)
    badly = MET * BADLY_CONDITIONED**2 * closed.way.condition
    badly += (TINY * ca.sum1(udot)) ** 2
    if not rows:
        return ca.vertcat(udot, badly)
    even = closed.terms.scales.factors[rows]
    A, b = (multiply_rows(even, each) for each in (closed.terms.A[rows, :], closed.terms.b[rows]))
    held = sorted(set(A.sparsity().get_col()))
    sizes = ca.sum2(ca.fabs(A)) * ca.norm_inf(udot[held]) + ca.fabs(b)
    left = ca.fabs(A @ udot + b) / (sizes + FADING * ca.norm_inf(sizes) + TINY)
    return ca.vertcat(udot, ca.norm_inf(left) + badly)


def solve(numeric: Evaluator, given: Given) -> tuple[np.ndarray, np.ndarray]:
    """(u̇, λ); with constraints by the closure on numbers: it reveals the rank, so redundant rows
    and singular positions are met."""
    terms = numeric.terms
    if not terms.constraints:
        return _solve_free(numeric, given)
    at = numeric.read(given)
    if numeric.large and not terms.has_friction:
        return _solve_large(numeric, at)
    M, f, A, b = numeric.matrices(*at)
    factor, G = CLOSURES[numeric.closed.closure].factor, None
    if terms.has_friction:
        factor, G = bordered, _directions(numeric, at)
    try:
        solution = solve_constrained(factor, M, f, A, b, G, terms.scales)
    except np.linalg.LinAlgError:
        raise ArgumentError(undetermined_message(numeric, at)) from None
    _judge(numeric, at, solution.error)
    _warn_of_doubt(terms, solution.doubtful)
    _warn_of_contradictions(terms, A, b, solution)
    return solution.udot, solution.lam


def _directions(numeric: Evaluator, at: State) -> np.ndarray:
    """G of friction that goes with the constraint forces."""
    G = numeric.at(at, "G", lambda: numeric.terms.G, 2)
    if np.isnan(G).any():
        raise ArgumentError(
            "no constraint forces were found here with which the friction that goes with them is "
            "in balance: it jams, or is too large"
        )
    return G


def _solve_free(numeric: Evaluator, given: Given) -> tuple[np.ndarray, np.ndarray]:
    """u̇ without constraints, by the formalism's own route, and no λ."""
    closed = numeric.closed

    def results() -> SX:
        return ca.vertcat(closed.udot, closed.way.condition)

    out = numeric.at(given, "udot and condition", results, 1)
    udot, condition = out[..., :-1], out[..., -1]
    _judge(numeric, given, EPSILON * np.sqrt(condition))
    return udot, np.zeros((*udot.shape[:-1], 0))


def _solve_large(numeric: Evaluator, at: State) -> tuple[np.ndarray, np.ndarray]:
    """``solve`` by sparse elimination."""
    states, factors = numeric.sparse_matrices(at), numeric.terms.scales.factors
    even = diags(factors)
    try:
        udot, lam, error = zip(
            *(sparse.solve(M, f, csc_matrix(even @ A), factors * b) for M, f, A, b in states),
            strict=True,
        )
    except RuntimeError:
        raise ArgumentError(undetermined_message(numeric, at)) from None
    _judge(numeric, at, np.array(error))
    return np.reshape(udot, (*at.batch, -1)), np.reshape(factors * np.array(lam), (*at.batch, -1))


def least_step(numeric: Evaluator, at: State, left: np.ndarray) -> np.ndarray:
    """The step x along the speeds with A x = −left of the first rows of A that has the least
    kinetic energy: the closure, without forces; none where something has no value."""
    count = left.shape[-1]
    factors = numeric.terms.scales.factors[:count]
    left = factors * left
    if numeric.large:
        states = zip(numeric.sparse_matrices(at), left, strict=True)
        even = diags(factors)
        return np.array([_step(M, csc_matrix(even @ A[:count]), r) for (M, _, A, _), r in states])
    M = numeric.at(at, "M", lambda: numeric.terms.M, 2)
    A = numeric.at(at, "A", lambda: numeric.terms.A, 2)[..., :count, :] * factors[:, None]
    known = np.isfinite(left).all(axis=-1)
    known &= np.isfinite(np.concatenate([M, A], axis=-2)).all(axis=(-1, -2))
    step = np.zeros_like(at.u)
    step[known] = _dense_step(M[known], A[known], left[known])
    return step


def _step(M: csc_matrix, A: csc_matrix, left: np.ndarray) -> np.ndarray:
    none = np.zeros(M.shape[0])
    known = all(np.isfinite(part).all() for part in (M.data, A.data, left))
    return sparse.solve(M, none, A, left)[0] if known else none


def _dense_step(M: np.ndarray, A: np.ndarray, left: np.ndarray) -> np.ndarray:
    none, solve = np.zeros(M.shape[:-1]), CLOSURES["udwadia-kalaba"].solve
    try:
        return solve(M, none, A, left)[0]
    except np.linalg.LinAlgError:  # what has no inertia, and nothing to hold it here, stays put
        size = np.abs(M).max(axis=(-1, -2), initial=0.0, keepdims=True) + TINY
        return solve(M + PROXIMAL * size * np.eye(M.shape[-1]), none, A, left)[0]


def constraint_forces(
    numeric: Evaluator, at: State, nonideal: Any
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """u̇, and the ideal and non-ideal constraint forces along the speeds."""
    if numeric.terms.has_friction:
        raise UnsupportedError(
            "friction that grows with the constraint forces is a part of the model here; it is "
            "seen in the multipliers and reactions"
        )
    C = numbers("nonideal", numeric.terms.symbols.speeds, nonideal)
    M, f, A, b = numeric.matrices(*at)
    try:
        return forces_of(M, f, A, b, C)
    except np.linalg.LinAlgError:
        raise ArgumentError(undetermined_message(numeric, at)) from None


# --- how well they are known ----------------------------------------------------------------------


def _judge(numeric: Evaluator, given: Given, error: np.ndarray) -> None:
    """Refuse accelerations of which nothing is known, and warn of those that are known badly, by
    their relative error.

    A closure's own error tells only that something is wrong: how much rounding leaves of an inertia
    that is zero depends on the closure and on the processor. Whether there is any is asked of M and
    A themselves.
    """
    worst = float(np.max(error, initial=0.0))
    if worst <= KNOWN:
        return
    at = numeric.read(given)
    inertia, names = _weakest(numeric, at)
    if not worst < UNKNOWN or inertia < SINGULAR:
        raise ArgumentError(undetermined_message(numeric, at))
    warn(
        f"the accelerations are known to about {worst:.0e} only (relative): the mass matrix "
        f"is nearly singular; hardly anything that moves with {names} has inertia"
    )


def _warn_of_doubt(terms: Terms, rows: np.ndarray) -> None:
    """Say so where a row is neither a constraint for sure nor none."""
    found = rows[rows >= 0]
    if found.size:
        warn(
            "so near a singular position that it cannot be told whether "
            f"{terms.constraints[int(found.flat[0])]!r} is independent of the other "
            "constraints; the accelerations given leave it out"
        )


def _warn_of_contradictions(terms: Terms, A: np.ndarray, b: np.ndarray, found: Solution) -> None:
    """Say so where no accelerations meet all constraints: those given are a compromise."""
    row = contradiction(terms, A, b, found.udot, found.usual)
    if row is not None:
        warn(
            f"no accelerations meet all constraints here: {row!r} is among those that "
            "contradict each other (or the position is singular, and the speeds lead out of "
            "it); the accelerations given are a compromise"
        )


def contradiction(
    terms: Terms,
    A: np.ndarray,
    b: np.ndarray,
    udot: np.ndarray,
    usual: np.ndarray | float = 0.0,
) -> str | None:
    """The row that A u̇ + b = 0 leaves most of, if it is more than rounding and singularity explain;
    ``usual`` is the size of accelerations that may have cancelled."""
    scales = terms.scales
    A, b, udot = A * scales.speeds / scales.rows[:, None], b / scales.rows, udot / scales.speeds
    left = np.abs(np.einsum("...ij,...j->...i", A, udot) + b)
    sizes = np.einsum("...ij,...j->...i", np.abs(A), np.abs(udot)) + np.abs(b)
    rounding = MET * np.abs(A).sum(axis=-1) * np.asarray(usual)[..., None]
    wrong = left > KNOWN * sizes.max(axis=-1, keepdims=True, initial=0.0) + rounding
    return terms.constraints[int(np.argwhere(wrong)[0][-1])] if wrong.any() else None


# --- what is not determined -----------------------------------------------------------------------


def undetermined_speeds(numeric: Evaluator, at: State) -> str | None:
    """Speeds that neither inertia nor a constraint determines, so that u̇ is not unique; None if
    there are none."""
    inertia, names = _weakest(numeric, at)
    return names if inertia < SINGULAR else None


def undetermined_message(numeric: Evaluator, at: State) -> str:
    """A message where the accelerations are not determined: what has no value, if anything has
    none, else what has no inertia."""
    chart = numeric.terms.chart
    valueless = without_value(numeric, at)
    if valueless is not None:
        return valueless
    lost = numeric.at(at, "speeds", lambda: chart.condition, 0)
    if not EPSILON * np.sqrt(np.max(lost)) < UNKNOWN:
        return (
            f"the speeds {', '.join(map(repr, chart.own_speeds))} do not determine the motion "
            "here: some of them come to the same; replace speeds of other joints (replaces=), "
            "or choose more of them"
        )
    rubbing = numeric.terms.rows.rubbing
    if rubbing and undetermined_speeds(numeric, at) is None:
        return (
            f"no forces hold the constraints here: the friction_actions of "
            f"{', '.join(rubbing)} take away what their multipliers bring; make them smaller"
        )
    return (
        "the mass matrix is singular: nothing that moves with "
        f"{_weakest(numeric, at)[1]} has inertia; give it mass or inertia, or constrain it"
    )


def _weakest(numeric: Evaluator, at: State) -> tuple[float, str]:
    """The least inertia of any motion, and the speeds of it; inputs have no say."""
    return min(_inertias(numeric, at))


def _inertias(numeric: Evaluator, at: State) -> Iterator[tuple[float, str]]:
    units = diags(numeric.terms.scales.speeds)
    for M, _, A, _ in numeric.sparse_matrices(at):
        inertia, direction = sparse.least_inertia(units @ M @ units, A @ units)
        yield inertia, _moving(numeric.terms.symbols.speeds, direction)


def _moving(speeds: tuple[str, ...], direction: np.ndarray) -> str:
    """The speeds of a motion that are most part of it."""
    least = 0.5 * direction.max(initial=0)
    return " and ".join(repr(speeds[k]) for k in np.flatnonzero(direction > least)[:NAMED])
