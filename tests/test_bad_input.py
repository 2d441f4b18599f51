"""Bad input: every error is of the one family, names the element and the fix, and all problems come
at once."""

from __future__ import annotations

import math

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mechgraph as mg
from mechgraph.model.contact.surfaces import SURFACES

INERTIA = (0.1, 0.1, 0.1)


def good() -> mg.System:
    """Two bodies, a loop, an input, a parameter, a marker: everything right."""
    s = mg.System("good", gravity=(0, 0, -9.81))
    a, b = (s.body(name, mass=1.0, com=(0, 0, -0.5), inertia=INERTIA) for name in "ab")
    s.revolute("hinge", s.ground, a, axis="y")
    s.spherical("ball", a, b, at=(0, 0, -1))
    s.torque("motor", "hinge", s.parameter("gain", 1.0) * s.input("w"))
    s.marker("tip", b, (0, 0, -1))
    return s


def geared() -> mg.System:
    """The same with two shafts beside each other."""
    s = good()
    for k, name in enumerate(("pinion", "wheel")):
        s.revolute(
            name, s.ground, s.body(f"{name} disc", 1.0, inertia=INERTIA), at=(0.11 * k, 2, 0)
        )
    return s


def problems(s: mg.System, spoil=lambda s: None) -> list[str]:
    """What is said of a system that is spoiled: at the wrong call, or when it is used."""
    with pytest.raises(mg.ModelError) as error:
        spoil(s)
        s.equations()
    assert isinstance(error.value, mg.MechgraphError)
    return error.value.problems


# --- descriptions ---------------------------------------------------------------------------------

DESCRIPTIONS = {
    # what is done to the good system: (what the message must say)
    "missing mass": (lambda s: s.body("c", inertia=INERTIA), ["body 'c'", "mass", "frame()"]),
    "missing inertia": (
        lambda s: s.body("c", mass=1.0),
        ["body 'c'", "inertia", "0 for a point mass"],
    ),
    "zero mass": (lambda s: joined(s, mass=0.0), ["body 'c'", "positive", "frame()"]),
    "negative mass": (lambda s: joined(s, mass=-2.0), ["body 'c'", "positive", "-2"]),
    "NaN mass": (lambda s: joined(s, mass=np.nan), ["body 'c'", "mass", "finite"]),
    "infinite com": (lambda s: joined(s, com=(0, np.inf, 0)), ["body 'c'", "com", "finite"]),
    "triangle": (
        lambda s: joined(s, inertia=(1, 1, 3)),
        ["body 'c'", "triangle inequality", "allow_unphysical"],
    ),
    "negative inertia": (
        lambda s: joined(s, inertia=(1, 1, -0.1)),
        ["body 'c'", "negative", "inertia_about"],
    ),
    "asymmetric inertia": (
        lambda s: joined(s, inertia=[[1, 0.1, 0], [0, 1, 0], [0, 0, 1]]),
        ["body 'c'", "symmetric"],
    ),
    "four inertias": (lambda s: joined(s, inertia=(1, 1, 1, 0)), ["body 'c'", "3 numbers", "6"]),
    "inertia about nothing": (
        lambda s: joined(s, inertia_about="centre"),
        ["body 'c'", "'com' or 'origin'", "centre"],
    ),
    "two numbers": (lambda s: joined(s, com=(1, 2)), ["body 'c'", "com", "3 numbers", "got 2"]),
    "time in a mass": (lambda s: joined(s, mass=1 + s.time), ["body 'c'", "time"]),
    "input in a mass": (
        lambda s: joined(s, mass=1 + s.inputs["w"]),
        ["body 'c'", "input 'w'", "forces only"],
    ),
    "zero axis": (lambda s: extra(s, axis=(0, 0, 0)), ["joint 'extra'", "axis", "zero"]),
    "long axis": (
        lambda s: extra(s, axis=(0, 3, 4)),
        ["joint 'extra'", "length 5", "(0, 0.6, 0.8)"],
    ),
    "axis letter": (lambda s: extra(s, axis="w"), ["joint 'extra'", "'w'", "'x', 'y', 'z'"]),
    "turning axis": (
        lambda s: extra(s, axis=(mg.cos(s.time), mg.sin(s.time), 0)),
        ["joint 'extra'", "time", "orientation="],
    ),
    "long axis by parameter": (
        lambda s: extra(s, axis=(0, 2 * s.parameters["gain"], 0)),
        ["joint 'extra'", "length 2"],
    ),
    "pitch in time": (
        lambda s: extra(s, "screw", pitch=s.time),
        ["joint 'extra'", "pitch", "time"],
    ),
    "no pitch": (
        lambda s: extra(s, "screw", pitch=0),
        ["joint 'extra'", "pitch is zero", "revolute"],
    ),
    "pitch missing": (lambda s: extra(s, "screw"), ["joint 'extra'", "'pitch'", "it takes"]),
    "skew universal": (
        lambda s: extra(s, "universal", second_axis=(0.6, 0.8, 0)),
        ["joint 'extra'", "perpendicular"],
    ),
    "no rotation": (
        lambda s: extra(s, orientation=[[1, 0, 0], [0, 1, 0], [0, 0, 2]]),
        ["joint 'extra'", "not a rotation"],
    ),
    "mirror": (
        lambda s: extra(s, orientation=[[1, 0, 0], [0, 1, 0], [0, 0, -1]]),
        ["joint 'extra'", "determinant +1"],
    ),
    "quaternion": (
        lambda s: extra(s, orientation=(1, 1, 0, 0)),
        ["joint 'extra'", "norm", "divide"],
    ),
    "input in a place": (
        lambda s: extra(s, at=(s.inputs["w"], 0, 0)),
        ["joint 'extra'", "input 'w'"],
    ),
    "option": (lambda s: extra(s, axsi="y"), ["joint 'extra'", "'axsi'", "did you mean 'axis'"]),
    "cut": (lambda s: extra(s, cut="yes"), ["joint 'extra'", "cut", "True, False or None"]),
    "to itself": (lambda s: s.revolute("extra", "a", "a"), ["joint 'extra'", "'a'", "itself"]),
    "cut bridge": (lambda s: extra(s, cut=True), ["joint 'extra'", "no loop"]),
    "unknown body": (
        lambda s: s.revolute("extra", "gruond", "a"),
        ["joint 'extra'", "'gruond'", "did you mean 'ground'"],
    ),
    "foreign body": (
        lambda s: s.revolute("extra", good().bodies["a"], "a"),
        ["joint 'extra'", "'a'", "another system"],
    ),
    "spring in a ball": (
        lambda s: extra(s, "spherical", stiffness=1.0),
        ["joint 'extra'", "scalar coordinates"],
    ),
    "spring in nothing": (
        lambda s: extra(s, "fixed", damping=1.0),
        ["joint 'extra'", "coordinate"],
    ),
    "springs too many": (
        lambda s: extra(s, "planar", stiffness=(1.0, 2.0)),
        ["stiffness", "3 numbers", "got 2"],
    ),
    "chain of nothing": (
        lambda s: s.joint("extra", "a", "ground", None),
        ["joint 'extra'", "list", "mg.rot"],
    ),
    "chain of numbers": (
        lambda s: s.joint("extra", "a", "ground", [1, 2]),
        ["joint 'extra'", "mg.rot"],
    ),
    "chain with one name": (
        lambda s: s.joint("extra", "a", "ground", [mg.rot("x", "q"), mg.move("x", "q")]),
        ["joint 'extra'", "same coordinate name"],
    ),
    "name taken": (lambda s: s.marker("motor", "a"), ["marker 'motor'", "taken"]),
    "name of a speed": (lambda s: s.marker("hinge'", "a"), ["hinge'", "rename"]),
    "name of a coordinate": (lambda s: extra(s, "revolute", name="ball.q0"), ["ball.q0", "rename"]),
    "name of a rate": (lambda s: s.output("v'", lambda m: m.time), ["output", "v'", "rate"]),
    "name of a velocity": (lambda s: s.marker("tip'", "b"), ["marker", "tip'", "rate"]),
    "output called t": (lambda s: s.output("t", lambda m: m.time), ["output 't'", "time"]),
    "output called time": (lambda s: s.output("time", lambda m: m.time), ["'time'", "time"]),
    "parameter called t": (lambda s: s.parameter("t", 3.0), ["parameter 't'", "rename"]),
    "input called t": (lambda s: s.input("t"), ["input 't'", "rename"]),
    "joint called time": (lambda s: extra(s, name="time"), ["joint 'time'", "rename"]),
    "constraint called t": (lambda s: s.distance("t", "tip", "ground", 1.0), ["'t'", "rename"]),
    "name of a body's place": (
        lambda s: s.output("body a", lambda m: m.time),
        ["'body a'", "rename"],
    ),
    "no name": (lambda s: s.body("", 1.0, inertia=INERTIA), ["needs a name"]),
    "loose bodies": (
        lambda s: (s.body("c", 1.0, inertia=INERTIA), s.frame("d")),
        ["ground", "'c', 'd'", "free()"],
    ),
    "moving marker": (
        lambda s: s.marker("m", "a", (s.time, 0, 0)),
        ["marker 'm'", "time", "driven joint"],
    ),
    "marker nowhere": (lambda s: s.marker("m", "c"), ["marker 'm'", "unknown body or marker 'c'"]),
    "marker on a joint": (
        lambda s: s.marker("m", s.joints["hinge"]),
        ["marker 'm'", "body or marker"],
    ),
    "foreign symbol": (
        lambda s: joined(s, mass=1 + good().parameters["gain"]),
        ["body 'c'", "'gain'", "of this system"],
    ),
    "foreign gravity": (
        lambda s: setattr(s, "gravity", (0, 0, good().parameters["gain"])),
        ["gravity", "'gain'"],
    ),
    "gravity": (lambda s: setattr(s, "gravity", (0, -9.81)), ["gravity", "3 numbers"]),
    "parameter of parameters": (
        lambda s: s.parameter("p", 2 * s.parameters["gain"]),
        ["parameter 'p'", "number"],
    ),
    "torque on nothing": (
        lambda s: s.torque("t", "hing", 1.0),
        ["'t'", "'hing'", "did you mean 'hinge'"],
    ),
    "spring on nothing": (
        lambda s: s.spring_damper("k", "tip", "tpi", 1.0),
        ["'k'", "'tpi'", "did you mean 'tip'"],
    ),
    "foreign spring": (
        lambda s: s.spring_damper("k", "tip", good().markers["tip"], 1.0),
        ["'k'", "another system"],
    ),
    "force of two": (lambda s: s.force("f", "tip", (1, 2)), ["'f'", "3 numbers"]),
    "force frame": (
        lambda s: s.force("f", "tip", (1, 2, 3), frame="local"),
        ["'f'", "'world' or 'body'", "local"],
    ),
    "force too many": (
        lambda s: s.force("f", "tip", (1, 2, 3), "world", 4),
        ["'f'", "too many", "it takes"],
    ),
    "distance": (lambda s: s.distance("d", "tip", "ground", 0.0), ["'d'", "positive", "spherical"]),
    "distance without length": (
        lambda s: s.distance("d", "tip", "ground"),
        ["'d'", "'length'", "it takes"],
    ),
    "coupling of nothing": (lambda s: s.coupling("c", {}), ["'c'", "at least one"]),
    "coupling of unknown": (
        lambda s: s.coupling("c", {"hinge": 1, "elbow": 2}),
        ["'c'", "'elbow'", "hinge"],
    ),
    "coupling of a list": (lambda s: s.coupling("c", [1, 2]), ["'c'", "mapping"]),
    "servo of unknown": (lambda s: s.servo("c", "elbow", 0), ["'c'", "'elbow'"]),
    "two levels": (lambda s: s.constrain("c", position=len, velocity=len), ["'c'", "exactly one"]),
    "no level": (lambda s: s.constrain("c"), ["'c'", "exactly one"]),
    "no function": (lambda s: s.constrain("c", position=0.0), ["'c'", "function of the motion"]),
    "output": (lambda s: s.output("o", 5), ["output 'o'", "function of the motion"]),
    "own without a name": (lambda s: s.add(Own(None)), ["Own needs a name", "None"]),
    "radius by parameter": (
        lambda s: touched(s, "roll", radius=s.parameter("r", -0.1)),
        ["'c'", "radius", "positive", "-0.1"],
    ),
    "friction by parameter": (
        lambda s: touched(s, "slide", friction=s.parameter("mu", -1)),
        ["'c'", "coulomb", "negative"],
    ),
    "exponent zero": (
        lambda s: touched(s, "compliant_contact", stiffness=1e4, exponent=0),
        ["'c'", "exponent", "positive"],
    ),
    "driving damper": (
        lambda s: touched(s, "compliant_contact", stiffness=1e4, damping=-1),
        ["'c'", "damping", "negative"],
    ),
}


