"""Linear models from linearized parts: against the ordinary way from full equations, and the
tricycle's matrices."""

from __future__ import annotations

import sys

import numpy as np
import pytest
import scipy.linalg

import mechgraph as mg
from composition.test_composition import RADIUS, bob, chain, pendulum
from mechgraph import gallery
from mechgraph.errors import ArgumentError, UnsupportedError


def example(name):
    """The module of an example of the gallery."""
    gallery.load(name)
    return sys.modules[f"mechgraph_example_{name}"]


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
    swing = model.response(times, {"x": 0.1, "x'": -0.3})
    assert np.allclose(swing["x"], 0.1 * np.cos(2 * times) - 0.15 * np.sin(2 * times))
    pushed = model.response(times, inputs={"w": 2.6})
    assert np.allclose(pushed["x"], 0.5 * (1 - np.cos(2 * times)), atol=1e-14)
    driven = model.response(times, {"x'": 1.0}, {"w": lambda t: 3.9 * np.sin(t)})
    assert np.allclose(driven["x"], np.sin(times), atol=1e-9)
    response = model.frequency_response([1.0, 3.0])
    assert response["x", "w"] == pytest.approx([1 / (5.2 - 1.3), 1 / (5.2 - 9 * 1.3)])
    usual = whole.linearize(at, independent=["x", "y", "z", "x'", "y'", "z'"], outputs=["x''"])
    assert np.allclose(usual.response(times, inputs={"w": 2.6})["x"], pushed["x"])
    force = usual.frequency_response([3.0])["x''", "w"][0]
    assert force == pytest.approx(-9 * response["x", "w"][1])
    for wrong in (
        lambda: model.response([0.0, 0.0]),
        lambda: model.response(times, {"y": 1.0}),
        lambda: model.response(times, inputs={"u": 1.0}),
        lambda: model.frequency_response("fast"),
        lambda: response["x", "v"],
    ):
        with pytest.raises(ArgumentError):
            wrong()


def cart(stiffness: float = 0.0) -> mg.LinearModel:
    v = mg.variables(["x"], ["v"], ["push"])
    mass = mg.Terms(v, N=[[1]], M=[[1]], f=[v["push"] - stiffness * v["x"]])
    return mg.Equations(mass).linearize()


@pytest.mark.parametrize(("stiffness", "omega"), [(4.0, 2.0), (0.0, 0.0)])
def test_where_a_response_has_no_bound_the_frequency_is_named(stiffness, omega):
    with pytest.raises(ArgumentError, match=f"at {omega:g} rad/s"):
        cart(stiffness).frequency_response([omega, 5.0])


def test_a_pulse_after_a_long_rest_is_not_stepped_over():
    pushed = cart().response(
        np.linspace(0, 10, 1001), inputs={"push": lambda t: float(5 < t < 5.1)}
    )
    assert pushed["v"][-1] == pytest.approx(0.1, abs=1e-9)


def test_stability_without_damping_has_its_boundary():
    """ẍ = (3 − k) x: no deviation grows from k = 3 on, though none fades."""

    def second(k: float) -> mg.SecondOrderModel:
        one, none = np.eye(1), np.zeros((1, 1))
        K = np.array([[k - 3.0]])
        return mg.SecondOrderModel(one, none, K, none, none, one, ("x",), ("v",), ("w",), none)

    for model in (second, lambda k: cart(k - 3.0)):
        sweep = mg.SecondOrderSweep(model, [0.0, 2.0, 4.0, 7.0])
        assert sweep.stable.tolist() == [False, False, True, True]
        assert sweep.boundaries() == pytest.approx([3.0], abs=1e-12)
    found = second(4.0).stability()
    assert found.verdict == "stable"
    assert found.neutral == ("'x' and 'v' at 1 rad/s",)
    drifting = second(3.0).stability()
    assert drifting.verdict == "stable"
    assert set(drifting.neutral) == {"'x'", "'v'"}


def test_the_table_of_modes_tells_modulus_and_phase():
    """Two equal masses between three springs: in phase, and in antiphase."""
    v = mg.variables(["a", "b"], ["a'", "b'"])
    f = [-2 * v["a"] + v["b"] - 0.02 * v["a'"], v["a"] - 2 * v["b"] - 0.02 * v["b'"]]
    equations = mg.Equations(mg.Terms(v, name="chain", M=np.eye(2), f=f))
    whole = mg.compose("chain", [equations])
    model = whole.composition.linearize(
        ([0, 0], [0, 0]), coordinates=["a", "b"], speeds=["a'", "b'"]
    )
    lines = model.show().splitlines()
    assert [line.split()[:3] for line in lines[1:]] in (
        [["-0.01000+0.99995i", "0.1591", "0.0100"], ["-0.01000+1.73202i", "0.2757", "0.0058"]],
        [["-0.01000+1.73202i", "0.2757", "0.0058"], ["-0.01000+0.99995i", "0.1591", "0.0100"]],
    )
    turned = {line.split()[0][-8:]: "180.0°" in line for line in lines[1:]}
    assert turned == {"0.99995i": False, "1.73202i": True}
    assert all("1.0000 ∠ 0.0°" in line for line in lines[1:])
    assert "a" in equations.linearize(([0, 0], [0, 0])).show()


