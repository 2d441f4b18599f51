"""Involute gears: a spur pair of 20 and 35 teeth, with tooth change, backlash, and compliant or
rigid teeth.

The base radii are r = (m z / 2) cos α₀ for the module m and the pressure angle α₀ of the cutter. At
the centre distance a the flanks touch on a common tangent of the base circles, inclined by α, cos α
= (r₁ + r₂)/a, and along it they are

    gap = ½ j ∓ (r₁ φ₁ + r₂ φ₂)        (− for the driving flanks, + for the coasting ones)

apart. So the ratio is −r₁/r₂ = −z₁/z₂ at any centre distance, and j = 2 (r₁ + r₂)(inv α − inv α₀),
inv x = tan x − x, is the backlash of teeth that are as thick as their gaps on the pitch circles.
Pairs of teeth follow each other at the base pitch p = 2πr/z; a pair touches at s = ±r₁ φ₁ + r₁
(π/2z₁ + inv α₀ + α) from the tangent point of the pinion, as long as that is inside of both tip
circles.

Compliant teeth (``InvoluteTeeth``, a force) press each other with k δ (1 + d δ̇) where they overlap
by δ = −gap. Beyond the tips the gap is wider by x²/2ρ, x being the distance from the last regular
point: so the load passes smoothly from tooth to tooth, and the energy is kept. By virtual work the
lever arms of the force are −∂gap/∂φ, and so its line is the common tangent of the circles with
these radii, which regularly are the base circles. Rigid teeth (``Mesh``, a constraint) are one row:
at the pitch point both gears move alike along the base tangent.

Data are chosen by us: m = 2 mm, α₀ = 20°, tips one module beyond the pitch circles, discs of steel
10 mm thick, 1.4·10⁸ N/m for each pair of teeth (about what steel teeth of this width have).
"""

from collections.abc import Iterator

import casadi as ca
import numpy as np
from casadi import SX
from scipy.optimize import fsolve

import mechgraph as mg
from mechgraph.gallery import present, verified

TEETH, MODULE, CUTTER = np.array([20, 35]), 2e-3, np.radians(20)
PITCH_RADII = MODULE * TEETH / 2
BASE_RADII, TIP_RADII = PITCH_RADII * np.cos(CUTTER), PITCH_RADII + MODULE
PITCH = np.pi * MODULE * np.cos(CUTTER)  # of the base circles
STIFFNESS, DAMPING, CORNER = 1.4e8, 1.0, 5e-3  # N/m, s/m, m
MASSES = 7850 * 0.01 * np.pi * PITCH_RADII**2
INERTIAS = MASSES * PITCH_RADII**2 / 2
TORQUE, SPEED = 10.0, 10.0
BRAKE = TORQUE * TEETH[1] / TEETH[0]
FORCE = TORQUE / BASE_RADII[0]  # of the teeth, at constant speed
START = {"pinion'": SPEED, "wheel'": -SPEED * TEETH[0] / TEETH[1]}
DURATION = 1.0
OPTIONS = {"rtol": 1e-12, "step": 1e-4}


def involute(x: float) -> float:
    """inv x."""
    return float(np.tan(x) - x)


class Pair:
    """The geometry of the pair at a centre distance, in multiples of that at which there is no
    backlash."""

    def __init__(self, apart: float = 1.0) -> None:
        self.distance = apart * PITCH_RADII.sum()
        self.alpha = float(np.arccos(BASE_RADII.sum() / self.distance))
        self.backlash = 2 * BASE_RADII.sum() * (involute(self.alpha) - involute(CUTTER))
        self.start = BASE_RADII[0] * (np.pi / 2 / TEETH[0] + involute(CUTTER) + self.alpha)
        reach = np.sqrt(TIP_RADII**2 - BASE_RADII**2)
        self.first, self.last = self.distance * np.sin(self.alpha) - reach[1], reach[0]
        self.contact_ratio = (self.last - self.first) / PITCH


