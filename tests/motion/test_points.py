"""Point coordinates: particles that are the body, the same motion as in all other coordinates, the
formalism's own routes, and what is refused."""

from __future__ import annotations

import pickle
from itertools import combinations

import casadi as ca
import numpy as np
import pytest

import mechgraph as mg
from measure import absolute_gaps, accelerations_of, gap
from mechgraph import gallery
from mechgraph.motion.particles import Primary
from mechgraph.show.scene import scene_of
from mechgraph.show.solids import HEAVY, LIGHT
from mechgraph.studies.agreement import random_states
from mechgraph.studies.assembly.conversion import convert
from mechgraph.studies.simulation import stabilized
from motion.test_loops import loop
from random_systems import JOINT_NAMES, random_state, random_tree

FORMS = ("reduced", "unreduced")
ROUTES = ("momenta", "forces", "closure")


def spherical_chain(n: int, kind: str = "spherical", **first) -> mg.System:
    """Bodies on ball joints, or on hinges whose axes cross."""
    s = mg.System(f"{kind} chain", gravity=(0.3, -0.2, -9.81))
    parent = s.ground
    for k in range(n):
        body = s.body(f"b{k}", mass=1.0 + k, com=(0.1, 0.2, -0.4), inertia=(0.1, 0.2, 0.15))
        word = first.get("first", kind) if k == 0 else kind
        axis = {"axis": "xy"[k % 2]} if word == "revolute" else {}
        getattr(s, word)(f"j{k}", parent, body, at=(0, 0, -1 if k else 0), **axis)
        parent = body
    return s


def at_random(joint: mg.Equations, equations: mg.Equations, seed: int = 0):
    """Random states in both coordinates."""
    states = random_states(joint, 3, seed)
    return states, convert(joint, equations, states.q, states.u, states.t)


# --- particles ------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(5))
def test_ten_particles_have_the_mass_centre_and_inertia_of_the_body(seed):
    """Attia 2005, eqs. 1–4: against sums over the particles."""
    random = np.random.default_rng(seed)
    s = mg.System("one")
    thing = random.standard_normal((8, 3))
    com, inertia = thing.mean(axis=0), np.zeros((3, 3))
    for x in thing - com:
        inertia += 2.0 * (x @ x * np.eye(3) - np.outer(x, x)) / 8
    body = s.body("body", mass=2.0, com=com, inertia=inertia)
    places = random.standard_normal((4, 3))
    primary = Primary(body, tuple(ca.SX(ca.DM(x)) for x in places), 2)
    masses = np.array(ca.DM(primary.masses)).ravel()
    ten = np.array([np.array(ca.DM(x)).ravel() for x in primary.with_midpoints(primary.places)])
    np.testing.assert_allclose(
        ten[4:], [(places[i] + places[j]) / 2 for i, j in combinations(range(4), 2)]
    )
    assert masses.sum() == pytest.approx(2.0, rel=1e-12)
    np.testing.assert_allclose(masses @ ten, 2.0 * com, atol=1e-11)
    about = sum(
        m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, ten - com, strict=True)
    )
    np.testing.assert_allclose(about, inertia, atol=1e-10)
    M = np.array(ca.DM(primary.mass_matrix))
    X = np.vstack([np.ones(4), places.T])
    pseudo = np.zeros((4, 4))
    pseudo[0, 0], pseudo[0, 1:], pseudo[1:, 0] = 2.0, 2.0 * com, 2.0 * com
    pseudo[1:, 1:] = np.trace(inertia) / 2 * np.eye(3) - inertia + 2.0 * np.outer(com, com)
    np.testing.assert_allclose(X @ M @ X.T, pseudo, atol=1e-10)  # the closed form of the seed, §2
    lam, mu, tau = np.array(ca.DM(primary.invariants)).ravel()
    r21, r41 = places[1] - places[0], places[3] - places[0]
    np.testing.assert_allclose(
        lam * np.cross(r21, r41) + mu * r41 + tau * r21, places[2] - places[0], atol=1e-11
    )