class Own(mg.Constraint):
    """A constraint of the user's own, with the rows that ``velocity`` gives."""

    def __init__(self, velocity, name: str | None = "c") -> None:
        if velocity is not None:
            self.name, self.velocity = name, velocity


class OwnForce(mg.Force):
    """A force of the user's own, with the actions that ``acting`` gives."""

    name = "f"

    def __init__(self, acting) -> None:
        self.nonconservative = acting


def touched(s: mg.System, kind: str, radius=0.1, **options) -> None:
    """A contact with something wrong about it."""
    getattr(s, kind)("c", mg.Sphere(s.bodies["b"], radius), mg.Plane(s.ground), **options)


def joined(s: mg.System, **options) -> None:
    """A third body with something wrong about it, joined."""
    s.free("joined", s.ground, s.body("c", **({"mass": 1.0, "inertia": INERTIA} | options)))


def extra(s: mg.System, kind: str = "revolute", name: str = "extra", **options) -> None:
    """A joint with something wrong about it."""
    getattr(s, kind)(name, s.ground, s.body("c", mass=1.0, inertia=INERTIA), **options)


@pytest.mark.parametrize("what", DESCRIPTIONS)
def test_a_wrong_description_is_named_with_its_fix(what):
    spoil, words = DESCRIPTIONS[what]
    (problem,) = problems(good(), spoil)
    for word in words:
        assert word in problem
    assert "casadi" not in problem.lower()


def test_the_good_system_is_good():
    good().equations()


def test_all_problems_of_the_whole_come_at_once():
    """What a call alone does not show is collected: numbers by parameters, names told before or
    after, what hangs on nothing."""
    s = mg.System("wrong in many ways")
    s.body("light", mass=0.0, inertia=INERTIA)
    s.body("odd", mass=1.0, inertia=(1, 1, 5))
    s.body("loose", mass=1.0, inertia=INERTIA)
    s.revolute("one", "ground", "light", axis=(0, 2 * s.parameter("a", 1.0), 0))
    s.revolute("two", "light", "odd")
    s.torque("motor", "three", 1.0)
    s.marker("m", "odd", at=(s.time, 0, 0))
    with pytest.raises(mg.ModelError) as error:
        s.check()
    found = error.value.problems
    for culprit in ("'light'", "'odd'", "'loose'", "'one'", "'three'", "marker 'm'"):
        assert any(culprit in problem for problem in found), culprit
    assert len(found) == 6
    assert str(error.value).startswith("6 problems:")


def test_a_wrong_call_complains_where_it_stands_and_leaves_the_system_as_it_was():
    s = good()
    before = s.snapshot()
    for wrong in (
        lambda: s.body("c", inertia=INERTIA),
        lambda: s.revolute("extra", "a", "b", axis=(0, 0, 3)),
        lambda: s.revolute("extra", "a", "b", axs="y"),
        lambda: s.spherical("extra", "a", "b", stiffness=1.0),
        lambda: s.marker("tip", "a"),
        lambda: s.distance("rod", "tip", "ground", -1.0),
    ):
        with pytest.raises(mg.ModelError):
            wrong()
    assert s.snapshot() is before
    s.equations()


def test_a_system_without_bodies():
    assert problems(mg.System("empty")) == ["the system has no bodies; add one with body()"]


# --- wrong types, everywhere ----------------------------------------------------------------------

WRONG = [
    None,
    "x",
    b"abc",
    [1, 2],
    {},
    {1: 2, 3: 4, 5: 6},
    float("nan"),
    1j,
    object(),
    lambda m: 0,
    [[1, 2], [3]],
    ["a", "b", "c"],
]
ALLOWED = {
    ("orientation", None),
    ("child_orientation", None),
    ("cut", None),
    ("axis", "x"),
    ("name", "x"),
}


def allowed(argument: str, value: object) -> bool:
    return isinstance(value, (str, type(None))) and (argument, value) in ALLOWED


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:12])
@pytest.mark.parametrize("argument", ["name", "mass", "com", "inertia", "inertia_about"])
def test_wrong_types_in_a_body(argument, value):
    if allowed(argument, value):
        return
    s = good()
    options = {"name": "c", "mass": 1.0, "com": (0, 0, 0), "inertia": INERTIA} | {argument: value}
    assert problems(s, lambda s: s.free("joined", s.ground, s.body(**options)))


