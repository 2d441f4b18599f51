"""Trajectories: everything by name, diagnostics, pandas, save and load."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

import mechgraph as mg
from measure import gap


def machine() -> mg.System:
    """A slider-crank with everything that has a name: input, parameter, marker, outputs, a cut
    joint."""
    s = mg.System("slider-crank", gravity=(0, 0, -9.81))
    crank = s.body("crank", mass=1.0, com=(0.25, 0, 0), inertia=(0.01, 0.05, 0.05))
    rod = s.body(
        "rod", mass=s.parameter("rod mass", 0.7), com=(0.6, 0, 0), inertia=(0.01, 0.08, 0.08)
    )
    piston = s.body("piston", mass=0.4, inertia=(0.01, 0.01, 0.01))
    s.revolute("pin", s.ground, crank, axis="y")
    s.universal("crosshead", crank, rod, axis="y", second_axis="z", at=(0.5, 0, 0))
    s.prismatic("slide", s.ground, piston, axis="x")
    s.spherical("wrist", rod, piston, at=(1.2, 0, 0), cut=True)
    tip = s.marker("tip", rod, (1.2, 0.1, 0))
    s.torque("motor", "pin", s.input("torque"))
    s.output("height", lambda m: m.position(tip)[2])
    s.output("tip speed", lambda m: m.velocity(tip))
    return s


START = {"pin": 0.6, "pin'": 4.0}


@pytest.fixture(scope="module")
def run() -> mg.Trajectory:
    return machine().equations("kane").simulate(1.0, START, inputs={"torque": 0.5}, rtol=1e-10)


# --- by name --------------------------------------------------------------------------------------


def test_everything_goes_by_name(run):
    n = len(run)
    assert run["pin"].shape == run["pin'"].shape == run["torque"].shape == (n,)
    assert np.array_equal(run["pin"], run.q[:, 0])
    assert np.array_equal(run["crosshead"], run.q[:, 1:3])
    assert np.array_equal(run["crosshead'"], run.u[:, 1:3])
    assert np.array_equal(run["crosshead.second'"], run.u[:, 2])
    assert run["tip"].shape == run["rod"].shape == (n, 3)
    assert np.array_equal(run["height"], run["tip"][:, 2])
    assert run["tip speed"].shape == (n, 3)
    assert np.array_equal(run["torque"], np.full(n, 0.5))


def test_a_cut_joint_goes_by_name_too(run):
    assert run["wrist"].shape == (len(run), 4)
    assert np.abs(np.linalg.norm(run["wrist"], axis=1) - 1).max() < 1e-14
    assert np.array_equal(run["wrist.q2"], run["wrist"][:, 2])


def test_cut_angles_are_unwound_and_cut_shifts_are_left_alone():
    """A wheel told twice: the second hinge is cut and turns with the first; a cut slide in
    millimetres jumps by more than π."""
    s = mg.System("twice")
    a, b = (s.body(name, mass=1.0, inertia=(1, 1, 1)) for name in "ab")
    s.revolute("first", s.ground, a)
    s.revolute("second", s.ground, a, cut=True)
    s.prismatic("fast", s.ground, b)
    s.prismatic("same", s.ground, b, cut=True)
    run = s.equations().simulate(2.0, {"first'": 20.0, "fast'": 5000.0}, step=0.1)
    assert gap(run["first"], run["second"]) < 1e-9
    assert gap(run["first'"], run["second'"]) < 1e-9
    assert gap(run["fast"], run["same"]) < 1e-9


@pytest.mark.parametrize("name", ["pn", "crosshead.third", "pin'''", "", 3, None, ["pin"]])
def test_unknown_names_are_answered_with_the_known_ones(run, name):
    with pytest.raises(mg.ArgumentError, match="pin"):
        run[name]


def test_quantities_of_ones_own(run):
    speed = run.observe(lambda m: mg.norm_2(m.velocity("piston")))
    assert gap(speed[:, 0], np.abs(run["slide'"])) < 1e-14
    acceleration = run.observe(lambda m: m.acceleration("piston"))[:, 0]
    rate = np.gradient(run["slide'"], run.time, edge_order=2)
    assert gap(acceleration[1:-1], rate[1:-1]) < 1e-3  # limited by the finite difference
    assert np.array_equal(acceleration, run.udot[:, -1])
    turned = run.observe(lambda m: m.rotation("piston"))
    assert np.array_equal(turned[:, 3:6], run.observe(lambda m: m.rotation("piston")[1, :]))


# --- diagnostics ----------------------------------------------------------------------------------


def test_energy_power_violation_reactions_and_multipliers_belong_to_the_times(run):
    n = len(run)
    for values in (run.kinetic, run.potential, run.energy, run.power, run.violation):
        assert values.shape == (n,)
    assert run.reaction("wrist").shape == (n, 6)
    assert run.multipliers.shape == (n, len(run.columns["constraints"]))
    assert gap(run.power, 0.5 * run["pin'"]) < 1e-9
    assert gap(np.trapezoid(run.power, run.time), np.float64(run.energy[-1] - run.energy[0])) < 1e-4


def test_a_summary_for_people(run):
    text = run.summary()
    assert "slider-crank" in text
    assert "energy" in text
    assert "kane" in text


# --- other forms ----------------------------------------------------------------------------------


def test_to_pandas(run):
    table = run.to_dataframe()
    assert table.index.name == "time"
    assert list(table.columns) == [
        *run.columns["coordinates"],
        *run.columns["speeds"],
        "torque",
        "energy",
        "violation",
    ]
    assert np.array_equal(table["pin"], run["pin"])
    assert np.array_equal(table.index, run.time)


def test_saved_and_loaded_it_is_the_same(run, tmp_path):
    path = run.save(tmp_path / "run v1.5")
    assert path.name == "run v1.5.npz"
    back = mg.load_run(path)
    for name in ("time", "q", "u", "w", "energy", "power", "violation", "udot", "multipliers"):
        assert np.array_equal(getattr(back, name), getattr(run, name)), name
    assert back.columns == run.columns
    assert dict(back.parameters) == dict(run.parameters)
    assert back.outcome == "finished"
    assert back.statistics == json.loads(json.dumps(run.statistics))
    assert np.array_equal(back["pin"], run["pin"])
    assert back.to_dataframe().equals(run.to_dataframe())
    with pytest.raises(mg.ArgumentError, match="system="):
        back["tip"]
    with pytest.raises(mg.ArgumentError, match="system="):
        back.reaction("pin")


def test_with_its_system_a_loaded_run_can_do_everything(run, tmp_path):
    back = mg.load_run(run.save(tmp_path / "run"), machine())
    assert back.equations.formalism == "kane"
    assert gap(run["tip"], back["tip"]) < 1e-14
    assert gap(run.reaction("wrist"), back.reaction("wrist")) < 1e-9
    other = mg.System("other")
    other.revolute("j", other.ground, other.body("b", mass=1.0, inertia=0))
    with pytest.raises(mg.ArgumentError, match="other"):
        mg.load_run(tmp_path / "run.npz", other)


def test_events_and_a_stopped_run_survive(tmp_path):
    run = machine().equations().simulate(1.0, START, events={"top": lambda m: m.position("tip")[2]})
    back = mg.load_run(run.save(tmp_path / "stopped"))
    assert back.outcome == run.outcome
    assert np.array_equal(back.events["top"], run.events["top"])


class Trap:
    """A pickle that would create a file when it is read."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return (open, (str(self.path), "w"))


