"""The same random system said in other units, orders and words: decisions are the same, and numbers
to rounding.

    python tests/campaigns/invariance.py --seed 0 --count 200

A ``Plan`` is a system in one set of units with its bodies where they are at the start, all axes
parallel, so that it is assembled where every joint is at zero. A ``Telling`` says it in other units
(lengths, masses, time), with rows of constraints times factors, bodies and joints in another order,
joints the other way round, its base turned and moved, a body split in two, numbers as parameters;
flat, placed, composed, written by hand, or read from its file. ``answers`` are given in the units
of the plan.
"""

from __future__ import annotations

import argparse
import collections
import re
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

import mechgraph as mg
from mechgraph.errors import MechgraphError

RELATIVE = 1e-6  # of numbers that may be called the same: what has to be told is more (KNOWN)
LITTLE = 1e-3  # in units of a plan, in which forces and sizes are about one
AXES = ["x", "y", "z", (0.0, 0.6, 0.8), (0.36, 0.48, 0.8)]
TURNED = Rotation.from_rotvec([0.4, -0.7, 1.1]).as_matrix()
MOVED = np.array([0.3, -0.2, 0.5])


@dataclass(frozen=True)
class Row:
    """A constraint between points of two bodies: their distance stays, or the velocity of the
    second relative to the first has no component along an axis of the first."""

    name: str
    kind: str  # "distance" or "knife"
    points: tuple[str, str]
    axis: np.ndarray


@dataclass
class Plan:
    """Bodies by their origins, joints by their places, in the world at the start."""

    seed: int
    bodies: dict[str, dict[str, Any]] = field(default_factory=dict)
    joints: dict[str, dict[str, Any]] = field(default_factory=dict)
    points: dict[str, tuple[str, np.ndarray]] = field(default_factory=dict)
    springs: dict[str, dict[str, Any]] = field(default_factory=dict)
    rows: list[Row] = field(default_factory=list)
    gravity: np.ndarray = field(default_factory=lambda: np.array([0.0, 0.0, -9.81]))

    def __post_init__(self) -> None:
        self.random = np.random.default_rng([self.seed, 71])

    def vector(self, size: float = 0.6) -> np.ndarray:
        return np.round(self.random.uniform(-size, size, 3), 3)

    def body(self, name: str, origin: np.ndarray) -> None:
        inertia = np.round(self.random.uniform(0.05, 0.1, 3), 4)
        mass = round(float(self.random.uniform(0.5, 3)), 3)
        self.bodies[name] = {
            "origin": origin, "mass": mass, "com": self.vector(0.3), "inertia": inertia
        }  # fmt: skip

    def joint(self, kind: str, parent: str, child: str, at: np.ndarray, axis: Any = "z") -> None:
        stiffness = round(float(self.random.uniform(0, 40)), 2) * int(self.random.integers(2))
        self.joints[f"j{len(self.joints)}"] = {
            "kind": kind, "parent": parent, "child": child, "at": at, "axis": axis,
            "stiffness": stiffness, "damping": stiffness / 20,
        }  # fmt: skip

    def point(self, body: str, at: np.ndarray) -> str:
        name = f"p{len(self.points)}"
        self.points[name] = body, at
        return name

    def origin(self, body: str) -> np.ndarray:
        return np.zeros(3) if body == "ground" else np.asarray(self.bodies[body]["origin"])


def plan(seed: int) -> Plan:
    """A random one."""
    made = Plan(seed)
    random = made.random
    if random.random() < 0.2:
        made.gravity = np.zeros(3)
    (linkage if random.random() < 0.35 else tree)(made)
    for k in range(int(random.integers(0, 3))):
        names = ["ground", *made.bodies]
        a, b = (str(x) for x in random.choice(names, 2, replace=False))
        ends = [made.point(x, made.vector()) for x in (a, b)]
        rates = {"stiffness": round(float(random.uniform(1, 60)), 2), "damping": 0.4}
        made.springs[f"spring {k}"] = {"ends": ends, **rates, "length": 0.5}
    if "j0" in made.joints and random.random() < 0.5:
        add_rows(made)
    return made


