"""One table of names: what each means, the same in every study; joints and bodies may share one."""

from __future__ import annotations

import numpy as np
import pytest

import mechgraph as mg
from measure import IN_SPACE
from mechgraph import gallery

COORDINATES = ["newton-euler", "absolute"]


def robot() -> mg.System:
    """An arm whose joints are named as the links that they move, as in the robot files of the
    field."""
    s = mg.System("robot", gravity=(0, 0, -9.81))
    base = s.body("base", mass=2.0, inertia=(0.1, 0.1, 0.1))
    arm = s.body("arm", mass=1.0, com=(0, 0, -0.5), inertia=(0.08, 0.08, 0.001))
    hand = s.body("hand", mass=0.5, com=(0, 0, -0.2), inertia=(0.01, 0.01, 0.001))
    s.prismatic("base", s.ground, base, axis="x", stiffness=40.0)
    s.revolute("arm", base, arm, axis="y", damping=0.1)
    s.universal("hand", arm, hand, at=(0, 0, -1.0), stiffness=5.0)
    s.marker("tip", hand, (0, 0, -0.4))
    s.servo("drive", "base", 0.1 * mg.sin(3 * s.time) * s.parameter("amplitude", 1.0))
    s.torque("motor", "arm", s.input("w"))
    s.output("height", lambda m: m.position("tip")[2])
    s.output("speed", lambda m: mg.norm_2(m.velocity("tip")))
    return s


START = {"arm": 0.4, "hand": (0.2, -0.1), "arm'": 1.0, "hand'": (0.3, 0.2)}


@pytest.mark.parametrize("formalism", COORDINATES)
def test_joints_and_bodies_may_share_a_name(formalism):
    """In every coordinates a plain name is the joint; ``body arm`` is the body."""
    equations = robot().equations(formalism)
    run = equations.simulate(0.3, START, step=0.1, rtol=1e-10, inputs={"w": 0.2})
    expected = robot().equations().simulate(0.3, START, step=0.1, rtol=1e-10, inputs={"w": 0.2})
    for name in ("arm", "arm'", "hand", "hand'", "hand.second", "base", "tip", "tip'", "height"):
        assert np.allclose(run[name], expected[name], atol=1e-7), name
    assert np.allclose(run["joint arm"], run["arm"])
    assert np.allclose(run["body arm"], run.observe(lambda m: m.position("arm")))
    assert np.allclose(run["body arm'"], run.observe(lambda m: m.velocity("arm")))
    assert mg.agreement(robot()).ok


@pytest.mark.smoke
@pytest.mark.parametrize("formalism", COORDINATES)
def test_derivatives(formalism):
    """Primes are derivatives in time, of everything; against finite differences along a run."""
    equations = robot().equations(formalism)
    run = equations.simulate(0.2, START, step=1e-3, rtol=1e-11, inputs={"w": 0.2})
    for name in ("arm", "hand", "hand.first", "tip", "body hand", "height", "base"):
        for lower, higher in ((name, f"{name}'"), (f"{name}'", f"{name}''")):
            rate = np.gradient(run[lower], run.time, axis=0, edge_order=2)
            allowed = 1e-4 * max(1.0, np.abs(rate).max())
            assert np.allclose(run[higher][5:-5], rate[5:-5], atol=allowed), higher
    with pytest.raises(mg.ArgumentError, match="not known"):
        run["speed''"]
    with pytest.raises(mg.ArgumentError, match="unknown name"):
        run["arm'''"]


@pytest.mark.parametrize("formalism", IN_SPACE)
def test_forces_by_name(formalism):
    equations = robot().equations(formalism)
    run = equations.simulate(0.2, START, step=0.05, rtol=1e-10, inputs={"w": 0.2})
    reaction = run.reaction("arm")
    assert np.allclose(run["arm: reaction"], reaction)
    assert np.allclose(run["arm: force"], reaction[:, :3])
    assert np.allclose(run["joint arm: moment y"], reaction[:, 4])
    assert np.allclose(
        run["drive: effort"], run.multipliers[:, run.columns["constraints"].index("drive")]
    )
    assert np.allclose(run["drive"], run["drive: effort"])
    balance = np.gradient(run.energy, run.time)
    assert run["power"].shape == balance.shape
    assert np.allclose(run["energy"], run.energy)
    assert np.allclose(run["kinetic"] + run["potential"], run["energy"])


