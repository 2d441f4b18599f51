"""Rolling disc: a thin disc on a rough plane, against the classical equations, with its critical
speeds.

I. Kosenko, *How one can arrange the multibody system dynamics computer model*, compares such a disc
with the classical equations and gives no numbers. Ours: m = R = g = 1, a uniform disc, tilt 1.2
rad, ω = (0.3, 0.5, 1.1) in the disc's axes.

The classical equations, integrated on their own: with γ the upward vertical and r from the centre
to the point of contact, all in the disc's axes, r = −R (γ₁, γ₂, 0)/√(γ₁² + γ₂²) and the moment of
momentum about the point of contact

    M = I ω + m r × (ω × r),    Ṁ = M × ω + m ṙ × (ω × r) + m g r × γ,    γ̇ = γ × ω.

Further checks are closed forms of the literature (P. Appell, D. Korteweg; Ju. Neimark, N. Fufaev,
*Dynamics of Nonholonomic Systems*): a disc whose axis keeps the angle θ to the vertical and
precesses with Ω while it turns with ω₃ about its axis obeys

    (C + m R²) ω₃ Ω sin θ − A Ω² sin θ cos θ + m g R cos θ = 0;

it rolls straight ahead stably if ω² > A m g R/(C (C + m R²)), and spins upright on the spot stably
if Ω² > m g R/(A + m R²).
"""

import casadi as ca
import numpy as np
from scipy.optimize import brentq

import mechgraph as mg
from mechgraph.gallery import present, verified

MASS, R, G = 1.0, 1.0, 1.0
A, C = MASS * R**2 / 4, MASS * R**2 / 2
TILT, OMEGA = 1.2, np.array([0.3, 0.5, 1.1])
START = {
    **{f"centre.q{i}": q for i, q in enumerate((np.cos(TILT / 2), np.sin(TILT / 2), 0.0, 0.0))},
    **{f"centre.w{i}": w for i, w in zip("xyz", OMEGA, strict=True)},
}
DURATION = 30.0
OPTIONS = {"rtol": 1e-12, "step": 0.05}
LONG = 300.0
# their coefficients are constant; speeds: the last three
STEADY = [f"centre.{name}" for name in ("x", "y", "yaw", "tilt", "spin")]


def system(angles: bool = False) -> mg.System:
    """A disc about z of its body; with ``angles`` in yaw, tilt of the axis and spin, which are
    steady where the motion is."""
    s = mg.System("rolling disc", gravity=(0, 0, -G))
    disc = s.body("disc", mass=MASS, inertia=(A, A, C))
    if angles:
        turns = [mg.rot("z", "yaw"), mg.rot("x", "tilt"), mg.rot("z", "spin")]
        s.joint(
            "centre",
            s.ground,
            disc,
            [*(mg.move(axis, axis) for axis in "xyz"), *turns],
            at=(0, 0, R),
        )
    else:
        s.free("centre", s.ground, disc, at=(0, 0, R))
    s.roll("floor", mg.Disc(disc, R), mg.Plane(s.ground))
    return s


# --- the classical equations ----------------------------------------------------------------------


def contact(gamma: ca.SX) -> ca.SX:
    """r."""
    return -R * ca.vertcat(gamma[:2], 0) / mg.norm_2(gamma[:2])


def momentum() -> ca.Function:
    """(γ, ω) → M."""
    gamma, omega = ca.SX.sym("gamma", 3), ca.SX.sym("omega", 3)
    r = contact(gamma)
    M = ca.diag([A, A, C]) @ omega + MASS * mg.cross(r, mg.cross(omega, r))
    return ca.Function("momentum", [gamma, omega], [M])


