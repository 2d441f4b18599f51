"""The words for machine elements: a method for each, as in ``model/words.py``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from ...errors import ModelError, unknown
from ..bodies import Number
from ..contact.friction import Friction
from ..joints import Joint
from ..sentences import sentence
from ..words import Place, Words
from .bushing import Bushing
from .curves import Curve
from .gears import PRESSURE_ANGLE, InvoluteGears, RigidGears
from .guide import Guide
from .rope import Pulley, RigidRope, Rope
from .transmission import Belt, ElasticBelt, ElasticCoupling, RackAndPinion

Node: TypeAlias = Place | Pulley


class ElementWords(Words):
    """The vocabulary of machine elements."""

    @property
    @abstractmethod
    def joints(self) -> Mapping[str, Joint]:
        """All joints by name."""

    def _path(self, path: Any) -> Any:
        """The nodes of a rope, on places of this system."""
        if not isinstance(path, (list, tuple)):
            return path
        return [
            node.on(self._known(node.at)) if isinstance(node, Pulley) else self._place(node)
            for node in path
        ]

    def _joint(self, joint: str | Joint) -> Joint:
        """A joint of this system, itself or by name."""
        name = getattr(joint, "name", joint)
        if not isinstance(name, str) or name not in self.joints:
            raise ModelError(unknown("joint", name, self.joints))
        return self.joints[name]

    # --- ropes ------------------------------------------------------------------------------------

    @sentence("rope")
    def rope(
        self,
        name: str,
        path: Sequence[Node],
        length: Number,
        stiffness: Number,
        damping: Number = 0,
    ) -> Rope:
        """A rope that stretches, and goes slack: it pulls with stiffness (l − length) + damping l̇
        where it is longer than ``length``, and never pushes.

        path: the places and pulleys (``mg.Pulley``) that it passes; a pulley at an end is a drum
            that it is wound on.
        """
        return self.add(Rope(name, self._path(path), length, stiffness, damping))

    @sentence("rigid_rope")
    def rigid_rope(
        self,
        name: str,
        path: Sequence[Node],
        length: Number,
        restitution: Number = 0.0,
        resting: Number = 1e-5,
    ) -> RigidRope:
        """A rope that is never longer than ``length``: it goes slack, and comes taut by impact.

        path: as for ``rope``.
        restitution: Newton's, from 0 to 1.
        resting: speed in m/s below which nothing rebounds.
        """
        return self.add(RigidRope(name, self._path(path), length, restitution, resting))

    # --- belts, chains, racks, gear trains --------------------------------------------------------

    @sentence("belt")
    def belt(
        self,
        name: str,
        first: str | Joint,
        second: str | Joint,
        radii: Sequence[Number],
        crossed: bool = False,
    ) -> Belt:
        """A belt or chain between two joints that neither slips nor stretches.

        radii: r₁ and r₂ of the pulleys on the joints ``first`` and ``second``; r₁ φ₁ = r₂ φ₂.
        crossed: True turns the second one the other way.
        """
        return self.add(Belt(name, first, second, radii, crossed))

    @sentence("elastic_belt")
    def elastic_belt(
        self,
        name: str,
        first: str | Joint,
        second: str | Joint,
        radii: Sequence[Number],
        stiffness: Number,
        damping: Number = 0,
        pretension: Number = 0,
        crossed: bool = False,
    ) -> ElasticBelt:
        """A belt that stretches, each of its two spans by ``stiffness``; a span that would push is
        slack.

        first, second, radii, crossed: as for ``belt``.
        damping: of both spans together, along the belt.
        pretension: tension of both spans where nothing turns them.
        """
        given = radii, stiffness, damping, pretension, crossed
        return self.add(ElasticBelt(name, first, second, *given))

    @sentence("rack_and_pinion")
    def rack_and_pinion(
        self,
        name: str,
        pinion: str | Joint,
        rack: str | Joint,
        radius: Number,
        offset: Number = 0,
    ) -> RackAndPinion:
        """The joint ``rack`` moves by x = radius φ + offset as the joint ``pinion`` turns by φ.

        radius: of the pinion's pitch circle; negative for a rack on its other side.
        """
        return self.add(RackAndPinion(name, pinion, rack, radius, offset))

    @sentence("elastic_coupling")
    def elastic_coupling(
        self,
        name: str,
        coefficients: Mapping[str, Number],
        stiffness: Number,
        damping: Number = 0,
        backlash: Number = 0,
        constant: Number = 0,
    ) -> ElasticCoupling:
        """A coupling Σ c q = constant with a spring and play: gear trains, shafts, racks, chains.

        coefficients: by the names of the coordinates, {"motor": 1.0, "arm": -50.0}.
        stiffness, damping: along Σ c q.
        backlash: how far Σ c q moves freely from one side to the other.
        """
        given = coefficients, stiffness, damping, backlash, constant
        return self.add(ElasticCoupling(name, *given))

    @sentence("involute_gears")
    def involute_gears(
        self,
        name: str,
        pinion: str | Joint,
        wheel: str | Joint,
        teeth: Sequence[int],
        module: float,
        stiffness: Number,
        damping: Number = 0,
        pressure_angle: float = PRESSURE_ANGLE,
        rounding: Number | None = None,
    ) -> InvoluteGears:
        """A pair of involute spur gears with compliant teeth, tooth change and backlash.

        pinion, wheel: revolute joints with parallel axes on one carrier; how far these are apart
            decides the backlash, which is none at module (z₁ + z₂)/2.
        teeth: their numbers z₁ and z₂. At zero angles a tooth of the pinion points to a gap of the
            wheel.
        module: pitch diameter for each tooth, a length.
        stiffness, damping: of a pair of teeth that overlaps by δ: stiffness δ (1 + damping δ̇).
        pressure_angle: of the cutter, in radians; 20° if not given.
        rounding: of the tips, a radius; 2.5 modules if not given.
        """
        joints = self._joint(pinion), self._joint(wheel)
        given = teeth, module, stiffness, damping, pressure_angle, rounding
        return self.add(InvoluteGears(name, *joints, *given))

    @sentence("rigid_gears")
    def rigid_gears(
        self,
        name: str,
        pinion: str | Joint,
        wheel: str | Joint,
        teeth: Sequence[int],
        module: float,
        pressure_angle: float = PRESSURE_ANGLE,
    ) -> RigidGears:
        """A pair of involute spur gears with rigid teeth and without play: the ratio is −z₁/z₂, and
        the force is along the line of action. Arguments as for ``involute_gears``.

        pinion, wheel, teeth, module, pressure_angle: as there.
        """
        joints = self._joint(pinion), self._joint(wheel)
        return self.add(RigidGears(name, *joints, teeth, module, pressure_angle))

    # --- rubber -----------------------------------------------------------------------------------

    @sentence("bushing")
    def bushing(
        self,
        name: str,
        a: Place,
        b: Place,
        stiffness: Any,
        damping: Any = 0,
        preload: Any = 0,
    ) -> Bushing:
        """Six springs and dampers between the frames ``a`` and ``b``.

        stiffness, damping: six numbers (along x, y, z of a, then about them), or 6x6 matrices.
        preload: force and torque on b, in the axes of a, where both frames coincide.
        """
        places = self._place(a), self._place(b)
        return self.add(Bushing(name, *places, stiffness, damping, preload))

    # --- guides -----------------------------------------------------------------------------------

    @sentence("guide")
    def guide(
        self, name: str, at: Place, on: Place, curve: Curve, friction: Number | Friction = 0
    ) -> Guide:
        """The place ``at`` stays on a curve of the place ``on``.

        curve: one of ``mg.curves``; its parameter is the coordinate ``name.s``.
        friction: along it, a coefficient or a law ``mg.Friction``.
        """
        return self.add(Guide(name, self._place(at), self._place(on), curve, friction))
