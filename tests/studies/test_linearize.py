"""Linear models on the constraints, equilibria and steady motions."""

from __future__ import annotations

import warnings

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mechgraph as mg
from mechgraph import gallery

GRAVITY = 9.81


def fourbar() -> mg.Equations:
    return gallery.load("fourbar").system().equations()


@pytest.mark.smoke
def test_equilibrium_and_frequency_of_the_fourbar():
    eqs = fourbar()
    q, u = eqs.equilibrium({"qA": 1.2})
    expected = {
        "qA": np.arctan(np.sqrt(15)),
        "qB": np.pi - np.arctan(np.sqrt(15)),
        "qC": np.pi - np.arctan(np.sqrt(15)),
    }
    for name, value in expected.items():
        assert q[eqs.coordinates.index(name)] == pytest.approx(value, abs=1e-9)
    assert not u.any()
    model = eqs.linearize((q, u))
    assert len(model.states) == 2
    np.testing.assert_allclose(
        sorted(model.eigenvalues().imag), [-1.7369383176815147, 1.7369383176815147], atol=1e-9
    )
    assert model.stability().verdict != "unstable"


@pytest.mark.parametrize("independent", [("qA", "qA'"), ("qC", "qC'"), ("qB", "qA'")])
def test_eigenvalues_do_not_depend_on_the_states_that_are_kept(independent):
    eqs = fourbar()
    model = eqs.linearize(
        {"qA": 1.0, "qA'": 0.7}, independent=independent, guess={"qB": 1.8, "qC": 1.8}
    )
    assert model.states == independent
    with pytest.raises(mg.ArgumentError, match="2 independent variations"):
        eqs.linearize({"qA": 1.0}, independent=("qA",), guess={"qB": 1.8, "qC": 1.8})


def tree() -> mg.System:
    s = mg.System("tree", gravity=(0, 0, -GRAVITY))
    motor = s.input("motor")
    base = s.body("base", mass=2.0, com=(0.1, 0, 0.05), inertia=(0.2, 0.3, 0.25))
    arm = s.body("arm", mass=1.0, com=(0, 0.2, 0.1), inertia=(0.05, 0.04, 0.06))
    s.spherical("ball", s.ground, base, child_at=(0, 0, 0.4))
    s.revolute("hinge", base, arm, axis=(0.6, 0, 0.8), at=(0.3, 0, 0), stiffness=4.0, damping=0.3)
    s.torque("drive", "hinge", motor)
    s.output("height", lambda m: m.position(arm)[2])
    return s


