"""Delta robot: three legs that carry a platform, one leg derived and used three times.

The tree is in the manner of R. Orsino (2016): the robot consists of three legs and a platform, a
leg of an arm and a forearm. Lengths, masses and inertias are ours. An arm turns about a horizontal
axis at the base; a forearm (the two bars of the parallelogram as one rod between ball joints) does
not spin about its axis and has no inertia about it; the platform is a particle, because
parallelograms keep it from turning. Legs differ by a parameter only, their direction about the
vertical.

The check: accelerations against a plain system of joints at random states, and torques from inverse
dynamics of a circle, which make the plain system follow it.
"""

import numpy as np

import mechgraph as mg
from mechgraph.gallery import curves, present, verified

about, vector = mg.leaves.about, mg.leaves.vector
BASE, ARM, FOREARM, HAND, G = 0.20, 0.30, 0.70, 0.05, 9.81
ARM_MASS, ARM_CENTRE, ARM_INERTIA = 0.8, 0.12, 0.02  # inertia about the mass centre
ROD_MASS, ROD_INERTIA, HAND_MASS = 0.4, 0.016, 0.5
DIRECTIONS = (0.0, 2 * np.pi / 3, 4 * np.pi / 3)
START = {"hand.x": 0.05, "hand.y": 0.02, "hand.z": -0.75, "hand.x'": 0.3}
PITCH = 1.1  # of the forearms, to begin assembly with
GUESS = {"hand.z": -0.75, "arm 0": 0.3, "arm 1": 0.3, "arm 2": 0.3} | {
    f"elbow {k}.{q}": value
    for k in range(3)
    for q, value in (("q0", np.cos(0.75)), ("q2", np.sin(0.75)), ("q1", 0.0), ("q3", 0.0))
}
DURATION = 1.0


# --- composed -------------------------------------------------------------------------------------


def leg() -> mg.Equations:
    """Arm and forearm, towards the direction ``alpha``."""
    s = mg.variables(["theta"], ["theta'"], ["torque"])
    total = ARM_INERTIA + ARM_MASS * ARM_CENTRE**2
    weight = ARM_MASS * G * ARM_CENTRE
    arm = mg.Terms(
        s,
        name="arm",
        M=[[total]],
        f=[s["torque"] + weight * mg.cos(s["theta"])],
        kinetic=total * s["theta'"] ** 2 / 2,
        potential=-weight * mg.sin(s["theta"]),
        supplied=s["torque"] * s["theta'"],
    )
    half = FOREARM / 2
    return mg.compose(
        "leg",
        {
            "arm": arm,
            "rod": mg.leaves.thin_rod(mass=ROD_MASS, inertia=ROD_INERTIA, gravity=(0, 0, -G)),
        },
        parameters={"alpha": 0.0},
        outputs={"end": lambda v: v.point("rod", (half, 0, 0))},
        constraints={
            "elbow": lambda v: v.point("rod", (-half, 0, 0)) - elbow(v),
            "no spin": lambda v: v["rod.wx"],
        },
        reference={"arm.theta": 0.3, "rod.phi": PITCH, "rod.psi": np.pi, "rod.z": -0.3},
    )


def elbow(v):
    """Where arm and forearm meet."""
    theta = v["arm.theta"]
    along = vector([BASE + ARM * mg.cos(theta), 0, -ARM * mg.sin(theta)])
    return about("z", v["alpha"]) @ along


def composed() -> mg.Equations:
    """Three legs and the platform."""
    one = leg()
    legs = {f"{k}": mg.Part(one, parameters={"alpha": a}) for k, a in enumerate(DIRECTIONS)}
    start = {f"{k}.rod.psi": a + np.pi for k, a in enumerate(DIRECTIONS)}
    return mg.compose(
        "delta robot",
        legs | {"hand": mg.leaves.particle("hand", mass=HAND_MASS, gravity=(0, 0, -G))},
        constraints={
            f"wrist {k}": lambda v, k=k, a=a: (
                v[f"{k}.end"] - v["hand.place"] - about("z", a) @ vector([HAND, 0, 0])
            )
            for k, a in enumerate(DIRECTIONS)
        },
        reference=start | {"hand.z": -0.75},
    )


# --- the plain twin -------------------------------------------------------------------------------


