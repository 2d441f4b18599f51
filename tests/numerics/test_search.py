"""The one search: where it goes, when it ends, and that lanes are alone."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import least_squares

import mechgraph as mg
from mechgraph import gallery
from mechgraph.kernels import Kernel
from mechgraph.numerics.search import least_step, search
from mechgraph.show.describe import describe


def circle(x: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """|x|² = 1, said twice, in the plane."""
    r = (np.sum(x**2, axis=1) - 1) / 2
    return np.stack([r, 3 * r], axis=1), np.stack([x, 3 * x], axis=1)


def test_steps_of_least_norm_lead_to_what_is_near():
    starts = np.array([[2.0, 0.0], [0.3, 0.4], [-1.0, 1.0]])
    found = search(circle, np.add, starts)
    nearest = starts / np.linalg.norm(starts, axis=1, keepdims=True)
    np.testing.assert_allclose(found.x, nearest, atol=1e-15)


def test_every_lane_goes_as_if_it_were_alone():
    starts = np.random.default_rng(1).standard_normal((20, 2)) * 3
    together = search(circle, np.add, starts)
    for start, x in zip(starts, together.x, strict=True):
        assert (search(circle, np.add, start[None]).x[0] == x).all()


def test_a_least_residual_is_that_of_an_independent_search():
    """Rosenbrock's valley cut off by a row that cannot be met."""

    def residual(x: np.ndarray) -> np.ndarray:
        return np.array([10 * (x[1] - x[0] ** 2), 1 - x[0], np.exp(x[1]) + 0.5])

    def rows(x: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        r = np.array([residual(each) for each in x])
        J = [[[-20 * a, 10.0], [-1.0, 0.0], [0.0, np.exp(b)]] for a, b in x]
        return r, np.array(J)

    found = search(rows, np.add, np.array([[-1.2, 1.0], [2.0, -1.0]]))
    known = least_squares(residual, [0.5, 0.5], xtol=1e-15, ftol=1e-15, gtol=1e-15)
    np.testing.assert_allclose(found.x, [known.x, known.x], atol=1e-6)
    np.testing.assert_allclose(np.sum(found.r**2, axis=1), 2 * known.cost, rtol=1e-12)


@pytest.mark.parametrize("lift", [1e-12, 1e-6, 1e-2])
def test_a_search_ends_soon_where_nothing_can_be_met(lift):
    """Two rows that contradict each other by a little: no hundred tries for what is rounding (how
    many it takes to see that, up to some twenty, depends on the processor)."""
    asked = [0]

    def rows(x: np.ndarray, _: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        asked[0] += 1
        r, J = circle(x, _)
        return r + np.array([lift, -lift]), J

    found = search(rows, np.add, np.array([[1.3, 0.2]]))
    assert asked[0] < 50
    assert np.linalg.norm(found.r) < 2 * lift


def test_lanes_end_where_a_rival_has_arrived():
    starts = np.array([[1.0, 1e-9], [40.0, 30.0]])
    found = search(circle, np.add, starts, rivals=(np.array([7, 7]), 1e-6))
    assert np.linalg.norm(found.r[0]) < 1e-6 < np.linalg.norm(found.r[1])


def test_steps_in_order_are_each_as_well_as_those_before_allow():
    random = np.random.default_rng(2)
    for _ in range(30):
        first, second = random.standard_normal((4, 2, 5)), random.standard_normal((4, 3, 5))
        first[:, 1] = 2 * first[:, 0]
        a, b = random.standard_normal((4, 1)) * [1.0, 2.0], random.standard_normal((4, 3))
        step = least_step([(a, first), (b, second)])
        for k in range(4):
            C = first[k, :1]
            free = np.eye(5) - np.linalg.pinv(C) @ C
            least = -np.linalg.pinv(C) @ a[k, :1]
            least -= np.linalg.pinv(second[k] @ free) @ (b[k] + second[k] @ least)
            np.testing.assert_allclose(step[k], least, atol=1e-9)


# --- derived once ---------------------------------------------------------------------------------


def test_equations_of_a_description_are_the_same_to_all():
    system = gallery.load("fourbar").system()
    plain = system.equations()
    assert system.equations("newton-euler") is plain
    assert system.snapshot().equations() is plain
    assert system.equations(closure="null-space").terms is plain.terms
    assert system.equations("kane") is not plain
    assert system.equations("lagrange", form="explicit") is not system.equations("lagrange")
    system.marker("new", next(iter(system.snapshot().bodies)), (0, 0, 0))
    assert system.equations() is not plain  # another description


def test_options_that_do_not_fit_are_refused_each_time():
    system = gallery.load("fourbar").system()
    for _ in range(2):
        with pytest.raises(mg.UnsupportedError, match="unknown formalism"):
            system.equations("kanes")


def test_a_description_is_found_with_few_evaluations(monkeypatch):
    """4,001 they were, one state each."""
    asked, call = [0], Kernel.__call__

    def counted(self, *arguments, **options):
        asked[0] += 1
        return call(self, *arguments, **options)

    monkeypatch.setattr(Kernel, "__call__", counted)
    assert "numerical    1" in describe(gallery.load("fourbar").system())
    assert asked[0] < 500
