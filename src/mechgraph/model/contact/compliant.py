"""Compliant contacts: forces where surfaces overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import casadi as ca
from casadi import SX

from ...vectors import scalar
from ..constraints import Constraint
from ..element import Action
from ..fields import Number
from ..forces import Force
from ..joints import Rows
from ..parameter_checks import Limit
from .friction import Friction, FrictionLaw
from .pairs import Contact, SurfacePair, surface_pairs
from .rolling import SurfaceConstraint, SurfaceElement, tangential
from .surfaces import Surface

if TYPE_CHECKING:
    from ...motion.motion import Motion


class CompliantContact(SurfaceElement, Force):
    """Surfaces that press each other where they overlap by δ = −gap (Hertz; Hunt and Crossley):

    N = stiffness δ^exponent (1 + damping δ̇), never less than zero, and ``friction`` in proportion
    to N, both at the point halfway between the two.

    friction: a coefficient, or a law ``mg.Friction``.
    """

    passive = True

    def __init__(
        self,
        name: str,
        surface: Surface,
        base: Surface,
        stiffness: Number,
        exponent: Number = 1.5,
        damping: Number = 0,
        friction: FrictionLaw = 0,
    ) -> None:
        super().__init__(name, surface, base)
        self.stiffness, self.exponent = scalar(stiffness, "stiffness"), scalar(exponent, "exponent")
        self.damping, self.friction = scalar(damping, "damping"), Friction.of(friction)
        self.limits += [
            Limit("stiffness", self.stiffness, hint="; for a rigid one use rigid_contact"),
            Limit("exponent", self.exponent),
            Limit("damping", self.damping, positive=False),
            *self.friction.limits,
        ]
        self.is_passable = any(_size(pair) is not None for pair in self.pairs)

    def parts(self) -> Sequence[Constraint]:
        """Rows for points of contact that have no closed form, and so coordinates of their own."""
        if not any(pair.chains() for pair in self.pairs):
            return ()
        return (ContactPoints(f"{self.name} points", self.name, self.surface, self.base),)

    def _contacts(self, m: Motion) -> Iterator[tuple[SurfacePair, Contact]]:
        for pair in self.pairs:
            for contact in pair.pressing_contacts(m):
                yield pair, replace(contact, point=contact.middle)

    def reserve(self, m: Motion) -> SX:
        sizes = ((pair, _size(pair)) for pair in self.pairs)
        return ca.vertcat(
            *(pair.contact(m).gap + size / 2 for pair, size in sizes if size is not None)
        )

    def potential(self, m: Motion) -> SX:
        power = self.exponent + 1
        return sum(
            (self.stiffness * _overlap(c) ** power / power for _, c in self._contacts(m)), SX(0)
        )

    def conservative(self, m: Motion) -> list[Action]:
        return [
            a
            for pair, c in self._contacts(m)
            for a in self.push(m, pair, c, self._elastic(c) * c.normal)
        ]

    def nonconservative(self, m: Motion) -> list[Action]:
        return [
            a
            for pair, c in self._contacts(m)
            for a in self.push(m, pair, c, self._passive(m, pair, c))
        ]

    def _elastic(self, contact: Contact) -> SX:
        return self.stiffness * _overlap(contact) ** self.exponent * contact.share

    def _passive(self, m: Motion, pair: SurfacePair, contact: Contact) -> SX:
        """Damping along the normal and friction along the tangent plane."""
        slip, elastic = pair.slip(m, contact), self._elastic(contact)
        pressing = ca.fmax(0, elastic * (1 - self.damping * ca.dot(contact.normal, slip)))
        across = tangential(slip, contact)
        rubbing = pressing * self.friction.loaded(across) + (
            contact.gap < 0
        ) * self.friction.unloaded(across)
        return (pressing - elastic) * contact.normal + rubbing


def _size(pair: SurfacePair) -> SX | None:
    """How deep round things are in each other where their middles meet; None for planes, and for
    what is inside of another."""
    radii = [
        end.radius
        for end in (pair.surface, pair.base)
        if hasattr(end, "radius") and not getattr(end, "inside", False)
    ]
    return sum(radii, SX(0)) if len(radii) == 2 else None


def _overlap(contact: Contact) -> SX:
    return ca.fmax(0, -contact.gap)


class ContactPoints(SurfaceConstraint):
    """The points of a compliant contact that wander on their surfaces, held by rows alone."""

    def __init__(self, name: str, contact: str, surface: Surface, base: Surface) -> None:
        super().__init__(name, surface, base)
        self.pairs = surface_pairs(contact, surface, base)

    def position(self, m: Motion) -> Rows:
        return [row for pair in self.pairs for row in self._labelled(pair, pair.locating_rows(m))]
