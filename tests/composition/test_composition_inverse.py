"""Inverse dynamics of composed mechanisms, the motion found from functions of time: Whitworth's
quick-return and the 3RRR mechanism of R. Orsino (2016), §5.3, against tables of reference."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import mechgraph as mg
from mechgraph.errors import ArgumentError, ModelError
from mechgraph.studies import prescribed
from mechgraph.studies.prescribed import prescribed_motion

SQUARE = np.sqrt(3)


def bar(length, mass, inertia, centre=0.5):
    """A bar with nodes a and b along its x axis."""
    return mg.leaves.planar_body(
        mass=mass,
        inertia=inertia,
        nodes={"a": (-centre * length, 0), "b": ((1 - centre) * length, 0)},
    )


# --- Whitworth quick-return -----------------------------------------------------------------------


def whitworth() -> mg.Equations:
    """Slider block on y = 0.8, coupler, slotted lever about the origin, crank about (0, 0.3) whose
    pin runs in the lever's slot."""
    coupler, lever, crank = np.hypot(0.65, 0.2), np.hypot(0.15, 0.6), np.hypot(0.1, 0.1)
    return mg.compose(
        "quick return",
        {
            "block": mg.leaves.particle(mass=1.0, plane=True),
            "coupler": bar(coupler, 0.2, 0.2 * 0.1**2 / 12),
            "lever": bar(lever, 0.4, 0.2 * 0.5**2 / 12),
            "crank": bar(crank, 0.2, 0.2 * 0.1**2 / 3, centre=0.0),
        },
        inputs=["torque"],
        forces={"crank.theta'": lambda v: v["torque"]},
        constraints={
            "rail": lambda v: v["block.y"] - 0.8,
            "block pin": lambda v: v["block.place"] - v["coupler.a"],
            "lever end": lambda v: v["coupler.b"] - v["lever.b"],
            "lever pivot": lambda v: v["lever.a"],
            "crank pivot": lambda v: v["crank.a"] - mg.leaves.vector([0, 0.3]),
            "slot": lambda v: (
                v["crank.b"][0] * mg.sin(v["lever.theta"])
                - v["crank.b"][1] * mg.cos(v["lever.theta"])
            ),
        },
    )


WHITWORTH = np.array(  # t, x, ẋ, ω of the lever, torque
    [
        [0, 0.800000, -0.25587632, 0.46199892, 0.03654185],
        [1, 0.500000, -0.29852238, 0.46199892, -0.02548494],
        [2, 0.35711412, 0.20762895, -0.31415927, 0.22986179],
        [2.5, 0.65539709, 0.86637497, -1.40084529, -0.20395230],
        [3, 0.91028679, 0.13993968, -0.31415927, -0.12839040],
        [3.5, 0.89981448, -0.13128572, 0.28559933, 0.03867646],
    ]
)


def test_the_quick_return():
    equations = whitworth()
    times = np.arange(0, 3.51, 0.1)
    guess = {
        "block.x": 0.8,
        "block.y": 0.8,
        "crank.theta": np.pi / 4,
        "crank.y": 0.3,
        "lever.theta": np.arctan2(0.6, 0.15),
        "lever.x": 0.07,
        "lever.y": 0.3,
        "coupler.theta": np.arctan2(-0.2, -0.65),
        "coupler.x": 0.5,
        "coupler.y": 0.7,
    }
    motion = {"crank.theta": lambda t: np.pi / 4 + np.pi * t / 2}
    torque = equations.inverse_dynamics(motion, t=times, drives=["torque"], guess=guess)[:, 0]
    rows = np.round(WHITWORTH[:, 0] / 0.1).astype(int)
    assert np.allclose(torque[rows], WHITWORTH[:, 4], rtol=0, atol=6e-9)
    # back: the torque makes the motion
    q, u = equations.assemble({"crank.theta": np.pi / 4, "crank.theta'": np.pi / 2}, guess=guess)
    udot = equations.accelerations(q, u, inputs=[torque[0]])
    assert abs(udot[equations.speeds.index("crank.theta'")]) < 1e-9
    assert u[equations.speeds.index("block.x'")] == pytest.approx(WHITWORTH[0, 2], abs=6e-9)
    assert u[equations.speeds.index("lever.theta'")] == pytest.approx(WHITWORTH[0, 3], abs=6e-9)