def system() -> mg.System:
    """Revolute arms, forearms on ball joints, and a hand that moves without turning."""
    s = mg.System("delta robot", gravity=(0, 0, -G))
    hand = s.body("hand body", mass=HAND_MASS, inertia=0)
    s.joint("hand", s.ground, hand, [mg.move(axis, axis) for axis in "xyz"])
    for k, a in enumerate(DIRECTIONS):
        c, si = np.cos(a), np.sin(a)
        arm = s.body(
            f"upper {k}",
            mass=ARM_MASS,
            com=(ARM_CENTRE, 0, 0),
            inertia=(0.001, ARM_INERTIA, ARM_INERTIA),
        )
        rod = s.body(
            f"rod {k}",
            mass=ROD_MASS,
            com=(FOREARM / 2, 0, 0),
            inertia=(0.0, ROD_INERTIA, ROD_INERTIA),
        )
        s.revolute(
            f"arm {k}", s.ground, arm, axis="y", at=(BASE * c, BASE * si, 0), orientation=[("z", a)]
        )
        s.spherical(f"elbow {k}", arm, rod, at=(ARM, 0, 0))
        s.torque(f"motor {k}", f"arm {k}", s.input(f"torque {k}"))
        end = s.marker(f"end {k}", rod, (FOREARM, 0, 0))
        rim = s.marker(f"rim {k}", hand, (HAND * c, HAND * si, 0))
        s.constrain(
            f"wrist {k}", position=lambda m, end=end, rim=rim: m.position(end) - m.position(rim)
        )
        s.constrain(
            f"no spin {k}", velocity=lambda m, rod=rod: m.angular_velocity(rod, in_frame=rod)[0]
        )
    return s


def difference(states: int = 3) -> float:
    """Accelerations of hand and arms against the plain twin at random states, relative."""
    plain, whole = system().equations(), composed()
    random, worst = np.random.default_rng(0), 0.0
    for _ in range(states):
        place = np.array([0, 0, -0.75]) + random.uniform(-0.1, 0.1, 3)
        rate, torques = random.standard_normal(3), 5 * random.standard_normal(3)
        known = dict(zip(("hand.x", "hand.y", "hand.z"), place, strict=True))
        known |= dict(zip(("hand.x'", "hand.y'", "hand.z'"), rate, strict=True))
        q, u = plain.assemble(known, guess=GUESS)
        at = whole.assemble(known)
        found = dict(zip(whole.speeds, whole.accelerations(*at, inputs=torques), strict=True))
        expected = dict(zip(plain.speeds, plain.accelerations(q, u, inputs=torques), strict=True))
        names = {f"hand.{x}'": f"hand.{x}'" for x in "xyz"}
        names |= {f"{k}.arm.theta'": f"arm {k}'" for k in range(3)}
        off = [abs(found[ours] - expected[theirs]) for ours, theirs in names.items()]
        worst = max(worst, max(off) / max(abs(value) for value in expected.values()))
    return worst


CIRCLE = {
    "hand.x": lambda t: 0.1 * mg.cos(3 * t),
    "hand.y": lambda t: 0.1 * mg.sin(3 * t),
    "hand.z": -0.75,
}


def followed() -> float:
    """The torques of inverse dynamics on the plain twin: error of the hand's acceleration."""
    times = np.linspace(0, 1, 4)
    torques = composed().inverse_dynamics(
        CIRCLE, t=times, drives=[f"{k}.arm.torque" for k in range(3)]
    )
    plain, worst = system().equations(), 0.0
    for t, torque in zip(times, torques, strict=True):
        c, s = np.cos(3 * t), np.sin(3 * t)
        q, u = plain.assemble(
            {"hand.x": 0.1 * c, "hand.y": 0.1 * s, "hand.z": -0.75, "hand.x'": -0.3 * s,
             "hand.y'": 0.3 * c, "hand.z'": 0.0},
            guess=GUESS,
        )  # fmt: skip
        found = plain.observe("hand body''", q, u, inputs=torque)
        worst = max(worst, np.abs(found - [-0.9 * c, -0.9 * s, 0]).max())
    return worst


def check() -> dict[str, float]:
    """Against the plain twin, forwards and backwards."""
    return verified(
        {
            "accelerations against the plain twin": (difference(), 1e-9),
            "a circle by torques from inverse dynamics": (followed(), 1e-9),
        }
    )


def figures() -> dict[str, object]:
    """Torques along the circle."""
    times = np.linspace(0, 2 * np.pi / 3, 121)
    drives = [f"{k}.arm.torque" for k in range(3)]
    torques = composed().inverse_dynamics(CIRCLE, t=times, drives=drives)
    named = {f"arm {k}": torques[:, k] for k in range(3)}
    return {"torques": curves(times, {"torque on the arm for a circle of the hand (N m)": named})}


if __name__ == "__main__":
    present(system(), check)
