"""Ring and disc: a disc rolls inside a ring that rolls down an inclined plane.

R. Orsino (2016), Examples 4.2 and 4.7, with its data: r₁ = 1 m, r₂ = 0.3 m, m₁ = 0.670 kg, g = 9.8
m/s², masses in the ratio 8/67, slope arcsin 4/5, for which the disc can stay at arcsin 3/5 from the
vertical while all of it speeds up. x runs down the slope, y is normal to it.

Two planar bodies with the speeds u, v, ω are composed with the extra coordinate θ, the angle of the
line of centres, and the source's five rows at velocity level. The check: the steady motion, its
frequency and the other entries of the linear model from linearized parts, the linear and the
non-linear motion over 5 s (tables of the specification), and a plain system of joints. The figures
are those of the source: steady angle and frequency over the slope for five ratios of masses (4.15,
4.16), and the linear beside the non-linear motion (4.17 to 4.21).
"""

import numpy as np
from scipy.optimize import brentq

import mechgraph as mg
from mechgraph.gallery import curves, present, verified

R1, R2, M1, G = 1.0, 0.3, 0.670, 9.8
RATIO, SLOPE = 8 / 67, np.arcsin(0.8)
STEADY = np.arcsin(0.6)
START = {"swing": STEADY + np.pi / 6}
DURATION = 5.0
OPTIONS = {"rtol": 1e-10}
# t, θ, ω₁ − ᴿω₁, ω₂ − ᴿω₂, θ̇: non-linear, then linear
TABLE = np.array(
    [
        [0.5, 0.810008, 0.071919, -2.690394, -1.255767, 0.775229, 0.074719, -2.864245, -1.334276],
        [1.0, 0.228206, 0.035023, -1.566929, -0.721574, 0.186183, 0.037596, -1.441181, -0.671358],
        [2.0, 0.883813, -0.067468, 2.513041, 1.173401, 0.918759, -0.065674, 2.517495, 1.172746],
        [3.0, 0.732121, 0.074276, -2.803338, -1.307539, 0.619992, 0.077125, -2.956447, -1.377227],
        [5.0, 1.143761, 0.021668, -0.820406, -0.382557, 1.076102, 0.043493, -1.667245, -0.776667],
    ]
)
# entries of the column of θ: u̇₁, ω̇₁, u̇₂, ω̇₂, θ̈
SLOPES = {
    "ring.x'": -0.38822029,
    "ring.theta'": 0.38822029,
    "disc.x'": 4.27042316,
    "disc.theta'": -14.88177768,
    "theta'": -6.93250513,
}


def composed(ratio: float = RATIO, slope: float = SLOPE) -> mg.Equations:
    """Ring and disc as free planar bodies, with the rows of the source."""
    gravity = (G * np.sin(slope), -G * np.cos(slope))
    m2 = ratio * M1
    c, s = (lambda v: mg.cos(slope - v["theta"])), (lambda v: mg.sin(slope - v["theta"]))
    rim = lambda v: R1 * v["ring.theta'"] - R2 * v["disc.theta'"]  # noqa: E731
    return mg.compose(
        "ring and disc",
        {
            "ring": mg.leaves.planar_body(mass=M1, inertia=M1 * R1**2, gravity=gravity),
            "disc": mg.leaves.planar_body(mass=m2, inertia=m2 * R2**2 / 2, gravity=gravity),
        },
        coordinates=["theta"],
        speeds=["theta'"],
        constraints={
            "ring rolls": lambda v: v["ring.x'"] + R1 * v["ring.theta'"],
            "ring stays": lambda v: v["ring.y'"],
            "disc rolls x": lambda v: v["ring.x'"] - v["disc.x'"] + c(v) * rim(v),
            "disc rolls y": lambda v: v["ring.y'"] - v["disc.y'"] + s(v) * rim(v),
            "angle": lambda v: v["disc.x'"] - v["ring.x'"] + c(v) * (R1 - R2) * v["theta'"],
        },
        independent=["theta'", "disc.theta'"],
        reference={"theta": 0.5},
    )


