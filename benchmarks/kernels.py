"""What an evaluation, a rollout and a simulated loop cost, here and in the peers, measured
alternately in one process.

    python benchmarks/kernels.py            all sizes; rewrites "kernels" of RESULTS.md, plot
    python benchmarks/kernels.py --quick    small sizes, prints only

Every comparison begins with a check that all programs compute the same numbers. Times are medians
over repeats in which the programs take turns, so that what disturbs the machine disturbs all of
them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import matplotlib
import mujoco
import mujoco.rollout
import numpy as np
import pinocchio as pin

import models
from derivation import installed, table, versions, write_section
from figures import record
from measuring import Call, medians, microseconds
from mechgraph import Equations

matplotlib.use("Agg")
BATCH = 4096
PEERS = 200  # bodies up to which chains are told to the peers
PEERS_NOTE = (
    "Pinocchio and MuJoCo are called by their Python packages, Drake by its own if it is "
    "installed. What Pinocchio generates "
    "through CasADi is not among them: its module `pinocchio.casadi` is not in the package of the "
    "index."
)
PLOT = Path(__file__).with_name("cost.svg")
PROGRAMS = ("mechgraph", "Pinocchio", "MuJoCo", "Drake")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, print only")
    quick = parser.parse_args().quick
    parts = [
        f"## Kernels\n\n{versions()} Batches of {BATCH} states; times in microseconds for one "
        f"state. {PEERS_NOTE}"
    ]
    with TemporaryDirectory() as folder:
        os.environ["MECHGRAPH_CACHE"] = folder  # so that compiling is that of a first time
        for section in sections(quick):
            print(section, flush=True)
            parts.append(section)
    if not quick:
        write_section("kernels", "\n\n".join(parts))


def sections(quick: bool) -> Iterator[str]:
    yield evaluation_section("arm", "arm, 7 freedoms", models.arm(), quick)
    yield evaluation_section("tree", "humanoid-like tree, 38 freedoms", models.humanoid(), quick)
    yield rollout_section(quick)
    yield cached_start_section()
    yield size_section([2, 10] if quick else [2, 5, 10, 20, 50, 100, 200, 500, 1000], quick)


# --- measuring ------------------------------------------------------------------------------------


def ratio(peer: float | None, own: float) -> str:
    return "–" if peer is None else f"{peer / own:.3g}"


# --- one tree in all programs ---------------------------------------------------------------------


class Peers:
    """One tree in mechgraph, Pinocchio, MuJoCo and Drake, with states that all understand."""

    def __init__(self, links: list[models.Link], count: int = BATCH) -> None:
        self.equations = models.to_mechgraph(links).equations()
        self.pin, self.mj = models.to_pinocchio(links), models.to_mujoco(links)
        self.drake = models.Drake(links) if installed("drake") else None
        self.data, self.mj_data = self.pin.createData(), mujoco.MjData(self.mj)
        random, eqs = np.random.default_rng(0), self.equations
        self.q = random.uniform(-1, 1, (count, len(eqs.coordinates)))
        for four in map(list, eqs.terms.chart.quaternions):
            self.q[:, four] /= np.linalg.norm(self.q[:, four], axis=1, keepdims=True)
        self.u, self.a = random.uniform(-1, 1, (2, count, len(eqs.speeds)))
        self.Q, self.V = np.asfortranarray(self._pin_q().T), np.asfortranarray(self._pin_v().T)
        self.A = np.asfortranarray(self.a.T)
        self.zero = np.zeros(len(eqs.speeds))
        self.floating = bool(eqs.terms.chart.quaternions)
        self.check()

    def _pin_q(self) -> np.ndarray:
        q = self.q.copy()
        for four in map(list, self.equations.terms.chart.quaternions):
            q[:, four] = q[:, np.roll(four, -1)]  # scalar last
        return q

    def _pin_v(self) -> np.ndarray:
        v = self.u.copy()
        if self.equations.terms.chart.quaternions:
            # Pinocchio takes the base's velocity in the base's axes
            R = self.equations.rotation(self.equations.terms.chart.topology.bodies[0], self.q)
            v[:, :3] = np.einsum("kji,kj->ki", R, v[:, :3])
        return v

    def check(self) -> None:
        """All three give the same accelerations."""
        own = self.equations.accelerations(self.q[:1], self.u[:1])[0]
        self.mj_data.qpos[:], self.mj_data.qvel[:] = self.q[0], self.u[0]
        mujoco.mj_forward(self.mj, self.mj_data)
        peer = pin.aba(self.pin, self.data, self.Q[:, 0], self.V[:, 0], self.zero)
        if self.floating:
            R = self.equations.rotation(self.equations.terms.chart.topology.bodies[0], self.q[0])
            peer[:3] = R @ (peer[:3] + np.cross(self.u[0, 3:6], self.V[:3, 0]))
        for name, value in (("MuJoCo", self.mj_data.qacc), ("Pinocchio", peer)):
            error = np.abs(value - own).max() / np.abs(own).max()
            assert error < 1e-9, f"{name} differs by {error:.1e}"
        if self.drake is not None:
            self.check_drake()

    def check_drake(self) -> None:
        """Drake gives the same accelerations, efforts and mass matrix."""
        eqs, drake = self.equations, self.drake
        assert drake is not None
        (q, u, a), n = (self.q[0], self.u[0], self.a[0]), len(eqs.speeds)
        base = list(range(6)) if self.floating else []
        # Drake's speeds from ours: the base's angular velocity is in world axes and comes first
        T = np.eye(n)
        if base:
            R = eqs.rotation(eqs.terms.chart.topology.bodies[0], q)
            T[:6, :6] = np.block([[np.zeros((3, 3)), R], [np.eye(3), np.zeros((3, 3))]])
        quaternion_first = (
            [*range(3, 7), *range(3), *range(7, len(q))] if base else list(range(len(q)))
        )
        drake.q, drake.u = q[quaternion_first], T @ u
        drake.a = T @ a  # ω̇ alike: R ω has the derivative R ω̇
        found = (
            np.linalg.solve(T, drake.forward()),
            T.T @ drake.inverse(),
            T.T @ drake.mass_matrix() @ T,
        )
        for value, own in zip(
            found, (eqs.accelerations(q, u), eqs.efforts(q, u, a), eqs.mass_matrix(q)), strict=True
        ):
            error = np.abs(value - own).max() / np.abs(own).max()
            assert error < 1e-9, f"Drake differs by {error:.1e}"


def evaluation_section(name: str, title: str, links: list[models.Link], quick: bool) -> str:
    peers = Peers(links, 64 if quick else BATCH)
    seconds = _compile(peers)
    measured = {
        title: times
        for times_of in (
            _single_calls(peers),
            _in_c(peers),
            _batches(peers, 1),
            _batches(peers, 2),
            _derivatives(peers),
        )
        for title, times in times_of.items()
    }
    if not quick:
        record(name, {**measured, "compiling": seconds})
    kernel = peers.equations.numeric.kernel(
        "udot", lambda: [peers.equations.numeric.closed.udot], [1]
    )
    note = (
        f"Forward dynamics is {kernel.function.n_instructions():,} operations; its machine code "
        "for single states and for "
        f"batches took {seconds:.1f} s to compile."
    )
    return f"### {title}\n\n{note}\n\n{times_table(measured)}"


def _compile(peers: Peers) -> float:
    eqs, q, u, a = peers.equations, peers.q, peers.u, peers.a
    eqs.accelerations(q[0], u[0])
    began = perf_counter()
    eqs.compile()
    seconds = perf_counter() - began
    eqs.mass_matrix(q[0])
    eqs.efforts(q[0], u[0], a[0])
    for of in ("accelerations", "efforts"):
        eqs.jacobian(of, ("q", "u"), q[0], u[0], a[0])
    eqs.compile()
    return seconds


def times_table(measured: dict[str, dict[str, float]]) -> str:
    """A row for each case: microseconds of each program, and how many times longer the peers
    take."""
    programs = [name for name in PROGRAMS if any(name in times for times in measured.values())]
    head = ["", *programs, *(f"{peer} / mechgraph" for peer in programs[1:])]
    return table(head, [[title, *_cells(times, programs)] for title, times in measured.items()])


def _cells(times: dict[str, float], programs: list[str]) -> list[str]:
    found = [times.get(name) for name in programs]
    return [*map(microseconds, found), *(ratio(peer, times["mechgraph"]) for peer in found[1:])]


def _single_calls(peers: Peers) -> dict[str, dict[str, float]]:
    """Single calls from Python."""
    eqs, q, u, a = peers.equations, peers.q[0], peers.u[0], peers.a[0]
    Q, V, A = peers.Q[:, 0].copy(), peers.V[:, 0].copy(), peers.A[:, 0].copy()
    model, data, zero, mj, mjd = peers.pin, peers.data, peers.zero, peers.mj, peers.mj_data

    def forward() -> None:
        mjd.qpos[:], mjd.qvel[:] = q, u
        mujoco.mj_forward(mj, mjd)

    def inverse() -> None:
        mjd.qpos[:], mjd.qvel[:], mjd.qacc[:] = q, u, a
        mujoco.mj_inverse(mj, mjd)

    cases: dict[str, dict[str, Call]] = {
        "forward dynamics, one call from Python": {
            "mechgraph": lambda: eqs.accelerations(q, u),
            "Pinocchio": lambda: pin.aba(model, data, Q, V, zero),
            "MuJoCo": forward,
        },
        "inverse dynamics, one call from Python": {
            "mechgraph": lambda: eqs.efforts(q, u, a),
            "Pinocchio": lambda: pin.rnea(model, data, Q, V, A),
            "MuJoCo": inverse,
        },
        "mass matrix, one call from Python": {
            "mechgraph": lambda: eqs.mass_matrix(q),
            "Pinocchio": lambda: pin.crba(model, data, Q),
        },
    }
    if peers.drake is not None:
        for calls, call in zip(
            cases.values(),
            (peers.drake.forward, peers.drake.inverse, peers.drake.mass_matrix),
            strict=True,
        ):
            calls["Drake"] = call
    return {title: medians(calls) for title, calls in cases.items()}


def _per_state(times: dict[str, float], count: int) -> dict[str, float]:
    return {name: value / count for name, value in times.items()}


def _in_c(peers: Peers) -> dict[str, dict[str, float]]:
    """Single states one after the other, the loop in C (in C++ for Pinocchio)."""
    eqs, count = peers.equations, len(peers.q)
    kernel = eqs.numeric.kernel("udot", lambda: [eqs.numeric.closed.udot], [1])
    native = kernel._tiers[1].native()
    assert native is not None
    rows = [
        np.ascontiguousarray(a)
        for a in (peers.q, peers.u, np.zeros((1, 1)), np.zeros((1, 0)), np.zeros((1, 0)))
    ]
    pool, TAU, out = pin.ModelPool(peers.pin, 1), np.zeros_like(peers.V), np.zeros_like(peers.V)
    calls: dict[str, Call] = {
        "mechgraph": lambda: native.batch(rows, count),
        "Pinocchio": lambda: pin.abaInParallel(1, pool, peers.Q, peers.V, TAU, out),
    }
    return {"forward dynamics, one state at a time in C": _per_state(medians(calls), count)}


def _batches(peers: Peers, threads: int) -> dict[str, dict[str, float]]:
    eqs, count = peers.equations, len(peers.q)
    pool, TAU, out = (
        pin.ModelPool(peers.pin, threads),
        np.zeros_like(peers.V),
        np.zeros_like(peers.V),
    )
    what = f"batch, {threads} thread{'s' * (threads > 1)}"
    cases: dict[str, dict[str, Call]] = {
        f"forward dynamics, {what}": {
            "mechgraph": lambda: eqs.accelerations(peers.q, peers.u, threads=threads),
            "Pinocchio": lambda: pin.abaInParallel(threads, pool, peers.Q, peers.V, TAU, out),
        },
        f"inverse dynamics, {what}": {
            "mechgraph": lambda: eqs.efforts(peers.q, peers.u, peers.a, threads=threads),
            "Pinocchio": lambda: pin.rneaInParallel(threads, pool, peers.Q, peers.V, peers.A, out),
        },
        f"mass matrix, {what}": {"mechgraph": lambda: eqs.mass_matrix(peers.q, threads=threads)},
    }
    return {title: _per_state(medians(calls, 9), count) for title, calls in cases.items()}


def _derivatives(peers: Peers) -> dict[str, dict[str, float]]:
    """∂/∂q and ∂/∂u together, written where the last ones were, as Pinocchio does.

    Pinocchio has no batch for them, so its C++ is called state by state.
    """
    eqs, count, model, data = peers.equations, len(peers.q), peers.pin, peers.data
    Q, V, A, zero = peers.Q[:, 0].copy(), peers.V[:, 0].copy(), peers.A[:, 0].copy(), peers.zero

    def own(of: str) -> Call:
        out = eqs.jacobian(of, ("q", "u"), peers.q, peers.u, peers.a)
        return lambda: eqs.jacobian(of, ("q", "u"), peers.q, peers.u, peers.a, out=out)

    forward = medians(
        {
            "mechgraph": own("accelerations"),
            "Pinocchio": lambda: pin.computeABADerivatives(model, data, Q, V, zero),
        },
        7,
    )
    inverse = medians(
        {
            "mechgraph": own("efforts"),
            "Pinocchio": lambda: pin.computeRNEADerivatives(model, data, Q, V, A),
        },
        7,
    )
    for times in (forward, inverse):
        times["mechgraph"] /= count
    return {
        "derivatives of forward dynamics, batch": forward,
        "derivatives of inverse dynamics, batch": inverse,
    }


# --- rollouts -------------------------------------------------------------------------------------


def rollout_section(quick: bool) -> str:
    """Steps of many trajectories: symplectic Euler on both sides, and Runge–Kutta 4."""
    peers = Peers(models.arm(), 64 if quick else BATCH)
    steps, h = 50, 0.002
    state = np.hstack([np.zeros((len(peers.q), 1)), peers.q, peers.u])
    measured = {}
    for method, integrator in (
        ("symplectic", mujoco.mjtIntegrator.mjINT_EULER),
        ("rk4", mujoco.mjtIntegrator.mjINT_RK4),
    ):
        peers.mj.opt.integrator, peers.mj.opt.timestep = integrator, h
        data = mujoco.MjData(peers.mj)
        calls: dict[str, Call] = {
            "mechgraph": lambda method=method: peers.equations.rollout(
                peers.q, peers.u, step=h, steps=steps, method=method
            ),  # type: ignore[misc]
            "MuJoCo": lambda data=data: mujoco.rollout.rollout(peers.mj, data, state, nstep=steps),  # type: ignore[misc]
        }
        own = peers.equations.rollout(peers.q[:2], peers.u[:2], step=h, steps=steps, method=method)
        other = mujoco.rollout.rollout(peers.mj, data, state[:2], nstep=steps)[0]
        error = np.abs(other[:, -1, 1 : 1 + peers.q.shape[1]] - own.q[:, -1]).max()
        assert error < 1e-8, f"{method}: rollouts differ by {error:.1e}"
        times = medians(calls, 3)
        measured[f"one step, {method}"] = _per_state(times, len(peers.q) * steps)
    if not quick:
        record("rollouts", measured)
    title = f"Rollouts of the arm, {len(peers.q)} trajectories of {steps} steps, one thread"
    return f"### {title}\n\n{times_table(measured)}"


# --- cost against size ----------------------------------------------------------------------------


def size_section(sizes: list[int], quick: bool) -> str:
    """Forward dynamics of chains, a batch on one thread; the peers up to 200 bodies."""
    rows, points = [], []
    for n in sizes:
        count = 16 if quick else max(16, min(BATCH, 40_000 // n))
        seconds, times = _chain_times(n, count) if n <= PEERS else _own_chain_times(n, count)
        points.append((n, times))
        rows.append(
            [
                str(n),
                *_cells(times, list(PROGRAMS[:3])),
                microseconds(times["mechgraph"] / n),
                f"{seconds:.1f} s",
            ]
        )
    if not quick:
        _plot(points)
        record("chains", {str(n): times["mechgraph"] / n for n, times in points})
    ratios = ["Pinocchio / mechgraph", "MuJoCo / mechgraph"]
    head = ["bodies", "mechgraph", "Pinocchio", "MuJoCo", *ratios, "for each body", "compiled in"]
    title = "### Forward dynamics of a spatial chain against its size, batch, one thread"
    return f"{title}\n\n{table(head, rows)}\n\n![cost](cost.svg)"


def _compiled_chain(eqs: Equations, q: np.ndarray, u: np.ndarray) -> float:
    """Seconds for the machine code of forward dynamics, for single states and for batches."""
    eqs.accelerations(q[0], u[0])
    began = perf_counter()
    assert eqs.compile(), "no compiler"
    return perf_counter() - began


def _chain_times(n: int, count: int) -> tuple[float, dict[str, float]]:
    peers = Peers(models.chain(n), count)
    eqs = peers.equations
    seconds = _compiled_chain(eqs, peers.q, peers.u)
    pool, TAU, out = pin.ModelPool(peers.pin, 1), np.zeros_like(peers.V), np.zeros_like(peers.V)

    def forward() -> None:
        peers.mj_data.qpos[:], peers.mj_data.qvel[:] = peers.q[0], peers.u[0]
        mujoco.mj_forward(peers.mj, peers.mj_data)

    calls: dict[str, Call] = {
        "mechgraph": lambda: eqs.accelerations(peers.q, peers.u),
        "Pinocchio": lambda: pin.abaInParallel(1, pool, peers.Q, peers.V, TAU, out),
        "MuJoCo": forward,
    }
    times = medians(calls, 5)
    return seconds, {key: value / (1 if key == "MuJoCo" else count) for key, value in times.items()}


def _own_chain_times(n: int, count: int) -> tuple[float, dict[str, float]]:
    """Beyond: Pinocchio's data of 500 bodies take 8 GB (a table with the third power of the size),
    MuJoCo's time is cubic."""
    eqs = models.to_mechgraph(models.chain(n)).equations()
    q, u = np.random.default_rng(0).uniform(-1, 1, (2, count, n))
    seconds = _compiled_chain(eqs, q, u)
    return seconds, {
        "mechgraph": medians({"mechgraph": lambda: eqs.accelerations(q, u)}, 9)["mechgraph"] / count
    }


