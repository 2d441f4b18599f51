"""C export: portable, free of warnings, and with a test that can fail."""

from __future__ import annotations

import ctypes
import re
import subprocess
from functools import cache
from pathlib import Path

import casadi as ca
import numpy as np
import pytest

import mechgraph as mg
from mechgraph.kernels.compiler import _zig, find_compiler
from random_systems import random_state

STRICT = ("-O2", "-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror")


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


SYSTEMS = [tree, loop, plain]


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    """Equations and their C, printed once."""
    folder = tmp_path_factory.mktemp("c")

    @cache
    def export(system):
        equations = system().equations()
        return equations, equations.export_c(folder / f"{system.__name__}.c")

    return export


def run(*command: object) -> subprocess.CompletedProcess:
    return subprocess.run([*map(str, command)], capture_output=True, text=True)


def built(*command: object) -> None:
    done = run(*command)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("system", SYSTEMS)
def test_it_compiles_without_warnings_and_its_test_passes(exported, system, tmp_path):
    header, source, test = exported(system)[1]
    assert [path.name for path in (header, source, test)] == [
        system.__name__ + end for end in (".h", ".c", "_test.c")
    ]
    built("gcc", *STRICT, source, test, "-lm", "-o", tmp_path / "test")
    done = run(tmp_path / "test")
    assert done.returncode == 0, done.stdout
    assert done.stdout.count("right") == (7 if system is loop else 5)


@pytest.mark.parametrize("system", SYSTEMS)
def test_clang_has_nothing_to_say_either(exported, system, tmp_path):
    for source in exported(system)[1][1:]:
        built(*_zig(), *STRICT, "-c", source, "-o", tmp_path / "out.o")


@pytest.mark.parametrize(
    "function", ["accelerations", "mass_matrix", "forces", "coordinate_rates", "energies"]
)
def test_a_wrong_reference_value_is_found(exported, tmp_path, function):
    header, source, test = exported(tree)[1]
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
    built("gcc", *STRICT, source, tmp_path / test.name, "-lm", "-o", tmp_path / "test")
    done = run(tmp_path / "test")
    assert done.returncode == 1
    assert [line.split()[0] for line in done.stdout.splitlines() if "WRONG" in line] == [function]


def test_a_result_that_is_not_a_number_is_found(exported, tmp_path):
    _, source, test = exported(plain)[1]
    (tmp_path / "broken.c").write_text(
        source.read_text().replace("_run(x, work, out);", "_run(x, work, out); out[0] = NAN;")
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
    assert run(tmp_path / "test").returncode == 5


@pytest.mark.parametrize("system", SYSTEMS)
def test_functions_are_those_of_the_equations(exported, system, tmp_path):
    """Called from outside, at another state, with matrices row by row."""
    equations, (_, source, _) = exported(system)
    library = tmp_path / "model.so"
    built(*find_compiler().command, *STRICT, "-fPIC", "-shared", source, "-lm", "-o", library)
    functions, state = ctypes.CDLL(str(library)), random_state(equations, 4)
    p = np.array(list(state.parameters.values()))
    arrays = [np.ascontiguousarray(a) for a in (state.q, state.u, state.inputs, p)]
    q, u, w, p_at = (ctypes.c_void_p(a.ctypes.data) for a in arrays)
    at, place = state.at, state.place
    wanted = {
        "accelerations": equations.accelerations(state.q, state.u, **at),
        "mass_matrix": equations.mass_matrix(state.q, **place),
        "forces": equations.forces(state.q, state.u, **at),
        "coordinate_rates": equations.coordinate_rates(state.q, state.u),
        "energies": [
            equations.kinetic_energy(state.q, state.u, **place),
            equations.potential_energy(state.q, **place),
        ],
    }
    if equations.constraints:
        phi, psi = (
            equations.position_violation(state.q, **place),
            equations.velocity_violation(state.q, state.u, **place),
        )
        wanted |= {"constraints": np.concatenate([phi, psi])}
        wanted |= {"constraint_jacobian": equations.constraint_jacobian(state.q, state.u, **place)}
    for name, value in wanted.items():
        out = np.zeros(np.shape(value))
        function = getattr(functions, f"{system.__name__}_{name}")
        function.restype = None
        function(q, u, ctypes.c_double(state.t), w, p_at, ctypes.c_void_p(out.ctypes.data))
        assert np.abs(out - value).max() < 1e-11 * max(1.0, np.abs(value).max()), name


def test_the_header_names_everything(exported):
    text = exported(tree)[1][0].read_text()
    for name in ("hinge", "ball.q0", "ball.wx", "torque", "load * /", "tree * / of / * joints"):
        assert name in text
    assert text.count("*/") == text.count("/*") == 1 + 5


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
