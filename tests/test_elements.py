"""The elements of the description, one by one: bodies, transitions, joints, forces, and those that
a user adds."""

from __future__ import annotations

import inspect
import re
from typing import Any

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import mechgraph as mg
from measure import (
    IN_JOINT_COORDINATES,
    IN_SPACE,
    acceleration_gap,
    accelerations_of,
    force_gap,
    gap,
    mass_gap,
    placed,
)
from mechgraph import vectors
from mechgraph.formats.schema import model_schema
from mechgraph.model.bodies import Place, marker_on
from mechgraph.model.fields import Number
from mechgraph.model.joints import Chain
from mechgraph.model.transitions import Ball, Transition
from mechgraph.motion.energy import potential
from mechgraph.motion.loads import generalized
from mechgraph.vectors import quaternion_matrix, quaternion_of
from random_systems import random_state, random_tree


def number(expression: SX) -> np.ndarray:
    return np.array(ca.evalf(ca.densify(expression)))


def pendulum(**options) -> mg.System:
    s = mg.System("pendulum", gravity=(0, 0, -9.81))
    body = s.body(
        "rod", **({"mass": 2.0, "com": (0, 0, -0.5), "inertia": (0.2, 0.3, 0.1)} | options)
    )
    s.revolute("hinge", s.ground, body, axis="y")
    return s


# --- transitions ----------------------------------------------------------------------------------

TRANSITIONS = [
    mg.rot((0.36, -0.48, 0.8), "a"),
    mg.rot("-y", "a"),
    mg.move((0.6, 0.0, -0.8), "a"),
    mg.screw((0.48, 0.6, 0.64), -0.3, "a"),
    mg.ball("a"),
]
BOTH_WAYS = [t for step in TRANSITIONS for t in (step, step.reversed())]


def name_of(step: Transition) -> str:
    return type(step).__name__ + ("" if step in TRANSITIONS else " backwards")


def amount(step: Transition, seed: int = 0) -> np.ndarray:
    x = np.random.default_rng(seed).uniform(-1, 1, len(step.coordinates))
    return x / np.linalg.norm(x) if isinstance(step, Ball) else x


@pytest.mark.parametrize("step", BOTH_WAYS, ids=name_of)
def test_a_subspace_is_the_relative_twist_and_does_not_accelerate(step):
    """Rᵀ Ṙ = (S_ω s)~, Rᵀ ḋ = S_v s, and Ṡ s = 0."""
    x, s = SX.sym("x", len(step.coordinates)), SX.sym("s", len(step.speeds))
    R, d = step.pose(x)
    rate = step.rates(x) @ s
    S_w, S_v = step.subspace(x)
    turning = R.T @ ca.reshape(ca.jtimes(ca.vec(ca.densify(R)), x, rate), 3, 3)
    moving = R.T @ ca.jtimes(ca.densify(d), x, rate)
    accelerating = ca.jtimes(ca.vertcat(S_w @ s, S_v @ s), x, rate)
    check = ca.Function("f", [x, s], [turning - ca.skew(S_w @ s), moving - S_v @ s, accelerating])
    for residual in check(amount(step), np.random.default_rng(1).uniform(-1, 1, len(step.speeds))):
        assert np.abs(np.array(residual)).max() < 1e-15


@pytest.mark.parametrize("step", TRANSITIONS, ids=name_of)
def test_a_reversed_transition_leads_back(step):
    x = SX(ca.DM(amount(step)))
    (R, d), (R_back, d_back) = step.pose(x), step.reversed().pose(x)
    assert gap(number(R @ R_back), np.eye(3)) < 1e-15
    assert np.abs(number(d + R @ d_back)).max() < 1e-15


# --- joints ---------------------------------------------------------------------------------------

OPTIONS = {"screw": {"pitch": 0.2}, "universal": {"axis": (0.6, 0.0, 0.8), "second_axis": "y"}}
KINDS = {name: kind(**OPTIONS.get(name, {})) for name, kind in mg.JOINTS.items()}
OBLIQUE = {
    name: mg.JOINTS[name](axis=(0.36, -0.48, 0.8), **OPTIONS.get(name, {}))
    for name in ("revolute", "prismatic", "cylindrical", "screw", "planar")
}
ALL_KINDS = [*KINDS.items(), *((f"oblique {name}", kind) for name, kind in OBLIQUE.items())]


