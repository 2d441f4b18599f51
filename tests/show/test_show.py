"""What people see: description, equations, plots, animation, report, agreement."""

from __future__ import annotations

import base64
import json
import re
from html.parser import HTMLParser
from itertools import combinations

import casadi as ca
import matplotlib.pyplot as plt
import numpy as np
import pytest
import sympy as sp
from PIL import Image

import mechgraph as mg
from measure import IN_SPACE
from mechgraph import gallery
from mechgraph.formalisms import absolute
from mechgraph.graph import trace
from mechgraph.motion.absolute import absolute_chart
from mechgraph.show import names, rasteriser
from mechgraph.show.expressions import Plain
from mechgraph.show.graph import network
from mechgraph.show.latex import equations_latex
from mechgraph.show.normal_form import NormalForm
from mechgraph.show.readable import equations_text, to_sympy
from mechgraph.show.scene import scene_of
from mechgraph.show.shapes import Rod, facets_of
from mechgraph.studies import agreement as agreement_module
from mechgraph.studies.agreement import agreement, random_states
from random_systems import random_tree


def four_bar(coupler: float = 4.0) -> mg.System:
    """The planar four-bar of spatial revolutes: five rows close it, three of them redundant."""
    s = mg.System("four-bar", gravity=(0, 0, -9.8))
    A, B, C = (s.body(name, mass=20, com=(2, 0, 0), inertia=(0.2, 26, 26)) for name in "ABC")
    s.revolute("qA", s.ground, A, axis="y")
    s.revolute("qB", A, B, axis="y", at=(4, 0, 0))
    s.revolute("qC", s.ground, C, axis="y", at=(-2, 0, 0))
    s.revolute("close", B, C, axis="y", at=(coupler, 0, 0), child_at=(4, 0, 0))
    return s


def double_pendulum() -> mg.System:
    """Two point masses m on rods l, with the textbook's parameters."""
    s = mg.System("double pendulum")
    m, length, g = s.parameter("m", 1.2), s.parameter("l", 0.7), s.parameter("g", 9.81)
    s.gravity = ca.vertcat(0, 0, -g)
    upper = s.body("upper", mass=m, com=(0, 0, -length), inertia=0)
    lower = s.body("lower", mass=m, com=(0, 0, -length), inertia=0)
    s.revolute("theta1", s.ground, upper, axis="y")
    s.revolute("theta2", upper, lower, axis="y", at=(0, 0, -length))
    s.marker("tip", lower, at=(0, 0, -length))
    return s


def chain(count: int) -> mg.System:
    s = mg.System(f"chain of {count}")
    last = s.ground
    for k in range(count):
        body = s.body(f"b{k}", mass=1, com=(0.5, 0, 0), inertia=(0.1, 0.1, 0.1))
        s.revolute(f"j{k}", last, body, axis="xyz"[k % 3], at=(1, 0, 0))
        last = body
    return s


@pytest.fixture(scope="module")
def loop_run() -> mg.Trajectory:
    return (
        four_bar().equations().simulate(0.5, {"qA": 1.3, "qA'": 3.0}, guess={"qB": 1.8}, step=0.02)
    )


@pytest.fixture(scope="module")
def hostile_run() -> mg.Trajectory:
    """Names that would break a page, a formula or a plot if they were not escaped."""
    s = mg.System("</script><b>&'\"__DATA__ __BODY__ $x", gravity=(0, -9.81, 0))
    body = s.body("<i>body_{1}$", mass=1.0, com=(0, -0.5, 0), inertia=(0.02, 0.01, 0.02))
    s.revolute("</td>_hinge", s.ground, body, axis="z")
    return s.equations().simulate(0.3, {"</td>_hinge": 1.0}, step=0.05)


# --- description ----------------------------------------------------------------------------------


@pytest.mark.smoke
def test_description_of_a_loop_names_its_redundant_rows() -> None:
    text = four_bar().describe()
    assert "6·3 − 20 (joints) = -2" in text
    assert "numerical    1\n" in text
    assert "redundant    3 of 5 rows: close: position y, close: tilt 1, close: tilt 2" in text
    assert "around: close → qC → qA → qB" in text
    assert "└─ B   by 'qB' (revolute)" in text
    assert "A   1 -1  ·     1  1  ·" in text  # a row of S and of its inverse


def test_description_lists_everything_that_hangs_on_the_graph() -> None:
    s = double_pendulum()
    s.torque("motor", "theta2", s.input("effort"))
    s.servo("drive", "theta1", 0.1 * mg.sin(s.time))
    text = s.describe()
    for part in (
        "m = 1.2 kg",
        "markers: tip",
        "inputs       effort",
        "m = 1.2, l = 0.7, g = 9.81",
        "motor (torque) on theta2",
        "drive (1 row)",
        "6·2 − 10 (joints) − 1 (constraints) = 1",
        "theta1', theta2'",
        "-g = -9.81",
    ):
        assert part in text, part


def test_description_says_so_if_assembly_fails() -> None:
    text = four_bar(coupler=40.0).describe()
    assert "unknown, because assembly failed" in text
    assert "close: position x" in text.split("assembly failed")[1]


