"""2RSS+PPaP: an asymmetric parallel mechanism, two driven legs and a limb that keeps the hand from
turning.

The mechanism is that of Fig. 1.2 of R. Orsino (2016), who gives no data; the source of the picture
is R. Orsino and T. Hess-Coelho (2013). What stands here is our reading of its name, with numbers of
our own: a driven carriage slides along x (P); a parallelogram of two bars hangs from it across
(Pa), whose coupler does not turn; the hand slides up and down on the coupler (P). Two legs, at both
sides, have a driven arm (R) and a forearm between ball joints (SS), and are those of the Delta
robot, in which they come three times. So the hand moves in space without turning.

The check: accelerations against a plain system of joints, whose parallelogram is a loop of four
spatial revolutes, at random states; and efforts from inverse dynamics of a path, which make the
plain system follow it. The figure shows them.
"""

import delta_robot as delta
import numpy as np

import mechgraph as mg
from mechgraph.gallery import curves, present, verified

about, vector = mg.leaves.about, mg.leaves.vector
G, HAND = delta.G, delta.HAND
DIRECTIONS = (np.pi / 2, -np.pi / 2)
BAR, APART, DOWN = 0.35, 0.12, (0, 0, -G)  # length and distance of the bars
CARRIAGE, BAR_MASS, COUPLER, HAND_MASS = 1.5, 0.3, 0.4, 0.5
BAR_INERTIA = (0.003, 0.003, 1e-5)  # about its mass centre in the middle; it hangs along −z
START = {"s": 0.05, "swing 0": 0.2, "reach": 0.4, "s'": 0.3, "swing 0'": 0.5}
GUESS = {"s": 0.0, "reach": 0.4, "arm 0": 0.3, "arm 1": 0.3} | {
    f"elbow {k}.{q}": value
    for k in range(2)
    for q, value in (("q0", np.cos(0.75)), ("q2", np.sin(0.75)), ("q1", 0.0), ("q3", 0.0))
}
DURATION = 1.0


# --- composed -------------------------------------------------------------------------------------


def limb() -> mg.Equations:
    """Carriage, two bars and the coupler: two freedoms, s along x and the swing θ of the bars."""
    v = mg.variables(["s"], ["s'"], ["force"])
    carriage = mg.Terms(
        v,
        name="carriage",
        M=[[CARRIAGE]],
        f=[v["force"]],
        kinetic=CARRIAGE * v["s'"] ** 2 / 2,
        supplied=v["force"] * v["s'"],
    )
    bar = mg.leaves.rigid_body(mass=BAR_MASS, inertia=BAR_INERTIA, gravity=DOWN, orientation="none")

    def hung(v, side, length):
        return vector([v["carriage.s"], side * APART / 2, 0]) + swung(v, length)

    def swung(v, length):
        return about("x", v["theta"]) @ vector([0, 0, -length])

    rows = {"coupler": lambda v: v["coupler.place"] - hung(v, 0, BAR)}
    for name, side in (("left", 1), ("right", -1)):
        rows[f"{name} place"] = lambda v, n=name, side=side: (
            v[f"{n}.place"] - hung(v, side, BAR / 2)
        )
        rows[f"{name} turn"] = lambda v, n=name: (
            vector([v[f"{n}.w{axis}"] for axis in "xyz"])
            - v.angular_velocity(about("x", v["theta"]))
        )
    parts = {"carriage": carriage, "left": bar, "right": bar}
    return mg.compose(
        "limb",
        parts | {"coupler": mg.leaves.particle(mass=COUPLER, gravity=DOWN)},
        coordinates=["theta"],
        speeds=["theta'"],
        constraints=rows,
    )


def composed() -> mg.Equations:
    """The limb, two legs and the hand, whose reach below the coupler is one more coordinate."""
    one = delta.leg()
    legs = {f"{k}": mg.Part(one, parameters={"alpha": a}) for k, a in enumerate(DIRECTIONS)}
    rows = {
        "reach": lambda v: v["hand.place"] - v["limb.coupler.place"] + vector([0, 0, v["reach"]])
    }
    for k, a in enumerate(DIRECTIONS):
        rows[f"wrist {k}"] = lambda v, k=k, a=a: (
            v[f"{k}.end"] - v["hand.place"] - about("z", a) @ vector([HAND, 0, 0])
        )
    return mg.compose(
        "2RSS+PPaP",
        {
            "limb": limb(),
            **legs,
            "hand": mg.leaves.particle("hand", mass=HAND_MASS, gravity=DOWN),
        },
        coordinates=["reach"],
        speeds=["reach'"],
        constraints=rows,
        reference={f"{k}.rod.psi": a + np.pi for k, a in enumerate(DIRECTIONS)}
        | {"hand.z": -0.75, "reach": 0.4, "limb.coupler.z": -BAR},
    )


# --- the plain twin -------------------------------------------------------------------------------


def system() -> mg.System:
    """Joints, with a parallelogram of spatial revolutes: three of its rows are redundant."""
    s = mg.System("2RSS+PPaP", gravity=DOWN)
    carriage = s.body("carriage", mass=CARRIAGE, inertia=0)
    coupler = s.body("coupler", mass=COUPLER, inertia=0)
    hand = s.body("hand", mass=HAND_MASS, inertia=0)
    s.prismatic("s", s.ground, carriage, axis="x")
    s.torque("drive", "s", s.input("force"))
    for k, side in enumerate((1, -1)):
        bar = s.body(f"bar {k}", mass=BAR_MASS, com=(0, 0, -BAR / 2), inertia=BAR_INERTIA)
        s.revolute(f"swing {k}", carriage, bar, axis="x", at=(0, side * APART / 2, 0))
        s.revolute(f"hang {k}", bar, coupler, axis="x", at=(0, 0, -BAR),
                   child_at=(0, side * APART / 2, 0))  # fmt: skip
    s.prismatic("reach", coupler, hand, axis="-z")
    for k, a in enumerate(DIRECTIONS):
        _leg(s, hand, k, a)
    return s


