"""Rolling, sliding and knife edges: against closed forms, and against laws written out with the
states of the bodies."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import mechgraph as mg
from measure import IN_SPACE, gap, placed

G = 9.81
FORMALISMS = pytest.mark.parametrize("formalism", IN_SPACE)
# Maggi leaves the constraint forces out, and says so where they are needed
WITH_MULTIPLIERS = pytest.mark.parametrize(
    "formalism", [name for name in IN_SPACE if name != "maggi"]
)


def up_to_length(v: np.ndarray) -> np.ndarray:
    return v / np.linalg.norm(v, axis=-1, keepdims=True)


def flat(v: np.ndarray) -> np.ndarray:
    return up_to_length(v * [1, 1, 0])


SEMIAXES = np.array([0.3, 0.2, 0.25])
# with the point that is lowest, if "down" is d in the body's axes
ROUND: dict[str, tuple[Callable[..., mg.Surface], Callable[[np.ndarray], np.ndarray]]] = {
    "sphere": (lambda at: mg.Sphere(at, 0.3), lambda d: 0.3 * d),
    "ellipsoid": (
        lambda at: mg.Ellipsoid(at, SEMIAXES),
        lambda d: SEMIAXES**2 * d / np.linalg.norm(SEMIAXES * d, axis=-1, keepdims=True),
    ),
    "disc": (lambda at: mg.Disc(at, 0.3), lambda d: 0.3 * flat(d)),
    "torus": (lambda at: mg.Torus(at, 0.3, 0.1), lambda d: 0.3 * flat(d) + 0.1 * d),
    "roller": (lambda at: mg.Roller(at, 0.2, 0.7), lambda d: -0.5 * flat(d) + 0.7 * d),
}
QUATERNION = ("place.q0", "place.q1", "place.q2", "place.q3")
# discs and rollers on their edges
SIDEWAYS = Rotation.from_rotvec([1.2, 0.1, 0.0]).as_quat(scalar_first=True)


def loose(system: mg.System, name: str = "body", **properties) -> mg.Body:
    body = system.body(
        name,
        **({"mass": 2.0, "com": (0.01, -0.02, 0.015), "inertia": (0.02, 0.03, 0.04)} | properties),
    )
    system.free("place" if name == "body" else f"place of {name}", system.ground, body)
    return body


def on_a_slope(surface: str, touch: str = "roll", **options) -> mg.System:
    system = mg.System(surface, gravity=(0, 0, -G))
    slope = system.marker("slope", system.ground, (0.1, 0.2, 0.3), [("x", 0.2), ("y", -0.1)])
    getattr(system, touch)("floor", ROUND[surface][0](loose(system)), mg.Plane(slope), **options)
    return system


def start_of(equations: mg.Equations, **speeds: float) -> tuple[np.ndarray, np.ndarray]:
    turn = dict(zip(QUATERNION, SIDEWAYS, strict=True))
    spins = {"place.wx": 0.5, "place.wy": -1.0, "place.wz": 3.0}
    return equations.assemble(
        {"place.x": 0.3, "place.y": -0.2, **turn, **spins, **speeds}, guess={"place.z": 0.7}
    )


# --- what rolling means ---------------------------------------------------------------------------


@pytest.mark.parametrize("surface", ROUND)
def test_the_material_at_the_point_of_contact_is_at_rest(surface):
    """Point and velocity from the states of the body alone; the floor is never left."""
    equations = on_a_slope(surface).equations()
    run = equations.simulate(1.0, start_of(equations), rtol=1e-10, step=0.05)
    R, c = equations.rotation("body", run.q), run.observe(lambda m: m.position("body"))
    v, omega = (
        run.observe(lambda m: m.velocity("body")),
        run.observe(lambda m: m.angular_velocity("body")),
    )
    normal = equations.rotation("slope", run.q[0])[:, 2]
    arm = np.einsum("nij,nj->ni", R, ROUND[surface][1](np.einsum("nij,i->nj", R, -normal)))
    assert np.abs((c + arm - [0.1, 0.2, 0.3]) @ normal).max() < 1e-11
    assert np.abs(v + np.cross(omega, arm)).max() < 1e-10
    assert np.abs(v).max() > 0.3
    assert np.ptp(run.energy) < 1e-8 * np.ptp(run.kinetic)


@pytest.mark.parametrize("surface", ["sphere", "torus"])
def test_without_spinning(surface):
    equations = on_a_slope(surface, spinning=False).equations()
    run = equations.simulate(
        1.0,
        {"place.wx": 1.0, "place.wy": 2.0},
        guess=dict(zip(QUATERNION, SIDEWAYS, strict=True)),
        rtol=1e-9,
    )
    normal = equations.rotation("slope", run.q[0])[:, 2]
    assert np.abs(run.observe(lambda m: m.angular_velocity("body")) @ normal).max() < 1e-11
    assert equations.mobility(run.q[0]) == 2
    assert "floor: spin" in equations.constraints


def test_wrenches_balance_newton_and_euler_on_both_bodies():
    """A ball rolls on a tray that is free to move: m a and dL/dt of each, from its motion, against
    force and moment."""
    system = mg.System("tray", gravity=(0, 0, -G))
    ball = loose(system)
    tray = loose(system, "tray", mass=5.0, com=(0.1, 0, -0.2), inertia=(0.5, 0.6, 0.7))
    system.roll(
        "contact",
        mg.Sphere(ball, 0.3),
        mg.Plane(system.marker("top", tray, (0, 0, 0.1), [("x", 0.1)])),
    )
    equations = system.equations()
    q, u = equations.assemble(
        {
            "place.x": 0.2,
            "place.wx": 5.0,
            "place.wz": 2.0,
            "place of tray.wy": 3.0,
            "place of tray.x'": 0.4,
        },
        guess={"place.z": 0.4},
    )
    # on the ball, at the point of contact
    force, moment = np.split(equations.reaction("contact", q, u), 2)
    assert np.abs(moment).max() < 1e-12
    point = equations.observe(
        lambda m: system.constraints["contact"].pairs[0].contact(m).point, q, u
    )
    for name, sign in (("body", 1), ("tray", -1)):
        body = system.bodies[name]
        centre, rate_of_momentum, rate_of_spin = np.split(
            equations.observe(lambda m, b=body: rates_of(m, b), q, u), 3
        )
        weight = float(body.mass) * np.array([0, 0, -G])
        assert np.abs(rate_of_momentum - weight - sign * force).max() < 1e-11
        assert np.abs(rate_of_spin - np.cross(point - centre, sign * force)).max() < 1e-11
    assert np.linalg.norm(force) > 0.5


def rates_of(m: mg.Motion, body: mg.Body) -> ca.SX:
    """Mass centre, m a and dL/dt about it."""
    R, omega, epsilon = m.rotation(body), m.angular_velocity(body), m.angular_acceleration(body)
    arm, inertia = R @ body.com, R @ body.inertia @ R.T
    a = m.acceleration(body) + ca.cross(epsilon, arm) + ca.cross(omega, ca.cross(omega, arm))
    return ca.vertcat(
        m.position(body) + arm, body.mass * a, inertia @ epsilon + ca.cross(omega, inertia @ omega)
    )


def knife() -> mg.System:
    system = mg.System("sleigh")
    body = system.body("body", mass=2.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.2))
    system.planar("place", system.ground, body, axis="z")
    system.knife_edge("blade", body)
    return system


AGREEING: dict[str, Callable[[], mg.System]] = {
    "rolling disc": lambda: on_a_slope("disc"),
    "rolling ellipsoid": lambda: on_a_slope("ellipsoid"),
    "without spinning": lambda: on_a_slope("sphere", spinning=False),
    "sliding": lambda: on_a_slope(
        "torus",
        "slide",
        friction=mg.Friction(0.2, static_friction=0.4, viscous=0.3, regularization=0.1),
    ),
    "pressing": lambda: on_a_slope(
        "sphere", "compliant_contact", stiffness=100.0, damping=0.1, friction=0.2
    ),
    "knife edge": knife,
    "in a bowl": lambda: in_a_bowl(),
    "pressing a bowl": lambda: in_a_bowl("compliant_contact", stiffness=100.0, damping=0.1),
}


def in_a_bowl(touch: str = "roll", **options) -> mg.System:
    system = mg.System("bowl", gravity=(0, 0, -G))
    bowl = mg.Implicit(system.ground, lambda x, y, z: z - (x**2 + 2 * y**2) / 4 + 0.1 * x * y)
    getattr(system, touch)("floor", mg.Ellipsoid(loose(system), SEMIAXES), bowl, **options)
    return system


# the ellipsoid shows it of what rolls; a disc has its classical equations below
LONG = ("rolling disc",)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in AGREEING]
)
def test_every_formalism_agrees(name):
    found = mg.agreement(AGREEING[name](), states=3)
    assert found.ok, str(found)
    assert {row.formalism.split(",")[0].split(" ")[0] for row in found.rows} >= set(mg.FORMALISMS)


# --- closed forms of rolling ----------------------------------------------------------------------


def ball(system: mg.System, radius: float = 0.1, mass: float = 1.5) -> mg.Body:
    return loose(system, mass=mass, com=(0, 0, 0), inertia=(0.4 * mass * radius**2,) * 3)


@pytest.mark.smoke("newton-euler")
@FORMALISMS
def test_a_ball_rolls_down_with_five_sevenths(formalism):
    system, slope = mg.System("slope", gravity=(0, 0, -G)), 0.3
    system.roll(
        "floor",
        mg.Sphere(ball(system), 0.1),
        mg.Plane(system.marker("slope", system.ground, orientation=[("y", slope)])),
    )
    equations = system.equations(formalism)
    q, u = equations.assemble({"place.x": 0.1 * np.sin(slope), "place.z": 0.1 * np.cos(slope)})
    a = 5 / 7 * G * np.sin(slope)
    assert (
        gap(
            a * np.array([np.cos(slope), 0, -np.sin(slope)]),
            equations.observe(lambda m: m.acceleration("body"), q, u),
        )
        < 1e-12
    )
    force = 1.5 * G * np.array([np.cos(slope) * np.sin(slope), 0, np.cos(slope) ** 2])
    force += 1.5 * G * 2 / 7 * np.sin(slope) * np.array([-np.cos(slope), 0, np.sin(slope)])
    assert gap(force, equations.reaction("floor", q, u)[:3]) < 1e-12


def test_a_ball_on_a_turntable_runs_in_circles():
    """v̇ = (2/7) Ω z × v: circles passed at two sevenths of the table's rate, wherever they are."""
    system, rate = mg.System("turntable", gravity=(0, 0, -G)), 3.0
    table = system.frame("table")
    system.joint("turning", system.ground, table, [mg.rot("z", rate * system.time)])
    system.roll("contact", mg.Sphere(ball(system), 0.1), mg.Plane(table))
    equations = system.equations()
    run = equations.simulate(
        8.0,
        {"place.x": 0.5, "place.z": 0.1, "place.x'": 0.2, "place.y'": -0.3},
        rtol=1e-11,
        step=0.1,
    )
    z, v = run["place.x"] + 1j * run["place.y"], 0.2 - 0.3j
    w = 2j / 7 * rate
    assert np.abs(z - (0.5 + v * (np.exp(w * run.time) - 1) / w)).max() < 1e-8
    assert np.abs(run.imbalance).max() < 1e-9  # the table's drive gives and takes


