"""``Equations``: what every formalism delivers. To named expressions and their kernels it adds
functions on arrays by name, and the studies.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary, WeakSet

import casadi as ca
import numpy as np
from casadi import SX
from scipy.sparse import csc_matrix

from ..arguments import Numbers, numbers, one_of
from ..closures import sparse
from ..closures.closure import CLOSURES, RANK_TOLERANCE, bordered, rank
from ..errors import ArgumentError, ModelError, UnsupportedError, blamed
from ..formalisms import DEFAULT, FORMALISMS, Dynamics
from ..kernels import Kernel, flow
from ..model.bodies import Body, Marker
from ..model.description import Description
from ..motion.kinematics import Kinematics
from ..motion.motion import Motion, Place
from ..motion.topology import topology
from ..motion.turns import counting_kinematics
from ..vectors import NO_NUMBER, NOT_AN_EXPRESSION, has_nan
from .derivatives import derivatives, named
from .evaluation import Evaluation
from .expressions import sparse_matrix

if TYPE_CHECKING:
    from ..results.trajectory import LinearModel, Trajectory
    from ..show.readable import Readable
    from ..studies.rollout import Rollouts


CLOSED = 2e-14  # relative error of A u̇ + b = 0 up to which a closure inside a kernel is taken


def derive(
    system: Description, formalism: str | None = None, closure: str = "multipliers", **options: Any
) -> Equations:
    """Equations of a system by a formalism (see ``FORMALISMS``) with a closure (see
    ``CLOSURES``)."""
    formalism = DEFAULT if formalism is None else formalism
    one_of("formalism", formalism, FORMALISMS, UnsupportedError)
    one_of("closure", closure, CLOSURES, UnsupportedError)
    kinematics = counting_kinematics(system, topology(system))
    try:
        dynamics = FORMALISMS[formalism](kinematics, **options)
    except TypeError as error:
        if "unexpected keyword" not in str(error):
            raise
        raise UnsupportedError(f"{formalism}: {error}") from None
    return Equations(kinematics, dynamics, formalism, closure)


class Equations(Evaluation):
    """The equations of motion. Attributes are expressions; methods evaluate on arrays, with a batch
    as leading axes.

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

    def __init__(
        self, kinematics: Kinematics, dynamics: Dynamics, formalism: str, closure: str
    ) -> None:
        super().__init__(kinematics, dynamics, formalism, closure)
        self._observed: WeakKeyDictionary[Any, Kernel] = WeakKeyDictionary()
        self._accelerated: WeakSet[Kernel] = WeakSet()  # those that depend on u̇
        self._rollout: flow.Rollout | None = None

    @cached_property
    def jointed(self) -> Equations:
        """The equations in joint coordinates: these, if that is what they are in, else the default
        formalism's."""
        if self.kinematics is self.tree:
            return self
        return Equations(self.tree, FORMALISMS[DEFAULT](self.tree), DEFAULT, self.closure)

    # --- functions on arrays ----------------------------------------------------------------------

    def mass_matrix(
        self, q: Numbers, t: Any = 0.0, parameters: Any = None, threads: int = 1
    ) -> np.ndarray:
        """M(q, t), symmetric."""
        kernel = self._kernels.get("M")
        if kernel is not None and parameters is None:
            M = kernel.quick(q, None, t)
            if M is not None:
                return M
        return self.evaluate("M", lambda: self.M, 2, q, None, t, None, parameters, threads)

    def forces(
        self,
        q: Numbers,
        u: Numbers,
        t: Any = 0.0,
        inputs: Any = None,
        parameters: Any = None,
        threads: int = 1,
    ) -> np.ndarray:
        """f(q, u, t, w): applied minus inertia forces."""
        return self.evaluate("f", lambda: self.f, 1, q, u, t, inputs, parameters, threads)

    def constraint_jacobian(
        self, q: Numbers, u: Numbers | None = None, t: Any = 0.0, parameters: Any = None
    ) -> np.ndarray:
        """A(q, u, t), a row for each name in ``constraints``."""
        return self.evaluate("A", lambda: self.A, 2, q, u, t, None, parameters)

    def position_violation(self, q: Numbers, t: Any = 0.0, parameters: Any = None) -> np.ndarray:
        """φ(q, t)."""
        return self.evaluate("phi", lambda: self.phi, 1, q, None, t, None, parameters)

    def velocity_violation(
        self, q: Numbers, u: Numbers, t: Any = 0.0, parameters: Any = None
    ) -> np.ndarray:
        """ψ(q, u, t)."""
        return self.evaluate("psi", lambda: self.psi, 1, q, u, t, None, parameters)

    def coordinate_rates(
        self, q: Numbers, u: Numbers, t: Any = 0.0, parameters: Any = None
    ) -> np.ndarray:
        """q̇ = N u (and what time drives of the coordinates that count turns)."""
        return self.evaluate("qdot", lambda: self.kinematics.qdot, 1, q, u, t, None, parameters)

    def kinetic_energy(
        self, q: Numbers, u: Numbers, t: Any = 0.0, parameters: Any = None
    ) -> np.ndarray:
        """T."""
        return self.evaluate("T", lambda: self.kinetic, 0, q, u, t, None, parameters)

    def potential_energy(self, q: Numbers, t: Any = 0.0, parameters: Any = None) -> np.ndarray:
        """V."""
        return self.evaluate("V", lambda: self.potential, 0, q, None, t, None, parameters)

    def accelerations(
        self,
        q: Numbers,
        u: Numbers,
        t: Any = 0.0,
        inputs: Any = None,
        parameters: Any = None,
        threads: int = 1,
    ) -> np.ndarray:
        """u̇ with all constraints.

        With constraints the closure runs inside the kernel, which also says how well they are met;
        states where that is not to rounding (singular positions) are solved again by ``solve``,
        which reveals the rank.
        """
        if not self.constraints:
            kernel = self._kernels.get("udot")
            if kernel is not None and inputs is None and parameters is None:
                udot = kernel.quick(q, u, t)
                if udot is not None:
                    return udot
            udot = self.evaluate("udot", lambda: self.udot, 1, q, u, t, inputs, parameters, threads)
            return udot if np.isfinite(udot).all() else self.solve(q, u, t, inputs, parameters)[0]
        out = self.evaluate("closed", self._udot_and_error, 1, q, u, t, inputs, parameters, threads)
        udot, error = out[..., :-1], out[..., -1]
        return udot if (error < CLOSED).all() else self.solve(q, u, t, inputs, parameters)[0]

    def _udot_and_error(self) -> SX:
        """u̇ and the largest |A u̇ + b| relative to the terms that make it up."""
        udot = self.udot
        size = ca.norm_1(ca.vec(self.A)) * ca.norm_inf(udot) + ca.norm_inf(self.b) + 1e-300
        return ca.vertcat(udot, ca.norm_inf(self.A @ udot + self.b) / size)

    def multipliers(
        self, q: Numbers, u: Numbers, t: Any = 0.0, inputs: Any = None, parameters: Any = None
    ) -> np.ndarray:
        """λ, the least-norm ones where constraints are redundant."""
        return self.solve(q, u, t, inputs, parameters)[1]

    def solve(
        self, q: Numbers, u: Numbers, t: Any = 0.0, inputs: Any = None, parameters: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(u̇, λ) by the closure; it reveals the rank, so redundant rows and singular positions are
        met."""
        if self.large and not self.constrained.dragging:
            return self._solve_large(q, u, t, inputs, parameters)
        M, f, A, b = self._terms(*self.arguments(q, u, t, inputs, parameters))
        try:
            if not self.constraints:
                return np.linalg.solve(M, f[..., None])[..., 0], b
            if self.constrained.dragging:
                G = self.evaluate("G", lambda: self.constrained.G, 2, q, u, t, inputs, parameters)
                return bordered(M, f, A, b, G)
            return CLOSURES[self.closure].solve(M, f, A, b)
        except np.linalg.LinAlgError:
            raise ArgumentError(self.idle_message(q, u, t, parameters)) from None

    @property
    def large(self) -> bool:
        """True if dense matrices would cost more than they are worth."""
        return len(self.speeds) + len(self.constraints) > sparse.LARGE

    def _solve_large(
        self, q: Any, u: Any, t: Any, inputs: Any, parameters: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """``solve`` by sparse elimination; without constraints by the formalism's own route."""
        if not self.constraints:
            udot = self.evaluate("udot", lambda: self.udot, 1, q, u, t, inputs, parameters)
            if not np.isfinite(udot).all():
                raise ArgumentError(self.idle_message(q, u, t, parameters))
            return udot, np.zeros((*udot.shape[:-1], 0))
        batch, states = self.sparse_terms(q, u, t, inputs, parameters)
        try:
            udot, lam = zip(*(sparse.solve(*state) for state in states), strict=True)
        except RuntimeError:
            raise ArgumentError(self.idle_message(q, u, t, parameters)) from None
        return np.reshape(udot, (*batch, -1)), np.reshape(lam, (*batch, -1))

    def sparse_terms(
        self, q: Any, u: Any = None, t: Any = 0.0, inputs: Any = None, parameters: Any = None
    ) -> tuple[tuple[int, ...], Iterator[tuple[csc_matrix, np.ndarray, csc_matrix, np.ndarray]]]:
        """The leading axes of a call, and M, f, A, b of every state in it, the matrices sparse."""
        kernel = self.kernel(
            "sparse MfAb",
            lambda: [_entries(self.M), self.f, _entries(self.A), self.b],
            [1, 1, 1, 1],
        )
        M, f, A, b = kernel(*self.arguments(q, u, t, inputs, parameters))
        count = int(np.prod(f.shape[:-1]))
        rows = (x.reshape(count, x.shape[-1]) for x in (M, f, A, b))
        return f.shape[:-1], (
            (sparse_matrix(self.M, m), g, sparse_matrix(self.A, a), h)
            for m, g, a, h in zip(*rows, strict=True)
        )

    @property
    def _terms(self) -> Kernel:
        return self.kernel("MfAb", lambda: [self.M, self.f, self.A, self.b], [2, 1, 2, 1])

    def efforts(
        self,
        q: Numbers,
        u: Numbers,
        udot: Numbers,
        t: Any = 0.0,
        inputs: Any = None,
        parameters: Any = None,
        threads: int = 1,
    ) -> np.ndarray:
        """τ = M u̇ − f: the efforts along the speeds that the accelerations u̇ need beyond what is
        applied."""
        kernel = self._kernels.get("tau")
        if kernel is not None and inputs is None and parameters is None:
            tau = kernel.quick(q, u, t, None, None, udot)
            if tau is not None:
                return tau
        kernel = self.kernel("tau", lambda: [self.tau], [1], self.symbols.udot)
        arguments = self.arguments(q, u, t, inputs, parameters)
        return kernel(*arguments, numbers("accelerations", self.speeds, udot), threads=threads)[0]

    def jacobian(
        self,
        of: str,
        wrt: str | Sequence[str],
        q: Numbers,
        u: Numbers | None = None,
        udot: Any = None,
        t: Any = 0.0,
        inputs: Any = None,
        parameters: Any = None,
        threads: int = 1,
        out: Any = None,
    ) -> Any:
        """Exact derivatives of ``of`` (see ``derivatives.FUNCTIONS``) with respect to q, u, inputs,
        parameters or t.

        The rows are those of the function, the columns those of the variable; a matrix is taken
        column by column. With several variables, ``wrt=("q", "u")``, a tuple of arrays, for which
        what they share is computed once. ``out`` is what an earlier call gave, to be written anew:
        a large batch then needs no fresh memory.
        """
        key = named(of, wrt)
        kernel = self.kernel(
            key, lambda: derivatives(self, *key), [2] * (len(key) - 1), self.symbols.udot
        )
        arguments = self.arguments(q, u, t, inputs, parameters)
        given = [out] if isinstance(wrt, str) and out is not None else out
        values = kernel(
            *arguments, numbers("accelerations", self.speeds, udot), threads=threads, out=given
        )
        return values[0] if isinstance(wrt, str) else tuple(values)

    def compile(self) -> bool:
        """Machine code for every function that has been called, and for ``accelerations``, now;
        False without a compiler."""
        self.accelerations(np.array(self.kinematics.reference), np.zeros(len(self.speeds)))
        done = [kernel.compile() for kernel in self._kernels.values()]
        return all(done)

    def export_c(self, path: str | Path) -> list[Path]:
        """Portable C of these equations: a header, a source, and a test that reproduces reference
        values."""
        from ..formats.c import export_c

        return export_c(self, path)

    def inverse_dynamics(
        self, motion: Any, u: Any = None, udot: Any = None, **options: Any
    ) -> np.ndarray:
        """Efforts along the speeds of a tree for a motion, a ``Trajectory`` or q, u, u̇ as arrays;
        or those of ``drives``."""
        from ..studies.inverse import inverse_dynamics

        return inverse_dynamics(self, motion, u, udot, **options)

    def assemble(self, start: Any = None, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        """A consistent (q, u) from a partial ``start``, nearest to the reference configuration."""
        from ..studies.assembly.assemble import assemble

        return assemble(self, start, **options)

    def simulate(self, duration: float, start: Any = None, **options: Any) -> Trajectory:
        """Motion over ``duration`` seconds; see ``studies/simulate.py`` for the options."""
        from ..studies.simulation.simulate import simulate

        return simulate(self, duration, start, **options)

    def linearize(self, at: Any = None, **options: Any) -> LinearModel:
        """The linear model about a state, on the constraints; see ``studies/linearize.py`` for the
        options."""
        from ..studies.linear.linearize import linearize

        return linearize(self, at, **options)

    def equilibrium(self, guess: Any = None, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        """A state of rest (q, u = 0) near a guess."""
        from ..studies.equilibrium import equilibrium

        return equilibrium(self, guess, **options)

    def steady(self, guess: Any = None, **options: Any) -> tuple[np.ndarray, np.ndarray]:
        """A state (q, u) with constant speeds near a guess; see ``studies/equilibrium.py`` for the
        options."""
        from ..studies.equilibrium import steady

        return steady(self, guess, **options)

    def rollout(self, q: Any, u: Any, **options: Any) -> Rollouts:
        """Many trajectories at once with a fixed step, in machine code; see ``studies/rollout.py``
        for the options."""
        from ..studies.rollout import rollout

        return rollout(self, q, u, **options)

    def rollout_kernel(self) -> flow.Rollout:
        """The compiled rollout of these equations."""
        if self._rollout is None:
            self._rollout = flow.Rollout(self.motion())
        return self._rollout

    def position(
        self, place: Place, q: Numbers, t: Any = 0.0, parameters: Any = None
    ) -> np.ndarray:
        """Position of a body's or marker's origin in the world."""
        return self.evaluate(
            ("position", _place(place)),
            lambda: Motion(self.kinematics).position(place),
            1,
            q,
            None,
            t,
            None,
            parameters,
        )

    def rotation(
        self, place: Place, q: Numbers, t: Any = 0.0, parameters: Any = None
    ) -> np.ndarray:
        """Rotation matrix of a body or marker: its components to world components."""
        return self.evaluate(
            ("rotation", _place(place)),
            lambda: Motion(self.kinematics).rotation(place),
            2,
            q,
            None,
            t,
            None,
            parameters,
        )

    def observe(
        self,
        quantity: Callable[[Motion], Any],
        q: Numbers,
        u: Numbers | None = None,
        t: Any = 0.0,
        inputs: Any = None,
        parameters: Any = None,
        udot: Any = None,
    ) -> np.ndarray:
        """Any quantity of the motion (a column; matrices row by row), e.g. ``lambda m:
        m.velocity(tip)``.

        If it asks for accelerations and ``udot`` is not given, they are those of the motion.
        """
        if not callable(quantity):
            raise ArgumentError(
                "observe takes a function of the motion such as lambda m: m.velocity(tip), got "
                f"{quantity!r}"
            )
        kernel = self._observed.get(quantity)
        if kernel is None:
            kernel = self._observed[quantity] = self._observer(quantity)
        arguments = self.arguments(q, u, t, inputs, parameters)
        if kernel in self._accelerated and udot is None:
            udot = self.solve(q, arguments[1], t, inputs, parameters)[0]
        return kernel(*arguments, numbers("accelerations", self.speeds, udot))[0]

    def _observer(self, quantity: Callable[[Motion], Any]) -> Kernel:
        with blamed("quantity of the motion"):
            value, s = column(quantity(Motion(self.kinematics))), self.symbols
            if has_nan(value):
                raise ModelError(NO_NUMBER)
        kernel = self.built([value], [1], s.udot)
        if ca.depends_on(value, s.udot):
            self._accelerated.add(kernel)
        return kernel

    def reaction(
        self,
        name: str,
        q: Numbers,
        u: Numbers,
        t: Any = 0.0,
        inputs: Any = None,
        parameters: Any = None,
    ) -> np.ndarray:
        """(force, moment) of a joint's parent on its child through it: world components, at the
        child's joint frame.

        Of a constraint: on the body of its last place, at that place; of a contact on its surface,
        at the point of contact.
        """
        one_of("joint or constraint", name, [*self.system.joints, *self.system.constraints])
        arguments = self.arguments(q, u, t, inputs, parameters)
        udot, lam = self.solve(q, u, t, inputs, parameters)
        of = self.reactions.of if name in self.system.joints else self.reactions.of_constraint
        kernel = self.kernel(("reaction", name), lambda: [of(name)], [1], self.force_symbols)
        return kernel(*arguments, np.concatenate([udot, lam], axis=-1))[0]

    def power_along(self, run: Trajectory) -> np.ndarray:
        """``power`` at every time of a run."""
        arguments = self.arguments(run.q, run.u, run.time, run.w, run.constants)
        kernel = self.kernel("power", lambda: [self.power], [0], self.force_symbols)
        return kernel(*arguments, np.concatenate([run.udot, run.multipliers], axis=-1))[0]

    def violation_along(self, run: Trajectory) -> np.ndarray:
        """Largest violation of φ, ψ and the quaternions' norms at every time of a run."""
        p = run.constants
        parts = [
            self.position_violation(run.q, run.time, p),
            self.velocity_violation(run.q, run.u, run.time, p),
        ]
        parts += [
            np.linalg.norm(run.q[:, list(four)], axis=1, keepdims=True) - 1
            for four in self.kinematics.quaternions
        ]
        return np.abs(np.concatenate(parts, axis=1)).max(axis=1, initial=0.0)

    # --- for people -------------------------------------------------------------------------------

    def to_sympy(self, simplify: bool = True) -> Readable:
        """N, M, f, φ, ψ, A, b as SymPy matrices of symbols with the user's names."""
        from ..show.readable import to_sympy

        return to_sympy(self, simplify)

    def show(self, simplify: bool = True) -> str:
        """The equations as text."""
        from ..show.readable import equations_text

        return equations_text(self, simplify)

    def latex(self, simplify: bool = True) -> str:
        """The equations as LaTeX."""
        from ..show.readable import equations_latex

        return equations_latex(self, simplify)

    # --- mobility ---------------------------------------------------------------------------------

    def mobility(self, q: Numbers, u: Numbers | None = None, t: Any = 0.0) -> int:
        """Number of independent speeds at a configuration: speeds minus the rank of A.

        ``u`` matters where a constraint is not linear in the speeds.
        """
        if self.large:
            return len(self.speeds) - len(self.constraints) + len(self.redundant(q, u, t))
        A = self.constraint_jacobian(q, u, t)
        return len(self.speeds) - (rank(A) if A.size else 0)

    def redundant(self, q: Numbers, u: Numbers | None = None, t: Any = 0.0) -> list[str]:
        """Names of the rows of A that depend on the rows before them at a configuration."""
        if self.large:
            (_, _, large, _), *_ = self.sparse_terms(q, u, t)[1]
            return [
                name
                for name, found in zip(self.constraints, sparse.dependent(large), strict=True)
                if found
            ]
        A = self.constraint_jacobian(q, u, t)
        ranks = [rank(A[:k]) if k else 0 for k in range(len(A) + 1)]
        return [name for k, name in enumerate(self.constraints) if ranks[k + 1] == ranks[k]]

    def lost_rows(
        self, q_before: np.ndarray, q: np.ndarray, t: np.ndarray, parameters: Any = None
    ) -> list[str]:
        """Names of the rows of A that are losing their hold at q: they make up a combination ten
        times weaker than before."""
        before = np.linalg.svd(
            self.constraint_jacobian(q_before, None, t[0], parameters), compute_uv=False
        )
        U, now, _ = np.linalg.svd(self.constraint_jacobian(q, None, t[1], parameters))
        last = int((before > RANK_TOLERANCE * before.max(initial=0)).sum()) - 1
        if last < 0 or now[last] > 0.1 * before[last]:
            return []
        part = np.abs(U[:, last])
        return [
            name
            for name, share in zip(self.constraints, part, strict=True)
            if share > 0.5 * part.max()
        ]

    def idle(
        self, q: Numbers, u: Numbers | None = None, t: Any = 0.0, parameters: Any = None
    ) -> str | None:
        """A speed that neither inertia nor a constraint determines, so that u̇ is not unique; None
        if there is none."""
        culprits = (
            sparse.undetermined(M, A)
            for M, _, A, _ in self.sparse_terms(q, u, t, None, parameters)[1]
        )
        return next((self.speeds[k] for k in culprits if k is not None), None)

    def idle_message(self, q: Numbers, u: Numbers | None, t: Any, parameters: Any) -> str:
        """What to say where the accelerations are not determined."""
        return (
            "the mass matrix is singular: nothing that moves with "
            f"{self.idle(q, u, t, parameters)!r} has inertia; "
            "give it mass or inertia, or constrain it"
        )


def column(value: Any) -> SX:
    """A quantity of the motion as one column; matrices row by row."""
    entries = value if isinstance(value, (list, tuple)) else [value]
    try:
        return ca.vertcat(*(ca.vec(SX(entry).T) for entry in entries))
    except NOT_AN_EXPRESSION:
        raise ArgumentError(
            "a quantity of the motion must be a number, an expression or a list of them, got "
            f"{value!r}"
        ) from None


def _entries(matrix: SX) -> SX:
    """The entries of a sparse matrix that are there, column by column."""
    return ca.vertcat(SX(0, 1), *matrix.nonzeros())


def _place(place: Any) -> Place:
    if not isinstance(place, (str, Body, Marker)):
        raise ArgumentError(f"expected a body, a marker or the name of one, got {place!r}")
    return place
