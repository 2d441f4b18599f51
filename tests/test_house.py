"""The house stands as ``docs/architecture.md`` says: rooms import those below them, nothing is
imported late but at one door, and the public names are these."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mechgraph as mg
from mechgraph.model import element_stub, kinds
from mechgraph.model.constraints import Constraint
from mechgraph.model.contact.switched import Switched
from mechgraph.model.element import Element
from mechgraph.model.forces import Force
from mechgraph.model.joint_options import JointOptions
from mechgraph.model.joints import Chain, JointKind
from mechgraph.studies.robotics.quantities import Robotics

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "mechgraph"

# From the ground up: a room may import itself and those before it.
ROOMS = [
    "errors", "numerics", "graph", "vectors", "arguments", "pickling", "interrupts", "door",
    "tables", "functions", "closures", "kernels", "runtime", "model", "motion", "formalisms",
    "contract", "control",
    "results", "composition", "studies",
    "equations", "formats", "gallery", "show", "cli", "__init__", "__main__",
]  # fmt: skip

PUBLIC = [
    "Acts",
    "Agreement",
    "ArgumentError",
    "AssemblyError",
    "AxialJoint",
    "Body",
    "Box",
    "CLOSURES",
    "CONSTRAINTS",
    "Capsule",
    "Chart",
    "Constraint",
    "Controller",
    "Cylinder",
    "Description",
    "Disc",
    "DryFriction",
    "Effort",
    "Ellipsoid",
    "Equations",
    "Event",
    "FORCES",
    "FORMALISMS",
    "FixedControlledJoint",
    "FixedIdealJoint",
    "FixedServoJoint",
    "Force",
    "Formalism",
    "FreeIdealJoint",
    "FreeSlideJoint",
    "Friction",
    "Held",
    "Implicit",
    "JOINTS",
    "Joint",
    "JointKind",
    "Labelled",
    "Limits",
    "LinearModel",
    "LinearTyre",
    "MagicFormula",
    "Marker",
    "MechgraphError",
    "ModelError",
    "Motion",
    "Part",
    "Plane",
    "Point",
    "Pulley",
    "Quantity",
    "Roller",
    "Rollouts",
    "SecondOrderModel",
    "SecondOrderSweep",
    "SimulationError",
    "Sphere",
    "SpringIdealJoint",
    "Subsystem",
    "Surface",
    "System",
    "Table",
    "Terms",
    "Topology",
    "Torus",
    "Trajectory",
    "Transition",
    "UnsupportedError",
    "Variables",
    "Wrench",
    "acos",
    "acosh",
    "agreement",
    "asin",
    "asinh",
    "atan",
    "atan2",
    "atanh",
    "ball",
    "ceil",
    "clip",
    "compose",
    "computed_torque",
    "copysign",
    "cos",
    "cosh",
    "cross",
    "dot",
    "erf",
    "exp",
    "fabs",
    "feedback",
    "floor",
    "fmax",
    "fmin",
    "fmod",
    "from_mjcf",
    "from_sdf",
    "from_urdf",
    "hypot",
    "if_else",
    "load",
    "load_run",
    "log",
    "move",
    "norm_2",
    "pi",
    "pid",
    "rot",
    "sampled",
    "screw",
    "sign",
    "sin",
    "sinh",
    "smooth_step",
    "spline",
    "sqrt",
    "state_feedback",
    "table",
    "tan",
    "tanh",
    "variables",
]

VERBS = [
    "accelerations",
    "assemble",
    "compile",
    "constraint_forces",
    "constraint_jacobian",
    "coordinate_rates",
    "efforts",
    "equilibrium",
    "export",
    "export_c",
    "export_fmu",
    "expression",
    "forces",
    "frame_jacobian",
    "inverse_dynamics",
    "inverse_kinematics",
    "jacobian",
    "kinetic_energy",
    "latex",
    "linearize",
    "mass_matrix",
    "mobility",
    "multipliers",
    "observe",
    "position",
    "position_violation",
    "potential_energy",
    "reaction",
    "redundant",
    "rhs",
    "rollout",
    "rotation",
    "show",
    "simulate",
    "solve",
    "steady",
    "to_casadi",
    "to_jax",
    "to_sympy",
    "to_torch",
    "velocity_violation",
]

NOUNS = (
    "closure constraints coordinates formalism inputs names numeric parameters robotics speeds "
    "system terms"
)


ORDER = ["q", "u", "udot", "t", "inputs", "parameters"]  # of arguments, wherever they stand


def modules() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def room_of(path: Path) -> str:
    first = path.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imports(tree: ast.AST) -> list[ast.ImportFrom | ast.Import]:
    """Imports that are made when a module is read; not those for type checkers."""
    checked = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    found = (node for node in ast.walk(tree) if isinstance(node, (ast.Import, ast.ImportFrom)))
    return [node for node in found if id(node) not in checked]


def rooms_imported(path: Path) -> set[str]:
    package = list(path.relative_to(PACKAGE).parent.parts)
    rooms = set()
    for node in imports(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom) or not node.level:
            continue
        base = package[: len(package) - node.level + 1]
        target = [*base, *(node.module or "").split(".")]
        names = [target[0]] if target[0] else [alias.name for alias in node.names]
        rooms |= {name for name in names if not name.startswith("__")}
    return rooms


@pytest.mark.smoke
@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_rooms_import_those_below_them(path):
    own = room_of(path)
    above = [room for room in rooms_imported(path) if ROOMS.index(room) > ROOMS.index(own)]
    assert not above


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_nothing_is_imported_late(path):
    tree = ast.parse(path.read_text())
    functions = (n for n in ast.walk(tree) if isinstance(n, (ast.FunctionDef, ast.Lambda)))
    late = [ast.unparse(node) for function in functions for node in imports(function)]
    assert not late
    if path.name not in ("door.py", "gallery.py"):  # which reads the files of users
        assert "import_module" not in path.read_text()


@pytest.mark.smoke
def test_every_room_is_listed():
    assert {room_of(path) for path in modules()} == set(ROOMS)


def test_no_two_classes_have_one_name():
    where: dict[str, list[str]] = {}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef):
                where.setdefault(node.name, []).append(str(path.relative_to(PACKAGE)))
    assert {name: paths for name, paths in where.items() if len(paths) > 1} == {}


def test_kernels_and_closures_know_no_mechanics():
    for room in ("kernels", "closures", "numerics"):
        for path in (PACKAGE / room).glob("*.py"):
            below = {"errors", "graph", "arguments", "vectors", "tables", "interrupts", "numerics"}
            assert rooms_imported(path) <= {*below, room, *_own(path)}


@pytest.mark.parametrize(
    "path",
    [path for path in modules() if room_of(path) != "model"],
    ids=lambda path: str(path.relative_to(PACKAGE)),
)
def test_elements_answer_for_themselves(path):
    """No room beyond ``model`` asks of which class an element or a kind of joint is."""
    known = {*subclasses(Element), *subclasses(JointKind)} - {Force, Constraint, Switched, Chain}
    names = {each.__name__ for each in known if each.__module__.startswith("mechgraph.model")}
    calls = (node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call))
    asked = [ast.unparse(call.args[1]) for call in calls if ast.unparse(call.func) == "isinstance"]
    assert not [each for each in asked if {*re.findall(r"\w+", each)} & names]


def subclasses(kind: type) -> set[type]:
    return {kind}.union(*map(subclasses, kind.__subclasses__()))


def _own(path: Path) -> set[str]:
    return {other.stem for other in path.parent.glob("*.py")} | {path.parent.name}


def test_public_names():
    found = [name for name, value in vars(mg).items() if not name.startswith("_")]
    assert sorted(name for name in found if not inspect.ismodule(getattr(mg, name))) == sorted(
        PUBLIC
    )


def test_the_verbs_of_equations():
    found = {name for name in dir(mg.Equations) if not name.startswith("_")}
    attributes = {"closure", "numeric", "terms"}
    assert found | attributes == {*VERBS, *NOUNS.split()}
    assert len(VERBS) < 42  # what few ask for has a room of its own: ``eqs.robotics``


def test_a_loaded_library_is_small():
    """Nothing heavy is loaded before it is used."""
    heavy = ("sympy", "matplotlib", "pandas")
    code = f"import sys, mechgraph; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# --- signatures -----------------------------------------------------------------------------------


@pytest.mark.parametrize("word", [*kinds.JOINTS, *kinds.FORCES, *kinds.CONSTRAINTS])
def test_every_word_has_its_signature(word):
    """The method's arguments are those of the class, and each has its meaning in the docstring."""
    kind = {**kinds.JOINTS, **kinds.FORCES, **kinds.CONSTRAINTS}[word]
    method = getattr(mg.System, word)
    options = inspect.signature(JointOptions).parameters
    common = {"parent", "child", *options} if word in kinds.JOINTS else set()
    given = set(inspect.signature(method).parameters) - {"self", "name", *common}
    own = set(inspect.signature(kind).parameters) - {"name"}
    assert given == own
    meaning = inspect.getdoc(method) + inspect.getdoc(kind)
    for argument in own - {"a", "b", "surface", "base", "at"}:
        assert re.search(rf"\b{argument}\b", meaning), argument


