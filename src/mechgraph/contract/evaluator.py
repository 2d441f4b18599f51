"""The terms on numbers: kernels, built when they are first asked for and kept."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import Any, TypeVar

import casadi as ca
import numpy as np
from casadi import SX
from scipy.sparse import csc_matrix

from ..closures import sparse
from ..errors import ArgumentError, ModelError, warn
from ..interrupts import remembered_interrupts
from ..kernels import Kernel, flow
from ..tables.outside import refusal
from .closed import Closed, entries
from .state import Given, State, StateReader
from .terms import Terms
from .valueless import force_without_value, is_searching

ARGUMENTS = ("coordinates", "speeds", "time", "inputs", "parameters", "accelerations")

Derived = TypeVar("Derived")
Sparse = tuple[csc_matrix, np.ndarray, csc_matrix, np.ndarray]  # M, f, A, b


class Evaluator:
    """Functions of a state on arrays, with a batch as leading axes; kernels by key.

    ``arguments`` reads the arguments of a call to a ``State``.
    """

    def __init__(self, terms: Terms, closure: str) -> None:
        self.terms, self.closed, self.arguments = terms, Closed(terms, closure), StateReader(terms)
        self.kernels: dict[Any, Kernel] = {}
        self._kept: dict[Any, Any] = {}

    # --- kernels ----------------------------------------------------------------------------------

    def kernel(
        self, key: Any, results: Callable[[], list[SX]], axes: list[int], *extra: SX
    ) -> Kernel:
        """The kernel kept under ``key``; a function of q, u, t, w, p and the ``extra`` symbols,
        built at the first call."""
        if key not in self.kernels:
            with remembered_interrupts():
                self.kernels[key] = self.build(results(), axes, *extra)
        return self.kernels[key]

    def keep(self, key: Any, derive: Callable[[], Derived]) -> Derived:
        """The expression (or several) kept under ``key``, derived when it is first asked for."""
        if key not in self._kept:
            with remembered_interrupts():
                self._kept[key] = derive()
        found: Derived = self._kept[key]
        return found

    def build(self, results: list[SX], axes: list[int], *extra: SX) -> Kernel:
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

    def _explain(self, function: ca.Function, at: list[np.ndarray]) -> None:
        """Refuse a state where a table of a function does; say so where a force has no value."""
        if is_searching() or not all(np.isfinite(values).all() for values in at):
            return
        symbols = function.sx_in()
        refused = refusal(ca.veccat(*function.call(symbols)), symbols, at)
        if refused is not None:
            raise ArgumentError(refused)
        force = force_without_value(self, State(*at[:5]))
        if force is not None:
            warn(f"{force} has no value at this state")

    # --- on arrays --------------------------------------------------------------------------------

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
        return self.at((q, u, t, inputs, parameters), key, result, axes, threads, out)

    def at(
        self,
        given: Given,
        key: Any,
        result: Callable[[], SX],
        axes: int,
        threads: int = 1,
        out: Any = None,
    ) -> np.ndarray:
        """One expression at a state, which may have been read before."""
        if given[3] is None and given[4] is None and out is None and key in self.kernels:
            value = self.kernels[key].quick(*given[:3])
            if value is not None:
                return value
        kernel = self.kernel(key, lambda: [result()], [axes])
        at = self.read(given)
        return kernel(*at, threads=threads, out=None if out is None else [out])[0]

    def read(self, given: Given) -> State:
        """A state for reading only, if it has not been read before."""
        return given if isinstance(given, State) else self.arguments(*given, copy=False)

    @property
    def matrices(self) -> Kernel:
        """M, f, A, b."""
        terms = self.terms
        return self.kernel("MfAb", lambda: [terms.M, terms.f, terms.A, terms.b], [2, 1, 2, 1])

    # --- large systems ----------------------------------------------------------------------------

    @property
    def large(self) -> bool:
        """True if dense matrices would cost more than they are worth."""
        return len(self.terms.symbols.speeds) + len(self.terms.constraints) > sparse.LARGE

    @property
    def entries(self) -> Kernel:
        """The entries of M, f, A, b that are not zero everywhere."""
        terms = self.terms
        return self.kernel(
            "sparse MfAb",
            lambda: [entries(terms.M), terms.f, entries(terms.A), terms.b],
            [1, 1, 1, 1],
        )

    def sparse_matrices(self, at: State) -> Iterator[Sparse]:
        """M, f, A, b of every state of a batch, the matrices sparse."""
        M, f, A, b = self.entries(*at)
        count = int(np.prod(f.shape[:-1]))
        rows = (x.reshape(count, x.shape[-1]) for x in (M, f, A, b))
        for m, g, a, h in zip(*rows, strict=True):
            yield sparse.with_entries(self.terms.M, m), g, sparse.with_entries(self.terms.A, a), h

    def jacobian(self, at: State) -> np.ndarray | csc_matrix:
        """A at one state, sparse if it is large."""
        if not self.large:
            return self.at(at, "A", lambda: self.terms.A, 2)
        ((_, _, A, _),) = self.sparse_matrices(at)
        return A

    @cached_property
    def rollout(self) -> flow.Rollout:
        """The compiled rollout of these equations."""
        return flow.Rollout(self.closed.flow())
