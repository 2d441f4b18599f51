"""The terms on numbers: arguments are read, kernels are built and kept."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import cached_property
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX
from scipy.sparse import csc_matrix

from ..arguments import numbers, times
from ..closures import sparse
from ..closures.closure import CLOSURES
from ..closures.numbers import bordered
from ..errors import ArgumentError, ModelError
from ..kernels import Kernel, flow
from ..model.limits import Limits
from .closed import Closed, entries, sparse_matrix
from .terms import Terms

ARGUMENTS = ("coordinates", "speeds", "time", "inputs", "parameters", "accelerations")
CONTRADICTION = 1e-6  # relative error of A u̇ + b = 0 that is no rounding
CLOSED = 2e-14  # relative error of A u̇ + b = 0 up to which a closure inside a kernel is taken


class Evaluator:
    """Functions of (q, u, t, w, p) on arrays, with a batch as leading axes; kernels by key."""

    def __init__(self, terms: Terms, closure: str) -> None:
        self.terms, self.closed = terms, Closed(terms, closure)
        self.kernels: dict[Any, Kernel] = {}
        self._limits = Limits(terms.chart.description)

    # --- kernels ----------------------------------------------------------------------------------

    def kernel(
        self, key: Any, results: Callable[[], list[SX]], axes: list[int], *extra: SX
    ) -> Kernel:
        """The kernel kept under ``key``; a function of q, u, t, w, p and the ``extra`` symbols,
        built at the first call."""
        if key not in self.kernels:
            self.kernels[key] = self.built(results(), axes, *extra)
        return self.kernels[key]

    def built(self, results: list[SX], axes: list[int], *extra: SX) -> Kernel:
        """A kernel that nobody keeps yet."""
        s, (q, u, _, w, p) = self.terms.symbols, self.arguments(None, None, 0.0, None, None)
        arguments = [s.q, s.u, s.t, s.w, s.p, *extra]
        try:
            return Kernel("kernel", arguments, results, axes, [q, u, 0.0, w, p], ARGUMENTS)
        except RuntimeError as error:
            raise ModelError(
                f"an expression of the model uses a symbol that is not of this system: {error}"
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
    ) -> np.ndarray:
        """One expression on arrays, by the kernel kept under ``key``."""
        if inputs is None and parameters is None and key in self.kernels:
            value = self.kernels[key].quick(q, u, t)
            if value is not None:
                return value
        kernel = self.kernel(key, lambda: [result()], [axes])
        return kernel(*self.arguments(q, u, t, inputs, parameters), threads=threads)[0]

    # --- arguments --------------------------------------------------------------------------------

    def arguments(self, q: Any, u: Any, t: Any, inputs: Any, parameters: Any) -> list[np.ndarray]:
        """q, u, t, w, p as arrays with a last axis; what is not given is zero (parameters: their
        defaults)."""
        s, reference = self.terms.symbols, np.array(self.terms.chart.reference)
        return [
            numbers("coordinates", s.coordinates, self._with_turns(q), reference),
            numbers("speeds", s.speeds, u),
            times(t),
            numbers("inputs", s.inputs, inputs),
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
            udot = self.evaluate("udot", lambda: self.closed.udot, 1, *given, threads)
            return udot if np.isfinite(udot).all() else self.solve(*given)[0]
        out = self.evaluate("closed", self._udot_and_error, 1, *given, threads)
        udot, error = out[..., :-1], out[..., -1]
        met = (error < CLOSED).all() and np.isfinite(udot).all()
        return udot if met else self.solve(*given)[0]

    def _udot_and_error(self) -> SX:
        """u̇ and the largest |A u̇ + b| relative to the terms that make it up."""
        udot, A, b = self.closed.udot, self.terms.A, self.terms.b
        size = ca.norm_1(ca.vec(A)) * ca.norm_inf(udot) + ca.norm_inf(b) + 1e-300
        return ca.vertcat(udot, ca.norm_inf(A @ udot + b) / size)

    def solve(
        self, q: Any, u: Any, t: Any = 0.0, inputs: Any = None, parameters: Any = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """(u̇, λ) by the closure on numbers; it reveals the rank, so redundant rows and singular
        positions are met."""
        given = q, u, t, inputs, parameters
        if self.large and not self.terms.has_friction:
            return self._solve_large(*given)
        M, f, A, b = self._matrices(*self.arguments(*given))
        try:
            if not self.terms.constraints:
                return np.linalg.solve(M, f[..., None])[..., 0], b
            if self.terms.has_friction:
                G = self.evaluate("G", lambda: self.terms.G, 2, *given)
                udot, lam = bordered(M, f, A, b, G)
            else:
                udot, lam = CLOSURES[self.closed.closure].solve(M, f, A, b)
        except np.linalg.LinAlgError:
            raise ArgumentError(self.undetermined_message(q, u, t, parameters)) from None
        self._warn_of_contradictions(A, b, udot)
        return udot, lam

    def _warn_of_contradictions(self, A: np.ndarray, b: np.ndarray, udot: np.ndarray) -> None:
        """Say so where no accelerations meet all constraints: those given are a compromise."""
        row = self.contradicted(A, b, udot)
        if row is not None:
            warnings.warn(
                f"no accelerations meet all constraints here: {row!r} is among those that "
                "contradict each other (or the position is singular, and the speeds lead out of "
                "it); the accelerations given are a compromise",
                stacklevel=4,
            )

    def contradicted(self, A: np.ndarray, b: np.ndarray, udot: np.ndarray) -> str | None:
        """The row that A u̇ + b = 0 leaves most of, if it is more than rounding and singularity
        explain."""
        left = np.abs(np.einsum("...ij,...j->...i", A, udot) + b)
        sizes = np.einsum("...ij,...j->...i", np.abs(A), np.abs(udot)) + np.abs(b)
        wrong = left > CONTRADICTION * np.maximum(sizes, sizes.max(axis=-1, keepdims=True))
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
        """``solve`` by sparse elimination; without constraints by the formalism's own route."""
        if not self.terms.constraints:
            given = q, u, t, inputs, parameters
            udot = self.evaluate("udot", lambda: self.closed.udot, 1, *given)
            if not np.isfinite(udot).all():
                raise ArgumentError(self.undetermined_message(q, u, t, parameters))
            return udot, np.zeros((*udot.shape[:-1], 0))
        batch, states = self.sparse_matrices(q, u, t, inputs, parameters)
        try:
            udot, lam = zip(*(sparse.solve(*state) for state in states), strict=True)
        except RuntimeError:
            raise ArgumentError(self.undetermined_message(q, u, t, parameters)) from None
        return np.reshape(udot, (*batch, -1)), np.reshape(lam, (*batch, -1))

    def sparse_matrices(
        self, q: Any, u: Any = None, t: Any = 0.0, inputs: Any = None, parameters: Any = None
    ) -> tuple[tuple[int, ...], Iterator[tuple[csc_matrix, np.ndarray, csc_matrix, np.ndarray]]]:
        """The leading axes of a call, and M, f, A, b of every state in it, the matrices sparse."""
        terms = self.terms
        kernel = self.kernel(
            "sparse MfAb",
            lambda: [entries(terms.M), terms.f, entries(terms.A), terms.b],
            [1, 1, 1, 1],
        )
        M, f, A, b = kernel(*self.arguments(q, u, t, inputs, parameters))
        count = int(np.prod(f.shape[:-1]))
        rows = (x.reshape(count, x.shape[-1]) for x in (M, f, A, b))
        return f.shape[:-1], (
            (sparse_matrix(terms.M, m), g, sparse_matrix(terms.A, a), h)
            for m, g, a, h in zip(*rows, strict=True)
        )

    # --- what is not determined -------------------------------------------------------------------

    def undetermined(
        self, q: Any, u: Any = None, t: Any = 0.0, parameters: Any = None
    ) -> str | None:
        """A speed that neither inertia nor a constraint determines, so that u̇ is not unique; None
        if there is none."""
        states = self.sparse_matrices(q, u, t, None, parameters)[1]
        culprits = (sparse.undetermined(M, A) for M, _, A, _ in states)
        return next((self.terms.symbols.speeds[k] for k in culprits if k is not None), None)

    def undetermined_message(self, q: Any, u: Any, t: Any, parameters: Any) -> str:
        """What to say where the accelerations are not determined."""
        return (
            "the mass matrix is singular: nothing that moves with "
            f"{self.undetermined(q, u, t, parameters)!r} has inertia; give it mass or inertia, or "
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
