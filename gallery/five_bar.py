"""Five-bar mechanism: two chains that carry a load, driven by DC motors, composed on four levels.

R. Orsino (2016), Examples 2.7 and 4.3. The mechanism consists of two motors and a linkage, the
linkage of two chains and a load, a chain of a proximal and a distal bar, and each bar is a planar
element with two nodes. One chain is derived and used twice. The source gives no numbers: those here
are ours, different on both sides. Its equations of motion forget the load's weight; with it (ÿ + g
in the place of ÿ) they are what the composition gives.

The check: B and C of the chain as printed, C of the linkage, the printed f̄ of chain and mechanism
at random states, and the accelerations of a plain system of joints, with geared rotors, for the
same currents. The figure is the inverse dynamics of a circle of the load.
"""

import numpy as np

import mechgraph as mg
from mechgraph.gallery import curves, present, verified

G = 9.81
SIDES = {
    "L": {"aU": 1.0, "aB": 1.3, "cU": 0.4, "cB": 0.55, "mU": 1.1, "mB": 0.9, "IU": 0.12,
          "IB": 0.15, "x0": -0.4, "k": 0.5, "kappa": 0.45, "I": 0.01, "b": 0.02, "lam": 0.05,
          "rho": 1.2, "eta": 7.0, "bU": 0.3},
    "R": {"aU": 0.9, "aB": 1.2, "cU": 0.5, "cB": 0.45, "mU": 1.3, "mB": 0.8, "IU": 0.11,
          "IB": 0.13, "x0": 0.5, "k": 0.6, "kappa": 0.55, "I": 0.012, "b": 0.03, "lam": 0.04,
          "rho": 1.0, "eta": 6.0, "bU": 0.2},
}  # fmt: skip
LOAD = 0.7
START = {"L": 2.2, "R": 0.9, "L'": 0.5, "R'": -0.3}
GUESS = {"L knee": -1.2, "R knee": 1.3}
DURATION = 2.0


# --- composed -------------------------------------------------------------------------------------


def bar(length: float, centre: float, mass: float, inertia: float) -> mg.Terms:
    """A bar with a node at each end."""
    return mg.leaves.planar_element(
        "bar",
        nodes=[(0, 0), (length, 0)],
        centre=(centre, 0.0),
        mass=mass,
        inertia=inertia,
        gravity=(0, -G),
    )


def chain(d: dict[str, float], named: bool = True) -> mg.Equations:
    """Proximal and distal bar, with their angles θ, φ to the base line as extra coordinates."""
    upper = mg.compose(
        "proximal",
        [bar(d["aU"], d["cU"], d["mU"], d["IU"])],
        constraints={"pivot": lambda v: [v["p1x"] - d["x0"], v["p1y"]]},
        forces={"omega": lambda v: -d["bU"] * v["omega"]},
        independent=["omega"] if named else None,
        reference={"p1x": d["x0"], "p2x": d["x0"], "p2y": d["aU"]},
    )
    return mg.compose(
        "chain",
        {"U": upper, "B": bar(d["aB"], d["cB"], d["mB"], d["IB"])},
        coordinates=["theta", "phi"],
        speeds=["theta'", "phi'"],
        constraints={
            "upper angle": lambda v: v["theta'"] - v["U.omega"],
            "lower angle": lambda v: v["phi'"] - v["B.omega"],
            "pin": lambda v: v["B.p1"] - v["U.p2"],
            "along theta": lambda v: v["U.p2"] - v["U.p1"] - d["aU"] * ray(v["theta"]),
            "along phi": lambda v: v["B.p2"] - v["B.p1"] - d["aB"] * ray(v["phi"]),
        },
        independent=["theta'", "phi'"] if named else None,
        reference={"theta": np.pi / 2, "B.p1x": d["x0"], "B.p1y": d["aU"],
                   "B.p2x": d["x0"] + d["aB"], "B.p2y": d["aU"]},
    )  # fmt: skip


def ray(angle):
    """(cos, sin)."""
    return mg.leaves.vector([mg.cos(angle), mg.sin(angle)])


