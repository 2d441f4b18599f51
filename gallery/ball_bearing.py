"""Ball bearing: inner ring, balls, cage and outer ring, with compliant contacts in grooves, or
rolling ideally.

Balls of diameter d = 2r run in two grooves of radius ρ (tori about z). The grooves hold a ball on
the circle of diameter D with a clearance c between the three. Pressed together along the axis they
meet at the contact angle α; and where nothing slips, the balls travel around, and take the cage
along, at the rate

    ½ ω (1 − (d/D) cos α),                                                                 (1)

ω being that of the inner ring (the outer one is at rest). A radial load F on the inner ring is
borne only by the balls on its side: with the approach δ of the rings, ψ from the direction of the
load, two contacts in series (Stribeck):

    N = K ((δ cos ψ − c) / 2)^(3/2) where that is positive, else 0;    Σ N cos ψ = F.      (2)

Contacts are Hertz's with damping and friction: sphere on torus (races), sphere in cylinder (pockets
of the cage, without friction). Data are chosen by us: six balls of steel, d = 20 mm, D = 80 mm, ρ =
0.52 d; K = 10⁹ N/m^1.5, about a tenth of steel's, and friction regularized by 0.05 m/s, so that a
run takes a second.

``system(load="axial")`` presses the rings together with 300 N; α is 30° when they just touch.
``load="radial"`` has a clearance of 5 µm instead, and 300 N across. With ``load="none"`` rings,
cage and balls are free in space: then the momentum of the whole is constant. ``rolling=True``
replaces all contacts by ideal rolling: then (1) is exact.
"""

from collections.abc import Callable

import casadi as ca
import numpy as np
from casadi import SX
from scipy.optimize import brentq

import mechgraph as mg
from mechgraph.gallery import present, verified

BALLS, R_BALL, R_PITCH, GROOVE = 6, 0.010, 0.040, 0.0104
STEEL, HERTZ, DAMPING, FORCE, ANGLE = 7850.0, 1e9, 1.0, 300.0, np.radians(30)
FRICTION = mg.Friction(0.1, regularization=0.05)
PLAY = 5e-4  # of a ball in its pocket
BALL_MASS = STEEL * 4 / 3 * np.pi * R_BALL**3
CLEARANCES = {
    "axial": 2 * (GROOVE - R_BALL) * (1 - np.cos(ANGLE)),
    "none": 2 * (GROOVE - R_BALL) * (1 - np.cos(ANGLE)),
    "radial": 5e-6,
}
SPEED = 20.0
OPTIONS = {"rtol": 1e-10, "step": 5e-4}
DURATION = 0.3


def system(load: str = "axial", balls: int = BALLS, rolling: bool = False) -> mg.System:
    """Rings about z; balls numbered from x on."""
    s, clearance = mg.System("ball bearing"), CLEARANCES[load]
    inner = s.body("inner ring", mass=1.0, inertia=(1e-3, 1e-3, 2e-3))
    outer = s.body("outer ring", mass=2.0, inertia=(5e-3, 5e-3, 1e-2))
    cage = s.body("cage", mass=0.05, inertia=(4e-5, 4e-5, 8e-5))
    if load == "none":
        for name, ring in (("inner", inner), ("outer", outer), ("cage turn", cage)):
            s.free(name, s.ground, ring)
    else:
        s.joint(
            "inner",
            s.ground,
            inner,
            [*(mg.move(axis, axis) for axis in "xyz"), mg.rot("z", "turn")],
        )
        s.fixed("outer", s.ground, outer)
        s.revolute("cage turn", s.ground, cage, axis="z")
    # of the circles of the grooves' centres from that of the balls
    offset = GROOVE - R_BALL - clearance / 2
    races = {
        "inner": mg.Torus(inner, R_PITCH + offset, GROOVE, inside=True),
        "outer": mg.Torus(outer, R_PITCH - offset, GROOVE, inside=True),
    }
    for ring, radius in ((inner, R_PITCH - 1.3 * R_BALL), (outer, R_PITCH + 1.3 * R_BALL)):
        _show_ring(s, ring, radius)
    for k in range(balls):
        _ball(s, k, 2 * np.pi * k / balls, races, rolling)
    if load != "none":
        s.force("load", inner, (0, 0, FORCE) if load == "axial" else (FORCE, 0, 0))
    return s


