"""Random models: a skeleton (a tree, a loop, a linkage, free bodies, something that falls) with
trimmings (constraints at all levels, redundant ones, contacts, parameters).

Every model is a program, and at its time ``t`` its ``configuration`` meets the constraints on
positions: ``python tests/fuzz/models.py 17`` prints model 17.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))

import mechgraph as mg
from random_systems import Build, Source, random_loop, random_state, random_tree


@dataclass
class Model(Build):
    """A build with a time and coordinates at which it can be assembled."""

    t: float = 0.0
    configuration: dict[str, float] = field(default_factory=dict)
    calls: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = field(default_factory=list)

    def __call__(self, method: str, *arguments: Any, **options: Any) -> Any:
        made = super().__call__(method, *arguments, **options)
        self.calls.append((method, arguments, options))
        return made

    def name(self, kind: str) -> str:
        """A name that is not taken."""
        return f"{kind} {len(self.calls)}"

    def body(self, name: str) -> mg.Body:
        """Now and then a point mass or a thin rod."""
        if self.chance(0.8):
            return super().body(name)
        mass, com = self.number(0.5, 3), self.pick([(0, 0, 0), self.vector(0.4)])
        inertia = self.pick([0, (0.0, 0.02, 0.02), (0.05, 0.05, 0.0)])
        return self("body", name, mass=mass, com=com, inertia=inertia)

    def place(self, body: str | None = None) -> str:
        """A marker on a body, any body if none is named."""
        body = self.pick(list(self.system.bodies)) if body is None else body
        return self("marker", self.name("place"), body, self.vector()).name

    def settle(self, still: bool = False) -> None:
        """Choose coordinates for a model that has no constraints yet: any, or the reference."""
        equations = self.system.equations()
        any_q = random_state(equations, self.seed).q.tolist()
        q = equations.terms.chart.reference if still else any_q
        self.configuration = dict(zip(equations.coordinates, q, strict=True))

    def positions(self, *places: str) -> list[np.ndarray]:
        """Where bodies and markers are in the configuration."""
        equations = self.system.equations()
        q = [self.configuration[name] for name in equations.coordinates]
        return [equations.position(place, q, t=self.t) for place in places]

    @property
    def scalars(self) -> list[str]:
        """Coordinates that are angles or lengths."""
        joints = self.system.joints.values()
        return [
            name
            for joint in joints
            if len(joint.speeds) == len(joint.coordinates)
            for name in joint.coordinates
            if name in self.configuration
        ]

    def about(self, value: float) -> Source:
        """An expression of time that has this value at the model's time."""
        size, rate = self.number(), self.number(0.3, 3)
        return Source(f"{value} + {size} * (mg.sin({rate} * t) - {np.sin(rate * self.t)})")

    @property
    def program(self) -> str:
        """The model and where it can be assembled."""
        return f"{self}\nconfiguration, now = {self.configuration}, {self.t}"

    def shuffled(self) -> str:
        """The same model with everything said in another order, as far as one thing does not need
        another."""
        lines = zip(self.calls, self.lines[2:], strict=True)
        keyed = [(ORDER.index(_sort(call[0])), self.random.random(), line) for call, line in lines]
        mixed = [line for *_, line in sorted(keyed)]
        return "\n".join(["import mechgraph as mg", *self.lines[:2], *mixed])


ORDER = ("parameter", "input", "body", "frame", "marker", "joint", "constraint", "force")


def _sort(method: str) -> str:
    """What a call adds to a model."""
    if method in (*mg.JOINTS, "joint"):
        return "joint"
    if method in ORDER:
        return method
    return "constraint" if method in mg.CONSTRAINTS else "force"


# --- skeletons ------------------------------------------------------------------------------------


def tree(seed: int) -> Model:
    model = random_tree(seed, make=Model)
    model.settle()
    return model


def loop(seed: int) -> Model:
    random = np.random.default_rng([seed, 2])
    kind = random.choice(
        ["revolute", "prismatic", "cylindrical", "universal", "spherical", "chain"]
    )
    made = random_loop(seed, str(kind), spare=int(random.integers(3)), make=Model)
    model = made.build
    model.t = made.t
    model.configuration = {name: float(value) for name, value in made.configuration.items()}
    return model


def begun(seed: int) -> Model:
    model = Model(seed)
    model.begin(gravity=model.pick([model.vector(9.8), (0, 0, -9.81), (0, 0, 0)]))
    return model