def test_the_kinetic_energy_is_that_of_the_particles():
    """½ Σ m v² over all ten, against ½ uᵀMu and the energy of the bodies."""
    s = spherical_chain(2)
    e = s.equations("points")
    _, (q, u) = at_random(s.equations(), e)
    h = 1e-5
    moved = (e.points.particles(q + h * u) - e.points.particles(q - h * u)) / (2 * h)
    masses = e.points.masses(q[0])
    by_particles = np.einsum("skic,ki->s", np.moveaxis(moved, -1, 1) ** 2, masses) / 2
    np.testing.assert_allclose(by_particles, e.kinetic_energy(q, u), rtol=1e-8)
    M = e.mass_matrix(q)
    np.testing.assert_allclose(np.einsum("si,sij,sj->s", u, M, u) / 2, e.kinetic_energy(q, u))


def test_unreduced_the_mass_matrix_is_constant_and_a_sum_of_kronecker_products():
    e = spherical_chain(2).equations("points", form="unreduced")
    assert len(e.coordinates) == 18
    assert e.terms.M.is_constant()
    tables = e.points.mass_matrices(np.zeros(18))
    M, names = np.zeros((18, 18)), [name.removesuffix(".x") for name in e.coordinates[::3]]
    owns = [["ground", *names[:3]], ["point j1", *names[3:]]]
    for k, own in enumerate(owns):
        numbers = [names.index(name) if name in names else None for name in own]
        for (i, a), (j, b) in ((x, y) for x in enumerate(numbers) for y in enumerate(numbers)):
            if a is not None and b is not None:
                M[3 * a : 3 * a + 3, 3 * b : 3 * b + 3] += tables[i, j, k] * np.eye(3)
    np.testing.assert_allclose(e.mass_matrix(np.zeros(18)), M, atol=1e-12)


def test_the_eliminated_point_moves_as_attia_says():
    """E₁, E₂, E₄ and β of his eq. 15, with the term that the print has lost."""
    s = mg.System("free")
    s.free("place", s.ground, s.body("body", mass=1.0, inertia=(0.1, 0.2, 0.25)))
    e = s.equations("points")
    chart = e.terms.chart
    r = [chart.points["body"][k] for k in (0, 1, 3)]
    v = [e.terms.symbols.u[3 * k : 3 * k + 3] for k in range(3)]
    lam, mu, tau = (e.points.invariants.expression[0, k] for k in range(3))
    skew, one = ca.skew, ca.SX.eye(3)
    E = [
        (1 - mu - tau) * one + lam * skew(r[2] - r[1]),
        tau * one - lam * skew(r[2] - r[0]),
        mu * one + lam * skew(r[1] - r[0]),
    ]
    beta = 2 * lam * ca.cross(v[1] - v[0], v[2] - v[0])
    rate = chart.rate(chart.points["body"][2])
    gaps = [ca.jacobian(rate, e.terms.symbols.u) - ca.horzcat(*E), chart.rate(rate) - beta]
    _, (q, u) = at_random(s.equations(), e)
    for each in gaps:
        value = ca.Function("f", [e.terms.symbols.q, e.terms.symbols.u], [each])(q[0], u[0])
        assert np.abs(np.array(value)).max() < 1e-14


# --- the same motion ------------------------------------------------------------------------------


# six have each form with each route; four more say the same
SEEDS = [pytest.param(k, marks=[pytest.mark.slow] * (k > 120)) for k in range(2, 200, 20)]


@pytest.mark.parametrize("seed", SEEDS)
def test_accelerations_and_reactions_of_random_trees(seed):
    build = random_tree(seed)
    equations = build.system.equations()
    state = random_state(equations, seed)
    form, route = FORMS[seed // 20 % 2], ROUTES[seed // 20 % 3]
    for name, distance in absolute_gaps(equations, state, "points", form=form, route=route).items():
        assert distance < 1e-9, f"{name}\n{build}"


@pytest.mark.sampled(2)
@pytest.mark.parametrize("kind", JOINT_NAMES)
def test_accelerations_and_reactions_of_random_loops(kind):
    made, equations, state = loop(kind, 1)
    for name, distance in absolute_gaps(equations, state, "points").items():
        assert distance < 1e-9, f"{name}\n{made}"


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
def test_velocity_constraints_on_random_trees(seed):
    """A knife edge and a rolling constraint that is not linear in the speeds."""
    build = random_tree(100 + seed)
    s = build.system
    body = list(s.bodies)[-1]
    s.constrain("edge", velocity=lambda m: mg.dot(m.velocity(body), m.axis(body, "y")))
    others = ["noc", "gauss", "points"]
    found = mg.agreement(s, states=2, seed=seed, formalisms=["newton-euler", *others])
    assert found.ok, f"{found}\n{build}"
    assert {row.formalism for row in found.rows if not row.note} >= {*others}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["spherical", "revolute"])
