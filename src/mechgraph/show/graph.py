"""The graph of a system, drawn: bodies and what joins them, both as vertices (Kosenko's network of two object classes)."""

from __future__ import annotations

from pathlib import Path

import networkx as nx
from matplotlib.figure import Figure
from matplotlib.patheffects import withStroke

from ..elements.element import Element
from ..elements.joints import Free
from ..system import System
from .palette import INK, MUTED, PAPER, color
from .plot import save

BODY, JOINT, CONSTRAINT, FORCE = "body", "joint", "constraint", "force"
MARKS = {BODY: "o", JOINT: "s", CONSTRAINT: "D", FORCE: "^"}


def network(system: System) -> nx.Graph:
    """Bodies (ground among them), joints, constraints and forces as vertices; an edge where one holds or loads a body."""
    graph = nx.Graph()
    for name in ("ground", *system.bodies):
        graph.add_node((BODY, name), kind=BODY)
    for joint in (joint for joint in system.joints.values() if not isinstance(joint.kind, Free)):  # which holds nothing
        _join(graph, JOINT, joint.name, {joint.parent.body.name, joint.child.body.name})
    for kind, store in ((CONSTRAINT, system.constraints), (FORCE, system.forces)):
        for element in store.values():
            _join(graph, kind, element.name, _bodies(system, element))
    return graph


def _join(graph: nx.Graph, kind: str, name: str, bodies: set[str]) -> None:
    graph.add_node((kind, name), kind=kind)
    graph.add_edges_from(((kind, name), (BODY, body)) for body in bodies)


def _bodies(system: System, element: Element) -> set[str]:
    """Bodies of its places, and those that the joints it names hold."""
    named = {name.split(".")[0] for name in element.joints()}
    joints = [joint for joint in system.joints.values() if joint.name in named]
    places = [*element.places(), *(end for joint in joints for end in (joint.parent, joint.child))]
    return {place.body.name for place in places}


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
    for index, (kind, mark) in enumerate(MARKS.items()):
        nodes = [node for node, data in graph.nodes(data=True) if data["kind"] == kind]
        if nodes:
            size = 900 if kind == BODY else 260
            shapes = nx.draw_networkx_nodes(
                graph, places, nodes, ax=axes, node_shape=mark, node_size=size, node_color=color(index), label=kind
            )
            shapes.set_edgecolor("white")
    for node, (x, y) in places.items():
        text = axes.annotate(
            node[1], (x, y), (0, -19 if node[0] == BODY else -11), textcoords="offset points", ha="center", va="top",
            fontsize=9, color=INK,
        )  # fmt: skip
        text.set_path_effects([withStroke(linewidth=3, foreground=PAPER)])
    axes.legend(loc="upper left", frameon=False, markerscale=0.5)
    figure.suptitle(system.name, color=INK, fontsize=12, x=0.01, ha="left")
    if path is not None:
        save(figure, Path(path))
    return figure