def test_description_tells_a_singular_reference_from_the_generic_mobility() -> None:
    s = mg.System("flat parallelogram")
    left, top, right = (
        s.body(n, mass=1, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1)) for n in ("left", "top", "right")
    )
    s.revolute("a", s.ground, left, axis="z")
    s.revolute("b", left, top, axis="z", at=(1, 0, 0))
    s.revolute("c", s.ground, right, axis="z", at=(2, 0, 0))
    s.revolute("d", top, right, axis="z", at=(2, 0, 0), child_at=(1, 0, 0))
    assert "numerical    1; 2 at the reference configuration, which is singular" in s.describe()


def test_description_of_a_large_system_leaves_the_matrices_out() -> None:
    assert "14 by 14; see system.topology().incidence" in chain(14).describe()


def test_description_of_a_wrong_model_raises_with_all_problems() -> None:
    s = mg.System("wrong")
    s.body("a", mass=-1, inertia=0)
    s.body("b", mass=1, inertia=0)
    with pytest.raises(mg.ModelError) as error:
        s.describe()
    assert "'a'" in str(error.value)
    assert "'b'" in str(error.value)


# --- equations for people -------------------------------------------------------------------------


def symbols_and_values(equations: mg.Equations, seed: int = 0) -> np.ndarray:
    s = equations.terms.symbols
    size = sum(x.numel() for x in (s.q, s.u, s.w, s.p, s.t))
    return np.random.default_rng(seed).uniform(0.2, 1.5, size)


def casadi_values(
    equations: mg.Equations, quantities: tuple[str, ...], x: np.ndarray
) -> list[np.ndarray]:
    s = equations.terms.symbols
    results = [ca.densify(getattr(equations.terms, name)) for name in quantities]
    function = ca.Function("f", [ca.vertcat(s.q, s.u, s.w, s.p, s.t)], results)
    return [np.array(value) for value in function.call([x])]


def assert_round_trip(equations: mg.Equations, simplify: bool) -> None:
    readable = to_sympy(equations, simplify)
    quantities = tuple(readable.matrices)
    x = symbols_and_values(equations)
    found = readable.function(*quantities)(*x)
    for name, mine, expected in zip(
        quantities, found, casadi_values(equations, quantities, x), strict=True
    ):
        scale = np.abs(expected).max(initial=1e-300)
        np.testing.assert_allclose(
            np.array(mine, dtype=float).reshape(expected.shape),
            expected,
            atol=1e-13 * scale,
            err_msg=name,
        )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("simplify", [True, False])
@pytest.mark.parametrize("formalism", IN_SPACE)
def test_sympy_has_the_numbers_of_casadi(formalism: str, simplify: bool) -> None:
    assert_round_trip(double_pendulum().equations(formalism), simplify)
    assert_round_trip(four_bar().equations(formalism), simplify)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("simplify", [True, False])
@pytest.mark.parametrize("seed", [1, 4, 5, 6])
def test_sympy_has_the_numbers_of_random_trees(seed: int, simplify: bool) -> None:
    assert_round_trip(random_tree(seed).system.equations(), simplify)


@pytest.mark.parametrize("algebra", [Plain, NormalForm])
def test_powers_and_sums_of_angles_keep_their_numbers(algebra: type) -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    values = np.array([0.37, 0.83])
    results = [
        1 / y,
        x**2,
        2 * x,
        x**2.5,
        x**3,
        ca.if_else(x > y, x, 2 * y),
        ca.sin(x + 2 * y + 0.3),
        ca.cos(3 * x - y) / (x + y) ** 2,
        ca.norm_2(ca.vertcat(x, y)) ** 2,
    ]
    function = ca.Function("f", [ca.vertcat(x, y)], [ca.vertcat(*results)])
    symbols = sp.symbols("x y", real=True)
    form = algebra(symbols)
    (entries,) = trace(function).evaluate(form)
    if algebra is NormalForm:
        entries = [form.expression(entry) for entry in entries]
    shown = sp.lambdify(symbols, entries)
    np.testing.assert_allclose(shown(*values), np.array(function(values)).ravel(), rtol=1e-13)


@pytest.mark.smoke
def test_double_pendulum_prints_as_in_the_textbook() -> None:
    for formalism in ("newton-euler", "appell", "lagrange", "kane"):
        text = equations_text(double_pendulum().equations(formalism))
        assert "M[θ1', θ1'] = l²·m·(2·cos(θ2) + 3)" in text
        assert "M[θ1', θ2'] = l²·m·(cos(θ2) + 1)" in text
        assert "M[θ2', θ2'] = l²·m\n" in text
        assert "f[θ1'] = l·m·(-g·(2·sin(θ1) + sin(θ1 + θ2)) + l·θ2'·(2·θ1' + θ2')·sin(θ2))" in text
        assert "f[θ2'] = -l·m·(g·sin(θ1 + θ2) + l·θ1'²·sin(θ2))" in text


def test_constraints_print_by_row_name() -> None:
    text = four_bar().equations().show()
    assert "φ[close: position x] = -4·cos(qB) - 2·cos(qA + qB) + 4·cos(qA + qB - qC) - 4" in text
    assert "2·(qA' + qB')²·cos(qA + qB)" in text  # b: squares are found
    assert "tilt" not in text  # rows that are nothing but zeros are left out