def test_model_of_a_tree_is_the_derivative_of_its_flow():
    """x' = A x along a motion: the flow of neighbouring starts over a short time, by central
    differences."""
    eqs = tree().equations()
    turn = Rotation.from_rotvec([0.3, -0.2, 0.5])
    q = np.array([*turn.as_quat(scalar_first=True), 0.4])
    u = np.array([0.5, -0.4, 0.8, 1.2])
    model = eqs.linearize((q, u), inputs={"motor": 0.5}, outputs=("height", "hinge'"))
    h, d = 1e-4, 1e-5

    def flow(x: np.ndarray, dt: float) -> np.ndarray:
        """Deviation (in the parent's axes) after dt of a start that deviates by x."""

        def moved(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            R = Rotation.from_rotvec(x[:3]) * turn
            body = turn.inv().apply(x[4:7])
            return np.array([*R.as_quat(scalar_first=True), q[4] + x[3]]), u + np.array(
                [*body, x[7]]
            )

        def after(state: tuple) -> tuple[np.ndarray, np.ndarray]:
            run = eqs.simulate(
                dt, state, inputs={"motor": 0.5}, rtol=1e-13, step=dt, method="dop853"
            )
            return run.q[-1], run.u[-1]

        (q0, u0), (q1, u1) = after((q, u)), after(moved(x))
        R0, R1 = (Rotation.from_quat(k[:4], scalar_first=True) for k in (q0, q1))
        return np.concatenate(
            [
                (R1 * R0.inv()).as_rotvec(),
                [q1[4] - q0[4]],
                R0.apply(u1[:3] - u0[:3]),
                [u1[3] - u0[3]],
            ]
        )

    slopes = []
    for k in range(8):
        x = np.zeros(8)
        x[k] = d
        rate = (flow(x, h) - flow(-x, h)) / (2 * d)
        double = (flow(x, 2 * h) - flow(-x, 2 * h)) / (2 * d)
        slopes.append((4 * (rate - x / d) - (double - x / d)) / (2 * h))
    np.testing.assert_allclose(model.A, np.array(slopes).T, atol=2e-4 * np.abs(model.A).max())
    assert model.states == (
        "ball.rx",
        "ball.ry",
        "ball.rz",
        "hinge",
        "ball.wx",
        "ball.wy",
        "ball.wz",
        "hinge'",
    )
    np.testing.assert_allclose(
        model.B[:, 0],
        np.r_[np.zeros(4), _turned(eqs, q, eqs.jacobian("accelerations", "inputs", q, u))],
        atol=1e-12,
    )
    assert model.C.shape == (2, 8)
    assert model.C[1].tolist() == [0, 0, 0, 0, 0, 0, 0, 1]


def _turned(eqs: mg.Equations, q: np.ndarray, column: np.ndarray) -> np.ndarray:
    turn = Rotation.from_quat(q[:4], scalar_first=True)
    return np.r_[turn.apply(column[:3, 0]), column[3:, 0]]


def rolling_disc() -> mg.System:
    """A uniform disc of mass and radius one on a plane, its axis z; the contact by the closed form
    of its lowest point."""
    s = mg.System("disc", gravity=(0, 0, -GRAVITY))
    disc = s.body("disc", mass=1.0, inertia=(0.25, 0.25, 0.5))
    s.free("free", s.ground, disc)

    def arm(m: mg.Motion) -> ca.SX:
        up = m.rotation(disc).T[:, 2]
        across = ca.vertcat(up[0], up[1], 0)
        return m.rotation(disc) @ (-across / ca.norm_2(across))

    s.constrain("floor", position=lambda m: (m.position(disc) + arm(m))[2])
    s.constrain(
        "no slip",
        velocity=lambda m: (m.velocity(disc) + ca.cross(m.angular_velocity(disc), arm(m)))[:2],
    )
    return s


@pytest.mark.parametrize("factor", [0.5, 0.98, 1.02, 2.0])
def test_rolling_disc_is_stable_above_its_critical_speed(factor):
    """ω² > g / 3r; between, the eigenvalues are those of the linear equations: λ² = (4/5) g −
    (12/5) ω²."""
    eqs = rolling_disc().equations()
    omega = factor * np.sqrt(GRAVITY / 3)
    turn = Rotation.from_euler("x", -90, degrees=True).as_quat(scalar_first=True)
    names = dict(zip(("free.q0", "free.q1", "free.q2", "free.q3"), turn, strict=True))
    model = eqs.linearize(
        {**names, "free.z": 1.0, "free.wz": omega, "free.wx": 0.0, "free.wy": 0.0}
    )
    square = 0.8 * GRAVITY - 2.4 * omega**2
    moving = [value for value in model.eigenvalues() if abs(value) > 1e-4]
    np.testing.assert_allclose(np.square(moving).real, [square, square], rtol=1e-9)
    assert model.is_stable(1e-6) is (factor > 1)


def test_steady_precession_of_a_top():
    """A symmetric top held at angle θ precesses steadily at the slow rate of C ω₃ Ω − A' Ω² cos θ =
    m g l."""
    s = mg.System("top", gravity=(0, 0, -GRAVITY))
    top = s.body("top", mass=1.0, com=(0, 0, 0.2), inertia=(0.01, 0.01, 0.02))
    s.joint("pivot", s.ground, top, [mg.rot("z", "psi"), mg.rot("x", "theta"), mg.rot("z", "phi")])
    eqs = s.equations()
    guess = {"pivot.theta": 0.6, "pivot.psi'": 3.0, "pivot.phi'": 60.0}
    _, u = eqs.steady(
        guess, hold=["pivot.theta", "pivot.theta'", "pivot.phi'", "pivot.psi", "pivot.phi"]
    )
    rate = dict(zip(eqs.speeds, u, strict=True))
    Omega, spin, A, C, mgl = (
        rate["pivot.psi'"],
        rate["pivot.phi'"],
        0.01 + 0.04,
        0.02,
        GRAVITY * 0.2,
    )
    omega_3 = spin + Omega * np.cos(0.6)
    assert C * omega_3 * Omega - A * Omega**2 * np.cos(0.6) == pytest.approx(mgl, rel=1e-8)


def test_no_equilibrium_is_an_error_that_says_what_still_changes():
    s = mg.System("falling", gravity=(0, 0, -1.0))
    s.prismatic("drop", s.ground, s.body("stone", mass=1.0, inertia=0), axis="z")
    with pytest.raises(mg.AssemblyError, match="drop'"):
        s.equations().equilibrium()


def pendulum(stiffness: float = 0.0) -> mg.System:
    s = mg.System("pendulum", gravity=(0, 0, -GRAVITY))
    rod = s.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    s.revolute("hinge", s.ground, rod, axis="y", stiffness=s.parameter("k", stiffness))
    s.output("tip", lambda m: m.position(rod) + m.axis(rod, "-z"))
    s.output("jolt", lambda m: m.angular_acceleration(rod)[1])
    s.output("text", lambda m: "down")
    return s


def test_what_swings_through_its_lowest_point_is_not_steady():
    """u̇ = 0 at an instant is not enough: the only steady motion near it is rest."""
    eqs = pendulum().equations()
    q, u = eqs.steady({"hinge'": 3.0})
    assert abs(q[0]) < 1e-12
    assert abs(u[0]) < 1e-12
    with pytest.raises(mg.AssemblyError, match="hinge'"):
        eqs.steady({"hinge'": 3.0}, hold=["hinge'"])


def test_a_motion_that_is_steady_to_first_order_is_refused():
    s = mg.System("cubic spring")
    bead = s.body("bead", mass=1.0, inertia=0)
    s.prismatic("wire", s.ground, bead, axis="x")
    s.force("spring", bead, lambda m: ca.vertcat(-(m.coordinate("wire") ** 3), 0, 0))
    with pytest.raises(mg.AssemblyError, match="for an instant only"):
        s.equations().steady({"wire'": 3.0})


@pytest.mark.parametrize(("start", "expected"), [(0.1, 0.0), (1.5, 0.0), (1.6, np.pi)])
def test_equilibria_are_those_near_the_guess(start, expected):
    q, u = pendulum().equations().equilibrium({"hinge": start})
    assert not u.any()
    assert q[0] == pytest.approx(expected, abs=1e-12)


def test_a_horizontal_arm_finds_its_equilibrium():
    """Its moment has no slope in the reference configuration."""
    s = mg.System("arm", gravity=(0, 0, -GRAVITY))
    s.revolute(
        "hinge",
        s.ground,
        s.body("arm", mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1)),
        axis="y",
    )
    q, _ = s.equations().equilibrium()
    assert abs(np.cos(q[0])) < 1e-12


