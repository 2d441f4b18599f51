"""Constraints beyond joints, each against the same thing modelled another way, in every closure."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import mechgraph as mg
from measure import IN_SPACE, gap, placed

G = 9.81
CLOSURES = pytest.mark.parametrize("closure", mg.CLOSURES)
FORMALISMS = pytest.mark.parametrize("formalism", IN_SPACE)


def motion_of(body: str):
    return lambda m: ca.vertcat(
        m.position(body), m.velocity(body), m.acceleration(body), m.angular_acceleration(body)
    )


def multiplier(equations: mg.Equations, name: str, *state, **place) -> float:
    """The multiplier of one row; in absolute coordinates the joints have rows, too."""
    return equations.multipliers(*state, **place)[equations.constraints.index(name)]


# --- every constraint has a twin ------------------------------------------------------------------


def stone(s: mg.System) -> mg.Body:
    return s.body("stone", mass=2.0, com=(0.1, 0.05, -0.2), inertia=(0.1, 0.2, 0.15))


@pytest.mark.sampled(3)
@FORMALISMS
@CLOSURES
@pytest.mark.parametrize("driven", [False, True])
def test_a_distance_is_a_massless_rod(closure, formalism, driven):
    """A body on a rod: a distance on the one hand, a massless rod on a universal and a ball on the
    other; also a winch."""

    def length(s):
        return 1.2 + (0.2 * mg.sin(3 * s.time) if driven else 0)

    roped, jointed = mg.System("rope", gravity=(0, 0, -G)), mg.System("rod", gravity=(0, 0, -G))
    roped.free("loose", roped.ground, stone(roped))
    hook = roped.marker("hook", "stone", (0, 0, 0.3))
    roped.distance("rope", roped.ground, hook, length(roped))
    rod = jointed.frame("rod")
    jointed.joint(
        "pivot",
        jointed.ground,
        rod,
        [mg.rot("x", "a"), mg.rot("y", "b"), mg.move("-z", length(jointed))],
    )
    jointed.spherical("ball", rod, stone(jointed), child_at=(0, 0, 0.3))

    q = {
        "pivot.a": 0.3,
        "pivot.b": -0.4,
        "ball.q0": 0.8,
        "ball.q1": 0.0,
        "ball.q2": 0.6,
        "ball.q3": 0.0,
    }
    u = {"pivot.a'": 1.0, "pivot.b'": -0.5, "ball.wx": 0.3, "ball.wy": 0.7, "ball.wz": -2.0}
    other = jointed.equations("newton-euler")
    R, r, v, omega = (
        other.rotation("stone", q, t=0.2),
        other.position("stone", q, t=0.2),
        other.observe(lambda m: m.velocity("stone"), q, u, t=0.2),
        other.observe(lambda m: m.angular_velocity("stone", in_frame="stone"), q, u, t=0.2),
    )
    equations = roped.equations(formalism, closure)
    state = placed(equations, np.concatenate([r, quaternion(R)]), np.concatenate([v, omega]), t=0.2)
    assert np.abs(equations.position_violation(state[0], t=0.2)).max() < 1e-14
    assert np.abs(equations.velocity_violation(*state, t=0.2)).max() < 1e-14
    seen, there = (
        e.observe(motion_of("stone"), *s, t=0.2) for e, s in ((equations, state), (other, (q, u)))
    )
    assert gap(there, seen) < 1e-12
    pull = (
        multiplier(equations, "rope", *state, t=0.2)
        * equations.position("hook", state[0])
        / np.linalg.norm(equations.position("hook", state[0]))
    )
    assert gap(other.reaction("ball", q, u, t=0.2)[:3], pull) < 1e-11


def quaternion(R: np.ndarray) -> np.ndarray:
    from mechgraph.vectors import quaternion_of

    return np.array(ca.evalf(quaternion_of(ca.SX(ca.DM(R))))).ravel()


@pytest.mark.sampled(3)
@FORMALISMS
@CLOSURES
def test_a_coupling_reflects_inertia(closure, formalism):
    """Gears: with g₂ = −n g₁ a torque on the first turns J₁ + n² J₂; the multiplier is the moment
    at the mesh."""
    J1, J2, n, torque = 0.3, 0.7, 2.5, 4.0
    s = mg.System("gears")
    for name, J in (("one", J1), ("two", J2)):
        s.revolute(
            f"{name} axle", s.ground, s.body(name, mass=1.0, inertia=(J / 2, J / 2, J)), axis="z"
        )
    s.torque("motor", "one axle", torque)
    s.coupling("mesh", {"one axle": n, "two axle": 1.0}, constant=0.4)
    equations = s.equations(formalism, closure)
    q, u = equations.assemble({"one axle": 0.1, "one axle'": 3.0})
    assert equations.observe(lambda m: m.coordinate("two axle"), q)[0] == pytest.approx(
        0.4 - n * 0.1
    )
    assert equations.observe(lambda m: m.speed("two axle"), q, u)[0] == pytest.approx(-n * 3.0)
    turning = equations.observe(
        lambda m: [m.angular_acceleration(body)[2] for body in ("one", "two")], q, u
    )
    alpha = torque / (J1 + n**2 * J2)
    assert gap(np.array([alpha, -n * alpha]), turning) < 1e-13
    assert multiplier(equations, "mesh", q, u) == pytest.approx(-n * J2 * alpha)


def drive(s: mg.System):
    return 0.4 + 0.3 * mg.sin(2 * s.time)


@pytest.mark.sampled(3)
@FORMALISMS
@CLOSURES
def test_a_servo_is_a_driven_joint(closure, formalism):
    """Its multiplier is the torque that the driven joint passes about its axis."""

    def arm(servoed: bool) -> mg.System:
        s = mg.System("arm", gravity=(0, 0, -G))
        upper, lower = (
            s.body(name, mass=1.5, com=(0.1, 0, -0.3), inertia=(0.1, 0.2, 0.15))
            for name in ("upper", "lower")
        )
        if servoed:
            s.revolute("shoulder", s.ground, upper, axis="y")
            s.servo("drive", "shoulder", drive(s))
        else:
            s.joint("shoulder", s.ground, upper, [mg.rot("y", drive(s))])
        s.universal("elbow", upper, lower, at=(0, 0, -0.7))
        return s

    t, rest, rates = 0.3, [0.5, -0.2], [1.0, 2.0]
    angle = 0.4 + 0.3 * np.sin(2 * t)
    servo, driven = arm(True).equations(formalism, closure), arm(False).equations("newton-euler")
    q, u = placed(servo, [angle, *rest], [0.6 * np.cos(2 * t), *rates], t)
    turning = servo.observe(lambda m: m.angular_acceleration("upper")[1], q, u, t)[0]
    assert turning == pytest.approx(-1.2 * np.sin(2 * t), rel=1e-12)
    for body in ("upper", "lower"):
        assert (
            gap(
                driven.observe(motion_of(body), rest, rates, t),
                servo.observe(motion_of(body), q, u, t),
            )
            < 1e-12
        )
    through = driven.reaction("shoulder", rest, rates, t)
    assert multiplier(servo, "drive", q, u, t=t) == pytest.approx(through[4], rel=1e-11)
    assert gap(through, servo.reaction("shoulder", q, u, t)) < 1e-11


@pytest.mark.sampled(3)
@FORMALISMS
@CLOSURES
def test_three_points_on_a_table_are_a_planar_joint(closure, formalism):
    contact, jointed = (
        mg.System("contact", gravity=(1, 0, -G)),
        mg.System("joint", gravity=(1, 0, -G)),
    )
    contact.free("loose", contact.ground, stone(contact))
    for i, at in enumerate([(0.3, 0, 0), (-0.2, 0.3, 0), (-0.2, -0.3, 0)]):
        contact.marker(f"foot {i}", "stone", at)
        contact.constrain(f"table {i}", position=lambda m, i=i: m.position(f"foot {i}")[2])
    jointed.planar("joint", jointed.ground, stone(jointed))
    q, u = np.array([0.1, 0.2, 0.5]), np.array([1.0, -2.0, 3.0])
    equations, other = contact.equations(formalism, closure), jointed.equations("newton-euler")
    free_q, free_u = placed(
        equations, [0.1, 0.2, 0, np.cos(0.25), 0, 0, np.sin(0.25)], [1.0, -2.0, 0, 0, 0, 3.0]
    )
    assert np.abs(equations.velocity_violation(free_q, free_u)).max() < 1e-14
    assert (
        gap(
            other.observe(motion_of("stone"), q, u),
            equations.observe(motion_of("stone"), free_q, free_u),
        )
        < 1e-12
    )
    assert equations.multipliers(free_q, free_u)[-3:].sum() == pytest.approx(2.0 * G, rel=1e-12)


# --- one constraint at every level ----------------------------------------------------------------


def on_a_surface(level: str) -> mg.System:
    """A body with one point on the surface z = x²/2 + sin(t)/5, told by position, velocity or
    acceleration."""
    s = mg.System("surface", gravity=(0, 0, -G))
    body = stone(s)
    s.free("loose", s.ground, body)
    s.marker("foot", body, (0, 0.1, 0.2))
    s.constrain("surface", **{level: SURFACE[level]})
    return s


def surface_position(m):
    x, _, z = ca.vertsplit(m.position("foot"))
    return z - x**2 / 2 - mg.sin(m.time) / 5


def surface_velocity(m):
    x, v = m.position("foot")[0], m.velocity("foot")
    return v[2] - x * v[0] - mg.cos(m.time) / 5


def surface_acceleration(m):
    x, v, a = m.position("foot")[0], m.velocity("foot"), m.acceleration("foot")
    return a[2] - x * a[0] - v[0] ** 2 + mg.sin(m.time) / 5


SURFACE = {
    "position": surface_position,
    "velocity": surface_velocity,
    "acceleration": surface_acceleration,
}


@pytest.mark.sampled(3)
@FORMALISMS
@CLOSURES
@pytest.mark.parametrize("level", ["velocity", "acceleration"])
def test_a_constraint_is_the_same_at_every_level(closure, formalism, level):
    reference, other = (
        on_a_surface("position").equations("newton-euler"),
        on_a_surface(level).equations(formalism, closure),
    )
    q, u = reference.assemble({"loose.x": 0.7, "loose.x'": 1.0, "loose.wy": 2.0}, t=0.4)
    there = placed(other, q, u, t=0.4)
    motion = motion_of("stone")
    assert gap(reference.observe(motion, q, u, t=0.4), other.observe(motion, *there, t=0.4)) < 1e-12
    own = other.multipliers(*there, t=0.4)[-1:]  # behind those of the coordinates themselves
    assert gap(reference.multipliers(q, u, t=0.4), own) < 1e-12


@pytest.mark.parametrize("stabilization", ["projection", "baumgarte", "none"])
@pytest.mark.parametrize("level", SURFACE)
def test_a_run_is_the_same_at_every_level(level, stabilization):
    s = on_a_surface("position").equations()
    start = s.assemble({"loose.x": 0.7, "loose.x'": 1.0, "loose.wy": 2.0})
    run = (
        on_a_surface(level)
        .equations()
        .simulate(0.5, start, rtol=1e-10, stabilization=stabilization)
    )
    reference = s.simulate(0.5, start, rtol=1e-11)
    assert gap(reference.q[-1], run.q[-1]) < 1e-7
    left = on_a_surface("position").equations().position_violation(run.q, run.time)
    assert np.abs(left).max() < 1e-7


def test_the_rows_of_A_come_by_level():
    s = on_a_surface("acceleration")
    s.constrain("slide", velocity=lambda m: m.velocity("foot")[1])
    s.distance("rope", "ground", "foot", 2.0)
    assert s.equations().constraints == ("rope", "slide", "surface")


# --- nonlinear in the speeds ----------------------------------------------------------------------


def courier(law, **start) -> tuple[mg.Equations, tuple]:
    s = mg.System("particle", gravity=(0, 0, -G))
    p = s.body("p", mass=3.0, inertia=0)
    s.joint("at", s.ground, p, [mg.move(e, e) for e in "xyz"])
    s.constrain("law", velocity=law)
    equations = s.equations()
    return equations, equations.assemble(start)


@pytest.mark.sampled(3)
@FORMALISMS
@CLOSURES
def test_constant_speed_takes_away_the_force_along_the_path(closure, formalism):
    """½ (|v|² − c²) = 0: a = g − (g·v̂) v̂, and λ = −m (g·v) / |v|²."""
    equations, _ = courier(lambda m: (mg.dot(m.velocity("p"), m.velocity("p")) - 4) / 2)
    other = equations.system.equations(formalism, closure)
    u = 2 * np.array([0.48, 0.6, 0.64])
    g, along = np.array([0, 0, -G]), u / 2
    state = placed(other, np.zeros(3), u)
    assert (
        gap(g - (g @ along) * along, other.observe(lambda m: m.acceleration("p"), *state)) < 1e-13
    )
    assert multiplier(other, "law", *state) == pytest.approx(-3.0 * (g @ u) / 4, rel=1e-12)


def test_constant_speed_is_kept_over_a_run():
    equations, start = courier(
        lambda m: mg.dot(m.velocity("p"), m.velocity("p")) - 4, **{"at.x'": 1.5, "at.z'": 0.5}
    )
    assert np.linalg.norm(start[1]) == pytest.approx(2.0, abs=1e-12)
    run = equations.simulate(2.0, start, rtol=1e-10)
    assert np.abs(np.linalg.norm(run.u, axis=1) - 2).max() < 1e-12
    drop = run["at.z"][0] - run["at.z"][-1]
    work = np.trapezoid(run.power, run.time)
    # the speed stays, so T does
    assert run.energy[-1] - run.energy[0] == pytest.approx(-3.0 * G * drop, rel=1e-9)
    # the trapezoidal rule's error
    assert work == pytest.approx(run.energy[-1] - run.energy[0], rel=1e-4)


def test_appell_hamel_ratio_of_speeds():
    """ż² = a² (ẋ² + ẏ²): a cone of velocities; the law is homogeneous, so its force does no work
    and energy stays."""
    equations, start = courier(
        lambda m: (
            (m.velocity("p")[2] ** 2 - 2 * (m.velocity("p")[0] ** 2 + m.velocity("p")[1] ** 2)) / 2
        ),
        **{"at.x'": 0.6, "at.y'": 0.8},
    )
    run = equations.simulate(
        1.0, (start[0], start[1] if start[1][2] > 0 else start[1] * [1, 1, -1]), rtol=1e-11
    )
    assert np.abs(run.energy - run.energy[0]).max() < 1e-9 * run.kinetic.max()
    assert run.violation.max() < 1e-12


# --- redundant, contradictory, singular -----------------------------------------------------------


@CLOSURES
def test_a_constraint_told_twice_changes_nothing(closure):
    once, twice = on_a_surface("position"), on_a_surface("position")
    twice.constrain("again", position=lambda m: 3 * surface_position(m))
    a, b = once.equations("newton-euler", closure), twice.equations("newton-euler", closure)
    q, u = a.assemble({"loose.x": 0.7, "loose.x'": 1.0})
    there = b.assemble({"loose.x": 0.7, "loose.x'": 1.0})
    assert gap(q, there[0]) < 1e-9
    assert b.redundant(q) == ["again"]
    assert gap(a.accelerations(q, u), b.accelerations(q, u)) < 1e-11
    (single,), both = a.multipliers(q, u), b.multipliers(q, u)
    assert both[0] + 3 * both[1] == pytest.approx(single, rel=1e-11)
    run = b.simulate(0.3, (q, u), rtol=1e-10)
    assert gap(a.simulate(0.3, (q, u), rtol=1e-10).q[-1], run.q[-1]) < 1e-8
    assert run.violation.max() < 1e-12


@pytest.mark.smoke
def test_constraints_that_contradict_are_named():
    s = on_a_surface("position")
    s.constrain("cannot", position=lambda m: surface_position(m) - 0.3)
    with pytest.raises(mg.AssemblyError, match="cannot") as error:
        s.equations().assemble({})
    assert set(error.value.residuals) == {"surface", "cannot"}


@CLOSURES
def test_a_singular_position_has_a_solution_of_least_force(closure):
    """A bead at the tip of its wire: x² + y² = 0 as one row has no gradient at the origin; nothing
    pulls there."""
    s = mg.System("bead", gravity=(0, 0, -G))
    s.joint("at", s.ground, s.body("p", mass=3.0, inertia=0), [mg.move(e, e) for e in "xyz"])
    s.constrain("wire", position=lambda m: m.position("p")[0] ** 2 + m.position("p")[1] ** 2)
    udot, multipliers = s.equations("newton-euler", closure).solve(np.zeros(3), [0, 0, 1.0])
    assert np.array_equal(udot, [0, 0, -G])
    assert np.array_equal(multipliers, [0])


# --- stabilization --------------------------------------------------------------------------------


def swing(stabilization: str, rtol: float = 1e-6, **options) -> mg.Trajectory:
    """A pendulum of a particle and a distance, over twenty swings."""
    s = mg.System("pendulum", gravity=(0, 0, -G))
    s.joint(
        "at", s.ground, s.body("p", mass=3.0, inertia=0), [mg.move("x", "x"), mg.move("z", "z")]
    )
    s.distance("rod", s.ground, "p", 1.0)
    return s.equations().simulate(
        40.0, {"at.x": 0.6, "at.z": -0.8}, stabilization=stabilization, rtol=rtol, **options
    )


def test_projection_keeps_positions_and_velocities():
    run = swing("projection")
    assert run.violation.max() < 1e-12
    assert run.statistics["drift"] > 0


def test_without_any_means_constraints_drift_and_baumgarte_holds_them():
    loose, held, tighter = swing("none"), swing("baumgarte"), swing("baumgarte", baumgarte=50.0)
    assert loose.violation.max() > 10 * held.violation[-250:].max()
    assert held.violation.max() < 1e-3
    assert tighter.violation.max() < held.violation.max()
    assert loose.violation[-1] > loose.violation[250]


@pytest.mark.parametrize("seed", range(6))
def test_an_edge_along_a_slide_does_not_lock_it(seed):
    """Its row is nothing but rounding, at the level of velocities and at that of accelerations."""
    random = np.random.default_rng(seed)
    s = mg.System("s", gravity=(1, 2, -9))
    body = s.body("b", mass=1.3, com=(0.1, 0.2, 0.3), inertia=(1, 1.2, 1.5))
    axis = random.normal(size=3)
    turns = [[(letter, random.normal()) for letter in pair] for pair in ("zx", "yz")]
    s.prismatic(
        "x", s.ground, body, axis=axis / np.linalg.norm(axis),
        orientation=turns[0], child_orientation=turns[1],
    )  # fmt: skip
    free = s.equations().accelerations([0.2], [0.4])
    along = s.equations().observe(lambda m: m.rotation(body).T @ m.velocity(body), [0.2], [1.0])
    across = np.cross(along, [1, 0, 0])
    across /= np.linalg.norm(across)
    s.knife_edge("edge", body, across=across)
    s.constrain("again", acceleration=lambda m: mg.dot(m.acceleration(body), m.axis(body, across)))
    for formalism in ("newton-euler", "lagrange", "absolute"):
        eqs = s.equations(formalism)
        q, u = eqs.assemble({"x": 0.2, "x'": 0.4})
        found = eqs.observe("x''", q, u)
        np.testing.assert_allclose(found, free, rtol=1e-9, atol=1e-9)
