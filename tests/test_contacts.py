"""Contacts that come and go, against closed forms: impacts, release, sticking and sliding, elastic
ones."""

from __future__ import annotations

import warnings

import casadi as ca
import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

import mechgraph as mg
from measure import IN_SPACE, gap, placed

G = 9.81
FORMALISMS = pytest.mark.parametrize("formalism", IN_SPACE)
# Maggi leaves the constraint forces out, and says so where they are needed
WITH_MULTIPLIERS = pytest.mark.parametrize(
    "formalism", [name for name in IN_SPACE if name != "maggi"]
)


def jumps(run: mg.Trajectory) -> np.ndarray:
    """Indices of the states before events; the first one settles the start."""
    return np.flatnonzero(np.diff(run.time) == 0)[1:]


def impacts(run: mg.Trajectory) -> np.ndarray:
    """Those events at which speeds change."""
    return np.array(
        [k for k in jumps(run) if np.abs(run.u[k + 1] - run.u[k]).max() > 1e-9], dtype=int
    )


def falling(kind: str = "free", gravity: float = G, **properties) -> tuple[mg.System, mg.Body]:
    system = mg.System("falling", gravity=(0, 0, -gravity))
    body = system.body("body", **({"mass": 1.5, "inertia": (0.006,) * 3} | properties))
    if kind == "free":
        system.free("place", system.ground, body)
    else:
        system.prismatic("place", system.ground, body, axis="z")
    return system, body


# --- rigid: impacts -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def bouncing():
    system, body = falling("up")
    system.rigid_contact("floor", mg.Sphere(body, 0.1), mg.Plane(system.ground), restitution=0.8)
    return system.equations().simulate(5.0, {"place": 1.1}, rtol=1e-11, step=0.01)


@pytest.mark.smoke
def test_a_ball_bounces_at_the_known_times(bouncing):
    """From h = 1 at T = √(2 h / g), then after 2 T eⁿ each."""
    first = np.sqrt(2 / G)
    expected = np.concatenate([[first], first + 2 * first * np.cumsum(0.8 ** np.arange(1, 30))])
    k = impacts(bouncing)[:30]
    assert np.abs(bouncing.time[k] - expected).max() < 1e-9
    assert np.abs(bouncing.u[k + 1, 0] + 0.8 * bouncing.u[k, 0]).max() < 1e-12
    assert np.abs(bouncing.u[k, 0] + np.sqrt(2 * G) * 0.8 ** np.arange(30)).max() < 1e-9


def test_it_comes_to_rest_where_the_times_accumulate(bouncing):
    """At T (1 + e) / (1 − e), after so many impacts that the next would be slower than
    ``rebound_threshold``."""
    end = np.sqrt(2 / G) * 1.8 / 0.2
    count = int(np.ceil(np.log(1e-5 / np.sqrt(2 * G)) / np.log(0.8)))
    assert bouncing.statistics["impacts"] == count
    # the speeds below 1e-5 that are left out, over g
    assert abs(bouncing.time[jumps(bouncing)[-1]] - end) < 1e-5
    resting = bouncing.time > end
    assert (bouncing.modes["floor.touching"][resting] == 1).all()
    assert np.abs(bouncing["place"][resting] - 0.1).max() < 1e-10
    assert np.abs(bouncing["place'"][resting]).max() < 1e-15
    assert np.abs(bouncing.reaction("floor")[resting, 2] - 1.5 * G).max() < 1e-9
    assert np.abs(bouncing.reaction("floor")[bouncing.modes["floor.touching"] == 0]).max() == 0


def test_impacts_dissipate_what_they_take(bouncing):
    assert np.abs(bouncing.imbalance).max() < 1e-9
    assert abs(bouncing.dissipated[-1] - 1.5 * G) < 1e-9  # m g h
    assert bouncing.violation.max() < 1e-10


def cradle(count: int, restitution: float = 1.0) -> mg.System:
    """Pendulums of unit length that just touch."""
    system = mg.System("cradle", gravity=(0, 0, -G))
    bobs = []
    for k in range(count):
        body = system.body(f"ball {k}", mass=1.0, com=(0, 0, -1), inertia=(0.004,) * 3)
        system.revolute(f"j{k}", system.ground, body, axis="y", at=(0.2 * k, 0, 0))
        bobs.append(mg.Sphere(system.marker(f"bob {k}", body, (0, 0, -1)), 0.1))
    for k in range(count - 1):
        system.rigid_contact(f"c{k}", bobs[k + 1], bobs[k], restitution=restitution)
    return system


@pytest.mark.parametrize("thrown", [1, 2])
def test_as_many_balls_leave_a_cradle_as_were_thrown(thrown):
    equations = cradle(5).equations()
    run = equations.simulate(0.8, {f"j{k}": 0.3 for k in range(thrown)}, rtol=1e-11, step=0.02)
    k = impacts(run)[0]
    speed = np.sqrt(2 * G * (1 - np.cos(0.3)) / 1.004)  # of a rod's end with the ball's own inertia
    assert np.abs(run.u[k] - np.array([-speed] * thrown + [0.0] * (5 - thrown))).max() < 1e-9
    assert np.abs(run.u[k + 1] - np.array([0.0] * (5 - thrown) + [-speed] * thrown)).max() < 1e-9
    assert np.ptp(run.energy) < 1e-8
    assert run.outcome == "finished"


def test_a_row_of_two_with_restitution():
    """Equal masses: speeds (1 − e)/2 and (1 + e)/2 of the first."""
    run = cradle(2, restitution=0.6).equations().simulate(0.6, {"j0": 0.3}, rtol=1e-11, step=0.05)
    k = impacts(run)[0]
    assert np.abs(run.u[k + 1] - run.u[k, 0] * np.array([0.2, 0.8])).max() < 1e-10


@pytest.mark.parametrize(("friction", "sticks"), [(0.5, True), (0.1, False), (0.0, False)])
def test_an_oblique_impact(friction, sticks):
    """A ball: the impulse along the floor stops the slip, (2/7) m s, or is μ (1 + e) m v of the
    cone."""
    system, body = falling()
    system.rigid_contact(
        "floor", mg.Sphere(body, 0.1), mg.Plane(system.ground), restitution=0.7, friction=friction
    )
    start = {
        "place.z": 0.3,
        "place.x'": 1.0,
        "place.y'": -0.5,
        "place.wx": 2.0,
        "place.wy": -3.0,
        "place.wz": 4.0,
    }
    run = system.equations().simulate(0.25, start, rtol=1e-11, step=0.05)
    (k,) = impacts(run)
    columns = [
        run.columns["speeds"].index(f"place.{name}")
        for name in ("x'", "y'", "z'", "wx", "wy", "wz")
    ]
    before, after = run.u[k][columns], run.u[k + 1][columns]
    R = run.equations.rotation("body", run.q[k])
    spin, spin_after = R @ before[3:], R @ after[3:]
    down = np.array([0, 0, -0.1])
    slip = (before[:3] + np.cross(spin, down)) * [1, 1, 0]
    normal = 1.5 * 1.7 * np.sqrt(2 * G * 0.2)
    along = -2 / 7 * 1.5 * slip if sticks else -friction * normal * slip / np.linalg.norm(slip)
    assert (friction * normal > 2 / 7 * 1.5 * np.linalg.norm(slip)) == sticks
    assert np.abs(after[:3] - before[:3] - np.array([*along[:2], normal]) / 1.5).max() < 1e-9
    assert np.abs(spin_after - spin - np.cross(down, along) / 0.006).max() < 1e-9
    assert np.abs(run.imbalance).max() < 1e-9


FLAT = {
    "box": (lambda at: mg.Box(at, (0.4, 0.4, 0.2)), 0.1),
    "capsule": (lambda at: mg.Capsule(_lying(at), 0.1, 0.4), 0.1),
    "cylinder on its side": (lambda at: mg.Cylinder(_lying(at), 0.1, 0.4), 0.1),
    "cylinder": (lambda at: mg.Cylinder(at, 0.1, 0.4), 0.2),
    "torus": (lambda at: mg.Torus(at, 0.2, 0.1), 0.1),
    "disc": (lambda at: mg.Disc(at, 0.1), 0.0),
}


@pytest.mark.parametrize(("restitution", "friction"), [(0.5, 0.0), (0.5, 0.3), (0.0, 0.3)])
@pytest.mark.parametrize("kind", FLAT)
def test_what_lands_flat_rebounds_flat(kind, restitution, friction):
    """Its points are hit together: all of it has the restitution of one point, and nothing turns or
    goes aside."""
    make, height = FLAT[kind]
    system, body = falling()
    system.rigid_contact(
        "floor", make(body), mg.Plane(system.ground), restitution=restitution, friction=friction
    )
    run = system.equations().simulate(1.0, {"place.z": height + 0.3}, rtol=1e-10, step=0.05)
    (k, *_) = impacts(run)
    assert abs(run["place.z'"][k] + np.sqrt(2 * G * 0.3)) < 1e-9
    assert np.abs(run.u[k + 1] - np.eye(6)[2] * restitution * np.sqrt(2 * G * 0.3)).max() < 1e-9
    assert np.abs(run["body"][-1] - [0, 0, height]).max() < 1e-10
    assert np.abs(run.u[-1]).max() < 1e-12
    assert abs(run.dissipated[-1] - 1.5 * G * 0.3) < 1e-9


