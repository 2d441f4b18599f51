"""Places of the primary points of every body, and which of them are on joints: numbers, no motion.

A joint whose two frames have points in common (``JointKind.common_points``) is shared: its outboard
body takes these points over from the inboard one. What else a body needs is chosen: places of
joints further outboard first, then points along its axes, always far from one line and one plane.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import one_of
from ..errors import ModelError, UnsupportedError, shown
from ..model.bodies import Body, Marker
from ..model.description import Description
from ..model.planar import NORMALS
from ..numerics.tolerances import GIVEN
from ..vectors import column, normals, shifted, tidy
from .absolute import own_name
from .particles import LEAST, Primary, check_places, spread
from .shared_points import TreeLayout
from .topology import Arc

NUMBERS = (0, 1, 3, 2)  # the order in which points are chosen: 1, 2, 4, and 3 is eliminated


@dataclass(frozen=True, eq=False)
class PrimaryPoints:
    """The points of one body: those taken over from its inboard body, by index with their places
    there; names of the kept ones that are its own."""

    primary: Primary
    taken: dict[int, SX]
    names: dict[int, str]

    @property
    def places(self) -> Sequence[SX]:
        """All of them in its frame."""
        return self.primary.places


@dataclass(frozen=True, eq=False)
class _Common:
    """Points of a joint that its two bodies have in common: places on the inboard and on the
    outboard body."""

    arc: Arc
    inboard: list[SX]
    outboard: list[SX]
    numbers: list[int]  # which of its own points they are, where the outboard body's are given


class PointLayout(TreeLayout[PrimaryPoints]):
    """The primary points of all bodies along the tree."""

    def __init__(
        self,
        description: Description,
        form: str,
        places: Mapping[str, Any],
        eliminated: Mapping[str, int],
    ) -> None:
        super().__init__(description)
        self.plane = _plane(description) if form == "planar" else None  # the axis across it
        self.count = {"planar": 2, "reduced": 3, "unreduced": 4}[form]  # of points that are kept
        self.total = 3 if form == "planar" else 4
        if places and self.plane is not None:
            raise UnsupportedError("points: places are chosen where form='planar'")
        self._given = {_body(description, name): _four(name, x) for name, x in places.items()}
        self._eliminated = {
            _body(description, name): _number(name, k) for name, k in eliminated.items()
        }
        common = (self._common(arc) for arc in self.tree.arcs)
        self._common_of = {found.arc.outboard: found for found in common if found.inboard}
        self.shared = {found.arc.joint.name for found in self._common_of.values()}
        self.bodies = {arc.outboard: self._lay_points(arc.outboard) for arc in self.tree.arcs}

    def normal(self, body: str) -> SX | None:
        """The axis across the plane in a body's frame, if there is a plane."""
        return None if self.plane is None else ca.densify(SX.eye(3)[:, self.plane])

    # --- joints -----------------------------------------------------------------------------------

    def _common(self, arc: Arc) -> _Common:
        """Points that a joint of the tree shares; none if time moves one of its frames."""
        near, far = self.ends(arc)
        points = arc.joint.kind.common_points()
        if not points or self.is_driven(near) or self.is_driven(far):
            return _Common(arc, [], [], [])
        if arc.outboard in self._given:
            return self._given_common(arc, near, far, points)
        normal = self.normal(arc.outboard)
        if normal is not None:  # all points along an axis across the plane are one
            along = tidy(far.rotation.T @ normal)
            points = [SX.zeros(3), normals(along)[0]] if len(points) > 2 else points[:1]
        size = self._size(arc.outboard)
        local = [size * point for point in points[: self.count]]
        inboard, outboard = ([shifted(x.at, x.rotation, y) for y in local] for x in (near, far))
        return _Common(arc, inboard, outboard, list(range(len(local))))

    def _given_common(self, arc: Arc, near: Marker, far: Marker, points: list[SX]) -> _Common:
        """Those points that the user placed and the joint holds; none if they are too few."""
        given, hull = self._given[arc.outboard], [self.value(point) for point in points]
        kept = [k for k in range(4) if self.count == 4 or k != self._without(arc.outboard)]
        local = {k: far.rotation.T @ (given[k] - far.at) for k in kept}
        size = self._size(arc.outboard)
        held = [k for k in kept if _is_within(self.value(local[k]), hull, size)]
        needed = min(len(points), self.count)
        if len(held) < needed:
            return _Common(arc, [], [], [])
        held = held[:needed]
        inboard = [shifted(near.at, near.rotation, local[k]) for k in held]
        return _Common(arc, inboard, [given[k] for k in held], held)

    # --- bodies -----------------------------------------------------------------------------------

    def _lay_points(self, name: str) -> PrimaryPoints:
        taken = self._common_of.get(name)
        places = self._given[name] if name in self._given else self._choose_places(name, taken)
        check_places(name, [self.value(place) for place in places])
        without = self._without(name) if self.count < self.total else None
        inboard: dict[int, SX] = {}
        if taken is not None:
            order = range(4) if name in self._given else self._order
            inboard = dict(zip((order[k] for k in taken.numbers), taken.inboard, strict=True))
            if without is not None and without in inboard:
                raise UnsupportedError(
                    f"points: point {without + 1} of body {name!r} is on joint "
                    f"{taken.arc.joint.name!r}, which shares it; eliminate another one"
                )
        body = self.description.bodies[name]
        primary = Primary(body, tuple(places), without, self.normal(name))
        names = {k: self._name_point(name, k, places[k]) for k in primary.kept if k not in inboard}
        return PrimaryPoints(primary, inboard, names)

    @property
    def _order(self) -> Sequence[int]:
        return NUMBERS if self.count == 3 else range(self.total)

    def _without(self, name: str) -> int:
        return self._eliminated.get(name, 2)

    def _name_point(self, name: str, k: int, place: SX) -> str:
        """After the joint that a point is on, or after the body."""
        for joint, number, at in self._outboard(name):
            if self._is_same(name, at, place):
                return f"point {joint}" + (f".{number + 1}" if number else "")
        return f"point {own_name(self.description, self.description.bodies[name])}.{k + 1}"

    def _is_same(self, name: str, a: SX, b: SX) -> bool:
        """True if two places of a body are one, whatever the parameters are."""
        gap = a - b
        return gap.is_constant() and np.abs(self.value(gap)).max() < GIVEN * self._size(name)

    def _outboard(self, name: str) -> Iterator[tuple[str, int, SX]]:
        """Places of a body that bodies further outboard share: joint, number, place."""
        for common in self._common_of.values():
            if common.arc.inboard == name:
                for number, place in enumerate(common.inboard):
                    yield common.arc.joint.name, number, place

    def _choose_places(self, name: str, taken: _Common | None) -> list[SX]:
        """Four points far from one plane, those of joints first; numbered 1, 2, 4 and 3."""
        found = [] if taken is None else list(taken.outboard)
        wanted = [place for _, _, place in self._outboard(name)]
        while len(found) < self.total:
            found.append(self._next(name, found, wanted))
        return [found[self._order.index(k)] for k in range(self.total)]

    def _next(self, name: str, found: list[SX], wanted: list[SX]) -> SX:
        """A joint's place that is far enough from the line or plane of those found, else the best
        point along an axis of the body."""
        before, size = [self.value(place) for place in found], self._size(name)
        for place in wanted:
            at = self.value(place)
            near = any(np.linalg.norm(at - other) < LEAST * size for other in before)
            if not near and spread([*before, at]) > LEAST:
                return place
        if not found:
            return SX(ca.DM(self.value(self.description.bodies[name].com)))
        normal = self.normal(name)
        axes = ca.horzsplit(SX.eye(3)) if normal is None else normals(normal)
        along = [found[0] + size * axis for axis in axes]
        return max(along, key=lambda place: round(spread([*before, self.value(place)]), 6))

    def _size(self, name: str) -> float:
        """Size of a body, to one digit: from its mass centre to its joints, or as its inertia
        has it; one metre if nothing tells."""
        body = self.description.bodies[name]
        ends = [end for joint in self.description.joints.values() for end in _ends(joint, body)]
        com = self.value(body.com)
        far = max((float(np.linalg.norm(self.value(end.at) - com)) for end in ends), default=0.0)
        mass, trace = self.value(ca.vertcat(body.mass, ca.trace(body.inertia)))
        size = max(far, np.sqrt(trace / mass) if mass > 0 and trace > 0 else 0.0)
        return float(f"{size:.1g}") if size > 0 else 1.0


