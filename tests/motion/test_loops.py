"""Closed loops: every joint type as the one that closes, every closure, every formalism, every
choice of the cut.

Random loops close exactly at a known configuration (``random_loop``). Reactions are held against
Newton's and Euler's equations of every single body, written here from positions, velocities and
accelerations alone.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import casadi as ca
import numpy as np
import pytest

import mechgraph as mg
from measure import IN_JOINT_COORDINATES, IN_SPACE, absolute_gaps, acceleration_gap, gap, placed
from mechgraph.model.description import Description
from mechgraph.model.forces import BodyTorque, PointForce, SpringDamper
from random_systems import JOINT_NAMES, Loop, State, random_loop, random_state

SEEDS = range(3)
EVERY = [(kind, seed) for kind in JOINT_NAMES for seed in SEEDS]


@cache
def loop(kind: str, seed: int, **options: int) -> tuple[Loop, mg.Equations, State]:
    """A loop, its equations and a state that satisfies its constraints."""
    made = random_loop(seed, kind, **options)
    equations = made.system.equations("newton-euler")
    return made, equations, consistent(made, equations, seed)


def consistent(made: Loop, equations: mg.Equations, seed: int) -> State:
    """The configuration of the loop, with speeds (the nearest to random ones) that keep it
    closed."""
    state = random_state(equations, seed)
    q, place = made.q(equations), {"t": made.t, "parameters": state.parameters}
    A = equations.constraint_jacobian(q, None, **place)
    u = state.u - np.linalg.pinv(A, rcond=1e-9) @ equations.velocity_violation(q, state.u, **place)
    return State(q, u, made.t, state.inputs, state.parameters)


def reactions(equations: mg.Equations, state: State) -> dict[str, np.ndarray]:
    return {
        name: equations.reaction(name, state.q, state.u, **state.at)
        for name in equations.system.joints
    }


# --- closures and formalisms ----------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "seed"), EVERY)
def test_the_configuration_closes_and_the_speeds_keep_it(kind, seed):
    made, equations, state = loop(kind, seed)
    assert [joint.name for joint in equations.terms.chart.topology.cut] == ["close 0"]
    assert np.abs(equations.position_violation(state.q, **state.place)).max(initial=0) < 1e-13, str(
        made
    )
    assert (
        np.abs(equations.velocity_violation(state.q, state.u, **state.place)).max(initial=0) < 1e-12
    ), str(made)
    assert np.linalg.norm(state.u) > 1e-3


@pytest.mark.parametrize(("kind", "seed"), EVERY)
def test_closures_and_formalisms_give_the_same_accelerations_and_multipliers(kind, seed):
    made, equations, state = loop(kind, seed)
    M = equations.mass_matrix(state.q, **state.place)
    udot, multipliers = equations.solve(state.q, state.u, **state.at)
    for formalism in IN_JOINT_COORDINATES:
        other = made.system.equations(formalism)
        for closure in mg.CLOSURES.values() if other.constraints else ():
            there, forces = closure.solve(*terms(other, state))
            assert acceleration_gap(M, udot, there, state.u) < 1e-9, f"{formalism}\n{made}"
            assert gap(multipliers, forces) < 1e-9, f"{formalism}\n{made}"


def terms(equations: mg.Equations, state: State) -> tuple[np.ndarray, ...]:
    """M, f, A and b at a state."""
    s = equations.terms.symbols
    function = ca.Function(
        "MfAb",
        [s.q, s.u, s.t, s.w, s.p],
        [equations.terms.M, equations.terms.f, equations.terms.A, equations.terms.b],
    )
    M, f, A, b = (
        np.array(x)
        for x in function(state.q, state.u, state.t, state.inputs, list(state.parameters.values()))
    )
    return M, f.ravel(), A, b.ravel()


@pytest.mark.sampled(3)
@pytest.mark.parametrize("closure", mg.CLOSURES)
@pytest.mark.parametrize(("kind", "seed"), EVERY[::2])
def test_the_expression_of_a_closure_is_its_solution(kind, seed, closure):
    """What integrators are given: no branches, proximal steps in the place of a rank decision."""
    made, equations, state = loop(kind, seed)
    other = mg.Equations(equations.terms, closure)
    s = other.terms.symbols
    expression = ca.Function("udot", [s.q, s.u, s.t, s.w, s.p], [other.numeric.closed.udot])
    there = np.array(
        expression(state.q, state.u, state.t, state.inputs, list(state.parameters.values()))
    ).ravel()
    udot = equations.accelerations(state.q, state.u, **state.at)
    assert (
        acceleration_gap(equations.mass_matrix(state.q, **state.place), udot, there, state.u) < 1e-9
    ), str(made)


# --- reactions ------------------------------------------------------------------------------------


def imbalance(equations: mg.Equations, state: State) -> dict[str, float]:
    """How far each body is from m a = ΣF and I α + ω × I ω = ΣM about its mass centre, relative to
    the largest term."""
    left = {}
    through = reactions(equations, state)
    for name, body in equations.system.bodies.items():
        R = equations.rotation(name, state.q, **state.place)
        com, mass, inertia = (
            parameter_value(equations, state, x) for x in (body.com, body.mass, body.inertia)
        )
        centre = mg.Marker("centre", body, ca.SX(ca.DM(com)), ca.SX.eye(3))
        seen = observe(
            equations,
            state,
            lambda m, at=centre: ca.vertcat(*(getattr(m, what)(at) for what in MOTION)),
        )
        position, acceleration, omega, alpha = np.split(seen, 4)
        world_inertia = R @ inertia @ R.T
        needed = np.concatenate(
            [
                mass.item() * acceleration,
                world_inertia @ alpha + np.cross(omega, world_inertia @ omega),
            ]
        )
        terms = [needed, -np.concatenate([mass.item() * gravity(equations), np.zeros(3)])]
        terms += [-wrench for wrench in joint_wrenches(equations, state, name, position, through)]
        terms += [-wrench for wrench in applied_wrenches(equations, state, name, position)]
        left[name] = float(
            np.linalg.norm(sum(terms)) / max(1.0, *(np.linalg.norm(term) for term in terms))
        )
    return left


MOTION = ("position", "acceleration", "angular_velocity", "angular_acceleration")


def observe(equations, state, quantity):
    return equations.observe(quantity, state.q, state.u, **state.at)


def parameter_value(equations, state, expression):
    return np.array(
        ca.Function("x", [equations.terms.symbols.p], [ca.densify(expression)])(
            list(state.parameters.values())
        )
    )


def gravity(equations):
    return np.array(ca.DM(equations.system.gravity)).ravel()


def joint_wrenches(equations, state, body, centre, through):
    """(force, moment about the mass centre) that the joints of a body exert on it."""
    for name, joint in equations.system.joints.items():
        sign = {joint.child.body.name: 1, joint.parent.body.name: -1}.get(body, 0)
        if sign:
            force, moment = np.split(sign * through[name], 2)
            at = equations.position(joint.child, state.q, **state.place)
            yield np.concatenate([force, moment + np.cross(at - centre, force)])


def applied_wrenches(equations, state, body, centre):
    """(force, moment about the mass centre) of the springs and forces on a body, by their
    definitions."""
    for element in equations.system.forces.values():
        if isinstance(element, SpringDamper):
            for end, other in ((element.a, element.b), (element.b, element.a)):
                if end.body.name == body:
                    force = spring_force(equations, state, element, end, other)
                    at = equations.position(end, state.q, **state.place)
                    yield np.concatenate([force, np.cross(at - centre, force)])
        elif isinstance(element, PointForce) and element.at.body.name == body:
            value = observe(
                equations,
                state,
                element.value if callable(element.value) else lambda m, e=element: e.value,
            )
            value = (
                equations.rotation(element.at, state.q, **state.place) @ value
                if element.frame == "body"
                else value
            )
            at = equations.position(element.at, state.q, **state.place)
            turning = isinstance(element, BodyTorque)
            yield np.concatenate(
                [0 * value, value] if turning else [value, np.cross(at - centre, value)]
            )
        elif not isinstance(element, (SpringDamper, PointForce)):
            yield from stated_wrenches(equations, state, element, body, centre)


def stated_wrenches(equations, state, element, body, centre):
    """Those of machine elements, as they state them."""

    def told(m):
        actions = [*element.conservative(m), *element.nonconservative(m)]
        wrenches = [a for a in actions if isinstance(a, mg.Wrench) and a.marker.body.name == body]
        parts = [ca.vertcat(m.position(a.marker), a.force, a.torque) for a in wrenches]
        return ca.vertcat(ca.SX(0, 1), *parts)

    for at, force, torque in observe(equations, state, told).reshape(-1, 3, 3):
        yield np.concatenate([force, torque + np.cross(at - centre, force)])


def spring_force(equations, state, spring, end, other):
    k, c, length = (float(x) for x in (spring.stiffness, spring.damping, spring.length))
    line = equations.position(other, state.q, **state.place) - equations.position(
        end, state.q, **state.place
    )
    rate = observe(equations, state, lambda m: m.velocity(other) - m.velocity(end))
    distance = np.linalg.norm(line)
    return (k * (distance - length) + c * rate @ line / distance) * line / distance


@pytest.mark.parametrize(("kind", "seed"), EVERY)
def test_reactions_balance_every_body(kind, seed):
    """With the closures in turn: their multipliers are the same, as shown above."""
    made, equations, state = loop(kind, seed)
    closure = list(mg.CLOSURES)[seed % len(mg.CLOSURES)]
    other = mg.Equations(equations.terms, closure)
    for body, left in imbalance(other, state).items():
        assert left < 1e-9, f"{body}\n{made}"


@pytest.mark.parametrize("formalism", IN_SPACE)
def test_reactions_do_not_depend_on_the_formalism(formalism):
    made, equations, state = loop("universal", 1)
    other = made.system.equations(formalism)
    q, u = placed(other, state.q, state.u, state.t, state.parameters)
    there, here = reactions(other, replace(state, q=q, u=u)), reactions(equations, state)
    for joint, wrench in here.items():
        assert gap(wrench, there[joint]) < 1e-9, joint


@pytest.mark.parametrize(("kind", "seed"), EVERY)
def test_power_is_the_rate_of_energy(kind, seed):
    """d(T+V)/dt along the motion, by exact differentiation, is the power of forces, drives and
    constraints."""
    made, equations, state = loop(kind, seed)
    s = equations.terms.symbols
    udot = equations.solve(state.q, state.u, **state.at)[0]
    rates = [
        ca.jtimes(energy, s.q, equations.terms.chart.qdot)
        + ca.jtimes(energy, s.u, s.udot)
        + ca.jtimes(energy, s.t, ca.SX(1))
        for energy in (equations.terms.kinetic, equations.terms.potential)
    ]
    numbers = (state.q, state.u, state.t, state.inputs, list(state.parameters.values()), udot)
    kinetic, potential = (
        float(x) for x in ca.Function("rates", [s.q, s.u, s.t, s.w, s.p, s.udot], rates)(*numbers)
    )
    rows = (np.array([state.t]), state.q[None], state.u[None], state.inputs[None])
    run = mg.Trajectory("moment", *rows, state.parameters, {}, equations=equations)
    power = run.power[0]
    size = (
        abs(kinetic)
        + abs(potential)
        + abs(power)
        + equations.kinetic_energy(state.q, state.u, **state.place)
    )
    assert abs(kinetic + potential - power) < 1e-9 * size, str(made)


def test_a_servo_in_a_cut_joint_acts_through_it():
    """The drive of a cut joint passes its effort through that joint, as it does when another joint
    is cut."""
    passed = []
    for cut in ("A", "D"):
        s = fourbar(*("revolute",) * 3, "revolute", cut=cut)
        s.servo("drive", "A", -1.0 + 2.0 * s.time)
        equations = s.equations()
        q, u = equations.assemble({}, guess={"B": 0.3, "C": -1.5, "A": -1.0, "D": 1.0})
        state = State(q, u, 0.0, np.zeros(0), {})
        assert max(imbalance(equations, state).values()) < 1e-9
        passed.append(equations.reaction("A", q, u)[[0, 2, 4]])
    assert gap(*passed) < 1e-9


# --- the choice of the cut ------------------------------------------------------------------------


def recut(made: Loop, chosen: str) -> Description:
    """The same system with another joint cut."""
    joints = {
        name: mg.Joint(name, joint.parent, joint.child, joint.kind, cut=name == chosen or None)
        for name, joint in made.system.joints.items()
    }
    return replace(made.system.snapshot(), joints=joints)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", JOINT_NAMES)
def test_the_choice_of_the_cut_does_not_matter(kind):
    """Accelerations of all bodies and reactions of all joints are the same whichever joint of the
    loop is cut."""
    made, equations, state = loop(kind, 1)
    redundant = equations.redundant(state.q, t=state.t)
    seen = body_accelerations(equations, state)
    through = reactions(equations, state)
    for chosen in equations.terms.chart.topology.loops[0][1:]:
        if not made.system.joints[chosen].speeds:
            continue
        other = recut(made, chosen).equations("newton-euler")
        assert chosen in [joint.name for joint in other.terms.chart.topology.cut]
        there = same_state(made, equations, state, other)
        assert (
            np.abs(other.velocity_violation(there.q, there.u, **there.place)).max(initial=0) < 1e-9
        )
        for body, value in body_accelerations(other, there).items():
            assert gap(seen[body], value, floor=1.0) < 1e-9, f"{chosen} {body}\n{made}"
        for joint, wrench in reactions(other, there).items() if not redundant else ():
            assert gap(through[joint], wrench, floor=1.0) < 1e-9, f"{chosen} {joint}\n{made}"


def same_state(made: Loop, equations: mg.Equations, state: State, other: mg.Equations) -> State:
    """The same physical state in the variables of another cut."""
    speeds = {
        name: value
        for joint in made.system.joints.values()
        for name, value in speeds_of(equations, state, joint).items()
    }
    q, u = made.q(other), np.array([speeds[name] for name in other.speeds])
    return State(q, u, state.t, state.inputs, state.parameters)


def speeds_of(equations: mg.Equations, state: State, joint: mg.Joint) -> dict[str, float]:
    """Speeds of any joint, cut or not."""
    values = observe(equations, state, lambda m: m.speed(joint.name)) if joint.speeds else []
    return dict(zip(joint.speeds, values, strict=True))


def relative_speeds(equations: mg.Equations, state: State, joint: mg.Joint) -> np.ndarray:
    """Speeds of a spherical or free joint from the motion of its two frames: ṙ in the parent's
    axes, ω in the child's."""
    p, c = joint.parent, joint.child
    R_p, R_c = (equations.rotation(x, state.q, **state.place) for x in (p, c))
    r = equations.position(c, state.q, **state.place) - equations.position(
        p, state.q, **state.place
    )
    v, turning, omega = (
        observe(equations, state, quantity)
        for quantity in (
            lambda m: m.velocity(c) - m.velocity(p),
            lambda m: m.angular_velocity(p),
            lambda m: m.angular_velocity(c) - m.angular_velocity(p),
        )
    )
    return np.concatenate([R_p.T @ (v - np.cross(turning, r)), R_c.T @ omega])[-len(joint.speeds) :]


