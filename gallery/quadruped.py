"""Quadruped with eight driven joints, dropped on its compliant feet and standing.

A trunk on four legs, each with a hip and a knee that turn about the transverse axis, and a ball as
a foot that presses the ground (k δ, damped, with friction that creeps a little). The joints are
held by PD laws, sampled at 500 Hz, about the pose of standing; the robot falls from 1 cm. Sizes are
those of a dog of 13 kg; the numbers are ours. The feet are stiff, and the default method finishes
all the same.

Checks: where it has come to rest the feet carry the weight, the torques of each leg are those of
virtual work, τ = ∂/∂q (m_i g z_i) − N ∂z_foot/∂q − F ∂x_foot/∂q, and the feet stand still.
"""

import numpy as np

import mechgraph as mg
from mechgraph.gallery import curves, present, verified

G = 9.81
LENGTH, WIDTH = 0.36, 0.26  # between the hips
THIGH, SHANK, FOOT = 0.2, 0.2, 0.02  # lengths, and the radius of a foot
MASSES = {"trunk": 9.0, "thigh": 0.7, "shank": 0.3}
STIFFNESS, DAMPING = 4e4, 2.0  # of a foot
HIP, KNEE = 0.7, -1.4  # standing
KP, KD, RATE = 120.0, 3.0, 500.0
LEGS = {"fl": (1, 1), "fr": (1, -1), "rl": (-1, 1), "rr": (-1, -1)}
STANDING = THIGH * np.cos(HIP) + SHANK * np.cos(HIP + KNEE) + FOOT
START = {"trunk.z": STANDING + 0.01} | {
    f"{leg} {joint}": angle for leg in LEGS for joint, angle in (("hip", HIP), ("knee", KNEE))
}
DURATION = 3.0


def system() -> mg.System:
    """z up, x forward; inputs «fl hip torque» …"""
    dog = mg.System("quadruped", gravity=(0, 0, -G))
    trunk = dog.body("trunk", mass=MASSES["trunk"], inertia=(0.1, 0.25, 0.3))
    dog.joint(
        "trunk",
        dog.ground,
        trunk,
        [mg.move(a, a) for a in "xyz"]
        + [mg.rot("z", "yaw"), mg.rot("y", "pitch"), mg.rot("x", "roll")],
    )
    floor = mg.Plane(dog.ground)
    friction = mg.Friction(0.8, regularization=0.03)
    for leg, (front, left) in LEGS.items():
        inner, at = trunk, (front * LENGTH / 2, left * WIDTH / 2, 0)
        for joint, part, length in (("hip", "thigh", THIGH), ("knee", "shank", SHANK)):
            mass = MASSES[part]
            link = dog.body(
                f"{leg} {part}",
                mass=mass,
                com=(0, 0, -length / 2),
                inertia=(mass * length**2 / 12, mass * length**2 / 12, mass * 1e-4),
            )
            dog.revolute(f"{leg} {joint}", inner, link, axis="y", at=at)
            dog.torque(f"{leg} {joint} motor", f"{leg} {joint}", dog.input(f"{leg} {joint} torque"))
            inner, at = link, (0, 0, -length)
        foot = mg.Sphere(dog.marker(f"{leg} foot", inner, at=at), FOOT)
        dog.compliant_contact(
            f"{leg} sole", foot, floor, STIFFNESS, exponent=1, damping=DAMPING, friction=friction
        )
    return dog


def hold(m: mg.Motion) -> dict[str, object]:
    """PD about the pose of standing, for every joint."""
    return {
        f"{leg} {joint} torque": KP * (angle - m.coordinate(f"{leg} {joint}"))
        - KD * m.speed(f"{leg} {joint}")
        for leg in LEGS
        for joint, angle in (("hip", HIP), ("knee", KNEE))
    }


OPTIONS = {"inputs": mg.sampled(hold, RATE)}


def load(run: mg.Trajectory, leg: str) -> np.ndarray:
    """Force of the ground on a foot at the end, in the world."""
    return run.at(-1)[f"{leg} sole: force"][0]


def virtual_work(run: mg.Trajectory, leg: str) -> np.ndarray:
    """Torques (hip, knee) that hold a leg at the end, the trunk being level."""
    hip, both = (
        run["trunk.pitch"][-1] + run[f"{leg} hip"][-1] + x for x in (0, run[f"{leg} knee"][-1])
    )
    Fx, _, N = load(run, leg)
    thigh, shank = MASSES["thigh"] * G, MASSES["shank"] * G
    # z of a point at s below a joint is −s cos, x is −s sin, of the angle to the vertical
    on_thigh = thigh * THIGH / 2 + (shank - N) * THIGH
    on_shank = shank * SHANK / 2 - N * SHANK
    knee = on_shank * np.sin(both) + Fx * SHANK * np.cos(both)
    return np.array([on_thigh * np.sin(hip) + Fx * THIGH * np.cos(hip) + knee, knee])


def check() -> dict[str, float]:
    """Weight, torques by virtual work, standstill."""
    run = system().equations().simulate(DURATION, START, **OPTIONS)
    weight = G * (MASSES["trunk"] + 4 * (MASSES["thigh"] + MASSES["shank"]))
    torques = [
        np.array([run[f"{leg} {joint} torque"][-1] for joint in ("hip", "knee")]) for leg in LEGS
    ]
    wanted = [virtual_work(run, leg) for leg in LEGS]
    return verified(
        {
            "load of the feet, relative": (
                abs(sum(load(run, leg)[2] for leg in LEGS) / weight - 1),
                1e-4,
            ),
            "torques by virtual work (N m)": (np.abs(np.subtract(torques, wanted)).max(), 1e-2),
            "speeds at the end": (np.abs(run.u[-1]).max(), 1e-2),
        }
    )


def figures():
    """Height of the trunk, torques and loads of a front leg."""
    run = system().equations().simulate(1.0, START, **OPTIONS)
    panels = {
        "height (m)": {"trunk": run["trunk.z"]},
        "torque (N m)": {joint: run[f"fl {joint} torque"] for joint in ("hip", "knee")},
        "load (N)": {leg: run[f"{leg} sole: force z"] for leg in ("fl", "rl")},
    }
    return {"landing": curves(run.time, panels)}


if __name__ == "__main__":
    present(system(), check)
