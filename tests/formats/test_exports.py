"""The equations in other programs: JAX, PyTorch, NumPy, CasADi; trees in URDF and MJCF."""

from __future__ import annotations

import importlib.util
import re
import warnings
from pathlib import Path

import casadi as ca
import jax
import mujoco
import numpy as np
import pinocchio as pin
import pytest

import mechgraph as mg
from mechgraph import gallery
from random_systems import every_function

jax.config.update("jax_enable_x64", True)


def tables() -> mg.System:
    """Tables of every kind over one and two numbers, and derivatives of them (a servo)."""
    s = mg.System("tables", gravity=(0, 0, -9.81))
    rod = s.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.02))
    slide = s.body("slide", mass=0.5, inertia=(0.1, 0.1, 0.1))
    s.revolute("hinge", s.ground, rod, axis="y")
    s.prismatic("rail", s.ground, slide, axis="x")
    x = np.array([-2.0, -0.3, 0.2, 0.5, 0.8, 2.0])
    y = np.array([1.0, 0.3, -0.4, 0.7, 0.1, 1.0])
    kinds = {"linear": "hold", "hold": "extend", "monotone": "repeat", "smooth": "extend"}
    for kind, outside in kinds.items():
        f = mg.table(x, y, kind=kind, outside=outside, name=kind)
        s.torque(kind, "hinge", lambda m, f=f: f(3 * m.coordinate("hinge")))
    for kind, outside in {"linear": "hold", "hold": "extend", "smooth": "extend"}.items():
        z = np.outer(y, y[:4]) + x[:, None]
        g = mg.table(x, x[:4], z, kind=kind, outside=outside, name=f"grid_{kind}")
        law = lambda m, g=g: g(2 * m.coordinate("hinge"), m.speed("rail"))  # noqa: E731
        s.force(f"grid {kind}", slide, lambda m, law=law: law(m) * m.axis("slide", "x"))
    s.servo("drive", "rail", mg.spline(x, y, outside="extend")(s.time))
    return s


def _equations(name: str) -> mg.Equations:
    if name == "functions":
        return every_function()
    return (tables() if name == "tables" else gallery.load(name).system()).equations()


SYSTEMS = ("acrobot", "fourbar", "rattleback", "tables", "functions")


def _state(equations: mg.Equations, count: int = 3) -> dict[str, np.ndarray]:
    random = np.random.default_rng(4)
    names = {
        "q": equations.coordinates, "u": equations.speeds, "udot": equations.speeds,
        "w": equations.inputs,
    }  # fmt: skip
    state = {key: random.uniform(0.1, 0.9, (count, len(own))) for key, own in names.items()}
    return state | {
        "t": random.uniform(0, 1, count),
        "p": np.array(equations.terms.symbols.defaults),
    }


def _given(f: ca.Function, state: dict[str, np.ndarray]) -> list[np.ndarray]:
    return [state[name] for name in f.name_in()]


def _exact(f: ca.Function, state: dict[str, np.ndarray]) -> np.ndarray:
    """Values of a CasADi function at every state."""
    rows = [{n: v if n == "p" else v[k] for n, v in state.items()} for k in range(len(state["t"]))]
    values = [np.array(f(*_given(f, row))) for row in rows]
    return np.stack([v.ravel() if f.size_out(0)[1] == 1 else v for v in values])


@pytest.mark.parametrize("name", ["acrobot", "fourbar", "tables", "functions"])
def test_jax_has_the_same_values_and_derivatives(name):
    equations = _equations(name)
    exact_ones = equations.to_casadi(["accelerations", "efforts"])
    state, made = _state(equations), equations.to_jax([*exact_ones])
    for key, f in exact_ones.items():
        exact, found = _exact(f, state), np.asarray(made[key](*_given(f, state)))
        assert found.shape == exact.shape
        np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12 * np.abs(exact).max())
    f = exact_ones["accelerations"]
    one = [v if n == "p" else v[0] for n, v in zip(f.name_in(), _given(f, state), strict=True)]
    slopes = jax.jacobian(made["accelerations"], argnums=(0, 1))
    found = np.hstack((slopes if name == "fourbar" else jax.jit(slopes))(*one))
    exact = _exact(equations.to_casadi(["accelerations_jacobian"])["accelerations_jacobian"], state)
    exact = exact[0, :, : found.shape[1]]
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12 * np.abs(exact).max())


