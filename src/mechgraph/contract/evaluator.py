"""The terms on numbers: arguments are read, kernels are built and kept."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from functools import cached_property
from typing import Any, TypeVar

import casadi as ca
import numpy as np
from casadi import SX
from scipy.sparse import csc_matrix, diags

from ..arguments import numbers, times
from ..closures import sparse
from ..closures.closure import CLOSURES
from ..closures.expressions import BADLY_CONDITIONED, known
from ..closures.numbers import Solution, bordered, constraint_forces, solved
from ..errors import ArgumentError, ModelError, UnsupportedError
from ..interrupts import remembered_interrupts
from ..kernels import Kernel, flow
from ..model.limits import Limits
from ..motion.loads import culprit
from ..numerics.scales import multiplied
from ..numerics.tolerances import EPSILON, FADING, KNOWN, TINY, UNKNOWN
from ..tables.graph import refusal
from ..tables.series import at_times
from .closed import Closed, entries
from .solver import sparse_matrix
from .terms import Terms

ARGUMENTS = ("coordinates", "speeds", "time", "inputs", "parameters", "accelerations")
NAMED = 6  # speeds in a message
# least eigenvalue of M + AᵀA, free of units, that counts as none: it is known to one rounding of
# its largest entries, which are one, so that less leaves a relative error of more than UNKNOWN
NO_INERTIA = EPSILON / UNKNOWN
CLOSED = 1e-13  # relative error of A u̇ + b = 0 up to which a closure inside a kernel is taken
NO_VALUE = "has no value"
WHY_NONE = (
    "0/0: a spring of length zero, a direction between two points that coincide, a length or pitch "
    "of zero; begin a little beside it, or change the parameter"
)

Kept = TypeVar("Kept")
_searching: ContextVar[bool] = ContextVar("searching", default=False)


@contextmanager
def searching() -> Iterator[None]:
    """For those who try states, and judge numbers that are not finite themselves."""
    before = _searching.set(True)
    try:
        yield
    finally:
        _searching.reset(before)


class Evaluator:
    """Functions of (q, u, t, w, p) on arrays, with a batch as leading axes; kernels by key."""

    def __init__(self, terms: Terms, closure: str) -> None:
        self.terms, self.closed = terms, Closed(terms, closure)
        self.kernels: dict[Any, Kernel] = {}
        self._kept: dict[Any, Any] = {}
        self._limits = Limits(terms.chart.description, terms.chart.checks)

    # --- kernels ----------------------------------------------------------------------------------

    def kernel(
        self, key: Any, results: Callable[[], list[SX]], axes: list[int], *extra: SX
    ) -> Kernel:
        """The kernel kept under ``key``; a function of q, u, t, w, p and the ``extra`` symbols,
        built at the first call."""
        if key not in self.kernels:
            with remembered_interrupts():
                self.kernels[key] = self.built(results(), axes, *extra)
        return self.kernels[key]

    def kept(self, key: Any, derive: Callable[[], Kept]) -> Kept:
        """The expression (or several) kept under ``key``, derived when it is first asked for."""
        if key not in self._kept:
            with remembered_interrupts():
                self._kept[key] = derive()
        found: Kept = self._kept[key]
        return found

    def built(self, results: list[SX], axes: list[int], *extra: SX) -> Kernel:
        """A kernel that nobody keeps yet."""
        s, (q, u, _, w, p) = self.terms.symbols, self.arguments(None, None, 0.0, None, None)
        arguments = [s.q, s.u, s.t, s.w, s.p, *extra]
        try:
            made = Kernel("kernel", arguments, results, axes, [q, u, 0.0, w, p], ARGUMENTS)
            made.unanswered = self._explain
            return made
        except RuntimeError:
            own = {x.__hash__() for x in ca.symvar(ca.veccat(*arguments))}
            found = ca.symvar(ca.veccat(*results))
            strangers = [repr(x.name()) for x in found if x.__hash__() not in own]
            if not strangers:
                raise
            raise ModelError(
                f"an expression of the model uses {', '.join(strangers)}, not of this system"
            ) from None

    def evaluate(
        self,
        key: Any,
        result: Callable[[], SX],
        axes: int,
        q: Any,
        u: Any = None,
        t: Any = 0.0,
        inputs: Any = None,
        parameters: Any = None,
        threads: int = 1,
        out: Any = None,
    ) -> np.ndarray:
        """One expression on arrays, by the kernel kept under ``key``; in the array ``out``, if
        given."""
        if inputs is None and parameters is None and out is None and key in self.kernels:
            value = self.kernels[key].quick(q, u, t)
            if value is not None:
                return value
        kernel = self.kernel(key, lambda: [result()], [axes])
        arguments = self.arguments(q, u, t, inputs, parameters, copy=False)
        into = None if out is None else [out]
        return kernel(*arguments, threads=threads, out=into)[0]

    # --- what has no value ------------------------------------------------------------------------

    def _explain(self, function: ca.Function, at: list[np.ndarray]) -> None:
        """Refuse a state where a table of a function does; say so where a force has no value."""
        if _searching.get() or not all(np.isfinite(values).all() for values in at):
            return
        symbols = function.sx_in()
        refused = refusal(ca.veccat(*function.call(symbols)), symbols, at)
        if refused is not None:
            raise ArgumentError(refused)
        valueless = self.valueless(*at[:5])
        if valueless is not None:
            warnings.warn(f"{valueless} has no value at this state", stacklevel=5)

    def unanswered(self, q: Any, u: Any, t: Any, inputs: Any, parameters: Any) -> str | None:
        """What is to be said of a table that refuses, or a force that has no value, at a state."""
        terms, s, at = self.terms, self.terms.symbols, self.arguments(q, u, t, inputs, parameters)
        value = ca.veccat(terms.M, terms.f, terms.phi, terms.psi, terms.b)
        refused = refusal(value, [s.q, s.u, s.t, s.w, s.p], at)
        valueless = self.valueless(*at) if refused is None else None
        return refused if valueless is None else f"{valueless} {NO_VALUE}"

    def without_value(self, q: Any, u: Any, t: Any, inputs: Any, parameters: Any) -> str | None:
        """What is to be said of a table, force, constraint or inertia without a value at a state;
        None if the equations are numbers."""
        with searching():
            parts = self._entries(*self.arguments(q, u, t, inputs, parameters))
            if all(np.isfinite(part).all() for part in parts):
                return None
            told = self.unanswered(q, u, t, inputs, parameters)
        if told is not None and not told.endswith(NO_VALUE):
            return told  # a table's own words
        return f"{told or self._row_without_value(parts)} here ({WHY_NONE})"

    def _row_without_value(self, parts: list[np.ndarray]) -> str:
        """The constraint that is not a number, or else the mass matrix, from the entries of M, f,
        A, b."""
        lost = [~np.isfinite(part).reshape(-1, part.shape[-1]).all(axis=0) for part in parts[2:]]
        rows = {*np.array(self.terms.A.sparsity().row())[lost[0]], *np.flatnonzero(lost[1])}
        if rows:
            return f"constraint {self.terms.constraints[min(rows)]!r} {NO_VALUE}"
        return f"the mass matrix or a force {NO_VALUE}"

    def valueless(self, q: Any, u: Any, t: Any, w: Any, p: Any) -> str | None:
        """The force that is not a number at a state: 0/0, a root of what is negative; None if
        there is none."""
        m = self.terms.chart.motion
        for element in self.terms.chart.description.elements:
            acting = [*element.conservative(m), *element.nonconservative(m)]
            parts = [part for action in acting for part in vars(action).values()]
            value = ca.vertcat(SX(0, 1), *(ca.vec(part) for part in parts if isinstance(part, SX)))
            with searching():
                found = self.built([value], [1])(q, u, t, w, p)[0]
            if not np.isfinite(found).all():
                return culprit(element)
        return None

    # --- arguments --------------------------------------------------------------------------------

    def arguments(
        self, q: Any, u: Any, t: Any, inputs: Any, parameters: Any, copy: bool = True
    ) -> list[np.ndarray]:
        """q, u, t, w, p as arrays with a last axis; what is not given is zero (parameters: their
        defaults). Without ``copy`` for reading only."""
        s, reference = self.terms.symbols, np.array(self.terms.chart.reference)
        return [
            numbers("coordinates", s.coordinates, self._with_turns(q), reference, copy),
            numbers("speeds", s.speeds, u, copy=copy),
            times(t),
            numbers("inputs", s.inputs, at_times(inputs, t)),
            self.constants(parameters),
        ]

    def accelerations_given(self, udot: Any) -> np.ndarray:
        """u̇ as an array with a last axis; zeros, if not given."""
        return numbers("accelerations", self.terms.symbols.speeds, udot)

    def constants(self, parameters: Any) -> np.ndarray:
        """p, within the limits that elements set."""
        s = self.terms.symbols
        p = numbers("parameters", s.parameters, parameters, np.array(s.defaults))
        problems = [] if parameters is None else list(self._limits.problems(p))
        if problems:
            raise ArgumentError(f"parameters: {'; '.join(problems)}")
        return p

    def _with_turns(self, q: Any) -> Any:
        """Coordinates, with zeros for those that count turns if these are left out: angles are
        within half a turn of zero."""
        counted, count = len(self.terms.chart.counted), len(self.terms.symbols.coordinates)
        if counted and not isinstance(q, Mapping):
            with suppress(TypeError, ValueError):  # the reader of numbers says what is wrong
                array = np.asarray(q, dtype=float)
                if array.shape[-1:] == (count - counted,):
                    zeros = np.zeros((*array.shape[:-1], counted))
                    return np.concatenate([array, zeros], axis=-1)
        return q

    # --- accelerations ----------------------------------------------------------------------------

    def accelerations(
        self, q: Any, u: Any, t: Any, inputs: Any, parameters: Any, threads: int
    ) -> np.ndarray:
        """u̇ with all constraints.

        With constraints the closure runs inside the kernel, which also says how well they are met;
        states where that is not to rounding (singular positions) are solved again by ``solve``,
        which reveals the rank.
        """
        given = q, u, t, inputs, parameters
        if not self.terms.constraints:
            udot = self.evaluate("known udot", self._known_udot, 1, *given, threads)
            return udot if np.isfinite(udot).all() else self.solve(*given)[0]
        if not self.closed.is_expression:
            return self.solve(*given)[0]
        out = self.evaluate("closed", lambda: self.checked, 1, *given, threads)
        udot, error = out[..., :-1], out[..., -1]
        return udot if (error < CLOSED).all() else self.solve(*given)[0]

    def _known_udot(self) -> SX:
        """u̇, no number where more than a warning has to be said."""
        return known(self.closed.udot, self.closed.condition, BADLY_CONDITIONED)

    @property
    def checked(self) -> SX:
        """u̇ and the largest |A u̇ + b| relative to the terms that make up its row; more than CLOSED
        where M is badly conditioned, too, and no number where u̇ is none."""
        udot, rows = self.closed.udot, self.closed.unsure
        badly = CLOSED * BADLY_CONDITIONED**2 * self.closed.condition
        badly += (1e-300 * ca.sum1(udot)) ** 2
        if not rows:
            return ca.vertcat(udot, badly)
        even = self.terms.scales.factors[rows]
        A, b = (multiplied(even, each) for each in (self.terms.A[rows, :], self.terms.b[rows]))
        held = sorted(set(A.sparsity().get_col()))
        sizes = ca.sum2(ca.fabs(A)) * ca.norm_inf(udot[held]) + ca.fabs(b)
        left = ca.fabs(A @ udot + b) / (sizes + FADING * ca.norm_inf(sizes) + TINY)
        return ca.vertcat(udot, ca.norm_inf(left) + badly)

    def solve(
        self, q: Any, u: Any, t: Any = 0.0, inputs: Any = None, parameters: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(u̇, λ); with constraints by the closure on numbers: it reveals the rank, so redundant
        rows and singular positions are met."""
        given = q, u, t, inputs, parameters
        if not self.terms.constraints:
            return self._solve_tree(*given)
        if self.large and not self.terms.has_friction:
            return self._solve_large(*given)
        M, f, A, b = self._matrices(*self.arguments(*given))
        factor = CLOSURES[self.closed.closure].factor
        G = None
        if self.terms.has_friction:
            factor, G = bordered, self.evaluate("G", lambda: self.terms.G, 2, *given)
            if np.isnan(G).any():
                raise ArgumentError(
                    "no constraint forces were found here with which the friction that goes with "
                    "them is in balance: it jams, or is too large"
                )
        try:
            solution = solved(factor, M, f, A, b, G, self.terms.scales)
        except np.linalg.LinAlgError:
            raise ArgumentError(self.undetermined_message(*given)) from None
        self._judge(solution.error, *given)
        self._warn_of_doubt(solution.doubtful)
        self._warn_of_contradictions(A, b, solution)
        return solution.udot, solution.lam

    def constraint_forces(
        self, q: Any, u: Any, t: Any, inputs: Any, parameters: Any, nonideal: Any
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """u̇, and the ideal and non-ideal constraint forces along the speeds."""
        if self.terms.has_friction:
            raise UnsupportedError(
                "friction that grows with the constraint forces is a part of the model here; it is "
                "seen in the multipliers and reactions"
            )
        C = numbers("nonideal", self.terms.symbols.speeds, nonideal)
        given = q, u, t, inputs, parameters
        M, f, A, b = self._matrices(*self.arguments(*given))
        try:
            return constraint_forces(M, f, A, b, C)
        except np.linalg.LinAlgError:
            raise ArgumentError(self.undetermined_message(*given)) from None

    def _solve_tree(
        self, q: Any, u: Any, t: Any, inputs: Any, parameters: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """u̇ without constraints, by the formalism's own route, and no λ."""
        out = self.evaluate(
            "udot and condition",
            lambda: ca.vertcat(self.closed.udot, self.closed.condition),
            1,
            *(q, u, t, inputs, parameters),
        )
        udot, condition = out[..., :-1], out[..., -1]
        self._judge(EPSILON * np.sqrt(condition), q, u, t, inputs, parameters)
        return udot, np.zeros((*udot.shape[:-1], 0))

    # --- how well they are known ------------------------------------------------------------------

    def _judge(
        self, error: np.ndarray, q: Any, u: Any, t: Any, inputs: Any, parameters: Any
    ) -> None:
        """Refuse accelerations of which nothing is known, and warn of those that are known badly,
        by their relative error.

        A closure's own error tells only that something is wrong: how much rounding leaves of an
        inertia that is zero depends on the closure and on the processor. Whether there is any is
        asked of M and A themselves.
        """
        worst = float(np.max(error, initial=0.0))
        if worst <= KNOWN:
            return
        inertia, names = min(self._weakest(q, u, t, parameters))
        if not worst < UNKNOWN or inertia < NO_INERTIA:
            raise ArgumentError(self.undetermined_message(q, u, t, inputs, parameters))
        warnings.warn(
            f"the accelerations are known to about {worst:.0e} only (relative): the mass matrix "
            f"is nearly singular; hardly anything that moves with {names} has inertia",
            stacklevel=5,
        )

    def _warn_of_doubt(self, rows: np.ndarray) -> None:
        """Say so where a row is neither a constraint for sure nor none."""
        found = rows[rows >= 0]
        if found.size:
            warnings.warn(
                "so near a singular position that it cannot be told whether "
                f"{self.terms.constraints[int(found.flat[0])]!r} is independent of the other "
                "constraints; the accelerations given leave it out",
                stacklevel=4,
            )

    def _warn_of_contradictions(self, A: np.ndarray, b: np.ndarray, found: Solution) -> None:
        """Say so where no accelerations meet all constraints: those given are a compromise."""
        row = self.contradicted(A, b, found.udot, found.usual)
        if row is not None:
            warnings.warn(
                f"no accelerations meet all constraints here: {row!r} is among those that "
                "contradict each other (or the position is singular, and the speeds lead out of "
                "it); the accelerations given are a compromise",
                stacklevel=4,
            )

    def contradicted(
        self, A: np.ndarray, b: np.ndarray, udot: np.ndarray, usual: np.ndarray | float = 0.0
    ) -> str | None:
        """The row that A u̇ + b = 0 leaves most of, if it is more than rounding and singularity
        explain; ``usual`` is the size of accelerations that may have cancelled."""
        scales = self.terms.scales
        A, b, udot = A * scales.speeds / scales.rows[:, None], b / scales.rows, udot / scales.speeds
        left = np.abs(np.einsum("...ij,...j->...i", A, udot) + b)
        sizes = np.einsum("...ij,...j->...i", np.abs(A), np.abs(udot)) + np.abs(b)
        rounding = CLOSED * np.abs(A).sum(axis=-1) * np.asarray(usual)[..., None]
        wrong = left > KNOWN * sizes.max(axis=-1, keepdims=True, initial=0.0) + rounding
        if not wrong.any():
            return None
        return self.terms.constraints[int(np.argwhere(wrong)[0][-1])]

    @property
    def _matrices(self) -> Kernel:
        terms = self.terms
        return self.kernel("MfAb", lambda: [terms.M, terms.f, terms.A, terms.b], [2, 1, 2, 1])

    @property
    def large(self) -> bool:
        """True if dense matrices would cost more than they are worth."""
        return len(self.terms.symbols.speeds) + len(self.terms.constraints) > sparse.LARGE

    def _solve_large(
        self, q: Any, u: Any, t: Any, inputs: Any, parameters: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """``solve`` by sparse elimination."""
        batch, states = self.sparse_matrices(q, u, t, inputs, parameters)
        try:
            udot, lam, error = zip(*(self._solve_sparse(*state) for state in states), strict=True)
        except RuntimeError:
            given = q, u, t, inputs, parameters
            raise ArgumentError(self.undetermined_message(*given)) from None
        self._judge(np.array(error), q, u, t, inputs, parameters)
        return np.reshape(udot, (*batch, -1)), np.reshape(lam, (*batch, -1))

    def _solve_sparse(
        self, M: csc_matrix, f: np.ndarray, A: csc_matrix, b: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        factors = self.terms.scales.factors
        udot, lam, error = sparse.solve(M, f, csc_matrix(diags(factors) @ A), factors * b)
        return udot, factors * lam, error

    def sparse_matrices(
        self, q: Any, u: Any = None, t: Any = 0.0, inputs: Any = None, parameters: Any = None
    ) -> tuple[tuple[int, ...], Iterator[tuple[csc_matrix, np.ndarray, csc_matrix, np.ndarray]]]:
        """The leading axes of a call, and M, f, A, b of every state in it, the matrices sparse."""
        terms = self.terms
        M, f, A, b = self._entries(*self.arguments(q, u, t, inputs, parameters))
        count = int(np.prod(f.shape[:-1]))
        rows = (x.reshape(count, x.shape[-1]) for x in (M, f, A, b))
        return f.shape[:-1], (
            (sparse_matrix(terms.M, m), g, sparse_matrix(terms.A, a), h)
            for m, g, a, h in zip(*rows, strict=True)
        )

    @property
    def _entries(self) -> Kernel:
        terms = self.terms
        return self.kernel(
            "sparse MfAb",
            lambda: [entries(terms.M), terms.f, entries(terms.A), terms.b],
            [1, 1, 1, 1],
        )

    # --- what is not determined -------------------------------------------------------------------

    def undetermined(
        self, q: Any, u: Any = None, t: Any = 0.0, parameters: Any = None
    ) -> str | None:
        """Speeds that neither inertia nor a constraint determines, so that u̇ is not unique; None
        if there are none."""
        inertia, names = min(self._weakest(q, u, t, parameters))
        return names if inertia < NO_INERTIA else None

    def weakest(self, q: Any, u: Any, t: Any, parameters: Any) -> str:
        """The speeds with which the least inertia moves."""
        return min(self._weakest(q, u, t, parameters))[1]

    def _weakest(self, q: Any, u: Any, t: Any, parameters: Any) -> Iterator[tuple[float, str]]:
        for M, _, A, _ in self.sparse_matrices(q, u, t, None, parameters)[1]:
            inertia, direction = sparse.least_inertia(M, A)
            yield inertia, self._moving(direction)

    def _moving(self, direction: np.ndarray) -> str:
        """The speeds of a motion that are most part of it."""
        speeds, least = self.terms.symbols.speeds, 0.5 * direction.max(initial=0)
        return " and ".join(repr(speeds[k]) for k in np.flatnonzero(direction > least)[:NAMED])

    def undetermined_message(self, q: Any, u: Any, t: Any, inputs: Any, parameters: Any) -> str:
        """What to say where the accelerations are not determined: what has no value, if anything
        has none, else what has no inertia."""
        chart, given = self.terms.chart, (q, u, t, inputs, parameters)
        valueless = self.without_value(*given)
        if valueless is not None:
            return valueless
        lost = self.evaluate("speeds", lambda: chart.condition, 0, *given)
        if not EPSILON * np.sqrt(np.max(lost)) < UNKNOWN:
            return (
                f"the speeds {', '.join(map(repr, chart.own_speeds))} do not determine the motion "
                "here: some of them come to the same; replace speeds of other joints (replaces=), "
                "or choose more of them"
            )
        rubbing = self.terms.rows.rubbing if self.terms.rows is not None else []
        if rubbing and self.undetermined(q, u, t, parameters) is None:
            return (
                f"no forces hold the constraints here: the friction_actions of "
                f"{', '.join(rubbing)} take away what their multipliers bring; make them smaller"
            )
        return (
            "the mass matrix is singular: nothing that moves with "
            f"{self.weakest(q, u, t, parameters)} has inertia; give it mass or inertia, or "
            "constrain it"
        )

    @cached_property
    def rollout(self) -> flow.Rollout:
        """The compiled rollout of these equations."""
        return flow.Rollout(self.closed.flow())


def coefficient(
    evaluator: Evaluator,
    name: str,
    q: Any,
    u: Any = None,
    udot: Any = None,
    t: Any = 0.0,
    inputs: Any = None,
    parameters: Any = None,
) -> np.ndarray:
    """A named coefficient of a formalism on arrays; a list of matrices is stacked along the last
    axis: Appell's K is K[i, j, k]."""
    found = evaluator.terms.coefficients[name]
    table = found.axes == 3
    results = list(found.expression) if table else [found.expression]
    axes = [min(found.axes, 2)] * len(results)
    kernel = evaluator.kernel(
        ("coefficient", name), lambda: results, axes, evaluator.terms.symbols.udot
    )
    arguments = evaluator.arguments(q, u, t, inputs, parameters)
    values = kernel(*arguments, evaluator.accelerations_given(udot))
    return np.stack(values, axis=-1) if table else values[0]
