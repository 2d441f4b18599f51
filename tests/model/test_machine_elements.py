"""Machine elements against closed forms, and against each other in all formalisms."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from scipy.linalg import expm

import mechgraph as mg
from mechgraph.formats.model_files import model_file
from mechgraph.model.elements import kinds as machine_kinds

G = 9.81


# --- ropes ----------------------------------------------------------------------------------------


def atwood(rigid: bool = False, drum: bool = False, stiffness: float = 1e5) -> mg.System:
    """Two masses on a rope over a pulley of 0.1 m; with ``drum`` two ropes on a heavy pulley."""
    s = mg.System("Atwood", gravity=(0, 0, -G))
    a, b = s.body("a", mass=1.0, inertia=0), s.body("b", mass=2.0, inertia=0)
    s.prismatic("left", s.ground, a, axis="z", at=(-0.1, 0, -1))
    s.prismatic("right", s.ground, b, axis="z", at=(0.1, 0, -1))
    turned = [("x", np.pi / 2)]  # z of the pulley is −y of the world
    if drum:
        wheel = s.body("wheel", mass=1.0, inertia=(0.01, 0.02, 0.01))
        s.revolute("turn", s.ground, wheel, axis="y")
        pulley = s.marker("pulley", wheel, orientation=turned)
        paths = [[a, mg.Pulley(pulley, 0.1, clockwise=True)], [mg.Pulley(pulley, 0.1, True), b]]
        lengths = [1 + 0.1 * np.pi, 1.0]
    else:
        pulley = s.marker("pulley", s.ground, orientation=turned)
        paths, lengths = [[a, mg.Pulley(pulley, 0.1, clockwise=True), b]], [2 + 0.1 * np.pi]
    for k, (path, length) in enumerate(zip(paths, lengths, strict=True), start=1):
        if rigid:
            s.rigid_rope(f"rope {k}", path, length)
        else:
            s.rope(f"rope {k}", path, length, stiffness)
    return s


def test_a_rope_that_is_taut_is_as_long_as_its_way():
    """Straight parts, and half a turn on the pulley."""
    s = atwood()
    length = s.equations().observe(lambda m: s.forces["rope 1"].path.length(m).value, [0.2, 0.3])
    assert length[0] == pytest.approx(2 - 0.5 + 0.1 * np.pi, abs=1e-14)


def test_atwoods_machine_goes_slack_and_comes_taut():
    """The lighter mass is thrown up: both fall freely until the rope is taut; then they lose
    m₁m₂/2(m₁ + m₂) of their relative speed squared, and go on with g (m₂ − m₁)/(m₁ + m₂)."""
    run = atwood(rigid=True).equations().simulate(0.5, {"left'": 2.0}, rtol=1e-10)
    # taut again where left + right = 2t − g t² is zero
    meets = 2.0 / G
    hits = run.time[1:][(np.diff(run.time) == 0) & (run.time[1:] > 0)]
    assert hits == pytest.approx([meets], abs=1e-9)
    together = (-2 * (-G * meets) + 1 * (2.0 - G * meets)) / 3  # momentum along the rope
    expected = together + G / 3 * (0.5 - meets)
    assert run["left'"][-1] == pytest.approx(expected, rel=1e-9)
    assert run["left'"][-1] == pytest.approx(-run["right'"][-1], rel=1e-12)
    assert run.dissipated[-1] == pytest.approx(2 / 3 / 2 * 2.0**2, rel=1e-8)
    assert np.abs(run.imbalance).max() < 1e-8
    assert run["rope 1"][-1] == pytest.approx(2 * 1 * 2 / 3 * G, rel=1e-9)  # tension


def test_an_elastic_rope_tends_to_the_rigid_one():
    """The bounce of a spring: the time under tension is half a period, its energy is kept."""
    k, m = 1e5, 2 / 3  # reduced mass along the rope
    s = atwood(stiffness=k)
    s.output("stretch", s.forces["rope 1"].stretch)
    run = s.equations().simulate(0.3, {"left'": 2.0}, rtol=1e-11, step=1e-4)
    assert np.ptp(run.energy) < 1e-8
    taut = run["stretch"] > 0
    first = run.time[taut][0]
    ends = run.time[(run.time > first) & ~taut][0]
    # x = a (1 − cos ωt) + (v/ω) sin ωt, with a = the static stretch
    omega, v, a = np.sqrt(k / m), 2.0, 4 / 3 * G / k
    duration = (2 * np.pi - 2 * np.arctan2(v / omega, a)) / omega
    assert ends - first == pytest.approx(duration, abs=2e-4)
    assert run["stretch"].max() == pytest.approx(a + np.hypot(a, v / omega), rel=1e-4)


def test_two_ropes_on_a_heavy_pulley():
    """g (m₂ − m₁) / (m₁ + m₂ + J/r²), over many turns."""
    e = atwood(rigid=True, drum=True).equations()
    run = e.simulate(0.9, {}, rtol=1e-10)
    expected = G / (3 + 0.02 / 0.01)
    assert run["left''"][-1] == pytest.approx(expected, rel=1e-9)
    assert run["turn"][-1] == pytest.approx(expected * 0.9**2 / 2 / 0.1, rel=1e-8)
    assert run["turn"][-1] > 2 * np.pi
    assert run.violation.max() < 1e-9


def test_a_winch_winds_up_a_load():
    """A drum with a servo lifts by r φ; the elastic rope is longer by m g / k."""
    s = mg.System("winch", gravity=(0, 0, -G))
    drum = s.body("drum", mass=1.0, inertia=(0.01,) * 3)
    load = s.body("load", mass=5.0, inertia=0)
    s.revolute("turn", s.ground, drum, axis="y")
    s.prismatic("height", s.ground, load, axis="z", at=(0.2, 0, -3))
    pulley = s.marker("pulley", drum, orientation=[("x", np.pi / 2)])
    rope = s.rope("rope", [mg.Pulley(pulley, 0.2, True, turns=1), load], 3.0 + 0.4 * np.pi, 1e4, 50)
    s.servo("motor", "turn", -4.0 * s.time)
    s.output("tension", rope.tension)
    run = s.equations().simulate(3.0, {"height": -5 * G / 1e4, "height'": 0.8}, rtol=1e-9)
    assert run["height"][-1] == pytest.approx(0.2 * 12 - 5 * G / 1e4, abs=1e-6)
    assert run["tension"][-1] == pytest.approx(5 * G, rel=1e-4)
    assert run["motor"][-1] == pytest.approx(-5 * G * 0.2, rel=1e-4)


def rope_in_space(upright: bool = True) -> mg.System:
    """Bodies with eyes, pulleys on moving bodies, and a drum."""
    s = mg.System("rope in space")
    for k, at in enumerate([(0, 0, 0), (1, 0, 0.3), (2, 0.2, -0.4)]):
        body = s.body(f"b{k}", mass=1.0 + k, com=(0.02, 0.01, 0), inertia=(0.1, 0.2, 0.25))
        (s.planar if k < 2 and upright else s.free)(f"j{k}", s.ground, body, at=at)
    path = [
        mg.Pulley("b0", 0.15, turns=1),
        mg.Pulley("b1", 0.1, clockwise=True),
        "b2",
        s.marker("eye", s.ground, (2, 2, 0)),
    ]
    s.rope("rope", path, 3.0, stiffness=100.0, damping=3.0)
    return s


def test_the_forces_of_a_rope_are_the_slope_of_its_energy():
    """By differences of the potential along each speed, and all formalisms agree."""
    s = rope_in_space()
    e = s.equations()
    q, _ = e.assemble({"j0.x": 0.1, "j0.angle": 0.4, "j1.y": 0.2, "j2.z": 0.3})
    step, speeds = 1e-6, np.eye(len(e.speeds))
    energies = [
        [e.potential_energy(q + x * step * e.coordinate_rates(q, u)) for x in (1, -1)]
        for u in speeds
    ]
    slopes = -np.diff(energies).ravel() / (2 * step)
    still = e.forces(q, np.zeros(len(speeds)))
    assert np.abs(still).max() > 10
    np.testing.assert_allclose(still, -slopes, atol=1e-6)
    assert mg.agreement(s, states=1, formalisms=["newton-euler", "kane", "absolute"]).ok


def test_pulleys_with_axes_that_are_not_parallel_have_no_rope():
    e = rope_in_space(upright=False).equations()
    for tilt, exists in ((0.0, True), (0.1, False)):
        q, u = e.assemble({"j0.q0": np.cos(tilt), "j0.q1": np.sin(tilt)})
        assert np.isfinite(e.accelerations(q, u)).all() == exists


def test_a_load_that_enters_its_pulley_is_told():
    s = mg.System("thrown")
    s.prismatic("x", s.ground, s.body("load", mass=1.0, inertia=0), axis="x", at=(-1, 0, 0))
    path = [
        "load",
        mg.Pulley(s.marker("pulley", s.ground), 0.1),
        s.marker("end", s.ground, (0.1, 1, 0)),
    ]
    s.rope("rope", path, 3.0, stiffness=1e3)
    with pytest.raises(mg.SimulationError, match=r"stopped after t = 0\.4[45]"):
        s.equations().simulate(1.5, {"x'": 2.0})


def test_a_load_passes_the_point_at_which_its_rope_leaves_the_pulley():
    """Its rope has no length there, and is on the pulley again above."""
    run = atwood(rigid=True, drum=True).equations().simulate(1.5, {})
    fine = atwood(rigid=True, drum=True).equations().simulate(1.5, {}, rtol=1e-11)
    assert run["left"].max() > 1.4
    assert np.abs(run.imbalance).max() < 1e-6
    assert run.q[-1] == pytest.approx(fine.q[-1], abs=1e-6)


# --- belts, racks ---------------------------------------------------------------------------------


def shafts() -> mg.System:
    s = mg.System("shafts")
    for k, inertia in enumerate((0.02, 0.3), start=1):
        s.revolute(f"shaft {k}", s.ground, s.body(f"disc {k}", mass=1.0, inertia=(1, 1, inertia)))
    s.torque("motor", "shaft 1", 2.0)
    return s


@pytest.mark.parametrize("crossed", [False, True])
def test_a_belt_has_the_ratio_of_its_radii(crossed):
    """φ₁̈ = τ / (J₁ + (r₁/r₂)² J₂)."""
    s = shafts()
    s.belt("belt", "shaft 1", "shaft 2", (0.1, 0.25), crossed)
    first, second = s.equations().accelerations([0, 0], [0, 0])
    assert first == pytest.approx(2.0 / (0.02 + 0.4**2 * 0.3), rel=1e-12)
    assert second == pytest.approx((-1 if crossed else 1) * 0.4 * first, rel=1e-12)


def test_an_elastic_belt_with_a_slack_span():
    """Both spans pull by ± k e; beyond the pretension one alone."""
    s, k, T = shafts(), 1e4, 50.0
    belt = s.elastic_belt("belt", "shaft 1", "shaft 2", (0.1, 0.25), k, pretension=T)
    e = s.equations()
    for angle, pull in ((0.03, 2 * k * 0.003), (0.2, T + k * 0.02)):
        udot = e.accelerations([angle, 0.0], [0, 0])
        assert udot == pytest.approx([(2.0 - 0.1 * pull) / 0.02, 0.25 * pull / 0.3], rel=1e-12)
        tensions = e.observe(lambda m: mg.if_else(1, belt.tensions(m)[1], 0), [angle, 0.0])
        assert tensions[0] == pytest.approx(max(0, T - k * 0.1 * angle), abs=1e-9)
    run = e.simulate(0.5, {"shaft 1'": 30.0}, rtol=1e-11)
    assert np.abs(run.imbalance).max() < 1e-8 * run.kinetic.max()


def test_a_rack_moves_with_its_pinion():
    """m ẍ + (J/r) φ̈ = τ/r: ẍ = r τ / (J + m r²)."""
    s = mg.System("rack")
    s.revolute("pinion", s.ground, s.body("gear", mass=1.0, inertia=(1, 1, 0.02)))
    s.prismatic("rack", s.ground, s.body("bar", mass=3.0, inertia=0), axis="x")
    s.torque("motor", "pinion", 2.0)
    s.rack_and_pinion("teeth", "pinion", "rack", 0.05, offset=0.1)
    run = s.equations().simulate(1.0, {"pinion": 0.0}, rtol=1e-10)
    assert run["rack"][0] == pytest.approx(0.1)
    assert run["rack''"][-1] == pytest.approx(0.05 * 2.0 / (0.02 + 3 * 0.05**2), rel=1e-12)
    np.testing.assert_allclose(run["rack"], 0.1 + 0.05 * run["pinion"], atol=1e-10)


def test_a_gear_train_with_backlash():
    """The motor flies free over the backlash, then swings on the spring; none of the events is
    stepped over."""
    s = mg.System("train")
    for name, inertia in (("motor", 0.01), ("arm", 4.0)):
        s.revolute(name, s.ground, s.body(f"{name} rotor", mass=1.0, inertia=(4, 4, inertia)))
    s.backlash("train", {"motor": 1.0, "arm": -20.0}, 0.02, 300.0)
    run = s.equations().simulate(0.1, {"motor": -0.01, "motor'": 2.0}, rtol=1e-12, step=1e-5)
    error = run["motor"] - 20 * run["arm"]
    meets = run.time[error > 0.01][0]
    assert meets == pytest.approx(0.02 / 2.0, abs=2e-5)
    omega = np.sqrt(300.0 * (1 / 0.01 + 20**2 / 4.0))
    parts = run.time[(run.time > meets + 1e-3) & (error < 0.01)][0]
    assert parts - meets == pytest.approx(np.pi / omega, abs=2e-5)
    assert error.max() == pytest.approx(0.01 + 2.0 / omega, rel=1e-6)
    assert np.ptp(run.energy) < 1e-10


# --- bushings -------------------------------------------------------------------------------------


def test_a_bushing_is_six_springs():
    """Frequencies of a body about its rest; the rest under a preload; damping ratios."""
    k, c = np.array([4e4, 5e4, 9e4, 100.0, 150.0, 80.0]), np.array([10, 20, 30, 0.1, 0.2, 0.3])
    s = mg.System("bushing")
    body = s.body("b", mass=2.0, inertia=(0.01, 0.02, 0.015))
    s.free("j", s.ground, body)
    preload = np.array([8.0, 0, 0, 0, 0, 4.0])
    s.bushing("rubber", s.ground, body, k, c, preload)
    e = s.equations()
    inertia = np.array([2, 2, 2, 0.01, 0.02, 0.015])
    q = [1e-3, 2e-3, -1e-3, 1, 0, 0, 0]
    expected = (-k * [1e-3, 2e-3, -1e-3, 0, 0, 0] - c * 0.1 + preload) / inertia
    udot = e.accelerations(q, np.full(6, 0.1))
    gyro = np.cross(np.full(3, 0.1), inertia[3:] * 0.1) / inertia[3:]
    np.testing.assert_allclose(udot, expected - np.concatenate([np.zeros(3), gyro]), rtol=1e-12)
    rest = e.equilibrium({"j.q0": 1.0})
    angle = 2 * np.arctan2(rest[0][6], rest[0][3])
    assert angle == pytest.approx(4.0 / 80.0, rel=1e-9)  # the rotation vector is linear
    assert rest[0][0] == pytest.approx(8.0 / 4e4, rel=1e-9)
    plain = mg.System("plain")
    plain.free("j", plain.ground, plain.body("b", mass=2.0, inertia=(0.01, 0.02, 0.015)))
    plain.bushing("rubber", plain.ground, "b", k)
    model = plain.equations().linearize()
    found = np.sort(model.eigenvalues().imag[model.eigenvalues().imag > 0])
    np.testing.assert_allclose(found, np.sort(np.sqrt(k / inertia)), rtol=1e-9)


def test_a_bushing_with_cross_terms_keeps_energy_and_agrees():
    """Between two moving bodies, far from rest."""
    s = mg.System("mounted", gravity=(0, 0, -G))
    a = s.body("a", mass=2.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.15))
    b = s.body("b", mass=1.0, com=(0, 0.05, 0), inertia=(0.03, 0.02, 0.04))
    s.revolute("hinge", s.ground, a, axis="y")
    s.free("loose", a, b, at=(0.3, 0, 0))
    K = np.diag([900.0, 800, 700, 9, 8, 7])
    K[0, 4] = K[4, 0] = 30.0
    s.bushing("rubber", s.marker("seat", a, (0.3, 0, 0), [("x", 0.2)]), b, K)
    start = {"loose.x": 0.02, "loose.wx": 3.0, "hinge'": 1.0}
    run = s.equations().simulate(1.0, start, rtol=1e-11)
    assert np.ptp(run.energy) < 1e-8
    assert mg.agreement(s, states=1, formalisms=["newton-euler", "lagrange", "absolute"]).ok


# --- guides ---------------------------------------------------------------------------------------


def bead(
    curve: mg.curves.Curve, friction: float | mg.Friction = 0, gravity: float = G
) -> mg.System:
    """A bead of 2 kg on a wire, y upwards."""
    s = mg.System("bead", gravity=(0, -gravity, 0))
    body = s.body("bead", mass=2.0, inertia=0)
    s.joint("at", s.ground, body, [mg.move(axis, axis) for axis in "xyz"])
    s.guide("wire", body, s.ground, curve, friction)
    return s


def test_a_cycloid_is_isochronous():
    """Every swing takes 4π √(a/g), small or large; a straight wire is slower than a cycloid."""
    a = 0.5
    period = 4 * np.pi * np.sqrt(a / G)
    e = bead(mg.curves.Cycloid(a)).equations()
    for amplitude in (0.1, 1.5, 3.0):
        run = e.simulate(period, {"wire.s": amplitude}, rtol=1e-11)
        assert run["wire.s"][-1] == pytest.approx(amplitude, abs=1e-9)
        assert run.violation.max() < 1e-12
        assert np.ptp(run.energy) < 1e-8


def test_nothing_is_faster_than_the_brachistochrone():
    """From its cusp to its lowest point on a cycloid: π √(a/g); straight: √(2l²/gh)."""
    a, h, width = 0.5, 1.0, 0.5 * np.pi
    reached = {"there": mg.Event(lambda m: m.position("bead")[0] - 1e-3)}
    cycloid = bead(mg.curves.Cycloid(a)).equations()
    line = bead(mg.curves.Curve(lambda s: (-width * s, h * s, 0), span=(0, 1))).equations()
    times = []
    for e, start in ((cycloid, -np.pi + 1e-4), (line, 1.0)):
        run = e.simulate(2.0, {"wire.s": start}, events=reached, rtol=1e-10)
        times.append(run.time[-1])
    assert times[0] == pytest.approx(np.pi * np.sqrt(a / G), rel=1e-3)
    assert times[1] == pytest.approx(np.sqrt(2 * (h**2 + width**2) / (G * h)), rel=1e-3)
    assert times[0] < times[1]


@pytest.mark.parametrize(
    ("curve", "start", "residual"),
    [
        (
            mg.curves.Astroid(0.8),
            {"wire.s": 0.9, "wire.s'": -0.2},
            lambda x, y, z: np.abs(x) ** (2 / 3) + np.abs(y) ** (2 / 3) - 0.8 ** (2 / 3) + z,
        ),
        (
            mg.curves.Rose(0.8, 2),
            {"wire.s": 0.1, "wire.s'": 2.0},
            lambda x, y, z: (x**2 + y**2) ** 3 - (0.8 * (x**2 - y**2)) ** 2 + z,
        ),
        (
            mg.curves.Helix(0.5, 0.2),
            {"wire.s": 0.1, "wire.s'": 2.0},
            lambda x, y, z: np.abs(x + 1j * y - 0.5 * np.exp(1j * z / 0.2)),
        ),
    ],
    ids=["astroid", "rose", "helix"],
)
def test_a_bead_stays_on_its_curve_and_keeps_its_speed(curve, start, residual):
    """Without gravity; the rose crosses its own middle."""
    run = bead(curve, gravity=0).equations().simulate(2.0, start, rtol=1e-11)
    assert np.abs(residual(*run["bead"].T)).max() < 1e-9
    assert np.linalg.norm(run["bead'"], axis=1) == pytest.approx(
        np.linalg.norm(run["bead'"][0]), rel=1e-9
    )


@pytest.mark.parametrize("closed", [True, False])
def test_a_guide_through_a_table_of_points(closed):
    """Points of a circle: the bead runs around it, more than once if it is closed."""
    count = 24
    angles = 2 * np.pi * np.arange(count) / count
    points = 0.5 * np.column_stack([np.cos(angles), np.sin(angles)])
    e = bead(mg.curves.Through(points, closed), gravity=0).equations()
    # an open one has no curvature at its ends
    start = {"wire.s": 5.0, "wire.s'": 4.0}
    run = e.simulate(10.0 if closed else 3.0, start, rtol=1e-10, step=0.05)
    assert np.abs(np.linalg.norm(run["bead"], axis=1) - 0.5).max() < 1e-4
    speed = np.linalg.norm(run["bead'"], axis=1)
    np.testing.assert_allclose(speed, speed[0], rtol=1e-8)
    assert (run["wire.s"][-1] > count) == closed


@pytest.mark.parametrize(
    ("points", "words"),
    [([(0, 0), (1, 1)], "four or more"), ([(0, 0)] * 5, "another"), ([(0, 0, 0, 0)] * 5, "rows")],
)
def test_tables_of_points_that_are_no_curve(points, words):
    with pytest.raises(mg.ModelError, match=words):
        mg.curves.Through(points)


def test_friction_of_a_guide_goes_with_the_force_across_it():
    """On a level circle v̇ = −μ v²/r: v = v₀ / (1 + μ v₀ t / r)."""
    s = bead(mg.curves.Circle(0.5), mg.Friction(0.2, regularization=1e-9), gravity=0)
    run = s.equations().simulate(1.0, {"wire.s": 0.0, "wire.s'": 4.0}, rtol=1e-11)
    v = 0.5 * run["wire.s'"]
    np.testing.assert_allclose(v, 2.0 / (1 + 0.2 * 2.0 * run.time / 0.5), rtol=1e-9)
    assert np.abs(run.imbalance).max() < 1e-8
    across = np.linalg.norm(run["wire"], axis=1)
    np.testing.assert_allclose(across, 2.0 * v**2 / 0.5, rtol=1e-9)


def test_a_bead_on_a_turning_hoop():
    """Beyond ω² = g/r it rests at cos θ = g/(ω²r); the small swing there has the rate ω sin θ."""
    s, r, omega = mg.System("hoop", gravity=(0, 0, -G)), 0.5, 6.0
    hoop, body = s.frame("hoop"), s.body("bead", mass=2.0, inertia=0)
    s.joint("turn", s.ground, hoop, [mg.rot("z", omega * s.time)])
    s.joint("at", s.ground, body, [mg.move(axis, axis) for axis in "xyz"])
    wire = s.marker("wire place", hoop, orientation=[("x", np.pi / 2)])
    s.guide("wire", body, wire, mg.curves.Circle(r))
    theta = np.arccos(G / omega**2 / r)
    rest = -np.pi / 2 + theta
    period = 2 * np.pi / (omega * np.sin(theta))
    start = {"wire.s": rest + 1e-4}
    run = s.equations().simulate(period, start, rtol=1e-11)
    assert run["wire.s"][-1] == pytest.approx(rest + 1e-4, abs=1e-7)
    assert run["wire.s"].min() == pytest.approx(rest - 1e-4, abs=1e-7)


def test_guides_in_a_plane():
    """With rows in the plane alone, and the same motion."""
    runs = []
    for plane in (None, "xy"):
        s = mg.System("bar", gravity=(0, -G, 0), plane=plane)
        bar = s.body("bar", mass=2.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
        s.planar("at", s.ground, bar)
        s.guide("wire", s.marker("end", bar, (0.3, 0, 0)), s.ground, mg.curves.Circle(0.5), 0.1)
        runs.append(s.equations().simulate(0.5, {"wire.s": 0.2, "at.angle": 0.1}, rtol=1e-10))
        assert mg.agreement(s, states=1, formalisms=["newton-euler", "lagrange", "absolute"]).ok
    np.testing.assert_allclose(runs[0]["bar"], runs[1]["bar"], atol=1e-8)


# --- bearings, wheels, tyres ----------------------------------------------------------------------


def bearing(radial: bool) -> tuple[mg.System, dict[str, float]]:
    """The rings of the gallery's ball bearing, whose balls are bodies there."""
    gallery = mg.gallery.load("ball_bearing")
    clearance = 5e-6 if radial else 2 * 0.0004 * (1 - np.cos(np.radians(30)))
    s = mg.System("bearing")
    ring = s.body("ring", mass=1.0, inertia=(1e-3, 1e-3, 2e-3))
    s.joint("inner", s.ground, ring, [*(mg.move(x, x) for x in "xyz"), mg.rot("z", "turn")])
    s.ball_bearing("balls", ring, s.ground, 6, 0.01, 0.04, 0.0104, 1e9, clearance)
    s.force("load", ring, (300, 0, 0) if radial else (0, 0, 300))
    assert gallery.title.startswith("Ball bearing")
    return s, {"inner.x": 8e-5} if radial else {"inner.z": 5e-4}


