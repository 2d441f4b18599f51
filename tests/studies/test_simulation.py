"""Simulation: closed forms, methods against each other, events, inputs, starts, and what is kept
when it fails."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import warnings

import numpy as np
import pytest

import mechgraph as mg
from measure import IN_SPACE, gap
from mechgraph.runtime.stepper import METHODS

G = 9.81


def oscillator(damping: float = 0.4, stiffness: float = 9.0) -> mg.System:
    s = mg.System("oscillator")
    s.prismatic(
        "x",
        s.ground,
        s.body("m", mass=2.0, inertia=0),
        axis="x",
        stiffness=stiffness,
        damping=damping,
    )
    return s


def exact_oscillator(
    t: np.ndarray, x0: float = 0.3, v0: float = 1.0, c: float = 0.4, k: float = 9.0
) -> np.ndarray:
    decay, omega = c / 4.0, np.sqrt(k / 2.0 - (c / 4.0) ** 2)
    return np.exp(-decay * t) * (
        x0 * np.cos(omega * t) + (v0 + decay * x0) / omega * np.sin(omega * t)
    )


def pendulum(length: float = 1.0) -> mg.System:
    s = mg.System("pendulum", gravity=(0, 0, -G))
    s.revolute("hinge", s.ground, s.body("bob", mass=1.0, com=(0, 0, -length), inertia=0), axis="y")
    return s


def fourbar() -> mg.System:
    s = mg.System("four-bar", gravity=(0, 0, -G))
    crank, coupler, rocker = (
        s.body(
            name,
            mass=m,
            com=(length / 2, 0, 0),
            inertia=(0.01, m * length**2 / 12, m * length**2 / 12),
        )
        for name, m, length in (("crank", 1.0, 1.0), ("coupler", 2.0, 2.5), ("rocker", 1.5, 2.0))
    )
    s.revolute("A", s.ground, crank, axis="y")
    s.revolute("B", crank, coupler, axis="y", at=(1, 0, 0))
    s.revolute("C", s.ground, rocker, axis="y", at=(2, 0, 0))
    s.revolute("D", rocker, coupler, axis="y", at=(2, 0, 0), child_at=(2.5, 0, 0), cut=True)
    return s


START = {"A": -1.0, "A'": 2.0}
ELBOW = {"B": 0.3, "C": -1.5}


# --- accuracy -------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", METHODS)
def test_every_method_converges_to_the_closed_form(method):
    equations = oscillator().equations()
    for rtol in (1e-4, 1e-7, 1e-9):
        run = equations.simulate(4.0, {"x": 0.3, "x'": 1.0}, rtol=rtol, method=method)
        assert np.abs(run["x"] - exact_oscillator(run.time)).max() < 300 * rtol


@pytest.mark.parametrize("method", METHODS)
def test_every_method_agrees_on_a_closed_loop(method):
    equations = fourbar().equations("newton-euler")
    start = equations.assemble(START, guess=ELBOW)
    reference = equations.simulate(1.0, start, rtol=1e-11, step=0.01)
    # low order or stiff: slow where the tolerance is tight
    loose = method in ("radau", "rk45")
    run = equations.simulate(1.0, start, rtol=1e-7 if loose else 1e-10, step=0.01, method=method)
    assert np.abs(run.q - reference.q).max() < (1e-4 if loose else 1e-7)
    assert run.violation.max() < 1e-12
    assert run.statistics["steps"] > 0
    assert run.statistics["evaluations"] >= run.statistics["steps"]


@pytest.mark.smoke
def test_a_large_swing_has_the_period_of_the_elliptic_integral():
    from scipy.special import ellipk

    amplitude = 2.5
    period = 4 * np.sqrt(1 / G) * ellipk(np.sin(amplitude / 2) ** 2)
    run = pendulum().equations().simulate(period, {"hinge": amplitude}, rtol=1e-12)
    assert run["hinge"][-1] == pytest.approx(amplitude, abs=1e-9)
    assert np.ptp(run.energy) < 1e-10 * run.kinetic.max()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("formalism", IN_SPACE)
@pytest.mark.parametrize("closure", mg.CLOSURES)
def test_every_formalism_and_closure_runs_the_same(formalism, closure):
    equations = fourbar().equations(formalism, closure)
    run = equations.simulate(0.5, START, guess=ELBOW, rtol=1e-10)
    reference = fourbar().equations().simulate(0.5, START, guess=ELBOW, rtol=1e-10)
    assert gap(reference["rocker"], run["rocker"]) < 1e-8
    assert np.ptp(run.energy) < 1e-8 * run.kinetic.max()


def test_a_free_body_keeps_its_quaternion_and_its_momentum():
    s = mg.System("tumbling")
    s.free("j", s.ground, s.body("b", mass=2.0, com=(0.1, 0, 0), inertia=(1, 2, 2.5)))
    run = s.equations().simulate(20.0, {"j.wx": 0.01, "j.wy": 3.0, "j.x'": 1.0}, rtol=1e-10)
    assert run.violation.max() < 1e-14
    assert np.ptp(run.energy) < 1e-7 * run.energy[0]
    assert np.abs(run["j.wy"]).min() < 2.9  # the middle axis tumbles


# --- events ---------------------------------------------------------------------------------------

SMALL = 1e-3  # a swing so small that its period is 2π √(l/g) to 1e-7


def quarter(k: int) -> float:
    """Time of the k-th passage of a small swing through the bottom."""
    return (2 * k + 1) * np.pi / 2 * np.sqrt(1 / G) * (1 + SMALL**2 / 16)


def through_bottom(m):
    return m.coordinate("hinge")


@pytest.mark.smoke
def test_an_event_is_located_and_stops_the_run():
    run = (
        pendulum()
        .equations()
        .simulate(5.0, {"hinge": SMALL}, rtol=1e-12, events={"bottom": through_bottom})
    )
    assert run.outcome == "stopped by event 'bottom'"
    assert run.time[-1] == pytest.approx(quarter(0), abs=1e-9)
    assert run.events["bottom"] == pytest.approx([run.time[-1]], abs=0)
    assert abs(run["hinge"][-1]) < 1e-12
    assert (np.diff(run.time) > 0).all()


def test_an_event_before_the_first_output():
    run = (
        pendulum()
        .equations()
        .simulate(
            1.0, {"hinge": 1.0}, step=0.5, events={"soon": lambda m: m.coordinate("hinge") - 0.9}
        )
    )
    assert run.outcome == "stopped by event 'soon'"
    assert run["hinge"] == pytest.approx([1.0, 0.9], abs=1e-9)


@pytest.mark.parametrize(("direction", "passages"), [(0, [0, 1, 2, 3]), (-1, [0, 2]), (1, [1, 3])])
def test_events_heed_their_direction_and_need_not_stop(direction, passages):
    event = mg.Event(through_bottom, direction=direction, stop=False)
    run = (
        pendulum().equations().simulate(3.6, {"hinge": SMALL}, rtol=1e-12, events={"bottom": event})
    )
    assert run.outcome == "finished"
    assert run.time[-1] == 3.6
    assert run.events["bottom"] == pytest.approx([quarter(k) for k in passages], abs=1e-9)


def test_of_several_events_the_first_to_stop_wins():
    events = {
        "bottom": mg.Event(through_bottom, stop=False),
        "second turn": mg.Event(lambda m: m.speed("hinge"), direction=-1),
        "clock": mg.Event(lambda m: m.time - 1.9, direction=1),
    }
    run = pendulum().equations().simulate(10.0, {"hinge": SMALL}, rtol=1e-12, events=events)
    assert run.outcome == "stopped by event 'clock'"
    assert run.time[-1] == pytest.approx(1.9, abs=1e-12)
    assert run.events["bottom"] == pytest.approx([quarter(0), quarter(1)], abs=1e-9)
    assert run.events["second turn"].size == 0


def test_an_event_on_a_closed_loop_and_of_an_acceleration():
    equations = fourbar().equations()
    events = {"level": lambda m: m.position("rocker")[2] - m.position("coupler")[2]}
    run = equations.simulate(2.0, START, guess=ELBOW, rtol=1e-11, events=events)
    gap_ = run.observe(lambda m: m.position("rocker")[2] - m.position("coupler")[2])
    assert run.outcome == "stopped by event 'level'"
    assert abs(gap_[-1, 0]) < 1e-10


def test_an_event_may_look_at_accelerations():
    """A swing from the horizontal: the mass falls with g at first, and ceases to accelerate down
    where 3 cos² = 1."""
    s = pendulum()
    s.marker("mass", "bob", (0, 0, -1.0))
    run = s.equations().simulate(
        2.0, {"hinge": np.pi / 2}, rtol=1e-11, events={"level": lambda m: m.acceleration("mass")[2]}
    )
    assert run.outcome == "stopped by event 'level'"
    assert 3 * np.cos(run["hinge"][-1]) ** 2 == pytest.approx(1.0, abs=1e-9)


# --- inputs, parameters, time ---------------------------------------------------------------------


def driven() -> mg.System:
    """ẍ = (gain w₁ + w₂) / 2."""
    s = mg.System("driven")
    s.prismatic("x", s.ground, s.body("m", mass=2.0, inertia=0), axis="x")
    s.torque("push", "x", s.parameter("gain", 4.0) * s.input("w1") + s.input("w2"))
    return s


def test_inputs_are_numbers_expressions_or_functions():
    s = driven()
    equations = s.equations()
    wave = mg.cos(3 * s.time)
    ways = {
        "number": {"w1": 0.5, "w2": wave},
        "expression": {"w1": s.parameters["gain"] / 8, "w2": wave},
        "function of t": {"w1": 0.5, "w2": lambda t: np.cos(3 * t)},
        "function of state": {"w1": lambda t, q, u: 0.5 + 0 * q[0] * u[0], "w2": wave},
        "function with a default": {"w1": lambda t, factor=0.5: factor, "w2": wave},
        "a ufunc": {
            "w1": 0.5 * mg.cos(s.time) ** 2 + 0.5 * mg.sin(s.time) ** 2,
            "w2": lambda t: float(np.cos(3 * t)),
        },
    }
    for way, inputs in ways.items():
        run = equations.simulate(2.0, {"x": 0.1, "x'": -0.2}, inputs=inputs, rtol=1e-10)
        exact = 0.1 - 0.2 * run.time + 4 * 0.5 * run.time**2 / 4 + (1 - np.cos(3 * run.time)) / 18
        assert np.abs(run["x"] - exact).max() < 1e-8, way
        assert np.abs(run["w2"] - np.cos(3 * run.time)).max() < 1e-15, way


def test_a_function_without_a_signature_is_one_of_time():
    run = driven().equations().simulate(1.0, inputs={"w2": np.sin}, rtol=1e-10)
    assert np.abs(run["x"] - (run.time - np.sin(run.time)) / 2).max() < 1e-9


def test_feedback_closes_the_loop():
    """w = −18 x on 2 kg is the oscillator of 3 rad/s."""
    run = (
        driven()
        .equations()
        .simulate(2.0, {"x": 1.0}, inputs={"w2": lambda t, q, u: -18 * q[0]}, rtol=1e-10)
    )
    assert np.abs(run["x"] - np.cos(3 * run.time)).max() < 1e-8
    assert gap(run["w2"], -18 * run["x"]) < 1e-15


def test_parameters_are_changed_for_one_run_also_under_functions():
    s = driven()
    inputs = {"w1": s.parameters["gain"] / 10, "w2": lambda t: 0.0}
    run = s.equations().simulate(1.0, inputs=inputs, parameters={"gain": 5.0}, rtol=1e-10)
    assert run["w1"] == pytest.approx(0.5)
    assert run["x"][-1] == pytest.approx(5 * 0.5 / 4, rel=1e-9)
    assert run.parameters == {"gain": 5.0}
    assert s.defaults == {"gain": 4.0}


def test_time_begins_where_told():
    s = mg.System("driven base", gravity=(0, 0, -G))
    base = s.frame("base")
    s.joint("drive", s.ground, base, [mg.move("x", mg.sin(2 * s.time))])
    s.revolute("hinge", base, s.body("bob", mass=1.0, com=(0, 0, -1), inertia=0), axis="y")
    equations = s.equations()
    whole = equations.simulate(2.0, {"hinge": 0.3}, rtol=1e-11, step=0.01)
    half = equations.simulate(1.0, (whole.q[100], whole.u[100]), t=1.0, rtol=1e-11, step=0.01)
    assert gap(whole.time[100:], half.time) < 1e-15
    assert np.abs(half.q - whole.q[100:]).max() < 1e-8


@pytest.mark.parametrize("method", METHODS)
def test_every_method_takes_python_functions_as_inputs(method):
    system = driven()
    by_python = system.equations().simulate(1.0, inputs={"w1": np.sin}, method=method, rtol=1e-7)
    said = system.equations().simulate(1.0, inputs={"w1": mg.sin(system.time)}, rtol=1e-10)
    assert np.abs(by_python.q - said.q).max() < 1e-5


def test_the_grid_is_as_told():
    equations = oscillator().equations()
    assert len(equations.simulate(1.0)) == 501
    run = equations.simulate(0.3, step=0.1)
    assert run.time == pytest.approx([0, 0.1, 0.2, 0.3], abs=1e-16)
    with pytest.raises(mg.ArgumentError, match="whole number of steps"):
        equations.simulate(1.0, step=0.3)


# --- starts ---------------------------------------------------------------------------------------


def test_a_start_names_what_one_cares_about():
    s = mg.System("start", gravity=(0, 0, -G))
    a = s.body("a", mass=1.0, inertia=(1, 1, 1))
    b = s.body("b", mass=1.0, inertia=(1, 1, 1))
    s.planar("table", s.ground, a)
    s.spherical("socket", a, b)
    equations = s.equations()
    q, u = equations.assemble(
        {"table": [1, 2, 0.5], "socket": [0.6, 0, 0.8, 0], "table.x'": 3.0, "socket.wz": -1.0}
    )
    assert np.array_equal(q, [1, 2, 0.5, 0.6, 0, 0.8, 0])
    assert np.array_equal(u, [3, 0, 0, 0, 0, -1])
    q, u = equations.assemble({"table'": [1, 2, 3], "socket'": [4, 5, 6]})
    assert np.array_equal(q, [0, 0, 0, 1, 0, 0, 0])
    assert np.array_equal(u, [1, 2, 3, 4, 5, 6])
    again = equations.assemble((q, u))
    assert np.array_equal(again[0], q)
    assert np.array_equal(again[1], u)


def test_the_rest_is_assembled_nearest_to_the_reference():
    """A point on a circle about (1, 1): nearest to the origin, if nothing else is said."""
    s = mg.System("circle")
    p = s.body("p", mass=1.0, inertia=0)
    s.joint("at", s.ground, p, [mg.move("x", "x"), mg.move("y", "y")])
    s.distance("string", s.marker("nail", s.ground, (1, 1, 0)), p, 1.0)
    equations = s.equations()
    near = 1 - np.sqrt(0.5)
    q, u = equations.assemble()
    assert q == pytest.approx([near, near], abs=1e-7)
    assert not u.any()
    assert equations.assemble({"at.x": 1.0})[0] == pytest.approx([1.0, 0.0], abs=1e-9)
    q, _ = equations.assemble({"at.x": 1.0}, guess={"at.y": 2.2})
    assert q == pytest.approx([1.0, 2.0], abs=1e-9)
    q, u = equations.assemble({"at.x": 1.6, "at.x'": 0.4}, guess={"at.y": 0.0})
    assert q == pytest.approx([1.6, 0.2], abs=1e-9)
    assert u == pytest.approx([0.4, 0.3], abs=1e-9)


def test_cut_joints_can_be_told_too():
    equations = fourbar().equations()
    q, u = equations.assemble({"D": 0.7, "D'": -2.0}, guess={"A": -1.0, **ELBOW})
    assert equations.observe(lambda m: m.coordinate("D"), q, u)[0] == pytest.approx(0.7, abs=1e-10)
    assert equations.observe(lambda m: m.speed("D"), q, u)[0] == pytest.approx(-2.0, abs=1e-10)
    assert np.abs(equations.position_violation(q)).max() < 1e-10
    whole_turn = equations.assemble({"D": 0.7 + 2 * np.pi, "D'": -2.0}, guess={"A": -1.0, **ELBOW})[
        0
    ]
    assert gap(q, whole_turn) < 1e-9


def test_a_cut_ball_can_be_told_too():
    """Its quaternion of either sign, and its speeds."""
    s = mg.System("two ways")
    body = s.body("b", mass=1.0, inertia=(1, 1, 1))
    s.free("loose", s.ground, body)
    s.spherical("socket", s.ground, body, at=(1, 0, 0), child_at=(0, 0.5, 0), cut=True)
    equations = s.equations()
    for sign in (1, -1):
        q, u = equations.assemble(
            {"socket": np.array([0.6, 0, 0.8, 0]) * sign, "socket.wx": 2.0, "socket.wz": 1.0}
        )
        assert equations.observe(lambda m: m.coordinate("socket"), q) == pytest.approx(
            [0.6, 0, 0.8, 0], abs=1e-9
        )
        assert equations.observe(lambda m: m.speed("socket"), q, u) == pytest.approx(
            [2, 0, 1], abs=1e-9
        )
    run = equations.simulate(0.1, (q, u))
    assert run["socket.wx"][0] == pytest.approx(2.0)
    assert run["socket'"].shape == (len(run), 3)


def test_a_start_beside_the_constraints_is_projected_if_near_and_refused_if_not():
    equations = fourbar().equations()
    q, u = equations.assemble(START, guess=ELBOW)
    assert gap(q, equations.assemble((q + 1e-8, u))[0], floor=1.0) < 1e-7
    with pytest.raises(mg.AssemblyError, match="contradicts") as error:
        equations.assemble((q + 0.1, u))
    assert "D: position x" in error.value.residuals
    with pytest.raises(mg.AssemblyError, match="rate of"):
        equations.assemble((q, u + np.array([1, 0, 0])))


# --- energy and power -----------------------------------------------------------------------------


def test_power_integrates_to_energy():
    """A driven, damped, pushed loop with an input: ∫ power dt = ΔE along the run, to Simpson's
    error."""
    from scipy.integrate import simpson

    s = fourbar()
    s.torque("motor", "A", 5 * s.input("w"))
    s.torque("friction", "C", lambda m: -0.5 * m.speed("C"))
    s.force("wind", "coupler", lambda m: -0.3 * m.velocity("coupler"))
    run = s.equations().simulate(
        1.0, START, guess=ELBOW, rtol=1e-11, inputs={"w": mg.sin(4 * s.time)}
    )
    work = simpson(run.power, x=run.time)
    assert work == pytest.approx(run.energy[-1] - run.energy[0], abs=1e-8)
    assert abs(work) > 0.1


def test_every_run_says_how_it_went():
    run = fourbar().equations("kane", "null-space").simulate(0.2, START, guess=ELBOW)
    assert run.statistics["formalism"] == "kane"
    assert run.statistics["closure"] == "null-space"
    assert run.violation.shape == run.time.shape
    assert "violation" in run.summary()
    assert "0.2 s" in repr(run)


# --- when it does not go well ---------------------------------------------------------------------


INTERRUPTED = """
import signal, mechgraph as mg
signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored in what runs in the background
s = mg.System("oscillator")
s.prismatic("x", s.ground, s.body("m", mass=2.0, inertia=0), axis="x", stiffness=1e4)
equations, method = s.equations(), {method!r}
equations.simulate(0.1, {{"x": 0.3}}, method=method)
print("ready", flush=True)
run = equations.simulate(1e7, {{"x": 0.3}}, step=1e4, max_step=0.01, method=method)
print(run.outcome, 0 < run.time[-1] < 1e7, len(run.energy) == len(run.time))
"""


@pytest.mark.parametrize("method", [None, "radau", "dop853", "without a compiler"])
def test_an_interrupted_run_stops_and_keeps_its_motion(method):
    """Control-C, pressed after a moment."""
    alone = method == "without a compiler"
    code = INTERRUPTED.format(method=None if alone else method)
    space = os.environ | ({"MECHGRAPH_CC": "none"} if alone else {})
    command = [sys.executable, "-c", code]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=space)
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    try:
        assert process.communicate(timeout=60)[0] == "interrupted True True\n"
    finally:
        process.kill()


def test_an_interrupt_while_inputs_are_asked_for_once_more_keeps_the_motion():
    """They are looked at again for the output, when the motion is known."""
    s = mg.System("pushed")
    s.prismatic("x", s.ground, s.body("m", mass=2.0, inertia=0), axis="x")
    s.torque("push", "x", s.input("F"))
    after = False

    def push(t):
        nonlocal after
        if after and t == 0:
            raise KeyboardInterrupt
        after = after or t == 1.0
        return 1.0

    run = s.equations().simulate(1.0, inputs={"F": push}, step=0.5)
    assert run.outcome == "interrupted"
    assert run.q[-1] == pytest.approx([0.25])
    assert np.isnan(run.w).all()


def test_a_servo_whose_speed_jumps_is_told():
    s = mg.System("driven")
    s.prismatic("x", s.ground, s.body("m", mass=2.0, inertia=0), axis="x")
    s.servo("drive", "x", mg.table([0, 1, 2], [0, 1, 0])(s.time))
    with pytest.raises(mg.SimulationError, match=r"jumps at t = 1.*mg\.spline"):
        s.equations().simulate(2.0)


def escaping() -> mg.System:
    """ẍ = x³ leaves for infinity in finite time."""
    s = mg.System("escape")
    s.prismatic("x", s.ground, s.body("m", mass=1.0, inertia=0), axis="x")
    s.torque("anti-spring", "x", lambda m: m.coordinate("x") ** 3)
    return s


@pytest.mark.parametrize("method", [None, "rk8"])
def test_a_failed_run_keeps_its_motion_and_says_where(method):
    with pytest.raises(mg.SimulationError, match="the run stopped after t = ") as error:
        escaping().equations().simulate(5.0, {"x": 1.0, "x'": 1.0}, method=method)
    run = error.value.trajectory
    assert run.outcome == "failed"
    assert 0.5 < run.time[-1] < 3.0
    assert np.isfinite(run.q).all()
    assert np.ptp(run.u[:, 0] ** 2 / 2 - run.q[:, 0] ** 4 / 4) < 1e-3 * np.abs(run.u).max() ** 2
    assert '"x\'"' in str(error.value)


def test_a_failing_input_keeps_the_motion_and_names_itself():
    def controller(t):
        if t > 0.5:
            raise RuntimeError("sensor lost")
        return 1.0

    with pytest.raises(mg.SimulationError, match=r"input 'w2' failed.*sensor lost") as error:
        driven().equations().simulate(1.0, inputs={"w2": controller}, step=0.01)
    assert 0.3 < error.value.trajectory.time[-1] <= 0.5


def test_a_singular_configuration_is_named():
    """An arm whose tip is told to leave its reach: at the stretched position the row of the drive
    loses its hold."""
    s = mg.System("arm", gravity=(0, 0, -G))
    upper, lower = (
        s.body(name, mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
        for name in ("upper", "lower")
    )
    s.revolute("shoulder", s.ground, upper, axis="y")
    s.revolute("elbow", upper, lower, axis="y", at=(1, 0, 0))
    tip = s.marker("tip", lower, (1, 0, 0))
    s.constrain("drive", position=lambda m: [m.position(tip)[0] - 1 - m.time, m.position(tip)[2]])
    with pytest.raises(mg.SimulationError, match=r"singular configuration: drive: 1") as error:
        s.equations().simulate(2.0, guess={"shoulder": 1.0, "elbow": -2.0})
    run = error.value.trajectory
    assert 0.9 < run.time[-1] < 1.0
    assert run.violation.max() < 1e-9


def test_a_system_that_time_alone_moves_has_a_run_too():
    s = mg.System("driven all through", gravity=(0, 0, -G))
    s.joint(
        "lift",
        s.ground,
        s.body("load", mass=2.0, inertia=(1, 1, 1)),
        [mg.move("z", mg.sin(s.time))],
    )
    run = s.equations().simulate(1.0, step=0.1)
    assert run["load"][:, 2] == pytest.approx(np.sin(run.time))
    assert run.reaction("lift")[:, 2] == pytest.approx(2.0 * (G - np.sin(run.time)))
    assert run.energy == pytest.approx(2.0 * G * np.sin(run.time) + np.cos(run.time) ** 2)


@pytest.mark.parametrize("method", [None, "rk8"])
def test_constraints_that_contradict_each_other_on_the_way_stop_the_run(method):
    def slider(*values) -> mg.Equations:
        system = mg.System("slider")
        block = system.body("block", mass=1.0, inertia=0)
        system.prismatic("x", system.ground, block, axis="x")
        for k, value in enumerate(values):
            system.servo(f"drive {k}", "x", value(system))
        return system.equations()

    with pytest.raises(
        mg.SimulationError, match=r"drive .* is off by .* contradict each other"
    ) as caught:
        slider(lambda s: 0.0, lambda s: s.time**2).simulate(1.0, method=method)
    assert caught.value.trajectory.violation.max() < 1e-6
    with pytest.raises(mg.SimulationError, match=r"jumps|too small") as caught:
        slider(lambda s: mg.if_else(s.time < 0.5, 0.0, 1.0)).simulate(1.0, method=method)
    assert caught.value.trajectory.time[-1] == pytest.approx(0.5, abs=0.01)


# --- what cannot be met ---------------------------------------------------------------------------


def cart() -> tuple[mg.System, mg.Body]:
    s = mg.System("cart")
    body = s.body("cart", mass=1.0, inertia=(1, 1, 1))
    s.prismatic("x", s.ground, body, axis="x")
    return s, body


def test_speeds_that_contradict_each_other_stop_the_run_and_are_named():
    s, _ = cart()
    s.constrain("slow", velocity=lambda m: m.speed("x") - m.time)
    s.constrain("fast", velocity=lambda m: m.speed("x") - 2 * m.time)
    with pytest.raises(mg.SimulationError, match=r"the rate of '(slow|fast)' is off"):
        s.equations().simulate(1.0, step=0.1)


def test_accelerations_that_contradict_each_other_are_refused_and_named():
    s, body = cart()
    s.constrain("one", acceleration=lambda m: m.acceleration(body)[0] - 1)
    s.constrain("two", acceleration=lambda m: m.acceleration(body)[0] - 2)
    equations = s.equations()
    with pytest.raises(mg.ArgumentError, match=r"'(one|two)' is among those that contradict"):
        equations.simulate(1.0, step=0.1)
    with pytest.warns(UserWarning, match="compromise"):
        equations.solve([0.0], [0.0])


def test_a_spring_of_no_length_is_named():
    s, body = cart()
    s.spring_damper("band", s.ground, body, stiffness=10.0, length=0.5)
    with pytest.raises(mg.ArgumentError, match="spring_damper 'band' has no value at the start"):
        s.equations().simulate(1.0, step=0.1)
    assert s.equations().simulate(1.0, {"x": 0.1}, step=0.1).outcome == "finished"


# --- events do not depend on the output -----------------------------------------------------------


@pytest.mark.parametrize("step", [5.0, 0.5, 0.01])
@pytest.mark.parametrize("method", [None, "rk8", "radau"])
def test_a_run_stops_at_the_first_zero_whatever_the_output(step, method):
    """A quarter of a period of the pendulum, by the elliptic integral."""
    from scipy.special import ellipk

    s = mg.System("pendulum", gravity=(0, 0, -G))
    rod = s.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    s.revolute("hinge", s.ground, rod, axis="y")
    quarter = np.sqrt(0.35 / (G * 0.5)) * ellipk(np.sin(0.5) ** 2)
    events = {"lowest": mg.Event("hinge")}
    run = s.equations().simulate(10.0, {"hinge": 1.0}, step=step, method=method, events=events)
    assert run.time[-1] == pytest.approx(quarter, abs=1e-6 if method == "radau" else 1e-8)
    assert run.outcome == "stopped by event 'lowest'"


@pytest.mark.parametrize("step", [1.0, 0.05, 0.001])
def test_all_zeros_of_an_oscillator_are_found_and_dips_too(step):
    """20 Hz for a second: 40 zeros, 20 tops that barely reach a line, and no false alarm."""
    s = mg.System("oscillator")
    body = s.body("body", mass=1.0, inertia=(1, 1, 1))
    s.prismatic("x", s.ground, body, axis="x", stiffness=(2 * np.pi * 20) ** 2)
    events = {
        "zero": mg.Event("x", stop=False),
        "line": mg.Event(lambda m: m.coordinate("x") - 0.99999, stop=False),
        "falling": mg.Event("x", direction=-1, stop=False),
    }
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = s.equations().simulate(1.0, {"x": 1.0}, step=step, rtol=1e-10, events=events)
    assert np.allclose(run.events["zero"], (np.arange(40) + 0.5) / 40, atol=1e-9)
    away = np.arccos(0.99999) / (2 * np.pi * 20)
    tops = np.sort([k / 20 + side * away for k in range(21) for side in (-1, 1)])[1:-1]
    assert np.allclose(run.events["line"], tops, atol=1e-7)
    assert np.allclose(run.events["falling"], (np.arange(20) + 0.25) / 20, atol=1e-9)


def test_events_at_the_same_moment_are_all_told():
    s, _ = cart()
    stops = {"a": mg.Event(lambda m: m.coordinate("x") - 1), "b": mg.Event("x", stop=False)}
    stops["c"] = mg.Event(lambda m: 2 * m.coordinate("x") - 2)
    run = s.equations().simulate(3.0, {"x": -1.0, "x'": 2.0}, step=3.0, events=stops)
    assert run.time[-1] == pytest.approx(1.0, abs=1e-9)
    assert [len(run.events[name]) for name in "abc"] == [1, 1, 1]


def test_lost_energy_is_told():
    """A potential that is not that of the force: the balance does not close, and the run says
    so, whatever the output."""
    v = mg.variables(["x"], ["v"])
    energies = {"kinetic": v["v"] ** 2 / 2, "potential": v["x"] ** 2 / 2}
    terms = mg.Terms(v, name="wrong", N=[[1]], M=[[1]], f=[-2 * v["x"]], **energies)
    for step in (10.0, 0.1):
        with pytest.warns(UserWarning, match="energy balance of this run is off by"):
            mg.Equations(terms).simulate(10.0, {"x": 1.0}, step=step)


@pytest.mark.parametrize("size", [1e-6, 1e-9])
def test_small_motions_are_told_which_atol_they_need(size):
    s = mg.System("oscillator")
    s.prismatic("x", s.ground, s.body("b", mass=1.0, inertia=(1, 1, 1)), stiffness=4 * np.pi**2)
    with pytest.warns(UserWarning, match="so give atol: it is 1e-10, and") as told:
        s.equations().simulate(40.0, {"x": size})
    atol = float(str(told[0].message).partition("and ")[2].removesuffix(" would do"))
    run = s.equations().simulate(40.0, {"x": size}, atol=atol)
    assert run["x"][-1] == pytest.approx(size, rel=1e-6)


@pytest.mark.parametrize("direction", [-1, 1])
@pytest.mark.parametrize("rtol", [1e-4, 1e-8])
def test_events_of_one_direction_are_half_of_all_however_many_are_in_a_step(direction, rtol):
    """What rises between two falls is no event, and tells that the second is one."""
    s = mg.System("pendulum", gravity=(0, 0, -9.81))
    rod = s.body("rod", mass=1.3, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    s.revolute("hinge", s.ground, rod, axis="y")
    wave = lambda m: mg.sin(39 * m.coordinate("hinge"))  # noqa: E731
    events = {
        "own": mg.Event(wave, direction, stop=False),
        "all": mg.Event(wave, 0, stop=False),
        "kink": mg.Event(lambda m: m.coordinate("hinge") - 0.1, 0, stop=False),
    }
    run = s.equations().simulate(
        2.0, {"hinge": 0.5784, "hinge'": -2.99}, step=2.0, rtol=rtol, events=events
    )
    every, own = run.events["all"], run.events["own"]
    assert len(every) > 50
    rises_first = np.sin(39 * 0.5784) < 0
    kept = every[(0 if rises_first == (direction > 0) else 1) :: 2]
    np.testing.assert_allclose(own, kept, rtol=0, atol=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_stops_where_a_force_has_no_value(method):
    """Beyond x = 0.5: SciPy's methods went on without end, or raised an error of their own."""
    s = mg.System("ends")
    s.prismatic("x", "ground", s.body("b", 1.0, inertia=(1, 1, 1)), axis="x")
    s.torque("push", "x", lambda m: mg.sqrt(0.5 - m.coordinate("x")))
    with pytest.raises(mg.SimulationError, match=r"stopped after t = 0\.2824") as caught:
        s.equations().simulate(1.0, {"x": 0.2, "x'": 1.0}, method=method)
    assert 0.4999 < caught.value.trajectory["x"][-1] <= 0.5


