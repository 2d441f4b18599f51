"""What the equations of a system are for other programs: functions of (q, u, t, w, p) by name."""

from __future__ import annotations

import casadi as ca
from casadi import SX

from ..equations import Equations

ARGUMENTS = ("q", "u", "t", "w", "p")


def exported(equations: Equations) -> dict[str, SX]:
    """What is exported, by name."""
    terms = equations.terms
    results: dict[str, SX] = {
        "accelerations": equations.numeric.closed.udot,
        "mass_matrix": ca.densify(terms.M),
        "forces": terms.f,
        "coordinate_rates": terms.qdot,
        "energies": ca.vertcat(terms.kinetic, terms.potential),
    }
    if equations.constraints:
        results |= {
            "constraints": ca.vertcat(terms.phi, terms.psi),
            "constraint_jacobian": ca.densify(terms.A),
        }
    return results