def test_a_ball_bearing_bears_as_stribeck_says():
    """Σ K ((δ cos ψ − c)/2)^(3/2) cos ψ = F, borne by the balls on one side."""
    s, guess = bearing(radial=True)
    q, _ = s.equations().equilibrium(guess)
    psi = np.arange(6) * np.pi / 3
    pressed = np.maximum(0, q[0] * np.cos(psi) - 5e-6) / 2
    # the grooves' curvature shares a little of it: of the order of the shift over their distance
    assert (1e9 * pressed**1.5 @ np.cos(psi)) == pytest.approx(300, rel=0.02)
    squeezed = s.equations().observe(s.forces["balls"].squeezed, q)
    assert (squeezed > 0).tolist() == (np.cos(psi) > 0.3).tolist()


def test_the_contact_angle_of_a_ball_bearing_follows_from_the_load():
    """(2(ρ − r) + δ) cos α = 2(ρ − r) − c, n K (δ/2)^(3/2) sin α = F."""
    s, guess = bearing(radial=False)
    q, _ = s.equations().equilibrium(guess)
    squeezed = s.equations().observe(s.forces["balls"].squeezed, q)[0]
    apart = 2 * 0.0004
    alpha = np.arcsin(q[2] / (apart + squeezed))
    assert 6 * 1e9 * (squeezed / 2) ** 1.5 * np.sin(alpha) == pytest.approx(300, rel=1e-9)
    held = apart * np.cos(np.radians(30))
    assert (apart + squeezed) * np.cos(alpha) == pytest.approx(held, rel=1e-9)


