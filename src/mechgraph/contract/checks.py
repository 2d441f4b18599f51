"""Checks of terms: names, variables and complements."""

from __future__ import annotations

from collections.abc import Collection
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ..arguments import name_of, reserved
from ..errors import ModelError, UnsupportedError
from ..graph.expressions import has_nan
from ..motion.samples import Samples
from ..numerics.rank import rank
from ..numerics.tolerances import GIVEN, MET
from ..vectors import NO_NUMBER

if TYPE_CHECKING:
    from .terms import Terms


def check_names(terms: Terms, outputs: dict[str, Any]) -> None:
    """Refuse what has the name of a variable, which would answer in its place."""
    d, s = terms.chart.description, terms.symbols
    of_joints = {name for j in d.joints.values() for name in (*j.coordinates, *j.speeds)}
    variables = {*s.coordinates, *s.speeds}
    for name, value in outputs.items():
        name_of("output", name)
        known = name in {*variables, *s.inputs, *s.parameters}
        reason = "a variable is called so" if known else reserved(name)
        same = known and (callable(value) or (value.is_scalar() and ca.is_equal(value, s[name])))
        if reason is not None and not same:
            raise ModelError(f"output {name!r}: {reason}; rename it")
    others = {*d.outputs, *s.inputs, *s.parameters, *d.places}
    for name in sorted((variables - of_joints) & others):
        if not _is_output(terms, name):
            raise UnsupportedError(
                f"{name!r}: {terms.formalism} has a variable of that name; rename what is called so"
            )


def _is_output(terms: Terms, name: str) -> bool:
    """True if an output is the variable of its name, as seen at one state."""
    s, value = terms.symbols, terms.output(name)
    if value is None or not value.is_scalar() or s.strangers(value):
        return False
    gap = ca.Function("gap", [s.q, s.u, s.t, s.w, s.p], [value - s[name]], {"allow_free": True})
    if gap.has_free():
        return False
    sizes = [gap.numel_in(k) for k in range(gap.n_in())]
    numbers = [0.1 + 0.5 * np.random.default_rng(k).random(n) for k, n in enumerate(sizes)]
    return abs(float(gap(*numbers))) < MET


def check_expressions(terms: Terms) -> None:
    """Refuse expressions written by hand that use what they must not."""
    s = terms.symbols
    moving = ca.vertcat(s.u, s.udot, s.w)
    _check(terms, "N", terms.N, moving)
    _check(terms, "n", terms.n, moving)
    _check(terms, "M", terms.M, moving)
    _check(terms, "f", terms.f, s.udot)
    _check(terms, "position", terms.phi, moving)
    _check(terms, "velocity", terms.psi, ca.vertcat(s.udot, s.w))
    _check(terms, "kinetic", terms.kinetic, s.udot)
    _check(terms, "potential", terms.potential, ca.vertcat(s.u, s.udot))


def _check(terms: Terms, name: str, value: SX, barred: SX) -> None:
    strangers = terms.symbols.strangers(value)
    if strangers:
        raise ModelError(f"{name}: uses {strangers[0]!r}, which is not among its variables")
    if has_nan(value):
        raise ModelError(f"{name} {NO_NUMBER}")
    if ca.depends_on(value, barred):
        named = [x.name() for x in ca.symvar(value) if ca.depends_on(x, barred)]
        raise ModelError(f"{name} must not depend on {named[0]!r}")


def check_complement(terms: Terms) -> None:
    """Refuse an S that is none, at some states that meet the constraints."""
    S, s = terms.S, terms.symbols
    if S is None:
        return
    least = len(s.speeds) - len(terms.constraints)
    if S.shape[1] < least:
        raise ModelError(
            f"S must have {least} columns at least, one for each speed that is left free, "
            f"got {S.shape[1]}"
        )
    _check(terms, "S", S, ca.vertcat(s.udot, s.w))
    samples = Samples(terms.chart, terms.levels)
    if samples.met:
        for A, columns in zip(samples.of(terms.A), samples.of(S), strict=True):
            if np.isfinite(columns).all():  # it may fail somewhere
                _check_columns(A, columns, terms.constraints)


def _check_columns(A: np.ndarray, S: np.ndarray, rows: Collection[str]) -> None:
    left = np.abs(A @ S).max(axis=1, initial=0.0)
    size = np.abs(A).max(axis=1, initial=0.0) * np.abs(S).max(initial=0.0)
    wrong = np.flatnonzero(left > GIVEN * size)
    if wrong.size:
        raise ModelError(
            f"S is no complement of the constraints: A S is not zero in the row of "
            f"{[*rows][wrong[0]]!r}"
        )
    freedoms = A.shape[1] - rank(A)
    if rank(S.T) < freedoms:
        raise ModelError(f"S must have {freedoms} independent columns, one for each freedom")