def test_quaternion_kinematics_and_velocity_constraints_are_shown() -> None:
    s = mg.System("ball")
    body = s.body("body", mass=1, inertia=(1, 2, 2.5))
    s.spherical("j", s.ground, body)
    s.constrain("no spin", velocity=lambda m: m.angular_velocity(body)[2])
    text = s.equations().show()
    assert "N[j.q0, j.wx] = -j.q1/2" in text
    assert "ψ[no spin]" in text


def test_large_equations_keep_their_shared_subexpressions() -> None:
    equations = chain(7).equations()
    readable = to_sympy(equations)
    defined = {symbol for symbol, _ in readable.definitions}
    assert defined
    used = set().union(*(entry.free_symbols for entry in readable["f"]))
    assert used & defined
    assert max(value.count_ops() for _, value in readable.definitions) < 100
    assert_round_trip(equations, True)


def test_matrices_of_many_short_entries_keep_them_too() -> None:
    equations = mg.gallery.load("three_rrr").system().equations()  # A has 887 terms, of 49 at most
    used = set().union(*(entry.free_symbols for entry in to_sympy(equations)["A"]))
    assert not {str(symbol) for symbol in used} <= {*equations.coordinates, *equations.parameters}


def test_names_of_subexpressions_avoid_the_users_names() -> None:
    s = mg.System("t1")
    body = s.body("b", mass=s.parameter("t1", 1.0), com=(1, 0, 0), inertia=0)
    s.spherical("j", s.ground, body)
    s.force(
        "push",
        body,
        lambda m: [mg.exp(mg.sin(m.position(body)[k] + m.coordinate("j")[k])) for k in range(3)],
    )
    readable = to_sympy(s.equations(), simplify=False, quantities=("M", "f"))
    assert "t1" not in {symbol.name for symbol, _ in readable.definitions}


def test_normal_form_cancels_what_is_equal() -> None:
    x, y = ca.SX.sym("x"), ca.SX.sym("y")
    zero = [
        ca.sin(x) ** 2 + ca.cos(x) ** 2 - 1,
        (x + y) ** 2 - x**2 - 2 * x * y - y**2,
        0.1 * x + 0.2 * x - 0.3 * x,
        ca.sin(x + y) - ca.sin(x) * ca.cos(y) - ca.cos(x) * ca.sin(y),
        ca.cos(2 * x) - 1 + 2 * ca.sin(x) ** 2,
    ]
    function = ca.Function("f", [ca.vertcat(x, y)], [ca.vertcat(*zero)])
    (entries,) = trace(function).evaluate(NormalForm(sp.symbols("x y", real=True)))
    assert entries == [{}] * len(zero)


@pytest.mark.parametrize("seed", range(8))
def test_waves_of_angles_with_an_offset_keep_their_numbers(seed: int) -> None:
    """Products of sines and cosines of x − 0.9, 1.3 y + 0.4 z, asin x …: SymPy writes some sines
    with the opposite angle, and has other names for those of arcs."""
    random = np.random.default_rng(seed)
    x, y, z = symbols = ca.SX.sym("x"), ca.SX.sym("y"), ca.SX.sym("z")
    angles = [
        x - 0.9272952180016123,
        0.4 - y,
        1.3 * y + 0.4 * z - 2,
        ca.asin(x / 3),
        x - y,
        -0.3 - z,
    ]
    total = ca.SX(0)
    for _ in range(5):
        a, b = random.choice(len(angles), 2)
        f, g = random.choice([ca.sin, ca.cos], 2)
        total += float(random.integers(1, 9)) / 4 * f(angles[a]) * g(angles[b]) * (y - 2)
    function = ca.Function("f", [ca.vertcat(*symbols)], [total])
    form = NormalForm(names := sp.symbols("x y z", real=True))
    (entries,) = trace(function).evaluate(form)
    shown = sp.lambdify(names, form.expression(entries[0]))
    for state in random.uniform(-1, 1, (3, 3)):
        assert float(shown(*state)) == pytest.approx(float(function(state)), rel=1e-9, abs=1e-9)


def test_latex_is_balanced_and_names_are_symbols() -> None:
    text = double_pendulum().equations().latex()
    assert r"u &= \left(\dot{\theta}_{1}, \dot{\theta}_{2}\right)^{\mathsf T}" in text
    assert r"l^{2} m \left(2 \cos{\left(\theta_{2} \right)} + 3\right)" in text
    loop = equations_latex(four_bar().equations("kane"))
    assert r"\varphi &=" in loop
    for source in (text, loop):
        assert source.count("{") == source.count("}")
        assert source.count(r"\left") == source.count(r"\right")
        assert source.count(r"\begin{") == source.count(r"\end{")


def test_latex_names_escape_what_latex_reads() -> None:
    assert names.latex_name("a&b%c#d$'") == r"\dot{\mathrm{a\&b\%c\#d\$}}"
    assert names.latex_name("omega_max") == r"\omega_{\mathrm{max}}"
    assert names.latex_name("q12''") == r"\ddot{q}_{12}"


# --- plots ----------------------------------------------------------------------------------------


