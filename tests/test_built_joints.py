"""Joints as they are built, against closed forms: limits, rotors, friction, backlash, drives."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy.integrate import solve_ivp

import mechgraph as mg
from test_contacts import impacts

G = 9.81
FOUR = pytest.mark.parametrize("formalism", ["newton-euler", "kane", "lagrange", "absolute"])


def cart(gravity=(0, 0, 0), mass: float = 2.0, **options) -> mg.System:
    """A cart on a straight line."""
    system = mg.System("cart", gravity=gravity)
    body = system.body("cart", mass=mass, inertia=(0.1, 0.1, 0.1))
    system.prismatic("x", system.ground, body, axis="x", **options)
    return system


# --- limits ---------------------------------------------------------------------------------------


@FOUR
def test_a_cart_bounces_between_rigid_stops(formalism):
    """From one stop to the other with the speed v eⁿ: in the times (2/v) e⁻ⁿ."""
    system = cart(limits=mg.Limits(-1, 1, restitution=0.7))
    run = system.equations(formalism).simulate(4.0, {"x": 0.0, "x'": 2.0}, rtol=1e-11)
    k = impacts(run)
    expected = 0.5 + np.concatenate([[0], np.cumsum(0.7 ** -np.arange(1.0, len(k)))])
    assert len(k) == 3
    assert np.abs(run.time[k] - expected).max() < 1e-9
    assert np.abs(np.abs(run["x'"][k + 1]) - 2 * 0.7 ** np.arange(1, 4)).max() < 1e-12
    assert np.abs(run["x"]).max() < 1 + 1e-11
    assert np.abs(run.imbalance).max() < 1e-12


def test_a_pendulum_rests_on_its_stop():
    """With restitution it comes to rest; then the stop carries the moment of its weight."""
    system = mg.System("pendulum", gravity=(0, 0, -G))
    rod = system.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    system.revolute(
        "hinge", system.ground, rod, axis="y", limits=mg.Limits(0.3, 1, restitution=0.4)
    )
    run = system.equations().simulate(6.0, {"hinge": 0.9}, rtol=1e-10)
    assert abs(run["hinge"][-1] - 0.3) < 1e-12
    assert abs(run.multipliers[-1, 0] - G * 0.5 * np.sin(0.3)) < 1e-9
    assert np.abs(run.imbalance).max() < 1e-9


@pytest.mark.parametrize("damping", [0.0, 3.0])
@FOUR
def test_a_compliant_stop_gives_back_what_its_damper_leaves(formalism, damping):
    """δ = (v/ω_d) exp(−ζωt) sin ω_d t, until k δ + c δ̇ = 0: it does not pull."""
    m, k, v = 2.0, 800.0, 1.5
    system = cart(limits=mg.Limits(None, 0.4, stiffness=k, damping=damping))
    run = system.equations(formalism).simulate(1.0, {"x": 0.0, "x'": v}, rtol=1e-11, atol=1e-13)
    decay, omega = damping / (2 * m), np.sqrt(k / m - (damping / (2 * m)) ** 2)
    end = np.arctan2(damping * omega, -(k - damping * decay)) % (2 * np.pi) / omega
    leaving = v * np.exp(-decay * end) * (np.cos(omega * end) - decay / omega * np.sin(omega * end))
    assert abs(run["x'"][-1] - leaving) < 1e-8
    deepest = np.arctan2(omega, decay) / omega
    depth = v / omega * np.exp(-decay * deepest) * np.sin(omega * deepest)
    assert 0 < depth - (run["x"].max() - 0.4) < v * 0.002**2 * k  # on the grid
    assert abs(run.dissipated[-1] - m * (v**2 - leaving**2) / 2) < 1e-8
    assert np.abs(run.imbalance).max() < 1e-8


def test_limits_of_one_coordinate_of_several():
    system = mg.System("bolt", gravity=(0, 0, -G))
    bolt = system.body("bolt", mass=1.0, inertia=(0.1, 0.1, 0.1))
    system.cylindrical("guide", system.ground, bolt, limits={"shift": (0, 1)})
    run = system.equations().simulate(1.0, {"guide.shift": 0.5, "guide.angle'": 3.0}, rtol=1e-10)
    assert run["guide.shift"][-1] == pytest.approx(0, abs=1e-12)
    assert run["guide.angle"][-1] == pytest.approx(3, abs=1e-9)


def test_a_stop_of_a_cut_joint():
    """A four-bar stops where its cut joint does; the multiplier is the effort there."""
    closed = []
    for cut in (True, False):
        system = mg.System("four-bar", gravity=(0, -G, 0), plane="xy")
        a, b, c = (
            system.body(n, mass=1.0, com=(length / 2, 0, 0), inertia=0.05)
            for n, length in (("a", 0.5), ("b", 1.0), ("c", 0.8))
        )
        system.revolute("A", system.ground, a)
        system.revolute("B", a, b, at=(0.5, 0, 0))
        system.revolute("C", b, c, at=(1, 0, 0), child_at=(0.8, 0, 0))
        system.revolute("D", system.ground, c, at=(1, 0, 0), limits=(1.2, 2.6), cut=cut)
        start = {"A": 1.2, "A'": 1.0}
        closed.append(system.equations().simulate(1.0, start, guess={"D": 2.0}, rtol=1e-10))
    first, second = closed
    assert first.statistics["impacts"] == second.statistics["impacts"] > 0
    assert abs(first["A"][-1] - second["A"][-1]) < 1e-8


def test_limits_go_with_copies_and_placed_systems():
    system = cart(limits=mg.Limits(-1, 1, restitution=0.7), gravity=(-1, 0, 0))
    outer = mg.System("outer", gravity=(-1, 0, 0))
    outer.place("first", system)
    run = system.equations().simulate(3.0, {"x": 0.0}, rtol=1e-10)
    for other, prefix in (
        (pickle.loads(pickle.dumps(system.snapshot())), ""),
        (copy.deepcopy(system), ""),
        (outer, "first."),
    ):
        again = other.equations().simulate(3.0, {f"{prefix}x": 0.0}, rtol=1e-10)
        assert np.abs(again[f"{prefix}x"] - run["x"]).max() < 1e-12
    assert f"{prefix}x limits low.touching" in again.modes


WRONG_LIMITS = {
    "upside down": ({"limits": (1, -1)}, "upside down: high − low is -2"),
    "no pair": ({"limits": 1.0}, r"a pair \(low, high\)"),
    "nothing": ({"limits": (None, None)}, "no stop: give low="),
    "a class": ({"limits": mg.Limits}, "a pair"),
}


@pytest.mark.parametrize(("options", "message"), WRONG_LIMITS.values(), ids=WRONG_LIMITS)
def test_wrong_limits_are_named(options, message):
    with pytest.raises(mg.ModelError, match=f"joint 'x': .*{message}"):
        cart(**options)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mg.Limits(0, 1, restitution=1.2), "restitution of limits must be from 0 to 1"),
        (lambda: mg.Limits(0, 1, stiffness=-1), "stiffness of limits must be positive"),
        (lambda: mg.Limits(0, 1, damping=1), "give stiffness="),
        (lambda: mg.Limits(0, 1, stiffness=10, damping=-1), "damping of limits must not be"),
        (lambda: mg.Limits(0, 1, stiffness=10, restitution=0.5), "belongs to rigid limits"),
    ],
)
def test_wrong_numbers_of_limits_are_named(make, message):
    with pytest.raises(mg.ModelError, match=message):
        make()


def test_limits_on_joints_that_have_none():
    system = mg.System("s")
    body = system.body("body", mass=1.0, inertia=(1, 1, 1))
    with pytest.raises(
        mg.ModelError, match="'ball': limits= needs a coordinate that is one number"
    ):
        system.spherical("ball", system.ground, body, limits=(0, 1))
    with pytest.raises(mg.ModelError, match=r"which coordinate it is of, {'angle': …}"):
        system.cylindrical("c", system.ground, body, limits=(0, 1))
    with pytest.raises(mg.ModelError, match="coordinate 'shft'"):
        system.cylindrical("c", system.ground, body, limits={"shft": (0, 1)})
    assert not system.joints


def test_limits_that_parameters_turn_upside_down_or_the_start_breaks():
    system = mg.System("cart")
    high = system.parameter("high", 1.0)
    body = system.body("cart", mass=1.0, inertia=(1, 1, 1))
    system.prismatic("x", system.ground, body, axis="x", limits=(0, high))
    with pytest.raises(mg.ArgumentError, match="'x limits': limits are upside down"):
        system.equations().simulate(1.0, parameters={"high": -1.0})
    with pytest.raises(
        mg.ArgumentError, match="beyond their limits at the start: x limits high by"
    ):
        system.equations().simulate(1.0, {"x": 1.5})


# --- rotors ---------------------------------------------------------------------------------------


def fourbar(cut: bool | None = None, **options) -> mg.System:
    """A four-bar in a plane, whose joint D is cut or kept."""
    system = mg.System("four-bar", gravity=(0, -G, 0), plane="xy")
    a, b, c = (
        system.body(name, mass=1.0, com=(length / 2, 0, 0), inertia=0.05)
        for name, length in (("a", 0.5), ("b", 1.0), ("c", 0.8))
    )
    system.revolute("A", system.ground, a)
    system.revolute("B", a, b, at=(0.5, 0, 0))
    system.revolute("C", b, c, at=(1, 0, 0), child_at=(0.8, 0, 0))
    system.revolute("D", system.ground, c, at=(1, 0, 0), cut=cut, **options)
    return system


@pytest.mark.parametrize("cut", [True, False])
def test_rotors_in_a_loop_agree_in_all_formalisms(cut):
    """Bodies that only turn with a joint on ground may take the place of its rotor."""
    system = fourbar(cut, armature=0.7)
    some = ["newton-euler", "kane", "boltzmann-hamel", "absolute"]
    assert mg.agreement(system, 1, formalisms=None if cut else some).ok
    heavier = fourbar(cut)
    wheel = heavier.body("wheel", mass=1.0, inertia=0.7)
    heavier.revolute("W", heavier.ground, wheel)
    heavier.coupling("gear", {"D": 1.0, "W": -1.0})
    first, second = (
        s.equations().simulate(1.0, {"A": 1.2}, guess={"D": 2.0}, rtol=1e-11, step=0.1)
        for s in (system, heavier)
    )
    assert np.abs(first["A"] - second["A"]).max() < 1e-8
    assert np.abs(first.energy - second.energy).max() < 1e-8


def test_a_rotor_behind_a_gear():
    """J n² along the joint: ẍ = τ / (I + n² J), and what passes through the joint is I ẍ."""
    system = mg.System("arm")
    rod = system.body("rod", mass=1.0, inertia=(0.2, 0.2, 0.2))
    system.revolute("hinge", system.ground, rod, axis="z", armature=1e-4 * 50**2)
    system.torque("motor", "hinge", 3.0)
    eqs = system.equations()
    assert eqs.accelerations([0.0], [0.0])[0] == pytest.approx(3 / 0.45, rel=1e-14)
    assert eqs.efforts([0.0], [0.0], [2.0])[0] == pytest.approx(0.45 * 2 - 3, rel=1e-14)
    assert eqs.reaction("hinge", [0.0], [0.0])[5] == pytest.approx(0.2 * 3 / 0.45, rel=1e-14)
    assert eqs.kinetic_energy([0.0], [2.0]) == pytest.approx(0.9, rel=1e-14)


def test_wrong_armature_is_named():
    with pytest.raises(mg.ModelError, match="joint 'x': armature must not be negative, got -1"):
        cart(armature=-1.0)
    with pytest.raises(mg.ModelError, match="joint 'x': armature"):
        cart(armature="heavy")


# --- dry friction ---------------------------------------------------------------------------------


def pushed(**options) -> mg.System:
    """A cart of 2 kg that an input pushes."""
    system = cart(**options)
    system.torque("motor", "x", system.input("push"))
    return system


def changes(run: mg.Trajectory, switch: str, to: int) -> np.ndarray:
    """Times at which something begins to stick (1) or to slide (0)."""
    return run.time[1:][np.diff(run.modes[switch]) == (1 if to else -1)]


@FOUR
def test_friction_holds_without_creep(formalism):
    system = pushed(friction=3.0)
    push = {"push": 3.0 * (1 - 1e-9) * mg.sin(5 * system.time)}
    run = system.equations(formalism).simulate(10.0, {"x": 0.2}, inputs=push)
    assert np.ptp(run["x"]) < 1e-12
    assert run.modes["x friction.sticking"].min() == 1
    held = -3.0 * (1 - 1e-9) * np.sin(5 * run.time)
    assert np.abs(run["x friction"] - held).max() < 1e-12


@FOUR
def test_it_breaks_away_at_the_right_force(formalism):
    """Pushed by t/2, it moves by (t − 6)³/24 from t = 6 on."""
    system = pushed(friction=3.0)
    run = system.equations(formalism).simulate(10.0, inputs={"push": system.time / 2})
    assert np.abs(changes(run, "x friction.sticking", 0) / 6 - 1) < 1e-9
    assert np.abs(run["x"] - np.maximum(0, run.time - 6) ** 3 / 24).max() < 1e-9
    assert np.abs(run.imbalance).max() < 1e-11


def test_friction_stops_what_slides():
    """From 1.5 m/s at −F/m: 1 s and 0.75 m; all of its energy is dissipated."""
    run = pushed(friction=3.0).equations().simulate(2.0, {"x'": 1.5})
    assert abs(changes(run, "x friction.sticking", 1)[0] - 1) < 1e-9
    assert abs(run["x"][-1] - 0.75) < 1e-12
    assert run["x'"][-1] == 0
    assert abs(run.dissipated[-1] - 2.25) < 1e-12


@pytest.mark.parametrize(("static", "stribeck"), [(3.0, None), (3.0, 0.2), (None, None)])
def test_stribeck_and_viscous_friction_against_an_integration_of_its_own(static, stribeck):
    """Between two standstills the motion is smooth, and another program integrates it."""
    law = mg.DryFriction(2.0, static_friction=static, stribeck=stribeck, viscous=0.3)
    system = pushed(friction=law)
    run = system.equations().simulate(3.0, {"x'": -1.0}, inputs={"push": 5.0}, rtol=1e-11)
    most = 2.0 if static is None else static

    def slide(t, y):
        rise = 0.0 if stribeck is None else (most - 2.0) * np.exp(-((y[1] / stribeck) ** 2))
        return [y[1], (5.0 - sign * (2.0 + rise) - 0.3 * y[1]) / 2]

    def standing(t, y):
        return y[1]

    standing.terminal, precise = True, {"rtol": 1e-12, "atol": 1e-14}
    sign = -1  # it stops, and is pushed back
    first = solve_ivp(slide, (0, 3), [0.0, -1.0], events=standing, **precise)
    sign = 1
    second = solve_ivp(slide, (first.t[-1], 3), [first.y[0, -1], 0.0], **precise)
    y = second.y[:, -1]
    assert abs(run["x"][-1] - y[0]) < 1e-9
    assert abs(run["x'"][-1] - y[1]) < 1e-9
    assert np.abs(run.imbalance).max() < 1e-9


def test_joints_of_an_arm_hold_each_other():
    """A double pendulum comes to rest wherever its friction can hold it, and stays."""
    system = mg.System("arm", gravity=(0, 0, -G))
    inboard = system.ground
    for name, height, friction in (("hip", 0, 1.5), ("knee", -1, 0.8)):
        body = system.body(f"{name} bone", mass=1.0, com=(0, 0, -0.5), inertia=(0.08, 0.08, 0.01))
        system.revolute(name, inboard, body, axis="y", at=(0, 0, height), friction=friction)
        inboard = body
    run = system.equations().simulate(12.0, {"hip": 1.2, "knee": 0.6}, rtol=1e-10)
    late = run.time > 10
    assert np.ptp(run["hip"][late]) < 1e-12 > np.ptp(run["knee"][late])
    assert np.abs(run.imbalance).max() < 1e-8
    for name, most in (("hip", 1.5), ("knee", 0.8)):
        assert np.abs(run[f"{name} friction"][late]).max() <= most
    gravity = system.equations().efforts(run.q[-1], run.u[-1], np.zeros(2))
    held = [run[f"{name} friction"][-1] for name in ("hip", "knee")]
    assert np.abs(gravity - held).max() < 1e-9


def test_friction_and_a_stop_together():
    """Pressed against its stop it sticks; pulled away, it lets go where friction does."""
    system = pushed(friction=3.0, limits=(-1.0, 1.0))
    push = {"push": 10 * mg.cos(system.time)}
    run = system.equations().simulate(4.0, {"x": 0.5}, inputs=push, rtol=1e-10)
    assert run["x"].max() < 1 + 2e-12
    assert abs(changes(run, "x friction.sticking", 0)[-1] - np.arccos(-0.3)) < 1e-9
    assert np.abs(run.imbalance).max() < 1e-8


@pytest.mark.parametrize(("part", "holds"), [(0.98, True), (1.02, False)])
def test_friction_of_all_joints_of_a_loop(part, holds):
    """How they share the load is not known, but what they hold together is: by virtual work,
    τ |A'| = Σ F |x'|."""
    system, limits = fourbar(), {"A": 0.5, "B": 0.4, "C": 0.7, "D": 0.9}
    rubbing = mg.System("four-bar", plane="xy")
    for body in system.bodies.values():
        rubbing.body(body.name, mass=1.0, com=body.com, inertia=0.05)
    for name, joint in system.joints.items():
        places = {"at": joint.parent.at, "child_at": joint.child.at}
        ends = joint.parent.body.name, joint.child.body.name
        rubbing.revolute(name, *ends, friction=limits[name], **places)
    start = {"start": {"A": 1.2, "A'": 1.0}, "guess": {"D": 2.0}}
    eqs = system.equations()
    q, u = eqs.assemble(**start)
    speeds = [eqs.observe(lambda m, n=n: m.speed(n), q, u)[0] for n in limits]
    most = np.abs(speeds) @ list(limits.values())
    rubbing.torque("push", "A", part * most)
    run = rubbing.equations().simulate(0.5, {"A": 1.2}, guess={"D": 2.0})
    assert (np.ptp(run["A"]) < 1e-12) == holds


def test_smooth_friction_creeps():
    law = mg.Friction(3.0, regularization=1e-3)
    run = pushed(friction=law).equations().simulate(10.0, inputs={"push": 1.5})
    speed = 1e-3 * 0.5 / np.sqrt(1 - 0.25)  # F v/√(v² + v₀²) = F/2
    assert abs(run["x'"][-1] - speed) < 1e-9
    rolled = pushed(friction=law).equations().rollout([0.0], [1.0], step=1e-4, steps=100)
    assert np.isfinite(rolled.q).all()


def test_friction_in_other_studies():
    """Sliding has its sign; a joint that stands still must say what it does."""
    eqs = pushed(friction=3.0).equations()
    assert eqs.efforts([0.0], [2.0], [0.0])[0] == pytest.approx(3.0, rel=1e-12)
    assert eqs.efforts([0.0], [-2.0], [0.0])[0] == pytest.approx(-3.0, rel=1e-12)
    with pytest.raises(mg.UnsupportedError, match="friction 'x friction'"):
        eqs.rollout([0.0], [1.0], step=0.01, steps=10)
    with pytest.raises(mg.ArgumentError, match=r"parameters={'x friction\.sticking': 1}"):
        eqs.linearize()
    stuck = eqs.linearize(parameters={"x friction.sticking": 1})
    assert "x'" not in stuck.states
    sliding = eqs.linearize({"x'": 1.0}, inputs={"push": 3.0})
    assert np.abs(sliding.A - [[0, 1], [0, 0]]).max() < 1e-9


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: mg.DryFriction(-1), "coulomb friction must not be negative"),
        (
            lambda: mg.DryFriction(2, static_friction=1),
            "static minus coulomb friction must not be negative",
        ),
        (lambda: mg.DryFriction(2, viscous=-1), "viscous friction must not be negative"),
        (lambda: mg.DryFriction(2, stribeck=0), "stribeck must be positive"),
        (lambda: cart(friction=-2.0), "joint 'x': coulomb friction must not be negative, got -2"),
        (lambda: cart(friction="much"), "joint 'x': coulomb friction"),
    ],
)
def test_wrong_friction_is_named(make, message):
    with pytest.raises(mg.ModelError, match=message):
        make()


# --- friction of a pin ----------------------------------------------------------------------------


def pinned(length: float, plane: str | None = "xy") -> mg.System:
    """A body on a pin of radius 5 cm with μ = 0.3, its mass centre at a distance."""
    system = mg.System("pin", gravity=(0, -G, 0), plane=plane)
    inertia = 0.1 if plane else (0.1, 0.1, 0.1)
    body = system.body("body", mass=2.0, com=(length, 0, 0), inertia=inertia)
    system.revolute("hinge", system.ground, body, friction=mg.DryFriction(0.3, radius=0.05))
    system.torque("motor", "hinge", system.input("push"))
    return system


@pytest.mark.parametrize("formalism", ["newton-euler", "absolute"])
def test_a_pin_rubs_with_what_it_carries(formalism):
    """Balanced, it carries m g: the moment is μ r m g, which stops it, and which it holds."""
    system, moment = pinned(0.0), 0.3 * 0.05 * 2 * G
    eqs = system.equations(formalism)
    run = eqs.simulate(2.0, {"hinge'": 2.0})
    assert abs(changes(run, "hinge friction.sticking", 1)[0] - 0.2 / moment) < 1e-9
    assert abs(run.dissipated[-1] - 0.2) < 1e-12
    freed = eqs.simulate(1.5, inputs={"push": moment * system.time})
    assert abs(changes(freed, "hinge friction.sticking", 0)[0] - 1) < 1e-9
    assert np.abs(freed["hinge"][freed.time < 1]).max() < 1e-12


def test_a_pendulum_on_a_pin_against_an_integration_of_its_own():
    """The moment depends on the acceleration that it changes: found by iteration there."""
    run = pinned(0.4).equations().simulate(0.4, rtol=1e-10)

    def motion(t, y):
        radial, across = np.array([np.cos(y[0]), np.sin(y[0])]), [-np.sin(y[0]), np.cos(y[0])]
        alpha = 0.0
        for _ in range(60):
            carried = 2 * (0.4 * (alpha * np.array(across) - y[1] ** 2 * radial) + [0, G])
            moment = 0.3 * 0.05 * np.hypot(*carried) - 2 * G * 0.4 * radial[0]
            alpha = moment / (0.1 + 2 * 0.4**2)
        return [y[1], alpha]

    other = solve_ivp(motion, (0, 0.4), [0, 0], rtol=1e-11, atol=1e-12)
    assert abs(run["hinge"][-1] - other.y[0, -1]) < 1e-9
    force, moment = run.reaction("hinge")[-1][:3], run.reaction("hinge")[-1][5]
    assert abs(moment - 0.3 * 0.05 * np.linalg.norm(force)) < 1e-12
    assert np.abs(run.imbalance).max() < 1e-8


def test_a_pin_that_carries_nothing_does_not_rub():
    system = pinned(0.0)
    system.gravity = (0, 0, 0)
    run = system.equations().simulate(1.0, {"hinge'": 2.0})
    assert np.ptp(run["hinge'"]) < 1e-12


def test_pins_in_space_and_where_they_cannot_be():
    formalisms = ["newton-euler", "lagrange", "absolute", "points"]
    assert mg.agreement(pinned(0.4, None), 1, formalisms=formalisms).ok
    loop = fourbar(cut=True, friction=mg.DryFriction(0.3, radius=0.05))
    assert mg.agreement(loop, 1, formalisms=formalisms).ok
    with pytest.raises(mg.ModelError, match=r"joint 'D': .* leave cut=False out"):
        fourbar(cut=False, friction=mg.DryFriction(0.3, radius=0.05))
    with pytest.raises(mg.ModelError, match="joint 'x': radius= of friction is that of a pin"):
        cart(friction=mg.DryFriction(0.3, radius=0.1))
    with pytest.raises(mg.ModelError, match="radius of a pin must be positive"):
        mg.DryFriction(0.3, radius=-0.1)


# --- drives ---------------------------------------------------------------------------------------


def driven(**options) -> mg.System:
    """A cart of 2 kg with a drive."""
    system = cart()
    system.drive("motor", "x", **options)
    return system


@FOUR
def test_a_drive_gives_no_more_than_its_effort(formalism):
    """2 ẍ is 6 sin t, cut at ±3."""
    system = cart()
    system.drive("motor", "x", 6 * mg.sin(system.time), effort=3.0)
    run = system.equations(formalism).simulate(2 * np.pi, rtol=1e-11, atol=1e-13, step=np.pi / 6)
    first, last = np.pi / 6, 5 * np.pi / 6
    at_first = 3 * (1 - np.cos(first))
    after = at_first + 1.5 * (np.minimum(run.time, last) - first)
    after += 3 * (np.cos(last) - np.cos(np.maximum(run.time, last)))
    half = run.time < np.pi + 1e-9
    known = np.where(run.time < first, 3 * (1 - np.cos(run.time)), after)
    assert np.abs(run["x'"] - known)[half].max() < 1e-10
    assert abs(run["x'"][-1]) < 1e-10
    assert np.abs(run.imbalance).max() < 1e-9


def test_a_drive_along_its_line_of_torque_and_speed():
    """ẋ = V (1 − exp(−E t/(m V))); and braking with all of E."""
    system = cart()
    system.drive("motor", "x", system.input("wanted"), effort=3.0, speed=1.5)
    eqs = system.equations()
    run = eqs.simulate(4.0, inputs={"wanted": 100.0}, rtol=1e-11)
    assert np.abs(run["x'"] - 1.5 * (1 - np.exp(-run.time))).max() < 1e-9
    braking = eqs.simulate(1.0, {"x'": 3.0}, inputs={"wanted": -100.0}, rtol=1e-11)
    assert np.abs(braking["x'"] - (3 - 1.5 * braking.time)).max() < 1e-10
    coasting = eqs.simulate(1.0, {"x'": 3.0}, inputs={"wanted": 100.0})
    assert np.ptp(coasting["x'"]) < 1e-12


def test_a_drive_holds_a_position():
    """With enough effort it is a spring and damper."""
    system = driven(position=0.1, stiffness=50.0, damping=4.0, effort=100.0)
    run = system.equations().simulate(2.0, rtol=1e-11)
    decay, omega = 1.0, np.sqrt(24)
    wave = np.cos(omega * run.time) + decay / omega * np.sin(omega * run.time)
    assert np.abs(run["x"] - 0.1 * (1 - np.exp(-decay * run.time) * wave)).max() < 1e-9
    weak = driven(position=0.1, stiffness=50.0, damping=4.0, effort=1.0)
    assert weak.equations().accelerations([0.0], [0.0])[0] == 0.5


def test_drives_follow_a_moving_target():
    system = cart()
    target = 0.3 * mg.sin(2 * system.time)
    system.drive("servo", "x", -4 * target * 2, target, stiffness=1e3, damping=1e2)
    run = system.equations().simulate(3.0, {"x'": 0.6}, rtol=1e-10)
    assert np.abs(run["x"] - 0.3 * np.sin(2 * run.time)).max() < 1e-8


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"effort": -1.0}, "effort must be positive, got -1"),
        ({"effort": 1.0, "speed": 0.0}, "speed must be positive"),
        ({"speed": 1.0}, "give that at standstill"),
        ({"stiffness": 1.0}, "give position="),
        ({"position": 1.0}, "give stiffness="),
        ({"position": 1.0, "damping": -1.0}, "damping must not be negative"),
    ],
)
def test_wrong_drives_are_named(options, message):
    with pytest.raises(mg.ModelError, match=f"drive 'motor': .*{message}"):
        driven(**options)


# --- backlash -------------------------------------------------------------------------------------


def gears(formalism: str, **options) -> mg.Equations:
    """Two wheels of 0.3 and 0.5 kg m² that mesh with play, at a ratio of two."""
    system = mg.System("gears")
    for name, inertia in (("a", 0.3), ("b", 0.5)):
        wheel = system.body(name, mass=1.0, inertia=(inertia,) * 3)
        system.revolute(name, system.ground, wheel, axis="z")
    system.backlash("mesh", {"a": 1.0, "b": -2.0}, play=0.2, stiffness=900.0, **options)
    return system.equations(formalism)


@FOUR
def test_gears_rattle_within_their_play(formalism):
    """x = a − 2b crosses the play, and turns round in half a period of ω² = k (1/0.3 + 4/0.5)."""
    run = gears(formalism).simulate(1.0, {"a'": 1.0}, rtol=1e-11, atol=1e-13)
    x, omega = run["a"] - 2 * run["b"], np.sqrt(900 * (1 / 0.3 + 4 / 0.5))
    period = 0.2 / 1.0 + np.pi / omega  # from one side to the other and into it
    phase = (run.time + 0.1) % (2 * period)
    back = phase > period
    phase = np.where(back, phase - period, phase)
    inside = phase < 0.2
    known = np.where(inside, phase - 0.1, 0.1 + np.sin(omega * (phase - 0.2)) / omega)
    assert np.abs(x - np.where(back, -known, known)).max() < 1e-8
    momentum = 2 * 0.3 * run["a'"] + 0.5 * run["b'"]
    assert np.ptp(momentum) < 1e-11
    assert np.ptp(run.energy) < 1e-8


def test_damped_gears_come_to_rest_and_never_pull():
    run = gears("newton-euler", damping=4.0).simulate(3.0, {"a'": 1.0}, rtol=1e-10)
    pulled = run.observe(lambda m: m.coordinate("a") - 2 * m.coordinate("b"))
    assert np.abs(pulled).max() < 0.2
    assert np.abs(run.imbalance).max() < 1e-9
    assert 0 < run.dissipated[-1] < 0.15


def test_a_joints_spring_with_play_is_a_compliant_limit():
    played = cart(stiffness=200.0, damping=1.5, rest=0.1, backlash=0.4)
    limited = cart(limits=mg.Limits(-0.1, 0.3, stiffness=200.0, damping=1.5))
    runs = [s.equations().simulate(2.0, {"x'": 1.0}, rtol=1e-10) for s in (played, limited)]
    assert np.abs(runs[0]["x"] - runs[1]["x"]).max() < 1e-12


def test_wrong_backlash_is_named():
    with pytest.raises(mg.ModelError, match="joint 'x': stiffness must be positive"):
        cart(backlash=0.1)
    with pytest.raises(mg.ModelError, match="joint 'x': play must not be negative"):
        cart(backlash=-0.1, stiffness=3.0)
    system = cart()
    with pytest.raises(mg.ModelError, match=r"backlash 'g': .*unknown joint or coordinate 'y'"):
        system.backlash("g", {"x": 1, "y": 2}, 0.1, 1.0)
        system.check()


# --- all of it ------------------------------------------------------------------------------------


def test_everything_goes_with_files_copies_and_placed_systems(tmp_path):
    system = mg.System("cart", gravity=(1, 0, -G))
    stiff, body = system.parameter("stiff", 100.0), {}
    for name in "abc":
        body[name] = system.body(name, mass=1.0, com=(0, 0, -0.3), inertia=(0.1, 0.1, 0.1))
    rubbing = mg.DryFriction(2.0, static_friction=3, stribeck=0.1)
    system.prismatic("x", "ground", "a", axis="x", limits=(-1, 1), friction=rubbing, armature=0.2)
    soft = {"shift": mg.Limits(-1, 0.1, stiffness=stiff)}
    smooth = {"shift": mg.Friction(2.0), "angle": 0.2 * stiff}
    system.cylindrical("y", "a", "b", limits=soft, friction=smooth, armature={"angle": 0.1})
    system.revolute("z", "b", "c", axis="y", stiffness=3, backlash=0.1, friction=0.3)
    system.backlash("gear", {"x": 1, "z": -2}, play=0.1, stiffness=100, damping=1)
    system.drive("motor", "z", position=mg.sin(system.time), stiffness=10, effort=3, speed=2)
    path = system.save(tmp_path / "model.yaml")
    outer = mg.System("outer", gravity=(1, 0, -G))
    outer.place("in", system)
    assert mg.load(path).snapshot() == system.snapshot()
    assert pickle.loads(pickle.dumps(system.snapshot())) == system.snapshot()
    inner, placed = system.equations(), outer.equations()
    run, again = (eqs.simulate(0.5, rtol=1e-9) for eqs in (inner, placed))
    assert np.abs(run.q - again.q).max() < 1e-9
    assert mg.agreement(system, 1, formalisms=["newton-euler", "lagrange", "absolute"]).ok
    (tmp_path / "c").mkdir()
    inner.export_c(tmp_path / "c")
    assert "friction" in system.describe()
