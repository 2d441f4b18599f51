"""FMUs, as FMPy sees them: valid, and with the motion that simulate finds."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np
import pytest
from fmpy import extract, instantiate_fmu, read_model_description, simulate_fmu
from fmpy.validation import validate_fmu
from scipy.integrate import solve_ivp

import mechgraph as mg
from mechgraph import gallery
from mechgraph.kernels.compiler import find_compiler

TESTS = (str(Path(__file__).parents[1] / "models"),)
KINDS = {"CoSimulation": 2e-8, "ModelExchange": 2e-6}  # CVode's steps add up to more than ours
# what is left of constraints: an integrator of others may leave ten times the tolerance
LEFT = {"CoSimulation": 1e-13, "ModelExchange": 2e-7}
# version of the standard, seconds
SYSTEMS = {
    "a01_pendulum": ("2.0", 0.5),
    "acrobot": ("3.0", 0.5),
    "heavy_top": ("2.0", 0.2),
    "fourbar": ("3.0", 0.5),
    "five_bar": ("2.0", 0.5),
    "slider_crank_3d": ("3.0", 0.5),
    "whitworth": ("2.0", 0.5),
    "chaplygin_sleigh": ("3.0", 0.5),
    "rolling_disc": ("2.0", 0.5),
    "involute_gears": ("3.0", 0.02),  # flanks that touch and part
}


def columns(result: Any, names: Any) -> np.ndarray:
    return np.column_stack([result[name] for name in names])


def difference(result: Any, run: mg.Trajectory) -> float:
    names = (*run.equations.coordinates, *run.equations.speeds)
    expected = np.column_stack([run.q, run.u])
    return float((np.abs(columns(result, names) - expected) / (1 + np.abs(expected))).max())


def simulated(file: Path, run: mg.Trajectory, kind: str, **options: Any) -> Any:
    spans = {"stop_time": run.time[-1], "output_interval": run.time[1] - run.time[0]}
    return simulate_fmu(
        str(file), fmi_type=kind, record_events=False, relative_tolerance=1e-9, **spans | options
    )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SYSTEMS)
def test_a_gallery_system_moves_in_others_programs_as_in_ours(name: str, tmp_path: Path) -> None:
    example, (version, duration) = gallery.load(name), SYSTEMS[name]
    eqs, given = example.system().equations(), {"start": example.start, "guess": example.guess}
    file = eqs.export_fmu(tmp_path / "m.fmu", version, duration=duration, rtol=1e-9, **given)
    assert validate_fmu(str(file)) == []
    run = eqs.simulate(duration, **given, rtol=1e-11, step=duration / 100, track_work=False)
    for kind, tolerance in KINDS.items():
        found = simulated(file, run, kind)
        assert difference(found, run) < tolerance
        q, u = columns(found, eqs.coordinates), columns(found, eqs.speeds)
        assert np.abs(eqs.position_violation(q, run.time)).max(initial=0) < LEFT[kind]
        assert np.abs(eqs.velocity_violation(q, u, run.time)).max(initial=0) < LEFT[kind]


# --- one system with everything: parameters, an input, outputs, kinks -----------------------------


def cart() -> mg.System:
    """A pendulum on a cart, which is pushed, and runs against a soft wall."""
    system = mg.System("cart & <rod>", gravity=(0, 0, -9.81))
    length, mass = system.parameter("length", 0.8), system.parameter("mass", 1.5)
    push = system.input("push")
    box = system.body("box", mass=mass, inertia=(0.1, 0.1, 0.1))
    rod = system.body("rod", mass=0.5, com=(0, 0, -length), inertia=(0.01, 0.01, 0.001))
    system.prismatic("rail", system.ground, box, axis="x")
    system.revolute("hinge", box, rod, axis="y")
    system.torque("motor", "rail", push)
    wall = system.marker("wall", system.ground, (0.5, 0, 0), [("y", -np.pi / 2)])
    system.compliant_contact("bump", mg.Sphere(box, 0.1), mg.Plane(wall), stiffness=1e4)
    system.output("height of the rod", lambda m: m.position("rod")[2] - length)
    return system


START = {"rail": 0.2, "hinge": 0.7, "rail'": 1.0}


class Instance:
    """An instance in FMPy, by the names of variables."""

    def __init__(self, file: Path, kind: str, start: float = 0.0, **values: float) -> None:
        description = read_model_description(str(file))
        self.references = {v.name: v.valueReference for v in description.modelVariables}
        self.fmu = instantiate_fmu(extract(str(file), mkdtemp(dir=file.parent)), description, kind)
        self.is_new = description.fmiVersion.startswith("3")
        self.set(**values)
        if self.is_new:
            self.fmu.enterInitializationMode(startTime=start, tolerance=1e-9)
        else:
            self.fmu.setupExperiment(startTime=start, tolerance=1e-9)
            self.fmu.enterInitializationMode()
        self.fmu.exitInitializationMode()

    def get(self, *names: str) -> np.ndarray:
        read = self.fmu.getFloat64 if self.is_new else self.fmu.getReal
        return np.array(read([self.references[name] for name in names]))

    def set(self, **values: float) -> None:
        write = self.fmu.setFloat64 if self.is_new else self.fmu.setReal
        for name, value in values.items():
            write([self.references[name]], [value])

    def along(self, unknowns: Any, known: str) -> np.ndarray:
        given = [self.references[name] for name in unknowns], [self.references[known]], [1.0]
        return np.array(self.fmu.getDirectionalDerivative(*given))

    def step(self, t: float, length: float) -> None:
        self.fmu.doStep(currentCommunicationPoint=t, communicationStepSize=length)


@pytest.fixture(scope="module")
def cart_file(tmp_path_factory: Any) -> Path:
    folder, outputs = tmp_path_factory.mktemp("cart"), ["energy", "hinge: force"]
    return cart().equations().export_fmu(folder / "cart.fmu", start=START, outputs=outputs)


@pytest.mark.parametrize("kind", KINDS)
def test_parameters_inputs_outputs_and_contacts(cart_file: Path, kind: str) -> None:
    eqs = cart().equations()
    assert validate_fmu(str(cart_file)) == []
    assert eqs.numeric.closed.kinks.numel() > 0
    given = {"length": 0.6, "mass": 2.0}
    run = eqs.simulate(1.0, START, inputs={"push": 3.0}, parameters=given, rtol=1e-11, step=0.01)
    found = simulated(cart_file, run, kind, start_values={**given, "push": 3.0})
    assert difference(found, run) < 10 * KINDS[kind]
    assert run["rail"].max() > 0.4  # it was at the wall
    for name in ("height of the rod", "energy", "hinge: force z"):
        assert np.allclose(found[name], run[name], rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("kind", KINDS)
def test_directional_derivatives_are_the_jacobians(cart_file: Path, kind: str) -> None:
    eqs, q, u = cart().equations(), [0.45, 0.7], [1.0, 0.0]  # at the wall
    instance = Instance(cart_file, kind, rail=0.45, push=2.0)
    rates = [f"der({name})" for name in (*eqs.coordinates, *eqs.speeds)]
    for wrt, names in {"q": eqs.coordinates, "u": eqs.speeds, "inputs": eqs.inputs}.items():
        expected = [
            eqs.jacobian(of, wrt, q, u, inputs=[2.0])
            for of in ("coordinate_rates", "accelerations")
        ]
        found = np.column_stack([instance.along(rates, name) for name in names])
        assert np.allclose(found, np.vstack(expected), rtol=1e-10, atol=1e-10)
    expected = eqs.jacobian("accelerations", "parameters", q, u, inputs=[2.0])
    found = np.column_stack([instance.along(rates[2:], name) for name in eqs.parameters])
    assert np.allclose(found, expected, rtol=1e-10, atol=1e-10)
    assert np.isclose(instance.along(["height of the rod"], "rail'")[0], 0.0)


@pytest.fixture(scope="module")
def loop(tmp_path_factory: Any) -> tuple[mg.Equations, Path]:
    example, folder = gallery.load("fourbar"), tmp_path_factory.mktemp("loop")
    eqs, given = example.system().equations(), {"start": example.start, "guess": example.guess}
    return eqs, eqs.export_fmu(folder / "loop.fmu", "2.0", **given)


def test_directional_derivatives_with_a_loop_are_those_of_the_derivatives(
    loop: tuple[mg.Equations, Path],
) -> None:
    eqs, file = loop
    instance = Instance(file, "ModelExchange")
    names = [*eqs.coordinates, *eqs.speeds]
    rates, at, h = [f"der({name})" for name in names], instance.get(*names), 1e-6
    for name, value in zip(names, at, strict=True):
        exact = instance.along(rates, name)
        instance.set(**{name: value + h})
        ahead = instance.get(*rates)
        instance.set(**{name: value - h})
        behind = instance.get(*rates)
        instance.set(**{name: value})
        assert np.allclose(exact, (ahead - behind) / (2 * h), rtol=1e-6, atol=1e-5)


def test_what_must_not_be_set_is_refused(cart_file: Path) -> None:
    instance = Instance(cart_file, "CoSimulation")
    for wrong in ({"mass": -1.0}, {"energy": 1.0}, {"push": float("nan")}):
        with pytest.raises(Exception, match="status 3"):
            instance.set(**wrong)
    with pytest.raises(Exception, match="status 3"):
        Instance(cart_file, "CoSimulation", mass=0.0)
    with pytest.raises(Exception, match="status 3"):
        Instance(cart_file, "CoSimulation").step(0.5, 0.1)  # it is at 0


def test_a_state_can_be_returned_to_and_instances_are_apart(cart_file: Path) -> None:
    first, second = (Instance(cart_file, "CoSimulation") for _ in range(2))
    first.step(0.0, 0.1)
    kept = first.fmu.getFMUState()
    first.step(0.1, 0.2)
    there = first.get("rail", "hinge")
    first.fmu.setFMUState(kept)
    first.fmu.freeFMUState(kept)
    first.step(0.1, 0.2)
    assert np.array_equal(first.get("rail", "hinge"), there)
    assert np.array_equal(second.get("rail", "hinge"), [0.2, 0.7])


def test_a_start_that_the_constraints_do_not_allow_is_brought_to_them(
    loop: tuple[mg.Equations, Path],
) -> None:
    eqs, file = loop
    first, crank = eqs.coordinates[0], Instance(file, "CoSimulation").get(eqs.coordinates[0])[0]
    q = Instance(file, "CoSimulation", **{first: crank + 0.1}).get(*eqs.coordinates)
    assert np.abs(eqs.position_violation(q)).max() < 1e-10
    assert abs(q[0] - crank) > 0.01


def test_lengths_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    system = mg.System("slider")
    length = system.parameter("length", 2.0)
    block = system.body("block", mass=1.0, inertia=(1, 1, 1))
    system.prismatic("way", system.ground, block, axis="x")
    post = system.marker("post", system.ground, (0, 0, 1))
    system.distance("rod", block, post, length)
    file = system.equations().export_fmu(tmp_path / "s.fmu", guess={"way": 1.0})
    assert np.isclose(Instance(file, "CoSimulation", length=1.5).get("way")[0], 1.25**0.5)
    with pytest.raises(Exception, match="status 3"):
        Instance(file, "CoSimulation", length=0.9)
    with pytest.raises(Exception, match="status 3"):  # it is fixed: the rod would have to jump
        Instance(file, "CoSimulation").set(length=1.9)


def test_tables_are_carried(tmp_path: Path) -> None:
    system = mg.System("arm", gravity=(0, 0, -9.81))
    rod = system.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    system.revolute("hinge", system.ground, rod, axis="y")
    drag = mg.table([-10, -1, 0, 1, 10], [-3, -0.5, 0, 0.5, 3], name="drag")
    system.torque("loss", "hinge", lambda m: -drag(m.speed("hinge")[0]))
    eqs, start = system.equations(), {"hinge": 1.5}
    file = eqs.export_fmu(tmp_path / "arm.fmu", start=start, rtol=1e-9)
    run = eqs.simulate(1.0, start, rtol=1e-11, step=0.01)
    assert difference(simulated(file, run, "CoSimulation"), run) < KINDS["CoSimulation"]
    assert np.allclose(
        Instance(file, "ModelExchange", **{"hinge'": 0.5}).along(["der(hinge')"], "hinge'"),
        eqs.jacobian("accelerations", "u", [1.5], [0.5])[0],
    )


def test_narrow_pulses_of_a_table_are_not_stepped_over(tmp_path: Path) -> None:
    s = mg.System("pushed")
    s.prismatic("x", s.ground, s.body("body", mass=1.0, inertia=0), axis="x")
    pulse = mg.table([0, 5e-4, 1e-3, 1], [0, 1, 0, 0], outside="repeat")
    s.torque("push", "x", pulse(s.time - 0.4))
    run = s.equations().simulate(5.0, step=5.0)
    found = simulated(run.equations.export_fmu(tmp_path / "pulses.fmu"), run, "CoSimulation")
    assert run["x'"][-1] == pytest.approx(5 * 5e-4, rel=1e-7)
    assert difference(found, run) < 1e-9


# --- together with another one --------------------------------------------------------------------


def controller() -> mg.Equations:
    """push = −kp x − ki z, ż = x."""
    v = mg.variables([], ["z"], ["x"], {"kp": 30.0, "ki": 10.0})
    push = {"push": -v["kp"] * v["x"] - v["ki"] * v["z"]}
    return mg.Equations(mg.Terms(v, name="controller", M=[[1]], f=[v["x"]], outputs=push))


def test_two_fmus_in_one_simulation(cart_file: Path, tmp_path: Path) -> None:
    file = controller().export_fmu(tmp_path / "controller.fmu", "2.0")
    assert validate_fmu(str(file)) == []
    eqs, duration = cart().equations(), 0.4

    def slope(t: float, y: np.ndarray) -> np.ndarray:
        return np.append(eqs.rhs(t, y[:4], inputs=[-30.0 * y[0] - 10.0 * y[4]]), y[0])

    start = [*np.concatenate(eqs.assemble(START)), 0.0]
    solved = solve_ivp(slope, (0.0, duration), start, rtol=1e-10, atol=1e-12).y[:4, -1]
    errors = []
    for count in (40, 80, 160):
        cart_, control = Instance(cart_file, "CoSimulation"), Instance(file, "CoSimulation")
        for t, h in ((k * duration / count, duration / count) for k in range(count)):
            control.set(x=cart_.get("rail")[0])
            cart_.set(push=control.get("push")[0])
            cart_.step(t, h)
            control.step(t, h)
        errors.append(np.abs(cart_.get(*eqs.coordinates, *eqs.speeds) - solved).max())
    assert errors[0] < 0.1
    assert np.allclose(np.divide(errors[:-1], errors[1:]), 2, atol=0.2)  # values held: first order


# --- the file -------------------------------------------------------------------------------------


@pytest.fixture
def no_compiler(monkeypatch: Any) -> None:
    monkeypatch.setenv("MECHGRAPH_CC", "none")


quietly = pytest.mark.filterwarnings("ignore:the FMU has its source only")
MAKE = """
import sys, test_fmu as t
t.cart().equations().export_fmu(sys.argv[1], start=t.START)
"""


@quietly
def test_the_same_model_makes_the_same_file(tmp_path: Path, no_compiler: None) -> None:
    eqs, file, again = cart().equations(), tmp_path / "a.fmu", tmp_path / "b.fmu"
    eqs.export_fmu(file, start=START)
    paths = {"PYTHONHASHSEED": "1", "PYTHONPATH": os.pathsep.join([*sys.path, *TESTS])}
    subprocess.run(
        [sys.executable, "-c", MAKE, str(again)], check=True, env={**os.environ, **paths}
    )
    assert file.read_bytes() == again.read_bytes()
    other = eqs.export_fmu(tmp_path / "other.fmu", start={"rail": 0.1})
    tokens = {read_model_description(str(each)).instantiationToken for each in (file, other)}
    assert len(tokens) == 2


@quietly
@pytest.mark.parametrize("version", ["2.0", "3.0"])
def test_the_source_has_no_warnings(version: str, tmp_path: Path, monkeypatch: Any) -> None:
    found = find_compiler()
    assert found is not None
    monkeypatch.setenv("MECHGRAPH_CC", "none")
    for k, eqs in enumerate((controller(), cart().equations(), machine().equations())):
        with zipfile.ZipFile(eqs.export_fmu(tmp_path / f"{k}.fmu", version)) as archive:
            archive.extractall(tmp_path / str(k))
        source = tmp_path / str(k) / "sources" / f"fmi{version[0]}.c"
        flags = ["-std=c99", "-Wall", "-Wextra", "-pedantic", "-Werror", "-fsyntax-only"]
        subprocess.run([*found.command, *flags, str(source)], check=True)


@pytest.mark.skipif(sys.platform == "win32", reason="commands of POSIX")
@pytest.mark.parametrize("compiler", ["true", "gcc -c"])
def test_what_is_no_library_is_not_packed(tmp_path: Path, monkeypatch: Any, compiler: str) -> None:
    monkeypatch.setenv("MECHGRAPH_CC", compiler)
    with pytest.warns(UserWarning, match=r"source only.*made no library"):
        path = controller().export_fmu(tmp_path / "x.fmu")
    with zipfile.ZipFile(path) as archive:
        assert not [name for name in archive.namelist() if "binaries" in name]


def test_without_a_compiler_there_is_the_source(tmp_path: Path, no_compiler: None) -> None:
    with pytest.warns(UserWarning, match="source only"):
        file = controller().export_fmu(tmp_path / "c.fmu")
    assert validate_fmu(str(file)) == []
    with zipfile.ZipFile(file) as archive:
        names = archive.namelist()
    assert "sources/fmi3.c" in names
    assert not any(name.startswith("binaries") for name in names)


@quietly
def test_names_that_a_file_cannot_carry_are_escaped(tmp_path: Path, no_compiler: None) -> None:
    v = mg.variables(["Time", "a\ufffe<&\"'"], ["b", "der(time)"])
    eqs = mg.Equations(mg.Terms(v, name="ü 1", N=[[1, 0], [0, 1]], M=[[1, 0], [0, 1]], f=[0, 0]))
    file = eqs.export_fmu(tmp_path / "names.fmu")
    assert validate_fmu(str(file)) == []
    names = [each.name for each in read_model_description(str(file)).modelVariables]
    assert names[:5] == ["time", "Time", "a\\ufffe<&\"'", "b", "der(time)"]


def test_what_does_not_move_by_itself(tmp_path: Path) -> None:
    system = mg.System("crank", gravity=(0, 0, -9.81))
    wheel = system.body("wheel", mass=1.0, com=(1, 0, 0), inertia=(0.1, 0.1, 0.1))
    system.joint("turn", system.ground, wheel, [mg.rot("z", 2 * system.time)])
    system.marker("rim", wheel, (1, 0, 0))
    file = system.equations().export_fmu(tmp_path / "c.fmu", "2.0", outputs=["rim'"])
    assert validate_fmu(str(file)) == []
    instance = Instance(file, "CoSimulation")
    instance.step(0.0, 0.5)
    assert np.allclose(instance.get("rim' x", "rim' y"), [-2 * np.sin(1), 2 * np.cos(1)])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"path": "m.zip"}, "NAME.fmu"),
        ({"version": "1.0"}, "version must be"),
        ({"outputs": ["nothing"]}, "unknown name"),
        ({"outputs": "energy"}, "outputs"),
        ({"rtol": 0}, "rtol must be"),
        ({"duration": -1}, "duration must be"),
        ({"parameters": {"mass": -1.0}}, "mass must be positive"),
        ({"path": "no folder/m.fmu"}, "cannot write"),
    ],
)
def test_wrong_arguments_are_named(options: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(mg.ArgumentError, match=message):
        cart().equations().export_fmu(**{"path": "m.fmu", **options})


# --- rigid contacts, stops, joints that stick -----------------------------------------------------

G = 9.81


def at_times(run: mg.Trajectory, times: np.ndarray) -> np.ndarray:
    """(q, u) of the rows at these times: there are more where contacts change."""
    rows = [int(np.abs(run.time - t).argmin()) for t in times]
    return np.column_stack([run.q, run.u])[rows]


def contact_difference(file: Path, run: mg.Trajectory, kind: str) -> np.ndarray:
    """Of all states, row by row, from an FMU's run of hundred steps."""
    span = {"stop_time": run.time[-1], "output_interval": run.time[-1] / 100}
    found = simulate_fmu(
        str(file), fmi_type=kind, record_events=False, relative_tolerance=1e-9, **span
    )
    names = (*run.equations.coordinates, *run.equations.speeds)
    return np.abs(columns(found, names) - at_times(run, found["time"])).max(axis=1)


