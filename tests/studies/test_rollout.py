"""Motions in machine code: rollouts with a fixed step, and the error-controlled method ``rk8``.

Oracles are closed forms, CVODES, and the same rollouts in NumPy, which run where there is no
compiler.
"""

from __future__ import annotations

import logging
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mechgraph as mg
from mechgraph.kernels import compiler
from mechgraph.studies.simulation import simulate as module


@cache
def arm() -> mg.Equations:
    """Two bars, a motor between them, a mass that is a parameter, a force that is a function of
    time."""
    system = mg.System("arm", gravity=(0, 0, -9.81))
    load = system.parameter("load", 0.8)
    upper = system.body("upper", mass=1.0, com=(0, 0, -0.5), inertia=(0.08, 0.08, 0.001))
    lower = system.body("lower", mass=load, com=(0, 0, -0.4), inertia=(0.05, 0.05, 0.001))
    system.revolute("shoulder", system.ground, upper, axis="y")
    system.revolute("elbow", upper, lower, axis="y", at=(0, 0, -1.0))
    system.torque("motor", "elbow", system.input("torque"))
    system.force("push", lower, (mg.sin(system.time), 0, 0))
    return system.equations()


@cache
def four_bar() -> mg.Equations:
    system = mg.System("four-bar", gravity=(0, 0, -9.8))
    a = system.body("A", mass=2.0, com=(0.5, 0, 0), inertia=(0.02, 0.26, 0.26))
    b = system.body("B", mass=2.0, com=(1, 0, 0), inertia=(0.02, 0.7, 0.7))
    c = system.body("C", mass=1.0, com=(0.75, 0, 0), inertia=(0.02, 0.3, 0.3))
    system.revolute("qA", system.ground, a, axis="y")
    system.revolute("qB", a, b, axis="y", at=(1, 0, 0))
    system.revolute("qC", system.ground, c, axis="y", at=(2, 0, 0))
    system.revolute("close", b, c, axis="y", at=(2, 0, 0), child_at=(1.5, 0, 0))
    system.torque("motor", "qA", system.input("torque"))
    return system.equations()


@cache
def top() -> mg.Equations:
    """A heavy top on a ball joint: quaternions."""
    system = mg.System("top", gravity=(0, 0, -9.81))
    body = system.body(
        "body", mass=system.parameter("mass", 1.0), com=(0, 0, 0.3), inertia=(0.15, 0.15, 0.05)
    )
    system.spherical("ball", system.ground, body)
    return system.equations()


@cache
def start(equations: Any) -> tuple[np.ndarray, np.ndarray]:
    if equations is four_bar:
        return four_bar().assemble({"qA": -1.3, "qA'": 1.0}, guess={"qB": 1.0, "qC": -1.2})
    if equations is top:
        return top().assemble(
            {"ball": (np.cos(0.2), np.sin(0.2), 0, 0), "ball.wz": 12.0, "ball.wx": 0.5}
        )
    return arm().assemble({"shoulder": 0.7, "elbow": -0.4, "elbow'": 1.0})


def starts(equations: Any, count: int) -> tuple[np.ndarray, np.ndarray]:
    """Several states, near each other and consistent."""
    q, u = start(equations)
    factors = 1 + 0.2 * np.arange(count)[:, None] / count
    return np.repeat(q[None], count, axis=0), u * factors


@cache
def reference(equations: Any) -> mg.Trajectory:
    return equations().simulate(0.5, start(equations), step=0.1, rtol=1e-13)


SYSTEMS = [arm, four_bar, top]
METHODS = {"rk4": 4, "symplectic": 1}


@pytest.fixture
def warnings_of(caplog):
    caplog.set_level(logging.DEBUG, "mechgraph")
    return lambda: [
        record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING
    ]


@pytest.fixture
def no_compiler(monkeypatch):
    monkeypatch.setenv("MECHGRAPH_CC", "none")