def test_a_state_may_be_the_guess():
    eqs = fourbar()
    start = eqs.assemble({"qA": 1.2}, guess={"qB": 1.8})
    assert eqs.equilibrium(start)[0][0] == pytest.approx(np.arctan(np.sqrt(15)), abs=1e-9)


def test_what_depends_on_time_has_no_equilibrium():
    s = mg.System("shaken", gravity=(0, 0, -GRAVITY))
    s.joint("base", s.ground, s.frame("base frame"), [mg.move("x", 0.5 * mg.sin(3 * s.time))])
    rod = s.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    s.revolute("hinge", "base frame", rod, axis="y")
    with pytest.raises(mg.UnsupportedError, match="time"):
        s.equations().equilibrium()
    s = mg.System("driven", gravity=(0, 0, -GRAVITY))
    s.revolute(
        "hinge",
        s.ground,
        s.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1)),
        axis="y",
    )
    s.servo("drive", "hinge", 0.3 * s.time)
    with pytest.raises(mg.UnsupportedError, match="'drive' depends on time"):
        s.equations().steady()


@pytest.mark.parametrize("formalism", ["newton-euler", "absolute"])
@pytest.mark.parametrize(("theta", "Omega"), [(1.0, 2.0), (1.05, 2.0), (0.4, -3.0)])
def test_steady_circles_of_the_rolling_disc(formalism, theta, Omega):
    """(C + m r²) ω₃ Ω sin ϑ − A Ω² sin ϑ cos ϑ = −m g r cos ϑ, from a rough guess of the spin; x'
    and y' turn meanwhile."""
    s = mg.System("disc", gravity=(0, 0, -GRAVITY))
    disc = s.body("disc", mass=1.0, inertia=(0.25, 0.25, 0.5))
    turns = [mg.rot("z", "yaw"), mg.rot("x", "tilt"), mg.rot("z", "spin")]
    s.joint(
        "centre", s.ground, disc, [*(mg.move(axis, axis) for axis in "xyz"), *turns], at=(0, 0, 1)
    )
    s.roll("floor", mg.Disc(disc, 1.0), mg.Plane(s.ground))
    eqs = s.equations(formalism)
    guess = {"centre.tilt": theta, "centre.yaw'": Omega, "centre.spin'": -3.0 * np.sign(Omega)}
    state = eqs.steady(guess, hold=["centre.tilt", "centre.yaw'"])
    names = ("centre.tilt", "centre.yaw'", "centre.spin'")
    tilt, yaw, spin = eqs.observe(
        lambda m: [m.coordinate(names[0]), m.speed(names[1]), m.speed(names[2])], *state
    )
    assert (tilt, yaw) == pytest.approx((theta, Omega), abs=1e-12)
    omega_3 = spin + Omega * np.cos(theta)
    sine, cosine = np.sin(theta), np.cos(theta)
    assert 1.5 * omega_3 * Omega * sine - 0.25 * Omega**2 * sine * cosine == pytest.approx(
        -GRAVITY * cosine, rel=1e-10
    )
    if (theta, Omega) == (1.0, 2.0):
        # the example of cases/rolling_disc.json
        assert omega_3 == pytest.approx(-1.919542085482549, rel=1e-12)


def test_straight_rolling_is_steady():
    s = gallery.load("rolling_disc").system(angles=True)
    eqs = s.equations()
    q, u = eqs.steady(
        {"centre.tilt": 1.5, "centre.spin'": -3.0}, hold=["centre.spin'", "centre.yaw'"]
    )
    found = dict(zip((*eqs.coordinates, *eqs.speeds), (*q, *u), strict=True))
    assert found["centre.tilt"] == pytest.approx(np.pi / 2, abs=1e-10)
    assert found["centre.x'"] == pytest.approx(3.0, abs=1e-10)


def test_conical_pendulum():
    """Ω² l cos ϑ = g for a point mass."""
    s = mg.System("conical", gravity=(0, 0, -GRAVITY))
    bob = s.body("bob", mass=0.7, com=(0, 0, -0.8), inertia=0)
    s.joint("pivot", s.ground, bob, [mg.rot("z", "turn"), mg.rot("x", "swing")])
    _, u = s.equations().steady({"pivot.swing": 0.6, "pivot.turn'": 3.0}, hold=["pivot.swing"])
    assert u[0] == pytest.approx(np.sqrt(GRAVITY / (0.8 * np.cos(0.6))), rel=1e-12)


