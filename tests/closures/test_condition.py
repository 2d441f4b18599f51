"""Condition is part of the answer: accelerations are right, come with a warning, or are refused."""

from __future__ import annotations

import warnings

import casadi as ca
import numpy as np
import pytest

import mechgraph as mg
from mechgraph.closures.closure import CLOSURES
from mechgraph.closures.expressions import complete_inertia
from mechgraph.errors import ArgumentError, UnsupportedError
from mechgraph.formalisms import dynamics
from mechgraph.kernels import Kernel
from mechgraph.studies.agreement import random_states
from mechgraph.studies.assembly.conversion import convert
from mechgraph.studies.projection import project

JOINT = ["newton-euler", "appell", "lagrange", "kane"]
EVERY = [*JOINT, "absolute"]
BODY = {"mass": 1.0, "com": (0.3, 0.1, -0.5), "inertia": (0.1, 0.2, 0.25)}


def ball_and_hinge() -> mg.System:
    """A hinge at the place of a ball: turning about its axis moves nothing that the ball does not,
    so M is singular everywhere."""
    s = mg.System("ball and hinge", gravity=(0, 0, -9.81))
    body = s.body("body", **BODY)
    s.joint("j", s.ground, body, [mg.rot("x", "hinge"), mg.ball("ball")])
    return s


def gimbal() -> mg.System:
    s = mg.System("gimbal", gravity=(0, 0, -9.81))
    turns = [mg.rot("z", "yaw"), mg.rot("y", "pitch"), mg.rot("x", "roll")]
    s.joint("j", s.ground, s.body("body", **BODY), turns)
    return s


def point_mass_beside_a_constraint() -> mg.System:
    s = mg.System("point mass", gravity=(0, 0, -9.81))
    s.free("free", s.ground, s.body("point", mass=1.0, inertia=0))
    bar = s.body("bar", mass=1.0, inertia=(0.1, 0.1, 0.1))
    s.revolute("hinge", s.ground, bar, axis="y", child_at=(0, 0, 0.5))
    s.coupling("together", {"free.x": 1.0, "hinge": 1.0})
    return s


def parallelogram() -> mg.System:
    s = mg.System("parallelogram", gravity=(0, -9.81, 0))
    bar = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.01, 1 / 12, 1 / 12)}
    A, B, C = (s.body(name, **bar) for name in "ABC")
    s.revolute("qA", s.ground, A, axis="z")
    s.revolute("qB", A, B, axis="z", at=(1, 0, 0))
    s.revolute("qC", s.ground, C, axis="z", at=(1, 0, 0))
    s.revolute("close", B, C, axis="z", at=(1, 0, 0), child_at=(1, 0, 0), cut=True)
    return s


# --- singular -------------------------------------------------------------------------------------


@pytest.mark.parametrize("closure", mg.CLOSURES)
@pytest.mark.parametrize("formalism", EVERY)
@pytest.mark.parametrize(
    ("made", "named"),
    [(ball_and_hinge, "hinge'.*wx"), (point_mass_beside_a_constraint, "wx.*wy.*wz")],
)
def test_what_has_no_inertia_is_refused_by_name(made, named, formalism, closure):
    equations = made().equations(formalism, closure)
    q, u = equations.assemble({})
    batch = np.tile(q, (3, 1)), np.tile(u, (3, 1))
    for call in (equations.accelerations, equations.solve):
        for state in ((q, u), batch):
            with pytest.raises(ArgumentError, match=named):
                call(*state)


@pytest.mark.parametrize("formalism", EVERY)
def test_studies_refuse_it_too(formalism):
    equations = ball_and_hinge().equations(formalism)
    with pytest.raises(ArgumentError, match="hinge'"):
        equations.simulate(0.1)
    with pytest.raises(ArgumentError, match="hinge'"):
        equations.linearize()


def test_machine_code_refuses_it_too():
    equations = ball_and_hinge().equations()
    q = equations.assemble({})[0]
    turned = gimbal().equations()
    turned.accelerations(np.zeros(3), np.zeros(3))
    turned.compile()
    with pytest.raises(ArgumentError, match=r"yaw.*roll"):
        turned.accelerations(np.array([0.3, np.pi / 2, 0.2]), np.zeros(3))
    equations.compile()
    with pytest.raises(ArgumentError, match="hinge'"):
        equations.accelerations(q, np.zeros(len(equations.speeds)))
    assert np.isfinite(equations.mass_matrix(q)).all()