def body_accelerations(equations: mg.Equations, state: State) -> dict[str, np.ndarray]:
    return {
        name: observe(
            equations,
            state,
            lambda m, n=name: ca.vertcat(m.acceleration(n), m.angular_acceleration(n)),
        )
        for name in equations.system.bodies
    }


@pytest.mark.parametrize(("kind", "seed"), EVERY)
def test_a_cut_joint_measures_its_coordinates_and_speeds(kind, seed):
    made, equations, state = loop(kind, seed)
    joint = made.system.joints["close 0"]
    if not joint.coordinates:
        return
    measured = observe(equations, state, lambda m: m.coordinate("close 0"))
    expected = np.array([made.configuration[name] for name in joint.coordinates])
    assert gap(expected, measured, floor=1.0) < 1e-12, str(made)
    rate = observe(equations, state, lambda m: m.speed("close 0"))
    if len(joint.speeds) < len(joint.coordinates):
        assert gap(relative_speeds(equations, state, joint), rate, floor=1.0) < 1e-12
    else:
        step, rates = 1e-6, equations.coordinate_rates(state.q, state.u)
        later, earlier = (
            equations.observe(
                lambda m: m.coordinate("close 0"), state.q + h * rates, state.u, state.t + h
            )
            for h in (step, -step)
        )
        # limited by the finite difference
        assert gap(rate, (later - earlier) / (2 * step), floor=1.0) < 1e-8