def test_speeds_that_need_not_be_constant_can_be_told():
    """A crank turns steadily, its rod does not: to be constant the crank is enough, and nothing
    drives or brakes it."""
    s = mg.System("crank and idle slider")
    wheel, block = s.body("wheel", mass=1.0, inertia=(0.1, 0.1, 0.1)), s.frame("block")
    s.revolute("crank", s.ground, wheel, axis="z")
    s.prismatic("slider", s.ground, block, axis="x")
    s.distance("rod", s.marker("pin", wheel, at=(0.3, 0, 0)), block, 1.0)
    eqs = s.equations()
    guess = {"crank": 0.4, "crank'": 5.0, "slider": 1.2}
    with pytest.raises(mg.AssemblyError):
        eqs.steady(guess, hold=["crank'"])
    q, u = eqs.steady(guess, hold=["crank", "crank'"], constant=["crank'"])
    assert q[1] == pytest.approx(
        0.3 * np.cos(0.4) + np.sqrt(1 - (0.3 * np.sin(0.4)) ** 2), rel=1e-10
    )
    assert u[0] == 5.0
    with pytest.raises(mg.ArgumentError, match="unknown constant speed 'crank'"):
        eqs.steady(constant=["crank"])
    with pytest.raises(mg.ArgumentError, match="list of names"):
        eqs.steady(constant="crank'")


def test_names_that_are_held_are_checked():
    s = mg.System("ball", gravity=(0, 0, -GRAVITY))
    s.spherical(
        "ball", s.ground, s.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    )
    for formalism in ("newton-euler", "absolute"):
        eqs = s.equations(formalism)
        for hold, what in (
            (["nope"], "unknown"),
            ("ball.wz", "list of names"),
            (["ball.q1"], "joint 'ball' as a whole"),
        ):
            for study in (eqs.steady, eqs.equilibrium):
                with pytest.raises(mg.ArgumentError, match=what):
                    study({}, hold=hold)
    eqs, tilted = s.equations(), [np.cos(0.2), np.sin(0.2), 0, 0]
    assert eqs.steady({"ball.wz": 1.0}, hold=["ball"])[0] == pytest.approx([1, 0, 0, 0])
    assert eqs.steady({"ball.wz": 1.0}, hold=["ball'"])[1] == pytest.approx([0, 0, 1])
    with pytest.raises(mg.AssemblyError, match="still changes"):
        eqs.equilibrium({"ball": tilted}, hold=["ball"])
    assert eqs.equilibrium({"ball": tilted})[0] == pytest.approx([1, 0, 0, 0], abs=1e-12)


@pytest.mark.parametrize("formalism", ["newton-euler", "absolute"])
def test_a_guess_need_not_be_consistent(formalism):
    eqs = gallery.load("fourbar").system().equations(formalism)
    q, u = eqs.equilibrium({"qA": 1.3, "qB": 1.8})
    assert np.abs(eqs.accelerations(q, u)).max() < 1e-12
    assert eqs.observe(lambda m: m.coordinate("qA"), q)[0] == pytest.approx(
        np.arctan(np.sqrt(15)), abs=1e-10
    )


def test_what_nothing_depends_on_stays_as_guessed():
    s = mg.System("bead", gravity=(0, 0, -GRAVITY))
    bead = s.body("bead", mass=2.0, inertia=(0.1, 0.2, 0.15))
    s.free("place", s.ground, bead)
    s.constrain("track", position=lambda m: m.position(bead)[2] - m.position(bead)[0] ** 2 / 2)
    s.constrain("plane", position=lambda m: m.position(bead)[1])
    turn = [0.8, 0.0, 0.6, 0.0]
    q, _ = s.equations().equilibrium(
        {"place.x": 0.1, **{f"place.q{i}": value for i, value in enumerate(turn)}}
    )
    assert q == pytest.approx([0, 0, 0, *turn], abs=1e-12)


@pytest.mark.parametrize(("stiffness", "mass"), [(1e4, 1e-3), (1e6, 1e-6)])
def test_stiff_and_light_has_its_equilibrium(stiffness, mass):
    s = mg.System("stiff", gravity=(0, 0, -GRAVITY))
    block = s.body("block", mass=mass, inertia=0)
    s.prismatic("rail", s.ground, block, axis="z", stiffness=stiffness)
    s.revolute("hinge", block, s.body("bob", mass=mass, com=(0, 0, -0.01), inertia=0), axis="y")
    q, _ = s.equations().equilibrium({"hinge": 0.3})
    assert q[0] == pytest.approx(-2 * mass * GRAVITY / stiffness, rel=1e-10)
    assert abs(q[1]) < 1e-10


@pytest.mark.parametrize("stiffness", [1e2, 1e8, 1e12])
def test_stiffness_does_not_hide_that_all_of_it_falls(stiffness):
    s = mg.System("falling pair", gravity=(0, 0, -GRAVITY))
    pair = [s.body(name, mass=1.0, inertia=0) for name in "ab"]
    for body in pair:
        s.prismatic(f"rail {body.name}", s.ground, body, axis="z")
    s.spring_damper("spring", *pair, stiffness=stiffness, length=0.1)
    with pytest.raises(mg.AssemblyError, match="still changes"):
        s.equations().equilibrium({"rail a": 0.2})


# --- steady turns ---------------------------------------------------------------------------------