def pose_of(kind: mg.JointKind, x: np.ndarray) -> tuple[SX, SX]:
    R, d, values = SX.eye(3), SX.zeros(3), iter(x)
    for step in kind.transitions():
        step_R, step_d = step.pose(SX(ca.DM([next(values) for _ in step.coordinates])))
        R, d = R @ step_R, d + R @ step_d
    return R, d


def coordinates_of(kind: mg.JointKind, seed: int) -> np.ndarray:
    return np.concatenate(
        [np.zeros(0), *(_positive(amount(step, seed)) for step in kind.transitions())]
    )


def _positive(x: np.ndarray) -> np.ndarray:
    return x * np.sign(x[0]) if len(x) == 4 else x


@pytest.mark.parametrize(
    "kind", [kind for _, kind in ALL_KINDS], ids=[name for name, _ in ALL_KINDS]
)
def test_a_joint_closes_what_its_transitions_leave(kind):
    """Its closing rows vanish along its motion, its coordinates are measured, and freedoms and rows
    add up to six."""
    for seed in range(3):
        x = coordinates_of(kind, seed)
        R, r = pose_of(kind, x)
        rows = [value for _, value in kind.closing(R, r)]
        assert np.abs([float(row) for row in rows]).max(initial=0) < 1e-15
        assert gap(x, number(kind.measure(R, r)).ravel(), floor=1.0) < 1e-14
        assert float(kind.orientation_sign(R, r)) > 0
        shift, tilt = SX.sym("shift", 3), SX.sym("tilt", 3)
        moved = ca.vertcat(
            SX(0, 1), *(value for _, value in kind.closing(R + ca.skew(tilt) @ R, r + shift))
        )
        slope = ca.substitute(
            ca.jacobian(moved, ca.vertcat(shift, tilt)), ca.vertcat(shift, tilt), SX.zeros(6)
        )
        freedoms = sum(len(step.speeds) for step in kind.transitions())
        assert len(rows) == 6 - freedoms
        assert not rows or np.linalg.matrix_rank(number(slope), tol=1e-6) == 6 - freedoms


def test_names_of_rows_differ():
    for name, kind in KINDS.items():
        labels = [label for label, _ in kind.closing(SX.eye(3), SX.zeros(3))]
        assert len(set(labels)) == len(labels), name


def test_a_screw_is_known_beyond_whole_turns_and_only_on_its_own_thread():
    kind = mg.JOINTS["screw"](pitch=0.1)
    R, r = pose_of(kind, np.array([14.0]))
    assert abs(float(kind.measure(R, r)) - 14.0) < 1e-13
    rows = dict(kind.closing(R, r))
    assert abs(float(rows["advance"])) < 1e-13
    half_turn_off = r + SX(ca.DM([0, 0, 0.1 * np.pi]))
    assert abs(float(dict(kind.closing(R, half_turn_off))["advance"])) < 1e-13
    assert float(kind.orientation_sign(R, half_turn_off)) < 0


@pytest.mark.parametrize("axis", ["x", "y", "z", (0.36, 0.48, 0.8)])
@pytest.mark.parametrize("angle", [0.0, 1.0, np.pi - 1e-9, np.pi, -np.pi + 1e-3, -3.0])
def test_the_quaternion_of_every_rotation(axis, angle):
    """Also of half turns, where the scalar part vanishes."""
    R = pose_of(Chain([mg.rot(axis, "a")]), np.array([angle]))[0]
    q = quaternion_of(R)
    assert abs(np.linalg.norm(number(q)) - 1) < 1e-15
    assert gap(number(quaternion_matrix(q)), number(R)) < 1e-14
    assert float(q[0]) > -1e-15


def test_coordinates_go_by_the_joints_name():
    s = mg.System("names")
    names = {
        "revolute": (["j"], ["j'"]),
        "cylindrical": (["j.angle", "j.shift"], ["j.angle'", "j.shift'"]),
        "universal": (["j.first", "j.second"], ["j.first'", "j.second'"]),
        "planar": (["j.x", "j.y", "j.angle"], ["j.x'", "j.y'", "j.angle'"]),
        "spherical": (["j.q0", "j.q1", "j.q2", "j.q3"], ["j.wx", "j.wy", "j.wz"]),
        "fixed": ([], []),
    }
    for kind, (coordinates, speeds) in names.items():
        joint = mg.Joint("j", mg.Marker("a", s.ground), s.ground, KINDS[kind])
        assert (joint.coordinates, joint.speeds) == (coordinates, speeds)


