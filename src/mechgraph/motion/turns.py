"""Whole turns. An angle that is measured between two bodies (of a cut joint, of every joint in
absolute coordinates) is known only up to whole turns. Where a force or a constraint takes its
value, as a torsion spring or a gear does, one more coordinate θ goes along with it, θ̇ = φ̇, and
says which turn it is in:

    angle = φ + 2π round((θ − φ) / 2π).

θ decides nothing else: no speed, no inertia and no constraint is added for it. A servo needs none:
its angle is near the given one.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import casadi as ca
from casadi import SX

from ..model.constraints import LEVELS, Constraint
from ..model.description import Description
from ..vectors import symbol
from .kinematics import Kinematics, derive_kinematics
from .motion import Motion
from .topology import Topology


def counting_kinematics(system: Description, topology: Topology) -> Kinematics:
    """Kinematics with the coordinates that count the turns of the angles that forces and
    constraints ask for."""
    kinematics = derive_kinematics(system, topology)
    asked = angles_asked_for(kinematics)
    if not asked:
        return kinematics
    s, first = kinematics.symbols, kinematics.symbols.q.numel()
    counted = {name: first + k for k, name in enumerate(asked)}
    rates = ca.vertcat(*(rate for _, rate in asked.values()))
    driven = ca.substitute(rates, s.u, SX.zeros(s.u.numel()))
    return replace(
        kinematics,
        symbols=replace(
            s, q=ca.vertcat(s.q, *map(symbol, asked)), coordinates=(*s.coordinates, *asked)
        ),
        N=ca.vertcat(kinematics.N, ca.jacobian(rates, s.u)),
        n=ca.vertcat(SX(first, 1), driven),
        joint_coordinates=kinematics.joint_coordinates
        | {name: (index,) for name, index in counted.items()},
        reference=(*kinematics.reference, *(0.0 for _ in asked)),
        counted=counted,
    )


def angles_asked_for(kinematics: Kinematics) -> dict[str, tuple[SX, SX]]:
    """Measured angles that forces and constraints take the value of, by name, and their rates."""
    system, m = kinematics.system, _Asked(kinematics)
    if not system.constraints and not any(joint.angles for joint in kinematics.topology.cut):
        return {}
    for element in system.elements:
        questions: list[Callable] = [
            element.potential,
            element.conservative,
            element.nonconservative,
        ]
        if isinstance(element, Constraint):
            questions += [partial(element.rows, level=level) for level in LEVELS]
        for question in questions:
            with suppress(Exception):  # what is wrong with an element is told where it is used
                question(m)
    return m.asked


class _Asked(Motion):
    """A motion that remembers which angles it was asked for."""

    def __init__(self, kinematics: Kinematics) -> None:
        super().__init__(kinematics)
        self.asked: dict[str, tuple[SX, SX]] = {}

    def turned(self, name: str, angle: SX, rate: Callable[[], SX], near: Any = None) -> SX:
        whole = super().turned(name, angle, rate, near)
        if near is None and name not in self.asked:
            self.asked[name] = whole, rate()
        return whole
