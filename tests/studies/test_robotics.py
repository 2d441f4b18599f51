"""Quantities of robotics against Pinocchio, against differences, and in one chart against another;
inverse kinematics by what it reaches."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pinocchio as pin
import pytest
from scipy.integrate import simpson
from scipy.spatial.transform import Rotation

import mechgraph as mg
from mechgraph.studies.assembly.conversion import convert
from pinocchio_models import ROBOTS, Twin, random_model, robot_model

AXES = {"world": pin.LOCAL_WORLD_ALIGNED, "body": pin.LOCAL}


def error(own: np.ndarray, other: np.ndarray) -> float:
    """Relative to the largest entry."""
    assert own.shape == other.shape
    return float(np.abs(own - other).max() / max(np.abs(other).max(), 1e-300))


# --- against Pinocchio ----------------------------------------------------------------------------


def differences(twin: Twin, seed: int) -> dict[str, float]:
    """Every quantity at a random state, relative; of the last body, which is the farthest out."""
    model, data, eqs, own = twin.model, twin.data, twin.equations, twin.equations.robotics
    Q, V = twin.state(seed)
    B, rate, u = twin.speeds_of(Q, V)
    q, k = twin.coordinates(Q), model.njoints - 1
    place, out = twin.names[k], {}
    udot = np.random.default_rng(seed).uniform(-1, 1, model.nv)
    pin.computeJointJacobians(model, data, Q)
    pin.computeJointJacobiansTimeVariation(model, data, Q, V)
    pin.forwardKinematics(model, data, Q, V, B @ udot + rate @ u)
    for axes, frame in AXES.items():
        J = pin.getJointJacobian(model, data, k, frame)
        rates = pin.getJointJacobianTimeVariation(model, data, k, frame) @ B + J @ rate
        a = pin.getClassicalAcceleration(model, data, k, frame).vector
        v = pin.getVelocity(model, data, k, frame).vector
        out[f"J {axes}"] = error(eqs.frame_jacobian(place, q, frame=axes), J @ B)
        out[f"J' {axes}"] = error(own.frame_jacobian_rate(place, q, u, frame=axes), rates)
        out[f"v {axes}"] = error(own.spatial_velocity(place, q, u, frame=axes), v)
        out[f"a {axes}"] = error(own.spatial_acceleration(place, q, u, udot, frame=axes), a)
    M = pin.crba(model, data, Q)
    M = np.triu(M) + np.triu(M, 1).T
    J = pin.getJointJacobian(model, data, k, pin.LOCAL_WORLD_ALIGNED)[:3] @ B
    mobility = J @ np.linalg.solve(B.T @ M @ B, J.T)
    inertia = np.linalg.pinv(mobility, rcond=1e-12, hermitian=True)
    if np.linalg.cond(mobility) < 1e6:  # its inverse is known to that, and no better
        out["inertia"] = error(own.operational_inertia(place, q, part="position"), inertia)
    C, bias = pin.computeCoriolisMatrix(model, data, Q, V), pin.nonLinearEffects(model, data, Q, V)
    gravity = pin.computeGeneralizedGravity(model, data, Q)
    out["C"] = error(own.coriolis_matrix(q, u), B.T @ (C @ B + M @ rate))
    out["bias"] = error(own.bias_efforts(q, u), B.T @ (bias + M @ (rate @ u)))
    out["gravity"] = error(own.gravity_efforts(q), B.T @ gravity)
    out["centre"] = error(own.centre_of_mass(q), pin.centerOfMass(model, data, Q))
    J = pin.jacobianCenterOfMass(model, data, Q) @ B
    out["J of the centre"] = error(own.centre_of_mass_jacobian(q), J)
    pin.dccrba(model, data, Q, V)
    out["momentum matrix"] = error(own.momentum_matrix(q), data.Ag @ B)
    rates = data.dAg @ B + data.Ag @ rate
    out["momentum matrix'"] = error(own.momentum_matrix_rate(q, u), rates)
    out["momentum bias"] = error(own.momentum_bias(q, u), rates @ u)
    h = pin.computeCentroidalMomentum(model, data, Q, V).vector
    out["momentum"] = error(own.momentum(q, u), h)
    return out


@pytest.mark.parametrize("robot", ROBOTS)
def test_public_robots_agree_with_pinocchio(robot):
    found = differences(Twin(robot_model(robot)), seed=3)
    assert max(found.values()) < 1e-10, found


@pytest.mark.parametrize("seed", range(8))
def test_random_trees_agree_with_pinocchio(seed):
    found = differences(Twin(random_model(seed, floating=seed % 2 == 0)), seed)
    assert max(found.values()) < 1e-10, found


def test_batches_and_out_are_single_calls():
    twin = Twin(random_model(5))
    own, eqs = twin.equations.robotics, twin.equations
    random = np.random.default_rng(0)
    q = eqs.terms.chart.normalized(random.uniform(-1, 1, (2, 3, len(eqs.coordinates))))
    u, place = random.uniform(-1, 1, (2, 3, len(eqs.speeds))), twin.names[-1]
    calls = {
        "J": lambda q, u, **more: own.frame_jacobian(place, q, frame="body", **more),
        "J'": lambda q, u, **more: own.frame_jacobian_rate(place, q, u, **more),
        "A": lambda q, u, **more: own.momentum_matrix(q, **more),
        "A'": lambda q, u, **more: own.momentum_matrix_rate(q, u, **more),
        "c": lambda q, u, **more: own.centre_of_mass_jacobian(q, **more),
        "C": lambda q, u, **more: own.coriolis_matrix(q, u, **more),
    }
    for call in calls.values():
        batch = call(q, u, threads=2)
        out = np.zeros_like(batch)
        assert call(q, u, out=out) is out
        single = np.array(
            [[call(x, y) for x, y in zip(*row, strict=True)] for row in zip(q, u, strict=True)]
        )
        assert np.allclose(batch, single, atol=1e-14)
        assert np.array_equal(out, batch)
    pose = own.operational_inertia(place, q)
    assert np.allclose(pose[1, 2], own.operational_inertia(place, q[1, 2]), rtol=1e-8)
    assert own.manipulability(place, q).shape == (2, 3)


# --- other speeds, other charts, loops ------------------------------------------------------------


def platform() -> mg.System:
    """A closed chain in space with a ball joint walked backwards, a base that time drives, a
    parameter, and a speed of the user's own."""
    s = mg.System("platform", gravity=(0.3, 0, -9.81))
    size = s.parameter("size", 1.2)
    A, B, C = (
        s.body(n, mass=m, com=(0.3, 0.1, -0.2), inertia=(0.2, 0.3, 0.25, 0.01, 0.02, 0.0))
        for n, m in (("A", 1.0), ("B", 2.0), ("C", 0.7))
    )
    shaker = s.frame("shaker")
    s.joint("shake", s.ground, shaker, [mg.rot("x", 0.3 * mg.sin(s.time)), mg.move("y", s.time**2)])
    s.universal("first", shaker, A)
    s.spherical("ball", B, A, at=(0.1, 0.2, 0.3), child_at=(size, 0, 0))
    s.revolute("last", B, C, axis=(0.6, 0, 0.8), at=(0, size, 0))
    s.distance("rod", s.marker("end", C, (0.5, 0, 0.1)), s.marker("post", s.ground, (2, 1, 0)), 1.6)
    s.speed("turning", lambda m: m.angular_velocity(C, in_frame=C)[2])
    return s


