"""Skateboard: a board that leans steers through its tilted pivots; riding forwards it is stable
above a critical speed.

The classical machine of M. Hubbard (1979) and of A. Kremnev and A. Kuleshov (2007), with a rider
who stands still: each truck turns on a pivot in the middle plane of the board, tilted by λ against
its length, with a spring. Both wheels of a truck stay on the floor, so a board that rolls by γ
steers its axles by tan δ = ∓tan λ sin γ. All four wheels are discs that roll. Two wheels on one
axle would say twice that it does not move sideways; the right ones may float along their axles,
which they never do, and so no row is redundant. All numbers are ours, of a common size: rider and
board 75 kg, 0.8 m above the line between the axles and 5 cm in front of the middle, wheelbase 0.8
m, λ = 25°, springs of 80 N m/rad, trucks of 0.5 kg, wheels of 0.1 kg and 3 cm.

Neglecting the masses of trucks and wheels (a factor ε), the straight run at the speed v obeys, with
L the wheelbase, a and b the distances of the mass centre from the front and the rear axle, h its
height over their line, and s = tan λ_f + tan λ_r,

    (I + m h²) γ̈ + m h v (b tan λ_f − a tan λ_r)/L γ̇ + (2 k/cos² λ − m g h + m h v² s/L) γ = 0.

With the mass centre in front the second term damps a board that runs forwards, which is stable
above the speed at which the third vanishes, and drives one that runs backwards, which is stable at
none. The checks: both coefficients by ``linearize`` as ε goes to zero; the critical speed, to which
those masses do not matter; the radius of the turn, L/(tan δ_f − tan δ_r); no energy is lost
although the wobble dies out.
"""

import casadi as ca
import numpy as np
from scipy.optimize import brentq

import mechgraph as mg
from mechgraph.gallery import present, verified

MASS, HEIGHT, AHEAD, G = 75.0, 0.8, 0.05, 9.81
INERTIA = (15.0, 15.0, 1.5)
BASE, TRACK, R, TILT, STIFFNESS = 0.8, 0.1, 0.03, np.radians(25), 80.0
TRUCK, WHEEL = 0.5, 0.1
SPEED, LEAN = 4.0, 0.05
STRAIGHT = {"board.yaw": 0.0, "board.roll": 0.0, "board.roll'": 0.0}
START = {**STRAIGHT, "board.roll": LEAN, "board.x'": SPEED}
DURATION = 8.0
OPTIONS = {"rtol": 1e-11, "step": 0.02}
ENDS = {"front": 1, "rear": -1}
INDEPENDENT = [
    "board.roll",
    "board.roll'",
    "board.x'",
    *(f"board.{name}" for name in ("x", "y", "yaw")),
]
INDEPENDENT += [f"{end} {name}" for end in ENDS for name in ("left", "right.angle", "right.shift")]


def system() -> mg.System:
    """The board runs along x; its frame is in the middle of the line between the axles."""
    s = mg.System("skateboard", gravity=(0, 0, -G))
    small = s.parameter("epsilon", 1.0)
    board = s.body("board and rider", mass=MASS, com=(AHEAD, 0, HEIGHT), inertia=INERTIA)
    turns = [mg.rot("z", "yaw"), mg.rot("x", "roll"), mg.rot("y", "pitch")]
    s.joint(
        "board", s.ground, board, [*(mg.move(axis, axis) for axis in "xyz"), *turns], at=(0, 0, R)
    )
    for end, sign in ENDS.items():
        truck = s.body(
            f"{end} truck",
            mass=TRUCK * small,
            inertia=TRUCK * small * TRACK**2 / 3 * np.array([1, 0.1, 1]),
        )
        pivot = (np.cos(TILT), 0, sign * np.sin(TILT))
        s.revolute(
            f"{end} pivot",
            board,
            truck,
            axis=pivot,
            at=(sign * BASE / 2, 0, 0),
            stiffness=STIFFNESS,
        )
        for side, where in {"left": 1, "right": -1}.items():
            wheel = s.body(
                f"{end} {side} wheel",
                mass=WHEEL * small,
                inertia=WHEEL * small * R**2 * np.array([0.25, 0.5, 0.25]),
            )
            bearing = s.revolute if side == "left" else s.cylindrical
            bearing(f"{end} {side}", truck, wheel, axis="y", at=(0, where * TRACK, 0))
            rim = s.marker(f"{end} {side} rim", wheel, orientation=[("x", -np.pi / 2)])
            s.roll(f"{end} {side} floor", mg.Disc(rim, R), mg.Plane(s.ground))
    return s


