"""Tables: exact against SciPy, in log n, in the interpreter and in machine code; in springs,
servos and inputs; what is wrong with them is named."""

from __future__ import annotations

import copy
import pickle
import subprocess

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from scipy.interpolate import CubicSpline, PchipInterpolator, RegularGridInterpolator

import mechgraph as mg
from mechgraph.graph.kinks import kinks, wave
from mechgraph.graph.program import trace
from mechgraph.graph.searches import data_of
from mechgraph.kernels import Kernel
from mechgraph.kernels.compiler import find_compiler
from mechgraph.show.plot import plot_tables
from mechgraph.tables.table import KINDS, OUTSIDE

X = SX.sym("x")


def points(count: int = 17) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(count)
    x, y = np.sort(random.uniform(-3, 5, count)), random.normal(size=count)
    y[-1] = y[0]
    return x, y


def places(x: np.ndarray) -> np.ndarray:
    """Knots, their neighbours among the floating-point numbers, between them and beyond."""
    near = [x, np.nextafter(x, -9), np.nextafter(x, 9)]
    return np.concatenate([*near, np.random.default_rng(1).uniform(-7, 9, 500)])


def of_scipy(kind: str, x: np.ndarray, y: np.ndarray, periodic: bool) -> object:
    if kind == "monotone":
        return PchipInterpolator(x, y)
    return CubicSpline(x, y, bc_type="periodic" if periodic else "not-a-knot")


@pytest.mark.parametrize("outside", OUTSIDE)
@pytest.mark.parametrize("kind", KINDS)
def test_expressions_are_numbers_bit_by_bit(kind, outside):
    x, y = points()
    table = mg.table(x, y, kind=kind, outside=outside)
    for each in (table, table.derivative, table.integral):
        f = ca.Function("f", [X], [each(X)])
        found = np.array(f(places(x)[None])).ravel()
        assert np.array_equal(found, each(places(x)), equal_nan=True)


@pytest.mark.parametrize("kind", ["monotone", "smooth"])
@pytest.mark.parametrize("outside", ["hold", "repeat"])
def test_cubics_are_those_of_scipy(kind, outside):
    x, y = points()
    table = mg.table(x, y, kind=kind, outside=outside)
    peer = of_scipy(kind, x, y, outside == "repeat")
    inside = np.linspace(x[0], x[-1], 1001)
    for own, other in (
        (table, peer),
        (table.derivative, peer.derivative()),
        (table.derivative.derivative, peer.derivative(2)),
        (table.integral, peer.antiderivative()),
    ):
        assert np.allclose(own(inside[:-1]), other(inside[:-1]), rtol=1e-12, atol=1e-11)
    f = ca.Function("f", [X], [ca.gradient(table(X), X), ca.hessian(table(X), X)[0]])
    slope, bend = (np.array(out).ravel() for out in f(inside[None, :-1]))
    assert np.allclose(slope, peer(inside[:-1], 1), rtol=1e-12, atol=1e-11)
    assert np.allclose(bend, peer(inside[:-1], 2), rtol=1e-12, atol=1e-10)


def test_lines_and_steps_are_those_of_numpy():
    x, y = points()
    at = places(x)
    assert np.allclose(mg.table(x, y)(at), np.interp(at, x, y), rtol=1e-14, atol=1e-15)
    held = y[np.clip(np.searchsorted(x, at, side="right") - 1, 0, None)]
    assert np.array_equal(mg.table(x, y, kind="hold")(at), held)
    area = mg.table(x, y).integral
    assert area(x[-1]) == pytest.approx(np.trapezoid(y, x), rel=1e-13)


@pytest.mark.parametrize("kind", KINDS)
def test_two_points_are_enough(kind):
    table = mg.table([1.0, 3.0], [2.0, 2.0], kind=kind, outside="refuse")
    f = ca.Function("f", [X], [table(X)])
    assert [float(f(at)) for at in (1.0, 2.2, 3.0)] == [2.0, 2.0, 2.0]
    assert np.isnan([float(f(at)) for at in (0.99, 3.01)]).all()