def linkage(seed: int) -> Model:
    """A ring of bars with parallel hinges, three of whose rows are redundant; closed where all bars
    are as they are drawn."""
    model = begun(seed)
    axis = model.pick(["y", "-z", (0.0, 0.6, 0.8), (0.36, 0.48, 0.8)])
    corners = [np.zeros(3), *(np.array(model.vector(1.0)) for _ in range(model.pick([3, 4, 5])))]
    names = ["ground", *(f"bar {k}" for k in range(len(corners) - 1))]
    for k, (a, b) in enumerate(pairwise(names)):
        model.body(b)
        at = corners[k] - (corners[k - 1] if k else 0)
        model("revolute", f"hinge {k}", a, b, axis=axis, at=tuple(at.tolist()))
    places = {"at": corners[-1].tolist(), "child_at": (corners[-1] - corners[-2]).tolist()}
    model("revolute", "end", "ground", names[-1], axis=axis, **places)
    model.configuration = dict.fromkeys(model.system.joints, 0.0)
    return model


def loose(seed: int) -> Model:
    """Bodies side by side, each free in its own way."""
    model = begun(seed)
    kinds = ["free", "free", "planar", "spherical", "prismatic", "revolute", "chain"]
    for k in range(model.pick([1, 1, 2, 3])):
        model.body(f"b{k}")
        model.joint(f"j{k}", model.pick(kinds), "ground", f"b{k}")
    model.forces()
    model.settle()
    return model


def fall(seed: int) -> Model:
    """A body or two above a plane, level or not, with contacts that are rigid or compliant."""
    model = Model(seed)
    model.begin(gravity=(0, 0, -9.81))
    tilt = model.pick([0, 0, model.number(0.0, 0.6)])
    model("marker", "floor", "ground", (0, 0, 0), [("y", tilt)])
    for k in range(model.pick([1, 1, 1, 2])):
        model("body", f"b{k}", mass=model.number(0.5, 3), inertia=(0.02, 0.02, 0.03))
        turned = [("x", model.number()), ("z", model.number())]
        at = (0.8 * k, model.number(-0.1, 0.1), model.number(0.6, 1.5))
        model("free", f"j{k}", "ground", f"b{k}", at=at, orientation=model.pick([turned, None]))
        touch(model, f"b{k}", "s.markers['floor']")
    if "b1" in model.system.bodies and model.chance(0.5):
        balls = [Source(f"mg.Sphere(s.bodies['b{k}'], 0.25)") for k in range(2)]
        model("compliant_contact", "meeting", *balls, stiffness=1e5)
    model.settle(still=True)
    return model


def touch(model: Model, body: str, floor: str) -> None:
    """Let a body meet a plane."""
    shapes = ["Sphere({}, 0.2)", "Box({}, (0.3, 0.2, 0.4))", "Cylinder({}, 0.1, 0.5)"]
    shapes += ["Capsule({}, 0.1, 0.3)", "Ellipsoid({}, (0.1, 0.2, 0.3))", "Point({})"]
    surface = Source(f"mg.{model.pick(shapes).format(f's.bodies[{body!r}]')}")
    plane, friction = Source(f"mg.Plane({floor})"), model.pick([0.0, model.number(0.0, 1.0)])
    name = model.name("contact")
    if model.chance(0.6):
        law = {"restitution": model.pick([0.0, model.number(0, 1)]), "friction": friction}
        model("rigid_contact", name, surface, plane, **law)
    else:
        law = {"stiffness": float(10 ** model.number(3, 7)), "damping": model.number(0, 1)}
        model("compliant_contact", name, surface, plane, friction=friction, **law)


SKELETONS: tuple[Callable[[int], Model], ...] = (tree, loop, linkage, loose, fall)


# --- trimmings ------------------------------------------------------------------------------------


def coupled(model: Model) -> None:
    names = model.scalars
    if len(names) > 1:
        a, b = (str(name) for name in model.random.choice(names, 2, replace=False))
        c = {a: model.number(0.5, 2), b: model.number(-2, 2)}
        constant = sum(factor * model.configuration[name] for name, factor in c.items())
        model("coupling", model.name("coupling"), c, constant=constant)


def served(model: Model) -> None:
    if model.scalars:
        name = model.pick(model.scalars)
        model("servo", model.name("servo"), name, model.about(model.configuration[name]))


def motored(model: Model) -> None:
    if model.scalars:
        limits = {"effort": model.number(0.5, 5), "speed": model.number(0.5, 5)}
        wanted = Source(f"{model.number(1, 9)} * mg.sin({model.number(0.3, 3)} * t)")
        model("drive", model.name("drive"), model.pick(model.scalars), wanted, **limits)