def turning_disc(kind: str) -> mg.System:
    s = mg.System("disc", gravity=(0, 0, -GRAVITY))
    disc = s.body("disc", mass=1.0, inertia=(0.25, 0.25, 0.5))
    if kind == "chain":
        turns = [mg.rot("z", "yaw"), mg.rot("x", "tilt"), mg.rot("z", "spin")]
        s.joint(
            "centre",
            s.ground,
            disc,
            [*(mg.move(axis, axis) for axis in "xyz"), *turns],
            at=(0, 0, 1),
        )
    else:
        s.free("centre", s.ground, disc, at=(0, 0, 1))
    s.roll("floor", mg.Disc(disc, 1.0), mg.Plane(s.ground))
    return s


def pose(kind: str, joint: str, angles: tuple, rates: tuple) -> dict[str, float]:
    """A start for yaw, tilt, spin and their rates, by a chain or by a quaternion."""
    names = ("yaw", "tilt", "spin")
    if kind == "chain":
        both = zip(names, angles, rates, strict=True)
        return {
            key: x
            for name, a, r in both
            for key, x in ((f"{joint}.{name}", a), (f"{joint}.{name}'", r))
        }
    R = Rotation.from_euler("ZXZ", angles)
    nodes = Rotation.from_euler("Z", angles[0]).as_matrix()[:, 0]
    omega = R.inv().apply(rates[0] * np.eye(3)[2] + rates[1] * nodes) + rates[2] * np.eye(3)[2]
    return {
        **{f"{joint}.q{i}": x for i, x in enumerate(R.as_quat(scalar_first=True))},
        **{f"{joint}.w{axis}": x for axis, x in zip("xyz", omega, strict=True)},
    }


DESCRIPTIONS = [
    ("chain", "newton-euler"),
    ("chain", "absolute"),
    ("ball", "newton-euler"),
    ("ball", "absolute"),
]


def has(model: mg.LinearModel, *pairs: complex) -> bool:
    """The eigenvalues are these with their conjugates, those of the turning axes themselves, and
    zeros.

    A triple zero splits by the cube root of the rounding.
    """
    rate = np.linalg.norm(model.turning)
    known = [value for pair in (*pairs, 1j * rate, 0) for value in (pair, np.conj(pair))]
    values = model.eigenvalues()
    return all(abs(values - pair).min() < 1e-8 for pair in pairs) and all(
        abs(x - np.array(known)).min() < 1e-4 for x in values
    )


@pytest.mark.parametrize(("kind", "formalism"), DESCRIPTIONS)
def test_disc_in_steady_turns(kind, formalism):
    """Spinning on its edge: λ² = (4/5) g − Ω². In a circle: by differences of the reduced equations
    of motion."""
    eqs = turning_disc(kind).equations(formalism)
    for factor in (0.9, 1.1):
        Omega = factor * np.sqrt(0.8 * GRAVITY)
        model = eqs.linearize(pose(kind, "centre", (0.3, np.pi / 2, 0.4), (Omega, 0.0, 0.0)))
        growth = np.emath.sqrt(0.8 * GRAVITY - Omega**2)
        assert has(model, growth, -growth)
        assert (model.stability().verdict != "unstable") is (factor > 1)
    theta, Omega, omega_3 = 1.0, 2.0, -1.919542085482549
    model = eqs.linearize(
        pose(kind, "centre", (0.7, theta, 0.4), (Omega, 0.0, omega_3 - Omega * np.cos(theta)))
    )
    assert has(model, 3.149718345j)
    assert model.stability().verdict != "unstable"


@pytest.mark.parametrize(("kind", "formalism"), DESCRIPTIONS)
def test_top_in_steady_precession(kind, formalism):
    """Nutation: −λ² = Ω² sin² θ + (C ω₃/A − 2 Ω cos θ)², from A θ'' = A Ω² sin θ cos θ − C ω₃ Ω sin
    θ + m g l sin θ with the moments of momentum constant."""
    s = mg.System("top", gravity=(0, 0, -GRAVITY))
    A, C, mgl, theta, omega_3 = 0.35, 0.1, GRAVITY * 0.5, 0.6, 200.0
    top = s.body("top", mass=1.0, com=(0, 0, 0.5), inertia=(0.1, 0.1, C))
    turns = [mg.rot("z", "yaw"), mg.rot("x", "tilt"), mg.rot("z", "spin")]
    s.joint("j", s.ground, top, turns) if kind == "chain" else s.spherical("j", s.ground, top)
    c = np.cos(theta)
    Omega = 2 * mgl / (C * omega_3 + np.sqrt((C * omega_3) ** 2 - 4 * A * c * mgl))
    model = s.equations(formalism).linearize(
        pose(kind, "j", (0.2, theta, 0.1), (Omega, 0.0, omega_3 - Omega * c))
    )
    assert has(model, 1j * np.hypot(Omega * np.sin(theta), C * omega_3 / A - 2 * Omega * c))
    assert model.stability().verdict != "unstable"


