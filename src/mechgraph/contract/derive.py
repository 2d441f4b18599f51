"""From a description to the terms of its equations, by a formalism."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from casadi import SX

from ..arguments import one_of
from ..errors import UnsupportedError
from ..formalisms import DEFAULT, FORMALISMS, Dynamics, formalism_of
from ..model.description import Description
from ..motion.chart import Chart
from ..motion.constraint_rows import constraint_rows
from ..motion.energy import kinetic, potential
from ..motion.reactions import Reactions
from .terms import Terms


def derive_terms(description: Description, formalism: str | None = None, **options: Any) -> Terms:
    """The terms of a description by a formalism (see ``FORMALISMS``)."""
    name = DEFAULT if formalism is None else formalism
    one_of("formalism", name, FORMALISMS, UnsupportedError)
    listed = formalism_of(name)
    own = [*inspect.signature(listed.derive).parameters][1:]
    for key in options:
        one_of(f"option of {name}", key, (*own, *listed.chart_options), UnsupportedError)
    chart = listed.chart(description, **{key: options[key] for key in options if key not in own})
    dynamics = listed.derive(chart, **{key: options[key] for key in options if key in own})
    return _terms(chart, dynamics, name, (rederived, (description, name, options)))


def rederived(description: Description, formalism: str, options: dict[str, Any]) -> Terms:
    """The same terms again, where a pickle is opened."""
    return derive_terms(description, formalism, **options)


def _terms(chart: Chart, dynamics: Dynamics, formalism: str, recipe: tuple[Any, ...]) -> Terms:
    """What the formalism delivers, with what is the same for all: constraints and energies."""
    rows = constraint_rows(chart)
    reactions = _reactions(chart, dynamics)

    def supplied() -> SX:
        return reactions.supplied

    def dissipated() -> SX:
        return reactions.dissipated

    return Terms(
        chart.symbols,
        M=dynamics.M,
        f=dynamics.f,
        S=dynamics.S if rows.levels.names else None,
        kinetic=lambda: kinetic(chart),
        potential=lambda: potential(chart),
        supplied=supplied,
        dissipated=dissipated,
        solve=dynamics.solve,
        inverse=dynamics.inverse,
        condition=dynamics.condition,
        close=None if dynamics.close is None else partial(dynamics.close, rows),
        coefficients=dynamics.coefficients,
        name=chart.description.name,
        formalism=formalism,
        chart=chart,
        rows=rows,
        reactions=reactions,
        recipe=recipe,
    )


def _reactions(chart: Chart, dynamics: Dynamics) -> Reactions:
    """Of the formalism's own recursion, or else the same for all."""
    rows = constraint_rows(chart)
    if dynamics.recursion is not None:
        return Reactions(chart, rows, dynamics.recursion)
    if "reactions" not in chart.derived:
        chart.derived["reactions"] = Reactions(chart, rows)
    shared: Reactions = chart.derived["reactions"]
    return shared