def test_a_tilted_cylinder_lands_in_its_own_plane():
    """Nothing slips before the impact, so friction is against the slip that begins, whatever the
    rounding of none."""
    system, body = falling(inertia=(0.016, 0.016, 0.005))
    system.rigid_contact(
        "floor", mg.Cylinder(body, 0.1, 0.4), mg.Plane(system.ground), restitution=0.3, friction=0.3
    )
    turn = Rotation.from_rotvec([0.12, 0.16, 0]).as_quat(scalar_first=True)
    run = system.equations().simulate(
        0.4, {"place.z": 0.5, **{f"place.q{k}": turn[k] for k in range(4)}}, step=0.05
    )
    moving = run.observe(lambda m: ca.vertcat(m.velocity("body"), m.angular_velocity("body")))[-1]
    assert abs(moving[0]) > 0.1
    assert (
        np.abs(
            moving
            @ np.array([[0.6, 0.8, 0, 0, 0, 0], [0, 0, 0, 0.8, -0.6, 0], [0, 0, 0, 0, 0, 1]]).T
        ).max()
        < 1e-8
    )


def test_an_impact_moves_all_that_hangs_together():
    """A double pendulum's tip on a wall: M Δu is along the slope of the gap, and the tip
    rebounds."""
    system = mg.System("pendulum", gravity=(0, 0, -G))
    upper, lower = (
        system.body(n, mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
        for n in ("upper", "lower")
    )
    system.revolute("a", system.ground, upper, axis="y")
    system.revolute("b", upper, lower, axis="y", at=(0, 0, -1))
    tip = mg.Point(system.marker("tip", lower, (0, 0, -1)))
    system.rigid_contact(
        "wall",
        tip,
        mg.Plane(system.marker("at", system.ground, (-0.2, 0, 0), [("y", np.pi / 2)])),
        0.5,
    )
    equations = system.equations()
    run = equations.simulate(0.8, {"a": -0.6, "b": 0.4}, rtol=1e-11, step=0.02)
    k = impacts(run)[0]
    slope = tip_slope(run.q[k])
    change = equations.mass_matrix(run.q[k]) @ (run.u[k + 1] - run.u[k])
    assert abs(change[0] * slope[1] - change[1] * slope[0]) < 1e-9 * np.linalg.norm(
        change
    ) * np.linalg.norm(slope)
    assert abs(slope @ run.u[k + 1] + 0.5 * slope @ run.u[k]) < 1e-9
    assert np.abs(run.imbalance).max() < 1e-8


def tip_slope(q: np.ndarray) -> np.ndarray:
    """Of x = −sin a − sin(a + b)."""
    return -np.array([np.cos(q[0]) + np.cos(q.sum()), np.cos(q.sum())])


# --- rigid: release, sticking, sliding ------------------------------------------------------------


def test_a_rod_leaves_the_wall_at_two_thirds_of_its_height():
    system, tilt = mg.System("rod", gravity=(0, 0, -G)), 0.2
    rod = system.body("rod", mass=1.0, inertia=(1 / 12, 1 / 12, 1e-6))
    system.joint(
        "place", system.ground, rod, [mg.move("x", "x"), mg.move("z", "z"), mg.rot("y", "angle")]
    )
    bottom, top = system.marker("bottom", rod, (0, 0, -0.5)), system.marker("top", rod, (0, 0, 0.5))
    system.rigid_contact("floor", mg.Point(bottom), mg.Plane(system.ground))
    system.rigid_contact(
        "wall",
        mg.Point(top),
        mg.Plane(system.marker("side", system.ground, orientation=[("y", np.pi / 2)])),
    )
    equations = system.equations()
    start = {"place.x": 0.5 * np.sin(tilt), "place.z": 0.5 * np.cos(tilt), "place.angle": -tilt}
    run = equations.simulate(0.8, start, rtol=1e-12, step=0.02)
    walls = run.modes["wall.touching"]
    assert walls[1] == 1
    leaves = (
        int(np.flatnonzero(walls == 0)[0])
        if walls[0] == 1
        else int(np.flatnonzero(walls[1:] == 0)[0]) + 1
    )
    height = run["top"][:, 2]
    assert abs(height[leaves] / height[0] - 2 / 3) < 1e-8
    assert run.modes["floor.touching"].min() == 1
    assert np.ptp(run.energy) < 1e-9
    after = run.time > run.time[leaves]
    assert (run["top"][after, 0] > 0).all()


@pytest.fixture(scope="module")
def box():
    """A box over a floor that may slope, with a pull that grows for two seconds: one system for all
    of its motions."""
    system = mg.System("box")
    slope, pull = system.parameter("slope", 0.0), system.parameter("pull", 0.0)
    system.gravity = [G * mg.sin(slope), 0, -G * mg.cos(slope)]
    body = system.body("body", mass=1.0, inertia=(0.01, 0.02, 0.015))
    system.free("place", system.ground, body)
    surface, floor = mg.Box(body, (0.3, 0.2, 0.1)), mg.Plane(system.ground)
    system.rigid_contact(
        "floor", surface, floor, restitution=0.1, friction=0.3, static_friction=0.4
    )
    system.force("pull by", body, lambda m: [mg.if_else(m.time < 2.0, pull * m.time, 0), 0, 0])
    return system.equations()


@pytest.fixture(scope="module")
def pulled(box):
    return box.simulate(3.0, {"place.z": 0.05}, rtol=1e-10, step=0.02, parameters={"pull": 3.0})


def test_a_block_breaks_away_slides_and_stops(pulled):
    """It sticks until 3 t = μ_s m g; then m v̇ = 3 t − μ m g; then it is stopped by μ g alone."""
    breaks = 0.4 * G / 3
    held = pulled.time <= breaks
    assert np.abs(pulled.u[held]).max() < 1e-12
    sliding = (pulled.time > breaks) & (pulled.time <= 2)
    t = pulled.time[sliding]
    speed = 1.5 * (t**2 - breaks**2) - 0.3 * G * (t - breaks)
    # 3 v₀: gained before friction is all there
    assert np.abs(pulled["place.x'"][sliding] - speed).max() < 3e-5
    fastest = 1.5 * (4 - breaks**2) - 0.3 * G * (2 - breaks)
    stops = 2 + fastest / (0.3 * G)
    assert abs(pulled.time[jumps(pulled)[-1]] - stops) < 3e-5
    way = quad(lambda t: 1.5 * (t**2 - breaks**2) - 0.3 * G * (t - breaks), breaks, 2)[
        0
    ] + fastest**2 / (0.6 * G)
    assert abs(pulled["place.x"][-1] - way) < 1e-4
    assert np.abs(pulled.u[-1]).max() < 1e-12
    assert np.abs(pulled.imbalance).max() < 1e-8
    assert abs(pulled.dissipated[-1] - 0.3 * G * way) < 1e-4


def test_it_does_so_with_three_events(pulled):
    """Breaks away, and sticks again; no chatter on the way."""
    assert len(jumps(pulled)) <= 4
    assert pulled.statistics["impacts"] == 0


@pytest.mark.parametrize("slope", [0.3, 0.45])
def test_a_block_on_a_slope(box, slope):
    """It stays where tan α < μ_s, and slides with g (sin α − μ cos α) where not."""
    run = box.simulate(0.5, {"place.z": 0.05}, rtol=1e-9, step=0.05, parameters={"slope": slope})
    sliding = np.tan(slope) > 0.4
    rate = G * (np.sin(slope) - 0.3 * np.cos(slope)) if sliding else 0.0
    # speed gained before friction is all there
    smooth = 0.3 * G * np.cos(slope) / rate * 1e-5 if sliding else 1e-12
    assert np.abs(run["place.x'"] - rate * run.time).max() <= smooth
    assert np.abs(run["place.z"] - 0.05).max() < 1e-10


def test_a_thrown_ball_slides_then_rolls():
    """5/7 of its speed is left, by rigid contact as by sliding; a sticking ball is a rolling
    one."""
    system, body = falling()
    system.rigid_contact("floor", mg.Sphere(body, 0.1), mg.Plane(system.ground), friction=0.2)
    run = system.equations().simulate(0.5, {"place.z": 0.1, "place.x'": 1.0}, rtol=1e-10, step=0.02)
    assert abs(run["place.x'"][-1] - 5 / 7) < 1e-6
    assert run.modes["floor.sticking"][-1] == 1
    # the slip of the smooth law fades out
    assert abs(run.time[jumps(run)[-1]] - 2 / (7 * 0.2 * G)) < 1e-4
    assert np.abs(run.imbalance).max() < 1e-9


@WITH_MULTIPLIERS
def test_closed_points_are_bilateral_ones(formalism):
    """With its switches set, a rigid contact is a rolling or a sliding one: accelerations and
    reactions."""

    def touching(how: str) -> mg.System:
        system, body = falling(com=(0.01, 0.02, -0.03))
        surface, base = mg.Ellipsoid(body, (0.3, 0.2, 0.1)), mg.Plane(system.ground)
        if how == "contact":
            system.rigid_contact("floor", surface, base, friction=0.3)
        elif how == "roll":
            system.roll("floor", surface, base)
        else:
            system.slide("floor", surface, base, mg.Friction(0.3, regularization=1e-5))
        return system

    contact = touching("contact").equations(formalism)
    turn = Rotation.from_rotvec([0.3, -0.2, 0.4]).as_quat(scalar_first=True)
    for how, sticking in (("roll", 1), ("slide", 0)):
        other = touching(how)
        start = {f"place.q{k}": turn[k] for k in range(4)} | {"place.wx": 1.0, "place.wz": 0.4}
        q, u = other.equations().assemble(start, guess={"place.z": 0.2})
        switches = {"floor.touching": 1, "floor.sticking": sticking}
        state = placed(contact, q, u)
        seen = contact.observe(
            lambda m: ca.vertcat(m.acceleration("body"), m.angular_acceleration("body")),
            *state,
            parameters=switches,
        )
        expected = other.equations().observe(
            lambda m: ca.vertcat(m.acceleration("body"), m.angular_acceleration("body")), q, u
        )
        assert gap(expected, seen) < 1e-11
        reaction = contact.reaction("floor", *state, parameters=switches)
        assert gap(other.equations().reaction("floor", q, u), reaction) < 1e-11
    opened = contact.observe(lambda m: m.acceleration("body"), *state)
    free = (
        falling(com=(0.01, 0.02, -0.03))[0]
        .equations()
        .observe(lambda m: m.acceleration("body"), q, u)
    )
    assert gap(free, opened) < 1e-12


def test_a_tumbling_box_comes_to_rest(box):
    """Many impacts of its corners, and in the end it lies on a face; the energy is accounted
    for."""
    turn = Rotation.from_rotvec([0.3, 0.4, 0]).as_quat(scalar_first=True)
    start = {
        "place.z": 0.25,
        "place.wx": 2.0,
        "place.x'": 0.5,
        **{f"place.q{k}": turn[k] for k in range(4)},
    }
    run = box.simulate(1.0, start, rtol=1e-8, step=0.02)
    assert np.abs(run.u[-1]).max() < 1e-12
    height = run["place.z"][-1]
    assert min(abs(height - half) for half in (0.05, 0.1, 0.15)) < 1e-9
    assert sum(run.modes[f"floor {k}.touching"][-1] for k in range(1, 9)) == 4
    assert np.abs(run.imbalance).max() < 1e-8 * run.energy[0]
    assert abs(run.dissipated[-1] - (run.energy[0] - G * height)) < 1e-8
    assert (np.diff(run.dissipated) > -1e-9).all()
    assert run.violation.max() < 1e-9


def test_balls_in_a_stack():
    """Several contacts at once: three balls drop on each other without rebound, and each carries
    those above it."""
    system = mg.System("stack", gravity=(0, 0, -G))
    below: mg.Surface = mg.Plane(system.ground)
    for k in range(3):
        ball = system.body(f"ball {k}", mass=1.0 + k, inertia=(0.01,) * 3)
        system.prismatic(f"z{k}", system.ground, ball, axis="z")
        surface = mg.Sphere(ball, 0.1)
        system.rigid_contact(f"c{k}", surface, below)
        below = surface
    run = system.equations().simulate(0.6, {"z0": 0.2, "z1": 0.5, "z2": 0.8}, rtol=1e-10, step=0.02)
    assert np.abs(run.q[-1] - [0.1, 0.3, 0.5]).max() < 1e-9
    assert np.abs(run.multipliers[-1] - G * np.array([6.0, 5.0, 3.0])).max() < 1e-8
    assert np.abs(run.imbalance).max() < 1e-8


def test_a_flying_ball_is_undisturbed_by_a_floor_it_does_not_meet():
    system, body = falling()
    system.rigid_contact(
        "floor", mg.Sphere(body, 0.1), mg.Plane(system.ground), restitution=0.5, friction=0.3
    )
    run = system.equations().simulate(0.4, {"place.z": 1.0, "place.x'": 2.0}, rtol=1e-10, step=0.1)
    assert run.statistics["impacts"] == 0
    assert np.abs(run["place.z"] - (1 - G * run.time**2 / 2)).max() < 1e-10
    assert run.dissipated[-1] == 0


def test_a_start_in_contact_with_speed_into_the_floor_begins_with_an_impact():
    system, body = falling("up")
    system.rigid_contact("floor", mg.Sphere(body, 0.1), mg.Plane(system.ground), restitution=0.5)
    run = system.equations().simulate(0.1, {"place": 0.1, "place'": -2.0}, rtol=1e-10, step=0.05)
    assert run.statistics["impacts"] == 1
    assert abs(run["place'"][-1] - (1.0 - 0.1 * G)) < 1e-9


def test_a_start_in_the_floor_is_refused():
    system, body = falling("up")
    system.rigid_contact("floor", mg.Sphere(body, 0.1), mg.Plane(system.ground))
    with pytest.raises(mg.ArgumentError, match=r"overlap at the start: floor by 0\.05 m"):
        system.equations().simulate(1.0, {"place": 0.05})


def tray(driven: bool) -> mg.System:
    """A ball over a plate that goes up and down, by a joint that time moves or by a servo."""
    system, body = falling("up")
    height = 0.1 * mg.sin(8 * system.time)
    if driven:
        plate = system.frame("plate")
        system.joint("up", system.ground, plate, [mg.move("z", height)])
    else:
        plate = system.body("plate", mass=2.0, inertia=(1, 1, 1))
        system.prismatic("up", system.ground, plate, axis="z")
        system.servo("drive", "up", height)
    system.rigid_contact("floor", mg.Sphere(body, 0.1), mg.Plane(plate), restitution=0.5)
    return system


def test_a_plate_that_moves_throws_its_ball():
    """Impacts in the frame of the plate; what it gives is supplied, what is lost is dissipated,
    however it is driven."""
    runs = [
        tray(driven).equations().simulate(2.0, {"place": 0.4}, rtol=1e-10, step=0.01)
        for driven in (True, False)
    ]
    first, second = runs
    for run in runs:
        k = impacts(run)
        moving = 0.8 * np.cos(8 * run.time[k])
        before, after = run["place'"][k] - moving, run["place'"][k + 1] - moving
        rebounding = before < -2e-5  # slower rebounds than 1e-5 are none
        assert np.abs(after + 0.5 * before)[rebounding].max() < 1e-9
        lost = np.diff(run.dissipated)[k]
        # m/2 of the speeds relative to the plate
        assert np.abs(lost - 0.75 * (before**2 - after**2)).max() < 1e-9
        assert np.abs(run.imbalance).max() < 1e-8
        assert run.statistics["impacts"] > 3
    assert np.abs(first["place"] - second["place"]).max() < 1e-8
    assert np.abs(first.dissipated - second.dissipated).max() < 1e-8
    # its own energy
    plate = 0.64 * (np.cos(8 * first.time) ** 2 - 1) + 2 * G * 0.1 * np.sin(8 * first.time)
    assert np.abs(first.supplied + plate - second.supplied).max() < 1e-8


@pytest.mark.parametrize("formalism", ["newton-euler", "absolute"])
def test_the_same_bounces_by_other_equations(formalism):
    """An ellipsoid drops on a plane, or on the same plane as a level set: impacts, sliding,
    rocking."""
    turn = Rotation.from_rotvec([0.3, 0.2, 0.1]).as_quat(scalar_first=True)
    start = {"place.z": 0.5, "place.x'": 0.3, **{f"place.q{k}": turn[k] for k in range(4)}}
    ends = []
    for base in (mg.Plane, lambda at: mg.Implicit(at, lambda x, y, z: 3 * z)):
        system, body = falling(inertia=(0.006, 0.007, 0.008))
        system.rigid_contact(
            "floor",
            mg.Ellipsoid(body, (0.3, 0.2, 0.1)),
            base(system.ground),
            restitution=0.5,
            friction=0.3,
        )
        run = system.equations(formalism).simulate(0.45, start, rtol=1e-10, step=0.05)
        assert run.statistics["impacts"] > 10
        assert np.abs(run.imbalance).max() < 1e-8
        ends.append(
            np.concatenate([run["body"][-1], run.observe(lambda m: m.angular_velocity("body"))[-1]])
        )
    assert np.abs(ends[0] - ends[1]).max() < 1e-6


@pytest.mark.parametrize(
    "surface", [lambda at: mg.Cylinder(at, 0.1, 0.2), lambda at: mg.Torus(at, 0.2, 0.1)]
)
def test_what_stands_upright_falls_upright(surface):
    """Flat ends and rings have no one lowest point, but land as they should."""
    system, body = falling()
    system.rigid_contact("floor", surface(body), mg.Plane(system.ground), friction=0.2)
    run = system.equations().simulate(0.5, {"place.z": 0.3}, rtol=1e-9, step=0.05)
    assert abs(run["place.z"][-1] - 0.1) < 1e-10
    assert np.abs(run.u[-1]).max() < 1e-12
    assert abs(run.dissipated[-1] - 1.5 * G * 0.2) < 1e-9


# --- rigid: rings that fall flat, lie and tip -----------------------------------------------------


def tilted(angle: float, about: np.ndarray) -> dict[str, float]:
    turn = Rotation.from_rotvec(angle * about).as_quat(scalar_first=True)
    return {f"place.q{k}": turn[k] for k in range(4)}


@pytest.mark.parametrize("step", [0.002, 0.1])
def test_a_coin_falls_flat(step):
    """With its edge held still it turns by m g r cos θ = I θ̈ about the edge, and the far edge
    stops it where it lands."""
    system, body = falling(mass=1.0, inertia=(0.0025, 0.0025, 0.005))
    system.rigid_contact("floor", mg.Disc(body, 0.1), mg.Plane(system.ground), friction=10.0)
    about = np.array([0.6, 0.8, 0])
    run = system.equations().simulate(
        0.5, {"place.z": 0.1 * np.sin(0.5), **tilted(0.5, about)}, rtol=1e-10, step=step
    )
    (k,) = impacts(run)
    spin = np.sqrt(2 * G * 0.1 * np.sin(0.5) / 0.0125)
    fall = quad(lambda a: 1 / np.sqrt(2 * G * 0.1 * (np.sin(0.5) - np.sin(a)) / 0.0125), 0, 0.5)[0]
    assert np.abs(run.observe(lambda m: m.angular_velocity("body"))[k] + spin * about).max() < 1e-7
    assert abs(run.time[k] - fall) < 1e-7
    assert np.abs(run.u[k + 1 :]).max() < 1e-12 * spin  # it may turn about its axis, by rounding
    assert run.modes["floor.flat"][-1] == 1
    assert np.abs(run["body"][-1] - np.array([0.8, -0.6, 0]) * 0.1 * (np.cos(0.5) - 1)).max() < 1e-8
    assert np.abs(run.imbalance).max() < 1e-8


def test_what_a_coin_falls_through_to_lie_flat_is_told_as_loss():
    """A lean that is none, of 1e-9 rad, is closed at the start, and all of its energy is lost."""
    system = mg.System("coin", gravity=(0, 0, -G))
    body = system.body("coin", mass=579.0, inertia=(1.0, 1.0, 2.0))
    system.free("place", system.ground, body)
    system.rigid_contact("table", mg.Disc(body, 0.1), mg.Plane(system.ground), friction=0.3)
    start = {"place.z": 1e-10, "place.q0": 1.0, "place.q1": 5e-10}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        run = system.equations().simulate(0.1, start, step=0.05)
    assert abs(run.dissipated[-1] - 579 * G * 1e-10) < 1e-15
    assert np.abs(run.imbalance).max() < 1e-15


def test_a_cylinder_rocks_from_edge_to_edge():
    """Housner: each landing leaves 1 − 2 m r²/I of the spin, I about the edge, and it passes over
    to the other edge."""
    system, body = falling(mass=1.0, inertia=(0.016, 0.016, 0.005))
    system.rigid_contact(
        "floor", mg.Cylinder(body, 0.1, 0.4), mg.Plane(system.ground), friction=10.0
    )
    about, low = np.array([0.6, 0.8, 0]), 0.2 * np.cos(0.2) + 0.1 * np.sin(0.2)
    run = system.equations().simulate(
        1.0, {"place.z": low, **tilted(0.2, about)}, rtol=1e-10, step=0.02
    )
    edge = 0.016 + 0.1**2 + 0.2**2
    spins = run.observe(lambda m: m.angular_velocity("body")) @ about
    first, *_ = [k for k in impacts(run) if abs(spins[k + 1] - spins[k]) > 1e-3]
    assert abs(spins[first] + np.sqrt(2 * G * (low - 0.2) / edge)) < 1e-7
    assert abs(spins[first + 1] / spins[first] - (1 - 2 * 0.1**2 / edge)) < 1e-7
    assert np.abs(run["body"][:, :2] @ about[:2]).max() < 1e-8  # it stays in its plane
    assert np.abs(run.imbalance).max() < 1e-8
    assert (np.diff(run.dissipated) > -1e-12).all()


@pytest.mark.parametrize("about", [0.463, 0.464])
def test_a_standing_cylinder_tips_where_gravity_leaves_its_base(about):
    """tan α = r / h = 1/2 at 0.46365: a circle, from whatever side."""
    system = mg.System(
        "slope", gravity=(G * np.sin(about) * 0.6, G * np.sin(about) * 0.8, -G * np.cos(about))
    )
    body = system.body("body", mass=1.0, inertia=(0.016, 0.016, 0.005))
    system.free("place", system.ground, body)
    system.rigid_contact(
        "floor", mg.Cylinder(body, 0.1, 0.4), mg.Plane(system.ground), friction=0.9
    )
    run = system.equations().simulate(0.3, {"place.z": 0.2}, step=0.02)
    spin = run.observe(lambda m: m.angular_velocity("body"))[-1]
    if about < 0.4636:
        assert np.abs(run.u).max() < 1e-12
        assert (
            np.abs(run.reaction("floor")[-1, :3] + np.array(ca.DM(system.gravity)).ravel()).max()
            < 1e-9
        )
    else:
        start = G * (0.2 * np.sin(about) - 0.1 * np.cos(about)) / (0.016 + 0.05)
        growth = np.sqrt(G * (0.2 * np.cos(about) + 0.1 * np.sin(about)) / (0.016 + 0.05))
        # to first order in the tilt
        assert abs(np.linalg.norm(spin) / (start * np.sinh(0.3 * growth) / growth) - 1) < 1e-5
        assert np.abs(spin @ [0.6, 0.8, 0]) < 1e-9
        assert run.modes["floor 1.flat"][-1] == 0


@pytest.mark.parametrize(("friction", "tips"), [(0.3, False), (0.6, True)])
def test_a_cylinder_that_slides_upright_tips_where_friction_is_large(friction, tips):
    """Friction at its base, h below its centre, has the moment μ m g h: more than m g r if μ > r/h
    = 1/2."""
    system, body = falling(mass=1.0, inertia=(0.016, 0.016, 0.005))
    system.rigid_contact(
        "floor", mg.Cylinder(body, 0.1, 0.4), mg.Plane(system.ground), friction=friction
    )
    run = system.equations().simulate(0.1, {"place.z": 0.2, "place.x'": 1.0}, rtol=1e-10, step=0.01)
    assert (run.observe(lambda m: m.angular_velocity("body"))[-1, 1] > 1) == tips
    if not tips:
        assert np.abs(run["place.x'"] - (1 - 0.3 * G * run.time)).max() < 1e-8
    assert np.abs(run.imbalance).max() < 1e-9


def test_a_ball_rests_where_its_bounces_accumulate_whatever_resting_is():
    """Nothing rebounds that would not rise by more than what is no gap; the time that is left out
    is 2 v/(g (1 − e)) with v = √(2 g 1e-12 m)."""
    system, body = falling("up")
    system.rigid_contact(
        "floor",
        mg.Sphere(body, 0.1),
        mg.Plane(system.ground),
        restitution=0.5,
        rebound_threshold=0.0,
    )
    run = system.equations().simulate(1.0, {"place": 0.3}, rtol=1e-11)
    end = np.sqrt(2 * 0.2 / G) * 1.5 / 0.5
    assert abs(run.time[jumps(run)[-1]] - end) < 2 * np.sqrt(2 * G * 1e-12) / (G * 0.5)
    assert run.modes["floor.touching"][-1] == 1
    assert abs(run.dissipated[-1] - 1.5 * G * 0.2) < 1e-9


# --- rigid: all points at once --------------------------------------------------------------------


def resting_on(surface, height, gravity, friction, inertia=(0.01, 0.02, 0.015), **law):
    """A body on its face from rest, with gravity or a push that is the same for all of it."""
    system = mg.System("resting", gravity=gravity)
    body = system.body("body", mass=1.0, inertia=inertia)
    system.free("place", system.ground, body)
    system.rigid_contact("floor", surface(body), mg.Plane(system.ground), friction=friction, **law)
    return system.equations(), {"place.z": height}


def tilted_gravity(angle: float) -> tuple[float, float, float]:
    return (G * np.sin(angle), 0.0, -G * np.cos(angle))


SLIDES = {
    "cube": (lambda at: mg.Box(at, (0.1, 0.1, 0.1)), 0.05, 0.9, 0.2),
    "can": (lambda at: mg.Cylinder(at, 0.1, 0.7), 0.35, 0.35, 0.2),
    "smooth can": (lambda at: mg.Cylinder(at, 0.1, 0.7), 0.35, 0.35, 0.0),
}


@pytest.mark.parametrize("kind", SLIDES)
def test_what_slides_from_rest_slides_at_once(kind):
    """With g (sin α − μ cos α), without an event on the way, though friction that held it would tip
    it over."""
    surface, height, angle, friction = SLIDES[kind]
    equations, start = resting_on(surface, height, tilted_gravity(angle), friction)
    run = equations.simulate(0.5, start, step=0.05)
    rate = G * (np.sin(angle) - friction * np.cos(angle))
    assert np.abs(run["place.x'"] - rate * run.time).max() < 1e-9
    assert np.abs(run["place.z"] - height).max() < 1e-10
    assert not len(jumps(run))


@pytest.mark.parametrize(("friction", "tips"), [(0.27, False), (0.3, True)])
def test_a_tall_box_that_is_pushed_tips_or_slides(friction, tips):
    """Pushed at its middle with P > μ m g it slides, and tips if μ h > b: h/b = 3.5 here."""
    system = mg.System("pushed", gravity=(0, 0, -G))
    body = system.body("body", mass=1.0, inertia=(0.05, 0.05, 0.01))
    system.free("place", system.ground, body)
    system.rigid_contact(
        "floor", mg.Box(body, (0.2, 0.2, 0.7)), mg.Plane(system.ground), friction=friction
    )
    system.force("push", body, [5.0, 0, 0])
    run = system.equations().simulate(0.2, {"place.z": 0.35}, step=0.02)
    assert (run.observe(lambda m: m.angular_velocity("body"))[-1, 1] > 0.01) == tips
    if not tips:
        assert np.abs(run["place.x'"] - (5 - friction * G) * run.time).max() < 1e-9
    else:  # m a = P − μ N, I α = μ N h − N b, and the foot stays on the floor: N = m (g + b α)
        ratio = friction * 0.35 - 0.1
        spin = G * ratio / (0.05 - 0.1 * ratio)
        first = run.observe(lambda m: m.angular_acceleration("body"))[1, 1]
        assert abs(first - spin) < 1e-6


@pytest.mark.parametrize(("slope", "tips"), [(0.45, False), (0.48, True)])
def test_what_is_as_small_as_a_grain_tips_too(slope, tips):
    """Where gravity leaves its base, at tan α = 1/2: 10 µm wide and twice as tall."""
    side = 1e-5
    system = mg.System("grain", gravity=tilted_gravity(slope))
    body = system.body("body", mass=1e-12, inertia=np.array((5, 5, 2)) / 12 * 1e-12 * side**2)
    steps = [mg.move("x", "x"), mg.move("z", "z"), mg.rot("y", "angle")]
    system.joint("place", system.ground, body, steps)
    surface, base = mg.Box(body, (side, side, 2 * side)), mg.Plane(system.ground)
    system.rigid_contact("floor", surface, base, friction=1.0)
    run = system.equations().simulate(1e-4, {"place.z": side}, step=1e-4)
    turned = 1e-4 * G * (np.sin(slope) - np.cos(slope) / 2) / side / (5 / 3)
    assert abs(run["place.angle'"][-1] - tips * turned) < 0.01 * turned * tips + 1e-9


@pytest.mark.parametrize("heavy", [1.0, 4e4])
def test_something_light_slips_whatever_carries_it(heavy):
    """At tan α = μ: a gram on the bed of a lorry."""
    system = mg.System("lorry", gravity=(0, 0, -G))
    lorry, coin = (system.body(name, mass=m, inertia=0) for name, m in (("l", heavy), ("c", 1e-3)))
    bed = system.frame("bed")
    system.prismatic("drive", system.ground, lorry, axis="y")
    system.joint("tilt", lorry, bed, [mg.rot("y", 0.1 * system.time)])
    system.joint("place", bed, coin, [mg.move("x", "x"), mg.move("z", "z")])
    system.rigid_contact("on", mg.Point(coin), mg.Plane(bed), friction=0.3)
    run = system.equations().simulate(4.0, {"drive'": 1.0}, step=0.5)
    slips = run.time[run.modes["on.sticking"] == 0][0]
    assert abs(slips - np.arctan(0.3) / 0.1) < 1e-4


def test_a_ton_slides_on_a_gram():
    """With it, on a slope: g (sin α − μ cos α)."""
    slope, down = 0.6, np.array([0.8, 0.6])
    system = mg.System("ton", gravity=[*G * np.sin(slope) * down, -G * np.cos(slope)])
    below = system.ground
    for name, mass, friction in (("gram", 1e-3, 0.5), ("ton", 1e3, 0.8)):
        body = system.body(name, mass=mass, inertia=0)
        system.joint(f"at {name}", system.ground, body, [mg.move(axis, axis) for axis in "xyz"])
        system.rigid_contact(f"on {name}", mg.Point(body), mg.Plane(below), friction=friction)
        below = body
    run = system.equations().simulate(0.5, step=0.1)
    way = G * (np.sin(slope) - 0.5 * np.cos(slope)) / 2 * np.outer(run.time**2, down)
    for name in ("gram", "ton"):
        assert np.abs(run[name][:, :2] - way).max() < 1e-6


@pytest.mark.parametrize(("slope", "slides"), [(0.4, False), (0.5, True)])
def test_a_groove_holds_what_it_wedges(slope, slides):
    """N = m g cos α/(2 sin β) at each side of a groove that opens by 2 β, so it sticks where
    tan α < μ/sin β; a sphere rolls on the line through both of its points of contact."""
    half, friction = 0.7, 0.3
    system = mg.System("groove", gravity=tilted_gravity(slope))
    block = system.body("block", mass=1.0, inertia=0)
    ball = system.body("ball", mass=1.0, inertia=(0.004,) * 3)
    system.joint("way", system.ground, block, [mg.move(axis, axis) for axis in "xyz"])
    system.free("place", system.ground, ball)
    for name, sign in (("left", 1), ("right", -1)):
        turn = [("x", sign * (np.pi / 2 - half))]
        side = mg.Plane(system.marker(f"{name} side", system.ground, (0, 0, 0), turn))
        for body, mu in ((block, friction), (ball, 1.0)):
            system.rigid_contact(f"{name} {body.name}", mg.Sphere(body, 0.1), side, friction=mu)
    height = 0.1 / np.sin(half)
    run = system.equations().simulate(0.5, {"way.z": height, "place.z": height}, step=0.1)
    slide = G * (np.sin(slope) - friction / np.sin(half) * np.cos(slope))
    assert np.abs(run["way.x"] - max(slide, 0) * run.time**2 / 2).max() < 1e-9
    assert run.modes["left block.sticking"][-1] == (not slides)
    roll = G * np.sin(slope) / (1 + 0.4 / np.sin(half) ** 2)
    assert np.abs(run["place.x"] - roll * run.time**2 / 2).max() < 1e-9


# points (x, z) of a body that moves in the plane, each on a slope, with friction: forces within all
# cones hold it, of which there are many
WEDGED = [
    [(0.005, -0.053, 0.6225, 1.494), (-0.087, -0.021, 1.5708, 0.525)],
    [(0.047, -0.168, -0.5787, 0.0), (0.055, 0.176, -0.0622, 0.3), (0.067, -0.121, 0.2193, 0.3)],
    [(0.169, -0.2, -1.1701, 0.47), (-0.03, -0.173, -0.2841, 0.8), (-0.17, -0.173, -1.5708, 0.3)],
]


@pytest.mark.parametrize("compiler", [True, False])
@pytest.mark.parametrize("points", WEDGED)
def test_what_is_wedged_stays(points, compiler, monkeypatch):
    """One after the other is let go of, until what is left holds; which one decides whether
    anything does."""
    if not compiler:
        monkeypatch.setenv("MECHGRAPH_CC", "none")
    s = mg.System("wedged", gravity=(0, 0, -G))
    body = s.body("body", mass=1.0, inertia=(0.02,) * 3)
    s.joint("place", s.ground, body, [mg.move("x", "x"), mg.move("z", "z"), mg.rot("y", "a")])
    for k, (x, z, slope, friction) in enumerate(points):
        plane = mg.Plane(s.marker(f"plane{k}", s.ground, (x, 0, z), [("y", slope)]))
        point = mg.Point(s.marker(f"point{k}", body, (x, 0, z)))
        s.rigid_contact(f"contact{k}", point, plane, friction=friction)
    run = s.equations().simulate(0.1)
    assert np.abs(run.q).max() < 1e-9
    assert run.statistics["steps"] < 200


def test_a_rocking_block_comes_to_rest():
    """G. W. Housner, 1963: each landing leaves r = 1 − (3/2) sin² α of the spin; with p² = 3g/4R
    a quarter of a swing from θ takes cosh⁻¹(1/(1 − θ/α))/p (small angles), here by quadrature of
    the energy."""
    width, tall = 0.2, 0.7
    system = mg.System("block", gravity=(0, 0, -G))
    spin = (width**2 + tall**2) / 12
    block = system.body("block", mass=1.0, inertia=(spin, spin, spin))
    steps = [mg.move("x", "x"), mg.move("z", "z"), mg.rot("y", "angle")]
    system.joint("place", system.ground, block, steps)
    system.rigid_contact(
        "floor", mg.Box(block, (width, 0.2, tall)), mg.Plane(system.ground), friction=5.0
    )
    tipping, arm = np.arctan(width / tall), np.hypot(width, tall) / 2
    start = {"place.z": arm * np.cos(tipping / 2), "place.angle": tipping / 2}
    run = system.equations().simulate(4.0, start, step=0.05)
    rest = run.time[jumps(run)[-1]]
    inertia = spin + arm**2
    # swings that lift a corner by less than ``rebound_threshold`` are left out: 2 ω I/(m g b) each
    left_out = 4 * 1e-5 / width * inertia / (G * width / 2) / (3 * np.sin(tipping) ** 2)
    assert 0 < housner(tipping, arm, inertia) - rest < left_out
    assert abs(rest - 3.640) < 1e-3
    assert np.abs(run.u[-1]).max() < 1e-15
    assert len(jumps(run)) < 200
    assert np.abs(run.imbalance).max() < 1e-9


def housner(tipping: float, arm: float, inertia: float) -> float:
    """Time to rest from half the tipping angle α: quarter swings between landings, each of which
    leaves r of the spin. A tilt θ has the height R cos(α − θ)."""
    left = 1 - 2 * arm**2 * np.sin(tipping) ** 2 / inertia

    def quarter(top: float) -> float:
        """∫ dθ/ω with θ = top (1 − s²), which has no singular end."""

        def slowness(s: float) -> float:
            theta = top * (1 - s**2)
            drop = 2 * np.sin(tipping - (top + theta) / 2) * np.sin((top - theta) / 2)
            return 2 * s * top / np.sqrt(2 * G * arm * drop / inertia)

        return quad(slowness, 0, 1)[0]

    top = tipping / 2
    height, time = np.cos(tipping - top) - np.cos(tipping), quarter(top)
    while top > 1e-12:
        height *= left**2
        for _ in range(50):  # 2 sin(α − θ/2) sin(θ/2) is the height
            top = 2 * np.arcsin(height / (2 * np.sin(tipping - top / 2)))
        time += 2 * quarter(top)
    return time


def test_a_superball_keeps_its_energy_and_turns_back():
    """R. L. Garwin, 1969: with both restitutions one and enough friction an impact turns the
    velocity of the point of contact round, and keeps the angular momentum about it; with
    I = 2/5 m r² the speeds v and s = r ω become (3v − 4s)/7 and −(10v + 3s)/7."""
    system, body = falling(mass=1.0, inertia=(0.004,) * 3)
    system.rigid_contact(
        "floor",
        mg.Sphere(body, 0.1),
        mg.Plane(system.ground),
        restitution=1.0,
        friction=10.0,
        tangential_restitution=1.0,
    )
    start = {"place.z": 0.3, "place.x'": 1.0, "place.wy": -6.0}
    run = system.equations().simulate(1.0, start, rtol=1e-11, step=0.05)
    hits = impacts(run)
    assert len(hits) >= 2
    spin = run.observe(lambda m: m.angular_velocity("body"))[:, 1]
    for k in hits:
        v, s = run["place.x'"][k], -0.1 * spin[k]  # s: the floor's side moves with v + s
        assert abs(run["place.x'"][k + 1] - (3 * v - 4 * s) / 7) < 1e-9
        assert abs(-0.1 * spin[k + 1] + (10 * v + 3 * s) / 7) < 1e-9
        assert abs(run["place.z'"][k + 1] + run["place.z'"][k]) < 1e-9
    assert np.ptp(run.energy) < 1e-9
    second = hits[1]  # two impacts undo what one does
    assert abs(run["place.x'"][second + 1] - 1.0) < 1e-9


def test_a_part_of_the_slip_is_turned_back_within_the_cone():
    """v_t⁺ = −e_t v_t where friction holds that; else μ (1 + e) m v of the cone, for any e_t."""
    for friction, part in ((2.0, 0.4), (0.05, 0.4)):
        system, body = falling(mass=1.0, inertia=(0.004,) * 3)
        law = {"restitution": 0.5, "friction": friction, "tangential_restitution": part}
        system.rigid_contact("floor", mg.Sphere(body, 0.1), mg.Plane(system.ground), **law)
        run = system.equations().simulate(
            0.25, {"place.z": 0.3, "place.x'": 1.0}, rtol=1e-11, step=0.05
        )
        k = impacts(run)[0]
        speed = np.sqrt(2 * G * 0.2)
        slip = run["place.x'"][k + 1] - 0.1 * run["place.wy"][k + 1]
        expected = -part if friction > 1 else 1 - 3.5 * friction * 1.5 * speed
        assert abs(slip - expected) < 1e-9


def test_laws_may_depend_on_parameters():
    """The same run as with numbers, for each set of values; and their limits are kept."""
    system, body = falling()
    e, mu = system.parameter("e", 0.3), system.parameter("mu", 0.1)
    system.rigid_contact(
        "floor",
        mg.Sphere(body, 0.1),
        mg.Plane(system.ground),
        restitution=e,
        friction=mu,
        static_friction=2 * mu,
    )
    equations, start = system.equations(), {"place.z": 0.3, "place.x'": 1.0}
    for restitution, friction in ((0.7, 0.2), (0.2, 0.05)):
        values = {"e": restitution, "mu": friction}
        run = equations.simulate(0.8, start, step=0.1, parameters=values)
        plain, other = falling()
        plain.rigid_contact(
            "floor",
            mg.Sphere(other, 0.1),
            mg.Plane(plain.ground),
            restitution,
            friction,
            2 * friction,
        )
        expected = plain.equations().simulate(0.8, start, step=0.1)
        assert np.abs(run.u[-1] - expected.u[-1]).max() < 1e-10
    with pytest.raises(mg.ArgumentError, match=r"restitution must be from 0 to 1, got 1\.2"):
        equations.simulate(0.1, start, parameters={"e": 1.2})


def test_laws_that_depend_on_time_are_refused():
    system, body = falling()
    floor = mg.Plane(system.ground)
    system.rigid_contact("floor", mg.Sphere(body, 0.1), floor, restitution=0.5 * system.time)
    with pytest.raises(mg.ModelError, match="may depend on parameters only"):
        system.equations().simulate(0.1, {"place.z": 0.3})


def test_painleve_is_named():
    """A rod that slides on its tip with much friction: N (W_nn − μ W_nt) + c = 0 has no N > 0, the
    tip is driven into the floor (P. Painlevé, 1895); the slip is stopped by an impact."""
    system = mg.System("rod", gravity=(0, 0, -G))
    rod = system.body("rod", mass=1.0, inertia=(1 / 12, 1 / 12, 1e-6))
    steps = [mg.move("x", "x"), mg.move("z", "z"), mg.rot("y", "angle")]
    system.joint("place", system.ground, rod, steps)
    tip = system.marker("tip", rod, (0, 0, -0.5))
    system.rigid_contact("floor", mg.Point(tip), mg.Plane(system.ground), friction=2.5)
    tilt = 0.6
    start = {"place.z": 0.5 * np.cos(tilt), "place.angle": tilt, "place.x'": -2.0}
    sine, cosine = 0.5 * np.sin(tilt), 0.5 * np.cos(tilt)
    assert 1 + 12 * sine**2 - 2.5 * 12 * sine * cosine < 0
    with pytest.warns(UserWarning, match="Painlevé"):
        run = system.equations().simulate(0.05, start, step=0.01)
    assert run.modes["floor.sticking"][1] == 1
    assert (np.diff(run.dissipated) > -1e-9).all()


def corner_heights(equations, q, u, t, modes) -> np.ndarray:
    """Heights of the corners of a box of 0.3 × 0.2 × 0.4, their rates and accelerations, by the
    motion of its body."""
    signs = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)])
    corners = signs * [0.15, 0.1, 0.2]
    seen = equations.observe(
        lambda m: ca.vertcat(
            m.position("body"),
            m.velocity("body"),
            m.acceleration("body"),
            m.angular_velocity("body"),
            m.angular_acceleration("body"),
        ),
        q,
        u,
        t,
        parameters=modes,
    )
    place, speed, change, spin, spin_change = seen.reshape(5, 3)
    arms = corners @ equations.rotation("body", q).T
    turning = np.cross(spin, arms)
    return np.array(
        [
            (place + arms)[:, 2],
            (speed + turning)[:, 2],
            (change + np.cross(spin_change, arms) + np.cross(spin, turning))[:, 2],
        ]
    )


