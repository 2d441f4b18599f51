"""Assembly: the start is met, and of all ways to close the one nearest to the guess is found."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mechgraph as mg
from mechgraph import gallery

CRANK, ROD = 0.15, 0.25


def slider_crank(rod: str, crank: float = CRANK, length: float = ROD) -> mg.System:
    """The crank points upwards at theta = 0; the rod is a distance or a body."""
    s = mg.System("slider-crank", gravity=(0, 0, -9.81))
    wheel = s.body("wheel", mass=1.0, inertia=(0.1, 0.1, 0.1))
    block = s.body("block", mass=1.0, inertia=(0.1, 0.1, 0.1))
    s.revolute("theta", s.ground, wheel, axis="y")
    s.prismatic("x", s.ground, block, axis="x")
    if rod == "distance":
        s.distance("rod", s.marker("pin", wheel, at=(0, 0, crank)), block, length)
    else:
        bar = s.body("bar", mass=1.0, inertia=(0.1, 0.1, 0.1))
        s.revolute("big end", wheel, bar, axis="y", at=(0, 0, crank))
        s.revolute("small end", bar, block, axis="y", at=(length, 0, 0))
    return s


@pytest.mark.parametrize("formalism", ["newton-euler", "absolute"])
@pytest.mark.parametrize("rod", ["distance", "body"])
@pytest.mark.parametrize("guess", [-0.25, -0.2, -0.05, 0.05, 0.2, 0.25])
def test_a_slider_is_assembled_on_the_side_of_the_guess(formalism, rod, guess):
    eqs = slider_crank(rod).equations(formalism)
    state = eqs.assemble({"theta": 0.0}, guess={"x": guess})
    assert eqs.observe("x", *state) == pytest.approx(np.sign(guess) * 0.2, abs=1e-12)
    assert eqs.observe("theta", *state) == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("size", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("seed", range(12))
def test_random_sliders_are_the_nearest_to_the_guess(seed, size):
    """x = r sin ϑ ± √(l² − r² cos² ϑ)."""
    random = np.random.default_rng(seed)
    crank, length = size * random.uniform(0.05, 0.3), size * random.uniform(0.4, 1)
    theta, guess = random.uniform(-3, 3), size * random.uniform(-1, 1)
    eqs = slider_crank("body", crank, length).equations()
    q, _ = eqs.assemble({"theta": theta}, guess={"x": guess})
    side = np.sqrt(length**2 - (crank * np.cos(theta)) ** 2)
    roots = crank * np.sin(theta) + np.array([-side, side])
    nearest = roots[np.argmin(np.abs(roots - guess))]
    assert np.abs(eqs.position_violation(q)).max() < 1e-12 * size
    assert eqs.observe("x", q) == pytest.approx(nearest, abs=1e-11 * size)


@pytest.mark.parametrize("seed", range(3))
def test_states_do_not_depend_on_the_unit_of_length(seed):
    """All coordinates and speeds are guessed, and none of them fits: what is nearest is the same in
    millimetres and in kilometres."""
    wished, found = np.random.default_rng(seed).normal(size=(2, 3)), []
    for size in (1.0, 1e-3, 1e3):
        eqs = slider_crank("body", CRANK * size, ROD * size).equations()
        units = np.where(np.array(eqs.coordinates) == "x", size, 1.0)
        guess = dict(zip(eqs.coordinates, 0.3 * wished[0] * units, strict=True))
        guess |= dict(zip(eqs.speeds, wished[1] * units, strict=True))
        found.append(np.array(eqs.assemble(guess=guess)) / units)
    np.testing.assert_allclose(found[1:], [found[0]] * 2, atol=1e-9)


def parallelogram(size: float, turn: np.ndarray) -> mg.Equations:
    """Cranks of one size and a coupler of two, flat at zero; in a plane that is turned."""
    s = mg.System("parallelogram")
    bars = [s.body(name, mass=1.0, inertia=np.full(3, size**2)) for name in "abc"]
    axis, along = turn[:, 1], size * turn[:, 0]
    s.revolute("A", s.ground, bars[0], axis=axis)
    s.revolute("B", bars[0], bars[1], axis=axis, at=along)
    s.revolute("C", s.ground, bars[2], axis=axis, at=2 * along)
    s.revolute("D", bars[1], bars[2], axis=axis, at=2 * along, child_at=along, cut=True)
    return s.equations()


@pytest.mark.filterwarnings("ignore:the start is so near")
@pytest.mark.parametrize("size", [1e-3, 1.0, 30.0])
@pytest.mark.parametrize("angle", [1e-3, 1e-6, 1e-9])
def test_speeds_beside_a_flat_parallelogram_are_those_of_the_branch(size, angle):
    eqs = parallelogram(size, np.eye(3))
    q, u = eqs.assemble({"A": angle, "A'": 1.0}, guess={"B": -angle, "C": angle})
    assert dict(zip(eqs.coordinates, q, strict=True)) == pytest.approx(
        {"A": angle, "B": -angle, "C": angle}, rel=1e-12
    )
    assert dict(zip(eqs.speeds, u, strict=True)) == pytest.approx(
        {"A'": 1.0, "B'": -1.0, "C'": 1.0}, rel=1e-12
    )


@pytest.mark.parametrize("size", [1e-3, 1.0])
def test_a_start_whose_speeds_rounding_decides_is_warned_of(size, recwarn):
    eqs = parallelogram(size, Rotation.from_rotvec([0.3, 0.7, -0.4]).as_matrix())
    for angle in (0.0, 0.01):
        _, u = eqs.assemble({"A": angle, "A'": 1.0}, guess={"C": 0.9 * angle})
        assert angle == 0 or np.abs(u) == pytest.approx(np.ones(3), abs=1e-9)
    eqs.assemble({"A": 1e-6}, guess={"C": 0.9e-6})  # at rest they are zero
    assert not recwarn.list
    with pytest.warns(UserWarning, match="near a singular position.* known to about 4e-03 only"):
        eqs.assemble({"A": 1e-6, "A'": 1.0}, guess={"C": 0.9e-6})


def test_a_guess_out_of_reach_is_met_as_nearly_as_can_be():
    """A point that a crank carries comes nearest where it is in line with the guess, whatever
    direction that is."""
    s = mg.System("arm")
    s.revolute("A", s.ground, s.body("bar", mass=1.0, inertia=(1, 1, 1)), axis="-y")
    s.marker("tip", "bar", (2.0, 0, 0))
    for angle in (0.3, 1.4, -2.0):
        away = 3 * np.array([np.cos(angle), 0, np.sin(angle)])
        (found,), _ = s.equations().assemble(guess={"tip": away})
        assert found == pytest.approx(angle, abs=1e-6)


@pytest.mark.parametrize("size", [1e-3, 1.0])
@pytest.mark.parametrize("theta", [0.0, np.pi, 1e-6, -1e-3, 0.05])
def test_near_a_dead_centre_a_slider_is_on_the_side_of_the_guess_too(theta, size):
    """There the rod, which nobody named, moves the slider by nothing in first order."""
    s = mg.System("in line")
    crank, rod, piston = (s.body(n, 1.0, inertia=(0.1, 0.1, 0.1)) for n in ("crank", "rod", "p"))
    s.revolute("theta", s.ground, crank)
    s.prismatic("x", s.ground, piston, axis="x")
    s.revolute("k", crank, rod, at=(0.1 * size, 0, 0))
    s.revolute("pin", rod, piston, at=(0.3 * size, 0, 0))
    eqs = s.equations()
    side = np.sqrt(0.3**2 - (0.1 * np.sin(theta)) ** 2)
    roots = 0.1 * np.cos(theta) + np.array([-side, side])
    for guess in (-0.4, -0.2, 0.25):
        q, _ = eqs.assemble({"theta": theta}, guess={"x": guess * size})
        nearest = roots[np.argmin(np.abs(roots - guess))]
        assert eqs.observe("x", q) / size == pytest.approx(nearest, abs=1e-7)


@pytest.mark.parametrize("seed", range(12))
def test_random_fourbars_are_the_nearest_to_the_guess(seed):
    """The rocker's end is where two circles meet, on one side of the line between their centres or
    on the other."""
    random = np.random.default_rng(seed)
    a, b, c, d = 0.2, *random.uniform(0.6, 0.9, 2), random.uniform(0.8, 1)
    s = mg.System("four-bar")
    bars = [s.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in "abc"]
    s.revolute("A", s.ground, bars[0], axis="-y")
    s.revolute("B", bars[0], bars[1], axis="-y", at=(a, 0, 0))
    s.revolute("C", s.ground, bars[2], axis="-y", at=(d, 0, 0))
    s.revolute("D", bars[1], bars[2], axis="-y", at=(b, 0, 0), child_at=(c, 0, 0))
    crank, guess = random.uniform(-3, 3), random.uniform(-3, 3)
    pin, foot = a * np.exp(1j * crank), d
    span = foot - pin
    turn = np.arccos((b**2 + abs(span) ** 2 - c**2) / (2 * b * abs(span)))
    ends = pin + b * span / abs(span) * np.exp(1j * np.array([turn, -turn]))
    roots = np.angle(ends - foot)
    eqs = s.equations()
    q, _ = eqs.assemble({"A": crank}, guess={"C": guess})
    found = eqs.observe("C", q)[0]
    away = np.abs(np.angle(np.exp(1j * (roots - guess))))
    assert np.abs(eqs.position_violation(q)).max() < 1e-12
    assert eqs.observe("A", q) == pytest.approx(crank, abs=1e-12)
    assert np.abs(np.exp(1j * found) - np.exp(1j * roots)).min() < 1e-11
    assert abs(found - guess) < 2 * away.min() + 1e-9


def test_a_joint_that_closes_a_loop_may_be_guessed():
    eqs = gallery.load("fourbar").system().equations()
    for pin in (1.8, -1.8):
        state = eqs.assemble({"qA": 1.2}, guess={"pin": pin})
        assert np.sign(eqs.observe("pin", *state)) == np.sign(pin)
        assert np.abs(eqs.position_violation(state[0])).max() < 1e-12


def test_a_start_that_is_rounded_is_told_the_cure_and_it_works():
    eqs = gallery.load("fourbar").system().equations()
    q, _ = eqs.assemble({"qA": 1.3}, guess={"qB": 1.8})
    rounded = {name: round(value, 4) for name, value in zip(eqs.coordinates, q, strict=True)}
    with pytest.raises(mg.AssemblyError, match=r"Name fewer .* guess=.* nearest that fit: qA = 1"):
        eqs.assemble(rounded)
    there, _ = eqs.assemble({"qA": rounded["qA"]}, guess=rounded)
    assert there == pytest.approx(q, abs=1e-12)
    with pytest.raises(mg.AssemblyError, match=r"guess=dict\(zip\(eqs\.coordinates, q\)\)"):
        eqs.assemble((np.round(q, 4), [0, 0, 0]))
    there, _ = eqs.assemble(guess=dict(zip(eqs.coordinates, np.round(q, 4), strict=True)))
    assert there == pytest.approx(q, abs=1e-4)


def test_speeds_may_be_guessed():
    eqs = gallery.load("fourbar").system().equations()
    met = eqs.assemble({"qA": 1.3, "qA'": 3.0}, guess={"qB": 1.8})
    near = eqs.assemble({"qA": 1.3}, guess={"qB": 1.8, "qA'": 3.0})
    np.testing.assert_allclose(near, met, atol=1e-11)
    rates = dict(zip(eqs.speeds, np.round(met[1], 3), strict=True))
    near = eqs.assemble({"qA": 1.3}, guess={"qB": 1.8, **rates})
    np.testing.assert_allclose(near[1], met[1], atol=1e-3)
    assert np.abs(eqs.velocity_violation(*near)).max() < 1e-12


def test_a_part_of_a_quaternion_leaves_it_of_norm_one():
    s = mg.System("ball")
    s.spherical("ball", s.ground, s.body("rod", mass=1.0, inertia=(0.1, 0.1, 0.1)))
    for given in ({"start": {"ball.q1": 0.3}}, {"guess": {"ball.q1": 0.3}}):
        q, _ = s.equations().assemble(**given)
        assert q == pytest.approx([np.sqrt(1 - 0.09), 0.3, 0, 0], abs=1e-12)


def test_quaternions_of_closed_joints_are_given_by_their_components_too():
    """With either sign, beside those of a joint that is not cut."""
    s = mg.System("twice")
    body = s.body("body", mass=1.0, inertia=(0.1, 0.2, 0.25))
    s.free("place", s.ground, body)
    s.free("again", s.ground, body)
    quaternion = np.array([-0.3266, -0.7051, 0.3921, -0.4924])
    quaternion /= np.linalg.norm(quaternion)
    values = dict(zip(("x", "y", "z"), (0.1, 0.2, -0.7), strict=True))
    values |= {f"q{k}": value for k, value in enumerate(quaternion)}
    guess = {f"{joint}.{name}": v for joint in ("place", "again") for name, v in values.items()}
    q, _ = s.equations().assemble(guess=guess)
    assert q == pytest.approx(list(values.values()), abs=1e-12)