def test_garbage_and_pickles_are_refused(tmp_path, run):
    trap = tmp_path / "trap"
    bad = {
        "missing": None,
        "empty": b"",
        "text": b"time,q\n0,1\n",
        "pickle": pickle.dumps(Trap(trap)),
    }
    for name, content in bad.items():
        if content is not None:
            (tmp_path / f"{name}.npz").write_bytes(content)
        with pytest.raises(mg.ArgumentError, match=name):
            mg.load_run(tmp_path / f"{name}.npz")
    np.save(tmp_path / "plain.npy", np.zeros(3))
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    np.savez(tmp_path / "object.npz", meta=np.array([Trap(trap)], dtype=object))
    meta = {
        "format": 1,
        "name": "x",
        "columns": {},
        "parameters": {},
        "outcome": "",
        "statistics": {},
        "events": {},
    }
    np.savez(tmp_path / "future.npz", meta=np.array(json.dumps(meta | {"format": 99})))
    np.savez(tmp_path / "lacking.npz", meta=np.array(json.dumps(meta)))
    np.savez(tmp_path / "list.npz", meta=np.array("[1, 2]"))
    kinds = {"coordinates": ["q"], "speeds": [], "inputs": [], "constraints": []}
    sizes = {
        "time": np.zeros(3),
        "q": np.zeros((2, 1)),
        "u": np.zeros((3, 0)),
        "w": np.zeros((3, 0)),
    }
    np.savez(tmp_path / "sizes.npz", meta=np.array(json.dumps(meta | {"columns": kinds})), **sizes)
    for name in (
        "plain.npy",
        "other.npz",
        "object.npz",
        "future.npz",
        "lacking.npz",
        "list.npz",
        "sizes.npz",
    ):
        with pytest.raises(mg.ArgumentError, match=name):
            mg.load_run(tmp_path / name)
    assert not trap.exists()


