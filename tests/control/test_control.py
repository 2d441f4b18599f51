"""Controllers: at every moment and sampled, in Python and with the motion, with states of their
own; against discrete and continuous linear systems in closed form."""

from __future__ import annotations

import pickle

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.linalg import expm
from scipy.spatial.transform import Rotation

import mechgraph as mg
from mechgraph.vectors import turned_by

M, K, C = 2.0, 3.0, 0.4
A = np.array([[0, 1], [-K / M, -C / M]])
B = np.array([[0], [1 / M]])
KP, KD = 5.0, 2.0
START = {"x": 1.0, "x'": -0.3}


def oscillator() -> mg.Equations:
    """M ẍ + C ẋ + K x = w."""
    s = mg.System("oscillator")
    s.prismatic(
        "x", s.ground, s.body("b", mass=M, inertia=(1, 1, 1)), axis="x", stiffness=K, damping=C
    )
    s.torque("f", "x", s.input("w"))
    return s.equations()


def held(T: float) -> tuple[np.ndarray, np.ndarray]:
    """The oscillator from sample to sample, with w held."""
    whole = expm(T * np.block([[A, B], [np.zeros((1, 3))]]))
    return whole[:2, :2], whole[:2, 2:]


LAWS = {
    "all, in Python": lambda t, q, u: -KP * q - KD * u,
    "all by name, in Python": lambda t, q, u: {"w": -KP * q[0] - KD * u[0]},
    "all, with m": lambda m: -KP * m.coordinate("x") - KD * m.speed("x"),
    "by name, in Python": {"w": lambda t, q, u: -KP * q[0] - KD * u[0]},
    "by name, with m": {"w": lambda m: -KP * m.coordinate("x") - KD * m.speed("x")},
}


def sampled(law, rate):
    if isinstance(law, dict):
        return {name: mg.sampled(own, rate) for name, own in law.items()}
    return mg.sampled(law, rate)


# --- against closed forms -------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS)
def test_feedback_at_every_moment_is_the_closed_loop(law):
    run = oscillator().simulate(2.0, START, inputs=LAWS[law], rtol=1e-11)
    closed = expm(2.0 * (A - B @ [[KP, KD]])) @ [1.0, -0.3]
    assert np.allclose([run["x"][-1], run["x'"][-1]], closed, rtol=0, atol=1e-10)
    assert np.allclose(run["w"], -KP * run["x"] - KD * run["x'"], rtol=0, atol=1e-12)
    assert np.abs(run.imbalance).max() < 1e-9


def test_parameters_of_the_system_are_gains_that_need_no_new_code():
    s = mg.System("mass")
    s.prismatic("x", s.ground, s.body("b", mass=1.0, inertia=(1, 1, 1)), axis="x")
    s.torque("f", "x", s.input("w"))
    gain = s.parameter("gain", 4.0)
    eqs, law = s.equations(), mg.sampled(lambda m: -gain * m.coordinate("x"), 1.0)
    for value in (4.0, 9.0):
        runs = [
            eqs.simulate(1.0, {"x": 1.0}, inputs=law, parameters={"gain": value}),
            eqs.rollout([1.0], [0.0], step=0.5, steps=2, inputs=law, parameters=[[value]]),
        ]
        assert all(np.isclose(run.q[..., -1, 0], 1 - value / 2).all() for run in runs)


@pytest.mark.parametrize("method", [None, "radau", "dop853"])
@pytest.mark.parametrize("law", LAWS)
def test_sampled_feedback_is_the_discrete_system_whatever_the_output(law, method):
    rate, state, states = 40, np.array([1.0, -0.3]), []
    Ad, Bd = held(1 / rate)
    for _ in range(61):
        states.append(state)
        state = Ad @ state + Bd @ [-KP * state[0] - KD * state[1]]
    eqs, exact = oscillator(), np.array(states)
    for step in (1 / rate, 0.5, 1.5, 0.03):  # 0.03 and 1/40 meet every sixth time
        run = eqs.simulate(
            1.5, START, inputs=sampled(LAWS[law], rate), rtol=1e-11, step=step, method=method
        )
        rows = np.isclose((run.time * rate) % 1, 0, atol=1e-9) | np.isclose(
            (run.time * rate) % 1, 1, atol=1e-9
        )
        seen = np.round(run.time[rows] * rate).astype(int)
        assert np.allclose(run.q[rows, 0], exact[seen, 0], rtol=0, atol=2e-10)
        assert np.allclose(run.u[rows, 0], exact[seen, 1], rtol=0, atol=2e-10)
        last = np.floor(run.time * rate + 1e-6).astype(int)  # the sample that is held
        assert np.allclose(run["w"], exact[last] @ [-KP, -KD], rtol=0, atol=2e-9)
        assert np.abs(run.imbalance).max() < 1e-8


