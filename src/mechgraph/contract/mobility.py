"""Mobility: how many speeds are independent, and which constraints are redundant or lose their
hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..arguments import Numbers
from ..closures import sparse
from ..closures.numbers import RANK_TOLERANCE, rank

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
    if equations.numeric.large:
        rows = len(equations.constraints) - len(redundant(equations, q, u, t, parameters))
        return len(equations.speeds) - rows
    A = equations.constraint_jacobian(q, u, t, parameters)
    return len(equations.speeds) - (rank(A) if A.size else 0)


def redundant(
    equations: Equations,
    q: Numbers,
    u: Numbers | None = None,
    t: Any = 0.0,
    parameters: Any = None,
) -> list[str]:
    """Names of the rows of A that depend on the rows before them at a configuration."""
    if equations.numeric.large:
        states = equations.numeric.sparse_matrices(q, u, t, None, parameters)[1]
        (_, _, large, _), *_ = states
        dependent = sparse.dependent(large)
        return [name for name, found in zip(equations.constraints, dependent, strict=True) if found]
    A = equations.constraint_jacobian(q, u, t, parameters)
    ranks = [rank(A[:k]) if k else 0 for k in range(len(A) + 1)]
    return [name for k, name in enumerate(equations.constraints) if ranks[k + 1] == ranks[k]]


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
