"""Random systems with rigid contacts, stops and dry friction, said in other units, orders and
words: their points close, stick, slide and open alike.

    python tests/campaigns/contact_invariance.py --seed 0 --count 200

A body falls on a floor, or lies on it; a slider and a lever have stops, or joints that stick. What
is told is as in ``invariance``.
"""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import mechgraph as mg
from invariance import MOVED, TURNED, Telling, Unasked, campaign, kind_of
from mechgraph.errors import MechgraphError

LASTS, LOOKS = 0.25, 6
REACHED = 1e-4  # of numbers after impacts, which make more of the errors of a run
SHAPES = {
    "ball": (lambda at, L: mg.Sphere(at, 0.1 * L), (4e-3, 4e-3, 4e-3), 0.1),
    "box": (lambda at, L: mg.Box(at, (0.3 * L, 0.2 * L, 0.1 * L)), (4.2e-3, 8.3e-3, 10.8e-3), 0.05),
    "can": (lambda at, L: mg.Cylinder(at, 0.1 * L, 0.3 * L), (0.01, 0.01, 5e-3), 0.15),
    "capsule": (lambda at, L: mg.Capsule(at, 0.06 * L, 0.2 * L), (6e-3, 6e-3, 1.5e-3), 0.16),
}

TELLINGS = [
    *(Telling(f"lengths {x:g}", L=x) for x in (1e6, 1e-6)),
    *(Telling(f"masses {x:g}", M=x) for x in (1e6, 1e-6)),
    *(Telling(f"time {x:g}", T=x) for x in (1e3, 1e-3)),
    Telling("all units", L=1e-6, M=1e6, T=1e3),
    Telling("another order", order=5),
    Telling("reversed", reversed=True),
    Telling("turned", turned=True),
    Telling("split", split=True),
    Telling("parameters", parameters=True),
    *(Telling(way, as_=way) for way in ("placed", "file")),
]


@dataclass
class Plan:
    """Numbers of a system in one set of units."""

    seed: int
    drawn: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        random = np.random.default_rng([self.seed, 73])
        draw = self.drawn
        draw["kind"] = str(random.choice(list(SHAPES)))
        draw["mass"] = round(float(10 ** random.uniform(-1, 1)), 3)
        draw["gravity"] = -9.81 * np.array(
            [np.sin(a := random.choice([0, 0.3, 0.6])), 0, np.cos(a)]
        )
        draw["e"], draw["tangential"] = (float(random.choice([0, 0, 0.5])) for _ in range(2))
        draw["mu"] = float(random.choice([0, 0.2, 0.7]))
        draw["static"] = draw["mu"] * float(random.choice([1, 1.3]))
        draw["is_flat"], draw["lies"] = random.random() < 0.5, random.random() < 0.4
        draw["height"] = 0.0 if draw["lies"] else round(float(random.uniform(0.005, 0.05)), 4)
        draw["tilt"] = 0.0 if draw["lies"] else round(float(random.uniform(-0.4, 0.4)), 3)
        moving = random.random() < 0.7
        draw["speeds"] = np.round(random.uniform(-1, 1, 3) * moving, 3)
        draw["others"] = [name for name in ("slider", "lever") if random.random() < 0.4]
        draw["stops"] = float(random.choice([0, 0.4]))
        draw["dry"] = float(random.choice([0, 1.0, 6.0]))
        draw["rate"] = round(float(random.uniform(-2, 2)), 3)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["drawn"][name]
        except KeyError:
            raise AttributeError(name) from None


