"""Mobility: how many speeds are independent, and which constraints are redundant or lose their
hold."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Numbers, one_state
from ..closures import sparse
from ..closures.numbers import RANK_TOLERANCE, rank
from ..errors import ArgumentError
from .evaluator import searching

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
    one_state(equations.numeric.arguments(q, u, t, None, parameters))
    if equations.numeric.large:
        dependent, _ = _dependent(equations, q, u, t, parameters)
        return len(equations.speeds) - int((~dependent).sum())
    A = _jacobian(equations, q, u, t, parameters)
    return len(equations.speeds) - (rank(A) if A.size else 0)


def redundant(
    equations: Equations,
    q: Numbers,
    u: Numbers | None = None,
    t: Any = 0.0,
    parameters: Any = None,
) -> list[str]:
    """Names of the rows of A that depend on the rows before them at a configuration; those of
    contacts that are open hold nothing, and are not among them."""
    one_state(equations.numeric.arguments(q, u, t, None, parameters))
    dependent, empty = _dependent(equations, q, u, t, parameters)
    idle = {k for k in _of_contacts(equations) if empty[k]}
    return [equations.constraints[k] for k in np.flatnonzero(dependent) if k not in idle]


def _of_contacts(equations: Equations) -> Iterator[int]:
    """The rows that a simulation switches on and off."""
    rows = equations.terms.rows
    if rows is not None:
        for constraint in rows.constraints:
            yield from rows.rows_of(constraint.name) if constraint.switched else ()


def _dependent(
    equations: Equations, q: Any, u: Any, t: Any, parameters: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Which rows of A depend on those before them, and which are nothing but zeros."""
    if equations.numeric.large:
        states = equations.numeric.sparse_matrices(q, u, t, None, parameters)[1]
        (_, _, large, _), *_ = states
        if not np.isfinite(large.data).all():
            _jacobian(equations, q, u, t, parameters)
        return np.asarray(sparse.dependent(large)), np.asarray(abs(large).sum(axis=1)).ravel() == 0
    A = _jacobian(equations, q, u, t, parameters)
    ranks = np.array([rank(A[:k]) if k else 0 for k in range(len(A) + 1)])
    return np.diff(ranks) == 0, np.logical_not(A.any(axis=1))


def _jacobian(equations: Equations, q: Any, u: Any, t: Any, parameters: Any) -> np.ndarray:
    """A, refused where it is no number: it has no rank."""
    with searching():
        A = equations.constraint_jacobian(q, u, t, parameters)
    if not np.isfinite(A).all():
        why = equations.numeric.without_value(q, u, t, None, parameters)
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
    weaker than before."""
    first = equations.constraint_jacobian(q_before, None, t[0], parameters)
    before = np.linalg.svd(first, compute_uv=False)
    U, now, _ = np.linalg.svd(equations.constraint_jacobian(q, None, t[1], parameters))
    last = int((before > RANK_TOLERANCE * before.max(initial=0)).sum()) - 1
    if last < 0 or now[last] > 0.1 * before[last]:
        return []
    part = np.abs(U[:, last])
    weak = part > 0.5 * part.max()
    return [name for name, share in zip(equations.constraints, weak, strict=True) if share]
