"""Surfaces and where they touch, against brute force: points of the surfaces, searched for by
optimization."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation

import mechgraph as mg
from mechgraph.model.contact.pairs import surface_pairs

GROUND = mg.System("nothing").ground
Map = Callable[[np.ndarray], np.ndarray]  # parameters to points, along the last axis


def circle(a: np.ndarray) -> np.ndarray:
    return np.stack([np.cos(a), np.sin(a), 0 * a], -1)


def round_about_z(ring: float, tube: float) -> Map:
    """Circles of radius ``tube`` about a ring about z."""
    up = np.array([0, 0, 1.0])
    return lambda p: (
        (ring + tube * np.cos(p[..., 1]))[..., None] * circle(p[..., 0])
        + tube * np.sin(p[..., 1])[..., None] * up
    )


def ellipsoid(*semiaxes: float) -> Map:
    return lambda p: np.array(semiaxes) * round_about_z(0, 1)(p)


def barrel(radius: float, arc: float) -> Map:
    """Only the outer part of the spindle torus."""
    most = np.arccos((arc - radius) / arc)
    return lambda p: round_about_z(radius - arc, arc)(
        np.stack([p[..., 0], most * np.sin(p[..., 1])], -1)
    )


def tall(radius: float) -> Map:
    return lambda p: radius * circle(p[..., 0]) + np.array([0, 0, 1.0]) * p[..., 1:]


def capsule(radius: float, length: float) -> Map:
    """Half spheres and what is between: the latitude stops at the equator while the height goes
    from end to end."""

    def points(p: np.ndarray) -> np.ndarray:
        height = np.clip(p[..., 1], -length / 2, length / 2)
        over = (p[..., 1] - height)[..., None]
        return radius * (np.cos(over) * circle(p[..., 0]) + np.sin(over) * [0, 0, 1]) + height[
            ..., None
        ] * np.array([0, 0, 1])

    return points


def flat(p: np.ndarray) -> np.ndarray:
    return np.stack([p[..., 0], p[..., 1], 0 * p[..., 0]], -1)


CONVEX: dict[str, tuple[Callable[..., mg.Surface], Map]] = {
    "point": (mg.Point, lambda p: 0 * round_about_z(0, 1)(p)),
    "sphere": (lambda at: mg.Sphere(at, 0.3), round_about_z(0, 0.3)),
    "ellipsoid": (lambda at: mg.Ellipsoid(at, (0.3, 0.2, 0.1)), ellipsoid(0.3, 0.2, 0.1)),
    "disc": (lambda at: mg.Disc(at, 0.3), lambda p: 0.3 * circle(p[..., 0])),
    "torus": (lambda at: mg.Torus(at, 0.3, 0.1), round_about_z(0.3, 0.1)),
    "roller": (lambda at: mg.Roller(at, 0.2, 0.7), barrel(0.2, 0.7)),
}
BASES: dict[str, tuple[Callable[..., mg.Surface], Map]] = {
    "plane": (mg.Plane, flat),
    "sphere": (lambda at: mg.Sphere(at, 0.5), round_about_z(0, 0.5)),
    "torus": (lambda at: mg.Torus(at, 1.0, 0.3), round_about_z(1.0, 0.3)),
    "cylinder": (lambda at: mg.Cylinder(at, 0.4), tall(0.4)),
    "capsule": (lambda at: mg.Capsule(at, 0.2, 0.8), capsule(0.2, 0.8)),
    "ellipsoid": (lambda at: mg.Ellipsoid(at, (0.5, 0.6, 0.7)), ellipsoid(0.5, 0.6, 0.7)),
}
HOLLOW: dict[str, Callable[..., mg.Surface]] = {
    "sphere": lambda at: mg.Sphere(at, 0.5, inside=True),
    "torus": lambda at: mg.Torus(at, 1.0, 0.3, inside=True),
    "cylinder": lambda at: mg.Cylinder(at, 0.4, inside=True),
}


def least(
    cost: Callable[[np.ndarray], np.ndarray], count: int, starts: int = 400, seed: int = 0
) -> np.ndarray:
    """Parameters of the smallest cost: the best of many random ones, and what optimization makes of
    the best few."""
    tried = np.random.default_rng(seed).uniform(-np.pi, np.pi, (starts, count))
    best = tried[np.argsort([cost(p) for p in tried])[:4]]
    found = [
        minimize(cost, p, method="Powell", options={"xtol": 1e-10, "ftol": 1e-15}) for p in best
    ]
    return min(found, key=lambda result: result.fun).x


def evaluated(function: Callable, x: np.ndarray) -> list[np.ndarray]:
    symbol = ca.SX.sym("x", 3)
    results = function(symbol)
    results = results if isinstance(results, tuple) else (results,)
    return [np.array(v).ravel() for v in ca.Function("f", [symbol], list(results)).call([ca.DM(x)])]


def unit(random: np.random.Generator) -> np.ndarray:
    v = random.standard_normal(3)
    return v / np.linalg.norm(v)


# --- what a surface knows of itself ---------------------------------------------------------------


@pytest.mark.parametrize("kind", CONVEX)
def test_support_is_the_farthest_point(kind):
    make, points = CONVEX[kind]
    random = np.random.default_rng(1)
    for _ in range(4):
        nu = unit(random)
        if kind == "roller":  # its ends are not modelled
            nu[2] *= 0.3
            nu /= np.linalg.norm(nu)
        farthest = points(least(lambda p, nu=nu: -points(p) @ nu, 2))
        (found,) = evaluated(make(GROUND).support, nu)
        assert abs(found @ nu - farthest @ nu) < 1e-12
        assert np.abs(found - farthest).max() < 1e-6  # of a maximum that is flat to 1e-12


@pytest.mark.parametrize("kind", [kind for kind in BASES if kind != "ellipsoid"])
def test_nearest_point_and_its_normal(kind):
    make, points = BASES[kind]
    random = np.random.default_rng(2)
    for _ in range(4):
        c = random.uniform(-1, 1, 3)
        closest = points(least(lambda p, c=c: np.linalg.norm(points(p) - c), 2))
        point, normal = evaluated(make(GROUND).nearest, c)
        assert np.abs(point - closest).max() < 1e-6
        apart = c - point
        side = np.sign(evaluated(make(GROUND).level, c)[0][0])
        assert np.abs(apart - side * np.linalg.norm(apart) * normal).max() < 1e-12
        if kind in HOLLOW:
            seen = evaluated(HOLLOW[kind](GROUND).nearest, c)
            assert np.array_equal(seen[0], point)
            assert np.array_equal(seen[1], -normal)


@pytest.mark.parametrize("kind", BASES)
def test_level_is_zero_on_the_surface_and_grows_outwards(kind):
    """At unit rate for all but the ellipsoid, so that nothing has to be scaled near the surface."""
    make, points = BASES[kind]
    surface, random = make(GROUND), np.random.default_rng(3)
    for p in random.uniform(-1.2, 1.2, (5, 2)):
        point = points(p)
        (level,) = evaluated(surface.level, point)
        assert abs(level[0]) < 1e-15
        (slope,) = evaluated(lambda x: ca.gradient(surface.level(x), x), point)
        rim = [points(p + h) - points(p - h) for h in 1e-6 * np.eye(2)]
        assert max(abs(slope @ tangent) for tangent in rim) < 1e-11 * np.linalg.norm(slope)
        assert evaluated(surface.level, point + 0.01 * slope)[0][0] > 0
        if kind in HOLLOW:
            hollow = HOLLOW[kind](GROUND)
            assert evaluated(hollow.level, point + 0.01 * slope)[0][0] < 0
        if kind != "ellipsoid":
            assert abs(np.linalg.norm(slope) - 1) < 1e-12


@pytest.mark.parametrize("kind", [kind for kind in BASES if kind in CONVEX])
def test_support_points_lie_on_the_level_set(kind):
    surface = BASES[kind][0](GROUND)
    for seed in range(5):
        (point,) = evaluated(surface.support, unit(np.random.default_rng(seed)))
        assert abs(evaluated(surface.level, point)[0][0]) < 1e-15


def test_parts_stand_where_corners_ends_and_edges_are():
    system = mg.System("parts")
    tilted = system.marker("tilted", system.ground, (1, 2, 3), [("x", 0.3), ("z", -0.7)])
    R = np.array(ca.DM(tilted.rotation))

    def places(surface):
        return np.array([np.array(ca.DM(part.marker.at)).ravel() for part in surface.parts()])

    corners = np.array([[x, y, z] for x in (-0.1, 0.1) for y in (-0.2, 0.2) for z in (-0.3, 0.3)])
    assert (
        np.abs(places(mg.Box(tilted, (0.2, 0.4, 0.6))) - ([1, 2, 3] + corners @ R.T)).max() < 1e-15
    )
    ends = np.array([1, 2, 3]) + np.outer([-0.4, 0.4], R[:, 2])
    for surface, kind in (
        (mg.Capsule(tilted, 0.1, 0.8), mg.Sphere),
        (mg.Cylinder(tilted, 0.1, 0.8), mg.Disc),
    ):
        assert np.abs(places(surface) - ends).max() < 1e-15
        for part in surface.parts():
            assert isinstance(part, kind)
            assert float(part.radius) == 0.1
            assert np.array_equal(np.array(ca.DM(part.marker.rotation)), R)


# --- where two of them touch ----------------------------------------------------------------------

RESTS: dict[str, Callable[..., mg.Surface]] = {
    **{kind: make for kind, (make, _) in BASES.items()},
    "implicit plane": lambda at: mg.Implicit(at, lambda x, y, z: 2 * z),
    "implicit sphere": lambda at: mg.Implicit(
        at, lambda x, y, z: x**2 + y**2 + z**2 - 0.25, near=(0, 0, 0.5)
    ),
    "implicit ellipsoid": lambda at: mg.Implicit(
        at, lambda x, y, z: x**2 / 0.25 + y**2 / 0.36 + z**2 / 0.49 - 1, near=(0, 0, 0.7)
    ),
}
PAIRS = [
    *((kind, "plane") for kind in CONVEX),
    *(("sphere", base) for base in BASES if base != "plane"),
    *(("point", base) for base in ("sphere", "torus", "ellipsoid")),
    *(("ellipsoid", base) for base in ("sphere", "torus", "cylinder", "capsule", "ellipsoid")),
    *((kind, "sphere") for kind in ("disc", "torus", "roller")),
    *(("ellipsoid", base) for base in ("implicit plane", "implicit sphere", "implicit ellipsoid")),
    ("implicit", "plane"),
]


def two_bodies(surface: Callable[..., mg.Surface], base: Callable[..., mg.Surface]) -> mg.System:
    system = mg.System("pair")
    upper, lower = (
        system.body(name, mass=1.0, inertia=(0.1, 0.2, 0.3)) for name in ("upper", "lower")
    )
    system.free("above", system.ground, upper)
    system.free("below", system.ground, lower)
    system.compliant_contact("pair", surface(upper), base(lower), stiffness=1.0)
    return system


def pose(name: str, place: np.ndarray, turn: Rotation) -> dict[str, np.ndarray]:
    return {name: np.concatenate([place, turn.as_quat(scalar_first=True)])}


@pytest.mark.parametrize(("kind", "base"), PAIRS)
def test_gap_is_the_distance_of_the_surfaces(kind, base):
    """At random poses, one above the other: distance and common normal, by a search over the points
    of both."""
    implicit = kind == "implicit"  # the ellipsoid of the table, by its level set
    make = (
        (
            lambda at: mg.Implicit(
                at,
                lambda x, y, z: x**2 / 0.09 + y**2 / 0.04 + z**2 / 0.01 - 1,
                near=(0.1, 0.1, -0.1),
            )
        )
        if implicit
        else CONVEX[kind][0]
    )
    points, base_points = (
        CONVEX["ellipsoid" if implicit else kind][1],
        BASES[base.removeprefix("implicit ")][1],
    )
    system = two_bodies(make, RESTS[base])
    equations = system.equations()
    (pair,) = system.forces["pair"].pairs
    random = np.random.default_rng(5)
    turn, tilt = Rotation.from_rotvec(0.4 * unit(random)), Rotation.from_rotvec(0.5 * unit(random))
    # it lies, because it has no ends
    turn = turn * Rotation.from_rotvec([np.pi / 2, 0, 0]) if kind == "roller" else turn
    places = random.uniform(-0.3, 0.3, 3), random.uniform(-0.3, 0.3, 3)
    places[0][2] += 1.6
    state = equations.assemble({**pose("above", places[0], turn), **pose("below", places[1], tilt)})
    assert np.abs(equations.position_violation(state[0])).max(initial=0) < 1e-10
    seen = equations.observe(
        lambda m: ca.vertcat(pair.contact(m).gap, pair.contact(m).normal, pair.contact(m).point),
        *state,
    )

    def ends(p):
        return turn.apply(points(p[:2])) + places[0], tilt.apply(base_points(p[2:])) + places[1]

    above, below = ends(least(lambda p: np.linalg.norm(np.subtract(*ends(p))), 4, starts=2000))
    distance = np.linalg.norm(above - below)
    assert abs(seen[0] - distance) < 1e-9
    assert np.abs(seen[1:4] - (above - below) / distance).max() < 1e-5
    assert min(np.abs(seen[4:] - above).max(), np.abs(seen[4:] - below).max()) < 1e-5


@pytest.mark.parametrize("base", HOLLOW)
def test_a_ball_inside_has_the_rest_of_the_radius(base):
    system = two_bodies(lambda at: mg.Sphere(at, 0.1), HOLLOW[base])
    equations = system.equations()
    (pair,) = system.forces["pair"].pairs
    centre = np.array([1.1, 0.1, 0.05]) if base == "torus" else np.array([0.1, 0.15, 0.2])
    state = equations.assemble(pose("above", centre, Rotation.identity()))
    seen = equations.observe(
        lambda m: ca.vertcat(pair.contact(m).gap, pair.contact(m).normal), *state
    )
    around, radius = {
        "sphere": (np.zeros(3), 0.5),
        "cylinder": (np.array([0, 0, 0.2]), 0.4),
        "torus": (np.array([1.1, 0.1, 0]) / np.hypot(1.1, 0.1), 0.3),
    }[base]
    arm = centre - around
    assert abs(seen[0] - (radius - np.linalg.norm(arm) - 0.1)) < 1e-14
    assert np.abs(seen[1:] + arm / np.linalg.norm(arm)).max() < 1e-14


@pytest.mark.parametrize("base", HOLLOW)
def test_in_the_very_middle_of_a_hollow_surface_there_is_room(base):
    """All points of the wall are next to it; one of them is taken, and the derivatives of the gap
    are numbers."""
    middle = np.array([1.0, 0, 0]) if base == "torus" else np.zeros(3)
    radius = {"sphere": 0.5, "cylinder": 0.4, "torus": 0.3}[base]
    point, normal = evaluated(HOLLOW[base](GROUND).nearest, middle)
    assert abs(np.linalg.norm(normal) - 1) < 1e-15
    assert abs(np.linalg.norm(point - middle) - radius) < 1e-15
    system = two_bodies(lambda at: mg.Sphere(at, 0.1), HOLLOW[base])
    equations = system.equations()
    (pair,) = system.forces["pair"].pairs
    state = equations.assemble({**pose("above", middle, Rotation.identity()), "above.x'": 1.0})
    assert abs(equations.observe(lambda m: pair.contact(m).gap, *state)[0] - (radius - 0.1)) < 1e-14
    assert np.abs(equations.accelerations(*state)).max() == 0


def test_flat_disc_and_torus_have_their_heights():
    """The lowest point of what lies flat is not unique, but its height is."""
    for surface, height in (
        (lambda at: mg.Disc(at, 0.3), 1.0),
        (lambda at: mg.Torus(at, 0.3, 0.1), 0.9),
    ):
        system = two_bodies(surface, mg.Plane)
        equations = system.equations()
        q, u = equations.assemble({"above.z": 1.0})
        (pair,) = system.forces["pair"].pairs
        assert equations.observe(lambda m, pair=pair: pair.contact(m).gap, q, u)[0] == height
        assert np.isfinite(equations.accelerations(q, u)).all()


# --- two ways to the same contact -----------------------------------------------------------------

TWINS: dict[str, list[tuple[Callable[..., mg.Surface], Callable[..., mg.Surface]]]] = {
    "sphere in a bowl": [
        (lambda at: mg.Sphere(at, 0.1), lambda at: mg.Sphere(at, 1.0, inside=True)),
        (
            lambda at: mg.Sphere(at, 0.1),
            lambda at: mg.Implicit(at, lambda x, y, z: 1 - x**2 - y**2 - z**2, near=(0, 0, -1)),
        ),
        (lambda at: mg.Ellipsoid(at, (0.1,) * 3), lambda at: mg.Sphere(at, 1.0, inside=True)),
    ],
    "ellipsoid on a plane": [
        (lambda at: mg.Ellipsoid(at, (0.3, 0.2, 0.1)), lambda at: mg.Plane(_lowered(at))),
        (
            lambda at: mg.Ellipsoid(at, (0.3, 0.2, 0.1)),
            lambda at: mg.Implicit(at, lambda x, y, z: z + 0.9, near=(0, 0, -0.9)),
        ),
        (
            lambda at: mg.Implicit(
                at, lambda x, y, z: x**2 / 0.09 + y**2 / 0.04 + z**2 / 0.01 - 1, near=(0, 0, -0.1)
            ),
            lambda at: mg.Plane(_lowered(at)),
        ),
    ],
}


def _lowered(at: mg.Body) -> mg.Marker:
    return mg.Marker("floor", at, ca.SX([0, 0, -0.9]), ca.SX.eye(3))


def on_base(surface, base, how: str) -> mg.System:
    system = mg.System("twin", gravity=(0.2, 0.1, -9.81))
    body = system.body("body", mass=2.0, com=(0.01, -0.02, 0.015), inertia=(0.02, 0.03, 0.04))
    system.free("place", system.ground, body)
    if how == "roll":
        system.roll("touch", surface(body), base(system.ground))
    elif how == "slide":
        system.slide(
            "touch", surface(body), base(system.ground), friction=mg.Friction(0.2, viscous=0.1)
        )
    else:
        system.compliant_contact(
            "touch", surface(body), base(system.ground), stiffness=1e4, damping=0.3, friction=0.2
        )
    return system


@pytest.mark.parametrize("how", ["roll", "slide", "press"])
@pytest.mark.parametrize("twins", TWINS)
def test_the_same_contact_by_other_equations(twins, how):
    """Accelerations, the force on the body, and the motion."""
    first, *others = [on_base(*pair, how).equations() for pair in TWINS[twins]]
    height = -0.85 if twins == "sphere in a bowl" else -0.79
    free = {"place.x": 0.2, "place.y": 0.1, "place.wx": 1.0, "place.wy": -2.0, "place.wz": 0.5}
    free |= dict(
        zip(("place.q0", "place.q1", "place.q2", "place.q3"), unit_quaternion(), strict=True)
    )
    if how == "press":
        free |= {"place.z": height - 0.05, "place.x'": 0.3, "place.y'": 0.1, "place.z'": -0.2}
    elif how == "slide":
        free |= {"place.x'": 0.3, "place.y'": 0.1}
    states = [
        eqs.assemble(free, guess={} if how == "press" else {"place.z": height})
        for eqs in (first, *others)
    ]
    expected = seen_of(first, states[0])
    runs = [
        e.simulate(0.4, s, rtol=1e-11, step=0.1)
        for e, s in zip((first, *others), states, strict=True)
    ]
    for equations, state, run in zip(others, states[1:], runs[1:], strict=True):
        assert np.abs(state[0][:7] - states[0][0][:7]).max() < 1e-10
        assert np.abs(seen_of(equations, state) - expected).max() < 1e-10 * np.abs(expected).max()
        assert np.abs(run["place"] - runs[0]["place"]).max() < 1e-9
        assert np.abs(run.dissipated - runs[0].dissipated).max() < 1e-9
        assert run.violation.max() < 1e-11


def unit_quaternion() -> np.ndarray:
    return Rotation.from_rotvec([0.3, -0.2, 0.4]).as_quat(scalar_first=True)


def seen_of(equations: mg.Equations, state) -> np.ndarray:
    """Acceleration, angular acceleration, and the force of the contact by Newton's law."""
    seen = equations.observe(
        lambda m: ca.vertcat(
            m.acceleration("body"), m.angular_acceleration("body"), 2 * acceleration_of_centre(m)
        ),
        *state,
    )
    return np.concatenate([seen, seen[6:] - 2 * np.array([0.2, 0.1, -9.81])])


