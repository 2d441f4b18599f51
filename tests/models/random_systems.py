"""Seeded random mechanisms: every joint type, drives, springs, forces, inputs and parameters.

A ``Build`` keeps the calls that made its system as a program, so that a failing one can be read and
run: ``python tests/models/random_systems.py 17`` prints tree 17.
"""

from __future__ import annotations

import itertools
import re
import sys
from dataclasses import dataclass, field
from typing import Any

import casadi as ca
import numpy as np

import mechgraph as mg
from mechgraph.vectors import orientation

# Directions of exact length one and rotations of exact norm one, so that the text of a system
# repeats it to the last bit.
AXES = [
    *("x", "y", "z", "-x", "-y", "-z"),
    *(
        {
            (s * a, b, t * c)
            for a, b, c in itertools.permutations((0.0, 0.6, 0.8))
            for s in (1, -1)
            for t in (1, -1)
        }
    ),
    *(
        axis
        for a, b, c in itertools.permutations((0.36, 0.48, 0.8))
        for axis in ((a, b, c), (-a, b, -c), (a, -b, -c))
    ),
]
AXES[6:] = sorted(AXES[6:])
QUATERNIONS = [
    *itertools.permutations((0.1, -0.5, 0.5, 0.7)),
    (0.5, -0.5, 0.5, 0.5),
    (0.0, 1.0, 0.0, 0.0),
]

JOINT_NAMES = (*mg.JOINTS, "chain")


class Source(str):
    """A piece of program as an argument, where a value would not tell how it was made."""

    __slots__ = ()


