"""Omni-vehicle: a platform on three wheels whose rollers let it go sideways.

The wheels stand at the angles β around the platform, at the distance L from its centre, and turn
about the radius. A wheel grips along its rim only, since sideways its rollers give way. So with the
speeds v_x, v_y of the centre (in axes of the platform) and the yaw rate Ω the wheels, of radius R,
turn at

    R θ̇ = −sin β v_x + cos β v_y + L Ω,                                                   (1)

three equations of full rank for three speeds: every motion can be driven, and with still wheels
nothing moves. Coasting with a yaw rate, the vehicle leaves the straight line: its course turns at
κΩ, κ = a / (m + a), a = 3J/2R², because the inertia J of the wheels resists in axes that turn.

``system(rollers=0)`` has ideal wheels, one velocity row each: ``omni_wheel``; ``system(rollers=5)``
has five barrels on each wheel, bodies that turn about tangents of the rim and touch the floor,
compliantly and with friction, one after the other. Their arc, of radius ρ < R, makes a wheel that
is not quite round: borne by a roller at the angle χ from the lowest point, it rolls on

    ρ + (R − ρ) cos χ,        |χ| < π/n,                                                   (2)

and driven evenly on ρ + (R − ρ) sin(π/n)/(π/n) on average. Height and speed ripple with the
frequency nθ̇/2π at which the rollers follow each other, and tend to those of the ideal wheel as
1/n². Data are chosen by us; the floor is as soft as rubber.
"""

import casadi as ca
import numpy as np
from casadi import SX

import mechgraph as mg
from mechgraph.gallery import present, verified

R, L, ROLLER, ARC, G = 0.05, 0.15, 0.012, 0.045, 9.81
BETA = np.radians([0, 120, 240])
PLATFORM, WHEEL, BARREL = 3.0, 0.3, 0.03  # kg
STIFFNESS, DAMPING, FRICTION = 1e7, 0.3, mg.Friction(0.6, regularization=0.01)
# from (v_x, v_y, Ω) to wheel rates: (1)
KINEMATICS = np.array([-np.sin(BETA), np.cos(BETA), L * np.ones(3)]).T / R
WHEEL_INERTIA = 4e-4
DRIVE = {"v_x": 0.3, "v_y": 0.0, "Ω": 0.0}
START = {"drive.x'": DRIVE["v_x"]}
DURATION = 2.0
OPTIONS = {"rtol": 1e-11, "step": 0.005}


def system(rollers: int = 5, driven: bool = True) -> mg.System:
    """The vehicle; driven, servos turn the wheels as (1) says for the parameters v_x, v_y and Ω;
    else it coasts."""
    s = mg.System("omni-vehicle", gravity=(0, 0, -G))
    platform = s.body("platform", mass=PLATFORM, inertia=(0.02, 0.02, 0.04))
    (s.free if rollers else s.planar)("drive", s.ground, platform, at=(0, 0, R))
    speeds = [s.parameter(name, value) for name, value in DRIVE.items()] if driven else []
    for k, beta in enumerate(BETA, start=1):
        wheel = s.body(
            f"wheel {k}", mass=WHEEL, inertia=(WHEEL_INERTIA, WHEEL_INERTIA / 2, WHEEL_INERTIA / 2)
        )
        at = L * np.array([np.cos(beta), np.sin(beta), 0])
        s.revolute(f"turn {k}", platform, wheel, axis="-x", at=at, orientation=[("z", beta)])
        if not rollers:
            s.omni_wheel(f"grip {k}", wheel, R, axis="x")
        for j in range(rollers):
            _roller(s, wheel, f"{k}.{j + 1}", 2 * np.pi * j / rollers)
        if driven:
            s.servo(
                f"motor {k}",
                f"turn {k}",
                ca.dot(SX(KINEMATICS[k - 1]), ca.vertcat(*speeds)) * s.time,
            )
    return s


def _roller(s: mg.System, wheel: mg.Body, number: str, angle: float) -> None:
    """A barrel on the rim, at an angle from its lowest point, about the tangent."""
    roller = s.body(f"roller {number}", mass=BARREL, inertia=(3e-6, 3e-6, BARREL * ROLLER**2 / 2))
    at = (R - ROLLER) * np.array([0, np.sin(angle), -np.cos(angle)])
    s.revolute(
        f"spin {number}", wheel, roller, axis="z", at=at, orientation=[("x", angle - np.pi / 2)]
    )
    surface, floor = mg.Roller(roller, ROLLER, ARC), mg.Plane(s.ground)
    s.compliant_contact(
        f"floor {number}", surface, floor, STIFFNESS, damping=DAMPING, friction=FRICTION
    )


# --- the check ------------------------------------------------------------------------------------


