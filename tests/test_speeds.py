"""Speeds of the user's own choice: the same motion, forces and linear models, whatever they are."""

from __future__ import annotations

import copy
import pickle

import casadi as ca
import numpy as np
import pytest

import mechgraph as mg
from mechgraph.studies.agreement import random_states
from random_systems import JOINT_NAMES, random_loop, random_tree

SCALAR = ("revolute", "prismatic", "cylindrical", "universal", "planar")


def mixed(system: mg.System, seed: int) -> mg.System:
    """The same system with half of its joints' speeds replaced by mixtures of all of them, with
    coefficients of the coordinates and of time, and offsets of time."""
    other, random = copy.copy(system), np.random.default_rng(seed)
    chart = system.equations().terms.chart
    carried = {k for name in chart.chain_end for k in chart.joint_speeds[name]}
    names = [name for k, name in enumerate(chart.symbols.speeds) if k not in carried]
    place = next(iter(system.bodies))
    for k, name in enumerate(map(str, random.permutation(names)[: 1 + len(names) // 2])):
        factors, shift = random.uniform(-0.4, 0.4, len(names)), random.standard_normal()

        def speed(m, name=name, factors=factors, shift=shift):
            terms = (f * m.speed(each) for f, each in zip(factors, names, strict=True))
            wobble = 1 + 0.2 * mg.sin(m.time + m.position(place)[0])
            return m.speed(name) + sum(terms) * wobble + shift * mg.cos(m.time)

        other.speed(f"own {k}", speed)
    return other


def own_speeds(equations, q, u, t):
    """u = V u_J + v, for speeds of the joints."""
    chart, s = equations.terms.chart, equations.terms.symbols
    function = ca.Function("u", [s.q, s.t, s.p], [ca.densify(chart.V), ca.densify(chart.v)])
    both = [function(q[k], t[k], list(s.defaults)) for k in range(len(t))]
    return np.array([np.array(V @ u[k] + v).ravel() for k, (V, v) in enumerate(both)])


def gap(a, b):
    return np.abs(a - b).max(initial=0.0) / max(1.0, np.abs(a).max(initial=0.0))


def consequences(equations, q, u, t, w):
    """Accelerations of all bodies, reactions of all joints, and the power of everything."""
    moving = [equations.observe(f"body {name}''", q, u, t, w) for name in equations.system.bodies]
    through = [equations.reaction(name, q, u, t, w) for name in equations.system.joints]
    power = equations.observe("power", q, u, t, w)
    return np.concatenate([*moving, *through, power], axis=-1)


def check_same_motion(system, guess=None):
    """Of a system in the speeds of its joints and in others."""
    plain, other = system.equations(), mixed(system, 1).equations()
    at = random_states(plain, 2, 0, guess)
    u = own_speeds(other, at.q, at.u, at.t)
    for name in (f"{joint}'" for joint, value in system.joints.items() if value.speeds):
        assert gap(plain.observe(name, at.q, at.u, at.t), other.observe(name, at.q, u, at.t)) < 1e-9
    found = consequences(other, at.q, u, at.t, at.w)
    assert gap(consequences(plain, at.q, at.u, at.t, at.w), found) < 1e-8
    return other


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(len(JOINT_NAMES)))
def test_random_trees_with_other_speeds(seed):
    system = random_tree(seed).system
    check_same_motion(system)
    report = mg.agreement(mixed(system, 2), states=2)
    assert report.ok, report


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", ["revolute", "spherical", "chain"])
def test_random_loops_with_other_speeds(kind):
    loop = random_loop(3, kind)
    check_same_motion(loop.system, loop.configuration)
    report = mg.agreement(mixed(loop.system, 2), states=1, guess=loop.configuration)
    assert report.ok, report


# --- a sleigh: the textbook's example -------------------------------------------------------------


def sleigh(own=True):
    """Chaplygin's sleigh: a knife edge at the origin, the mass centre a = 0.3 m ahead of it."""
    s = mg.System("sleigh", gravity=(0, 0, -9.81))
    b = s.body("b", mass=2.0, com=(0.3, 0, 0), inertia=(0.2, 0.3, 0.4))
    s.joint("place", s.ground, b, [mg.move("x", "x"), mg.move("y", "y"), mg.rot("z", "heading")])
    s.knife_edge("edge", b, across="y")
    if own:
        s.speed("v", lambda m: mg.dot(m.velocity(b), m.axis(b, "x")))
        s.speed("slip", lambda m: mg.dot(m.velocity(b), m.axis(b, "y")))
    return s


def test_the_sleigh_in_its_own_speeds_has_constant_coefficients():
    """v̇ = a ω², (I + m a²) ω̇ = −m a v ω, with slip = 0."""
    e = sleigh().equations()
    assert e.speeds == ("v", "slip", "place.heading'")
    q, v, omega = [0.3, -0.2, 1.1], 0.7, -1.3
    m, a, inertia = 2.0, 0.3, 0.4
    udot = e.accelerations(q, [v, 0.0, omega])
    expected = [a * omega**2, 0.0, -m * a * v * omega / (inertia + m * a**2)]
    assert np.allclose(udot, expected, atol=1e-14)
    lines = e.show().splitlines()
    assert "  f[v] = 0.2·place.heading'·(3·place.heading' + 10·slip)" in lines
    assert "  A[edge, slip] = 1" in lines


def test_starts_by_joint_speeds_and_results_by_both():
    own, plain = sleigh().equations(), sleigh(False).equations()
    start = {"place.heading": 0.4, "place.heading'": 2.0}
    by_joint = own.simulate(1.0, {**start, "place.x'": np.cos(0.4)}, rtol=1e-10)
    by_own = own.simulate(1.0, {**start, "v": 1.0}, rtol=1e-10)
    reference = plain.simulate(1.0, {**start, "place.x'": np.cos(0.4)}, rtol=1e-10)
    assert np.allclose(by_joint.q, by_own.q, atol=1e-12)
    for name in ("place.x", "place.x'", "place.y''", "place'", "b'", "edge: force", "energy"):
        assert np.allclose(by_own[name], reference[name], atol=1e-7), name
    heading = reference["place.heading"]
    along = reference["place.x'"] * np.cos(heading) + reference["place.y'"] * np.sin(heading)
    assert np.allclose(by_own["v"], along, atol=1e-7)
    assert np.allclose(own.simulate(1.0, (by_own.q[0], by_own.u[0])).q[-1], by_own.q[-1], atol=1e-6)


def test_speeds_are_known_in_every_chart():
    """Where they are no variables they are measured."""
    s = sleigh()
    e, absolute = s.equations(), s.equations("absolute")
    run = absolute.simulate(0.5, {"v": 1.0, "place.heading'": 2.0}, rtol=1e-10)
    again = e.simulate(0.5, {"v": 1.0, "place.heading'": 2.0}, rtol=1e-10)
    assert np.allclose(run["v"], again["v"], atol=1e-8)
    assert np.allclose(run["v'"], again["v'"], atol=1e-7)


def test_constraints_and_forces_on_own_speeds():
    """A constraint on v = the velocity of the edge acts there, as it does if it is written out."""
    runs = []
    for own in (True, False):
        s = sleigh(own)
        if own:
            velocity = lambda m: m.speed("v") - 1 - 0.2 * m.time  # noqa: E731
            s.force("drag", "b", lambda m: -m.speed("v") * m.axis("b", "x"))
        else:
            velocity = lambda m: edge_velocity(m) - 1 - 0.2 * m.time  # noqa: E731
            s.force("drag", "b", lambda m: -edge_velocity(m) * m.axis("b", "x"))
        s.constrain("pace", velocity=velocity)
        runs.append(s.equations().simulate(1.0, {"place.heading'": 2.0}, rtol=1e-10))
        assert mg.agreement(s).ok
    for name in ("place.x", "place: reaction", "pace", "energy", "power"):
        assert np.allclose(runs[0][name], runs[1][name], atol=1e-7), name
    assert np.ptp(runs[0].energy) > 0.1


def test_linear_models_and_equilibria_are_the_same():
    """Eigenvalues, and the steady roll of a disc whose speeds turn with it."""
    found = []
    for own in (True, False):
        s = mg.System("arm", gravity=(0, 0, -9.81))
        a, b = (s.body(name, mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.2, 0.15)) for name in "ab")
        s.spherical("ball", s.ground, a)
        s.revolute("hinge", a, b, axis="x", at=(0, 0, -1), stiffness=1.0, damping=0.2)
        if own:
            s.speed("wx", lambda m, a=a: m.angular_velocity(a)[0] + m.speed("hinge"))
            s.speed("wz", lambda m, a=a: m.angular_velocity(a)[2])
        e = s.equations()
        values = e.linearize(e.equilibrium({"hinge": 0.1})).eigenvalues()
        found.append(sorted(values, key=lambda z: (round(z.imag, 6), round(z.real, 6))))
    assert np.allclose(found[0], found[1], atol=1e-7)


def test_a_steady_turn_is_steady_in_speeds_of_the_body():
    s = sleigh()
    b = s.bodies["b"]
    s.force("push", b, lambda m: 3.0 * m.axis(b, "x"))
    s.force("drag", b, lambda m: -2.0 * m.speed("v") * m.axis(b, "x"))
    s.body_torque("turn", b, lambda m: (0, 0, 0.9 - 0.1 * m.speed("place.heading")))
    e = s.equations()
    q, u = e.steady({"v": 1.0, "place.heading'": 0.5})
    assert np.abs(e.accelerations(q, u)).max() < 1e-9 < u[0]


def test_projections_keep_time_dependent_speeds_on_the_constraints():
    """N depends on time and on a parameter; the projection of positions has to know both."""
    s = mg.System("bead", gravity=(0, 0, -9.81))
    k = s.parameter("k", 0.5)
    b = s.body("b", mass=1.0, inertia=0)
    s.joint("p", s.ground, b, [mg.move("x", "x"), mg.move("z", "z")])
    s.constrain("wire", position=lambda m: m.position(b)[2] - m.position(b)[0] ** 2)
    plain = s.equations()
    s.speed("s", lambda m: (1 + k * mg.sin(3 * m.time)) * m.speed("p.x") + m.speed("p.z"))
    start = {"p.x": 1.0, "p.x'": 0.3}
    runs = [
        e.simulate(3.0, start, rtol=1e-9, parameters={"k": 0.8}) for e in (plain, s.equations())
    ]
    assert np.abs(runs[1].violation).max() < 1e-9
    assert np.allclose(runs[0]["p.x"], runs[1]["p.x"], atol=1e-5)


def test_inverse_dynamics_along_own_speeds():
    s = sleigh()
    e = s.equations()
    q, u = np.array([0.1, 0.2, 0.3]), np.array([1.0, 0.0, 2.0])
    tau = e.inverse_dynamics(q, u, np.array([0.5, 0.0, 0.7]), drives=["v", "place.heading'"])
    expected = [2.0 * (0.5 - 0.3 * 4.0), (0.4 + 2 * 0.09) * 0.7 + 2.0 * 0.3 * 1.0 * 2.0]
    assert np.allclose(tau, expected)


def test_speeds_are_part_of_what_was_said():
    a, b = sleigh().snapshot(), sleigh(False).snapshot()
    assert a == sleigh().snapshot() != b
    assert list(a.speeds) == ["v", "slip"]
    assert list(sleigh().speeds) == ["v", "slip"]
    assert "Speed(name='v'" in repr(a.speeds["v"])


def edge_velocity(m):
    return mg.dot(m.velocity("b"), m.axis("b", "x"))


def test_equations_with_own_speeds_can_be_pickled():
    s = sleigh(False)
    s.speed("v", edge_velocity, replaces="place.y'")
    e = s.equations("kane")
    assert e.speeds == ("place.x'", "v", "place.heading'")
    other = pickle.loads(pickle.dumps(e))
    state = [0.1, 0.2, 0.7], [0.3, 0.4, 0.5]
    assert np.array_equal(e.accelerations(*state), other.accelerations(*state))


WRONG = {
    "not a function": (lambda s: s.speed("v", 3.0), ["speed 'v'", "function of the motion"]),
    "a name that is taken": (lambda s: s.speed("b", lambda m: 0), ["'b'", "taken"]),
    "not linear": (
        lambda s: s.speed("v", lambda m: mg.norm_2(m.velocity("b"))),
        ["speed 'v'", "linear in the joints' speeds"],
    ),
    "a position": (
        lambda s: s.speed("v", lambda m: m.position("b")[0]),
        ["speed 'v'", "does not depend on the speed of any joint"],
    ),
    "an acceleration": (
        lambda s: s.speed("v", lambda m: m.acceleration("b")[0]),
        ["speed 'v'", "accelerations"],
    ),
    "an input": (
        lambda s: (i := s.input("i"), s.speed("v", lambda m: i * m.speed("place.x"))),
        ["speed 'v'", "input"],
    ),
    "itself": (lambda s: s.speed("v", lambda m: 2 * m.speed("v")), ["speed 'v'", "itself"]),
    "two numbers": (
        lambda s: s.speed("v", lambda m: m.velocity("b")[:2]),
        ["speed 'v'", "one number or expression"],
    ),
    "no number": (
        lambda s: s.speed("v", lambda m: m.speed("place.x") * float("nan")),
        ["speed 'v'"],
    ),
    "another one's symbol": (
        lambda s: s.speed("v", lambda m: ca.SX.sym("z") * m.speed("place.x")),
        ["speed 'v'", "'z'", "not a symbol of this system"],
    ),
    "an unknown speed": (
        lambda s: s.speed("v", lambda m: m.speed("place.x"), replaces="place.z'"),
        ["speed 'v'", "replaces", "place.x'"],
    ),
    "one that stays": (
        lambda s: s.speed("v", lambda m: m.speed("place.x"), replaces="place.y'"),
        ["'v' for \"place.y'\"", "do not determine the motion"],
    ),
    "the same twice": (
        lambda s: (
            s.speed("v", lambda m: m.speed("place.x")),
            s.speed("w", lambda m: 2 * m.speed("place.x")),
        ),
        ["speed 'w'", "follows from 'v'", "do not determine the motion", "mg.compose"],
    ),
    "too many": (
        lambda s: [s.speed(f"v{k}", lambda m, k=k: m.velocity("b")[k]) for k in range(3)],
        ["speed 'v2'", "does not depend"],
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_speeds_that_cannot_be_speeds_are_refused_by_name(case):
    say, words = WRONG[case]
    s = sleigh(False)
    with pytest.raises(mg.ModelError) as caught:
        say(s)
        s.equations().accelerations([0, 0, 0], [0, 0, 0])
    for word in words:
        assert word in str(caught.value)


def test_where_speeds_do_not_determine_the_motion_that_is_said():
    """v alone replaces x', and tells nothing of it where the sleigh heads along y."""
    s = sleigh(False)
    s.speed("v", edge_velocity)
    e = s.equations()
    assert e.speeds[0] == "v"
    assert np.isfinite(e.accelerations([0, 0, 0.3], [1, 0, 2])).all()
    with pytest.raises(mg.ArgumentError, match=r"'v'.*do not determine the motion here"):
        e.accelerations([0, 0, np.pi / 2], [1, 0, 2])
    start = {"place.heading": 1.0, "place.y'": 1.0, "place.heading'": 2.0}  # passes through there
    runs = [each.simulate(1.5, start, rtol=1e-9) for each in (e, sleigh(False).equations())]
    assert np.abs(runs[0].q - runs[1].q).max() < 1e-7
    assert runs[0]["place.heading"].max() > 1.6


def test_rest_is_refused_where_a_speed_has_an_offset():
    s = sleigh(False)
    s.speed("relative", lambda m: m.speed("place.x") - 2.0)
    with pytest.raises(mg.UnsupportedError, match="'relative'"):
        s.equations().equilibrium()


@pytest.mark.parametrize("formalism", ["newton-euler", "hamilton"])
def test_what_a_start_does_not_name_is_at_rest_whatever_the_speeds_are(formalism):
    """Rest is that of the joints, not of speeds that are not zero there, nor of least momenta."""
    s = mg.System("top", gravity=(0, 0, -9.81))
    b = s.body("b", mass=1.0, com=(0, 0, 0.5), inertia=(0.1, 0.1, 0.2))
    turns = [mg.rot("z", "yaw"), mg.rot("x", "tilt"), mg.rot("z", "spin")]
    s.joint("pivot", s.ground, b, turns)
    s.speed("w", lambda m: m.speed("pivot.yaw") + m.speed("pivot.tilt") - 2.0)
    e = s.equations(formalism)
    q, u = e.assemble({"pivot.tilt": 1.0, "pivot.spin'": 3.0})
    assert np.allclose(e.observe("pivot'", q, u), [0.0, 0.0, 3.0], atol=1e-12)


def test_probes_of_appell_are_as_large_as_fast_offsets():
    """A speed relative to what is shaken by 10 mm at 100 Hz."""
    s = sleigh(False)
    rate = 2 * np.pi * 100
    s.speed("relative", lambda m: m.speed("place.x") - 0.01 * rate * mg.cos(rate * m.time))
    report = mg.agreement(s, formalisms=["appell"])
    assert report.ok, report