def acceleration_of_centre(m: mg.Motion) -> ca.SX:
    arm = m.rotation("body") @ ca.SX([0.01, -0.02, 0.015])
    omega = m.angular_velocity("body")
    return (
        m.acceleration("body")
        + ca.cross(m.angular_acceleration("body"), arm)
        + ca.cross(omega, ca.cross(omega, arm))
    )


# --- what is refused ------------------------------------------------------------------------------


def test_points_are_not_found_on_the_far_side():
    """The equations of a point of contact also hold opposite to it; assembly takes the right one
    whatever the start."""
    system = two_bodies(lambda at: mg.Ellipsoid(at, (0.3, 0.2, 0.1)), lambda at: mg.Sphere(at, 0.5))
    equations = system.equations()
    (pair,) = system.forces["pair"].pairs
    for start in (-0.5, 0.3, 2.0):
        state = equations.assemble({"above.z": 1.0}, guess={"pair.point.z": start})
        # as assembly closes rows
        assert abs(equations.observe(lambda m: pair.contact(m).gap, *state)[0] - 0.4) < 1e-10


def test_assembly_moves_points_of_contact_and_leaves_the_bodies_alone():
    """What nobody named stays at its reference: places, turns and speeds, though a point of contact
    has to go far and fast."""
    system = two_bodies(lambda at: mg.Ellipsoid(at, (0.3, 0.2, 0.1)), RESTS["implicit ellipsoid"])
    equations = system.equations()
    turn = Rotation.from_rotvec([0.3, 0.2, 0.1]).as_quat(scalar_first=True)
    q, u = equations.assemble(
        {
            "above.x": 0.4,
            "above.z": 1.5,
            "above.x'": 2.0,
            **{f"above.q{k}": turn[k] for k in range(4)},
        }
    )
    expected = np.concatenate([[0.4, 0, 1.5], turn, [0, 0, 0, 1, 0, 0, 0]])
    assert np.abs(q[:14] - expected).max() < 1e-9
    assert np.abs(u[:12] - np.eye(12)[0] * 2).max() < 1e-12
    assert np.linalg.norm(u[12:]) > 0.1