def test_inverse_dynamics_of_a_run_returns_its_inputs():
    s = mg.System("arm", gravity=(0, 0, -9.81))
    a, b = (s.body(name, mass=1.0, com=(0, 0, -0.4), inertia=(0.1, 0.1, 0.05)) for name in "ab")
    s.revolute("one", s.ground, a, axis="y")
    s.revolute("two", a, b, axis="x", at=(0, 0, -0.8))
    s.torque("motor", "two", s.input("w"))
    equations = s.equations()
    run = equations.simulate(1.0, {"one": 0.4}, inputs={"w": mg.sin(5 * s.time)}, rtol=1e-10)
    # nothing is needed beyond what acts
    assert np.abs(equations.inverse_dynamics(run)).max() < 1e-10
    bare = equations.inverse_dynamics(run.q, run.u, run.udot, t=run.time)
    assert gap(np.column_stack([0 * run["w"], run["w"]]), bare) < 1e-10
    with pytest.raises(mg.UnsupportedError, match="servo"):
        machine().equations().inverse_dynamics(np.zeros(4), np.zeros(4), np.zeros(4))
    with pytest.raises(mg.ArgumentError, match="udot"):
        equations.inverse_dynamics([0, 0])


@pytest.mark.parametrize("formalism", ["newton-euler", "absolute"])
def test_inverse_dynamics_of_a_loop_finds_the_drives(formalism):
    """Whatever drives the one freedom, forward dynamics with the effort found gives the
    accelerations back."""
    s = mg.System("four-bar", gravity=(0, 0, -9.8))
    A, B, C = (s.body(name, mass=20, com=(2, 0, 0), inertia=(0.2, 26, 26)) for name in "ABC")
    s.revolute("qA", s.ground, A, axis="y")
    s.revolute("qB", A, B, axis="y", at=(4, 0, 0))
    s.revolute("qC", s.ground, C, axis="y", at=(2, 0, 0))
    s.revolute("close", B, C, axis="y", at=(4, 0, 0), child_at=(4, 0, 0), cut=True)
    for joint in ("qA", "qB", "qC", "close"):
        s.torque(f"motor {joint}", joint, 1e3 * s.input(f"w {joint}"))
    equations = s.equations(formalism)
    run = equations.simulate(
        0.5, {"qA": 1.0}, guess={"qB": 1.8}, inputs={"w qC": 0.03 * mg.sin(9 * s.time)}, step=0.1
    )
    state, given = (run.q, run.u), {"w qA": 0.01}
    for joint in ("qA", "qB", "qC", "close"):
        effort = equations.inverse_dynamics(*state, run.udot, inputs=given, drives=[f"w {joint}"])[
            :, 0
        ]
        inputs = {f"w {joint}": effort} if joint == "qA" else {**given, f"w {joint}": effort}
        assert gap(equations.accelerations(*state, inputs=inputs), run.udot) < 1e-9
        along = equations.inverse_dynamics(*state, run.udot, drives=[f"{joint}'"])
        assert (
            gap(equations.inverse_dynamics(*state, run.udot, drives=[f"w {joint}"]), along / 1e3)
            < 1e-9
        )
    assert gap(equations.inverse_dynamics(run, drives=["w qC"])[:, 0], run["w qC"]) < 1e-9
    for drives, what in (
        (["w qA", "w qC"], "not unique"),
        ([], "name more drives"),
        (["w"], "unknown"),
        ("w qA", "list"),
    ):
        with pytest.raises(mg.ArgumentError, match=what):
            equations.inverse_dynamics(*state, run.udot, drives=drives)
    with pytest.raises(mg.ArgumentError, match="contradict the constraints"):
        equations.inverse_dynamics(*state, run.udot + 1, drives=["w qA"])


