"""The variables of equations of motion: symbols, and their names in the order of the arrays."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import casadi as ca
from casadi import SX

from ..arguments import is_name, listed, named, number
from ..errors import ModelError, shown, unknown
from ..vectors import symbol


@dataclass(frozen=True, eq=False, repr=False)
class Variables:
    """q, u, u̇, w, p, t as symbols, with the names of coordinates, speeds, inputs and parameters.

    Coordinates and speeds need not come in pairs: a quaternion has four coordinates and three
    speeds, a current is a speed without a coordinate.
    """

    q: SX
    u: SX
    udot: SX
    w: SX
    p: SX
    t: SX
    coordinates: tuple[str, ...]
    speeds: tuple[str, ...]
    inputs: tuple[str, ...] = ()
    parameters: tuple[str, ...] = ()
    defaults: tuple[float, ...] = field(default=())  # values of the parameters

    def __getitem__(self, name: str) -> SX:
        """The symbol of a coordinate, speed, input or parameter; ``"t"`` is time, and the speed's
        name with a prime its derivative."""
        if name not in self._by_name:
            raise ModelError(unknown("variable", name, self._by_name))
        return self._by_name[name]

    @cached_property
    def _by_name(self) -> dict[str, SX]:
        rates = [f"{name}'" for name in self.speeds]
        known = (
            (rates, self.udot),
            (self.parameters, self.p),
            (self.inputs, self.w),
            (self.speeds, self.u),
            (self.coordinates, self.q),
        )
        out = {"t": self.t}
        for names, values in known:
            out |= dict(zip(names, ca.vertsplit(values), strict=True)) if names else {}
        return out

    @cached_property
    def _hashes(self) -> frozenset[int]:
        every = ca.vertcat(self.q, self.u, self.udot, self.w, self.p, self.t)
        return frozenset(x.__hash__() for x in ca.symvar(every))

    def strangers(self, expression: SX) -> list[str]:
        """Names of the symbols of an expression that are none of these variables."""
        return [x.name() for x in ca.symvar(expression) if x.__hash__() not in self._hashes]

    def __repr__(self) -> str:
        listed = (
            f"{kind}: {', '.join(names)}"
            for kind, names in (
                ("coordinates", self.coordinates),
                ("speeds", self.speeds),
                ("inputs", self.inputs),
                ("parameters", self.parameters),
            )
            if names
        )
        return f"<Variables {'; '.join(listed) or 'none'}>"


def variables(
    coordinates: Sequence[str] = (),
    speeds: Sequence[str] = (),
    inputs: Sequence[str] = (),
    parameters: Mapping[str, float] | None = None,
) -> Variables:
    """Variables by name, to write equations down with.

    >>> v = variables(["angle"], ["rate", "current"], ["voltage"], {"R": 2.0})
    >>> v["voltage"] - v["R"] * v["current"]
    SX((voltage-(R*current)))
    """
    coordinates, speeds, inputs = (
        listed("variables", names, ModelError) for names in (coordinates, speeds, inputs)
    )
    constants = named("parameters", parameters)
    names = [*coordinates, *speeds, *inputs, *constants]
    for name in names:
        if not is_name(name):
            raise ModelError(f"a variable needs a name, got {shown(name)}")
    # a speed may be the rate of another one, as in equations of higher order
    names += ["t", "time", *{f"{name}'" for name in speeds} - set(speeds)]
    taken = sorted({name for name in names if names.count(name) > 1})
    if taken:
        raise ModelError(f"variables: {', '.join(map(repr, taken))} stand for two things")
    defaults = tuple(number(f"parameter {key!r}", value) for key, value in constants.items())
    w, p = ({name: symbol(name) for name in given} for given in (inputs, constants))
    return named_variables(coordinates, speeds, w, p, SX.sym("t"), defaults)


def named_variables(
    coordinates: Sequence[str],
    speeds: Sequence[str],
    inputs: Mapping[str, SX],
    parameters: Mapping[str, SX],
    t: SX,
    defaults: tuple[float, ...],
) -> Variables:
    """New coordinates and speeds, with inputs, parameters and time that there are."""
    return Variables(
        q=column_of(coordinates),
        u=column_of(speeds),
        udot=column_of([f"{name}'" for name in speeds]),
        w=ca.vertcat(SX(0, 1), *inputs.values()),
        p=ca.vertcat(SX(0, 1), *parameters.values()),
        t=t,
        coordinates=tuple(coordinates),
        speeds=tuple(speeds),
        inputs=tuple(inputs),
        parameters=tuple(parameters),
        defaults=defaults,
    )


def column_of(names: Sequence[str]) -> SX:
    """A column of symbols of these names."""
    return ca.vertcat(SX(0, 1), *map(symbol, names))