def linkage(named: bool = True) -> mg.Equations:
    """Two chains and a load; χ is the angle between the distal bars."""
    return mg.compose(
        "linkage",
        {
            **{side: chain(d, named) for side, d in SIDES.items()},
            "load": mg.leaves.particle("load", mass=LOAD, gravity=(0, -G), plane=True),
        },
        coordinates={"chi": lambda v: v["chi'"]},
        speeds={"chi'": lambda v: v["R.B.omega"] - v["L.B.omega"]},
        constraints={
            "left end": lambda v: v["L.B.p2"] - v["load.place"],
            "right end": lambda v: v["R.B.p2"] - v["load.place"],
        },
        independent=["L.theta'", "R.theta'"] if named else None,
        reference={"L.theta": 2.2, "R.theta": 0.9, "L.phi": 0.9, "R.phi": 2.3, "load.y": 1.8,
                   "chi": 1.4},
    )  # fmt: skip


def motor(d: dict[str, float]) -> mg.Terms:
    """One motor."""
    return mg.leaves.dc_motor(
        torque_constant=d["k"],
        back_emf=d["kappa"],
        inertia=d["I"],
        damping=d["b"],
        inductance=d["lam"],
        resistance=d["rho"],
    )


def composed(named: bool = True) -> mg.Equations:
    """Two motors and the linkage, joined by gears; independent speeds as in the source, or left
    open."""
    free = ["motor L.i", "motor R.i", "linkage.L.theta'", "linkage.R.theta'"]
    return mg.compose(
        "five-bar",
        {
            "motor L": motor(SIDES["L"]),
            "motor R": motor(SIDES["R"]),
            "linkage": linkage(named),
        },
        constraints={
            f"gear {side}": lambda v, side=side, d=d: (
                v[f"linkage.{side}.theta'"] - v[f"motor {side}.omega"] / d["eta"]
            )
            for side, d in SIDES.items()
        },
        independent=free if named else None,
    )


# --- the plain twin -------------------------------------------------------------------------------


def system(plane: str | None = None) -> mg.System:
    """Revolute joints, a loop, and rotors geared to the cranks; currents as inputs. In the plane
    "xy" nodes can describe it."""
    s = mg.System("five-bar", gravity=(0, -G, 0), plane=plane)
    ends = []
    for side, d in SIDES.items():
        upper = s.body(
            f"{side} upper",
            mass=d["mU"],
            com=(d["cU"] * d["aU"], 0, 0),
            inertia=(d["IU"], d["IU"], d["IU"]),
        )
        lower = s.body(
            f"{side} lower",
            mass=d["mB"],
            com=(d["cB"] * d["aB"], 0, 0),
            inertia=(d["IB"], d["IB"], d["IB"]),
        )
        rotor = s.body(f"{side} rotor", mass=1.0, inertia=(d["I"], d["I"], d["I"]))
        s.revolute(side, s.ground, upper, axis="z", at=(d["x0"], 0, 0), damping=d["bU"])
        s.revolute(f"{side} knee", upper, lower, axis="z", at=(d["aU"], 0, 0))
        s.revolute(f"{side} motor", s.ground, rotor, axis="z", at=(d["x0"], 0, 0), damping=d["b"])
        s.coupling(f"{side} gear", {f"{side} motor": 1.0, side: -d["eta"]})
        s.torque(f"{side} drive", f"{side} motor", d["k"] * s.input(f"{side} current"))
        ends.append(s.marker(f"{side} end", lower, (d["aB"], 0, 0)))
    load = s.body("load", mass=LOAD, inertia=0)
    s.joint("load place", s.ground, load, [mg.move("x", "x"), mg.move("y", "y")])
    for side, end in zip(SIDES, ends, strict=True):
        s.constrain(
            f"{side} holds",
            position=lambda m, end=end: (m.position(end) - m.position(load))[:2],
        )
    return s