# --- 3RRR -----------------------------------------------------------------------------------------

BASE = [(3, 0), (-1.5, 1.5 * SQUARE), (-1.5, -1.5 * SQUARE)]
VERTICES = [(1, 0), (-0.5, SQUARE / 2), (-0.5, -SQUARE / 2)]
ELBOWS = [(2, SQUARE), (-2.5, SQUARE / 2), (0.5, -1.5 * SQUARE)]


def leg() -> mg.Equations:
    """A proximal link about a base point, whose mass centre is there, and a distal one; one leg
    serves for three."""
    return mg.compose(
        "leg",
        {"near": bar(2.0, 0.5, 2 / 3, centre=0.0), "far": bar(2.0, 0.5, 1 / 6)},
        parameters={"x0": 0.0, "y0": 0.0},
        inputs=["u"],
        forces={"near.theta'": lambda v: v["u"]},
        constraints={
            "base": lambda v: v["near.a"] - mg.leaves.vector([v["x0"], v["y0"]]),
            "elbow": lambda v: v["near.b"] - v["far.b"],
        },
        independent=["near.theta'", "far.theta'"],
    )


def three_rrr() -> mg.Equations:
    one = leg()
    legs = {f"{k}": mg.Part(one, parameters={"x0": x, "y0": y}) for k, (x, y) in enumerate(BASE)}
    platform = mg.leaves.planar_body(
        mass=1.0, inertia=0.25, nodes={f"v{k}": vertex for k, vertex in enumerate(VERTICES)}
    )
    return mg.compose(
        "3RRR",
        legs | {"platform": platform},
        constraints={
            f"vertex {k}": lambda v, k=k: v[f"{k}.far.a"] - v[f"platform.v{k}"] for k in range(3)
        },
    )


RRR = np.array(  # t, u₁, u₂, u₃, rates of the proximal links
    [
        [0, 1.256327, -0.703754, 1.228120, 0.060751, -0.906900, 0.846149],
        [1, -4.109156, 4.796595, -5.025029, -0.168435, -0.392193, -0.021362],
        [2, 7.174202, 4.166600, -0.612816, -0.770072, 1.279900, -0.156597],
        [5, -7.337624, 8.057152, -4.343695, 0.075338, 0.147491, -0.645853],
    ]
)


def test_three_legs_and_a_platform():
    equations = three_rrr()
    guess = {}
    for k, (base, vertex, elbow) in enumerate(zip(BASE, VERTICES, ELBOWS, strict=True)):
        near, far = np.subtract(elbow, base), np.subtract(elbow, vertex)
        middle = np.add(elbow, vertex) / 2
        guess |= {f"{k}.near.theta": np.arctan2(near[1], near[0]), f"{k}.near.x": base[0],
                  f"{k}.near.y": base[1], f"{k}.far.theta": np.arctan2(far[1], far[0]),
                  f"{k}.far.x": middle[0], f"{k}.far.y": middle[1]}  # fmt: skip
    motion = {
        "platform.x": lambda t: -mg.sin(np.pi * t / 2),
        "platform.y": lambda t: mg.sin(np.pi * t / 4),
        "platform.theta": lambda t: np.pi / 6 * mg.sin(np.pi * t / 4) ** 4,
    }
    times = np.arange(0, 5.01, 0.1)
    drives = [f"{k}.u" for k in range(3)]
    found = equations.inverse_dynamics(motion, t=times, drives=drives, guess=guess)
    rows = np.round(RRR[:, 0] / 0.1).astype(int)
    assert np.allclose(found[rows], RRR[:, 1:4], rtol=0, atol=6e-7)


