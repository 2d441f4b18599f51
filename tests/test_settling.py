"""contacts.c does what the oracle in Python does, at every event of runs with all kinds of
points."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import mechgraph as mg
from mechgraph.studies.contact.resolution import MODES, Resolution
from oracles.contacts import Observed, settle
from test_drops import SHAPES, drop, dropped

G = 9.81


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """From now on every event is resolved by both, and what q and u differ by is noted."""
    errors: list[float] = []
    in_c = Resolution.resolve_linear

    def both(self: Resolution, t: float, q: np.ndarray, u: np.ndarray) -> Any:
        contacts = Observed.of(self.contacts)
        before = {name: getattr(contacts, name).copy() for name in MODES}
        expected = settle(contacts, t, q, u)
        modes, count = {name: getattr(contacts, name).copy() for name in MODES}, contacts.count
        for name in MODES:
            getattr(contacts, name)[:] = before[name]
        found = in_c(self, t, q, u)
        assert self.contacts.count == count
        for name in MODES:
            assert np.allclose(getattr(contacts, name), modes[name], atol=1e-6), name
        errors.append(max(np.abs(a - b).max() for a, b in zip(found, expected, strict=True)))
        return found

    monkeypatch.setattr(Resolution, "resolve_linear", both)
    return errors


@pytest.mark.parametrize("number", [0, 1, 2])  # a box, a can, a sphere
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
            name,
            mg.Point(corner),
            mg.Plane(table),
            friction=0.3,
            static_friction=0.4,
            restitution=0.2,
        )
    law = mg.DryFriction(0.2, static_friction=0.3)
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


def test_without_a_compiler_it_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    with_compiler = moving().equations().simulate(0.5, START, guess={"way": 1.1}, rtol=1e-9)
    monkeypatch.setenv("MECHGRAPH_CC", "none")
    run = moving().equations().simulate(0.5, START, guess={"way": 1.1}, rtol=1e-9)
    assert np.abs(run.q[-1] - with_compiler.q[-1]).max() < 1e-7
    assert run.statistics["impacts"] == with_compiler.statistics["impacts"]


def test_python_functions_are_asked_at_impacts(compared: list[float]) -> None:
    """A table with friction is shaken by a function of the state: what it pushes with decides
    whether what lies on it sticks."""
    system = mg.System("pushed", gravity=(0, 0, -G))
    block = system.body("block", mass=1.0, inertia=(0.01, 0.01, 0.01))
    steps = [mg.move("x", "x"), mg.move("z", "z"), mg.rot("y", "angle")]
    system.joint("at", system.ground, block, steps)
    for name, side in (("left", -1), ("right", 1)):
        corner = system.marker(f"{name} corner", block, (0.1 * side, 0, -0.05))
        floor = mg.Plane(system.ground)
        system.rigid_contact(name, mg.Point(corner), floor, friction=0.3, restitution=0.2)
    system.torque("push", "at.x", system.input("force"))

    def push(t: float, q: np.ndarray, u: np.ndarray) -> float:
        return 5.0 * float(np.sin(9 * t)) - 0.5 * float(u[0])

    laws = push, lambda m: 5.0 * mg.sin(9 * m.time) - 0.5 * m.speed("at.x")
    runs = [
        system.equations().simulate(1.0, {"at.z": 0.1}, inputs={"force": law}, rtol=1e-9)
        for law in laws
    ]
    assert len(compared) > 4
    assert max(compared) < 1e-9
    assert np.abs(runs[0].q[-1] - runs[1].q[-1]).max() < 1e-7