def test_beyond_the_ends():
    x, y = np.array([0.0, 1.0, 2.0]), np.array([0.0, 1.0, 3.0])
    for outside, low, high in (("hold", 0.0, 3.0), ("extend", -2.0, 5.0)):
        table = mg.table(x, y, outside=outside)
        assert (table(-2.0), table(3.0)) == pytest.approx((low, high), rel=1e-14)
    smooth = mg.spline(x, y, outside="extend")
    assert smooth(5.0) == pytest.approx(3.0 + 3.0 * CubicSpline(x, y)(2.0, 1))
    refusing = mg.table(x, y, outside="refuse")
    assert np.isnan(refusing([-1e-9, 2.0 + 1e-9])).all()
    assert refusing(2.0) == 3.0
    angle = np.linspace(0, 2 * np.pi, 41)
    wave = mg.spline(angle, [*np.sin(angle[:-1]), 0.0], outside="repeat")
    assert wave(1.0 - 6 * np.pi) == pytest.approx(wave(1.0), abs=1e-14)
    assert wave.derivative(2 * np.pi) == pytest.approx(wave.derivative(0.0), abs=1e-9)
    twice = mg.spline(x, y, outside="extend").integral.integral
    f = ca.Function("f", [X], [twice(X)])
    expected = CubicSpline(x, y).antiderivative(2)(1.7)
    assert float(f(1.7)) == twice(1.7) == pytest.approx(expected, rel=1e-13)
    ramp = mg.table([0, 1], [2, 2], outside="repeat").integral
    assert ramp(3.5) == pytest.approx(7.0)
    assert ramp(-0.5) == pytest.approx(-1.0)


@pytest.mark.parametrize("n", [100, 10_000])
def test_the_cost_does_not_grow_with_the_points(n):
    x = np.linspace(0, 1, n)
    table = mg.spline(x, np.sin(9 * x))
    small = mg.spline(x[::10], np.sin(9 * x[::10]))
    programs = [trace(ca.Function("f", [X], [ca.gradient(t(X), X)])) for t in (table, small)]
    assert programs[0].operations == programs[1].operations < 30
    looked = _looks(x, 0.37)
    assert looked <= np.ceil(np.log2(n)) + 1


def _looks(knots: np.ndarray, x: float) -> int:
    """How many knots the search of lanes.h looks at."""
    low, high, count = 0, len(knots), 0
    while low < high:
        middle, count = (low + high) // 2, count + 1
        low, high = (low, middle) if x < knots[middle] else (middle + 1, high)
    assert low == np.searchsorted(knots, x, side="right")
    return count


@pytest.mark.skipif(find_compiler() is None, reason="needs a compiler")
@pytest.mark.parametrize("kind", KINDS)
def test_machine_code_finds_the_same_pieces(kind):
    x, y = points()
    table = mg.table(x, y, kind=kind, outside="refuse")
    result = ca.vertcat(table.search(X), table(X), ca.gradient(table(X), X))
    kernel = Kernel("table", [X], [result], [1])
    interpreted = kernel(places(x)[:, None])[0]
    assert kernel.compile()
    compiled = kernel(places(x)[:, None])[0]
    single = np.array([kernel(np.array([[at]]))[0][0] for at in places(x)])
    count = table.search.numel_out(0)
    for found in (compiled, single):
        assert np.array_equal(found[:, :count], interpreted[:, :count], equal_nan=True)
        assert np.allclose(found, interpreted, rtol=1e-13, atol=1e-13, equal_nan=True)


def test_a_search_carries_its_data():
    """As it does into another process."""
    table = mg.spline(*points(), outside="refuse")
    again = ca.Function.deserialize(table.search.serialize({}))
    knots, columns = data_of(again)
    assert np.array_equal(knots, table.knots)
    assert np.array_equal(columns[:, 1:], table.pieces, equal_nan=True)
    assert pickle.loads(pickle.dumps(table)) == copy.deepcopy(table) == table


def test_kinks_are_one_wave_through_the_stops():
    table = mg.table([0, 1, 4, 5, 6], [0, 1, 0, 1, 2])
    surface = kinks(table(X) ** 2)
    f = ca.Function("f", [X], [surface])
    assert surface.numel() == 1
    stops = [0, 1, 4, 6]  # at 5 it goes straight on
    assert np.allclose([float(f(stop)) for stop in stops], 0, atol=1e-15)
    signs = [np.sign(float(f(at))) for at in (-0.5, 0.5, 1.5, 3.5, 5, 6.5)]
    assert signs == [-1, 1, -1, 1, -1, 1]


# --- over x and y ---------------------------------------------------------------------------------