def without_compiler(equations: mg.Equations, *arguments: Any, **options: Any) -> Any:
    """The same rollout in NumPy."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MECHGRAPH_CC", "none")
        return mg.Equations(equations.terms, equations.closure).rollout(*arguments, **options)


def gap(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max(initial=0))


# --- rollouts -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("equations", SYSTEMS)
def test_halving_the_step_shows_the_order(equations, method):
    run, (q, u) = reference(equations), start(equations)
    errors = []
    for steps in (200, 400):
        out = equations().rollout(
            q, u, step=0.5 / steps, steps=steps, every=steps // 5, method=method
        )
        assert out.q.shape == (1, *run.q.shape)
        assert np.allclose(out.time, run.time, rtol=0, atol=1e-14)
        errors.append(max(gap(out.q[0], run.q), gap(out.u[0], run.u)))
    assert errors[0] / errors[1] == pytest.approx(2 ** METHODS[method], rel=0.1)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("equations", SYSTEMS)
def test_machine_code_and_numpy_agree(equations, method):
    """With inputs for each step of each trajectory, and parameters for each trajectory.

    The ways back to the constraints differ in second order of the drift, which is large for Euler's
    method.
    """
    eqs, random = equations(), np.random.default_rng(0)
    q, u = starts(equations, 5)
    options = {
        "step": 0.005,
        "steps": 40,
        "every": 8,
        "t": 0.3,
        "method": method,
        "inputs": random.standard_normal((5, 40, len(eqs.inputs))),
        "parameters": random.uniform(0.7, 0.9, (5, len(eqs.parameters))),
    }
    native, plain = eqs.rollout(q, u, **options), without_compiler(eqs, q, u, **options)
    assert (native.tier, plain.tier) == ("machine code", "interpreter")
    assert native.q.shape == (5, 6, len(eqs.coordinates))
    tolerance = 1e-8 if (equations, method) == (four_bar, "symplectic") else 1e-11
    assert gap(native.q, plain.q) < tolerance
    assert gap(native.u, plain.u) < 10 * tolerance
    assert gap(native.u[0], native.u[1]) > 1e-3


def test_inputs_may_be_told_in_many_ways():
    eqs, (q, u) = arm(), starts(arm, 3)
    torque = np.linspace(-1, 1, 30)

    def run(inputs: Any) -> np.ndarray:
        return eqs.rollout(q, u, step=0.01, steps=30, inputs=inputs).q

    each_step = run(torque[:, None])
    assert np.array_equal(run({"torque": torque}), each_step)
    assert np.array_equal(run(np.repeat(torque[None, :, None], 3, axis=0)), each_step)
    assert np.array_equal(run(torque[None, :, None]), each_step)
    assert gap(each_step, run(None)) > 1e-2
    assert np.array_equal(run([0.5]), run({"torque": 0.5}))
    assert np.array_equal(run([0.5]), run(np.full((30, 1), 0.5)))
    assert np.array_equal(run(None), run([0.0]))
    scales = np.array([1.0, 2.0, 3.0])
    mixed = run(scales[:, None, None] * torque[:, None])
    assert np.array_equal(mixed[0], each_step[0])
    assert np.array_equal(mixed[1], run(2 * torque[:, None])[1])


def test_expressions_of_time_are_inputs():
    eqs, (q, u) = arm(), starts(arm, 3)
    t = eqs.terms.symbols.t
    told = [{"torque": mg.sin(3 * t)}, {"torque": lambda m: mg.sin(3 * m.time)}]
    runs = [eqs.rollout(q, u, step=1e-3, steps=300, inputs=inputs) for inputs in told]
    assert gap(runs[0].q, runs[1].q) < 1e-14
    known = eqs.simulate(0.3, (q[1], u[1]), inputs=told[0])
    assert gap(runs[0].q[1, -1], known.q[-1]) < 1e-9


def test_inputs_are_held_over_the_step_in_which_they_are_told():
    """A mass pushed in the second of three steps only: its speed is the impulse over its mass."""
    system = mg.System("puck", gravity=(0, 0, 0))
    system.prismatic(
        "x",
        system.ground,
        system.body("puck", mass=2.0, com=(0, 0, 0), inertia=(1, 1, 1)),
        axis="x",
    )
    system.torque("motor", "x", system.input("push"))
    for method in METHODS:
        run = system.equations().rollout(
            [0.0], [0.0], step=0.5, steps=3, inputs=[[0.0], [6.0], [0.0]], method=method
        )
        assert np.allclose(run["x'"][0], [0, 0, 1.5, 1.5], rtol=1e-15)
    assert np.allclose(run["x"][0], [0, 0, 0.75, 1.5], rtol=1e-15)  # symplectic: with the new speed


def test_parameters_of_each_trajectory():
    eqs, (q, u) = arm(), start(arm)
    loads = np.linspace(0.5, 1.2, 5)
    swept = eqs.rollout(q, u, step=0.01, steps=20, parameters={"load": loads})
    assert swept.q.shape == (5, 21, 2)
    assert np.array_equal(
        eqs.rollout(q, u, step=0.01, steps=20, parameters=loads[:, None]).q, swept.q
    )
    for load, trajectory in zip(loads, swept.q, strict=True):
        assert (
            gap(eqs.rollout(q, u, step=0.01, steps=20, parameters={"load": load}).q[0], trajectory)
            < 1e-14
        )
    assert gap(swept.q[0], swept.q[4]) > 1e-3


@pytest.mark.smoke
def test_records_of_some_steps_are_those_of_all():
    eqs, (q, u) = four_bar(), starts(four_bar, 3)
    fine, coarse = (eqs.rollout(q, u, step=0.002, steps=60, every=every) for every in (1, 20))
    assert np.array_equal(fine.q[:, ::20], coarse.q)
    assert np.array_equal(fine.u[:, ::20], coarse.u)
    assert np.allclose(coarse.time, [0, 0.04, 0.08, 0.12])
    assert np.array_equal(coarse["qA"], coarse.q[..., eqs.coordinates.index("qA")])
    with pytest.raises(mg.ArgumentError, match="qA"):
        coarse["qa"]


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_trajectories_do_not_know_of_each_other(threads):
    """Whatever their number, the threads and the lanes that they share."""
    eqs, most = arm(), 2 * compiler.lanes() + 1
    q, u = starts(arm, most)
    whole = eqs.rollout(q, u, step=0.01, steps=20).q
    for count in (1, 2, most - 1, most):
        assert np.array_equal(
            eqs.rollout(q[-count:], u[-count:], step=0.01, steps=20, threads=threads).q,
            whole[-count:],
        )


def test_no_trajectories():
    run = arm().rollout(np.zeros((0, 2)), np.zeros((0, 2)), step=0.01, steps=10, threads=3)
    assert run.q.shape == (0, 11, 2)


@pytest.mark.parametrize("method", METHODS)
def test_loops_stay_closed(method):
    eqs, (q, u) = four_bar(), starts(four_bar, 4)
    run = eqs.rollout(q, u, step=0.005, steps=200, every=10, method=method)
    assert gap(eqs.position_violation(run.q), 0) < 1e-12
    assert gap(eqs.velocity_violation(run.q, run.u), 0) < 1e-12


@pytest.mark.parametrize("method", METHODS)
def test_quaternions_stay_unit(method):
    run = top().rollout(*starts(top, 4), step=0.005, steps=200, method=method)
    assert gap(np.linalg.norm(run.q, axis=-1), 1) < 1e-15


def test_a_start_beside_the_constraints_is_brought_to_them_or_refused():
    eqs, (q, u) = four_bar(), start(four_bar)
    run = eqs.rollout(q + 1e-3, u, step=0.01, steps=1)
    assert gap(eqs.position_violation(run.q[:, 0]), 0) < 1e-12
    torn = mg.System("torn", gravity=(0, 0, 0))
    torn.prismatic(
        "x", torn.ground, torn.body("block", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1)), axis="x"
    )
    torn.constrain("impossible", position=lambda m: m.coordinate("x") ** 2 + 1)
    with pytest.raises(
        mg.ArgumentError, match=r"trajectory 0 does not begin on the constraints.*impossible"
    ):
        torn.equations().rollout([0.5], [0.0], step=0.01, steps=1)


@pytest.mark.parametrize("method", METHODS)
def test_a_trajectory_that_runs_away_is_seen_and_harms_no_other(method):
    system = mg.System("runaway", gravity=(0, 0, 0))
    body = system.body("puck", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    system.prismatic("x", system.ground, body, axis="x")
    system.force("away", body, lambda m: ca.vertcat(m.coordinate("x") ** 5, 0, 0))
    eqs = system.equations()
    calm = eqs.rollout([[0.1], [0.1]], [[0.0], [0.0]], step=0.1, steps=40, method=method).q
    mixed = eqs.rollout([[50.0], [0.1]], [[0.0], [0.0]], step=0.1, steps=40, method=method).q
    assert not np.isfinite(mixed[0, -1]).any()
    assert np.array_equal(mixed[1], calm[1])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"step": 0.0}, "step must be a positive number"),
        ({"step": np.nan}, "step must be a positive number"),
        ({"steps": 0}, "positive whole numbers.*steps=0"),
        ({"steps": 2.5}, "positive whole numbers"),
        ({"every": 3}, "divisor"),
        ({"threads": 0}, "threads=0"),
        ({"t": np.inf}, "t must be a number"),
        ({"method": "rk5"}, "unknown method 'rk5'.*rk4"),
        ({"q": np.zeros((2, 3))}, "coordinates: expected 2 numbers"),
        ({"q": np.full((2, 2), np.nan)}, "not finite"),
        ({"u": np.zeros((3, 2))}, "trajectories do not fit together"),
        ({"q": np.zeros((2, 2, 2))}, "one batch axis"),
        ({"inputs": np.zeros((4, 1))}, r"inputs: expected axes .* = \(2, 10, 1\), got \(4, 1\)"),
        ({"inputs": np.zeros((10, 2))}, "inputs: expected 1 numbers"),
        ({"inputs": np.zeros((3, 10, 1))}, "inputs: expected axes"),
        ({"inputs": {"torque": np.nan}}, "not finite"),
        ({"inputs": {"torqe": 1.0}}, "did you mean 'torque'"),
        ({"parameters": np.ones((3, 1))}, "trajectories do not fit together"),
        ({"parameters": {"mass": 1.0}}, "unknown parameter 'mass'"),
    ],
)
def test_bad_arguments_are_named(change, message):
    options = {"q": np.zeros((2, 2)), "u": np.zeros((2, 2)), "step": 0.01, "steps": 10} | change
    with pytest.raises((mg.ArgumentError, mg.UnsupportedError), match=message):
        arm().rollout(**options)


@pytest.mark.usefixtures("no_compiler")
def test_without_a_compiler_rollouts_are_interpreted_and_say_so_once(monkeypatch, warnings_of):
    monkeypatch.setattr(compiler, "_reported", set())
    fresh = mg.Equations(arm().terms)
    for _ in range(2):
        assert fresh.rollout(*starts(arm, 2), step=0.01, steps=2).tier == "interpreter"
    assert len(warnings_of()) == 1


# --- the error-controlled method ------------------------------------------------------------------


def oscillator() -> mg.System:
    """x″ = −4 x + push."""
    system = mg.System("oscillator", gravity=(0, 0, 0))
    block = system.body("block", mass=2.0, com=(0, 0, 0), inertia=(1, 1, 1))
    system.prismatic("x", system.ground, block, axis="x", stiffness=8.0)
    system.torque("motor", "x", 2 * system.input("push"))
    return system


@cache
def oscillation() -> mg.Equations:
    return oscillator().equations()


@pytest.mark.parametrize("method", ["rk8", "rk45"])
def test_the_error_falls_with_the_tolerance(method):
    errors = []
    for rtol in (1e-4, 1e-6, 1e-8, 1e-10, 1e-12):
        run = oscillation().simulate(10.0, {"x": 1.0}, method=method, rtol=rtol)
        errors.append(
            max(gap(run["x"], np.cos(2 * run.time)), gap(run["x'"], -2 * np.sin(2 * run.time)))
        )
        assert errors[-1] < (30 if method == "rk8" else 200) * rtol
    assert errors == sorted(errors, reverse=True)


def test_rk45_is_the_method_of_order_five():
    """Steps grow with the fifth root of the tolerance, six evaluations each, as many as SciPy's."""
    rtols = np.array([1e-6, 1e-8, 1e-10])
    runs = [
        oscillation().simulate(10.0, {"x": 1.0}, method="rk45", rtol=r, atol=r).statistics
        for r in rtols
    ]
    steps = np.array([run["steps"] for run in runs])
    assert np.polyfit(np.log(rtols), np.log(steps), 1)[0] == pytest.approx(-0.2, abs=0.02)
    for run, rtol in zip(runs, rtols, strict=True):
        assert run["evaluations"] < 6.5 * run["steps"] + 10
        other = solve_ivp(
            lambda t, y: [y[1], -4 * y[0], 0], (0, 10), [1, 0, 0], rtol=rtol, atol=rtol
        )
        assert run["steps"] == pytest.approx(len(other.t) - 1, rel=0.15)