def system() -> mg.System:
    """The plain twin: the ring slides along x and turns with it; the disc hangs on an arm about the
    ring's centre, and its turn is coupled at velocity level."""
    s = mg.System("ring and disc", gravity=(G * np.sin(SLOPE), -G * np.cos(SLOPE), 0))
    m2 = RATIO * M1
    carrier = s.body("carrier", mass=0.0, inertia=0)
    ring = s.body("ring", mass=M1, inertia=(M1, M1, M1 * R1**2))
    arm = s.body("arm", mass=0.0, inertia=0)
    disc = s.body("disc", mass=m2, inertia=(m2, m2, m2 * R2**2 / 2))
    s.prismatic("x", s.ground, carrier, axis="x", at=(0, R1, 0))
    s.revolute("ring turn", carrier, ring, axis="z")
    s.revolute("swing", carrier, arm, axis="-z", orientation=[("z", SLOPE)])
    s.revolute("disc turn", arm, disc, axis="z", at=(0, R2 - R1, 0))
    s.constrain("ring rolls", velocity=lambda m: m.speed("x") + R1 * m.speed("ring turn"))

    def rolls(m):
        line = (m.position("disc") - m.position("ring")) / (R1 - R2)  # to the contact
        own = [m.velocity(b) + mg.cross(m.angular_velocity(b), r * line)
               for b, r in ((ring, R1), (disc, R2))]  # fmt: skip
        return mg.dot(own[0] - own[1], mg.cross(m.axis("ground", "z"), line))

    s.constrain("disc rolls", velocity=rolls)
    return s


def steady(theta: float = STEADY, slope: float = SLOPE) -> tuple[float, float]:
    """u̇ and m₂/m₁ of the steady motion."""
    beta = 2 * np.cos(theta - slope) + 1
    below = np.sin(slope) * beta - 3 * np.sin(theta)
    return 2 * G * np.sin(theta) / beta, np.sin(theta) / below - 1


def linear() -> tuple[float, float]:
    """Errors of the column of θ in the linear model, and of the accelerations of the steady
    motion."""
    equations, errors, wanted = composed(), [], steady()[0]
    q = np.zeros(len(equations.coordinates))
    q[equations.coordinates.index("theta")] = STEADY
    for name in ("disc.theta'", "ring.x'", "ring.theta'", "disc.x'"):
        model = equations.composition.linearize(
            (q, np.zeros(len(equations.speeds))),
            coordinates=equations.coordinates,
            speeds=["theta'", name],
        )
        column = model.A[-2:, model.coordinates.index("theta")]
        errors += [*np.abs(column - [SLOPES["theta'"], SLOPES[name]])]
    steadily = {"ring.x'": wanted, "disc.x'": wanted, "theta'": 0, "disc.theta'": -wanted / R2}
    found = dict(zip(equations.speeds, model.udot, strict=True))
    return max(errors), max(abs(found[name] - value) for name, value in steadily.items())


def motion() -> tuple[float, float]:
    """Errors of the non-linear and of the linear motion in the tables."""
    equations = composed()
    start = {"theta": STEADY + np.pi / 6}
    run = equations.simulate(DURATION, start, step=0.5, rtol=1e-11)
    rates = {"ring.theta'": -steady()[0] / R1, "disc.theta'": -steady()[0] / R2}
    at = (2 * TABLE[:, 0]).astype(int)
    found = np.column_stack(
        [
            run["theta"],
            *(run[name] - rate * run.time for name, rate in rates.items()),
            run["theta'"],
        ]
    )[at]
    omega, swing = np.sqrt(-SLOPES["theta'"]), np.pi / 6
    t = TABLE[:, 0]
    wave = swing / omega * np.sin(omega * t)
    linear = np.column_stack(
        [
            STEADY + swing * np.cos(omega * t), SLOPES["ring.theta'"] * wave,
            SLOPES["disc.theta'"] * wave, SLOPES["theta'"] * wave,
        ]
    )  # fmt: skip
    return np.abs(found - TABLE[:, 1:5]).max(), np.abs(linear - TABLE[:, 5:]).max()


def difference(states: int = 5) -> float:
    """Accelerations against the plain twin at random states, relative."""
    plain, whole = system().equations(), composed()
    random, worst = np.random.default_rng(0), 0.0
    for _ in range(states):
        angle, rate, spin = random.uniform(-1, 1), *random.standard_normal(2)
        q, u = plain.assemble({"swing": angle, "swing'": rate, "x'": spin})
        at = whole.assemble({"theta": angle, "theta'": rate, "ring.x'": spin})
        found = (
            whole.observe("theta''", *at),
            whole.observe("disc.x''", *at),
            whole.observe("disc.y''", *at),
        )
        second = plain.observe("disc''", q, u)
        expected = np.array([plain.observe("swing''", q, u)[0], second[0], second[1]])
        worst = max(worst, np.abs(np.ravel(found) - expected).max() / np.abs(expected).max())
    return worst


def check() -> dict[str, float]:
    """The source's steady motion, linear model and motions, and the plain twin."""
    slopes, acceleration = linear()
    nonlinear, straight = motion()
    angles, rates = over_the_slope()
    return verified(
        {
            "mass ratio of the steady motion": (abs(steady()[1] - RATIO), 1e-12),
            "accelerations of the steady motion": (acceleration, 1e-11),
            "column of θ of the linear model, to 8 digits": (slopes, 6e-9),
            "non-linear motion, table to 6 digits": (nonlinear, 1e-6),
            "linear motion, table to 6 digits": (straight, 1e-6),
            "steady angles over the slope, to 4 digits": (angles, 6e-5),
            "frequencies over the slope, to 4 digits": (rates, 6e-5),
            "accelerations against the plain twin": (difference(), 1e-9),
        }
    )


