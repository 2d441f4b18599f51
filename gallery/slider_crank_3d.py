"""3-D slider-crank: crank, rod between two ball joints, slider, with its inverse dynamics and dry
friction.

R. Orsino, *A contribution on modeling methodologies for multibody systems* (2016), Example 4.5. The
crank turns about x with its pin at p₁ = −l₁ (0, cos χ, sin χ); the slider runs along x at p₂ = (l₂
+ s, −l₁, 0); the rod of length l₂ joins p₁ and p₂ by ball joints. No gravity. Lengths, masses,
inertias and friction are the source's; it neglects the rod's spin about its own axis. Here it
exists: two speeds are free, the crank's and the spin. Our choices: the rod's axial inertia, 0.002
kg m² (no torque acts about that axis, so a rod without spin stays without); mass centres of crank
and slider on the crank's axis and in p₂; the mass of the crank and the inertia of the slider, which
the motion does not feel; and the free-running start with a turning crank.

``system(driven=True)`` prescribes the slider as the source does,

    s(t) = −(1 − γ) l₂ (1 + 8 sin² 2πt) / 10,    γ = √2/2,

by a servo and forbids the spin; the torque on the crank that does it is the one that leaves the
servo nothing to do. Its check is the source's inverse dynamics, re-computed to six digits: crank
angle and speed, torque u₁, guide forces y, z and friction x = −μ sign(ṡ) √(y² + z²). Friction
depends on the guide's reaction, which depends on friction: forces are affine in the two inputs (u₁,
x), so three evaluations give the coefficients, and the friction law is one scalar equation for x.

``composed()`` is the source's own way: crank, rod and slider as parts, the guide relaxed, so that
its forces y, z are inputs along speeds that the motion leaves at zero, and friction a force that
depends on them. Then one call gives u₁, y, z, the motion included (``in_one_call``). The figure has
the source's curves 4.10 to 4.14, with the jumps of torque and guide forces where the slider turns
back.
"""

import numpy as np
from scipy.optimize import brentq

import mechgraph as mg
from mechgraph.gallery import curves, present, verified

L1, L2, GAMMA, MU = 0.5, np.sqrt(2), np.sqrt(2) / 2, 0.5
START = {"crank": 0.9, "crank'": 6.0}
GUESS = {"slider": -0.1}
DURATION = 4.0
OPTIONS = {"rtol": 1e-12}

# t, s, χ in degrees, χ̇, u₁, y, z, x
TABLE = np.array(
    [
        [0.05, -0.073064, 53.3188, 8.186359, 27.444489, -5.803697, 17.388696, 9.165828],
        [0.10, -0.155907, 80.4057, 10.107980, 6.939013, -8.005201, 12.925718, 7.601931],
        [0.15, -0.258306, 109.1327, 9.690831, -8.253427, 6.976896, -3.806737, 3.973925],
        [0.20, -0.341149, 134.1920, 7.326135, -24.318626, 24.937016, -12.148162, 13.869324],
        [0.30, -0.341149, 134.1920, -7.326135, -32.433211, 63.349384, -28.377330, -34.707410],
        [0.45, -0.073064, 53.3188, -8.186359, 25.091925, -3.441439, 12.683567, -6.571080],
    ]
)


def system(driven: bool = False, spin: bool = True) -> mg.System:
    """The mechanism, running free or with the slider prescribed and inputs ``torque`` (crank) and
    ``friction`` (slider); without ``spin`` the rod does not turn about its axis."""
    s = mg.System("3-D slider-crank")
    crank = s.body("crank arm", mass=1.0, inertia=(0.20, 0.10, 0.10))
    rod = s.body("rod", mass=0.50, com=(GAMMA * L2, 0, 0), inertia=(0.002, 0.10, 0.10))
    slide = s.body("slide", mass=2.0, inertia=(0.01, 0.01, 0.01))
    s.revolute("crank", s.ground, crank, axis="x")
    s.prismatic("slider", s.ground, slide, axis="x", at=(L2, -L1, 0))
    s.spherical("pin", crank, rod, at=(0, -L1, 0))
    s.spherical("wrist", rod, slide, at=(L2, 0, 0))
    if driven:
        s.torque("motor", "crank", s.input("torque"))
        s.torque("rubbing", "slider", s.input("friction"))
    if driven or not spin:
        s.constrain("no spin", velocity=lambda m: m.angular_velocity(rod, in_frame=rod)[0])
    if driven:
        s.servo(
            "drive", "slider", -(1 - GAMMA) * L2 * (1 + 8 * mg.sin(2 * np.pi * s.time) ** 2) / 10
        )
    return s