def geared(model: Model) -> None:
    """Play between two coordinates, or of one."""
    names = [str(name) for name in model.scalars]
    if names:
        pair = model.random.choice(names, min(2, len(names)), replace=False)
        c = {str(name): model.number(0.5, 2) for name in pair}
        law = {"stiffness": model.number(5, 200), "damping": model.number(0, 2)}
        model("backlash", model.name("gear"), c, model.number(0.01, 0.3), **law)


def held(model: Model) -> None:
    a, b = model.place(), model.place("ground" if model.chance(0.5) else None)
    length = float(np.linalg.norm(np.subtract(*model.positions(a, b))))
    if length > 0.05:
        fixed = Source(repr(length))
        value = model.pick([fixed, model.about(length)])
        model("distance", model.name("rod"), a, b, value)


def bladed(model: Model) -> None:
    model("knife_edge", model.name("blade"), model.place(), across=model.axis())


def led(model: Model) -> None:
    """A row of one's own on velocities, linear or not, or on accelerations."""
    at, c = model.place(), model.number()
    v, w = f"m.velocity({at!r})", f"m.acceleration({at!r})"
    level, row = model.pick(
        [
            ("velocity", f"{v}[0] - {c} * {v}[1]"),
            ("velocity", f"{v}[0] * {v}[0] + {v}[2] * {v}[2] - {abs(c)}"),
            ("acceleration", f"{w}[0] - {c} * {w}[1]"),
        ]
    )
    model("constrain", model.name("row"), **{level: Source(f"lambda m: {row}")})


def guided(model: Model) -> None:
    """A row of one's own on positions."""
    at, k = model.place(), model.pick([0, 1, 2])
    here = float(model.positions(at)[0][k])
    row = f"lambda m: m.position({at!r})[{k}] - {here}"
    model("constrain", model.name("guide"), position=Source(row))


def repeated(model: Model) -> None:
    """A joint or constraint once more, which takes nothing away."""
    again = [call for call in model.calls if _sort(call[0]) in ("joint", "constraint")]
    method, (name, *rest), options = model.pick(again)
    made = model(method, model.name("again"), *rest, **options)
    if _sort(method) == "joint":
        pairs = zip(made.coordinates, model.system.joints[name].coordinates, strict=True)
        model.configuration |= {new: model.configuration[old] for new, old in pairs}


def sprung(model: Model) -> None:
    k = model("parameter", model.name("stiffness"), model.number(1, 50))
    ends = model.place(), model.place("ground")
    model("spring_damper", model.name("spring"), *ends, k, model.number(0, 2), model.number(0, 1))


def pushed(model: Model) -> None:
    """A force of time, of the motion, or with a kink."""
    at, c = model.place(), model.number()
    v, x = f"m.velocity({at!r})", f"m.position({at!r})"
    value = model.pick(
        [
            f"({c}, {c} * mg.sin(3 * t), 2.0 * mg.cos(t))",
            f"lambda m: -{abs(c)} * mg.norm_2({v}) * {v}",
            f"lambda m: mg.if_else({x}[0] > {c}, -{v}, (0.0, 0.0, 0.0))",
            f"lambda m: -5.0 * {x} - {c} * mg.sin(m.time) * {v}",
        ]
    )
    model("force", model.name("push"), at, Source(value))


def bumped(model: Model) -> None:
    """A ball on a body above a plane, compliant."""
    body = model.pick(list(model.system.bodies))
    height = float(model.positions(body)[0][2]) - model.number(0.2, 0.6)
    floor = model("marker", model.name("floor"), "ground", (0, 0, height)).name
    pair = [
        Source(f"mg.Sphere(s.bodies[{body!r}], 0.1)"),
        Source(f"mg.Plane(s.markers[{floor!r}])"),
    ]
    law = {"stiffness": float(10 ** model.number(3, 6)), "friction": model.pick([0.0, 0.3])}
    model("compliant_contact", model.name("bump"), *pair, **law)


def points(model: Model, count: int, least: float, most: float) -> list[float]:
    """Numbers that rise."""
    steps = np.cumsum([model.number(0.1, 1.0) for _ in range(count)])
    return np.round(least + (most - least) * (steps - steps[0]) / np.ptp(steps), 3).tolist()


