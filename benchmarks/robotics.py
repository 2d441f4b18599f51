"""What quantities of robotics cost, here and in Pinocchio, measured alternately in one process.

    python benchmarks/robotics.py            rewrites "robotics" of RESULTS.md
    python benchmarks/robotics.py --quick    small batches, prints only

Pinocchio is called by its Python package, a state at a time: it has no batches of these. What such
a call costs besides is told by one that computes nothing. Ours is called from Python, in a loop in
C over single states, and in batches that write where the last ones were. Every comparison begins
with a check that both compute the same numbers.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import numpy as np
import pinocchio as pin

import models
from derivation import table, versions, write_section
from kernels import BATCH, Peers
from measuring import Call, medians, microseconds

HEAD = [
    "",
    "Pinocchio",
    "mechgraph, a call",
    "in C",
    "batch",
    "Pinocchio / in C",
    "Pinocchio / batch",
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="small batches, print only")
    quick = parser.parse_args().quick
    parts = [f"## Robotics\n\n{versions()} Microseconds for one state; batches of {BATCH} states."]
    for title, links in (
        ("arm, 7 freedoms", models.arm()),
        ("humanoid-like tree, 38 freedoms", models.humanoid()),
    ):
        parts.append(section(title, Peers(links, 64 if quick else BATCH)))
        print(parts[-1], flush=True)
    if not quick:
        write_section("robotics", "\n\n".join(parts))


def section(title: str, peers: Peers) -> str:
    """Every quantity in both programs."""
    rows = [[name, *_row(peers, *pair)] for name, pair in _quantities(peers).items()]
    nothing = medians({"nothing": peers.data.__repr__, "empty": lambda: pin.skew(_ZERO)})["empty"]
    note = f"A call of Pinocchio's that computes next to nothing takes {microseconds(nothing)}."
    return f"### {title}\n\n{note}\n\n{table(HEAD, rows)}"


_ZERO = np.zeros(3)
Own = tuple[Any, Callable[..., np.ndarray], bool]  # key of the kernel, function, whether u is asked


def _quantities(peers: Peers) -> dict[str, tuple[Own, Call]]:
    """Ours, as a function of q (and u) with what further arguments it takes, and Pinocchio's."""
    eqs, model, data = peers.equations, peers.pin, peers.data
    own, k = eqs.robotics, model.njoints - 1
    place = list(eqs.system.bodies)[-1]
    Q, V, frame = peers.Q[:, 0].copy(), peers.V[:, 0].copy(), pin.LOCAL_WORLD_ALIGNED

    def jacobian() -> np.ndarray:
        pin.computeJointJacobians(model, data, Q)
        return pin.getJointJacobian(model, data, k, frame)

    def jacobian_rate() -> np.ndarray:
        pin.computeJointJacobiansTimeVariation(model, data, Q, V)
        return pin.getJointJacobianTimeVariation(model, data, k, frame)

    def momentum_matrix_rate() -> np.ndarray:
        return pin.dccrba(model, data, Q, V)

    def of_place(method: Any) -> Any:
        return lambda *state, **more: method(place, *state, **more)

    return {
        "Jacobian of a place": (
            (("frame jacobian", place, "world"), of_place(own.frame_jacobian), False),
            jacobian,
        ),
        "its rate": (
            (("frame jacobian rate", place, "world"), of_place(own.frame_jacobian_rate), True),
            jacobian_rate,
        ),
        "Jacobian of the centre of mass": (
            ("centre jacobian", own.centre_of_mass_jacobian, False),
            lambda: pin.jacobianCenterOfMass(model, data, Q),
        ),
        "momentum matrix": (
            ("momentum matrix", own.momentum_matrix, False),
            lambda: pin.computeCentroidalMap(model, data, Q),
        ),
        "its rate, and itself (Pinocchio)": (
            ("momentum matrix rate", own.momentum_matrix_rate, True),
            momentum_matrix_rate,
        ),
        "gravity": (
            ("gravity", own.gravity_efforts, False),
            lambda: pin.computeGeneralizedGravity(model, data, Q),
        ),
        "bias": (
            ("bias", own.bias_efforts, True),
            lambda: pin.nonLinearEffects(model, data, Q, V),
        ),
        "Coriolis matrix": (
            ("coriolis", own.coriolis_matrix, True),
            lambda: pin.computeCoriolisMatrix(model, data, Q, V),
        ),
    }


def _row(peers: Peers, own: Own, peer: Call) -> list[str]:
    key, function, asks_speeds = own
    q, u, eqs = peers.q, peers.u, peers.equations
    one = (q[0], u[0]) if asks_speeds else (q[0],)
    many = (q, u) if asks_speeds else (q,)
    value = function(*one)
    if not peers.floating:  # else Pinocchio's speeds are others; tests compare those
        assert np.allclose(value, peer(), rtol=1e-9, atol=1e-11), key
    kernel = eqs.numeric.kernels["robotics", key]
    assert kernel.compile()
    native = kernel._tiers[1].native()
    rows = [
        np.ascontiguousarray(a)
        for a in (q, u, np.zeros((1, 1)), np.zeros((1, 0)), np.zeros((1, 0)))
    ]
    out = [np.zeros_like(function(*many))]
    arguments = eqs.numeric.arguments(q, u, 0.0, None, None)
    calls: dict[str, Call] = {
        "Pinocchio": peer,
        "call": lambda: function(*one),
        "C": lambda: native.batch(rows, len(q)),
        "batch": lambda: kernel(*arguments, out=out),
    }
    times = medians(calls, 9)
    each = {"C": times["C"] / len(q), "batch": times["batch"] / len(q)}
    return [
        microseconds(times["Pinocchio"]),
        microseconds(times["call"]),
        *(microseconds(value) for value in each.values()),
        *(f"{times['Pinocchio'] / value:.3g}" for value in each.values()),
    ]


if __name__ == "__main__":
    main()
