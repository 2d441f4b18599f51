"""Runs in the integrator's own steps: nothing is stepped over, nothing depends on the output,
stiffness is noticed, and rounding is told."""

from __future__ import annotations

import warnings

import casadi as ca
import numpy as np
import pytest
from casadi import SX
from scipy.integrate import solve_ivp

import mechgraph as mg
from mechgraph import gallery
from mechgraph.graph.kinks import kinks
from mechgraph.kernels.routine import Routine
from mechgraph.runtime.stepper import END, METHODS, Stepper

pytestmark = pytest.mark.machine_code

G = 9.81
LAST_DIGIT = 4e-15  # of a moment: as well as steps are ended there

COMPILED, INTERPRETED = "machine code", "interpreter"
EVERY_WAY = pytest.mark.parametrize(
    ("tier", "method"),
    [(tier, method) for tier in (COMPILED, INTERPRETED) for method in (None, *METHODS)],
    indirect=["tier"],
)
EVERY_TIER = pytest.mark.parametrize("tier", [COMPILED, INTERPRETED], indirect=True)


@pytest.fixture
def tier(request, monkeypatch):
    """Functions of the model in machine code, or interpreted, as they are without a compiler."""
    if request.param == INTERPRETED:
        monkeypatch.setenv("MECHGRAPH_CC", "none")
    return request.param


def balls(gap: float = 4.94, stiffness: float = 1e8) -> mg.System:
    s = mg.System("balls")
    for name in "ab":
        body = s.body(name, mass=0.17, inertia=(1e-4, 1e-4, 1e-4))
        s.prismatic(f"x{name}", s.ground, body, axis="x")
    surfaces = mg.Sphere(s.bodies["a"], 0.03), mg.Sphere(s.bodies["b"], 0.03)
    s.compliant_contact("hit", *surfaces, stiffness=stiffness)
    return s


# --- nothing is stepped over ----------------------------------------------------------------------


@EVERY_WAY
def test_balls_do_not_pass_through_each_other(tier, method):
    """Equal masses exchange their speeds, and the contact lasts as Hertz says."""
    equations = balls().equations()
    options = {"rtol": 1e-10, "step": 4.0, "method": method}
    touch = {"hit": mg.Event(lambda m: m.coordinate("xb") - m.coordinate("xa") - 0.06, stop=False)}
    run = equations.simulate(4.0, {"xa": -5.0, "xa'": 2.0, "xb": 0.0}, events=touch, **options)
    assert run.u[-1] == pytest.approx([0.0, 2.0], abs=1e-6)
    k, m, v = 1e8, 0.085, 2.0
    deepest = (1.25 * m * v**2 / k) ** 0.4
    assert run.events["hit"][0] == pytest.approx(4.94 / 2, abs=1e-9)
    assert np.ptp(run.events["hit"]) == pytest.approx(2.9432751 * deepest / v, rel=1e-5)


@pytest.mark.parametrize(
    ("stiffness", "speed", "place"),
    [  # steps whose estimate of the error was small by luck: balls went through each other
        (848591.7618363441, 1.4425645548584598, -0.47267956376551423),
        (9670724.5157185, 0.8757212233921298, -0.5046751517400547),
        (3541679.739144914, 1.7643498353612075, -0.579013572563102),
        (95256844.3575182, 1.3676312002111737, -0.680969209564721),
    ],
)
def test_no_step_is_taken_by_luck(stiffness, speed, place):
    s = mg.System("balls")
    for name, mass in (("a", 0.9013), ("b", 0.3803)):
        body = s.body(name, mass=mass, inertia=(1e-4, 1e-4, 1e-4))
        s.prismatic(f"x{name}", s.ground, body, axis="x")
    s.compliant_contact("hit", mg.Sphere("a", 0.05), mg.Sphere("b", 0.05), stiffness=stiffness)
    start = {"xa": place, "xa'": speed, "xb": 0.1}
    run = s.equations().simulate(1.0, start, step=1.0, track_work=False)
    assert run.kinetic[-1] == pytest.approx(run.kinetic[0], rel=1e-6)


def test_balls_softer_than_their_impact_are_told():
    """The law of the contact is for small depths: what comes out on the other side is warned of."""
    start = {"xa": -1.0, "xa'": 2.0, "xb": 0.0}
    with pytest.warns(UserWarning, match="contact 'hit' is pressed in by more than half"):
        balls(stiffness=50.0).equations().simulate(1.0, start, step=0.5)


def test_a_needle_of_force_is_not_stepped_over():
    """A push that lasts a microsecond out of ten seconds, whenever it comes; how long that is, is
    known to the rounding of the moments."""
    s = mg.System("pushed")
    body = s.body("body", mass=2.0, inertia=(1, 1, 1))
    s.prismatic("x", s.ground, body, axis="x")
    at = s.parameter("at", 7.3)
    push = mg.if_else(mg.fabs(s.time - at) < 5e-7, 1e6, 0.0)
    s.force("push", body, (push, 0, 0))
    for moment in (0.1, 3.3333, 7.291961355370842, 7.3, 9.99):
        run = s.equations().simulate(10.0, step=10.0, parameters={"at": moment})
        assert run.u[-1][0] == pytest.approx(0.5, rel=1e-8 + LAST_DIGIT * moment / 1e-6)


