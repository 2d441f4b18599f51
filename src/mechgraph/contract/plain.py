"""The chart of equations that were written down without bodies: names, q̇ = N u + n, a manifold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import casadi as ca
import numpy as np
from casadi import SX

from ..errors import ModelError, UnsupportedError, unknown
from ..model.bodies import Body
from ..model.described import Record
from ..model.description import Description
from ..motion.chart import Chart, Frame, Pose
from ..motion.variables import Variables
from ..vectors import quaternion_rates


class PlainChart(Chart):
    """Coordinates and speeds with names of their own, and no bodies."""

    has_bodies = False

    def __init__(
        self,
        name: str,
        symbols: Variables,
        N: SX,
        n: SX | None,
        reference: Sequence[float] | None,
        quaternions: Sequence[Sequence[str]],
        sizes: Mapping[str, float] | None = None,
    ) -> None:
        """``sizes`` of coordinates, variations and speeds, by name, where they are known."""
        self.sizes = dict(sizes or {})
        self.description = _empty(name, symbols)
        self.symbols, self.N, self.n = symbols, N, n
        self._fours = tuple(_indices(symbols, four) for four in quaternions)
        self.reference = self._read_reference(reference)
        self.joint_coordinates = {name: (k,) for k, name in enumerate(symbols.coordinates)}
        self.joint_speeds = {name: (k,) for k, name in enumerate(symbols.speeds)}

    def _read_reference(self, given: Sequence[float] | None) -> tuple[float, ...]:
        count = len(self.symbols.coordinates)
        reference = np.zeros(count)
        reference[[four[0] for four in self._fours]] = 1.0
        if given is None:
            return tuple(reference)
        if len(given) != count or not np.isfinite(np.array(given, dtype=float)).all():
            raise ModelError(f"reference must be {count} finite numbers, got {given!r}")
        return tuple(float(value) for value in given)

    def spans(self, names: Sequence[str]) -> np.ndarray:
        return np.array([self.sizes.get(name, 1.0) for name in names])

    @property
    def quaternions(self) -> tuple[tuple[int, ...], ...]:
        return self._fours

    def pose(self, frame: Frame) -> Pose:
        raise UnsupportedError(
            f"{self.description.name!r} was written down without a System, so it has no bodies"
        )

    @property
    def turning(self) -> list[int]:
        return list(range(len(self.symbols.speeds)))

    @property
    def tangent(self) -> SX:
        """The identity, but for quaternions, which have three directions."""
        count = len(self.symbols.coordinates)
        T = SX.eye(count)
        left = [k for k in range(count) if not any(k in four[3:] for four in self._fours)]
        for four in map(list, self._fours):
            T[four, :] = 0
            T[four, four[:3]] = quaternion_rates(self.symbols.q[four])
        return ca.sparsify(T[:, left])

    @property
    def variations(self) -> tuple[str, ...]:
        names = list(self.symbols.coordinates)
        for four in self._fours:
            stem = names[four[0]].removesuffix("q0")
            for k, letter in zip(four[:3], "xyz", strict=True):
                names[k] = f"{stem}r{letter}"
        dropped = {four[3] for four in self._fours}
        return tuple(name for k, name in enumerate(names) if k not in dropped)


def _indices(symbols: Variables, four: Sequence[str]) -> tuple[int, ...]:
    known = symbols.coordinates
    for name in four:
        if name not in known:
            raise ModelError(f"quaternions: {unknown('coordinate', name, known)}")
    if len(four) != 4:
        raise ModelError(f"a quaternion has four coordinates, got {', '.join(four)}")
    return tuple(known.index(name) for name in four)


def _empty(name: str, symbols: Variables) -> Description:
    """A description of nothing but parameters and inputs."""
    none: Record[str, Any] = Record({})
    return Description(
        name=name,
        gravity=SX.zeros(3),
        time=symbols.t,
        ground=Body("ground"),
        bodies=none,
        markers=none,
        joints=none,
        forces=none,
        constraints=none,
        parameters=Record({name: symbols[name] for name in symbols.parameters}),
        defaults=Record(dict(zip(symbols.parameters, symbols.defaults, strict=True))),
        inputs=Record({name: symbols[name] for name in symbols.inputs}),
        outputs=none,
    )