def state(plain: mg.Equations, q: np.ndarray, u: np.ndarray, currents) -> dict[str, float]:
    """The state of the twin by the names of the composed mechanism."""
    known = dict(zip((*plain.coordinates, *plain.speeds), (*q, *u), strict=True))
    out = {f"motor {side}.i": current for side, current in zip(SIDES, currents, strict=True)}
    for side in SIDES:
        out |= {
            f"linkage.{side}.theta": known[side],
            f"linkage.{side}.phi": known[side] + known[f"{side} knee"],
            f"linkage.{side}.theta'": known[f"{side}'"],
        }
    phi = [out[f"linkage.{side}.phi"] for side in SIDES]
    return out | {"linkage.chi": phi[1] - phi[0]}


def difference(states: int = 4) -> float:
    """θ̈ of both sides against the plain twin at random states, relative."""
    plain, whole = system().equations(), composed()
    random, worst = np.random.default_rng(0), 0.0
    for _ in range(states):
        start = {"L": 2.2 + random.uniform(-0.3, 0.3), "R": 0.9 + random.uniform(-0.3, 0.3),
                 "L'": random.standard_normal(), "R'": random.standard_normal()}  # fmt: skip
        currents = 10 * random.standard_normal(2)
        q, u = plain.assemble(start, guess=GUESS)
        given = state(plain, q, u, currents)
        at = whole.assemble(given)
        expected = dict(zip(plain.speeds, plain.accelerations(q, u, inputs=currents), strict=True))
        udot = dict(zip(whole.speeds, whole.accelerations(*at), strict=True))
        found = [udot[f"linkage.{side}.theta'"] for side in SIDES]
        wanted = [expected[f"{side}'"] for side in SIDES]
        worst = max(worst, np.abs(np.subtract(found, wanted)).max() / np.abs(wanted).max())
    return worst


# --- as printed -----------------------------------------------------------------------------------


def printed_chain() -> float:
    """C of the chain and f̄ of the chain, Examples 2.7 and 4.3."""
    d, equations = SIDES["L"], chain(SIDES["L"])
    random, worst = np.random.default_rng(1), 0.0
    node = equations.composition
    for _ in range(3):
        theta, phi = random.uniform(-2, 2, 2)
        q, u = equations.assemble(
            {
                "theta": theta,
                "phi": phi,
                "theta'": random.standard_normal(),
                "phi'": random.standard_normal(),
            }
        )
        udot = equations.accelerations(q, u) + node.S(q, u) @ random.standard_normal(2)
        c, s = np.cos, np.sin
        C = {
            "B.vx": (-s(theta) * d["aU"], -s(phi) * d["aB"] * d["cB"]),
            "B.vy": (c(theta) * d["aU"], c(phi) * d["aB"] * d["cB"]),
            "B.omega": (0, 1), "U.omega": (1, 0), "theta'": (1, 0), "phi'": (0, 1),
        }  # fmt: skip
        worst = max(worst, np.abs(node.C(q, u) - [C[name] for name in node.C.rows]).max())
        rate = dict(zip(equations.speeds, u, strict=True))
        second = dict(zip(equations.speeds, udot, strict=True))
        w, x = rate["theta'"], rate["phi'"]
        a, b = second["theta'"], second["phi'"]
        moment = d["cB"] * d["aU"] * d["aB"] * d["mB"]
        fbar = [
            -moment * (x**2 * s(theta - phi) + b * c(theta - phi)) - d["bU"] * w
            - a * (d["aU"] ** 2 * (d["cU"] ** 2 * d["mU"] + d["mB"]) + d["IU"])
            - G * d["aU"] * c(theta) * (d["cU"] * d["mU"] + d["mB"]),
            -d["cB"] * d["aB"] * d["mB"] * (
                d["aU"] * (a * c(theta - phi) - w**2 * s(theta - phi))
                + d["cB"] * d["aB"] * b + G * c(phi)
            ) - d["IB"] * b,
        ]  # fmt: skip
        worst = max(worst, np.abs(node.fbar(q, u, udot=udot) - fbar).max())
    return worst