@pytest.mark.parametrize("first", ["same", "free"])
def test_all_routes_agree(kind, form, first):
    """On chains with a fixed and with a floating base; S leaves distances and tree joints alone."""
    s = spherical_chain(3, kind, **({"first": "free"} if first == "free" else {}))
    joint = s.equations()
    for route in ROUTES:
        e = s.equations("points", form=form, route=route)
        states, (q, u) = at_random(joint, e)
        for body in s.bodies:
            seen = accelerations_of(body)
            expected = joint.observe(seen, states.q, states.u)
            found = e.observe(seen, q, u, udot=e.accelerations(q, u))
            assert gap(expected, found, floor=1.0) < 1e-10
    assert np.abs(e.constraint_jacobian(q) @ e.points.S(q)).max() < 1e-13
    assert e.points.S(q).shape[-1] == len(joint.speeds)


def test_momenta_are_moments_of_all_that_is_outboard():
    """Row by row Attia's eq. 20: moments about the ball joint in the world, from the bodies."""
    s = spherical_chain(3)
    e, joint = s.equations("points"), s.equations()
    q = at_random(joint, e)[1][0]
    udot = np.random.default_rng(5).standard_normal(q.shape)
    left = np.einsum("sji,sj->si", e.points.S(q), np.einsum("sij,sj->si", e.mass_matrix(q), udot))
    ten = np.moveaxis(e.points.particles(q), -1, 1)
    h = 1e-4
    V = np.moveaxis(e.points.particles(q + h * udot) - e.points.particles(q - h * udot), -1, 1) / (
        2 * h
    )
    masses = e.points.masses(q[0])
    for k in range(3):
        arm = ten[:, k:] - e.position(f"b{k}", q)[:, None, None, :]
        moment = np.einsum("ki,skic->sc", masses[k:], np.cross(arm, V[:, k:]))
        np.testing.assert_allclose(left[:, 3 * k : 3 * k + 3], moment, atol=1e-7)


def test_forces_cost_in_proportion_to_the_number_of_bodies():
    def operations(n: int) -> int:
        e = spherical_chain(n).equations("points", route="forces")
        return int(
            ca.Function(
                "f", [e.terms.symbols.q, e.terms.symbols.u], [e.numeric.closed.udot]
            ).n_instructions()
        )

    assert (operations(24) - operations(12)) / 12 == pytest.approx(
        (operations(12) - operations(6)) / 6, rel=0.05
    )


def test_another_closure_takes_the_place_of_the_own_route():
    s = spherical_chain(2)
    by = [s.equations("points", closure=closure) for closure in mg.CLOSURES]
    _, (q, u) = at_random(s.equations(), by[0])
    udots = [e.accelerations(q, u) for e in by]
    for udot in udots[1:]:
        np.testing.assert_allclose(udot, udots[0], atol=1e-10)
    assert by[0].numeric.closed.has_own_way
    assert not by[1].numeric.closed.has_own_way


# --- joints ---------------------------------------------------------------------------------------


def counts(s: mg.System) -> tuple[int, int]:
    e = s.equations("points")
    return len(e.coordinates), len(e.constraints)


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("spherical", (6, 3)),
        ("revolute", (3, 2)),
        ("universal", (6, 4)),
        ("fixed", (0, 0)),
        ("free", (9, 3)),
        ("prismatic", (9, 8)),
    ],
)
def test_shared_points_cost_no_constraint(kind, expected):
    s = mg.System("one")
    body = s.body("body", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
    getattr(s, kind)("joint", s.ground, body)
    assert counts(s) == expected


def test_points_are_named_after_joints_and_bodies():
    e = spherical_chain(2).equations("points")
    assert e.coordinates[:3] == ("point j1.x", "point j1.y", "point j1.z")
    assert e.names.resolve("point j1.x").units == ("m",)
    run = e.simulate(0.1, {"point j1": [0.6, 0, -0.8]}, step=0.05)
    np.testing.assert_allclose(run["point j1"][0], [0.6, 0, -0.8], atol=1e-9)
    np.testing.assert_allclose(run["point j1"], run["b1"], atol=1e-12)


def test_bodies_without_inertia():
    """Point masses, a rod without inertia about its axis, a frame between two hinges."""
    s = mg.System("light", gravity=(0, 0, -9.81))
    cross = s.frame("cross")
    rod = s.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0))
    bob = s.body("bob", mass=2.0, com=(0, 0, -1.0), inertia=0)
    s.revolute("a", s.ground, cross, axis="x")
    s.revolute("b", cross, rod, axis="y")
    s.universal("c", rod, bob, at=(0, 0, -1))
    found = mg.agreement(s, states=3)
    assert found.ok, str(found)