def bounces(t: np.ndarray, height: float, part: float) -> np.ndarray:
    """The height of a ball at times, dropped from a height, that keeps a part of its speed."""
    fall, speed = np.sqrt(2 * height / G), part * np.sqrt(2 * height * G)
    y = np.where(t < fall, height - G * t**2 / 2, 0.0)
    while fall < t[-1]:
        since = t - fall
        flies = (since >= 0) & (since < 2 * speed / G)
        y[flies] = speed * since[flies] - G * since[flies] ** 2 / 2
        fall, speed = fall + 2 * speed / G, part * speed
    return y


@pytest.mark.parametrize("version", ["2.0", pytest.param("3.0", marks=pytest.mark.slow)])
def test_a_ball_bounces(version: str, tmp_path: Path) -> None:
    system = mg.System("ball", gravity=(0, 0, -G))
    ball = system.body("ball", mass=1.0, inertia=(0.004, 0.004, 0.004))
    system.prismatic("z", system.ground, ball, axis="z")
    system.rigid_contact("floor", mg.Sphere(ball, 0.1), mg.Plane(system.ground), restitution=0.8)
    file = system.equations().export_fmu(tmp_path / "b.fmu", version, start={"z": 1.1}, rtol=1e-9)
    assert validate_fmu(str(file)) == []
    for kind, tolerance in KINDS.items():
        found = simulate_fmu(
            str(file), fmi_type=kind, stop_time=2.5, output_interval=0.02, record_events=False
        )
        off = np.abs(found["z"] - 0.1 - bounces(found["time"], 1.0, 0.8))
        assert off.max() < 10 * tolerance
    instance = Instance(file, "CoSimulation")
    with pytest.raises(Exception, match="status 3"):  # modes are found, not set
        instance.set(**{"floor.touching": 1.0})
    with pytest.raises(Exception, match="status 3"):  # in the floor
        Instance(file, "CoSimulation", z=0.05)