def composed(guided: bool = False, friction: bool = True) -> mg.Equations:
    """Crank, rod and slider; the guide holds the slider, or is relaxed, with its forces as inputs
    ``y`` and ``z``; with friction."""
    s = mg.variables(["chi"], ["chi'"], ["torque"], {"I": 0.20})
    crank = mg.Terms(
        s, name="crank", M=[[s["I"]]], f=[s["torque"]], kinetic=s["I"] * s["chi'"] ** 2 / 2
    )
    rows = {
        "pin": lambda v: v.point("rod", (-GAMMA * L2, 0, 0)) - pin(v),
        "wrist": lambda v: v.point("rod", ((1 - GAMMA) * L2, 0, 0)) - v["slide.place"],
        "no spin": lambda v: v["rod.wx"],
    }
    guide = {"guide": lambda v: [v["slide.y"] + L1, v["slide.z"]]}

    def rubs(v, y, z):
        return -MU * _sign(v["slide.x'"]) * mg.sqrt(y**2 + z**2)

    relaxed = {
        "slide.y'": lambda v: v["y"],
        "slide.z'": lambda v: v["z"],
        "slide.x'": lambda v: rubs(v, v["y"], v["z"]),
    }
    held = {
        "slide.x'": lambda v: rubs(v, v.multiplier("guide: 1"), v.multiplier("guide: 2")),
    }
    forces = held if guided else relaxed
    return mg.compose(
        "slider-crank",
        {
            "crank": crank,
            "rod": mg.leaves.thin_rod(mass=0.50, inertia=0.10),
            "slide": mg.leaves.particle(mass=2.0),
        },
        inputs=[] if guided else ["y", "z"],
        constraints=rows | (guide if guided else {}),
        forces=forces if friction else {},
        reference={
            "crank.chi": 1.2,
            "rod.x": 0.9,
            "rod.y": -0.4,
            "rod.z": -0.2,
            "rod.psi": -0.1,
            "rod.phi": -0.3,
            "slide.x": L2 - 0.1,
            "slide.y": -L1,
        },
    )


def pin(v):
    """The crank's pin."""
    angle = v["crank.chi"]
    return mg.leaves.vector([0, -L1 * mg.cos(angle), -L1 * mg.sin(angle)])


def _sign(x):
    return mg.if_else(x >= 0, 1, -1)


def in_one_call(times: np.ndarray) -> np.ndarray:
    """u₁, y, z at these times: the slider's motion prescribed, the relaxed guide at rest."""
    return composed().inverse_dynamics(
        {"slide.x": lambda t: L2 - (1 - GAMMA) * L2 * (1 + 8 * mg.sin(2 * np.pi * t) ** 2) / 10,
         "slide.y": -L1, "slide.z": 0.0},
        t=times,
        drives=["crank.torque", "y", "z"],
    )  # fmt: skip


def difference(states: int = 4) -> float:
    """Accelerations of the composed and of the plain mechanism at random states, relative."""
    plain, whole = system(spin=False).equations(), composed(guided=True, friction=False)
    random, worst = np.random.default_rng(0), 0.0
    for _ in range(states):
        angle, rate = random.uniform(0.5, 2.5), 5 * random.standard_normal()
        q, u = plain.assemble({"crank": angle, "crank'": rate}, guess=GUESS)
        at = whole.assemble({"crank.chi": angle, "crank.chi'": rate})
        found = [*whole.observe("crank.chi''", *at), *whole.observe("slide.x''", *at)]
        expected = [*plain.observe("crank''", q, u), *plain.observe("slider''", q, u)]
        worst = max(worst, np.abs(np.subtract(found, expected)).max() / np.abs(expected).max())
    return worst


def forward() -> tuple[float, float]:
    """The torques of the table on the guided slider with friction: errors of its acceleration and
    of the guide's forces."""
    equations, off = composed(guided=True), []
    guide = [equations.constraints.index(f"guide: {k}") for k in (1, 2)]
    for t, s, chi, rate, torque, y, z, _ in TABLE:
        start = {"crank.chi": np.radians(chi), "crank.chi'": rate}
        q, u = equations.assemble(start, guess={"slide.x": L2 + s})
        udot, lam = equations.solve(q, u, inputs=[torque])
        wanted = -(1 - GAMMA) * L2 * 6.4 * np.pi**2 * np.cos(4 * np.pi * t)
        found = udot[equations.speeds.index("slide.x'")]
        off.append([abs(found - wanted), *np.abs(lam[guide] - [y, z])])
    errors = np.array(off)
    return errors[:, 0].max(), errors[:, 1:].max()