def _leg(s: mg.System, hand: mg.Body, k: int, a: float) -> None:
    away = np.array([np.cos(a), np.sin(a), 0])
    arm = s.body(f"upper {k}", mass=delta.ARM_MASS, com=(delta.ARM_CENTRE, 0, 0),
                 inertia=(0.001, delta.ARM_INERTIA, delta.ARM_INERTIA))  # fmt: skip
    rod = s.body(f"rod {k}", mass=delta.ROD_MASS, com=(delta.FOREARM / 2, 0, 0),
                 inertia=(0.0, delta.ROD_INERTIA, delta.ROD_INERTIA))  # fmt: skip
    s.revolute(f"arm {k}", s.ground, arm, axis="y", at=delta.BASE * away, orientation=[("z", a)])
    s.spherical(f"elbow {k}", arm, rod, at=(delta.ARM, 0, 0))
    s.torque(f"motor {k}", f"arm {k}", s.input(f"torque {k}"))
    end, rim = (
        s.marker(f"end {k}", rod, (delta.FOREARM, 0, 0)),
        s.marker(f"rim {k}", hand, HAND * away),
    )
    s.constrain(f"wrist {k}", position=lambda m: m.position(end) - m.position(rim))
    s.constrain(f"no spin {k}", velocity=lambda m: m.angular_velocity(rod, in_frame=rod)[0])


PAIRS = {"limb.carriage.s": "s", "limb.theta": "swing 0", "reach": "reach"} | {
    f"{k}.arm.theta": f"arm {k}" for k in range(2)
}  # coordinates: here, in the plain twin
DRIVES = ["limb.carriage.force", "0.arm.torque", "1.arm.torque"]


def difference(states: int = 3) -> float:
    """Accelerations against the plain twin at random states, relative."""
    plain, whole = system().equations(), composed()
    random, worst = np.random.default_rng(0), 0.0
    for _ in range(states):
        s, swing, reach = random.uniform((-0.1, -0.3, 0.35), (0.1, 0.3, 0.45))
        start = {"s": s, "swing 0": swing, "reach": reach}
        start |= {f"{name}'": random.standard_normal() for name in start}
        efforts = 5 * random.standard_normal(3)
        q, u = plain.assemble(start, guess=GUESS)
        known = dict(zip((*plain.coordinates, *plain.speeds), (*q, *u), strict=True))
        given = {ours: known[theirs] for ours, theirs in PAIRS.items()}
        given |= {f"{ours}'": known[f"{theirs}'"] for ours, theirs in PAIRS.items()}
        at = whole.assemble(given)
        w = dict(zip(DRIVES, efforts, strict=True))
        found = dict(zip(whole.speeds, whole.accelerations(*at, inputs=w), strict=True))
        expected = dict(zip(plain.speeds, plain.accelerations(q, u, inputs=efforts), strict=True))
        off = [abs(found[f"{a}'"] - expected[f"{b}'"]) for a, b in PAIRS.items()]
        worst = max(worst, max(off) / max(map(abs, expected.values())))
    return worst


PATH = {  # of the hand: a figure of eight, tilted
    "hand.x": lambda t: 0.1 * mg.sin(2 * np.pi * t),
    "hand.y": lambda t: 0.1 * mg.sin(4 * np.pi * t),
    "hand.z": lambda t: -0.75 + 0.05 * mg.cos(2 * np.pi * t),
}


def efforts(times: np.ndarray) -> np.ndarray:
    """Force on the carriage and torques on the arms that make the hand follow its path."""
    return composed().inverse_dynamics(PATH, t=times, drives=DRIVES)


def followed() -> float:
    """The efforts of inverse dynamics on the plain twin: error of the hand's acceleration."""
    times = np.array([0.05, 0.3, 0.7])
    plain, worst, w = system().equations(), 0.0, 2 * np.pi
    for t, effort in zip(times, efforts(times), strict=True):
        s, c, s2, c2 = np.sin(w * t), np.cos(w * t), np.sin(2 * w * t), np.cos(2 * w * t)
        place, rate = [0.1 * s, 0.1 * s2, -0.75 + 0.05 * c], [0.1 * c, 0.2 * c2, -0.05 * s]
        q, u = plain.assemble({"hand": place, "hand'": w * np.array(rate)}, guess=GUESS)
        wanted = -(w**2) * np.array([0.1 * s, 0.4 * s2, 0.05 * c])
        worst = max(worst, np.abs(plain.observe("hand''", q, u, inputs=effort) - wanted).max())
    return worst


def check() -> dict[str, float]:
    """Against the plain twin, forwards and backwards."""
    return verified(
        {
            "accelerations against the plain twin": (difference(), 1e-9),
            "a path by efforts from inverse dynamics": (followed(), 1e-9),
        }
    )


def figures() -> dict[str, object]:
    """Efforts along the path."""
    times = np.linspace(0, 1, 201)
    force, left, right = efforts(times).T
    return {
        "efforts": curves(
            times,
            {
                "force on the carriage (N)": {"carriage": force},
                "torque on the arms (N m)": {"left": left, "right": right},
            },
        )
    }


if __name__ == "__main__":
    present(system(), check)
