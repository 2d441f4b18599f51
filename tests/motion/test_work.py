"""The energy account: what is supplied, less what is dissipated, is what T + V gains, at the
accuracy of the integration."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import simpson

import mechgraph as mg
from measure import IN_SPACE

G = 9.81


def arm(name: str = "arm", **joint) -> mg.System:
    """A double pendulum; options go to the second joint."""
    system = mg.System(name, gravity=(0, 0, -G))
    upper, lower = (
        system.body(n, mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.2, 0.1))
        for n in ("upper", "lower")
    )
    system.revolute("a", system.ground, upper, axis="y")
    system.revolute("b", upper, lower, axis="y", at=(0, 0, -1), **joint)
    system.marker("tip", lower, (0, 0, -1))
    return system


def told(system: mg.System, tell: Callable[[mg.System], object]) -> mg.System:
    tell(system)
    return system


def loop() -> mg.System:
    """A four-bar with a damper, driven at the joint that closes it."""
    system = mg.System("four-bar", gravity=(0, 0, -G))
    bars = [
        system.body(n, mass=1.0, com=(0.5 * size, 0, 0), inertia=(0.01, 0.1, 0.1))
        for n, size in zip("ABC", (1, 2, 2), strict=True)
    ]
    system.revolute("first", system.ground, bars[0], axis="y")
    system.revolute("second", bars[0], bars[1], axis="y", at=(1, 0, 0), damping=0.3)
    system.revolute("third", system.ground, bars[2], axis="y", at=(2, 0, 0))
    system.revolute("close", bars[1], bars[2], axis="y", at=(2, 0, 0), child_at=(2, 0, 0), cut=True)
    system.servo("drive", "close", 1.2 + 0.2 * mg.sin(system.time))
    return system


def driven() -> mg.System:
    """A joint that time moves, between two that are free, and gravity on all."""
    system = mg.System("driven", gravity=(0, 0, -G))
    A, B = (system.body(n, mass=1.0, com=(0, 0.2, -0.5), inertia=(0.1, 0.2, 0.1)) for n in "AB")
    slide = system.frame("slide")
    system.revolute("a", system.ground, A, axis="y")
    system.joint(
        "stretch",
        A,
        slide,
        [mg.move("z", -1 + 0.3 * mg.sin(4 * system.time)), mg.rot("z", system.time**2)],
    )
    system.revolute("b", slide, B, axis="x", damping=0.2)
    return system


def ball(touch: str, *options, **named) -> mg.System:
    system = mg.System("ball", gravity=(0, 0, -G))
    body = system.body("ball", mass=1.0, inertia=(0.004,) * 3)
    system.free("place", system.ground, body)
    getattr(system, touch)(
        "floor", mg.Sphere(body, 0.1), mg.Plane(system.ground), *options, **named
    )
    return system


ON_THE_FLOOR = {"place.z": 0.1, "place.x'": 1.0, "place.wx": 3.0}
SWING = {"a": 0.6, "b": -0.4}
# system, start, options of simulate
CASES: dict[str, tuple[Callable[[], mg.System], dict, dict]] = {
    "nothing": (arm, SWING, {}),
    "damper in a joint": (lambda: arm(damping=0.3, stiffness=2.0), SWING, {}),
    "damper between points": (
        lambda: told(
            arm(),
            lambda s: s.spring_damper(
                "s", "tip", s.ground, stiffness=20.0, damping=1.0, length=1.0
            ),
        ),
        SWING,
        {},
    ),
    "spring that time moves": (
        lambda: told(
            arm(),
            lambda s: s.spring_damper(
                "s",
                "tip",
                s.ground,
                stiffness=20.0,
                damping=1.0,
                length=1 + 0.2 * mg.sin(3 * s.time),
            ),
        ),
        SWING,
        {},
    ),
    "joint spring that time moves": (lambda: time_spring(), SWING, {}),
    "input": (
        lambda: told(arm(damping=0.1), lambda s: s.torque("motor", "b", s.input("w"))),
        SWING,
        {"inputs": {"w": 1.5}},
    ),
    "input in Python": (
        lambda: told(arm(damping=0.1), lambda s: s.torque("motor", "b", s.input("w"))),
        SWING,
        {"inputs": {"w": lambda t, q, u: np.sin(3 * t) - q[0]}},
    ),
    "force of motion and time": (
        lambda: told(
            arm(),
            lambda s: s.force(
                "f",
                "tip",
                lambda m: mg.sin(2 * m.time) * m.axis("tip", "x") - 0.2 * m.velocity("tip"),
            ),
        ),
        SWING,
        {},
    ),
    "servo": (
        lambda: told(arm(damping=0.2), lambda s: s.servo("drive", "a", 0.6 * mg.cos(2 * s.time))),
        {"b": -0.4},
        {},
    ),
    "servo on a cut joint": (loop, {}, {"guess": {"first": -0.7, "second": 0.2, "third": -1.2}}),
    "rate servo": (
        lambda: told(
            arm(),
            lambda s: s.constrain("drive", velocity=lambda m: m.speed("a") - mg.cos(3 * m.time)),
        ),
        {**SWING},
        {},
    ),
    "acceleration servo": (
        lambda: told(
            arm(),
            lambda s: s.constrain(
                "drive", acceleration=lambda m: m.acceleration("tip")[0] - mg.sin(m.time)
            ),
        ),
        SWING,
        {},
    ),
    "winch": (
        lambda: told(
            arm(),
            lambda s: s.distance(
                "rope", "tip", s.marker("hook", s.ground, (1, 0, 0)), 1.8 + 0.1 * mg.sin(5 * s.time)
            ),
        ),
        {},
        {},
    ),
    "coupling": (
        lambda: told(arm(damping=0.1), lambda s: s.coupling("gear", {"a": 1.0, "b": 2.0})),
        {"a": 0.6},
        {},
    ),
    "nonlinear rate": (
        lambda: told(
            arm(),
            lambda s: s.constrain(
                "pace", velocity=lambda m: mg.dot(m.velocity("tip"), m.velocity("tip")) - 1.0
            ),
        ),
        SWING,
        {},
    ),
    "driven joint": (driven, {"a": 0.5, "b": 0.3, "a'": 0.1, "b'": 0.2}, {}),
    "rolling": (lambda: ball("roll"), ON_THE_FLOOR, {}),
    "sliding": (
        lambda: ball("slide", mg.Friction(0.1, viscous=0.1, drag=0.05, regularization=1e-2)),
        ON_THE_FLOOR,
        {},
    ),
    "compliant contact": (
        lambda: ball("compliant_contact", stiffness=1e4, damping=0.3, friction=0.2),
        {**ON_THE_FLOOR, "place.z": 0.2},
        {},
    ),
    "impacts": (
        lambda: ball("rigid_contact", restitution=0.7, friction=0.2),
        {**ON_THE_FLOOR, "place.z": 0.3},
        {},
    ),
}


def time_spring() -> mg.System:
    system = mg.System("spring", gravity=(0, 0, -G))
    upper, lower = (
        system.body(n, mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.2, 0.1))
        for n in ("upper", "lower")
    )
    system.revolute(
        "a",
        system.ground,
        upper,
        axis="y",
        stiffness=3 + system.time,
        rest=0.2 * mg.sin(2 * system.time),
    )
    system.revolute("b", upper, lower, axis="y", at=(0, 0, -1), damping=0.2)
    return system


def imbalance_of(case: str, rtol: float, duration: float = 1.0) -> tuple[float, mg.Trajectory]:
    make, start, options = CASES[case]
    given = {"rtol": rtol, "step": duration / 50, "max_step": duration}  # rtol alone decides
    run = make().equations().simulate(duration, start, **given, **options)
    size = max(
        np.ptp(run.kinetic),
        np.ptp(run.potential),
        np.abs(run.supplied).max(),
        run.dissipated.max(),
        1.0,
    )
    return float(np.abs(run.imbalance).max() / size), run


@pytest.mark.parametrize("case", CASES)
def test_the_balance_closes(case):
    """At rtol = 1e-9 to within 1e-7 (CVODES controls the error of each step, not of the run)."""
    error, run = imbalance_of(case, 1e-9)
    assert error < 1e-7
    works = {
        "nothing": (False, False),
        "coupling": (False, True),
        "rolling": (False, False),
        "nonlinear rate": (True, False),
    }
    supplies, dissipates = works.get(case, (None, None))
    if supplies is not None:
        assert (np.abs(run.supplied).max() > 1e-3) == supplies
        assert (run.dissipated.max() > 1e-3) == dissipates
    else:
        assert np.abs(run.supplied).max() + run.dissipated.max() > 1e-3


@pytest.mark.parametrize("case", ["servo", "driven joint", "sliding"])
def test_the_balance_is_as_good_as_the_integration(case):
    errors = [imbalance_of(case, rtol)[0] for rtol in (1e-5, 1e-8, 1e-11)]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]
    assert errors[2] < 1e-9


# --- against integrals of force times velocity ----------------------------------------------------


def test_what_dampers_take_and_inputs_give():
    system = told(arm(damping=0.3), lambda s: s.torque("motor", "a", s.input("w")))
    system.force("push", "tip", (5 * mg.sin(system.time), 0, 0))
    run = system.equations().simulate(2.0, SWING, rtol=1e-11, step=0.005, inputs={"w": 0.7})
    tip = run.observe(lambda m: m.velocity("tip")[0])[:, 0]
    given = simpson(0.7 * run["a'"] + 5 * np.sin(run.time) * tip, x=run.time)
    assert abs(run.supplied[-1] - given) < 1e-8
    assert abs(run.dissipated[-1] - simpson(0.3 * run["b'"] ** 2, x=run.time)) < 1e-8


@pytest.mark.parametrize("formalism", IN_SPACE)
def test_what_a_servo_gives_is_its_effort_times_its_speed(formalism):
    system = told(arm(damping=0.3), lambda s: s.servo("drive", "a", 0.6 * mg.cos(2 * s.time)))
    equations = system.equations(formalism)
    run = equations.simulate(1.0, {"b": -0.4}, rtol=1e-11, step=0.005)
    effort = run.multipliers[:, run.columns["constraints"].index("drive")]
    given = simpson(-1.2 * np.sin(2 * run.time) * effort, x=run.time)
    assert abs(run.supplied[-1] - given) < 1e-7
    assert np.abs(run.imbalance).max() < 1e-8


def test_what_a_driven_joint_gives_is_the_reaction_times_its_rate():
    """The same arm, its first joint a function of time: force and moment of the joint do the
    servo's work."""
    system = mg.System("driven", gravity=(0, 0, -G))
    upper, lower = (
        system.body(n, mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.2, 0.1))
        for n in ("upper", "lower")
    )
    system.joint("a", system.ground, upper, [mg.rot("y", 0.6 * mg.cos(2 * system.time))])
    system.revolute("b", upper, lower, axis="y", at=(0, 0, -1), damping=0.3)
    run = system.equations().simulate(1.0, {"b": -0.4}, rtol=1e-11, step=0.005)
    servo = told(
        arm(damping=0.3), lambda s: s.servo("drive", "a", 0.6 * mg.cos(2 * s.time))
    ).equations()
    other = servo.simulate(1.0, {"b": -0.4, "b'": 0.0}, rtol=1e-11, step=0.005)
    assert np.abs(run.supplied - other.supplied).max() < 1e-7
    given = simpson(-1.2 * np.sin(2 * run.time) * run.reaction("a")[:, 4], x=run.time)
    assert abs(run.supplied[-1] - given) < 1e-7