class Said:
    """A plan as it is told: its equations, its start, and the units of its variables."""

    def __init__(self, plan: Plan, way: Telling) -> None:
        self.plan, self.way = plan, way
        self.turn = TURNED if way.turned else np.eye(3)
        self.start: dict[str, float] = {}
        self.units: dict[str, float] = {}
        s = mg.System("plan", gravity=tuple(self.turn @ plan.gravity * way.L / way.T**2))
        parts = [self._falling, *(getattr(self, f"_{name}") for name in plan.others)]
        for add in reversed(parts) if way.order else parts:
            add(s)
        self.prefix = "unit." if way.as_ == "placed" else ""
        self.equations = self._equations(s)

    def _equations(self, s: mg.System) -> mg.Equations:
        if self.way.as_ == "placed":
            outer = mg.System("outer", gravity=s.gravity)
            outer.place("unit", s, on=outer.ground, at=tuple(MOVED))
            return outer.equations()
        if self.way.as_ == "file":
            with tempfile.TemporaryDirectory() as folder:
                loaded = mg.load(s.save(Path(folder) / "model.yaml"))
            return getattr(loaded, "system", loaded).equations()
        return s.equations()

    def _at(self, *place: float) -> dict[str, Any]:
        """A place of the world, in its axes."""
        at = self.way.L * (self.turn @ np.array(place) + (MOVED if self.way.turned else 0))
        return {"at": tuple(at), **({"orientation": TURNED.tolist()} if self.way.turned else {})}

    def _body(
        self, s: mg.System, name: str, mass: float, inertia: Any, com: Any = (0, 0, 0)
    ) -> Any:
        way, half = self.way, 0.5 if self.way.split else 1.0
        mass, inertia = half * mass * way.M, tuple(half * np.array(inertia) * way.M * way.L**2)
        com = tuple(way.L * np.array(com))
        given = s.parameter(f"mass of {name}", mass) if way.parameters else mass
        body = s.body(name, mass=given, com=com, inertia=inertia)
        if way.split:
            other = s.body(f"{name} other", mass=mass, com=com, inertia=inertia)
            s.fixed(f"{name} weld", body, other)
        return body

    def _begin(self, name: str, unit: float, value: float, rate: float) -> None:
        self.units[name], self.units[f"{name}'"] = unit, unit / self.way.T
        self.start |= {name: unit * value, f"{name}'": unit * rate / self.way.T}

    def _falling(self, s: mg.System) -> None:
        plan, way = self.plan, self.way
        shape, inertia, low = SHAPES[plan.kind]
        body = self._body(s, "body", plan.mass, plan.mass * np.array(inertia))
        steps = [mg.move("x", "x"), mg.move("z", "z"), mg.rot("y", "angle")]
        if not plan.is_flat:
            steps = [
                mg.move("x", "x"),
                mg.move("z", "z"),
                mg.rot("y", "angle"),
                mg.rot("x", "roll"),
            ]
        s.joint("place", s.ground, body, steps, **self._at(0, 0, 0))
        floor = s.marker("floor", s.ground, *self._at(0, 0, 0).values())
        friction = s.parameter("mu", plan.mu) if way.parameters else plan.mu
        speed = 1e-5 * way.L / way.T
        s.rigid_contact(
            "contact", shape(body, way.L), mg.Plane(floor), friction=friction,
            static_friction=plan.static, restitution=plan.e, tangential_restitution=plan.tangential,
            rebound_threshold=speed, regularization=speed,
        )  # fmt: skip
        tilt = plan.tilt
        if plan.kind == "box":
            low = 0.15 * abs(np.sin(tilt)) + 0.05 * np.cos(tilt)
        if plan.kind == "can":
            low = 0.1 * abs(np.sin(tilt)) + 0.15 * np.cos(tilt)
        if plan.kind == "capsule":
            low = 0.06 + 0.1 * np.cos(tilt)
        x, z, spin = plan.speeds
        self._begin("place.x", way.L, 0.0, x)
        self._begin("place.z", way.L, low + plan.height, 0.0 if plan.lies else z)
        self._begin("place.angle", 1.0, tilt, 0.0 if plan.lies else 5 * spin)
        if not plan.is_flat:
            self._begin("place.roll", 1.0, 0.0, 0.0)

    def _stopped(self, unit: float, limits: float, effort: float) -> dict[str, Any]:
        speed = 1e-5 * unit / self.way.T
        law = {"restitution": self.plan.stops, "rebound_threshold": speed}
        options = {"limits": mg.Limits(-limits * unit, limits * unit, **law)}
        if self.plan.dry:
            force = self.plan.dry * effort
            options["friction"] = mg.DryFriction(force, static_friction=1.2 * force)
        return options

    def _ends(self, s: mg.System, body: Any) -> tuple[Any, Any]:
        return (body, s.ground) if self.way.reversed else (s.ground, body)

    def _slider(self, s: mg.System) -> None:
        way = self.way
        body = self._body(s, "slider", 1.5, (0.01, 0.01, 0.01))
        options = self._stopped(way.L, 0.1, way.M * way.L / way.T**2)
        place = self._at(0, 2, 0)
        if way.reversed:
            place = {f"child_{key}": value for key, value in place.items()}
        spring = {"stiffness": 40.0 * way.M / way.T**2, "damping": 0.2 * way.M / way.T}
        s.prismatic("way", *self._ends(s, body), axis="x", **place, **options, **spring)
        side = -1.0 if way.reversed else 1.0
        self._begin("way", way.L * side, 0.05, 0.5 * self.plan.rate)

    def _lever(self, s: mg.System) -> None:
        way = self.way
        body = self._body(s, "lever", 0.7, (0.01, 0.01, 0.001), (0, 0, -0.3))
        options = self._stopped(1.0, 0.4, 0.3 * way.M * way.L**2 / way.T**2)
        place = self._at(0, -2, 0)
        if way.reversed:
            place = {f"child_{key}": value for key, value in place.items()}
        s.revolute("turn", *self._ends(s, body), axis="y", **place, **options)
        side = -1.0 if way.reversed else 1.0
        self._begin("turn", side, 0.2, self.plan.rate)

    def run(self) -> mg.Trajectory:
        way = self.way
        start = {f"{self.prefix}{name}": value for name, value in self.start.items()}
        atol = 1e-11 * min(1.0, way.L) * min(1.0, 1 / way.T)
        step = LASTS / LOOKS * way.T
        return self.equations.simulate(LASTS * way.T, start, step=step, atol=atol, rtol=1e-9)