FORMALISMS = ("newton-euler", "kane", "hamilton", "absolute", "points")
START = {"first.first": 0.2, "last": 0.4, "last'": 0.7, "ball.wx": 0.5}
GIVEN = {"t": 0.4, "parameters": {"size": 1.1}}


@pytest.fixture(scope="module")
def charts():
    """The same state in several charts."""
    system, out = platform(), {}
    first = system.equations("newton-euler")
    state = first.assemble(START, **GIVEN)
    for name in FORMALISMS:
        eqs = system.equations(name)
        out[name] = eqs, *convert(first, eqs, *state, **GIVEN)
    return out


def moved(eqs: mg.Equations, q: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
    """Coordinates after h, by one step of Runge and Kutta with the speeds as they are."""
    t, p = GIVEN["t"], GIVEN["parameters"]
    k1 = eqs.coordinate_rates(q, u, t, p)
    k2 = eqs.coordinate_rates(q + h / 2 * k1, u, t + h / 2, p)
    k3 = eqs.coordinate_rates(q + h / 2 * k2, u, t + h / 2, p)
    k4 = eqs.coordinate_rates(q + h * k3, u, t + h, p)
    return eqs.terms.chart.normalized(q + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4))


def slope(eqs: mg.Equations, q: np.ndarray, u: np.ndarray, function, h: float = 2e-3) -> np.ndarray:
    """d/dt along the motion with u̇ = 0, by differences of eighth order."""
    out, p = 0.0, GIVEN["parameters"]
    for k, weight in ((1, 4 / 5), (2, -1 / 5), (3, 4 / 105), (4, -1 / 280)):
        ahead, behind = (
            function(moved_by(eqs, q, u, sign * k * h), GIVEN["t"] + sign * k * h, p)
            for sign in (1, -1)
        )
        out = out + weight / h * (ahead - behind)
    return np.asarray(out)


def moved_by(eqs: mg.Equations, q: np.ndarray, u: np.ndarray, h: float) -> np.ndarray:
    """The same by many small steps."""
    for _ in range(10):
        q = moved(eqs, q, u, h / 10)
    return q