def test_power_is_the_rate_of_the_energy():
    """run.power, an expression of u̇ and λ, against differences of the energy."""
    _, run = imbalance_of("spring that time moves", 1e-11)
    equations, h = run.equations, 1e-5
    k = 20
    ends = [
        equations.simulate(
            h, (run.q[k], run.u[k]), t=float(run.time[k]), rtol=1e-12, step=h
        ).energy[-1],
        run.energy[k],
    ]
    assert abs((ends[0] - ends[1]) / h - run.power[k]) < 1e-3 * max(1, abs(run.power[k]))


# --- keeping it -----------------------------------------------------------------------------------


@pytest.mark.parametrize("case", ["servo", "impacts"])
def test_saved_runs_keep_their_account(case, tmp_path):
    _, run = imbalance_of(case, 1e-8, duration=0.5)
    for system in (None, run.equations.system):
        loaded = mg.load_run(
            run.save(tmp_path / "run"), **({} if system is None else {"system": system})
        )
        assert np.array_equal(loaded.supplied, run.supplied)
        assert np.array_equal(loaded.dissipated, run.dissipated)
        assert np.array_equal(loaded.imbalance, run.imbalance)
        assert set(loaded.modes) == set(run.modes)
        for name, values in run.modes.items():
            assert np.array_equal(loaded.modes[name], values)
        assert "balance to" in loaded.summary()