@dataclass
class Build:
    """A system, the random numbers that it is made of, and the calls that made it."""

    seed: int
    kinds: tuple[str, ...] = JOINT_NAMES
    driven: bool = True  # by functions of time
    system: mg.System = field(init=False)
    lines: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.random = np.random.default_rng(self.seed)

    def begin(self, **options: Any) -> None:
        self.system = mg.System(f"random {self.seed}", **options)
        name = f"random {self.seed}"
        self.lines += [f"s = mg.System({self._text([name], options)})", "t = s.time"]

    def __call__(self, method: str, *arguments: Any, **options: Any) -> Any:
        """Call a method of the system and write it down."""
        self.lines.append(f"s.{method}({self._text(arguments, options)})")
        values = {key: self._value(value) for key, value in options.items()}
        return getattr(self.system, method)(*map(self._value, arguments), **values)

    def _value(self, given: Any) -> Any:
        """The value of an argument that is given as a piece of program."""
        if not isinstance(given, Source):
            return given
        return eval(given, {"mg": mg, "s": self.system, "t": self.system.time})

    def _text(self, arguments: Any, options: dict[str, Any]) -> str:
        given = [f"{key}={self.source(value)}" for key, value in options.items()]
        return ", ".join([*map(self.source, arguments), *given])

    def source(self, value: Any) -> str:
        """What a value of a call is in a program."""
        if isinstance(value, Source):
            return str(value)
        if isinstance(value, (list, tuple)):
            inside = ", ".join(map(self.source, value))
            return f"[{inside}]" if isinstance(value, list) else f"({inside})"
        if isinstance(value, dict):
            return f"{{{', '.join(f'{key!r}: {self.source(x)}' for key, x in value.items())}}}"
        if isinstance(value, ca.SX):
            return self._expression(value)
        if isinstance(value, mg.Transition):
            return self._transition(value)
        return repr(value)

    def _expression(self, value: ca.SX) -> str:
        """A scalar expression; its numbers have few digits, so that CasADi shows them all."""
        *shared, text = str(value).split(", ")
        for definition in reversed(shared):  # @2=(@1*t), ...
            name, _, meaning = definition.partition("=")
            text = re.sub(rf"{name}\b", meaning, text)
        known = {"parameters": self.system.parameters, "inputs": self.system.inputs}
        text = re.sub(r"\b(sin|cos|exp|sqrt|fabs)\(", r"mg.\1(", text)
        for kind, names in known.items():
            for name in names:
                text = re.sub(rf"(?<![\w'.]){name}(?![\w'(])", f"s.{kind}[{name!r}]", text)
        return text

    def _transition(self, step: mg.Transition) -> str:
        amount = self.source(step.amount)
        kind = type(step).__name__
        if kind == "Ball":
            return f"mg.ball({amount})"
        direction = tuple(float(x) for x in ca.vertsplit(ca.evalf(step.direction)))
        if kind == "Screw":
            return f"mg.screw({direction}, {float(step.pitch)}, {amount})"
        return f"mg.{'rot' if kind == 'Rotation' else 'move'}({direction}, {amount})"

    def __str__(self) -> str:
        return "\n".join(["import mechgraph as mg", *self.lines])

    # --- numbers ----------------------------------------------------------------------------------

    def chance(self, probability: float) -> bool:
        return bool(self.random.random() < probability)

    def pick(self, options: Any) -> Any:
        return options[int(self.random.integers(len(options)))]

    def number(self, low: float = -1.0, high: float = 1.0) -> float:
        return round(float(self.random.uniform(low, high)), 3)

    def vector(self, size: float = 0.6) -> tuple[float, ...]:
        return tuple(self.number(-size, size) for _ in range(3))

    def axis(self) -> Any:
        return self.pick(AXES)

    def rotation(self) -> Any:
        """An orientation in each of the ways of writing one."""
        turns = [(self.axis(), self.number(-3, 3)), (self.axis(), self.number(-3, 3))]
        matrix = [[0.36, 0.48, -0.8], [-0.8, 0.6, 0.0], [0.48, 0.64, 0.6]]
        return self.pick([turns, self.pick(QUATERNIONS), matrix, None])

    def wave(self) -> ca.SX:
        """A smooth function of time."""
        return self.number() + self.number() * mg.sin(
            self.number(0.5, 2) * self.system.time + self.number()
        )

    def places(self) -> dict[str, Any]:
        """Where a joint sits on its two bodies."""
        options = {
            "at": self.vector(),
            "orientation": self.rotation(),
            "child_at": self.vector(),
            "child_orientation": self.rotation(),
        }
        if self.driven and self.chance(0.15):  # a joint's frame may itself be moved by time
            options |= {self.pick(["at", "child_at"]): (self.wave(), 0.1, self.wave())}
            options |= {
                self.pick(["orientation", "child_orientation"]): [
                    ("x", self.wave()),
                    ((0.0, 0.6, 0.8), self.wave()),
                ]
            }
        return {
            key: value for key, value in options.items() if value is not None and self.chance(0.7)
        }

    # --- bodies -----------------------------------------------------------------------------------

    def body(self, name: str) -> mg.Body:
        """A body with the inertia of a few particles, written in one of the ways of writing it."""
        mass: Any = self.number(0.5, 3)
        com = self.vector(0.4)
        r = self.random.uniform(-0.4, 0.4, (6, 3))
        inertia = np.round(
            float(mass) * sum(r_i @ r_i * np.eye(3) - np.outer(r_i, r_i) for r_i in r) / 6
            + 0.02 * np.eye(3),
            4,
        )
        origin = inertia + mass * (np.dot(com, com) * np.eye(3) - np.outer(com, com))
        if self.chance(0.1):
            mass = self("parameter", f"mass of {name}", mass)
        way = self.pick(["matrix", "six", "three", "origin"])
        if way == "matrix":
            return self("body", name, mass, com, inertia.tolist())
        if way == "six":
            return self(
                "body", name, mass=mass, com=com, inertia=tuple(float(inertia[k]) for k in _SIX)
            )
        if way == "three":
            return self(
                "body",
                name,
                mass=mass,
                com=com,
                inertia=tuple(float(x) for x in np.round(np.linalg.eigvalsh(inertia), 4)),
            )
        return self(
            "body", name, mass=mass, com=com, inertia=origin.tolist(), inertia_about="origin"
        )

    # --- joints -----------------------------------------------------------------------------------

    def kind_options(self, kind: str) -> dict[str, Any]:
        """What the joint types want to know beside places."""
        options: dict[str, Any] = {}
        if kind in ("revolute", "prismatic", "cylindrical", "screw", "planar"):
            options["axis"] = self.axis()
        if kind == "screw":
            options["pitch"] = self.number(0.05, 0.4)
        if kind == "universal" and self.chance(0.7):
            options["axis"], options["second_axis"] = self.pick(
                [("z", "-x"), ((0.6, 0.8, 0.0), (-0.8, 0.6, 0.0)), ("y", (0.6, 0.0, -0.8))]
            )
        if kind in (
            "revolute",
            "prismatic",
            "cylindrical",
            "screw",
            "universal",
            "planar",
        ) and self.chance(0.3):
            options |= {
                "stiffness": self.number(1, 20),
                "damping": self.number(0, 2),
                "rest": self.number(-0.5, 0.5),
            }
        return options | self._armature(kind)

    def _armature(self, kind: str) -> dict[str, Any]:
        """A rotor in some joints; drawn apart, so that all else stays as it was without it."""
        random = np.random.default_rng((self.seed, len(self.lines)))
        turns = kind in ("revolute", "prismatic", "screw") and random.random() < 0.2
        return {"armature": round(random.uniform(0.05, 1.0), 3)} if turns else {}

    def steps(self, coordinates: int, drives: int = 1) -> list[mg.Transition]:
        """A chain with so many coordinates (no two alike, so that none is idle), constants and
        functions of time between."""
        shapes = [
            "rot x",
            "rot y",
            "rot z",
            "move x",
            "move y",
            "move z",
            *(["screw"] if "screw" in self.kinds else []),
        ]
        shapes = list(self.random.permutation(shapes)[:coordinates])
        chain = [self._step(shape, f"c{i}") for i, shape in enumerate(shapes)]
        for amount in [self.number(), *(self.wave() for _ in range(drives))]:
            chain.insert(
                int(self.random.integers(len(chain) + 1)),
                self._step(self.pick(["rot", "move", "screw"]), amount),
            )
        return chain

    def _step(self, shape: str, amount: Any) -> mg.Transition:
        way, _, letter = shape.partition(" ")
        if way == "screw":
            return mg.screw((0.36, 0.48, 0.8), self.number(0.05, 0.3), amount)
        direction = letter or self.axis()
        return (mg.rot if way == "rot" else mg.move)(direction, amount)

    def joint(self, name: str, kind: str, inboard: str, outboard: str, **options: Any) -> mg.Joint:
        """A joint between two bodies, walked from either side."""
        ends = (outboard, inboard) if self.chance(0.35) else (inboard, outboard)
        if kind == "chain":
            chain = self.steps(
                int(self.random.integers(1, 4)), self.pick([0, 1]) if self.driven else 0
            )
            return self("joint", name, *ends, chain, **self.places(), **options)
        return self(kind, name, *ends, **self.kind_options(kind), **self.places(), **options)

    # --- forces -----------------------------------------------------------------------------------

    def forces(self) -> None:
        """Something of every force that there is."""
        bodies = list(self.system.bodies)
        t = self.system.time
        for i in range(int(self.random.integers(0, 3))):
            a = self("marker", f"m{i}", self.pick(bodies), self.vector(), self.rotation())
            b = self(
                "marker",
                f"n{i}",
                self.pick([*bodies, "ground"]),
                (2.0 + i, self.number(), self.number()),
            )
            self(
                "spring_damper",
                f"spring {i}",
                a.name,
                b.name,
                self.number(1, 30),
                self.number(0, 3),
                self.pick([0.0, self.number(0.2, 1)]),
            )
        if self.chance(0.5):
            self(
                "force",
                "push",
                self.pick(bodies),
                (self.number(), 2 * mg.sin(3 * t), self.number()),
                frame=self.pick(["world", "body"]),
            )
        if self.chance(0.4):
            body = self.pick(bodies)
            self("force", "drag", body, Drag(body, self.number(0.1, 1)))
        if self.chance(0.4):
            self(
                "body_torque",
                "twist",
                self.pick(bodies),
                self.vector(2),
                frame=self.pick(["world", "body"]),
            )
        moved = [
            name
            for joint in self.system.joints.values()
            for name in (joint.coordinates if _scalar(joint) else ())
        ]
        if moved and self.chance(0.6):
            self("torque", "motor", self.pick(moved), self("input", "w"))
        balls = [joint.name for joint in self.system.joints.values() if len(joint.speeds) in (3, 6)]
        if balls and self.chance(0.5):
            name = self.pick(balls)
            self("torque", "wrist", name, [self.number() for _ in self.system.joints[name].speeds])
        if self.driven:  # what MuJoCo has to repeat has neither
            self.machine_elements(bodies, moved)

    def machine_elements(self, bodies: list[str], moved: list[str]) -> None:
        """Ropes, drag and elastic couplings, by random numbers of their own."""
        before, self.random = self.random, np.random.default_rng([self.seed, 13])
        if self.chance(0.2):
            eye = self("marker", "eye", "ground", (1.5, self.number(), 2.0))
            path = [self.pick(bodies), "eye", self.pick(bodies)]
            assert eye.name in path
            self("rope", "rope", path, self.number(0.5, 3), self.number(1, 9), self.number(0, 1))
        if self.chance(0.2):
            self(
                "drag",
                "air",
                self.pick(bodies),
                self.number(0, 1),
                wind=self.vector(),
                air="ground",
            )
        if moved and self.chance(0.2):
            ratio = {name: self.number(0.5, 2) for name in moved[:2]}
            self("elastic_coupling", "train", ratio, self.number(1, 9), 0.1)
        self.random = before