def test_the_modes_fit_the_forces():
    """After every event no closed point pulls, no sticking one is out of its cone, and no open one
    that touches is driven into its base: nothing follows at once."""
    generator = np.random.default_rng(11)
    equations, _ = resting_on(lambda at: mg.Box(at, (0.3, 0.2, 0.4)), 0.2, (0, 0, -G), 0.4)
    for _ in range(4):
        turn = Rotation.from_rotvec(generator.uniform(-0.3, 0.3, 3)).as_quat(scalar_first=True)
        start = {"place.z": 0.4, **{f"place.q{k}": turn[k] for k in range(4)}}
        run = equations.simulate(0.6, start, step=0.1)
        for k in jumps(run) + 1:
            modes = {name: values[k] for name, values in run.modes.items()}
            q, u = run.q[k], run.u[k]
            lam = equations.multipliers(q, u, run.time[k], parameters=modes)
            rise, rate, rising = corner_heights(equations, q, u, run.time[k], modes)
            assert rise.min() > -1e-10
            meeting = (rise < 1e-10) & (rate < 1e-5)
            assert rising[meeting].min(initial=0.0) > -1e-9 * G
            by_row = dict(zip(equations.constraints, lam, strict=True))
            normal = np.array([by_row[f"floor: floor {i}, gap"] for i in range(1, 9)])
            assert normal.min() > -1e-6 * G
            held = sum(
                np.hypot(*(by_row[f"floor: floor {i}, slip {j}"] for j in (1, 2)))
                for i in range(1, 9)
            )
            stuck = np.array([modes[f"floor {i}.sticking"] for i in range(1, 9)])
            assert held <= 0.4 * (stuck @ normal) + 1e-6 * G


