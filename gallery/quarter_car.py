"""Quarter car: a wheel and a quarter of a car's body over a measured road.

The road is a table of 10,000 heights, 5 cm apart, straight lines between them. It is measured only
in its manner: its spectrum is that of a road of class B by ISO 8608, G(n) = 64·10⁻⁶ m³ (n / 0.1)⁻²
with n waves a metre from 0.01 to 10, drawn as a sum of waves with random phases (seed 8608). The
car's numbers (290 kg on 59 kg, 16.8 kN/m, 1 kN s/m, tyre 190 kN/m) are the usual ones of textbooks;
it goes 20 m/s. Heights are from the state at rest, so that weights and the springs' first loads
leave each other.

Known from elsewhere: between two heights of the road the equations are linear with a force that
grows linearly, so that the matrix exponential solves them exactly.
"""

import numpy as np
from scipy.linalg import expm

import mechgraph as mg
from mechgraph.gallery import curves, present, verified

BODY, WHEEL = 290.0, 59.0
SPRING, DAMPER, TYRE = 16_812.0, 1000.0, 190_000.0
SPEED, SPACING, POINTS = 20.0, 0.05, 10_000

START = {"wheel": 0.0}
DURATION = 2.0
OPTIONS = {"step": SPACING / SPEED}


def road() -> mg.Table:
    """Heights over the way, by the recipe; zero at the beginning."""
    random = np.random.default_rng(8608)
    waves = np.geomspace(0.01, 10.0, 400)  # a metre
    amplitudes = np.sqrt(2 * 64e-6 * (waves / 0.1) ** -2 * np.gradient(waves))
    phases = random.uniform(0, 2 * np.pi, len(waves))
    way = SPACING * np.arange(POINTS)
    height = np.zeros(POINTS)
    for wave, amplitude, phase in zip(waves, amplitudes, phases, strict=True):
        height += amplitude * np.sin(2 * np.pi * wave * way + phase)
    return mg.table(way, height - height[0], outside="refuse", name="road")


def system() -> mg.System:
    """The wheel's height, and the body's above it."""
    s = mg.System("quarter car")
    wheel = s.body("wheel hub", mass=WHEEL, inertia=(1, 1, 1))
    body = s.body("quarter", mass=BODY, inertia=(1, 1, 1))
    s.prismatic("wheel", s.ground, wheel, axis="z")
    s.prismatic("suspension", wheel, body, axis="z", stiffness=SPRING, damping=DAMPER)
    height = road()(SPEED * s.time)
    s.torque("tyre", "wheel", lambda m: TYRE * (height - m.coordinate("wheel")))
    return s


def exact(count: int) -> np.ndarray:
    """Wheel and suspension at ``count`` heights of the road, one after the other."""
    heights = road().y[: count + 1]
    # z_w'' = (c s' + k s + t (r − z_w)) / m_w, s'' = −(k s + c s') / m_b − z_w''
    push = np.array([-TYRE, SPRING, 0.0, DAMPER]) / WHEEL
    below = -np.array([0.0, SPRING, 0.0, DAMPER]) / BODY - push
    A = np.zeros((6, 6))  # z_w, s, z_w', s', r, and how much r changes in a step
    A[0, 2] = A[1, 3] = 1
    A[2, :4], A[3, :4] = push, below
    A[2, 4], A[3, 4] = TYRE / WHEEL, -TYRE / WHEEL
    A[4, 5] = SPEED / SPACING
    step = expm(A * SPACING / SPEED)
    states = np.zeros((count + 1, 6))
    for k in range(count):
        states[k, 4:] = heights[k], heights[k + 1] - heights[k]
        states[k + 1] = step @ states[k]
    return states[:, :2]


def check() -> dict[str, float]:
    """Every 5 cm of 40 m against the exact solution."""
    run = system().equations().simulate(DURATION, START, **OPTIONS)
    expected = exact(len(run.time) - 1)
    return verified(
        {
            "wheel, relative": (
                np.abs(run["wheel"] - expected[:, 0]).max() / np.ptp(expected[:, 0]),
                1e-7,
            ),
            "suspension, relative": (
                np.abs(run["suspension"] - expected[:, 1]).max() / np.ptp(expected[:, 1]),
                1e-7,
            ),
        }
    )


def figures() -> dict[str, object]:
    """The road, the car on it, and the tyre's load beside that at rest."""
    run = system().equations().simulate(DURATION, START, **OPTIONS)
    height = road()(SPEED * run.time)
    body = run["wheel''"] + run["suspension''"]
    return {
        "ride": curves(
            run.time,
            {
                "heights (mm)": {
                    "road": 1000 * height,
                    "wheel": 1000 * run["wheel"],
                    "body": 1000 * (run["wheel"] + run["suspension"]),
                },
                "body's acceleration (m/s²)": {"": body},
                "tyre's load, from rest (N)": {"": TYRE * (height - run["wheel"])},
            },
        )
    }


if __name__ == "__main__":
    present(system(), check)