@pytest.mark.parametrize("equations", SYSTEMS)
def test_it_agrees_with_a_run(equations):
    run = equations().simulate(0.5, start(equations), step=0.1, method="rk8", rtol=1e-11)
    assert gap(run.q, reference(equations).q) < 1e-9
    assert gap(run.u, reference(equations).u) < 1e-8
    assert run.violation.max() < 1e-12


def test_outputs_between_its_steps_are_as_good():
    """The grid is much finer than the steps, and does not change them."""
    fine = oscillation().simulate(10.0, {"x": 1.0}, method="rk8", rtol=1e-8, step=0.001)
    assert fine.statistics["steps"] < 150
    errors = np.abs(fine["x"] - np.cos(2 * fine.time))
    assert errors.max() < 5 * 1e-8
    coarse = oscillation().simulate(10.0, {"x": 1.0}, method="rk8", rtol=1e-8, step=2.5)
    assert gap(coarse["x"], fine["x"][::2500]) < 3e-8


def test_inputs_that_are_functions_of_time():
    """x″ = −4 x + a sin t from rest: x = a (sin t)/3 − a (sin 2t)/6, also for amplitudes that are
    printed alike."""
    t = oscillation().system.time
    for a in (1.0, 123456.7, 123456.8):
        run = oscillation().simulate(
            6.0, {}, method="rk8", rtol=1e-11, inputs={"push": a * mg.sin(t)}
        )
        assert gap(run["x"], a * np.sin(run.time) / 3 - a * np.sin(2 * run.time) / 6) < 1e-10 * a
    late = oscillation().simulate(
        1.0, {}, method="rk8", rtol=1e-11, inputs={"push": mg.sin(t)}, t=np.pi
    )
    s = late.time - np.pi
    assert gap(late["x"], -np.sin(s) / 3 + np.sin(2 * s) / 6) < 1e-10