def tabled(model: Model) -> None:
    """A torque over a coordinate or a speed, or over both; a spring; of time."""
    if not model.scalars:
        return
    name, outside = model.pick(model.scalars), model.pick(["hold", "extend", "repeat", "refuse"])
    size, count = (4.0 if outside == "refuse" else 1.5), model.pick([3, 4, 7, 20])
    x = points(model, count, -size, size)
    y = [model.number(-3, 3) for _ in x]
    y[-1] = y[0]
    law = f"kind={model.pick(['linear', 'hold', 'monotone', 'smooth'])!r}, outside={outside!r}"
    q, v = f"m.coordinate({name!r})", f"m.speed({name!r})"
    of = model.pick([q, v, "m.time", f"{q} - m.time", "both"])
    if of == "both":
        z = [[model.number(-3, 3) for _ in range(4)] for _ in x]
        kind = model.pick(["linear", "hold", "smooth"])
        outside = model.pick(["hold", "extend"])
        grid = f"{x}, [-2.0, -1.0, 0.5, 3.0], {z}, kind={kind!r}, outside={outside!r}"
        value = f"lambda m: mg.table({grid})({q}, {v})"
    else:
        value = f"lambda m: mg.table({x}, {y}, {law})({of})"
    model("torque", model.name("tabled"), name, Source(value))


def hardened(model: Model) -> None:
    """A spring whose effort is a table."""
    x = points(model, 6, -1.5, 1.5)
    y = np.round(np.multiply(model.number(1, 20), x) + np.power(x, 3), 3).tolist()
    law = Source(f"mg.spline({x}, {y}, monotone={model.chance(0.5)}, outside='extend')")
    ends = model.place(), model.place("ground")
    model("spring_damper", model.name("hard"), *ends, law, model.number(0, 2), model.number(0, 1))


def built(model: Model) -> None:
    """A body more, on a joint as it is built: with limits, friction, a rotor, play."""
    base, name = model.pick([*model.system.bodies, "ground"]), model.name("part")
    model.body(name)
    low, high = model.number(-0.6, -0.05), model.number(0.05, 0.6)
    soft = f"stiffness={model.number(50, 2000)}, damping={model.number(0, 5)}"
    limits = [f"mg.Limits({low}, {high}, restitution={model.pick([0.0, 0.4, 1.0])})"]
    limits += [f"mg.Limits({low}, {high}, {soft})", f"({low}, {high})", f"({low}, None)"]
    dry, viscous = model.number(0.1, 3), model.number(0, 1)
    stribeck = f"static_friction={round(1.5 * dry, 3)}, stribeck=0.1, viscous={viscous}"
    friction = [f"{dry}", f"mg.DryFriction({dry}, {stribeck})"]
    friction += [f"mg.DryFriction({dry}, static_friction={round(1.2 * dry, 3)})"]
    options: dict[str, Any] = {"axis": model.axis(), "at": model.vector()}
    if model.chance(0.6):
        options["limits"] = Source(model.pick(limits))
    if model.chance(0.6):
        options["friction"] = Source(model.pick(friction))
    if model.chance(0.4):
        options["armature"] = model.number(0.05, 1)
    if model.chance(0.4):
        options |= {"stiffness": model.number(5, 100), "damping": model.number(0, 1)}
        options |= {"backlash": model.pick([0.0, model.number(0.01, 0.2)])}
    kind = model.pick(["revolute", "prismatic", "screw"])
    options |= {"pitch": model.number(0.05, 0.4)} if kind == "screw" else {}
    joint = model(kind, model.name("built"), base, name, **options)
    model.configuration |= dict.fromkeys(joint.coordinates, 0.0)
    if model.chance(0.4):
        model("torque", model.name("turn"), joint.name, Source(f"{model.number(1, 9)} * mg.sin(t)"))


TRIMMINGS: dict[Callable[[Model], None], float] = {
    coupled: 0.15,
    served: 0.15,
    held: 0.2,
    bladed: 0.1,
    led: 0.1,
    guided: 0.1,
    repeated: 0.15,
    sprung: 0.25,
    pushed: 0.25,
    bumped: 0.15,
    motored: 0.1,
    geared: 0.1,
}
FITTINGS = {tabled: 0.25, hardened: 0.15, built: 0.35}  # drawn apart: what was there stays


def random_model(seed: int) -> Model:
    """The model of a seed; skeletons come in turn."""
    model = SKELETONS[seed % len(SKELETONS)](seed)
    for trim, probability in TRIMMINGS.items():
        if model.chance(probability):
            trim(model)
    before, model.random = model.random, np.random.default_rng([seed, 31])
    for trim, probability in FITTINGS.items():
        if model.chance(probability):
            trim(model)
    model.random = before
    return model


if __name__ == "__main__":
    print(random_model(int(sys.argv[1])).program)