# --- badly conditioned ----------------------------------------------------------------------------


def exact_gimbal(pitch_off: float) -> np.ndarray:
    """u̇ beside gimbal lock by Euler's equations in body axes: ω̇ is regular there, and only the last
    step from ω̇ to the angles divides by the small cosine, which is known exactly."""
    roll, rates = 0.2, np.array([0.1, 0.2, 0.3])
    c, s = np.sin(pitch_off), np.cos(pitch_off)  # cos and sin of the pitch, π/2 − pitch_off
    sr, cr = np.sin(roll), np.cos(roll)
    m, com, inertia = 1.0, np.array(BODY["com"]), np.diag(BODY["inertia"])
    theta = inertia + m * (com @ com * np.eye(3) - np.outer(com, com))
    # ω = E (yaw', pitch', roll') in body axes
    E = np.array([[-s, 0, 1], [sr * c, cr, 0], [cr * c, -sr, 0]])
    dp, dr = rates[1:]
    omega = E @ rates
    Edot = np.array(
        [
            [-c * dp, 0, 0],
            [cr * c * dr - sr * s * dp, -sr * dr, 0],
            [-sr * c * dr - cr * s * dp, -cr * dr, 0],
        ]
    )
    down = -9.81 * np.array([-s, sr * c, cr * c])  # gravity in body axes
    moment = m * np.cross(com, down) - np.cross(omega, theta @ omega)
    a = np.linalg.solve(theta, moment) - Edot @ rates
    pitch = cr * a[1] - sr * a[2]
    yaw_rate = (sr * a[1] + cr * a[2]) / c
    return np.array([yaw_rate, pitch, a[0] + s * yaw_rate])


