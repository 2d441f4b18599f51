"""Stick-slip: the classical mass on a belt, held by a spring, in its limit cycle.

The belt runs with the speed v and carries the mass m along until the spring k pulls with the static
friction F_s; then the mass slides back, with the sliding friction F against it, until it is as fast
as the belt again. Sliding, it oscillates about x = F/k,

    x = F/k + a cos ωt + (v/ω) sin ωt,    a = (F_s − F)/k,    ω² = k/m,

from x = F_s/k and ẋ = v until ẋ = v once more, after (2π − 2α)/ω with tan α = aω/v; there it is at
x = F/k − a, and sticks for 2a/v. So the cycle is known in closed form, and one sliding phase leads
to it, whatever the start. A smooth fall from F_s to F with the speed (Stribeck's) has no closed
form; its cycle is compared with an integration by SciPy, from one standstill to the next. Above a
certain speed of the belt nothing sticks any more. All data are chosen by us.
"""

import numpy as np
from scipy.integrate import solve_ivp

import mechgraph as mg
from mechgraph.gallery import present, verified

MASS, STIFFNESS, BELT, STATIC, SLIDING = 1.0, 10.0, 0.5, 3.0, 2.0
STRIBECK, VISCOUS = 0.4, 0.1
OMEGA, REACH = np.sqrt(STIFFNESS / MASS), (STATIC - SLIDING) / STIFFNESS
START = {"slip": 0.0}
DURATION = 12.0
OPTIONS = {"rtol": 1e-10, "step": 0.01}


def system(stribeck: float | None = None, viscous: float = 0.0) -> mg.System:
    """The mass on the belt; ``slip`` is its way along the belt, ``x`` that of the world."""
    s = mg.System("stick-slip")
    belt, mass = s.frame("belt"), s.body("mass", mass=MASS, inertia=(0.01, 0.01, 0.01))
    s.joint("rollers", s.ground, belt, [mg.move("x", BELT * s.time)])
    law = mg.DryFriction(SLIDING, static_friction=STATIC, stribeck=stribeck, viscous=viscous)
    s.prismatic("slip", belt, mass, axis="x", friction=law)
    wall = s.marker("wall", s.ground, (-1, 0, 0))
    s.spring_damper("spring", wall, mass, stiffness=STIFFNESS, length=1.0)
    s.output("x", lambda m: m.position(mass)[0])
    return s


def phases(run: mg.Trajectory) -> tuple[np.ndarray, np.ndarray]:
    """Times at which it begins to slide, and to stick."""
    change = np.diff(run.modes["slip friction.sticking"])
    return run.time[1:][change < 0], run.time[1:][change > 0]


def slide() -> float:
    """How long it slides, by SciPy: from the belt's speed back to it, with Stribeck's friction."""

    def motion(t: float, y: np.ndarray) -> list[float]:
        slip = BELT - y[1]
        dry = SLIDING + (STATIC - SLIDING) * np.exp(-((slip / STRIBECK) ** 2))
        return [y[1], (dry + VISCOUS * slip - STIFFNESS * y[0]) / MASS]

    def back(t: float, y: np.ndarray) -> float:
        return y[1] - BELT

    back.direction, back.terminal = 1, True
    begin = [STATIC / STIFFNESS, BELT - 1e-12]
    return float(solve_ivp(motion, (0, 10), begin, events=back, rtol=1e-12, atol=1e-14).t[-1])


def check() -> dict[str, float]:
    """Phases and turning points of the cycle, sticking, work; and Stribeck's cycle."""
    run = system().equations().simulate(DURATION, START, **OPTIONS)
    slips, sticks = phases(run)
    sliding = (2 * np.pi - 2 * np.arctan2(REACH * OMEGA, BELT)) / OMEGA
    sticking = 2 * REACH / BELT
    cycle = (run.time > sticks[0]) & (run.time < sticks[-1])
    stuck = run.modes["slip friction.sticking"] == 1
    swing = np.hypot(REACH, BELT / OMEGA)
    smooth = system(STRIBECK, VISCOUS).equations().simulate(DURATION, START, **OPTIONS)
    later = phases(smooth)
    return verified(
        {
            "first slip (s)": (abs(slips[0] - STATIC / STIFFNESS / BELT), 1e-9),
            "sliding (s)": (np.abs(sticks - slips[: len(sticks)] - sliding).max(), 1e-8),
            "sticking (s)": (np.abs(slips[1:] - sticks[: len(slips) - 1] - sticking).max(), 1e-8),
            "least x, on the grid (m)": (
                run["x"][cycle].min() - (SLIDING / STIFFNESS - swing),
                OMEGA**2 * swing * OPTIONS["step"] ** 2 / 8,
            ),
            "slip while it sticks (m/s)": (np.abs(run["slip'"][stuck]).max(), 1e-12),
            "energy balance (J)": (np.abs(run.imbalance).max(), 1e-8),
            "Stribeck: sliding (s)": (
                np.abs(later[1] - later[0][: len(later[1])] - slide()).max(),
                1e-7,
            ),
            "Stribeck: balance (J)": (np.abs(smooth.imbalance).max(), 1e-8),
        }
    )


if __name__ == "__main__":
    present(system(), check)
