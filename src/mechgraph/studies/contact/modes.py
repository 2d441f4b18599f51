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

What happens then is in ``settle``.
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
from ..simulation.integrator import IntegrationFailure
from .machine import Machine
from .points import (
    approach,
    gravity,
    points_of,
    quantities,
    ring_quantities,
    stuck_forces,
    values,
)
from .settle import BAND, FLAT, TOUCH, settle

if TYPE_CHECKING:
    from ...equations import Equations
    from ...kernels import Kernel

STUCK = 0.75  # part of the regularization that w falls to where a slip ends
STANDSTILL = 30


class EndlessContacts(IntegrationFailure):
    """Events without end in one moment."""

    hint = "Give the rigid contacts a larger rebound_threshold=…, below which nothing rebounds"


class Contacts:
    """All points of contact of a system, and their modes."""

    def __init__(self, equations: Equations, context: Any) -> None:
        self.equations, self.context = equations, context
        self.points = list(points_of(equations))
        self.touching = np.zeros(len(self.points), dtype=bool)
        self.sticking = np.zeros(len(self.points), dtype=bool)
        self.flat = np.zeros(len(self.points), dtype=bool)
        self.rings = np.array([bool(point.rows.level) for point in self.points])
        self.always = np.array([point.rows.gap is None for point in self.points])  # never open
        self.touching |= self.always
        self.rough = np.array([not point.law.static_friction.is_zero() for point in self.points])
        self.heading = np.zeros((len(self.points), 2))
        self.tipping: dict[int, np.ndarray] = {}
        laws = values(equations, self.points, context.parameters)
        self.restitution, self.tangential, self.friction, self.static = laws[:4]
        self.regularization, self.resting_speed = laws[4:]
        self.rebounding = (self.restitution > 0) | (self.tangential > 0)
        self.slow = STUCK * self.regularization
        self.same_pair = np.array(
            [[a.law is b.law for b in self.points] for a in self.points], dtype=float
        )
        self.count = 0  # of impacts
        self.machine: Machine | None = None  # what settles in C, in a run
        self._latest, self.standing = -np.inf, 0  # events in one moment
        self.gravity = gravity(equations)
        self._constants = np.array(list(context.parameters.values()))
        place = {name: k for k, name in enumerate(context.parameters)}
        self._places = [place[name] for name in self.switches]
        self._own = [
            {mode: place[name] for mode, name in point.switches.items()} for point in self.points
        ]

    @property
    def parameters(self) -> np.ndarray:
        """All parameters, with the switches as they are."""
        values = self._constants.copy()
        values[self._places] = list(self.switches.values())
        return values

    def closed_parameters(self, lying: int | None = None) -> np.ndarray:
        """The same as if all points were closed and stuck, and one flat."""
        values = self.parameters
        for k, own in enumerate(self._own):
            values[[at for mode, at in own.items() if mode != "flat" or k == lying]] = 1.0
        return values

    def evaluated(
        self, kernel: Kernel, t: float, q: np.ndarray, u: np.ndarray, p: np.ndarray | None = None
    ) -> list[np.ndarray]:
        """A kernel of (q, u, t, w, p) at a state; numbers of our own need no check."""
        w = np.zeros(0)
        if self.equations.inputs:
            w = self.context.inputs_at(np.array([t]), q[None], u[None])[0]
        return kernel(q, u, np.array([t]), w, self.parameters if p is None else p)

    def energy(self, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """T and V."""
        terms = self.equations.terms
        kernel = self.equations.numeric.kernel(
            "energies", lambda: [ca.vertcat(terms.kinetic, terms.potential)], [1]
        )
        return self.evaluated(kernel, t, q, u)[0]

    @property
    def switches(self) -> dict[str, float]:
        """Values of the parameters that switch the rows."""
        out: dict[str, float] = {}
        modes = {"touching": self.touching, "sticking": self.sticking, "flat": self.flat}
        for k, point in enumerate(self.points):
            out |= {name: float(modes[mode][k]) for mode, name in point.switches.items()}
        for point, heading in zip(self.points, self.heading, strict=True):
            out |= {name: float(h) for name, h in zip(point.headings, heading, strict=False)}
        return out

    # --- what can be seen -------------------------------------------------------------------------

    def seen(self, t: float, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
        """For each point: gap, its rate, normal force, tangential force (of sticking), slip speed,
        the tangential force of its pair, and forces that are rounding."""
        eqs = self.equations
        kernel = eqs.numeric.kernel("contacts", lambda: quantities(eqs, self.points), [1] * 7)
        return tuple(self.evaluated(kernel, t, q, u))

    def approach(self, t: float, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
        """For each point: gap and its rate."""
        return tuple(self.evaluated(approach(self.equations, self.points), t, q, u))

    def ring_seen(self, t: float, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
        """For each point: radius of the ring, moment of its pressure, its rise with two
        derivatives; ones if it is none."""
        if not self.rings.any():
            return (np.ones(len(self.points)),) * 5
        eqs = self.equations
        kernel = eqs.numeric.kernel("rings", lambda: ring_quantities(eqs, self.points), [1] * 5)
        return tuple(self.evaluated(kernel, t, q, u))

    def _reserve(
        self,
        normal: np.ndarray,
        tangential_force: np.ndarray,
        together: np.ndarray,
        small: np.ndarray,
    ) -> np.ndarray:
        """μ_s N − |F_t| of the sticking points of each pair of surfaces: the mean with |F_t| as
        weights, or that of all forces together, if it is less.

        How several points of one pair share the forces is not determined. F_t of least norm is
        the field of a rigid motion; so for any other shares F′ with the same resultants F·F = F·F′,
        summed, and if they are within their cones, Σ |F_t|² ≤ Σ |F_t| μ_s N: the mean is negative
        only if no shares hold. Nor do any if |Σ F_t| > Σ μ_s N.
        """
        weights = np.where(self.sticking, tangential_force + small, 0.0)
        spare = (weights * (self.static * normal - tangential_force)) @ self.same_pair
        mean = spare / (weights @ self.same_pair + 1e-300)
        most = np.where(self.sticking, self.static * normal, 0.0) @ self.same_pair
        return np.minimum(mean, most - together)

    # --- when something happens -------------------------------------------------------------------

    @property
    def margins(self) -> SX:
        """What falls through zero at an event, as expressions in which the switches are parameters;
        so the same ones serve all modes, and all runs."""
        return self.equations.numeric.kept("margins of contacts", self._margins)

    def _margins(self) -> SX:
        eqs = self.equations
        gap, _, normal, stuck, slip, sum_of_stuck, small = quantities(eqs, self.points)
        radius, moment, rise, _, _ = ring_quantities(eqs, self.points)
        touching, sticking, flat = self._switch_symbols
        static, blur = (
            ca.vertcat(*(SX(getattr(point.law, what)) for point in self.points))
            for what in ("static_friction", "regularization")
        )
        always = ca.DM(self.always.astype(float))
        weights, together = sticking * (stuck + small), ca.DM(self.same_pair.T)
        reserve = together @ (weights * (static * normal - stuck)) / (together @ weights + 1e-300)
        reserve = ca.fmin(reserve, together @ (sticking * static * normal) - sum_of_stuck)
        first = always + (1 - always) * ca.if_else(touching, normal + small, gap + TOUCH)
        second = ca.if_else(sticking, reserve + small, slip - STUCK * blur)
        third = ca.if_else(flat, normal - moment / radius + small, rise - FLAT)
        return ca.vertcat(
            first,
            ca.if_else(touching, second, 1.0)[np.flatnonzero(self.rough).tolist()],
            ca.if_else(touching, third, 1.0)[np.flatnonzero(self.rings).tolist()],
        )

    @property
    def sides(self) -> np.ndarray:
        """The signs of the margins where they are so by construction; 0 for those of slip and of
        the rise of rings, which may begin at zero."""
        second, third = self.sticking[self.rough], self.flat[self.rings]
        return np.concatenate([np.ones(len(self.points)), second, third]).astype(int)

    @property
    def _switch_symbols(self) -> list[SX]:
        """Columns of the parameters that say of each point whether it touches, sticks, lies
        flat."""
        s = self.equations.terms.symbols
        symbols = dict(zip(s.parameters, ca.vertsplit(s.p), strict=True))
        unswitched = {"touching": SX(1), "sticking": SX(0), "flat": SX(0)}
        return [
            ca.vertcat(
                *(symbols[p.switches[mode]] if mode in p.switches else other for p in self.points)
            )
            for mode, other in unswitched.items()
        ]

    @property
    def tolerance(self) -> float:
        """The largest tolerance with which the end of a slip is still seen: a step must not leap
        over the speeds that are taken for none."""
        return float((self.regularization[self.rough & ~self.always] / 10).min(initial=np.inf))

    def names(self, chosen: Any) -> str:
        return ", ".join(repr(point.name) for point in np.array(self.points)[chosen])

    @property
    def resting(self) -> np.ndarray:
        """Speeds below which points do not rebound; they double where events pile up in one
        moment."""
        fall = np.sqrt(2 * self.gravity * TOUCH)  # the speed of a fall through what is no gap
        return np.maximum(self.resting_speed, fall) * 2.0 ** max(0, self.standing - 5)

    def count_standstill(self, moment: float, now: float) -> None:
        """Give up where events follow each other without time going on; ``moment`` counts from the
        start."""
        self.standing = (
            self.standing + 1 if moment - self._latest < 1e-13 * max(1.0, abs(moment)) else 0
        )
        self._latest = moment
        if self.standing > STANDSTILL:
            raise EndlessContacts(f"contacts open and close without end at t = {now:.6g}")

    # --- what happens at an event -----------------------------------------------------------------

    def check_start(self, t: float, q: np.ndarray, u: np.ndarray) -> None:
        """Refuse a start in which surfaces overlap, or joints are beyond their limits."""
        told: dict[str, list[str]] = {}
        for point, depth in zip(self.points, -self.approach(t, q, u)[0], strict=True):
            if depth > GIVEN:
                told.setdefault(point.law.overlap, []).append(f"{point.name} by {depth:.3g}")
        if told:
            raise ArgumentError(
                "; ".join(text.format(", ".join(deep)) for text, deep in told.items())
            )

    def settle(
        self, t: float, q: np.ndarray, u: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """The state after all impacts with the modes of the points that touch; and the work that
        moving bases did on the way.

        Impulses keep rows that are linear in the speeds; the others are met again afterwards.
        """
        found = settle(self, t, q, u) if self.machine is None else self.machine.settle(t, q, u)
        if not self._is_bent:
            return found
        q, u, given = found
        at, kept = (np.array([t]), self.parameters), u[None]
        for _ in range(3):
            kept = project(self.equations, q[None], kept, *at)[1]
        kept = kept[0]
        return q, kept, given + float(self.energy(t, q, kept)[0] - self.energy(t, q, u)[0])

    @cached_property
    def _is_bent(self) -> bool:
        """Whether a row is not linear in the speeds."""
        terms = self.equations.terms
        u = terms.symbols.u
        return bool(ca.depends_on(ca.jacobian(terms.psi, u), u))

    def open(self, k: int) -> None:
        """Open a point."""
        self.touching[k] = self.sticking[k] = self.flat[k] = False

    def tip(self, k: int, arm: np.ndarray) -> None:
        """Let a flat ring tip over one of its points."""
        self.flat[k] = False
        self.tipping[k] = arm

    def release(
        self, t: float, q: np.ndarray, u: np.ndarray, shares: np.ndarray
    ) -> np.ndarray | None:
        """Open a point that would pull, or let one slide that friction does not hold; None, if
        there is none.

        ``shares`` (N and both tangential forces, for each point) keep all conditions, those of the
        motion may not: on the way from the former to the latter, it is the first that breaks one.
        So what is left keeps all conditions with the shares that are reached there, which are
        returned.
        """
        _, _, normal, tangential_force, _, together, small = self.seen(t, q, u)
        spare = normal - self._band(normal)
        reserve = self._reserve(spare, tangential_force, together, small)
        pulls = self.touching & (spare < -small / 2)
        strained = self.sticking & (reserve < -small / 2)
        if not (pulls | strained).any():
            return None
        own = np.column_stack([normal, *self._stuck_forces(t, q, u)])
        parts = np.full((2, len(self.points)), np.inf)
        for i in np.flatnonzero(pulls):
            parts[0, i] = _falling(shares[i, 0], own[i, 0])
        for i in np.flatnonzero(strained):
            parts[1, i] = _leaving(shares[i], own[i], self.static[i])
        slides, k = divmod(int(parts.argmin()), len(self.points))
        shares = shares + parts.min() * (own - shares)
        if slides:
            self.sticking[k] = False
            self.heading[k] = -shares[k, 1:] / max(np.hypot(*shares[k, 1:]), 1e-300)
        else:
            self.open(k)
        return shares * np.column_stack([self.touching, self.sticking, self.sticking])

    def _stuck_forces(self, t: float, q: np.ndarray, u: np.ndarray) -> list[np.ndarray]:
        """Along both tangents of each point."""
        eqs = self.equations
        kernel = eqs.numeric.kernel("stuck", lambda: stuck_forces(eqs, self.points), [1] * 2)
        return self.evaluated(kernel, t, q, u)

    def _band(self, normal: np.ndarray) -> np.ndarray:
        """What has to be left of the normal force of a point of several, whose shares are known no
        better."""
        return ~self.always * BAND * (self.same_pair * normal).max(axis=1, initial=0.0)

    def fits(self, t: float, q: np.ndarray, u: np.ndarray) -> bool:
        """True if no closed point would pull, slide or tip."""
        _, _, normal, tangential_force, _, together, small = self.seen(t, q, u)
        radius, moment, *_ = self.ring_seen(t, q, u)
        spare = normal - self._band(normal)
        least = -small / 2
        reserve = self._reserve(spare, tangential_force, together, small)
        return bool(
            (spare >= least)[self.touching].all()
            and (reserve >= least)[self.sticking].all()
            and (spare - moment / radius >= least)[self.flat].all()
        )

    def held(self, t: float, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, float]:
        """The nearest speeds that keep closed points closed and sticking ones stuck, and the work
        of moving bases in it."""
        eqs = self.equations
        kernel = eqs.numeric.kernel(
            "held",
            lambda: [eqs.terms.M, eqs.terms.A[: eqs.terms.psi.numel(), :], eqs.terms.psi],
            [2, 2, 1],
        )
        M, A, psi = self.evaluated(kernel, t, q, u)
        active = np.flatnonzero(np.abs(A).max(axis=1, initial=0.0) > 0)
        A, psi, m = A[active], psi[active], len(active)
        K = np.block([[M, A.T], [A, np.zeros((m, m))]])
        found = np.linalg.pinv(K, rcond=1e-13, hermitian=True) @ np.concatenate(
            [np.zeros(len(M)), psi]
        )
        change, impulse = -found[: len(M)], found[len(M) :]
        return u + change, float((u + change / 2) @ M @ change - impulse @ psi / 2)


def _falling(first: float, last: float) -> float:
    """The part of the way from one number to another after which it is zero; all of it, if it is
    not."""
    return max(first, 0.0) / max(first, first - last, 1e-300)


def _leaving(first: np.ndarray, last: np.ndarray, friction: float) -> float:
    """The part θ of the way from one force (N, F) to another after which it leaves its cone; all of
    it, if it does not: μ²N² − |F|² = a θ² + 2 b θ + c falls through zero."""
    metric, change = np.array([friction**2, -1.0, -1.0]), last - first
    a, b, c = metric @ change**2, metric @ (first * change), metric @ first**2
    squared = b * b - a * c
    if c <= 0 or squared < 0:
        return 0.0 if c <= 0 else 1.0
    return c / max(c, np.sqrt(squared) - b)