@pytest.mark.parametrize(
    ("rate", "rtol", "least", "most"),
    [(400, 1e-8, 6, 6.1), (60, 1e-9, 7, 9), (400, 1e-11, 6, 7.5), (10, 1e-11, 12, 21)],
)
def test_between_samples_the_motion_is_known_as_well(rate, rtol, least, most):
    """States within steps, and events; with steps of orders 4 and 5 where samples come often, and
    of order 8: as many evaluations as these take."""
    state, states = np.array([1.0, -0.3]), []
    Ad, Bd = held(1 / rate)
    for _ in range(2 * rate + 1):
        states.append(state)
        state = Ad @ state + Bd @ [-KP * state[0] - KD * state[1]]

    def exact(t):
        k = int(np.floor(t * rate + 1e-9))
        A_part, B_part = held(t - k / rate)
        return A_part @ states[k] + B_part @ [-KP * states[k][0] - KD * states[k][1]]

    run = oscillator().simulate(
        2.0,
        START,
        inputs=mg.sampled(LAWS["all, with m"], rate),
        rtol=rtol,
        step=0.0125 / 7 * 3.5,
        events={"middle": mg.Event("x", stop=False)},
        method="rk8",
    )
    found = np.hstack([run.q, run.u])
    assert np.allclose(found, [exact(t) for t in run.time], rtol=0, atol=30 * rtol)
    assert len(run.events["middle"]) == 1
    assert abs(exact(run.events["middle"][0])[0]) < 30 * rtol
    assert least <= run.statistics["evaluations"] / run.statistics["steps"] < most


def test_two_rates_at_once_are_sampled_each_at_its_own_moments():
    s = mg.System("two")
    for name in "ab":
        s.prismatic(name, s.ground, s.body(f"body {name}", mass=1.0, inertia=(1, 1, 1)), axis="x")
        s.torque(f"drive {name}", name, s.input(f"w{name}"))
    inputs = {
        "wa": mg.sampled(lambda m: -m.coordinate("b"), 30),
        "wb": mg.sampled(lambda t, q, u: -q[0], 20),
    }
    run = s.equations().simulate(1.0, {"a": 1.0, "b": 0.5}, inputs=inputs, step=0.1, rtol=1e-11)
    x, v, w = np.array([1.0, 0.5]), np.zeros(2), np.zeros(2)
    for k in range(60):  # every 1/60 s
        w[0] = -x[1] if k % 2 == 0 else w[0]
        w[1] = -x[0] if k % 3 == 0 else w[1]
        x, v = x + v / 60 + w / 7200, v + w / 60
    assert np.allclose(run.q[-1], x, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "law",
    [
        lambda t, q, u, x: (-KP * q - x["sum"], {"sum": 2 * q[0]}),
        lambda m, x: (-KP * m.coordinate("x") - x["sum"], {"sum": 2 * m.coordinate("x")}),
    ],
    ids=["Python", "m"],
)
def test_states_of_a_controller_are_integrated_along(law):
    run = oscillator().simulate(
        2.0, START, inputs=mg.feedback(law, states={"sum": 0.7}), rtol=1e-11
    )
    whole = np.block([[A - KP * B @ [[1, 0]], -B], [np.array([[2, 0, 0]])]])
    closed = expm(2.0 * whole) @ [1.0, -0.3, 0.7]
    assert np.allclose([run["x"][-1], run["x'"][-1], run["sum"][-1]], closed, rtol=0, atol=1e-10)


@pytest.mark.parametrize(
    ("controller", "moment"),
    [
        (mg.feedback(lambda m, x: (0, {"own": -1}), {"own": 0.35}), 0.35),
        (mg.feedback(lambda t, q, u, x: (0, {"own": -1}), {"own": 0.35}), 0.35),
        (mg.sampled(lambda m, x: (0, {"own": x["own"] - 0.1}), 10, {"own": 0.35}), 0.3),
    ],
)
@pytest.mark.parametrize("stop", [True, False])
def test_states_of_a_controller_have_events(controller, moment, stop):
    event = {"passed": mg.Event("own", -1, stop)}
    run = oscillator().simulate(1.0, inputs={"w": controller}, events=event)
    assert np.allclose(run.events["passed"], [moment], rtol=1e-9)
    assert np.isclose(run.time[-1], moment if stop else 1.0)


@pytest.mark.parametrize("method", [None, "dop853"])
@pytest.mark.parametrize(
    "law",
    [
        lambda t, q, u, x: ({"w": -KP * q[0] - x["sum"]}, [x["sum"] + 0.1 * q[0]]),
        lambda m, x: (
            -KP * m.coordinate("x") - x["sum"],
            {"sum": x["sum"] + 0.1 * m.coordinate("x")},
        ),
    ],
    ids=["Python", "m"],
)
def test_states_of_a_sampled_controller_are_kept_in_between(law, method, tmp_path):
    run = oscillator().simulate(
        2.0, START, inputs=mg.sampled(law, 25, states={"sum": 0.7}), rtol=1e-11, method=method
    )
    (Ad, Bd), state, total = held(1 / 25), np.array([1.0, -0.3]), 0.7
    for _ in range(50):
        w, total = -KP * state[0] - total, total + 0.1 * state[0]
        state = Ad @ state + Bd @ [w]
    assert np.allclose(run.q[-1], state[0], rtol=0, atol=1e-10)
    assert np.isclose(run.at(-2)["sum"][0], total, rtol=0, atol=1e-10)  # before the last sample
    assert "sum" in run.to_dataframe()
    again = mg.load_run(run.save(tmp_path / "run"))
    assert np.array_equal(again["sum"], run["sum"])