def test_lengths_that_are_parameters():
    s = mg.System("rods", gravity=(0, 0, -9.81))
    L = s.parameter("L", 1.0)
    upper, lower = (
        s.body(name, mass=2.0 * L, com=(0, 0, -L / 2), inertia=(L**3 / 6, L**3 / 6, 0.01))
        for name in "ul"
    )
    s.spherical("a", s.ground, upper)
    s.spherical("b", upper, lower, at=(0, 0, -L))
    joint, e = s.equations(), s.equations("points")
    start = {"a": [0.8, 0.6, 0, 0], "b.wx": 2.0}
    runs = [x.simulate(0.5, start, parameters={"L": 0.7}, rtol=1e-10, step=0.1) for x in (joint, e)]
    np.testing.assert_allclose(runs[1]["l"], runs[0]["l"], atol=1e-8)
    assert runs[1].violation.max() < 1e-12


# --- studies --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["double_pendulum", "fourbar", "heavy_top", "garifulin", "slider_crank_3d"]
)
def test_the_same_run(name):
    """Motion, energy and reactions of a short run, by the names of joints and bodies."""
    example = gallery.load(name)
    system = example.system()
    joint = system.equations()
    options = {"start": example.start, "guess": example.guess, "rtol": 1e-11, "step": 0.02}
    expected, run = (e.simulate(0.1, **options) for e in (joint, system.equations("points")))
    for column in system.bodies:
        assert gap(expected[column], run[column], floor=1.0) < 1e-8, column
    assert gap(expected.energy, run.energy, floor=1.0) < 1e-8
    assert gap(expected.power, run.power, floor=expected.kinetic.max()) < 1e-7
    assert run.violation.max() < 1e-11
    if not joint.redundant(*joint.assemble(example.start, guess=example.guess)):
        for column in system.joints:
            assert gap(expected.reaction(column), run.reaction(column), floor=1.0) < 1e-7, column


def test_equilibria_linear_models_and_pickles():
    system = gallery.load("fourbar").system()
    both = (
        system.equations(),
        pickle.loads(pickle.dumps(system.equations("points", form="unreduced"))),
    )
    rest = [e.equilibrium({"qA": 1.5}) for e in both]
    models = [e.linearize(state).eigenvalues() for e, state in zip(both, rest, strict=True)]
    np.testing.assert_allclose(models[1], models[0], atol=1e-7)


def test_servos_springs_and_whole_turns():
    """A spring in a shared hinge winds up over several turns; its reaction holds the motor's."""
    s = mg.System("winding", gravity=(0, 0, -9.81))
    arm = s.body("arm", mass=1.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1))
    wheel = s.body("wheel", mass=1.0, inertia=(0.1, 0.1, 0.2))
    s.revolute("hip", s.ground, arm, axis="y", stiffness=0.5, damping=0.1)
    s.revolute("spin", arm, wheel, axis="z", at=(0.5, 0, 0))
    s.servo("drive", "spin", 12 * s.time)
    options = {"start": {"hip'": 15.0}, "rtol": 1e-10, "step": 0.1}
    expected, run = (s.equations(f).simulate(2.0, **options) for f in ("newton-euler", "points"))
    assert np.abs(expected["hip"]).max() > 2 * np.pi
    np.testing.assert_allclose(run["hip"], expected["hip"], atol=1e-6)
    np.testing.assert_allclose(run["drive"], expected["drive"], atol=1e-6)
    for joint in s.joints:
        assert gap(expected.reaction(joint), run.reaction(joint)) < 1e-7


