"""``Subsystem``: one level of composed equations to look at, with its matrices and their labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from .. import door
from ..arguments import Numbers, one_of
from ..closures.complement import AT_A_STATE
from ..errors import UnsupportedError
from ..numerics.rank import Independent, pseudoinverse
from ..numerics.tolerances import TINY
from ..results.second_order import SecondOrderModel
from .linear import linear_model
from .node import TreeNode
from .tree_closure import TreeClosure

if TYPE_CHECKING:
    from ..equations import Equations


@dataclass(frozen=True, eq=False)
class Labelled:
    """A matrix of expressions whose rows and columns have names.

    Called with a state, it gives numbers; ``udot`` where it contains accelerations.
    """

    name: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    expression: SX
    equations: Equations
    node: TreeNode

    def __call__(
        self,
        q: Numbers,
        u: Numbers | None = None,
        t: Any = 0.0,
        inputs: Any = None,
        parameters: Any = None,
        udot: Any = None,
    ) -> np.ndarray:
        """Its numbers at a state, with a batch as leading axes."""
        numeric, symbols = self.equations.numeric, self.equations.terms.symbols
        axes = [2 if self.columns or not self.expression.numel() else 1]
        key = "subsystem", self.name, self.node
        kernel = numeric.kernel(key, lambda: [ca.densify(self.expression)], axes, symbols.udot)
        arguments = numeric.arguments(q, u, t, inputs, parameters)
        return kernel(*arguments, numeric.arguments.accelerations(udot))[0]

    def to_sympy(self, simplify: bool = True) -> Any:
        """The same as a SymPy matrix of symbols with the user's names."""
        return door.show.subsystems.matrix_sympy(self, simplify)

    def latex(self, simplify: bool = True) -> str:
        """The same as LaTeX, with its labels."""
        return door.show.subsystems.matrix_latex(self, simplify)

    def show(self, simplify: bool = True) -> str:
        """The entries that are not zero, as text."""
        return door.show.subsystems.matrix_text(self, simplify)

    def __repr__(self) -> str:
        return f"<{self.name}: {len(self.rows)} x {len(self.columns) or 1}>"


class _Matrix:
    """A matrix of a level: an expression of its node, with the names of the node's labels."""

    def __init__(
        self, letter: str, expression: str, rows: str, columns: str | None, doc: str
    ) -> None:
        self._letter, self._expression, self.__doc__ = letter, expression, doc
        self._rows, self._columns = rows, columns

    def __get__(self, level: Subsystem | None, owner: type) -> Labelled:
        if level is None:
            return self  # type: ignore[return-value]
        node = level._node
        columns = () if self._columns is None else getattr(node, self._columns)
        name, expression = f"{self._letter} of {node.name}", getattr(node, self._expression)
        return Labelled(
            name, getattr(node, self._rows), columns, expression, level._equations, node
        )


def composition(equations: Equations) -> Subsystem | None:
    """The whole of composed equations; None of others."""
    own = equations.terms.closure
    return Subsystem(equations, own.shown) if isinstance(own, TreeClosure) else None


