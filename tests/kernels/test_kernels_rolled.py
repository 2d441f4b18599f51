"""Repeated blocks: large programs printed as loops give the numbers of straight-line code, and
their code does not grow.

CasADi's interpreter is the oracle; with contraction switched off, both ways of printing give its
very bits where no sine is involved.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Callable

import casadi as ca
import numpy as np
import pytest
from casadi import SX

import mechgraph as mg
from mechgraph.graph.program import Program, trace
from mechgraph.kernels import Kernel, blocks, compiler, emit, kernel, native, repeats

pytestmark = pytest.mark.machine_code

# gcc 12 contracts sums beside differences even so, where it makes vectors of scalars
UNCONTRACTED = (
    *(flag.replace("contract=fast", "contract=off") for flag in compiler.FLAGS),
    "-fno-tree-slp-vectorize",
)


def be_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Repeats are looked for however small the program is, and used however short they are."""
    for name, value in {"LARGE": 0, "WORTH": 1, "LOOSE": 0}.items():
        monkeypatch.setattr(repeats, name, value)


@pytest.fixture
def eager(monkeypatch):
    be_eager(monkeypatch)


def chain(bodies: int, axes: str = "xyz") -> mg.System:
    random = np.random.default_rng(bodies)
    system = mg.System("chain", gravity=(0, 0, -9.81))
    last = system.ground
    for k in range(bodies):
        body = system.body(
            f"b{k}",
            mass=random.uniform(1, 2),
            com=random.uniform(-0.1, 0.1, 3),
            inertia=random.uniform(0.1, 0.2, 3),
        )
        system.revolute(f"j{k}", last, body, axis=axes[k % len(axes)], at=(0, 0, 0.2))
        last = body
    return system


def mixed_tree(bodies: int) -> mg.System:
    random = np.random.default_rng(bodies)
    system = mg.System("tree", gravity=(0, 0, -9.81))
    made = [system.ground]
    for k in range(bodies):
        body = system.body(
            f"b{k}",
            mass=random.uniform(1, 2),
            com=random.uniform(-0.1, 0.1, 3),
            inertia=random.uniform(0.1, 0.2, 3),
        )
        parent, kind = made[int(random.integers(max(0, k - 3), k + 1))], k % 4
        if kind == 3:
            system.spherical(f"j{k}", parent, body, at=(0, 0, 0.2))
        else:
            make = system.prismatic if kind == 1 else system.revolute
            make(f"j{k}", parent, body, axis="xyz"[kind], at=(0, 0, 0.2))
        made.append(body)
    return system


def four_bars(count: int) -> mg.System:
    system = mg.System("four-bars", gravity=(0, -9.81, 0))

    def bar(name: str, parent: mg.Body, at: tuple) -> mg.Body:
        body = system.body(name, mass=1.0, com=(0.5, 0, 0), inertia=(0.001, 0.1, 0.1))
        system.revolute(f"{name} joint", parent, body, axis="z", at=at)
        return body

    upright = bar("upright 0", system.ground, (0, 0, 0))
    for k in range(1, count + 1):
        coupler, following = (
            bar(f"coupler {k}", upright, (1, 0, 0)),
            bar(f"upright {k}", system.ground, (float(k), 0, 0)),
        )
        system.revolute(
            f"closing {k}", coupler, following, axis="z", at=(1, 0, 0), child_at=(1, 0, 0)
        )
        upright = following
    return system


def accelerations(system: mg.System, **options: str) -> ca.Function:
    eqs = system.equations(**options)
    return ca.Function(
        "udot", [eqs.terms.symbols.q, eqs.terms.symbols.u], [ca.densify(eqs.numeric.closed.udot)]
    )


def inverse(system: mg.System) -> ca.Function:
    eqs = system.equations()
    return ca.Function(
        "tau",
        [eqs.terms.symbols.q, ca.vertcat(eqs.terms.symbols.u, eqs.terms.symbols.udot)],
        [ca.densify(eqs.terms.tau)],
    )


def derivatives(system: mg.System) -> ca.Function:
    eqs = system.equations()
    return ca.Function(
        "J",
        [eqs.terms.symbols.q, eqs.terms.symbols.u],
        [ca.densify(ca.jacobian(eqs.numeric.closed.udot, eqs.terms.symbols.q))],
    )