def test_spin_about_the_middle_axis_is_unstable():
    """λ² = ω² (I₂ − I₁)(I₃ − I₂)/(I₁ I₃), for axes that turn with the body."""
    s = mg.System("racket")
    s.free("flight", s.ground, s.body("racket", mass=1.0, inertia=(1.0, 2.0, 2.5)))
    model = s.equations().linearize({"flight.wy": 3.0})
    np.testing.assert_allclose(model.turning, [0, 3, 0], atol=1e-9)
    assert "turn with [" in repr(model)
    assert model.eigenvalues()[0] == pytest.approx(3 * np.sqrt(0.2), rel=1e-9)


@pytest.mark.parametrize("formalism", ["newton-euler", "absolute"])
@pytest.mark.parametrize("start", [{"hinge'": 1.0}, {"hinge": 0.5}])
def test_a_model_that_changes_has_no_eigenvalues(formalism, start):
    """Also where its first derivative happens to vanish, at the bottom and at a turning point."""
    model = pendulum().equations(formalism).linearize(start)
    assert not model.constant
    assert "changing" in repr(model)
    for ask in (model.eigenvalues, model.modes, model.is_stable):
        with pytest.raises(mg.ArgumentError, match="independent="):
            ask()
    assert model.A.shape == (2, 2)


def test_a_linear_system_is_constant_in_any_motion():
    s = mg.System("oscillator")
    s.prismatic("x", s.ground, s.body("b", mass=1.0, inertia=0), axis="z", stiffness=4.0)
    np.testing.assert_allclose(
        s.equations().linearize({"x": 0.3, "x'": 1.0}).eigenvalues(), [2j, -2j], atol=1e-12
    )


def test_a_model_that_changes_in_time_is_seen_to_whatever_its_period():
    """ẍ = −4(1 + 0.3 sin 2πt) x: what is looked at ten whole periods later is the same."""
    s = mg.System("swinging spring")
    s.prismatic("x", s.ground, s.body("b", mass=1.0, inertia=0))
    s.torque("k", "x", lambda m: -4 * (1 + 0.3 * mg.sin(2 * np.pi * m.time)) * m.coordinate("x"))
    assert not s.equations().linearize().constant


# --- states, runs, outputs ------------------------------------------------------------------------


def test_states_are_coordinates_and_speeds_in_equal_numbers():
    model = fourbar().linearize({"qA": 1.0, "qA'": 0.7}, guess={"qB": 1.8, "qC": 1.8})
    assert [name.endswith("'") for name in model.states] == [False, True]


def test_names_of_joints_are_states_in_absolute_coordinates():
    start, options = (
        {"qA": 1.0, "qA'": 0.7},
        {"guess": {"qB": 1.8, "qC": 1.8}, "independent": ["qA", "qA'"]},
    )
    system = gallery.load("fourbar").system()
    models = [
        system.equations(name).linearize(start, **options) for name in ("newton-euler", "absolute")
    ]
    assert models[1].states == ("qA", "qA'")
    np.testing.assert_allclose(models[1].A, models[0].A, atol=1e-9)


def test_a_name_twice_is_refused():
    with pytest.raises(mg.ArgumentError, match="twice"):
        fourbar().linearize(independent=["qA", "qA"])


def test_model_at_the_end_of_a_run_has_its_parameters():
    s = pendulum()
    run = s.equations().simulate(1.0, parameters={"k": 50.0})
    frequency = np.sqrt((50 + GRAVITY / 2) / 0.35)
    for formalism in ("newton-euler", "absolute"):
        model = s.equations(formalism).linearize(run)
        np.testing.assert_allclose(model.eigenvalues().imag, [frequency, -frequency], rtol=1e-9)
    other = mg.System("other")
    other.revolute(
        "hinge", other.ground, other.body("rod", mass=1.0, inertia=(0.1, 0.1, 0.1)), axis="y"
    )
    with pytest.raises(mg.ArgumentError, match="a run of 'pendulum'"):
        other.equations().linearize(run)


def test_contacts_are_as_at_the_end_of_the_run():
    s = mg.System("resting", gravity=(0, 0, -GRAVITY))
    ball = s.body("ball", mass=1.0, inertia=(0.004,) * 3)
    s.free("place", s.ground, ball, at=(0, 0, 0.1))
    s.rigid_contact("floor", mg.Sphere(ball, 0.1), mg.Plane(s.ground), friction=0.3)
    eqs = s.equations()
    closed = eqs.linearize({}, parameters={"floor.touching": 1, "floor.sticking": 1})
    assert len(eqs.linearize({"place.z": 0.1}).states) == 12  # above the floor
    assert len(closed.states) == len(eqs.linearize(eqs.simulate(0.2)).states) == 8


def test_outputs_by_every_name_that_a_run_takes():
    s = pendulum()
    stiffness = GRAVITY / 2 / 0.35
    for formalism in ("newton-euler", "absolute"):
        model = s.equations(formalism).linearize(
            outputs=["jolt", "tip", "rod", "hinge", "hinge'"], independent=["hinge", "hinge'"]
        )
        assert model.outputs == (
            "jolt",
            "tip x",
            "tip y",
            "tip z",
            "rod x",
            "rod y",
            "rod z",
            "hinge",
            "hinge'",
        )
        expected = [[-stiffness, 0], [-1, 0], *[[0, 0]] * 5, [1, 0], [0, 1]]
        np.testing.assert_allclose(model.C, expected, atol=1e-12)
    for wrong, message in (
        (["text"], "must be a number"),
        ("tip", "a list of names"),
        (["nope"], "unknown name 'nope'"),
    ):
        with pytest.raises(mg.ArgumentError, match=message):
            s.equations().linearize(outputs=wrong)
    assert fourbar().linearize(
        {"qA": 1.0}, guess={"qB": 1.8, "qC": 1.8}, outputs=["pin"]
    ).C.shape == (1, 2)


