"""The graph of operations: each operation of the table means the same in every language, and what a
language misses it says by name; kinks are where operations have them."""

from __future__ import annotations

import ctypes
import importlib.util
import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import casadi as ca
import jax
import numpy as np
import pytest
from casadi import SX

import mechgraph as mg
from formats.test_modelica import Model
from mechgraph.formats.model_files import expressions
from mechgraph.formats.model_files.spelling import spelled
from mechgraph.graph import trace
from mechgraph.graph.algebra import Expressions, Text
from mechgraph.graph.expressions import operands
from mechgraph.graph.kinks import kinks, pieces
from mechgraph.graph.operations import INFIX, OPERATIONS, Operation
from mechgraph.graph.program import rebuild, without_table_slopes
from mechgraph.graph.rounding import is_rounding
from mechgraph.kernels import Kernel
from mechgraph.kernels.compiler import find_compiler
from mechgraph.show.readable import to_sympy

jax.config.update("jax_enable_x64", True)
ABOVE_ZERO = ("log", "sqrt", "asin", "acos", "atanh", "log1p", "pow")
LOGICAL = ("eq", "ne", "lt", "le", "and", "or", "not", "if_else_zero")


def applied(operation: Operation, x: SX, y: SX) -> SX:
    """An operation where it has a value: x is between 0 and 1, y between −½ and ½. Logical ones are
    asked for small whole numbers, of which some are equal."""
    a, b = 3 * y, 0.2 + x
    if operation.name in ABOVE_ZERO:
        a, b = x, y
    elif operation.name == "acosh":
        a = 1 + x
    elif operation.name == "copysign":
        a, b = b, a
    elif operation.name in LOGICAL:
        a, b = ca.floor(2 * x), ca.floor(3 * y)
    if operation.arity == 1:
        return SX.unary(operation.code, a)
    return SX.binary(operation.code, a, b)


def by_hand(*forces: Callable[[SX, SX], SX]) -> mg.Equations:
    """Forces as functions of two coordinates."""
    names = [f"u{k}" for k in range(max(2, len(forces)))]
    v = mg.variables(["x", "y"], names)
    f = [force(v["x"], v["y"]) for force in forces] + [0.0] * (len(names) - len(forces))
    N = np.eye(2, len(names))
    return mg.Equations(mg.Terms(v, name="operations", N=N, M=np.eye(len(names)), f=f))


@cache
def everything() -> mg.Equations:
    return by_hand(*(lambda x, y, o=o: applied(o, x, y) for o in OPERATIONS.values()))


@cache
def states() -> np.ndarray:
    return np.random.default_rng(1).uniform((0.02, -0.5), (0.98, 0.5), (60, 2))


@cache
def exact() -> np.ndarray:
    s = everything().terms.symbols
    return np.array(ca.Function("f", [s.q], [everything().terms.f])(states().T)).T


# --- everything in every language: forces for each state ------------------------------------------


def by_casadi(folder: Path) -> np.ndarray:
    s = everything().terms.symbols
    function = ca.Function("f", [s.q], [everything().terms.f])
    again = rebuild(function, trace(function), Expressions(function.sx_in()))
    return np.array(ca.Function("f", function.sx_in(), again)(states().T)).T


def by_machine_code(folder: Path) -> np.ndarray:
    s = everything().terms.symbols
    kernel = Kernel("operations", [s.q], [everything().terms.f], [1])
    assert kernel.compile()
    return kernel(states())[0]


def by_plain_c(folder: Path, precision: str = "double") -> np.ndarray:
    everything().export_c(folder / "model", precision, functions=["forces"])
    library = folder / "model.so"
    command = ["cc", "-shared", "-fPIC", "-O1", str(folder / "model.c"), "-lm", "-o", str(library)]
    subprocess.run(command, check=True)
    run = ctypes.CDLL(str(library)).model_forces
    one, dtype = {
        "double": (ctypes.c_double, np.float64),
        "float": (ctypes.c_float, np.float32),
    }[precision]
    out, none = np.zeros(len(OPERATIONS), dtype), np.zeros(len(OPERATIONS), dtype)
    rows = []
    for state in states().astype(dtype):
        given = [array.ctypes.data for array in (state, none)]
        rest = [array.ctypes.data for array in (none, none, out)]
        run(*map(ctypes.c_void_p, given), one(0.0), *map(ctypes.c_void_p, rest))
        rows.append(out.astype(float))
    return np.array(rows)