def recursion(steps: int) -> ca.Function:
    """Every kind of operation in a loop: sines alone and in pairs, divisions, comparisons, choices,
    powers."""
    x, y = SX.sym("x", steps), SX.sym("y", 2)
    a, out = y[0], []
    for k in range(steps):
        b = ca.if_else(a < x[k], ca.sin(a) / (2 + ca.cos(a)), ca.fmin(a, y[1]) - ca.sin(x[k]))
        a = ca.sqrt(b * b + 0.1 * (k + 1)) - ca.fmax(x[k], 0.3) ** 1.5 + ca.atan2(b, 1 + a * a)
        out.append(a * b)
    return ca.Function("recursion", [x, y], [ca.vertcat(*out), a])


CASES = {
    "chain": lambda: accelerations(chain(16)),
    "tree": lambda: accelerations(mixed_tree(14)),
    "inverse dynamics": lambda: inverse(chain(20)),
    "loops": lambda: accelerations(four_bars(12)),
    "jacobian": lambda: derivatives(chain(4)),
    "recursion": lambda: recursion(60),
}


def shapes_of(function: ca.Function) -> list[tuple[int, int]]:
    return [function.size_out(k) for k in range(function.n_out())]


def machine_code(function: ca.Function, width: int) -> native.Native:
    if compiler.find_compiler() is None:
        pytest.skip("no compiler")
    source = emit.emit(trace(function), "kernel", width, shapes_of(function))
    library = compiler.load(compiler.key_of(source), lambda: source)
    return native.Native(
        library, "kernel", [function.nnz_in(k) for k in range(function.n_in())], shapes_of(function)
    )


def found(function: ca.Function) -> repeats.Blocks:
    """The blocks of a function's program."""
    program = trace(function)
    code = repeats.units(program)
    places = blocks.Results(program, shapes_of(function)).computed(code)
    return repeats.find_blocks(code, np.bincount(places[:, 0], minlength=2 * len(code)))


def states(function: ca.Function, count: int) -> list[np.ndarray]:
    random = np.random.default_rng(1)
    return [random.uniform(0.2, 0.9, (count, function.nnz_in(k))) for k in range(function.n_in())]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("width", [1, compiler.lanes()])
@pytest.mark.parametrize("name", CASES)
def test_loops_give_the_bits_of_straight_line_code(monkeypatch, name, width):
    """The operations are the same; without contraction, so are the roundings. The interpreter's
    sines are others."""
    monkeypatch.setattr(compiler, "FLAGS", UNCONTRACTED)
    function = CASES[name]()
    arguments = states(function, 11)
    straight = machine_code(function, width).batch(arguments, 11)
    be_eager(monkeypatch)
    assert found(function).printed < 0.8 * trace(function).operations  # there are loops
    looped = machine_code(function, width).batch(arguments, 11)
    for k, (mine, other) in enumerate(zip(looped, straight, strict=True)):
        wanted = np.array(
            [np.array(function.call([a[i] for a in arguments])[k]) for i in range(11)]
        )
        assert np.array_equal(mine, other)
        assert (
            np.abs(mine - wanted).max()
            < (1e-8 if name == "loops" else 1e-11) * np.abs(wanted).max()
        )


# --- random programs ------------------------------------------------------------------------------

UNARY = [ca.sqrt, ca.fabs, ca.tanh, ca.sign, ca.floor, ca.logic_not, lambda a: a * a]
UNARY += [lambda a: 2 * a, lambda a: 1 / a, lambda a: -a]
BINARY = [lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: a / b, ca.atan2]
# the lesser of 0 and −0 may be either; a tenth hides which it is
BINARY += [lambda a, b: ca.fmin(a, b) + 0.1, lambda a, b: ca.fmax(a, b) + 0.1]
BINARY += [lambda a, b: ca.if_else(a < b, a, b + 1), lambda a, b: ca.if_else(a != 0, b, a)]
LIMITS = {
    "BLOCK": [5, 30, 800],
    "LOOSE": [0, 50, 3000],
    "SHORT": [0, 5, 30],
    "OFTEN": [2, 3, 4],
    "LONGEST": [10, 60, 1000],
    "NEAR": [1, 4, 8],
}


