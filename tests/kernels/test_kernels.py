"""Kernels: the operations, the printing, the calls, the compiler and its cache, the tiers.

CasADi's interpreter is the oracle. Machine code contracts a·b + c into one operation, so it is
compared bit by bit only where a test switches that off; elsewhere to a few units in the last place
of the numbers that make up a result.
"""

from __future__ import annotations

import hashlib
import itertools
import logging
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from functools import cache
from pathlib import Path

import casadi as ca
import mpmath
import numpy as np
import pytest
from casadi import SX

import mechgraph as mg
from mechgraph import graph
from mechgraph.graph.operations import OPERATIONS
from mechgraph.graph.program import Program, trace
from mechgraph.kernels import Kernel, compiler, emit, kernel, native, repeats
from random_systems import random_loop, random_state, random_tree

pytestmark = pytest.mark.machine_code

WIDTHS = (1, 2, 4, 8)  # compilers make do with narrower registers
UNCONTRACTED = tuple(flag.replace("contract=fast", "contract=off") for flag in compiler.FLAGS)


def machine_code(function: ca.Function, width: int) -> native.Native:
    """A function in machine code, all results as matrices."""
    shapes = [function.size_out(k) for k in range(function.n_out())]
    return loaded(
        emit.emit(trace(function), "kernel", width, shapes),
        [function.nnz_in(k) for k in range(function.n_in())],
        shapes,
    )


def loaded(source: str, sizes: list[int], shapes: list[tuple[int, int]]) -> native.Native:
    if compiler.find_compiler() is None:
        pytest.skip("no compiler")
    return native.Native(
        compiler.load(compiler.key_of(source), lambda: source), "kernel", sizes, shapes
    )


def interpreted(function: ca.Function, *rows: np.ndarray) -> list[np.ndarray]:
    """Results of CasADi's interpreter, state by state."""
    values = [function.call([ca.DM(x) for x in state]) for state in zip(*rows, strict=True)]
    return [np.array([np.array(value[k]) for value in values]) for k in range(function.n_out())]


