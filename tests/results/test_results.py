"""Trajectories: everything by name, diagnostics, pandas, save and load."""

from __future__ import annotations

import json
import os
import pickle
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.interpolate import CubicSpline

import mechgraph as mg
from measure import gap
from mechgraph.formats import comparison, tables


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


@pytest.mark.smoke
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


@pytest.mark.smoke
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
    groups = ("coordinates", "speeds", "accelerations", "multipliers")
    assert back.table(*groups).attrs == run.table(*groups).attrs
    assert back.table("pin").attrs["units"] == {"pin": "rad"}
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


def test_inverse_dynamics_of_a_run_takes_its_contacts_and_other_parameters():
    s = mg.System("ball", gravity=(0, 0, -9.81))
    ball = s.body("ball", mass=s.parameter("m", 2.0), inertia=0)
    s.prismatic("z", s.ground, ball, axis="z")
    s.rigid_contact("floor", mg.Sphere(ball, 0.1), mg.Plane(s.ground))
    equations = s.equations()
    run = equations.simulate(0.5, {"z": 0.2}, step=0.1)
    assert equations.inverse_dynamics(run, drives=[]).shape == (len(run), 0)  # the floor holds it
    falling = run.at(run.time < 0.1)
    needed = equations.inverse_dynamics(falling, drives=["z'"], inputs=[], parameters={"m": 5.0})
    assert np.allclose(needed, 5.0 * (falling.udot + 9.81), atol=1e-9)


