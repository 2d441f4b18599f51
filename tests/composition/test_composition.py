"""Composition: equations from the known equations of parts, against plain twins, flat closures, and
themselves composed in other shapes."""

from __future__ import annotations

import pickle
import runpy
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import sympy as sp
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import mechgraph as mg
from contract.test_contract import MASS, RADIUS, G, spherical, state_of
from measure import IN_SPACE
from mechgraph.composition.part import DerivedPart
from mechgraph.errors import ArgumentError, ModelError, UnsupportedError
from mechgraph.formalisms import formalism_of

DOWN = (0.0, -9.81, 0.0)


def bob() -> mg.Terms:
    return mg.leaves.particle("bob", mass=MASS, gravity=(G, 0, 0))


def sphere(v):
    return v["x"] ** 2 + v["y"] ** 2 + v["z"] ** 2 - RADIUS**2


def polar_place(v):
    r, theta, phi = RADIUS, v["theta"], v["phi"]
    wanted = (
        r * mg.cos(theta),
        r * mg.sin(theta) * mg.cos(phi),
        r * mg.sin(theta) * mg.sin(phi),
    )
    return [v[x] - place for x, place in zip("xyz", wanted, strict=True)]


def squares(v):
    return v["x'"] ** 2 + v["y'"] ** 2 + v["z'"] ** 2


def pendulum(model: str, **options) -> mg.Equations:
    """The spherical pendulum from a particle: by angles, by a constraint, with a third speed that
    is no velocity."""
    if model == "angles":
        return mg.compose(
            "pendulum",
            [bob()],
            coordinates=["theta", "phi"],
            speeds=["theta'", "phi'"],
            constraints={"place": polar_place},
            reference={"theta": 1.0},
            **options,
        )
    speeds = {"v": squares} if model == "squared speed" else {}
    return mg.compose("pendulum", [bob()], speeds=speeds, constraints={"sphere": sphere}, **options)


MODELS = ["angles", "constraint", "squared speed"]


def state_of_bob(equations: mg.Equations) -> tuple[np.ndarray, np.ndarray]:
    """θ = 1, φ = 0, θ̇ = 0.4, φ̇ = 1.5."""
    place = RADIUS * np.array([np.cos(1.0), np.sin(1.0), 0])
    velocity = RADIUS * np.array([-np.sin(1.0) * 0.4, np.cos(1.0) * 0.4, np.sin(1.0) * 1.5])
    values = dict(zip("xyz", place, strict=True)) | {"theta": 1.0, "phi": 0.0}
    values |= dict(zip(["x'", "y'", "z'"], velocity, strict=True))
    values |= {"theta'": 0.4, "phi'": 1.5, "v": velocity @ velocity}
    return (
        np.array([values[name] for name in equations.coordinates]),
        np.array([values[name] for name in equations.speeds]),
    )


def self_checks(equations: mg.Equations, q, u, inputs=None) -> None:
    """§2.9 of the specification: A S = 0, S spans all of it, the recursive f̄ is Sᵀ(f − M u̇), and
    accelerations are those of the flat bordered system."""
    tree, names = equations.composition, {"inputs": inputs}
    A = equations.constraint_jacobian(q, u)
    S = tree.S(q, u)
    scale = 1 + np.abs(A).max(initial=0) * np.abs(S).max(initial=0)
    assert np.abs(A @ S).max(initial=0) < 1e-12 * scale
    free = equations.mobility(q, u)
    assert S.shape[1] == np.linalg.matrix_rank(S) == free
    udot = np.random.default_rng(1).standard_normal(len(equations.speeds))
    flat = equations.forces(q, u, **names) - equations.mass_matrix(q) @ udot
    recursive = tree.fbar(q, u, udot=udot, **names)
    assert np.allclose(recursive, S.T @ flat, rtol=1e-10, atol=1e-10 * (1 + np.abs(flat).max()))
    for node in [tree, *tree.parts.values()]:
        B, C, R = node.B(q, u), node.C(q, u), node.R(q, u)
        assert np.abs(B @ C).max(initial=0) < 1e-11 * (1 + np.abs(B).max(initial=0))
        assert np.allclose(node.A(q, u) @ R, B, atol=1e-12 * (1 + np.abs(B).max(initial=0)))
        assert np.allclose(R @ C, node.S(q, u), atol=1e-12 * (1 + np.abs(R).max()))
    by_complement = equations.numeric.evaluate(
        "by complement", lambda: equations.numeric.closed.udot, 1, q, u, **names
    )
    flat_udot, _ = equations.solve(q, u, **names)
    size = np.abs(flat_udot).max(initial=1.0)
    assert np.allclose(by_complement, flat_udot, rtol=0, atol=1e-9 * size)


# --- the pendulum, three models -------------------------------------------------------------------


@pytest.mark.smoke
@pytest.mark.parametrize("model", MODELS)
def test_the_pendulum_is_that_of_the_source(model):
    equations = pendulum(model)
    q, u = state_of_bob(equations)
    udot = dict(zip(equations.speeds, equations.accelerations(q, u), strict=True))
    polar = mg.Equations(spherical())
    theta, phi = polar.accelerations(*state_of(polar))
    x, speed = q[equations.coordinates.index("x")], (0.4**2 + (np.sin(1) * 1.5) ** 2) * RADIUS**2
    assert udot["x'"] == pytest.approx(G - x * (speed + G * x) / RADIUS**2, rel=1e-12)
    if model == "angles":
        assert [udot["theta'"], udot["phi'"]] == pytest.approx([theta, phi], rel=1e-12)
    if model == "squared speed":
        assert udot["v"] == pytest.approx(2 * G * u[equations.speeds.index("x'")], rel=1e-12)
    self_checks(equations, q, u)


