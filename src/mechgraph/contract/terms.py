"""``Terms``: the contract. What every formalism delivers, a composition makes from others, and
anybody may write down: the equations of motion as named expressions.

With coordinates q, speeds u, inputs w, parameters p, time t:

    q̇ = N u + n,    M u̇ = f + Gᵀλ,    φ(q, t) = 0,    ψ(q, u, t) = 0,    A u̇ + b = 0,

with G = A unless friction goes with the constraint forces. Coordinates and speeds need not come in
pairs, and M may be singular where the constraints complete it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import name_of, reserved
from ..closures.expressions import Solver, multipliers_of
from ..closures.friction import dragged
from ..errors import ModelError, UnsupportedError, blamed
from ..formalisms.dynamics import Coefficient
from ..model.constraints import Level
from ..model.description import Description
from ..model.joints import Rows
from ..motion.chart import Chart
from ..motion.constraint_rows import ConstraintRows
from ..motion.levels import Levels
from ..motion.motion import column
from ..motion.reactions import Reactions
from ..motion.samples import Samples
from ..motion.variables import Variables
from ..numerics.rank import rank
from ..numerics.scales import Scales, sizes_by_inertia, usual_lengths
from ..pickling import Picklable
from ..vectors import NO_NUMBER, NOT_AN_EXPRESSION, has_nan
from .composed import Composed
from .plain import PlainChart
from .solver import is_massless, solver

NO_COMPLEMENT = 1e-8  # of A S, beside what it is made of
STATES = 4  # random ones, at which scales are looked at
Given = SX | Callable[[], SX]  # an expression, or a function that derives it when it is asked for


class Terms(Picklable):
    """The equations of motion as expressions; nothing of it changes.

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
        drag: Any = None,
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
        close: Callable[[], Solver] | None = None,
        coefficients: Mapping[str, Coefficient] | None = None,
        name: str = "equations",
        formalism: str = "hand",
        chart: Chart | None = None,
        rows: ConstraintRows | None = None,
        reactions: Reactions | None = None,
        recipe: tuple[Any, ...] | None = None,
        composed: Composed | None = None,
    ) -> None:
        """Terms from ``symbols`` (see ``mg.variables``); matrices as lists of rows, or expressions.

        N, n: q̇ = N u + n; the identity, if not given.
        M, f: the mass matrix, and applied minus inertia forces.
        position, velocity, acceleration: rows that stay zero, by name, at each level; φ̇ and φ̈, ψ̇
            and λ follow.
        G: directions of the constraint forces, A if not given.
        drag: of a composition, forces along the speeds that grow with λ, but are not linear in it.
        S: a complement, A S = 0, if one is known.
        kinetic, potential, supplied, dissipated: energies, and powers that change their sum.
        outputs: further quantities by name.
        reference: coordinates where assembly begins, zero if not given.
        quaternions: names of the four coordinates of each unit quaternion.
        solve, inverse: cheaper routes to u̇ = M⁻¹ (f + τ) and τ = M u̇ − f.
        condition: the squared ratios, added up, of what the pivots of ``solve`` are made of to the
            pivots.
        close: a way of its own from the constraints to (u̇, λ) of f and b.
        """
        if not isinstance(symbols, Variables):
            raise ModelError(f"Terms begin with mg.variables(…), got {symbols!r}")
        self.symbols, self.name, self.formalism = symbols, name_of("Terms", name), formalism
        self._given = {
            "M": M, "f": f, "G": G, "drag": drag, "S": S, "kinetic": kinetic,
            "potential": potential, "supplied": supplied, "dissipated": dissipated,
        }  # fmt: skip
        self.solve, self.inverse, self.condition = solve, inverse, condition
        self.close = close
        self.coefficients = dict(coefficients or {})
        self.rows, self.reactions, self._recipe = rows, reactions, recipe
        self.composed = composed
        if chart is None:
            sizes = len(symbols.coordinates), len(symbols.speeds)
            same = SX.eye(sizes[0]) if sizes[0] else SX(*sizes)  # speeds alone need no N
            rates = _matrix(same if N is None else N, sizes, "N")
            offset = None if n is None else _matrix(n, (sizes[0], 1), "n")
            chart = PlainChart(name, symbols, rates, offset, reference, quaternions)
        self.chart = chart
        given = {"position": position, "velocity": velocity, "acceleration": acceleration}
        self._levels = None if rows is not None else self._read_levels(given)
        self._outputs = {
            key: value if callable(value) else _column(value, key)
            for key, value in (outputs or {}).items()
        }
        self._check_names()
        if recipe is None:
            self._check()
        self._sealed = True

    def __setattr__(self, name: str, value: Any) -> None:
        if "_sealed" in vars(self):
            raise AttributeError(f"terms cannot be changed ({name}); write down others")
        super().__setattr__(name, value)

    # --- names ------------------------------------------------------------------------------------

    @property
    def description(self) -> Description:
        """What these equations came from."""
        if self.rows is None:
            raise UnsupportedError(
                f"{self.name!r} was written down without a System, so it has no bodies and joints"
            )
        return self.chart.description

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
        return _matrix(self._derived("M"), (count, count), "M")

    @cached_property
    def f(self) -> SX:
        """Applied minus inertia forces f(q, u, t, w)."""
        return ca.densify(_matrix(self._derived("f"), (len(self.symbols.speeds), 1), "f"))

    @cached_property
    def tau(self) -> SX:
        """τ = M u̇ − f for u̇ as symbols, by the cheapest route."""
        udot = self.symbols.udot
        return self.M @ udot - self.f if self.inverse is None else self.inverse(udot)

    # --- constraints ------------------------------------------------------------------------------

    @property
    def levels(self) -> Levels:
        """All constraints by level."""
        return self._levels if self._levels is not None else self._rows.levels

    @property
    def _rows(self) -> ConstraintRows:
        assert self.rows is not None
        return self.rows

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

    @cached_property
    def scales(self) -> Scales:
        """How large the speeds and the rows of A usually are: lengths as far as bodies are large,
        angles one; without bodies, speeds by their inertia."""
        s, chart, random = self.symbols, self.chart, np.random.default_rng(0)
        arguments = ca.vertcat(s.q, s.u, s.t, s.p)
        q, values = chart.scattered(random, STATES), np.array([s.defaults] * STATES)
        values[1::2] += values[1::2] == 0  # contacts that are open would have no rows
        moving = random.uniform(-1, 1, (STATES, len(s.speeds) + 1))
        states = np.hstack([q, moving, values.reshape(STATES, -1)])
        sizes = chart.spans(s.speeds)
        if isinstance(chart, PlainChart) and (chart.spans(s.speeds) == 1).all():
            sizes = sizes_by_inertia(self.M, arguments, states)
        return Scales(sizes, usual_lengths(self.A, arguments, states, sizes))

    @property
    def has_friction(self) -> bool:
        """True if constraint forces drag others along, so that G ≠ A."""
        if self.rows is not None:
            return self.rows.has_friction
        return self._given["G"] is not None or self.drag is not None

    @property
    def drag(self) -> SX | None:
        """Forces along the speeds that grow with λ, but are not linear in it; None without."""
        return self._given["drag"] if self.rows is None else self.rows.drag

    @cached_property
    def directions(self) -> SX:
        """Directions of the constraint forces with what goes with them linearly."""
        if self.rows is not None:
            return self.rows.G
        return (
            self.A if self._given["G"] is None else _matrix(self._derived("G"), self.A.shape, "G")
        )

    @cached_property
    def G(self) -> SX:
        """Directions of the constraint forces: M u̇ = f + Gᵀλ; in this motion, where forces are not
        linear in λ."""
        if self.drag is None:
            return self.directions
        D = dragged(self.drag, self.multipliers, self._forces, self.f, self.b)
        return self.directions + D.T

    @property
    def constraint_forces(self) -> SX:
        """What the multipliers are along the speeds, as an expression of them: Gᵀλ in any motion
        of which they are."""
        forces = self.directions.T @ self.multipliers
        return forces if self.drag is None else forces + self.drag

    def _forces(self, f: SX, b: SX) -> SX:
        """λ of f and b without ``drag``."""
        if self._solver is not None:
            return self._solver.solve(f, b)[1]
        assert self.composed is not None
        udot = self.composed.close(f, b)
        return multipliers_of(self.M, self.A, f, udot, self.scales.factors)

    @cached_property
    def _solver(self) -> Solver | None:
        """Of M u̇ = f + λᵀ directions; none where a composition has its own way."""
        if self.rows is None and self._given["G"] is None:
            return None
        return solver(self, "multipliers", is_massless(self), self.A, self.directions)

    @cached_property
    def S(self) -> SX | None:
        """A complement with A S = 0, if one is known."""
        if self._given["S"] is None:
            return None
        S = _expression(self._derived("S"))
        return _matrix(S, (len(self.symbols.speeds), S.shape[1]), "S")

    @cached_property
    def multipliers(self) -> SX:
        """λ, as symbols."""
        if self.composed is not None:
            return self.composed.multipliers
        return (
            SX.sym("lambda", len(self.constraints)) if self.rows is None else self.rows.multipliers
        )

    # --- energies ---------------------------------------------------------------------------------

    @cached_property
    def kinetic(self) -> SX:
        """Kinetic energy T."""
        return _matrix(self._derived("kinetic"), (1, 1), "kinetic")

    @cached_property
    def potential(self) -> SX:
        """Potential energy V: gravity and the conservative parts of all forces."""
        return _matrix(self._derived("potential"), (1, 1), "potential")

    @cached_property
    def supplied(self) -> SX:
        """Power that drives supply, an expression of u̇ and λ as well."""
        return _matrix(self._derived("supplied"), (1, 1), "supplied")

    @cached_property
    def dissipated(self) -> SX:
        """Power that dampers and friction take."""
        return _matrix(self._derived("dissipated"), (1, 1), "dissipated")

    @property
    def working(self) -> tuple[str, ...]:
        """Names of the forces, constraints and driven joints that have power; none are known of
        equations without a System."""
        return () if self.reactions is None else self.reactions.working

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
            found = self._outputs[name] = _column(found(), name)
        return found

    # --- inside -----------------------------------------------------------------------------------

    def _derived(self, name: str) -> Any:
        value = self._given[name]
        return value() if callable(value) else value

    def _read_levels(self, given: Mapping[Any, Mapping[str, Any] | None]) -> Levels:
        if self.composed is not None:
            return self.composed.levels
        rows: dict[Level, Rows] = {
            level: [
                (name if row.numel() == 1 else f"{name}: {k + 1}", entry)
                for name, value in (named or {}).items()
                if name_of(f"a row at the level of {level}", name)
                for row in [_column(value, name)]
                for k, entry in enumerate(ca.vertsplit(row))
            ]
            for level, named in given.items()
        }
        return Levels(self.symbols, self.chart.rate, rows, self.chart.scattered)

    def _check_names(self) -> None:
        """Refuse what has the name of a variable, which would answer in its place."""
        d, s = self.chart.description, self.symbols
        of_joints = {name for j in d.joints.values() for name in (*j.coordinates, *j.speeds)}
        variables = {*s.coordinates, *s.speeds}
        for name, value in self._outputs.items():
            name_of("output", name)
            known = name in {*variables, *s.inputs, *s.parameters}
            reason = "a variable is called so" if known else reserved(name)
            if reason is not None and not (known and (callable(value) or _is(value, s[name]))):
                raise ModelError(f"output {name!r}: {reason}; rename it")
        others = {*d.outputs, *s.inputs, *s.parameters, *d.places}
        clashes = (variables - of_joints) & others
        for name in sorted(name for name in clashes if not self._is_output(name)):
            raise UnsupportedError(
                f"{name!r}: {self.formalism} has a variable of that name; rename what is called so"
            )

    def _is_output(self, name: str) -> bool:
        """True if an output is the variable of its name, as seen at one state."""
        s, value = self.symbols, self.output(name)
        if value is None or not value.is_scalar() or s.strangers(value):
            return False
        gap = ca.Function("gap", [s.q, s.u, s.t, s.w, s.p], [value - s[name]], {"allow_free": True})
        if gap.has_free():
            return False
        sizes = [gap.numel_in(k) for k in range(gap.n_in())]
        numbers = [0.1 + 0.5 * np.random.default_rng(k).random(n) for k, n in enumerate(sizes)]
        return abs(float(gap(*numbers))) < 1e-12

    def _check(self) -> None:
        """Refuse expressions written by hand that use what they must not."""
        s = self.symbols
        expressions = {
            "N": (self.N, ca.vertcat(s.u, s.udot, s.w)),
            "n": (self.n, ca.vertcat(s.u, s.udot, s.w)),
            "M": (self.M, ca.vertcat(s.u, s.udot, s.w)),
            "f": (self.f, s.udot),
            "position": (self.phi, ca.vertcat(s.u, s.udot, s.w)),
            "velocity": (self.psi, ca.vertcat(s.udot, s.w)),
            "kinetic": (self.kinetic, s.udot),
            "potential": (self.potential, ca.vertcat(s.u, s.udot)),
        }
        if self.composed is None and self.S is not None:
            expressions["S"] = self.S, ca.vertcat(s.udot, s.w)
            least = len(s.speeds) - len(self.constraints)
            if self.S.shape[1] < least:
                raise ModelError(
                    f"S must have {least} columns at least, one for each speed that is left free, "
                    f"got {self.S.shape[1]}"
                )
            self._check_complement(self.S)
        for name, (value, barred) in expressions.items():
            strangers = s.strangers(value)
            if strangers:
                raise ModelError(f"{name}: uses {strangers[0]!r}, which is not among its variables")
            if has_nan(value):
                raise ModelError(f"{name} {NO_NUMBER}")
            if ca.depends_on(value, barred):
                named = [x.name() for x in ca.symvar(value) if ca.depends_on(x, barred)]
                raise ModelError(f"{name} must not depend on {named[0]!r}")

    def _check_complement(self, S: SX) -> None:
        """Refuse an S that is none, at some states that meet the constraints."""
        samples = Samples(self.chart, self.levels)
        if not samples.met:
            return
        for A, columns in zip(samples.of(self.A), samples.of(S), strict=True):
            if not np.isfinite(columns).all():
                continue  # it may fail somewhere
            left = np.abs(A @ columns).max(axis=1, initial=0.0)
            size = np.abs(A).max(axis=1, initial=0.0) * np.abs(columns).max(initial=0.0)
            wrong = np.flatnonzero(left > NO_COMPLEMENT * size)
            if wrong.size:
                raise ModelError(
                    f"S is no complement of the constraints: A S is not zero in the row of "
                    f"{self.constraints[wrong[0]]!r}"
                )
            freedoms = A.shape[1] - rank(A, self.scales.rows, self.scales.speeds)
            if rank(columns.T) < freedoms:
                raise ModelError(
                    f"S must have {freedoms} independent columns, one for each freedom"
                )

    def __repr__(self) -> str:
        sizes = f"{len(self.symbols.coordinates)} coordinates, {len(self.symbols.speeds)} speeds"
        rows = f", {len(self.constraints)} constraint rows" if self.constraints else ""
        return f"<Terms of {self.name!r} by {self.formalism}: {sizes}{rows}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return super().__reduce__() if self._recipe is None else self._recipe

    def __deepcopy__(self, memo: dict[int, Any]) -> Terms:
        return self  # nothing of it changes

    def __copy__(self) -> Terms:
        return self