def test_inputs_that_are_numbers_need_no_new_code(monkeypatch):
    """x = w (1 − cos 2t)/4, also for numbers that are printed alike."""
    eqs = oscillation()
    eqs.simulate(0.1, {}, method="rk8", inputs={"push": 1.0})
    monkeypatch.setattr(compiler, "build", None)
    for push in (2.0, 123456.7, 123456.8):
        run = eqs.simulate(3.0, {}, method="rk8", rtol=1e-12, inputs={"push": push})
        assert gap(run["x"], push * (1 - np.cos(2 * run.time)) / 4) < 1e-11 * push


def test_parameters_are_told_to_it():
    light, heavy = (
        arm().simulate(0.5, start(arm), method="rk8", parameters={"load": load})
        for load in (0.5, 1.5)
    )
    assert gap(light.q, heavy.q) > 1e-3
    assert (
        gap(heavy.q, arm().simulate(0.5, start(arm), rtol=1e-10, parameters={"load": 1.5}).q) < 1e-6
    )


def test_events_are_located():
    """A stone thrown up falls through its start at t = 2 v/g, and stands still at half of that."""
    system = mg.System("stone", gravity=(0, 0, -9.81))
    system.prismatic(
        "z",
        system.ground,
        system.body("stone", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1)),
        axis="z",
    )
    events = {
        "top": mg.Event(lambda m: m.speed("z"), direction=-1, stop=False),
        "back": mg.Event(lambda m: m.coordinate("z"), direction=-1),
    }
    run = system.equations().simulate(3.0, {"z": 0.0, "z'": 5.0}, method="rk8", events=events)
    assert run.events["top"][0] == pytest.approx(5 / 9.81, abs=1e-11)
    assert run.events["back"][0] == pytest.approx(10 / 9.81, abs=1e-11)
    assert run.time[-1] == run.events["back"][0]
    assert run.outcome == "stopped by event 'back'"


