"""Momenta as speeds: p = ∂T/∂u of the kinetic energy T = ½ uᵀM u + p₀ᵀu + T₀.

They are linear in the speeds, p = M u + p₀, and so a choice of speeds like any other (see
``speeds.py``), whose W is M⁻¹: u = M⁻¹ (p − p₀).
"""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX

from ..closures.expressions import Factor
from ..errors import UnsupportedError
from ..model.description import Description, derived_once
from ..numerics.tolerances import RANK
from .energy import kinetic
from .speeds import SpeedChart, joint_chart, sample
from .tree import TreeChart


class MomentumChart(SpeedChart):
    """The coordinates of the joints with the momenta of ``base``'s speeds."""

    def __init__(self, base: TreeChart) -> None:
        s, count = base.symbols, base.symbols.u.numel()
        self.base, T = base, kinetic(base)
        momenta = ca.densify(ca.gradient(T, s.u))
        self.M = ca.jacobian(momenta, s.u)
        _refuse_massless(base, self.M)
        self.p_0 = ca.substitute(momenta, s.u, SX.zeros(count))
        self.T_0 = ca.substitute(T, s.u, SX.zeros(count))
        factor = Factor(self.M)
        inverse, self._inverse_condition = factor.solve(SX.eye(count)), factor.condition
        names = {f"p_{name.removesuffix(_PRIME)}": k for k, name in enumerate(s.speeds)}
        V, v, W = SX.eye(count), SX(count, 1), SX.eye(count)
        if isinstance(base, SpeedChart):
            V, v, W = base.V, base.v, base.W
        super().__init__(base.joints, names, self.M @ V, self.M @ v + self.p_0, W @ inverse)
        self.base_rates = inverse @ (self.symbols.u - self.p_0)

    @property
    def condition(self) -> SX:
        return self._inverse_condition


_PRIME = "'"


@derived_once
def momentum_chart(description: Description) -> MomentumChart:
    """One chart for all who ask."""
    return MomentumChart(joint_chart(description))


def _refuse_massless(chart: TreeChart, M: SX) -> None:
    """Refuse speeds that momenta do not determine: M is singular, whatever the configuration is."""
    if not chart.symbols.speeds:
        return
    best: tuple[float, str] = (0.0, "")
    for values in sample(chart, M):
        size = np.sqrt(np.abs(np.diag(values)))
        unit = values / np.outer(np.where(size > 0, size, 1), np.where(size > 0, size, 1))
        inertias, directions = np.linalg.eigh((unit + unit.T) / 2)
        weakest = np.abs(directions[:, 0]) > 0.5 * np.abs(directions[:, 0]).max()
        moving = (repr(chart.symbols.speeds[k]) for k in np.flatnonzero(weakest))
        best = max(best, (float(inertias[0]), " and ".join(moving)))
    if best[0] < RANK:
        raise UnsupportedError(
            f"hamilton: nothing that moves with {best[1] or 'some speeds'} has inertia, so that "
            "its momentum is always zero and does not tell its speed; give it mass, or use another "
            "formalism"
        )