# --- compliant ------------------------------------------------------------------------------------

ELASTIC = {
    "sphere": (lambda at: mg.Sphere(at, 0.1), 0.1),
    "ellipsoid": (lambda at: mg.Ellipsoid(at, (0.3, 0.2, 0.1)), 0.1),
    "torus": (lambda at: mg.Torus(at, 0.3, 0.1), 0.1),
    "disc": (lambda at: mg.Disc(at, 0.3), 0.0),
    "capsule": (lambda at: mg.Capsule(_lying(at), 0.1, 0.6), 0.1),
    "box": (lambda at: mg.Box(at, (0.4, 0.3, 0.2)), 0.1),
    "cylinder": (lambda at: mg.Cylinder(at, 0.3, 0.2), 0.1),
    "implicit": (
        lambda at: mg.Implicit(
            at,
            lambda x, y, z: (x / 0.3) ** 2 + (y / 0.2) ** 2 + (z / 0.1) ** 2 - 1,
            near=(0, 0, -0.1),
        ),
        0.1,
    ),
}


def _lying(at: mg.Body) -> mg.Marker:
    return mg.Marker("lying", at, ca.SX(3, 1), ca.SX([[0, 0, 1], [0, 1, 0], [-1, 0, 0]]))


@pytest.mark.parametrize("surface", ELASTIC)
def test_the_deepest_point_of_a_hertz_impact(surface):
    """m v²/2 = k δ^(5/2) / (5/2) in each point that touches; then all of it comes back."""
    make, lowest = ELASTIC[surface]
    system, body = falling(gravity=0.0)
    system.compliant_contact("floor", make(body), mg.Plane(system.ground), stiffness=1e6)
    equations = system.equations()
    # a flat ring counts twice
    points = {"capsule": 2, "box": 4, "torus": 2, "disc": 2, "cylinder": 2}.get(surface, 1)
    depth = (5 * 1.5 * 2.0**2 / (4 * points * 1e6)) ** 0.4
    deepest = {"deepest": mg.Event(lambda m: m.velocity("body")[2], direction=1, stop=False)}
    run = equations.simulate(
        0.02, {"place.z": lowest + 0.01, "place.z'": -2.0}, rtol=1e-11, step=1e-3, events=deepest
    )
    (moment,) = run.events["deepest"]
    until = equations.simulate(
        moment, {"place.z": lowest + 0.01, "place.z'": -2.0}, rtol=1e-11, step=moment
    )
    assert abs(lowest - until["place.z"][-1] - depth) < 1e-9
    assert abs(run["place.z'"][-1] - 2.0) < 1e-8
    assert np.ptp(run.energy) < 1e-8 * run.energy[0]
    # Hertz: the time in contact is 2.94328… δ/v; 4/5 √π Γ(2/5)/Γ(9/10)
    met = 0.01 / 2.0
    assert abs((moment - met) - 2.943275 / 2 * depth / 2.0) < 1e-6