JOINT_ARGUMENTS = [
    *("name", "parent", "child", "axis", "at", "orientation", "child_at", "child_orientation"),
    *("stiffness", "damping", "rest", "cut"),
]


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:12])
@pytest.mark.parametrize("argument", JOINT_ARGUMENTS)
def test_wrong_types_in_a_joint(argument, value):
    if allowed(argument, value):
        return
    s = good()
    options = {
        "name": "k",
        "parent": "b",
        "child": s.body("c", 1.0, inertia=INERTIA),
        "stiffness": 1.0,
    } | {argument: value}
    assert problems(s, lambda s: s.revolute(**options))


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:12])
@pytest.mark.parametrize(
    "method", ["parameter", "input", "output", "marker", "frame", *mg.FORCES, *mg.CONSTRAINTS]
)
def test_wrong_types_in_everything_else(method, value):
    """The wrong value in the place of each argument in turn, the name included."""
    for k in range(len(right_arguments(good())[method])):
        s = geared() if "gears" in method else good()
        right = right_arguments(s)[method]
        fine = (k == 0 and value == "x") or (callable(value) and callable(right[k]))
        fine = fine or (
            callable(value) and method in ("torque", "force", "body_torque", "drive") and k == 2
        )
        fine = fine or (method == "drive" and k == 7 and value is None)
        fine = (
            fine
            or (value == "x" and right[k] in ("y", "z"))
            or (method == "rigid_contact" and k == 5 and value is None)
            or (method == "involute_gears" and k == 8 and value is None)
            or (method in ("belt", "elastic_belt") and k == 3 and repr(value) == "[1, 2]")
            or (method == "propeller" and k in (3, 4) and repr(value) == "[1, 2]")
            or (method == "hydraulic_cylinder" and k in (4, 5, 8) and repr(value) == "[1, 2]")
        )
        arguments = [value if i == k else argument for i, argument in enumerate(right)]
        if fine:
            getattr(s, method)(*arguments)
            continue
        with pytest.raises(mg.MechgraphError):
            getattr(s, method)(*arguments)
            e = s.equations()
            e.accelerations(*(e.assemble() if "gears" in method else ([0, 1, 0, 0, 0], [0] * 4)))


def right_arguments(s: mg.System) -> dict[str, tuple]:
    ball, floor = mg.Sphere(s.bodies["b"], 0.1), mg.Plane(s.ground)
    return {
        "parameter": ("p", 1.0),
        "input": ("i",),
        "output": ("o", lambda m: m.time),
        "marker": ("m", "a", (0, 0, 0)),
        "frame": ("f",),
        "spring_damper": ("e", "tip", "ground", 1.0, 1.0, 1.0),
        "torque": ("e", "hinge", 1.0),
        "force": ("e", "tip", (1, 2, 3), "world"),
        "body_torque": ("e", "tip", (1, 2, 3), "world"),
        "drive": ("e", "hinge", 1.0, 1.0, 1.0, 1.0, 1.0, 1.0),
        "backlash": ("e", {"hinge": 1.0}, 0.1, 1.0, 1.0, 1.0),
        "distance": ("e", "tip", "ground", 1.0),
        "coupling": ("e", {"hinge": 1.0}, 0.5),
        "servo": ("e", "hinge", 0.5),
        "constrain": ("e", lambda m: m.position("tip")[2]),
        "roll": ("e", ball, floor, True),
        "slide": ("e", ball, floor, 0.3),
        "knife_edge": ("e", "tip", "y"),
        "compliant_contact": ("e", ball, floor, 1e5, 1.5, 0.1, 0.3),
        "rope": ("e", ["tip", mg.Pulley("ground", 0.1), "a"], 1.0, 1e3, 1.0),
        "rigid_rope": ("e", ["tip", "ground"], 9.0, 0.5, 1e-5),
        "belt": ("e", "hinge", "ball.q1", (0.1, 0.2), True),
        "elastic_belt": ("e", "hinge", "ball.q1", (0.1, 0.2), 1e3, 1.0, 5.0, True),
        "rack_and_pinion": ("e", "hinge", "ball.q1", 0.1, 0.2),
        "elastic_coupling": ("e", {"hinge": 1.0}, 1e3, 1.0, 0.2),
        "involute_gears": ("e", "pinion", "wheel", (20, 35), 0.004, 1e6, 1.0, 0.35, 0.01),
        "rigid_gears": ("e", "pinion", "wheel", (20, 35), 0.004, 0.35),
        "ball_bearing": ("e", "tip", "ground", 6, 0.01, 0.04, 0.0104, 1e9, 1e-5, 1.0, 0.1),
        "omni_wheel": ("e", "tip", 0.1, "y", 0.1, "ground"),
        "tyre": ("e", "tip", 3.0, 1e3, mg.LinearTyre(1e3, 1e3), 1.0, "y", 0.1, "ground"),
        "drag": ("e", "tip", 0.1, 1.2, 0.1, (0, 0, 1), "ground"),
        "propeller": ("e", "tip", 0.3, 0.1, 0.01, 1.2, "ground"),
        "hydraulic_cylinder": ("e", "tip", "ground", 1, (1, 1), (1, 1), 1e9, 1.0, (1, 1), 1.0),
        "dc_motor": ("e", "hinge", 1.0, 1.0, 1.0, 1.0),
        "guide": ("e", "tip", "ground", mg.curves.Circle(0.5), 0.1),
        "bushing": ("e", "tip", "ground", (1,) * 6, (1,) * 6, (1,) * 6),
        "rigid_contact": ("e", ball, floor, 0.5, 0.3, 0.4, 1e-5, 1e-5, 0.2),
        "fixed_ideal_joint": ("e", "tip", "ground", "z"),
        "free_ideal_joint": ("e", "tip", "ground", "z"),
        "spring_ideal_joint": ("e", "tip", "ground", "z", 1.0, 1.0),
        "fixed_controlled_joint": ("e", "tip", "ground", lambda t, angle, rate: -angle),
        "free_slide_joint": ("e", "tip", "ground", "z"),
        "fixed_servo_joint": ("e", "tip", "ground", lambda t, angle, rate: -angle),
    }


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:12])
@pytest.mark.parametrize("kind", SURFACES)
def test_wrong_types_in_surfaces(kind, value):
    ground = mg.System().ground
    right = {
        "Point": (ground,),
        "Plane": (ground,),
        "Sphere": (ground, 1.0),
        "Ellipsoid": (ground, (1, 2, 3)),
        "Disc": (ground, 1.0),
        "Torus": (ground, 1.0, 0.2),
        "Roller": (ground, 0.1, 0.5),
        "Cylinder": (ground, 1.0, 2.0),
        "Capsule": (ground, 1.0, 2.0),
        "Box": (ground, (1, 2, 3)),
        "Implicit": (ground, lambda x, y, z: z, (0, 0, 0)),
    }[kind]
    for k, argument in enumerate(right):
        if (callable(value) and callable(argument)) or (
            kind == "Cylinder" and k == 2 and value is None
        ):
            continue
        with pytest.raises(mg.ModelError):
            made = SURFACES[kind](*(value if i == k else given for i, given in enumerate(right)))
            made.marker  # noqa: B018 (a name is no place outside of a system)


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:12])
def test_wrong_types_in_transitions(value):
    for make in (
        lambda: mg.rot(value, "a"),
        lambda: mg.move("z", value),
        lambda: mg.screw("z", value, "a"),
        lambda: mg.rot("z", value),
        lambda: mg.ball(value),
        lambda: mg.System().add(value),
    ):
        if isinstance(value, str):  # "x" is an axis and a name
            continue
        with pytest.raises(mg.MechgraphError):
            make()


def test_a_coordinates_name_has_letters():
    for name in ("", "a.b", "a'", "a b"):
        with pytest.raises(mg.ModelError, match="name"):
            mg.rot("z", name)


# --- functions of the motion ----------------------------------------------------------------------

