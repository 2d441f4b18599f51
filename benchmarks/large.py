"""Large systems at equal accuracy: chains of bodies on balls and four-bars in a row, here and in
Exudyn.

    python benchmarks/large.py            rewrites the section "large" of RESULTS.md
    python benchmarks/large.py --quick    small sizes, prints only

Here in absolute coordinates, where every joint is a constraint as in Exudyn, and in joint
coordinates. Joint coordinates with a tolerance of 1e-12 are the judge. Every program is run with
smaller and smaller steps (or tolerances) until all places that are looked at are right to the
wanted accuracy at the end, and the cheapest such run counts.
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np
from scipy.spatial.transform import Rotation

import mechgraph as mg
from derivation import table, versions, write_section
from loops import exudyn_settings
from loops import system as four_bars

END = {"chain": 0.3, "four-bars": 0.5}  # seconds of motion
SIZES = {"chain": [10, 100, 1000], "four-bars": [1, 10, 100]}
TARGETS = (1e-3, 1e-5)  # metres, of bodies of 0.2 and 1 m
OUTPUTS = 10  # states that are kept
WATCHED = 10  # bodies whose places are compared
GRAVITY = (0.0, -9.81, 0.0)
STEPS = [0.02 / 2**k for k in range(12)]  # of Exudyn, until one is right
TOLERANCES = [10.0**-k for k in range(3, 12)]  # here
# what a joint holds in Exudyn
BALL, HINGE, PIN = [1, 1, 1, 0, 0, 0], [1, 1, 1, 1, 1, 0], [1, 1, 0, 0, 0, 0]
Run = tuple[float, np.ndarray]  # seconds, places of the watched bodies at the end
# parent, child, place on the child, what the joint holds
End = tuple[str, str, np.ndarray, list[int]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, print only")
    quick = parser.parse_args().quick
    with TemporaryDirectory() as folder:
        os.environ["MECHGRAPH_CACHE"] = folder  # so that the set-up is that of a first time
        sections = [_section(kind, sizes[:1] if quick else sizes) for kind, sizes in SIZES.items()]
    text = (
        f"## Large systems\n\n{versions()} Seconds of computing until {WATCHED} bodies are where "
        "they belong to the accuracy, "
        f"in metres; {OUTPUTS} states are kept. Exudyn has its sparse solver. Building the model "
        "is not counted, and here the "
        "set-up is not: derivation and compiling without a cache. The cost is for one body and one "
        "second of motion.\n\n" + "\n\n".join(sections)
    )
    print(text)
    if not quick:
        write_section("large", text)


def _section(kind: str, sizes: Iterable[int]) -> str:
    head = [
        "bodies",
        "accuracy",
        "`absolute`",
        "`newton-euler`",
        "Exudyn",
        "Exudyn / `absolute`",
        "Exudyn / `newton-euler`",
        "cost of `absolute`",
        "of `newton-euler`",
        "of Exudyn",
        "set-up of `absolute`",
        "by",
    ]
    rows = [row for n in sizes for row in _rows(kind, n)]
    return f"### {TITLES[kind]}, {END[kind]:g} s\n\n{table(head, rows)}"


TITLES = {"chain": "Chains on ball joints", "four-bars": "Four-bars in a row"}


def _rows(kind: str, n: int) -> Iterator[list[str]]:
    model = Chain(n) if kind == "chain" else FourBars(n)
    own = {formalism: Own(model, formalism) for formalism in ("absolute", "newton-euler")}
    truth = own["newton-euler"].at(1e-11)[1]
    for target in TARGETS:
        found = [_cheapest(run.at, TOLERANCES, truth, target) for run in own.values()]
        peer = _cheapest(lambda h: by_exudyn(model, h), STEPS, truth, target)
        costs = [f"{1e3 * seconds / model.count / END[kind]:.3g} ms" for seconds in (*found, peer)]
        ratios = [f"{peer / seconds:.3g}" for seconds in found]
        times = [f"{seconds:.3g} s" for seconds in (*found, peer)]
        setup = f"{own['absolute'].setup:.3g} s"
        yield [
            str(model.count),
            f"{target:g}",
            *times,
            *ratios,
            *costs,
            setup,
            own["absolute"].tier,
        ]


def _cheapest(
    run: Callable[[float], Run], efforts: Iterable[float], truth: np.ndarray, target: float
) -> float:
    """Seconds of the first run that is right, the best of three if they are short."""
    for effort in efforts:
        seconds, places = run(effort)
        if np.abs(places - truth).max() <= target:
            return seconds if seconds > 2 else min([seconds, *(run(effort)[0] for _ in range(2))])
    return np.nan


# --- models ---------------------------------------------------------------------------------------


class Chain:
    """Bodies of 0.2 m on ball joints, hanging from ground by one end, laid out as a spatial zigzag
    and let go."""

    mass, inertia, half = 1.0, (0.002, 0.01, 0.01), 0.1

    def __init__(self, n: int) -> None:
        self.system = mg.System(f"chain of {n}", gravity=GRAVITY)
        parent: Any = self.system.ground
        for k in range(n):
            body = self.system.body(
                f"body {k}", mass=self.mass, com=(self.half, 0, 0), inertia=self.inertia
            )
            self.system.spherical(f"ball {k}", parent, body, at=(2 * self.half if k else 0, 0, 0))
            parent = body
        self.duration = END["chain"]

    @property
    def count(self) -> int:
        return len(self.system.bodies)

    @property
    def start(self) -> dict[str, Any]:
        """Each body turned against the one before by 0.4 rad, to and fro, up and sideways, and
        turning at some 0.3 rad/s."""
        start: dict[str, Any] = {}
        for k in range(self.count):
            half, axis = 0.2 * (-1) ** (k // 2) * (0.5 if k == 0 else 1), 2 + k % 2
            start[f"ball {k}"] = [
                np.cos(half),
                *(np.sin(half) if i == axis else 0.0 for i in (1, 2, 3)),
            ]
            start[f"ball {k}'"] = [0.0, 0.3 * np.sin(k), 0.3 * np.cos(2 * k)]
        return start

    @property
    def ends(self) -> list[End]:
        names = list(self.system.bodies)
        return [
            (parent, child, np.zeros(3), BALL)
            for parent, child in zip(["ground", *names], names, strict=False)
        ]

    @cached_property
    def poses(self) -> dict[str, tuple[np.ndarray, ...]]:
        """Mass centre, rotation, velocity of the mass centre and angular velocity (world axes) of
        every body at the start."""
        equations = self.system.equations("absolute")
        (q, u), k, out = equations.assemble(self.start), equations.terms.chart, {}
        for name in self.system.bodies:
            place, speeds = q[list(k.joint_coordinates[name])], u[list(k.joint_speeds[name])]
            turn = Rotation.from_quat(place[3:], scalar_first=True).as_matrix()
            out[name] = (place[:3], turn, speeds[:3], turn @ speeds[3:])
        return out


class FourBars(Chain):
    """Verticals on ground, horizontals between their tops (see loops.py), let go upright with 1
    rad/s."""

    mass, inertia, half = 1.0, (1e-3, 1 / 12, 1 / 12), 0.5

    def __init__(self, n: int) -> None:
        self.system, self.n, self.duration = four_bars(n), n, END["four-bars"]

    @property
    def start(self) -> dict[str, Any]:
        angles = {f"foot {k}": np.pi / 2 for k in range(self.n + 1)} | {
            f"left {k}": -np.pi / 2 for k in range(1, self.n + 1)
        }
        return {**angles, "foot 0'": -1.0}

    @property
    def ends(self) -> list[End]:
        """Without the redundant equations, which leave Exudyn's matrix singular."""
        top = np.array([1.0, 0, 0])
        feet = [("ground", f"vertical {k}", 0 * top, HINGE) for k in range(self.n + 1)]
        left = [
            (f"vertical {k - 1}", f"horizontal {k}", 0 * top, HINGE) for k in range(1, self.n + 1)
        ]
        return [
            *feet,
            *left,
            *((f"horizontal {k}", f"vertical {k}", top, PIN) for k in range(1, self.n + 1)),
        ]