_SIX = ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2))


@dataclass(frozen=True)
class Drag:
    """A force against the velocity of a body's origin."""

    body: str
    factor: float

    def __call__(self, m: mg.Motion) -> ca.SX:
        return -self.factor * m.velocity(self.body)

    def __repr__(self) -> str:
        return f"lambda m: -{self.factor} * m.velocity({self.body!r})"


def _scalar(joint: mg.Joint) -> bool:
    return len(joint.speeds) == len(joint.coordinates)


# --- trees ----------------------------------------------------------------------------------------

MOST_SPEEDS = 20


def random_tree(
    seed: int,
    kinds: tuple[str, ...] = JOINT_NAMES,
    driven: bool = True,
    forces: bool = True,
    make: type[Build] = Build,
) -> Build:
    """A tree of 1–12 bodies; tree k begins with the k-th joint type, so that every type is met
    often."""
    build = make(seed, kinds, driven)
    build.begin(gravity=build.pick([build.vector(9.8), (0, 0, -9.81), (0, 0, 0)]))
    inboard = ["ground"]
    if driven and build.chance(0.3):
        inboard = [_moving_base(build)]
    for i in range(1 + int(12 * build.random.random() ** 3)):  # few bodies more often than many
        kind = kinds[seed % len(kinds)] if i == 0 else build.pick(kinds)
        if sum(len(joint.speeds) for joint in build.system.joints.values()) + 6 > MOST_SPEEDS:
            break
        build.body(f"b{i}")
        build.joint(f"j{i}", kind, build.pick(inboard[-3:]), f"b{i}")
        inboard.append(f"b{i}")
    _give_freedom(build)
    if forces:
        build.forces()
    return build


