"""What the user wrote as a start: values of coordinates and speeds, by the names of joints,
coordinates and speeds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ...equations.equations import Equations
from ...errors import ArgumentError, unknown
from ...model.joints import Joint


@dataclass
class Wishes:
    """What ``start`` asks for: values of coordinates, of cut joints' coordinates (measured), and of
    speeds."""

    coordinates: dict[int, float] = field(default_factory=dict)
    measured: dict[str, float] = field(default_factory=dict)
    speeds: dict[int, float] = field(default_factory=dict)
    measured_speeds: dict[str, float] = field(default_factory=dict)


def read_start(equations: Equations, start: Mapping[str, Any], what: str = "start") -> Wishes:
    """Sort the named values; every unknown name and wrong count is reported at once."""
    wishes, problems = Wishes(), []
    for name, value in start.items():
        try:
            _read_one(equations, wishes, str(name), _values(name, value))
        except ArgumentError as error:
            problems.append(f"{what}: {error}")
    if problems:
        raise ArgumentError("\n".join(problems))
    return wishes


def _values(name: str, value: Any) -> np.ndarray:
    try:
        values = np.atleast_1d(np.asarray(value))
        if values.ndim > 1 or values.dtype.kind not in "iuf" or not np.isfinite(values).all():
            raise ValueError
    except ValueError:
        raise ArgumentError(
            f"{name!r} must be one finite number or a list of them, got {value!r}"
        ) from None
    return values.astype(float)


def _read_one(equations: Equations, wishes: Wishes, name: str, values: np.ndarray) -> None:
    k, joint = equations.kinematics, name.removesuffix("'")
    if name in k.joint_coordinates:
        wishes.coordinates.update(_matched(name, k.joint_coordinates[name], values))
        _check_unit(k, name, values)
    elif name in k.joint_speeds:
        wishes.speeds.update(_matched(name, k.joint_speeds[name], values))
    elif joint in k.joint_coordinates and joint in k.joint_speeds:
        wishes.speeds.update(_matched(name, k.joint_speeds[joint], values))
    else:
        _read_cut(equations, wishes, name, values)


def _matched(name: str, indices: tuple[int, ...], values: np.ndarray) -> dict[int, float]:
    if len(values) != len(indices):
        raise ArgumentError(f"{name!r} needs {len(indices)} numbers, got {len(values)}")
    return dict(zip(indices, values, strict=True))


def check_quaternions(equations: Equations, q: np.ndarray) -> None:
    """Refuse quaternions that are not of norm one."""
    for four in map(list, equations.kinematics.quaternions):
        norm = float(np.linalg.norm(q[four]))
        if abs(norm - 1) > 1e-6:
            raise ArgumentError(
                f"start: the quaternion {equations.coordinates[four[0]]!r} … has norm {norm:.6g}, "
                "not 1"
            )


def _check_unit(k: Any, name: str, values: np.ndarray) -> None:
    given = dict(zip(k.joint_coordinates[name], values, strict=True))
    for four in k.quaternions:
        norm = float(np.linalg.norm([given[i] for i in four])) if set(four) <= set(given) else 1.0
        if abs(norm - 1) > 1e-6:
            raise ArgumentError(f"{name!r}: the quaternion has norm {norm:.6g}, not 1")


def _read_cut(equations: Equations, wishes: Wishes, name: str, values: np.ndarray) -> None:
    k = equations.kinematics
    for joint in k.topology.cut:
        for names, store in (
            (joint.coordinates, wishes.measured),
            (joint.speeds, wishes.measured_speeds),
        ):
            whole = joint.name if store is wishes.measured else f"{joint.name}'"
            if name == whole or name in names:
                chosen = list(names) if name == whole else [name]
                matched = _matched(name, tuple(range(len(chosen))), values)
                if name == joint.name:
                    matched = _upright(joint, matched)
                for i, value in matched.items():
                    if chosen[i] in k.counted:
                        wishes.coordinates[k.counted[chosen[i]]] = value
                    else:
                        store[chosen[i]] = value
                return
    known = dict.fromkeys(
        [*k.joint_coordinates, *k.joint_speeds, *(j.name for j in k.topology.cut)]
    )
    raise ArgumentError(unknown("coordinate, speed or joint", name, known))


def _upright(joint: Joint, values: dict[int, float]) -> dict[int, float]:
    """Quaternions with a non-negative scalar part, as a cut joint measures them."""
    values, first = dict(values), 0
    for step in joint.transitions:
        count = len(step.coordinates) if step.moves else 0
        if count == 4 and values[first] < 0:
            values |= {i: -values[i] for i in range(first, first + 4)}
        first += count
    return values