# --- what users place -----------------------------------------------------------------------------

TETRAHEDRON = [(0, 0, 0), (0, 0, -1), (1, 0, 0), (0, 1, 0)]


def one_ball() -> mg.System:
    s = mg.System("top", gravity=(0, 0, -9.81))
    s.spherical(
        "pivot", s.ground, s.body("top", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.02))
    )
    return s


@pytest.mark.parametrize("number", [2, 3, 4])
def test_any_point_that_is_not_shared_may_be_eliminated(number):
    s = one_ball()
    e = s.equations("points", places={"top": TETRAHEDRON}, eliminated={"top": number})
    assert len(e.coordinates) == 6
    joint = s.equations()
    states, (q, u) = at_random(joint, e)
    seen = accelerations_of("top")
    assert gap(joint.observe(seen, states.q, states.u), e.observe(seen, q, u)) < 1e-11


def test_points_off_the_joint_close_it_by_constraints():
    s = one_ball()
    off = [(x + 0.1, y + 0.2, z + 0.3) for x, y, z in TETRAHEDRON]
    e = s.equations("points", places={"top": off})
    assert (len(e.coordinates), len(e.constraints)) == (9, 6)
    joint = s.equations()
    states, (q, u) = at_random(joint, e)
    assert gap(joint.reaction("pivot", states.q, states.u), e.reaction("pivot", q, u)) < 1e-11


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"places": {"top": [(0, 0, 0)] * 4}}, r"points 1 and 2 of body 'top' coincide"),
        (
            {"places": {"top": [(0, 0, 0), (1, 0, 0), (2, 0, 0), (0, 1, 0)]}},
            "1, 2, 3 of body 'top' are on one line",
        ),
        (
            {"places": {"top": [(0, 0, 0), (1, 0, 0), (1, 1, 0), (0, 1, 0)]}},
            "body 'top' are in one plane",
        ),
        (
            {"places": {"top": [(0, 0, 0), (1, 0, 0)]}},
            "body 'top' needs four primary points, got 2",
        ),
        ({"places": {"top": 3.0}}, "places of body 'top'"),
        ({"places": {"tip": TETRAHEDRON}}, "unknown body 'tip'; did you mean 'top'"),
        ({"eliminated": {"top": 1}}, "point 1 of body 'top' is on joint 'pivot'"),
        ({"eliminated": {"top": 5}}, "is 1, 2, 3 or 4, got 5"),
        ({"form": "solid"}, "form must be"),
        ({"route": "scenic"}, "route must be"),
        ({"rout": "forces"}, "rout"),
    ],
)
def test_what_is_refused(options, said):
    with pytest.raises(mg.UnsupportedError, match=said):
        one_ball().equations("points", **options)


# --- in a plane -----------------------------------------------------------------------------------


def crank(**elements) -> mg.System:
    """Everything that a plane has room for: hinges, a slide, a table, a weld, springs, a loop."""
    s = mg.System("flat", gravity=(0, 0, -9.81), plane="zx")
    shape = {"mass": 1.0, "com": (0.3, 0, 0.1), "inertia": (0.02, 0.03, 0.04)}
    wheel, rod, block, lid, puck = (s.body(name, **shape) for name in "wrblp")
    s.revolute("crank", s.ground, wheel, axis="y", stiffness=2.0)
    s.revolute("pin", wheel, rod, axis="y", at=(0.4, 0, 0))
    s.prismatic("rail", s.ground, block, axis="x", at=(1.0, 0, 0.1))
    s.revolute("wrist", rod, block, axis="-y", at=(1.0, 0, 0), cut=True)
    s.fixed("weld", block, lid, at=(0, 0, 0.2))
    s.planar("table", s.ground, puck, axis="y")
    tips = s.marker("lid tip", lid, at=(0.1, 0, 0.3)), s.marker("puck tip", puck, at=(0.2, 0, 0))
    s.spring_damper("spring", *tips, stiffness=20.0, damping=0.3, length=0.2)
    return s


