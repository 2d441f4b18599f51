"""What belongs to one formalism: Appell's coefficients, Lagrange's explicit form, options and their
refusal."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import mechgraph as mg
from measure import force_gap, gap, mass_gap
from mechgraph.vectors import shortest_turn_to_z
from random_systems import JOINT_NAMES, Build, random_state, random_tree

SCALAR_KINDS = tuple(kind for kind in JOINT_NAMES if kind not in ("spherical", "free"))


def numbers(equations, state, expression):
    """An expression at a state."""
    s = equations.terms.symbols
    function = ca.Function("f", [s.q, s.u, s.t, s.w, s.p, s.udot], [ca.densify(expression)])
    return np.array(
        function(state.q, state.u, state.t, state.inputs, list(state.parameters.values()), 0)
    )


def small_tree(seed, kinds, **options) -> Build:
    """A tree of at most six speeds."""
    return next(
        build
        for build in (random_tree(1000 * seed + k, kinds, **options) for k in range(100))
        if sum(len(joint.speeds) for joint in build.system.joints.values()) <= 6
    )


# --- Appell ---------------------------------------------------------------------------------------


def both_ways(build):
    return [
        build.system.equations("appell", coefficients=way) for way in ("differentiation", "probing")
    ]


@pytest.mark.parametrize("seed", range(16))
def test_appell_probing_is_exact(seed):
    """The source's differences at unit velocities and accelerations give what differentiation
    gives."""
    build = small_tree(seed, JOINT_NAMES)
    by_derivative, by_probing = both_ways(build)
    state = random_state(by_derivative, seed)
    M = by_derivative.mass_matrix(state.q, **state.place)
    size = np.abs(M).max() + np.abs(by_derivative.appell.H(state.q, **state.place)).max()
    for name in "AKDH":
        a, b = (
            getattr(e.appell, name)(state.q, **state.place) for e in (by_derivative, by_probing)
        )
        assert a.shape == b.shape
        assert np.abs(a - b).max() < 1e-12 * (size + np.abs(a).max()), f"{name}\n{build}"
    assert mass_gap(M, by_probing.mass_matrix(state.q, **state.place)) < 1e-11, str(build)
    f, other = (e.forces(state.q, state.u, **state.at) for e in (by_derivative, by_probing))
    assert force_gap(M, f, other, state.u) < 1e-11, str(build)


@pytest.mark.parametrize("seed", range(16))
def test_appell_coefficients_make_the_developed_equations(seed):
    """A u̇ + uᵀK u + Dᵀu + H = Q (3), at the accelerations of the articulated-body recursion."""
    build = small_tree(seed, JOINT_NAMES)
    equations = build.system.equations("appell")
    state = random_state(equations, seed)
    udot = build.system.equations("newton-euler").accelerations(state.q, state.u, **state.at)
    A, K, D, H = (getattr(equations.appell, name)(state.q, **state.place) for name in "AKDH")
    Q = equations.appell.Q(state.q, state.u, **state.at)
    left = A @ udot + np.einsum("ijk,i,j->k", K, state.u, state.u) + D.T @ state.u + H
    assert force_gap(A, Q, left, state.u) < 1e-10, str(build)


@pytest.mark.parametrize("seed", range(16))
def test_appell_quadratic_terms_are_christoffel_brackets(seed):
    """K_ij,k = ½ (∂_i A_jk + ∂_j A_ik − ∂_k A_ij), where u = q̇."""
    build = small_tree(seed, SCALAR_KINDS)
    equations = build.system.equations("appell")
    state = random_state(equations, seed)
    n = len(equations.speeds)
    slopes = numbers(
        equations,
        state,
        ca.jacobian(ca.vec(ca.densify(equations.terms.M)), equations.terms.symbols.q),
    ).reshape(n, n, n)
    brackets = (np.einsum("jki->ijk", slopes) + np.einsum("ikj->ijk", slopes) - slopes) / 2
    K = equations.appell.K(state.q, **state.place)
    assert (
        np.abs(K - brackets).max()
        < 1e-11 * np.abs(equations.mass_matrix(state.q, **state.place)).max()
    ), str(build)


@pytest.mark.parametrize("seed", range(16))
def test_appell_linear_terms_follow_the_drives(seed):
    """D + Dᵀ = 2 ∂A/∂t, where u = q̇; D = 0 and H = 0 where nothing is driven."""
    build = small_tree(seed, SCALAR_KINDS)
    equations = build.system.equations("appell")
    state = random_state(equations, seed)
    rate = ca.reshape(
        ca.jtimes(ca.vec(ca.densify(equations.terms.M)), equations.terms.symbols.t, ca.SX(1)),
        *equations.terms.M.shape,
    )
    D = equations.appell.D(state.q, **state.place)
    size = np.abs(equations.mass_matrix(state.q, **state.place)).max()
    assert np.abs(D + D.T - 2 * numbers(equations, state, rate)).max() < 1e-11 * size, str(build)

    still = small_tree(seed, JOINT_NAMES, driven=False).system.equations("appell")
    state = random_state(still, seed)
    assert not np.any(still.appell.D(state.q, **state.place))
    assert not np.any(still.appell.H(state.q, **state.place))


def test_appell_coefficients_have_the_shapes_of_their_indices():
    for bodies in (1, 3):
        build = Build(bodies)
        build.begin(gravity=(0, 0, -9.81))
        for i in range(bodies):
            build.body(f"b{i}")
            build.joint(f"j{i}", "revolute", f"b{i - 1}" if i else "ground", f"b{i}")
        equations = build.system.equations("appell")
        q, batch = np.zeros(bodies), np.zeros((4, bodies))
        shapes = {
            "A": (bodies, bodies),
            "K": (bodies,) * 3,
            "D": (bodies, bodies),
            "H": (bodies,),
            "Q": (bodies,),
            "S": (),
        }
        for name, shape in shapes.items():
            assert getattr(equations.appell, name)(q).shape == shape, name
            assert getattr(equations.appell, name)(batch).shape == (4, *shape), name


def test_coefficients_belong_to_their_formalism():
    equations = random_tree(1).system.equations("kane")
    with pytest.raises(AttributeError, match="appell"):
        _ = equations.appell


def test_kanes_partial_velocities_give_the_velocities():
    """v_C = V u and ω = W u of every body, where nothing is driven."""
    s = mg.System("arm", gravity=(0, 0, -9.81))
    upper, lower = (
        s.body(name, mass=1.0, com=(0.1, 0.2, -0.5), inertia=(0.1, 0.2, 0.15)) for name in "ul"
    )
    s.spherical("shoulder", s.ground, upper)
    s.revolute("elbow", upper, lower, axis="y", at=(0, 0, -1))
    for body in (upper, lower):
        s.marker(f"centre of {body.name}", body, at=(0.1, 0.2, -0.5))
    equations = s.equations("kane")
    q, u = np.array([0.8, 0.0, 0.6, 0.0, 0.7]), np.array([0.4, -1.0, 0.3, 2.0])
    expected = [equations.observe(f"centre of {name}'", q, u)[:3] for name in "ul"]
    assert np.allclose((equations.kane.V(q) @ u).reshape(2, 3), expected, atol=1e-14)
    turning = [equations.observe(lambda m, n=n: m.angular_velocity(n), q, u) for n in "ul"]
    assert np.allclose((equations.kane.W(q) @ u).reshape(2, 3), turning, atol=1e-14)
    assert np.allclose(equations.kane.F(q, u), 0)


def test_quantities_along_the_joints_bear_the_names_of_the_joints():
    s = mg.System("arm")
    s.revolute("hinge", s.ground, s.body("rod", mass=1.0, com=(1, 0, 0), inertia=(1, 1, 1)))
    s.speed("slow", lambda m: m.speed("hinge") / 3)
    assert "[9, hinge'] = 1" in s.equations("noc").noc.N_d.show()
    assert (
        "[hinge', hinge'] = 2" in s.equations("lagrange", form="explicit").lagrange.alpha_bc.show()
    )
    assert "[slow, slow] = 18" in s.equations("appell").appell.A.show()


# --- Lagrange, explicit ---------------------------------------------------------------------------


def revolute_tree(seed: int, bodies: int = 5) -> Build:
    """Revolutes (some reversed, with springs, forces, fixed bodies and universals between) on a
    base that moves and turns."""
    build = Build(seed, driven=False)
    build.begin(gravity=build.vector(9.8))
    t = build.system.time
    inboard = ["ground"]
    if seed % 4:
        build("frame", "base")
        chain = [
            mg.move("x", mg.sin(1.3 * t)),
            mg.move("y", 0.5 * mg.cos(2 * t)),
            mg.move("z", 0.3 * t**2),
        ]
        if seed % 4 > 1:
            chain += [mg.rot("z", 0.6 * mg.sin(1.3 * t)), mg.rot((0.6, 0.0, 0.8), 0.4 * t)]
        build("joint", "drive", "ground", "base", chain, **build.places())
        inboard = ["base"]
    for i in range(bodies):
        build.body(f"b{i}")
        kind = {0: "fixed", 1: "universal"}.get(seed % 3, "revolute") if i == 2 else "revolute"
        build.joint(f"j{i}", kind, "b1" if kind == "fixed" else build.pick(inboard[-3:]), f"b{i}")
        inboard.append(f"b{i}")
    build.forces()
    return build


@pytest.mark.parametrize("seed", range(16))
def test_explicit_lagrange_is_lagrange(seed):
    """α_bc = M of the bodies, and Theorem 1 and its equations hold on a base that moves (and
    turns)."""
    build = revolute_tree(seed)
    energy, explicit = (
        build.system.equations("lagrange", form=form) for form in ("energy", "explicit")
    )
    state = random_state(energy, seed)
    M = energy.mass_matrix(state.q, **state.place)
    alpha_bc = explicit.lagrange.alpha_bc(state.q, **state.place)
    rotors = {e.coordinate: float(e.inertia) for e in build.system.forces.values() if e.rotors()}
    J = np.array([rotors.get(name.removesuffix("'"), 0.0) for name in energy.speeds])
    assert mass_gap(M, alpha_bc + np.diag(J)) < 1e-11, str(build)
    assert mass_gap(M, explicit.mass_matrix(state.q, **state.place)) < 1e-11, str(build)
    f, other = (e.forces(state.q, state.u, **state.at) for e in (energy, explicit))
    assert force_gap(M, f, other, state.u) < 1e-11, str(build)
    alpha_0, alpha_b = (
        getattr(explicit.lagrange, name)(state.q, **state.place) for name in ("alpha_0", "alpha_b")
    )
    T = (alpha_0 - 2 * alpha_b @ state.u + state.u @ alpha_bc @ state.u + J @ state.u**2) / 2
    assert abs(T - explicit.kinetic_energy(state.q, state.u, **state.place)) < 1e-12 * abs(T), str(
        build
    )


HINGES = ("revolute", "universal", "fixed")


@pytest.mark.parametrize("kind", [kind for kind in mg.JOINTS if kind not in HINGES])
def test_explicit_lagrange_refuses_all_but_hinges(kind):
    build = Build(3)
    build.begin()
    build.body("b0")
    build.joint("odd one", kind, "ground", "b0")
    with pytest.raises(mg.UnsupportedError, match=r"lagrange.*explicit.*revolute"):
        build.system.equations("lagrange", form="explicit")


def test_explicit_lagrange_refuses_a_chain_with_a_shift():
    build = Build(3)
    build.begin()
    build.body("b0")
    build("joint", "odd one", "ground", "b0", [mg.rot("x", "a"), mg.move("y", "b")])
    with pytest.raises(mg.UnsupportedError, match="odd one"):
        build.system.equations("lagrange", form="explicit")


def test_explicit_lagrange_refuses_a_drive_inside_the_tree():
    build = revolute_tree(0, bodies=2)
    t = build.system.time
    build.body("extra")
    build("joint", "inner drive", "b1", "extra", [mg.rot("x", mg.sin(t))])
    with pytest.raises(mg.UnsupportedError, match="base"):
        build.system.equations("lagrange", form="explicit")


@pytest.mark.parametrize(
    "e3", [1.0, 0.3, 0.0, -1e-12, -0.5, -1 + 1e-4, -1 + 1e-8, -1 + 1e-13, -1.0]
)
def test_lemma_1_turns_every_axis_to_z(e3):
    """Orthogonal, and A e = z, also next to e₃ = −1 where the printed formula divides by
    nothing."""
    across = np.sqrt(max(0.0, 1 - e3**2))
    for angle in (0.0, 0.7, 2.0, 4.0):
        e = np.array([across * np.cos(angle), across * np.sin(angle), e3])
        e /= np.linalg.norm(e)
        symbol = ca.SX.sym("e", 3)
        for turn in (
            ca.DM(shortest_turn_to_z(ca.SX(ca.DM(e)))),
            ca.Function("L", [symbol], [shortest_turn_to_z(symbol)])(e),
        ):
            L = np.array(turn)
            assert np.abs(L @ L.T - np.eye(3)).max() < 1e-14
            assert np.abs(L @ e - [0, 0, 1]).max() < 1e-14
            assert np.linalg.det(L) > 0


@pytest.mark.parametrize("seed", range(8))
def test_explicit_lagrange_shows_its_turns(seed):
    build = revolute_tree(seed)
    explicit = build.system.equations("lagrange", form="explicit")
    turns = explicit.lagrange.turns(np.zeros(len(explicit.coordinates)))
    assert turns.shape == (3, 3, len(explicit.coordinates))
    assert (
        gap(
            np.einsum("ijk,ljk->kil", turns, turns),
            np.broadcast_to(np.eye(3), (turns.shape[2], 3, 3)),
        )
        < 1e-14
    )


# --- options --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("formalism", "options"),
    [
        ("appel", {}),
        ("appell", {"coefficients": "guessing"}),
        ("lagrange", {"form": "implicit"}),
        ("kane", {"form": "energy"}),
        ("newton-euler", {"closure": "glue"}),
    ],
)
def test_what_is_not_supported_is_said_at_once(formalism, options):
    with pytest.raises(mg.UnsupportedError) as error:
        random_tree(1).system.equations(formalism, **options)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("frequency", [1.0, 100.0, 1000.0])
def test_probing_does_not_mind_a_base_that_is_shaken_fast(frequency):
    """10 mm at 1 kHz is 4e5 m/s²: the probes are in proportion to it."""
    s = mg.System("shaken", gravity=(0, 0, -9.81))
    base = s.frame("base")
    s.joint("shaker", s.ground, base, [mg.move("x", 0.01 * mg.sin(2 * np.pi * frequency * s.time))])
    upper, lower = (
        s.body(name, mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.02)) for name in "ab"
    )
    s.revolute("shoulder", base, upper, axis="y")
    s.universal("elbow", upper, lower, at=(0, 0, -1))
    q, u, t = [0.3, 0.4, -0.2], [1.0, -2.0, 0.5], 0.37 / frequency
    expected = s.equations("newton-euler").forces(q, u, t)
    found = s.equations("appell", coefficients="probing").forces(q, u, t)
    assert np.abs(found - expected).max() < 1e-11 * np.abs(expected).max()


def test_explicit_lagrange_refuses_turns_that_are_counted():
    """A spring in a cut joint counts its turns, which the explicit form has no place for."""
    s = mg.System("loop", gravity=(0, 0, -9.81))
    bars = [s.body(name, mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1)) for name in "ABC"]
    s.revolute("a", s.ground, bars[0], axis="y")
    s.revolute("b", bars[0], bars[1], axis="y", at=(1, 0, 0))
    s.revolute("c", s.ground, bars[2], axis="y", at=(1.5, 0, 0))
    pin = {"axis": "y", "at": (1.2, 0, 0), "child_at": (1, 0, 0)}
    s.revolute("d", bars[1], bars[2], **pin, stiffness=1.0, cut=True)
    with pytest.raises(mg.UnsupportedError, match="counted"):
        s.equations("lagrange", form="explicit")


def test_S_is_its_terms_with_accelerations():
    """Nothing of it is left at rest, and its slopes are the left sides of the equations."""
    build = small_tree(7, SCALAR_KINDS)
    equations = build.system.equations("appell")
    state, s = random_state(equations, 1), equations.terms.symbols
    S = equations.appell.S.expression
    assert numbers(equations, state, S).item() == 0  # u̇ = 0
    left = ca.gradient(S, s.udot) - equations.terms.coefficients["Q"].expression
    expected = -equations.forces(state.q, state.u, state.t, state.inputs, state.parameters)
    found = numbers(equations, state, left).ravel()
    assert np.abs(found - expected).max() < 1e-12 * np.abs(expected).max()