def watched(model: Chain) -> list[str]:
    """Bodies spread over the system, more of them near its beginning, where a chain is held and not
    just falling."""
    names = list(model.system.bodies)
    return [
        names[k - 1] for k in np.unique(np.geomspace(1, len(names), WATCHED).round().astype(int))
    ]


# --- here -----------------------------------------------------------------------------------------


class Own:
    """One formalism; ``setup`` is what derivation, compiling and the first steps took."""

    def __init__(self, model: Chain, formalism: str) -> None:
        self.model, began = model, perf_counter()
        self.equations = model.system.equations(formalism)
        self.start = self.equations.assemble(model.start)
        self.tier = self.run(1e-3, model.duration / 100).statistics["tier"]
        self.setup = perf_counter() - began

    def run(self, rtol: float, duration: float) -> mg.Trajectory:
        return self.equations.simulate(
            duration, self.start, step=duration / OUTPUTS, rtol=rtol, method="rk8"
        )

    def at(self, rtol: float) -> Run:
        began = perf_counter()
        run = self.run(rtol, self.model.duration)
        seconds = perf_counter() - began
        assert run.violation.max() < 1e-9
        names = watched(self.model)
        return seconds, self.equations.observe(
            lambda m: [m.position(name) for name in names], run.q[-1]
        )


# --- Exudyn ---------------------------------------------------------------------------------------


def by_exudyn(model: Chain, h: float) -> Run:
    """Rigid bodies with rotation vectors, generalized-alpha (second order), modified Newton, sparse
    LU."""
    import exudyn as exu
    from exudyn import utilities as eu

    mbs = exu.SystemContainer().AddSystem()
    numbers = {"ground": mbs.AddObject(eu.ObjectGround())}
    for name, (place, turn, velocity, spin) in model.poses.items():
        numbers[name] = mbs.CreateRigidBody(
            inertia=eu.RigidBodyInertia(mass=model.mass, inertiaTensor=np.diag(model.inertia)),
            nodeType=exu.NodeType.RotationRotationVector,
            referencePosition=place,
            referenceRotationMatrix=turn,
            initialVelocity=velocity,
            initialAngularVelocity=spin,
            gravity=list(GRAVITY),
        )
    for parent, child, at, axes in model.ends:
        centre, turn, *_ = model.poses[child]
        place, pair = centre + turn @ (at - [model.half, 0, 0]), [numbers[parent], numbers[child]]
        if axes == BALL:
            mbs.CreateSphericalJoint(itemNumbers=pair, position=place, useGlobalFrame=True)
        else:
            mbs.CreateGenericJoint(
                itemNumbers=pair, position=place, constrainedAxes=axes, useGlobalFrame=True
            )
    mbs.Assemble()
    settings = exudyn_settings(exu, model.duration, h, sparse=True)
    began = perf_counter()
    try:
        mbs.SolveDynamic(settings)
    except (exu.SolverError, exu.InternalError):  # too large a step
        return np.inf, np.full(3 * len(watched(model)), np.inf)
    seconds = perf_counter() - began
    where = [
        mbs.GetObjectOutputBody(numbers[name], exu.OutputVariableType.Position, [-model.half, 0, 0])
        for name in watched(model)
    ]
    return seconds, np.concatenate(where)


if __name__ == "__main__":
    main()