def slider(level: str, *asked) -> mg.Equations:
    """A mass on a slide, with constraints that ask for something of it at one level."""
    s = mg.System("slider")
    b = s.body("b", mass=1.0, inertia=0)
    s.prismatic("x", s.ground, b, axis="x")
    has = {
        "position": lambda m: m.coordinate("x"),
        "velocity": lambda m: m.speed("x"),
        "acceleration": lambda m: m.acceleration(b)[0],
    }[level]
    for k, each in enumerate(asked):
        s.constrain(f"c{k}", **{level: lambda m, each=each: has(m) - each(m.time)})
    return s.equations()


STABILIZATIONS = ["projection", "baumgarte", "gear-gupta-leimkuhler", "none"]


@pytest.mark.parametrize("step", [0.004, 2.0])
@pytest.mark.parametrize("stabilization", STABILIZATIONS)
def test_accelerations_that_contradict_after_the_start_are_told(stabilization, step):
    """Half-way between t and 2 t: both are met at the start, and neither after it."""
    eqs = slider("acceleration", lambda t: t, lambda t: 2 * t)
    with pytest.warns(UserWarning, match=r"the acceleration of 'c\d' is off by 1 at t = 2: do not"):
        eqs.simulate(2.0, stabilization=stabilization, step=step)