class Subsystem:
    """A system in the tree of composed equations.

    ``A`` are the rows that are new at this level, over all its speeds; R, B = A R, C with B C = 0,
    S = R C, f and f̄ = Cᵀ f (``fbar``) as in docs/composition.md; ``parts`` are the subsystems.
    """

    def __init__(self, equations: Equations, node: TreeNode) -> None:
        self._equations, self._node = equations, node
        self.name = node.name

    @property
    def order(self) -> int:
        """ν°: the least order at which its constraints are affine."""
        return self._node.order

    @property
    def speeds(self) -> tuple[str, ...]:
        """All its speeds: the extra ones, then those of its parts."""
        return self._node.speeds

    @property
    def extra(self) -> tuple[str, ...]:
        """Speeds that are new at this level."""
        return self._node.extra

    @property
    def independent(self) -> tuple[str, ...]:
        """Labels of the columns of C and S: its freedoms."""
        return self._node.free

    @property
    def constraints(self) -> tuple[str, ...]:
        """Rows that are new at this level."""
        return (*self._node.rows, *self._node.higher)

    @cached_property
    def parts(self) -> Mapping[str, Subsystem]:
        """Its subsystems by name."""
        children = self._node.children
        return {child.name: Subsystem(self._equations, child) for child in children}

    def __getitem__(self, name: str) -> Subsystem:
        """The subsystem of that name, at any depth."""
        found = {node.name: node for node in self._node}
        if name not in found:
            known = ", ".join(found)
            raise KeyError(f"{self.name!r} has no subsystem {name!r}; it has {known}")
        return Subsystem(self._equations, found[name])

    @property
    def _own(self) -> TreeClosure:
        own = self._equations.terms.closure
        assert isinstance(own, TreeClosure)
        return own

    @property
    def _levels(self) -> list[Subsystem]:
        """This one, and all below it."""
        return [Subsystem(self._equations, node) for node in self._node]

    A = _Matrix("A", "A", "rows", "speeds", "The new rows over all speeds: A⊕.")
    R = _Matrix("R", "R", "speeds", "columns", "All speeds by those that the parts leave free.")
    B = _Matrix("B", "B", "rows", "columns", "A⊕ R.")
    C = _Matrix("C", "C", "columns", "free", "A complement of B.")
    S = _Matrix("S", "S", "speeds", "free", "A complement of all rows here and below: R C.")
    f = _Matrix(
        "f", "forces", "columns", None,
        "Effective forces: those that are new, and those that the parts leave.",
    )  # fmt: skip
    fbar = _Matrix(
        "f̄", "projected", "free", None,
        "f̄ = Cᵀ f: what this level leaves; zero in every motion of the whole, if it is the whole.",
    )  # fmt: skip
    full_A = _Matrix(
        "all A", "full_A", "all_rows", "speeds",
        "All rows of this level and below, over all speeds.",
    )  # fmt: skip

    def complement(
        self,
        q: Numbers,
        u: Numbers | None = None,
        t: Any = 0.0,
        parameters: Any = None,
        method: str = "svd",
    ) -> np.ndarray:
        """A complement of all rows here, on numbers: also where S has none.

        method: "svd" (orthonormal columns, by singular values) or "qr" (with pivoting: columns are
            speeds, another choice at every state).
        """
        find = AT_A_STATE[one_of("complement: method", method, AT_A_STATE)]
        return find(self.full_A(q, u, t, None, parameters))

    def accelerations(
        self,
        q: Numbers,
        u: Numbers,
        t: Any = 0.0,
        inputs: Any = None,
        parameters: Any = None,
        method: str = "svd",
    ) -> np.ndarray:
        """u̇ of the whole at a state, by the complement S that is found there: u̇ = S z + e,
        Sᵀ M S z = Sᵀ (f − M e) with e = −A⁺ b. No choice that was made elsewhere is in it.
        """
        equations = self._equations
        if self._node is not self._own.tree:
            raise UnsupportedError(
                f"{self.name!r}: accelerations are those of the whole, of an order up to two; ask "
                "the equations for them"
            )
        S = self.complement(q, u, t, parameters, method)
        A, M = self.full_A(q, u, t, None, parameters), equations.mass_matrix(q, t, parameters)
        rows = [k for node in self._node for k in node.where]
        b = equations.numeric.evaluate(
            "b along the tree", lambda: equations.terms.b[rows], 1, q, u, t, inputs, parameters
        )
        e = -pseudoinverse(A) @ b
        left = S.T @ (equations.forces(q, u, t, inputs, parameters) - M @ e)
        return np.asarray(S @ np.linalg.solve(S.T @ M @ S, left) + e)

    def singular(
        self, q: Numbers, u: Numbers | None = None, t: Any = 0.0, parameters: Any = None
    ) -> dict[str, list[str]]:
        """Levels whose rows lose rank at a configuration, with the rows that take part in it.

        The rank is compared with that of typical states of the same level.
        """
        found = {}
        for level in self._levels:
            if level._node.rows:
                A = level.full_A(q, u, t, None, parameters)
                lost = _lost(A, len(level.speeds) - len(level.independent))
                if lost.any():
                    found[level.name] = np.array(level._node.all_rows)[lost].tolist()
        return found

    def failing(
        self, q: Numbers, u: Numbers, t: Any = 0.0, parameters: Any = None
    ) -> Subsystem | None:
        """The lowest level whose complement is none at a state, because of what was chosen for it;
        None if there is none, and where it is chosen anew at every state."""
        if self._own.own.node is not self._own.tree:
            return None
        for level in reversed(Subsystem(self._equations, self._own.tree)._levels):
            if not np.isfinite(level.C(q, u, t, None, parameters)).all():
                return level
        return None

    def linearize(
        self,
        at: Any,
        *,
        coordinates: Sequence[str],
        speeds: Sequence[str],
        t: float = 0.0,
        inputs: Any = None,
        parameters: Any = None,
        weights: Mapping[str, float] | None = None,
    ) -> SecondOrderModel:
        """The linear model about a state, from linearized leaves and constraints, without the
        equations of the whole; of the whole only.

        at: a pair (q, u), or a start as for ``simulate``; the reference moves from there with the
            accelerations that the equations give it.
        coordinates, speeds: names of independent ones, in which the model is written.
        weights: by row of a constraint, where there are more rows than needed and least squares
            decide; one, if not given.
        """
        tree = self._own.tree
        if self._node not in (tree, self._own.shown):
            raise UnsupportedError(f"{self.name!r} is a part; linearize the whole, or compose it")
        return linear_model(
            self._equations, tree, at, coordinates, speeds, t, inputs, parameters, weights
        )

    def show(self) -> str:
        """The tree of subsystems as text."""
        return door.show.subsystems.tree_text(self._node)

    def __repr__(self) -> str:
        counts = f"{len(self.speeds)} speeds, {len(self.independent)} independent"
        return f"<Subsystem {self.name!r}: {counts}, {len(self.parts)} parts, order {self.order}>"


def _lost(A: np.ndarray, typical: int) -> np.ndarray:
    """Rows that take part in the combinations that vanish beyond the typical rank."""
    found = Independent(A)
    part = np.abs(found.U[:, found.rank : typical]).max(axis=1, initial=0.0)
    return part > 0.1 * part.max(initial=TINY)
