"""Engine: a slider-crank over the cycle of a four-stroke, with the gas pressure from a table.

One cylinder at 3000 turns a minute: crank, rod and piston in a plane, no gravity; bore, stroke and
masses are those of a small car's engine. The pressure stands in a table over two turns of the
crank, every two degrees, as an indicator would give it. It is no measurement: the recipe is one
zone of ideal gas with Wiebe's law of combustion between the closing of the inlet and the opening of
the outlet, and one bar but for a short blow-down elsewhere.

Known from elsewhere: positions and accelerations of a slider-crank in closed form, with the forces
of all bearings and the torque from Newton's equations of piston and rod; and the work of a cycle,
which is the area of the pressure over the volume. The figure has the bearings' forces as polar
plots: in the main bearing as the housing feels them, in the big end as the crank pin does.
"""

import matplotlib.pyplot as plt
import numpy as np

import mechgraph as mg
from mechgraph.gallery import present, verified

CRANK, ROD, BORE, SQUEEZE = 0.045, 0.145, 0.086, 10.0  # m; ratio of compression
PISTON_MASS, ROD_MASS, ROD_INERTIA, ROD_COM = 0.45, 0.55, 0.0019, 0.045
SPEED = 3000 * 2 * np.pi / 60
AREA, ATMOSPHERE = np.pi * BORE**2 / 4, 1.0e5
CYCLE = 4 * np.pi

START = {"crank": 0.0, "crank'": SPEED}
GUESS = {"piston": CRANK + ROD}
DURATION = CYCLE / SPEED
OPTIONS = {"rtol": 1e-10, "step": DURATION / 720}


def pressure() -> mg.Table:
    """Over the crank's angle, zero at the upper end before the inlet: the recipe, two degrees
    apart."""
    fine = np.linspace(0, CYCLE, 14401)
    volume = chamber(fine)
    gas = np.full(fine.shape, ATMOSPHERE)
    closed = (fine > 1.2 * np.pi) & (fine < 2.75 * np.pi)
    burnt = 1 - np.exp(-5 * np.clip((fine - 1.92 * np.pi) / (0.35 * np.pi), 0, None) ** 3)
    heat = 1100.0 * burnt  # J
    for k in np.flatnonzero(closed):  # first law: dp = ((γ − 1) dQ − γ p dV) / V
        change = 0.33 * (heat[k] - heat[k - 1]) - 1.33 * gas[k - 1] * (volume[k] - volume[k - 1])
        gas[k] = gas[k - 1] + change / volume[k - 1]
    end = np.flatnonzero(closed)[-1]
    opened = np.clip((fine - fine[end]) / (0.3 * np.pi), 0, 1)
    after = np.arange(len(fine)) > end
    gas[after] = gas[end] + (ATMOSPHERE - gas[end]) * (opened**2 * (3 - 2 * opened))[after]
    return mg.spline(fine[::40], gas[::40], monotone=True, outside="repeat", name="gas")


def chamber(angle: np.ndarray) -> np.ndarray:
    """The volume above the piston."""
    swept = 2 * CRANK * AREA
    return swept / (SQUEEZE - 1) + AREA * (CRANK + ROD - place(angle))


def place(angle: np.ndarray) -> np.ndarray:
    """The piston's pin on the cylinder's axis."""
    return CRANK * np.cos(angle) + np.sqrt(ROD**2 - (CRANK * np.sin(angle)) ** 2)


def system() -> mg.System:
    """The cylinder along x; a servo keeps the crank's speed, as a large flywheel would."""
    s = mg.System("engine", plane="xy")
    crank = s.body("crankshaft", mass=4.0, inertia=0.02)
    rod = s.body("rod", mass=ROD_MASS, com=(ROD_COM, 0, 0), inertia=ROD_INERTIA)
    piston = s.body("piston head", mass=PISTON_MASS, inertia=0)
    s.revolute("crank", s.ground, crank)
    s.revolute("big end", crank, rod, at=(CRANK, 0, 0))
    s.prismatic("piston", s.ground, piston, axis="x")
    s.revolute("small end", rod, piston, at=(ROD, 0, 0))
    gas = pressure()
    s.torque("gas", "piston", lambda m: -AREA * (gas(m.coordinate("crank")) - ATMOSPHERE))
    s.servo("flywheel", "crank", SPEED * s.time)
    return s