@pytest.mark.parametrize("kind", JOINT_NAMES)
def test_absolute_coordinates_give_the_same_accelerations_and_reactions(kind):
    """Where every joint is cut."""
    made, equations, state = loop(kind, 2)
    for name, distance in absolute_gaps(equations, state).items():
        assert distance < 1e-9, f"{name}\n{made}"


# --- more than one loop ---------------------------------------------------------------------------


@pytest.mark.parametrize("seed", SEEDS[:2])
@pytest.mark.parametrize("kind", ["spherical", "planar", "universal", "cylindrical", "chain"])
def test_two_loops_that_share_bodies(kind, seed):
    made, equations, state = loop(kind, seed, closings=2)
    assert len(equations.terms.chart.topology.cut) == 2
    udot, multipliers = equations.solve(state.q, state.u, **state.at)
    known = terms(equations, state)
    for closure in mg.CLOSURES.values():
        there, forces = closure.solve(*known)
        assert acceleration_gap(known[0], udot, there, state.u) < 1e-9, str(made)
        assert gap(multipliers, forces) < 1e-9, str(made)
    for body, left in imbalance(equations, state).items():
        assert left < 1e-9, f"{body}\n{made}"


# --- known linkages -------------------------------------------------------------------------------


def fourbar(*kinds: str, cut: str = "D") -> mg.System:
    """Crank, coupler and rocker in the plane y = 0, on joints of the kinds given, with a motor on
    the crank."""
    s = mg.System("four-bar", gravity=(0, 0, -9.81))
    crank, coupler, rocker = (
        s.body(
            name,
            mass=m,
            com=(length / 2, 0, 0),
            inertia=(0.01, m * length**2 / 12, m * length**2 / 12),
        )
        for name, m, length in (("crank", 1.0, 1.0), ("coupler", 2.0, 2.5), ("rocker", 1.5, 2.0))
    )
    ends = [
        (s.ground, crank, 0, 0),
        (crank, coupler, 1.0, 0),
        (s.ground, rocker, 2.0, 0),
        (rocker, coupler, 2.0, 2.5),
    ]
    for name, kind, (parent, child, at, child_at) in zip("ABCD", kinds, ends, strict=True):
        axis = {} if kind == "spherical" else {"axis": "y"}
        getattr(s, kind)(
            name,
            parent,
            child,
            at=(at, 0, 0),
            child_at=(child_at, 0, 0),
            **axis,
            cut=name == cut or None,
        )
    s.torque("motor", "A", 3.0)
    return s


