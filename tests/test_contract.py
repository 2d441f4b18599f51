"""The contract as a value: terms written down by hand simulate, linearize, export, without a
System; the description is frozen under its equations; everything pickles and copies."""

from __future__ import annotations

import copy
import pickle
import subprocess
from concurrent.futures import ProcessPoolExecutor
from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import mechgraph as mg
from measure import IN_SPACE
from mechgraph import gallery
from mechgraph.formalisms import formalism_of

G, RADIUS, MASS = 9.81, 0.7, 1.3


# --- written down by hand -------------------------------------------------------------------------


def spherical() -> mg.Terms:
    """The spherical pendulum by zenith and azimuth (Orsino, example 4.1, first model; gravity along
    x)."""
    v = mg.variables(["theta", "phi"], ["theta'", "phi'"], parameters={"g": G})
    theta, dtheta, dphi = v["theta"], v["theta'"], v["phi'"]
    sine, cosine = mg.sin(theta), mg.cos(theta)
    inertia = MASS * RADIUS**2
    return mg.Terms(
        v,
        name="spherical pendulum",
        M=[[inertia, 0], [0, inertia * sine**2]],
        f=[
            inertia * sine * cosine * dphi**2 - MASS * v["g"] * RADIUS * sine,
            -2 * inertia * sine * cosine * dtheta * dphi,
        ],
        kinetic=inertia * (dtheta**2 + sine**2 * dphi**2) / 2,
        potential=-MASS * v["g"] * RADIUS * cosine,
        outputs={"x": RADIUS * cosine},
        reference=[1.0, 0.0],
    )


def cartesian(squared_speed: bool) -> mg.Terms:
    """The same by x, y, z and a constraint (second model); with v = ẋ² + ẏ² + ż² as a fourth speed,
    which is no velocity (third model)."""
    speeds = ["x'", "y'", "z'", *(["v"] if squared_speed else [])]
    s = mg.variables(list("xyz"), speeds, parameters={"g": G})
    x, y, z, vx, vy, vz = (s[name] for name in ("x", "y", "z", "x'", "y'", "z'"))
    count = len(speeds)
    squares = vx**2 + vy**2 + vz**2
    energy = MASS * (s["v"] if squared_speed else squares) / 2
    return mg.Terms(
        s,
        name="spherical pendulum",
        N=[[float(i == j) for j in range(count)] for i in range(3)],
        M=np.diag([MASS, MASS, MASS, 0][:count]),
        f=[MASS * s["g"], 0, 0, 0][:count],
        position={"sphere": x**2 + y**2 + z**2 - RADIUS**2},
        velocity={"squared speed": squares - s["v"]} if squared_speed else None,
        kinetic=energy,
        potential=-MASS * s["g"] * x,
        outputs={"x": x},
        reference=[RADIUS * np.cos(1.0), RADIUS * np.sin(1.0), 0.0],
    )


MODELS = {
    "spherical": spherical,
    "cartesian": lambda: cartesian(False),
    "with a speed that is no velocity": lambda: cartesian(True),
}


def state_of(equations: mg.Equations) -> tuple[np.ndarray, np.ndarray]:
    """θ = 1, φ = 0, θ̇ = 0.4, φ̇ = 1.5, in each set of variables."""
    theta, rate, spin = 1.0, 0.4, 1.5
    if len(equations.coordinates) == 2:
        return np.array([theta, 0.0]), np.array([rate, spin])
    place = RADIUS * np.array([np.cos(theta), np.sin(theta), 0])
    velocity = RADIUS * np.array(
        [-np.sin(theta) * rate, np.cos(theta) * rate, np.sin(theta) * spin]
    )
    squares = [velocity @ velocity] if len(equations.speeds) == 4 else []
    return place, np.array([*velocity, *squares])


