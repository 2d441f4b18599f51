"""Mobility: how many speeds are independent, and which constraints are redundant or lose their
hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csc_matrix

from ..arguments import Numbers, one_state
from ..errors import ArgumentError
from ..numerics.rank import Independent, dependent, rank
from .state import State
from .valueless import searching, without_value

if TYPE_CHECKING:
    from ..equations import Equations


def mobility(
    equations: Equations,
    q: Numbers,
    u: Numbers | None = None,
    t: Any = 0.0,
    parameters: Any = None,
) -> int:
    """Number of independent speeds at a configuration: speeds minus the rank of A.

    ``u`` matters where a constraint is not linear in the speeds.
    """
    at = one_state(equations.numeric.arguments(q, u, t, None, parameters))
    A, scales = _jacobian(equations, at), equations.terms.scales
    return len(equations.speeds) - rank(A, scales.rows, scales.speeds)


def redundant(
    equations: Equations,
    q: Numbers,
    u: Numbers | None = None,
    t: Any = 0.0,
    parameters: Any = None,
) -> list[str]:
    """Names of the rows of A that depend on the rows before them at a configuration; those of
    contacts that are open hold nothing, and are not among them."""
    at = one_state(equations.numeric.arguments(q, u, t, None, parameters))
    A, scales = _jacobian(equations, at), equations.terms.scales
    empty = np.asarray(abs(A).sum(axis=1)).ravel() == 0
    idle = {k for k in _of_contacts(equations) if empty[k]}
    found = np.flatnonzero(dependent(A, scales.rows, scales.speeds))
    return [equations.constraints[k] for k in found if k not in idle]


def _of_contacts(equations: Equations) -> Iterator[int]:
    """The rows that a simulation switches on and off."""
    rows = equations.terms.rows
    for constraint in rows.constraints:
        yield from rows.rows_of(constraint.name) if constraint.switched else ()


def _jacobian(equations: Equations, at: State) -> np.ndarray | csc_matrix:
    """A, refused where it is no number: it has no rank."""
    with searching():
        A = equations.numeric.jacobian(at)
    if not np.isfinite(A.sum()):
        why = without_value(equations.numeric, at)
        raise ArgumentError(why or "the constraints have no slopes at this state")
    return A


def lost_rows(
    equations: Equations,
    q_before: np.ndarray,
    q: np.ndarray,
    t: np.ndarray,
    parameters: Any = None,
) -> list[str]:
    """Names of the rows of A that are losing their hold at q: they make up a combination ten times
    weaker than before, beside what each of them usually holds."""
    states, scales = ((q_before, t[0]), (q, t[1])), equations.terms.scales
    before, now = (
        Independent(
            equations.constraint_jacobian(q, None, t, parameters), scales.rows, scales.speeds, 1.0
        )
        for q, t in states
    )
    last = int(before.rank) - 1
    if last < 0 or now.sigma[last] > 0.1 * before.sigma[last]:
        return []
    part = np.abs(now.U[:, last])
    weak = part > 0.5 * part.max()
    return [name for name, share in zip(equations.constraints, weak, strict=True) if share]
