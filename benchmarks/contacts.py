"""Rigid contact at equal accuracy: spheres and boxes that fall, slide, stop and roll, here and in
MuJoCo.

    python benchmarks/contacts.py            rewrites the section "contacts" of RESULTS.md
    python benchmarks/contacts.py --quick    prints only

Closed forms are the judge: where a body is after a second, on a rigid floor with Coulomb's
friction. MuJoCo's contacts give way and creep by design. Its step is made smaller until the wanted
accuracy is met, at each step with its contacts as they come, with elliptic cones, and with contacts
as stiff as the step allows; the largest step counts at which one of these is right. The other way
round, MuJoCo's defaults are timed with the error that they have: who needs no more than that is
served sooner there.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

import mechgraph as mg
from derivation import table, versions, write_section
from figures import record
from loops import cheapest

G, END = 9.81, 1.0
TARGETS = (1e-3, 1e-5)
TOLERANCES = [10.0**-k for k in range(4, 12)]  # here
STEPS = [4e-3 / 2**k for k in range(12)]  # of MuJoCo, until one is right
DEFAULT_STEP = 2e-3
SETTINGS = ("default", "elliptic", "stiff")  # of MuJoCo


@dataclass(frozen=True)
class Case:
    """A body of mass one, its start, the friction of the floor, and where it is in the end."""

    name: str
    shape: str
    size: tuple[float, ...]  # radius, or half sides
    inertia: tuple[float, float, float]
    height: float
    speed: float
    friction: float
    slope: float
    truth: tuple[float, float]  # x and z

    def error(self, place: np.ndarray) -> float:
        """Largest distance along x or z."""
        return float(np.abs(place[[0, 2]] - self.truth).max())


def cases() -> list[Case]:
    """Fall and rest; slide and roll; slide and stop; slide down a slope from rest."""
    ball, box = ("sphere", (0.1,), (0.004,) * 3), ("box", (0.15, 0.1, 0.05), (0.01, 0.02, 0.015))
    cube = ("box", (0.05, 0.05, 0.05), (1 / 600,) * 3)
    grips = 2 / (7 * 0.2 * G)  # when a ball of speed one rolls
    rolls = grips - 0.1 * G * grips**2 + 5 / 7 * (END - grips)
    down = G * (np.sin(0.9) - 0.2 * np.cos(0.9)) / 2
    return [
        Case("a box falls flat and rests", *box, 0.25, 0.0, 0.3, 0.0, (0.0, 0.05)),
        Case("a ball is thrown, slides, rolls", *ball, 0.1, 1.0, 0.2, 0.0, (rolls, 0.1)),
        Case("a box is thrown, slides, stops", *box, 0.05, 2.0, 0.3, 0.0, (2 / 0.3 / G, 0.05)),
        Case("a cube slides down from rest", *cube, 0.05, 0.0, 0.2, 0.9, (down, 0.05)),
    ]


Run = tuple[float, float, float]  # seconds, error, step or tolerance


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="print only")
    quick = parser.parse_args().quick
    measured: dict[str, Any] = {}
    rows = [row for case in cases() for row in _rows(case, quick, measured)]
    head = ["what", "accuracy", "mechgraph", "MuJoCo", "MuJoCo / mechgraph", "MuJoCo's step"]
    head += ["MuJoCo, default", "its error"]
    text = (
        f"## Contacts\n\n{versions()} One body on a rigid floor, {END:g} s, seconds of computing "
        "until the place is right to the wanted accuracy (in metres), judged by closed forms. "
        "Building the model, and here derivation and compiling, are not counted. A dash: not "
        f"reached with steps from {STEPS[0]:g} down to {STEPS[-1]:.1g} s. The last two columns are "
        f"MuJoCo as it comes (step {DEFAULT_STEP:g} s).\n\n{table(head, rows)}"
    )
    print(text)
    if not quick:
        write_section("contacts", text)
        record("contacts", measured)


def _rows(case: Case, quick: bool, measured: dict[str, Any]) -> list[list[str]]:
    rows, repeats = [], 2 if quick else 7
    simulate, peer = by_mechgraph(case), by_mujoco(case)
    plain = min((peer(DEFAULT_STEP, "default") for _ in range(repeats)), key=lambda run: run[0])
    for target in TARGETS[:1] if quick else TARGETS:
        own = cheapest(((lambda rtol=rtol: simulate(rtol)) for rtol in TOLERANCES), target, repeats)
        tries = ((lambda h=h, how=how: peer(h, how)) for h in STEPS for how in SETTINGS)
        other = cheapest(tries, target, repeats)
        assert own is not None
        names = {"mechgraph": own[0]} | ({"MuJoCo": other[0]} if other else {})
        measured[f"{case.name}, accuracy {target:g}"] = names
        rows.append(
            [
                case.name,
                f"{target:g}",
                f"{own[0]:.2g} s",
                f"{other[0]:.2g} s" if other else "–",
                f"{other[0] / own[0]:.2g}" if other else "–",
                f"{other[2]:.2g} s" if other else "–",
                f"{plain[0]:.2g} s",
                f"{plain[1]:.1e}",
            ]
        )
    return rows


def by_mechgraph(case: Case) -> Callable[[float], Run]:
    """Derived and compiled; a run takes its tolerance."""
    gravity = (G * np.sin(case.slope), 0, -G * np.cos(case.slope))
    system = mg.System(case.shape, gravity=gravity)
    body = system.body("body", mass=1.0, inertia=case.inertia)
    system.free("place", system.ground, body)
    half = case.size
    surface = mg.Sphere(body, *half) if case.shape == "sphere" else mg.Box(body, 2 * np.array(half))
    system.rigid_contact("floor", surface, mg.Plane(system.ground), friction=case.friction)
    equations, start = system.equations(), {"place.z": case.height, "place.x'": case.speed}
    equations.simulate(END, start, step=END / 10, track_work=False, method="rk8")  # in machine code
    equations.compile()

    def run(rtol: float) -> Run:
        began = perf_counter()
        found = equations.simulate(END, start, rtol=rtol, step=END / 10, track_work=False)
        spent = perf_counter() - began
        return spent, case.error(found["body"][-1]), rtol

    return run


def by_mujoco(case: Case) -> Callable[..., Run]:
    """All steps inside of MuJoCo; a run takes its step and one of ``SETTINGS``."""
    import mujoco

    mujoco.set_mju_user_warning(lambda message: None)
    size = " ".join(map(repr, map(float, case.size)))
    inertia = " ".join(map(repr, map(float, case.inertia)))
    down = " ".join(map(repr, map(float, (G * np.sin(case.slope), 0, -G * np.cos(case.slope)))))

    def run(h: float, how: str) -> Run:
        friction = f'friction="{case.friction!r} 0 0" condim="3"'
        firm = f'solref="{2 * h!r} 1" solimp="0.9999 0.9999 0.001"' if how == "stiff" else ""
        cone = "" if how == "default" else 'cone="elliptic"'
        model = mujoco.MjModel.from_xml_string(
            f"""<mujoco><option timestep="{h!r}" gravity="{down}" {cone}/>
            <worldbody><geom type="plane" size="10 10 1" {friction} {firm}/>
            <body pos="0 0 {case.height!r}"><freejoint/>
            <inertial pos="0 0 0" mass="1" diaginertia="{inertia}"/>
            <geom type="{case.shape}" size="{size}" {friction} {firm}/></body>
            </worldbody></mujoco>"""
        )
        data = mujoco.MjData(model)
        data.qvel[0] = case.speed
        began = perf_counter()
        mujoco.mj_step(model, data, nstep=round(END / h))
        spent = perf_counter() - began
        return spent, case.error(data.qpos[:3]), h

    return run


if __name__ == "__main__":
    main()
