"""Omni-vehicle: a platform on three wheels whose rollers let it go sideways.

The wheels stand at the angles β around the platform, at the distance L from its centre, and turn about the radius. A wheel grips
along its rim only, since sideways its rollers give way. So with the speeds v_x, v_y of the centre (in axes of the
platform) and the yaw rate Ω the wheels, of radius R, turn at

    R θ̇ = −sin β v_x + cos β v_y + L Ω,                                                                      (1)

three equations of full rank for three speeds: every motion can be driven, and with still wheels nothing moves.

``system()`` has the ideal wheels: one velocity row each (``OmniWheel``). ``system(rollers=6)`` has that many barrels on each wheel,
bodies that turn about tangents of the rim and touch the floor (compliantly, with friction) one after the other. Their arc, of
radius ρ < R, makes a wheel that is not quite round: while a roller at the angle χ from the lowest point bears the wheel, it rolls on

    ρ + (R − ρ) cos χ,        |χ| < π/n,                                                                     (2)

on average on ρ + (R − ρ) sin(π/n)/(π/n) if it is driven evenly. Height and speed ripple with the rollers' frequency nθ̇/2π, and go
to those of the ideal wheel as 1/n².
"""

import casadi as ca
import numpy as np
from casadi import SX

import mechgraph as mg
from mechgraph.gallery import present, verified

R, L, ROLLER, ARC, G = 0.05, 0.15, 0.012, 0.045, 9.81
BETA = np.radians([0, 120, 240])
PLATFORM, WHEEL, BARREL = 3.0, 0.3, 0.03  # kg
STIFFNESS, DAMPING, FRICTION = 1e7, 1.0, mg.Friction(0.6, regularization=0.01)
KINEMATICS = np.array([-np.sin(BETA), np.cos(BETA), L * np.ones(3)]).T / R  # from (v_x, v_y, Ω) to wheel rates: (1)
WHEEL_INERTIA = 4e-4
DRIVE = (0.3, 0.0, 0.0)
START = {"drive.x'": DRIVE[0]}
DURATION = 2.0
OPTIONS = {"rtol": 1e-8, "method": "rk8", "step": 0.005}


class OmniWheel(mg.Constraint):
    """A wheel in the plane across its x grips along its rim: t·(v + ω × (−R z)) = 0, t = z × x level along the rim."""

    def __init__(self, name: str, wheel: mg.Marker) -> None:
        self.name, self.wheel = name, wheel

    def places(self) -> list[mg.Marker]:
        return [self.wheel]

    def velocity(self, m: mg.Motion) -> list[tuple[str, SX]]:
        up = SX([0, 0, 1])
        lowest = m.velocity(self.wheel) - R * ca.cross(m.angular_velocity(self.wheel), up)
        return [("", ca.dot(ca.cross(up, m.axis(self.wheel, "x")), lowest))]


def system(rollers: int = 6, drive: tuple[float, float, float] | None = DRIVE) -> mg.System:
    """The vehicle; with ``drive`` (v_x, v_y, Ω) servos turn the wheels as (1) says, without it coasts."""
    s = mg.System("omni-vehicle", gravity=(0, 0, -G))
    platform = s.body("platform", mass=PLATFORM, inertia=(0.02, 0.02, 0.04))
    (s.free if rollers else s.planar)("drive", s.ground, platform, at=(0, 0, R))
    for k, beta in enumerate(BETA, start=1):
        wheel = s.body(f"wheel {k}", mass=WHEEL, inertia=(WHEEL_INERTIA, WHEEL_INERTIA / 2, WHEEL_INERTIA / 2))
        at = L * np.array([np.cos(beta), np.sin(beta), 0])
        s.revolute(f"turn {k}", platform, wheel, axis="-x", at=at, orientation=[("z", beta)])
        if not rollers:
            s.add(OmniWheel(f"grip {k}", s.marker(f"hub {k}", wheel)))
        for j in range(rollers):
            _roller(s, wheel, f"{k}.{j + 1}", 2 * np.pi * j / rollers)
        if drive is not None:
            s.servo(f"motor {k}", f"turn {k}", float(KINEMATICS[k - 1] @ drive) * s.time)
    return s


def _roller(s: mg.System, wheel: mg.Body, number: str, angle: float) -> None:
    """A barrel on the rim, at an angle from its lowest point, about the tangent."""
    roller = s.body(f"roller {number}", mass=BARREL, inertia=(3e-6, 3e-6, BARREL * ROLLER**2 / 2))
    at = (R - ROLLER) * np.array([0, np.sin(angle), -np.cos(angle)])
    s.revolute(f"spin {number}", wheel, roller, axis="z", at=at, orientation=[("x", angle - np.pi / 2)])
    surface, floor = mg.Roller(roller, ROLLER, ARC), mg.Plane(s.ground)
    s.compliant_contact(f"floor {number}", surface, floor, STIFFNESS, damping=DAMPING, friction=FRICTION)


# --- the check -------------------------------------------------------------------------------------------------------------


def ideal() -> dict[str, tuple[float, float]]:
    """Rates of the wheels for any motion of the platform; coasting; (error, bound) by name."""
    equations = system(rollers=0, drive=None).equations()
    speeds = [equations.speeds.index(name) for name in ("drive.x'", "drive.y'", "drive.angle'", "turn 1'", "turn 2'", "turn 3'")]
    rates, still = [], []
    for twist in np.random.default_rng(0).normal(size=(5, 3)):
        names = dict(zip(("drive.x'", "drive.y'", "drive.angle'"), twist, strict=True))
        rates.append(equations.assemble(names)[1][speeds[3:]] - KINEMATICS @ twist)
        A = equations.constraint_jacobian(np.array([*twist, 0, 0, 0]))[:, speeds[:3]]  # at some place, turned by some angle
        still.append(np.linalg.svd(A, compute_uv=False)[-1])
    run = equations.simulate(5.0, {"drive.x'": 0.3, "drive.angle'": 2.0}, rtol=1e-11, method="rk8")
    ratio = KINEMATICS @ body_speeds(run["drive.angle"], run["drive.x'"], run["drive.y'"], run["drive.angle'"])
    wheels = np.array([run[f"turn {k}'"] for k in (1, 2, 3)])
    heading = np.unwrap(np.arctan2(run["drive.y'"], run["drive.x'"]))
    return {
        "ideal: wheel rates for any motion (1/s)": (np.abs(rates).max(), 1e-10),
        "ideal: moving with still wheels (1 / least hold)": (1 / min(still), 10.0),
        "ideal: (1) while coasting (1/s)": (np.abs(wheels - ratio).max(), 1e-10),
        "ideal: turning of the course (rad)": (np.abs(heading - curving() * 2.0 * run.time).max(), 1e-8),
        "ideal: energy drift, relative": (np.ptp(run.energy) / run.kinetic[0], 1e-9),
        "ideal: violation": (run.violation.max(), 1e-9),
    }


def curving() -> float:
    """Rate at which the course of a coasting vehicle turns, over the yaw rate: wheels resist in axes that turn."""
    added = 1.5 * WHEEL_INERTIA / R**2
    return added / (PLATFORM + 3 * WHEEL + added)


def body_speeds(yaw: np.ndarray, x: np.ndarray, y: np.ndarray, rate: np.ndarray) -> np.ndarray:
    """(v_x, v_y, Ω) in axes of the platform, rows, from speeds in the world."""
    return np.array([np.cos(yaw) * x + np.sin(yaw) * y, np.cos(yaw) * y - np.sin(yaw) * x, rate])