def by_single_precision(folder: Path) -> np.ndarray:
    return by_plain_c(folder, "float")


def by_jax(folder: Path) -> np.ndarray:
    forces = everything().to_jax(["forces"])["forces"]
    return np.asarray(forces(states(), np.zeros((len(states()), len(OPERATIONS)))))


def by_numpy(folder: Path) -> np.ndarray:
    (path,) = everything().export(folder / "model.py", functions=["forces"])
    spec = importlib.util.spec_from_file_location("model", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.forces(states())


def by_modelica(folder: Path) -> np.ndarray:
    (path,) = everything().export(folder / "own.mo", start={"x": 0.3, "y": 0.4})
    model, rates = Model(path.read_text()), [f"der(u{k})" for k in range(len(OPERATIONS))]
    rest = dict.fromkeys(model.of(""), 0.0) | {"time": 0.0}
    found = [model.computed(rest | {"x": x, "y": y}) for x, y in states().tolist()]
    return np.array([[values[rate] for rate in rates] for values in found])


def by_model_file(folder: Path) -> np.ndarray:
    s, columns = everything().terms.symbols, []
    named = {"x": s.q[0], "y": s.q[1]}
    for force in everything().terms.f.elements():
        read = expressions.evaluate(
            spelled(force, {v.__hash__(): k for k, v in named.items()}), named
        )
        columns.append(np.array(ca.Function("f", [s.q], [read])(states().T)).ravel())
    return np.column_stack(columns)


def by_sympy(folder: Path, simplify: bool = False) -> np.ndarray:
    readable = to_sympy(everything(), simplify, ["f"])
    f = readable.function("f")
    rest = [0.0] * (len(readable.symbols) - 2)
    return np.array([np.array(f(*state, *rest)[0], float).ravel() for state in states()])


def by_normal_form(folder: Path) -> np.ndarray:
    return by_sympy(folder, simplify=True)


LANGUAGES = {
    by_casadi: 0.0,
    by_machine_code: 1e-14,
    by_plain_c: 1e-14,
    by_single_precision: 1e-5,
    by_jax: 1e-13,
    by_numpy: 1e-14,
    by_modelica: 1e-13,
    by_model_file: 0.0,
    by_sympy: 1e-13,
    by_normal_form: 1e-13,
}


@pytest.fixture(scope="module")
def found(tmp_path_factory) -> Callable[[Callable[[Path], np.ndarray]], np.ndarray]:
    return cache(lambda language: language(tmp_path_factory.mktemp("language")))


@pytest.mark.parametrize("language", LANGUAGES, ids=lambda language: language.__name__)
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_the_same_in_every_language(name, language, found):
    if language in (by_machine_code, by_plain_c, by_single_precision) and find_compiler() is None:
        pytest.skip("no compiler")
    k = list(OPERATIONS).index(name)
    slack = LANGUAGES[language]
    np.testing.assert_allclose(found(language)[:, k], exact()[:, k], rtol=slack, atol=slack)


def test_the_states_tell_operations_apart():
    """Each has several values, and no two have the same."""
    columns = {tuple(column) for column in exact().T}
    assert len(columns) == len(OPERATIONS)
    assert all(len(set(column)) > 1 for column in columns)


# --- what a language misses -----------------------------------------------------------------------

REFUSALS = {
    "to_jax": lambda e, path: e.to_jax(["forces"]),
    ".py": lambda e, path: e.export(path / "model.py"),
    ".c": lambda e, path: e.export_c(path / "model"),
    ".mo": lambda e, path: e.export(path / "own.mo", start={"x": 0.3, "y": 0.4}),
    "to_sympy": lambda e, path: e.to_sympy(),
    "model file": lambda e, path: spelled(
        e.terms.f[0], {s.__hash__(): s.name() for s in ca.vertsplit(e.terms.symbols.q)}
    ),
}
squared = ca.Function("squared", [X := SX.sym("x")], [X * X], {"never_inline": True})


@pytest.mark.parametrize("language", REFUSALS)
@pytest.mark.parametrize(
    ("name", "force"),
    [("erfinv", lambda x, y: ca.erfinv(x)), ("'squared'", lambda x, y: squared(x))],
)
def test_what_a_language_misses_is_refused_by_name(name, force, language, tmp_path):
    with pytest.raises(mg.MechgraphError, match=name):
        REFUSALS[language](by_hand(force), tmp_path)


class OnlySums(Text):
    """A language that can add."""

    language, operations = "abacus", {"add": INFIX["add"]}

    def input(self, argument: int, place: int) -> str:
        return "xy"[place]


def test_an_algebra_is_asked_only_for_what_it_has():
    v = SX.sym("v", 2)
    program = trace(ca.Function("f", [v], [v[0] + (v[1] + 2)]))
    assert program.evaluate(OnlySums()) == [["(x + (y + 2.0))"]]
    table = mg.table([0, 1], [0, 1], name="spring")
    for value, missing in {
        ca.sin(v[0]) * v[1]: "abacus has no form of sin, mul;",
        table(v[0]) + v[1]: "sub, mul",
        table.search(v[0])[0]: "abacus has no form of table 'spring'",
    }.items():
        with pytest.raises(mg.UnsupportedError, match=missing):
            trace(ca.Function("f", [v], [value])).evaluate(OnlySums())


# --- the program ----------------------------------------------------------------------------------


def test_functions_that_are_called_stay_as_they_are():
    """Two of one name, with several results: merged where they are the same call."""
    x = SX.sym("x", 2)
    pair = ca.Function("pair", [X], [X + 1, X * X], {"never_inline": True})
    other = ca.Function("pair", [X], [X - 1, X], {"never_inline": True})
    value = ca.vertcat(*pair(x[0]), *other(x[0]), *pair(x[1] + 0), pair(x[0])[1])
    function = ca.Function("f", [x], [value])
    program = trace(function)
    assert program.operations == 6
    again = ca.Function("f", [x], rebuild(function, program, Expressions([x])))
    np.testing.assert_array_equal(np.array(again([3.0, 5.0])), np.array(function([3.0, 5.0])))
    assert trace(again).operations == 6


def test_slopes_of_tables_are_left_out():
    table, x = mg.spline([0, 1, 3, 4], [0, 2, 1, 5]), SX.sym("x")
    function = ca.Function("f", [x], [ca.hessian(table(x * x) * ca.sin(x), x)[0]])
    short, at = without_table_slopes(function), np.linspace(-1.9, 1.9, 50)[None]
    assert short.n_instructions() < function.n_instructions()
    np.testing.assert_array_equal(np.array(short(at)), np.array(function(at)))
    assert {each.name() for each in short.find_functions(0)} == {table.search.name()}


def test_what_cancels_is_rounding_however_it_is_written():
    """Equal operations are made wrong on their own, though a program would have them once."""
    x, y = SX.sym("x"), SX.sym("y")
    s = ca.sin(x)
    value = ca.vertcat(s * y * x - s * y * x, s * y * x - y * s * x, x - y)
    states = np.random.default_rng(0).uniform(1, 2, (5, 2))
    assert is_rounding(value, ca.vertcat(x, y), states).tolist() == [True, True, False]


# --- kinks ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", OPERATIONS)
def test_kinks_are_where_an_operation_has_them(name):
    """Along a line through the operands, values and slopes jump there and nowhere else."""
    operation, s = OPERATIONS[name], SX.sym("s")
    a, b = 1.3 * s + 0.0123, 0.31 + 0.1 * s
    if name in ABOVE_ZERO or name == "acosh":
        a = 0.55 + 0.3 * s + (name == "acosh")
    elif name == "copysign":
        a, b = b, a
    value = SX.unary(operation.code, a) if operation.arity == 1 else SX.binary(operation.code, a, b)
    line = np.linspace(-1, 1, 4001)
    values = np.array(ca.Function("f", [s], [value])(line[None])).ravel()
    rough = np.abs(np.diff(values, 2)) > 1e-4
    zeros = [np.array(ca.Function("f", [s], [z])(line[None])).ravel() for z in kinks(value).nz]
    turns = np.zeros(len(line) - 1, bool)
    for zero in zeros:
        turns |= np.diff(np.sign(zero)) != 0
    assert not (rough & ~(turns[1:] | turns[:-1])).any()
    assert rough.any() == (operation.kink is not None and name not in ("eq", "ne"))


def test_a_table_of_the_users_is_no_wave():
    x = SX.sym("x")
    own = mg.table([0, 1, 2], [0, 1, 0], name="wave")
    surfaces = kinks(ca.fmax(own(x), 0.5))
    assert len(operands(surfaces)) == 2  # it is compared, and it has stops
    assert pieces(surfaces).numel() == 1