@pytest.mark.parametrize("formalism", JOINT)
@pytest.mark.parametrize("off", [1e-1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 1e-7, 1e-8, 1e-9])
def test_beside_gimbal_lock_they_are_right_or_warned_of_or_refused(off, formalism):
    equations, expected = gimbal().equations(formalism), exact_gimbal(off)
    state = [0.3, np.pi / 2 - off, 0.2], [0.1, 0.2, 0.3]
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        try:
            udot = equations.accelerations(*state)
        except ArgumentError:
            assert off < 1e-6
            return
    error, limit = np.abs(udot - expected).max() / np.abs(expected).max(), 1e-2 if said else 1e-6
    assert error < limit
    assert bool(said) == (off < 3e-5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        np.testing.assert_allclose(equations.solve(*state)[0], udot, rtol=limit)


def test_small_inertias_and_large_ones_together_are_no_matter_of_condition():
    s = mg.System("watch on a ship", gravity=(0, 0, -9.81))
    ship = s.body("ship", mass=1e6, inertia=(1e8, 1e8, 1e8))
    wheel = s.body("wheel", mass=1e-6, com=(1e-3, 0, 0), inertia=(1e-12, 1e-12, 1e-12))
    s.free("sea", s.ground, ship)
    s.revolute("arbor", ship, wheel, axis="y")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = [s.equations(f).accelerations(*_at_random(s.equations(f))) for f in JOINT]
    for udot in found[1:]:
        np.testing.assert_allclose(udot, found[0], rtol=1e-9, atol=1e-15)


def _at_random(equations: mg.Equations) -> tuple[np.ndarray, np.ndarray]:
    q, random = equations.assemble({"arbor": 0.4})[0], np.random.default_rng(0)
    return q, random.uniform(-1, 1, len(equations.speeds))


# --- near singular positions ----------------------------------------------------------------------


@pytest.mark.parametrize("closure", mg.CLOSURES)
@pytest.mark.parametrize("off", [1e-3, 1e-5, 1e-7, 1e-8, 1e-9, 1e-10])
def test_beside_a_flat_parallelogram_all_ways_agree(off, closure):
    """At speeds that the loop does not allow: then the least difference in rank shows."""
    equations = parallelogram().equations(closure=closure)
    q, u = np.array([off, -off, off]), np.array([1.0, -1.0, 0.5])
    udot, solved = equations.accelerations(q, u), equations.solve(q, u)[0]
    assert np.abs(udot - solved).max() < 1e-6 * np.abs(solved).max()
    A = np.array(equations.constraint_jacobian(q, u))
    b = equations.numeric.evaluate("b", lambda: equations.terms.b, 1, q, u)
    lengths = np.abs(A) @ np.abs(solved) + np.abs(b)
    left = np.abs(A @ solved + b)
    assert (left <= 1e-9 * lengths.max()).all()
    assert left[0] <= 1e-6 * lengths[0]  # the weak row, by itself


def test_rank_does_not_depend_on_units():
    from mechgraph.numerics.rank import rank

    A = np.array([[1.0, 2.0, 0.0], [1e-12, -1e-12, 3e-12], [1e9, 0.0, 0.0]])
    assert rank(A[[0, 2]]) == 2
    assert rank(np.vstack([A[0], 1e-6 * A[0], 1e6 * A[0]])) == 1


def test_forces_that_cancel_are_no_contradiction():
    """Upright and at rest all of a row's terms are rounding, which contradicts nothing."""
    equations = parallelogram().equations()
    q = np.array([np.pi / 2, -np.pi / 2, np.pi / 2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        udot = equations.solve(q, np.zeros(3))[0]
    assert np.abs(udot).max() < 1e-12


# --- massless, in absolute coordinates ------------------------------------------------------------


def rods(n: int, thickness: float) -> mg.System:
    """A chain in space of rods along their z, hinged about x and y by turns."""
    s = mg.System("rods", gravity=(0, 0, -9.81))
    before, at = s.ground, (0, 0, 0)
    for k in range(n):
        inertia = (1 / 12, 1 / 12, thickness)
        rod = s.body(f"rod {k}", mass=1.0, com=(0, 0, -0.5), inertia=inertia)
        s.revolute(f"hinge {k}", before, rod, axis="xy"[k % 2], at=at)
        before, at = rod, (0, 0, -1)
    return s


@pytest.mark.parametrize("closure", mg.CLOSURES)
def test_thin_rods_in_absolute_coordinates(closure):
    """M has a zero for each rod, which the hinges make up for: exactly what joint coordinates
    give."""
    s = rods(6, 0.0)
    joint, absolute = s.equations(), s.equations("absolute", closure)
    random = np.random.default_rng(1)
    q, u = random.uniform(-1, 1, (2, 3, 6))
    there = convert(joint, absolute, q, u, np.zeros(3))
    expected = joint.observe(lambda m: m.acceleration("rod 5"), q, u)
    udot = absolute.numeric.closed.udot
    kernel = absolute.numeric.kernel("expression", lambda: [udot], [1])
    for found in (
        absolute.accelerations(*there),
        absolute.solve(*there)[0],
        kernel(*absolute.numeric.arguments(*there, 0.0, None, None))[0],
    ):
        seen = absolute.observe(lambda m: m.acceleration("rod 5"), *there, udot=found)
        assert np.abs(seen - expected).max() < 1e-11 * np.abs(expected).max()


def test_thin_rods_cost_in_proportion_to_their_number():
    def operations(n: int, thickness: float) -> int:
        equations = rods(n, thickness).equations("absolute")
        s = equations.terms.symbols
        arguments = [s.q, s.u, s.t, s.w, s.p]
        function = ca.Function("f", arguments, [equations.numeric.closed.udot])
        return int(function.n_instructions())

    assert operations(20, 0.0) < 2.2 * operations(10, 0.0)
    assert operations(20, 0.0) < 2.0 * operations(20, 0.01)


@pytest.mark.parametrize("closure", mg.CLOSURES)
@pytest.mark.parametrize("rounding", [0.0, 1e-17, -3e-16, 1e-14])
@pytest.mark.parametrize("unit", [1.0, 1e3])
def test_rounding_does_not_move_what_has_no_inertia(closure, rounding, unit):
    """Two speeds, the second without inertia, and a constraint of the first: whether the second
    stands in it with zero or with what is left where products cancel."""
    M, A, b = ca.SX([[2.0, 0], [0, 0]]), ca.SX([[unit, unit * rounding]]), ca.SX([unit * 0.5])
    solver = CLOSURES[closure].expression(complete_inertia(M, A), A, 1)
    udot = np.array(ca.evalf(solver.solve(ca.SX.zeros(2), b)[0])).ravel()
    np.testing.assert_allclose(udot, [-0.5, 0], rtol=0, atol=1e-8)


def carried_rod() -> mg.System:
    """A rod without inertia about its axis, on a ball at each end: an arm and a mass; it does not
    spin."""
    s = mg.System("carried rod", gravity=(0, 0, -9.81))
    arm = s.body("arm", mass=0.8, com=(0.1, 0, 0), inertia=(0.01, 0.02, 0.02))
    rod = s.body("rod", mass=0.4, com=(0.35, 0, 0), inertia=(0, 0.016, 0.016))
    s.revolute("shoulder", s.ground, arm, axis="y")
    s.spherical("elbow", arm, rod, at=(0.3, 0, 0))
    hand = s.body("hand", mass=0.5, inertia=0)
    s.joint("place", s.ground, hand, [mg.move(axis, axis) for axis in "xyz"])
    end = s.marker("end", rod, (0.7, 0, 0))
    s.constrain("wrist", position=lambda m: m.position(end) - m.position("hand"))
    s.constrain("no spin", velocity=lambda m: m.angular_velocity(rod, in_frame=rod)[0])
    return s


@pytest.mark.parametrize("formalism", JOINT)
def test_a_rod_that_does_not_spin_by_expressions_and_numbers(formalism):
    """Zero in M, or what rounding leaves there; in machine code, too."""
    equations = carried_rod().equations(formalism)
    at = random_states(equations, 5)
    closed, symbols = equations.numeric.closed, equations.terms.symbols
    arguments = [symbols.q, symbols.u, symbols.t, symbols.w, symbols.p]
    kernel = Kernel("motion", arguments, [closed.udot, closed.projected], [1, 1])
    rows = equations.numeric.arguments(at.q, at.u, 0.0, None, None)
    expected = equations.solve(at.q, at.u)[0], np.concatenate([at.q, at.u], axis=1)
    for _ in ("interpreted", "compiled"):
        for mine, wanted in zip(kernel(*rows), expected, strict=True):
            assert np.abs(mine - wanted).max() < 1e-11 * np.abs(wanted).max()
        assert kernel.compile()


# --- sizes ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("formalism", ["kane", "lagrange", "appell", "hamilton"])
def test_what_would_take_minutes_is_refused_at_once(formalism, monkeypatch):
    s = rods(6, 0.01)
    assert s.equations(formalism).terms.M.shape == (6, 6)
    monkeypatch.setattr(dynamics, "LARGEST", 500)
    with pytest.raises(UnsupportedError, match="newton-euler"):
        rods(6, 0.01).equations(formalism)


def test_a_thousand_redundant_couplings():
    s = mg.System("couplings", gravity=(0, 0, -9.81))
    for k in (1, 2):
        bar = s.body(f"bar {k}", mass=1.0, com=(0.1, 0, 0), inertia=(0.1, 0.1, 0.1))
        s.revolute(f"r{k}", s.ground, bar, axis="y")
    for k in range(1000):
        s.coupling(f"c{k}", {"r1": 1.0, "r2": -2.0})
    equations = s.equations()
    udot = equations.accelerations(np.zeros(2), np.zeros(2))
    # (4 J + J) r2'' = 3 τ: virtual work with r1 = 2 r2
    J, torque = 0.1 + 0.1**2, 9.81 * 0.1
    np.testing.assert_allclose(udot, [2 * 3 * torque / (5 * J), 3 * torque / (5 * J)], rtol=1e-9)
    with pytest.raises(UnsupportedError, match="redundant"):
        equations.simulate(0.1)


# --- states to compare at, and the cut ------------------------------------------------------------


def test_random_states_meet_constraints_that_time_moves():
    """Out of reach but at the beginning."""
    s = mg.System("reach", gravity=(0, 0, -9.81))
    arm = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.01, 0.1, 0.1)}
    first, second = s.body("first", **arm), s.body("second", **arm)
    s.revolute("p", s.ground, first, axis="y")
    s.revolute("q", first, second, axis="y", at=(1, 0, 0))
    s.marker("tip", second, (1, 0, 0))
    s.constrain("pull", position=lambda m: m.position("tip")[0] - 1.7 - 2 * m.time)
    equations = s.equations()
    at = random_states(equations, 6)
    assert np.abs(equations.position_violation(at.q, at.t)).max() < 1e-10
    assert np.abs(equations.velocity_violation(at.q, at.u, at.t)).max() < 1e-10
    assert mg.agreement(s, formalisms=["kane", "absolute"]).ok


def test_a_force_decides_nothing_about_the_cut():
    def loop(spring: str | None) -> mg.Equations:
        s = parallelogram_uncut()
        if spring:
            s.torque("drive", spring, 0.3)
        return s.equations()

    first = loop(None)
    for name in ("qA", "qB", "qC", "close"):
        other = loop(name)
        assert other.coordinates[: len(first.coordinates)] == first.coordinates
        assert other.constraints == first.constraints


def parallelogram_uncut() -> mg.System:
    s = mg.System("loop", gravity=(0, -9.81, 0))
    bar = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (0.01, 1 / 12, 1 / 12)}
    A, B, C = (s.body(name, **bar) for name in "ABC")
    s.revolute("qA", s.ground, A, axis="z")
    s.revolute("qB", A, B, axis="z", at=(1, 0, 0))
    s.revolute("qC", s.ground, C, axis="z", at=(1, 0, 0))
    s.revolute("close", B, C, axis="z", at=(1, 0, 0), child_at=(1, 0, 0))
    return s