def test_a_rolling_disc_is_assembled_on_its_edge():
    system = mg.System("disc")
    body = system.body("disc", mass=1.0, inertia=(1, 1, 2))
    system.free("place", system.ground, body)
    system.roll("floor", mg.Disc(body, 0.5), mg.Plane(system.ground))
    equations = system.equations()
    q, u = equations.assemble()
    assert abs(equations.rotation("disc", q)[2, 2]) < 1 - 1e-7
    assert np.isfinite(equations.accelerations(q, u)).all()
    with pytest.raises(mg.AssemblyError, match="a disc lying flat"):
        equations.assemble({"place.q0": 1.0, "place.q1": 0.0, "place.q2": 0.0, "place.q3": 0.0})


def test_pairs_without_an_answer_are_refused():
    system = mg.System("refused")
    body = system.body("body", mass=1.0, inertia=(1, 1, 1))
    ground = system.ground
    for surface, base, words in (
        (mg.Plane(body), mg.Plane(ground), "Plane on Plane"),
        (mg.Cylinder(body, 0.1), mg.Plane(ground), "Cylinder on Plane"),
        (mg.Sphere(body, 0.1), mg.Box(ground, (1, 1, 1)), "Sphere on Box"),
        (mg.Sphere(body, 1.0, inside=True), mg.Sphere(ground, 0.1), "hollow"),
        (mg.Sphere(body, 0.1), mg.Sphere(body, 0.1), "both surfaces are on body 'body'"),
        (body, mg.Plane(ground), "give a surface"),
    ):
        with pytest.raises(mg.ModelError, match=words):
            surface_pairs("pair", surface, base)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda at: mg.Sphere(at, -0.1), "radius must be positive"),
        (lambda at: mg.Ellipsoid(at, (0.1, 0, 0.1)), "semiaxes must be positive"),
        (lambda at: mg.Box(at, (0.1, 0.1)), "sides"),
        (lambda at: mg.Implicit(at, 3.0), "g must be a function"),
        (lambda at: mg.Sphere(3, 0.1), "sits on a body or a marker"),
    ],
)
def test_wrong_numbers_are_refused(make, words):
    with pytest.raises(mg.ModelError, match=words):
        make(GROUND)
