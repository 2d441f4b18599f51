"""What the user wrote as a start or a guess, sorted: values of variables, and values of quantities
that the variables have to be found for."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from casadi import SX

from ...errors import ArgumentError, shown
from ...model.joints import Joint
from ...numerics.tolerances import KNOWN

if TYPE_CHECKING:
    from ...contract.names import Quantity
    from ...equations import Equations


@dataclass
class RowsOfQuantities:
    """Quantities that are to have values: one row for each number."""

    names: list[str] = field(default_factory=list)
    values: list[SX] = field(default_factory=list)
    targets: list[float] = field(default_factory=list)
    angular: list[bool] = field(default_factory=list)  # compared up to whole turns
    groups: list[str] = field(default_factory=list)  # the same for components of one thing

    def add(self, name: str, value: SX, target: float, angular: bool, group: str) -> None:
        self.names.append(name)
        self.values.append(value)
        self.targets.append(float(target))
        self.angular.append(angular)
        self.groups.append(group)

    @property
    def column(self) -> SX:
        """The quantities, one below the other."""
        return ca.vertcat(SX(0, 1), *self.values)

    def gap(self, found: np.ndarray) -> np.ndarray:
        """What is left between the quantities and their targets."""
        gap = found - np.array(self.targets)
        return np.where(
            np.array(self.angular, dtype=bool), np.arctan2(np.sin(gap), np.cos(gap)), gap
        )


@dataclass
class GivenValues:
    """What is given of positions, or of velocities: values of variables by index, and rows for what
    is no variable."""

    variables: dict[int, float] = field(default_factory=dict)
    rows: RowsOfQuantities = field(default_factory=RowsOfQuantities)

    def __bool__(self) -> bool:
        return bool(self.variables or self.rows.names)

    def without(self, indices: Collection[int]) -> GivenValues:
        """The same, but for some variables."""
        kept = {index: value for index, value in self.variables.items() if index not in indices}
        return GivenValues(kept, self.rows)

    def names(self, variables: Sequence[str]) -> list[str]:
        """One for each number that is given."""
        return [*(variables[index] for index in self.variables), *self.rows.names]

    def groups(self, variables: Sequence[str]) -> list[str]:
        """For each number what it is a component of: variables stand alone."""
        return [*(variables[index] for index in self.variables), *self.rows.groups]

    def gap(self, x: np.ndarray, found: np.ndarray) -> np.ndarray:
        """What is left between the variables x and quantities found, and their targets."""
        given = x[..., list(self.variables)] - list(self.variables.values())
        return np.concatenate([given, self.rows.gap(found)], axis=-1)

    def slopes(self, T: np.ndarray, slopes: np.ndarray) -> np.ndarray:
        """Of the gap, by those of the variables and of the quantities."""
        return np.concatenate([T[..., list(self.variables), :], slopes], axis=-2)


@dataclass
class StartValues:
    """What a start or a guess gives."""

    positions: GivenValues = field(default_factory=GivenValues)
    velocities: GivenValues = field(default_factory=GivenValues)


def kind_of_row(name: str) -> str:
    """«pin: position» for «pin: position x»: rows of a constraint that are components of one
    thing."""
    owner, colon, label = name.rpartition(": ")
    return f"{owner}{colon}{label.partition(' ')[0]}" if owner else name


def read_start(equations: Equations, start: Mapping[str, Any], what: str = "start") -> StartValues:
    """Sort the named values; every unknown name and wrong count is reported at once."""
    requested, problems = StartValues(), []
    for name, value in start.items():
        try:
            _read_one(equations, requested, str(name), _values(name, value))
        except ArgumentError as error:
            problems.append(f"{what}: {error}")
    if problems:
        raise ArgumentError("\n".join(problems))
    for joint in equations.terms.chart.closed:
        _turn_round(joint, requested.positions.rows)
    return requested


def _values(name: str, value: Any) -> np.ndarray:
    try:
        values = np.atleast_1d(np.asarray(value))
        if values.ndim > 1 or values.dtype.kind not in "iuf" or not np.isfinite(values).all():
            raise ValueError
    except Exception:
        raise ArgumentError(
            f"{name!r} must be one finite number or a list of them, got {shown(value)}"
        ) from None
    return values.astype(float)


def _read_one(equations: Equations, requested: StartValues, name: str, values: np.ndarray) -> None:
    chart = equations.terms.chart
    own = chart.joint_coordinates.get(name, ())
    body = name.removeprefix("body ") in chart.description.bodies and name not in chart.counted
    if body and len(own) == len(values) != 3:
        requested.positions.variables |= dict(
            zip(own, values, strict=True)
        )  # a body that has its own
        check_quaternions(equations, requested.positions.variables, repr(name))
        return
    quantity = equations.names.resolve(name)
    count = quantity.value.numel()
    if len(values) != count:
        raise ArgumentError(f"{name!r} needs {count} numbers, got {len(values)}")
    if quantity.coordinates:
        requested.positions.variables |= dict(zip(quantity.coordinates, values, strict=True))
        given = {index: requested.positions.variables[index] for index in quantity.coordinates}
        check_quaternions(equations, given, repr(name))
    elif quantity.speeds:
        requested.velocities.variables |= dict(zip(quantity.speeds, values, strict=True))
    else:
        _read_rows(equations, requested, quantity, values)


def _read_rows(
    equations: Equations, requested: StartValues, quantity: Quantity, values: np.ndarray
) -> None:
    """A quantity that is no variable: rows at the level that it belongs to."""
    s, chart = equations.terms.symbols, equations.terms.chart
    later = ca.vertcat(s.w, s.udot, equations.terms.multipliers)
    fixed = quantity.kind in ("input", "parameter", "time")
    if fixed or ca.depends_on(quantity.value, later):
        raise ArgumentError(
            f"{quantity.name!r} is no position or velocity ({quantity.kind}), so a start cannot "
            "give it"
        )
    names = quantity.variables or quantity.labels
    angular = quantity.angular or (False,) * len(values)
    fast = ca.depends_on(quantity.value, s.u)
    rows = (requested.velocities if fast else requested.positions).rows
    for k, (name, target) in enumerate(zip(names, values, strict=True)):
        if name in chart.counted and not fast:
            requested.positions.variables[chart.counted[name]] = float(target)
        else:
            group = f"{quantity.name} {quantity.units[k]}"
            rows.add(name, quantity.value[k], target, angular[k], group)


def _turn_round(joint: Joint, rows: RowsOfQuantities) -> None:
    """Give quaternions a non-negative scalar part, as a joint that is closed measures them."""
    names = iter(joint.coordinates)
    for step in joint.transitions:
        own = [next(names) for _ in step.coordinates] if step.moves else []
        places = [rows.names.index(name) for name in own if name in rows.names]
        if len(places) == 4 and rows.targets[places[0]] < 0:
            for place in places:
                rows.targets[place] *= -1


def check_quaternions(
    equations: Equations, given: Mapping[int, float], what: str = "start"
) -> None:
    """Refuse quaternions, all of whose coordinates are given, that are not of norm one."""
    for four in equations.terms.chart.quaternions:
        if not set(four) <= set(given):
            continue
        norm = float(np.linalg.norm([given[index] for index in four]))
        if abs(norm - 1) > KNOWN:
            name = equations.coordinates[four[0]]
            raise ArgumentError(f"{what}: the quaternion {name!r} … has norm {norm:.6g}, not 1")
