"""Systems in a plane: the same motion as in space, without the rows that say so again."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import mechgraph as mg

LETTERS = {"xy": "z", "yz": "x", "zx": "y"}


def in_plane(plane: str, a: float, b: float) -> tuple[float, ...]:
    """A vector with the components a, b along the axes of a plane."""
    k = "xyz".index(LETTERS[plane])
    out = [0.0, 0.0, 0.0]
    out[(k + 1) % 3], out[(k + 2) % 3] = a, b
    return tuple(out)


def linkage(seed: int, plane: str, told: bool) -> mg.System:
    """A closed chain of bars and a slider on a slanted guide, with springs, load and drive."""
    random = np.random.default_rng(seed)
    n = LETTERS[plane]
    s = mg.System("linkage", gravity=in_plane(plane, 1.0, -9.0), plane=plane if told else None)
    count, parent, at = int(random.integers(2, 5)), s.ground, (0.0, 0.0)
    for k in range(count):
        com = in_plane(plane, *random.uniform(0, 0.5, 2))
        bar = s.body(f"bar {k}", mass=random.uniform(0.5, 2), com=com, inertia=(0.3, 0.2, 0.25))
        turned = [(n, random.uniform(-1, 1))]
        s.revolute(f"pin {k}", parent, bar, axis=n, at=in_plane(plane, *at), orientation=turned,
                   stiffness=float(random.integers(2)) * 3.0)  # fmt: skip
        parent, at = bar, tuple(random.uniform(0.5, 1, 2))
    slider = s.body("slider", mass=0.7, inertia=(0.1,) * 3)
    angle = random.uniform(0, 3)
    along = in_plane(plane, np.cos(angle), np.sin(angle))
    s.prismatic("guide", s.ground, slider, axis=along, at=in_plane(plane, 0.3, 0.2))
    s.revolute("end", parent, slider, axis=n, at=in_plane(plane, *at), cut=bool(seed % 2) or None)
    tip = s.marker("tip", "bar 0", in_plane(plane, 0.4, 0.1))
    s.spring_damper("spring", tip, s.ground, stiffness=20.0, damping=0.3, length=0.1)
    s.force("push", tip, in_plane(plane, 2.0, 1.0))
    s.torque("drive", "pin 0", 0.5 * mg.sin(s.time))
    return s


@pytest.mark.sampled(4)
@pytest.mark.parametrize("plane", LETTERS)
@pytest.mark.parametrize("seed", range(6))
def test_a_planar_system_moves_as_in_space(plane, seed):
    flat, space = (linkage(seed, plane, told) for told in (True, False))
    report = mg.agreement(flat, 2)
    assert report.ok, report
    for formalism in ("newton-euler", "absolute"):
        eqs, spatial = flat.equations(formalism), space.equations(formalism)
        assert len(eqs.constraints) < len(spatial.constraints)
    eqs, spatial = flat.equations(), space.equations()
    q, u = eqs.assemble(guess=dict.fromkeys(eqs.coordinates, 0.3))
    assert eqs.coordinates == spatial.coordinates
    assert not eqs.redundant(q, u)
    assert spatial.redundant(q, u)
    for name in ("accelerations", "forces"):
        ours, theirs = (getattr(e, name)(q, u + 0.0, 0.2) for e in (eqs, spatial))
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(
        eqs.reaction("end", q, u, 0.2), spatial.reaction("end", q, u, 0.2), rtol=1e-9, atol=1e-9
    )


# --- nodes ----------------------------------------------------------------------------------------


def moving_base() -> mg.System:
    """A base that time moves, a chain, a fixed joint, a free body, a pin in a slot."""
    s = mg.System("base", gravity=(0, -9.81, 0), plane="xy")
    base, a, b, c, d = (
        s.body(name, mass=1.0, com=(0.3, 0.1, 0), inertia=0.1) for name in ("base", *"abcd")
    )
    shaken = [mg.move("x", 0.1 * mg.sin(3 * s.time)), mg.rot("z", 0.2 * mg.sin(s.time))]
    s.joint("shake", s.ground, base, shaken)
    s.revolute("hinge", base, a, at=(0.2, 0.1, 0), stiffness=3.0)
    s.joint("chain", a, b, [mg.move("x", "u"), mg.rot("z", "f")], at=(0.5, 0, 0))
    s.fixed("weld", b, c, at=(0.5, 0, 0), orientation=[("z", 0.3)])
    s.planar("free", s.ground, d)
    s.pin_in_slot("pin", d, s.body("e", mass=0.5, inertia=0.02), slot=(0.6, 0.8, 0))
    s.spring_damper("spring", d, c, stiffness=10.0, length=0.2)
    return s


def test_nodes_take_moving_bases_chains_and_every_planar_joint():
    report = mg.agreement(moving_base(), 2)
    rows = [row for row in report.rows if row.formalism == "nodes"]
    assert report.ok, report
    assert rows
    assert all(row.reactions is not None and not row.note for row in rows)


def test_the_mass_matrix_of_nodes_is_constant_and_forces_are_applied_ones():
    eqs = linkage(2, "xy", True).equations("nodes")
    assert eqs.terms.M.is_constant()
    assert np.linalg.eigvalsh(eqs.mass_matrix(np.zeros(len(eqs.coordinates)))).min() >= -1e-12
    free = mg.System("free", gravity=(0, -9.81, 0), plane="xy")
    free.planar("place", free.ground, free.body("b", mass=2.0, com=(0.1, 0, 0), inertia=1.0))
    assert not ca.depends_on(
        free.equations("nodes").terms.f, free.equations("nodes").terms.symbols.u
    )


@pytest.mark.parametrize("seed", [0, 3])
def test_runs_and_linear_models_in_nodes_are_those_of_joints(seed):
    s = linkage(seed, "zx", True)
    runs = [s.equations(name).simulate(1.0, rtol=1e-10) for name in ("newton-euler", "nodes")]
    np.testing.assert_allclose(runs[0]["slider"], runs[1]["slider"], atol=1e-7)
    np.testing.assert_allclose(runs[0]["end: force"], runs[1]["end: force"], rtol=1e-5, atol=1e-5)
    assert runs[1].violation.max() < 1e-9


def test_a_mass_centre_by_its_nodes():
    """Orsino's (γ, ρ): half way, and aside."""
    s = mg.System("bar", plane="xy")
    bar = s.body("bar", mass=1.0, com=(0.5, 0.2, 0), inertia=1.0)
    s.revolute("hinge", s.ground, bar)
    s.revolute("end", bar, s.body("tip", mass=1.0, inertia=0.1), at=(1.0, 0, 0))
    eqs = s.equations("nodes")
    assert eqs.coordinates[:2] == ("node end.x", "node end.y")
    np.testing.assert_allclose(eqs.nodes.centres(np.zeros(4))[0], [0.5, 0.2])