def sign_changes(functions: SX, x: SX) -> list[tuple[int, float, float]]:
    """Changes of sign of functions of x, of which steps.c makes one step from 0 to 1."""
    t, y = SX.sym("t"), SX.sym("y")
    state = ca.vertcat(y, t)
    flow = Routine("flow", state, SX(1))
    surface = Routine("surface", state, ca.substitute(functions, x, y))
    sizes = {"moving": 1, "constants": np.zeros(0), "rtol": 1e-3, "atol": 1.0, "longest": 1.0}
    steps = Stepper("rk8", flow, None, surface, **sizes, margins=functions.numel())
    steps.output(np.ones(1))
    steps.begin(0.0, np.zeros(1), np.zeros(0))
    steps.run.h = 1.0
    assert steps.integrate(1.0, 10.0) == END
    assert steps.run.steps == 1
    return steps.crossings()


def test_signs_are_found_where_functions_dip():
    """Dips of a millionth of the step, wherever they are, and none where there is none."""
    random, x = np.random.default_rng(1), SX.sym("x")
    for _ in range(200):
        place, width = random.uniform(0.05, 0.95), 10 ** random.uniform(-6, -1)
        shift = random.choice([-1, 1]) * width * random.uniform(0.05, 1)
        dips = ca.fabs(x - place) + shift, (x - place) ** 2 + 1e-3 * np.sign(shift)
        found = sign_changes(ca.vertcat(*dips), x)
        zeros = [place + shift, place - shift] if shift < 0 else []
        spans = [span for s, *span in found if s == 0]
        assert len(spans) == len(zeros)
        assert all(a <= zero <= b for (a, b), zero in zip(spans, zeros, strict=True))
        assert len(found) == (4 if shift < 0 else 0)


def test_waves_are_counted():
    """All zeros of sin(2π (n x + phase)), also where five places see each wave at the same spot."""
    random, x = np.random.default_rng(2), SX.sym("x")
    for waves in (1, 2, 3, 4, 8, 12, 16, 4.03, 7.3, 20.5):
        for phase in (0.25, 0.26, *random.uniform(0.01, 0.99, 5)):
            found = sign_changes(ca.sin(2 * np.pi * (waves * x + phase)), x)
            assert len(found) == np.ceil(2 * (waves + phase)) - np.ceil(2 * phase)


def test_kinks_are_read_from_expressions():
    x = SX.sym("x", 3)
    value = ca.if_else(x[0] < x[1], ca.fabs(x[2]), 0) + ca.fmax(x[1], 2) + ca.sin(x[0])
    found = ca.Function("f", [x], [kinks(value)])
    zeros = np.array(found([1.0, 1.0, 0.0])).ravel()
    assert len(zeros) == 3
    assert np.sort(zeros) == pytest.approx([-1, 0, 0])
    assert kinks(ca.sin(x)).numel() == 0


def coin(restitution: float) -> mg.System:
    s = mg.System("coin", gravity=(0, 0, -G))
    body = s.body("body", mass=1.0, inertia=(0.0025333, 0.0025333, 0.005))
    s.free("place", s.ground, body)
    edges = mg.Cylinder(body, 0.1, 0.02)
    s.rigid_contact("floor", edges, mg.Plane(s.ground), restitution=restitution)
    return s


def leaning(lean: float) -> dict[str, float]:
    """On its edge, at rest."""
    half, low = (np.pi / 2 - lean) / 2, 0.1 * np.cos(lean) + 0.01 * np.sin(lean)
    return {"place.z": low, "place.q0": np.cos(half), "place.q1": np.sin(half)}


@EVERY_TIER
@pytest.mark.parametrize("restitution", [0.0, 0.8])
def test_a_coin_is_not_carried_over_the_moment_when_it_falls_flat(tier, restitution):
    """Beyond it the lowest point is on the other side, and the way back to the floor leads nowhere.
    Rounding decides which leans are met by that: some of them."""
    equations = coin(restitution).equations()
    if tier == COMPILED:
        equations.compile()
    for lean in np.arange(0.1, 1.5, 0.02)[[2, 10, 22, 24, 25, 38, 39, 48]]:
        run = equations.simulate(0.5, leaning(lean), step=0.01)
        assert run["place.z"].min() > 0.01 - 1e-8
        assert np.abs(run.imbalance).max() < 1e-6
        if restitution == 0:
            assert run.modes["floor 1.flat"][-1] == 1
            assert abs(run["place.z"][-1] - 0.01) < 1e-9
            assert np.abs(run.u[-1]).max() < 1e-9