FUNCTIONS = {
    "unknown place": (
        lambda s: s.force("f", "tip", lambda m: m.velocity("tipp")),
        ["'tipp'", "did you mean 'tip'"],
    ),
    "unknown joint": (
        lambda s: s.force("f", "tip", lambda m: (m.speed("hing"), 0, 0)),
        ["'hing'", "did you mean 'hinge'"],
    ),
    "two numbers": (lambda s: s.force("f", "tip", lambda m: (1, 2)), ["force 'f'", "3 numbers"]),
    "nothing": (lambda s: s.force("f", "tip", lambda m: None), ["force 'f'", "3 numbers"]),
    "accelerations": (
        lambda s: s.force("f", "tip", lambda m: -m.acceleration("tip")),
        ["force 'f'", "accelerations"],
    ),
    "foreign symbol": (
        lambda s: s.force("f", "tip", (good().parameters["gain"], 0, 0)),
        ["force 'f'", "'gain'"],
    ),
    "torque of two": (
        lambda s: s.torque("f", "ball", lambda m: (1, 2)),
        ["torque 'f'", "torque", "3 numbers"],
    ),
    "typo in a force": (
        lambda s: s.force("f", "tip", lambda m: m.speeds("tip")),
        ["force 'f'", "AttributeError", "'speeds'"],
    ),
    "if in a force": (
        lambda s: s.torque("f", "hinge", lambda m: 1 if m.time > 1 else 0),
        ["torque 'f'", "mg.if_else"],
    ),
    "NaN in a force": (
        lambda s: s.torque("f", "hinge", lambda m: m.time + math.sin(m.time)),
        ["torque 'f'", "NaN", "mg.sin"],
    ),
    "own force of nothing": (
        lambda s: s.add(OwnForce(lambda m: None)),
        ["OwnForce 'f'", "must be a list", "None"],
    ),
    "own force of numbers": (
        lambda s: s.add(OwnForce(lambda m: [1.0])),
        ["OwnForce 'f'", "mg.Wrench", "1.0"],
    ),
    "own force of two": (
        lambda s: s.add(OwnForce(lambda m: [mg.Effort("ball", [1, 2])])),
        ["OwnForce 'f'", "3 numbers", "2x1"],
    ),
    "own force nowhere": (
        lambda s: s.add(OwnForce(lambda m: [mg.Effort("hing", 1.0)])),
        ["OwnForce 'f'", "did you mean 'hinge'"],
    ),
    "typo": (
        lambda s: s.constrain("c", velocity=lambda m: m.speeds("b")),
        ["constrain 'c'", "AttributeError", "'speeds'"],
    ),
    "division": (lambda s: s.add(Own(lambda m: 1 / 0)), ["Own 'c'", "ZeroDivisionError"]),
    "if": (
        lambda s: s.constrain("c", position=lambda m: max(m.time, 0)),
        ["constrain 'c'", "mg.if_else"],
    ),
    "NaN": (
        lambda s: s.add(Own(lambda m: [("v", m.speed("hinge") + math.sin(m.time))])),
        ["Own 'c'", "NaN", "mg.sin"],
    ),
    "own of nothing": (
        lambda s: s.add(Own(lambda m: None)),
        ["Own 'c'", "velocity", "(label, expression)", "None"],
    ),
    "own bare": (
        lambda s: s.add(Own(lambda m: m.speed("hinge"))),
        ["Own 'c'", "(label, expression)"],
    ),
    "own of three": (
        lambda s: s.add(Own(lambda m: [("v", m.speed("hinge"), 1)])),
        ["Own 'c'", "(label, expression)"],
    ),
    "own vector": (
        lambda s: s.add(Own(lambda m: [("v", m.velocity("tip"))])),
        ["Own 'c'", "row 'v'", "3x1"],
    ),
    "own nowhere": (
        lambda s: s.add(Own(lambda m: [("v", m.velocity("tpi")[0])])),
        ["Own 'c'", "did you mean 'tip'"],
    ),
    "servo of a ball": (
        lambda s: s.servo("c", "ball", 1.0),
        ["servo 'c'", "one number", "4x1"],
    ),
    "constraint of nothing": (
        lambda s: s.constrain("c", position=lambda m: None),
        ["constrain 'c'", "None"],
    ),
    "constraint of text": (
        lambda s: s.constrain("c", position=lambda m: "z"),
        ["constrain 'c'", "'z'"],
    ),
    "position of velocities": (
        lambda s: s.constrain("c", position=lambda m: m.velocity("tip")[0]),
        ["constrain 'c'", "velocities", "level"],
    ),
    "velocity of accelerations": (
        lambda s: s.constrain("c", velocity=lambda m: m.acceleration("tip")[0]),
        ["constrain 'c'", "accelerations", "level"],
    ),
    "square of accelerations": (
        lambda s: s.constrain("c", acceleration=lambda m: m.acceleration("tip")[0] ** 2 - 1),
        ["constrain 'c'", "linear"],
    ),
    "input in a constraint": (
        lambda s: s.servo("c", "hinge", s.inputs["w"]),
        ["servo 'c'", "input", "function of time"],
    ),
    "foreign constraint": (
        lambda s: s.constrain(
            "c", position=lambda m: m.position("tip")[0] - good().parameters["gain"]
        ),
        ["constrain 'c'", "'gain'"],
    ),
    "foreign body": (
        lambda s: s.force("f", "tip", lambda m: m.velocity(OTHER.bodies["a"])),
        ["'a'", "another system"],
    ),
}
OTHER = good()


@pytest.mark.parametrize("what", FUNCTIONS)
def test_a_wrong_function_of_the_motion_is_named(what):
    spoil, words = FUNCTIONS[what]
    s = good()
    spoil(s)
    with pytest.raises(mg.ModelError) as error:
        s.equations().accelerations([0, 1, 0, 0, 0], [0, 0, 0, 0])
    for word in words:
        assert word in str(error.value)
    assert "casadi" not in str(error.value).lower()


def test_an_error_inside_is_told_as_it_is():
    """An AttributeError on the way to an attribute must not look as if that attribute were
    missing."""
    v = mg.variables(["a"], ["b"])
    terms = mg.Terms(v, M=[[1]], f=[0], supplied=lambda: object().typo)
    with pytest.raises(AttributeError, match="'typo'"):
        _ = terms.supplied


@pytest.mark.parametrize(
    ("g", "word"),
    [
        (lambda x, y: x, "TypeError"),
        (lambda x, y, z: z if x > 0 else -z, "mg.if_else"),
        (lambda x, y, z: z + math.sin(x), "mg.sin"),
        (lambda x, y, z: 1.0, "no slope"),
        (lambda x, y, z: z**2, "no slope"),
        (lambda x, y, z: [x, z], "one number"),
    ],
)
def test_a_wrong_surface_of_the_users_own_is_refused_at_once(g, word):
    with pytest.raises(mg.ModelError, match=word) as error:
        mg.Implicit(mg.System().ground, g)
    assert "g(x, y, z)" in str(error.value)


def test_a_row_without_a_slope_is_named_by_the_assembly():
    s = good()
    s.constrain("c", position=lambda m: mg.sqrt(-1 - m.coordinate("hinge") ** 2))
    with pytest.raises(mg.AssemblyError, match=r"not satisfied: c \(\+inf\)\. Give guess"):
        s.equations().assemble()
    s = good()
    s.constrain(
        "c",
        velocity=lambda m: (
            mg.sqrt(m.coordinate("hinge")) * m.speed("hinge") / m.coordinate("hinge")
        ),
    )
    with pytest.raises(mg.AssemblyError, match=r"not satisfied: rate of c \(\+inf\)\. Give guess"):
        s.equations().assemble()


def test_wrong_laws_of_friction_and_hollows_are_refused_at_once():
    for make, words in (
        (lambda: mg.Friction(0.3, static_friction=0.1), "static minus coulomb"),
        (lambda: mg.Friction(0.1, static_friction=0.2, stribeck=0), "stribeck must be positive"),
        (
            lambda: mg.Sphere(mg.System().ground, 1.0, inside="no"),
            "inside must be True or False, got 'no'",
        ),
    ):
        with pytest.raises(mg.ModelError, match=words):
            make()


def test_values_of_parameters_keep_the_limits_of_the_numbers_that_they_make_up():
    s = mg.System("ball", gravity=(0, 0, -9.81))
    s.free("p", s.ground, s.body("b", mass=1.0, inertia=INERTIA))
    mu = s.parameter("mu", 0.3) * (1 + s.time)  # what time makes of it is not looked at
    s.compliant_contact(
        "c", mg.Sphere(s.bodies["b"], s.parameter("r", 0.1)), mg.Plane(s.ground), 1e4, damping=mu
    )
    e = s.equations()
    q, u = e.assemble({"p.z": 0.1}, parameters={"mu": -1.0})
    for call in (
        lambda: e.simulate(0.1, {"p.z": 0.1}, parameters={"r": -0.1}),
        lambda: e.accelerations(q, u, parameters={"r": -0.1}),
        lambda: e.rollout(q, u, step=0.01, steps=1, parameters={"r": [0.1, -0.1]}),
    ):
        with pytest.raises(
            mg.ArgumentError,
            match=r"parameters: compliant_contact 'c': radius must be positive, got -0\.1",
        ):
            call()


HUGE = 10**400  # more than a float


def respond(w):
    return lambda e: e.linearize().response([0.0, 0.1], inputs={"w": w})


def sweep(e: mg.Equations, values) -> mg.SecondOrderSweep:
    return mg.SecondOrderSweep(lambda v: e.linearize(), values)


# --- calls ----------------------------------------------------------------------------------------