@pytest.mark.parametrize("name", SYSTEMS)
def test_torch_has_the_same_values_and_derivatives(name):
    torch = pytest.importorskip("torch", reason="PyTorch is large, and not among the test extras")
    equations = _equations(name)
    state, made = _state(equations), equations.to_torch()
    exact_ones = equations.to_casadi()
    for key, f in exact_ones.items():
        exact, found = _exact(f, state), made[key](*_given(f, state)).numpy()
        np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12 * np.abs(exact).max())
    q, u = (torch.tensor(state[key], requires_grad=True) for key in "qu")
    made["accelerations"](q, u, state["t"], state["w"], state["p"]).sum().backward()
    found = np.hstack([q.grad.numpy(), u.grad.numpy()])
    (J,) = equations.to_casadi(["accelerations_jacobian"]).values()
    exact = _exact(J, state).sum(axis=1)[:, : found.shape[1]]
    np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12 * np.abs(exact).max())


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_module_of_numpy_has_the_same_values(name, tmp_path):
    equations = _equations(name)
    (path,) = equations.export(tmp_path / "model.py")
    assert "mechgraph" not in path.read_text()
    spec = importlib.util.spec_from_file_location("model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    state = _state(equations)
    assert tuple(module.COORDINATES) == equations.coordinates
    for key, f in equations.to_casadi().items():
        found, exact = getattr(module, key)(*_given(f, state)), _exact(f, state)
        np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12 * np.abs(exact).max())
    if name == "functions":  # no number at rest
        return
    alone = module.accelerations(state["q"][0])
    expected = equations.accelerations(state["q"][0], 0 * state["u"][0])
    np.testing.assert_allclose(alone, expected, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("name", ["fourbar", "tables"])
def test_casadi_functions_are_saved(name, tmp_path):
    equations = _equations(name)
    (path,) = equations.export(tmp_path / "model.casadi")
    f, state = ca.Function.load(str(path)), _state(equations, 1)
    found = f.call({key: v if key == "p" else v[0] for key, v in state.items()})
    for key, own in equations.to_casadi().items():
        exact = _exact(own, state)[0]
        np.testing.assert_array_equal(np.array(found[key]).reshape(exact.shape), exact)
    equations.export(path, functions=["accelerations"])
    assert ca.Function.load(str(path)).name_out() == ["accelerations"]
    with pytest.raises(mg.ArgumentError, match=r"end in \.c, \.casadi, \.py"):
        equations.export(tmp_path / "model.exe")
    with pytest.raises(mg.ArgumentError, match="whole model; leave out functions"):
        equations.export(tmp_path / "model.fmu", functions=["accelerations"])
    with pytest.raises(mg.ArgumentError, match="begin nowhere; leave out start, duration"):
        equations.export(tmp_path / "model.c", start={}, duration=1.0)


def test_wrong_shapes_are_told():
    equations = gallery.load("fourbar").system().equations()
    with pytest.raises(mg.ArgumentError, match="q must have 3 numbers"):
        equations.to_jax(["accelerations"])["accelerations"](np.zeros(4))
    for wrong in ({}, {"q": np.zeros(3), "x": 1}):
        with pytest.raises(mg.ArgumentError, match=r"efforts takes \(q, u, udot, t, w, p\)"):
            equations.to_jax(["efforts"])["efforts"](**wrong)


# --- what goes where ------------------------------------------------------------------------------


def _pendulum(name: str = "pendulum") -> tuple[mg.System, mg.Body]:
    s = mg.System(name, gravity=(0, 0, -9.81))
    return s, s.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.02))


def _hinged(law=None) -> mg.System:
    s, rod = _pendulum()
    s.revolute("hinge", s.ground, rod, axis="y", damping=s.parameter("damping", 0.1))
    s.torque("motor", "hinge", s.input("torque"))
    s.output("height", lambda m: m.position("rod")[2])
    if law is not None:
        s.torque("law", "hinge", lambda m: law(m.coordinate("hinge")))
    return s


def _ball() -> mg.System:
    s, rod = _pendulum()
    s.spherical("ball", s.ground, rod)
    return s


def _dropped(word: str) -> mg.System:
    s, rod = _pendulum()
    s.prismatic("drop", s.ground, rod, axis="z")
    stiff = {"stiffness": 1e3} if word == "compliant_contact" else {}
    getattr(s, word)("floor", mg.Sphere(rod, 0.1), mg.Plane(s.ground), **stiff)
    return s


