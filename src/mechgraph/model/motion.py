"""``Motion``: what forces, constraints and outputs ask of the motion, whoever answers: a chart
(``motion/motion.py``), a subsystem that sees it from inside (``subsystem_view.py``), a recorder of
the questions (``formats/spelling.py``)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING, Any

from casadi import SX

from ..errors import ModelError
from ..vectors import axis
from .bodies import Body, Marker

if TYPE_CHECKING:
    from .joints import Joint

Place = Body | Marker | str


class Motion(ABC):
    """Position, velocity, acceleration, rotation of bodies and markers; coordinates and speeds of
    joints; time.

    Vectors are world components unless ``in_frame`` is given.
    """

    time: SX

    # --- bodies and markers -----------------------------------------------------------------------

    @abstractmethod
    def position(self, place: Place, in_frame: Place | None = None) -> SX:
        """Position of the origin of a marker or body; with ``in_frame``, as seen from that
        frame."""

    @abstractmethod
    def rotation(self, place: Place, in_frame: Place | None = None) -> SX:
        """The matrix that turns components in the marker or body into world (or ``in_frame``)
        components."""

    def axis(self, place: Place, direction: Any, in_frame: Place | None = None) -> SX:
        """A direction fixed in the marker or body (``"x"``, ``"-y"``, three numbers)."""
        return self.rotation(place, in_frame) @ axis(direction)

    @abstractmethod
    def angular_velocity(self, place: Place, in_frame: Place | None = None) -> SX:
        """Angular velocity; ``in_frame`` turns the components only."""

    @abstractmethod
    def velocity(self, place: Place, in_frame: Place | None = None) -> SX:
        """Velocity of the origin; ``in_frame`` turns the components only."""

    @abstractmethod
    def acceleration(self, place: Place, in_frame: Place | None = None) -> SX:
        """Acceleration of the origin; ``in_frame`` turns the components only."""

    @abstractmethod
    def angular_acceleration(self, place: Place, in_frame: Place | None = None) -> SX:
        """Angular acceleration; ``in_frame`` turns the components only."""

    def relative(self, a: Place, b: Place) -> tuple[SX, SX]:
        """Pose of b in a: rotation, and position in a's axes."""
        return self.rotation(b, in_frame=a), self.position(b, in_frame=a)

    # --- joints -----------------------------------------------------------------------------------

    @abstractmethod
    def coordinate(self, name: str, near: Any = None) -> SX:
        """Coordinate(s) of a joint, by the joint's or the coordinate's name; measured, if the joint
        is cut.

        Angles that are measured come with all their turns if a force or constraint asks for them,
        else within half a turn of zero; with ``near``, within half a turn of that, which spares
        counting.
        """

    @abstractmethod
    def speed(self, name: str) -> SX:
        """Speed(s) of a joint, by the joint's, coordinate's or speed's name; measured, if the joint
        is cut."""

    def turned(self, name: str, angle: SX, rate: Callable[[], SX], near: Any = None) -> SX:
        """An angle that is measured up to whole turns only, in the turn that it is in, or near a
        value."""
        raise ModelError("the turns of an angle are not known here")

    def across(self, joint: Joint) -> tuple[SX, SX]:
        """Pose of a cut joint's child frame in its parent frame (in the end of its chain, if it
        carries one)."""
        raise ModelError(f"joint {joint.name!r}: what is between its frames is not known here")

    def chain_end(self, chain: Joint) -> SX:
        """Position of the end of a constraint's chain (see ``Constraint.chains``), as a point of
        the body that it is on."""
        raise ModelError(f"chain {chain.name!r}: its end is not known here")

    def spot(self, place: Place) -> tuple[Hashable, SX]:
        """The frame of the chart that a body or marker rides on, and where its origin is there."""
        raise ModelError("there are no frames of a chart here")
