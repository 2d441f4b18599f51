"""Random spatial trees: every formalism gives the same equations, and they are the right ones.

Agreement is measured in the metric of the kinetic energy; see ``measure.py``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import casadi as ca
import numpy as np
import pytest

import mechgraph as mg
from measure import (
    IN_JOINT_COORDINATES,
    absolute_gaps,
    acceleration_gap,
    force_gap,
    gap,
    mass_gap,
    scales,
)
from mujoco_models import KINDS, Oracle
from random_systems import JOINT_NAMES, Build, State, random_state, random_tree

TREES = range(200)


@cache
def tree(seed: int) -> tuple[Build, mg.Equations, State]:
    build = random_tree(seed)
    equations = build.system.equations("newton-euler")
    return build, equations, random_state(equations, seed)


def mass_and_forces(equations: mg.Equations, state: State) -> tuple[np.ndarray, np.ndarray]:
    """The expressions M and f at a state."""
    s = equations.terms.symbols
    function = ca.Function("Mf", [s.q, s.u, s.t, s.w, s.p], [equations.terms.M, equations.terms.f])
    M, f = function(state.q, state.u, state.t, state.inputs, list(state.parameters.values()))
    return np.array(M), np.array(f).ravel()


def test_every_joint_type_is_met_both_ways():
    met = {
        (type(arc.joint.kind).__name__, arc.reversed)
        for seed in TREES
        for arc in random_tree(seed).system.topology().arcs
    }
    assert len(met) == 2 * len(JOINT_NAMES)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", TREES)
def test_formalisms_agree(seed):
    build, equations, state = tree(seed)
    M, f = (
        equations.mass_matrix(state.q, **state.place),
        equations.forces(state.q, state.u, **state.at),
    )
    udot = equations.accelerations(state.q, state.u, **state.at)
    for formalism in IN_JOINT_COORDINATES:
        other_M, other_f = mass_and_forces(build.system.equations(formalism), state)
        assert mass_gap(M, other_M) < 1e-11, f"{formalism}\n{build}"
        assert force_gap(M, f, other_f, state.u) < 1e-11, f"{formalism}\n{build}"
        assert acceleration_gap(M, udot, np.linalg.solve(other_M, other_f), state.u) < 1e-11, (
            f"{formalism}\n{build}"
        )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", TREES)
def test_mass_matrix_is_that_of_the_kinetic_energy(seed):
    """½ uᵀMu is the part of T that is quadratic in u: ½ (T(u) + T(−u)) − T(0); the rest is what
    time drives."""
    build, equations, state = tree(seed)
    M = equations.mass_matrix(state.q, **state.place)
    moving, back, driven = equations.kinetic_energy(
        state.q, np.array([state.u, -state.u, 0 * state.u]), **state.place
    )
    quadratic = (moving + back) / 2 - driven
    assert abs(state.u @ M @ state.u / 2 - quadratic) < 1e-12 * (moving + back), str(build)
    d = scales(M)
    assert mass_gap(M, M.T) < 1e-14, str(build)
    assert np.linalg.eigvalsh(M / np.outer(d, d)).min() > 0, str(build)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", TREES)
def test_inverse_dynamics_returns_what_forward_dynamics_was_given(seed):
    """τ → u̇ = M⁻¹ (f + τ) → τ, and u̇ of the unloaded system needs no efforts."""
    build, equations, state = tree(seed)
    M = equations.mass_matrix(state.q, **state.place)
    tau = scales(M) * np.random.default_rng(seed).standard_normal(len(state.u))
    solve = ca.Function(
        "udot", _arguments(equations), [equations.terms.dynamics.solve(ca.SX(ca.DM(tau)))]
    )
    udot = np.array(
        solve(state.q, state.u, state.t, state.inputs, list(state.parameters.values()))
    ).ravel()
    back = equations.inverse_dynamics(state.q, state.u, udot, **state.at)
    assert force_gap(M, tau, back, state.u) < 1e-9, str(build)
    free = equations.inverse_dynamics(
        state.q, state.u, equations.accelerations(state.q, state.u, **state.at), **state.at
    )
    f = equations.forces(state.q, state.u, **state.at)
    assert force_gap(M, f, f + free, state.u) < 1e-9, str(build)


def _arguments(equations: mg.Equations) -> list[ca.SX]:
    s = equations.terms.symbols
    return [s.q, s.u, s.t, s.w, s.p]


@pytest.mark.sampled(3)
@pytest.mark.parametrize("seed", TREES)
def test_accelerations_are_those_of_mujoco(seed):
    build = random_tree(seed, KINDS, driven=False)
    equations = build.system.equations("newton-euler")
    state = replace(random_state(equations, seed), parameters=build.system.defaults)
    oracle = Oracle(build, equations)
    theirs, ours = (
        oracle.accelerations(state),
        equations.accelerations(state.q, state.u, **state.at),
    )
    assert (
        acceleration_gap(equations.mass_matrix(state.q, **state.place), ours, theirs, state.u)
        < 1e-9
    ), str(build)
    for body, (R, p) in oracle.positions().items():
        assert gap(equations.rotation(body, state.q, **state.place), R) < 1e-12, f"{body}\n{build}"
        assert gap(equations.position(body, state.q, **state.place), p, floor=1.0) < 1e-12, (
            f"{body}\n{build}"
        )


@pytest.mark.parametrize("seed", TREES[::4])
def test_power_is_the_rate_of_energy(seed):
    """d(T+V)/dt along the motion, by exact differentiation, is the power of drives, dampers and
    forces."""
    build, equations, state = tree(seed)
    run = one_moment(equations, state)
    s = equations.terms.symbols
    rates = [
        ca.jtimes(energy, s.q, equations.terms.chart.qdot)
        + ca.jtimes(energy, s.u, s.udot)
        + ca.jtimes(energy, s.t, ca.SX(1))
        for energy in (equations.terms.kinetic, equations.terms.potential)
    ]
    function = ca.Function("rates", [*_arguments(equations), s.udot], rates)
    numbers = (
        state.q,
        state.u,
        state.t,
        state.inputs,
        list(state.parameters.values()),
        run.udot[0],
    )
    kinetic, potential = (float(rate) for rate in function(*numbers))
    size = abs(kinetic) + abs(potential) + abs(run.power[0]) + run.kinetic[0]
    assert abs(kinetic + potential - run.power[0]) < 1e-11 * size, str(build)


def one_moment(equations: mg.Equations, state: State) -> mg.Trajectory:
    """A trajectory of one time only."""
    columns = {
        "coordinates": equations.coordinates,
        "speeds": equations.speeds,
        "inputs": equations.inputs,
        "constraints": (),
    }
    rows = (np.array([state.t]), state.q[None], state.u[None], state.inputs[None])
    return mg.Trajectory(
        equations.system.name, *rows, state.parameters, columns, equations=equations
    )


@pytest.mark.parametrize("seed", TREES[1::10])
def test_absolute_coordinates_give_the_same_accelerations_and_reactions(seed):
    build, equations, state = tree(seed)
    for name, distance in absolute_gaps(equations, state).items():
        assert distance < 1e-9, f"{name}\n{build}"


@pytest.mark.parametrize("seed", TREES[::20])
@pytest.mark.parametrize("formalism", IN_JOINT_COORDINATES)
def test_functions_on_arrays_take_batches_and_names(formalism, seed):
    build, _, state = tree(seed)
    equations = build.system.equations(formalism)
    q, u = np.array([state.q, 0.9 * state.q]), np.array([[state.u], [2 * state.u], [0 * state.u]])
    for four in map(list, equations.terms.chart.quaternions):
        q[:, four] /= np.linalg.norm(q[:, four], axis=1, keepdims=True)
    together = equations.accelerations(q, u, **state.at)
    assert together.shape == (3, 2, len(equations.speeds))
    M = equations.mass_matrix(q, **state.place)
    assert M.shape == (2, len(equations.speeds), len(equations.speeds))
    one = equations.accelerations(
        dict(zip(equations.coordinates, q[1], strict=True)),
        dict(zip(equations.speeds, u[1, 0], strict=True)),
        state.t,
        dict(zip(equations.inputs, state.inputs, strict=True)),
        state.parameters,
    )
    assert np.array_equal(one, together[1, 1])
    assert (
        acceleration_gap(
            M[1], one, np.linalg.solve(M[1], equations.forces(q[1], u[1, 0], **state.at)), u[1, 0]
        )
        < 1e-11
    )


def test_a_force_does_not_reorder_the_coordinates():
    """Springs, torques and drives on any of the joints of a tree leave the arrays as they are."""

    def tree(*sprung: str) -> mg.System:
        s = mg.System("tree")
        bodies = [s.body(name, mass=1.0, inertia=(1, 1, 1)) for name in "abc"]
        for joint, body in zip("rpu", bodies, strict=True):
            word = {"r": s.revolute, "p": s.prismatic, "u": s.universal}[joint]
            word(joint, s.ground, body, stiffness=1.0 if joint in sprung else 0)
        if "drive" in sprung:
            s.servo("drive", "p", 0.0)
        return s

    expected = tree().equations().coordinates
    assert expected == ("r", "p", "u.first", "u.second")
    for sprung in ("u", "p", "pu", ("drive",), ("u", "drive")):
        assert tree(*sprung).equations().coordinates == expected
