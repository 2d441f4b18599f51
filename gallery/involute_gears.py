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

``involute_gears`` are compliant teeth, ``rigid_gears`` rigid ones; see docs/machine-elements.md.

Data are chosen by us: m = 2 mm, α₀ = 20°, tips one module beyond the pitch circles, discs of steel
10 mm thick, 1.4·10⁸ N/m for each pair of teeth (about what steel teeth of this width have).
"""

import casadi as ca
import numpy as np
from casadi import SX
from scipy.optimize import fsolve

import mechgraph as mg
from mechgraph.gallery import present, verified
from mechgraph.model.elements.gears import GearPair, involute

TEETH, MODULE, CUTTER = np.array([20, 35]), 2e-3, np.radians(20)
PITCH_RADII = MODULE * TEETH / 2
BASE_RADII = PITCH_RADII * np.cos(CUTTER)
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


def system(
    teeth: str = "compliant",
    apart: float = 1.0,
    drive: float = TORQUE,
    brake: float = BRAKE,
    damping: float = DAMPING,
) -> mg.System:
    """Pinion (ground's origin) and wheel (on x), driven and braked; the torques balance each other
    if not told otherwise."""
    s = mg.System("involute gears")
    distance = apart * PITCH_RADII.sum()
    for gear, (name, x) in enumerate((("pinion", 0), ("wheel", distance))):
        inertia = INERTIAS[gear] * np.array([0.5, 0.5, 1])
        disc = s.body(f"{name} disc", mass=MASSES[gear], inertia=inertia)
        s.revolute(name, s.ground, disc, axis="z", at=(x, 0, 0))
        _show_teeth(s, disc, gear)
    if teeth == "rigid":
        s.rigid_gears("mesh", "pinion", "wheel", TEETH, MODULE)
    else:
        law = {"stiffness": STIFFNESS, "damping": damping, "rounding": CORNER}
        s.involute_gears("mesh", "pinion", "wheel", TEETH, MODULE, **law)
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


def touch(pair: GearPair, side: int, turn: float) -> tuple[float, np.ndarray]:
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


def pair_at(apart: float) -> GearPair:
    """The pair at a centre distance, in multiples of that at which there is no backlash."""
    return GearPair(TEETH, MODULE, apart * PITCH_RADII.sum(), CUTTER)


def geometry(apart: float) -> np.ndarray:
    """Errors at a centre distance: ratio, distance of the contact from the base tangent (m),
    backlash (m)."""
    pair, turns = pair_at(apart), np.linspace(-0.15, 0.15, 13)
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
    equations, pair = system("rigid", apart).equations(), pair_at(apart)
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
    half, speed = pair_at(apart).backlash / 2, 2.0
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
            abs(share - (pair_at(1.0).contact_ratio - 1)),
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