@pytest.mark.parametrize("speed", [0.0, 0.2])
def test_a_cylinder_stands_on_a_floor_that_gives_way(speed):
    """It comes to rest where two points carry its weight, 2 k δ^(3/2) = m g, though it arrives a
    little askew."""
    system, body = falling(inertia=(0.016, 0.016, 0.005))
    system.compliant_contact(
        "floor", mg.Cylinder(body, 0.1, 0.4), mg.Plane(system.ground), stiffness=1e5, damping=20.0
    )
    start = {"place.z": 0.201, "place.z'": -speed, **tilted(1e-3, np.array([0.6, 0.8, 0]))}
    run = system.equations().simulate(0.5, start, step=0.05)
    assert abs(0.2 - run["place.z"][-1] - (1.5 * G / 2e5) ** (2 / 3)) < 1e-4
    assert run.observe(lambda m: m.axis("body", "z"))[-1, 2] > 1 - 1e-5
    assert np.abs(run.imbalance).max() < 1e-5
    assert run.statistics["steps"] < 20_000


@pytest.mark.parametrize("kind", ["disc", "torus", "cylinder"])
def test_force_and_moment_of_a_ring_are_the_slope_of_its_potential(kind):
    """Deep and nearly flat, where its far side presses, too; and no step where that begins."""
    system, body = falling(gravity=0.0)
    system.compliant_contact(
        "floor", ELASTIC[kind][0](body), mg.Plane(system.ground), stiffness=1e4
    )
    equations, lowest = system.equations(), ELASTIC[kind][1]
    for angle, depth in (
        (0.0, 0.02),
        (1e-9, 0.02),
        (0.01, 0.02),
        (0.1, 0.02),
        (0.1, 1e-12),
        (0.1, -0.02),
    ):
        turn = Rotation.from_rotvec([0, angle, 0])

        def potential(z, more, turn=turn):
            q = np.concatenate(
                [[0, 0, z], (Rotation.from_rotvec(more) * turn).as_quat(scalar_first=True)]
            )
            return equations.potential_energy(q)

        z, h = lowest - depth, 1e-6
        q = np.concatenate([[0, 0, z], turn.as_quat(scalar_first=True)])
        slopes = [(potential(z + h, np.zeros(3)) - potential(z - h, np.zeros(3))) / (2 * h)]
        slopes += [(potential(z, h * e) - potential(z, -h * e)) / (2 * h) for e in np.eye(3)[:2]]
        acceleration = equations.observe(
            lambda m: ca.vertcat(m.acceleration("body"), m.angular_acceleration("body")),
            q,
            np.zeros(6),
        )
        assert (
            np.abs(acceleration[[2, 3, 4]] * [1.5, 0.006, 0.006] + slopes).max()
            < 1e-5 * 1e4 * 0.05**1.5
        )


