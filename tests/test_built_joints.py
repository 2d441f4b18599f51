"""Joints as they are built, against closed forms: limits, rotors, friction, backlash, drives."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest

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
    assert mg.agreement(system, states=1).ok
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