def test_a_ball_in_a_tube_goes_down_and_up_again():
    """With its centre going round at φ̇ the height oscillates at √(2/7) φ̇, about −(5/7) g / (2/7
    φ̇²)."""
    system = mg.System("tube", gravity=(0, 0, -G))
    system.roll("wall", mg.Sphere(ball(system), 0.1), mg.Cylinder(system.ground, 0.6, inside=True))
    equations, rate = system.equations(), 4.0
    start = {
        "place.x": 0.5,
        "place.y": 0,
        "place.z": 0,
        "place.y'": 0.5 * rate,
        "place.z'": 0,
        "place.wx": 0,
    }
    run = equations.simulate(6.0, start, rtol=1e-11, step=0.05)
    frequency = np.sqrt(2 / 7) * rate
    assert (
        np.abs(run["place.z"] + 5 / 7 * G * (1 - np.cos(frequency * run.time)) / frequency**2).max()
        < 1e-8
    )
    assert np.abs(run["place.x"] - 0.5 * np.cos(rate * run.time)).max() < 1e-8


def test_a_disc_follows_the_classical_equations():
    """dM/dt = M × ω + m ṙ × (ω × r) + m g r × γ, dγ/dt = γ × ω in the body's axes, M about the
    point of contact."""
    system = mg.System("disc", gravity=(0, 0, -1))
    inertia = np.diag([0.25, 0.25, 0.5])
    system.roll(
        "floor",
        mg.Disc(loose(system, mass=1.0, com=(0, 0, 0), inertia=np.diag(inertia)), 1.0),
        mg.Plane(system.ground),
    )
    equations, tilt = system.equations(), 1.2
    turn = {
        "place.q0": np.cos(tilt / 2),
        "place.q1": np.sin(tilt / 2),
        "place.q2": 0,
        "place.q3": 0,
    }
    spins = {"place.wx": 0.3, "place.wy": 0.5, "place.wz": 1.1}
    run = equations.simulate(20.0, {"place.z": np.sin(tilt), **turn, **spins}, rtol=1e-12, step=1.0)

    def arm(gamma):
        return -flat(gamma)

    def spin(M, r):
        return np.linalg.solve(inertia + r @ r * np.eye(3) - np.outer(r, r), M)

    def rates(_, y):
        M, gamma = y[:3], y[3:]
        r = arm(gamma)
        omega = spin(M, r)
        turning, size = np.cross(gamma, omega), np.hypot(*gamma[:2])
        level = turning * [1, 1, 0]
        r_rate = -(level - r * (r @ level)) / size
        return np.concatenate(
            [
                np.cross(M, omega) + np.cross(r_rate, np.cross(omega, r)) + np.cross(r, gamma),
                turning,
            ]
        )

    gamma, omega = (
        equations.rotation("body", run.q)[:, 2, :],
        run.u[:, [equations.speeds.index(f"place.w{k}") for k in "xyz"]],
    )
    r = arm(gamma)
    ours = np.hstack([omega @ inertia + np.cross(r, np.cross(omega, r)), gamma])
    classical = solve_ivp(
        rates, (0, 20), ours[0], method="DOP853", rtol=1e-13, atol=1e-13, t_eval=run.time
    )
    assert np.abs(ours - classical.y.T).max() < 1e-8