@pytest.mark.parametrize("formalism", FORMALISMS)
@pytest.mark.parametrize("frame", ["world", "body"])
def test_jacobians_are_slopes_and_have_their_rates(charts, formalism, frame):
    eqs, q, u = charts[formalism]
    own, still = eqs.robotics, np.zeros(len(u))
    J = eqs.frame_jacobian("end", q, **GIVEN, frame=frame)
    v = own.spatial_velocity("end", q, u, **GIVEN, frame=frame)
    carried = own.spatial_velocity("end", q, still, **GIVEN, frame=frame)
    driven = np.abs(carried).max() > 0.1  # by time; where the base is closed, by constraints
    assert driven == (formalism not in ("absolute", "points"))
    assert error(J @ u + carried, v) < 1e-12
    rates = own.frame_jacobian_rate("end", q, u, **GIVEN, frame=frame)
    found = slope(eqs, q, u, lambda x, t, p: eqs.frame_jacobian("end", x, t, p, frame))
    assert error(rates, found) < 1e-9


@pytest.mark.parametrize("formalism", ["newton-euler", "kane", "hamilton", "absolute"])
def test_the_coriolis_matrix_is_half_of_the_rate_of_m(charts, formalism):
    eqs, q, u = charts[formalism]
    C = eqs.robotics.coriolis_matrix(q, u, **GIVEN)
    rate = slope(eqs, q, u, eqs.mass_matrix)
    assert np.abs(C + C.T - rate).max() < 1e-9 * max(1.0, np.abs(C).max())


@pytest.mark.parametrize("formalism", FORMALISMS)
def test_bias_momentum_and_inertia_are_the_same_in_every_chart(charts, formalism):
    eqs, q, u = charts[formalism]
    first, q_1, u_1 = charts["newton-euler"]
    assert (
        error(eqs.robotics.momentum(q, u, **GIVEN), first.robotics.momentum(q_1, u_1, **GIVEN))
        < 1e-11
    )
    for part in ("pose", "position", "rotation"):
        one, two = (
            e.robotics.operational_inertia("end", x, **GIVEN, part=part)
            for e, x in ((eqs, q), (first, q_1))
        )
        assert error(one, two) < 1e-8
    A = eqs.robotics.momentum_matrix(q, **GIVEN)
    still = eqs.robotics.momentum(q, 0 * u, **GIVEN)
    assert error(A @ u + still, eqs.robotics.momentum(q, u, **GIVEN)) < 1e-11
    if formalism != "points":
        needed = eqs.efforts(q, u, 0 * u, **GIVEN)
        assert error(eqs.robotics.bias_efforts(q, u, **GIVEN), needed) < 1e-11


def test_points_have_no_coriolis_matrix(charts):
    """Particles have inertia along speeds that no rigid body can have."""
    eqs, q, u = charts["points"]
    for call in (eqs.robotics.coriolis_matrix, eqs.robotics.bias_efforts):
        with pytest.raises(mg.UnsupportedError, match=r"points.*joint coordinates"):
            call(q, u, **GIVEN)


def test_christoffel():
    """With q̇ = u: C_ij = ½ Σ_k (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i) u_k."""
    twin = Twin(robot_model("ur"))
    eqs, random = twin.equations, np.random.default_rng(0)
    q, u = random.uniform(-1, 1, (2, 6))
    slopes = eqs.jacobian("mass_matrix", "q", q).reshape(6, 6, 6)  # ∂M_ij/∂q_k, M column by column
    symbols = (slopes + np.swapaxes(slopes, 1, 2) - np.moveaxis(slopes, 2, 0)) / 2
    assert error(eqs.robotics.coriolis_matrix(q, u), symbols @ u) < 1e-12


def test_admissible_speeds_are_what_the_constraints_leave(charts):
    eqs, q, _ = charts["absolute"]
    S = eqs.robotics.admissible_speeds(q, **GIVEN)
    A = eqs.constraint_jacobian(q, np.zeros(len(eqs.speeds)), **GIVEN)
    assert S.shape[1] == eqs.mobility(q, **GIVEN) == 5
    assert np.abs(A @ S).max() < 1e-12
    assert np.allclose(S.T @ S, np.eye(5))
    J = eqs.frame_jacobian("end", q, **GIVEN)
    assert np.allclose(eqs.frame_jacobian("end", q, **GIVEN, admissible=True), J @ S)