def grid() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    random = np.random.default_rng(0)
    x, y = np.sort(random.uniform(0, 3, 6)), np.sort(random.uniform(-1, 1, 7))
    return x, y, random.normal(size=(6, 7))


def test_grids_are_those_of_scipy():
    x, y, z = grid()
    a, b = np.random.default_rng(1).uniform(size=(2, 100))
    a, b = x[0] + a * np.ptp(x), y[0] + b * np.ptp(y)
    lines = RegularGridInterpolator((x, y), z)(np.column_stack([a, b]))
    assert np.allclose(mg.table(x, y, z)(a, b), lines, rtol=1e-13, atol=1e-14)
    smooth = mg.spline(x, y, z)
    peer = [CubicSpline(y, CubicSpline(x, z)(one))(other) for one, other in zip(a, b, strict=True)]
    assert np.allclose(smooth(a, b), peer, rtol=1e-11, atol=1e-11)
    Y = SX.sym("y")
    slopes = ca.Function("f", [X, Y], [ca.gradient(smooth(X, Y), X), ca.gradient(smooth(X, Y), Y)])
    found = [np.array(out).ravel() for out in slopes(a[None], b[None])]
    along_x = [
        CubicSpline(y, CubicSpline(x, z)(one, 1))(other) for one, other in zip(a, b, strict=True)
    ]
    along_y = [
        CubicSpline(y, CubicSpline(x, z)(one))(other, 1) for one, other in zip(a, b, strict=True)
    ]
    assert np.allclose(found, [along_x, along_y], rtol=1e-10, atol=1e-10)
    assert kinks(mg.table(x, y, z)(X, Y)).numel() == 6  # four ends, and a wave along each axis


def test_beyond_the_edges_of_a_grid():
    x, y, z = grid()
    ends = float(x[-1]), float(y[0])
    for kind in ("linear", "smooth"):
        held = mg.table(x, y, z, kind=kind)
        assert held(ends[0] + 1, ends[1] - 2) == held(*ends) == pytest.approx(z[-1, 0], rel=1e-12)
        far = mg.table(x, y, z, kind=kind, outside="extend")
        step = 1e-6
        slope = (held(ends[0], ends[1]) - held(ends[0] - step, ends[1])) / step
        assert far(ends[0] + 2, ends[1]) == pytest.approx(z[-1, 0] + 2 * slope, rel=1e-4)
        refusing = mg.table(x, y, z, kind=kind, outside="refuse")
        assert np.isnan(refusing(ends[0] + 1, 0.0))
        assert refusing(1.0, 0.0) == held(1.0, 0.0)


@pytest.mark.skipif(find_compiler() is None, reason="needs a compiler")
def test_a_grid_in_machine_code_and_in_print():
    s, (x, y, z) = pendulum(), grid()
    drag = mg.spline(x, y, z, name="drag")
    s.torque("motor", "hinge", lambda m: drag(m.coordinate("hinge"), m.speed("hinge")))
    eqs = s.equations("lagrange")
    assert "drag(" in str(eqs.show())
    states = np.random.default_rng(2).uniform(-1, 3, size=(2, 50, 1))
    interpreted = eqs.accelerations(*states)
    eqs.compile()
    assert np.allclose(eqs.accelerations(*states), interpreted, rtol=1e-12, atol=1e-12)


# --- in systems -----------------------------------------------------------------------------------


def pendulum(**options: object) -> mg.System:
    s = mg.System("pendulum", gravity=(0, 0, -9.81))
    rod = s.body("rod", mass=1.0, com=(0, 0, -1), inertia=(0.1, 0.1, 0.1))
    s.revolute("hinge", s.ground, rod, axis="y", **options)
    return s


def sprung() -> mg.System:
    s = pendulum(
        stiffness=mg.spline([-3, -1, 0, 1, 3], [-2, -1.5, 0, 1, 4], outside="extend", name="soft")
    )
    lower = s.body("lower", mass=0.7, com=(0, 0, -0.5), inertia=(0.05, 0.04, 0.03))
    s.revolute("knee", "rod", lower, axis="y", at=(0, 0, -2))
    rope = mg.table([-1, 0, 0.5, 2], [-1, 0, 5, 9], outside="extend", name="rope")
    s.spring_damper(
        "rope", s.marker("end", lower, at=(0, 0, -1)), s.ground, stiffness=rope, length=2.0
    )
    return s  # fmt: skip


