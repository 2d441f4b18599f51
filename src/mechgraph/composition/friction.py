"""Forces that grow with constraint forces, such as friction μ √(λ₁² + λ₂²) in a guide.

Along the speeds they are d(λ), homogeneous of first degree: d = (∂d/∂λ) λ. So with the λ of the
motion, which solves

    λ = λ₀ + Λ d(λ),    λ₀ without friction, Λ what a unit force along a speed adds to it,

they are D λ with D = ∂d/∂λ there, and go with the multipliers as the contract has it: M u̇ = f +
Gᵀλ, G = A + Dᵀ. The few λ that d depends on are found by Newton's method, written out.
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from ..closures.expressions import multipliers_of
from ..errors import ModelError
from .node import Route

STEPS = 8  # of Newton's method, from the forces without friction
APART = 1e-30  # from zero, where √(λ₁² + λ₂²) has no slope


def dragged(drag: SX, multipliers: SX, route: Route, A: SX, f: SX, b: SX) -> SX:
    """D = ∂d/∂λ at the λ of the motion."""
    known = {x.__hash__() for x in ca.symvar(drag)}
    rows = [k for k in range(multipliers.numel()) if multipliers[k].__hash__() in known]
    speeds = sorted(set(ca.sparsify(drag).sparsity().row()))
    own, units = multipliers[rows], SX.eye(f.numel())[:, speeds]
    loads = ca.horzcat(f, units)
    rates = ca.horzcat(b, SX.zeros(b.numel(), len(speeds)))
    forces = multipliers_of(route.M, A, loads, route(loads, rates))[rows, :]
    first, Lambda = forces[:, 0], forces[:, 1:]
    found = first
    for _ in range(STEPS):
        d, slope = _called(drag[speeds], own, found + APART)
        step = ca.solve(SX.eye(len(rows)) - Lambda @ slope, found - first - Lambda @ d)
        found = found - step
    D = SX(f.numel(), multipliers.numel())
    D[speeds, rows] = _called(drag[speeds], own, found + APART)[1]
    return ca.sparsify(D)


def _called(d: SX, own: SX, at: SX) -> tuple[SX, SX]:
    value, slope = ca.substitute([d, ca.jacobian(d, own)], [own], [at])
    return value, slope


def check_homogeneous(name: str, value: SX, multipliers: SX) -> None:
    """Refuse a law that does not double with the constraint forces."""
    others = ca.symvar(value)
    random = np.random.default_rng(0)
    f = ca.Function("f", [ca.vertcat(*others)], [value])
    state = random.uniform(0.5, 1.5, len(others))
    forces = {multipliers[k].__hash__() for k in range(multipliers.numel())}
    scale = np.array([2.0 if x.__hash__() in forces else 1.0 for x in others])
    once, twice = (np.array(f(x)).ravel() for x in (state, scale * state))
    if np.abs(twice - 2 * once).max() > 1e-9 * np.abs(once).max(initial=1.0):
        raise ModelError(
            f"force along {name!r}: where it depends on constraint forces, it must grow in "
            "proportion to them, as friction does"
        )