# --- bad input ------------------------------------------------------------------------------------


def test_a_loop_is_followed_between_times_that_are_far_apart(monkeypatch):
    """A crank and rocker of lengths 1, 3, 2.5 and 3 can be assembled in two ways at every angle of
    the crank; it stays on the way it began with, and says nothing where that is so."""
    s = mg.System("rocker", gravity=(0, 0, -9.81))
    crank, rod, rocker = (s.body(name, mass=1.0, inertia=(0.1, 0.1, 0.1)) for name in "abc")
    s.revolute("crank", s.ground, crank, axis="y")
    s.revolute("pin", crank, rod, axis="y", at=(1, 0, 0))
    s.revolute("rocker", s.ground, rocker, axis="y", at=(3, 0, 0))
    s.revolute("close", rod, rocker, axis="y", at=(3, 0, 0), child_at=(2.5, 0, 0), cut=True)
    equations, guess = s.equations(), {"crank": 0.3, "pin": -0.5, "rocker": -1.5}
    motion = {"crank": lambda t: 0.3 - 20 * t}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        q = prescribed_motion(equations, motion, [0.0, 0.2, 0.4], guess=guess)[0]
    tip, x = equations.position("c", q), equations.position("b", q)
    out = np.stack([2.5 * np.cos(q[:, 2]), np.zeros(3), -2.5 * np.sin(q[:, 2])], axis=-1)
    side = np.cross(tip + out - x, tip - x)[:, 1]  # of the line from pin to pivot
    assert (side > 0).all() or (side < 0).all()
    monkeypatch.setattr(prescribed, "STEPS", 3)
    with pytest.warns(UserWarning, match="more times in between"):
        prescribed_motion(equations, motion, [0.0, 0.2], guess=guess)


def test_wrong_numbers_of_inputs_and_motions():
    q = np.array(three_rrr().terms.chart.reference)
    with pytest.raises(ArgumentError, match="2 freedoms more than prescribed motions"):
        mg.compose("two", {"a": bar(1, 1, 1)}).inverse_dynamics(
            {"a.x": lambda t: t}, t=0.0, drives=["a.x'"]
        )
    with pytest.raises(ArgumentError, match=r"unknown name 'a\.z'"):
        mg.compose("two", {"a": bar(1, 1, 1)}).inverse_dynamics(
            {"a.z": lambda t: t}, t=0.0, drives=["a.x'"]
        )
    free = mg.compose("free", {"a": bar(1, 1, 1)})
    motion = {"a.x": lambda t: t**2, "a.y": 0.0, "a.theta": 0.0}
    efforts = free.inverse_dynamics(motion, t=[0.0, 1.0], drives=["a.x'", "a.y'", "a.theta'"])
    assert np.allclose(efforts, [[2, 0, 0]] * 2)
    with pytest.raises(ArgumentError, match="cannot make this motion; name more drives"):
        free.inverse_dynamics(motion, t=[0.0, 1.0], drives=["a.y'", "a.theta'"])
    many = [*(f"{k}.u" for k in range(3)), "platform.x'"]
    with pytest.raises(ArgumentError, match="more drives than"):
        three_rrr().inverse_dynamics(q, np.zeros(21), np.zeros(21), drives=many)


def test_friction_that_depends_on_the_forces_of_a_guide():
    """A block pushed along x under its weight N = m g: w = m ẍ + μ N, found with N as an input."""
    block = mg.compose(
        "block",
        [mg.leaves.particle(mass=2.0, gravity=(0, 0, -9.81))],
        inputs=["push", "side", "normal"],
        forces={
            "x'": lambda v: v["push"] - 0.3 * mg.sqrt(v["side"] ** 2 + v["normal"] ** 2),
            "y'": lambda v: v["side"],
            "z'": lambda v: v["normal"],
        },
    )
    motion = {"x": lambda t: t + t**2 / 2, "y": lambda t: 0 * t, "z": 0.0}
    found = block.inverse_dynamics(motion, t=[0.0, 1.0], drives=["push", "side", "normal"])
    assert np.allclose(found, [[2.0 + 0.3 * 2 * 9.81, 0, 2 * 9.81]] * 2, rtol=1e-12, atol=1e-12)