RATIOS = {"0": 0.0, "8/67": RATIO, "1/2": 0.5, "1": 1.0, "5": 5.0}


def angle(ratio: float, slope: float) -> float:
    """θ̄ for a ratio of masses and a slope: sin θ = (m₂/m₁ + 1)(β sin ξ − 3 sin θ)."""

    def rest(theta: float) -> float:
        beta = 2 * np.cos(theta - slope) + 1
        return np.sin(theta) - (ratio + 1) * (beta * np.sin(slope) - 3 * np.sin(theta))

    return brentq(rest, 0.0, slope, xtol=1e-14)


def frequency(ratio: float, slope: float) -> float:
    """ω̄ of the linear model about it, from linearized parts."""
    equations = composed(ratio, slope)
    q = np.zeros(len(equations.coordinates))
    q[equations.coordinates.index("theta")] = angle(ratio, slope)
    at = (q, np.zeros(len(equations.speeds)))
    model = equations.composition.linearize(
        at, coordinates=equations.coordinates, speeds=["theta'", "disc.theta'"]
    )
    return np.abs(model.eigenvalues().imag).max()


# ξ̄ in degrees; θ̄ in degrees and ω̄ for the five ratios
CURVES = {
    10: ((7.4784, 7.6853, 8.1652, 8.5580, 9.4684), (3.0362, 3.1686, 3.5582, 4.0132, 6.6087)),
    70: ((39.8959, 41.8275, 46.6129, 50.8803, 62.2242), (2.2274, 2.2780, 2.4426, 2.6554, 4.0436)),
}


def over_the_slope() -> tuple[float, float]:
    """Errors of θ̄ and ω̄ at points of Figs. 4.15 and 4.16."""
    pairs = [(r, np.radians(xi), theta, omega) for xi, (thetas, omegas) in CURVES.items()
             for r, theta, omega in zip(RATIOS.values(), thetas, omegas, strict=True)]  # fmt: skip
    angles = [abs(np.degrees(angle(r, xi)) - theta) for r, xi, theta, _ in pairs]
    rates = [abs(frequency(r, xi) - omega) for r, xi, _, omega in pairs if r > 0]
    return max(angles), max(rates)


def figures() -> dict[str, object]:
    """Figs. 4.15 to 4.21."""
    slopes = np.radians(np.linspace(1, 85, 22))
    degrees = np.degrees(slopes)
    named = {f"m₂/m₁ = {name}": r for name, r in RATIOS.items() if r > 0}
    steadily = {
        "steady angle of the disc (degrees)": {
            name: [np.degrees(angle(r, x)) for x in slopes] for name, r in named.items()
        },
        "frequency about it (rad/s)": {
            name: [frequency(r, x) for x in slopes] for name, r in named.items()
        },
    }
    return {
        "steady motion": curves(degrees, steadily, "slope (degrees)"),
        "linear and non-linear": _beside_each_other(),
    }


def _beside_each_other() -> object:
    equations, times = composed(), np.linspace(0, DURATION, 501)
    run = equations.simulate(DURATION, {"theta": STEADY + np.pi / 6}, step=times[1], rtol=1e-10)
    q = np.zeros(len(equations.coordinates))
    q[equations.coordinates.index("theta")] = STEADY
    panels = {"angle of the disc (rad)": {"non-linear": run["theta"]}}
    for name, title in (("ring.theta'", "ring"), ("disc.theta'", "disc")):
        model = equations.composition.linearize(
            (q, np.zeros(len(equations.speeds))),
            coordinates=equations.coordinates,
            speeds=["theta'", name],
        )
        linear = model.response(times, {"theta": np.pi / 6})
        rate = steady()[0] / (R1 if title == "ring" else R2)
        panels[f"angular speed of the {title} less the steady one (rad/s)"] = {
            "non-linear": run[name] + rate * run.time,
            "linear": linear[name],
        }
        panels["angle of the disc (rad)"]["linear"] = STEADY + linear["theta"]
    panels["‖q̄2, f̄‖ of the non-linear motion"] = {"": np.maximum(run["‖q̄2, f̄‖"], 1e-17)}
    return curves(
        times, panels, dashed=["linear"], logarithmic=["‖q̄2, f̄‖ of the non-linear motion"]
    )


if __name__ == "__main__":
    present(system(), check)
