"""Tracing: a function put in as a whole is the function. Orientations as users write them."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from scipy.spatial.transform import Rotation

from mechgraph.errors import ModelError
from mechgraph.vectors import composed, orientation, rotated, traced, turn


def step(R: SX, x: SX, v: SX) -> tuple[SX, SX]:
    return R.T @ (x + ca.cross(v, x)), ca.sin(x) * v


def instructions(symbols: list[SX], results: tuple[SX, ...]) -> int:
    return ca.Function("f", symbols, [ca.densify(result) for result in results]).n_instructions()


def test_a_traced_function_gives_the_same_expressions():
    """The same operations in number and, bit for bit, in value; zeros and ones of the arguments are
    folded alike."""
    q, x, v = SX.sym("q"), SX.sym("x", 3), SX.sym("v", 3)
    for R in (SX.sym("R", 3, 3), turn(SX([0, 0, 1]), q), SX.eye(3)):
        symbols = [ca.vertcat(*ca.symvar(ca.vertcat(ca.vec(R), x, v)))]
        plain, whole = step(R, x, v), traced(step)(R, x, v)
        assert instructions(symbols, whole) == instructions(symbols, plain)
        point = np.random.default_rng(1).standard_normal(symbols[0].numel())
        for a, b in zip(plain, whole, strict=True):
            assert a.shape == b.shape
            assert np.array_equal(
                *(
                    np.array(ca.Function("f", symbols, [y])(point))
                    for y in (ca.densify(a), ca.densify(b))
                )
            )


def test_a_traced_function_is_traced_once_for_each_set_of_shapes():
    calls = []

    @traced
    def double(x: SX) -> SX:
        calls.append(x.shape)
        return 2 * x

    for size in (2, 2, 3, 2):
        assert double(SX.sym("x", size)).shape == (size, 1)
    assert calls == [(2, 1), (3, 1)]


def test_nothing_is_turned_by_the_identity():
    x, R = SX.sym("x", 3), turn(SX([0, 1, 0]), SX.sym("q"))
    assert rotated(SX.eye(3), x) is x
    assert composed(SX.eye(3), R) is R
    assert composed(R, SX.eye(3)) is R
    quarter = turn(SX([1, 0, 0]), SX(np.pi / 2))
    assert np.array_equal(np.array(ca.DM(composed(quarter, quarter))), np.diag([1.0, -1.0, -1.0]))


# --- orientations as users write them -------------------------------------------------------------


@pytest.mark.parametrize("sequence", ["ZYX", "xyz", "XYZ", "zxz", "ZXZ", "yx", "X"])
def test_euler_angles_are_those_of_scipy(sequence):
    angles = np.array([0.3, -1.1, 2.0])[: len(sequence)]
    expected = Rotation.from_euler(sequence, angles).as_matrix()
    found = np.array(ca.DM(orientation((sequence, tuple(angles)))))
    assert np.allclose(found, expected, atol=1e-15)
    assert np.allclose(
        np.array(ca.DM(orientation(Rotation.from_euler(sequence, angles)))), expected
    )


def test_two_axes_make_a_frame():
    for first, second in ("xy", "yz", "zx", "yx", "zy", "xz"):
        R = np.array(ca.DM(orientation({first: (1, 2, 3), second: (0, 1, -1)})))
        i, j = "xyz".index(first), "xyz".index(second)
        assert np.allclose(R.T @ R, np.eye(3), atol=1e-15)
        assert np.linalg.det(R) == pytest.approx(1)
        assert np.allclose(R[:, i], np.array([1, 2, 3]) / np.sqrt(14))
        assert R[:, j] @ [0, 1, -1] > 0
        assert abs(np.linalg.det(np.column_stack([R[:, i], R[:, j], [0, 1, -1]]))) < 1e-15
    assert np.array_equal(
        np.array(ca.DM(orientation({"z": "x", "x": "-z"}))) @ [0, 0, 1], [1, 0, 0]
    )


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (("zyX", (1, 2, 3)), "the sequence must be one to three letters"),
        (("abc", (1, 2, 3)), "the sequence must be one to three letters"),
        (("xyz", (1, 2)), "the angles of 'xyz' must have 3 numbers, got 2"),
        ({"x": (1, 0, 0)}, "must name two of 'x', 'y', 'z'"),
        ({"x": (1, 0, 0), "y": (-2, 0, 0)}, "'x' and 'y' point along one line"),
        ({"x": (0, 0, 0), "y": "z"}, "'x' is zero"),
        (Rotation.identity(2), "must be one rotation, got 2"),
        (7, "a Rotation of SciPy, a quaternion"),
    ],
)
def test_bad_orientations_are_named(value, message):
    with pytest.raises(ModelError, match=message):
        orientation(value)