Q, U = [0.1, 1, 0, 0, 0], [0, 0, 0, 0]
CALLS = {
    "too few": (lambda e: e.accelerations([1.0], U), ["coordinates", "expected 5", "got 1"]),
    "too many": (lambda e: e.accelerations(Q, [0] * 5), ["speeds", "expected 4", "got 5"]),
    "one number": (lambda e: e.accelerations(3.0, U), ["coordinates", "single number"]),
    "NaN": (lambda e: e.accelerations([0, 1, 0, np.nan, 0], U), ["'ball.q2'", "finite"]),
    "NaN in a batch": (
        lambda e: e.accelerations(Q, [U, [0, 0, np.inf, 0]]),
        ["'ball.wy'", "finite"],
    ),
    "NaN time": (lambda e: e.accelerations(Q, U, np.nan), ["time", "finite"]),
    "unknown coordinate": (
        lambda e: e.accelerations({"hing": 1.0}, U),
        ["'hing'", "did you mean 'hinge'"],
    ),
    "unknown input": (lambda e: e.accelerations(Q, U, inputs={"v": 1.0}), ["'v'", "w"]),
    "unknown parameter": (
        lambda e: e.accelerations(Q, U, parameters={"gian": 1.0}),
        ["'gian'", "did you mean 'gain'"],
    ),
    "unknown joint": (lambda e: e.reaction("elbow", Q, U), ["'elbow'", "hinge"]),
    "unknown marker": (lambda e: e.position("top", Q), ["'top'", "did you mean 'tip'"]),
    "unknown in a start": (
        lambda e: e.assemble({"hing": 1.0, "ball": [1, 2]}),
        ["'hing'", "'ball' needs 4 numbers, got 2"],
    ),
    "NaN in a start": (lambda e: e.assemble({"hinge": np.nan}), ["'hinge'", "finite"]),
    "second prime": (lambda e: e.assemble({"hinge''": 1.0}), ["hinge''", "acceleration"]),
    "start quaternion": (lambda e: e.assemble({"ball": [1, 1, 0, 0]}), ["'ball'", "norm 1.41421"]),
    "pair quaternion": (lambda e: e.assemble(([0, 0, 0, 0, 0], U)), ["'ball.q0'", "norm 0"]),
    "start of three": (lambda e: e.assemble((Q, U, U)), ["(q, u)", "3"]),
    "start of many": (lambda e: e.assemble(([Q, Q], [U, U])), ["one state"]),
    "start list": (lambda e: e.assemble([Q, U]), ["start", "mapping"]),
    "guess": (
        lambda e: e.assemble({}, guess={"hing": 1.0}),
        ["guess", "'hing'", "did you mean 'hinge'"],
    ),
    "formalism": (lambda e: e.system.equations("newton"), ["'newton'", "newton-euler"]),
    "duration": (lambda e: e.simulate(-1.0), ["duration", "positive", "-1.0"]),
    "no duration": (lambda e: e.simulate(None), ["duration", "None"]),
    "step": (lambda e: e.simulate(1.0, step=0.0), ["step", "positive"]),
    "long step": (lambda e: e.simulate(1.0, step=3.0), ["whole number of steps"]),
    "rtol": (lambda e: e.simulate(1.0, rtol=0.0), ["rtol", "positive"]),
    "large rtol": (lambda e: e.simulate(1.0, rtol=2.0), ["rtol", "below one"]),
    "atol": (lambda e: e.simulate(1.0, atol="small"), ["atol", "'small'"]),
    "method": (lambda e: e.simulate(1.0, method="euler"), ["'euler'", "rk8"]),
    "stabilization": (lambda e: e.simulate(1.0, stabilization="glue"), ["'glue'", "projection"]),
    "inputs": (lambda e: e.simulate(1.0, inputs={"v": 1.0}), ["'v'", "w"]),
    "input of a string": (
        lambda e: e.simulate(1.0, inputs={"w": "sin(t)"}),
        ["input 'w'", "function of t"],
    ),
    "NaN input": (lambda e: e.simulate(1.0, inputs={"w": np.nan}), ["input 'w'", "finite"]),
    "foreign input": (
        lambda e: e.simulate(1.0, inputs={"w": mg.sin(good().time)}),
        ["input 'w'", "time"],
    ),
    "parameters": (lambda e: e.simulate(1.0, parameters={"gain": np.nan}), ["'gain'", "finite"]),
    "many parameters": (
        lambda e: e.simulate(1.0, parameters={"gain": [1, 2]}),
        ["parameters", "one number"],
    ),
    "events": (lambda e: e.simulate(1.0, events=[lambda m: m.time]), ["events", "mapping"]),
    "event": (
        lambda e: e.simulate(1.0, events={"e": 3.0}),
        ["event 'e'", "function of the motion"],
    ),
    "event of three": (
        lambda e: e.simulate(1.0, events={"e": lambda m: m.position("tip")}),
        ["event 'e'", "one number", "3"],
    ),
    "event of nowhere": (
        lambda e: e.simulate(1.0, events={"e": lambda m: m.position("top")[0]}),
        ["'top'", "tip"],
    ),
    "event direction": (
        lambda e: e.simulate(1.0, events={"e": mg.Event(lambda m: m.time, 2)}),
        ["'e'", "-1, 0 or 1"],
    ),
    "t0": (lambda e: e.simulate(1.0, t="now"), ["t must be", "'now'"]),
    "observe": (lambda e: e.observe(5, Q, U), ["function of the motion", "5"]),
    "observe nothing": (lambda e: e.observe(lambda m: None, Q, U), ["quantity", "None"]),
    "inverse": (lambda e: e.inverse_dynamics(Q), ["Trajectory", "udot"]),
    "load": (lambda e: mg.load_run("nowhere.npz"), ["nowhere.npz"]),
    "C nowhere": (lambda e: e.export_c("nowhere/at_all"), ["nowhere", "No such file"]),
    "equilibrium hold": (
        lambda e: e.equilibrium(hold=["hing"]),
        ["hold", "'hing'", "did you mean 'hinge'"],
    ),
    "observe a typo": (
        lambda e: e.observe(lambda m: m.speeds("tip"), Q, U),
        ["quantity", "AttributeError", "'speeds'"],
    ),
    "observe NaN": (
        lambda e: e.observe(lambda m: m.time + math.sin(m.time), Q, U),
        ["quantity", "NaN", "mg.sin"],
    ),
    "event that divides": (
        lambda e: e.simulate(1.0, events={"e": lambda m: 1 / 0}),
        ["quantity", "ZeroDivisionError"],
    ),
    "equilibrium near a number": (lambda e: e.equilibrium(3), ["guess", "mapping", "3"]),
    "equilibria": (lambda e: e.equilibrium(parameters={"gain": [1, 2]}), ["one state", "rollout"]),
    "equilibria of inputs": (
        lambda e: e.equilibrium(inputs={"w": [1, 2]}),
        ["one state", "rollout"],
    ),
    "hold nothing": (lambda e: e.steady(hold=None), ["hold", "list of names", "None"]),
    "hold the unknown": (
        lambda e: e.steady(hold=["hing"]),
        ["hold", "'hing'", "did you mean 'hinge'"],
    ),
    "hold a quaternion": (
        lambda e: e.steady(hold=["ball.q0"]),
        ["hold", "'ball.q0'", "'ball' as a whole"],
    ),
    "response to NaN": (respond(lambda t: math.nan), ["input 'w'", "t = 0", "got nan"]),
    "response to nothing": (respond(lambda: 1.0), ["input 'w' failed at t = 0", "TypeError"]),
    "response to None": (respond(lambda t: None), ["input 'w' failed at t = 0", "got None"]),
    "response to a failure": (respond(lambda t: 1 / 0), ["input 'w'", "ZeroDivisionError"]),
    "response for ever": (lambda e: e.linearize().response([0, HUGE]), ["times", "numbers"]),
    "response to a huge frequency": (
        lambda e: e.linearize().frequency_response([HUGE]),
        ["frequencies", "numbers"],
    ),
    "response of one name": (
        lambda e: e.linearize().frequency_response([1.0])["hinge"],
        ["a name and an input", "'hinge'"],
    ),
    "plot by numbers": (
        lambda e: e.linearize().frequency_response([1.0]).plot(by=np.array([1, 2])),
        ["unknown input", "Known: w"],
    ),
    "huge weights": (lambda e: e.linearize().lqr(HUGE, 1), ["Q", "symmetric"]),
    "huge gain": (lambda e: e.linearize().feedback(HUGE), ["K", "finite"]),
    "wrong rate of lqr": (lambda e: e.linearize().lqr_gain(1, 1, "x"), ["rate", "positive"]),
    "sweep of a number": (lambda e: mg.SecondOrderSweep(3, [1.0]), ["model", "not callable"]),
    "sweep of None": (lambda e: mg.SecondOrderSweep(lambda v: None, [1.0]), ["linear model"]),
    "sweep over letters": (lambda e: sweep(e, ["a"]), ["values", "growing", "'a'"]),
    "sweep over nothing": (lambda e: sweep(e, []), ["values", "growing"]),
    "sweep that fails": (
        lambda e: mg.SecondOrderSweep(lambda v: 1 / 0, [2.0], "speed"),
        ["speed = 2", "ZeroDivisionError"],
    ),
    "sweep with one name": (
        lambda e: mg.SecondOrderSweep(lambda v: e.linearize(), [1], names=3),
        ["names"],
    ),
    "polynomial of no matrix": (lambda e: sweep(e, [1, 2]).polynomial("Q"), ["'Q'", "Known: C"]),
    "polynomial of no degree": (lambda e: sweep(e, [1]).polynomial("A", "x"), ["degree='x'"]),
    "sweep at a letter": (lambda e: sweep(e, [1, 2]).at("x"), ["second-order models"]),
    "outputs": (lambda e: e.linearize(outputs="hinge"), ["output", "list of names", "'hinge'"]),
    "output of a list": (lambda e: e.linearize(outputs=[["hinge"]]), ["output", "['hinge']"]),
    "independent": (
        lambda e: e.linearize(independent=3),
        ["coordinate or speed", "list of names", "3"],
    ),
    "independent twice": (
        lambda e: e.linearize(independent=["hinge"] * 8),
        ["coordinate or speed", "twice"],
    ),
    "linear models": (lambda e: e.linearize(inputs={"w": [1, 2]}), ["one state", "rollout"]),
    "rollout step": (
        lambda e: e.rollout(Q, U, step="a", steps=1),
        ["step", "positive number", "'a'"],
    ),
    "rollout t0": (lambda e: e.rollout(Q, U, step=0.1, steps=1, t=None), ["t must be", "None"]),
    "out": (lambda e: e.jacobian("accelerations", ("q", "u"), Q, U, out=3), ["out", "arrays"]),
    "agreement of none": (lambda e: mg.agreement(None), ["System", "None"]),
    "agreement at text": (lambda e: mg.agreement(e.system, states="x"), ["whole", "states='x'"]),
    "agreement at parts": (lambda e: mg.agreement(e.system, states=1.5), ["whole", "states=1.5"]),
    "agreement seed": (lambda e: mg.agreement(e.system, states=1, seed=-1), ["whole", "seed=-1"]),
    "agreement of a number": (
        lambda e: mg.agreement(e.system, formalisms=3),
        ["formalism", "list of names", "3"],
    ),
    "agreement of numbers": (
        lambda e: mg.agreement(e.system, formalisms=[3]),
        ["formalism", "3", "kane"],
    ),
    "a symbol as state": (lambda e: e.rhs(0, ca.SX.sym("y", 9)), ["y: expected 9", "hinge"]),
    "texts as state": (lambda e: e.rhs(0, ["x"] * 9), ["y: expected 9", "'x'"]),
    "too few as state": (lambda e: e.rhs(0, [0.0]), ["y: expected 9", "got 1"]),
    "steps without end": (
        lambda e: e.rollout(Q, U, step=0.1, steps=10**12),
        ["steps", "at most 100,000,000", "larger step"],
    ),
    "steps beyond numbers": (
        lambda e: e.rollout(Q, U, step=0.1, steps=10**400),
        ["steps", "at most 100,000,000"],
    ),
    "particles of a list": (lambda e: good().particles(["a"]), ["places", "mapping", "['a']"]),
    "rows of two lengths": (
        lambda e: mg.table([0, 1], [0, 1], [[0, 1], [2]]),
        ["a row for each x", "2 by 2"],
    ),
    "function that is a list": (
        lambda e: e.export_c("x.c", functions=[["a"]]),
        ["function", "['a']", "accelerations"],
    ),
    "a gear beyond numbers": (
        lambda e: geared().rigid_gears("g", "pinion", "wheel", (10**400, 2), 0.01),
        ["plain numbers"],
    ),
    "a file's name too long": (lambda e: mg.from_urdf("x" * 300 + ".urdf"), ["no such file"]),
    "a rate that is none": (
        lambda e: mg.Controller(lambda t: 1.0, "time", rate="x"),
        ["rate", "positive number", "'x'"],
    ),
    "states that are none": (
        lambda e: mg.Controller(lambda t: 1.0, "time", states=3),
        ["states", "mapping", "3"],
    ),
    "a law written otherwise": (
        lambda e: mg.Controller(lambda t: 1.0, "numbers"),
        ["written", "'motion'", "'numbers'"],
    ),
    "samples without end": (
        lambda e: e.simulate(0.01, inputs={"w": mg.sampled(lambda t: 1.0, 1e300)}),
        ["1e+300 samples", "10,000,000", "lower rate"],
    ),
    "samples of pid without end": (
        lambda e: e.simulate(0.01, inputs={"w": mg.pid("hinge", kp=1.0, rate=2**63)}),
        ["samples", "10,000,000", "lower rate"],
    ),
}


