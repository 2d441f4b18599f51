"""Wrong calls: every argument of every public function in turn is something that it is not meant
to be. Whatever is raised must be of the family ``MechgraphError``.

``python tests/campaigns/calls.py`` tries all of them, some 30,000; ``failures`` a seeded sample.
"""

from __future__ import annotations

import contextlib
import io
import random
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

import mechgraph as mg
from mechgraph import gallery


class Awkward:
    """An object that answers nothing of what is usually asked."""

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise RuntimeError("no array")

    def __bool__(self) -> bool:
        raise RuntimeError("neither true nor false")

    def __repr__(self) -> str:
        return "Awkward()"


# what an argument may be by mistake, each made anew
VALUES: dict[str, Callable[[], Any]] = {
    "None": lambda: None,
    "True": lambda: True,
    "text": lambda: "text",
    "empty text": lambda: "",
    "bytes": lambda: b"bytes",
    "lone surrogate": lambda: "a\ud800b",
    "null character": lambda: "a\0b",
    "dollars": lambda: "a $x^{ b",
    "long text": lambda: "x" * 5000,
    "zero": lambda: 0,
    "minus one": lambda: -1,
    "half": lambda: 0.5,
    "huge integer": lambda: 10**400,
    "large integer": lambda: 2**63,
    "huge number": lambda: 1e300,
    "tiny number": lambda: 1e-300,
    "NaN": lambda: float("nan"),
    "infinity": lambda: float("inf"),
    "complex": lambda: 1j,
    "NumPy scalar": lambda: np.float32(0.5),
    "array": lambda: np.array([1.0, 2.0]),
    "flags": lambda: np.array([True, False]),
    "empty array": lambda: np.array([]),
    "array of objects": lambda: np.array([None, "a"], dtype=object),
    "array of text": lambda: np.array(["a", "b"]),
    "matrix": lambda: np.eye(3),
    "four axes": lambda: np.zeros((2, 2, 2, 2)),
    "empty list": list,
    "list": lambda: [1, 2],
    "ragged list": lambda: [[1, 2], [3]],
    "list of texts": lambda: ["a", "b", "c"],
    "list of huge integers": lambda: [10**400, 0, 0],
    "list of lists": lambda: [["x", 1.0, 2.0]],
    "itself in a list": lambda: _nested(),
    "generator": lambda: (x for x in "abc"),
    "set": lambda: {1, 2, 3},
    "empty mapping": dict,
    "mapping of numbers": lambda: {1: 2, 3: 4, 5: 6},
    "mapping of texts": lambda: {"nothing": "nothing"},
    "mapping of objects": lambda: {object(): object()},
    "mapping by surrogates": lambda: {"\ud800": 1.0},
    "object": object,
    "awkward": Awkward,
    "class": lambda: dict,
    "function of nothing": lambda: lambda: 0.0,
    "function of anything": lambda: lambda *arguments, **options: None,
    "function that raises": lambda: _raising,
    "CasADi symbol": lambda: ca.SX.sym("stranger"),
    "CasADi vector": lambda: ca.SX.sym("stranger", 3),
    "CasADi graph": lambda: ca.MX.sym("stranger"),
    "CasADi numbers": lambda: ca.DM([1, 2, 3]),
    "CasADi sparse": lambda: ca.SX(3, 3),
    "SciPy rotation": Rotation.identity,
    "SciPy rotations": lambda: Rotation.random(2, random_state=0),
    "folder": tempfile.gettempdir,
    "path": lambda: Path("/nowhere/at/all.npz"),
    "root": lambda: "/",
    "stream": io.BytesIO,
    "other system": lambda: mg.System("other"),
    "other body": lambda: mg.Body("stranger", 1.0, inertia=0),
    "surface": lambda: mg.Plane(mg.Body("stranger")),
}


# what is right, if odd: it takes its time, or tells of an error in the user's own code as it is
RIGHT = {
    ("agreement", "states", "huge integer"),
    ("agreement", "states", "large integer"),
    ("Terms", "M", "function that raises"),
    ("Terms", "f", "function that raises"),
}