def test_spheres_that_meet():
    """Reduced mass; equal balls exchange their speeds."""
    system = mg.System("spheres")
    balls = [system.body(f"ball {k}", mass=1.0, inertia=(0.004,) * 3) for k in range(2)]
    for k, ball in enumerate(balls):
        system.free(f"place {k}", system.ground, ball)
    system.compliant_contact(
        "contact", mg.Sphere(balls[1], 0.1), mg.Sphere(balls[0], 0.1), stiffness=1e6
    )
    equations = system.equations()
    start = {"place 1.x": 0.15, "place 1.y": 0.15, "place 0.x'": 1.0, "place 0.y'": 1.0}
    run = equations.simulate(0.03, start, rtol=1e-11, step=1e-3)
    ends = run.observe(lambda m: ca.vertcat(m.velocity("ball 0"), m.velocity("ball 1")))[-1]
    assert np.abs(ends - [0, 0, 0, 1, 1, 0]).max() < 1e-9
    assert np.ptp(run.energy) < 1e-9


def test_damping_of_hunt_and_crossley():
    """N = k δ^(3/2) (1 + d δ̇), never less than zero; force and moment at the point halfway;
    friction goes with N."""
    system, body = falling()
    law = {"stiffness": 1e4, "damping": 0.4, "friction": mg.Friction(0.3, regularization=1e-6)}
    system.compliant_contact("floor", mg.Sphere(body, 0.1), mg.Plane(system.ground), **law)
    equations = system.equations()
    for rate, factor in ((-1.0, 1.4), (0.5, 0.8), (3.0, 0.0)):
        q, u = equations.assemble(
            {"place.z": 0.09, "place.z'": rate, "place.x'": 0.7, "place.wy": 2.0}
        )
        normal = 1e4 * 0.01**1.5 * factor
        slip = 0.7 - 2.0 * 0.095
        assert (
            gap(
                np.array([-0.3 * normal * np.sign(slip), 0, normal, 0, 0, 0]),
                equations.reaction("floor", q, u),
                1e-9,
            )
            < 1e-9
        )
        acceleration = equations.observe(lambda m: m.acceleration("body"), q, u)
        assert abs(acceleration[2] - (normal / 1.5 - G)) < 1e-10
        spin = equations.observe(lambda m: m.angular_acceleration("body"), q, u)
        assert abs(spin[1] - 0.095 * 0.3 * normal / 0.006) < 1e-9 * normal + 1e-12


