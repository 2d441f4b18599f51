"""From a description to the first number: how long derivation takes, here and in SymPy, and what an
evaluation then costs.

    python benchmarks/derivation.py            all sizes; rewrites "derivation" of RESULTS.md
    python benchmarks/derivation.py --quick    small sizes, prints only

1. A chain of 30 bodies on spatial revolutes by ``newton-euler``, phase by phase. The aim is one
   second for all.
2. The planar pendulum of n links: every formalism against SymPy's KanesMethod and LagrangesMethod.
   Each point is a process of its own; imports are not counted. Every number is checked: all must
   give the same accelerations.
3. One evaluation of the forward dynamics, interpreted and compiled, against Pinocchio's
   articulated-body recursion.

Times are processor time, which an idle machine also makes one wait, and which stays comparable on a
busy one.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.metadata
import json
import os
import platform
import re
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

import mechgraph as mg

RESULTS = Path(__file__).with_name("RESULTS.md")
BUDGET = 60  # seconds of processor time that one point may take, imports included
PATIENCE = 10 * BUDGET  # seconds after which a point is given up on a busy machine
LONG = 2.0  # seconds from which a point is measured once
GRAVITY = 9.81
AGREEMENT = (
    1e-9  # relative; the peers solve other systems of linear equations, so a few digits are lost
)

PACKAGES = ("casadi", "numpy", "sympy", "pin", "mujoco", "exudyn", "drake")

State = tuple[np.ndarray, np.ndarray]
Point = dict[str, Any]  # what is measured: seconds and more
Run = Callable[[str, int], Point | None]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="small sizes; print only")
    parser.add_argument(
        "--point", nargs=2, metavar=("TOOL", "N"), help="one point of a table, as JSON"
    )
    options = parser.parse_args()
    if options.point:
        tool, n = options.point[0], int(options.point[1])
        resource.setrlimit(resource.RLIMIT_CPU, (BUDGET, BUDGET + 5))
        print(json.dumps(run_here(tool, n)))
        return
    figures: dict[str, Any] = {}
    if options.quick:
        sections = [
            chain_section([7], run_apart, figures),
            pendulum_section([1, 2], run_here, figures),
            evaluation_section([7]),
        ]
    else:
        sections = [
            chain_section([7, 30, 50], fastest, figures),
            pendulum_section(range(1, 11), fastest, figures),
            evaluation_section([7, 30]),
        ]
    text = "\n\n".join(["## Derivation", versions(), *sections])
    print(text)
    if not options.quick:
        from figures import record

        write_section("derivation", text)
        record("derivation", figures)


# --- 1. a spatial chain, phase by phase -----------------------------------------------------------


def spatial_chain(n: int, seed: int = 1) -> mg.System:
    """n bodies, each turning about a random axis at a random place of the one before."""
    random = np.random.default_rng(seed)
    system = mg.System(f"chain of {n}", gravity=(0, 0, -GRAVITY))
    parent = system.ground
    for k in range(n):
        inertia, com, at = (
            np.diag(random.uniform(1, 2, 3)),
            random.uniform(-0.3, 0.3, 3),
            random.uniform(-0.5, 0.5, 3),
        )
        body = system.body(f"body {k}", mass=random.uniform(1, 3), com=com, inertia=inertia)
        turned = [("z", random.uniform(-3, 3)), ("x", random.uniform(-3, 3))]
        system.revolute(f"q{k}", parent, body, axis="z", at=at, orientation=turned)
        parent = body
    return system


def chain_section(sizes: Iterable[int], run: Run, figures: dict[str, Any]) -> str:
    points = {n: run("chain", n) for n in sizes}
    figures |= {
        f"chain of {n}": point["seconds"] for n, point in points.items() if point is not None
    }
    start = cached_start(7)
    if start is not None:
        figures["cached start"] = start["seconds"]
    head = [
        "bodies",
        "description",
        "kinematics and tracing",
        "kernel and first number",
        "all",
        "operations",
    ]
    rows = [chain_row(n, point) for n, point in points.items()]
    if start is not None:
        rows.append(chain_row(7, start, " (machine code in the cache)"))
    note = (
        "Without a compiler, except for the last row: there the first number comes from machine "
        "code of an earlier process."
    )
    return f"### Spatial chain, forward dynamics by `newton-euler`\n\n{note}\n\n{table(head, rows)}"


def cached_start(n: int) -> Point | None:
    """A chain whose machine code another process left in the cache; None without a compiler or
    Pinocchio."""
    if installed("pin") is None:
        return None
    with tempfile.TemporaryDirectory() as cache:
        first = run_apart("evaluation", n, MECHGRAPH_CACHE=cache)
        return (
            run_apart("chain", n, MECHGRAPH_CACHE=cache)
            if first is not None and first["tier"] == "machine code"
            else None
        )


def chain_row(n: int, point: Point | None, how: str = "") -> list[str]:
    if point is None:
        return [str(n), *["–"] * 5]
    return [
        f"{n}{how}",
        *map(seconds, [*point["phases"], point["seconds"]]),
        f"{point['operations']:,}",
    ]


def chain_point(n: int) -> Point:
    """Seconds of each phase and of all, and the length of the result."""
    import mechgraph.model.validation  # noqa: F401  (before the clock starts)

    laps = [process_time()]
    system = spatial_chain(n)
    laps.append(process_time())
    equations = system.equations("newton-euler")
    expression = equations.numeric.closed.udot
    laps.append(process_time())
    equations.accelerations(np.zeros(n), np.zeros(n))
    laps.append(process_time())
    count = operations(equations, expression)
    return {"phases": np.diff(laps).tolist(), "seconds": laps[-1] - laps[0], "operations": count}


def operations(equations: mg.Equations, expression: object) -> int:
    """Operations of the kernel, shared subexpressions counted once."""
    import casadi as ca

    s = equations.terms.symbols
    return int(
        ca.Function("f", [s.q, s.u, s.t, s.w, s.p], [expression], {"cse": True}).n_instructions()
    )


# --- 2. the planar pendulum against SymPy ---------------------------------------------------------


def pendulum_state(n: int) -> State:
    """Angles to the vertical and their rates, all different."""
    k = np.arange(1, n + 1)
    return 0.3 + 0.1 * np.sin(k), 0.5 * np.cos(k)


def masses_and_lengths(n: int) -> State:
    k = np.arange(n)
    return 1 + 0.1 * k, 0.5 + 0.05 * k


def joint_state(n: int) -> State:
    """The same state in angles between neighbours."""
    angles, rates = (np.diff(x, prepend=0.0) for x in pendulum_state(n))
    return angles, rates


def pendulum_by_mechgraph(n: int, formalism: str) -> np.ndarray:
    """Point masses on massless rods as a chain of revolutes; masses and lengths are parameters."""
    system = mg.System("pendulum", gravity=(0, -GRAVITY, 0))
    parent, at = system.ground, (0, 0, 0)
    for k, (mass, length) in enumerate(zip(*masses_and_lengths(n), strict=True)):
        end = (0, -system.parameter(f"l{k}", length), 0)
        body = system.body(f"rod {k}", mass=system.parameter(f"m{k}", mass), com=end, inertia=0)
        system.revolute(f"q{k}", parent, body, axis="z", at=at)
        parent, at = body, end
    return np.cumsum(system.equations(formalism).accelerations(*joint_state(n)))


def pendulum_by_sympy(n: int, method: str, angles: str) -> np.ndarray:
    """The same pendulum in SymPy, lambdified with shared subexpressions."""
    import sympy as sm
    from sympy.physics import mechanics as me

    q, m, lengths, g = (
        me.dynamicsymbols(f"q:{n}"),
        sm.symbols(f"m:{n}"),
        sm.symbols(f"l:{n}"),
        sm.Symbol("g"),
    )
    rates = (
        me.dynamicsymbols(f"u:{n}") if method == "KanesMethod" else [angle.diff() for angle in q]
    )
    frame, particles, loads = sympy_pendulum(q, rates, m, lengths, g, angles)
    if method == "KanesMethod":
        solver = me.KanesMethod(
            frame,
            q_ind=q,
            u_ind=rates,
            kd_eqs=[a.diff() - b for a, b in zip(q, rates, strict=True)],
        )
        solver.kanes_equations(particles, loads)
    else:
        solver = me.LagrangesMethod(me.Lagrangian(frame, *particles), q)
        solver.form_lagranges_equations()
    function = sm.lambdify(
        [q, rates, m, lengths, g], [solver.mass_matrix, solver.forcing], cse=True
    )
    state = joint_state(n) if angles == "joint" else pendulum_state(n)
    mass, force = function(*state, *masses_and_lengths(n), GRAVITY)
    found = np.linalg.solve(mass, force).ravel()
    return np.cumsum(found) if angles == "joint" else found


def sympy_pendulum(q: list, rates: list, m: list, lengths: list, g: object, angles: str) -> tuple:
    """Frame, particles and loads, in angles to the vertical or between neighbours."""
    from sympy.physics import mechanics as me

    frame, particles, loads = me.ReferenceFrame("I"), [], []
    rod, hook = frame, me.Point("O")
    point = hook
    point.set_vel(frame, 0)
    for k, length in enumerate(lengths):
        base = rod if angles == "joint" else frame
        rod = base.orientnew(f"B{k}", "Axis", [q[k], base.z])
        rod.set_ang_vel(base, rates[k] * base.z)
        outer = point.locatenew(f"P{k}", -length * rod.y)
        outer.v2pt_theory(point, frame, rod)
        particles.append(me.Particle(f"Pa{k}", outer, m[k]))
        particles[-1].potential_energy = m[k] * g * outer.pos_from(hook).dot(frame.y)
        loads.append((outer, -m[k] * g * frame.y))
        point = outer
    return frame, particles, loads


FORMALISMS = ("newton-euler", "appell", "lagrange", "kane")  # those in joint angles
SYMPY = {  # column: method, angles, the formalism to compare with
    "KanesMethod": ("KanesMethod", "vertical", "kane"),
    "KanesMethod, joint angles": ("KanesMethod", "joint", "kane"),
    "LagrangesMethod": ("LagrangesMethod", "vertical", "lagrange"),
    "LagrangesMethod, joint angles": ("LagrangesMethod", "joint", "lagrange"),
}
TOOLS: dict[str, Callable[[int], np.ndarray]] = {
    **{name: (lambda n, name=name: pendulum_by_mechgraph(n, name)) for name in FORMALISMS},
    **{name: (lambda n, how=how: pendulum_by_sympy(n, *how[:2])) for name, how in SYMPY.items()},
}


def pendulum_point(tool: str, n: int) -> Point:
    """Seconds from nothing to the accelerations at one state, and the accelerations."""
    if tool in SYMPY:
        import sympy.physics.mechanics  # noqa: F401  (before the clock starts)
    else:
        import mechgraph.model.validation  # noqa: F401
    began = process_time()
    values = TOOLS[tool](n)
    return {"seconds": process_time() - began, "values": values.tolist()}


def pendulum_section(sizes: Iterable[int], run: Run, figures: dict[str, Any]) -> str:
    """A table of times and one of ratios."""
    measured = dict(pendulum_times(sizes, run))
    figures |= {
        f"pendulum of {n} links": {tool: x for tool, x in spent.items() if x}
        for n, spent in measured.items()
    }
    times = [[str(n), *(seconds(spent[tool]) for tool in TOOLS)] for n, spent in measured.items()]
    ratios = [
        [str(n), *(ratio(spent[peer], spent[how[2]]) for peer, how in SYMPY.items())]
        for n, spent in measured.items()
    ]
    head = ["n", *FORMALISMS, *(f"SymPy {name}" for name in SYMPY)]
    quotients = ["n", *(f"SymPy {peer} / `{how[2]}`" for peer, how in SYMPY.items())]
    return "\n\n".join(
        [
            "### Planar pendulum of n links: from nothing to the first accelerations",
            "mechgraph works in joint angles. SymPy is given angles to the vertical, which suit it "
            "best on this pendulum, and "
            f"joint angles, which a mechanism has. A dash: not done within {BUDGET} s, or not "
            "tried because a shorter pendulum "
            "was not.",
            table(head, times),
            "How many times longer SymPy takes than the formalism of the same name:",
            table(quotients, ratios),
        ]
    )


def pendulum_times(sizes: Iterable[int], run: Run) -> Iterator[tuple[int, dict[str, float | None]]]:
    """n and the seconds of every tool; one that ran out of its budget is not asked for longer
    pendulums."""
    finished = dict.fromkeys(TOOLS, True)
    for n in sizes:
        points = {tool: run(tool, n) if finished[tool] else None for tool in TOOLS}
        finished = {tool: point is not None for tool, point in points.items()}
        check_agreement(n, points)
        yield (
            n,
            {
                tool: None if point is None else float(point["seconds"])
                for tool, point in points.items()
            },
        )


def ratio(peer: float | None, own: float | None) -> str:
    return (
        "–"
        if peer is None or own is None
        else f"{peer / own:.1f}"
        if peer < 10 * own
        else f"{peer / own:.0f}"
    )


def check_agreement(n: int, points: dict[str, Point | None]) -> None:
    values = {
        tool: np.array(point["values"]) for tool, point in points.items() if point is not None
    }
    reference = values["newton-euler"]
    for tool, value in values.items():
        error = np.abs(value - reference).max() / np.abs(reference).max()
        if not error < AGREEMENT:
            raise SystemExit(f"{tool} with n = {n} is off by {error:.1e}")


# --- 3. one evaluation against Pinocchio ----------------------------------------------------------


def evaluation_section(sizes: Iterable[int]) -> str:
    """Interpreted and compiled; the tiers are measured in processes of their own, because they
    change over by themselves."""
    title = "### One evaluation of the forward dynamics"
    if installed("pin") is None:
        return f"{title}\n\nPinocchio (package `pin`, the extra `bench`) is not installed."
    rows = []
    for n in sizes:
        plain, native = run_apart("evaluation", n, MECHGRAPH_CC="none"), run_apart("evaluation", n)
        rows += [evaluation_row(n, "interpreter", plain), evaluation_row(n, "machine code", native)]
    head = [
        "bodies",
        "tier",
        "compiled in",
        "one state",
        "in a batch of 1000",
        "Pinocchio `aba`",
        "one / Pinocchio",
        "batch / Pinocchio",
    ]
    note = (
        "`accelerations` on arrays, one core, against Pinocchio called from Python once for each "
        "state. Both single calls pay "
        "for Python; a batch pays once, which is a part of its advantage."
    )
    return f"{title}\n\n{note}\n\n{table(head, rows)}"


def evaluation_row(n: int, tier: str, point: Point | None) -> list[str]:
    if point is None or point["tier"] != tier:
        return [str(n), tier, *["–"] * 6]
    spent = "" if tier == "interpreter" else seconds(point["compiling"])
    micro = (f"{1e6 * point[key]:.2f} µs" for key in ("one", "batch", "peer"))
    return [
        str(n),
        tier,
        spent,
        *micro,
        *(f"{point[key] / point['peer']:.2f}" for key in ("one", "batch")),
    ]


def evaluation_point(n: int) -> Point:
    """Seconds of one evaluation, with the check that Pinocchio gives the same."""
    import pinocchio as pin

    system, random = spatial_chain(n), np.random.default_rng(2)
    equations = system.equations("newton-euler")
    q, u = random.standard_normal((2, 1000, n))
    began = processor_time()
    compiled = equations.compile()
    compiling = processor_time() - began
    model = pinocchio_chain(system, pin)
    data, zero = model.createData(), np.zeros(n)

    def peer() -> list[np.ndarray]:
        return [pin.aba(model, data, a, b, zero) for a, b in zip(q, u, strict=True)]

    reference = np.array([value.copy() for value in peer()])
    error = np.abs(equations.accelerations(q, u) - reference).max() / np.abs(reference).max()
    if not error < AGREEMENT:
        raise SystemExit(f"the chain of {n} is off Pinocchio's by {error:.1e}")
    return {
        "tier": "machine code" if compiled else "interpreter",
        "compiling": compiling,
        "one": best(lambda: equations.accelerations(q[0], u[0])),
        "batch": best(lambda: equations.accelerations(q, u)) / len(q),
        "peer": best(peer) / len(q),
    }


def pinocchio_chain(system: mg.System, pin: Any) -> Any:
    """The same chain as a Pinocchio model, read from the description's numbers."""
    model, parent, value = pin.Model(), 0, system.snapshot().default_value
    model.gravity.linear = value(system.gravity).ravel()
    for joint in system.joints.values():
        place = pin.SE3(value(joint.parent.rotation), value(joint.parent.at).ravel())
        parent = model.addJoint(parent, pin.JointModelRZ(), place, joint.name)
        body = joint.child.body
        numbers = (value(x) for x in (body.mass, body.com, body.inertia))
        mass, com, inertia = next(numbers), next(numbers), next(numbers)
        model.appendBodyToJoint(
            parent, pin.Inertia(float(mass[0, 0]), com.ravel(), inertia), pin.SE3.Identity()
        )
    return model


