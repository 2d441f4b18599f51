"""Forces that grow with constraint forces, such as friction μ √(λ₁² + λ₂²) in a guide.

Along the speeds they are d(λ), homogeneous of first degree: d = (∂d/∂λ) λ. So with the λ of the
motion, which solves

    λ = λ₀ + Λ d(λ),    λ₀ without friction, Λ what a unit force along a speed adds to it,

they are D λ with D = ∂d/∂λ there (no number where no such λ is found), and go with the multipliers
as the contract has it: M u̇ = f + Gᵀλ, G = A + Dᵀ. The few λ that d depends on are found by Newton's
method, written out.
"""

from __future__ import annotations

from collections.abc import Callable

import casadi as ca
import numpy as np
from casadi import SX

from ..numerics.tolerances import GIVEN, NOTHING, TINY

STEPS = 8  # of Newton's method, from the forces without friction
SIZES = 10.0 ** np.arange(-3, 7)  # of constraint forces at which a law is looked at


def drag_slopes(drag: SX, multipliers: SX, forces: Callable[[SX, SX], SX], f: SX, b: SX) -> SX:
    """D = ∂d/∂λ at the λ of the motion; ``forces`` gives λ of f and b without d."""
    known = {x.__hash__() for x in ca.symvar(drag)}
    rows = [k for k in range(multipliers.numel()) if multipliers[k].__hash__() in known]
    speeds = sorted(set(ca.sparsify(drag).sparsity().row()))
    own, units = multipliers[rows], SX.eye(f.numel())
    first = forces(f, b)[rows]
    Lambda = ca.horzcat(
        *(forces(ca.densify(units[:, k]), SX.zeros(b.numel()))[rows] for k in speeds)
    )
    found = first
    for _ in range(STEPS):
        d, slope = _called(drag[speeds], own, found + NOTHING)
        step = ca.solve(SX.eye(len(rows)) - Lambda @ slope, found - first - Lambda @ d)
        found = found - step
    d, slope = _called(drag[speeds], own, found + NOTHING)
    size = GIVEN**2 * (ca.sumsqr(found) + ca.sumsqr(first) + NOTHING)
    # a root of what is negative is no number, and no kink that an integrator has to look for
    balanced = TINY * ca.sqrt(size - ca.sumsqr(found - first - Lambda @ d))
    D = SX(f.numel(), multipliers.numel())
    D[speeds, rows] = slope + balanced
    return ca.sparsify(D)


def _called(d: SX, own: SX, at: SX) -> tuple[SX, SX]:
    value, slope = ca.substitute([d, ca.jacobian(d, own)], [own], [at])
    return value, slope


def is_homogeneous(value: SX, multipliers: SX) -> bool:
    """True if a law doubles with the constraint forces; seen at random states, with forces from
    small to large and of either sign."""
    others = ca.symvar(value)
    forces = {multipliers[k].__hash__() for k in range(multipliers.numel())}
    forced = np.array([x.__hash__() in forces for x in others], dtype=bool)[:, None]
    random, sizes = np.random.default_rng(0), np.append(1.0, np.repeat(SIZES, 4))
    states = random.uniform(0.5, 1.5, (len(others), len(sizes)))
    signs = np.where(np.arange(len(sizes)) > 0, random.choice([-1.0, 1.0], states.shape), 1.0)
    states = states * np.where(forced, sizes * signs, 1.0)
    f = ca.Function("f", [ca.vertcat(*others)], [value])
    once, twice = (np.array(f(x)) for x in (states, np.where(forced, 2.0, 1.0) * states))
    wrong = np.abs(twice - 2 * once) > GIVEN * np.fmax(np.abs(once).max(axis=0), sizes)
    return bool(np.isfinite(once[:, 0]).all() and not wrong.any())  # others may be out of its range