def test_a_sampled_law_may_ask_for_the_accelerations_of_the_inputs_before():
    law = mg.sampled(lambda m: -m.acceleration("b")[0], 50)
    run = oscillator().simulate(1.0, START, inputs=law, rtol=1e-11, step=0.02)
    (Ad, Bd), state, w = held(1 / 50), np.array([1.0, -0.3]), 0.0
    for _ in range(50):
        w = -(A @ state + B[:, 0] * w)[1]
        state = Ad @ state + Bd[:, 0] * w
    assert np.allclose(run.q[-1], state[0], rtol=0, atol=1e-11)


# --- contacts, events, loops ----------------------------------------------------------------------


@pytest.mark.parametrize("written", ["Python", "m"])
def test_a_held_force_lifts_a_block_off_at_the_sample(written):
    """Thrust 3 m g from t = 0.25 on, one of the samples."""
    s = mg.System("block", gravity=(0, 0, -10.0))
    b = s.body("b", mass=1.0, inertia=(1, 1, 1))
    s.prismatic("z", s.ground, b, axis="z")
    s.rigid_contact("foot", mg.Sphere(b, 0.5), mg.Plane(s.ground), restitution=0.0)
    s.torque("thrust", "z", s.input("w"))
    laws = {
        "Python": lambda t, q, u: np.array([30.0 * (t >= 0.2499)]),
        "m": lambda m: mg.if_else(m.time >= 0.2499, 30.0, 0.0),
    }
    run = s.equations().simulate(
        1.0,
        {"z": 0.5},
        inputs=mg.sampled(laws[written], 20),
        step=0.1,
        events={"high": mg.Event(lambda m: m.coordinate("z") - 1.5, stop=False)},
    )
    assert np.allclose(run["z"], 0.5 + 10 * np.maximum(run.time - 0.25, 0) ** 2, atol=1e-8)
    assert np.isclose(run.events["high"][0], 0.25 + np.sqrt(0.1), atol=1e-9)


def four_bar(driven: str) -> mg.System:
    s = mg.System("four-bar", gravity=(0, -9.81, 0))
    bars = [s.body(name, mass=2.0, com=(0.5, 0, 0), inertia=(0.01, 0.2, 0.2)) for name in "ABC"]
    s.revolute("crank", s.ground, bars[0])
    s.revolute("coupler", bars[0], bars[1], at=(1, 0, 0))
    s.revolute("rocker", s.ground, bars[2], at=(1.5, 0, 0))
    s.revolute("pin", bars[1], bars[2], at=(1.2, 0, 0), child_at=(1, 0, 0))
    s.torque("motor", driven, s.input("w"))
    return s


def test_a_loop_in_any_way_of_keeping_it():
    """A driven four-bar: the same motion with constraints projected, and solved along."""
    s = four_bar("crank")
    law = mg.sampled(lambda m: 40 * (1.0 - m.coordinate("crank")) - 8 * m.speed("crank"), 20)
    options = {"inputs": law, "guess": {"coupler": -1.0, "rocker": 1.5}, "rtol": 1e-8, "step": 0.1}
    runs = [
        s.equations(formalism).simulate(0.2, {"crank": 1.2}, stabilization=stabilization, **options)
        for formalism, stabilization in (
            ("newton-euler", "projection"),
            ("absolute", "projection"),
            ("kane", "gear-gupta-leimkuhler"),
        )
    ]
    assert all(np.allclose(run["crank"], runs[0]["crank"], rtol=0, atol=1e-6) for run in runs)
    assert np.abs(runs[0].violation).max() < 1e-9


@pytest.mark.parametrize("law", ["pid", "in Python", "sampled"])
def test_states_of_a_controller_in_the_stabilized_equations(law):
    """They are integrated along with the multipliers: as with projection."""
    laws = {
        "pid": mg.pid("crank", reference=1.3, kp=20.0, ki=30.0, kd=4.0, filter=0.02),
        "in Python": mg.feedback(
            lambda t, q, u, x: (-40 * x["s"], {"s": np.sin(9 * t) - 5 * x["s"]}), {"s": 0.1}
        ),
        "sampled": mg.sampled(
            lambda m, x: (9 * x["s"], {"s": 1.3 - m.coordinate("crank") + 0.5 * x["s"]}),
            20,
            {"s": 0.1},
        ),
    }
    options = {"inputs": {"w": laws[law]}, "guess": {"coupler": -1.0, "rocker": 1.5}, "step": 0.1}
    eqs, start = four_bar("crank").equations("kane"), {"crank": 1.2}
    runs = [
        eqs.simulate(0.2, start, stabilization=stabilization, rtol=1e-9, **options)
        for stabilization in ("projection", "gear-gupta-leimkuhler")
    ]
    for name in ("crank", "crank'", *laws[law].states):
        assert np.allclose(runs[0][name], runs[1][name], rtol=0, atol=1e-6)
    assert np.abs(runs[1].imbalance).max() < 1e-6


