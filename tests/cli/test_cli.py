"""The ``mechgraph`` command: what it prints, what it writes, and what it says to bad input."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import fmpy
import numpy as np
import pytest
from click.shell_completion import BashComplete
from click.testing import CliRunner, Result
from PIL import Image

import mechgraph as mg
from mechgraph import cli, gallery
from mechgraph.cli import group, models, options
from mechgraph.formats import tables
from mechgraph.kernels import compiler

PENDULUM = '''"""A pendulum of the user's own.

More about it.
"""
import mechgraph as mg

START = {"theta": 1.0}
DURATION = 0.4


def system():
    s = mg.System("own pendulum", gravity=(0, 0, -9.81))
    length = s.parameter("length", 0.5)
    rod = s.body("rod", mass=1.0, com=(0, 0, -length), inertia=0)
    s.revolute("theta", s.ground, rod, axis="y")
    return s
'''


def call(*arguments: str) -> Result:
    return CliRunner().invoke(cli.main, list(arguments))


def ok(*arguments: str) -> str:
    result = call(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


def refused(*arguments: str, code: int = 2) -> str:
    """The message of a command that is wrong itself: exit code 2, no traceback."""
    result = call(*arguments)
    assert result.exit_code == code, result.output
    assert isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    return result.output


def failed(*arguments: str) -> str:
    """The message of a command whose model or run is wrong: exit code 1, no traceback."""
    return refused(*arguments, code=1)


@pytest.fixture
def own(tmp_path: Path) -> str:
    path = tmp_path / "own.py"
    path.write_text(PENDULUM, encoding="utf-8")
    return str(path)


def test_help_lists_every_command_and_warns_that_files_are_executed() -> None:
    text = ok("--help")
    for command in cli.main.commands:
        assert f"\n  {command} " in text
        assert "Usage: mechgraph" in ok(command, "--help") or "Usage: main" in ok(command, "--help")
    assert "executed" in text
    assert mg.__version__ in ok("--version")


def test_figures_are_written_where_they_shall_be(tmp_path: Path) -> None:
    text = ok("figures", "delta_robot", "--out", str(tmp_path / "new"), "--format", "svg")
    path = tmp_path / "new" / "delta_robot-torques.svg"
    assert str(path) in text
    assert path.stat().st_size > 1000
    assert "has no figures of its own" in refused("figures", "double_pendulum")


@pytest.mark.parametrize(
    ("figures", "message"),
    [
        ("figures = 3", "figures must be a function, got 3"),
        ("def figures(): return {}", "must return Matplotlib figures by name, got {}"),
        ("def figures(): return {'a': 3}", "must return Matplotlib figures by name, got 3"),
        ("def figures(): return 1 / 0", "ZeroDivisionError"),
    ],
)
def test_figures_that_are_none(own: str, figures: str, message: str) -> None:
    Path(own).write_text(f"{PENDULUM}\n{figures}\n", encoding="utf-8")
    assert message in failed("figures", own)


def test_gallery_lists_names_with_titles_and_runs_a_check() -> None:
    text = ok("gallery")
    for name in gallery.names():
        assert f"{name} " in text
    assert gallery.load("double_pendulum").title in text
    assert "all within their bounds" in ok("gallery", "double_pendulum")


def test_describe_takes_a_name_or_a_file(own: str) -> None:
    assert "└─ lower   by 'elbow' (revolute)" in ok("describe", "double_pendulum")
    assert "own pendulum: 1 body, 1 joint" in ok("describe", own)
    assert "length = 0.5" in ok("describe", own)


def test_equations_as_text_and_latex(own: str) -> None:
    text = ok("equations", own, "--formalism", "lagrange")
    assert "own pendulum, by lagrange" in text
    assert "M[θ', θ'] = length²" in text
    assert r"\dot{u} &= f" in ok("equations", own, "--format", "latex")
    assert "M[θ', θ']" in ok("equations", own, "--no-simplify")


def test_check_prints_the_table_and_its_verdict(own: str) -> None:
    text = ok("check", own, "--states", "3", "--seed", "7")
    assert "lagrange (explicit)" in text
    assert "All agree at 3 random states of 'own pendulum'" in text


def test_check_fails_if_formalisms_disagree(own: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(kinematics):
        right = mg.FORMALISMS["kane"](kinematics)
        return type(right)(lambda: 2 * right.M(), right.f)

    monkeypatch.setitem(mg.FORMALISMS, "careless", wrong)
    result = call("check", own)
    assert result.exit_code == 1
    assert "DISAGREEMENT" in result.output


def test_run_writes_what_is_asked_for(own: str, tmp_path: Path) -> None:
    out, plot, view, report = (
        tmp_path / name for name in ("run.npz", "run.png", "run.html", "report.html")
    )
    values = ["--set", "length=0.25", "--set", "theta'=-2"]
    how = ["--duration", "0.2", "--step", "0.1", "--formalism", "kane"]
    files = ["--out", out, "--plot", plot, "--view", view, "--report", report]
    text = ok("run", own, *how, *values, *map(str, files))
    assert "kane" in text
    run = mg.load_run(out)
    np.testing.assert_allclose(run.time, [0, 0.1, 0.2])
    assert (run["theta"][0], run["theta'"][0], run.parameters["length"]) == (1.0, -2.0, 0.25)
    assert run.statistics["formalism"] == "kane"
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert "poses" in view.read_text(encoding="utf-8")
    assert "Agreement of the formalisms" in report.read_text(encoding="utf-8")
    assert text.count("wrote ") == 4


def test_run_uses_the_models_own_start_and_duration(own: str, tmp_path: Path) -> None:
    ok("run", own, "--out", str(tmp_path / "run.npz"), "--rtol", "1e-6", "--method", "dop853")
    run = mg.load_run(tmp_path / "run.npz")
    assert (run.time[-1], run["theta"][0], run.statistics["rtol"], run.statistics["method"]) == (
        0.4,
        1.0,
        1e-6,
        "dop853",
    )


def test_a_run_that_fails_keeps_what_was_computed(tmp_path: Path) -> None:
    path = tmp_path / "failing.py"
    failing = PENDULUM.replace(
        "    return s", '    s.torque("dying", "theta", mg.sqrt(0.2 - s.time))\n    return s'
    )
    path.write_text(failing, encoding="utf-8")
    message = failed("run", str(path), "--step", "0.01", "--out", str(tmp_path / "part.npz"))
    assert "the run stopped after t =" in message
    kept = mg.load_run(tmp_path / "part.npz")
    assert kept.outcome == "failed"
    assert 0 < kept.time[-1] < 0.21


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["describe", "double_pendulm"], "did you mean 'double_pendulum'"),
        (["describe", "nowhere.py"], "nowhere.py: no such file"),
        (["run", "double_pendulum", "--set", "elbow"], "write name=number"),
        (["run", "double_pendulum", "--set", "elbow=one"], "write name=number"),
        (["run", "double_pendulum", "--set", "elbw=1"], "did you mean 'elbow'"),
        (["run", "double_pendulum", "--duration", "-1"], "-1.0 is not in the range x>0"),
        (["run", "double_pendulum", "--set", "elbow=nan"], "write name=number"),
        (
            ["run", "double_pendulum", "--out", "x.txt"],
            "x.txt must end in one of .npz, .csv, .parquet",
        ),
        (["run", "double_pendulum", "--out", ""], "the name of a file, and that is empty"),
        (["run", "double_pendulum", "--view", "x.mp4"], "x.mp4 must end in one of .html"),
        (["run", "double_pendulum", "--plot", "x.xyz"], "x.xyz must end in one of .png"),
        (["run", "double_pendulum", "--report", "x.pdf"], "x.pdf must end in one of .html"),
        (["describe", "double_pendulum", "--graph", "x.docx"], "x.docx must end in one of .png"),
        (
            ["run", "double_pendulum", "--formalism", "newton"],
            "'newton' is not one of 'newton-euler'",
        ),
        (["check", "double_pendulum", "--states", "0"], "x>=1"),
        (["run", "double_pendulum", "--out", "/nowhere/x.npz"], "there is no folder /nowhere"),
    ],
)
def test_bad_input_gets_one_clear_message(arguments: list[str], message: str) -> None:
    assert message in refused(*arguments)


def test_a_file_that_cannot_be_written_is_refused_before_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(models, "load", lambda model: pytest.fail("it began to work"))
    for option, path in (
        ("--plot", "x.xyz"),
        ("--view", "x.mp4"),
        ("--report", "x.pdf"),
        ("--out", "/nowhere/x.npz"),
    ):
        refused("run", "double_pendulum", option, path)


OWN = """import mechgraph as mg