def _moving_base(build: Build) -> str:
    """A base that time moves; half of the time a body with mass."""
    build.body("base") if build.chance(0.5) else build("frame", "base")
    t = build.system.time
    chain = [
        mg.move("x", 0.5 * mg.sin(1.1 * t + 0.2)),
        mg.move("y", 0.3 * mg.sin(1.7 * t)),
        mg.rot("z", 0.6 * mg.sin(1.3 * t)),
    ]
    chain += [mg.rot("y", 0.4 * mg.cos(0.9 * t)), mg.screw("x", 0.2, 0.3 * mg.sin(2.1 * t))]
    build(
        "joint",
        "drive",
        *build.pick([("ground", "base"), ("base", "ground")]),
        chain,
        **build.places(),
    )
    return "base"


def _give_freedom(build: Build) -> None:
    """A tree of fixed joints gets one more body that can move."""
    if not any(joint.speeds for joint in build.system.joints.values()):
        build.body("last")
        build.joint("last joint", "revolute", list(build.system.bodies)[-2], "last")


# --- loops ----------------------------------------------------------------------------------------

LINKS = (
    "revolute",
    "prismatic",
    "cylindrical",
    "screw",
    "universal",
    "planar",
    "spherical",
    "chain",
    "revolute",
    "revolute",
)