@pytest.mark.parametrize("stabilization", ["none", "baumgarte"])
def test_other_ways_to_keep_constraints(stabilization):
    options = {"step": 0.1, "rtol": 1e-10, "stabilization": stabilization}
    run = four_bar().simulate(1.0, start(four_bar), method="rk8", **options)
    other = four_bar().simulate(1.0, start(four_bar), **options)
    assert gap(run.q, other.q) < 1e-7
    assert 0 < run.violation.max() < 1e-8


@cache
def explosion() -> mg.Equations:
    """u̇ = u²: the speed is u₀/(1 − u₀ t), until that is infinite."""
    system = mg.System("explosion", gravity=(0, 0, 0))
    puck = system.body("puck", mass=1.0, com=(0, 0, 0), inertia=(1, 1, 1))
    system.prismatic("x", system.ground, puck, axis="x")
    system.force("ever more", puck, lambda m: ca.vertcat(m.speed("x") ** 2, 0, 0))
    return system.equations()


def test_a_run_that_fails_is_not_told_to_try_what_it_used():
    for method, advised in (("rk8", True), ("radau", False)):
        with pytest.raises(mg.SimulationError, match="Try") as caught:
            explosion().simulate(1.0, {"x'": 2.1}, method=method)
        assert ("radau" in str(caught.value)) is advised