def random_cell(random: np.random.Generator) -> Callable[[list[SX]], list[SX]]:
    """A few random operations, the same whenever they are applied."""
    drawn = [
        (random.choice(UNARY), random.integers(1, 8, 1))
        if random.random() < 0.35
        else (random.choice(BINARY), random.integers(1, 8, 2))
        for _ in range(random.integers(3, 40))
    ]

    def applied(operands: list[SX]) -> list[SX]:
        values = list(operands)
        for operation, back in drawn:
            values.append(operation(*(values[-min(k, len(values))] for k in back.tolist())))
        return values[len(operands) :]

    return applied


def random_repeats(seed: int) -> ca.Function:
    """Some cells, each applied many times: to what is near and far, to inputs and to constants;
    some values are results, some of these twice."""
    random = np.random.default_rng(seed)
    x = SX.sym("x", 6)
    values, results = [x[k] for k in range(6)], [x[0], SX(2.5)]
    cells = [random_cell(random) for _ in range(random.integers(1, 4))]
    for k in range(random.integers(8, 60)):
        operands = [values[-random.integers(1, 6)], values[random.integers(len(values))]]
        operands += [values[random.integers(6)], SX(random.choice([1.5, 0.0, 0.1 * k, np.inf]))]
        made = random.choice(cells)(operands)
        values += made[-3:]
        results += [made[i] for i in random.integers(0, len(made), random.integers(3))]
    return ca.Function("random", [x], [ca.densify(ca.vertcat(*results, *results[:2]))])


def all_in_one(functions: list[ca.Function], width: int) -> list[native.Native]:
    """Functions of the same arguments in one file, which is quicker to compile."""
    codes = [emit.print_program(trace(f), f"p{k}", shapes_of(f)) for k, f in enumerate(functions)]
    texts = [emit.prelude(width)]
    for code in codes:
        texts += emit.with_drivers(code, width).removeprefix(texts[0]).splitlines()
    source = "\n".join(texts)
    library = compiler.load(compiler.key_of(source), lambda: source)
    return [native.Native(library, f"p{k}", [6], shapes_of(f)) for k, f in enumerate(functions)]


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("width", [1, compiler.lanes()])
@pytest.mark.parametrize("seed", [0, pytest.param(100, marks=pytest.mark.slow)])
def test_random_repeats_give_the_bits_of_the_interpreter(monkeypatch, seed, width):
    """However programs are cut: the limits are random, too."""
    monkeypatch.setattr(compiler, "FLAGS", [flag.replace("-O2", "-O0") for flag in UNCONTRACTED])
    random = np.random.default_rng(seed)
    functions, looped = [random_repeats(seed + k) for k in range(12)], 0
    for few in (functions[:4], functions[4:8], functions[8:]):
        for name, choices in LIMITS.items():
            monkeypatch.setattr(repeats, name, int(random.choice(choices)))
        looped += sum(found(f).repeated_length > 0 for f in few)
        for function, code in zip(few, all_in_one(few, width), strict=True):
            x = random.standard_normal((5, 6))
            wanted = np.array([np.array(function(row)) for row in x])
            (mine,) = code.batch([x], 5)
            assert np.array_equal(mine, wanted, equal_nan=True)
            assert np.array_equal(*(np.signbit(np.nan_to_num(a, nan=1)) for a in (mine, wanted)))
    assert looped > 8


def test_code_does_not_grow_with_the_chain(monkeypatch):
    """Twice the bodies, the same lines of code but for the tables; the program itself is twice as
    long."""
    monkeypatch.setattr(repeats, "LARGE", 5000)
    short, long = (accelerations(chain(n)) for n in (60, 120))
    assert trace(long).operations > 1.9 * trace(short).operations
    assert found(long).printed < 1.3 * found(short).printed < 0.5 * trace(short).operations


