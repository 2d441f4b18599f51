"""Contact at one moment as a complementarity problem: the conditions themselves, on random
problems, with shares of force that are not determined, too."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.complementarity import NoSolution, Site, lemke, responses, solve
from oracles.impacts import impulses


def corners(half: float, low: float) -> np.ndarray:
    """Rows (normal, two tangents) of the four lower corners of a box, over its twist."""
    rows = []
    for arm in [(x, y, -low) for x in (-half, half) for y in (-half, half)]:
        rows += [np.concatenate([e, np.cross(arm, e)]) for e in np.eye(3)[[2, 0, 1]]]
    return np.array(rows)


def problem(random: np.random.Generator, box: bool) -> tuple[np.ndarray, np.ndarray, int]:
    """W and c of up to eight points of any kind, or of the four corners of a box."""
    if box:
        D, mobility = corners(0.1, random.uniform(0.05, 0.4)), np.diag([1, 1, 1, 100, 50, 70.0])
        load = random.normal(size=6) * [5, 5, 5, 0.3, 0.3, 0.3] - [0, 0, 9.81, 0, 0, 0]
    else:
        freedoms = int(random.integers(3, 8))
        D, mobility = (
            random.normal(size=(3 * int(random.integers(1, 9)), freedoms)),
            np.eye(freedoms),
        )
        load = random.normal(size=freedoms)
    return D @ mobility @ D.T, D @ mobility @ load, len(D) // 3


def sites_for(random: np.random.Generator, count: int) -> list[Site]:
    out = []
    for k in range(count):
        friction = float(random.choice([0, 0.1, 0.5, 2.0]))
        static = friction * float(random.choice([1, 1.3]))
        out.append(Site([3 * k], [3 * k + 1, 3 * k + 2], friction, static))
    return out


@pytest.mark.parametrize("box", [True, False])
def test_forces_keep_all_conditions(box):
    """N ≥ 0, a_n ≥ 0, one of them zero; F in the cone of μ_s and a_t = 0, or of size μ N against
    a_t."""
    random = np.random.default_rng(3)
    for _ in range(300):
        W, c, count = problem(random, box)
        sites = sites_for(random, count)
        x = solve(W, c, sites)
        a, size = W @ x + c, np.abs(c).max()
        force = np.abs(x).max() + 1e-12
        for site in sites:
            (n,), F, slip = site.normals, x[site.tangents], a[site.tangents]
            assert x[n] >= -1e-9 * force
            assert a[n] >= -1e-9 * size
            assert abs(x[n] * a[n]) <= 1e-9 * force * size
            if np.hypot(*slip) > 1e-8 * size:
                against = F * np.hypot(*slip) + site.friction * x[n] * slip
                assert np.abs(against).max() <= 1e-8 * force * size
            else:
                assert np.hypot(*F) <= site.static * x[n] + 1e-8 * force


def test_a_site_that_slips_has_its_friction_against_the_slip():
    """A block: N = m g and m a = P − μ N, whatever the cone would allow."""
    site = Site([0], [1, 2], 0.3, 0.4, slip=np.array([0.6, 0.8]))
    x = solve(np.eye(3), np.array([-9.81, 1.0, 0.0]), [site])
    assert np.abs(x - 9.81 * np.array([1, -0.18, -0.24])).max() < 1e-12


def test_what_has_no_solution_is_told():
    """A force that draws a point in the more the larger it is: Painlevé's paradox."""
    with pytest.raises(NoSolution):
        solve(
            np.array([[1.0, 2.0, 0], [2.0, 5.0, 0], [0, 0, 1.0]]),
            np.array([-1.0, 0, 0]),
            [Site([0], [1, 2], 2.0, 2.0, slip=np.array([1.0, 0.0]))],
        )


def test_lemke_on_a_degenerate_problem():
    """Four legs of a table: singular, and any two diagonal legs would do."""
    legs = np.array([[1, x, y] for x in (-1, 1) for y in (-1, 1)], dtype=float)
    z = lemke(legs @ legs.T, legs @ [-1.0, 0, 0])
    assert (z >= 0).all()
    assert np.abs(legs.T @ z - [1, 0, 0]).max() < 1e-12


@pytest.mark.parametrize(
    ("box", "count"), [(True, 200), (False, 20), pytest.param(False, 200, marks=pytest.mark.slow)]
)
def test_impacts_never_gain_energy(box, count):
    """Whatever friction and restitutions are, at many points at once; nothing approaches after,
    and the impulses are within their cones."""
    random = np.random.default_rng(5)
    for _ in range(count):
        W, v, points = problem(random, box)
        sites, turned = sites_for(random, points), np.zeros(len(v))
        e, part = random.uniform(0, 1, 2)
        for site in sites:
            if v[site.normals[0]] < 0:
                turned[site.normals] = e * v[site.normals]
                turned[site.tangents] = part * v[site.tangents]
        x = impulses(W, v, turned, sites)
        assert x @ (v + W @ x / 2) <= 1e-12 * (v @ v)
        for site in sites:
            assert (v + W @ x)[site.normals[0]] >= -1e-9 * np.abs(v).max()
            cone = site.static * x[site.normals[0]]
            assert np.hypot(*x[site.tangents]) <= cone + 1e-8 * np.abs(x).max()


@pytest.mark.parametrize("light", [1.0, 1e-3, 1e-6])
def test_something_heavy_on_something_light(light):
    """A plate slides on a slope with what it carries: N = (m + M) g cos α, M sticks to it."""
    masses, slope, mu, down = np.array([light, 1e3]), 0.6, (0.5, 0.8), np.array([0.8, 0.6])
    moves = np.array([[1.0, 0.0], [-1.0, 1.0]])  # the plate on the slope, M on the plate
    W = np.kron(moves @ np.diag(1 / masses) @ moves.T, np.eye(3))
    c = np.kron(moves @ np.ones(2), 9.81 * np.array([-np.cos(slope), *np.sin(slope) * down]))
    sites = [Site([3 * k], [3 * k + 1, 3 * k + 2], mu[k], mu[k]) for k in range(2)]
    x = solve(W, c, sites)
    borne = 9.81 * np.cos(slope) * np.array([masses.sum(), masses[1]])
    known = 1e-15 * masses[1] / light  # by rounding
    for N, F, weight in zip(x[::3], x.reshape(2, 3)[:, 1:], borne, strict=True):
        assert abs(N / weight - 1) < 1e-12 + known
        assert np.abs(F / weight + 0.5 * down).max() < 1e-12 + known
    assert not responses(W, c, x)[[0, 3, 4, 5]].any()