class Gears:
    """Two gears that mesh: the markers of their axles (along z) and the names of their joints."""

    def __init__(
        self,
        name: str,
        axles: list[mg.Marker],
        joints: list[str],
        pair: Pair,
        damping: float = DAMPING,
    ) -> None:
        self.name, self.axles, self.pair, self._joints = name, axles, pair, joints
        self.damping = damping

    def places(self) -> list[mg.Marker]:
        return self.axles

    def across(self, m: mg.Motion, side: int, cosine: SX | float) -> SX:
        """The direction in which the pinion pushes the wheel, for the cosine of its inclination:
        side 1 drives, −1 coasts."""
        along = (m.position(self.axles[1]) - m.position(self.axles[0])) / self.pair.distance
        # beside pairs of teeth that are far from touching there is no such line
        sine = ca.sqrt(ca.fmax(0, 1 - cosine**2))
        return sine * along + side * cosine * ca.cross(m.axis(self.axles[0], "z"), along)


class Mesh(Gears, mg.Constraint):
    """Rigid teeth without backlash: n·(v₁ − v₂) = 0 at the pitch point, n along the base
    tangent."""

    def velocity(self, m: mg.Motion) -> list[tuple[str, SX]]:
        (a, b), (r1, r2) = (m.position(axle) for axle in self.axles), BASE_RADII
        point = (r2 * a + r1 * b) / (r1 + r2)
        v1, v2 = (
            m.velocity(x) + ca.cross(m.angular_velocity(x), point - m.position(x))
            for x in self.axles
        )
        return [("", ca.dot(self.across(m, 1, np.cos(self.pair.alpha)), v1 - v2))]


class InvoluteTeeth(Gears, mg.Force):
    """Compliant teeth with backlash: every pair of teeth that may touch, on both sides."""

    passive = True

    def joints(self) -> list[str]:
        return self._joints

    def flanks(self, m: mg.Motion) -> Iterator[tuple[int, SX, SX]]:
        """Of every pair of flanks: side, gap, and the lever arms −∂gap/∂φ."""
        phi, pair = ca.vertcat(*(m.coordinate(joint) for joint in self._joints)), self.pair
        lead = _within(ca.dot(SX(BASE_RADII), phi), -PITCH / 2)
        for side in (1, -1):
            enters = _within(pair.start + side * BASE_RADII[0] * phi[0], pair.first)
            for k in range(-1, int(np.ceil(pair.contact_ratio)) + 1):
                s = enters + k * PITCH
                beyond = ca.fmax(0, s - pair.last) - ca.fmax(0, pair.first - s)
                gap = pair.backlash / 2 - side * lead + beyond**2 / (2 * CORNER)
                yield (
                    side,
                    gap,
                    side * ca.vertcat(BASE_RADII[0] * (1 - beyond / CORNER), BASE_RADII[1]),
                )

    def potential(self, m: mg.Motion) -> SX:
        return sum((STIFFNESS / 2 * ca.fmax(0, -gap) ** 2 for _, gap, _ in self.flanks(m)), SX(0))

    def conservative(self, m: mg.Motion) -> list[mg.Wrench]:
        return [
            w
            for side, gap, arms in self.flanks(m)
            for w in self._pressed(m, side, arms, STIFFNESS * ca.fmax(0, -gap))
        ]

    def nonconservative(self, m: mg.Motion) -> list[mg.Wrench]:
        rates = ca.vertcat(*(m.speed(joint) for joint in self._joints))
        wrenches = []
        for side, gap, arms in self.flanks(m):
            damped = ca.fmax(-1, self.damping * ca.dot(arms, rates))  # teeth do not pull
            wrenches += self._pressed(m, side, arms, STIFFNESS * ca.fmax(0, -gap) * damped)
        return wrenches

    def _pressed(self, m: mg.Motion, side: int, arms: SX, size: SX) -> list[mg.Wrench]:
        """A force on the wheel with these lever arms, and its reaction on the pinion."""
        force = size * self.across(m, side, side * ca.sum1(arms) / self.pair.distance)
        axis = m.axis(self.axles[0], "z")
        return [
            mg.Wrench(axle, sign * force, -size * arms[k] * axis)
            for k, (axle, sign) in enumerate(zip(self.axles, (-1, 1), strict=True))
        ]


def _within(x: SX, least: float) -> SX:
    """x by whole pitches, from ``least`` on."""
    return x - PITCH * ca.floor((x - least) / PITCH)


