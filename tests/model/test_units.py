"""A system placed inside of another is the same system: under other names, at another place, on a
body that moves, with other numbers."""

from __future__ import annotations

import copy
import pickle
import re
from dataclasses import dataclass, fields
from typing import Any

import casadi as ca
import numpy as np
import pytest

import mechgraph as mg
from mechgraph.model.subsystem_view import PlacedConstraint, PlacedElement, Within
from mechgraph.vectors import orientation
from random_systems import random_loop, random_state, random_tree

JOINT_COORDINATES = ["newton-euler", "appell", "lagrange", "kane"]
TURNED = [("z", 0.7), ((0.6, 0.0, 0.8), -1.1)]
AT = (0.4, -0.3, 1.2)


def arrays(equations: mg.Equations, state: Any) -> list[np.ndarray]:
    """All that the contract says of a state."""
    q, u, at, place = state.q, state.u, state.at, state.place
    return [
        equations.mass_matrix(q, **place),
        equations.forces(q, u, **at),
        equations.position_violation(q, **place),
        equations.velocity_violation(q, u, **place),
        equations.constraint_jacobian(q, u, **place),
        equations.potential_energy(q, **place),
        equations.kinetic_energy(q, u, **place),
    ]


def same(inner: mg.Equations, outer: mg.Equations, prefix: str, seed: int, rtol: float) -> None:
    """Same names but for the prefix, same arrays."""
    groups = ("coordinates", "speeds", "inputs", "constraints", "parameters")
    for names, own in ((getattr(outer, g), getattr(inner, g)) for g in groups):
        assert list(names) == [f"{prefix}{name}" for name in own]
    state = random_state(inner, seed)
    there = copy.copy(vars(state))
    there["parameters"] = {f"{prefix}{name}": value for name, value in state.parameters.items()}
    found, wanted = arrays(outer, type(state)(**there)), arrays(inner, state)
    for a, b in zip(found, wanted, strict=True):
        np.testing.assert_allclose(a, b, rtol=0, atol=rtol * max(1.0, np.abs(b).max(initial=0)))


def turned_gravity(system: mg.System) -> np.ndarray:
    """Gravity of a world in which the system, turned by TURNED, feels its own."""
    R = np.array(ca.evalf(orientation(TURNED)))
    return R @ np.array(ca.evalf(system.gravity)).ravel()


@pytest.mark.parametrize("seed", range(20))
def test_a_random_tree_under_a_prefix_is_the_same_to_the_last_bit(seed):
    inner = random_tree(seed).system
    outer = mg.System("outer", gravity=inner.gravity)
    outer.place("p", inner)
    for formalism in JOINT_COORDINATES if seed < 4 else JOINT_COORDINATES[:1]:
        same(inner.equations(formalism), outer.equations(formalism), "p.", seed, 0.0)
    if seed < 2:
        same(inner.equations("absolute"), outer.equations("absolute"), "p.", seed, 1e-15)


@pytest.mark.parametrize("kind", ["revolute", "universal", "spherical", "chain", "screw"])
def test_a_random_loop_under_a_prefix_is_the_same(kind):
    inner = random_loop(3, kind).system
    outer = mg.System("outer", gravity=inner.gravity)
    outer.place("p", inner)
    for formalism in ("newton-euler", "kane"):
        same(inner.equations(formalism), outer.equations(formalism), "p.", 3, 0.0)


@pytest.mark.parametrize("seed", range(12))
def test_a_system_that_is_turned_with_its_gravity_moves_as_before(seed):
    """World forces, drag and drives go with the frame; gravity is the outer one."""
    inner = random_tree(seed).system
    outer = mg.System("outer", gravity=turned_gravity(inner))
    outer.place("p", inner, at=AT, orientation=TURNED)
    # the zero of the potential of gravity is where the outer ground is
    outer.gravity, still = (0, 0, 0), copy.copy(inner)
    still.gravity = (0, 0, 0)
    same(still.equations(), outer.equations(), "p.", seed, 1e-11)
    outer.gravity = turned_gravity(inner)
    e, o, state = inner.equations(), outer.equations(), random_state(inner.equations(), seed)
    numbers = {f"p.{name}": value for name, value in state.parameters.items()}
    found = o.forces(state.q, state.u, state.t, state.inputs, numbers)
    wanted = e.forces(state.q, state.u, **state.at)
    np.testing.assert_allclose(found, wanted, atol=1e-11 * max(1.0, np.abs(wanted).max()))
    if seed == 3:
        assert mg.agreement(outer, states=1).ok