def rubbed(side: float = 4.0, **options) -> mg.Equations:
    """A block of 2 kg in a guide along x, under its weight and a force to the side."""

    def friction(v):
        normal = mg.sqrt(v.multiplier("y") ** 2 + v.multiplier("z") ** 2)
        return -0.3 * mg.if_else(v["x'"] >= 0, 1, -1) * normal

    return mg.compose(
        "block",
        [mg.leaves.particle(mass=2.0, gravity=(0, side, -9.81))],
        inputs=["lift"],
        constraints={"y": lambda v: v["y"], "z": lambda v: v["z"]},
        forces={"x'": friction, "z'": lambda v: v["lift"]},
        **options,
    )


def test_friction_by_two_constraint_forces_in_forward_runs():
    """ẍ = −μ √(F_y² + F_z²)/m, by every closure and on every route, and the balance of energy."""
    normal = np.hypot(2 * 4.0, 2 * 9.81 - 3.0)
    for closure in mg.CLOSURES:
        block = rubbed(closure=closure)
        q, u = np.zeros(3), np.array([1.0, 0, 0])
        given = {"inputs": [3.0]}
        assert block.accelerations(q, u, **given)[0] == pytest.approx(-0.15 * normal, rel=1e-12)
        udot, lam = block.solve(q, u, **given)
        assert udot[0] == pytest.approx(-0.15 * normal, rel=1e-12)
        assert lam == pytest.approx([-8.0, 2 * 9.81 - 3.0], rel=1e-12)
    run = rubbed().simulate(0.2, {"x'": 1.0}, inputs={"lift": 3.0}, rtol=1e-10)
    assert run["x'"][-1] == pytest.approx(1 - 0.03 * normal, rel=1e-8)
    assert np.abs(run.imbalance).max() < 1e-8
    assert run["‖f̄‖"].max() < 1e-11


def test_friction_where_the_forces_depend_on_friction():
    """On a slope, with friction along x: normal forces change with the friction itself; against
    Newton's law solved by hand."""
    mu, m, g, angle = 0.3, 2.0, 9.81, 0.4
    c, s = np.cos(angle), np.sin(angle)

    def friction(v):
        return -mu * mg.sqrt(v.multiplier("slope") ** 2)

    # the force acts along x, not along the slope: it lifts, too
    block = mg.compose(
        "block",
        [mg.leaves.particle(mass=m, gravity=(0, 0, -g))],
        constraints={"slope": lambda v: -s * v["x"] + c * v["z"], "plane": lambda v: v["y"]},
        forces={"x'": friction},
    )
    N = m * g * c / (1 + mu * s)  # N + μ N sin = m g cos
    udot, lam = block.solve([0, 0, 0], [c, 0, s])
    assert lam[0] == pytest.approx(N, rel=1e-12)
    along = -g * s - mu * N * c / m
    assert udot == pytest.approx([along * c, 0, along * s], rel=1e-12, abs=1e-12)


def test_what_friction_cannot_be():
    with pytest.raises(mg.UnsupportedError, match="leave the constraint out"):
        rubbed().inverse_dynamics({"x": lambda t: t}, t=0.0, drives=["x'"])
    with pytest.raises(ModelError, match="must grow in proportion"):
        mg.compose(
            "block",
            [mg.leaves.particle()],
            constraints={"z": lambda v: v["z"]},
            forces={"x'": lambda v: v.multiplier("z") ** 2},
        )
    with pytest.raises(ModelError, match="unknown constraint 'w'"):
        mg.compose("block", [mg.leaves.particle()], forces={"x'": lambda v: v.multiplier("w")})