CACHED_START = """
import time, numpy as np, models
eqs = models.to_mechgraph(models.humanoid()).equations()
eqs.numeric.closed.udot
q, u = np.array(eqs.terms.chart.reference), np.zeros(len(eqs.speeds))
began = time.perf_counter()
eqs.accelerations(q, u)
print(time.perf_counter() - began)
eqs.compile()
"""


def cached_start_section() -> str:
    """From the wish for a number to the number, in a new process that finds its machine code on the
    disk."""
    command, folder = [sys.executable, "-c", CACHED_START], Path(__file__).parent
    runs = [
        subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        for _ in range(6)
    ]
    later = runs[1:]  # the first may have had to compile
    seconds = float(np.median([float(run.stdout) for run in later]))
    return (
        "### Cached start\n\nThe first accelerations of the humanoid-like tree in a new process, "
        "after derivation, its machine "
        f"code being on the disk: {1e3 * seconds:.0f} ms."
    )


def _plot(points: list[tuple[int, dict[str, float]]]) -> None:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4), layout="constrained")
    axes = figure.subplots()
    for name in ("mechgraph", "Pinocchio", "MuJoCo"):
        measured = [(n, times[name] * 1e6) for n, times in points if name in times]
        axes.loglog(*zip(*measured, strict=True), "o-", label=name)
    axes.set(
        xlabel="bodies in the chain",
        ylabel="µs for one state",
        title="Forward dynamics of a spatial chain",
    )
    axes.grid(alpha=0.3)
    axes.legend()
    figure.savefig(PLOT, metadata={"Date": None})


if __name__ == "__main__":
    main()