def test_the_order_is_found():
    assert [pendulum(model).composition.order for model in MODELS] == [1, 1, 2]
    free = mg.compose("two", {"a": bob(), "b": bob()})
    assert free.composition.order == 0
    tied = mg.compose(
        "tied", {"a": bob(), "b": bob()}, constraints={"x": lambda v: v["a.x"] - v["b.x"]}
    )
    assert tied.composition.order == 0
    pushed = mg.compose("pushed", [bob()], constraints={"x": lambda v: v["x''"] - mg.sin(v["t"])})
    assert pushed.composition.order == 2
    assert pushed.accelerations([0, 0, 0], [0, 0, 0], 0.4) == pytest.approx([np.sin(0.4), 0, 0])


@pytest.mark.parametrize("complement", ["automatic", "partition", "orthonormal", "pivoted"])
@pytest.mark.parametrize("model", MODELS)
def test_every_complement_gives_the_same_motion(model, complement):
    equations = pendulum(model, complement=complement)
    if (model, complement) == ("constraint", "partition"):  # z = 0 is singular for x', y'
        with pytest.raises(mg.SimulationError, match=r"do not leave \"x'\", \"y'\" free.*pivoted"):
            equations.simulate(1.0, state_of_bob(equations))
        equations = pendulum(model, independent=["y'", "z'"])
    run = equations.simulate(1.0, state_of_bob(equations), step=0.1, rtol=1e-11)
    polar = mg.Equations(spherical())
    expected = polar.simulate(1.0, state_of(polar), step=0.1, rtol=1e-11)
    assert np.allclose(run["x"], expected["x"], atol=1e-8)
    assert run["‖f̄‖"].max() < 1e-9
    assert run["‖q̄0‖"].max() < 1e-10
    assert run["‖q̄2, f̄‖"].max() < 1e-9


def test_independent_speeds_may_be_chosen():
    q, u = state_of_bob(pendulum("constraint"))
    expected = pendulum("constraint").accelerations(q, u)
    for names in (["x'", "z'"], ["y'", "z'"]):
        equations = pendulum("constraint", independent=names)
        assert equations.composition.independent == tuple(names)
        S = equations.composition.S(q, u)
        assert np.array_equal(S[[equations.speeds.index(name) for name in names]], np.eye(2))
        assert np.allclose(equations.accelerations(q, u), expected, rtol=1e-12, atol=1e-12)
    # where the choice fails, z = 0, numbers take over
    bad = pendulum("constraint", independent=["x'", "y'"])
    assert np.allclose(bad.accelerations(q, u), expected, rtol=1e-10, atol=1e-10)


def by_hand(**options) -> mg.Terms:
    """Model 2 of the source with its printed complement, which fails at x = 0."""
    s = mg.variables(list("xyz"), ["x'", "y'", "z'"])
    x, y, z = (s[name] for name in "xyz")
    options = {"S": [[-y, -z], [x, 0], [0, x]]} | options
    return mg.Terms(
        s,
        M=MASS * np.eye(3),
        f=[MASS * G, 0, 0],
        position={"sphere": x**2 + y**2 + z**2 - RADIUS**2},
        reference=[0.5, 0.4, 0.3],
        **options,
    )


def test_a_complement_by_hand_closes_the_equations():
    equations = mg.Equations(by_hand())
    q, u = state_of_bob(equations)
    expected = np.array([G, 0, 0]) - q * (u @ u + G * q[0]) / RADIUS**2
    closed = equations.numeric.closed
    found = equations.numeric.evaluate("udot", lambda: closed.udot, 1, q, u)
    assert np.allclose(found, expected, rtol=1e-12, atol=1e-12)
    lam = equations.numeric.evaluate("lam", lambda: closed.lam, 1, q, u)
    assert lam == pytest.approx(equations.multipliers(q, u), rel=1e-11)
    q, u = np.array([0.0, RADIUS, 0.0]), np.array([0.4, 0.0, 0.3])
    expected = np.array([G, 0, 0]) - q * (u @ u) / RADIUS**2
    assert np.allclose(equations.accelerations(q, u), expected, rtol=1e-11, atol=1e-11)
    # as a part of something else, whose columns then have names of their own
    held = mg.compose("held", {"p": by_hand()}, constraints={"z": lambda v: v["p.z"]})
    assert held.composition["p"].independent == ("p: z1", "p: z2")
    q, u = held.assemble({"p.y": 0.4, "p.y'": 0.3}, guess={"p.x": 0.5})
    self_checks(held, q, u)


def test_a_complement_with_too_few_columns_is_refused():
    with pytest.raises(ModelError, match="S must have 2 columns at least"):
        by_hand(S=[[-1.0], [0.5], [0.0]])
    with pytest.raises(ModelError, match="S must be 3x2, got 2x2"):
        by_hand(S=[[1.0, 0], [0, 1.0]])
    with pytest.raises(ModelError, match="A S is not zero in the row of 'sphere'"):
        by_hand(S=[[1.0, 0], [0, 1.0], [0, 0]])
    s = mg.variables(["x", "y"], ["x'", "y'"])
    with pytest.raises(ModelError, match="S must have 1 independent columns"):
        mg.Terms(s, M=np.eye(2), f=[0, 0], position={"line": s["x"]}, S=[[0, 0], [0, 0]])


# --- systems as parts -----------------------------------------------------------------------------


