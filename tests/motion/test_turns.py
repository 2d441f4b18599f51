"""Angles that are measured between bodies and yet count their turns: springs, gears, servos,
screws, laws of the user."""

from __future__ import annotations

import numpy as np
import pytest

import mechgraph as mg
from mechgraph.runtime.stepper import METHODS

FORMALISMS = pytest.mark.parametrize("formalism", ["newton-euler", "absolute"])


def wheel(**options) -> mg.System:
    system = mg.System("wheel")
    body = system.body("wheel", mass=1.0, inertia=(0.1, 0.1, 0.1))
    system.revolute("axle", system.ground, body, axis="y", **options)
    return system


@pytest.mark.parametrize("method", METHODS)
def test_a_torsion_spring_is_wound_up_by_several_turns(method):
    """φ = (20/ω) sin ωt with ω² = k/I = 0.4 reaches 31.6 rad, five turns."""
    equations = wheel(stiffness=0.04).equations("absolute")
    assert equations.coordinates[7:] == ("axle",)
    omega = np.sqrt(0.4)
    run = equations.simulate(6.0, {"axle'": 20.0}, rtol=1e-9, step=0.05, method=method)
    assert np.abs(run["axle"] - 20 / omega * np.sin(omega * run.time)).max() < 1e-5
    assert np.abs(run.imbalance).max() < 1e-5


@pytest.mark.parametrize("turns", [0, 1, -3])
def test_a_start_may_be_turns_away(turns):
    angle = 0.5 + 2 * np.pi * turns
    jointed, equations = (wheel(stiffness=2.0).equations(f) for f in ("newton-euler", "absolute"))
    q, u = equations.assemble({"axle": angle})
    assert q[-1] == pytest.approx(angle, abs=1e-12)
    assert equations.accelerations(q, u)[4] == pytest.approx(-20 * angle, rel=1e-12)
    assert equations.potential_energy(q) == pytest.approx(
        jointed.potential_energy([angle]), rel=1e-12
    )
    by_body = equations.assemble({"axle": angle, "wheel.x": 0.0})  # found in absolute coordinates
    assert np.abs(by_body[0][-1] - angle) < 1e-10


def test_coordinates_that_count_may_be_left_out():
    equations = wheel(stiffness=2.0).equations("absolute")
    q, u = equations.assemble({"axle": -0.7})
    assert np.array_equal(equations.accelerations(q[:7], u), equations.accelerations(q, u))
    run = equations.simulate(1.0, (q[:7], u), step=0.5)
    assert run["axle"][0] == pytest.approx(-0.7, abs=1e-12)


@FORMALISMS
def test_gears_turn_on(formalism):
    """Coefficients without a common measure: no turn of one wheel is a turn of the other."""
    ratio = np.sqrt(7)
    system = mg.System("gears", gravity=(0, 0, -9.81))
    crank = system.body("crank", mass=1.0, com=(0.2, 0, 0), inertia=(0.1, 0.1, 0.1))
    pinion = system.body("pinion", mass=1.0, inertia=(0.1, 0.1, 0.1))
    system.revolute("slow", system.ground, crank, axis="y")
    system.revolute("fast", system.ground, pinion, axis="y", at=(0, 1, 0))
    system.coupling("gear", {"slow": ratio, "fast": -1})
    run = system.equations(formalism).simulate(2.0, {"slow": 0.0, "slow'": 8.0}, rtol=1e-10)
    assert run["fast"][-1] > 6 * np.pi
    assert np.abs(run["fast"] - ratio * run["slow"]).max() < 1e-6
    assert run.statistics["drift"] < 1e-6
    assert np.abs(run.imbalance).max() < 1e-6


@FORMALISMS
@pytest.mark.parametrize("kind", ["servo", "joint"])
def test_a_servo_turns_on_and_needs_no_more_coordinates(formalism, kind):
    system = mg.System("servo", gravity=(0, 0, -9.81))
    arm = system.body("arm", mass=1.0, com=(0.2, 0, 0), inertia=(0.1, 0.1, 0.1))
    if kind == "servo":
        system.revolute("hinge", system.ground, arm, axis="y")
        system.servo("drive", "hinge", 8 * system.time)
    else:
        system.free("place", system.ground, arm)
        system.fixed_servo_joint("drive", system.ground, arm, axis="y", angle=8 * system.time)
    equations = system.equations(formalism)
    assert not equations.terms.chart.counted
    run = equations.simulate(2.0, rtol=1e-10)
    assert run.violation.max() < 1e-9
    assert run.statistics["drift"] < 1e-6
    assert np.abs(run["arm"]).max() < 1e-9


@FORMALISMS
def test_a_screw_of_the_user_falls_for_many_turns(formalism):
    """The screw of docs/contact.md: z̈ = −g / (1 + I/(m p²))."""

    class Screw(mg.FreeIdealJoint):
        def axial(self, m):
            return mg.Held(self.shift(m) - 0.1 * self.angle(m))

    system = mg.System("screw", gravity=(0, 0, -9.81))
    nut = system.body("nut", mass=1.0, inertia=(0.02, 0.02, 0.01))
    system.free("place", system.ground, nut)
    system.add(Screw("thread", system.ground, nut))
    run = system.equations(formalism).simulate(3.0, rtol=1e-10, step=0.1)
    assert np.abs(run["nut"][:, 2] + 9.81 / 2 / 2 * run.time**2).max() < 1e-7
    assert np.abs(run.imbalance).max() < 1e-6


def test_a_law_of_the_user_counts_turns_in_absolute_coordinates():
    def driven(m):
        return -0.04 * m.coordinate("axle")

    runs = []
    for formalism in ("kane", "absolute"):
        system = wheel()
        system.torque("spring", "axle", driven)
        runs.append(
            system.equations(formalism).simulate(3.0, {"axle'": 20.0}, rtol=1e-10, step=0.1)["axle"]
        )
    assert runs[0].max() > 4 * np.pi
    assert np.abs(runs[0] - runs[1]).max() < 1e-7


def test_turns_against_a_driven_frame_are_counted():
    """The torsion spring winds up between a wheel that stands and a frame that time drives: −k φ
    with φ = −Ωt."""
    system = mg.System("driven")
    frame = system.frame("frame")
    system.joint("drive", system.ground, frame, [mg.rot("y", 6.0 * system.time)])
    body = system.body("wheel", mass=1.0, inertia=(0.1, 0.1, 0.1))
    system.free("place", system.ground, body)
    system.revolute("spring", frame, body, axis="y", stiffness=1e-3, cut=True)
    omega = np.sqrt(0.01)
    for method in (None, "rk8"):
        run = system.equations().simulate(
            4.0, {"place.wy": 0.0}, rtol=1e-10, step=4.0, method=method
        )
        assert run["spring"][-1] == pytest.approx(-6.0 / omega * np.sin(omega * 4.0), rel=1e-7)


def test_rollouts_count_turns():
    equations = wheel(stiffness=0.04).equations("absolute")
    q, u = equations.assemble({"axle'": 20.0})
    rolled = equations.rollout(q[None], u[None], steps=600, step=0.005)
    omega = np.sqrt(0.4)
    assert rolled["axle"][0, -1] == pytest.approx(20 / omega * np.sin(3 * omega), rel=1e-7)
