"""Branched tree on a moving base: six bodies, revolute joints about oblique axes.

The example of the explicit Lagrange form (Yu. Dolgii, A. Sesekin, I. Chupin, *Using graphs in
modeling the movements of a manipulation robot*), which names no numbers: a spatial tree whose
bodies hang on bodies (0, 1, 2, 2, 4, 5), on a base point that moves with the velocity V₁ = (sin
1.3t, ½ cos 2t, 0.3 t²). All numbers are ours: axes, places, masses and inertias are random (seed
7), so that nothing is special; springs and dampers keep the angles bounded.

Checks: the paper's coefficients α₀, α_b, α_bc give the kinetic energy, T = ½ (α₀ − 2 Σ α_b φ̇_b + Σ
α_bc φ̇_b φ̇_c); the reaction at the base is the rate of the momentum of all bodies less their
weight; work is the change of energy.
"""

import numpy as np
from scipy.integrate import cumulative_simpson

import mechgraph as mg
from mechgraph.gallery import present, verified

PARENTS = (0, 1, 2, 2, 4, 5)
GRAVITY = np.array([0, 0, -9.81])
START = {"phi1": 0.4, "phi4": -0.6, "phi6": 1.0}
DURATION = 3.0
OPTIONS = {"rtol": 1e-11}


def system() -> mg.System:
    """Bodies body1 … body6 on joints phi1 … phi6; the base is a frame that moves as given."""
    tree, random = mg.System("branched tree", gravity=GRAVITY), np.random.default_rng(7)
    base, t = tree.frame("base"), tree.time
    path = (1 - mg.cos(1.3 * t)) / 1.3, 0.25 * mg.sin(2 * t), 0.1 * t**3
    tree.joint(
        "drive",
        tree.ground,
        base,
        [mg.move(axis, by) for axis, by in zip("xyz", path, strict=True)],
    )
    bodies = [base]
    for k, parent in enumerate(PARENTS, start=1):
        solid, at, axis = _solid(random), random.uniform(-0.5, 0.5, 3), random.standard_normal(3)
        bodies.append(tree.body(f"body{k}", **solid))
        tree.marker(f"centre{k}", bodies[k], at=solid["com"])
        axis /= np.linalg.norm(axis)
        tree.revolute(
            f"phi{k}",
            bodies[parent],
            bodies[k],
            axis=axis,
            at=at * (parent > 0),
            stiffness=3.0,
            damping=0.1,
        )
    return tree


def _solid(random: np.random.Generator) -> dict:
    """Mass properties of twelve random points."""
    masses, points = random.uniform(0.05, 0.3, 12), random.uniform(-0.3, 0.3, (12, 3))
    com = masses @ points / masses.sum()
    arms = points - com
    inertia = sum(
        m * (r @ r * np.eye(3) - np.outer(r, r)) for m, r in zip(masses, arms, strict=True)
    )
    return {"mass": masses.sum(), "com": com, "inertia": inertia}


def kinetic_error(t: float = 0.8) -> float:
    """Relative difference of T by the paper's coefficients and by the bodies' velocities, at a
    random state."""
    equations, random = system().equations("lagrange", form="explicit"), np.random.default_rng(8)
    q, u = random.uniform(-2, 2, (2, 6))
    explicit = equations.lagrange
    a0, ab, abc = (getattr(explicit, name)(q, t=t) for name in ("alpha_0", "alpha_b", "alpha_bc"))
    expected = equations.kinetic_energy(q, u, t=t)
    return abs((a0 - 2 * ab @ u + u @ abc @ u) / 2 - expected) / expected


def force_error(run: mg.Trajectory) -> float:
    """Reaction of the base on the first body against Σ m (w_C − g), relative."""
    masses = [float(run.equations.system.bodies[f"body{k}"].mass) for k in range(1, 7)]
    total = run.observe(
        lambda m: sum(mass * m.acceleration(f"centre{k}") for k, mass in enumerate(masses, start=1))
    )
    force = run.reaction("phi1")[:, :3]
    return np.abs(force - (total - sum(masses) * GRAVITY)).max() / np.abs(force).max()


def check() -> dict[str, float]:
    """Kinetic energy, momentum and work."""
    run = system().equations().simulate(2.0, START, rtol=1e-12, step=0.002)
    work = cumulative_simpson(run.power, x=run.time, initial=0)
    return verified(
        {
            "kinetic energy by α₀, α_b, α_bc, relative": (kinetic_error(), 1e-13),
            "reaction at the base and momentum, relative": (force_error(run), 1e-10),
            "work and energy, relative": (
                np.abs(run.energy - run.energy[0] - work).max() / np.ptp(run.kinetic),
                1e-8,
            ),
        }
    )


if __name__ == "__main__":
    present(system(), check)