def test_accelerations_are_those_of_the_source():
    """Ex. 4.1: φ̈ = −2 θ̇ φ̇ cot θ, θ̈ = sin θ (cos θ φ̇² − g/r); ẍ = g − x (v + g x)/r², v̇ = 2 g
    ẋ."""
    polar = mg.Equations(spherical())
    udot = polar.accelerations(*state_of(polar))
    sine, cosine = np.sin(1.0), np.cos(1.0)
    expected = [sine * (cosine * 1.5**2 - G / RADIUS), -2 * 0.4 * 1.5 * cosine / sine]
    assert np.allclose(udot, expected, rtol=1e-13)
    for closure in mg.CLOSURES:
        plain, extended = (mg.Equations(cartesian(flag), closure) for flag in (False, True))
        q, u = state_of(extended)
        x, squares = q[0], u[3]
        expected = np.array([G, 0, 0]) - q * (squares + G * x) / RADIUS**2
        assert np.allclose(plain.accelerations(*state_of(plain)), expected, rtol=1e-12, atol=1e-12)
        found = extended.accelerations(q, u)
        assert np.allclose(found[:3], expected, rtol=1e-11, atol=1e-11)
        assert found[3] == pytest.approx(2 * G * u[0], rel=1e-11)


@pytest.mark.parametrize("model", MODELS)
def test_it_simulates(model):
    equations = mg.Equations(MODELS[model]())
    run = equations.simulate(2.0, state_of(equations), step=0.1, rtol=1e-11)
    polar = mg.Equations(spherical())
    expected = polar.simulate(2.0, state_of(polar), step=0.1, rtol=1e-11)
    assert np.allclose(run["x"], expected["x"], atol=1e-8)
    assert np.ptp(run.energy) < 1e-8
    assert run.violation.max() < 1e-10
    rates = -RADIUS * np.sin(expected["theta"]) * expected["theta'"]
    assert np.allclose(run["x'"], rates, atol=1e-7)
    assert run.name == "spherical pendulum"


@pytest.mark.parametrize("model", list(MODELS)[1:])
def test_it_finds_its_rest_and_linearizes_there(model):
    """Two modes of frequency √(g/r); with v three eigenvalues more, all zero or none."""
    equations = mg.Equations(MODELS[model]())
    q, u = equations.equilibrium({"x": 0.69, "y": 0.1, "z": 0.05})
    assert np.allclose(q, [RADIUS, 0, 0], atol=1e-9)
    values = equations.linearize((q, u)).eigenvalues()
    frequency = np.sqrt(G / RADIUS)
    moving = values[np.abs(values) > 1e-6]
    assert np.allclose(np.sort(moving.imag), frequency * np.array([-1, -1, 1, 1]), rtol=1e-9)
    assert np.allclose(moving.real, 0, atol=1e-9)


def test_it_starts_by_its_own_names_and_outputs():
    equations = mg.Equations(cartesian(True))
    q, u = equations.assemble({"y": 0.3, "z": 0.1, "y'": 0.5})
    assert q[1:] == pytest.approx([0.3, 0.1])
    assert np.linalg.norm(q) == pytest.approx(RADIUS, abs=1e-11)
    assert q[:3] @ u[:3] == pytest.approx(0, abs=1e-11)
    assert u[3] == pytest.approx(u[:3] @ u[:3], abs=1e-10)
    polar = mg.Equations(spherical())
    q, _ = polar.assemble({"x": 0.2})
    assert RADIUS * np.cos(q[0]) == pytest.approx(0.2, abs=1e-11)


@pytest.mark.parametrize("model", MODELS)
def test_it_exports_c(model, tmp_path):
    files = mg.Equations(MODELS[model]()).export_c(tmp_path / "pendulum")
    sources = [str(file) for file in files if file.suffix == ".c"]
    test = tmp_path / "test"
    subprocess.run(["cc", "-O1", *sources, "-lm", "-o", str(test)], check=True, cwd=tmp_path)
    subprocess.run([str(test)], check=True)


@pytest.mark.parametrize("model", MODELS)
def test_it_is_shown_and_rolled_out(model):
    equations = mg.Equations(MODELS[model]())
    assert "spherical pendulum" in repr(equations)
    assert equations.show()
    assert equations.latex()
    q, u = state_of(equations)
    runs = equations.rollout(q[None], u[None], step=1e-3, steps=100)
    expected = equations.simulate(0.1, (q, u), step=0.1, rtol=1e-11)
    assert np.allclose(runs["x"][0, -1], expected["x"][-1], atol=1e-7)