def tree(made: Plan) -> None:
    random = made.random
    kinds = ["revolute", "revolute", "prismatic", "cylindrical", "spherical", "universal"]
    for k in range(int(random.integers(1, 5))):
        parent = str(random.choice(["ground", *made.bodies]))
        origin = made.origin(parent) + made.vector()
        made.body(f"b{k}", origin)
        axis = AXES[int(random.integers(len(AXES)))]
        made.joint(str(random.choice(kinds)), parent, f"b{k}", origin + made.vector(0.3), axis)


def linkage(made: Plan) -> None:
    """A ring of bars with parallel hinges, three rows of which are redundant."""
    axis = AXES[int(made.random.integers(len(AXES)))]
    corners = [made.vector(1.0) for _ in range(int(made.random.integers(4, 6)))]
    names = ["ground", *(f"b{k}" for k in range(len(corners) - 1))]
    for k, (parent, child) in enumerate(pairwise(names)):
        made.body(child, corners[k])
        made.joint("revolute", parent, child, corners[k], axis)
    made.joint("revolute", "ground", names[-1], corners[-1], axis)
    for joint in made.joints.values():
        joint["linkage"] = True


def add_rows(made: Plan) -> None:
    """Distances and knife edges between bodies, some of them twice."""
    random = made.random
    for _ in range(int(random.integers(1, 3))):
        a, b = (str(x) for x in random.choice(["ground", *made.bodies], 2, replace=False))
        points = made.point(a, made.vector()), made.point(b, made.vector())
        kind = str(random.choice(["distance", "distance", "knife"]))
        axis = np.asarray(Rotation.random(random_state=int(random.integers(999))).as_matrix()[0])
        made.rows.append(Row(f"row {len(made.rows)}", kind, points, axis))
    if random.random() < 0.3:
        first = made.rows[0]
        made.rows.append(replace(first, name=f"row {len(made.rows)}"))


# --- ways of telling ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Telling:
    """How a plan is said: units of length, mass and time; and the rest."""

    name: str
    L: float = 1.0
    M: float = 1.0
    T: float = 1.0
    factors: tuple[float, ...] = ()  # of the rows, in turn
    order: int = 0  # seed of another order
    reversed: bool = False
    turned: bool = False
    split: bool = False
    parameters: bool = False
    as_: str = "flat"


TELLINGS = [
    *(Telling(f"lengths {x:g}", L=x) for x in (1e6, 1e-6)),
    *(Telling(f"masses {x:g}", M=x) for x in (1e6, 1e-6)),
    *(Telling(f"time {x:g}", T=x) for x in (1e3, 1e-3)),
    Telling("all units", L=1e-6, M=1e6, T=1e3),
    *(Telling(f"rows {x:g}", factors=(x, 1.0)) for x in (1e9, 1e-9)),
    Telling("rows apart", factors=(1e-9, 1e3, 1.0)),
    Telling("another order", order=5),
    Telling("reversed", reversed=True),
    Telling("turned", turned=True),
    Telling("split", split=True),
    Telling("parameters", parameters=True),
    *(Telling(way, as_=way) for way in ("placed", "composed", "by hand", "file")),
    Telling("composed, rows apart", factors=(1e-9, 1e3, 1.0), as_="composed"),
    Telling("by hand, rows apart", factors=(1e-9, 1e3, 1.0), as_="by hand"),
    Telling("by hand, lengths 1e-6", L=1e-6, as_="by hand"),
    Telling("composed, lengths 1e6", L=1e6, as_="composed"),
    Telling("composed, all units", L=1e-6, M=1e6, T=1e-3, as_="composed"),
]