def test_operational_inertia_is_force_by_acceleration(charts):
    """A force at the place changes its acceleration by Λ⁻¹, constraints and all."""
    system, (eqs, q, u) = platform(), charts["newton-euler"]
    push = [system.input(f"F{axis}") for axis in "xyz"]
    system.force("push", "end", push)
    pushed = system.equations("newton-euler")
    inertia = pushed.robotics.operational_inertia("end", q, **GIVEN, part="position")
    a = [
        pushed.observe("end''", q, u, GIVEN["t"], F, GIVEN["parameters"])
        for F in np.vstack([np.zeros(3), np.eye(3)])
    ]
    mobility = np.array(a[1:]).T - a[0][:, None]
    assert error(mobility @ inertia @ mobility, mobility) < 1e-9  # the rod leaves two directions
    free = pushed.robotics.operational_inertia("end", q, **GIVEN, constrained=False)
    J = eqs.frame_jacobian("end", q, **GIVEN)
    M = eqs.mass_matrix(q, **GIVEN)
    assert error(free, np.linalg.inv(J @ np.linalg.solve(M, J.T))) < 1e-9


def test_manipulability():
    """Of two bars in a plane it is l₁ l₂ |sin q₂| (Yoshikawa)."""
    s = mg.System("two bars")
    A, B = (s.body(n, mass=1.0, inertia=(0.1, 0.1, 0.1)) for n in "AB")
    s.revolute("a", s.ground, A)
    s.revolute("b", A, B, at=(1.5, 0, 0))
    s.marker("tip", B, (0.7, 0, 0))
    q = np.random.default_rng(0).uniform(-3, 3, (20, 2))
    found = s.equations().robotics.manipulability("tip", q)
    assert np.allclose(found, 1.5 * 0.7 * np.abs(np.sin(q[:, 1])), rtol=1e-12)


def test_robotics_survives_copies():
    eqs = Twin(random_model(3)).equations
    q = np.array(eqs.terms.chart.reference)
    J = eqs.frame_jacobian("body 3", q)
    for other in (copy.deepcopy(eqs), pickle.loads(pickle.dumps(eqs))):
        assert np.array_equal(other.frame_jacobian("body 3", q), J)


# --- energies, power and work by name -------------------------------------------------------------


def machine() -> mg.System:
    """A four-bar with a motor, a damper in a joint, a spring, a servo, and a driven base."""
    s = mg.System("machine", gravity=(0, 0, -9.81))
    lengths = zip("ABC", (1, 2, 2), strict=True)
    A, B, C = (
        s.body(n, mass=1.0, com=(0.5 * x, 0, 0), inertia=(0.01, 0.1, 0.1)) for n, x in lengths
    )
    base = s.frame("base")
    s.joint("lift", s.ground, base, [mg.move("z", 0.1 * mg.sin(3 * s.time))])
    s.revolute("first", base, A, axis="y")
    s.revolute("second", A, B, axis="y", at=(1, 0, 0), damping=0.3)
    s.revolute("third", base, C, axis="y", at=(2, 0, 0))
    s.revolute("close", B, C, axis="y", at=(2, 0, 0), child_at=(2, 0, 0), cut=True)
    s.spring_damper(
        "coil", s.marker("m", B, (1, 0, 0)), s.marker("g", s.ground, (1, 0, 3)), 20, 0.2
    )
    arm = s.body("arm", mass=0.3, com=(0, 0, -0.2), inertia=(0.01, 0.01, 0.01))
    s.revolute("wrist", C, arm, axis="y")
    s.torque("motor", "first", 2 * mg.cos(s.time))
    s.servo("drive", "wrist", 0.5 * mg.sin(2 * s.time))
    return s


@pytest.mark.parametrize("formalism", ["newton-euler", "lagrange", "absolute"])
def test_work_by_element_adds_up(formalism, tmp_path):
    """All work, and that of gravity, is what T gains; body by body and element by element."""
    eqs = machine().equations(formalism)
    guess = {"second": -0.5, "third": 1.5}
    run = eqs.simulate(0.5, {"first": 0.8}, guess=guess, rtol=1e-10, track_work="elements")
    names = {"coil", "motor", "drive", "second spring", "lift"}
    others = set(eqs.terms.working) - names  # of which it cannot be seen that they do nothing
    assert names <= set(eqs.terms.working)
    assert all(np.abs(run.work(name)).max() < 1e-9 for name in others)
    bodies = list(eqs.system.bodies)
    kinetic = sum(run[f"{name}: kinetic"] for name in bodies)
    weight = sum(run[f"{name}: potential"] for name in bodies)
    assert np.allclose(kinetic, run.kinetic, rtol=1e-12)
    assert np.allclose(weight + run["coil: potential"], run.potential, rtol=1e-12)
    gained = kinetic + weight - (kinetic + weight)[0]
    assert np.allclose(sum(map(run.work, names)), gained, atol=1e-8)
    for name in names:
        spent = simpson(run[f"{name}: power"], x=run.time)
        assert run.work(name)[-1] == pytest.approx(spent, rel=1e-7)
    assert np.abs(run.work("drive")).max() > 0.01
    spent = run.supplied - run.dissipated
    stored = run["coil: potential"] - run["coil: potential"][0]
    assert np.allclose(sum(map(run.work, names)), spent - stored, atol=1e-8)
    kept = mg.load_run(run.save(tmp_path / "run"))
    assert np.array_equal(kept.work("motor"), run.work("motor"))
    with pytest.raises(mg.ArgumentError, match="did you mean 'motor'"):
        run.work("moter")


