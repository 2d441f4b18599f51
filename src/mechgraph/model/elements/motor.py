"""Electric motors with current.

A current is a speed: that of the charge that has passed. Its inertia is the inductance, T = ½ L i²,
as an armature is that of a coordinate; so a motor brings along a frame without mass, whose joint
has the charge as its coordinate.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from casadi import SX

from ..declarations import coordinate, not_negative, number, positive
from ..element import Action, Effort
from ..forces import Force
from ..motion import Motion


class DCMotor(Force):
    """A motor with a current i on a ``joint`` with the speed ω: L di/dt = voltage − R i − K ω, and
    the effort K i.

    The charge is the coordinate ``name.charge``, the current its speed ``name.charge'``.

    joint: the joint, or one of its coordinates.
    voltage: a number, an expression, or an input.
    constant: K in N m/A, which is K in V s; with a gear, times its ratio.
    resistance, inductance: R and L.
    """

    joint: str = coordinate()
    voltage: SX = number()
    constant: SX = number()
    resistance: SX = not_negative()
    inductance: SX = positive(
        hint="; where it does not matter, use torque with K (voltage − K ω)/R"
    )

    @property
    def charge(self) -> str:
        """The name of its coordinate."""
        return f"{self.name}.charge"

    def joints(self) -> Sequence[str]:
        return (self.joint, self.charge)

    def own_coordinates(self) -> Mapping[str, str]:
        return {self.charge: f"{self.name} coil"}

    def rotors(self) -> Sequence[tuple[str, SX]]:
        return ((self.charge, self.inductance),)

    def nonconservative(self, m: Motion) -> list[Action]:
        speed, current = m.speed(self.joint), m.speed(self.charge)
        drop = self.resistance * current + self.constant * speed
        return [
            Effort(self.joint, self.constant * current),
            Effort(self.charge, self.voltage - drop),
        ]
