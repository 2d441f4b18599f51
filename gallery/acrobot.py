"""Acrobot: a double pendulum with a motor in the elbow only.

Parameters of Drake's benchmark (multibody/benchmarks/acrobot/acrobot.h), joints with viscous
damping; θ₁ from the downward vertical, θ₂ relative. The start is ours: hanging slightly bent.

The check is the closed form of M. Spong, *The swing up control problem for the acrobot*, IEEE
Control Systems Magazine 15 (1995): with H₂₂ = I₂ + m₂ l_c2², h = m₂ l₁ l_c2, centres at l_c and
inertias I about them,

    H = [[I₁ + m₁ l_c1² + H₂₂ + m₂ l₁² + 2 h cos θ₂,  H₂₂ + h cos θ₂], [·, H₂₂]]
    H q̈ + C q̇ = τ_g − b q̇ + (0, torque),    C q̇ = h sin θ₂ (−2 θ̇₁ θ̇₂ − θ̇₂², θ̇₁²)
    τ_g = −g ((m₁ l_c1 + m₂ l₁) sin θ₁ + m₂ l_c2 sin(θ₁ + θ₂),  m₂ l_c2 sin(θ₁ + θ₂)).
"""

import numpy as np

import mechgraph as mg
from mechgraph.gallery import present, verified

M1, M2, L1, L2, LC1, LC2, IC1, IC2, B1, B2, G = (
    1.0,
    1.0,
    1.0,
    1.0,
    0.5,
    0.5,
    0.083,
    0.33,
    0.1,
    0.1,
    9.81,
)
START = {"theta1": 0.4, "theta2": -0.7}
DURATION = 10.0
OPTIONS = {"rtol": 1e-10}


def system(damped: bool = True) -> mg.System:
    """Links along −z of their frames, turning about y; input ``torque`` in the elbow."""
    acrobot = mg.System("acrobot", gravity=(0, 0, -G))
    b1, b2 = (
        acrobot.parameter(name, value if damped else 0.0)
        for name, value in (("b1", B1), ("b2", B2))
    )
    upper = acrobot.body("upper", mass=M1, com=(0, 0, -LC1), inertia=(IC1, IC1, 0))
    lower = acrobot.body("lower", mass=M2, com=(0, 0, -LC2), inertia=(IC2, IC2, 0))
    acrobot.revolute("theta1", acrobot.ground, upper, axis="y", damping=b1)
    acrobot.revolute("theta2", upper, lower, axis="y", at=(0, 0, -L1), damping=b2)
    acrobot.torque("motor", "theta2", acrobot.input("torque"))
    acrobot.marker("tip", lower, at=(0, 0, -L2))
    return acrobot


def closed_form(q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """H, C q̇ and τ_g of the formulas above."""
    h22, h = IC2 + M2 * LC2**2, M2 * L1 * LC2
    c2, s2, s1, s12 = np.cos(q[1]), np.sin(q[1]), np.sin(q[0]), np.sin(q[0] + q[1])
    coupling = h22 + h * c2
    H = np.array([[IC1 + M1 * LC1**2 + h22 + M2 * L1**2 + 2 * h * c2, coupling], [coupling, h22]])
    Cu = h * s2 * np.array([-2 * u[0] * u[1] - u[1] ** 2, u[0] ** 2])
    gravity = -G * np.array([(M1 * LC1 + M2 * L1) * s1 + M2 * LC2 * s12, M2 * LC2 * s12])
    return H, Cu, gravity


def check() -> dict[str, float]:
    """H, forces and accelerations at random states; energy of the undamped motion."""
    equations, random = system().equations(), np.random.default_rng(3)
    errors = np.zeros(3)
    for q, u in random.uniform(-3, 3, (20, 2, 2)):
        H, Cu, gravity = closed_form(q, u)
        forces = gravity - Cu - [B1 * u[0], B2 * u[1]]
        found = equations.mass_matrix(q), equations.forces(q, u), equations.accelerations(q, u)
        expected = H, forces, np.linalg.solve(H, forces)
        errors = np.maximum(
            errors, [np.abs(a - b).max() for a, b in zip(found, expected, strict=True)]
        )
    run = system(damped=False).equations().simulate(DURATION, START, rtol=1e-12)
    return verified(
        {
            "mass matrix": (errors[0], 1e-13),
            "forces": (errors[1], 1e-12),
            "accelerations": (errors[2], 1e-10),
            "undamped: energy drift, relative to the swing": (
                np.ptp(run.energy) / np.ptp(run.kinetic),
                1e-9,
            ),
        }
    )


if __name__ == "__main__":
    present(system(), check)
