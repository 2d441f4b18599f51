"""Expressions on numbers: arguments are read, kernels are built and kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cached_property
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
from casadi import SX

from ..arguments import Numbers, numbers, times
from ..errors import ArgumentError, ModelError
from ..formalisms import Dynamics
from ..formalisms.dynamics import Coefficient
from ..kernels import Kernel
from ..model.limits import Limits
from ..motion.kinematics import Kinematics
from .expressions import Expressions

ARGUMENTS = ("coordinates", "speeds", "time", "inputs", "parameters", "accelerations")


class Evaluation(Expressions):
    """Expressions with their kernels, functions of (q, u, t, w, p) on arrays with a batch as
    leading axes."""

    def __init__(
        self, kinematics: Kinematics, dynamics: Dynamics, formalism: str, closure: str
    ) -> None:
        super().__init__(kinematics, dynamics, formalism, closure)
        self._kernels: dict[Any, Kernel] = {}
        self._limits = Limits(self.system)
        own = {key: Quantity(self, key, value) for key, value in dynamics.coefficients.items()}
        setattr(self, formalism.replace("-", "_"), SimpleNamespace(**own))  # eqs.appell.A

    if TYPE_CHECKING:

        def __getattr__(
            self, formalism: str
        ) -> SimpleNamespace: ...  # its named coefficients, each a function on arrays

    def kernel(
        self, key: Any, results: Callable[[], list[SX]], axes: list[int], *extra: SX
    ) -> Kernel:
        """The kernel kept under ``key``; a function of q, u, t, w, p and the ``extra`` symbols,
        built at the first call."""
        if key not in self._kernels:
            self._kernels[key] = self.built(results(), axes, *extra)
        return self._kernels[key]

    def built(self, results: list[SX], axes: list[int], *extra: SX) -> Kernel:
        """A kernel that nobody keeps yet."""
        s, (q, u, _, w, p) = self.symbols, self.arguments(None, None, 0.0, None, None)
        try:
            arguments = [s.q, s.u, s.t, s.w, s.p, *extra]
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
        if inputs is None and parameters is None and key in self._kernels:
            value = self._kernels[key].quick(q, u, t)
            if value is not None:
                return value
        kernel = self.kernel(key, lambda: [result()], [axes])
        return kernel(*self.arguments(q, u, t, inputs, parameters), threads=threads)[0]

    def arguments(self, q: Any, u: Any, t: Any, inputs: Any, parameters: Any) -> list[np.ndarray]:
        """q, u, t, w, p as arrays with a last axis; what is not given is zero (parameters: their
        defaults)."""
        return [
            numbers(
                "coordinates",
                self.coordinates,
                self._counting(q),
                np.array(self.kinematics.reference),
            ),
            numbers("speeds", self.speeds, u),
            times(t),
            numbers("inputs", self.inputs, inputs),
            self._constants(parameters),
        ]

    def _counting(self, q: Any) -> Any:
        """Coordinates, with zeros for those that count turns if these are left out: angles are
        within half a turn of zero."""
        counted = len(self.kinematics.counted)
        if counted and not isinstance(q, Mapping):
            with suppress(
                TypeError, ValueError
            ):  # the reader of numbers says what is wrong with them
                array = np.asarray(q, dtype=float)
                if array.shape[-1:] == (len(self.coordinates) - counted,):
                    return np.concatenate([array, np.zeros((*array.shape[:-1], counted))], axis=-1)
        return q

    def _constants(self, parameters: Any) -> np.ndarray:
        """p, within the limits that elements set."""
        p = numbers(
            "parameters", self.parameters, parameters, np.array(list(self.system.defaults.values()))
        )
        problems = [] if parameters is None else list(self._limits.problems(p))
        if problems:
            raise ArgumentError(f"parameters: {'; '.join(problems)}")
        return p


class Quantity:
    """A named coefficient of a formalism: ``expression`` is the CasADi expression, a call evaluates
    it on arrays.

    A list of matrices is stacked along the last axis: Appell's K is K[i, j, k].
    """

    def __init__(self, equations: Evaluation, name: str, coefficient: Coefficient) -> None:
        self._equations, self._name, self._coefficient = equations, name, coefficient

    @cached_property
    def expression(self) -> Any:
        """The expression; a list of matrices for a table."""
        return self._coefficient.derive()

    def __call__(
        self,
        q: Numbers,
        u: Numbers | None = None,
        t: Any = 0.0,
        inputs: Any = None,
        parameters: Any = None,
        udot: Any = None,
    ) -> np.ndarray:
        """Its value."""
        eqs, table = self._equations, self._coefficient.axes == 3
        results = list(self.expression) if table else [self.expression]
        axes = [min(self._coefficient.axes, 2)] * len(results)
        kernel = eqs.kernel(("coefficient", self._name), lambda: results, axes, eqs.symbols.udot)
        values = kernel(
            *eqs.arguments(q, u, t, inputs, parameters), numbers("accelerations", eqs.speeds, udot)
        )
        return np.stack(values, axis=-1) if table else values[0]