def held_fast(gravity: tuple[float, ...]) -> mg.System:
    """A linkage that one guide more holds fast."""
    s = mg.System("held", gravity=gravity)
    ends = [(0, 0, 0), (0.8, 0.4, -0.9), (-0.4, 0.3, 0.5)]
    for k, parent in enumerate(["ground", "bar 0", "bar 1"]):
        s.body(f"bar {k}", mass=1.0 + k, com=(0.1 * k, 0.2, -0.1), inertia=(0.3, 0.4, 0.5))
        s.revolute(f"hinge {k}", parent, f"bar {k}", axis=(0, 0.6, 0.8), at=ends[k])
    s.revolute(
        "end", "ground", "bar 2", axis=(0, 0.6, 0.8), at=(0.3, 0.7, -0.8), child_at=(-0.1, 0, -0.4)
    )
    s.coupling("gear", {"hinge 0": 0.7, "hinge 2": -1.8}, constant=0.0)
    return s


@pytest.mark.parametrize("gravity", [(0, 0, 0), (0, 0, -9.81)])
def test_what_cannot_move_agrees_in_that(gravity):
    """Accelerations are measured against what is taken away, not against what is left of them."""
    chosen = ["newton-euler", "appell", "lagrange", "kane", "absolute"]
    found = mg.agreement(held_fast(gravity), formalisms=chosen)
    assert found.ok, found


