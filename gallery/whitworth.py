"""Whitworth's quick return: a crank turns a slotted lever, which drives a slider to and fro.

Orsino 2016, §5.3.1: base with pivots at (0, 0) and (0, 0.3) m and a guide at the height 0.8 m;
crank of 0.1414 m, slotted lever, coupler, slider; no gravity. Lengths follow from the starting
nodes. The crank turns steadily, a quarter of a turn each second; what torque does that take? Known
from elsewhere: positions, velocities and torque over a period, computed independently of this
library.
"""

import numpy as np

import mechgraph as mg
from mechgraph.gallery import curves, present, verified

CRANK, LEVER, COUPLER = np.hypot(0.1, 0.1), np.hypot(0.15, 0.6), np.hypot(0.65, 0.2)
FIRST = np.arctan2(0.1, 0.1)  # direction of the crank at the start
SPEED = np.pi / 2

START = {"crank": FIRST}
GUESS = {
    "lever": np.arctan2(0.6, 0.15),
    "coupler": np.arctan2(0.2, 0.65) - np.arctan2(0.6, 0.15),
    "guide": 0.8,
}
DURATION = 4.0
OPTIONS = {"rtol": 1e-10, "step": 0.01}

RECORD = {  # t: x, x', speed of the lever, torque
    0.0: (0.8, -0.25587632, 0.46199892, 0.03654185),
    1.0: (0.5, -0.29852238, 0.46199892, -0.02548494),
    2.0: (0.35711412, 0.20762895, -0.31415927, 0.22986179),
    2.5: (0.65539709, 0.86637497, -1.40084529, -0.20395230),
    3.0: (0.91028679, 0.13993968, -0.31415927, -0.12839040),
    3.5: (0.89981448, -0.13128572, 0.28559933, 0.03867646),
}
EXTREMES = {  # of the source's figures 5.11 to 5.13, to more digits than can be read off them
    "guide'": (-0.314770, 0.870719),
    "lever'": (-1.400845, 0.503247),
    "drive": (-1.004056, 0.952373),
}


def system(driven: bool = True) -> mg.System:
    """Bars along x of their frames, in the plane; a servo turns the crank."""
    s = mg.System("Whitworth quick return", plane="xy")
    crank = s.body("crank bar", mass=0.2, inertia=0.2 * 0.1**2 / 3)
    lever = s.body("lever bar", mass=0.4, com=(LEVER / 2, 0, 0), inertia=0.2 * 0.5**2 / 12)
    coupler = s.body("coupler bar", mass=0.2, com=(COUPLER / 2, 0, 0), inertia=0.2 * 0.1**2 / 12)
    slider = s.body("slider", mass=1.0, inertia=0)
    s.revolute("crank", s.ground, crank, at=(0, 0.3, 0))
    s.revolute("lever", s.ground, lever)
    s.pin_in_slot("pin", lever, crank, child_at=(CRANK, 0, 0))
    s.revolute("coupler", lever, coupler, at=(LEVER, 0, 0))
    s.prismatic("guide", s.ground, slider, axis="x", at=(0, 0.8, 0))
    s.revolute("wrist", coupler, slider, at=(COUPLER, 0, 0))
    s.torque("motor", "crank", s.input("torque"))
    if driven:
        s.servo("drive", "crank", FIRST + SPEED * s.time)
    return s


def composed() -> mg.Equations:
    """The same of leaves with nodes, joint by joint as the source's package has them: an extra
    coordinate and the rows of a line for what slides, with the angle held or free."""
    bar = mg.leaves.planar_element
    ends = {
        "crank": (CRANK, 0.0, 0.2, 0.2 * 0.1**2 / 3),
        "lever": (LEVER, 0.5, 0.4, 0.2 * 0.5**2 / 12),
        "coupler": (COUPLER, 0.5, 0.2, 0.2 * 0.1**2 / 12),
        "slider": (0.1, 0.0, 1.0, 1.0),
    }
    return mg.compose(
        "Whitworth quick return",
        {
            name: bar(nodes=[(0, 0), (length, 0)], centre=(centre, 0.0), mass=mass, inertia=inertia)
            for name, (length, centre, mass, inertia) in ends.items()
        },
        coordinates=["guide", "pin"],
        speeds=["guide'", "pin'"],
        inputs=["torque"],
        forces={"crank.omega": lambda v: v["torque"]},
        constraints={
            "base": lambda v: [
                v["crank.p1x"],
                v["crank.p1y"] - 0.3,
                v["lever.p1x"],
                v["lever.p1y"],
            ],
            "revolute": lambda v: v["coupler.p1"] - v["lever.p2"],
            "wrist": lambda v: v["slider.p1"] - v["coupler.p2"],
            "prismatic": lambda v: [
                v["slider.p1x"] - v["guide"],
                v["slider.p1y"] - 0.8,
                v["slider.omega"],
            ],
            "pin in slot": lambda v: (
                v["crank.p2"] - v["lever.p1"] - v["pin"] * (v["lever.p2"] - v["lever.p1"])
            ),
        },
        independent=["crank.omega"],
        reference=NODES,
    )