def arm() -> mg.System:
    s = mg.System("arm", gravity=(0, 0, -9.81))
    rod = s.body("rod", mass=1.2, com=(0, 0, -0.4), inertia=(0.1, 0.11, 0.02))
    s.revolute("hinge", s.ground, rod, axis="y", damping=0.1)
    s.marker("end", rod, (0, 0, -0.9))
    return s


def loose() -> mg.System:
    s = mg.System("loose", gravity=(0, 0, -9.81))
    rod = s.body("rod", mass=0.7, com=(0.1, 0, -0.3), inertia=(0.05, 0.06, 0.01))
    s.free("place", s.ground, rod)
    s.marker("top", rod, (0, 0, 0.1))
    return s


def twin() -> mg.System:
    """The same by joints: the second rod on a ball joint at the end of the first."""
    s = arm()
    other = s.body("other", mass=0.7, com=(0.1, 0, -0.3), inertia=(0.05, 0.06, 0.01))
    s.spherical("ball", "rod", other, at=(0, 0, -0.9), child_at=(0, 0, 0.1))
    return s


@pytest.mark.sampled(2)
@pytest.mark.parametrize("formalism", IN_SPACE)
def test_systems_by_any_formalism_are_parts(formalism):
    """An arm and a loose rod joined at a point, against the same system built of joints."""
    first = arm().equations(formalism)
    jointed = formalism_of(formalism).coordinates == "joint"
    second = loose().equations("kane" if jointed else "absolute")
    whole = mg.compose(
        "both",
        {"a": first, "b": second},
        constraints={"joined": lambda v: v["a.end"] - v["b.top"]},
    )
    plain = twin().equations("newton-euler")
    random = np.random.default_rng(3)
    for _ in range(4):
        q, u = plain.assemble(
            {"hinge": random.uniform(-1, 1), "ball": _unit(random.standard_normal(4)),
             "hinge'": random.uniform(-1, 1), "ball'": random.standard_normal(3)}
        )  # fmt: skip
        start = {
            "a.end": plain.position("end", q),
            "b.rod": plain.position("other", q),
            "a.end'": plain.observe("end'", q, u),
            "b.rod'": plain.observe("other'", q, u),
        }
        R = plain.rotation("other", q)
        omega = R.T @ plain.observe(lambda m: m.angular_velocity("other"), q, u)
        quaternion = _quaternion(R)
        names = [n for n in whole.coordinates if n.startswith("b.") and n[-2:-1] == "q"]
        turning = [n for n in whole.speeds if n.startswith("b.") and n[-2:-1] == "w"]
        start |= dict(zip(names, quaternion, strict=True)) | dict(zip(turning, omega, strict=True))
        if jointed:
            start |= {"a.hinge": q[0], "a.hinge'": u[0]}
            del start["a.end"], start["a.end'"]
        at = whole.assemble(start, guess=None if jointed else start)
        for theirs, ours in (("a.end''", "end''"), ("b.rod''", "other''")):
            found, expected = whole.observe(theirs, *at), plain.observe(ours, q, u)
            assert np.allclose(found, expected, rtol=1e-9, atol=1e-8)
        self_checks(whole, *at)


def _unit(x):
    return x / np.linalg.norm(x)


def _quaternion(R):
    return Rotation.from_matrix(R).as_quat(scalar_first=True)


def test_a_system_is_a_unit_with_a_prefix(monkeypatch):
    """Two arms of one System, joined by a spring between their ends; derived once."""
    made = []
    first = mg.System.equations

    def counted(self, *arguments, **options):
        made.append(self)
        return first(self, *arguments, **options)

    monkeypatch.setattr(mg.System, "equations", counted)
    one = arm()
    pull = {
        "a.end'": lambda v: 40 * (v["b.end"] - v["a.end"] + v["gap"]),
        "b.end'": lambda v: 40 * (v["a.end"] - v["b.end"] - v["gap"]),
    }
    whole = mg.compose(
        "pair", {"a": one, "b": mg.Part(one)}, forces=pull, outputs={"gap": lambda v: [0.5, 0, 0]}
    )
    assert made == [one]
    monkeypatch.undo()
    s = mg.System("pair", gravity=(0, 0, -9.81))
    for name in "ab":
        rod = s.body(name, mass=1.2, com=(0, 0, -0.4), inertia=(0.1, 0.11, 0.02))
        s.revolute(f"{name} hinge", s.ground, rod, axis="y", damping=0.1)
        s.marker(f"{name} end", rod, (0, 0, -0.9))
    gap = mg.leaves.vector([0.5, 0, 0])
    for own, other, sign in (("a end", "b end", 1), ("b end", "a end", -1)):
        s.force(
            f"pull on {own}", own,
            lambda m, p=own, o=other, k=sign: 40 * (m.position(o) - m.position(p) + k * gap),
        )  # fmt: skip
    q, u = [0.3, -0.5], [1.0, 0.4]
    assert np.allclose(whole.accelerations(q, u), s.equations().accelerations(q, u), rtol=1e-11)


def test_contradicting_rows_are_named():
    rows = {"here": lambda v: v["x"], "there": lambda v: v["x"] - 1}
    with pytest.warns(UserWarning, match="meets all constraints, nearest left 'here' and 'there'"):
        both = mg.compose("both", [bob()], constraints=rows)
    with pytest.raises(mg.AssemblyError, match="here") as told:
        both.assemble()
    assert set(told.value.residuals) == {"here", "there"}


# --- trees of any shape ---------------------------------------------------------------------------


def bar(k: int) -> mg.Terms:
    random = np.random.default_rng(k)
    return mg.leaves.planar_body(
        f"bar {k}",
        mass=random.uniform(0.5, 2),
        inertia=random.uniform(0.1, 1),
        gravity=DOWN,
        nodes={"a": (-random.uniform(0.3, 1), 0.0), "b": (random.uniform(0.3, 1), 0.1)},
    )