@pytest.mark.parametrize("formalism", ["newton-euler", "absolute"])
def test_double_zeros_are_no_instability(formalism):
    s = mg.System("slides")
    first, second = (s.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in "ab")
    s.free("x", s.ground, first)
    s.prismatic("y", first, second, axis=(0.6, 0, 0.8), stiffness=1e6)
    found = s.equations(formalism).linearize().stability()
    assert found.verdict == "stable"
    assert found.is_stable
    s.force("hill", first, lambda m: 1e-4 * m.position(first))
    assert s.equations(formalism).linearize().stability().verdict == "unstable"


def test_model_for_the_package_control():
    model = tree().equations().linearize(outputs=["height", "hinge'"])
    there = model.to_control()
    assert there.state_labels[:2] == ["ball_rx", "ball_ry"]
    assert there.output_labels == ["height", "hinge'"]
    np.testing.assert_array_equal(there.A, model.A)


@pytest.mark.parametrize("formalism", ["newton-euler", "absolute"])
@pytest.mark.parametrize(("third", "locked"), [(1.0, False), (2.0, True)])
def test_a_mechanism_that_is_free_to_first_order_only_is_told(formalism, third, locked):
    """Three parallel cranks on one coupler: it moves only if all are of one length."""
    s = mg.System("cranks", gravity=(0, 0, -GRAVITY))
    coupler = s.body("coupler", mass=2.0, com=(1, 0, 0), inertia=(0.1, 0.5, 0.5))
    for k, length in enumerate((1.0, 1.0, third)):
        crank = s.body(f"crank {k}", mass=1.0, com=(0, 0, -length / 2), inertia=(0.1, 0.1, 0.01))
        s.revolute(f"pivot {k}", s.ground, crank, axis="y", at=(k, 0, length - 1.0))
        s.revolute(f"pin {k}", crank, coupler, axis="y", at=(0, 0, -length), child_at=(k, 0, 0))
    equations = s.equations(formalism)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        equations.linearize()
    assert any("locked" in str(each.message) for each in told) is locked
    assert not any("motions part" in str(each.message) for each in told)


def parallelogram() -> mg.System:
    """All in a line, where it may go on as a parallelogram or folded; a spring holds it beside."""
    s = mg.System("parallelogram")
    A, B, C = (s.body(n, mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1)) for n in "ABC")
    s.revolute("a", s.ground, A, axis="y")
    s.revolute("b", A, B, axis="y", at=(1, 0, 0))
    s.revolute("c", s.ground, C, axis="y", at=(1, 0, 0))
    s.revolute("d", B, C, axis="y", at=(1, 0, 0), child_at=(1, 0, 0))
    s.torque("spring", "a", lambda m: 0.01 - m.coordinate("a"))
    return s


@pytest.mark.parametrize("formalism", ["newton-euler", "absolute"])
def test_a_branch_point_is_told(formalism):
    """Beside it the parallelogram swings with ω² = 1 N m / 1.7 kg m²; at it nothing does with what
    is compatible to first order."""
    equations = parallelogram().equations(formalism)
    with pytest.warns(UserWarning, match="motions part here: .* on the branch that is meant"):
        equations.linearize()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        beside = equations.linearize({"a": 0.01}, guess={"b": -0.01, "c": 0.01})
    np.testing.assert_allclose(np.abs(beside.eigenvalues()), 1 / np.sqrt(1.7), rtol=1e-9)


def test_constraints_that_vanish_together_are_told():
    """x z = 0 where both are zero: along x or along z, but not both."""
    s = mg.System("cross")
    s.joint("j", s.ground, s.body("b", mass=1.0, inertia=0), [mg.move("x", "x"), mg.move("z", "z")])
    s.constrain("c", position=lambda m: m.position("b")[2] * m.position("b")[0])
    with pytest.warns(UserWarning, match="motions part here"):
        s.equations().linearize()


def test_what_is_locked_is_told_in_any_direction():
    """(x + z)² = 0 leaves x − z; it is seen in no single coordinate which of the two it is."""
    s = mg.System("slanted")
    s.joint("j", s.ground, s.body("b", mass=1.0, inertia=0), [mg.move("x", "x"), mg.move("z", "z")])
    s.constrain("c", position=lambda m: (m.position("b")[2] + m.position("b")[0]) ** 2)
    with pytest.warns(UserWarning, match="the mechanism is locked here"):
        s.equations().linearize()


