"""Linear models from linearized parts: against the ordinary way from full equations, and the
tricycle's matrices."""

from __future__ import annotations

import numpy as np
import pytest

import mechgraph as mg
import tricycle
from mechgraph.errors import ArgumentError, UnsupportedError
from test_composition import RADIUS, bob, chain, pendulum


def ordinary(equations, at, coordinates, speeds):
    model = equations.linearize(at, independent=[*coordinates, *speeds])
    return model.A


@pytest.mark.parametrize("shape", ["flat", "two by two"])
def test_it_agrees_with_the_ordinary_way(shape):
    """Four bars hanging, and moving: at any state the two ways give the same matrix."""
    equations = chain(shape)
    coordinates = [name for name in equations.coordinates if name.endswith("theta")]
    speeds = [f"{name}'" for name in coordinates]
    random = np.random.default_rng(4)
    start = {name: random.uniform(-1, 1) for name in (*coordinates, *speeds)}
    at = equations.assemble(start)
    model = equations.composition.linearize(at, coordinates=coordinates, speeds=speeds)
    assert model.residual < 1e-12
    expected = ordinary(equations, at, coordinates, speeds)
    assert np.allclose(model.A, expected, rtol=1e-9, atol=1e-8)
    assert np.allclose(model.udot, equations.accelerations(*at), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", ["constraint", "squared speed"])
def test_order_two_and_orders_below(model):
    equations = pendulum(model)
    q = np.array([RADIUS * np.cos(0.7), RADIUS * np.sin(0.7), 0.0])
    u = dict.fromkeys(equations.speeds, 0.0) | {"z'": 0.4, "v": 0.16}
    at = q, np.array([u[name] for name in equations.speeds])
    found = equations.composition.linearize(at, coordinates=["y", "z"], speeds=["y'", "z'"])
    assert np.allclose(found.A, ordinary(equations, at, ["y", "z"], ["y'", "z'"]), atol=1e-10)


def test_inputs_and_the_response_to_them():
    """A mass on a spring: m ẍ + k x = w."""
    whole = mg.compose(
        "mass", [bob()], inputs=["w"], parameters={"k": 5.2},
        forces={"x'": lambda v: v["w"] - v["k"] * v["x"]},
    )  # fmt: skip
    at = whole.equilibrium({})
    model = whole.composition.linearize(at, coordinates=whole.coordinates, speeds=whole.speeds).of(
        ["x"], ["x'"]
    )
    assert (model.M[0, 0], model.K[0, 0], model.E[0, 0]) == pytest.approx((1.3, 5.2, 1.0))
    assert model.eigenvalues().imag == pytest.approx([2.0, -2.0]) or model.eigenvalues().imag == (
        pytest.approx([-2.0, 2.0])
    )
    times = np.linspace(0, 2, 5)
    swing = model.free_motion(times, {"x": 0.1, "x'": -0.3})
    assert np.allclose(swing[:, 0], 0.1 * np.cos(2 * times) - 0.15 * np.sin(2 * times))
    response = model.frequency_response([1.0, 3.0])[:, 0, 0]
    assert response == pytest.approx([1 / (5.2 - 1.3), 1 / (5.2 - 9 * 1.3)])


# --- the tricycle ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trike():
    return tricycle.tricycle()


def lateral(trike, v, **options):
    with pytest.warns(UserWarning, match="compatible to zeroth order only"):
        whole = trike.composition.linearize(
            tricycle.reference(trike, v),
            coordinates=tricycle.COORDINATES,
            speeds=tricycle.SPEEDS,
            **options,
        )
    return whole, whole.of(["A.delta", "A.phi"], ["A.delta'", "A.phi'"])


def test_the_tricycle_has_three_freedoms_in_its_reference_pose(trike):
    """41 freedoms of the parts, 44 rows of rank 38; outside of that pose, where the linkage would
    need clearances, of rank 40: it can only roll straight on. So the pose is singular, and told."""
    node = trike.composition
    assert (len(node.B.columns), len(node.constraints), len(node.independent)) == (41, 44, 1)
    q, u = tricycle.reference(trike, 2.0)
    assert "tricycle" in node.singular(q, u)
    assert np.abs(trike.position_violation(q)).max() < 1e-12
    assert np.abs(trike.velocity_violation(q, u)).max() < 1e-12
    assert trike.mobility(q, u) == 3


def test_the_tricycles_matrices(trike):
    """Variant "R" of the specification, order (δ, φ): M, C₁, g K₀, K₂, E; five digits behind the
    point."""
    whole, still = lateral(trike, 0.0)
    _, moving = lateral(trike, 2.0)
    K2 = (moving.K - still.K) / 4
    assert np.allclose(still.M, [[1.03852, 3.93604], [3.93604, 91.64245]], atol=6e-6)
    assert np.allclose(moving.C / 2, [[5.58319, -1.21395], [72.13481, 10.79849]], atol=6e-6)
    expected = [[-11.88634, -42.87203], [-44.17262, -858.77977]]
    assert np.allclose(still.K, expected, atol=6e-6)
    assert np.allclose(K2, [[7.48034, 0.96546], [143.96439, 18.58096]], atol=6e-6)
    assert whole.M[0, 0] == pytest.approx(104.71814, abs=6e-6)
    E = [
        [3.952569, 3.921569, 3.921569, 0, 0],
        [0, -0.175357, 0.175357, 1, 0],
        [0, 0.003660, -0.003660, 0, 1],
    ]
    assert np.allclose(whole.E, E, atol=6e-7)
    # x, y, heading and spins nowhere; longitudinal and lateral motion apart
    assert np.abs(np.delete(whole.K, [2, 3], axis=1)).max() < 1e-8
    assert max(np.abs(x[0, 1:]).max() + np.abs(x[1:, 0]).max() for x in (whole.M, whole.C)) < 1e-9


EIGENVALUES = {  # v: castering, capsize, weave, δ/φ of capsize
    1.0: (-4.85056, -3.07492, 2.43335 + 0.84416j, -0.082),
    4.0: (-9.98574, -0.13470, -1.05734 + 3.49890j, 0.255),
    8.0: (-18.23472, 0.14171, -3.18862 + 9.11882j, -0.037),
}


@pytest.mark.parametrize("v", EIGENVALUES)
def test_the_tricycles_eigenvalues(trike, v):
    _, model = lateral(trike, v)
    values, (castering, capsize, weave, ratio) = model.eigenvalues(), EIGENVALUES[v]
    for expected in (castering, capsize, weave):
        assert np.abs(values - expected).min() < 8e-6
    at = int(np.abs(values - capsize).argmin())
    assert model.ratio("A.delta", "A.phi")[at].real == pytest.approx(ratio, abs=6e-4)


def test_weights_of_rows_matter_where_rows_are_incompatible(trike):
    """The axes weighed by 10 and 0.1: g K₀ of steer is −12.000 and −4.838."""
    rows = [row for row in trike.constraints if " axis" in row]
    assert len(rows) == 9
    for weight, expected in ((10.0, -12.000), (0.1, -4.838)):
        _, model = lateral(trike, 0.0, weights=dict.fromkeys(rows, weight))
        assert model.K[0, 0] == pytest.approx(expected, abs=6e-4)


def test_modes_are_followed_over_the_speed(trike):
    """The self-stable range 3.1949 … 4.3965 m/s; capsize crosses zero at its end, and its steer
    to lean jumps from π to 0 at 1.117 m/s and back at 6.749 m/s."""
    speeds = [0.9, 1.3, 3.15, 3.25, 4.35, 4.45, 6.5, 7.0]
    sweep = mg.SecondOrderSweep(lambda v: lateral(trike, v)[1], speeds)
    assert sweep.stable.tolist() == [False, False, False, True, True, False, False, False]
    real = np.abs(sweep.eigenvalues.imag).max(axis=0) < 1e-9
    capsize = int(np.where(real, sweep.eigenvalues[-1].real, -np.inf).argmax())
    assert np.sign(sweep.eigenvalues[[4, 5], capsize].real).tolist() == [-1, 1]
    ratio = sweep.ratio("A.delta", "A.phi")[:, capsize].real
    assert np.sign(ratio[[0, 1, -2, -1]]).tolist() == [-1, 1, 1, -1]
    K = sweep.polynomial("K")
    assert np.allclose(K[2], [[7.48034, 0.96546], [143.96439, 18.58096]], atol=6e-6)
    assert np.abs(K[1]).max() < 1e-6
    with pytest.raises(ArgumentError, match="K is no polynomial of degree 1"):
        sweep.polynomial("K", 1)


# --- bad input ------------------------------------------------------------------------------------


def test_what_is_wrong_is_told():
    equations = pendulum("constraint")
    at = np.array([RADIUS, 0.0, 0.0]), np.zeros(3)
    linear = equations.composition.linearize
    with pytest.raises(ArgumentError, match='unknown speed "q\'"'):
        linear(at, coordinates=["y", "z"], speeds=["q'", "z'"])
    with pytest.raises(ArgumentError, match="2 coordinates are independent here, but 1 were named"):
        linear(at, coordinates=["y"], speeds=["y'", "z'"])
    with pytest.raises(ArgumentError, match="unknown constraint 'row'"):
        linear(at, coordinates=["y", "z"], speeds=["y'", "z'"], weights={"row": 1.0})
    with pytest.raises(UnsupportedError, match="is a part"):
        equations.composition["bob"].linearize(at, coordinates=["y", "z"], speeds=["y'", "z'"])
    model = linear(at, coordinates=["y", "z"], speeds=["y'", "z'"])
    with pytest.raises(ArgumentError, match="unknown coordinate 'x'"):
        model.of(["x"], ["y'"])
