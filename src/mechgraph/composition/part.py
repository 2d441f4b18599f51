"""``Part``: equations used inside of others, and what is known of them once and for all."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import casadi as ca
import numpy as np
from casadi import SX

from ..closures.complement import METHODS, Choice, Complement, free_columns, independent_rows
from ..contract.names import Names
from ..contract.terms import Terms
from ..errors import ArgumentError, ModelError, UnsupportedError, blamed, unknown
from ..motion.samples import Samples
from ..motion.variables import Variables
from ..numerics.rank import typical_rank
from ..numerics.scales import even_factors
from .node import TreeNode
from .tree_closure import TreeClosure

Given = Callable[[Variables], Any]  # a number of a part, of the variables of the whole
PIECES = (
    "N", "n", "M", "f", "phi", "psi", "A", "b", "G", "drag", "T", "V", "supplied", "dissipated",
)  # fmt: skip


@dataclass(frozen=True, eq=False)
class Part:
    """Equations to be used in a composition.

    equations: of any origin, ``Terms``, or a ``System``, whose equations are derived.
    prefix: to all its names; by default the name under which it is listed and a dot, or none.
    parameters: values for its parameters, by name; a text names a parameter of the whole instead,
        which parts may share; a function of the whole's variables, ``lambda v: 2 * v["k"]``, too.
    inputs: by name, such functions for inputs that are none of the whole.
    independent: speeds that stay free under its own constraints, if it does not come with a
        complement; chosen, if not given.
    """

    equations: Any
    prefix: str | None = None
    parameters: Mapping[str, float | str | Given] = field(default_factory=dict)
    independent: Sequence[str] | None = None
    inputs: Mapping[str, Given] = field(default_factory=dict)

    @property
    def terms(self) -> Terms:
        """Its terms."""
        found = getattr(self.equations, "terms", self.equations)
        if not isinstance(found, Terms):
            raise ArgumentError(
                "a part is a System, mg.Equations, mg.Terms or mg.Part of these, got "
                f"{self.equations!r}"
            )
        return found


class DerivedPart:
    """What is derived of some terms once, however often they are used."""

    def __init__(self, terms: Terms, independent: Sequence[str] | None) -> None:
        if terms.chart.description.switched:
            raise UnsupportedError(
                f"{terms.name!r} cannot be a part: {terms.chart.description.switching} switches "
                "its rows on and off"
            )
        self.terms, self.names = terms, Names(terms)
        own = terms.closure
        self.tree = own.tree if isinstance(own, TreeClosure) else leaf(terms, independent)
        pieces = [
            terms.N, terms.n, terms.M, terms.f, terms.phi, terms.psi, terms.A, terms.b,
            terms.rows.directions, terms.rows.drag,
            terms.kinetic, terms.potential, terms.supplied, terms.dissipated,
        ]  # fmt: skip
        self.function = self._function([*pieces, *self.tree.given()])
        self._seen: dict[str, ca.Function] = {}

    def _function(self, results: list[SX]) -> ca.Function:
        s = self.terms.symbols
        arguments = [s.q, s.u, s.udot, s.w, s.p, s.t, self.terms.multipliers]
        return ca.Function("part", arguments, results)

    def quantity(self, name: str) -> ca.Function:
        """Any quantity that it has a name for, as a function of its variables."""
        if name not in self._seen:
            self._seen[name] = self._function([self.names.resolve(name).value])
        return self._seen[name]


_KNOWN: WeakKeyDictionary[Terms, dict[Any, DerivedPart]] = WeakKeyDictionary()


def derive_part(part: Part) -> DerivedPart:
    """What is known of a part."""
    free = None if part.independent is None else tuple(part.independent)
    of_terms = _KNOWN.setdefault(part.terms, {})
    if free not in of_terms:
        of_terms[free] = DerivedPart(part.terms, free)
    return of_terms[free]


# --- leaves ---------------------------------------------------------------------------------------


def leaf(terms: Terms, independent: Sequence[str] | None) -> TreeNode:
    """Equations without a tree as a node: R = 1, B = A, S = C."""
    s = terms.symbols
    given: dict[str, Any] = {
        "name": terms.name,
        "speeds": s.speeds,
        "extra": s.speeds,
        "rows": terms.constraints,
    }
    data = {"A": terms.A, "b": terms.b, "M": terms.M, "f": terms.f, "udot": s.udot}
    where, order = tuple(range(len(terms.constraints))), order_of(terms)
    if not terms.constraints:
        choice = Choice("automatic")
    elif terms.S is not None and independent is None:
        return _with_complement(terms, terms.S, given, data, order)
    else:
        samples = Samples(terms.chart, terms.levels)
        with blamed(terms.name):
            choice = chosen(terms.A, samples, s.speeds, 0, independent)
        made = TreeNode(**given, **data, where=where, choice=choice, order=order)
        return made.following(terms.b, samples)
    return TreeNode(**given, **data, where=where, choice=choice, order=order)


def _with_complement(
    terms: Terms, S: SX, given: Mapping[str, Any], data: Mapping[str, SX], order: int
) -> TreeNode:
    """A leaf whose complement its author knows; its columns are speeds where S has rows of 1."""
    count, where = len(terms.constraints), tuple(range(len(terms.constraints)))
    samples = Samples(terms.chart, terms.levels)
    free = [_unit_row(S, k) for k in range(S.shape[1])]
    if None not in free:
        choice = Choice("partition", tuple(k for k in free if k is not None))
        P, left = choice.complement(terms.A).P, choice.complement(terms.A).left
    else:
        A = samples.of(terms.A)[0]
        usual = samples.lengths(terms.A)
        rows = independent_rows(A / usual[:, None], typical_rank(A, usual))
        choice, P, left = Choice("orthonormal", rows=rows), SX(S.shape[0], count), where
        Q, R = ca.qr(ca.densify(terms.A[list(rows), :].T))
        P[:, list(rows)] = Q @ ca.solve(R.T, SX.eye(len(rows)))
    made = TreeNode(**given, **data, where=where, choice=choice, order=order)
    vars(made)["complement"] = Complement(S, P, tuple(free), left)
    return made.following(terms.b, samples)


def _unit_row(S: SX, column: int) -> int | None:
    """A row of S that is one in this column and zero elsewhere."""
    for row in range(S.shape[0]):
        entries = ca.sparsify(S[row, :])
        if entries.nnz() == 1 and entries[column].is_one():
            return row
    return None


# --- choices --------------------------------------------------------------------------------------


def chosen(
    B: SX,
    samples: Samples,
    columns: Sequence[str],
    kept: int,
    independent: Sequence[str] | None = None,
    method: str = "automatic",
    terms: SX | None = None,
) -> Choice:
    """How to make the complement of B, seen at some states; the first ``kept`` columns stay free
    rather than others. A row is measured by the ``terms`` that its entries are made of."""
    if method not in METHODS:
        raise ArgumentError(unknown("complement", method, METHODS))
    usual = samples.lengths(B if terms is None else terms)
    factors = tuple(even_factors(usual).tolist())
    if independent is None and method != "partition":
        choice = Choice(method, kept=kept, factors=factors)
        found = choice.eliminate(B, SX(B.shape[0], 0))
        core = found.rest[:, : B.shape[1]]
        costs = [_operations(core[k, :]) for k in range(core.shape[0])]
        held, left = _typical(samples.of(B), samples.of(core), usual)
        wanted = held - len(found.steps)  # of the core alone all may be rounding
        return replace(choice, rows=independent_rows(left, wanted, costs))
    held, values = _typical(samples.of(B), samples.of(B), usual)
    values = values / usual[:, None]
    if independent is None:
        free = free_columns(values, kept, held)
    else:
        free = _named(values, columns, independent, held)
    return Choice("partition", free, factors=factors)


def pivoting(A: SX, samples: Samples) -> Choice:
    """To pivot among all rows of A at every state, once they are of one size."""
    return Choice("pivoted", factors=tuple(even_factors(samples.lengths(A)).tolist()))


def _operations(row: SX) -> int:
    return int(ca.Function("row", [ca.vertcat(SX(0, 1), *ca.symvar(row))], [row]).n_instructions())


def _typical(
    values: Sequence[np.ndarray], others: Sequence[np.ndarray], usual: np.ndarray
) -> tuple[int, np.ndarray]:
    """The highest rank of the values, and others at the same state."""
    if not all(np.isfinite(value).all() for value in (*values, *others)):
        raise ModelError(
            "the constraints have no value at a typical state; give a reference where they do"
        )
    ranks = [typical_rank(value, usual) for value in values]
    return max(ranks), others[int(np.argmax(ranks))]


def _named(
    B: np.ndarray, columns: Sequence[str], independent: Sequence[str], bound: int
) -> tuple[int, ...]:
    """The columns that were asked for, if they do determine the others, of which there are so
    many."""
    for label in independent:
        if label not in columns:
            raise ModelError(f"independent: {unknown('free speed', label, columns)}")
    wanted, held = len(columns) - bound, list(dict.fromkeys(independent))
    if len(held) != wanted:
        raise ModelError(
            f"{wanted} speeds are independent here, but independent= names {len(held)}"
        )
    free = tuple(columns.index(label) for label in held)
    others = np.delete(B, free, axis=1)
    if typical_rank(others, np.ones(len(B))) < bound:
        raise ModelError(
            f"{', '.join(held)} do not determine the other speeds, so that no complement "
            "with these as independent ones exists; choose others, or leave the choice open"
        )
    return free


def order_of(terms: Terms) -> int:
    """ν° of equations without parts."""
    s = terms.symbols
    trivial = (
        len(s.coordinates) == len(s.speeds)
        and (terms.N - SX.eye(len(s.speeds))).is_zero()
        and terms.n.is_zero()
    )
    accelerations = len(terms.constraints) - terms.psi.numel()
    velocities = terms.psi.numel() - terms.phi.numel()
    raw = 2 if accelerations else 1 if velocities else 0
    return constraint_order(s.q, s.u, terms.A, max(raw, 0 if trivial else 1))


def constraint_order(q: SX, u: SX, A: SX, least: int) -> int:
    """ν°, at least that of the rows as given and of the variables: the least order at which all
    rows are affine in the variables of that order, and variables of higher orders are mere
    derivatives."""
    return 2 if ca.depends_on(A, u) else max(least, 1 if ca.depends_on(A, q) else 0)
