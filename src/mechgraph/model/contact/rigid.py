"""Rigid contacts: constraints that a simulation switches on and off."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
from casadi import SX

from ...errors import ModelError
from ...vectors import scalar, symbol
from ..constraints import Level
from ..element import Action
from ..joints import Rows
from .friction import Friction
from .pairs import Contact, SurfacePair
from .rolling import SurfaceConstraint, tangential
from .surfaces import Surface

if TYPE_CHECKING:
    from ...motion.motion import Motion


@dataclass(frozen=True)
class PointRows:
    """Indices of the rows of one point of contact among all rows of a system."""

    gap: int
    slip: tuple[int, ...]
    level: tuple[int, ...]


class RigidContact(SurfaceConstraint):
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
    def switch_names(pair: SurfacePair) -> list[str]:
        """Names of the parameters of a point of contact."""
        return [f"{pair.name}.{switch}" for switch in pair.switches]

    def _contacts(self, m: Motion) -> Iterator[tuple[SurfacePair, Contact]]:
        for pair, switches in zip(self.pairs, self.switches, strict=True):
            yield pair, pair.switched(m, switches)

    def points(self, m: Motion) -> list[tuple[SurfacePair, Contact]]:
        """All points of contact, open ones, too."""
        return list(self._contacts(m))

    def point_rows(self, m: Motion, rows: dict[Level, list[int]]) -> list[PointRows]:
        """Which of its rows belong to which point, from the indices of all its rows by level."""
        positions, velocities = (iter(rows.get(level, ())) for level in ("position", "velocity"))
        found = []
        for pair in self.pairs:
            gap = next(positions)
            for _ in pair.locating_rows(m):
                next(positions)
            level = tuple(next(positions) for _ in pair.level_rows(m))
            slip = (next(velocities), next(velocities)) if self.static else ()
            found.append(PointRows(gap, slip, level))
        return found

    def _switched(self, m: Motion) -> Iterator[tuple[SurfacePair, Contact, SX, SX]]:
        for (pair, contact), (touching, sticking, *_) in zip(
            self._contacts(m), self.switches, strict=True
        ):
            yield pair, contact, touching, sticking

    def position(self, m: Motion) -> Rows:
        rows: Rows = []
        for (pair, contact), (touching, _, *flat) in zip(
            self._contacts(m), self.switches, strict=True
        ):
            level = [(label, flat[0] * row) for label, row in pair.level_rows(m)]
            own = [("gap", touching * contact.gap), *pair.locating_rows(m), *level]
            rows += self._labelled(pair, own)
        return rows

    def velocity(self, m: Motion) -> Rows:
        if not self.static:
            return []
        rows: Rows = []
        for pair, contact, touching, sticking in self._switched(m):
            stuck = self._stuck(pair.slip(m, contact), contact, touching * sticking)
            rows += self._labelled(pair, stuck)
        return rows

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
            force = touching * (1 - sticking) * multipliers[row] * law
            actions += self.push(m, pair, contact, force)
            row += 1 + len(pair.locating_rows(m)) + len(pair.level_rows(m))
        return actions


def _number(value: Any, what: str) -> float:
    number = scalar(value, what)
    if not number.is_constant() or float(number) < 0:
        raise ModelError(f"{what} must be a number that is not negative, got {value!r}")
    return float(number)