# --- nothing depends on the output ----------------------------------------------------------------


def random_collider(seed: int) -> tuple[mg.System, dict[str, float], dict[str, mg.Event]]:
    """Masses in a row that hit each other and two stops, some on springs, with events."""
    random = np.random.default_rng(seed)
    s = mg.System(f"colliders {seed}", gravity=(0, 0, -G))
    count, start, events = int(random.integers(1, 4)), {}, {}
    for k in range(count):
        body = s.body(f"b{k}", mass=random.uniform(0.1, 2), inertia=(1e-3, 1e-3, 1e-3))
        springs = {"stiffness": 10 ** random.uniform(0, 3), "rest": 1.0 * k}
        s.prismatic(f"x{k}", s.ground, body, axis="x", **(springs if random.random() < 0.4 else {}))
        start |= {f"x{k}": 1.0 * k + random.uniform(-0.2, 0.2), f"x{k}'": random.uniform(-3, 3)}
        if random.random() < 0.7:
            events[f"e{k}"] = mg.Event(f"x{k}", stop=False)
    stiff = 10 ** random.uniform(3, 7)
    for k in range(count - 1):
        pair = mg.Sphere(f"b{k}", 0.05), mg.Sphere(f"b{k + 1}", 0.05)
        s.compliant_contact(f"c{k}", *pair, stiffness=stiff, damping=random.choice([0, 0.2]))
    for name, sign, place in (("left", 1, -0.7), ("right", -1, count - 0.3)):
        end = "b0" if sign > 0 else f"b{count - 1}"
        coordinate = "x0" if sign > 0 else f"x{count - 1}"

        def stop(m, sign=sign, place=place, coordinate=coordinate):
            depth = ca.fmax(0, sign * (place - m.coordinate(coordinate)))
            return sign * stiff * depth, 0, 0

        s.force(name, end, stop)
    return s, start, events


@pytest.mark.parametrize("seed", range(20))
def test_nothing_depends_on_the_output(seed, monkeypatch):
    """The same events and the same end, to the last bit, whatever the step; right to the tolerance;
    and nothing passes through anything."""
    # machine code that is ready in the midst of a run rounds otherwise than the interpreter
    monkeypatch.setattr(Routine, "hasten", lambda routine, seconds: None)
    system, start, events = random_collider(seed)
    equations, random = system.equations(), np.random.default_rng(seed)
    runs = [
        equations.simulate(2.0, start, step=2.0 / int(n), events=events)
        for n in (1, random.integers(2, 2000), 777)
    ]
    for run in runs[1:]:
        assert (run.q[-1] == runs[0].q[-1]).all()
        assert all((run.events[name] == runs[0].events[name]).all() for name in events)
    assert (np.diff(runs[2].q, axis=1) > 0).all()
    fine = equations.simulate(2.0, start, step=2.0, rtol=1e-12, events=events)
    assert np.abs(fine.q[-1] - runs[0].q[-1]).max() < 1e-4
    for name in events:
        assert len(fine.events[name]) == len(runs[0].events[name])
        assert np.abs(fine.events[name] - runs[0].events[name]).max(initial=0.0) < 1e-5


def test_events_do_not_change_the_motion():
    equations = balls().equations()
    start = {"xa": -5.0, "xa'": 2.0, "xb": 0.0}
    plain = equations.simulate(4.0, start, step=1.0)
    watched = equations.simulate(4.0, start, step=1.0, events={"e": mg.Event("xa", stop=False)})
    assert (plain.q == watched.q).all()


@EVERY_WAY
@pytest.mark.parametrize("begin", [111.4, 444.4, 777.7])
def test_a_push_upon_what_rests_is_not_stepped_over(tier, method, begin):
    """Steps grew tenfold at rest; one of them went over a push that lasted for a tenth of a run."""
    s = mg.System("rests")
    s.prismatic("x", s.ground, s.body("b", mass=1.0, inertia=(1, 1, 1)))
    s.torque("pushing", "x", s.input("push"))
    pushes = [
        (lambda t: float(begin < t < begin + 3.5), 3.5),
        (mg.exp(-((s.time - begin) ** 2)), np.sqrt(np.pi)),
    ]
    for push, impulse in pushes:
        run = s.equations().simulate(1000.0, inputs={"push": push}, method=method, step=1000.0)
        assert np.isclose(run["x'"][-1], impulse, rtol=1e-5)


@EVERY_WAY
@pytest.mark.parametrize("place", [3.3, 5.0, 7.7])
def test_nothing_flies_through_a_smooth_barrier(tier, method, place):
    """It is two joules high and a hundredth of the way wide, and what flies has half a joule."""
    s = mg.System("magnet")
    s.prismatic("x", s.ground, s.body("b", mass=1.0, inertia=(1, 1, 1)))

    def push(m):
        far = (m.coordinate("x") - place) / 0.05
        return 80 * far * mg.exp(-(far**2))

    s.torque("push", "x", push)
    run = s.equations().simulate(10.0, {"x'": 1.0}, method=method, step=10.0)
    assert np.isclose(run["x'"][-1], -1.0, rtol=1e-5)


