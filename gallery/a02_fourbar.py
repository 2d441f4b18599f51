"""A02, N four-bar mechanism: a row of parallelograms that passes through singular positions.

Problem A02 of the IFToMM library of computational benchmark problems (M. González, D. Dopico, U.
Lugrís, J. Cuadrado, Multibody System Dynamics 16 (2006) 179–190): 2N + 1 uniform links of 1 m and 1
kg, N + 1 of them hinged to ground at x = 0 … N, N joining their tops; released upright with the
tops moving at 1 m/s. Nothing is chosen by us. The revolutes are spatial, so each loop carries three
redundant rows; and whenever all links lie horizontal, N more rows are lost: there every loop could
change from parallelogram to antiparallelogram, and only inertia keeps it from doing so.

The check is the benchmark's own quantity, the motion of B0 (top of the first link), against the
closed reduction to the shared angle θ of the upright links, which holds as long as the loops stay
parallelograms:

    ((N + 1)/3 + N) θ̈ = −((N + 1)/2 + N) g cos θ.
"""

import numpy as np
from scipy.integrate import solve_ivp

import mechgraph as mg
from mechgraph.gallery import present, verified

G = 9.81
START = {"A0'": -1.0}
DURATION = 10.0
OPTIONS = {"rtol": 1e-11, "step": 0.025}


def system(N: int = 2) -> mg.System:
    """N parallelograms in the plane z = 0; every link lies along y of its own frame, gravity along
    −y."""
    row = mg.System(f"A02, N = {N}", gravity=(0, -G, 0))
    link = {"mass": 1.0, "inertia": (1 / 12, 0, 1 / 12)}
    ups = [row.body(f"up {k}", com=(0, 0.5, 0), **link) for k in range(N + 1)]
    for k, up in enumerate(ups):
        row.revolute(f"A{k}", row.ground, up, axis="z", at=(k, 0, 0))
    for k in range(1, N + 1):
        bar = row.body(f"bar {k}", mass=1.0, com=(0.5, 0, 0), inertia=(0, 1 / 12, 1 / 12))
        row.revolute(f"B{k - 1}", ups[k - 1], bar, axis="z", at=(0, 1, 0))
        row.revolute(f"C{k}", bar, ups[k], axis="z", at=(1, 0, 0), child_at=(0, 1, 0), cut=True)
    row.marker("top", ups[0], at=(0, 1, 0))
    return row


def reduced(N: int, times: np.ndarray) -> np.ndarray:
    """x, y, ẋ, ẏ of B0 at ``times``, from the one equation for θ."""
    stiffness = ((N + 1) / 2 + N) * G / ((N + 1) / 3 + N)
    out = solve_ivp(
        lambda t, y: [y[1], -stiffness * np.cos(y[0])],
        (0, times[-1]),
        [np.pi / 2, -1.0],
        "DOP853",
        times,
        rtol=1e-13,
        atol=1e-14,
    )
    theta, omega = out.y
    return np.array([np.cos(theta), np.sin(theta), -omega * np.sin(theta), omega * np.cos(theta)]).T


def tops(run: mg.Trajectory) -> np.ndarray:
    """x, y, ẋ, ẏ of B0 along a run."""
    return np.hstack([run["top"][:, :2], run.observe(lambda m: m.velocity("top"))[:, :2]])


def check() -> dict[str, float]:
    """B0 over 10 s for N = 1, 2, 3, and at t = 10 for N = 2 against the benchmark's record
    (re-computed by two codes)."""
    errors = {}
    for N in (1, 2, 3):
        run = system(N).equations().simulate(DURATION, START, **OPTIONS)
        off = np.abs(tops(run) - reduced(N, run.time))
        errors[f"N = {N}, B0 at all times"] = (off[:, :2].max(), 1e-7)
        errors[f"N = {N}, energy drift, relative"] = (
            np.ptp(run.energy) / np.ptp(run.kinetic),
            1e-8,
        )
        errors[f"N = {N}, constraint violation"] = (run.violation.max(), 1e-10)
        if N == 2:
            record = [
                0.32845811153282434,
                0.9445185381813799,
                1.423051470188771,
                -0.49486884546722765,
            ]
            errors["N = 2, B0 at t = 10, record"] = (np.abs(tops(run)[-1] - record).max(), 1e-7)
    return verified(errors)


if __name__ == "__main__":
    present(system(), check)