def motor() -> mg.Terms:
    """J ω̇ = k i − d ω − load, L i̇ = v − R i − k ω: the current is a speed without a
    coordinate."""
    numbers = {"J": 0.02, "L": 0.1, "R": 2.0, "k": 0.5, "d": 0.01}
    v = mg.variables(["angle"], ["rate", "current"], ["voltage", "load"], numbers)
    rate, current = v["rate"], v["current"]
    J, L, R, k, d = (v[name] for name in numbers)
    return mg.Terms(
        v,
        name="DC motor",
        N=[[1, 0]],
        M=[[J, 0], [0, L]],
        f=[k * current - d * rate - v["load"], v["voltage"] - R * current - k * rate],
        kinetic=J * rate**2 / 2 + L * current**2 / 2,
        supplied=v["voltage"] * current - v["load"] * rate,
        dissipated=R * current**2 + d * rate**2,
    )


def test_a_motor_with_its_current():
    equations = mg.Equations(motor())
    run = equations.simulate(3.0, step=0.01, inputs={"voltage": 12.0, "load": 0.3}, rtol=1e-11)
    # at rest: R i + k ω = v, k i = d ω + load
    steady = np.linalg.solve([[0.5, 2.0], [-0.01, 0.5]], [12.0, 0.3])
    assert np.allclose([run["rate"][-1], run["current"][-1]], steady, rtol=1e-6)
    assert np.abs(run.imbalance).max() < 1e-9 * run.supplied.max()
    model = equations.linearize()
    exact = np.array([[-0.01 / 0.02, 0.5 / 0.02], [-0.5 / 0.1, -2.0 / 0.1]])
    moving = [model.states.index(name) for name in ("rate", "current")]
    assert np.allclose(model.A[np.ix_(moving, moving)], exact, rtol=1e-13)
    assert np.allclose(model.B[moving], [[0, -1 / 0.02], [1 / 0.1, 0]], rtol=1e-13)
    assert np.allclose(
        np.sort(model.eigenvalues()), np.sort([0, *np.linalg.eigvals(exact)]), atol=1e-12
    )
    assert model.A[model.states.index("angle"), model.states.index("rate")] == pytest.approx(1)
    _, u = equations.steady({"rate": 20.0}, inputs={"voltage": 12.0, "load": 0.3}, hold=["angle"])
    assert np.allclose(u, steady, rtol=1e-9)


def rigid_body() -> mg.Terms:
    """Euler's equations with a quaternion: four coordinates, three speeds."""
    v = mg.variables(["q0", "q1", "q2", "q3"], ["wx", "wy", "wz"])
    a, b, c, d = (v[f"q{k}"] for k in range(4))
    x, y, z = (v[name] for name in ("wx", "wy", "wz"))
    half = 0.5
    return mg.Terms(
        v,
        name="free body",
        N=[
            [-half * b, -half * c, -half * d],
            [half * a, -half * d, half * c],
            [half * d, half * a, -half * b],
            [-half * c, half * b, half * a],
        ],
        M=np.diag([1.0, 2.0, 3.0]),
        f=[-(3 - 2) * y * z, -(1 - 3) * z * x, -(2 - 1) * x * y],
        kinetic=(x**2 + 2 * y**2 + 3 * z**2) / 2,
        quaternions=[("q0", "q1", "q2", "q3")],
    )


def test_more_coordinates_than_speeds():
    """The same as a body on a free joint: motion, manifold, and the variations of a quaternion."""
    s = mg.System("body")
    s.spherical("ball", s.ground, s.body("b", mass=1.0, inertia=(1.0, 2.0, 3.0)))
    expected = s.equations().simulate(3.0, {"ball'": (0.1, 2.0, 0.1)}, step=0.5, rtol=1e-11)
    equations = mg.Equations(rigid_body())
    run = equations.simulate(3.0, {"wx": 0.1, "wy": 2.0, "wz": 0.1}, step=0.5, rtol=1e-11)
    assert np.allclose(run.q, expected.q, atol=1e-8)
    assert np.abs(np.linalg.norm(run.q, axis=1) - 1).max() < 1e-12
    still = equations.linearize()
    assert still.variations == ("rx", "ry", "rz", "wx", "wy", "wz")
    with pytest.raises(mg.ArgumentError, match="norm"):
        equations.simulate(1.0, ([1, 1, 0, 0], [0, 0, 0]))