@pytest.mark.parametrize("route", ROUTES)
def test_two_points_are_enough_in_a_plane(route):
    """Two coordinates for each point, M constant, the same accelerations and run."""
    s = crank()
    joint, e = s.equations(), s.equations("points", form="planar", route=route)
    assert {name[-2:] for name in e.coordinates if name.startswith("point")} == {".x", ".z"}
    assert e.terms.M.is_constant()
    assert len(e.points.masses([0.0] * len(e.coordinates))[0]) == 6
    states, (q, u) = at_random(joint, e)
    for body in s.bodies:
        seen = accelerations_of(body)
        expected = joint.observe(seen, states.q, states.u)
        assert gap(expected, e.observe(seen, q, u, udot=e.accelerations(q, u)), floor=1.0) < 1e-10
    start = {"crank": 1.0, "crank'": 2.0}
    runs = [x.simulate(0.5, start, rtol=1e-10, step=0.1) for x in (joint, e)]
    for body in s.bodies:
        np.testing.assert_allclose(runs[1][body], runs[0][body], atol=1e-7)


def test_reactions_in_a_plane():
    s = mg.System("arm on a cart", gravity=(0, -9.81, 0), plane="xy")
    cart, arm = (s.body(x, mass=1.0, com=(0.3, 0, 0), inertia=(0.1, 0.1, 0.1)) for x in "ca")
    s.prismatic("rail", s.ground, cart, axis="x")
    s.revolute("pin", cart, arm, at=(0.2, 0.1, 0))
    joint, e = s.equations(), s.equations("points", form="planar")
    states, (q, u) = at_random(joint, e)
    for name in s.joints:
        expected = joint.reaction(name, states.q, states.u)
        assert gap(expected, e.reaction(name, q, u)) < 1e-10


def test_a_plane_must_be_said():
    with pytest.raises(mg.UnsupportedError, match="plane='xy'"):
        one_ball().equations("points", form="planar")


# --- particles that one can see -------------------------------------------------------------------


def test_particles_of_a_system():
    s = one_ball()
    found = s.particles({"top": TETRAHEDRON})
    assert [p.name for p in found] == [*"1234", "1-2", "1-3", "1-4", "2-3", "2-4", "3-4"]
    masses, places = np.array([p.mass for p in found]), np.array([p.place for p in found])
    assert masses.sum() == pytest.approx(1.0)
    np.testing.assert_allclose(masses @ places, [0, 0, -0.5], atol=1e-14)
    np.testing.assert_allclose(places[4], (np.array(TETRAHEDRON[0]) + TETRAHEDRON[1]) / 2)
    assert len(s.particles()) == 10


def test_particles_are_seen_in_the_view():
    s = one_ball()
    balls = {}
    for formalism in ("points", "absolute"):
        run = s.equations(formalism).simulate(0.1, {"pivot.wx": 1.0}, step=0.05)
        body = scene_of(run).solids[1]
        balls[formalism] = [rod for rod in body.rods if rod.color in (HEAVY, LIGHT)]
    assert balls["absolute"] == []
    massive = [p for p in s.particles() if abs(p.mass) > 1e-9]
    assert len(balls["points"]) == len(massive)
    for ball, particle in zip(balls["points"], massive, strict=True):
        np.testing.assert_allclose(ball.a, particle.place)
        assert (ball.color == LIGHT) == (particle.mass < 0)


# --- Gear, Gupta, Leimkuhler ----------------------------------------------------------------------

GGL = "gear-gupta-leimkuhler"


@pytest.mark.parametrize("formalism", ["newton-euler", "points", "absolute"])
def test_stabilized_runs_are_right(formalism):
    """A loop with redundant rows, in all coordinates."""
    example = gallery.load("fourbar")
    equations = example.system().equations(formalism)
    options = {"start": example.start, "guess": example.guess, "step": 0.05}
    expected = example.system().equations().simulate(0.2, **options, rtol=1e-11)
    run = equations.simulate(0.2, **options, rtol=1e-7, stabilization=GGL)
    assert np.abs(run["qA"] - expected["qA"]).max() < 1e-6
    assert run.violation.max() < 1e-11
    assert run.statistics["drift"] < 1e-6  # of what is filled in between the steps