def _nested() -> list[Any]:
    inner: list[Any] = []
    inner.append(inner)
    return inner


def _raising(*arguments: Any, **options: Any) -> Any:
    raise LookupError("as it pleases")


def good() -> mg.System:
    """Two bodies, an input, a parameter, markers, an output: everything right."""
    s = mg.System("good", gravity=(0, 0, -9.81))
    a, b = (s.body(n, mass=1.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1)) for n in "ab")
    s.revolute("hinge", s.ground, a, axis="y")
    s.revolute("elbow", a, b, axis="y", at=(0, 0, -1))
    s.torque("motor", "hinge", s.parameter("gain", 1.0) * s.input("w"))
    s.marker("tip", b, (0, 0, -1))
    s.output("height", lambda m: m.position("tip")[2])
    return s


Right = dict[str, tuple[Callable[..., Any], dict[str, Any]]]


def words() -> Right:
    """The words of a description, each with right arguments by name, on a system of its own."""
    s = good()
    body = {"name": "d", "mass": 1.0, "com": (0, 0, 0), "inertia": (1, 1, 1)}
    body |= {"inertia_about": "com", "allow_unphysical": False}
    frames = {"at": (0, 0, 0), "orientation": None, "child_at": (0, 0, 0)}
    frames |= {"child_orientation": None, "cut": None}
    joint = {"name": "j", "parent": "tip", "child": s.body("c", 1.0, inertia=(1, 1, 1)), **frames}
    spring = {"stiffness": 1.0, "damping": 0.1, "rest": 0.0}
    places = {"name": "e", "a": "tip", "b": "ground"}
    axial = {**places, "axis": "z"}
    ball, floor = mg.Sphere(s.bodies["b"], 0.1), mg.Plane(s.ground)
    touch = {"name": "e", "surface": ball, "base": floor}
    turns = [mg.rot("x", "alpha"), mg.move("y", 0.1)]
    law = lambda t, angle, rate: -angle  # noqa: E731
    arguments: dict[str, dict[str, Any]] = {
        "parameter": {"name": "p", "value": 1.0},
        "input": {"name": "i"},
        "output": {"name": "o", "value": lambda m: m.time},
        "body": body,
        "frame": {"name": "f"},
        "marker": {"name": "m", "body": "a", "at": (0, 0, 0), "orientation": None},
        "joint": {**joint, "transitions": turns, **spring},
        "revolute": {**joint, "axis": "y", **spring},
        "prismatic": {**joint, "axis": "y", **spring},
        "cylindrical": {**joint, "axis": "y"},
        "screw": {**joint, "axis": "y", "pitch": 0.1},
        "universal": {**joint, "axis": "x", "second_axis": "y"},
        "planar": {**joint, "axis": "y"},
        "spherical": joint,
        "free": joint,
        "fixed": joint,
        "spring_damper": {**places, "stiffness": 1.0, "damping": 1.0, "length": 1.0},
        "torque": {"name": "e", "joint": "hinge", "value": 1.0},
        "force": {"name": "e", "at": "tip", "value": (1, 2, 3), "frame": "world"},
        "body_torque": {"name": "e", "at": "tip", "value": (1, 2, 3), "frame": "world"},
        "distance": {**places, "length": 1.0},
        "coupling": {"name": "e", "coefficients": {"hinge": 1.0}, "constant": 0.5},
        "servo": {"name": "e", "coordinate": "hinge", "value": 0.5},
        "constrain": {"name": "e", "position": lambda m: m.position("tip")[2], "velocity": None},
        "roll": {**touch, "spinning": True},
        "slide": {**touch, "friction": 0.3},
        "knife_edge": {"name": "e", "at": "tip", "across": "y"},
        "compliant_contact": {
            **touch, "stiffness": 1e5, "exponent": 1.5, "damping": 0.1, "friction": 0.3,
        },
        "rigid_contact": {
            **touch, "restitution": 0.5, "friction": 0.3, "static_friction": 0.4,
            "rebound_threshold": 1e-5, "regularization": 1e-5,
        },
        "fixed_ideal_joint": axial,
        "free_ideal_joint": axial,
        "spring_ideal_joint": {**axial, "stiffness": 1.0, "damping": 1.0},
        "fixed_controlled_joint": {**axial, "law": law},
        "free_slide_joint": axial,
        "fixed_servo_joint": {**axial, "law": law, "angle": None},
    }  # fmt: skip
    said = {
        f"System.{word}": (lambda w=word, **given: _said(s, w, given), given)
        for word, given in arguments.items()
    }
    return said | {
        "System": (_system, {"name": "s", "gravity": (0, 0, -9.81)}),
        "System.add": (lambda element: mg.System().add(element), {"element": None}),
        "Sphere by name": (_by_name, {"at": "b", "radius": 0.1}),
        "System.equations": (
            good().equations, {"formalism": "kane", "closure": "multipliers"},
        ),
        "lagrange": (lambda form: good().equations("lagrange", form=form), {"form": "energy"}),
        "System.draw_graph": (good().draw_graph, {"path": None}),
    }  # fmt: skip