def test_a_run_that_fails_keeps_what_it_has():
    with pytest.raises(
        mg.SimulationError, match=r"step became too small at t = 0\.47619"
    ) as caught:
        explosion().simulate(1.0, {"x'": 2.1}, method="rk8", rtol=1e-10)
    run = caught.value.trajectory
    assert run.outcome == "failed"
    assert run.time[-2] == 0.476  # the last of the grid before it
    assert np.allclose(run["x'"][:-1], 2.1 / (1 - 2.1 * run.time[:-1]), rtol=1e-7)
    assert run.time[-1] == pytest.approx(1 / 2.1, rel=1e-9)


def test_it_can_be_interrupted_and_goes_on(monkeypatch):
    """It returns to Python after so long; where it does so makes no difference."""
    for equations in (four_bar, arm):
        whole = equations().simulate(2.0, start(equations), method="rk8", rtol=1e-11)
        with monkeypatch.context() as patch:
            patch.setattr(module, "PATIENCE", 0.0)
            parts = equations().simulate(2.0, start(equations), method="rk8", rtol=1e-11)
        assert np.array_equal(whole.q, parts.q)
        assert whole.statistics["steps"] == parts.statistics["steps"]


@pytest.mark.machine_code
def test_statistics_say_what_ran():
    options = {"step": 0.1, "inputs": {"push": 1.0}}
    native = oscillation().simulate(1.0, {}, method="rk8", **options).statistics
    assert (native["method"], native["tier"]) == ("rk8", "machine code")
    assert native["evaluations"] >= 12 * native["steps"] > 0
    same = oscillation().simulate(1.0, {}, method="dop853", **options).statistics
    assert [same[key] for key in ("steps", "evaluations")] == [
        native[key] for key in ("steps", "evaluations")
    ]