@dataclass
class Loop:
    """A system with closed loops and a configuration at which they close exactly: coordinates of
    every joint by name."""

    build: Build
    t: float
    configuration: dict[str, float]

    @property
    def system(self) -> mg.System:
        return self.build.system

    def q(self, equations: mg.Equations) -> np.ndarray:
        return np.array([self.configuration[name] for name in equations.coordinates])

    def __str__(self) -> str:
        return f"{self.build}\nconfiguration = {self.configuration}  # at t = {self.t}"


def random_loop(
    seed: int, kind: str, closings: int = 1, spare: int = 1, make: type[Build] = Build
) -> Loop:
    """A chain of bodies whose end is joined to ground (or to the first body) by a joint of
    ``kind``, which is cut.

    The chain has ``spare`` more speeds than the closing joints take. The child's frame of a closing
    joint is put where the joint closes exactly at a random configuration. More ``closings`` join
    further bodies of the chain.
    """
    build = make(seed)
    build.begin(gravity=build.pick([build.vector(9.8), (0, 0, -9.81)]))
    first = _moving_base(build) if build.chance(0.3) else "ground"
    needed = closings * _rows_of(kind) + spare
    links = _links(build, first, needed + (1 if build.chance(0.5) else 0), needed)
    build.forces()
    equations = build.system.equations("newton-euler")
    state = random_state(equations, seed)
    loop = Loop(build, state.t, dict(zip(equations.coordinates, state.q, strict=True)))
    poses = {name: _pose(equations, name, state) for name in ("ground", *build.system.bodies)}
    anchors = [first, *(links[0] for _ in range(closings - 1))]
    for i, anchor in enumerate(anchors):
        _close(loop, poses, f"close {i}", kind, anchor, links[-1 - i])
    return loop


def _rows_of(kind: str) -> int:
    """Equations of a cut joint: six minus its freedoms; a chain brings its coordinates along."""
    freedoms = {
        "revolute": 1,
        "prismatic": 1,
        "cylindrical": 2,
        "screw": 1,
        "universal": 2,
        "planar": 3,
        "spherical": 3,
        "free": 6,
    }
    return 6 - freedoms.get(kind, 0)


def _links(build: Build, first: str, wanted: int, needed: int) -> list[str]:
    """Bodies one after the other until they have as many speeds as wanted."""
    names, kinds = [first], [build.pick(LINKS) for _ in range(30)]
    while (
        speeds := sum(len(joint.speeds) for joint in build.system.joints.values())
    ) < wanted or len(names) < 4:
        name = f"b{len(names)}"
        build.body(name)
        build.joint(
            f"j{len(names)}", kinds.pop() if speeds < needed + 2 else "revolute", names[-1], name
        )
        names.append(name)
    return names[1:]


def _close(
    loop: Loop, poses: dict[str, Any], name: str, kind: str, parent: str, child: str
) -> None:
    """Join two bodies where they are: T_a P X(x) = T_b C gives the child's frame C."""
    build = loop.build
    at, turned = build.vector(), build.rotation()
    if kind == "chain":
        options: dict[str, Any] = {}
        steps = build.steps(2, build.pick([0, 1]))
    else:
        options = build.kind_options(kind)
        steps = mg.JOINTS[kind](
            **{key: value for key, value in options.items() if key not in _SPRING}
        ).transitions()
    R, d = poses[parent]
    R, d = _then((R, d), (_number(orientation(turned)), at))
    local: list[float] = []
    for step in steps:
        x = _amount(build, step)
        local += x if step.moves else []
        value = step.pose(
            ca.SX(ca.DM(x)) if step.moves else ca.substitute(step.amount, build.system.time, loop.t)
        )
        R, d = _then((R, d), (_number(value[0]), _number(value[1]).ravel()))
    R_b, d_b = poses[child]
    places = {"at": at, "orientation": turned, "child_at": tuple((R_b.T @ (d - d_b)).tolist())}
    places["child_orientation"] = (R_b.T @ R).tolist()
    joint = build(
        *(
            ("joint", name, parent, child, steps)
            if kind == "chain"
            else (kind, name, parent, child)
        ),
        **options,
        **places,
        cut=True,
    )
    loop.configuration |= dict(zip(joint.coordinates, local, strict=True))
    if joint.coordinates and build.chance(0.5):
        efforts = [build.number(-3, 3) for _ in joint.speeds]
        build("torque", f"effort in {name}", name, efforts if len(efforts) > 1 else efforts[0])


