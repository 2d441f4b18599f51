"""Friction that grows with √(λ₁² + λ₂²) of a guide: in systems by all formalisms and closures, and
in compositions, nested ones too."""

from __future__ import annotations

import casadi as ca
import numpy as np
import pytest

import mechgraph as mg
from mechgraph.errors import ArgumentError, UnsupportedError

MU, M, G = 0.3, 2.0, (0.0, 4.0, -9.81)


class Guide(mg.Constraint):
    """A body runs along x, with friction against its motion."""

    passive = True

    def __init__(self, name, body, friction=MU) -> None:
        self.name, self.body, self.friction = name, body, friction

    def places(self):
        return (self.body,)

    def position(self, m):
        return list(zip("yz", ca.vertsplit(m.position(self.body)[1:]), strict=True))

    def friction_actions(self, m, multipliers):
        v = m.velocity(self.body)[0]
        size = self.friction * mg.sqrt(multipliers[0] ** 2 + multipliers[1] ** 2)
        push = ca.vertcat(-size * v / mg.sqrt(v**2 + 1e-16), 0, 0)
        return [mg.Wrench(self.body, push, ca.SX.zeros(3))]


def slider(friction=MU) -> mg.System:
    """A block in a guide, with a pendulum that swings from it."""
    s = mg.System("slider", gravity=G)
    block = s.body("block", mass=M, inertia=(0.1, 0.1, 0.1))
    bob = s.body("bob", mass=0.5, com=(0, 0, -0.4), inertia=(0.01, 0.01, 0.01))
    chain = [mg.move(axis, axis) for axis in "xyz"]
    s.joint("place", s.ground, block, chain)
    s.revolute("pin", block, bob, axis="y")
    s.marker("centre", bob, (0, 0, -0.4))
    s.add(Guide("guide", s.marker("shoe", block), friction))
    return s


REFUSING = {
    "maggi": "leaves the constraint forces out, but friction grows with them",
    "nodes": "for systems in a plane",
}
START = {"place.x'": 1.0, "pin": 0.4, "pin'": 2.0}


@pytest.mark.sampled(5)
@pytest.mark.parametrize("closure", mg.CLOSURES)
@pytest.mark.parametrize("formalism", mg.FORMALISMS)
def test_a_guide_by_every_formalism(formalism, closure):
    """Newton's law for all of it: what gravity does not give the mass centres, the guide does, with
    μ times the size of its normal forces along x."""
    if formalism in REFUSING:
        with pytest.raises(UnsupportedError, match=REFUSING[formalism]):
            slider().equations(formalism, closure=closure).assemble(START)
        return
    equations = slider().equations(formalism, closure=closure)
    at = equations.assemble(START)
    block, centre = (equations.observe(name, *at) for name in ("block''", "centre''"))
    along, *normal = M * (block - G) + 0.5 * (centre - G)
    assert along == pytest.approx(-MU * np.hypot(*normal), rel=1e-9)
    assert equations.observe("guide", *at) == pytest.approx(normal, rel=1e-9)
    assert equations.accelerations(*at) == pytest.approx(equations.solve(*at)[0], abs=1e-8)


def test_a_run_keeps_its_energy_account():
    run = slider().equations().simulate(0.2, START, rtol=1e-10)
    assert np.abs(run.imbalance).max() < 1e-9
    assert run.dissipated[-1] > 0.5
    assert mg.agreement(slider()).ok


def block(push=0.0) -> mg.Equations:
    """The same friction in a composition."""
    law = {
        "x'": lambda v: (
            -MU * mg.sqrt(v.multiplier("guide: 1") ** 2 + v.multiplier("guide: 2") ** 2)
        ),
        "y'": push,
    }
    return mg.compose(
        "block",
        [mg.leaves.particle(mass=M, gravity=G)],
        constraints={"guide": lambda v: [v["y"], v["z"]]},
        forces=law,
    )


def test_friction_in_a_part_heeds_what_the_whole_does_to_it():
    """A force across the guide from outside, and a second guide that shares the load: the normal
    forces are those of the whole, not of the part alone."""
    state = np.zeros(3), [1.0, 0, 0]
    expected = -MU * np.hypot(4 + 50 / M, 9.81)
    assert block(50.0).accelerations(*state)[0] == pytest.approx(expected, rel=1e-12)
    inner = mg.compose("inner", {"p": block()})
    nested = mg.compose("outer", {"q": inner}, forces={"q.p.y'": 50.0})
    assert nested.accelerations(*state)[0] == pytest.approx(expected, rel=1e-12)
    run = nested.simulate(0.05, state, rtol=1e-10)
    assert run["q.p.x'"][-1] == pytest.approx(1 + 0.05 * expected, rel=1e-9)
    system = mg.compose(
        "w", {"s": slider().equations("kane")}, forces={"s.block'": lambda v: [0, 30.0, 0]}
    )
    pushed = slider()
    pushed.force("push", "block", (0, 30.0, 0))
    at = system.assemble({f"s.{name}": value for name, value in START.items()})
    expected = pushed.equations("kane").accelerations(*at)
    assert system.accelerations(*at) == pytest.approx(expected, abs=1e-9)


def test_the_inverse_by_relaxation_is_that_of_the_run():
    """The motion of a forward run with friction, its guide relaxed: no push was needed."""
    run = block().simulate(0.1, (np.zeros(3), [1.0, 0, 0]), rtol=1e-11)
    with pytest.raises(UnsupportedError, match="leave the constraint out"):
        block().inverse_dynamics(run, drives=["x'"])
    with pytest.raises(UnsupportedError, match="leave the constraint out"):
        slider().equations().inverse_dynamics(
            slider().equations().simulate(0.01, START), drives=["place.x'"]
        )
    relaxed = mg.compose(
        "relaxed",
        [mg.leaves.particle(mass=M, gravity=G)],
        inputs=["push", "side", "normal"],
        forces={
            "x'": lambda v: v["push"] - MU * mg.sqrt(v["side"] ** 2 + v["normal"] ** 2),
            "y'": lambda v: v["side"],
            "z'": lambda v: v["normal"],
        },
    )
    names = ["push", "side", "normal"]
    found = relaxed.inverse_dynamics(run.q, run.u, run.udot, run.time, drives=names)
    assert np.allclose(found, [0, -8, M * 9.81], atol=1e-9)


def test_friction_that_jams_is_told():
    """|λ| against a brake's own force: λ + |λ| = λ₀ has no answer for λ₀ < 0."""

    class Brake(mg.Constraint):
        def __init__(self, name) -> None:
            self.name = name

        def velocity(self, m):
            return [("", m.speed("pin"))]

        def friction_actions(self, m, multipliers):
            return [mg.Effort("pin", mg.fabs(multipliers[0]))]

    s = mg.System("brake", gravity=(0, 0, -9.81))
    rod = s.body("rod", mass=1.0, com=(1, 0, 0), inertia=(0.1, 0.1, 0.1))
    s.revolute("pin", s.ground, rod, axis="y")
    s.add(Brake("brake"))
    equations = s.equations()
    load = 9.81 * np.cos(0.3)  # turns it forward; held by λ + |λ| = −load
    with pytest.raises(ArgumentError, match="it jams"):
        equations.solve([0.3], [0.0])
    lam = equations.multipliers([0.3 + np.pi], [0.0])
    assert lam == pytest.approx([load / 2], rel=1e-9)