START = {"A": -1.0, "A'": 2.0}
ELBOW = {"B": 0.3, "C": -1.5}


@pytest.mark.parametrize("closure", mg.CLOSURES)
def test_a_planar_fourbar_of_spatial_revolutes_has_three_redundant_rows(closure):
    """Its motion and its forces in the plane are those of the same linkage on joints that leave
    nothing redundant."""
    spatial = fourbar("revolute", "revolute", "revolute", "revolute").equations(
        "newton-euler", closure
    )
    q, u = spatial.assemble(START, guess=ELBOW)
    assert spatial.redundant(q) == ["D: position y", "D: tilt 1", "D: tilt 2"]
    assert spatial.mobility(q) == 1
    plain = fourbar("revolute", "revolute", "cylindrical", "spherical").equations(
        "newton-euler", closure
    )
    there = plain.assemble(
        {**dict(zip(spatial.coordinates[:2], q, strict=False)), "C.angle": q[2], "A'": 2.0}
    )
    assert plain.redundant(there[0]) == []
    assert plain.mobility(there[0]) == 1
    for body in spatial.system.bodies:
        quantity = body_motion(body)
        assert gap(spatial.observe(quantity, q, u), plain.observe(quantity, *there)) < 1e-9
    for joint in "ABCD":
        force, other = spatial.reaction(joint, q, u), plain.reaction(joint, *there)
        assert gap(force[[0, 2]], other[[0, 2]]) < 1e-9
    # what passes about the pin's axis is the motor's torque
    assert abs(spatial.reaction("A", q, u)[4] - 3.0) < 1e-10