@pytest.fixture(scope="module")
def equations() -> mg.Equations:
    return good().equations()


@pytest.mark.parametrize("what", CALLS)
def test_a_wrong_call_is_named_with_its_fix(equations, what):
    call, words = CALLS[what]
    with pytest.raises(mg.MechgraphError) as error:
        call(equations)
    for word in words:
        assert word in str(error.value)
    assert "casadi" not in str(error.value).lower()


@pytest.mark.parametrize("value", WRONG, ids=lambda value: repr(value)[:12])
def test_wrong_types_in_calls(equations, value):
    e = equations
    calls = {
        "q": lambda: e.accelerations(value, U),
        "u": lambda: e.accelerations(Q, value),
        "t": lambda: e.accelerations(Q, U, value),
        "inputs": lambda: e.accelerations(Q, U, inputs=value),
        "parameters": lambda: e.accelerations(Q, U, parameters=value),
        "reaction": lambda: e.reaction(value, Q, U),
        "position": lambda: e.position(value, Q),
        "rotation": lambda: e.rotation(value, Q),
        "observe": lambda: e.observe(value, Q, U),
        "start": lambda: e.assemble(value),
        "start value": lambda: e.assemble({"hinge": value}),
        "start speed": lambda: e.assemble({"hinge'": value}),
        "guess": lambda: e.assemble({}, guess=value),
        "assembly time": lambda: e.assemble({}, t=value),
        "duration": lambda: e.simulate(value),
        "step": lambda: e.simulate(0.1, step=value),
        "rtol": lambda: e.simulate(0.1, rtol=value),
        "atol": lambda: e.simulate(0.1, atol=value),
        "method": lambda: e.simulate(0.1, method=value),
        "stabilization": lambda: e.simulate(0.1, stabilization=value),
        "baumgarte": lambda: e.simulate(0.1, stabilization="baumgarte", baumgarte=value),
        "run inputs": lambda: e.simulate(0.1, inputs=value),
        "run input": lambda: e.simulate(0.1, inputs={"w": value}),
        "run parameters": lambda: e.simulate(0.1, parameters=value),
        "run parameter": lambda: e.simulate(0.1, parameters={"gain": value}),
        "events": lambda: e.simulate(0.1, events=value),
        "event": lambda: e.simulate(0.1, events={"e": value}),
        "direction": lambda: e.simulate(
            0.1, events={"e": mg.Event(lambda m: m.time, direction=value)}
        ),
        "t0": lambda: e.simulate(0.1, t=value),
        "formalism": lambda: e.system.equations(value),
        "closure": lambda: e.system.equations("kane", value),
        "load": lambda: mg.load_run(value),
    }
    optional = {
        "q",
        "u",
        "inputs",
        "parameters",
        "start",
        "guess",
        "step",
        "atol",
        "method",
        "run inputs",
        "run parameters",
        "events",
    }
    for what, call in calls.items():
        fine = (value is None and what in {*optional, "formalism"}) or (
            value == {} and what in optional - {"step", "atol", "method"}
        )
        fine = (
            fine
            or (callable(value) and what in ("observe", "run input", "run inputs", "event"))
            or (value == [1, 2] and what == "t")
        )
        if not fine:
            with pytest.raises(mg.MechgraphError):
                call()


# --- assembly -------------------------------------------------------------------------------------


def fourbar(ground: float = 2.0) -> mg.System:
    s = mg.System("four-bar")
    crank, coupler, rocker = (
        s.body(name, mass=1.0, inertia=INERTIA) for name in ("crank", "coupler", "rocker")
    )
    s.revolute("A", s.ground, crank, axis="y")
    s.revolute("B", crank, coupler, axis="y", at=(1, 0, 0))
    s.revolute("C", s.ground, rocker, axis="y", at=(ground, 0, 0))
    s.revolute("D", rocker, coupler, axis="y", at=(2, 0, 0), child_at=(2.5, 0, 0), cut=True)
    return s


def test_a_loop_that_cannot_be_assembled_is_named():
    with pytest.raises(
        mg.AssemblyError, match=r"cannot be assembled; not satisfied: D: position x"
    ) as error:
        fourbar(ground=9.0).equations().assemble()
    assert error.value.residuals["D: position x"] != 0
    with pytest.raises(mg.AssemblyError, match="guess="):
        fourbar(ground=9.0).equations().simulate(1.0)


def test_a_start_that_contradicts_the_loop_is_named():
    with pytest.raises(mg.AssemblyError, match="the start contradicts the constraints") as error:
        fourbar().equations().assemble({"A": 0.3, "B": 2.9, "C": 0.1})
    assert set(error.value.residuals) & {"A", "B", "C"}
    with pytest.raises(mg.AssemblyError, match="velocity level"):
        fourbar().equations().assemble(
            {"A": -1.0, "A'": 1.0, "B'": 1.0, "C'": 7.0}, guess={"B": 0.3, "C": -1.5}
        )


def test_a_start_that_contradicts_a_drive_is_named():
    s = good()
    s.servo("drive", "hinge", 0.3 + s.time)
    with pytest.raises(mg.AssemblyError, match="drive"):
        s.equations().assemble({"hinge": 0.5})
    with pytest.raises(mg.AssemblyError, match="rate of drive"):
        s.equations().assemble({"hinge'": 0.5})