# --- the straight run -----------------------------------------------------------------------------


def coefficients(equations: mg.Equations, speed: float, epsilon: float = 1.0) -> np.ndarray:
    """(−γ̈/γ, −γ̈/γ̇): stiffness and damping of the roll, from the linear model."""
    at = {**STRAIGHT, "board.x'": speed}
    return -equations.linearize(at, parameters={"epsilon": epsilon}, independent=INDEPENDENT).A[
        1, :2
    ]


def growth(equations: mg.Equations, speed: float) -> float:
    """The largest real part of the eigenvalues of the roll."""
    stiffness, damping = coefficients(equations, speed)
    return np.roots([1, damping, stiffness]).real.max()


def reduced(speed: float) -> np.ndarray:
    """The same with weightless trucks and wheels."""
    slope, inertia = np.tan(TILT), INERTIA[0] + MASS * HEIGHT**2
    stiffness = (
        2 * STIFFNESS / np.cos(TILT) ** 2
        - MASS * G * HEIGHT
        + MASS * HEIGHT * speed**2 * 2 * slope / BASE
    )
    return np.array([stiffness, MASS * HEIGHT * speed * 2 * AHEAD * slope / BASE]) / inertia


def steering(m: mg.Motion, end: str) -> ca.SX:
    """tan δ of an axle."""
    axle, ahead = m.axis(f"{end} truck", "y"), m.axis("board and rider", "x")
    return -mg.dot(axle, ahead) / mg.dot(axle, mg.cross(m.axis("ground", "z"), ahead))


def curvature(m: mg.Motion) -> ca.SX:
    """Of the path of the middle, as seen along the board: yaw rate over speed."""
    return m.angular_velocity("board and rider")[2] / mg.dot(
        m.velocity("board and rider"), m.axis("board and rider", "x")
    )


def geometry(run: mg.Trajectory) -> tuple[float, float]:
    """What tan δ = −tan λ sin γ (front) and the radius of the turn, L/(tan δ_f − tan δ_r), miss."""
    front, rear = (run.observe(lambda m, end=end: steering(m, end))[:, 0] for end in ENDS)
    expected = -np.tan(TILT) * np.sin(run["board.roll"])
    turn = run.observe(curvature)[:, 0] - (front - rear) / BASE
    return max(np.abs(front - expected).max(), np.abs(rear + expected).max()), np.abs(turn).max()


def check() -> dict[str, float]:
    """Coefficients of the straight run, critical speed, geometry of the turn, energy."""
    equations = system().equations()
    near = max(
        np.abs(coefficients(equations, v, 1e-3) / reduced(v) - 1).max() for v in (-4.0, 1.0, 4.0)
    )
    critical = brentq(lambda v: coefficients(equations, v)[0], 0.5, 5.0)
    expected = brentq(lambda v: reduced(v)[0], 0.5, 5.0)
    backwards = min(growth(equations, -v) for v in (0.5, critical, 4.0, 8.0))
    run = equations.simulate(DURATION, START, **OPTIONS)
    steered, turned = geometry(run)
    return verified(
        {
            "roll by the reduced model, ε = 0.001, relative": (near, 1e-6),
            "critical speed, relative": (abs(critical / expected - 1), 1e-9),
            "forwards, 0.9 of it: decay (grows)": (-growth(equations, 0.9 * critical), 0),
            "forwards, 1.1 of it: growth (decays)": (growth(equations, 1.1 * critical), 0),
            "backwards: decay (grows at every speed)": (-backwards, 0),
            "wobble left after 8 s": (np.abs(run["board.roll"][-100:]).max() / LEAN, 0.6),
            "tan δ = tan λ sin γ": (steered, 1e-12),
            "curvature of the turn": (turned, 1e-10),
            "energy drift, relative": (np.ptp(run.energy) / run.energy[0], 1e-10),
            "constraint violation": (run.violation.max(), 1e-9),
        }
    )


if __name__ == "__main__":
    present(system(), check)
