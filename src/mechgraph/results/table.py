"""A run as one table: columns by name, each with its unit, over time."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import door
from ..arguments import listed
from ..contract.names import RATE, Names, Quantity
from ..errors import ArgumentError, unknown

if TYPE_CHECKING:
    import pandas as pd

    from .trajectory import Trajectory

WORK = "work of "  # an element: what is stored under that name
WORKS = ("supplied", "dissipated")  # stored if they were recorded
# one number for each time, by the name of the attribute that has it
SCALARS = {
    **dict.fromkeys(("kinetic", "potential", "energy", *WORKS), "J"),
    "power": "W",
    "violation": "",
}
SIX = [f"{kind} {axis}" for kind in ("force", "moment") for axis in "xyz"]


@dataclass(frozen=True, eq=False)
class Column:
    """A number for each time."""

    name: str
    unit: str
    values: np.ndarray


def table(run: Trajectory, what: Sequence[Any]) -> pd.DataFrame:
    """The columns that ``what`` asks for, names or groups of them; see ``Trajectory.table``."""
    pd = door.library("pandas")
    found = _found(run, listed("table", what) or [USUAL])
    if "time" in found:
        raise ArgumentError("a column is called 'time', as the times are; rename what is called so")
    values = {name: column.values for name, column in found.items()}
    made = pd.DataFrame(values, index=pd.Index(run.time, name="time"), dtype=float)
    made.attrs["units"] = {name: column.unit for name, column in found.items()}
    return made


def _found(run: Trajectory, asked: Sequence[Any]) -> dict[str, Column]:
    """The columns by name; what comes first has it."""
    found: dict[str, Column] = {}
    for each in asked:
        if not (isinstance(each, str) and each in found):
            columns = _columns(run, each)
            found |= {column.name: column for column in columns if column.name not in found}
    return found


def unit_of(run: Trajectory, name: str) -> str:
    """The unit of a column, as far as it is known."""
    if run.equations is None or name not in run.equations.names:
        return run.units.get(name, "") if isinstance(name, str) else ""
    return run.equations.names.resolve(name).units[0]


def _columns(run: Trajectory, what: Any) -> Iterator[Column]:
    if what is USUAL:
        return _usual(run)
    if isinstance(what, str) and what in GROUPS and not _is_own(run, what):
        return GROUPS[what](run)
    return _named(run, what)


def _is_own(run: Trajectory, name: str) -> bool:
    """True if something of the model has that name."""
    return run.equations is not None and name in run.equations.names.known


# --- by name --------------------------------------------------------------------------------------


def _named(run: Trajectory, name: Any) -> Iterator[Column]:
    if isinstance(name, str) and name in SCALARS and not _is_own(run, name):
        yield Column(name, SCALARS[name], getattr(run, name))
    elif isinstance(name, str) and name in run.further:
        yield Column(name, "", run.further[name])
    elif run.equations is None:
        yield _stored(run, name)
    else:
        yield from _observed(run, run.equations.names, name)


def _observed(run: Trajectory, names: Names, name: Any) -> Iterator[Column]:
    """All components of a quantity, or the one that is asked for: «tip», «tip x»."""
    quantity = _quantity(names, name)
    if quantity is None:
        raise ArgumentError(
            unknown("column", name, [*names.known, *run.further, *GROUPS, *SCALARS])
        )
    values = run[quantity.name].reshape(len(run), quantity.value.numel())
    for label, unit, column in zip(quantity.labels, quantity.units, values.T, strict=True):
        if name in (quantity.name, label):
            yield Column(label, unit, column)


def _quantity(names: Names, name: Any) -> Quantity | None:
    """What has that name, or a component of that name."""
    if name in names:
        return names.resolve(name)
    whole = str(name).rpartition(" ")[0]
    found = names.resolve(whole) if whole in names else None
    return found if found is not None and name in found.labels else None


def is_column(names: Names, name: str) -> bool:
    """True if a table of every run has such a column, or a group of that name."""
    return name in GROUPS or name in SCALARS or _quantity(names, name) is not None


def common(run: Trajectory, headers: Sequence[str]) -> pd.DataFrame:
    """The usual columns of a run, and those that have one of these names, such as reactions."""
    if run.equations is None:
        return run.table()
    found = {name: _quantity(run.equations.names, name) for name in headers}
    more = [name for name, each in found.items() if each is not None and name in each.labels]
    reacting = any(each.kind == "reaction" for each in found.values() if each is not None)
    return table(run, [USUAL, *(["reactions"] if reacting else []), *more])


def _stored(run: Trajectory, name: Any) -> Column:
    """A column of a run that was loaded without its system."""
    groups = ("coordinates", "speeds", "accelerations", "inputs", "multipliers")
    found = {column.name: column for group in groups for column in GROUPS[group](run)}
    if not isinstance(name, str) or name not in found:
        message = unknown("column", name, [*found, *run.further, *GROUPS, *SCALARS])
        raise ArgumentError(f"{message}; give load_run(…, system=) to ask for more")
    return found[name]


# --- groups ---------------------------------------------------------------------------------------


def _states(run: Trajectory) -> Iterator[Column]:
    """Further states: those of controllers."""
    return (Column(name, "", values) for name, values in run.further.items())


def _efforts(run: Trajectory) -> Iterator[Column]:
    """What the drives of servos supply: their multipliers."""
    constraints = run._need().system.constraints
    servos = {name for name, element in constraints.items() if element.is_servo}
    return (column for column in GROUPS["multipliers"](run) if column.name in servos)


def _array(run: Trajectory, kind: str, values: np.ndarray) -> Iterator[Column]:
    for name, column in zip(run.columns[kind], values.T, strict=True):
        yield Column(name, unit_of(run, name), column)


def _accelerations(run: Trajectory) -> Iterator[Column]:
    for name, column in zip(run.columns["speeds"], run.udot.T, strict=True):
        yield Column(f"{name}'", RATE.get(unit_of(run, name), ""), column)


def _outputs(run: Trajectory) -> Iterator[Column]:
    for name in run.equations.terms.outputs if run.equations is not None else ():
        yield from _named(run, name)


def _reactions(run: Trajectory) -> Iterator[Column]:
    """Force and moment of every joint and of every constraint that acts on a place, world
    components."""
    equations = run._need()
    if not equations.terms.chart.has_bodies:
        raise ArgumentError("reactions: these equations did not come from a System")
    units, motion = [*["N"] * 3, *["N m"] * 3], equations.terms.chart.motion
    constraints = equations.system.constraints.items()
    acting = [name for name, element in constraints if element.acts_on(motion) is not None]
    for name in (*equations.system.joints, *acting):
        for part, unit, values in zip(SIX, units, run.reaction(name).T, strict=True):
            yield Column(f"{name}: {part}", unit, values)


def _energies(run: Trajectory) -> Iterator[Column]:
    works = WORKS if run._accounted else ()
    for name in ("kinetic", "potential", "energy", "power", *works):
        if not _is_own(run, name):
            yield from _named(run, name)
    for name, values in run.stored.items():
        if name.startswith(WORK):
            yield Column(name, "J", values)


GROUPS: Mapping[str, Callable[[Trajectory], Iterator[Column]]] = {
    "coordinates": lambda run: _array(run, "coordinates", run.q),
    "speeds": lambda run: _array(run, "speeds", run.u),
    "accelerations": _accelerations,
    "inputs": lambda run: _array(run, "inputs", run.w),
    "outputs": _outputs,
    "states": _states,
    "efforts": _efforts,
    "multipliers": lambda run: _array(run, "constraints", run.multipliers),
    "reactions": _reactions,
    "energies": _energies,
}
USUAL = object()  # all groups but two, whatever else has their names


def _usual(run: Trajectory) -> Iterator[Column]:
    for name, group in GROUPS.items():
        if name not in ("efforts", "reactions"):
            yield from group(run)
    yield from _named(run, "violation")
