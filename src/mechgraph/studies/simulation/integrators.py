"""Integrators, by name. Each goes on step by step, knows nothing of the output but to fill it in,
and stops where a surface changes its sign.

``rk8`` (explicit, of order 8, also under its name ``dop853``), ``rk45`` (explicit, of order 5) and
``radau`` (implicit, of order 5, for stiff systems) are our own, in C; by default a run begins with
the first and changes over to the last where it turns out to be stiff, and back. Without a C
compiler SciPy's ``DOP853``, ``RK45`` and ``Radau``, the same methods, take the place of our own.
"""

from __future__ import annotations

from ...kernels.compiler import CompilationFailure, report
from .integrator import DEFAULT, Integrator, Problem
from .own_methods import SMALL, Stepping
from .scipy_methods import SciPy


def make_integrator(method: str | None, problem: Problem) -> Integrator:
    """The method of that name, or the same one in SciPy where there is no machine code."""
    name = method or DEFAULT
    try:
        return Stepping(name, problem)
    except CompilationFailure as failure:
        report(failure, "SciPy's methods instead of our own")
        kind = "dop853" if method in (None, "rk8") else method
        return SciPy(kind, problem, watching=method is None and problem.size <= SMALL)
