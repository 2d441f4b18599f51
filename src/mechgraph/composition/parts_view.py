"""What constraints, forces and outputs of a composition are written with: its variables, and all
that its parts have names for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

import casadi as ca
from casadi import SX

from ..errors import ModelError, unknown
from ..model.motion import Motion
from ..motion.motion import column
from ..motion.variables import Variables
from ..vectors import angular_velocity, axis, symbol
from ..vectors import column as vector
from .part import PlacedPart


class PartsView:
    """Variables and quantities by name: ``v["x"]``, ``v["left.tip"]``, ``v["left.tip'"]``."""

    def __init__(self, symbols: Variables, parts: Sequence[PlacedPart]) -> None:
        self.symbols, self.parts = symbols, parts
        self.qdot: SX | None = None  # how the coordinates move, once that is known
        self.rates: dict[str, SX] = {}  # of coordinates, where they are no speeds
        self.outputs: dict[str, SX] = {}  # quantities of the whole
        self.multipliers: dict[str, SX] = {}  # constraint forces, by the names of their rows
        self.higher: dict[tuple[str, int], SX] = {}  # u⁽ᵏ⁾ of a speed, k > 1, where asked for

    def multiplier(self, row: str) -> SX:
        """The constraint force of a row, for forces that grow with it, such as friction."""
        if row not in self.multipliers:
            raise ModelError(unknown("constraint", row, self.multipliers))
        return self.multipliers[row]

    def __getitem__(self, name: str) -> SX:
        s = self.symbols
        if name in (*s.coordinates, *s.speeds, *s.inputs, *s.parameters, "t"):
            return s[name]
        if name in self.rates:
            return self.rates[name]
        if name.endswith("'") and name[:-1] in s.speeds:
            return s[name]
        if (rising := self._higher(name)) is not None:
            return rising
        if name in self.outputs:
            return self.outputs[name]
        if name.endswith("'") and name[:-1] in self.outputs:
            return self.rate(self.outputs[name[:-1]])
        for part in sorted(self.parts, key=lambda part: -len(part.prefix)):
            inner = name.removeprefix(part.prefix)
            if name.startswith(part.prefix) and inner in part.derived.names:
                return part.quantity(inner)
        raise ModelError(unknown("name", name, self._known))

    def _higher(self, name: str) -> SX | None:
        """The second or a higher derivative of a speed."""
        plain = name.rstrip("'")
        for k in range(2, len(name) - len(plain) + 1):
            speed = name[:-k]
            if speed in self.symbols.speeds:
                return self.higher.setdefault((speed, k), symbol(name))
        return None

    @property
    def _known(self) -> list[str]:
        s = self.symbols
        own = [*s.coordinates, *s.speeds, *s.inputs, *s.parameters]
        parts = (part.outer_names(part.derived.names.known) for part in self.parts)
        return list(dict.fromkeys([*own, *self.outputs, *chain(*parts)]))

    def rate(self, value: Any) -> SX:
        """The time derivative of an expression of coordinates and time."""
        s, value = self.symbols, SX(value)
        if ca.depends_on(value, ca.vertcat(s.u, s.udot, s.w)):
            raise ModelError("a rate is taken of coordinates and time only")
        if self.qdot is None:
            raise ModelError("rates of coordinates cannot be made of rates of others")
        entries = ca.vec(ca.densify(value))
        rate = ca.jtimes(entries, s.q, self.qdot) + ca.jtimes(entries, s.t, SX(1))
        return ca.reshape(rate, *value.shape)

    def angular_velocity(self, R: SX) -> SX:
        """ω in the axes of the turned frame, of a rotation matrix of coordinates: Rᵀ Ṙ = ω̃."""
        return angular_velocity(R, self.rate(R))

    def rotation(self, body: str) -> SX:
        """R of a rigid body among the parts: its components to the world's."""
        return ca.reshape(self[f"{body}.rotation"], 3, 3)

    def axis(self, body: str, letter: str) -> SX:
        """A direction fixed in it, ``"x"``, ``"y"`` or ``"z"``, in the world's components."""
        return self.rotation(body) @ axis(letter)

    def point(self, body: str, at: Sequence[Any]) -> SX:
        """A point fixed in it, given from its mass centre in its axes, in the world."""
        return self[f"{body}.place"] + self.rotation(body) @ vector(at, 3, f"point of {body}")

    def of(self, part: str, quantity: Callable[[Motion], Any]) -> SX:
        """A quantity of the motion of a part that came from a ``System``, such as
        ``v.of("left", lambda m: m.axis("wheel", "y"))``."""
        found = {each.key: each for each in self.parts}
        if part not in found:
            raise ModelError(unknown("part", part, found))
        return found[part].put_in(column(quantity(found[part].terms.chart.motion)))[0]

    def __repr__(self) -> str:
        return f"<names: {', '.join(self._known[:20])}>"
