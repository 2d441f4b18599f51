"""Pendulum with a rotating end: a rod on a ball joint carries a body that spins about it, in
Cartesian coordinates of points.

H. A. Attia, *Dynamic simulation of constrained mechanical systems using recursive projection
algorithm*, Fig. 4 and Table 1: 1.5 kg and 25 kg, central inertias 0.1 and 25 kg m² about every
axis; horizontal and at rest but for a spin of 2 rad/s. Not printed, and ours: the rod is 1 m long
along x, its mass centre in the middle, that of the other body at its end; gravity 9.81 m/s² along
−z; points 3, 4 and 5, 6 are 1 m off the axis. Points 1 and 2 on the axis belong to both bodies, 3
and 5 are eliminated: nine coordinates and five distances for four freedoms.

The checks: x, y and z of point 2 (the curves of Fig. 5a–c, as numbers of two formulations that were
made for this purpose) and in joint coordinates; the lowest point z = −L s of the nutation,
s² + (a²/β) s − 1 = 0 with a = I_s ω/I_A, β = 2 g (m₂ + m₁/2) L/I_A. The source calls this motion a
regular precession; from rest it cannot be one. With the rate Ω = g (m₂ + m₁/2) L/(I_s ω) about the
vertical it is, and the rod stays level.
"""

import numpy as np

import mechgraph as mg
from mechgraph.gallery import present, verified

MASSES, INERTIAS, SPIN, LENGTH, G = (1.5, 25.0), (0.1, 25.0), 2.0, 1.0, 9.81
START = {"spin'": SPIN}
DURATION = 5.0
PRECESSION = G * (MASSES[1] + MASSES[0] / 2) * LENGTH / (INERTIAS[1] * SPIN)
# the end of the rod by two independent formulations, which agree to 1.2e-10
REFERENCE = {
    0.5: (0.817702, 0.096098, -0.567563),
    1.0: (-0.452890, 0.376597, -0.808125),
    2.0: (-0.893780, 0.317601, -0.316681),
    5.0: (-0.413494, 0.910333, -0.017821),
}
PLACES = {
    "rod": [(0, 0, 0), (LENGTH, 0, 0), (0, 0, LENGTH), (0, LENGTH, 0)],
    "rotor": [(0, 0, 0), (LENGTH, 0, 0), (0, 0, -LENGTH), (0, -LENGTH, 0)],
}


def system() -> mg.System:
    """Rod and rotor, their frames at the ball joint."""
    s = mg.System("pendulum with rotating end", gravity=(0, 0, -G))
    rod = s.body("rod", mass=MASSES[0], com=(LENGTH / 2, 0, 0), inertia=[INERTIAS[0]] * 3)
    rotor = s.body("rotor", mass=MASSES[1], com=(LENGTH, 0, 0), inertia=[INERTIAS[1]] * 3)
    s.spherical("pivot", s.ground, rod)
    s.revolute("spin", rod, rotor, axis="x")
    s.marker("end", rod, at=(LENGTH, 0, 0))
    return s


def points() -> mg.Equations:
    """The equations in the source's points."""
    return system().equations("points", places=PLACES)


def lowest() -> float:
    """z at the lower end of the nutation."""
    across = INERTIAS[0] + MASSES[0] * LENGTH**2 / 4 + INERTIAS[1] + MASSES[1] * LENGTH**2
    a = INERTIAS[1] * SPIN / across
    beta = 2 * G * (MASSES[1] + MASSES[0] / 2) * LENGTH / across
    return -LENGTH * float(np.roots([1, a**2 / beta, -1]).max())


def check() -> dict[str, float]:
    """Fig. 5, the nutation, the regular precession, and joint coordinates."""
    equations = points()
    run = equations.simulate(DURATION, START, rtol=1e-11, step=0.005)
    there = system().equations().simulate(DURATION, START, rtol=1e-11, step=0.005)
    rows = [np.abs(run.time - t).argmin() for t in REFERENCE]
    level = equations.simulate(3.0, START | {"pivot.wz": PRECESSION}, rtol=1e-11)
    turns_back = mg.Event(lambda m: m.velocity("end")[2], direction=1)
    fall = equations.simulate(DURATION, START, rtol=1e-11, events={"lowest": turns_back})
    return verified(
        {
            "point 2 at four times": (
                np.abs(run["end"][rows] - np.array(list(REFERENCE.values()))).max(),
                1e-6,
            ),
            "against joint coordinates": (np.abs(run["end"] - there["end"]).max(), 1e-7),
            "lowest point": (abs(fall["end"][-1, 2] - lowest()), 1e-9),
            "regular precession stays level": (np.abs(level["end"][:, 2]).max(), 1e-8),
            "energy drift, relative": (np.ptp(run.energy) / run.kinetic.max(), 1e-8),
            "distances": (run.violation.max(), 1e-11),
        }
    )


if __name__ == "__main__":
    present(system(), check)
