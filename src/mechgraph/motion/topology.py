"""Graph → spanning tree, cut joints, loops, incidence matrices. Graph code only: it knows no
mechanics.

Bodies are vertices and joints are arcs. The tree hangs on ground; a joint that would close a loop
is cut. The user's graph is never altered: this is a separate, frozen object.
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import networkx as nx
import numpy as np

from ..errors import ModelError
from ..model.description import Description
from ..model.joints import Joint
from ..model.validation import problems


@dataclass(frozen=True, eq=False)
class Arc:
    """A joint of the tree, leading from ``inboard`` to ``outboard``; ``reversed`` if that is
    against the joint."""

    joint: Joint
    inboard: str
    outboard: str
    reversed: bool


@dataclass(frozen=True, eq=False)
class Topology:
    """The spanning tree (arcs parents first), the cut joints and the loop that each of them
    closes."""

    # numbered so that parents come first: body k is the outboard body of arc k
    bodies: tuple[str, ...]
    arcs: tuple[Arc, ...]
    cut: tuple[Joint, ...]
    loops: tuple[tuple[str, ...], ...]  # names of the joints around each loop, the cut joint first

    @cached_property
    def parents(self) -> tuple[int, ...]:
        """Index of each body's parent, −1 for ground."""
        index = {name: k for k, name in enumerate(self.bodies)}
        return tuple(index.get(arc.inboard, -1) for arc in self.arcs)

    def path(self, k: int) -> list[int]:
        """Arcs from ground to body k, ascending."""
        parents, path = self.parents, []
        while k >= 0:
            path.append(k)
            k = parents[k]
        return path[::-1]

    @property
    def incidence(self) -> np.ndarray:
        """S: rows bodies, columns arcs; +1 where the arc's outboard body is, −1 where its inboard
        body is."""
        S = np.eye(len(self.arcs), dtype=int)
        for k, parent in enumerate(self.parents):
            if parent >= 0:
                S[parent, k] = -1
        return S

    @property
    def paths(self) -> np.ndarray:
        """S⁻¹: rows arcs, columns bodies; 1 where the arc lies on the path from ground to the body
        (walked, not inverted)."""
        inverse = np.zeros((len(self.arcs), len(self.arcs)), dtype=int)
        for k in range(len(self.arcs)):
            inverse[self.path(k), k] = 1
        return inverse


def topology(system: Description) -> Topology:
    """The spanning tree of a system; joints with few freedoms and joints that constraints refer to
    are kept rather than cut."""
    found = list(problems(system))
    if found:
        raise ModelError(found)
    tree = _spanning_tree(system)
    arcs = tuple(_arcs(system, tree))
    kept = {arc.joint.name for arc in arcs}
    bridges = [name for name in kept if system.joints[name].cut]
    if bridges:
        raise ModelError(
            f"joint {name!r}: cut=True, but it closes no loop; nothing else holds its child"
            for name in bridges
        )
    cut = tuple(joint for name, joint in system.joints.items() if name not in kept)
    loops = tuple((joint.name, *_tree_path(tree, joint)) for joint in cut)
    return Topology(tuple(arc.outboard for arc in arcs), arcs, cut, loops)


def _spanning_tree(system: Description) -> nx.Graph:
    """Prim's algorithm from ground: the lightest joint first, of equal ones the nearest to ground,
    then the first described.

    Short branches make for sparse equations.
    """
    weights = _weights(system)
    at: dict[str, list[tuple[float, int, str, str]]] = {
        name: [] for name in ("ground", *system.bodies)
    }
    for order, joint in enumerate(system.joints.values()):
        for here, there in ((joint.parent, joint.child), (joint.child, joint.parent)):
            at[here.body.name].append((weights[joint.name], order, joint.name, there.body.name))
    tree, frontier = nx.Graph(), [(0.0, 0, -1, "", "", "ground")]
    while frontier:
        _, depth, _, name, inboard, outboard = heapq.heappop(frontier)
        if outboard in tree:
            continue
        tree.add_node(outboard)
        if name:
            tree.add_edge(inboard, outboard, joint=name)
        for weight, order, joint_name, other in at[outboard]:
            heapq.heappush(frontier, (weight, depth + 1, order, joint_name, outboard, other))
    return tree


def _weights(system: Description) -> dict[str, float]:
    """Light joints enter the tree first: kept by request, then those without closing equations of
    their own, then those that a constraint measures, then those with few freedoms.

    Forces have no say: another spring leaves the coordinates as they are.
    """
    constraints = system.constraints.values()
    known = system.joint_names
    wanted = {known.get(name) for element in constraints for name in element.joints()}
    weights = {}
    for name, joint in system.joints.items():
        weight = float(len(joint.speeds))
        weight -= 10.0 if name in wanted else 0.0
        weight -= 100.0 if not joint.kind.closes else 0.0
        weights[name] = weight + {True: 1e6, False: -1e6, None: 0.0}[joint.cut]
    return weights


def _arcs(system: Description, tree: nx.Graph) -> list[Arc]:
    """Depth-first from ground in the order of the description, so that a chain keeps its order, and
    no force changes it."""
    arcs, order = [], {name: k for k, name in enumerate(system.joints)}
    ordered = nx.Graph()
    ordered.add_node("ground")
    ordered.add_edges_from(sorted(tree.edges, key=lambda ends: order[tree.edges[ends]["joint"]]))
    for inboard, outboard in nx.dfs_edges(ordered, "ground"):
        joint = system.joints[tree.edges[inboard, outboard]["joint"]]
        arcs.append(Arc(joint, inboard, outboard, reversed=joint.child.body.name != outboard))
    return arcs


def _tree_path(tree: nx.Graph, joint: Joint) -> list[str]:
    bodies = nx.shortest_path(tree, joint.child.body.name, joint.parent.body.name)
    return [tree.edges[a, b]["joint"] for a, b in pairwise(bodies)]