@pytest.mark.parametrize("formalism", ["newton-euler", "lagrange"])
def test_a_tabled_spring_keeps_its_energy(formalism):
    run = sprung().equations(formalism).simulate(2.0, {"hinge": 0.8, "knee": -0.4}, rtol=1e-10)
    assert np.ptp(run.energy) < 1e-7 * np.abs(run.energy).max()


def test_formalisms_agree_with_tables():
    report = mg.agreement(sprung(), formalisms=["newton-euler", "kane", "lagrange"])
    assert report.ok, report


def test_a_table_in_a_unit_is_the_same():
    inner, outer = sprung(), mg.System("outer", gravity=(0, 0, -9.81))
    outer.place("unit", inner)
    state = [0.3, 0.2], [0.1, 0.4]
    assert np.allclose(
        outer.equations().accelerations(*state), inner.equations().accelerations(*state), rtol=1e-13
    )
    assert pickle.loads(pickle.dumps(inner.snapshot())) == inner.snapshot()


def test_it_is_printed_by_its_name():
    s, soft = pendulum(), mg.spline([-1, 0, 1], [-2, 0, 1], name="soft")
    s.torque("motor", "hinge", lambda m: soft(m.coordinate("hinge")) * m.speed("hinge"))
    text = str(s.equations("lagrange").show())
    assert "hinge'·soft(hinge)" in text
    assert "search" not in text


@pytest.mark.skipif(find_compiler() is None, reason="needs a compiler")
def test_exported_c_has_the_data_and_no_warning(tmp_path):
    sprung().equations().export_c(tmp_path / "model")
    strict = ["-Wall", "-Wextra", "-pedantic", "-Wconversion", "-Werror", "-ffp-contract=off"]
    files = [str(tmp_path / name) for name in ("model.c", "model_test.c")]
    program = str(tmp_path / "check")
    subprocess.run(["cc", "-std=c11", "-O2", *strict, *files, "-lm", "-o", program], check=True)
    told = subprocess.run([program], check=True, capture_output=True, text=True).stdout
    assert "forces                 right, relative error 0.0e+00" in told


@pytest.mark.parametrize("kind", KINDS)
def test_default_tolerances_hold_over_knots(kind):
    """100 knots: an error of about the tolerance for each step, and less for a smaller one."""
    s, times = pendulum(), np.linspace(0, 4, 101)
    s.torque("motor", "hinge", s.input("torque"))
    drawn = np.random.default_rng(3).normal(size=101)
    torque = {"torque": mg.table(times, drawn, kind=kind)}
    runs = [
        s.equations().simulate(4.0, {"hinge": 0.5}, inputs=torque, rtol=rtol)["hinge"]
        for rtol in (1e-8, 1e-10, 1e-12)
    ]
    errors = [np.abs(run - runs[-1]).max() for run in runs[:2]]
    assert errors[0] < 1e-6
    assert errors[1] < 1e-8


@pytest.mark.parametrize("monotone", [True, False])
def test_a_bump_is_not_stepped_over(monotone):
    """A force of a hundredth of a second, after ten seconds of rest."""
    s = mg.System("cart")
    s.prismatic("x", s.ground, s.body("cart", mass=1.0, inertia=(1, 1, 1)), axis="x")
    s.torque("push", "x", s.input("force"))
    times = [*np.linspace(0, 9.99, 100), 10.0, *np.linspace(10.01, 20, 100)]
    bump = mg.spline(times, np.eye(201)[100], monotone=monotone)
    run = s.equations().simulate(20.0, inputs={"force": bump})
    assert run["x'"][-1] == pytest.approx(bump.integral(20.0), rel=1e-6)


# --- time series ----------------------------------------------------------------------------------


def motor() -> tuple[mg.Equations, np.ndarray, np.ndarray]:
    s, times = pendulum(), np.linspace(0, 2, 21)
    s.torque("motor", "hinge", s.input("torque"))
    return s.equations(), times, np.sin(3 * times)