def body_motion(body: str):
    return lambda m: ca.vertcat(*(getattr(m, what)(body) for what in MOTION))


def test_a_spatial_rssr_linkage():
    """Crank and rocker on skew axes, a rod on two balls between: one freedom, and the rod's idle
    spin beside it."""
    s = mg.System("RSSR", gravity=(0, 0, -9.81))
    crank = s.body("crank", mass=1.0, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))
    rod = s.body("rod", mass=0.5, com=(0.6, 0, 0), inertia=(0.001, 0.05, 0.05))
    rocker = s.body("rocker", mass=2.0, com=(0, 0.4, 0), inertia=(0.1, 0.02, 0.1))
    s.revolute("crank pin", s.ground, crank, axis="z")
    s.spherical("ball 1", crank, rod, at=(0.4, 0, 0))
    s.revolute("rocker pin", s.ground, rocker, axis="x", at=(0.9, 0.3, 0.4))
    s.spherical("ball 2", rocker, rod, at=(0, 0.8, 0), child_at=(1.2, 0, 0))
    for closure in mg.CLOSURES:
        equations = s.equations("kane", closure)
        q, u = equations.assemble({"crank pin": 0.4, "crank pin'": 5.0})
        assert equations.mobility(q) == 2
        assert equations.redundant(q) == []
        state = State(q, u, 0.0, np.zeros(0), {})
        assert max(imbalance(equations, state).values()) < 1e-9