def _system(name: Any, gravity: Any) -> None:
    s = mg.System(name, gravity)
    s.revolute("hinge", s.ground, s.body("a", mass=1.0, inertia=(1, 1, 1)))
    _use(s)


def _by_name(at: Any, radius: Any) -> None:
    s = good()
    s.compliant_contact("touch", mg.Sphere(at, radius), mg.Plane("ground"), 1e4)
    _use(s)


def _said(s: mg.System, word: str, given: Mapping[str, Any]) -> None:
    """Say it to a copy, and use what came of it."""
    copy = s.__copy__()
    made = getattr(copy, word)(**given)
    if word in ("body", "frame"):
        copy.free("joined", "ground", made)
    if "child" not in given:
        copy.free("loose", "ground", "c")
    _use(copy)


def _use(s: mg.System) -> None:
    e = s.equations()
    with contextlib.suppress(mg.MechgraphError):
        e.accelerations(np.array(e.terms.chart.reference), np.zeros(len(e.speeds)))
    with contextlib.suppress(mg.MechgraphError):
        e.forces(np.array(e.terms.chart.reference), np.zeros(len(e.speeds)))


def elements() -> Right:
    """Surfaces, transitions, and what else is made without a system."""
    on = mg.Body("on", 1.0, inertia=0)
    return {
        "Body": (mg.Body, {"name": "b", "mass": 1.0, "com": (0, 0, 0), "inertia": (1, 1, 1)}),
        "Marker": (mg.Marker, {"name": "m", "on": on, "at": (0, 0, 0), "orientation": None}),
        "Point": (mg.Point, {"at": on}),
        "Plane": (mg.Plane, {"at": on}),
        "Sphere": (mg.Sphere, {"at": on, "radius": 1.0, "inside": False}),
        "Ellipsoid": (mg.Ellipsoid, {"at": on, "semiaxes": (1, 2, 3)}),
        "Disc": (mg.Disc, {"at": on, "radius": 1.0}),
        "Torus": (mg.Torus, {"at": on, "radius": 1.0, "tube": 0.2}),
        "Roller": (mg.Roller, {"at": on, "radius": 0.1, "arc": 0.5}),
        "Cylinder": (mg.Cylinder, {"at": on, "radius": 1.0, "length": 2.0}),
        "Capsule": (mg.Capsule, {"at": on, "radius": 1.0, "length": 2.0}),
        "Box": (mg.Box, {"at": on, "sides": (1, 2, 3)}),
        "Implicit": (
            mg.Implicit, {"at": on, "g": lambda x, y, z: z, "near": (0, 0, 0)},
        ),
        "Friction": (
            mg.Friction,
            {"coulomb": 0.3, "static_friction": 0.4, "stribeck": 0.1, "viscous": 0.0,
             "regularization": 1e-3},
        ),
        "rot": (mg.rot, {"direction": "x", "by": "q"}),
        "move": (mg.move, {"direction": "x", "by": "q"}),
        "screw": (mg.screw, {"direction": "x", "pitch": 0.1, "by": "q"}),
        "ball": (mg.ball, {"name": "q"}),
        "variables": (
            mg.variables,
            {"coordinates": ["x"], "speeds": ["v"], "inputs": ["w"], "parameters": {"k": 1.0}},
        ),
        "Terms": (_terms, {"name": "t", "N": [[1]], "M": [[2.0]], "f": [0.0]}),
        "Equations": (
            mg.Equations, {"terms": good().equations().terms, "closure": "multipliers"},
        ),
        "agreement": (
            mg.agreement,
            {"system": good(), "states": 1, "seed": 0, "formalisms": ["kane"], "guess": None},
        ),
        "gallery.load": (gallery.load, {"name": "acrobot"}),
        "gallery.load_file": (gallery.load_file, {"path": gallery.folder() / "acrobot.py"}),
    }  # fmt: skip