class Said:
    """A plan as it is told: its equations, and the signs and units of its variables."""

    def __init__(self, plan: Plan, way: Telling) -> None:
        self.plan, self.way = plan, way
        self.signs: dict[str, float] = {}
        self.lengths: set[str] = set()
        self.system = self._system(with_rows=way.as_ in ("flat", "placed", "by hand", "file"))
        self.prefix = {"placed": "unit.", "composed": "part."}.get(way.as_, "")
        self.equations = getattr(self, f"_{way.as_.replace(' ', '_')}")()

    # --- the system -------------------------------------------------------------------------------

    def _system(self, with_rows: bool) -> mg.System:
        plan, way = self.plan, self.way
        turn = TURNED if way.turned else np.eye(3)
        s = mg.System("plan", gravity=tuple(turn @ plan.gravity * way.L / way.T**2))
        for name in self._ordered(plan.bodies):
            self._body(s, name, plan.bodies[name])
        for name in self._ordered(plan.joints):
            self._joint(s, name, plan.joints[name])
        for name, (body, at) in plan.points.items():
            s.marker(name, s.ground if body == "ground" else body, *self._on(body, at))
        for name, x in plan.springs.items():
            rates = x["stiffness"] * way.M / way.T**2, x["damping"] * way.M / way.T
            options = {"stiffness": rates[0], "damping": rates[1], "length": x["length"] * way.L}
            s.spring_damper(name, *(s.markers[each] for each in x["ends"]), **options)
        for k, row in enumerate(plan.rows if with_rows else ()):
            s.constrain(row.name, **self._row(s, row, k))
        return s

    def _ordered(self, names: dict[str, Any]) -> list[str]:
        listed = list(names)
        if self.way.order:
            np.random.default_rng(self.way.order).shuffle(listed)
        return listed

    def _body(self, s: mg.System, name: str, x: dict[str, Any]) -> None:
        way, half = self.way, 0.5 if self._is_split(name) else 1.0
        mass, com = half * x["mass"] * way.M, tuple(x["com"] * way.L)
        inertia = tuple(half * x["inertia"] * way.M * way.L**2)
        if way.parameters:
            mass = s.parameter(f"mass of {name}", mass)
        s.body(name, mass=mass, com=com, inertia=inertia)
        if half < 1:
            other = s.body(f"{name} other", mass=mass, com=com, inertia=inertia)
            s.fixed(f"{name} weld", name, other)

    def _is_split(self, name: str) -> bool:
        return self.way.split and name == "b0"

    def _on(self, body: str, at: np.ndarray) -> tuple[Any, ...]:
        """Place and orientation on a body of what is at a place of the world."""
        if body == "ground" and self.way.turned:
            return tuple(self.way.L * (TURNED @ at + MOVED)), TURNED.tolist()
        return (tuple(self.way.L * (at - self.plan.origin(body))), None)

    def _joint(self, s: mg.System, name: str, x: dict[str, Any]) -> None:
        way, kind = self.way, x["kind"]
        ends = [(x[end], *self._on(x[end], x["at"])) for end in ("parent", "child")]
        turnable = kind in ("revolute", "prismatic") and way.reversed
        (parent, at, orientation), (child, child_at, child_orientation) = (
            reversed(ends) if turnable else ends
        )
        options: dict[str, Any] = {"at": at, "child_at": child_at}
        if orientation is not None:
            options["orientation"] = orientation
        if child_orientation is not None:
            options["child_orientation"] = child_orientation
        if kind in ("revolute", "prismatic", "cylindrical"):
            options["axis"] = x["axis"]
        if kind in ("revolute", "prismatic") and x["stiffness"]:
            square = way.M * (way.L**2 if kind == "revolute" else 1.0)
            options["stiffness"] = x["stiffness"] * square / way.T**2
            options["damping"] = x["damping"] * square / way.T
        body = [s.ground if each == "ground" else each for each in (parent, child)]
        made = getattr(s, kind)(name, *body, **options)
        self.lengths |= set(made.lengths)
        self.signs |= dict.fromkeys(made.coordinates, -1.0 if turnable else 1.0)

    def _factor(self, k: int) -> float:
        return self.way.factors[k % len(self.way.factors)] if self.way.factors else 1.0

    def _row(self, s: mg.System, row: Row, k: int) -> dict[str, Callable[[mg.Motion], Any]]:
        a, b = (s.markers[each] for each in row.points)
        factor = self._factor(k)
        if row.kind == "distance":
            square = self._square(row)
            return {
                "position": lambda m: (
                    factor * (ca.sumsqr(m.position(b) - m.position(a)) - square) / self.way.L
                )
            }
        return {
            "velocity": lambda m: factor
            * ca.dot(
                m.rotation(a) @ ca.DM(row.axis), m.velocity(b) - m.velocity(a)
            )
        }  # fmt: skip

    def _square(self, row: Row) -> float:
        places = [self.plan.points[each][1] for each in row.points]
        return float(np.sum((places[1] - places[0]) ** 2)) * self.way.L**2

    # --- equations --------------------------------------------------------------------------------

    def _flat(self) -> mg.Equations:
        return self.system.equations()

    def _placed(self) -> mg.Equations:
        outer = mg.System("outer", gravity=tuple(self.plan.gravity))
        outer.place("unit", self.system, on=outer.ground, at=tuple(MOVED))
        return outer.equations()

    def _composed(self) -> mg.Equations:
        if self.system.equations().terms.chart.counted:
            raise Unasked  # turns that are counted are no variations, but PlainChart has them so
        rows = {row.name: self._seen(row, k) for k, row in enumerate(self.plan.rows)}
        return mg.compose("whole", {"part": self.system}, constraints=rows)

    def _seen(self, row: Row, k: int) -> Callable[[Any], Any]:
        a, b = (f"part.{each}" for each in row.points)
        factor, square = self._factor(k), self._square(row)
        if row.kind == "distance":
            return lambda v: factor * (ca.sumsqr(v[b] - v[a]) - square) / self.way.L
        raise Unasked

    def _by_hand(self) -> mg.Equations:
        terms = self.system.equations().terms
        s = terms.symbols
        if terms.chart.quaternions or terms.chart.counted or s.parameters:
            raise Unasked
        v = mg.variables(list(s.coordinates), list(s.speeds))

        def here(value: Any) -> Any:
            return ca.substitute(value, ca.vertcat(s.q, s.u, s.t), ca.vertcat(v.q, v.u, v.t))

        count = terms.phi.numel()
        position = dict(zip(terms.constraints, ca.vertsplit(here(terms.phi)), strict=False))
        rest = terms.psi[count:] if count < terms.psi.numel() else ca.SX(0, 1)
        velocity = dict(zip(terms.constraints[count:], ca.vertsplit(here(rest)), strict=False))
        made = mg.Terms(
            v, N=here(terms.N), M=here(terms.M), f=here(terms.f), position=position,
            velocity=velocity, kinetic=here(terms.kinetic), potential=here(terms.potential),
        )  # fmt: skip
        return mg.Equations(made)

    def _file(self) -> mg.Equations:
        if self.plan.rows:
            raise Unasked
        with tempfile.TemporaryDirectory() as folder:
            loaded = mg.load(self.system.save(Path(folder) / "model.yaml"))
        return getattr(loaded, "system", loaded).equations()

    # --- units ------------------------------------------------------------------------------------

    def sizes(self, names: tuple[str, ...], order: int) -> np.ndarray:
        """What a number of the plan is multiplied with here: coordinates, speeds, accelerations."""
        plain = [name.removeprefix(self.prefix).removesuffix("'") for name in names]
        units = [self.way.L if name in self.lengths else 1.0 for name in plain]
        signs = [self.signs.get(name, 1.0) for name in plain]
        return np.array(units) * np.array(signs) / self.way.T**order

    def names(self, names: tuple[str, ...]) -> list[str]:
        return [name.removeprefix(self.prefix) for name in names]


