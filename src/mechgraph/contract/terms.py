"""``Terms``: the contract. What every formalism delivers, a composition makes from others, and
anybody may write down: the equations of motion as named expressions.

With coordinates q, speeds u, inputs w, parameters p, time t:

    q̇ = N u + n,    M u̇ = f + Gᵀλ,    φ(q, t) = 0,    ψ(q, u, t) = 0,    A u̇ + b = 0,

with G = A unless friction goes with the constraint forces. Coordinates and speeds need not come in
pairs, and M may be singular where the constraints complete it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from .. import door
from ..arguments import name_of
from ..closures.friction import drag_slopes
from ..errors import ModelError, blamed
from ..formalisms.dynamics import Coefficient, Dynamics
from ..graph.expressions import has_nan
from ..model.description import Description
from ..motion.chart import Chart
from ..motion.constraint_rows import ConstraintRows
from ..motion.energy import Energies
from ..motion.levels import Levels
from ..motion.motion import column
from ..motion.reactions import NoReactions, Reactions
from ..motion.variables import Variables
from ..numerics.scales import Scales, sizes_by_inertia, usual_lengths
from ..pickling import Picklable
from ..vectors import NO_NUMBER
from .checks import check_complement, check_expressions, check_names
from .closing import KnownComplement, OwnClosure
from .written import PlainChart, WrittenRows, column_of, expression, later, matrix, rates

Rows = ConstraintRows | WrittenRows
STATES = 4  # random ones, at which scales are looked at


@dataclass(frozen=True, eq=False)
class TermsParts:
    """The parts of terms. ``recipe`` is a function and its arguments that make them again, where
    a pickle is opened."""

    chart: Chart
    dynamics: Dynamics
    rows: Rows
    closure: OwnClosure
    energies: Energies
    reactions: Reactions
    formalism: str
    outputs: Mapping[str, Any] = field(default_factory=dict)
    recipe: tuple[Any, ...] = ()


class Terms(Picklable):
    """The equations of motion as expressions, in a few parts; nothing of it changes.

    ``chart``: the coordinates. ``dynamics``: M and f. ``rows``: the constraints. ``closure``: what
    these terms know of closing themselves. ``energies`` and ``reactions``. Each is there, if with
    nothing in it.

    Written down by hand:

    >>> import mechgraph as mg
    >>> v = mg.variables(["angle"], ["rate", "current"], ["voltage"], {"R": 2.0, "L": 0.1})
    >>> rate, current = v["rate"], v["current"]
    >>> motor = mg.Terms(
    ...     v,
    ...     name="motor",
    ...     N=[[1, 0]],
    ...     M=[[0.02, 0], [0, v["L"]]],
    ...     f=[0.5 * current - 0.01 * rate, v["voltage"] - v["R"] * current - 0.5 * rate],
    ... )
    >>> mg.Equations(motor).accelerations([0.0], [0.0, 1.0])
    array([ 25., -20.])
    """

    def __init__(
        self,
        symbols: Variables,
        *,
        M: Any,
        f: Any,
        N: Any = None,
        n: Any = None,
        position: Mapping[str, Any] | None = None,
        velocity: Mapping[str, Any] | None = None,
        acceleration: Mapping[str, Any] | None = None,
        G: Any = None,
        S: Any = None,
        kinetic: Any = 0,
        potential: Any = 0,
        supplied: Any = 0,
        dissipated: Any = 0,
        outputs: Mapping[str, Any] | None = None,
        reference: Sequence[float] | None = None,
        quaternions: Sequence[Sequence[str]] = (),
        solve: Callable[[SX], SX] | None = None,
        inverse: Callable[[SX], SX] | None = None,
        condition: Callable[[], SX] | None = None,
        coefficients: Mapping[str, Coefficient] | None = None,
        name: str = "equations",
    ) -> None:
        """Terms from ``symbols`` (see ``mg.variables``); matrices as lists of rows, or expressions
        of CasADi or SymPy, whose symbols go by their names.

        N, n: q̇ = N u + n; the identity, if not given.
        M, f: the mass matrix, and applied minus inertia forces.
        position, velocity, acceleration: rows that stay zero, by name, at each level; φ̇ and φ̈, ψ̇
            and λ follow.
        G: directions of the constraint forces, A if not given.
        S: a complement, A S = 0, if one is known.
        kinetic, potential, supplied, dissipated: energies, and powers that change their sum.
        outputs: further quantities by name.
        reference: coordinates where assembly begins, zero if not given.
        quaternions: names of the four coordinates of each unit quaternion.
        solve, inverse: cheaper routes to u̇ = M⁻¹ (f + τ) and τ = M u̇ − f.
        condition: the squared ratios, added up, of what the pivots of ``solve`` are made of to the
            pivots.
        """
        if not isinstance(symbols, Variables):
            raise ModelError(f"Terms begin with mg.variables(…), got {symbols!r}")
        name_of("Terms", name)
        M, f, N, n, G, S, position, velocity, acceleration, outputs = _without_sympy(
            symbols, M, f, N, n, G, S, position, velocity, acceleration, outputs
        )
        energies = _without_sympy(symbols, kinetic, potential, supplied, dissipated)
        chart = PlainChart(name, symbols, *rates(symbols, N, n), reference, quaternions)
        given = {"solve": solve, "inverse": inverse, "condition": condition}
        routes: dict[str, Any] = {key: value for key, value in given.items() if value is not None}
        by_level = {"position": position, "velocity": velocity, "acceleration": acceleration}
        self._consist_of(
            TermsParts(
                chart,
                Dynamics(later(M), later(f), coefficients=dict(coefficients or {}), **routes),
                WrittenRows.read(chart, by_level, G),
                OwnClosure() if S is None else KnownComplement(later(S)),
                Energies(*map(later, energies)),
                NoReactions(chart),
                "hand",
                outputs or {},
            )
        )
        check_expressions(self)
        check_complement(self)

    @classmethod
    def of(cls, parts: TermsParts) -> Terms:
        """Terms of their parts."""
        made: Terms = object.__new__(cls)
        made._consist_of(parts)
        return made

    def _consist_of(self, parts: TermsParts) -> None:
        self.parts, self.symbols = parts, parts.chart.symbols
        self.chart, self.dynamics, self.rows = parts.chart, parts.dynamics, parts.rows
        self.closure, self.reactions = parts.closure, parts.reactions
        self.name, self.formalism = parts.chart.description.name, parts.formalism
        self._outputs = {
            key: value if callable(value) else column_of(value, key)
            for key, value in parts.outputs.items()
        }
        check_names(self, self._outputs)
        self._sealed = True

    def __setattr__(self, name: str, value: Any) -> None:
        if "_sealed" in vars(self):
            raise AttributeError(f"terms cannot be changed ({name}); write down others")
        super().__setattr__(name, value)

    # --- names ------------------------------------------------------------------------------------

    @property
    def description(self) -> Description:
        """The description that these equations came from."""
        return self.chart.system

    @property
    def constraints(self) -> tuple[str, ...]:
        """Names of the rows of A, and so of λ."""
        return self.levels.names

    # --- kinematics -------------------------------------------------------------------------------

    @property
    def N(self) -> SX:
        """N in q̇ = N u + n."""
        return self.chart.N

    @property
    def n(self) -> SX:
        """n in q̇ = N u + n."""
        return SX(self.N.shape[0], 1) if self.chart.n is None else self.chart.n

    @property
    def qdot(self) -> SX:
        """q̇ = N u + n."""
        return self.chart.qdot

    # --- dynamics ---------------------------------------------------------------------------------

    @cached_property
    def M(self) -> SX:
        """Mass matrix M(q, t)."""
        count = len(self.symbols.speeds)
        return matrix(self.dynamics.M(), (count, count), "M")

    @cached_property
    def f(self) -> SX:
        """Applied minus inertia forces f(q, u, t, w)."""
        return ca.densify(matrix(self.dynamics.f(), (len(self.symbols.speeds), 1), "f"))

    @cached_property
    def tau(self) -> SX:
        """τ = M u̇ − f for u̇ as symbols, by the cheapest route."""
        udot, inverse = self.symbols.udot, self.dynamics.inverse
        return self.M @ udot - self.f if inverse is None else inverse(udot)

    @property
    def coefficients(self) -> Mapping[str, Coefficient]:
        """The formalism's own named quantities."""
        return self.dynamics.coefficients

    # --- constraints ------------------------------------------------------------------------------

    @property
    def levels(self) -> Levels:
        """All constraints by level."""
        return self.rows.levels

    @property
    def phi(self) -> SX:
        """Position constraints φ(q, t)."""
        return self.levels.phi

    @property
    def psi(self) -> SX:
        """Velocity constraints ψ(q, u, t): the rates of φ, then those given at this level."""
        return self.levels.psi

    @property
    def A(self) -> SX:
        """Constraint Jacobian: ∂ψ/∂u, then the rows given at acceleration level."""
        return self.levels.A

    @property
    def b(self) -> SX:
        """The rest of the acceleration level A u̇ + b = 0."""
        return self.levels.b

    @property
    def multipliers(self) -> SX:
        """λ, as symbols."""
        return self.rows.multipliers

    @cached_property
    def scales(self) -> Scales:
        """How large the speeds and the rows of A usually are: lengths as far as bodies are large,
        angles one; without bodies, speeds by their inertia."""
        chart, names, (arguments, states) = self.chart, self.symbols.speeds, self.usual_states
        sizes = chart.spans(names)
        if isinstance(chart, PlainChart) and (sizes == 1).all():
            sizes = sizes_by_inertia(self.M, arguments, states)
        return Scales(sizes, usual_lengths(self.A, arguments, states, sizes))

    @cached_property
    def usual_states(self) -> tuple[SX, np.ndarray]:
        """(q, u, t, p), and a few random values of it, one in each row."""
        s, chart, random = self.symbols, self.chart, np.random.default_rng(0)
        q, values = chart.scattered(random, STATES), np.array([s.defaults] * STATES)
        values[1::2] += values[1::2] == 0  # contacts that are open would have no rows
        moving = random.uniform(-1, 1, (STATES, len(s.speeds) + 1))
        states = np.hstack([q, moving, values.reshape(STATES, -1)])
        return ca.vertcat(s.q, s.u, s.t, s.p), states

    @cached_property
    def usual_forces(self) -> np.ndarray:
        """How large the entries of f usually are, without inputs."""
        s = self.symbols
        w = np.zeros((len(s.inputs), STATES))
        arguments, states = self.usual_states
        values = np.array(ca.Function("f", [arguments, s.w], [self.f])(states.T, w))
        return np.asarray(np.median(np.where(np.isfinite(values), np.abs(values), 0.0), axis=1))

    @property
    def has_friction(self) -> bool:
        """True if constraint forces drag others along, so that G ≠ A."""
        return self.rows.has_friction

    @property
    def has_drag(self) -> bool:
        """True if some of these are not linear in the multipliers."""
        return bool(self.rows.drag.nnz())

    @cached_property
    def G(self) -> SX:
        """Directions of the constraint forces: M u̇ = f + Gᵀλ; in this motion, where forces are not
        linear in λ."""
        rows = self.rows
        if not self.has_drag:
            return rows.directions
        forces = self.closure.forces(self)
        return rows.directions + drag_slopes(rows.drag, rows.multipliers, forces, self.f, self.b).T

    @property
    def constraint_forces(self) -> SX:
        """The multipliers along the speeds, as an expression of them: Gᵀλ in any motion
        of which they are."""
        return self.rows.directions.T @ self.multipliers + self.rows.drag

    @cached_property
    def S(self) -> SX | None:
        """A complement with A S = 0, if one is known."""
        S = self.closure.S
        if S is None:
            return None
        S = expression(S)
        return matrix(S, (len(self.symbols.speeds), S.shape[1]), "S")

    # --- energies ---------------------------------------------------------------------------------

    @cached_property
    def kinetic(self) -> SX:
        """Kinetic energy T."""
        return matrix(self.parts.energies.kinetic(), (1, 1), "kinetic")

    @cached_property
    def potential(self) -> SX:
        """Potential energy V: gravity and the conservative parts of all forces."""
        return matrix(self.parts.energies.potential(), (1, 1), "potential")

    @cached_property
    def supplied(self) -> SX:
        """Power that drives supply, an expression of u̇ and λ as well."""
        return matrix(self.parts.energies.supplied(), (1, 1), "supplied")

    @cached_property
    def dissipated(self) -> SX:
        """Power that dampers and friction take."""
        return matrix(self.parts.energies.dissipated(), (1, 1), "dissipated")

    @property
    def working(self) -> tuple[str, ...]:
        """Names of the forces, constraints and driven joints that have power; none are known of
        equations without a System."""
        return self.reactions.working

    # --- outputs ----------------------------------------------------------------------------------

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names of the user's own quantities."""
        return tuple(dict.fromkeys([*self._outputs, *self.chart.description.outputs]))

    def output(self, name: str) -> SX | None:
        """One of them, as an expression; None if there is none of that name."""
        stated = self.chart.description.outputs.get(name)
        if stated is not None and name not in self._outputs:
            with blamed(f"output {name!r}"):
                value = column(stated(self.chart.motion))
                if has_nan(value):
                    raise ModelError(NO_NUMBER)
            self._outputs[name] = value
        found = self._outputs.get(name)
        if callable(found):
            found = self._outputs[name] = column_of(found(), name)
        return found

    # --- inside -----------------------------------------------------------------------------------

    def __repr__(self) -> str:
        sizes = f"{len(self.symbols.coordinates)} coordinates, {len(self.symbols.speeds)} speeds"
        rows = f", {len(self.constraints)} constraint rows" if self.constraints else ""
        return f"<Terms of {self.name!r} by {self.formalism}: {sizes}{rows}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return self.parts.recipe or super().__reduce__()

    def __deepcopy__(self, memo: dict[int, Any]) -> Terms:
        return self  # nothing of it changes

    def __copy__(self) -> Terms:
        return self


def _without_sympy(symbols: Variables, *given: Any) -> list[Any]:
    """What is given, with SymPy's matrices and expressions as those of CasADi."""
    if "sympy" not in sys.modules:  # which takes its time to load
        return list(given)
    return [door.show.expressions.from_sympy(value, symbols) for value in given]