# --- the gallery ----------------------------------------------------------------------------------

WAYS = {  # how it is built, where it is, and independent speeds
    "bicycle": (
        {},
        {"A.phi": 0.1, "A.delta": 0.2, "A.x'": 4.0, "A.phi'": 0.3, "A.delta'": -0.5},
        ["A.x'", "A.phi'", "A.delta'"],
    ),
    "five_bar": (
        {},
        {"linkage.L.theta": 2.1, "linkage.R.theta": 0.8, "linkage.L.theta'": 0.5,
         "linkage.R.theta'": -0.3, "motor L.i": 1.5},
        ["motor L.i", "motor R.i", "motor L.omega", "motor R.omega"],
    ),
    "spherical_pendulum": (
        {"model": "squared speed"}, {"y": 0.3, "z": 0.2, "y'": 0.4, "z'": -0.7}, ["y'", "z'"]
    ),
    "two_rods": (
        {}, {"a.z": 0.4, "b.x": 1.9, "a.z'": 0.3, "b.x'": -0.6}, ["a.z'", "b.x'"]
    ),
    "ring_and_disc": (
        {}, {"theta": 0.9, "theta'": 1.1, "disc.theta'": -2.0}, ["theta'", "disc.theta'"]
    ),
    "trough": (
        {}, {"ball.wx": 3.0, "ball.wy": -5.0, "ball.wz": 1.0}, ["ball.wx", "ball.wy", "ball.wz"]
    ),
    "delta_robot": (
        {},
        {"hand.x": 0.1, "hand.y": 0.05, "hand.z": -0.7, "hand.x'": 0.3, "hand.z'": -0.5},
        ["hand.x'", "hand.y'", "hand.z'"],
    ),
    "rss_ppap": (
        {},
        {"hand.x": 0.1, "hand.y": 0.05, "hand.z": -0.7, "hand.x'": 0.3, "hand.z'": -0.5},
        ["hand.x'", "hand.y'", "hand.z'"],
    ),
    "slider_crank_3d": (
        {"guided": True, "friction": False},
        {"crank.chi": 1.1, "crank.chi'": 4.0},
        ["crank.chi'"],
    ),
}  # fmt: skip


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name", WAYS)
def test_both_ways_agree_on_the_gallery(name):
    """Linearized parts, and exact derivatives of the equations of the whole."""
    options, start, speeds = WAYS[name]
    equations = example(name).composed(**options)
    at = equations.assemble(start)
    inputs = np.random.default_rng(3).standard_normal(len(equations.inputs))
    coordinates = free_coordinates(equations, at[0])
    model = equations.composition.linearize(
        at, coordinates=coordinates, speeds=speeds, inputs=inputs
    )
    usual = equations.linearize(at, independent=[*coordinates, *speeds], inputs=inputs)
    assert model.residual < 1e-10
    assert np.abs(model.A - usual.A).max() < 1e-9 * np.abs(usual.A).max()
    assert np.abs(model.B - usual.B).max(initial=0) < 1e-9 * max(1, np.abs(usual.B).max(initial=0))


def free_coordinates(equations, q):
    """Coordinates that the constraints leave free, by QR with pivoting."""
    norms = [q * np.isin(range(len(q)), list(four)) for four in equations.terms.chart.quaternions]
    phi = [
        (equations.position_violation(q + d) - equations.position_violation(q - d)) / 2e-6
        for d in 1e-6 * np.eye(len(q))
    ]
    rows = np.vstack([np.transpose(phi).reshape(-1, len(q)), *norms])
    return [equations.coordinates[k] for k in pivots(rows)]


def pivots(rows):
    """Columns that the rows leave free."""
    if not len(rows):
        return list(range(rows.shape[1]))
    _, R, order = scipy.linalg.qr(rows, mode="economic", pivoting=True)
    rank = int((np.abs(np.diag(R)) > 1e-7 * abs(R[0, 0])).sum())
    return sorted(order[rank:])


# --- the tricycle ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def trike():
    return example("tricycle").composed()


def test_the_tricycle_has_three_freedoms_in_its_reference_pose(trike):
    """41 freedoms of the parts, 44 rows of rank 38; outside of that pose, where the linkage would
    need clearances, of rank 40: it can only roll straight on. So the pose is singular, and told;
    and the linear model is told to be a compromise."""
    node, tricycle = trike.composition, example("tricycle")
    assert (len(node.B.columns), len(node.constraints), len(node.independent)) == (41, 44, 1)
    q, u = tricycle.reference(trike, 2.0)
    assert "tricycle" in node.singular(q, u)
    assert np.abs(trike.position_violation(q)).max() < 1e-12
    assert np.abs(trike.velocity_violation(q, u)).max() < 1e-12
    assert trike.mobility(q, u) == 3
    with pytest.warns(UserWarning, match="compatible to zeroth order only"):
        whole = node.linearize((q, u), coordinates=tricycle.COORDINATES, speeds=tricycle.SPEEDS)
    # x, y, heading and spins nowhere; longitudinal and lateral motion apart
    assert np.abs(np.delete(whole.K, [2, 3], axis=1)).max() < 1e-8
    assert max(np.abs(x[0, 1:]).max() + np.abs(x[1:, 0]).max() for x in (whole.M, whole.C)) < 1e-9
    # left and right: the same, mirrored
    right, left = whole.E[:, 1], whole.E[:, 2]
    assert np.allclose(right * [1, -1, -1], left, atol=1e-12)


