"""Contacts that come and go: compliant ones are forces, rigid ones are constraints that a
simulation switches on and off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import casadi as ca
from casadi import SX

from ...errors import ModelError
from ...vectors import scalar, symbol
from ..element import Action
from ..joints import Rows
from ..limits import Limit
from .friction import Friction
from .rolling import Touched, tangential
from .surfaces import Surface
from .touching import Contact, RingOnPlane, Touching

if TYPE_CHECKING:
    from ...motion.motion import Motion


class CompliantContact(Touched):
    """Surfaces that press each other where they overlap by δ = −gap (Hertz; Hunt and Crossley):

    N = stiffness δ^exponent (1 + damping δ̇), never less than zero, and ``friction`` in proportion
    to N, both at the point halfway between the two.
    """

    passive = True

    def __init__(
        self,
        name: str,
        surface: Surface,
        base: Surface,
        stiffness: Any,
        exponent: Any = 1.5,
        damping: Any = 0,
        friction: Any = 0,
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

    def position(self, m: Motion) -> Rows:
        return [row for pair in self.pairs for row in self._labelled(pair, pair.held(m))]

    def _contacts(self, m: Motion) -> Iterator[tuple[Touching, Contact]]:
        for pair in self.pairs:
            for contact in pair.pressing(m):
                yield pair, replace(contact, point=contact.middle)

    def potential(self, m: Motion) -> SX:
        power = self.exponent + 1
        return sum(
            (self.stiffness * _overlap(c) ** power / power for _, c in self._contacts(m)), SX(0)
        )

    def conservative(self, m: Motion) -> list[Action]:
        return [
            a
            for pair, c in self._contacts(m)
            for a in self.pressed(m, pair, c, self._elastic(c) * c.normal)
        ]

    def nonconservative(self, m: Motion) -> list[Action]:
        return [
            a
            for pair, c in self._contacts(m)
            for a in self.pressed(m, pair, c, self._passive(m, pair, c))
        ]

    def _elastic(self, contact: Contact) -> SX:
        return self.stiffness * _overlap(contact) ** self.exponent * contact.share

    def _passive(self, m: Motion, pair: Touching, contact: Contact) -> SX:
        """Damping along the normal and friction along the tangent plane."""
        slip, elastic = pair.slip(m, contact), self._elastic(contact)
        pressing = ca.fmax(0, elastic * (1 - self.damping * ca.dot(contact.normal, slip)))
        across = tangential(slip, contact)
        rubbing = pressing * self.friction.loaded(across) + (
            contact.gap < 0
        ) * self.friction.unloaded(across)
        return (pressing - elastic) * contact.normal + rubbing


def _overlap(contact: Contact) -> SX:
    return ca.fmax(0, -contact.gap)


class RigidContact(Touched):
    """Surfaces that cannot enter each other: they meet with ``restitution`` (Newton's), press,
    stick or slide with friction (``friction`` μ, ``static`` μ_s to break away), and part again.

    Each point of contact has two parameters, ``name.touching`` and ``name.sticking`` (0 or 1),
    which ``simulate`` sets as the motion goes, and ``name.flat`` if it is a ring on a plane. Below
    the speed ``resting`` it does not rebound. Sliding friction is made smooth below
    ``regularization``.
    """

    def __init__(
        self,
        name: str,
        surface: Surface,
        base: Surface,
        restitution: Any = 0.0,
        friction: Any = 0.0,
        static: Any = None,
        resting: float = 1e-5,
        regularization: float = 1e-5,
    ) -> None:
        super().__init__(name, surface, base)
        self.restitution, self.friction = (
            _number(restitution, "restitution"),
            _number(friction, "friction"),
        )
        self.static = self.friction if static is None else _number(static, "static")
        self.resting, self.regularization = (
            _number(resting, "resting"),
            _number(regularization, "regularization"),
        )
        if self.restitution > 1:
            raise ModelError(f"restitution must be from 0 to 1, got {self.restitution:g}")
        if self.static < self.friction:
            raise ModelError(
                f"static friction {self.static:g} must not be less than sliding friction "
                f"{self.friction:g}"
            )
        self.law = Friction(self.friction, regularization=self.regularization)
        self.switches = [[symbol(name) for name in self.switch_names(pair)] for pair in self.pairs]

    switched = True

    def parameters(self) -> dict[str, SX]:
        return {
            name: symbol
            for pair, switches in zip(self.pairs, self.switches, strict=True)
            for name, symbol in zip(self.switch_names(pair), switches, strict=True)
        }

    @staticmethod
    def switch_names(pair: Touching) -> list[str]:
        """Names of the parameters of a point of contact."""
        return [
            f"{pair.name}.{what}"
            for what in ("touching", "sticking", "flat")[
                : 3 if isinstance(pair, RingOnPlane) else 2
            ]
        ]

    def _contacts(self, m: Motion) -> Iterator[tuple[Touching, Contact]]:
        for pair, switches in zip(self.pairs, self.switches, strict=True):
            yield (
                pair,
                pair.laid(m, switches[2]) if isinstance(pair, RingOnPlane) else pair.contact(m),
            )

    def touching(self, m: Motion) -> list[tuple[Touching, Contact]]:
        """All points, open ones, too."""
        return list(self._contacts(m))

    def _switched(self, m: Motion) -> Iterator[tuple[Touching, Contact, SX, SX]]:
        for (pair, contact), (touching, sticking, *_) in zip(
            self._contacts(m), self.switches, strict=True
        ):
            yield pair, contact, touching, sticking

    def position(self, m: Motion) -> Rows:
        rows: Rows = []
        for (pair, contact), (touching, _, *flat) in zip(
            self._contacts(m), self.switches, strict=True
        ):
            level = pair.level(m) if isinstance(pair, RingOnPlane) else []
            own = [
                ("gap", touching * contact.gap),
                *pair.held(m),
                *((label, flat[0] * row) for label, row in level),
            ]
            rows += self._labelled(pair, own)
        return rows

    def velocity(self, m: Motion) -> Rows:
        if not self.static:
            return []
        return [
            row
            for pair, contact, touching, sticking in self._switched(m)
            for row in self._labelled(
                pair, self._stuck(pair.slip(m, contact), contact, touching * sticking)
            )
        ]

    @staticmethod
    def _stuck(slip: SX, contact: Contact, switch: SX) -> Rows:
        return [
            (f"slip {k}", switch * ca.dot(t, slip)) for k, t in enumerate(contact.tangents, start=1)
        ]

    def friction_actions(self, m: Motion, multipliers: SX) -> list[Action]:
        if not self.friction:
            return []
        actions, row = [], 0
        for pair, contact, touching, sticking in self._switched(m):
            law = self.law.loaded(tangential(pair.slip(m, contact), contact))
            actions += self.pressed(
                m, pair, contact, touching * (1 - sticking) * multipliers[row] * law
            )
            row += 1 + len(pair.held(m)) + 2 * isinstance(pair, RingOnPlane)
        return actions


def _number(value: Any, what: str) -> float:
    number = scalar(value, what)
    if not number.is_constant() or float(number) < 0:
        raise ModelError(f"{what} must be a number that is not negative, got {value!r}")
    return float(number)
