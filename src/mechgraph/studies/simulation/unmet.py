"""Constraints that a run has not met: they contradict each other for a while, or have drifted.

A row of φ is held against the way that its terms have gone in the run's duration T, a row of ψ
against their rates, and one of acceleration level against the terms of A u̇ + b:

    |φ| ≤ ε T max |A||u| + δ |A|,    |ψ| ≤ ε max |A||u| + δ |A|,    |A u̇ + b| ≤ ε (|A||u̇| + |b|),

with ε what the run keeps to, and δ a multiple of the tolerance of the largest state.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import casadi as ca
import numpy as np
from casadi import SX

from ...contract.valueless import searching
from ...numerics.tolerances import KNOWN
from ...results.trajectory import Trajectory
from ..projection import violations
from .recorder import KEPT

if TYPE_CHECKING:
    from ...equations import Equations

SLACK = 100  # tolerances that a row may be off by
CANCELLED = 1e-9  # of the largest terms of a run: what may be left by rounding where they cancel
LEVELS = "constraint", "the rate of"
ACCELERATION = "the acceleration of"
OR_DRIFTED = ". If it has drifted only, stabilization='projection' or a smaller rtol keeps it"
FEW = 50  # states of a large system whose accelerations are looked at


class Unmet(NamedTuple):
    """A row that is off: in units of what is allowed, by how much, and when."""

    excess: float
    level: str
    row: str
    left: float
    time: float


def warn_of_unmet(run: Trajectory, kept: bool, rtol: float, atol: float) -> bool:
    """Say so where constraints are not met to what the tolerances promise; True if it was said.

    kept: whether the run brings its states back to the constraints; if not, they may drift by the
    root of the tolerance.
    """
    kept_to = max(KEPT, min(SLACK * rtol, np.sqrt(rtol))) if kept else np.sqrt(rtol)
    promised = SLACK * np.array([atol, rtol])
    found = max((*_off(run, kept_to, *promised), *_contradicted(run)), default=None)
    if found is None or found.excess <= 1:
        return False
    drifts = not kept and found.level != ACCELERATION
    warnings.warn(
        f"{found.level} {found.row!r} is off by {found.left:.2g} at t = {found.time:.6g}: do not "
        "trust this run. Constraints contradict each other there; take one of them away, or let "
        f"them ask for the same{OR_DRIFTED if drifts else ''}",
        stacklevel=4,
    )
    return True


@searching()
def _off(run: Trajectory, kept_to: float, least: float, slack: float) -> Iterator[Unmet]:
    """The worst of the rows of φ and of ψ."""
    eqs, state = run.equations, (run.q, run.u, run.time)
    assert eqs is not None
    left = [np.abs(x) for x in violations(eqs, *state, run.constants)]
    if max(x.max(initial=0.0) for x in left) <= least:
        return
    rates, slopes = _sizes(eqs, run)
    loose = (least + slack * max(np.abs(x).max() for x in state[:2])) * slopes
    for level, off, lasting in zip(LEVELS, left, (float(np.ptp(run.time)), 1.0), strict=True):
        count = off.shape[1]
        allowed = kept_to * lasting * rates[:, :count].max(axis=0) + loose[:, :count]
        yield from _worst(run, level, eqs.constraints[:count], off, allowed)


def _sizes(equations: Equations, run: Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """|A||u| and |A| 1 along a run."""
    terms = equations.terms

    def sizes() -> list[SX]:
        A = ca.fabs(terms.A)
        return [A @ ca.fabs(terms.symbols.u), ca.sum2(A)]

    kernel = equations.numeric.kernel("sizes of rows", sizes, [1, 1])
    given = run.q, run.u, run.time, run.w, run.constants
    rates, slopes = kernel(*equations.numeric.arguments(*given))
    return rates, slopes


@searching()
def _contradicted(run: Trajectory) -> Iterator[Unmet]:
    """The worst of the rows of acceleration level; those of contacts are resolved elsewhere."""
    eqs = run.equations
    assert eqs is not None
    rows = _own_rows(eqs)
    if not rows:
        return
    run = run.at(slice(None, None, 1 + len(run) // FEW)) if eqs.numeric.large else run
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        udot = run.udot
    terms, given = eqs.terms, (run.q, run.u, run.time, run.w, run.constants)

    def expressions() -> list[SX]:
        A, b, rates = terms.A[rows, :], terms.b[rows], terms.symbols.udot
        return [A @ rates + b, ca.fabs(A) @ ca.fabs(rates) + ca.fabs(b)]

    kernel = eqs.numeric.kernel("acceleration rows", expressions, [1, 1], terms.symbols.udot)
    left, sizes = kernel(*eqs.numeric.arguments(*given), udot)
    largest = sizes.max(axis=1, keepdims=True)
    allowed = np.broadcast_to(KNOWN * largest + CANCELLED * largest.max(), left.shape)
    yield from _worst(run, ACCELERATION, [eqs.constraints[k] for k in rows], np.abs(left), allowed)


def _own_rows(equations: Equations) -> list[int]:
    """Rows of acceleration level that are not those of contacts."""
    terms = equations.terms
    level = range(terms.psi.numel(), len(equations.constraints))
    switched = [each.name for each in terms.rows.constraints if each.switched]
    contacts = {row for name in switched for row in terms.rows.rows_of(name)}
    return [row for row in level if row not in contacts]


def _worst(
    run: Trajectory, level: str, names: Sequence[str], left: np.ndarray, allowed: np.ndarray
) -> Iterator[Unmet]:
    """The row that is most in excess of what is allowed, if there are any."""
    if left.size:
        excess = np.nan_to_num(left / (allowed + np.finfo(float).tiny))
        state, row = np.unravel_index(excess.argmax(), left.shape)
        at = state, row
        yield Unmet(excess[at], level, names[int(row)], left[at], run.time[state])