def test_work_of_elements_is_asked_for():
    run = machine().equations().simulate(0.1, guess={"first": 0.8, "second": -0.5, "third": 1.5})
    with pytest.raises(mg.ArgumentError, match='track_work="elements"'):
        run.work("motor")
    with pytest.raises(mg.ArgumentError, match="elements"):
        machine().equations().simulate(0.1, track_work="all")


def test_reactions_in_joint_axes():
    """The moment about a joint's axis is its motor's, whatever way the joint points."""
    s = mg.System("arm", gravity=(0, 0, -9.81))
    A, B = (s.body(n, mass=1.0, com=(0.3, 0.1, 0), inertia=(0.1, 0.2, 0.15)) for n in "AB")
    s.universal("base", s.ground, A)
    s.revolute("elbow", A, B, at=(1, 0, 0), orientation=[("x", 0.7), ("z", 0.4)],
               child_orientation=[("y", 0.3)])  # fmt: skip
    s.torque("motor", "elbow", 3.0)
    eqs = s.equations()
    q, u = np.random.default_rng(0).uniform(-1, 1, (2, 3))
    world, joint = (eqs.reaction("elbow", q, u, frame=frame) for frame in ("world", "joint"))
    assert joint[5] == pytest.approx(3.0, rel=1e-12)
    R = eqs.rotation("B", q) @ Rotation.from_euler("y", 0.3).as_matrix()
    assert np.allclose(R @ joint[:3], world[:3], rtol=1e-12)
    assert np.allclose(R @ joint[3:], world[3:], rtol=1e-12)
    run = eqs.simulate(0.1, {"elbow": 0.3})
    assert np.allclose(run.reaction("elbow", frame="joint")[:, 5], 3.0)
    assert np.allclose(run["elbow: joint moment z"], 3.0)
    with pytest.raises(mg.ArgumentError, match="'world' or 'joint'"):
        eqs.reaction("elbow", q, u, frame="body")


AXIAL = {
    "fixed_ideal_joint": {},
    "free_ideal_joint": {},
    "spring_ideal_joint": {"stiffness": 30.0, "damping": 0.4},
    "free_slide_joint": {},
    "fixed_servo_joint": {"angle": 0.3},
}


@pytest.mark.parametrize("word", AXIAL)
def test_the_networks_joints_have_their_four_quantities(word):
    """ν, φ, F, M: F and M are zero or the law where the motion is open, and what holds it else; the
    power −F ν̇ − M φ̇ is what Newton and Euler leave of the bodies."""
    s = mg.System("network", gravity=(0, 1.0, -9.81))
    A, B = (s.body(n, mass=1.0, com=(0.1, 0.2, 0.1), inertia=(0.1, 0.2, 0.25)) for n in "AB")
    s.revolute("hinge", s.ground, A, axis="y")
    s.free("place", s.ground, B)
    getattr(s, word)("link", A, B, axis="x", **AXIAL[word])
    eqs = s.equations()
    q, u = eqs.assemble({"hinge": 0.4, "hinge'": 0.8})
    x = {n: eqs.observe(f"link: {n}", q, u)[0] for n in ("shift", "angle", "F", "M", "shift'")}
    R = eqs.rotation("A", q)
    gap = eqs.position("B", q) - eqs.position("A", q)
    assert x["shift"] == pytest.approx(R[:, 0] @ gap, abs=1e-12)
    turn = Rotation.from_matrix(R.T @ eqs.rotation("B", q)).as_rotvec()
    assert x["angle"] == pytest.approx(turn[0], abs=1e-12)
    law = 30 * x["shift"] + 0.4 * x["shift'"] if word == "spring_ideal_joint" else 0.0
    if word in ("free_ideal_joint", "spring_ideal_joint", "free_slide_joint"):
        assert x["F"] == pytest.approx(law, abs=1e-12)
    else:
        assert abs(x["F"]) > 1e-3
    open_rotation = word in ("fixed_ideal_joint", "free_ideal_joint", "spring_ideal_joint")
    assert (abs(x["M"]) < 1e-12) == open_rotation
    on_b = eqs.reaction("link", q, u)
    assert x["F"] == pytest.approx(-R[:, 0] @ on_b[:3], abs=1e-12)
    run = eqs.simulate(0.2, (q, u))
    assert run["link: angle"].shape == run["link: M"].shape == run.time.shape


# --- inverse kinematics ---------------------------------------------------------------------------


def reached(eqs: mg.Equations, place: str, q: np.ndarray, target: dict) -> float:
    """How far off a place is: metres, and the angle between rotations."""
    off = [np.abs(eqs.position(place, q) - target["position"]).max()]
    if "rotation" in target:
        off.append(np.abs(eqs.rotation(place, q) - target["rotation"]).max())
    return max(off)


