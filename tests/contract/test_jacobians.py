"""Exact derivatives: every function with respect to every variable, against differences and against
each other."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import casadi as ca
import numpy as np
import pytest
import scipy.linalg

import mechgraph as mg
import model.test_friction_laws as friction_laws
from measure import IN_JOINT_COORDINATES
from mechgraph.contract.derivatives import FUNCTIONS, VARIABLES, derivatives
from random_systems import State, random_state


def block(system: mg.System, name: str, mass: Any = 1.0) -> mg.Body:
    return system.body(name, mass=mass, com=(0.1, 0.2, -0.3), inertia=(0.08, 0.09, 0.02))


def tree() -> mg.System:
    """Quaternions, inputs, parameters, time."""
    system = mg.System("tree", gravity=(0, 0, -9.81))
    first, second = block(system, "first", system.parameter("load", 1.3)), block(system, "second")
    system.spherical("ball", system.ground, first, at=(0, 0, system.parameter("height", 0.4)))
    system.revolute("hinge", first, second, axis="y", at=(0.2, 0, -1.0), stiffness=2.0, damping=0.3)
    system.torque("motor", "hinge", system.input("torque") * mg.cos(system.time))
    system.force("push", second, (mg.sin(system.time), system.input("wind"), 1))
    return system


def loop() -> mg.System:
    """A driven four-bar whose rod has a parameter as length."""
    system = mg.System("four-bar", gravity=(0, 0, -9.8))
    a, b, c = (block(system, name) for name in "ABC")
    length = system.parameter("length", 1.5)
    system.revolute("qA", system.ground, a, axis="y")
    system.revolute("qB", a, b, axis="y", at=(1, 0, 0))
    system.revolute("qC", system.ground, c, axis="y", at=(2, 0, 0))
    system.revolute("close", b, c, axis="y", at=(2, 0, 0), child_at=(length, 0, 0))
    system.torque("motor", "qA", system.input("torque") + mg.sin(system.time))
    return system


def planar() -> mg.System:
    """The loop without redundant rows, for which u̇ is a smooth function also beside the
    constraints."""
    system = mg.System("planar", gravity=(0, 0, -9.8))
    a, b = block(system, "A", system.parameter("load", 1.2)), block(system, "B")
    system.revolute("qA", system.ground, a, axis="y")
    system.revolute("qB", a, b, axis="y", at=(1, 0, 0))
    system.torque("motor", "qA", system.input("torque"))
    tip = system.marker("tip", b, at=(0.8, 0, 0))
    system.distance(
        "rod",
        tip,
        system.marker("anchor", "ground", at=(1.5, 0, 0)),
        0.9 + 0.2 * mg.sin(system.time),
    )
    return system


@cache
def equations(system: Callable[[], mg.System]) -> mg.Equations:
    return system().equations()


def direct(eqs: mg.Equations) -> dict[str, Callable[..., np.ndarray]]:
    """The functions on arrays of (q, u, u̇, t, w, p)."""
    return {
        "accelerations": lambda q, u, a, t, w, p: eqs.accelerations(q, u, t, w, p),
        "efforts": lambda q, u, a, t, w, p: eqs.efforts(q, u, a, t, w, p),
        "forces": lambda q, u, a, t, w, p: eqs.forces(q, u, t, w, p),
        "mass_matrix": lambda q, u, a, t, w, p: by_columns(eqs.mass_matrix(q, t, p)),
        "coordinate_rates": lambda q, u, a, t, w, p: eqs.coordinate_rates(q, u),
        "position_violation": lambda q, u, a, t, w, p: eqs.position_violation(q, t, p),
        "velocity_violation": lambda q, u, a, t, w, p: eqs.velocity_violation(q, u, t, p),
        "kinetic_energy": lambda q, u, a, t, w, p: eqs.kinetic_energy(q, u, t, p)[..., None],
        "potential_energy": lambda q, u, a, t, w, p: eqs.potential_energy(q, t, p)[..., None],
    }


def by_columns(M: np.ndarray) -> np.ndarray:
    return np.swapaxes(M, -1, -2).reshape(*M.shape[:-2], -1)


def arguments(state: State) -> dict[str, np.ndarray]:
    udot = np.random.default_rng(8).standard_normal(len(state.u))
    return {
        "q": state.q,
        "u": state.u,
        "udot": udot,
        "t": np.array([state.t]),
        "inputs": state.inputs,
        "parameters": np.array(list(state.parameters.values())),
    }


def differences(
    function: Callable[..., np.ndarray], values: dict[str, np.ndarray], wrt: str
) -> np.ndarray:
    """Central differences of fourth order, all in one batch."""
    x = values[wrt]
    h, weights = 1e-3, {-2: 1 / 12, -1: -8 / 12, 1: 8 / 12, 2: -1 / 12}
    moved = np.array([x + k * h * e for e in np.eye(len(x)) for k in weights]).reshape(-1, len(x))
    spread = {**values, wrt: moved}
    spread["t"] = spread["t"][..., 0]
    out = np.broadcast_to(
        function(*spread.values()), (len(moved), function(*_single(values)).shape[-1])
    )
    return np.einsum("k,ikj->ji", list(weights.values()), out.reshape(len(x), 4, -1)) / h


def _single(values: dict[str, np.ndarray]) -> list[np.ndarray]:
    return [value[0] if name == "t" else value for name, value in values.items()]


def jacobian(eqs: mg.Equations, of: str, wrt: str, values: dict[str, np.ndarray]) -> np.ndarray:
    return eqs.jacobian(of, wrt, **{**values, "t": values["t"][..., 0]})


def relative(a: np.ndarray, b: np.ndarray) -> float:
    return float(np.abs(a - b).max(initial=0) / (1 + np.abs(b).max(initial=0)))


CASES = [
    (system, of)
    for system in (tree, loop, planar)
    for of in FUNCTIONS
    if (system, of) != (loop, "accelerations")
]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("wrt", VARIABLES)
@pytest.mark.parametrize(("system", "of"), CASES)
def test_derivatives_are_those_of_differences(system, of, wrt):
    """Quaternions are varied as four numbers, and loops beside their constraints: the expressions
    are defined there, too.

    (u̇ of the spatial four-bar, which has redundant rows, is not, and has a test of its own below.)
    """
    eqs = equations(system)
    values = arguments(random_state(eqs, 2))
    mine = jacobian(eqs, of, wrt, values)
    wanted = differences(direct(eqs)[of], values, wrt)
    assert mine.shape == (len(direct(eqs)[of](*_single(values))), len(values[wrt]))
    assert relative(mine, wanted) < 1e-8


def test_something_depends_on_everything():
    """So that none of the comparisons above is one of zeros with zeros alone."""
    for system in (tree, planar):
        eqs = equations(system)
        values = arguments(random_state(eqs, 2))
        for wrt in VARIABLES:
            assert np.abs(jacobian(eqs, "accelerations", wrt, values)).max() > 1e-2


@pytest.mark.parametrize("formalism", IN_JOINT_COORDINATES)
def test_derivatives_of_accelerations_through_inverse_dynamics(formalism):
    """∂u̇/∂x = −M⁻¹ ∂τ/∂x is what differentiating u̇ itself gives."""
    eqs = tree().equations(formalism)
    s, state = eqs.terms.symbols, random_state(equations(tree), 3)
    p = list(state.parameters.values())
    for wrt, symbol in VARIABLES.items():
        plain = ca.Function(
            "J",
            [s.q, s.u, s.t, s.w, s.p],
            [ca.jacobian(eqs.numeric.closed.udot, getattr(s, symbol))],
        )
        wanted = np.array(plain(state.q, state.u, state.t, state.inputs, p))
        mine = eqs.jacobian("accelerations", wrt, state.q, state.u, **state.at)
        assert relative(mine, wanted) < 1e-10


def through_the_solver(eqs: mg.Equations, q: np.ndarray, u: np.ndarray) -> float:
    """The error of ∂u̇/∂(q, u, w, p, t) beside what differentiating the solution itself gives; along
    the motions that constraints leave, where rows are redundant: beside them, these contradict each
    other."""
    closed, s = eqs.numeric.closed, eqs.terms.symbols
    x, at = [s.q, s.u, s.t, s.w, s.p], [q, u, 0.1, np.full(s.w.numel(), 0.7), list(s.defaults)]
    long = ca.horzcat(*(ca.jacobian(closed.udot, getattr(s, each)) for each in VARIABLES.values()))
    short = ca.horzcat(*derivatives(closed, "accelerations", *VARIABLES))
    made = ca.Function("J", x, [short, long, eqs.terms.chart.tangent, eqs.terms.N])
    mine, wanted, T, N = (np.array(value) for value in made(*at))
    A, n = eqs.constraint_jacobian(q, u, 0.1), len(q)
    left = scipy.linalg.null_space(A, rcond=1e-9) if len(A) else np.eye(len(u))
    full = len(left.T) == len(u) - len(A)
    along = (T, np.eye(len(u))) if full else (N @ left, left)
    moves = scipy.linalg.block_diag(*along, np.eye(mine.shape[1] - n - len(u)))
    return relative(mine @ moves, wanted @ moves)


LAWS = {
    "closures": lambda: [loop().equations(closure=c) for c in mg.CLOSURES],
    "formalisms": lambda: [planar().equations(f) for f in ("maggi", "points", "kane")],
    "friction": lambda: [friction_laws.slider().equations()],
    "compositions": lambda: [friction_laws.block(), mg.compose("c", {"p": planar().equations()})],
}


@pytest.mark.parametrize("law", LAWS)
def test_derivatives_of_accelerations_with_constraints(law):
    for eqs in LAWS[law]():
        q, u = eqs.assemble(guess={"qB": 1.0, "qC": -1.2} if law == "closures" else None)
        S = scipy.linalg.null_space(eqs.constraint_jacobian(q, u), rcond=1e-9)
        assert through_the_solver(eqs, q, u + 0.3 * S.sum(axis=1)) < 1e-10


@pytest.mark.slow
@pytest.mark.parametrize("name", mg.gallery.names())
def test_derivatives_of_accelerations_in_the_gallery(name):
    example = mg.gallery.load(name)
    eqs = example.system().equations()
    q, u = eqs.assemble(example.start, guess=example.guess)
    assert through_the_solver(eqs, q, u) < 1e-10


def test_derivatives_of_accelerations_along_the_motion_of_a_loop():
    """ü = ∂u̇/∂q q̇ + ∂u̇/∂u u̇ + ∂u̇/∂t, against u̇ a little later; redundant rows and all."""
    eqs, h = equations(loop), 1e-3
    q, u = eqs.assemble({"qA": -1.3, "qA'": 1.0}, guess={"qB": 1.0, "qC": -1.2})
    assert eqs.redundant(q)
    J_q, J_u, J_t = (eqs.jacobian("accelerations", wrt, q, u) for wrt in ("q", "u", "t"))
    run = eqs.simulate(4 * h, (q, u), step=h, rtol=1e-13, method="dop853")
    later = np.array([-25, 48, -36, 16, -3]) / 12 / h  # fourth order, forward
    assert (
        relative(J_q @ eqs.coordinate_rates(q, u) + J_u @ run.udot[0] + J_t[:, 0], later @ run.udot)
        < 1e-7
    )


def test_accelerations_of_a_loop_are_linear_in_the_inputs():
    eqs = equations(loop)
    q, u = eqs.assemble({"qA": -1.3, "qA'": 1.0}, guess={"qB": 1.0, "qC": -1.2})
    slope = eqs.jacobian("accelerations", "inputs", q, u)[:, 0]
    one, zero = (eqs.accelerations(q, u, inputs=[w]) for w in (1.0, 0.0))
    assert relative(slope, one - zero) < 1e-9
    assert np.abs(eqs.constraint_jacobian(q, u) @ slope).max() < 1e-9 * np.abs(slope).max()


@pytest.mark.parametrize("compiled", [False, True])
def test_batches_and_threads(compiled):
    eqs = tree().equations()
    states = [arguments(random_state(eqs, seed)) for seed in range(11)]
    values = {name: np.array([state[name] for state in states]) for name in states[0]}
    single = np.array([jacobian(eqs, "accelerations", "q", state) for state in states])
    if compiled:
        assert eqs.numeric.kernels["accelerations", "q"].compile()
    batch = eqs.jacobian("accelerations", "q", **{**values, "t": values["t"][:, 0]}, threads=2)
    assert batch.shape == (11, 4, 5)
    assert relative(batch, single) < 1e-12


@pytest.mark.parametrize("of", ["accelerations", "efforts", "mass_matrix", "position_violation"])
@pytest.mark.parametrize("system", [tree, planar])
def test_several_variables_at_once(system, of):
    """One kernel for all gives what one for each gives."""
    eqs = equations(system)
    values = arguments(random_state(eqs, 2))
    together = jacobian(eqs, of, ("q", "inputs", "u"), values)
    assert isinstance(together, tuple)
    for value, wrt in zip(together, ("q", "inputs", "u"), strict=True):
        alone = jacobian(eqs, of, wrt, values)
        assert value.shape == alone.shape
        assert relative(value, alone) < 1e-13
    assert len(jacobian(eqs, of, ["q"], values)) == 1


@pytest.mark.parametrize("compiled", [False, True])
def test_results_are_put_where_told(compiled):
    eqs = tree().equations()
    random = np.random.default_rng(0)
    q, u, udot = (random.standard_normal((2, 5, count)) for count in (5, 4, 4))
    old = eqs.jacobian("efforts", ("q", "u"), q[0], u[0], udot[0])
    if compiled:
        eqs.compile()
    new = eqs.jacobian("efforts", ("q", "u"), q[1], u[1], udot[1])
    again = eqs.jacobian("efforts", ("q", "u"), q[1], u[1], udot[1], out=old)
    assert all(a is b and np.array_equal(a, c) for a, b, c in zip(again, old, new, strict=True))
    row = np.zeros_like(new[1][0])
    assert eqs.jacobian("efforts", "u", q[1, 0], u[1, 0], udot[1, 0], out=row) is row
    assert np.allclose(row, new[1][0], rtol=1e-13, atol=1e-13)


def test_results_are_put_only_where_they_fit():
    eqs = tree().equations()
    q, u = np.zeros((3, 5)), np.zeros((3, 4))
    q[:, 0] = 1
    for out in (
        np.zeros((3, 4, 4), dtype=np.float32),
        np.zeros((3, 4, 5)),
        np.zeros((3, 4, 8))[..., ::2],
        [[0.0]],
    ):
        with pytest.raises(mg.ArgumentError, match=r"out must be .* \[\(3, 4, 4\)\]"):
            eqs.jacobian("efforts", "u", q, u, u, out=out)


def test_nothing_to_differentiate_by():
    system = mg.System("plain", gravity=(0, 0, -9.81))
    system.prismatic("z", system.ground, block(system, "stone"), axis="z")
    eqs = system.equations()
    assert eqs.jacobian("accelerations", "inputs", [0.0], [0.0]).shape == (1, 0)
    assert eqs.jacobian("position_violation", "q", [[0.0], [1.0]]).shape == (2, 0, 1)
    assert eqs.jacobian("mass_matrix", "parameters", np.zeros((3, 1))).shape == (3, 1, 0)


def test_unknown_names_are_told():
    with pytest.raises(
        mg.ArgumentError, match="unknown function 'acceleration'; did you mean 'accelerations'"
    ):
        equations(tree).jacobian("acceleration", "q", np.zeros(5))
    with pytest.raises(
        mg.ArgumentError, match=r"unknown variable 'speed'.*Known: q, u, inputs, parameters, t"
    ):
        equations(tree).jacobian("accelerations", "speed", np.zeros(5))