# --- measuring ------------------------------------------------------------------------------------


def run_here(tool: str, n: int) -> Point:
    """One point in this process."""
    measure = {"chain": chain_point, "evaluation": evaluation_point}.get(tool)
    return pendulum_point(tool, n) if measure is None else measure(n)


def run_apart(tool: str, n: int, **environment: str) -> Point | None:
    """One point in a fresh process with an empty cache of machine code, or None if it takes longer
    than the budget."""
    command = [sys.executable, __file__, "--point", tool, str(n)]
    with tempfile.TemporaryDirectory() as cache:
        env = {**os.environ, "MECHGRAPH_CACHE": cache, **environment}
        try:
            done = subprocess.run(
                command, capture_output=True, text=True, timeout=PATIENCE, env=env
            )
        except subprocess.TimeoutExpired:
            return None
    if done.returncode == -signal.SIGXCPU:
        return None
    if done.returncode:
        raise SystemExit(f"{tool} with n = {n} failed:\n{done.stderr}")
    return dict(json.loads(done.stdout))


def fastest(tool: str, n: int, repeats: int = 3) -> Point | None:
    """The fastest of some runs; of the first one only, if it is long."""
    points = []
    for _ in range(repeats):
        points.append(run_apart(tool, n))
        if points[0] is None or points[0]["seconds"] > LONG:
            return points[0]
    return min((point for point in points if point is not None), key=lambda point: point["seconds"])


