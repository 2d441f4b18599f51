"""The tables of a model as plots."""

from __future__ import annotations

import casadi as ca
import numpy as np
from casadi import SX
from matplotlib.figure import Figure

from ..equations import Equations
from ..graph.searches import COEFFICIENTS, data_of, horner, lookup
from .plot import curves

MOST = 6  # curves of a table over x and y


def tables_of(equations: Equations) -> dict[str, ca.Function]:
    """The tables in the equations, by their names, each as a function from place to row."""
    terms, s = equations.terms, equations.terms.symbols
    value = ca.vertcat(terms.f, terms.phi, terms.psi, terms.b, SX(terms.potential))
    function = ca.Function("tables", [s.q, s.u, s.t, s.w, s.p], [value])
    found: dict[str, ca.Function] = {}
    axes: set[str] = set()
    for each in function.find_functions(0):
        table = lookup(each.name())
        if table is not None and (not table.order or table.table not in found):
            found[table.table] = each
            axes |= {f"{table.table}_{letter}" for letter in "xy" if table.is_pick}
    return {name: f for name, f in found.items() if name not in axes}


def table_figures(equations: Equations) -> dict[str, Figure]:
    """Each table over its own knots."""
    figures = {}
    for name, function in tables_of(equations).items():
        table = lookup(function.name())
        surface = table is not None and table.is_pick
        figures[name] = _surface(name, function) if surface else _curve(name, function)
    return figures


def _curve(name: str, function: ca.Function) -> Figure:
    knots, rows = data_of(function)
    x = np.union1d(knots[:-1], np.linspace(knots[0], knots[-1], 1000, endpoint=False))
    row = rows[np.searchsorted(knots, x, side="right")]
    y = horner(row[:, COEFFICIENTS - 1 :], x - row[:, 0])
    return curves(x, {f"{name}(x), {len(knots)} points": {"": y}}, across="x")


def _surface(name: str, function: ca.Function) -> Figure:
    """Values at the knots along x, for some of the columns."""
    (_, rows), table = data_of(function), lookup(function.name())
    assert table is not None
    values = rows[:, 0].reshape(-1, table.row)
    chosen = np.unique(np.linspace(0, values.shape[1] - 1, MOST).astype(int))
    lines = {f"y no. {k}": values[:, k] for k in chosen.tolist()}
    return curves(
        np.arange(len(values)), {f"{name}(x, y)": lines}, across="number of the knot of x"
    )