WORLDLY = re.compile(r"frame='world'|s\.force\('drag'")  # what says something of the world


def program(lines: list[str], system: mg.System, ground: str) -> None:
    """Say the lines of a random system to a system, on another ground."""
    for line in lines:
        if not line.startswith(("s = ", "t = ")) and not WORLDLY.search(line):
            text = line.replace("'ground'", repr(ground))
            exec(text, {"mg": mg, "s": system, "t": system.time})


def moving(name: str, gravity: Any = (0, 0, -9.81)) -> mg.System:
    """A system with a body that is free and one that time moves."""
    s = mg.System(name, gravity=gravity)
    cart = s.body("cart", mass=3.0, com=(0.1, 0, 0.2), inertia=(1.0, 1.2, 0.9))
    s.free("cart", s.ground, cart)
    steps = [mg.move("x", mg.sin(s.time)), mg.rot("z", 0.3 * s.time**2), mg.rot("x", s.time)]
    s.joint("swing", s.ground, s.frame("driven"), steps)
    return s


@pytest.mark.parametrize("on", ["cart", "driven"])
@pytest.mark.parametrize("seed", [1, 2, 5, 7, 9, 13])
def test_a_system_on_a_moving_body_is_the_one_said_with_that_body(seed, on):
    lines = random_tree(seed).lines
    inner, outer, direct = mg.System("inner"), moving("outer"), moving("direct")
    program(lines, inner, "ground")
    outer.place("p", inner, at=AT, orientation=TURNED, on=on)
    direct.marker("mount", on, at=AT, orientation=TURNED)
    program(lines, direct, "mount")
    e, o = direct.equations(), outer.equations()
    assert [name.removeprefix("p.") for name in o.coordinates] == list(e.coordinates)
    state = random_state(e, seed)
    there = {name: state.parameters[name.removeprefix("p.")] for name in o.parameters}
    found = o.accelerations(state.q, state.u, state.t, state.inputs, there)
    wanted = e.accelerations(state.q, state.u, **state.at)
    np.testing.assert_allclose(found, wanted, atol=1e-11 * max(1.0, np.abs(wanted).max()))


# --- the motion as seen from inside ---------------------------------------------------------------


def observed() -> mg.System:
    """An arm that looks at itself in every way that there is."""
    s = mg.System("arm")
    rod = s.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.2, 0.15))
    s.universal("hinge", s.ground, rod, at=(0.2, 0, 0))
    tip = s.marker("tip", rod, at=(0.1, 0.3, -1.0), orientation=[("x", 0.4)])
    by = {"position": tip, "velocity": "tip", "acceleration": tip}
    for name, place in by.items():
        s.output(name, lambda m, name=name, place=place: getattr(m, name)(place))
    s.output("first", lambda m: m.axis(rod, "x"))
    s.output("second", lambda m: m.axis("rod", "y"))
    s.output("carried", lambda m: mg.cross(m.angular_velocity("rod"), m.axis(rod, "x")))
    s.output("spin", lambda m: m.angular_velocity(tip))
    s.output("turning", lambda m: m.angular_acceleration(tip))
    s.output("seen", lambda m: m.position(tip, in_frame=s.ground))
    s.output("along", lambda m: m.rotation("ground", in_frame=rod) @ m.velocity(tip))
    s.output("turned", lambda m: m.velocity(tip, in_frame="rod"))
    s.output("angles", lambda m: m.coordinate("hinge"))
    s.output("rates", lambda m: m.speed("hinge"))
    s.output("bend", lambda m: m.coordinate("hinge.second") + 0 * m.time)
    return s


@pytest.mark.parametrize("on", ["cart", "driven", None])
def test_what_is_seen_from_inside_belongs_together(on):
    """Velocities are rates of positions in a frame that moves, accelerations those of velocities:
    the names with primes differentiate, what the motion says uses ω × r."""
    s = moving("outer")
    s.place("p", observed(), at=AT, orientation=TURNED, on=on)
    e = s.equations()
    state = random_state(e, 4)
    udot = np.random.default_rng(0).uniform(-1, 1, len(state.u))

    def see(name: str) -> np.ndarray:
        return e.observe(name, state.q, state.u, state.t, udot=udot)

    pairs = {
        "p.position'": "p.velocity",
        "p.velocity'": "p.acceleration",
        "p.first'": "p.carried",
        "p.spin'": "p.turning",
        "p.seen": "p.position",
        "p.turned": "p.along",
        "p.angles'": "p.rates",
        "p.angles": "p.hinge",
    }
    for rate, said in pairs.items():
        np.testing.assert_allclose(see(rate), see(said), atol=1e-12, err_msg=rate)
    np.testing.assert_allclose(see("p.bend"), see("p.hinge.second"))
    R, p = (getattr(e, name)("p.ground", state.q, state.t) for name in ("rotation", "position"))
    np.testing.assert_allclose(R @ see("p.position") + p, see("p.tip"), atol=1e-13)


