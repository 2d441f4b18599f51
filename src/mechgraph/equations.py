"""``Equations``: what every formalism delivers, as named expressions and as functions on arrays.

With coordinates q, speeds u, inputs w, parameters p, time t:

    q̇ = N u,    M u̇ = f + Aᵀ λ,    φ(q, t) = 0,    ψ(q, u, t) = 0,    A u̇ + b = 0.

Rows of A come in this order: derivatives of the position constraints, velocity constraints, acceleration constraints.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from .closure import CLOSURES, RANK_TOLERANCE, rank
from .elements.bodies import marker_on
from .elements.constraints import Closing, Constraint, Level
from .elements.forces import Wrench
from .errors import ArgumentError, ModelError, UnsupportedError, unknown
from .formalisms import DEFAULT, FORMALISMS, Dynamics
from .formalisms.dynamics import Coefficient
from .formalisms.newton_euler import transmitted
from .kernels import Kernel, flow
from .kinematics import Kinematics, Pair, Symbols, derive_kinematics
from .loads import actions, on_frames, potential, split
from .motion import Motion, Place, at_rest
from .system import System

if TYPE_CHECKING:
    from .results import Trajectory
    from .show.readable import Readable
    from .studies.rollout import Rollouts

Numbers = Sequence[float] | np.ndarray | Mapping[str, float]


def derive(system: System, formalism: str | None = None, closure: str = "multipliers", **options: Any) -> Equations:
    """Equations of a system by a formalism (see ``FORMALISMS``) with a closure (see ``CLOSURES``)."""
    formalism = DEFAULT if formalism is None else formalism
    if formalism not in FORMALISMS:
        raise UnsupportedError(unknown("formalism", formalism, FORMALISMS))
    if closure not in CLOSURES:
        raise UnsupportedError(unknown("closure", closure, CLOSURES))
    kinematics = derive_kinematics(system, system.topology())
    try:
        dynamics = FORMALISMS[formalism](kinematics, **options)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        raise UnsupportedError(f"{formalism}: {error}") from None
    return Equations(kinematics, dynamics, formalism, closure)


class Equations:
    """The equations of motion. Attributes are expressions; methods evaluate on arrays, with a batch as leading axes.

    >>> import mechgraph as mg
    >>> arm = mg.System("pendulum", gravity=(0, 0, -9.81))
    >>> rod = arm.body("rod", mass=2.0, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    >>> hinge = arm.revolute("hinge", arm.ground, rod, axis="y")
    >>> eqs = arm.equations("appell")
    >>> eqs.coordinates, eqs.speeds
    (('hinge',), ("hinge'",))
    >>> eqs.mass_matrix([0.3])
    array([[0.6]])
    """

    def __init__(self, kinematics: Kinematics, dynamics: Dynamics, formalism: str, closure: str) -> None:
        self.kinematics, self.dynamics = kinematics, dynamics
        self.formalism, self.closure = formalism, closure
        self._kernels: dict[Any, Kernel] = {}
        self._rollout: flow.Rollout | None = None

    # --- names ---------------------------------------------------------------------------------------------------

    @property
    def system(self) -> System:
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

    @cached_property
    def constraints(self) -> tuple[str, ...]:
        """Names of the rows of A, and so of λ."""
        return tuple(name for rows in self._rows.values() for name, _ in rows)

    # --- expressions ---------------------------------------------------------------------------------------------

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

    @cached_property
    def phi(self) -> SX:
        """Position constraints φ(q, t)."""
        return _stack(self._rows["position"])

    @cached_property
    def psi(self) -> SX:
        """Velocity constraints ψ(q, u, t): the rates of φ, then those given at this level."""
        return ca.vertcat(self._rate(self.phi), _stack(self._rows["velocity"]))

    @cached_property
    def A(self) -> SX:
        """Constraint Jacobian: ∂ψ/∂u, then the rows given at acceleration level."""
        given = ca.jacobian(_stack(self._rows["acceleration"]), self.symbols.udot)
        return ca.vertcat(ca.jacobian(self.psi, self.symbols.u), given)

    @cached_property
    def b(self) -> SX:
        """The rest of the acceleration level A u̇ + b = 0."""
        still = (self.symbols.udot, SX.zeros(self.symbols.u.numel()))
        return ca.densify(ca.vertcat(self._rate(self.psi), ca.substitute(_stack(self._rows["acceleration"]), *still)))

    @cached_property
    def udot(self) -> SX:
        """u̇(q, u, t, w) with all constraints, as one expression: the articulated-body recursion, or the closure."""
        if self.constraints:
            return CLOSURES[self.closure].expression(self.M, self.f, self.A, self.b)
        if self.dynamics.solve is not None:
            return self.dynamics.solve(SX.zeros(self.symbols.u.numel()))
        return ca.ldl_solve(self.f, *ca.ldl(ca.densify(self.M), False))

    @cached_property
    def kept(self) -> SX | None:
        """(q, u) brought back to the constraints by one Newton step, of least kinetic energy; None if nothing is to keep."""
        s, nearest = self.symbols, CLOSURES["udwadia-kalaba"].expression
        if not self.psi.numel() and not self.kinematics.quaternions:
            return None
        q, u, still = s.q, s.u, SX.zeros(s.u.numel())
        if self.phi.numel():
            q = q + self.N @ nearest(self.M, still, self.A[: self.phi.numel(), :], self.phi)
        for four in map(list, self.kinematics.quaternions):
            q[four] = q[four] / ca.norm_2(q[four])
        if self.psi.numel():
            u = u + nearest(self.M, still, self.A[: self.psi.numel(), :], ca.substitute(self.psi, s.q, q))
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

    @cached_property
    def power(self) -> SX:
        """Power that changes T + V: of all non-conservative forces, of driven joints and constraints, and ∂V/∂t.

        An expression of (q, u, t, w) and of u̇ and λ, because drives have to move what they drive.
        """
        m, k = Motion(self.kinematics), self.kinematics
        wrenches, efforts = split(k, actions(k, conservative=False))
        total = ca.dot(efforts, self.symbols.u) + self._potential_rate()
        for wrench in wrenches:
            total += ca.dot(wrench.force, m.velocity(wrench.marker)) + ca.dot(wrench.torque, m.angular_velocity(wrench.marker))
        for frame, (moment, force) in zip(k.frames, self._transmitted, strict=True):
            if not frame.speeds:
                total += ca.dot(moment, frame.relative[0]) + ca.dot(force, frame.relative[1])
        for body, (force, torque) in self._constraint_wrenches.items():
            total += ca.dot(force, m.velocity(body)) + ca.dot(torque, m.angular_velocity(body))
        return total + ca.dot(self._constraint_efforts, self.symbols.u)

    def motion(self, udot: SX | None = None, keep: bool = True) -> flow.Motion:
        """q̇, u̇ and the way back to the constraints, for integrators in machine code."""
        s = self.symbols
        kept = self.kept if keep else None
        return flow.Motion(s.q, s.u, s.t, s.w, s.p, self.kinematics.qdot, self.udot if udot is None else udot, kept)

    # --- functions on arrays -------------------------------------------------------------------------------------

    def mass_matrix(self, q: Numbers, t: Any = 0.0, parameters: Any = None) -> np.ndarray:
        """M(q, t), symmetric."""
        return self._evaluate("M", lambda: self.M, 2, q, t=t, parameters=parameters)

    def forces(self, q: Numbers, u: Numbers, t: Any = 0.0, inputs: Any = None, parameters: Any = None) -> np.ndarray:
        """f(q, u, t, w): applied minus inertia forces."""
        return self._evaluate("f", lambda: self.f, 1, q, u, t, inputs, parameters)

    def constraint_jacobian(self, q: Numbers, u: Numbers | None = None, t: Any = 0.0, parameters: Any = None) -> np.ndarray:
        """A(q, u, t), a row for each name in ``constraints``."""
        return self._evaluate("A", lambda: self.A, 2, q, u, t, None, parameters)

    def position_violation(self, q: Numbers, t: Any = 0.0, parameters: Any = None) -> np.ndarray:
        """φ(q, t)."""
        return self._evaluate("phi", lambda: self.phi, 1, q, None, t, None, parameters)

    def velocity_violation(self, q: Numbers, u: Numbers, t: Any = 0.0, parameters: Any = None) -> np.ndarray:
        """ψ(q, u, t)."""
        return self._evaluate("psi", lambda: self.psi, 1, q, u, t, None, parameters)

    def coordinate_rates(self, q: Numbers, u: Numbers) -> np.ndarray:
        """q̇ = N u."""
        return self._evaluate("qdot", lambda: self.kinematics.qdot, 1, q, u)

    def kinetic_energy(self, q: Numbers, u: Numbers, t: Any = 0.0, parameters: Any = None) -> np.ndarray:
        """T."""
        return self._evaluate("T", lambda: self.kinetic, 0, q, u, t, None, parameters)

    def potential_energy(self, q: Numbers, t: Any = 0.0, parameters: Any = None) -> np.ndarray:
        """V."""
        return self._evaluate("V", lambda: self.potential, 0, q, None, t, None, parameters)

    def accelerations(self, q: Numbers, u: Numbers, t: Any = 0.0, inputs: Any = None, parameters: Any = None) -> np.ndarray:
        """u̇ with all constraints."""
        if not self.constraints:
            return self._evaluate("udot", lambda: self.udot, 1, q, u, t, inputs, parameters)
        return self.solve(q, u, t, inputs, parameters)[0]

    def multipliers(self, q: Numbers, u: Numbers, t: Any = 0.0, inputs: Any = None, parameters: Any = None) -> np.ndarray:
        """λ, the least-norm ones where constraints are redundant."""
        return self.solve(q, u, t, inputs, parameters)[1]

    def solve(
        self, q: Numbers, u: Numbers, t: Any = 0.0, inputs: Any = None, parameters: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(u̇, λ) by the closure; it reveals the rank, so redundant rows and singular positions are met."""
        arguments = self._arguments(q, u, t, inputs, parameters)
        kernel = self._kernel("MfAb", lambda: [self.M, self.f, self.A, self.b], [2, 1, 2, 1])
        M, f, A, b = kernel(*arguments)
        try:
            if not self.constraints:
                return np.linalg.solve(M, f[..., None])[..., 0], b
            return CLOSURES[self.closure].solve(M, f, A, b)
        except np.linalg.LinAlgError:
            raise ArgumentError(self._singular(*(np.reshape(a, (-1, a.shape[-1]))[0] for a in (f, M)))) from None

    def efforts(
        self, q: Numbers, u: Numbers, udot: Numbers, t: Any = 0.0, inputs: Any = None, parameters: Any = None
    ) -> np.ndarray:
        """τ = M u̇ − f: the efforts along the speeds that the accelerations u̇ need beyond what is applied."""
        inverse = self.dynamics.inverse or (lambda a: self.M @ a - self.f)
        arguments = self._arguments(q, u, t, inputs, parameters)
        extra = self._numbers("accelerations", self.speeds, udot)
        kernel = self._kernel("tau", lambda: [inverse(self.symbols.udot)], [1], self.symbols.udot)
        return kernel(*arguments, extra)[0]

    def inverse_dynamics(self, motion: Any, u: Any = None, udot: Any = None, **options: Any) -> np.ndarray:
        """Efforts along the speeds for a motion: a ``Trajectory``, or q, u, u̇ as arrays (trees only)."""
        from .studies.inverse import inverse_dynamics

        return inverse_dynamics(self, motion, u, udot, **options)

    def assemble(self, start: Any = None, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        """A consistent (q, u) from a partial ``start``, nearest to the reference configuration."""
        from .studies.initial import assemble

        return assemble(self, start, **options)

    def simulate(self, duration: float, start: Any = None, **options: Any) -> Trajectory:
        """Motion over ``duration`` seconds; see ``studies/simulate.py`` for the options."""
        from .studies.simulate import simulate

        return simulate(self, duration, start, **options)

    def rollout(self, q: Any, u: Any, **options: Any) -> Rollouts:
        """Many trajectories at once with a fixed step, in machine code; see ``studies/rollout.py`` for the options."""
        from .studies.rollout import rollout

        return rollout(self, q, u, **options)

    def rollout_kernel(self) -> flow.Rollout:
        """The compiled rollout of these equations."""
        if self._rollout is None:
            self._rollout = flow.Rollout(self.motion())
        return self._rollout

    def position(self, place: Place, q: Numbers, t: Any = 0.0, parameters: Any = None) -> np.ndarray:
        """Position of a body's or marker's origin in the world."""
        return self.observe(lambda m: m.position(place), q, None, t, parameters=parameters)

    def rotation(self, place: Place, q: Numbers, t: Any = 0.0, parameters: Any = None) -> np.ndarray:
        """Rotation matrix of a body or marker: its components to world components."""
        return self._evaluate(
            ("rotation", _key(place)), lambda: Motion(self.kinematics).rotation(place), 2, q, None, t, None, parameters
        )

    def observe(
        self, quantity: Callable[[Motion], Any], q: Numbers, u: Numbers | None = None, t: Any = 0.0, inputs: Any = None,
        parameters: Any = None,
    ) -> np.ndarray:  # fmt: skip
        """Any quantity of the motion (a column), e.g. ``lambda m: m.velocity(tip)``."""
        return self._evaluate(quantity, lambda: _column(quantity(Motion(self.kinematics))), 1, q, u, t, inputs, parameters)

    def reaction(
        self, joint: str, q: Numbers, u: Numbers, t: Any = 0.0, inputs: Any = None, parameters: Any = None
    ) -> np.ndarray:
        """(force, moment) of a joint's parent on its child through it: world components, at the child's joint frame."""
        arguments = self._arguments(q, u, t, inputs, parameters)
        udot, lam = self.solve(q, u, t, inputs, parameters)
        kernel = self._kernel(("reaction", joint), lambda: [self.reaction_expression(joint)], [1], self._forces_symbols)
        return kernel(*arguments, np.concatenate([udot, lam], axis=-1))[0]

    def power_along(self, run: Trajectory) -> np.ndarray:
        """``power`` at every time of a run."""
        arguments = self._arguments(run.q, run.u, run.time, run.w, dict(run.parameters))
        kernel = self._kernel("power", lambda: [self.power], [0], self._forces_symbols)
        return kernel(*arguments, np.concatenate([run.udot, run.multipliers], axis=-1))[0]

    def violation_along(self, run: Trajectory) -> np.ndarray:
        """Largest violation of φ, ψ and the quaternions' norms at every time of a run."""
        p = dict(run.parameters)
        parts = [self.position_violation(run.q, run.time, p), self.velocity_violation(run.q, run.u, run.time, p)]
        parts += [np.linalg.norm(run.q[:, list(four)], axis=1, keepdims=True) - 1 for four in self.kinematics.quaternions]
        return np.abs(np.concatenate(parts, axis=1)).max(axis=1, initial=0.0)

    # --- for people ----------------------------------------------------------------------------------------------

    def to_sympy(self, simplify: bool = True) -> Readable:
        """N, M, f, φ, ψ, A, b as SymPy matrices of symbols with the user's names."""
        from .show.readable import to_sympy

        return to_sympy(self, simplify)

    def show(self, simplify: bool = True) -> str:
        """The equations as text."""
        from .show.readable import equations_text

        return equations_text(self, simplify)

    def latex(self, simplify: bool = True) -> str:
        """The equations as LaTeX."""
        from .show.readable import equations_latex

        return equations_latex(self, simplify)

    # --- reactions -----------------------------------------------------------------------------------------------

    def reaction_expression(self, joint: str) -> SX:
        """(force, moment) of a joint on its child as an expression of (q, u, t, w), u̇ and λ."""
        known = self.system.joints
        if joint not in known:
            raise ArgumentError(unknown("joint", joint, known))
        child = known[joint].child
        m, k = Motion(self.kinematics), self.kinematics
        if any(cut.name == joint for cut in k.topology.cut):
            force, torque = self._closing_wrench(joint)
            at = m.position(child.body)
        else:
            force, torque, at = self._tree_wrench(joint)
        return ca.vertcat(force, torque + ca.cross(at - m.position(child), force))

    def _tree_wrench(self, joint: str) -> tuple[SX, SX, SX]:
        """Force, moment and point of action of a tree joint: what its first frame receives from inboard."""
        k = self.kinematics
        arc = next(arc for arc in k.topology.arcs if arc.joint.name == joint)
        first = next(j for j, frame in enumerate(k.frames) if frame.joint is arc.joint)
        (R, p), (moment, force) = k.poses[first], self._transmitted[first]
        sign = -1 if arc.reversed else 1
        return sign * (R @ force), sign * (R @ moment), p

    def _closing_wrench(self, joint: str) -> tuple[SX, SX]:
        """Force and moment about its origin that a cut joint exerts on its child body, from its multipliers."""
        constraint = next(c for c in self._constraints if isinstance(c, Closing) and c.name == joint)
        child = constraint.joint.child.body.name
        rows = self._row_slices[joint]
        if child == "ground":
            m, other = Motion(self.kinematics), constraint.joint.parent.body.name
            force, torque = self._wrench_of(constraint, rows)[other]
            return -force, -(torque + ca.cross(m.position(other), force))
        return self._wrench_of(constraint, rows)[child]

    @cached_property
    def _lambda(self) -> SX:
        return SX.sym("lambda", len(self.constraints))

    @property
    def _forces_symbols(self) -> SX:
        return ca.vertcat(self.symbols.udot, self._lambda)

    @cached_property
    def _constraint_wrenches(self) -> dict[str, tuple[SX, SX]]:
        """Force and torque (about the body's origin, world axes) that all constraints exert on each body."""
        out: dict[str, tuple[SX, SX]] = {}
        for constraint in self._constraints:
            for body, (force, torque) in self._wrench_of(constraint, self._row_slices[constraint.name]).items():
                old = out.get(body, (SX.zeros(3), SX.zeros(3)))
                out[body] = (old[0] + force, old[1] + torque)
        return out

    def _wrench_of(self, constraint: Constraint, rows: slice) -> dict[str, tuple[SX, SX]]:
        """Virtual work: the derivatives of the rows with respect to the variations of each body, times λ."""
        m = Motion(self.kinematics, varied=constraint.level)
        value = _stack(constraint.rows(m))
        out = {}
        for body, variation in m.variations.items():
            wrench = ca.substitute(ca.jacobian(value, variation), *at_rest(m)).T @ self._lambda[rows]
            out[body] = (wrench[:3], wrench[3:])
        return out

    @cached_property
    def _constraint_efforts(self) -> SX:
        """Efforts of constraints that act along coordinates (couplings, servos): what is left of Aᵀλ beside the wrenches."""
        m, u = Motion(self.kinematics), self.symbols.u
        out = self.A.T @ self._lambda
        for body, (force, torque) in self._constraint_wrenches.items():
            out -= ca.jtimes(m.velocity(body), u, force, True) + ca.jtimes(m.angular_velocity(body), u, torque, True)
        return out

    @cached_property
    def _transmitted(self) -> list[Pair]:
        """(moment, force) that each frame receives from its parent, with applied and constraint wrenches, as of u̇ and λ."""
        k, bodies = self.kinematics, self.system.bodies
        applied, _ = split(k, actions(k))
        constraints = [Wrench(marker_on(bodies[name]), *wrench) for name, wrench in self._constraint_wrenches.items()]
        loads = on_frames(k, [*applied, *constraints])
        return transmitted(k, loads, self.symbols.udot)

    # --- constraints ---------------------------------------------------------------------------------------------

    @cached_property
    def _constraints(self) -> list[Constraint]:
        closings = [Closing(joint) for joint in self.kinematics.topology.cut]
        return [*closings, *self.system.constraints.values()]

    @cached_property
    def _rows(self) -> dict[Level, list[tuple[str, SX]]]:
        """(name, expression) of all rows, by level."""
        m = Motion(self.kinematics)
        out: dict[Level, list[tuple[str, SX]]] = {"position": [], "velocity": [], "acceleration": []}
        for constraint in self._constraints:
            for label, value in constraint.rows(m):
                _check_level(constraint, value, self.symbols)
                out[constraint.level].append((f"{constraint.name}: {label}" if label else constraint.name, value))
        return out

    @cached_property
    def _row_slices(self) -> dict[str, slice]:
        """Where the rows of each constraint are among the rows of A."""
        out, start = {}, 0
        for level in self._rows:
            for constraint in (c for c in self._constraints if c.level == level):
                count = len(constraint.rows(Motion(self.kinematics)))
                out[constraint.name] = slice(start, start + count)
                start += count
        return out

    def _rate(self, expression: SX) -> SX:
        """Time derivative along the motion, at u̇ = 0."""
        s = self.symbols
        return ca.jtimes(expression, s.q, self.kinematics.qdot) + ca.jtimes(expression, s.t, SX(1))

    def _potential_rate(self) -> SX:
        """∂V/∂t of what time changes directly: springs' data, and poses by driven joints (their own power subtracts it)."""
        m, k = Motion(self.kinematics), self.kinematics
        wrenches, efforts = split(k, [a for force in k.system.forces.values() for a in force.conservative(m)])
        rate = self._rate(self.potential) + ca.dot(efforts, self.symbols.u)
        for wrench in wrenches:
            rate += ca.dot(wrench.force, m.velocity(wrench.marker)) + ca.dot(wrench.torque, m.angular_velocity(wrench.marker))
        for j, body in enumerate(k.carried):
            if body is not None:
                R, (omega, v) = k.poses[j][0], k.twists[j]
                rate += body.mass * ca.dot(k.system.gravity, R @ (v + ca.cross(omega, body.com)))
        return rate

    # --- mobility ------------------------------------------------------------------------------------------------

    def mobility(self, q: Numbers, t: Any = 0.0, u: Numbers | None = None) -> int:
        """Number of independent speeds at a configuration: speeds minus the rank of A.

        ``u`` matters where a constraint is not linear in the speeds.
        """
        A = self.constraint_jacobian(q, u, t)
        return len(self.speeds) - (rank(A) if A.size else 0)

    def redundant(self, q: Numbers, t: Any = 0.0, u: Numbers | None = None) -> list[str]:
        """Names of the rows of A that depend on the rows before them at a configuration."""
        return [self.constraints[k] for k in self._dependent(self.constraint_jacobian(q, u, t))]

    @staticmethod
    def _dependent(A: np.ndarray, tolerance: float = RANK_TOLERANCE) -> list[int]:
        """Indices of the rows of A that depend on the rows before them."""
        ranks = [rank(A[:k], tolerance) if k else 0 for k in range(len(A) + 1)]
        return [k for k in range(len(A)) if ranks[k + 1] == ranks[k]]

    def lost_rows(self, q_before: np.ndarray, q: np.ndarray, t: np.ndarray, parameters: Any = None) -> list[str]:
        """Names of rows of A that depend on others at q and did not at ``q_before``."""
        now, before = (
            set(self._dependent(self.constraint_jacobian(x, None, s, parameters), 1e-4))
            for x, s in ((q, t[1]), (q_before, t[0]))
        )
        return [name for k, name in enumerate(self.constraints) if k in now - before]

    # --- inside --------------------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        """``eqs.appell.A``: the named coefficients of the formalism, each a function on arrays."""
        if name.startswith("_") or name.replace("_", "-") != self.__dict__.get("formalism"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return SimpleNamespace(**{key: Quantity(self, key, value) for key, value in self.dynamics.coefficients.items()})

    def _kernel(self, key: Any, results: Callable[[], list[SX]], axes: list[int], *extra: SX) -> Kernel:
        if key not in self._kernels:
            s = self.symbols
            try:
                defaults = self._arguments(None, None, 0.0, None, None)
                self._kernels[key] = Kernel("kernel", [s.q, s.u, s.t, s.w, s.p, *extra], results(), axes, defaults)
            except RuntimeError as error:
                raise ModelError(f"an expression of the model uses a symbol that is not of this system: {error}") from None
        return self._kernels[key]

    def _evaluate(
        self, key: Any, result: Callable[[], SX], axes: int, q: Any, u: Any = None, t: Any = 0.0, inputs: Any = None,
        parameters: Any = None,
    ) -> np.ndarray:  # fmt: skip
        if inputs is None and parameters is None and key in self._kernels:
            value = self._kernels[key].quick(q, u, t)
            if value is not None:
                return value
        return self._kernel(key, lambda: [result()], [axes])(*self._arguments(q, u, t, inputs, parameters))[0]

    def _arguments(self, q: Any, u: Any, t: Any, inputs: Any, parameters: Any) -> list[np.ndarray]:
        """q, u, t, w, p as arrays with a last axis; what is not given is zero (parameters: their defaults)."""
        defaults = np.array(list(self.system.defaults.values()))
        return [
            self._numbers("coordinates", self.coordinates, q, np.array(self.kinematics.reference)),
            self._numbers("speeds", self.speeds, u),
            np.asarray(t, dtype=float)[..., None],
            self._numbers("inputs", self.inputs, inputs),
            self._numbers("parameters", self.parameters, parameters, defaults),
        ]

    def _numbers(self, kind: str, names: Sequence[str], values: Any, default: np.ndarray | None = None) -> np.ndarray:
        base = np.zeros(len(names)) if default is None else default
        if values is None:
            return base
        if isinstance(values, Mapping):
            return _from_mapping(kind, names, values, base)
        array = np.asarray(values, dtype=float)
        if array.shape[-1:] != (len(names),):
            got = array.shape[-1] if array.ndim else "a single number"
            raise ArgumentError(f"{kind}: expected {len(names)} numbers ({', '.join(names) or 'none'}), got {got}")
        if not np.isfinite(array).all():
            bad = names[int(np.argwhere(~np.isfinite(array))[0][-1])]
            raise ArgumentError(f"{kind}: {bad!r} is not finite")
        return array

    def _singular(self, f: np.ndarray, M: np.ndarray) -> str:
        values, vectors = np.linalg.eigh(np.atleast_2d(M[-len(f) :]))
        culprit = self.speeds[int(np.abs(vectors[:, 0]).argmax())] if len(values) else "?"
        return f"the mass matrix is singular: nothing that moves with {culprit!r} has inertia; give it mass or constrain it"


class Quantity:
    """A named coefficient of a formalism: ``expression`` is the CasADi expression, a call evaluates it on arrays.

    A list of matrices is stacked along the last axis: Appell's K is K[i, j, k].
    """

    def __init__(self, equations: Equations, name: str, coefficient: Coefficient) -> None:
        self._equations, self._name, self._coefficient = equations, name, coefficient

    @cached_property
    def expression(self) -> Any:
        """The expression; a list of matrices for a table."""
        return self._coefficient.derive()

    def __call__(
        self, q: Numbers, u: Numbers | None = None, t: Any = 0.0, inputs: Any = None, parameters: Any = None, udot: Any = None
    ) -> np.ndarray:
        """Its value."""
        eqs, table = self._equations, self._coefficient.axes == 3
        results = list(self.expression) if table else [self.expression]
        axes = [min(self._coefficient.axes, 2)] * len(results)
        kernel = eqs._kernel(("coefficient", self._name), lambda: results, axes, eqs.symbols.udot)
        values = kernel(*eqs._arguments(q, u, t, inputs, parameters), eqs._numbers("accelerations", eqs.speeds, udot))
        return np.stack(values, axis=-1) if table else values[0]


def _stack(rows: list[tuple[str, SX]]) -> SX:
    return ca.vertcat(SX(0, 1), *(value for _, value in rows))


def _column(value: Any) -> SX:
    entries = value if isinstance(value, (list, tuple)) else [value]
    return ca.vertcat(*(SX(entry) for entry in entries))


def _key(place: Place) -> Any:
    return place if isinstance(place, str) else id(place)


def _from_mapping(kind: str, names: Sequence[str], values: Mapping[str, Any], base: np.ndarray) -> np.ndarray:
    wrong = [name for name in values if name not in names]
    if wrong:
        raise ArgumentError("; ".join(unknown(kind.rstrip("s"), name, names) for name in wrong))
    columns = [np.asarray(values.get(name, base[k]), dtype=float) for k, name in enumerate(names)]
    return np.stack(np.broadcast_arrays(*columns), axis=-1) if columns else base


def _check_level(constraint: Constraint, value: SX, symbols: Symbols) -> None:
    used = {"position": ca.vertcat(symbols.u, symbols.udot), "velocity": symbols.udot}.get(constraint.level)
    if used is not None and ca.depends_on(value, used):
        raise ModelError(
            f"constraint {constraint.name!r}: a {constraint.level} constraint must not use "
            f"{'velocities or accelerations' if constraint.level == 'position' else 'accelerations'}; give it at that level"
        )
