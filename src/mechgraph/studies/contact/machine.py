"""Rigid contacts in machine code: what contacts.c asks of a model, as expressions, where in its
vector the switches are, and the C in place of ``settle`` in a run."""

from __future__ import annotations

import time as clock
from collections.abc import Mapping
from typing import TYPE_CHECKING

import casadi as ca
import numpy as np
from casadi import SX

from ...kernels.compiler import CompilationFailure
from ...kernels.settling import COLUMNS, DRIVEN, NO_ROOM, WITHOUT_END, Layout, Settling
from ...model.contact.switched import NUMBERS
from .points import Point, gravity, quantities, ring_quantities, stuck_forces
from .settle import driven, endless, settle, warn_of_paradoxes

if TYPE_CHECKING:
    from ...equations import Equations
    from ..simulation.integrator import Problem
    from .modes import Contacts

MODES = ("touching", "sticking", "flat", "heading")


def expressions(equations: Equations, points: list[Point]) -> dict[str, SX]:
    """The functions of contacts.c, each a column; matrices row by row."""
    terms, s = equations.terms, equations.terms.symbols
    gaps, rates, normal, stuck, _, together, small = quantities(equations, points)
    rings = SX.ones(3 * len(points))
    if any(point.rows.level for point in points):
        rings = ca.vertcat(*ring_quantities(equations, points)[:3])
    matrices = [ca.vec(ca.densify(matrix).T) for matrix in (terms.M, terms.A, terms.G)]
    M, A, G = matrices
    return {
        "gaps": ca.vertcat(gaps, rates),
        "seen": ca.vertcat(normal, stuck, together, *stuck_forces(equations, points), small),
        "rings": rings,
        "terms": ca.vertcat(M, terms.f, A, terms.b, G, terms.psi),
        "law": ca.vertcat(*(SX(getattr(p.law, what)) for what in NUMBERS for p in points)),
        "places": terms.phi,
        "shifted": terms.chart.normalized_expression(s.q + terms.N @ s.u),
        "energy": ca.vertcat(terms.kinetic, terms.potential),
    }


def layout(equations: Equations, points: list[Point], places: Mapping[str, int]) -> Layout:
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
        gravity(equations),
    )


def _row(point: Point, places: Mapping[str, int]) -> list[int]:
    """In the order of ``COLUMNS``, without the pair."""
    rows, switches = point.rows, point.switches
    found = {"gap": rows.gap, **{f"level {k}": row for k, row in enumerate(rows.level, 1)}}
    found |= {f"slip {k}": row for k, row in enumerate(rows.slip, 1)}
    found |= {mode: places[name] for mode, name in switches.items()}
    found |= {f"heading {k}": places[name] for k, name in enumerate(point.headings, 1)}
    none = dict.fromkeys(COLUMNS[:-1], -1)
    return list((none | {name: at for name, at in found.items() if at is not None}).values())


class Machine:
    """contacts.c in a run, on the vector x = (y, t, p, what is told) of its integrator."""

    def __init__(self, contacts: Contacts, problem: Problem) -> None:
        equations, first = contacts.equations, problem.size + 1
        places = {name: first + k for k, name in enumerate(equations.parameters)}
        found = equations.numeric.kept(
            "functions of contacts", lambda: expressions(equations, contacts.points)
        )
        self._routines = [problem.routine(name, value) for name, value in found.items()]
        functions = dict(zip(found, self._routines, strict=True))
        width = first + len(problem.constants) + len(problem.loop.numbers)
        self._settling = Settling(functions, layout(equations, contacts.points, places), width)
        self._contacts, self._problem = contacts, problem

    @staticmethod
    def of(contacts: Contacts, problem: Problem) -> Machine | None:
        """None without a compiler, for large systems, and where Python is asked for inputs."""
        if problem.loop.calls or contacts.equations.numeric.large:
            return None
        try:
            return Machine(contacts, problem)
        except CompilationFailure:
            return None

    def settle(
        self, t: float, q: np.ndarray, u: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """What ``settle`` does, in C."""
        began, contacts, arrays = clock.perf_counter(), self._contacts, self._settling.arrays
        modes = {name: getattr(contacts, name) for name in MODES}
        now, work = self._problem.loop.now, np.zeros(self._problem.motion.work.numel())
        parts = q, u, now["own"], work, [t], contacts.parameters, now["told"]
        arrays["x"][:] = np.concatenate(parts)
        for name, mode in modes.items():
            arrays[name][:] = mode
        why, impacts, given = self._settling(contacts.standing)
        self._hasten(clock.perf_counter() - began)
        if why == NO_ROOM:
            return settle(contacts, t, q, u)
        warn_of_paradoxes(contacts, np.flatnonzero(arrays["odd"]).tolist(), t)
        if why == DRIVEN:
            raise driven(contacts, np.flatnonzero(arrays["guilty"]).tolist(), t)
        if why == WITHOUT_END:
            raise endless(t)
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
