"""Leaves of compositions: against closed forms, systems of joints, and each other."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import mechgraph as mg
from mechgraph.errors import ModelError

INERTIA = (0.9, 1.3, 1.7, 0.1, -0.2, 0.15)


@pytest.mark.parametrize("orientation", ["quaternion", "zxy", "zyx", "zxz"])
@pytest.mark.parametrize("rates", [False, True])
def test_a_rigid_body_obeys_newton_and_euler(orientation, rates):
    """v̇, ω̇ and the rate of the rotation, at random states."""
    if orientation == "quaternion" and rates:
        with pytest.raises(ModelError, match="a quaternion has no angles"):
            mg.leaves.rigid_body(orientation=orientation, rates=True)
        return
    leaf = mg.Equations(
        mg.leaves.rigid_body(
            mass=1.4, inertia=INERTIA, gravity=(0.3, 0, -9.81), orientation=orientation, rates=rates
        )
    )
    random = np.random.default_rng(5)
    for _ in range(3):
        turn = random.uniform(0.3, 1.2, len(leaf.coordinates) - 3)
        if orientation == "quaternion":
            turn /= np.linalg.norm(turn)
        omega, v = random.standard_normal(3), random.standard_normal(3)
        q = np.concatenate([random.standard_normal(3), turn])
        start = dict(zip(leaf.coordinates, q, strict=True))
        start |= dict(zip(("vx", "vy", "vz", "wx", "wy", "wz"), (*v, *omega), strict=True))
        q, u = leaf.assemble(start)
        udot = leaf.accelerations(q, u)
        R = leaf.observe("rotation", q).reshape(3, 3, order="F")
        moments = np.array(ca.DM(mg.Body("b", mass=1.4, inertia=INERTIA).inertia))
        expected = -np.linalg.solve(moments, np.cross(omega, moments @ omega))
        assert np.allclose(udot[:3], [0.3, 0, -9.81], atol=1e-12)
        assert np.allclose(udot[3:6], expected, rtol=1e-11, atol=1e-11)
        turning = leaf.observe("rotation'", q, u).reshape(3, 3, order="F")
        assert np.allclose(R.T @ turning, np.cross(omega, np.eye(3)).T, atol=1e-12)


def test_a_constant_turn_has_its_closed_form():
    """Example 2.1: about y with Ω, q_y = sin Ωt/2."""
    leaf = mg.Equations(mg.leaves.rigid_body(inertia=(1, 2, 3)))
    run = leaf.simulate(2.0, {"wy": 1.7}, rtol=1e-10)
    assert np.allclose(run["q2"], np.sin(1.7 * run.time / 2), atol=1e-8)
    assert np.allclose(run["q0"], np.cos(1.7 * run.time / 2), atol=1e-8)


@pytest.mark.parametrize("down", [False, True])
def test_the_disc_rolls_as_a_disc_of_a_system(down):
    """Against a system with a rolling surface."""
    sign = 1 if down else -1
    leaf = mg.Equations(
        mg.leaves.rolling_disc(
            mass=1.2, radius=0.4, axial=0.096, radial=0.048, gravity=(0, 0, sign * 9.81), down=down
        )
    )
    s = mg.System("disc", gravity=(0, 0, sign * 9.81))
    body = s.body("body", mass=1.2, inertia=(0.048, 0.096, 0.048))
    chain = [mg.move(a, a) for a in "xyz"] + [
        mg.rot("z", "psi"),
        mg.rot("x", "phi"),
        mg.rot("y", "theta"),
    ]
    s.joint("d", s.ground, body, chain)
    rim = s.marker("rim", body, orientation=[("x", np.pi / 2)])
    floor = s.marker("floor", s.ground, orientation=[("x", np.pi if down else 0.0)])
    s.roll("rolls", mg.Disc(rim, 0.4), mg.Plane(floor))
    plain, random = s.equations(), np.random.default_rng(7)
    for _ in range(3):
        angles, rates = random.uniform(-0.6, 0.6, 3), random.standard_normal(3)
        start = dict(zip(("psi", "phi", "theta"), angles, strict=True))
        start |= dict(zip(("psi'", "phi'", "theta'"), rates, strict=True))
        q, u = leaf.assemble(start | {"x": 0.0, "y": 0.0})
        p, w = plain.assemble({f"d.{name}": value for name, value in start.items()},
                              guess={"d.z": -0.4 * sign})  # fmt: skip
        found = dict(zip(leaf.speeds, leaf.accelerations(q, u), strict=True))
        expected = dict(zip(plain.speeds, plain.accelerations(p, w), strict=True))
        for name in ("psi'", "phi'", "theta'"):
            assert found[name] == pytest.approx(expected[f"d.{name}"], rel=1e-9, abs=1e-9)
        assert found["vx"] == pytest.approx(expected["d.x'"], rel=1e-9, abs=1e-9)


def test_the_planar_element_is_a_planar_body():
    """Two ways to describe a bar that hangs on a pivot, and the printed S."""
    common = {"mass": 1.3, "inertia": 0.2, "gravity": (0, -9.81)}
    element = mg.leaves.planar_element(nodes=[(0, 0), (1.2, 0)], centre=(0.4, 0.3), **common)
    first = mg.compose("a", [element], constraints={"pivot": lambda v: v["p1"]})
    at = {"p": (-0.48, -0.36)}
    body = mg.leaves.planar_body(nodes=at, **common)
    second = mg.compose("b", [body], constraints={"pivot": lambda v: v["p"]})
    angle, rate = 0.7, -1.1
    q, u = first.assemble({"p2x": 1.2 * np.cos(angle), "p2y": 1.2 * np.sin(angle), "omega": rate})
    p, w = second.assemble({"theta": angle, "theta'": rate})
    own = first.accelerations(q, u)[first.speeds.index("omega")]
    assert own == pytest.approx(second.accelerations(p, w)[2], rel=1e-11)
    inertia = 0.2 + 1.3 * (0.48**2 + 0.36**2)
    centre = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]) @ (
        0.48,
        0.36,
    )
    assert own == pytest.approx(-1.3 * 9.81 * centre[0] / inertia, rel=1e-11)


def test_a_thin_rod_has_no_spin_of_its_own():
    """Held against spin it swings as a rod of a system."""
    rod = mg.compose(
        "rod",
        {"r": mg.leaves.thin_rod(mass=1.1, inertia=0.3, gravity=(0, 0, -9.81))},
        constraints={
            "pivot": lambda v: v.point("r", (-0.5, 0, 0)),
            "spin": lambda v: v["r.wx"],
        },
    )
    s = mg.System("rod", gravity=(0, 0, -9.81))
    body = s.body("body", mass=1.1, com=(0.5, 0, 0), inertia=(0.0, 0.3, 0.3))
    s.joint("j", s.ground, body, [mg.rot("z", "psi"), mg.rot("y", "phi")])
    plain = s.equations()
    q, u = plain.assemble({"j.psi": 0.4, "j.phi": 0.6, "j.psi'": 1.0, "j.phi'": -0.7})
    at = rod.assemble({"r.psi": 0.4, "r.phi": 0.6, "r.theta": 0.0, "r.psi'": 1.0, "r.phi'": -0.7})
    found = dict(zip(rod.speeds, rod.accelerations(*at), strict=True))
    expected = plain.accelerations(q, u)
    assert [found["r.psi'"], found["r.phi'"]] == pytest.approx(expected, rel=1e-10)


def test_a_motor_reaches_its_speed_and_keeps_its_balance():
    motor = mg.Equations(
        mg.leaves.dc_motor(
            torque_constant=0.5,
            back_emf=0.5,
            inertia=0.02,
            damping=0.01,
            inductance=0.1,
            resistance=2,
        )
    )
    run = motor.simulate(3.0, inputs={"voltage": 12.0}, rtol=1e-9)
    assert run["omega"][-1] == pytest.approx(0.5 * 12 / (2 * 0.01 + 0.25), rel=1e-3)
    assert np.abs(run.imbalance).max() < 1e-6


# --- by physical variables, by energies -----------------------------------------------------------


def offset_body():
    """A planar body with an offset mass centre: x, y, θ, and the velocity (a, b) of its reference
    point along its own axes, and ω."""
    s = mg.variables(["x", "y", "theta"], ["a", "b", "omega"])
    c, si = mg.cos(s["theta"]), mg.sin(s["theta"])
    N = [[c, -si, 0], [si, c, 0], [0, 0, 1]]
    return s, N, 1.7, 0.31, 0.6  # mass, inertia, offset


def test_appendix_a_by_four_routes():
    """f = Vᵀf′, −∂𝒢/∂u̇ and Boltzmann–Hamel give the same M and f as the quasi-coordinates do by
    hand."""
    s, N, m, moment, d = offset_body()
    a, b, w = s.u[0], s.u[1], s.u[2]
    c, si = mg.cos(s["theta"]), mg.sin(s["theta"])
    force = [0.0, 0.0, 0.0]
    # velocity of the mass centre, world
    vx, vy = c * a - si * (b + d * w), si * a + c * (b + d * w)
    by_motion = mg.leaves.physical(
        s, [vx, vy, w], inertia=[[m, 0, 0], [0, m, 0], [0, 0, moment]], forces=[0, 0, 0], N=N
    )
    T = m * (a**2 + (b + d * w) ** 2) / 2 + moment * w**2 / 2
    by_energy = mg.leaves.by_kinetic_energy(s, T, forces=force, N=N)
    ax = s.udot[0] - w * (b + d * w)
    ay = s.udot[1] + d * s.udot[2] + w * a
    gibbs = m * (ax**2 + ay**2) / 2 + moment * s.udot[2] ** 2 / 2
    by_gibbs = mg.leaves.by_accelerations(s, gibbs, forces=force, N=N)
    random = np.random.default_rng(0)
    routes = [mg.Equations(terms) for terms in (by_motion, by_energy, by_gibbs)]
    for _ in range(3):
        q, u = random.standard_normal(3), random.standard_normal(3)
        for other in routes[1:]:
            assert np.allclose(other.mass_matrix(q), routes[0].mass_matrix(q), atol=1e-12)
            assert np.allclose(other.forces(q, u), routes[0].forces(q, u), atol=1e-12)


def test_example_a1_with_a_speed_that_is_no_velocity():
    """T = m v/2 with v = ẋ² + ẏ² + ż² gives −m ẍ, −m ÿ, −m z̈, 0."""
    s = mg.variables(list("xyz"), ["x'", "y'", "z'", "v"])
    terms = mg.leaves.by_kinetic_energy(
        s,
        1.3 * s["v"] / 2,
        forces=[0, 0, 0, 0],
        N=[[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]],
        speeds_of=lambda rate: [*(rate[x] for x in "xyz"), sum(rate[x] ** 2 for x in "xyz")],
    )
    M = np.array(ca.DM(ca.evalf(ca.substitute(SX(terms.M), s.u, SX([0.3, 0.2, -0.4, 0.29])))))
    assert np.allclose(M, np.diag([1.3, 1.3, 1.3, 0]), atol=1e-12)
    assert np.allclose(mg.Equations(terms).forces([1, 2, 3], [0.3, 0.2, -0.4, 0.29]), 0, atol=1e-12)


def test_wrong_leaves_are_told():
    s = mg.variables(["x"], ["u", "v"])
    with pytest.raises(ModelError, match="2 speeds of 1 coordinates have no inverse"):
        mg.leaves.by_kinetic_energy(s, s["u"] ** 2, forces=[0, 0], N=[[1, 0]])
    with pytest.raises(ModelError, match="2 speeds need as many forces, got 1"):
        mg.leaves.by_accelerations(s, s["u'"] ** 2, forces=[1.0], N=[[1, 0]])
    with pytest.raises(ModelError, match="orientation must be"):
        mg.leaves.rigid_body(orientation="abc")
    with pytest.raises(ModelError, match="at least two nodes"):
        mg.leaves.planar_element(nodes=[(0, 0)])


LEAVES = {
    "particle": ["gravity", "plane", "mass"],
    "rigid_body": ["mass", "inertia", "gravity", "orientation", "rates"],
    "thin_rod": ["mass", "inertia", "gravity", "angles"],
    "rolling_disc": ["mass", "radius", "gravity", "down", "angles"],
    "rolling_sphere": ["mass", "gravity", "reference", "surface"],
    "planar_body": ["mass", "gravity", "nodes"],
    "planar_element": ["nodes", "centre", "gravity"],
    "dc_motor": ["inertia"],
}


@pytest.mark.parametrize("value", [9.81, "m", ["a", 1], {3: 1}, 10**400, ca.SX.sym("z"), [[1], 2]])
@pytest.mark.parametrize("leaf", LEAVES)
def test_a_wrong_argument_of_a_leaf_is_named(leaf, value):
    right = {"surface": lambda x, y, z: z} if leaf == "rolling_sphere" else {}
    for argument in LEAVES[leaf]:
        if isinstance(value, float) and argument in ("mass", "inertia", "radius"):
            continue
        with pytest.raises(mg.MechgraphError):
            getattr(mg.leaves, leaf)(**(right | {argument: value}))


def test_what_is_wrong_with_a_leaf_is_said():
    for call, words in (
        (lambda: mg.leaves.particle("p", gravity=9.81), "p: gravity must be 3 numbers, got 9.81"),
        (lambda: mg.leaves.rigid_body("p", mass="m"), "p: mass must be a number, got 'm'"),
        (lambda: mg.leaves.planar_element(centre=3), "element: centre must be 2 numbers, got 3"),
    ):
        with pytest.raises(mg.MechgraphError, match=words):
            call()