def rubbing() -> mg.System:
    """An oscillator with dry friction."""
    s = mg.System("rubbing")
    s.prismatic("x", s.ground, s.body("b", mass=1.0, inertia=(1, 1, 1)), stiffness=1e6)
    s.torque("friction", "x", lambda m: -mg.sign(m.speed("x")))
    return s


@EVERY_TIER
@pytest.mark.parametrize("since", [-5.0, 1e6, 1.7e9])
def test_a_motion_is_the_same_whenever_it_begins(tier, since):
    """Half-turns 3 ms apart at t = 1e6 were taken for jumps without end, and steps for too short;
    further away they were wrong."""
    equations, duration = rubbing().equations(), 0.4
    turn = {"turn": mg.Event("x'", stop=False)}
    options = {"events": turn, "step": duration / 8, "method": "rk8"}
    first, second = (equations.simulate(duration, {"x": 1.0}, t=t, **options) for t in (0, since))
    assert np.array_equal(first.q, second.q)
    assert np.array_equal(since + first.time, second.time)
    assert np.array_equal(since + first.events["turn"], second.events["turn"])


@EVERY_TIER
def test_what_is_sampled_and_what_begins_in_time_may_be_far_from_zero(tier):
    runs = []
    for t in (0.0, 1e6):
        s = mg.System("pushed")
        s.prismatic("x", s.ground, s.body("b", mass=1.0, inertia=(1, 1, 1)), stiffness=1e2)
        s.torque("push", "x", mg.if_else(s.time > t + 0.3, 30.0, 0.0) + s.input("held"))
        held = mg.sampled(lambda m, t=t: 10 * mg.sin(9 * (m.time - t)), 64)
        options = {"t": t, "step": 0.03125, "inputs": {"held": held}}
        runs.append(s.equations().simulate(1.0, {"x": 1.0}, **options))
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-8
    assert np.abs(runs[0].w - runs[1].w).max() < 1e-7


def test_times_that_cannot_be_told_from_each_other_are_refused():
    with pytest.raises(mg.ArgumentError, match="cannot be told from each other at t = 1e\\+06"):
        rubbing().equations().simulate(1e-9, t=1e6)


@EVERY_TIER
def test_an_event_that_has_no_value_for_a_while_is_passed(tier):
    """Without a compiler, steps stayed as short as the search for its zeros had made them."""
    s = mg.System("falls", gravity=(0, 0, -10))
    s.prismatic("z", s.ground, s.body("b", mass=1.0, inertia=(1, 1, 1)), axis="z")
    root = mg.Event(lambda m: mg.sqrt(mg.fabs(m.coordinate("z") - 3) - 1) - 1, stop=False)
    run = s.equations().simulate(1.0, {"z": 5.5}, events={"root": root}, max_step=1.0)
    assert np.allclose(run.events["root"], np.sqrt(np.array([0.5, 4.5]) / 5), rtol=1e-9)
    assert run.statistics["steps"] < 50


def test_no_step_is_longer_than_told():
    equations = balls().equations()
    run = equations.simulate(4.0, {"xa'": -1.0, "xb": 1.0}, step=4.0, max_step=0.01)
    assert run.statistics["steps"] >= 400
    with pytest.raises(mg.ArgumentError, match="max_step"):
        equations.simulate(1.0, {"xb": 1.0}, max_step=-1)


@EVERY_TIER
def test_all_turns_of_a_fast_wheel_are_told(tier):
    """More zeros in a step than could be searched: 539 of 2,387 were told."""
    turns = 2387
    s = mg.System("wheel")
    s.revolute("hinge", s.ground, s.body("wheel", mass=1.0, inertia=(1, 1, 1)), axis="z")
    turn = {"turn": mg.Event(lambda m: mg.sin(m.coordinate("hinge") / 2), stop=False)}
    speed = 2 * np.pi * (turns + 0.3) / 10
    run = s.equations().simulate(10.0, {"hinge'": speed}, events=turn)
    assert run.events["turn"] == pytest.approx(2 * np.pi * np.arange(1, turns + 1) / speed)