def test_small_and_irregular_programs_stay_straight():
    assert found(accelerations(chain(10))).repeated_length == 0
    random = np.random.default_rng(0)
    x = SX.sym("x", 3)
    values = [x[0], x[1], x[2]]
    for _ in range(repeats.LARGE // 2):
        a, b = (values[k] for k in random.integers(max(0, len(values) - 200), len(values), 2))
        values.append([a + b, a * b, a - b, ca.fmin(a, b), a / (1 + b * b)][random.integers(5)])
    assert found(ca.Function("random", [x], [ca.vertcat(*values[-200:])])).repeated_length == 0


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("count", [0, 1, 2, 5])
def test_tiny_programs(count):
    x = SX.sym("x", 5)
    function = ca.Function("f", [x], [ca.sin(x[:count]) + 1, x])
    arguments = states(function, 3)
    sines, same = machine_code(function, 1).batch(arguments, 3)
    assert np.allclose(sines[:, :, 0], np.sin(arguments[0][:, :count]) + 1, rtol=1e-15)
    assert np.array_equal(same[:, :, 0], arguments[0])


@pytest.mark.usefixtures("eager")
def test_constants_that_differ_stand_in_tables():
    """Signed zeros, infinities and NaN too."""
    numbers = [1.0, -0.0, 0.0, np.inf, -np.inf, np.nan, 1e-300, -2.5] * 3
    values = [("input", 0, 0), *(("constant", c) for c in numbers)]
    operations = [
        v
        for k in range(len(numbers))
        for v in (("mul", 1 + k, 0), ("atan2", len(values) + 2 * k, 0))
    ]
    program = Program(
        [*values, *operations], [[len(values) + 2 * k + 1 for k in range(len(numbers))]], (1,)
    )
    source = emit.emit(program, "kernel", 1, [(len(numbers), 1)])
    assert "kernel_constants" in source
    library = compiler.load(compiler.key_of(source), lambda: source)
    (result,) = native.Native(library, "kernel", [1], [(len(numbers), 1)]).batch(
        [np.array([[0.7]])], 1
    )
    wanted = np.arctan2(np.array(numbers) * 0.7, 0.7)
    assert np.array_equal(result.ravel(), wanted, equal_nan=True)
    assert np.array_equal(np.signbit(result.ravel()), np.signbit(wanted))


def test_equal_stretches_are_parsed_alike():
    """Whatever stands between them; a row of one symbol is halved and halved again."""
    random = np.random.default_rng(3)
    word = random.integers(0, 40, 300)
    text = np.concatenate(
        [part for k in range(8) for part in (word, random.integers(100 + 20 * k, 120 + 20 * k, 30))]
    )
    parsed = repeats.parse(text, 4, 400)
    repeated = np.diff(parsed.start)[np.bincount(parsed.kind)[parsed.kind] >= 8]
    assert repeated.sum() > 0.9 * 8 * len(word)
    assert repeated.max() > 100
    row = repeats.parse(np.zeros(1024, int), 4, 64)
    assert np.diff(row.start).tolist() == [64] * 16
    assert len(set(row.kind)) == 1


def test_a_compiler_is_not_given_more_than_it_should_unasked():
    function = accelerations(chain(5))
    with pytest.raises(blocks.TooLong, match="operations to be compiled"):
        emit.emit(trace(function), "kernel", 1, shapes_of(function), limit=100)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_process_forked_during_a_compilation_compiles_for_itself(monkeypatch):
    x = SX.sym("x")
    k = Kernel("forked", [x], [x * 3], axes=[1])
    tier = k._tiers[1]
    started, go_on = threading.Event(), threading.Event()

    def slow(*_: object) -> object:
        started.set()
        go_on.wait(60)
        raise compiler.CompilationFailure("never")

    monkeypatch.setattr(kernel, "load", slow)
    thread = threading.Thread(target=tier.force)
    thread.start()
    started.wait(60)
    monkeypatch.undo()
    child = multiprocessing.get_context("fork").Process(
        target=lambda: os._exit(
            int(not (k.compile(batch=False) and k(np.array([2.0]))[0][0] == 6.0))
        )
    )
    child.start()
    child.join(60)
    hanging = child.is_alive()
    child.kill()
    go_on.set()
    thread.join()
    assert (hanging, child.exitcode) == (False, 0)