def system():
    s = mg.System("own", gravity=(0, 0, -9.81))
    rod = s.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=0)
    s.revolute("theta", s.ground, rod, axis="y")
    s.torque("motor", "theta", s.input("w"))
    return s
"""
WRONG_FILES = {
    "x = 1": "wrong.py: defines no System",
    "import mechgraph as mg\na, b = mg.System(), mg.System()": "wrong.py: defines 2 Systems",
    "def broken(:": "line 1: not valid Python",
    "\0": "not valid Python",
    "\nprint(undefined)": "line 2: NameError: name 'undefined' is not defined",
    "import nowhere_at_all": "line 1: ModuleNotFoundError: No module named 'nowhere_at_all'",
    "raise SystemExit(0)": "line 1: SystemExit: 0",
    "def f():\n    return f()\nf()": "line 2: RecursionError",
    "def system():\n    return 1 / 0": "line 2: ZeroDivisionError",
    "def system():\n    return system()": "line 2: RecursionError",
    "def system():\n    pass": "wrong.py: system() must return a System, got None",
    "def system(size): ...": "wrong.py: TypeError: system() missing 1 required",
    "import mechgraph as mg\ns = mg.System('s')\ns.body('lost', mass=-1, inertia=0)": "'lost'",
    f"{OWN}START = [1, 2]": "wrong.py: START must be a mapping of names to values",
    f"{OWN}START = {{1: 2}}": "wrong.py: START must be a mapping of names to values",
    f"{OWN}START = {{'thta': 1.0}}": "start: unknown name 'thta'; did you mean 'theta'?",
    f"{OWN}START = {{'theta': 'down'}}": "start: 'theta' must be one finite number",
    f"{OWN}GUESS = 3": "wrong.py: GUESS must be a mapping of names to values",
    f"{OWN}DURATION = '5 s'": "wrong.py: DURATION must be a positive number, got '5 s'",
    f"{OWN}OPTIONS = ['rtol']": "wrong.py: OPTIONS must be a mapping of names to values",
    f"{OWN}OPTIONS = {{'rtoll': 1e-6}}": "wrong.py: unknown option in OPTIONS 'rtoll'",
    f"{OWN}OPTIONS = {{'rtol': None}}": "rtol must be a positive number, got None",
    f"{OWN}OPTIONS = {{'parameters': 5}}": "parameters must be a mapping",
    f"{OWN}OPTIONS = {{'inputs': {{'w': lambda: 3}}}}": "input 'w' must be a function of t or of",
    f"{OWN}OPTIONS = {{'inputs': {{'w': lambda t: [][0]}}}}": "input 'w' failed at t = 0: Index",
}


@pytest.mark.parametrize("source", WRONG_FILES)
def test_wrong_files_get_one_clear_message(source: str, tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(source, encoding="utf-8")
    assert WRONG_FILES[source] in failed("run", str(path))


@pytest.mark.parametrize(
    ("check", "message"),
    [
        ("def check():\n    assert False, 'too far'", "FAILED: too far"),
        ("def check():\n    assert False", "wrong.py, line 11: assert False"),
        ("def check():\n    raise AssertionError", "line 11: raise AssertionError"),
        ("def check():\n    return {}['far']", "line 11: KeyError: 'far'"),
        ("def check():\n    raise SystemExit", "line 11: SystemExit"),
        ("def check():\n    return check()", "line 11: RecursionError"),
        ("def check(): ...", "check() must return errors by name"),
        ("def check():\n    return {'far': 'near'}", "check(): 'far' must be a number, got 'near'"),
        ("check = 3", "check must be a function, got 3"),
    ],
)
def test_a_check_that_goes_wrong_gets_one_clear_message(check, message, tmp_path: Path) -> None:
    path = tmp_path / "wrong.py"
    path.write_text(f"{OWN}\n{check}\n", encoding="utf-8")
    assert message in failed("gallery", str(path))


def test_a_file_may_import_files_beside_it_and_each_has_its_own(tmp_path: Path) -> None:
    """Also late, from a package, and where two models have files of the same name."""
    for folder, mass in (("one", 1.0), ("two", 2.0)):
        (tmp_path / folder / "inner").mkdir(parents=True)
        (tmp_path / folder / "parts.py").write_text(f"MASS = {mass}\n")
        (tmp_path / folder / "inner" / "late.py").write_text(f"LENGTH = {mass / 2}\n")
        (tmp_path / folder / "model.py").write_text(
            OWN.replace("import mechgraph as mg", "import mechgraph as mg\nimport parts")
            .replace("mass=1.0", "mass=parts.MASS")
            .replace("-0.5", "-late.LENGTH")
            .replace("    s = mg", "    from inner import late\n    s = mg")
        )
    before = list(sys.path)
    one, two = (gallery.load_file(tmp_path / name / "model.py") for name in ("one", "two"))
    masses = [float(example.system().bodies["rod"].mass) for example in (one, two, one)]
    lengths = [-float(example.system().bodies["rod"].com[2]) for example in (two, one)]
    assert (masses, lengths) == ([1.0, 2.0, 1.0], [1.0, 0.5])
    assert sys.path == before
    assert not {"parts", "inner", "inner.late"} & set(sys.modules)
    assert "own: 1 body" in ok("describe", str(tmp_path / "two" / "model.py"))


def test_an_interrupted_run_is_kept_and_ends_with_130(tmp_path: Path) -> None:
    path, out = tmp_path / "own.py", tmp_path / "kept.npz"
    path.write_text(
        f"{OWN}\ndef w(t):\n    if t > 0.3:\n        raise KeyboardInterrupt\n    return 0.0\n"
        "OPTIONS = {'inputs': {'w': w}, 'step': 0.01}\n"
    )
    result = call("run", str(path), "--out", str(out), "--duration", "1", "--step", "0.01")
    assert result.exit_code == 130
    assert "interrupted" in result.output
    assert f"wrote {out}" in result.output
    kept = mg.load_run(out)
    assert kept.outcome == "interrupted"


@pytest.mark.parametrize("command", ["run", "check", "describe", "equations", "gallery"])
def test_every_command_that_is_interrupted_ends_with_130(command, own, monkeypatch) -> None:
    def interrupted(model):
        raise KeyboardInterrupt

    monkeypatch.setattr(models, "load", interrupted)
    result = call(command, own)
    assert (result.exit_code, result.output) == (130, "interrupted\n")


def test_a_closed_pipe_is_met_without_a_word() -> None:
    """As in ``mechgraph gallery | head -1``."""
    program = [sys.executable, "-c", "from mechgraph.cli import main; main()", "gallery"]
    with subprocess.Popen(program, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr is not None
        assert process.stderr.read() == b""


def test_one_file_that_cannot_be_written_does_not_cost_the_others(own: str, tmp_path: Path) -> None:
    (tmp_path / "taken.npz").mkdir()
    broken = tmp_path / "plots.png"
    broken.symlink_to(tmp_path / "nowhere" / "plots.png")
    kept = tmp_path / "report.html"
    message = failed("run", own, "--plot", str(broken), "--report", str(kept))
    assert f"cannot write {broken}: No such file or directory" in message
    assert kept.exists()


def test_demo_does_the_whole_job(tmp_path: Path) -> None:
    out = tmp_path / "demo"
    text = ok("demo", "--out", str(out))
    for part in (
        "Tree",
        "Loops",
        "numerical",
        "newton-euler",
        "appell (probing)",
        "udwadia-kalaba",
        "All agree",
        "violation",
    ):
        assert part in text, part
    written = {path.name for path in out.iterdir()}
    assert written == {
        "plots.png",
        "animation.html",
        "animation.gif",
        "report.html",
        "trajectory.npz",
    }
    assert all(str(out / name) in text for name in written)
    assert (out / "plots.png").read_bytes().startswith(b"\x89PNG")
    with Image.open(out / "animation.gif") as image:
        assert image.format == "GIF"
        assert image.n_frames > 10
    assert mg.load_run(out / "trajectory.npz").violation.max() < 1e-9
    for name in ("animation.html", "report.html"):
        page = (out / name).read_text(encoding="utf-8")
        assert page.startswith("<!DOCTYPE html>")
        assert "http:" not in page
        assert "https:" not in page


# --- studies --------------------------------------------------------------------------------------


def read(*arguments: str) -> Any:
    """What a command prints for programs: all of its standard output is JSON."""
    result = call(*arguments, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_linearize_gives_the_modes_of_a_pendulum(own: str) -> None:
    """θ'' = −g/l θ about rest; about a start that moves on there are matrices, and no modes."""
    found = read("linearize", own, "--set", "length=0.8", "--set", "theta=0.3")
    mode = found["modes"][0]
    assert mode["frequency"] == pytest.approx(np.sqrt(9.81 / 0.8) / (2 * np.pi), rel=1e-12)
    assert abs(mode["damping"]) < 1e-12
    np.testing.assert_allclose(found["A"], [[0, 1], [-9.81 / 0.8, 0]], atol=1e-12)
    assert found["q"]["theta"] == pytest.approx(0, abs=1e-9)
    text = ok("linearize", own, "--output", "rod")
    assert "rod x" in text
    assert "0.7050" in text  # Hz, of l = 0.5
    moving = read("linearize", own, "--at", "start")
    assert moving["modes"] == []
    assert moving["A"][1][0] == pytest.approx(-9.81 / 0.5 * np.cos(1.0), rel=1e-9)


def test_equilibrium_and_inverse_with_inputs(tmp_path: Path) -> None:
    path = tmp_path / "driven.py"
    path.write_text(f"{OWN}START = {{'theta': 0.4}}\n", encoding="utf-8")
    found = read("equilibrium", str(path), "--set", "w=2")
    assert 9.81 * 0.5 * np.sin(found["coordinates"]["theta"]) == pytest.approx(2.0, rel=1e-9)
    assert "theta  0.4199" in ok("equilibrium", str(path), "--set", "w=2")
    out, plot = tmp_path / "efforts.csv", tmp_path / "efforts.png"
    given = ["--motion", "theta=0.2*t^2", "--drive", "w", "--out", str(out), "--plot", str(plot)]
    efforts = read("inverse", str(path), *given)
    t = np.array(efforts["time"])
    expected = 0.25 * 0.4 + 9.81 * 0.5 * np.sin(0.2 * t**2)  # m l² θ'' + m g l sin θ
    np.testing.assert_allclose(efforts["efforts"]["w"], expected, rtol=1e-9)
    np.testing.assert_array_equal(tables.read(out)["w"], efforts["efforts"]["w"])
    assert plot.stat().st_size > 1000
    assert "N m" in ok("inverse", str(path), "--motion", "theta=0")
    for motion, message in (
        ("theta", "write name=expression"),
        ("", "write name=expression"),
        ("thta=t", "did you mean 'theta'"),
        ("theta=__import__('os')", "unknown"),
    ):
        assert message in refused("inverse", str(path), "--motion", motion)


def test_inverse_takes_a_table_of_the_motion(own: str, tmp_path: Path) -> None:
    t = np.linspace(1.0, 3.0, 401)
    angle = 4 * np.sin(t)
    within = np.degrees((angle + np.pi) % (2 * np.pi) - np.pi)
    lines = [f"{a!r},{b!r}" for a, b in zip(t.tolist(), within.tolist(), strict=True)]
    path = tmp_path / "measured.csv"
    path.write_text("\n".join(["t [s],theta [deg]", *lines]))
    efforts = read("inverse", own, "--table", str(path))
    np.testing.assert_array_equal(efforts["time"], t)
    exact = -0.25 * angle + 9.81 * 0.5 * np.sin(angle)  # m l² θ'' + m g l sin θ
    found = np.array(efforts["efforts"]["theta'"])
    np.testing.assert_allclose(found, exact, atol=1e-4)  # second derivatives of a spline: h²
    fewer = read("inverse", own, "--table", str(path), "--motion", "theta", "--steps", "4")
    np.testing.assert_allclose(fewer["time"], [1, 1.5, 2, 2.5, 3])
    np.testing.assert_allclose(fewer["efforts"]["theta'"], found[::100], atol=1e-12)
    saved = tmp_path / "run.npz"
    ok("run", own, "--out", str(saved))
    assert np.abs(read("inverse", own, "--table", str(saved))["efforts"]["theta'"]).max() < 1e-2
    assert "did you mean 'theta'" in refused(
        "inverse", own, "--table", str(path), "--motion", "thta"
    )
    path.write_text("t,phi\n0,1\n1,2\n")
    assert "is a coordinate of the model (theta)" in refused("inverse", own, "--table", str(path))
    assert "or a --table" in refused("inverse", own)
    assert "--steps" in refused("inverse", own, "--motion", "theta=t", "--steps", "1000000000000")


def test_compare_ends_with_1_beyond_the_tolerance(own: str, tmp_path: Path) -> None:
    table, saved = tmp_path / "run.csv", tmp_path / "run.npz"
    ok(
        "run",
        own,
        "--out",
        str(table),
        "--column",
        "theta",
        "--column",
        "rod",
        "--column",
        "theta'",
    )
    ok("run", own, "--out", str(saved))
    assert read("compare", own, str(table), "--rtol", "1e-9")["beyond"] == []
    text = failed(
        "compare", own, str(table), "--set", "theta=1.1", "--rtol", "1e-3", "--atol", "1e-3"
    )
    assert "beyond the tolerance: theta, theta'\n" in text
    assert "theta " in ok("compare", str(saved), str(table), "--plot", str(tmp_path / "c.png"))
    assert "not compared: rod x, rod y, rod z, theta'" in ok(
        "compare", own, str(table), "--column", "theta=theta"
    )
    assert "a run already" in refused("compare", str(saved), str(table), "--set", "theta=1")
    assert "did you mean 'theta'" in refused("compare", own, str(table), "--column", "thta")
    assert "does not exist" in refused("compare", own, str(tmp_path / "nowhere.csv"))


def test_every_result_is_there_for_programs(own: str, tmp_path: Path) -> None:
    run = read("run", own, "--out", str(tmp_path / "run.npz"))
    assert (run["outcome"], run["times"], run["time"]) == ("finished", 501, [0.0, 0.4])
    assert run["end"]["theta"] == mg.load_run(tmp_path / "run.npz")["theta"][-1]
    assert read("check", own, "--states", "1")["ok"] is True
    described = read("describe", own, "--graph", str(tmp_path / "graph.svg"))
    assert described["joints"]["theta"] == {"type": "revolute", "parent": "ground", "child": "rod"}
    assert described["mobility"]["generic"] == 1
    assert "length" in read("equations", own)["equations"]
    assert read("gallery")["double_pendulum"] == gallery.load("double_pendulum").title
    assert max(read("gallery", "double_pendulum")["errors"].values()) < 1e-3


def test_a_failed_run_is_told_to_programs_too(tmp_path: Path) -> None:
    path = tmp_path / "failing.py"
    path.write_text(
        OWN.replace(
            "    return s", '    s.torque("x", "theta", mg.sqrt(0.2 - s.time))\n    return s'
        )
    )
    result = call("run", str(path), "--json", "--out", str(tmp_path / "part.parquet"))
    assert result.exit_code == 1
    assert json.loads(result.stdout)["outcome"] == "failed"
    assert 0 < tables.read(tmp_path / "part.parquet")["time"].iloc[-1] < 0.21


def test_numbers_that_are_none_become_null() -> None:
    given = {"a": [np.nan, np.inf, 1.5], "b": np.array([1 + 2j]), "c": np.int64(3), 4: (True, None)}
    expected = {
        "a": [None, None, 1.5],
        "b": [{"real": 1.0, "imag": 2.0}],
        "c": 3,
        "4": [True, None],
    }
    assert options.plain(given) == expected


def test_export_and_columns_of_what_is_no_table(own: str, tmp_path: Path) -> None:
    text = ok("export", own, str(tmp_path / "own.c"))
    assert text.count("wrote") == 3
    few = "--precision", "float", "--function", "energies"
    ok("export", own, str(tmp_path / "own.c"), *few)
    header = (tmp_path / "own.h").read_text()
    assert "void own_energies(const float *q" in header
    assert "own_forces" not in header
    assert "--precision is for C" in refused("export", own, str(tmp_path / "own.py"), *few)
    assert "must end in one of .c" in refused("export", own, str(tmp_path / "own.rs"))
    assert "--column goes with" in refused("run", own, "--column", "theta", "--out", "x.npz")
    assert "did you mean 'theta'" in refused(
        "run", own, "--out", str(tmp_path / "x.csv"), "--column", "thta"
    )
    assert not (tmp_path / "x.csv").exists()


def test_shells_complete_names_of_the_gallery_and_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("double.yaml").touch()
    Path("double.txt").touch()
    shell = BashComplete(cli.main, {}, "mechgraph", "_MECHGRAPH_COMPLETE")
    assert "double_pendulum" in [item.value for item in shell.get_completions(["run"], "double")]
    assert [item.type for item in shell.get_completions(["run"], "my_own.y")] == ["file"]
    found = [item.value for item in shell.get_completions(["run"], "double")]
    assert found == ["double_pendulum", "double.yaml"]
    assert "linearize" in [item.value for item in shell.get_completions([], "lin")]


def test_compiling_is_said_aloud_on_a_terminal(own, monkeypatch) -> None:
    """And nowhere else."""
    monkeypatch.setattr(models, "load", lambda model: compiler.log.info("compiling"))
    for terminal in (False, True):
        monkeypatch.setattr(group, "_is_terminal", lambda terminal=terminal: terminal)
        assert ("compiling\n" in call("describe", own).stderr) is terminal


@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_keeps_what_there_is(tmp_path: Path) -> None:
    """A true signal to a true process."""
    path, out = tmp_path / "slow.py", tmp_path / "kept.csv"
    path.write_text(
        f"{OWN}\nimport time\ndef w(t):\n    time.sleep(0.001)\n    print('on', flush=True)\n"
        "    return 0.0\nOPTIONS = {'inputs': {'w': w}}\nSTART = {'theta': 2.0}\n"
    )
    heard = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    program = [sys.executable, "-c", f"{heard}; from mechgraph.cli import main; main()"]
    long = ["--duration", "1000", "--step", "0.5", "--out", str(out)]
    with subprocess.Popen([*program, "run", str(path), *long], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        for _ in range(1000):
            process.stdout.readline()
        process.send_signal(signal.SIGINT)
        process.stdout.read()
    assert process.returncode == 130
    times = tables.read(out)["time"]
    assert 0 < times.iloc[-1] < 1000


def test_an_exported_fmu_begins_where_the_model_does(tmp_path: Path) -> None:
    path = tmp_path / "fourbar.fmu"
    done = CliRunner().invoke(cli.main, ["export", "fourbar", str(path)])
    assert done.exit_code == 0, done.output
    described = fmpy.read_model_description(str(path))
    begins = {each.name: each.start for each in described.modelVariables}
    example = mg.gallery.load("fourbar")
    q, _ = example.system().equations().assemble(example.start, guess=example.guess)
    assert float(begins["qA"]) == pytest.approx(q[0], abs=1e-12)
    assert float(described.defaultExperiment.stopTime) == example.duration


LAW = (
    OWN
    + """