@pytest.mark.parametrize("rigid", [True, False])
def test_nothing_flies_through_a_fan(rigid):
    """Its tip comes by a thousand times in a step."""
    s = mg.System("fan")
    fan = s.body("fan", mass=1.0, inertia=(1e-3, 1e-3, 1e-3))
    ball = s.body("ball", mass=0.01, inertia=0)
    s.revolute("hinge", s.ground, fan, axis="z")
    s.prismatic("x", s.ground, ball, axis="x", at=(-3, 0, 0))
    pair = mg.Sphere(ball, 0.02), mg.Sphere(s.marker("tip", fan, (0.2, 0, 0)), 0.02)
    if rigid:
        s.rigid_contact("hit", *pair, restitution=1.0)
    else:
        s.compliant_contact("hit", *pair, stiffness=1e6)
    ends = [
        s.equations().simulate(20.0, {"x'": 0.2, "hinge'": 300.0}, step=20.0, max_step=longest)
        for longest in (None, 2e-3)
    ]
    assert ends[0]["x'"][-1] == pytest.approx(ends[1]["x'"][-1], rel=1e-6)
    assert ends[0]["x'"][-1] < -1


@EVERY_TIER
@pytest.mark.parametrize("width", [0.1, 0.03, 0.01, 1e-3, 1e-5])
def test_pulses_of_a_series_are_not_stepped_over(tier, width):
    """Three stops near each other looked like one."""
    s = mg.System("pushed")
    s.prismatic("x", s.ground, s.body("body", mass=1.0, inertia=0), axis="x")
    s.torque("push", "x", s.input("force"))
    pulse = mg.table([0, width / 2, width, 1], [0, 1, 0, 0], outside="repeat")
    times = np.concatenate([[0.0], *(k + 0.4 + width * np.arange(3) / 2 for k in range(10)), [10]])
    for force in ((times, [0.0, *[0.0, 1.0, 0.0] * 10, 0.0]), pulse(s.time)):
        run = s.equations().simulate(10.0, inputs={"force": force})
        assert run["x'"][-1] == pytest.approx(5 * width, rel=1e-7)
        assert np.abs(run.imbalance).max() < 1e-9 * run.kinetic[-1]


@EVERY_TIER
@pytest.mark.parametrize("stops", [3, 4, 5, 6, 9, 15])
def test_bumps_of_a_table_are_not_stepped_over(tier, stops):
    """A force over a few millimetres of ten metres."""
    random = np.random.default_rng(stops)
    x = np.array([0, *5 + 0.005 * np.sort(random.uniform(0, 1, stops)), 10])
    y = np.array([0, 0, *random.uniform(0, 2, stops - 2), 0, 0])
    s = mg.System("bump")
    s.prismatic("x", s.ground, s.body("body", mass=1.0, inertia=0), axis="x")
    s.torque("push", "x", lambda m: mg.table(x, y)(m.coordinate("x")))
    run = s.equations().simulate(12.0, {"x'": 1.0}, step=12.0)
    assert run["x'"][-1] == pytest.approx(np.sqrt(1 + 2 * np.trapezoid(y, x)), rel=1e-9)


@pytest.mark.parametrize(("place", "speed"), [(-1.0, 1.0), (-0.3, 0.7), (-2.0, 3.0), (-0.1, 0.3)])
def test_all_events_of_the_last_moment_are_told(place, speed):
    """Which of two that end a run is first was decided by rounding, and the other one lost."""
    s = mg.System("passing")
    s.prismatic("x", s.ground, s.body("body", mass=1.0, inertia=0), axis="x")
    events = {"here": "x", "now": lambda m: m.time + place / speed}
    run = s.equations().simulate(2.0, {"x": place, "x'": speed}, events=events)
    assert run.events["here"] == pytest.approx([-place / speed], rel=1e-14)
    assert run.events["now"] == pytest.approx([-place / speed], rel=1e-14)


# --- stiffness ------------------------------------------------------------------------------------


def stiff_oscillator(mu: float) -> mg.Equations:
    """Van der Pol's, by hand."""
    v = mg.variables(["x"], ["v"], [], {"mu": mu})
    f = v["mu"] * (1 - v["x"] ** 2) * v["v"] - v["x"]
    return mg.Equations(mg.Terms(v, name="van der Pol", N=[[1]], M=[[1]], f=[f]))


@EVERY_TIER
def test_stiffness_is_noticed_and_left_again(tier):
    equations = stiff_oscillator(1000.0)
    run = equations.simulate(2000.0, {"x": 2.0}, step=100.0)
    reference = solve_ivp(
        lambda t, y: [y[1], 1000 * (1 - y[0] ** 2) * y[1] - y[0]],
        (0, 2000),
        [2, 0],
        method="Radau",
        rtol=1e-10,
        atol=1e-12,
        t_eval=run.time,
    )
    assert np.abs(run["x"] - reference.y[0]).max() < 1e-5
    assert "radau from t" in run.statistics["method"]
    assert run.statistics["method"].count("rk8") >= 2
    assert run.statistics["evaluations"] < 50_000


@EVERY_TIER
def test_what_is_not_stiff_stays_explicit(tier):
    run = stiff_oscillator(1.0).simulate(100.0, {"x": 2.0}, step=1.0)
    assert run.statistics["method"] == "rk8"


