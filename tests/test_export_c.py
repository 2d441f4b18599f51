"""C export: portable, free of warnings, and with a test that can fail."""

from __future__ import annotations

import ctypes
import re
import subprocess
import warnings
from functools import cache
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import mechgraph as mg
from mechgraph.kernels.compiler import _zig
from random_systems import every_function, random_state

STRICT = (
    "-O1", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Wconversion", "-Wdouble-promotion",
    "-Werror",
)  # fmt: skip


def block(system: mg.System, name: str, **options: object) -> mg.Body:
    return system.body(
        name, **{"mass": 1.0, "com": (0.1, 0.2, -0.3), "inertia": (0.08, 0.09, 0.02), **options}
    )


def tree() -> mg.System:
    """Inputs, parameters, time, quaternions; a name that would end a comment."""
    system = mg.System("tree */ of /* joints", gravity=(0, 0, -9.81))
    first = block(system, "first", mass=system.parameter("load */", 1.3))
    second = block(system, "second")
    system.spherical("ball", system.ground, first)
    system.revolute("hinge", first, second, axis="y", at=(0, 0, -1.0), stiffness=2.0)
    system.torque("motor", "hinge", system.input("torque"))
    system.force("push", second, (mg.sin(system.time), 0, 1))
    system.marker("tip", second, at=(0.1, 0, -1))
    system.output("height", lambda m: m.position("tip")[2])
    return system


def loop() -> mg.System:
    system = mg.System("four-bar", gravity=(0, 0, -9.8))
    a, b, c = (block(system, name) for name in "ABC")
    system.revolute("qA", system.ground, a, axis="y")
    system.revolute("qB", a, b, axis="y", at=(1, 0, 0))
    system.revolute("qC", system.ground, c, axis="y", at=(2, 0, 0))
    system.revolute("close", b, c, axis="y", at=(2, 0, 0), child_at=(1.5, 0, 0))
    return system


def plain() -> mg.System:
    """No inputs, no parameters, no angles."""
    system = mg.System("plain", gravity=(0, 0, -9.81))
    system.prismatic("z", system.ground, block(system, "stone"), axis="z")
    return system


def tables() -> mg.System:
    """Searches in one and two numbers, comparisons, a remainder of the C library."""
    system = mg.System("tables", gravity=(0, 0, -9.81))
    system.revolute("hinge", system.ground, block(system, "rod"), axis="y")
    spring = mg.spline([-1.0, 0.1, 1.0], [-3.0, 0.2, 5.0], outside="extend", name="spring")
    wind = mg.table([-1.0, 0.0, 2.0], [-3.0, 3.0], [[0, 1], [1, 2], [5, 4]], name="wind")
    system.torque("spring", "hinge", lambda m: -spring(m.coordinate("hinge")))
    system.torque("wind", "hinge", lambda m: wind(m.coordinate("hinge"), m.speed("hinge")))
    system.torque("stop", "hinge", lambda m: mg.fmin(0, 1 - mg.fabs(m.coordinate("hinge"))))
    return system


