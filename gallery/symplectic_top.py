"""Symplectic top: the heavy top in momenta, a million steps without a drift of its energy.

The top of ``heavy_top.py`` in Euler's angles, where Hamilton's equations are canonical, from rest
at a tilt of 60° but for its spin of 150 rad/s: it nutates between that tilt and a lower one. A
million steps of 1 ms by the implicit midpoint rule, which is symplectic, in machine code: the
error of the energy is in proportion to the square of the step and bounded for ever; the momenta of
yaw and spin, which nothing depends on, stay as they are.

The checks: the energy over all steps against that over the first ten thousand, the momenta, and the
lowest tilt by the cubic of Lagrange's top: with p_spin = C ω, b = p_spin/A and β = 2 m g l/A,
(1 − z²) β (z₀ − z) = b² (z₀ − z)² at the ends of a nutation from rest at z₀ = cos θ₀.
"""

import numpy as np

import mechgraph as mg
from mechgraph.gallery import present, verified

MASS, LENGTH, G = 15.0, 1.0, 9.81
ACROSS, ALONG = 0.234375, 0.46875
TILT, SPIN = np.pi / 3, 150.0
START = {"pivot.tilt": TILT, "pivot.spin'": SPIN}
DURATION = 2.0
OPTIONS = {"rtol": 1e-11}
STEP, STEPS, FEW = 1e-3, 1_000_000, 10_000


def system() -> mg.System:
    """The top, its axis along z of the body."""
    s = mg.System("symplectic top", gravity=(0, 0, -G))
    top = s.body("top", mass=MASS, com=(0, 0, LENGTH), inertia=(ACROSS, ACROSS, ALONG))
    turns = [mg.rot("z", "yaw"), mg.rot("x", "tilt"), mg.rot("z", "spin")]
    s.joint("pivot", s.ground, top, turns)
    s.marker("centre", top, at=(0, 0, LENGTH))
    return s


def rolled(steps: int, every: int) -> tuple[np.ndarray, mg.Rollouts]:
    """The Hamiltonian along a run of the midpoint rule, and the run."""
    equations = system().equations("hamilton")
    start = equations.assemble(START)
    run = equations.rollout(*start, step=STEP, steps=steps, every=every, method="midpoint")
    return equations.hamilton.H(run.q[0], run.u[0]), run


def lowest() -> float:
    """The largest tilt."""
    A = ACROSS + MASS * LENGTH**2
    b, beta, z0 = ALONG * SPIN / A, 2 * MASS * G * LENGTH / A, np.cos(TILT)
    roots = np.roots([beta, -(b**2), b**2 * z0 - beta])  # β (1 − z²) = b² (z₀ − z)
    return float(np.arccos(roots[np.abs(roots) < 1].real.max()))


def check() -> dict[str, float]:
    """Energy, momenta and nutation; fewer steps where there is no compiler."""
    compiled = rolled(1, 1)[1].tier == "machine code"
    first, _ = rolled(FEW if compiled else 50, 1)
    energy, run = rolled(STEPS if compiled else 500, 10 if compiled else 1)
    few, all_of_them = np.ptp(first) / abs(first[0]), np.ptp(energy) / abs(first[0])
    momenta = np.ptp(run.u[0][:, [0, 2]], axis=0).max() / abs(run.u[0, 0, 2])
    tilt = run.q[0][:, 1]
    return verified(
        {
            "energy, relative, all steps": (all_of_them, 1e-6),
            "growth of its error after the first steps": (all_of_them / few - 1, 0.02),
            "momenta of yaw and spin, relative": (momenta, 1e-12),
            "highest and lowest tilt": (
                max(abs(tilt.min() - TILT), abs(tilt.max() - lowest())),
                1e-3,
            ),
        }
    )


if __name__ == "__main__":
    print(system().equations("hamilton").hamilton.H.show(), end="\n\n")
    present(system(), check)
