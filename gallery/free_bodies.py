"""Free tumbling bodies: a symmetric one that precesses and an asymmetric one that flips.

No gravity, no contact. The spindle is Drake's benchmark *free_body* (inertias 0.04, 0.04, 0.02 kg
m²) with ω = (2, 4, 6) rad/s; the top has inertias 1, 2, 3 kg m² and ω = (1, 0, 0.6) rad/s, near the
separatrix. Masses and places are ours; so is the drift of the top, to see that it does not matter.

Both have closed forms. Spindle (T. Kane, P. Likins, D. Levinson, *Spacecraft Dynamics*, 1983): ω
turns about the body's z at the rate s = (I − J)/I ω_z, and the body turns about its moment of
momentum h at |h|/I while it spins back at s: q = q(h, |h| t/I) q(z, s t). Top (L. Landau, E.
Lifshitz, *Mechanics*, §37): with E the energy, M the momentum and M² > 2 E I₂,

    ω₁ = √((2E I₃ − M²)/(I₁ (I₃ − I₁))) cn τ,    ω₂ = √((2E I₃ − M²)/(I₂ (I₃ − I₂))) sn τ,
    ω₃ = √((M² − 2E I₁)/(I₃ (I₃ − I₁))) dn τ,
    τ = t √((I₃ − I₂)(M² − 2E I₁)/(I₁ I₂ I₃)),
    k² = (I₂ − I₁)(2E I₃ − M²)/((I₃ − I₂)(M² − 2E I₁)).
"""

import numpy as np
from scipy.special import ellipj

import mechgraph as mg
from mechgraph.gallery import present, verified

ACROSS, ALONG, SPIN = 0.04, 0.02, np.array([2.0, 4.0, 6.0])
TOP, TUMBLE = np.array([1.0, 2.0, 3.0]), np.array([1.0, 0.0, 0.6])
DRIFT = np.array([0.1, -0.05, 0.02])
START = {
    **{f"precessing.w{i}": w for i, w in zip("xyz", SPIN, strict=True)},
    **{f"tumbling.w{i}": w for i, w in zip("xyz", TUMBLE, strict=True)},
    **{f"tumbling.{i}'": v for i, v in zip("xyz", DRIFT, strict=True)},
}
DURATION = 20.0
OPTIONS = {"rtol": 1e-13, "step": 0.05}


def system() -> mg.System:
    """Two bodies on free joints."""
    space = mg.System("free bodies")
    spindle = space.body("spindle", mass=1.0, inertia=(ACROSS, ACROSS, ALONG))
    top = space.body("top", mass=10.0, inertia=TOP)
    space.free("precessing", space.ground, spindle)
    space.free("tumbling", space.ground, top, at=(2, 0, 0))
    return space


def spindle_exact(t: float) -> tuple[np.ndarray, np.ndarray]:
    """Quaternion and ω of the spindle (body components)."""
    h, s = np.array([ACROSS, ACROSS, ALONG]) * SPIN, (ACROSS - ALONG) / ACROSS * SPIN[2]
    c, d = np.cos(s * t), np.sin(s * t)
    omega = np.array([SPIN[0] * c + SPIN[1] * d, -SPIN[0] * d + SPIN[1] * c, SPIN[2]])
    size = np.linalg.norm(h)
    precession = quaternion(h / size, size / ACROSS * t)
    return product(precession, quaternion(np.array([0, 0, 1.0]), s * t)), omega


def quaternion(axis: np.ndarray, angle: float) -> np.ndarray:
    """Of a turn about a unit vector, scalar first."""
    return np.concatenate([[np.cos(angle / 2)], np.sin(angle / 2) * axis])


def product(p: np.ndarray, q: np.ndarray) -> np.ndarray:
    """p q: q first."""
    return np.concatenate(
        [[p[0] * q[0] - p[1:] @ q[1:]], p[0] * q[1:] + q[0] * p[1:] + np.cross(p[1:], q[1:])]
    )


def top_exact(t: np.ndarray) -> np.ndarray:
    """ω of the top at the times t (body components)."""
    i1, i2, i3 = TOP
    energy2, momentum2 = TOP @ TUMBLE**2, TOP**2 @ TUMBLE**2
    high, low = energy2 * i3 - momentum2, momentum2 - energy2 * i1
    tau = t * np.sqrt((i3 - i2) * low / (i1 * i2 * i3))
    sn, cn, dn, _ = ellipj(tau, (i2 - i1) * high / ((i3 - i2) * low))
    sizes = np.sqrt([high / (i1 * (i3 - i1)), high / (i2 * (i3 - i2)), low / (i3 * (i3 - i1))])
    return np.array([cn, sn, dn]).T * sizes


def check() -> dict[str, float]:
    """Both closed forms at all times of 20 s, and the straight path of the top."""
    run = system().equations().simulate(DURATION, START, **OPTIONS)
    exact = [spindle_exact(t) for t in run.time]
    turned = np.array([q for q, _ in exact])
    found = np.array([run[f"precessing.q{i}"] for i in range(4)]).T
    found *= np.sign((found * turned).sum(axis=1))[:, None]  # q and −q are one orientation
    spindle = np.array([run[f"precessing.w{i}"] for i in "xyz"]).T
    top = np.array([run[f"tumbling.w{i}"] for i in "xyz"]).T
    return verified(
        {
            "spindle: quaternion": (np.abs(found - turned).max(), 1e-9),
            "spindle: ω": (np.abs(spindle - [omega for _, omega in exact]).max(), 1e-9),
            "top: ω": (np.abs(top - top_exact(run.time)).max(), 1e-9),
            "top: path": (
                np.abs(run["top"] - (np.array([2, 0, 0]) + np.outer(run.time, DRIFT))).max(),
                1e-11,
            ),
            "energy drift, relative": (np.ptp(run.energy) / run.energy[0], 1e-11),
        }
    )


if __name__ == "__main__":
    present(system(), check)
