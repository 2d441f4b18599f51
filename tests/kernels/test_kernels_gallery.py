"""Machine code and CasADi's interpreter agree on every system of the gallery.

They round differently: machine code contracts a·b + c into one operation, so that what cancels to
zero in one of them is mere rounding in the other. Whatever is decided by such a zero shows here.
"""

from __future__ import annotations

import runpy

import casadi as ca
import numpy as np
import pytest

import mechgraph as mg
from mechgraph import gallery
from mechgraph.kernels import Kernel

LARGE = {
    "ball_bearing",
    "bicycle",
    "bicycle composed",
    "branched_tree",
    "delta_robot",
    "delta_robot composed",
    "five_bar composed",
    "newtons_cradle",
    "omni_vehicle",
    "rattleback",
    "skateboard",
    "slider_crank_3d",
    "slider_crank_3d composed",
    "snakeboard",
    "trough",
    "trough composed",
    "wheelset",
}
COMPOSED = [
    f"{name} composed"
    for name in gallery.names()
    if "def composed()" in gallery.load(name).path.read_text(encoding="utf-8")
]
MOTIONS = [
    pytest.param(name, marks=[pytest.mark.slow] * (name in LARGE))
    for name in [*gallery.names(), *COMPOSED]
]
STATES = 9  # more than fit in one register
ROUNDING = 1e-14  # of the arguments, about fifty units in the last place
KNOWN = 1e-7  # what rounding of the arguments may do: stiff springs make 1e-8 of it in the bogie
UNIT = 1.0  # a result that is less is what is left where numbers such as this cancel


def at_start(name: str) -> tuple[mg.Equations, np.ndarray, np.ndarray]:
    """Equations of an example, of its own composition if asked for, and where they start."""
    name, *composed = name.split()
    example = gallery.load(name)
    if composed:
        with pytest.MonkeyPatch.context() as patch:  # for files that lie beside it
            patch.syspath_prepend(example.path.parent)
            equations = runpy.run_path(str(example.path))["composed"]()
        return equations, *equations.assemble({})
    equations = example.system().equations()
    return equations, *equations.assemble(example.start, guess=example.guess)


def motion(equations: mg.Equations) -> Kernel:
    """Slopes, the way back to the constraints, and accelerations."""
    flow = equations.numeric.closed.flow()
    arguments = [flow.q, flow.u, flow.t, flow.w, flow.p, flow.work]
    return Kernel("motion", arguments, [flow.slope, flow.projected_state, flow.udot], [1, 1, 1])


def near(kernel: Kernel, equations: mg.Equations, q: np.ndarray, u: np.ndarray) -> list[np.ndarray]:
    """The start and states beside it, with inputs at random."""
    random = np.random.default_rng(0)
    away = 1e-3 * (np.arange(STATES) > 0)[:, None]
    rows = [np.zeros((STATES, size)) for size in kernel.sizes]
    rows[0] += q + away * random.uniform(-1, 1, (STATES, len(q)))
    rows[1] += u + away * random.uniform(-1, 1, (STATES, len(u)))
    rows[3] += random.standard_normal(rows[3].shape)
    rows[4] += list(equations.terms.symbols.defaults)
    return rows


def interpreted(kernel: Kernel, rows: list[np.ndarray]) -> list[np.ndarray]:
    values = [kernel.function.call([ca.DM(x) for x in state]) for state in zip(*rows, strict=True)]
    return [
        np.array([np.array(value).ravel() for value in some]) for some in zip(*values, strict=True)
    ]


def spread(kernel: Kernel, rows: list[np.ndarray], oracle: list[np.ndarray]) -> list[np.ndarray]:
    """How far each result moves if the arguments are off by rounding, beside the rounding of its
    largest number."""
    far = [ROUNDING * np.abs(result).max(axis=1, initial=UNIT) for result in oracle]
    for seed in range(4):
        signs = np.random.default_rng(seed)
        moved = interpreted(
            kernel, [a * (1 + ROUNDING * signs.choice([-1, 1], a.shape)) for a in rows]
        )
        far = [
            np.maximum(most, np.abs(a - b).max(axis=1, initial=0))
            for most, a, b in zip(far, moved, oracle, strict=True)
        ]
    return far


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", MOTIONS)
def test_machine_code_moves_as_the_interpreter(name):
    """Several states in the lanes of a register and one alone, to rounding in proportion to the
    condition, which is no excuse for everything."""
    equations, q, u = at_start(name)
    kernel = motion(equations)
    rows = near(kernel, equations, q, u)
    oracle = interpreted(kernel, rows)
    allowed = spread(kernel, rows, oracle)
    assert kernel.compile()
    together = kernel(*rows)
    alone = [kernel(*state) for state in zip(*rows, strict=True)]
    for k, (wanted, most) in enumerate(zip(oracle, allowed, strict=True)):
        assert np.isfinite(wanted).all()
        assert (most < KNOWN * np.abs(wanted).max(axis=1, initial=UNIT)).all()
        for mine in (together[k], np.array([results[k] for results in alone])):
            assert (np.abs(mine - wanted).max(axis=1, initial=0) <= 10 * most).all()
