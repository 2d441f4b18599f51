"""The named quantities of a formalism: on arrays, as expressions, as text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .. import door
from ..arguments import Numbers, flag
from .evaluator import Evaluator
from .state import State

if TYPE_CHECKING:
    from ..equations import Equations
    from ..show.readable import Readable


def coefficient(numeric: Evaluator, name: str, at: State, udot: Any = None) -> np.ndarray:
    """A named coefficient of a formalism on arrays; a list of matrices is stacked along the last
    axis: Appell's K is K[i, j, k]."""
    found = numeric.terms.coefficients[name]
    table = found.axes == 3
    results = list(found.expression) if table else [found.expression]
    axes, symbols = [min(found.axes, 2)] * len(results), numeric.terms.symbols
    kernel = numeric.kernel(("coefficient", name), lambda: results, axes, symbols.udot)
    values = kernel(*at, numeric.arguments.accelerations(udot))
    return np.stack(values, axis=-1) if table else values[0]


class Written:
    """Some quantities of a formalism, as text, LaTeX and SymPy."""

    def __init__(self, equations: Equations, name: str | None = None) -> None:
        self._equations, self._name = equations, name

    @property
    def _names(self) -> list[str] | None:
        return None if self._name is None else [self._name]

    def to_sympy(self, simplify: bool = True) -> Readable:
        """As SymPy matrices of symbols with the user's names."""
        read = door.show.coefficients.coefficients_sympy
        return read(self._equations, self._names, flag("simplify", simplify))

    def show(self, simplify: bool = True) -> str:
        """As text."""
        write = door.show.coefficients.coefficients_text
        return write(self._equations, self._names, flag("simplify", simplify))

    def latex(self, simplify: bool = True) -> str:
        """As LaTeX."""
        write = door.show.coefficients.coefficients_latex
        return write(self._equations, self._names, flag("simplify", simplify))


class Coefficients(Written):
    """The named quantities of a formalism: ``eqs.appell.A(q)`` on arrays, ``.A.expression``,
    ``.A.show()``; ``eqs.appell.show()`` all of them."""

    def __dir__(self) -> list[str]:
        return [*self._equations.terms.coefficients, "show", "latex", "to_sympy"]

    def __getattr__(self, name: str) -> CoefficientFunction:
        known = self._equations.terms.coefficients
        if name not in known:
            raise AttributeError(
                f"{self._equations.formalism} has no {name!r}; it has {', '.join(known) or 'none'}"
            )
        return CoefficientFunction(self._equations, name)


class CoefficientFunction(Written):
    """One of them."""

    _name: str

    @property
    def expression(self) -> Any:
        """The CasADi expression; a list of matrices for a table."""
        return self._equations.terms.coefficients[self._name].expression

    def __call__(
        self,
        q: Numbers,
        u: Numbers | None = None,
        t: Any = 0.0,
        inputs: Any = None,
        parameters: Any = None,
        udot: Any = None,
    ) -> np.ndarray:
        """Its value; a list of matrices is stacked along the last axis, as in Appell's
        K[i, j, k]."""
        numeric = self._equations.numeric
        at = numeric.arguments(q, u, t, inputs, parameters)
        return coefficient(numeric, self._name, at, udot)