def relative_velocity(m: mg.Motion, place: str, base: str) -> ca.SX:
    arm = m.position(place) - m.position(base)
    return m.velocity(place) - m.velocity(base) - mg.cross(m.angular_velocity(base), arm)


class NoSlip(mg.Constraint):
    """A class of a user's own, with a parameter of its own, a name in its methods and world axes:
    what is below a wheel's centre does not move along x and y."""

    def __init__(self, name: str, radius: Any) -> None:
        self.name, self.radius, self.own = name, radius, ca.SX.sym("factor")

    def parameters(self):
        return {"factor": self.own}

    def velocity(self, m):
        down = ca.vertcat(0, 0, -self.radius * (1 + self.own))
        slip = m.velocity("wheel") + mg.cross(m.angular_velocity("wheel"), down)
        return [("x", slip[0]), ("y", slip[1])]


def wheeled(s: mg.System, ground: str = "ground") -> None:
    """A wheel and a blade on a table."""
    for name in ("wheel", "blade"):
        body = s.body(name, mass=1.0, com=(0.1, 0, 0), inertia=(0.3, 0.4, 0.5))
        s.free(name, ground, body, at=(0, 0, 0.5))


@pytest.mark.parametrize("on", ["cart", "driven"])
def test_what_speaks_of_the_world_speaks_of_the_frame(on):
    inner = mg.System("table")
    r = inner.parameter("r", 0.5)
    wheeled(inner)
    inner.add(NoSlip("rolls", r))
    inner.knife_edge("edge", "blade", across="x")
    inner.constrain("height", position=lambda m: m.position("blade")[2] - 0.5)
    inner.constrain("speed up", acceleration=lambda m: m.acceleration("wheel")[0] - r)
    inner.force("push", "blade", (1.0, 2.0, mg.sin(inner.time)))
    inner.force("drag", "wheel", lambda m: -r * m.velocity("wheel"))
    inner.body_torque("twist", "wheel", lambda m: m.axis("blade", "y"))
    outer, direct = moving("outer"), moving("direct")
    outer.place("p", inner, at=AT, orientation=TURNED, on=on)
    for name in ("factor", "r"):
        direct.parameter(name, {"factor": 0.0, "r": 0.5}[name])
    direct.marker("G", on, at=AT, orientation=TURNED)
    wheeled(direct, "G")
    p = direct.parameters

    def slip(m):
        turning = m.angular_velocity("wheel") - m.angular_velocity("G")
        down = -p["r"] * (1 + p["factor"]) * m.axis("G", "z")
        material = relative_velocity(m, "wheel", "G") + mg.cross(turning, down)
        return [mg.dot(m.axis("G", axis), material) for axis in "xy"]

    def faster(m):
        omega, arm = m.angular_velocity("G"), m.position("wheel") - m.position("G")
        a = m.acceleration("wheel") - m.acceleration("G")
        a -= mg.cross(m.angular_acceleration("G"), arm) + mg.cross(omega, mg.cross(omega, arm))
        a -= 2 * mg.cross(omega, relative_velocity(m, "wheel", "G"))
        return mg.dot(m.axis("G", "x"), a) - p["r"]

    direct.constrain("rolls", velocity=slip)
    direct.constrain(
        "edge",
        velocity=lambda m: mg.dot(m.axis("blade", "x"), relative_velocity(m, "blade", "G")),
    )
    direct.constrain("height", position=lambda m: m.position("blade", in_frame="G")[2] - 0.5)
    direct.constrain("speed up", acceleration=faster)
    t = direct.time
    direct.force("push", "blade", lambda m: m.rotation("G") @ ca.vertcat(1.0, 2.0, mg.sin(t)))
    direct.force("drag", "wheel", lambda m: -p["r"] * relative_velocity(m, "wheel", "G"))
    direct.body_torque("twist", "wheel", lambda m: m.axis("blade", "y"))
    e, o = direct.equations(), outer.equations()
    state = random_state(e, 3)
    values = {"r": 0.6, "factor": 0.2}
    found = o.accelerations(
        state.q, state.u, state.t, parameters={f"p.{name}": x for name, x in values.items()}
    )
    wanted = e.accelerations(state.q, state.u, state.t, parameters=values)
    np.testing.assert_allclose(found, wanted, rtol=1e-9, atol=1e-9)
    order = [e.constraints.index(row) for row in (r.removeprefix("p.") for r in _as(o, e))]
    lam = o.multipliers(state.q, state.u, state.t)
    np.testing.assert_allclose(lam, e.multipliers(state.q, state.u, state.t)[order], atol=1e-8)
    # the constraint forces act on the moving frame, too
    here = ("swing: reaction", state.q, state.u, state.t)
    np.testing.assert_allclose(o.observe(*here), e.observe(*here), atol=1e-8)
    assert mg.agreement(outer, states=1).ok