grid = mg.table([-1, 0, 1], [-1, 1], [[0, 1], [2, 3], [1, 1]])
foreign = ca.interpolant("f", "linear", [[0.0, 1.0, 2.0]], [0.0, 1.0, 4.0])
ROWS = {
    "trees, parameters, inputs, outputs": _hinged,
    "balls (quaternions)": _ball,
    "loops and other constraints": lambda: gallery.load("fourbar").system(),
    "conditions, kinks, compliant contacts": lambda: _dropped("compliant_contact"),
    "tables over one number": lambda: _hinged(mg.spline([-1, 0, 1], [1, 0, 2])),
    "tables over two numbers": lambda: _hinged(lambda q: grid(q, 2 * q)),
    "equations written down by hand": lambda: every_function(),
    "rigid contacts, stops, joints that stick": lambda: _dropped("rigid_contact"),
    "functions of CasADi's own (`interpolant`)": lambda: _hinged(lambda q: foreign(q)),
}
COLUMNS = {
    "`.c`": lambda e, path: e.export_c(path / "model"),
    "`.c` float": lambda e, path: e.export_c(path / "model", "float"),
    "`.casadi`": lambda e, path: e.export(path / "model.casadi"),
    "`.py`": lambda e, path: e.export(path / "model.py"),
    "JAX, PyTorch": lambda e, path: e.to_jax(),
    "`.fmu`": lambda e, path: e.export(path / "model.fmu"),
    "`.mo`": lambda e, path: e.export(path / "own.mo"),
}


def _cell(equations: mg.Equations, column: str, path: Path) -> str:
    try:
        made = COLUMNS[column](equations, path)
    except mg.UnsupportedError as error:
        return "no" if re.search("use a|export C or|write it with", str(error)) else "no, but why?"
    if ".c`" in column and "_step(" not in made[0].read_text():
        return "no step"
    return "yes"


def test_the_table_of_exports_is_true(tmp_path, monkeypatch):
    """docs/exports.md tells for every export what it carries."""
    monkeypatch.setenv("MECHGRAPH_CC", "none")  # an FMU is its source
    text = (Path(__file__).parents[2] / "docs" / "exports.md").read_text(encoding="utf-8")
    head, _, *rows = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in text.split("## What goes where")[1].splitlines()
        if line.startswith("|")
    ]
    assert head[1:] == [*COLUMNS]
    assert [row[0] for row in rows] == [*ROWS]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # no machine code
        for feature, *stated in rows:
            made = ROWS[feature]()
            equations = made.equations() if isinstance(made, mg.System) else made
            found = [_cell(equations, column, tmp_path) for column in COLUMNS]
            assert found == stated, feature


# --- trees ----------------------------------------------------------------------------------------


def _tree(balls: bool) -> mg.System:
    """A tree with skew frames, joints walked both ways, a branch, and what joints are built of."""
    random = np.random.default_rng(5)
    s = mg.System("tree", gravity=(0.3, 0.2, -9.81))
    bodies = []
    for k in range(6):
        A = random.normal(size=(3, 3))
        S = A @ A.T
        inertia = np.trace(S) * np.eye(3) - S
        bodies.append(s.body(f"body {k}", mass=1.0 + k, com=random.normal(size=3), inertia=inertia))
    place = lambda: {  # noqa: E731
        "at": random.normal(size=3), "child_at": random.normal(size=3),
        "orientation": [("z", random.normal()), ("x", random.normal())],
        "child_orientation": [("y", random.normal()), ("z", random.normal())],
    }  # fmt: skip
    s.revolute("a", s.ground, bodies[0], axis="y", damping=0.3, **place())
    s.prismatic("b", bodies[1], bodies[0], axis=(0.6, 0, 0.8), **place())  # walked backwards
    s.revolute("c", bodies[1], bodies[2], axis="-x", limits=(-2.0, 3.0), friction=0.2, **place())
    s.revolute("d", bodies[3], bodies[1], axis="z", **place())
    s.fixed("e", bodies[3], bodies[4], **place())
    s.free("f", s.ground, bodies[5])
    if balls:
        ball = s.body("ball", mass=1.0, com=(0.1, 0.2, 0.3), inertia=(1, 1.2, 1.5))
        s.spherical("g", bodies[2], ball, **place())
    s.marker("tip", bodies[4], at=(1, 2, 3), orientation=[("x", 0.3)])
    return s


