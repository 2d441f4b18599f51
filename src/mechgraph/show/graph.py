"""A drawing of a system's graph: bodies and what joins them, both as vertices (Kosenko's network of
two object classes)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from casadi import SX
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke
from matplotlib.text import Annotation
from matplotlib.transforms import Bbox, BboxBase

from ..model.element import Element
from ..model.system import System
from .palette import INK, MUTED, PAPER, color
from .plot import plain, save

BODY, JOINT, CONSTRAINT, FORCE = "body", "joint", "constraint", "force"
MARKS = {BODY: "o", JOINT: "s", CONSTRAINT: "D", FORCE: "^"}
REACH = {BODY: 15.0, JOINT: 8.0, CONSTRAINT: 8.0, FORCE: 8.0}  # half the size of a mark, in points
# where a label may stand, the best first
SIDES = ((0, -1), (0, 1), (1, 0), (-1, 0), (1, -1), (-1, -1), (1, 1), (-1, 1))
SWEEPS = 3


def network(system: System) -> nx.Graph:
    """Bodies (ground among them), joints, constraints and forces as vertices; an edge where one
    holds or loads a body."""
    graph = nx.Graph()
    for name in ("ground", *system.bodies):
        graph.add_node((BODY, name), kind=BODY)
    for joint in system.joints.values():
        if joint.kind.closing(SX.eye(3), SX.zeros(3)):  # else it holds nothing
            _join(graph, JOINT, joint.name, {joint.parent.body.name, joint.child.body.name})
    for kind, store in ((CONSTRAINT, system.constraints), (FORCE, system.forces)):
        for element in store.values():
            _join(graph, kind, element.name, _bodies(system, element))
    return graph


def _join(graph: nx.Graph, kind: str, name: str, bodies: set[str]) -> None:
    graph.add_node((kind, name), kind=kind)
    graph.add_edges_from(((kind, name), (BODY, body)) for body in bodies)


def _bodies(system: System, element: Element) -> set[str]:
    """The bodies of an element's places, and those that the joints it names hold."""
    known = system.snapshot().joint_names
    named = {known.get(name) for name in element.joints()}
    joints = [joint for joint in system.joints.values() if joint.name in named]
    ends = [end for joint in joints for end in (joint.parent, joint.child)]
    return {place.body.name for place in (*element.places(), *ends)}


def draw_graph(system: System, path: str | Path | None = None) -> Figure:
    """The bipartite graph as a figure, saved to ``path`` (.png, .svg, .pdf) if that is given."""
    system.check()
    graph = network(system)
    places = nx.kamada_kawai_layout(graph)
    figure = Figure(figsize=(9, 7), layout="constrained")
    axes = figure.add_subplot()
    axes.set_axis_off()
    axes.margins(0.12)
    nx.draw_networkx_edges(graph, places, ax=axes, edge_color=MUTED, width=1.2)
    _draw_nodes(axes, graph, places)
    style: dict[str, Any] = {"textcoords": "offset points", "fontsize": 9, "color": INK}
    labels = {
        node: axes.annotate(plain(node[1]), at, (0, 0), **style) for node, at in places.items()
    }
    axes.legend(loc="upper left", frameon=False, markerscale=0.5)
    figure.suptitle(plain(system.name), color=INK, fontsize=12, x=0.01, ha="left")
    _spread(figure, labels)
    return save(figure, path)


def _draw_nodes(axes: Axes, graph: nx.Graph, places: dict[tuple[str, str], np.ndarray]) -> None:
    """Draw the vertices, each kind with its own mark and colour."""
    for index, (kind, mark) in enumerate(MARKS.items()):
        nodes = [node for node, data in graph.nodes(data=True) if data["kind"] == kind]
        if nodes:
            style = {
                "node_shape": mark,
                "node_size": (2 * REACH[kind]) ** 2,
                "node_color": color(index),
                "label": kind,
            }
            shapes = nx.draw_networkx_nodes(graph, places, nodes, ax=axes, **style)
            shapes.set_edgecolor("white")


def _spread(figure: Figure, labels: dict[tuple[str, str], Annotation]) -> None:
    """Put each label on the side of its mark where it covers least of the marks, earlier labels and
    the outside."""
    figure.draw_without_rendering()
    figure.set_layout_engine("none")
    point = figure.dpi / 72
    centres = {node: figure.axes[0].transData.transform(label.xy) for node, label in labels.items()}
    reach = {node: REACH[node[0]] * point for node in labels}
    marks = [Bbox([at - reach[node], at + reach[node]]) for node, at in centres.items()]
    boxes: dict[tuple[str, str], Bbox] = {}

    def covered(node: tuple[str, str], box: Bbox) -> int:
        others = [*marks, *(other for name, other in boxes.items() if name != node)]
        return round(sum(_common(box, other) for other in others) - _common(box, figure.bbox))

    for _ in range(SWEEPS):  # later ones make way for labels that were placed after
        for node, label in labels.items():
            size, gap = np.array(label.get_window_extent().size), reach[node] + 3 * point
            sides = (_beside(centres[node], side, gap, size) for side in SIDES)
            boxes[node] = min(sides, key=lambda box: covered(node, box))
    for node, label in labels.items():
        label.set_position((boxes[node].p0 - centres[node]) / point)
        label.set_path_effects([withStroke(linewidth=3, foreground=PAPER)])


def _beside(centre: np.ndarray, side: tuple[int, int], gap: float, size: np.ndarray) -> Bbox:
    """A box of this size on one side of a mark."""
    corner = centre + np.array(side) * (gap + size / 2) - size / 2
    return Bbox([corner, corner + size])


def _common(box: BboxBase, other: BboxBase) -> float:
    """The area that two boxes share."""
    shared = Bbox.intersection(box, other)
    return shared.width * shared.height if shared is not None else 0.0