def test_mecanum_wheels():
    """R θ̇ = v_x ∓ v_y for wheels whose rollers are at ±45°, on the axle through the centre."""
    for angle in (np.pi / 4, -np.pi / 4):
        s = mg.System("cart")
        cart = s.body("cart", mass=2.0, inertia=(0.1, 0.1, 0.1))
        wheel = s.body("wheel", mass=0.2, inertia=(1e-3,) * 3)
        s.planar("drive", s.ground, cart, at=(0, 0, 0.05))
        s.revolute("turn", cart, wheel, axis="y")
        s.omni_wheel("grip", wheel, 0.05, rollers=angle)
        e = s.equations()
        _, u = e.assemble({"drive.x'": 0.3, "drive.y'": 0.2, "drive.angle'": 0.0})
        found = u[e.speeds.index("turn'")]
        assert 0.05 * found == pytest.approx(0.3 - np.tan(angle) * 0.2, rel=1e-10)


def test_the_magic_formula_has_its_published_values():
    """Bakker, Nyborg and Pacejka, SAE 870421: D of the fits to each load (Table 1) is within 1.2 %
    of a₁F² + a₂F; B, C, D, E of the formula by hand, and its slopes and peaks."""
    law = mg.MagicFormula()
    published = {2: (1936, 2193), 4: (3650, 4236), 6: (5237, 6090), 8: (6677, 7711)}
    for kilo, peaks in published.items():
        F = 1000.0 * kilo
        side = np.array([float(law.side(a, F)) for a in np.linspace(0, 30, 61)])
        along = np.array([float(law.braking(x, F)) for x in np.linspace(0, 100, 101)])
        assert (side.max(), along.max()) == pytest.approx(peaks, rel=0.012)
        stiffness = 1078 * np.sin(1.82 * np.arctan(0.208 * kilo))  # N for each degree
        assert float(law.side(1e-6, F)) / 1e-6 == pytest.approx(stiffness, rel=1e-9)
        D, E = -22.1 * kilo**2 + 1011 * kilo, -0.354 * kilo + 0.707
        Bx = stiffness / (1.3 * D) * 5.0
        expected = D * np.sin(1.3 * np.arctan(Bx - E * (Bx - np.arctan(Bx))))
        assert float(law.side(5.0, F)) == pytest.approx(expected, rel=1e-9)
    assert float(law.side(5.0, 0.0)) == float(law.braking(5.0, 0.0)) == 0.0