def test_a_sleigh_has_its_closed_form():
    """Chaplygin: v̇ = a ω², ω̇ = −m a v ω / (I + m a²) for a mass centre at a before the blade."""
    equations = knife().equations()
    q, u = equations.assemble({"place.angle": 0.4, "place.angle'": 1.5})
    along = np.array([np.cos(0.4), np.sin(0.4), 0])
    names = list(equations.speeds)
    u[names.index("place.x'")], u[names.index("place.y'")] = 0.7 * along[:2]
    udot = equations.accelerations(q, u)
    acceleration = equations.observe(lambda m: m.acceleration("body"), q, u)
    assert abs(acceleration @ along - 0.3 * 1.5**2) < 1e-13
    assert abs(udot[names.index("place.angle'")] + 2 * 0.3 * 0.7 * 1.5 / (0.2 + 2 * 0.3**2)) < 1e-13
    run = equations.simulate(5.0, (q, u), rtol=1e-10)
    assert np.ptp(run.energy) < 1e-8
    across = np.cross(
        [0, 0, 1],
        np.stack([np.cos(run["place.angle"]), np.sin(run["place.angle"]), 0 * run.time], -1),
    )
    assert np.abs((run.observe(lambda m: m.velocity("body")) * across).sum(1)).max() < 1e-10