def test_what_has_no_inertia_is_named():
    s = good()
    s.revolute("idle", "b", s.frame("pointer"))
    e = s.equations()
    for call in (
        lambda: e.accelerations([*Q, 0], [*U, 0]),
        lambda: e.solve([*Q, 0], [*U, 0]),
        lambda: e.accelerations([[*Q, 0]] * 3, [*U, 0]),
        lambda: e.simulate(1.0),
    ):
        with pytest.raises(mg.ArgumentError, match=r"singular.*idle'"):
            call()


@pytest.mark.parametrize("closure", mg.CLOSURES)
def test_an_idle_spin_in_a_loop_is_named_before_the_run(closure):
    """A thin rod between two balls: nothing resists its spin, so no run can be right."""
    s = mg.System("rod")
    arm = s.body("arm", mass=1.0, com=(0.5, 0, 0), inertia=INERTIA)
    rod = s.body("rod", mass=1.0, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1))
    s.revolute("pin", s.ground, arm)
    s.spherical("ball", arm, rod, at=(1, 0, 0))
    s.spherical("end", s.ground, rod, at=(1, 1, 0), child_at=(1, 0, 0))
    with pytest.raises(mg.ArgumentError, match=r"singular.*\.wx"):
        s.equations("newton-euler", closure).simulate(1.0)


def skewed(p):
    """A 6x6 matrix that is symmetric if p is one."""
    return [[p if (i, j) == (0, 1) else 1.0 + 9.0 * (i == j) for j in range(6)] for i in range(6)]


@pytest.mark.parametrize(
    ("say", "value", "words"),
    [
        (lambda s, p: s.screw("j", "ground", "b", pitch=p), 0.0, "joint 'j': pitch is zero"),
        (
            lambda s, p: s.universal("j", "ground", "b", second_axis=(mg.sqrt(1 - p**2), p, 0)),
            0.5,
            "joint 'j': .* must be perpendicular",
        ),
        (
            lambda s, p: s.revolute("j", "ground", "b", axis=(0, p, 0)),
            1 + 2e-9,
            "joint 'j': its axis has length 1.000000002, not 1",
        ),
        (lambda s, p: s.distance("d", "ground", "b", p), -1.0, "distance 'd': length .* positive"),
        (lambda s, p: s.distance("d", "ground", "b", p), 0.0, "distance 'd': length .* positive"),
        (
            lambda s, p: s.knife_edge("d", "b", across=(0, p, 0)),
            2.0,
            "knife_edge 'd': across has length 2, not 1",
        ),
        (
            lambda s, p: s.bushing("d", "ground", "b", stiffness=skewed(p)),
            2.0,
            "bushing 'd': stiffness must be symmetric",
        ),
    ],
)
def test_elements_refuse_as_a_parameters_value_what_they_refuse_as_a_number(say, value, words):
    as_number, by_parameter = (mg.System(name) for name in ("as a number", "by a parameter"))
    for s in (as_number, by_parameter):
        s.body("b", mass=1.0, inertia=INERTIA)
    with pytest.raises(mg.ModelError, match=words.replace("its ", "")):
        say(as_number, value)
    say(by_parameter, by_parameter.parameter("p", 1.0))
    if not by_parameter.joints:
        by_parameter.free("place", "ground", "b")
    equations = by_parameter.equations()
    equations.mass_matrix(None, parameters={"p": 1.0})
    with pytest.raises(mg.ArgumentError, match=words):
        equations.mass_matrix(None, parameters={"p": value})


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ({"a": 2.0}, ["joint 'hinge'", "length 2"]),
        ({"m": -1.0}, ["body 'rod'", "positive", "-1"]),
        ({"c": 2.0}, ["joint 'hinge'", "not a rotation"]),
        ({"i": 5.0}, ["body 'rod'", "triangle inequality"]),
        ({"k": -1.0}, ["compliant_contact 'floor'", "stiffness"]),
    ],
)
def test_what_is_refused_as_a_number_is_refused_as_a_parameters_value(value, words):
    s = mg.System("by parameters", gravity=(0, 0, -9.81))
    a, c = s.parameter("a", 1.0), s.parameter("c", 1.0)
    inertia = (1.0, 1.0, s.parameter("i", 1.0))
    rod = s.body("rod", mass=s.parameter("m", 1.0), com=(0, 0, -1), inertia=inertia)
    turned = [[c, 0, 0], [0, 1, 0], [0, 0, 1]]
    s.revolute("hinge", s.ground, rod, axis=(0, a, 0), orientation=turned)
    s.compliant_contact("floor", mg.Sphere(rod, 0.1), mg.Plane(s.ground), s.parameter("k", 1e3))
    equations = s.equations()
    q, u = np.zeros((2, 3, 1))
    for call in (
        lambda: equations.accelerations([0.1], [0.0], parameters=value),
        lambda: equations.simulate(0.1, step=0.1, parameters=value),
        lambda: equations.linearize(parameters=value),
        lambda: equations.rollout(q, u, step=0.1, steps=1, parameters=value),
    ):
        with pytest.raises(mg.ArgumentError) as error:
            call()
        assert all(word in str(error.value) for word in words)
    for name in value:
        bad = mg.System("defaults")
        parameter = bad.parameter(name, value[name])
        mass, axis = (parameter if name == "m" else 1.0), (parameter if name == "a" else 1.0)
        if name in "ma":
            body = bad.body("rod", mass=mass, inertia=(1, 1, 1))
            bad.revolute("hinge", bad.ground, body, axis=(0, axis, 0))
            assert any(word in problems(bad)[0] for word in words)


# --- one way to read, one way to call -------------------------------------------------------------


@pytest.mark.parametrize("word", [*mg.FORCES, *mg.CONSTRAINTS])
def test_elements_are_called_by_the_word_that_says_them(word):
    """Where the call is wrong, where its name is taken, and in what is found later."""
    kind = {**mg.FORCES, **mg.CONSTRAINTS}[word]
    assert kind.kind() == word
    s = geared() if "gears" in word else good()
    made = getattr(s, word)(*right_arguments(s)[word])
    assert made.called == f"{word} 'e'"
    with pytest.raises(mg.ModelError, match=f"^{word} 'e': the name is taken"):
        getattr(s, word)(*right_arguments(s)[word])
    with pytest.raises(mg.ModelError, match=f"^{word} 'e': "):
        getattr(s, word)("e", nonsense=1)
    assert Own(None, "own").kind() == "Own"


@pytest.mark.parametrize("name", ["a\ud800", "\udcff", "two\nlines", "nul\0", "bell\a", " \t", ""])
def test_names_that_cannot_be_written_are_refused_at_the_door(name):
    s = good()
    for call in (
        lambda: mg.System(name),
        lambda: s.body(name, 1.0, inertia=INERTIA),
        lambda: s.frame(name),
        lambda: s.marker(name, "a"),
        lambda: s.parameter(name, 1.0),
        lambda: s.input(name),
        lambda: s.output(name, lambda m: m.time),
        lambda: s.revolute(name, "a", "b"),
        lambda: s.torque(name, "hinge", 1.0),
        lambda: s.add(Own(lambda m: [], name)),
        lambda: mg.rot("x", name),
        lambda: mg.variables([name]),
        lambda: mg.Body(name),
        lambda: mg.Marker(name, s.bodies["a"]),
        lambda: mg.leaves.particle(name),
        lambda: mg.Terms(mg.variables(["x"], ["v"]), name=name, M=[[1]], f=[0]),
        lambda: mg.Terms(mg.variables(["x"], ["v"]), M=[[1]], f=[0], outputs={name: 1}),
        lambda: mg.Terms(mg.variables(["x"], ["v"]), M=[[1]], f=[0], velocity={name: 1}),
    ):
        with pytest.raises(mg.ModelError, match="name"):
            call()
    with pytest.raises(mg.ArgumentError, match="events"):
        s.equations().simulate(0.1, events={name: "hinge"})


def test_labels_and_errors_that_cannot_be_written_are_told_so_that_they_can():
    s = good()
    s.add(Own(lambda m: [("a\ud800b", m.velocity("tip")[2])], "own"))
    with pytest.raises(mg.ModelError, match="labels that can be printed") as error:
        s.equations()
    assert str(error.value).encode()
    s = good()
    s.output("wrong", lambda m: int("\ud800"))
    with pytest.raises(mg.ModelError, match="output 'wrong'") as error:
        s.equations().observe("wrong", s.equations().assemble()[0])
    assert str(error.value).encode()


def test_an_orientation_may_be_a_rotation_of_scipy():
    """Compared with the same turn said in our own way."""
    turn = Rotation.from_euler("ZX", [0.3, 1.2])  # about the turned axes, as turns are
    for orientation in (turn, [("z", 0.3), ("x", 1.2)]):
        s = good()
        s.marker("turned", "tip", orientation=orientation)
        s.revolute("extra", "b", s.body("c", 1.0, inertia=INERTIA), orientation=orientation)
        found = s.equations().rotation("turned", [*Q, 0.4]), s.equations().rotation("c", [*Q, 0.4])
        np.testing.assert_allclose(
            found[0], s.equations().rotation("tip", [*Q, 0.4]) @ turn.as_matrix()
        )
        np.testing.assert_allclose(
            found[1],
            s.equations().rotation("b", [*Q, 0.4])
            @ turn.as_matrix()
            @ Rotation.from_rotvec([0, 0, 0.4]).as_matrix(),
        )
        again = good()
        again.marker("turned", "tip", orientation=orientation)
        other = good()
        other.marker("turned", "tip", orientation=orientation)
        assert again.snapshot() == other.snapshot()
    with pytest.raises(mg.ModelError, match="orientation"):
        good().marker("turned", "tip", orientation=Rotation.concatenate([turn, turn]))