def wheel_on_road(law, load: float = 4000.0, **given) -> mg.System:
    """A wheel that is held upright, and pressed on a road by its weight."""
    s = mg.System("wheel", gravity=(0, 0, -G))
    hub = s.body("wheel", mass=load / G, inertia=(1.0, 1.5, 1.0))
    s.joint("at", s.ground, hub, [mg.move(x, x) for x in "xyz"] + [mg.rot("y", "spin")])
    s.tyre("tyre", hub, 0.3, 2e5, law, **given)
    return s


@pytest.mark.parametrize("law", [mg.LinearTyre(8e4, 6e4), mg.MagicFormula()])
def test_a_tyre_pushes_by_slip(law):
    """Load, and the forces along and across for small slips, with their signs."""
    s = wheel_on_road(law, regularization=1e-6)
    e = s.equations()
    q = [0, 0, 0.3 - 4000 / 2e5, 0]
    kappa, alpha = 0.01, 0.02
    for u, expected in (
        ([20, 0, 0, 20 * (1 + kappa) / 0.3], (kappa, 0)),
        ([20, 20 * np.tan(alpha), 0, 20 / 0.3], (0, -alpha)),
    ):
        udot = e.accelerations(q, u)
        if isinstance(law, mg.MagicFormula):
            along = float(law.braking(100 * expected[0], 4000))
            across = float(law.side(np.degrees(expected[1]), 4000))
        else:
            along, across = 8e4 * expected[0], 6e4 * np.tan(expected[1])
        mass = 4000 / G
        assert udot[:3] == pytest.approx([along / mass, across / mass, 0], abs=1e-6)
        assert udot[3] == pytest.approx(-0.3 * along / 1.5, abs=1e-6)