@pytest.mark.smoke
def test_plot_has_panels_with_units_and_leaves_no_state(loop_run: mg.Trajectory, tmp_path) -> None:
    figure = loop_run.plot(path=tmp_path / "run.png")
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert titles == ["angle (rad)", "energy (J)", "largest violation of the constraints"]
    assert [line.get_label() for line in figure.axes[0].get_lines()] == ["qA", "qB", "qC"]
    np.testing.assert_array_equal(figure.axes[0].get_lines()[1].get_ydata(), loop_run["qB"])
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG\r\n")
    assert plt.get_fignums() == []


def test_plot_takes_any_column_and_refuses_unknown_ones(loop_run: mg.Trajectory) -> None:
    figure = loop_run.plot("close", "qA'", "B")
    assert [axes.get_title(loc="left") for axes in figure.axes[:3]] == [
        "angle (rad)",
        "angular speed (rad/s)",
        "displacement (m)",
    ]
    assert [line.get_label() for line in figure.axes[2].get_lines()] == ["B x", "B y", "B z"]
    with pytest.raises(mg.ArgumentError, match="did you mean 'qA'"):
        loop_run.plot("qAA")
    with pytest.raises(mg.ArgumentError, match="format"):
        loop_run.plot(path="run.xyz")


def test_plot_tells_shifts_from_angles_of_one_joint() -> None:
    ice = mg.System("ice")
    ice.planar("sled", ice.ground, ice.body("body", mass=1.0, inertia=(1, 1, 1)))
    figure = ice.equations().simulate(0.1, {"sled.angle'": 1.0}, step=0.1).plot("sled", "sled'")
    drawn = {a.get_title(loc="left"): [x.get_label() for x in a.get_lines()] for a in figure.axes}
    assert drawn["displacement (m)"] == ["sled.x", "sled.y"]
    assert drawn["angle (rad)"] == ["sled.angle"]
    assert drawn["angular speed (rad/s)"] == ["sled.angle'"]


def test_curves_of_one_panel_can_be_told_from_each_other() -> None:
    figure = gallery.curves([0, 1], {"many": {str(k): [k, k] for k in range(25)}})
    looks = {(line.get_color(), line.get_linestyle()) for line in figure.axes[0].get_lines()}
    assert len(looks) == 25


def test_plot_of_a_loaded_run_needs_no_system(loop_run: mg.Trajectory, tmp_path) -> None:
    loaded = mg.load_run(loop_run.save(tmp_path / "run.npz"))
    titles = [axes.get_title(loc="left") for axes in loaded.plot().axes]
    assert titles[:2] == ["angle (rad)", "energy (J)"]
    with pytest.raises(mg.ArgumentError, match="without its system"):
        loaded.view()


def test_units_of_every_kind_of_joint() -> None:
    s = mg.System("units")
    a, b = s.body("a", mass=1, inertia=(1, 1, 1)), s.body("b", mass=1, inertia=(1, 1, 1))
    s.free("f", s.ground, a)
    s.cylindrical("c", a, b)
    names = s.equations().names
    for name, units in {
        "f": ("m",) * 3 + ("1",) * 4,
        "f.wx": ("rad/s",),
        "f.x'": ("m/s",),
        "c": ("rad", "m"),
        "c.shift''": ("m/s²",),
        "a": ("m",) * 3,
        "c: reaction": ("N",) * 3 + ("N m",) * 3,
    }.items():
        assert names.resolve(name).units == units


# --- scenes and animations ------------------------------------------------------------------------


def test_joined_points_stay_together_in_the_scene(loop_run: mg.Trajectory) -> None:
    seen = scene_of(loop_run)
    index = {solid.name: k for k, solid in enumerate(seen.solids)}
    for joint in loop_run.equations.system.joints.values():
        ends = [
            seen.positions[:, index[end.body.name]]
            + seen.rotations[:, index[end.body.name]] @ np.array(ca.DM(end.at)).ravel()
            for end in (joint.parent, joint.child)
        ]
        np.testing.assert_allclose(ends[0], ends[1], atol=1e-9)
    np.testing.assert_array_equal(seen.up, [0, 0, 1])
    # one looks at the plane that it moves in
    np.testing.assert_allclose(np.abs(seen.across), [0, 1, 0], atol=1e-9)


def test_a_hanging_bar_reaches_its_end(hostile_run: mg.Trajectory) -> None:
    seen = scene_of(hostile_run)
    ends = [rod.b for rod in seen.solids[1].rods] + [rod.a for rod in seen.solids[1].rods]
    assert min(point[1] for point in ends) == pytest.approx(-0.5 - np.sqrt(3 * 0.02))
    np.testing.assert_array_equal(seen.up, [0, 1, 0])


def test_springs_and_bars_reach_from_end_to_end() -> None:
    s = mg.System("held", gravity=(0, 0, -9.81))
    body = s.body("body", mass=1, inertia=(0.1, 0.1, 0.1))
    s.free("f", s.ground, body)
    hook = s.marker("hook", s.ground, at=(0, 0, 2))
    s.spring_damper("spring", hook, body, stiffness=50)
    s.distance("bar", s.marker("side", s.ground, at=(1, 0, 0)), body, 1.0)
    run = s.equations().simulate(0.2, guess={"f.x": 0.1}, step=0.1)
    spring, bar = scene_of(run).links
    for link, anchor in ((spring, [0, 0, 2]), (bar, [1, 0, 0])):
        points = link.points(1, 0.05)
        np.testing.assert_allclose(points[0], anchor, atol=1e-12)
        np.testing.assert_allclose(points[-1], run["body"][1], atol=1e-12)
    assert len(spring.path) > len(bar.path) == 2


