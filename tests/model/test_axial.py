"""The joint family of one partial joint and two equations, each against the joint of the tree that
it is."""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mechgraph as mg
from measure import IN_SPACE, gap, placed

FORMALISMS = pytest.mark.parametrize("formalism", IN_SPACE)
AXIS = (0.36, -0.48, 0.8)
AT, CHILD_AT = (0.5, 0.1, 0.2), (-0.2, 0.3, 0.1)


def bodies(name: str) -> tuple[mg.System, mg.Body, mg.Body]:
    system = mg.System(name, gravity=(0.3, -1.0, -9.81))
    A = system.body("A", mass=2.0, com=(0.1, 0.2, 0.3), inertia=(0.3, 0.4, 0.5))
    B = system.body("B", mass=1.0, com=(-0.1, 0.05, 0.2), inertia=(0.2, 0.3, 0.25))
    system.free("first", system.ground, A)
    return system, A, B


def with_joint(kind: str, **options) -> mg.System:
    """B hangs on A by a joint of the tree."""
    system, A, B = bodies(kind)
    getattr(system, kind)("joint", A, B, axis=AXIS, at=AT, child_at=CHILD_AT, **options)
    return system


def with_constraint(kind: str | Callable[..., mg.Constraint], **options) -> mg.System:
    """A and B are both free, and the joint is a constraint."""
    system, A, B = bodies(str(kind))
    system.free("second", system.ground, B)
    a, b = system.marker("a", A, AT), system.marker("b", B, CHILD_AT)
    if callable(kind):
        system.add(kind("joint", a, b, AXIS, **options))
    else:
        getattr(system, kind)("joint", a, b, axis=AXIS, **options)
    return system


def drive(system: mg.System) -> mg.System:
    system.torque(
        "motor",
        "joint",
        lambda m: -(0.4 * mg.sin(m.time) + 3 * m.coordinate("joint") + 0.5 * m.speed("joint")),
    )
    return system


def law(t, angle, rate):
    return 0.4 * mg.sin(t) + 3 * angle + 0.5 * rate


FAMILY: dict[str, tuple[Callable[[], mg.System], Callable[[], mg.System]]] = {
    "fixed ideal": (lambda: with_joint("revolute"), lambda: with_constraint("fixed_ideal_joint")),
    "free ideal": (lambda: with_joint("cylindrical"), lambda: with_constraint("free_ideal_joint")),
    "free slide": (lambda: with_joint("prismatic"), lambda: with_constraint("free_slide_joint")),
    "spring": (
        lambda: with_joint("cylindrical", stiffness=[0, 50.0], damping=[0, 2.0]),
        lambda: with_constraint("spring_ideal_joint", stiffness=50.0, damping=2.0),
    ),
    "controlled": (
        lambda: drive(with_joint("revolute")),
        lambda: with_constraint("fixed_controlled_joint", law=law),
    ),
}


def seen(m: mg.Motion) -> ca.SX:
    return ca.vertcat(*(f(b) for b in ("A", "B") for f in (m.acceleration, m.angular_acceleration)))