@pytest.mark.parametrize("formalism", COORDINATES)
def test_every_study_takes_every_name(formalism):
    equations = robot().equations(formalism)
    names = [
        "arm", "arm'", "arm''", "hand", "hand.first'", "tip", "tip'", "tip''", "body arm", "height",
        "height'", "speed", "w", "amplitude", "t", "arm: force", "arm: force x", "drive",
        "drive: effort", "energy", "power",
    ]  # fmt: skip
    state = equations.assemble(START)
    model = equations.linearize(state, outputs=names)
    rows = [label for name in names for label in equations.names.resolve(name).labels]
    assert model.outputs == tuple(rows)
    assert model.C.shape == (len(rows), len(model.states))
    scalars = [name for name in names if equations.names.resolve(name).value.numel() == 1]
    run = equations.simulate(
        0.2, START, step=0.1, events={name: mg.Event(name, stop=False) for name in scalars}
    )
    assert set(run.events) == set(scalars)
    figure = run.plot(*names)
    assert len(figure.axes) > 3
    for name in names:
        assert len(run[name]) == len(run)


@pytest.mark.parametrize("formalism", COORDINATES)
def test_starts_by_positions_and_velocities(formalism):
    """A start may give what is not a variable: a marker, an output, a measured joint."""
    s = mg.System("arm", gravity=(0, 0, -9.81))
    upper = s.body("upper", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    lower = s.body("lower", mass=1.0, com=(0.5, 0, 0), inertia=(0.01, 0.1, 0.1))
    s.revolute("shoulder", s.ground, upper, axis="y")
    s.revolute("elbow", upper, lower, axis="y", at=(1, 0, 0))
    s.marker("tip", lower, (1, 0, 0))
    s.output("reach", lambda m: mg.norm_2(m.position("tip")))
    equations = s.equations(formalism)
    q, u = equations.assemble({"tip": (1.2, 0, 0.5), "tip'": (0.3, 0, -0.2)}, guess={"elbow": 0.8})
    assert np.allclose(equations.position("tip", q), (1.2, 0, 0.5), atol=1e-10)
    assert np.allclose(equations.observe("tip'", q, u), (0.3, 0, -0.2), atol=1e-9)
    q, u = equations.assemble({"reach": 1.5, "shoulder": 0.3}, guess={"elbow": 0.8})
    assert equations.observe("reach", q)[0] == pytest.approx(1.5, abs=1e-10)
    assert equations.observe("shoulder", q)[0] == pytest.approx(0.3, abs=1e-10)
    with pytest.raises(mg.AssemblyError, match="tip"):
        equations.assemble({"tip": (3.0, 0, 0)})
    with pytest.raises(mg.ArgumentError, match="so a start cannot give it"):
        equations.assemble({"elbow: force x": 3.0})


def test_equilibrium_holds_every_name():
    """A pendulum on a cart on a spring, held where its tip is."""
    s = mg.System("arm", gravity=(0, 0, -9.81))
    upper = s.body("upper", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    lower = s.body("lower", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    s.revolute("shoulder", s.ground, upper, axis="y", stiffness=s.parameter("k", 20.0))
    s.revolute("elbow", upper, lower, axis="y", at=(0, 0, -1), stiffness=3.0)
    s.marker("tip", lower, (0, 0, -1))
    s.force("wind", "tip", (s.input("push"), 0, 0))
    s.output("height", lambda m: m.position("tip")[2])
    equations = s.equations()
    q, u = equations.equilibrium({"shoulder": 0.1}, inputs={"push": 2.0})
    assert np.abs(equations.accelerations(q, u, inputs={"push": 2.0})).max() < 1e-9
    height = equations.observe("height", q)[0]
    with pytest.raises(mg.AssemblyError):
        equations.equilibrium({"shoulder": 0.5}, hold=["height"], inputs={"push": 2.0})
    again, _ = equations.equilibrium({"height": height}, hold=["height"], inputs={"push": 2.0})
    assert np.allclose(again, q, atol=1e-6) or np.allclose(again, -q, atol=1e-6)


@pytest.mark.parametrize("name", gallery.names())
def test_every_known_name_of_the_gallery_resolves(name):
    """Every name that a message lists means something, in joint and in absolute coordinates."""
    system = gallery.load(name).system()
    for formalism in COORDINATES:
        equations = system.equations(formalism)
        for known in equations.names.known[:80]:
            quantity = equations.names.resolve(known)
            assert quantity.value.numel() == len(quantity.units) == len(quantity.labels)


@pytest.mark.parametrize("formalism", COORDINATES)
def test_rows_are_labelled_by_their_variables(formalism):
    names = robot().equations(formalism).names
    assert names.resolve("hand").labels == ("hand.first", "hand.second")
    assert names.resolve("hand'").labels == ("hand.first'", "hand.second'")
    assert names.resolve("hand''").units == ("rad/s²", "rad/s²")
    assert names.resolve("tip").labels == ("tip x", "tip y", "tip z")
    assert names.resolve("arm").labels == ("arm",)


def test_unknown_names_say_what_is_near():
    equations = robot().equations()
    with pytest.raises(mg.ArgumentError, match="did you mean 'height'"):
        equations.names.resolve("hieght")
    with pytest.raises(mg.ArgumentError, match="did you mean"):
        equations.observe("tpi", [0, 0, 0, 0])
    assert "arm''" in equations.names
    assert "arm'''" not in equations.names
    assert "nothing" not in equations.names


def test_the_effort_of_a_force_is_known_by_name():
    """Of a torque, of play between two joints, and of a motor: they make up the motion."""
    s = mg.System("axis")
    for name in ("rotor", "arm"):
        s.revolute(name, s.ground, s.body(f"{name} body", mass=1.0, inertia=(0.2, 0.2, 0.2)))
    s.backlash("gear", {"rotor": 0.5, "arm": -1.0}, 0.1, stiffness=40.0, damping=0.3)
    s.torque("push", "arm", s.input("w"))
    s.dc_motor("drive", "rotor", 12.0, constant=0.5, resistance=2.0, inductance=0.1)
    e = s.equations()
    run = e.simulate(1.0, {"rotor": 0.3, "arm": -0.2}, inputs={"w": -0.7})
    x, v = 0.5 * run["rotor"] - run["arm"], 0.5 * run["rotor'"] - run["arm'"]
    over = np.abs(x) - 0.05
    F = np.where(over > 0, np.maximum(0, 40 * over + 0.3 * np.sign(x) * v), 0) * -np.sign(x)
    assert np.allclose(run["gear: effort"], np.column_stack([0.5 * F, -F]), atol=1e-9)
    assert np.allclose(run["push: effort"], -0.7)
    motor = run["drive: effort"][:, 0]
    assert np.allclose(motor, 0.5 * run["drive.charge'"], atol=1e-12)
    assert np.allclose(0.2 * run["rotor''"], 0.5 * F + motor, atol=1e-9)
    assert e.names.resolve("push: effort").units == ("N m",)
    with pytest.raises(mg.ArgumentError, match="unknown name"):
        e.names.resolve("nobody: effort")


@pytest.mark.parametrize(("formalism", "name"), [("hamilton", "p_pin"), ("absolute", "rod.x")])
def test_a_formalism_does_not_answer_in_the_place_of_an_output(formalism, name):
    s = mg.System("pendulum", gravity=(0, 0, -9.81))
    rod = s.body("rod", mass=1.0, com=(0, 0, -1), inertia=(1, 1, 1))
    s.revolute("pin", s.ground, rod, axis="y")
    s.output(name, lambda m: 7.0)
    with pytest.raises(mg.UnsupportedError, match=f"{name}.*rename"):
        s.equations(formalism)
    assert mg.agreement(s).ok
    assert (s.equations().simulate(0.1, step=0.05)[name] == 7.0).all()


@pytest.mark.parametrize("name", ["t", "time", "x", "x'", "v'", "k"])
def test_outputs_of_terms_have_names_of_their_own(name):
    v = mg.variables(["x"], ["v"], parameters={"k": 1.0})
    with pytest.raises(mg.ModelError, match=f"{name}.*rename"):
        mg.Terms(v, M=[[1]], f=[-v["k"] * v["x"]], outputs={name: v["v"]})


@pytest.mark.parametrize("names", [(["x"], ["v"], ["v'"]), (["time"], ["v"])])
def test_variables_stand_for_one_thing(names):
    with pytest.raises(mg.ModelError, match="two things"):
        mg.variables(*names)


def test_a_force_may_be_called_as_the_time():
    s = robot()
    s.torque("t", "arm", 2.0)
    run = s.equations().simulate(0.1, START, step=0.05, inputs={"w": 0.0})
    assert np.array_equal(run["t"], run.time)
    assert np.allclose(run["t: effort"], 2.0)


def test_an_output_with_the_name_of_a_group_leaves_the_table_as_it_is():
    s = robot()
    s.output("coordinates", lambda m: m.position("tip")[2])
    run = s.equations().simulate(0.1, START, step=0.05, inputs={"w": 0.0})
    assert {*run.columns["coordinates"], "coordinates", "violation"} <= {*run.table()}
    assert np.array_equal(run.table("coordinates")["coordinates"], run["height"])