def test_what_cannot_move_but_does_disagrees(monkeypatch):
    closure = mg.CLOSURES["null-space"]

    class Off(type(closure)):
        def solution(self, *arguments):
            found = super().solution(*arguments)
            return found._replace(udot=found.udot + 1e-7)

    monkeypatch.setitem(mg.CLOSURES, "null-space", Off(closure.factor, closure.expression))
    found = mg.agreement(held_fast((0, 0, -9.81)), formalisms=["newton-euler", "kane"])
    assert {row.closure for row in found.rows if not row.ok} == {"null-space"}


def test_agreement_of_accelerations_that_contradict_each_other_is_refused():
    """A compromise is another one in each set of coordinates."""
    s = held_fast((0, 0, -9.81))
    s.marker("place", "bar 1", (0.4, -0.5, -0.4))
    s.constrain("row", acceleration=lambda m: m.acceleration("place")[0] - 1.0)
    with pytest.raises(mg.ArgumentError, match="contradict each other in their accelerations"):
        mg.agreement(s)


@pytest.mark.parametrize("inertia", [0, (0.1, 0.1, 0)])
@pytest.mark.parametrize("formalism", [f for f in mg.FORMALISMS if f not in ("hamilton", "nodes")])
def test_free_points_and_thin_rods_are_refused_by_name(formalism, inertia):
    """Their pivots are zeros of the pattern, not only numbers."""
    s = mg.System("point", gravity=(0, 0, -9.81))
    s.free("f", s.ground, s.body("b", mass=1.0, inertia=inertia))
    equations = s.equations(formalism)
    q, u = equations.assemble({})
    named = "point b" if formalism == "points" else r"\.wz'"
    for ask in (equations.accelerations, equations.solve, lambda q, u: equations.linearize((q, u))):
        with pytest.raises(ArgumentError, match=f"nothing that moves with .*{named}.* has inertia"):
            ask(q, u)
    if formalism == "lagrange":
        with pytest.warns(UserWarning, match=r"\.wz' has inertia"):
            equations.rollout(q, u, step=0.01, steps=2)