def system(
    teeth: str = "compliant",
    apart: float = 1.0,
    drive: float = TORQUE,
    brake: float = BRAKE,
    damping: float = DAMPING,
) -> mg.System:
    """Pinion (ground's origin) and wheel (on x), driven and braked; the torques balance each other
    if not told otherwise."""
    s, pair = mg.System("involute gears"), Pair(apart)
    axles = []
    for name, mass, inertia, x in zip(
        ("pinion", "wheel"), MASSES, INERTIAS, (0, pair.distance), strict=True
    ):
        disc = s.body(f"{name} disc", mass=mass, inertia=(inertia / 2, inertia / 2, inertia))
        s.revolute(name, s.ground, disc, axis="z", at=(x, 0, 0))
        axles.append(s.marker(f"{name} axle", disc))
        _show_teeth(s, disc, len(axles) - 1)
    kind = Mesh if teeth == "rigid" else InvoluteTeeth
    s.add(kind("mesh", axles, ["pinion", "wheel"], pair, damping))
    s.torque("drive", "pinion", drive)
    s.torque("brake", "wheel", brake)
    return s


def _show_teeth(s: mg.System, disc: mg.Body, gear: int) -> None:
    """A marker for each tooth on the pitch circle, for the eye."""
    for k in range(TEETH[gear]):
        angle = (2 * k + gear) * np.pi / TEETH[
            gear
        ] + gear * np.pi  # the wheel has a gap towards the pinion
        s.marker(
            f"{disc.name} {k + 1}",
            disc,
            at=PITCH_RADII[gear] * np.array([np.cos(angle), np.sin(angle), 0]),
        )


# --- the flanks themselves: independent of the formulas above -------------------------------------


def flank(gear: int, side: int, turn: float, t: float) -> tuple[np.ndarray, np.ndarray]:
    """Point and normal of an involute at the unwound angle t: the pinion's tooth on +x, the wheel's
    beside its gap on −x."""
    thick = np.pi / 2 / TEETH[gear] + involute(CUTTER)
    theta = turn + gear * (np.pi - side * np.pi / TEETH[1]) + side * (thick - t)
    radial, across = (
        np.array([np.cos(theta), np.sin(theta)]),
        side * np.array([-np.sin(theta), np.cos(theta)]),
    )
    return BASE_RADII[gear] * (radial + t * across), across


def touch(pair: Pair, side: int, turn: float) -> tuple[float, np.ndarray]:
    """The angle φ₂ at which the flanks touch, and the point where they do: equal points, opposite
    normals."""

    def apart(x: np.ndarray) -> np.ndarray:
        (p1, n1), (p2, n2) = flank(0, side, turn, x[0]), flank(1, side, x[2], x[1])
        return np.array([*(p1 - p2 - [pair.distance, 0]) / MODULE, n1[0] * n2[1] - n1[1] * n2[0]])

    guess = [
        np.tan(pair.alpha) + side * turn,
        np.tan(pair.alpha) - side * turn * TEETH[0] / TEETH[1],
        -turn * TEETH[0] / TEETH[1],
    ]
    x = fsolve(apart, guess, xtol=1e-13)
    return x[2], flank(0, side, turn, x[0])[0]


def geometry(apart: float) -> np.ndarray:
    """Errors at a centre distance: ratio, distance of the contact from the base tangent (m),
    backlash (m)."""
    pair, turns = Pair(apart), np.linspace(-0.15, 0.15, 13)
    drive, coast = ([touch(pair, side, turn) for turn in turns] for side in (1, -1))
    angles = np.array([[phi for phi, _ in found] for found in (drive, coast)])
    ratio = np.diff(angles) / np.diff(turns) + TEETH[0] / TEETH[1]
    # of the base tangent, which passes the pinion at r₁
    normal = np.array([np.cos(pair.alpha), -np.sin(pair.alpha)])
    off = np.array([point for _, point in drive]) @ normal - BASE_RADII[0]
    free = BASE_RADII[1] * (angles[0] - angles[1]) - pair.backlash
    return np.array([np.abs(ratio).max(), np.abs(off).max(), np.abs(free).max()])


# --- the check ------------------------------------------------------------------------------------


def lead(run: mg.Trajectory) -> np.ndarray:
    """r₁ φ₁ + r₂ φ₂: by how much the pinion is ahead, along the line of action."""
    return BASE_RADII[0] * run["pinion"] + BASE_RADII[1] * run["wheel"]


