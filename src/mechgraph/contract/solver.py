"""u̇ and λ of f and b as expressions, by a closure."""

from __future__ import annotations

from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from casadi import SX
from scipy.sparse import csc_matrix

from ..closures import sparse
from ..closures.closure import CLOSURES
from ..closures.expressions import (
    ITERATIONS,
    PROXIMAL,
    Solver,
    balance,
    completed,
    drag,
    holding,
    refined,
)
from ..numerics.scales import multiplied

if TYPE_CHECKING:
    from .terms import Terms


def solver(
    terms: Terms,
    closure: str,
    massless: bool,
    A: SX,
    G: SX | None = None,
    iterations: int = ITERATIONS,
    proximal: float = PROXIMAL,
) -> Solver:
    """(u̇, λ) as a function of f and b; factors are those of all its calls."""
    factors = terms.scales.factors[: A.shape[0]]
    A, G = multiplied(factors, A), None if G is None else multiplied(factors, G)
    refine = massless and iterations > 1
    M = completed(terms.M, A) if massless else terms.M
    weights = SX(A.shape[0], 1)
    if massless and G is None and ca.depends_on(ca.diag(terms.M), terms.symbols.q):
        weights = holding(terms.M, A)
        M += A.T @ ca.diag(weights) @ A
    scale = balance(M, A)
    scaled = ca.diag(scale) @ A
    if G is None:
        made = CLOSURES[closure].expression(M, scaled, 1 if refine else iterations, proximal)
    else:
        made = drag(M, scaled, ca.diag(scale) @ G)

    def solution(f: SX, b: SX) -> tuple[SX, SX]:
        udot, lam = made.solve(f - A.T @ (weights * b), scale * b)
        return udot, scale * lam

    found = Solver(solution, made.condition)
    found = refined(found, terms.M, A, A if G is None else G) if refine else found
    return found.of_rows(factors)


def is_massless(terms: Terms) -> bool:
    """True if some motion has no inertia, so that only constraints determine it: M is singular.

    Seen at a random configuration and beside it, where an inertia that is mere rounding is another
    one.
    """
    s, chart, random = terms.symbols, terms.chart, np.random.default_rng(0)
    if chart.chain_end:
        return True
    (q,) = chart.scattered(random, 1)
    around = chart.normalized(q + 1e-13 * random.uniform(-1, 1, (5, len(q))))
    function = ca.Function("M", [s.q, s.t, s.p], [terms.M])
    values = [function(x, 0.0, list(s.defaults)).nonzeros() for x in around]
    found = [sparse_matrix(terms.M, np.array(value)) for value in values]
    inertia = np.array([M.diagonal() for M in found])
    unknown = np.ptp(inertia, axis=0) > 1e-3 * np.abs(inertia).max(axis=0)
    return bool(unknown.any()) or sparse.is_singular(found[0])


def sparse_matrix(pattern: SX, entries: np.ndarray) -> csc_matrix:
    """The matrix of that pattern with these entries."""
    sparsity = pattern.sparsity()
    return csc_matrix((entries, sparsity.row(), sparsity.colind()), pattern.shape)