def test_a_body_held_at_its_centre_reaches_to_its_joints_only() -> None:
    s = mg.System("crank")
    crank = s.body("crank", mass=1, inertia=(0.2, 0.1, 0.1))
    s.revolute("turn", s.ground, crank, axis="x")
    s.marker("pin", crank, at=(0, -0.5, 0))
    seen = scene_of(s.equations().simulate(0.1, {"turn'": 1.0}, step=0.05))
    assert {rod.a[1] for rod in seen.solids[1].rods} | {
        rod.b[1] for rod in seen.solids[1].rods
    } == {0.0, -0.5}


def test_a_body_without_extent_is_the_box_with_its_inertia() -> None:
    s = mg.System("brick")
    a, b, c = 0.2, 0.3, 0.7  # edges
    m = 2.0
    inertia = (m * (b**2 + c**2) / 12, m * (a**2 + c**2) / 12, m * (a**2 + b**2) / 12)
    s.free("f", s.ground, s.body("brick", mass=m, inertia=inertia))
    run = s.equations().simulate(1.0, {"f.wx": 1.0}, step=0.5)
    (box,) = scene_of(run).solids[1].meshes
    np.testing.assert_allclose(sorted(np.ptp(box.points, axis=0)), [a, b, c], rtol=1e-12)


def numbers(expression: ca.SX) -> np.ndarray:
    value = np.array(ca.DM(expression))
    return value.ravel() if value.shape[1] == 1 else value


def drawn(make) -> tuple[mg.Surface, np.ndarray, np.ndarray]:
    """A surface at the origin, and the points and normals of its shell in turned axes, brought
    back."""
    s = mg.System("surface")
    turned = s.marker(
        "turned",
        s.body("body", mass=1, inertia=(1, 1, 1)),
        at=(0.1, 0.2, 0.3),
        orientation=[("x", 0.5), ("y", 1)],
    )
    surface = make(turned)
    shell = facets_of(surface, numbers, "#2f6fed")
    assert shell is not None
    R, at = np.array(ca.DM(turned.rotation)), np.array(ca.DM(turned.at)).ravel()
    return surface, (shell.points - at) @ R, shell.normals @ R


@pytest.mark.parametrize(
    "make",
    [
        lambda m: mg.Sphere(m, 0.4),
        lambda m: mg.Ellipsoid(m, (0.2, 0.5, 0.9)),
        lambda m: mg.Torus(m, 0.7, 0.2),
    ],
)
def test_shells_lie_on_their_surfaces(make) -> None:
    surface, points, normals = drawn(make)
    p = ca.SX.sym("p", 3)
    value, slope = (
        np.array(x)
        for x in ca.Function("g", [p], [surface.level(p), ca.gradient(surface.level(p), p)])(
            points.T
        )
    )
    assert np.abs(value).max() < 1e-12
    np.testing.assert_allclose(normals, (slope / np.linalg.norm(slope, axis=0)).T, atol=1e-12)


@pytest.mark.parametrize(
    "make",
    [
        lambda m: mg.Roller(m, 0.2, 0.9),
        lambda m: mg.Roller(m, 0.2, 0.2),
        lambda m: mg.Sphere(m, 0.4),
    ],
)
def test_shells_have_their_points_where_they_touch(make) -> None:
    surface, points, normals = drawn(make)
    for point, normal in zip(points[40::7], normals[40::7], strict=True):
        if np.hypot(*normal[:2]) > 1e-6:
            np.testing.assert_allclose(numbers(surface.support(ca.SX(normal))), point, atol=1e-12)


def test_discs_cylinders_and_capsules_have_their_sizes() -> None:
    for make, half in (
        (lambda m: mg.Disc(m, 0.4), 0.02),
        (lambda m: mg.Cylinder(m, 0.4, 1.0), 0.5),
        (lambda m: mg.Capsule(m, 0.4, 1.0), 0.9),
    ):
        _, points, normals = drawn(make)
        assert np.hypot(points[:, 0], points[:, 1]).max() == pytest.approx(0.4)
        assert (points[:, 2].min(), points[:, 2].max()) == pytest.approx((-half, half))
        assert (points * normals).sum(axis=1).min() >= -1e-12  # outward


def test_what_rolls_is_seen_in_its_shape_on_its_floor_and_followed() -> None:
    s = mg.System("cart", gravity=(0, 0, -9.81))
    wheel = s.body("wheel", mass=1, inertia=(0.25, 0.5, 0.25))
    s.free("f", s.ground, wheel, at=(0, 0, 3))
    floor = mg.Plane(s.marker("floor", s.ground, at=(0, 0, 2)))
    s.roll("road", mg.Disc(s.marker("rim", wheel, orientation=[("x", -np.pi / 2)]), 1.0), floor)
    equations = s.equations()
    near, far = (
        scene_of(equations.simulate(t, {"f.x'": 4.0, "f.wz": 0.0, "f.wx": 0.0}, step=t / 10))
        for t in (1.0, 10.0)
    )
    (shell,) = near.solids[1].meshes
    assert (near.links, near.solids[0].rods) == ((), ())
    assert shell.radius == pytest.approx(1.0)
    assert near.floor == far.floor == 2.0
    assert near.path is None
    assert far.path is not None
    assert far.radius < 5
    np.testing.assert_allclose(far.looked_at(10).centre, [40, 0, 3], atol=1e-6)


