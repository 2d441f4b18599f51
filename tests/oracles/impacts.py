"""Impulses between rigid surfaces: restitution along the normal (Newton's) and along the surface,
within Coulomb's cone, and never with a gain of energy."""

from __future__ import annotations

import numpy as np

from mechgraph.numerics.tolerances import MET
from oracles.complementarity import NoSolution, Site, solve


def impulses(W: np.ndarray, v: np.ndarray, turned: np.ndarray, sites: list[Site]) -> np.ndarray:
    """Impulses x at the rows of some sites, which move with v before and v⁺ = v + W x after.

    ``turned`` is v of rows that are turned back with their restitution, e v. So at each site

        0 ≤ Λ ⟂ v⁺_n + e v_n ≥ 0,      F within its cone, and against v⁺_t + e_t v_t.

    Without restitution (p in place of x), energy cannot grow: p·(v + W p/2) = p·v⁺ − pᵀW p/2 ≤ 0.
    Where friction and restitution together would gain some, there is as much restitution as gains
    none: cones and the half spaces of v⁺_n are convex, so that everything between p and x is
    allowed. Where no x turns all points back, p is made larger by e, or by as much as lets nothing
    approach; up to 2 p that gains nothing, because p·v ≤ −pᵀW p.
    """
    if not turned.any():
        return solve(W, v, sites)
    try:
        x = solve(W, v + turned, sites)
        if _gain(W, v, x) <= 0:
            return x
        plain = solve(W, v, sites)
        return _between(W, v, plain, x)
    except NoSolution:
        plain = solve(W, v, sites)
        return plain * (1 + _part(W, v, turned, plain, sites))


def _between(W: np.ndarray, v: np.ndarray, plain: np.ndarray, x: np.ndarray) -> np.ndarray:
    """The impulses nearest to x, on the way from plain ones, that gain nothing."""
    more = x - plain
    squared, linear = more @ W @ more / 2, more @ (v + W @ plain)
    root = np.sqrt(max(0.0, linear**2 - 4 * squared * _gain(W, v, plain)))
    return plain + (root - linear) / (2 * squared) * more if squared > 0 else plain


def _part(
    W: np.ndarray, v: np.ndarray, turned: np.ndarray, plain: np.ndarray, sites: list[Site]
) -> float:
    """The restitution of the normals, or the largest with which none of them approaches."""
    rows = [row for site in sites for row in site.normals]
    met = [row for row in rows if v[row] < 0]
    change = (W @ plain)[rows]
    after = np.maximum(v[rows] + change, 0.0)
    falling = change < -MET * np.abs(v).max()
    most = (after[falling] / -change[falling]).min(initial=1.0)
    return float(min((turned[met] / v[met]).max(initial=0.0), most))


def _gain(W: np.ndarray, v: np.ndarray, x: np.ndarray) -> float:
    return float(x @ (v + W @ x / 2))
