"""Double pendulum: two bars in a vertical plane.

Two uniform slender bars, hinged to ground and to each other about parallel horizontal axes. All
numbers are ours: a metre-size pendulum that is easy to build, with a start that is high enough for
tumbling.

The check writes Lagrange's equations of the two bars by hand, in absolute angles θ₁ = shoulder, θ₂
= shoulder + elbow from the downward vertical: with c₁₂ = cos(θ₁ − θ₂), s₁₂ = sin(θ₁ − θ₂),

    (m₁/3 + m₂) l₁² θ̈₁ + ½ m₂ l₁ l₂ (c₁₂ θ̈₂ + s₁₂ θ̇₂²) + (m₁/2 + m₂) g l₁ sin θ₁ = 0
    ⅓ m₂ l₂² θ̈₂ + ½ m₂ l₁ l₂ (c₁₂ θ̈₁ − s₁₂ θ̇₁²) + ½ m₂ g l₂ sin θ₂ = 0.
"""

import numpy as np

import mechgraph as mg
from mechgraph.gallery import present, verified

G = 9.81
START = {"shoulder": 2.0, "elbow": 0.5}
DURATION = 10.0
OPTIONS = {"rtol": 1e-12}


def system(m1: float = 1.0, m2: float = 0.8, l1: float = 1.0, l2: float = 0.8) -> mg.System:
    """Bars of masses m1, m2 and lengths l1, l2, hanging along −z of their own frames."""
    pendulum = mg.System("double pendulum", gravity=(0, 0, -G))
    upper = pendulum.body(
        "upper", mass=m1, com=(0, 0, -l1 / 2), inertia=(m1 * l1**2 / 12, m1 * l1**2 / 12, 0)
    )
    lower = pendulum.body(
        "lower", mass=m2, com=(0, 0, -l2 / 2), inertia=(m2 * l2**2 / 12, m2 * l2**2 / 12, 0)
    )
    pendulum.revolute("shoulder", pendulum.ground, upper, axis="y")
    pendulum.revolute("elbow", upper, lower, axis="y", at=(0, 0, -l1))
    pendulum.marker("tip", lower, at=(0, 0, -l2))
    return pendulum


def residual(
    q: np.ndarray, u: np.ndarray, udot: np.ndarray, m1: float, m2: float, l1: float, l2: float
) -> np.ndarray:
    """What is left of the two equations above, for relative angles, speeds and accelerations."""
    (t1, t2), (w1, w2), (a1, a2) = np.cumsum(q), np.cumsum(u), np.cumsum(udot)
    c12, s12 = np.cos(t1 - t2), np.sin(t1 - t2)
    first = (
        (m1 / 3 + m2) * l1**2 * a1
        + m2 * l1 * l2 / 2 * (c12 * a2 + s12 * w2**2)
        + (m1 / 2 + m2) * G * l1 * np.sin(t1)
    )
    second = (
        m2 * l2**2 / 3 * a2
        + m2 * l1 * l2 / 2 * (c12 * a1 - s12 * w1**2)
        + m2 * G * l2 / 2 * np.sin(t2)
    )
    return np.array([first, second])


def check() -> dict[str, float]:
    """The equations written by hand at random states, and energy along the run."""
    sizes = {"m1": 1.3, "m2": 0.7, "l1": 0.9, "l2": 1.1}
    equations, random = system(**sizes).equations(), np.random.default_rng(1)
    left = 0.0
    for q, u in random.uniform(-3, 3, (20, 2, 2)):
        left = max(left, np.abs(residual(q, u, equations.accelerations(q, u), **sizes)).max())
    run = system().equations().simulate(DURATION, START, **OPTIONS)
    drift = np.ptp(run.energy) / np.abs(run.energy).max()
    return verified(
        {"equations by hand (N m)": (left, 1e-12), "energy drift, relative": (drift, 1e-9)}
    )


if __name__ == "__main__":
    present(system(), check)
