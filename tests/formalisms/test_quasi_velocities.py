"""Boltzmann–Hamel, Maggi, Hamilton: what is their own, beyond the agreement with all others."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from click.testing import CliRunner
from scipy.integrate import solve_ivp

import mechgraph as mg
from mechgraph import cli
from mechgraph.closures.numbers import penalty
from mechgraph.numerics.rank import Independent
from motion.test_speeds import mixed, sleigh
from random_systems import random_loop, random_tree

MASS, AHEAD, INERTIA = 2.0, 0.3, 0.4  # of the sleigh
FORMALISMS = ["boltzmann-hamel", "maggi", "hamilton"]


@pytest.mark.parametrize("formalism", FORMALISMS)
@pytest.mark.parametrize("seed", [2, 4, 6, 11])
def test_random_trees(formalism, seed):
    system = random_tree(seed).system
    for each in (system, mixed(system, 3)):
        report = mg.agreement(each, states=2, formalisms=[formalism])
        assert report.ok, report


@pytest.mark.parametrize("formalism", FORMALISMS)
def test_random_loops(formalism):
    loop = random_loop(3, "spherical")
    for each in (loop.system, mixed(loop.system, 3)):
        report = mg.agreement(each, states=1, guess=loop.configuration, formalisms=[formalism])
        assert report.ok, report


# --- Boltzmann–Hamel ------------------------------------------------------------------------------


def free_body():
    s = mg.System("body")
    b = s.body("b", mass=1.0, inertia=(0.2, 0.3, 0.4))
    s.spherical("ball", s.ground, b)
    return s


def test_gamma_of_an_angular_velocity_is_that_of_the_cross_product():
    """Body axes: [X_j, X_k] = ε_jki X_i; world axes: the other sign. Rates of angles: none."""
    body = free_body().equations("boltzmann-hamel").boltzmann_hamel
    epsilon = np.zeros((3, 3, 3))  # i, j, k
    for i, j, k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
        epsilon[i, j, k], epsilon[i, k, j] = 1.0, -1.0
    q = np.array([0.1, -0.5, 0.5, 0.7])
    assert np.allclose(body.gamma(q), epsilon, atol=1e-15)
    s = free_body()
    for k, axis in enumerate("xyz"):
        s.speed(f"W{axis}", lambda m, k=k: m.angular_velocity("b")[k])
    world = s.equations("boltzmann-hamel").boltzmann_hamel
    assert np.allclose(world.gamma(q), -epsilon, atol=1e-14)
    arm = random_tree(1, ("revolute", "prismatic")).system.equations("boltzmann-hamel")
    assert not arm.boltzmann_hamel.gamma(np.zeros(len(arm.coordinates))).any()


@pytest.mark.parametrize("seed", [2, 6, 11])
def test_gamma_is_the_commutator_of_the_fields(seed):
    """∂N_k/∂q N_j − ∂N_j/∂q N_k = Σ γ^i_jk N_i, and the same with ∂/∂t + n ∂/∂q in the place of
    X_j."""
    e = mixed(random_tree(seed).system, 4).equations("boltzmann-hamel")
    s, N, n = e.terms.symbols, e.terms.N, e.terms.n
    count = len(e.speeds)
    gamma, gamma_0 = (getattr(e.boltzmann_hamel, name).expression for name in ("gamma", "gamma_0"))
    left = []
    for k in range(count):
        slope = ca.jacobian(ca.densify(N[:, k]), s.q)
        for j in range(count):
            bracket = slope @ N[:, j] - ca.jacobian(ca.densify(N[:, j]), s.q) @ N[:, k]
            left.append(bracket - N @ gamma[k][:, j])
        rate = slope @ n + ca.jtimes(ca.densify(N[:, k]), s.t, ca.SX(1))
        left.append(rate - ca.jacobian(ca.densify(n), s.q) @ N[:, k] - N @ gamma_0[:, k])
    random = np.random.default_rng(seed)
    q = e.terms.chart.normalized(random.uniform(-1, 1, len(e.coordinates)))
    value = ca.Function("left", [s.q, s.t, s.p], [ca.vertcat(*left)])(q, 0.4, list(s.defaults))
    assert np.abs(np.array(value)).max() < 1e-12


def test_hamels_paradox():
    """The constraint put into the kinetic energy too early gives other equations, and wrong ones.

    T(v, slip, ω) has the term m a ω slip; with slip = 0 in it p_slip = ∂T/∂slip would be lost, and
    with it γ^slip p_slip = ± m a ω · (…), which is all of the right-hand side here.
    """
    e = sleigh().equations("boltzmann-hamel")
    v, omega = 0.7, -1.3
    q, u = np.array([0.2, 0.1, 0.9]), np.array([v, 0.0, omega])
    p, gamma = e.boltzmann_hamel.p(q, u), e.boltzmann_hamel.gamma(q)
    M = e.mass_matrix(q)[np.ix_([0, 2], [0, 2])]
    right = np.linalg.solve(M, np.einsum("ijk,j,i->k", gamma, u, p)[[0, 2]])
    assert np.allclose(right, e.accelerations(q, u)[[0, 2]], atol=1e-14)
    too_early = np.where(np.arange(3) == 1, 0.0, p)  # of T with slip = 0
    wrong = np.linalg.solve(M, np.einsum("ijk,j,i->k", gamma, u, too_early)[[0, 2]])
    assert np.allclose(wrong, 0.0)
    expected = [AHEAD * omega**2, -MASS * AHEAD * v * omega / (INERTIA + MASS * AHEAD**2)]
    assert np.allclose(right, expected)


# --- Maggi ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["lagrange", "appell", "kane"])
def test_minimal_equations_of_the_sleigh(form):
    """2 v̇ = 2 a ω², (I + m a²) ω̇ = −m a v ω; and λ is what the others give."""
    e = sleigh().equations("maggi", form=form, independent=["v", "place.heading'"])
    q, u = [0.3, 0.2, 1.1], [0.7, 0.0, -1.3]
    assert np.allclose(e.maggi.S(q), [[1, 0], [0, 0], [0, 1]])
    assert np.allclose(e.maggi.M(q), np.diag([MASS, INERTIA + MASS * AHEAD**2]))
    assert np.allclose(e.maggi.f(q, u), [MASS * AHEAD * 1.69, MASS * AHEAD * 0.7 * 1.3])
    assert np.allclose(e.multipliers(q, u), sleigh().equations().multipliers(q, u))


@pytest.mark.parametrize("form", ["lagrange", "appell", "kane"])
def test_minimal_equations_of_a_random_loop(form):
    """As many as there are freedoms, with ż as the accelerations of the whole."""
    loop = random_loop(5, "revolute")
    e = loop.system.equations("maggi", form=form)
    q, u = e.assemble(guess=loop.configuration, t=loop.t)
    random = np.random.default_rng(0)
    S = e.maggi.S(q, u, loop.t)
    assert np.abs(e.constraint_jacobian(q, u, loop.t) @ S).max() < 1e-10 * np.abs(S).max()
    u = u + S @ random.standard_normal(S.shape[1])
    w = random.standard_normal(len(e.inputs))
    M, f = e.maggi.M(q, u, loop.t, w), e.maggi.f(q, u, loop.t, w)
    udot = S @ np.linalg.solve(M, f) + e.maggi.e(q, u, loop.t, w)
    expected = loop.system.equations().accelerations(q, u, loop.t, w)
    assert np.allclose(udot, expected, atol=1e-8 * np.abs(expected).max())


def test_maggi_in_joint_speeds_where_they_determine_the_motion():
    e = sleigh(False).equations("maggi", independent=["place.x'", "place.heading'"])
    theta = 0.4
    assert np.allclose(e.maggi.S([0, 0, theta]), [[1, 0], [np.tan(theta), 0], [0, 1]])


WRONG = {
    "too few": (["v"], "2 independent speeds here, got 1"),
    "tied": (["v", "slip"], "'v', 'slip' do not determine the motion"),
    "unknown": (["v", "w"], "unknown .*'w'"),
    "twice": (["v", "v"], "stands twice"),
    "no list": ("v", "list of names"),
}


@pytest.mark.parametrize("case", WRONG)
def test_maggi_refuses_speeds_that_are_not_independent(case):
    independent, message = WRONG[case]
    with pytest.raises(mg.ArgumentError, match=message):
        sleigh().equations("maggi", independent=independent)


def test_maggi_says_what_it_does_not_serve():
    s = sleigh()
    with pytest.raises(mg.UnsupportedError, match="form"):
        s.equations("maggi", form="newton")
    s = mg.System("block", gravity=(0, 0, -9.81))
    b = s.body("b", mass=1.0, inertia=(1, 1, 1))
    s.free("place", s.ground, b)
    s.slide("floor", mg.Sphere(b, 0.1), mg.Plane(s.ground), friction=0.3)
    with pytest.raises(mg.UnsupportedError, match="friction"):
        s.equations("maggi")


# --- Hamilton -------------------------------------------------------------------------------------


def pendulum():
    s = mg.System("pendulum", gravity=(0, 0, -9.81))
    b = s.body("b", mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    s.revolute("hinge", s.ground, b, axis="y")
    return s


def test_the_hamiltonian_is_the_energy_where_nothing_is_driven():
    e = pendulum().equations("hamilton")
    assert e.speeds == ("p_hinge",)
    q, p = np.array([0.3]), np.array([0.9])
    inertia = 0.1 + 2 * 0.25
    H = p[0] ** 2 / (2 * inertia) - 2 * 9.81 * 0.5 * np.cos(0.3)
    assert np.isclose(e.hamilton.H(q, p), H, rtol=1e-14)
    assert np.isclose(e.kinetic_energy(q, p) + e.potential_energy(q), H, rtol=1e-14)
    assert np.allclose(e.rhs(0.0, [0.3, 0.9]), [0.9 / inertia, -9.81 * np.sin(0.3)])
    assert e.hamilton.H.show() == "  H = 5·p_hinge²/6 - 9.81·cos(hinge)"


def test_the_hamiltonian_of_a_driven_system_changes_with_time_alone():
    """dH/dt = ∂H/∂t along the motion, with a base that is shaken: H is not the energy."""
    s = mg.System("shaken", gravity=(0, 0, -9.81))
    base = s.frame("base")
    s.joint("drive", s.ground, base, [mg.move("x", 0.2 * mg.sin(3 * s.time))])
    b = s.body("b", mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    s.revolute("hinge", base, b, axis="y")
    e = s.equations("hamilton")
    y, t = np.array([0.3, 0.9]), 0.4
    H, h = e.hamilton.H, 1e-5

    def value(y, t):
        return float(H(y[:1], y[1:], t))

    along = (value(y + h * e.rhs(t, y), t + h) - value(y - h * e.rhs(t, y), t - h)) / (2 * h)
    alone = (value(y, t + h) - value(y, t - h)) / (2 * h)
    assert np.isclose(along, alone, atol=1e-8)
    assert abs(alone) > 0.1
    assert abs(value(y, t) - float(e.kinetic_energy(*np.split(y, 2), t))) > 0.1


def test_starts_and_results_go_by_joint_names():
    s = pendulum()
    runs = [
        s.equations(f).simulate(1.0, {"hinge": 0.5, "hinge'": 1.0}, rtol=1e-10)
        for f in ("hamilton", "newton-euler")
    ]
    for name in ("hinge", "hinge'", "hinge''", "hinge: force", "energy"):
        assert np.allclose(runs[0][name], runs[1][name], atol=1e-7), name
    assert np.allclose(runs[0]["p_hinge"], 0.6 * runs[1]["hinge'"], atol=1e-7)


def test_linear_models_of_momenta_have_the_same_eigenvalues():
    s = random_tree(2, ("revolute",), driven=False).system
    first, other = (s.equations(f) for f in ("newton-euler", "hamilton"))
    values = [np.sort(np.abs(e.linearize(e.equilibrium()).eigenvalues())) for e in (first, other)]
    assert np.allclose(values[0], values[1], rtol=1e-6, atol=1e-7)


def test_momenta_of_what_has_no_inertia_are_refused():
    s = pendulum()
    turntable = s.frame("table")
    s.revolute("idle", s.bodies["b"], turntable, axis="z")
    with pytest.raises(mg.UnsupportedError, match=r'hamilton: .*"idle\'" has inertia'):
        s.equations("hamilton")


# --- the midpoint rule ----------------------------------------------------------------------------


def euler_top():
    s = mg.System("top", gravity=(0, 0, -9.81))
    b = s.body("top", mass=15.0, com=(0, 0, 1.0), inertia=(0.234375, 0.234375, 0.46875))
    s.joint("pivot", s.ground, b, [mg.rot("z", "yaw"), mg.rot("x", "tilt"), mg.rot("z", "spin")])
    return s


def rolled(equations, step, steps, method="midpoint"):
    q, u = equations.assemble({"pivot.tilt": 1.0, "pivot.spin'": 150.0})
    return equations.rollout(q, u, step=step, steps=steps, method=method)


def test_the_midpoint_rule_is_of_second_order_and_symmetric_in_time():
    e = euler_top().equations("hamilton")
    exact = e.simulate(0.1, {"pivot.tilt": 1.0, "pivot.spin'": 150.0}, rtol=1e-12, step=0.1)
    errors = [np.abs(rolled(e, 0.1 / n, n).u[0, -1] - exact.u[-1]).max() for n in (100, 200, 400)]
    assert np.allclose(np.log2(np.array(errors[:-1]) / errors[1:]), 2.0, atol=0.05)


def test_the_midpoint_rule_keeps_the_symplectic_form_with_momenta():
    """JᵀΩJ = Ω of one step, J by differences; with joint speeds as states it does not."""
    kept = {}
    for formalism in ("hamilton", "newton-euler"):
        e = euler_top().equations(formalism)
        q, u = e.assemble({"pivot.tilt": 1.0, "pivot.spin'": 20.0, "pivot.tilt'": 2.0})
        y, h = np.concatenate([q, u]), 1e-6
        states = y + h * np.vstack([np.eye(6), -np.eye(6)])
        end = e.rollout(states[:, :3], states[:, 3:], step=0.02, steps=1, method="midpoint")
        after = np.hstack([end.q[:, -1], end.u[:, -1]])
        J = (after[:6] - after[6:]).T / (2 * h)
        Omega = np.block([[np.zeros((3, 3)), np.eye(3)], [-np.eye(3), np.zeros((3, 3))]])
        kept[formalism] = np.abs(J.T @ Omega @ J - Omega).max()
    assert kept["hamilton"] < 1e-6 < 1e-2 < kept["newton-euler"]


def test_the_energy_does_not_drift():
    """The error over a long time is that over a short one."""
    e = euler_top().equations("hamilton")
    errors = []
    for steps in (1_000, 100_000):
        run = rolled(e, 1e-3, steps)
        H = e.hamilton.H(run.q[0], run.u[0])
        errors.append(np.ptp(H) / abs(H[0]))
        assert np.ptp(run.u[0][:, [0, 2]], axis=0).max() < 1e-10  # p of what H does not know
    assert errors[0] < 1e-5
    assert errors[1] < 1.01 * errors[0]


def test_a_step_that_is_too_long_is_no_number_and_the_interpreter_does_the_same(monkeypatch):
    e = euler_top().equations("hamilton")
    assert np.isnan(rolled(e, 3.0, 2).u[0, -1]).all()
    compiled = rolled(e, 1e-3, 20)
    monkeypatch.setenv("MECHGRAPH_CC", "none")
    interpreted = rolled(euler_top().equations("hamilton"), 1e-3, 20)
    assert interpreted.tier == "interpreter"
    assert np.allclose(compiled.u, interpreted.u, rtol=1e-12, atol=1e-12)


# --- what a user sees -----------------------------------------------------------------------------


def test_the_right_hand_side_serves_other_integrators():
    e = sleigh().equations()
    q, u = e.assemble({"v": 1.0, "place.heading'": 2.0})
    y = np.concatenate([q, u])
    there = solve_ivp(e.rhs, (0, 1), y, rtol=1e-10, atol=1e-12).y[:, -1]
    run = e.simulate(1.0, (q, u), rtol=1e-10)
    assert np.allclose(there, [*run.q[-1], *run.u[-1]], atol=1e-7)
    assert e.rhs(0.0, np.stack([y, y])).shape == (2, 6)
    with pytest.raises(mg.ArgumentError, match=r"place\.x, place\.y, .*, v, slip"):
        e.rhs(0.0, y[:-1])


@pytest.mark.parametrize("formalism", ["appell", "lagrange", *FORMALISMS])
def test_own_quantities_in_sympy_are_those_on_arrays(formalism):
    e = sleigh().equations(formalism)
    own = getattr(e, formalism.replace("-", "_"))
    random = np.random.default_rng(0)
    q, u, udot = (random.uniform(-1, 1, 3) for _ in range(3))
    for name, coefficient in e.terms.coefficients.items():
        readable = getattr(own, name).to_sympy()
        arguments = [*q, *u, 0.3, *udot]
        found = readable.function(*readable.matrices)(*arguments)
        value = getattr(own, name)(q, u, 0.3, udot=udot)
        found = np.stack(found, axis=-1) if coefficient.axes == 3 else np.array(found[0], float)
        assert np.allclose(found.reshape(value.shape), value, atol=1e-12), name
    assert own.show()
    assert own.latex().startswith("\\begin{align*}")


def test_own_quantities_read_as_a_teacher_writes_them():
    text = sleigh().equations("boltzmann-hamel").boltzmann_hamel.show()
    assert "  γ[slip, place.heading', v] = 1\n" in text
    assert "  T = 0.29·place.heading'² + 0.6·place.heading'·slip + slip² + v²\n" in text
    assert "gamma_0 = 0" in text
    appell = sleigh().equations("appell").appell
    assert "0.6·place.heading''·slip'" in appell.S.show()
    with pytest.raises(AttributeError, match="no 'B'"):
        appell.B  # noqa: B018


def test_quantities_on_the_command_line():
    command = ["equations", "double_pendulum", "--formalism", "appell", "--own"]
    done = CliRunner().invoke(cli.main, [*command, "--option", "coefficients=probing"])
    assert done.exit_code == 0, done.output
    assert "A[" in done.output
    assert "K[" in done.output
    done = CliRunner().invoke(cli.main, [*command, "--format", "latex"])
    assert "K^{(1)}" in done.output
    done = CliRunner().invoke(cli.main, [*command, "--option", "coefficients"])
    assert done.exit_code == 2
    assert "NAME=VALUE" in done.output


def test_free_angles_of_the_explicit_form_change_its_frames_only():
    s = random_tree(3, ("revolute",), driven=False, forces=False).system
    plain = s.equations("lagrange", form="explicit")
    hinge = plain.coordinates[-1]
    turned = s.equations("lagrange", form="explicit", angles={hinge: 0.7})
    random = np.random.default_rng(0)
    q, u = random.uniform(-1, 1, (2, len(plain.coordinates)))
    assert np.allclose(plain.mass_matrix(q), turned.mass_matrix(q), atol=1e-13)
    assert np.allclose(plain.forces(q, u), turned.forces(q, u), atol=1e-12)
    a, b = (e.lagrange.turns(q)[..., -1] for e in (plain, turned))
    c, s_ = np.cos(0.7), np.sin(0.7)
    assert np.allclose(b, np.array([[c, -s_, 0], [s_, c, 0], [0, 0, 1]]) @ a, atol=1e-14)
    with pytest.raises(mg.ArgumentError, match="hinge"):
        s.equations("lagrange", form="explicit", angles={"none": 0.1})
    with pytest.raises(mg.UnsupportedError, match="explicit"):
        s.equations("lagrange", angles={hinge: 0.1})


def test_velocities_by_the_coefficients_of_the_explicit_form():
    """V_a = −Σ C_ac φ̇_c in body axes (Lemma 3), and B_ab turns body b's axes into body a's."""
    s = mg.System("arm")
    first, second = (s.body(n, mass=1.0, com=(0.1, 0, -0.2), inertia=(1, 1, 1)) for n in "ab")
    s.revolute("j", s.ground, first, axis="z")
    s.revolute("k", first, second, axis="z", at=(0.3, 0.4, 0.5))
    e = s.equations("lagrange", form="explicit")
    q, u = np.array([0.3, -0.8]), np.array([1.1, 0.6])
    R = e.rotation("b", q)
    velocity = -R @ e.lagrange.C_ac(q)[3:] @ u
    assert np.allclose(velocity, e.observe(lambda m: m.velocity("b"), q, u))
    assert np.allclose(R @ e.lagrange.B_ab(q)[3:, :3], e.rotation("a", q))


# --- Gauss, the natural orthogonal complement, penalties, constraints that are not ideal ----------


def four_bar():
    s = mg.System("four-bar", gravity=(0, 0, -9.8))
    A, B, C = (s.body(name, mass=20, com=(2, 0, 0), inertia=(0.2, 26, 26)) for name in "ABC")
    s.revolute("qA", s.ground, A, axis="y")
    s.revolute("qB", A, B, axis="y", at=(4, 0, 0))
    s.revolute("qC", s.ground, C, axis="y", at=(2, 0, 0))
    s.revolute("close", B, C, axis="y", at=(4, 0, 0), child_at=(4, 0, 0), cut=True)
    return s


def moving(equations):
    return equations.assemble({"qA": 1.3, "qA'": 3.0}, guess={"qB": 1.8})


def rest_of_accelerations(equations, q, u):
    return equations.numeric.evaluate("b", lambda: equations.terms.b, 1, q, u)


def test_the_constraint_of_gauss_is_least_for_the_real_motion():
    """Among all accelerations that the loop allows; those without the loop make it less still."""
    e = four_bar().equations("gauss")
    q, u = moving(e)
    real = e.accelerations(q, u)
    least = e.gauss.Z(q, u, udot=real)
    free = np.linalg.svd(e.constraint_jacobian(q, u))[2][-1]
    for step in (-1.0, -0.01, 0.01, 1.0):
        assert e.gauss.Z(q, u, udot=real + step * free) > least
    alone = np.linalg.solve(e.mass_matrix(q), e.forces(q, u))
    assert e.gauss.Z(q, u, udot=alone) < least


def test_the_natural_complement_annihilates_the_joints():
    """Twists of all frames are N_l N_d u, and the constraints of the joints vanish on them."""
    s = random_tree(6, driven=False).system
    e = s.equations("noc")
    random = np.random.default_rng(0)
    q = e.terms.chart.normalized(random.uniform(-1, 1, len(e.coordinates)))
    u = random.uniform(-1, 1, len(e.speeds))
    twists = e.noc.N_l(q) @ e.noc.N_d(q) @ u
    expected = e.observe(lambda m: [part for pair in e.terms.chart.twists for part in pair], q, u)
    assert np.allclose(twists, expected, atol=1e-13)


def test_penalties_converge():
    """The error of the penalty form falls as 1/α, and as its square where its forces are taken up
    once."""
    e = four_bar().equations()
    q, u = moving(e)
    M, f, A = e.mass_matrix(q), e.forces(q, u), e.constraint_jacobian(q, u)
    size, rows, real = np.abs(M).max(), Independent(A), e.accelerations(q, u)
    right = f / size, -rows.combined(rest_of_accelerations(e, q, u))
    for times in (1, 2):
        errors = [
            np.abs(penalty(M / size, rows.rows, alpha, times)(*right)[0] - real).max()
            for alpha in (1e2, 1e3, 1e4)
        ]
        assert np.allclose(np.diff(np.log10(errors)), -times, atol=0.02)


def test_constraints_that_are_not_ideal():
    """A bead on a wire along x with friction C against it: what is normal to the wire cannot be
    told from its ideal force, and the motion is that of C as an applied force."""
    s = mg.System("bead", gravity=(0, 0, -9.81))
    s.body("b", mass=2.0, inertia=0)
    s.joint("p", s.ground, "b", [mg.move("x", "x"), mg.move("z", "z")])
    s.constrain("wire", position=lambda m: m.position("b")[2] - 0.5 * m.position("b")[0])
    e = s.equations()
    q, u = e.assemble({"p.x": 1.0, "p.x'": 2.0})
    along = np.array([1.0, 0.5]) / np.sqrt(1.25)
    ideal, rest = e.constraint_forces(q, u, nonideal=[-3.0, 1.0])
    assert np.allclose(rest, (along @ [-3.0, 1.0]) * along)
    assert np.allclose(ideal, e.constraint_jacobian(q)[0] * e.multipliers(q, u))
    assert np.isclose(ideal @ along, 0.0, atol=1e-13)
    udot = np.linalg.solve(e.mass_matrix(q), e.forces(q, u) + ideal + rest)
    s.force("same", "b", (-3.0, 0, 1.0))
    assert np.allclose(udot, s.equations().accelerations(q, u))
    assert not e.constraint_forces(q, u)[1].any()


def test_constraint_forces_of_redundant_rows():
    e = four_bar().equations()
    q, u = moving(e)
    ideal, _ = e.constraint_forces(np.stack([q, q]), u)
    assert np.allclose(ideal[1], e.constraint_jacobian(q, u).T @ e.multipliers(q, u), atol=1e-9)