def _terms(**given: Any) -> None:
    e = mg.Equations(mg.Terms(mg.variables(["x"], ["v"]), **given))
    e.accelerations([0.0], [0.0])


def verbs(folder: Path) -> Right:
    """What equations, runs and linear models can be asked."""
    e = good().equations()
    q, u, udot = [0.1, 0.2], [0.0, 0.0], [0.0, 0.0]
    at = {"t": 0.0, "parameters": {"gain": 1.0}}
    full = {**at, "inputs": {"w": 1.0}}
    state = {"q": q, "u": u}
    run = e.simulate(0.02, {"hinge": 0.1}, step=0.01)
    run.save(folder / "run.npz")
    linear, rollouts = e.linearize(), e.rollout(q, u, step=0.01, steps=2)
    with_threads = {**full, "threads": 1}
    arguments: dict[str, dict[str, Any]] = {
        "mass_matrix": {"q": q, **at, "threads": 1},
        "forces": {**state, **with_threads},
        "accelerations": {**state, **with_threads},
        "solve": {**state, **full},
        "multipliers": {**state, **full},
        "efforts": {**state, "udot": udot, **with_threads},
        "coordinate_rates": {**state, **at},
        "constraint_jacobian": {**state, **at},
        "position_violation": {"q": q, **at},
        "velocity_violation": {**state, **at},
        "kinetic_energy": {**state, **at},
        "potential_energy": {"q": q, **at},
        "jacobian": {
            "of": "accelerations", "wrt": "q", **state, "udot": udot, **with_threads, "out": None,
        },
        "observe": {"quantity": "tip", **state, **full, "udot": udot},
        "position": {"place": "tip", "q": q, **at},
        "rotation": {"place": "tip", "q": q, **at},
        "reaction": {"name": "elbow", **state, **full, "frame": "world"},
        "frame_jacobian": {"place": "tip", "q": q, **at, "frame": "world", "admissible": False},
        "inverse_kinematics": {
            "targets": {"tip": (0.0, 0.0, 0.0)}, "guess": q, "limits": {"elbow": (-1, 1)}, **at,
            "nearest": True,
        },
        "assemble": {"start": {"hinge": 0.1}, "guess": {"elbow": 0.1}, **at},
        "simulate": {
            "duration": 0.02, "start": {"hinge": 0.1}, "guess": None, "t": 0.0,
            "inputs": {"w": 1.0}, "parameters": {"gain": 1.0}, "events": {}, "step": 0.01,
            "rtol": 1e-8, "atol": None, "method": None, "stabilization": "projection",
            "baumgarte": 10.0, "track_work": True, "progress": None,
        },
        "rollout": {
            **state, "step": 0.01, "steps": 2, "method": "rk4", "t": 0.0, "inputs": None,
            "parameters": None, "every": 1, "threads": 1,
        },
        "inverse_dynamics": {"motion": q, "u": u, "udot": udot, **full, "drives": None},
        "equilibrium": {"guess": None, "hold": (), "inputs": None, "parameters": None},
        "steady": {
            "guess": None, "hold": (), "constant": None, "inputs": None, "parameters": None,
        },
        "linearize": {
            "at": {"hinge": 0.0}, "guess": None, **full, "independent": None, "outputs": None,
        },
        "mobility": {**state, **at},
        "redundant": {**state, **at},
        "to_sympy": {"simplify": True},
        "show": {"simplify": True},
        "latex": {"simplify": True},
    }  # fmt: skip
    matrix = {**at, "threads": 1, "out": None}
    place = {"place": "tip", "q": q}
    robotics: dict[str, dict[str, Any]] = {
        "frame_jacobian": {**place, **matrix, "frame": "body", "admissible": True},
        "frame_jacobian_rate": {**place, "u": u, **matrix, "frame": "body"},
        "spatial_velocity": {**place, "u": u, **at, "frame": "body"},
        "spatial_acceleration": {**place, "u": u, "udot": udot, **full, "frame": "body"},
        "centre_of_mass": {"q": q, **at},
        "centre_of_mass_jacobian": {"q": q, **matrix},
        "momentum": {**state, **at},
        "momentum_matrix": {"q": q, **matrix},
        "momentum_matrix_rate": {**state, **matrix},
        "momentum_bias": {**state, **at},
        "bias_efforts": {**state, **at, "threads": 1},
        "gravity_efforts": {"q": q, **at, "threads": 1},
        "coriolis_matrix": {**state, **matrix},
        "admissible_speeds": {**state, **at},
        "operational_inertia": {**place, **at, "frame": "body", "part": "pose"},
        "manipulability": {**place, **at, "part": "position"},
    }
    named = {f"Equations.{verb}": (getattr(e, verb), a) for verb, a in arguments.items()}
    named |= {f"Robotics.{verb}": (getattr(e.robotics, verb), a) for verb, a in robotics.items()}
    one = {
        "start": lambda value: e.assemble({"hinge": value}),
        "start speed": lambda value: e.assemble({"hinge'": value}),
        "guess": lambda value: e.assemble({"elbow": 0.1}, guess={"hinge": value}),
        "pair": lambda value: e.assemble((value, u)),
        "coordinate": lambda value: e.accelerations({"hinge": value}, u),
        "parameter": lambda value: e.accelerations(q, u, parameters={"gain": value}),
        "input": lambda value: e.accelerations(q, u, inputs={"w": value}),
        "run input": lambda value: e.simulate(0.01, inputs={"w": value}, step=0.01),
        "run parameter": lambda value: e.simulate(0.01, parameters={"gain": value}, step=0.01),
        "event": lambda value: e.simulate(0.01, events={"e": value}, step=0.01),
        "event name": lambda value: e.simulate(0.01, events=_single(value, "hinge"), step=0.01),
        "direction": lambda value: _event(e, direction=value),
        "stop": lambda value: _event(e, stop=value),
        "quantity": lambda value: _event(e, quantity=value),
        "resolve": lambda value: e.names.resolve(value),
        "formalism option": lambda value: e.system.equations("appell", form=value),
        "equations of a snapshot": lambda value: e.system.equations(value),
        "export_c": lambda value: e.export_c(_inside(folder, value)),
        "load": lambda value: mg.load_run(_inside(folder, value)),
        "load system": lambda value: mg.load_run(folder / "run.npz", value),
        "Trajectory.[]": lambda value: run[value],
        "Trajectory.at": lambda value: run.at(value),
        "Trajectory.observe": lambda value: run.observe(value),
        "Trajectory.reaction": lambda value: run.reaction(value),
        "Trajectory.reaction frame": lambda value: run.reaction("elbow", value),
        "Trajectory.work": lambda value: run.work(value),
        "target": lambda value: e.inverse_kinematics({"tip": value}, nearest=True),
        "target rotation": lambda value: e.inverse_kinematics(
            {"tip": {"rotation": value}}, nearest=True
        ),
        "target place": lambda value: e.inverse_kinematics(_single(value, (0, 0, 0))),
        "limit": lambda value: e.inverse_kinematics(
            {"tip": (0, 0, 0)}, limits={"elbow": value}, nearest=True
        ),
        "Trajectory.save": lambda value: run.save(_inside(folder, value)),
        "Trajectory.save columns": lambda value: run.save(folder / "run.csv", value),
        "Trajectory.table": lambda value: run.table(value),
        "Trajectory.compare": lambda value: run.compare(_inside(folder, value)),
        "Trajectory.compare table": lambda value: run.compare(value),
        "Trajectory.compare columns": lambda value: run.compare(run, value),
        "Trajectory.compare time": lambda value: run.compare(run.table(), time=value),
        "Trajectory.compare shift": lambda value: run.compare(run, shift=value),
        "Trajectory.plot": lambda value: run.plot(value),
        "Trajectory.plot path": lambda value: run.plot(path=_inside(folder, value)),
        "Trajectory.view path": lambda value: run.view(_inside(folder, value)),
        "Trajectory.view speed": lambda value: run.view(folder / "v.html", speed=value),
        "Trajectory.view title": lambda value: run.view(folder / "v.html", title=value),
        "Trajectory.report": lambda value: run.report(_inside(folder, value)),
        "motion": lambda value: e.inverse_dynamics(value),
        "is_stable": lambda value: linear.is_stable(value),
    }
    for name in ("position", "velocity", "acceleration", "rotation", "angular_velocity"):
        one[f"Motion.{name}"] = lambda value, n=name: e.observe(lambda m: getattr(m, n)(value), q)
    for name in ("coordinate", "speed"):
        one[f"Motion.{name}"] = lambda value, n=name: e.observe(lambda m: getattr(m, n)(value), q)
    one["Rollouts.[]"] = lambda value: rollouts[value]
    one["view size"] = lambda value: run.view(folder / "v.gif", size=value)
    one["view frames"] = lambda value: run.view(folder / "v.gif", frames=value)
    return named | {what: (call, {"value": None}) for what, call in one.items()}