# --- laws in common use ---------------------------------------------------------------------------


def test_pid_at_every_moment_is_linear():
    kp, ki, kd, T = 4.0, 3.0, 1.5, 0.05
    law = {"w": mg.pid("x", 0.6, kp=kp, ki=ki, kd=kd, filter=T)}
    run = oscillator().simulate(3.0, START, inputs=law, rtol=1e-11)
    # (x, v, I, d, 1): w = kp (r − x) + I + kd d, İ = ki (r − x), T ḋ = −v − d
    w = np.array([-kp, 0, 1, kd, kp * 0.6])
    whole = np.zeros((5, 5))
    whole[:2, :2], whole[1] = A, [*A[1], 0, 0, 0] + w / M
    whole[2, [0, 4]], whole[3, [1, 3]] = [-ki, ki * 0.6], [-1 / T, -1 / T]
    closed = expm(3.0 * whole) @ [1.0, -0.3, 0, 0, 1]
    names = ("x", "x'", "x: integral", "x: derivative")
    assert np.allclose([run[name][-1] for name in names], closed[:4], rtol=0, atol=1e-9)


def test_pid_without_a_filter_takes_the_speed():
    law = mg.pid(lambda m: m.position("b")[0], lambda t: mg.sin(t), kp=4.0, kd=1.5)
    run = oscillator().simulate(1.0, START, inputs={"w": law}, rtol=1e-11)
    error, slope = np.sin(run.time) - run["x"], np.cos(run.time) - run["x'"]
    assert np.allclose(run["w"], 4 * error + 1.5 * slope, rtol=0, atol=1e-12)


def test_sampled_pid_with_limits_is_its_recursion():
    kp, ki, kd, filter, rate, tracking = 40.0, 30.0, 3.0, 0.02, 50, 0.4
    law = mg.pid(
        "x", 0.6, kp=kp, ki=ki, kd=kd, filter=filter, limits=(-4, 6), tracking=tracking, rate=rate
    )
    run = oscillator().simulate(2.0, START, inputs={"w": law}, rtol=1e-11, step=1 / rate)
    T, state, integral, D, before = 1 / rate, np.array([1.0, -0.3]), 0.0, 0.0, None
    Ad, Bd = held(T)
    for k in range(2 * rate):
        e = 0.6 - state[0]
        D = (filter * D + kd * (0 if before is None else e - before)) / (filter + T)
        raw = kp * e + integral + D
        w, before = np.clip(raw, -4, 6), e
        assert np.isclose(run["w"][k], w, rtol=0, atol=1e-8)
        integral += T * (ki * e + (w - raw) / tracking)
        state = Ad @ state + Bd @ [w]
    assert {-4.0, 6.0} <= set(run["w"])


def test_an_integral_at_its_limit_is_led_back():
    kp, ki, kd, high = 2.0, 4.0, 3.0, 3.5

    def run(tracking):
        law = mg.pid("x", 1.0, kp=kp, ki=ki, kd=kd, limits=(-9, high), tracking=tracking)
        return oscillator().simulate(8.0, {"x": -2.0}, inputs={"w": law}, rtol=1e-10)

    def slopes(_, y):
        x, v, integral = y
        raw = kp * (1 - x) + integral - kd * v
        w = min(raw, high)
        return [v, (w - C * v - K * x) / M, ki * (1 - x) + (w - raw) / 0.5]

    led, free = run(0.5), run(1e9)
    closed = solve_ivp(slopes, (0, 8), [-2.0, 0, 0], rtol=1e-10, atol=1e-12, max_step=0.01)
    assert np.allclose([led["x"][-1], led["x: integral"][-1]], closed.y[[0, 2], -1], atol=1e-7)
    assert led["w"].max() == free["w"].max() == high
    assert led["x"].max() < free["x"].max() - 0.1


def arm() -> mg.System:
    s = mg.System("arm", gravity=(0, 0, -9.81))
    upper = s.body("upper", mass=1.0, com=(0.1, 0, -0.5), inertia=(0.08, 0.09, 0.02))
    lower = s.body("lower", mass=0.8, com=(0, 0.1, -0.4), inertia=(0.05, 0.06, 0.01))
    s.revolute("shoulder", s.ground, upper, axis="y", damping=0.3)
    s.revolute("elbow", upper, lower, axis="x", at=(0, 0, -1.0), stiffness=2.0)
    s.torque("first", "shoulder", s.input("torque1"))
    s.torque("second", "elbow", 3.0 * s.input("torque2"))
    return s


