"""Kinetic and potential energy of everything that moves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import casadi as ca
from casadi import SX

from ..errors import blamed
from ..model.bodies import Body, Marker
from ..vectors import scalar
from .chart import Chart
from .rotors import rotor_energy


@dataclass(frozen=True)
class Energies:
    """Functions that derive T, V, and the powers that change T + V."""

    kinetic: Callable[[], SX]
    potential: Callable[[], SX]
    supplied: Callable[[], SX]
    dissipated: Callable[[], SX]


def kinetic(chart: Chart) -> SX:
    """T = Σ ½ m v_C² + ½ ω·I ω, and that of rotors."""
    total = rotor_energy(chart)
    for frame, body in chart.carried:
        omega, v = chart.twist(frame)
        v_C = v + ca.cross(omega, body.com)
        total += (body.mass * ca.dot(v_C, v_C) + ca.dot(omega, body.inertia @ omega)) / 2
    return total


def kinetic_of(chart: Chart, body: Body) -> SX:
    """T of one body."""
    m = chart.motion
    v_C = m.velocity(Marker(body.name, body, body.com, SX.eye(3)))
    omega = m.angular_velocity(body, in_frame=body)
    return (body.mass * ca.dot(v_C, v_C) + ca.dot(omega, body.inertia @ omega)) / 2


def potential_of(chart: Chart, body: Body) -> SX:
    """Π = −m g · r_C of one body."""
    centre = chart.motion.position(Marker(body.name, body, body.com, SX.eye(3)))
    return -body.mass * ca.dot(chart.description.gravity, centre)


def potential(chart: Chart) -> SX:
    """Potential energy of the forces and of gravity, Π = −g · Σ m r_C."""
    total = gravity_potential(chart)
    for element in chart.description.elements:
        with blamed(element.called):
            total = total + scalar(element.potential(chart.motion), "potential")
    return total


def gravity_potential(chart: Chart) -> SX:
    """Π = −g · Σ m r_C."""
    g, out = chart.description.gravity, SX(0)
    for frame, body in chart.carried:
        R, p = chart.pose(frame)
        out = out - ca.dot(g, body.mass * p + R @ body.first_moment)
    return out
