"""Ropes over pulleys and on drums, which pull and never push.

A rope runs from its first node to its last one. A node is a place (an eye, a hook) or a pulley: a
disc of radius r about the z axis of its place, which the rope passes counter-clockwise (σ = 1) or
clockwise (σ = −1). With D between the centres, in the plane of the discs, ρ = σ₂r₂ − σ₁r₁ and n
the axis, the straight part between two nodes has the length and the direction

    l = √(D² − ρ²),    d = (l D − ρ n × D) / D²,

and the rope turns on a pulley by the angle from the direction in which it comes to that in which it
goes. At its ends a pulley is a drum: the rope is fastened where its x axis meets the rim, and is
wound up and off as the drum turns. Where a rope comes out of the plane of a pulley by h, its
straight part is √(l² + h²): then the force is along the rope up to terms of (h/l)².
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from typing import Annotated, Any, TypeAlias

import casadi as ca
from casadi import SX

from ...arguments import flag
from ...errors import ModelError
from ...numerics.tolerances import KNOWN, TINY
from ...vectors import scalar, symbol
from ..bodies import Marker, Place, marker_on
from ..constraints import Level
from ..contact.switched import PointRows, PointState, Switched
from ..declarations import argument, fraction, not_negative, positive
from ..described import Described
from ..fields import Field, Number
from ..joints import Rows
from ..motion import Motion
from ..parameter_checks import Limit
from .measure import ForceAlong, Measure, measure


class Pulley(Described):
    """A disc of ``radius`` about the z axis of a place, for ropes: they pass it counter-clockwise,
    seen from z, or ``clockwise``, and ``turns`` whole turns more than they have to."""

    def __init__(
        self, at: Place, radius: Number, clockwise: bool = False, turns: Number = 0
    ) -> None:
        self.at, self.radius = at, scalar(radius, "radius")
        self.sense = -1 if flag("clockwise", clockwise, ModelError) else 1
        self.turns = scalar(turns, "turns")
        self.limits = [Limit("radius", self.radius), Limit("turns", self.turns, positive=False)]


Node: TypeAlias = Annotated[Place | Pulley, Field("node")]
"""A place or a pulley that a rope passes."""


class RopePath:
    """The nodes that a rope passes, and how long it is along them."""

    def __init__(self, name: str, path: Any) -> None:
        if not isinstance(path, (list, tuple)) or len(path) < 2:
            raise ModelError(
                "path must be a list of two or more places and pulleys, such as "
                f"[hook, mg.Pulley(wheel, 0.1), load], got {path!r}"
            )
        self.name, self.nodes = name, path
        self.places = [_marker(node) for node in path]
        pulleys = [node for node in path if isinstance(node, Pulley)]
        self.limits = [limit for pulley in pulleys for limit in pulley.limits]

    def length(self, m: Motion) -> Measure:
        """Length that the rope has to have, with the whole turns on its drums."""
        (length,) = measure(m, self.places, self._length)
        wound = SX(0)
        for k in {0, len(self.nodes) - 1}:
            if isinstance(self.nodes[k], Pulley):
                (arc,) = measure(m, self.places, partial(self._drum_arc, k))
                name = f"{self.name} on drum {k + 1}"
                whole = m.turned(name, arc.value, partial(getattr, arc, "rate"))
                wound += self.nodes[k].radius * (whole - arc.value)
        return Measure(length.value + wound, length.rate, length.unit)

    @property
    def on_drums(self) -> bool:
        """True if an end is wound up."""
        return any(isinstance(self.nodes[k], Pulley) for k in (0, -1))

    def _length(self, p: Sequence[SX], R: Sequence[SX]) -> SX:
        """Straight parts, and r times the angle on each pulley."""
        spans = [self._span(k, p, R) for k in range(len(p) - 1)]
        total = sum((span[0] for span in spans), SX(0))
        for k, node in enumerate(self.nodes):
            if isinstance(node, Pulley):
                end = k in (0, len(p) - 1)
                arc = self._drum_arc(k, p, R) if end else self._arc(k, spans, R)
                total += node.radius * (arc + 2 * ca.pi * node.turns)
        return total

    def _span(self, k: int, p: Sequence[SX], R: Sequence[SX]) -> tuple[SX, SX]:
        """Length and direction, in the plane of the pulley, of the rope from node k to the next."""
        ends, D = self.nodes[k : k + 2], p[k + 1] - p[k]
        axes = [R[k + i][:, 2] for i in (0, 1) if isinstance(ends[i], Pulley)]
        if not axes:
            length = ca.norm_2(D)
            return length, D / length
        n = axes[0]
        same = ca.dot(n, axes[-1]) if len(axes) == 2 else SX(1)
        first, last = (end.sense * end.radius if isinstance(end, Pulley) else SX(0) for end in ends)
        offset, out = same * last - first, ca.dot(n, D)
        D = D - n * out
        straight = ca.sqrt(ca.sumsqr(D) - offset**2)
        along = (straight * D - offset * ca.cross(n, D)) / ca.sumsqr(D)
        # a root of what is negative is no number: axes that are inclined by an angle with a sine
        # whose square is more than KNOWN have no rope that is known so well
        parallel = TINY * ca.sqrt(same**2 - 1 + KNOWN)
        return ca.sqrt(straight**2 + out**2) + parallel, along

    def _arc(self, k: int, spans: list[tuple[SX, SX]], R: Sequence[SX]) -> SX:
        """The angle on a pulley between two straight parts, from −π/2 to 3π/2."""
        n, come, go = R[k][:, 2], spans[k - 1][1], spans[k][1]
        sine = self.nodes[k].sense * ca.dot(n, ca.cross(come, go))
        return ca.pi / 2 + ca.atan2(-ca.dot(come, go), sine)

    def _drum_arc(self, k: int, p: Sequence[SX], R: Sequence[SX]) -> SX:
        """The angle on a drum from the fastening to where the rope leaves, within half a turn."""
        first = k == 0
        along = self._span(0 if first else k - 1, p, R)[1]
        n, x, sense = R[k][:, 2], R[k][:, 0], self.nodes[k].sense
        rim = sense * ca.cross(along, n)
        sine = ca.dot(n, ca.cross(x, rim) if first else ca.cross(rim, x))
        return ca.atan2(sense * sine, ca.dot(x, rim))


def _marker(node: Any) -> Marker:
    place: Any = node.at if isinstance(node, Pulley) else node
    return marker_on(place)


def rope_path() -> Any:
    """The argument ``path``: places and pulleys."""
    return argument("Sequence[Node]", "list", item=Field("node"))


class Rope(ForceAlong):
    """A rope along a ``path`` of places and pulleys, longer than ``length`` only under tension.

    It pulls with stiffness (l − length) + damping l̇ where it is longer by l − length, and never
    pushes: where the damper would push, there is no force.

    path: the places and pulleys (``mg.Pulley``) that it passes; a pulley at an end is a drum
        that it is wound on.
    """

    drawn_as = "line"

    path: Any = rope_path()
    length: SX = positive()
    stiffness: SX = positive(hint="; for a rope that does not stretch use rigid_rope")
    damping: SX = not_negative(0)

    def __post_init__(self) -> None:
        self.path = RopePath(self.name, self.path)
        self.limits = [*self.path.limits, *self.limits]
        self.counts_turns = self.path.on_drums

    def places(self) -> Sequence[Marker]:
        return self.path.places

    def spans(self) -> Sequence[tuple[Marker, Marker]]:
        return list(pairwise(self.path.places))

    def along(self, m: Motion) -> list[Measure]:
        return [self.path.length(m)]

    def stretch(self, m: Motion) -> SX:
        """l − length: by how much it is longer than it is without tension; negative where it hangs
        loose."""
        return self.path.length(m).value - self.length

    def tension(self, m: Motion) -> SX:
        """Its tension."""
        (x,) = self.along(m)
        return self.pull(x) + self.damped(x)

    def energy(self, x: Measure) -> SX:
        return self.stiffness * ca.fmax(0, x.value - self.length) ** 2 / 2

    def pull(self, x: Measure) -> SX:
        return self.stiffness * ca.fmax(0, x.value - self.length)

    def damped(self, x: Measure) -> SX:
        stretch = x.value - self.length  # negative where it hangs loose: no kink there
        damped = ca.fmax(-self.stiffness * stretch, self.damping * x.rate)
        return ca.if_else(stretch > 0, damped, 0)


class RigidRope(Switched):
    """A rope along a ``path`` of places and pulleys that is never longer than ``length``: slack, or
    taut with its multiplier as tension.

    The parameter ``name.touching`` is 1 where it is taut; ``simulate`` sets it as the motion goes.

    path: as for ``rope``.
    restitution: Newton's, from 0 to 1.
    rebound_threshold: speed in m/s below which nothing rebounds.
    """

    overlap = "ropes are too short at the start: {} m; change the start, or use rope"

    path: Any = rope_path()
    length: SX = positive()
    restitution: SX = fraction(0.0)
    rebound_threshold: SX = not_negative(1e-5)

    def __post_init__(self) -> None:
        self.path, self.taut = RopePath(self.name, self.path), symbol(f"{self.name}.touching")
        self.limits = [*self.path.limits, *self.limits]

    def places(self) -> Sequence[Marker]:
        return self.path.places

    def spans(self) -> Sequence[tuple[Marker, Marker]]:
        return list(pairwise(self.path.places))

    def parameters(self) -> dict[str, SX]:
        return {f"{self.name}.touching": self.taut}

    def slack(self, m: Motion) -> SX:
        """Its length less that of its way."""
        return self.length - self.path.length(m).value

    def position(self, m: Motion) -> Rows:
        return [("", self.taut * self.slack(m))]

    def point_switches(self) -> list[tuple[str, dict[str, str], list[str]]]:
        return [(self.name, {"touching": f"{self.name}.touching"}, [])]

    def point_rows(self, m: Motion, rows: dict[Level, list[int]]) -> list[PointRows]:
        return [PointRows(rows["position"][0])]

    def point_states(self, m: Motion) -> list[PointState]:
        return [PointState(self.slack(m), SX(1), ())]
