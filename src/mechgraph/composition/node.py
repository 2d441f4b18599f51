"""``TreeNode``: one subsystem in the tree of a composition, and the recursion along it.

With the columns S of its parts, a node has

    R = (1, (…, S of its parts, …)),    B = A⊕ R,    B C = 0,    S = R C,

where A⊕ are the rows that are new at this node; a leaf has R = 1 (Orsino 2016, theorem 2.10). The
forces that its parts leave, f̄, are added to those that are new: f = (f⊕, (…, f̄ of its parts, …)),
f̄ = Cᵀ f. Forces are effective: those of inertia, −M u̇, are among them. In the same way the
recursion makes what is needed to solve for accelerations: a motion e that meets all constraints,
A e + b = 0, and the reduced mass matrix M̄ = Sᵀ M S.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
import numpy as np
from casadi import SX

from ..closures.complement import Choice, Complement
from ..motion.samples import Samples
from ..numerics.scales import multiply_rows
from ..numerics.tolerances import KNOWN

DATA = ("A", "M", "f")  # what a node is given
DERIVED = ("B", "C", "P", "S", "reduced")  # what follows from it


@dataclass(frozen=True, eq=False, repr=False)
class TreeNode:
    """A subsystem. All its expressions are of the variables of the whole."""

    name: str
    speeds: tuple[str, ...]  # all of its speeds: the extra ones, then those of its parts
    extra: tuple[str, ...]  # those that are new at this node; all of them at a leaf
    rows: tuple[str, ...]  # names of the constraints that are new at this node
    where: tuple[int, ...]  # where they stand among all rows
    A: SX  # ∂(rows)/∂u̇ over ``speeds``
    M: SX  # inertia and effective forces that are new at this node, over ``speeds``
    f: SX
    choice: Choice
    order: int  # ν°
    children: tuple[TreeNode, ...] = ()
    implied: tuple[int, ...] = ()  # own rows that are known to follow from the others
    higher: tuple[str, ...] = ()  # names of rows of an order above two, which are not in A

    # --- labels -----------------------------------------------------------------------------------

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """Labels of the columns of R and B: what is new, then the free speeds of the parts."""
        return (*self.extra, *(label for child in self.children for label in child.free))

    @cached_property
    def free(self) -> tuple[str, ...]:
        """Labels of the columns of C and S."""
        labels = enumerate(self.complement.free)
        return tuple(
            f"{self.name}: z{k + 1}" if index is None else self.columns[index]
            for k, index in labels
        )

    def __iter__(self) -> Iterator[TreeNode]:
        """This node, and all below it."""
        yield self
        for child in self.children:
            yield from child

    # --- the recursion ----------------------------------------------------------------------------

    @cached_property
    def R(self) -> SX:
        """All speeds by those that the parts leave free: (1, (…, S, …))."""
        return ca.diagcat(SX.eye(len(self.extra)), *(child.S for child in self.children))

    @cached_property
    def B(self) -> SX:
        """The new rows on them: A⊕ R."""
        return ca.sparsify(self.A @ self.R)

    @cached_property
    def complement(self) -> Complement:
        """C, P and what the columns of C stand for."""
        return self.choice.complement(self.B)

    @cached_property
    def C(self) -> SX:
        """A complement of B."""
        return self.complement.C

    @cached_property
    def P(self) -> SX:
        """A right inverse of B beside it."""
        return self.complement.P

    @cached_property
    def S(self) -> SX:
        """A complement of all rows of the node and its parts: R C."""
        return ca.sparsify(self.R @ self.C)

    @cached_property
    def _inertia(self) -> SX:
        """Inertia over ``columns``."""
        none = SX(len(self.extra), len(self.extra))
        own = SX(self.R.T @ self.M @ self.R)
        return own + ca.diagcat(none, *(child.reduced for child in self.children))

    @cached_property
    def reduced(self) -> SX:
        """M̄ = Sᵀ M S, found along the tree; columns of a pivoted C that rows hold are zero, and
        stand still by an inertia of their own."""
        reduced = ca.triu2symm(ca.triu(ca.sparsify(self.C.T @ self._inertia @ self.C)))
        if self.choice.method != "pivoted":
            return reduced
        return reduced + ca.diag((ca.sum1(self.C**2) == 0).T)

    @cached_property
    def forces(self) -> SX:
        """f over ``columns``: effective forces, those of inertia included."""
        below = ca.vertcat(SX(len(self.extra), 1), *(child.projected for child in self.children))
        return ca.densify(self.R.T @ self.f + below)

    @cached_property
    def projected(self) -> SX:
        """f̄ = Cᵀ f: zero in every motion."""
        return ca.densify(self.C.T @ self.forces)

    @cached_property
    def full_A(self) -> SX:
        """All rows of the node and its parts over ``speeds``: the new ones, then those of each
        part."""
        if not self.children:
            return self.A
        below = ca.diagcat(*(child.full_A for child in self.children))
        return ca.vertcat(self.A, ca.horzcat(SX(below.shape[0], len(self.extra)), below))

    @property
    def all_rows(self) -> tuple[str, ...]:
        """Names of the rows of ``full_A``."""
        return tuple(row for node in self for row in node.rows)

    # --- accelerations ----------------------------------------------------------------------------

    def _meet(self, r: SX) -> SX:
        """P r."""
        return self.choice.particular(self.B, r) if self._choice_fits else self.P @ r

    @cached_property
    def _choice_fits(self) -> bool:
        """False if numbers of the whole have changed the B of a part in such a way that the choice
        that was made for it is none here."""
        none = SX(self.B.shape[0], 0)
        return self.choice.eliminate(self.B, none).left == self.complement.left

    def expand(self, z: SX) -> SX:
        """S z, level by level, which costs less than S."""
        return self.spread(self.C @ z)

    def spread(self, y: SX) -> SX:
        """R y."""
        widths = [len(self.extra), *(len(child.free) for child in self.children)]
        own, *below = ca.vertsplit(y, [0, *np.cumsum(widths).tolist()])
        pairs = zip(self.children, below, strict=True)
        return ca.vertcat(own, *(child.expand(part) for child, part in pairs))

    @property
    def unsure(self) -> tuple[int, ...]:
        """Rows of the whole, here and below, that u̇ may fail to meet: where what was chosen to be
        independent is not, or rows contradict each other."""
        return tuple(
            node.where[k]
            for node in self
            for k in node.complement.left
            if k not in set(node.implied)
        )

    def with_implied(self, b: SX, samples: Samples) -> TreeNode:
        """This node, with the rows named that no part of the complement heeds, and that are met in
        spite of it; b are those of the whole."""
        ignored = [k for k in self.complement.left if not self.P[:, k].nnz()]
        if not ignored or not samples.met:
            return self
        A, own = self.A[ignored, :], b[[self.where[k] for k in ignored]]
        e = Particular(self, b).e
        terms = ca.horzcat(A @ e + own, ca.fabs(A) @ ca.fabs(e) + ca.fabs(own))
        if self.choice.factors:
            terms = multiply_rows([self.choice.factors[k] for k in ignored], terms)
        left, size = np.moveaxis(np.array(samples.of(terms)), -1, 0)
        met = (np.abs(left) <= KNOWN * (1 + size)).all(axis=0)
        made = replace(self, implied=tuple(np.array(ignored)[met].tolist()))
        vars(made)["complement"] = self.complement
        return made

    # --- as a part of something larger ------------------------------------------------------------

    def expressions(self) -> list[SX]:
        """All expressions of the tree, one after the other."""
        return [getattr(node, key) for node in self for key in (*DATA, *DERIVED)]

    def place(self, name: str, prefix: str, rows: Sequence[int], values: Iterator[SX]) -> TreeNode:
        """The same tree under another name, with a prefix to all that is in it, its rows at other
        places, and the expressions as they are there, in the order of ``expressions``."""
        data = {key: next(values) for key in DATA}
        derived = {key: next(values) for key in DERIVED}
        made = replace(
            self,
            **data,
            name=name,
            speeds=tuple(f"{prefix}{each}" for each in self.speeds),
            extra=tuple(f"{prefix}{each}" for each in self.extra),
            rows=tuple(f"{prefix}{each}" for each in self.rows),
            where=tuple(rows[k] for k in self.where),
            children=tuple(
                child.place(f"{prefix}{child.name}", prefix, rows, values)
                for child in self.children
            ),
        )
        own = replace(self.complement, C=derived["C"], P=derived["P"])
        vars(made).update(derived, complement=own)
        return made

    def __repr__(self) -> str:
        return f"<TreeNode {self.name!r}: {len(self.speeds)} speeds, {len(self.free)} free>"


class Particular:
    """A motion e of a node and its parts with A e + b = 0 for all rows, level by level: what the
    parts have of it, and what the node adds to that over ``columns``; b are those of the whole."""

    def __init__(self, node: TreeNode, b: SX) -> None:
        self._node, self._parts = node, [Particular(child, b) for child in node.children]
        self._below = ca.vertcat(SX(len(node.extra), 1), *(part.e for part in self._parts))
        self._added = SX(len(node.columns), 1)
        if node.rows:
            self._added = -node._meet(b[list(node.where)] + node.A @ self._below)

    @cached_property
    def e(self) -> SX:
        """The motion itself."""
        return self._below + self._node.spread(self._added) if self._node.rows else self._below

    def add(self, z: SX) -> SX:
        """S z + e."""
        return self._below + self._node.spread(self._node.C @ z + self._added)

    def pull(self, f: SX) -> SX:
        """Sᵀ (f − M e) of forces f along all speeds; the inertia of what a level adds to e is that
        which its parts have reduced already."""
        node = self._node
        widths = [len(node.extra), *(len(child.speeds) for child in node.children)]
        own, *rest = ca.vertsplit(f, [0, *np.cumsum(widths).tolist()])
        pairs = zip(self._parts, rest, strict=True)
        left = ca.vertcat(own, *(part.pull(force) for part, force in pairs))
        if node.M.nnz() and node.children:
            left -= node.R.T @ (node.M @ self._below)
        if node.rows:
            left -= node._inertia @ self._added
        return node.C.T @ left