def test_a_report_tells_what_there_is(tmp_path):
    """Without bodies there is no animation, and the page says so; all else is there."""
    run = mg.Equations(motor()).simulate(0.5, step=0.1, inputs={"voltage": 1.0})
    page = run.report(tmp_path / "motor.html").read_text()
    assert page.count("Not available") == 2  # motion and system
    assert "without a System" in page
    assert "Sizes of the equations" in page


# --- what is missing is named ---------------------------------------------------------------------


def test_without_a_system_bodies_are_missing_and_it_is_said():
    equations = mg.Equations(spherical())
    run = equations.simulate(0.1, {"theta": 1.0}, step=0.1)
    for call in (
        lambda: equations.system,
        lambda: equations.reaction("hinge", [0, 0], [0, 0]),
        lambda: run.view(),
        lambda: run.reaction("hinge"),
    ):
        with pytest.raises(mg.UnsupportedError, match="without a System"):
            call()
    with pytest.raises(mg.ArgumentError, match="'tip'"):
        run["tip"]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"M": [[1, 0]]}, "M must be 2x2, got 1x2"),
        ({"f": [1, 2, 3]}, "f must be 2x1"),
        ({"N": [[1]]}, "N must be 1x2"),
        ({"M": lambda v: [[v["rate"], 0], [0, 1]]}, "M must not depend on 'rate'"),
        ({"f": lambda v: [v["rate'"], 0]}, 'f must not depend on "rate\'"'),
        ({"f": [float("nan"), 0]}, "NaN"),
        ({"f": lambda v: [mg.variables(["z"], ["z'"])["z"], 0]}, "'z', which is not among"),
        ({"M": "x"}, "numbers and expressions"),
        ({"reference": [1, 2]}, "reference"),
        ({"quaternions": [("angle",) * 4]}, "quaternion"),
        ({"position": lambda v: {"row": v["rate"]}}, "position must not depend"),
    ],
)
def test_wrong_terms_are_refused(change, words):
    v = mg.variables(["angle"], ["rate", "current"])
    good = {"N": [[1, 0]], "M": [[1, 0], [0, 1]], "f": [0, 0]}
    change = {key: value(v) if callable(value) else value for key, value in change.items()}
    if "quaternion" in words:
        change["quaternions"] = [("angle", "angle", "angle")]
    with pytest.raises(mg.ModelError, match=words):
        mg.Terms(v, **(good | change))


def test_wrong_variables_are_refused():
    with pytest.raises(mg.ModelError, match="two things"):
        mg.variables(["a"], ["a"])
    with pytest.raises(mg.ModelError, match="name"):
        mg.variables([""], [])
    with pytest.raises(mg.ModelError, match="did you mean 'angle'"):
        mg.variables(["angle"], [])["angel"]
    with pytest.raises(mg.ModelError, match="list of names"):
        mg.variables("angle", ["rate"])
    with pytest.raises(mg.ModelError, match=r"begin with mg\.variables"):
        mg.Terms(5, M=[[1]], f=[0])
    with pytest.raises(mg.ArgumentError, match=r"takes mg\.Terms"):
        mg.Equations(mg.System("s"))


# --- frozen ---------------------------------------------------------------------------------------


def arm() -> mg.System:
    s = mg.System("arm", gravity=(0, 0, -9.81))
    upper = s.body("upper", mass=1.0, com=(0, 0, -0.5), inertia=(0.08, 0.08, 0.001))
    lower = s.body(
        "lower", mass=s.parameter("m", 0.8), com=(0, 0, -0.4), inertia=(0.05, 0.05, 0.01)
    )
    s.revolute("shoulder", s.ground, upper, axis="y", stiffness=2.0)
    s.revolute("elbow", upper, lower, axis="y", at=(0, 0, -1.0))
    s.torque("motor", "elbow", s.input("w"))
    s.output("height", lambda m: m.position("lower")[2])
    return s


