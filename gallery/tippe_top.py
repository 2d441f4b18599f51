"""Tippe top: a sphere with its mass centre below the middle spins, slides with friction, and turns
upside down.

A sphere of radius R whose mass centre lies α R from its middle on the axis of symmetry, on a plane,
with friction in proportion to the load and to the velocity of slipping, F = N (n − μ v). Numbers
chosen by us: m = 20 g, R = 2 cm, α = 0.3, I₃ = 2/5 m R², I₁ = 131/350 m R², μ = 0.3 s/m; spin 155
rad/s, axis tilted by 0.1 rad.

The checks: it turns over, as it must for 1 − α < I₁/I₃ < 1 + α (H. Leutwiler, S. Ebenfeld, F.
Scheck); *Jellett's* integral λ = −L·a, with L the moment of momentum about the mass centre and a
from there to the point of contact, stays constant whatever the law of friction; the energy never
rises, and what is missing is what friction took.
"""

import casadi as ca
import numpy as np

import mechgraph as mg
from mechgraph.gallery import present, verified

MASS, R, ALPHA, DRAG, G = 0.02, 0.02, 0.3, 0.3, 9.81
I1, I3 = 131 / 350 * MASS * R**2, 2 / 5 * MASS * R**2
TILT, SPIN = 0.1, 155.0
START = {
    **{f"centre.q{i}": q for i, q in enumerate((np.cos(TILT / 2), np.sin(TILT / 2), 0.0, 0.0))},
    **{f"centre.{axis}'": 0.0 for axis in "xy"},
    "centre.wx": 0.0,
    "centre.wy": 0.0,
    "centre.wz": SPIN,
}
DURATION = 8.0
OPTIONS = {"rtol": 1e-11, "step": 0.01}


def system() -> mg.System:
    """The origin of the body is its mass centre; the sphere's middle is α R along its axis z."""
    s = mg.System("tippe top", gravity=(0, 0, -G))
    top = s.body("top", mass=MASS, inertia=(I1, I1, I3))
    s.free("centre", s.ground, top, at=(0, 0, (1 - ALPHA) * R))
    s.marker("pole", top, at=(0, 0, (1 + ALPHA) * R))  # to be seen
    ball = mg.Sphere(s.marker("middle", top, at=(0, 0, ALPHA * R)), R)
    s.slide("floor", ball, mg.Plane(s.ground), friction=mg.Friction(drag=DRAG))
    return s


def inclination(run: mg.Trajectory) -> np.ndarray:
    """Angle between the axis and the vertical, in degrees."""
    return np.degrees(np.arccos(np.clip(run.observe(lambda m: m.axis("top", "z")[2])[:, 0], -1, 1)))


def jellett(m: mg.Motion) -> ca.SX:
    """λ = −L·a."""
    axis, omega = m.axis("top", "z"), m.angular_velocity("top")
    momentum = I1 * omega + (I3 - I1) * mg.dot(axis, omega) * axis
    return -mg.dot(momentum, ALPHA * R * axis - R * m.axis("ground", "z"))


def check() -> dict[str, float]:
    """Inversion, Jellett's integral, energy."""
    run = system().equations().simulate(DURATION, START, **OPTIONS)
    tilt, integral = inclination(run), run.observe(jellett)[:, 0]
    return verified(
        {
            "degrees from upside down at the end": (180 - tilt[-1], 0.2),
            "degrees from upright at the start": (tilt[0], 6.0),
            "Jellett's integral, relative": (np.ptp(integral) / integral[0], 1e-9),
            "largest rise of the energy": (np.diff(run.energy).max() / run.energy[0], 1e-11),
            "energy balance, relative": (np.abs(run.imbalance).max() / run.energy[0], 1e-9),
            "energy left by friction, relative": (1 - run.dissipated[-1] / run.energy[0], 0.5),
            "weight over the least normal force": (MASS * G / run.multipliers[:, 0].min(), 2.0),
            "constraint violation": (run.violation.max(), 1e-9),
        }
    )


if __name__ == "__main__":
    present(system(), check)