def _expression(value: Any) -> SX:
    """Numbers and expressions, a list of rows, as a matrix."""
    if isinstance(value, (SX, ca.DM)):
        return SX(value)
    if isinstance(value, (list, tuple, np.ndarray)):
        rows = [list(row) if isinstance(row, (list, tuple, np.ndarray)) else [row] for row in value]
        return ca.vertcat(*(ca.horzcat(*map(SX, row)) for row in rows)) if rows else SX(0, 1)
    return SX(value)


def _matrix(value: Any, shape: tuple[int, int], what: str) -> SX:
    try:
        matrix = _expression(value)
    except NOT_AN_EXPRESSION:
        raise ModelError(f"{what} must be numbers and expressions, got {value!r}") from None
    if matrix.shape != shape:
        wanted, got = (f"{rows}x{columns}" for rows, columns in (shape, matrix.shape))
        raise ModelError(f"{what} must be {wanted}, got {got}")
    return matrix


def _is(value: SX, symbol: SX) -> bool:
    return value.is_scalar() and ca.is_equal(value, symbol)


def _column(value: Any, what: str) -> SX:
    try:
        return ca.densify(ca.vec(_expression(value)))
    except NOT_AN_EXPRESSION:
        raise ModelError(f"{what!r} must be an expression, got {value!r}") from None