def state_of(equations: mg.Equations, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    q, u = (
        random.uniform(-0.8, 0.8, len(equations.coordinates)),
        random.standard_normal(len(equations.speeds)),
    )
    q[3:7] = Rotation.random(random_state=seed).as_quat(scalar_first=True)
    return q, u


def as_free(
    jointed: mg.Equations, q: np.ndarray, u: np.ndarray, t: float = 0.0
) -> tuple[np.ndarray, np.ndarray]:
    """The same state with B on a free joint of its own."""
    turn = Rotation.from_matrix(jointed.rotation("B", q, t)).as_quat(scalar_first=True)
    twist = jointed.observe(
        lambda m: ca.vertcat(m.velocity("B"), m.angular_velocity("B", in_frame="B")), q, u, t
    )
    return np.concatenate([q[:7], jointed.position("B", q, t), turn]), np.concatenate(
        [u[:6], twist]
    )


@pytest.mark.sampled(3)
@FORMALISMS
@pytest.mark.parametrize("kind", FAMILY)
def test_each_is_a_joint_of_the_tree(kind, formalism):
    """Accelerations of both bodies, and the force and moment between them."""
    tree, family = (make() for make in FAMILY[kind])
    jointed, equations = tree.equations(), family.equations(formalism)
    q, u = state_of(jointed)
    free = as_free(jointed, q, u)
    state = placed(equations, *free)
    assert np.abs(equations.position_violation(state[0])).max() < 1e-12
    assert np.abs(equations.velocity_violation(*state)).max() < 1e-12
    assert gap(jointed.observe(seen, q, u), equations.observe(seen, *state)) < 1e-10
    # The reaction of a joint of the tree includes what springs and motors in it do.
    assert gap(jointed.reaction("joint", q, u), equations.reaction("joint", *state)) < 1e-10


@pytest.mark.parametrize("kind", FAMILY)
def test_each_moves_as_the_joint_of_the_tree(kind):
    tree, family = (make() for make in FAMILY[kind])
    jointed, equations = tree.equations(), family.equations()
    q, u = state_of(jointed, seed=1)
    run = jointed.simulate(0.5, (q, u), rtol=1e-10, step=0.1)
    other = equations.simulate(0.5, as_free(jointed, q, u), rtol=1e-10, step=0.1)
    ends = [
        r.observe(lambda m: ca.vertcat(m.position("B"), m.velocity("B")))[-1] for r in (run, other)
    ]
    assert np.abs(ends[0] - ends[1]).max() < 1e-7
    assert other.violation.max() < 1e-11
    assert np.abs(other.imbalance).max() < 1e-7
    assert np.abs(run.supplied - other.supplied).max() < 1e-7
    assert np.abs(run.dissipated - other.dissipated).max() < 1e-7


# --- servos ---------------------------------------------------------------------------------------


def test_a_servo_by_its_angle_is_a_driven_joint():
    """φ(t) at position level: the motion of a joint that time drives, and the power that it
    takes."""
    system, A, B = bodies("driven")
    system.joint(
        "joint", A, B, [mg.rot(AXIS, 0.3 * mg.sin(2 * system.time))], at=AT, child_at=CHILD_AT
    )
    driven = system.equations()
    servo, A, B = bodies("servo")
    servo.free("second", servo.ground, B)
    servo.fixed_servo_joint(
        "joint",
        servo.marker("a", A, AT),
        servo.marker("b", B, CHILD_AT),
        axis=AXIS,
        angle=0.3 * mg.sin(2 * servo.time),
    )
    equations = servo.equations()
    q, u = state_of(driven, seed=2)
    t = 0.4
    state = as_free(driven, q, u, t)
    assert gap(driven.observe(seen, q, u, t), equations.observe(seen, *state, t)) < 1e-10
    assert gap(driven.reaction("joint", q, u, t), equations.reaction("joint", *state, t)) < 1e-10
    runs = [
        driven.simulate(1.0, (q, u), rtol=1e-10, step=0.1),
        equations.simulate(1.0, as_free(driven, q, u), rtol=1e-10, step=0.1),
    ]
    assert np.abs(runs[0].supplied - runs[1].supplied).max() < 1e-7
    assert np.abs(runs[0].supplied).max() > 0.01
    assert np.abs(runs[1].imbalance).max() < 1e-7


def test_a_servo_by_its_acceleration():
    """φ̈ = −4 φ at acceleration level: the angle is a cosine, though nothing but the start says
    where it is."""
    system = with_constraint("fixed_servo_joint", law=lambda t, angle, rate: -4 * angle)
    equations, jointed = system.equations(), with_joint("revolute").equations()
    q, u = state_of(jointed, seed=3)
    q[7], u[6] = 0.5, 0.0
    run = equations.simulate(2.0, as_free(jointed, q, u), rtol=1e-10, step=0.1)
    joint = system.constraints["joint"]
    angle = run.observe(joint.angle)[:, 0]
    assert np.abs(angle - 0.5 * np.cos(2 * run.time)).max() < 1e-7
    assert np.abs(run.imbalance).max() < 1e-7
    assert np.abs(run.supplied).max() > 0.01


@FORMALISMS
def test_the_power_of_a_servo(formalism):
    """−M φ̇, with M the moment on A about the axis; nothing else works."""
    system = with_constraint("fixed_servo_joint", law=lambda t, angle, rate: 1.0 - angle)
    equations, jointed = system.equations(formalism), with_joint("revolute").equations()
    q, u = state_of(jointed, seed=4)
    state = placed(equations, *as_free(jointed, q, u))
    power = rate_of_energy(equations, state)
    moment = equations.reaction("joint", *state)[3:] @ equations.observe(
        lambda m: m.axis("a", AXIS), *state
    )
    assert abs(power - moment * u[6]) < 1e-7 * abs(power)  # differences, of steps of 1e-5


def rate_of_energy(equations: mg.Equations, state) -> float:
    """d(T + V)/dt by central differences of the energy along u̇."""
    # with the turns that the law asks for
    q, u = equations.numeric.arguments(*state, 0.0, None, None)[:2]
    udot, qdot, h = equations.solve(q, u)[0], equations.coordinate_rates(q, u), 1e-5
    ends = [
        equations.kinetic_energy(q + s * h * qdot, u + s * h * udot)
        + equations.potential_energy(q + s * h * qdot)
        for s in (1, -1)
    ]
    return float(np.squeeze(ends[0] - ends[1])) / (2 * h)


# --- joints of one's own --------------------------------------------------------------------------


class Screw(mg.FreeIdealJoint):
    """ν = p φ, and no effort beside what holds it."""

    def axial(self, m):
        return mg.Held(self.shift(m) - 0.3 * self.angle(m))


class Weld(mg.AxialJoint):
    """ν = 0, φ = 0."""

    def axial(self, m):
        return mg.Held(self.shift(m))

    def rotary(self, m):
        return mg.Held(self.angle(m))


class SpringSlide(mg.FreeSlideJoint):
    """F = c ν + d ν̇, φ = 0."""

    passive = True

    def axial(self, m):
        shift = self.shift(m)
        return mg.Acts(elastic=50 * shift, potential=25 * shift**2, other=2 * self.shift_rate(m))


class RollingScrew(mg.FreeIdealJoint):
    """ν̇ = p φ̇, held at velocity level."""

    def axial(self, m):
        return mg.Held(self.shift_rate(m) - 0.3 * self.angle_rate(m), "velocity")


class AcceleratedScrew(mg.FreeIdealJoint):
    """ν̈ = p φ̈, held at acceleration level."""

    def axial(self, m):
        return mg.Held(
            self.shift_acceleration(m) - 0.3 * self.angle_acceleration(m), "acceleration"
        )


OWN: dict[str, tuple[Callable[[], mg.System], type[mg.AxialJoint]]] = {
    "screw": (lambda: with_joint("screw", pitch=0.3), Screw),
    "screw by its rate": (lambda: with_joint("screw", pitch=0.3), RollingScrew),
    "screw by its acceleration": (lambda: with_joint("screw", pitch=0.3), AcceleratedScrew),
    "spring slide": (lambda: with_joint("prismatic", stiffness=50.0, damping=2.0), SpringSlide),
}


@pytest.mark.sampled(3)
@FORMALISMS
@pytest.mark.parametrize("kind", OWN)
def test_a_joint_in_ten_lines(kind, formalism):
    make, own = OWN[kind]
    jointed, equations = make().equations(), with_constraint(own).equations(formalism)
    q, u = state_of(jointed, seed=5)
    state = placed(equations, *as_free(jointed, q, u))
    assert np.abs(equations.velocity_violation(*state)).max() < 1e-11
    assert gap(jointed.observe(seen, q, u), equations.observe(seen, *state)) < 1e-10
    assert gap(jointed.reaction("joint", q, u), equations.reaction("joint", *state)) < 1e-10


def test_a_weld_makes_one_body():
    fixed, A, B = bodies("fixed")
    fixed.fixed("joint", A, B, at=AT, child_at=CHILD_AT)
    jointed, equations = fixed.equations(), with_constraint(Weld).equations()
    q, u = state_of(jointed, seed=6)
    state = as_free(jointed, q, u)
    assert gap(jointed.observe(seen, q, u), equations.observe(seen, *state)) < 1e-10


@pytest.mark.sampled(3)
@pytest.mark.parametrize("kind", [Screw, SpringSlide, "fixed_servo_joint"])
def test_every_formalism_agrees(kind):
    options = {} if callable(kind) else {"law": lambda t, angle, rate: mg.sin(t) - angle}
    found = mg.agreement(with_constraint(kind, **options), states=3)
    assert found.ok, str(found)


def test_assembly_keeps_the_axes_the_right_way_round():
    """Parallel axes also hold with one of them turned over, which nobody meant."""
    system = with_constraint("fixed_ideal_joint")
    equations = system.equations()
    turn = Rotation.from_rotvec([3.0, 0.2, 0.1]).as_quat(scalar_first=True)
    q, u = equations.assemble({}, guess={f"second.q{k}": turn[k] for k in range(4)})
    axes = equations.observe(lambda m: ca.vertcat(m.axis("a", AXIS), m.axis("b", AXIS)), q, u)
    assert abs(axes[:3] @ axes[3:] - 1) < 1e-12


def test_a_servo_knows_only_the_time_of_its_system():
    with pytest.raises(mg.ModelError, match="not a symbol of this system"):
        with_constraint("fixed_servo_joint", angle=mg.sin(ca.SX.sym("t"))).equations().assemble()


def test_a_servo_takes_one_of_two_laws():
    for options in ({}, {"law": law, "angle": 1.0}):
        with pytest.raises(mg.ModelError, match="either law="):
            with_constraint("fixed_servo_joint", **options).equations()
    with pytest.raises(mg.ModelError, match="law must be a function"):
        with_constraint("fixed_controlled_joint", law=3.0).equations()