def test_a_loop_between_ground_and_ground_is_a_body_held_twice():
    """A door on two hinges: five rows of the second are redundant, and the two carry it
    together."""
    s = mg.System("door", gravity=(0, 0, -9.81))
    door = s.body("door", mass=20, com=(0.4, 0, 0), inertia=(1, 2, 3))
    s.revolute("lower", s.ground, door, at=(0, 0, -1), child_at=(0, 0, -1))
    s.revolute("upper", s.ground, door, at=(0, 0, 1), child_at=(0, 0, 1))
    equations = s.equations()
    assert equations.mobility([0.3]) == 1
    assert len(equations.redundant([0.3])) == 5
    state = State(np.array([0.3]), np.array([1.5]), 0.0, np.zeros(0), {})
    assert max(imbalance(equations, state).values()) < 1e-12
    total = equations.reaction("lower", state.q, state.u) + equations.reaction(
        "upper", state.q, state.u
    )
    assert abs(total[2] - 20 * 9.81) < 1e-9


@pytest.mark.parametrize("formalism", IN_JOINT_COORDINATES)
@pytest.mark.parametrize("closure", mg.CLOSURES)
def test_a_door_on_two_hinges_moves(formalism, closure):
    """About one slanted axis: all rows of the second hinge hold for every angle, and what is left
    of them by rounding is no constraint."""
    axis = np.array([0.36, 0.48, 0.8])

    def door(second: bool) -> mg.System:
        s = mg.System("door", gravity=(0, -9.81, 0))
        leaf = s.body("leaf", mass=20.0, com=(0.5, 0.2, 0.1), inertia=(2.0, 3.0, 4.0))
        s.revolute("lower", s.ground, leaf, axis=axis)
        if second:
            place = {"at": 1.5 * axis, "child_at": 1.5 * axis}
            s.revolute("upper", s.ground, leaf, axis=axis, **place)
        return s

    alone, both = door(False).equations(formalism), door(True).equations(formalism, closure)
    for angle in (0.0, 0.3, 2.0):
        expected = alone.accelerations([angle], [1.0])
        assert np.allclose(both.accelerations([angle], [1.0]), expected, rtol=1e-12)
        assert np.allclose(both.solve([angle], [1.0])[0], expected, rtol=1e-12)
        assert both.mobility([angle]) == 1
    run = both.simulate(1.0, {"lower": 0.3}, step=0.1, rtol=1e-10)
    assert np.allclose(
        run["lower"], alone.simulate(1.0, {"lower": 0.3}, step=0.1, rtol=1e-10)["lower"]
    )


