"""Rank is decided once: neither units nor factors of rows have a say, and rounding has none."""

from __future__ import annotations

import numpy as np
import pytest

import mechgraph as mg
from mechgraph.closures.complement import by_pivots
from mechgraph.numerics.rank import (
    Independent,
    dependent,
    null_space,
    pseudoinverse,
    rank,
    typical_rank,
)


@pytest.mark.parametrize("size", [1e-10, 1e-3, 1e8])
def test_a_row_is_a_row_however_it_is_written(size):
    A = np.diag([1.0, size])
    usual = np.array([1.0, size])
    assert rank(A) == typical_rank(A, usual) == 2
    assert null_space(A).shape == by_pivots(A).shape == (2, 0)
    assert np.allclose(pseudoinverse(A) @ A, np.eye(2), rtol=0, atol=1e-12)


def test_what_is_nothing_beside_its_usual_length_is_no_row():
    A = np.array([[1.0, 0.0], [0.0, 1e-12]])
    assert typical_rank(A, np.ones(2)) == 1
    assert rank(A, np.ones(2)) == 2  # at a state, a row may be small
    assert rank(np.array([[1.0, 0.0], [0.0, 1e-15]]), np.ones(2)) == 1
    assert rank(np.zeros((2, 3))) == rank(np.zeros((0, 3))) == 0


@pytest.mark.parametrize("seed", range(5))
def test_factors_of_rows_and_units_of_columns_change_nothing(seed):
    random = np.random.default_rng(seed)
    A = random.standard_normal((3, 6))
    A = np.vstack([A, A[0] + 2 * A[2], 0 * A[0]])
    rows = np.append(10 ** random.uniform(-9, 9, 4), 1.0)
    columns = 10 ** random.uniform(-6, 6, 6)
    B = rows[:, None] * A / columns
    assert rank(B, columns=columns) == rank(A) == 3
    assert dependent(B, columns=columns).tolist() == [False, False, False, True, True]
    free = null_space(B, columns=columns)
    assert np.allclose(A @ (free / columns[:, None]), 0, atol=1e-9)
    r = rows * (A @ random.standard_normal(6))
    x = pseudoinverse(B, columns=columns) @ r
    assert np.allclose((B @ x - r) / rows, 0, atol=1e-7)
    left = A.T @ random.standard_normal(5)
    assert np.allclose(A.T @ Independent(A).multipliers(left), left, atol=1e-9)


@pytest.mark.parametrize("factor", [1e9, 1.0, 1e-9, 1e-12])
@pytest.mark.parametrize("complement", ["automatic", "partition", "orthonormal", "pivoted"])
def test_a_row_of_a_composition_is_met_however_small_it_is_written(factor, complement):
    """It was left out beside a large one, and accelerations were those of free fall."""
    v = mg.variables(["x", "y", "z"], ["x'", "y'", "z'"])
    point = mg.Terms(v, M=np.eye(3).tolist(), f=[0, 0, -9.81], name="point")
    rows = {
        "large": lambda v: 1e3 * (v["p.x"] + v["p.y"]),
        "small": lambda v: factor * (v["p.z"] - v["p.x"] ** 2 / 2 - v["p.x"]),
    }
    whole = mg.compose("whole", {"p": point}, constraints=rows, complement=complement)
    q, u = [0.0, 0.0, 0.0], [0.3, -0.3, 0.3]
    assert len(whole.composition.independent) == whole.mobility(q, u) == 1
    udot = whole.accelerations(q, u)
    # u̇_z = u̇_x + u_x², and gravity along (1, −1, 1)
    expected = np.linalg.solve([[1, -1, 1], [1, 1, 0], [-1, 0, 1]], [-9.81, 0, 0.09])
    assert np.allclose(udot, expected, rtol=1e-9)
    assert np.allclose(whole.solve(q, u)[0], expected, rtol=1e-9)