@pytest.mark.smoke
@pytest.mark.parametrize("formalism", ["newton-euler", "lagrange", "hamilton"])
def test_computed_torque_leaves_linear_errors(formalism):
    """ë + kd ė + kp e = 0 from any start, whatever the speeds are."""
    s = arm()
    reference = {"shoulder": 0.5 * mg.sin(2 * s.time), "elbow": lambda t: 0.3 * mg.cos(t)}
    eqs = s.equations(formalism)
    law = mg.computed_torque(reference, kp={"shoulder": 25.0, "elbow": 16.0}, kd=10.0)
    run = eqs.simulate(1.0, {"shoulder": 0.8, "elbow": -0.2}, inputs=law, rtol=1e-11)
    references = 0.5 * np.sin(2 * run.time), 0.3 * np.cos(run.time)
    starts = ((0.8, -1.0), (-0.5, 0.0))
    for name, r, kp, start in zip(("shoulder", "elbow"), references, (25, 16), starts, strict=True):
        closed = [(expm(t * np.array([[0, 1], [-kp, -10]])) @ start)[0] for t in run.time]
        assert np.allclose(run[name] - r, closed, rtol=0, atol=1e-9)


def test_computed_torque_through_a_loop():
    s = four_bar("rocker")
    eqs = s.equations()
    law = mg.computed_torque({"crank": 1.0 + 0.2 * s.time}, kp=25.0, kd=10.0)
    run = eqs.simulate(
        1.0, {"crank": 1.2}, guess={"coupler": -1.0, "rocker": 1.5}, inputs=law, rtol=1e-11
    )
    closed = [(expm(t * np.array([[0, 1], [-25, -10]])) @ [0.2, -0.2])[0] for t in run.time]
    assert np.allclose(run["crank"] - 1.0 - 0.2 * run.time, closed, rtol=0, atol=1e-8)


def cart() -> mg.Equations:
    s = mg.System("pendulum on a cart", gravity=(0, 0, -9.81))
    c = s.body("cart", mass=1.0, inertia=(1, 1, 1))
    rod = s.body("rod", mass=0.3, com=(0, 0, 0.5), inertia=(0.02, 0.02, 0.001))
    s.prismatic("x", s.ground, c, axis="x")
    s.revolute("hinge", c, rod, axis="y")
    s.torque("f", "x", s.input("push"))
    return s.equations()


def test_lqr_is_that_of_the_control_library():
    control = pytest.importorskip("control")
    linear = cart().linearize({"hinge": 0.0})
    Q, R = np.diag([1.0, 2.0, 3.0, 4.0]), [[0.1]]
    gain = linear.lqr_gain(np.diag(Q), 0.1)
    assert np.allclose(gain, control.lqr(linear.to_control(), Q, R)[0], rtol=1e-8)
    discrete = control.c2d(linear.to_control(), 0.01)
    assert np.allclose(linear.lqr_gain(Q, R, 100), control.dlqr(discrete, Q, R)[0], rtol=1e-8)


@pytest.mark.parametrize("rate", [None, 100])
def test_state_feedback_holds_an_unstable_pendulum_as_its_linear_model_says(rate):
    eqs = cart()
    linear = eqs.linearize({"hinge": 0.0})
    run = eqs.simulate(
        1.0, {"hinge": 1e-5}, inputs=linear.lqr(1.0, 0.1, rate), rtol=1e-12, step=0.1
    )
    K, start = linear.lqr_gain(1.0, 0.1, rate), 1e-5 * np.eye(4)[linear.states.index("hinge")]
    if rate is None:
        closed = expm(linear.A - linear.B @ K)
    else:
        whole = expm(np.block([[linear.A, linear.B], [np.zeros((1, 5))]]) / rate)
        closed = np.linalg.matrix_power(whole[:4, :4] - whole[:4, 4:] @ K, rate)
    found = [run[name][-1] for name in linear.states]
    assert np.allclose(found, closed @ start, rtol=0, atol=1e-12)
    columns = [linear.states.index(name) for name in (*eqs.coordinates, *eqs.speeds)]
    other = eqs.simulate(
        1.0,
        {"hinge": 1e-5},
        inputs=mg.state_feedback(K[:, columns], {"x": 0.0}, rate=rate),
        rtol=1e-12,
        step=0.1,
    )
    assert np.allclose(other.q, run.q, rtol=0, atol=1e-15)


def test_laws_can_be_pickled():
    linear = cart().linearize({"hinge": 0.0})
    for law in (mg.pid("x", 0.3, kp=1.0), mg.state_feedback([1, 1], [0]), linear.lqr(1, 1, 10)):
        again = pickle.loads(pickle.dumps(law))
        assert repr(again) == repr(law)
    torque = pickle.loads(pickle.dumps(mg.computed_torque({"x": 0.3}, 4.0, 2.0)))
    run = oscillator().simulate(1.0, START, inputs=torque, rtol=1e-10)
    closed = expm([[0, 1], [-4, -2]]) @ [0.7, -0.3]
    assert np.isclose(run["x"][-1], 0.3 + closed[0], atol=1e-9)