def test_feet_on_compliant_ground_come_to_rest():
    """Four feet on stiff damped ground: the default finishes, and the box stands."""
    s = mg.System("quadruped", gravity=(0, 0, -G))
    body = s.body("body", mass=10.0, inertia=(0.3, 0.5, 0.6))
    s.free("place", s.ground, body)
    floor = mg.Plane(s.ground)
    for k, (x, y) in enumerate(((0.3, 0.2), (0.3, -0.2), (-0.3, 0.2), (-0.3, -0.2))):
        foot = s.marker(f"foot {k}", body, at=(x, y, -0.3))
        law = {"stiffness": 1e6, "damping": 1.0, "friction": 0.8}
        s.compliant_contact(f"contact {k}", mg.Sphere(foot, 0.02), floor, **law)
    run = s.equations().simulate(6.0, {"place.z": 0.33, "place.x'": 0.1})
    assert run.outcome == "finished"
    assert np.abs(run.u[-1]).max() < 1e-3
    each = run.reaction("contact 0")[-1]
    assert abs(each).max() > 0
    assert run["place.z"][-1] == pytest.approx(0.32 - (10 * G / 4 / 1e6) ** (2 / 3), abs=1e-5)


# --- rounding -------------------------------------------------------------------------------------


def test_jumps_without_end_are_told():
    s = mg.System("dry")
    body = s.body("body", mass=1.0, inertia=(1, 1, 1))
    s.prismatic("x", s.ground, body, axis="x")
    s.force("friction", body, lambda m: (-3 * ca.sign(m.speed("x")), 0, 0))
    with pytest.raises(mg.SimulationError, match=r"back and forth without end at t = 0\.33"):
        s.equations().simulate(1.0, {"x'": 1.0})


@pytest.mark.parametrize(
    ("formalism", "number", "rtol", "duration", "error"),
    [
        ("newton-euler", 1, 1e-13, 5.0, 1e-8),
        ("newton-euler", 2, 1e-13, 5.0, 1e-8),
        ("newton-euler", 10, 1e-12, 5.0, 1e-7),
        ("absolute", 1, 1e-10, 1.0, 1e-6),
    ],
)
def test_tight_tolerances_pass_singular_positions(formalism, number, rtol, duration, error):
    """Near the flat position the accelerations are known to less than such tolerances, and no
    shorter step would be better; against the one equation that is left of all parallelograms."""
    example = gallery.load("a02_fourbar")
    equations = example.system(number).equations(formalism)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        run = equations.simulate(duration, example.start, rtol=rtol, step=0.05)
    assert run.statistics["steps"] < 30_000
    links, bars = number + 1, number
    rate = G * (links / 2 + bars) / (links / 3 + bars)
    exact = solve_ivp(
        lambda t, y: [y[1], -rate * np.cos(y[0])],
        (0, duration),
        [np.pi / 2, -1.0],
        "DOP853",
        run.time,
        rtol=1e-13,
        atol=1e-14,
    ).y[0]
    assert np.abs(run["top"][:, 0] - np.cos(exact)).max() < error


# --- runs that end --------------------------------------------------------------------------------


@EVERY_WAY
def test_what_leaves_for_infinity_is_told_when(tier, method):
    """ẍ = x³ from x = √2, ẋ = x²/√2: x = √2/(1 − t)."""
    s = mg.System("leaving")
    body = s.body("body", mass=1.0, inertia=(1, 1, 1))
    s.prismatic("x", s.ground, body, axis="x")
    s.force("away", body, lambda m: (m.coordinate("x") ** 3, 0, 0))
    with pytest.raises(mg.SimulationError, match=r"too small at t = (1|0\.99999)") as caught:
        s.equations().simulate(5.1, {"x": 2**0.5, "x'": 2**0.5}, step=0.03, method=method)
    assert caught.value.trajectory.time[-1] == pytest.approx(1.0)


def test_the_motion_does_not_depend_on_how_long_it_is_followed():
    s = mg.System("pendulum", gravity=(0, 0, -G))
    bob = s.body("bob", mass=1.0, com=(0, 0, -1), inertia=0)
    s.revolute("hinge", s.ground, bob, axis="y")
    ends = [s.equations().simulate(d, {"hinge": 1.0}, step=50.0)["hinge"][1] for d in (100, 1000)]
    assert ends[0] == ends[1]


def test_three_bodies_of_which_one_is_driven_by_time():
    s = mg.System("three")
    for name in "abc":
        body = s.body(name, mass=1.0, inertia=(1, 2, 2.5))
        if name == "c":
            s.joint("c", s.ground, body, [mg.ball("ball"), mg.rot("x", 0.2 * mg.sin(s.time))])
        else:
            s.free(name, s.ground, body)
    assert s.equations().simulate(1.0, {"a.wx": 1.0}).outcome == "finished"