import numpy as np

START = {"theta": np.array([0.3])}
DURATION = 0.1
LAW = lambda t, q, u: [-2 * q[0]]
OPTIONS = {"inputs": mg.sampled(LAW, rate=100), "rtol": 1e-6}
"""
)


@pytest.mark.parametrize("law", ["mg.sampled(LAW, rate=100)", "LAW"])
def test_a_model_with_a_law_of_its_own_is_asked_everything(law: str, tmp_path: Path) -> None:
    own, file = tmp_path / "held.py", tmp_path / "held.yaml"
    own.write_text(LAW.replace("mg.sampled(LAW, rate=100)", law), encoding="utf-8")
    assert "finished" in ok("run", str(own))
    assert "all inputs" in refused("run", str(own), "--set", "w=1")
    assert "'w' is a function; here it is zero" in ok("equilibrium", str(own))
    assert "here it is zero" not in ok("equilibrium", str(own), "--set", "w=1")
    assert "not written: options: inputs" in ok("convert", str(own), str(file))
    assert gallery.load_file(file).options == {"rtol": 1e-6}
    assert gallery.load_file(file).start == {"theta": [0.3]}


@pytest.mark.parametrize(
    "arguments",
    [
        ["run", "--out", "x.csv", "--column", "thta"],
        ["compare", "measured.csv", "--column", "thta"],
        ["linearize", "--hold", "thta"],
        ["linearize", "--independent", "thta"],
        ["linearize", "--output", "thta"],
        ["equilibrium", "--hold", "thta"],
        ["inverse", "--motion", "theta=t", "--drive", "thta"],
    ],
)
def test_names_that_are_not_there_are_told_before_anything_is_computed(
    arguments: list[str], own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(models, "simulate", None)
    (tmp_path / "measured.csv").write_text("time,theta\n0,1\n")
    command, *rest = arguments
    assert "unknown name 'thta'; did you mean 'theta'?" in refused(command, own, *rest)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run", "fourbar", "--duration", "nan"], "nan is not a finite number"),
        (["run", "fourbar", "--out", ".csv"], "an ending without a name; write NAME.csv"),
        (["export", "fourbar", ".c"], "an ending without a name; write NAME.c"),
        (["convert", "fourbar", "x.yaml", "--floating"], "no robot's file; leave out --floating"),
        (["compare", "none.npz", __file__], "none.npz: no such file"),
        (["equations", "fourbar", "--own"], "newton-euler has no quantities of its own"),
    ],
)
def test_what_makes_no_sense_is_told_as_such(arguments: list[str], message: str) -> None:
    assert message in refused(*arguments)


def test_a_table_that_is_none_is_told_before_the_run(
    own: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(models, "simulate", None)
    table = tmp_path / "measured.csv"
    for text, message in (("", "not a table"), ("theta\n1\n", "no column is called time")):
        table.write_text(text)
        assert message in failed("compare", own, str(table))


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "cp437"])
def test_terminals_need_not_have_all_letters(encoding: str, own: str) -> None:
    for arguments in (["equations", own], ["check", own, "--states", "1"], ["schema"]):
        done = CliRunner(charset=encoding).invoke(cli.main, arguments)
        assert done.exit_code == 0, done.exception
    told = CliRunner(charset=encoding).invoke(cli.main, ["describe", own, "--json"]).output
    assert "6·1 − 5" in json.loads(told)["mobility"]["formula"]


def test_the_standard_error_may_be_closed(own: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    assert not group._is_terminal()