def answers(said: Said) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Decisions, and numbers in the units of the plan."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            run = said.run()
        except MechgraphError as error:
            return {"run": f"{type(error).__name__}: {kind_of(str(error))}"}, {}
    decisions: dict[str, Any] = {"warnings": sorted({kind_of(str(w.message)) for w in caught})}
    decisions |= {"outcome": run.outcome, "impacts": run.statistics["impacts"]}
    for name, values in run.modes.items():
        plain = _other_end(name.removeprefix(said.prefix), said)
        if "heading" not in name:
            decisions[plain] = np.asarray(values).astype(int).tolist()
    numbers = {name: run[said.prefix + name] / unit for name, unit in said.units.items()}
    return decisions, numbers


def _other_end(name: str, said: Said) -> str:
    """Ends of joints that are said the other way round."""
    if not said.way.reversed or name.startswith("contact"):
        return name
    swapped = {"low": "high", "high": "low"}
    return ".".join(
        " ".join(swapped.get(word, word) for word in part.split(" ")) for part in name.split(".")
    )


def differences(plan: Plan, tellings: list[Telling] | None = None) -> Iterator[tuple[str, str]]:
    """Every way of telling in which a run goes otherwise, and how."""
    decided, found = answers(Said(plan, Telling("as it is")))
    for way in TELLINGS if tellings is None else tellings:
        try:
            others, numbers = answers(Said(plan, way))
        except Unasked:
            continue
        for what in sorted({*decided, *others}):
            if decided.get(what) != others.get(what):
                yield way.name, f"{what}: {decided.get(what)} became {others.get(what)}"
        for what in found.keys() & numbers.keys():
            a, b = found[what], numbers[what]
            if a.shape != b.shape or np.abs(a - b).max() > REACHED * max(1.0, np.abs(a).max()):
                yield way.name, f"{what}: {a} became {b}"


if __name__ == "__main__":
    os.environ["MECHGRAPH_CC"] = "none"  # the runs are short
    campaign(__doc__, lambda seed, ways: differences(Plan(seed), ways), TELLINGS)