def _same(one: mg.System, other: mg.System) -> None:
    """The same matrices, forces and places, by the names of joints."""
    a, b = one.equations(), other.equations()
    random = np.random.default_rng(6)
    values = dict(zip(a.coordinates, random.uniform(-0.8, 0.8, len(a.coordinates)), strict=True))
    speeds = dict(zip(a.speeds, random.uniform(-1, 1, len(a.speeds)), strict=True))
    order = [a.speeds.index(name) for name in b.speeds]
    states = []
    for e in (a, b):
        q = np.array([values[name] for name in e.coordinates])
        quaternions = [name for name in e.coordinates if name.endswith(".q0")]
        for name in quaternions:
            k = e.coordinates.index(name)
            q[k : k + 4] /= np.linalg.norm(q[k : k + 4])
        states.append((q, np.array([speeds[name] for name in e.speeds])))
    M = a.mass_matrix(states[0][0])[np.ix_(order, order)]
    np.testing.assert_allclose(b.mass_matrix(states[1][0]), M, rtol=1e-9, atol=1e-9)
    f = a.forces(*states[0])[order]
    np.testing.assert_allclose(b.forces(*states[1]), f, rtol=1e-9, atol=1e-9 * np.abs(f).max())
    tips = [
        e.observe(lambda m: m.position("tip"), *state)
        for e, state in zip((a, b), states, strict=True)
    ]
    np.testing.assert_allclose(tips[0], tips[1], rtol=1e-9, atol=1e-9)


def test_a_tree_goes_to_urdf_and_back(tmp_path):
    tree = _tree(balls=False)
    path = tree.save(tmp_path / "tree.urdf")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _same(tree, mg.from_urdf(path, limits=True, friction=True, gravity=(0.3, 0.2, -9.81)))
    model = pin.buildModelFromUrdf(str(path))
    assert model.nv == len(tree.equations().speeds)


def test_a_tree_goes_to_mjcf_and_back(tmp_path):
    tree = _tree(balls=True)
    path = tree.save(tmp_path / "tree.xml")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _same(tree, mg.from_mjcf(path, limits=True, friction=True))
    assert mujoco.MjModel.from_xml_path(str(path)).nv == len(tree.equations().speeds)


def _closed() -> mg.System:
    """Loops that a hinge, a ball and a fixed joint close where they are not at the reference, and
    couplings of one, two and three joints."""
    s = mg.System("closed", gravity=(0.3, 0.2, -9.81))
    bars = [
        s.body(f"bar {k}", mass=1.0 + int(k), com=(0.4, 0.1, 0), inertia=(1, 1, 1)) for k in "01234"
    ]
    s.revolute("a", s.ground, bars[0], axis="z", armature=0.3)
    s.revolute("b", bars[0], bars[1], axis="z", at=(1, 0, 0), child_at=(0, 0, 0.1))
    s.revolute("c", s.ground, bars[2], axis="z", at=(1.5, 0, 0), child_orientation=[("x", 0.2)])
    below = (1, 0.1 * np.sin(0.2), -0.1 * np.cos(0.2))
    hinge = {"at": (1.2, 0, 0), "child_at": below, "child_orientation": [("x", 0.2)]}
    s.revolute("hinge", bars[1], bars[2], axis="z", **hinge, cut=True)
    s.prismatic("d", s.ground, bars[3], axis=(0.6, 0, 0.8), at=(0, 3, 0))
    s.revolute("e", bars[3], bars[4], axis="y")
    weight = s.body("weight", mass=1.0, com=(0.1, 0, 0), inertia=(1, 1.2, 1.5))
    s.free("f", s.ground, weight)
    s.spherical("ball", bars[4], weight, at=(0.3, 0.1, 0), child_at=(0, 0.2, 0.4), cut=True)
    rider = s.body("rider", mass=0.5, com=(0, 0.1, 0), inertia=(1, 1, 1))
    s.revolute("g", s.ground, rider, axis="z", child_at=(0, 0.1, 0))
    s.fixed("glue", bars[0], rider, at=(0.3, 0.1, 0), child_at=(0.3, 0.2, 0), cut=True)
    s.coupling("gear", {"d": 2.0, "a": -0.5}, 0.3)
    for letter in "hijk":
        wheel = s.body(f"wheel {letter}", mass=1.0, inertia=(1, 1, 1))
        s.revolute(letter, s.ground, wheel, axis="x")
    s.coupling("differential", {"h": 1.0, "i": 2.0, "j": -1.5}, 0.2)
    s.coupling("still", {"k": 2.0}, 0.5)
    s.marker("tip", weight, at=(1, 2, 3))
    return s


