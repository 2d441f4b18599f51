"""Escapement clock: an anchor with two pallets lets a driven wheel pass, half a pitch a beat, which
keeps it swinging.

The wheel has 15 teeth with round tips on the circle of radius R; the anchor, with the pendulum on
it, turns about the point where the tangents at the pallets meet. There its rotation θ moves the
entry pallet outwards by lθ and the exit pallet inwards, l = R tan β. Both faces lean by the angle
γ against the radius: so a tooth that advances by τ on the face pushes the pallet by τ / tan γ, from
θ = −θ₀ to θ₀, where it drops off; the wheel falls on to the other pallet, and the pendulum, which
swings on, pushes it back a little (a recoil escapement). So in every beat the wheel turns by

    ½ · 2π/15,

and gives to the pendulum what the torque does on the way. A free pendulum needs the time T₀ = 2π
√(J/mgL) for two beats, times 1 + Θ²/16 for the amplitude Θ; the escapement hastens it by a few
per cent, and damping takes what the wheel gives. Teeth and pallets are spheres and capsules that
give way. Data are chosen by us.
"""

from itertools import pairwise

import numpy as np

import mechgraph as mg
from mechgraph.gallery import curves, present, verified

TEETH, R, SPAN = 15, 0.030, 3.5  # the pallets are 3.5 pitches apart
BETA = np.pi * SPAN / TEETH
ARM = R * np.tan(BETA)
LIFT, LEAN = np.radians(2.5), 1.6  # θ₀, tan γ
TIP, PALLET, FACE = 3e-4, 4e-4, 9e-3  # radii of tooth tips and pallets, length of a face
BOB, LENGTH, G = 0.5, 0.25, 9.81
WHEEL = 2e-6  # kg m², of the escape wheel
TORQUE, DAMPING = 2.5e-3, 4e-3
STIFFNESS, BOUNCE = 2e4, 2.0
PENDULUM = 1e-4  # kg m², of the bob about its centre
START = {"pendulum": np.radians(5.1)}
PASSING = {"middle": mg.Event("pendulum", stop=False)}
OPTIONS = {"step": 0.01}
DURATION = 6.0


def system() -> mg.System:
    """All in the plane z = 0: the wheel about the origin, the anchor above, y upwards."""
    s = mg.System("clock", gravity=(0, -G, 0), plane="xy")
    wheel = s.body("escape wheel", mass=0.01, inertia=WHEEL)
    anchor = s.body("anchor", mass=BOB, com=(0, -LENGTH, 0), inertia=PENDULUM)
    s.revolute("wheel", s.ground, wheel, axis="-z")  # it turns clockwise
    s.revolute(
        "pendulum", s.ground, anchor, axis="-z", at=(0, R / np.cos(BETA), 0), damping=DAMPING
    )
    s.torque("weight", "wheel", TORQUE)
    faces = [_pallet(s, anchor, side) for side in (-1, 1)]
    for k in range(TEETH):
        angle = 2 * np.pi * (k + 0.25) / TEETH
        tip = s.marker(f"tooth {k + 1}", wheel, R * np.array([np.sin(angle), np.cos(angle), 0]))
        for name, face in zip(("entry", "exit"), faces, strict=True):
            law = {"stiffness": STIFFNESS, "exponent": 1, "damping": BOUNCE}
            s.compliant_contact(f"{name} {k + 1}", mg.Sphere(tip, TIP), face, **law)
    return s


def _pallet(s: mg.System, anchor: mg.Body, side: int) -> mg.Surface:
    """A capsule at the entry (−1) or the exit (1): its face leads from (0, 0), where the tips pass
    for θ = 0, to the edge where they drop off."""
    outwards = np.array([side * np.sin(BETA), np.cos(BETA)])
    onwards = np.array([outwards[1], -outwards[0]])  # as the teeth go
    along = (LEAN * onwards - outwards) / np.hypot(LEAN, 1)
    facing = (-onwards - LEAN * outwards) / np.hypot(LEAN, 1)
    edge = R * outwards + ARM * LIFT * (LEAN * onwards - outwards)
    middle = edge - FACE / 2 * along - (TIP + PALLET) * facing - [0, R / np.cos(BETA)]
    turn = np.arctan2(along[1], along[0])
    name = "entry pallet" if side < 0 else "exit pallet"
    place = s.marker(name, anchor, (*middle, 0), [("z", turn), ("y", np.pi / 2)])
    return mg.Capsule(place, PALLET, FACE)


def figures() -> dict[str, object]:
    """The swing, and the wheel in half pitches: it recoils after every drop."""
    run = system().equations().simulate(DURATION, START, **OPTIONS)
    panels = {
        "pendulum (°)": {"pendulum": np.degrees(run["pendulum"])},
        "wheel (half pitches)": {"wheel": run["wheel"] * TEETH / np.pi},
    }
    return {"clock": curves(run.time, panels)}


def check() -> dict[str, float]:
    """Steps of the wheel, period, amplitude and energy, from one passage to the next."""
    run = system().equations().simulate(DURATION, START, events=PASSING, **OPTIONS)
    passages = run.events["middle"][2::2]  # all in one direction, after the first swing
    periods = np.diff(passages)
    turned = np.interp(passages, run.time, run["wheel"])
    free = 2 * np.pi * np.sqrt((BOB * LENGTH**2 + PENDULUM) / (BOB * G * LENGTH))
    swings = [run["pendulum"][(run.time > a) & (run.time < b)].max() for a, b in pairwise(passages)]
    slow = 1 + np.mean(swings) ** 2 / 16
    work = TORQUE * (run["wheel"][-1] - run["wheel"][0])
    return verified(
        {
            "pitches for each period, less 1": (
                np.abs(np.diff(turned) * TEETH / (2 * np.pi) - 1).max(),
                1e-3,
            ),
            "period over that of the free pendulum, less 1": (
                abs(periods.mean() / (free * slow) - 1),
                0.02,
            ),
            "change of the period from swing to swing, relative": (
                np.abs(np.diff(periods) / periods[1:]).max(),
                1e-3,
            ),
            "change of the amplitude from swing to swing, relative": (
                np.abs(np.diff(swings) / swings[1:]).max(),
                0.01,
            ),
            "work of the weight beside what is supplied, relative": (
                abs(run.supplied[-1] / work - 1),
                1e-9,
            ),
            "energy balance over the work": (np.abs(run.imbalance).max() / work, 1e-6),
        }
    )


if __name__ == "__main__":
    present(system(), check)