def by_hand(angle: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Forces of the crank on the rod and of the rod on the piston, and the flywheel's torque."""
    lean = -np.arcsin(CRANK * np.sin(angle) / ROD)
    rate = -CRANK * SPEED * np.cos(angle) / (ROD * np.cos(lean))
    change = (CRANK * SPEED**2 * np.sin(angle) + ROD * rate**2 * np.sin(lean)) / (
        ROD * np.cos(lean)
    )
    arm = np.array([np.cos(lean), np.sin(lean)])
    across = np.array([-np.sin(lean), np.cos(lean)])
    pin = -CRANK * SPEED**2 * np.array([np.cos(angle), np.sin(angle)])
    centre = pin + ROD_COM * (change * across - rate**2 * arm)
    piston = (pin + ROD * (change * across - rate**2 * arm))[0]
    wrist = PISTON_MASS * piston + AREA * (pressure()(angle) - ATMOSPHERE)  # along the cylinder
    inertia = ROD_MASS * centre
    turning = ROD_INERTIA * change + ROD_COM * (arm[0] * inertia[1] - arm[1] * inertia[0])
    side = (wrist * ROD * arm[1] - turning) / (ROD * arm[0])
    small = np.array([wrist, side])
    big = inertia + small
    torque = CRANK * (np.cos(angle) * big[1] - np.sin(angle) * big[0])
    return big.T, small.T, torque


def check() -> dict[str, float]:
    """Bearings and torque over the cycle; the work of the gas as the area of its diagram."""
    run = system().equations().simulate(DURATION, START, guess=GUESS, **OPTIONS)
    big, small, torque = by_hand(run["crank"])
    size = np.abs(big).max()
    angle = np.linspace(0, CYCLE, 40001)
    area = np.trapezoid(pressure()(angle), chamber(angle))
    mean = -np.trapezoid(run["flywheel"], run["crank"])
    return verified(
        {
            "big end, relative": (np.abs(run["big end: force"][:, :2] - big).max() / size, 1e-9),
            "small end, relative": (
                np.abs(run["small end: force"][:, :2] - small).max() / size,
                1e-9,
            ),
            "main bearing, relative": (
                np.abs(run["crank: force"][:, :2] - big).max() / size,
                1e-9,
            ),
            "torque, relative": (np.abs(run["flywheel"] - torque).max() / (size * CRANK), 1e-9),
            "work of a cycle, relative": (abs(mean / area - 1), 1e-4),
            "constraint violation": (run.violation.max(), 1e-10),
        }
    )


def figures() -> dict[str, object]:
    """Polar plots of the bearings' forces over one cycle, and the pressure that makes them."""
    run = system().equations().simulate(DURATION, START, guess=GUESS, **OPTIONS)
    main, big = -run["crank: force"][:, :2] / 1000, -run["big end: force"][:, :2] / 1000
    turned = np.arctan2(big[:, 1], big[:, 0]) - run["crank"]
    panels = {
        "main bearing on the housing (kN)": (np.arctan2(main[:, 1], main[:, 0]), main, "cylinder"),
        "big end on the crank pin (kN)": (turned, big, "crank arm"),
    }
    figure = plt.figure(figsize=(12, 4.6), layout="constrained")
    for k, (title, (direction, force, along)) in enumerate(panels.items()):
        axes = figure.add_subplot(1, 3, k + 1, projection="polar")
        axes.plot(direction, np.hypot(*force.T), color="#2f6fed")
        axes.set_rgrids([5, 10, 15], angle=60)
        axes.set_title(title, loc="left", fontsize=10, y=1.12)
        axes.set_xlabel(f"0° is along the {along}")
    axes = figure.add_subplot(1, 3, 3)
    axes.plot(np.degrees(run["crank"]), pressure()(run["crank"]) / 1e5, color="#2f6fed")
    axes.set_title("gas (bar)", loc="left", fontsize=10)
    axes.set_xlabel("crank angle (degrees)")
    axes.set_xticks(range(0, 721, 180))
    figure.get_layout_engine().set(h_pad=0.2, w_pad=0.2)
    return {"bearings": figure}


if __name__ == "__main__":
    present(system(), check)