def ideal() -> dict[str, tuple[float, float]]:
    """Rates of the wheels for any motion of the platform; coasting; (error, bound) by name."""
    equations = system(rollers=0, driven=False).equations()
    speeds = [
        equations.speeds.index(name)
        for name in ("drive.x'", "drive.y'", "drive.angle'", "turn 1'", "turn 2'", "turn 3'")
    ]
    rates, still = [], []
    for twist in np.random.default_rng(0).normal(size=(5, 3)):
        names = dict(zip(("drive.x'", "drive.y'", "drive.angle'"), twist, strict=True))
        rates.append(equations.assemble(names)[1][speeds[3:]] - KINEMATICS @ twist)
        # at some place, turned by some angle
        A = equations.constraint_jacobian(np.array([*twist, 0, 0, 0]))[:, speeds[:3]]
        still.append(3 - np.linalg.matrix_rank(A))
    run = equations.simulate(5.0, {"drive.x'": 0.3, "drive.angle'": 2.0}, rtol=1e-11)
    ratio = KINEMATICS @ body_speeds(
        run["drive.angle"], run["drive.x'"], run["drive.y'"], run["drive.angle'"]
    )
    wheels = np.array([run[f"turn {k}'"] for k in (1, 2, 3)])
    heading = np.unwrap(np.arctan2(run["drive.y'"], run["drive.x'"]))
    return {
        "ideal: wheel rates for any motion (1/s)": (np.abs(rates).max(), 1e-10),
        "ideal: freedoms left by still wheels": (max(still), 0),
        "ideal: (1) while coasting (1/s)": (np.abs(wheels - ratio).max(), 1e-10),
        "ideal: turning of the course (rad)": (
            np.abs(heading - curving() * 2.0 * run.time).max(),
            1e-8,
        ),
        "ideal: energy drift, relative": (np.ptp(run.energy) / run.kinetic[0], 1e-9),
        "ideal: violation": (run.violation.max(), 1e-9),
    }


def curving() -> float:
    """Rate at which the course of a coasting vehicle turns, over the yaw rate: wheels resist in
    axes that turn."""
    added = 1.5 * WHEEL_INERTIA / R**2
    return added / (PLATFORM + 3 * WHEEL + added)


def body_speeds(yaw: np.ndarray, x: np.ndarray, y: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """(v_x, v_y, Ω) in axes of the platform, rows, from speeds in the world."""
    return np.array([np.cos(yaw) * x + np.sin(yaw) * y, np.cos(yaw) * y - np.sin(yaw) * x, rate])


def rolling_radius(rollers: int, turned: np.ndarray | None = None) -> np.ndarray:
    """(2), over R, for wheels turned by an angle (without it, on average), less half of what they
    yield."""
    pitch, arc = 2 * np.pi / rollers, ARC - sink(rollers) / 2
    if turned is None:
        return (arc + (R - ARC) * np.sin(pitch / 2) / (pitch / 2)) / R
    return (arc + (R - ARC) * np.cos((turned + pitch / 2) % pitch - pitch / 2)) / R


def sink(rollers: int) -> float:
    """By how much the rollers yield at rest, one under each wheel."""
    weight = (PLATFORM + 3 * (WHEEL + rollers * BARREL)) * G
    return (weight / 3 / STIFFNESS) ** (2 / 3)


def turning(rollers: int) -> dict[str, tuple[float, float]]:
    """On the spot all wheels do the same: the yaw rate is (2), over six periods of the rollers
    without the first."""
    rate, count = 2.0, 200
    period = 2 * np.pi / rollers / (L * rate / R)
    options = {**OPTIONS, "step": period / count, "parameters": {"v_x": 0, "v_y": 0, "Ω": rate}}
    run = (
        system(rollers)
        .equations()
        .simulate(6 * period, {"drive.wz": rate, "drive.z": -sink(rollers)}, **options)
    )
    found, expected = (
        run["drive.wz"][count:-1] / rate,
        rolling_radius(rollers, run["turn 1"][count:-1]),
    )
    harmonic = np.abs(np.fft.rfft(found - found.mean())).argmax()
    return {
        f"{rollers} rollers: mean yaw rate, relative": (
            abs(found.mean() - rolling_radius(rollers)),
            5e-5,
        ),
        f"{rollers} rollers: rms of its ripple beside (2), over it": (
            np.std(found - expected) / np.ptp(expected),
            0.05,
        ),
        f"{rollers} rollers: ripple for each roller, less 1": (abs(harmonic / 5 - 1), 0.0),
        f"{rollers} rollers: energy balance, relative": (
            np.abs(run.imbalance).max() / run.kinetic[0],
            1e-8,
        ),
        f"{rollers} rollers: violation": (run.violation.max(), 1e-9),
    }


def roaming(rollers: int = 5) -> dict[str, tuple[float, float]]:
    """All at once, with the platform pitching over the rollers of the wheels: mean speeds over two
    seconds."""
    drive = {"v_x": 0.2, "v_y": 0.1, "Ω": 1.0}
    start = {"drive.x'": 0.2, "drive.y'": 0.1, "drive.wz": 1.0, "drive.z": -sink(rollers)}
    run = system(rollers).equations().simulate(DURATION, start, parameters=drive, **OPTIONS)
    yaw = np.unwrap(2 * np.arctan2(run["drive.q3"], run["drive.q0"]))
    mean = body_speeds(yaw, run["drive.x'"], run["drive.y'"], run["drive.wz"]).mean(axis=1)
    wanted = rolling_radius(rollers) * np.array([*drive.values()])
    return {
        "roaming: mean speeds (m/s, rad/s)": (np.abs(mean - wanted).max(), 2e-3),
        "roaming: energy balance, relative": (np.abs(run.imbalance).max() / run.kinetic[0], 1e-8),
        "roaming: violation": (run.violation.max(), 1e-9),
    }


def check() -> dict[str, float]:
    """Ideal wheels; five and eight rollers on the spot; five on a curve."""
    return verified({**ideal(), **turning(5), **turning(8), **roaming()})


if __name__ == "__main__":
    present(system(), check)