def _as(outer: mg.Equations, direct: mg.Equations) -> list[str]:
    """Names of rows as the direct system has them: a user's labels are numbers there."""
    labels = {"p.rolls: x": "p.rolls: 1", "p.rolls: y": "p.rolls: 2"}
    names = [labels.get(row, row) for row in outer.constraints]
    assert sorted(n.removeprefix("p.") for n in names) == sorted(direct.constraints)
    return names


# --- numbers, names, copies -----------------------------------------------------------------------


def arm(gravity: Any = (0, 0, 0)) -> mg.System:
    s = mg.System("arm", gravity=gravity)
    k, w = s.parameter("k", 3.0), s.input("w")
    rod = s.body("rod", mass=k, com=(0, 0, -0.5), inertia=(0.3, 0.3, 0.1))
    s.revolute("hinge", s.ground, rod, axis="y", stiffness=k)
    s.marker("tip", rod, at=(0, 0, -1))
    s.torque("motor", "hinge", w * mg.sin(s.time))
    s.fixed_controlled_joint("lock", s.ground, rod, lambda t, angle, rate: k * rate, axis="y")
    s.coupling("hold", {"hinge": 1.0}, constant=0.1 * s.time)
    return s


def test_numbers_of_the_outer_system_take_the_place_of_inner_ones():
    s, inner = mg.System("car"), arm()
    K, drive = s.parameter("K", 2.0), s.input("drive")
    s.place("a", inner)
    s.place("b", inner, parameters={"k": 4})
    s.place("c", inner, parameters={"k": K**2}, inputs={"w": 3 * drive})
    assert dict(s.defaults) == {"K": 2.0, "a.k": 3.0, "b.k": 4.0}
    assert list(s.inputs) == ["drive", "a.w", "b.w"]
    e, single = s.equations(), inner.equations()
    names = list(e.coordinates)
    values = {"K": 1.5, "a.k": 2.5, "b.k": 1.0}
    q, u = np.array([0.1, 0.2, 0.3]), np.array([0.4, -0.5, 0.6])
    inputs = {"drive": 0.7, "a.w": 0.8, "b.w": 0.9}
    found = e.forces(q, u, 0.5, inputs, values)
    own = {"a": (2.5, 0.8), "b": (1.0, 0.9), "c": (1.5**2, 2.1)}
    for name, (k, w) in own.items():
        at = names.index(f"{name}.hinge")
        wanted = single.forces(q[[at]], u[[at]], 0.5, {"w": w}, {"k": k})
        np.testing.assert_allclose(found[at], wanted[0], rtol=1e-13)


def test_units_inside_of_units():
    inner, axle, car = arm(), mg.System("axle"), mg.System("car")
    axle.free("beam", axle.ground, axle.body("beam", mass=2.0, inertia=(1, 1, 1)))
    axle.place("left", inner, on="beam", at=(0, 1, 0))
    axle.place("right", inner, on="beam", at=(0, -1, 0), orientation=[("z", 0.3)])
    front = car.place("front", axle)
    car.place("rear", axle, on="front.beam", at=(-2, 0, 0))
    assert front["left.rod"] is car.bodies["front.left.rod"] is front.bodies["left.rod"]
    assert front["left.hinge"] is car.joints["front.left.hinge"]
    assert "rear.right.tip" in car.markers
    assert "rear.right.motor" in car.forces
    assert front["left.ground"].body is car.bodies["front.beam"]
    assert list(car.units) == ["front", "rear"]
    assert "front" in car.describe()
    same(axle.equations(), _alone(axle), "x.", 2, 0.0)