def _ball(s: mg.System, k: int, angle: float, races: dict[str, mg.Surface], rolling: bool) -> None:
    """One ball (coordinates along the radius, around, along the axis), its races and its pocket."""
    radial = np.array([np.cos(angle), np.sin(angle), 0])
    ball = s.body(f"sphere {k + 1}", mass=BALL_MASS, inertia=(0.4 * BALL_MASS * R_BALL**2,) * 3)
    s.free(f"ball {k + 1}", s.ground, ball, at=R_PITCH * radial, orientation=[("z", angle)])
    for name, race in races.items():
        if rolling:
            s.roll(f"{name} {k + 1}", mg.Sphere(ball, R_BALL), race)
        else:
            s.compliant_contact(
                f"{name} {k + 1}",
                mg.Sphere(ball, R_BALL),
                race,
                HERTZ,
                damping=DAMPING,
                friction=FRICTION,
            )
    pocket = s.marker(
        f"pocket {k + 1}", "cage", at=R_PITCH * radial, orientation=[("z", angle), ("y", np.pi / 2)]
    )
    if not rolling:
        wall = mg.Cylinder(pocket, R_BALL + PLAY, inside=True)
        s.compliant_contact(
            f"cage {k + 1}", mg.Sphere(ball, R_BALL), wall, HERTZ / 10, damping=100 * DAMPING
        )


def _show_ring(s: mg.System, ring: mg.Body, radius: float) -> None:
    """Markers around a ring, for the eye."""
    for k, angle in enumerate(np.linspace(0, 2 * np.pi, 24, endpoint=False), start=1):
        s.marker(f"{ring.name} {k}", ring, at=radius * np.array([np.cos(angle), np.sin(angle), 0]))


# --- statics --------------------------------------------------------------------------------------


def contact_angle() -> tuple[float, float]:
    """α under the axial load, and the overlap in each contact: the centres of the grooves are 2 (ρ
    − r + overlap) apart."""

    def overlap(alpha: float) -> float:
        return float((FORCE / (BALLS * np.sin(alpha) * HERTZ)) ** (2 / 3))

    apart = 2 * (GROOVE - R_BALL)
    alpha = brentq(
        lambda a: (apart + 2 * overlap(a)) * np.cos(a) - apart + CLEARANCES["axial"],
        0.1,
        1.5,
        xtol=1e-15,
    )
    return alpha, overlap(alpha)


def overlaps(shift: float) -> np.ndarray:
    """Of each ball in each of its contacts, for a shift of the inner ring along x: (2)."""
    psi = 2 * np.pi * np.arange(BALLS) / BALLS
    return np.maximum(0, shift * np.cos(psi) - CLEARANCES["radial"]) / 2


def stribeck() -> float:
    """The shift of the inner ring under the radial load."""
    psi = 2 * np.pi * np.arange(BALLS) / BALLS
    return brentq(lambda x: HERTZ * (overlaps(x) ** 1.5 @ np.cos(psi)) - FORCE, 0, 1e-3, xtol=1e-18)


def start(load: str) -> dict[str, float]:
    """Equilibrium under the load; rings, balls and cage at rest."""
    if load == "radial":
        shift = stribeck()
        return {"inner.x": shift, "cage turn": 1e-4} | {
            f"ball {k + 1}.x": CLEARANCES[load] / 2 + x for k, x in enumerate(overlaps(shift))
        }
    alpha, overlap = contact_angle()
    z = 2 * (GROOVE - R_BALL + overlap) * np.sin(alpha)
    return {"inner.z": z} | {f"ball {k + 1}.z": z / 2 for k in range(BALLS)}


START = {**start("axial"), "inner.turn'": SPEED}


# --- the check ------------------------------------------------------------------------------------


def cage_rate(angle: float, radius: float = R_BALL) -> float:
    """(1), over ω, for balls that roll on ``radius``."""
    return (1 - radius / R_PITCH * np.cos(angle)) / 2


def pressing(system: mg.System, race: str) -> Callable[[mg.Motion], SX]:
    """The elastic forces of a race on the balls, as a quantity of the motion."""
    pairs = [system.forces[f"{race} {k + 1}"].pairs[0] for k in range(BALLS)]
    return lambda m: ca.vertcat(
        *(HERTZ * ca.fmax(0, -pair.contact(m).gap) ** 1.5 for pair in pairs)
    )


def momentum(system: mg.System) -> Callable[[mg.Motion], SX]:
    """Linear momentum of the whole and its moment about the origin; the bodies' origins are their
    mass centres."""

    def total(m: mg.Motion) -> SX:
        out = SX.zeros(6)
        for body in system.bodies.values():
            p, R = body.mass * m.velocity(body), m.rotation(body)
            spin = R @ body.inertia @ R.T @ m.angular_velocity(body)
            out += ca.vertcat(p, ca.cross(m.position(body), p) + spin)
        return out

    return total


