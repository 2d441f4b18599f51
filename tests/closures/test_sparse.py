"""Sparse elimination against singular values: the same accelerations, multipliers, ranks and
culprits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.sparse import csc_matrix

import mechgraph as mg
from measure import gap
from mechgraph.closures import sparse
from mechgraph.closures.closure import CLOSURES
from mechgraph.numerics.rank import dependent, rank


def ladder(n: int, redundant: bool = True) -> mg.System:
    """N four-bars in a row, of spatial revolutes (three rows of each loop are redundant) or closed
    by balls."""
    s = mg.System("ladder", gravity=(0, -9.81, 0))
    bar = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.01, 1 / 12, 1 / 12)}
    previous = None
    for k in range(n + 1):
        vertical = s.body(f"vertical {k}", **bar)
        s.revolute(f"foot {k}", s.ground, vertical, axis="z", at=(k, 0, 0))
        if previous is not None:
            horizontal = s.body(f"horizontal {k}", **bar)
            s.revolute(f"left {k}", previous, horizontal, axis="z", at=(1, 0, 0))
            close = s.revolute if redundant else s.spherical
            close(f"right {k}", horizontal, vertical, at=(1, 0, 0), child_at=(1, 0, 0))
        previous = vertical
    return s


def start(n: int) -> dict[str, float]:
    angles = {f"foot {k}": 1.2 for k in range(n + 1)} | {f"left {k}": -1.2 for k in range(1, n + 1)}
    return {**angles, "foot 0'": -1.0}


@pytest.mark.parametrize("redundant", [True, False])
@pytest.mark.parametrize("formalism", ["newton-euler", "absolute"])
def test_the_same_as_singular_values(formalism, redundant):
    equations = ladder(3, redundant).equations(formalism)
    q, u = equations.assemble(start(3))
    at = equations.numeric.arguments(q, u, 0.0, None, None)
    (M, f, A, b), *_ = equations.numeric.sparse_matrices(at)
    udot, multipliers = CLOSURES["multipliers"].solve(M.toarray(), f, A.toarray(), b)
    there, forces, error = sparse.solve(M, f, A, b)
    assert error < 1e-10
    assert gap(udot, there) < 1e-10
    assert gap(multipliers, forces) < 1e-9  # of least norm, where they are not unique
    named = [name for name, found in zip(equations.constraints, dependent(A), strict=True) if found]
    assert named == equations.redundant(q, u)
    assert len(named) == len(equations.constraints) - rank(A.toarray())
    assert sparse.least_inertia(M, A)[0] > 1e-6


def test_large_systems_go_this_way(monkeypatch):
    """What a large system answers is what it answered if it were small."""
    equations = ladder(8).equations("absolute")
    assert equations.numeric.large
    q, u = (np.array([x, x]) for x in equations.assemble(start(8)))
    found = (
        equations.solve(q, u),
        equations.reaction("left 2", q, u),
        equations.mobility(q[0]),
        equations.redundant(q[0]),
    )
    monkeypatch.setattr(sparse, "LARGE", 10_000)
    expected = (
        equations.solve(q, u),
        equations.reaction("left 2", q, u),
        equations.mobility(q[0]),
        equations.redundant(q[0]),
    )
    assert gap(expected[0][0], found[0][0]) < 1e-10
    assert gap(expected[0][1], found[0][1]) < 1e-9
    assert gap(expected[1], found[1]) < 1e-9
    assert found[2:] == expected[2:]
    assert found[2] == 1


def test_a_large_run_is_that_of_a_small_one(monkeypatch):
    runs = []
    for limit in (0, 10_000):
        monkeypatch.setattr(sparse, "LARGE", limit)
        runs.append(
            ladder(2)
            .equations("absolute")
            .simulate(0.2, start(2), step=0.1, rtol=1e-11, method="dop853")
        )
    assert gap(runs[1].q, runs[0].q) < 1e-9
    assert runs[0].violation.max() < 1e-12


def test_states_far_from_their_constraints_are_brought_back(monkeypatch):
    monkeypatch.setattr(sparse, "LARGE", 0)
    equations = ladder(2).equations("absolute")
    q, u = equations.assemble(start(2))
    random = np.random.default_rng(0)
    near = (q + 1e-3 * random.standard_normal(len(q)), u + 0.1 * random.standard_normal(len(u)))
    near[0][3:7] /= np.linalg.norm(near[0][3:7])
    from mechgraph.studies.projection import project

    q, u = (x[0] for x in project(equations, near[0][None], near[1][None], np.zeros(1)))
    assert np.abs(equations.position_violation(q)).max() < 1e-13
    assert np.abs(equations.velocity_violation(q, u)).max() < 1e-12


def test_rows_of_nothing_and_rows_twice_are_dependent():
    A = csc_matrix(np.array([[1.0, 0, 0], [0, 0, 0], [2.0, 0, 0], [1e3, 1.0, 0], [0, 1.0, 1e-3]]))
    assert dependent(A).tolist() == [False, True, True, False, False]


def test_what_nothing_determines_is_named():
    M, A = csc_matrix(np.diag([1.0, 0.0, 0.0])), csc_matrix(np.array([[1.0, 1.0, 0.0]]))
    inertia, share = sparse.least_inertia(M, A)
    assert inertia < 1e-12
    assert np.allclose(share, [0, 0, 1])
    assert np.isclose(sparse.least_inertia(csc_matrix(np.eye(3) * 1e-12), csc_matrix((0, 3)))[0], 1)
    assert sparse.is_singular(csc_matrix(np.array([[1.0, 1.0], [1.0, 1.0]])))
    assert not sparse.is_singular(csc_matrix(np.diag([1e-9, 1e9])))