# --- bad input ------------------------------------------------------------------------------------

WRONG = {
    "shape": (lambda t, q, u: [1.0, 2.0], "expected 1 numbers (w), got 2"),
    "no number": (lambda t, q, u: "full", "expected 1 numbers (w), got"),
    "nothing": (lambda t, q, u: None, "expected w, got None"),
    "NaN": (lambda t, q, u: [np.nan], "'w' is not finite"),
    "name": (lambda t, q, u: {"v": 1.0}, "'v'"),
    "raises": (lambda t, q, u: 1 / 0, "ZeroDivisionError"),
}


@pytest.mark.parametrize("rate", [None, 100])
@pytest.mark.parametrize("wrong", WRONG)
def test_a_controller_that_goes_wrong_is_told_with_its_moment_and_state(wrong, rate):
    law, words = WRONG[wrong]

    def late(t, q, u):
        return law(t, q, u) if t > 0.2 else [0.0]

    inputs = late if rate is None else mg.sampled(late, rate)
    with pytest.raises(mg.SimulationError) as error:
        oscillator().simulate(1.0, START, inputs=inputs, step=0.01)
    text, run = str(error.value), error.value.trajectory
    assert words in text
    assert "the controller failed at t = 0." in text
    assert "there x = " in text
    assert run.time[-1] > 0.185
    assert np.isfinite(run.q).all()