def test_nodes_are_for_planes():
    s = mg.System("s")
    s.revolute("hinge", s.ground, s.body("b", mass=1.0, inertia=(1, 1, 1)))
    with pytest.raises(mg.UnsupportedError, match="plane='xy'"):
        s.equations("nodes")


def test_absolute_coordinates_are_three_for_each_body():
    eqs = linkage(1, "xy", True).equations("absolute")
    bodies = len(eqs.system.bodies)
    assert len(eqs.speeds) == 3 * bodies
    run = eqs.simulate(1.0, rtol=1e-9)
    joint = eqs.system.equations().simulate(1.0, rtol=1e-9)
    np.testing.assert_allclose(run["slider"], joint["slider"], atol=1e-6)


def test_a_count_in_the_plane_has_no_redundant_rows():
    text = linkage(0, "xy", True).describe()
    assert "in the plane xy" in text
    assert "3·" in text
    assert "redundant" not in text


def test_an_inertia_about_the_normal_is_one_number():
    def wheel(**given):
        s = mg.System("wheel", plane=given.pop("plane"))
        body = s.body("wheel", mass=2.0, com=(0.1, 0, 0), **given)
        s.revolute("axle", s.ground, body)
        return s.equations().mass_matrix([0.3])

    assert wheel(plane="xy", inertia=0.7) == wheel(plane=None, inertia=(1, 1, 0.7))
    with pytest.raises(mg.ModelError, match="inertia must be 3 numbers"):
        wheel(plane=None, inertia=0.7)


