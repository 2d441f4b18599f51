"""Linear models on the constraints, equilibria and steady motions."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mechgraph as mg
from mechgraph import gallery

GRAVITY = 9.81


def fourbar() -> mg.Equations:
    return gallery.load("fourbar").system().equations()


def test_equilibrium_and_frequency_of_the_fourbar():
    eqs = fourbar()
    q, u = eqs.equilibrium({"qA": 1.2}, )  # fmt: skip
    expected = {"qA": np.arctan(np.sqrt(15)), "qB": np.pi - np.arctan(np.sqrt(15)), "qC": np.pi - np.arctan(np.sqrt(15))}
    for name, value in expected.items():
        assert q[eqs.coordinates.index(name)] == pytest.approx(value, abs=1e-9)
    assert not u.any()
    model = eqs.linearize((q, u))
    assert len(model.states) == 2
    np.testing.assert_allclose(sorted(model.eigenvalues().imag), [-1.7369383176815147, 1.7369383176815147], atol=1e-9)
    assert model.is_stable()


@pytest.mark.parametrize("independent", [("qA", "qA'"), ("qC", "qC'"), ("qB", "qA'")])
def test_eigenvalues_do_not_depend_on_the_states_that_are_kept(independent):
    eqs = fourbar()
    model = eqs.linearize({"qA": 1.0, "qA'": 0.7}, independent=independent, guess={"qB": 1.8, "qC": 1.8})
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
    """x' = A x along a motion: the flow of neighbouring starts over a short time, by central differences."""
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
            return np.array([*R.as_quat(scalar_first=True), q[4] + x[3]]), u + np.array([*body, x[7]])

        def after(state: tuple) -> tuple[np.ndarray, np.ndarray]:
            run = eqs.simulate(dt, state, inputs={"motor": 0.5}, rtol=1e-13, step=dt, method="dop853")
            return run.q[-1], run.u[-1]

        (q0, u0), (q1, u1) = after((q, u)), after(moved(x))
        R0, R1 = (Rotation.from_quat(k[:4], scalar_first=True) for k in (q0, q1))
        return np.concatenate([(R1 * R0.inv()).as_rotvec(), [q1[4] - q0[4]], R0.apply(u1[:3] - u0[:3]), [u1[3] - u0[3]]])

    slopes = []
    for k in range(8):
        x = np.zeros(8)
        x[k] = d
        rate = (flow(x, h) - flow(-x, h)) / (2 * d)
        double = (flow(x, 2 * h) - flow(-x, 2 * h)) / (2 * d)
        slopes.append((4 * (rate - x / d) - (double - x / d)) / (2 * h))
    np.testing.assert_allclose(model.A, np.array(slopes).T, atol=2e-4 * np.abs(model.A).max())
    assert model.states == ("ball.rx", "ball.ry", "ball.rz", "hinge", "ball.wx", "ball.wy", "ball.wz", "hinge'")
    np.testing.assert_allclose(
        model.B[:, 0], np.r_[np.zeros(4), _turned(eqs, q, eqs.jacobian("accelerations", "inputs", q, u))], atol=1e-12
    )
    assert model.C.shape == (2, 8)
    assert model.C[1].tolist() == [0, 0, 0, 0, 0, 0, 0, 1]


def _turned(eqs: mg.Equations, q: np.ndarray, column: np.ndarray) -> np.ndarray:
    turn = Rotation.from_quat(q[:4], scalar_first=True)
    return np.r_[turn.apply(column[:3, 0]), column[3:, 0]]


def rolling_disc() -> mg.System:
    """A uniform disc of mass and radius one on a plane, its axis z; the contact by the closed form of its lowest point."""
    s = mg.System("disc", gravity=(0, 0, -GRAVITY))
    disc = s.body("disc", mass=1.0, inertia=(0.25, 0.25, 0.5))
    s.free("free", s.ground, disc)

    def arm(m: mg.Motion) -> ca.SX:
        up = m.rotation(disc).T[:, 2]
        across = ca.vertcat(up[0], up[1], 0)
        return m.rotation(disc) @ (-across / ca.norm_2(across))

    s.constrain("floor", position=lambda m: (m.position(disc) + arm(m))[2])
    s.constrain("no slip", velocity=lambda m: (m.velocity(disc) + ca.cross(m.angular_velocity(disc), arm(m)))[:2])
    return s


@pytest.mark.parametrize("factor", [0.5, 0.98, 1.02, 2.0])
def test_rolling_disc_is_stable_above_its_critical_speed(factor):
    """ω² > g / 3r; between, the eigenvalues are those of the linear equations: λ² = (4/5) g − (12/5) ω²."""
    eqs = rolling_disc().equations()
    omega = factor * np.sqrt(GRAVITY / 3)
    turn = Rotation.from_euler("x", -90, degrees=True).as_quat(scalar_first=True)
    names = dict(zip(("free.q0", "free.q1", "free.q2", "free.q3"), turn, strict=True))
    model = eqs.linearize({**names, "free.z": 1.0, "free.wz": omega, "free.wx": 0.0, "free.wy": 0.0})
    square = 0.8 * GRAVITY - 2.4 * omega**2
    moving = [value for value in model.eigenvalues() if abs(value) > 1e-4]
    np.testing.assert_allclose(np.square(moving).real, [square, square], rtol=1e-9)
    assert model.is_stable(1e-6) is (factor > 1)


def test_steady_precession_of_a_top():
    """A symmetric top held at angle θ precesses steadily at the slow rate of C ω₃ Ω − A' Ω² cos θ = m g l."""
    s = mg.System("top", gravity=(0, 0, -GRAVITY))
    top = s.body("top", mass=1.0, com=(0, 0, 0.2), inertia=(0.01, 0.01, 0.02))
    s.joint("pivot", s.ground, top, [mg.rot("z", "psi"), mg.rot("x", "theta"), mg.rot("z", "phi")])
    eqs = s.equations()
    guess = {"pivot.theta": 0.6, "pivot.psi'": 3.0, "pivot.phi'": 60.0}
    _, u = eqs.steady(guess, hold=["pivot.theta", "pivot.theta'", "pivot.phi'", "pivot.psi", "pivot.phi"])
    rate = dict(zip(eqs.speeds, u, strict=True))
    Omega, spin, A, C, mgl = rate["pivot.psi'"], rate["pivot.phi'"], 0.01 + 0.04, 0.02, GRAVITY * 0.2
    omega_3 = spin + Omega * np.cos(0.6)
    assert C * omega_3 * Omega - A * Omega**2 * np.cos(0.6) == pytest.approx(mgl, rel=1e-8)


def test_no_equilibrium_is_an_error_that_says_what_still_changes():
    s = mg.System("falling", gravity=(0, 0, -1.0))
    s.prismatic("drop", s.ground, s.body("stone", mass=1.0, inertia=0), axis="z")
    with pytest.raises(mg.AssemblyError, match="drop'"):
        s.equations().equilibrium()