def printed_mechanism() -> float:
    """f̄ of the whole, Example 4.3 (g), with the load's weight; relative."""
    plain, whole = system().equations(), composed()
    random, worst = np.random.default_rng(2), 0.0
    node = whole.composition
    for _ in range(3):
        start = {"L": 2.2 + random.uniform(-0.3, 0.3), "R": 0.9 + random.uniform(-0.3, 0.3),
                 "L'": random.standard_normal(), "R'": random.standard_normal()}  # fmt: skip
        q, u = plain.assemble(start, guess=GUESS)
        at = whole.assemble(state(plain, q, u, 3 * random.standard_normal(2)))
        udot = whole.accelerations(*at) + node.S(*at) @ random.standard_normal(4)
        voltages = random.standard_normal(2)
        known = dict(zip((*whole.coordinates, *whole.speeds), np.concatenate(at), strict=True))
        known |= dict(zip((f"{name}'" for name in whole.speeds), udot, strict=True))
        found = node.fbar(*at, inputs=voltages, udot=udot)
        expected = []
        for k, (own, other) in enumerate((("L", "R"), ("R", "L"))):
            d = SIDES[own]
            i, rate = known[f"motor {own}.i"], known[f"linkage.{own}.theta'"]
            back = d["kappa"] * d["eta"] * rate
            change = d["lam"] * known[f"motor {own}.i'"]
            expected.append(voltages[k] - change - d["rho"] * i - back)
            expected.append(_row(known, own, other))
        expected = np.array(expected)[[0, 2, 1, 3]]
        worst = max(worst, np.abs(found - expected).max() / np.abs(expected).max())
    return worst


def _row(known: dict[str, float], X: str, Y: str) -> float:
    """The printed equation of one crank."""
    x, y = SIDES[X], SIDES[Y]
    s, c = np.sin, np.cos

    def of(side: str) -> tuple[float, ...]:
        names = ("theta", "phi", "theta'", "phi'", "theta''", "phi''")
        return tuple(known[f"linkage.{side}.{name}"] for name in names)

    tx, px, wx, vx, ax, bx = of(X)
    ty, py, wy, _, ay, by = of(Y)
    ddx, ddy = known["linkage.load.x''"], known["linkage.load.y''"]
    D = s(py - px)
    own = x["cB"] ** 2 * x["aB"] ** 2 * x["mB"] + x["IB"]
    others = y["cB"] ** 2 * y["aB"] ** 2 * y["mB"] + y["IB"]
    terms = [
        y["cB"] * y["aU"] * x["aU"] * y["mB"] * wy**2 * s(ty - py) * s(tx - px) / D,
        x["cB"] * x["aU"] ** 2 * x["mB"] * wx**2 * s(tx - px) * s(tx - py) / D,
        -x["cB"] * x["aU"] * x["aB"] * x["mB"] * vx**2 * s(tx - px),
        -wx * (x["b"] * x["eta"] ** 2 + x["bU"]),
        -x["aU"] * LOAD * (ddy + G) * c(py) * s(tx - px) / D,
        -y["cB"] * y["aU"] * x["aU"] * y["mB"] * ay * c(ty - py) * s(tx - px) / D,
        x["aU"] * LOAD * ddx * s(py) * s(tx - px) / D,
        -x["aU"] * bx / x["aB"]
        * (x["cB"] * x["aB"] ** 2 * x["mB"] * c(tx - px) + own * s(tx - py) / D),
        0.5 * ax * (
            x["aU"] ** 2 * (
                x["mB"] * (x["cB"] * (1 - s(2 * tx - px - py) / D) - 2)
                - 2 * x["cU"] ** 2 * x["mU"]
            )
            - 2 * (x["I"] * x["eta"] ** 2 + x["IU"])
        ),
        -x["aU"] * by * s(tx - px) * others / (y["aB"] * D),
        x["k"] * x["eta"] * known[f"motor {X}.i"],
        -G * x["aU"] * (
            y["cB"] * y["mB"] * c(py) * s(tx - px) / D
            + x["mB"] * (x["cB"] * c(px) * s(tx - py) / D + c(tx))
            + x["cU"] * x["mU"] * c(tx)
        ),
    ]  # fmt: skip
    return sum(terms)


