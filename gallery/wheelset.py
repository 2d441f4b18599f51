"""Wheelset: two discs on a common axle, held by stiff springs along it, converge to the rigid
wheelset.

I. Kosenko, *How one can arrange the multibody system dynamics computer model*: a rod and two wheels
that turn on it, each rolling on the floor. With rigid joints the floor and the axle say the same
thing twice, that neither wheel moves sideways, and the axial forces are not determined. The source
therefore lets each wheel shift on the axle against a spring and a damper, c = 1000 N/m, d = 5000 N
s/m (here d = 5 c). Its other numbers are not given; ours: uniform wheels of radius 0.5 m and 1 kg,
a rod of 2 m and 2 kg, v = 1.5 m/s, Ω = 0.7 rad/s.

The rigid wheelset keeps its speed v and its rate of yaw Ω and goes round a circle of radius v/Ω.
The checks: the compliant one stays as near to it as 1/c; the rod, of mass m, which only the springs
bend to the circle, shifts in the wheels as c ν + d ν̇ = m v Ω/2 says, that is by ν = (1 − exp(−c
t/d)) m v Ω/2c up to terms of order 1/c²; what the energy loses is what the dampers took. Built with
rigid joints, as a tree of hinges or as a network of constraints, one row is redundant: the motion
is the ideal one all the same.

The system is stiff: the springs creep in d/c = 5 s, while the shift starts within m/2d = 0.2 ms.
The explicit ``rk8`` is quicker here than the implicit ``radau`` up to some c = 10⁴; beyond, a run
changes over to that by itself.
"""

import casadi as ca
import numpy as np

import mechgraph as mg
from mechgraph.gallery import present, verified

R, HALF, WHEEL, ROD, G = 0.5, 1.0, 1.0, 2.0, 9.81
STIFFNESS, TIME = 1000.0, 5.0  # c, d/c
V, YAW = 1.5, 0.7
SIDES = {"left": 1, "right": -1}
START = {
    "rod.x'": V,
    "rod.y'": 0.0,
    "rod.wy": 0.0,
    "rod.wz": YAW,
    "left.y": 0.0,
    "left.y'": 0.0,
    "right.y": 0.0,
}
DURATION = 30.0
OPTIONS = {"rtol": 1e-10, "step": 0.1}
STIFFER, SHORT = 4.0, 5.0


def system(axle: str = "springs") -> mg.System:
    """Axles along y; the wheels sit on springs, on rigid constraints (``fixed``), or on hinges of
    the tree (``hinges``)."""
    s = mg.System("wheelset", gravity=(0, 0, -G))
    c = s.parameter("c", STIFFNESS)
    rod = s.body("rod body", mass=ROD, inertia=(ROD * HALF**2 / 3, 0.01, ROD * HALF**2 / 3))
    s.free("rod", s.ground, rod, at=(0, 0, R))
    for side, sign in SIDES.items():
        wheel = s.body(
            f"{side} wheel", mass=WHEEL, inertia=WHEEL * R**2 * np.array([0.25, 0.5, 0.25])
        )
        end = s.marker(f"{side} end", rod, at=(0, sign * HALF, 0))
        if axle == "hinges":
            s.revolute(side, end, wheel, axis="y")
        else:
            s.free(side, s.ground, wheel, at=(0, sign * HALF, R))
            if axle == "springs":
                s.spring_ideal_joint(
                    f"{side} hub", end, wheel, axis="y", stiffness=c, damping=TIME * c
                )
            else:
                s.fixed_ideal_joint(f"{side} hub", end, wheel, axis="y")
        rim = s.marker(f"{side} rim", wheel, orientation=[("x", -np.pi / 2)])
        s.roll(f"{side} floor", mg.Disc(rim, R), mg.Plane(s.ground))
    return s


# --- the ideal motion -----------------------------------------------------------------------------


def off_circle(run: mg.Trajectory) -> np.ndarray:
    """Distance of the rod's middle from where the ideal wheelset has it."""
    angle = YAW * run.time
    ideal = V / YAW * np.stack([np.sin(angle), 1 - np.cos(angle)], axis=-1)
    return np.linalg.norm(run["rod body"][:, :2] - ideal, axis=1)


def rigid(axle: str) -> float:
    """How far a wheelset with rigid joints gets from the circle."""
    known = [*START] if axle == "fixed" else [name for name in START if name.startswith("rod.")]
    run = (
        system(axle)
        .equations()
        .simulate(DURATION, {name: START[name] for name in known}, **OPTIONS)
    )
    return off_circle(run).max()


def shift(m: mg.Motion) -> ca.SX:
    """ν of the left wheel."""
    return m.position("left wheel", in_frame="left end")[1]


def check() -> dict[str, float]:
    """Nearness to the ideal circle, creep of the wheels, energy, and the rigid wheelsets."""
    equations = system().equations()
    run = equations.simulate(DURATION, START, **OPTIONS)
    stiffer = equations.simulate(SHORT, START, parameters={"c": STIFFER * STIFFNESS}, **OPTIONS)
    near = off_circle(run)[run.time <= SHORT].max() / off_circle(stiffer).max()
    creep = (1 - np.exp(-run.time / TIME)) * ROD * V * YAW / (2 * STIFFNESS)
    return verified(
        {
            "distance from the circle in 30 s": (off_circle(run).max(), 5e-4),
            "4 c: 1/4 of the distance, relative": (abs(near / STIFFER - 1), 5e-3),
            "creep of the wheels, relative": (
                np.abs(run.observe(shift)[:, 0] - creep).max() / creep[-1],
                2e-3,
            ),
            "energy balance, relative": (np.abs(run.imbalance).max() / run.energy[0], 1e-10),
            "constraint violation": (max(run.violation.max(), stiffer.violation.max()), 1e-9),
            "rigid, by hinges: distance from the circle": (rigid("hinges"), 1e-7),
            "rigid, by constraints: distance": (rigid("fixed"), 1e-9),
        }
    )


if __name__ == "__main__":
    present(system(), check)
