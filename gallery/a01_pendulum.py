"""A01, simple pendulum: a point mass held by a distance constraint.

Problem A01 of the IFToMM library of computational benchmark problems (M. González, D. Dopico, U.
Lugrís, J. Cuadrado, Multibody System Dynamics 16 (2006) 179–190): a point of 1 kg on a massless bar
of 1 m, released from the horizontal. Nothing is chosen by us but the coordinates: x and y of the
point, with the bar as a constraint, as the benchmark is meant.

The check is the closed form: with θ from the downward vertical, k = sin(π/4) and sn Jacobi's
elliptic function,

    sin(θ/2) = k sn(K − √(g/L) t, k),    x = −L sin θ,    y = −L cos θ.
"""

import numpy as np
from scipy.special import ellipj, ellipk

import mechgraph as mg
from mechgraph.gallery import present, verified

L, G = 1.0, 9.81
START = {"P1.x": -L, "P1.y": 0.0}
DURATION = 10.0
OPTIONS = {"rtol": 1e-13, "step": 0.025}


def system() -> mg.System:
    """The point in the plane z = 0, gravity along −y."""
    pendulum = mg.System("A01", gravity=(0, -G, 0))
    point = pendulum.body("point", mass=1.0, inertia=0)
    pendulum.joint("P1", pendulum.ground, point, [mg.move("x", "x"), mg.move("y", "y")])
    pendulum.distance("bar", pendulum.ground, point, L)
    return pendulum


def exact(t: np.ndarray) -> np.ndarray:
    """x and y at the times t."""
    k = np.sin(np.pi / 4)
    sn = ellipj(ellipk(k**2) - np.sqrt(G / L) * t, k**2)[0]
    theta = 2 * np.arcsin(k * sn)
    return -L * np.array([np.sin(theta), np.cos(theta)]).T


def check() -> dict[str, float]:
    """The closed form at all times of 10 s, energy, and the bar's length."""
    run = system().equations().simulate(DURATION, START, **OPTIONS)
    return verified(
        {
            "x, y at all times": (np.abs(run["P1"] - exact(run.time)).max(), 1e-9),
            "energy drift, relative to the swing": (np.ptp(run.energy) / np.ptp(run.kinetic), 1e-9),
            "constraint violation": (run.violation.max(), 1e-10),
        }
    )


if __name__ == "__main__":
    present(system(), check)