def test_a_tyre_leaves_the_road_and_comes_back():
    """Dropped without damping it rebounds to its height; the events are met."""
    s = wheel_on_road(mg.LinearTyre(8e4, 6e4))
    run = s.equations().simulate(1.0, {"at.z": 0.5}, rtol=1e-10)
    assert np.ptp(run.energy) < 1e-6 * run.energy.max()
    fall = np.sqrt(2 * 0.2 / G)
    omega = np.sqrt(2e5 / (4000 / G))
    v, a = G * fall, 4000 / 2e5
    down = (2 * np.pi - 2 * np.arctan2(v / omega, a)) / omega
    top = 2 * fall + down
    at = np.interp(top, run.time, run["at.z"])
    assert at == pytest.approx(0.5, abs=1e-4)
    landed = wheel_on_road(mg.MagicFormula(), damping=5e3)
    run = landed.equations().simulate(3.0, {"at.z": 0.5, "at.x'": 10.0, "at.spin'": 0.0})
    assert 0.3 * run["at.spin'"][-1] == pytest.approx(run["at.x'"][-1], rel=1e-3)
    assert np.abs(run.imbalance).max() < 1e-3 * run.kinetic[0]


# --- fluids ---------------------------------------------------------------------------------------


def test_a_falling_body_with_drag():
    """v = v_t tanh(g t / v_t), v_t = √(2 m g / ρ c_d A)."""
    s = mg.System("fall", gravity=(0, 0, -G))
    s.joint("at", s.ground, s.body("b", mass=2.0, inertia=0), [mg.move(x, x) for x in "xyz"])
    s.drag("air", "b", 0.05)
    terminal = np.sqrt(2 * 2.0 * G / (1.225 * 0.05))
    run = s.equations().simulate(4.0, {}, rtol=1e-10)
    np.testing.assert_allclose(
        -run["at.z'"], terminal * np.tanh(G * run.time / terminal), rtol=1e-8
    )
    windy = mg.System("wind")
    windy.joint("at", windy.ground, windy.body("b", 2.0, inertia=0), [mg.move("x", "x")])
    windy.drag("air", "b", 0, linear=0.5, wind=(3, 0, 0))
    run = windy.equations().simulate(2.0, {}, rtol=1e-10)
    np.testing.assert_allclose(run["at'"], 3 * (1 - np.exp(-0.25 * run.time)), atol=1e-8)