def test_planar_translations_of_a_coordinate_normal_follow_the_letters():
    for normal, first in (("z", "x"), ("x", "y"), ("y", "z")):
        x = np.array([0.7, 0.0, 0.0])
        assert np.array_equal(
            number(pose_of(mg.JOINTS["planar"](axis=normal), x)[1]).ravel(),
            0.7 * np.eye(3)["xyz".index(first)],
        )


def test_a_joint_may_sit_on_markers():
    def arm(on_markers: bool) -> mg.Equations:
        s = mg.System("arm", gravity=(0, 0, -9.81))
        a, b = (
            s.body(name, mass=1.0, com=(0.2, 0.1, 0), inertia=(0.1, 0.2, 0.25)) for name in "ab"
        )
        s.revolute("first", s.ground, a, axis="y")
        if on_markers:
            seat = s.marker("seat", a, (0.5, 0, 0), [("z", 0.3)])
            s.marker("pin", b, (0, 0.1, 0), [("x", 0.2)])
            s.revolute("second", seat, "pin", axis="x")
        else:
            places = {
                "at": (0.5, 0, 0),
                "orientation": [("z", 0.3)],
                "child_at": (0, 0.1, 0),
                "child_orientation": [("x", 0.2)],
            }
            s.revolute("second", a, b, axis="x", **places)
        return s.equations()

    q, u = [0.3, -0.8], [1.0, 2.0]
    assert gap(arm(True).accelerations(q, u), arm(False).accelerations(q, u)) < 1e-14


# --- bodies ---------------------------------------------------------------------------------------


def test_every_way_of_writing_an_inertia_is_the_same():
    I = np.array([[0.3, -0.02, 0.01], [-0.02, 0.4, 0.03], [0.01, 0.03, 0.2]])  # noqa: E741
    com = np.array([0.1, -0.2, -0.5])
    origin = I + 2.0 * (com @ com * np.eye(3) - np.outer(com, com))
    ways = [
        {"inertia": I},
        {"inertia": I.tolist()},
        {"inertia": SX(ca.DM(I))},
        {"inertia": (0.3, 0.4, 0.2, -0.02, 0.01, 0.03)},
        {"inertia": np.array([0.3, 0.4, 0.2, -0.02, 0.01, 0.03])},
        {"inertia": origin, "inertia_about": "origin"},
    ]
    for way in ways:
        s = mg.System("body")
        s.free("j", s.ground, s.body("b", mass=2.0, com=com, **way))
        M = s.equations().mass_matrix([0, 0, 0, 1, 0, 0, 0])
        assert gap(origin, M[3:, 3:]) < 1e-15
    diagonal = pendulum(inertia=(0.2, 0.3, 0.1)).equations().mass_matrix([0])
    assert diagonal == pytest.approx(0.3 + 2.0 * 0.25, abs=1e-15)
    assert pendulum(inertia=0).equations().mass_matrix([0]) == pytest.approx(0.5, abs=1e-15)