@FORMALISMS
def test_compliant_contacts_of_several_points_in_every_formalism(formalism):
    """A tilted box in the floor: forces of its corners, one by one, written out."""
    system, box = falling(inertia=(0.01, 0.02, 0.015))
    system.compliant_contact(
        "floor", mg.Box(box, (0.4, 0.3, 0.2)), mg.Plane(system.ground), stiffness=1e4, exponent=1.2
    )
    equations = system.equations(formalism)
    turn = Rotation.from_rotvec([0.02, 0.15, 0.3])
    q, u = np.concatenate([[0, 0, 0.11], turn.as_quat(scalar_first=True)]), np.zeros(6)
    corners = turn.apply(
        [[x, y, z] for x in (-0.2, 0.2) for y in (-0.15, 0.15) for z in (-0.1, 0.1)]
    )
    normal = 1e4 * np.maximum(0, -(corners[:, 2] + 0.11)) ** 1.2
    assert (normal > 0).sum() > 1
    force = np.array([0, 0, normal.sum() - 1.5 * G])
    moment = np.cross(corners, normal[:, None] * [0, 0, 1]).sum(0)
    expected = np.concatenate(
        [force / 1.5, turn.apply(turn.inv().apply(moment) / [0.01, 0.02, 0.015])]
    )
    state = placed(equations, q, u)
    seen = equations.observe(
        lambda m: ca.vertcat(m.acceleration("body"), m.angular_acceleration("body")), *state
    )
    assert gap(expected, seen) < 1e-11


