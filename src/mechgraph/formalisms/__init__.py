"""The formalisms: one module, one function ``derive(chart, **options) -> Dynamics`` each, listed
here with the coordinates that they work in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..motion.absolute import absolute_chart
from ..motion.chart import Chart
from ..motion.nodes import node_chart
from ..motion.points import point_chart
from ..motion.speeds import joint_chart
from . import (
    absolute,
    appell,
    boltzmann_hamel,
    gauss,
    hamilton,
    kane,
    lagrange,
    maggi,
    newton_euler,
    noc,
    nodes,
    points,
)
from .dynamics import Dynamics


@dataclass(frozen=True)
class Formalism:
    """A way to derive equations: from a chart (of the joints, unless it has its own) to
    dynamics."""

    derive: Callable[..., Dynamics]
    chart: Callable[..., Chart] = joint_chart
    coordinates: str = "joint"
    chart_options: tuple[str, ...] = ()  # those that the chart takes, not ``derive``


# A plain function works in the coordinates of the joints.
FORMALISMS: dict[str, Formalism | Callable[..., Dynamics]] = {
    "newton-euler": newton_euler.derive,
    "appell": appell.derive,
    "lagrange": lagrange.derive,
    "kane": kane.derive,
    "noc": noc.derive,
    "gauss": gauss.derive,
    "boltzmann-hamel": boltzmann_hamel.derive,
    "maggi": maggi.derive,
    "hamilton": Formalism(hamilton.derive, hamilton.chart, "joint, momenta"),
    "absolute": Formalism(absolute.derive, absolute_chart, "absolute"),
    "points": Formalism(points.derive, point_chart, "points", ("form", "places", "eliminated")),
    "nodes": Formalism(nodes.derive, node_chart, "nodes"),
}

DEFAULT = "newton-euler"


def formalism_of(name: str) -> Formalism:
    """A listed formalism, with its coordinates."""
    listed: Any = FORMALISMS[name]
    return listed if isinstance(listed, Formalism) else Formalism(listed)


__all__ = ["DEFAULT", "FORMALISMS", "Dynamics", "Formalism", "formalism_of"]
