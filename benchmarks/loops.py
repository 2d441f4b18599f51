"""Closed loops at equal accuracy: N four-bars in a row (IFToMM benchmark A02), here, in Exudyn and
in MuJoCo.

    python benchmarks/loops.py            rewrites the section "loops" of RESULTS.md
    python benchmarks/loops.py --quick    small sizes, prints only

The verticals share one angle, which obeys a scalar equation; its solution to 1e-13 is the judge.
Each program is run with smaller and smaller steps (or tolerances) until the position of the first
vertical's top at the end is right to the wanted accuracy, and the cheapest such run counts. The
mechanism passes through singular positions.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any

import numpy as np
from scipy.integrate import solve_ivp

import mechgraph as mg
from derivation import table, versions, write_section
from figures import record

END = 10.0
GRAVITY = 9.81
TARGETS = (1e-3, 1e-5)
OUTPUTS = 100  # states that every program has to keep
STEPS = [END / (500 * 2**k) for k in range(10)]  # of the peers, until one is right
TOLERANCES = [10.0**-k for k in range(3, 13)]  # here
Run = tuple[float, float, float]  # seconds, error of the position, violation of the constraints


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, print only")
    quick = parser.parse_args().quick
    measured: dict[str, dict[str, float]] = {}
    rows = [row for n in ([1] if quick else [1, 2, 10]) for row in _rows(n, quick, measured)]
    head = [
        "N",
        "accuracy",
        "mechgraph",
        "Exudyn",
        "MuJoCo",
        "Exudyn / mechgraph",
        "MuJoCo / mechgraph",
        "mechgraph's violation",
    ]
    text = (
        f"## Loops\n\n{versions()} N four-bars in a row, {END:g} s, seconds of computing until the "
        "wanted accuracy "
        f"(absolute, of a position of size 1) is met; every program keeps {OUTPUTS} states on the "
        "way. Building the model, and "
        "here derivation and compiling, are not counted; all have run once before. The best of "
        "seven runs. A dash: not reached "
        f"with steps from {STEPS[0]:g} down to {STEPS[-1]:.1g}, or not stable.\n\n"
        f"{table(head, rows)}"
    )
    print(text)
    if not quick:
        write_section("loops", text)
        record("loops", measured)


def _rows(n: int, quick: bool, measured: dict[str, dict[str, float]]) -> Iterator[list[str]]:
    truth = true_position(n)
    for target in TARGETS[:1] if quick else TARGETS:
        own = cheapest(
            ((lambda rtol=rtol: by_mechgraph(n, rtol, truth)) for rtol in TOLERANCES), target
        )
        others = [
            cheapest(((lambda h=h, run=run: run(n, h, truth)) for h in STEPS), target)
            for run in (by_exudyn, by_mujoco)
        ]
        assert own is not None
        times = [f"{own[0]:.3g} s", *(f"{run[0]:.3g} s" if run else "–" for run in others)]
        ratios = [f"{run[0] / own[0]:.3g}" if run else "–" for run in others]
        found = {
            name: run[0]
            for name, run in zip(("mechgraph", "Exudyn", "MuJoCo"), (own, *others), strict=True)
            if run
        }
        measured[f"{n} four-bar{'s' * (n > 1)}, accuracy {target:g}"] = {
            **found,
            "violation": own[2],
        }
        yield [str(n), f"{target:g}", *times, *ratios, f"{own[2]:.1e}"]


def cheapest(runs: Iterator[Callable[[], Run]], target: float, repeats: int = 7) -> Run | None:
    """The first run that is right to the target, measured again."""
    for run in runs:
        result = run()
        if result[1] <= target:
            return min((run() for _ in range(repeats)), key=lambda r: r[0])
    return None


def true_position(n: int) -> np.ndarray:
    """((N+1)/3 + N) θ̈ = −((N+1)/2 + N) g cos θ, θ(0) = π/2, the top moving with 1 m/s."""
    k = ((n + 1) / 2 + n) / ((n + 1) / 3 + n) * GRAVITY
    out = solve_ivp(
        lambda t, y: [y[1], -k * np.cos(y[0])],
        (0, END),
        [np.pi / 2, -1.0],
        "DOP853",
        rtol=1e-13,
        atol=1e-13,
    )
    return np.array([np.cos(out.y[0, -1]), np.sin(out.y[0, -1])])


# --- here -----------------------------------------------------------------------------------------


def system(n: int) -> mg.System:
    """Verticals hinged on ground at x = 0 … n, horizontals joining their tops; uniform bars of
    length and mass one."""
    s = mg.System(f"{n} four-bars", gravity=(0, -GRAVITY, 0))
    bar = {"mass": 1.0, "com": (0.5, 0, 0), "inertia": (1e-3, 1 / 12, 1 / 12)}
    previous = None
    for k in range(n + 1):
        vertical = s.body(f"vertical {k}", **bar)
        s.revolute(f"foot {k}", s.ground, vertical, axis="z", at=(k, 0, 0))
        if previous is not None:
            horizontal = s.body(f"horizontal {k}", **bar)
            s.revolute(f"left {k}", previous, horizontal, axis="z", at=(1, 0, 0))
            s.revolute(
                f"right {k}", horizontal, vertical, axis="z", at=(1, 0, 0), child_at=(1, 0, 0)
            )
        previous = vertical
    return s


_prepared: dict[int, tuple[mg.Equations, tuple[np.ndarray, np.ndarray]]] = {}


def by_mechgraph(n: int, rtol: float, truth: np.ndarray) -> Run:
    """Spatial revolutes: three of the five equations of each loop are redundant."""
    if n not in _prepared:
        eqs = system(n).equations()
        start = {f"foot {k}": np.pi / 2 for k in range(n + 1)} | {
            f"left {k}": -np.pi / 2 for k in range(1, n + 1)
        }
        _prepared[n] = eqs, eqs.assemble({**start, "foot 0'": -1.0})
        eqs.simulate(0.1, _prepared[n][1], method="rk8")
        eqs.compile()
    eqs, start = _prepared[n]
    began = perf_counter()
    run = eqs.simulate(END, start, method="rk8", rtol=rtol, step=END / OUTPUTS)
    spent = perf_counter() - began
    angle = run["foot 0"][-1]
    return (
        spent,
        float(np.abs(np.array([np.cos(angle), np.sin(angle)]) - truth).max()),
        float(run.violation.max()),
    )


# --- Exudyn ---------------------------------------------------------------------------------------


def exudyn_settings(exu: Any, duration: float, h: float, sparse: bool) -> Any:
    """Generalized alpha with steps of h; nothing is written."""
    settings = exu.SimulationSettings()
    settings.timeIntegration.numberOfSteps, settings.timeIntegration.endTime = (
        round(duration / h),
        duration,
    )
    settings.timeIntegration.generalizedAlpha.spectralRadius = 0.95
    settings.timeIntegration.generalizedAlpha.computeInitialAccelerations = True
    settings.timeIntegration.newton.useModifiedNewton = True
    settings.timeIntegration.verboseMode = settings.displayStatistics = 0
    settings.solutionSettings.writeSolutionToFile = False
    if sparse:
        settings.linearSolverType = exu.LinearSolverType.EigenSparse
    return settings


def by_exudyn(n: int, h: float, truth: np.ndarray) -> Run:
    """Planar rigid bodies and revolute joints, generalized-alpha (second order), sparse solver for
    the larger ones."""
    import exudyn as exu
    from exudyn import utilities as eu

    mbs = exu.SystemContainer().AddSystem()
    ground = mbs.AddObject(eu.ObjectGround())

    def bar(
        x: float, y: float, angle: float, v: tuple[float, float, float]
    ) -> tuple[int, int, int]:
        node = mbs.AddNode(
            eu.NodeRigidBody2D(referenceCoordinates=[x, y, angle], initialVelocities=list(v))
        )
        body = mbs.AddObject(
            eu.ObjectRigidBody2D(physicsMass=1.0, physicsInertia=1 / 12, nodeNumber=node)
        )
        centre, first, last = (
            mbs.AddMarker(eu.MarkerBodyRigid(bodyNumber=body, localPosition=[d, 0, 0]))
            for d in (0.0, -0.5, 0.5)
        )
        mbs.AddLoad(eu.LoadForceVector(markerNumber=centre, loadVector=[0, -GRAVITY, 0]))
        return body, first, last

    def join(a: int, b: int) -> None:
        mbs.AddObject(eu.ObjectJointRevolute2D(markerNumbers=[a, b]))

    top = None
    first_body = None
    for k in range(n + 1):
        body, foot, head = bar(k, 0.5, np.pi / 2, (0.5, 0, -1.0))
        first_body = body if k == 0 else first_body
        join(mbs.AddMarker(eu.MarkerBodyRigid(bodyNumber=ground, localPosition=[k, 0, 0])), foot)
        if top is not None:
            _, left, right = bar(k - 0.5, 1.0, 0.0, (1.0, 0, 0))
            join(top, left)
            join(right, head)
        top = head
    tip = {
        "bodyNumber": first_body,
        "localPosition": [0.5, 0, 0],
        "outputVariableType": exu.OutputVariableType.Position,
    }
    sensor = mbs.AddSensor(eu.SensorBody(**tip, storeInternal=True, writeToFile=False))
    mbs.Assemble()
    settings = exudyn_settings(exu, END, h, sparse=n > 5)
    settings.solutionSettings.sensorsWritePeriod = END / OUTPUTS
    began = perf_counter()
    try:
        mbs.SolveDynamic(settings)
    except Exception:
        return np.inf, np.inf, np.inf
    positions = mbs.GetSensorStoredData(sensor)
    spent = perf_counter() - began
    assert len(positions) == OUTPUTS + 1, len(positions)
    return spent, float(np.abs(positions[-1, 1:3] - truth).max()), np.nan


# --- MuJoCo ---------------------------------------------------------------------------------------


def by_mujoco(n: int, h: float, truth: np.ndarray) -> Run:
    """Hinges, loops closed by stiff `connect` equalities, Runge–Kutta 4."""
    import mujoco

    # a run that is not stable is seen by its error; no log file for it
    mujoco.set_mju_user_warning(lambda message: None)
    h = float(h)
    inertial = f'<inertial pos="0.5 0 0" mass="1" diaginertia="0.001 {1 / 12!r} {1 / 12!r}"/>'
    hinge = '<joint type="hinge" axis="0 0 1"/>'
    half = float(np.sqrt(0.5))
    turn, back = f"{half!r} 0 0 {half!r}", f"{half!r} 0 0 {-half!r}"
    bodies, closings = [], []
    for k in range(n + 1):
        inner = (
            f'<body name="h{k + 1}" pos="1 0 0" quat="{back}">{hinge}{inertial}</body>'
            if k < n
            else ""
        )
        bodies.append(
            f'<body name="v{k}" pos="{k} 0 0" quat="{turn}">{hinge}{inertial}{inner}</body>'
        )
        if k:
            closings.append(
                f'<connect body1="h{k}" body2="v{k}" anchor="1 0 0" solref="{2 * h!r} 1" '
                'solimp="0.99999 0.99999 0.001"/>'
            )
    solver = 'integrator="RK4" tolerance="1e-14" iterations="200"'
    text = f"""<mujoco>
        <option gravity="0 {-GRAVITY} 0" timestep="{h!r}" {solver}>
            <flag contact="disable"/>
        </option>
        <worldbody>{"".join(bodies)}</worldbody>
        <equality>{"".join(closings)}</equality></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    joints = {model.body(model.jnt_bodyid[j]).name: j for j in range(model.njnt)}
    for name, j in joints.items():
        data.qvel[j] = -1.0 if name.startswith("v") else 1.0
    positions = np.zeros((OUTPUTS, model.nq))
    began = perf_counter()
    for k in range(OUTPUTS):
        mujoco.mj_step(model, data, round(END / h / OUTPUTS))
        positions[k] = data.qpos
    spent = perf_counter() - began
    angle = np.pi / 2 + positions[-1, joints["v0"]]
    error = float(np.abs(np.array([np.cos(angle), np.sin(angle)]) - truth).max())
    return (spent, error, np.nan) if np.isfinite(error) else (np.inf, np.inf, np.inf)


if __name__ == "__main__":
    main()