def test_a_propeller_hovers_and_brakes_itself():
    """n = √(m g / ρD⁴c); the torque of the motor is ρD⁵c_Q n²; less thrust in climb."""
    s = mg.System("propeller", gravity=(0, 0, -G))
    mast = s.body("mast", mass=1.0, inertia=(0.1, 0.1, 0.1))
    blades = s.body("blades", mass=0.1, inertia=(1e-3, 1e-3, 2e-3))
    s.prismatic("height", s.ground, mast)
    s.revolute("turn", mast, blades)
    s.propeller("air", blades, 0.4, (0.1, -0.15), 0.012)
    n = np.sqrt(1.1 * G / (1.225 * 0.4**4 * 0.1))
    e = s.equations()
    udot = e.accelerations([0, 0], [0, 2 * np.pi * n])
    assert udot[0] == pytest.approx(0, abs=1e-10)
    assert udot[1] == pytest.approx(-1.225 * 0.4**5 * 0.012 * n**2 / 2e-3, rel=1e-12)
    climbing = e.accelerations([0, 0], [2.0, 2 * np.pi * n])
    J = 2.0 / (n * 0.4)
    assert climbing[0] == pytest.approx(-0.15 * J / 0.1 * G, rel=1e-12)


def cylinder(**given) -> mg.System:
    s = mg.System("press")
    s.prismatic("ram", s.ground, s.body("load", mass=500.0, inertia=0), axis="x", at=(0.5, 0, 0))
    sizes = {"areas": (2e-3, 1.2e-3), "volumes": (1e-3, 0.8e-3), "bulk_modulus": 1.4e9}
    s.hydraulic_cylinder("oil", s.ground, "load", 0.5, **{**sizes, **given})
    return s