_SPRING = ("stiffness", "damping", "rest", "armature")


def _amount(build: Build, step: mg.Transition) -> list[float]:
    x = build.random.uniform(-0.8, 0.8, len(step.coordinates))
    if len(x) == 4:
        x = np.array([1.0, *(0.8 * x[1:])])
        x /= np.linalg.norm(x)
    return [float(value) for value in x]


def _pose(equations: mg.Equations, body: str, state: State) -> tuple[np.ndarray, np.ndarray]:
    return equations.rotation(body, state.q, **state.place), equations.position(
        body, state.q, **state.place
    )


def _then(
    a: tuple[np.ndarray, np.ndarray], b: tuple[np.ndarray, np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    return a[0] @ b[0], a[1] + a[0] @ np.asarray(b[1])


def _number(value: ca.SX) -> np.ndarray:
    return np.array(ca.evalf(value))


# --- states ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class State:
    """Arguments of the functions on arrays."""

    q: np.ndarray
    u: np.ndarray
    t: float
    inputs: np.ndarray
    parameters: dict[str, float]

    @property
    def at(self) -> dict[str, Any]:
        return {"t": self.t, "inputs": self.inputs, "parameters": self.parameters}

    @property
    def place(self) -> dict[str, Any]:
        return {"t": self.t, "parameters": self.parameters}


def random_state(equations: mg.Equations, seed: int, speed: float = 1.0) -> State:
    """Any coordinates (unit quaternions), speeds, time, inputs, and parameters near their
    defaults."""
    random = np.random.default_rng([seed, 1])
    q = random.uniform(-1, 1, len(equations.coordinates))
    for four in map(list, equations.terms.chart.quaternions):
        q[four] = random.standard_normal(4)
        q[four] /= np.linalg.norm(q[four])
    parameters = {
        name: value * random.uniform(0.9, 1.1) for name, value in equations.system.defaults.items()
    }
    u = speed * random.uniform(-1, 1, len(equations.speeds))
    return State(
        q, u, float(random.uniform(0, 3)), random.uniform(-2, 2, len(equations.inputs)), parameters
    )


if __name__ == "__main__":
    print(random_tree(int(sys.argv[1])))


def every_function() -> mg.Equations:
    """Every function of expressions that there is."""
    v = mg.variables(["x"], ["y"])
    x, y = v["x"], v["y"]
    one = "sin cos tan asin acos atan sinh cosh tanh asinh atanh exp log sqrt fabs sign floor"
    two = "atan2 hypot fmod copysign fmin fmax"
    forces = [getattr(mg, name)(0.7 * x) for name in one.split()]
    forces += [getattr(mg, name)(x, 0.3 * y) for name in two.split()]
    forces += [
        ca.acosh(1 + x),
        mg.ceil(0.7 * x),
        ca.log1p(x),
        ca.expm1(x),
        x**1.7,
        ca.remainder(x, 0.4 + y),
    ]
    forces += [mg.if_else(ca.logic_and(x < 0.5, y >= 0.2), x * y, -y), ca.logic_or(x == y, x > 0.4)]
    forces += [ca.logic_not(x != y), mg.clip(x, 0.2, 0.6), mg.smooth_step(x, 0.1, 0.5)]
    forces += [mg.erf(x)]
    f = sum((k + 1) * force for k, force in enumerate(forces))
    return mg.Equations(mg.Terms(v, name="functions", N=[[1]], M=[[2 + x * x]], f=[f]))
