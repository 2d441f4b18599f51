"""What happens at an event of rigid contacts, by contacts.c: what that asks of a model, as
expressions, where in its vector the switches are, and its use in a run."""

from __future__ import annotations

import time as clock
import warnings
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from casadi import SX

from ...runtime.contact_resolver import (
    COLUMNS,
    DRIVEN,
    RESOLVED,
    WITHOUT_END,
    ContactResolver,
    Layout,
)
from ..projection import project
from ..simulation.integrator import IntegrationFailure
from .points import (
    ContactPoint,
    law_numbers,
    quantities,
    ring_quantities,
    sizes,
    stuck_forces,
)

if TYPE_CHECKING:
    from ...equations import Equations
    from ..simulation.integrator import Problem
    from .modes import Contacts

MODES = ("touching", "sticking", "flat", "heading")


def expressions(equations: Equations, points: list[ContactPoint]) -> dict[str, SX]:
    """The functions of contacts.c, each a column; matrices row by row."""
    terms, s = equations.terms, equations.terms.symbols
    gaps, rates, normal, stuck, _, together, small = quantities(equations, points)
    rings = SX.ones(3 * len(points))
    if any(point.rows.level for point in points):
        rings = ca.vertcat(*ring_quantities(equations, points))
    matrices = [ca.vec(ca.densify(matrix).T) for matrix in (terms.M, terms.A, terms.G)]
    M, A, G = matrices
    return {
        "gaps": ca.vertcat(gaps, rates),
        "quantities": ca.vertcat(normal, stuck, together, *stuck_forces(equations, points), small),
        "rings": rings,
        "terms": ca.vertcat(M, terms.f, A, terms.b, G, terms.psi),
        "law": ca.vertcat(*law_numbers(equations, points).values()),
        "sizes": SX(ca.DM(np.concatenate(sizes(equations)))),
        "places": terms.phi,
        "shifted": terms.chart.normalized_expression(s.q + terms.N @ s.u),
        "energy": ca.vertcat(terms.kinetic, terms.potential),
    }


def layout(equations: Equations, points: list[ContactPoint], places: Mapping[str, int]) -> Layout:
    """Rows of the points, the ``places`` of their parameters in x, and sizes."""
    terms = equations.terms
    laws = list(dict.fromkeys(point.law.name for point in points))
    return Layout(
        np.array([[*_row(p, places), laws.index(p.law.name)] for p in points], np.int64),
        (
            terms.symbols.q.numel(),
            terms.symbols.u.numel(),
            len(equations.constraints),
            terms.phi.numel(),
            terms.psi.numel(),
        ),
    )


def _row(point: ContactPoint, places: Mapping[str, int]) -> list[int]:
    """In the order of ``COLUMNS``, without the pair."""
    rows, switches = point.rows, point.switches
    found = {"gap": rows.gap, **{f"level {k}": row for k, row in enumerate(rows.level, 1)}}
    found |= {f"slip {k}": row for k, row in enumerate(rows.slip, 1)}
    found |= {mode: places[name] for mode, name in switches.items()}
    found |= {f"heading {k}": places[name] for k, name in enumerate(point.headings, 1)}
    none = dict.fromkeys(COLUMNS[:-1], -1)
    return list((none | {name: at for name, at in found.items() if at is not None}).values())


class Resolution:
    """Impacts, and the modes of the points after them, by contacts.c on the vector x = (y, t, p,
    what is told) of a run."""

    def __init__(self, contacts: Contacts, problem: Problem) -> None:
        equations, first = contacts.equations, problem.size + 1
        places = {name: first + k for k, name in enumerate(equations.parameters)}
        found = equations.numeric.keep(
            "functions of contacts", lambda: expressions(equations, contacts.points)
        )
        self._routines = [problem.routine(name, value) for name, value in found.items()]
        self._resolver = ContactResolver(
            dict(zip(found, self._routines, strict=True)),
            layout(equations, contacts.points, places),
            first + len(problem.constants) + len(problem.loop.numbers),
            problem.write_signal if problem.loop.calls else None,
        )
        self.contacts, self._problem = contacts, problem

    def resolve(
        self, t: float, q: np.ndarray, u: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """The state after all impacts, closed points without gap, with the modes of the points that
        touch; and the work that moving bases did on the way.

        Impulses keep rows that are linear in the speeds; the others are met again afterwards.
        """
        q, u, given = self.resolve_linear(t, q, u)
        if not self._is_bent:
            return q, u, given
        contacts = self.contacts
        at, kept = (np.array([t]), contacts.parameters), u[None]
        for _ in range(3):
            kept = project(contacts.equations, q[None], kept, *at)[1]
        before, after = (contacts.energy(t, q, speeds)[0] for speeds in (u, kept[0]))
        return q, kept[0], given + float(after - before)

    @cached_property
    def _is_bent(self) -> bool:
        """Whether a row is not linear in the speeds."""
        terms = self.contacts.equations.terms
        u = terms.symbols.u
        return bool(ca.depends_on(ca.jacobian(terms.psi, u), u))

    def resolve_linear(
        self, t: float, q: np.ndarray, u: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """The same, if all rows are linear in the speeds."""
        began, contacts, arrays = clock.perf_counter(), self.contacts, self._resolver.arrays
        modes = {name: getattr(contacts, name) for name in MODES}
        now, work = self._problem.loop.now, np.zeros(self._problem.motion.work.numel())
        parts = q, u, now["own"], work, [t], contacts.parameters, now["told"]
        arrays["x"][:] = np.concatenate(parts)
        for name, mode in modes.items():
            arrays[name][:] = mode
        why, impacts, given = self._resolver(contacts.standing)
        self._hasten(clock.perf_counter() - began)
        warn_of_paradoxes(contacts, np.flatnonzero(arrays["odd"]).tolist(), t)
        if why == DRIVEN:
            raise driven(contacts, np.flatnonzero(arrays["guilty"]).tolist(), t)
        if why == WITHOUT_END:
            raise endless(t)
        if why != RESOLVED:
            raise IntegrationFailure(f"the impacts at t = {t:.6g} are not numbers")
        for name, mode in modes.items():
            mode[:] = arrays[name]
        contacts.count += impacts
        after = arrays["x"][: len(q) + len(u)].copy()
        return after[: len(q)], after[len(q) :], given

    def _hasten(self, seconds: float) -> None:
        """Start compilers in the background when as much has been spent without."""
        self._routines[0].spent += seconds
        for routine in self._routines:
            routine.hasten(self._routines[0].spent)


def endless(t: float) -> IntegrationFailure:
    """For impacts that follow each other."""
    return IntegrationFailure(f"the impacts at t = {t:.6g} do not come to an end")


def driven(contacts: Contacts, chosen: Sequence[int], t: float) -> IntegrationFailure:
    """For points that no forces keep apart."""
    return IntegrationFailure(
        f"surfaces are driven into each other at t = {t:.6g}: {contacts.names(chosen)}"
    )


def warn_of_paradoxes(contacts: Contacts, odd: Sequence[int], t: float) -> None:
    """Name points whose response is turned round."""
    if len(odd):
        warnings.warn(
            f"{contacts.names(odd)} slides with so much friction at t = {t:.6g} that no motion is "
            "possible there, or several (Painlevé's paradox); a slip that no forces allow is "
            "stopped by an impact, and of several motions one is taken",
            stacklevel=2,
        )
