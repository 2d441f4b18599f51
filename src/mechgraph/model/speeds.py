"""Speeds of the user's own choice (quasi-velocities), which take the place of speeds of joints."""

from __future__ import annotations

from typing import TYPE_CHECKING

from casadi import SX

from ..arguments import is_name
from ..errors import ModelError, blamed, shown
from ..graph.expressions import has_nan
from ..vectors import NO_NUMBER, scalar
from .described import Described
from .fields import MotionFunction

if TYPE_CHECKING:
    from ..motion.motion import Motion


class Speed(Described):
    """A quantity of the motion, linear in the joints' speeds, that is a variable in the place of
    one of them."""

    def __init__(self, name: str, value: MotionFunction, replaces: str | None = None) -> None:
        if not callable(value):
            raise ModelError(
                "it must be a function of the motion, such as "
                f'lambda m: mg.dot(m.velocity(tip), m.axis(blade, "x")), got {shown(value)}'
            )
        if replaces is not None and not is_name(replaces):
            raise ModelError(f"replaces must be the name of a joint's speed, got {shown(replaces)}")
        self.name, self.value, self.replaces = name, value, replaces

    def on(self, m: Motion) -> SX:
        """Its value as an expression of a motion."""
        with blamed(f"speed {self.name!r}"):
            value = scalar(self.value(m), "its value")
            if has_nan(value):
                raise ModelError(NO_NUMBER)
        return value
