"""contacts.c does what studies/contact does, at every event of runs with all kinds of points."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import casadi as ca
import numpy as np
import pytest
from test_drops import SHAPES, drop, dropped

import mechgraph as mg
from mechgraph.kernels.routine import Routine
from mechgraph.kernels.settling import SETTLED, Settling
from mechgraph.studies.contact import modes
from mechgraph.studies.contact.machine import expressions, layout
from mechgraph.studies.contact.modes import Contacts

G = 9.81
MODES = ("touching", "sticking", "flat")


def in_c(contacts: Contacts) -> Settling:
    """The C on functions that are interpreted."""
    s = contacts.equations.terms.symbols
    x, first = ca.vertcat(s.q, s.u, s.t, s.p, s.w), s.q.numel() + s.u.numel() + 1
    found = expressions(contacts.equations, contacts.points)
    functions = {name: Routine(name, x, ca.SX(value)) for name, value in found.items()}
    places = {name: first + k for k, name in enumerate(s.parameters)}
    return Settling(functions, layout(contacts.equations, contacts.points, places), x.numel())


def settled(contacts: Contacts, machine: Settling, t: float, q: Any, u: Any) -> tuple[Any, ...]:
    """By the C: why it returned, q, u, the modes, impacts, and the work of moving bases."""
    w = contacts.context.inputs_at(np.array([t]), q[None], u[None])[0]
    machine.arrays["x"][:] = np.concatenate([q, u, [t], contacts.parameters, w])
    for name in (*MODES, "heading"):
        machine.arrays[name][:] = getattr(contacts, name)
    why, count, given = machine(contacts.standing)
    after = np.split(machine.arrays["x"], [len(q), len(q) + len(u)])[:2]
    found = {name: machine.arrays[name].copy() for name in (*MODES, "heading")}
    return why, *map(np.copy, after), found, count, given


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """From now on every event is settled by both; what q and u differ by."""
    machines: dict[int, Settling] = {}
    errors: list[float] = []
    by_python: Callable[..., Any] = modes.settle

    def settle(contacts: Contacts, t: float, q: np.ndarray, u: np.ndarray) -> Any:
        machine = machines.setdefault(id(contacts), in_c(contacts))
        why, *state, found, count, given = settled(contacts, machine, t, q, u)
        before = contacts.count
        after = by_python(contacts, t, q, u)
        assert why == SETTLED
        assert count == contacts.count - before
        assert abs(given - after[2]) < 1e-9
        for name in MODES:
            assert np.array_equal(found[name], getattr(contacts, name)), name
        assert np.allclose(found["heading"], contacts.heading, atol=1e-6)
        errors.append(max(np.abs(a - b).max() for a, b in zip(state, after, strict=False)))
        return after

    monkeypatch.setattr(modes, "settle", settle)
    return errors


@pytest.mark.parametrize("number", [0, 1, 2, 5, 7, 9])  # boxes, cans, a sphere, a capsule
def test_drops(number: int, compared: list[float]) -> None:
    kind = list(SHAPES)[number % len(SHAPES)]
    start, values = drop(kind, np.random.default_rng(number))
    dropped(kind).simulate(0.5, start, step=0.02, parameters=values)
    assert len(compared) > 1
    assert max(compared) < 1e-9


def moving() -> mg.System:
    """A block on a shaken table with friction, a loop with a stop, joints that stick."""
    system = mg.System("moving", gravity=(0, 0, -G))
    table = system.body("table", mass=3.0, inertia=(1, 1, 1))
    shake = 0.05 * mg.sin(9 * system.time)
    system.joint("shake", system.ground, table, [mg.move("x", shake), mg.move("z", shake)])
    block = system.body("block", mass=1.0, inertia=(0.01, 0.01, 0.01))
    steps = [mg.move("x", "x"), mg.move("z", "z"), mg.rot("y", "angle")]
    system.joint("at", system.ground, block, steps)
    for name, side in (("left", -1), ("right", 1)):
        corner = system.marker(f"{name} corner", block, (0.1 * side, 0, -0.05))
        system.rigid_contact(
            name, mg.Point(corner), mg.Plane(table), friction=0.3, static=0.4, restitution=0.2
        )
    law = mg.DryFriction(0.2, static=0.3)
    crank = system.body("crank", mass=1.0, com=(0.2, 0, 0), inertia=(0.1, 0.1, 0.1))
    rod = system.body("rod", mass=1.0, com=(0.4, 0, 0), inertia=(0.1, 0.1, 0.1))
    system.revolute("A", system.ground, crank, axis="y", friction=law)
    system.revolute("B", crank, rod, axis="y", at=(0.4, 0, 0))
    piston = system.body("piston", mass=0.5, inertia=(0.1, 0.1, 0.1))
    stops = mg.Limits(0.9, 1.19, restitution=0.5)
    system.prismatic("way", system.ground, piston, axis="x", limits=stops)
    system.revolute("C", rod, piston, axis="y", at=(0.8, 0, 0))
    return system


START = {"at.z": 0.1, "at.x'": 0.5, "A": 0.3, "A'": 3.0}


def test_a_moving_base_a_loop_stops_and_joints_that_stick(compared: list[float]) -> None:
    run = moving().equations().simulate(1.0, START, guess={"way": 1.1}, rtol=1e-9)
    assert run.statistics["impacts"] > 10
    assert max(compared) < 1e-9


def test_painleve_is_told() -> None:
    """As in ``test_contacts``: a slip that no forces allow is stopped by an impact."""