def test_what_type_checkers_read_is_up_to_date():
    """Else: python -m mechgraph.model.element_stub."""
    assert element_stub.FILE.read_text(encoding="utf-8") == element_stub.stub()


@pytest.mark.parametrize("verb", [name for name in dir(Robotics) if name[0] != "_"])
def test_robotics_is_told_like_the_verbs(verb):
    """Docstrings, and arguments in the order of the others."""
    method = getattr(Robotics, verb)
    names = list(inspect.signature(method).parameters)
    given = [name for name in names if name in ORDER]
    assert inspect.getdoc(method)
    assert given == sorted(given, key=ORDER.index)


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_a_docstring_and_names_its_arguments(verb):
    method = getattr(mg.Equations, verb)
    signature = inspect.signature(method)
    assert all(p.kind is not p.VAR_KEYWORD for p in signature.parameters.values())
    assert inspect.getdoc(method)


def test_arguments_come_in_one_order():
    """q, u, (udot,) t, inputs, parameters, wherever they stand."""
    for verb in VERBS:
        names = list(inspect.signature(getattr(mg.Equations, verb)).parameters)
        given = [name for name in names if name in ORDER]
        if verb in ("observe",):  # where u̇ is rarely given
            given.remove("udot")
        assert given == sorted(given, key=ORDER.index), verb