@pytest.mark.usefixtures("no_compiler")
def test_without_a_compiler_the_same_method_runs_on_interpreted_functions(warnings_of):
    run = oscillator().equations().simulate(1.0, {"x": 1.0}, method="rk8", rtol=1e-9)
    assert (run.statistics["method"], run.statistics["tier"]) == ("rk8", "interpreter")
    assert gap(run["x"], np.cos(2 * run.time)) < 1e-8
    assert warnings_of() == []


def test_rigid_contacts_are_refused():
    s = mg.System("ball", gravity=(0, 0, -9.81))
    s.prismatic("height", s.ground, s.body("ball", mass=1.0, inertia=(1, 1, 1)))
    s.rigid_contact("floor", mg.Sphere(s.bodies["ball"], 0.1), mg.Plane(s.ground))
    with pytest.raises(mg.UnsupportedError, match="compliant_contact"):
        s.equations().rollout([[1.0]], [[0.0]], step=0.01, steps=10)


def test_a_trajectory_that_is_lost_is_named():
    """Of three, the one in which two axes of a joint meet has no accelerations, and the others go
    on."""
    s = mg.System("wrist", gravity=(0, 0, -9.81))
    hand = s.body("hand", mass=1.0, inertia=(0.1, 0.2, 0.3), com=(0.1, 0.2, 0.3))
    turns = [mg.rot("z", "a"), mg.rot("x", "b"), mg.rot("z", "c")]
    s.joint("wrist", s.ground, hand, turns)
    q = np.array([[0.3, 1.0, 0.2], [0.3, 0.0, 0.2], [0.1, 0.8, -0.2]])
    with pytest.warns(UserWarning, match=r"number 1 is lost after t = 0 s: the mass matrix"):
        found = s.equations().rollout(q, 0 * q, step=1e-3, steps=4)
    assert np.isfinite(found.q[[0, 2]]).all()


def test_trajectories_that_leave_their_constraints_are_told():
    """Two speeds that contradict each other after the start; and one of three arms that is drawn
    beyond its reach."""
    s = mg.System("torn")
    s.prismatic("x", s.ground, s.body("m", mass=1.0, inertia=0), axis="x")
    for name, rate in (("once", 1), ("twice", 2)):
        s.constrain(name, velocity=lambda m, rate=rate: m.speed("x'") - rate * m.time)
    with pytest.warns(UserWarning, match=r"1 of 1 .* 'once' of number 0 is off by 0\.005 at t = 0"):
        s.equations().rollout([0.0], [0.0], step=0.01, steps=10)

    s = mg.System("drawn")
    upper, lower = (s.body(x, mass=1.0, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1)) for x in "ab")
    s.revolute("p", s.ground, upper, axis="y")
    s.revolute("q", upper, lower, axis="y", at=(1, 0, 0))
    s.marker("tip", lower, (1, 0, 0))
    rate = s.parameter("rate", 0.1)
    s.constrain("drawn", lambda m: m.position("tip")[0] - 1 - rate * m.time)
    eqs = s.equations()
    q, u = eqs.assemble({"p": 0.5}, guess={"q": -1.5})
    with pytest.warns(UserWarning, match="'drawn' of number 1 is off"):
        found = eqs.rollout(q, u, step=0.01, steps=120, parameters=[[0.1], [1.0], [0.2]])
    kept = eqs.position_violation(found.q[[0, 2]], found.time, np.array([[[0.1]], [[0.2]]]))
    assert np.abs(kept).max() < 1e-9