def test_points_as_inputs():
    eqs, times, values = motor()
    run = eqs.simulate(2.0, {"hinge": 0.3}, inputs={"torque": (times, values)})
    table = mg.table(times, values)(eqs.system.time)
    other = eqs.simulate(2.0, {"hinge": 0.3}, inputs={"torque": table})
    signal = {"torque": lambda t: float(np.interp(t, times, values))}
    python = eqs.simulate(2.0, {"hinge": 0.3}, inputs=signal, rtol=1e-9)
    assert np.allclose(run["hinge"], other["hinge"], rtol=0, atol=1e-12)
    assert np.allclose(run["hinge"], python["hinge"], atol=1e-8)
    assert np.allclose(run["torque"], np.interp(run.time, times, values), atol=1e-14)
    steps = eqs.simulate(2.0, inputs={"torque": (times, values, "hold")})
    assert steps["torque"][3] == values[0]


def test_points_in_rollouts_and_on_arrays():
    eqs, times, values = motor()
    given = {"torque": (times, values)}
    run = eqs.simulate(2.0, {"hinge": 0.3}, inputs=given, rtol=1e-10)
    ends = [
        eqs.rollout([[0.3]], [[0.0]], step=2.0 / n, steps=n, inputs=given).q[0, -1, 0]
        for n in (500, 1000)
    ]
    errors = [abs(end - run["hinge"][-1]) for end in ends]
    assert errors[1] < 0.6 * errors[0] < 1e-3  # held over each step: first order
    t = np.array([0.05, 0.5, 1.2])
    state = np.full((3, 1), 0.3), np.zeros((3, 1)), t
    looked_up = {"torque": np.interp(t, times, values)}
    assert np.array_equal(eqs.accelerations(*state, given), eqs.accelerations(*state, looked_up))


def test_a_measured_motion_drives_a_joint():
    s, times = pendulum(), np.linspace(0, 2, 21)
    motion = mg.spline(times, np.sin(3 * times), name="measured")
    s.servo("drive", "hinge", motion(s.time))
    run = s.equations().simulate(2.0)
    bend = motion.derivative.derivative(run.time)
    assert np.allclose(run["hinge"], motion(run.time), atol=1e-13)
    assert np.allclose(run["hinge''"], bend, rtol=1e-11, atol=1e-11)
    assert np.allclose(
        run["drive"], 1.1 * bend + 9.81 * np.sin(run["hinge"]), rtol=1e-10, atol=1e-10
    )


# --- bad input ------------------------------------------------------------------------------------

BAD = {
    "must rise from point to point, but value 1": lambda: mg.table([1, 0], [0, 1]),
    "leave out those that are there twice": lambda: mg.table([0, 1, 1], [0, 1, 2]),
    "needs at least two": lambda: mg.spline([0], [0]),
    "3 values of x and 2 of y": lambda: mg.table([0, 1, 2], [0, 1]),
    "value 1 is nan": lambda: mg.table([0, 1], [0, float("nan")]),
    "must be numbers, got 'points'": lambda: mg.table("points", [0, 1]),
    "kind must be 'linear', 'hold'": lambda: mg.table([0, 1], [0, 1], kind="cubic"),
    "outside must be 'hold', 'extend'": lambda: mg.table([0, 1], [0, 1], outside="wrap"),
    "make the last point the first one": lambda: mg.table([0, 1], [0, 1], outside="repeat"),
    "a word of letters and digits": lambda: mg.table([0, 1], [0, 1], name="gas pressure"),
    "takes a number or an expression such as": lambda: mg.table([0, 1], [0, 1])(object()),
    "call it first": lambda: pendulum().servo("s", "hinge", mg.table([0, 1], [0, 1])),
    "use mg.table(x, y)": lambda: np.interp(X, [0, 1], [0, 1]),
    "a row for each x and a column for each y, 2 by 3": lambda: mg.table(
        [0, 1], [0, 1, 2], [[0, 1], [2, 3], [4, 5]]
    ),
    "kind of a table over x and y must be": lambda: mg.spline(
        [0, 1], [0, 1], np.eye(2), monotone=True
    ),
    "the integral of an integral does not repeat": lambda: (
        mg.table([0, 1], [1, 1], outside="repeat").integral.integral
    ),
    "the lower bound 2 is not below": lambda: mg.clip(X, 2, 1),
}


@pytest.mark.parametrize("message", BAD)
def test_what_is_wrong_is_named(message):
    with pytest.raises(mg.ModelError, match=message.replace("(", r"\(").replace(")", r"\)")):
        BAD[message]()