# --- friction -------------------------------------------------------------------------------------


def sled(friction, slope: float = 0.0) -> mg.System:
    """A particle on a slope."""
    system = mg.System("sled", gravity=(0, 0, -G))
    body = system.body("body", mass=2.0, inertia=(0, 0, 0))
    system.joint(
        "place", system.ground, body, [mg.move("x", "x"), mg.move("y", "y"), mg.move("z", "z")]
    )
    system.slide(
        "floor",
        mg.Point(body),
        mg.Plane(system.marker("slope", system.ground, orientation=[("y", slope)])),
        friction,
    )
    return system


@WITH_MULTIPLIERS
def test_coulomb_on_an_incline(formalism):
    """a = g sin α along the slope, less μ g cos α against the velocity, whatever its direction."""
    slope, mu = 0.4, 0.25
    equations = sled(mg.Friction(mu, regularization=1e-9), slope).equations(formalism)
    down = np.array([np.cos(slope), 0, -np.sin(slope)])
    v = 0.6 * down + np.array([0, 0.8, 0])
    q, u = equations.assemble(
        {"place.x": 0, "place.y": 0, "place.x'": v[0], "place.y'": v[1], "place.z'": v[2]},
        guess={"place.z": 0.0},
    )
    expected = G * np.sin(slope) * down - mu * G * np.cos(slope) * v
    assert gap(expected, equations.observe(lambda m: m.acceleration("body"), q, u)) < 1e-12
    normal = equations.multipliers(q, u)[equations.constraints.index("floor: gap")]
    assert abs(normal - 2 * G * np.cos(slope)) < 1e-11