def test_boxes_are_drawn_and_hollow_surfaces_are_not() -> None:
    s = mg.System("box in a bowl")
    box, ball = (s.body(name, mass=1, inertia=(1, 1, 1)) for name in ("box", "ball"))
    s.free("f", s.ground, box)
    s.free("b", s.ground, ball, at=(3, 0, 0))
    s.slide("bowl", mg.Sphere(ball, 0.1), mg.Sphere(s.ground, 3.1, inside=True))
    s.add(Touching("edge", mg.Box(box, (0.1, 0.2, 0.3)), mg.Plane(s.ground)))
    seen = scene_of(s.equations().simulate(0.1, {"f.wx": 0.1}, step=0.05))
    (found,) = seen.solids[1].meshes
    np.testing.assert_allclose(np.ptp(found.points, axis=0), [0.1, 0.2, 0.3])
    assert seen.solids[0].meshes == ()
    assert len(seen.solids[2].meshes) == 1


class Touching(mg.Force):
    """A force that knows its surfaces and does nothing."""

    def __init__(self, name: str, surface: mg.Surface, base: mg.Surface) -> None:
        self.name, self._surfaces = name, (surface, base)

    def surfaces(self) -> tuple[mg.Surface, mg.Surface]:
        return self._surfaces


class Parsed(HTMLParser):
    """Tags with their attributes, and the text of each script."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.scripts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag == "script":
            self.scripts.append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1][0] == "script":
            self.scripts[-1] += data


def assert_self_contained(page: str) -> None:
    assert "http:" not in page
    assert "https:" not in page
    for tag, attributes in Parsed(page).tags:
        assert tag not in ("link", "object", "embed"), tag
        assert attributes.get("src", "data:").startswith("data:")


def test_page_holds_the_motion_itself(loop_run: mg.Trajectory, tmp_path) -> None:
    path = loop_run.view(tmp_path / "run.html")
    page = path.read_text(encoding="utf-8")
    assert_self_contained(page)
    data = json.loads(Parsed(page).scripts[0])
    poses = np.frombuffer(base64.b64decode(data["poses"]), "<f4").reshape(
        len(loop_run), len(data["solids"]), 7
    )
    assert [solid["name"] for solid in data["solids"]] == ["ground", "A", "B", "C"]
    np.testing.assert_allclose(data["time"], loop_run.time, atol=1e-6)
    np.testing.assert_allclose(poses[:, 2, :3], loop_run["B"], atol=1e-6)
    half = (loop_run["qA"] + loop_run["qB"]) / 2  # B turns about y by the sum of two angles
    np.testing.assert_allclose(np.abs(poses[:, 2, 3]), np.abs(np.cos(half)), atol=1e-6)
    assert (
        np.einsum("tbk,tbk->tb", poses[1:, :, 3:], poses[:-1, :, 3:]) > 0
    ).all()  # no jumps of sign


def test_hostile_names_stay_names(hostile_run: mg.Trajectory, tmp_path) -> None:
    page = hostile_run.view(tmp_path / "x.html").read_text(encoding="utf-8")
    parsed = Parsed(page)
    assert [tag for tag, _ in parsed.tags if tag in ("b", "td")] == []
    data = json.loads(parsed.scripts[0])
    assert data["title"] == hostile_run.name
    report = hostile_run.report(tmp_path / "r.html").read_text(encoding="utf-8")
    assert_self_contained(report)
    assert [tag for tag, _ in Parsed(report).tags if tag in ("b", "script")] == []
    assert "&lt;i&gt;body_{1}$" in report


def test_notebooks_get_a_frame(loop_run: mg.Trajectory) -> None:
    page = loop_run.view()
    (frame,) = [
        attributes for tag, attributes in Parsed(page._repr_html_()).tags if tag == "iframe"
    ]
    assert frame["srcdoc"] == str(page)


def test_gif_has_frames_of_the_asked_size(loop_run: mg.Trajectory, tmp_path) -> None:
    path = loop_run.view(tmp_path / "run.gif", size=(160, 120), frames=20, speed=0.5)
    assert path.read_bytes().startswith(b"GIF89a")
    with Image.open(path) as image:
        assert image.size == (160, 120)
        assert image.n_frames == 20  # half a second at half speed, 20 a second
        assert image.info["duration"] == 50
        image.seek(5)
        early = np.asarray(image.convert("RGB"), dtype=int)
        image.seek(19)
        assert np.abs(np.asarray(image.convert("RGB"), dtype=int) - early).max() > 100


def test_view_refuses_what_it_cannot_write(loop_run: mg.Trajectory) -> None:
    with pytest.raises(mg.ArgumentError, match=r"\.html \(interactive\) or \.gif"):
        loop_run.view("run.mp4")
    with pytest.raises(mg.ArgumentError, match="speed"):
        loop_run.view(speed=0)
    with pytest.raises(mg.ArgumentError, match="size"):
        loop_run.view("run.gif", size=(5, 5))
    with pytest.raises(mg.ArgumentError, match=r"\.html"):
        loop_run.report("run.txt")


def test_nearer_things_hide_farther_ones() -> None:
    camera = rasteriser.Camera(np.array([0.0, 0, 10]), np.eye(3), 100.0, np.array([50.0, 50.0]))
    near, far = (
        Rod(np.array([-1.0, 0, z]), np.array([1.0, 0, z]), 0.5, tint)
        for z, tint in ((2.0, "#ff0000"), (0.0, "#00ff00"))
    )
    light = rasteriser.Light(sky=np.array([0.0, 1, 0]), sun=np.array([0.0, 0, 1]))
    images = []
    for order in ((near, far), (far, near)):
        buffer = rasteriser.Buffer(np.ones((100, 100, 3), dtype=np.float32), camera, light)
        for rod in order:
            buffer.rod(rod)
        images.append(buffer.colors)
    np.testing.assert_array_equal(images[0], images[1])
    red, green, _ = images[0][50, 50]
    assert red > 2 * green
    assert images[0][5, 5].tolist() == [1, 1, 1]


# --- report ---------------------------------------------------------------------------------------


def test_report_tells_everything(loop_run: mg.Trajectory, tmp_path) -> None:
    page = loop_run.report(tmp_path / "report.html").read_text(encoding="utf-8")
    assert_self_contained(page)
    for part in (
        "All agree at 3 random states",
        "Grübler",
        "redundant    3 of 5 rows",
        "udwadia-kalaba",
        "Sizes of the equations",
        "M[qA&#x27;, qA&#x27;] = 320·cos(qB) + 532",
        "newton-euler · rk8",
        "largest violation",
    ):
        assert part in page, part
    kinds = [tag for tag, _ in Parsed(page).tags]
    assert kinds.count("iframe") == 1
    assert kinds.count("img") == 1
    image = re.search(r"data:image/png;base64,([A-Za-z0-9+/=]+)", page)
    assert base64.b64decode(image.group(1)).startswith(b"\x89PNG")


# --- agreement ------------------------------------------------------------------------------------


def test_all_formalisms_and_closures_agree_on_a_loop() -> None:
    found = agreement(four_bar())
    assert found.ok
    assert found.worst < 1e-12
    # three of them in two ways; nodes need a plane
    compared = [row for row in found.rows if not row.note]
    closed = [row for row in compared if row.closure in mg.CLOSURES]
    assert len(closed) == (len(mg.FORMALISMS) + 2) * len(mg.CLOSURES)
    own = [(row.formalism, row.closure) for row in compared if row.closure not in mg.CLOSURES]
    maggi = [f"maggi{form}" for form in ("", " (appell)", " (kane)")]
    ways = {(form, way) for form in maggi for way in ("minimal", "its own")}
    assert len(own) == len(set(own))
    assert ways | {("points", "its own"), ("points (unreduced)", "its own")} == set(own)
    assert "All agree at 5 random states of 'four-bar'" in str(found)


def test_agreement_is_reproducible_and_depends_on_the_seed() -> None:
    errors = [
        [row.errors for row in agreement(double_pendulum(), seed=seed).rows] for seed in (3, 3, 4)
    ]
    assert errors[0] == errors[1] != errors[2]


def test_disagreement_is_found_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(kinematics):
        right = mg.FORMALISMS["kane"](kinematics)
        return type(right)(right.M, lambda: right.f() * (1 + 1e-8))

    monkeypatch.setitem(agreement_module.FORMALISMS, "careless", wrong)
    found = agreement(four_bar(), states=2)
    assert not found.ok
    assert found.verdict.startswith("DISAGREEMENT")
    assert "careless / multipliers" in found.verdict
    assert "kane" not in found.verdict.replace("careless", "")


def test_a_formalism_in_its_own_coordinates_is_compared_in_the_world(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for system, unique in (
        (double_pendulum(), True),
        (four_bar(), False),
    ):  # redundant rows: reactions are not unique
        rows = agreement(system, states=2, formalisms=["absolute"]).rows
        assert all(row.ok and row.M is None and row.f is None for row in rows)
        assert [row.reactions is not None for row in rows] == [unique] * len(mg.CLOSURES)

    def wrong(chart):
        right = absolute.derive(chart)
        return type(right)(right.M, lambda: right.f() * (1 + 1e-8))

    slightly = mg.Formalism(wrong, absolute_chart, "absolute")
    monkeypatch.setitem(agreement_module.FORMALISMS, "absolute", slightly)
    assert not agreement(four_bar(), states=2, formalisms=["absolute"]).ok


def test_a_run_in_absolute_coordinates_looks_the_same() -> None:
    runs = [
        double_pendulum().equations(name).simulate(0.2, {"theta1": 1.0}, step=0.1)
        for name in ("kane", "absolute")
    ]
    mine, other = (scene_of(run) for run in runs)
    np.testing.assert_allclose(mine.positions, other.positions, atol=1e-7)
    assert [trail.name for trail in mine.trails] == [trail.name for trail in other.trails]
    titles = [axes.get_title(loc="left") for axes in runs[1].plot().axes]
    assert titles[:2] == ["displacement (m)", "quaternion"]


def test_reactions_that_are_nothing_but_rounding_are_no_disagreement() -> None:
    s = mg.System("point on a bar", gravity=(0, -9.81, 0))
    point = s.body("point", mass=1.0, inertia=0)
    s.joint("P", s.ground, point, [mg.move("x", "x"), mg.move("y", "y")])  # it carries nothing
    s.distance("bar", s.ground, point, 1.0)
    assert agreement(s, guess={"P.x": -1.0}).ok


def test_a_form_that_does_not_serve_is_noted() -> None:
    s = mg.System("slide", gravity=(0, 0, -9.81))
    s.prismatic("x", s.ground, s.body("a", mass=1, inertia=(1, 1, 1)), axis="z")
    found = agreement(s)
    notes = [row.formalism for row in found.rows if row.note]
    assert notes == ["lagrange (explicit)", "nodes"]
    assert found.ok
    assert "'x' is not a revolute" in " ".join(str(found).split())
    with pytest.raises(mg.ArgumentError, match="states=0"):
        agreement(s, states=0)


def test_random_states_satisfy_all_constraints() -> None:
    s = four_bar()
    s.constrain("slow", velocity=lambda m: m.speed("qA'") ** 2 - 0.25)  # not linear in the speeds
    equations = s.equations()
    at = random_states(equations, 6, seed=2)
    assert np.abs(equations.position_violation(at.q, at.t)).max() < 1e-10
    assert np.abs(equations.velocity_violation(at.q, at.u, at.t)).max() < 1e-9
    assert np.ptp(at.q, axis=0).min() > 0.05


# --- the graph ------------------------------------------------------------------------------------


def wheel_on_a_floor() -> mg.System:
    s = mg.System("wheel on a floor", gravity=(0, 0, -9.81))
    fork, wheel = (s.body(name, mass=1.0, inertia=(0.1, 0.1, 0.2)) for name in ("fork", "wheel"))
    s.free("place", s.ground, fork)
    s.revolute("axle", fork, wheel)
    s.roll("contact", mg.Disc(wheel, 0.5), mg.Plane(s.ground))
    s.torque("motor", "axle", 1.0)
    return s


def test_graph_is_bipartite_and_joins_what_is_joined(tmp_path):
    """A free joint holds nothing and is not drawn."""
    graph = network(wheel_on_a_floor())
    joined = {
        node[1]: {neighbour[1] for neighbour in graph[node]} for node in graph if node[0] != "body"
    }
    assert joined == {
        "axle": {"fork", "wheel"},
        "contact": {"ground", "wheel"},
        "motor": {"fork", "wheel"},
    }
    assert all(("body" in (a[0], b[0])) and a[0] != b[0] for a, b in graph.edges)
    wheel_on_a_floor().draw_graph(tmp_path / "graph.svg")
    drawn = (tmp_path / "graph.svg").read_text()
    assert drawn.startswith("<?xml")
    with pytest.raises(mg.ArgumentError, match=r"graph\.docx"):
        wheel_on_a_floor().draw_graph(tmp_path / "graph.docx")


@pytest.mark.parametrize("name", ["snakeboard", "omni_vehicle"])
def test_labels_of_the_graph_do_not_cover_each_other(name):
    figure = gallery.load(name).system().draw_graph()
    boxes = [text.get_window_extent() for text in figure.axes[0].texts]
    covered = [(a, b) for a, b in combinations(boxes, 2) if a.overlaps(b)]
    assert len(boxes) > 10
    assert not covered


def test_a_graph_takes_dollars_as_they_are(tmp_path) -> None:
    """Matplotlib would read a formula in them, and this one is none."""
    s = mg.System("a $x^{ b$", gravity=(0, 0, -9.81))
    s.revolute("$\\frac{$", s.ground, s.body("$_$", mass=1.0, inertia=(1, 1, 1)))
    labels = [text.get_text() for text in s.draw_graph(tmp_path / "graph.png").axes[0].texts]
    assert {r"\$_\$", r"\$\frac{\$"} <= set(labels)


def test_contacts_that_are_open_are_no_redundant_rows() -> None:
    """Before they touch they hold nothing, so the count and the rank are those of the free body."""
    system = gallery.load("falling_rod").system()
    text = system.describe()
    assert "top on wall (1 row, open until it touches): gap" in text
    assert "6·1 − 3 (joints) = 3" in text
    assert "numerical    3" in text
    assert "redundant" not in text
    equations = system.equations()
    q, u = equations.assemble()
    assert equations.redundant(q, u) == []
    closed = {name: 1.0 for name in equations.parameters if name.endswith("touching")}
    assert equations.mobility(q, u, parameters=closed) < equations.mobility(q, u) == 3


def test_mobility_is_that_of_one_configuration() -> None:
    equations = four_bar().equations()
    q, u = equations.assemble()
    for call in (equations.mobility, equations.redundant):
        with pytest.raises(mg.ArgumentError, match="one state"):
            call([q, q], u)


@pytest.mark.parametrize("title", ["", "two\nlines", 3, "\ud800"])
def test_a_title_is_one_line(loop_run: mg.Trajectory, title) -> None:
    with pytest.raises(mg.ArgumentError, match="title must be a text in one line"):
        loop_run.view(title=title)
