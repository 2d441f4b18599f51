"""Lift with a rope that goes slack: a drum lowers a cabin on its buffer, pays out more rope, and
pulls it up again with a jerk.

The rope runs from the drum over a sheave of the same radius R to the cabin; without tension it is
as long that the cabin hangs at the height h, stretched by mg/k. With the drum's angle φ the rope is
longer than without tension by

    mg/k + h − z − Rφ,

so over the buffer, z = 0, it is slack where Rφ > h + mg/k. Where the drum winds it up at a speed v,
it is taut when that is zero again, lifts the cabin off mg/kv later, and then

    T = mg + v √(km) sin ωt,    ω = √(k/m):

the jerk is v √(km) over the weight. Here that is more than the weight, so the rope goes slack once
more. The buffer is a rigid stop without rebound; data are chosen by us.
"""

import numpy as np
from casadi import SX

import mechgraph as mg
from mechgraph.gallery import curves, present, verified

MASS, STIFFNESS, RADIUS, G = 600.0, 4e5, 0.3, 9.81
HEIGHT, HEAD, APART = 2.0, 6.0, 1.5  # of the cabin at the start, of the drum; to the sheave
SPEED, BLEND, BEGIN, TURN = 0.5, 0.5, 0.5, 6.0
SAG = MASS * G / STIFFNESS
OPTIONS = {"rtol": 1e-10, "step": 0.005}
DURATION = 8.5
START: dict[str, float] = {"cabin": HEIGHT}


def ramp(t: SX, since: float) -> SX:
    """Zero, then a parabola, then t − since − BLEND/2: a speed that rises to one."""
    x = t - since
    blend = mg.if_else(x < BLEND, x**2 / (2 * BLEND), x - BLEND / 2)
    return mg.if_else(x > 0, blend, 0)


def system() -> mg.System:
    """Drum, sheave and cabin in the plane y = 0, z upwards."""
    s = mg.System("lift", gravity=(0, 0, -G))
    drum = s.body("drum", mass=80.0, inertia=(3.0, 5.0, 3.0))
    cabin = s.body("box", mass=MASS, inertia=(200.0, 200.0, 200.0))
    s.revolute("drum turn", s.ground, drum, axis="y", at=(-RADIUS - APART, 0, HEAD))
    s.prismatic("cabin", s.ground, cabin, axis="z", limits=(0, None))
    # the axes of both discs are y; on the drum the rope is fastened on top
    winding = s.marker("winding", drum, orientation=[("x", -np.pi / 2), ("z", -np.pi / 2)])
    sheave = s.marker("sheave", s.ground, (-RADIUS, 0, HEAD), [("x", -np.pi / 2)])
    path = [mg.Pulley(winding, RADIUS, turns=3), mg.Pulley(sheave, RADIUS), cabin]
    length = 6 * np.pi * RADIUS + APART + RADIUS * np.pi / 2 + HEAD - HEIGHT - SAG
    s.rope("rope", path, length, STIFFNESS)
    paid_out = SPEED * (ramp(s.time, BEGIN) - 2 * ramp(s.time, TURN))
    s.servo("motor", "drum turn", paid_out / RADIUS)
    return s


def figures() -> dict[str, object]:
    """Height, tension and stretch."""
    lift = system()
    rope, run = lift.forces["rope"], lift.equations().simulate(DURATION, START, **OPTIONS)
    panels = {
        "height of the cabin (m)": {"cabin": run["cabin"]},
        "tension (kN)": {"rope": run.observe(rope.tension)[:, 0] / 1000},
        "stretch, or slack (m)": {"rope": run.observe(rope.stretch)[:, 0]},
    }
    return {"lift": curves(run.time, panels)}


def check() -> dict[str, float]:
    """Stretch, slack, the moments of tension and lift-off, and the jerk."""
    lift = system()
    rope = lift.forces["rope"]
    events = {"taut": mg.Event(rope.stretch, stop=False)}
    run = lift.equations().simulate(DURATION, START, events=events, **OPTIONS)
    stretch = SAG + HEIGHT - run["cabin"] - RADIUS * run["drum turn"]
    tension, weight = run.observe(rope.tension)[:, 0], MASS * G
    # the drum has paid out SPEED (turned − t) by then
    turned = 2 * (TURN + BLEND / 2) - (BEGIN + BLEND / 2)
    again = turned - (HEIGHT + SAG) / SPEED
    jerk = tension[run.time > again].max() - weight
    return verified(
        {
            "stretch of the rope (m)": (
                np.abs(run.observe(rope.stretch)[:, 0] - stretch).max(),
                1e-12,
            ),
            "tension at the start over the weight, less 1": (abs(tension[0] / weight - 1), 1e-11),
            "least tension (N)": (-tension.min(), 0.0),
            "tension while it is slack (N)": (tension[stretch < -1e-9].max(), 0.0),
            "taut again (s)": (abs(run.events["taut"][1] - again), 1e-9),
            "jerk over v √(km), less 1, on the grid": (
                abs(jerk / (SPEED * np.sqrt(STIFFNESS * MASS)) - 1),
                STIFFNESS / MASS * OPTIONS["step"] ** 2 / 8,
            ),
            "energy balance, relative": (
                np.abs(run.imbalance).max() / (weight * HEIGHT),
                1e-9,
            ),
            "violation": (run.violation.max(), 1e-9),
        }
    )


if __name__ == "__main__":
    present(system(), check)