REFUSED = {
    "m: shape": (lambda m: [1, 2], "expected 1 inputs (w), got 2"),
    "m: name": (lambda m: {"v": 1}, "unknown input 'v'"),
    "m: coordinate": (lambda m: m.coordinate("y"), "'y'"),
    "m: algebraic": (lambda m: m.acceleration("b")[0], "mg.sampled"),
    "m: NaN": (lambda m: m.time * np.nan, "NaN"),
    "arguments": (lambda t, q: 0.0, "(t, q, u)"),
    "no law": (mg.Controller(lambda m, x: m.time, "motion", None, {"s": 0.0}), "returns a pair"),
    "a name twice": (mg.feedback(lambda m, x: (0, [0]), states={"x": 0.0}), "called 'x' already"),
    "a state less": (mg.feedback(lambda m, x: (0, {}), states={"a": 0.0}), "expected a"),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_what_cannot_be_a_controller_is_refused_before_the_run(wrong):
    law, words = REFUSED[wrong]
    with pytest.raises(mg.MechgraphError) as error:
        oscillator().simulate(1.0, START, inputs=law)
    assert words in str(error.value)


def test_wrong_arguments_of_laws_are_named():
    eqs, linear = oscillator(), cart().linearize({"hinge": 0.0})
    for call, words in (
        (lambda: mg.sampled(lambda m: 0, rate=0), "rate"),
        (lambda: mg.sampled(3.0, rate=10), "function"),
        (lambda: mg.sampled(mg.pid("x", kp=1, ki=1), 10), "mg.pid has rate"),
        (lambda: mg.pid("x", kp=1, limits=(2, 1)), "least and the largest"),
        (lambda: mg.pid("x", ki=1, limits=(0, 1)), "tracking"),
        (lambda: mg.pid("x", kp=1, filter=-1), "filter"),
        (lambda: eqs.simulate(1.0, inputs=mg.computed_torque({"y": 0}, 1, 1)), "'y'"),
        (lambda: eqs.simulate(1.0, inputs=mg.computed_torque({}, 1, 1)), "as many coordinates"),
        (lambda: mg.computed_torque({"x": 0}, {"y": 1}, 1), "kp"),
        (lambda: linear.lqr([1, 2], 1), "Q"),
        (lambda: linear.lqr(1, -1), "lqr"),
        (lambda: linear.feedback([[1, 2]]), "4 columns"),
        (lambda: eqs.simulate(1.0, inputs=mg.state_feedback([1, 2, 3], [0])), "2 columns"),
        (lambda: eqs.simulate(1.0, inputs={"w": mg.pid("z", kp=1)}), "'z'"),
        (lambda: eqs.simulate(1.0, inputs=linear.feedback(np.ones((1, 4)))), "'hinge'"),
    ):
        with pytest.raises(mg.MechgraphError, match=words):
            call()


def test_a_failing_law_that_fails_again_keeps_the_motion():
    calls = iter(range(60))
    with pytest.raises(mg.SimulationError, match="StopIteration") as error:
        oscillator().simulate(1.0, START, inputs=lambda t, q, u: [0.0 * next(calls)], max_step=0.1)
    run = error.value.trajectory
    assert len(run.time) > 2
    assert np.isfinite(run.q).all()


def test_a_law_without_a_value_on_the_way_keeps_the_motion_and_is_named():
    for law in (
        lambda m: mg.sqrt(0.5 - m.time),
        mg.sampled(lambda m: mg.sqrt(0.505 - m.time), 100),
    ):
        with pytest.raises(mg.SimulationError, match="input 'w' is nan") as error:
            oscillator().simulate(1.0, START, inputs=law, step=0.01)
        assert error.value.trajectory.time[-1] >= 0.49


# --- attitudes ------------------------------------------------------------------------------------


def ball(gravity: float = 9.81) -> mg.Equations:
    """A rod on a ball joint whose frame is turned, with a torque about each of its axes."""
    s = mg.System("rod", gravity=(0, 0, -gravity))
    rod = s.body("rod", mass=1.3, com=(0.1, 0.2, 0.5), inertia=(0.11, 0.09, 0.03))
    s.spherical("b", s.ground, rod, orientation=[("x", 0.4), ("y", -0.3)])
    s.torque("motors", "b", [s.input(name) for name in ("wx", "wy", "wz")])
    return s.equations()


def test_rotation_vectors_are_those_of_scipy():
    random = np.random.default_rng(3)
    for start, end in Rotation.random(40, random).as_quat(scalar_first=True).reshape(20, 2, 4):
        found = np.array(ca.DM(turned_by(ca.SX(ca.DM(end)), ca.DM(start)))).ravel()
        turn = Rotation.from_quat(end, scalar_first=True)
        turn = turn * Rotation.from_quat(start, scalar_first=True).inv()
        assert np.allclose(found, turn.as_rotvec(), atol=1e-12)
    assert np.allclose(np.array(ca.DM(turned_by(ca.SX(ca.DM(end)), ca.DM(end)))), 0, atol=1e-15)


@pytest.mark.parametrize("rate", [None, 200])
def test_state_feedback_holds_an_attitude_as_its_linear_model_says(rate):
    """Upside down, held by the torques of an equilibrium: x(t) = exp((A − BK) t) x(0)."""
    eqs, q0 = ball(), Rotation.from_rotvec([0.3, -0.5, 0.4]).as_quat(scalar_first=True)
    w0 = eqs.efforts(q0, np.zeros(3), np.zeros(3))
    linear = eqs.linearize((q0, np.zeros(3)), inputs=w0)
    K = linear.lqr_gain(1, 0.1, rate)
    size, turn = 1e-5, np.array([0.7, -0.4, 0.5])
    tilted = Rotation.from_rotvec(size * turn) * Rotation.from_quat(q0, scalar_first=True)
    start = tilted.as_quat(scalar_first=True), np.zeros(3)
    run = eqs.simulate(0.5, start, inputs=linear.feedback(K, rate), rtol=1e-11, atol=1e-16)
    back = Rotation.from_quat(run.q[-1], scalar_first=True)
    back = back * Rotation.from_quat(q0, scalar_first=True).inv()
    there = (
        np.concatenate(
            [back.as_rotvec(), Rotation.from_quat(q0, scalar_first=True).apply(run.u[-1])]
        )
        / size
    )
    first = np.concatenate([turn, np.zeros(3)])
    if rate is None:
        wanted = expm(0.5 * (linear.A - linear.B @ K)) @ first
    else:
        whole = expm(np.block([[linear.A, linear.B], [np.zeros((3, 9))]]) / rate)
        wanted = np.linalg.matrix_power(whole[:6, :6] - whole[:6, 6:] @ K, rate // 2) @ first
    assert np.allclose(there, wanted, rtol=0, atol=3e-4)
    far = Rotation.from_rotvec([1.5, 1.0, -1.2]) * Rotation.from_quat(q0, scalar_first=True)
    law = linear.lqr(1, 0.1, rate)
    run = eqs.simulate(8.0, (far.as_quat(scalar_first=True), np.zeros(3)), inputs=law)
    assert abs(abs(run.q[-1] @ q0) - 1) < 1e-5


# --- many at once ---------------------------------------------------------------------------------


@pytest.mark.parametrize("law", LAWS)
def test_rollouts_sample_all_trajectories_at_once(law):
    eqs, rate = oscillator(), 40
    starts = np.random.default_rng(2).normal(size=(5, 2))
    batched = {
        "by name, in Python": {"w": lambda t, q, u: -KP * q[:, 0] - KD * u[:, 0]},
        "all by name, in Python": lambda t, q, u: {"w": -KP * q[:, 0] - KD * u[:, 0]},
    }.get(law, LAWS[law])
    grid = {"step": 1 / 160, "steps": 160, "every": 2, "inputs": sampled(batched, rate)}
    runs = eqs.rollout(starts[:, :1], starts[:, 1:], **grid)
    alone = eqs.rollout(starts[:1, :1], starts[:1, 1:], **grid)
    assert np.allclose(alone.q[0], runs.q[0], rtol=0, atol=1e-13)
    (Ad, Bd), states = held(1 / rate), starts.T
    for _ in range(rate):
        states = Ad @ states + Bd @ (-KP * states[:1] - KD * states[1:])
    assert runs.q.shape == (5, 81, 1)
    assert np.allclose(runs.q[:, -1, 0], states[0], rtol=0, atol=1e-9)
    assert np.allclose(runs.u[:, -1, 0], states[1], rtol=0, atol=1e-9)


def test_rollouts_follow_a_law_written_with_m_within_each_step():
    """To the fourth order, where inputs that are held would be of the first."""
    closed = expm(A - B @ [[KP, KD]]) @ [1.0, -0.3]
    law, error = LAWS["all, with m"], []
    for steps in (40, 80):
        runs = oscillator().rollout([1.0], [-0.3], step=1 / steps, steps=steps, inputs=law)
        error.append(np.hypot(runs.q[0, -1, 0] - closed[0], runs.u[0, -1, 0] - closed[1]))
    assert 3.9 < np.log2(error[0] / error[1]) < 4.1


def test_without_a_compiler_all_is_the_same(monkeypatch):
    python, motion = LAWS["all, in Python"], LAWS["all, with m"]
    summed = mg.feedback(lambda m, x: (-x["s"], {"s": m.coordinate("x")}), states={"s": 0.1})
    starts = np.random.default_rng(2).normal(size=(2, 5, 1))

    def found():
        laws = sampled(python, 20), sampled(motion, 20), motion, summed
        runs = [oscillator().rollout(*starts, step=0.025, steps=20, inputs=law) for law in laws]
        runs += [
            oscillator().simulate(0.5, START, inputs=law, step=0.1, rtol=1e-11)
            for law in (*laws, python)
        ]
        return [run.q for run in runs]

    quick = found()
    monkeypatch.setenv("MECHGRAPH_CC", "none")
    for a, b in zip(quick, found(), strict=True):
        assert np.allclose(a, b, rtol=0, atol=1e-10)


WITH_STATES = {
    "feedback, with m": mg.feedback(
        lambda m, x: (-m.coordinate("x") - x["s"], {"s": m.coordinate("x") - x["s"]}), {"s": 0.4}
    ),
    "sampled, with m": mg.sampled(
        lambda m, x: (-x["s"], {"s": 0.5 * x["s"] + m.coordinate("x")}), 20, {"s": 0.4}
    ),
    "sampled, in Python": mg.sampled(
        lambda t, q, u, x: (-x["s"] - u[..., 0], {"s": 0.5 * x["s"] + q[..., 0]}), 20, {"s": 0.4}
    ),
    "pid": mg.pid("x", reference=0.2, kp=3.0, ki=1.0, kd=0.5, filter=0.1),
    "sampled pid": mg.pid("x", reference=0.2, kp=3.0, ki=1.0, kd=0.5, filter=0.1, rate=20),
}


@pytest.mark.parametrize("law", WITH_STATES)
def test_rollouts_carry_the_states_of_controllers(law):
    """Each trajectory as ``simulate`` has it, the states, too, also where they are recorded less
    often than they are sampled."""
    eqs, inputs = oscillator(), {"w": WITH_STATES[law]}
    q, u = np.random.default_rng(5).normal(size=(2, 3, 1))
    runs = eqs.rollout(q, u, step=1 / 200, steps=200, every=25, inputs=inputs)
    for k in range(3):
        run = eqs.simulate(1.0, (q[k], u[k]), inputs=inputs, step=0.125, rtol=1e-11)
        assert np.allclose(runs.q[k], run.q, rtol=0, atol=1e-7)
        for name in inputs["w"].states:
            assert np.allclose(runs[name][k], run[name], rtol=0, atol=1e-7)


def test_rollouts_hold_the_rates_of_states_in_python_over_a_step():
    """ṡ = x, held over steps of a motion x = 1 − t."""
    s = mg.System("mass")
    s.prismatic("x", s.ground, s.body("b", mass=1.0, inertia=(1, 1, 1)), axis="x")
    s.torque("f", "x", s.input("w"))
    law = mg.feedback(lambda t, q, u, x: (0.0, {"s": q[:, 0]}), {"s": 0.0})
    runs = s.equations().rollout([1.0], [-1.0], step=0.1, steps=10, inputs={"w": law})
    assert np.allclose(runs["s"][0, -1], 0.1 * np.sum(1 - 0.1 * np.arange(10)), rtol=1e-12)


def test_rollouts_tell_what_they_cannot_sample():
    eqs = oscillator()
    for inputs, words in (
        (mg.sampled(lambda m: 0, 30), "step must be a whole part of 0.0333333 s"),
        (lambda t, q, u: np.zeros((2, 1)), "3 trajectories at once"),
        (lambda t, q, u: np.full((3, 1), np.nan), "'w' is not finite"),
    ):
        with pytest.raises(mg.MechgraphError, match=words):
            eqs.rollout(np.zeros((3, 1)), np.zeros((3, 1)), step=0.01, steps=4, inputs=inputs)
