"""The tables of a model as plots."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX
from matplotlib.figure import Figure

from ..equations import Equations
from ..tables.searches import COEFFICIENTS, PICK, PLAIN, SEARCH, data_of, horner
from .plot import curves

MOST = 6  # curves of a table over x and y


def tables_of(equations: Equations) -> dict[str, ca.Function]:
    """The tables in the equations, by their names, each as a function from place to row."""
    terms, s = equations.terms, equations.terms.symbols
    value = ca.vertcat(terms.f, terms.phi, terms.psi, terms.b, SX(terms.potential))
    function = ca.Function("tables", [s.q, s.u, s.t, s.w, s.p], [value])
    found: dict[str, ca.Function] = {}
    for each in function.find_functions(0):
        searched, picked = SEARCH.fullmatch(each.name()), PICK.fullmatch(each.name())
        if picked is not None:
            found[picked[4]] = each
        elif searched is not None and (int(searched[2]) == PLAIN or searched[3] not in found):
            found[searched[3]] = each
    axes = [f"{name}_{letter}" for name, f in found.items() for letter in "xy" if _is_grid(f)]
    return {name: f for name, f in found.items() if name not in axes}


def table_figures(equations: Equations) -> dict[str, Figure]:
    """Each table over its own knots."""
    return {
        name: _surface(name, function) if _is_grid(function) else _curve(name, function)
        for name, function in tables_of(equations).items()
    }


def _is_grid(function: ca.Function) -> bool:
    return PICK.fullmatch(function.name()) is not None


def _curve(name: str, function: ca.Function) -> Figure:
    knots, rows = data_of(function) or (np.zeros(2), np.zeros((3, 2)))
    x = np.union1d(knots[:-1], np.linspace(knots[0], knots[-1], 1000, endpoint=False))
    row = rows[np.searchsorted(knots, x, side="right")]
    y = horner(row[:, COEFFICIENTS - 1 :], x - row[:, 0])
    return curves(x, {f"{name}(x), {len(knots)} points": {"": y}}, across="x")


def _surface(name: str, function: ca.Function) -> Figure:
    """Values at the knots along x, for some of the columns."""
    _, rows = data_of(function) or (0, np.zeros((1, 1)))
    values = rows[:, 0].reshape(-1, int(PICK.fullmatch(function.name())[2]))  # type: ignore[index]
    chosen = np.unique(np.linspace(0, values.shape[1] - 1, MOST).astype(int))
    lines = {f"y no. {k}": values[:, k] for k in chosen.tolist()}
    return curves(
        np.arange(len(values)), {f"{name}(x, y)": lines}, across="number of the knot of x"
    )