def test_every_way_of_writing_an_orientation_is_the_same():
    half = np.sqrt(0.5)
    turn = [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    for way in (
        [("z", np.pi / 2)],
        [("-z", -np.pi / 2)],
        (half, 0, 0, half),
        turn,
        np.array(turn),
        SX(ca.DM(turn)),
    ):
        s = pendulum()
        marker = s.marker("m", "rod", (1, 2, 3), way)
        equations = s.equations()
        assert gap(equations.rotation(marker, [0.0]), np.array(turn)) < 1e-15


def test_published_data_that_no_body_has_are_taken_when_told():
    s = mg.System("odd")
    s.revolute(
        "j",
        s.ground,
        s.body("link", mass=0.0, inertia=(0, 0.35, 0), allow_unphysical=True),
        axis="y",
    )
    assert s.equations().mass_matrix([0]) == pytest.approx(0.35)


def test_a_frame_between_joints_carries_nothing():
    """Two hinges with a massless frame between are a universal joint."""
    split, whole = (
        mg.System("split", gravity=(0, 0, -9.81)),
        mg.System("whole", gravity=(0, 0, -9.81)),
    )
    bodies = [
        s.body("b", mass=1.0, com=(0.1, 0.2, -0.5), inertia=(0.1, 0.2, 0.15))
        for s in (split, whole)
    ]
    middle = split.frame("cross")
    split.revolute("first", split.ground, middle, axis="x")
    split.revolute("second", middle, bodies[0], axis="y")
    whole.universal("both", whole.ground, bodies[1], axis="x", second_axis="y")
    q, u = [0.4, -0.7], [1.0, -2.0]
    for formalism in IN_SPACE:
        first, second = (s.equations(formalism) for s in (split, whole))
        a, b = (e.observe(accelerations_of("b"), *placed(e, q, u)) for e in (first, second))
        assert gap(a, b) < 1e-13


# --- parameters, time, gravity --------------------------------------------------------------------


def test_parameters_may_stand_in_every_number():
    """With all numbers as parameters at other values, the system is the one with those values
    written in."""

    def build(value) -> mg.System:
        s = mg.System("parameters")
        p = {name: value(s, name, x) for name, x in VALUES.items()}
        s.gravity = (0, 0, -p["g"])
        rod = s.body(
            "rod", mass=p["m"], com=(0, 0, -p["l"] / 2), inertia=(p["I"], 1.2 * p["I"], p["I"])
        )
        axis = (mg.sin(p["tilt"]), mg.cos(p["tilt"]), 0)
        s.screw(
            "hinge",
            s.ground,
            rod,
            pitch=p["pitch"],
            axis=axis,
            at=(0, 0, p["l"]),
            stiffness=p["k"],
            damping=0.1 * p["k"],
        )
        tip = s.marker("tip", rod, (0, p["l"], -p["l"]))
        s.spring_damper("spring", tip, s.ground, stiffness=p["k"], damping=p["k"], length=p["l"])
        s.force("push", tip, (p["g"], 0, 0))
        return s

    changed = {name: 1.3 * x for name, x in VALUES.items()}
    named = build(lambda s, name, x: s.parameter(name, x)).equations()
    written = build(lambda s, name, x: changed[name]).equations()
    here, there = (
        named.accelerations([0.4], [1.0], parameters=changed),
        written.accelerations([0.4], [1.0]),
    )
    assert gap(here, there) < 1e-13


VALUES = {"m": 2.0, "l": 0.8, "I": 0.1, "g": 9.81, "k": 5.0, "pitch": 0.07, "tilt": 0.3}


def test_gravity_may_change_in_time_and_its_power_is_counted():
    s = pendulum()
    s.gravity = (0, 0, -9.81 * mg.cos(2 * s.time))
    for formalism in IN_SPACE:
        run = s.equations(formalism).simulate(1.0, {"hinge": 0.5}, rtol=1e-11)
        work = np.concatenate(
            [[0], np.cumsum((run.power[1:] + run.power[:-1]) / 2 * np.diff(run.time))]
        )
        # the trapezoidal rule's error
        assert np.abs(run.energy - run.energy[0] - work).max() < 1e-4
    other = pendulum()
    assert (
        gap(
            s.equations().accelerations([0.5], [0.0]), other.equations().accelerations([0.5], [0.0])
        )
        < 1e-15
    )


# --- the motion as seen from outside --------------------------------------------------------------


@pytest.mark.parametrize("seed", range(0, 60, 4))
def test_velocities_and_accelerations_are_derivatives(seed):
    """v = ṙ, ω from Ṙ, a = v̇, α = ω̇ for a marker on the last body, by differentiation along the
    motion."""
    build = random_tree(seed)
    marker = build.system.marker(
        "seen", list(build.system.bodies)[-1], (0.3, -0.2, 0.5), [("x", 0.4)]
    )
    equations = build.system.equations()
    state, s, m = (
        random_state(equations, seed),
        equations.terms.symbols,
        mg.Motion(equations.terms.chart),
    )

    def rate(x: SX) -> SX:
        x = ca.densify(x)
        along = ca.jtimes(x, s.q, equations.terms.chart.qdot) + ca.jtimes(x, s.t, SX(1))
        return along + ca.jtimes(x, s.u, s.udot)

    R = m.rotation(marker)
    spin = ca.reshape(rate(ca.vec(R)), 3, 3) @ R.T
    pairs = [
        (m.velocity(marker), rate(m.position(marker))),
        (m.angular_velocity(marker), ca.vertcat(spin[2, 1], spin[0, 2], spin[1, 0])),
        (m.acceleration(marker), rate(m.velocity(marker))),
        (m.angular_acceleration(marker), rate(m.angular_velocity(marker))),
    ]
    arguments = (state.q, state.u, state.t, state.inputs, list(state.parameters.values()))
    udot = equations.accelerations(state.q, state.u, **state.at)
    function = ca.Function(
        "pairs", [s.q, s.u, s.t, s.w, s.p, s.udot], [x for pair in pairs for x in pair]
    )
    values = [np.array(x) for x in function(*arguments, udot)]
    for here, there in zip(values[::2], values[1::2], strict=True):
        assert gap(here, there, floor=1.0) < 1e-12, str(build)
    seen = equations.observe(lambda m: m.acceleration(marker), state.q, state.u, **state.at)
    assert gap(values[4].ravel(), seen, floor=1.0) < 1e-12


def test_in_frame_turns_into_the_axes_of_a_frame():
    s = pendulum()
    a, b = (
        s.marker("a", "rod", (0.1, 0.2, 0.3), [("z", 0.5)]),
        s.marker("b", "ground", (1, 0, 0), [("x", 0.7)]),
    )
    equations = s.equations()
    R, r = equations.rotation(b, [0.4]), equations.position(a, [0.4])
    position = equations.observe(lambda m: m.position(a, in_frame=b), [0.4], [2.0])
    assert gap(position, R.T @ (r - [1, 0, 0])) < 1e-15
    for quantity in ("velocity", "acceleration", "angular_velocity", "angular_acceleration"):
        world = equations.observe(lambda m, q=quantity: getattr(m, q)(a), [0.4], [2.0])
        turned = equations.observe(lambda m, q=quantity: getattr(m, q)(a, in_frame=b), [0.4], [2.0])
        assert gap(turned, R.T @ world) < 1e-15
    axis = equations.observe(lambda m: m.axis(a, "-y", in_frame=b), [0.4], [2.0])
    assert gap(axis, -(R.T @ equations.rotation(a, [0.4]))[:, 1]) < 1e-15


# --- forces ---------------------------------------------------------------------------------------


def loaded(add) -> mg.System:
    """Two bodies (a hinge, then a free one) with one force."""
    s = mg.System("loaded")
    a = s.body("a", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.2, 0.25))
    b = s.body("b", mass=2.0, com=(0, 0.1, 0), inertia=(0.3, 0.2, 0.25))
    s.cylindrical("hinge", s.ground, a, axis=(0.36, 0.48, 0.8))
    s.free("loose", a, b, at=(0.5, 0, 0))
    s.marker("tip", b, (0.1, 0.2, 0.3), [("x", 0.4)])
    add(s)
    return s


