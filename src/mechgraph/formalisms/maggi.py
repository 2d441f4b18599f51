"""Maggi: the equations projected on the motions that the constraints leave.

Some speeds z are chosen as independent; A u̇ + b = 0 gives the others, u̇ = S ż + e with A S = 0.
The constraint forces Aᵀλ do no work along S, and drop out of

    Sᵀ M S ż = Sᵀ (f − M e),

as many equations as there are freedoms (G. A. Maggi, Principii della teoria matematica del
movimento dei corpi, 1896; Orsino 2016, §3.3.2). ``form`` says how the left side comes about: by
Lagrange's operator, by Appell's energy of accelerations as a function of ż alone, or by Kane's
partial velocities of the independent speeds. λ follows from the equations that are left over.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cache

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import one_of, some_of
from ..closures.complement import Choice, free_columns
from ..errors import ArgumentError, UnsupportedError
from ..motion.chart import Chart
from ..motion.constraint_rows import ConstraintRows, constraint_rows
from ..motion.samples import Samples
from ..numerics.rank import typical_rank
from . import appell, kane, lagrange
from .dynamics import Coefficient, Dynamics

Reduced = tuple[SX, SX]  # Sᵀ M S and Sᵀ (f − M e)


def derive(
    chart: Chart, independent: Sequence[str] | None = None, form: str = "lagrange"
) -> Dynamics:
    """Dynamics with a complement S; ``independent`` names the speeds z, well-determined ones are
    chosen if it is not given."""
    one_of("maggi: form", form, FORMS, UnsupportedError)
    whole, reduce = FORMS[form]
    dynamics, rows = whole(chart), constraint_rows(chart)
    _refuse_friction(rows)
    free = _independent(chart, rows, independent)
    parts = cache(lambda: _complement(rows, free))
    reduced = cache(lambda: reduce(chart, dynamics, *parts()))
    return Dynamics(
        cache(dynamics.M),
        cache(dynamics.f),
        S=lambda: parts()[0],
        coefficients={
            "S": Coefficient(2, lambda: parts()[0]),
            "e": Coefficient(1, lambda: parts()[1]),
            "M": Coefficient(2, lambda: reduced()[0]),
            "f": Coefficient(1, lambda: reduced()[1]),
        },
    )


def _complement(rows: ConstraintRows, free: tuple[int, ...]) -> tuple[SX, SX]:
    """S and e."""
    levels = rows.levels
    found = Choice("partition", free).complement(levels.A)
    return found.C, ca.densify(-found.P @ levels.b)


def _refuse_friction(rows: ConstraintRows) -> None:
    if rows.has_friction or rows.chart.description.switched:
        switching = rows.chart.description.switching
        what = "friction grows with them" if rows.has_friction else f"{switching} is switched"
        raise UnsupportedError(
            f"maggi leaves the constraint forces out, but {what} here; use another formalism"
        )


# --- which speeds are independent -----------------------------------------------------------------


def _independent(
    chart: Chart, rows: ConstraintRows, named: Sequence[str] | None
) -> tuple[int, ...]:
    """Indices of the independent speeds, seen at a few random states on the constraints."""
    speeds = chart.symbols.speeds
    ways = [sign for each in rows.constraints for sign in each.orientation_sign(chart.motion)]
    samples = Samples(chart, rows.levels, ca.vertcat(SX(0, 1), *ways))
    if not samples.met:
        raise UnsupportedError(
            "maggi: no state was found that meets the constraints, so that nothing is known of "
            "independent speeds; use another formalism"
        )
    seen = samples.of(rows.levels.A)
    usual = samples.lengths(rows.levels.A)
    counts = sorted({len(speeds) - typical_rank(A, usual) for A in seen})
    if len(counts) > 1:
        raise UnsupportedError(
            f"maggi: there are {counts[0]} independent speeds at some states and {counts[-1]} at "
            "others, so that no choice serves for all; use another formalism"
        )
    A, freedoms = seen[0] / usual[:, None], counts[0]
    if named is None:
        return tuple(free_columns(A, 0, len(speeds) - freedoms))
    names = some_of("maggi: independent speed", named, speeds)
    free = tuple(speeds.index(name) for name in names)
    if len(free) != freedoms:
        raise ArgumentError(
            f"maggi: there are {freedoms} independent speeds here, got {len(free)} names"
        )
    if typical_rank(np.delete(A, free, axis=1), np.ones(len(A))) < len(speeds) - freedoms:
        raise ArgumentError(
            f"maggi: {', '.join(map(repr, names))} do not determine the motion: the constraints "
            "tie them to each other; choose other speeds, or leave the choice open"
        )
    return tuple(sorted(free))


# --- the minimal equations, in three ways ---------------------------------------------------------


def _project(chart: Chart, dynamics: Dynamics, S: SX, e: SX) -> Reduced:
    M = dynamics.M()
    return S.T @ M @ S, S.T @ (dynamics.f() - M @ e)


def _of_appell(chart: Chart, dynamics: Dynamics, S: SX, e: SX) -> Reduced:
    """∂²/∂ż² and SᵀQ − ∂/∂ż of the energy of accelerations, in the independent ż alone."""
    z, udot = SX.sym("z", S.shape[1]), chart.symbols.udot
    energy = ca.substitute(appell.acceleration_energy(chart), udot, S @ z + e)
    slope = ca.densify(ca.gradient(energy, z))
    at_rest = ca.substitute(slope, z, SX.zeros(z.numel()))
    return ca.jacobian(slope, z), S.T @ appell.applied_forces(chart) - at_rest


def _of_kane(chart: Chart, dynamics: Dynamics, S: SX, e: SX) -> Reduced:
    """Partial velocities of the independent speeds, and what active and inertia forces do along
    them."""
    partial, inertia, forces = kane.partial_velocities(chart)
    own, applied = partial @ S, S.T @ kane.active_forces(chart)
    return own.T @ (inertia @ own), own.T @ (forces - inertia @ (partial @ e)) + applied


Reduce = Callable[[Chart, Dynamics, SX, SX], Reduced]
FORMS: dict[str, tuple[Callable[[Chart], Dynamics], Reduce]] = {
    "lagrange": (lagrange.derive, _project),
    "appell": (appell.derive, _of_appell),
    "kane": (kane.derive, _of_kane),
}