def test_agreement_names_what_has_no_inertia():
    s = mg.System("point", gravity=(0, 0, -G))
    body = s.body("body", mass=1.0, inertia=0)
    s.free("place", s.ground, body)
    s.constrain("edge", velocity=lambda m: m.velocity(body)[0] - 0.4 * m.velocity(body)[1])
    with pytest.raises(mg.ArgumentError, match=r"'place\.wx'.*has inertia"):
        mg.agreement(s, 2)


def test_agreement_names_what_has_no_inertia_beside_friction():
    s = mg.System("tip", gravity=(0, 0, -G))
    ball = s.body("ball", 0.6, inertia=(0.02, 0.02, 0.03))
    tip = s.body("tip", 2.0, inertia=0)
    s.free("place", s.ground, ball, at=(0, 0, 1.1))
    s.revolute("joint", ball, tip, axis=(0, 0.8, 0.6), at=(0.6, 0.2, 0.2))
    s.rigid_contact("floor", mg.Sphere(ball, 0.2), mg.Plane(s.ground), friction=0.9)
    with pytest.raises(mg.ArgumentError, match=r"joint'.*has inertia"):
        mg.agreement(s, 2)


def test_agreement_refuses_a_constraint_that_hardly_binds():
    """The height of a point at the top of its circle: its gradient is zero where it holds."""
    s = mg.System("top", gravity=(0, 0, -G))
    arm = s.body("arm", 1.0, (0.3, 0, 0.2), (0.1, 0.2, 0.3))
    s.revolute("hinge", s.ground, arm, axis="y")
    s.revolute("next", arm, s.body("end", 1.0, (0.2, 0.1, 0), (0.1, 0.1, 0.2)), axis="x")
    tip = s.marker("tip", arm, (0, 0, 0.7))
    s.constrain("top", position=lambda m: m.position(tip)[2] - 0.7)
    with pytest.raises(mg.ArgumentError, match="'top' hardly binds"):
        mg.agreement(s, 2)


@pytest.mark.parametrize(
    ("tier", "method"),
    [
        *((COMPILED, method) for method in (None, *METHODS)),
        *(pytest.param(INTERPRETED, method, marks=pytest.mark.slow) for method in (None, *METHODS)),
    ],
    indirect=["tier"],
)
def test_a_rod_that_gets_too_short_ends_the_run_by_any_method(tier, method):
    """Nothing can follow it from t = 0.5 on; steps get shorter and shorter, and that is told."""
    s = mg.System("slider", gravity=(0, 0, 0))
    s.prismatic("x", s.ground, s.body("slider", mass=1.0, inertia=(1, 1, 1)), axis="x")
    s.marker("above", s.ground, (0, 0, 1))
    s.distance("rod", "slider", "above", 1.25 - 0.5 * s.time)
    with pytest.raises(mg.SimulationError, match=r"t = 0\.5"):
        s.equations().simulate(1.0, guess={"x": 0.7}, step=1.0, rtol=1e-9, method=method)


@EVERY_TIER
def test_a_start_on_a_kink_is_on_no_side_of_it(tier):
    """A joint at rest in the middle of its play: in absolute coordinates its angle is rounding, and
    was taken for a side (3,710 evaluations by rk8)."""
    s = mg.System("slips", gravity=(0, 0, -G))
    s.body("arm", 1.0, (0.3, -0.4, 0.2), (0.2, 0.15, 0.1))
    s.body("hand", 1.3, (-0.1, 0.3, 0.0), (0.2, 0.18, 0.3))
    s.revolute("hinge", "ground", "arm", axis=(0.36, 0.48, 0.8), at=(0.013, -0.196, 0.618))
    spring = {"stiffness": 62.0, "damping": 0.36, "backlash": 0.0}
    friction, place = mg.DryFriction(0.2, static_friction=0.3), (0.027, -0.196, 0.218)
    s.revolute("wrist", "arm", "hand", axis=(0.6, 0, -0.8), at=place, friction=friction, **spring)
    runs = [
        s.equations(name).simulate(0.4, {"hinge": 0.4, "wrist": 0.0}, max_step=0.4)
        for name in ("kane", "absolute")
    ]
    assert np.abs(runs[0]["wrist"] - runs[1]["wrist"]).max() < 1e-7
    assert all(run.statistics["evaluations"] < 600 for run in runs)


@EVERY_TIER
def test_what_begins_on_no_side_and_crosses_in_the_same_step_is_met(tier):
    """It goes up from zero and down again before the first step ends."""
    s = mg.System("clock")
    s.prismatic("x", s.ground, s.body("body", mass=1.0, inertia=(1, 1, 1)), axis="x")
    events = {"down": mg.Event(lambda m: mg.sin(1e5 * s.time), -1, stop=False)}
    run = s.equations().simulate(1e-3, {"x'": 1.0}, events=events)
    assert run.events["down"] == pytest.approx(np.arange(1, 32, 2) * np.pi / 1e5, rel=1e-9)


