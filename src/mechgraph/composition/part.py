"""``Part``: equations used inside of others, what is known of them once and for all, and what that
is in their place."""

from __future__ import annotations

from collections import namedtuple
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

import casadi as ca
from casadi import SX

from ..closures.complement import Choice, Complement, independent_rows
from ..contract.names import Names
from ..contract.terms import Terms
from ..errors import ArgumentError, ModelError, UnsupportedError, blamed
from ..motion.levels import Levels
from ..motion.samples import Samples
from ..motion.variables import Variables, column_of
from ..numerics.rank import typical_rank
from .choices import choose
from .node import TreeNode
from .rows import raw_order
from .tree_closure import TreeClosure

Given = Callable[[Variables], Any]  # a number of a part, of the variables of the whole
Pieces = namedtuple("Pieces", "N n M f phi psi A b G drag kinetic potential supplied dissipated")


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

    def parameter_name(self, prefix: str, name: str) -> str:
        """What the whole calls one of its parameters."""
        given = self.parameters.get(name)
        return given if isinstance(given, str) else f"{prefix}{name}"

    def parameter(self, prefix: str, name: str, whole: Variables) -> SX:
        """What stands for one of its parameters in the whole."""
        given = self.parameters.get(name)
        return SX(given(whole)) if callable(given) else whole[self.parameter_name(prefix, name)]

    def input(self, prefix: str, name: str, whole: Variables) -> SX:
        """What stands for one of its inputs in the whole."""
        given = self.inputs.get(name)
        return whole[f"{prefix}{name}"] if given is None else SX(given(whole))


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
        pieces = Pieces(
            terms.N, terms.n, terms.M, terms.f, terms.phi, terms.psi, terms.A, terms.b,
            terms.rows.directions, terms.rows.drag,
            terms.kinetic, terms.potential, terms.supplied, terms.dissipated,
        )  # fmt: skip
        self.function = self.function_of([*pieces, *self.tree.expressions()])
        self._quantities: dict[str, ca.Function] = {}

    def function_of(self, results: Sequence[SX]) -> ca.Function:
        """Expressions of its variables as a function of q, u, u̇, w, p, t, λ."""
        s = self.terms.symbols
        arguments = [s.q, s.u, s.udot, s.w, s.p, s.t, self.terms.multipliers]
        return ca.Function("part", arguments, list(results))

    def quantity(self, name: str) -> ca.Function:
        """Any quantity that it has a name for, as such a function."""
        if name not in self._quantities:
            self._quantities[name] = self.function_of([self.names.resolve(name).value])
        return self._quantities[name]


_KNOWN: WeakKeyDictionary[Terms, dict[Any, DerivedPart]] = WeakKeyDictionary()


def derive_part(part: Part) -> DerivedPart:
    """What is known of a part."""
    free = None if part.independent is None else tuple(part.independent)
    of_terms = _KNOWN.setdefault(part.terms, {})
    if free not in of_terms:
        of_terms[free] = DerivedPart(part.terms, free)
    return of_terms[free]


class PlacedPart:
    """A part in its place: its variables are some of the whole's, whose first coordinate and speed
    are at ``first``."""

    def __init__(
        self, key: str, prefix: str, part: Part, whole: Variables, first: tuple[int, int]
    ) -> None:
        self.key, self.prefix, self.derived, self.terms = key, prefix, derive_part(part), part.terms
        own = self.terms.symbols
        self.q = slice(first[0], first[0] + len(own.coordinates))
        self.u = slice(first[1], first[1] + len(own.speeds))
        p = (part.parameter(prefix, each, whole) for each in own.parameters)
        w = (part.input(prefix, each, whole) for each in own.inputs)
        self._arguments = [whole.q[self.q], whole.u[self.u], whole.udot[self.u]]
        self._arguments += [ca.vertcat(SX(0, 1), *values) for values in (w, p)]
        self._arguments.append(whole.t)
        self.lam = column_of(self.outer_names(self.terms.constraints))
        values = self.derived.function.call([*self._arguments, self.lam])
        count = len(Pieces._fields)
        self.pieces, self._of_tree = Pieces(*values[:count]), values[count:]

    def outer_names(self, names: Sequence[str]) -> tuple[str, ...]:
        """What the whole calls something of these names."""
        return tuple(f"{self.prefix}{name}" for name in names)

    def tree(self, rows: Sequence[int]) -> TreeNode:
        """Its tree, with its rows at these places."""
        return self.derived.tree.place(self.key, self.prefix, rows, iter(self._of_tree))

    def levels(self, speeds: int) -> Levels:
        """Its rows, over so many speeds of the whole."""
        names, own = self.outer_names(self.terms.constraints), self.pieces
        sides = SX(len(names), self.u.start), SX(len(names), speeds - self.u.stop)
        return Levels.known(names, own.phi, own.psi, ca.horzcat(sides[0], own.A, sides[1]), own.b)

    def put_in(self, *expressions: SX) -> list[SX]:
        """Expressions of the part in the variables of the whole."""
        return self._put_in(self.derived.function_of(expressions))

    def _put_in(self, function: ca.Function) -> list[SX]:
        return list(function.call([*self._arguments, SX.nan(len(self.terms.constraints))]))

    def quantity(self, name: str) -> SX:
        """A quantity that the part has a name for."""
        function = self.derived.quantity(name)
        if any(function.which_depends("i6", ["o0"], 1, False)) if function.numel_in(6) else False:
            raise ModelError(
                f"{self.prefix}{name} depends on the part's constraint forces, which constraints "
                "and forces of the whole cannot use"
            )
        return self._put_in(function)[0]