@pytest.mark.parametrize("robot", ["ur", "panda", "go2", "talos"])
def test_targets_of_robots_are_reached_many_at_once(robot):
    twin = Twin(robot_model(robot))
    eqs, random = twin.equations, np.random.default_rng(1)
    free = [name for name in eqs.coordinates if ".q" not in name]
    q = eqs.terms.chart.normalized(random.uniform(-1, 1, (16, len(eqs.coordinates))))
    places = [twin.names[-1]] + ([twin.names[len(twin.names) // 2]] if len(free) > 9 else [])
    targets = {
        name: {"position": eqs.position(name, q), "rotation": eqs.rotation(name, q)}
        for name in places
    }
    limits = dict.fromkeys(free, (-1.5, 1.5))
    found = eqs.inverse_kinematics(targets, limits=limits)
    assert found.shape == q.shape
    assert max(reached(eqs, name, found, target) for name, target in targets.items()) < 1e-10
    held = found[:, [eqs.coordinates.index(name) for name in free]]
    assert np.abs(held).max() <= 1.5
    none = {
        name: {"position": np.zeros((0, 3)), "rotation": np.zeros((0, 3, 3))} for name in places
    }
    assert eqs.inverse_kinematics(none).shape == (0, len(eqs.coordinates))


def test_limits_of_a_cut_joint_are_said_not_to_be_kept():
    built = mg.System("limited")
    A, B = (built.body(n, mass=1.0, inertia=(0.1, 0.1, 0.1)) for n in "AB")
    built.revolute("a", built.ground, A)
    built.revolute("b", A, B, at=(1, 0, 0))
    built.revolute("c", built.ground, B, at=(1.5, 0, 0), child_at=(1, 0, 0), cut=True,
                   limits=(-2, 2))  # fmt: skip
    built.marker("tip", B, (0.5, 0, 0))
    with pytest.warns(UserWarning, match="limits of 'c' are not kept"):
        built.equations().inverse_kinematics(
            {"tip": (0.8, 0, 0)}, {"a": 0.7, "b": -1.4}, nearest=True
        )


def test_angles_are_in_the_turn_of_the_guess():
    eqs = planar_arm(2).equations()
    q = eqs.inverse_kinematics({"tip": (0.3, 0.9, 0)}, guess=[20.0, -9.0])
    assert np.abs(q - [20, -9]).max() < np.pi
    assert np.allclose(eqs.position("tip", q), (0.3, 0.9, 0), atol=1e-10)


def planar_arm(bars: int = 3) -> mg.System:
    s = mg.System("bars")
    inner = s.ground
    for k in range(bars):
        body = s.body(f"bar {k}", mass=1.0, inertia=(0.1, 0.1, 0.1))
        s.revolute(f"j{k}", inner, body, at=(1.0 if k else 0.0, 0, 0))
        inner = body
    s.marker("tip", inner, (1, 0, 0))
    s.marker("middle", "bar 0", (1, 0, 0))
    return s


def test_limits_are_kept_and_may_forbid_a_target():
    """Two bars of one metre: the elbow of a target at distance d is ±(π − 2 asin(d/2))."""
    eqs = planar_arm(2).equations()
    elbow = np.pi - 2 * np.arcsin(1.2 / 2)
    for sign in (1, -1):
        side = (0.0, None) if sign > 0 else (None, 0.0)
        q = eqs.inverse_kinematics({"tip": (1.2, 0, 0)}, limits={"j1": side})
        assert q[1] == pytest.approx(sign * elbow, abs=1e-10)
    with pytest.raises(mg.AssemblyError, match="'tip': position by") as caught:
        eqs.inverse_kinematics({"tip": (1.2, 0, 0)}, limits={"j1": (-0.5, 0.5), "j0": (-1, 1)})
    nearest = {"limits": {"j1": (-0.5, 0.5), "j0": (-1, 1)}, "nearest": True}
    q = eqs.inverse_kinematics({"tip": (1.2, 0, 0)}, **nearest)
    assert abs(q[1]) == pytest.approx(0.5, abs=1e-12)
    short = 2 * np.cos(0.25) - 1.2
    assert caught.value.residuals["tip: position"] == pytest.approx(short, abs=1e-9)


def test_limits_of_the_model_are_kept():
    """Rigid and compliant ones, which parameters make up; those of the call go before them."""
    s = mg.System("stops")
    A, B = (s.body(n, mass=1.0, inertia=(0.1, 0.1, 0.1)) for n in "AB")
    s.revolute("j0", s.ground, A, limits=mg.Limits(high=3.0, stiffness=1e3))
    most = s.parameter("most", 0.0)
    s.revolute("j1", A, B, at=(1, 0, 0), limits=(-2.5, most))
    s.marker("tip", B, (1, 0, 0))
    eqs, target = s.equations(), {"tip": (1.2, 0, 0)}
    elbow = np.pi - 2 * np.arcsin(1.2 / 2)
    assert eqs.inverse_kinematics(target)[1] == pytest.approx(-elbow, abs=1e-10)
    q = eqs.inverse_kinematics(target, limits={"j1": (0, None)})
    assert q[1] == pytest.approx(elbow, abs=1e-10)
    with pytest.raises(mg.AssemblyError, match="'tip': position"):
        eqs.inverse_kinematics(target, parameters={"most": -2.4})


@pytest.mark.parametrize("formalism", ["newton-euler", "absolute"])
def test_rotors_are_in_the_coriolis_matrix(formalism):
    """In joint coordinates they change nothing, in others they do."""
    s = mg.System("geared", gravity=(0, 0, -9.81))
    A, B = (s.body(n, mass=1.0, com=(0.3, 0, 0), inertia=(0.1, 0.2, 0.15)) for n in "AB")
    s.revolute("a", s.ground, A, axis="y")
    s.prismatic("b", A, B, axis="x", at=(1, 0, 0), armature=0.7)
    if formalism == "newton-euler":
        s.speed("v", lambda m: m.velocity(B)[0])
    eqs = s.equations(formalism)
    q, u = eqs.assemble({"a": 0.4, "a'": 0.8, "b": 0.1, "b'": 0.3})
    C, h = eqs.robotics.coriolis_matrix(q, u), 1e-5
    ahead, behind = (q + x * eqs.coordinate_rates(q, u) for x in (h, -h))
    rate = (eqs.mass_matrix(ahead) - eqs.mass_matrix(behind)) / (2 * h)
    assert np.abs(rate - C - C.T).max() < 1e-8
    assert np.abs(C).max() > 0.1
    assert np.allclose(eqs.robotics.bias_efforts(q, u), eqs.efforts(q, u, 0 * u), atol=1e-11)
    parts = [eqs.observe(f"{name}: kinetic", q, u)[0] for name in ("A", "B", "b rotor")]
    assert sum(parts) == pytest.approx(eqs.kinetic_energy(q, u), rel=1e-12)
    assert parts[2] == pytest.approx(0.7 * 0.3**2 / 2, rel=1e-12)


def test_what_is_out_of_reach_is_named_with_how_near_it_comes():
    eqs = planar_arm().equations()
    with pytest.raises(mg.AssemblyError, match=r"'tip': position by 2 m") as caught:
        eqs.inverse_kinematics({"tip": (3, 4, 0)})
    assert caught.value.residuals["tip: position"] == pytest.approx(2.0, abs=1e-9)
    q = eqs.inverse_kinematics({"tip": (3, 4, 0)}, nearest=True)
    assert np.allclose(eqs.position("tip", q), (1.8, 2.4, 0), atol=1e-6)
    both = np.array([[2, 0, 0], [0, 9, 0]])
    with pytest.raises(mg.AssemblyError, match="1 of the batch by 6 m"):
        eqs.inverse_kinematics({"tip": both})


def test_weights_decide_where_not_all_can_be_had():
    """Of two targets for one bar, (1, 0) and (0, 1), the angle minimizes what both are off."""
    eqs = planar_arm(1).equations()
    targets = {"tip": {"position": (1, 0, 0), "weight": 3.0}, "middle": (0, 1, 0)}
    q = eqs.inverse_kinematics(targets, nearest=True)
    assert q[0] == pytest.approx(np.arctan2(1, 9), abs=1e-7)


def fourbar_leg() -> mg.System:
    """A four-bar whose coupler carries a second arm: two freedoms through a loop."""
    s = mg.System("leg", gravity=(0, 0, -9.81))
    sizes = {"crank": 0.4, "coupler": 1.0, "rocker": 0.8}
    crank, coupler, rocker = (
        s.body(n, mass=1.0, com=(x / 2, 0, 0), inertia=(0.01, 0.1, 0.1)) for n, x in sizes.items()
    )
    s.revolute("a", s.ground, crank)
    s.revolute("b", crank, coupler, at=(0.4, 0, 0))
    s.revolute("c", s.ground, rocker, at=(0.9, 0, 0))
    s.revolute("d", coupler, rocker, at=(1.0, 0, 0), child_at=(0.8, 0, 0))
    arm = s.body("arm", mass=0.5, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.02))
    s.revolute("e", coupler, arm, at=(0.5, 0.3, 0))
    s.marker("tip", arm, (0.5, 0, 0))
    return s


@pytest.mark.parametrize("formalism", ["newton-euler", "absolute", "points"])
def test_targets_are_reached_through_loops(formalism):
    eqs = fourbar_leg().equations(formalism)
    joint = fourbar_leg().equations()
    guess = {"a": 1.0, "b": -0.6, "c": 1.8}
    states = [joint.assemble({"a": a, "e": e}, guess=guess)[0] for a, e in ((0.7, 0.4), (1.4, -1))]
    tips = np.array([joint.position("tip", q) for q in states])
    q = eqs.inverse_kinematics({"tip": tips}, guess)
    assert np.abs(eqs.position("tip", q) - tips).max() < 1e-10
    assert np.abs(eqs.position_violation(q)).max() < 1e-10
    again = eqs.inverse_kinematics({"tip": tips[0]}, q[0])
    assert np.abs(eqs.position("tip", again) - tips[0]).max() < 1e-10


def test_what_a_loop_keeps_out_of_reach_is_named():
    """Within limits that leave one place only."""
    eqs, guess = fourbar_leg().equations(), {"a": 1.0, "b": -0.6, "c": 1.8}
    q = eqs.assemble({"a": 1.0, "e": 0.2}, guess=guess)[0]
    c = eqs.observe("c", q)[0]  # else it closes in another way
    held = {"a": (1.0, 1.0), "e": (0.2, 0.2), "c": (c - 0.1, c + 0.1)}
    with pytest.raises(mg.AssemblyError, match="'tip': position") as caught:
        eqs.inverse_kinematics({"tip": (4, 0, 0)}, q, limits=held)
    off = np.linalg.norm(eqs.position("tip", q) - (4, 0, 0))
    assert caught.value.residuals["tip: position"] == pytest.approx(off, rel=1e-9)


BAD_CALLS = {
    "did you mean 'tip'": lambda e: e.frame_jacobian("tipp", [0, 0, 0]),
    "a body, a marker or the name": lambda e: e.frame_jacobian(3, [0, 0, 0]),
    "'world' or 'body'": lambda e: e.frame_jacobian("tip", [0, 0, 0], frame="local"),
    "expected 3 numbers": lambda e: e.frame_jacobian("tip", [0, 0]),
    "expected 3 numbers .*got 4": lambda e: e.robotics.coriolis_matrix([0, 0, 0], np.ones(4)),
    "'pose', 'position' or 'rotation'": lambda e: e.robotics.manipulability(
        "tip", [0] * 3, part="x"
    ),
    "out must be": lambda e: e.robotics.momentum_matrix([0.0] * 3, out=np.zeros((3, 6))),
    "admissible": lambda e: e.frame_jacobian("tip", [0, 0, 0], admissible="yes"),
    "targets: unknown body or marker 'hand'": lambda e: e.inverse_kinematics({"hand": (1, 0, 0)}),
    "targets must be a mapping": lambda e: e.inverse_kinematics((1, 0, 0)),
    "position: expected 3 numbers": lambda e: e.inverse_kinematics({"tip": (1, 0)}),
    "'tip': expected position, rotation": lambda e: e.inverse_kinematics({"tip": {"at": 1}}),
    "weight must be a positive": lambda e: e.inverse_kinematics(
        {"tip": {"position": (1, 0, 0), "weight": 0}}
    ),
    "'tip': rotation": lambda e: e.inverse_kinematics({"tip": {"rotation": np.ones((3, 3))}}),
    "quaternions are not of norm": lambda e: e.inverse_kinematics(
        {"tip": {"rotation": np.ones((2, 4))}}
    ),
    "do not fit together": lambda e: e.inverse_kinematics(
        {"tip": {"position": np.ones((2, 3)), "rotation": np.stack([np.eye(3)] * 3)}}
    ),
    "guess and targets: leading axes": lambda e: e.inverse_kinematics(
        {"tip": np.ones((2, 3))}, np.zeros((4, 3))
    ),
    "limits: unknown coordinate 'j9'": lambda e: e.inverse_kinematics(
        {"tip": (1, 0, 0)}, limits={"j9": (0, 1)}
    ),
    "limits of 'j1': expected": lambda e: e.inverse_kinematics(
        {"tip": (1, 0, 0)}, limits={"j1": 1}
    ),
    "swap them": lambda e: e.inverse_kinematics({"tip": (1, 0, 0)}, limits={"j1": (1, -1)}),
}


@pytest.mark.parametrize("message", BAD_CALLS)
def test_bad_calls_are_named(message):
    with pytest.raises(mg.MechgraphError, match=message):
        BAD_CALLS[message](planar_arm().equations())


def test_equations_without_bodies_say_so():
    v = mg.variables(["x"], ["x'"])
    eqs = mg.Equations(mg.Terms(v, M=[[1.0]], f=[0.0]))
    with pytest.raises(mg.MechgraphError, match="no body with mass"):
        eqs.robotics.centre_of_mass([0.0])
    with pytest.raises(mg.MechgraphError, match="unknown body or marker"):
        eqs.frame_jacobian("tip", [0.0])