@pytest.mark.parametrize("speed", [0.001, 0.02, 0.5])
def test_the_law_of_friction(speed):
    """Coulomb, Stribeck, drag and viscous parts, with the regularization as documented."""
    law = {
        "coulomb": 0.2,
        "static_friction": 0.5,
        "stribeck": 0.03,
        "drag": 0.7,
        "viscous": 1.3,
        "regularization": 0.004,
    }
    equations = sled(mg.Friction(**law)).equations()
    state = equations.assemble({"place.x": 0, "place.y": 0, "place.x'": -speed, "place.y'": 0})
    smooth = np.hypot(speed, 0.004)
    mu = 0.2 + 0.3 * np.exp(-((smooth / 0.03) ** 2))
    force = 2 * G * (mu * speed / smooth + 0.7 * speed) + 1.3 * speed
    assert (
        gap(
            np.array([force / 2, 0, 0]), equations.observe(lambda m: m.acceleration("body"), *state)
        )
        < 1e-12
    )


def test_friction_acts_and_reacts():
    """Two bodies that slide on each other, without gravity: momentum and angular momentum stay;
    energy goes to friction."""
    system = mg.System("pair")
    first = loose(system)
    loose(system, "tray", mass=5.0, com=(0.1, 0, -0.2), inertia=(0.5, 0.6, 0.7))
    system.force("press", first, lambda m: -3 * m.axis("tray", "z"))
    system.force("back", "tray", lambda m: 3 * m.axis("tray", "z"))
    system.body_torque(
        "turn",
        "tray",
        lambda m: ca.cross(m.position("body") - m.position("tray"), 3 * m.axis("tray", "z")),
    )
    law = mg.Friction(0.3, viscous=0.1, drag=0.1, regularization=1e-3)
    system.slide("contact", mg.Ellipsoid(first, SEMIAXES), mg.Plane(system.bodies["tray"]), law)
    equations = system.equations()
    start = {
        "place.x": 0.1,
        "place.wx": 1.0,
        "place.wz": 2.0,
        "place.x'": 0.5,
        "place of tray.wz": -1.0,
    }
    run = equations.simulate(1.0, start, guess={"place.z": 0.25}, rtol=1e-9)
    momentum = run.observe(
        lambda m: sum((momenta(m, body) for body in system.bodies.values()), ca.SX.zeros(6))
    )
    assert np.abs(momentum - momentum[0]).max() < 1e-7
    assert run.dissipated[-1] > 0.05
    assert (np.diff(run.dissipated) > 0).all()
    assert np.abs(run.imbalance).max() < 1e-7