@pytest.mark.parametrize("formalism", ["hamilton", "absolute"])
def test_inverse_dynamics_refuses_runs_in_other_variables(formalism):
    """Momenta are as many as speeds, and are none."""
    s = mg.System("rod", gravity=(0, 0, -9.81))
    rod = s.body("rod", mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    s.revolute("hinge", s.ground, rod, axis="y")
    run = s.equations(formalism).simulate(0.1, {"hinge": 1.0}, step=0.1)
    with pytest.raises(mg.ArgumentError, match="not with those of these equations"):
        s.equations().inverse_dynamics(run)


@pytest.mark.parametrize(("mass", "length"), [(1.0, 1.0), (1e-6, 1e-3), (1e-9, 1e-6)])
def test_a_drive_that_cannot_make_a_motion_is_told_in_any_size(mass, length):
    s = mg.System("arm", gravity=(0, 0, -9.81))
    at, inertia = (0, 0, -length), 3 * (0.1 * mass * length**2,)
    a, b = (s.body(name, mass=mass, com=at, inertia=inertia) for name in "ab")
    s.revolute("one", s.ground, a, axis="y")
    s.revolute("two", a, b, axis="y", at=at)
    equations, still = s.equations(), np.zeros(2)
    with pytest.raises(mg.ArgumentError, match="name more drives"):
        equations.inverse_dynamics([0.3, 0.2], still, still, drives=["one'"])
    hanging = equations.inverse_dynamics([np.pi, 1e-17], still, still, drives=["one'"])
    assert abs(hanging[0]) < 1e-14 * mass * length


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


# --- tables ---------------------------------------------------------------------------------------


def test_one_table_has_all_that_is_asked_for_with_units(run):
    table = run.table("pin", "tip", "wrist: force x", "accelerations", "energies", "wrist: force x")
    units = table.attrs["units"]
    assert list(table.columns) == list(units)
    assert list(table)[:5] == ["pin", "tip x", "tip y", "tip z", "wrist: force x"]
    assert (units["pin"], units["tip y"], units["wrist: force x"]) == ("rad", "m", "N")
    assert (units["slide''"], units["pin''"], units["power"]) == ("m/s²", "rad/s²", "W")
    assert np.array_equal(table["tip y"], run["tip"][:, 1])
    assert np.array_equal(run.table("tip y")["tip y"], run["tip"][:, 1])
    assert gap(table["wrist: force x"].to_numpy(), run.reaction("wrist")[:, 0]) < 1e-14
    assert np.array_equal(table["slide''"], run.udot[:, 3])
    assert np.array_equal(table["energy"], run.energy)
    assert run.table("multipliers").attrs["units"]["wrist: position x"] == "N"
    assert run.table("reactions").shape == (len(run), 4 * 6)
    every = run.table()
    assert {"pin", "pin'", "pin''", "torque", "height", "tip speed z", "kinetic"} <= set(every)
    with pytest.raises(mg.ArgumentError, match="did you mean 'energies'"):
        run.table("enrgies")
    for wrong in ("tip w", 3, None, "", "efforts x"):
        with pytest.raises(mg.ArgumentError, match="unknown column"):
            run.table(wrong)


def test_efforts_are_those_of_servos_and_own_names_go_before_groups():
    s = mg.System("lift", gravity=(0, 0, -9.81))
    load = s.body("load", mass=2.0, inertia=0)
    arm = s.body("arm", mass=1.0, com=(1, 0, 0), inertia=0)
    s.prismatic("rope", s.ground, load, axis="z")
    s.revolute("hinge", s.ground, arm, axis="y")
    s.servo("winch", "rope", 0.5 * s.time**2)
    s.servo("motor", "hinge", 0.0)
    s.output("energy", lambda m: m.position(load)[2])
    run = s.equations().simulate(0.2, step=0.1)
    efforts = run.table("efforts")
    assert efforts.attrs["units"] == {"winch": "N", "motor": "N m"}
    assert run.table("reactions").shape[1] == 2 * 6  # a servo acts on no place of its own
    assert gap(efforts["winch"].to_numpy(), np.full(3, 2.0 * (9.81 + 1.0))) < 1e-9
    assert np.array_equal(run.table("energies", "energy")["energy"], run["load"][:, 2])


FULL = [".csv", ".parquet", ".mat", ".h5"]


@pytest.mark.parametrize("ending", [*FULL, ".xlsx"])
def test_a_table_comes_back_from_every_format(run, tmp_path, ending):
    path = run.save(tmp_path / f"run{ending.upper()}", columns=["pin", "speeds"])
    assert [path.name] == [f"run{ending}"] == [each.name for each in tmp_path.iterdir()]
    table = run.table()  # observed once: machine code may take over and round in another way
    back = tables.read(tables.write(table, path))
    assert list(back.columns) == ["time", *table.columns]
    assert back.attrs["units"].items() >= table.attrs["units"].items()
    expected = table.reset_index().to_numpy()
    if ending in FULL:
        assert np.array_equal(back.to_numpy(), expected)
    else:  # openpyxl writes 16 digits: half of the last, and rounding
        np.testing.assert_allclose(back.to_numpy(), expected, rtol=7e-16, atol=0)
    with pytest.raises(mg.ArgumentError, match=rf"run\{ending}.*not a run|not a trajectory"):
        mg.load_run(path)


@pytest.mark.parametrize("ending", [*FULL, ".xlsx"])
def test_names_with_signs_of_tables_come_back(tmp_path, ending):
    """A comment, separators, quotes and units are letters of names."""
    s = mg.System("signs", gravity=(0, 0, -9.81))
    names = ["x", "#2", "y#", "a;b", "a,b", 'say "y"', "x [m]"]
    for k, name in enumerate(names):
        body = s.body(f"b{k}", mass=1.0, com=(0, 0, -1 - k), inertia=(1, 1, 1))
        s.revolute(name, s.ground, body, axis="y")
    s.output("y [m]", lambda m: m.time)
    s.output("y", lambda m: 2 * m.time)
    start = {name: 0.1 * (k + 1) for k, name in enumerate(names)}
    run = s.equations().simulate(0.2, start, step=0.02)
    table = run.table()
    back = tables.read(tables.write(table, tmp_path / f"run{ending}"))
    assert list(back.columns) == ["time", *table.columns]
    found = run.compare(tmp_path / f"run{ending}")
    assert found.within(1e-12)
    assert found.left_out == ("violation",)


def test_rows_longer_than_the_header_are_refused(run, tmp_path):
    path = tmp_path / "long.csv"
    path.write_text("time,pin\n0,1,2\n1,2,3\n")
    with pytest.raises(mg.ArgumentError, match="more entries than the header"):
        run.compare(path)


def test_comments_in_a_table(run, tmp_path):
    path = tmp_path / "remarks.csv"
    rows = [f"{t!r}, {x!r} # seen" for t, x in zip(run.time, run["pin"], strict=True)]
    text = "\n".join(["# rig; 3", "", "time, pin", "# here it begins", *rows])
    path.write_text(text.replace("np.float64(", "").replace(")", ""))
    assert run.compare(path).within(1e-12)


def test_a_file_that_cannot_be_completed_leaves_the_old_one(run, tmp_path, monkeypatch):
    path = run.save(tmp_path / "run.csv", ["pin"])
    before = path.read_bytes()

    def full(table, path):
        path.write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(tables.FORMATS, ".csv", tables.Format(full, full))
    with pytest.raises(mg.ArgumentError, match=r"cannot write .*run\.csv: No space left"):
        run.save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def writers(system, run) -> dict:
    """Everything that writes a file, by the file."""
    eqs = run.equations
    models = {f"arm{e}": system.save for e in (".yaml", ".json", ".xml")}
    exported = {f"arm{e}": eqs.export for e in (".c", ".casadi", ".py", ".fmu", ".mo")}
    shown = {"run.html": run.view, "run.gif": run.view, "report.html": run.report}
    return models | exported | shown | {f"run{e}": run.save for e in (".npz", ".csv")}


@pytest.mark.filterwarnings("ignore:the FMU has its source only")
@pytest.mark.filterwarnings("ignore:arm.xml")
def test_every_file_is_whole_or_not_there(tmp_path, monkeypatch):
    def full(*paths):
        raise OSError(28, "No space left on device")

    monkeypatch.setenv("MECHGRAPH_CC", "none")
    system = mg.System("arm")
    system.revolute("j", "ground", system.body("rod", mass=1.0, inertia=(1, 1, 1)), axis="y")
    run = system.equations().simulate(0.01, {"j": 0.1}, step=0.01)
    monkeypatch.setattr(os, "replace", full)
    for name, write in writers(system, run).items():
        with pytest.raises(mg.ArgumentError, match=r"cannot write .*: No space left"):
            write(tmp_path / name)
        assert not list(tmp_path.iterdir()), name


def test_unknown_endings_and_missing_packages_are_told(run, tmp_path, monkeypatch):
    for ending in (".txt", ".docx", ".pkl"):
        with pytest.raises(mg.ArgumentError, match=r"saved as \.npz, \.csv, \.parquet, \.xlsx"):
            run.save(tmp_path / f"run{ending}")
    with pytest.raises(mg.ArgumentError, match="whole run"):
        run.save(tmp_path / "run.npz", columns=["pin"])
    monkeypatch.setitem(sys.modules, "h5py", None)
    with pytest.raises(mg.ArgumentError, match="pip install h5py"):
        run.save(tmp_path / "run.h5")
    with pytest.raises(mg.ArgumentError, match=r"rows and .* columns"):
        tables.FORMATS[".xlsx"].write(pd.DataFrame(np.zeros((1, 20_000))), tmp_path / "x.xlsx")
    assert not list(tmp_path.iterdir())


# --- comparisons ----------------------------------------------------------------------------------


def test_a_run_is_compared_with_a_table_of_other_names_units_and_times(run, tmp_path):
    """A table that is off by a known amount: in degrees, later by 0.1 s, with gaps."""
    t = np.linspace(0.0137, 0.9, 50)
    exact = CubicSpline(run.time, run["pin"])(t)
    wrong = exact + 1e-3 * (np.arange(50) == 7)
    angle = np.where(np.arange(50) % 9 == 4, np.nan, np.degrees(wrong))
    lines = [f"{a + 0.1!r};{b!r};x" for a, b in zip(t.tolist(), angle.tolist(), strict=True)]
    lines = [line.replace("nan", "") for line in lines]
    path = tmp_path / "measured.csv"
    path.write_text("\n".join(["# rig 3", "Time [s];angle [deg];remark", *lines]))
    found = run.compare(path, {"pin": "angle"}, shift=-0.1)
    error = found["pin"]
    assert error.unit == "rad"
    assert error.rows == 50 - 6
    assert abs(error.largest - 1e-3) < 1e-12
    assert abs(error.at - t[7]) < 1e-12
    assert abs(error.rms - 1e-3 / np.sqrt(44)) < 1e-12
    assert abs(error.relative - 1e-3 / np.abs(exact).max()) < 1e-6
    assert found.within(absolute=1.01e-3)
    assert not found.within(absolute=0.99e-3)
    assert found.left_out == ("remark",)
    assert "not compared: remark" in str(found)
    assert found.plot(tmp_path / "compared.png").axes
    late = (t + 0.1 + 0.05 > 1).sum()
    assert run.compare(path, {"pin": "angle"}, shift=0.05).outside == late > 1


def test_angles_measured_within_a_turn_are_unwound():
    s = mg.System("rotor")
    s.revolute("shaft", s.ground, s.body("rotor", mass=1.0, inertia=(1, 1, 1)))
    run = s.equations().simulate(3.0, {"shaft": 0.5, "shaft'": 7.0}, step=0.05)
    turns = run["shaft"] + 2 * np.pi * 3  # a sensor that began to count elsewhere
    for offset in (np.pi, 0.0):  # from −π to π, from 0 to 2π
        measured = (turns + offset) % (2 * np.pi) - offset
        measured[[0, 9]] = np.nan
        found = run.compare({"time": run.time, "shaft": measured})
        assert found["shaft"].largest < 1e-12
    table = pd.DataFrame({"shaft": np.degrees(measured)}, index=run.time)
    table.attrs["units"] = {"shaft": "deg"}
    assert run.compare(table)["shaft"].largest < 1e-12
    whole = run.compare({"time": run.time, "shaft": turns})  # whoever counts turns is compared so
    assert whole["shaft"].largest == pytest.approx(6 * np.pi)


def test_two_runs_are_compared_by_all_common_columns(run, tmp_path):
    coarse = run.at(slice(None, None, 7))
    found = run.compare(coarse)
    assert found.within(relative=1e-14, absolute=1e-14)
    assert {"pin", "pin''", "tip speed x", "power"} <= set(found.ours)
    assert repr(run.compare(run.save(tmp_path / "run.npz"), ["pin"])).startswith("<Comparison")
    assert coarse.compare(run, ["pin"]).within(1e-6)
    frame = run.table("pin")
    assert run.compare(frame)["pin"].largest < 1e-14
    assert run.compare({"t": run.time, "pin": run["pin"] + 0.5})["pin"].largest == pytest.approx(
        0.5
    )


def test_jumps_are_not_smoothed():
    x, y = np.array([0, 1, 2, 2, 3, 4.0]), np.array([0, 1, 2, -2, -3, -4.0])
    at = np.array([0.5, 1.9, 2, 2, 2.1, 4])
    expected = [0.5, 1.9, 2, -2, -2.1, -4]
    np.testing.assert_allclose(comparison.interpolate(x, y, at), expected, atol=1e-14)
    np.testing.assert_allclose(comparison.interpolate(x, y, np.array([2.0])), [-2], atol=1e-14)


@pytest.mark.parametrize(
    ("other", "columns", "message"),
    [
        ({"time": [0, 1], "pn": [0, 1]}, None, "no column of the table .pn."),
        ({"time": [0, 1], "pin": [0, 1]}, ["pn"], "did you mean 'pin'"),
        ({"time": [0, 1], "pin": [0, 1]}, {"pin": "pinn"}, "unknown column of the table 'pinn'"),
        ({"time": [0, 1], "tip": [0, 1]}, {"tip": "tip"}, "more than one column"),
        ({"time": [5, 6], "pin": [0, 1]}, None, "shift="),
        ({"when": [0, 1], "pin": [0, 1]}, None, "Known|no column is called time"),
        ({"time": [0, None], "pin": [0, 1]}, None, "not all numbers"),
        ({"time": [0, 1], "pin": ["a", "b"]}, None, "no numbers"),
        ({"time": [0, 1], "pin": [0]}, None, "expected a run"),
        ({"time": [0, 1], "pin": [0, np.inf]}, None, "'pin'.* infinite"),
        (3, None, "expected a run, a table or a file of one"),
        ("nowhere.csv", None, "cannot read nowhere.csv"),
        ("nowhere.doc", None, "a table ends in"),
    ],
)
def test_comparisons_that_make_no_sense(run, other, columns, message):
    with pytest.raises(mg.ArgumentError, match=message):
        run.compare(other, columns)


def test_units_that_do_not_go_together_are_refused(run):
    table = pd.DataFrame({"time": run.time, "pin": run["pin"]})
    for unit, factor in (("deg", 180 / np.pi), ("rev", 0.5 / np.pi), ("rad", 1.0), ("", 1.0)):
        scaled = table.assign(pin=table["pin"] * factor)
        scaled.attrs["units"] = {"pin": unit}
        assert run.compare(scaled).within(1e-14), unit
    table.attrs["units"] = {"pin": "mm"}
    with pytest.raises(mg.ArgumentError, match="'pin' is in mm in the table, and in rad here"):
        run.compare(table)


@pytest.mark.parametrize("ending", [*FULL, ".xlsx"])
def test_damaged_tables_are_refused(run, tmp_path, ending):
    content = run.save(tmp_path / f"run{ending}", ["pin"]).read_bytes()
    for damaged in (b"", content[: len(content) // 3], b"\x00\xff" * 40):
        path = tmp_path / f"damaged{ending}"
        path.write_bytes(damaged)
        try:
            run.compare(path)
        except mg.ArgumentError:
            continue
        assert ending == ".csv"  # of which a part is a table, too


def test_a_name_with_a_dot_has_no_ending(run, tmp_path):
    assert run.save(tmp_path / "v1.5").name == "v1.5.npz"
    assert run.save(tmp_path / "LOUD.NPZ").name == "LOUD.npz"


@pytest.mark.parametrize("ending", [".npz", ".csv", ".CSV"])
def test_an_ending_is_no_name(run, tmp_path, ending):
    with pytest.raises(mg.ArgumentError, match="an ending without a name"):
        run.save(tmp_path / ending)


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
