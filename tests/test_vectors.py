"""Tracing: a function put in as a whole is the function."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from mechgraph.vectors import composed, rotated, traced, turn


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
