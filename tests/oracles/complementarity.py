"""Contact as one complementarity problem: all points, all modes at once.

Rows of contact (normals and tangents of all sites) move with a = W x + c under forces x along them.
At each site, with normal forces N ≥ 0, their sum N and the tangential force F,

    0 ≤ N ⟂ a_n ≥ 0,      |F| ≤ μ N,      F = −μ N a_t/|a_t| where a_t ≠ 0;

a may be accelerations and x forces, or a velocities after an impact and x impulses. A site that
slips already has its friction against that slip. The cones are made polygons, which is a linear
complementarity problem w = M z + q, 0 ≤ w ⟂ z ≥ 0 (D. E. Stewart, J. C. Trinkle, 1996): M is
copositive unless a site slips, and then C. E. Lemke's method (1965) ends with a solution; in
lexicographic order it never cycles. From there, Newton's method with the true cones; where that
does not converge, the polygons' solution is the last resort.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from mechgraph.numerics.scales import even_factors
from mechgraph.numerics.tolerances import MET, RANK, TINY, WELL_HELD

SIDES = (8, 24, 72)  # of the polygons in place of cones: more, where Newton's method needs them
FIRM = (0.0, WELL_HELD)  # relative: how much rows give way
PIVOTS = 50  # for each unknown, before Lemke's method gives up
STEPS = 30  # of Newton's method


@dataclass(frozen=True)
class Site:
    """A place of contact: its rows along the normal (several, if it is a ring that lies flat),
    those along its tangents (two, one in a joint, or none), its coefficients of friction, sliding μ
    and sticking μ_s, the direction of its slip, if it slips, and a load on it beside its normal
    forces, which is known."""

    normals: list[int]
    tangents: list[int]
    friction: float = 0.0
    static: float = 0.0
    slip: np.ndarray | None = None
    load: float = 0.0

    @property
    def finds(self) -> bool:
        """True if friction has to find its direction."""
        return bool(self.tangents) and self.static > 0 and self.slip is None


class NoSolution(Exception):
    """No forces keep all conditions: Painlevé's paradox, or surfaces that are driven into each
    other."""


def solve(W: np.ndarray, c: np.ndarray, sites: list[Site]) -> np.ndarray:
    """The forces x at all rows.

    Sites stick with μ_s or slide with μ: those that slide with μ_s are given μ, until none is left.
    """
    scale = max(np.diag(W).max(initial=0.0), TINY)
    even = _even(W / scale, sites)
    c, units = c * even, np.outer(even, even)
    by = [scale / even[site.tangents[0]] if site.tangents else 0.0 for site in sites]
    loads = [each * site.load * site.static for each, site in zip(by, sites, strict=True)]
    size = max(np.abs(c).max(initial=0.0), max(loads, default=0.0), TINY)
    W, c = W * units / scale, c / size
    sites = [
        replace(site, load=site.load * each / size) for each, site in zip(by, sites, strict=True)
    ]
    while True:
        x = _solve(W, c, sites)
        a = responses(W, c, x)
        slides = [s.finds and a[s.tangents].any() for s in sites]
        weaker = [
            replace(site, static=site.friction) if sliding else site
            for site, sliding in zip(sites, slides, strict=True)
        ]
        if weaker == sites:
            return x * even * size / scale
        sites = weaker


def _even(W: np.ndarray, sites: list[Site]) -> np.ndarray:
    """Numbers that bring the responses of all sites near one."""
    even = np.ones(len(W))
    for site in sites:
        rows = [*site.normals, *site.tangents]
        most = np.diag(W)[rows].max(initial=0.0)
        even[rows] = even_factors(np.sqrt(most)) if most > 0 else 1.0
    return even


def responses(W: np.ndarray, c: np.ndarray, x: np.ndarray) -> np.ndarray:
    """a = W x + c; zero where no more is left than the forces are solved for to."""
    a = W @ x + c
    return np.where(np.abs(a) > 10 * MET * (np.abs(W) @ np.abs(x) + np.abs(c)), a, 0.0)


def _solve(W: np.ndarray, c: np.ndarray, sites: list[Site]) -> np.ndarray:
    """By Newton's method from each of several starts, until it converges; else by the polygons of
    most sides that have a solution."""
    rough = None
    for start, by_polygons in _starts(W, c, sites):
        x, left = _with_true_cones(W, c, sites, start)
        if left < MET:
            return x
        rough = start if by_polygons else rough
    if rough is None:
        raise NoSolution
    return rough


def _starts(W: np.ndarray, c: np.ndarray, sites: list[Site]) -> Iterator[tuple[np.ndarray, bool]]:
    """As if all points were held; then by polygons of more and more sides, and by those whose rows
    give way a little, where rounding decides how several share a force; True for a solution of the
    polygons."""
    yield np.linalg.lstsq(W, -c, rcond=MET)[0], False
    for sides in SIDES:
        for firm in FIRM:
            with suppress(NoSolution):
                yield _by_polygons(W + firm * np.eye(len(c)), c, sites, sides), firm == 0


# --- cones as polygons ----------------------------------------------------------------------------


def _by_polygons(W: np.ndarray, c: np.ndarray, sites: list[Site], sides: int) -> np.ndarray:
    """By Lemke's method. Forces are x = E z, with z ≥ 0 the normal forces and the tangential ones
    towards the corners of the polygons; S a are the accelerations along these, and K z is what is
    left of the cones."""
    E, S, K = _generators(c, sites, sides)
    slack = (K < 0).T.astype(float)  # the speed that friction does not stop, γ
    M = np.block([[S @ W @ E, slack], [K, np.zeros((len(K), len(K)))]])
    given = _given(len(c), sites)
    spare = [site.static * site.load for site in sites if site.finds]
    z = lemke(M, np.concatenate([S @ (c + W @ given), spare]))
    return E @ z[: len(S)] + given


def _given(count: int, sites: list[Site]) -> np.ndarray:
    """Forces of friction that known loads make at sites that slip."""
    x = np.zeros(count)
    for site in sites:
        if site.slip is not None:
            x[site.tangents] = -site.friction * site.load * site.slip
    return x


def _generators(
    c: np.ndarray, sites: list[Site], sides: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """E, S and K; one corner of each polygon is against the free slip."""
    given: list[np.ndarray] = []
    met: list[np.ndarray] = []
    cones: list[dict[int, float]] = []
    for site in sites:
        dragged = np.zeros(len(c))
        if site.slip is not None:
            dragged[site.tangents] = -site.friction * site.slip
        cone = {len(met) + i: site.static for i in range(len(site.normals))}
        met += [np.eye(len(c))[row] for row in site.normals]
        given += [np.eye(len(c))[row] + dragged for row in site.normals]
        if site.finds:
            corners = _corners(c[site.tangents], sides)
            cones.append(cone | {len(met) + i: -1.0 for i in range(len(corners))})
            towards = np.zeros((len(corners), len(c)))
            towards[:, site.tangents] = corners
            met += list(towards)
            given += list(towards)
    K = np.zeros((len(cones), len(met)))
    for k, cone in enumerate(cones):
        K[k, list(cone)] = list(cone.values())
    shape = -1, len(c)
    return np.array(given).reshape(shape).T, np.array(met).reshape(shape), K


def _corners(against: np.ndarray, sides: int) -> np.ndarray:
    if len(against) == 1:
        return np.array([[1.0], [-1.0]])
    first = np.arctan2(*-against[::-1]) if against.any() else 0.0
    angles = first + 2 * np.pi * np.arange(sides) / sides
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def lemke(M: np.ndarray, q: np.ndarray) -> np.ndarray:
    """z with w = M z + q, 0 ≤ w ⟂ z ≥ 0; ``NoSolution`` where its path ends in a ray."""
    n = len(q)
    if (q >= 0).all():
        return np.zeros(n)
    table = np.hstack([np.eye(n), -M, -np.ones((n, 1)), q[:, None]])
    basis = np.arange(n)
    row, entering = _first(table, np.arange(n), -np.ones(n)), 2 * n
    for _ in range(PIVOTS * n):
        leaving = basis[row]
        basis[row] = entering
        _pivot(table, row, entering)
        if leaving == 2 * n:
            z = np.zeros(2 * n + 1)
            z[basis] = table[:, -1]
            return np.maximum(z[n : 2 * n], 0.0)
        entering = leaving + n if leaving < n else leaving - n
        column = table[:, entering]
        rows = np.flatnonzero(column > RANK)
        if not len(rows):
            raise NoSolution
        row = _first(table, rows, column, prefer=basis == 2 * n)
    raise NoSolution


def _first(
    table: np.ndarray, rows: np.ndarray, column: np.ndarray, prefer: np.ndarray | None = None
) -> int:
    """The row of the least ratio; of equal ones the preferred, or the first in lexicographic
    order."""
    n = len(table)
    for k in (-1, *range(n)):
        ratios = table[rows, k] / column[rows]
        best = ratios.min() if column[rows[0]] > 0 else ratios.max()
        rows = rows[np.abs(ratios - best) <= RANK * max(1.0, abs(best))]
        if k == -1 and prefer is not None and prefer[rows].any():
            return int(rows[prefer[rows]][0])
        if len(rows) == 1:
            break
    return int(rows[0])


def _pivot(table: np.ndarray, row: int, column: int) -> None:
    table[row] /= table[row, column]
    others = table[:, column].copy()
    others[row] = 0.0
    table -= np.outer(others, table[row])


# --- true cones -----------------------------------------------------------------------------------


def _with_true_cones(
    W: np.ndarray, c: np.ndarray, sites: list[Site], x: np.ndarray
) -> tuple[np.ndarray, float]:
    """Newton's method on N = max(0, N − ρ a_n) and F = the point of the disc |F| ≤ μ N that is
    nearest to F − ρ a_t (P. Alart, A. Curnier, 1991), and what is left of them, relative to c or to
    the forces."""
    best, least = x, np.inf
    for _ in range(STEPS):
        residual, slope = _residual(W, c, sites, x)
        size = float(np.abs(residual).max(initial=0.0) / np.abs(x).max(initial=1.0))
        if size < least:
            best, least = x, size
        elif least < MET:
            break
        x = x - np.linalg.lstsq(slope, residual, rcond=MET)[0]
    return best, least


def _residual(
    W: np.ndarray, c: np.ndarray, sites: list[Site], x: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """What is left of the conditions, and its derivative."""
    a, unit = W @ x + c, np.eye(len(c))
    residual, slope = x.copy(), unit.copy()
    for site in sites:
        n, t = site.normals, site.tangents
        active = [row for row in n if x[row] - a[row] > 0]
        residual[active], slope[active] = a[active], W[active]
        if not t:
            continue
        load, loads = x[active].sum() + site.load, unit[active].sum(axis=0)
        friction = site.static if site.slip is None else site.friction
        limit, limits = friction * max(load, 0.0), friction * loads * (load > 0)
        if site.slip is not None:
            residual[t] = x[t] + limit * site.slip
            slope[t] = unit[t] + np.outer(site.slip, limits)
            continue
        y, ys = x[t] - a[t], unit[t] - W[t]
        length = max(float(np.linalg.norm(y)), TINY)
        if length <= limit:
            residual[t], slope[t] = a[t], W[t]
        else:
            along = y / length
            across = (np.eye(len(t)) - np.outer(along, along)) / length
            residual[t] = x[t] - limit * along
            slope[t] = unit[t] - np.outer(along, limits) - limit * across @ ys
    return residual, slope