@pytest.mark.parametrize(
    ("message", "change"),
    [
        ("input 'torque': times must rise", lambda t, v: (t[::-1], v)),
        ("input 'torque': times has 1 points", lambda t, v: (t[:1], v[:1])),
        ("input 'torque': 21 values of x and 20 of y", lambda t, v: (t, v[1:])),
        ("input 'torque': values: value 2 is nan", lambda t, v: (t, np.where(t > 0.15, np.nan, v))),
        ("has data from t = 0 to 1, and is asked for from 0 to 2", lambda t, v: (t / 2, v)),
    ],
)
def test_bad_series_are_named(message, change):
    eqs, times, values = motor()
    with pytest.raises(mg.ArgumentError, match=message):
        eqs.simulate(2.0, inputs={"torque": change(times, values)})


def test_a_table_that_refuses_is_named():
    eqs, times, values = motor()
    with pytest.raises(mg.SimulationError, match="'data' has points from 0 to 1, refuses") as error:
        table = mg.table(times / 2, values, outside="refuse", name="data")
        eqs.simulate(2.0, inputs={"torque": table})
    assert error.value.trajectory.time[-1] == pytest.approx(1.0, abs=0.005)


def test_functions_of_numpy_work_or_say_what_to_use():
    for function in (np.sin, np.arcsin, np.floor, np.sign, np.abs, np.tanh, np.exp):
        f = ca.Function("f", [X], [function(X)])
        assert float(f(0.3)) == pytest.approx(function(0.3), rel=1e-15)
    f = ca.Function("f", [X], [np.clip(X, 0, 1), mg.clip(X, 0, 1), mg.smooth_step(X, 1, 3)])
    for at in (-0.5, 0.3, 1.5, 2.0, 4.0):
        clipped, own, step = (float(out) for out in f(at))
        s = np.clip((at - 1) / 2, 0, 1)
        assert clipped == own == np.clip(at, 0, 1)
        assert step == pytest.approx(s**3 * (10 - 15 * s + 6 * s * s))


def test_agreement_names_a_table_that_refuses():
    s, narrow = pendulum(), mg.table([-0.01, 0.01], [0, 1], outside="refuse", name="narrow")
    s.torque("motor", "hinge", lambda m: narrow(m.coordinate("hinge")))
    with pytest.raises(mg.ArgumentError, match="table 'narrow' has points from -0"):
        mg.agreement(s, formalisms=["kane"])


def test_a_smooth_curve_of_many_points_has_few_stops():
    x = np.linspace(-3, 3, 10_000)
    s, curve = pendulum(), mg.spline(x, np.sin(3 * x))
    s.torque("motor", "hinge", lambda m: curve(m.coordinate("hinge")))
    stops = data_of(wave(curve.search))[0]
    assert 10 < len(stops) < 100
    other = pendulum()
    other.torque("motor", "hinge", lambda m: mg.sin(3 * m.coordinate("hinge")))
    runs = [each.equations().simulate(3.0, {"hinge": 1.0})["hinge"] for each in (s, other)]
    assert np.allclose(*runs, atol=1e-8)
    noise = mg.spline(x, np.random.default_rng(0).normal(size=len(x)))
    stops = data_of(wave(noise.search))[0]
    assert len(x) - 3 <= len(stops) <= len(x) + 1


def test_a_report_draws_the_tables():
    s = pendulum(stiffness=mg.table([-1, 0, 1], [-2, 0, 1], name="soft"))
    figure = plot_tables(s.equations("kane"))["soft"]
    (line,) = figure.axes[0].get_lines()
    assert np.allclose(line.get_ydata(), np.interp(line.get_xdata(), [-1, 0, 1], [-2, 0, 1]))


@pytest.mark.parametrize("kind", ["linear", "smooth", "hold"])
def test_a_grid_may_repeat_along_one_axis_and_not_along_the_other(kind):
    """f(x) g(y), periodic in x and held in y: what the two tables over one number give."""
    x, y = np.array([0.0, 0.4, 1.1, 1.7, 2.0]), np.array([-1.0, 0.2, 0.7, 1.5])
    f, g = np.array([1.0, 3.0, -2.0, 0.5, 1.0]), np.array([2.0, -1.0, 0.4, 1.0])
    grid = mg.table(x, y, np.outer(f, g), kind=kind, outside=("repeat", "hold"))
    one = mg.table(x, f, kind=kind, outside="repeat"), mg.table(y, g, kind=kind)
    random = np.random.default_rng(1)
    a, b = random.uniform(-7, 9, 200), random.uniform(-1, 1.49, 200)
    assert np.allclose(grid(a, b), one[0](a) * one[1](b), rtol=0, atol=1e-12)
    if kind != "hold":
        assert np.allclose(grid(a, 3.0), one[0](a) * g[-1], rtol=0, atol=1e-12)
    for outside, words in ((("hold", "repeat"), "along y"), (("hold", "twice"), "outside")):
        with pytest.raises(mg.ModelError, match=words):
            mg.table(x, y, np.outer(f, g), outside=outside)