def same_bits(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Equal, zeros with their signs; any NaN is like any other."""
    return (np.isnan(a) & np.isnan(b)) | ((a == b) & (np.signbit(a) == np.signbit(b)))


# --- operations -----------------------------------------------------------------------------------

EDGES = [
    0.0,
    5e-324,
    1e-310,
    1e-300,
    1e-16,
    0.3,
    0.5,
    1.0,
    1.5,
    np.pi / 2,
    2.0,
    3.0,
    7.0,
    1e3,
    1.6e6,
    1e8,
    1e22,
    1e300,
    np.inf,
]
SPECIAL = np.array([*EDGES, *(-x for x in EDGES), np.nan])


def random_numbers(count: int, seed: int) -> np.ndarray:
    random = np.random.default_rng(seed)
    return random.standard_normal(count) * 10.0 ** random.uniform(-3, 3, count)


@cache
def all_operations() -> tuple[ca.Function, list[str]]:
    """Every operation as one result; CasADi's own names of them are its numbers."""
    x, y = SX.sym("x"), SX.sym("y")
    results = {
        name: SX.unary(each.code, x) if each.arity == 1 else SX.binary(each.code, x, y)
        for name, each in OPERATIONS.items()
    }
    results |= {
        "constpow": SX.binary(ca.OP_CONSTPOW, x, y),
        "sq": SX.unary(ca.OP_SQ, x),
        "twice": SX.unary(ca.OP_TWICE, x),
        "inv": SX.unary(ca.OP_INV, x),
    }
    return ca.Function("all", [x, y], [ca.vertcat(*results.values())]), list(results)


@pytest.mark.parametrize("width", WIDTHS)
def test_operations_are_those_of_the_interpreter(width):
    """Bit by bit, on special values (each with each) and random ones; fmin(0, −0) may be either
    zero, as in C."""
    function, names = all_operations()
    pairs = np.array(
        [
            *itertools.product(SPECIAL, SPECIAL),
            *zip(random_numbers(500, 1), random_numbers(500, 2), strict=True),
        ]
    )
    x, y = pairs[:, :1], pairs[:, 1:]
    (mine,), (oracle,) = (
        machine_code(function, width).batch([x, y], len(pairs)),
        interpreted(function, x, y),
    )
    for k, name in enumerate(names):
        if name in ("sin", "cos"):
            continue  # not the C library's: measured below
        same = same_bits(mine[:, k, 0], oracle[:, k, 0])
        if name.startswith(("fmin", "fmax")):
            same |= (pairs == 0).all(axis=1) & (mine[:, k, 0] == 0)
        assert same.all(), (
            f"{name} of {pairs[~same][0]}: {mine[~same][0, k]}, not {oracle[~same][0, k]}"
        )


def test_operations_are_those_of_numpy():
    """The oracle itself: CasADi's operations mean what NumPy's mean, to 4 units in the last
    place."""
    function, names = all_operations()
    x, y = random_numbers(500, 3), random_numbers(500, 4)
    (oracle,) = interpreted(function, x[:, None], y[:, None])
    same = ("exp", "log", "sqrt", "sin", "cos", "tan", "sinh", "cosh", "tanh", "log1p", "expm1")
    rounding = ("floor", "ceil", "fabs", "sign")
    inverse = ("asin", "acos", "atan", "asinh", "acosh", "atanh")
    numpy = {
        **{name: getattr(np, name) for name in (*same, *rounding)},
        **{name: getattr(np, name.replace("a", "arc", 1)) for name in inverse},
        "neg": np.negative,
        "not": np.logical_not,
        "sq": np.square,
        "twice": lambda x: 2 * x,
        "inv": lambda x: 1 / x,
        "erf": lambda x: np.array([float(mpmath.erf(v)) for v in x]),
    }
    numpy2 = {
        "add": np.add,
        "sub": np.subtract,
        "mul": np.multiply,
        "div": np.divide,
        "pow": np.power,
        "lt": np.less,
        "le": np.less_equal,
        "eq": np.equal,
        "ne": np.not_equal,
        "and": np.logical_and,
        "or": np.logical_or,
        "fmod": np.fmod,
        "copysign": np.copysign,
        "fmin": np.fmin,
        "fmax": np.fmax,
        "atan2": np.arctan2,
        "hypot": np.hypot,
        "if_else_zero": lambda x, y: np.where(x != 0, y, 0),
        "remainder": lambda x, y: x - y * np.rint(x / y),
        "constpow": np.power,
    }
    for k, name in enumerate(names):
        mine = oracle[:, k, 0]
        with np.errstate(all="ignore"):
            wanted = np.asarray(
                numpy[name](x) if name in numpy else numpy2[name](x, y), dtype=float
            )
            slack = (
                4 * np.spacing(np.abs(x)) if name == "remainder" else 4 * np.spacing(np.abs(wanted))
            )
            near = np.abs(mine - wanted) <= slack
        assert (near | same_bits(mine, wanted)).all(), name


def turning_points(random: np.random.Generator) -> np.ndarray:
    """The doubles nearest to multiples of π/2, and their neighbours: where the reduction of the
    angle is hardest."""
    k = np.concatenate([np.arange(-50, 51), random.integers(-1_018_000, 1_018_000, 900)])
    with mpmath.workprec(200):
        x = np.array([float(mpmath.pi / 2 * int(n)) for n in k])
    return np.concatenate([x, np.nextafter(x, np.inf), np.nextafter(x, -np.inf), x * (1 + 1e-12)])


@cache
def angles_and_sines() -> tuple[np.ndarray, list[list[mpmath.mpf]]]:
    """Angles of every size, with their sines and cosines to many digits."""
    random = np.random.default_rng(5)
    kinds = [
        turning_points(random),
        SPECIAL[np.isfinite(SPECIAL)],
        random.uniform(-1, 1, 2000),
        random.uniform(-10, 10, 2000),
        random.uniform(-1e3, 1e3, 1000),
        random.uniform(-1.6e6, 1.6e6, 2000),
        10 ** random.uniform(6.2, 300, 300),
        10 ** random.uniform(-320, -1, 300),
    ]
    x = np.concatenate(kinds)
    with mpmath.workprec(1200):  # π/2 to all the digits that 1e300 asks for
        return x, [[f(mpmath.mpf(v)) for v in x] for f in (mpmath.sin, mpmath.cos)]


def ulps(mine: float, exact: mpmath.mpf) -> float:
    return float(abs(mpmath.mpf(mine) - exact)) / np.spacing(abs(float(exact)))


@pytest.mark.parametrize("width", WIDTHS)
def test_sine_and_cosine_are_good_to_one_unit_in_the_last_place(width):
    (x, exact), angle = angles_and_sines(), SX.sym("x")
    both = machine_code(ca.Function("both", [angle], [ca.sin(angle), ca.cos(angle)]), width).batch(
        [x[:, None]], len(x)
    )
    for mine, wanted in zip(both, exact, strict=True):
        with mpmath.workprec(1200):
            errors = [ulps(float(m), w) for m, w in zip(mine.ravel(), wanted, strict=True)]
        assert max(errors) < 1.0, f"{max(errors):.3f} ulp at {x[int(np.argmax(errors))]!r}"


@pytest.mark.parametrize("width", WIDTHS)
def test_a_sine_alone_is_that_of_a_pair(width):
    x, angle = random_numbers(500, 12)[:, None], SX.sym("x")
    both = machine_code(ca.Function("both", [angle], [ca.sin(angle), ca.cos(angle)]), width).batch(
        [x], len(x)
    )
    for f, mine in zip((ca.sin, ca.cos), both, strict=True):
        (alone,) = machine_code(ca.Function("one", [angle], [f(angle)]), width).batch([x], len(x))
        assert same_bits(mine, alone).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_sine_and_cosine_at_the_edges(width):
    """sin(±0) = ±0, NaN of NaN and of infinities; one wild lane leaves its neighbours alone."""
    angle = SX.sym("x")
    code = machine_code(ca.Function("both", [angle], [ca.sin(angle), ca.cos(angle)]), width)
    x = np.array([0.0, -0.0, np.nan, np.inf, -np.inf])
    sine, cosine = (value.ravel() for value in code.batch([x[:, None]], len(x)))
    assert same_bits(sine, np.array([0.0, -0.0, np.nan, np.nan, np.nan])).all()
    assert same_bits(cosine, np.array([1.0, 1.0, np.nan, np.nan, np.nan])).all()
    calm = random_numbers(width, 6)[:, None]
    wild = np.where(np.arange(width)[:, None] == 0, 1e9, calm)
    for quiet, disturbed in zip(code.batch([calm], width), code.batch([wild], width), strict=True):
        assert same_bits(quiet[1:], disturbed[1:]).all()


# --- programs -------------------------------------------------------------------------------------


def random_function(seed: int, operations: int, trigonometry: bool = False) -> ca.Function:
    """Random operations on three variables, constants and each other; some of all these are the
    results."""
    random = np.random.default_rng(seed)
    x, y = SX.sym("x", 2), SX.sym("y")
    values = [x[0], x[1], y, SX(1.5), SX(-2.0)]
    one = [
        ca.sqrt,
        ca.fabs,
        ca.tanh,
        ca.sign,
        lambda a: a * a,
        lambda a: 2 * a,
        lambda a: 1 / a,
        lambda a: -a,
    ]
    two = [
        lambda a, b: a + b,
        lambda a, b: a - b,
        lambda a, b: a * b,
        lambda a, b: a / b,
        ca.fmin,
        ca.fmax,
        ca.atan2,
    ]
    two += [
        lambda a, b: ca.if_else(a < b, a, b + 1),
        lambda a, b: ca.if_else(ca.logic_and(a > 0, b != 0), b, a),
    ]
    if trigonometry:
        one = [*one[1:4], ca.sin, ca.cos, ca.sin, ca.cos]
    for _ in range(operations):
        a, b = (values[k] for k in random.integers(max(0, len(values) - 15), len(values), 2))
        values.append(random.choice(one)(a) if random.random() < 0.4 else random.choice(two)(a, b))
    results = [values[k] for k in random.integers(0, len(values), 12)]
    return ca.Function(
        "random", [x, y], [ca.densify(ca.reshape(ca.vertcat(*results), 4, 3)), values[-1], x]
    )


def random_arguments(count: int, seed: int) -> list[np.ndarray]:
    random = np.random.default_rng(seed)
    return [random.standard_normal((count, 2)), random.standard_normal((count, 1))]


@pytest.fixture
def uncontracted(monkeypatch):
    """No fused multiply-add: then every rounding is that of the interpreter."""
    monkeypatch.setattr(compiler, "FLAGS", UNCONTRACTED)


@pytest.mark.usefixtures("uncontracted")
@pytest.mark.parametrize("block", [7, 800])
@pytest.mark.parametrize("seed", range(3))
def test_random_programs_give_the_bits_of_the_interpreter(monkeypatch, seed, block):
    """Equal values merged, unused ones dropped, blocks large or small: the same numbers."""
    monkeypatch.setattr(repeats, "BLOCK", block)
    function, arguments = random_function(seed, 300), random_arguments(50, seed)
    oracle = interpreted(function, *arguments)
    assert np.isfinite(oracle[0]).mean() > 0.2  # it computes something
    for width in (1, compiler.lanes()):
        for mine, wanted in zip(
            machine_code(function, width).batch(arguments, 50), oracle, strict=True
        ):
            assert same_bits(mine, wanted).all()


@pytest.mark.usefixtures("uncontracted")
def test_sines_and_cosines_pair_across_blocks(monkeypatch):
    function, arguments = random_function(7, 200, trigonometry=True), random_arguments(50, 7)
    whole = machine_code(function, compiler.lanes()).batch(arguments, 50)
    monkeypatch.setattr(repeats, "BLOCK", 7)
    for mine, wanted in zip(
        machine_code(function, compiler.lanes()).batch(arguments, 50), whole, strict=True
    ):
        assert same_bits(mine, wanted).all()


def test_a_pair_is_computed_once_where_its_first_is_needed(monkeypatch):
    monkeypatch.setattr(repeats, "BLOCK", 3)
    x = SX.sym("x")
    between = ca.sin(x)
    for k in range(10):
        between = between * x + k
    function = ca.Function("far", [x], [between + ca.cos(x)])
    source = emit.emit(trace(function), "kernel", 1, [(1, 1)])
    printed = source.split("kernel_0", 1)[1]
    assert printed.count("v_sincos(") == 1
    assert "v_cos(" not in printed
    angle = np.array([[0.7]])
    assert np.allclose(
        loaded(source, [1], [(1, 1)]).batch([angle], 1)[0],
        interpreted(function, angle)[0],
        rtol=1e-15,
    )


def test_equal_values_are_computed_once_and_unused_ones_never():
    x, y = SX.sym("x"), SX.sym("y")
    program = trace(ca.Function("f", [x, y], [ca.sin(x * y) + ca.sin(y * x), (x - y) * (x - y)]))
    assert program.operations == 5  # x y, sin, +, x − y, square
    assert trace(ca.Function("f", [x, y], [x])).operations == 0
    assert [value[0] for value in trace(ca.Function("f", [x, y], [x - y, y - x])).values].count(
        "sub"
    ) == 2


@pytest.mark.parametrize("width", WIDTHS)
def test_operations_on_constants_alone(width):
    """CasADi folds them; a program may have them all the same."""
    values = [
        ("constant", 2.0),
        ("constant", -0.0),
        ("sub", 0, 1),
        ("div", 0, 1),
        ("neg", 0),
        ("atan2", 1, 1),
    ]
    source = emit.emit(Program(values, [[2, 3, 4, 5, 1]], (1,)), "kernel", width, [(5, 1)])
    (result,) = loaded(source, [1], [(5, 1)]).batch([np.zeros((1, 1))], 1)
    assert same_bits(
        result.ravel(), np.array([2.0, -np.inf, -2.0, np.arctan2(-0.0, -0.0), -0.0])
    ).all()


def test_a_block_that_needs_the_heap(monkeypatch):
    function, arguments = random_function(1, 60), random_arguments(20, 1)
    wanted = [machine_code(function, width).batch(arguments, 20) for width in WIDTHS]
    monkeypatch.setattr(emit, "STACK", 0)
    for width, old in zip(WIDTHS, wanted, strict=True):
        for mine, other in zip(
            machine_code(function, width).batch(arguments, 20), old, strict=True
        ):
            assert same_bits(mine, other).all()


@pytest.mark.parametrize("compiled", [False, True])
def test_results_that_are_inputs_constants_zeros_or_empty(compiled):
    x, nothing = SX.sym("x", 2), SX.sym("nothing", 0)
    sparse = SX(2, 3)
    sparse[1, 2] = x[0]
    results = [x, SX([1.5, -2.0]), SX(2, 2), SX(0, 1), SX(3, 0), x[1], sparse, x * x]
    every = Kernel("every", [x, nothing], results, axes=[1, 1, 2, 1, 2, 0, 2, 1])
    assert not compiled or every.compile()
    for batch in ((), (1,), (3,), (2, 3)):
        values = np.random.default_rng(0).standard_normal((*batch, 2))
        full = np.zeros((*batch, 2, 3))
        full[..., 1, 2] = values[..., 0]
        constants = np.broadcast_to([1.5, -2.0], (*batch, 2))
        zeros = [np.zeros((*batch, *shape)) for shape in ((2, 2), (0,), (3, 0))]
        wanted = [values, constants, *zeros, values[..., 1], full, values**2]
        got = every(values, np.zeros((*batch, 0)))
        assert [g.shape for g in got] == [w.shape for w in wanted]
        assert all(np.array_equal(g, w) for g, w in zip(got, wanted, strict=True))
    assert every.tier == ("machine code" if compiled else "interpreter")


def worst(mine: np.ndarray, oracle: np.ndarray) -> float:
    """Largest difference relative to the largest number of a result."""
    return float(np.abs(mine - oracle).max(initial=0) / (np.abs(oracle).max(initial=0) or 1.0))


def states(equations: mg.Equations, count: int) -> list[np.ndarray]:
    """q, u, t, w, p, a row for each state."""
    every = [random_state(equations, seed) for seed in range(count)]
    rows = [(s.q, s.u, [s.t], s.inputs, list(s.parameters.values())) for s in every]
    return [np.array(column, dtype=float).reshape(count, -1) for column in zip(*rows, strict=True)]


@pytest.mark.smoke("0")
@pytest.mark.parametrize("seed", [0, 1, 4, 8])
def test_random_trees_in_machine_code(seed):
    equations = random_tree(seed).system.equations()
    s, rows = equations.terms.symbols, states(equations, 11)
    results = [
        equations.numeric.closed.udot,
        equations.terms.M,
        equations.terms.f,
        equations.terms.kinetic,
        equations.terms.potential,
    ]
    function = ca.Function("tree", [s.q, s.u, s.t, s.w, s.p], [ca.densify(r) for r in results])
    oracle = interpreted(function, *rows)
    for mine, wanted in zip(
        machine_code(function, compiler.lanes()).batch(rows, 11), oracle, strict=True
    ):
        assert worst(mine, wanted) < 1e-12


@pytest.mark.parametrize(("seed", "kind"), [(3, "revolute"), (6, "spherical")])
def test_random_loops_in_machine_code(seed, kind):
    equations = random_loop(seed, kind).system.equations()
    s, rows = equations.terms.symbols, states(equations, 5)
    results = [
        equations.terms.A,
        equations.terms.b,
        equations.terms.phi,
        equations.terms.psi,
        equations.terms.f,
    ]
    function = ca.Function("loop", [s.q, s.u, s.t, s.w, s.p], [ca.densify(r) for r in results])
    oracle = interpreted(function, *rows)
    for mine, wanted in zip(
        machine_code(function, compiler.lanes()).batch(rows, 5), oracle, strict=True
    ):
        assert worst(mine, wanted) < 1e-12


# --- calls ----------------------------------------------------------------------------------------


def driven_arm() -> mg.System:
    """Two bars, a motor between them, a mass that is a parameter, a force that is a function of
    time."""
    arm = mg.System("arm", gravity=(0, 0, -9.81))
    load = arm.parameter("load", 0.8)
    upper = arm.body("upper", mass=1.0, com=(0, 0, -0.5), inertia=(0.08, 0.08, 0.001))
    lower = arm.body("lower", mass=load, com=(0, 0, -0.4), inertia=(0.05, 0.05, 0.001))
    arm.revolute("shoulder", arm.ground, upper, axis="y")
    arm.revolute("elbow", upper, lower, axis="y", at=(0, 0, -1.0))
    arm.torque("motor", "elbow", arm.input("torque"))
    arm.force("push", lower, (mg.sin(arm.time), 0, 0))
    return arm


@cache
def compiled_arm() -> mg.Equations:
    equations = driven_arm().equations()
    equations.mass_matrix([0.0, 0.0])
    equations.kinetic_energy([0.0, 0.0], [0.0, 0.0])
    assert equations.compile()
    return equations


@cache
def interpreted_arm() -> mg.Equations:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MECHGRAPH_CC", "none")
        equations = driven_arm().equations()
        equations.accelerations([0.0, 0.0], [0.0, 0.0])
        equations.mass_matrix([0.0, 0.0])
        equations.kinetic_energy([0.0, 0.0], [0.0, 0.0])
    return equations


def arm_states(*batch: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(9)
    return random.standard_normal((*batch, 2)), random.standard_normal((*batch, 2))


def test_batches_of_every_size():
    """Full vectors, remainders, one: each state gives the same bits wherever it stands, and the
    interpreter's numbers."""
    eqs, most = compiled_arm(), 3 * compiler.lanes() + 1
    q, u = arm_states(most)
    whole = eqs.accelerations(q, u)
    assert worst(whole, interpreted_arm().accelerations(q, u)) < 1e-14
    for count in range(2, most + 1):
        assert np.array_equal(eqs.accelerations(q[-count:], u[-count:]), whole[-count:])
    single = np.array([eqs.accelerations(a, b) for a, b in zip(q, u, strict=True)])
    assert worst(single, whole) < 1e-14
    assert np.array_equal(eqs.accelerations(q[:1], u[:1])[0], single[0])


def test_a_batch_of_nothing():
    for eqs in (compiled_arm(), interpreted_arm()):
        assert eqs.accelerations(np.zeros((0, 2)), np.zeros((0, 2)), threads=2).shape == (0, 2)
        assert eqs.mass_matrix(np.zeros((3, 0, 2))).shape == (3, 0, 2, 2)
        assert eqs.kinetic_energy(np.zeros((0, 2)), np.zeros(2)).shape == (0,)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_threads_change_nothing(threads):
    eqs = compiled_arm()
    for count in (1, 3, 4, 100):
        q, u = arm_states(count)
        assert np.array_equal(eqs.accelerations(q, u, threads=threads), eqs.accelerations(q, u))


@pytest.mark.parametrize("equations", [compiled_arm, interpreted_arm])
def test_arguments_spread_over_the_batch(equations):
    """Every argument for each state or for all of them, several leading axes, by name or by
    place."""
    eqs = equations()
    q, u = arm_states(3, 4)
    t, torque, load = (
        np.arange(3.0)[:, None],
        np.linspace(-1, 1, 4),
        np.linspace(0.5, 1, 12).reshape(3, 4),
    )
    whole = eqs.accelerations(q, u, t, {"torque": torque}, {"load": load})
    assert whole.shape == (3, 4, 2)
    for i, j in np.ndindex(3, 4):
        one = eqs.accelerations(q[i, j], u[i, j], i, [torque[j]], [load[i, j]])
        assert worst(whole[i, j], one) < 1e-14
    assert (
        worst(
            eqs.accelerations(q, u[0, 0]), eqs.accelerations(q, np.broadcast_to(u[0, 0], q.shape))
        )
        == 0
    )
    assert (
        worst(
            eqs.accelerations(q[0, 0], u), eqs.accelerations(np.broadcast_to(q[0, 0], u.shape), u)
        )
        == 0
    )
    assert eqs.mass_matrix(q, parameters={"load": load}).shape == (3, 4, 2, 2)
    assert eqs.accelerations(q[0, 0], u[0, 0], np.arange(5.0)).shape == (5, 2)
    assert eqs.accelerations(q[:1, :1], u[0, 0]).shape == (1, 1, 2)


def test_numbers_of_any_kind_and_layout():
    eqs = compiled_arm()
    q, u = arm_states(6)
    wanted = eqs.accelerations(q, u)
    assert np.array_equal(eqs.accelerations(np.asfortranarray(q), u), wanted)
    assert np.array_equal(eqs.accelerations(np.repeat(q, 2, axis=0)[::2], u[::-1][::-1]), wanted)
    assert np.array_equal(eqs.accelerations(q.tolist(), u.tolist()), wanted)
    assert np.array_equal(
        eqs.accelerations(q[0].tolist(), tuple(u[0])), eqs.accelerations(q[0], u[0])
    )
    short = q.astype(np.float32)
    assert np.array_equal(eqs.accelerations(short, u), eqs.accelerations(short.astype(float), u))
    assert np.array_equal(
        eqs.accelerations(short[0], u[0]), eqs.accelerations(short[0].astype(float), u[0])
    )
    assert np.array_equal(
        eqs.accelerations(np.array([1, 2]), u[0], 3),
        eqs.accelerations(np.array([1.0, 2.0]), u[0], 3.0),
    )
    row = np.arange(4.0)
    assert np.array_equal(
        eqs.accelerations(row[::2], u[0]), eqs.accelerations(np.array([0.0, 2.0]), u[0])
    )
    frozen = q.copy()
    frozen.flags.writeable = False
    assert np.array_equal(eqs.accelerations(frozen, u), wanted)


@pytest.mark.parametrize("equations", [compiled_arm, interpreted_arm])
def test_wrong_shapes_are_named(equations):
    eqs = equations()
    q, u = arm_states(3)
    cases = {
        r"coordinates: expected 2 numbers \(shoulder, elbow\), got 3": lambda: eqs.accelerations(
            np.zeros(3), u[0]
        ),
        "speeds: expected 2 numbers": lambda: eqs.accelerations(q[0], np.zeros((3, 1))),
        r"do not fit together: coordinates \(3, 2\), speeds \(2, 2\)": lambda: eqs.accelerations(
            q, u[:2]
        ),
        r"time \(4, 1\)": lambda: eqs.accelerations(q, u, np.zeros(4)),
        "inputs: expected 1 numbers": lambda: eqs.accelerations(q, u, inputs=[1.0, 2.0]),
        "unknown input 'force'": lambda: eqs.accelerations(q, u, inputs={"force": 1.0}),
        r"accelerations \(2, 2\)": lambda: eqs.efforts(q, u, u[:2]),
        "a single number": lambda: eqs.mass_matrix(1.0),
    }
    for message, call in cases.items():
        with pytest.raises(mg.ArgumentError, match=message):
            call()


def test_a_kernel_reads_only_what_it_is_given():
    x, y = SX.sym("x", 3), SX.sym("y")
    cross = Kernel("k", [x, y], [x * y], axes=[1], names=["place", "scale"])
    for arguments in (
        (np.zeros(2), np.zeros(1)),
        (np.zeros((5, 3)), np.zeros(5)),
        (np.zeros(3),),
        (np.zeros(3), np.array(1.0)),
    ):
        with pytest.raises(mg.ArgumentError, match="place"):
            cross(*arguments)


def test_quick_calls_begin_at_the_defaults_every_time():
    """Whatever earlier calls gave; an argument without a default is zero."""
    x, a, y, z = SX.sym("x", 2), SX.sym("a"), SX.sym("y"), SX.sym("z", 2)
    sums = Kernel("k", [x, a, y, z], [x * a + y + z], [1], [np.array([1.0, 2.0]), 3.0, np.ones(1)])
    assert sums.quick() is None
    assert sums.compile()
    assert np.array_equal(sums.quick(), [4.0, 7.0])
    assert np.array_equal(sums.quick(None, 0.0, None, np.array([1.0, 2.0])), [2.0, 3.0])
    assert np.array_equal(sums.quick(None, 0), [1.0, 1.0])
    assert np.array_equal(sums.quick(np.zeros(2), None, np.array([5.0])), [5.0, 5.0])
    assert np.array_equal(sums.quick(None), [4.0, 7.0])


def test_quick_calls_take_only_what_they_need_not_read():
    x, a = SX.sym("x"), SX.sym("a")
    product = Kernel("k", [x, a], [x * a], [1], [np.ones(1), 1.0])
    assert product.compile()
    vector = np.array([2.0])
    assert np.array_equal(product.quick(vector, np.array(3.0)), [6.0])
    for arguments in (
        (2.0,),
        ([2.0],),
        (vector[None],),
        (vector.astype(int),),
        (vector, vector),
        (vector, "3"),
        (np.array([np.nan]), 1.0),
    ):
        assert product.quick(*arguments) is None
    assert np.array_equal(product.quick(), [1.0])


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_are_refused(bad):
    """Also where the result does not depend on them."""
    slider = mg.System("slider", gravity=(0, 0, 0))
    slider.prismatic(
        "slide",
        slider.ground,
        slider.body("block", mass=2.0, com=(0, 0, 0), inertia=(1, 1, 1)),
        axis="x",
    )
    eqs = slider.equations()
    eqs.mass_matrix([0.0])
    eqs.accelerations([0.0], [0.0])
    assert eqs.compile()
    assert np.array_equal(eqs.mass_matrix(np.array([0.3])), [[2.0]])
    for call in (
        lambda: eqs.mass_matrix(np.array([bad])),
        lambda: eqs.accelerations(np.array([0.0]), np.array([bad])),
        lambda: eqs.mass_matrix(np.array([[0.0], [bad]])),
        lambda: eqs.mass_matrix(np.array([0.0]), bad),
        lambda: eqs.accelerations(np.array([0.0]), np.array([0.0]), np.array([0.0, bad])),
    ):
        with pytest.raises(mg.ArgumentError, match="not finite"):
            call()


def test_results_are_the_callers_own():
    eqs = compiled_arm()
    q, _ = arm_states(20)
    for first, second in ((q[0], q[1]), (q[:1], q[1:2]), (q[:10], q[10:])):
        kept = eqs.mass_matrix(first)
        copy = kept.copy()
        eqs.mass_matrix(second)
        assert np.array_equal(kept, copy)
        kept[:] = 0
        assert np.array_equal(eqs.mass_matrix(first), copy)


def test_many_threads_call_one_kernel_at_once():
    """More threads than there are places for quick calls, switching as often as Python can."""
    eqs = compiled_arm()
    q, u = arm_states(12)
    wanted = [eqs.accelerations(a, b) for a, b in zip(q, u, strict=True)]
    wrong: list[int] = []

    def work(k: int) -> None:
        got = np.array([eqs.accelerations(q[k], u[k]) for _ in range(1500)])
        wrong.append(int((np.abs(got - wanted[k]) > 1e-13 * np.abs(wanted[k])).sum()))

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        workers = [threading.Thread(target=work, args=(k,)) for k in range(12)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(interval)
    assert wrong == [0] * 12
    assert len(eqs.numeric.kernel("known udot", list, [])._singles) == kernel.SINGLES


@pytest.mark.parametrize("threads", [1, 2])
def test_a_driver_without_memory_is_an_error(threads):
    with pytest.raises(MemoryError):
        native.share(lambda first, last: native.OUT_OF_MEMORY if last == 4 else 0, 4, threads)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_process_has_threads_of_its_own():
    eqs = compiled_arm()
    q, u = arm_states(64)
    wanted = eqs.accelerations(q, u, threads=2)
    child = multiprocessing.get_context("fork").Process(
        target=lambda: os._exit(int(not np.array_equal(eqs.accelerations(q, u, threads=2), wanted)))
    )
    child.start()
    child.join(60)
    hanging = child.is_alive()
    child.kill()
    assert (hanging, child.exitcode) == (False, 0)


# --- compiler and cache ---------------------------------------------------------------------------

PUBLIC = '__attribute__((visibility("default")))'


def source_of(answer: object) -> str:
    return f"{PUBLIC} int answer(void) {{ return {answer}; }}"


def answer_of(key: str, answer: object = 42) -> int:
    return compiler.load(key, lambda: source_of(answer)).answer()


@pytest.fixture
def own_cache(monkeypatch, tmp_path):
    folder = tmp_path / "cache"
    monkeypatch.setenv("MECHGRAPH_CACHE", str(folder))
    return folder


@pytest.fixture
def warnings_of(caplog):
    """The lines that a user of the defaults sees."""
    caplog.set_level(logging.DEBUG, "mechgraph")
    return lambda: [
        record.getMessage() for record in caplog.records if record.levelno >= logging.WARNING
    ]


def script(path: Path, text: str) -> str:
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o700)
    return str(path)


def small_kernel(factor: float = 2.0) -> Kernel:
    x = SX.sym("x", 2)
    return Kernel("kernel", [x], [factor * x], axes=[1])


def test_the_key_depends_on_everything(monkeypatch):
    x = SX.sym("x", 2)
    kernels = [
        small_kernel(),
        small_kernel(2.0 + 1e-15),
        Kernel("kernel", [x], [x / 2], [1]),
        Kernel("kernel", [x], [x, x], [1, 1]),
    ]
    keys = {k._tiers[width].key for k in kernels for width in (1, compiler.lanes())}
    assert len(keys) == 2 * len(kernels)
    assert small_kernel()._tiers[1].key in keys
    assert (
        len({compiler.key_of("ab", "c"), compiler.key_of("a", "bc"), compiler.key_of("abc")}) == 3
    )
    before = compiler.key_of("source")
    for module, name, value in (
        (compiler, "FLAGS", (*compiler.FLAGS, "-g")),
        (compiler, "processor", lambda: "another"),
        (compiler, "find_compiler", lambda: compiler.Compiler(("gcc",), "another")),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(module, name, value)
            assert compiler.key_of("source") != before
    monkeypatch.setattr(kernel, "emitter_text", lambda: "another printer")
    assert small_kernel()._tiers[1].key not in keys


def test_the_printer_is_part_of_the_key():
    text = emit.emitter_text()
    printers = ("lanes.h", "rollout.h", "emit.py", "blocks.py", "repeats.py")
    tracers = ("program.py", "operations.py", "searches.py", "algebra.py")
    for module, names in ((emit, printers), (graph, tracers)):
        for name in names:
            assert Path(module.__file__).with_name(name).read_text(encoding="utf-8") in text


def test_what_was_built_is_found_again(own_cache, monkeypatch):
    key = compiler.key_of("answer")
    assert answer_of(key) == 42
    assert {path.name for path in own_cache.iterdir()} == {f"{key}.so", f"{key}.sha256"}
    monkeypatch.setattr(compiler, "build", None)
    assert compiler.find_cached(key) == own_cache / f"{key}.so"
    assert answer_of(key, "not C") == 42


@pytest.mark.parametrize(
    "tampered", ["library", "record", "both", "both files gone", "record not text"]
)
def test_what_was_not_built_here_is_not_loaded(own_cache, tampered):
    key, other = compiler.key_of("tamper", tampered), compiler.key_of("other", tampered)
    assert answer_of(other, 13) == 13
    assert compiler.build(key, source_of(42)).exists()
    library, record = own_cache / f"{key}.so", own_cache / f"{key}.sha256"
    if tampered in ("library", "both"):
        library.write_bytes((own_cache / f"{other}.so").read_bytes())
    if tampered == "both":
        record.write_text((own_cache / f"{other}.sha256").read_text())
    elif tampered == "record":
        record.write_text(hashlib.sha256(b"something else").hexdigest())
    elif tampered == "record not text":
        record.write_bytes(b"\xff\xfe")
    else:
        library.unlink(), record.unlink()
    assert compiler.find_cached(key) is None
    assert answer_of(key) == 42
    assert compiler.find_cached(key) == library


def test_a_library_that_others_can_write_is_built_anew(own_cache):
    key = compiler.key_of("loose")
    compiler.build(key, source_of(42)).chmod(0o722)
    assert compiler.find_cached(key) is None
    assert answer_of(key) == 42
    assert not (own_cache / f"{key}.so").stat().st_mode & 0o022


def test_a_library_of_another_kernel_is_not_loaded_whatever_its_record_says(own_cache):
    """The name is in the library itself."""
    key, other = compiler.key_of("mine"), compiler.key_of("theirs")
    content = compiler.build(other, source_of(13)).read_bytes()
    library = compiler.build(key, source_of(42))
    library.write_bytes(content)
    (own_cache / f"{key}.sha256").write_text(hashlib.sha256(key.encode() + content).hexdigest())
    assert compiler.find_cached(key) is None
    assert answer_of(key) == 42


@pytest.mark.parametrize("ending", ["so", "sha256"])
def test_a_folder_in_the_place_of_a_file_makes_room(own_cache, ending):
    key = compiler.key_of("folder", ending)
    (own_cache / f"{key}.{ending}" / "with" / "more").mkdir(parents=True)
    own_cache.chmod(0o700)
    assert answer_of(key) == 42
    assert compiler.find_cached(key) == own_cache / f"{key}.so"


def test_a_library_that_cannot_be_loaded_is_built_anew(own_cache):
    """As one of another system that shares the folder."""
    key = compiler.key_of("foreign")
    library = compiler.build(key, source_of(42))
    library.write_bytes(f"{compiler.SEAL}{key}".encode())
    (own_cache / f"{key}.sha256").write_text(compiler._record(key, library))
    assert compiler.find_cached(key) == library
    assert answer_of(key) == 42


def test_what_killed_processes_leave_behind_is_removed(monkeypatch, own_cache, tmp_path):
    """When it is a day old, and only what is ours."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    own_cache.mkdir(mode=0o700)
    names = ("mechgraph-stale", "mechgraph-fresh", "other")
    folders = [place / name for place in (own_cache, tmp_path) for name in names]
    for folder in folders:
        folder.mkdir(mode=0o700)
        (folder / "kernel.c").write_text("")
        if not folder.name.endswith("fresh"):
            os.utime(folder, (0, time.time() - 1.1 * 86400))
    assert answer_of(compiler.key_of("stale")) == 42
    assert {folder.name for folder in folders if not folder.exists()} == {"mechgraph-stale"}


@pytest.mark.parametrize(
    "unsafe", ["writable", "in a writable one", "foreign", "a file", "not creatable"]
)
def test_an_unsafe_folder_is_not_used(monkeypatch, own_cache, warnings_of, unsafe):
    """One warning, and a private folder instead."""
    if unsafe == "a file":
        own_cache.write_text("")
    elif unsafe == "not creatable":
        monkeypatch.setenv("MECHGRAPH_CACHE", "/dev/null/cache")
    else:
        own_cache.mkdir(mode=0o700)
    if unsafe == "writable":
        own_cache.chmod(0o777)
    if unsafe == "in a writable one":
        own_cache.parent.chmod(0o777)
    if unsafe == "foreign":
        monkeypatch.setattr(os, "getuid", lambda: own_cache.stat().st_uid + 1)
    folder = compiler.cache_folder()
    monkeypatch.undo()
    assert folder != own_cache
    assert folder.stat().st_mode & 0o777 == 0o700
    assert len(warnings_of()) == 1
    assert "is not used" in warnings_of()[0]


def test_a_folder_may_lie_where_others_cannot_replace_it(own_cache, warnings_of):
    """As in /tmp, which everybody can write to."""
    own_cache.parent.chmod(0o1777)
    assert compiler.cache_folder() == own_cache
    assert not warnings_of()


def test_an_unsafe_folder_is_told_once(own_cache, warnings_of):
    own_cache.mkdir()
    own_cache.chmod(0o777)
    assert answer_of(compiler.key_of("unsafe")) == 42
    assert answer_of(compiler.key_of("unsafe too")) == 42
    assert not list(own_cache.iterdir())
    assert len(warnings_of()) == 1


def test_processes_that_build_the_same_at_once_all_succeed(own_cache):
    """Each starts when all are ready."""
    own_cache.mkdir(mode=0o700)
    program = (
        "import sys; from mechgraph.kernels import compiler; print('ready', flush=True); "
        "sys.stdin.readline();"
        "key = compiler.key_of('race');"
        f"print([compiler.load(key, lambda: {source_of(42)!r}).answer() for _ in range(3)])"
    )
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", program],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for worker in workers:
        assert worker.stdout.readline() == "ready\n"
    for worker in workers:
        worker.stdin.write("go\n")
        worker.stdin.flush()
    assert [worker.communicate(timeout=60)[0] for worker in workers] == ["[42, 42, 42]\n"] * 4
    assert len(list(own_cache.iterdir())) == 2


def test_without_a_compiler_the_interpreter_works_in_silence(monkeypatch, warnings_of):
    monkeypatch.setenv("MECHGRAPH_CC", "none")
    k = small_kernel()
    assert np.array_equal(k(np.array([[1.0, 2.0], [3.0, 4.0]]))[0], [[2.0, 4.0], [6.0, 8.0]])
    assert not k.compile()
    assert k.tier == "interpreter"
    assert not warnings_of()


def test_a_machine_without_compilers_is_told_once_what_to_install(monkeypatch, warnings_of):
    monkeypatch.delenv("MECHGRAPH_CC", raising=False)
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(compiler, "_zig", list)
    compiler._find_compiler.cache_clear()
    for k in (small_kernel(3.0), small_kernel(5.0)):
        assert not k.compile()
        assert k(np.array([1.0, 2.0]))[0][0] in (3.0, 5.0)
    compiler._find_compiler.cache_clear()
    assert len(warnings_of()) == 1
    assert "ziglang" in warnings_of()[0]


@pytest.mark.parametrize(
    "command", ["/bin/false", "/no/such/compiler", "sh -c 'exit 3'", "gcc '-DOPEN=1"]
)
def test_a_compiler_that_does_not_answer_is_told_once(monkeypatch, warnings_of, command):
    monkeypatch.setenv("MECHGRAPH_CC", command)
    for factor in (2.0, 3.0):
        k = small_kernel(factor)
        assert not k.compile()
        assert np.array_equal(k(np.array([1.0, 2.0]))[0], [factor, 2 * factor])
    assert len(warnings_of()) == 1
    assert command in warnings_of()[0]


@pytest.mark.parametrize("fault", ["refuses", "writes nonsense"])
def test_a_broken_compiler_is_told_once(monkeypatch, own_cache, tmp_path, warnings_of, fault):
    act = (
        'echo "kernel.c:1: error: no such luck" >&2; exit 1'
        if fault == "refuses"
        else ('while [ "$1" != -o ]; do shift; done; echo nonsense > "$2"')
    )
    monkeypatch.setenv(
        "MECHGRAPH_CC",
        script(tmp_path / "cc", f'[ "$1" = --version ] && echo "{fault} 1.0" && exit 0\n{act}'),
    )
    for factor in (2.0, 3.0):
        k = small_kernel(factor)
        assert not k.compile()
        assert np.array_equal(k(np.array([1.0, 2.0]))[0], [factor, 2 * factor])
        assert k.tier == "interpreter"
    assert len(warnings_of()) == 1
    assert "\n" not in warnings_of()[0]
    assert ("no such luck" if fault == "refuses" else "cannot be") in warnings_of()[0]


def test_a_compiler_of_something_else_is_told(monkeypatch, own_cache, tmp_path, warnings_of):
    (tmp_path / "other.c").write_text(source_of(13))
    found = " ".join(compiler.find_compiler().command)
    act = f'while [ "$1" != -o ]; do shift; done; {found} -shared -fPIC -o "$2" {tmp_path}/other.c'
    cc = script(tmp_path / "cc", f'[ "$1" = --version ] && echo "other 1.0" && exit 0\n{act}')
    monkeypatch.setenv("MECHGRAPH_CC", cc)
    assert not small_kernel().compile()
    assert ["cannot be that of its source" in line for line in warnings_of()] == [True]
    assert not list(own_cache.iterdir())


@pytest.mark.usefixtures("own_cache")
def test_a_library_without_the_functions_is_told(monkeypatch, warnings_of):
    monkeypatch.setattr(kernel, "with_drivers", lambda *_: source_of(42))
    monkeypatch.setattr(kernel, "emitter_text", lambda: "a printer that forgets")
    monkeypatch.setattr(compiler, "_reported", set())
    k = small_kernel()
    assert not k.compile()
    assert np.array_equal(k(np.array([1.0, 2.0]))[0], [2.0, 4.0])
    assert ["no function 'kernel'" in line for line in warnings_of()] == [True]


# --- a compiler that hangs ------------------------------------------------------------------------


@pytest.fixture
def hanging(monkeypatch, own_cache, tmp_path):
    """A compiler that waits for a process of its own, whose number it leaves in a file."""
    pids = tmp_path / "pids"
    act = f'sleep 1000 & echo $! >> {pids}; wait; echo "unreachable"'
    cc = script(tmp_path / "cc", f'[ "$1" = --version ] && echo "slow 1.0" && exit 0\n{act}')
    monkeypatch.setenv("MECHGRAPH_CC", cc)
    monkeypatch.delenv("MECHGRAPH_CC_TIMEOUT", raising=False)
    return pids


def started(pids: Path) -> list[int]:
    """The processes that a hanging compiler has started, once there are any."""
    deadline = time.monotonic() + 60
    while not (pids.exists() and pids.read_text().endswith("\n")):
        assert time.monotonic() < deadline, "the compiler never started"
        time.sleep(0.01)
    return [int(pid) for pid in pids.read_text().split()]


def ends(pid: int) -> bool:
    """Whether a process comes to its end, reaped or not."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        status = Path(f"/proc/{pid}/stat")
        if not status.exists() or status.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.01)
    return False


def test_a_compiler_that_hangs_is_waited_for_once(monkeypatch, hanging, own_cache, warnings_of):
    """Until the time limit, with nothing left behind; the interpreter works on."""
    monkeypatch.setenv("MECHGRAPH_CC_TIMEOUT", "0.3")
    for factor in (2.0, 3.0):
        k = small_kernel(factor)
        assert not k.compile()
        assert np.array_equal(k(np.array([1.0, 2.0]))[0], [factor, 2 * factor])
    assert ["MECHGRAPH_CC_TIMEOUT" in line for line in warnings_of()] == [True]
    (pid,) = started(hanging)
    assert ends(pid)
    assert not list(own_cache.iterdir())


@pytest.mark.usefixtures("hanging")
@pytest.mark.parametrize("limit", ["soon", "0", "-1", "nan"])
def test_a_time_limit_is_a_number_of_seconds(monkeypatch, warnings_of, limit):
    monkeypatch.setenv("MECHGRAPH_CC_TIMEOUT", limit)
    monkeypatch.setattr(compiler, "_reported", set())
    assert not small_kernel().compile()
    assert [f"{limit!r} is no number of seconds" in line for line in warnings_of()] == [True]


def test_time_limits_grow_with_the_source(monkeypatch):
    monkeypatch.delenv("MECHGRAPH_CC_TIMEOUT", raising=False)
    assert compiler._time_limit(0) >= 60
    assert compiler._time_limit(10**7) > 10 * compiler._time_limit(0) / 2
    monkeypatch.setenv("MECHGRAPH_CC_TIMEOUT", "inf")
    assert compiler._time_limit(0) == compiler.LONGEST


INTERRUPTED = """
import signal, threading, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from casadi import SX
from mechgraph.kernels import Kernel
x = SX.sym("x")
k = Kernel("kernel", [x], [2 * x], axes=[1])
try:
    WAIT
except KeyboardInterrupt:
    print("interrupted", k([1.0])[0][0], flush=True)
"""
IN_THE_BACKGROUND = "threading.Thread(target=k.compile, daemon=True).start(); time.sleep(1000)"


@pytest.mark.parametrize("wait", ["k.compile()", IN_THE_BACKGROUND])
def test_compiling_can_be_interrupted(hanging, own_cache, wait):
    """In the foreground and in the background; no process stays behind."""
    program = subprocess.Popen(
        [sys.executable, "-c", INTERRUPTED.replace("WAIT", wait)], stdout=subprocess.PIPE, text=True
    )
    (pid,) = started(hanging)
    program.send_signal(signal.SIGINT)
    try:
        assert program.communicate(timeout=30)[0] == "interrupted 2.0\n"
    finally:
        program.kill()
    assert program.returncode == 0
    assert ends(pid)
    assert wait != "k.compile()" or not list(own_cache.iterdir())


def test_an_operation_without_a_form_in_c_is_interpreted(warnings_of):
    x = SX.sym("x")
    k = Kernel("kernel", [x], [SX.unary(ca.OP_ERFINV, x)], [1])
    assert not k.compile()
    assert k(np.array([0.5]))[0][0] == pytest.approx(0.4769362762, abs=1e-9)
    assert len(warnings_of()) == 1


def test_a_compiler_may_have_arguments(monkeypatch, own_cache):
    found = compiler.find_compiler()
    monkeypatch.setenv("MECHGRAPH_CC", f"{' '.join(found.command)} '-DANSWER=40 + 3'")
    assert compiler.find_compiler().command == (*found.command, "-DANSWER=40 + 3")
    assert answer_of(compiler.key_of("with arguments"), "ANSWER") == 43


def test_the_compiler_of_the_ziglang_package(monkeypatch, own_cache):
    """Found where nothing else is; the same flags; the numbers of the interpreter."""
    monkeypatch.delenv("MECHGRAPH_CC", raising=False)
    monkeypatch.setenv("PATH", "")
    assert "ziglang" in compiler.find_compiler().command[0]
    function, names = all_operations()
    x, y = random_numbers(100, 10)[:, None], random_numbers(100, 11)[:, None]
    (mine,), (oracle,) = (
        machine_code(function, compiler.lanes()).batch([x, y], 100),
        interpreted(function, x, y),
    )
    ours = [names.index("sin"), names.index("cos")]
    other = [k for k in range(len(names)) if k not in ours]
    assert same_bits(mine[:, other], oracle[:, other]).all()
    assert np.abs(mine[:, ours] - oracle[:, ours]).max() < 3e-16
    assert len(list(own_cache.iterdir())) == 2


# --- tiers ----------------------------------------------------------------------------------------


@pytest.mark.usefixtures("own_cache")
@pytest.mark.parametrize("batch", [(), (5,)])
def test_kernels_change_over_when_it_is_worth_while(monkeypatch, batch):
    """Not before; then in the background, while calls go on; single states and batches each for
    themselves."""
    k, x = small_kernel(0.1), np.ones((*batch, 2)) / 3
    tier = k._tiers[compiler.lanes() if batch else 1]
    monkeypatch.setattr(kernel, "SECONDS_PER_OPERATION", 1e9)
    before = [k(x)[0] for _ in range(5)][-1]
    assert (tier.ready, k.tier) == (None, "interpreter")
    monkeypatch.setattr(kernel, "SECONDS_PER_OPERATION", 0.0)
    deadline = time.monotonic() + 120
    while tier.ready is None:
        assert time.monotonic() < deadline, "the background compiler never finished"
        assert np.array_equal(k(x)[0], before)
        time.sleep(0.01)
    assert np.array_equal(k(x)[0], before)
    assert k.tier == ("interpreter" if batch else "machine code")


@pytest.mark.usefixtures("own_cache")
def test_a_cached_kernel_is_machine_code_at_once(monkeypatch):
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    assert small_kernel(7.0).compile()
    monkeypatch.setattr(compiler, "build", None)
    again = small_kernel(7.0)
    assert np.array_equal(again(x[0])[0], 7 * x[0])
    assert again.tier == "machine code"
    assert np.array_equal(again(x)[0], 7 * x)
    assert again._tiers[compiler.lanes()].ready is not None


@pytest.mark.usefixtures("own_cache")
def test_several_threads_may_ask_for_machine_code():
    k = small_kernel(11.0)
    done: list[bool] = []
    workers = [threading.Thread(target=lambda: done.append(k.compile())) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert done == [True] * 4


# --- size -----------------------------------------------------------------------------------------


def chain(bodies: int) -> mg.Equations:
    system = mg.System("chain", gravity=(0, 0, -9.81))
    last = system.ground
    for k in range(bodies):
        body = system.body(f"b{k}", mass=1.0, com=(0.01, 0.02, -0.2), inertia=(0.02, 0.03, 0.01))
        system.revolute(f"j{k}", last, body, axis="xyz"[k % 3], at=(0, 0, -0.4))
        last = body
    return system.equations()


def operations(equations: mg.Equations) -> int:
    s = equations.terms.symbols
    return trace(
        ca.Function(
            "udot", [s.q, s.u, s.t, s.w, s.p], [equations.numeric.closed.udot], {"cse": True}
        )
    ).operations


def test_the_cost_of_a_body_does_not_grow_with_the_chain():
    few, some, many = (operations(chain(bodies)) for bodies in (30, 60, 120))
    assert (many - some) / 60 == pytest.approx((some - few) / 30, rel=0.01)


@pytest.mark.slow
def test_a_thousand_bodies_give_numbers(monkeypatch):
    """Without a compiler; inverse dynamics of the accelerations needs no efforts."""
    monkeypatch.setenv("MECHGRAPH_CC", "none")
    equations, random = chain(1000), np.random.default_rng(0)
    q, u = 0.1 * random.standard_normal(1000), 0.1 * random.standard_normal(1000)
    udot = equations.accelerations(q, u)
    efforts, gravity = equations.efforts(q, u, udot), equations.efforts(q, u, 0 * udot)
    assert np.abs(efforts).max() < 1e-9 * np.abs(gravity).max()


@pytest.mark.parametrize("threads", ["two", 0, -3, 1.5, None])
def test_threads_are_a_positive_whole_number(threads):
    x = SX.sym("x", 2)
    with pytest.raises(mg.ArgumentError, match="threads"):
        Kernel("square", [x], [x * x], axes=[1])(np.ones((3, 2)), threads=threads)