@EVERY_TIER
def test_forces_that_hold_a_speed_by_jumping_are_told_at_any_tolerance(tier):
    """The jumps are a few tolerances apart: steps of 4e-7 s went on for minutes."""
    s = mg.System("governed")
    s.prismatic("x", s.ground, s.body("body", mass=1.0, inertia=(1, 1, 1)), axis="x")
    push = mg.table([-5.0, 1.0, 5.0], [3.0, -2.0, -2.0], kind="hold", outside="extend")
    s.torque("governor", "x", lambda m: push(m.speed("x")) + 0.1 * mg.sin(7 * m.coordinate("x")))
    with pytest.raises(mg.SimulationError, match="back and forth without end") as told:
        s.equations().simulate(2.0, {}, rtol=1e-7)
    assert told.value.trajectory.statistics["steps"] < 1000


def test_many_forces_may_change_at_one_moment():
    """More of them than jumps that follow each other without end would need to be told."""
    s, count, stiffness = mg.System("hail", gravity=(0, 0, -9.81)), 120, 1e4
    for k in range(count):
        s.prismatic(f"z{k}", s.ground, s.body(f"b{k}", mass=1.0 + k / 100, inertia=0), axis="z")
        s.torque(
            f"f{k}",
            f"z{k}",
            lambda m, z=f"z{k}": stiffness * mg.fmax(-m.coordinate(z), 0),
        )
    start = {f"z{k}": 0.5 for k in range(count)}
    run = s.equations().simulate(0.34, start, step=0.34)
    fallen = np.sqrt(2 * 0.5 / 9.81)  # then z'' = -g - (k/m) z from z' = -v
    for k in (0, count - 1):
        rate = np.sqrt(stiffness / (1 + k / 100))
        t, rest = 0.34 - fallen, -9.81 / rate**2
        z = rest * (1 - np.cos(rate * t)) - 9.81 * fallen / rate * np.sin(rate * t)
        assert run[f"z{k}"][-1] == pytest.approx(z, rel=1e-6)


@pytest.mark.parametrize("rtol", [1e-6, 1e-8, 1e-10])
def test_a_fast_move_from_rest_to_rest_is_no_loss_of_energy(rtol):
    """What is left of 1,800 J after it is the error of its work, and all that there is then."""
    s = mg.System("stroke")
    s.prismatic("x", s.ground, s.body("body", mass=2.0, inertia=(1, 1, 1)), axis="x")
    s.servo("move", "x", mg.exp(-(((s.time - 0.5) / 0.02) ** 2)))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = s.equations().simulate(2.0, {}, rtol=rtol)
    assert np.abs(run.imbalance).max() < 10 * rtol * run.kinetic.max()


def test_impacts_meet_rows_that_are_not_linear_in_the_speeds():
    """A puck whose speed is governed meets a wall: its speed is the same at once after it."""
    s = mg.System("puck")
    body = s.body("puck", mass=1.0, inertia=(0.1, 0.1, 0.1))
    s.planar("plane", s.ground, body, axis="z")
    s.marker("wall", s.ground, (1.0, 0, 0), [("y", -np.pi / 2)])
    s.rigid_contact("hit", mg.Sphere(body, 0.1), mg.Plane(s.markers["wall"]), restitution=0.4)
    s.constrain("governor", velocity=lambda m: mg.norm_2(m.velocity(body)) ** 2 - 4.0)
    v = 2 / np.sqrt(2)
    run = s.equations().simulate(1.0, {"plane.x'": v, "plane.y'": v}, step=0.01)
    assert run.statistics["impacts"] == 1
    speeds = np.hypot(run["plane.x'"], run["plane.y'"])
    assert speeds == pytest.approx(2.0, abs=1e-9)
    assert run["plane.x'"][-1] < -0.1
    assert run.violation.max() < 1e-9


@EVERY_TIER
def test_what_is_nothing_but_noise_has_no_kinks(tier):
    """The slip of a joint that sticks is rounding in coordinates of points, and its law has kinks
    at zero: they were looked for in every step (54,017 evaluations)."""
    s = mg.System("sticks", gravity=(0, 0, -9.81))
    s.body("arm", 1.0, (0.3, -0.4, 0.2), (0.2, 0.15, 0.1))
    s.body("nut", 1.3, (-0.1, 0.3, 0.0), (0.2, 0.18, 0.3))
    s.revolute("hinge", "ground", "arm", axis="z")
    friction = mg.DryFriction(20.0, static_friction=30.0, stribeck=0.1, viscous=0.4)
    place = {"axis": (0.6, 0, -0.8), "at": (-0.5, -0.4, -0.6)}
    s.screw("nut", "arm", "nut", pitch=0.15, friction=friction, **place)
    s.torque("motor", "hinge", 2 * mg.sin(2 * s.time))
    run = s.equations("points").simulate(0.5, {}, step=0.1, max_step=0.1, rtol=1e-9)
    assert run.statistics["evaluations"] < 2000
    assert np.ptp(run["nut"]) < 1e-10