def printed_linkage() -> float:
    """C of the linkage, Example 2.7 (its rows of x, y, χ, φ), and that it is singular at χ = 0."""
    plain, equations = system().equations(), linkage()
    q, u = plain.assemble(START, guess=GUESS)
    named = state(plain, q, u, (0, 0)).items()
    given = {name[8:]: value for name, value in named if name.startswith("linkage.")}
    at = equations.assemble(given)
    tl, pl, tr, pr = (given[f"{side}.{name}"] for side in "LR" for name in ("theta", "phi"))
    left, right = SIDES["L"], SIDES["R"]
    s, c, D = np.sin, np.cos, np.sin(pr - pl)
    aL, aR, bL, bR = left["aU"], right["aU"], left["aB"], right["aB"]
    expected = {
        "load.x'": (-s(tl - pl) * s(pr) * aL / D, s(pl) * s(tr - pr) * aR / D),
        "load.y'": (c(pr) * s(tl - pl) * aL / D, -c(pl) * s(tr - pr) * aR / D),
        "L.phi'": (s(tl - pr) * aL / bL / D, -s(tr - pr) * aR / bL / D),
        "R.phi'": (s(tl - pl) * aL / bR / D, -s(tr - pl) * aR / bR / D),
        "chi'": (
            -(s(tl - pr) * bR - s(tl - pl) * bL) * aL / (bL * bR) / D,
            -(s(tr - pl) * bL - s(tr - pr) * bR) * aR / (bL * bR) / D,
        ),
    }
    node = equations.composition
    C = node.C(*at)
    return max(np.abs(C[node.C.rows.index(name)] - row).max() for name, row in expected.items())


def check() -> dict[str, float]:
    """As printed, and against the plain twin."""
    return verified(
        {
            "C and f̄ of the chain": (printed_chain(), 1e-11),
            "C of the linkage": (printed_linkage(), 1e-11),
            "f̄ of the mechanism, with the load's weight": (printed_mechanism(), 1e-11),
            "accelerations against the plain twin": (difference(), 1e-9),
            "the plain twin by nodes": (
                mg.agreement(system("xy"), guess=GUESS, formalisms=["nodes"]).worst,
                1e-11,
            ),
        }
    )


def circle(times: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Torques on the cranks for a circle of the load in two seconds, without the motors, and the
    cranks' angles."""
    equations = linkage()
    given = dict(zip(("load.x", "load.y"), PATH, strict=True))
    torques = equations.inverse_dynamics(
        given, t=times, drives=["L.theta'", "R.theta'"],
        guess={"L.theta": 2.2, "R.theta": 0.9, "L.phi": 0.9, "R.phi": 2.3},
    )  # fmt: skip
    angles, guess = [], {"L.theta": 2.2, "R.theta": 0.9, "L.phi": 0.9, "R.phi": 2.3}
    for t in times:
        place = {name: float(of(t)) for name, of in given.items()}
        q, _ = equations.assemble(place, guess=guess)
        guess = dict(zip(equations.coordinates, q, strict=True))
        angles.append([guess["L.theta"], guess["R.theta"]])
    return torques, np.array(angles)


PATH = (lambda t: 0.1 + 0.2 * mg.cos(np.pi * t), lambda t: 1.6 + 0.2 * mg.sin(np.pi * t))


def figures() -> dict[str, object]:
    """Inverse dynamics of a circle of the load."""
    times = np.linspace(0, 2, 201)
    torques, angles = circle(times)
    panels = {
        "crank angle (rad)": dict(zip(SIDES, angles.T, strict=True)),
        "torque on the crank (N m)": dict(zip(SIDES, torques.T, strict=True)),
    }
    return {"circle": curves(times, panels)}


if __name__ == "__main__":
    present(system(), check)