def momenta(m: mg.Motion, body: mg.Body) -> ca.SX:
    """Momentum, and angular momentum about the world's origin."""
    R, omega = m.rotation(body), m.angular_velocity(body)
    arm = R @ body.com
    p = body.mass * (m.velocity(body) + ca.cross(omega, arm))
    return ca.vertcat(p, ca.cross(m.position(body) + arm, p) + R @ body.inertia @ R.T @ omega)


def test_a_sliding_ball_ends_up_rolling_at_five_sevenths():
    """It slides for 2 v / 7 μ g; what it has about a point of the floor stays."""
    system, mu = mg.System("bowling", gravity=(0, 0, -G)), 0.2
    system.slide(
        "floor",
        mg.Sphere(ball(system), 0.1),
        mg.Plane(system.ground),
        mg.Friction(mu, regularization=1e-5),
    )
    equations = system.equations()
    sliding = 2 / (7 * mu * G)
    run = equations.simulate(
        2 * sliding, {"place.z": 0.1, "place.x'": 1.0}, rtol=1e-10, step=sliding / 10
    )
    before = run.time < 0.95 * sliding
    # of a slip above 0.05 m/s, v₀ = 1e-5
    assert np.abs(run["place.x'"] - (1 - mu * G * run.time))[before].max() < 1e-8
    assert abs(run["place.x'"][-1] - 5 / 7) < 1e-9
    assert abs(run["place.wy"][-1] * 0.1 - 5 / 7) < 1e-9
    assert abs(run.dissipated[-1] - 1.5 / 7) < 1e-9  # two sevenths of m v² / 2
    assert np.abs(run.imbalance).max() < 1e-9


def test_rolling_where_the_base_is_carried_by_the_tree():
    """The same ball and tray, the tray on a driven joint or on a servo: absolute and joint
    coordinates move alike."""
    system = mg.System("tray", gravity=(0, 0, -G))
    tray = system.body("tray", mass=3.0, inertia=(0.1, 0.1, 0.1))
    system.revolute("tilt", system.ground, tray, axis="y")
    system.servo("drive", "tilt", 0.2 * mg.sin(3 * system.time))
    system.roll("contact", mg.Sphere(ball(system), 0.1), mg.Plane(tray))
    start = {"place.x": 0.05, "place.y": 0.0, "place.wz": 1.0}
    q, u = system.equations().assemble(start, guess={"place.z": 0.1})
    ends = []
    for formalism in ("newton-euler", "absolute"):
        equations = system.equations(formalism)
        run = equations.simulate(1.0, placed(equations, q, u), rtol=1e-11, step=0.5)
        assert np.abs(run.imbalance).max() < 1e-9
        ends.append(
            run.observe(
                lambda m: ca.vertcat(
                    m.position("body"), m.velocity("body"), m.angular_velocity("body")
                )
            )[-1]
        )
    assert np.abs(ends[0] - ends[1]).max() < 1e-8


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"coulomb": -0.1}, "coulomb must not be negative"),
        ({"viscous": -1}, "viscous must not be negative"),
        ({"regularization": 0}, "regularization must be positive"),
    ],
)
def test_wrong_laws_are_refused(options, words):
    with pytest.raises(mg.ModelError, match=words):
        mg.Friction(**options)