# --- where there is no value ----------------------------------------------------------------------


def _valueless(kind: str) -> mg.Equations:
    s = mg.System("arm", gravity=(0, 0, -9.81))
    s.revolute("h", s.ground, s.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1)))
    laws = {
        "table": lambda m: mg.table([-1, 1], [1, -1], outside="refuse", name="soft")(
            m.coordinate("h")
        ),
        "root": lambda m: mg.sqrt(1 - m.coordinate("h")),
    }
    s.torque("law", "h", laws[kind])
    s.torque("motor", "h", s.input("w"))
    return s.equations()


VERBS = {
    "accelerations": lambda e, q: e.accelerations(q, 0 * q),
    "forces": lambda e, q: e.forces(q, 0 * q),
    "solve": lambda e, q: e.solve(q, 0 * q),
    "efforts": lambda e, q: e.efforts(q, 0 * q, 0 * q),
    "jacobian": lambda e, q: e.jacobian("accelerations", "q", q, 0 * q),
    "observe": lambda e, q: e.observe("h''", q, 0 * q),
    "reaction": lambda e, q: e.reaction("h", q, 0 * q),
    "inverse": lambda e, q: e.inverse_dynamics(q[None], 0 * q[None], 0 * q[None]),
}


@pytest.mark.parametrize("verb", VERBS)
def test_no_verb_is_silent_beyond_a_table_that_refuses(verb):
    """In the interpreter, in machine code and in a batch; within the table they answer."""
    e, ask = _valueless("table"), VERBS[verb]
    for _ in range(2):
        ask(e, np.array([0.9]))
        with pytest.raises(mg.ArgumentError, match=r"'soft' has points from -1 to 1.* is at 2;"):
            ask(e, np.array([2.0]))
        e.compile()
    with pytest.raises(mg.ArgumentError, match="is at 3;"):
        e.accelerations([[0.5], [3.0], [2.0]], np.zeros((3, 1)))


def test_searches_may_try_states_beyond_a_table_and_failures_name_it():
    e = _valueless("table")
    assert abs(e.forces(*e.equilibrium({"h": 0.8})[:2])[0]) < 1e-9
    with pytest.raises(mg.AssemblyError, match="table 'soft' has points"):
        e.equilibrium({"h": 2.0})
    with pytest.raises(mg.ArgumentError, match="table 'soft' has points"):
        e.linearize({"h": 2.0})
    with pytest.warns(UserWarning, match=r"number 0 is lost after t = 0 s: table 'soft'"):
        e.rollout([2.0], [0.0], step=0.01, steps=2)


@pytest.mark.parametrize("verb", VERBS)
def test_a_force_without_a_value_is_named(verb):
    e = _valueless("root")
    VERBS[verb](e, np.array([0.9]))
    with pytest.warns(UserWarning, match="torque 'law' has no value at this state"):
        VERBS[verb](e, np.array([2.0]))


def test_gauss_does_not_find_speeds_of_tables_in_the_mass_matrix():
    """The force of a table in two variables is no part of what M is derived from."""
    s = mg.System("tabled", gravity=(0, 0, -9.81))
    s.body("rod", 1.0, (0, 0, -0.5), (0.1, 0.1, 0.01))
    s.revolute("hinge", "ground", "rod", axis="y")
    values = np.outer(np.arange(4.0), [1.0, 2.0, 0.5])
    table = mg.table([-2, -1, 1, 2], [-9, 0, 9], values, kind="smooth", outside="hold")
    s.torque("motor", "hinge", lambda m: table(m.coordinate("hinge"), m.speed("hinge")))
    s.servo("drive", "hinge", 0.1 * mg.sin(s.time))
    run = s.equations("gauss").simulate(0.2, step=0.1)
    assert np.allclose(run["hinge"], 0.1 * np.sin(run.time), atol=1e-9)
