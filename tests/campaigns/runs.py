"""Random questions to a model, each a line of program: calls at a state, and runs."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

import mechgraph as mg
from mechgraph.runtime.stepper import METHODS
from models import Model

# ``eqs``, a state ``q, u`` on the constraints and its time ``now`` are there
CALLS = (
    "eqs.accelerations(q, u, now)",
    "eqs.multipliers(q, u, now)",
    "eqs.mass_matrix(q, now)",
    "eqs.efforts(q, u, 0 * u, now)",
    "eqs.coordinate_rates(q, u, now)",
    "eqs.kinetic_energy(q, u, now)",
    "eqs.potential_energy(q, now)",
    "eqs.mobility(q, u, now)",
    "eqs.redundant(q, u, now)",
    "eqs.linearize((q, u), t=now).eigenvalues()",
    "eqs.linearize((q, u), t=now).stability()",
    "eqs.equilibrium(configuration)",
    "eqs.steady(configuration)",
    "eqs.inverse_dynamics(q, u, 0 * u, now)",
    "eqs.rollout(q, u, step=1e-3, steps=20, t=now).q",
    "eqs.reaction({joint!r}, q, u, now)",
    "eqs.position({place!r}, q, now)",
    "eqs.observe({place!r} + chr(39) * 2, q, u, now)",
    "eqs.observe(lambda m: m.acceleration({place!r}), q, u, now)",
)


def random_call(model: Model) -> str:
    """A question to a state, written down."""
    joint = model.pick(list(model.system.joints))
    place = model.pick([*model.system.bodies, *model.system.markers])
    return model.pick(CALLS).format(joint=joint, place=place)


@dataclass(frozen=True)
class Run:
    """A call of ``simulate``; its text is the call."""

    duration: float
    start: str
    inputs: str
    events: str
    rows: int
    rtol: float
    method: str | None
    stabilization: str
    formalism: str
    equations: str = "eqs"

    def __str__(self) -> str:
        step = f"{self.duration} / {self.rows}"
        options = {"inputs": self.inputs, "events": self.events, "step": step}
        options |= {"rtol": repr(self.rtol), "method": repr(self.method)}
        options["stabilization"] = repr(self.stabilization)
        given = ", ".join(f"{key}={value}" for key, value in options.items())
        return f"{self.equations}.simulate({self.duration}, {self.start}, t=now, {given})"

    def another_step(self) -> Run:
        return replace(self, rows=self.rows * 3 // 2 + 7)

    def finer(self) -> Run:
        return replace(self, rtol=self.rtol / 100)

    def of(self, equations: str, start: str) -> Run:
        return replace(self, equations=equations, start=start)


def random_run(model: Model) -> Run:
    """A run of a second or so; half of them at default settings."""
    formalisms = ["newton-euler", "newton-euler", "absolute", *mg.FORMALISMS]
    plain = model.chance(0.5)
    return Run(
        duration=model.number(0.2, 1.5),
        start="guess=configuration",
        inputs=_inputs(model),
        events=_events(model),
        rows=model.pick([1, 3, 20, 100, 500]),
        rtol=1e-8 if plain else float(10.0 ** -model.pick([5, 6, 7, 9, 10])),
        method=None if plain else model.pick([None, *METHODS]),
        stabilization="projection"
        if plain or model.chance(0.7)
        else model.pick(["baumgarte", "none"]),
        formalism=model.pick(formalisms),
    )


def _inputs(model: Model) -> str:
    """A number, an expression, or a function in Python for every input; none that depends on the
    order of coordinates."""
    ways = ["0.7", "mg.sin(2 * t)", "lambda t: np.sin(2 * t)", "lambda t, q, u: np.cos(t)"]
    given = {name: model.pick(ways) for name in model.system.inputs}
    random = np.random.default_rng([model.seed, 37])  # apart: what was there stays
    for name in given:
        if model.scalars and random.random() < 0.6:
            given[name] = random.choice(CONTROLLED).format(
                at=repr(str(random.choice(model.scalars))), rate=random.choice([3, 40, 700])
            )
    return f"{{{', '.join(f'{name!r}: {value}' for name, value in given.items())}}}"


CONTROLLED = (
    "(np.linspace(0, 10, 60), np.sin(3 * np.linspace(0, 10, 60)))",
    "lambda m: -3 * m.coordinate({at}) - m.speed({at})",
    "mg.sampled(lambda m: -3 * m.coordinate({at}) - m.speed({at}), {rate})",
    "mg.sampled(lambda t, q, u: np.cos(3 * t), {rate})",
    "mg.sampled(lambda t, q, u, x: (-x['n'], {{'n': 0.9 * x['n'] + 0.1}}), {rate}, {{'n': 1.0}})",
    "mg.feedback(lambda m, x: (-x['sum'], {{'sum': m.coordinate({at})}}), {{'sum': 0.3}})",
    "mg.feedback(lambda t, q, u, x: (-x['sum'], {{'sum': np.cos(t)}}), {{'sum': 0.3}})",
    "mg.pid({at}, reference=0.2, kp=3.0, ki=1.0, kd=0.3, filter=0.05, limits=(-2, 2))",
    "mg.pid({at}, reference=0.2, kp=3.0, ki=1.0, kd=0.3, filter=0.05, limits=(-2, 2), rate={rate})",
)


def _events(model: Model) -> str:
    if model.chance(0.6):
        return "{}"
    place = model.pick([*model.system.bodies, *model.system.markers])
    quantity = f"lambda m: m.position({place!r})[{model.pick([0, 1, 2])}] - {model.number()}"
    direction, stop = model.pick([-1, 0, 1]), model.chance(0.3)
    return f"{{'event': mg.Event({quantity}, {direction}, {stop})}}"
