"""Names in a composition: prefixes of parts, what clashes, and parameters that are shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from casadi import SX

from ..arguments import is_name, listed, number
from ..errors import ArgumentError, ModelError, shown, unknown
from ..model.system import System
from ..motion.variables import Variables, variables
from .part import Part


def listed_parts(parts: Any) -> list[tuple[str, str, Part]]:
    """(key, prefix, part) of each."""
    if isinstance(parts, Mapping):
        given = [(str(key), f"{key}.", each) for key, each in parts.items()]
    elif isinstance(parts, Sequence) and not isinstance(parts, str):
        given = [("", "", each) for each in parts]
    else:
        raise ArgumentError(
            f"parts must be a mapping of names to equations, or a list of these, got {parts!r}"
        )
    out, derived = [], dict[int, Any]()
    for key, prefix, each in given:
        part = each if isinstance(each, Part) else Part(each)
        if isinstance(part.equations, System):  # one and the same is derived once
            system = part.equations
            made = derived.setdefault(id(system), None) or system.equations()
            derived[id(system)], part = made, replace(part, equations=made)
        prefix = prefix if part.prefix is None else part.prefix
        if not isinstance(prefix, str):
            raise ModelError(f"part {key!r}: its prefix must be a text, got {shown(prefix)}")
        out.append((key or prefix.rstrip(".") or part.terms.name, prefix, part))
    return out


def names_of(what: str, given: Any) -> tuple[str, ...]:
    """The names of extra variables, listed or as keys."""
    names = tuple(listed(what, given, ModelError))
    for name in names:
        if not is_name(name):
            raise ModelError(f"{what}: expected names, got {shown(name)}")
    return names


def parameter_name(part: Part, prefix: str, name: str) -> str:
    """What the whole calls a parameter of a part."""
    given = part.parameters.get(name)
    return given if isinstance(given, str) else f"{prefix}{name}"


def part_parameter(part: Part, prefix: str, name: str, whole: Variables) -> SX:
    """What stands for a parameter of a part in the whole."""
    given = part.parameters.get(name)
    return SX(given(whole)) if callable(given) else whole[parameter_name(part, prefix, name)]


def part_input(part: Part, prefix: str, name: str, whole: Variables) -> SX:
    """What stands for an input of a part in the whole."""
    given = part.inputs.get(name)
    return whole[f"{prefix}{name}"] if given is None else SX(given(whole))


def whole_variables(
    extra: tuple[tuple[str, ...], tuple[str, ...]],
    listed: Sequence[tuple[str, str, Part]],
    inputs: Sequence[str],
    parameters: Mapping[str, float] | None,
) -> Variables:
    """Extra variables, then those of each part with its prefix; every name stands for one thing,
    but parameters of one name are one."""
    owners: dict[str, str] = {}
    coordinates, speeds = list(extra[0]), list(extra[1])
    commands: list[str] = []
    constants: dict[str, float] = dict(parameters or {})
    own = dict.fromkeys(constants, "the whole")
    for name in (*extra[0], *extra[1], *inputs, *constants):
        owners[name] = "the whole"
    for key, prefix, part in listed:
        s = part.terms.symbols
        for group, names in (
            (coordinates, s.coordinates),
            (speeds, s.speeds),
            (commands, [each for each in s.inputs if each not in part.inputs]),
        ):
            for name in (f"{prefix}{each}" for each in names):
                if name in owners:
                    raise ModelError(
                        f"{name!r} is a name in {owners[name]} and in part {key!r}; list parts by "
                        "name, {'left': …, 'right': …}, or give mg.Part(…, prefix=…)"
                    )
                owners[name] = f"part {key!r}"
                group.append(name)
        _add_parameters(constants, own, owners, key, prefix, part)
    return variables(coordinates, speeds, [*commands, *inputs], constants)


def _add_parameters(
    constants: dict[str, float],
    own: dict[str, str],
    owners: dict[str, str],
    key: str,
    prefix: str,
    part: Part,
) -> None:
    """Parameters of a part among those of the whole; of the same name they are the same."""
    s = part.terms.symbols
    for given in part.parameters:
        if given not in s.parameters:
            raise ModelError(f"part {key!r}: {unknown('parameter', given, s.parameters)}")
    for given in part.inputs:
        if given not in s.inputs:
            raise ModelError(f"part {key!r}: {unknown('input', given, s.inputs)}")
    for name, default in zip(s.parameters, s.defaults, strict=True):
        value, full = part.parameters.get(name, default), parameter_name(part, prefix, name)
        if callable(value):
            continue
        figure = default if isinstance(value, str) else number(f"parameter {full!r}", value)
        if full in owners and full not in own:
            raise ModelError(
                f"{full!r} is a parameter of part {key!r} and a name in {owners[full]}"
            )
        if full in constants and constants[full] != figure and not isinstance(value, str):
            raise ModelError(
                f"parameter {full!r} is {constants[full]:g} in {own[full]} and {figure:g} in part "
                f"{key!r}; give it once, with mg.Part(…, parameters={{{name!r}: {full!r}}})"
            )
        constants.setdefault(full, figure)
        own.setdefault(full, f"part {key!r}")
        owners.setdefault(full, f"part {key!r}")
