"""Every example of the gallery: its own check, and all formalisms and closures at its start."""

import runpy
from itertools import product

import numpy as np
import pytest

import mechgraph as mg
from measure import IN_JOINT_COORDINATES
from mechgraph import gallery
from mechgraph.errors import ArgumentError, ModelError

VARIANTS = {  # examples that can be built in more than one way
    "a02_fourbar": [{"N": 1}, {"N": 3}],
    "acrobot": [{"damped": False}],
    "bouncing_ball": [{"friction": 0.5}],
    "garifulin": [{"base": "free"}, {"base": "elementary"}],
    "involute_gears": [{"teeth": "rigid", "brake": 0.0}],
    "omni_vehicle": [{"rollers": 0}],
    "puma560": [{"data": "akb"}],
    "rolling_disc": [{"angles": True}],
    "five_bar": [{"plane": "xy"}],
    "fourbar": [{"plane": "zx"}],
    "slider_crank_3d": [{"driven": True}, {"spin": False}],
    "wheelset": [{"axle": "fixed"}],
}
BUILT = [(name, options) for name in gallery.names() for options in ({}, *VARIANTS.get(name, ()))]
NAMED = ["-".join([name, *map(str, options.values())]) for name, options in BUILT]


LONG = ("ball_bearing", "omni_vehicle")
CHECKED = [
    pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in gallery.names()
]


# a tree, a loop, quaternions, rolling, impacts: what differs in machine code; and long runs, which
# the interpreter has in the long tail
PATIENT = ("clock", "involute_gears", "wheelset")
IN_MACHINE_CODE = (
    *("double_pendulum", "fourbar", "heavy_top", "rolling_disc", "bouncing_ball"),
    *PATIENT,
)
INTERPRETED = [
    pytest.param(name, marks=[pytest.mark.slow] * (name in (*LONG, *PATIENT)))
    for name in gallery.names()
]


@pytest.mark.smoke("double_pendulum", "fourbar")
@pytest.mark.parametrize("name", INTERPRETED)
def test_own_check(name):
    errors = gallery.load(name).check()
    assert errors
    assert all(np.isfinite(error) for error in errors.values())


@pytest.mark.machine_code
@pytest.mark.smoke("bouncing_ball")
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=[pytest.mark.slow] * (name not in IN_MACHINE_CODE))
        for name in gallery.names()
    ],
)
def test_own_check_in_machine_code(name):
    """As users run it: compilers start by themselves."""
    test_own_check(name)


DRAWN = [name for name in gallery.names() if gallery.load(name).figures]


@pytest.mark.slow
@pytest.mark.parametrize("name", DRAWN)
def test_figures_are_drawn(name):
    """Each with a name on every axis, and curves on it."""
    for figure in gallery.load(name).figures().values():
        assert all(axes.get_title("left") and axes.get_lines() for axes in figure.axes)
        assert figure.axes[-1].get_xlabel()


@pytest.mark.parametrize("name", gallery.names())
def test_complete(name):
    example = gallery.load(name)
    assert example.title.endswith(".")
    assert example.start
    assert example.duration > 0
    assert example.system().describe()


@pytest.mark.smoke("double_pendulum", "fourbar")
@pytest.mark.sampled(2)
@pytest.mark.parametrize(("name", "options"), BUILT, ids=NAMED)
def test_formalisms_and_closures_agree_at_the_start(name, options):
    example = gallery.load(name)
    system = example.system(**options)
    start = {} if {"driven", "angles"} & set(options) else example.start
    first = system.equations()
    q, u = first.assemble(start, guess=example.guess)
    reference = None
    for formalism, closure in product(
        IN_JOINT_COORDINATES, mg.CLOSURES if first.constraints else ["multipliers"]
    ):
        equations = system.equations(formalism, closure=closure)
        found = (
            equations.mass_matrix(q),
            equations.forces(q, u),
            equations.solve(q, u)[0],
            np.array([equations.reaction(joint, q, u) for joint in system.joints]),
        )
        reference = reference or found
        for value, expected, tolerance in zip(
            found, reference, (1e-11, 1e-11, 1e-11, 1e-9), strict=True
        ):
            scale = max(np.abs(expected).max(), 1e-3)
            np.testing.assert_allclose(
                value, expected, rtol=0, atol=tolerance * scale, err_msg=f"{formalism}, {closure}"
            )
        own_route = equations.accelerations(q, u)
        np.testing.assert_allclose(
            own_route, reference[2], rtol=0, atol=1e-10 * max(np.abs(reference[2]).max(), 1e-3)
        )


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", CHECKED)
def test_all_agree_at_random_states(name):
    """Formalisms in coordinates of their own among them."""
    example = gallery.load(name)
    found = mg.agreement(example.system(), states=2, seed=1, guess=example.guess)
    assert found.ok, str(found)


@pytest.mark.parametrize("name", ["double_pendulum", "puma560"])
def test_runs_as_a_script(name, capsys):
    runpy.run_path(str(gallery.folder() / f"{name}.py"), run_name="__main__")
    said = capsys.readouterr().out
    assert "Check" in said
    assert "Tree" in said


# --- users' files ---------------------------------------------------------------------------------

MODEL = """
import mechgraph as mg

arm = mg.System("arm")
arm.revolute("hinge", arm.ground, arm.body("rod", mass=1.0, inertia=(1, 1, 1)))
"""


def written(folder, text):
    path = folder / "model.py"
    path.write_text(text)
    return path


def test_a_file_with_a_system_object(tmp_path):
    example = gallery.load_file(written(tmp_path, MODEL))
    assert example.system().name == "arm"
    assert example.title == example.name == "model"
    assert (example.start, example.guess, example.options, example.check) == ({}, {}, {}, None)


def test_a_file_with_a_function_and_a_dataclass(tmp_path):
    head = '"""My arm."""\nfrom __future__ import annotations\nfrom dataclasses import dataclass\n'
    size = "\n@dataclass\nclass Size:\n    length: float = 1.0\n"
    system = "\ndef system():\n    return arm\n"
    text = head + MODEL + size + system + "\nSTART = {'hinge': 0.1}\n"
    example = gallery.load_file(written(tmp_path, text))
    assert (example.title, example.start, example.system().name) == (
        "My arm.",
        {"hinge": 0.1},
        "arm",
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x = 1", r"defines no System; define a function system\(\)"),
        (MODEL + "other = mg.System('b')", "defines 2 Systems"),
        ("def system(:", "not valid Python"),
    ],
)
def test_a_file_that_cannot_serve(tmp_path, text, message):
    with pytest.raises(ModelError, match=message):
        gallery.load_file(written(tmp_path, text))


def test_unknown_names():
    with pytest.raises(ArgumentError, match="did you mean 'fourbar'"):
        gallery.load("four_bar")
    with pytest.raises(ArgumentError, match="no such file"):
        gallery.load_file("nowhere.py")


def test_a_check_that_fails_names_everything_beyond_its_bound():
    with pytest.raises(AssertionError, match="a: 2 > 1; c: nan > 1"):
        gallery.verified({"a": (2.0, 1.0), "b": (0.5, 1.0), "c": (np.nan, 1.0)})
