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

What happens then is in ``runtime/contacts``, in C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ...errors import ArgumentError
from ...numerics.tolerances import GIVEN, KNOWN, MET, TINY
from ..simulation.integrator import IntegrationFailure
from .points import approach, law_numbers, points_of, quantities, ring_quantities, values

if TYPE_CHECKING:
    from ...equations import Equations
    from ...kernels import Kernel

STUCK = 0.75  # part of the regularization that w falls to where a slip ends
STANDSTILL = 30


class EndlessContacts(IntegrationFailure):
    """Events without end in one instant."""

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
        self.laws = values(equations, self.points, context.parameters)
        self.same_pair = np.array(
            [[a.law is b.law for b in self.points] for a in self.points], dtype=float
        )
        self.count = 0  # of impacts
        self._latest, self.standing = -np.inf, 0  # events in one instant
        self._constants = np.array(list(context.parameters.values()))
        place = {name: k for k, name in enumerate(context.parameters)}
        self._places = [place[name] for name in self.switches]

    @property
    def parameters(self) -> np.ndarray:
        """All parameters, with the switches as they are."""
        values = self._constants.copy()
        values[self._places] = list(self.switches.values())
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

    def approach(self, t: float, q: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, ...]:
        """For each point: gap and its rate."""
        return tuple(self.evaluated(approach(self.equations, self.points), t, q, u))

    # --- when something happens -------------------------------------------------------------------

    @property
    def margins(self) -> SX:
        """What falls through zero at an event, as expressions in which the switches are parameters;
        so the same ones serve all modes, and all runs."""
        return self.equations.numeric.keep("margins of contacts", self._margins)

    def _margins(self) -> SX:
        eqs = self.equations
        gap, _, normal, stuck, slip, sum_of_stuck, small = quantities(eqs, self.points)
        radius, moment, rise = ring_quantities(eqs, self.points)
        touching, sticking, flat = self._switch_symbols
        laws = law_numbers(eqs, self.points)
        static, blur = laws["static_friction"], laws["regularization"]
        always = ca.DM(self.always.astype(float))
        weights, together = sticking * (stuck + small), ca.DM(self.same_pair.T)
        reserve = together @ (weights * (static * normal - stuck)) / (together @ weights + TINY)
        reserve = ca.fmin(reserve, together @ (sticking * static * normal) - sum_of_stuck)
        first = always + (1 - always) * ca.if_else(
            touching, normal + small, gap + MET * laws["span"]
        )
        second = ca.if_else(sticking, reserve + small, slip - STUCK * blur)
        third = ca.if_else(flat, normal - moment / radius + small, rise - GIVEN * radius)
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
        return float(
            (self.laws["regularization"][self.rough & ~self.always] / 10).min(initial=np.inf)
        )

    def names(self, chosen: Any) -> str:
        return ", ".join(repr(point.name) for point in np.array(self.points)[chosen])

    def count_standstill(self, instant: float, now: float) -> None:
        """Give up where events follow each other without time going on; ``instant`` counts from the
        start."""
        is_same = instant - self._latest < MET / 10 * max(1.0, abs(instant))
        self.standing, self._latest = self.standing + 1 if is_same else 0, instant
        if self.standing > STANDSTILL:
            raise EndlessContacts(f"contacts open and close without end at t = {now:.6g}")

    def check_start(self, t: float, q: np.ndarray, u: np.ndarray) -> None:
        """Refuse a start in which surfaces overlap, or joints are beyond their limits."""
        told: dict[str, list[str]] = {}
        depths = -self.approach(t, q, u)[0]
        for point, depth, span in zip(self.points, depths, self.laws["span"], strict=True):
            if depth > KNOWN * span:
                told.setdefault(point.law.overlap, []).append(f"{point.name} by {depth:.3g}")
        if told:
            raise ArgumentError(
                "; ".join(text.format(", ".join(deep)) for text, deep in told.items())
            )