def around(run: mg.Trajectory) -> np.ndarray:
    """Angles of the balls about the axis, a column each."""
    places = [run[f"sphere {k + 1}"] for k in range(BALLS)]
    return np.unwrap([np.arctan2(place[:, 1], place[:, 0]) for place in places], axis=1).T


def axial() -> dict[str, tuple[float, float]]:
    """Balls at rest between turning rings are soon rolling and take the cage along; (error, bound)
    by name."""
    run = system().equations().simulate(DURATION, START, **OPTIONS)
    alpha, overlap = contact_angle()
    half = len(run) // 2
    turned = run["inner.turn"][-1] - run["inner.turn"][half]
    balls = (around(run)[-1] - around(run)[half]) / turned
    cage = (run["cage turn"][-1] - run["cage turn"][half]) / turned
    return {
        "axial: rate of the balls over (1), less 1": (
            np.abs(balls / cage_rate(alpha) - 1).max(),
            overlap / R_BALL,
        ),
        "axial: the same, flattened balls": (
            np.abs(balls / cage_rate(alpha, R_BALL - overlap / 2) - 1).max(),
            2e-4,
        ),
        "axial: rate of the cage over theirs, less 1": (
            abs(cage / balls.mean() - 1),
            2 * PLAY / R_PITCH / turned,
        ),
        "axial: energy balance, relative": (np.abs(run.imbalance).max() / run.energy[0], 1e-8),
        "axial: violation": (run.violation.max(), 1e-9),
    }


def radial() -> dict[str, tuple[float, float]]:
    """Balls share the load as Stribeck says, and those on the other side bear none, also when they
    turn."""
    bearing = system("radial")
    equations, seen = bearing.equations(), pressing(bearing, "inner")
    still = equations.simulate(0.02, start("radial"), **OPTIONS)
    run = equations.simulate(DURATION, {**start("radial"), "inner.turn'": SPEED}, **OPTIONS)
    shares, forces, angles = still.observe(seen)[-1], run.observe(seen), around(run)
    borne = (forces * np.cos(angles)).sum(axis=1)[len(run) // 2 :]
    return {
        "radial: shares of the load at rest, over it": (
            np.abs(shares - HERTZ * overlaps(stribeck()) ** 1.5).max() / FORCE,
            2e-3,
        ),
        "radial: borne by balls on the other side (N)": (forces[np.cos(angles) < 0].max(), 0.0),
        "radial: sum of what the others bear, over the load": (abs(borne.mean() / FORCE - 1), 5e-3),
        "radial: energy balance, relative": (np.abs(run.imbalance).max() / run.energy[0], 1e-8),
    }


def unmounted() -> dict[str, tuple[float, float]]:
    """All in space, pressed together and let go: momentum is kept whatever the contacts do."""
    bearing = system("none")
    run = bearing.equations().simulate(
        0.05, {**start("axial"), "inner.wz": SPEED, "inner.x'": 0.05}, **OPTIONS
    )
    total = run.observe(momentum(bearing))
    drift = np.abs(total - total[0]).max(axis=0)
    return {
        "in space: momentum (N s)": (drift[:3].max(), 1e-12),
        "in space: moment of momentum (N m s)": (drift[3:].max(), 1e-12),
        "in space: energy balance, relative": (np.abs(run.imbalance).max() / run.energy[0], 1e-8),
    }


def ideal() -> dict[str, tuple[float, float]]:
    """Three balls that roll without slipping: (1)."""
    z = 2 * (GROOVE - R_BALL) * np.sin(ANGLE)
    at_rest = {
        f"ball {k}.{axis}": value
        for k in (1, 2, 3)
        for axis, value in (("x", 0), ("y", 0), ("z", z / 2))
    }
    equations = system(balls=3, rolling=True).equations()
    run = equations.simulate(
        0.2, {**at_rest, "inner.x": 0, "inner.y": 0, "inner.z": z, "inner.turn'": SPEED}, rtol=1e-10
    )
    place = run["sphere 1"]
    turned = np.unwrap(np.arctan2(place[:, 1], place[:, 0]))[-1]
    return {
        "rolling: rate of the balls over (1), less 1": (
            abs(turned / run["inner.turn"][-1] / cage_rate(ANGLE) - 1),
            1e-9,
        ),
        "rolling: energy drift, relative": (np.abs(run.imbalance).max() / run.energy[0], 1e-9),
        "rolling: violation": (run.violation.max(), 1e-9),
    }


def check() -> dict[str, float]:
    """Axial load: rates; radial load: shares; in space: momentum; ideal rolling."""
    return verified({**axial(), **radial(), **unmounted(), **ideal()})


if __name__ == "__main__":
    present(system(), check)