@pytest.mark.parametrize("length", [150.0, 1500.0, 1e5])
@pytest.mark.parametrize("formalism", ["newton-euler", "lagrange", "absolute"])
def test_a_door_moves_however_far_its_hinges_are_apart(formalism, length):
    """What rounding leaves of lengths that cancel is small beside the lengths, not beside one; axes
    with small components leave more of it."""
    for axis in (np.ones(3), np.array([0.02, -0.6, 0.5]), np.array([-0.003, 0.001, -0.7])):
        axis = axis / np.linalg.norm(axis)
        s = mg.System("door", gravity=(0, 1, -9.81))
        leaf = s.body("leaf", mass=1.0, com=(0.5, 0.1, 0.2), inertia=(0.1, 0.2, 0.15))
        s.revolute("lower", s.ground, leaf, axis=axis)
        alone = s.equations().accelerations([0.0], [0.0])[0]
        s.revolute("upper", s.ground, leaf, axis=axis, at=length * axis, child_at=length * axis)
        equations = s.equations(formalism)
        q, u = equations.assemble({})
        udot = equations.accelerations(q, u)
        assert equations.mobility(q) == 1
        assert abs(equations.observe("lower", q, u)[0]) < 1e-12
        assert abs(equations.observe("lower''", q, u)[0] / alone - 1) < 1e-9, (axis, udot)


def test_a_velocity_on_an_axis_far_away_is_none():
    """A point of a hinge's own axis does not move, and to hold it holds nothing."""
    axis = np.array([0.36, 0.48, 0.8])
    s = mg.System("held", gravity=(0, -9.81, 0))
    leaf = s.body("leaf", mass=20.0, com=(0.5, 0.2, 0.1), inertia=(2.0, 3.0, 4.0))
    s.revolute("hinge", s.ground, leaf, axis=axis)
    s.marker("far", leaf, at=700 * axis)
    expected = s.equations().accelerations([0.3], [1.0])
    s.constrain("held", velocity=lambda m: m.velocity("far")[0])
    assert np.allclose(s.equations().accelerations([0.3], [1.0]), expected, rtol=1e-12)


