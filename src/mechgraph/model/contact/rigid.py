"""Rigid contacts: constraints that a simulation switches on and off."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import casadi as ca
from casadi import SX

from ...vectors import scalar, symbol
from ..constraints import Level
from ..element import Action
from ..fields import Number
from ..joints import Rows
from ..parameter_checks import Fraction, Limit
from .pairs import Contact, SurfacePair
from .rolling import SurfaceConstraint, tangential
from .surfaces import Surface
from .switched import PointRows, PointState, Switched

if TYPE_CHECKING:
    from ...motion.motion import Motion

SOFT = 0.5  # part of the regularization below which w is no direction any more


class RigidContact(SurfaceConstraint, Switched):
    """Surfaces that cannot enter each other: they meet with restitution, press, stick or slide with
    friction (μ, and μ_s to break away), and part again.

    Each point of contact has two parameters, ``name.touching`` and ``name.sticking`` (0 or 1),
    which ``simulate`` sets as the motion goes, and ``name.flat`` if it is a ring on a plane. With
    the slip velocity v and the ``regularization`` v₀, sliding friction is

        F = −μ N w/|w|,    w = v + v₀ h,    |w|² = max(w·w + v₀² (1 − h·h), v₀²/4),

    where h (``name.heading 1``, ``name.heading 2``, along the tangents) is the unit vector along
    which ``simulate`` finds that slip begins, so that friction is all there from the start; h is
    zero elsewhere, which makes it smooth.

    restitution: Newton's, from 0 to 1.
    friction, static_friction: Coulomb's coefficients μ and μ_s, of sliding and to break away
        (``friction`` if not given).
    rebound_threshold: speed in m/s below which nothing rebounds.
    regularization: speed in m/s of slip that is taken for none.
    tangential_restitution: what part of the slip an impact turns back where friction holds it,
        from 0 to 1.
    """

    def __init__(
        self,
        name: str,
        surface: Surface,
        base: Surface,
        restitution: Number = 0.0,
        friction: Number = 0.0,
        static_friction: Number | None = None,
        rebound_threshold: Number = 1e-5,
        regularization: Number = 1e-5,
        tangential_restitution: Number = 0.0,
    ) -> None:
        super().__init__(name, surface, base)
        self.restitution = scalar(restitution, "restitution")
        self.friction = scalar(friction, "friction")
        self.static_friction = (
            self.friction if static_friction is None else scalar(static_friction, "static_friction")
        )
        self.rebound_threshold = scalar(rebound_threshold, "rebound_threshold")
        self.regularization = scalar(regularization, "regularization")
        self.tangential_restitution = scalar(tangential_restitution, "tangential_restitution")
        self.limits += [
            *(
                Fraction(what, getattr(self, what))
                for what in ("restitution", "tangential_restitution")
            ),
            *(
                Limit(what, getattr(self, what), positive=False)
                for what in ("friction", "rebound_threshold")
            ),
            Limit(
                "static minus sliding friction",
                self.static_friction - self.friction,
                positive=False,
            ),
            Limit("regularization", self.regularization),
        ]
        self.switches = [[symbol(name) for name in self.switch_names(pair)] for pair in self.pairs]
        names = [] if self.friction.is_zero() else [self.heading_names(p) for p in self.pairs]
        self.headings = [ca.vertcat(*(symbol(name) for name in each)) for each in names]

    def parameters(self) -> dict[str, SX]:
        out: dict[str, SX] = {}
        for pair, switches in zip(self.pairs, self.switches, strict=True):
            out |= dict(zip(self.switch_names(pair), switches, strict=True))
        for pair, heading in zip(self.pairs, self.headings, strict=False):
            out |= dict(zip(self.heading_names(pair), ca.vertsplit(heading), strict=True))
        return out

    @staticmethod
    def switch_names(pair: SurfacePair) -> list[str]:
        """Names of the parameters of a point of contact."""
        return [f"{pair.name}.{switch}" for switch in pair.switches]

    @staticmethod
    def heading_names(pair: SurfacePair) -> list[str]:
        """Names of the parameters for the direction in which a point begins to slip."""
        return [f"{pair.name}.heading {k}" for k in (1, 2)]

    def _contacts(self, m: Motion) -> Iterator[tuple[SurfacePair, Contact]]:
        for pair, switches in zip(self.pairs, self.switches, strict=True):
            yield pair, pair.switched(m, switches)

    def point_switches(self) -> list[tuple[str, dict[str, str], list[str]]]:
        return [
            (
                pair.name,
                dict(zip(pair.switches, self.switch_names(pair), strict=True)),
                self.heading_names(pair) if self.headings else [],
            )
            for pair in self.pairs
        ]

    def point_states(self, m: Motion) -> list[PointState]:
        return [
            PointState(
                contact.gap,
                self.headed(m, k, contact)[1],
                contact.tangents,
                rise=pair.rise(m),
                radius=pair.radius,
            )
            for k, (pair, contact) in enumerate(self._contacts(m))
        ]

    def point_rows(self, m: Motion, rows: dict[Level, list[int]]) -> list[PointRows]:
        positions, velocities = (iter(rows.get(level, ())) for level in ("position", "velocity"))
        found = []
        for pair in self.pairs:
            gap = next(positions)
            for _ in pair.locating_rows(m):
                next(positions)
            level = tuple(next(positions) for _ in pair.level_rows(m))
            slip = () if self.static_friction.is_zero() else (next(velocities), next(velocities))
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
        if self.static_friction.is_zero():
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
        if self.friction.is_zero():
            return []
        actions, row = [], 0
        for k, (pair, contact, touching, sticking) in enumerate(self._switched(m)):
            w, size = self.headed(m, k, contact)
            force = -touching * (1 - sticking) * multipliers[row] * self.friction * w / size
            actions += self.push(m, pair, contact, force)
            row += 1 + len(pair.locating_rows(m)) + len(pair.level_rows(m))
        return actions

    def headed(self, m: Motion, k: int, contact: Contact) -> tuple[SX, SX]:
        """w = v + v₀ h of a point, with the slip velocity v and its heading h; and its length."""
        slip = tangential(self.pairs[k].slip(m, contact), contact)
        if not self.headings:
            return slip, ca.norm_2(slip)
        heading = self.headings[k]
        w = slip + self.regularization * ca.horzcat(*contact.tangents) @ heading
        smooth = ca.sumsqr(w) + self.regularization**2 * (1 - ca.sumsqr(heading))
        return w, ca.sqrt(ca.fmax(smooth, (SOFT * self.regularization) ** 2))