EXAMPLES = {
    "spring_damper": [
        lambda s: s.spring_damper("f", "tip", "a", stiffness=7.0, damping=0.3, length=0.4),
        lambda s: s.spring_damper("f", "tip", "ground", stiffness=7.0, damping=0.3),
        lambda s: s.spring_damper(
            "f", "ground", "tip", stiffness=7.0, length=0.2 + 0.1 * mg.sin(s.time)
        ),
    ],
    "torque": [
        lambda s: s.torque("f", "hinge.shift", 3.0),
        lambda s: s.torque("f", "hinge", (1.0, 2.0)),
        lambda s: s.torque("f", "hinge.angle", lambda m: -3 * m.coordinate("hinge.angle")),
    ],
    "force": [
        lambda s: s.force("f", "tip", (1, 2, 3)),
        lambda s: s.force("f", "tip", (1, 2, mg.sin(s.time)), frame="body"),
        lambda s: s.force("f", "tip", lambda m: -m.velocity("tip")),
    ],
    "body_torque": [
        lambda s: s.body_torque("f", "tip", (1, 2, 3)),
        lambda s: s.body_torque("f", "tip", lambda m: -m.angular_velocity("tip"), frame="body"),
    ],
    "compliant_contact": [
        lambda s: s.compliant_contact(
            "f", mg.Sphere(s.markers["tip"], 2.0), mg.Plane(s.ground), stiffness=3.0, exponent=1.5
        ),
    ],
    "rope": [
        lambda s: s.rope("f", ["ground", "a", "tip"], 0.1, 7.0, 0.3),
        lambda s: s.rope("f", ["tip", mg.Pulley("ground", 0.1, True), "a"], 0.1, 7.0, 0.3),
    ],
    "elastic_belt": [
        lambda s: s.elastic_belt("f", "hinge.angle", "hinge.shift", (0.1, 0.2), 7.0, 0.3, 0.01),
    ],
    "elastic_coupling": [
        lambda s: s.elastic_coupling("f", {"hinge.angle": 1.0, "loose.x": 2.0}, 7.0, 0.3),
    ],
    "bushing": [
        lambda s: s.bushing("f", "tip", "a", (3, 4, 5, 1, 2, 3), (0.1,) * 6, (0, 1, 2, 0, 0, 3)),
    ],
    "ball_bearing": [
        lambda s: s.ball_bearing("f", "tip", "a", 5, 0.01, 0.04, 0.0104, 0.3, 1e-5, 0.1, 0.2),
    ],
    "tyre": [
        lambda s: s.tyre("f", "tip", 2.0, 7.0, mg.LinearTyre(3.0, 2.0), 0.3, (0.6, 0, 0.8)),
        lambda s: s.tyre("f", "tip", 2.0, 7.0, mg.MagicFormula(), road="a"),
    ],
    "drag": [lambda s: s.drag("f", "tip", (1, 2, 3), 1.2, 0.3, (1, 0, 2), "a")],
    "propeller": [lambda s: s.propeller("f", "tip", 0.4, (0.1, -0.2), 0.01, air="a")],
    "hydraulic_cylinder": [
        lambda s: s.hydraulic_cylinder(
            "f", "tip", "a", 0.5, (0.02, 0.01), (0.1, 0.1), 9.0, 0.5, (0.001, 0.001 * s.time), 0.2
        ),
    ],
    "dc_motor": [lambda s: s.dc_motor("f", "hinge.angle", 3.0, 0.2, 1.5, 0.1)],
    "involute_gears": [lambda s: geared(s)],
    "drive": [
        lambda s: s.drive("f", "hinge.angle", 2.0, effort=1.5, speed=20.0),
        lambda s: s.drive("f", "hinge.shift", position=mg.sin(s.time), stiffness=3.0, damping=0.1),
    ],
    "backlash": [
        lambda s: s.backlash(
            "f", {"hinge.angle": 1, "hinge.shift": -2}, 1e-3, stiffness=5.0, damping=0.2
        ),
    ],
}