# the starting nodes of the source; the slider's second one lies along the guide
NODES = {"crank.p1y": 0.3, "crank.p2x": 0.1, "crank.p2y": 0.4, "lever.p2x": 0.15, "lever.p2y": 0.6,
         "coupler.p1x": 0.15, "coupler.p1y": 0.6, "coupler.p2x": 0.8, "coupler.p2y": 0.8,
         "slider.p1x": 0.8, "slider.p1y": 0.8, "slider.p2x": 0.9, "slider.p2y": 0.8,
         "guide": 0.8, "pin": 2 / 3}  # fmt: skip


def difference() -> float:
    """Accelerations of crank, lever and slider against the composed twin, relative."""
    plain, twin = system(driven=False).equations(), composed()
    q, u = plain.assemble({**START, "crank'": SPEED}, guess=GUESS)
    at = twin.assemble({**NODES, "crank.omega": SPEED})
    names = {"crank''": "crank.omega'", "lever''": "lever.omega'", "guide''": "guide''"}
    pairs = [
        (plain.observe(one, q, u, inputs=[0.1]), twin.observe(other, *at, inputs=[0.1]))
        for one, other in names.items()
    ]
    return max(float(np.abs(np.subtract(*pair)).max() / np.abs(pair[0]).max()) for pair in pairs)


def torque(times: np.ndarray, formalism: str | None = None) -> np.ndarray:
    """Of the motor, by inverse dynamics of the crank's steady turn."""
    return (
        system(driven=False)
        .equations(formalism)
        .inverse_dynamics(
            {"crank": lambda t: FIRST + SPEED * t}, t=times, drives=["torque"], guess=START | GUESS
        )[:, 0]
    )


def by_nodes(duration: float = DURATION) -> mg.Trajectory:
    """The run in coordinates of the nodes, as in the source."""
    return system().equations("nodes").simulate(duration, START, guess=GUESS, **OPTIONS)


def extremes() -> dict[str, tuple[float, float]]:
    """Least and largest values of a period; they lie between two times of the output."""
    run = by_nodes()
    seen = {name: (run[name].min(), run[name].max()) for name in EXTREMES}
    return {
        f"extremes of {name}, by nodes": (np.abs(np.subtract(seen[name], known)).max(), 2e-3)
        for name, known in EXTREMES.items()
    }


def figures() -> dict[str, object]:
    """Figures 5.11 to 5.14 of the source: the quick return goes with the peaks of the torque."""
    run = by_nodes(16.0)
    panels = {
        "slider (m/s)": {"velocity": run["guide'"]},
        "lever (rad/s)": {"angular velocity": run["lever'"]},
        "crank (N m)": {"torque": run["drive"]},
        "constraints": {"largest violation": np.maximum(run.violation, 1e-17)},
    }
    title = "Whitworth quick return, by nodes"
    return {"quick return": curves(run.time, panels, title=title, logarithmic=["constraints"])}


def check() -> dict[str, float]:
    """The record by the run, and the torque in two ways: of the servo, and by inverse dynamics."""
    run = system().equations().simulate(DURATION, START, guess=GUESS, **OPTIONS)
    seen = np.array([run["guide"], run["guide'"], run["lever'"], run["drive"]]).T
    at = [np.abs(run.time - t).argmin() for t in RECORD]
    times = np.array(list(RECORD))
    return verified(
        {
            "positions, speeds and torque of the record": (
                np.abs(seen[at] - list(RECORD.values())).max(),
                1e-7,
            ),
            "torque by inverse dynamics": (np.abs(torque(times) - seen[at, 3]).max(), 1e-8),
            **extremes(),
            "composed of leaves, joint by joint": (difference(), 1e-9),
            "stroke": (abs(np.ptp(run["guide"]) - (0.922180 - 0.339085)), 1e-5),
            "constraint violation": (run.violation.max(), 1e-10),
        }
    )


if __name__ == "__main__":
    present(system(), check)
