"""Four-bar linkage: three equal links hanging from two pivots, built of spatial revolutes.

Drake's example *four_bar* (its README and passive_simulation.cc, after MotionGenesis): uniform
links A, B, C of 4 m and 20 kg, pivots 2 m apart, g = 9.8 m/s². Slender links are our reading of
"uniform". The joints are revolutes in space, so three of the five rows that close the loop are
redundant; they are found by rank and do no harm.

Known from elsewhere: the equilibrium, qA = 75.52°, qB = qC = 104.48° (by symmetry, exactly arctan
√15 and its supplement); and, computed independently of this library, the motion from there with q̇A
= 3 rad/s and the frequency of small swings, 1.7369383 rad/s (to seven digits).
"""

import numpy as np

import mechgraph as mg
from mechgraph.gallery import present, verified

REST = np.arctan(np.sqrt(15))
START = {"qA": REST, "qA'": 3.0}
GUESS = {"qB": np.pi - REST, "qC": np.pi - REST}
DURATION = 2.0
OPTIONS = {"rtol": 1e-12, "step": 0.005}

RECORD = {  # t: qA, qB, qC
    0.2: (1.8832012828857858, 1.5655193832481233, 2.434962026450782),
    0.5: (2.519142404582016, 1.4514984956636763, 3.296472213830779),
    1.0: (3.0346655362317034, 1.7206885667811016, 4.244126107208568),
    2.0: (3.1171533081947254, 1.7992059864580203, 4.410690450927382),
}


def system(plane: str | None = None) -> mg.System:
    """Links along x of their frames, turning about y; gravity along −z. In the plane "zx" nothing
    is redundant, and nodes can describe it."""
    linkage = mg.System("four-bar linkage", gravity=(0, 0, -9.8), plane=plane)
    uniform = {"mass": 20.0, "com": (2, 0, 0), "inertia": (0, 20 * 4**2 / 12, 20 * 4**2 / 12)}
    A, B, C = (linkage.body(name, **uniform) for name in "ABC")
    linkage.revolute("qA", linkage.ground, A, axis="y")
    linkage.revolute("qB", A, B, axis="y", at=(4, 0, 0))
    linkage.revolute("qC", linkage.ground, C, axis="y", at=(-2, 0, 0))
    linkage.revolute("pin", B, C, axis="y", at=(4, 0, 0), child_at=(4, 0, 0), cut=True)
    return linkage


def frequency(equations: mg.Equations, q: np.ndarray) -> float:
    """Of small swings about an equilibrium q with one freedom: ω² = −(∂u̇/∂q) τ along the direction
    τ that is free."""
    free = np.linalg.svd(equations.constraint_jacobian(q))[2][-1]
    slope = equations.jacobian("accelerations", "q", q, np.zeros(len(q))) @ free
    return np.sqrt(-(slope @ free))


def check() -> dict[str, float]:
    """Equilibrium, small swings, the record, energy and closure."""
    equations = system().equations()
    q, u = equations.assemble({"qA": REST}, guess=GUESS)
    run = equations.simulate(DURATION, START, guess=GUESS, **OPTIONS)
    at = [np.abs(run.time - t).argmin() for t in RECORD]
    nodes = system("zx").equations("nodes").simulate(DURATION, START, guess=GUESS, **OPTIONS)
    angles, by_nodes = (np.array([r["qA"], r["qB"], r["qC"]]).T[at] for r in (run, nodes))
    return verified(
        {
            "published equilibrium (degrees)": (
                np.abs(np.degrees(q) - [75.52, 104.48, 104.48]).max(),
                0.01,
            ),
            "acceleration in equilibrium": (np.abs(equations.accelerations(q, u)).max(), 1e-12),
            "frequency of small swings": (abs(frequency(equations, q) - 1.7369382587071662), 1e-7),
            "qA, qB, qC of the record": (np.abs(angles - list(RECORD.values())).max(), 1e-8),
            "the same by nodes": (np.abs(by_nodes - list(RECORD.values())).max(), 1e-8),
            "energy drift, relative to the swing": (np.ptp(run.energy) / np.ptp(run.kinetic), 1e-9),
            "constraint violation": (run.violation.max(), 1e-10),
        }
    )


if __name__ == "__main__":
    present(system(), check)