def geared(s: mg.System) -> mg.Force:
    """Two gears on the body a, whose axes are a little too far apart."""
    for k in (0, 1):
        disc = s.body(f"disc {k}", mass=1.0, inertia=(0.1, 0.1, 0.2))
        s.revolute(f"gear {k}", "a", disc, axis=(0.36, 0.48, 0.8), at=(0.09 * k, 0, 0))
    return s.involute_gears("f", "gear 0", "gear 1", (20, 35), 0.003, 7.0, 0.3)


def test_every_force_has_examples():
    assert set(EXAMPLES) == set(mg.FORCES)


@pytest.mark.parametrize("add", [add for adds in EXAMPLES.values() for add in adds])
def test_conservative_actions_are_the_gradient_of_the_potential(add):
    """Nᵀ ∂V/∂q = −Q, what a force says twice; and every formalism gets the same of it."""
    equations = loaded(add).equations("newton-euler")
    k, s = equations.terms.chart, equations.terms.symbols
    state = random_state(equations, 3)
    springs = [
        action
        for force in equations.system.forces.values()
        for action in force.conservative(mg.Motion(k))
    ]
    work = generalized(k, springs) + k.N.T @ ca.gradient(potential(k), s.q)
    values = ca.Function("f", [s.q, s.u, s.t, s.w, s.p], [work])(
        state.q, state.u, state.t, state.inputs, []
    )
    assert np.abs(np.array(values)).max() < 1e-13
    M, f = (
        equations.mass_matrix(state.q, **state.place),
        equations.forces(state.q, state.u, **state.at),
    )
    for formalism in IN_JOINT_COORDINATES:
        other = equations.system.equations(formalism).forces(state.q, state.u, **state.at)
        assert force_gap(M, f, other, state.u) < 1e-13


def test_a_spring_of_no_length_has_no_singularity():
    equations = loaded(lambda s: s.spring_damper("f", "a", "b", stiffness=3.0)).equations()
    q = np.array([0.2, 0.1, -0.5, 0, 0, 1, 0, 0, 0])
    assert gap(equations.position("a", q), equations.position("b", q)) < 1e-15
    assert np.isfinite(equations.accelerations(q, np.zeros(8))).all()