WRONG = """
import mechgraph as mg
s = mg.System("s")
b = s.body("b", mass=1.0, inertia=(1, 1, 1))
s.revolut("j", s.ground, b)
s.revolute("j", s.ground, b, axs="y")
s.equations().simulate(1.0, rtoll=1e-3)
s.revolute("k", s.ground, b, axis="y", at=(0, 0, 1))
s.equations().simulate(1.0, {"j": 1.0}, rtol=1e-3)
"""


def test_a_type_checker_refuses_wrong_calls(tmp_path):
    (tmp_path / "wrong.py").write_text(WRONG)
    command = [
        sys.executable,
        "-m",
        "mypy",
        "--config-file",
        str(ROOT / "pyproject.toml"),
        "wrong.py",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    lines = re.findall(r"wrong\.py:(\d+): error", done.stdout)
    assert lines == ["5", "6", "7"], done.stdout


def test_public_objects_say_what_they_are():
    s = mg.System("arm", gravity=(0, 0, -9.81))
    rod = s.body("rod", mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    hinge = s.revolute("hinge", s.ground, rod, axis="y")
    ball = mg.Sphere(rod, 0.1)
    e = s.equations()
    run = e.simulate(0.1, {"hinge": 0.1}, step=0.1)
    objects = [
        s, s.snapshot(), rod, hinge, ball, s.topology(), e, e.terms, e.terms.symbols, run,
        e.linearize(), e.rollout([[0.1]], [[0.0]], step=0.1, steps=1), e.names.resolve("hinge'"),
        e.terms.chart, mg.Friction(0.3), mg.rot("x", "a"), mg.FORMALISMS["absolute"],
        mg.agreement(s, states=1), mg.Event("hinge"),
    ]  # fmt: skip
    for each in objects:
        text = repr(each)
        assert len(text) < 400, text
        assert text.count("\n") < 3, text
        assert " object at 0x" not in text, text