def test_loops_and_couplings_go_to_mjcf_and_back(tmp_path):
    closed = _closed()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        path = closed.save(tmp_path / "closed.xml")
        again = mg.from_mjcf(path, contacts="none")
    a, b = closed.equations(), again.equations()
    given = {"a": 0.4, "a'": 1.2, "e": 0.3, "e'": -0.7, "h": 0.2, "i'": 0.5}
    q, u = a.assemble(given, guess={"b": 1.0, "c": 1.3})
    places, rates = dict(zip(a.coordinates, q, strict=True)), dict(zip(a.speeds, u, strict=True))
    other = [places[key] for key in b.coordinates], [rates[key] for key in b.speeds]
    assert np.abs(b.position_violation(other[0])).max() < 1e-9
    assert np.abs(b.velocity_violation(*other)).max() < 1e-9
    np.testing.assert_allclose(b.observe("tip", *other), a.observe("tip", q, u), rtol=1e-9)
    exact = dict(zip(a.speeds, a.solve(q, u)[0], strict=True))
    wanted = [exact[key] for key in b.speeds]
    np.testing.assert_allclose(b.solve(*other)[0], wanted, rtol=1e-8, atol=1e-8)
    model = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    for k in range(model.njnt):
        joint, first = model.joint(k), int(model.jnt_qposadr[k])
        own = a.terms.chart.joint_coordinates[joint.name]
        data.qpos[first : first + len(own)] = q[list(own)]
    mujoco.mj_forward(model, data)
    assert data.ne == 2 * 3 + 3 + 6 + 3
    assert np.abs(data.efc_pos[: data.ne]).max() < 1e-9


def test_what_mujoco_wants_of_inertia_is_told(tmp_path):
    s = mg.System("thin", gravity=(0, 0, -9.81))
    rod = s.body("rod", mass=2.0, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1))
    s.revolute("a", s.ground, rod, axis="y")
    s.revolute("b", rod, s.body("bob", mass=1.0, inertia=0), axis="y", at=(1, 0, 0))
    with pytest.warns(UserWarning, match=r"of 'rod' \(2e-10 kg m².*of 'bob' \(1e-10 kg"):
        path = s.save(tmp_path / "thin.xml")
    again = mg.from_mjcf(path).equations()
    M = s.equations().mass_matrix([0.2, 0.3])
    np.testing.assert_allclose(again.mass_matrix([0.2, 0.3]), M, atol=1e-9)
    s.revolute("c", rod, s.frame("weightless"), axis="x")
    with pytest.warns(UserWarning, match="no mass of 'weightless', which moves"):
        s.save(tmp_path / "thin.xml")


def test_couplings_of_two_joints_go_to_urdf_as_mimic_joints(tmp_path):
    s = mg.System("gears", gravity=(0, 0, -9.81))
    for letter in "abc":
        rod = s.body(f"rod {letter}", mass=1.0, com=(0.1, 0, 0), inertia=(1, 1, 1))
        s.revolute(letter, s.ground, rod, axis="y")
    s.coupling("one", {"a": 2.0, "b": -0.5}, 0.3)
    s.coupling("two", {"a": 1.0, "c": 3.0}, -0.1)
    s.coupling("three", {"a": 1.0, "b": 3.0, "c": 1.0})
    with pytest.warns(UserWarning, match="no word for coupling 'three'$"):
        path = s.save(tmp_path / "gears.urdf")
    again = mg.from_urdf(path).equations()
    q, _ = again.assemble({"a": 0.2})
    place = dict(zip(again.coordinates, q, strict=True))
    assert 2 * 0.2 - 0.5 * place["b"] == pytest.approx(0.3, abs=1e-12)
    assert 0.2 + 3 * place["c"] == pytest.approx(-0.1, abs=1e-12)


def test_what_the_formats_cannot_say_is_told(tmp_path):
    with pytest.raises(mg.UnsupportedError, match="close loops"):
        gallery.load("fourbar").system().save(tmp_path / "loop.urdf")
    with pytest.raises(mg.UnsupportedError, match="closes loops by revolute, spherical, fixed"):
        gallery.load("whitworth").system().save(tmp_path / "loop.xml")
    s = mg.System("s")
    rod = s.body("rod", mass=1.0, inertia=(1, 1, 1))
    s.universal("hook", s.ground, rod)
    with pytest.raises(mg.UnsupportedError, match="hook"):
        s.save(tmp_path / "hook.xml")
    s = mg.System("s")
    rod = s.body("rod", mass=1.0, inertia=(1, 1, 1))
    s.revolute("a", s.ground, rod, stiffness=3.0)
    s.force("push", rod, (1, 0, 0))
    with pytest.warns(UserWarning, match="'push'") as caught:
        s.save(tmp_path / "pushed.urdf")
    assert "stiffness of 'a'" in str(caught[0].message)
    assert not list(Path(tmp_path).glob("loop*"))