@pytest.mark.parametrize("ending", [".csv", ".xlsx", ".mat"])
def test_other_formats_are_refused_not_renamed(run, tmp_path, ending):
    with pytest.raises(mg.ArgumentError, match=r"saved as \.npz"):
        run.save(tmp_path / f"run{ending}")
    assert not list(tmp_path.iterdir())


def test_a_name_with_a_dot_has_no_ending(run, tmp_path):
    assert run.save(tmp_path / "v1.5").name == "v1.5.npz"
    assert run.save(tmp_path / "LOUD.NPZ").name == "LOUD.npz"


# --- files that somebody has altered --------------------------------------------------------------

NO_META = [None, 1, "x", [], {}, [1], {"a": "b"}, {"a": [1]}, True, "\ud800", {"coordinates": 5}]


def altered(data: dict, key: str):
    """The contents of a file with one of its arrays, or one part of its text, changed."""
    if key != "meta":
        array = data[key]
        yield {name: value for name, value in data.items() if name != key}
        others = array[:1], array * np.nan, array.astype(int), array * 1j, array.T, array > 0
        for value in (*others, np.array("a"), np.array(1.0), np.zeros((2, 2, 2))):
            yield {**data, key: value}
        return
    meta = json.loads(str(data["meta"]))
    for part in meta:
        yield {**data, "meta": np.array(json.dumps({k: v for k, v in meta.items() if k != part}))}
        for value in NO_META:
            yield {**data, "meta": np.array(json.dumps({**meta, part: value}))}


@pytest.mark.parametrize("key", ["meta", "time", "q", "u", "w", "kinetic", "udot", "multipliers"])
def test_a_file_that_was_altered_is_refused_or_makes_sense(run, tmp_path, key):
    with np.load(run.save(tmp_path / "run.npz")) as file:
        data = {name: file[name] for name in file.files}
    refused = 0
    for contents in altered(data, key):
        np.savez(tmp_path / "altered.npz", **contents)
        for system in (None, run.equations.system):
            try:
                found = mg.load_run(tmp_path / "altered.npz", system)
            except mg.MechgraphError:
                refused += 1
                continue
            assert found.summary()
            assert found.plot()
            assert len(found.at(slice(1))) == 1
            assert found.save(tmp_path / "again.npz")
    assert refused > 8


def test_damaged_files_are_refused(run, tmp_path):
    content = run.save(tmp_path / "run.npz").read_bytes()
    random = np.random.default_rng(0)
    for _ in range(60):
        damaged = np.frombuffer(content, np.uint8).copy()
        places = random.integers(len(damaged), size=random.integers(1, 40))
        damaged[places] = random.integers(256, size=len(places))
        (tmp_path / "damaged.npz").write_bytes(damaged[: random.integers(len(damaged))].tobytes())
        with pytest.raises(mg.ArgumentError, match=r"damaged\.npz: not a trajectory"):
            mg.load_run(tmp_path / "damaged.npz")


def test_a_run_without_rows_is_said_to_be_empty(run, tmp_path):
    nothing = run.at([])
    assert "empty" in nothing.summary()
    assert nothing.imbalance.shape == (0,)
    for look in (nothing.plot, nothing.view, lambda: nothing.report(tmp_path / "r.html")):
        with pytest.raises(mg.ArgumentError, match="the run is empty"):
            look()


def test_rows_are_chosen_by_slices_indices_and_flags(run):
    flags = run.time > run.time[2]
    for rows, expected in ((slice(3, 5), run.time[3:5]), ([0, -1], run.time[[0, -1]])):
        np.testing.assert_array_equal(run.at(rows).time, expected)
    np.testing.assert_array_equal(run.at(flags).time, run.time[3:])
    np.testing.assert_array_equal(run.at(2).time, run.time[2:3])
    for rows in ("text", 1.5, [10**6], np.eye(2, dtype=int), flags[:-1]):
        with pytest.raises(mg.ArgumentError, match=f"rows of the {len(run)} times"):
            run.at(rows)