def held_by_a_distance() -> mg.System:
    """Its row has no value at a place that a constraint of one's own divides by zero at."""
    s = mg.System("held", gravity=(0, 0, -9.81))
    p = s.parameter("p", 1.0)
    s.free("h", s.ground, s.body("b", mass=1.0, com=(0.1, 0, -0.5), inertia=(0.1, 0.1, 0.1)))
    s.marker("tip", "b", at=(0, 0, 1))
    s.constrain("row", position=lambda m: ca.sumsqr(m.position("tip")) / (2 * p) - p / 2)
    return s


@pytest.mark.parametrize("closure", CLOSURES)
@pytest.mark.parametrize("formalism", ["newton-euler", "absolute"])
def test_a_constraint_without_a_value_is_named_and_never_raises_raw(formalism, closure):
    """No factor and no singular values are asked for of what is no number."""
    equations = held_by_a_distance().equations(formalism, closure)
    q, u = equations.assemble({})
    none = {"parameters": {"p": 0.0}}
    calls = [equations.accelerations, equations.solve, equations.constraint_forces]
    for ask in (*calls, equations.mobility, equations.redundant):
        with pytest.raises(ArgumentError, match="constraint 'row' has no value here"):
            ask(q, u, **none)
    with pytest.raises(ArgumentError, match="'row' is left at"):
        equations.rollout(q, u, step=0.01, steps=2, **none)
    for study in (equations.simulate, lambda span, at, **rest: equations.linearize(at, **rest)):
        with pytest.raises(mg.errors.MechgraphError, match="row"):
            study(0.1, (q, u), **none)


def test_states_without_a_value_leave_the_others_of_a_batch_alone():
    equations = held_by_a_distance().equations()
    q, u = equations.assemble({})
    off, p = q + 1e-3 * np.arange(len(q)), np.array([[1.0], [0.0]])
    alone = project(equations, off[None], u[None], np.zeros(1), p[:1])[0]
    both = project(equations, np.tile(off, (2, 1)), np.tile(u, (2, 1)), np.zeros(2), p)[0]
    assert np.allclose(both[0], alone[0], rtol=0, atol=1e-12)
    assert np.isfinite(both).all()


@pytest.mark.parametrize("formalism", ["absolute", "points", "kane"])
def test_a_spring_of_length_zero_is_named_beside_constraints(formalism):
    """The force that has no value, not what has no inertia."""
    s = mg.System("spring", gravity=(0, 0, -9.81))
    s.body("b", mass=1.0, inertia=(1, 1, 1))
    s.joint("p", s.ground, "b", [mg.move("x", "x"), mg.move("z", "z")])
    s.coupling("held", {"p.x": 1.0, "p.z": 0.5})
    s.spring_damper("k", "b", s.ground, stiffness=100.0, length=0.5, damping=1.0)
    equations = s.equations(formalism)
    q, u = equations.assemble({})
    for ask in (
        lambda: equations.simulate(0.5),
        lambda: equations.accelerations(q, u),
        lambda: equations.solve(q, u),
    ):
        with (
            warnings.catch_warnings(),
            pytest.raises(ArgumentError, match="spring_damper 'k' has no value"),
        ):
            warnings.simplefilter("ignore")
            ask()


@pytest.mark.parametrize("seed", range(3))
def test_agreement_of_what_has_no_inertia_is_refused(seed):
    """A thin rod may spin about its own axis: how, only rounding tells."""
    s = mg.System("rod", gravity=(1.422, -4.018, -0.347))
    s.body("rod", mass=1.865, inertia=(0.0, 0.02, 0.02))
    turned = [((-0.48, 0.8, -0.36), 1.982), ((0.0, 0.6, -0.8), -1.483)]
    s.free("place", s.ground, "rod", child_at=(0.2, 0.5, 0.1), child_orientation=turned)
    s.prismatic("guide", s.ground, s.body("block", mass=1.0, inertia=0), axis="x")
    s.constrain("speed", velocity=lambda m: m.velocity("block")[0] - 1)
    with pytest.raises(mg.ArgumentError, match='singular: nothing that moves with "place'):
        mg.agreement(s, 2, seed, formalisms=["newton-euler"])