def test_stabilized_steps_are_of_order_five(monkeypatch):
    """With steps of a given length errors fall with their fifth power; Newton's method is not to be
    seen in them."""
    monkeypatch.setattr(stabilized, "CONVERGED", 1e-11)
    monkeypatch.setattr(stabilized, "ITERATIONS", 50)
    s, start = spherical_chain(1), {"j0": [0.8, 0.6, 0, 0], "j0.wz": 2.0}
    rough = {"rtol": 0.5, "atol": 1.0, "stabilization": GGL, "track_work": False}
    finals = [s.equations().simulate(0.8, start, rtol=1e-13, step=0.8)]
    e = s.equations("points")
    finals += [e.simulate(0.8, start, step=0.8, max_step=h, **rough) for h in (0.1, 0.05)]
    exact, *found = (run.observe(lambda m: m.angular_velocity("b0"))[-1] for run in finals)
    errors = [np.abs(spin - exact).max() for spin in found]
    assert 4.5 < np.log2(errors[0] / errors[1]) < 5.8


def test_stabilized_runs_with_events_inputs_and_work():
    """A rolling disc is not holonomic; a motor works; an event ends it."""
    s = mg.System("driven loop", gravity=(0, 0, -9.81))
    a, b = (s.body(x, mass=1.0, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1)) for x in "ab")
    s.revolute("first", s.ground, a, axis="y", damping=0.2)
    s.revolute("second", a, b, axis="y", at=(1, 0, 0))
    s.distance("rope", b, s.ground, 1.0)
    s.servo("drive", "second", 0.3 * s.time)
    s.torque("motor", "first", s.input("w"))
    options = {"start": {"first": 0.3}, "inputs": {"w": lambda t: 3 * np.sin(t)}, "step": 0.05}
    options["events"] = {"down": mg.Event(lambda m: m.coordinate("first") - 0.8)}
    runs = [
        s.equations().simulate(1.0, **options, rtol=rtol, stabilization=stabilization)
        for rtol, stabilization in ((1e-10, "projection"), (1e-7, GGL))
    ]
    assert runs[1].time[-1] == pytest.approx(runs[0].time[-1], abs=1e-5)
    np.testing.assert_allclose(runs[1]["first"], runs[0]["first"], atol=1e-5)
    np.testing.assert_allclose(runs[1].energy, runs[0].energy, atol=1e-4)
    np.testing.assert_allclose(runs[1].supplied, runs[0].supplied, atol=1e-4)


def test_stabilized_refuses_explicit_methods():
    with pytest.raises(mg.UnsupportedError, match=r"radau.*got method='rk8'"):
        one_ball().equations("points").simulate(0.1, stabilization=GGL, method="rk8")


def test_an_inertia_that_passes_through_zero_lets_no_constraint_go():
    """Of the disc's point on its axis, as it moves along a radius with a point on it: an inertia in
    proportion to the square of an angle that is zero at the start, beside a frame without any."""
    system = gallery.load("disc_three_ways").system()
    start = {"place.tilt": 0.4, "omega1": 0.3, "omega2": 0.5, "omega3": 1.1}
    options = {"start": start, "rtol": 1e-11, "step": 0.1}
    run = system.equations("points").simulate(1.0, stabilization="none", **options)
    joints = system.equations().simulate(1.0, **options)
    assert run.violation.max() < 1e-10
    assert np.abs(run["disc"] - joints["disc"]).max() < 1e-9


@pytest.mark.parametrize(
    ("formalism", "said"), [("nodes", "nodes coincide"), ("points", "coincide")]
)
def test_points_that_parameters_put_in_one_place_are_named(formalism, said):
    s = mg.System("bars", gravity=(0, -9.81, 0), plane="xy")
    bars = [s.body(name, mass=1.0, com=(0.5, 0, 0), inertia=0.1) for name in "AB"]
    s.revolute("a", s.ground, bars[0])
    s.revolute("b", *bars, at=(s.parameter("L", 1.0), 0, 0))
    equations, kane = s.equations(formalism), s.equations("kane")
    state = equations.assemble({"a": 0.3, "a'": 1.0})
    for values in ({"L": 0.0}, {"L": np.array([1.0, 1e-9])}):
        with pytest.raises(mg.ArgumentError, match=f"body 'A': .*{said}.*parameters; give others"):
            equations.accelerations(*state, parameters=values)
    shorter = {"parameters": {"L": 0.7}}
    places = [e.simulate(0.1, {"a": 0.3}, **shorter)["B"] for e in (equations, kane)]
    assert np.allclose(*places, atol=1e-8)