def joined(names, left, right):
    return {f"pin {left}{right}": lambda v: v[f"{names[left]}.b"] - v[f"{names[right]}.a"]}


def chain(shape: str, independent: bool = False) -> mg.Equations:
    """Four bars in a row from a pivot, composed at once, one after the other, or two by two."""
    bars = [bar(k) for k in range(4)]
    pivot = {"pivot": lambda v: v["0.a"]}
    if shape == "flat":
        names = [str(k) for k in range(4)]
        rows = pivot | {k: f for i in range(3) for k, f in joined(names, i, i + 1).items()}
        free = [f"{k}.theta'" for k in range(4)] if independent else None
        return mg.compose(
            "chain", dict(zip(names, bars, strict=True)), constraints=rows, independent=free
        )
    if shape == "nested":
        whole = mg.compose("0", {"0": bars[0]}, constraints=pivot)
        for k in range(1, 4):
            end = "0.0.b" if k == 1 else "0.1.b"
            pin = {"pin": lambda v, end=end: v[end] - v["1.a"]}
            whole = mg.compose(f"{k}", {"0": whole, "1": bars[k]}, constraints=pin)
        return whole
    first = mg.compose(
        "p", {"0": bars[0], "1": bars[1]}, constraints=pivot | joined(["0", "1"], 0, 1)
    )
    second = mg.compose("r", {"2": bars[2], "3": bars[3]}, constraints=joined(["2", "3"], 0, 1))
    return mg.compose(
        "chain",
        {"p": first, "r": second},
        constraints={"pin": lambda v: v["p.1.b"] - v["r.2.a"]},
    )


def accelerations_of(equations: mg.Equations, angles, rates) -> np.ndarray:
    """θ̈ of the four bars at given angles and rates, from the ground outwards."""
    order = [name for name in equations.coordinates if name.endswith("theta")]
    nested = any(name.startswith("0.0.") for name in order)
    by_bar = {_index(name, nested): name for name in order}
    start = {by_bar[k]: angle for k, angle in enumerate(angles)}
    start |= {f"{by_bar[k]}'": rate for k, rate in enumerate(rates)}
    q, u = equations.assemble(start)
    self_checks(equations, q, u)
    udot = equations.accelerations(q, u)
    return np.array([udot[equations.speeds.index(f"{by_bar[k]}'")] for k in range(4)])


def _index(name: str, nested: bool) -> int:
    """Which bar a coordinate belongs to; nested, the deepest is the first."""
    parts = name.split(".")[:-1]
    if not nested:
        return int(parts[-1])
    return 4 - len(parts) if parts[-1] == "1" else 0