def _plane(description: Description) -> int:
    if description.plane is None:
        raise UnsupportedError(
            "points: form='planar' is for systems in a plane: say so by mg.System(…, plane='xy')"
        )
    return "xyz".index(NORMALS[description.plane])


def _ends(joint: Any, body: Body) -> list[Marker]:
    return [end for end in (joint.parent, joint.child) if end.body is body]


def _is_within(point: np.ndarray, hull: list[np.ndarray], size: float) -> bool:
    """True if a point of a body of some size is on the line, plane, … through those of a hull."""
    step = point - hull[0]
    edges = np.array([other - hull[0] for other in hull[1:]]).reshape(-1, 3).T
    inside = edges @ np.linalg.lstsq(edges, step, rcond=None)[0] if edges.size else 0.0
    return bool(np.linalg.norm(step - inside) <= GIVEN * (size + np.linalg.norm(step)))


# --- what the user places -------------------------------------------------------------------------


def _body(description: Description, name: str) -> str:
    return str(one_of("body", name, description.bodies, UnsupportedError))


def _four(name: str, places: Any) -> list[SX]:
    """Four places in a body's frame."""
    try:
        four = [column(place, 3, "a point") for place in places]
    except (ModelError, TypeError) as error:
        raise UnsupportedError(f"points: places of body {name!r}: {error}") from None
    if len(four) != 4:
        raise UnsupportedError(f"points: body {name!r} needs four primary points, got {len(four)}")
    return four


def _number(name: str, number: Any) -> int:
    if not isinstance(number, int) or number not in range(1, 5):
        raise UnsupportedError(
            f"points: the eliminated point of body {name!r} is 1, 2, 3 or 4, got {shown(number)}"
        )
    return number - 1
