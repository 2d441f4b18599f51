"""The equations in other programs: JAX, PyTorch, NumPy, CasADi; trees in URDF and MJCF."""

from __future__ import annotations

import importlib.util
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
from mechgraph.formats import arrays

jax.config.update("jax_enable_x64", True)
SYSTEMS = ("acrobot", "fourbar", "rattleback")


def _state(equations: mg.Equations, count: int = 3) -> list[np.ndarray]:
    random = np.random.default_rng(4)
    sizes = (len(equations.coordinates), len(equations.speeds), len(equations.inputs))
    q, u, w = (random.uniform(0.1, 0.9, (count, size)) for size in sizes)
    p = np.array(equations.terms.symbols.defaults)
    return [q, u, random.uniform(0, 1, count), w, p]


def _exact(equations: mg.Equations, name: str, state: list[np.ndarray]) -> np.ndarray:
    f = arrays.casadi_functions(equations)[name]
    q, u, t, w, p = state
    values = [np.array(f(q[k], u[k], t[k], w[k], p)) for k in range(len(t))]
    return np.stack([v.ravel() if f.size_out(0)[1] == 1 else v for v in values])


@pytest.mark.parametrize("name", SYSTEMS)
def test_jax_has_the_same_values_and_derivatives(name):
    equations = gallery.load(name).system().equations()
    state, made = _state(equations), equations.to_jax()
    for key, function in made.items():
        exact = _exact(equations, key, state)
        found = np.asarray(function(*state))
        assert found.shape == exact.shape
        np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12 * np.abs(exact).max())
    one = [x[0] for x in state[:4]]
    found = jax.jacobian(made["accelerations"], argnums=(0, 1))(*one, state[4])
    s = equations.terms.symbols
    udot = equations.numeric.closed.udot
    J = ca.Function(
        "J", [s.q, s.u, s.t, s.w, s.p], [ca.jacobian(udot, s.q), ca.jacobian(udot, s.u)]
    )
    for own, exact in zip(found, map(np.array, J(*one, state[4])), strict=True):
        np.testing.assert_allclose(own, exact, rtol=1e-10, atol=1e-12 * np.abs(exact).max())


@pytest.mark.parametrize("name", ["fourbar", "acrobot"])
def test_torch_has_the_same_values_and_derivatives(name):
    torch = pytest.importorskip("torch", reason="PyTorch is large, and not among the test extras")
    equations = gallery.load(name).system().equations()
    state, made = _state(equations), equations.to_torch()
    for key, function in made.items():
        exact = _exact(equations, key, state)
        np.testing.assert_allclose(
            function(*state).numpy(), exact, rtol=1e-12, atol=1e-12 * np.abs(exact).max()
        )
    q = torch.tensor(state[0], requires_grad=True)
    made["accelerations"](q, *state[1:]).sum().backward()
    J = jax.vmap(jax.jacobian(equations.to_jax()["accelerations"]), (0, 0, 0, 0, None))(*state)
    exact = np.asarray(J).sum(axis=1)
    np.testing.assert_allclose(q.grad.numpy(), exact, rtol=1e-10, atol=1e-11 * np.abs(exact).max())


@pytest.mark.parametrize("name", SYSTEMS)
def test_a_module_of_numpy_has_the_same_values(name, tmp_path):
    equations = gallery.load(name).system().equations()
    (path,) = equations.export(tmp_path / "model.py")
    assert "mechgraph" not in path.read_text()
    spec = importlib.util.spec_from_file_location("model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    state = _state(equations)
    assert tuple(module.COORDINATES) == equations.coordinates
    for key in arrays.exported(equations):
        found, exact = getattr(module, key)(*state), _exact(equations, key, state)
        np.testing.assert_allclose(found, exact, rtol=1e-12, atol=1e-12 * np.abs(exact).max())


def test_casadi_functions_are_saved(tmp_path):
    equations = gallery.load("fourbar").system().equations()
    (path,) = equations.export(tmp_path / "model.casadi")
    f, state = ca.Function.load(str(path)), _state(equations, 1)
    found = f.call(dict(zip("qutwp", (*(x[0] for x in state[:4]), state[4]), strict=True)))
    exact = _exact(equations, "accelerations", state)[0]
    np.testing.assert_array_equal(np.array(found["accelerations"]).ravel(), exact)
    with pytest.raises(mg.ArgumentError, match=r"end in \.c, \.casadi, \.py"):
        equations.export(tmp_path / "model.exe")


def test_wrong_shapes_are_told():
    equations = gallery.load("fourbar").system().equations()
    with pytest.raises(mg.ArgumentError, match="q must have 3 numbers"):
        equations.to_jax()["accelerations"](np.zeros(4))


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


def test_what_the_formats_cannot_say_is_told(tmp_path):
    with pytest.raises(mg.UnsupportedError, match="close loops"):
        gallery.load("fourbar").system().save(tmp_path / "loop.urdf")
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