def test_without_an_account_there_is_none():
    make, start, _ = CASES["servo"]
    equations = make().equations()
    run = equations.simulate(0.2, start, step=0.1, track_work=False)
    for ask in ("supplied", "dissipated", "imbalance"):
        with pytest.raises(mg.ArgumentError, match="track_work=True"):
            getattr(run, ask)
    assert "balance" not in run.summary()
    assert np.abs(run.q - equations.simulate(0.2, start, step=0.1).q).max() < 1e-6


def test_nothing_to_account_for_costs_nothing():
    """Conservative systems integrate no work, and still have a balance: the change of the
    energy."""
    run = arm().equations().simulate(0.5, SWING, rtol=1e-10, step=0.1)
    assert run.equations.numeric.closed.work_rates.numel() == 0
    assert ball("roll").equations().numeric.closed.work_rates.numel() == 0
    assert not run.supplied.any()
    assert np.array_equal(run.imbalance, run.energy - run.energy[0])


def test_the_account_is_in_the_equations():
    """Supplied and dissipated power as expressions of (q, u, t, w)."""
    equations = told(arm(damping=0.3), lambda s: s.torque("motor", "a", s.input("w"))).equations()
    s = equations.terms.symbols
    rates = ca.Function("rates", [s.q, s.u, s.t, s.w, s.p], [equations.numeric.closed.work_rates])
    assert (
        np.abs(
            np.array(rates([0.1, 0.2], [1.5, -2.0], 0, [0.7], [])).ravel() - [0.7 * 1.5, 0.3 * 4]
        ).max()
        < 1e-15
    )
