"""The words for machine elements: a method for each, as in ``model/words.py``."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from copy import copy
from typing import Any, TypeAlias

from ...errors import ModelError, unknown
from ..bodies import Body, Number, Vector
from ..contact.friction import Friction
from ..joints import Joint
from ..sentences import sentence
from ..words import Axis, Place, Words
from .bearing import BallBearing
from .bushing import Bushing
from .curves import Curve
from .fluids import Drag, HydraulicCylinder, Propeller
from .gears import PRESSURE_ANGLE, InvoluteGears, RigidGears
from .guide import Guide
from .motor import DCMotor
from .rope import Pulley, RigidRope, Rope
from .transmission import Belt, ElasticBelt, ElasticCoupling, RackAndPinion
from .wheels import OmniWheel, Tyre, TyreLaw

Node: TypeAlias = Place | Pulley


class ElementWords(Words):
    """The vocabulary of machine elements."""

    @property
    @abstractmethod
    def plane(self) -> str | None:
        """The plane that everything moves in."""

    @abstractmethod
    def _adopt(self, trial: Any) -> None:
        """What was said to a copy of this system."""

    @abstractmethod
    def frame(self, name: str) -> Body:
        """A body without mass."""

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
        constant: Number = 0,
    ) -> ElasticCoupling:
        """A coupling Σ c q = constant that gives way: shafts, gear trains, chains; ``backlash`` is
        one with play.

        coefficients: by the names of the coordinates, {"motor": 1.0, "arm": -50.0}.
        stiffness, damping: along Σ c q.
        """
        return self.add(ElasticCoupling(name, coefficients, stiffness, damping, constant))

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

    @sentence("ball_bearing")
    def ball_bearing(
        self,
        name: str,
        inner: Place,
        outer: Place,
        balls: int,
        ball_radius: Number,
        pitch_radius: Number,
        groove: Number,
        stiffness: Number,
        clearance: Number = 0,
        damping: Number = 0,
        phase: Number = 0,
    ) -> BallBearing:
        """A ball bearing between rings about the z axes of two places, with balls without inertia.

        balls: how many, at ``phase`` + 2πk/n around the outer ring.
        ball_radius, pitch_radius, groove: radii of a ball, of the circle that the balls run on, and
            of the grooves across.
        stiffness: Hertz's, of one contact, in N/m^1.5.
        clearance: diametral, between a ball and both grooves.
        damping: N = stiffness (δ/2)^1.5 (1 + damping δ̇).
        """
        places = self._place(inner), self._place(outer)
        sizes = balls, ball_radius, pitch_radius, groove
        return self.add(BallBearing(name, *places, *sizes, stiffness, clearance, damping, phase))

    # --- wheels -----------------------------------------------------------------------------------

    @sentence("omni_wheel")
    def omni_wheel(
        self,
        name: str,
        wheel: Place,
        radius: Number,
        axis: Axis = "y",
        rollers: Number = 0,
        floor: Place = "ground",
    ) -> OmniWheel:
        """A wheel with rollers on its rim, on the plane z = 0 of the ``floor``: it grips along the
        axes of the rollers only.

        axis: that the wheel turns about, in its place.
        rollers: angle between their axes and the rim: 0 for an omni-wheel, ±π/4 for Mecanum's.
        """
        places = self._place(wheel), self._place(floor)
        return self.add(OmniWheel(name, places[0], radius, axis, rollers, places[1]))

    @sentence("tyre")
    def tyre(
        self,
        name: str,
        wheel: Place,
        radius: Number,
        stiffness: Number,
        law: TyreLaw,
        damping: Number = 0,
        axis: Axis = "y",
        regularization: Number = 0.1,
        road: Place = "ground",
    ) -> Tyre:
        """A tyre on the plane z = 0 of the ``road``; it may leave it.

        stiffness, damping: of its load, along the road's normal.
        law: ``mg.LinearTyre(…)`` or ``mg.MagicFormula(…)``: forces for slips and load.
        axis: that the wheel turns about, in its place.
        regularization: speed in m/s along the road below which slips are taken as for it.
        """
        places = self._place(wheel), self._place(road)
        given = damping, axis, regularization
        return self.add(Tyre(name, places[0], radius, stiffness, law, *given, places[1]))

    # --- air, water, oil --------------------------------------------------------------------------

    @sentence("drag")
    def drag(
        self,
        name: str,
        at: Place,
        area: Number | Vector,
        density: Number = 1.225,
        linear: Number = 0,
        wind: Vector = (0, 0, 0),
        air: Place = "ground",
    ) -> Drag:
        """Drag −½ density area |v| v − linear v at a place that moves with v through the air.

        area: c_d A, one number, or one for each axis of the place.
        density: of the air, or of water.
        wind: velocity of the air relative to the place ``air``, in the axes of that.
        """
        places = self._place(at), self._place(air)
        return self.add(Drag(name, places[0], area, density, linear, wind, places[1]))

    @sentence("propeller")
    def propeller(
        self,
        name: str,
        at: Place,
        diameter: Number,
        thrust: Any,
        torque: Any = 0,
        density: Number = 1.225,
        air: Place = "ground",
    ) -> Propeller:
        """A propeller about the z axis of a place, with thrust ρD⁴n|n| (c₀ + c₁J) and torque
        ρD⁵n|n| (c₀ + c₁J), for n turns a second and the advance ratio J = v / |n|D.

        thrust, torque: c₀, or (c₀, c₁); a left-handed propeller has a negative thrust.
        density: ρ, of the air; ``air`` is what this moves with.
        """
        places = self._place(at), self._place(air)
        return self.add(Propeller(name, places[0], diameter, thrust, torque, density, places[1]))

    @sentence("hydraulic_cylinder")
    def hydraulic_cylinder(
        self,
        name: str,
        a: Place,
        b: Place,
        length: Number,
        areas: Sequence[Number],
        volumes: Sequence[Number],
        bulk_modulus: Number,
        pressure: Number = 0,
        oil: Sequence[Number] = (0, 0),
        damping: Number = 0,
    ) -> HydraulicCylinder:
        """A cylinder between two places, whose oil gives way: p₁A₁ − p₂A₂ pushes them apart.

        length: their distance where the chambers hold ``volumes`` of oil under ``pressure``.
        areas: A₁ of the piston, A₂ of the ring on the side of the rod; 0 if it acts one way only.
        bulk_modulus: β of the oil, about 1.4e9 Pa.
        oil: volumes that are pumped in, numbers or functions of time.
        damping: along the cylinder.
        """
        places = self._place(a), self._place(b)
        given = length, areas, volumes, bulk_modulus, pressure, oil, damping
        return self.add(HydraulicCylinder(name, *places, *given))

    # --- motors -----------------------------------------------------------------------------------

    @sentence("dc_motor")
    def dc_motor(
        self,
        name: str,
        joint: str | Joint,
        voltage: Number,
        constant: Number,
        resistance: Number,
        inductance: Number,
    ) -> DCMotor:
        """A motor with a current i on a joint with the speed ω: L di/dt = voltage − R i − K ω, with
        the effort K i. The current is the speed ``name.charge'``.

        joint: the joint, or one of its coordinates.
        voltage: a number, an expression, or an input.
        constant: K in N m/A, which is K in V s; with a gear, times its ratio.
        resistance, inductance: R and L.
        """
        trial = copy(self)
        motor = trial.add(DCMotor(name, joint, voltage, constant, resistance, inductance))
        if motor.charge not in self.joints:  # a file says them first
            coil = trial.frame(f"{name} coil")
            trial.prismatic(motor.charge, "ground", coil, axis=(self.plane or "x")[0])
        self._adopt(trial)
        return motor

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
