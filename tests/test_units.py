"""A system placed inside of another is the same system: under other names, at another place, on a
body that moves, with other numbers."""

from __future__ import annotations

import copy
import re
from typing import Any

import casadi as ca
import numpy as np
import pytest

import mechgraph as mg
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
    for formalism in JOINT_COORDINATES if seed < 6 else JOINT_COORDINATES[:1]:
        same(inner.equations(formalism), outer.equations(formalism), "p.", seed, 0.0)
    if seed < 3:
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
    if seed < 3:
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