def inverse_dynamics(
    equations: mg.Equations, q: np.ndarray, u: np.ndarray, t: float
) -> tuple[float, np.ndarray]:
    """u₁ and the forces (x, y, z) on the slider in its guide, with friction, for the prescribed
    slider."""
    drive = equations.constraints.index("drive")

    def forces(w: list[float]) -> np.ndarray:
        """The servo's force, which is to be zero, and the guide's forces y, z."""
        servo = equations.multipliers(q, u, t, inputs=w)[drive]
        return np.array([servo, *equations.reaction("slider", q, u, t, inputs=w)[1:3]])

    rest = forces([0, 0])
    by_torque, by_friction = forces([1, 0]) - rest, forces([0, 1]) - rest

    def balanced(x: float) -> np.ndarray:
        """u₁, y, z such that the servo has nothing to do, for a friction force x."""
        torque = -(rest[0] + by_friction[0] * x) / by_torque[0]
        return np.array([torque, *(rest + by_torque * torque + by_friction * x)[1:]])

    sign = -np.sign(u[equations.speeds.index("slider'")])
    size = brentq(
        lambda size: size - MU * np.hypot(*balanced(sign * size)[1:]),
        0,
        1e3,
        xtol=1e-14,
        rtol=1e-14,
    )
    torque, y, z = balanced(sign * size)
    return torque, np.array([sign * size, y, z])


def row(t: float) -> np.ndarray:
    """One row of the table."""
    equations = system(driven=True).equations()
    q, u = equations.assemble(t=t, guess={"crank": 1.5, **GUESS})
    state = {
        **dict(zip(equations.coordinates, q, strict=True)),
        **dict(zip(equations.speeds, u, strict=True)),
    }
    torque, (x, y, z) = inverse_dynamics(equations, q, u, t)
    return np.array(
        [t, state["slider"], np.degrees(state["crank"]), state["crank'"], torque, y, z, x]
    )


def check() -> dict[str, float]:
    """The source's inverse dynamics, and energy and closure of the free-running mechanism."""
    off = np.abs(np.array([row(t) for t in TABLE[:, 0]]) - TABLE)
    called, (second, guided) = in_one_call(TABLE[:, 0]), forward()
    run = system().equations().simulate(DURATION, START, guess=GUESS, **OPTIONS)
    return verified(
        {
            "s, χ̇, u₁, y, z, x, printed to 6 digits": (np.delete(off, 2, axis=1).max(), 6e-7),
            "u₁, y, z in one call": (np.abs(called - TABLE[:, [4, 5, 6]]).max(), 6e-7),
            "forward with friction: acceleration": (second, 1e-3),  # angles have four digits
            "forward with friction: y, z": (guided, 2e-3),
            "composed against plain": (difference(), 1e-9),
            "χ in degrees, printed to 4": (off[:, 2].max(), 6e-5),
            "energy drift, relative": (np.ptp(run.energy) / run.energy[0], 1e-9),
            "constraint violation": (run.violation.max(), 1e-10),
        }
    )


def figures() -> dict[str, object]:
    """Figs. 4.10 to 4.14: the slider, the crank, the torque on it and the forces of the guide."""
    times = (np.arange(160) + 0.5) / 160  # not where the slider turns back
    equations = system(driven=True).equations()
    states = [equations.assemble(t=t, guess={"crank": 1.5, **GUESS}) for t in times]
    q, u = (np.array([state[k] for state in states]) for k in (0, 1))
    torque, y, z = in_one_call(times).T
    crank, slider = (equations.coordinates.index(name) for name in ("crank", "slider"))
    turning, sliding = (equations.speeds.index(name) for name in ("crank'", "slider'"))
    return {
        "inverse dynamics": curves(
            times,
            {
                "slider s (m)": {"": q[:, slider]},
                "crank angle (degrees)": {"": np.degrees(q[:, crank])},
                "crank speed (rad/s)": {"": u[:, turning]},
                "torque on the crank (N m)": {"": torque},
                "forces of the guide (N)": {
                    "y": y, "z": z, "friction x": -MU * np.sign(u[:, sliding]) * np.hypot(y, z)},
            },
        )
    }  # fmt: skip


if __name__ == "__main__":
    present(system(), check)