def _alone(system: mg.System) -> mg.Equations:
    outer = mg.System("outer")
    outer.place("x", system)
    return outer.equations()


def test_the_handle_joins_what_is_inside_to_what_is_outside():
    car = mg.System("car", gravity=(0, 0, -9.81))
    front = car.place("front", arm())
    bar = car.body("bar", mass=1.0, inertia=(0.1, 0.1, 0.1))
    car.revolute("elbow", front["rod"], bar, at=(0, 0, -1))
    car.revolute("wrist", "front.tip", car.body("hand", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    car.torque("more", front["hinge"], 2 * front.symbols["k"])
    assert car.equations().coordinates[:3] == ("front.hinge", "elbow", "wrist")
    with pytest.raises(mg.ModelError, match="unknown element 'rot'; did you mean 'rod'"):
        front["rot"]


def test_a_description_with_units_is_a_value():
    def build() -> mg.System:
        s = moving("outer")
        s.place("a", observed(), on="cart", at=AT, parameters={})
        s.place("b", arm(), orientation=TURNED)
        return s

    one, other = build().snapshot(), build().snapshot()
    assert one == other
    assert hash(one) == hash(other)
    for again in (pickle.loads(pickle.dumps(one)), copy.copy(one), copy.deepcopy(one)):
        assert again == one
        assert again.units["a"] == one.units["a"]
        q = np.array(one.equations().terms.chart.reference)
        np.testing.assert_array_equal(
            again.equations().mass_matrix(q), one.equations().mass_matrix(q)
        )
        place = again.equations().observe("a.position", q)
        np.testing.assert_array_equal(place, one.equations().observe("a.position", q))
    moved = build()
    moved.place("c", arm())
    assert moved.snapshot() != one
    assert repr(moved.units["c"]) == "<Unit 'c': 'arm' on 'ground'>"
    assert repr(one.joints["b.hinge"]).startswith("Joint(name='b.hinge', parent='b.ground'")


def test_what_is_said_later_to_the_inner_system_is_not_seen():
    inner, outer = arm(), mg.System("outer")
    outer.place("a", inner)
    before = outer.snapshot()
    inner.body("more", mass=1.0, inertia=0)
    assert outer.snapshot() is before
    assert "a.more" not in outer.bodies


# --- contact --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["bouncing_ball", "falling_rod", "tippe_top", "wheelset"])
def test_contacts_and_rolling_inside_run_as_before(name):
    """Switches, points of contact, friction and impacts go by the outer names."""
    example = mg.gallery.load(name)
    inner = example.system()
    outer = mg.System("outer", gravity=inner.gravity)
    outer.place("p", inner)
    duration = min(example.duration, 0.5)
    runs = [
        system.equations().simulate(
            duration, {f"{prefix}{k}": x for k, x in example.start.items()}, step=0.05
        )
        for system, prefix in ((inner, ""), (outer, "p."))
    ]
    np.testing.assert_allclose(runs[0].q, runs[1].q, atol=1e-12)
    for name in inner.constraints:
        np.testing.assert_allclose(runs[0][name], runs[1][f"p.{name}"], atol=1e-9)


@pytest.mark.parametrize("name", ["involute_gears", "rattleback", "newtons_cradle"])
def test_systems_of_the_gallery_under_a_prefix(name):
    """Classes of their own among them."""
    inner = mg.gallery.load(name).system()
    outer = mg.System("outer", gravity=inner.gravity)
    outer.place("p", inner)
    same(inner.equations(), outer.equations(), "p.", 1, 1e-14)


# --- bad input ------------------------------------------------------------------------------------

K = mg.System("elsewhere").parameter("K", 1.0)


def foreign(s: mg.System, what: str) -> mg.System:
    """An arm with something in it that belongs elsewhere."""
    stranger = mg.System("other").body("stranger", mass=1.0, inertia=0)
    spring, joint_spring = mg.FORCES["spring_damper"], type(s.forces["hinge spring"])
    made = {
        "number": lambda: spring("s", s.bodies["rod"], s.ground, stiffness=K),
        "law": lambda: joint_spring("spring 2", "hinge", 1, stiffness=K),
        "body": lambda: spring("s", stranger, s.bodies["rod"], 1.0),
    }
    s.add(made[what]())
    return s


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no system": ({"system": 3}, "expected a System to be placed, got 3"),
    "no name": ({"name": ""}, "place needs a name"),
    "taken": ({"name": "taken"}, r"body 'taken.rod': the name is taken"),
    "twice": ({"name": "there"}, "marker 'there.ground': the name is taken"),
    "unknown parameter": ({"parameters": {"c": 1}}, "unknown parameter 'c'; Known: k"),
    "unknown input": ({"inputs": {"v": 1}}, "unknown input 'v'; Known: w"),
    "no mapping": ({"parameters": [1]}, "parameters must be a mapping of names to values"),
    "foreign number": ({"parameters": {"k": K}}, "parameter 'k' uses 'K', which is no symbol"),
    "two numbers": ({"parameters": {"k": [1, 2]}}, "parameter 'k' must be one number"),
    "no number": ({"inputs": {"w": float("nan")}}, "input 'w' must be finite"),
    "function": ({"inputs": {"w": lambda m: 1}}, "input 'w' must be a number .* got a function"),
    "negative mass": ({"parameters": {"k": -1.0}}, "mass must be positive"),
    "nowhere": ({"on": "base"}, "unknown body or marker 'base'"),
    "elsewhere": ({"on": mg.Body("b")}, "body 'b' belongs to another system"),
    "at": ({"at": (0, 1)}, "at must have 3 numbers"),
    "orientation": ({"orientation": 3}, "orientation must be a 3x3 matrix"),
    "number inside": ({"system": foreign(arm(), "number")}, "uses 'K', .* not a symbol of 'arm'"),
    "law inside": ({"system": foreign(arm(), "law")}, "'spring 2' of 'arm': uses 'K'"),
    "body inside": ({"system": foreign(arm(), "body")}, "'stranger' is not one of 'arm'"),
}


@pytest.mark.parametrize(("options", "message"), BAD.values(), ids=BAD)
def test_bad_input_is_named_and_leaves_nothing_behind(options, message):
    s = mg.System("car")
    s.body("taken.rod", mass=1.0, inertia=(1, 1, 1))
    s.free("taken", s.ground, "taken.rod")
    s.place("there", arm())
    before, names = s.snapshot(), {key: set(kinds) for key, kinds in s._names.items()}
    call = {"name": "new", "system": arm(), **options}
    with pytest.raises(mg.ModelError, match=message):
        s.place(**call)
        s.check()
    if "mass" not in message:
        assert s.snapshot() is before
        assert s._names == names


def test_a_system_is_not_placed_inside_of_itself():
    inner, outer = arm(), mg.System("outer")
    outer.place("a", inner)
    for into, placed in ((inner, inner), (inner, copy.copy(inner)), (inner, outer)):
        with pytest.raises(mg.ModelError, match="cannot be placed inside of itself"):
            into.place("x", placed)


class Switched(mg.Constraint):
    """A class whose rows a simulation would switch."""

    switched = True

    def __init__(self, name: str) -> None:
        self.name = name


def test_what_cannot_be_placed_is_named():
    s = arm()
    s.add(Switched("valve"))
    with pytest.raises(mg.ModelError, match="Switched 'valve' of 'arm': a simulation switches"):
        mg.System("car").place("a", s)


def test_errors_of_functions_inside_go_by_outer_names():
    s, car = arm(), mg.System("car")
    s.force("drag", "rod", lambda m: -m.velocity("tp"))
    car.place("a", s)
    with pytest.raises(mg.ModelError, match=r"force 'a\.drag': unknown body or marker 'tp'; did"):
        car.equations().forces([0.0], [0.0])
    s, car = arm(), mg.System("car")
    other = mg.System("other").body("other", mass=1.0, inertia=0)
    s.force("pull", "rod", lambda m: -m.position(other))
    car.place("a", s)
    with pytest.raises(mg.ModelError, match=r"force 'a\.pull': body 'other' is not one of 'arm'"):
        car.equations().forces([0.0], [0.0])


def test_another_gravity_inside_is_told():
    car = mg.System("car", gravity=(0, 0, -9.81))
    car.place("same", arm((0, 0, -9.81)), orientation=[("x", 1.0)])
    car.place("none", arm())
    car.place("turned", arm((9.81, 0, 0)), orientation=[("y", np.pi / 2)])
    with pytest.warns(
        UserWarning, match=r"place 'moon': gravity of 'arm', \(0, 0, -1.62\)"
    ) as told:
        car.place("moon", arm((0, 0, -1.62)))
    assert told[0].filename == __file__
    by_name = arm()
    by_name.gravity = (0, 0, -by_name.parameter("g", 9.81))
    with pytest.warns(UserWarning, match="does not count"):
        car.place("named", by_name)
    g = car.parameter("g", 9.81)
    car.gravity = (0, 0, -g)
    car.place("linked", by_name, parameters={"g": g})


# --- nothing gets lost ----------------------------------------------------------------------------


def test_a_unit_answers_all_that_a_motion_and_an_element_are_asked():
    """What is added to these must be added to the views of units, or it would be lost there."""
    public = {name for name in dir(mg.Motion) if not name.startswith("_")}
    assert public <= set(dir(Within))
    own = {*vars(PlacedConstraint), *vars(PlacedElement)}
    inherited = {"kind", "word", "called", "limits", "passive", "switched", "parts"}  # kept or none
    inherited |= {"drawn_as", "spans", "counts_turns", "sticks", "is_servo", "is_passable"}
    inherited |= {"measures", "idle", "joint_option", "field", "with_places", "name"}
    through_rows = {"position", "velocity", "acceleration"}
    asked = {name for name in dir(mg.Constraint) if not name.startswith("_")}
    assert asked <= own | inherited | through_rows


class Gauge(mg.Constraint):
    """No row, but an answer to everything that elements are asked."""

    measures = {"height": "m"}  # noqa: RUF012
    is_servo = True

    def __init__(self, name: str, at: mg.Marker, k: Any) -> None:
        self.name, self.at, self.k = name, at, k

    def height(self, m):
        return self.k * m.position(self.at)[2]

    def surfaces(self):
        return [mg.Sphere(self.at, self.k)]

    def pins(self):
        return [(self.at, ca.SX([0, 1, 0]))]

    def force_axis(self, m):
        return m.axis(self.at, "z")

    def row_unit(self, unit):
        return unit("hinge")

    def coordinate_ends(self):
        return "hinge", {"low": -self.k}

    def joint_properties(self):
        return "hinge", {"limits": [-self.k, None]}

    def coupled(self):
        return {"hinge": self.k}, ca.SX(1)


def test_an_element_of_ones_own_answers_from_inside_of_a_unit():
    inner = arm()
    inner.add(Gauge("gauge", inner.markers["tip"], inner.parameters["k"]))
    outer = mg.System("outer")
    k = outer.parameter("outer k", 3.0)
    outer.place("u", inner, at=AT, orientation=TURNED, parameters={"k": k})
    own = outer.constraints["u.gauge"]
    e, o = inner.equations(), outer.equations()
    assert e.observe("gauge: height", [0.3])[0] == pytest.approx(-3 * np.cos(0.3))
    assert o.observe("u.gauge: height", [0.3])[0] == pytest.approx(-3 * np.cos(0.3))
    assert own.is_servo
    assert own.row_unit({"u.hinge": "rad"}.get) == "rad"
    (surface,), ((place, axis),) = own.surfaces(), own.pins()
    assert surface.marker == place == outer.markers["u.tip"]
    assert ca.is_equal(surface.radius, k)
    assert np.array_equal(np.array(ca.DM(axis)).ravel(), [0, 1, 0])
    assert ca.is_equal(own.coordinate_ends()[1]["low"], -k, 2)
    assert own.coordinate_ends()[0] == own.joint_properties()[0] == "u.hinge"
    assert own.joint_properties()[1]["limits"][1] is None
    assert list(own.coupled()[0]) == ["u.hinge"]
    np.testing.assert_allclose(
        o.observe(lambda m: own.force_axis(m) - m.axis("u.tip", "z"), [0.3]), 0, atol=1e-15
    )


def test_what_a_unit_cannot_have_is_refused():
    @dataclass(frozen=True, eq=False, repr=False)
    class More(mg.Description):
        novelty: tuple[int, ...] = ()

    inner = arm().snapshot()
    known = {f.name: getattr(inner, f.name) for f in fields(inner) if f.init}
    mg.System("car").place("a", More(**known))
    with pytest.raises(mg.ModelError, match="'arm' has novelty, which a unit cannot have yet"):
        mg.System("car").place("a", More(**known, novelty=(1,)))
