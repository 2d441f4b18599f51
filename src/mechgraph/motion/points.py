"""Point coordinates: positions of points on the bodies, and nothing else (Attia; corrected).

Each body has four primary points (``particles.py``), of which three are kept; the fourth follows
from them by its invariants. Points of ball joints and on the axes of hinges belong to both bodies,
so that these joints hold by themselves: they are *shared* (``point_layout.py``). With a, b the
edges from the first kept point to the other two, r in the world and x in the body's frame,

    R = [r_a  r_b  r_a × r_b] [x_a  x_b  x_a × x_b]⁻¹

is the rotation of a body wherever the distances between its points are right, and these distances
are the constraints of the chart. All other joints are closed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import choice, named
from ..errors import UnsupportedError
from ..model.constraints import Constraint
from ..model.description import Description, derived_once
from ..model.joints import Rows
from ..model.motion import Motion
from ..model.parameter_checks import Check
from .chart import Chart
from .particles import Particle, check_places, edge_columns, reciprocal
from .point_layout import PointLayout, PrimaryPoints
from .shared_points import SharedPoints
from .turns import count_turns

FORMS = ("reduced", "unreduced", "planar")


def point_chart(
    description: Description,
    form: str = "reduced",
    places: Mapping[str, Any] | None = None,
    eliminated: Mapping[str, int] | None = None,
) -> Chart:
    """The kept points of every body.

    form: "reduced" keeps three points of each body, "unreduced" all four; "planar" two of three, in
        the plane that everything moves in.
    places: by body, four primary points in its frame; chosen if not given.
    eliminated: by body, the number (1 to 4) of the one that is not kept; 3 if not given.
    """
    choice("points: form", form, FORMS, UnsupportedError)
    if places or eliminated:
        return count_turns(PointChart(description, form, places or {}, eliminated or {}))
    return _usual_point_chart(description, form)


@derived_once
def _usual_point_chart(description: Description, form: str) -> Chart:
    return count_turns(PointChart(description, form, {}, {}))


def particles(description: Description, places: Mapping[str, Any] | None = None) -> list[Particle]:
    """The ten particles of every body that has mass, parameters at their defaults; ``places`` as in
    ``point_chart``."""
    found, value = [], description.default_value
    for name, laid in PointLayout(
        description, "reduced", named("places", places), {}
    ).bodies.items():
        primary = laid.primary
        if not primary.body.weightless:
            at = [value(place).ravel() for place in primary.with_midpoints(primary.places)]
            found += [
                Particle(name, label, float(mass), tuple(map(float, place)))
                for label, mass, place in zip(
                    primary.labels, value(primary.masses).ravel(), at, strict=True
                )
            ]
    return found


class Rigid(Constraint):
    """The points of a body keep their distances: (|r|² − l²) / 2l = 0 for each pair."""

    def __init__(self, name: str, distances: Rows) -> None:
        self.name, self.distances = name, distances

    def position(self, m: Motion) -> Rows:
        return self.distances


def _flat(name: str, places: np.ndarray) -> Iterator[str]:
    """Problems of the primary points of a body, as numbers."""
    try:
        check_places(name, list(places.reshape(-1, 3)))
    except UnsupportedError as error:
        what = str(error).removeprefix("points: ").partition(";")[0]
        yield f"{what} with these values of the parameters; give others, or use another formalism"


class PointChart(SharedPoints[PrimaryPoints]):
    """Positions of the kept points in the world, with their velocities as speeds; then what chains
    carry."""

    def __init__(
        self,
        description: Description,
        form: str,
        places: Mapping[str, Any],
        eliminated: Mapping[str, int],
    ) -> None:
        layout = PointLayout(description, form, places, eliminated)
        self.plane = layout.plane  # the axis across it
        self.flat = self.plane is not None
        self.turns = [0, 1, 2] if self.plane is None else [self.plane]  # that bodies turn about
        self.points: dict[str, list[SX]] = {}  # by body: its four primary points in the world
        super().__init__(layout, [k for k in range(3) if k != self.plane])
        self.own_constraints = [
            Rigid(f"points of {name}", rows)
            for name, laid in layout.bodies.items()
            if (rows := self._distances(name, laid))
        ]

    @property
    def checks(self) -> Sequence[Check]:
        return [
            Check(f"body {name!r}", ca.horzcat(*laid.primary.places), partial(_flat, name))
            for name, laid in self.layout.bodies.items()
        ]

    # --- where everything is ----------------------------------------------------------------------

    def _place_body(self, name: str, inboard: str) -> None:
        """Its points: taken over, coordinates, or by invariants; and its pose from the kept
        ones."""
        laid = self.layout.bodies[name]
        primary, places = laid.primary, laid.primary.places
        found = {k: self._position(inboard, place) for k, place in laid.taken.items()}
        found |= {k: self._coordinates(own) for k, own in laid.names.items()}
        kept, first = [found[k] for k in primary.kept], primary.kept[0]
        normal = None if self.plane is None else SX.eye(3)[:, self.plane]
        edges, inverse = edge_columns(kept, normal), reciprocal(primary.base)
        if primary.eliminated is not None:
            step = places[primary.eliminated] - places[first]
            found[primary.eliminated] = kept[0] + edges @ (inverse @ step)
        R = edges @ inverse
        self._poses[name] = R, kept[0] - R @ places[first]
        self.points[name] = [found[k] for k in range(len(places))]

    def _position(self, body: str, place: SX) -> SX:
        """A place of a body in the world: one of its primary points, if it is there."""
        if body in self.points:
            for known, point in zip(
                self.layout.bodies[body].primary.places, self.points[body], strict=True
            ):
                if (known - place).is_zero():
                    return point
        R, p = self._poses[body]
        return p + R @ place

    def _distances(self, name: str, laid: PrimaryPoints) -> Rows:
        """Rows for the pairs of kept points that the inboard body does not hold already."""
        rows = []
        for i, j in combinations(laid.primary.kept, 2):
            if not {i, j} <= set(laid.taken):
                r = self.points[name][i] - self.points[name][j]
                length = ca.norm_2(laid.primary.places[i] - laid.primary.places[j])
                rows.append((f"{i + 1}-{j + 1}", (ca.dot(r, r) - length**2) / (2 * length)))
        return rows

    # --- the chart --------------------------------------------------------------------------------

    def particles(self, body: str) -> Sequence[tuple[SX, SX]]:
        primary = self.layout.bodies[body].primary
        if primary.body.weightless:
            return ()
        places = primary.with_midpoints(primary.places)
        return list(zip(ca.vertsplit(primary.masses), places, strict=True))