# --- leaves ---------------------------------------------------------------------------------------


def leaf(terms: Terms, independent: Sequence[str] | None) -> TreeNode:
    """Equations without a tree as a node: R = 1, B = A, S = C."""
    s, rows = terms.symbols, terms.constraints
    choice, known = Choice("automatic"), None
    if rows:
        samples = Samples(terms.chart, terms.levels)
        if terms.S is not None and independent is None:
            choice, known = _known_complement(terms, terms.S, samples)
        else:
            with blamed(terms.name):
                choice = choose(terms.A, samples, s.speeds, 0, independent)
    made = TreeNode(
        name=terms.name,
        speeds=s.speeds,
        extra=s.speeds,
        rows=rows,
        where=tuple(range(len(rows))),
        A=terms.A,
        M=terms.M,
        f=terms.f - terms.M @ s.udot,
        choice=choice,
        order=order_of(terms),
    )
    if known is not None:
        vars(made)["complement"] = known
    return made.with_implied(terms.b, samples) if rows else made


def _known_complement(terms: Terms, S: SX, samples: Samples) -> tuple[Choice, Complement]:
    """Of a leaf whose author knows it; its columns are speeds where S has rows of 1."""
    free = tuple(_unit_row(S, k) for k in range(S.shape[1]))
    if None not in free:
        choice = Choice("partition", tuple(k for k in free if k is not None))
        return choice, replace(choice.complement(terms.A), C=S, free=free)
    A, usual = samples.of(terms.A)[0], samples.lengths(terms.A)
    rows = independent_rows(A / usual[:, None], typical_rank(A, usual))
    P = SX(S.shape[0], len(terms.constraints))
    Q, R = ca.qr(ca.densify(terms.A[list(rows), :].T))
    P[:, list(rows)] = Q @ ca.solve(R.T, SX.eye(len(rows)))
    left = tuple(range(len(terms.constraints)))
    return Choice("orthonormal", rows=rows), Complement(S, P, free, left)


def _unit_row(S: SX, column: int) -> int | None:
    """A row of S that is one in this column and zero elsewhere."""
    for row in range(S.shape[0]):
        entries = ca.sparsify(S[row, :])
        if entries.nnz() == 1 and entries[column].is_one():
            return row
    return None


# --- orders ---------------------------------------------------------------------------------------


def order_of(terms: Terms) -> int:
    """ν° of equations without parts."""
    s = terms.symbols
    trivial = (
        len(s.coordinates) == len(s.speeds)
        and (terms.N - SX.eye(len(s.speeds))).is_zero()
        and terms.n.is_zero()
    )
    return constraint_order(s, terms.A, max(raw_order(terms.levels), 0 if trivial else 1))


def constraint_order(s: Variables, A: SX, least: int) -> int:
    """ν°, at least that of the rows as given and of the variables: the least order at which all
    rows are affine in the variables of that order, and variables of higher orders are mere
    derivatives."""
    return 2 if ca.depends_on(A, s.u) else max(least, 1 if ca.depends_on(A, s.q) else 0)