def test_rows_that_hold_by_themselves_are_told_from_small_ones():
    """A coupling in millionths is a constraint; one between a coordinate and itself is none."""
    s = mg.System("small")
    a, b = (s.body(name, mass=1.0, inertia=(1, 1, 1)) for name in "ab")
    s.revolute("j", s.ground, a)
    s.revolute("k", s.ground, b)
    s.coupling("small", {"j": 1e-9, "k": -2e-9})
    s.constrain("itself", position=lambda m: (m.coordinate("j") + 0.1) - m.coordinate("j") - 0.1)
    equations = s.equations()
    assert equations.mobility([0.2, 0.1]) == 1
    assert equations.redundant([0.2, 0.1]) == ["itself"]


@pytest.mark.parametrize("function", [mg.tanh, mg.erf, mg.asinh])
def test_rows_that_hold_by_themselves_are_found_whatever_functions_there_are(function):
    """Beside a small constraint with a function of any kind the second hinge of a door is none."""
    axis = np.array([0.36, 0.48, 0.8])
    s = mg.System("door and gear")
    leaf, wheel = (s.body(name, mass=1.0, inertia=(1, 1, 1)) for name in ("leaf", "wheel"))
    s.revolute("lower", s.ground, leaf, axis=axis)
    s.revolute("upper", s.ground, leaf, axis=axis, at=1.5 * axis, child_at=1.5 * axis)
    s.revolute("axle", s.ground, wheel)
    s.constrain(
        "gear", position=lambda m: 1e-8 * (m.coordinate("axle") - function(m.coordinate("lower")))
    )
    assert s.equations().mobility([0.3, 0.2]) == 1


def test_a_long_ring_of_hinges_is_closed():
    """Sixty-four of them about axes of any direction: six less than that are free."""
    count, random = 64, np.random.default_rng(0)
    s = mg.System("ring")
    bodies = [s.body(f"b{k}", mass=1.0, inertia=(0.1, 0.1, 0.1)) for k in range(1, count)]
    angles = 2 * np.pi / count * np.arange(count)
    places = np.stack([10 * np.cos(angles), 10 * np.sin(angles), random.normal(size=count)], axis=1)
    axes = random.normal(size=(count, 3))
    ends = zip([s.ground, *bodies], [*bodies, s.ground], strict=True)
    for k, (parent, child) in enumerate(ends):
        axis = axes[k] / np.linalg.norm(axes[k])
        s.revolute(f"j{k}", parent, child, axis=axis, at=places[k], child_at=places[k])
    eqs = s.equations()
    assert eqs.mobility(np.zeros(count - 1)) == count - 6
    assert not eqs.redundant(np.zeros(count - 1))


def test_two_small_loops_are_closed_in_points():
    """About parallel slanted axes: one freedom is left."""
    size = 1e-3
    along, across = np.array([0.0, size, 0]), size * np.array([0.8, 0, -0.6])
    s = mg.System("Stephenson's linkage")
    com, inertia = (0.5 * size, 0.1 * size, 0), np.full(3, size**2 / 12)
    a, b, c, d, e = (s.body(name, mass=1.0, com=com, inertia=inertia) for name in "abcde")
    joints = (
        ("A", s.ground, a, (0, 0), (0, 0)),
        ("B", a, b, (1, 0.3), (0, 0)),
        ("C", s.ground, c, (0, 2), (0, 0)),
        ("D", b, c, (0.5, 1.5), (1.5, -0.2)),
        ("E", b, d, (1, 0.5), (0, 0)),
        ("F", c, e, (1, 0.5), (0, 0)),
        ("G", d, e, (0.5, 0.5), (1, -0.5)),
    )
    for name, parent, child, here, there in joints:
        at, child_at = (x * along + y * across for x, y in (here, there))
        s.revolute(name, parent, child, axis=(0.6, 0, 0.8), at=at, child_at=child_at)
    eqs = s.equations("points")
    assert eqs.mobility(eqs.assemble()[0]) == 1