def values(equations: mg.Equations) -> list[np.ndarray]:
    """Everything that equations tell at a state."""
    q, u = np.array([0.3, -0.4]), np.array([1.0, 2.0])
    return [
        equations.mass_matrix(q),
        equations.forces(q, u, inputs={"w": 0.5}),
        equations.accelerations(q, u, inputs={"w": 0.5}),
        equations.kinetic_energy(q, u),
        equations.potential_energy(q),
        equations.reaction("shoulder", q, u),
        equations.reaction("elbow", q, u),
        equations.observe("height", q),
        equations.observe("power", q, u, 0.0, {"w": 0.5}),
    ]


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Equal but for the last digits, in which interpreter and machine code may differ."""
    return bool(np.allclose(a, b, rtol=1e-12, atol=1e-12))


CHANGES = {
    "gravity": lambda s: setattr(s, "gravity", (1, 2, 3)),
    "name": lambda s: setattr(s, "name", "another"),
    "torque": lambda s: s.torque("push back", "shoulder", 3.0),
    "force": lambda s: s.force("push", "lower", (1, 0, 0)),
    "servo": lambda s: s.servo("drive", "elbow", 0.3 * mg.sin(s.time)),
    "body": lambda s: s.revolute("wrist", "lower", s.body("hand", 1.0, inertia=(1, 1, 1))),
    "parameter": lambda s: s.parameter("unused", 3.0),
    "input": lambda s: s.input("another"),
    "output": lambda s: s.output("more", lambda m: m.time),
    "marker": lambda s: s.marker("tip", "lower", (0, 0, -1)),
}


@pytest.mark.parametrize("formalism", IN_SPACE)
@pytest.mark.parametrize("seed", range(4))
def test_what_is_said_later_leaves_older_equations_as_they_were(formalism, seed):
    """Any sequence of changes, before anything was asked of the equations or after."""
    random = np.random.default_rng(seed)
    jointed = formalism_of(formalism).coordinates == "joint"
    if not jointed:

        def told(equations: mg.Equations) -> list[np.ndarray]:
            q, u = equations.assemble({"shoulder": 0.3, "elbow": -0.4, "elbow'": 2.0})
            return [equations.accelerations(q, u), equations.reaction("elbow", q, u), q]

    else:
        told = values
    expected = told(arm().equations(formalism))
    s = arm()
    asked, fresh = s.equations(formalism), s.equations(formalism)
    told(asked)
    order = random.permutation(list(CHANGES))[: random.integers(1, len(CHANGES))]
    for change in order:
        CHANGES[change](s)
        assert all(map(same, told(asked), expected)), change
    assert all(map(same, told(fresh), expected))
    if {"gravity", "torque", "force"} & set(order) and jointed:
        assert not np.array_equal(
            s.equations(formalism).potential_energy(s.equations(formalism).assemble()[0]),
            expected[4],
        )


def test_a_snapshot_is_a_value():
    first, second = arm().snapshot(), arm().snapshot()
    assert first == second
    assert hash(first) == hash(second)
    s = arm()
    assert s.snapshot() is s.snapshot()
    for change in CHANGES.values():
        before = s.snapshot()
        change(s)
        assert s.snapshot() != before
    with pytest.raises(FrozenInstanceError):
        first.gravity = (0, 0, 0)
    with pytest.raises(AttributeError, match="cannot be changed"):
        first.equations().terms.name = "another"
    with pytest.raises(AttributeError, match="cannot be changed"):
        first.bodies["upper"].mass = 3.0
    with pytest.raises(TypeError):
        first.bodies["upper"] = None
    with pytest.raises(TypeError):
        s.bodies["upper"] = None
    assert "2 bodies, 2 joints" in repr(first)


@pytest.mark.parametrize("name", gallery.names())
def test_gallery_systems_are_equal_if_they_say_the_same(name):
    example = gallery.load(name)
    first, second = example.system().snapshot(), example.system().snapshot()
    assert first == second
    assert hash(first) == hash(second)
    changed = example.system()
    changed.gravity = (0.1, 0.2, 0.3)
    assert changed.snapshot() != first


def test_deriving_twice_shares_the_chart():
    s = arm()
    assert s.equations("kane").terms.chart is s.equations("appell").terms.chart


# --- pickles and copies ---------------------------------------------------------------------------


@pytest.mark.parametrize("name", gallery.names())
def test_gallery_systems_pickle(name):
    example = gallery.load(name)
    description = example.system().snapshot()
    again = pickle.loads(pickle.dumps(description))
    assert again == description
    equations, copied = description.equations(), again.equations()
    q, u = equations.assemble(example.start, guess=example.guess)
    assert np.array_equal(equations.accelerations(q, u), copied.accelerations(q, u))


def test_everything_pickles_and_copies():
    equations = arm().equations("kane")
    start = {"shoulder": 0.3, "elbow": 0.1}
    run = equations.simulate(0.2, start, step=0.1)
    model = equations.linearize()
    runs = equations.rollout([[0.1, 0.2]], [[0.0, 0.0]], step=0.01, steps=3)
    for make in (lambda x: pickle.loads(pickle.dumps(x)), copy.deepcopy, copy.copy):
        assert all(map(same, values(make(equations)), values(equations)))
        again = make(run)
        assert np.array_equal(again["height"], run["height"])
        assert np.array_equal(again.reaction("elbow"), run.reaction("elbow"))
        assert np.array_equal(make(model).A, model.A)
        assert np.array_equal(make(runs)["elbow"], runs["elbow"])
        assert make(equations.terms).name == "arm"
        assert same(make(mg.Equations(motor())).accelerations([0], [1, 2]), [49.5, -45.0])


def test_a_builder_and_its_elements_pickle():
    s = arm()
    s.torque("hand", "elbow", s.parameter("hold", 2.0) * s.input("effort"))
    again = pickle.loads(pickle.dumps(s))
    assert again.snapshot() == s.snapshot()
    again.torque("more", "elbow", again.parameters["hold"] * again.time)
    q, u = [0.1, 0.2], [0.0, 0.0]
    more = again.equations().forces(q, u, 3.0) - s.equations().forces(q, u, 3.0)
    assert np.allclose(more, [0, 6.0])
    for element in (*s.elements, mg.Limits(0, 1, stiffness=3.0), s.bodies["upper"]):
        assert pickle.loads(pickle.dumps(element)) == element == copy.copy(element)


def swing(angle: float) -> mg.Trajectory:
    return arm().equations().simulate(0.3, {"shoulder": angle}, step=0.1)


def test_a_process_pool_that_returns_runs():
    with ProcessPoolExecutor(2) as pool:
        runs = list(pool.map(swing, [0.1, 0.5]))
    for angle, run in zip([0.1, 0.5], runs, strict=True):
        assert np.allclose(run["elbow"], swing(angle)["elbow"], atol=1e-12)
        assert run.reaction("shoulder").shape == (4, 6)
        assert run["height"].shape == (4,)


def test_a_copy_of_a_builder_goes_its_own_way():
    s = arm()
    other = copy.deepcopy(s)
    other.torque("more", "shoulder", 3.0)
    assert "more" not in s.forces
    assert other.snapshot() != s.snapshot()
    assert s.snapshot() == arm().snapshot()


def test_speeds_alone_need_no_coordinates():
    v = mg.variables([], ["z"], [], {"rate": 2.0})
    run = mg.Equations(mg.Terms(v, M=[[1]], f=[v["rate"]])).simulate(1.0)
    assert np.isclose(run["z"][-1], 2.0)
    with pytest.raises(mg.ModelError, match="N must be 1x2"):
        mg.Terms(mg.variables(["a"], ["b", "c"]), M=[[1, 0], [0, 1]], f=[0, 0])
