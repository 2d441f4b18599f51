"""Garifulin's graph of frames: a tree of four bodies on a moving base, or on a free one.

Yu. Garifulin, *Computer simulation of the dynamics of systems of solids*, Fig. 1. From the base b:
frame 1 turns by α about x, frame 2 by β about y; on it, at (0, 1, −2), frame 4 turns by γ about z,
and at (0, −1, −2), frame 6 moves by u along y. Bodies ride on frames 1, 2, 4 and 6 (and on the
base, if it is free). One technique serves both bases:

- ``base="driven"``: six functions of time, n = 4;
- ``base="free"``: a free joint, with a quaternion (10 speeds);
- ``base="elementary"``: six elementary transitions, as in the source (10 coordinates).

The source has the graph but no numbers. Ours: the base's motion; masses 3, 5, 2, 1.5 kg (base 10
kg); mass centres off the origins and full inertia matrices, so that every term of the energy of
accelerations counts; a spring and damper on u.

The checks are what the theory demands of the coefficients of Appell's equations A q̈ + (q̇ᵀ K_k
q̇)_k + Dᵀ q̇ + H = Q, found by the source's probing: K are the Christoffel symbols of A; D + Dᵀ = 2
∂A/∂t, here 0; D and H vanish if the base is free and not if it is driven; Q_γ is the source's (32),
(33), corrected. Along the motion, work is the change of energy.
"""

import numpy as np
from scipy.integrate import cumulative_simpson

import mechgraph as mg
from mechgraph.gallery import present, verified

G = 9.8
START = {"alpha": 0.3, "beta": -0.2, "gamma": 0.5, "u": 0.1, "gamma'": 2.0}
DURATION = 10.0
OPTIONS = {"rtol": 1e-11, "step": 0.01}

BODIES = {  # mass, mass centre, central inertia xx yy zz xy xz yz
    "b": (10.0, (0.1, 0.05, -0.1), (0.9, 0.8, 1.0, 0.02, -0.03, 0.04)),
    "1": (3.0, (0.05, -0.1, -0.3), (0.20, 0.18, 0.12, 0.01, 0.02, -0.01)),
    "2": (5.0, (-0.1, 0.1, -0.8), (0.60, 0.55, 0.30, -0.02, 0.03, 0.05)),
    "4": (2.0, (0.3, 0.1, -0.05), (0.05, 0.12, 0.14, -0.01, 0.005, 0.01)),
    "6": (1.5, (0.02, 0.2, 0.1), (0.08, 0.03, 0.07, 0.004, -0.006, 0.002)),
}


def system(base: str = "driven") -> mg.System:
    """The tree, on a base that is ``driven``, ``free`` or ``elementary``."""
    tree = mg.System(f"Garifulin's Fig. 1, base {base}", gravity=(0, 0, -G))
    mounted = _base(tree, base)
    one, two, four, six = (_body(tree, name) for name in "1246")
    tree.revolute("alpha", mounted, one, axis="x")
    tree.revolute("beta", one, two, axis="y")
    tree.revolute("gamma", two, four, axis="z", at=(0, 1, -2))
    tree.prismatic("u", two, six, axis="y", at=(0, -1, -2), stiffness=200.0, damping=5.0)
    return tree


def _body(tree: mg.System, name: str) -> mg.Body:
    mass, com, inertia = BODIES[name]
    return tree.body(name, mass=mass, com=com, inertia=inertia)


def _base(tree: mg.System, base: str) -> mg.Body:
    if base == "driven":
        frame, t = tree.frame("b"), tree.time
        shifts = 0.5 * mg.sin(1.1 * t + 0.2), 0.3 * mg.sin(1.7 * t + 1), 0.2 * mg.sin(2.3 * t + 0.4)
        turns = (
            0.6 * mg.sin(1.3 * t + 0.1),
            0.4 * mg.sin(0.9 * t + 0.5),
            0.3 * mg.sin(2.1 * t + 0.8),
        )
        tree.joint("base", tree.ground, frame, _six(shifts, turns))
        return frame
    body = _body(tree, "b")
    if base == "free":
        tree.free("base", tree.ground, body)
    else:
        tree.joint("base", tree.ground, body, _six("xyz", ("psi", "theta", "phi")))
    return body


