"""Electric motors with current.

A current is a speed: that of the charge that has passed. Its inertia is the inductance, T = ½ L i²,
as an armature is that of a coordinate; so a motor brings along a frame without mass, whose joint
has the charge as its coordinate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from casadi import SX

from ...vectors import scalar
from ..element import Action, Effort
from ..forces import Force
from ..joints import Joint
from ..limits import Limit

if TYPE_CHECKING:
    from ...motion.motion import Motion


class DCMotor(Force):
    """A motor with a current i on a ``joint`` with the speed ω: L di/dt = voltage − R i − K ω, and
    the effort K i.

    L is its ``inductance``, R its ``resistance``, K its ``constant``, times the ratio of a gear.
    The charge is the coordinate ``name.charge``, the current its speed ``name.charge'``.
    """

    def __init__(
        self,
        name: str,
        joint: str | Joint,
        voltage: Any,
        constant: Any,
        resistance: Any,
        inductance: Any,
    ) -> None:
        self.name, self.joint = name, str(getattr(joint, "name", joint))
        self.voltage, self.constant = scalar(voltage, "voltage"), scalar(constant, "constant")
        self.resistance = scalar(resistance, "resistance")
        self.inductance = scalar(inductance, "inductance")
        hint = "; where it does not matter, use torque with K (voltage − K ω)/R"
        self.limits = [
            Limit("resistance", self.resistance, positive=False),
            Limit("inductance", self.inductance, hint=hint),
        ]

    @property
    def charge(self) -> str:
        """The name of its coordinate."""
        return f"{self.name}.charge"

    def joints(self) -> Sequence[str]:
        return (self.joint, self.charge)

    def rotors(self) -> Sequence[tuple[str, SX]]:
        return ((self.charge, self.inductance),)

    def nonconservative(self, m: Motion) -> list[Action]:
        speed, current = m.speed(self.joint), m.speed(self.charge)
        drop = self.resistance * current + self.constant * speed
        return [
            Effort(self.joint, self.constant * current),
            Effort(self.charge, self.voltage - drop),
        ]