@pytest.mark.parametrize("seed", range(3))
def test_the_shape_of_the_tree_does_not_matter(seed):
    random = np.random.default_rng(seed)
    angles, rates = random.uniform(-2, 2, 4), random.standard_normal(4)
    expected = accelerations_of(chain("flat"), angles, rates)
    for found in (
        accelerations_of(chain("nested"), angles, rates),
        accelerations_of(chain("two by two"), angles, rates),
        accelerations_of(chain("flat", independent=True), angles, rates),
    ):
        assert np.allclose(found, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", range(6))
def test_random_compositions_check_themselves(seed):
    """Random planar bodies joined at random points, in random trees, with loops."""
    random = np.random.default_rng(100 + seed)
    groups = []
    for g in range(2):
        names = [f"{k}" for k in range(int(random.integers(2, 4)))]
        rows = {k: f for i in range(len(names) - 1) for k, f in joined(names, i, i + 1).items()}
        parts = {name: bar(int(random.integers(100))) for name in names}
        groups.append(mg.compose(f"g{g}", parts, constraints=rows))
    last = [int(name.split(".")[0]) for name in groups[1].coordinates][-1]
    rows = {"pivot": lambda v: v["p.0.a"], "joint": lambda v: v["p.1.b"] - v["r.0.a"]}
    if seed % 2:
        rows["loop"] = lambda v: v[f"r.{last}.b"] - v["p.0.a"] - 0.8
    whole = mg.compose("whole", {"p": groups[0], "r": groups[1]}, constraints=rows)
    q, u = whole.assemble(dict.fromkeys([n for n in whole.speeds if n.endswith("theta'")][:1], 0.7))
    self_checks(whole, q, u)


def test_redundant_rows_are_harmless():
    """A pin stated twice, and a row that follows from others."""
    rows = {"pivot": lambda v: v["0.a"], **joined(["0", "1"], 0, 1)}
    once = mg.compose("once", {"0": bar(0), "1": bar(1)}, constraints=rows)
    again = rows | {"again": lambda v: 2 * (v["0.b"] - v["1.a"])}
    for options in ({}, {"independent": ["0.theta'", "1.theta'"]}, {"complement": "orthonormal"}):
        twice = mg.compose("twice", {"0": bar(0), "1": bar(1)}, constraints=again, **options)
        q, u = once.assemble({"0.theta": 0.3, "1.theta": 1.2, "0.theta'": 1.0, "1.theta'": -0.4})
        assert np.allclose(
            twice.accelerations(q, u), once.accelerations(q, u), rtol=1e-9, atol=1e-9
        )
        self_checks(twice, q, u)


# --- derived once ---------------------------------------------------------------------------------


def test_a_part_is_derived_once(monkeypatch):
    """Twenty legs: M and f of the leg are asked for once, and its complement is found once."""
    calls = {"M": 0, "f": 0, "known": 0}
    v = mg.variables(["x", "y"], ["x'", "y'"])

    def counted(key, value):
        def derive():
            calls[key] += 1
            return value

        return derive

    leg = mg.Terms(
        v,
        M=counted("M", mg.Terms(v, M=np.eye(2), f=[0, 0]).M * (1 + v["x"] ** 2)),
        f=counted("f", mg.Terms(v, M=np.eye(2), f=[v["y"], -1.0]).f),
        position={"circle": v["x"] ** 2 + v["y"] ** 2 - 1},
        reference=[1.0, 0.2],
    )
    first = DerivedPart.__init__

    def init(self, *arguments):
        calls["known"] += 1
        first(self, *arguments)

    monkeypatch.setattr(DerivedPart, "__init__", init)
    whole = mg.compose("legs", {f"leg {k}": leg for k in range(20)})
    assert calls == {"M": 1, "f": 1, "known": 1}
    assert len(whole.composition.parts) == 20
    q, u = whole.assemble({"leg 3.x": 0.5})
    one = mg.Equations(leg).accelerations(q[6:8], u[6:8])
    assert np.allclose(whole.accelerations(q, u)[6:8], one, rtol=1e-12)


def test_parameters_of_parts():
    """A value, a name that is shared, and equal names that are one parameter."""
    a = mg.leaves.particle(mass=1.0)
    whole = mg.compose(
        "two",
        {"a": mg.Part(a, parameters={"m": 2.0}), "b": mg.Part(a, parameters={"m": "mass"})},
        parameters={"mass": 3.0},
        forces={"a.x'": 6.0, "b.x'": 6.0},
    )
    assert whole.parameters == ("mass", "a.m")
    udot = whole.accelerations(np.zeros(6), np.zeros(6))
    assert udot[[0, 3]] == pytest.approx([3.0, 2.0])
    udot = whole.accelerations(np.zeros(6), np.zeros(6), parameters={"mass": 1.0, "a.m": 1.0})
    assert udot[[0, 3]] == pytest.approx([6.0, 6.0])


# --- studies --------------------------------------------------------------------------------------


def test_composed_equations_are_equations(tmp_path):
    equations = pendulum("angles")
    at = state_of_bob(equations)
    copy = pickle.loads(pickle.dumps(equations))
    assert np.allclose(copy.accelerations(*at), equations.accelerations(*at), rtol=1e-14)
    assert copy.composition.show() == equations.composition.show()
    assert len(equations.export_c(tmp_path / "pendulum")) == 3
    cartesian = pendulum("constraint")
    rest, _ = cartesian.equilibrium({"x": 0.69, "y": 0.1, "z": 0.05})
    values = cartesian.linearize((rest, np.zeros(3))).eigenvalues()
    assert np.allclose(np.abs(values.imag), np.sqrt(G / RADIUS), rtol=1e-9)
    rolled = equations.rollout([at[0]], [at[1]], step=1e-3, steps=100)
    run = equations.simulate(0.1, at, rtol=1e-10)
    assert np.allclose(rolled.q[0, -1], run.q[-1], atol=1e-3)
    derivative = equations.jacobian("accelerations", "u", *at)
    assert derivative.shape == (5, 5)


def test_compositions_of_systems_travel():
    """A pickle of systems composed, with friction in a guide: the same in another process."""
    whole = mg.compose(
        "pair",
        {"a": arm().equations("lagrange"), "b": bob()},
        constraints={"guide": lambda v: [v["b.y"], v["b.z"]]},
        forces={
            "b.x'": lambda v: (
                -0.1 * mg.sqrt(v.multiplier("guide: 1") ** 2 + v.multiplier("guide: 2") ** 2)
            ),
            "a.end'": lambda v: v["b.place"] - v["a.end"],
            "b.place'": lambda v: v["a.end"] - v["b.place"],
        },
    )
    copy = pickle.loads(pickle.dumps(whole))
    q, u = [0.4, 0.2, 0, 0], [0.5, 1.0, 0, 0]
    assert np.allclose(copy.accelerations(q, u), whole.accelerations(q, u), rtol=1e-13)
    assert np.allclose(copy.observe("a.end", q), whole.observe("a.end", q), rtol=1e-14)
    again = pickle.loads(pickle.dumps(copy))
    assert np.allclose(again.accelerations(q, u), whole.accelerations(q, u), rtol=1e-13)


def test_inertia_that_is_not_symmetric_is_refused():
    """A force along x that grows with ÿ, and none along y that grows with ẍ."""
    with pytest.raises(ModelError, match="must be symmetric"):
        mg.compose("inner", [bob()], forces={"x'": lambda v: -0.7 * v["y''"]})
    both = {"x'": lambda v: -0.7 * v["y''"], "y'": lambda v: -0.7 * v["x''"]}
    inner = mg.compose("inner", [bob()], forces=both)
    whole = mg.compose("whole", {"p": inner})
    expected = np.linalg.solve([[MASS, 0.7], [0.7, MASS]], [MASS * G, 0])
    assert np.allclose(whole.accelerations(np.zeros(3), np.zeros(3))[:2], expected)


def test_forces_along_any_velocity():
    """A force on a marker of a part, by virtual power, is that of a System."""
    whole = mg.compose(
        "pushed",
        {"a": arm().equations()},
        inputs=["push"],
        forces={"a.end'": lambda v: [v["push"], 0, 0]},
    )
    s = arm()
    s.force("shove", "end", (s.input("push"), 0, 0))
    plain = s.equations()
    given = [0.4], [0.7]
    found = whole.accelerations(*given, inputs=[3.0])
    assert found == pytest.approx(plain.accelerations(*given, inputs=[3.0]), rel=1e-13)


def test_a_force_may_carry_inertia():
    """A force −m ẍ along x is a mass more."""
    heavy = mg.compose("heavy", [bob()], forces={"x'": lambda v: -0.7 * v["x''"]})
    assert heavy.mass_matrix([0, 0, 0])[0, 0] == pytest.approx(MASS + 0.7)
    assert heavy.accelerations([0, 0, 0], [0, 0, 0])[0] == pytest.approx(MASS * G / (MASS + 0.7))


def test_a_driven_constraint_supplies_power():
    """A particle moved up and down by a function of time: energy balance closes."""
    whole = mg.compose(
        "lift", [bob()], constraints={"drive": lambda v: v["x"] - 0.2 * mg.sin(3 * v["t"])}
    )
    run = whole.simulate(2.0, rtol=1e-10)
    assert np.ptp(run.energy) > 1
    assert np.abs(run.imbalance).max() < 1e-7


# --- inspection -----------------------------------------------------------------------------------


def test_levels_can_be_read():
    equations = pendulum("angles")
    tree = equations.composition
    assert tree.show().splitlines()[0] == (
        "pendulum: 5 speeds, extra theta', phi', 3 rows; free: theta', phi'"
    )
    S = tree.S
    assert (S.rows, S.columns) == (equations.speeds, ("theta'", "phi'"))
    theta, phi = sp.symbols("theta phi")
    found = S.to_sympy()
    assert sp.simplify(found[2, 0] + RADIUS * sp.sin(theta)) == 0
    assert sp.simplify(found[3, 1] + RADIUS * sp.sin(theta) * sp.sin(phi)) == 0
    assert r"\dot{\theta}" in S.latex()
    assert S.show().startswith("S of pendulum")
    assert tree.fbar.rows == ("theta'", "phi'")
    assert tree["bob"].independent == ("x'", "y'", "z'")
    at = state_of_bob(equations)
    assert (tree.A(*at).shape, tree.f(*at).shape) == ((3, 5), (5,))
    with pytest.raises(KeyError, match="has no subsystem 'bab'; it has pendulum, bob"):
        tree["bab"]


def test_singular_configurations_are_named():
    rows = {"pin": lambda v: v["x"] ** 2 + v["y"] ** 2 - 1, "also": lambda v: v["x"] - v["z"]}
    equations = mg.compose("knot", [bob()], constraints=rows)
    assert equations.composition.singular([1.0, 0.0, 1.0]) == {}
    found = equations.composition.singular([0.0, 0.0, 0.0])
    assert found == {"knot": ["pin"]}
    assert equations.composition.complement([1.0, 0.0, 1.0]).shape == (3, 1)


def test_the_numerical_complement_spans_the_same():
    equations = chain("two by two")
    q, u = equations.assemble({"p.0.theta": 0.4, "p.1.theta": -0.7, "r.2.theta": 1.0})
    numeric, S = equations.composition.complement(q, u), equations.composition.S(q, u)
    angles = scipy.linalg.subspace_angles(numeric, S)
    assert angles.max() < 1e-10


# --- bad input ------------------------------------------------------------------------------------


def two(**options):
    return mg.compose("two", {"a": bob(), "b": bob()}, **options)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (
            lambda: mg.compose("w", [bob(), bob()]),
            ModelError,
            "'x' is a name in part 'bob' and in part",
        ),
        (lambda: two(speeds=["a.x'"]), ModelError, "list parts by name"),
        (lambda: two(independent=["a.x'"]), ModelError, "6 speeds are independent here"),
        (lambda: two(independent=["x"] * 6), ModelError, "unknown free speed 'x'"),
        (
            lambda: two(
                constraints={"c": lambda v: v["a.x"] - v["b.x"]},
                independent=["a.x'", "b.x'", "a.y'", "b.y'", "a.z'"],
            ),
            ModelError,
            "do not determine the other speeds",
        ),
        (lambda: two(constraints={"c": lambda v: 1.0}), ModelError, "'c' has no order"),
        (lambda: two(constraints={"c": lambda v: v["t"]}), ModelError, "'c' has no order"),
        (lambda: two(constraints={"c": lambda v: v["a.q"]}), ModelError, "unknown name 'a.q'"),
        (
            lambda: two(constraints={"c": lambda v: mg.variables(["x"])["x"] - v["a.x"]}),
            ModelError,
            "constraint 'c': uses 'x', which is not among the variables of 'two'",
        ),
        (
            lambda: two(inputs=["w"], constraints={"c": lambda v: v["w"] - v["a.x"]}),
            ModelError,
            "must not depend on inputs",
        ),
        (lambda: two(coordinates=["s"]), ModelError, 'there is no speed "s\'"'),
        (lambda: two(forces={"a.x": 1.0}), ModelError, "force along 'a.x': it is no velocity"),
        (lambda: two(forces={"a.place'": 1.0}), ModelError, "has 3 components, the force 1"),
        (lambda: two(complement="magic"), ArgumentError, "unknown complement 'magic'"),
        (lambda: two(reference={"c": 1.0}), ModelError, "unknown coordinate 'c'"),
        (
            lambda: two(speeds={"s": lambda v: v["a.x'"]}, constraints={"s": lambda v: v["a.x"]}),
            ModelError,
            "'s' is a constraint and an extra speed",
        ),
        (lambda: mg.compose("w", 5), ArgumentError, "parts must be a mapping"),
        (lambda: mg.compose(5, [bob()]), ModelError, "first argument of compose is a name, got 5"),
        (lambda: two(independent=3), ModelError, "independent: expected a list of names, got 3"),
        (lambda: two(speeds=3), ModelError, "speeds: expected a list of names, got 3"),
        (lambda: two(inputs="ab"), ModelError, "inputs: expected a list of names, got 'ab'"),
        (lambda: two(coordinates=[3]), ModelError, "coordinates: expected names, got 3"),
        (lambda: two(constraints=[1]), ArgumentError, "constraints must be a mapping of names"),
        (lambda: two(forces=[1]), ArgumentError, "forces must be a mapping of names"),
        (lambda: two(parameters=["a"]), ArgumentError, "parameters must be a mapping of names"),
        (lambda: two(reference={"a.x": "b"}), ArgumentError, "reference of 'a.x' must be a number"),
        (
            lambda: mg.compose("w", {"a": mg.Part(bob(), prefix=3)}),
            ModelError,
            "part 'a': its prefix must be a text, got 3",
        ),
        (
            lambda: mg.compose("w", {"a": mg.Part(bob(), parameters={"m": None})}),
            ArgumentError,
            "parameter 'a.m' must be a number, got None",
        ),
        (lambda: mg.compose("w", [3.0]), ArgumentError, "a part is a System, mg.Equations"),
        (
            lambda: mg.compose("w", {"a": mg.Part(bob(), parameters={"k": 1.0})}),
            ModelError,
            "part 'a': unknown parameter 'k'",
        ),
        (
            lambda: mg.compose(
                "w",
                [
                    mg.leaves.particle(mass=1.0),
                    mg.leaves.dc_motor(),
                    mg.Part(bob(), prefix="b.", parameters={"m": 3.0}),
                    mg.Part(bob(), prefix="b."),
                ],
            ),
            ModelError,
            "'b.x' is a name in part",
        ),
        (
            lambda: mg.leaves.physical(
                mg.variables(["x"], ["x'"]), [1.0], inertia=[[1.0]], forces=[1.0, 2.0]
            ),
            ModelError,
            "need as many forces",
        ),
    ],
)
def test_what_is_wrong_is_told(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_rigid_contacts_are_refused():
    s = mg.System("ball", gravity=(0, 0, -9.81))
    body = s.body("body", mass=1.0, inertia=(1, 1, 1))
    s.free("place", s.ground, body)
    s.rigid_contact("touch", mg.Sphere(body, 0.1), mg.Plane(s.ground))
    with pytest.raises(UnsupportedError, match="switches its rows"):
        mg.compose("w", {"a": s.equations()})


@pytest.mark.parametrize("method", ["svd", "qr"])
@pytest.mark.parametrize("place", [(0.6, 0.3, 0.2), (0.0, 0.6, -0.36)])
def test_complements_are_found_anew_at_a_state(method, place):
    """Also with a row that says the same again, and where the speeds that were named as independent
    are not: at the height of the pivot."""
    place = RADIUS * np.array(place) / np.linalg.norm(place)
    rows = {"sphere": sphere, "again": lambda v: 3 * sphere(v)}
    named = mg.compose("pendulum", [bob()], constraints=rows, independent=["y'", "z'"])
    u = np.cross(place, [0.3, -1.0, 0.7])
    S = named.composition.complement(place, u, method=method)
    assert S.shape == (3, 2)
    assert np.abs(named.composition.full_A(place, u) @ S).max() < 1e-13
    assert np.linalg.cond(S) < 3
    expected = named.solve(place, u)[0]
    found = named.composition.accelerations(place, u, method=method)
    assert np.allclose(found, expected, rtol=0, atol=1e-12 * np.abs(expected).max())
    with pytest.raises(UnsupportedError, match="of the whole"):
        named.composition["bob"].accelerations(place, u)
    with pytest.raises(ArgumentError, match="svd"):
        named.composition.complement(place, u, method="lu")


def parallelogram(**options) -> mg.Equations:
    """Two cranks of length 1 and a coupler of length 2; with all bars in a line rows lose rank."""
    crank, coupler = (
        mg.leaves.planar_body(
            mass=1.0, inertia=0.1, nodes={"a": (-x, 0), "b": (x, 0)}, gravity=(0, -9.81)
        )
        for x in (0.5, 1.0)
    )
    return mg.compose(
        "parallelogram",
        {"left": crank, "right": crank, "coupler": coupler},
        constraints={
            "left base": lambda v: v["left.a"],
            "right base": lambda v: v["right.a"] - mg.leaves.vector([2, 0]),
            "left pin": lambda v: v["left.b"] - v["coupler.a"],
            "right pin": lambda v: v["right.b"] - v["coupler.b"],
        },
        reference={"left.theta": -1.2, "right.theta": -1.2, "right.x": 2.0, "coupler.x": 1.3},
        **options,
    )


def plain_parallelogram() -> mg.System:
    s = mg.System("parallelogram", gravity=(0, -9.81, 0), plane="xy")
    left, right, coupler = (
        s.body(name, mass=1.0, com=(x, 0, 0), inertia=0.1)
        for name, x in (("left", 0.5), ("right", 0.5), ("coupler", 1.0))
    )
    s.revolute("left base", s.ground, left)
    s.revolute("right base", s.ground, right, at=(2, 0, 0))
    s.revolute("left pin", left, coupler, at=(1, 0, 0))
    s.revolute("right pin", coupler, right, at=(2, 0, 0), child_at=(1, 0, 0))
    return s


def swing(times: np.ndarray) -> np.ndarray:
    """The angle of both cranks while the coupler stays level: (2 (I + m/4) + m) θ̈ = −2 m g cos θ,
    by SciPy."""

    def rates(_, y):
        return y[1], -2 * 9.81 * np.cos(y[0]) / 1.7

    done = solve_ivp(rates, (0, times[-1]), (0, 1), "DOP853", times, rtol=1e-12, atol=1e-14)
    return done.y[0]


FLAT = {"left.theta": 0.0, "right.theta": 0.0, "left.theta'": 1.0, "right.theta'": 1.0}


@pytest.mark.filterwarnings("ignore:at t = 0 the accelerations are known")
def test_a_run_out_of_a_singular_position():
    """With all bars in a line there is one freedom more: a complement that is found there knows it,
    as the closure of the plain twin does; one that was chosen elsewhere says that it is none."""
    places = {"left.x": 0.5, "right.x": 2.5, "coupler.x": 2.0}
    equations = parallelogram(complement="pivoted")
    q, u = equations.assemble(FLAT, guess=places)
    assert "parallelogram" in equations.composition.singular(q)
    kernel = equations.numeric.evaluate("udot", lambda: equations.numeric.closed.udot, 1, q, u)
    svd = equations.composition.accelerations(q, u, method="svd")
    assert np.allclose(kernel, svd, rtol=0, atol=1e-12 * np.abs(svd).max())
    run = equations.simulate(1.5, FLAT, guess=places, rtol=1e-10)  # it falls back through it, too
    start = {"left base": 0.0, "right base": 0.0, "left base'": 1.0, "right base'": 1.0}
    plain = plain_parallelogram().equations().simulate(0.15, start, rtol=1e-10)
    for moved, left, right in (
        (run, "left.theta", "right.theta"),
        (plain, "left base", "right base"),
    ):
        exact = swing(moved.time)
        assert np.allclose(moved[left], exact, rtol=0, atol=1e-8)
        assert np.allclose(moved[right], exact, rtol=0, atol=1e-8)
    for options in ({}, {"independent": ["left.theta'"]}):
        with pytest.raises(mg.SimulationError, match=r"no complement there.*complement='pivoted'"):
            parallelogram(**options).simulate(1.5, FLAT, guess=places)


def circle(v):
    return v["x"] ** 2 + v["y"] ** 2 - 0.49


def test_rows_of_which_others_are_independent_elsewhere():
    """x φ = 0 says nothing at x = 0, y φ = 0 nothing at y = 0."""
    rows = {"x": lambda v: v["x"] * circle(v), "y": lambda v: v["y"] * circle(v)}
    bob = mg.leaves.particle("bob", mass=1.3, gravity=(0, -9.81), plane=True)

    def made(constraints, **options):
        reference = {"x": 0.5, "y": -0.5}
        return mg.compose("p", [bob], constraints=constraints, reference=reference, **options)

    lowest = {"x": 0.0, "y": -0.7, "x'": 2.0, "y'": 0.0}
    expected = made({"circle": circle}).simulate(1.0, lowest, rtol=1e-10)
    run = made(rows, complement="pivoted").simulate(1.0, lowest, rtol=1e-10)
    assert np.allclose(run["x"], expected["x"], rtol=0, atol=1e-8)
    with pytest.raises(mg.SimulationError, match="no complement there"):
        made(rows).simulate(1.0, lowest)
    aside = {"x": 0.7, "y": 0.0, "x'": 0.0, "y'": 0.0}  # where y' does not follow from x'
    with pytest.raises(mg.SimulationError, match='do not leave "x\'" free'):
        made(rows, independent=["x'"]).simulate(1.0, aside)


def test_forces_of_accelerations_keep_the_balance_of_energy():
    """Inertia that depends on the place: T has ½ uᵀM⊕u."""

    def heavy(v):
        return -2 * (1 + v["x"] ** 2) * v["x''"] - 2 * v["x"] * v["x'"] ** 2 - 5 * v["x"]

    equations = mg.compose(
        "heavy", [mg.leaves.particle(mass=1.0, plane=True)], forces={"x'": heavy}
    )
    run = equations.simulate(2.0, {"x": 1.0, "y'": 1.0}, rtol=1e-10)
    spent = run.kinetic + 2.5 * run["x"] ** 2
    assert np.abs(run.imbalance).max() < 1e-7
    assert np.abs(spent - spent[0]).max() < 1e-7
    x, rate = run["x"], run["x'"]
    assert np.allclose(run.kinetic, (3 + 2 * x**2) / 2 * rate**2 + 0.5)


# --- cost -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", ["five_bar", "three_rrr"])
def test_composed_kernels_have_no_more_operations_than_plain_ones(mechanism, monkeypatch):
    """With independent speeds that are named, and with the choice left open: u̇, u̇ with its check,
    and the way back to the constraints."""
    benchmarks = Path(__file__).parents[2] / "benchmarks"
    monkeypatch.syspath_prepend(str(benchmarks))
    models = runpy.run_path(str(benchmarks / "composition.py"))[mechanism]()
    *composed, plain = [model.operations() for model in models]
    assert [model.name for model in models] == ["composed, named", "composed, open", "plain"]
    assert all(
        mine <= theirs for each in composed for mine, theirs in zip(each, plain, strict=True)
    )


def test_parts_of_the_same_name_have_matrices_of_their_own():
    whole = mg.compose("bob", [bob()], constraints={"s": lambda v: v["x"] - v["y"]})
    (part,) = whole.composition.parts.values()
    at = [0.0, 0.0, 0.0]
    assert (whole.composition.S(at).shape, part.S(at).shape) == ((3, 2), (3, 3))


def test_rows_may_have_labels():
    rows = {"pin": lambda v: {"across": v["x"] - v["y"], "up": v["z"]}}
    whole = mg.compose("bob", [bob()], constraints=rows)
    assert whole.constraints == ("pin: across", "pin: up")