def _six(shifts: tuple | str, turns: tuple) -> list:
    """Shifts along x, y, z, then turns about z, y, x."""
    moves = [mg.move(axis, by) for axis, by in zip("xyz", shifts, strict=True)]
    return [*moves, *(mg.rot(axis, by) for axis, by in zip("zyx", turns, strict=True))]


def coefficient_errors(base: str, t: float = 0.7) -> tuple[float, float, float, float]:
    """K against Christoffel's symbols of A, D + Dᵀ against 2 ∂A/∂t, and the sizes of D and H, at a
    random state."""
    equations = system(base).equations("appell", coefficients="probing")
    n, random = len(equations.coordinates), np.random.default_rng(4)
    q = random.uniform(-0.6, 0.6, n)
    K, D, H = (getattr(equations.appell, name)(q, t=t) for name in "KDH")
    slope = equations.jacobian("mass_matrix", "q", q, t=t).reshape(n, n, n)  # ∂A_ij/∂q_k
    christoffel = (np.einsum("jki->ijk", slope) + np.einsum("ikj->ijk", slope) - slope) / 2
    rate = equations.jacobian("mass_matrix", "t", q, t=t).reshape(n, n)
    return (
        np.abs(K - christoffel).max(),
        np.abs(D + D.T - 2 * rate).max(),
        np.abs(D).max(),
        np.abs(H).max(),
    )


def gravity_on_gamma(equations: mg.Equations, q: np.ndarray, t: float) -> float:
    """Q_γ = m₄ gᵀ P_b^a P_1^b P_2^1 (∂P_4^2/∂γ) c₄ (32), (33)."""
    mass, com, _ = BODIES["4"]
    gamma = q[equations.coordinates.index("gamma")]
    slope = np.array(
        [[-np.sin(gamma), -np.cos(gamma), 0], [np.cos(gamma), -np.sin(gamma), 0], [0, 0, 0]]
    )
    return mass * np.array([0, 0, -G]) @ equations.rotation("2", q, t=t) @ slope @ com


def check() -> dict[str, float]:
    """Coefficients for driven and free base, gravity on γ, work and energy for all three bases."""
    K, symmetry, D, H = coefficient_errors("driven")
    K_free, symmetry_free, D_free, H_free = coefficient_errors("elementary")
    equations, q = system().equations("appell"), np.array([0.3, -0.4, 0.8, 0.1])
    gamma = equations.coordinates.index("gamma")
    comparisons = {
        "K and Christoffel's symbols of A": (max(K, K_free), 1e-11),
        "D + Dᵀ and 2 ∂A/∂t": (max(symmetry, symmetry_free), 1e-11),
        "driven base: 1/|D|, 1/|H|, which do not vanish": (max(1 / D, 1 / H), 1.0),
        "free base: |D|, |H|, which do": (max(D_free, H_free), 1e-11),
        "Q_γ by (32), (33)": (
            abs(equations.appell.Q(q, t=0.7)[gamma] - gravity_on_gamma(equations, q, 0.7)),
            1e-12,
        ),
    }
    for base in ("driven", "free", "elementary"):
        run = system(base).equations().simulate(2.0, START, rtol=1e-12, step=0.002)
        work = cumulative_simpson(run.power, x=run.time, initial=0)
        comparisons[f"base {base}: work and energy, relative"] = (
            np.abs(run.energy - run.energy[0] - work).max() / np.ptp(run.kinetic),
            1e-8,
        )
    return verified(comparisons)


if __name__ == "__main__":
    present(system(), check)