@pytest.mark.parametrize("stabilization", ["baumgarte", "none"])
@pytest.mark.parametrize(("level", "power"), [("velocity", 1), ("position", 3)])
def test_constraints_that_contradict_are_told_where_nothing_is_projected(
    stabilization, level, power
):
    eqs = slider(level, lambda t: t**power, lambda t: t ** (power + 1))
    with pytest.warns(
        UserWarning, match=r"'c\d' is off by .* contradict .* stabilization='projection'"
    ):
        eqs.simulate(2.0, stabilization=stabilization)


@pytest.mark.parametrize("stabilization", STABILIZATIONS)
def test_a_brief_contradiction_is_told(stabilization):
    """For some milliseconds; the energy that it costs is not what there is to say."""
    eqs = slider("velocity", lambda t: mg.exp(-(((t - 0.5) / 0.002) ** 2)), lambda t: 0 * t)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        eqs.simulate(1.0, stabilization=stabilization, max_step=1.0)  # steps over it
    (said,) = (str(each.message) for each in told)
    assert "the rate of 'c0' is off by" in said
    assert "at t = 0.5:" in said
    assert ("stabilization='projection'" in said) == (stabilization in ("baumgarte", "none"))


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e3])
@pytest.mark.parametrize("stabilization", STABILIZATIONS)
def test_a_plain_linkage_of_any_size_is_no_contradiction(stabilization, scale):
    """What drifts in proportion to the tolerances is what was asked for."""
    s = mg.System("four-bar", gravity=(0, 0, -9.81 * scale))
    inertia = np.full(3, 0.1 * scale**2)
    A, B, C = (s.body(n, mass=1.0, com=(scale / 2, 0, 0), inertia=inertia) for n in "ABC")
    s.revolute("a", s.ground, A, axis="y")
    s.revolute("b", A, B, axis="y", at=(scale, 0, 0))
    s.revolute("c", s.ground, C, axis="y", at=(0.7 * scale, 0, 0))
    s.revolute("d", B, C, axis="y", at=(scale, 0, 0), child_at=(scale, 0, 0))
    duration = 0.5 if stabilization == "gear-gupta-leimkuhler" else 10.0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s.equations().simulate(
            duration, {"a": 1.3}, guess={"b": 0.3, "c": 1.5}, stabilization=stabilization
        )