def test_rolling_and_contact_in_the_plane():
    """A disc rolls down a slope: a = 2/3 g sin."""
    s = mg.System("disc", gravity=(9.81 * np.sin(0.3), -9.81 * np.cos(0.3), 0), plane="xy")
    disc = s.body("disc", mass=1.0, inertia=0.5 * 0.04)
    s.planar("place", s.ground, disc)
    s.constrain("roll", velocity=lambda m: m.speed("place.x") + 0.2 * m.speed("place.angle"))
    s.constrain("floor", position=lambda m: m.position(disc)[1] - 0.2)
    assert mg.agreement(s).ok
    run = s.equations("absolute").simulate(1.0, {"place.x'": 0.0})
    assert run["place.x"][-1] - run["place.x"][0] == pytest.approx(9.81 * np.sin(0.3) / 3, rel=1e-6)


# --- what is not in the plane ---------------------------------------------------------------------


def spherical(s, body):
    s.spherical("joint", s.ground, body)


def hinge_across(s, body):
    s.revolute("joint", s.ground, body, axis="x")


def guide_across(s, body):
    s.prismatic("joint", s.ground, body)


def lifted(s, body):
    s.revolute("joint", s.ground, body, at=(0, 0, 0.1))


def tilted(s, body):
    s.revolute("joint", s.ground, body, orientation=[("x", 0.1)], child_orientation=[("x", 0.1)])


def constant_tilt(s, body):
    s.joint("joint", s.ground, body, [mg.rot("x", 0.2), mg.rot("z", "angle")])


@pytest.mark.parametrize(
    "made", [spherical, hinge_across, guide_across, lifted, tilted, constant_tilt]
)
def test_joints_that_leave_the_plane_are_named(made):
    s = mg.System("s", plane="xy")
    made(s, s.body("body", mass=1.0, inertia=1.0))
    with pytest.raises(mg.ModelError, match=r"joint 'joint': is not in the plane 'xy'.*revolute"):
        s.equations()


def test_bodies_gravity_and_forces_out_of_the_plane_are_named():
    s = mg.System("s", gravity=(0, 0, -9.81), plane="xy")
    body = s.body("body", mass=1.0, com=(0, 0, 0.1), inertia=(1, 1, 1, 0, 0.1, 0))
    s.revolute("joint", s.ground, body)
    with pytest.raises(mg.ModelError, match="gravity: is not in the plane") as error:
        s.equations()
    assert "body 'body': is not in the plane" in str(error.value)
    s = mg.System("s", plane="xy")
    s.revolute("joint", s.ground, s.body("body", mass=1.0, inertia=1.0))
    s.force("push", "body", (1, 0, 1))
    with pytest.raises(mg.ModelError, match="force 'push': pushes out of the plane 'xy'"):
        s.equations().accelerations([0.0], [0.0])


@pytest.mark.parametrize("plane", ["xx", "z", 3, ("x", "y"), ""])
def test_a_plane_is_named_by_two_axes(plane):
    with pytest.raises(mg.ModelError, match="plane must be 'xy', 'yz' or 'zx'"):
        mg.System("s", plane=plane)


def test_snapshots_in_and_out_of_a_plane_differ():
    assert mg.System("s", plane="xy").snapshot() != mg.System("s").snapshot()
    assert mg.System("s", plane="yx").snapshot() == mg.System("s", plane="xy").snapshot()


@pytest.mark.parametrize("letter", ["x", "y", "z", "-x", "-y", "-z"])
def test_translations_have_the_names_of_their_axes(letter):
    s = mg.System("table")
    s.planar("place", s.ground, s.body("b", mass=1.0, inertia=(1, 1, 1)), axis=letter)
    eqs = s.equations()
    names = [name.removeprefix("place.") for name in eqs.coordinates]
    assert set(names) == set("xyz") - set(letter) | {"angle"}
    moved = dict(zip(names, (0.3, 0.7, 0.2), strict=True))
    expected = [moved.get(axis, 0.0) for axis in "xyz"]
    assert np.allclose(eqs.position("b", [0.3, 0.7, 0.2]), expected, atol=1e-15)


def test_translations_across_a_slanted_axis_are_first_and_second():
    s = mg.System("table")
    s.planar("place", s.ground, s.body("b", mass=1.0, inertia=(1, 1, 1)), axis=(0.6, 0.8, 0))
    assert s.equations().coordinates == ("place.first", "place.second", "place.angle")