def rigid(apart: float) -> np.ndarray:
    """Errors with rigid teeth: ratio of the angles, speed (the torques balance), force in the
    bearing; violation."""
    equations, pair = system("rigid", apart).equations(), Pair(apart)
    run = equations.simulate(DURATION, {"pinion'": SPEED}, **OPTIONS)
    ratio = run["wheel"] + run["pinion"] * TEETH[0] / TEETH[1]
    even = np.abs(run["pinion'"] / SPEED - 1).max()
    line = FORCE * np.array([np.sin(pair.alpha), np.cos(pair.alpha), 0])
    force = np.abs(run.reaction("pinion")[:, :3] - line).max() / FORCE
    return np.array([np.abs(ratio).max(), even, force, run.violation.max()])


def ahead(m: mg.Motion) -> SX:
    """The same as a quantity of the motion."""
    return ca.dot(SX(BASE_RADII), ca.vertcat(m.coordinate("pinion"), m.coordinate("wheel")))


def rattle(apart: float) -> tuple[float, mg.Trajectory]:
    """A pinion free between the flanks, without damping: error of the way between leaving one and
    meeting the other (m)."""
    half, speed = Pair(apart).backlash / 2, 2.0
    meets = {
        name: mg.Event(lambda m, at=at: ahead(m) - at, stop=False)
        for name, at in (("drives", half), ("coasts", -half))
    }
    equations = system(apart=apart, drive=0, brake=0, damping=0).equations()
    run = equations.simulate(0.1, {"pinion'": speed}, events=meets, **OPTIONS)
    leaves, meets_again = run.events["drives"][1], run.events["coasts"][0]
    return abs(BASE_RADII[0] * speed * (meets_again - leaves) - 2 * half), run


def ripple(run: mg.Trajectory) -> dict[str, tuple[float, float]]:
    """Under load the teeth yield by F/k or F/2k, as one or two pairs bear it; (error, bound) by
    name."""
    settled = slice(int(0.01 / OPTIONS["step"]), None)
    pairs, (pinion, wheel) = (
        FORCE / (STIFFNESS * lead(run)[settled]),
        (run[name][settled] for name in ("pinion", "wheel")),
    )
    turned = pinion[-1] - pinion[0]
    changes = np.sum((pairs[:-1] < 1.5) & (pairs[1:] >= 1.5))
    share, corner = np.mean(pairs > 1.5), 2 * np.sqrt(2 * CORNER * FORCE / STIFFNESS) / PITCH
    mean = (wheel[-1] - wheel[0]) / turned + TEETH[0] / TEETH[1]
    return {
        "compliant: ratio, mean": (abs(mean), FORCE / STIFFNESS / (BASE_RADII[1] * turned)),
        "compliant: whole pairs bear the load (median)": (
            np.median(np.abs(pairs - pairs.round())),
            1e-2,
        ),
        "compliant: tooth changes beside 20 for each turn": (
            abs(changes - TEETH[0] * turned / (2 * np.pi)),
            1.0,
        ),
        "compliant: time with two pairs, less ε − 1": (
            abs(share - (Pair().contact_ratio - 1)),
            corner,
        ),
    }


def check() -> dict[str, float]:
    """Flanks at three centre distances; rigid teeth; compliant ones under load and rattling."""
    distances = (1.0, 1.01, 1.02)
    ratio, off, backlash = np.max([geometry(apart) for apart in distances], axis=0)
    turned, even, line, violation = np.max([rigid(apart) for apart in distances], axis=0)
    run = system().equations().simulate(DURATION, START, **OPTIONS)
    travel, rattling = rattle(1.02)
    return verified(
        {
            "flanks: ratio": (ratio, 1e-12),
            "flanks: contact off the base tangent (m)": (off, 1e-15),
            "flanks: backlash (m)": (backlash, 1e-15),
            "rigid: ratio": (turned, 1e-11),
            "rigid: ripple of the speed, torques as 20 to 35": (even, 1e-11),
            "rigid: force along the base tangent, relative": (line, 1e-12),
            "rigid: violation": (violation, 1e-9),
            **ripple(run),
            "rattling: free travel (m)": (travel, 1e-12),
            "rattling: energy drift, relative": (
                np.ptp(rattling.energy) / rattling.energy[0],
                1e-9,
            ),
            "energy balance over the work of the drive": (
                np.abs(run.imbalance).max() / (TORQUE * np.ptp(run["pinion"])),
                1e-11,
            ),
        }
    )


if __name__ == "__main__":
    present(system(), check)