@pytest.mark.slow
def test_a_rocking_block_comes_to_rest(tmp_path: Path) -> None:
    """As in ``test_contacts``: at 3.640 s, after 80 impacts with friction."""
    width, tall = 0.2, 0.7
    system = mg.System("block", gravity=(0, 0, -G))
    block = system.body("block", mass=1.0, inertia=((width**2 + tall**2) / 12,) * 3)
    steps = [mg.move("x", "x"), mg.move("z", "z"), mg.rot("y", "angle")]
    system.joint("place", system.ground, block, steps)
    for name, side in (("left", -1), ("right", 1)):
        corner = system.marker(f"{name} corner", block, (side * width / 2, 0, -tall / 2))
        system.rigid_contact(name, mg.Point(corner), mg.Plane(system.ground), friction=5.0)
    tipping, arm = np.arctan(width / tall), np.hypot(width, tall) / 2
    start = {"place.z": arm * np.cos(tipping / 2), "place.angle": tipping / 2}
    eqs = system.equations()
    file = eqs.export_fmu(tmp_path / "b.fmu", "2.0", start=start, duration=4.0, rtol=1e-9)
    run = eqs.simulate(4.0, start, rtol=1e-10, step=0.04)
    for kind, tolerance in KINDS.items():
        off = contact_difference(file, run, kind)
        assert off[:80].max() < 100 * tolerance
        assert off[91:].max() < tolerance  # it rests from 3.640 on
    instance, h = Instance(file, "CoSimulation"), 0.001
    for k in range(3650):
        instance.step(k * h, h)
        if instance.get("left.touching", "right.touching").all():
            break
    assert abs(k * h - 3.640) < 2e-3


