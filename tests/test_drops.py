"""Random drops of boxes, cans, spheres and capsules on planes and slopes, from rest and moving:
all finish, energy never grows, nothing enters the floor, and friction keeps to its cone.

``MECHGRAPH_DROPS=1000`` runs as many; every one is known by its number. Those that once failed are
among the few that always run."""

from __future__ import annotations

import os
from functools import cache

import casadi as ca
import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import mechgraph as mg

G = 9.81
FOUND = (556, 593, 632, 777, 784, 832, 996)  # of a thousand
DROPS = sorted({*range(int(os.environ.get("MECHGRAPH_DROPS", "16"))), *FOUND})
SHAPES = {
    "box": (lambda at: mg.Box(at, (0.3, 0.2, 0.1)), (0.0042, 0.0083, 0.0108)),
    "can": (lambda at: mg.Cylinder(at, 0.1, 0.3), (0.01, 0.01, 0.005)),
    "sphere": (lambda at: mg.Sphere(at, 0.1), (0.004, 0.004, 0.004)),
    "capsule": (lambda at: mg.Capsule(at, 0.06, 0.2), (0.006, 0.006, 0.0015)),
}


@cache
def dropped(kind: str) -> mg.Equations:
    """One body of mass one over a plane; slope, restitutions and friction are parameters."""
    surface, inertia = SHAPES[kind]
    system = mg.System(kind)
    slope, e, mu, part = (system.parameter(name, 0.0) for name in ("slope", "e", "mu", "part"))
    system.gravity = [G * mg.sin(slope), 0, -G * mg.cos(slope)]
    body = system.body("body", mass=1.0, inertia=inertia)
    system.free("place", system.ground, body)
    floor = mg.Plane(system.ground)
    system.rigid_contact(
        "floor", surface(body), floor, restitution=e, friction=mu, tangential_restitution=part
    )
    return system.equations()


def gaps(equations: mg.Equations, q: np.ndarray, u: np.ndarray, values: dict) -> np.ndarray:
    law = equations.system.constraints["floor"]
    return equations.observe(
        lambda m: ca.vertcat(*(point.gap for point in law.point_states(m))),
        q,
        u,
        parameters=values,
    )


def drop(kind: str, random: np.random.Generator) -> tuple[dict, dict]:
    """A start, on the floor at rest or over it and moving, flat or askew; and parameters."""
    if random.random() < 0.4:
        turn = Rotation.from_rotvec([0, 0, random.uniform(0, 6)])
        turn = turn * Rotation.from_rotvec([random.choice([0, np.pi / 2]), 0, 0])
    else:
        turn = Rotation.from_quat(random.normal(size=4))
    place = np.concatenate([[0, 0, 1.0], turn.as_quat(scalar_first=True)])
    low = gaps(dropped(kind), place, np.zeros(6), {}).min()
    moving = random.random() < 0.6
    start = {"place.z": 1.0 - low + moving * random.uniform(0, 0.3)}
    start |= {f"place.q{k}": place[3 + k] for k in range(4)}
    if moving:
        start |= {f"place.{axis}'": random.uniform(-1, 1) for axis in "xyz"}
        start |= {f"place.w{axis}": random.uniform(-5, 5) for axis in "xyz"}
    ranges = {"slope": 1.0, "e": 0.9, "mu": 1.0, "part": 1.0}
    values = {name: random.choice([0.0, random.uniform(0, most)]) for name, most in ranges.items()}
    return start, values


LONG = (12, 632)


@pytest.mark.parametrize(
    "number", [pytest.param(k, marks=[pytest.mark.slow] * (k in LONG)) for k in DROPS]
)
def test_drops(number):
    random, kind = np.random.default_rng(number), list(SHAPES)[number % len(SHAPES)]
    start, values = drop(kind, random)
    equations = dropped(kind)
    run = equations.simulate(1.0, start, step=0.02, parameters=values)
    assert run.outcome == "finished"
    assert np.diff(run.dissipated).min() > -1e-8
    assert np.abs(run.imbalance).max() < 1e-7 * max(1.0, np.abs(run.energy).max())
    assert gaps(equations, run.q, run.u, values).min() > -1e-10
    keeps_to_its_cone(equations, run, values["mu"])


def keeps_to_its_cone(equations: mg.Equations, run: mg.Trajectory, friction: float) -> None:
    """|F| ≤ μ N of the whole, and F = −μ N v/|v| of a single point that slides fast."""
    force = run.reaction("floor")[:, :3]
    normal, along = force[:, 2], np.hypot(*force[:, :2].T)
    assert normal.min() > -1e-7
    assert (along <= friction * normal + 1e-6).all()
    if len(equations.system.constraints["floor"].pairs) > 1:
        return
    spin = run.observe(lambda m: m.angular_velocity("body"))
    slip = run["body'"] + np.cross(spin, [0, 0, -0.1])
    fast = (np.hypot(*slip[:, :2].T) > 1e-2) & (normal > 0)
    direction = slip[fast, :2] / np.hypot(*slip[fast, :2].T)[:, None]
    off = np.hypot(*(force[fast, :2] + friction * normal[fast, None] * direction).T)
    assert (off <= 1e-5 / 1e-2 * friction * normal[fast] + 1e-9).all()  # regularization over speed


@pytest.mark.slow
def test_a_stack_of_five_boxes_comes_to_rest():
    """They fall on each other in a plane, and each carries those above it."""
    system = mg.System("stack", gravity=(0, 0, -G))
    below: mg.Body | mg.Marker = system.ground
    for k in range(5):
        body = system.body(f"box {k}", mass=1.0 + k, inertia=(0.0042, 0.0083, 0.0108))
        steps = [mg.move("x", "x"), mg.move("z", "z"), mg.rot("y", "angle")]
        system.joint(f"place {k}", system.ground, body, steps)
        surface = mg.Box(body, (0.3, 0.2, 0.1))
        system.rigid_contact(f"on {k}", surface, mg.Plane(below), friction=0.5)
        below = system.marker(f"top {k}", body, (0, 0, 0.05))
    start = {f"place {k}.z": 0.05 + 0.1 * k + 0.02 * (k + 1) for k in range(5)}
    start |= {f"place {k}.x": 0.01 * (-1) ** k for k in range(5)}
    run = system.equations().simulate(0.5, start, step=0.01)
    assert np.abs(run.u[-1]).max() < 1e-12
    for k in range(5):
        assert abs(run[f"place {k}.z"][-1] - (0.05 + 0.1 * k)) < 1e-9
        assert abs(run[f"place {k}.x"][-1] - 0.01 * (-1) ** k) < 1e-9
        above = sum(1.0 + j for j in range(k, 5)) * G
        assert abs(run.reaction(f"on {k}")[-1, 2] - above) < 1e-7
    assert (np.diff(run.dissipated) > -1e-9).all()
