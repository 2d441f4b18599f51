"""Rolling and sliding of a surface on a surface that it never leaves: bilateral constraints."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

import casadi as ca
from casadi import SX

from ...arguments import flag
from ...errors import ModelError
from ...vectors import axis
from ..bodies import Marker, Place, marker_on
from ..constraints import Constraint
from ..element import Action, Drawn, Element, Wrench
from ..fields import Axis
from ..joints import Joint, Rows
from ..parameter_checks import Limit, UnitLength
from .friction import Friction, FrictionLaw
from .pairs import Contact, SurfacePair, surface_pairs
from .surfaces import Surface

if TYPE_CHECKING:
    from ...motion.motion import Motion


class SurfaceElement(Element):
    """Surfaces that meet, in one or several points: what rolling, sliding and contacts have in
    common."""

    drawn_as: Drawn = "nothing"

    def __init__(self, name: str, surface: Surface, base: Surface) -> None:
        self.name, self.surface, self.base = name, surface, base
        self.pairs = surface_pairs(name, surface, base)
        self.limits: list[Limit] = [*surface.limits, *base.limits]

    def places(self) -> Sequence[Marker]:
        return (self.base.marker, self.surface.marker)

    def acts_on(self, m: Motion) -> tuple[Marker, SX] | None:
        if len(self.pairs) > 1:
            return super().acts_on(m)
        return self.surface.marker, next(self._contacts(m))[1].point

    def surfaces(self) -> Sequence[Surface]:
        return (self.surface, self.base)

    def _labelled(self, pair: SurfacePair, rows: Rows) -> Rows:
        """Rows of one of several pairs carry its name."""
        if len(self.pairs) == 1:
            return rows
        return [(f"{pair.name}, {label}", row) for label, row in rows]

    def _contacts(self, m: Motion) -> Iterator[tuple[SurfacePair, Contact]]:
        for pair in self.pairs:
            yield pair, pair.contact(m)

    def push(self, m: Motion, pair: SurfacePair, contact: Contact, force: SX) -> list[Action]:
        """A force on the surface at the point of contact, and the opposite one on the base."""
        return [
            Wrench(marker, sign * force, ca.cross(contact.point - m.position(marker), sign * force))
            for marker, sign in ((pair.surface.marker, 1), (pair.base.marker, -1))
        ]


class SurfaceConstraint(SurfaceElement, Constraint):
    """Surfaces whose points of contact are held by rows."""

    def chains(self) -> Sequence[Joint]:
        return [chain for pair in self.pairs for chain in pair.chains()]

    def initial_points(self, m: Motion) -> Sequence[SX | None]:
        return [point for pair in self.pairs for point in pair.initial_points(m)]

    def orientation_sign(self, m: Motion) -> Sequence[SX]:
        return [value for pair in self.pairs for value in pair.orientation_sign(m)]


class Sliding(SurfaceConstraint):
    """A surface slides on a base and never leaves it, with friction (a coefficient or a law
    ``mg.Friction``).

    The normal force is the multiplier of the gap, positive if it presses; friction goes with it.
    """

    passive = True

    def __init__(
        self, name: str, surface: Surface, base: Surface, friction: FrictionLaw = 0
    ) -> None:
        super().__init__(name, surface, base)
        self.friction = Friction.of(friction)
        self.limits += self.friction.limits

    def orientation_sign(self, m: Motion) -> Sequence[SX]:
        return [
            *super().orientation_sign(m),
            *(value for pair in self.pairs for value in pair.on_edge(m)),
        ]

    def position(self, m: Motion) -> Rows:
        return [
            row
            for pair, contact in self._contacts(m)
            for row in self._labelled(pair, [("gap", contact.gap), *pair.locating_rows(m)])
        ]

    def friction_actions(self, m: Motion, multipliers: SX) -> list[Action]:
        actions, row = [], 0
        for pair, contact in self._contacts(m):
            law = self.friction.loaded(tangential(pair.slip(m, contact), contact))
            if not law.is_zero():
                actions += self.push(m, pair, contact, multipliers[row] * law)
            row += 1 + len(pair.locating_rows(m))
        return actions

    def nonconservative(self, m: Motion) -> list[Action]:
        if self.friction.viscous.is_zero():
            return []
        return [
            action
            for pair, contact in self._contacts(m)
            for action in self.push(
                m, pair, contact, self.friction.unloaded(tangential(pair.slip(m, contact), contact))
            )
        ]


class Rolling(Sliding):
    """A surface rolls on a base without slipping, and never leaves it.

    spinning: False if it does not spin about the common normal either.
    """

    passive = False

    def __init__(self, name: str, surface: Surface, base: Surface, spinning: bool = True) -> None:
        super().__init__(name, surface, base)
        self.spinning = flag("spinning", spinning, ModelError)

    def velocity(self, m: Motion) -> Rows:
        rows: Rows = []
        for pair, contact in self._contacts(m):
            slip = pair.slip(m, contact)
            own = [(f"slip {k}", ca.dot(t, slip)) for k, t in enumerate(contact.tangents, start=1)]
            if not self.spinning:
                own.append(("spin", pair.spin(m, contact)))
            rows = [*rows, *self._labelled(pair, own)]
        return rows


class KnifeEdge(Constraint):
    """A blade at a marker moves along, not across: its velocity along ``across`` (in the marker's
    axes) is zero.
    """

    def __init__(self, name: str, at: Place, across: Axis = "y") -> None:
        self.name, self.at, self.across = name, marker_on(at), axis(across, "across")
        self.limits = [UnitLength("across", ca.norm_2(self.across))]

    def places(self) -> Sequence[Marker]:
        return (self.at,)

    def velocity(self, m: Motion) -> Rows:
        return [("", ca.dot(m.velocity(self.at), m.axis(self.at, self.across)))]


def tangential(slip: SX, contact: Contact) -> SX:
    """The part of a velocity along the tangent plane."""
    return slip - contact.normal * ca.dot(contact.normal, slip)