def test_the_natural_frequency_of_a_hydraulic_cylinder():
    """ω² = β (A₁²/V₁ + A₂²/V₂) / m; held by the same pressure on both sides of equal areas."""
    model = cylinder(areas=(2e-3, 2e-3), pressure=5e6).equations().linearize()
    expected = np.sqrt(1.4e9 * (2e-3**2 / 1e-3 + 2e-3**2 / 0.8e-3) / 500.0)
    assert np.abs(model.eigenvalues().imag).max() == pytest.approx(expected, rel=1e-9)


def test_oil_that_is_pumped_in_moves_the_ram():
    """By the volume over the area, slowly; and a chamber that is torn open cavitates."""
    s = mg.System("press")
    s.prismatic("ram", s.ground, s.body("load", mass=500.0, inertia=0), axis="x", at=(0.5, 0, 0))
    flow = 1e-4 * s.time
    sizes = {"areas": (2e-3, 1.2e-3), "volumes": (1e-3, 0.8e-3), "bulk_modulus": 1.4e9}
    s.hydraulic_cylinder(
        "oil", s.ground, "load", 0.5, **sizes, oil=(flow, -0.6 * flow), damping=1e4, pressure=1e6
    )
    run = s.equations().simulate(2.0, {"ram'": 0.05}, rtol=1e-8)
    assert run["ram"][-1] == pytest.approx(2e-4 / 2e-3, abs=2e-4)
    torn = cylinder(pressure=1e5).equations()
    pull = torn.accelerations([-0.01], [0.0])[0] * 500.0
    compressed = 1e5 + 1.4e9 * np.log(1e-3 / (1e-3 - 2e-3 * 0.01))
    assert pull == pytest.approx(compressed * 2e-3, rel=1e-9)  # nothing from the other side


# --- motors ---------------------------------------------------------------------------------------


NORMALS = {"xy": "z", "yz": "x", "zx": "y"}


def driven(voltage: float = 12.0, plane: str | None = None) -> mg.System:
    s = mg.System("drive", plane=plane)
    rotor = s.body("rotor", mass=1.0, inertia=(2e-3,) * 3)
    s.revolute("shaft", s.ground, rotor, axis=NORMALS.get(plane, "z"), damping=1e-3)
    s.dc_motor("motor", "shaft", voltage, constant=0.05, resistance=0.8, inductance=0.02)
    return s


def test_the_step_of_a_motor_with_inductance():
    """J ω̇ = K i − b ω, L di/dt = V − R i − K ω: the exponential of a matrix."""
    J, b, K, R, L, V = 2e-3, 1e-3, 0.05, 0.8, 0.02, 12.0
    A = np.array([[-b / J, K / J], [-K / L, -R / L]])
    run = driven().equations().simulate(1.0, {}, rtol=1e-11, step=0.05)
    steady = -np.linalg.solve(A, [0, V / L])
    expected = np.array([steady - expm(A * t) @ steady for t in run.time])
    np.testing.assert_allclose(run["shaft'"], expected[:, 0], atol=1e-8 * steady[0])
    np.testing.assert_allclose(run["motor.charge'"], expected[:, 1], atol=1e-8)
    assert np.abs(run.imbalance).max() < 1e-9  # V i is supplied, R i² and b ω² dissipated
    stored = L * expected[-1, 1] ** 2 / 2 + J * expected[-1, 0] ** 2 / 2
    assert run.energy[-1] == pytest.approx(stored, rel=1e-9)


@pytest.mark.parametrize("plane", ["xy", "yz", "zx"])
def test_a_motor_in_a_plane(plane):
    flat, free = (driven(plane=p).equations().simulate(0.1, {}, rtol=1e-10) for p in (plane, None))
    assert flat["shaft'"][-1] == pytest.approx(free["shaft'"][-1], rel=1e-8)


def test_all_formalisms_know_a_current():
    found = mg.agreement(driven(), states=1)
    assert found.ok, str(found)


def test_a_motor_that_is_refused_leaves_nothing_behind():
    s = driven()
    s.frame("other coil")
    for wrong in (
        lambda: s.dc_motor("other", "shaft", 1.0, 1.0, 1.0, 1.0),
        lambda: s.dc_motor("third", "shaft", 1.0, 1.0, 1.0, 0.0),
        lambda: s.dc_motor("motor", "shaft", 1.0, 1.0, 1.0, 1.0),
    ):
        known = {*s.bodies}, {*s.joints}, {*s.forces}
        with pytest.raises(mg.ModelError, match="dc_motor"):
            wrong()
        assert known == ({*s.bodies}, {*s.joints}, {*s.forces})


def test_a_motor_on_something_that_turns_and_speeds_up():
    """A current is no mechanical speed: placed on a carrier that turns, it is the same."""
    car = mg.System("carrier", gravity=(0, 0, -G))
    arm = car.frame("arm")
    car.joint("turn", car.ground, arm, [mg.rot("z", 3 * car.time**2), mg.move("x", car.time**2)])
    car.place("unit", driven(), on=arm, orientation=[("y", np.pi / 2)])
    run = car.equations().simulate(0.2, {"unit.shaft": 0.0}, rtol=1e-10)
    alone = driven().equations().simulate(0.2, {}, rtol=1e-10)
    assert run["unit.motor.charge'"][-1] == pytest.approx(alone["motor.charge'"][-1], rel=1e-8)
    assert run["unit.shaft'"][-1] == pytest.approx(alone["shaft'"][-1], rel=1e-8)


# --- all of them ----------------------------------------------------------------------------------


