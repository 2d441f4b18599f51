"""Equilibria and steady motions from guesses that are far, stiff, singular or off the constraints.

What is found is held against closed forms, and against the accelerations of another formalism.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import mechgraph as mg
from mechgraph import gallery

G = 9.81
GUESSES = [(0.01, -0.5), (0.0, -0.6), (0.3, -0.4), (0.5, 0.0), (0.1, 0.5), (-0.2, -0.1), (1.0, 1.0)]
Made = tuple[mg.System, dict[str, float], dict[str, float]]  # a system, a guess, inputs


def hanging(stiffness: float, length: float = 0.5) -> mg.Equations:
    """A mass on a spring, in a plane."""
    s = mg.System("bob", gravity=(0, 0, -G))
    bob = s.body("bob", mass=1.0, inertia=0)
    s.joint("place", s.ground, bob, [mg.move("x", "x"), mg.move("z", "z")])
    s.spring_damper("spring", s.ground, bob, stiffness=stiffness, length=length)
    return s.equations()


@pytest.mark.parametrize("stiffness", [1e2, 1e4, 1e6, 1e9])
@pytest.mark.parametrize("guess", GUESSES)
def test_a_mass_on_a_spring_comes_to_rest_from_anywhere(stiffness, guess):
    """Below its end at 0.5 + m g/k, or above it at 0.5 − m g/k."""
    (x, z), u = hanging(stiffness).equilibrium(
        dict(zip(("place.x", "place.z"), guess, strict=True))
    )
    assert not u.any()
    assert abs(x) < 1e-12
    below = z == pytest.approx(-0.5 - G / stiffness, rel=1e-12)
    assert below or z == pytest.approx(0.5 - G / stiffness, rel=1e-12)


@pytest.mark.parametrize("length", [1e-6, 1e-3, 100.0, 1e4, 1e6])
@pytest.mark.parametrize("guess", [(0.3, -1.2), (5.0, -5.0)])
def test_it_comes_to_rest_in_any_size(length, guess):
    """The spring gives way by a tenth of its length."""
    names = "place.x", "place.z"
    start = {name: length * value for name, value in zip(names, guess, strict=True)}
    found, _ = hanging(10 * G / length, length).equilibrium(start)
    assert found / length == pytest.approx([0.0, -1.1], abs=1e-9)


@pytest.mark.parametrize("soft", [0.0, 1e-3])
@pytest.mark.parametrize("stiff", [1e8, 1e12])
def test_what_is_light_is_not_lost_beside_what_is_stiff(stiff, soft):
    s = mg.System("beside", gravity=(0, 0, -G))
    s.prismatic("a", s.ground, s.body("heavy", mass=1.0, inertia=0), axis="z", stiffness=stiff)
    s.prismatic("b", s.ground, s.body("light", mass=1e-6, inertia=0), axis="z", stiffness=soft)
    if not soft:
        with pytest.raises(mg.AssemblyError, match='"b\'" still changes'):
            s.equations().equilibrium()
    else:
        expected = [-G / stiff, -1e-6 * G / soft]
        assert s.equations().equilibrium()[0] == pytest.approx(expected, rel=1e-9)


@pytest.mark.smoke
def test_the_equilibrium_near_the_guess_is_taken_stable_or_not():
    (_, z), _ = hanging(100.0).equilibrium({"place.x": 0.001, "place.z": 0.41})
    assert z == pytest.approx(0.5 - G / 100, rel=1e-12)
    (_, z), _ = hanging(100.0).equilibrium({"place.x": 0.001, "place.z": -0.58})
    assert z == pytest.approx(-0.5 - G / 100, rel=1e-12)


# --- at random ------------------------------------------------------------------------------------


def net(random: np.random.Generator) -> Made:
    """Masses in space, hung up in a net of springs."""
    s, stiffness = mg.System("net", gravity=(0, 0, -G)), 10 ** random.uniform(1, 6)
    anchors = [
        s.marker(f"anchor {i}", s.ground, at=tuple(random.uniform(-1, 1, 3))) for i in range(3)
    ]
    ends, guess = list(anchors), {}
    for i in range(random.integers(1, 4)):
        mass = s.body(f"m{i}", mass=random.uniform(0.1, 3), inertia=0)
        s.joint(f"p{i}", s.ground, mass, [mg.move(axis, axis) for axis in "xyz"])
        guess |= {f"p{i}.{axis}": random.uniform(-1, 1) for axis in "xyz"}
        for k, end in enumerate(ends):
            soft = stiffness * random.uniform(0.3, 3)
            s.spring_damper(f"s{i}{k}", end, mass, stiffness=soft, length=random.uniform(0, 0.8))
        ends.append(mass)
    return s, guess, {}


def hung(random: np.random.Generator) -> Made:
    """A free body that hangs in springs."""
    s = mg.System("hung", gravity=(0, 0, -G))
    com = tuple(random.uniform(-0.1, 0.1, 3))
    body = s.body("body", mass=1.3, inertia=(0.1, 0.12, 0.15), com=com)
    s.free("place", s.ground, body)
    for i in range(random.integers(1, 5)):
        above = s.marker(f"a{i}", s.ground, at=(*random.uniform(-1, 1, 2), 1))
        below = s.marker(f"b{i}", body, at=tuple(random.uniform(-0.3, 0.3, 3)))
        s.spring_damper(f"s{i}", above, below, stiffness=10 ** random.uniform(2, 5), length=0.3)
    return s, {f"place.{axis}": random.uniform(-0.5, 0.5) for axis in "xyz"}, {}


def pushed_chain(random: np.random.Generator) -> Made:
    """Pendulums on pendulums, with springs in some joints, and a push at the end."""
    s, parent, guess = mg.System("chain", gravity=(0, 0, -G)), None, {}
    push = s.input("push")
    for i in range(random.integers(1, 5)):
        rod = s.body(f"rod {i}", mass=random.uniform(0.2, 2), com=(0, 0, -0.3), inertia=(0.02,) * 3)
        spring = random.uniform(0, 30) * random.integers(2)
        at = (0, 0, -0.6 if parent else 0)
        axis = "xy"[random.integers(2)]
        s.revolute(f"h{i}", parent or s.ground, rod, axis=axis, at=at, stiffness=spring)
        guess[f"h{i}"], parent = random.uniform(-2.5, 2.5), rod
    s.force("load", s.marker("tip", parent, at=(0, 0, -0.6)), (push, 0, 0))
    return s, guess, {"push": random.uniform(-20, 20)}


def sprung_fourbar(random: np.random.Generator) -> Made:
    """A closed loop, with redundant rows, held by springs."""
    s, lengths = mg.System("loop", gravity=(0, 0, -G)), (0.3, random.uniform(0.8, 1), 0.7)
    a, b, c = (
        s.body(name, mass=1.0, com=(length / 2, 0, 0), inertia=(0.01, 0.05, 0.05))
        for name, length in zip("abc", lengths, strict=True)
    )
    s.revolute("A", s.ground, a, axis="y", stiffness=10 ** random.uniform(-1, 3))
    s.revolute("B", a, b, axis="y", at=(lengths[0], 0, 0))
    s.revolute("C", s.ground, c, axis="y", at=(0.9, 0, 0))
    s.revolute("D", b, c, axis="y", at=(lengths[1], 0, 0), child_at=(lengths[2], 0, 0))
    middle = s.marker("middle", b, at=(lengths[1] / 2, 0, 0))
    s.spring_damper("s", s.ground, middle, stiffness=10 ** random.uniform(1, 5), length=0.2)
    return s, {"A": random.uniform(-3, 3), "C": random.uniform(-3, 0)}, {}


def dropped(random: np.random.Generator) -> Made:
    """A ball above a floor that yields, drawn aside by a spring."""
    s = mg.System("dropped", gravity=(0, 0, -G))
    ball = s.body("ball", mass=random.uniform(0.5, 3), inertia=(0.01,) * 3)
    s.joint("place", s.ground, ball, [mg.move(axis, axis) for axis in "xyz"])
    floor, stiffness = mg.Plane(s.ground), 10 ** random.uniform(3, 7)
    s.compliant_contact("floor", mg.Sphere(ball, 0.1), floor, stiffness=stiffness)
    hook = s.marker("hook", s.ground, at=(0.5, 0.2, 1))
    s.spring_damper("spring", hook, ball, stiffness=10 ** random.uniform(0, 2), length=0.3)
    return s, {f"place.{axis}": random.uniform(0.1, 1.5) for axis in "xyz"}, {}


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("make", [net, hung, pushed_chain, sprung_fourbar, dropped])
def test_random_systems_come_to_rest(make: Callable[..., Made], seed):
    system, guess, inputs = make(np.random.default_rng(seed))
    equations, other = system.equations("newton-euler"), system.equations("kane")
    q, u = equations.equilibrium(guess, inputs=inputs)
    assert not u.any()
    assert np.abs(equations.position_violation(q)).max(initial=0.0) < 1e-12
    # rounding of q times the largest stiffness over the smallest mass
    assert np.abs(other.accelerations(q, u, 0.0, inputs)).max() < 1e-15 * 3e7 / 0.1


# --- steady motion --------------------------------------------------------------------------------


@pytest.mark.parametrize("stiffness", [1e2, 1e4, 1e6])
@pytest.mark.parametrize("place", [(0.1, 0.2), (-0.1, 0.2), (0.3, -0.3)])
def test_a_mass_on_a_turntable_is_thrown_outwards(stiffness, place):
    """k (r − l) = m Ω² (r + a) along the arm, outwards of its end at a or inwards."""
    s = mg.System("turntable")
    table, mass = s.body("table", mass=1.0, inertia=(1, 1, 1)), s.body("mass", mass=1.0, inertia=0)
    s.revolute("turn", s.ground, table, axis="z")
    s.joint("at", table, mass, [mg.move("x", "x"), mg.move("y", "y")])
    end = s.marker("end", table, at=(0.2, 0, 0))
    s.spring_damper("spring", end, mass, stiffness=stiffness, length=0.3)
    (_, x, y), u = s.equations().steady(
        {"turn'": 5.0, "at.x": place[0], "at.y": place[1]}, hold=["turn", "turn'"]
    )
    outwards, inwards = 0.5 * stiffness / (stiffness - 25), -0.1 * stiffness / (stiffness - 25)
    assert abs(y) < 1e-12
    assert u == pytest.approx([5, 0, 0], abs=1e-11)  # a row may be off by 1e-12 of its size
    assert x == pytest.approx(outwards, rel=1e-10) or x == pytest.approx(inwards, rel=1e-10)


# --- singular, contradictory, or none -------------------------------------------------------------


def test_a_spring_without_a_length_in_the_guess_is_left():
    (x, z), _ = hanging(1e3).equilibrium({"place.x": 0.0, "place.z": 0.0})
    assert (x, z) == pytest.approx((0, -0.5 - G / 1e3), abs=1e-12)


def test_a_guess_in_numbers_need_not_close():
    eqs = gallery.load("fourbar").system().equations()
    q, _ = eqs.equilibrium(([1.3, 1.7, 1.8], [0, 0, 0]))
    assert q[0] == pytest.approx(np.arctan(np.sqrt(15)), abs=1e-10)
    with pytest.raises(mg.ArgumentError, match="pair"):
        eqs.equilibrium(([1.3, 1.7, 1.8],))


@pytest.mark.parametrize("formalism", ["newton-euler", "absolute"])
@pytest.mark.parametrize("study", ["equilibrium", "steady"])
def test_what_falls_has_none_and_is_named(formalism, study):
    s = mg.System("stone", gravity=(0, 0, -G))
    s.free("place", s.ground, s.body("stone", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    words = r"damped motion from 5 starts.*place\.z'.*still changes \(unbalanced by 9\.81.*nothing"
    with pytest.raises(mg.AssemblyError, match=words):
        getattr(s.equations(formalism), study)()


def test_the_order_of_the_description_does_not_matter():
    def found(order: tuple[int, ...]) -> dict[str, float]:
        s = mg.System("net", gravity=(0, 0, -G))
        for i in order:
            mass = s.body(f"m{i}", mass=1.0 + i, inertia=0)
            s.joint(f"p{i}", s.ground, mass, [mg.move("x", "x"), mg.move("z", "z")])
            hook = s.marker(f"hook {i}", s.ground, at=(0.3 * i, 0, 0))
            s.spring_damper(f"s{i}", hook, mass, stiffness=1e3, length=0.3)
        s.spring_damper("between", "m0", "m1", stiffness=1e3, length=0.1)
        eqs = s.equations()
        return dict(zip(eqs.coordinates, eqs.equilibrium()[0], strict=True))

    assert found((2, 0, 1)) == pytest.approx(found((0, 1, 2)), abs=1e-10)


def test_a_joint_said_twice_takes_no_equilibrium_away():
    """All rows of its constraints are nothing but rounding, and count for nothing."""
    found = []
    for times in (1, 2):
        s = mg.System("disc on springs", gravity=(0, 0, 0))
        s.body("disc", mass=2.5, com=(-0.05, -0.13, 0.13), inertia=(0.05, 0.05, 0.05))
        for k in range(times):
            turned = [((0.36, 0.48, 0.8), 0.7)]
            s.planar(f"j{k}", "disc", "ground", axis=(0.8, 0.48, 0.36), orientation=turned)
        for k, (there, here) in enumerate(
            [((2, -0.3, -0.8), (0.4, -0.5, 0.1)), ((3, 0.8, 0.4), (0, 0.6, -0.2))]
        ):
            s.marker(f"m{k}", "disc", here)
            s.marker(f"n{k}", "ground", there)
            s.spring_damper(f"spring {k}", f"m{k}", f"n{k}", 28.0 - 25 * k, 2.0, 0.0)
        found.append(
            s.equations().equilibrium({"j0.first": -0.3, "j0.second": -0.9, "j0.angle": 0.77})[0]
        )
    assert np.allclose(found[0][:3], found[1][:3], atol=1e-9)


def test_an_equilibrium_that_needs_dry_friction_says_how_the_joint_is_said_to_stick():
    s = mg.System("incline", gravity=(3, 0, -9))
    block = s.body("block", mass=2.0, inertia=(1, 1, 1))
    s.prismatic("x", s.ground, block, axis="x", friction=8.0)
    e, stuck = s.equations(), {"x friction.sticking": 1}
    with pytest.raises(mg.AssemblyError, match=r"parameters=\{'x friction.sticking': 1\}"):
        e.equilibrium()
    q, u = e.equilibrium({"x": 0.3}, parameters=stuck)
    assert np.allclose([q[0], *e.multipliers(q, u, parameters=stuck)], [0.3, -6.0], atol=1e-12)


def test_long_chains_of_slanted_hinges_come_to_rest():
    """What is rounding in them grows with their length, by the root of it: a bound on it would
    take any place for a balance."""
    s, random, last = mg.System("chain", gravity=(0, 0, -G)), np.random.default_rng(1), None
    for k in range(40):
        body = s.body(f"body{k}", mass=1.0, com=(0.1, 0, -0.2), inertia=(0.01,) * 3)
        axis = random.standard_normal(3)
        at = (0.2, 0.1, -0.3) if last else (0, 0, 0)
        s.revolute(f"hinge{k}", last or s.ground, body, axis=axis / np.linalg.norm(axis), at=at)
        last = body
    eqs = s.equations()
    found = eqs.equilibrium({f"hinge{k}": np.cos(k) for k in range(40)})
    assert np.abs(eqs.accelerations(*found)).max() < 1e-10