def classical() -> ca.Function:
    """(M, γ) → their rates."""
    M, gamma = ca.SX.sym("M", 3), ca.SX.sym("gamma", 3)
    r = contact(gamma)
    about_contact = ca.diag([A, A, C]) + MASS * (R**2 * ca.SX.eye(3) - r @ r.T)
    omega = ca.solve(about_contact, M)
    turning = mg.cross(gamma, omega)
    r_dot = ca.jtimes(r, gamma, turning)
    rate = (
        mg.cross(M, omega)
        + MASS * mg.cross(r_dot, mg.cross(omega, r))
        + MASS * G * mg.cross(r, gamma)
    )
    return ca.Function("classical", [ca.vertcat(M, gamma)], [ca.vertcat(rate, turning)])


def classical_error() -> tuple[float, mg.Trajectory]:
    """Largest difference in M and γ over 300 units of time, and our run."""
    run = system().equations().simulate(LONG, START, **{**OPTIONS, "step": 0.5})
    gamma = run.observe(lambda m: m.axis("ground", "z", in_frame="disc"))
    ours = np.hstack([np.array(momentum()(gamma.T, run["centre'"][:, 3:].T)).T, gamma])
    problem = {"x": (y := ca.SX.sym("y", 6)), "ode": classical()(y)}
    options = {
        "linear_multistep_method": "adams",
        "reltol": 1e-14,
        "abstol": 1e-15,
        "max_num_steps": 10**6,
    }
    theirs = ca.integrator("classical", "cvodes", problem, 0, list(run.time[1:]), options)(
        x0=ours[0]
    )["xf"]
    return np.abs(np.array(theirs).T - ours[1:]).max(), run


# --- steady motions -------------------------------------------------------------------------------


def steady_circle(theta: float, precession: float) -> float:
    """The largest rate of change of the speeds in a steady circle, which is to be none."""
    turning = (A * precession**2 * np.sin(theta) * np.cos(theta) - MASS * G * R * np.cos(theta)) / (
        (C + MASS * R**2) * precession * np.sin(theta)
    )
    equations = system(angles=True).equations()
    start = {"centre.tilt": theta, "centre.yaw'": precession, "centre.tilt'": 0.0}
    start["centre.spin'"] = turning - precession * np.cos(theta)
    q, u = equations.assemble(start)
    angles = [equations.speeds.index(f"centre.{name}'") for name in ("yaw", "tilt", "spin")]
    return float(np.abs(equations.accelerations(q, u)[angles]).max())


def critical_speed(equations: mg.Equations, turning: str) -> float:
    """The speed of an upright disc at which the growth rate of its wobbling vanishes (as its square
    root)."""

    def wobbling(speed: float) -> float:
        """λ² of the pair that is real below the limit and imaginary above."""
        upright = {
            "centre.tilt": np.pi / 2,
            "centre.yaw'": 0.0,
            "centre.tilt'": 0.0,
            "centre.spin'": 0.0,
        }
        start = {**upright, f"centre.{turning}'": speed}
        model = equations.linearize(
            start, independent=[*STEADY, *(f"{name}'" for name in STEADY[2:])]
        )
        squares = model.eigenvalues() ** 2
        return float(squares[np.abs(squares).argmax()].real)

    return brentq(wobbling, 0.3, 1.5, xtol=1e-13)


def check() -> dict[str, float]:
    """Classical equations over 300 units, steady circles, and both critical speeds."""
    difference, run = classical_error()
    tilted = system(angles=True).equations()
    rolling, spinning = (
        np.sqrt(A * MASS * G * R / (C * (C + MASS * R**2))),
        np.sqrt(MASS * G * R / (A + MASS * R**2)),
    )
    return verified(
        {
            "M and γ after 300 units of time": (difference, 1e-8),
            "energy drift, relative": (np.ptp(run.energy) / run.energy[0], 1e-9),
            "constraint violation": (run.violation.max(), 1e-9),
            "steady circle: change of speeds": (
                max(steady_circle(1.0, 2.0), steady_circle(0.4, -3.0)),
                1e-12,
            ),
            "critical speed of straight rolling": (
                abs(critical_speed(tilted, "spin") - rolling),
                1e-9,
            ),
            "critical speed of spinning upright": (
                abs(critical_speed(tilted, "yaw") - spinning),
                1e-9,
            ),
        }
    )


if __name__ == "__main__":
    present(system(), check)
