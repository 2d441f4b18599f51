"""``Dynamics``, which a formalism delivers: the mass matrix and forces of M u̇ = f + Aᵀλ, and
whatever else it knows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

from casadi import SX

from ..closures.expressions import Solver
from ..errors import UnsupportedError
from ..motion.chart import Chart
from ..motion.constraint_rows import ConstraintRows
from ..motion.reactions import Recursion
from ..motion.rotors import rotor_terms, spins
from ..motion.speeds import SpeedChart
from ..motion.tree import TreeChart

LARGEST = 20_000_000  # operations of an expression; more take minutes and gigabytes


@dataclass(frozen=True, eq=False)
class Coefficient:
    """A named quantity: a number (``axes`` 0), a vector (1), a matrix (2), or a list of matrices
    (3); ``speeds`` are the names of those that it is along, if these are not the speeds of the
    equations."""

    axes: int
    derive: Callable[[], Any]
    speeds: tuple[str, ...] | None = None

    @cached_property
    def expression(self) -> Any:
        """The expression; a list of matrices for a table."""
        return self.derive()


@dataclass(frozen=True, eq=False)
class Dynamics:
    """``M`` and ``f`` as functions that derive them; cheaper routes where the formalism has them.

    ``solve(τ)`` gives u̇ = M⁻¹ (f + τ) and ``inverse(u̇)`` gives τ = M u̇ − f, both in O(n).
    ``condition`` tells how many digits ``solve`` loses (see ``closures.expressions.Solver``).
    ``coefficients`` are the formalism's own named quantities (Appell's A, K, D, H, for one).
    ``recursion`` gives what passes through the joints, if the formalism knows it.
    ``close`` gives (u̇, λ) of f and b from the constraints, if it has a way of its own.
    ``S`` is a complement of the constraints, A S = 0, if the formalism chooses one.
    """

    M: Callable[[], SX]
    f: Callable[[], SX]
    solve: Callable[[SX], SX] | None = None
    inverse: Callable[[SX], SX] | None = None
    condition: Callable[[], SX] = lambda: SX(0)
    coefficients: Mapping[str, Coefficient] = field(default_factory=dict)
    recursion: Recursion | None = None
    close: Callable[[ConstraintRows], Solver] | None = None
    S: Callable[[], SX] | None = None


def in_speeds(chart: Chart, along_joints: Dynamics) -> Dynamics:
    """Dynamics along the speeds of the joints, τ_J = M_J u̇_J − f_J, turned to those that the user
    chose: with u̇_J = W u̇ + c and virtual power τ = Wᵀ τ_J,

        M = Wᵀ M_J W,    f = Wᵀ (f_J − M_J c),    u̇ = V (u̇_J − c).
    """
    if not isinstance(chart, SpeedChart):
        return along_joints
    V, W, c, joint = chart.V, chart.W, chart.c, along_joints
    M, solve, inverse, condition = cache(joint.M), joint.solve, joint.inverse, joint.condition
    return replace(
        joint,
        M=lambda: W.T @ M() @ W,
        f=lambda: W.T @ (joint.f() - M() @ c),
        solve=None if solve is None else lambda tau: V @ (solve(V.T @ tau) - c),
        inverse=None if inverse is None else lambda udot: W.T @ inverse(W @ udot + c),
        condition=lambda: condition() + chart.condition,
    )


def with_rotors(chart: Chart, dynamics: Dynamics, solve: Any = None) -> Dynamics:
    """Dynamics of bodies, and rotors beside them; their ``solve`` is left out, or another one."""
    if not any(True for _ in spins(chart)):
        return dynamics
    own = cache(lambda: rotor_terms(chart))
    inverse = dynamics.inverse
    return replace(
        dynamics,
        M=lambda: dynamics.M() + own()[0],
        f=lambda: dynamics.f() + own()[1],
        solve=solve,
        inverse=None
        if inverse is None
        else lambda udot: inverse(udot) + own()[0] @ udot - own()[1],
    )


def check_size(chart: Chart, formalism: str, operations: int) -> None:
    """Refuse a tree whose M would take minutes and gigabytes to write down: so many operations for
    every pair of speeds that move a body."""
    if not isinstance(chart, TreeChart):
        return
    speeds = [0]  # on the way to each frame
    for frame in chart.frames[1:]:
        speeds.append(speeds[frame.parent] + len(frame.speeds))
    total = operations * sum(speeds[j] ** 2 for j, _ in chart.carried)
    if total > LARGEST:
        raise UnsupportedError(
            f"{formalism} would take about {total:.0e} operations here, more than the "
            f'{LARGEST:.0e} that an expression may have; use "newton-euler" or "absolute", whose '
            "cost is in proportion to the number of bodies"
        )
