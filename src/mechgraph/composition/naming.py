"""Names in a composition: prefixes of parts, what clashes, and parameters that are shared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..arguments import is_name, listed, number
from ..errors import ArgumentError, ModelError, shown, unknown
from ..model.system import System
from ..motion.variables import Variables, variables
from .part import Part


def read_parts(parts: Any) -> list[tuple[str, str, Part]]:
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


def read_names(what: str, given: Any) -> tuple[str, ...]:
    """The names of extra variables, listed or as keys."""
    names = tuple(listed(what, given, ModelError))
    for name in names:
        if not is_name(name):
            raise ModelError(f"{what}: expected names, got {shown(name)}")
    return names


def whole_variables(
    coordinates: Sequence[str],
    speeds: Sequence[str],
    parts: Sequence[tuple[str, str, Part]],
    inputs: Sequence[str],
    parameters: Mapping[str, float],
) -> Variables:
    """Extra variables, then those of each part with its prefix; every name stands for one thing,
    but parameters of one name are one."""
    constants = dict(parameters)
    owners = dict.fromkeys((*coordinates, *speeds, *inputs, *constants), "the whole")
    groups = [*coordinates], [*speeds], list[str]()
    for key, prefix, part in parts:
        s = part.terms.symbols
        commands = [each for each in s.inputs if each not in part.inputs]
        for group, names in zip(groups, (s.coordinates, s.speeds, commands), strict=True):
            for name in (f"{prefix}{each}" for each in names):
                if name in owners:
                    raise ModelError(
                        f"{name!r} is a name in {owners[name]} and in part {key!r}; list parts by "
                        "name, {'left': …, 'right': …}, or give mg.Part(…, prefix=…)"
                    )
                owners[name] = f"part {key!r}"
                group.append(name)
        _add_parameters(constants, owners, key, prefix, part)
    return variables(groups[0], groups[1], [*groups[2], *inputs], constants)


def _add_parameters(
    constants: dict[str, float], owners: dict[str, str], key: str, prefix: str, part: Part
) -> None:
    """Parameters of a part among those of the whole; of the same name they are the same."""
    s = part.terms.symbols
    for kind, given, known in (
        ("parameter", part.parameters, s.parameters),
        ("input", part.inputs, s.inputs),
    ):
        for name in given:
            if name not in known:
                raise ModelError(f"part {key!r}: {unknown(kind, name, known)}")
    for name, default in zip(s.parameters, s.defaults, strict=True):
        value, full = part.parameters.get(name, default), part.parameter_name(prefix, name)
        if callable(value):
            continue
        figure = default if isinstance(value, str) else number(f"parameter {full!r}", value)
        if full in owners and full not in constants:
            raise ModelError(
                f"{full!r} is a parameter of part {key!r} and a name in {owners[full]}"
            )
        owner = owners.setdefault(full, f"part {key!r}")
        if constants.setdefault(full, figure) != figure and not isinstance(value, str):
            raise ModelError(
                f"parameter {full!r} is {constants[full]:g} in {owner} and {figure:g} in part "
                f"{key!r}; give it once, with mg.Part(…, parameters={{{name!r}: {full!r}}})"
            )