def machine(*words: str) -> mg.System:
    """Elements of these words between the ground and a few bodies."""
    s = mg.System("machine", gravity=(0, 0, -G))
    frame = s.body("frame", mass=3.0, com=(0.1, 0, 0), inertia=(0.2, 0.3, 0.4))
    s.free("base", s.ground, frame, at=(0, 0, 0.3))
    for k, name in enumerate(("first", "second")):
        disc = s.body(f"{name} disc", mass=1.0, inertia=(0.02, 0.02, 0.03))
        s.revolute(name, frame, disc, at=(0.09 * k, 0, 0))
    s.prismatic("slide", frame, s.body("slider", mass=0.5, inertia=(0.01,) * 3), axis="x")
    k = s.parameter("k", 50.0)
    s.marker("eye", "slider", (0, 0.4, 0.1))
    pulley = mg.Pulley("first disc", 0.05)
    say = {
        "rope": (["eye", pulley], 0.1, k, 0.1),
        "rigid_rope": ([pulley, s.marker("hook", s.ground, (3, 3, 3))], 9.0, 0.5),
        "belt": ("first", "second", (0.05, 0.02)),
        "elastic_belt": ("first", "second", (0.05, 0.02), k, 0.1, 1),
        "rack_and_pinion": ("first", "slide", 0.05),
        "elastic_coupling": ({"first": 1, "slide": -9}, k, 0.1, 0.1),
        "involute_gears": ("first", "second", (20, 35), 0.00325, k, 0.1),
        "rigid_gears": ("first", "second", (20, 35), 0.00325),
        "bushing": ("slider", "ground", [k, 1, 2, 3, 4, 5], (0.1,) * 6),
        "ball_bearing": ("slider", "first disc", 5, 0.01, 0.04, 0.0104, k, 1e-5, 0.1),
        "tyre": ("first disc", 0.5, k, mg.MagicFormula(), 0.1, "x"),
        "drag": ("slider", (0.1, 0.2, k), 1.2, 0.1, (1, 2, 3)),
        "propeller": ("first disc", 0.4, (0.1, -0.1), 0.01),
        "hydraulic_cylinder": ("eye", "hook", 5.0, (0.02, 0.01), (0.5, 0.5), k, 1, (0, 0.01), 0.1),
        "dc_motor": ("first", s.input("volts"), 0.1, 0.2, k),
        "guide": ("slider", "ground", mg.curves.Helix(0.4, 0.1), 0.1),
        "omni_wheel": ("first disc", 0.1, "x", 0.4),
    }
    assert set(say) == {*machine_kinds.FORCES, *machine_kinds.CONSTRAINTS}
    for word in words:
        getattr(s, word)(f"the {word}", *say[word])
    return s


WORDS = [*machine_kinds.FORCES, *machine_kinds.CONSTRAINTS]
START = {
    "base.x": 0.1, "first": 0.3, "second": 0.2, "slide": 0.15,
    "base.wx": 0.4, "base.z'": 0.2, "first'": 1.0, "second'": -0.5, "slide'": 0.3,
}  # fmt: skip


def started(e: mg.Equations, prefix: str = "") -> tuple[np.ndarray, np.ndarray]:
    """Near the start, as far as the constraints allow."""
    guess = {f"{prefix}{name}": value for name, value in START.items()}
    return e.assemble({f"{prefix}base.x": 0.1, f"{prefix}base.wx": 0.4}, guess=guess)


@pytest.mark.parametrize("word", WORDS)
def test_every_element_agrees_in_a_few_formalisms(word):
    found = mg.agreement(
        machine(word), states=1, formalisms=["newton-euler", "lagrange", "kane", "absolute"]
    )
    assert found.ok, str(found)


@pytest.mark.parametrize("word", WORDS)
def test_every_element_can_be_placed_on_what_moves(word):
    """Its motion relative to the carrier is the same as with the inner frame free at that place."""
    inner = machine(word)
    outer = mg.System("outer", gravity=(0, 0, -G))
    outer.place("u", inner, at=(1, 2, 3), orientation=[("z", 0.7)])
    e, o = inner.equations(), outer.equations()
    q, u = started(e)
    udot = dict(zip(e.speeds, e.accelerations(q, u), strict=True))
    state = {f"u.{n}": x for n, x in zip((*e.coordinates, *e.speeds), (*q, *u), strict=True)}
    same = [state[n] for n in o.coordinates], [state[n] for n in o.speeds]
    placed = dict(zip(o.speeds, o.accelerations(*same), strict=True))
    found = np.array([placed[f"u.{name}"] for name in e.speeds])
    np.testing.assert_allclose(found, [*udot.values()], atol=1e-9 * np.abs(found).max())


@pytest.mark.parametrize("word", WORDS)
def test_every_element_is_copied_and_told(word):
    s = machine(word)
    assert pickle.loads(pickle.dumps(s.snapshot())).elements[-1].name == f"the {word}"
    assert copy.deepcopy(s).elements[-1] == s.elements[-1]
    assert f"the {word}" in s.describe()


@pytest.mark.parametrize("word", WORDS)
def test_every_element_goes_to_a_file_and_back(word):
    s = machine(word)
    read = model_file.parse(model_file.write(s)).system
    assert model_file.write(read) == model_file.write(s)
    q, u = started(s.equations())
    found = read.equations().accelerations(q, u)
    np.testing.assert_array_equal(found, s.equations().accelerations(q, u))


@pytest.mark.slow
def test_all_elements_together_are_compiled_and_exported(tmp_path):
    """In machine code as interpreted."""
    s = machine(*(word for word in WORDS if word not in ("rigid_gears", "rack_and_pinion")))
    q, u = started(s.equations())
    interpreted = s.equations().accelerations(q, u)
    e = s.equations()
    e.compile()
    np.testing.assert_allclose(e.accelerations(q, u), interpreted, rtol=1e-9)
    e.export_c(tmp_path / "model")
    assert (tmp_path / "model.c").stat().st_size > 10_000


def hanging() -> mg.System:
    s = mg.System("hanging", gravity=(0, 0, -G))
    s.prismatic("height", s.ground, s.body("load", mass=2.0, inertia=0))
    s.rope("rope", ["ground", "load"], 1.0, s.parameter("k", 100.0), 1.0)
    return s


@pytest.mark.parametrize("system", [hanging, driven, lambda: bead(mg.curves.Rose(1.0, 2))])
def test_equations_are_printed(system):
    e = system().equations()
    assert e.latex()
    assert e.show()