@pytest.mark.parametrize("word", ["roll", "slide", "compliant_contact", "rigid_contact"])
def test_surfaces_take_the_names_of_bodies_and_markers(word):
    further = (1e4,) if word == "compliant_contact" else ()
    named, given = good(), good()
    getattr(named, word)("touch", mg.Sphere("tip", 0.1), mg.Plane("ground"), *further)
    surfaces = mg.Sphere(given.markers["tip"], 0.1), mg.Plane(given.ground)
    getattr(given, word)("touch", *surfaces, *further)
    assert named.snapshot() == given.snapshot()
    assert [place.name for place in named.elements[-1].places()] == ["ground", "tip"]
    with pytest.raises(mg.ModelError, match=f"{word} 'wrong': unknown body or marker 'tpi'; did"):
        getattr(good(), word)("wrong", mg.Sphere("tpi", 0.1), mg.Plane("ground"), *further)
    with pytest.raises(mg.ModelError, match="Sphere on 'tip': a name is known in the words of a"):
        mg.Sphere("tip", 0.1).marker  # noqa: B018


class Dragging(mg.Constraint):
    """A hinge is held, and drags an effort along."""

    def __init__(self, name, effort) -> None:
        self.name, self.effort = name, effort

    def velocity(self, m):
        return [("", m.speed("hinge"))]

    def friction_actions(self, m, multipliers):
        return [mg.Effort("hinge", self.effort(m, multipliers))]


@pytest.mark.parametrize("method", ["friction_actions", "nonconservative"])
@pytest.mark.parametrize(
    ("acting", "word"),
    [
        (None, "must be a list of mg.Wrench and mg.Effort, got None"),
        (mg.Wrench(OTHER.markers["tip"], [1, 0, 0], [0, 0, 0]), "must be a list"),
        ([mg.Wrench(OTHER.markers["tip"], [1, 0, 0], [0, 0, 0])], "'b' belongs to another system"),
    ],
)
def test_wrong_actions_are_told_with_their_element(method, acting, word):
    class Wrong(mg.Constraint):
        def __init__(self, name) -> None:
            self.name = name

        def velocity(self, m):
            return [("", m.speed("hinge"))]

    setattr(Wrong, method, lambda self, *_: acting)
    s = good()
    s.add(Wrong("held"))
    with pytest.raises(mg.ModelError, match=f"Wrong 'held': .*{word}"):
        s.equations().accelerations(Q, U)


@pytest.mark.parametrize("formalism", ["newton-euler", "absolute"])
@pytest.mark.parametrize(
    ("effort", "word"),
    [
        (lambda m, lam: lam[0] ** 2, "in proportion to its multipliers"),
        (lambda m, lam: mg.if_else(lam[0] > 5, lam[0] ** 2, 0.1 * lam[0]), "in proportion"),
        (lambda m, lam: mg.if_else(lam[0] < 0, lam[0] ** 2, 0.1 * lam[0]), "in proportion"),
        (lambda m, lam: ca.SX.sym("z") * lam[0], "uses 'z', which is not a symbol of this system"),
        (lambda m, lam: m.acceleration("tip")[0] * lam[0], "must not use accelerations"),
        (lambda m, lam: 1 + lam[0], "in proportion to its multipliers"),
        (lambda m, lam: mg.sin(m.time), "in proportion to its multipliers"),
        (lambda m, lam: None, "effort must have 1 numbers, got None"),
        (lambda m, lam: [lam[0], lam[0]], "effort"),
        (lambda m, lam: [][0], "IndexError"),
    ],
)
def test_friction_that_is_not_in_proportion_is_refused(effort, word, formalism):
    s = good()
    s.add(Dragging("brake", effort))
    with pytest.raises(mg.ModelError, match=f"Dragging 'brake': .*{word}"):
        s.equations(formalism).accelerations(*s.equations(formalism).assemble())


def test_friction_that_undoes_its_own_constraint_is_named():
    s = good()
    s.add(Dragging("brake", lambda m, lam: -lam[0]))
    with pytest.raises(mg.MechgraphError, match="friction_actions of Dragging 'brake' take away"):
        s.equations().accelerations(Q, U)


def test_what_another_formalism_has_is_told_where_it_is(equations):
    kane = equations.system.equations("kane")
    with pytest.raises(AttributeError, match=r"by kane.*system\.equations\('appell'\)\.appell"):
        _ = kane.appell
    with pytest.raises(AttributeError, match="did you mean 'mass_matrix'"):
        _ = kane.mass_matrx
    assert not hasattr(kane, "appell")


def test_an_input_that_goes_wrong_is_named_with_its_moment(equations):
    for wrong, word in (
        (lambda: 3, r"input 'w' must be a function of t or of \(t, q, u\).* got one of \(\)"),
        (lambda t, q: 3, r"input 'w' must be a function of t or of"),
        (lambda t: 1 / 0, "input 'w' failed at t = 0: ZeroDivisionError"),
        (lambda t: None, "input 'w' failed at t = 0: its value must be a number, got None"),
        (lambda t: math.nan, "input 'w' failed at t = 0: its value must be a number, got nan"),
    ):
        with pytest.raises(mg.MechgraphError, match=word):
            equations.simulate(0.1, inputs={"w": wrong})
    with pytest.raises(mg.SimulationError, match=r"input 'w' failed at t = 0\.05.*Mend") as error:
        equations.simulate(0.1, step=0.01, inputs={"w": lambda t: 0.0 if t < 0.05 else 1 / 0})
    assert error.value.trajectory is not None


def test_a_tolerance_below_rounding_is_refused_with_what_is_possible(equations):
    for method in (None, "rk8"):
        with pytest.raises(mg.ArgumentError, match="rtol must be below one and at least 1e-15"):
            equations.simulate(0.1, rtol=1e-16, method=method)


def test_more_rows_than_can_be_stored_are_refused(equations):
    for duration, step in ((1.0, 1e-300), (1e300, 1.0)):
        with pytest.raises(mg.ArgumentError, match="give a larger step"):
            equations.simulate(duration, step=step)


def test_a_step_that_does_not_divide_the_duration_is_told_with_two_that_do(equations):
    with pytest.raises(mg.ArgumentError, match=r"nearest are duration=3 and step=1$"):
        equations.simulate(1.0, step=3.0)


def test_an_option_that_a_formalism_has_not_is_told_as_such():
    with pytest.raises(mg.UnsupportedError, match=r"unknown option of appell .*'coefficients'\?"):
        mg.gallery.load("a01_pendulum").system().equations("appell", coefficient="probing")


def test_what_was_given_is_shown_in_one_line(equations):
    for value in (np.zeros((50, 50)), "x" * 10_000, [["a", "b"]] * 100, 10**4000):
        with pytest.raises(mg.ArgumentError) as error:
            equations.simulate(0.1, rtol=value)
        assert len(str(error.value)) < 200
        assert "\n" not in str(error.value)


def test_a_system_that_cannot_move_has_all_studies():
    s = mg.System("wall")
    s.fixed("glue", s.ground, s.body("brick", mass=1.0, inertia=INERTIA), at=(0, 0, 2))
    equations = s.equations()
    model = equations.linearize()
    assert mg.agreement(s).ok
    assert "eigenvalue" in model.show()
    assert model.lqr_gain(np.eye(0), np.eye(0)).shape == (0, 0)
    assert model.lqr(np.eye(0), np.eye(0), rate=10.0).rate == 10.0
    assert equations.inverse_kinematics({"brick": np.tile((0, 0, 2), (3, 1))}).shape == (3, 0)
    with pytest.raises(mg.AssemblyError, match="'brick': position by 1 m"):
        equations.inverse_kinematics({"brick": (0, 0, 3)})
    assert equations.rollout([], [], step=0.1, steps=3).q.shape[-2:] == (4, 0)


def test_lqr_wants_inputs():
    s = mg.System("bob", gravity=(0, 0, -9.81))
    s.revolute("pin", s.ground, s.body("rod", 1.0, com=(0, 0, -1), inertia=INERTIA), axis="y")
    with pytest.raises(mg.ArgumentError, match="no input"):
        s.equations().linearize().lqr(1.0, 1.0)


@pytest.mark.parametrize(
    "wrong", [lambda: mg.sin("x"), lambda: mg.fmax(None, 1), lambda: mg.dot((1, 2), (1, 2, 3))]
)
def test_functions_of_expressions_tell_what_they_take(wrong):
    with pytest.raises(mg.ArgumentError, match=r"mg\.\w+ takes numbers and expressions"):
        wrong()
