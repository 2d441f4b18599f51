"""The way back to the position constraints, along the tree."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import casadi as ca
from casadi import SX

from ..closures.expressions import solve_tree
from ..motion.chart import Chart
from ..motion.levels import Levels
from .complement import Choice
from .node import Node
from .part import chosen
from .samples import Samples

IDLE = 1e-10  # inertia, relative, of what has none


@dataclass(frozen=True, eq=False)
class Placement:
    """A step x along the speeds with A x + φ = 0 for the position rows alone, of least kinetic
    energy: x = e + S z, M̄ z = −Sᵀ M e, with S a complement of these rows."""

    tree: Node
    M: SX
    chart: Chart
    levels: Levels

    def __call__(self, phi: SX) -> SX:
        node = self._positions
        e = node.particular(phi)
        if not node.free:
            return ca.densify(e)
        count = len(node.free)
        inertia = node.reduced + IDLE * ca.trace(node.reduced) / count * SX.eye(count)
        z = solve_tree(inertia, ca.densify(node.S.T @ (self.M @ e)))[0]
        return ca.densify(e - node.S @ z)

    @cached_property
    def _positions(self) -> Node:
        """The tree with its position rows only; where these are all, as it is."""
        count = self.levels.phi.numel()
        if count == len(self.levels.names):
            return self.tree
        return _restricted(self.tree, count, Samples(self.chart, self.levels))


def _restricted(node: Node, count: int, samples: Samples) -> Node:
    if all(index < count for each in node for index in each.where):
        return node
    kept = [k for k, index in enumerate(node.where) if index < count]
    bare = replace(
        node,
        rows=tuple(node.rows[k] for k in kept),
        where=tuple(node.where[k] for k in kept),
        A=node.A[kept, :],
        b=node.b[kept],
        children=tuple(_restricted(child, count, samples) for child in node.children),
        choice=Choice("automatic"),
    )
    extra = len(node.extra) if node.children else 0
    return replace(bare, choice=chosen(bare.B, samples, bare.columns, extra))
