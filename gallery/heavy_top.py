"""Heavy top: a fast-spinning rigid body fixed at a point.

The benchmark of O. Brüls, A. Cardona, M. Arnold, Mechanism and Machine Theory 48 (2012) 121–137: 15
kg, mass centre at (0, 1, 0) m from the fixed point, central inertia (0.234375, 0.46875, 0.234375)
kg m², spin 150 rad/s about y and −4.61538 rad/s about z of the body, orientation 1 at the start.
Nothing is chosen by us.

The checks: the quaternion at t = 0.2 s as computed by two published codes (EXUDYN's test
heavyTop.py, which quotes its own value and a Runge–Kutta solution in MATLAB); the first integrals,
energy and the moments of momentum about the vertical and about the axis; and the nutation z_C = cos
θ, which Jacobi's function gives: ż_C² is a cubic of z_C with roots z₁ < z₂ < z₃, and

    z_C = z₁ + (z₂ − z₁) sn²(K − √(β (z₃ − z₁)/4) t, k),    k² = (z₂ − z₁)/(z₃ − z₁),

from the start at the upper bound z₂ = 0.
"""

import numpy as np
from scipy.special import ellipj, ellipk

import mechgraph as mg
from mechgraph.gallery import present, verified

MASS, LENGTH, G = 15.0, 1.0, 9.81
INERTIA = (0.234375, 0.46875, 0.234375)
SPIN, SWING = 150.0, -4.61538
START = {"pivot.wx": 0.0, "pivot.wy": SPIN, "pivot.wz": SWING}
DURATION = 2.0
OPTIONS = {"rtol": 1e-13, "step": 0.002}


def system() -> mg.System:
    """The top on a spherical joint, gravity along −z."""
    top = mg.System("heavy top", gravity=(0, 0, -G))
    body = top.body("top", mass=MASS, com=(0, LENGTH, 0), inertia=INERTIA)
    top.spherical("pivot", top.ground, body)
    top.marker("centre", body, at=(0, LENGTH, 0))
    return top


def nutation(t: np.ndarray) -> np.ndarray:
    """z of the mass centre at the times t, by Jacobi's elliptic function.

    With A the inertia across the axis at the pivot, L_z and L_a the moments about the vertical and
    the axis and E′ the energy without that of the spin: A² ż² = 2A (E′ − m g l z)(1 − z²) − (L_z −
    L_a z)².
    """
    A, La = INERTIA[0] + MASS * LENGTH**2, INERTIA[1] * SPIN
    Lz, energy, weight = A * SWING, A * SWING**2 / 2, MASS * G * LENGTH
    cubic = (
        np.array(
            [
                2 * A * weight,
                -2 * A * energy - La**2,
                -2 * A * weight + 2 * Lz * La,
                2 * A * energy - Lz**2,
            ]
        )
        / A**2
    )
    z1, z2, z3 = np.sort(np.roots(cubic).real)
    k2 = (z2 - z1) / (z3 - z1)
    sn = ellipj(ellipk(k2) - np.sqrt(cubic[0] * (z3 - z1)) / 2 * t, k2)[0]
    return z1 + (z2 - z1) * sn**2


def check() -> dict[str, float]:
    """Published quaternions at 0.2 s, nutation and first integrals over 2 s."""
    run = system().equations().simulate(DURATION, START, **OPTIONS)
    quaternion = run["pivot"][np.abs(run.time - 0.2).argmin()]
    omega = np.array([run[f"pivot.w{i}"] for i in "xyz"]).T
    vertical = run.observe(lambda m: m.rotation("top").T @ [0, 0, 1])
    A = INERTIA[0] + MASS * LENGTH**2
    moment = (vertical * [A, INERTIA[1], A] * omega).sum(axis=1)
    return verified(
        {
            "quaternion at 0.2 s, EXUDYN": (
                np.abs(quaternion - [-0.70824157, 0.43878143, 0.54578152, 0.08937154]).max(),
                1e-4,
            ),
            "quaternion at 0.2 s, Runge–Kutta": (
                np.abs(quaternion - [-0.70828, 0.43878, 0.54573, 0.0894]).max(),
                1e-5,
            ),
            "nutation at all times": (np.abs(run["centre"][:, 2] - nutation(run.time)).max(), 1e-7),
            "spin about the axis, relative": (np.ptp(omega[:, 1]) / SPIN, 1e-9),
            "moment about the vertical, relative": (np.ptp(moment) / (INERTIA[1] * SPIN), 1e-9),
            "energy drift, relative": (np.ptp(run.energy) / run.energy[0], 1e-9),
        }
    )


if __name__ == "__main__":
    present(system(), check)
