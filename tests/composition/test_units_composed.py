"""A system with others placed inside, composed of them: the same accelerations as its flat
equations, and every placed system derived once."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mechgraph as mg
from mechgraph import formalisms
from random_systems import random_loop, random_tree

TURNED = [("z", 0.7), ((0.6, 0.0, 0.8), -1.1)]


def leg() -> mg.System:
    """Two bodies on a hinge and a universal joint, with all that a unit may have."""
    s = mg.System("leg")
    k, w = s.parameter("k", 3.0), s.input("w")
    shin = s.body("shin", mass=1 + 0.1 * k, com=(0, 0.1, -0.5), inertia=(0.8, 0.8, 0.1))
    foot = s.body("foot", mass=0.5, com=(0, 0, -0.2), inertia=(0.1, 0.12, 0.13))
    s.revolute("knee", s.ground, shin, axis="y", stiffness=k, damping=0.2)
    s.universal("ankle", shin, foot, at=(0, 0, -1))
    tip = s.marker("tip", foot, at=(0.1, 0, -0.5))
    s.force("drag", tip, lambda m: -0.4 * k * m.velocity(tip))
    s.force("push", "shin", (1.0, 0.5 * mg.cos(s.time), 0))
    s.torque("motor", "knee", w)
    s.output("height", lambda m: m.position("tip")[2])
    return s


def walker(legs: int = 2) -> mg.System:
    """Legs on a free body, one on a leg, one on the ground, and what holds and pulls between."""
    s, unit = mg.System("walker", gravity=(0.3, 0.2, -9.81)), leg()
    K = s.parameter("K", 2.0)
    base = s.body("base", mass=5, com=(0.1, 0, 0), inertia=(1, 1.1, 1.3))
    s.free("float", s.ground, base)
    for i in range(legs):
        s.place(f"leg{i}", unit, at=(i, 0.1, 0), on=base, orientation=[("z", 0.3 * i)])
    s.place("upper", unit, on="leg0.foot", at=(0, 0.2, 0), orientation=TURNED)
    there = {"parameters": {"k": 2 * K}, "inputs": {"w": 3 * mg.sin(s.time)}}
    s.place("fixed", unit, at=(-1, 0, 0.5), orientation=TURNED, **there)
    arm = s.body("arm", mass=2, com=(0, 0.1, 0), inertia=(0.4, 0.5, 0.6))
    s.revolute("wrist", "fixed.foot", arm, axis="x", stiffness=2.0, damping=0.1, rest=0.2)
    s.spring_damper("pull", "leg0.tip", arm, stiffness=30 * K, damping=1.0)
    s.distance("rod", "upper.tip", base, 1.2)
    s.knife_edge("edge", base, across="x")
    s.torque("drive", "wrist", s.input("effort") + 0.1 * K)
    s.torque("twist", "leg0.knee", lambda m: -0.3 * m.speed("fixed.knee"))
    s.output("gap", lambda m: m.position("leg0.tip") - m.position("arm"))
    return s


def same_state(flat: mg.Equations, parts: mg.Equations, q: Any, u: Any, t: float) -> Any:
    """Coordinates and speeds of parts that are those of the flat equations in the world."""

    def see(quantity: str | Callable[[mg.Motion], Any]) -> np.ndarray:
        return np.ravel(flat.observe(quantity, q, u, t))

    def pose(place: str) -> dict[str, float]:
        R = see(lambda m: m.rotation(place)).reshape(3, 3)
        quaternion = Rotation.from_matrix(R).as_quat()[[3, 0, 1, 2]]
        values = {
            ("x", "y", "z"): see(lambda m: m.position(place)),
            ("q0", "q1", "q2", "q3"): quaternion,
            ("x'", "y'", "z'"): see(lambda m: m.velocity(place)),
            ("wx", "wy", "wz"): see(lambda m: m.angular_velocity(place, in_frame=place)),
        }
        return {k: x for names, row in values.items() for k, x in zip(names, row, strict=True)}

    def value(name: str) -> float:
        if name in flat.names:
            return float(see(name)[0])
        if name.endswith(" turns"):
            return value(name.removesuffix(" turns"))
        stem, _, variable = name.rpartition(".")
        return pose(stem.removesuffix(" free").replace(".mount", ".ground"))[variable]

    return [
        np.array([value(name) for name in names]) for names in (parts.coordinates, parts.speeds)
    ]


def compared(system: mg.System, parts: mg.Equations, seed: int, speed: float = 1.0) -> float:
    """The largest relative difference of accelerations of all bodies at a random state."""
    flat, random = system.equations(), np.random.default_rng(seed)
    q = flat.terms.chart.normalized(random.uniform(-0.6, 0.6, len(flat.coordinates)))
    u, t = speed * random.uniform(-1, 1, len(flat.speeds)), 0.4
    inputs = random.uniform(-1, 1, len(flat.inputs))
    there = same_state(flat, parts, q, u, t)
    given = dict(zip(flat.inputs, inputs, strict=True))
    assert set(parts.inputs) == set(flat.inputs)
    assert set(parts.parameters) == set(flat.parameters)
    a, b = (
        np.concatenate(
            [np.ravel(e.observe(f"{body}''", *state, t, inputs=given)) for body in names]
        )
        for e, state, names in (
            (flat, (q, u), system.bodies),
            (parts, there, system.bodies),
        )
    )
    for row in ("ground: position", "ground: rotation"):
        held = [k for k, name in enumerate(parts.constraints) if row in name]
        assert np.abs(parts.position_violation(there[0], t)[held]).max(initial=0) < 1e-12
    return float(np.abs(a - b).max() / np.abs(a).max())


@pytest.mark.parametrize("seed", range(2))
def test_parts_and_flat_equations_agree(seed):
    system = walker()
    assert compared(system, mg.compose(system), seed) < 1e-9


def driven(turning: bool = True) -> mg.System:
    """Joints between parts whose frames time moves, and that turn rotors."""
    s = mg.System("driven", gravity=(0.3, 0, -9.81))
    s.place("a", leg(), orientation=TURNED)
    t, J = s.time, s.parameter("J", 0.7)
    bar, block = (s.body(name, mass=1.5, inertia=(0.2, 0.3, 0.4)) for name in ("bar", "block"))
    moving = {"at": (0.3 * mg.sin(2 * t), 0.1, -0.2)}
    if turning:
        moving["orientation"] = [("x", t), ("y", mg.cos(t))]
    s.revolute("link", "a.foot", bar, axis="x", **moving, armature=J, damping=0.1)
    s.prismatic("slide", bar, block, axis=(0.6, 0, 0.8), armature=0.9, stiffness=5.0)
    s.universal("grip", "a.shin", s.body("hand", mass=0.5, inertia=(0.1, 0.1, 0.1)), at=(0.2, 0, 0))
    return s


@pytest.mark.parametrize("seed", range(2))
def test_moving_frames_and_rotors_between_parts(seed):
    system = driven()
    assert compared(system, mg.compose(system), seed) < 1e-9


def test_the_energy_of_rotors_between_parts():
    flat, parts = driven(False).equations(), mg.compose(driven(False))
    q, u = flat.assemble({"a.knee": 0.4, "slide": 0.1, "link'": 2.0})
    there = np.concatenate(same_state(flat, parts, q, u, 0.0))
    start = dict(zip((*parts.coordinates, *parts.speeds), there, strict=True))
    given = dict(zip((*flat.coordinates, *flat.speeds), (*q, *u), strict=True))
    runs = [e.simulate(0.5, x, rtol=1e-10) for e, x in ((flat, given), (parts, start))]
    assert np.allclose(runs[0]["hand"], runs[1]["hand"], rtol=0, atol=1e-7)
    assert np.allclose(runs[0].kinetic, runs[1].kinetic, rtol=0, atol=1e-6)
    assert np.abs(runs[1].imbalance).max() < 1e-6


@pytest.mark.parametrize("seed", [3, 8, 11])
def test_random_systems_as_parts(seed):
    """On the ground, on a body of the whole, on a body of another part."""
    first, second = random_tree(seed).system, random_tree(seed + 20).system
    system = mg.System("whole", gravity=(0, 0, -9.81))
    base = system.body("base", mass=3.0, inertia=(1, 1.1, 1.3))
    system.free("float", system.ground, base)
    first.gravity = second.gravity = (0, 0, 0)
    system.place("a", first, at=(0.3, 0, 1), orientation=TURNED)
    system.place("b", second, at=(0.1, 0.5, 0), orientation=TURNED, on=base)
    system.place("c", first, on=f"b.{list(second.bodies)[-1]}", at=(0, 0, 1))
    last = f"a.{list(first.bodies)[-1]}"
    bar = system.body("bar", mass=1.0, com=(0, 0, -0.3), inertia=(0.2, 0.2, 0.1))
    system.universal("joint", last, bar, at=(0, 0.2, 0), orientation=TURNED)
    system.spring_damper("spring", bar, base, stiffness=20, damping=1.0)
    assert compared(system, mg.compose(system), seed) < 1e-9


def test_bodies_that_only_others_hold():
    """A link that hangs on nothing of its own unit."""
    unit, system = mg.System("link"), mg.System("whole", gravity=(0, 0, -9.81))
    unit.body("bar", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    unit.marker("end", "bar", at=(0, 0, -1))
    system.place("upper", unit, at=(1, 0, 0))
    system.place("lower", unit)
    system.revolute("shoulder", system.ground, "upper.bar", axis="y")
    system.spherical("elbow", "upper.end", "lower.bar")
    assert compared(system, mg.compose(system), 0) < 1e-9


def test_loops_inside_of_parts():
    inner = random_loop(2, "revolute", spare=2).system
    inner.gravity = (0, 0, 0)
    system = mg.System("whole", gravity=(0, 0, -9.81))
    base = system.body("base", mass=3.0, inertia=(1, 1.1, 1.3))
    system.free("float", system.ground, base)
    system.place("a", inner, orientation=TURNED, at=(0, 0, 1))
    system.place("b", inner, on=base, at=(0, 0.4, 0))
    assert compared(system, mg.compose(system), 1) < 1e-9


def test_a_run_of_the_parts_is_that_of_the_flat_equations():
    system = walker(1)
    flat, parts = system.equations(), mg.compose(system)
    run = flat.simulate(0.3, {"leg0.knee": 0.3, "float.y'": 0.1}, rtol=1e-10, step=0.1)
    start = tuple(same_state(flat, parts, run.q[0], run.u[0], 0.0))
    other = parts.simulate(0.3, start, rtol=1e-10, step=0.1)
    for name in (
        "leg0.knee",
        "wrist",
        "arm",
        "gap",
        "fixed.height",
        "upper.height",
        "upper.ground",
    ):
        np.testing.assert_allclose(other[name], run[name], atol=1e-6, err_msg=name)
    assert other.violation.max() < 1e-8
    assert np.abs(other.imbalance).max() < 1e-6


class Counter:
    """The default formalism, which counts its derivations."""

    def __init__(self) -> None:
        self.formalism, self.names = formalisms.formalism_of(formalisms.DEFAULT), list[str]()

    def derive(self, chart: mg.Chart, **options: Any) -> Any:
        self.names.append(chart.description.name)
        return self.formalism.derive(chart, **options)


def test_what_is_placed_twenty_times_is_derived_once(monkeypatch):
    counter = Counter()
    listed = mg.Formalism(counter.derive, counter.formalism.chart, "counted")
    monkeypatch.setitem(formalisms.FORMALISMS, formalisms.DEFAULT, listed)
    system, unit = mg.System("many", gravity=(0, 0, -9.81)), mg.System("leg")
    shin = unit.body("shin", mass=1.0, com=(0, 0.1, -0.5), inertia=(0.8, 0.8, 0.1))
    unit.revolute("knee", unit.ground, shin, axis="y")
    base = system.body("base", mass=5, inertia=(1, 1.1, 1.3))
    system.free("float", system.ground, base)
    for k in range(20):
        system.place(f"leg{k}", unit, at=(0.1 * k, 0, 0), on=base, orientation=[("z", 0.2 * k)])
    parts = mg.compose(system)
    assert sorted(counter.names) == ["leg", "many"]
    q, u = np.array(parts.terms.chart.reference), np.zeros(len(parts.speeds))
    assert np.isfinite(parts.accelerations(q, u)).all()
    for k in range(3):  # nor for another whole, nor for places that do not move
        other = mg.System("other")
        other.place("a", unit)
        other.place("b", unit, at=(0, 0, k))
        mg.compose(other)
    assert sorted(counter.names) == ["leg", "leg", "many"]


def test_composed_units_pickle():
    parts = mg.compose(walker(1))
    again = pickle.loads(pickle.dumps(parts))
    q = np.array(parts.terms.chart.reference)
    u = np.linspace(-1, 1, len(parts.speeds))
    np.testing.assert_array_equal(again.forces(q, u), parts.forces(q, u))


def chained(s: mg.System) -> None:
    s.joint("link", "a.foot", s.body("more", mass=1.0, inertia=(1, 1, 1)), [mg.rot("x", "b")])


def touching(s: mg.System) -> None:
    s.rigid_contact("touch", mg.Sphere("a.foot", 0.1), mg.Plane(s.ground))


def rubbing(s: mg.System) -> None:
    s.slide("touch", mg.Sphere("a.foot", 0.1), mg.Plane(s.ground), friction=0.3)


def asking(s: mg.System) -> None:
    s.fixed_controlled_joint("law", s.ground, "a.foot", lambda t, angle, rate: -angle)


def stiffening(s: mg.System) -> None:
    unit = mg.System("rod")
    rod = unit.body("rod", mass=1.0, inertia=(1, 1, 1))
    unit.revolute("pin", unit.ground, rod, at=(unit.parameter("k", 1.0), 0, 0))
    s.place("b", unit, parameters={"k": 1 + s.time})


def loose(s: mg.System) -> None:
    s.body("loose", mass=1.0, inertia=(1, 1, 1))


@pytest.mark.parametrize(
    ("say", "message"),
    [
        (chained, "joint 'link' joins parts, but it is a chain"),
        (stiffening, "parameter 'k' of 'b' changes in time"),
        (touching, "rigid_contact 'touch' acts between parts"),
        (rubbing, "slide 'touch' drags friction along between parts"),
        (asking, "'law angle' is measured between parts"),
        (loose, "no path of joints from ground to 'loose'"),
    ],
)
def test_what_cannot_be_composed_is_named(say, message):
    s = mg.System("whole")
    s.place("a", leg())
    say(s)
    with pytest.raises(mg.MechgraphError, match=message):
        mg.compose(s)


def test_wrong_calls_of_compose():
    s = mg.System("whole")
    s.free("free", s.ground, s.body("body", mass=1.0, inertia=(1, 1, 1)))
    with pytest.raises(mg.ArgumentError, match="no systems placed inside, so it has no parts"):
        mg.compose(s)
    s.place("a", leg())
    with pytest.raises(mg.ArgumentError, match="said to the System"):
        mg.compose(s, forces={"free.x'": 1.0})
    part = mg.Part(leg().equations(), inputs={"v": lambda v: 1.0})
    with pytest.raises(mg.ModelError, match="part 'a': unknown input 'v'; Known: w"):
        mg.compose("whole", {"a": part})