def test_accelerations_in_a_singular_pose_are_those_of_all_its_freedoms(trike):
    """The complement of the kernel has one column, three freedoms are there: what rounding would
    make of the others is not taken for a direction."""
    tricycle = example("tricycle")
    q, u = tricycle.reference(trike, 3.0)
    found = trike.accelerations(q, u, inputs=[1.0, 0, 0, 1.0, 2.0])
    assert np.allclose(found, trike.solve(q, u, inputs=[1.0, 0, 0, 1.0, 2.0])[0], atol=1e-9)
    assert found[trike.speeds.index("A.delta'")] == pytest.approx(1.0513330198753)


def test_weights_of_rows_matter_where_rows_are_incompatible(trike):
    """The axes weighed by 10 and 0.1: g K₀ of steer is −12.000 and −4.838."""
    rows = [row for row in trike.constraints if " axis" in row]
    assert len(rows) == 9
    for weight, expected in ((10.0, -12.000), (0.1, -4.838)):
        model = example("tricycle").lateral(trike, 0.0, weights=dict.fromkeys(rows, weight))
        assert model.K[0, 0] == pytest.approx(expected, abs=6e-4)


# --- sweeps ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def swept():
    """Whipple's bicycle as published, over the speed."""
    bicycle = example("bicycle")
    M, C1, K0, K2 = (np.array(getattr(bicycle, name)) for name in ("M", "C1", "K0", "K2"))

    def model(v):
        names = ("lean", "steer"), ("lean'", "steer'")
        return mg.SecondOrderModel(
            M, v * C1, 9.81 * K0 + v**2 * K2, np.eye(2), np.zeros((2, 2)), np.eye(2),
            *names, ("lean torque", "steer torque"), np.zeros(2),
        )  # fmt: skip

    return mg.SecondOrderSweep(
        model, np.linspace(0, 10, 41), "speed (m/s)", ["weave", "weave", "capsize", "castering"]
    )


def test_modes_are_followed_and_stability_is_bounded(swept):
    assert np.allclose(swept.boundaries(), [4.29238253634111, 6.02426201538837], atol=1e-10)
    capsize, castering = swept.eigenvalues[:, 2], swept.eigenvalues[:, 3]
    assert np.abs(capsize.imag).max() + np.abs(castering.imag).max() < 1e-9
    assert (np.diff(castering.real) < 0).all()
    assert np.allclose(swept.eigenvalues[20:, 0], swept.eigenvalues[20:, 1].conj())
    few = mg.SecondOrderSweep(swept.at, [0.0, 1.0, 2.0, 5.0])
    assert np.allclose(few.at(7.5).A, swept.models[30].A, atol=1e-9)
    K = swept.polynomial("K")
    assert np.abs(K[1]).max() < 1e-9
    with pytest.raises(ArgumentError, match="K is no polynomial of degree 1"):
        swept.polynomial("K", 1)
    with pytest.raises(ArgumentError, match="there are 4 modes, but 1 names"):
        mg.SecondOrderSweep(swept.at, [0.0], names=["weave"])
    table = swept.show().splitlines()
    assert table[0].split()[-3:] == ["weave", "capsize", "castering"]
    assert table[1].split() == ["0", "5.53094", "3.13164", "-3.13164", "-5.53094"]


def test_sweeps_and_responses_are_drawn(swept, tmp_path):
    figure = swept.plot(path=tmp_path / "eigenvalues.svg", beside=[swept])
    assert (tmp_path / "eigenvalues.svg").stat().st_size > 1000
    growth, frequency = figure.axes
    assert "1/s" in growth.get_title("left")
    assert "Hz" in frequency.get_title("left")
    assert frequency.get_xlabel() == "speed (m/s)"
    assert [t.get_text() for t in growth.get_legend().get_texts()] == [
        "weave",
        "capsize",
        "castering",
    ]
    assert [t.get_text() for t in frequency.get_legend().get_texts()] == ["weave"]
    modulus, phase = swept.plot_ratio("steer", "lean").axes
    assert "steer over lean" in modulus.get_title("left")
    assert "degrees" in phase.get_title("left")
    model = swept.at(5.0)
    drawn = model.frequency_response(np.logspace(-1, 2, 30)).plot("lean", by="steer torque")
    assert "steer torque" in drawn.axes[0].get_title("left")
    assert drawn.axes[1].get_xlabel() == "frequency ω (rad/s)"
    drawn = model.response(np.linspace(0, 5, 40), {"lean": 0.1}).plot("lean", "steer")
    assert len(drawn.axes[0].get_lines()) == 2


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
