"""Limits of joints: stops at the ends of a coordinate, rigid or compliant."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import casadi as ca
from casadi import SX

from ..errors import ModelError
from ..vectors import scalar, symbol
from .constraints import Coupling, Level
from .contact.switched import PointRows, PointState, Switched
from .described import Described
from .element import Action, Effort
from .fields import ByName, Number
from .forces import Force
from .joints import Rows
from .parameter_checks import Fraction, Limit

if TYPE_CHECKING:
    from ..motion.motion import Motion

ENDS = {"low": 1, "high": -1}  # and the direction in which a stop pushes


class Limits(Described):
    """Stops of a joint's coordinate x at ``low`` and ``high``; None for no stop on that side.

    They are rigid, with Newton's ``restitution`` from 0 to 1 (below the speed ``rebound_threshold``
    nothing rebounds); or, with ``stiffness`` k and ``damping`` c, a spring and damper that never
    pulls,

        N = max(0, k δ + c δ̇) where the overlap δ > 0,    δ = low − x or x − high.
    """

    def __init__(
        self,
        low: Number | None = None,
        high: Number | None = None,
        restitution: Number = 0.0,
        stiffness: Number | None = None,
        damping: Number = 0.0,
        rebound_threshold: Number = 1e-5,
    ) -> None:
        ends = {"low": low, "high": high}
        self.ends = {end: scalar(x, end) for end, x in ends.items() if x is not None}
        if not self.ends:
            raise ModelError("limits have no stop: give low=, high= or both")
        self.restitution, self.rebound_threshold = (
            scalar(restitution, "restitution"),
            scalar(rebound_threshold, "rebound_threshold"),
        )
        self.stiffness = None if stiffness is None else scalar(stiffness, "stiffness")
        self.damping = scalar(damping, "damping")
        if self.stiffness is None and not self.damping.is_zero():
            raise ModelError("damping belongs to compliant limits: give stiffness=, too")
        if self.stiffness is not None and not self.restitution.is_zero():
            raise ModelError(
                "restitution belongs to rigid limits: leave stiffness= out, or give damping= "
                "instead of restitution"
            )
        self.limits: list[Limit] = [
            Fraction("restitution of limits", self.restitution),
            Limit("rebound_threshold of limits", self.rebound_threshold, positive=False),
            Limit("damping of limits", self.damping, positive=False),
        ]
        if self.stiffness is not None:
            hint = "; leave it out for rigid ones"
            self.limits.append(Limit("stiffness of limits", self.stiffness, hint=hint))
        if len(self.ends) == 2:
            self.limits.append(_Ordered("limits", self.ends["high"] - self.ends["low"]))

    @staticmethod
    def of(value: Any) -> Limits:
        """Limits as they are; a pair (low, high) is two rigid stops."""
        if isinstance(value, Limits):
            return value
        if isinstance(value, (list, tuple)) and len(value) == 2:
            return Limits(*value)
        raise ModelError(
            f"limits are a pair (low, high), or mg.Limits(low, high, …), got {value!r}"
        )


class _Ordered(Limit):
    """The upper end is above the lower one."""

    def problem(self, value: float) -> str:
        return f"{self.what} are upside down: high − low is {value:g}; give (low, high)"


class RigidStop(Switched):
    """Rigid limits of a coordinate: contacts without friction, whose gaps are x − low, high − x.

    Each end has a parameter ``name low.touching``, ``name high.touching`` (0 or 1), which
    ``simulate`` sets as the motion goes; its multiplier is the effort of the stop.
    """

    word = "limits"
    joint_option = "limits"
    overlap = (
        "beyond their limits at the start: {}; change the start, or let them give way: "
        "mg.Limits(low, high, stiffness=…)"
    )

    def __init__(self, name: str, coordinate: str, law: Limits) -> None:
        self.name, self.coordinate, self.law, self.limits = name, coordinate, law, law.limits
        self.restitution, self.rebound_threshold = law.restitution, law.rebound_threshold
        self.switches = {end: symbol(self._switch(end)) for end in law.ends}

    def _switch(self, end: str) -> str:
        return f"{self.name} {end}.touching"

    def joints(self) -> Sequence[str]:
        return (self.coordinate,)

    def parameters(self) -> dict[str, SX]:
        return {self._switch(end): switch for end, switch in self.switches.items()}

    def coordinate_ends(self) -> tuple[str, Mapping[str, SX]] | None:
        return self.coordinate, self.law.ends

    def joint_properties(self) -> tuple[str, Mapping[str, Any]] | None:
        return self.coordinate, {"limits": [self.law.ends.get(end) for end in ENDS]}

    def _gap(self, m: Motion, end: str) -> SX:
        return ENDS[end] * (m.coordinate(self.coordinate) - self.law.ends[end])

    def position(self, m: Motion) -> Rows:
        return [(end, switch * self._gap(m, end)) for end, switch in self.switches.items()]

    def point_switches(self) -> list[tuple[str, dict[str, str], list[str]]]:
        return [
            (f"{self.name} {end}", {"touching": self._switch(end)}, []) for end in self.law.ends
        ]

    def point_rows(self, m: Motion, rows: dict[Level, list[int]]) -> list[PointRows]:
        return [PointRows(row) for row in rows["position"]]

    def point_states(self, m: Motion) -> list[PointState]:
        return [PointState(self._gap(m, end), SX(1), ()) for end in self.law.ends]


class _Cushion(Force):
    """A spring and damper beyond the ends of x = Σ c q: N = max(0, k δ + c δ̇) where the overlap
    δ > 0, δ = low − x or x − high."""

    passive = True
    ends: Mapping[str, SX]
    stiffness: SX
    damping: SX
    coefficients: Mapping[str, SX]

    def joints(self) -> Sequence[str]:
        return tuple(self.coefficients)

    def _beyond(self, m: Motion, end: str) -> SX:
        """How far x is beyond an end: δ where it is positive."""
        x = sum((c * m.coordinate(key) for key, c in self.coefficients.items()), -self.ends[end])
        return -ENDS[end] * x

    def _overlap(self, m: Motion, end: str) -> SX:
        return ca.fmax(0, self._beyond(m, end))

    def _efforts(self, push: SX) -> list[Action]:
        return [Effort(key, c * push) for key, c in self.coefficients.items()]

    def potential(self, m: Motion) -> SX:
        return sum((self.stiffness * self._overlap(m, end) ** 2 / 2 for end in self.ends), SX(0))

    def conservative(self, m: Motion) -> list[Action]:
        pushes = (ENDS[end] * self.stiffness * self._overlap(m, end) for end in self.ends)
        return self._efforts(sum(pushes, SX(0)))

    def nonconservative(self, m: Motion) -> list[Action]:
        if self.damping.is_zero():
            return []
        return self._efforts(sum((self._damped(m, end) for end in self.ends), SX(0)))

    def _damped(self, m: Motion, end: str) -> SX:
        """What damping adds to the spring: c δ̇, but never so much that the stop would pull. (δ may
        be negative in what is compared: so nothing has a kink while the stop is far away.)"""
        speed = sum((c * m.speed(key) for key, c in self.coefficients.items()), SX(0))
        beyond = self._beyond(m, end)
        added = ca.fmax(-ENDS[end] * self.damping * speed, -self.stiffness * beyond)
        return ENDS[end] * ca.if_else(beyond > 0, added, 0)


class CompliantStop(_Cushion):
    """Compliant limits of a coordinate."""

    word = "limits"
    joint_option = "limits"

    def __init__(self, name: str, coordinate: str, law: Limits) -> None:
        assert law.stiffness is not None
        self.name, self.coordinate, self.law, self.limits = name, coordinate, law, law.limits
        self.ends, self.stiffness, self.damping = law.ends, law.stiffness, law.damping
        self.coefficients = {coordinate: SX(1)}

    def coordinate_ends(self) -> tuple[str, Mapping[str, SX]] | None:
        return self.coordinate, self.ends


class Backlash(_Cushion):
    """A gear, coupling or spring with play: nothing acts while x = Σ c q is within ``play``/2 of
    ``constant``; beyond, a spring and damper that never pulls.

    ``coefficients`` c by coordinate, as of a coupling; ``stiffness`` and ``damping`` along x.

    coefficients: by the names of the coordinates, {"j1": 1.0, "j2": -2.5}.
    """

    def __init__(
        self,
        name: str,
        coefficients: ByName,
        play: Number,
        stiffness: Number,
        damping: Number = 0,
        constant: Number = 0,
    ) -> None:
        self.name = name
        self.coefficients = Coupling(name, coefficients, constant).coefficients
        self.play, self.constant = scalar(play, "play"), scalar(constant, "constant")
        self.stiffness, self.damping = scalar(stiffness, "stiffness"), scalar(damping, "damping")
        self.ends = {end: self.constant - side * self.play / 2 for end, side in ENDS.items()}
        self.limits = [
            Limit("play", self.play, positive=False),
            Limit("stiffness", self.stiffness, hint="; for rigid teeth without play use coupling"),
            Limit("damping", self.damping, positive=False),
        ]