def test_springs_and_dampers_in_a_joint_go_by_coordinate():
    s = mg.System("joint spring")
    body = s.body("b", mass=2.0, inertia=(1, 1, 0.5))
    s.planar(
        "j", s.ground, body, stiffness=(8.0, 2.0, 0.5), damping=(0, 0.4, 0.1), rest=(0.1, 0.0, -0.3)
    )
    udot = s.equations().accelerations([0.3, 0.2, 0.4], [1.0, 2.0, 3.0])
    expected = [-8 * 0.2 / 2, -(2 * 0.2 + 0.4 * 2) / 2, -(0.5 * 0.7 + 0.1 * 3) / 0.5]
    assert gap(np.array(expected), udot) < 1e-15


# --- elements of one's own ------------------------------------------------------------------------


class Ramp(mg.JointKind):
    """A slide along x that rises by a slope."""

    def __init__(self, slope):
        self.e = SX(ca.DM([1, 0, slope])) / np.hypot(1, slope)

    def transitions(self):
        return [mg.move([float(self.e[i]) for i in range(3)], "shift")]

    def closing(self, R, r):
        across = r - self.e * ca.dot(self.e, r)
        tilt = [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1]]
        return [
            ("across y", across[1]),
            ("across z", across[2]),
            *((f"tilt {i}", x) for i, x in enumerate(tilt)),
        ]

    def measure(self, R, r):
        return ca.dot(self.e, r)


class Cubic(mg.Force):
    """A spring that hardens: −k x³ along a coordinate."""

    def __init__(self, name, joint, k):
        self.name, self.joint, self.k = name, joint, k

    def potential(self, m):
        return self.k * m.coordinate(self.joint) ** 4 / 4

    def conservative(self, m):
        return [mg.Effort(self.joint, -self.k * m.coordinate(self.joint) ** 3)]


class Magnus(mg.Force):
    """A force across velocity and spin."""

    def __init__(self, name, at, c):
        self.name, self.at, self.c = name, at, c

    def nonconservative(self, m):
        force = self.c * mg.cross(m.angular_velocity(self.at), m.velocity(self.at))
        return [mg.Wrench(self.at, force, SX.zeros(3))]


class OnSphere(mg.Constraint):
    """A point at a distance from the origin."""

    def __init__(self, name, at, radius):
        self.name, self.at, self.radius = name, at, radius

    def position(self, m):
        r = m.position(self.at)
        return [("radius", (ca.dot(r, r) - self.radius**2) / 2)]


def ramp(kind) -> mg.System:
    s = mg.System("ramp", gravity=(0, 0, -9.81))
    cart = s.body("cart", mass=2.0, com=(0, 0, 0.1), inertia=(0.1, 0.1, 0.1))
    ball = s.body("ball", mass=0.5, com=(0.05, 0, 0), inertia=(0.01, 0.02, 0.02))
    if kind == "own":
        s.joint("slide", s.ground, cart, Ramp(0.5))
    else:
        s.prismatic("slide", s.ground, cart, axis=[x / np.hypot(1, 0.5) for x in (1, 0, 0.5)])
    s.spherical("socket", cart, ball, at=(0, 0, 0.4))
    tip = s.marker("tip", ball, (0.3, 0, 0.1))
    s.add(Cubic("cubic", "slide", 4.0))
    s.add(Magnus("magnus", tip, 0.7))
    s.add(OnSphere("sphere", tip, 0.8))
    return s


@pytest.mark.sampled(3)
@pytest.mark.parametrize("closure", mg.CLOSURES)
@pytest.mark.parametrize("formalism", IN_SPACE)
def test_elements_of_ones_own_work_everywhere(formalism, closure):
    equations = ramp("own").equations(formalism, closure)
    reference = ramp("listed").equations("newton-euler")
    q, u = reference.assemble({"slide": 0.3, "slide'": -1.0, "socket.wx": 2.0})
    own = equations.assemble({"slide": 0.3, "slide'": -1.0, "socket.wx": 2.0})
    assert abs(equations.position_violation(own[0])).max() < 1e-10
    if formalism in IN_JOINT_COORDINATES:
        M = reference.mass_matrix(q)
        assert mass_gap(M, equations.mass_matrix(q)) < 1e-13
        assert (
            acceleration_gap(M, reference.accelerations(q, u), equations.accelerations(q, u), u)
            < 1e-9
        )
    for body in ("cart", "ball"):
        accelerations = accelerations_of(body)
        assert (
            gap(reference.observe(accelerations, q, u), equations.observe(accelerations, *own))
            < 1e-9
        )
    assert gap(reference.reaction("slide", q, u), equations.reaction("slide", *own)) < 1e-9


