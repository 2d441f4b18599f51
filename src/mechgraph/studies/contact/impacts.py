"""Impulses between rigid surfaces: restitution along the normal (Newton's) and along the surface,
within Coulomb's cone, and never with a gain of energy."""

from __future__ import annotations

import numpy as np

from .complementarity import Site, solve


def impulses(W: np.ndarray, v: np.ndarray, turned: np.ndarray, sites: list[Site]) -> np.ndarray:
    """Impulses x at the rows of some sites, which move with v before and v⁺ = v + W x after.

    ``turned`` is v of rows that are turned back with their restitution, e v. So at each site

        0 ≤ Λ ⟂ v⁺_n + e v_n ≥ 0,      F within its cone, and against v⁺_t + e_t v_t.

    Without restitution, energy cannot grow: x·(v + W x/2) = x·v⁺ − xᵀW x/2 ≤ 0. Where friction and
    restitution together would gain some, there is as much restitution as gains none: cones and
    the half spaces of v⁺_n are convex, so that everything between is allowed.
    """
    x = solve(W, v + turned, sites)
    if not turned.any() or _gain(W, v, x) <= 0:
        return x
    plain = solve(W, v, sites)
    more = x - plain
    squared, linear = more @ W @ more / 2, more @ (v + W @ plain)
    if squared <= 0:
        return plain
    root = np.sqrt(max(0.0, linear**2 - 4 * squared * _gain(W, v, plain)))
    return plain + (root - linear) / (2 * squared) * more


def _gain(W: np.ndarray, v: np.ndarray, x: np.ndarray) -> float:
    return float(x @ (v + W @ x / 2))