@pytest.mark.parametrize("formalism", ["newton-euler", "absolute"])
def test_a_door_on_two_hinges_is_no_branch_point(formalism):
    s = mg.System("door", gravity=(0, 0, -GRAVITY))
    door = s.body("door", mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
    s.revolute("low", s.ground, door, axis="z", stiffness=1.0)
    s.revolute("high", s.ground, door, axis="z", at=(0, 0, 1), child_at=(0, 0, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        s.equations(formalism).linearize()


# --- where nothing is linear ----------------------------------------------------------------------


def test_a_spring_without_a_length_has_no_linear_model():
    s = mg.System("spring")
    bob = s.body("bob", mass=1.0, inertia=0)
    s.joint("at", s.ground, bob, [mg.move("x", "x"), mg.move("z", "z")])
    s.spring_damper("spring", s.ground, bob, stiffness=10.0, length=0.5)
    with pytest.raises(mg.ArgumentError, match=r"no linear model here: the rate of at\.x', at\.z'"):
        s.equations().linearize()
    # beside it, at the spring's own length: ω² = k/m along it
    values = s.equations().linearize({"at.x": 0.5}).eigenvalues()
    assert np.abs(values.imag).max() == pytest.approx(np.sqrt(10.0), rel=1e-12)


def test_what_has_no_inertia_is_named():
    idle = mg.System("idle", gravity=(0, 0, -GRAVITY))
    point = idle.body("point", mass=1.0, com=(0, 0, -1), inertia=0)
    idle.spherical("ball", idle.ground, point)
    frame = mg.System("frame")
    frame.revolute("hinge", frame.ground, frame.frame("massless"), axis="y")
    for system, name in ((idle, "ball.wz"), (frame, "hinge'")):
        with pytest.raises(mg.ArgumentError, match=f"moves with .{name}. has inertia"):
            system.equations().linearize()


def test_what_is_far_below_a_falling_body_does_not_count():
    """A linear model looks ahead a little to tell whether it stays as it is, not to the ground."""
    s = mg.System("fall", gravity=(0, 0, -9.81))
    ball = s.body("ball", mass=2.0, inertia=(0.02, 0.02, 0.02))
    s.free("free", s.ground, ball, at=(0, 0, 3))
    plane = mg.Plane(s.marker("floor", s.ground))
    s.compliant_contact("contact", mg.Sphere(ball, 0.2), plane, stiffness=2e4, damping=2.0)
    eigenvalues = s.equations().linearize({}).eigenvalues()
    assert np.abs(eigenvalues).max() < 1e-6


def test_accelerations_that_are_known_badly_do_not_tell_a_steady_motion(monkeypatch):
    """A rod of next to no inertia about its axis: to see whether the model stays the same along the
    motion took 4,000 evaluations with a warning each, that nobody saw."""
    s = mg.System("rod", gravity=(0, 0, -9.81))
    rod = s.body("rod", mass=2.156, inertia=(0.05, 0.05, 1e-13))
    s.free("place", s.ground, rod, child_at=(-0.274, -0.066, 0.182))
    s.force("push", rod, (0.723, 2 * mg.sin(3 * s.time), 0.985), frame="body")
    s.drag("air", rod, 0.404, wind=(0.175, 0.036, 0.241), air="ground")
    turned = {"place.q0": 0.13, "place.q1": -0.945, "place.q2": -0.147, "place.q3": -0.261}
    eqs, asked, known = s.equations(), [], mg.Equations.accelerations
    monkeypatch.setattr(
        mg.Equations, "accelerations", lambda *a, **k: asked.append(1) or known(*a, **k)
    )
    with pytest.warns(UserWarning, match="has inertia"):
        model = eqs.linearize(eqs.assemble(guess=turned))
    assert not model.constant
    assert len(asked) < 50


def swung(size: float, formalism: str) -> tuple[float, float]:
    """The frequency of a slider-crank that hangs, and how far it falls; in times that go with the
    root of its size."""
    s = mg.System("slider-crank", gravity=(0, 0, -9.81))
    inertia = (0.02 * size**2,) * 3
    crank = s.body("crank", mass=1.0, com=(0.1 * size, 0, 0), inertia=inertia)
    rod = s.body("rod", mass=2.0, com=(0.3 * size, 0, 0), inertia=inertia)
    piston = s.body("piston", mass=3.0, inertia=inertia)
    s.revolute("crank", s.ground, crank, axis="y")
    s.revolute("pin", crank, rod, axis="y", at=(0.2 * size, 0, 0))
    s.prismatic("slide", s.ground, piston)
    s.revolute("wrist", rod, piston, axis="y", at=(0.6 * size, 0, 0))
    eqs, pace, guess = s.equations(formalism), np.sqrt(size), {"slide": 0.6 * size}
    model = eqs.linearize(eqs.equilibrium(guess | {"crank": 1.3}))
    run = eqs.simulate(0.2 * pace, {"crank": 1.3}, guess=guess)
    return np.abs(model.eigenvalues()[0]) * pace, run["crank"][-1]


@pytest.mark.parametrize("formalism", ["points", "absolute", "newton-euler"])
@pytest.mark.parametrize("size", [1e-4, 1.0, 100.0])
def test_slider_cranks_of_any_size_swing_alike(size, formalism):
    assert swung(size, formalism) == pytest.approx(swung(1.0, "kane"), rel=1e-7)


def test_a_linear_model_is_the_same_whenever_it_is_asked_for():
    models = [fourbar().linearize({"qA": 1.0}, t=t) for t in (0.0, 1e9, 1e300)]
    assert all(np.array_equal(model.A, models[0].A) for model in models)
    assert len({model.constant for model in models}) == 1