def test_a_listed_joint_gets_a_short_name(monkeypatch):
    """Listing is all."""
    monkeypatch.setitem(mg.JOINTS, "ramp", Ramp)
    s = mg.System("ramp")
    s.ramp("slide", s.ground, s.body("b", mass=2.0, inertia=(1, 1, 1)), slope=0.5, stiffness=6.0)
    assert s.equations().accelerations([0.2], [0.0])[0] == pytest.approx(-0.6)


class Tether(mg.Force):
    """A rope of rubber between two places, with no slack: it pulls with ``stiffness`` times its
    length."""

    def __init__(self, name: str, a: Place, b: Place, stiffness: Number, taut: bool = True) -> None:
        self.name, self.a, self.b = name, marker_on(a), marker_on(b)
        self.stiffness, self.taut = vectors.scalar(stiffness, "stiffness"), taut

    def places(self):
        return (self.a, self.b)

    def conservative(self, m):
        pull = self.stiffness * (m.position(self.b) - m.position(self.a))
        return [mg.Wrench(self.a, pull, SX.zeros(3)), mg.Wrench(self.b, -pull, SX.zeros(3))]

    def potential(self, m):
        return self.stiffness * ca.sumsqr(m.position(self.b) - m.position(self.a)) / 2


def test_a_listed_element_is_a_method_and_stands_in_files(monkeypatch, tmp_path):
    """Its class and one entry are all: the builder, files there and back, their schema, messages
    and descriptions follow from the constructor."""
    monkeypatch.setitem(mg.FORCES, "tether", Tether)
    s = pendulum()
    assert "tether" in dir(s)
    assert list(inspect.signature(s.tether).parameters) == ["name", "a", "b", "stiffness", "taut"]
    assert s.tether.__doc__ == inspect.getdoc(Tether)
    k = s.parameter("k", 3.0)
    s.tether("band", "rod", s.ground, stiffness=2 * k, taut=False)
    s.save(tmp_path / "own.yaml")
    text = (tmp_path / "own.yaml").read_text()
    assert re.search(
        r"band: .*type: tether, a: rod, b: ground, stiffness: .*k.*, taut: false", text
    )
    read = mg.load(tmp_path / "own.yaml")
    assert read.snapshot() == s.snapshot()
    assert "band" in read.describe()
    known = {each["properties"]["type"]["const"]: each for each in schema_of("forces")}
    assert known["tether"]["required"] == ["type", "a", "b", "stiffness"]
    assert known["tether"]["properties"]["taut"] == {"type": "boolean"}
    with pytest.raises(mg.ModelError, match=r"^tether 'x': unknown option 'stifness'; did you"):
        s.tether("x", "rod", s.ground, stifness=1.0)
    with pytest.raises(mg.ModelError, match=r"^tether 'x': unknown body or marker 'rot'; did you"):
        s.tether("x", "rot", s.ground, 1.0)
    (tmp_path / "own.yaml").write_text(text.replace("taut: false", "taut: 5"))
    with pytest.raises(mg.ModelError, match=r"band: taut: must be true or false, got 5"):
        mg.load(tmp_path / "own.yaml")
    with pytest.raises(AttributeError, match=r"unknown word 'tethr'; did you mean 'tether'"):
        s.tethr("x", "rod", s.ground, 1.0)


def schema_of(section: str) -> list[dict[str, Any]]:
    return model_schema()["properties"][section]["additionalProperties"]["oneOf"]


def test_a_joint_of_ones_own_closes_a_loop():
    """The cart on its own ramp, held by a second one that is cut: the same motion, one way or the
    other."""
    s = ramp("own")
    s.joint("second", s.ground, "cart", Ramp(0.5), at=(0, 0.2, 0), child_at=(0, 0.2, 0), cut=True)
    equations, plain = s.equations(), ramp("own").equations()
    q, u = plain.assemble({"slide": 0.3, "slide'": -1.0})
    assert len(equations.redundant(q)) == 5
    assert (
        acceleration_gap(
            plain.mass_matrix(q), plain.accelerations(q, u), equations.accelerations(q, u), u
        )
        < 1e-9
    )
    assert equations.observe(lambda m: m.coordinate("second"), q)[0] == pytest.approx(0.3)