SYSTEMS = [tree, loop, plain, tables]
COUNT = {tree: 13, loop: 14, plain: 11, tables: 11}  # functions, with the step


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Equations and their C, printed once."""
    folder = tmp_path_factory.mktemp("c")

    @cache
    def export(system, precision="double"):
        equations, place = system().equations(), folder / precision
        place.mkdir(exist_ok=True)
        every = {**dict.fromkeys(equations.to_casadi()), "accelerations_jacobian": 0, "step": 0}
        return equations, equations.export_c(place / f"{system.__name__}.c", precision, [*every])

    return export


@pytest.fixture(scope="module")
def compiled(exported):
    """Their object code, compiled once without a warning."""

    @cache
    def compile(system, precision="double"):
        source = exported(system, precision)[1][1]
        built("gcc", *STRICT, "-fPIC", "-c", source, "-o", source.with_suffix(".o"))
        return source.with_suffix(".o")

    return compile


@pytest.fixture(scope="module")
def library(compiled):
    """The same as a library."""

    @cache
    def load(system, precision="double"):
        code = compiled(system, precision)
        built("gcc", "-shared", code, "-lm", "-o", code.with_suffix(".so"))
        return ctypes.CDLL(str(code.with_suffix(".so")))

    return load


def run(*command: object) -> subprocess.CompletedProcess:
    return subprocess.run([*map(str, command)], capture_output=True, text=True)


def built(*command: object) -> None:
    done = run(*command)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("precision", ["double", "float"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_it_compiles_without_warnings_and_its_test_passes(
    exported, compiled, system, precision, tmp_path
):
    header, source, test = exported(system, precision)[1]
    assert [path.name for path in (header, source, test)] == [
        system.__name__ + end for end in (".h", ".c", "_test.c")
    ]
    code = compiled(system, precision)
    built("gcc", *STRICT, code, test, "-lm", "-o", tmp_path / "test")
    done = run(tmp_path / "test")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("right") == COUNT[system]
    text = header.read_text() + source.read_text()
    assert ("double" in text) == (precision == "double")
    assert not re.search(
        r"malloc|free\(|#define (?!\w+_[QUWPH])|__", text.replace("__cplusplus", "")
    )


@pytest.mark.parametrize("system", SYSTEMS)
def test_clang_has_nothing_to_say_either(exported, system, tmp_path):
    for source in exported(system)[1][1:]:
        built(*_zig(), *STRICT, "-c", source, "-o", tmp_path / "out.o")


@pytest.mark.parametrize(
    "function", ["accelerations", "efforts", "frame_jacobians", "outputs", "step"]
)
def test_a_wrong_reference_value_is_found(exported, compiled, tmp_path, function):
    header, _, test = exported(tree)[1]
    (tmp_path / header.name).write_text(header.read_text())
    text = test.read_text()
    place = text.index(
        "const double expected[] = {",
        text.rindex("{\n        double out", 0, text.index(f"tree_{function}(")),
    )
    number = re.compile(r"-?\d[^,}]*").search(text, place + 20)
    changed = (
        text[: number.start()] + repr(float(number[0]) * (1 + 1e-8) + 1e-8) + text[number.end() :]
    )
    (tmp_path / test.name).write_text(changed)
    built("gcc", *STRICT, compiled(tree), tmp_path / test.name, "-lm", "-o", tmp_path / "test")
    done = run(tmp_path / "test")
    assert done.returncode == 1
    assert [line.split()[0] for line in done.stdout.splitlines() if "WRONG" in line] == [function]


def test_a_result_that_is_not_a_number_is_found(exported, tmp_path):
    _, source, test = exported(plain)[1]
    called = r"_run\((x|y), work, (out|column)\);"
    (tmp_path / "broken.c").write_text(
        re.sub(called, r"_run(\1, work, \2); \2[0] = NAN;", source.read_text())
    )
    built(
        "gcc",
        *STRICT,
        f"-I{source.parent}",
        tmp_path / "broken.c",
        test,
        "-lm",
        "-o",
        tmp_path / "test",
    )
    done = run(tmp_path / "test")
    assert done.returncode == done.stdout.count("WRONG") == COUNT[plain]


@pytest.mark.parametrize("precision", ["double", "float"])
@pytest.mark.parametrize("system", SYSTEMS)
def test_functions_are_those_of_the_equations(exported, library, system, precision):
    """Called from outside, at another state, with matrices row by row."""
    equations = exported(system, precision)[0]
    functions, state = library(system, precision), random_state(equations, 4)
    real = np.dtype(float if precision == "double" else np.float32)
    number = ctypes.c_double if precision == "double" else ctypes.c_float
    udot = np.random.default_rng(3).standard_normal(len(equations.speeds))
    values = {"q": state.q, "u": state.u, "udot": udot, "w": state.inputs}
    values["p"] = np.array(list(state.parameters.values()))
    arrays = {key: np.array(value, real) for key, value in values.items()}
    at = {key: ctypes.c_void_p(array.ctypes.data) for key, array in arrays.items()}
    for name, value in _wanted(equations, state, udot).items():
        out = np.zeros(np.shape(value), real)
        function = getattr(functions, f"{system.__name__}_{name}")
        function.restype = None
        own = [at["udot"]] if name == "efforts" else []
        last = at["w"], at["p"], ctypes.c_void_p(out.ctypes.data)
        function(at["q"], at["u"], *own, number(state.t), *last)
        tolerance = 1e-11 if precision == "double" else 2e-4
        assert np.abs(out - value).max() < tolerance * max(1.0, np.abs(value).max()), name


def _wanted(equations, state, udot):
    """What the functions of the library are to give."""
    at, place, q, u = state.at, state.place, state.q, state.u
    places = [*equations.system.bodies, *equations.system.markers]
    J = equations.jacobian("accelerations", ("q", "u", "inputs"), q, u, **at)
    wanted = {
        "accelerations": equations.accelerations(q, u, **at),
        "efforts": equations.efforts(q, u, udot, **at),
        "mass_matrix": equations.mass_matrix(q, **place),
        "forces": equations.forces(q, u, **at),
        "coordinate_rates": equations.coordinate_rates(q, u),
        "energies": [
            equations.kinetic_energy(q, u, **place),
            equations.potential_energy(q, **place),
        ],
        "accelerations_jacobian": np.hstack(J),
        "positions": np.concatenate([equations.position(name, q, **place) for name in places]),
        "rotations": np.vstack([equations.rotation(name, q, **place) for name in places]),
        "frame_jacobians": np.vstack(
            [equations.robotics.frame_jacobian(name, q, **place) for name in places]
        ),
    }
    if equations.terms.outputs:
        wanted["outputs"] = equations.observe("height", q, u, **at)
    if equations.constraints:
        phi = equations.position_violation(q, **place)
        wanted["constraints"] = np.append(phi, equations.velocity_violation(q, u, **place))
        wanted["constraint_jacobian"] = equations.constraint_jacobian(q, u, **place)
    return wanted


@pytest.mark.parametrize("system", [tree, loop])
def test_steps_are_those_of_a_rollout(exported, library, system):
    equations, step = exported(system)[0], getattr(library(system), f"{system.__name__}_step")
    step.restype = None
    w, p = 0.7 * np.ones(len(equations.inputs)), np.array(equations.terms.symbols.defaults)
    guess = {"guess": {"qA": 1.0, "qB": -1.0, "qC": 1.5}} if system is loop else {}
    q, u = equations.assemble({"qA'": 2.0} if system is loop else {}, **guess)
    u = u + 0.5 if system is tree else u
    run = equations.rollout(q, u, step=0.01, steps=20, inputs=w)
    q, u, h = q.copy(), u.copy(), ctypes.c_double(0.01)
    places = [ctypes.c_void_p(a.ctypes.data) for a in (q, u, w, p)]
    for k in range(20):
        step(*places[:2], ctypes.c_double(0.01 * k), *places[2:], h)
    assert np.abs(run.u[0, -1] - run.u[0, 0]).max() > 0.1
    np.testing.assert_allclose(q, run.q[0, -1], atol=1e-9)
    np.testing.assert_allclose(u, run.u[0, -1], atol=1e-9)


@pytest.mark.smoke
def test_the_header_names_everything(exported):
    text = exported(tree)[1][0].read_text()
    for name in ("hinge", "ball.q0", "ball.wx", "torque", "load * /", "tree * / of / * joints"):
        assert name in text
    assert text.count("*/") == text.count("/*") == 1 + 2 + COUNT[tree]
    assert "#define TREE_Q 5" in text
    assert "extern const double tree_values[1];" in text


@pytest.mark.parametrize("precision", ["double", "float"])
def test_every_function_of_expressions_is_there(precision, tmp_path):
    _, source, test = every_function().export_c(tmp_path / "all", precision)
    built("gcc", *STRICT, source, test, "-lm", "-o", tmp_path / "test")
    done = run(tmp_path / "test")
    assert done.returncode == 0, done.stdout


def test_what_is_asked_for_is_written(tmp_path):
    equations = plain().equations()
    header, source, test = equations.export_c(tmp_path / "few", functions=["energies", "step"])
    declared = re.findall(r"void few_(\w+)", header.read_text())
    assert declared == ["accelerations", "coordinate_rates", "energies", "step"]
    built("gcc", *STRICT, source, test, "-lm", "-o", tmp_path / "test")
    assert run(tmp_path / "test").returncode == 0
    with pytest.raises(mg.ArgumentError, match="unknown function 'energy'"):
        equations.export_c(tmp_path / "few", functions=["energy"])
    with pytest.raises(mg.ArgumentError, match="precision must be 'double' or 'float'"):
        equations.export_c(tmp_path / "few", precision="half")


def test_a_step_knows_no_impacts(tmp_path):
    system = plain()
    system.rigid_contact("floor", mg.Sphere("stone", 0.1), mg.Plane(system.ground))
    header = system.equations().export_c(tmp_path / "ball")[0].read_text()
    assert "ball_accelerations" in header
    assert "ball_step" not in header
    with pytest.raises(
        mg.UnsupportedError, match="a step knows no impacts, and rigid_contact 'floor'"
    ):
        system.equations().export_c(tmp_path / "ball", functions=["step"])


def test_what_single_precision_spoils_is_told(tmp_path):
    system = plain()
    far = lambda m: 1e3 * (mg.cos(m.coordinate("z") + 1e6) - 1)  # noqa: E731
    system.force("far", "stone", lambda m: far(m) * m.axis("stone", "z"))
    with pytest.warns(UserWarning, match=r"rounding spoils.*accelerations \(\de-0\d\)"):
        system.equations().export_c(tmp_path / "far", "float")
    huge = plain()
    huge.force(
        "huge", "stone", lambda m: 1e-200 * (1e240 + m.coordinate("z")) * m.axis("stone", "z")
    )
    with pytest.raises(mg.UnsupportedError, match="too large"):
        huge.equations().export_c(tmp_path / "huge", "float")


def test_what_cannot_be_exported_is_told(tmp_path):
    with pytest.raises(mg.ArgumentError, match="is no name for C functions"):
        plain().equations().export_c(tmp_path / "two words")
    nowhere = plain()
    nowhere.force(
        "bad", "stone", lambda m: mg.sqrt(-1 - m.coordinate("z") ** 2) * m.axis("stone", "z")
    )
    with pytest.raises(mg.ArgumentError, match="not finite near the reference"):
        nowhere.equations().export_c(tmp_path / "nowhere")
    assert not list(Path(tmp_path).iterdir())


def test_a_table_has_no_c_form_and_is_told(tmp_path):
    s = mg.System("pendulum")
    s.revolute("hinge", s.ground, s.body("rod", mass=1.0, inertia=(1, 1, 1)))
    table = ca.interpolant("table", "linear", [[0.0, 1.0, 2.0]], [0.0, 1.0, 4.0])
    s.torque("spring", "hinge", lambda m: table(m.coordinate("hinge")))
    with pytest.raises(mg.UnsupportedError, match="a table"):
        s.equations().export_c(tmp_path / "pendulum")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("path", [None, "/", "", 3, b"name", "a\0b", "a\ud800b"])
def test_a_path_that_is_none_is_refused(path):
    s = mg.System("pendulum")
    s.revolute("hinge", s.ground, s.body("rod", mass=1.0, inertia=(1, 1, 1)))
    with pytest.raises(mg.ArgumentError, match="expected the name of a file"):
        s.equations().export_c(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["skateboard", "snakeboard", "fourbar"])
def test_a_step_in_single_precision_is_a_number(name, tmp_path):
    """Light wheels under a heavy board: pivots of their rows are rounding, which no step may divide
    by."""
    equations = mg.gallery.load(name).system().equations()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # digits that are lost
        _, source, test = equations.export_c(tmp_path / name, "float", ["step"])
    for level in ("-O0", "-O2"):
        built("gcc", level, source, test, "-lm", "-o", tmp_path / "test")
        done = run(tmp_path / "test")
        assert done.returncode == 0, done.stdout
        assert "step                   right" in done.stdout