def machine() -> mg.System:
    """A block that is pushed along a rough floor, a pendulum between stops, a slider that
    sticks."""
    system = mg.System("machine", gravity=(0, 0, -G))
    push = system.input("push")
    block = system.body("block", mass=1.0, inertia=(0.01, 0.01, 0.01))
    system.joint("at", system.ground, block, [mg.move("x", "x"), mg.move("z", "z")])
    system.rigid_contact("floor", mg.Point(block), mg.Plane(system.ground), friction=0.3)
    system.force("hand", block, (push, 0, 0))
    rod = system.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    system.revolute("hinge", system.ground, rod, limits=mg.Limits(0.1, 0.5, restitution=0.6),
                    axis="y")  # fmt: skip
    mass = system.body("mass", mass=2.0, inertia=(0.1, 0.1, 0.1))
    law = mg.DryFriction(2.0, static_friction=3.0, stribeck=0.2, viscous=0.3)
    system.prismatic("slide", system.ground, mass, axis="x", friction=law, stiffness=10.0)
    return system


MACHINE = {"at.x'": 1.0, "hinge": 0.4, "slide": 1.0}


@pytest.fixture(scope="module")
def machine_file(tmp_path_factory: Any) -> Path:
    folder = tmp_path_factory.mktemp("machine")
    return machine().equations().export_fmu(folder / "m.fmu", start=MACHINE, rtol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_sliding_sticking_and_stops(machine_file: Path, kind: str) -> None:
    """The block stops at v²/(2 μ g); all goes on as in simulate."""
    assert validate_fmu(str(machine_file)) == []
    run = machine().equations().simulate(1.5, MACHINE, rtol=1e-11, step=0.015)
    assert abs(run["at.x"][-1] - 1 / (2 * 0.3 * G)) < 1e-9
    assert run.statistics["impacts"] == 3
    assert contact_difference(machine_file, run, kind).max() < 100 * KINDS[kind]


def test_an_input_breaks_away_and_a_state_keeps_its_modes(machine_file: Path) -> None:
    instance = Instance(machine_file, "CoSimulation")
    instance.step(0.0, 0.5)
    assert np.array_equal(instance.get("floor.touching", "floor.sticking"), [1, 1])
    there, kept = instance.get("at.x", "at.x'"), instance.fmu.getFMUState()
    instance.set(push=0.3 * G - 0.1)  # is held
    instance.step(0.5, 0.1)
    assert np.abs(instance.get("at.x", "at.x'") - there).max() < 1e-12
    instance.set(push=5.0)  # is not
    instance.step(0.6, 0.1)
    expected = (5.0 - 0.3 * G) * 0.1
    assert abs(instance.get("at.x'")[0] - expected) < 1e-5
    assert instance.get("floor.sticking")[0] == 0
    instance.fmu.setFMUState(kept)
    assert np.array_equal(instance.get("floor.sticking", "at.x", "at.x'"), [1, *there])
    instance.step(0.5, 0.1)
    assert np.abs(instance.get("at.x", "at.x'") - there).max() < 1e-12
    instance.fmu.reset()
    assert np.array_equal(instance.get("floor.touching", "floor.sticking"), [0, 0])


def test_directional_derivatives_are_those_of_the_mode(machine_file: Path) -> None:
    """Sliding, the block follows its push; sticking, it does not."""
    moving = Instance(machine_file, "ModelExchange")
    assert np.isclose(moving.along(["der(at.x')"], "push")[0], 1.0)
    assert np.isclose(moving.get("der(at.x')")[0], -0.3 * G)
    still = Instance(machine_file, "ModelExchange", **{"at.x'": 0.0})
    assert np.isclose(still.along(["der(at.x')"], "push")[0], 0.0)
    assert np.isclose(still.get("der(at.x')")[0], 0.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["newtons_cradle", "falling_rod"])
def test_rigid_contacts_of_the_gallery(name: str, tmp_path: Path) -> None:
    example = gallery.load(name)
    eqs, given = example.system().equations(), {"start": example.start, "guess": example.guess}
    duration = example.duration
    file = eqs.export_fmu(tmp_path / "m.fmu", duration=duration, rtol=1e-9, **given)
    run = eqs.simulate(duration, **given, rtol=1e-11, step=duration / 100)
    for kind, tolerance in KINDS.items():
        off = contact_difference(file, run, kind)
        assert np.median(off) < tolerance
        assert off.max() < 100 * tolerance  # bounces that pile up are known to less


# --- the same events, to the last digit -----------------------------------------------------------


def bouncing() -> mg.System:
    system = mg.System("bouncing", gravity=(0, 0, -G))
    ball = system.body("ball", mass=0.7, inertia=(0.1, 0.1, 0.1))
    system.prismatic("height", system.ground, ball, axis="z")
    floor = mg.Plane(system.ground)
    system.rigid_contact("floor", mg.Sphere(ball, 0.1), floor, restitution=0.8)
    return system


def kinked() -> mg.System:
    """A pendulum against a soft stop: the force begins at an angle of 0.2."""
    system = mg.System("kinked", gravity=(0, 0, -G))
    rod = system.body("rod", mass=1.3, com=(0, 0, -0.5), inertia=(0.05, 0.05, 0.01))
    system.revolute("hinge", system.ground, rod, axis="y")
    stop = lambda m: -300 * mg.fmax(m.coordinate("hinge") - 0.2, 0)  # noqa: E731
    system.torque("stop", "hinge", stop)
    return system


EVENTS = {
    "impacts": (bouncing, {"height": 1.0}, lambda m: m.coordinate("height") - 0.3, 1.3),
    "a kink": (kinked, {"hinge": -0.7}, lambda m: m.coordinate("hinge") - 0.2, 2.0),
}


@pytest.mark.parametrize("which", EVENTS)
def test_a_run_and_its_fmu_meet_the_same_events(
    which: str, tmp_path: Path, monkeypatch: Any
) -> None:
    """In one go, by code for the same processor: the states after some events are equal to the last
    digit. A user's event on the way is noted, and changes nothing but rounding."""
    made, start, event, end = EVENTS[which]
    monkeypatch.setenv("MECHGRAPH_TARGET", "x86-64")
    monkeypatch.delenv("MECHGRAPH_COMPILE", raising=False)
    eqs = made().equations()
    file = eqs.export_fmu(tmp_path / "m.fmu", start=start, rtol=1e-9)
    options = {"rtol": 1e-9, "step": end, "max_step": 1e9, "track_work": False, "method": "rk8"}
    run = eqs.simulate(end, start, **options)
    seen = eqs.simulate(end, start, **options, events={"there": mg.Event(event, stop=False)})
    assert run.statistics["tier"] == "machine code"
    assert len(seen.events["there"]) > 1
    instance = Instance(file, "CoSimulation")
    instance.step(0.0, end)
    found = instance.get(*eqs.coordinates, *eqs.speeds)
    assert found.tolist() == [*run.q[-1], *run.u[-1]]
    assert [*seen.q[-1], *seen.u[-1]] == pytest.approx(found, rel=1e-12)