class Unasked(Exception):
    """A plan that cannot be told in this way."""


# --- answers --------------------------------------------------------------------------------------


@dataclass
class Answers:
    """Decisions, and numbers in the units of the plan."""

    decisions: dict[str, Any] = field(default_factory=dict)
    numbers: dict[str, np.ndarray] = field(default_factory=dict)
    state: tuple[dict[str, float], dict[str, float]] = field(default_factory=lambda: ({}, {}))

    def ask(self, what: str, call: Callable[[], Any]) -> Any:
        """What a call returns; its warnings and errors are decisions."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            try:
                value = call()
            except MechgraphError as error:
                self.decisions[what] = f"{type(error).__name__}: {kind_of(str(error))}"
                return None
        told = sorted({kind_of(str(each.message)) for each in caught})
        if told:
            self.decisions[f"{what}, warnings"] = told
        return value


def kind_of(text: str) -> str:
    """A message without its names and numbers."""
    return re.sub(r"'[^']*'|\"[^\"]*\"|[-+]?\d[\d.e+-]*", "…", text)[:60]


def answers(said: Said, like: Answers | None = None) -> Answers:
    """What the equations tell at the start, with the speeds of another telling if there is one."""
    found, eqs, way = Answers(), said.equations, said.way
    q = np.array(eqs.terms.chart.reference)
    if like is None:
        random = np.random.default_rng([said.plan.seed, 3])
        guess = dict(zip(eqs.speeds, random.uniform(-1, 1, len(eqs.speeds)), strict=True))
        state = found.ask("assembly", lambda: eqs.assemble(guess=guess))
        u = np.zeros(len(eqs.speeds)) if state is None else state[1]
    else:
        values = [like.state[1].get(name, 0.0) for name in said.names(eqs.speeds)]
        u = np.array(values) * said.sizes(eqs.speeds, 1)
    speeds = said.names(eqs.speeds)
    found.state = {}, dict(zip(speeds, u / said.sizes(eqs.speeds, 1), strict=True))
    found.decisions["mobility"] = found.ask("mobility", lambda: eqs.mobility(q, u))
    redundant = found.ask("redundant", lambda: eqs.redundant(q, u))
    found.decisions["redundant"] = None if redundant is None else len(redundant)
    udot = found.ask("accelerations", lambda: eqs.accelerations(q, u))
    if udot is not None:
        found.numbers |= _named("u̇ of", speeds, udot / said.sizes(eqs.speeds, 2))
    energy = way.M * way.L**2 / way.T**2
    found.numbers["T"] = np.array([eqs.kinetic_energy(q, u) / energy])
    _at_rest(found, said)
    return found


def _at_rest(found: Answers, said: Said) -> None:
    """The linear model at the start, at rest, if that is an equilibrium or a steady motion."""
    eqs = said.equations
    q, u = np.array(eqs.terms.chart.reference), np.zeros(len(eqs.speeds))
    model = found.ask("linear model", lambda: eqs.linearize((q, u)))
    if model is None:
        return
    found.decisions["states"] = len(model.states)
    found.decisions["constant"] = model.constant
    if model.constant:
        found.decisions["verdict"] = model.stability().verdict
        values = np.sort_complex(np.round(model.eigenvalues() * said.way.T, 6))
        found.numbers["eigenvalues"] = values[np.abs(values) > 1e-2]


def _named(what: str, names: list[str], values: np.ndarray) -> dict[str, np.ndarray]:
    return {f"{what} {name}": np.array([x]) for name, x in zip(names, values, strict=True)}


# --- comparison -----------------------------------------------------------------------------------


def differences(plan: Plan, tellings: list[Telling] | None = None) -> Iterator[tuple[str, str]]:
    """Every way of telling that answers otherwise, and how."""
    first = answers(Said(plan, Telling("as it is")))
    for way in TELLINGS if tellings is None else tellings:
        try:
            said = Said(plan, way)
        except Unasked:
            continue
        except MechgraphError as error:
            yield way.name, f"refused: {str(error)[:200]}"
            continue
        found = answers(said, first)
        yield from ((way.name, each) for each in _apart(first, found, way))


def _apart(first: Answers, found: Answers, way: Telling) -> Iterator[str]:
    for what in sorted({*first.decisions, *found.decisions} - {"assembly", "assembly, warnings"}):
        a, b = (x.decisions.get(what) for x in (first, found))
        if a != b and not (way.split and what in ("redundant",)):
            yield f"{what}: {a} became {b}"
    size = max((float(np.abs(x).max(initial=0.0)) for k, x in first.numbers.items() if k[0] == "u"),
               default=1.0)  # fmt: skip
    for what in first.numbers.keys() & found.numbers.keys():
        a, b = first.numbers[what], found.numbers[what]
        least = size if what[0] == "u" else float(np.abs(a).max(initial=0.0))
        if a.shape != b.shape or not (np.abs(a - b) <= RELATIVE * max(least, LITTLE)).all():
            yield f"{what}: {a} became {b}"


def campaign(
    about: str,
    found: Callable[[int, list[Telling]], Iterator[tuple[str, str]]],
    ways: list[Telling],
) -> None:
    """Print what a count of seeds finds, each told in some of the ways, in turn, or in all."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--ways", type=int, default=len(ways))
    given = parser.parse_args()
    classes: collections.Counter[str] = collections.Counter()
    for k, seed in enumerate(range(given.seed, given.seed + given.count), start=1):
        told = [ways[(seed * given.ways + each) % len(ways)] for each in range(given.ways)]
        for way, how in found(seed, told):
            classes[f"{way}: {how.partition(':')[0]}"] += 1
            print(f"{seed}: {way}: {how}", flush=True)
        if k % 50 == 0:
            print(f"{k} systems", flush=True)
    print(
        f"{given.count} systems", *(f"{n:5d} {kind}" for kind, n in classes.most_common()), sep="\n"
    )
    sys.exit(bool(classes))


if __name__ == "__main__":
    campaign(__doc__, lambda seed, ways: differences(plan(seed), ways), TELLINGS)