def test_stiff_contacts_tend_to_rigid_ones():
    """A ball bounces twice without loss: the height after 1 s differs by O(k^(-2/5)), the time
    spent in the floor."""
    system, body = falling("up")
    system.rigid_contact("floor", mg.Sphere(body, 0.1), mg.Plane(system.ground), restitution=1.0)
    rigid = system.equations().simulate(1.0, {"place": 0.3}, rtol=1e-10, step=0.05)["place"][-1]
    soft, touching = falling("up")
    soft.compliant_contact(
        "floor", mg.Sphere(touching, 0.1), mg.Plane(soft.ground), stiffness=soft.parameter("k", 1.0)
    )
    equations, errors = soft.equations(), []
    for stiffness in (1e7, 32e7, 32**2 * 1e7):
        run = equations.simulate(
            1.0, {"place": 0.3}, rtol=1e-10, step=0.05, parameters={"k": stiffness}
        )
        errors.append(abs(run["place"][-1] - rigid))
    assert errors[0] < 0.02
    assert abs(errors[0] / errors[1] - 4) < 0.2  # 32^(2/5) = 4
    assert abs(errors[1] / errors[2] - 4) < 0.1


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"restitution": 1.5}, "restitution must be from 0 to 1"),
        ({"tangential_restitution": -0.1}, "tangential_restitution must be from 0 to 1"),
        ({"friction": -0.1}, "friction must not be negative, got -0.1"),
        ({"rebound_threshold": -1.0}, "rebound_threshold must not be negative"),
        ({"regularization": 0.0}, "regularization must be positive"),
        (
            {"friction": 0.3, "static_friction": 0.2},
            "static minus sliding friction must not be negative, got -0.1",
        ),
    ],
)
def test_wrong_numbers_are_refused(options, words):
    system, body = falling()
    with pytest.raises(mg.ModelError, match=words):
        system.rigid_contact("floor", mg.Sphere(body, 0.1), mg.Plane(system.ground), **options)


def test_a_compliant_contact_needs_a_stiffness():
    system, body = falling()
    floor = mg.Plane(system.ground)
    with pytest.raises(mg.ModelError, match="use rigid_contact"):
        system.compliant_contact("floor", mg.Sphere(body, 0.1), floor, stiffness=0)


def test_an_event_of_one_direction_is_told_after_a_bounce():
    """It falls through the mark, where nobody asks, and bounces before the step would end."""
    s = mg.System("ball", gravity=(0, 0, -9.81))
    ball = s.body("ball", mass=1.0, inertia=(0.1, 0.1, 0.1))
    s.prismatic("z", s.ground, ball, axis="z")
    floor = mg.Plane(s.marker("floor", s.ground))
    s.rigid_contact("hit", mg.Sphere(ball, 0.1), floor, restitution=0.6)
    for mark in (1e-3, 3e-3, 1e-2):
        rises = mg.Event(lambda m, mark=mark: m.coordinate("z") - 0.1 - mark, 1, stop=False)
        run = s.equations().simulate(0.5, {"z": 0.6}, events={"rises": rises}, step=0.5)
        meet = np.sqrt(2 * 0.5 / 9.81)
        up = 0.6 * 9.81 * meet
        late = (up - np.sqrt(up**2 - 2 * 9.81 * mark)) / 9.81
        assert run.events["rises"] == pytest.approx([meet + late], abs=1e-9)


def test_a_run_that_begins_with_an_impact_is_open_before_it():
    """The first row, with the speeds before it, had the contact of after it, which pulled."""
    s = mg.System("rod", gravity=(0, 0, -9.81))
    rod = s.body("rod", mass=1.0, inertia=(1 / 12, 1 / 12, 1 / 12))
    s.joint("p", s.ground, rod, [mg.move("x", "x"), mg.move("z", "z"), mg.rot("y", "a")])
    tip = mg.Point(s.marker("tip", rod, at=(0.5, 0, 0)))
    s.rigid_contact("floor", tip, mg.Plane(s.ground))
    start = {"p.z": 0.5 * np.sin(0.5), "p.a": 0.5, "p.a'": 8.0}
    run = s.equations().simulate(0.2, start, step=0.02)
    assert list(run.modes["floor.touching"][:3]) == [0, 1, 1]
    assert run.reaction("floor")[0] == pytest.approx(0.0)
    assert (run.reaction("floor")[1:, 2] > 0).all()


def test_equilibria_beyond_stops_and_floors_are_refused():
    s = mg.System("door", gravity=(0, 0, -9.81))
    door = s.body("door", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    s.revolute("hinge", s.ground, door, axis="y", limits=(0.3, 1.0))
    with pytest.raises(mg.AssemblyError, match=r"is none, .* hinge limits low by 0\.3"):
        s.equations().equilibrium({"hinge": 0.6})
    s = mg.System("ball", gravity=(0, 0, -9.81))
    ball = s.body("ball", mass=1.0, inertia=(0.004, 0.004, 0.004))
    s.prismatic("z", s.ground, ball, axis="z")
    s.rigid_contact("floor", mg.Sphere(ball, 0.1), mg.Plane(s.ground))
    above = s.marker("above", s.ground, at=(0, 0, 1.0))
    s.spring_damper("spring", above, ball, stiffness=10.0, length=0.5)
    with pytest.raises(mg.AssemblyError, match=r"floor by 0\.581 m"):
        s.equations().equilibrium({"z": 0.3})


def test_a_ball_that_lies_on_a_floor_is_said_to():
    s = mg.System("ball", gravity=(0, 0, -9.81))
    ball = s.body("ball", mass=1.0, inertia=(0.004, 0.004, 0.004))
    s.prismatic("z", s.ground, ball, axis="z")
    s.rigid_contact("floor", mg.Sphere(ball, 0.1), mg.Plane(s.ground))
    with pytest.raises(
        mg.AssemblyError, match=r"parameters=\{'floor.touching': 1\} keeps one clos"
    ):
        s.equations().equilibrium({"z": 0.1})
    q, _ = s.equations().equilibrium({"z": 0.11}, parameters={"floor.touching": 1})
    assert q == pytest.approx([0.1], abs=1e-12)


def test_what_touches_has_no_linear_model_unless_it_is_closed():
    s = mg.System("ball", gravity=(0, 0, -9.81))
    ball = s.body("ball", mass=1.0, inertia=(0.004, 0.004, 0.004))
    s.prismatic("z", s.ground, ball, axis="z")
    s.rigid_contact("floor", mg.Sphere(ball, 0.1), mg.Plane(s.ground))
    eqs = s.equations()
    assert len(eqs.linearize({"z": 0.2}).states) == 2
    assert len(eqs.linearize({"z": 0.1}, parameters={"floor.touching": 1}).states) == 0
    for height in (0.1, 0.05):
        with pytest.raises(mg.ArgumentError, match=r"'floor' touches, .*'floor.touching': 1"):
            eqs.linearize({"z": height})
    with pytest.raises(mg.UnsupportedError, match="does not tell when rigid_contact 'floor' opens"):
        eqs.inverse_dynamics({"z": lambda t: 0.2 + t}, t=[0.0, 1.0])
