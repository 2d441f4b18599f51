"""Targets of inverse kinematics as they are given: places, positions, orientations, weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import casadi as ca
import numpy as np
from scipy.spatial.transform import Rotation

from ...arguments import number, numbers
from ...errors import ArgumentError, ModelError, shown
from ...model.motion import Place
from ...motion.motion import checked_place
from ...numerics.tolerances import KNOWN
from ...vectors import orientation

if TYPE_CHECKING:
    from ...equations import Equations

WORDS = ("position", "rotation", "weight")


@dataclass(frozen=True, eq=False)
class Target:
    """Where a place should be: ``position`` (…, 3) and ``rotation`` (…, 3, 3) in the world, one of
    them or both, and how much it counts where not all can be had."""

    place: Place
    position: np.ndarray | None
    rotation: np.ndarray | None
    weight: float

    @property
    def name(self) -> str:
        """What it is called in messages."""
        return self.place if isinstance(self.place, str) else self.place.name

    @property
    def batch(self) -> tuple[int, ...]:
        """Leading axes."""
        shapes = [] if self.position is None else [self.position.shape[:-1]]
        shapes += [] if self.rotation is None else [self.rotation.shape[:-2]]
        return broadcast(f"target {self.name!r}", *shapes)


def read_targets(equations: Equations, given: Any) -> list[Target]:
    """The targets of a call; every place is one of the system's."""
    if not isinstance(given, Mapping) or not given:
        raise ArgumentError(
            "targets must be a mapping of places to positions such as {'hand': (0.3, 0, 0.5)}, or "
            f"to {{'position': …, 'rotation': …, 'weight': …}}, got {shown(given)}"
        )
    return [_target(equations, place, value) for place, value in given.items()]


def _target(equations: Equations, place: Any, value: Any) -> Target:
    try:
        equations.terms.chart.motion.spot(checked_place(place))
    except ModelError as error:
        raise ArgumentError(f"targets: {error}") from None
    name = place if isinstance(place, str) else place.name
    said = value if isinstance(value, Mapping) else {"position": value}
    strange = any(word not in WORDS for word in said)
    if strange or (said.get("position") is None and said.get("rotation") is None):
        raise ArgumentError(
            f"target {name!r}: expected position, rotation (or both) and weight, got "
            f"{', '.join(map(shown, said)) or 'nothing'}"
        )
    position, turned = said.get("position"), said.get("rotation")
    if position is not None:
        position = numbers(f"target {name!r}: position", ("x", "y", "z"), position)
    weight = number(f"target {name!r}: weight", said.get("weight", 1.0), positive=True)
    return Target(place, position, None if turned is None else _rotation(name, turned), weight)


def _rotation(name: str, value: Any) -> np.ndarray:
    """Rotation matrices: of a SciPy ``Rotation``, of arrays (…, 3, 3) or quaternions (…, 4), or as
    ``orientation=`` takes one."""
    if isinstance(value, Rotation):
        return np.asarray(value.as_matrix())
    try:
        array = np.asarray(value, dtype=float)
    except Exception:  # whatever it is by mistake; what reads orientations says so
        array = np.zeros(())
    if array.ndim > 1 and array.shape[-1:] == (4,):
        return np.asarray(_quaternions(name, array))
    if array.ndim > 2 and array.shape[-2:] == (3, 3):
        wrong = np.abs(array @ np.swapaxes(array, -1, -2) - np.eye(3)).max(initial=0.0) > KNOWN
        if wrong or not (np.linalg.det(array) > 0).all():
            raise ArgumentError(f"target {name!r}: rotation: some matrices are no rotations")
        return array
    try:
        found = orientation(value, "rotation")
        return np.array(ca.DM(found))
    except ModelError as error:
        raise ArgumentError(f"target {name!r}: {error}") from None
    except RuntimeError:  # CasADi's, of symbols
        raise ArgumentError(f"target {name!r}: rotation must be numbers") from None


def _quaternions(name: str, array: np.ndarray) -> np.ndarray:
    norms = np.linalg.norm(array, axis=-1)
    if not np.allclose(norms, 1.0, atol=KNOWN):
        raise ArgumentError(f"target {name!r}: rotation: some quaternions are not of norm one")
    flat = np.roll(array.reshape(-1, 4), -1, axis=-1)  # SciPy has the scalar last
    return np.asarray(Rotation.from_quat(flat).as_matrix().reshape(*array.shape[:-1], 3, 3))


def broadcast(what: str, *shapes: tuple[int, ...]) -> tuple[int, ...]:
    """Leading axes that all others fit."""
    try:
        return np.broadcast_shapes(*shapes)
    except ValueError:
        listed = " and ".join(map(str, shapes))
        raise ArgumentError(f"{what}: leading axes {listed} do not fit together") from None
