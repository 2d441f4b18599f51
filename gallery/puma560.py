"""PUMA 560: the six-joint arm, with two published sets of parameters.

- ``data="standard"``: standard Denavit–Hartenberg frames with the values in common use for this arm
  (P. Corke's Robotics Toolbox, after B. Armstrong, O. Khatib, J. Burdick, ICRA 1986, 510–518),
  motors left out. Link k's frame is at its far end: turn by q about z, shift d along z, shift a
  along x, turn α about x.
- ``data="akb"``: modified frames (α and a first, then q and d) with the values of Armstrong, Khatib
  and Burdick, as transcribed in the Toolbox.

Both leave link 1 without mass, and link 3 of the standard set has inertias that no body has; the
numbers are kept as published. Lengths in metres, angles in radians; the start is ours.

Checks: the Toolbox's gravity load at q = (0, π/4, π, 0, π/4, 0) for the standard set; for the
other, the constants g₁ … g₅ of the gravity torque in joint 2 as published (three digits), and the
mass matrix and inverse dynamics at one state, computed independently with Pinocchio (nine digits
and more).
"""

import numpy as np

import mechgraph as mg
from mechgraph.gallery import present, verified

RIGHT = np.pi / 2
START = {"q1": 0.0, "q2": 0.8, "q3": 2.6, "q4": 0.2, "q5": 0.6, "q6": 0.0}
DURATION = 3.0
OPTIONS = {"rtol": 1e-11}

LINKS = {  # α, a, d, mass, mass centre, principal central inertia
    "standard": [
        (RIGHT, 0, 0, 0.0, (0, 0, 0), (0, 0.35, 0)),
        (0, 0.4318, 0, 17.4, (-0.3638, 0.006, 0.2275), (0.13, 0.524, 0.539)),
        (-RIGHT, 0.0203, 0.15005, 4.8, (-0.0203, -0.0141, 0.07), (0.066, 0.086, 0.0125)),
        (RIGHT, 0, 0.4318, 0.82, (0, 0.019, 0), (1.8e-3, 1.3e-3, 1.8e-3)),
        (-RIGHT, 0, 0, 0.34, (0, 0, 0), (0.3e-3, 0.4e-3, 0.3e-3)),
        (0, 0, 0, 0.09, (0, 0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3)),
    ],
    "akb": [
        (0, 0, 0, 0.0, (0, 0, 0), (0, 0, 0.35)),
        (-RIGHT, 0, 0.2435, 17.4, (0.068, 0.006, -0.016), (0.13, 0.524, 0.539)),
        (0, 0.4318, -0.0934, 4.8, (0, -0.07, 0.014), (0.066, 0.0125, 0.066)),
        (RIGHT, -0.0203, 0.4331, 0.82, (0, 0, -0.019), (1.8e-3, 1.8e-3, 1.3e-3)),
        (-RIGHT, 0, 0, 0.34, (0, 0, 0), (0.3e-3, 0.3e-3, 0.4e-3)),
        (RIGHT, 0, 0, 0.09, (0, 0, 0.032), (0.15e-3, 0.15e-3, 0.04e-3)),
    ],
}

# A state (q, u, u̇) of the second set, the mass matrix there (its diagonal) and the torques
STATE = (
    [0.3, -0.5, 0.7, 0.2, -0.4, 0.6],
    [0.5, -0.8, 1.1, -0.4, 0.9, -1.3],
    [1.0, -2.0, 0.5, 3.0, -1.0, 2.0],
)
MASS_DIAGONAL = [2.910888884469, 2.527644289709, 0.316084608634, 0.001670656886, 0.00064216, 4e-05]
TORQUES = [
    3.68163666829803,
    -40.250404970550996,
    -2.7816115206011536,
    0.005347023182031711,
    0.0004184715150482396,
    0.00023742183885226698,
]


def system(data: str = "standard") -> mg.System:
    """The arm on the ground, z up; coordinates q1 … q6, inputs torque1 … torque6."""
    arm = mg.System(f"PUMA 560, {data}", gravity=(0, 0, -9.81))
    inner = arm.ground
    for k, (alpha, a, d, mass, com, inertia) in enumerate(LINKS[data], start=1):
        link = arm.body(f"link{k}", mass=mass, com=com, inertia=inertia, allow_unphysical=True)
        turn, screwed = [mg.rot("z", "q"), mg.move("z", d)], [mg.rot("x", alpha), mg.move("x", a)]
        arm.joint(
            f"q{k}", inner, link, [*turn, *screwed] if data == "standard" else [*screwed, *turn]
        )
        arm.torque(f"motor{k}", f"q{k}", arm.input(f"torque{k}"))
        inner = link
    return arm


def gravity_constants(q: np.ndarray) -> np.ndarray:
    """What g₁ … g₅ multiply in joint 2: c₂, s₂₃, s₂, c₂₃, s₂₃ c₅ + c₂₃ c₄ s₅."""
    (s2, s23), (c2, c23) = (f([q[1], q[1] + q[2]]) for f in (np.sin, np.cos))
    return np.array([c2, s23, s2, c23, s23 * np.cos(q[4]) + c23 * np.cos(q[3]) * np.sin(q[4])])


def check() -> dict[str, float]:
    """Gravity loads of both sets; mass matrix and inverse dynamics of the second."""
    still = np.zeros(6)
    load = (
        system("standard").equations().efforts([0, RIGHT / 2, np.pi, 0, RIGHT / 2, 0], still, still)
    )
    akb, random = system("akb").equations(), np.random.default_rng(5)
    poses = random.uniform(-3, 3, (40, 6))
    torque2 = akb.efforts(poses, np.zeros_like(poses), np.zeros_like(poses))[:, 1]
    constants = np.linalg.lstsq(
        np.array([gravity_constants(q) for q in poses]), torque2, rcond=None
    )[0]
    published = np.array([-37.2, -8.44, 1.02, 0.249, -0.0282])
    mass = akb.mass_matrix(STATE[0])
    return verified(
        {
            "standard: gravity load (N m, 4 digits)": (
                np.abs(load - [0, 31.6399, 6.0351, 0, 0.0283, 0]).max(),
                6e-5,
            ),
            "akb: published g₁ … g₅, relative": (np.abs(constants / published - 1).max(), 0.005),
            "akb: diagonal of the mass matrix": (
                np.abs(np.diag(mass) - MASS_DIAGONAL).max(),
                1e-11,
            ),
            "akb: inverse dynamics": (np.abs(akb.efforts(*STATE) - TORQUES).max(), 1e-12),
        }
    )


if __name__ == "__main__":
    present(system(), check)
