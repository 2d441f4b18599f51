"""From a description to the terms of its equations, by a formalism."""

from __future__ import annotations

import inspect
from functools import partial
from typing import Any

from ..arguments import one_of
from ..errors import UnsupportedError
from ..formalisms import DEFAULT, FORMALISMS, Dynamics, formalism_of
from ..model.description import Description, derived_once
from ..motion.chart import Chart
from ..motion.constraint_rows import ConstraintRows, constraint_rows
from ..motion.reactions import Reactions, energies_of
from .closing import FormalismWay, KnownComplement, OwnClosure
from .terms import Terms, TermsParts


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
    return _terms(chart, dynamics, name, (derive_again, (description, name, options)))


def derive_again(description: Description, formalism: str, options: dict[str, Any]) -> Terms:
    """Terms derived again, where a pickle is opened."""
    return derive_terms(description, formalism, **options)


def _terms(chart: Chart, dynamics: Dynamics, formalism: str, recipe: tuple[Any, ...]) -> Terms:
    """Terms by a formalism, with what is the same for all: constraints and energies."""
    rows, reactions = constraint_rows(chart), _reactions(chart, dynamics)
    closure, energies = _closure(dynamics, rows), energies_of(reactions)
    return Terms.of(
        TermsParts(chart, dynamics, rows, closure, energies, reactions, formalism, recipe=recipe)
    )


def _closure(dynamics: Dynamics, rows: ConstraintRows) -> OwnClosure:
    if rows.levels.names and dynamics.S is not None:  # what is wrong with rows is told here
        return KnownComplement(dynamics.S)
    return OwnClosure() if dynamics.close is None else FormalismWay(partial(dynamics.close, rows))


def _reactions(chart: Chart, dynamics: Dynamics) -> Reactions:
    """Reactions by the formalism's own recursion, or else those that are the same for all."""
    if dynamics.recursion is not None:
        return Reactions(chart, constraint_rows(chart), dynamics.recursion)
    return _usual_reactions(chart)


@derived_once
def _usual_reactions(chart: Chart) -> Reactions:
    return Reactions(chart, constraint_rows(chart))