def _single(key: Any, value: Any) -> dict[Any, Any]:
    """A mapping of one entry, if there can be one."""
    try:
        return {key: value}
    except Exception:
        return {}


def _event(e: mg.Equations, quantity: Any = "hinge", direction: Any = 0, stop: Any = True) -> None:
    e.simulate(0.01, events={"e": mg.Event(quantity, direction, stop)}, step=0.01)


def _inside(folder: Path, value: Any) -> Any:
    """Paths lead into a folder that is thrown away."""
    plain = isinstance(value, str) and not value.startswith("/")
    return f"{folder}/{value}" if plain else value


def alone(given: Mapping[str, Any]) -> bool:
    """True for calls that are given nothing but the wrong value."""
    return list(given.values()) == [None]


def calls_in(folder: Path) -> Right:
    """All calls; what they write goes into a folder."""
    return words() | elements() | verbs(folder)


def failures(count: int | None = None, seed: int = 0) -> Iterator[str]:
    """What raises something that is not of the family, of all attempts or of a sample."""
    with tempfile.TemporaryDirectory() as name, contextlib.chdir(name):
        right = calls_in(Path(name))
        attempts = [
            (what, argument, value)
            for what, (_, given) in right.items()
            for argument in given
            for value in VALUES
            if (what, argument, value) not in RIGHT
        ]
        chosen = attempts if count is None else random.Random(seed).sample(attempts, count)
        for what, argument, value in chosen:
            call, given = right[what]
            problem = tried(call, {**given, argument: VALUES[value]()})
            if problem:
                yield f"{what}({argument}={value}): {problem}"


def tried(call: Callable[..., Any], given: Mapping[str, Any]) -> str:
    """What goes wrong with a call, unless it is as it should be."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            call(**given)
    except mg.MechgraphError as error:
        printable = all(line.isprintable() for line in str(error).splitlines())
        return "" if printable else f"not printable: {str(error)!r}"
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]
    return ""


if __name__ == "__main__":
    found = 0
    for failure in failures():
        found += 1
        print(failure, flush=True)
    print(f"{found} failures", file=sys.stderr)
    raise SystemExit(found > 0)
