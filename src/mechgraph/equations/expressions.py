"""The equations of motion as expressions, whatever formalism they come from.

With coordinates q, speeds u, inputs w, parameters p, time t:

    q̇ = N u,    M u̇ = f + Aᵀ λ,    φ(q, t) = 0,    ψ(q, u, t) = 0,    A u̇ + b = 0

(with G in place of A in the dynamics where friction goes with the constraint forces).

Rows of A come in this order: derivatives of the position constraints, velocity constraints,
acceleration constraints.
"""

from __future__ import annotations

from functools import cached_property

import casadi as ca
import numpy as np
from casadi import SX
from scipy.sparse import csc_matrix

from ..closures import sparse
from ..closures.closure import CLOSURES, ITERATIONS, Solver, balance, completion, drag, solve_tree
from ..formalisms import Dynamics
from ..kernels import flow
from ..model.contact.contacts import RigidContact
from ..model.description import Description
from ..motion.constraint_rows import Constrained
from ..motion.kinematics import Kinematics, Symbols
from ..motion.loads import potential
from ..motion.reactions import Reactions


class Expressions:
    """Names and expressions; each is derived when it is first asked for."""

    def __init__(
        self, kinematics: Kinematics, dynamics: Dynamics, formalism: str, closure: str
    ) -> None:
        self.tree = kinematics  # in joint coordinates, whatever those of the formalism are
        self.kinematics: Kinematics = dynamics.kinematics or kinematics
        self.dynamics = dynamics
        self.formalism, self.closure = formalism, closure
        self.constrained = Constrained(self.kinematics)
        self.reactions = Reactions(self.kinematics, self.constrained)
        self._motions: dict[tuple[bool, bool], flow.Flow] = {}

    # --- names ------------------------------------------------------------------------------------

    @property
    def system(self) -> Description:
        """The description that these equations came from."""
        return self.kinematics.system

    @property
    def symbols(self) -> Symbols:
        """The variables q, u, w, p, t as CasADi symbols."""
        return self.kinematics.symbols

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of q."""
        return self.symbols.coordinates

    @property
    def speeds(self) -> tuple[str, ...]:
        """Names of u."""
        return self.symbols.speeds

    @property
    def inputs(self) -> tuple[str, ...]:
        """Names of w."""
        return self.symbols.inputs

    @property
    def parameters(self) -> tuple[str, ...]:
        """Names of p."""
        return self.symbols.parameters

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of the rows of A, and so of λ."""
        return self.constrained.names

    # --- expressions ------------------------------------------------------------------------------

    @property
    def N(self) -> SX:
        """Kinematics: q̇ = N(q) u."""
        return self.kinematics.N

    @cached_property
    def M(self) -> SX:
        """Mass matrix M(q, t)."""
        return self.dynamics.M()

    @cached_property
    def f(self) -> SX:
        """Applied minus inertia forces f(q, u, t, w)."""
        return ca.densify(self.dynamics.f())

    @property
    def contacting(self) -> bool:
        """True if there are rigid contacts, which a simulation opens and closes."""
        return any(
            isinstance(constraint, RigidContact) for constraint in self.system.constraints.values()
        )

    @property
    def phi(self) -> SX:
        """Position constraints φ(q, t)."""
        return self.constrained.phi

    @property
    def psi(self) -> SX:
        """Velocity constraints ψ(q, u, t): the rates of φ, then those given at this level."""
        return self.constrained.psi

    @property
    def A(self) -> SX:
        """Constraint Jacobian: ∂ψ/∂u, then the rows given at acceleration level."""
        return self.constrained.A

    @property
    def b(self) -> SX:
        """The rest of the acceleration level A u̇ + b = 0."""
        return self.constrained.b

    @cached_property
    def udot(self) -> SX:
        """u̇(q, u, t, w) with all constraints, as one expression: the articulated-body recursion,
        or the closure."""
        if self.constraints:
            return self._solution[0]
        if self.dynamics.solve is not None:
            return self.dynamics.solve(SX.zeros(self.symbols.u.numel()))
        return solve_tree(self.M, self.f)

    @property
    def lam(self) -> SX:
        """λ(q, u, t, w), as one expression; of redundant constraints not the least-norm ones to the
        last digit."""
        return self._solution[1] if self.constraints else SX(0, 1)

    @cached_property
    def _solution(self) -> tuple[SX, SX]:
        return self.closed(self.f, self.b)

    def closed(self, f: SX, b: SX) -> tuple[SX, SX]:
        """(u̇, λ) from M u̇ = f + Gᵀλ, A u̇ + b = 0 by the closure, for any f and b."""
        return self._closing(self.A, self.constrained.G if self.constrained.dragging else None)(
            f, b
        )

    def _closing(self, A: SX, G: SX | None = None, iterations: int = ITERATIONS) -> Solver:
        """(u̇, λ) as a function of f and b; factors are those of all its calls."""
        s = completion(self.M, A) if self._massless else None
        M = self.M if s is None else self.M + s * A.T @ A
        scale = balance(M, A)
        scaled = ca.diag(scale) @ A
        closure = CLOSURES[self.closure].expression
        solver = (
            closure(M, scaled, iterations) if G is None else drag(M, scaled, ca.diag(scale) @ G)
        )

        def solution(f: SX, b: SX) -> tuple[SX, SX]:
            udot, lam = solver(f if s is None else f - s * A.T @ b, scale * b)
            return udot, scale * lam

        return solution

    @cached_property
    def _massless(self) -> bool:
        """True if some motion has no inertia, so that only constraints determine it: M is
        singular."""
        if self.kinematics.chain_end:
            return True
        s = self.symbols
        random = np.random.default_rng(0)
        q = np.array(self.kinematics.reference) + random.uniform(-1, 1, len(self.coordinates))
        M = ca.Function("M", [s.q, s.t, s.p], [self.M])(q, 0.0, list(self.system.defaults.values()))
        return sparse.is_singular(sparse_matrix(self.M, np.array(M.nonzeros())))

    @cached_property
    def tau(self) -> SX:
        """M u̇ − f for u̇ as symbols: recursive Newton–Euler where the formalism has it."""
        udot = self.symbols.udot
        return (
            self.dynamics.inverse(udot)
            if self.dynamics.inverse is not None
            else self.M @ udot - self.f
        )

    @cached_property
    def kept(self) -> SX | None:
        """(q, u) brought back to the constraints by one Newton step, of least kinetic energy; None
        if nothing is to keep."""
        s = self.symbols
        if not self.psi.numel() and not self.kinematics.quaternions:
            return None
        q, u, still = SX(s.q), s.u, SX.zeros(s.u.numel())
        count, total = self.phi.numel(), self.psi.numel()
        hold = (
            self._closing(self.A[:total, :], iterations=1) if total else None
        )  # the next step meets what this one leaves
        if hold is not None and count:
            place = hold if count == total else self._closing(self.A[:count, :], iterations=1)
            q = q + self.N @ place(still, self.phi)[0]
        for four in map(list, self.kinematics.quaternions):
            q[four] = q[four] / ca.norm_2(q[four])
        if hold is not None:
            u = u + hold(still, ca.substitute(self.psi, s.q, q))[0]
        return ca.vertcat(q, u)

    @cached_property
    def kinetic(self) -> SX:
        """T = Σ ½ m v_C² + ½ ω·I ω."""
        total = SX(0)
        for j, body in enumerate(self.kinematics.carried):
            if body is not None:
                omega, v = self.kinematics.twists[j]
                v_C = v + ca.cross(omega, body.com)
                total += (body.mass * ca.dot(v_C, v_C) + ca.dot(omega, body.inertia @ omega)) / 2
        return total

    @cached_property
    def potential(self) -> SX:
        """V: gravity and the conservative parts of all forces."""
        return potential(self.kinematics)

    @property
    def power(self) -> SX:
        """Power that changes T + V, an expression of u̇ and λ as well, because drives have to move
        what they drive."""
        return self.reactions.power

    @cached_property
    def work_rates(self) -> SX:
        """Power supplied and power dissipated, as expressions of (q, u, t, w); empty if nothing
        does either."""
        powers = ca.vertcat(self.reactions.supplied, self.reactions.dissipated)
        if powers.is_zero() and not self.contacting:
            return SX(0, 1)
        return ca.densify(
            ca.substitute(powers, self.force_symbols, ca.vertcat(self.udot, self.lam))
        )

    def motion(self, udot: SX | None = None, keep: bool = True, account: bool = False) -> flow.Flow:
        """q̇, u̇ (or another one) and the way back to the constraints, for integrators in machine
        code.

        With ``account``, the work that is supplied and dissipated is integrated along.
        """
        s, key = self.symbols, (keep, account)
        if udot is None and key in self._motions:
            return self._motions[key]
        kept, rates = self.kept if keep else None, self.work_rates if account else SX(0, 1)
        motion = flow.Flow(
            s.q,
            s.u,
            s.t,
            s.w,
            s.p,
            self.kinematics.qdot,
            self.udot if udot is None else udot,
            kept,
            work_rates=rates,
        )
        if udot is None:
            self._motions[key] = motion
        return motion

    @property
    def force_symbols(self) -> SX:
        """(u̇, λ): what reactions and power depend on beside q, u, t, w, p."""
        return ca.vertcat(self.symbols.udot, self.constrained.multipliers)


def sparse_matrix(pattern: SX, entries: np.ndarray) -> csc_matrix:
    """The matrix of that pattern with these entries."""
    sparsity = pattern.sparsity()
    return csc_matrix((entries, sparsity.row(), sparsity.colind()), pattern.shape)