def best(call: Callable[[], object], repeats: int = 7) -> float:
    """Least of several times, each over as many calls as take 100 ms or more: some systems count
    the processor's time in ticks of 4 ms. What the first call does once does not count."""
    call()
    count = 1
    while (spent := timed(call, count)) < 0.1:
        count *= 2
    return min([spent, *(timed(call, count) for _ in range(repeats - 1))]) / count


def timed(call: Callable[[], object], count: int) -> float:
    began = process_time()
    for _ in range(count):
        call()
    return process_time() - began


def processor_time() -> float:
    """Seconds of this process and of those that it has waited for: the compiler works in one of its
    own."""
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return process_time() + children.ru_utime + children.ru_stime


# --- writing it down ------------------------------------------------------------------------------


def versions() -> str:
    tools = [f"mechgraph {mg.__version__}", f"Python {platform.python_version()}"]
    tools += [f"{name} {version}" for name in PACKAGES if (version := installed(name))]
    return f"{datetime.date.today():%Y-%m-%d}; {processor()}, {load()}; {', '.join(tools)}."


def load() -> str:
    """How busy the machine is: what else runs on it makes times longer and less certain."""
    cores = f"{os.cpu_count()} cores"
    return (
        f"{cores} with a load of {os.getloadavg()[1]:.1f}" if hasattr(os, "getloadavg") else cores
    )


def installed(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def processor() -> str:
    """The processor's model, where the system tells."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.exists() else None
    return found[1] if found else platform.machine()


def seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.3f} s" if value < 10 else f"{value:.1f} s"


def table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---:"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def write_section(name: str, text: str) -> None:
    """Put a section between its two marks in RESULTS.md; other benchmarks have theirs."""
    first, last = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    old = RESULTS.read_text() if RESULTS.exists() else f"# Results\n\n{first}\n{last}\n"
    if first not in old:
        old = f"{old.rstrip()}\n\n{first}\n{last}\n"
    before, rest = old.split(first)
    RESULTS.write_text(f"{before}{first}\n\n{text}\n\n{last}{rest.split(last)[1]}")


if __name__ == "__main__":
    main()
