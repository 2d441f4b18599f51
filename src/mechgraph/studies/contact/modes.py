"""Rigid contacts in a simulation: when they close, what an impact does, and when they stick, slide
and open.

Every point of contact is open, sticking or sliding. The equations hold for all of these at once:
parameters switch the rows of each point (see ``RigidContact``). Between events the motion is
smooth. Events are zeros of

- the gap of an open point: an impact;
- the normal force of a closed one: it opens;
- the reserve μ_s N − |F_t| of a sticking one: it begins to slide;
- the slip speed of a sliding one: it may stick;
- the rise of a ring (disc, torus) that touches a plane with its lowest point: it falls flat;
- the reserve r N − |M| of one that lies flat, whose pressure has the moment M about its middle: it
  tips over its edge.

*Impacts* are met one after the other, the fastest approach first (so a row of balls passes its
momentum on, as it does in nature; points of one pair of surfaces together, a ring that lies flat
with four of its points), each by M Δu = Aᵀ Λ with Newton's restitution along the normal and
Coulomb's cone for the tangential impulse, until nothing approaches. *Modes* of the points that then
rest on each other follow from the accelerations: one by one, points that would pull are opened, and
points outside of the cone slide.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ...errors import ArgumentError
from ..assembly.assemble import GIVEN
from ..projection import project
from ..simulation.integrators import IntegrationFailure
from .impacts import around, impact, moved_by
from .points import impulse_terms, points_of, quantities, ring_quantities, weight

if TYPE_CHECKING:
    from ...equations import Equations

TOUCH = 1e-11  # gaps above −TOUCH (in metres) are no impact yet
NEAR = 1e-10  # closed points, and those with gaps below this, share in an impact
FLAT = 1e-10  # rings whose middle is less than this (in metres) over their lowest point lie flat
STILL = 1e-12  # slower approaches (in metres per second) are none
IMPACTS = 10_000
STANDSTILL = 30


class EndlessContacts(IntegrationFailure):
    """Events without end in one moment."""

    hint = "Give the rigid contacts a larger speed resting=…, below which nothing rebounds"


class Contacts:
    """All points of contact of a system, and their modes."""

    def __init__(self, equations: Equations, context: Any) -> None:
        self.equations, self.context = equations, context
        self.points = list(points_of(equations))
        self.touching = np.zeros(len(self.points), dtype=bool)
        self.sticking = np.zeros(len(self.points), dtype=bool)
        self.flat = np.zeros(len(self.points), dtype=bool)
        self.rings = np.array([bool(point.rows.level) for point in self.points])
        self.static = np.array([point.law.static for point in self.points])
        self.slow = np.array([point.law.regularization for point in self.points])
        self.same_pair = np.array(
            [[a.law is b.law for b in self.points] for a in self.points], dtype=float
        )
        self.count = 0  # of impacts
        self._latest, self._standing = -np.inf, 0
        self.small_force = 1e-9 * weight(equations)  # less is rounding

    @property
    def _parameters(self) -> dict[str, float]:
        return {**self.context.parameters, **self.switches}

    @property
    def switches(self) -> dict[str, float]:
        """Values of the parameters that switch the rows."""
        out: dict[str, float] = {}
        for point, *modes in zip(self.points, self.touching, self.sticking, self.flat, strict=True):
            out |= {name: float(mode) for name, mode in zip(point.switches, modes, strict=False)}
        return out

    # --- what can be seen -------------------------------------------------------------------------

    def _seen(self, t: Any, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
        """For each point: gap, its rate, normal force, tangential force (of sticking), slip
        speed."""
        eqs = self.equations
        kernel = eqs.numeric.kernel("contacts", lambda: quantities(eqs, self.points), [1] * 5)
        w = self.context.inputs_at(np.atleast_1d(t), np.atleast_2d(q), np.atleast_2d(u))
        return tuple(
            kernel(*eqs.numeric.arguments(q, u, t, w if np.ndim(q) > 1 else w[0], self._parameters))
        )

    def _rings(self, t: Any, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
        """For each point: radius of the ring, moment of its pressure, its rise with two
        derivatives; ones if it is none."""
        if not self.rings.any():
            return (np.ones((*np.shape(q)[:-1], len(self.points))),) * 5
        eqs = self.equations
        kernel = eqs.numeric.kernel("rings", lambda: ring_quantities(eqs, self.points), [1] * 5)
        w = self.context.inputs_at(np.atleast_1d(t), np.atleast_2d(q), np.atleast_2d(u))
        return tuple(
            kernel(*eqs.numeric.arguments(q, u, t, w if np.ndim(q) > 1 else w[0], self._parameters))
        )

    def _reserve(self, normal: np.ndarray, tangential_force: np.ndarray) -> np.ndarray:
        """Σ (μ_s N − |F_t|) over the sticking points of each pair of surfaces.

        How several points of one pair share the forces is not determined, so only their sum tells
        whether they hold.
        """
        each = np.where(self.sticking, self.static * normal - tangential_force, 0.0)
        return each @ self.same_pair

    # --- when something happens -------------------------------------------------------------------

    @cached_property
    def margins(self) -> SX:
        """What falls through zero at an event, as expressions in which the switches are parameters;
        so the same ones serve all modes."""
        eqs, count = self.equations, len(self.points)
        gap, _, normal, stuck, slip = quantities(eqs, self.points)
        radius, moment, rise, _, _ = ring_quantities(eqs, self.points)
        touching, sticking, flat = self._switch_symbols
        each = sticking * (ca.DM(self.static) * normal - stuck)
        reserve = ca.DM(self.same_pair.T) @ each
        first = ca.if_else(touching, normal + self.small_force, gap + TOUCH)
        second = ca.if_else(sticking, reserve + self.small_force, slip - ca.DM(self.slow))
        third = ca.if_else(flat, normal - moment / radius + self.small_force, rise - FLAT)
        rubbing = [k for k in range(count) if self.static[k] > 0]
        rings = np.flatnonzero(self.rings).tolist()
        return ca.vertcat(
            first,
            ca.if_else(touching, second, 1.0)[rubbing],
            ca.if_else(touching, third, 1.0)[rings],
        )

    @property
    def sides(self) -> np.ndarray:
        """The signs of the margins where they are so by construction; 0 for those of slip and of
        the rise of rings, which may begin at zero."""
        second, third = self.sticking[self.static > 0], self.flat[self.rings]
        return np.concatenate([np.ones(len(self.points)), second, third]).astype(int)

    @property
    def _switch_symbols(self) -> list[SX]:
        """Columns of the parameters that say of each point whether it touches, sticks, lies
        flat."""
        s = self.equations.terms.symbols
        symbols = dict(zip(s.parameters, ca.vertsplit(s.p), strict=True))
        own = [[symbols[name] for name in point.switches] for point in self.points]
        return [ca.vertcat(*((*each, SX(0))[k] for each in own)) for k in range(3)]

    @property
    def resting(self) -> np.ndarray:
        """Speeds below which points do not rebound; they double where events pile up in one
        moment."""
        return np.array([point.law.resting for point in self.points]) * 2.0 ** max(
            0, self._standing - 5
        )

    def count_standstill(self, moment: float) -> None:
        """Give up where events follow each other without time going on."""
        self._standing = (
            self._standing + 1 if moment - self._latest < 1e-13 * max(1.0, abs(moment)) else 0
        )
        self._latest = moment
        if self._standing > STANDSTILL:
            raise EndlessContacts(f"contacts open and close without end at t = {moment:.6g}")

    # --- what happens at an event -----------------------------------------------------------------

    def check_start(self, t: float, q: np.ndarray, u: np.ndarray) -> None:
        """Refuse a start in which surfaces overlap."""
        overlaps = zip(self.points, -self._seen(t, q, u)[0], strict=True)
        deep = {point.name: depth for point, depth in overlaps if depth > GIVEN}
        if deep:
            listed = ", ".join(f"{name} by {depth:.3g} m" for name, depth in deep.items())
            raise ArgumentError(
                f"surfaces overlap at the start: {listed}; change the start, or use "
                "compliant_contact"
            )

    def settle(
        self, t: float, q: np.ndarray, u: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """The state after all impacts, without more overlap than allowed, and new modes of the
        points that touch.

        And the work that moving bases did on the way: u·MΔu of the means before and after, less
        what is lost at the points.
        """
        self.flat[:] = False
        gap = self._seen(t, q, u)[0]
        near = np.flatnonzero(self.touching | (gap < NEAR))
        self.touching |= gap < -2 * TOUCH
        self.flat[near] = (self.rings & (self._rings(t, q, u)[2] < 2 * FLAT))[near]
        q = project(self.equations, q[None], u[None], np.array([t]), self._parameters)[0][0]
        u, by_impacts = self._impacts(t, q, u, near)
        u, by_rest = self._choose_modes(t, q, u, near)
        return q, u, by_impacts + by_rest

    def _impacts(
        self, t: float, q: np.ndarray, u: np.ndarray, near: np.ndarray
    ) -> tuple[np.ndarray, float]:
        M, response, directions, offsets, owners = self._responses(t, q, u)
        near = np.flatnonzero(np.isin(owners, near))
        resting, same_pair = self.resting[owners], self.same_pair[np.ix_(owners, owners)]
        given = 0.0
        for _ in range(IMPACTS):
            velocity = directions @ u + offsets  # of each point: normal, and two tangential
            fastest = min(near, key=lambda k: velocity[k, 0], default=None)
            if fastest is None or velocity[fastest, 0] > -STILL:
                return u, given
            rebounds = bool(velocity[fastest, 0] < -resting[fastest])
            met = near[(velocity[near, 0] < -STILL) & (same_pair[fastest, near] > 0)]
            law = self.points[owners[fastest]].law
            hit, impulse = impact(int(fastest), met, response, directions, velocity, law, rebounds)
            change = np.einsum("pnd,pd->n", response[hit], impulse)
            mean = u + change / 2
            given += mean @ M @ change - np.vdot(impulse, directions[hit] @ mean + offsets[hit])
            u = u + change
            self.count += int(rebounds)
        raise IntegrationFailure(f"the impacts at t = {t:.6g} do not come to an end")

    def _responses(self, t: float, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
        """M; Δu for unit impulses along the directions of each point, with all other constraints;
        directions; what time adds.

        A point's velocity is its directions (3 rows) times u, plus an offset. The last are the
        owners: a ring that lies flat has four points.
        """
        eqs = self.equations
        kernel = eqs.numeric.kernel(
            "impulses", lambda: impulse_terms(eqs, self.points), [2, 2, 2, 1]
        )
        M, A, twists, velocity = kernel(*eqs.numeric.arguments(q, u, t, None, self._parameters))
        n, m, points = len(M), len(A), len(self.points)
        K = np.block([[M, A.T], [A, np.zeros((m, m))]])
        inverse = np.linalg.pinv(K, rcond=1e-13, hermitian=True)[:n, :n]
        twists, velocity = twists.reshape(points, 6, n), velocity.reshape(points, 6)
        radius = self._rings(t, q, u)[0]
        arms = [
            around(radius[k], velocity[k]) if self.flat[k] else [np.zeros(2)] for k in range(points)
        ]
        owners = np.repeat(np.arange(points), [len(a) for a in arms])
        at = np.array([moved_by(arm) for around in arms for arm in around]).reshape(-1, 3, 6)
        directions = at @ twists[owners]
        offsets = np.einsum("pij,pj->pi", at, velocity[owners]) - directions @ u
        return M, inverse @ directions.transpose(0, 2, 1), directions, offsets, owners

    def _choose_modes(
        self, t: float, q: np.ndarray, u: np.ndarray, near: np.ndarray
    ) -> tuple[np.ndarray, float]:
        """Modes of the points that stay together, by what their forces and accelerations would be;
        see ``_held``."""
        _, rate, _, _, slip = self._seen(t, q, u)
        candidates = np.zeros(len(self.points), dtype=bool)
        candidates[near] = rate[near] <= self.resting[near]
        self.sticking = candidates & (slip <= 2 * self.slow) & (self.static > 0)
        self.touching = candidates.copy()
        self.flat &= candidates
        for _ in range(5 * len(self.points) + 1):
            settled = self._held(t, q, u)
            _, _, normal, tangential_force, _ = self._seen(t, q, settled[0])
            pulling = np.where(self.touching, normal, np.inf)
            if pulling.min(initial=np.inf) < -self.small_force / 2:
                worst = int(pulling.argmin())
                self.touching[worst] = self.sticking[worst] = self.flat[worst] = False
                continue
            radius, moment, *_ = self._rings(t, q, settled[0])
            tipping = np.where(self.flat, moment / radius - normal, -np.inf)
            if tipping.max(initial=-np.inf) > self.small_force / 2:
                self.flat[int(tipping.argmax())] = False
                continue
            overstrained = self.sticking & (
                self._reserve(normal, tangential_force) < -self.small_force / 2
            )
            if overstrained.any():
                beyond = np.where(overstrained, tangential_force - self.static * normal, -np.inf)
                self.sticking[int(beyond.argmax())] = False
                continue
            return settled
        return self._held(t, q, u)

    def _held(self, t: float, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, float]:
        """The nearest speeds that keep closed points closed and sticking ones stuck, and the work
        of moving bases in it."""
        eqs = self.equations
        kernel = eqs.numeric.kernel(
            "held",
            lambda: [eqs.terms.M, eqs.terms.A[: eqs.terms.psi.numel(), :], eqs.terms.psi],
            [2, 2, 1],
        )
        M, A, psi = kernel(*eqs.numeric.arguments(q, u, t, None, self._parameters))
        m = len(A)
        K = np.block([[M, A.T], [A, np.zeros((m, m))]])
        found = np.linalg.pinv(K, rcond=1e-13, hermitian=True) @ np.concatenate(
            [np.zeros(len(M)), psi]
        )
        change, impulse = -found[: len(M)], found[len(M) :]
        return u + change, float((u + change / 2) @ M @ change - impulse @ psi / 2)
